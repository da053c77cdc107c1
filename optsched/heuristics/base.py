"""What a heuristic is: a batch callable that sees the whole snapshot, or an online policy that sees one offer at a time.

The driver of the policies is in `driver`; the heuristics themselves are one module a family, and `optsched.heuristics`
has the list of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from optsched.instance import Cluster, Ints, Ragged, Workload
from optsched.placement import Placement
from optsched.problems import Problem
from optsched.problems.base import Parameter

__all__ = ["BatchHeuristic", "Event", "Heuristic", "Offer", "Policy", "View"]


class BatchHeuristic(Protocol):
    """A callable that places all at once; a sequence of node ids (None: nowhere) or node indices does as well."""

    def __call__(self, problem: Any, rng: np.random.Generator, /, **parameters: Any) -> Placement | Sequence[Any]: ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A heartbeat: at `time` node `node` (index) has `free` slots of `kind` ("map" or "reduce")."""

    time: float
    node: int
    kind: str
    free: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: `what` is "job-arrived", "task-started", "task-finished" or "node-changed"."""

    time: float
    what: str
    index: int


@dataclass(frozen=True)
class View:
    """What a policy may know when it is asked: nothing of tasks that have not arrived, of later offers or durations.

    Attributes
    ----------
    problem
        Name and parameters of the problem, for policies that serve several.
    cluster
        The nodes, with racks and types. Idle slots of nodes are known from offers alone.
    task_ids, job, group, size
        Columns of all tasks that have arrived, by task index of the instance; entries of others are blank.
    replicas
        One row a task of the instance; empty for tasks that have not arrived.
    pending
        Indices of the tasks that wait now, increasing.
    """

    problem: str
    parameters: dict[str, Any]
    cluster: Cluster
    workload: Workload
    replicas: Ragged
    pending: Ints


class Policy(Protocol):
    """An online scheduler. Its randomness comes from the generator that `start` hands in, and from nothing else."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Begin; `view.pending` shrinks as tasks are placed and grows as jobs arrive (`notify` tells)."""

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        """Tasks (indices) to start on the offering node now, at most `offer.free`; empty to leave it idle."""

    def notify(self, event: Event, view: View) -> None:
        """Told of every event, in order of time; does nothing by default."""


@dataclass(frozen=True)
class Heuristic:
    """An entry of the list of heuristics.

    Attributes
    ----------
    name, paper, algorithm
        As `optsched list heuristics` shows them (`dl`, `003`, `III.A`).
    problems
        Names of the problems that it serves.
    doc
        One line.
    parameters
        Its parameters; unknown names are wrong usage.
    batch, policy
        Exactly one is given: the batch callable, or what makes a policy from the parameters.
    """

    name: str
    paper: str
    algorithm: str
    problems: tuple[str, ...]
    doc: str
    parameters: tuple[Parameter, ...] = ()
    batch: BatchHeuristic | None = None
    policy: Callable[..., Policy] | None = None

    def serves(self, problem: Problem) -> bool:
        """Whether it can be asked for a placement in `problem`."""
        return problem.name in self.problems

    @property
    def online(self) -> bool:
        """Whether it is a policy."""
        return self.policy is not None
