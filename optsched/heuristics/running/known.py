"""The driver's state and the policy's view of it: tasks that arrive, start, finish, or wait again.

A driver makes one `Known` and reports each event; each call returns the event for the policy. Under `driver` no task
ends. In a simulation tasks end; the order of its reports does not change the view of the same present.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import contains, grouped
from optsched.core.instance import FINISHED, KINDS, MAP, PENDING, REDUCE, RUNNING, Floats, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.heuristics.running.base import HELD, Event, View
from optsched.problems.base import TaskProblem

Posed = TypeVar("Posed", bound=TaskProblem[Any])


class Known:
    """The state at the driver's time; tasks and jobs are numbered in the order of their arrival.

    Tasks of the instance that are `held` wait, and may not start before they are released.

    Attributes
    ----------
    time
        The clock.
    problem
        The driven problem.
    view
        The policy's view.
    order, jobs
        The task, and the job, of the instance for each number.
    waiting
        How many known tasks of each kind wait.
    free, room
        Free slots of each node: an array for each offered kind, and for either kind a window on it, which gives single
        numbers sooner.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> known = Known(Lsap(Instance(Cluster(["a"]), Workload(["t1", "t2"]))))
    >>> known.start(0, 0).what, known.view.free_map_slots.tolist()
    ('task-started', [0])
    >>> known.finish(0).what, known.view.free_map_slots.tolist()
    ('task-finished', [1])
    """

    def __init__(self, problem: TaskProblem[Any], held: Sequence[int] | Ints = ()) -> None:
        instance = problem.instance
        workload, state = instance.workload, instance.state
        self.problem, self.time = problem, float(instance.time)
        begun = np.unique(workload.job[(state.status != PENDING) & (workload.job >= 0)])
        arrival = np.where(workload.arrival > self.time, workload.arrival, -np.inf)  # not given: there already
        arrival[begun] = -np.inf
        by_task = np.append(arrival, -np.inf)[workload.job]  # a task without a job picks the last entry
        self.order, self._arrivals = _by_arrival(by_task)
        self.jobs, self._job_arrivals = _by_arrival(arrival)
        #: The number of each task of the instance.
        self._number_of: Ints = np.argsort(self.order)
        self._status, self._node = state.status[self.order], state.node[self.order]
        self._status[self.numbers(held)] = HELD
        self._status_of = self._status.data
        self._start, self._bytes_read = state.start[self.order], state.bytes_read[self.order]
        self._emitted, self._entries = state.emitted, np.zeros(0, dtype=np.int64)
        self._progress = np.zeros((), dtype=np.int64)
        self._kinds = workload.kind[self.order].astype(np.uint8).tobytes()
        idle = dict(zip(KINDS, (state.idle_slots, state.idle_reduce_slots), strict=True))
        #: Initially free slots of both kinds, as they are offered.
        self._first = {kind: problem.offered.get(kind, idle[kind]).astype(np.int64) for kind in KINDS}
        free = {kind: slots.copy() for kind, slots in self._first.items()}
        self.free = {kind: free[kind] for kind in problem.offered}
        self.room = {kind: slots.data for kind, slots in free.items()}
        #: Slots of each node, at least the free ones (`traffic` may offer more than there are), and how many are taken.
        self._slots = {
            kind: np.maximum(slots, self._first[kind])
            for kind, slots in zip(KINDS, (instance.cluster.slots, instance.cluster.reduce_slots), strict=True)
        }
        self._taken = {kind: (slots - free[kind]).tolist() for kind, slots in self._slots.items()}
        self._changed: set[int] = set()
        self.waiting = dict.fromkeys(KINDS, 0)
        self._tasks = self._arrived_jobs = 0
        #: All tasks and jobs in the form of views; a view has the first ones.
        self._foreseen = workload.foreseen(self.order, self.jobs)
        self._learn()

    @property
    def complete(self) -> bool:
        """Whether all jobs have arrived."""
        return self._tasks == len(self.order)

    @property
    def next_arrival(self) -> float:
        """The time at which the next job with tasks arrives; call it only if one does."""
        return float(self._arrivals[self._tasks])

    @property
    def waits_for_slots(self) -> bool:
        """Whether a known task waits, and some slot of its kind is offered."""
        return any(self.waiting[kind] for kind in self.free)

    def placement(self) -> Placement:
        """The node on which each task that waited at first runs or ran."""
        tasks = self.problem.tasks
        return Placement.empty(len(self.order)).with_tasks(tasks, self._node[self._number_of[tasks]])

    def waits(self, task: int, kind: int) -> bool:
        """Whether there is a waiting task of this number and kind."""
        return 0 <= task < self._tasks and self._status_of[task] == PENDING and self._kinds[task] == kind

    def label(self, task: int) -> str:
        """The name of a task in a message."""
        known = 0 <= task < self._tasks
        return f'task "{self.view.workload.task_ids[task]}"' if known else f"{task}, no task of the view"

    # What happens ---------------------------------------------------------------------------------------------------

    def start(self, task: int, node: int) -> Event:
        """A waiting task runs from now on."""
        self._status_of[task], self._node[task], self._start[task] = RUNNING, node, self.time
        kind = KINDS[self._kinds[task]]
        self.waiting[kind] -= 1
        self._taken[kind][node] += 1
        self.room[kind][node] -= 1
        return Event(self.time, "task-started", task)

    def finish(self, task: int) -> Event:
        """A running task has ended, and its slot is free. From then on it is known what a map sends to reduces."""
        self._leave(task)
        self._status[task] = FINISHED
        shuffle = self.view.true_shuffle
        if shuffle is not None and task in self._sent:
            self._seen_sizes[self._sent[task]] = shuffle.size[self._sent[task]]
        return Event(self.time, "task-finished", task)

    def return_task(self, task: int) -> Event:
        """A task that ran or had finished waits again: it failed, or its node was lost with what it had written."""
        if self._status[task] == RUNNING:
            self._leave(task)
        self._status[task], self._node[task] = PENDING, NONE
        self._start[task] = self._bytes_read[task] = np.nan  # it starts over
        self.waiting[KINDS[self._kinds[task]]] += 1
        self._progress += 1
        if task in self._sent:
            self._emit(self._entries[self._sent[task]], np.nan)
            self._seen_sizes[self._sent[task]] = np.nan
        return Event(self.time, "task-returned", task)

    def release(self, task: int) -> Event:
        """A held task may start from now on."""
        self._status[task] = PENDING
        self.waiting[KINDS[self._kinds[task]]] += 1
        return Event(self.time, "task-released", task)

    def progress(
        self,
        tasks: Sequence[int] | Ints,
        bytes_read: npt.ArrayLike,
        entries: Sequence[int] | Ints = (),
        emitted: npt.ArrayLike = (),
    ) -> None:
        """Set what has been read and sent by now. Policies get no event for it: the view shows it.

        `bytes_read` is the MB of its input that each of some tasks of the instance has read, `emitted` the MB that the
        map of each of some entries of its shuffle has sent.

        Examples
        --------
        >>> from optsched.core.instance import Cluster, Instance, Shuffle, Workload
        >>> from optsched.problems import Lsap
        >>> shuffle = Shuffle(map=[0, 0], reduce=[1, 2], size=[8.0, 4.0])
        >>> workload = Workload(["m", "r", "s"], kind=[0, 1, 1], size=[64, np.nan, np.nan], shuffle=shuffle)
        >>> known = Known(Lsap(Instance(Cluster(["a"]), workload)))
        >>> known.start(0, 0).what
        'task-started'
        >>> known.progress([0], [16.0], [0, 1], [2.0, 1.0])
        >>> known.view.bytes_read[0].item(), known.snapshot().state.emitted.tolist()
        (16.0, [2.0, 1.0])
        """
        self._bytes_read[self.numbers(tasks)] = bytes_read
        self._progress += 1
        if len(entries):
            self._emit(np.asarray(entries, dtype=np.int64), emitted)

    def _emit(self, entries: Ints, emitted: npt.ArrayLike) -> None:
        """Set the MB that entries of the instance's shuffle have sent."""
        if not self._emitted.flags.writeable:
            self._emitted = self._emitted.copy()
        self._emitted[entries] = emitted
        entries = entries[contains(self._entries, entries)]  # of tasks that have arrived
        self._seen_emitted[np.searchsorted(self._entries, entries)] = self._emitted[entries]

    def change_node(self, node: int, slots: Iterable[int]) -> Event:
        """A node has these numbers of map and reduce slots from now on; one without any is lost.

        Tasks that run there continue, in slots that no longer exist; a driver that loses a node returns them next.
        """
        self._changed.add(node)
        view = self.view
        for number, (kind, count) in enumerate(zip(KINDS, slots, strict=True)):
            self._slots[kind][node] = count
            if not count:  # everything else that it ran is gone
                runs = (view.node == node) & (view.status == RUNNING) & (view.workload.kind == number)
                self._taken[kind][node] = int(np.count_nonzero(runs))
            self._make_room(kind, node)
        return Event(self.time, "node-changed", node)

    def move_to(self, time: float) -> list[Event]:
        """Move the clock; returns the arrival events of all jobs on the way, which the view then contains."""
        self.time = time
        before = self._arrived_jobs
        self._learn()
        return [Event(time, "job-arrived", job) for job in range(before, self._arrived_jobs)]

    def _leave(self, task: int) -> None:
        """A task no longer holds its slot."""
        kind, node = KINDS[self._kinds[task]], int(self._node[task])
        self._taken[kind][node] = max(0, self._taken[kind][node] - 1)
        self._make_room(kind, node)

    def _make_room(self, kind: str, node: int) -> None:
        """Set the free slots of a node; it may run more tasks than it has slots, after losing some."""
        self.room[kind][node] = max(0, int(self._slots[kind][node]) - self._taken[kind][node])

    def snapshot(self, before: Sequence[int] = ()) -> Instance:
        """The instance as it is now, or as it was before these tasks started. Everything unchanged is shared.

        It does not contain jobs that are still to arrive.
        """
        instance, back = self.problem.instance, list(before)
        status = np.where(self._status == HELD, PENDING, self._status)
        node, start = self._node.copy(), self._start.copy()
        status[back], node[back], start[back] = PENDING, NONE, np.nan
        given = {"status": status, "node": node, "start": start, "bytes_read": self._bytes_read}
        columns: dict[str, Any] = {name: column[self._number_of] for name, column in given.items()}
        columns |= {name: self._idle(kind, before) for kind, name in enumerate(("idle_slots", "idle_reduce_slots"))}
        state = replace(instance.state, **columns, time=self.time, emitted=self._emitted)
        if self._changed:
            slots, nodes = (instance.cluster.slots.copy(), instance.cluster.reduce_slots.copy()), sorted(self._changed)
            for column, now in zip(slots, self._slots.values(), strict=True):
                column[nodes] = now[nodes]
            instance = instance.with_slots(*slots)
        present = instance.with_state(state)
        if self.complete:
            return present
        return present.taken(np.sort(self.order[: self._tasks]), np.sort(self.jobs[: self._arrived_jobs]))

    def _idle(self, number: int, before: Sequence[int]) -> Ints:
        """The idle slots of a kind in a snapshot before these tasks started."""
        kind, state = KINDS[number], self.problem.instance.state
        more = np.array(self.room[kind]) - self._first[kind]
        np.add.at(more, [int(self._node[task]) for task in before if self._kinds[task] == number], 1)
        idle: Ints = np.clip((state.idle_slots, state.idle_reduce_slots)[number] + more, 0, self._slots[kind])
        return idle

    def numbers(self, tasks: Sequence[int] | Ints) -> list[int]:
        """The numbers of tasks of the instance in the view."""
        found: list[int] = self._number_of[list(tasks)].tolist() if len(tasks) else []
        return found

    # What of it is seen ---------------------------------------------------------------------------------------------

    def _learn(self) -> None:
        """Make the view of everything that has arrived by now."""
        before = self._tasks
        self._tasks = int(np.searchsorted(self._arrivals, self.time, side="right"))
        self._arrived_jobs = int(np.searchsorted(self._job_arrivals, self.time, side="right"))
        instance = self.problem.instance
        none = np.zeros(len(instance.cluster), dtype=np.int64)
        true_shuffle = instance.workload.shuffle
        if true_shuffle is not None:
            true_shuffle, self._entries = true_shuffle.between(self.order[: self._tasks], len(self.order))
        seen = None
        self._seen_emitted = self._emitted[self._entries]
        if true_shuffle is not None:
            finished = self._status[true_shuffle.map] == FINISHED
            self._seen_sizes = np.where(finished, true_shuffle.size, np.nan)
            seen = replace(true_shuffle, size=_window(self._seen_sizes))
            self.__dict__.pop("_sent", None)
        self.view = View(
            self.problem.name,
            self.problem.parameters,
            instance.cluster,
            self._foreseen.first(self._tasks, self._arrived_jobs),
            _window(self._status[: self._tasks]),
            _window(self._node[: self._tasks]),
            _window(self.free.get(KINDS[MAP], none)),
            _window(self.free.get(KINDS[REDUCE], none)),
            _window(self._slots[KINDS[MAP]]),
            _window(self._slots[KINDS[REDUCE]]),
            _window(self._bytes_read[: self._tasks]),
            instance.state.out_in_use,
            instance.state.running_rates,
            instance.state.group_running_tasks,
            seen,
            true_shuffle,
            _window(self._seen_emitted),
            _window(self._progress),
        )
        for kind in KINDS:
            self.waiting[kind] += int(np.count_nonzero(self.view.pending_of(kind) >= before))

    @cached_property
    def _sent(self) -> dict[int, Ints]:
        """The entries of the shuffle of each map."""
        shuffle = self.view.true_shuffle
        return {} if shuffle is None else dict(grouped(shuffle.map))


def _by_arrival(arrival: Floats) -> tuple[Ints, Floats]:
    """Indices in the order of arrival, earlier indices first among equals, and their arrivals."""
    order = np.argsort(arrival, kind="stable")
    return order, arrival[order]


def _window(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same memory, read-only."""
    window = values.view()
    window.setflags(write=False)
    return window


def posed_on(problem: Posed, instance: Instance) -> Posed:
    """The same problem on another instance, or again on its own, without repeating warnings from when it was posed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return type(problem)(instance, **problem.parameters)
