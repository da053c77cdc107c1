"""Measures what each decision of a run over time cost: its gap in the snapshot in which it was taken.

Decisions that are optimal one by one need not add up to a good run, and their regrets are no parts of a run's gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.deadline import check
from optsched.core.errors import UsageError
from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.core.results import Number, Solution
from optsched.problems import Problem, problem_class
from optsched.routes import solve
from optsched.simulating import Simulation

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["regret"]


def regret(
    run: Simulation,
    problem: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    profile: str = "exact",
    time_limit: float | None = None,
) -> pd.DataFrame:
    """The gap of each decision of a run in the snapshot in which it was taken.

    A decision is what a node started at one instant. It is compared with the optimum of the snapshot: its tasks stay
    where they were started, and all others are placed as well as that allows. So a decision without regret is part of
    an optimum; later decisions do not matter.

    Parameters
    ----------
    run
        What came of `optsched.simulate`.
    problem
        Name of the problem that is posed on each snapshot. Decisions without a task that it places are left out.
    parameters, profile, time_limit
        Of the problem, and of each solve.

    Returns
    -------
    pandas.DataFrame
        A row for each decision: `time` (seconds), `node`, `tasks` (their ids), `optimum` and `taken` (the first
        component of the snapshot's optimum, and of the best that the decision allows), `regret` (how much worse that
        is), `proved` (whether both are proved). `taken` and `regret` are missing where no feasible placement of the
        problem has the decision in it.

    Raises
    ------
    UsageError
        If the problem does not place tasks.
    MissingField
        If an instance lacks what the problem needs.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.simulating import Following, simulate
    >>> from optsched.core.schedule import Schedule
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]), times=[[10, 15, 15]] * 2)
    >>> instance = Instance(Cluster(["a", "b"]), workload)
    >>> run = simulate(instance, Following(instance, Schedule.of([(0, 0), (1, 0)])), service="levels")
    >>> regret(run, "lsap")[["tasks", "optimum", "taken", "regret"]].to_numpy().tolist()
    [['t1', 0, 1, 1], ['t2', 1, 1, 0]]
    """
    if run.rules.losses:
        raise UsageError("regret: nodes were lost in this run, and a snapshot does not say which replicas were away")
    import pandas as pd

    kind: Any = problem_class(problem)
    if not issubclass(kind, Problem):
        raise UsageError(f"{problem} does not place tasks on a snapshot; name a problem that does")
    kinds = np.array(kind.kinds)
    rows: list[dict[str, Any]] = []
    held: tuple[tuple[int, int], Solution] | None = None  # the last optimum, and its snapshot
    for position, time, node, tasks in run.decisions():
        check()
        if not np.isin(run.instance.workload.kind[tasks], kinds).all():
            continue
        before, after = (position, time), (position + len(tasks), time)
        posed, then = (kind(run.snapshot(*where), **(parameters or {})) for where in (before, after))
        solved = held[1] if held is not None and held[0] == before else solve(posed, profile, time_limit=time_limit)
        held = after, solve(then, profile, time_limit=time_limit)
        names = run.instance.workload.task_ids[tasks].tolist()
        own = np.array([posed.instance.task_index[name] for name in names], dtype=np.int64)
        taken = _taken(posed, held[1], own, node)
        optimum = None if solved.objective is None else solved.objective[0]
        rows.append(
            {
                "time": posed.instance.time,
                "node": str(run.instance.cluster.node_ids[node]),
                "tasks": " ".join(names),
                "optimum": optimum,
                "taken": taken,
                "regret": _worse(posed, taken, optimum),
                "proved": solved.optimal and held[1].optimal,
            }
        )
    return pd.DataFrame(rows, columns=["time", "node", "tasks", "optimum", "taken", "regret", "proved"], dtype=object)


def _taken(posed: Problem, rest: Solution, tasks: Ints, node: int) -> Number | None:
    """The first component of the best placement of a snapshot in which these tasks are on a node; None: there is none.

    `rest` is the optimum of the snapshot in which they run.
    """
    others = rest.decision if isinstance(rest.decision, Placement) else Placement.empty(len(posed.instance.workload))
    placement = others.with_tasks(tasks, np.full(len(tasks), node))
    return None if posed.violations(placement) else posed.evaluate(placement)[0]


def _worse(posed: Problem, taken: Number | None, optimum: Number | None) -> Number | None:
    """How much worse a value is than another."""
    if taken is None or optimum is None:
        return None
    return posed.minimised((taken,) * len(posed.components))[0] - posed.minimised((optimum,) * len(posed.components))[0]
