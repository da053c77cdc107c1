"""Drives a policy over the slots of a snapshot: rounds of offers until all is placed or the policy starves.

What a policy gets to see is made here (`View`); a simulation over time, in which tasks end, is another driver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optsched.errors import HeuristicFailed, UsageError
from optsched.heuristics.answers import attempt, tasks_from
from optsched.heuristics.base import Event, Offer, Policy, View
from optsched.instance import PENDING, RUNNING, Floats, Ints, Workload
from optsched.placement import Placement
from optsched.problems import Problem
from optsched.problems.assignment import AssignmentProblem

__all__ = ["MAX_IDLE_ROUNDS", "Decision", "Drive", "Observer", "drive", "streams"]

#: Rounds without an assignment after which a policy counts as starved.
MAX_IDLE_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy did with an offer: the tasks (indices of the instance) that it started, none if it declined."""

    offer: Offer
    tasks: tuple[int, ...]


#: Told of each decision: the time, the problem that is driven, and the decision.
Observer = Callable[[float, Problem, Decision], Any]


@dataclass(frozen=True, slots=True)
class Drive:
    """What came of driving a policy.

    Attributes
    ----------
    placement
        Where each task was started.
    rounds
        Rounds of offers that were begun.
    idle_slot_time
        Its price of waiting, in slot-rounds: how often a slot was offered in vain while a task waited.
    starved
        Whether it was given up, with tasks waiting and slots idle.
    """

    placement: Placement
    rounds: int
    idle_slot_time: int
    starved: bool


def streams(seed: int | Sequence[int]) -> tuple[np.random.Generator, np.random.Generator]:
    """Random streams of the driver and of the heuristic, so that what one draws never moves the other."""
    driver, heuristic = np.random.SeedSequence(seed).spawn(2)
    return np.random.default_rng(driver), np.random.default_rng(heuristic)


def drive(
    problem: Problem,
    policy: Policy,
    seed: int | Sequence[int] = 0,
    *,
    max_idle_rounds: int = MAX_IDLE_ROUNDS,
    observers: Sequence[Observer] = (),
) -> Drive:
    """Offer the idle slots to a policy until min(tasks, idle slots) tasks are placed.

    A round offers every idle slot once, in random order: one heartbeat a slot, as Hadoop before version 2 gave one map
    a heartbeat. An offer names all the free slots of its node and may be answered with as many tasks; the node is then
    offered that much less often in the round. The order of the slots, not of the nodes, is what 003 simulates.

    Jobs that arrive after the snapshot belong to the problem, but the policy learns of them at their arrival: the clock
    stands still until no known task waits, or `max_idle_rounds` rounds passed in vain, and then moves to the next one.

    Parameters
    ----------
    problem
        A problem with slots.
    policy
        It is started anew.
    seed
        Of the driver's and the policy's streams (`streams`).
    max_idle_rounds
        Rounds without an assignment, one after another, after which it counts as starved.
    observers
        Called after each decision.

    Raises
    ------
    UsageError
        If the problem has no slots to offer.
    HeuristicFailed
        If the policy raises, or starts what it cannot start.

    Examples
    --------
    >>> from optsched.heuristics.locality import LocalityPolicy
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1"], replicas=Ragged.from_rows([[1]]))
    >>> result = drive(Lsap(Instance(Cluster(["a", "b"]), workload)), LocalityPolicy("sweep"))
    >>> result.placement.nodes.tolist(), result.rounds
    ([1], 1)
    """
    if not isinstance(problem, AssignmentProblem):
        raise UsageError(f"{problem.name} has no slots to offer to a policy; use a batch heuristic")
    order, own = streams(seed)
    known = _Known(problem)
    notify = getattr(policy, "notify", None)
    attempt(getattr(policy, "start", _nothing), known.view, own)
    free = problem.capacity.tolist()
    placed = rounds = idle_rounds = vain = 0
    while placed < problem.count:
        if not known.waiting or idle_rounds == max_idle_rounds:
            if known.complete:
                break
            for event in known.next_arrivals():
                if notify:
                    attempt(notify, event, known.view)
            idle_rounds = 0
            continue
        rounds += 1
        before, left = placed, free.copy()  # offers that each node has left in this round
        for node in order.permutation(np.repeat(np.arange(len(free)), free)).tolist():
            if not left[node]:
                continue
            offer = Offer(known.time, node, "map", free[node])
            tasks = _answered(policy, offer, known)
            for task in tasks:
                known.start(task, node)
                if notify:
                    attempt(notify, Event(known.time, "task-started", task), known.view)
            for observer in observers:
                observer(known.time, problem, Decision(offer, tuple(known.order[tasks].tolist())))
            free[node] -= len(tasks)
            left[node] -= max(1, len(tasks))
            placed += len(tasks)
            vain += not tasks
            if not known.waiting:
                break
        idle_rounds = idle_rounds + 1 if placed == before else 0
    return Drive(known.placement(), rounds, vain, placed < problem.count)


def _nothing(*_: Any) -> None:
    """A policy's `start` where it has none."""


def _answered(policy: Policy, offer: Offer, known: _Known) -> list[int]:
    answer = attempt(policy.offer, offer, known.view)
    if type(answer) in (tuple, list) and not answer:
        return []
    try:
        return tasks_from(answer, offer.free, known.waits, known.label)
    except HeuristicFailed as failed:
        node = known.problem.instance.cluster.node_ids[offer.node]
        raise HeuristicFailed(f'on an offer of node "{node}" {failed}') from None


class _Known:
    """What is known at the driver's time; tasks and jobs are numbered in the order of their arrival.

    Attributes
    ----------
    time
        The clock.
    view
        What the policy gets.
    order
        Task of the instance that each number stands for.
    waiting
        How many known tasks wait.
    """

    def __init__(self, problem: AssignmentProblem) -> None:
        instance = problem.instance
        workload, state = instance.workload, instance.state
        self.problem, self.time = problem, float(instance.time)
        begun = np.unique(workload.job[(state.status != PENDING) & (workload.job >= 0)])
        arrival = np.where(workload.arrival > self.time, workload.arrival, -np.inf)  # not given: there already
        arrival[begun] = -np.inf
        by_task = np.append(arrival, -np.inf)[workload.job]  # a task without a job picks the last entry
        self.order, self._arrivals = _by_arrival(by_task)
        self._jobs, self._job_arrivals = _by_arrival(arrival)
        self._status, self._node = state.status[self.order], state.node[self.order]
        decided = np.zeros(len(workload), dtype=bool)
        decided[problem.tasks] = True
        self._waits = bytearray(decided[self.order].tobytes())
        self._tasks = self._arrived_jobs = self.waiting = 0
        self._started: list[int] = []
        self._learn()

    @property
    def complete(self) -> bool:
        """Whether no job is still to arrive."""
        return self._tasks == len(self.order)

    def placement(self) -> Placement:
        """Where each task of the instance was started."""
        placement = Placement.empty(len(self.order))
        return placement.with_tasks(self.order[self._started], self._node[self._started])

    def waits(self, task: int) -> bool:
        """Whether there is such a task and it waits."""
        return 0 <= task < self._tasks and bool(self._waits[task])

    def label(self, task: int) -> str:
        """How to call a task in a message."""
        known = 0 <= task < self._tasks
        return f'task "{self.view.workload.task_ids[task]}"' if known else f"{task}, no task of the view"

    def start(self, task: int, node: int) -> None:
        """A waiting task runs from now on."""
        self._waits[task] = 0
        self._status[task], self._node[task] = RUNNING, node
        self.waiting -= 1
        self._started.append(task)

    def next_arrivals(self) -> list[Event]:
        """Move the clock to the next arrival; the events of all jobs that arrive then."""
        self.time = float(self._arrivals[self._tasks])
        before = self._arrived_jobs
        self._learn()
        return [Event(self.time, "job-arrived", job) for job in range(before, self._arrived_jobs)]

    def _learn(self) -> None:
        """Make the view of everything that has arrived by now."""
        before = self._tasks
        self._tasks = int(np.searchsorted(self._arrivals, self.time, side="right"))
        self._arrived_jobs = int(np.searchsorted(self._job_arrivals, self.time, side="right"))
        self.waiting += sum(self._waits[before : self._tasks])
        instance = self.problem.instance
        self.view = View(
            self.problem.name,
            self.problem.parameters,
            instance.cluster,
            _known_part(instance.workload, self.order[: self._tasks], self._jobs[: self._arrived_jobs]),
            _window(self._status[: self._tasks]),
            _window(self._node[: self._tasks]),
        )


def _by_arrival(arrival: Floats) -> tuple[Ints, Floats]:
    """Indices in the order of arrival, earlier indices first among equals, and their arrivals."""
    order = np.argsort(arrival, kind="stable")
    return order, arrival[order]


def _window(values: Ints) -> Ints:
    """The same memory, read-only."""
    window = values.view()
    window.setflags(write=False)
    return window


def _known_part(workload: Workload, tasks: Ints, jobs: Ints) -> Workload:
    """The given tasks and jobs, renumbered, with nothing that only the future tells."""
    number = np.full(len(workload.job_ids) + 1, -1)  # a task without a job picks the last entry
    number[jobs] = np.arange(len(jobs))
    by_type = workload.rate_in_by_type
    return Workload(
        task_ids=workload.task_ids[tasks],
        job=number[workload.job[tasks]],
        kind=workload.kind[tasks],
        replicas=workload.replicas.take(tasks),
        size=workload.size[tasks],
        rate_in=workload.rate_in[tasks],
        rate_in_by_type=None if by_type is None else by_type[tasks],
        bytes_read=workload.bytes_read[tasks],
        demand={name: values[tasks] for name, values in workload.demand.items()},
        demand_shuffle={name: values[tasks] for name, values in workload.demand_shuffle.items()},
        job_ids=workload.job_ids[jobs],
        job_group=workload.job_group[jobs],
        arrival=workload.arrival[jobs],
        goal=workload.goal[jobs],
        filter_ratio=workload.filter_ratio[jobs],
        map_time=workload.map_time[jobs],
        group_ids=workload.group_ids,
        group_weight=workload.group_weight,
        group_running_tasks=workload.group_running_tasks,
    )
