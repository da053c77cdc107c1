"""What the compact models of `makespan` and `job-times` share: starts of tasks, counted by group, pool and instant.

`optsched.searches.timetable` says which tasks, nodes and instants are told apart, and why that suffices.

==================== ======================================================================================
component            what it is
==================== ======================================================================================
tick                 seconds of a tick; instants are whole ticks after the snapshot
CLASSES              classes of tasks of a job with the same times and replicas, each by the id of its first
members, size        ids of the tasks of each class; how many they are
COUNTED              (class, level, place): a class with one of its groups; a group is of tasks of a job that take the
                     same time on a node with their data, in a rack with it, or anywhere; it goes by its first task
counted[c,l,p]       tasks of the class that are counted in its group of this level and place; integer
STARTS               (task, level, place, pool, instant): a group, where and when; a pool of nodes goes by its first
start[t,l,p,q,i]     tasks of the group that start on the pool at the instant; integer
every_task_runs[c]   each task of the class is counted in a group
as_many_start[t,l,p] as many tasks of the group start as are counted in it
slots[k,q,i]         tasks of a kind that run on a pool at an instant have room
ended[j,k,i]         tasks of the job and kind that have ended by an instant; continuous
ended_by[j,k,i]      as many as before, and those that end then
maps_over[j,i]       1 if all maps of the job have ended by an instant; binary
every_map[j,i]       it is 0 as long as one has not
begun[j,i]           1 if enough maps of the job have ended for its reduces to start; binary
enough_maps[j,i]     it is 0 before
slowstart[j,i]       reduces start only then
ends_after_maps[j,i] reduces end only when all maps have ended
==================== ======================================================================================

With `per_pair` each task is a class of its own with a group for each node, and `place[t,n]` is `counted[t,node,n]`: 1
if the task runs on the node. The schedule may then end as late as if one task ran after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyomo.environ as pyo

from optsched.instance import KINDS, MAP, REDUCE
from optsched.models.base import ModelSize, whole
from optsched.models.own_rows import is_per_pair
from optsched.models.program_files import free_name
from optsched.models.starts import Entries
from optsched.problems.schedules import ScheduleProblem
from optsched.schedule import Schedule
from optsched.searches.timetable import Group, Timetable
from optsched.searches.timetable_counts import Counts, counts_of, dealt

__all__ = ["Compact", "decode_counts", "job_labels", "started_counts", "steps", "timetable_size"]


class Compact:
    """The model of a problem over time, but for what its objective needs.

    Attributes
    ----------
    model
        `pyomo.environ.ConcreteModel` with the components at the head of the module.
    table
        What is told apart.
    jobs
        The label of each job.
    ends
        For each job and kind with pending tasks: the ticks at which one may end.
    """

    def __init__(self, problem: ScheduleProblem, per_pair: bool = False) -> None:
        self.problem, self.table = problem, Timetable(problem, per_pair)
        self.jobs = job_labels(problem)
        self.model = model = pyo.ConcreteModel(problem.name)
        model.tick = pyo.Param(initialize=self.table.seconds)
        self.names = _Names(self.table)
        self.by_pool: list[list[tuple[int, int, Any]]] = [[] for _ in self.table.pools]
        self._begins: dict[int, dict[int, list[Any]]] = {}
        self._over: dict[tuple[int, int], dict[int, list[Any]]] = {}
        self._add_counts()
        self._add_starts()
        self.ends = {key: sorted(held) for key, held in self._over.items()}
        self._add_ended()
        self._add_slots()
        self._add_order()

    def _add_counts(self) -> None:
        """Classes, and how many of each are counted in which group."""
        model, names = self.model, self.names
        classes = [names.task(each.members[0]) for each in self.table.classes]
        model.CLASSES = pyo.Set(initialize=classes)
        members = {
            name: tuple(map(names.task, each.members)) for name, each in zip(classes, self.table.classes, strict=True)
        }
        model.members = pyo.Param(model.CLASSES, initialize=members, within=pyo.Any)
        sizes = {name: len(held) for name, held in members.items()}
        model.size = pyo.Param(model.CLASSES, initialize=sizes)
        self.counted, self.starts = _indices(self.table)
        model.COUNTED = pyo.Set(dimen=3, initialize=list(self.counted))
        model.counted = pyo.Var(
            model.COUNTED, within=pyo.NonNegativeIntegers, bounds=lambda model, name, *place: (0, sizes[name])
        )
        if self.table.per_pair:
            model.place = pyo.Reference(model.counted[:, "node", :])
        own: dict[str, list[Any]] = {name: [] for name in classes}
        for key in self.counted:
            own[key[0]].append(model.counted[key])
        model.every_task_runs = pyo.Constraint(
            model.CLASSES, rule=lambda model, name: pyo.quicksum(own[name]) == model.size[name]
        )

    def _add_starts(self) -> None:
        """Starts of the tasks of each group, and their number."""
        model, table, names = self.model, self.table, self.names
        most = [0] * len(table.groups)
        counted: list[list[Any]] = [[] for _ in table.groups]
        for index, (number, into) in self.counted.items():
            most[into] += len(table.classes[number].members)
            counted[into].append(model.counted[index])

        def bounds(model: Any, *key: Any) -> tuple[int, int]:
            number, pool, _ = self.starts[key]
            return 0, min(most[number], table.pools[pool].room) if table.groups[number].time else most[number]

        model.STARTS = pyo.Set(dimen=5, initialize=list(self.starts))
        model.start = pyo.Var(model.STARTS, within=pyo.NonNegativeIntegers, bounds=bounds)
        all_of: list[list[Any]] = [[] for _ in table.groups]
        for key, (number, pool, tick) in self.starts.items():
            group, start = table.groups[number], model.start[key]
            all_of[number].append(start)
            self._over.setdefault((group.job, group.kind), {}).setdefault(tick + group.time, []).append(start)
            if group.kind == REDUCE:
                self._begins.setdefault(group.job, {}).setdefault(tick, []).append(start)
            if group.time:
                self.by_pool[pool].append((tick, group.time, start))
        model.as_many_start = pyo.Constraint(pyo.Any)
        for number, place in enumerate(names.groups):
            model.as_many_start[place] = pyo.quicksum(all_of[number]) == pyo.quicksum(counted[number])

    def _add_ended(self) -> None:
        """How many tasks of each job and kind have ended by when."""
        model = self.model
        index = [(self.jobs[job], KINDS[kind], tick) for (job, kind), ticks in self.ends.items() for tick in ticks]
        model.ended = pyo.Var(index, within=pyo.NonNegativeReals)
        model.ended_by = pyo.Constraint(pyo.Any)
        for (job, kind), ticks in self.ends.items():
            before: Any = 0
            for tick in ticks:
                name = self.jobs[job], KINDS[kind], tick
                model.ended_by[name] = model.ended[name] == before + pyo.quicksum(self._over[job, kind][tick])
                before = model.ended[name]

    def ended(self, job: int, kind: int, tick: int) -> Any:
        """How many pending tasks of a job and kind have ended by a tick: a variable, or 0."""
        ticks = self.ends[job, kind]
        place = int(np.searchsorted(ticks, tick, side="right")) - 1
        return 0 if place < 0 else self.model.ended[self.jobs[job], KINDS[kind], ticks[place]]

    def _add_slots(self) -> None:
        """No more tasks run on a pool than it has room for, wherever one may start."""
        model, table = self.model, self.table
        model.slots = pyo.Constraint(pyo.Any)
        self._waits: set[tuple[int, int]] = set()
        rows: list[tuple[Any, list[Any], int, list[tuple[int, int]]]] = []
        for number, (pool, held) in enumerate(zip(table.pools, self.by_pool, strict=True)):
            ticks = sorted({tick for tick, _, _ in held})
            running: list[list[Any]] = [[] for _ in ticks]
            for tick, time, start in held:
                begin, end = np.searchsorted(ticks, [tick, tick + time]).tolist()
                for row in range(begin, end):
                    running[row].append(start)
            for tick, terms in zip(ticks, running, strict=True):
                waiting = [(job, tick) for until, job in pool.held if until <= tick and job >= 0]
                self._waits.update(waiting)
                rows.append(((KINDS[pool.kind], self.names.pools[number], tick), terms, pool.free(tick), waiting))
        self._add_maps_over()
        for name, terms, free, waiting in rows:
            kept = pyo.quicksum(1 - model.maps_over[self.jobs[job], tick] for job, tick in waiting)
            model.slots[name] = pyo.quicksum(terms) + kept <= free

    def _add_maps_over(self) -> None:
        """Whether all maps of a job have ended, when its reduces may end, or one that runs waits for that."""
        model, maps = self.model, self.table.maps
        asked = {(job, tick) for (job, kind), ticks in self.ends.items() if kind == REDUCE for tick in ticks}
        asked = {(job, tick) for job, tick in asked | self._waits if maps[job].pending}
        index = {(self.jobs[job], tick): (job, tick) for job, tick in sorted(asked)}
        model.maps_over = pyo.Var(list(index), within=pyo.Binary)
        model.every_map = pyo.Constraint(pyo.Any)
        for name, (job, tick) in index.items():
            due = maps[job].pending * model.maps_over[name]
            late = tick < maps[job].last
            model.every_map[name] = due <= 0 if late else due <= self.ended(job, MAP, tick)

    def _add_order(self) -> None:
        """Reduces start when enough maps have ended, and end when all have."""
        model, table = self.model, self.table
        model.begun = pyo.Var(pyo.Any, within=pyo.Binary, dense=False)
        model.enough_maps, model.slowstart = pyo.Constraint(pyo.Any), pyo.Constraint(pyo.Any)
        model.ends_after_maps = pyo.Constraint(pyo.Any)
        for job, begins in sorted(self._begins.items()):
            if not table.maps[job].pending:
                continue  # what its running maps allow is in the instants
            most = sum(len(each.members) for each in table.classes if (each.job, each.kind) == (job, REDUCE))
            for tick, starts in sorted(begins.items()):
                needed = table.maps[job].still_needed(tick)
                if needed:
                    name = self.jobs[job], tick
                    model.enough_maps[name] = needed * model.begun[name] <= self.ended(job, MAP, tick)
                    model.slowstart[name] = pyo.quicksum(starts) <= most * model.begun[name]
            for tick, starts in sorted(self._over[job, REDUCE].items()):
                name = self.jobs[job], tick
                model.ends_after_maps[name] = pyo.quicksum(starts) <= most * model.maps_over[name]

    # What is over when ----------------------------------------------------------------------------------------------

    def pending(self, job: int) -> tuple[int, int]:
        """The kind of the last pending tasks of a job, and how many they are; 0 where none is pending."""
        for kind in (REDUCE, MAP):
            if (job, kind) in self.ends:
                held = [len(each.members) for each in self.table.classes if (each.job, each.kind) == (job, kind)]
                return kind, sum(held)
        return MAP, 0


def steps(earliest: int, ticks: Sequence[int]) -> list[tuple[int, int]]:
    """From `earliest` on, each tick at which something may be over, and how many ticks later the next one is.

    >>> steps(3, [2, 5, 9])
    [(3, 2), (5, 4)]
    """
    after = [earliest, *(tick for tick in ticks if tick > earliest)]
    return [(tick, later - tick) for tick, later in pairwise(after)]


class _Names:
    """What groups and pools are called."""

    def __init__(self, table: Timetable) -> None:
        cluster = table.problem.instance.cluster
        self._tasks = table.problem.instance.workload.task_ids[table.problem.tasks].tolist()
        nodes, racks = cluster.node_ids.tolist(), cluster.rack_ids.tolist()

        def place(group: Group) -> str:
            """Its node or rack; of another area its first node, of all nodes "any"."""
            if group.place < 0:
                return "any"
            return str(racks[group.place] if group.level == "rack" else nodes[group.nodes[0]])

        self.groups = [(self.task(each.first), each.level, place(each)) for each in table.groups]
        self.pools = [nodes[pool.nodes[0]] for pool in table.pools]

    def task(self, position: int) -> str:
        """The id of one of the tasks to run."""
        return str(self._tasks[position])


def _indices(
    table: Timetable,
) -> tuple[dict[tuple[Any, ...], tuple[int, int]], dict[tuple[Any, ...], tuple[int, int, int]]]:
    """What `counted` and `start` are indexed by, each with the numbers that it stands for."""
    names = _Names(table)
    counted = {
        (names.task(each.members[0]), *names.groups[group][1:]): (number, group)
        for number, each in enumerate(table.classes)
        for group in each.groups
    }
    starts = {
        (*names.groups[number], names.pools[pool], tick): (number, pool, tick)
        for number in range(len(table.groups))
        for pool in table.pools_of[number]
        for tick in table.starts[number].tolist()
    }
    return counted, starts


def job_labels(problem: ScheduleProblem) -> list[str]:
    """Ids of the jobs; that of a task which is a job of its own has a mark where a job is called so, too."""
    labels: list[str] = []
    for name in problem.jobs.ids:
        labels.append(free_name(name, labels))
    return labels


# Sizes, decoding, starts --------------------------------------------------------------------------------------------


def timetable_size(problem: ScheduleProblem) -> ModelSize:
    """What the compact model would take at most, or about; TooLarge as `Timetable` says."""
    if problem.plainly_infeasible is not None:
        return ModelSize(0, 0, 0)
    table = Timetable(problem)
    counted = sum(len(each.groups) for each in table.classes)
    starts = sum(len(ticks) * len(pools) for ticks, pools in zip(table.starts, table.pools_of, strict=True))
    ends: dict[tuple[int, int], set[int]] = {}
    begins: dict[int, set[int]] = {}
    for group, ticks in zip(table.groups, table.starts, strict=True):
        ends.setdefault((group.job, group.kind), set()).update((ticks + group.time).tolist())
        if group.kind == REDUCE:
            begins.setdefault(group.job, set()).update(ticks.tolist())
    slots = [_slot_rows(table, number) for number in range(len(table.pools))]
    chained = sum(map(len, ends.values()))
    maps_over = sum(len(ticks) for (_, kind), ticks in ends.items() if kind == REDUCE)
    maps_over += sum(len(pool.held) * rows for pool, (rows, _) in zip(table.pools, slots, strict=True))
    begun = sum(map(len, begins.values()))
    instants = len(set[int]().union(*ends.values()))
    over = max(chained, len(problem.jobs) * instants)
    rows = sum(rows for rows, _ in slots) + len(table.classes) + len(table.groups) + len(table.pools)
    return ModelSize(
        counted + starts + 2 * chained + maps_over + begun,
        rows + chained + 2 * maps_over + 2 * begun + over,
        2 * counted
        + 5 * starts
        + sum(terms for _, terms in slots)
        + 4 * chained
        + 4 * maps_over
        + 4 * begun
        + 2 * over,
    )


def _slot_rows(table: Timetable, number: int) -> tuple[int, int]:
    """How many instants of a pool have a row of slots, and how many starts these have."""
    groups = [(table.starts[group], table.groups[group].time) for group in table.pools[number].groups]
    ticks = np.unique(np.concatenate([starts for starts, time in groups if time] or [np.zeros(0, dtype=np.int64)]))
    terms = sum(int((np.searchsorted(ticks, own + time) - np.searchsorted(ticks, own)).sum()) for own, time in groups)
    return len(ticks), terms


def decode_counts(model: Any, problem: ScheduleProblem) -> Schedule:
    """The schedule of a solved compact model, by its numbers of tasks counted and started."""
    table = Timetable(problem, is_per_pair(model))
    counted, starts = _indices(table)
    return dealt(
        table,
        Counts(
            {counted[key]: count for key, variable in model.counted.items() if (count := whole(variable))},
            {starts[key]: count for key, variable in model.start.items() if (count := whole(variable))},
        ),
    )


def started_counts(model: Any, problem: ScheduleProblem, schedule: Schedule) -> Entries:
    """A schedule, as early as it can be, in the counts of the compact model."""
    table = Timetable(problem, is_per_pair(model))
    counted, starts = _indices(table)
    held = counts_of(table, schedule)
    if not held.starts:
        return
    yield from ((variable, held.counted.get(counted[key], 0)) for key, variable in model.counted.items())
    yield from ((variable, held.starts.get(starts[key], 0)) for key, variable in model.start.items())
