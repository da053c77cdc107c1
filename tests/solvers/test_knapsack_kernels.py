"""The loop that fills one knapsack, as plain Python and compiled, against the arrays that the checker fills."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.problems.generalized_assignment import fill
from optsched.solvers import knapsack_kernels
from optsched.solvers.compiled import compiles


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_the_loop_fills_as_the_arrays_do(compiled: bool) -> None:
    """Tests least costs, with each item and without it, items without weight and of the whole knapsack included."""
    if compiled and not compiles():
        pytest.skip("numba is not installed, or turned off")
    fill_one = (
        knapsack_kernels.fill_one
        if compiled
        else getattr(knapsack_kernels.fill_one, "py_func", knapsack_kernels.fill_one)
    )
    rng = np.random.default_rng(0)
    for _ in range(30):
        items, space = int(rng.integers(1, 7)), int(rng.integers(0, 9))
        cost, weight = rng.integers(-9, 5, items), rng.integers(0, space + 1, items)
        before, after = np.empty((items + 1, space + 1), np.int64), np.empty(space + 1, np.int64)
        without, including = np.empty(items, np.int64), np.empty(items, np.int64)
        least = fill_one(cost, weight, space, before, after, without, including)
        filled = fill(cost[:, None], weight[:, None], np.ones((items, 1), dtype=bool), np.array([space]))
        assert least == filled.least[0]
        assert without.tolist() == filled.without[:, 0].tolist()
        assert including.tolist() == filled.including[:, 0].tolist()
