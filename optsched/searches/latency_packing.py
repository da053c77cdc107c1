"""Packing for `latency` at a fixed limit: a placement with as few remote tasks as a maximum matching allows.

There are three attempts, each quick beside a program. The first fills the room beside the matching with remote tasks.
The second matches again, and gives up room for remote tasks only where that is needed. The third moves local tasks
along paths of replicas, so that scattered room adds up to room for remote tasks. What none of them packs may still fit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable

import numpy as np

from optsched.deadline import check
from optsched.instance import Ints
from optsched.placement import NONE
from optsched.problems import Latency
from optsched.solvers.networks import maximum_b_matching

__all__ = ["packed", "with_remote"]


def packed(problem: Latency, limit: int, matched: Ints) -> Ints | None:
    """A placement within `limit` with no more remote tasks than `matched` leaves, or None where the packing fails.

    Parameters
    ----------
    problem, limit
        What to pack, and the limit on the makespan.
    matched
        Server (or -1) of each task in a maximum matching of tasks to servers with a replica, within `limit`.
    """
    nodes = with_remote(problem, limit, matched)
    if nodes is None:
        chunks = _matched_in_chunks(problem, limit, int(np.count_nonzero(matched != NONE)))
        nodes = with_remote(problem, limit, chunks)
        for local in (matched, chunks):
            if nodes is None:
                nodes = with_remote(problem, limit, _shifted(problem, limit, local))
    return nodes


def with_remote(problem: Latency, limit: int, local: Ints) -> Ints | None:
    """`local` (server or -1 of each task) with all others remote, where they fit within `limit`; else None."""
    space = _spare(problem, limit, local) // problem.w_rem
    waiting = np.flatnonzero(local == NONE)
    space = np.minimum(space, len(waiting))
    if int(space.sum()) < len(waiting):
        return None
    # Servers take remote tasks in turns, so that the load is spread rather than piled up.
    turns = bisect_left(range(len(waiting)), len(waiting), key=lambda each: int(np.minimum(space, each).sum()))
    space = np.minimum(space, turns)
    servers = np.repeat(np.arange(len(space)), space)
    turn = np.arange(len(servers)) - np.repeat(np.cumsum(space) - space, space)
    nodes = local.copy()
    nodes[waiting] = servers[np.argsort(turn, kind="stable")][: len(waiting)]
    return nodes


def _spare(problem: Latency, limit: int, local: Ints) -> Ints:
    """Room of each server within `limit` beside its local tasks."""
    used = np.bincount(local[local != NONE], minlength=len(problem.initial_load))
    return problem.room(limit) - problem.w_loc * used


def _matched_in_chunks(problem: Latency, limit: int, size: int) -> Ints:
    """A matching of `size` tasks for which each server gives up room by whole remote tasks, and only as needed.

    At first every server keeps its room for as many remote tasks as fit, and offers the rest to local tasks. While
    fewer than `size` tasks are matched, more room helps on the servers of the cover. Each of them gives up room for one
    remote task, those with the most unmatched tasks first.
    """
    replicas, room = problem.replicas, problem.room(limit)
    kept = room // problem.w_rem
    gain = max(1, problem.w_rem // problem.w_loc)
    while True:
        check()
        capacity = (room - kept * problem.w_rem) // problem.w_loc
        matching = maximum_b_matching(replicas.starts, replicas.values, capacity, len(room))
        missing = size - matching.size
        if missing <= 0:
            return matching.node
        wanted = replicas.values[(matching.node == NONE)[replicas.row_of]]
        demand = np.bincount(wanted, minlength=len(room))
        candidates = np.flatnonzero(matching.node_cover & (kept > 0))
        batch = max(1, missing // (2 * gain))
        kept[candidates[np.argsort(-demand[candidates], kind="stable")][:batch]] -= 1


def _shifted(problem: Latency, limit: int, local: Ints) -> Ints:
    """`local` with tasks moved to other servers with their replicas, so that more remote tasks fit beside them.

    Room beyond whole remote tasks is of no use. A server that lacks little room for one more gives up local tasks. They
    move one by one, along a shortest path of replicas, to servers where they take only room of no use. Servers that
    lack least come first.
    """
    w_loc, w_rem = problem.w_loc, problem.w_rem
    nodes, replicas = local.tolist(), [row.tolist() for row in problem.replicas]
    tasks_on: list[list[int]] = [[] for _ in problem.initial_load]
    for task, server in enumerate(nodes):
        if server != NONE:
            tasks_on[server].append(task)
    spare = _spare(problem, limit, local).tolist()
    lacking = nodes.count(NONE) - sum(room // w_rem for room in spare)
    for source in sorted(range(len(spare)), key=lambda server: -(spare[server] % w_rem)):
        check()
        if lacking <= 0:
            break
        moves = -(-(w_rem - spare[source] % w_rem) // w_loc)
        if moves > len(tasks_on[source]):
            continue
        for _ in range(moves):
            path = _path_to_room(source, tasks_on, replicas, lambda server: spare[server] % w_rem >= w_loc)
            if path is None:
                break
            for task, server in path:
                tasks_on[nodes[task]].remove(task)
                tasks_on[server].append(task)
                nodes[task] = server
            spare[source] += w_loc
            spare[path[0][1]] -= w_loc
        else:
            lacking -= 1
    return np.array(nodes, dtype=np.int64)


def _path_to_room(
    source: int, tasks_on: list[list[int]], replicas: list[list[int]], has_room: Callable[[int], bool]
) -> list[tuple[int, int]] | None:
    """Moves (task, server), the last one first, that take one task off `source` and add one where there is room."""
    reached: dict[int, tuple[int, int]] = {source: (NONE, NONE)}
    queue = deque([source])
    while queue:
        check()
        server = queue.popleft()
        for task in tasks_on[server]:
            for other in replicas[task]:
                if other in reached:
                    continue
                reached[other] = (task, server)
                if has_room(other):
                    moves = []
                    while other != source:
                        task, previous = reached[other]
                        moves.append((task, other))
                        other = previous
                    return moves
                queue.append(other)
    return None
