"""Models of `makespan`: every task on a slot over time, the last end as early as possible.

The compact model of `build_pyomo` has these components, and more: see the table in `optsched.models.schedules`.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
all_over[i]         1 if all tasks have ended by an instant; binary
every_job[j,i]      it is 0 as long as a task of the job has not
makespan            expression: ticks after the snapshot at which all tasks have ended
area[k,q]           what a pool of slots does and did takes no longer than that; follows from the others for whole
                    numbers, and makes the relaxation stronger
objective           least makespan
=================== ========================================================================================

The literal model of `build_pulp` is that of `optsched.models.schedules`.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from optsched.models.base import MAX_VARIABLES, ModelSize, decoder, model_of, of_problem, starter
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
from optsched.problems.makespan import Makespan

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "objective_units", "start_values"]


@model_of(Makespan, pruned=True)
def build_pyomo(problem: Makespan, *, per_pair: bool = False) -> Any:
    """Build the compact model (parameters as in `ModelModule.build_pyomo`)."""
    model, ends = compact(problem, per_pair)
    model.makespan = pyo.Expression(expr=ends[()])
    return model


@model_of(Makespan, pruned=True)
def build_pulp(problem: Makespan, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the time-indexed program of the textbook; `optsched.models.schedules` names its parts."""
    intervals = Intervals(problem, max_variables, jobs=False)
    model = intervals.model
    whole = model.add_variable("makespan", 0)
    for job, completion in enumerate(intervals.completion):
        model.addConstraint(whole - completion >= 0, f"whole.{job}")
    model.setObjective(1 * whole)
    return model


@of_problem(Makespan)
def compact_size(problem: Makespan) -> ModelSize:
    """The size of `build_pyomo`'s model."""
    return program_size(problem)


@of_problem(Makespan)
def literal_size(problem: Makespan) -> ModelSize:
    """The size of `build_pulp`'s model: a variable for each task, node and instant."""
    return interval_size(problem, jobs=False)


decode = decoder(Makespan, compact=decode_counts, literal=decode_intervals, started=started_counts)
start_values = starter(Makespan, compact=started_counts, literal=started_intervals)
