"""The search for schedules: its bound and value against enumeration, and how often they meet."""

from __future__ import annotations

from fractions import Fraction

import pytest
from over_time import batch, both

from optsched.certificates import proved_bound
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.searches import schedules
from optsched.searches.schedules import ScheduleSearch, cheap_proof


def test_bound_and_value_embrace_the_optimum() -> None:
    """Tests on drawn instances of both problems, most of which are closed without enumeration."""
    closed = count = 0
    for problem, optimum in both(range(12)):
        search = ScheduleSearch(problem)
        search.run()
        assert search.value is not None
        assert search.best is not None
        assert search.proof.claim <= optimum <= search.value == problem.evaluate(search.best)[0]
        closed, count = closed + search.closed, count + 1
    assert closed > 0.8 * count


@pytest.mark.parametrize("kind", [Makespan, JobTimes])
def test_larger_ones(kind: type[Makespan | JobTimes]) -> None:
    """Tests that bound and value are near, that the same is found again, and that a start is never lost."""
    problem = kind(batch(11, tasks=12, jobs=3, reduces=1))
    first, again = ScheduleSearch(problem), ScheduleSearch(problem)
    first.run()
    again.run()
    assert (first.best, first.proof) == (again.best, again.proof)
    assert first.value is not None
    assert first.proof.claim <= first.value <= 1.25 * first.proof.claim
    assert proved_bound(problem, first.proof) == first.proof.claim >= cheap_proof(problem).claim
    begun = ScheduleSearch(problem, first.best)
    assert begun.value == first.value


def test_cases_close_what_prices_leave() -> None:
    """Tests that a tree of cases by jobs' ends closes an instance that prices and orders leave open."""
    problem = JobTimes(batch(5, tasks=48))
    search, opened = ScheduleSearch(problem), False
    for name, step in search.stages():
        opened |= name == "cases of ends" and not search.closed
        step()
    assert opened
    assert search.closed
    assert proved_bound(problem, search.proof) == search.value


def test_schedules_of_large_problems_are_looked_for_by_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that without programs over nodes orders by when jobs end in a case give schedules, and cases prove more."""
    monkeypatch.setattr(schedules, "_SMALL", 10)
    monkeypatch.setattr(schedules, "_ENDS", 1)
    search = ScheduleSearch(JobTimes(batch(5, tasks=48)))
    for name, step in search.stages():
        before = search.value, search.proof.claim
        step()
        if name == "cases of ends":
            break
    assert search.value is not None
    assert before[0] is not None
    assert before[1] < search.proof.claim <= search.value <= before[0]


def test_cases_that_are_cut_short_prove_what_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the part of a tree that there is at a deadline is proof, and that few starts end it as well."""
    problem = JobTimes(batch(5, tasks=48))
    search = ScheduleSearch(problem)
    stages = dict(search.stages())
    for name in ("orders", "jobs alone", "prices by time"):
        stages[name]()
    before = search.proof
    monkeypatch.setattr(schedules, "_STARTS", 1)
    stages["cases of ends"]()
    assert search.proof.claim >= before.claim
    with deadline(0), pytest.raises(OutOfTime):
        stages["cases of ends"]()
    assert proved_bound(problem, search.proof) == search.proof.claim


def test_a_deadline_leaves_what_is_held() -> None:
    """Tests that running out of time ends the search, and that bound and start are there."""
    problem = JobTimes(batch(12))
    search = ScheduleSearch(problem)
    with deadline(0), pytest.raises(OutOfTime):
        search.run()
    assert search.proof == cheap_proof(problem)


def test_cases_end_where_weights_are_no_units() -> None:
    """Tests that limits of cases go on where seven units make the least difference, which once went on for ever."""
    workload = Workload(
        ["t", "u"],
        job=[0, 0],
        job_ids=["j"],
        arrival=[-1],
        replicas=Ragged.from_rows([[0], [0]]),
        times=[[1, 2, 3], [2, 4, 1]],
        job_group=[0],
        group_ids=["g"],
        group_weight=[0.7],
    )
    problem = JobTimes(Instance(Cluster(["a"]), workload), weights="group")
    search = ScheduleSearch(problem)
    search.run()
    assert search.value == Fraction(14, 5)
