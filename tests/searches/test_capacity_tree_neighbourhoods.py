"""Neighbourhoods of a placement of `generalized-assignment`: optima by enumeration, and what is held where it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from generalized_assignment_instances import enumerated, posed

from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.core.instance import Ints
from optsched.problems import GeneralizedAssignment
from optsched.problems.generalized_assignment import NodePrices
from optsched.searches import capacity_tree
from optsched.searches.capacity_tree import CapacityNeighbourhoods
from optsched.searches.enumeration import best_placement


def drawn(seed: int, tasks: int = 7, nodes: int = 3, resources: int = 1, barred: float = 0.0) -> GeneralizedAssignment:
    """Costs against demands, as of type D, in either sense; capacities that are scarce, and pairs that are barred."""
    rng = np.random.default_rng(seed)
    demand = {f"r{which}": rng.integers(1, 100, (tasks, nodes)) for which in range(resources)}
    cost = 111 - demand["r0"] + rng.integers(-10, 11, (tasks, nodes))
    part = (0.8 + resources / 8) / nodes
    capacity = {name: (part * some.sum(axis=0)).round().tolist() for name, some in demand.items()}
    allowed = (rng.random((tasks, nodes)) >= barred).tolist()
    taken = {name: some.tolist() for name, some in demand.items()}
    return posed(cost.tolist(), taken, capacity, allowed, sense=("min", "max")[seed % 2])


def free_prices(problem: GeneralizedAssignment) -> NodePrices:
    """Prices that prove little: each task's least cost, and nothing for capacities."""
    least = np.where(problem.usable, problem.units * problem.sign, 10**6).min(axis=1)
    return NodePrices(1, least.astype(np.int64), np.zeros_like(problem.capacity))


def worst(problem: GeneralizedAssignment) -> Ints | None:
    """The dearest placement that is feasible; None without any."""
    other = type(problem)(problem.instance, sense={"min": "max", "max": "min"}[problem.parameters["sense"]])
    best = best_placement(other)
    return None if best is None else best[1]


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
        problem = drawn(seed, resources=resources, barred=barred)
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
        problem = drawn(seed, tasks=8)
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
    problem = drawn(4, tasks=9)
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
    search = begun(drawn(4, tasks=9))
    before = search.limit
    sizes = []
    for _ in range(4):
        search.search(1)
        sizes.append(search._size)
    assert sizes == [7, 6, 6, 6]
    assert (search.limit, search.done) == (before, False)


def test_what_is_held_when_it_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that at a deadline, even in the middle of a tree, what was found stays; and that a better one is taken."""
    problem = drawn(2, tasks=8)
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
