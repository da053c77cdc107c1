"""A tree of cases by when jobs end, for `job-times`: each case has prices of slots (`start_program`).

Cases are parted best first, and from each one on down to one in which the program has every job whole. For that a
schedule is looked for. A limit below the best schedule closes most of the tree at once, so that limits are tried from
what is proved on (destructive bounds, Klein and Scholl 1999).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from optsched.certificates.programs import without_costs
from optsched.certificates.trees import Branch, Step, Tree
from optsched.core.deadline import check
from optsched.core.instance import Floats, Ints
from optsched.core.placement import Schedule
from optsched.problems.job_times import JobTimes
from optsched.problems.relaxations import Box
from optsched.problems.time_prices import MOST_WORK, JobEnds, TimePrices
from optsched.searches.program_tree import as_arrays
from optsched.searches.start_program import Late, StartProgram
from optsched.solvers.answers import whole_numbers
from optsched.solvers.highs import solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["EndTree", "ended_by"]

#: How often a case is settled at most, each time with less in its box; and the steps that it must lose each time.
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
    programs, work
        How many linear programs were solved, and how long it takes to check the tree (`JobEnds.work`); no box is
        settled for more than `MOST_WORK` in all.
    """

    def __init__(self, ends: JobEnds, realised: Callable[[list[int]], int]) -> None:
        self._ends, self.limit, self._realised = ends, ends.limit, realised
        self._multipliers: list[TimePrices] = []
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
        """The lower bound of every schedule's cost, in units; the limit if that is less."""
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
        """Part cases until none is open, or `most` programs were solved."""
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
        work = self._ends.work(prices)
        if self._ends.too_large(prices) is None and self.work + work <= MOST_WORK:
            self.work += work
            case.by.append(len(self._multipliers))
            self._multipliers.append(prices)
            case.bound = max(case.bound, self._ends.settle(case.box, prices, self.limit) or case.bound)

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
        """The job with the largest part late, and about when it ends; None where all is whole."""
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


def ended_by(problem: JobTimes, ends: Ints, most: int, nodes: int = 20) -> Schedule | None:
    """A schedule in which jobs end by given times (microseconds) and each task runs where it is quickest.

    None where the problem's program of these has more than `most` starts, or HiGHS finds nothing within its nodes.
    """
    if (ends < problem.earliest_completions).any():
        return None
    posed = problem.ending(ends)
    table = posed.timetable
    if sum(len(starts) * len(pools) for starts, pools in zip(table.starts, table.pools_of, strict=True)) > most:
        return None
    program = posed.program()
    arrays = as_arrays(without_costs(program.numbers))
    arrays.integer[program.family("ended")] = False  # sums of starts
    found = solve_uninterrupted(arrays, Profile("schedules by ends", node_limit=nodes))
    return None if found.x is None else posed.decision_of(whole_numbers(found.x), program)
