"""What reduces take while they shuffle: parts of a unit, and growth with the maps that are placed."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.problems.shuffle_demand import grown, parts_of_unit


@pytest.mark.parametrize(
    ("grid", "prime", "total", "parts"),
    [
        (1, 97, 100, 97),
        (1, 97, 2**53 // 97, 97),
        (1, 97, 2**53 // 96, 64),
        (1, 97, 2**50, 8),
        (2**20 // 97, 97, 100, 97),
        (2**20 // 96, 97, 100, 64),
        (2**21, 97, 100, 1),
    ],
)
def test_parts_of_a_unit(grid: int, prime: int, total: int, parts: int) -> None:
    """Tests that a prime number of maps makes so many parts, up to 2^20 of 1 and 2^53 in all, else a power of two."""
    assert parts_of_unit(grid, [(1, prime)], total) == parts


def test_growth_of_few_maps() -> None:
    """Tests that with one map all of the growth comes at once, and without maps none."""
    assert grown(np.array([4, 5]), 1).tolist() == [[0, 0], [4, 5]]
    assert grown(np.array([0]), 0).tolist() == [[0]]
