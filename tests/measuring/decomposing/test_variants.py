"""Variants with more freedom: plans that are made again, policies placed together, and orders of jobs."""

import json
from collections import Counter
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from over_time import arriving
from small_problems import small

import optsched
from optsched.core.instance import PENDING, RUNNING, Instance
from optsched.heuristics import HEURISTICS, heuristic
from optsched.heuristics.running.base import Policy
from optsched.heuristics.running.run import values_in_force
from optsched.heuristics.simulating import simulate
from optsched.heuristics.simulating.every_round import EveryRound
from optsched.instances.files import parse
from optsched.measuring.decomposing.variants import (
    ORDERS,
    InOrder,
    JobTasks,
    Together,
    arrivals,
    known_at,
    placed_together,
    planned_anew,
)
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan


def posed(arrival: list[int], duration: list[int], nodes: int = 1) -> Instance:
    """A job of one task at each arrival."""
    jobs = {"job": range(len(arrival)), "job_ids": [f"j{job}" for job in range(len(arrival))]}
    return small([[]] * len(arrival), [1] * nodes, **jobs, arrival=arrival, duration=duration)


def test_what_is_known() -> None:
    """Tests that a plan shows what it has started, and no job that comes later."""
    problem = JobTimes(posed([0, 1, 2], [9, 1, 1]))
    plan = optsched.simulate(problem.instance, "fifo", heartbeat=0).schedule
    present = known_at(problem, plan, 1_000_000)
    assert present.workload.job_ids.tolist() == ["j0", "j1"]
    assert present.state.status.tolist() == [RUNNING, PENDING]
    assert np.array_equal(arrivals(problem), [0, 1_000_000, 2_000_000])


def test_bug_a_reduce_that_waits_for_its_maps_was_over() -> None:
    """Tests that a running reduce keeps its slot under a plan until the last map of its job has ended."""
    tasks = [
        {"id": "m", "job": "j", "duration": 4},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 1, "state": "running", "node": "a", "start": 0},
        {"id": "s", "job": "k", "kind": "reduce", "duration": 1},
    ]
    nodes = [{"id": "a", "slots": 1, "reduce_slots": 1, "idle_reduce_slots": 0}]
    given = {"format": "optsched/1", "time": 2, "nodes": nodes, "jobs": [{"id": "j"}, {"id": "k"}], "tasks": tasks}
    problem = JobTimes(parse(json.dumps(given)))
    assert known_at(problem, optsched.Schedule.empty(3), 2_000_000).state.status.tolist() == [PENDING, RUNNING, PENDING]
    best = optsched.solve(problem).objective
    assert planned_anew(problem) == best[0]


@settings(max_examples=8)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=4), st.integers(1, 2))
def test_between_the_optimum_and_itself(jobs: list[tuple[int, int]], nodes: int) -> None:
    """Tests that no plan without the future beats the optimum, and that it is the optimum if all arrives at once."""
    arrival, duration = map(list, zip(*jobs, strict=True))
    for kind in (JobTimes, Makespan):
        best = optsched.solve(kind(posed(arrival, duration, nodes))).objective
        found = planned_anew(kind(posed(arrival, duration, nodes)))
        assert found >= best[0]
        at_once = kind(posed([arrival[0]] * len(jobs), duration, nodes))
        assert planned_anew(at_once) == pytest.approx(optsched.solve(at_once).objective[0], abs=0)


# The same numbers of tasks of each job at each instant, placed at the least time altogether ---------------------------

POLICIES = [name for name, entry in HEURISTICS.items() if entry.online]


def made(name: str) -> Policy:
    """A policy of the list."""
    entry = heuristic(name)
    if entry.policy is None:
        return EveryRound(name)
    return entry.policy(**values_in_force(entry, {}))


#: Two nodes and two maps: one may have its data on both, and the other on the first alone. Greedy is worse.
TWO_MAPS = Makespan(small([[0, 1], [0]], job=[0, 0], job_ids=["j"], times=[[1, 5, 5]] * 2))


def test_an_instant_is_placed_as_a_whole() -> None:
    """Tests that no task is in another's place, where the nearest task of each offer in turn would be."""
    problem = TWO_MAPS
    orders = InOrder(problem, "arrival"), Together(problem, InOrder(problem, "arrival"))
    in_turn, whole = (
        {problem.evaluate(simulate(problem.instance, order, heartbeat=0, seed=seed).schedule) for seed in range(6)}
        for order in orders
    )
    assert (in_turn, whole) == ({(1,), (5,)}, {(1,)})


def test_jobs_change_places() -> None:
    """Tests that maps of two jobs change nodes where each has its data on the other's; reduces stay."""
    jobs = {"kind": [0, 0, 1, 1], "job": [0, 1, 0, 1], "job_ids": ["x", "y"]}
    problem = Makespan(small([[0], [1], [], []], [1, 1], **jobs, times=[[1, 5, 5]] * 2 + [[2, 2, 2]] * 2))
    for seed in range(4):
        run = simulate(problem.instance, Together(problem, InOrder(problem, "arrival")), heartbeat=0, seed=seed)
        assert run.schedule.nodes[:2].tolist() == [0, 1]
        assert problem.evaluate(run.schedule) == (3,)


def test_waits_as_long_as_the_other() -> None:
    """Tests that a policy that lets rounds of offers pass on purpose is asked as often as it would be by itself."""

    class Waits(InOrder):
        waits_rounds = 250
        passed = 0

        def offer(self, offer: Any, view: Any) -> Any:
            self.passed += 1
            return super().offer(offer, view) if self.passed > 2 * self.waits_rounds else ()

    problem = TWO_MAPS
    assert Together(problem, EveryRound("lsap-sched", problem="lsap", period=1000.0)).waits_seconds == 1000
    assert not simulate(problem.instance, Together(problem, Waits(problem, "arrival")), heartbeat=0).unfinished
    Waits.waits_rounds = 600
    assert simulate(problem.instance, Together(problem, Waits(problem, "arrival")), heartbeat=0).unfinished == ""


@pytest.mark.parametrize("name", [*POLICIES, "fifo", "lsap-sched"])
def test_any_policy_runs(name: str) -> None:
    """Tests that runs are feasible, the same twice, and begin with as many tasks of each job on the same nodes."""
    for seed in range(2):
        problem = Makespan(arriving(seed, nodes=3, tasks=9, reduces=3))
        run = simulate(problem.instance, Together(problem, made(name)), heartbeat=0, seed=seed)
        assert run.unfinished == ""
        assert problem.violations(run.schedule) == []
        again = simulate(problem.instance, Together(problem, made(name)), heartbeat=0, seed=seed)
        assert (again.record == run.record).all()


def least(times: list[Any], job: list[int], slots: list[int], counts: Counter[int]) -> int:
    """The least time beyond the best, by trying every choice of maps in every order."""
    found = [
        sum(times[task][node] - times[task].min() for task, node in zip(chosen, slots, strict=True))
        for chosen in permutations(range(len(times)), len(slots))
        if Counter(job[task] for task in chosen) == counts
    ]
    return min(found)


def test_placed_at_the_least_time() -> None:
    """Tests the network against every way to place, with racks, few replicas, and several slots of a node."""
    rng = np.random.default_rng(4)
    for seed in range(30):
        problem = Makespan(arriving(seed, nodes=3, tasks=6, reduces=0, jobs=2))
        view: Any = SimpleNamespace(workload=problem.instance.workload)
        tasks = JobTasks(problem, view)
        times, job = [problem.times.row(task) for task in range(6)], tasks.job.tolist()
        slots = rng.integers(0, 3, size=int(rng.integers(1, 5))).tolist()
        counts = Counter(job[task] for task in rng.choice(6, size=len(slots), replace=False).tolist())
        found = placed_together(tasks, np.arange(6), Counter(slots), counts)
        assert Counter(found.values()) == Counter(slots)
        assert Counter(job[task] for task in found) == counts
        assert sum(times[task][node] - times[task].min() for task, node in found.items()) == least(
            times, job, slots, counts
        )


def test_orders_of_jobs() -> None:
    """Tests which job each order serves first: the first to arrive, that with fewest running, or fewest left."""
    problem = JobTimes(small([[]] * 5, [2], job=[0, 0, 0, 1, 1], job_ids=["a", "b"], times=[[4, 4, 4]] * 5))
    firsts = {}
    for order in ORDERS:
        run = simulate(problem.instance, InOrder(problem, order), heartbeat=0)
        firsts[order] = sorted(np.flatnonzero(run.schedule.starts == 0).tolist())
    assert firsts == {"arrival": [0, 1], "fewest-running": [0, 3], "fewest-left": [3, 4]}
