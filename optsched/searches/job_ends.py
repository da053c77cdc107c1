"""A tree of cases by when jobs end, for `job-times`: each case has prices of slots from a linear program over starts.

In the program of a case jobs end within a box, slots are alike, and tasks are in parts. A job ends at the least step of
its box, and later by the share of its tasks that end later: so starts are the only variables, and cost what they are
late. The duals are prices of slots, at which whole jobs are priced exactly.

Cases are parted best first, and from each one on down to one in which the program has every job whole. For that a
schedule is looked for. A limit below the best schedule closes most of the tree at once, so that limits are tried from
what is proved on (destructive bounds, Klein and Scholl 1999).

Whether jobs can end by given times, with each map where it is quickest, is a program over nodes and steps
(`EndsProgram`). Maps of a job that take the same time are alike once it is said on which node each of them runs. So its
variables are how many of them start on each node in each step, and which task is on which of its nodes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from optsched.certificates.trees import Branch, Step, Tree
from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP, Floats, Ints
from optsched.problems.job_ends import MOST_WORK, JobEnds, packed
from optsched.problems.programs import Builder
from optsched.problems.relaxations import Box
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.time_prices import SlotClass, TimePrices
from optsched.searches.job_placing import matched
from optsched.searches.program_tree import as_arrays
from optsched.solvers.highs import LinearProgram, WarmProgram, solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = [
    "EndTree",
    "EndsProgram",
    "Late",
    "StartProgram",
    "coefficients",
]

#: Units of price in a job's waiting for a step.
_SCALE = 2**14

#: Less of a task is nothing.
_PART = 1e-6


class Late(NamedTuple):
    """What the program says of a box.

    Attributes
    ----------
    prices
        Of slots; with the scale 0 a ray.
    late
        Of each job the parts of it that end after the least step of its box, after the next one, and so on.
    outside
        Whether parts of tasks end after the box, or never.
    """

    prices: TimePrices
    late: list[Floats]
    outside: bool


def coefficients(ends: JobEnds, box: Box) -> int:
    """How many steps all starts within a box cover, each for itself: so many coefficients a program has at least."""
    return sum(
        each.length * max(0, upper - each.tail - each.length + 1 - each.release)
        for classes, upper in zip(ends.priced.classes, box.upper.tolist(), strict=True)
        for each in classes
    )


class StartProgram:
    """The program for boxes within one.

    Parameters
    ----------
    ends
        What it is about.
    box
        All boxes are within this one.
    """

    def __init__(self, ends: JobEnds, box: Box) -> None:
        self._ends, self._last = ends, int(box.upper.max(initial=0))
        self._weight = np.array(ends.priced.weights, dtype=np.float64)
        self._penalty = float(ends.limit + 1)
        self._profile = Profile("prices of slots")
        nothing = np.zeros(0, dtype=np.int64)
        columns: list[tuple[Ints, Ints, Floats]] = [(nothing, nothing, np.zeros(0))]
        entries: list[tuple[Ints, Ints]] = [(nothing, nothing)]
        due: list[float] = []
        rows, count = len(KINDS) * self._last, 0
        for job, classes in enumerate(ends.priced.classes):
            work = sum(each.length * each.count for each in classes)
            for each in classes if self._weight[job] else ():
                begins = np.arange(each.release, int(box.upper[job]) - each.tail - each.length + 1)
                if each.length:
                    own = count + np.arange(len(begins))
                    columns.append((np.full(len(begins), job), *_ends_and_shares(each, begins, work)))
                    covered = (begins[:, None] + np.arange(each.length)).ravel() + each.kind * self._last
                    entries += [(covered, np.repeat(own, each.length)), (np.full(len(own), rows + len(due)), own)]
                    due.append(float(each.count))
                    count += len(begins)
        self._job, self._end, self._share = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        entries.append((rows + np.arange(len(due)), count + np.arange(len(due))))  # what is left out
        self._due = len(due)
        self._warm = WarmProgram(self._program(entries, due))

    @property
    def size(self) -> int:
        """How many starts there are."""
        return len(self._job)

    def _program(self, entries: list[tuple[Ints, Ints]], due: list[float]) -> LinearProgram:
        """Rows are slots of each kind in each step, and the tasks of each class; a box gives costs and bounds."""
        row, column = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        count, room = self.size + len(due), []
        for slots, held in zip(self._ends.priced.slots, self._ends.priced.held, strict=True):
            room.append(slots - (held[None, :] > np.arange(self._last)[:, None]).sum(axis=1).astype(np.float64))
        upper = np.concatenate([*room, due])
        return LinearProgram(
            objective=np.zeros(count),
            col_lower=np.zeros(count),
            col_upper=np.full(count, np.inf),
            integer=np.zeros(count, dtype=bool),
            row_lower=np.concatenate([np.full(len(upper) - len(due), -np.inf), due]),
            row_upper=upper,
            matrix=sp.csr_array((np.ones(len(row)), (row, column)), shape=(len(upper), count)),
        )

    def solve(self, box: Box, ray: bool = False) -> Late | None:
        """What the program says of a box; None where HiGHS was stopped.

        Parameters
        ----------
        box
            Not empty.
        ray
            Whether nothing but what is left out costs anything, so that prices show that nothing is in the box.
        """
        late = np.maximum(self._end - box.lower[self._job], 0)
        cost = 0.0 * late if ray else self._weight[self._job] * self._share * late
        objective = np.append(cost, np.full(self._due, 1.0 if ray else self._penalty))
        upper = np.append(np.where(self._end <= box.upper[self._job], np.inf, 0.0), np.full(self._due, np.inf))
        found = self._warm.solve(np.zeros(len(upper)), upper, self._profile, objective)
        if found.row_duals is None or found.x is None:
            return None
        slots = found.row_duals[: len(KINDS) * self._last]
        priced = np.rint(np.maximum(-slots, 0.0) * _SCALE).astype(np.int64)
        prices = TimePrices(self._ends.step, 0 if ray else _SCALE, (priced[: self._last], priced[self._last :]))
        outside = bool(found.x[self.size :].sum() > _PART)
        return Late(prices, list(self._lateness(box, found.x[: self.size])), outside)

    def _lateness(self, box: Box, starts: Floats) -> Iterator[Floats]:
        """What `Late` says of each job."""
        for job, (lower, upper) in enumerate(zip(box.lower.tolist(), box.upper.tolist(), strict=True)):
            own = (self._job == job) & (starts > 0)
            after = np.clip(self._end[own] - lower, 0, upper - lower)
            ended = np.bincount(after, weights=starts[own] * self._share[own], minlength=upper - lower + 1)
            yield np.clip(ended[::-1].cumsum()[::-1][1:], 0, 1)


def _ends_and_shares(each: SlotClass, begins: Ints, work: int) -> tuple[Ints, Floats]:
    """When the job can end at the earliest by each start, and what part of its work a task of the class is."""
    return begins + each.length + each.tail, np.full(len(begins), each.length / work)


#: A case is settled so many times at most, each time with less in its box, while it loses so many steps at least.
_ROUNDS, _LOST = 3, 3

#: No program with more is posed.
_COEFFICIENTS = 2_000_000

#: What is late by less is not late.
_WHOLE = 1e-6


@dataclass(eq=False)
class _Case:
    """A box, the positions of the multipliers that settle it, what is proved of it, and its parts."""

    box: Box
    bound: int
    by: list[int] = field(default_factory=list)
    late: list[Floats] = field(default_factory=list)
    branch: Branch | None = None
    parts: tuple[_Case, ...] = ()


class EndTree:
    """The tree, as far as it is.

    Parameters
    ----------
    ends
        What it is about; schedules that cost its limit or more do not count.
    first
        Prices to begin with.
    realised
        Looks for a schedule whose jobs end by given steps, or about then; what the best one costs that is known.

    Attributes
    ----------
    limit
        As that of `ends`, or what a schedule costs that was found.
    programs
        How many linear programs were solved.
    work
        How long it takes to check the tree (`JobEnds.work`); no box is settled for more than `MOST_WORK` in all.
    """

    def __init__(self, ends: JobEnds, first: TimePrices, realised: Callable[[list[int]], int]) -> None:
        self._ends, self.limit, self._realised = ends, ends.limit, realised
        self._multipliers: list[Ints] = []
        self._open: list[tuple[int, int, _Case]] = []
        self._cases = self.programs = self.work = 0
        weights = np.array(ends.priced.weights, dtype=np.int64)
        self._root = _Case(ends.box, int((weights * ends.box.lower).sum()))
        self._settle(self._root, first)
        small = coefficients(ends, self._root.box) <= _COEFFICIENTS
        self._program = StartProgram(ends, self._root.box) if small and not self._closed(self._root) else None

    @property
    def closed(self) -> bool:
        """Whether nothing costs less than the limit."""
        return self.proved >= self.limit

    @property
    def size(self) -> int:
        """How many starts its programs have; 1 where there are none."""
        return 1 if self._program is None else max(1, self._program.size)

    @property
    def proved(self) -> int:
        """What every schedule costs at least, in units; the limit if that is less."""
        least, waiting = self.limit, [self._root]
        while waiting:
            case = waiting.pop()
            waiting += case.parts
            if not case.parts and not case.box.empty:
                least = min(least, case.bound)
        return least

    def tree(self) -> Tree:
        """The tree that proves as much."""
        steps, waiting = [], [self._root]
        while waiting:
            case = waiting.pop()
            steps.append(Step(tuple(case.by), case.branch))
            waiting += reversed(case.parts)
        return Tree(self._multipliers, steps)

    def run(self, most: int) -> None:
        """Part cases until none is open, or so many programs were solved."""
        if self._program is None:
            return
        self._solve(self._root)
        self._push(self._root)
        while self._open and self.programs < most:
            case: _Case | None = heapq.heappop(self._open)[-1]
            while case is not None and not self._closed(case):
                case = self._parted(case)

    # Cases ----------------------------------------------------------------------------------------------------------

    def _closed(self, case: _Case) -> bool:
        return case.box.empty or case.bound >= self.limit

    def _push(self, case: _Case) -> None:
        self._cases += 1
        heapq.heappush(self._open, (case.bound, self._cases, case))

    def _settle(self, case: _Case, prices: TimePrices) -> None:
        """Bound a case and narrow its box by prices, if they can be used."""
        multipliers = packed(prices)
        work = self._ends.work(multipliers)
        if self._ends.too_large(multipliers) is None and self.work + work <= MOST_WORK:
            self.work += work
            case.by.append(len(self._multipliers))
            self._multipliers.append(multipliers)
            case.bound = max(case.bound, self._ends.settle(case.box, multipliers, self.limit) or case.bound)

    def _solve(self, case: _Case) -> None:
        """Settle a case by prices of its program, again while that narrows it; by a ray where nothing is in it."""
        found = None
        for _ in range(_ROUNDS):
            before = _width(case.box)
            found = self._solved(case)
            if found is None or self._closed(case) or before - _width(case.box) < _LOST:
                break
        if found is not None and found.outside and not self._closed(case):
            self._solved(case, ray=True)

    def _solved(self, case: _Case, ray: bool = False) -> Late | None:
        """What the program of a case says, by which it is settled; None where nothing."""
        check()
        assert self._program is not None
        self.programs += 1
        found = self._program.solve(case.box, ray)
        if found is not None:
            before = case.box.lower.copy()
            self._settle(case, found.prices)
            parts = case.late if ray else found.late
            width, lost = case.box.upper - case.box.lower, case.box.lower - before
            case.late = [
                late[first : first + more]
                for late, first, more in zip(parts, lost.tolist(), np.maximum(width, 0).tolist(), strict=True)
            ]
        return found

    def _parted(self, case: _Case) -> _Case | None:
        """The part of a case that costs less, while the other one waits; None where there is none, or it is whole."""
        branch = self._branch(case)
        if branch is None:
            if case.late:
                self._attain(case)
            return None
        parts = tuple(_Case(box, case.bound) for box in case.box.split(*branch))
        for part in parts:
            self._solve(part)
        case.branch, case.parts = branch, parts
        left = sorted((part for part in parts if not self._closed(part)), key=lambda part: part.bound)
        for part in left[1:]:
            self._push(part)
        return left[0] if left else None

    def _branch(self, case: _Case) -> Branch | None:
        """The job of which most is in part late, and about when it ends; None where all is whole."""
        best, found = _WHOLE, None
        for job, late in enumerate(case.late):
            lower, upper = int(case.box.lower[job]), int(case.box.upper[job])
            size = float(np.minimum(late, 1 - late).sum()) * self._ends.priced.weights[job]
            if size > best and lower < upper:
                at = min(upper - 1, max(lower, round(lower + float(late.sum()) - 0.5)))
                best, found = size, Branch(job, at)
        return found

    def _attain(self, case: _Case) -> None:
        """Look for a schedule where each job ends as the program of a case says."""
        ends = [int(lower) + round(float(late.sum())) for lower, late in zip(case.box.lower, case.late, strict=True)]
        self.limit = min(self.limit, self._realised(ends))


def _width(box: Box) -> int:
    """How many steps jobs may end later than at the earliest, in all."""
    return int((box.upper - box.lower).sum())


#: Variables have so many coefficients on average at most.
_DENSE = 50


class _Group(NamedTuple):
    """Maps of a job with the same least time, in steps, and for each of them the nodes where it takes that."""

    job: int
    time: int
    release: int
    tasks: list[int]
    homes: list[list[int]]


class _Posed(NamedTuple):
    """A program, and of each group on each node the columns: how many start there at its release, a step later, ..."""

    program: LinearProgram
    starts: dict[tuple[int, int], Ints]


class EndsProgram:
    """Places the maps of a problem within any times by which jobs end; reduces are not looked at.

    Parameters
    ----------
    problem
        One that is not plainly infeasible. All its times are in steps of `problem.lattice`.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.job_times import JobTimes
    >>> problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[10, 20])))
    >>> nodes, starts = EndsProgram(problem).place([3, 2], 100)
    >>> starts.tolist(), EndsProgram(problem).place([2, 2], 100)
    ([20000000, 0], None)
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem, step = problem, problem.lattice
        self._room = problem.room[KINDS[MAP]]
        self._busy: list[list[int]] = [[] for _ in self._room]
        nodes, until, _ = problem.running_of(MAP)
        for node, end in zip(nodes.tolist(), ((until - problem.now) // step).tolist(), strict=True):
            self._busy[node].append(end)
        job = problem.jobs.of_task[problem.tasks]
        release, time = (problem.release - problem.now) // step, problem.least_times // step
        groups: dict[tuple[int, int, int], list[int]] = {}
        for position in np.flatnonzero(problem.kind == MAP).tolist():
            key = int(job[position]), int(time[position]), int(release[position])
            groups.setdefault(key, []).append(position)
        self._groups = [_Group(*key, tasks, list(map(self._homes, tasks))) for key, tasks in groups.items()]

    def _homes(self, position: int) -> list[int]:
        """The nodes where a task takes its least time."""
        usable = np.flatnonzero(self._room > 0)
        times = self.problem.times.on(np.full(len(usable), position), usable)
        homes: list[int] = usable[times <= self.problem.least_times[position]].tolist()
        return homes

    def place(self, by: Sequence[int], most: int, nodes: int = 20) -> tuple[Ints, Ints] | None:
        """A node and a start (microseconds) of each map; those of reduces are 0.

        Parameters
        ----------
        by
            For each job the step after the snapshot by which its maps end.
        most
            No program with more variables is posed.
        nodes
            So many nodes of its tree are looked at.

        Returns
        -------
        tuple
            int64, shape (tasks,) each; None where the program is too large, or nothing was found.
        """
        posed = self._posed(by, most)
        if posed is None:
            return None
        found = solve_uninterrupted(posed.program, Profile("schedules by ends", node_limit=nodes))
        return None if found.x is None else self._read(posed, found.x)

    def _posed(self, by: Sequence[int], most: int) -> _Posed | None:
        """The program; None where it is too large, or a job has too little time."""
        builder, size, count = Builder(), 0, 0
        starts: dict[tuple[int, int], Ints] = {}
        covers: dict[tuple[int, int], list[int]] = {}
        for number, group in enumerate(self._groups):
            check()
            ticks = by[group.job] - group.time - group.release + 1
            tasks = [task for task, held in enumerate(group.homes) for _ in held]
            homes = [node for held in group.homes for node in held]
            own = builder.variables("on", [()] * len(homes), upper=1)
            builder.enter(builder.rows("once", [()] * len(group.homes), lower=1, upper=1)[tasks], own)
            nodes = sorted(set(homes))
            size += ticks * len(nodes) * (1 + group.time)
            count += len(homes) + ticks * len(nodes)
            if ticks <= 0 or count > most or size > _DENSE * most:
                return None
            begun = builder.rows("begun", [()] * len(nodes), lower=0, upper=0)
            builder.enter(begun[np.searchsorted(nodes, homes)], own, -1)
            for row, node in zip(begun, nodes, strict=True):
                here = homes.count(node)
                here = min(here, int(self._room[node])) if group.time else here
                columns = starts[number, node] = builder.variables("start", [()] * ticks, upper=here)
                builder.enter(row, columns)
                for tick, column in enumerate(columns.tolist(), group.release):
                    for instant in range(tick, tick + group.time):
                        covers.setdefault((node, instant), []).append(column)
        free = [self._room[node] - sum(instant < until for until in self._busy[node]) for node, instant in covers]
        for row, covered in zip(builder.rows("slots", [()] * len(free), upper=free), covers.values(), strict=True):
            builder.enter(row, covered)
        program = as_arrays(builder.program().whole, integer=False)
        for columns in starts.values():
            program.integer[columns] = True
        return _Posed(program, starts)

    def _read(self, posed: _Posed, values: Floats) -> tuple[Ints, Ints]:
        """Where tasks run and when, by the values of columns."""
        counts = np.rint(values).astype(np.int64)
        nodes, starts = (np.zeros(len(self.problem.tasks), dtype=np.int64) for _ in range(2))
        begins: list[dict[int, list[int]]] = [{} for _ in self._groups]
        for (number, node), own in posed.starts.items():
            begins[number][node] = np.repeat(np.arange(len(own)), counts[own]).tolist()
        for group, held in zip(self._groups, begins, strict=True):
            room = [len(held.get(node, ())) for node in range(len(self._room))]
            for task, node in zip(group.tasks, matched(group.homes, room), strict=True):
                nodes[task] = node
                starts[task] = self.problem.now + (group.release + held[node].pop()) * self.problem.lattice
        return nodes, starts
