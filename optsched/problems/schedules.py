"""Base of the problems over time: which schedules are feasible, when tasks and jobs end, and bounds on that.

A task runs without a break on one slot of its kind. Everything is in whole microseconds; values are exact seconds.
Problems derive their values from `ends` and `completions` of this module. `as_early` shifts a schedule to the left;
`solvers.searches.enumeration` says why no task starts later there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from optsched.core.decimals import decimal
from optsched.core.errors import Fault, InputError, expect
from optsched.core.instance import FINISHED, KINDS, LARGEST, MAP, PENDING, REDUCE, RUNNING, Bools, Instance, Ints
from optsched.core.placement import NONE, Schedule, microseconds, seconds
from optsched.core.results import Number, Violation
from optsched.problems.base import TaskProblem
from optsched.problems.distances import missing_topology
from optsched.problems.parameters import Parameter, choice, number, sequence
from optsched.problems.service_times import NEVER, ServiceTimes, level_times, missing_times, transfer_times, untimed


@dataclass(frozen=True, eq=False)
class Jobs:
    """The jobs with something left to run, and their tasks. A task without a job is its own job.

    Attributes
    ----------
    ids, rows
        Their names: the job's id, or the task's; the row of each in the instance's jobs, or -1.
    of_task
        int64, shape (tasks of the instance,): the job of each task here, or -1 for a task of a job that has ended.
    arrival
        Microseconds of each; by default the instance's time; never later than that if a task of the job has begun.
    """

    ids: tuple[str, ...]
    rows: Ints
    of_task: Ints
    arrival: Ints

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, instance: Instance, left: Ints) -> Jobs:
        """The jobs of the tasks that are left to run."""
        workload = instance.workload
        alone = workload.job < 0
        number = np.where(alone, len(workload.job_ids) + np.arange(len(workload)), workload.job)
        used = np.unique(number[left])
        place = np.full(len(workload.job_ids) + len(workload), -1)
        place[used] = np.arange(len(used))
        own = used < len(workload.job_ids)
        rows = np.where(own, used, -1)
        names = np.append(workload.job_ids.astype(object), workload.task_ids.astype(object))
        arrival = np.append(workload.arrival, np.nan)[rows]
        begun = np.unique(number[instance.state.status != PENDING])
        arrival = microseconds(np.where(np.isnan(arrival), instance.time, arrival))
        arrival = np.where(np.isin(used, begun), np.minimum(arrival, microseconds(instance.time)), arrival)
        return cls(tuple(map(str, names[used])), rows.astype(np.int64), place[number].astype(np.int64), arrival)


class ScheduleProblem(TaskProblem[Schedule]):
    """A problem that decides on which node each pending task runs, and when.

    A map or reduce holds a slot of its kind on its node from its start to its end. Tasks that run at the snapshot hold
    theirs until they end. A slot that is neither idle at the snapshot nor held by a listed running task never becomes
    free. A task starts when its job has arrived or later. A reduce starts when the share `slowstart` of its job's maps
    has ended, and ends no sooner than the last of them.

    With `service=transfer` a map takes its computing and fetching time (`transfer_times`), and a reduce its computing
    time. What a reduce copies depends on where the maps of its job ran, and is left out. In a run in which reduces
    copy, each ends no sooner than the problem says, so that bounds hold for it.

    Attributes
    ----------
    running
        int64: the tasks that run at the snapshot.
    now
        The time of the snapshot, in microseconds.
    times
        How long each of `tasks` takes on each node.
    release
        int64, shape (tasks,): the microsecond from which each may run.
    jobs
        The jobs with something left to run.
    room
        int64, shape (nodes,) for each kind ("map", "reduce"): slots that are idle, or become so when running tasks end.
    busy_until
        For each of `running`, int64: its end; for a reduce, its end as if its job's maps had ended.
    """

    decided = Schedule
    always_feasible = False
    always_plain = True
    places_all = True
    by_replicas = True
    kinds: ClassVar[tuple[int, ...]] = (MAP, REDUCE)
    shared_parameters: ClassVar = (
        Parameter(
            "factors",
            (1, 1, 1),
            sequence(3, number(lowest=0)),
            "where a task has no times: its duration is multiplied by these, on its data, in the rack and beyond",
        ),
        Parameter(
            "slowstart",
            0.05,
            number(lowest=0, highest=1),
            "share of a job's maps that have ended before its reduces may start (Hadoop: 0.05)",
        ),
        Parameter(
            "service",
            "levels",
            choice("levels", "transfer"),
            "how long a task takes: levels, by how near its data is; transfer, it computes and fetches its MB",
        ),
        Parameter("scale", 1, number(lowest=0), "with service=transfer: seconds that a MB takes over a distance of 1"),
    )

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        state = instance.state
        left = np.flatnonzero(state.status != FINISHED)
        if parameters["service"] == "transfer":
            if instance.cluster.topology is None:
                yield missing_topology(f"{cls.name} with service=transfer")
            yield from missing_times(instance, left)
        else:
            yield from untimed(instance, left)
        for task in np.flatnonzero((state.status == RUNNING) & np.isnan(state.start)).tolist():
            yield Fault(f"tasks[{task}].start", f"it runs: {cls.name} needs when it started")

    def prepare(self) -> None:
        instance, state = self.instance, self.instance.state
        self.running: Ints = np.flatnonzero(state.status == RUNNING).astype(np.int64)
        self.now = int(microseconds(instance.time))
        self.times = self._times_of(self.tasks)
        running = self._times_of(self.running).on(np.arange(len(self.running)), state.node[self.running])
        self.busy_until: Ints = np.maximum(microseconds(state.start[self.running]) + running, self.now)
        self.jobs = Jobs.of(instance, np.sort(np.append(self.tasks, self.running)))
        self.release: Ints = np.maximum(self.jobs.arrival[self.jobs.of_task[self.tasks]], self.now)
        kinds = instance.workload.kind
        self.kind: Ints = kinds[self.tasks]
        held = [np.bincount(self.running_of(kind)[0], minlength=len(instance.cluster)) for kind in range(len(KINDS))]
        self.room: Mapping[str, Ints] = MappingProxyType(
            {name: self.offered[name] + held[kind] for kind, name in enumerate(KINDS)}
        )
        latest = max(int(self.release.max(initial=self.now)), int(self.busy_until.max(initial=self.now)))
        longest = self.times.longest
        total = abs(self.now) + latest + int(longest.astype(object).sum() if len(longest) else 0)
        if total > LARGEST:
            scale = ", or give a smaller scale" * (self.parameters["service"] == "transfer")
            text = f"times may add up past 2^53 microseconds; write them in larger units{scale}"
            raise InputError([Fault("", text)], self.place)
        self.prepare_value()

    def _times_of(self, tasks: Ints) -> ServiceTimes:
        """The times of some tasks."""
        if self.parameters["service"] == "transfer":
            return transfer_times(self.instance, tasks, self.parameters["scale"])
        return level_times(self.instance, tasks, self.parameters["factors"])

    def prepare_value(self) -> None:
        """Compute what the objective needs besides ends."""

    def running_of(self, kind: int) -> tuple[Ints, Ints, Ints]:
        """The running tasks of a kind: node, end (`busy_until`) and job of each; int64, shape (tasks,)."""
        own = self.instance.workload.kind[self.running] == kind
        rows = self.running[own]
        return self.instance.state.node[rows], self.busy_until[own], self.jobs.of_task[rows]

    @property
    def remark(self) -> str | None:
        """The remark on times that reduces leave out, and on parameters of the other kind of service."""
        transfer, workload = self.parameters["service"] == "transfer", self.instance.workload
        left, shuffle, notes = np.append(self.tasks, self.running), workload.shuffle, []
        if transfer and shuffle is not None and np.isin(left, shuffle.reduce).any():
            notes.append("service=transfer: what reduces copy costs no time, since it depends on where their maps ran")
        if transfer and np.isnan(workload.duration[left]).any():
            notes.append("service=transfer: tasks without a duration compute for as long as they take on their data")
        other, name = ("levels", "factors") if transfer else ("transfer", "scale")
        if name in self.given:
            notes.append(f"{name} counts with service={other} alone")
        return "; ".join(notes) or None

    @property
    def job_weights(self) -> tuple[Number, ...]:
        """The weight of each of `jobs` in the objective: 1 unless the objective is a weighted sum."""
        return (1,) * len(self.jobs)

    # Who decides --------------------------------------------------------------------------------------------------

    @property
    def offered(self) -> Mapping[str, Ints]:
        """Idle slots of each node that a policy is offered, by kind of task, shape (nodes,)."""
        state = self.instance.state
        return MappingProxyType(dict(zip(KINDS, (state.idle_slots, state.idle_reduce_slots), strict=True)))

    def slots(self, kind: int) -> tuple[Ints, Ints, Ints]:
        """Every slot of a kind that is or becomes free: the idle ones by node, then those of running tasks.

        int64, shape (slots,) each: its node; the microsecond at which its task ends, or `now` (a reduce as if its job's
        maps had ended); and the job of that task, or -1.
        """
        idle = self.offered[KINDS[kind]]
        free = np.repeat(np.arange(len(idle)), idle)
        first = free, np.full(len(free), self.now), np.full(len(free), -1)
        node, until, job = (np.append(*both) for both in zip(first, self.running_of(kind), strict=True))
        return node, until, job

    @property
    def due(self) -> int:
        """How many tasks must run."""
        return len(self.tasks)

    def schedule(self, nodes: Any, starts: Any) -> Schedule:
        """A schedule of the instance from a node index (or -1) and a start in microseconds for each of `tasks`."""
        return Schedule.empty(len(self.instance.workload)).with_tasks(self.tasks, nodes, starts)

    @property
    def plainly_infeasible(self) -> str | None:
        for kind, name in enumerate(KINDS):
            waiting = self.tasks[self.kind == kind]
            if len(waiting) and not self.room[name].any():
                task = self.instance.workload.task_ids[waiting[0]]
                return f'no slot for a {name} ever becomes free, and task "{task}" is one'
        return None

    # When things end ----------------------------------------------------------------------------------------------

    @cached_property
    def maps_before_reduces(self) -> Ints:
        """How many of each job's maps that have not ended at the snapshot must end before its reduces start."""
        job, is_map = self.jobs.of_task, (self.jobs.of_task >= 0) & (self.instance.workload.kind == MAP)
        is_over, jobs = self.instance.state.status == FINISHED, len(self.jobs)
        share = decimal(self.parameters["slowstart"])
        needed = [ceil(share * maps) for maps in np.bincount(job[is_map], minlength=jobs).tolist()]
        ended = np.bincount(job[is_map & is_over], minlength=jobs)
        return np.asarray(np.maximum(np.array(needed, dtype=np.int64) - ended, 0))

    def ends(self, schedule: Schedule) -> Ints:
        """When each task of the instance ends, in microseconds: `NEVER` if it does not run, `now` if it has ended.

        All nodes must exist.
        """
        found = np.full(len(self.instance.workload), NEVER, dtype=np.int64)
        found[self.instance.state.status == FINISHED] = self.now
        found[self.running] = self.busy_until
        nodes = schedule.nodes[self.tasks]
        runs = np.flatnonzero(nodes != NONE)
        found[self.tasks[runs]] = schedule.starts[self.tasks[runs]] + self.times.on(runs, nodes[runs])
        self._wait_for_maps(found)
        return found

    def _wait_for_maps(self, ends: Ints) -> None:
        """Make running reduces end no sooner than the last running map of their job."""
        kind, job = self.instance.workload.kind, self.jobs.of_task
        reduces = np.flatnonzero((job >= 0) & (ends < NEVER) & (kind == REDUCE))
        ends[reduces] = np.maximum(ends[reduces], self.last_maps(ends)[job[reduces]])

    def last_maps(self, ends: Ints) -> Ints:
        """The end of each job's last running map, by `ends`; shape (jobs,), `-NEVER` if none runs."""
        job = self.jobs.of_task
        maps = np.flatnonzero((job >= 0) & (ends < NEVER) & (self.instance.workload.kind == MAP))
        last = np.full(len(self.jobs), -NEVER, dtype=np.int64)
        np.maximum.at(last, job[maps], ends[maps])
        return last

    def reduces_from(self, ends: Ints) -> Ints:
        """When the reduces of each job may start, by `ends`; `NEVER` if too few of its maps run."""
        from_when = np.full(len(self.jobs), -NEVER, dtype=np.int64)
        kind, job = self.instance.workload.kind, self.jobs.of_task
        maps = np.flatnonzero((kind == MAP) & (job >= 0) & (self.instance.state.status != FINISHED))
        order = maps[np.lexsort((ends[maps], job[maps]))]
        begin = np.searchsorted(job[order], np.arange(len(self.jobs)))
        needs = np.flatnonzero(self.maps_before_reduces)
        from_when[needs] = ends[order[begin[needs] + self.maps_before_reduces[needs] - 1]]
        return from_when

    def completions(self, schedule: Schedule) -> Ints:
        """When each of `jobs` ends, in microseconds; shape (jobs,). The schedule must be feasible."""
        return self._completed(self.ends(schedule))

    def _completed(self, ends: Ints) -> Ints:
        """When each of `jobs` ends if its tasks end at `ends`; `now` at the earliest."""
        found = np.full(len(self.jobs), self.now, dtype=np.int64)
        counted = np.flatnonzero(self.jobs.of_task >= 0)
        np.maximum.at(found, self.jobs.of_task[counted], ends[counted])
        return found

    @abstractmethod
    def latest_completions(self, value: Number) -> Ints:
        """The latest end of each of `jobs` in a schedule that is worth `value` or less; microseconds."""

    # What is feasible ---------------------------------------------------------------------------------------------

    @property
    def value_in_words(self) -> str:
        """The value in words; a sum says of what."""
        return self.components[0].name

    def violations(self, schedule: Schedule, /) -> list[Violation]:
        mend = "make one first: problem.schedule(nodes, starts), with a node index and microseconds for each task"
        expect(schedule, Schedule, f"{self.name} judges a schedule", mend)
        task_ids = self.instance.workload.task_ids
        if len(schedule) != len(task_ids):
            return [Violation("length", (), len(schedule) - len(task_ids))]
        nodes = schedule.nodes
        unknown = np.flatnonzero((nodes < NONE) | (nodes >= len(self.instance.cluster)))
        if len(unknown):
            return [Violation("known-node", (str(task_ids[task]),), 1) for task in unknown.tolist()]
        return list(self._broken(schedule))

    def _broken(self, schedule: Schedule) -> Iterator[Violation]:
        """Violations of a schedule on nodes that exist."""
        task_ids = self.instance.workload.task_ids.tolist()
        decided = np.zeros(len(task_ids), dtype=bool)
        decided[self.tasks] = True
        for task in np.flatnonzero((schedule.nodes != NONE) & ~decided).tolist():
            yield Violation("pending-task", (task_ids[task],), 1)
        for task in np.flatnonzero((schedule.nodes == NONE) & decided).tolist():
            yield Violation("every-task-runs", (task_ids[task],), 1)
        starts = schedule.starts[self.tasks]
        runs = schedule.nodes[self.tasks] != NONE
        yield from self._early("released", runs, starts, self.release)
        ends = self.ends(schedule)
        job = self.jobs.of_task[self.tasks]
        from_when = self.reduces_from(ends)[job]
        yield from self._early("slowstart", runs & (self.kind == REDUCE) & (from_when < NEVER), starts, from_when)
        yield from self._overfull(schedule, ends)

    def _early(self, constraint: str, which: Bools, starts: Ints, earliest: Ints) -> Iterator[Violation]:
        """Those of `tasks` that start too early."""
        for row in np.flatnonzero(which & (starts < earliest)).tolist():
            task = str(self.instance.workload.task_ids[self.tasks[row]])
            yield Violation(constraint, (task,), seconds(int(earliest[row] - starts[row])))

    def _overfull(self, schedule: Schedule, ends: Ints) -> Iterator[Violation]:
        """Nodes on which at some instant more tasks of a kind run than there is room for; by how many at most."""
        node_ids = self.instance.cluster.node_ids
        for kind, name in enumerate(KINDS):
            own = self.tasks[(self.kind == kind) & (schedule.nodes[self.tasks] != NONE)]
            held = self.running[self.instance.workload.kind[self.running] == kind]
            nodes = np.concatenate([schedule.nodes[own], self.instance.state.node[held]])
            begin = np.concatenate([schedule.starts[own], np.full(len(held), -NEVER)])
            peak = _most_at_once(nodes, begin, np.concatenate([ends[own], ends[held]]), len(node_ids))
            np.maximum.at(peak, nodes, 1)  # a task that takes no time still needs a node with a slot
            for node in np.flatnonzero(peak > self.room[name]).tolist():
                yield Violation("slots", (name, str(node_ids[node])), int(peak[node] - self.room[name][node]))

    # Bounds -------------------------------------------------------------------------------------------------------

    @cached_property
    def least_times(self) -> Ints:
        """The least microseconds of each of `tasks`, on any node with room; shape (tasks,)."""
        nodes = len(self.instance.cluster)
        found = np.zeros(len(self.tasks), dtype=np.int64)
        for kind, name in enumerate(KINDS):
            of_kind = self.kind == kind
            least = self.times.cheapest(np.ones(nodes, dtype=np.int64), self.room[name] > 0)
            found[of_kind] = np.minimum(least[of_kind], LARGEST)
        return found

    @cached_property
    def earliest_starts(self) -> Ints:
        """The earliest start of each of `tasks`, as if all slots were its job's; microseconds, shape (tasks,)."""
        ends = self.ends(Schedule.empty(len(self.instance.workload)))
        ends[self.tasks] = self.release + self.least_times
        found = self.release.copy()
        reduces = np.flatnonzero(self.kind == REDUCE)
        from_when = self.reduces_from(ends)[self.jobs.of_task[self.tasks[reduces]]]
        found[reduces] = np.maximum(found[reduces], from_when)
        return found

    @cached_property
    def earliest_completions(self) -> Ints:
        """The earliest end of each of `jobs`, as if all slots were its own; microseconds, shape (jobs,).

        Each task starts as soon as it may, on the node where it is fastest.
        """
        ends = self.ends(Schedule.empty(len(self.instance.workload)))
        ends[self.tasks] = self.earliest_starts + self.least_times
        self._wait_for_maps(ends)
        return self._completed(ends)

    @cached_property
    def lattice(self) -> int:
        """The unit, in microseconds, that divides all times of ends after the snapshot in some optimum.

        If no task could start earlier, each starts when its job arrives, when a running task has ended, or when another
        one ends. 1 if nothing takes any time.
        """
        times = (self.times.distinct, self.release - self.now, self.busy_until - self.now)
        return max(1, int(np.gcd.reduce(np.concatenate(times), initial=0)))

    def next_end(self, time: int) -> int:
        """The first instant at `time` or later at which, by `lattice`, something may end."""
        return self.now - (self.now - time) // self.lattice * self.lattice


def _most_at_once(nodes: Ints, begin: Ints, end: Ints, count: int) -> Ints:
    """The most intervals [begin, end) that each of `count` nodes has at the same time; shape (count,)."""
    if not len(nodes):
        return np.zeros(count, dtype=np.int64)
    node, time = np.concatenate([nodes, nodes]), np.concatenate([begin, end])
    change = np.concatenate([np.ones(len(nodes), dtype=np.int64), np.full(len(nodes), -1)])
    order = np.lexsort((time, node))
    node, time, running = node[order], time[order], np.cumsum(change[order])
    last = np.append((node[1:] != node[:-1]) | (time[1:] != time[:-1]), True)  # the last event of an instant
    peak = np.zeros(count, dtype=np.int64)
    np.maximum.at(peak, node[last], running[last])  # each node's intervals all end, so that every sum starts from 0
    return peak


def as_early(problem: ScheduleProblem, schedule: Schedule) -> Schedule:
    """The same tasks on the same nodes in the order of their starts, each as early as possible, maps first.

    A reduce that would end before its job's last map starts later, so that it ends with that map. The schedule is
    feasible, but may leave tasks out.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> problem = Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[10, 20])))
    >>> as_early(problem, problem.schedule([0, 0], [50_000_000, 1_000_000])).starts.tolist()
    [20000000, 0]
    """
    nodes = schedule.nodes[problem.tasks]
    starts = schedule.starts[problem.tasks].copy()
    begin = last = np.full(len(problem.jobs), -NEVER, dtype=np.int64)
    job = problem.jobs.of_task[problem.tasks]
    for kind in (MAP, REDUCE):
        slots = slots_by_node(problem, kind, last)
        runs = np.flatnonzero((problem.kind == kind) & (nodes != NONE) & (begin[job] < NEVER))
        times = problem.times.on(runs, nodes[runs])
        for row in np.lexsort((runs, starts[runs])).tolist():
            position, time = int(runs[row]), int(times[row])
            until, node = int(last[job[position]]), int(nodes[position])
            start = max(int(problem.release[position]), int(begin[job[position]]))
            if not time:  # no slot is needed
                starts[position] = max(start, until)
                continue
            start = max(start, slots[node][0], until - time)
            starts[position] = start
            slots[node] = sorted([*slots[node][1:], start + time])
        ends = problem.ends(problem.schedule(nodes, starts))
        begin, last = problem.reduces_from(ends), problem.last_maps(ends)
    return problem.schedule(nodes, starts)


def slots_by_node(problem: ScheduleProblem, kind: int, last: Ints) -> list[list[int]]:
    """When the slots of each node become free, in order; those of running reduces not before their job's last map.

    `last` is when the last map of each job ends (microseconds, shape (jobs,)); maps do not need it.
    """
    nodes, until, job = problem.slots(kind)
    if kind == REDUCE:
        runs = job >= 0
        until[runs] = np.maximum(until[runs], last[job[runs]])
    slots: list[list[int]] = [[] for _ in problem.instance.cluster.node_ids]
    for node, end in zip(nodes.tolist(), until.tolist(), strict=True):
        slots[node].append(end)
    return [sorted(held) for held in slots]
