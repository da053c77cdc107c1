"""The search for prices of slots by time."""

from __future__ import annotations

from over_time import batch, proved

from optsched.certificates import proved_bound
from optsched.certificates.schedules import (
    counting_certificate,
    end_certificate,
    makespan_certificate,
    prices_certificate,
)
from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.searches.schedules import ScheduleSearch
from optsched.searches.time_prices import PriceSearch, latest_priced


def test_prices_prove_no_more_than_the_optimum() -> None:
    """Tests that the bound never falls, is what the certificate proves, and closes many drawn instances."""
    closed = count = 0
    for problem, optimum in proved(JobTimes, range(40)):
        search, before = PriceSearch(problem, problem.now + 20 * 10**6), None
        for paid in search.steps(60, optimum):
            assert len(paid.ends) == len(problem.jobs)
            assert search.bound is not None
            assert before is None or search.bound >= before
            before = search.bound
        if search.best is not None:
            assert prices_certificate(problem, search.best).claim == search.bound <= optimum
            closed += search.bound == optimum
        count += 1
    assert closed > count / 2


def test_prices_see_that_tasks_are_not_broken_off() -> None:
    """Tests that prices prove more than counting where jobs come one after another."""
    problem = JobTimes(batch(5, tasks=48))
    search = PriceSearch(problem, 60 * 10**6)
    assert len(list(search.steps(200, 150))) <= 200
    assert search.bound is not None
    assert search.bound > counting_certificate(problem).claim


def test_time_that_is_too_long() -> None:
    """Tests that there are no prices where time has too many steps for any scale."""
    workload = Workload(["t1", "t2"], job=[0, 0], job_ids=["j"], duration=[1e-6, 9e9])
    problem = JobTimes(Instance(Cluster(["a"]), workload))
    search = PriceSearch(problem, problem.now + 1)
    assert list(search.steps(3, 1)) == []
    assert (search.best, search.bound) == (None, None)


def test_ends_that_prices_rule_out() -> None:
    """Tests that no end is ruled out that a schedule attains, and that more is than by counting."""
    for problem, optimum in proved(Makespan, range(30)):
        low, high = problem.now, problem.now + int(optimum * 10**6)
        found = latest_priced(problem, low, high)
        if found is not None:
            certificate = end_certificate(problem, *found)
            assert 0 < certificate.claim <= optimum
            assert proved_bound(problem, certificate) == certificate.claim
    problem = Makespan(batch(2, tasks=64, jobs=8))
    search = ScheduleSearch(problem)
    search.run()
    assert search.value is not None
    found = latest_priced(problem, problem.now, problem.now + int(search.value * 10**6))
    assert found is not None
    assert end_certificate(problem, *found).claim > makespan_certificate(problem).claim
    assert latest_priced(problem, problem.now, problem.now) is None
