"""Contract checks of frontiers and gaps: Pareto-optimal points, heuristics, rivals of a claim, explanations."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from optsched.certificates import Enumerated, certify, proved_bound
from optsched.core.errors import BoundViolated
from optsched.core.instance import KINDS
from optsched.core.placement import NONE, Placement
from optsched.core.problem_record import imported
from optsched.core.registry import Record
from optsched.core.results import Decision, Frontier, FrontierPoint, Number, Value
from optsched.heuristics import HEURISTICS, applicable, run
from optsched.instances.claim_files import read_frontier, write_claim
from optsched.instances.files import to_document
from optsched.measuring.explaining import explain
from optsched.measuring.explaining.chains import better_by, difference, own_costs_of
from optsched.measuring.explaining.changes import only_with
from optsched.measuring.gaps import Reference, frontier_gap_fields, gap_of
from optsched.measuring.records import record_fields
from optsched.problems import AnyProblem, Problem
from optsched.problems.assignment import AssignmentProblem
from optsched.routes import frontier, routes_of, solve
from optsched.testing.contract import (
    Case,
    ContractBroken,
    cases,
    certified,
    check,
    columns,
    expect,
    listed,
    places,
    placing,
    times,
    with_usual,
)
from optsched.testing.neighbours import counting, short_of_room, tightened

__all__: list[str] = []


@check(lambda record: record.frontier)
def check_frontier(record: Record, seeds: Sequence[int]) -> None:
    """Every route finds all Pareto-optimal points, with values that are right and certificates."""
    proved = set()
    for case in cases(record, with_usual(seeds)):
        problem = case.problem
        for route in routes_of(problem):
            found, where = frontier(problem, route=route), f"{case.name}, frontier by {route}"
            expect(found.complete, where, f"is not complete: {found.limit}")
            expect(found.values == case.front, where, f"{found.values}, not {case.front}")
            for number, point in enumerate(found):
                expect(problem.evaluate(point.placement) == point.objective, where, "a point is worth something else")
                proved |= _certified(problem, point, found[number - 1].objective if number else None, where)
    for component in record.problem_class.components:
        message = f"of no point {component.name} has a certificate that can be checked"
        expect(component.name in proved, record.problem, message)


@check(lambda record: record.frontier and not record.problem_class.always_feasible)
def check_no_point(record: Record, seeds: Sequence[int]) -> None:
    """With too little room every route finds no point, and a file keeps the proof."""
    short = short_of_room(record, seeds)
    message = "no instance with scarce room is infeasible; name a variant that has some"
    expect(short is not None, record.problem, message)
    assert short is not None
    problem = placing(short)
    for route in routes_of(problem):
        found, where = frontier(problem, route=route), f"{short.name}, frontier by {route}"
        expect(found.complete and not found.points, where, f"is not complete and without points: {found}")
        again = _there_and_back(found, problem.instance)
        proofs = [None if held.infeasible is None else held.infeasible.kind for held in (found, again)]
        expect(proofs[0] == proofs[1], where, f"{proofs[1]} comes back from a file, not {proofs[0]}")
        verdict = certify(problem, again)
        shown = verdict.proved or (record.infeasible is None and found.infeasible is None)
        expect(shown, where, f"that nothing is feasible is not proved: {listed(verdict.unproved)}")
    for case in cases(record, seeds):
        posed = placing(case)
        given = replace(found, instance_sha256=posed.instance.sha256, parameters=dict(posed.parameters))
        roomy = certify(posed, given)
        expect(case.best is None or not roomy.proved, case.name, "is proved to have no point, and it has")
        both = certify(posed, replace(frontier(posed), infeasible=found.infeasible))
        proved = both.valid and found.infeasible is not None
        expect(not proved, case.name, "has points, and a proof that nothing is feasible, and is not contradicted")


@check(lambda record: record.frontier)
def check_frontier_file(record: Record, seeds: Sequence[int]) -> None:
    """A frontier in a file is certified from there. If any part is changed, it is refused."""
    for case in cases(record, seeds):
        problem = placing(case)
        found = frontier(problem)
        again = _there_and_back(found, problem.instance)
        expect(again.values == found.values, case.name, f"the points are other ones: {again.values}")
        same = all(columns(a.placement) == columns(b.placement) for a, b in zip(again, found, strict=True))
        expect(same, case.name, "the placements are other ones")
        proofs = [[entry.kind for point in front for entry in point.certificates] for front in (found, again)]
        expect(proofs[0] == proofs[1], case.name, "certificates are other ones")
        checkable = all(kind is not None and kind.checkable for kind in proofs[1])
        certified(problem, again, Enumerated(front=tuple(case.front)), checkable, case.name)
        for change, false in _false_frontiers(case, again):
            expect(not certify(problem, false).proved, case.name, f"a frontier is proved with {change}")


def _there_and_back(front: Frontier, instance: Any) -> Frontier:
    """Write to an archive, and from there to a JSON file; returns what remains of it."""
    with tempfile.TemporaryDirectory() as folder:
        for path in (Path(folder, "claim.npz"), Path(folder, "claim.json")):
            write_claim(front, instance, path)
            front = read_frontier(path, instance)
    return front


def _false_frontiers(case: Case, frontier: Frontier) -> Iterator[tuple[str, Frontier]]:
    """Frontiers with a change that makes them false, and the change."""
    points = frontier.points
    for position, point in enumerate(points):
        rest = points[:position], points[position + 1 :]
        yield f"point {position + 1} left out", replace(frontier, points=(*rest[0], *rest[1]))
        value = point.objective[0], point.objective[1] - 1
        claims = replace(point.certificates[0]), replace(point.certificates[1], claim=value[1])
        for change, changed in (
            ("another value", replace(point, objective=value)),
            ("another value and claim", replace(point, objective=value, certificates=claims)),
            ("certificates exchanged", replace(point, certificates=(claims[1], claims[0]))),
        ):
            yield f"{change} of point {position + 1}", replace(frontier, points=(*rest[0], changed, *rest[1]))
        differ = (held for value, held in case.decisions.items() if case.problem.minimised(value) != point.objective)
        other = next(differ, None)
        if isinstance(other, Placement):
            change = f"another placement of point {position + 1}"
            yield change, replace(frontier, points=(*rest[0], replace(point, placement=other), *rest[1]))
    if len(points) > 1:
        yield "points swapped", replace(frontier, points=(points[1], points[0], *points[2:]))


def _certified(problem: AnyProblem, point: FrontierPoint, before: Value | None, where: str) -> set[str]:
    """The components that a point's certificates prove; they are of its value and of the previous point.

    The first is about what is as good as the point before in the second component: what is worse in the first is not,
    or what is better in the second is not where the first is better.
    """
    first, second = (component.name for component in problem.components)
    true = [(first, point.objective[0])], [(second, point.objective[1])]
    true[0].extend([(second, before[1])] if before else [])
    proved = set()
    expect(len(point.certificates) == 2, where, f"a point has {len(point.certificates)} certificates, not 2")
    for certificate, allowed, value in zip(
        point.certificates, true, (before or point.objective, point.objective), strict=True
    ):
        claim = certificate.component, certificate.claim
        expect(claim in allowed, where, f"a certificate claims {listed(claim)}, not {listed(allowed[-1])}")
        if certificate.kind.checkable:
            bound = proved_bound(problem, certificate, value)
            expect(bound >= certificate.claim, where, f"proves {bound}, claimed {certificate.claim}")
            proved.add(certificate.component)
    return proved


@check(lambda record: bool(record.frontier_gaps))
def check_frontier_gaps(record: Record, seeds: Sequence[int]) -> None:
    """A gap also reports each component's distance from its least at the other's value."""
    for case in cases(record, seeds):
        problem = placing(case)
        reference, names = Reference(problem, solution=case.solved()), frontier_gap_fields(problem)
        for minimised in case.decisions:
            value = problem.minimised(minimised)
            best: Any = [case.best_of(place, (1 - place, value[1 - place])) for place in (0, 1)]
            truth = tuple(abs(value[place] - best[place]) for place in (1, 0))
            gaps = tuple(map(reference.frontier_gaps(value).get, names))
            expect(gaps == truth, case.name, f"with {listed(value)} it says {listed(gaps)}, the truth is {truth}")
        report = gap_of(problem, run(problem, solve_at_once), 1, reference)
        missing = set(names) - set(report.record())
        expect(not missing, case.name, f"records lack {', '.join(sorted(missing))}")
        header = record_fields([problem], policies=False)
        expect(set(report.record()) <= set(header), case.name, "the header of a table lacks fields of its records")


# Gaps: heuristics, rivals, locality ----------------------------------------------------------------------------------


def solve_at_once(problem: AnyProblem, rng: object) -> Any:
    """A heuristic that is optimal."""
    return solve(problem).decision


@check(lambda record: places(record) or times(record))
def check_heuristics(record: Record, seeds: Sequence[int]) -> None:
    """No heuristic beats the optimum. Each returns a schedule, or a placement that overfills no node."""
    for case in cases(record, seeds):
        problem: Any = case.problem
        served = applicable(problem, by_default=True)
        expect(bool(served) or not times(record), case.name, "no policy runs over time: name a runner")
        if case.best is None:
            continue
        reference = Reference(problem, solution=case.solved())
        for entry in served:
            try:
                report = gap_of(problem, run(problem, entry, seed=1), 1, reference)
            except BoundViolated as error:
                raise ContractBroken(f"{case.name}, {entry.name}: {error}") from error
            expect(report.error is None, case.name, f"{entry.name}: {report.error}")
            if times(record):
                waits = entry.batch is not None and report.status == "starved"  # it puts tasks on nodes without slots
                violations = "; ".join(map(str, report.violations))
                expect(report.feasible or waits, case.name, f"{entry.name}: {violations}")
                continue
            nodes = set(problem.instance.cluster.node_ids.tolist())
            overfull = [str(wrong) for wrong in report.violations if nodes.intersection(wrong.ids)]
            expect(not overfull, case.name, f"{entry.name}: {'; '.join(overfull)}")
            if report.feasible and report.objective is not None:
                value = problem.minimised(report.objective)
                expect(value in case.decisions, case.name, f"{entry.name}: {listed(report.objective)} is no value")


@check(lambda record: bool(record.rivals))
def check_rivals(record: Record, seeds: Sequence[int]) -> None:
    """Each rival of a solver's claim finds feasible decisions, and none better than the optimum."""
    for rival in record.rivals:
        found = 0
        for case in cases(record, seeds):
            held = _decision_of(rival, case)
            wrong = [] if held is None else case.problem.violations(held)
            expect(not wrong or ":" not in rival, f"{case.name}, {rival}", "; ".join(map(str, wrong)))
            if held is not None and not wrong:
                found += 1
                value = case.problem.minimised(case.problem.evaluate(held))
                # Only schedules without avoidable idle time are tried.
                known = value >= next(iter(case.decisions)) if times(record) else value in case.decisions
                expect(known, f"{case.name}, {rival}", f"{listed(value)} is no value")
        expect(found > 0, rival, "finds nothing that is feasible on any instance")


def _decision_of(rival: str, case: Case) -> Decision | None:
    """The decision of a rival: of a quick heuristic, or of a function."""
    if ":" in rival:
        found: Decision | None = imported(rival)(case.problem)
        return found
    problem: Any = case.problem
    expect(HEURISTICS[rival].serves(problem), case.name, f"{rival} does not serve the problem")
    return run(problem, rival).decision


@check(lambda record: places(record) or times(record))
def check_locality(record: Record, seeds: Sequence[int]) -> None:
    """A gap counts node-local, rack-local and off-rack tasks of each kind."""
    for case in cases(record, seeds):
        problem: Any = case.problem
        report = gap_of(problem, run(problem, solve_at_once), 1, Reference(problem, solution=case.solved()))
        counts, truth = report.record()["locality"], _local(case, report.placement)
        expect(counts == truth, case.name, f"the record counts {counts}, the truth is {truth}")


def _local(case: Case, placement: Any) -> dict[str, dict[str, int]] | None:
    """Tasks by kind and locality, counted from the file: a map's data is on its replicas, a reduce's where maps ran."""
    problem: Any = case.problem
    document = to_document(problem.instance)
    nodes, tasks = document["nodes"], document["tasks"]
    if placement is None or not (document.get("shuffle") or any(task.get("replicas") for task in tasks)):
        return None
    placed = dict(zip(problem.tasks.tolist(), placement.nodes[problem.tasks].tolist(), strict=True))
    host = {
        task["id"]: nodes[placed[row]]["id"] if placed.get(row, -1) >= 0 else task.get("node")
        for row, task in enumerate(tasks)
    }
    rack = {node["id"]: node.get("rack") for node in nodes}
    counts = {kind: {"node": 0, "rack": 0, "off_rack": 0} for kind in (KINDS[code] for code in problem.kinds)}
    for row, node in placed.items():
        task = tasks[row]
        kind = task.get("kind", "map")
        if node < 0:
            continue
        sent = [entry for entry in document.get("shuffle", []) if entry["reduce"] == task["id"] and entry["size"] > 0]
        data = task.get("replicas", []) if kind == "map" else [host[entry["map"]] for entry in sent]
        here = nodes[node]["id"]
        near = rack[here] is not None and rack[here] in {rack.get(holder) for holder in data}
        counts[kind]["node" if here in data else "rack" if near else "off_rack"] += 1
    return counts


# Explanations: own costs, chains of moves with gains, conflicts if nothing is feasible -------------------------------

#: The number of placements of a case, spread over all values, from which the way to an optimum is explained.
_BEGUN = 6


@check(places)
def check_own_costs(record: Record, seeds: Sequence[int]) -> None:
    """Costs of single tasks explain each difference between placements with equal labels."""
    for case in cases(record, seeds):
        problem = placing(case)
        own = own_costs_of(problem)
        if own is None:
            continue
        known: dict[tuple[int, ...], tuple[Number, Value]] = {}
        for placed, value in case.judged.items():
            nodes = np.array(placed, dtype=np.int64)[problem.tasks]
            which = np.flatnonzero(nodes != NONE)
            cost = Fraction(int(own.units(which, nodes[which]).sum()), own.grid)
            labels = () if own.counted is None else tuple(np.bincount(own.counted[which]).tolist())
            exact = problem.minimised(value)
            first, other = known.setdefault(labels, (cost, exact))
            where = f"{case.name}, {placed}"
            expect(exact[own.component] - other[own.component] == cost - first, where, "own costs give another value")
            same = [one == two for one, two in zip(exact, other, strict=True)]
            same[own.component] = True
            expect(own.counted is None or all(same), where, "another component differs with the same labels placed")
            fits = own.slots is None or bool((np.bincount(nodes[which], minlength=len(own.slots)) <= own.slots).all())
            expect(fits, where, "it is feasible beyond the slots")


@check(places)
def check_explanation(record: Record, seeds: Sequence[int]) -> None:
    """The moves to an optimum add up to the gap, each with its gain, and stay feasible."""
    for case in cases(record, seeds):
        held = [decision for decision in case.decisions.values() if isinstance(decision, Placement)]
        optima = [best for best in case.optima if isinstance(best, Placement)]
        for here in held[:: 1 + len(held) // _BEGUN]:
            for there in {id(best): best for best in (optima[0], optima[-1])}.values():
                _check_explained(placing(case), here, there, case.name, optima)


def _check_explained(problem: Problem, here: Placement, there: Placement, where: str, optima: list[Placement]) -> None:
    """Make the moves chain by chain, and each independent chain also alone; check that their number is the least.

    `optima` has all of them. With several components, only those count that place as many tasks of each label.
    """
    found = difference(problem, here, there)
    own = own_costs_of(problem)
    exact = isinstance(problem, AssignmentProblem) and own is not None and own.counted is not None
    expect(found.nearest or not exact, where, "the nearest optimum is not looked for, though costs are tasks' own")
    if found.nearest and own is not None and own.counted is not None:
        labels, several = own.counted, len(problem.components) > 1
        placed = np.sort(labels[problem.nodes_of(there) != NONE])
        least = min(
            int(np.count_nonzero(problem.nodes_of(best) != found.here))
            for best in optima
            if not several or np.array_equal(np.sort(labels[problem.nodes_of(best) != NONE]), placed)
        )
        moves = sum(len(chain.positions) for chain in found.chains)
        # With several components an optimum that places other tasks may be nearer: then moves that gain nothing vanish.
        fewest = moves <= least if several else moves == least
        expect(fewest, where, f"{moves} tasks move, where an optimum moves {least}")
    start = problem.objective(here)
    value, nodes = start, problem.nodes_of(here).copy()
    for chain in found.chains:
        moved = list(chain.positions)
        alone = problem.nodes_of(here).copy()
        for placed in (nodes, alone):
            placed[moved] = found.there[moved]
        wrong = problem.violations(problem.placement(nodes))
        expect(not wrong, where, f"a step leaves what is infeasible: {'; '.join(map(str, wrong))}")
        after = problem.objective(problem.placement(nodes))
        expect(better_by(problem, value, after) == chain.gain, where, f"a chain gains other than {chain.gain}")
        value = after
        if not chain.ordered:
            wrong = problem.violations(problem.placement(alone))
            expect(not wrong, where, f"a chain alone is infeasible: {'; '.join(map(str, wrong))}")
            gain = better_by(problem, start, problem.objective(problem.placement(alone)))
            expect(gain == chain.gain, where, f"a chain alone gains {gain}, not {chain.gain}")
    expect(value == problem.objective(there), where, "the chains do not lead to the optimum")
    expect(nodes.tolist() == found.there.tolist(), where, "the chains do not lead where they are said to")


@check(lambda record: places(record) and not record.problem_class.always_feasible)
def check_conflict(record: Record, seeds: Sequence[int]) -> None:
    """If nothing is feasible, a minimal set of tasks that cannot be placed is named."""
    short = 0
    for case in cases(record, seeds):
        posings = [case.problem] if record.slots is None else [case.problem, counting(case.problem)]
        for number, posed in enumerate(posings):
            problem = next((less for less in tightened(posed) if solve(less).decision is None), None)
            if isinstance(problem, Problem):
                short += 1
                _conflicting(problem, f"{case.name}, with less room{', tasks counted' * number}", bool(number))
    expect(short > 0, record.problem, "no instance is infeasible, however little room; name a variant that has one")


def _conflicting(problem: Problem, where: str, counted: bool) -> None:
    """Try all placements of the named tasks, and of these without each one of them."""
    found = explain(problem).conflict
    expect(found is not None and found.irreducible, where, "no irreducible conflict is found")
    assert found is not None
    expect(not counted or found.slots == len(found.tasks) - 1, where, f"the slots of the tasks are {found.slots}")
    index = {str(problem.instance.workload.task_ids[task]): place for place, task in enumerate(problem.tasks)}
    positions = [index[task] for task in found.tasks]
    expect(Case(only_with(problem, positions), where).best is None, where, f"{positions} can be placed")
    for left in positions:
        others = [position for position in positions if position != left]
        expect(Case(only_with(problem, others), where).best is not None, where, f"{left} can be left out")
