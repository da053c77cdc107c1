"""`observed`: where a trace says that each task ran. No heuristic of ours, but what a real scheduler did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.errors import Fault
from optsched.instance import Ints
from optsched.problems import Problem
from optsched.running.base import Heuristic

__all__ = ["HEURISTICS", "observed"]


def observed(problem: Problem, rng: np.random.Generator) -> Ints:
    """Node on which each task ran (`tasks[].observed`).

    A task without a record is left out, which the problem's violations name. They also name each node on which more
    tasks ran than it has idle slots.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], observed=[1, -1])))
    >>> observed(problem, np.random.default_rng(0)).tolist()
    [1, -1]
    """
    return problem.instance.workload.observed[problem.tasks]


def _no_record(problem: Problem) -> Sequence[Fault]:
    """A fault if not one of the tasks has a record."""
    nodes = problem.instance.workload.observed[problem.tasks]
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
        ),
        doc="where the trace says that each task ran",
        batch=observed,
        missing=_no_record,
    ),
)
