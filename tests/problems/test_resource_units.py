"""Demands and capacities in whole units: the unit of decimals, what is rounded down, and what is too fine or large."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.problems.resource_units import TOO_FINE, capacity_units, demand_fault


@pytest.mark.parametrize(
    ("demand", "grid"), [([], 1), ([0.0, 3.0], 1), ([0.1] * 3, 10), ([0.1, 0.25], 20), ([2.0**-20], 2**20)]
)
def test_unit_of_demands(demand: list[float], grid: int) -> None:
    """Tests the least common denominator of the decimals, with which three demands of 0.1 are one capacity of 0.3."""
    assert demand_fault("who", np.array(demand), 9) == (grid, None)
    if grid == 10:
        assert capacity_units(np.array([0.3]), grid).tolist() == [3]


def test_demands_without_a_unit() -> None:
    """Tests that a third, and a denominator past 2^20, are told with what to do."""
    for demand in ([1 / 3], [2.0**-21]):
        assert demand_fault("who", np.array(demand), 1) == (1, f"demands of who {TOO_FINE}")


def test_demands_that_may_total_too_much() -> None:
    """Tests that as many of the largest demand as may come together are at most 2^53 units, and one unit more not."""
    assert demand_fault("who", np.array([2.0**50, 1.0]), 8) == (1, None)
    grid, told = demand_fault("who", np.array([2.0**50, 0.5]), 8)
    assert (grid, told) == (2, "demands may total too much, past 2^53/2; scale them and the capacities down")
    assert demand_fault("who", np.array([2.0**50]), 9)[1] is not None


def test_capacities() -> None:
    """Tests that what is no whole unit is lost, that decimals are what is written, and that 2^53 units are the most."""
    given = np.array([[0.3, 0.35], [2.0, 0.0], [2.0**53, 1e300]])
    assert capacity_units(given, 10).tolist() == [[3, 3], [20, 0], [2**53, 2**53]]
    assert capacity_units(np.array([2.5]), 1).tolist() == [2]
