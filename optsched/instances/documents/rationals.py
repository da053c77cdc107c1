"""How files hold exact numbers: integers as integers, every other rational as the text `"p/q"`."""

from __future__ import annotations

from typing import Any

from optsched.decimals import rational
from optsched.errors import Fault
from optsched.results import Number

__all__ = ["read_number"]


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
    if isinstance(value, str) and (exact := rational(value)) is not None:
        return exact.numerator if exact.denominator == 1 else exact
    faults.append(Fault(place, 'expected an integer, or a rational as "p/q"'))
    return 0
