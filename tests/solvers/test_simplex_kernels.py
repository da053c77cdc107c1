"""Pivots of the network simplex: the tree stays one, steps may be taken one by one, and what cannot end is told."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from plain_kernels import plain

from optsched.solvers.networks import UNBOUNDED, first_tree

KERNELS = "optsched.solvers.simplex_kernels"


def assert_tree(kernels: ModuleType, tree: np.ndarray, reduced: dict[int, int]) -> None:
    """Assert that all columns tell of one tree, strongly feasible, and that its listed arcs cost nothing, reduced."""
    root = len(tree) - 1
    order, node = [root], int(tree[root, kernels.THREAD])
    while node != root:
        assert tree[node, kernels.BEFORE] == order[-1]
        order.append(node)
        node = int(tree[node, kernels.THREAD])
    assert sorted(order) == list(range(len(tree)))
    at = {node: position for position, node in enumerate(order)}
    below = {node: [node] for node in order}
    for node in reversed(order[1:]):
        below[int(tree[node, kernels.PARENT])] += below[node]
    for node in order:
        size = tree[node, kernels.SIZE]
        assert size == len(below[node])
        assert sorted(at[under] for under in below[node]) == list(range(at[node], at[node] + size))
        assert tree[node, kernels.LAST] == order[at[node] + size - 1]
    for node in range(root):
        assert tree[node, kernels.OUT] > 0
        assert tree[node, kernels.IN] >= 0
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
        state, place = np.ones(arcs, dtype=np.int8), np.zeros(2, dtype=np.int64)
        columns = tail, head, cost, capacity, state, place, 7, 1
        while kernels.list_pivots(tree, potential, *columns, steps) == kernels.MORE:
            reduced = cost + potential[tail] - potential[head]
            assert_tree(kernels, tree, dict(enumerate(reduced.tolist())))
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
            assert_tree(kernels, tree, dict(enumerate(reduced.ravel().tolist())))
        assert (cost + potential[:7, None] - potential[7:-1] >= 0).all()
        assert (potential[:7] >= potential[-1]).all() if stay else (potential[7:] <= potential[-1]).all()
        ends.append((tree.tolist(), potential.tolist()))
    assert ends[0] == ends[1]


def test_nothing_limits_a_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a cycle without limit that pays is told, with the tree as it was before."""
    kernels = plain(monkeypatch, KERNELS)
    tree, potential = first_tree(np.array([True, True]), np.array([0, 0]), 10)
    ends = np.array([0, 1], dtype=np.int32), np.array([1, 0], dtype=np.int32)
    columns = (
        np.array([2, -3]),
        np.array([UNBOUNDED, UNBOUNDED]),
        np.ones(2, dtype=np.int8),
        np.zeros(2, dtype=np.int64),
    )
    assert kernels.list_pivots(tree, potential, *ends, *columns, 2, 1, 100) == kernels.ENDLESS
