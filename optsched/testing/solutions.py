"""Contract checks of definitions, results and proofs: records, enumerations, solutions, bounds, certificates."""

from __future__ import annotations

import copy
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from optsched.certificates import Enumerated, certify, proved_bound
from optsched.core.arrays import plain
from optsched.core.decimals import MOST_DIGITS
from optsched.core.errors import CertificateInvalid
from optsched.core.placement import Schedule
from optsched.core.problem_record import imported
from optsched.core.registry import Record, fault_of, record_of, records
from optsched.core.results import Certificate, Proof, Solution, Value
from optsched.instances.claim_files import read_schedule, read_solution, write_claim
from optsched.instances.files import load, save, to_document
from optsched.instances.library import library
from optsched.problems import AnyProblem, Problem
from optsched.problems import problem as posed_by_name
from optsched.routes import bounds, routes_of, solve
from optsched.solvers.searches import enumeration
from optsched.testing.contract import (
    Case,
    ContractBroken,
    cases,
    check,
    columns,
    expect,
    is_beyond,
    listed,
    places,
    placing,
    right,
    times,
    with_usual,
)


@check()
def check_record(record: Record, seeds: Sequence[int]) -> None:
    """The record is complete and consistent, and its instances are not trivial. No subclass inherits it."""
    kind = record.problem_class
    wrong = fault_of(record)
    expect(wrong is None, record.problem, str(wrong))
    there = record.name in records()
    expect(there, record.problem, "the registry has no record of it: install the package that names it")
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
            message = f"the best placement is worth {listed(best[0])}, not {listed(case.best)}"
            expect(best[0] == case.best, case.name, message)


def _of_schedules(record: Record, seeds: Sequence[int]) -> None:
    """The enumeration of schedules yields feasible ones with their values, including the best value."""
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
    """A text with everything an instance says of each task to place, except its id: equal for equal tasks."""
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


# Solutions: by every route, as bounds, in a file, against known optima ------------------------------------------------


@check()
def check_routes(record: Record, seeds: Sequence[int]) -> None:
    """Every route finds the optimum: a decision worth it, a bound that meets it, a certificate."""
    for case in cases(record, seeds):
        for route in routes_of(case.problem):
            right(case.problem, case.solved(route), case.best, f"{case.name}, route {route}")


@check()
def check_bounds(record: Record, seeds: Sequence[int]) -> None:
    """No cheap bound is beyond the truth, and each says what it bounds."""
    for case in cases(record, seeds):
        names = [component.name for component in case.problem.components]
        for bound in (*case.problem.cheap_bounds(), *bounds(case.problem)):
            expect(bool(bound.bounds), case.name, f"{bound.name} does not say what it bounds")
            if bound.component is None or case.best is None:
                continue
            expect(bound.component in names, case.name, f"{bound.name} bounds {bound.component}, which is none of it")
            place = names.index(bound.component)
            message = f"{bound.name} is {bound.value}, the optimum {listed(case.best)}"
            expect(not is_beyond(case, place, bound.value), case.name, message)


@check()
def check_solution_file(record: Record, seeds: Sequence[int]) -> None:
    """Instances, solutions and schedules come back from files unchanged, long numbers too."""
    for case in cases(record, seeds):
        solution, instance = case.solved(), case.problem.instance
        with tempfile.TemporaryDirectory() as folder:
            for suffix in (".json", ".json.gz", ".npz"):
                path = Path(folder, f"instance{suffix}")
                save(instance, path)
                expect(load(path).sha256 == instance.sha256, case.name, f"the instance in {suffix} is another one")
            paths = Path(folder, "solution.npz"), Path(folder, "solution.json")
            if isinstance(solution.decision, Schedule):
                path = Path(folder, "schedule.npz")
                write_claim(solution.decision, instance, path)
                same = columns(read_schedule(path, instance)) == columns(solution.decision)
                expect(same, case.name, "the schedule by itself is another one")
            again, long = solution, _with_long_numbers(solution)
            for path in paths:
                write_claim(again, instance, path)
                again = read_solution(path, instance)
                write_claim(long, instance, path)
                message = f"numbers of {MOST_DIGITS} digits are other ones in {path.suffix}"
                expect(_numbers(read_solution(path, instance)) == _numbers(long), case.name, message)
        for name in ("problem", "instance_sha256", "objective", "bound", "termination", "limit", "route", "raw_status"):
            expect(getattr(again, name) == getattr(solution, name), case.name, f"{name} is another one")
        found = [None if entry.decision is None else columns(entry.decision) for entry in (solution, again)]
        expect(found[0] == found[1], case.name, "the decision is another one")
        exact = [type(entry) for entry in again.objective or ()] == [type(entry) for entry in solution.objective or ()]
        expect(exact, case.name, "the objective is not exact any more")
        missing = set(case.problem.parameters) - set(again.parameters)
        expect(not missing, case.name, f"parameters are lost: {', '.join(sorted(missing))}")
        expect(not case.problem.differing(again.parameters), case.name, "parameters are other ones")
        kinds = [
            [(part.component, part.kind, part.claim) for part in entry.certificates] for entry in (solution, again)
        ]
        expect(kinds[0] == kinds[1], case.name, "certificates are other ones")
        verdicts = [str(certify(case.problem, entry)) for entry in (solution, again)]
        expect(verdicts[0] == verdicts[1], case.name, f"is judged otherwise: {verdicts[1]}")


def _with_long_numbers(solution: Solution) -> Solution:
    """The solution with the longest numbers that files may have for values, bounds and claims."""
    most = 10**MOST_DIGITS
    numbers = cycle((Fraction(1 - most, most - 2), Fraction(1, most - 1), most - 1, 10**59, -(10**60), 2**53 + 1))
    return replace(
        solution,
        objective=None if solution.objective is None else tuple(next(numbers) for _ in solution.objective),
        bound=tuple(next(numbers) for _ in solution.bound),
        certificates=tuple(replace(entry, claim=next(numbers)) for entry in solution.certificates),
    )


def _numbers(solution: Solution) -> list[Any]:
    return [solution.objective, solution.bound, [entry.claim for entry in solution.certificates]]


@check(lambda record: record.known is not None)
def check_known(record: Record, seeds: Sequence[int]) -> None:
    """The self-test's optimum is in the library, is not 0, and two routes find it."""
    known = record.known
    assert known is not None
    entry = library().get(known.instance)
    expect(entry is not None, known.instance, "the library has no such instance")
    assert entry is not None
    expect(record.name in entry.optima, known.instance, "the library has no optimum of the problem there")
    problem, best = posed_by_name(record.name, load(entry.path)), entry.optima[record.name].value
    expect(any(best), known.instance, "the optimum is 0, which proves nothing")
    expect(len(set(known.routes)) > 1, known.instance, f"{known.routes[0]} is asked twice")
    for route in known.routes:
        expect(route in routes_of(problem), known.instance, f"there is no route {route}")
        solution, where = solve(problem, route=route), f"{known.instance}, route {route}"
        expect(solution.objective == best, where, f"{listed(solution.objective)} instead of {listed(best)}")
        expect(solution.optimal and certify(problem, solution).valid, where, "is not certified to be optimal")


# Certificates: none proves more than the truth, and each kind of proof has a prover -------------------------------


@check()
def check_certificates(record: Record, seeds: Sequence[int]) -> None:
    """No changed certificate proves more than the truth. False values, bounds and decisions are rejected."""
    for case in cases(record, seeds):
        if case.best is None:
            continue
        seen = set()
        for route in routes_of(case.problem):
            solution = case.solved(route)
            for given in solution.certificates:
                text = f"gives a proof of kind {given.kind}, for which the record names no prover"
                known = not given.kind.checkable or str(given.kind) in record.provers
                expect(known, f"{case.name}, route {route}", text)
            _false_claims(case, solution, f"{case.name}, route {route}")
            for position, certificate in enumerate(solution.certificates):
                if certificate.kind.checkable and repr(certificate) not in seen:
                    seen.add(repr(certificate))
                    _no_more(case, solution, position, certificate)
    _proofs_are_given(record, seeds)
    kinds = [kind for kind in Proof if kind.checkable and str(kind) not in record.provers]
    problem = cases(record, seeds)[0].problem
    for kind in kinds:
        try:
            value = proved_bound(problem, Certificate(problem.components[0].name, kind, 0, {}))
        except CertificateInvalid:
            continue
        raise ContractBroken(f"a proof of kind {kind}, which has no prover, proves {value}")


def _proofs_are_given(record: Record, seeds: Sequence[int]) -> None:
    """Somewhere the usual route proves each component by the problem's kind, and each prover has something to do."""
    if record.routes is None:  # only enumeration, which is no checkable proof
        return
    kind = record.problem_class.proof
    held = cases(record, with_usual(seeds))
    usual = [(entry.component, entry.kind) for case in held for entry in case.solved().certificates]
    for component in record.problem_class.components:
        message = f"the usual route gives no certificate of {component.name} of kind {kind} anywhere"
        expect((component.name, kind) in usual, record.problem, message)
    seen = {str(proof) for _, proof in usual}
    for key in set(record.provers) - seen:
        solutions = (case.solved(route) for case in held for route in routes_of(case.problem))
        given = any(str(entry.kind) == key for solution in solutions for entry in solution.certificates)
        expect(given, record.problem, f"no route gives a certificate for the prover of kind {key}")


def _no_more(case: Case, solution: Solution, position: int, certificate: Certificate) -> None:
    """Changed data is refused, or proves no more than the truth."""
    rng = np.random.default_rng(position)
    beyond = certificate.claim + case.problem.components[position].sign
    for data in tampered(certificate.data, rng, 40):
        try:
            proved = proved_bound(case.problem, replace(certificate, data=data, claim=beyond), solution.objective)
        except CertificateInvalid:
            continue
        message = f"of {certificate.component} {data} proves {proved}, the optimum is {listed(case.best)}"
        expect(not is_beyond(case, position, proved), case.name, message)


def _false_claims(case: Case, solution: Solution, where: str) -> None:
    """A better value, a better bound and a worse decision are each contradicted."""
    problem = case.problem
    assert solution.objective is not None
    for position, component in enumerate(problem.components):
        better = -component.sign
        lies = {"objective": {"objective": better}, "bound": {"bound": -better}}
        for entry, steps in {**lies, "both": {"objective": better, "bound": better}}.items():
            lied: dict[str, Any] = {}
            for name, step in steps.items():
                values = list(getattr(solution, name))
                values[position] += step
                lied[name] = tuple(values)
            false = claiming(problem, replace(solution, **lied))
            verdict = certify(problem, false, enumerated=Enumerated(case.best))
            expect(not verdict.valid, where, f"accepts a false {entry} of {component.name}")
    for minimised, decision in list(case.decisions.items())[1:2]:
        value = problem.minimised(minimised)
        verdict = certify(problem, replace(solution, decision=decision))
        expect(not verdict.valid, where, "accepts a decision of another value")
        false = claiming(problem, replace(solution, decision=decision, objective=value, bound=value))
        expect(not certify(problem, false).proved, where, f"{listed(value)} is proved to be the optimum")


def claiming(problem: AnyProblem, solution: Solution) -> Solution:
    """The solution with certificates that claim its bounds."""
    claims: dict[str, Any] = dict(zip((part.name for part in problem.components), solution.bound, strict=True))
    claimed = tuple(replace(entry, claim=claims[entry.component]) for entry in solution.certificates)
    return replace(solution, certificates=claimed)


# Changed data of a certificate: numbers, names, entries, types ------------------------------------------------------

_STRANGE: tuple[Any, ...] = (None, True, "1", [], {}, 2**53, -(2**53), 2**60)


def tampered(data: Mapping[str, Any], rng: np.random.Generator, count: int) -> Iterator[dict[str, Any]]:
    """`count` copies of a certificate's data, each changed in one to three places."""
    if not data:
        return
    for _ in range(count):
        changed = copy.deepcopy(plain(data))
        for _ in range(int(rng.integers(1, 4))):
            _change(changed, rng)
        yield changed


def _change(data: Any, rng: np.random.Generator) -> None:
    """Change something somewhere in a container."""
    held = data
    while True:
        keys = list(held) if isinstance(held, dict) else list(range(len(held)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        inner = held[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.3:
            break
        held = inner
    inner, other = held[key], keys[int(rng.integers(len(keys)))]
    if isinstance(inner, int | float) and not isinstance(inner, bool) and rng.random() < 0.7:
        step = int(rng.choice([1, -1, 7, -7, 1000, -1000]))
        held[key] = [inner + step, inner * 2, -inner, 0][int(rng.choice([0, 0, 0, 1, 2, 3]))]
    elif isinstance(inner, dict | list) and rng.random() < 0.5:
        held[key] = _all_numbers(inner, int(rng.choice([1, -1, 1000])))
    else:
        match int(rng.integers(4)):
            case 0:
                held.pop(key)
            case 1:
                held[key], held[other] = held[other], held[key]
            case 2:
                held[key] = copy.deepcopy(held[other])
            case _:
                held[key] = copy.deepcopy(_STRANGE[int(rng.integers(len(_STRANGE)))])


def _all_numbers(value: Any, step: int) -> Any:
    """All whole numbers in a value, each raised by `step`."""
    if isinstance(value, dict):
        return {key: _all_numbers(entry, step) for key, entry in value.items()}
    if isinstance(value, list):
        return [_all_numbers(entry, step) for entry in value]
    return value + step if isinstance(value, int) and not isinstance(value, bool) else value
