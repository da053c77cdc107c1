"""One stage of `transmission` where the other is settled: slots for maps, places for reduces, and their prices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transmission_instances import drawn, rich

from optsched.core.placement import NONE
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import ReduceBounds
from optsched.searches.transmission_stages import cheapest_reduces, cheapest_rows, slot_prices, stepped_prices
from optsched.solvers.profiles import Profile


@given(st.data())
def test_slot_prices_prove_the_assignment(data: st.DataObject) -> None:
    """Tests that by the prices no map pays less elsewhere, and what they bring in closes the gap exactly."""
    rows, maps = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 5))
    entries = st.lists(st.integers(0, 9), min_size=rows * maps, max_size=rows * maps)
    costs = np.array(data.draw(entries), dtype=np.int64).reshape(rows, maps)
    room = np.array(data.draw(st.lists(st.integers(1, 3), min_size=rows, max_size=rows)))
    room[0] += max(0, maps - int(room.sum()))
    chosen = cheapest_rows(costs, room)
    assert (np.bincount(chosen, minlength=rows) <= room).all()
    prices = slot_prices(costs, room, chosen)
    assert (prices >= 0).all()
    least = int((costs + prices[:, None]).min(axis=0).sum()) - int((prices * room).sum())
    assert least == int(costs[chosen, np.arange(maps)].sum())


@pytest.mark.parametrize(
    ("prices", "missing", "expected"),
    [([0, 0], 2.0, [2, 0]), ([0, 5], 4.0, [2, 3]), ([0, 5], 20.0, [10, 0]), ([1, 0], -4.0, [0, 0])],
)
def test_steps_by_hand(prices: list[int], missing: float, expected: list[int]) -> None:
    """Tests two maps that want the one slot of the first row: it gets dearer, the other cheaper, neither below 0."""
    costs, room = np.array([[0, 0], [9, 9]]), np.array([1, 1])
    assert stepped_prices(costs, room, np.array(prices), missing).tolist() == expected


def test_no_step_where_all_maps_fit() -> None:
    """Tests that prices stay where each row is used as often as it has slots, whatever is missing."""
    costs = np.array([[0, 5], [5, 0]])
    assert stepped_prices(costs, np.array([1, 1]), np.array([3, 3]), 7.0).tolist() == [3, 3]


@pytest.mark.parametrize("seed", range(20))
def test_reduces_cost_the_least(seed: int) -> None:
    """Tests the choices by any table of costs against all that keep slots and jobs, with prices where one is placed."""
    problem = rich(seed)
    bounds = ReduceBounds(problem)
    table = np.random.default_rng(seed).integers(0, 9, (len(problem.reduces), bounds.nowhere + 1))
    choices = itertools.product(range(bounds.nowhere + 1), repeat=len(problem.reduces))
    nodes = (np.where(np.array(choice) == bounds.nowhere, NONE, choice) for choice in choices)
    every = np.arange(len(problem.reduces))
    costs = (table[every, on][on != NONE].sum() for on in nodes if not list(problem.slots.violations(on)))
    found, prices = cheapest_reduces(bounds, table, Profile("exact"))
    assert found is not None
    placed = found != bounds.nowhere
    assert not list(problem.slots.violations(np.where(placed, found, NONE)))
    assert table[every, found][placed].sum() == min(costs)
    assert (prices is not None) == bool(problem.reduce_count)


def test_reduces_within_no_time() -> None:
    """Tests that neither choices nor prices are reported where a limit came first."""
    bounds = ReduceBounds(Transmission(drawn(0, 4, 3, 5)))
    table = np.zeros((3, bounds.nowhere + 1), dtype=np.int64)
    assert cheapest_reduces(bounds, table, Profile("none", time_limit=0)) == (None, None)
