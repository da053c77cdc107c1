"""P_min: the value up to which nothing starves, its proof on random instances, and the paper's rule to tune it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from policy_cases import barred_case, equal_costs

from optsched.core.errors import UsageError
from optsched.heuristics.probabilistic import GRID, LIVENESS_LIMIT, Trial, liveness_limit, probability, tune_p_min


def test_the_best_node_is_never_below_the_limit() -> None:
    """Tests on random costs that the cheapest of the free nodes has P >= 1 - 1/e, and that equal costs reach it."""
    rng = np.random.default_rng(0)
    lowest = 1.0
    for _ in range(3000):
        costs = rng.choice([0.0, 1.0, 3.0, rng.random()], size=rng.integers(1, 6))
        lowest = min(lowest, float(probability(costs, np.full(len(costs), costs.mean())).max()))
    assert lowest >= LIVENESS_LIMIT - 1e-15
    assert math.isclose(LIVENESS_LIMIT, 1 - 1 / math.e)
    assert float(probability(np.array([7.0]), np.array([7.0]))[0]) == LIVENESS_LIMIT


def test_barred_nodes_lower_the_limit() -> None:
    """Tests on random costs the limit with barred nodes in the average, and that free data on these reaches it."""
    rng = np.random.default_rng(1)
    for _ in range(2000):
        eligible, barred = int(rng.integers(1, 5)), int(rng.integers(0, 5))
        costs = rng.choice([0.0, 1.0, 5.0], size=eligible + barred)
        best = probability(costs[:eligible], np.full(eligible, costs.mean())).max()
        assert best >= liveness_limit(eligible, barred) - 1e-15
    reached = np.array([2.0, 2.0, 0.0, 0.0, 0.0])
    assert float(probability(reached[:1], np.full(1, reached.mean()))[0]) == pytest.approx(liveness_limit(2, 3))
    assert round(liveness_limit(1, 1), 3) == 0.393  # below Shen et al.'s own 0.4
    for counts in ((0, 1), (1, -1)):
        with pytest.raises(UsageError, match="give at least 1 eligible node"):
            liveness_limit(*counts)


def test_rule_on_equal_costs() -> None:
    """Tests that the rule finds the limit where costs say nothing, to the step of its grid."""
    tuning = tune_p_min(equal_costs(), repeats=5, max_idle_rounds=20)
    assert tuning.value == 0.6
    assert [trial.p_min for trial in tuning.trials] == list(GRID)
    assert {trial.starved for trial in tuning.trials if trial.p_min <= 0.6} == {0}
    assert {trial.starved for trial in tuning.trials if trial.p_min > 0.65 - 1e-9} == {5}
    assert tuning.trials[-1] == Trial(1.0, 5, 5, 5, 5 * 20 * 3, None)
    assert tuning.trials[0].cost == 64


def test_rule_on_the_barred_case() -> None:
    """Tests that the paper's own 0.4 is beyond what the rule finds there, unless the average is over eligible nodes."""
    case = barred_case()
    assert tune_p_min(case, grid=[0.38, 0.39, 0.4, 0.45]).value == 0.39
    assert tune_p_min(case, grid=[0.38, 0.39, 0.4, 0.45], average="eligible").value == 0.45
    assert tune_p_min(case, grid=[0.5, 0.6]).value is None


def test_record_of_several_problems() -> None:
    """Tests that the record adds up all runs, and that what starves in one problem is not what the rule finds."""
    tuning = tune_p_min([equal_costs(), barred_case()], grid=[0.6, 0.3, 0.3], repeats=3, max_idle_rounds=20)
    assert [trial.runs for trial in tuning.trials] == [6, 6]
    low, high = tuning.trials
    assert (low.p_min, low.starved, low.waiting) == (0.3, 0, 0)
    assert (high.p_min, high.starved, high.waiting) == (0.6, 3, 3)
    assert tuning.value == 0.3
    assert high.idle_slot_time >= 3 * 20 * 2  # each round a slot on D1, which is barred, and one on D2


@pytest.mark.parametrize("wrong", [{"grid": []}, {"grid": [1.5]}, {"repeats": 0}])
def test_wrong_use(wrong: dict[str, object]) -> None:
    """Tests that an empty grid, values that are no probability and no repeat are wrong usage."""
    with pytest.raises(UsageError, match="give a grid of values from 0 to 1"):
        tune_p_min(equal_costs(), **wrong)
