"""Models of `makespan`: every task on a slot over time, the last end as early as possible.

The compact model of `build_pyomo` has these components, and more: see the table in `optsched.models.schedules`.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
all_over[i]         1 if all tasks have ended by an instant; binary
every_job[j,i]      that is 0 until every task of the job has ended
makespan            expression: ticks after the snapshot at which all tasks have ended
area[k,q]           what a pool of slots does and did takes no longer than that; it follows from the others for whole
                    numbers, and strengthens the relaxation
objective           least makespan
=================== ========================================================================================

The literal model of `build_pulp` is that of `optsched.models.schedules`.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from optsched.models import schedules
from optsched.models.base import model_of, of_problem, said_by
from optsched.models.schedules import objective_units
from optsched.problems.makespan import Makespan

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "objective_units", "start_values"]


@model_of(Makespan, pruned=True)
def build_pyomo(problem: Makespan, *, per_pair: bool = False) -> Any:
    """Build the compact model (parameters as in `ModelModule.build_pyomo`)."""
    model, ends = schedules.compact(problem, per_pair)
    model.makespan = pyo.Expression(expr=ends[()], doc="ticks until all tasks have ended")
    return model


build_pulp = model_of(Makespan, pruned=True)(schedules.build_pulp)
compact_size = of_problem(Makespan)(schedules.compact_size)
literal_size = of_problem(Makespan)(schedules.literal_size)
decode, start_values = said_by(Makespan, schedules.COUNTS, schedules.INTERVALS)
