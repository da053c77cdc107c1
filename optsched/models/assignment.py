"""What the models of the assignment problems share: their program in Pyomo, the square LSAP in PuLP.

Compact: tasks that nothing tells apart are one class with a supply, and a node has a capacity. What does not depend on
the node is anonymous: a task in the rack of a replica, or anywhere, is only counted, and takes a slot that is left
(`optsched.problems.counted_places`). All matrices here are those of networks and hence totally unimodular. So the
variables are continuous, and every vertex is a placement.

Costs in the models are in the papers' units, not in those of the grid; they are whole multiples of 1/`grid`, which
doubles hold exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.errors import TooLarge
from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.core.results import Number
from optsched.models.base import (
    MAX_VARIABLES,
    Entries,
    ModelSize,
    add_pairs,
    by_ids,
    host_of,
    ids,
    int_of,
    linear,
    placed_at,
    priced,
)
from optsched.models.programs import posed_program, variables_of, whole_pyomo
from optsched.problems.assignment import AssignmentProblem, LevelledProblem, TabledProblem
from optsched.problems.counted_places import CountedPlaces
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.solvers.algebraic import injective_names

# Compact, in Pyomo -------------------------------------------------------------------------------------------------


def counted_model(problem: Any, per_pair: bool, before: tuple[Number, ...] = (), integral: bool = True) -> Any:
    """The model of a program of an assignment problem, in the paper's units.

    It has the expressions `placed` and, of a problem with levels, `locality_cost`.

    `problem`, `per_pair`: as of `ModelModule.build_pyomo`. `before`: what the program is made with. `integral`: whether
    the variables may be continuous, without `per_pair`.

    TooLarge if a table of costs has more than `MAX_VARIABLES` pairs.
    """
    if isinstance(problem, TabledProblem) and problem.pairs > MAX_VARIABLES:
        raise TooLarge(
            f"{problem.place}: the compact model would have {problem.pairs:,} variables, one for each kind of task and "
            f'node; at most {MAX_VARIABLES:,} are made: use route="network", which needs none of them'
        )
    posed = problem.apart() if per_pair else problem
    program = posed.program(before)
    model = whole_pyomo(program, problem.name, before, integral and not per_pair, problem.grid)
    model.placed = pyo.Expression(model.CLASSES, rule=lambda model, c: 0)
    for name, row in model.class_supply.items():
        model.placed[name] = row.body
    if isinstance(problem, LevelledProblem):
        model.locality_cost = pyo.Expression(expr=pyo.quicksum(cost for _, cost in place_costs(model, posed)))
    return model


def place_costs(model: Any, posed: AssignmentProblem) -> Iterator[tuple[str, Any]]:
    """The class of each place that costs something, and what its tasks cost together."""
    units = (posed.places.units / posed.grid).tolist()
    named = zip(model.program.names, units, variables_of(model, model.program), strict=False)
    return ((task, cost * variable) for (_, task, *_), cost, variable in named if cost)


def decode_places(model: Any, problem: CountedPlaces) -> Placement:
    """The placement of a solved model of `counted_model`, which may have other variables, too."""
    posed = posed_program(model, problem)
    places = variables_of(model, model.program)[: len(posed.places.units)]
    values = np.array([int_of(variable) for variable in places], dtype=np.int64)
    placed: Placement = posed.decision_of(values, model.program)
    return placed


def started_places(model: Any, problem: CountedPlaces, placement: Placement) -> Entries:
    """A placement in a model of `counted_model`; all else follows from the places."""
    values = posed_program(model, problem).place_values(placement).tolist()
    return zip(variables_of(model, model.program), values, strict=False)


def tabled_size(problem: TabledProblem) -> ModelSize:
    """What the compact model of a table would take, or less: a variable for each class and idle node."""
    classes, nodes = len(problem.classes().first), int(np.count_nonzero(problem.capacity))
    return ModelSize(classes * nodes, classes + nodes + 1, 4 * classes * nodes)


# Literal, in PuLP --------------------------------------------------------------------------------------------------


def square_size(problem: AssignmentProblem) -> ModelSize:
    """Size of Guo et al.'s square LSAP: one row a task, one column an idle slot, padded to a square with dummies."""
    tasks, slots = len(problem.tasks), int(problem.capacity.sum())
    side = max(tasks, slots)
    return ModelSize(side * side + (tasks != slots), 2 * side, 3 * side * side + 1)


def square_model(problem: AssignmentProblem, task_units: np.ndarray) -> Any:
    """Guo et al.'s LSAP (equations 5 to 7, Figure 3): min sum C_ij x_ij over the square matrix, each line once.

    C_ij is the pair cost of `problem` plus `task_units[i]` (int64, shape (tasks,), units of the grid). Rows or
    columns that make the matrix square cost the constant 1; the variable `constant`, fixed at 1, takes them out of
    the objective again.

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


def binary_model(
    problem: TransmissionMaps | TransmissionReduces, letter: str, noun: str, units: Ints, idle: Ints
) -> tuple[Any, list[list[Any]]]:
    """Shen et al.'s binaries, each task at most once, and as many as there are to place (Shen et al. 2016, note 2).

    `letter`, `noun`: of the variables (`x.j.p`) and of the constraints of the tasks (`map.j`). `units`: int64, shape
    (tasks, len(idle)): cost of each pair in units of the grid. `idle`: nodes with idle slots.

    Returns the model, with constraints `cardinality` and `node.p` and the attribute `place`; and the variables, a row a
    task.
    """
    tasks, nodes = ids(problem, idle)
    task_names, node_names = injective_names(tasks), injective_names(nodes)
    model = pulp.LpProblem(problem.name.replace("-", "_"), pulp.LpMinimize)
    rows = add_pairs(model, letter, task_names, node_names)
    model.setObjective(linear(priced(rows, (units / problem.grid).tolist())))
    for name, row in zip(task_names, rows, strict=True):
        model.addConstraint(pulp.lpSum(row) <= 1, f"{noun}.{name}")
    model.addConstraint(pulp.lpSum(variable for row in rows for variable in row) == problem.count, "cardinality")
    for column, (name, node) in enumerate(zip(node_names, idle.tolist(), strict=True)):
        model.addConstraint(pulp.lpSum(row[column] for row in rows) <= int(problem.capacity[node]), f"node.{name}")
    model.place = by_ids(tasks, nodes, rows)
    return model, rows
