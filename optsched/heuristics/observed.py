"""`observed`: repeats a trace, as a baseline: each task runs where, and when, it was recorded.

A snapshot gets a placement or a schedule; over time a policy follows the schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optsched.core.errors import Fault, HeuristicFailed, MissingField
from optsched.core.instance import KINDS, PENDING, Instance, Ints
from optsched.core.placement import MICRO, NONE, Schedule, microseconds
from optsched.heuristics.running.base import Event, Heuristic, Offer, Policy, View, over_time
from optsched.problems.base import TaskProblem


def observed_schedule(instance: Instance) -> Schedule:
    """The schedule that a trace recorded: `observed` and `start` of each waiting task; others do not run.

    Raises
    ------
    MissingField
        If no task has a record.
    """
    workload, state = instance.workload, instance.state
    waits = state.status == PENDING
    known = waits & (workload.observed != NONE) & ~np.isnan(state.start)
    if waits.any() and not known.any():
        message = "no task that waits says where and when it started (observed, start), as a Rumen trace does"
        raise MissingField([Fault("tasks[].start", message)], f"{instance.name}: observed")
    tasks = np.flatnonzero(known)
    return Schedule.empty(len(workload)).with_tasks(tasks, workload.observed[tasks], microseconds(state.start[tasks]))


def observed(problem: TaskProblem[Any], rng: np.random.Generator) -> Ints | Schedule:
    """The node on which each task ran (`tasks[].observed`), and its start if the problem decides that.

    A task without a record is left out, and the problem's violations name it. They also name each node on which more
    tasks ran than it has idle slots.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], observed=[1, -1])))
    >>> observed(problem, np.random.default_rng(0)).tolist()
    [1, -1]
    """
    if problem.decided is Schedule:
        return observed_schedule(problem.instance)
    return problem.instance.workload.observed[problem.tasks]


def _no_record(problem: TaskProblem[Any]) -> Sequence[Fault]:
    """A fault if no task has a record."""
    nodes = problem.instance.workload.observed[problem.tasks]
    if problem.decided is Schedule and len(nodes):
        try:
            observed_schedule(problem.instance)
        except MissingField as error:
            return error.faults
    if not len(nodes) or (nodes >= 0).any():
        return []
    return [Fault("tasks[].observed", "not one task to place says where it ran; import a trace, or name a heuristic")]


class Following(Policy):
    """Starts each task where and when a schedule says.

    Parameters
    ----------
    instance
        The instance of the schedule.
    schedule
        Node and start of each task to run.

    Raises
    ------
    HeuristicFailed
        In a run, if the schedule starts a task without a free slot for it.
    """

    name = "observed"
    fills_nodes = True

    def __init__(self, instance: Instance, schedule: Schedule) -> None:
        self._index = instance.task_index
        kinds = instance.workload.kind
        #: The tasks that start at a time on a node, by kind.
        self._due: dict[tuple[int, int, int], list[int]] = {}
        for task in np.flatnonzero(schedule.nodes != NONE).tolist():
            key = int(schedule.starts[task]), int(schedule.nodes[task]), int(kinds[task])
            self._due.setdefault(key, []).append(task)

    def appointments(self, instance: Instance) -> Sequence[tuple[int, int]]:
        """The microseconds and nodes at which something starts."""
        return sorted({(time, node) for time, node, _ in self._due})

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._number: dict[int, int] = {}
        self._learn(view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self._learn(view)

    def _learn(self, view: View) -> None:
        """Note the numbers of tasks in the view."""
        for own in range(len(self._number), len(view.workload)):
            self._number[self._index[str(view.workload.task_ids[own])]] = own

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        due = self._due.get((round(offer.time * MICRO), offer.node, KINDS.index(offer.kind)), [])
        tasks = [self._number[task] for task in due if task in self._number]
        tasks = [task for task in tasks if view.status[task] == PENDING]
        if len(tasks) > offer.free:
            names = ", ".join(f'"{view.workload.task_ids[task]}"' for task in tasks[offer.free :])
            node, at = view.cluster.node_ids[offer.node], f"{offer.time:g} s"
            raise HeuristicFailed(f'starts {names} on "{node}" at {at}, where no slot for {offer.kind}s is free then')
        return tasks


HEURISTICS = (
    Heuristic(
        name="observed",
        paper="",
        algorithm="",
        problems=(
            "lsap",
            "fair-lsap",
            "lsap-fairness",
            "worst-group",
            "flow",
            "flow-congestion",
            "latency",
            "transmission-maps",
            "transmission-reduces",
            "transmission",
            "utility",
            "traffic",
            *over_time(),
        ),
        doc="where the trace says that each task ran",
        batch=observed,
        missing=_no_record,
    ),
)
