"""Routes by programs over time: what they hold and claim where they are stopped."""

from __future__ import annotations

import pytest
from over_time import both

from optsched.results import Proof
from optsched.routes import solve
from optsched.solvers.profiles import Profile


@pytest.mark.parametrize("route", ["arrays", "pyomo", "pulp"])
def test_stopped_programs_hold_a_schedule_and_a_bound(route: str) -> None:
    """Tests that without a node the list schedule is held at least, and no bound is above the optimum."""
    for problem, best in both(range(3)):
        found = solve(problem, Profile("exact", node_limit=0), route=route)
        assert found.objective is not None
        assert found.bound[0] is not None
        assert found.bound[0] <= best <= found.objective[0]


def test_without_time_there_is_what_is_plain() -> None:
    """Tests that a limit of no time leaves a feasible schedule and a proved bound."""
    for problem, best in both(range(3)):
        found = solve(problem, route="arrays", time_limit=0)
        assert found.bound[0] is not None
        assert found.bound[0] <= best
        assert all(certificate.kind is not Proof.SOLVER for certificate in found.certificates)
