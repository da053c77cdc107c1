"""The network simplex against networkx and HiGHS, with the potentials that prove it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from drawn_networks import checked, drawn
from plain_kernels import plain

from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.searches.assignment import network_program
from optsched.solvers import networks
from optsched.solvers.highs import solve_arrays
from optsched.solvers.network_simplex import network_simplex
from optsched.solvers.networks import FlowStatus
from optsched.solvers.profiles import Profile

KERNELS = "optsched.solvers.simplex_kernels"


def compared(seeds: range, unit: int = 1) -> Counter[FlowStatus]:
    """How often the network simplex ended in each way on drawn networks, each as networkx ends."""
    ends: Counter[FlowStatus] = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(1, 7))
        columns = drawn(rng, nodes, int(rng.integers(0, 14)), unit)
        tail, head, capacity, cost, supply = columns
        mine, _ = checked(columns, network_simplex(*columns))
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
        columns = tail, head, capacity, cost, supply
        first, second = network_simplex(*columns), network_simplex(*columns)
        status, least = checked(columns, first)
        by_highs = solve_arrays(network_program(tail, head, capacity, cost, supply), Profile("exact")).outcome
        assert str(by_highs.status) == str(status)
        ends.add(status)
        if status is FlowStatus.OPTIMAL:
            assert first.flow is not None
            assert second.flow is not None
            assert np.array_equal(first.flow, second.flow)
            assert by_highs.objective == pytest.approx(least, abs=1e-6)
    assert ends == {FlowStatus.OPTIMAL, FlowStatus.INFEASIBLE}


def test_deadline_within(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a deadline that is past ends it."""
    plain(monkeypatch, KERNELS)
    columns = drawn(np.random.default_rng(0), 5, 9)
    with deadline(0), pytest.raises(OutOfTime):
        network_simplex(*columns)
