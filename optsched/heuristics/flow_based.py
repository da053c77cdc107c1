"""Rivals of LABL on `latency` (Agosta et al.): Hadoop's round robin, and Fischer et al.'s flow-based algorithm.

Fischer et al. 2010 is "Assigning tasks for efficiency in Hadoop", SPAA. Both are batch heuristics and draw nothing at
random. LABL itself is in `labl`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

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
    "give_out",
    "measure",
    "round_robin",
    "row_lists",
]

# A cover of the servers, grown task by task --------------------------------------------------------------------------
# The loops of `flow_based` over tasks: augmenting a cover, and giving out what is uncovered to least loaded servers.
# They run as they are on lists, or compiled by numba on int64 arrays of many tasks; either way they do the same. They
# return after a number of steps, with their state in what they were given.

#: Stands for no task or server: no server, or the end of a list.
NOTHING = -1


def measure(
    holding: Any, matched: Any, server: Any, count: Any, capacity: Any, ends: Any, starts: Any, arcs: Any, queue: Any
) -> None:
    """For each server, the fewest moves of tasks from it to one with free capacity, found backwards from these.

    Parameters
    ----------
    holding, matched
        Tasks with their block on each server, as rows.
    server, count, capacity, ends, starts
        As in `augment`.
    arcs
        Filled: at 3s the moves from server s, or how many servers there are where none lead on; at 3s + 1 and 3s + 2
        the first of its tasks, and the first position of that in `values`.
    queue
        Room for servers.
    """
    far = len(count)
    first, last = 0, 0
    for one in range(far):
        arcs[3 * one] = far
        if count[one] < capacity[one]:
            arcs[3 * one] = 0
            queue[last] = one
            last += 1
        task = ends[2 * one]
        arcs[3 * one + 1] = task
        if task != NOTHING:
            arcs[3 * one + 2] = starts[task]
    while first < last:
        one = queue[first]
        first += 1
        for position in range(holding[one], holding[one + 1]):
            before = server[matched[position]]
            if before != NOTHING and arcs[3 * before] == far:
                arcs[3 * before] = arcs[3 * one] + 1
                queue[last] = before
                last += 1


def augment(
    starts: Any,
    values: Any,
    waiting: Any,
    waits: Any,
    capacity: Any,
    server: Any,
    count: Any,
    ends: Any,
    links: Any,
    full: Any,
    arcs: Any,
    path: Any,
    queue: Any,
    progress: Any,
    steps: int,
) -> bool:
    """Cover the tasks of `waiting` one after another, each along a shortest augmenting path, where there is one.

    Of the shortest paths it is the one that a breadth-first search from the task finds first. That one goes, from each
    server, to the first server that is a move nearer to free capacity, and these distances only grow while tasks are
    covered. So they are kept, as lower bounds, and raised where no next server is as near as they say (Ahuja and
    Orlin's shortest augmenting paths). A task is known to stay uncovered when all its servers lead nowhere.

    Parameters
    ----------
    starts, values
        Servers with the block of each task, as rows.
    waiting, waits
        Tasks to cover; and where to put those that stay uncovered, which may be the same memory.
    capacity, count, full
        Of each server: how many tasks it may take, has, and whether a task that stays uncovered leads to it.
    server
        Of each task.
    ends, links
        The tasks of a server in the order in which they came: first and last of server s at 2s and 2s + 1 of `ends`,
        before and after task t at 2t and 2t + 1 of `links`.
    arcs
        From `measure`: distances, and where the search for the next server goes on.
    path, queue
        Room: servers of a path at even places, with the task that moves to each; servers.
    progress
        How many of `waiting` are done, and how many stay.
    steps
        Servers to look at before returning: then distances are to be measured again.

    Returns
    -------
    bool
        Whether all are done.

    References
    ----------
    Ahuja and Orlin, Distance-directed augmenting path algorithms for maximum flow, Naval Research Logistics, 1991.
    """
    far = len(count)
    done, stay = progress[0], progress[1]
    looked = 0
    while done < len(waiting) and looked < steps:
        task = waiting[done]
        size = 0
        while True:
            if size == 0:  # enter at the first of the nearest servers
                nearest = far
                for position in range(starts[task], starts[task + 1]):
                    looked += 1
                    if arcs[3 * values[position]] < nearest:
                        nearest = arcs[3 * values[position]]
                        path[0] = values[position]
                if nearest == far:
                    break
                path[1] = task
                size = 1
            one = path[2 * size - 2]
            if count[one] < capacity[one]:
                break
            nearer, moving, position = arcs[3 * one] - 1, arcs[3 * one + 1], arcs[3 * one + 2]
            found = NOTHING
            while moving != NOTHING:
                while position < starts[moving + 1]:
                    looked += 1
                    if arcs[3 * values[position]] == nearer:
                        found = values[position]
                        break
                    position += 1
                if found != NOTHING:
                    break
                moving = links[2 * moving + 1]
                if moving != NOTHING:
                    position = starts[moving]
            if found != NOTHING:
                arcs[3 * one + 1], arcs[3 * one + 2] = moving, position
                path[2 * size], path[2 * size + 1] = found, moving
                size += 1
                continue
            nearest = far - 1
            moving = ends[2 * one]
            while moving != NOTHING:
                for place in range(starts[moving], starts[moving + 1]):
                    looked += 1
                    if values[place] != one and arcs[3 * values[place]] < nearest:
                        nearest = arcs[3 * values[place]]
                moving = links[2 * moving + 1]
            moving = ends[2 * one]
            arcs[3 * one], arcs[3 * one + 1] = nearest + 1, moving
            if moving != NOTHING:
                arcs[3 * one + 2] = starts[moving]
            size -= 1
            if looked >= steps:
                progress[0], progress[1] = done, stay
                return False
        done += 1
        if size == 0:
            waits[stay] = task
            stay += 1
            first, last = 0, 0
            for position in range(starts[task], starts[task + 1]):
                one = values[position]
                if not full[one]:
                    full[one] = 1
                    queue[last] = one
                    last += 1
            while first < last:
                moving = ends[2 * queue[first]]
                first += 1
                while moving != NOTHING:
                    for position in range(starts[moving], starts[moving + 1]):
                        looked += 1
                        one = values[position]
                        if not full[one]:
                            full[one] = 1
                            queue[last] = one
                            last += 1
                    moving = links[2 * moving + 1]
        while size > 0:  # move every task of the path one server on
            size -= 1
            one, moving = path[2 * size], path[2 * size + 1]
            left = server[moving]
            if left != NOTHING:
                before, after = links[2 * moving], links[2 * moving + 1]
                if before == NOTHING:
                    ends[2 * left] = after
                else:
                    links[2 * before + 1] = after
                if after == NOTHING:
                    ends[2 * left + 1] = before
                else:
                    links[2 * after] = before
                count[left] -= 1
                arcs[3 * left + 1] = after  # its search has come to the task that leaves
                if after != NOTHING:
                    arcs[3 * left + 2] = starts[after]
            server[moving] = one
            before = ends[2 * one + 1]
            links[2 * moving], links[2 * moving + 1] = before, NOTHING
            if before == NOTHING:
                ends[2 * one] = moving
            else:
                links[2 * before + 1] = moving
            ends[2 * one + 1] = moving
            count[one] += 1
            if arcs[3 * one + 1] == NOTHING:
                arcs[3 * one + 1], arcs[3 * one + 2] = moving, starts[moving]
    progress[0], progress[1] = done, stay
    return bool(done == len(waiting))


def give_out(
    starts: Any, values: Any, nodes: Any, load: Any, heap: Any, w_loc: int, w_rem: int, begin: int, end: int
) -> None:
    """Give the tasks from `begin` to `end` that have no node to the server of least load, the first of equal ones.

    A server that happens to hold the task's block runs it in `w_loc`. `heap` has the servers as a heap by load and, of
    equal ones, by number.
    """
    size = len(heap)
    for task in range(begin, end):
        if nodes[task] != NOTHING:
            continue
        one = heap[0]
        nodes[task] = one
        work = w_rem
        for position in range(starts[task], starts[task + 1]):
            if values[position] == one:
                work = w_loc
        load[one] += work
        at = 0
        while 2 * at + 1 < size:
            child = 2 * at + 1
            if child + 1 < size:
                left, right = heap[child], heap[child + 1]
                if load[right] < load[left] or (load[right] == load[left] and right < left):
                    child += 1
            other = heap[child]
            if load[one] < load[other] or (load[one] == load[other] and one < other):
                break
            heap[at] = other
            at = child
        heap[at] = one


#: Tasks from which on the loops are compiled where they can be.
_MANY = 20_000

#: Steps of a loop between two looks at the clock.
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

    O(R + T log S) for each threshold with T tasks, R replicas and S servers, and in addition the length of each
    augmenting path and the tasks of each server whose distance from free capacity grows (`augment`), in
    loops that numba compiles for many tasks. There are at most as many thresholds as the makespan has units: few,
    unless the replicas of thousands of tasks are on a handful of servers.

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
        fast = tasks >= _MANY and compiles()
        self._problem, self._loops = problem, _loops(fast)
        #: Converts an array to the form that the loops take.
        self._as_array: Callable[[Ints], Any] = _as_it_is if fast else _as_list
        self._rows = self._as_array(replicas.starts), self._as_array(replicas.values)
        self._tasks_of = self._as_array(problem.server_tasks.starts), self._as_array(problem.server_tasks.values)
        self._uncovered = self._as_array(np.flatnonzero(replicas.lengths))
        #: For each task the server that covers it, and how many each server covers.
        self.server, self._count = self._filled(tasks), self._filled(servers, 0)
        self._lists = self._filled(2 * servers), self._filled(2 * tasks)
        self._arcs, self._path, self._queue = (self._filled(size * servers) for size in (3, 2, 1))

    def _filled(self, size: int, value: int = NONE) -> Any:
        return self._as_array(np.full(size, value, dtype=np.int64))

    def grow(self, threshold: int) -> int | None:
        """Augment until the cover is maximum within `threshold`; the next threshold at which it grows, if any."""
        room = self._problem.local_capacity(threshold)
        capacity, full = self._as_array(room), self._filled(len(room), 0)
        progress = self._as_array(np.zeros(2, dtype=np.int64))
        cover = self.server, self._count
        measured = *self._tasks_of, *cover, capacity, self._lists[0], self._rows[0], self._arcs, self._queue
        work = capacity, *cover, *self._lists, full, self._arcs, self._path, self._queue, progress
        asked = *self._rows, self._uncovered, self._uncovered, *work, max(_STEPS, len(self._rows[1]))
        check()
        ready(self._loops.measure, *measured)
        ready(self._loops.augment, *asked)
        done = False
        while not done:
            self._loops.measure(*measured)
            check()
            done = self._loops.augment(*asked)
            check()
        self._uncovered = self._uncovered[: progress[1]]
        ends = self._problem.initial_load + self._problem.w_loc * (room + 1)
        following = ends[np.asarray(full, dtype=np.bool_)]
        return int(following.min()) if len(following) else None

    def completed(self) -> Ints:
        """Node of each task: the cover, and the other tasks by position to servers of least virtual load (bal-assign).

        A server that happens to hold the task's block runs it in w_loc.
        """
        problem = self._problem
        nodes, count = (self._as_array(np.array(values, dtype=np.int64)) for values in (self.server, self._count))
        loads = problem.initial_load + problem.w_loc * np.asarray(count, dtype=np.int64)
        load, heap = self._as_array(loads), self._as_array(np.argsort(loads, kind="stable"))  # what is sorted is a heap
        for begin in range(0, len(nodes), _STEPS):
            check()
            end = min(begin + _STEPS, len(nodes))
            asked = *self._rows, nodes, load, heap, problem.w_loc, problem.w_rem, begin, end
            ready(self._loops.give_out, *asked)
            self._loops.give_out(*asked)
        return np.asarray(nodes, dtype=np.int64)


class _Loops(NamedTuple):
    """The loops of a cover."""

    measure: Callable[..., None]
    augment: Callable[..., bool]
    give_out: Callable[..., None]


@cache
def _loops(fast: bool) -> _Loops:
    """The loops compiled for arrays, or as they are for lists."""
    if not fast:
        return _Loops(measure, augment, give_out)
    return _Loops(compiled(measure), compiled(augment), compiled(give_out))


def _as_it_is(values: Ints) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)


def _as_list(values: Ints) -> list[int]:
    entries: list[int] = values.tolist()
    return entries


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
                "covers", "grown", choice("grown", "fresh"), "from the threshold before, as in the paper, or anew"
            ),
        ),
        batch=flow_based,
    ),
)
