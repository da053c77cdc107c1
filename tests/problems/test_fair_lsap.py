"""Groups with weights; and `fair-lsap`: Guo et al.'s formulas by hand, each reading, rations, and what is refused."""

import warnings
from fractions import Fraction
from typing import Any

import pytest

from optsched.core.errors import InputError
from optsched.core.instance import MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, Ragged, Workload
from optsched.problems import FairLsap
from optsched.problems.fair_lsap import Groups, RationRuleWarning, missing_group_of_tasks, missing_groups


def instance(weights: list[float], nodes: int = 1, **columns: Any) -> Instance:
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
    return Instance.initial(Cluster(["n", "o"][:nodes], slots=[9] * nodes), workload, **state)


def test_running_maps_are_those_told_or_else_listed() -> None:
    """Tests that a group's own number stands for its maps, else the listed; reduces and what waits do not count."""
    listed = {
        "job": [0, 0, 0, 1, 1],
        "kind": [MAP, REDUCE, MAP, MAP, MAP],
        "status": [RUNNING, RUNNING, PENDING, RUNNING, RUNNING],
        "node": [0, 0, -1, 0, 0],
    }
    assert Groups.of(instance([1, 1], **listed)).running == [1, 2]
    some = instance([1, 1, 1], **listed, job_group=[0, 1], group_running_tasks=[-1, -1, 7])
    assert Groups.of(some).running == [1, 2, 7]
    assert Groups.of(instance([1, 1], group_running_tasks=[0, 4])).running == [0, 4]
    assert Groups(["g", "h"], [Fraction(1, 2)] * 2, [0, 0]).shares() == [0, 0]  # nothing is a share of nothing


def test_missing_groups() -> None:
    """Tests the fault of each record: no group, no weight, no positive sum, and a weight of 0 where that is asked."""
    no_sum = ["groups.weight: the weights must have a positive sum"]
    by, nan = "whoever divides", float("nan")
    for given, positive, expected in (
        (Instance(Cluster(["n"]), Workload(["t"])), None, ["groups: who needs groups with weights"]),
        (instance([1, nan, nan]), None, [f"groups[{row}].weight: who needs the group's share" for row in (1, 2)]),
        (instance([0, 0]), None, no_sum),
        (instance([0, 0]), by, no_sum),
        (instance([0, 1]), None, []),
        (instance([0, 1]), by, ["groups[0].weight: whoever divides: give a positive share"]),
    ):
        assert [str(fault) for fault in missing_groups(given, "who", positive)] == expected


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
    faults = [str(fault) for fault in missing_group_of_tasks(gaps, "who")]
    assert faults == [
        'tasks[0].job: who needs a group for task "t0"',
        'jobs[1].group: who needs a group for task "t1"',
        'jobs[1].group: who needs a group for task "t2"',
    ]
    assert [str(fault) for fault in missing_group_of_tasks(gaps, "who", running=False)] == faults[:2]
    assert [str(fault) for fault in missing_groups(gaps, "who")] == faults


#: Groups g (weight 1/4), h (3/4). g runs 3 of the 4 running maps.
RUNNING_TASKS = [3, 1]


def example(
    rows: list[list[int]] | None = None,
    idle: list[int] | None = None,
    groups: list[int] | None = None,
    running: list[int] | None = None,
    **parameters: Any,
) -> FairLsap:
    """Two nodes of four slots, so 8 in all: shares 2 and 6. Tasks t1, t2 of g and t3, t4 of h wait for 2 slots."""
    cluster = Cluster(["a", "b"], slots=[4, 4])
    groups = [0, 0, 1, 1] if groups is None else groups
    workload = Workload(
        [f"t{task}" for task in range(1, len(groups) + 1)],
        replicas=Ragged.from_rows([[0], [1], [0], []] if rows is None else rows),
        job=groups,
        job_ids=["i", "j"],
        job_group=[0, 1],
        group_ids=["g", "h"],
        group_weight=[1, 3],
    )
    state = {"idle_slots": idle or [1, 1], "group_running_tasks": running or RUNNING_TASKS}
    return FairLsap(Instance.initial(cluster, workload, **state), **parameters)


def test_fairness_distance() -> None:
    """Tests equations 14 and 15 before and after a placement, absolute and relative to the weights."""
    problem, half = example(), Fraction(1, 2)
    assert problem.fairness_distance() == half
    assert problem.fairness_distance(relative=True) == (half / Fraction(1, 4) + half / Fraction(3, 4)) / 2
    assert problem.fairness_distance(problem.placement([-1, -1, 0, 1])) == Fraction(1, 4)


def test_ration_rule_warning() -> None:
    """Tests that a user's beta that lets overflow undercut a ration warns with numbers, and other forms do not."""
    with pytest.warns(RationRuleWarning, match="beta=100: .* overflow cost of 25 is not above the largest GFC of 300"):
        example(beta=100)
    with pytest.warns(RationRuleWarning, match="take more than 1200"):
        assert example(beta="1200").beta == 1200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        example(beta=1201)
        example(beta=100, overflow="naive")
        example(beta="auto")


def test_costs_past_exact_arithmetic() -> None:
    """Tests that an alpha whose total leaves exact arithmetic on the grid is refused."""
    with pytest.raises(InputError, match=r"may total .*past 2\^53/1048576"):
        example(alpha=2**33)


def test_group_without_a_share_is_warned_of() -> None:
    """Tests that a weight of 0, whose overflow costs nothing, is warned of also where beta is left to the problem."""
    with pytest.warns(RationRuleWarning, match="positive weight"):
        problem = FairLsap(instance([1, 0], nodes=2, group_running_tasks=[0, 3]), gfc="difference")
    assert problem.overflow_cost[1] == 0
    with pytest.raises(ValueError, match="weight 0"):
        problem.fairness_distance(relative=True)
