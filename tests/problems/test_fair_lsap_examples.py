"""`fair-lsap` on Guo et al.'s own examples: Table II, the oscillation that rations stop, and what they cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from optsched.instances.files import load
from optsched.problems import FairLsap
from optsched.routes import solve


def test_naive_fairness_cost_oscillates() -> None:
    """Tests Guo et al. 2012, section III.D: with FC = GFC for all its tasks an underused group takes all."""
    instance = load("papers/guo-oscillation")
    rationed, naive = FairLsap(instance), FairLsap(instance, overflow="naive")
    assert (rationed.ration, [int(cost) for cost in rationed.group_cost]) == ([7, 5], [75, 125])
    assert rationed.fairness_distance() == Fraction(1, 8)
    fair, greedy = solve(rationed).decision, solve(naive).decision
    assert fair is not None
    assert greedy is not None
    assert np.bincount(rationed.task_group[rationed.nodes_of(fair) >= 0], minlength=2).tolist() == [7, 5]
    assert np.bincount(naive.task_group[naive.nodes_of(greedy) >= 0], minlength=2).tolist() == [12, 0]
    assert rationed.fairness_distance(fair) == 0
    assert naive.fairness_distance(greedy) == Fraction(1, 4)
    assert (rationed.evaluate(fair), naive.evaluate(greedy)) == ((7 * 75 + 5 * 125,), (12 * 75,))


def test_selection_beforehand_is_not_optimal() -> None:
    """Tests Guo et al. 2012, note 8: tasks that compete for a slot count as local, so the choice can cost alpha."""
    instance = load("papers/guo-selection")
    fixed = FairLsap(instance)
    assert fixed.instance.workload.task_ids[fixed.tasks[fixed.selected()]].tolist() == ["t1", "t2"]
    assert solve(fixed).objective == (50,)
    assert solve(FairLsap(instance, selection="free")).objective == (0,)


@pytest.mark.parametrize(("alpha", "chosen"), [(20, "t2"), (50, "t2"), (80, "t1")])
def test_table_2(alpha: int, chosen: str) -> None:
    """Tests Guo et al.'s Table II: DLC {0, 20} favours fairness, {0, 80} locality."""
    problem = FairLsap(load("papers/guo-table2"), alpha=alpha)
    decision = solve(problem).decision
    assert decision is not None
    assert problem.instance.workload.task_ids[decision.nodes >= 0].tolist() == [chosen]
