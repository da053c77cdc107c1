"""Jobs placed in turn: every order gives a feasible schedule, and a job alone ends as soon as it can."""

import itertools
import random

import numpy as np
from over_time import batch, both

from optsched.core.instance import MAP, Cluster, Instance, Ragged, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.solvers.searches.job_placing import JobPlacing, matched


def test_every_order_is_feasible_and_never_better_than_the_optimum() -> None:
    """Tests all orders of drawn instances, with slots taken either way; some order is mostly optimal."""
    met = count = 0
    for problem, optimum in both(range(16)):
        placing, jobs = JobPlacing(problem), len(problem.jobs)
        values = [
            problem.evaluate(placing.schedule(order, np.full(jobs, packed)))[0]
            for order in itertools.islice(itertools.permutations(range(jobs)), 24)
            for packed in (False, True)
        ]
        assert min(values) >= optimum
        met, count = met + (min(values) == optimum), count + 1
    assert met > 0.85 * count


def test_larger_ones_with_gaps() -> None:
    """Tests that later jobs fill in before earlier ones without overfull slots, with reduces too."""
    chance = random.Random(4)
    for seed in range(12):
        problem = JobTimes(batch(seed, reduces=seed % 3), slowstart=(0.05, 1)[seed % 2])
        order = chance.sample(range(4), 4)
        schedule = JobPlacing(problem).schedule(order, np.array([True, False] * 2), reduces=order[::-1])
        assert problem.violations(schedule) == []


def test_jobs_by_a_time() -> None:
    """Tests that all maps end by the time where they are made to fit, and that nothing fits into too little of it."""
    for seed in range(12):
        problem = Makespan(batch(seed, reduces=seed % 2))
        placing, order = JobPlacing(problem), [3, 2, 1, 0]
        assert placing.within(order, False, [problem.now + 10**6] * 4) is None
        for packed in (False, True):
            schedule = placing.within(order, packed, [problem.now + 60 * 10**6] * 4)
            assert problem.violations(schedule) == []
            assert problem.ends(schedule)[problem.tasks[problem.kind == MAP]].max() <= problem.now + 60 * 10**6


def test_a_job_alone_waits_for_its_data() -> None:
    """Tests that all maps run on their data where that ends soonest, and that the rest goes elsewhere where not."""
    cluster = Cluster(["a", "b"])
    for far, makespan in ((5, 4), (3, 3)):
        workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]), times=[[2, far, far]] * 2)
        problem = Makespan(Instance(cluster, workload))
        schedule = JobPlacing(problem).schedule([0, 1], np.array([False, False]))
        assert problem.evaluate(schedule) == (makespan,)


def test_matched_is_as_large_as_can_be() -> None:
    """Tests against every choice of nodes."""
    chance = random.Random(8)
    for _ in range(100):
        homes = [sorted(chance.sample(range(3), chance.randint(0, 3))) for _ in range(chance.randint(0, 5))]
        room = [chance.randint(0, 2) for _ in range(3)]
        most = max(
            sum(node >= 0 for node in nodes)
            for nodes in itertools.product(*([-1, *home] for home in homes))
            if all(nodes.count(node) <= room[node] for node in range(3))
        )
        found = matched(homes, room)
        assert sum(node >= 0 for node in found) == most
        assert all(node < 0 or node in home for node, home in zip(found, homes, strict=True))
        assert all(found.count(node) <= room[node] for node in range(3))
