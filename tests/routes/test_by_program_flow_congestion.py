"""The routes of `flow-congestion` against enumeration."""

from __future__ import annotations

import pytest

import optsched
from optsched.certificates import certify
from optsched.core.errors import TooLarge
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import Proof
from optsched.problems import FlowCongestion, flow_congestion
from optsched.routes import solve


def test_bug_duals_on_the_limit_of_a_pair() -> None:
    """Tests that prices prove the optimum too where HiGHS could price a class's supply at the limit of its pair.

    Two alike nodes, and two Greps of which one reads from a busy node and the other from afar.
    """
    cluster = Cluster(
        ["a", "b", "storage"],
        slots=[2, 2, 0],
        rate_in=[85.0] * 3,
        rate_out=[85.0] * 3,
    )
    running = Ragged.from_rows([[0.27, 12.8], [0.27, 12.8], []], float)
    workload = Workload(["t1", "t2"], rate_in=[0.27, 0.27], replicas=Ragged.from_rows([[2], []]))
    instance = Instance.initial(cluster, workload, out_in_use=[0.0, 0.0, 200.0], running_rates=running)
    problem = FlowCongestion(instance, f_c=(0.5, 0.1, 0.2), scale=1)
    solution = solve(problem)
    assert solution.certificate is Proof.DUAL
    assert certify(problem, solution).proved


def test_whole_relaxation_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where the relaxed patterns come out whole no integer program is solved."""
    monkeypatch.delattr("optsched.routes.programs.solve_arrays")
    problem = optsched.problem("flow-congestion", "papers/hsu-two-clusters")
    solution = solve(problem)
    assert solution.certificate is Proof.DUAL
    assert certify(problem, solution).proved


@pytest.mark.parametrize("route", ["arrays", "pyomo", "pulp"])
def test_too_many(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that every route refuses what cannot be listed, with a message that says what to do."""
    monkeypatch.setattr(flow_congestion, "MOST_PATTERNS", 5)
    with pytest.raises(TooLarge, match="4 types of tasks make 22 patterns on 2 different nodes, too many to list"):
        solve(optsched.problem("flow-congestion", "papers/hsu-two-clusters"), route=route)
