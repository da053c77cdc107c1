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

The literal model of `build_pulp` is that of `optsched.models.schedule_intervals`.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from optsched.models.base import MAX_VARIABLES, ModelSize, decoder, linear, model_of, of_problem
from optsched.models.schedule_intervals import Intervals, decode_intervals, interval_size, started_intervals
from optsched.models.schedules import Compact, decode_counts, started_counts, steps, timetable_size
from optsched.models.starts import starter
from optsched.problems.job_times import JobTimes
from optsched.schedule import MICRO
from optsched.searches.timetable import tick_of

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "objective_units", "start_values"]


@model_of(JobTimes, pruned=True)
def build_pyomo(problem: JobTimes, *, per_pair: bool = False) -> Any:
    """Build the compact model (parameters as in `ModelModule.build_pyomo`)."""
    compact = Compact(problem, per_pair)
    model, table = compact.model, compact.table
    model.job_over = pyo.Var(pyo.Any, within=pyo.Binary, dense=False)
    model.every_task = pyo.Constraint(pyo.Any)
    ends: dict[str, Any] = {}
    for job, name in enumerate(compact.jobs):
        end, (kind, count) = table.earliest[job], compact.pending(job)
        if count:
            for tick, gap in steps(table.earliest[job], compact.ends[job, kind]):
                model.every_task[name, tick] = count * model.job_over[name, tick] <= compact.ended(job, kind, tick)
                end += gap * (1 - model.job_over[name, tick])
        ends[name] = end
    arrival = dict(zip(compact.jobs, ((problem.jobs.arrival - problem.now) / table.step).tolist(), strict=True))
    weight = dict(zip(compact.jobs, map(float, problem.weights), strict=True))
    model.JOBS = pyo.Set(initialize=compact.jobs)
    model.weight = pyo.Param(model.JOBS, initialize=weight)
    model.arrival = pyo.Param(model.JOBS, initialize=arrival)
    model.completion = pyo.Expression(model.JOBS, rule=lambda model, name: ends[name])
    model.objective = pyo.Objective(
        expr=pyo.quicksum(model.weight[name] * (model.completion[name] - model.arrival[name]) for name in model.JOBS)
    )
    return model


@model_of(JobTimes, pruned=True)
def build_pulp(problem: JobTimes, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the time-indexed program of the textbook; `optsched.models.schedule_intervals` names its parts."""
    intervals = Intervals(problem, max_variables)
    weights = list(map(float, problem.weights))
    since = ((problem.jobs.arrival - problem.now) / tick_of(problem)).tolist()
    spent = sum(weight * arrival for weight, arrival in zip(weights, since, strict=True))
    intervals.model.setObjective(linear(list(zip(intervals.completion, weights, strict=True)), constant=-spent))
    return intervals.model


@of_problem(JobTimes)
def compact_size(problem: JobTimes) -> ModelSize:
    """What `build_pyomo` would take, or less."""
    return timetable_size(problem)


@of_problem(JobTimes)
def literal_size(problem: JobTimes) -> ModelSize:
    """What `build_pulp` would take: a variable for each task, node and instant."""
    return interval_size(problem, jobs=True)


decode = decoder(JobTimes, compact=decode_counts, literal=decode_intervals, started=started_counts)
start_values = starter(JobTimes, compact=started_counts, literal=started_intervals)


def objective_units(problem: JobTimes) -> tuple[int, int]:
    """Ticks of a second, in which the objectives of both models are."""
    ticks = MICRO // tick_of(problem)
    return ticks, ticks
