"""The families of Guo et al. 2012 have the paper's sizes and its mean optima."""

from __future__ import annotations

import numpy as np

from optsched.core.instance import Instance
from optsched.instances.generate import generate
from optsched.problems import problem
from optsched.routes import solve


def least_remote(instance: Instance) -> int:
    """The fewest tasks that are remote."""
    (remote,) = solve(problem("lsap", instance)).objective
    return remote


def test_guo() -> None:
    """Tests sizes of Guo et al. 2012: Figure 4, both columns of Table III, and replicas of exactly C."""
    for name, nodes, slots, idle, tasks, replicas in [
        ("guo-fig4", 100, 1, 50, 50, 5),
        ("guo-table3", 1000, 2, 200, 300, 3),
        ("guo-table3-delay", 1500, 2, 30, 256, 3),
    ]:
        instance = generate(name)
        assert len(instance.cluster) == nodes
        assert set(instance.cluster.slots.tolist()) == {slots}
        assert instance.state.idle_slots.sum() == idle
        assert instance.replicas.lengths.tolist() == [replicas] * tasks


def test_guo_closed_form() -> None:
    """Tests the mean optimum for S = C = 1 against Guo et al.'s E = IS (1 - (1 - 1/N)^T)."""
    drawn = (generate("lsap", seed, nodes=40, tasks=30, replicas=1, idle_ratio=0.75) for seed in range(100))
    matched = [30 - least_remote(instance) for instance in drawn]
    assert abs(np.mean(matched) - 30 * (1 - (1 - 1 / 40) ** 30)) < 0.4


def test_guo_fairness() -> None:
    """Tests Guo et al. 2012, section IV.B: 60 nodes, 30 running and 90 pending tasks, weights 1 to 16, one replica."""
    instance = generate("guo-fairness")
    workload = instance.workload
    assert (len(instance.cluster), int(instance.state.idle_slots.sum()), len(workload)) == (60, 30, 90)
    assert workload.group_weight.tolist() == [1, 2, 4, 8, 16]
    assert instance.state.group_running_tasks.sum() == 30
    assert instance.replicas.lengths.tolist() == [1] * 90
    assert set(workload.group.tolist()) == set(range(5))
