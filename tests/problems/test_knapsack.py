"""Knapsacks in integers against enumeration, and that dividing rooms never bounds too low."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched.problems.knapsack import knapsack_bounds


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
@settings(max_examples=200)
def test_knapsacks(drawn: tuple[npt.NDArray[np.int64], ...]) -> None:
    """Tests the exact maximum against enumeration, and that few states give no less."""
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
    divided = knapsack_bounds(rooms, demand, limit, worth, most_states=4)
    assert all(bound >= exact for bound, exact in zip(divided, best, strict=True))


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
