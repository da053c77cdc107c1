"""Windows that are found prove what is looked for, and no more than the optimum."""

from __future__ import annotations

import numpy as np
from over_time import batch, proved

from optsched.certificates import proved_bound
from optsched.certificates.schedules import makespan_certificate, windows_certificate
from optsched.instance import Cluster, Instance, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import ruled_out
from optsched.searches.schedule_windows import best_window, counting_windows


def test_the_best_window_rules_out_what_it_says() -> None:
    """Tests that the checker agrees, and that some optima are closed so."""
    closed = 0
    for problem, optimum in proved(Makespan, range(60)):
        window = best_window(problem, problem.now + int(optimum * 10**6))
        if window is not None:
            assert ruled_out(problem, window)
            closed += makespan_certificate(problem, window).claim == optimum
    assert closed > 5


def test_counting_windows_prove_no_less_than_counting() -> None:
    """Tests that windows prove no more than the optimum, with weights too, and sometimes more than counting."""
    more = 0
    for weights in ("equal", "group"):
        for problem, optimum in proved(JobTimes, range(30), weights=weights):
            latest = problem.now + 20 * 10**6
            certificate = windows_certificate(problem, counting_windows(problem, latest))
            assert windows_certificate(problem).claim <= certificate.claim <= optimum
            assert proved_bound(problem, certificate) == certificate.claim
            more += certificate.claim > windows_certificate(problem).claim
    assert more


def test_windows_see_that_tasks_do_not_divide() -> None:
    """Tests that three tasks of 10 s on two slots end at 20 s, where their area is 15 s; in microseconds as well."""
    for length in (10, 10.000003):
        workload = Workload(["t1", "t2", "t3"], duration=[length] * 3)
        problem = Makespan(Instance(Cluster(["a", "b"]), workload))
        window = best_window(problem, round(2 * length * 10**6))
        assert window is not None
        assert makespan_certificate(problem, window).claim * 10**6 == round(2 * length * 10**6)


def test_windows_of_a_larger_one() -> None:
    """Tests that windows prove more than counting of jobs that come one after another."""
    problem = JobTimes(batch(3, tasks=60))
    certificate = windows_certificate(problem, counting_windows(problem, 60 * 10**6))
    assert certificate.claim > windows_certificate(problem).claim


def test_windows_beside_jobs_that_end_later_alone() -> None:
    """Tests that a window is left out that says no more than when jobs are proved to end alone."""
    problem = JobTimes(batch(3, tasks=60))
    some = counting_windows(problem, 60 * 10**6)
    never = np.full(len(problem.jobs), problem.now + 61 * 10**6)
    assert len(some) > 0 == len(counting_windows(problem, 60 * 10**6, never))
