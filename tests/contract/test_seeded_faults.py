"""Seeded faults: each is put into every problem that it can be put into, and the named check must tell it."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo
import pytest

from optsched import registry
from optsched.instances import solution_files
from optsched.instances.files import to_document
from optsched.models.export import about
from optsched.placement import NetworkFlow, Placement
from optsched.problems import Problem
from optsched.registry import Record, Scaling, imported, records
from optsched.results import Certificate, Decision, Proof, Sense, Termination
from optsched.routes import routes_of, solve
from optsched.searches import enumeration
from optsched.testing import CHECKS, SEEDS, ContractBroken, forget
from optsched.testing.cases import cases, every_decision

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Nothing that was found under a fault is held for another test, and nothing from before."""
    forget()
    yield
    forget()


def wrap(patch: Patch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Replace a function by one that returns `change(answer, *given)`."""
    honest = getattr(owner, name)

    @functools.wraps(honest)
    def faulty(*given: Any, **named: Any) -> Any:
        return change(honest(*given, **named), *given)

    patch.setattr(owner, name, faulty)


def models(record: Record) -> Any:
    """The module of models."""
    return imported(str(record.models))


def better(problem: Any, value: tuple[Any, ...]) -> tuple[Any, ...]:
    """A value that is one better in the first component."""
    return (value[0] + (-1 if problem.components[0].sense is Sense.MIN else 1), *value[1:])


# The faults --------------------------------------------------------------------------------------------------------


def wrong_objective(kind: str) -> Callable[[Record, Patch], None]:
    """The objective of a model is one more than it should be."""

    def inject(record: Record, patch: Patch) -> None:
        def change(model: Any, problem: Any, *given: Any) -> Any:
            if isinstance(model, pulp.LpProblem):
                model.setObjective(model.objective + about(problem).units)
            else:
                model.objective.expr = model.objective.expr + about(problem).units
            return model

        wrap(patch, models(record), kind, change)

    return inject


def route_too_good(record: Record, patch: Patch) -> None:
    """Every route says that its objective and its bound are one better."""

    def change(solution: Any, call: Any, *_: Any) -> Any:
        if solution.objective is None:
            return solution
        value = better(call.problem, solution.objective)
        claims = dict(zip((part.name for part in call.problem.components), value, strict=True))
        certificates = tuple(replace(entry, claim=claims[entry.component]) for entry in solution.certificates)
        return replace(solution, objective=value, bound=value, certificates=certificates)

    wrap(patch, imported(str(record.routes)), "by_route", change)


def prover_accepts(record: Record, patch: Patch) -> None:
    """Each prover says what the certificate claims."""
    for path in record.provers.values():
        module, _, name = path.partition(":")
        wrap(patch, imported(module), name, lambda value, problem, certificate, *_: certificate.claim)


def decode_swaps(record: Record, patch: Patch) -> None:
    """Decoding exchanges the first two nodes, or arcs."""

    def change(decision: Decision, *_: Any) -> Decision:
        if isinstance(decision, NetworkFlow):
            return NetworkFlow(decision.units[[1, 0, *range(2, len(decision))]])
        swapped = np.array([1, 0, *range(2, max(2, decision.nodes.max(initial=0) + 1)), -1])
        return Placement(swapped[decision.nodes])

    wrap(patch, models(record), "decode", change)


def enumeration_skips(number: int | None) -> Callable[[Record, Patch], None]:
    """The enumeration leaves out the first so many of the best placements; None: all of them."""

    def inject(record: Record, patch: Patch) -> None:
        path = record.enumeration or f"{enumeration.__name__}:judged"
        module, _, name = path.partition(":")

        def change(found: Iterator[Any], problem: Any) -> Iterator[Any]:
            listed = [(key, list(nodes)) for key, nodes in found]
            best = min((key for key, _ in listed), default=None)
            skipped = 0
            for key, nodes in listed:
                if key == best and (number is None or skipped < number):
                    skipped += 1
                else:
                    yield key, nodes

        wrap(patch, imported(module), name, change)

    return inject


def bound_too_high(record: Record, patch: Patch) -> None:
    """Each cheap bound of the first component is one beyond the optimum."""

    def change(found: tuple[Any, ...], problem: Any) -> tuple[Any, ...]:
        best = honest_optimum(problem)
        if best is None:
            return found
        first, step = problem.components[0], 1 if problem.components[0].sense is Sense.MIN else -1
        return tuple(
            replace(bound, value=best[0] + step) if bound.component == first.name else bound for bound in found
        )

    def honest_optimum(problem: Any) -> Any:
        with pytest.MonkeyPatch.context() as undone:
            undone.setattr(record.problem_class, "cheap_bounds", lambda self: ())
            return solve(problem).objective

    wrap(patch, record.problem_class, "cheap_bounds", change)


def component_ignored(record: Record, patch: Patch) -> None:
    """Evaluation says 0 for the last component."""
    wrap(patch, record.problem_class, "objective", lambda value, *_: (*value[:-1], 0))


def constraint_forgotten(record: Record, patch: Patch) -> None:
    """Judging forgets the constraint without which the most decisions would be better than the optimum."""
    seen: Counter[str] = Counter()
    for case in cases(record):
        problem = case.problem
        for decision in every_decision(problem):
            names = {entry.constraint for entry in problem.violations(decision)}
            if len(names) == 1 and problem.minimised(problem.objective(decision)) < next(iter(case.decisions)):
                seen.update(names)
    forget()
    ((forgotten, _),) = seen.most_common(1)
    wrap(
        patch,
        record.problem_class,
        "violations",
        lambda found, *_: [entry for entry in found if entry.constraint != forgotten],
    )


def frontier_loses(record: Record, patch: Patch) -> None:
    """A frontier of several points has its last one no more."""

    def change(found: Any, *_: Any) -> Any:
        return replace(found, points=found.points[: max(1, len(found.points) - 1)])

    wrap(patch, imported(str(record.routes)), "frontier", change)


def proofs_vanish(record: Record, patch: Patch) -> None:
    """Every route gives a solver's word where it has a certificate that can be checked."""

    def change(solution: Any, *_: Any) -> Any:
        return replace(solution, certificates=tuple(word(entry) for entry in solution.certificates))

    wrap(patch, imported(str(record.routes)), "by_route", change)


def word(entry: Certificate, more: int = 0) -> Certificate:
    """A solver's word for a claim, or for one that is higher."""
    return Certificate(entry.component, Proof.SOLVER, entry.claim + more)


def frontier_claims(certificate: Callable[[Certificate], Certificate]) -> Callable[[Record, Patch], None]:
    """Certificates of the points of a frontier are others."""

    def inject(record: Record, patch: Patch) -> None:
        def change(found: Any, *_: Any) -> Any:
            points = [replace(point, certificates=tuple(map(certificate, point.certificates))) for point in found]
            return replace(found, points=tuple(points))

        wrap(patch, imported(str(record.routes)), "frontier", change)

    return inject


def parameters_ignored(record: Record, patch: Patch) -> None:
    """Every route but the enumeration solves the problem with its defaults."""
    routes = imported(str(record.routes))
    honest = routes.by_route

    def faulty(call: Any, *given: Any) -> Any:
        problem = call.problem
        call.problem = type(problem)(problem.instance)
        return replace(honest(call, *given), parameters=dict(problem.parameters))

    patch.setattr(routes, "by_route", faulty)


def other_routes_need_order(record: Record, patch: Patch) -> None:
    """Every route but the usual one finds nothing where the nodes and tasks are not as they were drawn."""
    drawn = {order(case.problem) for case in cases(record)}

    def change(solution: Any, call: Any, *_: Any) -> Any:
        if call.route == routes_of(call.problem)[0] or order(call.problem) in drawn:
            return solution
        nothing = {"decision": None, "objective": None, "certificates": (), "bound": (None,) * len(solution.bound)}
        return replace(solution, termination=Termination.NO_SOLUTION, **nothing)

    wrap(patch, imported(str(record.routes)), "by_route", change)


def order(problem: Any) -> str:
    """The names of an instance's records, in their order."""
    document = to_document(problem.instance)
    return repr([[entry.get("id") for entry in document.get(part, ())] for part in ("nodes", "tasks", "arcs")])


def file_loses_fractions(record: Record, patch: Patch) -> None:
    """Solution files write numbers as decimals of six places."""
    wrap(patch, solution_files, "spelled", lambda text, value: value if value is None else round(float(value), 6))


def file_loses_parameters(record: Record, patch: Patch) -> None:
    """Solution files forget the parameters."""
    wrap(patch, solution_files, "solution_document", lambda document, *_: {**document, "parameters": {}})


def order_matters(record: Record, patch: Patch) -> None:
    """A decision costs what the positions of tasks and nodes, or of arcs, in the file make of it."""

    def change(value: tuple[Any, ...], problem: Any, decision: Any) -> tuple[Any, ...]:
        units = problem.nodes_of(decision) + 1 if isinstance(problem, Problem) else decision.units
        return (value[0] + int(units @ np.arange(1, len(units) + 1)), *value[1:])

    wrap(patch, record.problem_class, "objective", change)


# The tests ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """A fault, the check that must tell it, and which problems it can be put into."""

    inject: Callable[[Record, Patch], None]
    check: str
    applies: Callable[[Record], bool] = lambda record: True
    seeds: tuple[int, ...] = SEEDS


def has_several(record: Record) -> bool:
    """Whether the problem has more than one component."""
    return len(record.problem_class.components) > 1


def exact_values(record: Record) -> bool:
    """Whether values may be fractions that six decimal places do not hold."""
    return record.name in {"lsap-fairness", "flow", "flow-congestion", "utility"}


FAULTS: dict[str, Fault] = {
    "wrong objective of the compact model": Fault(wrong_objective("build_pyomo"), "models"),
    "wrong objective of the literal model": Fault(wrong_objective("build_pulp"), "models"),
    "wrong objective in files": Fault(wrong_objective("build_pulp"), "export"),
    "route too good": Fault(route_too_good, "routes"),
    "prover accepts": Fault(prover_accepts, "certificates"),
    "decode swaps": Fault(decode_swaps, "models"),
    "enumeration skips": Fault(enumeration_skips(1), "each-placement", CHECKS["each-placement"].applies),
    "enumeration skips a value": Fault(enumeration_skips(None), "enumeration", CHECKS["enumeration"].applies),
    "bound too high": Fault(bound_too_high, "bounds"),
    "component ignored": Fault(component_ignored, "routes", has_several),
    "constraint forgotten": Fault(constraint_forgotten, "routes"),
    "frontier loses": Fault(frontier_loses, "frontier", CHECKS["frontier"].applies),
    "proofs vanish": Fault(proofs_vanish, "certificates"),
    "frontier claims less": Fault(
        frontier_claims(lambda entry: replace(entry, claim=entry.claim - 1)),
        "frontier",
        CHECKS["frontier"].applies,
    ),
    "frontier gives false words": Fault(
        frontier_claims(lambda entry: word(entry, 99)), "frontier", CHECKS["frontier"].applies
    ),
    "parameters ignored": Fault(parameters_ignored, "routes", lambda record: bool(record.variants)),
    "other routes need order": Fault(other_routes_need_order, "permutation"),
    "file loses fractions": Fault(file_loses_fractions, "solution-file", exact_values),
    "file loses parameters": Fault(
        file_loses_parameters, "solution-file", lambda record: bool(record.problem_class.parameter_table)
    ),
    "order matters": Fault(order_matters, "permutation"),
}

#: Faults that are told quickly, and in which problem.
QUICK = {
    ("lsap", "proofs vanish"),
    ("worst-group", "parameters ignored"),
    ("latency", "frontier claims less"),
    ("traffic", "frontier gives false words"),
    ("generalized-assignment", "other routes need order"),
}

PAIRS = [
    pytest.param(
        entry,
        fault,
        id=f"{entry.name}-{fault.replace(' ', '-')}",
        marks=() if (entry.name, fault) in QUICK else pytest.mark.thorough,
    )
    for entry in records().values()
    for fault in FAULTS
    if FAULTS[fault].applies(entry)
]


@pytest.mark.parametrize(("record", "fault"), PAIRS)
def test_fault_is_told(record: Record, fault: str, monkeypatch: Patch) -> None:
    """Tests that a seeded fault breaks the contract of the problem that it is in, by the check that it is for."""
    seeded = FAULTS[fault]
    seeded.inject(record, monkeypatch)
    with pytest.raises(ContractBroken, match=rf"^{record.name}, {seeded.check}: "):
        CHECKS[seeded.check].function(record, seeded.seeds)


def put(record: Record, patch: Patch) -> Record:
    """Another record in the place of the problem's own."""
    patch.setitem(registry._BY_NAME, record.name, record)
    patch.setitem(registry._BY_CLASS, record.problem, record)
    return record


@pytest.mark.parametrize("name", records())
def test_scaling_of_nothing_is_told(name: str) -> None:
    """Tests that a scaling that leaves the instance as it is, or names what there is not, breaks the contract."""
    record = records()[name]
    powers = tuple([0] * len(record.problem_class.components))
    for law, told in (
        (Scaling(powers), "the scaling changes nothing"),
        (Scaling(powers, {"grops": ("weigth",)}), "there is not: grops.weigth"),
        (Scaling(powers, {"nodes": ("lod",)}), "there is not: nodes.lod"),
        (Scaling(powers, parameters=("levles",)), "there is not: levles"),
    ):
        with pytest.raises(ContractBroken, match=rf"^{name}, scaling: .*{told}"):
            CHECKS["scaling"].function(replace(record, scaling=law))


@pytest.mark.parametrize("name", records())
def test_variant_that_changes_nothing_is_told(name: str, monkeypatch: Patch) -> None:
    """Tests that a variant which is the problem with its defaults breaks the contract."""
    record = put(replace(records()[name], variants=(*records()[name].variants, {})), monkeypatch)
    with pytest.raises(ContractBroken, match=rf"^{name}, record: .*changes no decision's value"):
        CHECKS["record"].function(record)


def test_prover_without_certificates_is_told(monkeypatch: Patch) -> None:
    """Tests that a prover of a kind that no route gives breaks the contract."""
    provers = {**records()["lsap"].provers, "combinatorial": "builtins:print"}
    record = put(replace(records()["lsap"], provers=provers), monkeypatch)
    with pytest.raises(ContractBroken, match=r"^lsap, certificates: .*no route gives a certificate .* combinatorial"):
        CHECKS["certificates"].function(record)


#: Rows of compact models that no optimum of such small instances needs: they tighten the program, or the objective
#: keeps them by itself there.
TIGHTENING: dict[str, set[str]] = {
    "worst-group": {"group_limit"},
    "latency": {"used_remote"},
    "transmission": {"class_supply", "reduce_slots"},
    "utility": {"ordered"},
}


def families_of_rows(record: Record) -> set[str]:
    """Names of the constraints of a problem's compact models, with and without a limit."""
    found: set[str] = set()
    for case in cases(record):
        limits = [None] if record.limit is None or case.best is None else [None, case.best[0]]
        for limit in limits:
            build = models(record).build_pyomo
            model = build(case.problem) if limit is None else build(case.problem, limit=limit)
            found |= {rows.local_name for rows in model.component_objects(pyo.Constraint) if len(rows)}
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("name", records())
def test_dropped_constraint_is_told(name: str) -> None:
    """Tests that a compact model without the rows of one constraint is told, whichever it is, but for those named."""
    record = records()[name]
    untold = set()
    for rows in sorted(families_of_rows(record)):

        def drop(model: Any, *_: Any, rows: str = rows) -> Any:
            if hasattr(model, rows):
                getattr(model, rows).deactivate()
            return model

        with pytest.MonkeyPatch.context() as patch:
            wrap(patch, models(record), "build_pyomo", drop)
            try:
                CHECKS["models"].function(record, range(2, 12))
                untold.add(rows)
            except ContractBroken as error:
                assert str(error).startswith(f"{name}, models: ")  # noqa: PT017
    assert untold == TIGHTENING.get(name, set())
