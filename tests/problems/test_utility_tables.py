"""The utility functions (7) of Sharmilarani et al.: a table by hand, every edge, and that more is never worth less."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from optsched.core.resources import folder
from optsched.instances.files import load
from optsched.problems.utility import Utility
from optsched.problems.utility_tables import map_table, reduce_table, required_maps
from optsched.routes import solve


def test_digest_tables() -> None:
    """Tests the sample tables of Sharmilarani et al., note 1: required 4 of 10 maps, and 5 reduces."""
    maps = [-math.inf, -1, -0.5, -0.2075, 0, 0.1667, 0.3333, 0.5, 0.6667, 0.8333, 1]
    assert map_table(4, 10) == pytest.approx(maps, abs=5e-5)
    assert reduce_table(5) == pytest.approx([-math.inf, -1, -0.5693, -0.3174, -0.1386, 0], abs=5e-5)


def test_instance_of_the_library() -> None:
    """Tests that `papers/ras-utility-table` has these tables: its optimum for every number of maps and reduces."""
    instance = load(folder("instances") / "papers" / "ras-utility-table.json")
    for maps, reduces in [(7, 3), (1, 1), (2, 5), (3, 4), (4, 2), (6, 1), (8, 3), (10, 5)]:
        capacity = {"map": [maps, 0], "reduce": [0, reduces]}
        problem = Utility(replace(instance, cluster=replace(instance.cluster, capacity=capacity)))
        value = solve(problem).objective
        assert value is not None
        assert float(value[0]) == pytest.approx(map_table(4, 10)[maps] + reduce_table(5)[reduces], abs=1e-5)


@pytest.mark.parametrize("smoothed", [False, True])
@pytest.mark.parametrize("required", range(12))
def test_never_decreasing(required: int, smoothed: bool) -> None:
    """Tests for 0 to 11 required and 1 to 11 pending that one task more is never worth less, within -1 and 1."""
    for pending in range(1, 12):
        for table in (map_table(required, pending, smoothed), reduce_table(pending, smoothed)):
            assert len(table) == pending + 1
            assert all(one <= other for one, other in itertools.pairwise(table))
            assert all(-1 <= worth <= 1 for worth in table[1:])
        maps = map_table(required, pending, smoothed)
        if required <= pending:
            assert maps[required] == (0 if required < pending else 1)
            assert maps[pending] == 1
        else:
            assert maps[pending] < 0


def test_edges_of_maps() -> None:
    """Tests Sharmilarani et al., note 1: none required, one, all, more than all, none pending."""
    assert map_table(0, 4) == [0, 0.25, 0.5, 0.75, 1]
    assert map_table(1, 3) == [-math.inf, 0, 0.5, 1]
    assert map_table(1, 1) == [-math.inf, 1]
    assert map_table(2, 2) == [-math.inf, -1, 1]
    assert map_table(4, 2) == [-math.inf, -1, -0.5]
    assert map_table(0, 0) == [1]


def test_edges_of_reduces() -> None:
    """Tests Sharmilarani et al., note 2: no reduce pending, and one; smoothed tables are finite."""
    assert reduce_table(0) == [0]
    assert reduce_table(1) == [-math.inf, 0]
    assert reduce_table(1, smoothed=True) == [-1, 0]
    assert reduce_table(0, smoothed=True) == [0]
    assert map_table(3, 3, smoothed=True) == pytest.approx([-1, -0.5, math.log(3) / math.log(4) - 1, 1])


@pytest.mark.parametrize(
    ("pending", "map_time", "goal", "now", "required"),
    [
        (10, 30, 130, 50, 4),
        (10, 30, 50, 50, 10),
        (10, 30, 20, 50, 10),
        (10, 30, math.nan, 50, 0),
        (0, 30, 20, 50, 0),
        (0, math.nan, math.nan, 0, 0),
        (10, 0, 130, 50, 0),
        (10, 0.1, 1, 0, 1),
        (3, 0.1, 0.3, 0, 1),
        (10, 30, 51, 50, 300),
        (2, 1, 5e-324, 0, 2**53),
    ],
)
def test_required_maps(pending: int, map_time: float, goal: float, now: float, required: int) -> None:
    """Tests the estimator of Sharmilarani et al., III.G: waves in time, a goal passed, none, decimals as written."""
    assert required_maps(pending, map_time, goal, now) == required
