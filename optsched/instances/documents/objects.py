"""JSON objects as they are read from text, with the keys that stood twice in them, or the certainty that none did."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

__all__ = ["Doubled", "json_object", "key_places"]


class Doubled(dict[str, Any]):
    """An object in whose text some keys stood twice; whoever reads it tells of them."""

    doubled: tuple[str, ...] = ()


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these keys and values (`json`'s `object_pairs_hook`), `Doubled` where one is named twice.

    >>> json_object([("a", 1), ("b", 2), ("a", 3)]).doubled
    ('a',)
    """
    entries = dict(pairs)
    if len(entries) == len(pairs):
        return entries
    doubled = Doubled(entries)
    doubled.doubled = tuple(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return doubled


def key_places(data: bytes) -> int:
    """How many places of JSON text look like the end of a key: a quote and a colon, with nothing but space between.

    Outside of strings only keys end like that; within a string it takes an escaped quote. So there are at least as many
    such places as keys. If there are no more than different keys in all objects, then no key is doubled.

    >>> key_places(b'{"a": {"b" : 1}}')
    2
    """
    places = data.count(b'":')
    if places != data.count(b":"):  # other colons, in strings or after a space: count with care
        return sum(1 for _ in re.finditer(rb'"[ \t\r\n]*:', data))
    return places
