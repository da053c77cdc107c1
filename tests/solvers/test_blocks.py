"""Matrices put together from blocks: dense and sparse ones, empty ones, and what is not given."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from optsched.solvers.blocks import Block, ones_at, stacked


def test_one_in_each_column() -> None:
    """Tests rows that several columns share, a row that none has, and no column at all."""
    assert ones_at(np.array([2, 0, 2]), 4).toarray().tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]]
    assert ones_at(np.zeros(0, dtype=np.int64), 3).shape == (3, 0)


@given(st.data())
def test_blocks_stand_where_they_belong(data: st.DataObject) -> None:
    """Tests any heights and widths, 0 among them, against writing each block into a matrix of zeros."""
    sizes = st.lists(st.integers(0, 3), min_size=1, max_size=3)
    heights, widths = data.draw(sizes), data.draw(sizes)
    places = [(row, column) for row in range(len(heights)) for column in range(len(widths))]
    expected = np.zeros((sum(heights), sum(widths)))
    blocks: dict[tuple[int, int], Block] = {}
    for place in data.draw(st.lists(st.sampled_from(places), unique=True)):
        shape = heights[place[0]], widths[place[1]]
        entries = data.draw(st.lists(st.integers(-2, 9), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
        block = np.array(entries, dtype=float).reshape(shape)
        top, left = sum(heights[: place[0]]), sum(widths[: place[1]])
        expected[top : top + shape[0], left : left + shape[1]] = block
        blocks[place] = sp.csr_array(block) if data.draw(st.booleans()) else block
    assert stacked(heights, widths, blocks).toarray().tolist() == expected.tolist()
