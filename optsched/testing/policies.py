"""The contract of policies: after any history a policy decides like one that begins now.

A policy goes through a drawn history. Jobs arrive; tasks are released, start, finish and return; nodes are lost, come
back and have other slots. After every event it is compared with another policy that starts on the present view and gets
the first one's memory (`Policy.memory`). All possible draws are tried, so the comparison is of the probability of each
answer, not of single answers. A policy that misses an event relies on the past, and sooner or later differs.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from optsched.core import registry
from optsched.core.arrays import Part
from optsched.core.errors import HeuristicFailed, UsageError, expect
from optsched.core.instance import (
    FINISHED,
    KINDS,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Ints,
    State,
    Workload,
)
from optsched.core.placement import NONE
from optsched.heuristics import AnyHeuristic, heuristic
from optsched.heuristics.running.base import HELD, Event, Offer, View
from optsched.heuristics.running.driver import tasks_from
from optsched.heuristics.running.known import Known
from optsched.instances.generate import FAMILIES, generate
from optsched.problems.base import TaskProblem
from optsched.testing.contract import ContractBroken

__all__ = ["Dice", "History", "check_policy", "drawn_snapshot", "law"]

#: The most ways to draw that are tried for one offer; offers with more are not compared.
MOST_WAYS = 400

#: The possible events, and their weights.
_HAPPENS = {"offer": 10, "finish": 5, "return": 1, "lose": 1, "back": 1, "resize": 1, "arrive": 2, "release": 1}


class Dice(np.random.Generator):
    """A generator that draws, or whose `integers(n)` and `random()` follow a script, one way after another.

    The result of `random()` is only compared: it is below `p` with probability `p`. Everything else draws.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self._script: tuple[int, ...] | None = None
        self._taken: list[int] = []
        self.likely = 1.0
        self.others: list[tuple[int, ...]] = []

    def follow(self, script: tuple[int, ...] | None) -> None:
        """Draw as a script says, then the first possibility; None: at random again."""
        self._script, self._taken, self.likely, self.others = script, [], 1.0, []

    def pick(self, shares: Sequence[float]) -> int:
        """A number below the number of shares: the next one of the script."""
        assert self._script is not None
        at = len(self._taken)
        chosen = self._script[at] if at < len(self._script) else 0
        if at >= len(self._script):
            self.others += [(*self._taken, other) for other in range(1, len(shares))]
        self._taken.append(chosen)
        self.likely *= shares[chosen]
        return chosen

    def integers(self, low: Any, high: Any = None, size: Any = None, **others: Any) -> Any:  # type: ignore[override]
        """As in numpy; a single number comes from the script."""
        if self._script is None or size is not None or others:
            return super().integers(low, high, size, **others)
        begin, end = (0, low) if high is None else (low, high)
        return int(begin) + self.pick([1 / (end - begin)] * int(end - begin))

    def random(self, size: Any = None, **others: Any) -> Any:  # type: ignore[override]
        """As in numpy; a single number is compared as the script says."""
        if self._script is None or size is not None or others:
            return super().random(size, **others)
        return _Chance(self)


class _Chance(float):
    """A number between 0 and 1 that is decided when it is compared."""

    _dice: Dice

    def __new__(cls, dice: Dice) -> _Chance:
        chance = super().__new__(cls, 0.5)
        chance._dice = dice
        return chance

    def __lt__(self, other: float) -> bool:
        share = min(max(float(other), 0.0), 1.0)
        return share == 1 or (share > 0 and self._dice.pick([share, 1 - share]) == 0)

    def __ge__(self, other: float) -> bool:
        return not self < other

    __le__, __gt__ = __lt__, lambda self, other: not self < other
    __hash__ = float.__hash__


def law(policy: Any, offer: Offer, view: View, dice: Dice) -> dict[tuple[int, ...], float] | None:
    """The rounded probability of each answer to an offer; None if there are too many ways to draw. No task starts."""
    shared = {id(part): part for part in _parts(view)} | {id(dice): dice}
    found: Counter[tuple[int, ...]] = Counter()
    ways: list[tuple[int, ...]] = [()]
    tried = 0
    try:
        while ways:
            tried += 1
            if tried > MOST_WAYS:
                return None
            twin = copy.deepcopy(policy, dict(shared))
            dice.follow(ways.pop())
            found[tuple(int(task) for task in twin.offer(offer, view))] += dice.likely  # type: ignore[assignment]
            ways += dice.others
    finally:
        dice.follow(None)
    return {answer: round(likely, 9) for answer, likely in sorted(found.items())}


def _parts(value: Any) -> Iterator[Any]:
    """A view and all its parts, which copies of a policy share."""
    yield value
    if isinstance(value, View | Part):
        for column in fields(value):  # type: ignore[arg-type]
            yield from _parts(getattr(value, column.name))


class History:
    """A policy's history, drawn step by step; a step is one event, or an offer and its starts.

    Parameters
    ----------
    problem
        What is scheduled.
    policy
        It is started, gets offers of slots, and is notified of every event.
    seed
        Of the events, and of the policy's draws.
    observer
        Called after each event of which the policy was notified.

    Attributes
    ----------
    hearing
        The event of which the policy is being notified; None between events.
    """

    hearing: Event | None = None

    def __init__(self, problem: TaskProblem[Any], policy: Any, seed: int, observer: Callable[[Event], None]) -> None:
        self._rng, self._observer = np.random.default_rng([seed, 1]), observer
        workload, tasks = problem.instance.workload, problem.tasks
        # About every second job that waits with reduces may not start them yet.
        jobs = self._rng.random(len(workload.job_ids) + 1) < 0.5
        jobs[-1] = False  # tasks without a job
        held = tasks[(workload.kind[tasks] == REDUCE) & jobs[workload.job[tasks]]]
        self.known, self.policy, self.dice = Known(problem, held), policy, Dice(seed)
        self._reads = np.random.default_rng([seed, 2])
        cluster = problem.instance.cluster
        self._slots = np.stack([cluster.slots, cluster.reduce_slots], axis=1)
        _of(policy, "start")(self.known.view, self.dice)

    def step(self) -> None:
        """Let one event happen, if possible. A running map may have progressed meanwhile; no event reports that."""
        self._progress()
        what = self._rng.choice(list(_HAPPENS), p=np.array(list(_HAPPENS.values())) / sum(_HAPPENS.values()))
        getattr(self, f"_{what}")()

    def _tell(self, event: Event) -> None:
        self.hearing = event
        _of(self.policy, "notify")(event, self.known.view)
        self.hearing = None
        self._observer(event)

    def _one(self, values: Ints) -> int:
        return int(values[self._rng.integers(len(values))])

    def offers(self) -> list[Offer]:
        """One offer for each node with free slots of a kind for which a task waits."""
        known = self.known
        return [
            Offer(known.time, node, kind, known.room[kind][node])
            for kind, free in known.free.items()
            for node in np.flatnonzero(free).tolist()
            if known.waiting[kind]
        ]

    def _offer(self) -> None:
        if offers := self.offers():
            offer, known = offers[self._rng.integers(len(offers))], self.known
            kind, answer = KINDS.index(offer.kind), self.policy.offer(offer, known.view)
            try:
                tasks = tasks_from(answer, offer.free, offer.kind, lambda task: known.waits(task, kind), known.label)
            except HeuristicFailed as failed:
                raise ContractBroken(f"on {offer} it {failed}") from None
            for task in tasks:
                self._tell(known.start(task, offer.node))

    def _of_status(self, *wanted: int) -> Ints:
        return np.flatnonzero(np.isin(self.known.view.status, wanted))

    def _finish(self) -> None:
        """Let some time pass, without an arrival, and end a task."""
        known, time = self.known, self.known.time + float(self._rng.integers(1, 4))
        known.time = time if known.complete else min(time, float(np.nextafter(known.next_arrival, known.time)))
        if len(running := self._of_status(RUNNING)):
            self._tell(self.known.finish(self._one(running)))

    def _return(self) -> None:
        if len(begun := self._of_status(RUNNING, FINISHED)):
            self._tell(self.known.return_task(self._one(begun)))

    def _lose(self) -> None:
        node = int(self._rng.integers(len(self._slots)))
        self._tell(self.known.change_node(node, (0, 0)))
        lost = [RUNNING, FINISHED] if self._rng.random() < 0.5 else [RUNNING]
        there = self._of_status(*lost)
        for task in there[self.known.view.node[there] == node].tolist():
            self._tell(self.known.return_task(task))

    def _back(self) -> None:
        gone = np.flatnonzero(self.known.view.map_slots + self.known.view.reduce_slots == 0)
        if len(gone):
            node = self._one(gone)
            self._tell(self.known.change_node(node, self._slots[node].tolist()))

    def _resize(self) -> None:
        node = int(self._rng.integers(len(self._slots)))
        self._tell(self.known.change_node(node, self._rng.integers(1, 4, size=len(KINDS)).tolist()))

    def _arrive(self) -> None:
        if not self.known.complete:
            for event in self.known.move_to(self.known.next_arrival):
                self._tell(event)

    def _release(self) -> None:
        """Release the held reduces of a job that has arrived."""
        held, job = self._of_status(HELD), self.known.view.workload.job
        if len(held):
            for task in held[job[held] == job[self._one(held)]].tolist():
                self._tell(self.known.release(task))

    def _progress(self) -> None:
        known, workload = self.known, self.known.problem.instance.workload
        running = self._of_status(RUNNING)
        maps = running[known.view.workload.kind[running] == MAP]
        if len(maps) and self._reads.random() < 0.5:
            task = known.order[self._reads.choice(maps)]
            sent = np.arange(0) if workload.shuffle is None else np.flatnonzero(workload.shuffle.map == task)
            read, emitted = self._reads.integers(1, 60, size=2).tolist()
            known.progress([task], [read], sent, np.full(len(sent), emitted))


def _of(policy: Any, method: str) -> Any:
    """A method that a policy need not have."""
    return getattr(policy, method, None) or (lambda *_: None)


def drawn_snapshot(seed: int) -> Instance:
    """A small instance of the family `mixed` with running tasks, some tasks without a job, and later arrivals."""
    rng = np.random.default_rng(seed)
    sizes = {"nodes": 4, "racks": 3, "datacenters": 2, "tasks": 7, "reduces": 3, "jobs": 3, "groups": 2, "slots": 2}
    drawn = generate("mixed", seed=seed, **sizes)
    assert isinstance(drawn, Instance)
    workload: Workload = drawn.workload
    job = np.where(rng.random(len(workload)) < 0.1, NONE, workload.job)
    job = job if rng.random() < 0.3 else workload.job
    arrival = rng.choice([0.0, 0.0, 5.0, 9.0], size=len(workload.job_ids))
    workload = replace(workload, job=job, arrival=arrival)
    cluster = replace(drawn.cluster, rack=np.where(rng.random(4) < 0.1, -1, drawn.cluster.rack))
    return Instance(cluster, workload, _running(rng, cluster, workload), name=f"drawn-{seed}")


def _running(rng: np.random.Generator, cluster: Cluster, workload: Workload) -> State:
    """A state in which some tasks of arrived jobs run, each in a slot, and some have finished."""
    free = [cluster.slots.copy(), cluster.reduce_slots.copy()]
    status, node = np.full(len(workload), PENDING), np.full(len(workload), NONE)
    there = np.append(workload.arrival <= 0, True)[workload.job]
    for task in np.flatnonzero(there & (rng.random(len(workload)) < 0.3)).tolist():
        at, slots = int(rng.integers(len(cluster))), free[workload.kind[task]]
        if slots[at]:
            status[task], node[task] = (RUNNING if rng.random() < 0.7 else FINISHED), at
            slots[at] -= status[task] == RUNNING
    maps, reduces = free
    return State.initial(cluster, workload, status=status, node=node, idle_slots=maps, idle_reduce_slots=reduces)


def check_policy(
    policy: AnyHeuristic,
    /,
    seeds: Sequence[int] = range(3),
    problems: Sequence[str] | None = None,
    steps: int = 25,
    **parameters: Any,
) -> None:
    """Let a policy go through histories, and compare it after every event with one that begins then.

    Parameters
    ----------
    policy
        As `optsched.heuristics.heuristic` takes it.
    seeds
        Of the instances and histories: their number for each problem.
    problems
        The problems to schedule for; by default those that the policy names itself and that offer slots.
    steps
        Of each history.
    **parameters
        The policy's own.

    Raises
    ------
    UsageError
        If it is no policy, or nothing would be tried.
    ContractBroken
        At the first difference, with problem, seed, event and both laws.

    Examples
    --------
    >>> check_policy("dl", problems=["lsap"], reading="heartbeat")
    >>> class Deaf:
    ...     def start(self, view, rng):
    ...         self.waiting = view.pending.tolist()
    ...     def offer(self, offer, view):
    ...         return [self.waiting.pop()] if self.waiting else []
    >>> check_policy(Deaf, problems=["lsap"])
    Traceback (most recent call last):
    optsched.testing.contract.ContractBroken: ...
    """
    expect(seeds, Sequence, "check_policy takes seeds as a sequence", "for instance range(3)")
    expect(problems, (list, tuple, type(None)), "check_policy takes a list of problems")
    expect(steps, int, "check_policy takes steps as a whole number")
    if not seeds or steps < 1:
        given = f"{len(seeds)} seeds and {steps} steps"
        raise UsageError(f"check_policy with {given} tries nothing; give 1 or more of each")
    entry = heuristic(policy)
    if entry.policy is None:
        raise UsageError(f"{entry.name} is a batch heuristic, which nothing happens to; give a policy")
    offering = 0
    for name in problems or entry.named:
        for seed in seeds:
            posed = _posed(name, seed)
            if posed is None or not posed.offered or not entry.serves(posed):
                continue
            offering += 1
            _live(entry.policy, posed, seed, steps, f"{entry.name}, {name}, seed {seed}", parameters)
    if not offering:
        raise UsageError(f"{entry.name}: none of its problems offers slots; name one that does")


def _posed(name: str, seed: int) -> TaskProblem[Any] | None:
    """The problem on a snapshot of `drawn_snapshot`, or if that lacks its fields on an instance of its own family."""
    record = registry.record(name)
    kind: Any = record.problem_class
    if not issubclass(kind, TaskProblem):
        return None
    instance = drawn_snapshot(seed)
    if kind.applies(instance):
        family = record.family if record.family in FAMILIES else None
        drawn = generate(family, seed=seed, **record.sizes) if family else None
        return kind(drawn) if isinstance(drawn, Instance) else None
    posed: TaskProblem[Any] = kind(instance)
    return posed


def _live(
    make: Callable[..., Any], problem: TaskProblem[Any], seed: int, steps: int, place: str, parameters: dict[str, Any]
) -> None:
    """One history, and a comparison after each event."""
    number, last = 0, "start"
    history: History | None = None

    def compare(event: Event) -> None:
        nonlocal number, last
        number, last = number + 1, event.what
        assert history is not None
        differs = _difference(history, make(**parameters), number)
        if differs:
            mend = "follow the events in notify, and tell by memory and recall what no view tells"
            raise ContractBroken(f"after event {number} ({event.what} {event.index}) {differs}; {mend}")

    try:
        history = History(problem, make(**parameters), seed, compare)
        for _ in range(steps):
            history.step()
    except ContractBroken as error:
        raise ContractBroken(f"{place}: {error}") from error
    except Exception as error:
        event = None if history is None else history.hearing
        when = f"after event {number} ({last})" if event is None else f"on event {number + 1} ({event.what})"
        raise ContractBroken(f"{place}: {when} it raised {type(error).__name__}: {error}") from error


def _difference(history: History, fresh: Any, number: int) -> str | None:
    """The difference between a policy with a history and one that begins now; each time another offer is made."""
    lived, known, dice = history.policy, history.known, history.dice
    _of(fresh, "start")(known.view, dice)
    remembered = _of(lived, "memory")()
    if remembered is not None:
        fresh.recall(remembered, known.view)
    offers = history.offers()
    if not offers:
        return None
    offer = offers[number % len(offers)]
    likely, then = (law(policy, offer, known.view, dice) for policy in (lived, fresh))
    if likely is not None and then is not None and likely != then:
        return f"{offer} is answered with chances {likely}, and by one that begins then with {then}"
    return None
