"""Contract checks on changed instances: in another order, in other units, without tasks, room, limits or time."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from optsched.certificates import Enumerated, certify
from optsched.core.errors import MissingField
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow
from optsched.core.registry import Record, Scaling
from optsched.core.results import Limit, Termination
from optsched.instances.documents.format import InstanceDocument, NetworkDocument, schema
from optsched.instances.files import from_document, to_document
from optsched.measuring.mining.documents import matrices, without
from optsched.problems import AnyProblem
from optsched.problems.base import GRID
from optsched.routes import frontier, has_frontier, routes_of, solve
from optsched.testing.contract import (
    MOST_DECISIONS,
    Case,
    cases,
    check,
    every_decision,
    expect,
    listed,
    number_of_decisions,
    right,
    size_of,
)
from optsched.testing.programs import is_modelled, programs, right_program


@check()
def check_permutation(record: Record, seeds: Sequence[int]) -> None:
    """The order of nodes, tasks and arcs in a file changes no route's answer.

    Parts whose order is part of the problem stay as they are (`Record.ordered`).
    """
    first = cases(record, seeds[:1])
    for case in cases(record, seeds):
        given = case.problem.parameters
        kept = {part for part, those in record.ordered.items() if those.items() <= given.items()}
        for turn in range(2):
            other = permuted(case.problem, np.random.default_rng(turn), kept)
            for route in [None, *(routes_of(other) if case in first and not turn else ())]:
                where = f"{case.name}, permuted, route {route or 'as usual'}"
                right(other, solve(other, route=route), case.best, where)


@check()
def check_scaling(record: Record, seeds: Sequence[int]) -> None:
    """In other units, tenths too where fractions are allowed, the optimum is the same."""
    law = record.scaling
    expect(law is not None, record.problem, "no scaling: say what its optimum does in other units")
    assert law is not None
    if not law.fields and not law.parameters:
        none = (0,) * len(record.problem_class.components)
        reason = f"the scaling names nothing that is written in units: its powers are {none} then, a number a component"
        expect(law.powers == none, record.problem, reason)
        return
    for case in cases(record, seeds):
        for factor in (Fraction(3),) if law.whole else (Fraction(3), Fraction(1, 10)):
            where = f"{case.name}, times {factor}"
            other = scaled(case.problem, law, factor)
            found, best = solve(other).objective, case.best
            if best is None or found is None:
                expect(found == best, where, f"{listed(found)} instead of {listed(best)}")
                continue
            slack = size_of(other) * (1 + factor) / GRID if law.rounded else 0
            for entry, known, power in zip(found, best, law.powers, strict=True):
                reason = f"{entry} instead of {known * factor**power}"
                expect(abs(entry - known * factor**power) <= slack, where, reason)


@check()
def check_empty(record: Record, seeds: Sequence[int]) -> None:
    """With nothing to decide, every route says so, proved, with the right value."""
    for case in cases(record, seeds[:1]):
        posed = emptied(case.problem)
        expect(bool(posed), case.name, "cannot be posed where there is nothing to decide")
        for problem in posed:
            expect(not size_of(problem), case.name, "emptied, and there is something to decide")
            best = Case(problem, case.name).best
            for route in routes_of(problem):
                right(problem, solve(problem, route=route), best, f"{case.name}, emptied, route {route}")
            if has_frontier(problem):
                found = frontier(problem)
                expect(found.complete and found.values == [best], case.name, f"emptied, frontier {found.values}")


@check()
def check_no_room(record: Record, seeds: Sequence[int]) -> None:
    """Without room every route says INFEASIBLE, or finds the best that is left."""
    infeasible = False
    for case in cases(record, seeds[:1]):
        problem = starved(case.problem)
        best = Case(problem, case.name).best
        message = "nothing is feasible, though `always_feasible` is True"
        expect(best is not None or not problem.always_feasible, case.name, message)
        infeasible |= best is None
        for less in tightened(case.problem) if problem.always_plain else ():
            found, plain = Case(less, case.name).best, less.plainly_infeasible
            why = (
                "nothing is feasible, for no plain reason"
                if plain is None
                else f"is feasible, and said not to be: {plain}"
            )
            expect((found is None) == (plain is not None), f"{case.name}, with less room", why)
        for route in routes_of(problem):
            right(problem, solve(problem, route=route), best, f"{case.name}, without room, route {route}")
    message = "no instance without room is infeasible; name a variant that has some"
    expect(infeasible or record.problem_class.always_feasible, record.problem, message)


@check(lambda record: not (record.problem_class.always_feasible or record.problem_class.always_plain))
def check_scarce(record: Record, seeds: Sequence[int]) -> None:
    """With too little room routes and models say INFEASIBLE, with the proof that the record names."""
    short = short_of_room(record, seeds)
    message = "no instance with scarce room is infeasible, except for a plain reason; name a variant that has some"
    expect(short is not None, record.problem, message)
    assert short is not None
    expect(short.best is None and short.problem.plainly_infeasible is None, short.name, "is not what it was made for")
    for route in routes_of(short.problem):
        right(short.problem, solve(short.problem, route=route), None, f"{short.name}, route {route}")
    for program in programs(record, short) if is_modelled(record) else ():
        right_program(program)
    shown = solve(short.problem)
    if record.infeasible is not None or shown.certificates:
        verdict = certify(short.problem, shown)
        expect(verdict.proved, short.name, f"that nothing is feasible is not proved: {verdict.unproved}")
        for case in cases(record, seeds):
            posed = case.problem
            given = replace(shown, instance_sha256=posed.instance.sha256, parameters=dict(posed.parameters))
            roomy = certify(posed, given)
            expect(case.best is None or not roomy.proved, case.name, "is proved to be infeasible, and it is not")


@check(lambda record: record.problem_class.decided is NetworkFlow or record.unlimited is not None)
def check_unlimited(record: Record, seeds: Sequence[int]) -> None:
    """If no decision is best, every route says unbounded and proves it. A false claim is refused."""
    for case in cases(record, seeds):
        problem, where = limitless(case.problem), f"{case.name}, without a limit"
        for route in routes_of(problem):
            solution = solve(problem, route=route)
            message = f"{solution.termination}, {solution.raw_status}"
            unlimited = solution.termination is Termination.ERROR and "unbounded" in solution.raw_status
            expect(unlimited, f"{where}, route {route}", message)
            verdict = certify(problem, solution)
            expect(verdict.proved, f"{where}, route {route}", f"not shown: {'; '.join(verdict.unproved)}")
        nothing = (None,) * len(case.problem.components)
        held = replace(case.solved(), bound=nothing, certificates=())
        false = replace(held, termination=Termination.ERROR, raw_status="unbounded")
        expect(not certify(case.problem, false).valid, case.name, "accepts that there is no limit, and there is")


@check()
def check_no_time(record: Record, seeds: Sequence[int]) -> None:
    """With no time at all, decision and bound are true or absent, and the limit is named."""
    for case in cases(record, seeds):
        problem = case.problem
        for route in routes_of(problem):
            solution, where = solve(problem, route=route, time_limit=0), f"{case.name}, no time, route {route}"
            if solution.termination in (Termination.OPTIMAL, Termination.INFEASIBLE):
                right(problem, solution, case.best, where)
                continue
            expect(solution.limit is Limit.TIME, where, f"limit {solution.limit}")
            verdict = certify(problem, solution, enumerated=Enumerated(case.best))
            expect(verdict.valid, where, f"contradicted: {'; '.join(verdict.contradicted)}")
            if case.best is not None:
                place = problem.beaten(case.best, solution.bound)
                expect(place is None, where, f"bound {solution.bound}, optimum {listed(case.best)}")
        if has_frontier(problem):
            found = frontier(problem, time_limit=0)
            expect(set(found.values) <= set(case.front), case.name, f"no time, frontier {found.values}")
            expect(found.complete == (found.values == case.front), case.name, "no time: complete is not what it is")


# Instances made from another one --------------------------------------------------------------------------------------

#: The results of `short_of_room` for some seeds, while their first case exists.
_SHORT: WeakKeyDictionary[Case, dict[tuple[int, ...], Case | None]] = WeakKeyDictionary()

#: Further seeds: one of them must draw an instance that scarce room makes infeasible, if the given seeds do not.
_SEEDS_FOR_SCARCE = 10

Document = dict[str, Any]


def _again(problem: AnyProblem, document: Document, **parameters: Any) -> AnyProblem:
    """The same problem on a changed document, or with changed parameters."""
    found: AnyProblem = type(problem)(from_document(document), **{**problem.parameters, **parameters})
    return found


def permuted(problem: AnyProblem, rng: np.random.Generator, kept: Collection[str] = ()) -> AnyProblem:
    """The problem with nodes, tasks and arcs in another order, except kept parts, and with matrices to match."""
    document, order = to_document(problem.instance), dict[str, list[int]]()
    for part in ("nodes", "tasks", "arcs"):
        records = document.get(part, [])
        order[part] = list(range(len(records))) if part in kept else rng.permutation(len(records)).tolist()
        records[:] = [records[row] for row in order[part]]
    for matrix, rows, columns in matrices(document):
        matrix[:] = [[matrix[row][column] for column in order[columns]] for row in order[rows]]
    return _again(problem, document)


def _times(value: Any, factor: Fraction) -> Any:
    """A value multiplied as the decimal that is written: 0.3 is a tenth of 3; lists and objects entry by entry."""
    if isinstance(value, list | tuple):
        return [_times(entry, factor) for entry in value]
    if isinstance(value, dict):
        return {key: _times(entry, factor) for key, entry in value.items()}
    product = Fraction(str(value)) * factor
    return product.numerator if product.denominator == 1 else float(product)


def _known_fields(problem: AnyProblem) -> dict[str, set[str]]:
    """The keys of the records of each part of the document of the problem's instance."""
    kind = NetworkDocument if isinstance(problem.instance, FlowNetwork) else InstanceDocument
    kinds = schema(kind)["$defs"]
    held = {part: said.get("items", said) for part, said in kinds[kind.__name__]["properties"].items()}
    return {
        part: set(kinds[said["$ref"].rpartition("/")[2]]["properties"]) for part, said in held.items() if "$ref" in said
    }


def scaled(problem: AnyProblem, law: Scaling, factor: Fraction) -> AnyProblem:
    """The problem in other units; ValueError if the law names unknown fields, or none of this document."""
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
    """The problem without tasks, and with all tasks finished, if it can be posed; or without arcs and supplies."""
    document = to_document(problem.instance)
    if "arcs" in document:
        bare = [{**node, "supply": 0} for node in document["nodes"]]
        return [_again(problem, {**document, "arcs": [], "nodes": bare})]
    done = {"state": "finished", "node": document["nodes"][0]["id"]}
    nothing = document
    while nothing["tasks"]:
        nothing = without(nothing, "tasks", 0)
    finished = {**document, "tasks": [{**task, **done} for task in document["tasks"]]}
    posed = []
    for changed in (nothing, finished):
        with suppress(MissingField):
            posed.append(_again(problem, changed))
    return posed


def starved(problem: AnyProblem) -> AnyProblem:
    """The problem without room: no slots, no capacities; in a network a node without ways out has a supply."""
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
    """The problem in which each task demands one of every resource, so that nodes only count their tasks."""
    document = to_document(problem.instance)
    demand = document.get("pairs", {}).get("demand", {})
    for name, rows in demand.items():
        demand[name] = [[1] * len(row) for row in rows]
    return _again(problem, document)


def tightened(problem: AnyProblem, number: int = 0) -> Iterator[AnyProblem]:
    """The problem with less and less room, until there is none; the number says where room is removed first."""
    rng, document = np.random.default_rng(number), to_document(problem.instance)
    while _lessened(document, rng):
        yield _again(problem, document)


def scarce(problem: AnyProblem) -> Iterator[AnyProblem]:
    """The problem with so little room that nothing is feasible, although no single task or node shows it."""
    for number in range(6):
        last = None
        for changed in tightened(problem, number):
            if changed.plainly_infeasible is not None:
                break
            last = changed
        few = last is not None and number_of_decisions(last) <= MOST_DECISIONS
        if last is not None and few and all(map(last.violations, every_decision(last))):
            yield last


def short_of_room(record: Record, seeds: Sequence[int]) -> Case | None:
    """The first small instance of a problem that scarce room makes infeasible; None if there is none.

    If the seeds draw none, ten more are tried. The search runs once: it tries all decisions of many instances.
    """
    known = _SHORT.setdefault(cases(record, seeds)[0], {})
    if tuple(seeds) not in known:
        found = (
            Case(problem, f"{case.name}, with scarce room")
            for seed in (*seeds, *range(_SEEDS_FOR_SCARCE))
            for case in cases(record, [seed])
            for problem in itertools.islice(scarce(case.problem), 1)
        )
        known[tuple(seeds)] = next(found, None)
    return known[tuple(seeds)]


def _lessened(document: Document, rng: np.random.Generator) -> bool:
    """Remove some room, in place: a slot, a part of a capacity, units of an arc; False if none is left."""
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
