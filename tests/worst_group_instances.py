"""Small instances of `worst-group`: the two of the library, and random ones with two and three levels."""

from dataclasses import replace
from functools import partial
from typing import Any

import strategies
from replica_instances import small

import optsched
from optsched.core.instance import Instance
from optsched.problems import WorstGroup

#: Two groups that want one slot, and three levels where fairness costs locality.
ONE_SLOT = optsched.problem("worst-group", "examples/worst-group")
RACKS = optsched.problem("worst-group", "examples/worst-group-racks")


def posed(
    replicas: list[list[int]], groups: list[int], slots: list[int], racks: list[int] | None = None, **parameters: Any
) -> WorstGroup:
    """Tasks with these replicas, in these groups, on nodes with so many idle slots."""
    number = range(max(groups, default=0) + 1)
    jobs, names = [f"j{group}" for group in number], [f"g{group}" for group in number]
    instance = small(replicas, slots, job=groups, job_ids=jobs, job_group=list(number), group_ids=names)
    if racks is not None:
        instance = Instance(replace(instance.cluster, rack=racks, rack_ids=["r", "s"]), instance.workload)
    return WorstGroup(instance, **parameters)


problems = partial(strategies.problems, "worst-group")
