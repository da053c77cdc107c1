"""What policies that first choose a job have in common: what waits and runs of each job, and which job's turn it is.

The rules that choose a task of a job are in the modules of the policies. `WaitingMaps` keeps where the data of waiting
maps is, for policies that look only at nodes and racks.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optsched.core.arrays import grouped
from optsched.core.decimals import decimal
from optsched.core.instance import FINISHED, KINDS, MAP, PENDING, REDUCE, RUNNING, Ints
from optsched.running.base import Event, Offer, Policy, View

__all__ = [
    "ANYWHERE",
    "Draws",
    "JobPolicy",
    "NODE",
    "Queue",
    "RACK",
    "Turn",
    "WaitingMaps",
]

# Draws ---------------------------------------------------------------------------------------------------------------
#
# Whole numbers at random, one at a time: those that numpy's generator draws, without its cost of a call for arrays.

#: One more than the largest number of 32 bits.
_ALL = 2**32


class Draws:
    """Draws from a generator, each as the generator itself would have drawn it, so that other draws may come between.

    Attributes
    ----------
    rng
        The generator.
    below
        Called with a number n, 1 or more: what `rng.integers(n)` would be, and the generator is afterwards where that
        would have left it.

    References
    ----------
    Lemire, Fast random integer generation in an interval, ACM Transactions on Modeling and Computer Simulation, 2019.

    Examples
    --------
    >>> draws, rng = Draws(np.random.default_rng(5)), np.random.default_rng(5)
    >>> [draws.below(n) for n in (10, 1, 7, 10**6)] == [int(rng.integers(n)) for n in (10, 1, 7, 10**6)]
    True
    """

    __slots__ = ("below", "rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.below = _below(rng)

    def __reduce__(self) -> tuple[Any, ...]:
        return Draws, (self.rng,)


def _below(rng: np.random.Generator) -> Callable[[int], int]:
    """The generator's 32 bits at a time, made whole numbers below n as numpy does it."""
    if type(rng) is not np.random.Generator:  # one of another class may draw otherwise
        return lambda n: int(rng.integers(n))
    source = rng.bit_generator.ctypes
    bits, state = source.next_uint32, source.state

    def below(n: int) -> int:
        if n == 1:
            return 0
        if n > _ALL:
            return int(rng.integers(n))
        drawn = bits(state) * n
        if drawn % _ALL < n:
            uneven = _ALL % n
            while drawn % _ALL < uneven:
                drawn = bits(state) * n
        return int(drawn >> 32)

    return below


#: How near a map's data is to a node: on it, in its rack, or anywhere.
NODE, RACK, ANYWHERE = 0, 1, 2


class WaitingMaps:
    """Maps that wait, by job and by the nodes and racks of their replicas, to be drawn at random.

    The time of a draw does not depend on how many maps wait. Maps that have started are dropped when they are drawn.
    Policies that do not ask for jobs have all maps in one, number 0.

    The maps that come first are kept in one array a level, of which each job at each place has a part. What comes later
    is in lists.
    """

    def __init__(self) -> None:
        #: The maps that came first, for both levels; the parts of a place move into `_held` when it is first asked for.
        self._first: list[_ByPlace | None] = [None, None]
        self._held: list[dict[int, dict[int, int | list[int]]]] = [{}, {}]
        self._all: dict[int, int | list[int]] = {}
        self._view: View | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_view": None, "_status": None}  # a window on the view's memory, which no copy shares

    def add(self, tasks: Ints, view: View, job: Ints | None = None) -> None:
        """Enter maps of the view; `job` has the job of each."""
        owner = np.zeros(len(tasks), dtype=np.int64) if job is None else job
        for number, positions in grouped(owner):
            self._list(ANYWHERE, self._all, number).extend(tasks[positions].tolist())
        replicas = view.workload.replicas.take(tasks)
        rows = replicas.row_of
        for level, place in ((NODE, replicas.values), (RACK, view.cluster.rack[replicas.values])):
            order = np.argsort(place, kind="stable")
            places, row = place[order], rows[order]
            fresh = places >= 0  # -1: no rack
            fresh[1:] &= (places[1:] != places[:-1]) | (row[1:] != row[:-1])  # else another replica in the rack
            places, row = places[fresh], row[fresh]
            self._enter(level, places, tasks[row], owner[row])

    def _enter(self, level: int, places: Ints, tasks: Ints, jobs: Ints) -> None:
        if self._first[level] is None and not self._held[level]:
            self._first[level] = _ByPlace(places, tasks, jobs)
            return
        for place, task, job in zip(places.tolist(), tasks.tolist(), jobs.tolist(), strict=True):
            self._list(level, self.at(level, place), job).append(task)

    def give_back(self, task: int, view: View, job: int = 0) -> None:
        """Enter a map again that was entered before, or ran when others were, where it was taken out."""
        nodes = view.workload.replicas[task]
        racks = view.cluster.rack[nodes]
        places = [(NODE, node) for node in nodes.tolist()]
        places += [(RACK, rack) for rack in np.unique(racks[racks >= 0]).tolist()]
        for level, held in [*((level, self.at(level, place)) for level, place in places), (ANYWHERE, self._all)]:
            tasks = self._list(level, held, job)
            if task not in tasks:
                tasks.append(task)

    def at(self, level: int, place: int) -> dict[int, int | list[int]]:
        """The jobs with maps on a node or in a rack, started ones among them, and where these are kept."""
        held = self._held[level]
        if place not in held:
            first = self._first[level]
            held[place] = {} if first is None else first.parts(place)
        return held[place]

    def _list(self, level: int, held: dict[int, int | list[int]], job: int) -> list[int]:
        """The maps of a job at a place as a list of their own, to which others may come."""
        tasks = held.setdefault(job, [])
        if isinstance(tasks, int):
            first = self._first[level]
            assert first is not None
            tasks = held[job] = first.taken(tasks)
        return tasks

    def draw(self, level: int, node: int, view: View, draws: Draws, job: int = 0) -> int | None:
        """A map with data on the node, in its rack, or any; uniformly at random, None where no such map waits.

        It is taken out of where it is drawn from: the caller starts it.
        """
        place = node if level != RACK else int(view.cluster.rack[node])
        if place < 0:
            return None
        held = self._all if level == ANYWHERE else self.at(level, place)
        tasks = held.get(job)
        if tasks is None:
            return None
        if view is not self._view:
            self._view, self._status = view, view.status.data
        if isinstance(tasks, int):
            first = self._first[level]
            assert first is not None
            found, left = first.draw(tasks, self._status, draws.below)
        else:
            found, left = _drawn(tasks, self._status, draws.below)
        if not left:
            del held[job]
        return found


def _drawn(tasks: list[int], status: memoryview, below: Callable[[int], int]) -> tuple[int | None, int]:
    """Take maps out of a list at random, up to one that waits; None if none does, and how many are left."""
    while tasks:
        position = below(len(tasks))
        task, tasks[position] = tasks[position], tasks[-1]
        tasks.pop()
        if status[task] == PENDING:
            return task, len(tasks)
    return None, 0


class _ByPlace:
    """Maps sorted by place, and at each by job: parts of one array, which grow shorter as maps are taken out.

    Parameters
    ----------
    places, tasks, jobs
        Of each map where it is, increasing, its number, and its job.
    """

    #: What is kept as a window on an array, quicker to read and write one by one; copies have their own.
    _WINDOWS = ("_tasks", "_begins", "_sizes")

    def __init__(self, places: Ints, tasks: Ints, jobs: Ints) -> None:
        order = np.lexsort((jobs, places))
        places, jobs = places[order], jobs[order]
        fresh = np.ones(len(places), dtype=np.bool_)
        fresh[1:] = (places[1:] != places[:-1]) | (jobs[1:] != jobs[:-1])
        begins = np.flatnonzero(fresh)
        self._job: Ints = jobs[begins]
        #: The first part of each place, and the end of the last.
        self._parts: list[int] = np.searchsorted(places[begins], np.arange(places.max(initial=-1) + 2)).tolist()
        self._tasks = tasks[order].data
        self._begins = begins.data
        self._sizes = np.diff(begins, append=len(places)).data

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), **{name: np.array(getattr(self, name)) for name in self._WINDOWS}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, **{name: state[name].data for name in self._WINDOWS}})

    def parts(self, place: int) -> dict[int, int | list[int]]:
        """The jobs at a place, and the number of the part that each has."""
        if place + 1 >= len(self._parts):
            return {}
        begin, end = self._parts[place], self._parts[place + 1]
        return dict(zip(self._job[begin:end].tolist(), range(begin, end), strict=True))

    def taken(self, part: int) -> list[int]:
        """The maps of a part."""
        begin = self._begins[part]
        found: list[int] = self._tasks[begin : begin + self._sizes[part]].tolist()
        return found

    def draw(self, part: int, status: memoryview, below: Callable[[int], int]) -> tuple[int | None, int]:
        """Take maps out of a part at random, up to one that waits; None if none does, and how many are left."""
        tasks, begin, size = self._tasks, self._begins[part], self._sizes[part]
        found = None
        while size and found is None:
            position = begin + below(size)
            size -= 1
            task, tasks[position] = tasks[position], tasks[begin + size]
            if status[task] == PENDING:
                found = task
        self._sizes[part] = size
        return found, size


#: More than any number in a queue.
_LARGEST = 2**62

#: A job's place in its queue: tasks that it runs (0 where that plays no part), and its number.
Turn = tuple[int, int]


class Queue:
    """The jobs of a pool that have a task of a kind waiting, by turn; with each a number that a policy may count in.

    Attributes
    ----------
    turns
        Sorted.
    least
        No job's number is less than this.
    """

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.least = 0
        self._counts: Ints = np.zeros(8, dtype=np.int64)

    @property
    def counts(self) -> Ints:
        """The number of each job, in order."""
        return self._counts[: len(self.turns)]

    def count_down(self, turn: Turn | None) -> Ints:
        """Take one off the number of each job before a turn (None: of all); these numbers, to be changed in place."""
        counts = self._counts[: self.end(turn)]
        counts -= 1
        self.least -= 1
        return counts

    def renew(self) -> None:
        """Find the least number."""
        self.least = int(self.counts.min(initial=_LARGEST))

    def reset(self, at: int, count: int) -> None:
        """Give the job at a position another number."""
        self._counts[at] = count
        self.least = min(self.least, count)

    def end(self, turn: Turn | None) -> int:
        """How many jobs go before a turn; None: how many there are."""
        return len(self.turns) if turn is None else bisect_left(self.turns, turn)

    def enter(self, turn: Turn, count: int) -> None:
        """Put a job into the queue."""
        size, at = len(self.turns), bisect_left(self.turns, turn)
        if size == len(self._counts):
            self._counts = np.append(self._counts, self._counts)
        if at < size:
            self._counts[at + 1 : size + 1] = self._counts[at:size]
        self.reset(at, count)
        self.turns.insert(at, turn)

    def leave(self, turn: Turn) -> int:
        """Take a job out of the queue; its number."""
        size, at = len(self.turns), bisect_left(self.turns, turn)
        count = int(self._counts[at])
        if at < size - 1:
            self._counts[at : size - 1] = self._counts[at + 1 : size]
        del self.turns[at]
        return count


@dataclass(eq=False, slots=True)
class _Job:
    """What is kept of a job; lists have an entry for maps and one for reduces."""

    pool: int
    tasks: list[Ints] = field(default_factory=lambda: [np.zeros(0, dtype=np.int64) for _ in KINDS])
    waiting: list[int] = field(default_factory=lambda: [0, 0])
    running: list[int] = field(default_factory=lambda: [0, 0])
    finished: list[int] = field(default_factory=lambda: [0, 0])
    counts: list[int] = field(default_factory=lambda: [0, 0])
    #: Nodes of the reduces that run, each with how many.
    reduce_nodes: Counter[int] = field(default_factory=Counter)


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
        self._rng, self._draws = rng, Draws(rng)
        self._known = 0
        self._jobs: dict[int, _Job] = {}
        #: What each task counts as: its status when it was last heard of; and where each reduce runs.
        self._status = bytearray()
        self._reduce_node: dict[int, int] = {}
        #: Tasks that wait, in all jobs.
        self.waiting_tasks = [0, 0]
        self._distinct = bool(view.parameters.get("distinct", False))
        #: For maps and for reduces, the jobs of each pool that have a task waiting.
        self._queues: list[dict[int, Queue]] = [{} for _ in KINDS]
        #: Likewise of each such job its pool and its turn there.
        self.queued: list[dict[int, tuple[int, Turn]]] = [{} for _ in KINDS]
        #: Likewise the pools that have such jobs, sorted by their turn (`_share`).
        self._order: list[list[tuple[bool, int, int]]] = [[] for _ in KINDS]
        counted = view.group_running_tasks
        self._pool_running: list[defaultdict[int, int]] = [defaultdict(int) for _ in KINDS]
        self._pool_running[MAP].update(enumerate(np.maximum(counted, 0).tolist()))
        weights = [decimal(weight) for weight in np.nan_to_num(view.workload.group_weight, nan=1.0).tolist()]
        #: What a running task adds to a pool's share, in whole numbers that compare as 1 over the weights do; 0: never.
        common = math.lcm(*(weight.numerator for weight in weights if weight))
        parts = [weight and common * weight.denominator // weight.numerator for weight in weights]
        self._part: defaultdict[int, int] = defaultdict(lambda: common, enumerate(map(int, parts)))
        self._learn(view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self._learn(view)
        elif event.what != "node-changed":
            self._follow(event.index, view)

    def _learn(self, view: View) -> None:
        """Enter the tasks that are new in the view."""
        tasks = np.arange(self._known, len(view.workload))
        self._known = len(view.workload)
        self._status += view.status[tasks].astype(np.uint8).tobytes()
        self.learn(tasks[view.status[tasks] == PENDING], view)
        pools = np.append(view.workload.job_group, -1)  # a task without a job picks the last entry
        for job, positions in grouped(view.workload.job[tasks]):
            own = tasks[positions]
            if job not in self._jobs:
                self._jobs[job] = _Job(int(pools[job]), counts=[self.new_count(job), 0])
            entry = self._jobs[job]
            status = view.status[own]
            for kind in (MAP, REDUCE):
                ours = view.workload.kind[own] == kind
                waiting, running = own[ours & (status == PENDING)], own[ours & (status == RUNNING)]
                self.leave(job, kind)
                entry.tasks[kind] = np.append(entry.tasks[kind], waiting)
                entry.waiting[kind] += len(waiting)
                self.waiting_tasks[kind] += len(waiting)
                entry.running[kind] += len(running)
                entry.finished[kind] += int(np.count_nonzero(ours & (status == FINISHED)))
                self._pool_running[kind][entry.pool] += len(running)
                self.enter(job, kind)
                if kind == REDUCE:
                    self._reduce_node.update(zip(running.tolist(), view.node[running].tolist(), strict=True))
                    entry.reduce_nodes.update(view.node[running].tolist())
        for kind in (MAP, REDUCE):
            self._order[kind] = sorted(
                self._share(pool, kind) for pool, queue in self._queues[kind].items() if queue.turns
            )

    def learn(self, tasks: Ints, view: View) -> None:
        """Called with waiting tasks when they are new, before their jobs are; for what a policy keeps in addition."""

    def give_back(self, task: int, view: View) -> None:
        """Called with a task that waits again, before its job counts it; for what a policy keeps in addition."""

    def new_count(self, job: int) -> int:
        """What a policy counts of a job's maps in the queue (`Queue.counts`) at first."""
        return 0

    def _follow(self, task: int, view: View) -> None:
        """Count a task as what it is now."""
        before, now = self._status[task], int(view.status[task])
        if before == now:
            return
        job, kind = view.workload.job.item(task), view.workload.kind.item(task)
        entry = self._jobs[job]
        if now == PENDING:
            self.give_back(task, view)
        pool = self._pool_of(entry)
        share = self._share(pool, kind) if self._waits(pool, kind) else None
        self.leave(job, kind)
        self._count(entry, kind, before, -1)
        self._count(entry, kind, now, 1)
        if now == PENDING and task not in entry.tasks[kind]:
            entry.tasks[kind] = np.sort(np.append(entry.tasks[kind], task))
        self.enter(job, kind)
        self._reorder(pool, kind, share)
        self._status[task] = now
        if kind == REDUCE:
            self._follow_reduce(task, entry, view)

    def _waits(self, pool: int, kind: int) -> bool:
        """Whether a pool has a job with a task waiting."""
        return pool in self._queues[kind] and bool(self._queues[kind][pool].turns)

    def _count(self, entry: _Job, kind: int, status: int, more: int) -> None:
        """A task more, or less, is in a status."""
        if status == PENDING:
            entry.waiting[kind] += more
            self.waiting_tasks[kind] += more
        elif status == RUNNING:
            entry.running[kind] += more
            self._pool_running[kind][entry.pool] += more
        elif status == FINISHED:
            entry.finished[kind] += more

    def _reorder(self, pool: int, kind: int, share: tuple[bool, int, int] | None) -> None:
        """Put a pool where it belongs by now; `share` is where it stood, None: nowhere."""
        order = self._order[kind]
        after = self._share(pool, kind) if self._waits(pool, kind) else None
        if after != share:
            if share is not None:
                del order[bisect_left(order, share)]
            if after is not None:
                insort(order, after)

    def _follow_reduce(self, task: int, entry: _Job, view: View) -> None:
        """A reduce bars its job from the node that it runs on, as long as it runs."""
        left = self._reduce_node.pop(task, None)
        if left is not None:
            entry.reduce_nodes[left] -= 1
            if not entry.reduce_nodes[left]:
                del entry.reduce_nodes[left]
        if self._status[task] == RUNNING:
            node = self._reduce_node[task] = int(view.node[task])
            entry.reduce_nodes[node] += 1

    def _share(self, pool: int, kind: int) -> tuple[bool, int, int]:
        """The turn of a pool: what it runs over its weight (last where that is 0), then its number."""
        part = self._part[pool]
        return not part, part * self._pool_running[kind][pool], pool

    def _pool_of(self, entry: _Job) -> int:
        return entry.pool if self.pooled else 0

    def turn(self, job: int, kind: int) -> Turn:
        """Where a job stands in its queue."""
        return (0 if self.by_arrival else self._jobs[job].running[kind], job)

    def leave(self, job: int, kind: int) -> None:
        """Take a job out of its queue, if it is in one."""
        if (stood := self.queued[kind].pop(job, None)) is not None:
            pool, turn = stood
            self._jobs[job].counts[kind] = self._queues[kind][pool].leave(turn)

    def enter(self, job: int, kind: int) -> None:
        """Put a job into its queue, if a task of the kind waits."""
        entry = self._jobs[job]
        if entry.waiting[kind]:
            stands = self.queued[kind][job] = self._pool_of(entry), self.turn(job, kind)
            self.queue(stands[0], kind).enter(stands[1], entry.counts[kind])

    def waits_in(self, job: int, kind: int) -> int | None:
        """The pool in whose queue a job stands; None if no task of the kind waits."""
        stands = self.queued[kind].get(job)
        return None if stands is None else stands[0]

    def queue(self, pool: int, kind: int) -> Queue:
        """The queue of a pool."""
        queue = self._queues[kind].get(pool)
        if queue is None:
            queue = self._queues[kind][pool] = Queue()
        return queue

    def queues(self, kind: int) -> Iterator[tuple[int, Queue]]:
        """The pools that have a job with a task waiting, in order of who goes first, and their queues."""
        return ((pool, self._queues[kind][pool]) for _, _, pool in self._order[kind])

    def pools(self, offer: Offer) -> Iterator[Iterator[int]]:
        """The jobs that the offer's slot may serve, pool by pool, in order of who goes first.

        A job with a reduce on the node is left out for a reduce slot, if the problem wants them on distinct nodes.
        """
        for _, queue in self.queues(KINDS.index(offer.kind)):
            yield (job for _, job in queue.turns if self.may_run(job, offer))

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
        return self.drawn(self.waiting(job, kind, view))

    def drawn(self, values: Ints) -> int:
        """One of these, uniformly at random."""
        return int(values[self._draws.below(len(values))])

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        raise NotImplementedError
