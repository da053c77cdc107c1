"""Expressions of checks: exact arithmetic over tables of numbers, and nothing else."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.measuring.judging.expressions import evaluated


def table(*rows: list[int]) -> Any:
    """A table of fractions."""
    return np.array([[Fraction(number) for number in row] for row in rows], dtype=object)


VALUES = {"a": table([1, 2, 3], [4, 5, 6]), "b": table([1, 1, 1], [5, 5, 5])}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".1 + .2 == .3", True),
        ("1 / 3 * 3 == 1", True),
        ("2 ** -2", Fraction(1, 4)),
        ("mean(a)[1]", 5),
        ("mean(a - b)[0]", 1),
        ("share(a > b)[0]", Fraction(2, 3)),
        ("share(a >= b)[1]", Fraction(2, 3)),
        ("least(a)[1] + most(a)[0]", 7),
        ("argmax(mean(a))", 1),
        ("argmin(row(3, 1, 2))", 1),
        ("grows(mean(a)) + 0", 1),
        ("grows(row(1, 3, 2))", False),
        ("any(a > 5)", True),
        ("all(a > 5)", False),
        ("total(row(1, 2, 3))", 6),
        ("max(2, .5)", 2),
        ("min(2, .5)", Fraction(1, 2)),
        ("floor(2.5) + ceil(2.5)", 5),
        ("log(exp(1))", 1),
        ("abs(1 - 3) < 3", True),
        ("0 < 1 < 2", True),
    ],
)
def test_values(text: str, value: Any) -> None:
    """Tests that literals are decimals as written, and that functions of rows take each row together."""
    assert evaluated(text, VALUES) == value


def test_comparisons_are_place_by_place() -> None:
    """Tests that a comparison of tables has a truth for each draw."""
    assert evaluated("a > b", VALUES).tolist() == [[False, True, True], [False, False, True]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c > 1", "nothing measured is called c"),
        ("a >", "invalid syntax"),
        ("a.size", "Attribute is no arithmetic"),
        ("a[a.size]", "Attribute is no position"),
        ("(lambda: 1)()", "Lambda is no arithmetic"),
        ("[1, 2]", "List is no arithmetic"),
        ("'text' == 1", "is no number"),
        ("a and b", "BoolOp is no arithmetic"),
        ("max(1)", "has no value"),
        ("1 / 0", "has no value"),
        ("a[7]", "has no value"),
        ("__import__(1)", "nothing measured is called __import__"),
    ],
)
def test_no_arithmetic(text: str, message: str) -> None:
    """Tests that anything but arithmetic is refused, with the text."""
    with pytest.raises(UsageError, match=message):
        evaluated(text, VALUES)
