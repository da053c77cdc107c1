"""Limit after limit for `generalized-assignment`: optima by enumeration, proofs, and what is held where it stops."""

from __future__ import annotations

import numpy as np
import pytest
from generalized_assignment_instances import enumerated, posed

from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.problems import GeneralizedAssignment
from optsched.problems.generalized_assignment import CapacityKnapsacks
from optsched.searches import capacity_tree
from optsched.searches.capacity_tree import CapacityClimb
from optsched.searches.enumeration import best_placement


def drawn(seed: int, tasks: int = 7, nodes: int = 3, size: int = 1) -> GeneralizedAssignment:
    """Costs against demands, as of type D, and capacities that nearly all placements exceed."""
    rng = np.random.default_rng(seed)
    demand = rng.integers(1, 100, (tasks, nodes))
    cost = (111 - demand + rng.integers(-10, 11, (tasks, nodes))) * size
    capacity = (0.9 * demand.sum(axis=0) / nodes).round()
    return posed(cost.tolist(), {"w": demand.tolist()}, {"w": capacity.tolist()}, sense=("min", "max")[seed % 2])


def dearest(problem: GeneralizedAssignment) -> np.ndarray | None:
    """The worst placement that is feasible; None without any."""
    other = type(problem)(problem.instance, sense={"min": "max", "max": "min"}[problem.parameters["sense"]])
    best = best_placement(other)
    return None if best is None else best[1]


@pytest.mark.parametrize("size", [1, 10**9])
def test_the_climb_ends_at_the_optimum(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that from the worst placement the best one is found, and proved by the tree of the last limit but one."""
    monkeypatch.setattr(capacity_tree, "_FIRST", 6)
    monkeypatch.setattr(capacity_tree, "_OTHERS", 3)
    grown = 0
    for seed in range(6):
        problem = drawn(seed, size=size)
        nodes = dearest(problem)
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


def test_what_is_held_when_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a deadline, too little work and a tree too large leave what is true, and that it goes on."""
    monkeypatch.setattr(capacity_tree, "_FIRST", 6)
    monkeypatch.setattr(capacity_tree, "_OTHERS", 3)
    problem = drawn(2)
    nodes, best = dearest(problem), enumerated(problem)
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
