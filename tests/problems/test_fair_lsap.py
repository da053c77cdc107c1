"""Groups with weights; and `fair-lsap`: Guo et al.'s formulas by hand, each reading, rations, and what is refused."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched.core.errors import InputError, MissingField
from optsched.core.instance import MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, Ragged, Workload
from optsched.problems import FairLsap
from optsched.problems.base import GRID
from optsched.problems.fair_lsap import Groups, RationRuleWarning, missing_group_of_tasks, missing_groups


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
        faults = [str(fault) for fault in missing_groups(instance([0, 0]), "who", positive)]
        assert faults == ["groups.weight: the weights must have a positive sum"]
    assert list(missing_groups(instance([0, 1]), "who")) == []
    faults = [str(fault) for fault in missing_groups(instance([0, 1]), "who", "whoever divides")]
    assert faults == ["groups[0].weight: whoever divides: give a positive share"]


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


def on_grid(value: Fraction | float) -> Fraction:
    """A cost as it is rounded."""
    return Fraction(round(value * GRID), GRID)


def test_shares_rations_and_costs() -> None:
    """Tests equations 8 to 13 by hand: s = 3/4, 1/4; sto = max(0, 2 - 3), min(6 - 1, 2); GFC = 100 s/w."""
    problem = example()
    assert problem.weights == [Fraction(1, 4), Fraction(3, 4)]
    assert (problem.running, problem.ration) == ([3, 1], [0, 2])
    assert problem.group_cost == [300, Fraction(100, 3)]
    assert problem.beta == Fraction(101, 100) * 300 * 4 == 1212
    assert problem.overflow_cost == [303, 909]
    assert problem.evaluate(problem.placement([-1, -1, 0, 1])) == (2 * on_grid(Fraction(100, 3)) + 50,)
    assert problem.evaluate(problem.placement([0, 1, -1, -1])) == (606,)
    assert problem.evaluate(problem.placement([0, -1, -1, 1])) == (303 + on_grid(Fraction(100, 3)) + 50,)


def test_overflow_and_remainders() -> None:
    """Tests equation 13's cost beyond the ration in its other forms, and a ration that takes the larger remainder."""
    assert example(overflow="complement").overflow_cost == [909, 303]
    assert example(overflow="flat").overflow_cost == [1212, 1212]
    assert example(overflow="naive").overflow_cost == [300, Fraction(100, 3)]
    thirds = replace(example().instance, workload=replace(example().instance.workload, group_weight=[1, 2]))
    thirds = thirds.with_state(replace(thirds.state, group_running_tasks=[1, 4]))
    assert FairLsap(thirds).ration == [1, 1]  # shares of 8/3 and 16/3 slots
    assert FairLsap(thirds, rations="largest-remainder").ration == [2, 1]


def test_selection() -> None:
    """Tests who is within the ration: replicas on idle nodes first, fewest leading, then by place (lines 19 to 27)."""
    rows = [[], [0, 1], [1], [0]]
    fixed = example(rows, groups=[1, 1, 1, 1], running=[1, 3])
    assert fixed.ration == [0, 3]
    assert [f"t{row + 1}" for row in fixed.selected().tolist()] == ["t3", "t4", "t2"]
    assert [(pool.name, pool.tiers[0][1]) for pool in fixed.pools] == [
        ("g:ration", 0),
        ("g:overflow", 0),
        ("h:ration", 3),
        ("h:overflow", 1),
    ]
    free = example(rows, groups=[1, 1, 1, 1], running=[1, 3], selection="free")
    assert [pool.name for pool in free.pools] == ["g", "h"]
    within, beyond = on_grid(100), round(free.overflow_cost[1] * GRID)
    assert free.pools[1].tiers == ((within * GRID, 3), (beyond, 1))


def test_selection_is_by_position_whatever_the_ids() -> None:
    """Tests that of equal tasks the first in the file is within the ration: t2 before t10, though not as text."""
    cluster = Cluster(["a"], slots=[3])
    workload = Workload(
        ["t2", "t10", "t1"], job=[0] * 3, job_ids=["j"], job_group=[0], group_ids=["g"], group_weight=[1],
    )  # fmt: skip
    posed = FairLsap(Instance.initial(cluster, workload, idle_slots=[1], group_running_tasks=[2]))
    assert posed.ration == [1]
    assert posed.selected().tolist() == [0]


def test_fairness_distance() -> None:
    """Tests equations 14 and 15 before and after a placement, absolute and relative to the weights."""
    problem = example()
    assert problem.fairness_distance() == Fraction(1, 2)
    assert (
        problem.fairness_distance(relative=True)
        == (Fraction(1, 2) / Fraction(1, 4) + Fraction(1, 2) / Fraction(3, 4)) / 2
    )
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


def bare(**columns: Any) -> Instance:
    """One pending task, with what is given of groups and jobs."""
    return Instance(Cluster(["a"]), Workload(["t"], **columns))


@pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")
def test_missing_fields() -> None:
    """Tests that groups are asked for, and a positive weight of each where a cost divides by it."""
    with pytest.raises(MissingField, match="groups: fair-lsap needs groups with weights"):
        FairLsap(bare())
    zero = {"group_ids": ["g", "h"], "group_weight": [0, 1], "job_ids": ["j"], "job_group": [0], "job": [0]}
    with pytest.raises(MissingField, match=r"groups\[0\]\.weight: gfc=ratio divides by it: give a positive share"):
        FairLsap(bare(**zero))
    assert FairLsap(bare(**zero), gfc="difference").group_cost == [0, -100]


def test_costs_past_exact_arithmetic() -> None:
    """Tests that an alpha whose total leaves exact arithmetic on the grid is refused."""
    with pytest.raises(InputError, match=r"may total .*past 2\^53/1048576"):
        example(alpha=2**33)


def test_group_without_a_share_is_warned_of() -> None:
    """Tests that a weight of 0, whose overflow costs nothing, is warned of also where beta is left to the problem."""
    workload = Workload(
        ["t1", "t2"],
        job=[0, 1],
        job_ids=["j1", "j2"],
        job_group=[0, 1],
        group_ids=["g1", "g2"],
        group_weight=[1.0, 0.0],
    )
    instance = Instance.initial(Cluster(["a", "b"]), workload, group_running_tasks=[0, 3])
    with pytest.warns(RationRuleWarning, match="positive weight"):
        problem = FairLsap(instance, gfc="difference")
    assert problem.overflow_cost[1] == 0
    with pytest.raises(ValueError, match="weight 0"):
        problem.fairness_distance(relative=True)


def test_cheap_bound_by_hand() -> None:
    """Tests the bound of the two cheapest: t3 and t4 are within their ration, t1 and t2 are local."""
    (bound,) = example().cheap_bounds()
    assert bound.value == 2 * on_grid(Fraction(100, 3))


def test_distance_where_a_group_has_no_weight() -> None:
    """Tests that the plain distance is known there: |0 - 0| and |1 - 1|, and only the relative one is refused."""
    workload = Workload(
        ["t"],
        job=[0],
        job_ids=["i"],
        job_group=[1],
        group_ids=["g", "h"],
        group_weight=[0, 1],
    )
    instance = Instance.initial(Cluster(["a"]), workload, group_running_tasks=[0, 2])
    problem = FairLsap(instance, gfc="difference", beta=10**6, overflow="flat")
    assert problem.fairness_distance() == 0
    with pytest.raises(ValueError, match="relative"):
        problem.fairness_distance(relative=True)
