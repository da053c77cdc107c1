"""What the contract suite takes for the truth: every decision, judged by the problem itself."""

from __future__ import annotations

import pytest
from small_problems import NAMES, small_problem

from optsched.instance import Cluster, Instance, Workload
from optsched.instances.files import load
from optsched.placement import NetworkFlow, Placement
from optsched.problems import Latency, Lsap, MinCostFlow
from optsched.testing.cases import Case, columns, every_decision, number_of_decisions, size_of


def test_every_placement() -> None:
    """Tests that each task is tried on each node and nowhere, once each, and that they are counted so."""
    problem = Lsap(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"])))
    found = [tuple(columns(decision)) for decision in every_decision(problem)]
    assert sorted(found) == [(one, other) for one in (-1, 0, 1) for other in (-1, 0, 1)]
    assert (number_of_decisions(problem), size_of(problem)) == (9, 2)


def test_no_task_has_one_decision() -> None:
    """Tests that nothing to place is one decision, and its value the optimum."""
    case = Case(Lsap(Instance(Cluster(["a"]), Workload([]))), "empty")
    assert [columns(decision) for decision in case.feasible] == [[]]
    assert (case.best, case.numbers) == ((0,), {(0,): 1})


@pytest.mark.parametrize("name", NAMES)
def test_no_more_decisions_than_are_counted(name: str) -> None:
    """Tests that what is refused for its number has at least so many decisions: placements exactly, flows at most."""
    problem = small_problem(name, 3)
    tried = sum(1 for _ in every_decision(problem))
    counted = number_of_decisions(problem)
    assert tried == counted if problem.decided is Placement else 0 < tried <= counted


def test_truth_of_a_worked_example() -> None:
    """Tests optimum, frontier and the best of each component on an example of Agosta et al. with known values."""
    case = Case(Latency(load("papers/labl-theorem1-b")), "theorem 1 b")
    assert (case.best, case.front) == ((3, 9), [(3, 9), (4, 7), (5, 5)])
    assert [case.best_of(component) for component in (0, 1)] == [3, 5]
    assert [case.best_of(1, within=(0, limit)) for limit in (2, 3, 4, 9)] == [None, 9, 7, 5]
    assert case.numbers[(5, 5)] == 1
    assert sum(case.numbers.values()) == len(case.judged) == 3**5
    assert all(case.problem.evaluate(decision) == value for value, decision in case.decisions.items())


def test_flows_that_an_optimum_may_be_among() -> None:
    """Tests a network with parallel arcs and a loop: the optimum by hand is tried, and no flow twice."""
    network = load("examples/negative-cycle")
    problem = MinCostFlow(network)
    found = [tuple(columns(decision)) for decision in every_decision(problem)]
    assert len(found) == len(set(found)) <= number_of_decisions(problem)
    best = Case(problem, "negative cycle").best
    assert best == min(problem.evaluate(flow) for units in found if not problem.violations(flow := NetworkFlow(units)))
