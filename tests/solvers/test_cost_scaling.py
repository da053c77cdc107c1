"""Cost scaling against networkx and the network simplex, with the potentials that prove it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from drawn_networks import Columns, checked, drawn
from plain_kernels import plain

from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.solvers import cost_scaling as engine
from optsched.solvers import networks
from optsched.solvers.cost_scaling import cost_scaling, scales
from optsched.solvers.network_simplex import UNLIMITED
from optsched.solvers.networks import FlowStatus

KERNELS = "optsched.solvers.scaling_kernels"


def ended(columns: Columns) -> tuple[FlowStatus, int | None]:
    """How cost scaling ended on a network and what its flow costs, flow and potentials checked."""
    found = cost_scaling(*columns)
    assert found is not None
    return checked(columns, found)


def compared(seeds: range) -> Counter[FlowStatus]:
    """How often it ended in each way on drawn networks, each as networkx ends, at the same cost."""
    ends: Counter[FlowStatus] = Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        columns = drawn(rng, int(rng.integers(1, 7)), int(rng.integers(0, 14)))
        tail, head, capacity, cost, supply = columns
        theirs = networks.min_cost_flow(tail, head, np.zeros_like(tail), capacity, cost, supply)
        least = None if theirs.flow is None else int((cost * theirs.flow).sum())
        mine = ended(columns)
        assert mine == (theirs.status, least)
        ends[mine[0]] += 1
    return ends


def test_small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the kernels as plain Python on small networks, those without a flow included: they end as networkx does."""
    plain(monkeypatch, KERNELS)
    assert min(compared(range(150)).values()) > 10


@pytest.mark.thorough
def test_many_small_networks() -> None:
    """Tests the compiled kernels on thousands of small networks."""
    pytest.importorskip("numba")
    assert len(compared(range(150, 3000))) == 3


def test_what_int64_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that huge costs and huge limits are told beforehand, and that prices that fall too far end it."""
    one = np.array([1])
    assert scales(2, one, one, np.array([1, -1]))
    assert not scales(2, one, one * 2**57, np.array([1, -1]))
    assert not scales(2, one * 2**61, one, np.array([1, -1]))
    assert scales(2, one * UNLIMITED, one, np.array([1, -1]))
    plain(monkeypatch, KERNELS)
    monkeypatch.setattr(engine, "_LOWEST", 1)
    ends = np.array([0, 1]), np.array([1, 2])
    assert cost_scaling(*ends, np.array([3, 3]), np.array([5, 90]), np.array([2, 0, -2])) is None


def test_deadline_within(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a deadline that is past ends it."""
    plain(monkeypatch, KERNELS)
    with deadline(0), pytest.raises(OutOfTime):
        cost_scaling(*drawn(np.random.default_rng(0), 5, 9))
