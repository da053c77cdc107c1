"""Contract checks of solutions: by every route, as bounds, in a file, and against known optima."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from typing import Any

from optsched.certificates import certify
from optsched.core.decimals import MOST_DIGITS
from optsched.core.placement import Schedule
from optsched.core.registry import Record
from optsched.core.results import Solution
from optsched.instances.claim_files import read_schedule, read_solution, write_claim
from optsched.instances.files import load, save
from optsched.instances.library import library
from optsched.problems import problem as posed_by_name
from optsched.routes import bounds, routes_of, solve
from optsched.testing.cases import cases, columns
from optsched.testing.contract import check, expect, is_beyond, listed, right, solved

__all__: list[str] = []


@check()
def check_routes(record: Record, seeds: Sequence[int]) -> None:
    """Every route finds the optimum: a decision worth it, a bound that meets it, a certificate."""
    for case in cases(record, seeds):
        for route in routes_of(case.problem):
            right(case.problem, solved(case, route), case.best, f"{case.name}, route {route}")


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
        solution, instance = solved(case), case.problem.instance
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
    """The solution with the longest numbers that files hold for values, bounds and claims."""
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
