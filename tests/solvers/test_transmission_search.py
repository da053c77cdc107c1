"""The branch and bound of `transmission`: map slots and their prices, limits, and interrupts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transmission_instances import example

from optsched.problems.transmission import Transmission
from optsched.results import Limit
from optsched.solvers.profiles import Profile
from optsched.solvers.transmission_search import TransmissionSearch, cheapest_rows, slot_prices


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


def test_a_node_limit_leaves_an_honest_bound() -> None:
    """Tests that a search without any node allowed holds a placement, and a bound that is no more than the optimum."""
    problem = Transmission(example())
    found = TransmissionSearch(problem, Profile("none", node_limit=0)).run()
    assert found.limit is Limit.NODES
    assert found.nodes is not None
    assert problem.violations(problem.placement(found.nodes)) == []
    assert found.bound <= 80


def test_an_interrupt_keeps_what_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C within the search is a limit, with the placement and a bound."""
    problem = Transmission(example())
    search = TransmissionSearch(problem, Profile("exact"))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "_look_into", interrupted)
    found = search.run()
    assert found.limit is Limit.INTERRUPTED
    assert found.nodes is not None
    assert found.bound <= 80
