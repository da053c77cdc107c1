"""The exact program of `makespan` and `job-times`: starts of tasks, counted by group, pool and instant.

`optsched.problems.timetable` says what groups, pools and instants are, and why they suffice.
`optsched.models.schedules` lists the names of variables and rows of the program.
"""

from __future__ import annotations

import copy
import heapq
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil, lcm
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Ints, places_in
from optsched.core.deadline import check
from optsched.core.errors import TooLarge
from optsched.core.instance import KINDS, MAP, REDUCE
from optsched.core.placement import MICRO, NONE, Schedule
from optsched.core.results import Number
from optsched.problems.base import exact
from optsched.problems.programs import Builder, Label, Program, Programmed
from optsched.problems.schedules import ScheduleProblem, as_early, slots_by_node
from optsched.problems.service_times import NEVER
from optsched.problems.timetable import Timetable

#: The most coefficients in a program's rows of slots.
MOST_COEFFICIENTS = 20_000_000

#: The most units of an objective.
_MOST_UNITS = 2**60


class Goal(NamedTuple):
    """A term of the objective: `weight` times the seconds from `since` (microseconds) until some jobs have ended.

    The label is the job's, or empty if the term is about all; `jobs` are rows of `problem.jobs`.
    """

    label: Label
    weight: Number
    since: int
    jobs: Sequence[int]


class Span(NamedTuple):
    """The end of a goal's jobs: the tick `latest`, less the gaps of the columns that are 1.

    A column is 1 only if they have ended by an instant; its gap lasts from there to the next instant.
    """

    goal: Goal
    latest: int
    columns: Ints
    gaps: Ints


class TimedProblem(ScheduleProblem, Programmed):
    """A problem over time with an exact program.

    The program may lack schedules worth more than `limit` (`within`); None: it lacks none that is as early as possible.
    It may have a group for each task and node (`per_pair`, `apart`), or require each job to end `by` a time (`ending`).
    `over` names the variables that say that a goal's jobs have ended, and the rows that allow it.
    """

    limit: Number | None = None
    per_pair = False
    by: Ints | None = None
    over: tuple[str, str]

    @abstractmethod
    def goals(self) -> list[Goal]:
        """The terms of the objective."""

    @property
    def value_unit(self) -> Number:
        """The largest unit in seconds that divides all values."""
        return Fraction(1, MICRO)

    def value_below(self, value: Number) -> Number:
        """The greatest value below this one that a schedule may have."""
        return exact((ceil(Fraction(value) / self.value_unit) - 1) * self.value_unit)

    def within(self, value: Number | None) -> Self:
        """The same problem; its program may lack schedules that are worth more."""
        return self._posed_anew(limit=value)

    def ending(self, by: Ints) -> Self:
        """The same; its program requires jobs to end by given times (microseconds), tasks at their fastest places."""
        return self._posed_anew(by=by)

    def apart(self) -> Self:
        return self._posed_anew(per_pair=True)

    def _posed_anew(self, limit: Number | None = None, per_pair: bool = False, by: Ints | None = None) -> Self:
        view = copy.copy(self)
        for name in ("timetable", "posed"):
            vars(view).pop(name, None)
        vars(view).update(limit=limit, per_pair=per_pair, by=by)
        return view

    @cached_property
    def timetable(self) -> Timetable:
        """The groups, pools and instants of the program; TooLarge as for `Timetable`."""
        return Timetable(self, self.limit, self.per_pair, self.by)

    @cached_property
    def posed(self) -> ScheduleProgram:
        """The program and the meaning of its variables; TooLarge as for `ScheduleProgram`."""
        return ScheduleProgram(self)

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        del before
        return self.posed.program

    def values_of(self, decision: Schedule, program: Program) -> Ints:
        """The values for the schedule, as early as possible (`as_early`); nothing starts if it ends too late."""
        del program
        return self.posed.values_of(decision)

    def decision_of(self, values: Ints, program: Program) -> Schedule:
        del program
        return self.posed.decision_of(values)


class ScheduleProgram:
    """The program of a problem that is not plainly infeasible, in ticks after the snapshot, and its solutions.

    TooLarge as for `Timetable`, with more than `MOST_COEFFICIENTS`, or if an objective has too many digits.
    """

    def __init__(self, problem: TimedProblem) -> None:
        self.problem = problem
        self.table = problem.timetable
        self.jobs = job_labels(problem)
        self._builder = Builder()
        self._switches: list[tuple[Ints, Ints, Ints, Ints]] = []
        cluster = problem.instance.cluster
        nodes, racks = cluster.node_ids.tolist(), cluster.rack_ids.tolist()
        self._tasks: list[str] = problem.task_ids.tolist()
        self._groups: list[tuple[str, str, str]] = []  # each is named by its first task, and a pool by its first node
        for group in self.table.groups:
            place = racks[group.place] if group.level == "rack" else nodes[group.nodes[0]]
            self._groups.append((self._tasks[group.first], group.level, "any" if group.place < 0 else place))
        self._pools = [nodes[pool.nodes[0]] for pool in self.table.pools]
        self._add_counts()
        self._add_ended()
        self._add_slots()
        self._add_order()
        self.program = self._builder.program(unit=self._add_goals())

    # Variables and rows -------------------------------------------------------------------------------------------

    def _add_counts(self) -> None:
        """Each task is counted in a group, and the same number starts, somewhere at some time."""
        table, builder = self.table, self._builder
        counted = [(number, group) for number, each in enumerate(table.classes) for group in each.groups]
        starts = [
            (group, pool, tick)
            for group, pools in enumerate(table.pools_of)
            for pool in pools
            for tick in table.starts[group].tolist()
        ]
        self._class, self._into = np.array(counted, dtype=np.int64).reshape(-1, 2).T
        self._group, self._pool, self._tick = np.array(starts, dtype=np.int64).reshape(-1, 3).T
        self._time = np.array([each.time for each in table.groups], dtype=np.int64)[self._group]
        size = np.array([len(each.members) for each in table.classes], dtype=np.int64)
        most = np.bincount(self._into, weights=size[self._class], minlength=len(table.groups)).astype(np.int64)
        room = np.array([pool.room for pool in table.pools], dtype=np.int64)[self._pool]
        members = [tuple(self._tasks[member] for member in each.members) for each in table.classes]
        names = [first for first, *_ in members]
        self._counted = builder.variables(
            "counted",
            [(names[number], *self._groups[group][1:]) for number, group in counted],
            upper=size[self._class],
            over="COUNTED",
            doc="tasks of a class that are counted in one of its groups",
        )
        self._starts = builder.variables(
            "start",
            [(*self._groups[group], self._pools[pool], tick) for group, pool, tick in starts],
            upper=np.where(self._time > 0, np.minimum(most[self._group], room), most[self._group]),
            over="STARTS",
            doc="tasks of a group that start on a pool at an instant",
        )
        builder.group("members", "CLASSES", dict(zip(names, members, strict=True)), counted=0)
        every = builder.rows(
            "every_task_runs",
            [(name,) for name in names],
            lower=size,
            upper=size,
            over="CLASSES",
            doc="each task is counted in a group",
        )
        builder.enter(every[self._class], self._counted)
        as_many = builder.rows("as_many_start", self._groups, lower=0, upper=0, doc="as many start as are counted")
        builder.enter(as_many[self._group], self._starts)
        builder.enter(as_many[self._into], self._counted, -1)

    def _add_ended(self) -> None:
        """How many tasks of each job and kind have ended by each tick at which one may end."""
        table, builder = self.table, self._builder
        owner = np.array([(group.job, group.kind) for group in table.groups], dtype=np.int64).reshape(-1, 2)
        self._job, self._kind = owner[self._group].T
        ends, place = np.unique(np.stack([self._job, self._kind, self._tick + self._time]), axis=1, return_inverse=True)
        self._due: Counter[tuple[int, int]] = Counter()
        for each in table.classes:
            self._due[each.job, each.kind] += len(each.members)
        keys = ends.T.tolist()
        labels = [(self.jobs[job], KINDS[kind], tick) for job, kind, tick in keys]
        due = [self._due[job, kind] for job, kind, _ in keys]
        self._ended = builder.variables(
            "ended", labels, upper=due, doc="tasks that have ended by an instant", implied=True
        )
        rows = builder.rows("ended_by", labels, lower=0, upper=0, doc="as many as before, and those that end then")
        builder.enter(rows, self._ended)
        builder.enter(rows[place.ravel()], self._starts, -1)
        later = np.flatnonzero((ends[:2, 1:] == ends[:2, :-1]).all(axis=0)) + 1
        builder.enter(rows[later], self._ended[later - 1], -1)
        self._end = place.ravel()
        self._ticks: dict[tuple[int, int], tuple[Ints, Ints]] = {}
        for job, kind in self._due:
            own = np.flatnonzero((ends[0] == job) & (ends[1] == kind))
            self._ticks[job, kind] = ends[2, own], self._ended[own]

    def _by(self, job: int, kind: int, tick: int) -> int:
        """The variable for how many tasks have ended by a tick; -1 if none can have."""
        ticks, columns = self._ticks[job, kind]
        place = int(np.searchsorted(ticks, tick, side="right")) - 1
        return -1 if place < 0 else int(columns[place])

    def _add_switches(
        self,
        name: str,
        row: str,
        switches: Mapping[Label, Sequence[tuple[int, int, int]]],
        doc: str,
        upper: npt.ArrayLike = 1,
        cost: npt.ArrayLike = 0,
    ) -> Ints:
        """Variables that are 1 only if enough tasks have ended, and the rows that enforce it.

        A label ends with the first such tick; a variable requires that a number of tasks of a job and kind have ended.
        """
        columns = self._builder.variables(name, list(switches), upper=upper, cost=cost, doc=doc)
        needs = [
            (column, label[-1], *need)
            for column, (label, own) in zip(columns.tolist(), switches.items(), strict=True)
            for need in own
        ]
        entries = [(column, number, self._by(job, kind, tick)) for column, tick, job, kind, number in needs]
        of, count, by = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        labels = [(self.jobs[job], tick) for _, tick, job, _, _ in needs]
        rows = self._builder.rows(row, labels, upper=0, doc=f"{name} is 0 before")
        self._builder.enter(rows, of, count)
        self._builder.enter(rows[by >= 0], by[by >= 0], -1)
        self._switches.append((columns, of, count, by))
        return columns

    def _add_map_switches(
        self, name: str, row: str, needed: Mapping[tuple[int, int], int], doc: str, upper: npt.ArrayLike = 1
    ) -> dict[tuple[int, int], int]:
        """Variables that are 1 only if a number of a job's maps have ended, by job and tick."""
        switches = {(self.jobs[job], tick): [(job, MAP, due)] for (job, tick), due in needed.items()}
        return dict(zip(needed, self._add_switches(name, row, switches, doc, upper).tolist(), strict=True))

    def _add_slots(self) -> None:
        """Rows: at each instant at which a task may start, a pool runs no more tasks than it has room for.

        A running reduce holds its slot until all maps of its job have ended.
        """
        table = self.table
        labels: list[tuple[str | int, ...]] = []
        room: list[int] = []
        covers: list[tuple[Ints, Ints]] = []
        waiting: list[tuple[int, int, int]] = []  # row, job, tick
        held = np.flatnonzero(self._time > 0)
        held = held[np.argsort(self._pool[held], kind="stable")]
        parts = np.split(held, np.searchsorted(self._pool[held], np.arange(1, len(table.pools))))
        coefficients = 0
        for name, pool, own in zip(self._pools, table.pools, parts, strict=False):
            check()
            ticks = np.unique(self._tick[own])
            begin, end = (np.searchsorted(ticks, self._tick[own] + more) for more in (0, self._time[own]))
            length = end - begin
            coefficients += int(length.sum())
            if coefficients > MOST_COEFFICIENTS:
                raise TooLarge(
                    f"{self.problem.place}: a program over time would have more than {MOST_COEFFICIENTS:,} "
                    "coefficients; give times in coarser units, or leave the route out and let optsched choose"
                )
            rows_of = np.repeat(len(labels) + begin, length) + places_in(length)
            covers.append((rows_of, np.repeat(own, length)))
            for tick in ticks.tolist():
                jobs = [job for until, job in pool.busy if until <= tick and job >= 0]
                waiting += [(len(labels), job, tick) for job in jobs]
                room.append(pool.free(tick) - len(jobs))
                labels.append((KINDS[pool.kind], name, tick))
        rows = self._builder.rows("slots", labels, upper=room, doc="tasks that run on a pool at an instant have room")
        for covered, starts in covers:
            self._builder.enter(rows[covered], self._starts[starts])
        self._add_maps_over({(job, tick) for _, job, tick in waiting})
        for row, job, tick in waiting:
            self._builder.enter(rows[row], self._maps_over[job, tick], -1)

    def _add_maps_over(self, asked: set[tuple[int, int]]) -> None:
        """Whether all maps of a job have ended, for the ticks at which its reduces may end, and those in `asked`."""
        maps = self.table.maps
        for (job, kind), (ticks, _) in self._ticks.items():
            if kind == REDUCE and maps[job].pending:
                asked |= {(job, tick) for tick in ticks.tolist()}
        pending = {(job, tick): maps[job].pending for job, tick in sorted(asked)}
        upper = [int(tick >= maps[job].last) for job, tick in pending]
        doc = "1 if all maps of a job have ended by an instant"
        self._maps_over = self._add_map_switches("maps_over", "every_map", pending, doc, upper)

    def _add_order(self) -> None:
        """Reduces start after enough maps of their job have ended, and end after all have."""
        maps, builder = self.table.maps, self._builder
        pending = np.array([each.pending > 0 for each in maps], dtype=bool)
        waits = np.flatnonzero((self._kind == REDUCE) & pending[self._job])
        begins: dict[tuple[int, int], list[int]] = {}
        ends: dict[tuple[int, int], list[int]] = {}
        for start in waits.tolist():
            job, tick = int(self._job[start]), int(self._tick[start])
            if maps[job].still_needed(tick):
                begins.setdefault((job, tick), []).append(start)
            ends.setdefault((job, tick + int(self._time[start])), []).append(start)
        needed = {(job, tick): maps[job].still_needed(tick) for job, tick in begins}
        doc = "1 if enough maps of a job have ended by an instant for its reduces to start"
        begun = self._add_map_switches("begun", "enough_maps", needed, doc)
        for name, when, switch, doc in (
            ("slowstart", begins, begun, "reduces start only when enough maps have ended"),
            ("ends_after_maps", ends, self._maps_over, "reduces end only when all maps have ended"),
        ):
            rows = builder.rows(name, [(self.jobs[job], tick) for job, tick in when], upper=0, doc=doc)
            for row, ((job, tick), starts) in zip(rows, when.items(), strict=True):
                builder.enter(row, self._starts[starts])
                builder.enter(row, switch[job, tick], -self._due[job, REDUCE])

    def _add_goals(self) -> int:
        """Add the ends of each goal's jobs: a variable that is 1 from a tick on, for each tick at which they may end.

        Returns the number of the objective's units in a second.
        """
        problem, table, spans = self.problem, self.table, list[tuple[Goal, Ints]]()
        switches: dict[Label, list[tuple[int, int, int]]] = {}
        last = {job: (job, kind) for job, kind in sorted(self._ticks)}  # reduces, if a job has any
        until = {key: int(ticks[-1]) if len(ticks) else NEVER for key, (ticks, _) in self._ticks.items()}
        for goal in problem.goals():
            keys = [last[job] for job in goal.jobs if job in last]
            earliest = max((table.earliest[job] for job in goal.jobs), default=0)
            ticks = np.unique(np.concatenate([np.array([earliest]), *(self._ticks[key][0] for key in keys)]))
            spans.append((goal, ticks[ticks >= earliest]))
            for tick in spans[-1][1][:-1].tolist():
                needs = [(job, kind, self._due[job, kind]) for job, kind in keys if tick < until[job, kind]]
                switches[*goal.label, tick] = needs
        per_tick = [Fraction(goal.weight) * table.step / MICRO for goal, _ in spans]
        most = sum(
            Fraction(goal.weight) * (problem.now + int(ticks[-1]) * table.step - goal.since) / MICRO
            for goal, ticks in spans
        )
        unit = lcm(MICRO // table.step, *(each.denominator for each in (*per_tick, Fraction(most))))
        if most * unit > _MOST_UNITS:
            raise TooLarge(
                f"{problem.place}: the objective of a program over time would have up to {most * unit} units; "
                "give times in coarser units, or weights with fewer digits"
            )
        costs = [-int(each * unit) * np.diff(ticks) for each, (_, ticks) in zip(per_tick, spans, strict=True)]
        doc = "1 if a job, or all, has ended by an instant"
        columns = self._add_switches(*problem.over, switches, doc, cost=np.concatenate([np.zeros(0), *costs]))
        doc = "1: what the objective is if nothing ends before the last instant"
        self._builder.variables("horizon", [()], lower=1, upper=1, cost=int(most * unit), doc=doc)
        own = np.split(columns, np.cumsum([len(each) for each in costs])[:-1]) if costs else []
        self.spans = [
            Span(goal, int(ticks[-1]), part, np.diff(ticks)) for (goal, ticks), part in zip(spans, own, strict=True)
        ]
        for span in self.spans:
            if not span.goal.label:
                self._add_area(span)
        return unit

    def _add_area(self, span: Span) -> None:
        """Rows: until the last end, the tasks of a pool take together no more than its room.

        This follows from the other rows for whole numbers, and makes the relaxation stronger.
        """
        pools = self.table.pools
        room = np.array([pool.room for pool in pools], dtype=np.int64)
        busy = [sum(until for until, _ in pool.busy) for pool in pools]
        labels = [(KINDS[pool.kind], name) for name, pool in zip(self._pools, pools, strict=True)]
        meaning = "what a pool does takes no longer than all have"
        rows = self._builder.rows("area", labels, upper=room * span.latest - busy, doc=meaning)
        self._builder.enter(rows[self._pool], self._starts, self._time)
        self._builder.enter(rows[:, None], span.columns[None, :], room[:, None] * span.gaps[None, :])

    # Solutions ----------------------------------------------------------------------------------------------------

    def decision_of(self, values: Ints) -> Schedule:
        """The schedule of a solution: the tasks of a group take turns, and so do the slots of a pool.

        A task that lands nearer to its data than it is counted ends sooner. Tasks that are not counted do not run.
        """
        problem, table = self.problem, self.table
        nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
        starts = np.zeros(len(problem.tasks), dtype=np.int64)
        waiting: list[list[int]] = [[] for _ in table.groups]
        left = [list(each.members) for each in table.classes]
        counts = values[self._counted].tolist()
        for number, group, count in sorted(zip(self._class.tolist(), self._into.tolist(), counts, strict=True)):
            waiting[group] += left[number][:count]
            del left[number][:count]
        last = np.full(len(problem.jobs), -NEVER, dtype=np.int64)
        for kind in (MAP, REDUCE):
            free = slots_by_node(problem, kind, last)
            slots = [sorted((end, node) for node in pool.nodes for end in free[node]) for pool in table.pools]
            begun = np.flatnonzero((self._kind == kind) & (values[self._starts] > 0))
            order = begun[np.lexsort((self._pool[begun], self._group[begun], self._tick[begun]))]
            for start in order.tolist():
                group, pool, tick = (int(each[start]) for each in (self._group, self._pool, self._tick))
                count = int(values[self._starts[start]])
                for position in waiting[group][:count]:
                    starts[position] = problem.now + tick * table.step
                    nodes[position] = table.pools[pool].nodes[0]
                    if table.groups[group].time:
                        nodes[position] = heapq.heappop(slots[pool])[1]
                        time = int(problem.times.on(np.array([position]), nodes[[position]])[0])
                        end = max(int(starts[position]) + time, int(last[table.job[position]]))
                        heapq.heappush(slots[pool], (end, int(nodes[position])))
                del waiting[group][:count]
            last = problem.last_maps(problem.ends(problem.schedule(nodes, starts)))
        return problem.schedule(nodes, starts)

    def values_of(self, schedule: Schedule) -> Ints:
        """The values for a schedule, as early as possible; nothing starts if it ends too late."""
        found = np.zeros(len(self.program.numbers.lower), dtype=np.int64)
        counted, starts = self._counted_starts(schedule)
        for columns, keys, numbers in (
            (self._counted, (self._class, self._into), counted),
            (self._starts, (self._group, self._pool, self._tick), starts),
        ):
            found[columns] = [numbers[key] for key in zip(*(each.tolist() for each in keys), strict=True)]
        np.add.at(found, self._ended[self._end], found[self._starts])
        for _, columns in self._ticks.values():
            found[columns] = np.cumsum(found[columns])
        for columns, of, count, by in self._switches:
            found[columns] = self.program.numbers.upper[columns]
            np.minimum.at(found, of, (np.where(by < 0, 0, found[by]) >= count).astype(np.int64))
        found[self.program.family("horizon")] = 1
        return found

    def _counted_starts(self, schedule: Schedule) -> tuple[Counter[tuple[int, ...]], Counter[tuple[int, ...]]]:
        """How many tasks of each class are counted in each group, and start in which pool when; none if too late."""
        problem, table = self.problem, self.table
        early = as_early(problem, schedule)
        nodes = early.nodes[problem.tasks].tolist()
        begin = np.maximum(problem.last_maps(problem.ends(early)), problem.now)
        ticks, last = table.ticks(early.starts[problem.tasks]), table.ticks(begin)
        pool_of = {(pool.kind, node): number for number, pool in enumerate(table.pools) for node in pool.nodes}
        allowed = [set(row.tolist()) for row in table.starts]
        counted: Counter[tuple[int, ...]] = Counter()
        starts: Counter[tuple[int, ...]] = Counter()
        for number, each in enumerate(table.classes):
            for position in (member for member in each.members if nodes[member] != NONE):
                node, tick, over = nodes[position], ticks[position], last[each.job] if each.kind == REDUCE else 0
                near = (group for group in reversed(each.groups) if node in table.groups[group].nodes)
                group = next(near, each.groups[0])
                if not table.groups[group].time:
                    node = table.groups[group].nodes[0]
                    tick = max(table.ticks(problem.release[[position]])[0], over)
                if tick not in allowed[group]:
                    return Counter(), Counter()
                counted[number, group] += 1
                starts[group, pool_of[each.kind, node], tick] += 1
        return counted, starts


def job_labels(problem: ScheduleProblem) -> list[str]:
    """Ids of the jobs; if a job has the same id as a task that is its own job, the latter gets a mark."""
    labels: dict[str, None] = {}
    for name in problem.jobs.ids:
        while name in labels:
            name += "_"
        labels[name] = None
    return list(labels)
