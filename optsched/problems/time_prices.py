"""Prices of slots by time: the least that each job pays for its time and slots, and the lower bounds that follow.

Time goes in steps of equal length. Lengths, releases and ends of running tasks are rounded down to steps, which no
schedule is the worse for: were each slot's tasks to follow one another as before, all would end no later.

`JobEnds` is what a tree of cases needs of `job-times` (`problems.relaxations.Relaxation`): cases are parted by when a
job ends, and each is settled by prices of slots of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm
from typing import NamedTuple

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP, Ints
from optsched.core.placement import MICRO
from optsched.core.results import Number
from optsched.problems.base import exact
from optsched.problems.job_times import JobTimes, common_unit
from optsched.problems.relaxations import Box
from optsched.problems.schedule_bounds import tails_after_all
from optsched.problems.schedules import ScheduleProblem

#: More than any cost.
_NEVER = 2**61

#: No sum of prices or weights may be more.
_MOST = 2**57

#: Steps that time may have, with what follows the last price.
_STEPS = 10**6

#: Costs that are compared: tasks one after another, of each class, times steps.
_COUNTS = 10**8


class TimePrices(NamedTuple):
    """The prices of a slot for maps and for reduces in each step of time: int64, 0 or more; later slots cost nothing.

    A step is so many microseconds, 1 or more. `scale` units of price are one job's waiting for one step.
    """

    step: int
    scale: int
    prices: tuple[Ints, Ints]


@dataclass(frozen=True)
class SlotClass:
    """Tasks of a job of one kind and length, in steps."""

    kind: int
    length: int
    count: int
    release: int
    tail: int


class PricedTime:
    """The tasks of a problem in steps (microseconds) of time, to be priced.

    Every slot of a kind is like every other one here, and every task takes its least time. Each kind with tasks must
    have a slot. `ends` is when each job ends at the earliest, as is proved (microseconds, shape (jobs,)); by default
    `ScheduleProblem.earliest_completions`.
    """

    def __init__(self, problem: ScheduleProblem, step: int, ends: Ints | None = None) -> None:
        self.problem, self.step = problem, step
        self.slots = tuple(int(problem.room[name].sum()) for name in KINDS)
        equal = [1] * len(problem.jobs)
        self._job_weights: Sequence[Number] = problem.weights if isinstance(problem, JobTimes) else equal
        self._below = lcm(*(Fraction(weight).denominator for weight in self._job_weights))
        self._unit = common_unit(self._job_weights) * problem.lattice
        self.weights = [int(weight * self._below) for weight in self._job_weights]
        earliest = problem.earliest_completions if ends is None else ends
        self.alone: list[int] = ((earliest - problem.now) // step).tolist()
        self.classes = self._grouped()
        self.busy = tuple((problem.running_of(kind)[1] - problem.now) // step for kind in range(len(KINDS)))

    def _grouped(self) -> list[list[SlotClass]]:
        """The tasks of each job."""
        problem = self.problem
        job = problem.jobs.of_task[problem.tasks]
        release = (problem.earliest_starts - problem.now) // self.step
        rows = np.stack([job, problem.kind, problem.least_times // self.step, release])
        groups, counts = np.unique(rows, axis=1, return_counts=True)
        after = (tails_after_all(problem) // self.step).tolist()
        found: list[list[SlotClass]] = [[] for _ in range(len(problem.jobs))]
        for (of, kind, length, begin), count in zip(groups.T.tolist(), counts.tolist(), strict=True):
            found[of].append(SlotClass(kind, length, count, begin, after[of] if kind == MAP else 0))
        return found

    def steps(self, prices: Sequence[Ints]) -> int:
        """How many steps are looked at: after the last price each job may run its tasks for nothing."""
        classes = [each for job in self.classes for each in job]
        last = max([len(column) for column in prices] + [each.release for each in classes], default=0)
        longest = [(each.count // self.slots[each.kind] + 1) * each.length + each.tail for each in classes]
        found: int = max([last + max(longest, default=0), *self.alone]) + 1
        return found

    def too_large(self, prices: TimePrices, until: int = 0) -> str | None:
        """Why prices cannot be used, or None; with jobs that end within `until` steps at the latest."""
        steps = max(until, self.steps(prices.prices))
        if steps > _STEPS:
            return f"there are {steps} steps of time, more than {_STEPS}"
        compared = self.waves * steps
        if compared > _COUNTS:
            return f"{compared} costs would have to be compared, more than {_COUNTS}"
        most = max([1, *(each.count for job in self.classes for each in job), *self.slots])
        paid = sum(sum(column.tolist()) for column in prices.prices) * most
        if paid > _MOST or prices.scale * steps * max([1, *self.weights]) > _MOST:
            return "prices, scale and weights are too large: their sums must be at most 2^57"
        return None

    def rules_out(self, prices: TimePrices, by: int) -> bool:
        """Whether prices show that not all jobs end within `by` steps, whatever they cost: they pay too much for slots.

        That is never so within all `steps`, since all can then run when slots cost nothing.
        """
        box = Box(*np.full((2, len(self.classes)), by))
        return self.least(prices._replace(scale=0), box, by)[0] > 0

    def value(self, units: int) -> Number:
        """The sum of job times in seconds that a sum of payments proves; of `job-times`."""
        late = Fraction(units * self.step, self._below)
        whole = ceil(late / self._unit) * self._unit if self._unit else late
        return exact(Fraction(whole + self._waited()), MICRO)

    def limit_of(self, value: Number) -> int:
        """The least sum of payments, at a scale of 1, that proves that no schedule is better than `value` seconds.

        It is where `value` returns this value. Jobs must have some weight.
        """
        late = (Fraction(value) * MICRO - self._waited() - self._unit) * self._below / self.step
        return floor(late) + 1

    def limit_after(self, value: Number) -> int:
        """The least sum that proves that every schedule costs more than `value` seconds."""
        return self.limit_of(value + Fraction(self._unit) / MICRO)

    def _waited(self) -> Number:
        """The waiting of all jobs by the snapshot, times their weights; microseconds."""
        waited = (self.problem.now - self.problem.jobs.arrival).tolist()
        return sum((weight * time for weight, time in zip(self._job_weights, waited, strict=True)), Fraction(0))

    def least(self, prices: TimePrices, box: Box, steps: int) -> tuple[int, list[Ints]]:
        """The least payments of all jobs that end within a box, less what all slots cost; and those of each, by end.

        In every schedule jobs pay no more for slots than all slots cost, so that no schedule costs less. Prices are
        not `too_large`; jobs end within `steps`, and slots cost nothing after that. What a job cannot have costs 2^61
        or more.
        """
        total, sums, parts = 0, [], []
        for kind, priced in enumerate(prices.prices):
            column = priced[:steps]
            sums.append(np.concatenate([[0], np.cumsum(column), np.full(steps - len(column), column.sum())]))
            total += int(sums[kind][np.minimum(self.busy[kind], steps)].sum()) - self.slots[kind] * int(column.sum())
        for job, (lower, upper) in enumerate(zip(box.lower.tolist(), box.upper.tolist(), strict=True)):
            cost = np.zeros(steps + 1, dtype=np.int64)
            cost[: self.alone[job]] = _NEVER
            for each in self.classes[job]:
                cost = np.minimum(cost + self._priced(each, sums[each.kind]), _NEVER)
            waiting = prices.scale * self.weights[job] * np.arange(lower, upper + 1, dtype=np.int64)
            parts.append(cost[lower : upper + 1] + waiting)
            total += int(parts[-1].min())
        return total, parts

    @cached_property
    def waves(self) -> int:
        """How often prices are compared in each step: once for each task of a class on its fullest slot."""
        return sum(-(-each.count // self._slots(each)) for job in self.classes for each in job)

    def _slots(self, each: SlotClass) -> int:
        """The slots that the tasks of a class may have; those of no length need none, and have one each."""
        return self.slots[each.kind] if each.length else each.count

    def _priced(self, each: SlotClass, sums: Ints) -> Ints:
        """The least cost of the tasks of a class, by the step at which all have ended, and their tail.

        On one slot k tasks cost f(k), which is convex: the starts and the steps in which they run make an interval
        matrix. So no way to spread them over all slots of the kind costs less than to do it evenly.
        """
        slots, begins = self._slots(each), len(sums) - each.length
        waves = -(-each.count // slots)
        fullest = each.count - (waves - 1) * slots  # so many slots have a task more than the others
        less = more = np.zeros(len(sums), dtype=np.int64)  # f(k - 1) and f(k)
        for _ in range(waves):
            check()
            less, more = more, np.full(len(sums), _NEVER, dtype=np.int64)
            if begins > 0:
                by_start = np.minimum(less[:begins] + sums[each.length :] - sums[:begins], _NEVER)
                by_start[: each.release] = _NEVER
                more[each.length :] = np.minimum.accumulate(by_start)
        barred = more >= _NEVER
        cost = (slots - fullest) * np.where(barred, 0, less) + fullest * np.where(barred, 0, more)
        cost[barred] = _NEVER
        tail = min(each.tail, len(cost))
        return np.concatenate([np.full(tail, _NEVER), cost[: len(cost) - tail]])


#: Costs that are compared to settle a box once; they are held together.
_BOX_COUNTS = 10**7

#: Costs that are compared to settle all boxes of a tree, so that nobody waits for hours to check one; see `work`.
MOST_WORK = 10**9

#: Comparing costs for the first time takes as long as comparing this many.
_BEGUN = 500


class JobEnds(PricedTime):
    """All schedules whose jobs' ends cost less than a limit, by the steps in which jobs end; a `Relaxation`.

    A variable of a box is the step in which a job ends: what a schedule is rounded down to. Costs are steps until then,
    times weights, of all jobs together. Schedules that cost `limit` or more do not count.

    Examples
    --------
    Two jobs of 2 s on one slot: the first to end has the slot for its own, and the other one waits for it. That is 6 s,
    as prices of 1 show in every one of the first 2 steps: the jobs pay 4 each for time and slots, less 2 for all slots.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.job_times import JobTimes
    >>> problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 2])))
    >>> ends = JobEnds(problem, 10**6, 6)
    >>> ends.box.upper.tolist(), ends.settle(ends.box, TimePrices(10**6, 1, (np.array([1, 1]), np.zeros(0))), 6)
    ([3, 3], 6)
    """

    def __init__(self, problem: JobTimes, step: int, limit: int, ends: Ints | None = None) -> None:
        super().__init__(problem, step, ends)
        self.limit = limit
        self._latest = int(self.box.upper.max(initial=0))  # the last step in which a job ends

    @property
    def box(self) -> Box:
        """Each job ends at the earliest as if all slots were its own, and at the latest as late as the limit allows.

        When a job without weight ends does not matter, and its values are not looked at.
        """
        spare = max(-1, self.limit - 1 - sum(w * end for w, end in zip(self.weights, self.alone, strict=True)))
        later = [spare // weight if weight else min(spare, 0) for weight in self.weights]
        lower = np.array(self.alone, dtype=np.int64)
        return Box(lower, lower + np.array(later, dtype=np.int64))

    def too_large(self, prices: TimePrices, until: int = 0) -> str | None:
        """Why prices cannot be used, or None."""
        wrong = super().too_large(prices, max(until, self._latest))
        if wrong is None and self._compared(prices) > _BOX_COUNTS:
            wrong = f"{self._compared(prices)} costs would have to be compared for each box, more than {_BOX_COUNTS}"
        return wrong

    def work(self, prices: TimePrices) -> int:
        """How long it takes to settle a box by prices, as a number of costs that are compared."""
        return self._compared(prices) + _BEGUN * (self.waves + len(self.alone))

    def _compared(self, prices: TimePrices) -> int:
        """How many costs are compared, and held, to settle a box; at most."""
        return (self.waves + len(self.alone)) * max(self._latest, self.steps(prices.prices))

    def settle(self, box: Box, multipliers: TimePrices, limit: int) -> int | None:
        """A lower bound of the cost of a schedule's jobs that ends in the box; see `Relaxation.settle`.

        The box is narrowed by what no schedule has that costs less than `limit`, which is no more than that of all. The
        multipliers are prices of slots that are not `too_large`. With the scale 0 the prices
        are a ray: where jobs pay more than all slots cost, nothing is in the box.
        """
        if box.empty:
            return limit
        steps, weighed = int(box.upper.max(initial=0)), np.array(self.weights, dtype=np.int64) > 0
        if not weighed.all():
            steps = max(steps, self.steps(multipliers.prices))
        looked_at = Box(np.where(weighed, box.lower, 0), np.where(weighed, box.upper, steps))
        total, parts = self.least(multipliers, looked_at, steps)
        slack = multipliers.scale * (limit - 1) - total
        if slack < 0:
            return limit
        for job in np.flatnonzero(weighed).tolist():
            kept = np.flatnonzero(parts[job] <= parts[job].min() + slack)
            box.lower[job], box.upper[job] = box.lower[job] + kept[0], box.lower[job] + kept[-1]
        return -(-total // multipliers.scale) if multipliers.scale else None
