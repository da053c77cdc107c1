"""Models of `flow`: tasks to slots at least flow-rate penalty, loads frozen (Hsu and Freeh, sections 3.2 and 3.3).

The compact model of `build_pyomo` is a transportation problem between classes of equal tasks (same rate, same replicas)
and nodes with idle slots. All its variables are continuous and integral at every vertex.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
CLASSES, NODES      classes of equal tasks, each by the id of its first; nodes with idle slots
PAIRS               (class, node), all of them
members             ids of the tasks of each class
penalty[c,n]        cost of a task of the class on the node, MB/s
place[c,n]          tasks of the class on the node
class_supply[c]     no more tasks than the class has; exactly as many if all are placed
cardinality         count tasks are placed (only if some are not)
node_slots[n]       no node takes more than its slots
objective           least penalty
=================== ========================================================================================

The literal model of `build_pulp` is Hsu and Freeh's minimum-cost flow from a source over tasks and compute nodes to a
sink. It has two further kinds of arcs, which the paper lacks for more tasks than slots: from each task to a node
"unscheduled", and from there to the sink (Hsu and Freeh, note 2). Variables are the arcs: `start.t` (source to task),
`place.t.n`, `skip.t` (task to unscheduled), `finish.n` (node to sink), `unscheduled` (to the sink); constraints
conserve the flow: `source`, `task.t`, `node.n`, `unscheduled_node`, `sink`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp

from optsched.models.base import (
    BINARIES,
    MAX_VARIABLES,
    ModelSize,
    add_pairs,
    by_ids,
    ids,
    linear,
    model_of,
    of_problem,
    priced,
    refuse_too_large,
    said_by,
)
from optsched.models.programs import PLACES, counted_model, shared
from optsched.problems.assignment import TabledProblem
from optsched.problems.flow import Flow
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(Flow, shared=shared)
def build_pyomo(problem: Flow, *, per_pair: bool = False) -> Any:
    """Build the compact model, with continuous variables (parameters as in `ModelModule.build_pyomo`).

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["a", "b"], rate_in=[85.0, 85.0], rate_out=[85.0, 85.0])
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]), rate_in=[3.04, 9.14])
    >>> problem = Flow(Instance(cluster, workload))
    >>> model = build_pyomo(problem)
    >>> f"{solve_pyomo(model, load_profile('exact')).objective:.2f}"
    '27.40'
    >>> decode(model, problem).nodes.tolist()
    [1, 0]
    """
    return counted_model(problem, per_pair)


def tabled_size(problem: TabledProblem) -> ModelSize:
    """An upper limit on the size of the compact model of a table: a variable for each class and idle node."""
    classes, nodes = len(problem.classes().first), int(np.count_nonzero(problem.capacity))
    return ModelSize(classes * nodes, classes + nodes + 1, 4 * classes * nodes)


@of_problem(Flow)
def compact_size(problem: Flow) -> ModelSize:
    """The size of `build_pyomo`'s model: a variable for each class of tasks and idle node."""
    return tabled_size(problem)


@of_problem(Flow)
def literal_size(problem: Flow) -> ModelSize:
    """The size of `build_pulp`'s model: an arc for each task, each idle node, and each pair of them."""
    tasks, nodes = len(problem.tasks), int(np.count_nonzero(problem.capacity))
    skips = tasks if problem.count < tasks else 0
    return ModelSize(
        tasks * (nodes + 1) + nodes + skips + 2 * bool(skips),
        tasks + nodes + 2 + bool(skips),
        tasks * (3 * nodes + 2) + 2 * nodes + 3 * skips + 3,
    )


@model_of(Flow)
def build_pulp(problem: Flow, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build Hsu and Freeh's own program: the minimum-cost flow with one arc for each task and idle node.

    An arc to "unscheduled" costs 1 MB/s more than the most expensive pair, so that it never takes a task for which
    there is a slot; the variable `constant`, fixed at 1, subtracts these costs from the objective.

    Its attribute `place` is a dict from (task id, node id) to the variable.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> problem = Flow(Instance(Cluster(["a"], rate_in=[85.0]), Workload(["t"], rate_in=[2.0])))
    >>> model = build_pulp(problem)
    >>> [variable.name for variable in model.variables()], model.objective
    (['finish.a', 'place.t.a', 'start.t'], 6.0*place.t.a + 0.0)
    """
    refuse_too_large(problem, literal_size(problem), max_variables, 'route="network" or build_pyomo')
    idle = np.flatnonzero(problem.capacity > 0)
    tasks, nodes = ids(problem, idle)
    task_names, node_names = injective_names(tasks), injective_names(nodes)
    slots = problem.capacity[idle].tolist()
    units = problem.class_units[problem.classes().of_task]
    left_out = len(tasks) - problem.count

    model = pulp.LpProblem("flow", pulp.LpMinimize)
    start = [model.add_variable(f"start.{task}", 1, 1) for task in task_names]
    arcs = add_pairs(model, "place", task_names, node_names, category="Continuous")
    finish = [model.add_variable(f"finish.{node}", 0, free) for node, free in zip(node_names, slots, strict=True)]
    terms = priced(arcs, (units / problem.grid).tolist())
    skip: list[Any] = []
    finishing = list(finish)
    if left_out:
        dearest = int(units.max(initial=0)) / problem.grid + 1
        skip = [model.add_variable(f"skip.{task}", 0, 1) for task in task_names]
        terms.extend((arc, dearest) for arc in skip)
        terms.append((model.add_variable("constant", 1, 1), -dearest * left_out))
        finishing.append(model.add_variable("unscheduled", 0, len(tasks)))
    model.setObjective(linear(terms))

    model.addConstraint(pulp.lpSum(start) == len(tasks), "source")
    for row, (name, arc) in enumerate(zip(task_names, start, strict=True)):
        model.addConstraint(arc - pulp.lpSum(arcs[row]) - pulp.lpSum(skip[row : row + 1]) == 0, f"task.{name}")
    for column, (name, arc) in enumerate(zip(node_names, finish, strict=True)):
        model.addConstraint(pulp.lpSum(row[column] for row in arcs) - arc == 0, f"node.{name}")
    if left_out:
        model.addConstraint(pulp.lpSum(skip) - finishing[-1] == 0, "unscheduled_node")
    model.addConstraint(pulp.lpSum(finishing) == len(tasks), "sink")
    model.place = by_ids(tasks, nodes, arcs)
    return model


decode, start_values = said_by(Flow, PLACES, BINARIES)

#: The constraint that a literal model keeps only by its costs: an arc to "unscheduled" costs more than any pair.
KEPT_BY_COSTS = ("cardinality",)
