"""Bounds of `utility` with `phase=by-maps`: prices of reduces by the number of their job's placed maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from utility_instances import posed, problems

from optsched.problems.base import GRID
from optsched.problems.utility import Utility
from optsched.problems.utility_levels import LevelPrices, Levels, rules_out, utilisation_bound_at
from optsched.searches.enumeration import best_placement

JOB = {"maps": 4, "reduces": 2, "map": {"cpu": 1}, "reduce": {"cpu": 4, "memory": 1}, "goal": 4, "time": 2}
APART = posed({"cpu": [4, 4], "memory": [0, 2]}, [JOB], phase="by-maps")


def test_levels_by_hand() -> None:
    """Tests which numbers of maps and reduces give a utility, as levels of all numbers, of some, and of none."""
    # Two maps are required: 0, 1, 2, 3, 4 are worth minus infinity, -1, 0, 1/2, 1, and one reduce of two is worth -1.
    every = Levels.of(APART, -GRID // 2, [range(5)])
    assert (every.fewest.tolist(), every.most.tolist()) == ([2, 3, 4], [2, 3, 4])
    assert every.reduces.tolist() == [2, 1, 1]
    assert every.item_maps.tolist() == [2, 3, 4]
    assert every.demand(APART).tolist() == [[2, 1], [3, 1], [4, 1]]
    few = Levels.of(APART, -GRID // 2)
    assert (few.fewest.tolist(), few.most.tolist(), few.item_maps.tolist()) == ([2, 3], [2, 4], [2, 3])
    one = Levels.of(APART, -GRID // 2, [[0]])
    assert (one.fewest.tolist(), one.item.tolist(), one.item_maps.tolist()) == ([2, 3], [0, 0], [2])
    assert Levels.of(APART, 2 * GRID).least.tolist() == [-1]
    reduces = APART.least_reduces(0, APART.lowest_units)
    assert [part.tolist() for part in reduces] == [[0, 1, 2, 3, 4], [0] * 5]


def test_prices_by_hand() -> None:
    """Tests that a price on a reduce beside three maps or more rules out what needs two of them, and no less."""
    dear = LevelPrices(np.array([0]), [{2: 2, 3: 3}])
    # Beside three maps a reduce takes 3 of 4, so one fits on either tracker with memory: 3 < 6. Beside two, both fit.
    assert rules_out(APART, GRID // 2, dear)
    assert not rules_out(APART, 0, dear)
    assert rules_out(APART, GRID // 2, LevelPrices(np.array([-1]), dear.reduces))
    assert rules_out(APART, 2 * GRID, LevelPrices(np.array([0]), [{}]))
    assert not rules_out(APART, GRID // 2, LevelPrices(np.array([0]), [{2: -2, 3: -3}]))
    none = LevelPrices(np.array([0]), [{}])
    assert utilisation_bound_at(APART, 0, none, 2**40) == utilisation_bound_at(APART, 0, none, 1)
    tight = posed({"cpu": [4, 4], "memory": [0, 2]}, [JOB], phase="by-maps", reduces="fixed")
    assert rules_out(tight, GRID // 2, LevelPrices(np.array([0]), [{}]))
    assert not rules_out(tight, 0, LevelPrices(np.array([0]), [{}]))


@given(problems(tasks=5, nodes=2, phase="by-maps"), st.data())
@settings(max_examples=40)
def test_any_prices_bound(problem: Utility, data: st.DataObject) -> None:
    """Tests weak duality: whatever the prices and levels, nothing that is possible is denied."""
    best = best_placement(problem)
    assert best is not None
    lowest, used = (int(value * GRID) for value in best[0])
    jobs = len(problem.jobs)

    def prices(least: int, most: int) -> LevelPrices:
        price = st.integers(least, most)
        rows = st.lists(st.dictionaries(st.integers(0, 6), price, max_size=4), min_size=jobs, max_size=jobs)
        maps = data.draw(st.lists(price, min_size=jobs, max_size=jobs))
        return LevelPrices(np.array(maps, dtype=np.int64), data.draw(rows))

    assert not rules_out(problem, lowest, prices(-2, 5))
    scale = data.draw(st.sampled_from([1, 3, 2**20, 2**31]))
    signed = prices(-2 * GRID * scale, 2 * GRID * scale)
    assert utilisation_bound_at(problem, lowest, signed, scale) >= used
    assert utilisation_bound_at(problem, 2 * GRID, signed, scale) >= used
    nothing: Any = LevelPrices(np.zeros(jobs, dtype=np.int64), [{} for _ in range(jobs)])
    assert utilisation_bound_at(problem, lowest, nothing, 1) >= used
