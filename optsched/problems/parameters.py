"""Parameters of problems and heuristics: their values from text or JSON, with what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from optsched.core.arrays import LARGEST
from optsched.core.errors import UsageError, expect_known, nearest


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a problem or heuristic.

    Attributes
    ----------
    name, default
        As the command line shows them.
    parse
        Converts a string or JSON value to the value; raises ValueError with the mend.
    doc
        One line: what it is, with unit and source.
    """

    name: str
    default: Any
    parse: Callable[[Any], Any]
    doc: str


def resolve(owner: str, table: tuple[Parameter, ...], *layers: Mapping[str, Any]) -> dict[str, Any]:
    """Values of all parameters: defaults, overridden by each layer in turn.

    Raises
    ------
    UsageError
        For a name that `owner` does not have (with the nearest one), or a value that does not parse.
    """
    known = {parameter.name: parameter for parameter in table}
    values = {parameter.name: parameter.default for parameter in table}
    for layer in layers:
        for name, given in layer.items():
            expect_known(name, known, f'{owner} has no parameter "{name}"')
            try:
                values[name] = known[name].parse(given)
            except (ValueError, TypeError, ArithmeticError) as error:
                raise UsageError(f"{owner}: {name}={given!r}: {error}") from None
    return values


def number(
    lowest: float | None = None,
    highest: float | None = None,
    *,
    above: float | None = None,
    integer: bool = False,
) -> Callable[[Any], Any]:
    """A parser of numbers; integers stay integers. `lowest` and `highest` are allowed, `above` is not.

    >>> number(lowest=0)("0.5"), number(integer=True)("3")
    (0.5, 3)
    """
    return partial(_number, lowest=lowest, highest=highest, above=above, integer=integer)


def _number(raw: Any, lowest: float | None, highest: float | None, above: float | None, integer: bool) -> int | float:
    raw = raw.item() if isinstance(raw, np.generic) else raw
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        raise ValueError("give a number")
    value: int | float
    try:
        value = int(raw) if not isinstance(raw, float) or raw.is_integer() else raw
    except (ValueError, OverflowError):
        try:
            value = float(raw)
        except ValueError:
            raise ValueError("give a number") from None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not abs(value) <= LARGEST:
        raise ValueError("give a finite number up to 2^53")
    if integer and not isinstance(value, int):
        raise ValueError("give a whole number")
    if lowest is not None and value < lowest:
        raise ValueError(f"give a number that is {lowest} or more")
    if highest is not None and value > highest:
        raise ValueError(f"give a number that is {highest} or less")
    if above is not None and value <= above:
        raise ValueError(f"give a number above {above}")
    return value


def sequence(length: int, entry: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """A parser of `length` entries: a list, or a string with commas or colons.

    >>> sequence(3, number())("0:0.1:1")
    (0, 0.1, 1)
    """
    return partial(_sequence, length=length, entry=entry)


def _sequence(value: Any, length: int, entry: Callable[[Any], Any]) -> tuple[Any, ...]:
    if isinstance(value, str) and value.strip()[:1] in ("[", "("):
        raise ValueError(f"write it without brackets: {value.strip('[]() ').replace(' ', '')}")
    parts = value.replace(":", ",").split(",") if isinstance(value, str) else value
    parts = parts.tolist() if isinstance(parts, np.ndarray) else parts
    if not isinstance(parts, list | tuple) or len(parts) != length:
        raise ValueError(f"give {length} values, separated by commas (by colons inside --heuristic)")
    return tuple(entry(part.strip() if isinstance(part, str) else part) for part in parts)


def either(words: Mapping[str, Any] | Sequence[str], parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A parser of one of some words, which may stand for other values, or of what `parse` accepts.

    >>> parse = either({"none": None}, number(lowest=0))
    >>> parse("none"), parse(None), parse("3")
    (None, None, 3)
    """
    meanings = dict(words) if isinstance(words, Mapping) else {word: word for word in words}
    return partial(_either, meanings=meanings, parse=parse)


def _either(argument: Any, meanings: Mapping[str, Any], parse: Callable[[Any], Any]) -> Any:
    if isinstance(argument, str) and argument in meanings:
        return meanings[argument]
    return argument if any(argument is value for value in meanings.values()) else parse(argument)


def choice(*names: str) -> Callable[[Any], str]:
    """A parser of one of `names`."""
    return partial(_choice, names=names)


def _choice(value: Any, names: tuple[str, ...]) -> str:
    if value not in names:
        raise ValueError(nearest(str(value), names) if isinstance(value, str) else f"give one of {names}")
    return str(value)


def switch(value: Any) -> bool:
    """A parser of true or false.

    >>> switch("true"), switch(0)
    (True, False)
    """
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() not in words:
        raise ValueError("give true or false")
    return words[str(value).lower()]
