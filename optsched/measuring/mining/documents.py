"""Edits instance documents and keeps them consistent when a record is removed, doubled or renamed.

A document is a plain one (`optsched.instances.files.to_document`). References and matrices stay consistent as far as
possible; the reader decides whether the result is an instance.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np

Document: TypeAlias = dict[str, Any]

#: Tables of records with ids.
TABLES = ("tasks", "nodes", "jobs", "groups")

#: The fields that name records: the part with the field, the field, the table of the records, and what happens if the
#: record is removed: the whole entry goes with it, or only the name.
_NAMES = (
    ("tasks", "job", "jobs", True),
    ("jobs", "group", "groups", True),
    ("shuffle", "map", "tasks", True),
    ("shuffle", "reduce", "tasks", True),
    ("links", "from", "nodes", True),
    ("links", "to", "nodes", True),
    ("tasks", "replicas", "nodes", False),
    ("tasks", "node", "nodes", False),
    ("tasks", "observed", "nodes", False),
)

#: Parts without data for a decision.
_HEADER = ("format", "name", "description", "source", "labels", "parameters", "time")


def size(document: Document) -> tuple[int, int, int]:
    """The size of a document, for comparisons: tasks and nodes, replicas, and characters of the rest."""
    records = len(document["tasks"]) + len(document["nodes"])
    replicas = sum(len(task.get("replicas", ())) for task in document["tasks"])
    return records, replicas, len(json.dumps(document))


# Records --------------------------------------------------------------------------------------------------------------


def without(document: Document, table: str, at: int) -> Document:
    """The document without a record and everything that belongs to it."""
    found = copy.deepcopy(document)
    _remove(found, table, at)
    return found


def _remove(document: Document, table: str, at: int) -> None:
    name = document[table].pop(at)["id"]
    for matrix, rows, columns in matrices(document):
        if rows == table:
            del matrix[at]
        if columns == table:
            for row in matrix:
                del row[at]
    for part, field, named, goes in _NAMES:
        entries = _entries(document, part) if named == table else []
        for position in reversed(range(len(entries))):
            held = entries[position].get(field)
            if isinstance(held, list):
                entries[position][field] = [other for other in held if other != name]
            elif held == name and not goes:
                del entries[position][field]
            elif held == name and part in TABLES:
                _remove(document, part, position)
            elif held == name:
                del entries[position]
    if table == "nodes":
        types = {node.get("type") for node in document["nodes"]}
        for task in document["tasks"]:
            if isinstance(task.get("rate_in"), dict):  # by type of node
                task["rate_in"] = {kind: rate for kind, rate in task["rate_in"].items() if kind in types}
    if table in ("jobs", "groups") and not document[table]:
        del document[table]


def with_copy(document: Document, table: str, at: int) -> Document:
    """The document with a record twice, the second one at the end with its own id."""
    found = copy.deepcopy(document)
    record = copy.deepcopy(found[table][at])
    old, name = record["id"], _new_id(found, record["id"])
    record["id"] = name
    found[table].append(record)
    for matrix, rows, columns in matrices(found):
        if columns == table:
            for row in matrix:
                row.append(row[at])
        if rows == table:
            matrix.append(list(matrix[at]))
            if columns == table:
                matrix[-1][-1] = 0
    for part, field, named, _ in _NAMES:
        if named == table and part not in TABLES:
            entries = _entries(found, part)
            entries += [{**entry, field: name} for entry in entries if entry[field] == old]
    return found


def _new_id(document: Document, like: str) -> str:
    taken = {record["id"] for table in TABLES for record in document.get(table, ())}
    stem = re.sub(r"\d+$", "", like) or like
    return next(name for number in count(1) if (name := f"{stem}{number}") not in taken)


def numbered_anew(document: Document) -> Document:
    """The document with records renamed n1, n2, ..., t1, ... in their order, in tables whose ids have that form.

    Ids of another form stay, since a heuristic may interpret them.
    """
    called: dict[str, dict[str, str]] = {}
    found = copy.deepcopy(document)
    for table in TABLES:
        ids = [record["id"] for record in document.get(table, ())]
        stems = {re.sub(r"[1-9]\d*$", "", name) for name in ids}
        plain = len(stems) == 1 and all(name not in stems for name in ids)
        called[table] = {name: f"{min(stems)}{at + 1}" if plain else name for at, name in enumerate(ids)}
        for record in found.get(table, ()):
            record["id"] = called[table][record["id"]]
    for part, field, table, _ in _NAMES:
        names = called[table]
        for entry in _entries(found, part):
            if isinstance(entry.get(field), list):
                entry[field] = [names.get(name, name) for name in entry[field]]
            elif field in entry:
                entry[field] = names.get(entry[field], entry[field])
    return found


def _entries(document: Document, part: str) -> list[dict[str, Any]]:
    """The entries of a part of `_NAMES`."""
    found: list[dict[str, Any]] = (document.get("topology", {}) if part == "links" else document).get(part, [])
    return found


def matrices(document: Document) -> list[tuple[list[list[Any]], str, str]]:
    """The matrices, each with the tables that have a row and a column in it for each record."""
    topology, pairs = document.get("topology", {}), document.get("pairs", {})
    square = [topology[form] for form in ("distance", "rate") if form in topology]
    oblong = [pairs[form] for form in ("cost", "allowed") if form in pairs] + list(pairs.get("demand", {}).values())
    return [(matrix, "nodes", "nodes") for matrix in square] + [(matrix, "tasks", "nodes") for matrix in oblong]


# Numbers --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """The place of a number in a document: its container, its key, and the names on the way there."""

    holder: Any
    key: Any
    path: tuple[str, ...]

    @property
    def number(self) -> int | float:
        """The number there."""
        found: int | float = self.holder[self.key]
        return found


def numbers(document: Document) -> list[Place]:
    """Every number of a document; those of one field have one path (`nodes`, `load`)."""
    return [
        place
        for part, content in document.items()
        if part not in _HEADER and isinstance(content, dict | list)
        for place in _numbers_in(content, (part,))
    ]


def _numbers_in(holder: Any, path: tuple[str, ...]) -> Iterator[Place]:
    for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
        way = (*path, key) if isinstance(key, str) else path
        if isinstance(value, dict | list):
            yield from _numbers_in(value, way)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield Place(holder, key, way)


def as_int(number: float) -> int | float:
    """The same number, as an int if it is whole."""
    return int(number) if float(number).is_integer() else number


# Random changes of instance documents, for a search -------------------------------------------------------------------

#: Numbers that every record of a table has even if it omits them, with their values then.
_DEFAULTS = {"nodes": {"slots": 1, "load": 0}}

#: A number may become as large as this, even if the family's are smaller.
LEAST_BOUND = 10

#: The random generator.
Rng = np.random.Generator


class Changes:
    """Random changes that keep sizes within limits, and numbers within the range that a family draws.

    `most`: how many records a table may have.
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
        """A document with one to three random changes: of a number, replica or field, or a record more or less."""
        found = copy.deepcopy(document)
        for _ in range(int(rng.integers(1, 4))):
            kind = rng.integers(len(self._within) + 2)
            if kind < len(self._within):
                self._within[kind](found, rng)
            else:
                found = self._another_record(found, rng, more=kind == len(self._within))
        return found

    def _another_record(self, document: Document, rng: Rng, more: bool) -> Document:
        """Double a record, as far as there may be more of them, or remove one."""
        tables = [table for table in TABLES if document.get(table)]
        weights = np.array([3.0 if table in ("tasks", "nodes") else 1.0 for table in tables])
        table = tables[rng.choice(len(tables), p=weights / weights.sum())]
        at = int(rng.integers(len(document[table])))
        if more and len(document[table]) < self._most.get(table, self._most["nodes"]):
            return with_copy(document, table, at)
        return without(document, table, at) if len(document[table]) > 1 else document

    def _bounded(self, path: tuple[str, ...], number: float) -> int | float:
        low, high = self._bounds.get(path, (0, LEAST_BOUND))
        return as_int(min(max(number, low), high))

    def _another_number(self, document: Document, rng: Rng) -> None:
        """Change one number: one more or less, doubled, halved, 0, 1, some more, or another record's."""
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
        """Set all numbers of a field to one of them."""
        places = numbers(document)
        if not places:
            return
        one = places[rng.integers(len(places))]
        for place in places:
            if place.path == one.path:
                place.holder[place.key] = one.number

    def _another_replica(self, document: Document, rng: Rng) -> None:
        """Add, remove or move a replica of a task."""
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
        """Copy a field from another record: its job, its rack, its replicas, its size."""
        tables = [table for table in TABLES if len(document.get(table, ())) > 1]
        if not tables:
            return
        records: list[dict[str, Any]] = document[tables[rng.integers(len(tables))]]
        one, other = rng.choice(len(records), 2, replace=False)
        fields = [field for field in records[other] if field != "id"]
        if fields:
            field = fields[rng.integers(len(fields))]
            records[one][field] = copy.deepcopy(records[other][field])


# Shrinking: every document that is one step smaller -------------------------------------------------------------------

#: The removals of `smaller`, in words: none of them is possible in a minimal instance.
MINIMAL = "a record, replica, entry, part or field left out, or a number set to 0, 1, half, rounded down or 1 less"


def smaller(document: Document) -> Iterator[Document]:
    """Every document that is one step smaller, the largest steps first.

    A step removes one task, node, job or group with what belongs to it, one entry of the shuffle or of the links, the
    shuffle, pairs or topology as a whole, one replica, or one field of a record; or one number becomes 0, 1, half of
    it, itself rounded down, or 1 less, if that is nearer to 0.
    """
    for table in TABLES:
        for at in reversed(range(len(document.get(table, ())))):
            yield without(document, table, at)
    links = document.get("topology", {}).get("links", ())
    for way, entries in ((["shuffle"], document.get("shuffle", ())), (["topology", "links"], links)):
        for at in reversed(range(len(entries))):
            yield _less(document, *way, at)
    for part in ("shuffle", "pairs", "topology"):
        if part in document:
            yield _less(document, part)
    for at, task in enumerate(document["tasks"]):
        for position in reversed(range(len(task.get("replicas", ())))):
            yield _less(document, "tasks", at, "replicas", position)
    for table in TABLES:
        for at, record in enumerate(document.get(table, ())):
            yield from (_less(document, table, at, field) for field in record if field != "id")
    for at, place in enumerate(numbers(document)):
        number = place.number
        for other in dict.fromkeys((0, 1, as_int(number // 2), math.floor(number), as_int(number - 1))):
            if abs(other) < abs(number):
                found = copy.deepcopy(document)
                changed = numbers(found)[at]
                changed.holder[changed.key] = other
                yield found


def _less(document: Document, *way: Any) -> Document:
    """The document without what is at the end of a path of keys and positions."""
    found = holder = copy.deepcopy(document)
    for step in way[:-1]:
        holder = holder[step]
    del holder[way[-1]]
    return found
