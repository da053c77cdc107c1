"""Random changes of instance documents, for a search."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from optsched.measuring.mining.documents import TABLES, Document, numbers, whole, with_copy, without

__all__ = ["Changes"]

#: Numbers that every record of a table has whether or not it says so, and what they are then.
_DEFAULTS = {"nodes": {"slots": 1, "load": 0}}

#: A number may become as large as this, also where the family's are smaller.
LEAST_BOUND = 10

#: What draws.
Rng = np.random.Generator


class Changes:
    """Random changes that keep within sizes, and numbers within the range that a family draws.

    Parameters
    ----------
    most
        How many records a table may have.
    """

    def __init__(self, most: Mapping[str, int]) -> None:
        self._most = most
        self._bounds: dict[tuple[str, ...], tuple[float, float]] = {}
        self._within: tuple[Callable[[Document, Rng], None], ...] = (
            self._another_number,
            self._another_replica,
            self._copied_field,
            self._alike,
        )

    def learn(self, document: Document) -> None:
        """Widen the ranges of numbers to those of an instance of the family."""
        for place in numbers(document):
            low, high = self._bounds.get(place.path, (0, LEAST_BOUND))
            self._bounds[place.path] = min(low, place.number), max(high, place.number)

    def __call__(self, document: Document, rng: Rng) -> Document:
        """A document with one to three random changes: of a number, replica or field, a record twice or gone."""
        found = copy.deepcopy(document)
        for _ in range(int(rng.integers(1, 4))):
            kind = rng.integers(len(self._within) + 2)
            if kind < len(self._within):
                self._within[kind](found, rng)
            else:
                found = self._another_record(found, rng, more=kind == len(self._within))
        return found

    def _another_record(self, document: Document, rng: Rng, more: bool) -> Document:
        """A record comes twice, as far as there may be more of them, or goes."""
        tables = [table for table in TABLES if document.get(table)]
        weights = np.array([3.0 if table in ("tasks", "nodes") else 1.0 for table in tables])
        table = tables[rng.choice(len(tables), p=weights / weights.sum())]
        at = int(rng.integers(len(document[table])))
        if more and len(document[table]) < self._most.get(table, self._most["nodes"]):
            return with_copy(document, table, at)
        return without(document, table, at) if len(document[table]) > 1 else document

    def _bounded(self, path: tuple[str, ...], number: float) -> int | float:
        low, high = self._bounds.get(path, (0, LEAST_BOUND))
        return whole(min(max(number, low), high))

    def _another_number(self, document: Document, rng: Rng) -> None:
        """One number is another: one more or less, doubled, halved, 0, 1, some more, or as another record has it."""
        for table, fields in _DEFAULTS.items():
            absent = [(record, field) for record in document[table] for field in fields if field not in record]
            if absent and rng.random() < len(absent) / (len(absent) + len(numbers(document))):
                record, field = absent[rng.integers(len(absent))]
                record[field] = self._bounded((table, field), _DEFAULTS[table][field] + int(rng.integers(1, 6)))
                return
        places = numbers(document)
        if not places:
            return
        place = places[rng.integers(len(places))]
        number = place.number
        alike = [other.number for other in places if other.path == place.path]
        other = (
            number + 1,
            number - 1,
            number * 2,
            number // 2,
            0,
            1,
            number + int(rng.integers(1, 6)),
            alike[rng.integers(len(alike))],
        )[rng.integers(8)]
        place.holder[place.key] = self._bounded(place.path, other)

    def _alike(self, document: Document, rng: Rng) -> None:
        """All numbers of a field are as one of them is."""
        places = numbers(document)
        if not places:
            return
        one = places[rng.integers(len(places))]
        for place in places:
            if place.path == one.path:
                place.holder[place.key] = one.number

    def _another_replica(self, document: Document, rng: Rng) -> None:
        """A task has a replica more, or less, or elsewhere."""
        tasks = [task for task in document["tasks"] if task.get("kind", "map") == "map"]
        if not tasks:
            return
        task = tasks[rng.integers(len(tasks))]
        held = list(task.get("replicas", ()))
        free = [node["id"] for node in document["nodes"] if node["id"] not in held]
        kind = rng.integers(3)
        if held and kind in (0, 2):
            held.pop(rng.integers(len(held)))
        if free and kind in (1, 2):
            held.append(free[rng.integers(len(free))])
        order = {node["id"]: position for position, node in enumerate(document["nodes"])}
        task["replicas"] = sorted(held, key=order.__getitem__)

    def _copied_field(self, document: Document, rng: Rng) -> None:
        """A record has a field as another one has it: its job, its rack, its replicas, its size."""
        tables = [table for table in TABLES if len(document.get(table, ())) > 1]
        if not tables:
            return
        records: list[dict[str, Any]] = document[tables[rng.integers(len(tables))]]
        one, other = rng.choice(len(records), 2, replace=False)
        fields = [field for field in records[other] if field != "id"]
        if fields:
            field = fields[rng.integers(len(fields))]
            records[one][field] = copy.deepcopy(records[other][field])
