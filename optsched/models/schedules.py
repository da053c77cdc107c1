"""The common part of the models of `makespan` and `job-times`, compact and literal.

The compact model of `build_pyomo` is the program of the problem in Pyomo.

`optsched.problems.timetable` says which tasks, nodes and instants the model distinguishes, and why so few.

==================== ======================================================================================
component            what it is
==================== ======================================================================================
tick                 seconds of a tick; instants are whole ticks after the snapshot
CLASSES              classes of tasks of a job with the same times and replicas, each by the id of its first
members              ids of the tasks of each class
COUNTED              (class, level, place): a class with one of its groups; a group is tasks of a job that take the same
                     time on a node with their data, in a rack with it, or anywhere; named by its first task
counted[c,l,p]       tasks of the class that are counted in its group of this level and place
STARTS               (task, level, place, pool, instant): a group, where and when; a pool is named by its first node
start[t,l,p,q,i]     tasks of the group that start on the pool at the instant
every_task_runs[c]   each task of the class is counted in a group
as_many_start[t,l,p] as many tasks of the group start as are counted in it
slots[k,q,i]         tasks of a kind that run on a pool at an instant have room
ended[j,k,i]         tasks of the job and kind that have ended by an instant
ended_by[j,k,i]      as many as before, and those that end then
maps_over[j,i]       1 if all maps of the job have ended by an instant
every_map[j,i]       that is 0 until every map has ended
begun[j,i]           1 if enough maps of the job have ended for its reduces to start
enough_maps[j,i]     that is 0 before
slowstart[j,i]       reduces start only then
ends_after_maps[j,i] reduces end only when all maps have ended
horizon              1: the objective if nothing ends before the last instant
==================== ======================================================================================

With `per_pair` each task is its own class with a group for each node, and `place[t,n]` is `counted[t,node,n]`: 1 if the
task runs on the node. The schedule may then end as late as if one task ran after another.

The literal model of `build_pulp` has a binary for each task, node and instant. It is the time-indexed program of Sousa
and Wolsey (1992), with several slots per node, and with reduces, which hold their slots until the last map of their job
has ended. Instants are the sums at which tasks may start or end (`optsched.problems.timetable`), in ticks after
the snapshot.

=========================== ===============================================================================
variable or row             what it is
=========================== ===============================================================================
`start.t.n.i`               1 if the task starts on the node at the instant
`end.t.i`                   1 if the reduce ends then; for running reduces, if maps of their job wait
`holds.t.n.i`               at least 1 if the reduce has started on the node and not ended by the instant
`completion.j`              when the job ends, in ticks after the snapshot
`makespan`                  when all jobs end; only for `makespan`
`task.t`                    each task starts once
`ends.t`                    each reduce ends once
`ends_after_start.t`        the reduce ends no sooner than its time after its start
`ends_after_map.t.m`        the reduce ends no sooner than each map of its job
`held.t.n.i`                the lower limit of `holds`
`slots.k.n.i`               tasks of a kind on a node at an instant have room
`slowstart.t.i`             the reduce starts then only if enough maps of its job have ended
`completed.t`               the job ends no sooner than its task
`whole.j`                   all jobs have ended by the makespan
=========================== ===============================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.arrays import Ints
from optsched.core.instance import KINDS, MAP, REDUCE
from optsched.core.placement import MICRO, NONE, Schedule
from optsched.models.base import MAX_VARIABLES, Entries, ModelSize, Way, int_of, linear, refuse_too_large
from optsched.models.programs import decode_program, size_of, started_program, variables_of, whole_pyomo
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_program import TimedProblem, job_labels
from optsched.problems.schedules import as_early
from optsched.problems.service_times import NEVER
from optsched.problems.timetable import Timetable, tick_of
from optsched.solvers.algebraic import injective_names
from optsched.solvers.searches.schedules import best_placed

# Compact, in Pyomo ----------------------------------------------------------------------------------------------------


def well_placed(problem: TimedProblem) -> TimedProblem:
    """The same problem, but its program has only schedules at least as good as the best of some placed job by job."""
    return problem.within(problem.evaluate(best_placed(problem))[0])


def compact(problem: TimedProblem, per_pair: bool) -> tuple[Any, dict[Any, Any]]:
    """The model, and the tick at which the jobs of each goal have ended (expressions, by the label of the goal)."""
    posed = problem.apart() if per_pair else well_placed(problem)
    program = posed.program()
    model = whole_pyomo(program, problem.name, unit=program.unit // objective_units(problem)[0])
    model.limit = posed.limit
    model.tick = pyo.Param(initialize=posed.posed.table.step / MICRO, doc="seconds of an instant's unit")
    if per_pair:
        model.place = pyo.Reference(model.counted[:, "node", :])
        model.place.doc = "1 if the task runs on the node"
    variables, ends = variables_of(model, program), {}
    for goal, latest, columns, gaps in posed.posed.spans:
        over = zip(gaps.tolist(), columns.tolist(), strict=True)
        ends[goal.label] = latest - pyo.quicksum(gap * variables[column] for gap, column in over)
    return model, ends


def compact_size(problem: TimedProblem) -> ModelSize:
    """The size of `build_pyomo`'s model; TooLarge as for `ScheduleProgram`."""
    if problem.plainly_infeasible is not None:
        return ModelSize(0, 0, 0)
    return size_of(well_placed(problem).program())


def objective_units(problem: TimedProblem) -> tuple[int, int]:
    """Ticks in a second; the objectives of both models are in ticks."""
    ticks = MICRO // tick_of(problem)
    return ticks, ticks


def decode_counts(model: Any, problem: TimedProblem) -> Schedule:
    """The schedule of a solved compact model, by its numbers of tasks counted and started."""
    schedule: Schedule = decode_program(model, problem.within(model.limit))
    return schedule


def started_counts(model: Any, problem: TimedProblem, schedule: Schedule) -> Entries:
    """A schedule, as early as possible, in the compact model; nothing if it ends too late for it."""
    entries = list(started_program(model, problem.within(model.limit), schedule))
    begins = any(value for variable, value in entries if variable.parent_component().name == "start")
    return entries if begins else []


#: The compact model.
COUNTS = Way(decode_counts, started_counts)

# Literal, in PuLP -----------------------------------------------------------------------------------------------------


class Grid:
    """The instants of a problem, what may start when, and what is known about running tasks; in ticks from the
    snapshot.

    `spans` has, for each task and open node, the instants at which it may start there, and its time. By job there are
    the positions of the `maps` to run, and the ends of the `running_maps`. By row in the instance there is the end of
    each running task (`run_until`). For each reduce with variables for its end, including running ones, there are its
    possible ends (`ends`).
    """

    def __init__(self, problem: TimedProblem) -> None:
        self.problem, table = problem, well_placed(problem).timetable
        self.step, self.open = table.step, table.open
        kinds, jobs = problem.kind.tolist(), problem.jobs.of_task.tolist()
        release = table.ticks(problem.release)
        last = max(table.latest, default=0)
        self.spans = [self._spans(table, position, kind, release[position]) for position, kind in enumerate(kinds)]
        self.maps: dict[int, list[int]] = {}
        for position in np.flatnonzero(problem.kind == MAP).tolist():
            self.maps.setdefault(table.job[position], []).append(position)
        self.running_maps = {job: list(maps.ends) for job, maps in enumerate(table.maps)}
        self.run_until = dict(zip(problem.running.tolist(), table.ticks(problem.busy_until), strict=True))
        is_reduce = problem.instance.workload.kind == REDUCE
        for row in problem.running[is_reduce[problem.running]].tolist():
            self.run_until[row] = max(self.run_until[row], *self.running_maps[jobs[row]], 0)
        waiting = [row for row in self.run_until if is_reduce[row] and jobs[row] in self.maps]
        least = {row: self.run_until[row] for row in waiting}
        for position in np.flatnonzero(problem.kind == REDUCE).tolist():
            first = [int(starts[0]) + time for starts, time in self.spans[position].values() if len(starts)]
            row = int(problem.tasks[position])
            least[row] = max(min(first, default=last), *self.running_maps[jobs[row]], 0)
        instants = table.instants[REDUCE]
        self.ends: dict[int, Ints] = {row: instants[instants >= begin] for row, begin in least.items()}

    def _spans(self, table: Timetable, position: int, kind: int, release: int) -> dict[int, tuple[Ints, int]]:
        """The instants at which a task may start on each open node, and how long it takes there."""
        nodes, instants = np.array(self.open[kind], dtype=np.int64), table.instants[kind]
        times = self.problem.times.on(np.full(len(nodes), position), nodes) // self.step
        last = max(table.latest)
        return {
            node: (instants[(instants >= release) & (instants <= last - time)], time)
            for node, time in zip(nodes.tolist(), times.tolist(), strict=True)
        }

    def slot_rows(self, kind: int, node: int) -> Ints:
        """The instants at which some task of a kind may begin to hold a slot of a node."""
        own = np.flatnonzero(self.problem.kind == kind).tolist()
        spans = [self.spans[position][node] for position in own]
        held = [starts for starts, time in spans if time or kind == REDUCE]
        return np.unique(np.concatenate([*held, np.zeros(0, dtype=np.int64)]))

    def needed(self, position: int) -> Iterator[tuple[int, int]]:
        """The instants at which a reduce may start only if more maps have ended than run, and how many."""
        job = int(self.problem.jobs.of_task[self.problem.tasks[position]])
        due = int(self.problem.maps_before_reduces[job])
        starts = [starts for starts, _ in self.spans[position].values()]
        for instant in np.unique(np.concatenate([*starts, np.zeros(0, dtype=np.int64)])).tolist():
            left = due - sum(end <= instant for end in self.running_maps[job])
            if left > 0:
                yield instant, left


def literal_size(problem: TimedProblem) -> ModelSize:
    """The size of `build_pulp`'s model: a variable for each task, node and instant. TooLarge as for `Timetable`."""
    if problem.plainly_infeasible is not None:
        return ModelSize(0, 0, 0)
    grid, jobs, whole = Grid(problem), len(problem.jobs), isinstance(problem, Makespan)
    starts = [sum(len(instants) for instants, _ in spans.values()) for spans in grid.spans]
    ends = sum(map(len, grid.ends.values()))
    slots = {(kind, node): grid.slot_rows(kind, node) for kind in (MAP, REDUCE) for node in grid.open[kind]}
    held, terms = _slot_terms(grid, slots)
    slow = [_slow_terms(grid, position) for position in np.flatnonzero(problem.kind == REDUCE).tolist()]
    pairs = [
        len(instants) + starts[other]
        for row, instants in grid.ends.items()
        for other in grid.maps.get(int(problem.jobs.of_task[row]), [])
    ]
    completed = len(set(problem.tasks.tolist()) | set(grid.ends))
    rows = [len(starts), len(grid.ends), len(slow), len(pairs), held, *map(len, slots.values()), completed]
    return ModelSize(
        sum(starts) + ends + held + jobs + whole,
        sum(rows) + sum(number for number, _ in slow) + whole * jobs,
        terms + sum(of for _, of in slow) + sum(pairs) + 3 * (sum(starts) + ends + jobs) + completed + 1,
    )


def _slot_terms(grid: Grid, rows: dict[tuple[int, int], Ints]) -> tuple[int, int]:
    """How many variables say that a reduce holds a slot, and how many terms the rows of slots and these need."""
    problem, held, terms = grid.problem, 0, 0
    for position, spans in enumerate(grid.spans):
        kind = int(problem.kind[position])
        for node, (starts, time) in spans.items():
            ticks = rows[kind, node]
            if kind == MAP:
                terms += int((np.searchsorted(ticks, starts + time) - np.searchsorted(ticks, starts)).sum())
                continue
            late = ticks[ticks >= (starts[0] if len(starts) else NEVER)]
            held += len(late)
            ends = grid.ends[int(problem.tasks[position])]
            begun, ended = (np.searchsorted(known, late, side="right") for known in (starts, ends))
            terms += 2 * len(late) + int(begun.sum() + ended.sum())
    for row, ends in grid.ends.items():
        if row in grid.run_until:
            ticks = rows[REDUCE, int(problem.instance.state.node[row])]
            terms += int(np.searchsorted(ends, ticks, side="right").sum())
    return held, terms


def _slow_terms(grid: Grid, position: int) -> tuple[int, int]:
    """How many rows make a reduce wait until enough maps have ended, and how many terms these have."""
    job = int(grid.problem.jobs.of_task[grid.problem.tasks[position]])
    maps = [starts + time for other in grid.maps.get(job, []) for starts, time in grid.spans[other].values()]
    ends = np.sort(np.concatenate([*maps, np.zeros(0, dtype=np.int64)]))
    ticks = np.array([instant for instant, _ in grid.needed(position)], dtype=np.int64)
    own = sum(int(np.isin(starts, ticks).sum()) for starts, _ in grid.spans[position].values())
    return len(ticks), own + int(np.searchsorted(ends, ticks, side="right").sum())


def build_pulp(problem: TimedProblem, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the time-indexed program of the textbook; `optsched.models.schedules` names its parts."""
    refuse_too_large(problem, literal_size(problem), max_variables, "build_pyomo")
    return Intervals(problem).model


class Intervals:
    """The literal model."""

    def __init__(self, problem: TimedProblem) -> None:
        self.problem, self.grid = problem, Grid(problem)
        self.model = pulp.LpProblem(problem.name, pulp.LpMinimize)
        self._task = injective_names(problem.instance.workload.task_ids.tolist())
        self._node = injective_names(problem.instance.cluster.node_ids.tolist())
        self._add_starts()
        self._add_ends()
        self._add_slots()
        self._add_slowstart()
        self._add_completions()

    def _add_starts(self) -> None:
        """Each task starts once."""
        ids = self.problem.instance.workload.task_ids.tolist()
        nodes = self.problem.instance.cluster.node_ids.tolist()
        self.starts: list[dict[tuple[int, int], Any]] = []
        self.model.start = {}
        for row, spans in zip(self.problem.tasks.tolist(), self.grid.spans, strict=True):
            own = {}
            for node, (instants, _) in spans.items():
                for instant in instants.tolist():
                    name = f"start.{self._task[row]}.{self._node[node]}.{instant}"
                    own[node, instant] = self.model.add_variable(name, cat=pulp.LpBinary)
                    self.model.start[ids[row], (nodes[node], instant)] = own[node, instant]
            self.starts.append(own)
            self.model.addConstraint(pulp.lpSum(own.values()) == 1, f"task.{self._task[row]}")

    def _end(self, position: int) -> list[tuple[Any, int]]:
        """Terms of the end of a task, from its start and its time, in ticks."""
        spans = self.grid.spans[position]
        return [(start, instant + spans[node][1]) for (node, instant), start in self.starts[position].items()]

    def _add_ends(self) -> None:
        """Each reduce ends once, no sooner than its time after its start, and no sooner than each map of its job."""
        model, grid, job = self.model, self.grid, self.problem.jobs.of_task
        position_of = {row: position for position, row in enumerate(self.problem.tasks.tolist())}
        self.ends: dict[int, list[tuple[Any, int]]] = {}
        for row, instants in grid.ends.items():
            name = self._task[row]
            own = [
                (model.add_variable(f"end.{name}.{instant}", cat=pulp.LpBinary), instant)
                for instant in instants.tolist()
            ]
            self.ends[row] = own
            model.addConstraint(pulp.lpSum(end for end, _ in own) == 1, f"ends.{name}")
            late = linear(own)
            if row in position_of:
                early = linear(self._end(position_of[row]))
                model.addConstraint(late - early >= 0, f"ends_after_start.{name}")
            for other in grid.maps.get(int(job[row]), []):
                early = linear(self._end(other))
                mark = self._task[int(self.problem.tasks[other])]
                model.addConstraint(late - early >= 0, f"ends_after_map.{name}.{mark}")

    def _add_slots(self) -> None:
        """Rows: tasks of a kind hold no more slots of a node than there are."""
        for kind in (MAP, REDUCE):
            own = np.flatnonzero(self.problem.kind == kind).tolist()
            for node in self.grid.open[kind]:
                rows = self.grid.slot_rows(kind, node).tolist()
                terms: dict[int, list[Any]] = {instant: [] for instant in rows}
                for position in own:
                    self._hold(kind, position, node, terms)
                for instant in rows:
                    free, kept = self._free(kind, node, instant)
                    name = f"slots.{KINDS[kind]}.{self._node[node]}.{instant}"
                    self.model.addConstraint(pulp.lpSum(terms[instant]) - pulp.lpSum(kept) <= free, name)

    def _hold(self, kind: int, position: int, node: int, terms: dict[int, list[Any]]) -> None:
        """Add the instants at which a task on a node holds a slot; for a reduce by variables."""
        instants, time = self.grid.spans[position][node]
        starts = [(instant, self.starts[position][node, instant]) for instant in instants.tolist()]
        if kind == MAP:
            for tick, held in terms.items():
                held += [start for instant, start in starts if instant <= tick < instant + time]
            return
        row = int(self.problem.tasks[position])
        for tick, held in terms.items():
            begun = [start for instant, start in starts if instant <= tick]
            if begun:
                mark = f"{self._task[row]}.{self._node[node]}.{tick}"
                holds = self.model.add_variable(f"holds.{mark}", 0)
                ended = pulp.lpSum(end for end, instant in self.ends[row] if instant <= tick)
                self.model.addConstraint(holds - pulp.lpSum(begun) + ended >= 0, f"held.{mark}")
                held.append(holds)

    def _free(self, kind: int, node: int, instant: int) -> tuple[int, list[Any]]:
        """Slots of a node that no running task holds at an instant, and the ends of tasks that may hold one."""
        problem = self.problem
        free, kept = int(problem.offered[KINDS[kind]][node]), []
        for row in problem.running.tolist():
            if problem.instance.workload.kind[row] == kind and problem.instance.state.node[row] == node:
                if row in self.ends:
                    kept += [end for end, step in self.ends[row] if step <= instant]
                else:
                    free += self.grid.run_until[row] <= instant
        return free, kept

    def _add_slowstart(self) -> None:
        """A reduce starts when enough maps of its job have ended."""
        job = self.problem.jobs.of_task
        for position in np.flatnonzero(self.problem.kind == REDUCE).tolist():
            row = int(self.problem.tasks[position])
            ends = [pair for other in self.grid.maps.get(int(job[row]), []) for pair in self._end(other)]
            for instant, left in self.grid.needed(position):
                now = pulp.lpSum(start for (_, begin), start in self.starts[position].items() if begin == instant)
                over = pulp.lpSum(start for start, end in ends if end <= instant)
                self.model.addConstraint(left * now - over <= 0, f"slowstart.{self._task[row]}.{instant}")

    def _add_completions(self) -> None:
        """Rows: when jobs end, in ticks; and their objective."""
        job, grid = self.problem.jobs.of_task, self.grid
        least = [0] * len(self.problem.jobs)
        for row, until in grid.run_until.items():
            least[int(job[row])] = max(least[int(job[row])], until)
        names = injective_names(job_labels(self.problem))
        completion = [
            self.model.add_variable(f"completion.{name}", begin) for name, begin in zip(names, least, strict=True)
        ]
        ends = {row: self._end(position) for position, row in enumerate(self.problem.tasks.tolist())} | self.ends
        for row, terms in ends.items():
            self.model.addConstraint(completion[int(job[row])] - linear(terms) >= 0, f"completed.{self._task[row]}")
        if isinstance(self.problem, JobTimes):
            weights = list(map(float, self.problem.weights))
            since = ((self.problem.jobs.arrival - self.problem.now) / grid.step).tolist()
            spent = sum(weight * arrival for weight, arrival in zip(weights, since, strict=True))
            self.model.setObjective(linear(list(zip(completion, weights, strict=True)), constant=-spent))
            return
        whole = self.model.add_variable("makespan", 0)
        for number, end in enumerate(completion):
            self.model.addConstraint(whole - end >= 0, f"whole.{number}")
        self.model.setObjective(1 * whole)


def decode_intervals(model: Any, problem: TimedProblem) -> Schedule:
    """The schedule of a solved literal model."""
    step, index = tick_of(problem), problem.instance.node_index
    held = {task: place for (task, place), start in model.start.items() if int_of(start)}
    ids = problem.task_ids.tolist()
    places = [held.get(task) for task in ids]
    nodes = [NONE if place is None else index[place[0]] for place in places]
    starts = [0 if place is None else problem.now + place[1] * step for place in places]
    return problem.schedule(nodes, starts)


def started_intervals(model: Any, problem: TimedProblem, schedule: Schedule) -> Entries:
    """A schedule, as early as possible, in the starts of the literal model, which HiGHS completes."""
    step, early = tick_of(problem), as_early(problem, schedule)
    ids = problem.task_ids.tolist()
    names = problem.instance.cluster.node_ids.tolist()
    nodes, starts = early.nodes[problem.tasks].tolist(), early.starts[problem.tasks].tolist()
    place = {
        task: (names[node], (start - problem.now) // step)
        for task, node, start in zip(ids, nodes, starts, strict=True)
        if node != NONE
    }
    if all(entry in model.start for entry in place.items()):
        yield from ((variable, int(place.get(task) == at)) for (task, at), variable in model.start.items())


#: The literal model.
INTERVALS = Way(decode_intervals, started_intervals)
