"""Enumeration of placements and of schedules against oracles, the first of equals, fronts, and what is refused."""

import itertools
import json
from collections.abc import Sequence
from math import prod
from typing import Any

import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from oracles import schedules as oracles
from over_time import Text, whole
from small_problems import generalized_assignment, small

import optsched
from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import MICRO
from optsched.instances.files import from_document, parse
from optsched.problems import JobTimes, Latency, Lsap, Makespan, Problem
from optsched.routes import solve
from optsched.solvers.searches.enumeration import best_decision, best_placement, judged, semi_active


@given(
    st.one_of(
        strategies.problems("flow-congestion", weights="literal", scale="rate_in").filter(
            lambda problem: (len(problem.instance.cluster) + 1) ** len(problem.tasks) <= 300
        ),
        strategies.problems("utility", tasks=5, nodes=2),
        strategies.problems("generalized-assignment"),
    )
)
def test_counts_are_enough(problem: Problem) -> None:
    """Tests that enumerations by sets of equal tasks find what judging every node for every task does."""
    best = best_placement(problem)
    values = [value for value, _ in judged(problem)]
    assert (None if best is None else problem.minimised(best[0])) == min(values, default=None)


def test_first_of_equal_placements_is_kept() -> None:
    """Tests that of several optima the first is the answer: nodes in turn for each task in turn, waiting before all."""
    value, nodes = best_placement(Lsap(small([[0, 1], [0, 1], [0, 1]], [1, 1]))) or ((), [])
    assert (value, list(nodes)) == ((0,), [-1, 0, 1])


def test_nothing_feasible_has_no_best() -> None:
    """Tests two tasks that each take the whole of the only node, and no task at all, which is feasible."""
    assert best_placement(generalized_assignment([[1], [1]], {"weight": [[2], [2]]}, {"weight": [3]})) is None
    value, nodes = best_placement(generalized_assignment([])) or ((), [0])
    assert (value, list(nodes)) == ((0,), [])


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (generalized_assignment([[1, 2]] * 40), r"2\^40 placements; it takes up to 5,000,000, of up to 100 tasks"),
        (Lsap(small([[0]] * 30, [1] * 29)), r"30\^30 placements"),
        (Latency(small([[0]] * 30, [1] * 29)), r"29\^30 placements"),
        (Latency(small([[0]] * 101, [1])), r"1\^101 placements"),
    ],
)
def test_what_takes_too_long_is_refused(problem: Problem, message: str) -> None:
    """Tests that placements are counted before any is tried, waiting among them where tasks may wait."""
    with pytest.raises(TooLarge, match=f'route "brute-force" would try {message}; .*leave the route out'):
        best_placement(problem)


PROBLEMS = {"makespan": oracles.Makespan, "job-times": oracles.JobTimes}


def starts_on_the_grid(oracle: oracles.Makespan) -> list[list[tuple[int, int]]]:
    """For each task to run every node, and every whole start up to where all have run one after another."""
    nodes = range(len(oracle.nodes))
    longest = sum(max(oracle.takes(task, node) for node in nodes) for task in oracle.tasks)
    latest = max([oracle.now, *map(oracle.arrival, oracle.tasks)]) + longest
    early = [max(oracle.now, oracle.arrival(task)) for task in oracle.pending]
    return [[(node, start) for node in nodes for start in range(begin, latest + 1, MICRO)] for begin in early]


def least(oracle: oracles.Makespan) -> Any:
    """The least value over every node and whole start of each task; None where nothing is feasible."""
    values = []
    for chosen in itertools.product(*starts_on_the_grid(oracle)):
        decision = (*(node for node, _ in chosen), *(start for _, start in chosen))
        if oracle.feasible(decision):
            values.append(oracle.value(decision))
    assert oracle.tasks or values == [(0,)]
    return min(values, default=None)


def expect_least(pending: int, count: int) -> None:
    """The enumeration finds what every start does, on some instances with few starts of so many tasks."""
    seeds = itertools.count()
    while count:
        seed = next(seeds)
        text, slowstart = json.dumps(whole(seed)), (0, 0.5, 1)[seed % 3]
        oracle = oracles.Makespan(text, {})
        if len(oracle.pending) != pending or prod(map(len, starts_on_the_grid(oracle))) > 5_000:
            continue
        count -= 1
        for name, judge in PROBLEMS.items():
            problem = optsched.problem(name, parse(text), slowstart=slowstart)
            found = best_decision(problem)
            assert (None if found is None else found[0]) == least(judge(text, {"slowstart": slowstart})), (seed, name)
            if found is not None:
                assert problem.evaluate(found[1]) == found[0]


def test_orders_find_what_every_start_does() -> None:
    """Tests that the best of semi-active schedules is the best of all starts on the grid, of two tasks."""
    expect_least(2, 12)


@pytest.mark.thorough
def test_orders_find_what_every_start_does_of_three_tasks() -> None:
    """Tests the same of three tasks."""
    expect_least(3, 30)


def posed(tasks: Sequence[Text], **slots: int) -> Instance:
    """One node with a slot for maps, and these tasks."""
    jobs = [{"id": name} for name in dict.fromkeys(task["job"] for task in tasks if "job" in task)]
    return from_document({"format": "optsched/1", "nodes": [{"id": "a", **slots}], "jobs": jobs, "tasks": tasks})


def alike(count: int) -> list[Text]:
    """So many tasks of a job that nothing tells apart."""
    return [{"id": f"t{number}", "job": "j", "duration": 1} for number in range(count)]


def test_reduce_that_takes_no_time_waits_without_a_slot() -> None:
    """Tests that a reduce that takes no time leaves the only slot to another until its job's maps have ended."""
    tasks = [
        {"id": "m", "job": "j", "duration": 10},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 0},
        {"id": "other", "kind": "reduce", "duration": 4},
    ]
    found = best_decision(JobTimes(posed(tasks, reduce_slots=1), slowstart=0))
    assert found[0] == (14,)
    assert found[1].starts.tolist() == [0, 10_000_000, 0]


def test_equal_tasks_keep_their_order() -> None:
    """Tests that tasks that nothing tells apart are not tried in every order: one order of a hundred on one slot."""
    assert len(list(semi_active(JobTimes(posed(alike(100)))))) == 1


def test_too_many_orders_are_refused() -> None:
    """Tests that more orders, or more tasks, than can be tried are refused before they are tried."""
    many, few = (Makespan(posed([{"id": f"t{n}", "duration": 1} for n in range(count)])) for count in (11, 3))
    with pytest.raises(TooLarge, match=r'makespan: route "brute-force" would try up to 39,916,800 orders'):
        solve(many, route="brute-force")
    assert len(list(semi_active(few, 6))) == 6
    with pytest.raises(TooLarge, match="up to 6 orders"):
        next(semi_active(few, 5))
    thousands = Workload([f"t{task}" for task in range(3000)], duration=[1] * 3000)  # orders of thousands of digits
    for instance, count in ((posed(alike(101)), "101"), (Instance(Cluster(["a", "b"]), thousands), "3,000")):
        with pytest.raises(TooLarge, match=f"would try {count} tasks; it takes up to .* orders, of up to 100 tasks"):
            solve(Makespan(instance), route="brute-force")


def test_problem_without_a_record_is_not_enumerated() -> None:
    """Tests that a subclass, whose objective may be another, is not tried in orders that suffice for its base."""

    class Mine(Makespan):
        pass

    problem = Mine(posed(alike(1)))
    with pytest.raises(UsageError, match="makespan decides a schedule, and no record names"):
        best_decision(problem)
    with pytest.raises(UsageError, match="makespan has no routes, and it decides a schedule"):
        solve(problem)


def test_without_slots_there_is_no_schedule() -> None:
    """Tests that nothing is found, and nothing refused, where a kind has many tasks and no slot ever."""
    assert best_decision(Makespan(posed(alike(101), slots=0))) is None
