"""A tree of cases by when jobs end, for `job-times`: each case has prices of slots (`start_program`).

Cases are parted best first, and from each one on down to one in which the program has every job whole. For that a
schedule is looked for. A limit below the best schedule closes most of the tree at once, so that limits are tried from
what is proved on (destructive bounds, Klein and Scholl 1999).

Whether jobs can end by given times, with each map where it is quickest, is a program over nodes and steps
(`EndsProgram`). Maps of a job that take the same time are alike once it is said on which node each of them runs. So its
variables are how many of them start on each node in each step, and which task is on which of its nodes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from optsched.certificates.trees import Branch, Step, Tree
from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP, Floats, Ints
from optsched.problems.job_ends import MOST_WORK, JobEnds, packed
from optsched.problems.programs import Builder
from optsched.problems.relaxations import Box
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.time_prices import TimePrices
from optsched.searches.job_placing import matched
from optsched.searches.program_tree import as_arrays
from optsched.searches.start_program import Late, StartProgram
from optsched.solvers.highs import LinearProgram, solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["EndTree", "EndsProgram"]

#: A case is settled so many times at most, each time with less in its box, while it loses so many steps at least.
_ROUNDS, _LOST = 3, 3

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

    def __init__(self, ends: JobEnds, realised: Callable[[list[int]], int]) -> None:
        self._ends, self.limit, self._realised = ends, ends.limit, realised
        self._multipliers: list[Ints] = []
        self._open: list[tuple[int, int, _Case]] = []
        self._cases = self.programs = self.work = 0
        self._root, nothing = _Case(ends.box, 0), np.zeros(0, dtype=np.int64)
        self._settle(self._root, TimePrices(ends.step, 1, (nothing, nothing)))
        self._program = StartProgram(ends.priced, ends.box, float(ends.limit + 1))

    @property
    def closed(self) -> bool:
        """Whether nothing costs less than the limit."""
        return self.proved >= self.limit

    @property
    def size(self) -> int:
        """How many starts its programs have, 1 or more."""
        return max(1, self._program.size)

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
        if self._closed(self._root):
            return
        self._solve(self._root)
        self._attain(self._root)
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
        """Look for a schedule where each job ends as the program of a case says, if it says anything."""
        if self._closed(case) or not case.late:
            return
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
