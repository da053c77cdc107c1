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
from optsched.problems.schedule_bounds import all_waited_for, tails
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
    have a slot. The problem is `job-times`, but for `paid_by`. `ends` is when each job ends at the earliest, as is
    proved (microseconds, shape (jobs,)); by default `ScheduleProblem.earliest_completions`.
    """

    def __init__(self, problem: ScheduleProblem, step: int, ends: Ints | None = None) -> None:
        self.problem, self.step = problem, step
        self.slots = tuple(int(problem.room[name].sum()) for name in KINDS)
        self._job_weights: tuple[Number, ...] = problem.weights if isinstance(problem, JobTimes) else ()
        self._below = lcm(*(Fraction(weight).denominator for weight in self._job_weights))
        self.weights = [int(weight * self._below) for weight in self._job_weights]
        earliest = problem.earliest_completions if ends is None else ends
        self.alone = ((earliest - problem.now) // step).tolist()
        self.classes = self._grouped()
        self.busy = tuple((problem.running_of(kind)[1] - problem.now) // step for kind in range(len(KINDS)))

    def _grouped(self) -> list[list[SlotClass]]:
        """The tasks of each job."""
        problem = self.problem
        job = problem.jobs.of_task[problem.tasks]
        release = (problem.earliest_starts - problem.now) // self.step
        rows = np.stack([job, problem.kind, problem.least_times // self.step, release])
        groups, counts = np.unique(rows, axis=1, return_counts=True)
        after = (tails(problem) // self.step).tolist()
        waited = all_waited_for(problem).tolist()
        found: list[list[SlotClass]] = [[] for _ in range(len(problem.jobs))]
        for (of, kind, length, begin), count in zip(groups.T.tolist(), counts.tolist(), strict=True):
            tail = after[of] if kind == MAP and waited[of] else 0
            found[of].append(SlotClass(kind, length, count, begin, tail))
        return found

    def steps(self, prices: Sequence[Ints]) -> int:
        """How many steps are looked at: after the last price each job may run its tasks for nothing."""
        last = max(
            [len(column) for column in prices] + [each.release for job in self.classes for each in job], default=0
        )
        longest = [
            (each.count // self.slots[each.kind] + 1) * each.length + each.tail for job in self.classes for each in job
        ]
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

    def bound(self, prices: TimePrices) -> Number:
        """The least sum of job times, in seconds, by prices that are not `too_large`.

        In every schedule jobs pay no more than all slots cost. So the sum is no less than what each job pays
        at least for its time and its slots, less what all slots cost.
        """
        steps = self.steps(prices.prices)
        total, costs = self.costs(prices.prices, steps)
        waiting = prices.scale * np.arange(steps + 1, dtype=np.int64)
        for weight, cost in zip(self.weights, costs, strict=True):
            total += int((cost + weight * waiting).min())
        return self.value(total, prices.scale)

    def value(self, units: int, scale: int) -> Number:
        """The sum of job times in seconds that a sum of payments proves."""
        problem = self.problem
        unit = common_unit(self._job_weights) * problem.lattice
        late = Fraction(units * self.step, scale * self._below)
        whole = ceil(late / unit) * unit if unit else late
        return exact(Fraction(whole + self._waited()), MICRO)

    def least_units(self, value: Number) -> int:
        """The least sum of payments, at a scale of 1, that proves that no schedule is better than `value` seconds.

        Jobs must have some weight. It is where `value` returns this value.
        """
        unit = common_unit(self._job_weights) * self.problem.lattice
        late = (Fraction(value) * MICRO - self._waited() - unit) * self._below / self.step
        return floor(late) + 1

    def _waited(self) -> Number:
        """The waiting of all jobs by the snapshot, times their weights; microseconds."""
        now, waited = self.problem.now, Fraction(0)
        if self._job_weights:
            for weight, arrival in zip(self._job_weights, self.problem.jobs.arrival.tolist(), strict=True):
                waited += weight * (now - arrival)
        return waited

    def paid_by(self, prices: TimePrices, by: int) -> int | None:
        """The payments of all jobs for slots if they end within `by` steps, less the slots' cost; None if one cannot.

        If that is above 0 no schedule ends so soon. It never is within all `steps`, since all can then run when slots
        cost nothing.
        """
        total, costs = self.costs([column[:by] for column in prices.prices], by)
        paid = [int(cost[by]) for cost in costs]
        return None if max(paid, default=0) >= _NEVER else total + sum(paid)

    def costs(self, prices: Sequence[Ints], steps: int) -> tuple[int, list[Ints]]:
        """The payments of running tasks less the cost of all slots; and the least cost of each job's slots, by its end.

        Prices are for maps and for reduces, no more than `steps`, and not `too_large`. Costs of a job are int64, of
        shape (steps + 1,): at least 2^61 where it cannot have ended by then.
        """
        total, sums, found = 0, [], []
        for kind, column in enumerate(prices):
            sums.append(np.concatenate([[0], np.cumsum(column), np.full(steps - len(column), column.sum())]))
            total += int(sums[kind][np.minimum(self.busy[kind], steps)].sum()) - self.slots[kind] * int(column.sum())
        for job, classes in enumerate(self.classes):
            cost = np.zeros(steps + 1, dtype=np.int64)
            cost[: self.alone[job]] = _NEVER
            for each in classes:
                cost = np.minimum(cost + self._priced(each, sums[each.kind]), _NEVER)
            found.append(cost)
        return total, found

    def _chain(self, each: SlotClass, sums: Ints) -> dict[int, Ints]:
        """The least cost of tasks one after another on a slot, by their number and the step at which all have ended.

        For as many as the fullest slot has, and one less.
        """
        found = {0: np.zeros(len(sums), dtype=np.int64)}
        count = len(sums) - each.length
        for number in range(1, self._waves(each) + 1):
            check()
            found[number] = np.full(len(sums), _NEVER, dtype=np.int64)
            if count > 0:
                by_start = np.minimum(found[number - 1][:count] + sums[each.length :] - sums[:count], _NEVER)
                by_start[: each.release] = _NEVER
                found[number][each.length :] = np.minimum.accumulate(by_start)
            found.pop(number - 2, None)
        return found

    @cached_property
    def waves(self) -> int:
        """How often prices are compared in each step: once for each task of a class on its fullest slot."""
        return sum(self._waves(each) for job in self.classes for each in job)

    def _waves(self, each: SlotClass) -> int:
        """How many tasks of a class the fullest slot has, were all spread evenly; those of no length are one."""
        return -(-each.count // self.slots[each.kind]) if each.length else 1

    def _spread(self, each: SlotClass) -> list[tuple[int, int]]:
        """How many tasks each of a number of slots has, but for slots without any.

        On one slot k tasks cost f(k), which is convex: the starts and the steps in which they run make an interval
        matrix. So no other way to spread them over all slots of the kind costs less.
        """
        if not each.length:
            return [(1, each.count)]
        full, more = divmod(each.count, self.slots[each.kind])
        spread = [(full, self.slots[each.kind] - more), (full + 1, more)]
        return [(number, slots) for number, slots in spread if number and slots]

    def _priced(self, each: SlotClass, sums: Ints) -> Ints:
        """The least cost of the tasks of a class, by the step at which all have ended, and their tail."""
        chain = self._chain(each, sums)
        fullest = chain[self._waves(each)]
        cost, barred = np.zeros(len(fullest), dtype=np.int64), fullest >= _NEVER
        for number, slots in self._spread(each):
            cost += slots * np.where(barred, 0, chain[number])
        cost[barred] = _NEVER
        tail = min(each.tail, len(cost))
        return np.concatenate([np.full(tail, _NEVER), cost[: len(cost) - tail]])


#: Costs that are compared to settle a box once; they are held together.
_BOX_COUNTS = 10**7

#: Costs that are compared to settle all boxes of a tree, so that nobody waits for hours to check one; see `work`.
MOST_WORK = 10**9

#: Comparing costs for the first time takes as long as comparing this many.
_BEGUN = 500


class JobEnds:
    """All schedules whose jobs' ends cost less than a limit, by the steps in which jobs end; a `Relaxation`.

    A variable of a box is the step in which a job ends, as in `PricedTime`: what a schedule is rounded down to. Costs
    are steps until then, times weights, of all jobs together. Each kind with tasks must have a slot.

    Parameters
    ----------
    problem, step, ends
        As of `PricedTime`.
    limit
        Schedules that cost as much or more do not count.

    Examples
    --------
    Two jobs of 2 s on one slot: the first to end has the slot for its own, and the other one waits for it. That is 6 s,
    as prices of 1 show in every one of the first 2 steps: the jobs pay 4 each for time and slots, less 2 for all slots.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 2])))
    >>> ends = JobEnds(problem, 10**6, 6)
    >>> ends.box.upper.tolist(), ends.settle(ends.box, TimePrices(10**6, 1, (np.array([1, 1]), np.zeros(0))), 6)
    ([3, 3], 6)
    """

    def __init__(self, problem: JobTimes, step: int, limit: int, ends: Ints | None = None) -> None:
        self.problem, self.step, self.limit = problem, step, limit
        self.priced = PricedTime(problem, step, ends)

    @cached_property
    def _weights(self) -> Ints:
        return np.array(self.priced.weights, dtype=np.int64)

    @cached_property
    def _latest(self) -> int:
        """The last step in which a job ends."""
        return int(self.box.upper.max(initial=0))

    @property
    def box(self) -> Box:
        """Each job ends at the earliest as if all slots were its own, and at the latest as late as the limit allows.

        When a job without weight ends does not matter, and its values are not looked at.
        """
        weights = self.priced.weights
        spare = max(-1, self.limit - 1 - sum(w * end for w, end in zip(weights, self.priced.alone, strict=True)))
        lower = np.array(self.priced.alone, dtype=np.int64)
        later = [spare // weight if weight else min(spare, 0) for weight in weights]
        return Box(lower, lower + np.array(later, dtype=np.int64))

    def too_large(self, prices: TimePrices) -> str | None:
        """Why prices cannot be used, or None."""
        wrong = self.priced.too_large(prices, self._latest)
        if wrong is None and self._compared(prices) > _BOX_COUNTS:
            wrong = f"{self._compared(prices)} costs would have to be compared for each box, more than {_BOX_COUNTS}"
        return wrong

    def work(self, prices: TimePrices) -> int:
        """How long it takes to settle a box by prices, as a number of costs that are compared."""
        return self._compared(prices) + _BEGUN * (self.priced.waves + len(self.priced.alone))

    def _compared(self, prices: TimePrices) -> int:
        """How many costs are compared, and held, to settle a box; at most."""
        steps = max(self._latest, self.priced.steps(prices.prices))
        return (self.priced.waves + len(self.priced.alone)) * steps

    def settle(self, box: Box, multipliers: TimePrices, limit: int) -> int | None:
        """A lower bound of the cost of a schedule's jobs that ends in the box; see `Relaxation.settle`.

        The box is narrowed by what no schedule has that costs less than `limit`, which is no more than that of all. The
        multipliers are prices of slots that are not `too_large`. With the scale 0 the prices
        are a ray: where jobs pay more than all slots cost, nothing is in the box.
        """
        if box.empty:
            return limit
        steps = int(box.upper.max(initial=0))
        if not self._weights.all():
            steps = max(steps, self.priced.steps(multipliers.prices))
        total, costs = self.priced.costs([column[:steps] for column in multipliers.prices], steps)
        least, parts = [], []
        for job, cost in enumerate(costs):
            weight = self.priced.weights[job]
            begin, end = (int(box.lower[job]), int(box.upper[job])) if weight else (0, steps)
            part = cost[begin : end + 1] + multipliers.scale * weight * np.arange(begin, end + 1, dtype=np.int64)
            parts.append(part)
            least.append(int(part.min()))
        total += sum(least)
        slack = multipliers.scale * (limit - 1) - total
        if slack < 0:
            return limit
        for job, part in enumerate(parts):
            if self.priced.weights[job]:
                kept = np.flatnonzero(part <= least[job] + slack)
                box.lower[job], box.upper[job] = box.lower[job] + kept[0], box.lower[job] + kept[-1]
        return -(-total // multipliers.scale) if multipliers.scale else None

    def value(self, units: int) -> Number:
        """The sum of job times in seconds that a cost proves."""
        return self.priced.value(units, 1)

    @classmethod
    def limit_of(cls, problem: JobTimes, step: int, value: Number) -> int:
        """The least limit that proves that no schedule is better than `value` seconds; jobs must have some weight."""
        return PricedTime(problem, step).least_units(value)

    @classmethod
    def limit_after(cls, problem: JobTimes, step: int, value: Number) -> int:
        """The least limit that proves that every schedule costs more than `value` seconds."""
        unit = Fraction(common_unit(problem.weights) * problem.lattice) / MICRO
        return cls.limit_of(problem, step, value + unit)
