"""The routes of `utility` against enumeration, limits, starts, and demands that no solver takes."""

from fractions import Fraction

import pytest
from small_problems import utility as posed

from optsched import UsageError, solve
from optsched.problems.base import GRID


@pytest.mark.parametrize("route", ["thresholds", "arrays", "pyomo", "pulp"])
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
    assert solution.objective[0] == solution.bound[0] == Fraction(int(problem.map_utility[0][12]), GRID)


def test_a_gap_of_the_whole_tolerance_is_none() -> None:
    """Tests a first program that HiGHS calls optimal 1e-6 below its bound: route `pulp` went no further, and FEASIBLE.

    The difference of the two is a rounding error more than the tolerance.
    """
    jobs = [
        {"maps": 1, "map": {"memory": 2}, "reduces": 1, "reduce": {"memory": 5}, "shuffle": {"memory": 0}, "goal": 30,
         "time": 0},
        {"maps": 1, "map": {"memory": 3}},
        {"maps": 3, "map": {"memory": 5}},
    ]  # fmt: skip
    problem = posed({"memory": [12, 12]}, jobs, time=10, reduces="fixed")
    solution = solve(problem, route="pulp")
    assert solution.optimal
    assert solution.objective == solve(problem).objective


def test_demands_beyond_what_a_solver_takes() -> None:
    """Tests that programs count in the largest unit of all demands, and others of 1e15 are refused, not dropped."""
    common = posed({"cpu": [2.0**53, 2.0**50]}, [{"maps": 9, "map": {"cpu": 2.0**49}}])
    other = posed({"cpu": [2.0**51]}, [{"maps": 2, "map": {"cpu": 2.0**50 + 1}}, {"maps": 1, "map": {"cpu": 3}}])
    for route in ("thresholds", "arrays", "pyomo", "pulp"):
        solution = solve(common, route=route)
        assert solution.optimal
        assert solution.objective == solve(common, route="brute-force").objective
    for route in ("pyomo", "pulp"):
        with pytest.raises(UsageError, match="HiGHS refuses"):
            solve(other, route=route)
