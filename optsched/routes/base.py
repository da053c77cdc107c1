"""Interfaces of the modules of routes, and the types that routes share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from optsched.core.results import Frontier, FrontierPoint, Limit, Solution
from optsched.problems import AnyProblem
from optsched.solvers.profiles import Profile

__all__ = [
    "MODELS",
    "Frontier",
    "RouteModule",
    "RouteSize",
    "cut_short",
]

#: Routes that use a declarative model.
MODELS = ("pyomo", "pulp")


class RouteSize(NamedTuple):
    """The size of what a route builds: variables, constraints, coefficients, and megabytes (MiB), about."""

    variables: int
    constraints: int
    terms: int
    megabytes: int

    @classmethod
    def of_network(cls, arcs: int, vertices: int, bytes_an_arc: int) -> RouteSize:
        """The size of a network, whose arcs are variables and whose vertices are constraints."""
        return cls(arcs, vertices, 2 * arcs, round(arcs * bytes_an_arc / 2**20))


class RouteModule(Protocol):
    """What a module of routes has; `optsched.routes` lets mypy hold every module against it.

    It may have these, too:

    - `routes(problem) -> names`: the routes that pose this one, the default first;
    - `OVERRUNS`: for a route the number of pairs from which on one of its steps may overrun a deadline;
    - `plain(problem) -> (decision or None, certificates)`: what needs no search, in a second or less, where a solve is
      stopped before it holds anything;
    - `sizes(problem) -> {route: RouteSize}`: where engines build more, or less, than the arrays of the compact model;
    - `bounds(problem) -> bounds`: those of `cheap_bounds`, and more;
    - `frontier(problem, profile, route) -> Frontier`: every Pareto-optimal point.
    """

    @property
    def ROUTES(self) -> tuple[str, ...]:  # noqa: N802 - the constant of a module
        """Names of the routes, the default first."""

    def by_route(self, call: Any, profile: Profile, /) -> Solution:
        """Solve the problem of a call by its route, which is one of these, and not `brute-force`.

        Parameters
        ----------
        call
            `optsched.routes.call.Call`: the problem, the route and a start; it makes the solution.
        profile
            Limits and options of the solver.
        """


def cut_short(problem: AnyProblem, points: Sequence[FrontierPoint], limit: Limit) -> Frontier:
    """The frontier with only these points."""
    names = (problem.components[0].name, problem.components[1].name)
    return Frontier(problem.name, names, tuple(points), complete=False, limit=limit)
