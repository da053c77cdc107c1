"""Shuffles that a trace does not record, in proportion to what its maps put out."""

from __future__ import annotations

import numpy as np

from optsched.instances.families.sampling import proportional_shuffle


def test_proportional_shuffle() -> None:
    """Tests that each reduce takes in what it does, from the maps of its job in proportion to their output."""
    shuffle = proportional_shuffle(
        np.array([0, 1, 1, 2]), np.array([3.0, 1.0, 3.0, 0.0]), np.array([1, 2, 1]), np.array([8.0, 5.0, 4.0])
    )
    found = dict(zip(zip(shuffle.map.tolist(), shuffle.reduce.tolist(), strict=True), shuffle.size, strict=True))
    assert found == {(1, 4): 2, (1, 6): 1, (2, 4): 6, (2, 6): 3, (3, 5): 5}
    empty = np.zeros(0, dtype=np.int64)
    assert len(proportional_shuffle(empty, np.zeros(0), empty, np.zeros(0))) == 0
