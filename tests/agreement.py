"""Every route of a problem against enumeration: what tests of routes hold drawn instances to."""

from collections.abc import Mapping

from optsched.certificates import certify
from optsched.core.results import Proof, Sense, Termination
from optsched.problems import Problem
from optsched.routes import bounds, routes_of, solve
from optsched.solvers.searches.enumeration import best_placement


def check_routes(problem: Problem, kinds: Mapping[str, Proof]) -> None:
    """Every route finds the enumerated optimum, or that there is none, and certifies; no bound is beyond the optimum.

    `kinds` has the kind of proof that the first component must have by some of the routes.
    """
    best = best_placement(problem)
    value = None if best is None else best[0]
    for route in routes_of(problem):
        solution = solve(problem, route=route)
        verdict = certify(problem, solution)
        assert verdict.valid, (route, str(verdict))
        assert solution.objective == value, route
        assert solution.termination is (Termination.INFEASIBLE if value is None else Termination.OPTIMAL), route
        if value is not None:
            assert solution.bound == value, route
            assert verdict.proved >= (solution.certificate in (Proof.DUAL, Proof.COMBINATORIAL)), route
            assert solution.certificate is kinds.get(route, solution.certificate), route
    for bound in bounds(problem) if value is not None else ():
        for component, most in zip(problem.components, value, strict=True):
            sign = 1 if component.sense is Sense.MIN else -1
            assert bound.component != component.name or sign * bound.value <= sign * most, bound.name
