"""The network simplex against networkx and HiGHS, with the potentials that prove it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from plain_kernels import plain

from optsched.deadline import deadline
from optsched.errors import OutOfTime
from optsched.searches.assignment import network_program
from optsched.solvers import networks
from optsched.solvers.highs import solve_arrays
from optsched.solvers.network_simplex import UNLIMITED, network_simplex
from optsched.solvers.networks import FlowStatus
from optsched.solvers.profiles import Profile

KERNELS = "optsched.solvers.simplex_kernels"

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def drawn(rng: np.random.Generator, nodes: int, arcs: int, unit: int = 1) -> Columns:
    """Tail, head, capacity, cost and supply of a small network, loops, parallel arcs and negative costs included."""
    tail, head = rng.integers(0, nodes, (2, arcs))
    capacity = np.where(rng.random(arcs) < 0.3, UNLIMITED, unit * rng.integers(0, 6, arcs))
    supply = unit * rng.integers(-3, 4, nodes) * (rng.random() < 0.8)
    supply[-1] -= supply.sum()
    return tail, head, capacity, rng.integers(-2, [2, 6, 10**6][rng.integers(3)], arcs), supply


def checked(columns: Columns) -> FlowStatus:
    """How a network simplex ended on a network, its flow checked, its potentials checked to prove it."""
    tail, head, capacity, cost, supply = columns
    found = network_simplex(*columns)
    if found.unbounded:
        return FlowStatus.UNBOUNDED
    if found.flow is None or found.potential is None:
        assert (found.flow, found.potential) == (None, None)
        return FlowStatus.INFEASIBLE
    left = supply.copy()
    np.subtract.at(left, tail, found.flow)
    np.add.at(left, head, found.flow)
    assert not left.any()
    assert ((found.flow >= 0) & (found.flow <= capacity)).all()
    reduced = cost + found.potential[tail] - found.potential[head]
    assert (reduced[found.flow < capacity] >= 0).all()
    assert (reduced[found.flow > 0] <= 0).all()
    return FlowStatus.OPTIMAL


def compared(seeds: range, unit: int = 1) -> Counter[FlowStatus]:
    """How often the network simplex ended in each way on drawn networks, each as networkx ends."""
    ends: Counter[FlowStatus] = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(1, 7))
        columns = drawn(rng, nodes, int(rng.integers(0, 14)), unit)
        tail, head, capacity, cost, supply = columns
        mine = checked(columns)
        theirs = networks.min_cost_flow(tail, head, np.zeros_like(tail), capacity, cost, supply).status
        assert mine is theirs or (mine, theirs) == (FlowStatus.UNBOUNDED, FlowStatus.INFEASIBLE)
        ends[mine] += 1
    return ends


def test_small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the kernels as plain Python on small networks, with units of up to 2^50 too: they end as networkx does."""
    plain(monkeypatch, KERNELS)
    assert min((compared(range(150)) + compared(range(150, 200), 2**48)).values()) > 10


@pytest.mark.thorough
def test_many_small_networks() -> None:
    """Tests the compiled kernels on thousands of small networks: they end as networkx does."""
    pytest.importorskip("numba")
    assert len(compared(range(200, 4000))) == 3


@pytest.mark.thorough
def test_larger_networks() -> None:
    """Tests networks of some hundred nodes against HiGHS, and the same flow twice."""
    pytest.importorskip("numba")
    ends = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        tail, head, capacity, cost, supply = drawn(rng, 120, 1500)
        capacity = np.minimum(capacity, 40)
        status = checked((tail, head, capacity, cost, supply))
        by_highs = solve_arrays(network_program(tail, head, capacity, cost, supply), Profile("exact")).outcome
        assert str(by_highs.status) == str(status)
        ends.add(status)
        if status is FlowStatus.OPTIMAL:
            first, second = (network_simplex(tail, head, capacity, cost, supply) for _ in range(2))
            assert first.flow is not None
            assert np.array_equal(first.flow, second.flow)
            assert by_highs.objective == pytest.approx((cost * first.flow).sum(), abs=1e-6)
    assert ends == {FlowStatus.OPTIMAL, FlowStatus.INFEASIBLE}


def test_deadline_within(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a deadline that is past ends it."""
    plain(monkeypatch, KERNELS)
    columns = drawn(np.random.default_rng(0), 5, 9)
    with deadline(0), pytest.raises(OutOfTime):
        network_simplex(*columns)
