"""`min-cost-flow`: value, feasibility, exact totals, cheap bounds and solution files."""

import pytest
from small_problems import FLOWS as SMALL
from small_problems import min_cost_flow as posed

from optsched.certificates import certify
from optsched.core.network import UNBOUNDED
from optsched.core.placement import NetworkFlow
from optsched.routes import bounds, solve

CONSERVED = ["conservation(v0) by 1", "conservation(v1) by -2"]


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ([2, 2, 4, 0], ["lower(3) by 1", "capacity(0) by 1", *CONSERVED, "conservation(v2) by 1"]),
        ([4, 0, 4, 1], ["capacity(0) by 3", "conservation(v0) by 1", "conservation(v1) by -1"]),
        ([1], ["length by -3"]),
        ([1, 2, 4, 1], []),
    ],
)
def test_violations(units: list[int], expected: list[str]) -> None:
    """Tests each constraint's violation with its ids and amount."""
    assert [str(entry) for entry in SMALL.violations(NetworkFlow(units))] == expected


def test_totals_past_int64_are_exact() -> None:
    """Tests that a value and a bound beyond 2^63 are exact."""
    big = 2**40
    problem = posed([(0, 1, 0, big, big), (0, 1, 0, big, big - 1)], [big + 1, -big - 1])
    flow = NetworkFlow([1, big])
    assert problem.evaluate(flow) == (big + big * (big - 1),)
    assert problem.potential_bound([big, 0]) is not None
    solution = solve(problem, route="network-simplex")
    assert (solution.objective, certify(problem, solution).proved) == (problem.evaluate(flow), True)


def test_flows_and_potentials_past_int64() -> None:
    """Tests that what leaves a node, and what potentials prove, is exact however large the numbers are."""
    problem = posed([(0, 1, 0, 2**50, 3), (0, 1, 0, 2**50, 4)], [1, -1])
    far = 2**63 - 1
    amounts = [
        found.amount for found in problem.violations(NetworkFlow([far, far])) if found.constraint == "conservation"
    ]
    assert amounts == [2 * far - 1, 1 - 2 * far]
    assert problem.potential_bound([0, 2**70]) == 2**51 * -(2**70) + 7 * 2**50 + 2**70
    assert problem.potential_bound([-(2**53), 0]) == problem.potential_bound([0, 2**53])


def test_bounds() -> None:
    """Tests the cheap bound, and that there is none where an arc that pays has no limit."""
    assert [bound.value for bound in bounds(SMALL)] == [7 - 12]
    assert bounds(posed([(0, 0, 0, UNBOUNDED, -1)], [0])) == ()
    assert bounds(posed([(0, 0, 0, UNBOUNDED, 1)], [0]))[0].value == 0
