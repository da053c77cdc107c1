"""The one route of a problem that has no routes of its own: every placement is tried, judged by the problem itself."""

from __future__ import annotations

from optsched.errors import UsageError
from optsched.problems import AnyProblem, Problem
from optsched.results import Solution
from optsched.routes.record import Record, by_enumeration
from optsched.solvers.profiles import Profile

__all__ = ["by_route", "routes"]


def routes(problem: AnyProblem) -> tuple[str, ...]:
    """`brute-force`; UsageError for a problem that decides a flow, which cannot be enumerated."""
    if not isinstance(problem, Problem):
        raise UsageError(f"{problem.name} has no routes, and flows cannot be enumerated: name its routes in its record")
    return ("brute-force",)


def by_route(record: Record, profile: Profile) -> Solution:
    """Solve by enumeration; no profile changes anything."""
    return by_enumeration(record)
