"""More than one value: every Pareto-optimal point, what a gap says beside itself, and ordered vectors of utilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from optsched.certificates import proved_bound
from optsched.gaps import Reference, gap_of, record_fields
from optsched.heuristics import run
from optsched.problems import AnyProblem
from optsched.registry import Record, imported
from optsched.results import FrontierPoint, Value
from optsched.routes import frontier, routes_of, solve
from optsched.solvers.profiles import load_profile
from optsched.testing.cases import Case, cases
from optsched.testing.contract import check, expect, listed, placing, right, with_usual

__all__: list[str] = []


@check(lambda record: record.frontier)
def check_frontier(record: Record, seeds: Sequence[int]) -> None:
    """Every route finds all Pareto-optimal points, each worth what it says, with certificates that prove it."""
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
        told = f"of no point {component.name} has a certificate that can be checked"
        expect(component.name in proved, record.problem, told)


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


@check(lambda record: record.beside is not None)
def check_beside(record: Record, seeds: Sequence[int]) -> None:
    """Beside a gap each component is told how far it is from the least at the other's value, and records have it."""
    made = imported(str(record.beside))
    for case in cases(record, seeds):
        problem = placing(case)
        beside = made(problem, load_profile("exact"), _at_once)
        right(problem, beside.solution(), case.best, f"{case.name}, beside a gap")
        for minimised in case.decisions:
            value = problem.minimised(minimised)
            truth = tuple(_beyond(case, value, place) for place in (1, 0))
            told = beside.gaps(value)
            expect(told == truth, case.name, f"beside {listed(value)} it says {listed(told)}, the truth is {truth}")
        report = gap_of(problem, run(problem, _optimum), 1, Reference(problem, solution=solve(problem)))
        missing = set(made.fields) - set(report.record())
        expect(not missing, case.name, f"records lack {', '.join(sorted(missing))}")
        header = record_fields([problem], policies=False, waves=False)
        expect(set(report.record()) <= set(header), case.name, "the header of a table lacks fields of its records")


def _at_once(ask: Callable[[], Any]) -> Any:
    return ask()


def _optimum(problem: AnyProblem, rng: object) -> Any:
    return solve(problem).decision


def _beyond(case: Case, value: Value, place: int) -> Any:
    """How far a component is from the best that there is where the other is no worse."""
    best: Any = case.best_of(place, (1 - place, value[1 - place]))
    return abs(value[place] - best)


@check(lambda record: record.leximin is not None)
def check_leximin(record: Record, seeds: Sequence[int]) -> None:
    """The ordered vector of utilities that none exceeds, entry by entry, is found, with a placement that has it."""
    search = imported(str(record.leximin))
    for case in cases(record, seeds):
        problem: Any = case.problem
        found = search(problem, "exact")
        wrong = problem.violations(found.placement)
        expect(not wrong, case.name, f"leximin: {'; '.join(map(str, wrong))}")
        best = max(sorted(problem.utilities(decision)) for decision in case.feasible)
        expect(
            list(found.utilities) == best, case.name, f"leximin {listed(found.utilities)}, the best is {listed(best)}"
        )
        held = sorted(problem.utilities(found.placement))
        expect(held == best, case.name, f"leximin: the placement has {listed(held)}")
