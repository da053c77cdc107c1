"""The instances and numbers of single claims."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.measuring.judging.cases import (
    apart_end,
    apart_work,
    equal_replicas,
    first_end,
    first_jobs,
    higher_loads,
    least_rate,
    local_in_waves,
    most_rate,
    rate,
    two_jobs,
)
from optsched.measuring.judging.quantities import Answer
from optsched.problems import Flow, Latency, Lsap


def test_rates_of_the_first_job() -> None:
    """Tests the rate of the first round of Hsu and Freeh's workload: 16 maps of WordCount on 24 + 20 slots."""
    answer = Answer(Flow(first_jobs(0, "1")), "flow-sched")
    assert rate(answer) == pytest.approx(16 * 3.04)
    assert least_rate(answer) == pytest.approx(16 * 3.04)
    assert most_rate(answer) == pytest.approx(16 * 3.20)


def test_equal_replicas() -> None:
    """Tests that each block has as many replicas, and that as many slots are idle."""
    drawn = equal_replicas(3, "10", "7", "4", "2", "2")
    assert set(drawn.replicas.lengths.tolist()) == {2}
    assert drawn.state.idle_slots.sum() == 7
    assert drawn.state.idle_slots.max() <= 2


def test_waves() -> None:
    """Tests that one wave is the snapshot, and that every task is local if every node holds its block."""
    one = Answer(Lsap(equal_replicas(0, "20", "10", "10", "2")), "lsap-sched")
    assert 10 * local_in_waves(one) == 10 - one.value[0]
    assert local_in_waves(Answer(Lsap(equal_replicas(0, "5", "2", "9", "5")), "dl")) == 1


def test_jobs_together_and_apart() -> None:
    """Tests that both ways place all tasks, and that split blocks stay on their half."""
    instance = two_jobs(1, "split")
    rows = [set(row.tolist()) for row in instance.replicas]
    assert all(row <= set(range(20)) for row in rows[:36])
    assert all(row <= set(range(20, 40)) for row in rows[36:])
    answer = Answer(Latency(instance), "labl")
    assert 72 <= apart_work(answer) <= 3 * 72
    assert first_end(answer) <= apart_end(answer)
    assert len(two_jobs(1, "mixed").workload) == 72


def test_higher_loads() -> None:
    """Tests that every load is higher by as much."""
    low, high = (higher_loads(2, "latency", more, nodes="5", tasks="6").state.load for more in ("0", "3"))
    assert np.array_equal(low + 3, high)
