"""Lower bounds of schedules, in integers: by counting, by each job alone, and by prices of slots by time.

Counting looks at the area of all slots (`area_makespan`), at one machine as quick as all of them (`fluid_ends`), and at
windows of time (`Window`). Tasks that are released at the beginning of a window or later, and end within it, fit into
it side by side. What they take of the slots is measured by a price for each node, and by a function of their lengths
that no slot can beat.

`JobsAlone` poses the maps of each job near their data and far from it as a `latency` problem on slots. What is proved
of that problem holds for the job in every schedule. What rules a limit out is said by `Latency`.

Prices of slots by time (`PricedTime`) are what each job pays for its time and slots at least. Time goes in steps of
equal length there. Lengths, releases and ends of running tasks are rounded down to steps, which no schedule is the
worse for: were each slot's tasks to follow one another as before, all would end no later. `JobEnds` is what a tree of
cases needs of `job-times` (`problems.relaxations.Relaxation`): cases are parted by when a job ends, and each is settled
by prices of slots of its own.
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
        workload = Workload(problem.task_ids[tasks], replicas=self._on(replicas, data, node[slots]))
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
        values = np.repeat(begin[at], lengths) + places_in(lengths)
        per_task = np.bincount(replicas.row_of, weights=lengths, minlength=len(replicas)).astype(np.int64)
        return Ragged.of_lengths(per_task, values)


# Prices of slots by time ----------------------------------------------------------------------------------------------

#: More than any cost.
_NEVER = 2**61

#: No sum of prices or weights may be more.
_MOST = 2**57

#: Steps that time may have, with what follows the last price.
_STEPS = 10**6

#: Costs that are compared: tasks one after another, of each class, times steps.
_COUNTS = 10**8


class TimePrices(NamedTuple):
    """The prices of a slot for maps and for reduces in each step of time: int64, 0 or more; later slots cost nothing.

    A step is so many microseconds, 1 or more. `scale` units of price are one job's waiting for one step.
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
    """The tasks of a problem in steps (microseconds) of time, to be priced.

    Every slot of a kind is like every other one here, and every task takes its least time. Each kind with tasks must
    have a slot. `ends` is when each job ends at the earliest, as is proved (microseconds, shape (jobs,)); by default
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
        """How many steps are looked at: after the last price each job may run its tasks for nothing."""
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
        """Whether prices show that not all jobs end within `by` steps, even if waiting costs nothing.

        The jobs would then pay more for slots than all slots cost. That is never so within all `steps`, since all can
        then run when slots cost nothing.
        """
        box = Box(*np.full((2, len(self.classes)), by))
        return self.least(prices._replace(scale=0), box, by)[0] > 0

    def value(self, units: int) -> Number:
        """The sum of job times in seconds that a sum of payments proves; of `job-times`."""
        late = Fraction(units * self.step, self._below)
        whole = ceil(late / self._unit) * self._unit if self._unit else late
        return exact(Fraction(whole + self._waited()), MICRO)

    def limit_of(self, value: Number) -> int:
        """The least sum of payments, at a scale of 1, that proves that no schedule is better than `value` seconds.

        It is where `value` returns this value. Jobs must have some weight.
        """
        late = (Fraction(value) * MICRO - self._waited() - self._unit) * self._below / self.step
        return floor(late) + 1

    def limit_after(self, value: Number) -> int:
        """The least sum that proves that every schedule costs more than `value` seconds."""
        return self.limit_of(value + Fraction(self._unit) / MICRO)

    def _waited(self) -> Number:
        """The waiting of all jobs by the snapshot, times their weights; microseconds."""
        waited = (self.problem.now - self.problem.jobs.arrival).tolist()
        return sum((weight * time for weight, time in zip(self.problem.job_weights, waited, strict=True)), Fraction(0))

    def least(self, prices: TimePrices, box: Box, steps: int) -> tuple[int, list[Ints]]:
        """The least payments of all jobs that end within a box, less what all slots cost; and those of each, by end.

        In every schedule jobs pay no more for slots than all slots cost, so that no schedule costs less. Prices are
        not `too_large`; jobs end within `steps`, and slots cost nothing after that. What a job cannot have costs 2^61
        or more.
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
        """How often prices are compared in each step: once for each task of a class on its fullest slot."""
        return sum(-(-each.count // self._slots(each)) for job in self.classes for each in job)

    def _slots(self, each: SlotClass) -> int:
        """The slots that the tasks of a class may have; those of no length need none, and have one each."""
        return self.slots[each.kind] if each.length else each.count

    def _priced(self, each: SlotClass, sums: Ints) -> Ints:
        """The least cost of the tasks of a class, by the step at which all have ended, and their tail.

        On one slot k tasks cost f(k), which is convex: the starts and the steps in which they run make an interval
        matrix. So no way to spread them over all slots of the kind costs less than to do it evenly.
        """
        slots, begins = self._slots(each), len(sums) - each.length
        waves = -(-each.count // slots)
        fullest = each.count - (waves - 1) * slots  # so many slots have a task more than the others
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


#: Costs that are compared to settle a box once; they are held together.
_BOX_COUNTS = 10**7

#: Costs that are compared to settle all boxes of a tree, so that nobody waits for hours to check one; see `work`.
MOST_WORK = 10**9

#: Comparing costs for the first time takes as long as comparing this many.
_BEGUN = 500


class JobEnds(PricedTime):
    """All schedules whose jobs' ends cost less than a limit, by the steps in which jobs end; a `Relaxation`.

    A variable of a box is the step in which a job ends: what a schedule is rounded down to. Costs are steps until then,
    times weights, of all jobs together. Schedules that cost `limit` or more do not count.

    Examples
    --------
    Two jobs of 2 s on one slot: the first to end has the slot for its own, and the other one waits for it. That is 6 s,
    as prices of 1 show in every one of the first 2 steps: the jobs pay 4 each for time and slots, less 2 for all slots.

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
        """Each job ends at the earliest as if all slots were its own, and at the latest as late as the limit allows.

        When a job without weight ends does not matter, and its values are not looked at.
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
        """How long it takes to settle a box by prices, as a number of costs that are compared."""
        return self._compared(prices) + _BEGUN * (self.waves + len(self.alone))

    def _compared(self, prices: TimePrices) -> int:
        """How many costs are compared, and held, to settle a box; at most."""
        return (self.waves + len(self.alone)) * max(self._latest, self.steps(prices.prices))

    def settle(self, box: Box, multipliers: TimePrices, limit: int) -> int | None:
        """A lower bound of the cost of a schedule's jobs that ends in the box; see `Relaxation.settle`.

        The box is narrowed by what no schedule has that costs less than `limit`, which is no more than that of all. The
        multipliers are prices of slots that are not `too_large`. With the scale 0 the prices
        are a ray: where jobs pay more than all slots cost, nothing is in the box.
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
