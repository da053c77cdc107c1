"""The same numbers of tasks of each job at each instant, placed at the least time altogether."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from timed_workloads import arriving

from optsched.decomposing.policies import InOrder, Waiting
from optsched.decomposing.together import Together, placed_together
from optsched.heuristics import HEURISTICS, heuristic
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.problems.makespan import Makespan
from optsched.running.base import Policy
from optsched.running.run import values_in_force
from optsched.simulating import simulate
from optsched.simulating.every_round import EveryRound

POLICIES = [name for name, entry in HEURISTICS.items() if entry.online]


def made(name: str) -> Policy:
    """A policy of the list."""
    entry = heuristic(name)
    if entry.policy is None:
        return EveryRound(name)
    return entry.policy(**values_in_force(entry, {}))


def greedy_is_worse() -> Makespan:
    """Two nodes and two maps: one may have its data on both, and the other on the first alone."""
    workload = Workload(
        ["both", "first"],
        job=[0, 0],
        job_ids=["j"],
        replicas=Ragged.from_rows([[0, 1], [0]]),
        times=[[1, 5, 5]] * 2,
    )
    return Makespan(Instance(Cluster(["a", "b"]), workload))


def test_an_instant_is_placed_as_a_whole() -> None:
    """Tests that no task is in another's place, where the nearest task of each offer in turn would be."""
    problem = greedy_is_worse()
    seeds = range(6)
    in_turn = {
        problem.evaluate(simulate(problem.instance, InOrder(problem, "arrival"), heartbeat=0, seed=seed).schedule)
        for seed in seeds
    }
    whole = {
        problem.evaluate(
            simulate(problem.instance, Together(problem, InOrder(problem, "arrival")), heartbeat=0, seed=seed).schedule
        )
        for seed in seeds
    }
    assert (in_turn, whole) == ({(1,), (5,)}, {(1,)})


def test_jobs_change_places() -> None:
    """Tests that maps of two jobs change nodes where each has its data on the other's; reduces stay."""
    workload = Workload(
        ["a", "b", "ra", "rb"],
        kind=[0, 0, 1, 1],
        job=[0, 1, 0, 1],
        job_ids=["x", "y"],
        replicas=Ragged.from_rows([[0], [1], [], []]),
        times=[[1, 5, 5]] * 2 + [[2, 2, 2]] * 2,
    )
    problem = Makespan(Instance(Cluster(["n", "m"]), workload))
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

    problem = greedy_is_worse()
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


def least(waiting: Waiting, tasks: list[int], slots: list[int], counts: Counter[int]) -> int:
    """The least time beyond the best, by trying every choice of maps in every order."""
    found = [
        sum(waiting.excess(task, node) for task, node in zip(chosen, slots, strict=True))
        for chosen in permutations(tasks, len(slots))
        if Counter(waiting.job[task] for task in chosen) == counts
    ]
    return min(found)


def test_placed_at_the_least_time() -> None:
    """Tests the network against every way to place, with racks, few replicas, and several slots of a node."""
    rng = np.random.default_rng(4)
    for seed in range(30):
        problem = Makespan(arriving(seed, nodes=3, tasks=6, reduces=0, jobs=2))
        workload = problem.instance.workload
        view: Any = Viewed(workload)
        waiting = Waiting(problem, view)
        slots = rng.integers(0, 3, size=int(rng.integers(1, 5))).tolist()
        chosen = rng.choice(6, size=len(slots), replace=False).tolist()
        counts = Counter(waiting.job[task] for task in chosen)
        found = placed_together(waiting, np.arange(6), Counter(slots), counts)
        assert Counter(found.values()) == Counter(slots)
        assert Counter(waiting.job[task] for task in found) == counts
        told = sum(waiting.excess(task, node) for task, node in found.items())
        assert told == least(waiting, list(range(6)), slots, counts)


class Viewed:
    """As much of a view as is looked at."""

    def __init__(self, workload: Workload) -> None:
        self.workload, self.status = workload, np.zeros(len(workload), dtype=np.int64)
