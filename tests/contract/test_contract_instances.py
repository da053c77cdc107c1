"""Small instances of the contract suite: every decision, judged by the problem itself, and instances made of others."""

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from small_problems import NAMES, small_problem

from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import NetworkFlow, Placement
from optsched.core.registry import Scaling
from optsched.instances.files import load, to_document
from optsched.problems import JobTimes, Latency, Lsap, Makespan, MinCostFlow
from optsched.testing.contract import Case, columns, every_decision, number_of_decisions, size_of
from optsched.testing.neighbours import emptied, limitless, permuted, scaled, scarce, starved


def test_every_placement() -> None:
    """Tests that each task is tried on each node and nowhere, once each, and that they are counted so."""
    problem = Lsap(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"])))
    found = [tuple(columns(decision)) for decision in every_decision(problem)]
    assert sorted(found) == [(one, other) for one in (-1, 0, 1) for other in (-1, 0, 1)]
    assert (number_of_decisions(problem), size_of(problem)) == (9, 2)


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
    assert (Counter(case.judged.values())[(5, 5)], len(case.judged)) == (1, 3**5)
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
    assert Counter(Case(Makespan(instance), "").judged.values()) == {(5,): 1, (6,): 1}


def test_reduces_wait_and_hold_their_slots() -> None:
    """Tests that reduces follow the maps that they need, end after the last, and are tried too early, too."""
    workload = Workload(["m1", "m2", "r"], job=[0, 0, 0], kind=[0, 0, 1], duration=[2, 3, 1], job_ids=["j"])
    cluster = Cluster(["a"], slots=[1], reduce_slots=[1])
    for share, starts in ((0.5, {2, 3, 0}), (1, {5, 3, 0}), (0, {0})):
        problem = JobTimes(Instance(cluster, workload), slowstart=share)
        tried = {units[5] // 10**6 for units in map(columns, every_decision(problem)) if -1 not in units[:3]}
        assert tried == starts
        assert Case(problem, "").best == ((6,) if share == 1 else (5,))


def by_ids(document: Any) -> Any:
    """What a document says, whatever its order: records and matrices by the ids of their rows and columns."""
    nodes, tasks = ([record["id"] for record in document.get(part, [])] for part in ("nodes", "tasks"))

    def pairs(matrix: Any, rows: list[str]) -> dict[tuple[str, str], Any]:
        return {(row, node): matrix[at][to] for at, row in enumerate(rows) for to, node in enumerate(nodes)}

    said = {
        part: sorted(json.dumps(record, sort_keys=True) for record in document.get(part, []))
        for part in ("nodes", "tasks", "arcs", "jobs", "groups")
    }
    said |= {form: pairs(document["topology"][form], nodes) for form in document.get("topology", {}) if form != "hops"}
    for name, matrix in document.get("pairs", {}).items():
        held = matrix if isinstance(matrix, dict) else {"": matrix}
        said |= {f"{name} {resource}": pairs(rows, tasks) for resource, rows in held.items()}
    return said


@pytest.mark.parametrize("name", NAMES)
def test_another_order_says_the_same(name: str) -> None:
    """Tests that records and matrices say the same of the same ids in another order, and parts that are kept stay."""
    problem = small_problem(name, 3)
    before = to_document(problem.instance)
    orders = set()
    for seed in range(4):
        after = to_document(permuted(problem, np.random.default_rng(seed), kept={"tasks"}).instance)
        assert by_ids(after) == by_ids(before)
        assert [task["id"] for task in after.get("tasks", [])] == [task["id"] for task in before.get("tasks", [])]
        orders.add(tuple(node["id"] for node in after["nodes"]))
    assert len(orders) > 1
    assert to_document(problem.instance) == before


def test_units_are_decimals() -> None:
    """Tests that what is written is multiplied as the decimal that it is: a tenth ten times is 1, in field and list."""
    problem = small_problem("flow", 3)
    law = Scaling((0,), {"nodes": ("rate_in",)}, ("f_c",))
    tenth = scaled(problem, law, Fraction(1, 10))
    rates = [node["rate_in"] for node in to_document(problem.instance)["nodes"]]
    assert [node["rate_in"] for node in to_document(tenth.instance)["nodes"]] == [
        float(Fraction(str(rate)) / 10) if Fraction(str(rate)) / 10 % 1 else rate // 10 for rate in rates
    ]
    assert to_document(scaled(tenth, law, Fraction(10)).instance) == to_document(problem.instance)
    assert scaled(tenth, law, Fraction(10)).parameters == problem.parameters


@pytest.mark.parametrize("name", [name for name in NAMES if name != "min-cost-flow"])
def test_nothing_to_place_and_no_room(name: str) -> None:
    """Tests instances without tasks, with all of them finished, and with no idle slot or capacity on any node."""
    problem = small_problem(name, 3)
    found = emptied(problem)
    assert found
    assert all(len(without.tasks) == 0 for without in found)
    instance = starved(problem).instance
    assert not instance.state.idle_slots.any()
    assert not instance.state.idle_reduce_slots.any()
    assert not any(np.nan_to_num(held).any() for held in instance.cluster.capacity.values())


def test_nothing_feasible_though_nothing_shows_it() -> None:
    """Tests that too little room is found of which only trying all decisions tells that nothing fits."""
    found = list(scarce(small_problem("generalized-assignment", 3)))
    assert found
    for problem in found:
        assert problem.plainly_infeasible is None
        assert all(map(problem.violations, every_decision(problem)))


def test_networks_without_room_and_without_a_limit() -> None:
    """Tests that a node which nothing leaves has a unit to send, and that paying arcs there and back have no limit."""
    problem = small_problem("min-cost-flow", 3)
    arcs, nodes = problem.instance.arcs, len(problem.instance)
    (bare,) = emptied(problem)
    assert (bare.instance.arcs, bare.instance.supply.any()) == (0, False)
    stuck = starved(problem).instance
    assert (len(stuck), stuck.supply[-1], stuck.supply.sum()) == (nodes + 1, 1, 0)
    assert nodes not in {*stuck.tail.tolist(), *stuck.head.tolist()}
    added = limitless(problem).instance
    assert added.arcs == arcs + 2
    assert added.cost[arcs:].tolist() == [-1, -1]
    assert (added.tail[arcs], added.head[arcs]) == (added.head[arcs + 1], added.tail[arcs + 1])
