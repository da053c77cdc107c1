"""Knapsacks in integers against enumeration, and that dividing rooms never bounds too low."""

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.problems import knapsack
from optsched.problems.knapsack import best_listed, knapsack_bounds


@st.composite
def knapsacks(draw: st.DrawFn) -> tuple[npt.NDArray[np.int64], ...]:
    """Rooms, demands, limits and worths, some of them past int64 together."""
    resources, items, rooms = draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(st.integers(1, 3))

    def array(rows: int, columns: int, values: st.SearchStrategy[int]) -> npt.NDArray[np.int64]:
        drawn = draw(st.lists(values, min_size=rows * columns, max_size=rows * columns))
        return np.array(drawn, dtype=np.int64).reshape(rows, columns)

    factor = draw(st.sampled_from([1, 1, 2**60]))
    worth = array(1, items, st.integers(-2, 5))[0] * factor
    limit = array(1, items, st.integers(0, 3))[0]
    return array(rooms, resources, st.integers(0, 9)), array(items, resources, st.integers(0, 4)), limit, worth


@given(knapsacks())
@settings(max_examples=60)
def test_knapsacks(drawn: tuple[npt.NDArray[np.int64], ...]) -> None:
    """Tests the maximum by states and by listed patterns against enumeration, and that divided rooms give no less."""
    rooms, demand, limit, worth = drawn
    patterns = [np.array(counts, dtype=np.int64) for counts in itertools.product(*(range(most + 1) for most in limit))]
    best = [
        max(
            sum(count * gain for count, gain in zip(pattern.tolist(), worth.tolist(), strict=True))
            for pattern in patterns
            if (pattern @ demand <= room).all()
        )
        for room in rooms
    ]
    assert knapsack_bounds(rooms, demand, limit, worth) == best
    assert knapsack_bounds(rooms, demand, limit, worth, most_states=1) == best
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knapsack, "_MOST_ROOMS", 0)
        divided = knapsack_bounds(rooms, demand, limit, worth, most_states=4)
    assert all(bound >= exact for bound, exact in zip(divided, best, strict=True))


@given(knapsacks())
@settings(max_examples=50)
def test_listed_patterns(drawn: tuple[npt.NDArray[np.int64], ...]) -> None:
    """Tests that the best listed pattern fits and is worth what is shown, also by fractions and with few at a time."""
    rooms, demand, limit, worth = drawn
    chosen = (worth > 0) & (worth < 2**50)
    demand, limit, worth = demand[chosen], limit[chosen], worth[chosen]
    for few in (1, 2**8):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(knapsack, "_FIRST_LISTED", few)
            whole, parts = best_listed(rooms[0], demand, limit, worth), best_listed(rooms[0], demand, limit, worth / 8)
        for (value, pattern), unit in ((whole, 1), (parts, 8)):
            assert (pattern @ demand <= rooms[0]).all()
            assert (pattern <= limit).all()
            assert pattern @ worth == value * unit == whole[0]


@pytest.mark.parametrize("limit", ["_MOST_LISTED", "_MOST_TRIED"])
def test_too_many_patterns(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no pattern is reported where too many are to be gone through, and the bound is of divided rooms."""
    rooms, demand = np.array([[2**20 + 1]]), np.array([[2**18 + 1], [2**18 - 1]])
    most, worth = np.array([9, 9]), np.array([5, 5])
    assert best_listed(rooms[0], demand, most, worth) is not None
    monkeypatch.setattr(knapsack, limit, 1)
    assert best_listed(rooms[0], demand, most, worth) is None
    assert knapsack_bounds(rooms, demand, most, worth, most_states=4)[0] >= 20


def test_rooms_in_fine_units() -> None:
    """Tests that a common divisor keeps large numbers exact, and that without one the bound stays near."""
    grain = 2**40
    assert knapsack_bounds(np.array([[7 * grain]]), np.array([[2 * grain]]), np.array([9]), np.array([5])) == [15]
    (bound,) = knapsack_bounds(np.array([[7 * grain]]), np.array([[2 * grain + 1]]), np.array([9]), np.array([5]))
    assert bound == 15
    (bound,) = knapsack_bounds(
        np.array([[2**20, 2**19]]),
        np.array([[2**18 + 1, 2**17 + 1], [2**18 - 1, 2**17 - 1]]),
        np.array([9, 9]),
        np.array([5, 4]),
        most_states=64,
    )
    assert 2 * 5 + 2 * 4 <= bound < 3 * 5 + 4 * 4  # more than what fits, less than all that fits alone
