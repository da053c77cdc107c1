"""The instances and numbers of Hsu and Freeh's figures."""

from __future__ import annotations

import numpy as np
import pytest

from optsched import load, problem
from optsched.core.instance import MAP, Instance
from optsched.core.schedule import MICRO
from optsched.instances.generate import generate
from optsched.measuring.judging.cases import (
    aggregate_rate,
    arrived,
    last_start,
    longest_map,
    one_node,
    small_round,
)
from optsched.measuring.judging.quantities import Answer
from optsched.measuring.judging.readers import SETTINGS, drawn_round, excess, with_readers
from optsched.problems import FlowCongestion
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
    assert last_start(done, "grep") == pytest.approx(done.schedule.starts[maps].max() / MICRO, abs=1e-5)


def test_small_rounds() -> None:
    """Tests that a slot is free for every task on every node, and that rounds differ."""
    drawn = [small_round(seed) for seed in range(30)]
    assert {len(one.workload) for one in drawn} == {3, 4, 5, 6}
    assert all((one.state.idle_slots == len(one.workload)).all() for one in drawn)
    assert len({one.state.running_rates.values.tobytes() for one in drawn}) > 20


def test_only_the_first_jobs_wait() -> None:
    """Tests that 16 maps wait for each job, and that all 44 slots stay idle."""
    for jobs in (1, 3, 9):
        problem = FlowCongestion(arrived(0, str(jobs)), scale="rate_process")
        assert len(problem.tasks) == 16 * jobs
        assert problem.instance.state.idle_slots.sum() == 44


def test_readers_by_hand() -> None:
    """Tests the costs that the instance's description derives: 91.294 together, 86.024 apart."""
    posed = problem("flow-congestion", load("papers/hsu-storage-load"))
    together, apart = (Answer(posed, f"nocomputation1@n1 nocomputation2@{node}") for node in ("n1", "n2"))
    assert float(together.value[0]) == pytest.approx(79.247, abs=5e-4)
    for answer, cost in ((together, 91.294), (apart, 86.024)):
        nodes = posed.nodes_of(answer.decision)
        assert with_readers(answer, nodes, "seeming") == pytest.approx(cost, abs=5e-4)


@pytest.mark.parametrize("setting", SETTINGS)
def test_readers_of_drawn_rounds(setting: str) -> None:
    """Tests that nothing is below the least cost, and that the best sources cost no more than those that seem best."""
    answer = Answer(problem("flow-congestion", drawn_round(0, setting), scale=85), "optimum")
    best, seeming = excess(answer, "best"), excess(answer, "seeming")
    assert -1e-9 <= best <= seeming + 1e-9
