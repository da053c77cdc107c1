"""Rivals of LABL on `latency` (Agosta et al.): Hadoop's round robin, and Fischer et al.'s flow-based algorithm.

Fischer et al. 2010 is "Assigning tasks for efficiency in Hadoop", SPAA. Both are batch heuristics and draw nothing at
random. LABL itself is in `labl`.
"""

from __future__ import annotations

from functools import cache
from heapq import heapreplace
from itertools import pairwise
from typing import Any

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.core.results import Value
from optsched.heuristics.running.base import Heuristic
from optsched.problems.base import Parameter, choice, number
from optsched.problems.latency import Latency
from optsched.solvers.compiled import compiled, compiles, ready

__all__ = [
    "HEURISTICS",
    "augment",
    "flow_based",
    "round_robin",
    "row_lists",
]

# A cover of the servers, grown task by task --------------------------------------------------------------------------


def augment(
    starts: Any,
    values: Any,
    waiting: Any,
    capacity: Any,
    server: Any,
    count: Any,
    before: Any,
    after: Any,
    closed: Any,
    reached: Any,
    queue: Any,
    progress: Any,
    steps: int,
) -> bool:
    """Cover the tasks of `waiting` one after another, each along an augmenting path, where there is one.

    It is the path that a breadth-first search from the task finds first. The loop runs on lists as it is, or on arrays,
    compiled by numba.

    Parameters
    ----------
    starts, values
        Servers with the block of each task, as rows.
    waiting
        Tasks to cover. Those that stay uncovered are moved to its beginning.
    capacity, count
        Of each server: how many tasks it may take, and has.
    server
        Of each task, or -1.
    before, after
        The tasks of each server as a ring, in the order in which they came. Server s has the entry behind all tasks,
        number tasks + s.
    closed
        Of each server, whether no free capacity is reached from it; searches leave it out.
    reached, queue
        Room for servers: -1, and anything.
    progress
        How many of `waiting` are done, and how many stay.
    steps
        Servers to look at before returning, so that the caller can look at the clock.

    Returns
    -------
    bool
        Whether all are done.
    """
    tasks = len(server)
    done, stay = progress[0], progress[1]
    looked = 0
    while done < len(waiting) and looked < steps:
        task = waiting[done]
        done += 1
        looked += 1
        first, last, end, moving = 0, 0, -1, task
        while moving != -1 and end == -1:
            for position in range(starts[moving], starts[moving + 1]):
                one = values[position]
                if reached[one] == -1 and closed[one] == 0:
                    reached[one] = moving
                    queue[last] = one
                    last += 1
                    if count[one] < capacity[one]:
                        end = one
                        break
            moving = after[moving] if first > 0 else tasks
            while moving >= tasks:  # the next server that was reached
                if first == last:
                    moving = -1
                else:
                    moving = after[tasks + queue[first]]
                    first += 1
        looked += last
        if end == -1:
            waiting[stay] = task
            stay += 1
            for place in range(last):
                closed[queue[place]] = 1
        else:
            count[end] += 1
        while end != -1:  # move every task of the path one server on
            moving, ring = reached[end], tasks + end
            left = server[moving]
            if left != -1:
                after[before[moving]], before[after[moving]] = after[moving], before[moving]
            server[moving] = end
            before[moving], after[moving] = before[ring], ring
            after[before[ring]] = moving
            before[ring] = moving
            end = left
        for place in range(last):
            reached[queue[place]] = -1
    progress[0], progress[1] = done, stay
    return bool(done == len(waiting))


_compiled = cache(lambda: compiled(augment))

#: Tasks from which on the loop is compiled, where it can be.
_MANY = 20_000

#: Steps of the loop between two looks at the clock.
_STEPS = 2**18


def round_robin(problem: Latency, rng: np.random.Generator, *, start: int = 0) -> Placement:
    """Cycle through the servers; each takes its first waiting local task, else the first waiting task.

    Initial loads play no part. O(tasks + servers + replicas): each server reads its local tasks once.

    Parameters
    ----------
    start
        Position of the server with which the cycle begins; counted round where there are fewer servers.

    References
    ----------
    Agosta et al., section 3.5; Fischer et al. 2010, Algorithm 1.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[1], [1]]))
    >>> problem = Latency(Instance(Cluster(["s1", "s2"]), workload))
    >>> round_robin(problem, np.random.default_rng()).nodes.tolist()
    [0, 1]
    """
    nodes = [NONE] * len(problem.tasks)
    local = [iter(row) for row in row_lists(problem.server_tasks)]
    anywhere = iter(range(len(nodes)))
    for turn in range(start, start + len(nodes)):
        check()
        server = turn % len(local)
        task = next((task for task in local[server] if nodes[task] == NONE), None)
        if task is None:
            task = next(task for task in anywhere if nodes[task] == NONE)
        nodes[task] = server
    return problem.placement(nodes)


def flow_based(problem: Latency, rng: np.random.Generator, *, ties: str = "first", covers: str = "grown") -> Placement:
    """For each threshold cover most tasks locally and place the rest greedily; the best of these placements.

    A cover within threshold tau gives server s at most floor((tau - phi_s)/w_loc) tasks, all local, and covers as many
    tasks as possible. It grows from the cover of the threshold before by augmenting paths. So a covered task stays
    covered, though perhaps on another server, and no server's count drops. Uncovered tasks then go, one by one, to the
    server of least virtual load. Fischer et al. evaluate that load at a pessimistic w_rem, which may grow with the
    number of remote tasks; with Agosta et al. it is constant. Initial loads, which Fischer et al. do not have, enter
    capacities and virtual loads (Agosta et al., note 1).

    Fischer et al. take the thresholds 1, 2, ... while tasks are left. Two sorts of thresholds are left out here: those
    with a cover no larger than at the threshold before, and those past the least makespan so far, since a cover that
    has grown there is longer than that.

    O(R + T log S) for each threshold with T tasks, R replicas and S servers, and in addition the servers that the
    search for each augmenting path looks at (`augment`). There are at most as many thresholds as the makespan
    has units: few, unless the replicas of thousands of tasks are on a handful of servers.

    With no initial load the makespan is at most the optimum plus (1 - 1/(n - 1)) w_rem on n >= 2 servers (Fischer et
    al. 2010, Theorem 5.4).

    Parameters
    ----------
    rng
        Not used: tasks are covered and given out by position, and of equally loaded servers the first is taken.
    ties
        Among placements of the least makespan: that of the first threshold (`first`), or that of the least work and
        then of the first threshold (`work`). Fischer et al. do not say which. An algorithm that keeps the best so far
        finds `first`, and with it Agosta et al.'s worked example comes out in all its numbers (`papers/labl-figure2`).
    covers
        `grown` from the cover of the threshold before, as Fischer et al. have it. Or each computed `fresh`, an
        ablation: it leaves the slack of early thresholds uneven, with more servers free enough for a remote task.

    References
    ----------
    Agosta et al., section 3.5; Fischer et al. 2010, Algorithm 2.

    Examples
    --------
    The makespan is not always the least: here (3, 9) is possible.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> replicas = Ragged.from_rows([[1], [1], [0, 1], [0, 2], [1], [0, 1], [1]])
    >>> workload = Workload([f"t{number}" for number in range(1, 8)], replicas=replicas)
    >>> problem = Latency(Instance(Cluster(["s1", "s2", "s3"]), workload))
    >>> problem.evaluate(flow_based(problem, np.random.default_rng()))
    (4, 11)
    """
    compared = {"work": 2, "first": 1}[ties]
    cover = _Cover(problem)
    fresh = {"grown": False, "fresh": True}[covers]
    threshold: int | None = 1
    best: tuple[Value, Placement] | None = None
    while threshold is not None and (best is None or threshold <= best[0][0]):
        check()
        if fresh:
            cover = _Cover(problem)
        following = cover.grow(threshold)
        placement = problem.placement(cover.completed())
        value = problem.objective(placement)
        if best is None or value[:compared] < best[0][:compared]:
            best = value, placement
        threshold = following
    assert best is not None
    return best[1]


class _Cover:
    """A largest set of tasks that run locally within a threshold, each on a server that holds its block."""

    def __init__(self, problem: Latency) -> None:
        replicas, tasks, servers = problem.replicas, len(problem.tasks), len(problem.initial_load)
        self._fast = tasks >= _MANY and compiles()
        self._problem, self._replicas = problem, row_lists(replicas)
        self._rows = self._read(replicas.starts), self._read(replicas.values)
        self._uncovered = self._read(np.flatnonzero(replicas.lengths))
        #: For each task the server that covers it, and how many each server covers.
        self.server, self._count = self._read(np.full(tasks, NONE)), self._read(np.zeros(servers))
        self._rings = [self._read(np.arange(tasks + servers)) for _ in range(2)]

    def _read(self, values: np.ndarray) -> Any:
        """An array in the form that the loop takes."""
        entries = np.array(values, dtype=np.int64)
        return entries if self._fast else entries.tolist()

    def grow(self, threshold: int) -> int | None:
        """Augment until the cover is maximum within `threshold`; the next threshold at which it grows, if any."""
        room = self._problem.local_capacity(threshold)
        none, progress = np.zeros(len(room)), self._read(np.zeros(2))
        closed, reached, queue = self._read(none), self._read(none - 1), self._read(none)
        state = self._read(room), self.server, self._count, *self._rings, closed, reached, queue, progress
        loop = _compiled() if self._fast else augment
        asked = *self._rows, self._uncovered, *state, _STEPS
        ready(loop, *asked)
        check()
        while not loop(*asked):
            check()
        self._uncovered = self._uncovered[: progress[1]]
        ends = self._problem.initial_load + self._problem.w_loc * (room + 1)
        following = ends[np.asarray(closed, dtype=np.bool_)]
        return int(following.min()) if len(following) else None

    def completed(self) -> Ints:
        """Node of each task: the cover, and the other tasks by position to servers of least virtual load (bal-assign).

        A server that happens to hold the task's block runs it in w_loc.
        """
        problem, nodes = self._problem, np.array(self.server, dtype=np.int64)
        loads = problem.initial_load + problem.w_loc * np.array(self._count, dtype=np.int64)
        heap = sorted((load, server) for server, load in enumerate(loads.tolist()))  # what is sorted is a heap
        for task in np.flatnonzero(nodes == NONE).tolist():
            check()
            load, server = heap[0]
            work = problem.w_loc if server in self._replicas[task] else problem.w_rem
            heapreplace(heap, (load + work, server))
            nodes[task] = server
        return nodes


def row_lists(rows: Ragged) -> list[list[int]]:
    """The rows as lists, which Python's own loops read faster."""
    values = rows.values.tolist()
    return [values[begin:end] for begin, end in pairwise(rows.starts.tolist())]


HEURISTICS: tuple[Heuristic, ...] = (
    Heuristic(
        "round-robin",
        "004",
        "Fischer et al. 2010, Algorithm 1",
        ("latency",),
        "Hadoop's locality-aware round robin: each server in turn takes a local task, else any",
        (Parameter("start", 0, number(lowest=0, integer=True), "position of the server that comes first"),),
        batch=round_robin,
    ),
    Heuristic(
        "flow-based",
        "004",
        "Fischer et al. 2010, Algorithm 2",
        ("latency",),
        "Fischer-Su-Yin: largest local cover for each threshold, the rest to least loaded servers, the best of these",
        (
            Parameter("ties", "first", choice("first", "work"), "among least makespans: first threshold or least work"),
            Parameter(
                "covers",
                "grown",
                choice("grown", "fresh"),
                "grown from the threshold before, as in the paper, or fresh",
            ),
        ),
        batch=flow_based,
    ),
)
