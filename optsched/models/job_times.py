"""Models of `job-times`: every task on a slot over time, with jobs ending soon after they arrive.

The compact model of `build_pyomo` has these components, and more: see the table in `optsched.models.schedules`.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
JOBS                jobs with something left to run
weight, arrival     of each job; the arrival in ticks after the snapshot
job_over[j,i]       1 if all tasks of the job have ended by an instant; binary
every_task[j,i]     that is 0 until every task has ended
completion[j]       expression: ticks after the snapshot at which the job ends
objective           least sum of weight times completion less arrival
=================== ========================================================================================

The literal model of `build_pulp` is that of `optsched.models.schedules`.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from optsched.models import schedules
from optsched.models.base import model_of, of_problem, said_by
from optsched.models.schedules import objective_units
from optsched.problems.job_times import JobTimes
from optsched.problems.timetable import tick_of

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "objective_units", "start_values"]


@model_of(JobTimes, pruned=True)
def build_pyomo(problem: JobTimes, *, per_pair: bool = False) -> Any:
    """Build the compact model (parameters as in `ModelModule.build_pyomo`)."""
    model, ends = schedules.compact(problem, per_pair)
    goals = problem.goals()
    since = ((problem.jobs.arrival - problem.now) / tick_of(problem)).tolist()
    model.JOBS = pyo.Set(
        initialize=[name for goal in goals for name in goal.label], doc="jobs with something left to run"
    )
    model.weight = pyo.Param(
        model.JOBS, initialize={goal.label: float(goal.weight) for goal in goals}, doc="weight of the job"
    )
    model.arrival = pyo.Param(
        model.JOBS,
        initialize={goal.label: arrival for goal, arrival in zip(goals, since, strict=True)},
        doc="ticks after the snapshot",
    )
    model.completion = pyo.Expression(model.JOBS, initialize=ends, doc="ticks until the job ends")
    return model


build_pulp = model_of(JobTimes, pruned=True)(schedules.build_pulp)
compact_size = of_problem(JobTimes)(schedules.compact_size)
literal_size = of_problem(JobTimes)(schedules.literal_size)
decode, start_values = said_by(JobTimes, schedules.COUNTS, schedules.INTERVALS)
