"""The program that places maps by when jobs are to end."""

from __future__ import annotations

import numpy as np
from over_time import batch, proved

from optsched.core.instance import MAP
from optsched.problems.job_times import JobTimes
from optsched.problems.schedule_windows import tails
from optsched.searches.enumeration import best_decision
from optsched.searches.job_ends import EndsProgram
from optsched.searches.job_placing import JobPlacing


def test_jobs_end_in_time_where_they_can() -> None:
    """Tests that drawn problems get schedules that are feasible, and in which maps end by the times that are given."""
    found = 0
    for problem, _ in proved(JobTimes, range(50)):
        best = best_decision(problem)
        assert best is not None
        ends = problem.completions(best[1])
        by = ((ends - tails(problem) - problem.now) // problem.lattice).tolist()
        placed = EndsProgram(problem).place(by, 2000)
        if placed is None:
            continue
        schedule = JobPlacing(problem).with_reduces(np.argsort(ends).tolist(), *placed)
        assert problem.violations(schedule) == []
        if not len(problem.tasks) or (problem.kind == MAP).all():
            assert (problem.completions(schedule) <= ends).all()
        found += len(problem.tasks) > 0
    assert found > 10


def test_times_that_are_too_short_or_programs_too_large() -> None:
    """Tests that there is nothing where a job has no time, where all have too little, and past so many variables."""
    problem = JobTimes(batch(4))
    program = EndsProgram(problem)
    late = [100] * len(problem.jobs)
    placed = program.place(late, 10**5)
    assert placed is not None
    assert problem.violations(problem.schedule(*placed)) == []
    assert program.place(late, 100) is None
    assert program.place([0] * len(late), 10**5) is None
    alone = ((problem.earliest_completions - problem.now) // problem.lattice).tolist()
    assert program.place(alone, 10**5) is None
