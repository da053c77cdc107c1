"""`lsap-fair-sched`: an assignment problem with costs of both fairness and locality (Guo et al. 2012, III.D)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from optsched.errors import Fault
from optsched.placement import Placement
from optsched.problems.assignment import LevelledProblem
from optsched.problems.base import Parameter
from optsched.problems.fair_lsap import FairLsap
from optsched.running.base import Heuristic
from optsched.searches.assignment import optimal_placement

__all__ = ["HEURISTICS", "lsap_fair_sched"]


def lsap_fair_sched(problem: LevelledProblem, rng: np.random.Generator, **parameters: Any) -> Placement:
    """Place min(tasks, idle slots) tasks at least fairness cost plus locality cost, by Guo et al.'s lines 1 to 39.

    The heuristic's own costs are those of the problem `fair-lsap` with `selection=fixed` (the tasks within a group's
    ration are chosen beforehand, lines 19 to 27) and these parameters. So its gap is 0 by construction on `fair-lsap`
    with the same parameters. It pays a price where the placement may choose who is within the ration
    (`selection=free`), where the parameters differ, and in the locality of `lsap`.

    Parameters
    ----------
    problem
        `fair-lsap`, or `lsap` on an instance with groups.
    rng
        Not used: nothing is random.
    **parameters
        alpha, beta, gfc, rations, overflow as in `fair-lsap`. Those not given are the problem's own if it is
        `fair-lsap`, else the instance's or the defaults. `overflow=naive` is Guo et al.'s straw man: all tasks of a
        group at its GFC.

    Raises
    ------
    MissingField
        If the instance has no groups, or tasks without one.

    Examples
    --------
    One slot of two is idle; group g1 has used up its ration with the other one:

    >>> from optsched.instance import Cluster, Instance, Workload
    >>> workload = Workload(
    ...     ["t1", "t2"], job=[0, 1], job_ids=["j1", "j2"], job_group=[0, 1], group_ids=["g1", "g2"],
    ...     group_weight=[1, 1])
    >>> cluster = Cluster(["a"], slots=[2])
    >>> problem = FairLsap(Instance.initial(cluster, workload, idle_slots=[1], group_running_tasks=[1, 0]))
    >>> lsap_fair_sched(problem, np.random.default_rng(0)).nodes.tolist()
    [-1, 0]
    """
    names = (parameter.name for parameter in FairLsap.parameter_table)
    own = {name: problem.parameters[name] for name in names if name in problem.parameters}
    given = {name: value for name, value in parameters.items() if value is not None}
    costs = {**own, **given, "selection": "fixed"}
    posed = problem if costs == own else FairLsap(problem.instance, **costs)
    return optimal_placement(posed)


def _groups_missing(problem: LevelledProblem) -> Sequence[Fault]:
    return FairLsap.applies(problem.instance)


def _parameters() -> tuple[Parameter, ...]:
    """The parameters of `fair-lsap` that shape the costs, with None for "as the problem has it"."""
    table: Mapping[str, Parameter] = {parameter.name: parameter for parameter in FairLsap.parameter_table}
    return tuple(
        Parameter(name, None, partial(_checked, table[name]), table[name].doc)
        for name in ("alpha", "beta", "gfc", "rations", "overflow")
    )


def _checked(parameter: Parameter, given: Any) -> Any:
    """Refuse what `fair-lsap` refuses, but keep the value as given: "auto" is not "not given"."""
    parsed = parameter.parse(given)
    return given if parsed is None else parsed


HEURISTICS = (
    Heuristic(
        name="lsap-fair-sched",
        paper="003",
        algorithm="III.D, lsap-fair-sched",
        problems=("fair-lsap", "lsap-fairness", "worst-group", "lsap"),
        doc="least fairness cost plus locality cost, with the tasks within each ration chosen beforehand",
        parameters=_parameters(),
        batch=lsap_fair_sched,
        missing=_groups_missing,
    ),
)
