"""How families draw: which nodes and slots, and how often."""

from __future__ import annotations

import numpy as np

from optsched.instances.families.sampling import (
    distinct_nodes,
    idle_slots,
    in_blocks,
    proportional_shuffle,
    zipf_weights,
)


class TestSampling:
    """The draws that families share."""

    def test_distinct_nodes_are_uniform(self) -> None:
        """Tests that all pairs of 5 nodes are equally frequent: each within five deviations."""
        drawn = distinct_nodes(np.random.default_rng(0), np.full(20_000, 2), 5)
        pairs, counts = np.unique(drawn.values.reshape(-1, 2), axis=0, return_counts=True)
        assert len(pairs) == 10
        assert np.all(np.abs(counts - 2000) < 5 * np.sqrt(20_000 * 0.1 * 0.9))

    def test_weights_are_followed(self) -> None:
        """Tests frequencies of a weighted draw of two of three nodes against the successive-sampling probabilities."""
        weights = np.array([6, 3, 1])
        drawn = distinct_nodes(np.random.default_rng(0), np.full(50_000, 2), 3, weights=weights)
        pairs, counts = np.unique(drawn.values.reshape(-1, 2), axis=0, return_counts=True)
        share = weights / 10
        for pair, count in zip(pairs, counts, strict=True):
            first, second = share[pair]
            expected = first * second / (1 - first) + second * first / (1 - second)
            assert abs(count / 50_000 - expected) < 5 * np.sqrt(0.25 / 50_000)

    def test_given_first_node(self) -> None:
        """Tests that a given node is in its row, weighted or not, and the others differ from it."""
        rng = np.random.default_rng(0)
        first = rng.integers(0, 4, size=200)
        among = np.array([3, 1, 7, 5])
        for weights in (None, np.array([1000, 1, 1, 1])):
            drawn = distinct_nodes(rng, rng.integers(1, 5, size=200), among, weights=weights, first=first)
            for row, node in zip(drawn, among[first], strict=True):
                assert node in row
                assert len(set(row.tolist())) == len(row)
                assert row.tolist() == sorted(row.tolist())

    def test_all_nodes(self) -> None:
        """Tests that as many replicas as nodes are all nodes, also under the steepest weights."""
        rng = np.random.default_rng(0)
        for weights in (None, zipf_weights(rng, 30, 3)):
            drawn = distinct_nodes(rng, np.full(10, 30), 30, weights=weights)
            assert np.array_equal(drawn.values.reshape(10, 30), np.tile(np.arange(30), (10, 1)))

    def test_idle_slots_are_hypergeometric(self) -> None:
        """Tests count and variance: 30 of 10 x 6 slots, each node's number hypergeometric."""
        rng = np.random.default_rng(0)
        drawn = np.array([idle_slots(rng, 10, 6, 30) for _ in range(2000)])
        assert np.all(drawn.sum(axis=1) == 30)
        assert drawn.max() <= 6
        assert abs(drawn.var() - 6 * 0.25 * (60 - 6) / (60 - 1)) < 0.05

    def test_blocks_are_even(self) -> None:
        """Tests that sizes of blocks differ by at most one."""
        sizes = np.bincount(in_blocks(23, 5))
        assert sizes.sum() == 23
        assert sizes.max() - sizes.min() == 1
        assert len(in_blocks(0, 5)) == 0


# Shuffles that a trace does not record, in proportion to what its maps put out ----------------------------------------


def test_proportional_shuffle() -> None:
    """Tests that each reduce takes in what it does, from the maps of its job in proportion to their output."""
    shuffle = proportional_shuffle(
        np.array([0, 1, 1, 2]), np.array([3.0, 1.0, 3.0, 0.0]), np.array([1, 2, 1]), np.array([8.0, 5.0, 4.0])
    )
    found = dict(zip(zip(shuffle.map.tolist(), shuffle.reduce.tolist(), strict=True), shuffle.size, strict=True))
    assert found == {(1, 4): 2, (1, 6): 1, (2, 4): 6, (2, 6): 3, (3, 5): 5}
    empty = np.zeros(0, dtype=np.int64)
    assert len(proportional_shuffle(empty, np.zeros(0), empty, np.zeros(0))) == 0
