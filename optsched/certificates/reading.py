"""Reads the data of a certificate from any source; raises CertificateInvalid for anything malformed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from optsched.core.arrays import ById
from optsched.core.decimals import rational, spelled
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import LARGEST, Ints, Strings
from optsched.core.placement import NONE
from optsched.core.results import Number
from optsched.problems.base import exact

T = TypeVar("T")

#: The most characters of a wrong value that a message shows.
_SHOWN = 60


def shown(value: Any) -> str:
    """A wrong value as it was written, short enough for a message.

    >>> shown([True]), len(shown("x" * 5000)), shown([10**5000])
    ('[True]', 60, 'a list that is too long to show')
    """
    text = spelt(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def spelt(value: Any) -> str:
    """A value in Python's notation, without numbers of thousands of digits or lists nested too deeply."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too long to show"


def mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object called `key`."""
    value = data.get(key)
    if not isinstance(value, Mapping):
        raise CertificateInvalid(f"{key}: must be an object, not {shown(value)}")
    return value


def as_mapping(entry: Any, place: str) -> Mapping[str, Any]:
    """An entry of the list called `place`, which contains objects."""
    if not isinstance(entry, Mapping):
        raise CertificateInvalid(f"{place}: must hold objects, not {shown(entry)}")
    return entry


def items(data: Mapping[str, Any], key: str) -> Sequence[Any]:
    """The list called `key`."""
    value = data.get(key)
    if not isinstance(value, list | tuple):
        raise CertificateInvalid(f"{key}: must be a list, not {shown(value)}")
    return value


def integer(data: Mapping[str, Any], key: str) -> int:
    """The integer called `key`, of at most 2^53."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise CertificateInvalid(f"{key}: must be an integer up to 2^53, not {shown(value)}")
    return value


def denominator(data: Mapping[str, Any]) -> int:
    """The integer called `scale`, above 0."""
    scale = integer(data, "scale")
    if scale < 1:
        raise CertificateInvalid(f"scale: must be above 0, not {scale}")
    return scale


def number(data: Mapping[str, Any], key: str) -> Number:
    """The integer called `key`, or the fraction that is written "p/q"."""
    value = data.get(key)
    if not isinstance(value, str):
        return integer(data, key)
    found = rational(value)
    if found is not None:
        return found
    raise CertificateInvalid(f'{key}: must be an integer or a fraction "p/q", not {shown(value)}')


def written(value: Number) -> int | str | None:
    """A number in a form that `number` reads; TooLarge if that is too long."""
    return spelled(exact(value), LARGEST)


def priced(ids: Sequence[str] | np.ndarray, prices: Ints) -> dict[str, int]:
    """The nonzero prices by id: the form in a certificate."""
    held = np.flatnonzero(prices)
    names = np.asarray(ids)[held].tolist() if len(held) else []
    return dict(zip(names, prices[held].tolist(), strict=True))


def entries(
    data: Mapping[str, Any],
    key: str,
    ids: Sequence[str] | Mapping[str, int],
    noun: str,
    read: Callable[[Mapping[str, Any], str], T],
    place: str = "",
) -> Iterator[tuple[int, T]]:
    """The entries of the object called `key`: the position of each name, and its value, as `read` reads it.

    `ids` are the allowed names, or their positions. Messages use `noun` for one of them, and `place` for the object.
    """
    given, place = mapping(data, key), place or key
    position_of = ids if isinstance(ids, Mapping) else {name: position for position, name in enumerate(ids)}
    for name in given:
        if name not in position_of:
            text = name if isinstance(name, str) else spelt(name)
            raise CertificateInvalid(f'{place}: there is no {noun} "{text[:_SHOWN]}"')
        yield position_of[name], read(given, name)


def prices_of(
    data: Mapping[str, Any], key: str, ids: Sequence[str] | Mapping[str, int], noun: str = "node", place: str = ""
) -> Ints:
    """A price for each of `ids`, 0 if the object called `key` gives none; see `entries`."""
    found = np.zeros(len(ids), dtype=np.int64)
    given = mapping(data, key)
    position_of = ids if isinstance(ids, Mapping) else {name: position for position, name in enumerate(ids)}
    positions, prices = [position_of.get(name, NONE) for name in given], list(given.values())
    integral = NONE not in positions and set(map(type, prices)) <= {int}
    if not integral or max(map(abs, prices), default=0) > LARGEST:  # `entries` reports what is wrong
        prices = list(dict(entries(data, key, position_of, noun, integer, place)).values())
    found[positions] = prices
    return found


def column_of(
    data: Mapping[str, Any], key: str, ids: Strings, index: Callable[[], Mapping[str, int]], noun: str = "node"
) -> Ints:
    """As `prices_of` by `index`, which is called only if the prices are not held by positions in `ids`."""
    given = data.get(key)
    if (
        isinstance(given, ById)
        and given.ids is ids
        and (np.clip(given.numbers, -LARGEST, LARGEST) == given.numbers).all()
    ):
        return given.column()
    return prices_of(data, key, index(), noun)


def price_table(
    data: Mapping[str, Any], key: str, ids: Sequence[str], noun: str, nodes: Mapping[str, int], place: str = ""
) -> Ints:
    """A row for each of `ids` with a price for each of `nodes`, 0 if none is given; see `entries`."""

    def row(prices: Mapping[str, Any], name: str) -> Ints:
        return prices_of(prices, name, nodes, place=f"{place or key}.{name}")

    table = np.zeros((len(ids), len(nodes)), dtype=np.int64)
    for position, found in entries(data, key, ids, noun, row, place):
        table[position] = found
    return table
