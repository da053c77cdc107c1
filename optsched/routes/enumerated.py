"""The route `brute-force`, and all that there is for a problem without routes: every placement is tried."""

from __future__ import annotations

from typing import Any

from optsched.errors import UsageError
from optsched.problems import AnyProblem, Problem
from optsched.results import FEASIBLE, Certificate, Proof, Solution
from optsched.routes.call import Call
from optsched.searches.enumeration import best_decision
from optsched.solvers.profiles import Profile

__all__ = ["ALL_TRIED", "ROUTES", "by_route", "routes"]

#: The status where nothing is feasible.
ALL_TRIED = "no placement is feasible"

#: The only one.
ROUTES = ("brute-force",)


def routes(problem: AnyProblem) -> tuple[str, ...]:
    """`brute-force`; UsageError for a problem that decides no placement, for which it needs a record."""
    if not isinstance(problem, Problem):
        told = f"it decides a {problem.decided.noun}, and those cannot be enumerated as placements are"
        raise UsageError(f"{problem.name} has no routes, and {told}: name its routes in its record")
    return ROUTES


def by_route(call: Call[Any], profile: Profile) -> Solution:
    """Solve by trying every placement, or order of tasks on nodes; no profile changes anything."""
    noun = call.problem.decided.noun
    found = best_decision(call.problem)
    if found is None:
        return call.infeasible(ALL_TRIED, proof=Certificate(FEASIBLE, Proof.ENUMERATION, 0))
    value, decision = found
    certificates = tuple(
        Certificate(component.name, Proof.ENUMERATION, claim)
        for component, claim in zip(call.problem.components, value, strict=True)
    )
    return call.solution(decision, certificates, None, f"all {noun}s tried")
