"""Lower bounds of schedules, in integers: by counting, by each job alone, and by prices of slots over time.

Counting uses the area of all slots (`area_makespan`), one machine as fast as all of them (`fluid_ends`), and prices of
nodes within a window of time (`Window`).

`JobsAlone` poses the maps of each job, near their data or far from it, as a `latency` problem on slots. What is proved
about that problem holds for the job in every schedule. `Latency` proves that a limit is too low.

Prices of slots over time (`PricedTime`) bound what each job pays for its time and slots. There, time has steps of equal
length. Lengths, releases and ends of running tasks are rounded down to steps. No schedule gets worse by that: if the
tasks of each slot follow one another as before, all end no later. `JobEnds` is the relaxation of `job-times` for a tree
of cases (`problems.relaxations.Relaxation`): the end of a job separates cases, and each has its own prices of slots.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, gcd, lcm
from typing import NamedTuple

import numpy as np

from optsched.core.arrays import contains, places_in
from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP, REDUCE, Bools, Cluster, Instance, Ints, Ragged, Workload
from optsched.core.placement import MICRO
from optsched.core.results import Number
from optsched.problems.base import exact, exact_product, exact_sum
from optsched.problems.latency import Latency
from optsched.problems.relaxations import Box
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER


def area_makespan(problem: ScheduleProblem, kind: int, starts: Ints) -> int:
    """The earliest time at which all tasks of a kind can have ended, by the room of all slots together; microseconds.

    From each instant on, the slots must do what may start only then or later, and what still runs then. `starts` is
    when each of `tasks` may start at the earliest: int64, shape (tasks,).
    """
    slots = int(problem.room[KINDS[kind]].sum())
    own = problem.kind == kind
    work, start = problem.least_times[own], starts[own]
    busy = problem.running_of(kind)[1]
    latest = problem.now
    if not slots:
        return latest
    for begin in np.unique(np.append(start, problem.now)).tolist():
        area = exact_sum(work[start >= begin]) + exact_sum(np.maximum(busy - begin, 0))
        if area:
            latest = max(latest, begin - (-area // slots))
    return latest


def work_by_job(problem: ScheduleProblem, kind: int) -> tuple[Ints, Ints]:
    """The least work for the slots of a kind of each job, and when it may start; int64, shape (jobs,) each.

    Microseconds of one slot, 0 if the job has nothing of the kind; and the earliest microsecond at which some of it may
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
    """The ends of jobs on one machine as fast as all slots, the shortest remaining first: microseconds times `slots`.

    At every instant as many jobs have ended as under any other rule (Schrage 1968). `work` is in microseconds of one
    slot; it may run from `release` on, 0 or more.

    >>> fluid_ends(np.array([8, 2]), np.array([0, 1]), 2)
    [4, 10]
    """
    order = np.argsort(release, kind="stable").tolist()
    left: list[tuple[int, int]] = []
    ends: list[int] = []
    sizes, releases = work.tolist(), release.tolist()
    clock, position = 0, 0  # the clock counts microseconds divided by the number of slots
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
    """The time from the snapshot until `end` (microseconds), in which all tasks of a kind run, and prices of nodes.

    `prices` is the cost of time on each node: int64, shape (nodes,), 0 or more.
    """

    kind: int
    end: int
    prices: Ints


def too_dear(problem: ScheduleProblem, window: Window) -> bool:
    """Whether a task that fits into a window may cost 2^60 or more."""
    return (window.end - problem.now) * int(window.prices.max(initial=1)) >= NEVER


def tails(problem: ScheduleProblem) -> Ints:
    """The least microseconds that each job's reduces take after the maps that they wait for; shape (jobs,)."""
    found = np.zeros(len(problem.jobs), dtype=np.int64)
    reduces = problem.kind == REDUCE
    np.maximum.at(found, problem.jobs.of_task[problem.tasks[reduces]], problem.least_times[reduces])
    found[problem.maps_before_reduces == 0] = 0
    return found


def tails_after_all(problem: ScheduleProblem) -> Ints:
    """The same after the last of the job's maps; 0 if no reduce waits for all remaining maps."""
    left = np.concatenate([problem.tasks, problem.running])
    maps = left[problem.instance.workload.kind[left] == MAP]
    count = np.bincount(problem.jobs.of_task[maps], minlength=len(problem.jobs))
    return np.where(problem.maps_before_reduces == count, tails(problem), 0)


def demand(problem: ScheduleProblem, window: Window) -> tuple[int | None, int]:
    """The demand of tasks in a window (None if one does not fit) and its supply; it must not be `too_dear`.

    If all jobs end by `end`, their demand is at most the supply. Proof: the tasks run side by side within the window.
    So those on a slot, after its running task, take together at most its time. Each costs at least its node's price for
    that.
    """
    long, room = window.end - problem.now, problem.room[KINDS[window.kind]]
    nodes, until, _ = problem.running_of(window.kind)
    held = np.minimum(until - problem.now, long)
    there = long * exact_product(window.prices, room) - exact_product(window.prices[nodes], held)
    taken = problem.times.cheapest(window.prices, room > 0, long)[problem.kind == window.kind]
    return None if (taken >= NEVER).any() else exact_sum(taken), there


def ruled_out(problem: ScheduleProblem, window: Window) -> bool:
    """Whether no schedule ends by the end of a window: demand exceeds supply."""
    need, room = demand(problem, window)
    return need is None or need > room


class JobAlone(NamedTuple):
    """The waiting maps of a job (its number), as tasks of a `latency` problem whose servers are slots.

    In `posed`, loads and work count in units, and tasks have their ids; `node` is the node of each server. In
    microseconds: `release`, when the maps may start, the length of a `unit`, and `tail`, the least time of the job's
    reduces after the last map.
    """

    job: int
    posed: Latency
    node: Ints
    release: int
    unit: int
    tail: int

    def servers(self, nodes: Bools) -> Bools:
        """The slots with data of some nodes (bool, shape (nodes,)); shape (servers,)."""
        return np.asarray(nodes[self.node] & (self.posed.server_tasks.lengths > 0))

    def nodes(self, servers: Bools, limit: int, nodes: int) -> Bools:
        """The nodes whose slots with data and room within `limit` are all among `servers`; bool, shape (nodes,).

        A cover of servers (bool, shape (servers,)) is no stronger than these nodes. If it lacks a slot with room, all
        tasks with data on the node count already, and other slots of the node only add to that.
        """
        holds = (self.posed.server_tasks.lengths > 0) & (self.posed.local_capacity(limit) > 0)
        inside, outside = (np.bincount(self.node[holds & which], minlength=nodes) for which in (servers, ~servers))
        return np.asarray((inside > 0) & (outside == 0))


class JobsAlone:
    """The jobs of a problem, each alone with what runs at the snapshot. Waiting maps need a slot for maps.

    Examples
    --------
    Three maps of 4 s have their data on `a`, and take 8 s elsewhere. One alone takes 4 s; all three take 12 s of two
    slots. But by 7 s there is room for only one of them on `a`, and for none on `b`.

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
        """The node of each slot for maps, and when it becomes free; in that order."""
        node, busy, _ = self.problem.slots(MAP)
        order = np.argsort(busy, kind="stable")
        return node[order], busy[order]

    @cached_property
    def _slots_of(self) -> Ragged:
        """The slots of each node, those that become free first in front."""
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
        """For each job the positions of its waiting maps that take some time on every node."""
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
        """A time by which each job's maps and its tail can have ended alone; `now` without maps; shape (jobs,).

        The maps are spread over all slots, or over the idle ones, as if all were far from their data. No proved bound
        of a job alone is beyond that.
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
        """A job's counted tasks plus its pairs of a task and a slot with its data: the effort of examining it."""
        tasks = self._tasks[job]
        room = self.problem.room[KINDS[MAP]]
        return len(tasks) + int(room[self.problem.replicas.take(tasks).values].sum())

    def posed(self, job: int) -> JobAlone | None:
        """A job alone; None if it has no waiting maps that take some time, or no slots for them.

        A map takes the least time of any map near its data, or of any far from it. Among slots of a node that are free
        at the same time, no more are kept than there are tasks with data there. Further slots stand for slots anywhere,
        no more than there are tasks. In a schedule of the job alone, slots that are free at the same time can be
        exchanged on a node; slots for maps far from their data can also be exchanged between nodes for others that are
        free no later. So no end gets later.
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
        workload = Workload(problem.task_ids[tasks], replicas=self._on(replicas, data, node[slots]))
        cluster = Cluster(np.arange(len(servers)).astype(np.str_))
        instance = Instance.initial(cluster, workload, load=load // unit, name=problem.instance.name)
        posed = Latency(instance, w_loc=w_loc // unit, w_rem=w_rem // unit)
        return JobAlone(job, posed, node[servers], release, unit, int(self._tails[job]))

    def _with_data(self, data: Ints, wanted: Ints, release: int) -> Ints:
        """Slots of nodes with data, by node: among those free at the same time, as many as there are tasks."""
        slots = self._slots_of.take(data)
        free = np.maximum(self._slots[1][slots.values], release)
        row = slots.row_of
        begins = np.append(True, (row[1:] != row[:-1]) | (free[1:] != free[:-1]))[: len(row)]
        place = np.arange(len(row))
        rank = place - np.maximum.accumulate(np.where(begins, place, 0))
        return np.asarray(slots.values[rank < wanted[row]])

    @staticmethod
    def _on(replicas: Ragged, data: Ints, node: Ints) -> Ragged:
        """Replicas on nodes as replicas on the first servers, which are sorted by node and lie only on these nodes."""
        at = np.searchsorted(data, replicas.values)
        begin = np.searchsorted(node, data)
        number = np.searchsorted(node, data, side="right") - begin
        lengths = number[at]
        values = np.repeat(begin[at], lengths) + places_in(lengths)
        per_task = np.bincount(replicas.row_of, weights=lengths, minlength=len(replicas)).astype(np.int64)
        return Ragged.of_lengths(per_task, values)


# Prices of slots by time ----------------------------------------------------------------------------------------------

#: More than any cost.
_NEVER = 2**61

#: The largest allowed sum of prices or weights.
_MOST = 2**57

#: The most steps of time, including those after the last price.
_STEPS = 10**6

#: The most costs that are compared: tasks one after another, of each class, times steps.
_COUNTS = 10**8


class TimePrices(NamedTuple):
    """The prices of a slot for maps and for reduces in each step of time: int64, 0 or more; later slots are free.

    A step has this many microseconds, at least 1. `scale` units of price are one job's waiting for one step.
    """

    step: int
    scale: int
    prices: tuple[Ints, Ints]


@dataclass(frozen=True)
class SlotClass:
    """Tasks of a job of one kind and length, in steps."""

    kind: int
    length: int
    count: int
    release: int
    tail: int


class PricedTime:
    """The tasks of a problem in steps (microseconds) of time, for pricing.

    Here all slots of a kind are alike, and every task takes its least time. Each kind with tasks must have a slot.
    `ends` is a proved earliest end of each job (microseconds, shape (jobs,)); by default
    `ScheduleProblem.earliest_completions`.
    """

    def __init__(self, problem: ScheduleProblem, step: int, ends: Ints | None = None) -> None:
        self.problem, self.step = problem, step
        self.slots = tuple(int(problem.room[name].sum()) for name in KINDS)
        self._below = lcm(*(Fraction(weight).denominator for weight in problem.job_weights))
        self.weights = [int(weight * self._below) for weight in problem.job_weights]
        self._unit = Fraction(gcd(*self.weights), self._below) * problem.lattice
        earliest = problem.earliest_completions if ends is None else ends
        self.alone: list[int] = ((earliest - problem.now) // step).tolist()
        self.classes = self._grouped()
        self.busy = tuple((problem.running_of(kind)[1] - problem.now) // step for kind in range(len(KINDS)))

    def _grouped(self) -> list[list[SlotClass]]:
        """The tasks of each job."""
        problem = self.problem
        job = problem.jobs.of_task[problem.tasks]
        release = (problem.earliest_starts - problem.now) // self.step
        rows = np.stack([job, problem.kind, problem.least_times // self.step, release])
        groups, counts = np.unique(rows, axis=1, return_counts=True)
        after = (tails_after_all(problem) // self.step).tolist()
        found: list[list[SlotClass]] = [[] for _ in range(len(problem.jobs))]
        for (of, kind, length, begin), count in zip(groups.T.tolist(), counts.tolist(), strict=True):
            found[of].append(SlotClass(kind, length, count, begin, after[of] if kind == MAP else 0))
        return found

    def steps(self, prices: Sequence[Ints]) -> int:
        """How many steps are examined: after the last price each job may run its tasks for free."""
        classes = [each for job in self.classes for each in job]
        last = max([len(column) for column in prices] + [each.release for each in classes], default=0)
        longest = [(each.count // self.slots[each.kind] + 1) * each.length + each.tail for each in classes]
        found: int = max([last + max(longest, default=0), *self.alone]) + 1
        return found

    def too_large(self, prices: TimePrices, until: int = 0) -> str | None:
        """Why prices cannot be used, or None; with jobs that end within `until` steps at the latest."""
        steps = max(until, self.steps(prices.prices))
        if steps > _STEPS:
            return f"there are {steps} steps of time, more than {_STEPS}"
        compared = self.waves * steps
        if compared > _COUNTS:
            return f"{compared} costs would have to be compared, more than {_COUNTS}"
        most = max([1, *(each.count for job in self.classes for each in job), *self.slots])
        paid = sum(sum(column.tolist()) for column in prices.prices) * most
        if paid > _MOST or prices.scale * steps * max([1, *self.weights]) > _MOST:
            return "prices, scale and weights are too large: their sums must be at most 2^57"
        return None

    def rules_out(self, prices: TimePrices, by: int) -> bool:
        """Whether prices prove that not all jobs end within `by` steps, even if waiting is free.

        The jobs would then pay more for slots than all slots cost. That never holds for all `steps`, since all jobs can
        run while slots are free.
        """
        box = Box(*np.full((2, len(self.classes)), by))
        return self.least(prices._replace(scale=0), box, by)[0] > 0

    def value(self, units: int) -> Number:
        """The sum of job times in seconds that a sum of payments proves; only for `job-times`."""
        late = Fraction(units * self.step, self._below)
        whole = ceil(late / self._unit) * self._unit if self._unit else late
        return exact(Fraction(whole + self._waited()), MICRO)

    def limit_of(self, value: Number) -> int:
        """The least sum of payments, at a scale of 1, that proves that no schedule is better than `value` seconds.

        For it, `value` returns this value. Jobs must have some weight.
        """
        late = (Fraction(value) * MICRO - self._waited() - self._unit) * self._below / self.step
        return floor(late) + 1

    def limit_after(self, value: Number) -> int:
        """The least sum that proves that every schedule costs more than `value` seconds."""
        return self.limit_of(value + Fraction(self._unit) / MICRO)

    def _waited(self) -> Number:
        """The waiting of all jobs before the snapshot, times their weights; microseconds."""
        waited = (self.problem.now - self.problem.jobs.arrival).tolist()
        return sum((weight * time for weight, time in zip(self.problem.job_weights, waited, strict=True)), Fraction(0))

    def least(self, prices: TimePrices, box: Box, steps: int) -> tuple[int, list[Ints]]:
        """The least payments of all jobs that end within a box, less the cost of all slots; and each job's, by end.

        In every schedule jobs pay no more for slots than all slots cost, so no schedule costs less. Prices must not be
        `too_large`; jobs end within `steps`, and slots are free after that. Impossible ends cost 2^61 or more.
        """
        total, sums, parts = 0, [], []
        for kind, priced in enumerate(prices.prices):
            column = priced[:steps]
            sums.append(np.concatenate([[0], np.cumsum(column), np.full(steps - len(column), column.sum())]))
            total += int(sums[kind][np.minimum(self.busy[kind], steps)].sum()) - self.slots[kind] * int(column.sum())
        for job, (lower, upper) in enumerate(zip(box.lower.tolist(), box.upper.tolist(), strict=True)):
            cost = np.zeros(steps + 1, dtype=np.int64)
            cost[: self.alone[job]] = _NEVER
            for each in self.classes[job]:
                cost = np.minimum(cost + self._priced(each, sums[each.kind]), _NEVER)
            waiting = prices.scale * self.weights[job] * np.arange(lower, upper + 1, dtype=np.int64)
            parts.append(cost[lower : upper + 1] + waiting)
            total += int(parts[-1].min())
        return total, parts

    @cached_property
    def waves(self) -> int:
        """The number of comparisons of prices in each step: one for each task of a class on its fullest slot."""
        return sum(-(-each.count // self._slots(each)) for job in self.classes for each in job)

    def _slots(self, each: SlotClass) -> int:
        """The number of slots for the tasks of a class; tasks of length 0 need none, and have one each."""
        return self.slots[each.kind] if each.length else each.count

    def _priced(self, each: SlotClass, sums: Ints) -> Ints:
        """The least cost of the tasks of a class, by the step at which all of them and their tail have ended.

        On one slot k tasks cost f(k), which is convex: starts and running steps form an interval matrix. So spreading
        the tasks evenly over all slots of the kind is cheapest.
        """
        slots, begins = self._slots(each), len(sums) - each.length
        waves = -(-each.count // slots)
        fullest = each.count - (waves - 1) * slots  # this many slots have one more task than the others
        less = more = np.zeros(len(sums), dtype=np.int64)  # f(k - 1) and f(k)
        for _ in range(waves):
            check()
            less, more = more, np.full(len(sums), _NEVER, dtype=np.int64)
            if begins > 0:
                by_start = np.minimum(less[:begins] + sums[each.length :] - sums[:begins], _NEVER)
                by_start[: each.release] = _NEVER
                more[each.length :] = np.minimum.accumulate(by_start)
        barred = more >= _NEVER
        cost = (slots - fullest) * np.where(barred, 0, less) + fullest * np.where(barred, 0, more)
        cost[barred] = _NEVER
        tail = min(each.tail, len(cost))
        return np.concatenate([np.full(tail, _NEVER), cost[: len(cost) - tail]])


#: Costs that are compared to settle a box once; all are in memory together.
_BOX_COUNTS = 10**7

#: The most comparisons of costs to settle all boxes of a tree, so that no check takes hours; see `work`.
MOST_WORK = 10**9

#: The first comparison of costs takes as long as this many.
_BEGUN = 500


class JobEnds(PricedTime):
    """All schedules whose jobs' ends cost less than a limit, by the steps in which jobs end; a `Relaxation`.

    A variable of a box is the step in which a job ends, rounded down. The cost is the number of steps until then, times
    weights, over all jobs. Schedules that cost `limit` or more do not count.

    Examples
    --------
    Two jobs of 2 s on one slot: the first to end has the slot for itself, and the other one waits. That is 6 s, as
    prices of 1 in each of the first 2 steps show: the jobs pay 4 each for time and slots, less 2 for all slots.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.job_times import JobTimes
    >>> problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 2])))
    >>> ends = JobEnds(problem, 10**6, 6)
    >>> ends.box.upper.tolist(), ends.settle(ends.box, TimePrices(10**6, 1, (np.array([1, 1]), np.zeros(0))), 6)
    ([3, 3], 6)
    """

    def __init__(self, problem: ScheduleProblem, step: int, limit: int, ends: Ints | None = None) -> None:
        super().__init__(problem, step, ends)
        self.limit = limit
        self._latest = int(self.box.upper.max(initial=0))  # the last step in which a job ends

    @property
    def box(self) -> Box:
        """Each job ends between its earliest end, as if all slots were its own, and the latest that the limit allows.

        The end of a job without weight does not matter, and its values are ignored.
        """
        spare = max(-1, self.limit - 1 - sum(w * end for w, end in zip(self.weights, self.alone, strict=True)))
        later = [spare // weight if weight else min(spare, 0) for weight in self.weights]
        lower = np.array(self.alone, dtype=np.int64)
        return Box(lower, lower + np.array(later, dtype=np.int64))

    def too_large(self, prices: TimePrices, until: int = 0) -> str | None:
        """Why prices cannot be used, or None."""
        wrong = super().too_large(prices, max(until, self._latest))
        if wrong is None and self._compared(prices) > _BOX_COUNTS:
            wrong = f"{self._compared(prices)} costs would have to be compared for each box, more than {_BOX_COUNTS}"
        return wrong

    def work(self, prices: TimePrices) -> int:
        """The effort of settling a box by prices, as a number of comparisons of costs."""
        return self._compared(prices) + _BEGUN * (self.waves + len(self.alone))

    def _compared(self, prices: TimePrices) -> int:
        """How many costs are compared, and in memory, to settle a box; at most."""
        return (self.waves + len(self.alone)) * max(self._latest, self.steps(prices.prices))

    def settle(self, box: Box, multipliers: TimePrices, limit: int) -> int | None:
        """A lower bound of the cost of a schedule's jobs that ends in the box; see `Relaxation.settle`.

        Narrowing removes only schedules that cost `limit` or more; `limit` is at most the limit of the relaxation. The
        multipliers are prices of slots that are not `too_large`. With the scale 0 they are a ray: if jobs pay more than
        all slots cost, the box is empty.
        """
        if box.empty:
            return limit
        steps, weighed = int(box.upper.max(initial=0)), np.array(self.weights, dtype=np.int64) > 0
        if not weighed.all():
            steps = max(steps, self.steps(multipliers.prices))
        looked_at = Box(np.where(weighed, box.lower, 0), np.where(weighed, box.upper, steps))
        total, parts = self.least(multipliers, looked_at, steps)
        slack = multipliers.scale * (limit - 1) - total
        if slack < 0:
            return limit
        for job in np.flatnonzero(weighed).tolist():
            kept = np.flatnonzero(parts[job] <= parts[job].min() + slack)
            box.lower[job], box.upper[job] = box.lower[job] + kept[0], box.lower[job] + kept[-1]
        return -(-total // multipliers.scale) if multipliers.scale else None
