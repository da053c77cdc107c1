"""Parsers of parameters: what texts and JSON values mean, and which are refused."""

from typing import Any

import pytest

from optsched.problems.parameters import choice, number, sequence, switch


@pytest.mark.parametrize(
    ("parse", "given", "value"),
    [
        (number(), "0.5", 0.5),
        (number(), "3.0", 3),
        (number(), "-1e3", -1000),
        (number(integer=True), "7", 7),
        (sequence(2, number()), "1, 2.5", (1, 2.5)),
        (choice("a", "b"), "b", "b"),
        (switch, "No", False),
        (switch, "Yes", True),
        (switch, True, True),
    ],
)
def test_parsers(parse: Any, given: Any, value: Any) -> None:
    """Tests what text and JSON values mean; integers stay integers."""
    parsed = parse(given)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("parse", "given", "message"),
    [
        (number(), True, "give a number"),
        (number(), "one", "give a number"),
        (number(), float("nan"), "give a finite number up to 2^53"),
        (number(), 2**53 + 1, "give a finite number up to 2^53"),
        (number(integer=True), 0.5, "give a whole number"),
        (number(lowest=0), -1, "give a number that is 0 or more"),
        (number(above=0), 0, "give a number above 0"),
        (sequence(3, number()), "1,2", "give 3 values, separated by commas"),
        (choice("ratio", "difference"), "ration", 'did you mean "ratio"'),
        (choice("ratio", "difference"), 3, "give one of"),
        (switch, "perhaps", "give true or false"),
    ],
)
def test_parsers_refuse(parse: Any, given: Any, message: str) -> None:
    """Tests that a wrong value is refused with the mend."""
    with pytest.raises(ValueError, match="^" + message.replace("^", r"\^")):
        parse(given)
