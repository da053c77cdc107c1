"""What the contract suite takes for the truth: every decision, judged by the problem itself."""

from __future__ import annotations

import pytest
from small_problems import NAMES, small_problem

from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import NetworkFlow, Placement
from optsched.instances.files import load
from optsched.problems import JobTimes, Latency, Lsap, Makespan, MinCostFlow
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


def test_schedules_that_an_optimum_is_among() -> None:
    """Tests two tasks on one slot, one of which comes later: both orders, without idle time, and each rule broken."""
    workload = Workload(["t1", "t2"], job=[0, 1], duration=[2, 3], job_ids=["j1", "j2"], arrival=[0, 1])
    instance = Instance(Cluster(["a"]), workload)
    second = 10**6
    found = [tuple(columns(decision)) for decision in every_decision(Makespan(instance))]
    assert len(found) == len(set(found)) <= number_of_decisions(Makespan(instance))
    both = {starts for *nodes, starts in ((*units[:2], units[2:]) for units in found) if nodes == [0, 0]}
    assert both == {
        (0, 2 * second),  # t1 first
        (4 * second, second),  # t2 first
        (3 * second, 0),  # before it comes
        (0, second),  # on a slot that is not free
    }
    assert {(-1, -1), (-1, 0), (0, -1)} == {units[:2] for units in found if -1 in units[:2]}
    assert (Case(Makespan(instance), "").best, Case(JobTimes(instance), "").best) == ((5,), (6,))
    assert Case(Makespan(instance), "").numbers == {(5,): 1, (6,): 1}


def test_reduces_wait_and_hold_their_slots() -> None:
    """Tests that reduces follow the maps that they need, end after the last, and are tried too early, too."""
    workload = Workload(["m1", "m2", "r"], job=[0, 0, 0], kind=[0, 0, 1], duration=[2, 3, 1], job_ids=["j"])
    cluster = Cluster(["a"], slots=[1], reduce_slots=[1])
    for share, starts in ((0.5, {2, 3, 0}), (1, {5, 3, 0}), (0, {0})):
        problem = JobTimes(Instance(cluster, workload), slowstart=share)
        tried = {units[5] // 10**6 for units in map(columns, every_decision(problem)) if -1 not in units[:3]}
        assert tried == starts
        assert Case(problem, "").best == ((6,) if share == 1 else (5,))
