"""Models of `fair-lsap`: locality cost plus fairness cost between groups (Guo et al. 2012, section III.D).

The compact model of `build_pyomo` is that of `lsap` (see the table in `optsched.models.lsap`) plus the fairness cost of
each pool of tasks. With `selection=fixed` a pool is the tasks of a group within its ration, or those beyond it, and has
one cost. With `selection=free` a pool is a group, whose tasks fill its ration and then overflow it. Further components:

=================== ========================================================================================
component           what it is
=================== ========================================================================================
TIERS               (pool, number from 1) of the pools that have two costs, cheapest first
tier[p,i]           tasks of the pool that pay the tier's cost, at most as many as fit in it
pool_tiers[p]       the placed tasks of the pool are those of its tiers
fairness_cost       expression: cost of the tiers, and of the pools with one cost
objective           least fairness_cost plus locality_cost
=================== ========================================================================================

Its matrix is also that of a network: source, tiers, pools, classes, nodes.

The literal model of `build_pulp` is Guo et al.'s square LSAP with C = FC + DLC. With `selection=free` the fairness cost
does not belong to the pair. Then `within.g` and `beyond.g` count the tasks of each group that are placed within its
ration and beyond, by the constraints `group.g`, `ration.g` and `overflow.g`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.decimals import decimal
from optsched.models.base import (
    MAX_VARIABLES,
    ModelSize,
    linear,
    model_of,
    of_problem,
    refuse_too_large,
    said_by,
)
from optsched.models.lsap import SQUARE, by_group, square_model, square_size
from optsched.models.programs import PLACES, counted_model, shared, size_of
from optsched.problems.fair_lsap import FairLsap
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(FairLsap, shared=shared)
def build_pyomo(problem: FairLsap, *, per_pair: bool = False) -> Any:
    """Build the compact model, with continuous variables (parameters as in `ModelModule.build_pyomo`).

    Examples
    --------
    Group h runs nothing and may take one more slot; g overuses its share, and its task stays out:

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["a"], slots=[2])
    >>> workload = Workload(["t1", "t2"], job=[0, 1], job_ids=["i", "j"], job_group=[0, 1], group_ids=["g", "h"],
    ...                     group_weight=[0.5, 0.5])
    >>> problem = FairLsap(Instance.initial(cluster, workload, idle_slots=[1], group_running_tasks=[1, 0]))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, pyo.value(model.fairness_cost)
    (50.0, 0.0)
    >>> decode(model, problem).nodes.tolist()
    [-1, 0]
    """
    model = counted_model(problem, per_pair)
    model.fairness_cost = pyo.Expression(expr=model.objective.expr - model.locality_cost, doc="what fairness costs")
    return model


@of_problem(FairLsap)
def compact_size(problem: FairLsap) -> ModelSize:
    """The size of `build_pyomo`'s model: variables for classes, on nodes, in racks and anywhere, and for tiers."""
    return size_of(problem.program())


@of_problem(FairLsap)
def literal_size(problem: FairLsap) -> ModelSize:
    """The size of `build_pulp`'s model: max(tasks, idle slots) squared variables, and two per group that may choose."""
    size = square_size(problem)
    if problem.parameters["selection"] == "fixed" or not problem.count:
        return size
    groups = len(np.unique(problem.task_group))
    placed = len(problem.tasks) * int(problem.capacity.sum())
    return ModelSize(size.variables + 2 * groups, size.constraints + 3 * groups, size.terms + placed + 9 * groups)


@model_of(FairLsap)
def build_pulp(problem: FairLsap, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build Guo et al.'s own program: the square LSAP with costs FC + DLC, padded with dummies at constant 1.

    Its attribute `place` is a dict from (task id, node id, slot from 1) to the variable. The objective is the
    problem's, without the dummies' constants.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(["t"], job=[0], job_ids=["j"], job_group=[0], group_ids=["g"], group_weight=[1.0])
    >>> build_pulp(FairLsap(Instance(Cluster(["a"]), workload))).objective
    50.0*place.t.a.1 + 0.0
    """
    refuse_too_large(problem, literal_size(problem), max_variables, 'route="network" or build_pyomo')
    if problem.parameters["selection"] == "free":
        return _with_free_selection(problem)
    costs = np.array([pool.tiers[0][0] for pool in problem.pools], dtype=np.int64)
    return square_model(problem, costs[problem.pool])


def _with_free_selection(problem: FairLsap) -> Any:
    """The square LSAP with costs DLC, plus FC on the number of each group's tasks within and beyond its ration."""
    model = square_model(problem, np.zeros(len(problem.tasks), dtype=np.int64))
    placed = by_group(model, problem, problem.task_group, len(problem.ration))
    waiting = np.bincount(problem.task_group, minlength=len(placed)).tolist()
    names = injective_names(problem.instance.workload.group_ids.tolist())
    terms: list[tuple[Any, float]] = list(model.objective.items())
    for name, row, ration, tasks, within, beyond in zip(
        names, placed, problem.ration, waiting, problem.group_cost, problem.overflow_cost, strict=True
    ):
        if not row:
            continue
        counts = [model.add_variable(f"{part}.{name}", 0) for part in ("within", "beyond")]
        model.addConstraint(pulp.lpSum(row) - pulp.lpSum(counts) == 0, f"group.{name}")
        model.addConstraint(counts[0] <= ration, f"ration.{name}")
        model.addConstraint(counts[1] <= tasks - ration, f"overflow.{name}")
        terms.extend((count, _cost(problem, cost)) for count, cost in zip(counts, (within, beyond), strict=True))
    model.setObjective(linear(terms))
    return model


def _cost(problem: FairLsap, cost: Fraction | int) -> float:
    """A fairness cost with its weight, rounded to the grid like in the problem."""
    return round(decimal(problem.parameters["fairness"]) * cost * problem.grid) / problem.grid


decode, start_values = said_by(FairLsap, PLACES, SQUARE)
