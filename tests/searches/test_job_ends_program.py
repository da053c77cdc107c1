"""The schedules in which jobs end by given times."""

import numpy as np
from over_time import batch, proved

from optsched.problems.job_times import JobTimes
from optsched.searches.enumeration import best_decision
from optsched.searches.job_ends import ended_by


def test_jobs_end_in_time_where_they_can() -> None:
    """Tests that drawn problems get schedules that are feasible, and in which jobs end by the times that are given."""
    found = 0
    for problem, _ in proved(JobTimes, range(50)):
        best = best_decision(problem)
        ends = problem.completions(best[1])
        schedule = ended_by(problem, ends, 2000)
        if schedule is not None:
            assert problem.violations(schedule) == []
            assert (problem.completions(schedule) <= ends).all()
            found += len(problem.tasks) > 0
    assert found > 10


def test_times_that_are_too_short_or_programs_too_large() -> None:
    """Tests that there is nothing where a job has no time, where all have too little, and past so many starts."""
    problem = JobTimes(batch(4))
    late = np.full(len(problem.jobs), problem.now + 100 * problem.lattice)
    placed = ended_by(problem, late, 10**5)
    assert problem.violations(placed) == []
    assert ended_by(problem, late, 100) is None
    assert ended_by(problem, 0 * late, 10**5) is None
    assert ended_by(problem, problem.earliest_completions, 10**5) is None
