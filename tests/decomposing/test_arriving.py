"""Plans that are made anew at each arrival: what nobody knows of later ones costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import optsched
from optsched.decomposing.arriving import arrivals, known_at, planned_anew
from optsched.instance import PENDING, RUNNING, Cluster, Instance, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan


def posed(arrival: list[int], duration: list[int], nodes: int = 1) -> Instance:
    """A job of one task at each arrival."""
    names = [f"j{job}" for job in range(len(arrival))]
    workload = Workload(names, job=range(len(names)), job_ids=names, arrival=arrival, duration=duration)
    return Instance(Cluster([f"n{node}" for node in range(nodes)]), workload)


def test_a_long_job_that_has_begun() -> None:
    """Tests that who knows of the short job lets the long one wait, and who does not has begun it by then."""
    problem = JobTimes(posed([0, 1], [9, 1]))
    assert (planned_anew(problem), optsched.solve(problem).objective) == (18, (12,))
    present = known_at(problem, optsched.solve(problem).decision, 1_000_000)
    assert present.state.status.tolist() == [PENDING, PENDING]


def test_what_is_known() -> None:
    """Tests that a plan shows what it has started, and no job that comes later."""
    problem = JobTimes(posed([0, 1, 2], [9, 1, 1]))
    plan = optsched.simulate(problem.instance, "fifo", heartbeat=0).schedule
    present = known_at(problem, plan, 1_000_000)
    assert present.workload.job_ids.tolist() == ["j0", "j1"]
    assert present.state.status.tolist() == [RUNNING, PENDING]
    assert np.array_equal(arrivals(problem), [0, 1_000_000, 2_000_000])


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=4), st.integers(1, 2))
def test_between_the_optimum_and_itself(jobs: list[tuple[int, int]], nodes: int) -> None:
    """Tests that no plan without the future beats the optimum, and that it is the optimum if all arrives at once."""
    arrival, duration = map(list, zip(*jobs, strict=True))
    for kind in (JobTimes, Makespan):
        best = optsched.solve(kind(posed(arrival, duration, nodes))).objective
        found = planned_anew(kind(posed(arrival, duration, nodes)))
        assert found is not None
        assert best is not None
        assert found >= best[0]
        at_once = kind(posed([arrival[0]] * len(jobs), duration, nodes))
        assert planned_anew(at_once) == pytest.approx(optsched.solve(at_once).objective[0], abs=0)
