"""The interface of modules of routes, the types that they share, and the routes of every problem.

These routes are the models of the problem's record, and `brute-force`, which tries every placement. A problem whose
record names no module of routes has only them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from optsched.core.errors import UsageError
from optsched.core.placement import Placement
from optsched.core.registry import record_of
from optsched.core.results import FEASIBLE, Certificate, Frontier, FrontierPoint, Limit, Proof, Solution, Termination
from optsched.problems import AnyProblem, Problem
from optsched.problems.base import GRID
from optsched.routes.call import Call, Ended, Found, word_of
from optsched.routes.listing import MODELS, RouteSize
from optsched.solvers.profiles import Profile

__all__ = [
    "ALL_TRIED",
    "Frontier",
    "MODELS",
    "ROUTES",
    "RouteModule",
    "RouteSize",
    "by_model",
    "by_route",
    "frontier_of",
    "only_point",
    "routes",
]


class RouteModule(Protocol):
    """What a module of routes has; mypy checks every module against it in `optsched.routes`.

    Optional members:

    - `routes(problem) -> names`: the routes for this instance, the default first;
    - `OVERRUNS`: for each route, from how many pairs on one of its steps may overrun a deadline;
    - `plain(problem) -> (decision or None, certificates)`: a quick answer without a search, in a second or less, for a
      solve that is stopped before it has anything;
    - `sizes(problem) -> {route: RouteSize}`: for engines that build more or less than the arrays of the compact model;
    - `bounds(problem) -> bounds`: those of `cheap_bounds`, and further ones;
    - `frontier(problem, profile, route) -> Frontier`: every Pareto-optimal point.
    """

    @property
    def ROUTES(self) -> tuple[str, ...]:  # noqa: N802 - the constant of a module
        """Names of the routes, the default first."""

    def by_route(self, call: Any, profile: Profile, /) -> Solution:
        """Solve the problem of a call by its route, which is one of these, never `brute-force`.

        `call` (`optsched.routes.call.Call`) has the problem, the route and a start; it makes the solution.
        """


def frontier_of(
    problem: AnyProblem,
    points: Sequence[FrontierPoint],
    limit: Limit | None = None,
    complete: bool = False,
    infeasible: Certificate | None = None,
) -> Frontier:
    """The frontier of a problem with these points; `optsched.frontier` fills in parameters and digest."""
    names = (problem.components[0].name, problem.components[1].name)
    return Frontier(problem.name, names, tuple(points), complete, limit, infeasible=infeasible)


def only_point(problem: Problem, decision: Placement, proofs: tuple[Certificate, Certificate]) -> Frontier:
    """The frontier where there is nothing to decide."""
    point = FrontierPoint(problem.evaluate(decision), decision, proofs)
    return frontier_of(problem, (point,), complete=True)


# The routes of every problem ------------------------------------------------------------------------------------------


#: The status if nothing is feasible.
ALL_TRIED = "no placement is feasible"

#: All of them; the models only if the record names some.
ROUTES = ("brute-force", *MODELS)


def routes(problem: AnyProblem) -> tuple[str, ...]:
    """`brute-force` and the models; the models first if there are too many placements to try.

    UsageError if the problem decides no placement and its record names neither models nor routes.
    """
    from optsched.solvers.searches.enumeration import is_small  # few solves need it

    if isinstance(problem, Problem):
        return ROUTES if record_of(type(problem)).models is None or is_small(problem) else (*MODELS, "brute-force")
    if record_of(type(problem)).models is not None:
        return MODELS
    reason = f"it decides a {problem.decided.noun}, and those cannot be enumerated as placements are"
    raise UsageError(f"{problem.name} has no routes, and {reason}: name its models or routes in its record")


def by_route(call: Call[Any], profile: Profile) -> Solution:
    """Solve by trying every placement (or order of tasks on nodes), or by a model, on its solver's claim."""
    if call.route in MODELS and not (isinstance(call.problem, Problem) and not len(call.problem.tasks)):
        return by_model(call, profile)
    from optsched.solvers.searches.enumeration import best_decision

    noun = call.problem.decided.noun
    found = best_decision(call.problem)
    if found is None:
        return call.infeasible(Ended(ALL_TRIED), Certificate(FEASIBLE, Proof.ENUMERATION, 0))
    value, decision = found
    certificates = tuple(
        Certificate(component.name, Proof.ENUMERATION, claim)
        for component, claim in zip(call.problem.components, value, strict=True)
    )
    return call.answered(decision, certificates, Ended(f"all {noun}s tried"))


def by_model(call: Call[Any], profile: Profile, grid: int = GRID) -> Solution:
    """Solve the first program. If the record names a limit on the first component, solve the second at that optimum.

    The proofs are the solver's claims, in units of 1/`grid`.
    """
    limit = record_of(type(call.problem)).limit
    programs = 2 if limit is not None and limit.component == 0 else 1
    found, held, words = Found(), call.start, list[Certificate]()
    with call.until_stopped():
        for program in range(programs):
            call.incumbent.hold(partial(lambda *what: what, held, tuple(words)))
            found = call.by_model(profile, call.problem.evaluate(held)[0] if program else None, held)
            if found.decision is None and found.outcome.status in (Termination.INFEASIBLE, Termination.ERROR):
                return call.answered(held, words, found, found.outcome.status)
            held = found.decision or held
            word = word_of(call.problem, found, grid)
            if word is not None:
                words.append(Certificate(call.problem.components[found.position].name, Proof.SOLVER, word))
            if not found.optimal or found.limit is not None:
                break
    return call.answered(held, words, found)
