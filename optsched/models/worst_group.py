"""Models of `worst-group`: the highest mean locality cost of a group, and the locality cost within a limit on it.

The compact model of `build_pyomo` is that of `lsap` (see the table in `optsched.models.lsap`), with whole variables:
the rows of the groups cross the network, so its vertices need not be integral. Further components:

=================== ========================================================================================
component           what it is
=================== ========================================================================================
GROUPS              groups with pending tasks
group_cost[g]       expression: locality cost of the group's placed tasks
worst_mean          continuous: no group's mean is higher (only without a limit)
group_mean[g]       group_cost[g] is at most the group's tasks times worst_mean (only without a limit)
group_limit[g,i]    rows by which the group pays no more than the limit allows (only with one)
objective           without a limit: least highest mean; with one: least locality cost
=================== ========================================================================================

The literal model of `build_pulp` is Guo et al.'s square LSAP with the variable `worst` and constraints `mean.g`; with a
limit the square LSAP itself, and constraints `limit.g`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

from optsched.core.errors import UsageError
from optsched.core.placement import Placement
from optsched.core.results import Number
from optsched.models.base import (
    MAX_VARIABLES,
    Entries,
    ModelSize,
    Way,
    grouped,
    ids,
    linear,
    model_of,
    of_problem,
    refuse_too_large,
    said_by,
)
from optsched.models.lsap import SQUARE, by_group, square_model, square_size
from optsched.models.programs import PLACES, counted_model, place_costs, shared, size_of
from optsched.problems.worst_group import WorstGroup
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(WorstGroup, shared=shared)
def build_pyomo(problem: WorstGroup, limit: Number | None = None, *, per_pair: bool = False) -> Any:
    """Build the compact model, with whole variables (parameters as in `ModelModule.build_pyomo`).

    With a `limit`, it finds the least locality cost with no group's mean above it; without, the least highest mean.
    UsageError if the limit is no whole number or fraction, 0 or more.

    Examples
    --------
    Two groups compete for the slot on a; group h has two tasks, so one of them off its data is half:

    >>> from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> workload = Workload(
    ...     ["t1", "t2", "t3"], replicas=Ragged.from_rows([[0], [0], [1]]), job=[0, 1, 1], job_ids=["i", "j"],
    ...     job_group=[0, 1], group_ids=["g", "h"])
    >>> cluster = Cluster(["a", "b"], slots=[1, 2])
    >>> problem = WorstGroup(Instance(cluster, workload, State.initial(cluster, workload)))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).nodes.tolist()
    (0.5, [0, 1, 1])
    """
    posed = problem.apart() if per_pair else problem
    model = counted_model(problem, per_pair, () if limit is None else (_checked(limit),), integral=False)
    pools = zip(ids(problem)[0], problem.pool.tolist(), strict=True)
    group_of = {task: problem.group_ids[pool] for task, pool in pools}
    costs = grouped(((group_of[task], cost) for task, cost in place_costs(model, posed)), 0)
    sizes = {name: size for name, size in zip(problem.group_ids, problem.sizes, strict=True) if size}
    model.GROUPS = pyo.Set(initialize=list(sizes), doc="groups with pending tasks")
    model.group_cost = pyo.Expression(
        model.GROUPS,
        rule=lambda model, group: pyo.quicksum(cost for _, cost in costs.get(group, ())),
        doc="cost of the group",
    )
    if limit is None:
        model.worst_mean.domain = pyo.NonNegativeReals  # in the program it is whole, and in common steps of the levels
        for name, size in sizes.items():
            model.group_mean[name].set_value(model.group_cost[name] - size * model.worst_mean <= 0)
        model.objective.expr = model.worst_mean
    return model


def _checked(limit: Any) -> Number:
    """A limit on the means; UsageError if it is none."""
    if isinstance(limit, np.generic):
        limit = limit.item()
    if isinstance(limit, bool) or not isinstance(limit, int | Fraction) or limit < 0:
        raise UsageError(f"limit={limit!r}: give a mean cost of a group as a whole number or a fraction, 0 or more")
    return limit


@of_problem(WorstGroup)
def compact_size(problem: WorstGroup, limit: Number | None = None) -> ModelSize:
    """The size of `build_pyomo`'s model: variables for classes, on nodes, in racks and anywhere."""
    return size_of(problem.program(() if limit is None else (_checked(limit),)))


@of_problem(WorstGroup)
def literal_size(problem: WorstGroup, limit: Number | None = None) -> ModelSize:
    """The size of `build_pulp`'s model: max(tasks, idle slots) squared variables, and a constraint per group."""
    size = square_size(problem)
    variables = size.variables
    if limit is None:  # `worst` for the constant of the dummies
        variables += 1 - (len(problem.tasks) != int(problem.capacity.sum()))
    groups = sum(1 for tasks in problem.sizes if tasks)
    return ModelSize(variables, size.constraints + groups, size.terms + groups + (1 if limit is None else variables))


@model_of(WorstGroup)
def build_pulp(problem: WorstGroup, limit: Number | None = None, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build Guo et al.'s square LSAP, padded with dummies at constant 1, with the means of its groups.

    Its attribute `place` is a dict from (task id, node id, slot from 1) to the variable.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(["t"], job=[0], job_ids=["j"], job_group=[0], group_ids=["g"])
    >>> model = build_pulp(WorstGroup(Instance(Cluster(["a"]), workload)))
    >>> model.objective, model.constraints()[-1]
    (1*worst + 0, 1.0*place.t.a.1 + -1*worst + 0.0 <= 0)
    """
    refuse_too_large(problem, literal_size(problem, limit), max_variables, 'route="arrays" or build_pyomo')
    model = square_model(problem, np.zeros(len(problem.tasks), dtype=np.int64))
    costs = dict(model.objective)
    most = None if limit is None else dict(zip(problem.group_ids, problem.most_within(_checked(limit)), strict=True))
    worst: Any = model.add_variable("worst", 0) if most is None else None
    rows = by_group(model, problem, problem.pool, len(problem.group_ids))
    names = injective_names(problem.group_ids)
    for name, group, row, size in zip(names, problem.group_ids, rows, problem.sizes, strict=True):
        if not size:
            continue
        spent = linear([(variable, costs.get(variable, 0.0)) for variable in row])
        if most is not None:
            model.addConstraint(spent <= most[group], f"limit.{name}")
        else:
            model.addConstraint(spent - size * worst <= 0, f"mean.{name}")
    model.worst = worst
    if worst is not None:
        model.setObjective(worst + 0)
    return model


def _with_worst(way: Way, word: str) -> Way:
    """A way whose decisions also settle the worst mean, a variable of the first model."""

    def started(model: Any, problem: WorstGroup, placement: Placement) -> Entries:
        yield from way.started(model, problem, placement)
        worst = getattr(model, word, None)
        if worst is not None and not problem.violations(placement):
            yield worst, float(problem.objective(placement)[0])

    return Way(way.decode, started)


decode, start_values = said_by(WorstGroup, _with_worst(PLACES, "worst_mean"), _with_worst(SQUARE, "worst"))
