"""Demands and capacities in whole units, input rates by types of nodes, and limits on numbers of tasks."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.demands import TOO_FINE, capacity_units, count_limits, demand_fault, demands_of, task_rates

TOO_MUCH = "demands may total too much, past 2^53/{}; scale them and the capacities down"


@pytest.mark.parametrize(
    ("demand", "count", "grid", "fault"),
    [
        ([], 9, 1, None),
        ([0.0, 3.0], 9, 1, None),
        ([0.1] * 3, 9, 10, None),
        ([0.1, 0.25], 9, 20, None),
        ([2.0**-20], 9, 2**20, None),
        ([1 / 3], 1, 1, f"demands of who {TOO_FINE}"),
        ([2.0**-21], 1, 1, f"demands of who {TOO_FINE}"),
        ([2.0**50, 1.0], 8, 1, None),
        ([2.0**50, 0.5], 8, 2, TOO_MUCH.format(2)),
        ([2.0**50], 9, 1, TOO_MUCH.format(1)),
    ],
)
def test_unit_of_demands(demand: list[float], count: int, grid: int, fault: str | None) -> None:
    """Tests the least common denominator of the decimals, up to 2^20, and that totals may be at most 2^53 units."""
    assert demand_fault("who", np.array(demand), count) == (grid, fault)


def test_capacities() -> None:
    """Tests that what is no whole unit is lost, that decimals are what is written, and that 2^53 units are the most."""
    given = np.array([[0.3, 0.35], [2.0, 0.0], [2.0**53, 1e300]])
    assert capacity_units(given, 10).tolist() == [[3, 3], [20, 0], [2**53, 2**53]]
    assert capacity_units(np.array([2.5]), 1).tolist() == [2]


def test_demands_of_the_shuffle() -> None:
    """Tests that only reduces take their demand of the shuffle, where they have one, and 0 of what is not given."""
    other = {"cpu": [9.0, 5.0, np.nan], "disk": [9.0, 7.0, np.nan]}
    workload = Workload(["m", "r", "s"], kind=[0, 1, 1], demand={"cpu": [1.0, 2.0, 3.0]}, demand_shuffle=other)
    instance, tasks = Instance(Cluster(["a"]), workload), np.arange(3)
    for phase, expected in (("shuffle", [[1, 5, 3], [0, 7, 0]]), ("after", [[1, 2, 3], [0, 0, 0]])):
        found = demands_of(instance, tasks, phase)
        assert [found[resource].tolist() for resource in ("cpu", "disk")] == expected


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
