"""`makespan` and `job-times`: bounds, the cheapest first, and schedules, the quickest first, until the two meet.

Each job in turn gets the slots on which it ends soonest, around what is placed before it. Within a given time, as many
of its maps as possible read their data where they run (augmenting paths); the rest fills the remaining time. The time
is found first by counting and then by trying.

The search is over orders of jobs: by arrival and by work, by their ends at the prices of slots, and by exchanges from
the best order on. `job_ends` has the bounds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from optsched.certificates.schedules import (
    cases_certificate,
    counting_certificate,
    end_certificate,
)
from optsched.core.deadline import check
from optsched.core.errors import TooLarge
from optsched.core.instance import MAP, REDUCE, Bools, Ints
from optsched.core.placement import MICRO, Schedule
from optsched.core.results import Certificate, Number
from optsched.problems.job_times import JobTimes
from optsched.problems.schedule_bounds import JobEnds, tails
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER, ServiceTimes
from optsched.solvers.matching import Cover
from optsched.solvers.searches.job_ends import AloneSearch, EndTree, ended_by, fine_enough, latest_priced, latest_window

T = TypeVar("T")

#: A time is first searched in steps of a part of a task, then halved this many times.
_PARTS, _HALVES = 8, 6


def job_orders(problem: ScheduleProblem) -> Iterator[tuple[list[int], Bools]]:
    """Orders of jobs: by arrival and work on all slots, least work, arrival, the latest to end alone, most work first.

    Each comes with slots taken either way (`JobPlacing.schedule`). Work is divided by a job's weight if jobs have
    weights.
    """
    work = np.zeros(len(problem.jobs))
    np.add.at(work, problem.jobs.of_task[problem.tasks], problem.least_times.astype(np.float64))
    weights = np.array(problem.job_weights, dtype=np.float64)
    light = np.where(weights > 0, work / np.maximum(weights, 1e-300), np.inf)
    slots = max(1, sum(int(room.sum()) for room in problem.room.values()))
    arrival = problem.jobs.arrival
    for key in (arrival + work / slots, light, arrival, -problem.earliest_completions, -work):
        for packed in (False, True):
            yield np.argsort(key, kind="stable").tolist(), np.full(len(key), packed)


def placed_schedules(problem: ScheduleProblem) -> Iterator[Schedule]:
    """The schedules by each of `job_orders`; all are feasible; none if nothing is."""
    if problem.plainly_infeasible is None:
        placing = JobPlacing(problem)
        for order, packed in job_orders(problem):
            yield placing.schedule(order, packed)


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
    """The free times of slots of a kind: columns of the slot's node, begin and end; a slot's last gap is endless."""

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
    """Maps of a job with the same times at each level, the nearest first, and the nearest nodes of each of them."""

    tasks: list[int]
    times: tuple[int, ...]
    homes: list[list[int]]


def _least(made: Callable[[int], T | None], time: int, step: int, finest: int, halves: int) -> T:
    """The result of `made` near the first time at which there is one: by steps that double, then by halving.

    Halving ends after a number of times, or when the time is known to within `finest`.
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
    """Places jobs of a problem in any order; each kind with tasks must have a slot."""

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem = problem
        self._job = problem.jobs.of_task[problem.tasks]
        self._room = [problem.slots(kind)[:2] for kind in (MAP, REDUCE)]
        waiting = enumerate(problem.slots(REDUCE)[2].tolist())
        self._waiting = [(place, job) for place, job in waiting if job >= 0]  # of running reduces
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
        """The maps of a job, the longest first."""
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
        """The schedule with all jobs placed in an order, each so that its maps end as soon as possible.

        A `packed` job takes the slots on which it has least time to spare, rather than those that are free first.
        `reduces` is the order of the jobs' reduces; by default the same.
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
        """The schedule with the maps of each job ending `by` its time (microseconds); None if they did not fit.

        Slots are filled from the end on, without a break, and then everything moves to the front as far as possible.
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
        """Place the maps of a job so that they end as soon as possible."""
        problem, classes = self.problem, self._maps[job]
        release = max(problem.now, int(problem.jobs.arrival[job]))
        begin = np.maximum(gaps.begin, release)
        shortest = max(1, max(min(known.times) for known in classes))

        def counted(time: int) -> int | None:
            """The time, unless counting shows that there is too little room until then, even with all tasks local."""
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
            """Maps that all end by a time; None if they did not fit."""
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
        """Each reduce where it ends first, given the ends of each job's maps, and no sooner than it must.

        It fills in `nodes` and `starts`.
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

    The node of each gap is given, and the instants between which it is free. If it is `packed`, tasks go where least
    time is left over, rather than where they end first.
    """

    def __init__(self, times: ServiceTimes, node: Ints, begin: Ints, end: Ints, packed: bool) -> None:
        self._times, self._node, self._clock, self._until, self._packed = times, node, begin, end, packed
        self._by_node, self._nodes = np.argsort(node, kind="stable"), len(times.areas[0])
        self._first = np.searchsorted(node[self._by_node], np.arange(self._nodes + 1)).tolist()
        self.placed = Placed([], [], [], [])

    def add(self, group: _Class) -> bool:
        """Put all tasks of a class somewhere; False if one does not fit."""
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
        """Put a task on one of some gaps, with the given time on each."""
        ends = self._clock[able] + length
        rest = (self._until[able] - ends) % np.maximum(length, 1) if self._packed else ends
        chosen = int(np.argmin(rest))
        gap, end = int(able[chosen]), int(ends[chosen])
        self.placed.tasks.append(task)
        self.placed.gaps.append(gap)
        self.placed.starts.append(int(self._clock[gap]))
        self.placed.ends.append(end)
        self._clock[gap] = end


def matched(homes: list[list[int]], room: list[int]) -> list[int]:
    """Match as many tasks as possible to their own nodes: the node of each, or -1.

    `homes` are the nodes of each task, `room` how many tasks each node takes. Tasks with the fewest nodes come first.
    """
    order = sorted(range(len(homes)), key=lambda task: len(homes[task]))
    cover = Cover(homes, order, len(room))
    cover.grow(room)
    return list(cover.node)


# The search -----------------------------------------------------------------------------------------------------------

#: The most exchanges that are tried for each job, and the most in a row without a gain.
_EXCHANGES, _PATIENCE = 400, 60

#: Placements of tasks in total: large problems get fewer exchanges.
_PLACEMENTS = 600_000

#: A limit of cases lies this far from the proved bound towards the best schedule; and all starts of their programs.
_SHARE, _STARTS = Fraction(1, 4), 8_000_000

#: Ends of jobs for which schedules are searched; the most tasks of programs over nodes for these, and starts.
_ENDS, _SMALL, _VARIABLES = 25, 500, 8_000

#: Random orders that are tried from the end on.
_NOISY = 200

#: From this share of maps on, reduces are assumed to begin after all of them.
_LATE = 0.5


class ScheduleSearch:
    """The best schedule, or None, and a proof of the best bound so far; `run` continues until they meet.

    The problem must not be plainly infeasible; the search may begin with a schedule.
    """

    def __init__(self, problem: ScheduleProblem, start: Schedule | None = None) -> None:
        self.problem: Any = problem  # makespan or job times: each stage is for one of them, or both
        self.best: Any = None  # a schedule
        self.value: Any = None  # a number from the first schedule on
        self.proof: Certificate = counting_certificate(problem)
        self._chance = random.Random(0)
        self._order: tuple[list[int], Bools] = list(range(len(problem.jobs))), np.zeros(len(problem.jobs), dtype=bool)
        self._placed: Number | None = None
        self._tried: set[tuple[int, ...]] = set()
        self._priced: Any = None  # a `PricedTime` of jobs with some weight
        self._realised_ends: set[tuple[int, ...]] = set()
        self._longest = np.zeros(len(problem.jobs), dtype=np.int64)
        np.maximum.at(self._longest, problem.jobs.of_task[problem.tasks], problem.least_times)
        self._alone = AloneSearch(problem)
        if start is not None:
            self._try(start)

    @property
    def closed(self) -> bool:
        """Whether the best schedule is proved optimal."""
        return self.value is not None and self.value <= self.proof.claim

    def run(self) -> None:
        """Search until bound and schedule meet, or everything has been tried; OutOfTime at a deadline."""
        for stage in self.stages:
            if self.closed:
                return
            stage()

    @property
    def stages(self) -> list[Callable[[], None]]:
        """The stages in order."""
        of_both = [self._by_orders, self._by_jobs_alone]
        if isinstance(self.problem, JobTimes):
            return [*of_both, self._by_prices, self._by_cases, self._by_exchanges]
        return [*of_both, self._by_end_prices, self._by_windows, self._by_halving, self._by_exchanges]

    # Schedules ----------------------------------------------------------------------------------------------------

    def _try(self, schedule: Schedule) -> Number:
        """Keep a schedule if it is the best; returns its value."""
        value: Number = self.problem.evaluate(schedule)[0]
        if self.value is None or value < self.value:
            self.best, self.value = schedule, value
        return value

    def _by_orders(self) -> None:
        """Jobs by arrival, by work, and by their ends if all slots were theirs from their arrival on."""
        self._placing = JobPlacing(self.problem)
        for order, packed in job_orders(self.problem):
            self._place(order, packed)
            if self.closed:
                return

    def _place(self, order: Sequence[int], packed: Bools) -> None:
        """Place jobs in an order, and keep the order if none was better."""
        check()
        tried = (*order, *packed.tolist())
        if tried in self._tried:
            return
        self._tried.add(tried)
        value = self._try(self._placing.schedule(order, packed))
        if self._placed is None or value <= self._placed:
            self._order, self._placed = (list(order), packed), value

    def _by_halving(self) -> None:
        """All maps by one time, found by halving between the bound and the best schedule; for `makespan`.

        Jobs go from the end on: the last to arrive first, or the longest, and then randomly near that.
        """
        problem, longest = self.problem, self._longest
        release = np.maximum(problem.jobs.arrival, problem.now)
        after = tails(problem) if problem.parameters["slowstart"] > _LATE else np.zeros_like(longest)
        keys = [release - after, release + longest - after, release - longest, longest - after]
        for key in keys:
            for packed in (True, False):
                self._halve(np.argsort(-key, kind="stable").tolist(), packed, after)
        spread = int(longest.max(initial=0))
        for number in range(min(_NOISY, _PLACEMENTS // (10 * len(problem.tasks)))):
            noise = np.array([self._chance.randint(-spread, spread) for _ in range(len(longest))], dtype=np.int64)
            order = np.argsort(-(keys[number % len(keys)] + noise), kind="stable").tolist()
            self._halve(order, number % 8 < 4, after, once=True)

    def _halve(self, order: list[int], packed: bool, after: Ints, once: bool = False) -> None:
        """Try an order for a series of times; with `once` go on only while each is kept, a step before the best."""
        problem, step = self.problem, self.problem.lattice
        low = problem.now + int(self.proof.claim * MICRO) - step
        high = problem.now + int(self.value * MICRO)
        while high - low > step and not self.closed:
            middle = high - step if once else min(problem.next_end((low + high) // 2), high - step)
            schedule = self._placing.within(order, packed, (middle - after).tolist())
            value = None if schedule is None else self._try(schedule)
            if value is not None and problem.now + value * MICRO <= middle:
                high = problem.now + int(value * MICRO)
            elif once:
                return
            else:
                low = middle

    def _by_exchanges(self) -> None:
        """Move jobs within the best order, and let them take slots the other way, at random with a fixed seed."""
        chance, jobs, idle = self._chance, len(self.problem.jobs), 0
        number = min(_EXCHANGES * jobs, _PLACEMENTS // (10 * jobs + len(self.problem.tasks) + 1))
        for _ in range(number):
            order, packed, before = list(self._order[0]), self._order[1].copy(), self._placed
            for _ in range(chance.choice([1, 1, 2])):
                place = chance.randrange(jobs)
                other = place + chance.choice([-1, 1]) * min(chance.randrange(1, 1 + jobs), chance.randrange(1, 6))
                order.insert(max(0, min(jobs - 1, other)), order.pop(place))
            if chance.random() < 0.3:
                job = chance.randrange(jobs)
                packed[job] = not packed[job]
            self._place(order, packed)
            idle = idle + 1 if self._placed == before else 0
            if self.closed or idle > _PATIENCE * jobs:
                return

    # Proofs -------------------------------------------------------------------------------------------------------

    def _prove(self, proof: Certificate) -> None:
        if proof.claim > self.proof.claim:
            self.proof = proof

    def _by_jobs_alone(self) -> None:
        """Each job alone on the empty cluster, near its data and far from it: by covers, and then exactly."""
        alone = self._alone
        for step in (alone.by_covers, alone.exactly):
            step()
            self._prove(counting_certificate(self.problem, alone.proofs))
            if self.closed:
                return

    def _by_end_prices(self) -> None:
        """Prices of slots over time that prove that not all tasks end so soon."""
        problem = self.problem
        found = latest_priced(problem, problem.now + int(self.proof.claim * MICRO), self.best)
        if found is not None:
            self._prove(end_certificate(problem, *found))

    def _by_windows(self) -> None:
        """Windows in which demand exceeds supply, by prices of crowded nodes."""
        problem = self.problem
        claimed, until = (problem.now + int(time * MICRO) for time in (self.proof.claim, self.value))
        for kind in sorted(set(problem.kind.tolist())):
            found = latest_window(problem, kind, claimed, until)
            if found is not None:
                self._prove(counting_certificate(problem, window=found))

    def _by_prices(self) -> None:
        """Prices of slots over time: a tree of one case, up to the cost of the best schedule."""
        if isinstance(self.problem, JobTimes) and any(self.problem.weights):
            self._priced = fine_enough(self.problem, self.best, self._alone.ends)
            self._grown(self.value, 1)

    def _by_cases(self) -> None:
        """Trees of cases by jobs' ends, for one limit after another, up to the cost of the best schedule."""
        if self._priced is None:
            return
        starts, closed = _STARTS, True
        while closed and not self.closed and starts > 0:
            limit = self.proof.claim + (self.value - self.proof.claim) * _SHARE
            closed, used = self._grown(limit, starts)
            starts -= used

    def _grown(self, limit: Number, starts: int) -> tuple[bool, int]:
        """Grow a tree up to a limit in seconds, while its programs have at most `starts` starts in total.

        Returns whether the tree is closed, and how many starts its programs had.
        """
        problem, priced, alone = self.problem, self._priced, self._alone
        wanted, most = (priced.limit_of(goal) for goal in (limit, self.value))
        wanted = min(max(wanted, priced.limit_after(self.proof.claim)), most)
        tree = EndTree(JobEnds(problem, priced.step, wanted, alone.ends), self._realised)
        try:
            tree.run(starts // tree.size)
        finally:
            if tree.proved > 0:
                self._prove(cases_certificate(problem, priced.step, tree.proved, tree.tree(), alone.proofs))
        return tree.closed, max(1, tree.programs) * tree.size

    def _realised(self, ends: list[int]) -> int:
        """Look for schedules whose jobs end by given steps; returns the cost of the best of all then, in units."""
        problem, priced, by = self.problem, self._priced, np.array(ends)
        if len(self._realised_ends) < _ENDS and tuple(ends) not in self._realised_ends:
            self._realised_ends.add(tuple(ends))
            longest = self._longest // priced.step
            for key in (by, by - longest, 2 * by - longest):
                order = np.argsort(key, kind="stable").tolist()
                for packed in (False, True):
                    self._place(order, np.full(len(order), packed))
            if priced.step == problem.lattice and len(problem.tasks) <= _SMALL:
                with suppress(TooLarge):
                    placed = ended_by(problem, problem.now + by * priced.step, _VARIABLES)
                    if placed is not None:
                        self._try(placed)
        return int(priced.limit_of(self.value))
