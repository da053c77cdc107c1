"""Groups with weights: what is due to each, what each has, how far that is apart, and what is missing for it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched.core.instance import MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, Workload
from optsched.problems.groups import Groups, missing_group_of_tasks, missing_groups


def instance(weights: list[float], **columns: Any) -> Instance:
    """Groups g0, ... with a job each, and one pending map of each unless `columns` say otherwise."""
    number = len(weights)
    columns = {"job": list(range(number)), "job_group": list(range(number))} | columns
    state = {name: columns.pop(name, None) for name in ("status", "node", "group_running_tasks")}
    workload = Workload(
        [f"t{task}" for task in range(len(columns["job"]))],
        job_ids=[f"j{job}" for job in range(len(columns["job_group"]))],
        group_ids=[f"g{group}" for group in range(number)],
        group_weight=weights,
        **columns,
    )
    return Instance.initial(Cluster(["n"], slots=[9]), workload, **state)


def test_weights_are_the_decimals_that_are_written() -> None:
    """Tests that 0.2, 0.3 and 0.5 are due what 2, 3 and 5 are, and that a weight of 0 is due nothing."""
    due = [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]
    assert Groups.of(instance([0.2, 0.3, 0.5])).weights == due == Groups.of(instance([2, 3, 5])).weights
    assert Groups.of(instance([0, 4])).weights == [0, 1]


def test_running_maps_are_those_told_or_else_listed() -> None:
    """Tests that a group's own number stands for its maps, else the listed; reduces and what waits do not count."""
    listed = {
        "job": [0, 0, 0, 1, 1],
        "kind": [MAP, REDUCE, MAP, MAP, MAP],
        "status": [RUNNING, RUNNING, PENDING, RUNNING, RUNNING],
        "node": [0, 0, -1, 0, 0],
    }
    assert Groups.of(instance([1, 1], **listed)).running == [1, 2]
    assert Groups.of(instance([1, 1, 1], **listed, job_group=[0, 1], group_running_tasks=[-1, -1, 7])).running == [
        1,
        2,
        7,
    ]
    assert Groups.of(instance([1, 1], group_running_tasks=[0, 4])).running == [0, 4]


def test_shares() -> None:
    """Tests the share of each in all that runs, with more of it, and that nothing is a share of nothing."""
    groups = Groups(["g", "h"], [Fraction(1, 2)] * 2, [3, 1])
    assert groups.shares() == [Fraction(3, 4), Fraction(1, 4)]
    assert groups.shares([0, 2]) == groups.shares(np.array([0, 2])) == [Fraction(1, 2), Fraction(1, 2)]
    assert Groups(["g", "h"], [Fraction(1, 2)] * 2, [0, 0]).shares() == [0, 0]


@pytest.mark.parametrize("placed", [None, [0, 0], [1, 0], [0, 1], [5, 2]])
def test_distance_by_definition(placed: list[int] | None) -> None:
    """Tests both readings of equation 14 of Guo et al. 2012 against the words, in floats."""
    groups = Groups(["g", "h"], [Fraction(1, 5), Fraction(4, 5)], [2, 3])
    counts = [2 + (placed or [0, 0])[0], 3 + (placed or [0, 0])[1]]
    apart = [abs(count / sum(counts) - due) for count, due in zip(counts, (0.2, 0.8), strict=True)]
    assert float(groups.distance(placed)) == pytest.approx(sum(apart) / 2)
    assert float(groups.distance(placed, relative=True)) == pytest.approx((apart[0] / 0.2 + apart[1] / 0.8) / 2)


def test_missing_groups() -> None:
    """Tests the fault of each record: no group, no weight, no positive sum, and a weight of 0 where that is asked."""
    nothing = Instance(Cluster(["n"]), Workload(["t"]))
    assert [str(fault) for fault in missing_groups(nothing, "who")] == ["groups: who needs groups with weights"]
    nan = float("nan")
    assert [str(fault) for fault in missing_groups(instance([1, nan, nan]), "who")] == [
        "groups[1].weight: who needs the group's share",
        "groups[2].weight: who needs the group's share",
    ]
    for positive in (None, "whoever divides"):
        told = [str(fault) for fault in missing_groups(instance([0, 0]), "who", positive)]
        assert told == ["groups.weight: the weights must have a positive sum"]
    assert list(missing_groups(instance([0, 1]), "who")) == []
    told = [str(fault) for fault in missing_groups(instance([0, 1]), "who", "whoever divides")]
    assert told == ["groups[0].weight: whoever divides: give a positive share"]


def test_missing_group_of_tasks() -> None:
    """Tests the place of what is missing, of a task or its job, and that running maps count only where they are to."""
    gaps = instance(
        [1],
        job=[-1, 1, 1, 1, 0],
        job_group=[0, -1],
        kind=[MAP, MAP, MAP, REDUCE, MAP],
        status=[PENDING, PENDING, RUNNING, PENDING, PENDING],
        node=[-1, -1, 0, -1, -1],
    )
    told = [str(fault) for fault in missing_group_of_tasks(gaps, "who")]
    assert told == [
        'tasks[0].job: who needs a group for task "t0"',
        'jobs[1].group: who needs a group for task "t1"',
        'jobs[1].group: who needs a group for task "t2"',
    ]
    assert [str(fault) for fault in missing_group_of_tasks(gaps, "who", running=False)] == told[:2]
    assert [str(fault) for fault in missing_groups(gaps, "who")] == told
