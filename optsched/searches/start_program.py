"""Prices of slots by time, from a linear program over starts.

In the program jobs end within a box, slots are alike, and tasks are in parts. A job ends at the least step of its box,
and later by the share of its tasks that end later: so starts are the only variables, and cost what they are late. The
duals are prices of slots, at which whole jobs are priced exactly (`problems.time_prices`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from optsched.core.deadline import check
from optsched.core.instance import KINDS, Floats, Ints
from optsched.core.placement import Schedule
from optsched.problems.makespan import Makespan
from optsched.problems.relaxations import Box
from optsched.problems.schedules import NEVER, ScheduleProblem
from optsched.problems.time_prices import PricedTime, SlotClass, TimePrices
from optsched.solvers.highs import LinearProgram, WarmProgram
from optsched.solvers.profiles import Profile

__all__ = ["Late", "StartProgram", "fine_enough", "latest_priced"]

#: Units of price in a job's waiting for a step.
_SCALE = 2**14

#: Less of a task is nothing.
_PART = 1e-6

#: Time has at most this many steps, or 1. Steps are longer where the program would have more coefficients, or prices
#: would take more comparisons.
_STEPS, _COEFFICIENTS, _COMPARED = 600, 500_000, 5_000_000


class Late(NamedTuple):
    """What the program says of a box.

    `prices` are of slots; with the scale 0 a ray. `late` has of each job the parts of it that end after the least step
    of its box, after the next one, and so on. `outside` is whether parts of tasks end after the box, or never.
    """

    prices: TimePrices
    late: list[Floats]
    outside: bool


def fine_enough(problem: ScheduleProblem, schedule: Schedule, ends: Ints) -> PricedTime:
    """A problem, not plainly infeasible, in the shortest steps of time in which its program is not too large.

    A good schedule is given, and when each job ends at the earliest, as of `PricedTime`.
    """
    until = int(problem.completions(schedule).max())
    latest = problem.latest_completions(problem.evaluate(schedule)[0])
    after = (np.where(latest < NEVER, latest, until) - problem.now).tolist()
    step = problem.lattice * max(1, -(-max(after) // (problem.lattice * _STEPS)))
    while True:
        check()
        priced, steps = PricedTime(problem, step, ends), max(after) // step
        covered = sum(
            each.length * max(0, last // step - each.tail - each.length + 1 - each.release)
            for classes, last in zip(priced.classes, after, strict=True)
            for each in classes
        )
        compared = (priced.waves + len(priced.classes)) * steps
        if steps <= 1 or (covered <= _COEFFICIENTS and compared <= _COMPARED):
            return priced
        step *= 2


class StartProgram:
    """The program for boxes within one. Where what is priced has no weights, jobs count 1 each.

    `penalty` is what a task costs that is left out.
    """

    def __init__(self, priced: PricedTime, box: Box, penalty: float = 1.0) -> None:
        self._step, self._last, self._penalty = priced.step, int(box.upper.max(initial=0)), penalty
        self._weight = np.array(priced.weights or [1] * len(priced.classes), dtype=np.float64)
        self._profile = Profile("prices of slots")
        nothing = np.zeros(0, dtype=np.int64)
        columns: list[tuple[Ints, Ints, Floats]] = [(nothing, nothing, np.zeros(0))]
        entries: list[tuple[Ints, Ints]] = [(nothing, nothing)]
        due: list[float] = []
        rows, count = len(KINDS) * self._last, 0
        for job, classes in enumerate(priced.classes):
            check()
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
        self._warm = WarmProgram(self._program(priced, entries, due))

    @property
    def size(self) -> int:
        """How many starts there are."""
        return len(self._job)

    def _program(self, priced: PricedTime, entries: list[tuple[Ints, Ints]], due: list[float]) -> LinearProgram:
        """Rows are slots of each kind in each step, and the tasks of each class; a box gives costs and bounds."""
        row, column = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        count, room = self.size + len(due), []
        for slots, busy in zip(priced.slots, priced.busy, strict=True):
            room.append(slots - (busy[None, :] > np.arange(self._last)[:, None]).sum(axis=1).astype(np.float64))
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
        """What the program says of a box that is not empty; None where HiGHS was stopped.

        For a `ray` nothing but what is left out costs anything, so that prices show that nothing is in the box.
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
        prices = TimePrices(self._step, 0 if ray else _SCALE, (priced[: self._last], priced[self._last :]))
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


def latest_priced(problem: Makespan, low: int, schedule: Schedule) -> tuple[TimePrices, int] | None:
    """Prices by which not all tasks end within some number of steps, by halves the most; None: there were none.

    `low` is the first end that is not ruled out, in microseconds; a good schedule is given, too.
    """
    priced = fine_enough(problem, schedule, problem.earliest_completions)
    alone, best = np.array(priced.alone, dtype=np.int64), None
    first = max((low - problem.now) // priced.step, int(alone.max(initial=0)))
    last = max((int(problem.completions(schedule).max()) - problem.now) // priced.step, first)
    program = StartProgram(priced, Box(alone, np.full(len(alone), last)))
    while first < last:
        by = (first + last) // 2
        found = program.solve(Box(alone, np.full(len(alone), by)), ray=True)
        prices = None if found is None else found.prices._replace(scale=1)
        if prices is None or priced.too_large(prices) is not None:
            break
        paid = priced.paid_by(prices, by)
        if paid is None or paid > 0:
            best, first = (prices, by), by + 1
        else:
            last = by
    return best
