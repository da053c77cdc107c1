"""Boxes of the steps in which jobs end: prices of slots bound `job-times` within such a box, and narrow it.

This is what a tree of cases needs of `job-times` (`problems.relaxations.Relaxation`): cases are parted by when a job
ends, and each is settled by prices of slots of its own.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from optsched.core.instance import Ints
from optsched.core.results import Number
from optsched.core.schedule import MICRO
from optsched.problems.job_times import JobTimes, common_unit
from optsched.problems.relaxations import Box
from optsched.problems.time_prices import PricedTime, TimePrices

__all__ = ["MOST_WORK", "JobEnds"]

#: Costs that are compared to settle a box once; they are held together.
_COUNTS = 10**7

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
        if wrong is None and self._compared(prices) > _COUNTS:
            wrong = f"{self._compared(prices)} costs would have to be compared for each box, more than {_COUNTS}"
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
