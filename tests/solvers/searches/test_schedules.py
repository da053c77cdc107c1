"""The search for schedules, against enumeration: bound and value, cases, and jobs placed in turn."""

import itertools
import json
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from over_time import batch, before, both

from optsched import Proof
from optsched.certificates import proved_bound
from optsched.certificates.schedules import counting_certificate
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.solvers.searches import schedules
from optsched.solvers.searches.schedules import JobPlacing, ScheduleSearch, matched


def test_bound_and_value_embrace_the_optimum() -> None:
    """Tests on drawn instances that most are closed without enumeration, and that all that is claimed is proved."""
    closed = count = 0
    for problem, optimum in both(range(12)):
        search = ScheduleSearch(problem)
        search.run()
        assert search.proof.claim <= optimum <= search.value == problem.evaluate(search.best)[0]
        written = replace(search.proof, data=json.loads(json.dumps(search.proof.data)))
        assert proved_bound(problem, written) == search.proof.claim
        assert search.proof.kind is Proof.DUAL
        closed, count = closed + search.closed, count + 1
    assert closed > 0.75 * count


@pytest.mark.parametrize("kind", [Makespan, JobTimes])
def test_larger_ones(kind: type[Makespan | JobTimes]) -> None:
    """Tests that bound and value are near, that the same is found again, and that a start is never lost."""
    problem = kind(batch(11, tasks=12, jobs=3, reduces=1))
    first, again = ScheduleSearch(problem), ScheduleSearch(problem)
    first.run()
    again.run()
    assert (first.best, first.proof) == (again.best, again.proof)
    assert first.proof.claim <= first.value <= 1.25 * first.proof.claim
    assert proved_bound(problem, first.proof) == first.proof.claim >= counting_certificate(problem).claim
    begun = ScheduleSearch(problem, first.best)
    assert begun.value == first.value


def test_schedules_of_large_problems_are_looked_for_by_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that without programs over nodes orders by when jobs end in a case give schedules, and cases prove more."""
    monkeypatch.setattr(schedules, "_SMALL", 10)
    monkeypatch.setattr(schedules, "_ENDS", 1)
    search, step = before(JobTimes(batch(5, tasks=48)), "_by_cases")
    value, bound = search.value, search.proof.claim
    step()
    assert bound < search.proof.claim <= search.value <= value


def test_cases_that_are_cut_short_prove_what_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the part of a tree that there is at a deadline is proof, and that few starts end it as well."""
    problem = JobTimes(batch(5, tasks=48))
    search, step = before(problem, "_by_cases")
    proof = search.proof
    monkeypatch.setattr(schedules, "_STARTS", 1)
    step()
    assert search.proof.claim >= proof.claim
    with deadline(0), pytest.raises(OutOfTime):
        step()
    assert proved_bound(problem, search.proof) == search.proof.claim


def test_cases_end_where_weights_are_no_units() -> None:
    """Tests that limits of cases go on where seven units make the least difference, which once went on for ever."""
    group = {"job_group": [0], "group_ids": ["g"], "group_weight": [0.7]}
    times = {"times": [[1, 2, 3], [2, 4, 1]], "replicas": Ragged.from_rows([[0], [0]])}
    workload = Workload(["t", "u"], job=[0, 0], job_ids=["j"], arrival=[-1], **times, **group)  # type: ignore[arg-type]
    problem = JobTimes(Instance(Cluster(["a"]), workload), weights="group")
    search = ScheduleSearch(problem)
    search.run()
    assert search.value == Fraction(14, 5)


@pytest.mark.parametrize(
    ("maps", "reduces"),
    [
        ([3.001], [5.003, 7.007]),
        ([9.081], [5.585 + number * 1.013 for number in range(9)]),
        pytest.param([9.081], [round(5.585 + number * 1.013, 3) for number in range(14)], marks=pytest.mark.thorough),
    ],
)
def test_bug_times_finer_than_a_step_were_left_open(maps: list[float], reduces: list[float]) -> None:
    """Tests that reduces one after another on a slot are proved, whatever fractions of a second they take."""
    times, kind = [*maps, *reduces], [MAP] * len(maps) + [REDUCE] * len(reduces)
    names, job = [f"t{number}" for number in range(len(times))], [0] * len(times)
    workload = Workload(names, job=job, job_ids=["j"], kind=kind, duration=times)
    problem = Makespan(Instance(Cluster(["n"], reduce_slots=[1]), workload), slowstart=1)
    search = ScheduleSearch(problem)
    search.run()
    assert search.closed
    assert proved_bound(problem, search.proof) == search.value


# Jobs placed in turn --------------------------------------------------------------------------------------------------


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
