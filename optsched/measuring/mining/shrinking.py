"""Shrinking: every document that is one step smaller."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator

from optsched.measuring.mining.documents import TABLES, Document, numbers, whole, without

__all__ = ["MINIMAL", "smaller"]

#: What `smaller` takes away, in words: of a minimal instance none of it can go.
MINIMAL = "without any one record, replica, entry, part or field, or with any number 0, 1, half, rounded down or 1 less"


def smaller(document: Document) -> Iterator[Document]:
    """Every document that is one step smaller, the largest steps first.

    A step takes away one task, node, job or group with what belongs to it, one entry of the shuffle or of the links,
    the shuffle, pairs or topology as a whole, one replica, or one field of a record; or one number becomes 0, 1, half
    of it, itself rounded down, or 1 less, where that is nearer to 0.
    """
    for table in TABLES:
        for at in reversed(range(len(document.get(table, ())))):
            yield without(document, table, at)
    yield from _without_entries(document)
    for part in ("shuffle", "pairs", "topology"):
        if part in document:
            yield {key: value for key, value in document.items() if key != part}
    for at, task in enumerate(document["tasks"]):
        for position in reversed(range(len(task.get("replicas", ())))):
            found = copy.deepcopy(document)
            del found["tasks"][at]["replicas"][position]
            yield found
    yield from _without_fields(document)
    yield from _with_lower_numbers(document)


def _without_entries(document: Document) -> Iterator[Document]:
    for at in reversed(range(len(document.get("shuffle", ())))):
        found = copy.deepcopy(document)
        del found["shuffle"][at]
        yield found
    for at in reversed(range(len(document.get("topology", {}).get("links", ())))):
        found = copy.deepcopy(document)
        del found["topology"]["links"][at]
        yield found


def _without_fields(document: Document) -> Iterator[Document]:
    for table in TABLES:
        for at, record in enumerate(document.get(table, ())):
            for field in record:
                if field != "id":
                    found = copy.deepcopy(document)
                    del found[table][at][field]
                    yield found


def _with_lower_numbers(document: Document) -> Iterator[Document]:
    for at, place in enumerate(numbers(document)):
        number = place.number
        for other in dict.fromkeys((0, 1, whole(number // 2), math.floor(number), whole(number - 1))):
            if abs(other) < abs(number):
                found = copy.deepcopy(document)
                changed = numbers(found)[at]
                changed.holder[changed.key] = other
                yield found
