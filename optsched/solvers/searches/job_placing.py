"""Schedules job by job: each job in turn gets the slots on which it ends soonest, around what is placed before it.

Within a time by which the job is to end, as many of its maps as can be read their data where they run (augmenting
paths), and the rest goes where there is time left. The time is found by counting first and then by trying.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import MAP, REDUCE, Bools, Ints
from optsched.core.placement import Schedule
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER, ServiceTimes
from optsched.solvers.matching import Cover

T = TypeVar("T")

#: A time is first looked for in steps of a part of a task, and then this many times by halves.
_PARTS, _HALVES = 8, 6


def job_orders(problem: ScheduleProblem) -> Iterator[list[int]]:
    """Orders of jobs: by arrival and work on all slots, least work, arrival, the latest to end alone, most work first.

    Work counts for a job's weight where jobs have one.
    """
    work = np.zeros(len(problem.jobs))
    np.add.at(work, problem.jobs.of_task[problem.tasks], problem.least_times.astype(np.float64))
    weights = np.array(problem.job_weights, dtype=np.float64)
    light = np.where(weights > 0, work / np.maximum(weights, 1e-300), np.inf)
    slots = max(1, sum(int(room.sum()) for room in problem.room.values()))
    arrival = problem.jobs.arrival
    for key in (arrival + work / slots, light, arrival, -problem.earliest_completions, -work):
        yield np.argsort(key, kind="stable").tolist()


def placed_schedules(problem: ScheduleProblem) -> Iterator[Schedule]:
    """The schedules by each of `job_orders`, with slots taken either way; all are feasible, and none where none is."""
    if problem.plainly_infeasible is None:
        placing = JobPlacing(problem)
        for order in job_orders(problem):
            for packed in (False, True):
                yield placing.schedule(order, np.full(len(order), packed))


def best_placed(problem: ScheduleProblem) -> Schedule:
    """The best of `placed_schedules` of a problem that is not plainly infeasible."""
    return min(placed_schedules(problem), key=lambda schedule: problem.minimised(problem.evaluate(schedule)))


class Placed(NamedTuple):
    """A placing of some tasks: positions in `problem.tasks`, slots, starts in microseconds, and the last end."""

    tasks: list[int]
    gaps: list[int]
    starts: list[int]
    ends: list[int]


class _Gaps:
    """The free times of slots of a kind: columns of the slot's node, begin and end, the last one of a slot endless."""

    def __init__(self, nodes: Ints, begin: Ints) -> None:
        self.node, self.begin = nodes, begin
        self.end = np.full(len(nodes), NEVER, dtype=np.int64)

    def take(self, gaps: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> None:
        """Take these times out of these gaps; those of one gap follow one another."""
        order = np.lexsort((starts, gaps))
        gap, start, end = (np.asarray(column, dtype=np.int64)[order] for column in (gaps, starts, ends))
        last = np.append(gap[1:] != gap[:-1], True)
        first = np.append(True, last[:-1])
        before = np.where(first, self.begin[gap], np.append(0, end[:-1]))
        kept = before < start
        rest = end[last] < self.end[gap[last]]
        untouched = np.ones(len(self.node), dtype=bool)
        untouched[gap] = False
        node = [self.node[untouched], self.node[gap[kept]], self.node[gap[last][rest]]]
        begin = [self.begin[untouched], before[kept], end[last][rest]]
        until = [self.end[untouched], start[kept], self.end[gap[last][rest]]]
        self.node, self.begin, self.end = np.concatenate(node), np.concatenate(begin), np.concatenate(until)


class _Class(NamedTuple):
    """Maps of a job with the same times at each level, the nearest first, and for each of them its nearest nodes."""

    tasks: list[int]
    times: tuple[int, ...]
    homes: list[list[int]]


def _least(made: Callable[[int], T | None], time: int, step: int, finest: int, halves: int) -> T:
    """What is made by about the first time at which anything is: from a time on by steps that double, then by halves.

    These end after a number, or where the time is known to `finest`.
    """
    low, found = time, made(time)
    while found is None:
        low, time, step = time, time + step, 2 * step
        found = made(time)
    for _ in range(halves):
        if time - low <= finest:
            break
        middle = (low + time) // 2
        better = made(middle)
        if better is None:
            low = middle
        else:
            found, time = better, middle
    return found


class JobPlacing:
    """Places jobs of a problem, for which each kind with tasks has a slot, in any order."""

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem = problem
        self._job = problem.jobs.of_task[problem.tasks]
        self._room = [problem.slots(kind)[:2] for kind in (MAP, REDUCE)]
        waiting = enumerate(problem.slots(REDUCE)[2].tolist())
        self._waiting = [(place, job) for place, job in waiting if job >= 0]  # of reduces that run
        self._maps = [self._classes(job) for job in range(len(problem.jobs))]
        self._reduces: list[list[int]] = [[] for _ in range(len(problem.jobs))]
        reduces = np.flatnonzero(problem.kind == REDUCE)
        for position in reduces[np.argsort(-problem.least_times[reduces], kind="stable")].tolist():
            self._reduces[int(self._job[position])].append(position)
        self._reduce_times = problem.times.by_level[:, -1]
        self._running_ends: list[list[int]] = [[] for _ in range(len(problem.jobs))]
        _, ends, jobs = problem.running_of(MAP)
        for job, end in zip(jobs.tolist(), ends.tolist(), strict=True):
            self._running_ends[job].append(end)

    def _classes(self, job: int) -> list[_Class]:
        """The maps of a job, those that take longest first."""
        problem = self.problem
        positions = np.flatnonzero((self._job == job) & (problem.kind == MAP))
        by_times: dict[tuple[int, ...], list[int]] = {}
        for position, times in zip(positions.tolist(), problem.times.by_level[positions].tolist(), strict=True):
            by_times.setdefault(tuple(times), []).append(position)
        classes = []
        for times, tasks in sorted(by_times.items(), reverse=True):
            classes.append(_Class(tasks, times, list(map(problem.times.homes, tasks))))
        return classes

    def schedule(self, order: Sequence[int], packed: Bools, reduces: Sequence[int] | None = None) -> Schedule:
        """The schedule with all jobs placed in an order, each so that its maps end as soon as they can.

        A job that is `packed` takes the slots on which it has least time to spare, rather than those that are free
        first. `reduces` is the order of the jobs' reduces; by default the same.
        """
        problem = self.problem
        nodes, starts = (np.zeros(len(problem.tasks), dtype=np.int64) for _ in range(2))
        ends = [list(already) for already in self._running_ends]
        gaps = _Gaps(*self._room[MAP])
        for job in order:
            check()
            if self._maps[job]:
                placed = self._place_maps(gaps, job, bool(packed[job]))
                nodes[placed.tasks], starts[placed.tasks] = gaps.node[placed.gaps], placed.starts
                ends[job] += placed.ends
                gaps.take(placed.gaps, placed.starts, placed.ends)
        self._place_reduces(order if reduces is None else reduces, ends, nodes, starts)
        return problem.schedule(nodes, starts)

    def within(self, order: Sequence[int], packed: bool, by: Sequence[int]) -> Schedule | None:
        """The schedule with the maps of each job at any time `by` then (microseconds); None where they did not fit.

        Slots are filled from the end on, without a break, and then all moves to the front as far as it can.
        """
        problem = self.problem
        nodes, starts = (np.zeros(len(problem.tasks), dtype=np.int64) for _ in range(2))
        node, begin = self._room[MAP]
        clock = np.full(len(node), -NEVER)
        rows: list[list[tuple[int, int, int]]] = [[] for _ in range(len(node))]  # by slot: end from the end on, task
        for job in order:
            check()
            release = np.maximum(begin, max(problem.now, int(problem.jobs.arrival[job])))
            fitting = _Fitting(problem.times, node, np.maximum(clock, -by[job]), -release, packed)
            if not all(fitting.add(known) for known in self._maps[job]):
                return None
            for task, slot, start, end in zip(*fitting.placed, strict=True):
                rows[slot].append((-end, task, end - start))
                clock[slot] = max(clock[slot], end)
                nodes[task] = node[slot]
        ends = [list(already) for already in self._running_ends]
        for slot, row in enumerate(rows):
            free = int(begin[slot])
            for _, task, length in sorted(row):
                starts[task] = max(free, int(problem.release[task]))
                free = int(starts[task]) + length
                ends[int(self._job[task])].append(free)
        self._place_reduces(order, ends, nodes, starts)
        return problem.schedule(nodes, starts)

    # Maps ---------------------------------------------------------------------------------------------------------

    def _place_maps(self, gaps: _Gaps, job: int, packed: bool) -> Placed:
        """Place the maps of a job so that they end as soon as they can."""
        problem, classes = self.problem, self._maps[job]
        release = max(problem.now, int(problem.jobs.arrival[job]))
        begin = np.maximum(gaps.begin, release)
        shortest = max(1, max(min(known.times) for known in classes))

        def counted(time: int) -> int | None:
            """The time, unless counting says that there is too little until then, were all tasks local."""
            free = np.minimum(gaps.end, time) - begin
            free = free[free > 0]
            needed = 0
            for known in classes:
                least = min(known.times)
                if least and int((free // least).sum()) < len(known.tasks):
                    return None
                needed += least * len(known.tasks)
            return time if int(free.sum()) >= needed else None

        def fitted(time: int) -> Placed | None:
            """The maps so that all end by a time; None where they were not made to fit."""
            end = np.minimum(gaps.end, time)
            usable = np.flatnonzero(end > begin if all(min(known.times) for known in classes) else end >= begin)
            fitting = _Fitting(problem.times, gaps.node[usable], begin[usable], end[usable], packed)
            if not all(map(fitting.add, classes)):
                return None
            return fitting.placed._replace(gaps=usable[fitting.placed.gaps].tolist())

        time, step = _least(counted, release, 1, 1, 64), max(problem.lattice, shortest // _PARTS)
        return _least(fitted, time, step, problem.lattice, _HALVES)

    # Reduces ------------------------------------------------------------------------------------------------------

    def _place_reduces(self, order: Sequence[int], map_ends: list[list[int]], nodes: Ints, starts: Ints) -> None:
        """Each reduce where it ends first, and no sooner than it must, by when the maps of each job end.

        It fills in where each runs, and when.
        """
        if not any(self._reduces):
            return
        problem = self.problem
        node, begin = self._room[REDUCE]
        begin = begin.copy()
        for place, job in self._waiting:
            begin[place] = max([int(begin[place]), *map_ends[job]])
        gaps, needed = _Gaps(node, begin), problem.maps_before_reduces.tolist()
        for job in order:
            mapped = sorted(map_ends[job])
            release = max(problem.now, int(problem.jobs.arrival[job]))
            last = mapped[-1] if mapped else release
            if needed[job]:
                release = max(release, mapped[needed[job] - 1])
            for task in self._reduces[job]:
                length = int(self._reduce_times[task])
                earliest = np.maximum(gaps.begin, release)
                start = np.maximum(earliest, last - length)
                end = start + length
                fits = end <= gaps.end
                gap = int(np.argmin(np.where(fits, end, NEVER)))
                nodes[task], starts[task] = gaps.node[gap], start[gap]
                if end[gap] > start[gap]:
                    gaps.take([gap], [int(start[gap])], [int(end[gap])])


class _Fitting:
    """Tasks that are put at the beginning of gaps, one after another, so that all end in time.

    The node of each gap is given, and between which instants it is free. Where it is `packed`, tasks go where least
    time is left over, rather than where they end first.
    """

    def __init__(self, times: ServiceTimes, node: Ints, begin: Ints, end: Ints, packed: bool) -> None:
        self._times, self._node, self._clock, self._until, self._packed = times, node, begin, end, packed
        self._by_node, self._nodes = np.argsort(node, kind="stable"), len(times.areas[0])
        self._first = np.searchsorted(node[self._by_node], np.arange(self._nodes + 1)).tolist()
        self.placed = Placed([], [], [], [])

    def add(self, group: _Class) -> bool:
        """Put all tasks of a class somewhere; False where one does not fit."""
        local, free = group.times[0], np.maximum(self._until - self._clock, 0)
        room = np.bincount(
            self._node,
            weights=free // local if local else np.full(len(free), len(group.tasks)),
            minlength=self._nodes,
        )
        at = matched(group.homes, room.astype(np.int64).tolist())
        for task, home in zip(group.tasks, at, strict=True):
            if home >= 0:
                here = self._by_node[self._first[home] : self._first[home + 1]]
                self._put(task, here[self._until[here] - self._clock[here] >= local], local)
        for task in (task for task, home in zip(group.tasks, at, strict=True) if home < 0):
            length = self._times.row(task)[self._node]
            able = np.flatnonzero(self._until - self._clock >= length)
            if not len(able):
                return False
            self._put(task, able, length[able])
        return True

    def _put(self, task: int, able: Ints, length: Ints | int) -> None:
        """Put a task on one of some gaps, on which it takes so long."""
        ends = self._clock[able] + length
        rest = (self._until[able] - ends) % np.maximum(length, 1) if self._packed else ends
        chosen = int(np.argmin(rest))
        gap, end = int(able[chosen]), int(ends[chosen])
        self.placed.tasks.append(task)
        self.placed.gaps.append(gap)
        self.placed.starts.append(int(self._clock[gap]))
        self.placed.ends.append(end)
        self._clock[gap] = end


def matched(homes: Sequence[Sequence[int]], room: list[int]) -> list[int]:
    """Match as many tasks as possible to nodes of their own: the node of each, or -1.

    `homes` are the nodes of each task, `room` how many tasks each node takes. Those with the fewest come first.
    """
    cover = Cover(homes)
    for task in sorted(range(len(homes)), key=lambda task: len(homes[task])):
        cover.add(task, room)
    return cover.node
