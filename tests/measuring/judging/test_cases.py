"""The instances and numbers of single claims."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.core.instance import Instance
from optsched.instances.generate import generate
from optsched.measuring.judging.cases import (
    apart,
    by_switches,
    equal_replicas,
    extreme_rate,
    first_jobs,
    higher_loads,
    local_in_waves,
    map_deviation,
    map_time,
    rate,
    shuffle_shares,
    two_jobs,
)
from optsched.measuring.judging.findings import Check
from optsched.measuring.judging.quantities import Answer
from optsched.problems import Flow, Latency, Lsap
from optsched.simulating import simulate


def test_rates_of_the_first_job() -> None:
    """Tests the rate of the first round of Hsu and Freeh's workload: 16 maps of WordCount on 24 + 20 slots."""
    answer = Answer(Flow(first_jobs(0, "1")), "flow-sched")
    assert rate(answer) == pytest.approx(16 * 3.04)
    assert extreme_rate(answer, "least") == pytest.approx(16 * 3.04)
    assert extreme_rate(answer, "most") == pytest.approx(16 * 3.20)


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
    assert 72 <= apart(answer, "work") <= 3 * 72
    assert apart(answer, "first") <= apart(answer, "end")
    assert len(two_jobs(1, "mixed").workload) == 72


def test_higher_loads() -> None:
    """Tests that every load is higher by as much."""
    low, high = (higher_loads(2, "latency", more, nodes="5", tasks="6").state.load for more in ("0", "3"))
    assert np.array_equal(low + 3, high)


def test_switches() -> None:
    """Tests that a round over switches costs what the dense network costs, slots being scarce and not."""
    for jobs in ("1", "9"):
        answer = Answer(Flow(first_jobs(0, jobs)), "optimum")
        assert by_switches(answer) == pytest.approx(float(answer.value[0]))


def test_map_times_of_a_type() -> None:
    """Tests mean and deviation of the maps of a job type against the run's own table."""
    instance = generate("hsu-run", seed=0)
    assert isinstance(instance, Instance)
    done = simulate(instance, "fifo", "rates")
    grep = done.tasks["job_id"].str.startswith("grep") & (done.tasks["kind"] == "map")
    maps = done.tasks[grep]["execution_time"]
    assert len(maps) == 16
    assert map_time(done, "grep") == pytest.approx(maps.mean())
    assert map_deviation(done, "grep") == pytest.approx(maps.std(ddof=0))


def test_shuffle_shares() -> None:
    """Tests that random ratios come no nearer to Figure 3 than the search over all of them says."""
    finding = shuffle_shares(Check(says="shares", holds=False), 1)
    assert not finding.true
    (least,) = finding.numbers["jobs that differ at least"]
    rng = np.random.default_rng(0)
    sizes = np.arange(10, 101, 10)
    for ratios in rng.exponential(2, size=(2000, 3)):
        sent = np.outer(ratios, sizes)
        counts = (sent > 50).sum(), (sent > 100).sum(), (sent < 10).sum()
        assert max(abs(count - told) for count, told in zip(counts, (18, 6, 6), strict=True)) >= least
