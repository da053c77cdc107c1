"""Reads the data of a certificate, which anybody may have written: what is not as it must be is CertificateInvalid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.errors import CertificateInvalid
from optsched.instance import LARGEST, Instance, Ints
from optsched.problems.base import exact
from optsched.results import Number

__all__ = ["integer", "mapping", "node_prices", "number", "priced", "written"]

#: A fraction has at most so many digits in numerator and denominator: more than shares of weights (decimals) ever take.
_MOST_DIGITS = 1000


def mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The object called `key`."""
    value = data.get(key)
    if not isinstance(value, Mapping):
        raise CertificateInvalid(f"{key}: must be an object, not {value!r}")
    return value


def integer(data: Mapping[str, Any], key: str) -> int:
    """The integer called `key`, of at most 2^53."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
        raise CertificateInvalid(f"{key}: must be an integer up to 2^53, not {value!r}")
    return value


def number(data: Mapping[str, Any], key: str) -> Number:
    """The integer called `key`, or the fraction that is written "p/q"."""
    value = data.get(key)
    if isinstance(value, str) and len(value) <= _MOST_DIGITS:
        top, _, bottom = value.removeprefix("-").partition("/")
        if top.isdecimal() and bottom.isdecimal() and value.isascii() and int(bottom):
            return Fraction(value)
    elif not isinstance(value, str):
        return integer(data, key)
    raise CertificateInvalid(f'{key}: must be an integer or a fraction "p/q", not {value[:40]!r}')


def written(value: Number) -> int | str:
    """A number as `number` reads it."""
    value = exact(value.numerator, value.denominator)
    return value if isinstance(value, int) else str(value)


def priced(ids: Sequence[str] | np.ndarray, prices: Ints) -> dict[str, int]:
    """The prices that are not 0, by id: how a certificate holds them."""
    return {str(ids[position]): int(prices[position]) for position in np.flatnonzero(prices).tolist()}


def node_prices(instance: Instance, data: Mapping[str, Any], place: str = "node_prices") -> Ints:
    """A price for each node, 0 where none is given; `place` is what messages call the data."""
    prices = np.zeros(len(instance.cluster), dtype=np.int64)
    for node in data:
        if node not in instance.node_index:
            raise CertificateInvalid(f'{place}: there is no node "{node}"')
        prices[instance.node_index[node]] = integer(data, node)
    return prices
