"""The instances and numbers of the claims and figures of Agosta et al."""

from __future__ import annotations

import numpy as np

from optsched import load, problem
from optsched.measuring.judging.cases.agosta import (
    apart,
    higher_loads,
    least_work,
    two_jobs,
)
from optsched.measuring.judging.quantities import Answer
from optsched.problems import Latency


def test_jobs_together_and_apart() -> None:
    """Tests that both ways place all tasks, and that split blocks stay on their half."""
    instance = two_jobs(1, "split")
    rows = [set(row.tolist()) for row in instance.replicas]
    assert all(row <= set(range(20)) for row in rows[:36])
    assert all(row <= set(range(20, 40)) for row in rows[36:])
    answer = Answer(Latency(instance), "labl")
    assert 72 <= apart(answer, "work") <= 3 * 72
    assert apart(answer, "first") <= apart(answer, "end")
    assert len(two_jobs(1, "mixed").workload) == 72


def test_higher_loads() -> None:
    """Tests that every load is higher by as much."""
    low, high = (higher_loads(2, "latency", more, nodes="5", tasks="6").state.load for more in ("0", "3"))
    assert np.array_equal(low + 3, high)


def test_least_work_by_a_makespan() -> None:
    """Tests the points of the frontier (6, 24), (7, 22), (8, 20) of the worked example of Agosta et al."""
    answer = Answer(problem("latency", load("papers/labl-figure2")), None)
    assert [least_work(answer, within) for within in ("6", "7", "8", "9")] == [24, 22, 20, 20]
