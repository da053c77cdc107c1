"""Every policy runs on workloads that lack what policies look at: replicas, sizes, racks, jobs, a shuffle."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from over_time import arriving

from optsched.core.errors import MissingField
from optsched.core.instance import MAP, Instance, Ragged, Topology, Workload
from optsched.heuristics import HEURISTICS
from optsched.heuristics.simulating import simulate

POLICIES = [name for name, entry in HEURISTICS.items() if entry.online]

#: Those that need distances and sizes of the shuffle.
BY_DISTANCE = {"probabilistic", "least-cost", "coupling"}

LINKS = [("n0", "s0", 10.0), ("n1", "s0", 10.0), ("n2", "s1", 5.0), ("n3", "s1", 20.0), ("s0", "s1", 1.0)]

#: Distances that are no nested areas, nested areas, and none.
TOPOLOGIES: dict[str, Topology | None] = {
    "matrix": Topology("distance", 1 - np.eye(4)),
    "rates": Topology("rate", np.full((4, 4), 2.0)),
    "links": Topology("links", links=LINKS),
    "hops": Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4}),
    "none": None,
}


def no_replicas(workload: Workload) -> Workload:
    """No map has a replica."""
    return replace(workload, replicas=Ragged.from_rows([[]] * len(workload)))


def some_replicas(workload: Workload) -> Workload:
    """Every second task has none."""
    rows = [row.tolist() if task % 2 else [] for task, row in enumerate(workload.replicas)]
    return replace(workload, replicas=Ragged.from_rows(rows))


def some_sizes(workload: Workload) -> Workload:
    """Every second map has no size."""
    return replace(workload, size=np.where(np.arange(len(workload)) % 2 == MAP, np.nan, workload.size))


def empty_jobs(workload: Workload) -> Workload:
    """Tasks of the first job are of no job, and that job is empty."""
    return replace(workload, job=np.where(workload.job == 0, -1, workload.job))


def no_shuffle(workload: Workload) -> Workload:
    """Reduces fetch nothing."""
    return replace(workload, shuffle=None)


def only_maps(workload: Workload) -> Workload:
    """No reduces, and no sizes or replicas of maps."""
    maps = arriving(0, reduces=0).workload
    return no_replicas(replace(maps, size=np.full(len(maps), np.nan)))


def no_tasks(workload: Workload) -> Workload:
    """Not one task."""
    return Workload([])


LACKS = [no_replicas, some_replicas, some_sizes, empty_jobs, no_shuffle, only_maps, no_tasks]


def bare(lacks: Callable[[Workload], Workload], form: str) -> Instance:
    """A workload over time that lacks something, on four nodes with distances of a form; one has no rack."""
    drawn = arriving(0)
    nodes = [f"n{node}" for node in range(4)]
    rack = np.array([0, 0, 1, -1])
    cluster = replace(drawn.cluster, node_ids=np.array(nodes), rack=rack, topology=TOPOLOGIES[form])
    return Instance(cluster, lacks(drawn.workload), name=f"{lacks.__name__}-{form}")


@pytest.mark.parametrize("form", TOPOLOGIES)
@pytest.mark.parametrize("lacks", LACKS)
def test_every_policy_runs_on_what_lacks_something(lacks: Callable[[Workload], Workload], form: str) -> None:
    """Tests that each policy of the list starts and ends every task, or says first what the instance lacks."""
    instance, refused = bare(lacks, form), set()
    for name in POLICIES:
        try:
            assert simulate(instance, name).unfinished == ""
        except MissingField:
            refused.add(name)
    assert not refused & set(POLICIES) - BY_DISTANCE
    if lacks in (no_replicas, some_replicas, empty_jobs) and form != "none":
        assert not refused, "nothing that these policies need is missing"
