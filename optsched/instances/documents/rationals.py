"""How files write exact numbers: integers as integers, every other rational as the text `"p/q"`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from optsched.errors import Fault
from optsched.results import Number

__all__ = ["read_number", "spelled"]

#: A fraction of real weights may take more digits than any double; conversion must stay quick.
_RATIONAL = re.compile(r"(-?[0-9]{1,1000})/([1-9][0-9]{0,999})")


def spelled(value: Number | None) -> int | str | None:
    """A number as a file holds it; None, for unknown, stays None.

    >>> spelled(Fraction(1, 2)), spelled(3)
    ('1/2', 3)
    """
    return value if value is None or isinstance(value, int) else str(value)


def read_number(value: Any, place: str, faults: list[Fault]) -> Number:
    """The number that `value` spells; if it spells none, 0, with a fault at `place` added to `faults`.

    >>> faults = []
    >>> read_number("6/4", "bound[0]", faults), read_number(0.5, "bound[1]", faults)
    (Fraction(3, 2), 0)
    >>> print(*faults)
    bound[1]: expected an integer, or a rational as "p/q"
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (parts := _RATIONAL.fullmatch(value)):
        exact = Fraction(int(parts[1]), int(parts[2]))
        return exact.numerator if exact.denominator == 1 else exact
    faults.append(Fault(place, 'expected an integer, or a rational as "p/q"'))
    return 0
