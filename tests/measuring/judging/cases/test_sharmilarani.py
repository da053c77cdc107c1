"""The instances and numbers of the claims and figures of Sharmilarani et al."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from optsched import generate, load
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import NONE, Placement
from optsched.heuristics.ras import Move, Rounds, Step
from optsched.measuring.judging.cases import sharmilarani
from optsched.measuring.judging.cases.sharmilarani import (
    endless,
    few_large_maps,
    job_time,
    large_first,
    most_asked,
    overloads,
    scarcest_used,
    slowdown,
    taken_from_lowest,
)
from optsched.measuring.judging.quantities import Answer
from optsched.problems import Utility
from optsched.simulating import Levels, simulate


def test_one_large_job_before_small_ones() -> None:
    """Tests its tasks and slots, and that its time and that of the small jobs are those of the run."""
    instance = large_first(2, "traffic", nodes="8", tasks="40", jobs="8")
    jobs = instance.workload.job
    assert set(jobs.tolist()) == {0, 4, 5, 6, 7}
    assert set(instance.cluster.slots.tolist()) == set(instance.state.idle_reduce_slots.tolist()) == {2}
    run = simulate(instance, "joss-t", Levels(duration=4))
    seconds = [run.end[jobs == job].max() / 1e6 for job in (0, 4, 5, 6, 7)]
    assert job_time(run, "large") == seconds[0]
    assert job_time(run, "small") == pytest.approx(np.mean(seconds[1:]))


def test_slowdown() -> None:
    """Tests that it is 1 without overload, and 2 for three maps that each take 2/3 of a node. Reduces do not count."""
    cluster = Cluster(["a"], slots=[3], reduce_slots=[1], capacity={"cpu": [3.0]})
    workload = Workload(
        ["m", "n", "o", "r"], kind=[0, 0, 0, 1], duration=[6.0, 6.0, 3.0, 1.0], demand={"cpu": [2.0] * 3 + [0]}
    )
    instance = Instance(cluster, workload)
    assert slowdown(simulate(instance, "fifo", "levels")) == 1
    assert slowdown(simulate(instance, "fifo", "overload")) == 2


def test_what_is_used_of_trackers() -> None:
    """Tests the share of the scarcest resource over the run, and the most at once, by hand."""
    cluster = Cluster(["a"], slots=[2], capacity={"cpu": [4.0], "disk": [10.0]})
    workload = Workload(["m", "n", "o"], duration=[2.0, 1.0, 1.0], demand={"cpu": [1.0, 2.0, 3.0], "disk": [1.0] * 3})
    done = simulate(Instance(cluster, workload), "fifo", "levels", heartbeat=0)
    assert scarcest_used(done) == pytest.approx((2 + 2 + 3) / (4 * 2))
    assert most_asked(done) == 1


def test_few_large_maps() -> None:
    """Tests sizes, and that the swaps end where one job has all maps but not in the counterexample."""
    drawn = few_large_maps(3, "2", "3")
    assert set(drawn.cluster.capacity) == {"cpu", "disk"}
    assert 2 <= len(set(drawn.workload.job.tolist())) <= 3
    assert endless(Answer(Utility(load("papers/ras-endless-swap"), reduces="fixed"), None))
    assert not endless(Answer(Utility(load("papers/ras-utility-table"), reduces="fixed"), None))


def test_overloads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a way that starts what it is to run before anything has ended is overloaded at some step."""
    instance = generate("utility", seed=0, nodes=2, jobs=3, maps=24)
    answer = Answer(Utility(instance), "ras")
    assert overloads(answer, "2") == 0

    def at_once(problem: Utility, before: Placement, after: Placement, seconds: object) -> Move:
        tasks = [int(task) for task in problem.tasks if before.nodes[task] == NONE]
        return Move(tuple(Step(0.0, "started", task, 0) for task in tasks), 0.0, after)

    monkeypatch.setattr(sharmilarani, "enforce", at_once)
    assert overloads(answer, "2") > 0


def test_maps_taken_from_the_lowest_job_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a round counts in which a job loses its only maps."""
    problem = Utility(generate("utility", seed=0, nodes=2, jobs=3, maps=24), reduces="fixed")
    answer = Answer(problem, "ras")
    assert taken_from_lowest(answer) == 0
    shape = problem.fixed.shape

    def losing(problem: Utility, reduces: object, rounds: int) -> Rounds:
        return Rounds(np.full(shape, 1 if rounds == 1 else 0), (Fraction(0),), "rounds")

    monkeypatch.setattr(sharmilarani, "map_rounds", losing)
    assert taken_from_lowest(answer) == 1
