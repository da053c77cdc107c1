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

The literal model of `build_pulp` is that of `optsched.models.schedule_intervals`.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from optsched.instance import KINDS
from optsched.models.base import MAX_VARIABLES, ModelSize, decoder, model_of, of_problem
from optsched.models.schedule_intervals import Intervals, decode_intervals, interval_size, started_intervals
from optsched.models.schedules import Compact, decode_counts, started_counts, steps, timetable_size
from optsched.models.starts import starter
from optsched.problems.makespan import Makespan
from optsched.schedule import MICRO
from optsched.searches.timetable import tick_of

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "objective_units", "start_values"]


@model_of(Makespan, pruned=True)
def build_pyomo(problem: Makespan, *, per_pair: bool = False) -> Any:
    """Build the compact model (parameters as in `ModelModule.build_pyomo`)."""
    compact = Compact(problem, per_pair)
    model, table = compact.model, compact.table
    earliest = max(table.earliest, default=0)
    gaps = steps(earliest, sorted({tick for ticks in compact.ends.values() for tick in ticks}))
    model.all_over = pyo.Var([tick for tick, _ in gaps], within=pyo.Binary)
    model.every_job = pyo.Constraint(pyo.Any)
    for job, name in enumerate(compact.jobs):
        kind, count = compact.pending(job)
        for tick, _ in gaps if count else ():
            if tick < compact.ends[job, kind][-1]:
                model.every_job[name, tick] = count * model.all_over[tick] <= compact.ended(job, kind, tick)
    over = earliest + pyo.quicksum(gap * (1 - model.all_over[tick]) for tick, gap in gaps)
    model.makespan = pyo.Expression(expr=over)
    model.area = pyo.Constraint(pyo.Any)
    for pool, name, held in zip(table.pools, compact.names.pools, compact.by_pool, strict=True) if gaps else ():
        done = sum(until for until, _ in pool.held) + pyo.quicksum(time * start for _, time, start in held)
        model.area[KINDS[pool.kind], name] = done <= pool.room * over
    model.objective = pyo.Objective(expr=model.makespan)
    return model


@model_of(Makespan, pruned=True)
def build_pulp(problem: Makespan, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the time-indexed program of the textbook; `optsched.models.schedule_intervals` names its parts."""
    intervals = Intervals(problem, max_variables, jobs=False)
    model = intervals.model
    whole = model.add_variable("makespan", 0)
    for job, completion in enumerate(intervals.completion):
        model.addConstraint(whole - completion >= 0, f"whole.{job}")
    model.setObjective(1 * whole)
    return model


@of_problem(Makespan)
def compact_size(problem: Makespan) -> ModelSize:
    """What `build_pyomo` would take, or less."""
    return timetable_size(problem)


@of_problem(Makespan)
def literal_size(problem: Makespan) -> ModelSize:
    """What `build_pulp` would take: a variable for each task, node and instant."""
    return interval_size(problem, jobs=False)


decode = decoder(Makespan, compact=decode_counts, literal=decode_intervals, started=started_counts)
start_values = starter(Makespan, compact=started_counts, literal=started_intervals)


def objective_units(problem: Makespan) -> tuple[int, int]:
    """Ticks of a second, in which the objectives of both models are."""
    ticks = MICRO // tick_of(problem)
    return ticks, ticks
