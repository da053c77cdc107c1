"""`worst-group`: values by hand, the costs that groups can have, and the program against enumeration."""

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import ONE_SLOT, RACKS
from small_problems import worst_group as posed
from strategies import problems

from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import RUNNING, Cluster, Instance, Workload
from optsched.problems import WorstGroup
from optsched.routes import bounds
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.enumeration import judged
from optsched.solvers.searches.program_tree import root


def test_missing_fields() -> None:
    """Tests that groups and the group of each pending task are asked for, and nothing of running tasks or weights."""
    with pytest.raises(MissingField, match=r"groups: worst-group needs groups$"):
        WorstGroup(Instance(Cluster(["n"]), Workload(["t"])))
    workload = Workload(
        ["busy", "t", "u"], job=[-1, -1, 0], job_ids=["j"], job_group=[-1], group_ids=["g"], group_weight=[np.nan]
    )
    cluster = Cluster(["n"], slots=[3])
    with pytest.raises(MissingField) as caught:
        WorstGroup(Instance.initial(cluster, workload, status=[RUNNING, 0, 0], node=[0, -1, -1], idle_slots=[2]))
    assert [str(fault) for fault in caught.value.faults] == [
        'tasks[1].job: worst-group needs a group for task "t"',
        'jobs[0].group: worst-group needs a group for task "u"',
    ]
    with pytest.raises(UsageError, match="costs that do not decrease"):
        posed([[0]], [0], slots=[1], levels="2,1,0")


# Costs that groups can have ----------------------------------------------------------------------------------------


def test_costs_go_in_steps() -> None:
    """Tests the least cost and the step of each group by hand, and the highest costs within a mean and below it."""
    assert (ONE_SLOT.least, ONE_SLOT.steps) == ([0, 0], [1, 1])
    assert (ONE_SLOT.most_within(Fraction(1, 2)), ONE_SLOT.most_below(Fraction(1, 2))) == ([0, 1], [0, 0])
    half = Fraction(1, 2)
    assert (ONE_SLOT.value_above(0), ONE_SLOT.value_from(0), ONE_SLOT.value_above(half)) == (half, 0, 1)
    assert (ONE_SLOT.value_below(1), ONE_SLOT.value_below(half)) == (half, 0)
    assert ONE_SLOT.value_below(0) < 0
    far = posed([[], []], [0, 1], slots=[1], levels=[0, 1, 2])  # a task of either costs 2, wherever it runs
    assert (far.least, far.steps) == ([0, 0], [2, 2])
    assert (far.most_below(2), far.value_above(0)) == ([0, 0], 2)
    every = posed([[0], [], [0]], [0, 0, 1], slots=[2, 1], levels=[1, 1, 4])  # all are placed: 1 each, and 3 more
    assert (every.least, every.steps) == ([2, 1], [3, 3])
    assert (every.most_within(Fraction(5, 2)), every.most_within(Fraction(1, 2))) == ([5, 1], [-1, -2])
    empty = posed([[0], []], [0, 2], slots=[1])  # the group between has no task, so no mean either
    assert (empty.most_within(1), empty.most_below(1), empty.most_below(2)) == ([1, 0, 1], [0, 0, 0], [1, 0, 1])
    free = posed([[], []], [0, 0], slots=[2], levels=[0, 0, 0])
    assert (free.least, free.steps) == ([0], [1])


@given(problems("worst-group"))
def test_every_cost_is_one_of_the_steps(problem: WorstGroup) -> None:
    """Tests that whatever a placement costs a group is its least cost and whole steps."""
    for _, nodes in judged(problem):
        costs = problem.costs_by_group(problem.placement(nodes))
        for cost, least, step in zip(costs, problem.least, problem.steps, strict=True):
            assert cost >= least
            assert (cost - least) % step == 0


# The program -------------------------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(problems("worst-group"))
def test_the_program_says_what_the_definition_says(problem: WorstGroup) -> None:
    """Tests each placement in the program within its own mean and one above, and back: it costs no more."""
    posed_at = cache(problem.program)
    for (mean, cost), nodes in judged(problem):
        placement = problem.placement(nodes)
        for limit in (mean, problem.value_above(mean)):
            program = posed_at((limit,))
            values = problem.values_of(placement, program)
            assert program.broken(values) is None
            assert int(program.numbers.objective @ values) == cost
            again = problem.decision_of(values, program)
            assert not problem.violations(again)
            assert problem.evaluate(again)[1] <= cost
            assert problem.evaluate(again)[0] <= limit
        below = posed_at((problem.value_below(mean),))
        assert below.broken(problem.values_of(placement, below)) is not None
        first = posed_at()
        values = problem.values_of(placement, first)
        assert first.broken(values) is None
        assert values[first.family("worst_mean")] == math.ceil(mean / (math.gcd(*problem.levels) or 1))


def test_how_many_pay_the_cost_at_the_data_is_open() -> None:
    """Tests that limits are on costs where fewer tasks than all are placed and each costs something."""
    problem = posed([[0], [0], [1]], [0, 0, 1], slots=[1, 1], racks=[0, 1], levels=[2, 4, 8])
    program = problem.program((1,))
    limits = next(row.first for row in program.rows if row.name == "group_limit")
    assert set(program.numbers.value[program.numbers.row >= limits].tolist()) == {1, 2, 4}
    assert program.numbers.row_upper[limits:].tolist() == [1, 0]
    far = problem.program((10**30,)).numbers.row_upper[limits:]
    assert far.tolist() == [12, 12]


@given(problems("worst-group"), st.data())
def test_any_multipliers_leave_a_value_that_nothing_is_below(problem: WorstGroup, data: st.DataObject) -> None:
    """Tests drawn prices of the rows, and those of the linear relaxation, against every placement."""
    least, _ = min(value for value, _ in judged(problem))
    rows = len(problem.program().numbers.row_lower)
    drawn = data.draw(st.lists(st.integers(-6, 3), min_size=rows + 1, max_size=rows + 1))
    assert problem.value_left(np.array(drawn, dtype=np.int64), 0) <= least
    relaxed = root(problem.program().numbers, Profile("exact"), 2**20)
    assert problem.value_left(relaxed.tree.multipliers[0], 0) <= least


def test_steps_sharpen_the_relaxation() -> None:
    """Tests the example of the card: 1/2 where the average of all tasks is 1/3."""
    relaxed = root(ONE_SLOT.program().numbers, Profile("exact"), 2**20)
    assert relaxed.outcome.objective == pytest.approx(1 / 3)
    assert ONE_SLOT.value_left(relaxed.tree.multipliers[0], 0) == Fraction(1, 2)
    assert ONE_SLOT.value_left(0 * relaxed.tree.multipliers[0], 0) == 0


# Bounds ------------------------------------------------------------------------------------------------------------


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
