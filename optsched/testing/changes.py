"""Instances made of another one: in another order, in other units, without tasks, with less room, without a limit."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.errors import MissingField
from optsched.core.network import FlowNetwork
from optsched.core.registry import Record, Scaling
from optsched.instances.documents.format import InstanceDocument, NetworkDocument, schema
from optsched.instances.files import from_document, to_document
from optsched.problems import AnyProblem
from optsched.testing.cases import MOST_DECISIONS, Case, cases, every_decision, number_of_decisions

__all__ = [
    "counting",
    "emptied",
    "limitless",
    "permuted",
    "scaled",
    "scarce",
    "short_of_room",
    "starved",
    "tightened",
]

#: Seeds among which one must draw an instance that scarce room makes infeasible, where the given ones do not.
_SEEDS_FOR_SCARCE = 10

Document = dict[str, Any]


def _again(problem: AnyProblem, document: Document, **parameters: Any) -> AnyProblem:
    """The same problem on a changed document, or with changed parameters."""
    found: AnyProblem = type(problem)(from_document(document), **{**problem.parameters, **parameters})
    return found


def permuted(problem: AnyProblem, rng: np.random.Generator, kept: Collection[str] = ()) -> AnyProblem:
    """The problem with nodes, tasks and arcs in another order, but for parts that are kept, and matrices to match."""
    document = to_document(problem.instance)

    def drawn(part: str) -> list[int]:
        rows = len(document.get(part, []))
        order: list[int] = list(range(rows)) if part in kept else rng.permutation(rows).tolist()
        return order

    nodes, tasks, arcs = map(drawn, ("nodes", "tasks", "arcs"))
    for part, order in (("nodes", nodes), ("tasks", tasks), ("arcs", arcs)):
        if part in document:
            document[part] = [document[part][row] for row in order]
    topology = document.get("topology", {})
    for form in {"distance", "rate"} & set(topology):
        topology[form] = [[topology[form][row][column] for column in nodes] for row in nodes]

    def of_pairs(entry: Any) -> Any:
        if isinstance(entry, dict):
            return {key: of_pairs(value) for key, value in entry.items()}
        return [[entry[row][column] for column in nodes] for row in tasks]

    if "pairs" in document:
        document["pairs"] = of_pairs(document["pairs"])
    return _again(problem, document)


def _times(value: Any, factor: Fraction) -> Any:
    """What is written, multiplied as the decimal that it is: 0.3 is a tenth of 3; lists and objects entry by entry."""
    if isinstance(value, list | tuple):
        return [_times(entry, factor) for entry in value]
    if isinstance(value, dict):
        return {key: _times(entry, factor) for key, entry in value.items()}
    product = Fraction(str(value)) * factor
    return product.numerator if product.denominator == 1 else float(product)


def _known_fields(problem: AnyProblem) -> dict[str, set[str]]:
    """The keys of the records of each part of the document that holds the problem's instance."""
    kind = NetworkDocument if isinstance(problem.instance, FlowNetwork) else InstanceDocument
    kinds = schema(kind)["$defs"]
    held = {part: said.get("items", said) for part, said in kinds[kind.__name__]["properties"].items()}
    return {
        part: set(kinds[said["$ref"].rpartition("/")[2]]["properties"]) for part, said in held.items() if "$ref" in said
    }


def scaled(problem: AnyProblem, law: Scaling, factor: Fraction) -> AnyProblem:
    """The problem in other units.

    Raises
    ------
    ValueError
        If the law names a field or parameter that does not exist, or nothing that is there.
    """
    known = _known_fields(problem)
    strange = [
        f"{part}.{name}" for part, names in law.fields.items() for name in names if name not in known.get(part, ())
    ]
    strange += sorted(set(law.parameters) - {parameter.name for parameter in problem.parameter_table})
    if strange:
        raise ValueError(f"the scaling names what there is not: {', '.join(strange)}")
    document = to_document(problem.instance)
    for part, names in law.fields.items():
        entries = document.get(part, [])
        for entry in [entries] if isinstance(entries, dict) else entries:
            for name in set(names) & set(entry):
                entry[name] = _times(entry[name], factor)
    numbers = {
        name: _times(value, factor)
        for name, value in problem.parameters.items()
        if name in law.parameters and not isinstance(value, str | None)
    }
    if document == to_document(problem.instance) and {**problem.parameters, **numbers} == problem.parameters:
        raise ValueError("the scaling changes nothing: name what is written in these units")
    return _again(problem, document, **numbers)


def emptied(problem: AnyProblem) -> list[AnyProblem]:
    """The problem without tasks, and with all of them finished, where it can be posed; or without arcs and supplies."""
    document = to_document(problem.instance)
    if "arcs" in document:
        bare = [{**node, "supply": 0} for node in document["nodes"]]
        return [_again(problem, {**document, "arcs": [], "nodes": bare})]
    done = {"state": "finished", "node": document["nodes"][0]["id"]}
    without = {**document, "tasks": []}
    if "shuffle" in document:
        without["shuffle"] = []
    if "pairs" in document:
        without["pairs"] = {"cost": [], "demand": {name: [] for name in document["pairs"].get("demand", {})}}
    finished = {**document, "tasks": [{**task, **done} for task in document["tasks"]]}
    posed = []
    for changed in (without, finished):
        with suppress(MissingField):
            posed.append(_again(problem, changed))
    return posed


def starved(problem: AnyProblem) -> AnyProblem:
    """The problem without room: no slots, no capacities; in a network a node that nothing leaves has a unit to send."""
    document = to_document(problem.instance)
    if "arcs" in document:
        taken = {node["id"] for node in document["nodes"]}
        alone = next(name for name in map(str, range(len(taken) + 1)) if name not in taken)
        document["nodes"].append({"id": alone, "supply": 1})
        first = document["nodes"][0]
        first["supply"] = first.get("supply", 0) - 1
        return _again(problem, document)
    for node in document["nodes"]:
        node.update({"idle_slots": 0, "idle_reduce_slots": 0})
        if "capacity" in node:
            node["capacity"] = dict.fromkeys(node["capacity"], 0)
    return _again(problem, document)


def counting(problem: AnyProblem) -> AnyProblem:
    """The problem with a demand of one of every task for every resource, so that nodes only count their tasks."""
    document = to_document(problem.instance)
    demand = document.get("pairs", {}).get("demand", {})
    for name, rows in demand.items():
        demand[name] = [[1] * len(row) for row in rows]
    return _again(problem, document)


def tightened(problem: AnyProblem, number: int = 0) -> Iterator[AnyProblem]:
    """The problem with less and less room, until there is none; the number says where it is taken away first."""
    rng, document = np.random.default_rng(number), to_document(problem.instance)
    while _lessened(document, rng):
        yield _again(problem, document)


def scarce(problem: AnyProblem, tries: int = 6) -> Iterator[AnyProblem]:
    """The problem with so little room that nothing is feasible, though no task or node alone shows it."""
    for number in range(tries):
        last = None
        for changed in tightened(problem, number):
            if changed.plainly_infeasible is not None:
                break
            last = changed
        few = last is not None and number_of_decisions(last) <= MOST_DECISIONS
        if last is not None and few and all(map(last.violations, every_decision(last))):
            yield last


def short_of_room(record: Record, seeds: Sequence[int]) -> Case | None:
    """The first small instance of a problem that scarce room makes infeasible; None where there is none.

    Where the seeds draw none, ten more are tried.
    """
    found = (
        Case(problem, f"{case.name}, with scarce room")
        for seed in (*seeds, *range(_SEEDS_FOR_SCARCE))
        for case in cases(record, [seed])
        for problem in itertools.islice(scarce(case.problem), 1)
    )
    return next(found, None)


def _lessened(document: Document, rng: np.random.Generator) -> bool:
    """Take some room away, in place: a slot, a part of a capacity, units of an arc; False where there is none left."""
    rooms: list[tuple[Document, str, float]] = []
    sent = sum(max(0, node.get("supply", 0)) for node in document["nodes"])
    for arc in document.get("arcs", []):
        rooms.append((arc, "capacity", max(arc.get("lower", 0), arc.get("capacity", sent + 1) - 1)))
    for node in document["nodes"] if "arcs" not in document else []:
        for key, slots in (("idle_slots", "slots"), ("idle_reduce_slots", "reduce_slots")):
            rooms.append((node, key, max(0, node.get(key, node.get(slots, 1)) - 1)))
        capacity = node.get("capacity", {})
        rooms.extend((capacity, name, capacity[name] * 7 // 8) for name in capacity)
    rooms = [room for room in rooms if room[0].get(room[1]) != room[2]]
    if rooms:
        holder, key, less = rooms[int(rng.integers(len(rooms)))]
        holder[key] = less
    return bool(rooms)


def limitless(problem: AnyProblem) -> AnyProblem:
    """A network with arcs without a limit there and back between its first two nodes; each arc pays."""
    document = to_document(problem.instance)
    first, second = (node["id"] for node in document["nodes"][:2])
    for tail, head in ((first, second), (second, first)):
        document["arcs"].append({"id": f"{tail} to {head}, for ever", "tail": tail, "head": head, "cost": -1})
    return _again(problem, document)
