"""Contract checks on changed instances: in another order, in other units, without tasks, room, limits or time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from optsched.certificates import Enumerated, certify
from optsched.core.placement import NetworkFlow
from optsched.core.registry import Record
from optsched.core.results import Limit, Termination
from optsched.problems.base import GRID
from optsched.routes import frontier, has_frontier, routes_of, solve
from optsched.testing.cases import Case, cases, size_of
from optsched.testing.changes import emptied, limitless, permuted, scaled, short_of_room, starved, tightened
from optsched.testing.contract import check, expect, listed, right, solved
from optsched.testing.programs import is_modelled, programs, right_program

__all__: list[str] = []


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
                right(
                    other, solve(other, route=route), case.best, f"{case.name}, permuted, route {route or 'as usual'}"
                )


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
        if problem.always_plain:
            _plainly(case)
        for route in routes_of(problem):
            right(problem, solve(problem, route=route), best, f"{case.name}, without room, route {route}")
    message = "no instance without room is infeasible; name a variant that has some"
    expect(infeasible or record.problem_class.always_feasible, record.problem, message)


def _plainly(case: Case) -> None:
    """With less and less room nothing is feasible just where a reason is plain."""
    for problem in tightened(case.problem):
        best, plain = Case(problem, case.name).best, problem.plainly_infeasible
        message = (
            "nothing is feasible, for no plain reason" if plain is None else f"is feasible, and said not to be: {plain}"
        )
        expect((best is None) == (plain is not None), f"{case.name}, with less room", message)


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
        right_program(record, short, program)
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
        held = replace(solved(case), bound=nothing, certificates=())
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
