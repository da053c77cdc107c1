"""Demands and capacities in whole units, input rates by types of nodes, and limits on numbers of tasks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.demands import TOO_FINE, capacity_units, count_limits, demand_fault, task_rates


@pytest.mark.parametrize(
    ("demand", "grid"), [([], 1), ([0.0, 3.0], 1), ([0.1] * 3, 10), ([0.1, 0.25], 20), ([2.0**-20], 2**20)]
)
def test_unit_of_demands(demand: list[float], grid: int) -> None:
    """Tests the least common denominator of the decimals, with which three demands of 0.1 are one capacity of 0.3."""
    assert demand_fault("who", np.array(demand), 9) == (grid, None)
    if grid == 10:
        assert capacity_units(np.array([0.3]), grid).tolist() == [3]


def test_demands_without_a_unit() -> None:
    """Tests that a third, and a denominator past 2^20, are reported with what to do."""
    for demand in ([1 / 3], [2.0**-21]):
        assert demand_fault("who", np.array(demand), 1) == (1, f"demands of who {TOO_FINE}")


def test_demands_that_may_total_too_much() -> None:
    """Tests that as many of the largest demand as may come together are at most 2^53 units, and one unit more not."""
    assert demand_fault("who", np.array([2.0**50, 1.0]), 8) == (1, None)
    grid, shown = demand_fault("who", np.array([2.0**50, 0.5]), 8)
    assert (grid, shown) == (2, "demands may total too much, past 2^53/2; scale them and the capacities down")
    assert demand_fault("who", np.array([2.0**50]), 9)[1] is not None


def test_capacities() -> None:
    """Tests that what is no whole unit is lost, that decimals are what is written, and that 2^53 units are the most."""
    given = np.array([[0.3, 0.35], [2.0, 0.0], [2.0**53, 1e300]])
    assert capacity_units(given, 10).tolist() == [[3, 3], [20, 0], [2**53, 2**53]]
    assert capacity_units(np.array([2.5]), 1).tolist() == [2]


def test_rates_by_type_and_without_one() -> None:
    """Tests a rate by type, one for all nodes, and none; the last column is that of nodes without a type."""
    cluster = Cluster(["a", "b", "c"], type=[0, 1, -1], type_ids=["c1", "c2"])
    by_type = [[2, np.nan], [np.nan, np.nan], [np.nan, np.nan]]
    workload = Workload(["t", "u", "v"], rate_in=[np.nan, 3, np.nan], rate_in_by_type=by_type)
    found = task_rates(Instance(cluster, workload), np.array([1, 0, 2]))
    assert np.array_equal(found, [[3, 3, 3], [2, np.nan, np.nan], [np.nan] * 3], equal_nan=True)
    plain = Workload(["t"], rate_in=[4])
    assert task_rates(Instance(Cluster(["a"]), plain), np.array([0])).tolist() == [[4]]


@given(st.integers(0, 7), st.integers(0, 6), st.integers(0, 6), st.integers(-2, 45))
def test_limits_on_counts(size: int, near: int, more: int, most: int) -> None:
    """Tests that pairs of counts keep the limits on them just where they keep the one on what they cost."""
    limits = count_limits(size, near, near + more, most)
    for racked, elsewhere in itertools.product(range(size + 1), repeat=2):
        if racked + elsewhere <= size:
            kept = all(a * racked + b * elsewhere <= number for a, b, number in limits)
            assert kept == (near * racked + (near + more) * elsewhere <= most)


@given(st.integers(0, 12), st.integers(1, 2**52), st.integers(0, 2**52), st.integers(0, 2**53))
def test_limits_on_counts_are_small(size: int, near: int, more: int, most: int) -> None:
    """Tests that limits on counts have no numbers beyond the square of those of tasks, however large the costs are."""
    for a, b, number in count_limits(size, near, near + more, most):
        assert min(a, b, number) >= 0
        assert max(a, b) <= max(1, size)
        assert number <= max(1, size) ** 2
