"""The family with the fields of all problems."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.core.errors import MissingField
from optsched.core.instance import MAP, REDUCE
from optsched.instances.generate import generate
from optsched.problems import PROBLEMS, problem

#: How many tasks each problem places: the 12 maps, the 4 reduces, or all.
FIELDS = {
    **dict.fromkeys(("lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow", "latency", "transmission-maps"), 12),
    **dict.fromkeys(("flow-congestion", "transmission", "utility", "traffic"), 16),
    **dict.fromkeys(("makespan", "job-times"), 16),
    "transmission-reduces": 4,
}

#: What wants a cost of each pair, and what is no placement.
OTHERS = {"generalized-assignment", "min-cost-flow"}


@pytest.mark.parametrize("seed", range(3))
def test_every_problem_of_the_papers_can_be_posed(seed: int) -> None:
    """Tests that no problem that places tasks lacks a field, but for generalised assignment, which wants pair costs."""
    instance = generate("mixed", seed)
    assert set(PROBLEMS) - OTHERS == set(FIELDS)
    assert {name: len(problem(name, instance).tasks) for name in FIELDS} == FIELDS
    with pytest.raises(MissingField, match=r"pairs\.cost"):
        problem("generalized-assignment", instance)


def test_each_job_sends_its_ratio() -> None:
    """Tests that a job sends what its maps read times its ratio, to its reduces alike, and that the label says so."""
    instance = generate("mixed", 1, nodes=6, tasks=20, reduces=6, jobs=3, groups=2)
    workload, shuffle = instance.workload, instance.workload.shuffle
    assert shuffle is not None
    read = np.bincount(workload.job[workload.kind == MAP], workload.size[workload.kind == MAP])
    sent = np.bincount(workload.job[shuffle.map], shuffle.size)
    assert sent == pytest.approx(read * workload.filter_ratio)
    assert np.array_equal(workload.job[shuffle.map], workload.job[shuffle.reduce])
    taken = np.bincount(shuffle.reduce, shuffle.size)[workload.kind == REDUCE]
    assert taken == pytest.approx((sent / 2)[workload.job[workload.kind == REDUCE]])
    assert "proportion" in instance.labels["shuffle"]


def test_times_of_the_tasks_of_a_job() -> None:
    """Tests that maps take longer the farther their data, alike within a job, and that reduces have a duration."""
    workload = generate("mixed", 3, nodes=6, tasks=20, reduces=6, jobs=3).workload
    maps, times = workload.kind == MAP, workload.times
    assert np.isnan(times[~maps]).all()
    assert np.array_equal(times[maps, 0], workload.map_time[workload.job[maps]])
    assert (np.diff(times[maps]) > 0).all()
    assert np.array_equal(np.isnan(workload.duration), maps)
    for job in range(3):
        assert len(np.unique(times[maps & (workload.job == job)], axis=0)) == 1
        assert len(np.unique(workload.duration[~maps & (workload.job == job)])) == 1


def test_racks_share_the_datacenters() -> None:
    """Tests that a rack stands in one datacenter, and that racks, datacenters, jobs and groups are all used."""
    instance = generate("mixed", 2, nodes=10, racks=5, datacenters=2, jobs=4, groups=3)
    racks, datacenters = instance.cluster.rack, instance.cluster.datacenter
    assert len(set(zip(racks.tolist(), datacenters.tolist(), strict=True))) == len(set(racks.tolist())) == 5
    assert len(set(datacenters.tolist())) == 2
    assert set(instance.workload.job_group.tolist()) == {0, 1, 2}
