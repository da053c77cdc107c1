"""JSON objects as they are read from text, with the keys that stood twice in them."""

from __future__ import annotations

from collections import Counter
from typing import Any

__all__ = ["Doubled", "json_object"]


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
