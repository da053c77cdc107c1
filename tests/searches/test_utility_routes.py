"""The routes of `utility` against enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from utility_instances import posed, problems

from optsched import models
from optsched.certificates import certify
from optsched.gaps import gap
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.problems.utility import LEAST_FINITE, Allocation
from optsched.results import Proof, Termination
from optsched.routes import solve
from optsched.routes.utility import ROUTES
from optsched.searches.enumeration import best_placement
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.profiles import load_profile


def check_agreement(problem: Utility) -> None:
    """Every route finds the enumerated optimum and certifies, and the gap of the optimum is 0."""
    best = best_placement(problem)
    assert best is not None
    for route in ROUTES:
        solution = solve(problem, route=route)
        assert solution.objective == best[0] == solution.bound, (route, solution)
        assert solution.optimal, route
        verdict = certify(problem, solution)
        assert verdict.valid, (route, str(verdict))
        assert verdict.proved >= (solution.certificate is Proof.DUAL), route
    report = gap(problem, lambda problem, rng: problem.placement(best[1]))
    assert report.absolute_gap == (0, 0)


def test_agreement() -> None:
    """Tests that all routes agree with enumeration on 40 instances."""
    settings(max_examples=40)(given(problems())(check_agreement))()


@pytest.mark.thorough
def test_agreement_at_length() -> None:
    """Tests the same on 200 instances, some of them larger."""
    settings(max_examples=200)(given(problems(tasks=8))(check_agreement))()


@pytest.mark.parametrize("route", ["thresholds", "pyomo", "pulp"])
def test_utilities_a_step_apart(route: str) -> None:
    """Tests two jobs whose worths of 12 of 17 and 41 of 69 maps differ by one step of 2^-20, less than a tolerance.

    The tracker holds 12 of the one and 42 of the other, or 13 and 41: the first is better by that step.
    """
    jobs = [
        {"maps": 17, "map": {"cpu": 5}, "goal": 1, "time": 1},
        {"maps": 69, "map": {"cpu": 7}, "goal": 1, "time": 1},
    ]
    problem = posed({"cpu": [12 * 5 + 42 * 7]}, jobs)
    assert problem.map_utility[0][12] - problem.map_utility[1][41] == 1
    solution = solve(problem, route=route)
    assert solution.objective is not None
    assert solution.objective[0] == solution.bound[0] == Fraction(int(problem.map_utility[0][12]), GRID)


@given(problems(tasks=5, nodes=2))
@settings(max_examples=25)
def test_counts_are_enough(problem: Utility) -> None:
    """Tests the enumeration by counts against every placement task by task, judged by the problem itself."""
    nodes = range(-1, len(problem.instance.cluster))
    placements = (problem.placement(list(hosts)) for hosts in itertools.product(nodes, repeat=len(problem.tasks)))
    values = [problem.evaluate(placement) for placement in placements if not problem.violations(placement)]
    best = best_placement(problem)
    assert best is not None
    assert max(values) == best[0]


@given(problems(reduces="free"), st.data())
@settings(max_examples=25)
def test_laws(problem: Utility, data: st.DataObject) -> None:
    """Tests that more capacity never lowers the highest lowest utility, and fixed reduces never raise the optimum."""
    instance = problem.instance
    best = solve(problem).objective
    assert best is not None
    node = data.draw(st.integers(0, len(instance.cluster) - 1))
    more = {name: column + 2.0 * (np.arange(len(column)) == node) for name, column in instance.cluster.capacity.items()}
    roomier = Utility(replace(instance, cluster=replace(instance.cluster, capacity=more)), **problem.parameters)
    larger = solve(roomier).objective
    assert larger is not None
    assert larger[0] >= best[0]
    fixed = solve(Utility(instance, **{**problem.parameters, "reduces": "fixed"})).objective
    assert fixed is not None
    assert fixed <= best


def test_equal_trackers_are_one_host() -> None:
    """Tests that the compact model lists patterns of equal trackers, and that its solution is dealt out to them."""
    module = models.module("utility")
    job = {"maps": 9, "map": {"cpu": 2}}
    problem = posed({"cpu": [5] * 6}, [job, {"maps": 4, "map": {"cpu": 1}}])
    model = module.build_pyomo(problem, limit=Fraction(1, 2))
    assert list(model.HOSTS) == ["n0"]
    assert len(model.PATTERNS) == 3
    assert solve_pyomo(model, load_profile("exact")).status is Termination.OPTIMAL
    placement = module.decode(model, problem)
    assert problem.evaluate(placement) == solve(problem).objective
    allocation = Allocation(*problem.allocated(placement))
    assert allocation.maps.sum(axis=1).tolist() == [9, 4]
    assert LEAST_FINITE == -2 * GRID
