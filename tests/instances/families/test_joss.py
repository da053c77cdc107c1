"""The family for JoSS: jobs on nodes in several datacenters, with the ranges that its labels tell."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.core.instance import MAP, REDUCE
from optsched.instances.generate import generate
from optsched.problems import problem


@pytest.mark.parametrize("seed", range(4))
def test_ranges(seed: int) -> None:
    """Tests that each job has a map and a power of 2 of reduces, and that sizes, ratios and replicas keep to theirs."""
    sizes = {"nodes": 7, "tasks": 30, "datacenters": 3, "jobs": 6, "reduces": 5, "replicas": 3, "smallest": 50}
    instance = generate("traffic", seed, ratio=1.5, **sizes)
    workload, maps = instance.workload, instance.workload.kind == MAP
    assert np.bincount(workload.job[maps], minlength=6).min() >= 1
    assert set(np.bincount(workload.job[~maps], minlength=6).tolist()) <= {1, 2, 4}
    assert workload.size[maps].min() >= 50
    assert workload.size[maps].max() <= 128
    assert np.isnan(workload.size[workload.kind == REDUCE]).all()
    assert set((4 * workload.filter_ratio).tolist()) <= set(range(7))
    assert set(instance.replicas.lengths[maps].tolist()) == {1, 2, 3}
    assert not instance.replicas.lengths[~maps].any()
    assert np.bincount(instance.cluster.datacenter).tolist() == [3, 2, 2]
    assert len(problem("traffic", instance).tasks) == len(workload)


@pytest.mark.parametrize(("spare", "slots"), [(0, 10), (0.05, 11), (0.5, 15), (1, 20)])
def test_slots(spare: float, slots: int) -> None:
    """Tests that there are slots for all tasks of a kind and a share more, rounded up, spread over the nodes evenly."""
    cluster = generate("traffic", nodes=4, tasks=10, jobs=2, reduces=1, spare=spare).cluster
    assert cluster.slots.sum() == slots
    assert cluster.slots.max() - cluster.slots.min() <= 1
    assert cluster.reduce_slots.sum() == np.ceil(2 * (1 + spare))


def test_one_map() -> None:
    """Tests the smallest instance: a map of 128 MB on the only node, and a reduce."""
    workload = generate("traffic", nodes=1, tasks=1, datacenters=1, jobs=1, reduces=1, replicas=1).workload
    assert workload.kind.tolist() == [MAP, REDUCE]
    assert (workload.size[0], workload.replicas[0].tolist()) == (128, [0])
