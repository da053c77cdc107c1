"""The compact models of `makespan` and `job-times`: the program of `optsched.searches.schedule_program` in Pyomo.

`optsched.searches.timetable` says which tasks, nodes and instants are told apart, and why that suffices.

==================== ======================================================================================
component            what it is
==================== ======================================================================================
tick                 seconds of a tick; instants are whole ticks after the snapshot
CLASSES              classes of tasks of a job with the same times and replicas, each by the id of its first
members, size        ids of the tasks of each class; how many they are
COUNTED              (class, level, place): a class with one of its groups; a group is of tasks of a job that take the
                     same time on a node with their data, in a rack with it, or anywhere; it goes by its first task
counted[c,l,p]       tasks of the class that are counted in its group of this level and place
STARTS               (task, level, place, pool, instant): a group, where and when; a pool of nodes goes by its first
start[t,l,p,q,i]     tasks of the group that start on the pool at the instant
every_task_runs[c]   each task of the class is counted in a group
as_many_start[t,l,p] as many tasks of the group start as are counted in it
slots[k,q,i]         tasks of a kind that run on a pool at an instant have room
ended[j,k,i]         tasks of the job and kind that have ended by an instant
ended_by[j,k,i]      as many as before, and those that end then
maps_over[j,i]       1 if all maps of the job have ended by an instant
every_map[j,i]       it is 0 as long as one has not
begun[j,i]           1 if enough maps of the job have ended for its reduces to start
enough_maps[j,i]     it is 0 before
slowstart[j,i]       reduces start only then
ends_after_maps[j,i] reduces end only when all maps have ended
==================== ======================================================================================

With `per_pair` each task is a class of its own with a group for each node, and `place[t,n]` is `counted[t,node,n]`: 1
if the task runs on the node. The schedule may then end as late as if one task ran after another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from optsched.core.schedule import MICRO, Schedule
from optsched.models.base import ModelSize, whole
from optsched.models.own_rows import is_per_pair
from optsched.models.programs import pyomo_of, size_of, variables_of
from optsched.models.starts import Entries
from optsched.problems.schedules import ScheduleProblem
from optsched.searches.schedule_program import ScheduleProgram
from optsched.searches.timetable import tick_of

__all__ = ["compact", "decode_counts", "objective_units", "program_size", "started_counts"]


def compact(problem: ScheduleProblem, per_pair: bool) -> tuple[Any, ScheduleProgram, list[Any]]:
    """The model without its objective, the program that it is of, and the tick of each of its goals (expressions)."""
    program = ScheduleProgram(problem, per_pair)
    model, variables = pyomo_of(program.program, problem.name)
    model.tick = pyo.Param(initialize=program.table.step / MICRO, doc="seconds")
    members = program.members()
    model.members = pyo.Param(model.CLASSES, initialize=members, within=pyo.Any, doc="ids of the members")
    sizes = {name: len(held) for name, held in members.items()}
    model.size = pyo.Param(model.CLASSES, initialize=sizes, doc="how many they are")
    if per_pair:
        model.place = pyo.Reference(model.counted[:, "node", :])
    ends = [
        goal.earliest
        + pyo.quicksum(
            gap * (1 - variables[column]) for column, gap in zip(goal.columns.tolist(), goal.gaps.tolist(), strict=True)
        )
        for goal in program.goals
    ]
    return model, program, ends


def program_size(problem: ScheduleProblem) -> ModelSize:
    """What the compact model takes; TooLarge as `ScheduleProgram` says."""
    if problem.plainly_infeasible is not None:
        return ModelSize(0, 0, 0)
    posed = ScheduleProgram(problem)
    size = size_of(posed.program)
    return replace(size, terms=size.terms + sum(len(goal.columns) for goal in posed.goals))


def objective_units(problem: ScheduleProblem) -> tuple[int, int]:
    """Ticks of a second, in which the objectives of both models are."""
    ticks = MICRO // tick_of(problem)
    return ticks, ticks


def decode_counts(model: Any, problem: ScheduleProblem) -> Schedule:
    """The schedule of a solved compact model, by its numbers of tasks counted and started."""
    program = ScheduleProgram(problem, is_per_pair(model))
    return program.decode(np.array([whole(variable) for variable in variables_of(model, program.program)]))


def started_counts(model: Any, problem: ScheduleProblem, schedule: Schedule) -> Entries:
    """A schedule, as early as it can be, in the counts of the compact model; nothing where it ends too late for it."""
    program = ScheduleProgram(problem, is_per_pair(model))
    values = program.start(schedule)
    if values[program.program.family("start")].any():
        decided = {"counted", "start"}
        named = zip(program.program.names, variables_of(model, program.program), values.tolist(), strict=True)
        yield from ((variable, value) for (family, *_), variable, value in named if family in decided)
