"""Every way to an optimum agrees with enumeration on thousands of tiny instances, and nothing goes beyond a proof."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, seed, settings
from strategies import PARAMETERS, problems

from optsched.certificates import certify
from optsched.gaps import Reference, gap_of
from optsched.heuristics import applicable, run
from optsched.heuristics.labl import VARIANTS as LABL_VARIANTS
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.problems import Latency, Problem
from optsched.problems.assignment import AssignmentProblem
from optsched.results import Proof, Solution, Value
from optsched.routes import bounds, frontier, routes_of, solve
from optsched.searches.enumeration import best_placement, pareto_front

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

#: Kinds of proof that the routes which are no enumeration may give.
KINDS = {
    "lsap": {Proof.DUAL},
    "fair-lsap": {Proof.DUAL},
    "lsap-fairness": {Proof.DUAL},
    "flow": {Proof.DUAL},
    "flow-congestion": {Proof.DUAL, Proof.SOLVER},
    "latency": {Proof.COMBINATORIAL, Proof.SOLVER},
}


def tiered(problem: Problem) -> bool:
    """Whether a task's cost depends on how many of its pool are placed: the one thing that route `dense` refuses."""
    return isinstance(problem, AssignmentProblem) and any(len(pool.tiers) > 1 for pool in problem.pools)


def check_routes(problem: Problem, best: Value) -> Solution:
    """Every route finds `best` and certifies; returns the default route's solution."""
    routes = [route for route in routes_of(problem) if route != "dense" or not tiered(problem)]
    solutions = {route: solve(problem, route=route) for route in routes}
    for route, solution in solutions.items():
        assert solution.objective == best == solution.bound, route
        assert solution.optimal, route
        assert solution.certificate in ({Proof.ENUMERATION} if route == "brute-force" else KINDS[problem.name]), route
        verdict = certify(problem, solution)
        assert verdict.valid, f"{route}: {verdict}"
        assert verdict.proved >= (solution.certificate is not None and solution.certificate.checkable), route
    return solutions[routes_of(problem)[0]]


def check_bounds(problem: Problem, best: Value) -> None:
    """Every bound that bounds a component of the objective does."""
    found = bounds(problem)
    optimum = dict(zip((component.name for component in problem.components), best, strict=True))
    assert {bound.component for bound in found} >= set(optimum)
    for bound in found:
        if bound.component is not None:
            assert bound.value <= optimum[bound.component], bound


def check_heuristics(problem: Problem, solution: Solution) -> None:
    """Every heuristic that serves the problem gives a feasible placement, and none beats the proved optimum."""
    reference = Reference(problem, solution=solution)
    entries = applicable(problem)
    assert entries
    for entry in entries:
        report = gap_of(problem, run(problem, entry, seed=1), 1, reference)  # raises BoundViolated
        assert report.error is None, entry.name
        assert report.feasible, (entry.name, report.violations)


#: Routes to the frontier of the problems that have one.
FRONTS = {"latency": ("search", "arrays", "pyomo"), "lsap-fairness": ("flows", "arrays", "network-simplex", "pyomo")}


def check_front(problem: Problem) -> None:
    """Every route's frontier is the enumerated one, and each point is what its placement is worth."""
    expected = pareto_front(problem)
    for route in FRONTS[problem.name]:
        found = frontier(problem, route=route)
        assert found.complete
        assert found.values == expected, route
        assert [problem.evaluate(point.placement) for point in found.points] == expected, route


def check(problem: Problem) -> None:
    """All of the above."""
    best, nodes = best_placement(problem)
    assert problem.evaluate(problem.placement(nodes)) == best
    solution = check_routes(problem, best)
    check_bounds(problem, best)
    check_heuristics(problem, solution)
    if problem.name in FRONTS:
        check_front(problem)


@pytest.mark.parametrize("name", PARAMETERS)
def test_agreement(name: str) -> None:
    """Tests that all routes, bounds, certificates and heuristics agree with enumeration on 100 instances a problem."""
    settings(max_examples=100)(given(problems(name))(check))()


#: Parameters of heuristics beside their defaults.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "dl": [{"reading": "heartbeat"}],
    "rand": [{"randomness": 0.5}, {"reading": "heartbeat", "randomness": 0.5}],
    "lsap-fair-sched": [{"overflow": "naive"}, {"gfc": "difference", "alpha": 0}],
    "balancing": [{"order": "given"}],
    "round-robin": [{"start": 3}],
    "flow-based": [{"ties": "work"}, {"covers": "fresh"}],
    "labl": [{"variant": variant, "lbar": lbar} for variant in LABL_VARIANTS for lbar in ("l**", "l**+1", "inf")],
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_variants_of_heuristics(name: str) -> None:
    """Tests that every reading of every heuristic gives a feasible placement that does not beat the optimum."""

    def check_variants(problem: Problem) -> None:
        reference = Reference(problem)
        for entry in applicable(problem):
            for parameters in VARIANTS.get(entry.name, []):
                report = gap_of(problem, run(problem, entry, seed=1, **parameters), 1, reference)
                assert report.feasible, (entry.name, parameters, report.error, report.violations)

    settings(max_examples=50)(given(problems(name))(check_variants))()


@pytest.mark.thorough
@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("name", PARAMETERS)
def test_agreement_at_length(name: str, part: int) -> None:
    """Tests the same on 300 instances a problem that the quick test does not see."""
    seed(part)(settings(max_examples=100)(given(problems(name))(check)))()


def test_bug_frontier_where_remote_tasks_take_no_longer() -> None:
    """Tests that the Pyomo model, which is indifferent to remote tasks of equal work, still closes the frontier."""
    workload = Workload([f"t{task}" for task in range(4)], replicas=Ragged.from_rows([[1], [2], [0], [0]]))
    problem = Latency(Instance(Cluster(["s1", "s2", "s3"]), workload), w_loc=1, w_rem=1)
    for route in ("search", "arrays", "pyomo"):
        found = frontier(problem, route=route)
        assert (found.values, found.complete) == ([(2, 4)], True), route
