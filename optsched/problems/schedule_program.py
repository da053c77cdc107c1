"""The exact program of `makespan` and `job-times`: starts of tasks, counted by group, pool and instant.

Some optimal schedule starts every task at a sum of a release or the end of a running task, and of times of other tasks
(`solvers.searches.enumeration` says why). Each reduce is delayed until it ends no earlier than its job's last map. Its
end stays the same and its slot is free longer. So a reduce never waits in its slot; it may also start its time before
such a sum. If a schedule is worth no more than a limit, none of its tasks ends after `latest`.

It does not matter which task of a job starts, as long as each has a place. So tasks are counted by group: those of a
job that take the same time on a node with their data, in an area around it (a rack), or anywhere. A task that lands
nearer to its data than it is counted only ends sooner. Nodes that the same groups may use form a pool.

`optsched.models.schedules` lists the names of variables and rows of the program.
"""

from __future__ import annotations

import copy
import heapq
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil, lcm
from typing import Any, NamedTuple, Self

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

#: The most ways to start a task.
MOST_STARTS = 2_000_000

#: The most instants.
MOST_INSTANTS = 100_000


class Group(NamedTuple):
    """Tasks of a job (row of `problem.jobs`) and kind that take the same time, in ticks, on the open nodes of a place.

    `level` is the name of the level's areas, `place` the index of the area (at level "node": of the node); -1 for all
    nodes. `first` is the position of the first task that may be counted in the group.
    """

    job: int
    kind: int
    level: str
    place: int
    nodes: tuple[int, ...]
    time: int
    first: int


class TaskClass(NamedTuple):
    """Tasks of a job that nothing distinguishes, by their positions, and the groups in which each may be counted."""

    members: tuple[int, ...]
    job: int
    kind: int
    groups: tuple[int, ...]


class Pool(NamedTuple):
    """Nodes whose slots of a kind the same groups may use.

    `idle` slots are free from the snapshot on. `busy` has, for each other slot, the tick at which its task ends, and
    the job whose last map that task waits for, or -1.
    """

    kind: int
    nodes: tuple[int, ...]
    groups: tuple[int, ...]
    idle: int
    busy: tuple[tuple[int, int], ...]

    @property
    def room(self) -> int:
        """How many slots there are."""
        return self.idle + len(self.busy)

    def free(self, tick: int) -> int:
        """Slots that are free at a tick, if no task waits for maps."""
        return self.idle + sum(until <= tick for until, _ in self.busy)


class Maps(NamedTuple):
    """The maps of a job that have not ended.

    How many wait, how many must end before the job's reduces start, and the ticks at which the running ones end, in
    order.
    """

    pending: int
    needed: int
    ends: tuple[int, ...]

    @property
    def last(self) -> int:
        """When the last running one ends; 0 if there is none."""
        return self.ends[-1] if self.ends else 0

    @property
    def begin(self) -> int:
        """When enough running ones have ended for the reduces to start; if there are too few, the last end."""
        return self.ends[min(self.needed, len(self.ends)) - 1] if self.needed and self.ends else 0

    def still_needed(self, tick: int) -> int:
        """How many waiting ones must have ended by a tick before reduces may start then."""
        return max(0, self.needed - sum(end <= tick for end in self.ends))


def tick_of(problem: ScheduleProblem) -> int:
    """The unit, in microseconds, that divides a second and all summands of times.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> tick_of(Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[1.5, 2]))))
    500000
    """
    since = np.concatenate([problem.release, problem.busy_until]) - problem.now
    return int(np.gcd.reduce(np.append(since, problem.times.distinct), initial=MICRO))


class Timetable:
    """Groups, pools and instants of a problem that is not plainly infeasible. Ticks are counted from the snapshot.

    Schedules worth more than `limit` may be left out; None: jobs may end as late as if tasks ran one after another.
    With `per_pair` each task is its own class, with a group for each open node. `by` is the latest end of each job, in
    microseconds; tasks then have only their fastest places.

    A tick has `step` microseconds (`tick_of`). Each job ends between its ticks in `earliest` and `latest`. TooLarge
    beyond `MOST_INSTANTS` instants, or `MOST_STARTS` ways to start a task.

    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]), times=[[10, 12, 15]] * 2)
    >>> table = Timetable(Makespan(Instance(Cluster(["a", "b"]), workload)))
    >>> table.step, [(group.level, group.time) for group in table.groups][:2]
    (1000000, [('off_rack', 15), ('node', 10)])
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        limit: Number | None = None,
        per_pair: bool = False,
        by: Ints | None = None,
    ) -> None:
        self.problem, self.per_pair, self.by = problem, per_pair, by
        self.job: list[int] = problem.jobs.of_task[problem.tasks].tolist()
        self.open = {kind: np.flatnonzero(problem.room[KINDS[kind]]).tolist() for kind in (MAP, REDUCE)}
        self.step = tick_of(problem)
        self.groups: list[Group] = []
        self.classes: list[TaskClass] = []
        self._count()
        self.earliest = self.ticks(problem.earliest_completions)
        self.latest = self.ticks(self._latest(limit))
        self.maps = self._maps()
        self.pools = [pool for kind in (MAP, REDUCE) for pool in self._pools(kind)]
        self.instants = self._instants()
        self.starts = [self._starts(group) for group in self.groups]
        self.pools_of: list[list[int]] = [[] for _ in self.groups]
        for number, pool in enumerate(self.pools):
            for group in pool.groups:
                self.pools_of[group].append(number)
        count = sum(len(ticks) * len(pools) for ticks, pools in zip(self.starts, self.pools_of, strict=True))
        self._refuse(count, MOST_STARTS, "ways to start tasks")

    def ticks(self, times: Ints) -> list[int]:
        """Instants as ticks."""
        found: list[int] = ((times - self.problem.now) // self.step).tolist()
        return found

    def _latest(self, limit: Number | None) -> Ints:
        """The latest end of each job, in microseconds; never before its earliest one."""
        problem = self.problem
        begin = int(np.concatenate([problem.release, problem.busy_until, [problem.now]]).max())
        latest = np.full(len(problem.jobs), begin + int(problem.times.longest.sum()))  # all tasks one after another
        if limit is not None:
            latest = np.minimum(latest, problem.latest_completions(limit))
        if self.by is not None:
            latest = np.minimum(latest, self.by)
        found: Ints = np.maximum(latest, problem.earliest_completions)
        return found

    # Classes of equals -------------------------------------------------------------------------------------------

    def _places(self, job: int, kind: int, position: int) -> list[Group]:
        """The groups of a task: as few as give, for every open node, its time there or an upper limit on it."""
        nodes, near = self.open[kind], self.problem.times.near
        held = [dict(level.of(position)) for level in near]
        areas = [level.area[nodes].tolist() for level in near]
        first = [next(n for n, row in enumerate(areas) if row[at] in held[n]) for at in range(len(nodes))]
        time = [held[number][areas[number][at]] // self.step for at, number in enumerate(first)]
        apart = [Group(job, kind, "node", node, (node,), time[at], position) for at, node in enumerate(nodes)]
        if self.per_pair:
            return apart
        by_level = [time[at] for at in sorted(range(len(nodes)), key=lambda at: (first[at], time[at]))]
        # If no node of a farther level is quicker than one of a nearer level, a level's time holds in its whole area.
        monotone = by_level == sorted(by_level)
        every = self._by_levels(job, kind, position, held, areas, first) if monotone else apart
        if self.by is not None:
            return [place for place in every if place.time == min(each.time for each in every)]
        return [place for place in every if not place.time][:1] or every

    def _by_levels(
        self,
        job: int,
        kind: int,
        position: int,
        held: list[dict[int, int]],
        areas: list[list[int]],
        first: list[int],
    ) -> list[Group]:
        """The areas of levels where a task is quicker than in those around them, the widest level first.

        `held` has the times of the task by area, `areas` the area of each open node, for each level. `first` is the
        nearest level that counts for each open node.
        """
        nodes, near = self.open[kind], self.problem.times.near
        found: list[Group] = []
        least = [NEVER] * len(nodes)  # over the places that each node is in
        for number in range(len(near) - 1, -1, -1):
            inside: dict[int, list[int]] = {}
            for at, area in enumerate(areas[number]):
                inside.setdefault(area, []).append(at)
            for area, takes in sorted(held[number].items()):
                within, takes = inside.get(area, []), takes // self.step
                if any(first[at] == number for at in within) and takes < least[within[0]]:
                    name, place = near[number].name, area if number < len(near) - 1 else -1
                    around = tuple(nodes[at] for at in within)
                    found.append(Group(job, kind, name, place, around, takes, position))
                    for at in within:
                        least[at] = takes
        return found

    def _count(self) -> None:
        """Make the groups, and the classes of tasks with the same job, kind and times."""
        members: dict[tuple[int, ...], list[int]] = {}
        times, kinds = self.problem.times, self.problem.kind.tolist()
        for position, job in enumerate(self.job):
            key = (job, kinds[position], *([position] if self.per_pair else times.alike(position)))
            members.setdefault(key, []).append(position)
        numbers: dict[tuple[Any, ...], int] = {}
        for (job, kind, *_), held in members.items():
            own = []
            for group in self._places(job, kind, held[0]):
                shared: tuple[Any, ...] = group if self.per_pair else group[:-1]  # tasks differ in `first`
                if shared not in numbers:
                    numbers[shared] = len(self.groups)
                    self.groups.append(group)
                own.append(numbers[shared])
            self.classes.append(TaskClass(tuple(held), job, kind, tuple(own)))

    def _maps(self) -> list[Maps]:
        """The maps of each job."""
        problem = self.problem
        waiting = np.bincount(np.array(self.job, dtype=np.int64)[problem.kind == MAP], minlength=len(problem.jobs))
        ends: list[list[int]] = [[] for _ in problem.jobs.ids]
        _, until, jobs = problem.running_of(MAP)
        for job, tick in zip(jobs.tolist(), self.ticks(until), strict=True):
            ends[job].append(tick)
        columns = zip(waiting.tolist(), problem.maps_before_reduces.tolist(), ends, strict=True)
        return [Maps(pending, needed, tuple(sorted(held))) for pending, needed, held in columns]

    def _pools(self, kind: int) -> Iterator[Pool]:
        """Pools of the open nodes that some group may use."""
        problem = self.problem
        users: dict[int, list[int]] = {node: [] for node in self.open[kind]}
        for number, group in enumerate(self.groups):
            for node in group.nodes if group.kind == kind else ():
                users[node].append(number)
        alike: dict[tuple[int, ...], list[int]] = {}
        for node, held in users.items():
            if held:
                alike.setdefault(tuple(held), []).append(node)
        waiting: dict[int, list[tuple[int, int]]] = {node: [] for node in self.open[kind]}
        running, until, jobs = problem.running_of(kind)
        for node, tick, job in zip(running.tolist(), self.ticks(until), jobs.tolist(), strict=True):
            maps = self.maps[job]
            waits = kind == REDUCE and maps.pending > 0
            waiting[node].append((max(tick, maps.last) if kind == REDUCE else tick, job if waits else -1))
        idle = problem.offered[KINDS[kind]].tolist()
        for groups, nodes in alike.items():
            held_there = tuple(sorted(slot for node in nodes for slot in waiting[node]))
            yield Pool(kind, tuple(nodes), groups, sum(idle[node] for node in nodes), held_there)

    # By when, and when ----------------------------------------------------------------------------------------------

    def _instants(self) -> dict[int, Ints]:
        """The ticks at which tasks of a kind may start or end."""
        found: dict[int, Ints] = {}
        self._on_node: dict[tuple[int, int], Ints] = {}
        before = np.zeros(1, dtype=np.int64)
        for kind in (MAP, REDUCE):
            positions = np.flatnonzero(self.problem.kind == kind)
            bases = self.ticks(np.append(self.problem.release[positions], self.problem.running_of(kind)[1]))
            if self.per_pair:
                before = found[kind] = self._by_node(kind, np.append(before, bases))
                continue
            counts: dict[int, int] = {}
            for each in self.classes:
                for time in {self.groups[group].time for group in each.groups} if each.kind == kind else ():
                    counts[time] = counts.get(time, 0) + len(each.members)
            found[kind] = before = self._sums(np.append(before, bases), counts)
        return found

    def _by_node(self, kind: int, bases: Ints) -> Ints:
        """The same from all nodes, each with the times of only its own tasks: a slot becomes free when a task ends."""
        counts: dict[int, dict[int, int]] = {node: {} for node in self.open[kind]}
        for group in self.groups:
            if group.kind == kind:
                own = counts[group.nodes[0]]
                own[group.time] = own.get(group.time, 0) + 1
        self._on_node |= {(kind, node): self._sums(bases, own) for node, own in counts.items()}
        every = [self._on_node[kind, node] for node in counts]
        return np.unique(np.concatenate([bases[bases <= max(self.latest, default=0)], *every]))

    def _sums(self, bases: Ints, counts: dict[int, int]) -> Ints:
        """All sums of a base and of times, each used at most as often as it is counted, up to the last end."""
        until = max(self.latest, default=0)
        found = np.unique(bases[bases <= until])
        for time, count in sorted(counts.items(), reverse=True):
            for _ in range(count):
                more = np.union1d(found, found[found <= until - time] + time)
                if len(more) == len(found):
                    break
                found = more
                self._refuse(len(found), MOST_INSTANTS, "instants at which tasks start or end")
        return found

    def _refuse(self, number: int, most: int, what: str) -> None:
        """Raise TooLarge if there are more than `most`."""
        if number > most:
            seconds = self.step / MICRO
            raise TooLarge(
                f"{self.problem.place}: a program over time would have more than {most:,} {what}, since all times are "
                f"multiples of {seconds:g} s and jobs may end until {max(self.latest) * seconds:g} s from now; "
                "give times in coarser units, or leave the route out and let optsched choose"
            )

    def _starts(self, group: Group) -> Ints:
        """The ticks at which tasks of a group may start."""
        maps, time = self.maps[group.job], group.time
        release = self.ticks(self.problem.release[[group.first]])[0]
        ticks = self._on_node[group.kind, group.nodes[0]] if self.per_pair else self.instants[group.kind]
        if group.kind == MAP:
            if not time:  # it takes no slot, so waiting gains nothing
                return np.array([release])
            earliest = release
        else:
            ticks = np.union1d(ticks, self.instants[MAP] - time)
            earliest = max(release, maps.last - time, 0 if maps.pending else maps.begin)
        return ticks[(ticks >= earliest) & (ticks <= self.latest[group.job] - time)]


# The program ----------------------------------------------------------------------------------------------------------

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
