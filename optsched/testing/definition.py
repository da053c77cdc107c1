"""Contract checks of a problem's definition: its record, its class, and its enumeration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from optsched.certificates import proved_bound
from optsched.core.errors import CertificateInvalid
from optsched.core.registry import Record, fault_of, imported, record_of
from optsched.core.results import Certificate, Value
from optsched.instances.files import to_document
from optsched.problems import Problem
from optsched.searches import enumeration
from optsched.testing.cases import cases
from optsched.testing.contract import ContractBroken, check, expect, listed, places, placing, times, with_usual

__all__: list[str] = []


@check()
def check_record(record: Record, seeds: Sequence[int]) -> None:
    """The record is complete and consistent, and its instances are not trivial. No subclass inherits it."""
    kind = record.problem_class
    wrong = fault_of(record)
    expect(wrong is None, record.problem, str(wrong))
    expect(record_of(kind) == record, record.problem, "the registry has another record of the class")
    for case in cases(record, seeds):
        applies = kind.applies(case.problem.instance)
        expect(not applies, case.name, "; ".join(map(str, applies)))
    unsaid = record.routes is not None and hasattr(imported(record.routes), "frontier") and not record.frontier
    expect(not unsaid, record.problem, "its routes find a frontier: the record has to say so (`frontier=True`)")
    expect(record.scaling is not None, record.problem, "no scaling: say what its optimum does in other units")
    _something_is_proved(record, seeds)
    other = type("Other", (kind,), {"__module__": __name__})
    expect(record_of(other).routes is None, record.problem, "a subclass has its routes")
    posed = other(cases(record, seeds)[0].problem.instance)
    certificate = Certificate(posed.components[0].name, kind.proof, 0, {})
    try:
        proved_bound(posed, certificate)
    except CertificateInvalid as error:
        expect("has no proof" in str(error), record.problem, f"a subclass has its provers: {error}")
    else:
        raise ContractBroken(f"{record.problem}: a subclass has its provers")


def _something_is_proved(record: Record, seeds: Sequence[int]) -> None:
    """Decisions differ in value, no component of all optima is 0, and each variant changes something."""
    number = 1 + len(record.variants)
    held = cases(record, with_usual(seeds))
    text = "of no instance have two decisions different values: make `sizes` leave more to decide"
    expect(any(len(case.decisions) > 1 for case in held), record.problem, text)
    for position, component in enumerate(record.problem_class.components):
        text = f"the least or most {component.name} is 0 on every instance, which proves nothing: choose other `sizes`"
        expect(any(case.best is not None and case.best[position] != 0 for case in held), record.problem, text)
    for position, parameters in enumerate(record.variants, 1):
        pairs = zip(held[::number], held[position::number], strict=True)
        text = f"the variant {dict(parameters)} changes no decision's value: choose `sizes` where it does"
        expect(any(usual.judged != other.judged for usual, other in pairs), record.problem, text)


@check(lambda record: places(record) or times(record))
def check_enumeration(record: Record, seeds: Sequence[int]) -> None:
    """The enumeration finds every value, each with a decision worth it. Of schedules it finds the best."""
    if times(record):
        _of_schedules(record, seeds)
        return
    ways = {"judged": enumeration.judged}
    if record.enumeration is not None:
        ways[record.enumeration] = imported(record.enumeration)
    for case in cases(record, seeds):
        problem = placing(case)
        for way, enumerated in ways.items():
            found: dict[Value, Value] = {}
            for key, nodes in enumerated(problem):
                placement = problem.placement(nodes)
                wrong = problem.violations(placement)
                expect(not wrong, case.name, f"{way}: an infeasible placement: {'; '.join(map(str, wrong))}")
                value = problem.minimised(problem.objective(placement))
                expect(found.setdefault(key, value) == value, case.name, f"{way}: {key} has two values")
            expect(set(found.values()) == set(case.decisions), case.name, f"{way}: other values than judging finds")
            expect([found[key] for key in sorted(found)] == list(case.decisions), case.name, f"{way}: in another order")
        best = enumeration.best_placement(problem)
        expect((best is None) == (case.best is None), case.name, "the best placement is not there, or should not be")
        if best is not None:
            expect(
                best[0] == case.best,
                case.name,
                f"the best placement is worth {listed(best[0])}, not {listed(case.best)}",
            )


def _of_schedules(record: Record, seeds: Sequence[int]) -> None:
    """The enumeration of schedules gives feasible ones, with their values, and the best value is among them."""
    expect(record.enumeration is not None, record.problem, "names no enumeration, without which none is known")
    for case in cases(record, seeds):
        problem: Any = case.problem
        found = []
        for key, (nodes, starts) in imported(str(record.enumeration))(problem):
            schedule = problem.schedule(nodes, starts)
            wrong = problem.violations(schedule)
            expect(not wrong, case.name, f"an infeasible schedule: {'; '.join(map(str, wrong))}")
            value = problem.minimised(problem.objective(schedule))
            expect(value == key, case.name, f"a schedule worth {listed(value)} is said to be worth {listed(key)}")
            found.append(key)
        best = next(iter(case.decisions), None)
        expect(min(found, default=None) == best, case.name, "the best schedule is not given")
        held = enumeration.best_decision(problem)
        expect((held and held[0]) == case.best, case.name, f"the best is worth {listed(held and held[0])}")


@check(places)
def check_each_placement(record: Record, seeds: Sequence[int]) -> None:
    """The enumeration gives each feasible placement once, up to equal tasks."""
    enumerated = enumeration.judged if record.enumeration is None else imported(record.enumeration)
    for case in cases(record, seeds):
        problem = placing(case)
        found = Counter(tuple(map(int, nodes)) for _, nodes in enumerated(problem))
        expect(not found or max(found.values()) == 1, case.name, "a placement is given twice")
        feasible = {tuple(nodes[task] for task in problem.tasks.tolist()) for nodes in case.judged}
        expect(set(found) <= feasible, case.name, "a placement is given that is not feasible")
        label = _equals(problem)
        sets = [Counter(tuple(sorted(zip(label, nodes, strict=True))) for nodes in held) for held in (feasible, found)]
        every, given = sets
        missing = [held for held in every if not given[held]]
        expect(not missing, case.name, f"{len(missing)} of {len(every)} sets of equal placements are not given")
        short = [held for held in every if 1 < given[held] < every[held]]
        complete = {given[held] == every[held] for held in every if every[held] > 1}
        expect(not short and len(complete) < 2, case.name, "of some sets of equal placements not all are given")


def _equals(problem: Problem) -> list[str]:
    """A text of what an instance says of each task to place, but for its id: the same for equals."""
    document = to_document(problem.instance)
    pairs, shuffle = document.get("pairs", {}), document.get("shuffle", [])
    tables = [pairs["cost"], *pairs.get("demand", {}).values()] if pairs else []
    keys = []
    for row in problem.tasks.tolist():
        task = document["tasks"][row]
        sent = sorted(
            repr({**entry, kind: ""}) for entry in shuffle for kind in ("map", "reduce") if entry[kind] == task["id"]
        )
        keys.append(repr(({**task, "id": ""}, [table[row] for table in tables], sent)))
    return keys
