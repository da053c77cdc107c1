"""Another policy's choice of how many tasks of which job start at an instant, placed at the least time altogether.

Where slots are offered as soon as they are free, many nodes are offered at one instant. The other policy answers all of
these offers first, in a world of its own; then its maps are placed anew over the slots that it used.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from optsched.core.arrays import grouped
from optsched.core.instance import FINISHED, KINDS, MAP, PENDING, RUNNING, Ints, Shuffle
from optsched.core.placement import NONE
from optsched.problems.schedules import NEVER, ScheduleProblem
from optsched.running.base import Event, Offer, Policy, View
from optsched.running.driver import Asked
from optsched.solvers.networks import min_cost_flow

__all__ = [
    "InOrder",
    "ORDERS",
    "Place",
    "Together",
    "Waiting",
    "placed_together",
]

# Policies of what is compared ----------------------------------------------------------------------------------------

#: A level of the problem's times, and an area of it.
Place = tuple[int, int]


class Waiting:
    """The waiting tasks of each job, by how much longer than at its best each would take on a node.

    Tasks are numbers of the view. A heap of each job, kind and place (a node, an area such as a rack, anywhere) has the
    tasks with data there; what does not wait any more is dropped when it comes to the top.
    """

    def __init__(self, problem: ScheduleProblem, view: View) -> None:
        instance = problem.instance
        self._near = problem.times.near
        self._least = problem.times.by_level.min(axis=1, initial=NEVER).tolist()
        self._position = {task: position for position, task in enumerate(problem.tasks.tolist())}
        self._row = instance.task_index
        columns = zip(*(level.area.tolist() for level in self._near), strict=True)
        self._around = [[(level, area) for level, area in enumerate(areas) if area >= 0] for areas in columns]
        self._places: dict[int, dict[Place, int]] = {}
        self._heaps: dict[tuple[int, int, Place], list[tuple[int, int]]] = {}
        self._task: list[int] = []
        self.job: list[int] = []
        self.kind: list[int] = []
        self.learn(view)

    def learn(self, view: View) -> None:
        """Take up what has arrived since."""
        known = len(self._task)
        names = view.workload.task_ids[known:].tolist()
        self._task += [self._row[name] for name in names]
        jobs = view.workload.job[known:].tolist()
        self.job += [job if job >= 0 else -1 - number for number, job in enumerate(jobs, known)]
        self.kind += view.workload.kind[known:].tolist()
        for number in range(known, len(self._task)):
            if view.status[number] == PENDING:
                self.add(number)

    def add(self, number: int) -> None:
        """A task waits."""
        for place, excess in self.places(number).items():
            heap = self._heaps.setdefault((self.job[number], self.kind[number], place), [])
            heapq.heappush(heap, (excess, number))

    def places(self, number: int) -> dict[Place, int]:
        """Where a task has data, a node, areas around it, and anywhere, each with how much longer it takes there.

        None of a task that nobody may start.
        """
        task = self._task[number]
        if task not in self._places:
            position = self._position.get(task)
            held = [] if position is None else [level.of(position) for level in self._near]
            self._places[task] = {
                (level, area): time - self._least[position] for level, row in enumerate(held) for area, time in row
            }
        return self._places[task]

    def around(self, node: int) -> list[Place]:
        """The places of `places` that a node belongs to, the nearest first."""
        return self._around[node]

    def notify(self, event: Event, view: View) -> None:
        """Follow what happens."""
        if event.what == "job-arrived":
            self.learn(view)
        elif event.what in ("task-returned", "task-released"):
            self.add(event.index)

    def nearest(self, job: int, kind: int, node: int, waits: Callable[[int], bool]) -> tuple[int, int] | None:
        """The waiting task of a job that takes the least more than at its best on a node, and by how much more that is
        as far as places tell; None where none waits.
        """
        found = []
        for place in self.around(node):
            heap = self._heaps.get((job, kind, place), [])
            while heap and not waits(heap[0][1]):
                heapq.heappop(heap)
            found += heap[:1]
        return min(found, default=None)

    def excess(self, number: int, node: int) -> int:
        """By how much longer than at its best a task takes on a node."""
        places = self.places(number)
        return next(places[place] for place in self._around[node] if place in places)


#: Orders of jobs that need no knowledge of the future: (tasks that run, tasks that are left) of a job -> what is served
#: first; among equals the job that arrived first.
ORDERS: dict[str, Callable[[int, int], int]] = {
    "arrival": lambda running, left: 0,
    "fewest-running": lambda running, left: running,
    "fewest-left": lambda running, left: left,
}


class InOrder(Policy):
    """Always the job that comes first in an order, and of it the task to which the node is nearest.

    Parameters
    ----------
    problem
        Tells how long tasks take.
    order
        One of `ORDERS`: by arrival, the one with the fewest running tasks, or the one with the fewest tasks left.
    """

    def __init__(self, problem: ScheduleProblem, order: str) -> None:
        self._problem, self._order = problem, ORDERS[order]

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._waiting = Waiting(self._problem, view)
        self._status: list[int] = []
        self._counts: dict[int, Counter[int]] = {}
        self._jobs_with: tuple[set[int], ...] = tuple(set() for _ in KINDS)
        self._learn(view)

    def notify(self, event: Event, view: View) -> None:
        self._waiting.notify(event, view)
        if event.what == "job-arrived":
            self._learn(view)
        elif event.what.startswith("task-"):
            self._count(event.index, -1)
            self._status[event.index] = int(view.status[event.index])
            self._count(event.index, 1)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        kind = KINDS.index(offer.kind)

        def rank(job: int) -> tuple[int, bool, int]:
            counts = self._counts[job]
            left = sum(number for status, number in counts.items() if status != FINISHED)
            return self._order(counts[RUNNING], left), job < 0, abs(job)

        for job in sorted(self._jobs_with[kind], key=rank):
            nearest = self._waiting.nearest(job, kind, offer.node, lambda one: self._status[one] == PENDING)
            if nearest is not None:
                return (nearest[1],)
            self._jobs_with[kind].discard(job)  # until one of its tasks waits again
        return ()

    def _learn(self, view: View) -> None:
        known = len(self._status)
        self._status += view.status[known:].tolist()
        for number in range(known, len(self._status)):
            self._count(number, 1)

    def _count(self, number: int, by: int) -> None:
        job, status = self._waiting.job[number], self._status[number]
        self._counts.setdefault(job, Counter())[status] += by
        if status == PENDING and by > 0:
            self._jobs_with[self._waiting.kind[number]].add(job)


#: Sums of costs stay below this in the network.
_EXACT = 2**52


class Together(Policy):
    """Another policy's numbers of tasks of each job at each instant, placed at the least time altogether.

    The other policy does not learn of that, nor where its maps really run: jobs may have changed places. Reduces stay
    where it starts them, since they take the same time anywhere.

    Parameters
    ----------
    problem
        Tells how long tasks take.
    other
        The other policy.

    Examples
    --------
    >>> from optsched.measuring.decomposing.together import InOrder
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> from optsched.simulating import simulate
    >>> workload = Workload(["t1", "t2"], job=[0, 0], job_ids=["j"], replicas=Ragged.from_rows([[0, 1], [0]]),
    ...                     times=[[1, 5, 5]] * 2)
    >>> problem = Makespan(Instance(Cluster(["a", "b"]), workload))
    >>> run = simulate(problem.instance, Together(problem, InOrder(problem, "arrival")), heartbeat=0)
    >>> run.schedule.nodes.tolist()
    [1, 0]
    """

    def __init__(self, problem: ScheduleProblem, other: Policy) -> None:
        self._problem, self._other = problem, other
        self.waits_seconds = float(getattr(other, "waits_seconds", 0))
        # A node is offered once a round, and what it gets is told at once.
        self.fills_nodes = True

    @property
    def waits_rounds(self) -> int:  # type: ignore[override]  # the other policy may come to know it as it goes
        return int(getattr(self._other, "waits_rounds", 0))

    def start(self, view: View, rng: np.random.Generator) -> None:
        (order,) = rng.spawn(1)
        self._free = {kind: view.free_slots(kind).copy() for kind in KINDS}
        self._waiting = Waiting(self._problem, view)
        #: The task that the other policy takes each task for, and the other way round.
        self._taken_for: list[int] = []
        self._stands_for: list[int] = []
        self._columns: dict[str, np.ndarray] = {"node": np.zeros(0, dtype=np.int64)}
        self._learn(view)
        if (start := getattr(self._other, "start", None)) is not None:
            start(self._seen, rng)
        self._present = _Present(self)
        self._asked = _Asked(self._other, self._present, order, ())
        self._plan: dict[tuple[str, int], list[int]] = {}
        #: The kinds and nodes that got nothing more in this round; whether nothing is asked until it is over.
        self._declined: set[tuple[str, int]] = set()
        self._settled = False
        #: When the plan was made; None: it is to be made anew.
        self._planned_at: float | None = None

    def notify(self, event: Event, view: View) -> None:
        if event.what == "task-started":
            return  # it knows
        self._sync(view)
        self._waiting.notify(event, view)
        if event.what == "job-arrived":
            if len(view.status) > len(self._taken_for):
                self._learn(view)
        elif event.what.startswith("task-"):
            task = event.index
            event = replace(event, index=self._taken_for[task])
            for name, column in self._columns.items():
                now = getattr(view, name)[task]
                if name != "node" or now == NONE:  # else it is where the other policy started it
                    column[event.index] = now
            self._tell_sizes(event.index)
        if (notify := getattr(self._other, "notify", None)) is not None:
            notify(event, self._seen)
        self._declined.clear()
        self._settled = False
        self._planned_at = None

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        key = (offer.kind, offer.node)
        if key in self._declined:  # a round of offers is over
            self._declined.clear()
            if not self._settled:
                self._planned_at = None
            self._settled = False
        if self._planned_at != offer.time:
            self._planned_at = offer.time
            self._settled = self._decide(offer.time, view)
        tasks = self._plan.pop(key, [])
        if not tasks:
            self._declined.add(key)
        return tasks

    def _sync(self, view: View) -> None:
        for kind, free in self._free.items():
            free[:] = view.free_slots(kind)

    def _exchange(self, one: int, other: int) -> None:
        """From now on the other policy takes each of two waiting tasks of a job for the other one."""
        taken = self._taken_for
        taken[one], taken[other] = taken[other], taken[one]
        self._stands_for[taken[one]], self._stands_for[taken[other]] = one, other

    def _learn(self, view: View) -> None:
        """Make the view of the other policy, in which tasks are what it takes them for, and where it started them."""
        nodes = self._columns["node"]
        arrived = range(len(self._taken_for), len(view.status))
        self._taken_for += arrived
        self._stands_for += arrived
        self._columns = {name: getattr(view, name)[self._stands_for] for name in ("status", "node", "bytes_read")}
        self._columns["node"][: len(nodes)] = nodes
        maps, reduces = map(_window, self._free.values())
        windows: dict[str, Any] = {name: _window(column) for name, column in self._columns.items()}
        self._seen: View = replace(
            view, **windows, shuffle=self._sizes_seen(view), free_map_slots=maps, free_reduce_slots=reduces
        )

    def _sizes_seen(self, view: View) -> Shuffle | None:
        """What the other policy sees of the shuffle: the true sizes of what has finished, as it takes tasks."""
        self._true, self._sent = view.true_shuffle, {}
        if self._true is None:
            return None
        self._sent = dict(grouped(self._true.map))
        self._sizes = np.where(self._columns["status"][self._true.map] == FINISHED, self._true.size, np.nan)
        return replace(self._true, size=_window(self._sizes))

    def _tell_sizes(self, task: int) -> None:
        """A task has finished, or waits again."""
        entries = self._sent.get(task)
        if entries is not None and self._true is not None:
            done = self._columns["status"][task] == FINISHED
            self._sizes[entries] = self._true.size[entries] if done else np.nan

    def _decide(self, time: float, view: View) -> bool:
        """Let the other policy answer all offers of an instant, and place its maps; whether it started anything."""
        self._sync(view)
        present, started = self._present, self._asked.started
        present.begin(time)
        started.clear()
        while sum(self._asked.go_round(kind)[0] for kind in KINDS if present.waiting[kind]):
            pass
        self._plan = {}
        maps = [(task, node) for task, node in started if self._waiting.kind[task] == MAP]
        for task, node in started:
            if self._waiting.kind[task] != MAP:
                self._put(self._stands_for[task], node)
        where = placed_together(
            self._waiting,
            np.flatnonzero((view.status == PENDING) & (view.workload.kind == MAP)),
            Counter(node for _, node in maps),
            Counter(self._waiting.job[task] for task, _ in maps),
        )
        self._take_over(maps, where)
        return bool(started)

    def _take_over(self, maps: Sequence[tuple[int, int]], where: Mapping[int, int]) -> None:
        """Let each map that the other policy started be one of its job, on the same node where there is one there."""
        job = self._waiting.job
        places: dict[int, list[tuple[int, int]]] = {}
        for own, node in where.items():
            places.setdefault(job[own], []).append((node, own))
            self._put(own, node)
        moved = []
        for task, node in maps:
            same = next((place for place in places[job[task]] if place[0] == node), None)
            if same is None:
                moved.append(task)
                continue
            places[job[task]].remove(same)
            self._exchange(self._stands_for[task], same[1])
        for task in moved:
            self._exchange(self._stands_for[task], places[job[task]].pop()[1])

    def _put(self, task: int, node: int) -> None:
        self._plan.setdefault((KINDS[self._waiting.kind[task]], node), []).append(task)


def _window(column: np.ndarray) -> np.ndarray:
    """The same memory, read-only."""
    window = column.view()
    window.setflags(write=False)
    return window


class _Asked(Asked):
    """The other policy, asked in its own world; what it starts is noted."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.started: list[tuple[int, int]] = []

    def begun(self, task: int, node: int) -> None:
        self.started.append((task, node))


class _Present:
    """What is known in the world of the other policy: as the driver's `Known`, for offers of one instant."""

    def __init__(self, owner: Together) -> None:
        self._owner = owner
        self.problem, self.time = owner._problem, 0.0
        self.free = owner._free
        self.room: dict[str, list[int]] = {}
        self.waiting: dict[str, int] = {}

    @property
    def view(self) -> View:
        return self._owner._seen

    def begin(self, time: float) -> None:
        """An instant begins."""
        self.time = time
        self.room.update({kind: free.tolist() for kind, free in self.free.items()})
        self.waiting.update({kind: len(self.view.pending_of(kind)) for kind in KINDS})

    def waits(self, task: int, kind: int) -> bool:
        status = self.view.status
        return 0 <= task < len(status) and status[task] == PENDING and self._owner._waiting.kind[task] == kind

    def label(self, task: int) -> str:
        known = 0 <= task < len(self.view.status)
        return f'task "{self.view.workload.task_ids[task]}"' if known else f"{task}, no task of the view"

    def start(self, task: int, node: int) -> Event:
        kind, columns = KINDS[self._owner._waiting.kind[task]], self._owner._columns
        columns["status"][task], columns["node"][task] = RUNNING, node
        self.waiting[kind] -= 1
        self.room[kind][node] -= 1
        self.free[kind][node] = self.room[kind][node]
        return Event(self.time, "task-started", task)


def placed_together(
    waiting: Waiting, tasks: Ints, slots: Mapping[int, int], counts: Mapping[int, int]
) -> dict[int, int]:
    """A node for as many waiting maps of each job as `counts` says, on all `slots`, at the least time altogether.

    Counted is how much longer than at its best each map takes. It is a minimum-cost flow from the nodes through what
    is near them (itself, areas around it, anywhere) to maps, and from these to their jobs. Of the maps of a job with
    data at a place only as many as start can be of use there, those that take the least more.

    Parameters
    ----------
    waiting
        Tells jobs, data and times.
    tasks
        The maps that wait (numbers of the view).
    slots, counts
        How many start on each node, and of each job: as many altogether.
    """
    near = {task: waiting.places(task) for task in tasks.tolist() if waiting.job[task] in counts}
    offers: dict[tuple[int, Place], list[tuple[int, int]]] = {}
    for task, places in near.items():
        for place, excess in places.items():
            offers.setdefault((waiting.job[task], place), []).append((excess, task))
    network = _Network()
    for node, count in slots.items():
        network.supply[("node", node)] = count
        for place in waiting.around(node):
            network.arc(("node", node), ("place", place), count, 0)
    used = {place for node in slots for place in waiting.around(node)}
    chosen: set[int] = set()
    for (job, place), found in offers.items():
        if place in used:
            for excess, task in sorted(found)[: counts[job]]:
                network.arc(("place", place), ("map", task), 1, excess)
                chosen.add(task)
    for task in sorted(chosen):
        network.arc(("map", task), ("job", waiting.job[task]), 1, 0)
    for job, count in counts.items():
        network.supply[("job", job)] = -count
    return network.paths()


class _Network:
    """A network of named nodes in which slots flow to jobs."""

    def __init__(self) -> None:
        self.supply: dict[tuple[str, Any], int] = {}
        self._arcs: list[tuple[tuple[str, Any], tuple[str, Any], int, int]] = []

    def arc(self, tail: tuple[str, Any], head: tuple[str, Any], capacity: int, cost: int) -> None:
        """Add one."""
        self._arcs.append((tail, head, capacity, cost))

    def paths(self) -> dict[int, int]:
        """The node from which each map that is used gets its slot, at the least cost."""
        if not self._arcs:
            return {}
        names = {name: at for at, name in enumerate(dict.fromkeys(end for arc in self._arcs for end in arc[:2]))}
        rows = [(names[tail], names[head], capacity, cost) for tail, head, capacity, cost in self._arcs]
        tail, head, capacity, cost = np.array(rows, dtype=np.int64).T
        supply = np.zeros(len(names), dtype=np.int64)
        for name, amount in self.supply.items():
            supply[names[name]] = amount
        cost //= 1 + int(cost.max()) * (len(names) + 1) // _EXACT
        found = min_cost_flow(tail, head, np.zeros_like(tail), capacity, cost, supply)
        assert found.flow is not None, found.status
        at: dict[Place, list[int]] = {}
        where: dict[int, int] = {}
        for (start, end, _, _), amount in zip(self._arcs, found.flow.tolist(), strict=True):
            if start[0] == "node":
                at.setdefault(end[1], []).extend([start[1]] * amount)
            elif start[0] == "place" and amount:
                where[end[1]] = at[start[1]].pop()
        return where
