"""Seeded faults: each is put into every problem that it can be put into, and the named check must tell it."""

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
from optsched.core.problem_record import imported
from optsched.core.registry import KnownOptimum, ProgramLimit, Record, Scaling, records
from optsched.core.results import Certificate, Decision, Proof, Sense, Termination
from optsched.heuristics import HEURISTICS
from optsched.instances import claim_files
from optsched.instances.files import from_document, to_document
from optsched.measuring import gaps
from optsched.models.export import about
from optsched.problems import Problem
from optsched.routes import routes_of, solve
from optsched.solvers.searches import enumeration
from optsched.testing import CHECKS, SEEDS, ContractBroken, forget, measured
from optsched.testing.contract import cases, every_decision, places
from optsched.testing.programs import KINDS

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

Patch = pytest.MonkeyPatch

#: Puts a fault into a problem; gives the record with the fault if it is the record that is wrong.
Injection = Callable[[Record, Patch], Record | None]


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


def routes(record: Record) -> Any:
    """The module of routes."""
    return imported(str(record.routes))


def definition(record: Record) -> Any:
    """The class of the problem."""
    return record.problem_class


def changed(owner: Any, name: str, change: Callable[..., Any]) -> Injection:
    """A function answers `change(answer, *given)`; its owner is a module or class, or one of the three above."""

    def inject(record: Record, patch: Patch) -> None:
        wrap(patch, owner(record) if owner in (models, routes, definition) else owner, name, change)

    return inject


def named(path: str) -> tuple[Any, str]:
    """The module of a function that a record names, and the function's name."""
    module, _, name = path.partition(":")
    return imported(module), name


# What answers are changed to -----------------------------------------------------------------------------------------


def cost_more(model: Any, problem: Any, *_: Any) -> Any:
    """A model whose objective is one more than it should be."""
    if isinstance(model, pulp.LpProblem):
        model.setObjective(model.objective + about(problem).units)
    else:
        model.objective.expr = model.objective.expr + about(problem).units
    return model


def one_better(solution: Any, call: Any, *_: Any) -> Any:
    """A solution whose objective and bound are one better in the first component."""
    if solution.objective is None:
        return solution
    first, *others = solution.objective
    components = call.problem.components
    value = (first + (-1 if components[0].sense is Sense.MIN else 1), *others)
    claims = {part.name: claim for part, claim in zip(components, value, strict=True)}
    certificates = tuple(replace(entry, claim=claims[entry.component]) for entry in solution.certificates)
    return replace(solution, objective=value, bound=value, certificates=certificates)


def nodes_swapped(decision: Decision, *_: Any) -> Decision:
    """A decision with the first two nodes, or arcs, exchanged."""
    if isinstance(decision, NetworkFlow):
        return NetworkFlow(decision.units[[1, 0, *range(2, len(decision))]])
    swapped = np.array([1, 0, *range(2, max(2, decision.nodes.max(initial=0) + 1)), -1])[decision.nodes]
    return Schedule(swapped, decision.starts) if isinstance(decision, Schedule) else Placement(swapped)


def beyond_optimum(found: tuple[Any, ...], problem: Any) -> tuple[Any, ...]:
    """Cheap bounds, each of the first component one beyond the optimum."""
    with pytest.MonkeyPatch.context() as undone:
        undone.setattr(type(problem), "cheap_bounds", lambda self: ())
        best = solve(problem).objective
    if best is None:
        return found
    first = problem.components[0]
    value = best[0] + (1 if first.sense is Sense.MIN else -1)
    return tuple(replace(bound, value=value) if bound.component == first.name else bound for bound in found)


def word(entry: Certificate, more: int = 0) -> Certificate:
    """A solver's word for a claim, or for one that is higher."""
    return Certificate(entry.component, Proof.SOLVER, entry.claim + more)


def all_words(solution: Any, *_: Any) -> Any:
    """A solution with a solver's word in the place of each certificate."""
    return replace(solution, certificates=tuple(map(word, solution.certificates)))


def certified_by(change: Callable[[Certificate], Certificate]) -> Callable[..., Any]:
    """A frontier whose points have other certificates."""

    def other(found: Any, *_: Any) -> Any:
        points = [replace(point, certificates=tuple(map(change, point.certificates))) for point in found]
        return replace(found, points=tuple(points))

    return other


def weighed_by_position(value: tuple[Any, ...], problem: Any, decision: Any) -> tuple[Any, ...]:
    """A value that depends on the positions of tasks and nodes, or of arcs, in the file."""
    units = decision.units if isinstance(decision, NetworkFlow) else decision.nodes[problem.tasks] + 1
    return (value[0] + int(units @ np.arange(1, len(units) + 1)), *value[1:])


def no_word_of_infeasible(solution: Any, *_: Any) -> Any:
    """A solution that finds and proves nothing, if nothing is feasible."""
    infeasible = solution.termination is Termination.INFEASIBLE
    return replace(solution, termination=Termination.NO_SOLUTION) if infeasible else solution


def figures_swapped(found: Any, *_: Any) -> Any:
    """The figures that a gap has from the frontier, swapped."""
    return dict(zip(found, reversed(found.values()), strict=True))


def counts_swapped(found: Any, *_: Any) -> Any:
    """Counts of tasks with local ones counted as off-rack ones."""
    return {kind: {**held, "node": held["off_rack"] + 1, "off_rack": held["node"]} for kind, held in found.items()}


def more_gain(found: Any, *_: Any) -> Any:
    """Chains of moves, each with a gain of one more."""
    more = (replace(chain, gain=(chain.gain[0] + 1, *chain.gain[1:])) for chain in found.chains)
    return replace(found, chains=tuple(more))


def smaller_conflict(found: Any, *_: Any) -> Any:
    """An explanation whose conflict lacks its first task."""
    return replace(found, conflict=replace(found.conflict, tasks=found.conflict.tasks[1:]))


# Faults that are more than a changed answer --------------------------------------------------------------------------


def prover_accepts(record: Record, patch: Patch) -> None:
    """Each prover says what the certificate claims."""
    for path in record.provers.values():
        wrap(patch, *named(path), lambda value, problem, certificate, *_: certificate.claim)


def enumeration_skips(number: int) -> Injection:
    """The enumeration leaves out the first so many of the best placements."""

    def change(found: Iterator[Any], problem: Any, *_: Any) -> Iterator[Any]:
        listed = [(key, list(nodes)) for key, nodes in found]
        best = min((key for key, _ in listed), default=None)
        skipped = 0
        for key, nodes in listed:
            if key == best and skipped < number:
                skipped += 1
            else:
                yield key, nodes

    return lambda record, patch: wrap(patch, *named(record.enumeration or f"{enumeration.__name__}:judged"), change)


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


def parameters_ignored(record: Record, patch: Patch) -> None:
    """Every route but the enumeration solves the problem with its defaults."""
    honest = routes(record).by_route

    def faulty(call: Any, *given: Any) -> Any:
        problem = call.problem
        call.problem = type(problem)(problem.instance)
        return replace(honest(call, *given), parameters=dict(problem.parameters))

    patch.setattr(routes(record), "by_route", faulty)


def other_routes_need_order(record: Record, patch: Patch) -> None:
    """Every route but the usual one finds nothing where the nodes and tasks are not as they were drawn."""

    def order(problem: Any) -> str:
        document = to_document(problem.instance)
        return repr([[entry.get("id") for entry in document.get(part, ())] for part in ("nodes", "tasks", "arcs")])

    drawn = {order(case.problem) for case in cases(record)}

    def change(solution: Any, call: Any, *_: Any) -> Any:
        if call.route == routes_of(call.problem)[0] or order(call.problem) in drawn:
            return solution
        nothing = {"decision": None, "objective": None, "certificates": (), "bound": (None,) * len(solution.bound)}
        return replace(solution, termination=Termination.NO_SOLUTION, **nothing)

    wrap(patch, routes(record), "by_route", change)


def between_is_taken(record: Record, patch: Patch) -> None:
    """Of frontiers nobody looks at what is between two points, and what is before the first or behind the last."""
    patch.setattr(fronts._FrontierChecks, "between", lambda *_: None)
    patch.setattr(fronts._FrontierChecks, "end", lambda *_: None)


def proofs_of_another_kind(record: Record, patch: Patch) -> None:
    """Every route says of its proofs that they are of a kind for which there is no prover."""
    other = next(kind for kind in Proof if kind.checkable and str(kind) not in record.provers)

    def change(solution: Any, *_: Any) -> Any:
        changed = (replace(entry, kind=other) if entry.kind.checkable else entry for entry in solution.certificates)
        return replace(solution, certificates=tuple(changed))

    wrap(patch, routes(record), "by_route", change)


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


def own_costs_grow(record: Record, patch: Patch) -> None:
    """Tasks are said to pay more by themselves, which depends on task and node."""
    honest = record.problem_class.own_costs

    def faulty(problem: Any) -> Any:
        own = honest.fget(problem)
        return replace(own, units=lambda positions, nodes: own.units(positions, nodes) + positions * nodes)

    patch.setattr(record.problem_class, "own_costs", property(faulty))


# Parts of an instance that a model overlooks -------------------------------------------------------------------------


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


def overlooks(edit: Callable[[Any], None]) -> Injection:
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


def with_objective(change: Callable[[Any], Any]) -> Callable[..., Any]:
    """A change of what the variables of a program cost."""

    def changed(program: Any, *_: Any) -> Any:
        return replace(program, numbers=replace(program.numbers, objective=change(program.numbers.objective)))

    return changed


# Faults of the record ------------------------------------------------------------------------------------------------


def put(record: Record, patch: Patch) -> Record:
    """Another record in the place of the problem's own."""
    patch.setitem(registry._BY_NAME, record.name, record)
    patch.setitem(registry._BY_CLASS, record.problem, record)
    return record


def said(**fields: Any) -> Injection:
    """The record says something else: values, or functions of the record."""

    def inject(record: Record, patch: Patch) -> Record:
        changed = {name: value(record) if callable(value) else value for name, value in fields.items()}
        return put(replace(record, **changed), patch)

    return inject


def part(name: str, **changes: Any) -> Injection:
    """A part of the record says something else."""

    def changed(record: Record) -> Any:
        held = getattr(record, name)
        return replace(held, **{key: value(held) if callable(value) else value for key, value in changes.items()})

    return said(**{name: changed})


def function(field: str, change: Callable[..., Any]) -> Injection:
    """A function that the record names answers something else."""
    return lambda record, patch: wrap(patch, *named(str(getattr(record, field))), change)


def another(field: str) -> Callable[[Record], Any]:
    """What the record of another problem says, which differs."""

    def of(record: Record) -> Any:
        return next(value for entry in records().values() if (value := getattr(entry, field)) != getattr(record, field))

    return of


def large(record: Record) -> dict[str, Any]:
    """Sizes of instances that are too large to try everything."""
    return {**record.sizes, **({"arcs": 40} if "arcs" in record.sizes else {"nodes": 60})}


def other_limit(record: Record) -> Any:
    """The limit as if it were one on the other component."""
    component = 1 - record.limit.component
    named = record.problem_class.components[component].name.replace("-", " ")
    return replace(record.limit, component=component, meaning=f"the {named}")


def rivals_that_do_not_serve(record: Record, patch: Patch) -> Record:
    """A rival is a heuristic of other problems, or a function whose decisions are not feasible."""
    (case, *_) = cases(record)
    if isinstance(case.problem, Problem):
        strange = next(name for name, entry in HEURISTICS.items() if not entry.serves(case.problem))
        return put(replace(record, rivals=(*record.rivals, strange)), patch)
    wrap(patch, *named(record.rivals[0]), lambda flow, *_: NetworkFlow(flow.units + 1))
    return record


# Which problems a fault can be put into ------------------------------------------------------------------------------


def anywhere(record: Record) -> bool:
    """Any problem, even if its record does not have the field."""
    return True


def lacks_a_prover(record: Record) -> bool:
    """Whether there is a kind of proof that can be checked and that no prover of the problem is for."""
    return any(kind.checkable and str(kind) not in record.provers for kind in Proof)


def decides_no_times(record: Record) -> bool:
    """Whether no schedule is decided.

    A schedule may start earlier than a start says, and be worth more. Its rivals are policies, of which each serves.
    """
    return record.runner is None


def has_data(record: Record) -> bool:
    """Whether tasks of its generated instances have data somewhere."""
    posed = (case.problem for case in cases(record, range(1)))
    return any(isinstance(found, Problem) and len(found.instance.replicas.values) > 0 for found in posed)


def pays_by_itself(record: Record) -> bool:
    """Whether tasks of a problem pay something by themselves."""
    return places(record) and record.problem_class.own_costs is not Problem.own_costs


# The tests -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """A fault: the check that must tell it, and how it is put into a problem.

    It can be put into the problems that the check is about, and `where`; by default where the record has the field.
    """

    check: str
    inject: Injection
    field: str = ""
    """The field of the record that is wrong, or what it names."""
    where: Callable[[Record], Any] | None = None
    seeds: tuple[int, ...] = SEEDS

    def applies(self, record: Record) -> bool:
        """Whether the fault can be put into a problem."""
        held = not self.field or getattr(record, self.field.partition(".")[0])
        return CHECKS[self.check].applies(record) and bool(held if self.where is None else self.where(record))


FAULTS: dict[str, Fault] = {
    "wrong objective of the compact model": Fault("models", changed(models, "build_pyomo", cost_more)),
    "wrong objective of the literal model": Fault("models", changed(models, "build_pulp", cost_more)),
    "wrong objective in files": Fault("export", changed(models, "build_pulp", cost_more)),
    "route too good": Fault("routes", changed(routes, "by_route", one_better)),
    "program costs double": Fault("program", changed(definition, "program", with_objective(lambda cost: 2 * cost))),
    "program costs nothing": Fault("program", changed(definition, "program", with_objective(lambda cost: 0 * cost))),
    "program in other units": Fault(
        "program", changed(definition, "program", lambda program, *_: replace(program, unit=2 * program.unit))
    ),
    "prover accepts": Fault("certificates", prover_accepts),
    "decode swaps": Fault("models", changed(models, "decode", nodes_swapped)),
    "enumeration skips": Fault("each-placement", enumeration_skips(1), "enumeration", anywhere),
    "enumeration skips a value": Fault("enumeration", enumeration_skips(10**9)),
    "bound too high": Fault("bounds", changed(definition, "cheap_bounds", beyond_optimum)),
    "component ignored": Fault(
        "routes",
        changed(definition, "objective", lambda value, *_: (*value[:-1], 0)),
        where=lambda record: len(record.problem_class.components) > 1,
    ),
    "constraint forgotten": Fault("routes", constraint_forgotten),
    "frontier loses": Fault(
        "frontier",
        changed(routes, "frontier", lambda found, *_: replace(found, points=found.points[:-1] or found.points)),
    ),
    "proofs vanish": Fault("certificates", changed(routes, "by_route", all_words)),
    "frontier claims less": Fault(
        "frontier",
        changed(routes, "frontier", certified_by(lambda entry: replace(entry, claim=entry.claim - 1))),
    ),
    "frontier gives false words": Fault(
        "frontier", changed(routes, "frontier", certified_by(lambda entry: word(entry, 99)))
    ),
    "parameters ignored": Fault("routes", parameters_ignored, where=lambda record: record.variants),
    "other routes need order": Fault("permutation", other_routes_need_order),
    "file loses fractions": Fault(
        "solution-file",
        changed(claim_files, "spelled", lambda _, value: value if value is None else round(float(value), 6)),
    ),
    "file loses parameters": Fault(
        "solution-file",
        changed(claim_files, "_document", lambda document, *_: {**document, "parameters": {}}),
        where=lambda record: record.problem_class.parameter_table,
    ),
    "frontier file loses": Fault(
        "frontier-file",
        changed(claim_files, "_document", lambda document, *_: {**document, "points": document["points"][:-1]}),
    ),
    "no point, and no proof": Fault(
        "no-point", changed(routes, "frontier", lambda found, *_: replace(found, infeasible=None))
    ),
    "frontier file loses the proof": Fault(
        "no-point",
        changed(claim_files, "_document", lambda document, *_: {**document, "infeasible": None}),
    ),
    "between points is taken": Fault("frontier-file", between_is_taken),
    "order matters": Fault("permutation", changed(definition, "objective", weighed_by_position)),
    "infeasible overlooked": Fault("scarce", changed(routes, "by_route", no_word_of_infeasible)),
    "proofs of another kind": Fault("certificates", proofs_of_another_kind, where=lacks_a_prover),
    "worth nothing": Fault("record", changed(definition, "objective", lambda value, *_: (0,) * len(value))),
    "start of another decision": Fault("starts", start_of_another, where=decides_no_times),
    "start says nothing": Fault(
        "starts",
        changed(models, "start_values", lambda start, *_: type(start)()),
        where=decides_no_times,
    ),
    "no starts": Fault("starts", lambda record, patch: patch.delattr(models(record), "start_values")),
    # Faults of each field of the record.
    "another name": Fault("record", said(name=lambda record: f"not-{record.name}"), "name"),
    "another class": Fault("record", said(problem=another("problem")), "problem"),
    "another problem's models": Fault("models", said(models=another("models")), "models"),
    "another problem's routes": Fault("routes", said(routes=another("routes")), "routes"),
    "no routes": Fault("known", said(routes=None), "routes"),
    "no provers": Fault("certificates", said(provers={}), "provers"),
    "no network": Fault("network", said(network=None), "network"),
    "dearer network": Fault(
        "network", function("network", lambda network, *_: replace(network, cost=network.cost + 1)), "network"
    ),
    "infeasible is not shown": Fault("scarce", said(infeasible=None), "infeasible"),
    "all is infeasible": Fault(
        "scarce",
        # Not wrapped: it is asked of any certificate, also of one that it raises at.
        lambda record, patch: patch.setattr(*named(record.infeasible), lambda *_: "there is no room"),
        "infeasible",
    ),
    "unlimited is not shown": Fault("unlimited", said(unlimited=None), "unlimited"),
    "all is unlimited": Fault("unlimited", function("unlimited", lambda *_: "a cycle"), "unlimited"),
    "limit is not said": Fault("limits", said(limit=None), "limit"),
    "limit means another thing": Fault("limits", part("limit", meaning="the number of nodes"), "limit.meaning"),
    "limits of another kind": Fault(
        "limits",
        part("limit", denominator=lambda limit: None if limit.denominator == 1 else 1),
        "limit.denominator",
    ),
    "limit on the other component": Fault("models", said(limit=other_limit), "limit.component"),
    "frontier is not said": Fault("record", said(frontier=False, frontier_gaps=()), "frontier"),
    "swapped figures of the frontier": Fault(
        "frontier-gaps", changed(gaps.Reference, "frontier_gaps", figures_swapped), "frontier_gaps"
    ),
    "local tasks counted as off-rack": Fault(
        "locality", changed(gaps, "locality_counts", counts_swapped), where=has_data
    ),
    "rivals that do not serve": Fault("rivals", rivals_that_do_not_serve, "rivals", decides_no_times),
    "no runner": Fault("heuristics", said(runner=None), "runner"),
    "known of another problem": Fault(
        "known",
        part("known", instance="examples/negative-cycle"),
        "known",
        CHECKS["heuristics"].applies,
    ),
    "known of no instance": Fault("known", part("known", instance="papers/guo-fig1"), "known.instance"),
    "known by one route": Fault("known", part("known", routes=lambda known: (known.routes[0],) * 2), "known.routes"),
    "no generator": Fault("record", said(family=None), "family"),
    "instances too large": Fault("routes", said(sizes=large), "sizes"),
    "idle variant": Fault("record", said(variants=lambda record: (*record.variants, {})), "variants", anywhere),
    "no law of units": Fault("record", said(scaling=None), "scaling"),
    "another power": Fault(
        "scaling", part("scaling", powers=lambda law: tuple(power + 1 for power in law.powers)), "scaling.powers"
    ),
    "fields that are not there": Fault("scaling", part("scaling", fields={"nodes": ("lod",)}), "scaling.fields"),
    "parameters that are not there": Fault("scaling", part("scaling", parameters=("levles",)), "scaling.parameters"),
    "whole numbers in tenths": Fault(
        "scaling", part("scaling", whole=False), "scaling.whole", lambda record: record.scaling.whole
    ),
    "rounding is not said": Fault(
        "scaling",
        part("scaling", rounded=False),
        "scaling.rounded",
        lambda record: record.scaling.rounded,
        tuple(range(6)),
    ),
    "order is not said": Fault("permutation", said(ordered={}), "ordered", seeds=tuple(range(6))),
    "own costs grow": Fault("own-costs", own_costs_grow, where=pays_by_itself),
    "chain is lost": Fault(
        "explanation", changed(measured, "difference", lambda found, *_: replace(found, chains=found.chains[1:]))
    ),
    "chain gains more": Fault("explanation", changed(measured, "difference", more_gain)),
    "conflict is too small": Fault("conflict", changed(measured, "explain", smaller_conflict)),
    "more slots than there are": Fault(
        "conflict", function("slots", lambda slots, *_: None if slots is None else slots + 9), "slots"
    ),
    **{
        f"{part} overlooked": Fault("models", overlooks(edit), where=lambda record, names=names: record.name in names)
        for part, (edit, names) in ((part, (edit, names.split())) for part, (edit, names) in PARTS.items())
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


def broken(check: str, record: Record, seeds: tuple[int, ...] = SEEDS) -> bool:
    """Whether a check tells that something is wrong."""
    try:
        CHECKS[check].function(record, seeds)
    except ContractBroken as error:
        return str(error).startswith(f"{record.name}, {check}: ")
    return False


@pytest.mark.parametrize(("record", "fault"), PAIRS)
def test_fault_is_told(record: Record, fault: str, monkeypatch: Patch) -> None:
    """Tests that a seeded fault breaks the contract of the problem that it is in, by the check that it is for."""
    seeded = FAULTS[fault]
    assert broken(seeded.check, seeded.inject(record, monkeypatch) or record, seeded.seeds)


def test_every_field_of_the_record_has_a_fault() -> None:
    """Tests that no field of the record, or of a part of it, is without a seeded fault: that some check reads it."""
    parts = {"limit": ProgramLimit, "known": KnownOptimum, "scaling": Scaling}
    names = {entry.name for entry in fields(Record)}
    names |= {f"{name}.{entry.name}" for name, kind in parts.items() for entry in fields(kind)}
    tried = {fault.field for fault in FAULTS.values()} - {""}
    assert (names - tried, tried - names) == (set(), set())


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
            assert any(broken(check, dropped, SEEDS[:1]) for check in telling)


def test_page_shows_the_faults() -> None:
    """Tests that the page counts the faults that each check tells, and the problems that these were put into."""
    counts = []
    for name in CHECKS:
        faults = [fault for fault in FAULTS.values() if fault.check == name]
        places = sum(fault.applies(record) for fault in faults for record in records().values())
        counts += [f"`{name}` {len(faults)} ({places})"] * bool(faults)
    assert shows("faults", textwrap.fill(", ".join(counts), 120) + ".\n")


# Rows of programs --------------------------------------------------------------------------------------------------

#: Rows that may be dropped unseen, since they tighten a program, others imply them, or no decision here breaks them.
#: And halves of equations that others imply: as many tasks as slots on both sides, supplies that add up to 0, a count
#: that slots or tasks limit from above, flows that costs keep from below.
UNSEEN: dict[str, str] = {
    "lsap, build_pyomo": "rack_slots",
    "lsap, build_pulp": "slot: above, slot: below, task: above, task: below",
    "fair-lsap, build_pyomo": "pool_tiers: below",
    "fair-lsap, build_pulp": "overflow, group: below, slot: above, slot: below, task: above, task: below",
    "lsap-fairness, build_pulp": "slot: above, slot: below, task: above, task: below",
    "worst-group, build_pyomo": "rack_slots",
    "worst-group, build_pulp": "slot: above, slot: below, task: above, task: below",
    "flow, build_pyomo": "cardinality: above",
    "flow, build_pulp": "sink, source, unscheduled_node, node: above, node: below, sink: above, sink: below, "
    "source: above, source: below, task: above, task: below, unscheduled_node: above, unscheduled_node: below",
    "flow-congestion, build_pyomo": "cardinality: above, filled: below",
    "flow-congestion, build_pulp": "cardinality: below, filled: below, task: above",
    "latency, build_pyomo": "every_task: above, remote_balance: below",
    "latency, build_pulp": "task: above",
    "transmission-maps, build_pyomo": "cardinality: above",
    "transmission-maps, build_pulp": "cardinality: above",
    "transmission-reduces, build_pulp": "cardinality: above",
    "transmission, build_pyomo": "reduce_slots, map_cardinality: above, received: above, reduce_cardinality: above",
    "transmission, build_pulp": "reduce_slots, maps: above, reduces: above",
    "utility, build_pyomo": "ordered, one_need: above",
    "utility, build_pulp": "table_reduces: above",
    "traffic, build_pulp": "hosted: above, placed: above",
    "min-cost-flow, build_pyomo": "conservation: above, conservation: below",
    "min-cost-flow, build_pulp": "node: above, node: below",
    "makespan, build_pyomo": "area, as_many_start: above, ended_by: above, ended_by: below, every_task_runs: above",
    "makespan, build_pulp": "ends_after_map, ends: below",
    "job-times, build_pyomo": "as_many_start: above, ended_by: above, ended_by: below, every_task_runs: above",
    "job-times, build_pulp": "ends_after_map, ends: below",
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
        if how == "drop":
            row.deactivate()
        else:
            row.set_value((None, row.body, row.upper) if how == "below" else (row.lower, row.body, None))
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
    record, unseen = records()[name], set()
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
                    unseen.add(rows if how == "drop" else f"{rows}: {how}")
    assert unseen == set(filter(None, UNSEEN.get(f"{name}, {kind}", "").split(", ")))
