"""Drives a policy over the slots of a snapshot, in rounds of offers until all is placed or the policy starves.

It also reads the answers of heuristics, and makes the messages for wrong answers and for exceptions. `known` makes the
policy's view. Code that offers slots, here or over time (`optsched.heuristics.simulating`), uses `Asked`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from traceback import walk_tb
from typing import Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.deadline import check
from optsched.core.errors import HeuristicFailed, OutOfTime, ProblemFailed, UsageError, described
from optsched.core.instance import KINDS, Ints
from optsched.core.outside import raised
from optsched.core.placement import NONE, Placement, Schedule
from optsched.heuristics.running.base import Event, Offer, Policy
from optsched.heuristics.running.known import Known, posed_on
from optsched.problems.base import Problem, TaskProblem

# Answers --------------------------------------------------------------------------------------------------------------

#: The most wrong entries that are named one by one.
ENTRIES_SHOWN = 10


def attempt(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a user's code; HeuristicFailed reports any exception, including an attempt to exit.

    Interrupts pass, and so do OutOfTime and faults of the problem itself.
    """
    __tracebackhide__ = True  # pytest then shows only the user's code
    try:
        return function(*arguments, **named)
    except (HeuristicFailed, OutOfTime, ProblemFailed):
        raise
    except (Exception, SystemExit) as error:
        own = getattr(function, "__code__", None)
        passed = {frame.f_code for frame, _ in walk_tb(error.__traceback__)}
        if own is not None and isinstance(error, TypeError) and own not in passed:
            given = ", ".join(type(argument).__name__ for argument in arguments)
            message = f"was called with arguments that it does not take ({given}): {error}"
            raise HeuristicFailed(f"{message} ({own.co_filename}, line {own.co_firstlineno})") from error
        raise HeuristicFailed(f"raised {raised(error)}") from error


def placement_from(answer: Any, problem: Problem) -> Placement:
    """The placement in a batch heuristic's answer.

    The answer is a `Placement` of the instance, or a sequence or one-dimensional array with a node id, a node index or
    None (-1) for each of `problem.tasks`, or a mapping from their ids to these. Tasks that a mapping leaves out wait.
    HeuristicFailed has a line for each fault: type, length, unknown nodes.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"])))
    >>> placement_from(["b", None], problem).nodes.tolist()
    [1, -1]
    >>> placement_from({"t2": "a"}, problem).nodes.tolist()
    [-1, 0]
    >>> placement_from([1, "c"], problem)
    Traceback (most recent call last):
    optsched.core.errors.HeuristicFailed: answered node "c" for task "t2": the instance has no such node
    """
    entries: Sequence[Any] | np.ndarray
    if isinstance(answer, Placement):
        tasks, entries, what = np.arange(len(problem.instance.workload)), answer.nodes, "task of the instance"
    else:
        given = _listed(answer, problem) if isinstance(answer, Mapping) else _sequence(answer)
        tasks, entries, what = problem.tasks, given, "of problem.tasks"
    if len(entries) != len(tasks):
        raise HeuristicFailed(f"answered {len(entries)} nodes; give exactly one for each {what}, that is {len(tasks)}")
    nodes, faults = _nodes(entries, tasks, problem)
    if faults:
        more = len(faults) - ENTRIES_SHOWN
        shown = faults[:ENTRIES_SHOWN] + ([f"and {more} more entries that are wrong"] if more > 0 else [])
        raise HeuristicFailed(*shown)
    return Placement(nodes) if isinstance(answer, Placement) else problem.placement(nodes)


def _listed(answer: Mapping[Any, Any], problem: Problem) -> list[Any]:
    """The entries of a mapping in the order of `problem.tasks`, None for each task that it leaves out."""
    ids = problem.task_ids.tolist()
    known = set(ids)
    unknown = [task for task in answer if task not in known]
    if unknown:
        shown = [f'names task "{task}", which is none of problem.tasks' for task in unknown[:ENTRIES_SHOWN]]
        raise HeuristicFailed(*shown)
    return [answer.get(task) for task in ids]


def schedule_from(answer: Any, problem: TaskProblem[Schedule]) -> Schedule:
    """The schedule in a batch heuristic's answer: a `Schedule` of the instance, on existing nodes.

    Raises
    ------
    HeuristicFailed
        If it is not one.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Makespan
    >>> problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[2])))
    >>> schedule_from(problem.schedule([0], [0]), problem)
    <Schedule: 1 of 1 task run>
    >>> schedule_from(["a"], problem)
    Traceback (most recent call last):
    optsched.core.errors.HeuristicFailed: answered a list; give a Schedule: problem.schedule(nodes, starts)
    """
    if not isinstance(answer, Schedule):
        raise HeuristicFailed(f"answered {described(answer)}; give a Schedule: problem.schedule(nodes, starts)")
    tasks = len(problem.instance.workload)
    if len(answer) != tasks:
        raise HeuristicFailed(
            f"answered {len(answer)} tasks; give exactly one for each task of the instance, that is {tasks}"
        )
    _, faults = _nodes(answer.nodes, np.arange(len(answer)), problem)
    if faults:
        raise HeuristicFailed(*faults[:ENTRIES_SHOWN])
    return answer


def _sequence(answer: Any) -> Sequence[Any] | np.ndarray:
    """The answer as a sequence; a text is not one."""
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes | bytearray):
        return answer
    entries = np.asarray(answer) if hasattr(answer, "__array__") else None
    if entries is None:
        raise HeuristicFailed(
            f"answered {described(answer)}; give a Placement, or a sequence of one node for each task"
        )
    if entries.ndim != 1:
        raise HeuristicFailed(f"answered an array of shape {entries.shape}; give one node for each task")
    return entries


def _nodes(entries: Sequence[Any] | np.ndarray, tasks: Ints, problem: TaskProblem[Any]) -> tuple[Ints, list[str]]:
    """Node index of each entry, and the faults of entries that are no node."""
    count = len(problem.instance.cluster)
    if isinstance(entries, np.ndarray) and entries.dtype.kind in "iu":
        wrong = np.flatnonzero((entries < NONE) | (entries >= count)).tolist()
        if not wrong:
            return entries.astype(np.int64), []
    nodes, faults = np.full(len(entries), NONE, dtype=np.int64), []
    for position, entry in enumerate(entries.tolist() if isinstance(entries, np.ndarray) else entries):
        node = _node(entry, problem)
        if isinstance(node, int):
            nodes[position] = node
        else:
            given, mend = node
            task = problem.instance.workload.task_ids[tasks[position]]
            faults.append(f'answered {given} for task "{task}": {mend}')
    return nodes, faults


def _node(entry: Any, problem: TaskProblem[Any]) -> int | tuple[str, str]:
    """Index of the node of an entry; or in words what it is instead, and how to mend it."""
    count = len(problem.instance.cluster)
    if entry is None:
        return NONE
    if isinstance(entry, str):
        return problem.instance.node_index.get(entry, (f'node "{entry}"', "the instance has no such node"))
    if isinstance(entry, int | np.integer) and not isinstance(entry, bool):
        mend = f"indices run from 0 to {count - 1}, and -1 is nowhere"
        return int(entry) if NONE <= entry < count else (f"node index {entry}", mend)
    return f"{entry!r}", "give a node id, a node index, or None"


def tasks_from(
    answer: Any, free: int, kind: str, waits: Callable[[int], bool], label: Callable[[int], str]
) -> list[int]:
    """The tasks in a policy's answer to an offer of `free` slots of a kind.

    HeuristicFailed if its answer is no sequence or array of whole numbers, has more tasks than slots, the same task
    twice, or one that does not wait. `waits` says whether a number is a waiting task of this kind; `label` is its name
    in messages.
    """
    if isinstance(answer, str | bytes) or not isinstance(answer, Sequence | np.ndarray):
        given = "None" if answer is None else repr(answer)
        raise HeuristicFailed(f"answered {given}; give a sequence of tasks, empty to leave the slots idle")
    tasks: list[Any] = list(answer)
    for task in tasks:
        if isinstance(task, bool) or not isinstance(task, int | np.integer):
            raise HeuristicFailed(f"answered {task!r}; give the tasks' numbers in the view")
        if not waits(int(task)):
            mend = f'take one of view.pending_of("{kind}")'
            raise HeuristicFailed(f"answered {label(int(task))}, which is no {kind} that waits; {mend}")
    if len(tasks) > free:
        raise HeuristicFailed(f"answered {len(tasks)} tasks, more than the {counted(free, 'free slot')}")
    if len(set(tasks)) < len(tasks):
        twice = next(task for position, task in enumerate(tasks) if task in tasks[:position])
        raise HeuristicFailed(f"answered {label(int(twice))} twice; start each task once")
    return [int(task) for task in tasks]


# Offers ---------------------------------------------------------------------------------------------------------------

#: Rounds without an assignment after which a policy counts as starved.
MAX_IDLE_ROUNDS = 100

#: Up to this many slots of a kind, a round's order is drawn completely; for more, only as far as needed, differently.
LAZY = 2**22

#: Entries of such an order that are drawn together.
_DRAWN = 2**10


@dataclass(frozen=True)
class Answer:
    """A policy's answer to an offer: a decision, in the state in which it was taken.

    Problems posed on the present are made on demand, while the decision is observed.

    Attributes
    ----------
    offer
        The offer.
    tasks
        The tasks (indices of the driven instance) that it started, none if it declined.
    """

    offer: Offer
    tasks: tuple[int, ...]
    _asked: Asked | None = field(default=None, repr=False, compare=False)

    @cached_property
    def before(self) -> TaskProblem[Any]:
        """The problem posed on the state in which it was taken: what ran, what was free, and what had arrived then."""
        return self._posed(undone=True)

    @cached_property
    def after(self) -> TaskProblem[Any]:
        """The problem posed on the resulting state, in which its tasks run."""
        return self._posed(undone=False)

    @cached_property
    def placement(self) -> Placement:
        """Its tasks on the node of the offer, as a placement of `before`; nothing else is placed."""
        instance = self.before.instance
        ids = self._known.problem.instance.workload.task_ids[list(self.tasks)].tolist()
        tasks = np.array([instance.task_index[name] for name in ids], dtype=np.int64)
        return Placement.empty(len(instance.workload)).with_tasks(tasks, np.full(len(tasks), self.offer.node))

    def __getstate__(self) -> dict[str, Any]:
        """The state for a copy or another process: the problems made so far, but not the run, which is over there."""
        return {name: value for name, value in self.__dict__.items() if name != "_asked"}

    @property
    def _known(self) -> Known:
        if self._asked is None or self._asked.decision is not self:
            raise UsageError("this decision is past: ask for its problems while it is observed; they are kept then")
        return self._asked.known

    def _posed(self, *, undone: bool) -> TaskProblem[Any]:
        known = self._known
        numbers = known.numbers(self.tasks) if undone else ()
        return posed_on(known.problem, known.snapshot(numbers))


#: Called with each decision: the time, the driven problem as it was posed at the start, and the decision, which has the
#: problem posed on the present (`before`, `after`).
Observer = Callable[[float, TaskProblem[Any], Answer], Any]


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
        The cost of its waiting, in slot-rounds: how often a slot was offered in vain while a task waited.
    starved
        Whether the driver gave it up, with tasks waiting and slots idle.
    """

    placement: Placement
    rounds: int
    idle_slot_time: int
    starved: bool


def streams(seed: int | Sequence[int]) -> tuple[np.random.Generator, np.random.Generator]:
    """Random streams of the driver and of the heuristic. Draws from one never change the other."""
    driver, heuristic = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    watched = _WATCHED.get()
    if watched is not None:
        watched += [(generator, _position(generator)) for generator in (driver, heuristic)]
    return driver, heuristic


#: The streams made under `watched_streams`, each with its initial position; None: no observer.
_WATCHED: ContextVar[list[tuple[np.random.Generator, Any]] | None] = ContextVar("streams", default=None)


def _position(generator: np.random.Generator) -> Any:
    """How far a stream has been drawn, and how many streams were made from it."""
    seeds: Any = generator.bit_generator.seed_seq
    return generator.bit_generator.state, seeds.n_children_spawned


@contextmanager
def watched_streams() -> Iterator[Callable[[], bool]]:
    """Watch the streams that are made: yields a function that says whether any of them was drawn from.

    If none was, another seed gives the same run, unless the heuristic has random numbers from elsewhere.

    >>> with watched_streams() as drawn:
    ...     own = streams(0)[1]
    ...     before = drawn()
    ...     number = own.random()
    >>> before, drawn()
    (False, True)
    """
    outer, made = _WATCHED.get(), list[tuple[np.random.Generator, Any]]()
    token = _WATCHED.set(made)
    try:
        yield lambda: any(_position(generator) != first for generator, first in made)
    finally:
        _WATCHED.reset(token)
        if outer is not None:
            outer += made


def drive(
    problem: TaskProblem[Any],
    policy: Policy,
    seed: int | Sequence[int] = 0,
    *,
    max_idle_rounds: int = MAX_IDLE_ROUNDS,
    observers: Sequence[Observer] = (),
) -> Drive:
    """Offer the idle slots to a policy until as many tasks are placed as the problem requires (`Problem.due`).

    A round offers every idle slot once, in random order. Each slot has one heartbeat, as Hadoop before version 2 gave
    one map per heartbeat. An offer names all the free slots of its node and may be answered with as many tasks; the
    node is then offered that many times less often in the round. The order is over slots, not nodes, as in Guo et al.'s
    simulations.

    For more than `LAZY` slots the order of a round is only drawn as far as the round goes.

    If the policy sets `fills_nodes`, a round offers node after node, in random order: the slots of a node one after
    another, until they are taken or one is declined. If the problem places maps and reduces, a round offers all map
    slots before the first reduce slot, since the place of a reduce depends on those of its maps.

    Jobs that arrive after the snapshot belong to the problem, but the policy only learns of them at their arrival. The
    clock stands still until no known task waits, or `max_idle_rounds` rounds in a row passed in vain: then it counts as
    starved. The clock moves to the next arrival.

    The policy is started again. `seed` gives its stream and the driver's (`streams`); `observers` are called after each
    decision (`Observer`, `Answer`). UsageError if the problem has no slots to offer; HeuristicFailed if the policy
    raises, or starts what it cannot start.

    >>> from optsched.heuristics.lsap_sched import LocalityPolicy
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1"], replicas=Ragged.from_rows([[1]]))
    >>> result = drive(Lsap(Instance(Cluster(["a", "b"]), workload)), LocalityPolicy("sweep"))
    >>> result.placement.nodes.tolist(), result.rounds
    ([1], 1)
    """
    if not problem.offered:
        raise UsageError(f"{problem.name} has no slots to offer to a policy; use a batch heuristic")
    order, own = streams(seed)
    known = Known(problem)
    asked = Asked(policy, known, order, observers)
    asked.begin(own)
    placed = rounds = idle_rounds = vain = 0
    while placed < problem.due:
        if not known.waits_for_slots or idle_rounds == max_idle_rounds:
            if known.complete:
                break
            for event in known.move_to(known.next_arrival):
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


class Asked:
    """A policy that is offered slots, one after another or in rounds, and notified of events.

    Attributes
    ----------
    known
        The state that is known to it.
    decision
        The latest one that was observed.
    offers
        The number of offers made.
    """

    decision: Answer | None = None
    offers = 0

    def __init__(self, policy: Policy, known: Known, order: np.random.Generator, observers: Sequence[Observer]) -> None:
        self._policy, self.known, self._order, self._observers = policy, known, order, observers
        notify = getattr(policy, "notify", None)
        #: None: the policy is not notified.
        self._notify = None if getattr(notify, "__func__", notify) in (None, Policy.notify) else notify
        self._fills = bool(getattr(policy, "fills_nodes", False))

    def begin(self, own: np.random.Generator) -> None:
        """Start the policy again, with its own stream."""
        if hasattr(self._policy, "start"):
            attempt(self._policy.start, self.known.view, own)

    def begun(self, task: int, node: int) -> None:
        """Called with each task that starts, before the policy is notified; for simulators, in which time passes."""

    def tell(self, event: Event) -> None:
        """Notify the policy of an event."""
        if self._notify is not None:
            attempt(self._notify, event, self.known.view)

    def go_round(self, kind: str) -> tuple[int, int]:
        """Offer all free slots of a kind; returns how many tasks started, and how many slots were offered in vain."""
        known, fills = self.known, self._fills
        room, waiting = known.room[kind], known.waiting
        left, placed, vain = list(room), 0, 0
        for node in self._turns(kind):
            while left[node]:
                started = len(self.offer(Offer(known.time, node, kind, room[node])))
                taken = started or (left[node] if fills else 1)
                left[node] -= taken
                placed += started
                vain += 0 if started else taken
                if not waiting[kind]:
                    return placed, vain
                if not fills:
                    break
        return placed, vain

    def _turns(self, kind: str) -> Iterable[int]:
        """The nodes in the order of a round."""
        free = self.known.free[kind]
        total = int(free.sum())
        if self._fills:
            turns = self._order.permutation(len(free))
        elif total > LAZY:
            return _drawn(free, total, self._order)
        else:
            turns = self._order.permutation(np.repeat(np.arange(len(free)), free))
        nodes: list[int] = turns.tolist()
        return nodes

    def offer(self, offer: Offer) -> Sequence[int]:
        """The tasks that the policy starts on an offer; it and the observers are notified."""
        check()
        self.offers += 1
        known, node = self.known, offer.node
        shown = copy(offer) if self._observers else offer  # in case the policy changes the offer
        tasks = self._answered(offer)
        for task in tasks:
            event = known.start(task, node)
            self.begun(task, node)
            if self._notify is not None:
                attempt(self._notify, event, known.view)
        if self._observers:
            self.decision = Answer(shown, tuple(known.order[list(tasks)].tolist()), self)
            for observer in self._observers:
                observer(known.time, known.problem, self.decision)
        return tasks

    def _answered(self, offer: Offer) -> Sequence[int]:
        known, node, free = self.known, offer.node, offer.free  # in case the policy changes the offer
        kind = KINDS.index(offer.kind)
        answer = attempt(self._policy.offer, offer, known.view)
        if type(answer) in (tuple, list):
            if not answer:
                return ()
            if len(answer) == 1 and type(answer[0]) is int and known.waits(answer[0], kind):
                return (answer[0],)
        try:
            waits = partial(known.waits, kind=kind)
            tasks: list[int] = attempt(tasks_from, answer, free, KINDS[kind], waits, known.label)
        except HeuristicFailed as failed:
            name = known.problem.instance.cluster.node_ids[node]
            raise HeuristicFailed(f'on an offer of node "{name}" {failed}') from failed.__cause__
        return tasks


def _drawn(free: Ints, slots: int, order: np.random.Generator) -> Iterator[int]:
    """Nodes of a random order of all slots, drawn one by one: a shuffle that keeps only the moved entries."""
    ends = np.cumsum(free)
    moved: dict[int, int] = {}
    for begin in range(0, slots, _DRAWN):
        places = np.arange(begin, min(begin + _DRAWN, slots))
        found = []
        for place, other in zip(places.tolist(), order.integers(places, slots).tolist(), strict=True):
            found.append(moved.get(other, other))
            moved[other] = moved.pop(place, place)
        yield from np.searchsorted(ends, found, side="right").tolist()
