"""Relaxations for trees of cases: bounds within a box of integers, in exact arithmetic.

A *box* gives each variable a least and a greatest value. A *relaxation* settles a box by multipliers: it bounds the
cost of everything in the box from below, and narrows the box. It is right for any multipliers, so it does not matter
who found them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from optsched.core.instance import Floats, Ints

__all__ = ["UNBOUNDED", "Box", "IntegerProgram", "Relaxation"]

#: From here on, of either sign, a row's limit is no limit, and neither is a variable's upper one.
UNBOUNDED = 2**62

#: Sums below this, in absolute value, are exact in int64, and so are twice as large ones.
_EXACT = 2**61


class Box(NamedTuple):
    """The least and the greatest value of each variable, int64, shape (variables,) each; empty if they cross."""

    lower: Ints
    upper: Ints

    @property
    def empty(self) -> bool:
        """Whether the box is empty."""
        return bool((self.lower > self.upper).any())

    def split(self, variable: int, at: int) -> tuple[Box, Box]:
        """The part in which the variable is at most `at`, and the part above; neither shares its arrays."""
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
        """The box that contains all solutions; the caller owns the arrays."""
        ...

    def settle(self, box: Box, multipliers: Any, limit: int) -> int | None:
        """A lower bound of each solution in the box, in units; `limit` if none costs less; None: no bound.

        It may narrow the box in place, by removing only solutions that cost `limit` or more.
        """
        ...


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """Least `objective` over whole numbers in a box, within rows: settled by multipliers of the rows.

    This is weak duality of the linear relaxation, in integers, for any multipliers. The first multiplier is the scale:
    the others are prices of the rows in units of cost over it. With the scale 0 they are a ray (Farkas), which proves
    that the box is empty. A price that needs a limit that its row lacks counts as 0.

    Attributes
    ----------
    objective
        int64, shape (variables,): cost of each, in units.
    row, column, value
        int64, shape (entries,) each: the nonzero entries of the rows.
    row_lower, row_upper
        int64, shape (rows,): limits of each row; `-UNBOUNDED` and `UNBOUNDED` if there is none.
    lower, upper
        int64, shape (variables,): the box; `UNBOUNDED` if a variable has no upper limit.

    Examples
    --------
    Minimise 3 x with 2 x >= 3: the price 3/2 proves 4.5, which is 5 in whole units. With the further row x <= 1, the
    prices 1 and -2 are a ray: 2 x >= 3 and -2 x >= -2 exclude each other.

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
        """The box of the program; the caller owns the arrays."""
        return Box(self.lower.copy(), self.upper.copy())

    @cached_property
    def _sizes(self) -> tuple[float, Floats]:
        """Upper limits on the absolute values of all costs together, and of the entries and limits of each row."""
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
        """int64 if it holds every sum; else Python's own integers."""
        costs, rows = self._sizes
        return np.int64 if scale * costs + float(np.abs(prices.astype(np.float64)) @ rows) < _EXACT else object

    @staticmethod
    def _narrow(box: Box, reduced: Any, slack: int) -> None:
        """Keep only those values of each variable whose reduced cost is within the slack."""
        priced = np.flatnonzero(reduced)
        cost, spread = reduced[priced], np.subtract(box.upper, box.lower)[priced]
        slack = slack if cost.dtype == object else min(slack, 2 * _EXACT)  # more than any variable can use
        room = np.minimum(slack // np.abs(cost), spread)
        dear, rich = priced[cost > 0], priced[cost < 0]
        box.upper[dear], box.lower[rich] = box.lower[dear] + room[cost > 0], box.upper[rich] - room[cost < 0]
