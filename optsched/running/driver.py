"""Drives a policy over the slots of a snapshot: rounds of offers until all is placed or the policy starves.

The driver makes what a policy sees (`View`). A simulation over time, in which tasks end, would be another driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from optsched.deadline import check
from optsched.errors import HeuristicFailed, UsageError
from optsched.instance import FINISHED, KINDS, MAP, PENDING, REDUCE, RUNNING, Bools, Floats, Ints, Shuffle
from optsched.placement import NONE, Placement
from optsched.problems import Problem
from optsched.running.answers import attempt, tasks_from
from optsched.running.base import Event, Offer, Policy, View

__all__ = ["MAX_IDLE_ROUNDS", "Answer", "Drive", "Observer", "drive", "streams"]

#: Rounds without an assignment after which a policy counts as starved.
MAX_IDLE_ROUNDS = 100

#: Slots of a kind up to which a round's order is drawn whole; of more, another one is drawn as far as it is needed.
LAZY = 2**22

#: Entries of such an order that are drawn together.
_DRAWN = 2**10


@dataclass(frozen=True, slots=True)
class Answer:
    """What a policy did with an offer: the tasks (indices of the instance) that it started, none if it declined."""

    offer: Offer
    tasks: tuple[int, ...]


#: Called with each decision: the time, the problem that is driven, and the decision.
Observer = Callable[[float, Problem, Answer], Any]


@dataclass(frozen=True, slots=True)
class Drive:
    """The result of driving a policy.

    Attributes
    ----------
    placement
        Where each task was started.
    rounds
        Rounds of offers that were begun.
    idle_slot_time
        What its waiting costs, in slot-rounds: how often a slot was offered in vain while a task waited.
    starved
        Whether the driver gave it up, with tasks waiting and slots idle.
    """

    placement: Placement
    rounds: int
    idle_slot_time: int
    starved: bool


def streams(seed: int | Sequence[int]) -> tuple[np.random.Generator, np.random.Generator]:
    """Random streams of the driver and of the heuristic. What one of them draws never changes the other."""
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
    """Offer the idle slots to a policy until as many tasks are placed as the problem wants (`Problem.due`).

    A round offers every idle slot once, in random order. Each slot has one heartbeat, as Hadoop before version 2 gave
    one map a heartbeat. An offer names all the free slots of its node and may be answered with as many tasks; the node
    is then offered so much less often in the round. The order is that of slots, not of nodes, as in Guo et al.'s
    simulations.

    Past `LAZY` slots the order of a round is drawn as far as the round goes.

    To a policy that says `fills_nodes` a round offers node after node, in random order: the slots of a node one after
    another, until they are taken or one is declined. Nodes that a policy `refuses` are not asked, unless somebody
    observes, and count as asked in vain. Where the problem places maps and reduces, a round offers all map
    slots before the first reduce slot, since a reduce is placed by where its maps are.

    Jobs that arrive after the snapshot belong to the problem, but the policy learns of them at their arrival. The clock
    stands still until no known task waits, or `max_idle_rounds` rounds passed in vain. Then it moves to the next
    arrival.

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
    >>> from optsched.heuristics.dl import LocalityPolicy
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1"], replicas=Ragged.from_rows([[1]]))
    >>> result = drive(Lsap(Instance(Cluster(["a", "b"]), workload)), LocalityPolicy("sweep"))
    >>> result.placement.nodes.tolist(), result.rounds
    ([1], 1)
    """
    if not problem.offered:
        raise UsageError(f"{problem.name} has no slots to offer to a policy; use a batch heuristic")
    order, own = streams(seed)
    known = _Known(problem)
    asked = _Asked(policy, known, order, observers)
    attempt(getattr(policy, "start", _nothing), known.view, own)
    placed = rounds = idle_rounds = vain = 0
    while placed < problem.due:
        if not known.waits_for_slots or idle_rounds == max_idle_rounds:
            if known.complete:
                break
            for event in known.next_arrivals():
                asked.tell(event)
            idle_rounds = 0
            continue
        rounds += 1
        before = placed
        for kind in known.free:
            if known.waiting[kind]:
                started, declined = asked.go_round(kind)
                placed += started
                vain += declined
        idle_rounds = idle_rounds + 1 if placed == before else 0
    return Drive(known.placement(), rounds, vain, placed < problem.due)


def _nothing(*_: Any) -> None:
    """The `start`, `notify` or `refuses` of a policy that has none."""


class _Asked:
    """A policy that is offered slots, round after round, and told what happens."""

    def __init__(
        self, policy: Policy, known: _Known, order: np.random.Generator, observers: Sequence[Observer]
    ) -> None:
        self._policy, self._known, self._order, self._observers = policy, known, order, observers
        told = getattr(policy, "notify", None)
        #: None: the policy hears nothing.
        self._notify = None if getattr(told, "__func__", told) in (None, Policy.notify) else told
        # An observer sees every offer.
        self._refuses = _nothing if observers else getattr(policy, "refuses", None) or _nothing
        self._fills = bool(getattr(policy, "fills_nodes", False))

    def tell(self, event: Event) -> None:
        """Tell the policy what happened."""
        if self._notify is not None:
            attempt(self._notify, event, self._known.view)

    def go_round(self, kind: str) -> tuple[int, int]:
        """Offer all free slots of a kind; how many tasks started, and how many slots were offered in vain."""
        known, fills = self._known, self._fills
        room, waiting = known.room[kind], known.waiting
        left, placed, vain = [*room, 0], 0, 0  # the last entry is of NONE
        for node, refused in self._turns(kind):
            vain += refused
            while left[node]:
                started = self._offer(Offer(known.time, node, kind, room[node]))
                taken = started or (left[node] if fills else 1)
                left[node] -= taken
                placed += started
                vain += 0 if started else taken
                if not waiting[kind]:
                    return placed, vain
                if not fills:
                    break
        return placed, vain

    def _turns(self, kind: str) -> Iterable[tuple[int, int]]:
        """The nodes as a round offers them, each with how many slots before it are refused unasked."""
        free = self._known.free[kind]
        total = int(free.sum())
        if not self._fills and total > LAZY:
            return ((node, 0) for node in _drawn(free, total, self._order))
        turns: Ints
        if self._fills:
            turns = self._order.permutation(len(free))
        else:
            turns = self._order.permutation(np.repeat(np.arange(len(free)), free))
        refused = self._refused(kind)
        if refused is None:
            return zip(turns.tolist(), repeat(0), strict=False)
        asked = ~refused[turns]
        unasked = np.cumsum(np.where(asked, 0, free[turns] if self._fills else 1))
        # A last turn, of no node, is for what is refused after all others.
        before = np.diff(np.append(unasked[asked], unasked[-1:]), prepend=0)
        return zip([*turns[asked].tolist(), NONE][: len(before)], before.tolist(), strict=True)

    def _refused(self, kind: str) -> Bools | None:
        """The nodes that need not be asked in this round; None if all are."""
        answer = attempt(self._refuses, kind, self._known.view)
        if answer is None:
            return None
        nodes = len(self._known.problem.instance.cluster)
        if not isinstance(answer, np.ndarray) or answer.dtype != np.bool_ or answer.shape != (nodes,):
            raise HeuristicFailed(
                f"refuses {answer!r}; give an array with a bool for each of the {nodes} nodes, or None"
            )
        return answer if answer.any() else None

    def _offer(self, offer: Offer) -> int:
        """How many tasks the policy starts on an offer; it and the observers are told."""
        check()
        known = self._known
        tasks = self._answered(offer)
        for task in tasks:
            known.start(task, offer.node)
            if self._notify is not None:
                attempt(self._notify, Event(known.time, "task-started", task), known.view)
        for observer in self._observers:
            observer(known.time, known.problem, Answer(offer, tuple(known.order[list(tasks)].tolist())))
        return len(tasks)

    def _answered(self, offer: Offer) -> Sequence[int]:
        known = self._known
        answer = attempt(self._policy.offer, offer, known.view)
        kind = KINDS.index(offer.kind)
        if type(answer) in (tuple, list):
            if not answer:
                return ()
            if len(answer) == 1 and type(answer[0]) is int and known.waits(answer[0], kind):
                return (answer[0],)
        try:
            waits = partial(known.waits, kind=kind)
            tasks: list[int] = attempt(tasks_from, answer, offer.free, offer.kind, waits, known.label)
        except HeuristicFailed as failed:
            node = known.problem.instance.cluster.node_ids[offer.node]
            raise HeuristicFailed(f'on an offer of node "{node}" {failed}') from failed.__cause__
        return tasks


def _drawn(free: Ints, slots: int, order: np.random.Generator) -> Iterator[int]:
    """Nodes of a random order of all slots, drawn one by one: a shuffle of which only the moved entries are kept."""
    ends = np.cumsum(free)
    moved: dict[int, int] = {}
    for begin in range(0, slots, _DRAWN):
        places = np.arange(begin, min(begin + _DRAWN, slots))
        found = []
        for place, other in zip(places.tolist(), order.integers(places, slots).tolist(), strict=True):
            found.append(moved.get(other, other))
            moved[other] = moved.pop(place, place)
        yield from np.searchsorted(ends, found, side="right").tolist()


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
        How many known tasks of each kind wait.
    free, room
        Free slots of each node, of each kind that is offered; as an array, and as a list.
    """

    def __init__(self, problem: Problem) -> None:
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
        self._kind = workload.kind[self.order]
        self._kinds = self._kind.astype(np.uint8).tobytes()
        self.free = {kind: slots.astype(np.int64) for kind, slots in problem.offered.items()}
        self.room = {kind: slots.tolist() for kind, slots in self.free.items()}
        self.waiting = dict.fromkeys(KINDS, 0)
        self._tasks = self._arrived_jobs = 0
        self._started: list[int] = []
        self._learn()

    @property
    def complete(self) -> bool:
        """Whether no job is still to arrive."""
        return self._tasks == len(self.order)

    @property
    def waits_for_slots(self) -> bool:
        """Whether a known task waits, and some slot of its kind is offered."""
        return any(self.waiting[kind] for kind in self.free)

    def placement(self) -> Placement:
        """Where each task of the instance was started."""
        placement = Placement.empty(len(self.order))
        return placement.with_tasks(self.order[self._started], self._node[self._started])

    def waits(self, task: int, kind: int) -> bool:
        """Whether there is a task of this number and kind, and it waits."""
        return 0 <= task < self._tasks and bool(self._waits[task]) and self._kinds[task] == kind

    def label(self, task: int) -> str:
        """How to call a task in a message."""
        known = 0 <= task < self._tasks
        return f'task "{self.view.workload.task_ids[task]}"' if known else f"{task}, no task of the view"

    def start(self, task: int, node: int) -> None:
        """A waiting task runs from now on."""
        self._waits[task] = 0
        self._status[task], self._node[task] = RUNNING, node
        kind = KINDS[self._kinds[task]]
        self.waiting[kind] -= 1
        self.room[kind][node] -= 1
        self.free[kind][node] = self.room[kind][node]
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
        came = np.frombuffer(self._waits, dtype=np.bool_)[before : self._tasks]
        for number, kind in enumerate(KINDS):
            self.waiting[kind] += int(np.count_nonzero(came & (self._kind[before : self._tasks] == number)))
        instance = self.problem.instance
        none = np.zeros(len(instance.cluster), dtype=np.int64)
        true_shuffle = _known_shuffle(instance.workload.shuffle, self.order[: self._tasks], len(self.order))
        self.view = View(
            self.problem.name,
            self.problem.parameters,
            instance.cluster,
            instance.workload.foreseen(self.order[: self._tasks], self._jobs[: self._arrived_jobs]),
            _window(self._status[: self._tasks]),
            _window(self._node[: self._tasks]),
            _window(self.free.get(KINDS[MAP], none)),
            _window(self.free.get(KINDS[REDUCE], none)),
            None if true_shuffle is None else _seen(true_shuffle, self._status),
            true_shuffle,
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


def _known_shuffle(shuffle: Shuffle | None, tasks: Ints, count: int) -> Shuffle | None:
    """The entries between two of the given tasks, renumbered."""
    if shuffle is None:
        return None
    number = np.full(count, -1)
    number[tasks] = np.arange(len(tasks))
    maps, reduces = number[shuffle.map], number[shuffle.reduce]
    keep = (maps >= 0) & (reduces >= 0)
    return Shuffle(maps[keep], reduces[keep], shuffle.size[keep], shuffle.emitted[keep])


def _seen(shuffle: Shuffle, status: Ints) -> Shuffle:
    """The same without the sizes that only the end of a map tells."""
    return replace(shuffle, size=np.where(status[shuffle.map] == FINISHED, shuffle.size, np.nan))
