"""Models of `generalized-assignment`: every task on a node within the nodes' capacities (OR-Library).

The compact model of `build_pyomo` counts tasks of classes that nothing tells apart; where all tasks differ it is the
literal one. Its variables are whole: the program is no network's.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
CLASSES, NODES      classes of equal tasks, each by the id of its first; nodes
PAIRS               (class, node) that is allowed and fits on an empty node
RESOURCES           resources that are demanded
members, size       ids of the tasks of each class; how many they are
cost[c,n]           cost of a task of the class on the node
demand[r,c,n]       what it takes of the resource, in whole units (1 over the demands' common denominator)
limit[r,n]          capacity in the same units
place[c,n]          whole: tasks of the class on the node
assigned[c]         all tasks of the class are placed
capacity[r,n]       no node gives more of a resource than it has
objective           least cost, or most
=================== ========================================================================================

The literal model of `build_pulp` is the usual program: binary `place.t.n` for every pair, constraints `task.t` and
`capacity.r.n`; a pair that is not allowed has the upper bound 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.models.base import (
    MAX_VARIABLES,
    ModelSize,
    add_classes,
    at_most,
    by_ids,
    decode_binaries,
    decode_counts,
    decoder,
    grouped,
    ids,
    linear,
    model_of,
    of_problem,
    priced,
    refuse_too_large,
)
from optsched.models.starts import started_binaries, started_counts, starter
from optsched.problems.generalized_assignment import GeneralizedAssignment
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(GeneralizedAssignment)
def build_pyomo(problem: GeneralizedAssignment, *, per_pair: bool = False) -> Any:
    """Build the compact model, with whole variables (parameters as in `ModelModule.build_pyomo`).

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Pairs, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> pairs = Pairs(cost=[[1.0, 4.0], [2.0, 9.0]], demand={"weight": [[2.0, 2.0], [2.0, 2.0]]})
    >>> cluster = Cluster(["a", "b"], capacity={"weight": [3.0, 3.0]})
    >>> problem = GeneralizedAssignment(Instance(cluster, Workload(["t1", "t2"], pairs=pairs)))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).nodes.tolist()
    (6.0, [1, 0])
    """
    model = pyo.ConcreteModel(problem.name)
    tasks, _ = ids(problem)
    names, classes = add_classes(model, tasks, None if per_pair else problem.classes())
    _add_table(model, problem, dict(zip(names, classes.first.tolist(), strict=True)))
    model.place = pyo.Var(model.PAIRS, within=pyo.NonNegativeIntegers, bounds=lambda model, c, n: (0, model.size[c]))
    of_class, on_node = grouped(model.PAIRS, 0), grouped(model.PAIRS, 1)

    def assigned(model: Any, c: str) -> Any:
        return pyo.quicksum(model.place[pair] for pair in of_class[c]) == model.size[c]

    def capacity(model: Any, r: str, n: str) -> Any:
        demands = [(model.demand[r, pair], model.place[pair]) for pair in on_node.get(n, ())]
        return at_most([demand * placed for demand, placed in demands if demand], model.limit[r, n])

    model.assigned = pyo.Constraint(model.CLASSES, rule=assigned)
    model.capacity = pyo.Constraint(model.RESOURCES, model.NODES, rule=capacity)
    model.objective = pyo.Objective(
        expr=pyo.quicksum(model.cost[pair] * model.place[pair] for pair in model.PAIRS),
        sense=pyo.minimize if problem.sign > 0 else pyo.maximize,
    )
    return model


def _add_table(model: Any, problem: GeneralizedAssignment, row_of: Mapping[str, int]) -> None:
    """Add the pairs that may be, with their costs and demands, and the limits; each class has a row of the table."""
    nodes = ids(problem)[1]
    at = {(name, node): (row, column) for name, row in row_of.items() for column, node in enumerate(nodes)}
    model.NODES = pyo.Set(initialize=nodes)
    model.RESOURCES = pyo.Set(initialize=problem.resources)
    model.PAIRS = pyo.Set(initialize=[pair for pair, entry in at.items() if problem.usable[entry]], dimen=2)
    costs = {pair: int(problem.units[at[pair]]) / problem.grid for pair in model.PAIRS}
    model.cost = pyo.Param(model.PAIRS, initialize=costs, within=pyo.Reals)
    demands = {
        (resource, *pair): int(table[at[pair]])
        for resource, table in zip(problem.resources, problem.demand, strict=True)
        for pair in model.PAIRS
    }
    model.demand = pyo.Param(model.RESOURCES, model.PAIRS, initialize=demands)
    limits = by_ids(problem.resources, nodes, problem.capacity.tolist())
    model.limit = pyo.Param(model.RESOURCES, model.NODES, initialize=limits)


@of_problem(GeneralizedAssignment)
def compact_size(problem: GeneralizedAssignment) -> ModelSize:
    """What `build_pyomo` would take, or less: a variable for each class of tasks and node that it may use."""
    first = problem.classes().first
    pairs, limits = int(np.count_nonzero(problem.usable[first])), len(problem.resources)
    return ModelSize(pairs, len(first) + limits * problem.usable.shape[1], (2 + limits) * pairs)


@of_problem(GeneralizedAssignment)
def literal_size(problem: GeneralizedAssignment) -> ModelSize:
    """What `build_pulp` would take: a variable for each pair, a constraint for each task and each capacity."""
    tasks, nodes = problem.units.shape
    resources = len(problem.resources)
    return ModelSize(tasks * nodes, tasks + resources * nodes, tasks * nodes * (2 + resources))


@model_of(GeneralizedAssignment)
def build_pulp(problem: GeneralizedAssignment, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the usual program: a binary for each pair of task and node.

    Its attribute `place` is a dict from (task id, node id) to the variable.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Pairs, Workload
    >>> pairs = Pairs(cost=[[1.0, 4.0]], demand={"weight": [[2.0, 2.0]]})
    >>> instance = Instance(Cluster(["a", "b"], capacity={"weight": [3.0, 3.0]}), Workload(["t"], pairs=pairs))
    >>> [str(variable) for variable in build_pulp(GeneralizedAssignment(instance)).variables()]
    ['place.t.a', 'place.t.b']
    """
    refuse_too_large(problem, literal_size(problem), max_variables, "build_pyomo")
    tasks, nodes = ids(problem)
    task_names, node_names = injective_names(tasks), injective_names(nodes)
    usable, cost = problem.usable.tolist(), (problem.units / problem.grid).tolist()
    model = pulp.LpProblem(problem.name, pulp.LpMinimize if problem.sign > 0 else pulp.LpMaximize)
    place = [
        [
            model.add_variable(f"place.{task}.{node}", 0, int(usable[row][column]), "Integer")
            for column, node in enumerate(node_names)
        ]
        for row, task in enumerate(task_names)
    ]
    model.setObjective(linear(priced(place, cost)))
    for task, arcs in zip(task_names, place, strict=True):
        model.addConstraint(pulp.lpSum(arcs) == 1, f"task.{task}")
    for row, resource in enumerate(injective_names(problem.resources)):
        for column, node in enumerate(node_names):
            demand = problem.demand[row, :, column].tolist()
            used = linear([(arcs[column], need) for arcs, need in zip(place, demand, strict=True)])
            model.addConstraint(used <= int(problem.capacity[row, column]), f"capacity.{resource}.{node}")
    model.place = by_ids(tasks, nodes, place)
    return model


decode = decoder(GeneralizedAssignment, compact=decode_counts, literal=decode_binaries, started=started_counts)
start_values = starter(GeneralizedAssignment, compact=started_counts, literal=started_binaries)
