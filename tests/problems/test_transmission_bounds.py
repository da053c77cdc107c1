"""Bounds of `transmission` over the reduces, and their tables: no tree proves too much, and some bounds are exact."""

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pytest
from transmission_instances import any_prices, any_tree, drawn, enlarged, least_costs, rich

from optsched.certificates import certify
from optsched.core.instance import (
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    Topology,
    Workload,
)
from optsched.core.placement import NONE
from optsched.problems.base import exact
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import IMPOSSIBLE, OPEN, Branching, ReduceBounds
from optsched.routes import solve


@pytest.mark.parametrize("seed", range(30))
def test_costs_of_given_maps_and_reduces(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that costs beside maps or reduces that are placed are the objective's, held or computed in small parts."""
    problem = rich(seed)
    held = ReduceBounds(problem)
    monkeypatch.setattr("optsched.problems.transmission_bounds._HELD", 0)
    monkeypatch.setattr("optsched.problems.transmission_bounds._BLOCK", 1)
    computed = ReduceBounds(problem)
    rng = np.random.default_rng(seed)
    rows, fixed = rng.integers(0, len(held.room), len(problem.maps)), rng.integers(0, held.nowhere + 1, len(held.sent))
    assert np.array_equal(computed.given_maps(rows), held.given_maps(rows))
    assert np.array_equal(computed.map_costs(fixed), held.map_costs(fixed))
    open_ = np.where(np.arange(len(fixed)) == 0, OPEN, fixed)
    assert (computed.children(open_, 0, held.free) <= held.children(open_, 0, held.free)).all()
    on = np.append(held.hosts, NONE)[np.minimum(rows, held.rows)]
    there = np.where(fixed == held.nowhere, NONE, fixed)
    nodes = np.full(len(problem.tasks), NONE)
    nodes[problem.maps], nodes[problem.reduces] = on, there
    (value,) = problem.objective(problem.placement(nodes))
    every = np.arange(len(rows))
    of_maps = int(held.map_costs(np.full_like(fixed, held.nowhere))[rows, every].sum())
    of_reduces = int(held.given_maps(rows)[np.arange(len(fixed)), fixed].sum())
    assert of_maps + of_reduces == value * problem.grid * held.scale


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(12, 600))]
)
def test_no_tree_proves_too_much(seed: int) -> None:
    """Tests that bounds hold whatever the prices, states and order; that the search's own are tight.

    No tree proves more than the optimum, and no bound of a choice is more than the least that it leads to.
    """
    problem, rng = rich(seed), np.random.default_rng(seed)
    least = least_costs(problem)
    optimum = min(least.values())
    bounds = ReduceBounds(problem)
    for _ in range(3):
        enough = [IMPOSSIBLE, optimum + int(rng.integers(-9, 9))][rng.integers(2)]
        assert bounds.proved(any_tree(rng, bounds), enough) <= optimum, seed
    bounds.twin = np.full_like(bounds.twin, -1)  # a choice that another of reduces that are alike stands for counts too
    for some in rng.integers(len(least), size=5):
        chosen = np.array(list(least)[some])
        assert bounds.complete(chosen, any_prices(rng, len(bounds.free))) <= least[tuple(chosen.tolist())], seed
        reduce = int(rng.integers(len(chosen)))
        fixed = np.where((rng.random(len(chosen)) < 0.5) | (np.arange(len(chosen)) == reduce), OPEN, chosen)
        found = bounds.children(fixed, reduce, any_prices(rng, len(bounds.free)))
        for choice, cost in least.items():
            if all(one in (OPEN, other) for one, other in zip(fixed, choice, strict=True)):
                assert found[choice[reduce]] <= cost, (seed, fixed, choice)
    solution = solve(problem)
    assert solution.objective == solution.bound == (exact(optimum, problem.grid),), seed
    assert certify(problem, solution).proved, seed


def choices(bounds: ReduceBounds, order: tuple[int, ...], state: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Choices of all reduces that a tree in this order leads to."""
    fixed = bounds.fixed(np.array(order), state)
    if len(state) == len(order):
        yield tuple(fixed.tolist())
        return
    for choice in np.flatnonzero(bounds.allowed(fixed, order[len(state)])).tolist():
        yield from choices(bounds, order, (*state, choice))


def test_reduces_that_are_alike_in_any_order() -> None:
    """Tests that what is left out because of reduces that nothing tells apart costs no less, whichever comes first."""
    seen = 0
    for seed in range(100):
        problem = rich(seed)
        bounds = ReduceBounds(problem)
        assert (problem.map_capacity[bounds.hosts] > 0).all()
        assert bounds.room.sum() == max(problem.map_capacity.sum(), len(problem.maps))
        if (bounds.twin < 0).all():
            continue
        seen += 1
        least = least_costs(problem)
        for order in permutations(range(len(problem.reduces))):
            assert min(least[choice] for choice in choices(bounds, order)) == min(least.values()), seed
    assert seen > 5


def test_what_makes_reduces_alike() -> None:
    """Tests that R2 is as R1, and that R3 to R6 differ in a size, a map, their job, and what a running map sends."""
    sent = [[1, 1, 1, 0, 1, 1], [2, 2, 3, 1, 2, 2], [0, 0, 0, 2, 0, 0], [0, 0, 0, 0, 0, 4]]
    senders, receivers = np.indices((4, 6)).reshape(2, -1)
    cluster = Cluster(["a", "b"], slots=[4, 4], reduce_slots=[9, 9], topology=Topology("distance", [[0, 1], [1, 0]]))
    workload = Workload(
        [f"t{task}" for task in range(10)],
        kind=[MAP] * 4 + [REDUCE] * 6,
        job=[0] * 8 + [1, 0],
        job_ids=["J", "K"],
        size=[1.0] * 10,
        replicas=Ragged.from_rows([[0]] * 10),
        shuffle=Shuffle(senders, 4 + receivers, np.ravel(sent)),
    )
    status = [PENDING] * 3 + [RUNNING] + [PENDING] * 6
    instance = Instance.initial(cluster, workload, status=status, node=[-1] * 3 + [0] + [-1] * 6)
    assert ReduceBounds(Transmission(instance)).twin.tolist() == [-1, 0, -1, -1, -1, -1]
    assert ReduceBounds(Transmission(instance, distinct=False)).twin.tolist() == [-1, 0, -1, -1, 1, -1]


def test_bounds_of_the_last_two_reduces_are_exact() -> None:
    """Tests that with two reduces open and room for all maps everywhere, bounds are what the choices cost."""
    for seed in range(60):
        problem, rng = rich(seed, slots=4), np.random.default_rng(seed)
        bounds = ReduceBounds(problem)
        bounds.twin = np.full_like(bounds.twin, -1)
        least = least_costs(problem)
        chosen = np.array(list(least)[rng.integers(len(least))])
        some = rng.permutation(len(chosen))[:2]
        fixed = chosen.copy()
        fixed[some] = OPEN
        expected = np.full(bounds.nowhere + 1, IMPOSSIBLE)
        for choice, cost in least.items():
            if all(one in (OPEN, other) for one, other in zip(fixed, choice, strict=True)):
                expected[choice[some[0]]] = min(cost, expected[choice[some[0]]])
        assert bounds.children(fixed, int(some[0]), bounds.free).tolist() == expected.tolist(), seed


def test_known_bounds_never_make_a_bound_weaker() -> None:
    """Tests that the better of new and known bounds holds."""
    for seed in range(25):
        problem, rng = rich(seed), np.random.default_rng(seed)
        bounds = ReduceBounds(problem)
        for reduce in range(len(problem.reduces)):
            fixed = np.full(len(problem.reduces), OPEN)
            plain = bounds.children(fixed, reduce, bounds.free)
            assert (bounds.children(fixed, reduce, any_prices(rng, len(bounds.free)), plain) >= plain).all(), seed


def test_many_pairs_of_reduces_without_a_place() -> None:
    """Tests the bound where ten jobs have one place each for two reduces, and all that may be left out are."""
    jobs, tasks = np.arange(10), 51
    pairs = np.repeat(jobs, 2)
    cluster = Cluster(["a", "b"], slots=[10, 10], reduce_slots=[0, 30], topology=Topology("distance", [[0, 1], [1, 0]]))
    workload = Workload(
        [f"t{task}" for task in range(tasks)],
        kind=[MAP] * 10 + [REDUCE] * 41,
        job=[*jobs, *pairs, *[-1] * 11, *jobs],
        job_ids=[f"j{job}" for job in jobs],
        size=[1.0] * tasks,
        replicas=Ragged.from_rows([[0]] * tasks),
        shuffle=Shuffle(pairs, np.arange(10, 30), np.ones(20)),
    )
    state = {"status": [PENDING] * 41 + [RUNNING] * 10, "node": [-1] * 41 + [0] * 10}
    problem = Transmission(Instance.initial(cluster, workload, **state))
    bounds = ReduceBounds(problem)
    assert (len(problem.reduces), problem.reduce_count) == (31, 21)
    fixed = np.array([OPEN] * 21 + [bounds.nowhere] * 10)
    assert bounds.children(fixed, 20, bounds.free).tolist() == [IMPOSSIBLE] * 3


@pytest.mark.parametrize(("maps", "reduces", "nodes", "slots"), [(150, 1, 2, 75), (1, 100, 100, 1)])
def test_prices_that_are_too_large(maps: int, reduces: int, nodes: int, slots: int) -> None:
    """Tests that prices whose sum is past what numbers hold prove nothing that is not so."""
    problem = Transmission(drawn(0, maps, reduces, nodes, slots=slots))
    bounds = ReduceBounds(problem)
    value = problem.objective(problem.placement([*np.arange(maps) // slots, *range(reduces)]))[0]
    largest = np.full(nodes + 1, 2**53)
    for prices in ([], [largest[: len(bounds.free)]]):
        assert bounds.proved(Branching(np.arange(reduces), {(): prices})) <= value


@pytest.mark.parametrize(("size", "scale"), [(2.0**47, 64), (2.0**47 + 1, 1), (0.5, 1)])
def test_parts_of_a_unit(size: float, scale: int) -> None:
    """Tests that costs are counted in parts of a unit where they are whole and all of them are within 2^53 parts."""
    cluster = Cluster(["a", "b"], topology=Topology("distance", [[0, 1], [1, 0]]))
    rows, nothing = Ragged.from_rows([[0], []]), Shuffle([0], [1], [0.0])
    workload = Workload(["m", "r"], kind=[MAP, REDUCE], size=[size, np.nan], replicas=rows, shuffle=nothing)
    assert ReduceBounds(Transmission(Instance(cluster, workload))).scale == scale


def test_bounds_of_large_costs() -> None:
    """Tests that bounds scale with the sizes, past what 31 bits hold, where they are exact."""
    instance = drawn(0, 3, 3, 4, slots=3)
    expected: dict[tuple[int, ...], list[int]] = {}
    for power in range(41):
        bounds = ReduceBounds(enlarged(instance, power))
        for fixed in ((0, OPEN, OPEN), (0, 1, OPEN)):
            found = bounds.children(np.array(fixed), 2, bounds.free).tolist()
            small = expected.setdefault(fixed, found)
            assert found == [one if one == IMPOSSIBLE else one * 2**power for one in small], power
