"""Prices of slots by time, by steps along the slots that are wanted too much or too little.

At each step of a subgradient method (Held and Karp 1971, with the length of a step by Polyak 1969) all jobs plan alone,
at the prices. The order in which they then end is a good one to place jobs in.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import KINDS, Floats, Ints
from optsched.core.results import Number
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.time_prices import Paid, PricedTime, TimePrices

__all__ = ["PriceSearch", "latest_priced"]

#: Time has at most so many steps.
_STEPS = 600

#: Units of price in a job's waiting for a step, unless numbers become too large.
_SCALE = 10**5

#: After so many steps without a better bound steps are shorter by a factor, from the best prices on.
_PATIENCE, _SHORTER, _FIRST = 15, 0.7, 1.5


class PriceSearch:
    """The best prices found so far, from none on.

    Parameters
    ----------
    problem
        One that is not plainly infeasible.
    until
        Microseconds: by when everything ends in some good schedule.
    ends
        When each job ends at the earliest, as of `PricedTime`.

    Attributes
    ----------
    best
        The prices with the highest bound, or None where none can be used.
    """

    def __init__(self, problem: JobTimes, until: int, ends: Ints | None = None) -> None:
        self.problem = problem
        span = max(1, until - problem.now)
        step = problem.lattice * max(1, -(-span // (problem.lattice * _STEPS)))
        self._priced = PricedTime(problem, step, ends)
        steps = -(-span // step)
        self._prices = [np.zeros(steps) for _ in KINDS]
        self.best: TimePrices | None = None
        self._held = [column.copy() for column in self._prices]
        self._units = -np.inf
        self._scale = _SCALE
        self._length, self._idle = _FIRST, 0

    @property
    def bound(self) -> Number | None:
        """What the best prices prove, in seconds."""
        return None if self.best is None else self._priced.told(int(self._units), self.best.scale)

    def steps(self, number: int, target: Number) -> Iterator[Paid]:
        """So many steps more; of each what all jobs pay at its prices. It ends where the bound reaches the target.

        Parameters
        ----------
        number
            How many.
        target
            What some schedule is worth, in seconds; steps are as long as it is above the bound.
        """
        for _ in range(number):
            check()
            given = self._rounded()
            if given is None:
                return
            paid = self._priced.paid(given, traced=True)
            self._weigh(paid, given)
            yield paid
            found = self.bound
            if found is not None and found >= target:
                return
            if not self._move(paid, target):
                return

    def _rounded(self) -> TimePrices | None:
        """The prices as whole numbers, at a scale at which they can be summed; None where there is none."""
        while self._scale:
            whole = tuple(np.rint(column * (self._scale / _SCALE)).astype(np.int64) for column in self._prices)
            given = TimePrices(self._priced.step, self._scale, whole)  # type: ignore[arg-type]
            if self._priced.too_large(given) is None:
                return given
            self._scale //= 10
        return None

    def _weigh(self, paid: Paid, given: TimePrices) -> None:
        """Keep the prices if they are the best."""
        units = paid.units * (_SCALE / self._scale)
        if self.best is None or units > self._units * (_SCALE / self.best.scale) + 1e-9 * abs(units):
            self.best, self._units, self._idle = given, paid.units, 0
            self._held = [column.copy() for column in self._prices]
            return
        self._idle += 1
        if self._idle >= _PATIENCE:
            self._length, self._idle = self._length * _SHORTER, 0
            self._prices = [column.copy() for column in self._held]

    def _move(self, paid: Paid, target: Number) -> bool:
        """Raise prices where too many slots are taken, and lower them where too few are; False where neither is so."""
        moves: list[Floats] = []
        for column, taken, slots in zip(self._prices, paid.taken, self._priced.slots, strict=True):
            excess = (taken[: len(column)] - slots).astype(np.float64)
            moves.append(np.where((column <= 0) & (excess < 0), 0.0, excess))
        norm = sum(float(np.square(move).sum()) for move in moves)
        units = paid.units * (_SCALE / self._scale)
        above = self._priced.units_of(target) * _SCALE - units
        if not norm or above <= 0:
            return False
        ahead = self._length * above / norm
        self._prices = [
            np.maximum(column + ahead * move, 0.0) for column, move in zip(self._prices, moves, strict=True)
        ]
        return True


#: So many steps are made to rule one end out, of a length that is a part of Polyak's; prices are so much on average.
_TRIES, _SHARE, _PRICE = 150, 0.7, 1000


def latest_priced(problem: Makespan, low: int, high: int) -> tuple[TimePrices, int] | None:
    """Prices by which not all tasks end within some number of steps, the last that was found; None: there was none.

    Parameters
    ----------
    problem
        One that is not plainly infeasible.
    low, high
        Microseconds: the first end that is not ruled out, and one that is attained.
    """
    span = max(1, high - problem.now)
    step = problem.lattice * max(1, -(-span // (problem.lattice * _STEPS)))
    priced, best = PricedTime(problem, step), None
    by = max(0, (low - problem.now) // step)
    columns = [np.full(by, float(slots > 0)) for slots in priced.slots]
    while problem.now + (by + 1) * step <= high:
        found = _ruling_out(priced, columns, by)
        if found is None:
            return best
        best, by = (found, by), by + 1
        columns = [
            np.append(column, column.mean() if by > 1 else float(slots > 0))
            for column, slots in zip(columns, priced.slots, strict=True)
        ]
    return best


def _ruling_out(priced: PricedTime, columns: list[Floats], by: int) -> TimePrices | None:
    """Prices by which not all tasks end within so many steps, changing `columns` on the way; None where none is found.

    Maps and reduces share a sum of prices, so that they do not become small.
    """
    for _ in range(_TRIES):
        check()
        total = sum(float(column.sum()) for column in columns)
        for column in columns:
            column *= _PRICE * by / max(total, 1e-9)
        maps, reduces = (np.rint(column).astype(np.int64) for column in columns)
        given = TimePrices(priced.step, 1, (maps, reduces))
        if priced.too_large(given) is not None:
            return None
        paid = priced.paid_by(given, by, traced=True)
        if paid is None or paid.units > 0:
            return given
        moves = []
        for column, taken, slots in zip(columns, paid.taken, priced.slots, strict=True):
            excess = (taken - slots).astype(np.float64)
            moves.append(np.where((column <= 0) & (excess < 0), 0.0, excess))
        norm = sum(float(np.square(move).sum()) for move in moves)
        if not norm:
            return None
        for column, move in zip(columns, moves, strict=True):
            np.maximum(column + _SHARE * (1 - paid.units + _PRICE) / norm * move, 0.0, out=column)
    return None
