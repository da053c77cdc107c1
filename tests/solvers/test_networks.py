"""Network engines against brute force, networkx, and their own proofs."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from engines import KERNELS, ints, plain
from hypothesis import given
from hypothesis import strategies as st

from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime, SolverDisagreement, TooLarge, UsageError
from optsched.core.processes import limits
from optsched.problems.base import exact_product
from optsched.solvers import networks
from optsched.solvers.networks import (
    UNBOUNDED,
    FlowStatus,
    cheapened,
    cost_scaling,
    min_cost_flow,
    network_simplex,
    scales,
)

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def drawn(rng: np.random.Generator, nodes: int, arcs: int, unit: int = 1) -> Columns:
    """Tail, head, capacity, cost and supply of a small network, loops, parallel arcs and negative costs included."""
    tail, head = rng.integers(0, nodes, (2, arcs))
    capacity = np.where(rng.random(arcs) < 0.3, UNBOUNDED, unit * rng.integers(0, 6, arcs))
    supply = unit * rng.integers(-3, 4, nodes) * (rng.random() < 0.8)
    supply[-1] -= supply.sum()
    return tail, head, capacity, rng.integers(-2, [2, 6, 10**6][rng.integers(3)], arcs), supply


def assert_flow(
    flow: np.ndarray, tail: np.ndarray, head: np.ndarray, lower: Any, capacity: np.ndarray, supply: Any
) -> None:
    """Assert that a flow keeps the limits of each arc, and that each node sends what it supplies."""
    left = np.array(supply)
    np.subtract.at(left, tail, flow)
    np.add.at(left, head, flow)
    assert not left.any()
    assert ((lower <= flow) & (flow <= capacity)).all()


Arcs = list[tuple[int, int, int, int, int]]


@st.composite
def flow_networks(draw: st.DrawFn) -> tuple[Arcs, list[int]]:
    """Arcs (tail, head, lower, capacity, cost), loops and parallel ones among them, and supplies that add up to 0."""
    nodes = draw(st.integers(1, 4))
    node = st.integers(0, nodes - 1)
    arcs = []
    for _ in range(draw(st.integers(0, 6))):
        lower = draw(st.integers(-1, 1))
        room = draw(st.integers(0, 2))
        arcs.append((draw(node), draw(node), lower, lower + room, draw(st.integers(-4, 4))))
    supply = [draw(st.integers(-2, 2)) for _ in range(nodes - 1)]
    return arcs, [*supply, -sum(supply)]


def brute_force(arcs: Arcs, supply: list[int]) -> int | None:
    """Least cost over all integer flows; None where there is none."""
    best = None
    for flow in itertools.product(*[range(lower, capacity + 1) for _, _, lower, capacity, _ in arcs]):
        out = [0] * len(supply)
        for (tail, head, *_), amount in zip(arcs, flow, strict=True):
            out[tail] += amount
            out[head] -= amount
        if out == supply:
            cost = sum(arc[4] * amount for arc, amount in zip(arcs, flow, strict=True))
            best = cost if best is None else min(best, cost)
    return best


@given(case=flow_networks())
def test_min_cost_flow(case: tuple[Arcs, list[int]]) -> None:
    """Tests that the flow is one, costs the least of all, and is proved by its potentials in integers."""
    arcs, supply = case
    tail, head, lower, capacity, cost = (ints(column) for column in np.reshape(arcs, (-1, 5)).T)
    result = min_cost_flow(tail, head, lower, capacity, cost, ints(supply))
    least = brute_force(arcs, supply)
    if least is None:
        assert (result.status, result.flow, result.potential) == (FlowStatus.INFEASIBLE, None, None)
        return
    assert result.status is FlowStatus.OPTIMAL
    flow, potential = result.flow, result.potential
    assert flow.dtype == potential.dtype == np.int64
    assert_flow(flow, tail, head, lower, capacity, supply)
    reduced = cost + potential[tail] - potential[head]
    dual = (reduced * np.where(reduced > 0, lower, capacity)).sum() - (potential * supply).sum()
    assert (cost * flow).sum() == dual == least


@given(
    case=flow_networks(), other=st.lists(st.integers(-4, 4), min_size=6, max_size=6), scale=st.sampled_from([1, 2**50])
)
def test_cheapened_flows(case: tuple[Arcs, list[int]], other: list[int], scale: int) -> None:
    """Tests that from the cheapest flow of other costs comes one of least cost, exactly where costs are near 2^53."""
    arcs, supply = case
    tail, head, lower, capacity, cost = (ints(column) for column in np.reshape(arcs, (-1, 5)).T)
    found = min_cost_flow(tail, head, lower, capacity, ints(other[: len(arcs)]), ints(supply)).flow
    if found is None:
        return
    before, large = found.copy(), cost * scale + ints(other[: len(arcs)]) * (scale > 1)
    flow = cheapened(tail, head, lower, capacity, large, found, len(supply))
    assert found.tolist() == before.tolist()
    assert_flow(flow, tail, head, lower, capacity, supply)
    least = brute_force([(*arc[:4], price) for arc, price in zip(arcs, large.tolist(), strict=True)], supply)
    assert int((large * flow).sum()) == least


def test_min_cost_flow_without_capacity() -> None:
    """Tests that a cycle of negative cost and no capacity is unbounded, and one of cost 0 is not."""
    ends, lower, free, supply = (ints([0, 1]), ints([1, 0])), ints([0, 0]), ints([UNBOUNDED] * 2), ints([0, 0])
    assert min_cost_flow(*ends, lower, free, ints([1, -2]), supply).status is FlowStatus.UNBOUNDED
    assert min_cost_flow(*ends, lower, free, ints([1, -1]), supply).status is FlowStatus.OPTIMAL
    assert (
        min_cost_flow(ints([0]), ints([0]), ints([0]), free[:1], ints([-1]), ints([0])).status is FlowStatus.UNBOUNDED
    )


def test_bug_large_flow_taken_for_unlimited() -> None:
    """Tests a flow of all that capacities and supplies allow, which networkx took for a cycle without a limit."""
    found = min_cost_flow(ints([1, 0]), ints([0, 1]), ints([0, 0]), ints([2, UNBOUNDED]), ints([0, -2]), ints([1, -1]))
    assert (found.status, found.flow.tolist()) == (FlowStatus.OPTIMAL, [2, 3])


def test_min_cost_flow_of_nothing() -> None:
    """Tests a network without nodes, without arcs, and with supplies that do not add up or limits that cross."""
    nothing = ints([])
    assert min_cost_flow(*[nothing] * 6).status is FlowStatus.OPTIMAL
    assert min_cost_flow(*[nothing] * 5, ints([0, 0])).status is FlowStatus.OPTIMAL
    assert min_cost_flow(*[nothing] * 5, ints([1, 0])).status is FlowStatus.INFEASIBLE
    crossed = min_cost_flow(ints([0]), ints([0]), ints([2]), ints([1]), ints([0]), ints([0]))
    assert crossed.status is FlowStatus.INFEASIBLE


def test_min_cost_flow_of_wrong_input() -> None:
    """Tests that an arc to no node and costs whose potentials would not be exact are wrong usage."""
    one = ints([0])
    with pytest.raises(UsageError, match="nodes 0 to 1"):
        min_cost_flow(one, ints([2]), one, one, one, ints([0, 0]))
    with pytest.raises(UsageError, match="pass 2\\^53"):
        min_cost_flow(one, ints([1]), one, one, ints([2**52]), ints([0, 0]))


def test_min_cost_flow_checks_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a flow that is not of least cost would be noticed by its potentials."""
    monkeypatch.setattr(networks, "_network_simplex", lambda *_: ints([0, 1]))
    with pytest.raises(SolverDisagreement, match="not of least cost"):
        min_cost_flow(ints([0, 0]), ints([1, 1]), ints([0, 0]), ints([1, 1]), ints([1, 2]), ints([1, -1]))


@pytest.mark.parametrize("unit", [1, 2**48])
def test_min_cost_flow_by_kernels(unit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the engines of min_cost_flow end alike, lower limits and flows near 2^50 included."""
    plain(monkeypatch, KERNELS)
    seen = Counter()
    for seed in range(150):
        rng = np.random.default_rng(seed)
        tail, head, capacity, cost, supply = drawn(rng, int(rng.integers(1, 7)), int(rng.integers(0, 14)), unit)
        lower = unit * rng.integers(0, 2, len(tail)) * (seed % 2)
        capacity = np.where(capacity == UNBOUNDED, UNBOUNDED, lower + capacity)
        ends = []
        for name, large, scaling in (
            ("networkx network_simplex", False, False),
            ("network simplex", True, False),
            ("cost scaling", False, True),
        ):
            monkeypatch.setattr(networks, "simplex_compiled", lambda _, large=large: large)
            found = min_cost_flow(tail, head, lower, capacity, cost, supply, scaling)
            assert found.solver["name"] == name
            ends.append((found.status, None if found.flow is None else exact_product(cost, found.flow)))
            if found.flow is not None:
                assert_flow(found.flow, tail, head, lower, capacity, supply)
                reduced = cost + found.potential[tail] - found.potential[head]
                assert (reduced[found.flow < capacity] >= 0).all()
                assert (reduced[found.flow > lower] <= 0).all()
        assert ends[0] == ends[1] == ends[2]
        seen[ends[0][0]] += 1
    assert min(seen[status] for status in FlowStatus) > 10


def test_which_networks_are_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that many arcs are, where kernels compile, unless flows or their sum do not fit into int64."""
    monkeypatch.setattr(networks, "compiles", lambda: True)
    assert (networks.simplex_compiled(10), networks.simplex_compiled(10**6)) == (False, True)
    monkeypatch.setattr(networks, "FEW_ARCS", 0)
    monkeypatch.setattr(networks, "network_simplex", lambda *_: pytest.fail("is not for kernels"))
    ends = ints([0, 0]), ints([1, 1])
    wide = min_cost_flow(*ends, ints([0, 0]), ints([2**62, 2**62]), ints([1, 2]), ints([1, -1]))
    assert (wide.status, wide.flow.tolist()) == (FlowStatus.OPTIMAL, [1, 0])
    assert min_cost_flow(*ends, ints([0, 0]), ints([3, 3]), ints([1, 2]), ints([2, -1])).status is FlowStatus.INFEASIBLE
    monkeypatch.setattr(networks, "compiles", lambda: False)
    assert not networks.simplex_compiled(10**6)


def test_what_cost_scaling_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the network simplex takes what cost scaling refuses: compiled if there are many arcs, or networkx."""
    plain(monkeypatch, KERNELS)
    arrays = ints([0, 0]), ints([1, 1]), ints([0, 0]), ints([3, 2**61]), ints([1, 2]), ints([2, -2])
    assert min_cost_flow(*arrays, scaling=True).solver["name"] == "networkx network_simplex"
    small = *arrays[:3], ints([3, 3]), *arrays[4:]
    monkeypatch.setattr(networks, "cost_scaling", lambda *_: None)
    assert min_cost_flow(*small, scaling=True).solver["name"] == "networkx network_simplex"
    monkeypatch.setattr(networks, "simplex_compiled", lambda _: True)
    found = min_cost_flow(*small, scaling=True)
    assert (found.solver["name"], found.flow.tolist()) == ("network simplex", [2, 0])


def test_networkx_that_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a network that Python has no memory for is reported before networkx builds it."""
    monkeypatch.setattr(limits, "has_room", lambda size: size < 2 * 1000)
    ends = np.array([0, 0]), np.array([1, 1])
    none = np.zeros(2, dtype=np.int64)
    text = r"^the network simplex of networkx would have 2 arcs as Python objects, and take .*; use route \"arrays\"$"
    with pytest.raises(TooLarge, match=text):
        min_cost_flow(*ends, none, none + 3, none + 1, np.array([2, -2]))


# The engines by themselves --------------------------------------------------------------------------------------------

ENGINES = {"network simplex": network_simplex, "cost scaling": cost_scaling}


@pytest.mark.parametrize("name", ENGINES)
def test_deadline_within(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a deadline that is past ends either."""
    plain(monkeypatch, KERNELS)
    columns = drawn(np.random.default_rng(0), 5, 9)
    with deadline(0), pytest.raises(OutOfTime):
        ENGINES[name](*columns)


def test_what_int64_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that huge costs and huge limits are said beforehand, and that prices that fall too far end cost scaling."""
    one = np.array([1])
    assert scales(2, one, one, np.array([1, -1]))
    assert not scales(2, one, one * 2**57, np.array([1, -1]))
    assert not scales(2, one * 2**61, one, np.array([1, -1]))
    assert scales(2, one * UNBOUNDED, one, np.array([1, -1]))
    plain(monkeypatch, KERNELS)
    monkeypatch.setattr(networks, "_LOWEST", 1)
    ends = np.array([0, 1]), np.array([1, 2])
    assert cost_scaling(*ends, np.array([3, 3]), np.array([5, 90]), np.array([2, 0, -2])) is None
