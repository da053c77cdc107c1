"""The models of `makespan` and `job-times`: the program of `optsched.searches.schedule_program` in Pyomo and PuLP.

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

With `per_pair`, and in PuLP, each task is a class of its own, with a group for each node: `counted[t,n]`, which is also
`place[t,n]` in Pyomo, is 1 if the task runs on the node, and `start[t,n,i]` is 1 if it starts there at the instant.
This is the time-indexed program of Sousa and Wolsey (1992), with nodes of several slots. With `per_pair` the schedule
may end as late as if one task ran after another; the others have the instants that an optimum needs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.schedule import MICRO, Schedule
from optsched.models.base import ModelSize, linear, refuse_too_large, whole
from optsched.models.own_rows import is_per_pair
from optsched.models.programs import pulp_names, pulp_of, pyomo_of, size_of, variables_of
from optsched.models.starts import Entries
from optsched.problems.schedules import ScheduleProblem
from optsched.searches.schedule_program import ScheduleProgram
from optsched.searches.timetable import tick_of

__all__ = ["compact", "decoded", "literal", "objective_units", "program_size", "started"]


def compact(problem: ScheduleProblem, per_pair: bool) -> tuple[Any, ScheduleProgram, list[Any]]:
    """The Pyomo model without its objective, the program that it is of, and the tick of each of its goals."""
    program = ScheduleProgram(problem, per_pair, per_pair)
    model, variables = pyomo_of(program.program, problem.name)
    ends = [
        goal.earliest + pyo.quicksum(gap * (1 - variables[column]) for column, gap in goal.terms)
        for goal in program.goals
    ]
    model.tick = pyo.Param(initialize=program.table.step / MICRO, doc="seconds")
    members = program.members()
    model.members = pyo.Param(model.CLASSES, initialize=members, within=pyo.Any, doc="ids of the members")
    sizes = {name: len(held) for name, held in members.items()}
    model.size = pyo.Param(model.CLASSES, initialize=sizes, doc="how many they are")
    if per_pair:
        model.place = pyo.Reference(model.counted[:, :])
    return model, program, ends


def literal(problem: ScheduleProblem, max_variables: int) -> tuple[Any, ScheduleProgram, list[Any]]:
    """The PuLP model without its objective, the program that it is of, and the tick of each of its goals.

    The model's `start` has the variable of each (task, (node, instant)).
    """
    refuse_too_large(problem, program_size(problem, apart=True), max_variables, "build_pyomo")
    program = ScheduleProgram(problem, apart=True)
    model, variables = pulp_of(program.program, problem.name)
    starts = next(family for family in program.program.variables if family.name == "start")
    model.start = {
        (task, (node, instant)): variable
        for (task, node, instant), variable in zip(starts.labels, variables[starts.first :], strict=False)
    }
    ends = [
        linear([(variables[column], -gap) for column, gap in goal.terms] or [(variables[-1], 0)], constant=goal.latest)
        for goal in program.goals
    ]
    return model, program, ends


def program_size(problem: ScheduleProblem, apart: bool = False) -> ModelSize:
    """What the compact model takes, or the literal one; TooLarge as `ScheduleProgram` says."""
    if problem.plainly_infeasible is not None:
        return ModelSize(0, 0, 0)
    posed = ScheduleProgram(problem, apart)
    size = size_of(posed.program)
    return replace(size, terms=size.terms + sum(max(1, len(goal.columns)) for goal in posed.goals))


def objective_units(problem: ScheduleProblem) -> tuple[int, int]:
    """Ticks of a second, in which the objectives of both models are."""
    ticks = MICRO // tick_of(problem)
    return ticks, ticks


def _posed(model: Any, problem: ScheduleProblem) -> tuple[ScheduleProgram, list[Any]]:
    """The program that a model is of, and its variables there."""
    if isinstance(model, pulp.LpProblem):
        program, named = ScheduleProgram(problem, apart=True), model.variablesDict()
        return program, [named[name] for name in pulp_names(program.program)]
    program = ScheduleProgram(problem, is_per_pair(model), is_per_pair(model))
    return program, variables_of(model, program.program)


def decoded(model: Any, problem: ScheduleProblem) -> Schedule:
    """The schedule of a solved model, by its numbers of tasks counted and started."""
    program, variables = _posed(model, problem)
    return program.decode(np.array([whole(variable) for variable in variables]))


def started(model: Any, problem: ScheduleProblem, schedule: Schedule) -> Entries:
    """A schedule, as early as it can be, in the counts of a model; nothing where it ends too late for it."""
    program, variables = _posed(model, problem)
    values = program.start(schedule)
    if values[program.program.family("start")].any():
        decided = {"counted", "start"}
        named = zip(program.program.names, variables, values.tolist(), strict=True)
        yield from ((variable, value) for (family, *_), variable, value in named if family in decided)
