"""The models of `job-times`: what completions say."""

from __future__ import annotations

import pyomo.environ as pyo
from over_time import proved

from optsched.models import job_times
from optsched.problems import JobTimes
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.profiles import Profile


def test_completions_are_those_of_the_schedule() -> None:
    """Tests that the completion of each job in the model is when it ends in the schedule that it stands for."""
    for problem, _ in proved(JobTimes, range(12)):
        model = job_times.build_pyomo(problem)
        solve_pyomo(model, Profile("exact"))
        ends = problem.completions(job_times.decode(model, problem)) - problem.now
        said = [round(pyo.value(model.completion[name]) * pyo.value(model.tick) * 10**6) for name in model.JOBS]
        assert said == ends.tolist()
