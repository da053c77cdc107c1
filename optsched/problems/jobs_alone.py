"""Each job alone on the empty cluster: its maps near their data and far from it, as a `latency` problem on slots.

What is proved of that problem holds for the job in every schedule. Here is how the one is posed for
the other; what rules a limit out is said by `Latency`.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from optsched.core.arrays import contains
from optsched.core.instance import KINDS, MAP, Bools, Cluster, Instance, Ints, Ragged, Workload
from optsched.problems.latency import Latency
from optsched.problems.schedule_bounds import all_waited_for, tails
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER

__all__ = ["JobAlone", "JobsAlone"]


class JobAlone(NamedTuple):
    """The maps of a job that wait, as tasks of a `latency` problem whose servers are slots.

    Attributes
    ----------
    job
        Its number among the jobs of the problem.
    posed, node
        The problem, in which loads and work count in units, and tasks have their ids; and the node of each server.
    release, unit, tail
        Microseconds: from which on the maps may run; of a unit; that the job's reduces take at least after the last
        map.
    """

    job: int
    posed: Latency
    node: Ints
    release: int
    unit: int
    tail: int

    def limit(self, time: int) -> int:
        """The largest limit on the makespan of `posed` that ends by a time in microseconds; negative before that."""
        return (time - self.release) // self.unit

    def servers(self, nodes: Bools) -> Bools:
        """The slots of some nodes (bool, shape (nodes,)) that hold data; shape (servers,)."""
        return np.asarray(nodes[self.node] & (self.posed.server_tasks.lengths > 0))

    def nodes(self, servers: Bools, limit: int, nodes: int) -> Bools:
        """The nodes whose slots with data and room within `limit` are all among `servers`; bool, shape (nodes,).

        A cover of servers (bool, shape (servers,)) is no stronger than these nodes: where a slot with room is left out
        of it, all tasks with data on the node count already, and other slots of the node add to that.
        """
        holds = (self.posed.server_tasks.lengths > 0) & (self.posed.local_capacity(limit) > 0)
        inside, outside = (np.bincount(self.node[holds & which], minlength=nodes) for which in (servers, ~servers))
        return np.asarray((inside > 0) & (outside == 0))


class JobsAlone:
    """The jobs of a problem, each alone with what runs at the snapshot. Maps that wait need a slot for maps.

    Examples
    --------
    Three maps of 4 s have their data on `a`, and take 8 s elsewhere. Each alone takes 4 s, and all together 12 s of two
    slots. But by 7 s there is room for one of them on `a`, and for none on `b`.

    >>> from optsched.problems import Makespan
    >>> workload = Workload(
    ...     list("stu"), replicas=Ragged.from_rows([[0]] * 3), times=[[4, 8, 8]] * 3, job=[0] * 3, job_ids=["j"]
    ... )
    >>> alone = JobsAlone(Makespan(Instance(Cluster(["a", "b"]), workload))).posed(0)
    >>> alone.unit, alone.posed.w_loc, alone.posed.w_rem, alone.posed.counting_bound()
    (4000000, 1, 2, 2)
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem = problem

    @cached_property
    def _slots(self) -> tuple[Ints, Ints]:
        """The node of each slot for maps, and until when it is held; those that are free soonest first."""
        node, busy, _ = self.problem.slots(MAP)
        order = np.argsort(busy, kind="stable")
        return node[order], busy[order]

    @cached_property
    def _slots_of(self) -> Ragged:
        """For each node its slots, those that are free soonest first."""
        node = self._slots[0]
        return Ragged.of_lengths(
            np.bincount(node, minlength=len(self.problem.instance.cluster)), np.argsort(node, kind="stable")
        )

    @cached_property
    def _times(self) -> tuple[Ints, Ints]:
        """The least times of each of `tasks` near its data, and far from it."""
        return self.problem.times.near_and_far(self.problem.room[KINDS[MAP]] > 0)

    @cached_property
    def _tasks(self) -> Ragged:
        """For each job the positions of its maps that wait and take some time wherever they run."""
        problem = self.problem
        tasks = np.flatnonzero((problem.kind == MAP) & (np.minimum(*self._times) > 0))
        job = problem.jobs.of_task[problem.tasks[tasks]]
        lengths = np.bincount(job, minlength=len(problem.jobs))
        return Ragged.of_lengths(lengths, tasks[np.argsort(job, kind="stable")])

    @cached_property
    def _tails(self) -> Ints:
        """The least times of each job's reduces after the last of its maps; 0 where they may start sooner."""
        return np.where(all_waited_for(self.problem), tails(self.problem), 0)

    @cached_property
    def latest(self) -> Ints:
        """When the maps of each job and its tail can have ended, were it alone; `now` without maps; shape (jobs,).

        They are spread over all slots, or over those that are idle, as if all were far from their data. Nothing that is
        proved of a job alone is beyond that.
        """
        problem, (_, busy), (near, far) = self.problem, self._slots, self._times
        tasks, start = self._tasks, np.maximum(problem.jobs.arrival, problem.now)
        longest = np.zeros(len(problem.jobs), dtype=np.int64)
        times = np.maximum(np.where(near < NEVER, near, 0), far)
        np.maximum.at(longest, tasks.row_of, times[tasks.values])
        idle = int(np.searchsorted(busy, problem.now, side="right"))
        found = np.maximum(start, busy.max(initial=problem.now)) - -tasks.lengths // max(1, len(busy)) * longest
        if idle:
            found = np.minimum(found, start - -tasks.lengths // idle * longest)
        return np.where(tasks.lengths > 0, found + self._tails, problem.now)

    def size(self, job: int) -> int:
        """Tasks of a job that count, and pairs of a task and a slot with its data: how long it takes to look at it."""
        tasks = self._tasks[job]
        room = self.problem.room[KINDS[MAP]]
        return len(tasks) + int(room[self.problem.replicas.take(tasks).values].sum())

    def posed(self, job: int) -> JobAlone | None:
        """A job alone; None without maps that wait and take some time, or slots for them.

        A map takes the least of any of them near its data, or of any far from it. A node has no more slots that are
        free at the same time than tasks with data there, but for those that stand for slots anywhere; of these there
        are no more than tasks. In a schedule of the job alone slots that are free at the same time can be exchanged on
        a node, and those for maps far from their data between nodes, for others that are free no later. So no end is
        later for that.
        """
        problem, tasks = self.problem, self._tasks[job]
        node, busy = self._slots
        if not len(tasks) or not len(node):
            return None
        near, far = (times[tasks] for times in self._times)
        w_rem = int(far.min())
        w_loc = min(w_rem, int(near.min()))
        replicas = problem.replicas.take(tasks)
        replicas = replicas.kept(problem.room[KINDS[MAP]][replicas.values] > 0)
        release = max(int(problem.jobs.arrival[job]), problem.now)
        data, wanted = np.unique(replicas.values, return_counts=True)
        slots = self._with_data(data, wanted, release)
        first = np.arange(min(len(node), len(slots) + len(tasks)))
        others = first[~contains(np.sort(slots), first)][: len(tasks)]
        servers = np.append(slots, others)
        load = np.maximum(busy[servers] - release, 0)
        unit = int(np.gcd.reduce(load, initial=np.gcd(w_loc, w_rem)))
        workload = Workload(
            problem.instance.workload.task_ids[problem.tasks[tasks]], replicas=self._on(replicas, data, node[slots])
        )
        cluster = Cluster(np.arange(len(servers)).astype(np.str_))
        instance = Instance.initial(cluster, workload, load=load // unit, name=problem.instance.name)
        posed = Latency(instance, w_loc=w_loc // unit, w_rem=w_rem // unit)
        return JobAlone(job, posed, node[servers], release, unit, int(self._tails[job]))

    def _with_data(self, data: Ints, wanted: Ints, release: int) -> Ints:
        """Slots of nodes with data, by node: of those that are free at the same time as many as there are tasks."""
        slots = self._slots_of.take(data)
        free = np.maximum(self._slots[1][slots.values], release)
        row = slots.row_of
        begins = np.append(True, (row[1:] != row[:-1]) | (free[1:] != free[:-1]))[: len(row)]
        place = np.arange(len(row))
        rank = place - np.maximum.accumulate(np.where(begins, place, 0))
        return np.asarray(slots.values[rank < wanted[row]])

    @staticmethod
    def _on(replicas: Ragged, data: Ints, node: Ints) -> Ragged:
        """Replicas on nodes as replicas on the first servers, which are sorted by node and of these nodes alone."""
        at = np.searchsorted(data, replicas.values)
        begin = np.searchsorted(node, data)
        number = np.searchsorted(node, data, side="right") - begin
        lengths = number[at]
        values = np.repeat(begin[at] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        per_task = np.bincount(replicas.row_of, weights=lengths, minlength=len(replicas)).astype(np.int64)
        return Ragged.of_lengths(per_task, values)
