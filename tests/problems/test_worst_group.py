"""`worst-group`: values by hand, the costs that groups can have, and bounds from prices against enumeration."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worst_group_instances import ONE_SLOT, RACKS, posed, problems

from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import RUNNING, Cluster, Instance, State, Workload
from optsched.core.placement import NONE
from optsched.heuristics import applicable
from optsched.problems import WorstGroup
from optsched.routes import bounds
from optsched.searches.enumeration import judged


def test_values() -> None:
    """Tests both components by hand, with racks too, and where a group has no task."""
    assert ONE_SLOT.evaluate(ONE_SLOT.placement([0, 1, 1])) == (1, 1)
    assert ONE_SLOT.evaluate(ONE_SLOT.placement([1, 1, 0])) == (Fraction(1, 2), 1)
    assert RACKS.evaluate(RACKS.placement([0, 1, 0])) == (2, 2)
    assert RACKS.evaluate(RACKS.placement([0, 0, 1])) == (1, 3)
    assert posed([[0], []], [0, 2], slots=[2]).evaluate(posed([[0], []], [0, 2], slots=[2]).placement([0, 0])) == (1, 1)


def test_the_mean_is_over_the_pending_tasks() -> None:
    """Tests that a task that waits counts in its group and costs nothing, and that a task that runs does not count."""
    problem = posed([[], [], [], [0]], [0, 0, 0, 1], slots=[2])
    assert problem.evaluate(problem.placement([0, NONE, NONE, 0])) == (Fraction(1, 3), 1)
    assert problem.evaluate(problem.placement([0, 0, NONE, NONE])) == (Fraction(2, 3), 2)
    workload = Workload(["busy", "t"], job=[0, 0], job_ids=["j"], job_group=[0], group_ids=["g"])
    cluster = Cluster(["n"], slots=[2])
    state = State.initial(cluster, workload, status=[RUNNING, 0], node=[0, -1], idle_slots=[1])
    one = WorstGroup(Instance(cluster, workload, state))
    assert one.sizes == [1]
    assert one.evaluate(one.placement([0])) == (1, 1)


def test_violations() -> None:
    """Tests that slots and cardinality are those of the other assignment problems."""
    assert [str(entry) for entry in ONE_SLOT.violations(ONE_SLOT.placement([0, 1, 0]))] == ["slots(A) by 1"]
    assert [entry.constraint for entry in ONE_SLOT.violations(ONE_SLOT.placement([0, 1, NONE]))] == ["cardinality"]


def test_missing_fields() -> None:
    """Tests that groups and the group of each pending task are asked for, and nothing of running tasks or weights."""
    with pytest.raises(MissingField, match=r"groups: worst-group needs groups$"):
        WorstGroup(Instance(Cluster(["n"]), Workload(["t"])))
    workload = Workload(
        ["busy", "t", "u"], job=[-1, -1, 0], job_ids=["j"], job_group=[-1], group_ids=["g"], group_weight=[np.nan]
    )
    cluster = Cluster(["n"], slots=[3])
    state = State.initial(cluster, workload, status=[RUNNING, 0, 0], node=[0, -1, -1], idle_slots=[2])
    with pytest.raises(MissingField) as caught:
        WorstGroup(Instance(cluster, workload, state))
    assert [str(fault) for fault in caught.value.faults] == [
        'tasks[1].job: worst-group needs a group for task "t"',
        'jobs[0].group: worst-group needs a group for task "u"',
    ]
    with pytest.raises(UsageError, match="costs that do not decrease"):
        posed([[0]], [0], slots=[1], levels="2,1,0")


def test_heuristics_serve_it() -> None:
    """Tests that the schedulers of slots can be measured."""
    assert {"dl", "rand", "lsap-sched", "fifo", "delay"} <= {entry.name for entry in applicable(ONE_SLOT)}


# Costs that groups can have ----------------------------------------------------------------------------------------


def test_costs_go_in_steps() -> None:
    """Tests the least cost and the step of each group by hand, and the highest costs within a mean and below it."""
    assert (ONE_SLOT.least, ONE_SLOT.steps) == ([0, 0], [1, 1])
    assert (ONE_SLOT.most_within(Fraction(1, 2)), ONE_SLOT.most_below(Fraction(1, 2))) == ([0, 1], [0, 0])
    assert (ONE_SLOT.mean_above(0), ONE_SLOT.mean_from(0), ONE_SLOT.mean_above(Fraction(1, 2))) == (
        Fraction(1, 2),
        0,
        1,
    )
    far = posed([[], []], [0, 1], slots=[1], levels=[0, 1, 2])  # a task of either costs 2, wherever it runs
    assert (far.least, far.steps) == ([0, 0], [2, 2])
    assert (far.most_below(2), far.mean_above(0)) == ([0, 0], 2)
    every = posed([[0], [], [0]], [0, 0, 1], slots=[2, 1], levels=[1, 1, 4])  # all are placed: 1 each, and 3 more
    assert (every.least, every.steps) == ([2, 1], [3, 3])
    assert (every.most_within(Fraction(5, 2)), every.most_within(Fraction(1, 2))) == ([5, 1], [-1, -2])
    empty = posed([[0], []], [0, 2], slots=[1])  # the group between has no task, so no mean either
    assert (empty.most_within(1), empty.most_below(1), empty.most_below(2)) == ([1, 0, 1], [0, 0, 0], [1, 0, 1])
    free = posed([[], []], [0, 0], slots=[2], levels=[0, 0, 0])
    assert (free.least, free.steps) == ([0], [1])


@settings(max_examples=60)
@given(problems())
def test_every_cost_is_one_of_the_steps(problem: WorstGroup) -> None:
    """Tests that whatever a placement costs a group is its least cost and whole steps."""
    for _, nodes in judged(problem):
        costs = problem.costs_by_group(problem.placement(nodes))
        for cost, least, step in zip(costs, problem.least, problem.steps, strict=True):
            assert cost >= least
            assert (cost - least) % step == 0


# Bounds ------------------------------------------------------------------------------------------------------------

PRICES = st.integers(-2, 6)


@settings(max_examples=60)
@given(problems(), st.data())
def test_any_prices_prove_a_bound(problem: WorstGroup, data: st.DataObject) -> None:
    """Tests the weighted sum, the worst mean and the cost within each mean against every placement, at any prices."""
    groups, nodes = len(problem.sizes), len(problem.instance.cluster)
    of_groups = data.draw(st.lists(PRICES, min_size=groups, max_size=groups))
    of_nodes = np.array(data.draw(st.lists(PRICES, min_size=nodes, max_size=nodes)), dtype=np.int64)
    task, scale = data.draw(st.integers(-2, 12)), data.draw(st.integers(1, 3))
    found = [(value, problem.costs_by_group(problem.placement(chosen))) for value, chosen in judged(problem)]
    weights = [max(0, price) for price in of_groups]
    least = min(sum(w * c for w, c in zip(weights, costs, strict=True)) for _, costs in found)
    assert problem.weighted_bound(weights, task, of_nodes) <= least
    assert problem.mean_bound(of_groups, task, of_nodes) <= min(value for value, _ in found)[0]
    for mean in {value[0] for value, _ in found}:
        within = min(value[1] for value, _ in found if value[0] <= mean)
        assert problem.cost_bound(mean, scale, of_groups, task, of_nodes) <= within


def test_prices_by_hand() -> None:
    """Tests the example of docs/certificates.md: 1/2 where the average proves 1/3, and weaker prices prove less."""
    one_a = np.array([1, 0])
    assert ONE_SLOT.weighted_bound([1, 1], 1, one_a) == 1
    assert ONE_SLOT.mean_bound([1, 1], 1, one_a) == Fraction(1, 2)
    assert ONE_SLOT.mean_bound([1, 1], 1, 0 * one_a) == 0
    assert ONE_SLOT.mean_bound([0, 0], 1, one_a) == 0
    assert ONE_SLOT.cost_bound(Fraction(1, 2), 1, [0, 0], 1, one_a) == 1
    assert RACKS.mean_bound([0, 1], 2, np.array([0, 1, 0])) == 1
    assert RACKS.cost_bound(1, 1, [0, 1], 4, np.array([0, 2, 0])) == 3
    assert RACKS.cost_bound(2, 1, [0, 1], 4, np.array([0, 2, 0])) == 2


def test_bug_prices_past_int64_wrapped() -> None:
    """Tests that prices whose sums int64 does not hold prove what they do in smaller units."""
    large = 2**52
    assert RACKS.mean_bound([0, large], 2 * large, np.array([0, large, 0])) == 1
    assert RACKS.cost_bound(1, large, [0, large], 4 * large, np.array([0, 2 * large, 0])) == 3


@settings(max_examples=100)
@given(problems(), st.data())
def test_the_mean_bound_is_the_first_mean_with_enough_within(problem: WorstGroup, data: st.DataObject) -> None:
    """Tests the bound against a walk over the means that the groups with a price can have, one after the other."""
    prices = data.draw(st.lists(st.integers(0, 6), min_size=len(problem.sizes), max_size=len(problem.sizes)))
    of_nodes = np.zeros(len(problem.instance.cluster), dtype=np.int64)
    task = data.draw(st.integers(0, 40))
    prices = [price if size else 0 for price, size in zip(prices, problem.sizes, strict=True)]
    due = problem.weighted_bound(prices, task, of_nodes)
    mean = Fraction(0)
    if due > 0:
        priced = [group for group, price in enumerate(prices) if price]
        mean = Fraction(due, sum(prices[group] * problem.sizes[group] for group in priced))
        most = problem.most_below(mean)
        while sum(prices[group] * most[group] for group in priced) < due:
            following = {group: Fraction(most[group] + problem.steps[group], problem.sizes[group]) for group in priced}
            group = min(priced, key=following.__getitem__)
            mean, most[group] = following[group], most[group] + problem.steps[group]
    assert problem.mean_bound(prices, task, of_nodes) == mean


@pytest.mark.parametrize("levels", [(0, 10000, 10000001), (0, 1, 2**50)])
def test_bug_the_mean_bound_went_one_step_at_a_time(levels: tuple[int, int, int]) -> None:
    """Tests a group that goes in steps of 1 beside one that goes in steps of a level, by hand."""
    problem = posed([[], [], [0], []], [0, 0, 1, 1], slots=[1, 1], racks=[0, 0], levels=levels)
    far = levels[2]
    assert problem.steps == [far, 1]
    free = np.zeros(2, dtype=np.int64)
    assert problem.weighted_bound([1, 3], far, free) == far
    assert problem.mean_bound([1, 1], far, free) == Fraction(far, 2)
    assert problem.mean_bound([1, 3], far, free) == Fraction(-(-far // 3), 2)  # the second group alone may cost that


@settings(max_examples=60)
@given(problems())
def test_cheap_bounds(problem: WorstGroup) -> None:
    """Tests each cheap bound against the least of its component over all placements."""
    values = [value for value, _ in judged(problem)]
    names = [component.name for component in problem.components]
    for bound in bounds(problem):
        assert bound.value <= min(value[names.index(str(bound.component))] for value in values)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (ONE_SLOT, {"average": 0, "best-node-of-group": 0, "best-node": 0}),
        (RACKS, {"average": Fraction(1, 2), "best-node-of-group": 1, "best-node": 1}),
        (posed([], [], slots=[1]), {"best-node": 0}),
    ],
)
def test_cheap_bounds_by_hand(problem: WorstGroup, expected: dict[str, Any]) -> None:
    """Tests the mean of all tasks, rounded to a mean that a group can have, and each group for itself."""
    assert {bound.name: bound.value for bound in bounds(problem)} == expected
