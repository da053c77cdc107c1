"""Enumeration as a route: what it claims of each component, and which problems it is the only route of."""

from __future__ import annotations

import generalized_assignment_instances as generalized
import min_cost_flow_instances
import pytest
from replica_instances import FIGURE_2, small

from optsched.errors import TooLarge, UsageError
from optsched.problems import Latency, Lsap
from optsched.results import FEASIBLE, Certificate, Proof, Termination
from optsched.routes import enumerated, solve
from optsched.routes.enumerated import ALL_TRIED
from optsched.solvers.profiles import Profile


def test_each_component_is_claimed() -> None:
    """Tests the certificates of both components, which hold no data, and that no limit of a solver is one of it."""
    posed = Latency(small([[0]] * 4, [1, 1]), w_rem=3)
    solution = solve(posed, Profile("none", node_limit=0), route="brute-force")
    assert solution.optimal
    assert solution.raw_status == "all placements tried"
    assert solution.certificates == (
        Certificate("makespan", Proof.ENUMERATION, 3),
        Certificate("work", Proof.ENUMERATION, 6),
    )


def test_what_is_infeasible_was_tried() -> None:
    """Tests the words where each of two tasks fits beside none."""
    solution = solve(generalized.posed([[1], [1]], {"weight": [[2], [2]]}, {"weight": [3]}), route="brute-force")
    assert (solution.termination, solution.raw_status) == (Termination.INFEASIBLE, ALL_TRIED)
    assert solution.certificates == (Certificate(FEASIBLE, Proof.ENUMERATION, 0),)


def test_flows_are_not_enumerated() -> None:
    """Tests that it is the route of any problem that places tasks, and of none that decides a flow."""
    assert enumerated.routes(Lsap(FIGURE_2)) == enumerated.ROUTES == ("brute-force",)
    with pytest.raises(UsageError, match="min-cost-flow has no routes, and it decides a flow"):
        enumerated.routes(min_cost_flow_instances.SMALL)


def test_what_cannot_be_finished_is_refused() -> None:
    """Tests that enumeration says how much it would take before it starts, by the route too."""
    with pytest.raises(TooLarge, match=r"30\^30 placements.*leave the route out"):
        solve(Lsap(small([[0]] * 30, [1] * 29)), route="brute-force")
