"""Policies for comparison: plain orders of jobs with the nearest tasks, and how near the tasks that wait are.

What is nearest is told by how long tasks take, which no scheduler knows beforehand: so much is granted to each of them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from optsched.instance import FINISHED, KINDS, PENDING, RUNNING
from optsched.problems.schedules import NEVER, ScheduleProblem
from optsched.running.base import Event, Offer, Policy, View

__all__ = ["ORDERS", "InOrder", "Place", "Waiting"]

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
