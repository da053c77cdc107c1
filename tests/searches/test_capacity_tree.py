"""The tree of `generalized-assignment`: optima by enumeration, limits, and the same with compiled loops and without."""

from __future__ import annotations

import numpy as np
import pytest
from generalized_assignment_instances import enumerated, posed

from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.problems import GeneralizedAssignment
from optsched.problems.generalized_assignment import CapacityKnapsacks
from optsched.searches import capacity_tree
from optsched.searches.capacity_tree import CapacityTree, fill_compiled
from optsched.solvers import kernels


def drawn(seed: int, tasks: int, nodes: int, resources: int = 1, size: int = 1) -> GeneralizedAssignment:
    """Costs against demands, tight capacities, in either sense."""
    rng = np.random.default_rng(seed)
    demand = {f"r{which}": rng.integers(1, 20, (tasks, nodes)) * size for which in range(resources)}
    cost = 21 - demand["r0"] // size + rng.integers(-3, 4, (tasks, nodes))
    capacity = {
        name: ((0.7 + resources / 8) * taken.sum(axis=0) / nodes).round().tolist() for name, taken in demand.items()
    }
    sense = ("min", "max")[seed % 2]
    return posed(cost.tolist(), {name: taken.tolist() for name, taken in demand.items()}, capacity, sense=sense)


def tree_of(problem: GeneralizedAssignment) -> CapacityTree:
    """A search that begins without prices."""
    return CapacityTree(problem, np.zeros(problem.capacity.shape))


@pytest.mark.parametrize(("resources", "size"), [(1, 1), (2, 1), (1, 10**11)])
def test_what_is_found_is_the_optimum(resources: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the tree closes at the enumerated optimum, that its proof holds, and that nothing is found in vain."""
    monkeypatch.setattr(capacity_tree, "_FIRST", 4)
    monkeypatch.setattr(capacity_tree, "_OTHERS", 2)
    proved = 0
    for seed in range(10):
        problem = drawn(seed, 6, 3, resources, size)
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
    problem = drawn(1, 8, 3)
    one = tree_of(problem)
    monkeypatch.setattr(capacity_tree, "_COMPILED_FROM", 0)
    monkeypatch.setattr(capacity_tree, "compiles", lambda: True)
    other = tree_of(problem)
    assert (one.knapsacks.fill is fill_compiled, one.search(), other.search()) == (False, True, True)
    assert one.tree.steps == other.tree.steps
    assert [some.tolist() for some in one.tree.multipliers] == [some.tolist() for some in other.tree.multipliers]
    objects = problem.units.astype(object), CapacityKnapsacks(problem)
    filled = other.knapsacks.fill(objects[0], objects[1].weight, problem.usable, objects[1].room)
    assert filled.least.dtype == object


def test_what_is_held_when_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a search that stops proves less than the optimum, and goes on to it; a deadline loses nothing."""
    monkeypatch.setattr(capacity_tree, "_FIRST", 4)
    monkeypatch.setattr(capacity_tree, "_OTHERS", 2)
    problem = drawn(6, 6, 3)
    assert len(_grown(problem)) > 3
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


def _grown(problem: GeneralizedAssignment) -> list[object]:
    search = tree_of(problem)
    search.search()
    return list(search.tree.steps)


def test_placements_of_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that without repaired placements the optimum is found where a leaf leaves one placement."""
    monkeypatch.setattr(capacity_tree, "repaired", lambda *_: None)
    for seed in range(1, 4):
        problem = drawn(seed, 5, 3)
        search = tree_of(problem)
        assert search.search()
        assert search.tree.bound(CapacityKnapsacks(problem), search.limit) == search.limit
        best = enumerated(problem)
        assert search.limit == problem.sign * best[0]


def test_within_some_places_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a tree within some places ends at the best placement of these, as if the others were barred."""
    monkeypatch.setattr(capacity_tree, "repaired", lambda *_: None)  # it looks everywhere
    found = 0
    for seed in range(6):
        problem = drawn(seed, 6, 3)
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
