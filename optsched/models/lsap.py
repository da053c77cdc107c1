"""Models of `lsap`: tasks to idle slots at least locality cost (Guo et al. 2012, section III.C).

The compact model of `build_pyomo` counts tasks of a class on nodes with their data, in racks with it, and anywhere.
Tasks in racks and anywhere get the remaining slots. All its variables are continuous and integral at every vertex.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
CLASSES             classes of tasks with the same replicas on idle nodes, each by the id of its first task
NODES, RACKS        nodes with idle slots and replicas; racks, if a task in the rack of a replica costs less
PAIRS, RACK_PAIRS   (class, node with a replica), (class, rack with a replica)
members             ids of the tasks of each class
place[c,n]          tasks of the class on a node with their replica
place_in_rack[c,k]  tasks of the class in a rack with a replica, on any node (only if there are `RACKS`)
place_anywhere[c]   tasks of the class on any node
class_supply[c]     no more tasks than the class has; exactly as many if all are placed
cardinality         count tasks are placed (only if some are not)
node_slots[n]       no node takes more of its own tasks than its slots
rack_slots[k]       no rack takes more tasks of `place` and `place_in_rack` than its slots
locality_cost       expression: levels times tasks
objective           least locality_cost
=================== ========================================================================================

With `per_pair` each task is its own class, and `place[t,n]` is 1 if the task runs on the node, for every node; nothing
is anonymous.

The literal model of `build_pulp` is Guo et al.'s square LSAP over tasks and idle slots: binary `place.t.n.s`,
constraints `task.t` and `slot.n.s`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pulp

from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.models.base import (
    MAX_VARIABLES,
    Entries,
    ModelSize,
    Way,
    add_pairs,
    host_of,
    ids,
    int_of,
    linear,
    model_of,
    of_problem,
    placed_at,
    refuse_too_large,
    said_by,
)
from optsched.models.programs import PLACES, counted_model, shared, size_of
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.lsap import Lsap
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(Lsap, shared=shared)
def build_pyomo(problem: Lsap, *, per_pair: bool = False) -> Any:
    """Build the compact model, with continuous variables (parameters as in `ModelModule.build_pyomo`).

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective
    0.0
    >>> decode(model, problem).nodes.tolist()
    [1, 0]
    """
    return counted_model(problem, per_pair)


@of_problem(Lsap)
def compact_size(problem: Lsap) -> ModelSize:
    """The size of `build_pyomo`'s model: variables for classes, on nodes, in racks and anywhere."""
    return size_of(problem.program())


@of_problem(Lsap)
def literal_size(problem: Lsap) -> ModelSize:
    """The size of `build_pulp`'s model: max(tasks, idle slots) squared variables."""
    return square_size(problem)


@model_of(Lsap)
def build_pulp(problem: Lsap, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build Guo et al.'s own program: the square LSAP of tasks and idle slots, padded with dummies at constant 1.

    Its attribute `place` is a dict from (task id, node id, slot from 1) to the variable. The objective is the
    locality cost, without the dummies' constants.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> problem = Lsap(Instance(Cluster(["a"]), Workload(["t1", "t2"], replicas=Ragged.from_rows([[], [0]]))))
    >>> model = build_pulp(problem)
    >>> sorted(variable.name for variable in model.variables())
    ['constant', 'place.t1.a.1', 'place.t1.dummy_1', 'place.t2.a.1', 'place.t2.dummy_1']
    """
    refuse_too_large(problem, literal_size(problem), max_variables, 'route="network" or build_pyomo')
    return square_model(problem, np.zeros(len(problem.tasks), dtype=np.int64))


def square_size(problem: AssignmentProblem) -> ModelSize:
    """Size of Guo et al.'s square LSAP: one row per task, one column per idle slot, padded to a square with dummies."""
    tasks, slots = len(problem.tasks), int(problem.capacity.sum())
    side = max(tasks, slots)
    return ModelSize(side * side + (tasks != slots), 2 * side, 3 * side * side + 1)


def square_model(problem: AssignmentProblem, task_units: np.ndarray) -> Any:
    """Guo et al.'s LSAP (equations 5 to 7, Figure 3): min sum C_ij x_ij over the square matrix, each line once.

    C_ij is the pair cost of `problem` plus `task_units[i]` (int64, shape (tasks,), units of the grid). Rows or columns
    that pad the matrix to a square cost the constant 1; the variable `constant`, fixed at 1, subtracts it from the
    objective.

    The attribute `place` of the result is a dict from (task id, node id, slot from 1) to the variable.
    """
    tasks, nodes = ids(problem)
    node_names = injective_names(nodes)
    slots = [(node, slot) for node, free in enumerate(problem.capacity.tolist()) for slot in range(1, free + 1)]
    side = max(len(tasks), len(slots))
    dummies = abs(len(tasks) - len(slots))
    rows = injective_names(tasks) + [f"dummy_{row}" for row in range(1, side - len(tasks) + 1)]
    columns = [f"{node_names[node]}.{slot}" for node, slot in slots]
    columns += [f"dummy_{column}" for column in range(1, side - len(slots) + 1)]

    model = pulp.LpProblem(problem.name.replace("-", "_"), pulp.LpMinimize)
    square = add_pairs(model, "place", rows, columns)
    model.place = {
        (task, nodes[node], slot): square[row][column]
        for row, task in enumerate(tasks)
        for column, (node, slot) in enumerate(slots)
    }
    on_nodes = np.array([node for node, _ in slots], dtype=np.int64)
    terms: list[tuple[Any, float]] = []
    for row, variables in enumerate(square):
        costs = [1.0] * side
        if row < len(tasks):
            units = problem.pair_units(np.full(len(slots), row, dtype=np.int64), on_nodes) + task_units[row]
            costs[: len(slots)] = (units / problem.grid).tolist()
        terms.extend(zip(variables, costs, strict=True))
    if dummies:
        terms.append((model.add_variable("constant", 1, 1), -float(dummies)))
    model.setObjective(linear(terms))
    for name, variables in zip(rows, square, strict=True):
        model.addConstraint(pulp.lpSum(variables) == 1, f"task.{name}")
    for name, line in zip(columns, zip(*square, strict=True), strict=True):
        model.addConstraint(pulp.lpSum(line) == 1, f"slot.{name}")
    return model


def decode_square(model: Any, problem: AssignmentProblem) -> Placement:
    """The placement of a solved square LSAP, without its dummies."""
    return placed_at(problem, {task: node for (task, node, _), variable in model.place.items() if int_of(variable)})


def started_square(model: Any, problem: AssignmentProblem, placement: Placement) -> Entries:
    """A placement in a square LSAP: the tasks of a node on its slots in turn."""
    taken: Counter[str] = Counter()
    slot_of: dict[str, tuple[str, int]] = {}
    for task, node in host_of(problem, placement).items():
        taken[node] += 1
        slot_of[task] = node, taken[node]
    return ((variable, int(slot_of.get(task) == (node, slot))) for (task, node, slot), variable in model.place.items())


def by_group(model: Any, problem: AssignmentProblem, group: Ints, groups: int) -> list[list[Any]]:
    """The variables of a square LSAP that place the tasks of each group; `group` is that of each task."""
    of_task = dict(zip(ids(problem)[0], group.tolist(), strict=True))
    placed: list[list[Any]] = [[] for _ in range(groups)]
    for (task, _, _), variable in model.place.items():
        placed[of_task[task]].append(variable)
    return placed


#: The square LSAP.
SQUARE = Way(decode_square, started_square)

decode, start_values = said_by(Lsap, PLACES, SQUARE)
