"""Nearest replicas by nested areas: what they say of each pair of block and node is what the matrix says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from nested_instances import nested

from optsched.core.instance import Ragged
from optsched.problems.distances import NestedAreas, distances, nested_areas
from optsched.problems.nearest_areas import NearestAreas

#: n0 and n1 in one rack, n2 and n3 in another, below one switch; n4 beyond it.
AREAS = NestedAreas(np.array([[0, 0, 1, 1, 2], [0, 0, 0, 0, 1], [0] * 5]), np.array([0.0, 1.0, 3.0, 7.0]))


def test_levels_and_the_farthest() -> None:
    """Tests the level of each pair, and that the farthest level is that of a node with idle slots."""
    rows = Ragged.from_rows([[0], [0, 2], [4, 1]])
    everywhere = NearestAreas(AREAS, rows, np.ones(5, dtype=bool))
    row, node = np.repeat(np.arange(3), 5), np.tile(np.arange(5), 3)
    assert everywhere.level(row, node).reshape(3, 5).tolist() == [[0, 1, 2, 2, 3], [0, 1, 0, 1, 3], [1, 0, 2, 2, 0]]
    assert everywhere.farthest.tolist() == [3, 3, 2]
    near = NearestAreas(AREAS, rows, np.array([True, False, True, False, False]))
    assert near.farthest.tolist() == [2, 0, 2]
    assert [list(map(len, areas)) for areas in near.idle_areas] == [[1, 2, 0], [1, 2, 1], [1, 1, 1], [1, 1, 1]]


@given(st.data())
def test_against_the_matrix(data: st.DataObject) -> None:
    """Tests levels and least costs with prices against minima over rows of the matrix."""
    instance = data.draw(nested())
    found, nodes = nested_areas(instance), len(instance.cluster)
    assert found is not None
    some = st.lists(st.integers(0, nodes - 1), min_size=1, max_size=3, unique=True)
    rows = Ragged.from_rows(data.draw(st.lists(some, min_size=1, max_size=4)))
    idle = np.zeros(nodes, dtype=bool)
    idle[data.draw(some)] = True
    near = NearestAreas(found, rows, idle)
    matrix = np.array([distances(instance)[sources].min(axis=0) for sources in rows])
    row, node = np.divmod(np.arange(matrix.size), nodes)
    assert found.lengths[near.level(row, node)].reshape(matrix.shape).tolist() == matrix.tolist()
    assert found.lengths[near.farthest].tolist() == matrix[:, idle].max(axis=1).tolist()
    prices = np.array(data.draw(st.lists(st.integers(0, 9), min_size=nodes, max_size=nodes)))
    times = np.arange(1, len(rows) + 1)[:, None]
    units = (times * found.lengths * 60).astype(np.int64)
    expected = (times * matrix * 60).astype(np.int64) + prices
    assert near.cheapest(units, prices).tolist() == expected[:, idle].min(axis=1).tolist()
