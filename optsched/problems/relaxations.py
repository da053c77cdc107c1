"""Relaxations for trees of cases: bounds within a box of integers, in exact arithmetic.

A *box* gives each variable a least and a greatest value. A *relaxation* settles a box by multipliers: it says what all
that is in the box costs at least, and narrows the box. It is right for any multipliers, so it does not
matter who found them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from optsched.core.instance import Floats, Ints

__all__ = ["UNBOUNDED", "Box", "IntegerProgram", "Relaxation"]

#: A row's limit from here on, of either sign, is none, and so is a variable's upper one.
UNBOUNDED = 2**62

#: Sums below this, in size, are exact in int64, twice as large ones too.
_EXACT = 2**61


class Box(NamedTuple):
    """The least and the greatest value of each variable, int64, shape (variables,) each; empty if they cross."""

    lower: Ints
    upper: Ints

    @property
    def empty(self) -> bool:
        """Whether nothing is in it."""
        return bool((self.lower > self.upper).any())

    def split(self, variable: int, at: int) -> tuple[Box, Box]:
        """The part where the variable is `at` or less, and the part where it is more; neither shares its arrays."""
        less, more = (Box(self.lower.copy(), self.upper.copy()) for _ in range(2))
        less.upper[variable] = min(less.upper[variable], at)
        more.lower[variable] = max(more.lower[variable], at + 1)
        return less, more


class Relaxation(Protocol):
    """The relaxation of a problem for a tree of cases: its cost is minimised in whole units.

    It must be right for any multipliers, and for any box within its own.
    """

    @property
    def box(self) -> Box:
        """The box that all solutions are in; arrays of the caller's own."""
        ...

    def settle(self, box: Box, multipliers: Any, limit: int) -> int | None:
        """A lower bound of each solution in the box, in units; `limit` where none costs less; None: nothing is said.

        It may narrow the box in place, by what no solution has that costs less than `limit`.
        """
        ...


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """Least `objective` over whole numbers in a box, within rows: settled by multipliers of the rows.

    Weak duality of the linear relaxation, in integers: for any multipliers. The first multiplier is the scale: the
    others are prices of the rows in units of cost over it. With the scale 0 they are a ray (Farkas) that shows that
    nothing is in the box. A price that needs a limit which its row does not have counts as 0.

    Attributes
    ----------
    objective
        int64, shape (variables,): cost of one, in units.
    row, column, value
        int64, shape (entries,) each: the entries of the rows that are not 0.
    row_lower, row_upper
        int64, shape (rows,): limits of each row; `-UNBOUNDED` and `UNBOUNDED` where there is none.
    lower, upper
        int64, shape (variables,): the box; `UNBOUNDED` where a variable has no upper limit.

    Examples
    --------
    Three times x at least, where 2 x is 3 or more: the price 3/2 proves 4.5, which is 5 in whole units. Once more, with
    the row x <= 1, the prices 1 and -2 are a ray: 2 x >= 3 and -2 x >= -2 cannot both be.

    >>> one = np.array([1])
    >>> program = IntegerProgram(3 * one, 0 * one, 0 * one, 2 * one, 3 * one, UNBOUNDED * one, 0 * one, 9 * one)
    >>> program.settle(program.box, np.array([2, 3]), 100)
    5
    >>> both = IntegerProgram(3 * one, np.array([0, 1]), np.array([0, 0]), np.array([2, 1]),
    ...     np.array([3, -UNBOUNDED]), np.array([UNBOUNDED, 1]), 0 * one, 9 * one)
    >>> both.settle(both.box, np.array([0, 1, -2]), 100)
    100
    """

    objective: Ints
    row: Ints
    column: Ints
    value: Ints
    row_lower: Ints
    row_upper: Ints
    lower: Ints
    upper: Ints

    @property
    def box(self) -> Box:
        """The box of the program; arrays of the caller's own."""
        return Box(self.lower.copy(), self.upper.copy())

    @cached_property
    def _sizes(self) -> tuple[float, Floats]:
        """The most that all costs come to, in size, and likewise the entries and the limits of each row."""
        ends = np.maximum(np.maximum(np.abs(self.lower), np.abs(self.upper)), 1).astype(np.float64)
        terms = np.abs(self.value.astype(np.float64)) * ends[self.column]
        limits = np.stack([self.row_lower, self.row_upper]).astype(np.float64)
        limits = np.where(np.abs(limits) < UNBOUNDED, np.abs(limits), 0).max(axis=0)
        rows: Floats = np.bincount(self.row, terms, minlength=len(self.row_lower)) + limits
        return float(np.abs(self.objective.astype(np.float64)) @ ends), rows

    def settle(self, box: Box, multipliers: Ints, limit: int) -> int | None:
        """The bound that multipliers prove of a box, which they narrow by reduced costs; see `Relaxation.settle`."""
        if box.empty:
            return limit
        scale, prices = max(int(multipliers[0]), 0), multipliers[1:]
        needed = np.where(prices > 0, self.row_lower, self.row_upper)
        prices = np.where(np.abs(needed) < UNBOUNDED, prices, 0)
        kind = self._kind(scale, prices)
        reduced = self.objective.astype(kind) * scale
        np.subtract.at(reduced, self.column, self.value.astype(kind) * prices.astype(kind)[self.row])
        lower, upper = box.lower.astype(kind), box.upper.astype(kind)
        earned = prices.astype(kind) * np.where(prices, needed, 0).astype(kind)
        least = int(earned.sum()) + int(np.where(reduced > 0, reduced * lower, reduced * upper).sum())
        slack = (scale * (limit - 1) if scale else 0) - least
        if slack < 0:
            return limit
        self._narrow(box, reduced, slack)
        return -(-least // scale) if scale else None

    def _kind(self, scale: int, prices: Ints) -> Any:
        """int64 where it holds every sum; else Python's own integers."""
        costs, rows = self._sizes
        return np.int64 if scale * costs + float(np.abs(prices.astype(np.float64)) @ rows) < _EXACT else object

    @staticmethod
    def _narrow(box: Box, reduced: Any, slack: int) -> None:
        """Keep of each variable only what its reduced cost leaves within the slack."""
        priced = np.flatnonzero(reduced)
        cost, spread = reduced[priced], np.subtract(box.upper, box.lower)[priced]
        slack = slack if cost.dtype == object else min(slack, 2 * _EXACT)  # more than any variable here can take
        room = np.minimum(slack // np.abs(cost), spread)
        dear, rich = priced[cost > 0], priced[cost < 0]
        box.upper[dear], box.lower[rich] = box.lower[dear] + room[cost > 0], box.upper[rich] - room[cost < 0]
