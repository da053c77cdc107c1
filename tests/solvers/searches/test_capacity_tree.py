"""The trees of `generalized-assignment`, climbs over limits, and neighbourhoods: optima by enumeration, and limits."""

from typing import Any

import numpy as np
import pytest
from small_problems import enumerated
from small_problems import generalized_assignment as posed

from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.core.instance import Ints
from optsched.problems import GeneralizedAssignment
from optsched.problems.generalized_assignment import CapacityKnapsacks, NodePrices
from optsched.solvers import kernels
from optsched.solvers.searches import capacity_tree
from optsched.solvers.searches.capacity_tree import CapacityClimb, CapacityNeighbourhoods, CapacityTree, fill_compiled
from optsched.solvers.searches.enumeration import best_placement


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rounds of prices, so that trees of small problems have several steps."""
    monkeypatch.setattr(capacity_tree, "_FIRST", 4)
    monkeypatch.setattr(capacity_tree, "_OTHERS", 2)


def contended(
    seed: int, tasks: int = 7, nodes: int = 3, resources: int = 1, barred: float = 0.0, size: int = 1, unit: int = 1
) -> GeneralizedAssignment:
    """Costs against demands, as of type D, in either sense; capacities that are scarce, and pairs that are barred."""
    rng = np.random.default_rng(seed)
    demand = {f"r{which}": rng.integers(1, 100, (tasks, nodes)) for which in range(resources)}
    cost = (111 - demand["r0"] + rng.integers(-10, 11, (tasks, nodes))) * size
    part = (0.8 + resources / 8) / nodes
    taken = {name: (some * unit).tolist() for name, some in demand.items()}
    capacity = {name: ((part * some.sum(axis=0)).round() * unit).tolist() for name, some in demand.items()}
    allowed = (rng.random((tasks, nodes)) >= barred).tolist()
    return posed(cost.tolist(), taken, capacity, allowed, sense=("min", "max")[seed % 2])


def tree_of(problem: GeneralizedAssignment) -> CapacityTree:
    """A search that begins without prices."""
    return CapacityTree(problem, np.zeros(problem.capacity.shape))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("resources", "unit"), [(1, 1), (2, 1), (1, 10**11)])
def test_what_is_found_is_the_optimum(resources: int, unit: int) -> None:
    """Tests that the tree closes at the enumerated optimum, that its proof holds, and that nothing is found in vain."""
    proved = 0
    for seed in range(10):
        problem = contended(seed, 6, 3, resources, unit=unit)
        best = enumerated(problem)
        search = tree_of(problem)
        assert search.tree is None
        assert search.bound == search.limit
        assert search.search()
        assert search.tree.bound(CapacityKnapsacks(problem), search.limit) == search.limit == search.bound
        proved += len(search.tree.steps) > 1
        if best is None:
            assert search.nodes is None
            continue
        assert problem.evaluate(problem.placement(search.nodes)) == best
    assert proved


def test_any_placement_or_a_proof_that_there_is_none() -> None:
    """Tests that without costs the search ends with a placement, or with a tree of rays that proves that none is."""
    demand = {"weight": [[9, 10], [5, 8], [4, 4], [3, 3], [8, 5], [3, 9]]}
    cost = [[3, -1], [2, 7], [0, 0], [1, 1], [4, 4], [0, 9]]
    for room in (13, 14, 16, 40):
        problem = posed(cost, demand, {"weight": [room, 17]})
        search = CapacityTree(problem, np.zeros((1, 2)), costless=True)
        assert search.search()
        if enumerated(problem) is not None:
            assert not problem.violations(problem.placement(search.nodes))
            continue
        assert search.nodes is None
        assert not any(multipliers[0] for multipliers in search.tree.multipliers)
        knapsacks = CapacityKnapsacks(problem)
        assert search.tree.bound(knapsacks, knapsacks.beyond) == knapsacks.beyond


def test_compiled_loops_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that tree and placement are the same with the loops that numba compiles, here as plain Python."""
    plain = getattr(kernels.fill_one, "py_func", kernels.fill_one)
    monkeypatch.setattr(kernels, "fill_one", plain)
    monkeypatch.setattr(capacity_tree, "_FIRST", 30)
    problem = contended(1, 8, 3)
    one = tree_of(problem)
    monkeypatch.setattr(capacity_tree, "_COMPILED_FROM", 0)
    monkeypatch.setattr(capacity_tree, "compiles", lambda: True)
    other = tree_of(problem)
    assert [tree.knapsacks.fill is fill_compiled for tree in (one, other)] == [False, True]
    assert (one.search(), other.search()) == (True, True)
    assert one.tree.steps == other.tree.steps
    assert [some.tolist() for some in one.tree.multipliers] == [some.tolist() for some in other.tree.multipliers]
    objects = problem.units.astype(object), CapacityKnapsacks(problem)
    filled = other.knapsacks.fill(objects[0], objects[1].weight, problem.usable, objects[1].room)
    assert filled.least.dtype == object


@pytest.mark.usefixtures("small")
def test_what_is_held_when_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a search that stops proves less than the optimum, and goes on to it; a deadline loses nothing."""
    problem = contended(6, 6, 3)
    best = enumerated(problem)
    search = tree_of(problem)
    with deadline(0), pytest.raises(OutOfTime):
        search.search()
    assert search.tree is None
    with monkeypatch.context() as patch:
        patch.setattr(capacity_tree, "MOST_STEPS", 0)
        assert not search.search()
    assert search.bound < problem.sign * best[0]
    assert not search.search(0)
    assert search.search()
    assert search.limit == problem.sign * best[0]
    assert len(search.tree.steps) > 3


def test_within_some_places_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a tree within some places ends at the best placement of these, as if the others were barred."""
    monkeypatch.setattr(capacity_tree, "repaired", lambda *_: None)  # it looks everywhere
    found = 0
    for seed in range(6):
        problem = contended(seed, 6, 3)
        within = np.random.default_rng(seed).random((6, 3)) < 0.7
        demand, capacity = {"r0": problem.demand[0].tolist()}, {"r0": problem.capacity[0].tolist()}
        sense = problem.parameters["sense"]
        best = enumerated(posed(problem.units.tolist(), demand, capacity, within.tolist(), sense=sense))
        search = CapacityTree(problem, np.zeros(problem.capacity.shape), within=within)
        assert search.search()
        value = None if search.nodes is None else problem.evaluate(problem.placement(search.nodes))
        assert value == best
        found += best is not None
    assert 0 < found < 6


# Limit after limit ----------------------------------------------------------------------------------------------------


def worst(problem: GeneralizedAssignment) -> Ints | None:
    """The dearest placement that is feasible; None without any."""
    other = type(problem)(problem.instance, sense={"min": "max", "max": "min"}[problem.parameters["sense"]])
    best = best_placement(other)
    return None if best is None else best[1]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("size", [1, 10**9])
def test_the_climb_ends_at_the_optimum(size: int) -> None:
    """Tests that from the worst placement the best one is found, and proved by the tree of the last limit but one."""
    grown = 0
    for seed in range(6):
        problem = contended(seed, size=size)
        nodes = worst(problem)
        if nodes is None:
            assert enumerated(problem) is None
            continue
        search = CapacityClimb(problem, np.zeros((1, 3)), nodes)
        assert (search.tree, search.closed) == (None, False)
        assert search.search()
        best = enumerated(problem)
        assert search.limit == search.bound == problem.sign * best[0]
        assert problem.evaluate(problem.placement(search.nodes)) == best
        assert search.tree.bound(CapacityKnapsacks(problem), search.bound) == search.bound
        grown += len(search.tree.steps) > 3
    assert grown


@pytest.mark.usefixtures("small")
def test_what_a_climb_holds_when_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a deadline, too little work and a tree too large leave what is true, and that it goes on."""
    problem = contended(2)
    nodes, best = worst(problem), enumerated(problem)
    search = CapacityClimb(problem, np.zeros((1, 3)), nodes)
    with deadline(0), pytest.raises(OutOfTime):
        search.search()
    assert search.tree is None
    assert not search.search(-1)
    with monkeypatch.context() as patch:
        patch.setattr(capacity_tree, "MOST_STEPS", -1)
        assert not search.search()
    assert search.tree is not None
    assert search.bound <= problem.sign * best[0] <= search.limit
    held = search.limit
    search.hold(nodes)
    assert search.limit == held
    found = best_placement(problem)
    search.hold(found[1])
    assert search.limit == problem.sign * best[0]
    assert search.search()


# Neighbourhoods -------------------------------------------------------------------------------------------------------


def free_prices(problem: GeneralizedAssignment) -> NodePrices:
    """Prices that prove little: each task's least cost, and nothing for capacities."""
    least = np.where(problem.usable, problem.units * problem.sign, 10**6).min(axis=1)
    return NodePrices(1, least.astype(np.int64), np.zeros_like(problem.capacity))


def begun(problem: GeneralizedAssignment) -> CapacityNeighbourhoods | None:
    """The search from the worst placement."""
    nodes = worst(problem)
    return None if nodes is None else CapacityNeighbourhoods(problem, free_prices(problem), nodes)


@pytest.mark.parametrize(("resources", "barred"), [(1, 0.0), (2, 0.0), (1, 0.3), (2, 0.2)])
def test_all_tasks_and_all_places_that_may_be_better(
    resources: int, barred: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that with all tasks placed anew, and no place closed that prices leave, the optimum is found from worst."""
    monkeypatch.setattr(capacity_tree, "_OPEN", 1)
    monkeypatch.setattr(capacity_tree, "_CASES", 10**6)
    better = 0
    for seed in range(2):
        problem = contended(seed, resources=resources, barred=barred)
        search, best = begun(problem), enumerated(problem)
        if search is None:
            assert best is None
            continue
        before = search.limit
        search.search(20)
        assert search.done
        assert problem.evaluate(problem.placement(search.nodes)) == best
        assert search.limit == problem.sign * best[0]
        better += search.limit < before
    assert better


def test_small_neighbourhoods_never_worsen_and_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that few tasks at once make placements better that stay feasible, and are more and more until all are."""
    for name, value in {"_TASKS": 2, "_FEWEST": 2, "_MORE": 2, "_OPEN": 1}.items():
        monkeypatch.setattr(capacity_tree, name, value)
    better = 0
    for seed in range(4):
        problem = contended(seed, tasks=8)
        search = begun(problem)
        if search is None:
            continue
        held = [search.limit]
        while not search.done:
            search.search(1)
            placement = problem.placement(search.nodes)
            assert not problem.violations(placement)
            assert problem.sign * problem.evaluate(placement)[0] == search.limit
            held.append(search.limit)
        assert held == sorted(held, reverse=True)
        best = enumerated(problem)
        assert held[-1] >= problem.sign * best[0]
        better += len(set(held)) > 2
    assert better


def test_the_same_each_time_and_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a search is the same when it is made again, and when it is stopped and gone on with."""
    monkeypatch.setattr(capacity_tree, "_TASKS", 4)
    problem = contended(4, tasks=9)
    searches = [begun(problem) for _ in range(2)]
    searches[0].search(7)
    for trees in (3, 4):
        searches[1].search(trees)
    assert searches[0].nodes.tolist() == searches[1].nodes.tolist()
    assert searches[0].limit == searches[1].limit


def test_trees_that_are_not_settled_make_neighbourhoods_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that trees that are too large for their cases have fewer tasks placed anew, down to a number."""
    for name, value in {"_TASKS": 9, "_FEWEST": 6, "_FEWER": 1, "_CASES": -1}.items():
        monkeypatch.setattr(capacity_tree, name, value)
    search = begun(contended(4, tasks=9))
    before = search.limit
    sizes = []
    for _ in range(4):
        search.search(1)
        sizes.append(search._size)
    assert sizes == [7, 6, 6, 6]
    assert (search.limit, search.done) == (before, False)


def test_what_neighbourhoods_hold_when_they_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that at a deadline, even in the middle of a tree, what was found stays; and that a better one is taken."""
    problem = contended(2, tasks=8)
    search = begun(problem)
    before, nodes = search.limit, search.nodes
    with deadline(0), pytest.raises(OutOfTime):
        search.search(1)
    assert search.limit == before

    class Stopped(capacity_tree.CapacityTree):
        """A tree that finds a placement, and then has no time left."""

        def search(self, *asked: Any, **more: Any) -> bool:
            super().search(*asked, **more)
            raise OutOfTime("out of time")

    monkeypatch.setattr(capacity_tree, "CapacityTree", Stopped)
    monkeypatch.setattr(capacity_tree, "_OPEN", 1)
    with pytest.raises(OutOfTime):
        search.search(1)
    assert search.limit < before
    assert not problem.violations(problem.placement(search.nodes))
    held = search.limit
    search.hold(nodes)
    assert search.limit == held


def test_nothing_is_looked_at_where_prices_prove_the_placement() -> None:
    """Tests that a placement that costs what the prices prove is left as it is."""
    problem = posed([[1, 4], [2, 9]], {"weight": [[2, 2], [2, 2]]}, {"weight": [9, 9]})
    search = CapacityNeighbourhoods(problem, free_prices(problem), np.array([0, 0]))
    assert search.done
    search.search(3)
    assert search.nodes.tolist() == [0, 0]
    other = CapacityNeighbourhoods(problem, free_prices(problem), np.array([1, 0]))
    assert not other.done
    other.hold(np.array([0, 0]))
    assert other.done
