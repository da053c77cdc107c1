"""What the program of `makespan` and `job-times` distinguishes: groups of tasks, pools of nodes, and instants.

Some optimal schedule starts every task at a sum of a release or the end of a running task, and of times of other tasks
(`solvers.searches.enumeration` says why). Each reduce is delayed until it ends no earlier than its job's last map. Its
end stays the same and its slot is free longer. So a reduce never waits in its slot; it may also start its time before
such a sum. If a schedule is worth no more than a limit, none of its tasks ends after `latest`.

It does not matter which task of a job starts, as long as each has a place. So tasks are counted by group: those of a
job that take the same time on a node with their data, in an area around it (a rack), or anywhere. A task that lands
nearer to its data than it is counted only ends sooner. Nodes that the same groups may use form a pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from optsched.core.arrays import Ints
from optsched.core.errors import TooLarge
from optsched.core.instance import KINDS, MAP, REDUCE
from optsched.core.placement import MICRO
from optsched.core.results import Number
from optsched.problems.schedules import ScheduleProblem
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
