"""Models of `generalized-assignment`: every task on a node within the nodes' capacities (OR-Library).

The compact model of `build_pyomo` counts tasks of classes of identical tasks; if all tasks differ it is the literal
one. Its variables are whole: the program is not that of a network.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
CLASSES             classes of equal tasks, each by the id of its first
PAIRS               (class, node) that is allowed and fits on an empty node
members             ids of the tasks of each class
cost[c,n]           cost of a task of the class on the node
place[c,n]          whole: tasks of the class on the node
assigned[c]         all tasks of the class are placed
capacity[r,n]       no node gives more of a resource than it has, in common steps of the demands
objective           least cost, or most
=================== ========================================================================================

The literal model of `build_pulp` is the usual program: binary `place.t.n` for every pair, constraints `task.t` and
`capacity.r.n`; a forbidden pair has the upper bound 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp

from optsched.models.base import (
    BINARIES,
    MAX_VARIABLES,
    ModelSize,
    by_ids,
    ids,
    linear,
    model_of,
    of_problem,
    priced,
    refuse_too_large,
    said_by,
)
from optsched.models.programs import PLACES, shared, whole_pyomo
from optsched.problems.generalized_assignment import GeneralizedAssignment
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(GeneralizedAssignment, shared=shared)
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
    program = (problem.apart() if per_pair else problem).program()
    return whole_pyomo(program, problem.name, unit=program.unit)


@of_problem(GeneralizedAssignment)
def compact_size(problem: GeneralizedAssignment) -> ModelSize:
    """An upper limit on the size of `build_pyomo`'s model: a variable for each class of tasks and usable node."""
    first = problem.classes().first
    pairs, limits = int(np.count_nonzero(problem.usable[first])), len(problem.resources)
    return ModelSize(pairs, len(first) + limits * problem.usable.shape[1], (2 + limits) * pairs)


@of_problem(GeneralizedAssignment)
def literal_size(problem: GeneralizedAssignment) -> ModelSize:
    """The size of `build_pulp`'s model: a variable for each pair, a constraint for each task and each capacity."""
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


decode, start_values = said_by(GeneralizedAssignment, PLACES, BINARIES)
