"""Seeded faults: each is put into every problem that it can be put into, and the named check must tell it."""

from __future__ import annotations

import functools
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo
import pytest
from pages import shows

from optsched.certificates import fronts
from optsched.core import registry
from optsched.core.placement import MICRO, NetworkFlow, Placement, Schedule
from optsched.core.registry import KnownOptimum, ProgramLimit, Record, Scaling, imported, records
from optsched.core.results import Certificate, Decision, Proof, Sense, Termination
from optsched.heuristics import HEURISTICS
from optsched.instances import claim_files
from optsched.instances.files import from_document, to_document
from optsched.measuring import gaps
from optsched.models.export import about
from optsched.problems import Problem
from optsched.routes import routes_of, solve
from optsched.searches import enumeration
from optsched.testing import CHECKS, SEEDS, ContractBroken, forget, measured
from optsched.testing.contract import cases, every_decision, places
from optsched.testing.programs import KINDS

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
        swapped = np.array([1, 0, *range(2, max(2, decision.nodes.max(initial=0) + 1)), -1])[decision.nodes]
        return Schedule(swapped, decision.starts) if isinstance(decision, Schedule) else Placement(swapped)

    wrap(patch, models(record), "decode", change)


def enumeration_skips(number: int | None) -> Callable[[Record, Patch], None]:
    """The enumeration leaves out the first so many of the best placements; None: all of them."""

    def inject(record: Record, patch: Patch) -> None:
        path = record.enumeration or f"{enumeration.__name__}:judged"
        module, _, name = path.partition(":")

        def change(found: Iterator[Any], problem: Any, *_: Any) -> Iterator[Any]:
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
    wrap(patch, claim_files, "spelled", lambda text, value: value if value is None else round(float(value), 6))


def file_loses_parameters(record: Record, patch: Patch) -> None:
    """Solution files forget the parameters."""
    wrap(patch, claim_files, "_document", lambda document, *_: {**document, "parameters": {}})


def frontier_file_loses(record: Record, patch: Patch) -> None:
    """Frontier files leave the last point out."""

    def change(document: dict[str, Any], *_: Any) -> dict[str, Any]:
        return {**document, "points": document["points"][:-1]}

    wrap(patch, claim_files, "_document", change)


def nothing_is_shown(record: Record, patch: Patch) -> None:
    """A frontier without points has no proof that nothing is feasible."""
    wrap(patch, imported(str(record.routes)), "frontier", lambda found, *_: replace(found, infeasible=None))


def frontier_file_loses_what_is_shown(record: Record, patch: Patch) -> None:
    """Frontier files leave the proof out that nothing is feasible."""

    def change(document: dict[str, Any], *_: Any) -> dict[str, Any]:
        return {key: value for key, value in document.items() if key != "infeasible"}

    wrap(patch, claim_files, "_document", change)


def between_is_taken(record: Record, patch: Patch) -> None:
    """Of frontiers nobody looks at what is between two points, and what is before the first or behind the last."""
    patch.setattr(fronts._FrontierChecks, "between", lambda *_: None)
    patch.setattr(fronts._FrontierChecks, "end", lambda *_: None)


def order_matters(record: Record, patch: Patch) -> None:
    """A decision costs what the positions of tasks and nodes, or of arcs, in the file make of it."""

    def change(value: tuple[Any, ...], problem: Any, decision: Any) -> tuple[Any, ...]:
        units = decision.units if isinstance(decision, NetworkFlow) else decision.nodes[problem.tasks] + 1
        return (value[0] + int(units @ np.arange(1, len(units) + 1)), *value[1:])

    wrap(patch, record.problem_class, "objective", change)


def infeasible_overlooked(record: Record, patch: Patch) -> None:
    """Every route finds nothing, and proves nothing, where nothing is feasible."""

    def change(solution: Any, *_: Any) -> Any:
        if solution.termination is not Termination.INFEASIBLE:
            return solution
        return replace(solution, termination=Termination.NO_SOLUTION)

    wrap(patch, imported(str(record.routes)), "by_route", change)


def lacks_a_prover(record: Record) -> bool:
    """Whether there is a kind of proof that can be checked and that no prover of the problem is for."""
    return any(kind.checkable and str(kind) not in record.provers for kind in Proof)


def proofs_of_another_kind(record: Record, patch: Patch) -> None:
    """Every route says of its proofs that they are of a kind for which there is no prover, or that it is a word."""
    other = next((kind for kind in Proof if kind.checkable and str(kind) not in record.provers), Proof.ENUMERATION)

    def change(solution: Any, *_: Any) -> Any:
        changed = (replace(entry, kind=other) if entry.kind.checkable else entry for entry in solution.certificates)
        return replace(solution, certificates=tuple(changed))

    wrap(patch, imported(str(record.routes)), "by_route", change)


def worth_nothing(record: Record, patch: Patch) -> None:
    """Every decision is worth 0."""
    wrap(patch, record.problem_class, "objective", lambda value, *_: (0,) * len(value))


def start_of_another(record: Record, patch: Patch) -> None:
    """The start of a decision is that of another one: every task a node further; on arcs, a unit more."""
    honest = models(record).start_values

    def faulty(model: Any, problem: Any, decision: Any) -> Any:
        if isinstance(decision, NetworkFlow):
            return honest(model, problem, NetworkFlow(decision.units + 1))
        if isinstance(decision, Schedule):
            return honest(model, problem, Schedule(decision.nodes, decision.starts + MICRO))
        nodes = (problem.nodes_of(decision) + 1) % len(problem.instance.cluster)
        return honest(model, problem, problem.placement(nodes))

    patch.setattr(models(record), "start_values", faulty)


def start_says_nothing(record: Record, patch: Patch) -> None:
    """The start of a decision says nothing of it."""
    patch.setattr(
        models(record), "start_values", lambda model, *_: {} if hasattr(model, "sol_status") else pyo.ComponentMap()
    )


def no_starts(record: Record, patch: Patch) -> None:
    """The models take no start."""
    patch.delattr(models(record), "start_values")


# Parts of an instance that a model overlooks -----------------------------------------------------------------------


def no_ended(document: Any) -> None:
    """What ended maps have made is nothing."""
    ended = {task["id"] for task in document["tasks"] if task.get("state") == "finished"}
    for task in document["tasks"]:
        if task["id"] in ended:
            task["size"] = 0
    for entry in document.get("shuffle", ()):
        if entry["map"] in ended:
            entry["size"] = entry["emitted"] = 0


def no_running(document: Any) -> None:
    """What runs has ended, and groups and nodes have nothing that runs."""
    for task in document.get("tasks", ()):
        if task.get("state") == "running":
            task["state"] = "finished"
    without("nodes", "running_rates")(document)
    without("groups", "running_tasks")(document)


def no_lost(document: Any) -> None:
    """A block that no node holds is on the first node."""
    for task in document["tasks"]:
        if task.get("kind", "map") == "map":
            task["replicas"] = task.get("replicas") or [document["nodes"][0]["id"]]


def no_second_resource(document: Any) -> None:
    """All resources but the first are without a demand."""
    for name, rows in list(document["pairs"]["demand"].items())[1:]:
        document["pairs"]["demand"][name] = [[0] * len(row) for row in rows]


def without(part: str, *fields: str) -> Callable[[Any], None]:
    """The records of a part of the document, or the part that is one record, have these fields no more."""

    def edit(document: Any) -> None:
        held = document.get(part, ())
        for entry in [held] if isinstance(held, dict) else held:
            for field in fields:
                entry.pop(field, None)

    return edit


def overlooks(edit: Callable[[Any], None]) -> Callable[[Record, Patch], None]:
    """The compact model is that of the instance without a part."""

    def inject(record: Record, patch: Patch) -> None:
        honest = models(record).build_pyomo

        @functools.wraps(honest)
        def faulty(problem: Any, *given: Any, **named: Any) -> Any:
            document = to_document(problem.instance)
            edit(document)
            return honest(type(problem)(from_document(document), **problem.parameters), *given, **named)

        patch.setattr(models(record), "build_pyomo", faulty)

    return inject


#: Each part of an instance that some objective or constraint reads, beside what every instance has; and which problems
#: read it. The families of their records have to draw it, so that it matters.
PARTS: dict[str, tuple[Callable[[Any], None], str]] = {
    "what has ended": (no_ended, "flow-congestion transmission-reduces transmission traffic"),
    "what runs": (
        no_running,
        "fair-lsap lsap-fairness flow flow-congestion transmission-reduces transmission utility traffic",
    ),
    "initial loads": (without("nodes", "load", "out_in_use"), "flow flow-congestion latency"),
    "racks": (without("nodes", "rack"), "lsap worst-group flow flow-congestion"),
    "busy slots": (without("nodes", "idle_slots"), "lsap fair-lsap lsap-fairness flow flow-congestion"),
    "lost blocks": (no_lost, "lsap lsap-fairness worst-group flow flow-congestion latency traffic"),
    "weights": (without("groups", "weight"), "fair-lsap lsap-fairness"),
    "goals": (without("jobs", "goal"), "utility"),
    "demand in the shuffle": (without("tasks", "demand_shuffle"), "utility"),
    "pairs that are not allowed": (without("pairs", "allowed"), "generalized-assignment"),
    "the second resource": (no_second_resource, "generalized-assignment"),
    "lower limits": (without("arcs", "lower"), "min-cost-flow"),
}


# Faults of the record ----------------------------------------------------------------------------------------------


def put(record: Record, patch: Patch) -> Record:
    """Another record in the place of the problem's own."""
    patch.setitem(registry._BY_NAME, record.name, record)
    patch.setitem(registry._BY_CLASS, record.problem, record)
    return record


def said(**fields: Any) -> Callable[[Record, Patch], Record]:
    """The record says something else: values, or functions of the record."""

    def inject(record: Record, patch: Patch) -> Record:
        changed = {name: value(record) if callable(value) else value for name, value in fields.items()}
        return put(replace(record, **changed), patch)

    return inject


def part(name: str, **changes: Any) -> Callable[[Record, Patch], Record]:
    """A part of the record says something else."""

    def changed(record: Record) -> Any:
        held = getattr(record, name)
        return replace(held, **{key: value(held) if callable(value) else value for key, value in changes.items()})

    return said(**{name: changed})


def function(field: str, change: Callable[..., Any]) -> Callable[[Record, Patch], None]:
    """A function that the record names answers something else."""

    def inject(record: Record, patch: Patch) -> None:
        module, _, name = str(getattr(record, field)).partition(":")
        wrap(patch, imported(module), name, change)

    return inject


def shows_that_nothing_is(record: Record, patch: Patch) -> None:
    """Whatever certificate there is, it shows that nothing is feasible."""
    module, _, name = str(record.infeasible).partition(":")
    patch.setattr(imported(module), name, lambda *_: "there is no room")


def another(field: str) -> Callable[[Record], Any]:
    """What the record of another problem says, which differs."""

    def of(record: Record) -> Any:
        return next(value for entry in records().values() if (value := getattr(entry, field)) != getattr(record, field))

    return of


def has(field: str) -> Callable[[Record], bool]:
    """Whether a record says something in a field."""
    return lambda record: bool(getattr(record, field))


def starts_of_placements(record: Record) -> bool:
    """Whether a start is worth what its decision is: a schedule may start earlier than it says, and be worth more."""
    return CHECKS["starts"].applies(record) and record.runner is None


def has_rivals_of_its_own(record: Record) -> bool:
    """Whether rivals place or send something: those of schedules are policies, of which every one serves."""
    return bool(record.rivals) and record.runner is None


def has_data(record: Record) -> bool:
    """Whether tasks of its generated instances have data somewhere."""
    posed = (case.problem for case in cases(record, range(1)))
    return any(isinstance(found, Problem) and len(found.instance.replicas.values) > 0 for found in posed)


def large(record: Record) -> dict[str, Any]:
    """Sizes of instances that are too large to try everything."""
    return {**record.sizes, **({"arcs": 40} if "arcs" in record.sizes else {"nodes": 60})}


def other_limit(record: Record) -> Any:
    """The limit as if it were one on the other component."""
    assert record.limit is not None
    component = 1 - record.limit.component
    named = record.problem_class.components[component].name.replace("-", " ")
    return replace(record.limit, component=component, meaning=f"the {named}")


def dearer(network: Any, *_: Any) -> Any:
    """A network each arc of which costs one more."""
    return replace(network, cost=network.cost + 1)


def rivals_that_do_not_serve(record: Record, patch: Patch) -> Record:
    """A rival is a heuristic of other problems, or a function whose decisions are not feasible."""
    (case, *_) = cases(record)
    if isinstance(case.problem, Problem):
        strange = next(name for name, entry in HEURISTICS.items() if not entry.serves(case.problem))
        return put(replace(record, rivals=(*record.rivals, strange)), patch)
    module, _, name = record.rivals[0].partition(":")
    wrap(patch, imported(module), name, lambda flow, *_: NetworkFlow(flow.units + 1))
    return record


def frontier_gaps_swapped(record: Record, patch: Patch) -> None:
    """The figures that a gap has from the frontier are swapped."""

    def change(found: Any, *_: Any) -> Any:
        return dict(zip(found, reversed(found.values()), strict=True))

    wrap(patch, gaps.Reference, "frontier_gaps", change)


def counts_swapped(record: Record, patch: Patch) -> None:
    """Local tasks are counted as off-rack ones."""

    def change(found: Any, *_: Any) -> Any:
        return {kind: {**held, "node": held["off_rack"] + 1, "off_rack": held["node"]} for kind, held in found.items()}

    wrap(patch, gaps, "locality_counts", change)


# The tests ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """A fault, the check that must tell it, and which problems it can be put into."""

    inject: Callable[[Record, Patch], Record | None]
    check: str
    applies: Callable[[Record], bool] = lambda record: True
    seeds: tuple[int, ...] = SEEDS
    field: str = ""
    """The field of the record that is wrong, or what it names."""


def has_several(record: Record) -> bool:
    """Whether the problem has more than one component."""
    return len(record.problem_class.components) > 1


def own_costs_grow(record: Record, patch: Patch) -> None:
    """Tasks are said to pay more by themselves, which depends on task and node."""
    honest = record.problem_class.own_costs

    def faulty(problem: Any) -> Any:
        own = honest.fget(problem)
        return replace(own, units=lambda positions, nodes: own.units(positions, nodes) + positions * nodes)

    patch.setattr(record.problem_class, "own_costs", property(faulty))


def chain_is_lost(record: Record, patch: Patch) -> None:
    """The first chain of moves is left out."""
    wrap(patch, measured, "difference", lambda found, *_: replace(found, chains=found.chains[1:]))


def chain_gains_more(record: Record, patch: Patch) -> None:
    """Each chain is said to gain one more."""

    def change(found: Any, *_: Any) -> Any:
        more = (replace(chain, gain=(chain.gain[0] + 1, *chain.gain[1:])) for chain in found.chains)
        return replace(found, chains=tuple(more))

    wrap(patch, measured, "difference", change)


def conflict_grows(change: Callable[[tuple[str, ...], Any], tuple[str, ...]]) -> Callable[[Record, Patch], None]:
    """Other tasks are named as a conflict."""

    def inject(record: Record, patch: Patch) -> None:
        def changed(found: Any, problem: Any, *_: Any) -> Any:
            tasks = change(found.conflict.tasks, problem)
            return replace(found, conflict=replace(found.conflict, tasks=tasks))

        wrap(patch, measured, "explain", changed)

    return inject


def pays_by_itself(record: Record) -> bool:
    """Whether tasks of a problem pay something by themselves."""
    return places(record) and record.problem_class.own_costs is not Problem.own_costs


def one_of(*names: str) -> Callable[[Record], bool]:
    """Whether a problem is one of these."""
    return lambda record: record.name in names


FAULTS: dict[str, Fault] = {
    "wrong objective of the compact model": Fault(wrong_objective("build_pyomo"), "models"),
    "wrong objective of the literal model": Fault(wrong_objective("build_pulp"), "models"),
    "wrong objective in files": Fault(wrong_objective("build_pulp"), "export"),
    "route too good": Fault(route_too_good, "routes"),
    "prover accepts": Fault(prover_accepts, "certificates"),
    "decode swaps": Fault(decode_swaps, "models"),
    "enumeration skips": Fault(
        enumeration_skips(1), "each-placement", CHECKS["each-placement"].applies, field="enumeration"
    ),
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
    "file loses fractions": Fault(file_loses_fractions, "solution-file"),
    "file loses parameters": Fault(
        file_loses_parameters, "solution-file", lambda record: bool(record.problem_class.parameter_table)
    ),
    "frontier file loses": Fault(frontier_file_loses, "frontier-file", CHECKS["frontier-file"].applies),
    "no point, and no proof": Fault(nothing_is_shown, "no-point", CHECKS["no-point"].applies),
    "frontier file loses the proof": Fault(frontier_file_loses_what_is_shown, "no-point", CHECKS["no-point"].applies),
    "between points is taken": Fault(between_is_taken, "frontier-file", CHECKS["frontier-file"].applies),
    "order matters": Fault(order_matters, "permutation"),
    "infeasible overlooked": Fault(infeasible_overlooked, "scarce", CHECKS["scarce"].applies),
    "proofs of another kind": Fault(proofs_of_another_kind, "certificates", lacks_a_prover),
    "worth nothing": Fault(worth_nothing, "record"),
    "start of another decision": Fault(start_of_another, "starts", starts_of_placements),
    "start says nothing": Fault(start_says_nothing, "starts", starts_of_placements),
    "no starts": Fault(no_starts, "starts", CHECKS["starts"].applies),
    # Faults of each field of the record.
    "another name": Fault(said(name=lambda record: f"not-{record.name}"), "record", field="name"),
    "another class": Fault(said(problem=another("problem")), "record", field="problem"),
    "another problem's models": Fault(said(models=another("models")), "models", field="models"),
    "another problem's routes": Fault(said(routes=another("routes")), "routes", field="routes"),
    "no routes": Fault(said(routes=None), "known", has("known"), field="routes"),
    "no provers": Fault(said(provers={}), "certificates", field="provers"),
    "no network": Fault(said(network=None), "network", has("network"), field="network"),
    "dearer network": Fault(function("network", dearer), "network", has("network"), field="network"),
    "infeasible is not shown": Fault(said(infeasible=None), "scarce", has("infeasible"), field="infeasible"),
    "all is infeasible": Fault(shows_that_nothing_is, "scarce", has("infeasible"), field="infeasible"),
    "unlimited is not shown": Fault(said(unlimited=None), "unlimited", has("unlimited"), field="unlimited"),
    "all is unlimited": Fault(
        function("unlimited", lambda *_: "a cycle"), "unlimited", has("unlimited"), field="unlimited"
    ),
    "limit is not said": Fault(said(limit=None), "limits", has("limit"), field="limit"),
    "limit means another thing": Fault(
        part("limit", meaning="the number of nodes"), "limits", has("limit"), field="limit.meaning"
    ),
    "limits of another kind": Fault(
        part("limit", denominator=lambda limit: None if limit.denominator == 1 else 1),
        "limits",
        has("limit"),
        field="limit.denominator",
    ),
    "limit on the other component": Fault(said(limit=other_limit), "models", has("limit"), field="limit.component"),
    "frontier is not said": Fault(said(frontier=False, frontier_gaps=()), "record", has("frontier"), field="frontier"),
    "swapped figures of the frontier": Fault(
        frontier_gaps_swapped, "frontier-gaps", has("frontier_gaps"), field="frontier_gaps"
    ),
    "local tasks counted as off-rack": Fault(counts_swapped, "locality", has_data),
    "rivals that do not serve": Fault(rivals_that_do_not_serve, "rivals", has_rivals_of_its_own, field="rivals"),
    "no runner": Fault(said(runner=None), "heuristics", has("runner"), field="runner"),
    "known of another problem": Fault(
        part("known", instance="examples/negative-cycle"),
        "known",
        lambda record: record.known is not None and CHECKS["heuristics"].applies(record),
        field="known",
    ),
    "known of no instance": Fault(
        part("known", instance="papers/guo-fig1"), "known", has("known"), field="known.instance"
    ),
    "known by one route": Fault(
        part("known", routes=lambda known: (known.routes[0],) * 2), "known", has("known"), field="known.routes"
    ),
    "no generator": Fault(said(family=None), "record", field="family"),
    "instances too large": Fault(said(sizes=large), "routes", field="sizes"),
    "idle variant": Fault(said(variants=lambda record: (*record.variants, {})), "record", field="variants"),
    "no law of units": Fault(said(scaling=None), "record", field="scaling"),
    "another power": Fault(
        part("scaling", powers=lambda law: tuple(power + 1 for power in law.powers)), "scaling", field="scaling.powers"
    ),
    "fields that are not there": Fault(part("scaling", fields={"nodes": ("lod",)}), "scaling", field="scaling.fields"),
    "parameters that are not there": Fault(
        part("scaling", parameters=("levles",)), "scaling", field="scaling.parameters"
    ),
    "whole numbers in tenths": Fault(
        part("scaling", whole=False), "scaling", lambda record: record.scaling.whole, field="scaling.whole"
    ),
    "rounding is not said": Fault(
        part("scaling", rounded=False),
        "scaling",
        lambda record: record.scaling.rounded,
        tuple(range(6)),
        field="scaling.rounded",
    ),
    "order is not said": Fault(said(ordered={}), "permutation", has("ordered"), tuple(range(6)), field="ordered"),
    "own costs grow": Fault(own_costs_grow, "own-costs", pays_by_itself),
    "chain is lost": Fault(chain_is_lost, "explanation", places),
    "chain gains more": Fault(chain_gains_more, "explanation", places),
    "conflict is too small": Fault(
        conflict_grows(lambda tasks, problem: tasks[1:]), "conflict", CHECKS["conflict"].applies
    ),
    "more slots than there are": Fault(
        function("slots", lambda slots, *_: None if slots is None else slots + 9),
        "conflict",
        has("slots"),
        field="slots",
    ),
    **{
        f"{part} overlooked": Fault(overlooks(edit), "models", one_of(*names.split()))
        for part, (edit, names) in PARTS.items()
    },
}

#: Faults that are told quickly, and in which problem.
QUICK = {
    ("lsap", "proofs vanish"),
    ("worst-group", "parameters ignored"),
    ("latency", "frontier claims less"),
    ("traffic", "frontier gives false words"),
    ("latency", "between points is taken"),
    ("generalized-assignment", "other routes need order"),
    ("flow", "own costs grow"),
    ("latency", "chain is lost"),
    ("generalized-assignment", "conflict is too small"),
    ("traffic", "what has ended overlooked"),
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
    held = seeded.inject(record, monkeypatch) or record
    with pytest.raises(ContractBroken, match=rf"^{held.name}, {seeded.check}: "):
        CHECKS[seeded.check].function(held, seeded.seeds)


def test_every_field_of_the_record_has_a_fault() -> None:
    """Tests that no field of the record, or of a part of it, is without a seeded fault: that some check reads it."""
    parts = {"limit": ProgramLimit, "known": KnownOptimum, "scaling": Scaling}
    names = {entry.name for entry in fields(Record)}
    names |= {f"{name}.{entry.name}" for name, kind in parts.items() for entry in fields(kind)}
    tried = {fault.field for fault in FAULTS.values()} - {""}
    assert (names - tried, tried - names) == (set(), set())


def broken(check: str, record: Record) -> bool:
    """Whether a check tells that something is wrong."""
    try:
        CHECKS[check].function(record)
    except ContractBroken as error:
        return str(error).startswith(f"{record.name}, {check}: ")
    return False


@pytest.mark.parametrize("name", records())
def test_dropped_part_is_told(name: str, monkeypatch: Patch) -> None:
    """Tests that what a record leaves out, and its problem has, is told by a check or changes the page's tables.

    A quicker enumeration is not missed, without which each placement is judged, nor slots, without which a conflict is
    found by taking out tasks.
    """
    record = records()[name]
    empty = {entry.name: entry.default for entry in fields(Record) if entry.default in (None, False, ())}
    for field in sorted(field for field in empty if field not in ("enumeration", "slots", "variants")):
        if getattr(record, field) == empty[field]:
            continue
        with monkeypatch.context() as patch:
            dropped = put(replace(record, **{field: empty[field]}), patch)
            if {check for check in CHECKS if CHECKS[check].applies(record) != CHECKS[check].applies(dropped)}:
                continue
            telling = sorted({fault.check for fault in FAULTS.values() if fault.field == field})
            assert any(broken(check, dropped) for check in telling)


def test_page_shows_the_faults() -> None:
    """Tests that the page counts the faults that each check tells, and the problems that these were put into."""
    counts = []
    for name in CHECKS:
        faults = [fault for fault in FAULTS.values() if fault.check == name]
        places = sum(fault.applies(record) for fault in faults for record in records().values())
        counts += [f"`{name}` {len(faults)} ({places})"] * bool(faults)
    assert shows("faults", textwrap.fill(", ".join(counts), 120) + ".\n")


# Rows of programs --------------------------------------------------------------------------------------------------

#: Rows that tighten a program, that other rows imply there, or that no decision on these instances breaks.
UNNEEDED: dict[str, set[str]] = {
    "transmission, build_pyomo": {"reduce_slots"},
    "transmission, build_pulp": {"reduce_slots"},
    "lsap, build_pyomo": {"rack_slots"},  # `tests/models/test_lsap.py` has a rack that is too small
    "worst-group, build_pyomo": {"rack_slots"},
    "fair-lsap, build_pulp": {"overflow"},
    "utility, build_pyomo": {"ordered"},
    "flow, build_pulp": {"sink", "source", "unscheduled_node"},
    "makespan, build_pyomo": {"area"},
    "makespan, build_pulp": {"ends_after_map"},
    "job-times, build_pulp": {"ends_after_map"},
}

#: Halves of equations that the other rows imply: as many tasks as slots on both sides, supplies that add up to 0, a
#: count that slots or tasks limit from above, flows that costs keep from below.
IMPLIED: dict[str, set[str]] = {
    "transmission, build_pyomo": {"map_cardinality: above", "received: above", "reduce_cardinality: above"},
    "transmission, build_pulp": {"maps: above", "reduces: above"},
    "fair-lsap, build_pyomo": {"pool_tiers: below"},
    "fair-lsap, build_pulp": {"group: below", "slot: above", "slot: below", "task: above", "task: below"},
    "utility, build_pyomo": {"one_need: above"},
    "utility, build_pulp": {"table_reduces: above"},
    "lsap, build_pulp": {"slot: above", "slot: below", "task: above", "task: below"},
    "lsap-fairness, build_pulp": {"slot: above", "slot: below", "task: above", "task: below"},
    "worst-group, build_pulp": {"slot: above", "slot: below", "task: above", "task: below"},
    "flow, build_pyomo": {"cardinality: above"},
    "flow, build_pulp": {
        "node: above",
        "node: below",
        "sink: above",
        "sink: below",
        "source: above",
        "source: below",
        "task: above",
        "task: below",
        "unscheduled_node: above",
        "unscheduled_node: below",
    },
    "flow-congestion, build_pyomo": {"cardinality: above", "filled: below"},
    "flow-congestion, build_pulp": {"cardinality: below", "filled: below", "task: above"},
    "latency, build_pyomo": {"every_task: above", "remote_balance: below"},
    "latency, build_pulp": {"task: above"},
    "transmission-maps, build_pyomo": {"cardinality: above"},
    "transmission-maps, build_pulp": {"cardinality: above"},
    "transmission-reduces, build_pulp": {"cardinality: above"},
    "traffic, build_pulp": {"hosted: above", "placed: above"},
    "min-cost-flow, build_pyomo": {"conservation: above", "conservation: below"},
    "min-cost-flow, build_pulp": {"node: above", "node: below"},
    "makespan, build_pyomo": {"as_many_start: above", "ended_by: above", "ended_by: below", "every_task_runs: above"},
    "makespan, build_pulp": {"ends: below"},
    "job-times, build_pyomo": {"as_many_start: above", "ended_by: above", "ended_by: below", "every_task_runs: above"},
    "job-times, build_pulp": {"ends: below"},
}


def families_of_rows(record: Record, kind: str) -> dict[str, bool]:
    """Names of the rows of a problem's programs, up to their index, and whether some of them are equations."""
    found: dict[str, bool] = {}
    for case in cases(record):
        limits = [None] if record.limit is None or case.best is None else [None, case.best[record.limit.component]]
        for limit in limits:
            build = getattr(models(record), kind)
            for name, row in rows_of(build(case.problem) if limit is None else build(case.problem, limit=limit)):
                found[name] = found.get(name, False) or is_equation(row)
    return found


def rows_of(model: Any) -> Iterator[tuple[str, Any]]:
    """The rows of a program, each with the name of its family."""
    if isinstance(model, pulp.LpProblem):
        yield from ((row.name.partition(".")[0], row) for row in model.constraints())
    else:
        for row in model.component_data_objects(pyo.Constraint, active=True):
            yield row.parent_component().local_name, row


def is_equation(row: Any) -> bool:
    """Whether a row is an equation."""
    return bool(row.equality) if hasattr(row, "equality") else row.sense == pulp.LpConstraintEQ


def relax(row: Any, how: str) -> None:
    """Drop a row, or the half of it that keeps it from below or from above."""
    if hasattr(row, "equality"):
        lower, upper = (
            None if how in ("drop", side) else end for side, end in (("below", row.lower), ("above", row.upper))
        )
        row.set_value((lower, row.body, upper)) if how != "drop" else row.deactivate()
    else:
        # A dropped row stays, so that the program has its size, and says nothing.
        row.sense = pulp.LpConstraintGE if how == "above" else pulp.LpConstraintLE
        if how == "drop":
            row.changeRHS(10**9)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", records())
def test_dropped_and_relaxed_rows_are_told(name: str, kind: str) -> None:
    """Tests that a program without the rows of one name, or with half an equation, is told, but for those named."""
    record, whole, halves = records()[name], set(), set()
    for rows, equation in sorted(families_of_rows(record, kind).items()):
        for how in ("drop", "below", "above") if equation else ("drop",):

            def change(model: Any, *_: Any, rows: str = rows, how: str = how) -> Any:
                for family, row in list(rows_of(model)):
                    if family == rows and (how == "drop" or is_equation(row)):
                        relax(row, how)
                return model

            with pytest.MonkeyPatch.context() as patch:
                wrap(patch, models(record), kind, change)
                if not broken("models", record):
                    whole |= {rows} if how == "drop" else set()
                    halves |= set() if how == "drop" else {f"{rows}: {how}"}
    place = f"{name}, {kind}"
    assert (whole, halves) == (UNNEEDED.get(place, set()), IMPLIED.get(place, set()))
