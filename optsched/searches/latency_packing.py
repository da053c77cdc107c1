"""Packing for `latency` at a fixed limit: a placement with as few remote tasks as a maximum matching allows.

There are two attempts, both quicker than a program. The first fills the room that is left with remote tasks. The
second moves local tasks along paths of replicas, so that scattered room adds up to room for remote tasks. What neither
of them packs may still fit.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.core.instance import Bools, Ints
from optsched.core.placement import NONE
from optsched.problems import Latency
from optsched.solvers.matching import GrowingMatching

__all__ = ["GrowingMatchings", "packed", "shifted", "with_remote"]

#: Matchings that are kept as they are; of the others size and cover are known.
_KEPT = 8

#: By problem, for each thread, since what is grown changes.
_kept = threading.local()


class GrowingMatchings:
    """Maximum matchings of tasks to servers with a replica within limits on the makespan, each grown from a lower one.

    Attributes
    ----------
    covers, sizes
        By limit: the cover of its matching (bool, shape (nodes,)), and how many tasks it matches.
    packings
        By limit: what `packed` gave, int32.
    """

    def __init__(self, problem: Latency) -> None:
        self._problem = weakref.ref(problem)
        self.covers: dict[int, Bools] = {}
        self.sizes: dict[int, int] = {}
        self.packings: dict[int, npt.NDArray[np.int32] | None] = {}
        self._matchings: dict[int, GrowingMatching] = {}

    @classmethod
    def shared(cls, problem: Latency) -> GrowingMatchings:
        """One for the bounds, the optimum and the frontier of a problem; they live as long as it.

        Each of the three asks what the one before asks, and goes on. So each gets the same answers, whichever comes
        first, as it would get by itself.
        """
        kept: WeakKeyDictionary[Latency, GrowingMatchings] = _kept.__dict__.setdefault("of", WeakKeyDictionary())
        return kept.setdefault(problem, cls(problem))

    @property
    def problem(self) -> Latency:
        """What they are of; who holds them holds it too."""
        problem = self._problem()
        assert problem is not None
        return problem

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_problem": self.problem}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _problem=weakref.ref(state["_problem"]))

    def settle(self) -> None:
        """Give up all matchings that higher ones would grow from; what was asked is still known."""
        self._matchings.clear()
        self.__dict__.pop("_empty", None)

    @cached_property
    def _empty(self) -> GrowingMatching:
        problem, on = self.problem, self.problem.tasks_by_choice
        return GrowingMatching.empty(on.starts, on.values, len(problem.tasks), problem.w_loc, problem.w_rem)

    def at(self, limit: int) -> GrowingMatching:
        """The matching within `limit`.

        Raises
        ------
        OutOfTime
            If it is not known yet, and a deadline passes.
        """
        if limit not in self._matchings:
            self._hold(limit, self._below(limit).grown(self.problem.room(limit)))
        return self._matchings[limit]

    def size(self, limit: int) -> int:
        """How many tasks a maximum matching within `limit` matches; OutOfTime as `at`."""
        return self.sizes[limit] if limit in self.sizes else self.at(limit).size

    @property
    def latest(self) -> tuple[int, GrowingMatching] | None:
        """The highest limit whose matching is held, and this; None where none is."""
        return max(self._matchings.items(), default=None, key=lambda entry: entry[0])

    def _below(self, limit: int) -> GrowingMatching:
        lower = [known for known in self._matchings if known < limit]
        return self._matchings[max(lower)] if lower else self._empty

    def _hold(self, limit: int, matching: GrowingMatching) -> None:
        while len(self._matchings) >= _KEPT:
            del self._matchings[next(iter(self._matchings))]
        self._matchings[limit] = matching
        self.covers[limit], self.sizes[limit] = matching.cover, matching.size


def packed(problem: Latency, limit: int, matchings: GrowingMatchings) -> Ints | None:
    """A placement within `limit` with as few remote tasks as a maximum matching leaves; None where the packing fails.

    Parameters
    ----------
    problem, limit
        What to pack, and the limit on the makespan.
    matchings
        Those of the problem.
    """
    if limit not in matchings.packings:
        nodes = _packed(problem, limit, matchings)
        matchings.packings[limit] = None if nodes is None else nodes.astype(np.int32)
    known = matchings.packings[limit]
    return None if known is None else known.astype(np.int64)


def _packed(problem: Latency, limit: int, matchings: GrowingMatchings) -> Ints | None:
    """The same, not known yet."""
    local = matchings.at(limit).node
    nodes = with_remote(problem, limit, local)
    return with_remote(problem, limit, shifted(problem, limit, local)) if nodes is None else nodes


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
    """Room of each server within `limit` that its local tasks leave."""
    used = np.bincount(local[local != NONE], minlength=len(problem.initial_load))
    return problem.room(limit) - problem.w_loc * used


def shifted(problem: Latency, limit: int, local: Ints) -> Ints:
    """`local` with tasks moved to other servers with their replicas, so that more remote tasks fit.

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
