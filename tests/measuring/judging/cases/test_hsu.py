"""The instances and numbers of Hsu and Freeh's figures."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.core.instance import MAP, Instance
from optsched.core.placement import MICRO
from optsched.instances.generate import generate
from optsched.measuring.judging.cases.hsu import (
    aggregate_rate,
    by_switches,
    extreme_rate,
    first_jobs,
    longest_map,
    map_times,
    one_node,
    rate,
    small_round,
)
from optsched.measuring.judging.quantities import Answer
from optsched.problems import Flow, FlowCongestion
from optsched.simulating import service_of, simulate


@pytest.mark.parametrize(
    ("kind", "maps", "cluster", "rate"),
    [("terasort", 1, 1, 9.14), ("nocomputation", 8, 1, 60), ("grep", 8, 2, 8 * 0.27), ("nocomputation", 1, 2, 20)],
)
def test_what_a_node_processes(kind: str, maps: int, cluster: int, rate: float) -> None:
    """Tests the ends of Figure 5: one map goes at its rate, many at what the node can."""
    done = simulate(one_node(0, kind, str(maps), str(cluster)), "fifo", service_of("rates"), seed=0)
    assert aggregate_rate(done) == pytest.approx(rate, rel=1e-5)


def test_grep_is_the_longest() -> None:
    """Tests the bound, 64 MB at .27 MB/s, and when the last map of Grep starts, in the run itself."""
    drawn = generate("hsu-run", seed=1)
    assert isinstance(drawn, Instance)
    done = simulate(drawn, "balancing", service_of("rates"), seed=1)
    assert longest_map(done) == pytest.approx(64 / 0.27, rel=1e-6)
    assert done.makespan >= longest_map(done)
    workload = drawn.workload
    grep = np.array([job.startswith("grep") for job in workload.job_ids.tolist()])[workload.job]
    maps = grep & (workload.kind == MAP)
    assert map_times(done, "grep", "last_start") == pytest.approx(done.schedule.starts[maps].max() / MICRO, abs=1e-5)


def test_small_rounds() -> None:
    """Tests that a slot is free for every task on every node, and that rounds differ."""
    drawn = [small_round(seed) for seed in range(30)]
    assert {len(one.workload) for one in drawn} == {3, 4, 5, 6}
    assert all((one.state.idle_slots == len(one.workload)).all() for one in drawn)
    assert len({one.state.running_rates.values.tobytes() for one in drawn}) > 20


def test_only_the_first_jobs_wait() -> None:
    """Tests that 16 maps wait for each job, and that all 44 slots stay idle."""
    for jobs in (1, 3, 9):
        problem = FlowCongestion(first_jobs(0, "hsu-table3", str(jobs)), scale="rate_process")
        assert len(problem.tasks) == 16 * jobs
        assert problem.instance.state.idle_slots.sum() == 44


def test_rates_of_the_first_job() -> None:
    """Tests the rate of the first round of Hsu and Freeh's workload: 16 maps of WordCount on 24 + 20 slots."""
    answer = Answer(Flow(first_jobs(0, "papers/hsu-workload", "1")), "flow-sched")
    assert rate(answer) == pytest.approx(16 * 3.04)
    assert extreme_rate(answer, "least") == pytest.approx(16 * 3.04)
    assert extreme_rate(answer, "most") == pytest.approx(16 * 3.20)


def test_switches() -> None:
    """Tests that a round over switches costs what the dense network costs, slots being scarce and not."""
    for jobs in ("1", "9"):
        answer = Answer(Flow(first_jobs(0, "papers/hsu-workload", jobs)), "optimum")
        assert by_switches(answer) == pytest.approx(float(answer.value[0]))


def test_map_times_of_a_type() -> None:
    """Tests mean and deviation of the maps of a job type against the run's own table."""
    instance = generate("hsu-run", seed=0)
    assert isinstance(instance, Instance)
    done = simulate(instance, "fifo", "rates")
    grep = done.tasks["job_id"].str.startswith("grep") & (done.tasks["kind"] == "map")
    maps = done.tasks[grep]["execution_time"]
    assert len(maps) == 16
    assert map_times(done, "grep", "mean") == pytest.approx(maps.mean())
    assert map_times(done, "grep", "deviation") == pytest.approx(maps.std(ddof=0))
