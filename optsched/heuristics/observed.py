"""`observed`: repeats a trace, as a baseline: each task runs where, and when, it was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optsched.core.errors import Fault, MissingField
from optsched.core.instance import PENDING, Instance, Ints
from optsched.core.placement import NONE, Schedule, microseconds
from optsched.heuristics.running.base import Heuristic, over_time
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
