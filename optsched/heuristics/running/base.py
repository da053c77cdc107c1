"""Interfaces of heuristics: a batch callable that sees the whole snapshot, or an online policy that answers offers.

`driver` defines the valid answers of a heuristic, and drives policies; `run` runs one by name. The heuristics
themselves are in one module per family; `optsched.heuristics` has the list of all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from optsched.core.brief import brief, counted
from optsched.core.errors import Fault, MissingField, UsageError
from optsched.core.instance import KINDS, MAP, PENDING, Cluster, Floats, Ints, Ragged, Shuffle, Workload
from optsched.core.placement import Placement
from optsched.core.registry import SHIPPED
from optsched.problems import PROBLEMS, problem_class
from optsched.problems.base import TaskProblem
from optsched.problems.parameters import Parameter

#: A status that only views have: the task has arrived but may not start yet, such as a reduce while too few maps of its
#: job have ended.
HELD = 3

#: A callable `(problem, rng, **parameters)` that places everything at once. It returns a `Placement` of the instance,
#: or a sequence with an entry for each of `problem.tasks`: a node id, a node index, or None (-1) for nowhere. A mapping
#: from ids of tasks to such entries is also valid.
BatchHeuristic = Callable[..., Any]


@dataclass(slots=True, unsafe_hash=True)  # not frozen: that would take a fifth of the time of an event
class Offer:
    """A heartbeat: at `time` node `node` (index) has `free` slots of `kind` ("map" or "reduce"). It is not changed."""

    time: float
    node: int
    kind: str
    free: int


@dataclass(slots=True, unsafe_hash=True)
class Event:
    """An event; the view shows it, and no later event except arrivals.

    Attributes
    ----------
    time
        The time of the event.
    what
        `job-arrived`: there is a new view; it contains all jobs that have just arrived. `task-started`: it runs on
        `view.node`. `task-finished`: its slot is free; `view.node` is still where it ran. `task-returned`: a task that
        ran or had finished waits again, on no node; it failed, or its node was lost with everything that it had
        written. `task-released`: a held task waits from now on. `node-changed`: the node has other slots than before
        (`view.map_slots`, `view.reduce_slots`), none if it is lost; tasks that are lost with it are returned next.
    index
        The number of the job, task or node in the view.
    """

    time: float
    what: str
    index: int


@dataclass(frozen=True, eq=False)
class View:
    """What a policy may know when it is asked: nothing about jobs that have not arrived, later offers or durations.

    Tasks and jobs are numbered in the order of their arrival; those that arrive together keep the order of the
    instance. If nothing arrives after the snapshot, these are the instance's own indices. `status`, `node`, slots,
    `bytes_read`, `emitted` and `shuffle` are read-only and always show the present. When a job arrives, the rest
    changes too, and there is a new view.

    Attributes
    ----------
    problem, parameters
        Name and parameters of the problem, for policies that serve several.
    cluster
        The nodes, with racks, types, topology and their initial slots.
    workload
        The tasks and jobs that have arrived, without `observed`, `duration`, `times`, `shuffle` and `pairs`.
    status, node
        int64, shape (arrived tasks,): `PENDING`, `RUNNING`, `FINISHED` or `HELD`, and the node it runs or ran on, or
        -1.
    free_map_slots, free_reduce_slots
        int64, shape (nodes,): slots that are free now, as the master of the cluster knows them from all heartbeats. A
        kind of slot that the problem does not use has none.
    map_slots, reduce_slots
        int64, shape (nodes,): slots of each node now, free or not; none if it is lost.
    bytes_read
        float64, shape (arrived tasks,): MB of its input that each task has read, or NaN.
    out_in_use
        float64, shape (nodes,): the rate at which each node sends data, in MB/s, in the snapshot.
    running_rates
        For each node the input rates of tasks that run there but are not listed, in MB/s.
    group_running_tasks
        int64, shape (groups,): running tasks of each group that are not listed; -1: not given.
    shuffle
        What maps send to reduces, if both have arrived: `size` only if the map is finished, else NaN. None if nothing
        is known about it.
    true_shuffle
        The same with every `size`: only for ablations that assume a perfect estimate.
    emitted
        float64, shape (entries of the shuffle,): MB that the map has sent so far, or NaN.
    progress
        How often `bytes_read` and `emitted` have changed: values derived from them are current while this is the same.
    """

    problem: str
    parameters: Mapping[str, Any]
    cluster: Cluster
    workload: Workload
    status: Ints
    node: Ints
    free_map_slots: Ints
    free_reduce_slots: Ints
    map_slots: Ints
    reduce_slots: Ints
    bytes_read: Floats
    out_in_use: Floats
    running_rates: Ragged
    group_running_tasks: Ints
    shuffle: Shuffle | None = None
    true_shuffle: Shuffle | None = None
    emitted: Floats = field(default_factory=lambda: np.zeros(0))
    progress: Ints = field(default_factory=lambda: np.zeros((), dtype=np.int64))

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.status), 'task')} arrived, {counted(len(self.cluster), 'node')}"
        return brief(f"View of {self.problem}: {sizes}")

    @property
    def pending(self) -> Ints:
        """Maps that wait now, increasing."""
        return self.pending_of(KINDS[MAP])

    def pending_of(self, kind: str) -> Ints:
        """Tasks of a kind ("map" or "reduce") that wait now, increasing."""
        return np.flatnonzero((self.status == PENDING) & (self.workload.kind == KINDS.index(kind)))

    def free_slots(self, kind: str) -> Ints:
        """A read-only view of the free slots of a kind."""
        return self.free_map_slots if kind == KINDS[MAP] else self.free_reduce_slots

    def slots(self, kind: str) -> Ints:
        """A read-only view of all slots of a kind."""
        return self.map_slots if kind == KINDS[MAP] else self.reduce_slots


class Policy(Protocol):
    """An online scheduler. All its randomness comes from the generator that `start` receives.

    Any class with `offer` is valid. A class that derives from this one inherits a `start` and a `notify` that do
    nothing.

    Attributes
    ----------
    fills_nodes
        Whether a heartbeat of a node offers all its free slots, one after another; otherwise each slot has its own
        heartbeat.
    waits_seconds, waits_rounds
        For how many seconds, and how many rounds of offers, it may deliberately start nothing while nothing runs; over
        time (`optsched.simulate`) it counts as starved only after that. They are read when that happens.
    """

    fills_nodes: bool = False
    waits_seconds: float = 0.0
    waits_rounds: int = 0

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Start over. A policy may be started more than once."""

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        """Tasks (numbers of the view) to start on the offering node, at most `offer.free`; empty to leave it idle."""
        ...

    def notify(self, event: Event, view: View) -> None:
        """Called with every event, in order of time. Counters must follow all events, not only starts."""

    def memory(self) -> Any:
        """What no view shows: offers that were let pass, turns, queues. A copy, in any form; None: nothing.

        After any event, a policy must decide exactly as a fresh copy would that starts on the current view and recalls
        this memory, with the same draws.
        """
        return None

    def recall(self, memory: Any, view: View) -> None:
        """Continue with a memory; called after `start`."""
        return


def over_time() -> tuple[str, ...]:
    """The shipped problems in which policies run over time: those whose records name a runner."""
    return tuple(entry.name for entry in SHIPPED if entry.runner is not None)


def takes_any_policy(name: str) -> bool:
    """Whether a problem is another package's, decides placements, and offers slots: any policy can decide in it."""
    if any(name == entry.name for entry in SHIPPED) or name not in PROBLEMS:
        return False
    kind = PROBLEMS[name]
    return issubclass(kind, TaskProblem) and kind.decided is Placement and kind.offered is not TaskProblem.offered


@dataclass(frozen=True)
class Heuristic:
    """An entry of the list of heuristics.

    Attributes
    ----------
    name, algorithm
        As shown by `optsched list heuristics` (`dl`, `III.A`).
    paper
        Its source, or short names of `optsched.core.brief.PAPERS`, which lists show as authors and year.
    problems
        Names of the problems that it serves. A policy also serves those in which tasks run over time, and those of
        other packages that offer slots.
    named
        The problems as they were given.
    doc
        One line.
    parameters
        Its parameters; an unknown name is wrong usage. None: those of its callable.
    batch, policy
        Exactly one is given: the batch callable, or a callable that makes a policy from the parameters.
    missing
        The fields that it needs and the problem's instance lacks, in addition to the problem's own.
    in_turn
        For a batch heuristic that only places the first maps by arrival, as many as there are slots: a function of
        their replicas, the free slots of each node, and the nodes' racks that returns their nodes. Rounds over time
        then need no snapshot.

    Raises
    ------
    UsageError
        If `batch` and `policy` are both given, or neither, or `problems` or `parameters` contain something else.
    """

    name: str
    paper: str
    algorithm: str
    problems: tuple[str, ...]
    doc: str
    parameters: tuple[Parameter, ...] | None = ()
    batch: BatchHeuristic | None = None
    policy: Callable[..., Policy] | None = None
    missing: Callable[[Any], Sequence[Fault]] | None = None
    in_turn: Callable[[Ragged, Ints, Ints], Sequence[int]] | None = None
    named: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "named", self.problems)
        if (self.batch is None) == (self.policy is None):
            raise UsageError(f'heuristic "{self.name}": give batch or policy, and one of them only')
        for what, given, kind in (("problems", self.problems, str), ("parameters", self.parameters or (), Parameter)):
            if not isinstance(given, tuple) or not all(isinstance(entry, kind) for entry in given):
                expected = "names of problems" if kind is str else "Parameters"
                raise UsageError(f'heuristic "{self.name}": its {what} are {given!r}; give a tuple of {expected}')
        if self.policy is not None:
            object.__setattr__(self, "problems", tuple(dict.fromkeys((*self.problems, *over_time()))))

    def __repr__(self) -> str:
        return brief(f"Heuristic {self.name} of {', '.join(self.problems) or 'any problem'}: {self.doc}")

    @property
    def shipped(self) -> bool:
        """Whether its code is this package's own: such code changes none of its inputs, and checks the clock."""
        code = getattr(self.policy or self.batch, "__module__", None) or ""
        return self.parameters is not None and code.startswith("optsched.")

    @property
    def in_rounds(self) -> tuple[str, ...]:
        """Names of the problems over time in which it can decide round after round, each time for a snapshot.

        For a listed batch heuristic that does not return schedules itself, these are all of them.
        """
        if self.online or self.parameters is None:
            return ()
        return tuple(name for name in over_time() if name not in self.problems)

    def decides_in(self, name: str) -> bool:
        """Whether it can decide in the problem of a name: one that it names, or any that takes any policy."""
        return name in self.problems or (self.online and takes_any_policy(name))

    def runs_in(self, name: str) -> bool:
        """Whether it can run in the problem of a name, if necessary in rounds."""
        return self.decides_in(name) or name in self.in_rounds

    def serves(self, problem: TaskProblem[Any]) -> bool:
        """Whether it can place tasks in `problem`; a user's own may serve a class that no record names."""
        offers = not self.online or problem.decided is not Placement or problem.offered
        own = self.parameters is None and offers
        return bool(own or self.decides_in(problem.name)) and not self.faults(problem)

    def applies(self, problem: TaskProblem[Any]) -> bool:
        """Whether it can run in `problem` as it is posed, if necessary in rounds."""
        return self.serves(problem) or (problem.name in self.in_rounds and not self.faults(problem))

    def faults(
        self, problem: TaskProblem[Any], parameters: Mapping[str, Any] = MappingProxyType({})
    ) -> Sequence[Fault]:
        """The fields that it needs and the problem's instance lacks; in rounds, those of the problem that it poses.

        `parameters`: the parameters of a run; its `problem` names the problem that is posed in rounds.
        """
        posed: Any = problem
        if problem.name in self.in_rounds:
            try:
                posed = problem_class(parameters.get("problem", self.problems[0]))(problem.instance)
            except MissingField as error:
                return error.faults
        return self.missing(posed) if self.missing else ()

    @property
    def online(self) -> bool:
        """Whether it is a policy."""
        return self.policy is not None


def table_row(heuristic: Heuristic) -> dict[str, Any]:
    """The row of a heuristic in `optsched list heuristics`."""
    return {
        "name": heuristic.name,
        "doc": heuristic.doc,
        "paper": heuristic.paper,
        "algorithm": heuristic.algorithm,
        "online": heuristic.online,
        "problems": list(heuristic.problems),
        "parameters": {
            parameter.name: {"default": parameter.default, "doc": parameter.doc}
            for parameter in heuristic.parameters or ()
        },
    }
