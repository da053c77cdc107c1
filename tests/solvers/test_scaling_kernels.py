"""Loops of cost scaling: what a call does, that it ends, and that it may be broken off anywhere."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from plain_kernels import plain

from optsched.solvers import networks as engine
from optsched.solvers.networks import UNBOUNDED

KERNELS = "optsched.solvers.scaling_kernels"


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The kernels as plain Python."""
    return plain(monkeypatch, KERNELS)


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


def test_begin_fills_arcs_that_pay(kernels: ModuleType) -> None:
    """Tests that an arc of negative reduced cost is filled, what it takes is an excess, and others stay as they are."""
    network = rounds(ints(0, 0), ints(1, 1), ints(3, 4), ints(0, 0))
    by_arc = np.concatenate([ints(-1, 1), ints(1, -1)])[network._order]
    kernels.begin(*network._network, by_arc, network.room, network._excess, network.price)
    assert network.room[network.own].tolist() == [0, 4]
    assert network._excess.tolist() == [-3, 3]


def test_update_measures_distances(kernels: ModuleType) -> None:
    """Tests that prices fall by the distance to what lacks something, and that an excess without a way is told."""
    chain = rounds(ints(0, 1), ints(1, 2), ints(5, 5), ints(2, 0, -2))
    cost = np.zeros(4, dtype=np.int64)
    columns = *chain._network, cost, chain.room, chain._excess, chain.price, chain._current
    assert kernels.update(*columns, *chain._work, 1) == kernels.MORE
    assert chain.price.tolist() == [-2, -1, 0]
    cut = rounds(ints(1, 1), ints(0, 2), ints(5, 5), ints(2, 0, -2))
    columns = *cut._network, cost, cut.room, cut._excess, cut.price, cut._current
    assert kernels.update(*columns, *cut._work, 1) == kernels.CUT_OFF


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
