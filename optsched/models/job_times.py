"""Models of `job-times`: every task on a slot over time, jobs soon over after they arrive.

The compact model of `build_pyomo` has these components, and more: see the table in `optsched.models.schedules`.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
JOBS                jobs with something left to run
weight, arrival     of each job; the arrival in ticks after the snapshot
job_over[j,i]       1 if all tasks of the job have ended by an instant; binary
every_task[j,i]     it is 0 as long as one has not
completion[j]       expression: ticks after the snapshot at which the job ends
objective           least sum of weight times completion less arrival
=================== ========================================================================================

The literal model of `build_pulp` is that of `optsched.models.schedules`.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from optsched.models.base import MAX_VARIABLES, ModelSize, decoder, linear, model_of, of_problem, starter
from optsched.models.schedules import (
    Intervals,
    compact,
    decode_counts,
    decode_intervals,
    interval_size,
    objective_units,
    program_size,
    started_counts,
    started_intervals,
)
from optsched.problems.job_times import JobTimes
from optsched.problems.timetable import tick_of

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "objective_units", "start_values"]


@model_of(JobTimes, pruned=True)
def build_pyomo(problem: JobTimes, *, per_pair: bool = False) -> Any:
    """Build the compact model (parameters as in `ModelModule.build_pyomo`)."""
    model, ends = compact(problem, per_pair)
    goals = problem.goals()
    since = ((problem.jobs.arrival - problem.now) / tick_of(problem)).tolist()
    model.JOBS = pyo.Set(initialize=[name for goal in goals for name in goal.label])
    model.weight = pyo.Param(model.JOBS, initialize={goal.label: float(goal.weight) for goal in goals})
    model.arrival = pyo.Param(
        model.JOBS, initialize={goal.label: arrival for goal, arrival in zip(goals, since, strict=True)}
    )
    model.completion = pyo.Expression(model.JOBS, initialize=ends)
    return model


@model_of(JobTimes, pruned=True)
def build_pulp(problem: JobTimes, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the time-indexed program of the textbook; `optsched.models.schedules` names its parts."""
    intervals = Intervals(problem, max_variables)
    weights = list(map(float, problem.weights))
    since = ((problem.jobs.arrival - problem.now) / tick_of(problem)).tolist()
    spent = sum(weight * arrival for weight, arrival in zip(weights, since, strict=True))
    intervals.model.setObjective(linear(list(zip(intervals.completion, weights, strict=True)), constant=-spent))
    return intervals.model


@of_problem(JobTimes)
def compact_size(problem: JobTimes) -> ModelSize:
    """The size of `build_pyomo`'s model."""
    return program_size(problem)


@of_problem(JobTimes)
def literal_size(problem: JobTimes) -> ModelSize:
    """The size of `build_pulp`'s model: a variable for each task, node and instant."""
    return interval_size(problem, jobs=True)


decode = decoder(JobTimes, compact=decode_counts, literal=decode_intervals, started=started_counts)
start_values = starter(JobTimes, compact=started_counts, literal=started_intervals)
