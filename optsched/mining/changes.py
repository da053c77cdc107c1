"""Changes of instance documents: random ones for a search, and every smaller document for shrinking.

A document is a plain one (`optsched.instances.files.to_document`). A change keeps references and matrices whole as far
as it can; whether what it makes is an instance is for the reader to say.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

__all__ = ["Document", "changed", "size", "smaller"]

Document: TypeAlias = dict[str, Any]

#: Tables of records with ids, in the order in which shrinking looks at them.
_TABLES = ("tasks", "nodes", "jobs", "groups")

#: What refers to whom: a table's field to the table whose ids it holds.
_REFERENCES = {"jobs": ("tasks", "job"), "groups": ("jobs", "group")}

#: Numbers that every record of a table has whether or not it says so, and what they are then.
_DEFAULTS = {"nodes": {"slots": 1, "load": 0}}

#: Parts that hold no decision's data.
_HEADER = ("format", "name", "description", "source", "labels", "parameters", "time")


def size(document: Document) -> tuple[int, int, int]:
    """How large a document is, to compare: tasks and nodes, replicas, and characters of the rest."""
    records = len(document["tasks"]) + len(document["nodes"])
    replicas = sum(len(task.get("replicas", ())) for task in document["tasks"])
    return records, replicas, len(json.dumps(document))


# Records --------------------------------------------------------------------------------------------------------------


def _without(document: Document, table: str, at: int) -> Document:
    """The document without a record and all that belongs to it."""
    found = copy.deepcopy(document)
    name = found[table].pop(at)["id"]
    if table == "nodes":
        for task in found["tasks"]:
            if "replicas" in task:
                task["replicas"] = [holder for holder in task["replicas"] if holder != name]
            for field in ("node", "observed"):
                if task.get(field) == name:
                    del task[field]
        for matrix in _topologies(found):
            del matrix[at]
            for row in matrix:
                del row[at]
        for matrix in _pairs(found):
            for row in matrix:
                del row[at]
        links = found.get("topology", {}).get("links")
        if links is not None:
            found["topology"]["links"] = [link for link in links if name not in (link["from"], link["to"])]
    elif table == "tasks":
        for matrix in _pairs(found):
            del matrix[at]
        if "shuffle" in found:
            found["shuffle"] = [entry for entry in found["shuffle"] if name not in (entry["map"], entry["reduce"])]
    else:
        owned, field = _REFERENCES[table]
        for place in reversed(range(len(found.get(owned, ())))):
            if found[owned][place].get(field) == name:
                found = _without(found, owned, place)
        if not found[table]:
            del found[table]
    return found


def _with_copy(document: Document, table: str, at: int) -> Document:
    """The document with a record twice, the second at the end under a name of its own."""
    found = copy.deepcopy(document)
    record = copy.deepcopy(found[table][at])
    old, name = record["id"], _new_id(found, record["id"])
    record["id"] = name
    found[table].append(record)
    if table == "nodes":
        for matrix in _topologies(found):
            for row in matrix:
                row.append(row[at])
            matrix.append(list(matrix[at]))
            matrix[-1][-1] = 0
        for matrix in _pairs(found):
            for row in matrix:
                row.append(row[at])
        links = found.get("topology", {}).get("links", [])
        links += [
            {key: name if end == old else end for key, end in link.items()}
            for link in links
            if old in (link["from"], link["to"])
        ]
    elif table == "tasks":
        for matrix in _pairs(found):
            matrix.append(list(matrix[at]))
        entries = found.get("shuffle", [])
        entries += [
            {key: name if end == old else end for key, end in entry.items()}
            for entry in entries
            if old in (entry["map"], entry["reduce"])
        ]
    return found


def _new_id(document: Document, like: str) -> str:
    taken = {record["id"] for table in _TABLES for record in document.get(table, ())}
    stem = re.sub(r"\d+$", "", like) or like
    number = 1
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"


def _topologies(document: Document) -> list[list[list[float]]]:
    """The matrices with a row and a column for each node."""
    topology = document.get("topology", {})
    return [topology[form] for form in ("distance", "rate") if form in topology]


def _pairs(document: Document) -> list[list[list[Any]]]:
    """The matrices with a row for each task and a column for each node."""
    pairs = document.get("pairs", {})
    return [pairs[form] for form in ("cost", "allowed") if form in pairs] + list(pairs.get("demand", {}).values())


# Numbers --------------------------------------------------------------------------------------------------------------


def _numbers(document: Document) -> list[tuple[Any, Any]]:
    """Where the numbers of a document are: what holds each, and under which key."""
    found: list[tuple[Any, Any]] = []

    def walk(holder: Any) -> None:
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(value, dict | list):
                walk(value)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                found.append((holder, key))

    for part, content in document.items():
        if part not in _HEADER and isinstance(content, dict | list):
            walk(content)
    return found


def _whole(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number


# Random changes -------------------------------------------------------------------------------------------------------


def _another_number(document: Document, rng: np.random.Generator) -> None:
    """One number is another: one more or less, doubled, halved, 0, 1, or as another record has it."""
    places = _numbers(document)
    for table, fields in _DEFAULTS.items():
        for record in document[table]:
            places += [(record, field) for field in fields if field not in record]
    if not places:
        return
    holder, key = places[rng.integers(len(places))]
    number = holder[key] if not isinstance(holder, dict) or key in holder else _DEFAULTS["nodes"][key]
    alike = [other[key] for other, at in places if at == key and isinstance(other, dict) and key in other] or [number]
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
    holder[key] = _whole(other)


def _another_replica(document: Document, rng: np.random.Generator) -> None:
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
    order = {node["id"]: place for place, node in enumerate(document["nodes"])}
    task["replicas"] = sorted(held, key=order.__getitem__)


def _copied_field(document: Document, rng: np.random.Generator) -> None:
    """A record has a field as another one has it: its job, its rack, its replicas, its size."""
    tables = [table for table in _TABLES if len(document.get(table, ())) > 1]
    if not tables:
        return
    records = document[tables[rng.integers(len(tables))]]
    one, other = rng.choice(len(records), 2, replace=False)
    fields = [field for field in records[other] if field != "id"]
    if fields:
        field = fields[rng.integers(len(fields))]
        records[one][field] = copy.deepcopy(records[other][field])


#: Random changes of a document in place.
_WITHIN: tuple[Callable[[Document, np.random.Generator], None], ...] = (
    _another_number,
    _another_replica,
    _copied_field,
)


def changed(document: Document, rng: np.random.Generator, most: dict[str, int]) -> Document:
    """A document with one to three random changes: of a number, replica or field, a record twice or gone.

    Parameters
    ----------
    document
        Which one; it stays as it is.
    rng
        What draws.
    most
        How many records a table may have; a copy is made below that only.
    """
    found = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(len(_WITHIN) + 2)
        if kind < len(_WITHIN):
            _WITHIN[kind](found, rng)
            continue
        tables = [table for table in _TABLES if found.get(table)]
        weights = np.array([3.0 if table in ("tasks", "nodes") else 1.0 for table in tables])
        table = tables[rng.choice(len(tables), p=weights / weights.sum())]
        at = int(rng.integers(len(found[table])))
        if kind == len(_WITHIN) and len(found[table]) < most.get(table, most["nodes"]):
            found = _with_copy(found, table, at)
        elif len(found[table]) > 1:
            found = _without(found, table, at)
    return found


# Shrinking ------------------------------------------------------------------------------------------------------------


def smaller(document: Document) -> Iterator[Document]:
    """Every document that is one step smaller: without a record, a replica, an entry or a field, or a number lower.

    The largest steps come first.
    """
    for table in _TABLES:
        for at in reversed(range(len(document.get(table, ())))):
            yield _without(document, table, at)
    for part, key in (("shuffle", None), ("topology", "links")):
        entries = document.get(part, []) if key is None else document.get(part, {}).get(key, [])
        for at in reversed(range(len(entries))):
            found = copy.deepcopy(document)
            del (found[part] if key is None else found[part][key])[at]
            yield found
    for part in ("shuffle", "pairs", "topology"):
        if part in document:
            yield {key: value for key, value in document.items() if key != part}
    for at, task in enumerate(document["tasks"]):
        for place in reversed(range(len(task.get("replicas", ())))):
            found = copy.deepcopy(document)
            del found["tasks"][at]["replicas"][place]
            yield found
    for table in _TABLES:
        for at, record in enumerate(document.get(table, ())):
            for field in record:
                if field != "id":
                    found = copy.deepcopy(document)
                    del found[table][at][field]
                    yield found
    for place, (holder, key) in enumerate(_numbers(document)):
        number = holder[key]
        lower = dict.fromkeys((0, 1, _whole(number // 2), math.floor(number), _whole(number - 1)))
        for other in lower:
            if abs(other) < abs(number):
                found = copy.deepcopy(document)
                held, at = _numbers(found)[place]
                held[at] = other
                yield found
