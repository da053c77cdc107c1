"""Base of policies that choose a job first: waiting and running tasks of each job, and the order of jobs.

The modules of the policies have the rules that choose a task of a job. `WaitingMaps` tracks the data of waiting maps,
for policies that use only nodes and racks.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from optsched.core.arrays import grouped
from optsched.core.decimals import decimal
from optsched.core.instance import KINDS, MAP, PENDING, REDUCE, RUNNING, Ints, Ragged
from optsched.core.placement import NONE
from optsched.heuristics.running.base import HELD, Event, Offer, Policy, View

#: How near a map's data is to a node: on it, in its rack, or anywhere.
NODE, RACK, ANYWHERE = 0, 1, 2


class WaitingMaps:
    """Waiting maps, by job and by the nodes and racks of their replicas, for random draws.

    The time of a draw does not depend on the number of waiting maps. Maps that have started are dropped when they are
    drawn. Policies that do not distinguish jobs have all maps in job 0.
    """

    def __init__(self) -> None:
        #: The maps of each job by level and place.
        self._held: list[defaultdict[int, dict[int, list[int]]]] = [defaultdict(dict) for _ in range(3)]

    def add(self, tasks: Ints, view: View, job: Ints | None = None, again: bool = False) -> None:
        """Add maps of the view; `job` has the job of each. `again`: they may be here already, at some places or all."""
        owners = [0] * len(tasks) if job is None else job.tolist()
        nodes = view.workload.replicas.take(tasks)
        racks = Ragged(nodes.starts, view.cluster.rack[nodes.values])
        for task, owner, own, near in zip(tasks.tolist(), owners, nodes.lists(), racks.lists(), strict=True):
            for level, places in ((NODE, own), (RACK, {*near} - {NONE}), (ANYWHERE, (0,))):
                for place in places:
                    held = self._held[level][place].setdefault(owner, [])
                    if not again or task not in held:
                        held.append(task)

    def at(self, level: int, node: int, view: View) -> dict[int, list[int]]:
        """The maps with data on a node, in its rack, or all maps, by job, including started ones."""
        return self._held[level][(node, int(view.cluster.rack[node]), 0)[level]]

    def draw(
        self, level: int, node: int, view: View, rng: np.random.Generator, job: int = 0, first: bool = False
    ) -> int | None:
        """A map with data on the node, in its rack, or any; uniformly at random, None if no such map waits.

        It is removed from where it is drawn: the caller starts it. With `first` it is the map with the least number.
        """
        held = self.at(level, node, view)
        tasks = held.get(job, [])
        while tasks:
            position = tasks.index(min(tasks)) if first else int(rng.integers(len(tasks)))
            task, tasks[position] = tasks[position], tasks[-1]
            tasks.pop()
            if not tasks:
                del held[job]
            if view.status[task] == PENDING:
                return task
        return None


#: A job's place in its pool: the tasks that it runs (0 if that plays no part), and its number.
Turn = tuple[int, int]


@dataclass(eq=False, slots=True)
class _Job:
    """The state of a job; lists have an entry for maps and one for reduces."""

    pool: int
    tasks: list[Ints] = field(default_factory=lambda: [np.zeros(0, dtype=np.int64) for _ in KINDS])
    #: The number of tasks of each status.
    counts: list[list[int]] = field(default_factory=lambda: [[0] * (HELD + 1) for _ in KINDS])
    #: The running reduces, each with its node.
    reduces: dict[int, int] = field(default_factory=dict)


class JobPolicy(Policy):
    """A policy that goes through the jobs, the least served first, and starts one task per offer.

    Maps and reduces have separate shares, each by the running tasks of its own kind, as in Hadoop's Fair Scheduler.
    Tasks without a job count as one job together, the first in order. Unlike a job's reduces, theirs may share a node.

    Attributes
    ----------
    pooled
        Set by the class. True: the groups of the instance are pools; the pool with the fewest running tasks over its
        weight (1 if not given) goes first, ties by number; running tasks that the instance only counts are maps. False:
        all jobs are equal.
    by_arrival
        Set by the class. Within a pool jobs go by fewest running tasks, ties by arrival; True: only by arrival.
    keeps_maps
        Set by the class. Whether `maps` has the waiting maps, by job and by where their data is.
    only_first
        Whether the slot stays idle if the first job starts nothing; else the next is asked. May change per offer.
    remembers
        Set by the class. Names of the mappings with what no view shows, such as how often offers were let pass.
    """

    pooled = False
    by_arrival = False
    keeps_maps = False
    only_first = True
    remembers: tuple[str, ...] = ()

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._rng = rng
        self._known = 0
        self._jobs: dict[int, _Job] = {}
        self.maps = WaitingMaps()
        #: The status with which each task is counted: the last one that was reported.
        self._status = bytearray()
        #: Waiting tasks of all jobs.
        self.waiting_tasks = [0, 0]
        self._distinct = bool(view.parameters.get("distinct", False))
        #: For maps and for reduces, the turns of the jobs with a waiting task in each pool, sorted.
        self._turns: list[defaultdict[int, list[Turn]]] = [defaultdict(list) for _ in KINDS]
        counted = view.group_running_tasks
        self._pool_running: list[defaultdict[int, int]] = [defaultdict(int) for _ in KINDS]
        self._pool_running[MAP].update(enumerate(np.maximum(counted, 0).tolist()))
        weights = [decimal(weight) for weight in np.nan_to_num(view.workload.group_weight, nan=1.0).tolist()]
        #: The share that a running task adds to a pool: whole numbers in the order of 1 over the weights; 0: never.
        common = math.lcm(*(weight.numerator for weight in weights if weight))
        parts = [weight and common * weight.denominator // weight.numerator for weight in weights]
        self._part: defaultdict[int, int] = defaultdict(lambda: common, enumerate(map(int, parts)))
        self._learn(view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self._learn(view)
        elif event.what != "node-changed":
            self._follow(event.index, view)

    def memory(self) -> Any:
        """The mappings named by `remembers`."""
        return [dict(getattr(self, name)) for name in self.remembers]

    def recall(self, memory: Any, view: View) -> None:
        for name, held in zip(self.remembers, memory, strict=True):
            getattr(self, name).update(held)

    def _learn(self, view: View) -> None:
        """Add the tasks that are new in the view."""
        tasks = np.arange(self._known, len(view.workload))
        self._known = len(view.workload)
        self._status += view.status[tasks].astype(np.uint8).tobytes()
        waiting = tasks[view.status[tasks] == PENDING]
        if self.keeps_maps:
            maps = waiting[view.workload.kind[waiting] == MAP]
            self.maps.add(maps, view, view.workload.job[maps])
        self.learn(waiting, view)
        pools = np.append(view.workload.job_group, -1)  # a task without a job picks the last entry
        for job, positions in grouped(view.workload.job[tasks]):
            entry = self._jobs.setdefault(job, _Job(int(pools[job])))
            for kind in (MAP, REDUCE):
                own = tasks[positions][view.workload.kind[tasks[positions]] == kind]
                status = view.status[own]
                self.leave(job, kind)
                entry.tasks[kind] = np.append(entry.tasks[kind], own[status == PENDING])
                for code, count in enumerate(np.bincount(status).tolist()):
                    self._count(entry, kind, code, count)
                self.enter(job, kind)
                if kind == REDUCE:
                    running = own[status == RUNNING]
                    entry.reduces.update(zip(running.tolist(), view.node[running].tolist(), strict=True))

    def learn(self, tasks: Ints, view: View) -> None:
        """Called with new waiting tasks, and with a map that waits again, before their jobs count them."""

    def _follow(self, task: int, view: View) -> None:
        """Count a task with its present status."""
        before, now = self._status[task], int(view.status[task])
        if before == now:
            return
        job, kind = view.workload.job.item(task), view.workload.kind.item(task)
        entry = self._jobs[job]
        if now == PENDING and kind == MAP:
            if self.keeps_maps:
                self.maps.add(np.array([task]), view, np.array([job]), again=True)
            self.learn(np.array([task]), view)
        self.leave(job, kind)
        self._count(entry, kind, before, -1)
        self._count(entry, kind, now, 1)
        if now == PENDING and task not in entry.tasks[kind]:
            entry.tasks[kind] = np.sort(np.append(entry.tasks[kind], task))
        self.enter(job, kind)
        self._status[task] = now
        if kind == REDUCE:
            entry.reduces.pop(task, None)
            if now == RUNNING:
                entry.reduces[task] = int(view.node[task])

    def _count(self, entry: _Job, kind: int, status: int, more: int) -> None:
        """Change the number of a job's tasks of a status by `more`, which is negative if they leave it."""
        entry.counts[kind][status] += more
        if status == PENDING:
            self.waiting_tasks[kind] += more
        elif status == RUNNING:
            self._pool_running[kind][entry.pool] += more

    def turn(self, job: int, kind: int) -> Turn:
        """The place of a job in its pool."""
        return (0 if self.by_arrival else self._jobs[job].counts[kind][RUNNING], job)

    def leave(self, job: int, kind: int) -> None:
        """Remove a job from its pool, if a task of the kind waits."""
        if (pool := self.waits_in(job, kind)) is not None:
            turns = self._turns[kind][pool]
            del turns[bisect_left(turns, self.turn(job, kind))]

    def enter(self, job: int, kind: int) -> None:
        """Add a job to its pool, if a task of the kind waits."""
        if (pool := self.waits_in(job, kind)) is not None:
            insort(self._turns[kind][pool], self.turn(job, kind))

    def waits_in(self, job: int, kind: int) -> int | None:
        """The pool in which a job has its turn; None if no task of the kind waits."""
        entry = self._jobs[job]
        return (entry.pool if self.pooled else 0) if entry.counts[kind][PENDING] else None

    def turns(self, kind: int) -> list[tuple[int, list[Turn]]]:
        """The pools with a waiting job in the order in which they go, and the turns of these jobs."""
        waiting = [(pool, turns) for pool, turns in self._turns[kind].items() if turns]
        return sorted(waiting, key=lambda entry: self._share(entry[0], kind)) if len(waiting) > 1 else waiting

    def _share(self, pool: int, kind: int) -> tuple[bool, int, int]:
        """The turn of a pool: its running tasks over its weight (last if that is 0), then its number."""
        part = self._part[pool]
        return not part, part * self._pool_running[kind][pool], pool

    def pools(self, offer: Offer) -> Iterator[Iterator[int]]:
        """The jobs that the offer's slot may serve, pool by pool, in the order in which they go.

        For a reduce slot, a job with a reduce on the node is left out if the problem requires distinct nodes.
        """
        for _, turns in self.turns(KINDS.index(offer.kind)):
            jobs = map(itemgetter(1), turns)
            yield (
                jobs if offer.kind == KINDS[MAP] else (job for job in jobs if offer.node not in self.reduce_nodes(job))
            )

    def reduce_nodes(self, job: int) -> list[int]:
        """Nodes that run a reduce of the job, and are therefore barred to its other reduces."""
        return list(self._jobs[job].reduces.values()) if self._distinct and job >= 0 else []

    def jobs(self, offer: Offer) -> Iterator[int]:
        """The jobs of all `pools`, one after another."""
        return chain.from_iterable(self.pools(offer))

    def counts(self, job: int, kind: int) -> tuple[int, int, int]:
        """How many of the job's tasks of a kind (number) wait, run, and have finished."""
        waiting, running, finished, _ = self._jobs[job].counts[kind]
        return waiting, running, finished

    def waiting(self, job: int, kind: str, view: View) -> Ints:
        """The job's waiting tasks, increasing."""
        entry, number = self._jobs[job], KINDS.index(kind)
        if len(entry.tasks[number]) > entry.counts[number][PENDING]:
            entry.tasks[number] = entry.tasks[number][view.status[entry.tasks[number]] == PENDING]
        return entry.tasks[number]

    def drawn(self, values: Ints) -> int:
        """One of these, uniformly at random."""
        return int(values[self._rng.integers(len(values))])

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        for job in self.jobs(offer):
            task = self.choose(job, offer, view)
            if task is not None:
                return (task,)
            if self.only_first:
                break
        return ()

    def choose(self, job: int, offer: Offer, view: View) -> int | None:
        """The task that a job starts on an offer; None: none."""
        raise NotImplementedError
