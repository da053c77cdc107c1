"""Instance documents, and what keeps them whole when a record goes, comes twice, or is called otherwise.

A document is a plain one (`optsched.instances.files.to_document`). References and matrices stay whole as far as that is
possible; whether what comes out is an instance is for the reader to say.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["TABLES", "Document", "Place", "numbered_anew", "numbers", "size", "whole", "with_copy", "without"]

Document: TypeAlias = dict[str, Any]

#: Tables of records with ids.
TABLES = ("tasks", "nodes", "jobs", "groups")

#: What goes with a record of a table: the records of another whose field names it.
_OWNED = {"jobs": ("tasks", "job"), "groups": ("jobs", "group")}

#: Parts that hold no decision's data.
_HEADER = ("format", "name", "description", "source", "labels", "parameters", "time")


def size(document: Document) -> tuple[int, int, int]:
    """How large a document is, to compare: tasks and nodes, replicas, and characters of the rest."""
    records = len(document["tasks"]) + len(document["nodes"])
    replicas = sum(len(task.get("replicas", ())) for task in document["tasks"])
    return records, replicas, len(json.dumps(document))


# Records --------------------------------------------------------------------------------------------------------------


def without(document: Document, table: str, at: int) -> Document:
    """The document without a record and all that belongs to it."""
    found = copy.deepcopy(document)
    name = found[table].pop(at)["id"]
    if table == "nodes":
        _forget_node(found, name, at)
    elif table == "tasks":
        for matrix in _pairs(found):
            del matrix[at]
        if "shuffle" in found:
            found["shuffle"] = [entry for entry in found["shuffle"] if name not in (entry["map"], entry["reduce"])]
    else:
        owned, field = _OWNED[table]
        for row in reversed(range(len(found.get(owned, ())))):
            if found[owned][row].get(field) == name:
                found = without(found, owned, row)
        if not found[table]:
            del found[table]
    return found


def _forget_node(document: Document, name: str, at: int) -> None:
    """Take away what is said of a node that is gone."""
    for task in document["tasks"]:
        if "replicas" in task:
            task["replicas"] = [holder for holder in task["replicas"] if holder != name]
        for field in ("node", "observed"):
            if task.get(field) == name:
                del task[field]
        if isinstance(task.get("rate_in"), dict):  # by type of node
            types = {node.get("type") for node in document["nodes"]}
            task["rate_in"] = {kind: rate for kind, rate in task["rate_in"].items() if kind in types}
    for matrix in _topologies(document):
        del matrix[at]
    for matrix in (*_topologies(document), *_pairs(document)):
        for row in matrix:
            del row[at]
    links = document.get("topology", {}).get("links")
    if links is not None:
        document["topology"]["links"] = [link for link in links if name not in (link["from"], link["to"])]


def with_copy(document: Document, table: str, at: int) -> Document:
    """The document with a record twice, the second at the end under an id of its own."""
    found = copy.deepcopy(document)
    record = copy.deepcopy(found[table][at])
    old, name = record["id"], _new_id(found, record["id"])
    record["id"] = name
    found[table].append(record)
    if table == "nodes":
        for matrix in (*_topologies(found), *_pairs(found)):
            for row in matrix:
                row.append(row[at])
        for matrix in _topologies(found):
            matrix.append(list(matrix[at]))
            matrix[-1][-1] = 0
        _repeat(found.get("topology", {}).get("links", []), ("from", "to"), old, name)
    elif table == "tasks":
        for matrix in _pairs(found):
            matrix.append(list(matrix[at]))
        _repeat(found.get("shuffle", []), ("map", "reduce"), old, name)
    return found


def _repeat(entries: list[dict[str, Any]], ends: tuple[str, str], old: str, name: str) -> None:
    """Add each entry that names `old` at one of its ends once more, with `name` there."""
    entries += [
        {key: name if key in ends and value == old else value for key, value in entry.items()}
        for entry in entries
        if old in (entry[ends[0]], entry[ends[1]])
    ]


def _new_id(document: Document, like: str) -> str:
    taken = {record["id"] for table in TABLES for record in document.get(table, ())}
    stem = re.sub(r"\d+$", "", like) or like
    number = 1
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"


def numbered_anew(document: Document) -> Document:
    """The document with records called n1, n2, ..., t1, ... in their order, where each table's ids are of that form.

    Ids of another form stay, since a heuristic may read something in them.
    """
    called: dict[str, dict[str, str]] = {}
    for table in TABLES:
        ids = [record["id"] for record in document.get(table, ())]
        stems = {re.sub(r"[1-9]\d*$", "", name) for name in ids}
        plain = len(stems) == 1 and all(name not in stems for name in ids)
        called[table] = {name: f"{min(stems)}{at + 1}" if plain else name for at, name in enumerate(ids)}
    nodes, tasks = called["nodes"], called["tasks"]
    owners = {field: called[table] for table, (_, field) in _OWNED.items()} | {"node": nodes, "observed": nodes}
    found = copy.deepcopy(document)
    for table in TABLES:
        for record in found.get(table, ()):
            record["id"] = called[table][record["id"]]
            for field, names in owners.items():
                if field in record:
                    record[field] = names.get(record[field], record[field])
            if "replicas" in record:
                record["replicas"] = [nodes.get(name, name) for name in record["replicas"]]
    for entries, ends, names in (
        (found.get("shuffle", []), ("map", "reduce"), tasks),
        (found.get("topology", {}).get("links", []), ("from", "to"), nodes),
    ):
        for entry in entries:
            for end in ends:
                entry[end] = names.get(entry[end], entry[end])
    return found


def _topologies(document: Document) -> list[list[list[float]]]:
    """The matrices with a row and a column for each node."""
    topology = document.get("topology", {})
    return [topology[form] for form in ("distance", "rate") if form in topology]


def _pairs(document: Document) -> list[list[list[Any]]]:
    """The matrices with a row for each task and a column for each node."""
    pairs = document.get("pairs", {})
    return [pairs[form] for form in ("cost", "allowed") if form in pairs] + list(pairs.get("demand", {}).values())


# Numbers --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a number of a document stands: what holds it, under which key, and the names on the way there."""

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


def whole(number: float) -> int | float:
    """The same number, an int where it is whole."""
    return int(number) if float(number).is_integer() else number
