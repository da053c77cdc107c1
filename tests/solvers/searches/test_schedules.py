"""The search for schedules, against enumeration: bound and value, windows and what they prove, and jobs alone."""

import json
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from over_time import FORMS, batch, before, both, crowded, fetching, one_job, proved, searched

from optsched import Certificate, Proof, bounds
from optsched.certificates import proved_bound
from optsched.certificates.schedules import counting_certificate
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_bounds import Window, ruled_out
from optsched.routes.latency import latency_search
from optsched.solvers.searches import schedules
from optsched.solvers.searches.enumeration import best_decision
from optsched.solvers.searches.job_placing import JobPlacing
from optsched.solvers.searches.schedules import AloneSearch, ScheduleSearch, latest_window, node_prices


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
    search, step = before(JobTimes(batch(5, tasks=48)), "cases of ends")
    value, bound = search.value, search.proof.claim
    step()
    assert bound < search.proof.claim <= search.value <= value


def test_cases_that_are_cut_short_prove_what_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the part of a tree that there is at a deadline is proof, and that few starts end it as well."""
    problem = JobTimes(batch(5, tasks=48))
    search, step = before(problem, "cases of ends")
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


def two_holders(seed: int) -> Makespan:
    """Twenty-four tasks whose data is on two of six nodes, which take three times as long elsewhere."""
    chance = random.Random(seed)
    replicas = [[chance.randrange(2)] for _ in range(24)]
    workload = Workload([f"t{n}" for n in range(24)], replicas=Ragged.from_rows(replicas), times=[[10, 25, 30]] * 24)
    cluster = Cluster([f"n{n}" for n in range(6)], rack=[n % 2 for n in range(6)], rack_ids=["a", "b"])
    return Makespan(Instance(cluster, workload))


def test_prices_of_crowded_nodes_prove_more() -> None:
    """Tests that windows at prices of nodes prove more than at equal ones, and no more than a schedule attains."""
    for seed in range(4):
        problem = two_holders(seed)
        placed = JobPlacing(problem).schedule(range(24), np.zeros(24, dtype=bool))
        value = problem.evaluate(placed)[0]
        assert not ruled_out(problem, Window(MAP, 0, 40 * 10**6))
        found = latest_window(problem, MAP, 40 * 10**6, int(value * 10**6))
        assert ruled_out(problem, found)
        certificate = counting_certificate(problem, window=found)
        assert 40 < certificate.claim <= value
        assert proved_bound(problem, certificate) == certificate.claim


def test_no_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a window without tasks, or a program that is too large, has no prices."""
    problem = Makespan(batch(1))
    assert node_prices(problem, Window(MAP, 10**9, 2 * 10**9)) is None
    monkeypatch.setattr(schedules, "_ARCS", 10)
    assert node_prices(problem, Window(MAP, 0, 20 * 10**6)) is None


def test_the_latest_window_rules_out_what_it_says() -> None:
    """Tests that the checker agrees, and that some optima are closed so."""
    closed = 0
    for problem, optimum in proved(Makespan, range(60)):
        for kind in sorted(set(problem.kind.tolist())):
            window = latest_window(problem, kind, problem.now, problem.now + int(optimum * 10**6))
            if window is not None:
                assert ruled_out(problem, window)
                closed += counting_certificate(problem, window=window).claim == optimum
    assert closed > 5


def test_windows_see_that_tasks_do_not_divide() -> None:
    """Tests that three tasks of 10 s on two slots end at 20 s, where their area is 15 s; in microseconds as well."""
    for length in (10, 10.000003):
        workload = Workload(["t1", "t2", "t3"], duration=[length] * 3)
        problem = Makespan(Instance(Cluster(["a", "b"]), workload))
        window = latest_window(problem, MAP, 0, round(2 * length * 10**6))
        assert counting_certificate(problem, window=window).claim * 10**6 == round(2 * length * 10**6)


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


def test_covers_and_then_the_optimum() -> None:
    """Tests that covers give l_flow of a job, and the exact search the optimum of `latency`, in tenths of a second."""
    gained = 0
    for seed in range(60):
        instance, alone = one_job(seed)
        search, lone = AloneSearch(Makespan(instance)), latency_search(alone)
        search.by_covers()
        assert search.bound.value * 10 == max(lone.flow_bound(), search.problem.earliest_completions[0] // 10**5)
        before = search.bound.value
        search.exactly()
        assert search.bound.value * 10 == lone.first_feasible().limit
        gained += search.bound.value > before
    assert gained


def test_a_bound_by_name() -> None:
    """Tests that `job-alone` is among the bounds of both problems, and none where nothing is feasible."""
    instance = one_job(3)[0]
    for kind in (Makespan, JobTimes):
        *cheap, last = bounds(kind(instance))
        assert (last.name, last.component) == ("job-alone", kind.components[0].name)
        assert last.value > max(bound.value for bound in cheap)
        none = instance.with_slots(np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64))
        idle = replace(none.state, idle_slots=np.zeros(4, dtype=np.int64))
        assert bounds(kind(none.with_state(idle))) == ()


def test_makespan_holds_the_last_job_alone() -> None:
    """Tests that a proof of the makespan has one job, where it says more than counting, and that of job times each."""
    for seed in range(30):
        problem = Makespan(crowded(seed, 6))
        if problem.plainly_infeasible is not None:
            continue
        one, each = searched(problem), searched(JobTimes(problem.instance))
        assert len(one.proofs) == (one.ends.max() > problem.earliest_completions.max())
        later = np.flatnonzero(each.ends > problem.earliest_completions)
        assert [entry["job"] for entry in each.proofs] == later.tolist()


def test_work_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that only so many tasks and replicas are looked at, those jobs first that may gain most."""
    problem = JobTimes(batch(2, nodes=4, slots=1, tasks=40, jobs=4))
    search = AloneSearch(problem)
    search.by_covers()
    seen = len(search._searches)
    assert seen > 1
    monkeypatch.setattr(schedules, "_SIZE", 2 * (schedules._BEGUN + 60))
    few = AloneSearch(problem)
    few.by_covers()
    few.exactly()
    assert 0 < len(few._searches) < seen
    assert (few.ends <= search.ends).all()
    monkeypatch.setattr(schedules, "_LITTLE", 0)
    none = AloneSearch(problem)
    none.by_covers()
    before = none.ends.copy()
    none.exactly()
    assert (none.ends == before).all()


def test_jobs_without_weight_are_left_out() -> None:
    """Tests that a job that does not count is not looked at."""
    instance = one_job(3)[0]
    given = {"job_group": [0], "group_ids": ["g"], "group_weight": [0.0]}
    weightless = replace(instance.workload, **given)
    search = AloneSearch(JobTimes(Instance(instance.cluster, weightless), weights="group"))
    search.by_covers()
    assert not len(search._searches)


def test_a_word_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a search of `latency` only claims changes nothing."""
    search = AloneSearch(Makespan(one_job(3)[0]))

    def word(self: Any, limit: int) -> Certificate:
        return Certificate("makespan", Proof.SOLVER, limit)

    monkeypatch.setattr(schedules.LatencySearch, "makespan_certificate", word)
    search.by_covers()
    assert not search.entries


def test_jobs_that_fetch_over_distances() -> None:
    """Tests with times of transfer, over distances of each kind, that the bound holds, adds something and is proved."""
    more = dict.fromkeys(FORMS, 0)
    for seed in range(4):
        for form in FORMS:
            drawn = fetching(seed, form, nodes=3, tasks=5, jobs=1, slots=1)
            near = Ragged.from_rows([[0]] * len(drawn.workload))
            instance = replace(drawn, workload=replace(drawn.workload, replicas=near, size=drawn.workload.size + 1))
            problem = Makespan(instance, service="transfer", scale=2)
            search, found = searched(problem), best_decision(problem)
            certificate = counting_certificate(problem, search.proofs)
            assert proved_bound(problem, certificate) == search.bound.value <= found[0][0]
            more[form] += search.bound.value > max(bound.value for bound in problem.cheap_bounds())
    assert all(more.values())
