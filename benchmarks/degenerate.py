"""Degenerate instances: what makes one of a document, of any problem, by the fields that its record says are in units.

Each kind gives the documents and parameters that may do, the best first: the domain of the problem decides which of
them is an instance. It knows no problem by its name, but for kinds that a problem cannot see.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from optsched.core.registry import Record
from optsched.measuring.mining.documents import Document, without


class Given(NamedTuple):
    """A document, and the parameters with which a problem is posed on it; how many bits huge numbers have."""

    document: Document
    parameters: dict[str, Any]
    bits: int = 0


#: Problems that read no replicas.
_WITHOUT_REPLICAS = ("transmission-reduces", "utility", "generalized-assignment", "min-cost-flow")

#: Kinds that a problem does not see, since it reads no such part, or cannot be posed without.
OVERLOOKED: dict[str, tuple[str, ...]] = {
    "no slots": ("latency",),
    "all replicas everywhere": _WITHOUT_REPLICAS,
    "no replicas anywhere": (*_WITHOUT_REPLICAS, "transmission-maps", "transmission"),
}

#: Parameters without which a problem does not see a kind.
_WITH: dict[tuple[str, str], dict[str, Any]] = {("no slots", "traffic"): {"capacity": "slots"}}

#: Numbers up to 2^53 are allowed at most.
_BITS = 53


def _numbers(value: Any) -> Iterator[Any]:
    """All numbers of a value of a field: a number, or a table or a list of values."""
    if isinstance(value, dict | list):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _numbers(entry)
    elif isinstance(value, Number) and not isinstance(value, bool):
        yield value


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with each of its numbers changed."""
    if isinstance(value, dict):
        return {key: _mapped(entry, change) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(entry, change) for entry in value]
    return change(value) if isinstance(value, Number) and not isinstance(value, bool) else value


def _records(document: Document, part: str) -> list[dict[str, Any]]:
    """The records of a part; a part that is one table is one record."""
    held = document.get(part, [])
    return [held] if isinstance(held, dict) else held


def _in_units(record: Record) -> dict[str, tuple[str, ...]]:
    """The fields of each part that are in units; of a part that has costs these alone."""
    fields = record.scaling.fields if record.scaling is not None else {}
    return {part: ("cost",) if "cost" in named else tuple(named) for part, named in fields.items()}


def _with_fields(
    given: Given, record: Record, of_field: Callable[[list[Any]], Callable[[Any], Any]], costs: bool = False
) -> Document:
    """The document in which numbers in units are others: `of_field` makes of all numbers of a field what changes each.

    With `costs` only fields that are called so.
    """
    document = copy.deepcopy(given.document)
    for part, fields in _in_units(record).items():
        for field in fields:
            held = [entry for entry in _records(document, part) if field in entry]
            numbers = [number for entry in held for number in _numbers(entry[field])]
            if numbers and (field == "cost" or not costs):
                change = of_field(numbers)
                for entry in held:
                    entry[field] = _mapped(entry[field], change)
    return document


def _parameters(given: Given, record: Record) -> dict[str, Any]:
    """The parameters in units that are numbers, those at their defaults included."""
    table = {entry.name: entry.default for entry in record.problem_class.parameter_table}
    table |= given.parameters
    held = {name: table[name] for name in record.scaling.parameters} if record.scaling is not None else {}
    listed = {name: list(value) if isinstance(value, tuple) else value for name, value in held.items()}
    return {name: value for name, value in listed.items() if any(True for _ in _numbers(value))}


# The kinds ------------------------------------------------------------------------------------------------------------


def _no_tasks(given: Given, record: Record, rng: np.random.Generator) -> Iterator[Given]:
    """No tasks, or none that has not ended; nothing to send through a network."""
    document = copy.deepcopy(given.document)
    if "arcs" in document:
        for node in document["nodes"]:
            node["supply"] = 0
        for arc in document["arcs"]:
            arc.pop("lower", None)
    else:
        ended = copy.deepcopy(document)
        while document["tasks"]:
            document = without(document, "tasks", len(document["tasks"]) - 1)
        yield Given(document, given.parameters)
        for task in ended["tasks"]:
            task |= {"state": "finished", "node": task.get("node", ended["nodes"][0]["id"])}
        document = ended
    yield Given(document, given.parameters)


def _no_slots(given: Given, record: Record, rng: np.random.Generator) -> Iterator[Given]:
    """No slots, and no capacity of any resource or arc."""
    document = copy.deepcopy(given.document)
    for node in document["nodes"]:
        if "arcs" not in document:
            node |= {name: 0 for name in node if name.endswith("slots")} | {"slots": 0}
        if "capacity" in node:
            node["capacity"] = _mapped(node["capacity"], lambda number: 0)
    for arc in document.get("arcs", ()):
        arc |= {"capacity": 0}
        arc.pop("lower", None)
    yield Given(document, given.parameters | _WITH.get(("no slots", record.name), {}))


def _one_node(given: Given, record: Record, rng: np.random.Generator) -> Iterator[Given]:
    """All that there is on one node; of a network all arcs are loops then."""
    document = copy.deepcopy(given.document)
    if "arcs" in document:
        document["nodes"] = [{**document["nodes"][0], "supply": 0}]
        only = document["nodes"][0]["id"]
        for arc in document["arcs"]:
            arc |= {"tail": only, "head": only}
    else:
        while len(document["nodes"]) > 1:
            document = without(document, "nodes", len(document["nodes"]) - 1)
    yield Given(document, given.parameters)


def _replicas(ids: Callable[[Document], list[str]]) -> Callable[..., Iterator[Given]]:
    """Every map with its data on the same nodes."""

    def kind(given: Given, record: Record, rng: np.random.Generator) -> Iterator[Given]:
        document = copy.deepcopy(given.document)
        for task in document.get("tasks", ()):
            if task.get("kind", "map") == "map":
                task["replicas"] = ids(document)
        yield Given(document, given.parameters)

    return kind


def _equal_costs(given: Given, record: Record, rng: np.random.Generator) -> Iterator[Given]:
    """Each field with one value in all records, and parameters that are all the same; all places equally far apart."""

    def of_field(numbers: list[Any]) -> Callable[[Any], Any]:
        return lambda number: numbers[0]

    document = _with_fields(given, record, of_field)
    if "topology" in document:
        document["topology"] = {"hops": {"node": 0, "rack": 1, "off_rack": 1}}
    held = _parameters(given, record)
    least = min(_numbers(held), default=None)
    yield Given(document, given.parameters | _mapped(held, lambda number: least))


def _huge(given: Given, record: Record, rng: np.random.Generator) -> Iterator[Given]:
    """The largest number of each field so large as the domain lets it be, up to 2^53, and no multiple of 2."""
    held = _parameters(given, record)
    largest = max(_numbers(held), default=0)
    for bits in range(_BITS, 0, -1):

        def grown(number: Any, most: Any, bits: int = bits) -> int:
            less = int(rng.integers(0, 4))
            return 0 if not number else int(np.sign(number)) * max(1, int(abs(number) / most * 2**bits) - less)

        def of_field(numbers: Sequence[Any]) -> Callable[[Any], Any]:
            most = max(map(abs, numbers))
            return lambda number: grown(number, most)

        parameters = _mapped(held, lambda number: grown(number, largest))
        for name, value in parameters.items():
            if isinstance(value, list):  # levels do not decrease
                parameters[name] = sorted(value)
        yield Given(_with_fields(given, record, of_field), given.parameters | parameters, bits)


def _negative_costs(given: Given, record: Record, rng: np.random.Generator) -> Iterator[Given]:
    """All costs below 0, or half of them."""
    share = float(rng.choice([0.5, 1.0]))

    def of_field(numbers: list[Any]) -> Callable[[Any], Any]:
        return lambda number: -abs(number) if rng.random() < share else number

    document = _with_fields(given, record, of_field, costs=True)
    costs = [entry["cost"] for part in _in_units(record) for entry in _records(document, part) if "cost" in entry]
    if any(number < 0 for number in _numbers(costs)):
        yield Given(document, given.parameters)


#: Every kind, in words.
KINDS: dict[str, Callable[[Given, Record, np.random.Generator], Iterator[Given]]] = {
    "no tasks": _no_tasks,
    "no slots": _no_slots,
    "one node": _one_node,
    "all replicas everywhere": _replicas(lambda document: [node["id"] for node in document["nodes"]]),
    "no replicas anywhere": _replicas(lambda document: []),
    "equal costs": _equal_costs,
    "huge numbers": _huge,
    "negative costs": _negative_costs,
}


def changed(kind: str, given: Given, record: Record, rng: np.random.Generator) -> Iterator[Given]:
    """What a kind makes of a document and parameters; nothing where the problem does not see this kind."""
    if record.name not in OVERLOOKED.get(kind, ()):
        yield from KINDS[kind](given, record, rng)
