"""Pivots of the network simplex: the tree stays one, steps may be taken one by one, and what cannot end is told."""

from __future__ import annotations

import numpy as np
import pytest
from plain_kernels import plain

from optsched.solvers.network_simplex import UNLIMITED, first_tree

KERNELS = "optsched.solvers.simplex_kernels"


def assert_tree(kernels, tree: np.ndarray, potential: np.ndarray, reduced: dict[int, int]) -> None:
    """Assert that threads, depths and parents tell of one tree, and that its listed arcs cost nothing, reduced."""
    root, order, node = len(tree) - 1, [], len(tree) - 1
    for _ in range(len(tree)):
        order.append(node)
        assert tree[tree[node, kernels.THREAD], kernels.BEFORE] == node
        node = int(tree[node, kernels.THREAD])
    assert node == root
    assert sorted(order) == list(range(len(tree)))
    path: list[int] = []
    for node in order:  # in preorder each node follows its parent, with nothing but the parent's subtree between
        del path[int(tree[node, kernels.DEPTH]) :]
        assert node == root or path[-1] == tree[node, kernels.PARENT]
        path.append(node)
    for node in range(root):
        assert 0 <= tree[node, kernels.FLOW] <= tree[node, kernels.LIMIT]
        if tree[node, kernels.FLOW] == 0:  # strongly feasible: more could flow towards the root
            assert tree[node, kernels.UP] == 1
        if tree[node, kernels.FLOW] == tree[node, kernels.LIMIT]:
            assert tree[node, kernels.UP] == 0
        assert reduced.get(int(tree[node, kernels.ARC]), 0) == 0


@pytest.mark.parametrize("seed", range(6))
def test_each_pivot_leaves_a_tree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests on random networks that a tree is left after each pivot, and that one at a time come to the same end."""
    kernels = plain(monkeypatch, KERNELS)
    rng = np.random.default_rng(seed)
    nodes, arcs = 9, 40
    tail, head = (rng.integers(0, nodes, arcs).astype(np.int32) for _ in range(2))
    capacity, cost = rng.integers(1, 5, arcs), rng.integers(-4, 9, arcs)
    supply = rng.integers(1, 3, nodes) * np.repeat([1, -1, 1], 3)
    supply[-1] -= supply.sum()
    ends = []
    for steps in (1, 10**6):
        tree, potential = first_tree(supply >= 0, np.abs(supply), 10**3)
        state, place = np.ones(arcs, dtype=np.int8), np.zeros(1, dtype=np.int64)
        columns = tail, head, cost, capacity, state, place, 7
        while kernels.list_pivots(tree, potential, *columns, steps) == kernels.MORE:
            reduced = cost + potential[tail] - potential[head]
            assert_tree(kernels, tree, potential, dict(enumerate(reduced.tolist())))
        assert (state * (cost + potential[tail] - potential[head]) >= 0).all()
        ends.append((tree.tolist(), potential.tolist(), state.tolist()))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("stay", [True, False])
def test_each_pivot_on_a_table_leaves_a_tree(stay: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the same of a table, whose arcs have no limit and where rows or columns have more than the others."""
    kernels = plain(monkeypatch, KERNELS)
    cost = np.random.default_rng(stay).integers(0, 9, (7, 20))
    ends = []
    for steps in (1, 10**6):
        amount = np.repeat([9, 1] if stay else [2, 3], [7, 20])
        tree, potential = first_tree(np.arange(27) < 7, amount, 10**3, spare=not stay)
        place = np.zeros(1, dtype=np.int64)
        while kernels.table_pivots(tree, potential, cost, stay, place, 2, steps) == kernels.MORE:
            reduced = cost + potential[:7, None] - potential[7:-1]
            assert_tree(kernels, tree, potential, dict(enumerate(reduced.ravel().tolist())))
        assert (cost + potential[:7, None] - potential[7:-1] >= 0).all()
        assert (potential[:7] >= 0).all() if stay else (potential[7:] <= 0).all()
        ends.append((tree.tolist(), potential.tolist()))
    assert ends[0] == ends[1]


def test_nothing_limits_a_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a cycle without limit that pays is told, with the tree as it was before."""
    kernels = plain(monkeypatch, KERNELS)
    tree, potential = first_tree(np.array([True, True]), np.array([0, 0]), 10)
    ends = np.array([0, 1], dtype=np.int32), np.array([1, 0], dtype=np.int32)
    columns = (
        np.array([2, -3]),
        np.array([UNLIMITED, UNLIMITED]),
        np.ones(2, dtype=np.int8),
        np.zeros(1, dtype=np.int64),
    )
    assert kernels.list_pivots(tree, potential, *ends, *columns, 2, 100) == kernels.UNBOUNDED
