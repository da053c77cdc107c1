"""The compact models of `makespan` and `job-times`: the programs of the problems in Pyomo.

`optsched.problems.timetable` says which tasks, nodes and instants differ in the model, and why that suffices.

==================== ======================================================================================
component            what it is
==================== ======================================================================================
tick                 seconds of a tick; instants are whole ticks after the snapshot
CLASSES              classes of tasks of a job with the same times and replicas, each by the id of its first
members              ids of the tasks of each class
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
horizon              1: what the objective is if nothing ends before the last instant
==================== ======================================================================================

With `per_pair` each task is a class of its own with a group for each node, and `place[t,n]` is `counted[t,node,n]`: 1
if the task runs on the node. The schedule may then end as late as if one task ran after another.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from optsched.core.placement import MICRO, Schedule
from optsched.models.base import ModelSize
from optsched.models.programs import decode_program, size_of, started_program, variables_of, whole_pyomo
from optsched.models.starts import Entries
from optsched.problems.schedule_program import TimedProblem
from optsched.problems.timetable import tick_of
from optsched.searches.job_placing import best_placed

__all__ = ["compact", "decode_counts", "objective_units", "program_size", "started_counts", "well_placed"]


def well_placed(problem: TimedProblem) -> TimedProblem:
    """The same problem, whose program has no schedule that is worse than the best of some placed job by job."""
    return problem.within(problem.evaluate(best_placed(problem))[0])


def compact(problem: TimedProblem, per_pair: bool) -> tuple[Any, dict[Any, Any]]:
    """The model, and the tick at which the jobs of each goal have ended (expressions, by the label of the goal)."""
    posed = problem.apart() if per_pair else well_placed(problem)
    program = posed.program()
    model = whole_pyomo(program, problem.name, unit=program.unit // objective_units(problem)[0])
    model.limit = posed.limit
    model.tick = pyo.Param(initialize=posed.posed.table.step / MICRO, doc="seconds")
    if per_pair:
        model.place = pyo.Reference(model.counted[:, "node", :])
    variables, ends = variables_of(model, program), {}
    for goal, latest, columns, gaps in posed.posed.spans:
        over = zip(gaps.tolist(), columns.tolist(), strict=True)
        ends[goal.label] = latest - pyo.quicksum(gap * variables[column] for gap, column in over)
    return model, ends


def program_size(problem: TimedProblem) -> ModelSize:
    """What the compact model takes; TooLarge as `ScheduleProgram` says."""
    if problem.plainly_infeasible is not None:
        return ModelSize(0, 0, 0)
    return size_of(well_placed(problem).program())


def objective_units(problem: TimedProblem) -> tuple[int, int]:
    """Ticks of a second, in which the objectives of both models are."""
    ticks = MICRO // tick_of(problem)
    return ticks, ticks


def decode_counts(model: Any, problem: TimedProblem) -> Schedule:
    """The schedule of a solved compact model, by its numbers of tasks counted and started."""
    schedule: Schedule = decode_program(model, problem.within(model.limit))
    return schedule


def started_counts(model: Any, problem: TimedProblem, schedule: Schedule) -> Entries:
    """A schedule, as early as it can be, in the compact model; nothing where it ends too late for it."""
    entries = list(started_program(model, problem.within(model.limit), schedule))
    begins = any(value for variable, value in entries if variable.parent_component().name == "start")
    return entries if begins else []
