"""Loops of the engines: trees stay trees, a call may be broken off anywhere, and what cannot end is reported."""

from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
from engines import plain

from optsched.problems.generalized_assignment import fill
from optsched.solvers import networks as engine
from optsched.solvers.compiled import compiles
from optsched.solvers.networks import UNBOUNDED, first_tree

KERNELS = "optsched.solvers.kernels"


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The kernels as plain Python."""
    return plain(monkeypatch, KERNELS)


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
def test_each_pivot_leaves_a_tree(seed: int, kernels: ModuleType) -> None:
    """Tests on random networks that a tree is left after each pivot, and that one at a time come to the same end."""
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
def test_each_pivot_on_a_table_leaves_a_tree(stay: bool, kernels: ModuleType) -> None:
    """Tests the same of a table, whose arcs have no limit and where rows or columns have more than the others."""
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


def ints(*values: int) -> np.ndarray:
    """An array of int64."""
    return np.array(values, dtype=np.int64)


def rounds(tail: np.ndarray, head: np.ndarray, limit: np.ndarray, supply: np.ndarray) -> engine._Rounds:
    """The residual network as the engine makes it."""
    return engine._Rounds(tail, head, limit, supply)


def discharged(kernels: ModuleType, network: engine._Rounds, cost: np.ndarray, steps: int) -> tuple[int, list[int]]:
    """One call of `discharges` on a network whose prices were never updated: how it ended, and its place."""
    by_arc = np.concatenate([cost, -cost])[network._order]
    columns = *network._network, by_arc, network.room, network._excess, network.price
    place = ints(0, 0, 0)
    waiting = np.flatnonzero(network._excess > 0)
    network._queue[: len(waiting)], place[1] = waiting, len(waiting)
    end = kernels.discharges(*columns, network._current, network._queue, place, 1, steps)
    return end, place.tolist()


def test_bug_endless_relabelling(kernels: ModuleType) -> None:
    """Tests that nodes that send excess to and fro end the call for an update of prices, which tells of no way."""
    network = rounds(ints(0, 1), ints(1, 0), ints(9, 9), ints(2, 0, -2))
    end, place = discharged(kernels, network, ints(0, 0), steps=10**5)
    assert end == kernels.UPDATE
    assert 3 <= place[2] <= 2 * 3
    found = engine.cost_scaling(ints(0, 1), ints(1, 0), ints(UNBOUNDED, UNBOUNDED), ints(0, 0), ints(2, 0, -2))
    assert (found.flow, found.status) == (None, engine.FlowStatus.INFEASIBLE)


def test_a_call_ends_within_one_node(kernels: ModuleType) -> None:
    """Tests that steps end a call inside the discharge of a node of many arcs, and that what is left is not lost."""
    arcs = 1000
    ends = np.zeros(arcs, dtype=np.int64), np.ones(arcs, dtype=np.int64)
    network = rounds(*ends, np.ones(arcs, dtype=np.int64), ints(arcs, -arcs))
    network.price[0] = 1
    end, place = discharged(kernels, network, np.full(arcs, -2), steps=100)
    assert (end, place[1]) == (kernels.MORE, 1)
    assert network._excess.tolist() == [arcs - 100, 100 - arcs]


def test_calls_of_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that calls of a step each come to a flow of the same cost as one call."""
    plain(monkeypatch, KERNELS)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        ring = np.arange(6)
        tail, head = np.append(ring, rng.integers(0, 6, 9)), np.append((ring + 1) % 6, rng.integers(0, 6, 9))
        capacity = np.append(np.full(6, 40), rng.integers(0, 6, 9))
        cost = np.append(np.full(6, 60), rng.integers(-5, 60, 9))
        supply = ints(3, 2, 0, 0, -1, -4)
        costs = set()
        for steps in (1, 10**6):
            monkeypatch.setattr(engine, "_STEPS", steps)
            costs.add(int((engine.cost_scaling(tail, head, capacity, cost, supply).flow * cost).sum()))
        assert len(costs) == 1


def test_compiled_and_plain_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that numba's loops take the steps of the same loops in Python: the flows and prices are equal."""
    pytest.importorskip("numba")
    drawn = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        tail, head = rng.integers(0, 9, (2, 40))
        supply = rng.integers(-2, 3, 9)
        supply[-1] -= supply.sum()
        drawn.append((tail, head, rng.integers(1, 9, 40), rng.integers(-4, 50, 40), supply))
    compiled = [engine.cost_scaling(*columns) for columns in drawn]
    plain(monkeypatch, KERNELS)
    for found, columns in zip(compiled, drawn, strict=True):
        again = engine.cost_scaling(*columns)
        assert found.flow.tolist() == again.flow.tolist()
        assert found.potential.tolist() == again.potential.tolist()


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_the_loop_fills_as_the_arrays_do(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests least costs, with each item and without it, items without weight and of the whole knapsack included."""
    if compiled and not compiles():
        pytest.skip("numba is not installed, or turned off")
    fill_one = (import_module(KERNELS) if compiled else plain(monkeypatch, KERNELS)).fill_one
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
