"""One stage of `transmission` where the other is settled: slots for maps, places for reduces, first fit."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transmission_instances import drawn, posed, rich

from optsched.core.placement import NONE
from optsched.instances.generate import generate
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import ReduceBounds
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.solvers.profiles import Profile
from optsched.solvers.searches import transmission_stages as module
from optsched.solvers.searches.transmission_stages import (
    by_arrays,
    cheapest_reduces,
    cheapest_rows,
    filled,
    first_fit,
    posed_network,
    slot_prices,
    stepped_prices,
)


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
    apart = np.array([[0, 5], [5, 0]])  # each row is used as often as it has slots
    assert stepped_prices(apart, room, np.array([3, 3]), missing).tolist() == [3, 3]


@pytest.mark.parametrize("seed", range(20))
def test_reduces_cost_the_least(seed: int) -> None:
    """Tests the choices by any table of costs against all that keep slots and jobs."""
    problem = rich(seed)
    bounds = ReduceBounds(problem)
    table = np.random.default_rng(seed).integers(0, 9, (len(problem.reduces), bounds.nowhere + 1))
    choices = itertools.product(range(bounds.nowhere + 1), repeat=len(problem.reduces))
    nodes = (np.where(np.array(choice) == bounds.nowhere, NONE, choice) for choice in choices)
    every = np.arange(len(problem.reduces))
    costs = (table[every, on][on != NONE].sum() for on in nodes if not list(problem.slots.violations(on)))
    found = cheapest_reduces(bounds, table, Profile("exact"))
    placed = found != bounds.nowhere
    assert not list(problem.slots.violations(np.where(placed, found, NONE)))
    assert table[every, found][placed].sum() == min(costs)


def test_reduces_within_no_time() -> None:
    """Tests that no choices are reported if a limit came first."""
    bounds = ReduceBounds(Transmission(drawn(0, 4, 3, 5)))
    table = np.zeros((3, bounds.nowhere + 1), dtype=np.int64)
    assert cheapest_reduces(bounds, table, Profile("none", time_limit=0)) is None


@pytest.mark.parametrize("spread", [0, 9])
def test_cheapest_nodes_are_enough(spread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that offering each class its cheapest nodes alone gives the optimum of all nodes, with a proof."""
    fewer = 0
    for seed in range(8):
        sizes = {"nodes": 14, "tasks": 12, "reduces": 5, "racks": 3, "finished": 1.0, "running": 0.3, "reduce_slots": 2}
        problem = TransmissionReduces(generate("transmission", seed, spread=spread, jobs=1 + seed % 2, **sizes))
        few = by_arrays(problem, Profile("exact"))[1:]
        fewer += len(posed_network(problem)[0].places.row_of) < np.count_nonzero(
            problem.usable[problem.classes().first]
        )
        with monkeypatch.context() as patch:
            patch.setattr(module, "cheapest_nodes", lambda posed: posed.usable[posed.classes().first])
            every = by_arrays(problem, Profile("exact"))[1:]
        for nodes, prices in (few, every):
            assert problem.price_bound(*prices) == problem.cost_units(nodes)
        assert problem.cost_units(few[0]) == problem.cost_units(every[0])
    assert fewer >= 4


class TestFilled:
    """Reduces that find no node move others out of their way."""

    @given(st.data())
    def test_as_many_as_fit(self, data: st.DataObject) -> None:
        """Tests against the maximum flow that counts them, that nothing is violated, and that few need to move."""
        nodes = data.draw(st.integers(1, 4))
        jobs = data.draw(st.lists(st.integers(-1, 2), min_size=1, max_size=8))
        running = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, nodes - 1)), unique=True, max_size=3))
        room = data.draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes))
        slots = posed([1.0] * len(jobs), room, jobs, running, distinct=data.draw(st.booleans())).slots
        order = np.array(data.draw(st.permutations(range(len(jobs)))), dtype=np.int64)
        wishes = np.array(
            data.draw(st.lists(st.integers(0, 3), min_size=len(jobs) * nodes, max_size=len(jobs) * nodes)), dtype=float
        ).reshape(len(jobs), nodes)
        placed = first_fit(slots, order, wishes)
        assert not list(slots.violations(placed))
        assert np.count_nonzero(placed != NONE) == slots.count

    def test_a_long_chain(self) -> None:
        """Tests a chain of three moves, which is the only way to place the last reduce."""
        # j0 runs on n2 and n3, j1 on n0 and n3, j2 on n0 and n1: each may go on to one node more, n3 is for j2 alone.
        running = [(0, 2), (0, 3), (1, 0), (1, 3), (2, 0), (2, 1)]
        slots = posed([1.0] * 4, [1, 1, 1, 1], [0, 1, 2, 0], running).slots
        assert slots.count == 4
        assert filled(slots, np.array([1, 2, NONE, 0])).tolist() == [1, 2, 3, 0]
        assert filled(slots, np.array([0, 1, 2, NONE])).tolist() == [0, 2, 3, 1]
