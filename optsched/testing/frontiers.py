"""Contract checks of two components: every Pareto-optimal point, and the further values of a gap."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from optsched.certificates import Enumerated, certify, proved_bound
from optsched.core.placement import Placement
from optsched.core.registry import Record
from optsched.core.results import Frontier, FrontierPoint, Value
from optsched.heuristics import run
from optsched.instances.claim_files import read_frontier, write_claim
from optsched.measuring.gaps import Reference, frontier_gap_fields, gap_of
from optsched.measuring.records import record_fields
from optsched.problems import AnyProblem
from optsched.routes import frontier, routes_of, solve
from optsched.testing.contract import Case, cases, check, columns, expect, listed, placing, solved, with_usual
from optsched.testing.neighbours import short_of_room

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
        again = _there_and_back(found, write_claim, read_frontier, problem.instance)
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
        again = _there_and_back(found, write_claim, read_frontier, problem.instance)
        expect(again.values == found.values, case.name, f"the points are other ones: {again.values}")
        same = all(columns(a.placement) == columns(b.placement) for a, b in zip(again, found, strict=True))
        expect(same, case.name, "the placements are other ones")
        proofs = [[entry.kind for point in front for entry in point.certificates] for front in (found, again)]
        expect(proofs[0] == proofs[1], case.name, "certificates are other ones")
        _right_claim(problem, again, proofs[1], Enumerated(front=tuple(case.front)), case.name)
        for change, false in _false_frontiers(case, again):
            expect(not certify(problem, false).proved, case.name, f"a frontier is proved with {change}")


def _there_and_back(written: Any, write: Callable[..., None], read: Callable[..., Any], instance: Any) -> Any:
    """Write to an archive, and from there to a file of JSON; returns what is left of it."""
    with tempfile.TemporaryDirectory() as folder:
        for path in (Path(folder, "claim.npz"), Path(folder, "claim.json")):
            write(written, instance, path)
            written = read(path, instance)
    return written


def _right_claim(problem: AnyProblem, claimed: Any, kinds: Sequence[Any], tried: Enumerated, where: str) -> None:
    """Certify what was found: by its certificates alone, where all can be checked, else by trying everything."""
    verdict = certify(problem, claimed, enumerated=tried)
    expect(verdict.valid, where, f"contradicted: {'; '.join(verdict.contradicted)}")
    expect(verdict.proved, where, f"not proved: {'; '.join(verdict.unproved)}")
    checkable = all(kind is not None and kind.checkable for kind in kinds)
    alone = certify(problem, claimed)
    expect(alone.proved or not checkable, where, f"its certificates prove nothing: {'; '.join(alone.unproved)}")


def _false_frontiers(case: Case, frontier: Frontier) -> Iterator[tuple[str, Frontier]]:
    """Frontiers with something changed that makes them false, and what it is."""
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
        other = next((held for value, held in case.decisions.items() if _other(case, value, point)), None)
        if isinstance(other, Placement):
            change = f"another placement of point {position + 1}"
            yield change, replace(frontier, points=(*rest[0], replace(point, placement=other), *rest[1]))
    if len(points) > 1:
        yield "points swapped", replace(frontier, points=(points[1], points[0], *points[2:]))


def _other(case: Case, minimised: Value, point: FrontierPoint) -> bool:
    return case.problem.minimised(minimised) != point.objective


def _certified(problem: AnyProblem, point: FrontierPoint, before: Value | None, where: str) -> set[str]:
    """The components that a point's certificates prove; they are of its value and of what is before it.

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
        reference, names = Reference(problem, solution=solved(case)), frontier_gap_fields(problem)
        for minimised in case.decisions:
            value = problem.minimised(minimised)
            truth = tuple(_beyond(case, value, place) for place in (1, 0))
            gaps = tuple(map(reference.frontier_gaps(value).get, names))
            expect(gaps == truth, case.name, f"with {listed(value)} it says {listed(gaps)}, the truth is {truth}")
        report = gap_of(problem, run(problem, _optimum), 1, reference)
        missing = set(names) - set(report.record())
        expect(not missing, case.name, f"records lack {', '.join(sorted(missing))}")
        header = record_fields([problem], policies=False)
        expect(set(report.record()) <= set(header), case.name, "the header of a table lacks fields of its records")


def _optimum(problem: AnyProblem, rng: object) -> Any:
    return solve(problem).decision


def _beyond(case: Case, value: Value, place: int) -> Any:
    """How far a component is from the best that there is where the other is no worse."""
    best: Any = case.best_of(place, (1 - place, value[1 - place]))
    return abs(value[place] - best)
