"""Reads the data of a certificate, which anybody may have written: what is not as it must be is CertificateInvalid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from optsched.errors import CertificateInvalid
from optsched.instance import LARGEST, Instance, Ints

__all__ = ["integer", "mapping", "node_prices", "priced"]


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
