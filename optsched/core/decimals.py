"""Exact numbers from decimals: 0.1 counts as one tenth, although no double holds a tenth.

Files and parameters give doubles. Values to compare, share out, round down or add up exactly are converted here first;
a solver's figures stay doubles. Arrays become whole multiples of a unit: 1 over a common denominator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from optsched.core.arrays import LARGEST, Floats, Ints
from optsched.core.errors import TooLarge

#: The largest common denominator for exact numbers; beyond it costs are rounded to multiples of its inverse.
FINEST = 2**20

#: The most digits in numerator and denominator of an exact number: Python writes and reads up to 4,300.
MOST_DIGITS = 4000

_BEYOND_DIGITS: int = 10**MOST_DIGITS

_RATIONAL = re.compile(rf"(-?[0-9]{{1,{MOST_DIGITS}}})/([1-9][0-9]{{0,{MOST_DIGITS - 1}}})")

#: Larger integers are written "p/1": some readers of JSON accept at most 60 digits.
_LARGEST_INTEGER = 10**59

#: No two decimals of at most 15 digits are the same double, so up to here a double determines its decimal.
_EXACT = 10**15

#: Numbers past 2^53 units become this value, which every problem refuses: int64 would wrap round.
_BEYOND = 2**60


def decimal(value: Any) -> Fraction:
    """The rational that a finite number is written as; for a double, its shortest decimal.

    Integers and fractions stay as they are.

    >>> decimal(0.1), decimal(0.1) + decimal(0.2) == decimal(0.3), 0.1 + 0.2 == 0.3
    (Fraction(1, 10), True, False)
    """
    value = value.item() if isinstance(value, np.generic) else value
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def is_short(value: int | Fraction) -> bool:
    """Whether an exact number has at most `MOST_DIGITS` digits in numerator and denominator, as files need it.

    >>> is_short(10**3999), is_short(Fraction(1, 10**4000))
    (True, False)
    """
    return abs(value.numerator) < _BEYOND_DIGITS and value.denominator < _BEYOND_DIGITS


def spelled(value: int | Fraction | None, largest: int = _LARGEST_INTEGER) -> int | str | None:
    """A number as a file holds it and `rational` reads it; None, for unknown, stays None.

    Integers past `largest` are written "p/1". TooLarge if it has more than `MOST_DIGITS` digits, too many for a file.

    >>> spelled(Fraction(1, 2)), spelled(3), spelled(3, largest=2)
    ('1/2', 3, '3/1')
    """
    if value is None or (isinstance(value, int) and abs(value) <= largest):
        return value
    if not is_short(value):
        raise TooLarge(f"a number has more than {MOST_DIGITS:,} digits, which no file holds; give shorter decimals")
    return f"{value.numerator}/{value.denominator}"


def rational(text: str) -> Fraction | None:
    """The number that is written "p/q", of at most `MOST_DIGITS` digits each; None if the text is something else.

    >>> rational("-6/4"), rational("1/0"), rational("0.5")
    (Fraction(-3, 2), None, None)
    """
    parts = _RATIONAL.fullmatch(text)
    return None if parts is None else Fraction(int(parts[1]), int(parts[2]))


def common_grid(*columns: Floats) -> int:
    """The grid of costs: 1 over their common denominator, or over `FINEST` if that is smaller.

    >>> common_grid(np.array([0.1, 2.0])), common_grid(np.array([1 / 3])) == FINEST
    (10, True)
    """
    return common_denominator(*columns) or FINEST


def rounded_units(values: Floats, denominator: int) -> Ints:
    """Finite numbers in units of 1/`denominator`, each rounded once (half to even) as a decimal; same shape.

    Values past 2^53 units become 2^60, which every problem refuses.
    """
    with np.errstate(over="ignore"):
        units = values * float(denominator)
        doubtful = np.abs(units - np.floor(units) - 0.5) * 2.0**50 <= np.abs(units)
    found = np.where(np.abs(units) <= LARGEST, np.rint(units), float(_BEYOND)).astype(np.int64)
    # If a double is next to a half, its decimal decides the direction.
    found[doubtful] = for_each(values[doubtful], lambda value: round(value * denominator))
    return found


def total(values: Floats) -> Fraction:
    """Sum of finite numbers as decimals, in any order.

    >>> total(np.array([0.1, 0.2]))
    Fraction(3, 10)
    """
    return sum(map(decimal, values.tolist()), Fraction(0))


def common_denominator(*columns: Floats, most: int = FINEST) -> int | None:
    """The least number that makes all finite entries whole; None if it is above `most`.

    >>> common_denominator(np.array([0.25, 3.0]), np.array([0.1])), common_denominator(np.array([1 / 3]))
    (20, None)
    """
    common = 1
    for column in columns:
        if (column == np.rint(column)).all():
            continue
        distinct = np.unique(column[np.isfinite(column)])
        found = _of_short(distinct, most) if len(distinct) else 1
        if found is None:
            found = 1
            for value in distinct.tolist():
                found = lcm(found, decimal(value).denominator)
                if found > most:
                    return None
        common = lcm(common, found)
        if common > most:
            return None
    return common


def _of_short(values: Floats, most: int) -> int | None:
    """Like `common_denominator` if all values have few digits; None if that is not certain."""
    ten = 1
    while ten <= most:
        units = np.rint(values * ten)
        if (np.abs(units) < _EXACT).all() and (units / ten == values).all():
            return ten // gcd(ten, int(np.gcd.reduce(units.astype(np.int64))))
        ten *= 10
    return None


def whole_units(values: Floats, denominator: int) -> Ints:
    """Finite numbers in units of 1/`denominator`, exactly, as decimals; same shape.

    Values past 2^53 units become 2^60, which every problem refuses.

    >>> whole_units(np.array([0.1, 0.3, 2.0]), 10).tolist()
    [1, 3, 20]
    """
    with np.errstate(over="ignore"):
        units = np.rint(values * float(denominator))
    # A double differs from its decimal by 2^-53 of it, and the product by as much again: less than half up to 2^51.
    if (np.abs(units) < LARGEST / 8).all():
        return units.astype(np.int64)
    return for_each(values, lambda value: int(value * denominator))


def rounded_in_words(values: Floats, denominator: int, what: str) -> str | None:
    """How many finite numbers are rounded to multiples of 1/`denominator`, and by how much at most; None if none are.

    `what` is a noun that names them.

    >>> rounded_in_words(np.array([1e-7, 0.5]), 2**20, "sizes in MB")
    '1 of 2 sizes in MB are rounded to multiples of 1/1048576, by up to 1e-07, 1 of them to 0'
    """
    units = values * float(denominator)
    nearest = np.rint(units)
    off = np.abs(units - nearest)
    rounded = off > np.abs(units) * 2.0**-50  # a smaller difference is the product's own error
    if not rounded.any():
        return None
    gone = int(np.count_nonzero(rounded & (nearest == 0)))
    most = float(off[rounded].max()) / denominator
    count = f"{np.count_nonzero(rounded)} of {len(values)} {what} are rounded to multiples of 1/{denominator}"
    return f"{count}, by up to {most:.3g}" + (f", {gone} of them to 0" if gone else "")


def for_each(values: Floats, function: Callable[[Fraction], int]) -> Ints:
    """The function's whole number for each value's decimal, computed once per distinct value; int64 of the same shape.

    Results past 2^53 become 2^60.

    >>> import math
    >>> for_each(np.array([0.3, 2.5]), lambda value: math.floor(value * 10)).tolist()
    [3, 25]
    """
    distinct, inverse = np.unique(values, return_inverse=True)
    found = [function(decimal(value)) for value in distinct.tolist()]
    units = np.array([unit if abs(unit) <= LARGEST else _BEYOND for unit in found], dtype=np.int64)
    return units[inverse].reshape(values.shape)
