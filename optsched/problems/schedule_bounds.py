"""Lower bounds of schedules, in integers: by counting alone, and of each job alone on the empty cluster.

What counts is the area of all slots, one machine as quick as all of them, and windows of time. Tasks that are released
at the beginning of a window or later, and end within it, fit into it side by side. What they take of the slots is
measured by a price for each node, and by a function of their lengths that no slot can beat.

`JobsAlone` poses the maps of each job near their data and far from it as a `latency` problem on slots. What is proved
of that problem holds for the job in every schedule. What rules a limit out is said by `Latency`.
"""

from __future__ import annotations

import heapq
from functools import cached_property
from typing import NamedTuple

import numpy as np

from optsched.core.arrays import contains
from optsched.core.instance import KINDS, MAP, REDUCE, Bools, Cluster, Instance, Ints, Ragged, Workload
from optsched.problems.base import exact_product, exact_sum
from optsched.problems.latency import Latency
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER


def area_makespan(problem: ScheduleProblem, kind: int) -> int:
    """When all tasks of a kind have ended at the earliest, by the room of all slots together; microseconds.

    From each release on, the slots have to do what is released then or later, and what still runs then.
    """
    slots = int(problem.room[KINDS[kind]].sum())
    own = problem.kind == kind
    work = problem.least_times[own]
    release = problem.release[own]
    busy = problem.running_of(kind)[1]
    latest = problem.now
    if not slots:
        return latest
    for begin in np.unique(np.append(release, problem.now)).tolist():
        area = exact_sum(work[release >= begin]) + exact_sum(np.maximum(busy - begin, 0))
        if area:
            latest = max(latest, begin - (-area // slots))
    return latest


def work_by_job(problem: ScheduleProblem, kind: int) -> tuple[Ints, Ints]:
    """The least work of the slots of a kind for each job, and from when on it may be done; int64, shape (jobs,) each.

    Microseconds of one slot, 0 where the job has nothing of the kind; and the earliest microsecond at which some may
    run.
    """
    own = np.flatnonzero(problem.kind == kind)
    _, until, running = problem.running_of(kind)
    work = np.zeros(len(problem.jobs), dtype=np.int64)
    np.add.at(work, problem.jobs.of_task[problem.tasks[own]], problem.least_times[own])
    np.add.at(work, running, until - problem.now)
    release = np.maximum(problem.jobs.arrival, problem.now)
    release[running] = problem.now
    return work, release


def fluid_ends(work: Ints, release: Ints, slots: int) -> list[int]:
    """When jobs end on one machine as quick as all slots, the shortest remaining first: microseconds times `slots`.

    At every instant as many have ended as under any other rule (Schrage 1968). `work` is in microseconds of one slot;
    it may run from `release` on, 0 or more.

    >>> fluid_ends(np.array([8, 2]), np.array([0, 1]), 2)
    [4, 10]
    """
    order = np.argsort(release, kind="stable").tolist()
    left: list[tuple[int, int]] = []
    ends: list[int] = []
    sizes, releases = work.tolist(), release.tolist()
    clock, position = 0, 0  # the clock counts microseconds over the number of slots
    while left or position < len(order):
        if not left:
            clock = max(clock, releases[order[position]] * slots)
        while position < len(order) and releases[order[position]] * slots <= clock:
            heapq.heappush(left, (sizes[order[position]], order[position]))
            position += 1
        amount, job = heapq.heappop(left)
        until = releases[order[position]] * slots if position < len(order) else clock + amount
        done = min(amount, until - clock)
        clock += done
        if done == amount:
            ends.append(clock)
        else:
            heapq.heappush(left, (amount - done, job))
    return ends


class Window(NamedTuple):
    """A time in which tasks of a kind run, and how what they take is measured.

    Tasks count that may not start before `begin`, and must end by `end`, which is later; microseconds. With `function`
    0 tasks count as long as they are, with k of 1 or more by `lengths`. `prices` are what a node's time costs: int64,
    shape (nodes,), 0 or more; None: 1 everywhere.
    """

    kind: int
    begin: int
    end: int
    function: int = 0
    prices: Ints | None = None


def lengths(times: Ints, window: int | Ints, function: int) -> Ints:
    """The lengths of tasks on a slot that has `window` microseconds: `lengths(window)` or less together.

    With function 0 it is their time. With k it is u^(k) of Fekete and Schepers (2001), a dual feasible function, times
    k times the window: the time itself where (k + 1) of it fill windows without a rest, else what is rounded down to
    such times. So of tasks that fit just twice one counts as half a slot, for any time that they leave. What is longer
    than the window counts as 2^60.

    >>> lengths(np.array([4, 5, 6, 10, 11]), 10, 1).tolist()
    [0, 5, 10, 10, 1152921504606846976]
    >>> lengths(np.array([4, 5]), 10, 2).tolist()
    [10, 10]
    """
    within = np.minimum(times, window)
    if function:
        more = (function + 1) * within
        whole = more // window
        within = np.where(more == whole * window, function * within, window * whole)
    return np.where(times <= window, within, NEVER)


def too_short(window: Window) -> str | None:
    """Why a window cannot be measured in 64 bits, or None: the count of a task that fits must be below 2^60."""
    price = 1 if window.prices is None else max(1, int(window.prices.max(initial=0)))
    if (window.function + 1) * (window.end - window.begin) * price < NEVER:
        return None
    return "prices, function and length of the window multiply to 2^60 or more"


def tails(problem: ScheduleProblem) -> Ints:
    """Microseconds that the reduces of each job take at least, after the maps that they wait for; shape (jobs,)."""
    found = np.zeros(len(problem.jobs), dtype=np.int64)
    reduces = problem.kind == REDUCE
    np.maximum.at(found, problem.jobs.of_task[problem.tasks[reduces]], problem.least_times[reduces])
    found[problem.maps_before_reduces == 0] = 0
    return found


def tails_after_all(problem: ScheduleProblem) -> Ints:
    """The same after the last of the job's maps; 0 if some reduce does not wait for all that are left, or none is."""
    left = np.concatenate([problem.tasks, problem.running])
    maps = left[problem.instance.workload.kind[left] == MAP]
    count = np.bincount(problem.jobs.of_task[maps], minlength=len(problem.jobs))
    return np.where(problem.maps_before_reduces == count, tails(problem), 0)


def counted(problem: ScheduleProblem, window: Window) -> Bools:
    """Which of `tasks` a window is about; shape (tasks,)."""
    found: Bools = (problem.kind == window.kind) & (problem.earliest_starts >= window.begin)
    return found


def demand(problem: ScheduleProblem, window: Window) -> tuple[int | None, int]:
    """The demand of tasks in a window, None if one does not fit, and its supply; it is not `too_short` for its prices.

    The tasks of jobs that all end by `end` need no more than there is. Proof: the tasks that count run side by side
    within the window, so that those on a slot of node n, with a running task before them, have `lengths` of no more
    than a slot's. Each costs its node's price for that at least.
    """
    long, room = window.end - window.begin, problem.room[KINDS[window.kind]]
    prices = np.ones(len(room), dtype=np.int64) if window.prices is None else window.prices
    whole = int(lengths(np.array([long]), long, window.function)[0])
    nodes, until, _ = problem.running_of(window.kind)
    held = lengths(np.clip(until - window.begin, 0, long), long, window.function)
    there = whole * exact_product(prices, room) - exact_product(prices[nodes], held)
    tasks = np.flatnonzero(counted(problem, window))
    taken = problem.times.cheapest(prices, room > 0, lambda times: lengths(times, long, window.function))[tasks]
    return None if (taken >= NEVER).any() else exact_sum(taken), there


def ruled_out(problem: ScheduleProblem, window: Window) -> bool:
    """Whether no schedule ends by the end of a window: the tasks need more than there is."""
    need, room = demand(problem, window)
    return need is None or need > room


class JobAlone(NamedTuple):
    """The maps of a job (its number) that wait, as tasks of a `latency` problem whose servers are slots.

    In `posed` loads and work count in units, and tasks have their ids; `node` is that of each server. Microseconds are
    `release`, from which on the maps may run, those of a `unit`, and `tail`, what the job's reduces take at least after
    the last map.
    """

    job: int
    posed: Latency
    node: Ints
    release: int
    unit: int
    tail: int

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
        return tails_after_all(self.problem)

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
