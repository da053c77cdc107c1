"""Small instances of `worst-group`: the two of the library, and random ones with two and three levels."""

from __future__ import annotations

from functools import partial
from typing import Any

import strategies

from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
from optsched.instances.files import load
from optsched.problems import WorstGroup


def library(name: str) -> WorstGroup:
    """The problem on an instance of the library."""
    instance = load(name)
    assert isinstance(instance, Instance)
    return WorstGroup(instance)


#: Two groups that want one slot, and three levels where fairness costs locality.
ONE_SLOT, RACKS = library("examples/worst-group"), library("examples/worst-group-racks")


def posed(
    replicas: list[list[int]], groups: list[int], slots: list[int], racks: list[int] | None = None, **parameters: Any
) -> WorstGroup:
    """Tasks with these replicas, in these groups, on nodes with so many idle slots."""
    nodes = [f"n{node}" for node in range(len(slots))]
    cluster = Cluster(
        nodes, slots=[max(slots)] * len(slots), rack=racks, rack_ids=None if racks is None else ["r", "s"]
    )
    number = max(groups, default=0) + 1
    workload = Workload(
        [f"t{task}" for task in range(len(groups))],
        replicas=Ragged.from_rows(replicas),
        job=groups,
        job_ids=[f"j{group}" for group in range(number)],
        job_group=list(range(number)),
        group_ids=[f"g{group}" for group in range(number)],
    )
    return WorstGroup(Instance(cluster, workload, State.initial(cluster, workload, idle_slots=slots)), **parameters)


problems = partial(strategies.problems, "worst-group")
