"""The routes of `lsap-fairness`: its frontier against enumeration, what limits leave, and models that err."""

import itertools
from fractions import Fraction

import pytest
from engines import interrupted
from hypothesis import given
from small_problems import FAIRNESS as SMALL
from small_problems import lsap_fairness as posed
from small_problems import pareto_front
from strategies import problems

from optsched import Limit, Proof, certify, generate
from optsched.certificates import proved_bound
from optsched.core.results import FrontierPoint
from optsched.problems import LsapFairness
from optsched.routes import frontier, routes_of, solve
from optsched.solvers.searches.lsap_fairness import CappedNetwork


def check_points(problem: LsapFairness, points: tuple[FrontierPoint, ...]) -> None:
    """Every point is worth what it says, its distance is proved, and no fewer tasks off their data give as little."""
    for before, point in zip((None, *points), points, strict=False):
        assert problem.evaluate(point.placement) == point.objective
        earlier, distance = point.certificates
        assert point.certificate is Proof.DUAL
        assert proved_bound(problem, distance, point.objective) == point.objective[1] == distance.claim
        if before is None:
            assert proved_bound(problem, earlier) == point.objective[0] == earlier.claim
        else:
            fewer = point.objective[0] - 1, point.objective[1]
            assert proved_bound(problem, earlier, fewer) > point.objective[1]


@given(problems("lsap-fairness"))
def test_frontier_is_the_enumerated_one(problem: LsapFairness) -> None:
    """Tests every point and its proofs; one task more off its data each time; what it gains never grows."""
    found = frontier(problem)
    assert found.complete
    assert found.values == pareto_front(problem)
    check_points(problem, found.points)
    assert [int(value[0]) for value in found.values] == list(
        range(int(found[0].objective[0]), int(found[-1].objective[0]) + 1)
    )
    gains = [before[1] - after[1] for before, after in itertools.pairwise(found.values)]
    assert gains == sorted(gains, reverse=True)
    assert found[-1].objective[1] == problem.least_distance


@pytest.mark.parametrize(("seed", "weights"), [(0, (1, 2, 4, 8, 16)), (1, (0.1, 0.2, 0.3, 0.7))])
def test_frontier_at_the_papers_size(seed: int, weights: tuple[float, ...]) -> None:
    """Tests each point of Guo et al.'s own sizes by both engines, also with shares of large denominators."""
    instance = generate("fair-lsap", seed, nodes=60, tasks=90, weights=weights)
    for distance in ("absolute", "relative"):
        problem = LsapFairness(instance, distance=distance)
        found = frontier(problem)
        assert found.complete
        assert len(found) > 3
        check_points(problem, found.points)
    assert frontier(problem, route="network-simplex").values == found.values


def test_shares_of_real_weights_are_exact() -> None:
    """Tests that weights of many digits, whose shares have denominators past 2^53, are proved all the same."""
    problem = posed([0.001234567890123457, 3.141592653589793, 0.7])
    assert max(Fraction(value[1]).denominator for value in frontier(problem).values) > 2**53
    for route in routes_of(problem):
        solution = solve(problem, route=route)
        assert solution.optimal, route
        assert certify(problem, solution).valid, route
    check_points(problem, frontier(problem).points)


def test_bug_linear_program_where_maximum_flows_are_enough() -> None:
    """Tests that the default route needs no linear program, agrees with the one, and is proved, at scarce slots too."""
    for seed in range(6):
        replicas, tasks = 1 + seed % 3, (60, 90, 20)[seed % 3]
        problem = LsapFairness(generate("lsap-fairness", seed=seed, tasks=tasks, replicas=replicas))
        solution = solve(problem)
        assert solution.solver["name"] == "SciPy maximum_flow"
        assert (solution.optimal, solution.certificate) == (True, Proof.DUAL)
        assert solution.objective == solve(problem, route="arrays").objective
        assert frontier(problem).values == frontier(problem, route="arrays").values


def test_interrupts_are_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C leaves the most local placement with its proof and a bound, and a frontier that says so."""
    monkeypatch.setattr(CappedNetwork, "fairest", interrupted)
    solution = solve(SMALL)
    assert (solution.bound[0], solution.objective[0]) == (0, 0)
    assert solution.limit in (None, Limit.INTERRUPTED)
    assert certify(SMALL, solution).valid
    found = frontier(SMALL)
    assert (found.complete, found.limit, len(found)) == (False, Limit.INTERRUPTED, 0)
