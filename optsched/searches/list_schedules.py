"""Schedules that are found at once: the slot that is free first takes a task of the first job that has one.

This is list scheduling (Graham 1969) with an order of jobs and a rule for locality. It begins what the searches and
models of the problems over time go on with, and gives them an instant by which all can have ended.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from optsched.core.arrays import Ints
from optsched.core.deadline import check
from optsched.core.instance import MAP, REDUCE
from optsched.core.schedule import Schedule
from optsched.problems.schedules import NEVER, ScheduleProblem
from optsched.searches.left_shift import slots_by_node

__all__ = ["ORDERS", "list_schedule", "list_schedules"]


def _by_arrival(problem: ScheduleProblem) -> Ints:
    """The first to arrive first."""
    return np.argsort(problem.jobs.arrival, kind="stable")


def _by_work(problem: ScheduleProblem) -> Ints:
    """The least work first, by least times of what waits, for its weight where jobs have one."""
    work = np.zeros(len(problem.jobs), dtype=np.float64)
    np.add.at(work, problem.jobs.of_task[problem.tasks], problem.least_times)
    weights = np.array([float(weight) for weight in getattr(problem, "weights", [1] * len(work))])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.argsort(np.where(weights > 0, work / weights, np.inf), kind="stable")


def _by_length(problem: ScheduleProblem) -> Ints:
    """The one that ends last, were all slots its own, first."""
    return np.argsort(-problem.earliest_completions, kind="stable")


#: Orders of jobs by name: of each problem the rows of `problem.jobs`, the first to be served first.
ORDERS: Mapping[str, Callable[[ScheduleProblem], Ints]] = MappingProxyType(
    {"arrival": _by_arrival, "least-work": _by_work, "longest": _by_length}
)


def list_schedules(problem: ScheduleProblem) -> Iterator[Schedule]:
    """The schedules by every order of `ORDERS`, with and without waiting for slots near the data; all are feasible.

    Nothing where a kind has tasks and no slot ever.
    """
    if problem.plainly_infeasible is None:
        for order in ORDERS.values():
            for waits in (True, False):
                yield list_schedule(problem, order(problem), waits)


def list_schedule(problem: ScheduleProblem, order: Ints, waits: bool = True) -> Schedule:
    """The schedule by one order of jobs.

    Maps come first, since they never wait for reduces. Of a job the task goes first to whose quickest node this is,
    then the longest. A reduce starts as late as it may without ending later than its job's last map: so it has the same
    end, and a slot for less time.

    Parameters
    ----------
    problem
        Must not be plainly infeasible.
    order
        int64: every row of `problem.jobs`, the first to be served first.
    waits
        Whether a task passes by a slot where a node with its data would end it sooner, as far as is known by then.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]), times=[[10, 12, 25]] * 2)
    >>> problem = Makespan(Instance(Cluster(["a", "b"]), workload))
    >>> list_schedule(problem, np.array([0, 1])).nodes.tolist()
    [0, 0]
    >>> list_schedule(problem, np.array([0, 1]), waits=False).nodes.tolist()
    [0, 1]
    """
    found = Schedule.empty(len(problem.instance.workload))
    nodes, starts = found.nodes.copy(), found.starts.copy()
    last = begin = [-NEVER] * len(problem.jobs)
    for kind in (MAP, REDUCE):
        _Line(problem, kind, order, (last, begin), waits).run(nodes, starts, problem.tasks)
        ends = problem.ends(Schedule(nodes, starts))
        last, begin = problem.last_maps(ends).tolist(), problem.reduces_from(ends).tolist()
    return Schedule(nodes, starts)


#: Where a task may start: at a level (on a node with its data, in an area around one, anywhere), which node or area.
_Place = tuple[int, int]

#: Where nodes are unevenly far, a task is looked for on nodes no slower than its quickest but so many, and anywhere.
_QUICKEST = 8


class _Wanting:
    """The ranks of jobs that may want a slot, by place, less those of which it is known for which node they wait.

    A job that passes by a place where a node ends its task sooner does so until that node has no slot left, or until
    another of its tasks is the first there.
    """

    def __init__(self) -> None:
        self._ranks: defaultdict[_Place, list[int]] = defaultdict(list)
        self._waits: defaultdict[int, set[_Place]] = defaultdict(set)
        self._waits_for: defaultdict[int, list[tuple[int, _Place]]] = defaultdict(list)

    def add(self, rank: int, place: _Place) -> None:
        """A job may want slots of a place."""
        ranks = self._ranks[place]
        at = bisect_left(ranks, rank)
        if at == len(ranks) or ranks[at] != rank:
            ranks.insert(at, rank)

    def remove(self, rank: int, place: _Place) -> None:
        """A job wants no slot of a place."""
        ranks = self._ranks[place]
        at = bisect_left(ranks, rank)
        if at < len(ranks) and ranks[at] == rank:
            del ranks[at]

    def each(self, places: tuple[_Place, ...]) -> Iterator[int]:
        """The jobs that may want a slot of one of these places, by rank, which may stop wanting it in between."""
        here = [self._ranks[place] for place in places]
        rank = -1
        while True:
            found = [ranks[at] for ranks in here if (at := bisect_right(ranks, rank)) < len(ranks)]
            if not found:
                return
            rank = min(found)
            yield rank

    def wait(self, rank: int, place: _Place, node: int) -> None:
        """A job passes by slots of a place, since this node ends its task sooner."""
        self.remove(rank, place)
        self._waits[rank].add(place)
        self._waits_for[node].append((rank, place))

    def waits(self, rank: int, place: _Place) -> bool:
        """Whether a job is known to pass by slots of a place."""
        return place in self._waits[rank]

    def ask_again(self, rank: int) -> None:
        """A job has other first tasks than before."""
        for place in self._waits.pop(rank, ()):
            self.add(rank, place)

    def ask_who_waited(self, node: int) -> None:
        """A node has no slot left at present."""
        for rank, place in self._waits_for.pop(node, ()):
            if place in self._waits[rank]:
                self._waits[rank].remove(place)
                self.add(rank, place)

    def ask_all(self) -> None:
        """Nobody waits any more."""
        for rank in list(self._waits):
            self.ask_again(rank)


class _Line:
    """The tasks of one kind, and the slots that take them one after another.

    Of each job the tasks are on heaps, the longest first: those with their data on a node, in an area, and all. What
    has started is taken off when it comes to the top.
    """

    def __init__(
        self, problem: ScheduleProblem, kind: int, order: Ints, maps: tuple[list[int], list[int]], waits: bool
    ) -> None:
        positions = np.flatnonzero(problem.kind == kind)
        self._waits, (self._last, begin) = waits, maps
        near, self._even = problem.times.near, problem.times.even
        self._places = [tuple(enumerate(areas)) for areas in zip(*(level.area.tolist() for level in near), strict=True)]
        self._job = dict(zip(positions.tolist(), problem.jobs.of_task[problem.tasks[positions]].tolist(), strict=True))
        #: Of each task the time at each place where it takes one, the nearest first, and the least.
        self._time: dict[int, dict[_Place, int]] = {
            position: {(number, area): time for number, level in enumerate(near) for area, time in level.of(position)}
            for position in positions.tolist()
        }
        least: list[int] = problem.times.by_level[positions].min(axis=1, initial=NEVER).tolist()
        self._least = dict(zip(positions.tolist(), least, strict=True))
        self._homes = {position: _quickest(time) for position, time in self._time.items()}
        release = dict(zip(positions.tolist(), problem.release[positions].tolist(), strict=True))
        ready = [
            (max(release[position], begin[job], self._last[job] - self._least[position]), position)
            for position, job in self._job.items()
        ]
        self._later = sorted(ready, reverse=True)
        self._rank = {job: rank for rank, job in enumerate(order.tolist())}
        self._wanting = _Wanting()
        self._heaps: defaultdict[tuple[int, _Place], list[tuple[int, int]]] = defaultdict(list)
        self._started: set[int] = set()
        slots = slots_by_node(problem, kind, np.array(self._last))
        self._free = {node: held for node, held in enumerate(slots) if held}

    def run(self, nodes: Ints, starts: Ints, tasks: Ints) -> None:
        """Start every task, and write where and when at its row of `tasks`."""
        busy = [(free, node) for node, held in self._free.items() for free in held]
        heapq.heapify(busy)
        idle: list[int] = []  # nodes of free slots, as a heap
        passed: list[int] = []  # those that nothing wants yet
        clock = -NEVER
        while len(self._started) < len(self._job):
            check()
            if not idle:
                clock = self._next_instant(clock, busy, bool(passed))
                idle, passed = passed, []
                while busy and busy[0][0] <= clock:
                    idle.append(heapq.heappop(busy)[1])
                heapq.heapify(idle)
                self._release(clock)
            node = heapq.heappop(idle)
            position = self._next(clock, node)
            if position is None:
                passed.append(node)
                continue
            nodes[tasks[position]], starts[tasks[position]] = node, clock
            end = max(clock + self._takes(position, node), self._last[self._job[position]])
            self._hold(node, clock, end)
            if end > clock:
                heapq.heappush(busy, (end, node))
            else:
                heapq.heappush(idle, node)

    def _next_instant(self, clock: int, busy: list[tuple[int, int]], passed: bool) -> int:
        """When a slot becomes free, or, where there are free ones, a task may start."""
        instants = [instant for instant, _ in (*busy[:1], *(self._later[-1:] if passed else ()))]
        if not instants:  # nothing else will happen: there is nothing to wait for
            self._waits = False
            self._wanting.ask_all()
        return max(clock, min(instants, default=clock))

    def _hold(self, node: int, clock: int, end: int) -> None:
        """The first free slot of a node is taken until an instant."""
        self._free[node].pop(0)
        insort(self._free[node], end)
        if self._free[node][0] > clock:
            self._wanting.ask_who_waited(node)

    def _release(self, clock: int) -> None:
        """Put what may start by now on the heaps."""
        while self._later and self._later[-1][0] <= clock:
            _, position = self._later.pop()
            rank = self._rank[self._job[position]]
            self._wanting.ask_again(rank)
            homes = self._homes[position]
            for place, time in self._time[position].items():
                if place[0] or place[1] in homes:
                    heapq.heappush(self._heaps[rank, place], (-time, position))
                    self._wanting.add(rank, place)

    def _next(self, clock: int, node: int) -> int | None:
        """The task that a free slot takes, which is started; None: none wants it yet."""
        places = self._places[node]
        alone = len(places), node  # where times are uneven, who passes by a node may want others of a place
        for rank in self._wanting.each(places):
            if not self._even and self._wanting.waits(rank, alone):
                continue
            held = {place: head for place in places if (head := self._head(rank, place)) is not None}
            if not held or self._wanting.waits(rank, nearest := next(iter(held)) if self._even else alone):
                continue
            position = min(
                held.values(), key=lambda offer: (self._excess(offer, node), -self._takes(offer, node), offer)
            )
            if self._waits and self._excess(position, node):
                sooner = self._sooner_elsewhere(position, node, clock)
                if sooner is not None:
                    self._wanting.wait(rank, nearest, sooner)
                    continue
            self._started.add(position)
            self._wanting.ask_again(rank)
            return position
        return None

    def _head(self, rank: int, place: _Place) -> int | None:
        """The longest task of a job that may start in a place and has not started."""
        heap = self._heaps.get((rank, place))
        if heap is None:
            return None
        while heap and heap[0][1] in self._started:
            heapq.heappop(heap)
        if heap:
            return heap[0][1]
        del self._heaps[rank, place]
        self._wanting.remove(rank, place)
        return None

    def _takes(self, position: int, node: int) -> int:
        """How long a task takes on a node."""
        time = self._time[position]
        return next(time[place] for place in self._places[node] if place in time)

    def _excess(self, position: int, node: int) -> int:
        """How much longer a task takes on a node than where it is quickest."""
        return self._takes(position, node) - self._least[position]

    def _sooner_elsewhere(self, position: int, node: int, clock: int) -> int | None:
        """A node with the data that would end a task before this one, which would begin it at once."""
        end = clock + self._takes(position, node)
        for other, time in self._homes[position].items():
            if other in self._free and max(self._free[other][0], clock) + time < end:
                return other
        return None


def _quickest(time: Mapping[_Place, int]) -> dict[int, int]:
    """The nodes at which a task is looked for, each with its time there.

    >>> _quickest({(0, 3): 10, (0, 5): 12, (1, 0): 20})
    {3: 10, 5: 12}
    """
    nodes = {area: length for (level, area), length in time.items() if not level}
    if len(nodes) <= _QUICKEST:
        return nodes
    most = sorted(nodes.values())[_QUICKEST - 1]
    return {node: length for node, length in nodes.items() if length <= most}
