"""What policies that first choose a job have in common: what waits and runs of each job, and which job's turn it is.

The rules that choose a task of a job are in the modules of the policies. `WaitingMaps` keeps where the data of waiting
maps is, for policies that look only at nodes and racks.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from optsched.arrays import grouped
from optsched.decimals import decimal
from optsched.instance import KINDS, MAP, PENDING, REDUCE, RUNNING, Ints
from optsched.running.base import Event, Offer, Policy, View

__all__ = ["ANYWHERE", "NODE", "RACK", "JobPolicy", "WaitingMaps"]

#: How near a map's data is to a node: on it, in its rack, or anywhere.
NODE, RACK, ANYWHERE = 0, 1, 2


class WaitingMaps:
    """Maps that wait, in lists by the nodes and racks of their replicas, to be drawn at random.

    The time of a draw does not depend on how many maps wait. Maps that have started are dropped when they are drawn.
    """

    def __init__(self) -> None:
        self._on_node: defaultdict[int, list[int]] = defaultdict(list)
        self._in_rack: defaultdict[int, list[int]] = defaultdict(list)
        self._all: list[int] = []

    def add(self, tasks: Ints, view: View) -> None:
        """Enter maps of the view."""
        self._all.extend(tasks.tolist())
        replicas = view.workload.replicas.take(tasks)
        racks = view.cluster.rack[replicas.values].tolist()
        for task, node, rack in zip(tasks[replicas.row_of].tolist(), replicas.values.tolist(), racks, strict=True):
            self._on_node[node].append(task)
            waiting = self._in_rack[rack]
            if not waiting or waiting[-1] != task:  # else it has another replica in the rack
                waiting.append(task)

    def draw(self, level: int, node: int, view: View, rng: np.random.Generator) -> int | None:
        """A map with data on the node, in its rack, or any; uniformly at random, None where no such map waits.

        It is taken out of the list that it is drawn from: the caller starts it.
        """
        if level == NODE:
            tasks = self._on_node[node]
        elif level == RACK:
            rack = int(view.cluster.rack[node])
            tasks = self._in_rack[rack] if rack >= 0 else []  # -1: no rack
        else:
            tasks = self._all
        while tasks:
            position = int(rng.integers(len(tasks)))
            task = tasks[position]
            tasks[position] = tasks[-1]
            tasks.pop()
            if view.status[task] == PENDING:
                return task
        return None


@dataclass(eq=False, slots=True)
class _Job:
    """What is kept of a job; lists have an entry for maps and one for reduces."""

    pool: int
    tasks: list[Ints] = field(default_factory=lambda: [np.zeros(0, dtype=np.int64) for _ in KINDS])
    waiting: list[int] = field(default_factory=lambda: [0, 0])
    running: list[int] = field(default_factory=lambda: [0, 0])
    finished: list[int] = field(default_factory=lambda: [0, 0])
    reduce_nodes: set[int] = field(default_factory=set)


class JobPolicy(Policy):
    """A policy that goes through the jobs in order of who is served least, and starts one task an offer.

    Maps and reduces have separate shares, each by the running tasks of its own kind, as in Hadoop's Fair Scheduler.
    Tasks without a job count as one job together, the first in order. Unlike a job's reduces, theirs may share a node.

    Attributes
    ----------
    pooled
        Of the class. True: the groups of the instance are pools; the pool with the fewest running tasks over its weight
        goes first (1 where no weight is given; running tasks that the instance only counts are maps), ties by number.
        False: all jobs are equal.
    by_arrival
        Of the class. Within a pool jobs go by fewest running tasks, ties by arrival; True: by arrival alone.
    """

    pooled = False
    by_arrival = False

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._rng = rng
        self._known = 0
        self._jobs: dict[int, _Job] = {}
        self._distinct = bool(view.parameters.get("distinct", False))
        #: For maps and for reduces, the jobs of each pool that have a task waiting, in order.
        self._queues: list[defaultdict[int, list[tuple[int, int]]]] = [defaultdict(list) for _ in KINDS]
        counted = view.workload.group_running_tasks
        self._pool_running: list[defaultdict[int, int]] = [defaultdict(int) for _ in KINDS]
        self._pool_running[MAP].update(enumerate(np.maximum(counted, 0).tolist()))
        weights = np.nan_to_num(view.workload.group_weight, nan=1.0)
        self._weight: defaultdict[int, Fraction] = defaultdict(
            lambda: Fraction(1), enumerate(map(decimal, weights.tolist()))
        )
        self._learn(view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self._learn(view)
        elif event.what == "task-started":
            self._note_start(event.index, view)

    def _learn(self, view: View) -> None:
        """Enter the tasks that are new in the view."""
        tasks = np.arange(self._known, len(view.workload))
        self._known = len(view.workload)
        pools = np.append(view.workload.job_group, -1)  # a task without a job picks the last entry
        for job, positions in grouped(view.workload.job[tasks]):
            own = tasks[positions]
            entry = self._jobs.setdefault(job, _Job(int(pools[job])))
            status = view.status[own]
            for kind in (MAP, REDUCE):
                ours = view.workload.kind[own] == kind
                waiting, running = own[ours & (status == PENDING)], own[ours & (status == RUNNING)]
                self._leave(job, kind)
                entry.tasks[kind] = np.append(entry.tasks[kind], waiting)
                entry.waiting[kind] += len(waiting)
                entry.running[kind] += len(running)
                entry.finished[kind] += int(np.count_nonzero(ours)) - len(waiting) - len(running)
                self._pool_running[kind][entry.pool] += len(running)
                self._enter(job, kind)
                if kind == REDUCE:
                    entry.reduce_nodes.update(view.node[running].tolist())
            self.learn_job(job, own[status == PENDING], view)

    def learn_job(self, job: int, tasks: Ints, view: View) -> None:
        """Called with a job's waiting tasks when they are new; for what a policy keeps in addition."""

    def _note_start(self, task: int, view: View) -> None:
        job, kind = int(view.workload.job[task]), int(view.workload.kind[task])
        entry = self._jobs[job]
        self._leave(job, kind)
        entry.waiting[kind] -= 1
        entry.running[kind] += 1
        self._pool_running[kind][entry.pool] += 1
        self._enter(job, kind)
        if kind == REDUCE:
            entry.reduce_nodes.add(int(view.node[task]))

    def _turn(self, job: int, kind: int) -> tuple[tuple[int, int], list[tuple[int, int]]]:
        """Where a job stands in its pool's queue, and the queue."""
        entry = self._jobs[job]
        turn = (0 if self.by_arrival else entry.running[kind], job)
        return turn, self._queues[kind][entry.pool if self.pooled else 0]

    def _leave(self, job: int, kind: int) -> None:
        if self._jobs[job].waiting[kind]:
            turn, queue = self._turn(job, kind)
            del queue[bisect_left(queue, turn)]

    def _enter(self, job: int, kind: int) -> None:
        if self._jobs[job].waiting[kind]:
            turn, queue = self._turn(job, kind)
            insort(queue, turn)

    def pools(self, offer: Offer) -> Iterator[Iterator[int]]:
        """The jobs that the offer's slot may serve, pool by pool, in order of who goes first.

        A job with a reduce on the node is left out for a reduce slot, if the problem wants them on distinct nodes.
        """
        kind = KINDS.index(offer.kind)
        queues = self._queues[kind]

        def served(pool: int) -> tuple[Fraction | float, int]:
            weight, running = self._weight[pool], self._pool_running[kind][pool]
            return (running / weight if weight else np.inf), pool

        for pool in sorted((pool for pool, queue in queues.items() if queue), key=served):
            yield (job for _, job in queues[pool] if self.may_run(job, offer))

    def may_run(self, job: int, offer: Offer) -> bool:
        """Whether nothing bars a task of the job from the offer's slot."""
        barred = self._distinct and job >= 0 and offer.kind == KINDS[REDUCE]
        return not (barred and offer.node in self._jobs[job].reduce_nodes)

    def reduce_nodes(self, job: int) -> list[int]:
        """Nodes that run a reduce of the job, and are therefore barred to its other reduces."""
        return list(self._jobs[job].reduce_nodes) if self._distinct and job >= 0 else []

    def jobs(self, offer: Offer) -> Iterator[int]:
        """The jobs of all `pools`, one after another."""
        for jobs in self.pools(offer):
            yield from jobs

    def counts(self, job: int, kind: int) -> tuple[int, int, int]:
        """How many of the job's tasks of a kind (number) wait, run, and have finished."""
        entry = self._jobs[job]
        return entry.waiting[kind], entry.running[kind], entry.finished[kind]

    def waiting(self, job: int, kind: str, view: View) -> Ints:
        """Tasks of the job that wait, increasing."""
        entry, number = self._jobs[job], KINDS.index(kind)
        if len(entry.tasks[number]) > entry.waiting[number]:
            entry.tasks[number] = entry.tasks[number][view.status[entry.tasks[number]] == PENDING]
        return entry.tasks[number]

    def random_task(self, job: int, kind: str, view: View) -> int:
        """One of the job's tasks that wait, uniformly at random."""
        return int(self._rng.choice(self.waiting(job, kind, view)))

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        raise NotImplementedError
