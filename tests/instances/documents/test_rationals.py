"""How files write exact numbers: integers as integers, every other rational as the text `"p/q"`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from optsched.decimals import spelled
from optsched.errors import Fault
from optsched.instances.documents.rationals import read_number


@pytest.mark.parametrize("value", [0, -3, 2**80, Fraction(1, 3), Fraction(-7, 2), Fraction(10**3999, 7)])
def test_numbers_come_back(value: int | Fraction) -> None:
    """Tests that what is written is read as the same number, of any size, without a fault."""
    faults: list[Fault] = []
    again = read_number(spelled(value), "bound[0]", faults)
    assert (again, type(again), faults) == (value, type(value), [])


def test_unknown_stays_unknown() -> None:
    """Tests that None is no number."""
    assert spelled(None) is None


def test_whole_rationals_are_integers() -> None:
    """Tests that a rational is shortened, and one without a denominator left is an integer."""
    read = [read_number(text, "bound", []) for text in ("6/4", "6/3", "-0/5", "3/1")]
    assert read == [Fraction(3, 2), 2, 0, 3]
    assert [type(value) for value in read] == [Fraction, int, int, int]


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0.5, float("nan"), [], {"p": 1}, "", "3", "1/0", "1/-2", "+1/2", "1/02", " 1/2", "1/2\n"),
        *("0.5/2", "\u0661/2", "1/2/3", f"{'9' * 4001}/2", f"1/{'9' * 4001}"),
    ],
)
def test_what_spells_no_number(value: Any) -> None:
    """Tests that everything else is a fault at its place, and 0."""
    faults: list[Fault] = []
    assert read_number(value, "bound[1]", faults) == 0
    assert [str(fault) for fault in faults] == ['bound[1]: expected an integer, or a rational as "p/q"']
