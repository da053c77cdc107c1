"""Models of `lsap-fairness`: tasks off their data, and fairness within a limit on them (Guo et al. 2012, (14), (15)).

The compact model of `build_pyomo` is that of `lsap` (see the table in `optsched.models.lsap`) plus the steps by which
placed tasks change the distance of their group. Further components:

=================== ========================================================================================
component           what it is
=================== ========================================================================================
STEPS               (group, number from 1): towards the group's share, past it, beyond it; cheapest first
step[g,i]           tasks of the group that are placed at the step, at most those for which it holds
group_steps[g]      the placed tasks of the group are those of its steps
fairness_distance   expression: mean distance of the groups' shares from their weights
locality_limit      no more tasks off their data than the limit (only with one)
runs_before         1 (only with a limit): the distance of what runs before
objective           with a limit: least fairness_distance; without: least locality_cost
=================== ========================================================================================

Its matrix is also that of a network, since the limit is the capacity of one arc, which all tasks off their data pass.

The literal model of `build_pulp` is Guo et al.'s square LSAP, with `over.g` and `under.g` (by how many tasks a group is
above and below its share, constraint `share.g`), and the constraint `locality`. The distance is convex, so one of the
two is 0. But its corner lies between whole numbers of tasks, so the program's relaxation is not integral.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.models.base import (
    MAX_VARIABLES,
    ModelSize,
    linear,
    model_of,
    of_problem,
    refuse_too_large,
    said_by,
    whole_limit,
)
from optsched.models.lsap import SQUARE, by_group, square_model, square_size
from optsched.models.programs import PLACES, counted_model, shared, size_of
from optsched.problems.lsap_fairness import LsapFairness
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]

#: The unit of its limit.
_OFF_DATA = "tasks off their data"


@model_of(LsapFairness, shared=shared)
def build_pyomo(problem: LsapFairness, limit: int | None = None, *, per_pair: bool = False) -> Any:
    """Build the compact model, with continuous variables (parameters as in `ModelModule.build_pyomo`).

    With a `limit`, it finds the least fairness distance with at most `limit` tasks off their data; without, the fewest
    of these. UsageError if the limit is no whole number, 0 or more.

    Examples
    --------
    Group h has nothing running; its task is off its data on the idle slot:

    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> workload = Workload(
    ...     ["t1", "t2"], replicas=Ragged.from_rows([[0], [1]]), job=[0, 1], job_ids=["i", "j"], job_group=[0, 1],
    ...     group_ids=["g", "h"], group_weight=[1, 1])
    >>> state = {"idle_slots": [1, 0], "group_running_tasks": [1, 0]}
    >>> problem = LsapFairness(Instance.initial(Cluster(["a", "b"]), workload, **state))
    >>> [solve_pyomo(build_pyomo(problem, limit=limit), load_profile("exact")).objective for limit in (0, 1)]
    [0.5, 0.0]
    """
    model = counted_model(problem, per_pair, () if limit is None else (whole_limit(limit, _OFF_DATA),))
    scale = len(problem.groups.ids) * max(problem.total, 1)
    changes = pyo.quicksum(
        float(step / scale) * model.step[name, number]
        for name, steps in zip(problem.groups.ids, problem.steps, strict=True)
        for number, (step, _) in enumerate(steps, start=1)
    )
    model.fairness_distance = pyo.Expression(
        expr=float(problem.distance_after(0)) + changes, doc="distance from the fair shares"
    )
    if limit is not None:
        model.objective.expr = model.fairness_distance
    return model


@of_problem(LsapFairness)
def compact_size(problem: LsapFairness, limit: int | None = None) -> ModelSize:
    """The size of `build_pyomo`'s model: variables for classes, their replicas, nodes and the groups' steps."""
    return size_of(problem.program(() if limit is None else (limit,)))


@of_problem(LsapFairness)
def literal_size(problem: LsapFairness, limit: int | None = None) -> ModelSize:
    """The size of `build_pulp`'s model: max(tasks, idle slots) squared variables, and with a limit two per group."""
    size, groups = square_size(problem), len(problem.groups.ids)
    if limit is None:
        return size
    variables = size.variables + 2 * groups + (not problem.total)
    return ModelSize(
        variables,
        size.constraints + groups + (size.variables > 0),
        size.terms + len(problem.tasks) * int(problem.capacity.sum()) + 6 * groups,
    )


@model_of(LsapFairness)
def build_pulp(problem: LsapFairness, limit: int | None = None, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build Guo et al.'s square LSAP, padded with dummies at constant 1; with a limit, the distances of its groups.

    Its attribute `place` is a dict from (task id, node id, slot from 1) to the variable.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(
    ...     ["t"], job=[0], job_ids=["j"], job_group=[0], group_ids=["g", "h"], group_weight=[1.0, 3.0])
    >>> model = build_pulp(LsapFairness(Instance(Cluster(["a"]), workload)), limit=1)
    >>> model.objective
    0.5*over.g + 0.5*over.h + 0.5*under.g + 0.5*under.h + 0.0
    """
    refuse_too_large(problem, literal_size(problem, limit), max_variables, 'route="arrays" or build_pyomo')
    model = square_model(problem, np.zeros(len(problem.tasks), dtype=np.int64))
    if limit is None:
        return model
    most = whole_limit(limit, _OFF_DATA)
    if len(model.objective):
        model.addConstraint(model.objective <= most, "locality")
    placed = by_group(model, problem, problem.pool, len(problem.groups.ids))
    terms: list[tuple[Any, float]] = []
    if not problem.total:
        terms.append((model.add_variable("distance", 1, 1), float(problem.distance_after(0))))
    names = injective_names(problem.groups.ids)
    for name, row, weight, running in zip(names, placed, problem.groups.weights, problem.groups.running, strict=True):
        over, under = (model.add_variable(f"{part}.{name}", 0) for part in ("over", "under"))
        model.addConstraint(
            pulp.lpSum([*row, under, -over]) == float(weight * problem.total - running), f"share.{name}"
        )
        if problem.total:
            scale = float(1 / (len(names) * problem.total * (weight if problem.relative else 1)))
            terms.extend([(over, scale), (under, scale)])
    model.setObjective(linear(terms))
    return model


decode, start_values = said_by(LsapFairness, PLACES, SQUARE)
