"""What the models of the assignment problems share: classes and nodes in Pyomo, the square LSAP in PuLP, decoding.

Compact: tasks that nothing tells apart are one class with a supply, and a node has a capacity. Whatever does not depend
on the node is anonymous: a task in the rack of a replica, or anywhere, is only counted, and nodes with free slots take
the counts. All matrices here are those of networks and hence totally unimodular. So the variables are continuous, and
every vertex is a placement.

Costs in the models are in the papers' units, not in those of the grid; they are whole multiples of 1/`grid`, which
doubles hold exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.deadline import check
from optsched.core.errors import TooLarge
from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.models.base import (
    MAX_VARIABLES,
    ModelSize,
    add_classes,
    add_pairs,
    by_ids,
    decode_counts,
    grouped,
    ids,
    linear,
    placed_at,
    priced,
    whole,
)
from optsched.models.own_rows import is_per_pair
from optsched.models.starts import Entries, counted, host_of, started_counts
from optsched.problems.assignment import AssignmentProblem, LevelledProblem, TabledProblem, TaskClasses
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.solvers.algebraic import injective_names

__all__ = [
    "ClassModel",
    "add_steps",
    "binary_model",
    "by_group",
    "class_model",
    "decode_levelled",
    "decode_square",
    "levelled_model",
    "levelled_size",
    "placed_cost",
    "square_model",
    "square_size",
    "started_levelled",
    "started_square",
    "tabled_model",
    "tabled_size",
]

# Compact, in Pyomo -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClassModel:
    """A model with its classes, nodes and their data, and the arrays that it was made from.

    `names` are the classes' names, in order; `nodes` the ids of all nodes of the cluster.
    """

    model: Any
    classes: TaskClasses
    names: list[str]
    nodes: list[str]


def class_model(problem: AssignmentProblem | TransmissionReduces, per_pair: bool) -> ClassModel:
    """A model with the sets and data that all compact assignment models have, without variables yet.

    With `per_pair` every task is a class of its own, so that constraints can tell all tasks apart.
    """
    tasks, nodes = ids(problem)
    idle = np.flatnonzero(problem.capacity > 0).tolist()
    model = pyo.ConcreteModel(problem.name)
    names, classes = add_classes(model, tasks, None if per_pair else problem.classes())
    model.NODES = pyo.Set(initialize=[nodes[node] for node in idle], doc="nodes with idle slots")
    model.slots = pyo.Param(model.NODES, initialize={nodes[node]: int(problem.capacity[node]) for node in idle})
    model.count = pyo.Param(initialize=problem.count, doc="tasks to place: min(tasks, idle slots)")
    return ClassModel(model, classes, names, nodes)


def tabled_size(problem: TabledProblem) -> ModelSize:
    """What `tabled_model` would take, or less: a variable for each class and idle node."""
    classes, nodes = len(problem.classes().first), int(np.count_nonzero(problem.capacity))
    return ModelSize(classes * nodes, classes + nodes + 1, 4 * classes * nodes)


def levelled_size(problem: LevelledProblem, steps: int = 0, pools: int = 0, rows: int = 0) -> ModelSize:
    """What `levelled_model` with `add_steps` would take, or less.

    Parameters
    ----------
    problem
        What is modelled.
    steps, pools
        Of `add_steps`: steps of all pools, and these.
    rows
        Further rows over all placed tasks, some of them in each.
    """
    first, nodes = problem.classes().first, int(np.count_nonzero(problem.capacity))
    pairs, near = len(problem.idle_replicas.take(first).values), problem.idle_racks.take(first).values
    if problem.levels[1] >= problem.levels[2]:
        near = near[:0]
    placed = pairs + len(near) + len(first)
    return ModelSize(
        placed + 2 * nodes + steps,
        len(first) + nodes + len(np.unique(near)) + 2 + pools + rows,
        5 * placed + 5 * nodes + 2 * steps + (placed if steps else 0) + rows * (1 + placed),
    )


def _add_class_constraints(model: Any) -> None:
    """Add `class_supply` and `cardinality` to a model whose expression `placed[c]` counts the placed of each class."""

    def class_supply(model: Any, task_class: str) -> Any:
        return model.placed[task_class] <= model.size[task_class]

    def cardinality(model: Any) -> Any:
        return pyo.quicksum(model.placed.values()) == model.count if model.count.value else pyo.Constraint.Feasible

    model.class_supply = pyo.Constraint(model.CLASSES, rule=class_supply)
    model.cardinality = pyo.Constraint(rule=cardinality)


def tabled_model(problem: TabledProblem, per_pair: bool, name: str) -> Any:
    """The transportation problem of a table of costs, complete; its parameter `name` holds the costs.

    Raises
    ------
    TooLarge
        If there are more than `MAX_VARIABLES` pairs.
    """
    base = class_model(problem, per_pair)
    units = problem.class_units[problem.classes().of_task[base.classes.first]]
    if units.size > MAX_VARIABLES:
        raise TooLarge(
            f"{problem.place}: the compact model would have {units.size:,} variables, one for each kind of task and "
            f'node; at most {MAX_VARIABLES:,} are made: use route="network", which needs none of them'
        )
    _add_table(base, units / problem.grid, name, pyo.Binary if per_pair else pyo.NonNegativeReals)
    cost, place = base.model.component(name), base.model.place
    base.model.objective = pyo.Objective(expr=pyo.quicksum(cost[pair] * place[pair] for pair in place))
    return base.model


def _add_table(base: ClassModel, table: np.ndarray, name: str, within: Any) -> None:
    """Add how many tasks of each class are on each node, and the parameter `name` of what one costs there."""
    model, nodes = base.model, list(base.model.NODES)
    costs = by_ids(base.names, nodes, table.tolist())
    model.add_component(name, pyo.Param(model.CLASSES, model.NODES, initialize=costs, within=pyo.Reals))
    model.place = pyo.Var(model.CLASSES, model.NODES, within=within)

    def placed(model: Any, task_class: str) -> Any:
        check()
        return pyo.quicksum(model.place[task_class, node] for node in nodes)

    def node_slots(model: Any, node: str) -> Any:
        check()
        if not base.names:
            return pyo.Constraint.Feasible
        return pyo.quicksum(model.place[task_class, node] for task_class in base.names) <= model.slots[node]

    model.placed = pyo.Expression(model.CLASSES, rule=placed)
    _add_class_constraints(model)
    model.node_slots = pyo.Constraint(model.NODES, rule=node_slots)


def levelled_model(problem: LevelledProblem, per_pair: bool) -> ClassModel:
    """The network of Guo et al. 2012 with its levels, or with `per_pair` each task on each node; without an objective.

    Racks are there only where a task in the rack of a replica costs less than anywhere else.
    """
    base = class_model(problem, per_pair)
    model = base.model
    if per_pair:
        idle = np.flatnonzero(problem.capacity > 0).astype(np.int64)
        rows, columns = np.indices((len(problem.tasks), len(idle)))
        units = problem.pair_units(rows.ravel(), idle[columns.ravel()]).reshape(rows.shape)
        _add_table(base, units / problem.grid, "level", pyo.Binary)
    else:
        _add_places(problem, base)
        _add_flows(model, _rack_of(problem))
    cost = placed_cost(model, base.names, [level / problem.grid for level in problem.levels])
    model.locality_cost = pyo.Expression(expr=cost)
    return base


def placed_cost(model: Any, names: Sequence[str], levels: Sequence[float]) -> Any:
    """The locality cost of the placed tasks of some classes of a `levelled_model`."""
    if model.component("level") is not None:
        return pyo.quicksum(model.level[name, node] * model.place[name, node] for name in names for node in model.NODES)
    nodes_of, racks_of = grouped(model.PAIRS, 0), grouped(model.RACK_PAIRS, 0)
    local = pyo.quicksum(model.place[pair] for name in names for pair in nodes_of.get(name, ()))
    near = pyo.quicksum(model.place_in_rack[pair] for name in names for pair in racks_of.get(name, ()))
    far = pyo.quicksum(model.place_anywhere[name] for name in names)
    return levels[0] * local + levels[1] * near + levels[2] * far


def _add_places(problem: LevelledProblem, base: ClassModel) -> None:
    """Add where tasks may be, and variables that count them: on their data, in its rack, and anywhere."""
    model, racks = base.model, problem.instance.cluster.rack_ids.tolist()
    _, in_rack, off_rack = problem.levels
    holders = problem.idle_replicas.take(base.classes.first)
    near = problem.idle_racks.take(base.classes.first)
    pairs = [(name, base.nodes[node]) for name, row in zip(base.names, holders, strict=True) for node in row.tolist()]
    rack_pairs = [
        (name, racks[rack])
        for name, row in zip(base.names, near, strict=True)
        for rack in row.tolist()
        if in_rack < off_rack
    ]
    saving, rack_of = list(grouped(rack_pairs, 1)), _rack_of(problem)

    model.PAIRS = pyo.Set(dimen=2, initialize=pairs, doc="class, node with an idle slot and a replica")
    model.RACKS = pyo.Set(initialize=saving, doc="racks that save cost")
    model.RACK_PAIRS = pyo.Set(dimen=2, initialize=rack_pairs, doc="class, rack of one of its replicas")
    near_nodes = [node for node in model.NODES if rack_of.get(node) in saving]
    model.RACK_NODES = pyo.Set(initialize=near_nodes, doc="nodes of RACKS with idle slots")
    model.place = pyo.Var(model.PAIRS, within=pyo.NonNegativeReals)
    model.place_in_rack = pyo.Var(model.RACK_PAIRS, within=pyo.NonNegativeReals)
    model.place_anywhere = pyo.Var(model.CLASSES, within=pyo.NonNegativeReals)
    model.rack_to_node = pyo.Var(model.RACK_NODES, within=pyo.NonNegativeReals)
    model.anywhere_to_node = pyo.Var(model.NODES, within=pyo.NonNegativeReals)


def _add_flows(model: Any, rack_of: Mapping[str, str]) -> None:
    """Add what joins the counts of the classes to the slots of the nodes."""
    of_class, of_node = grouped(model.PAIRS, 0), grouped(model.PAIRS, 1)
    racks_of_class, classes_of_rack = grouped(model.RACK_PAIRS, 0), grouped(model.RACK_PAIRS, 1)
    nodes_of_rack = grouped(((node, rack_of[node]) for node in model.RACK_NODES), 1)

    def placed(model: Any, task_class: str) -> Any:
        local = pyo.quicksum(model.place[pair] for pair in of_class.get(task_class, []))
        near_by = pyo.quicksum(model.place_in_rack[pair] for pair in racks_of_class.get(task_class, []))
        return local + near_by + model.place_anywhere[task_class]

    def rack_flow(model: Any, rack: str) -> Any:
        entering = pyo.quicksum(model.place_in_rack[pair] for pair in classes_of_rack[rack])
        return entering == pyo.quicksum(model.rack_to_node[node] for node, _ in nodes_of_rack[rack])

    def anywhere_flow(model: Any) -> Any:
        if not len(model.CLASSES) and not len(model.NODES):
            return pyo.Constraint.Feasible
        entering = pyo.quicksum(model.place_anywhere.values())
        return entering == pyo.quicksum(model.anywhere_to_node.values())

    def node_slots(model: Any, node: str) -> Any:
        local = pyo.quicksum(model.place[pair] for pair in of_node.get(node, []))
        near_by = model.rack_to_node[node] if node in model.RACK_NODES else 0
        return local + near_by + model.anywhere_to_node[node] <= model.slots[node]

    model.placed = pyo.Expression(model.CLASSES, rule=placed)
    _add_class_constraints(model)
    model.rack_flow = pyo.Constraint(model.RACKS, rule=rack_flow)
    model.anywhere_flow = pyo.Constraint(rule=anywhere_flow)
    model.node_slots = pyo.Constraint(model.NODES, rule=node_slots)


def add_steps(model: Any, classes: Mapping[str, Sequence[str]], sizes: Mapping[tuple[str, int], int], of: str) -> None:
    """Add to a class model what the placed tasks of a pool cost by their number, the cheapest step first.

    Parameters
    ----------
    model
        Has the expression `placed[c]` of the placed of each class.
    classes
        Names of the classes of each pool that has steps.
    sizes
        Tasks for which a step holds, by its pool and its number from 1.
    of
        `pool_tier`, say, for the components `TIERS`, `tier_size`, `tier`, and the constraint `pool_tiers`.
    """
    step = of.partition("_")[2]
    numbers: dict[str, list[int]] = {}
    for pool, number in sizes:
        numbers.setdefault(pool, []).append(number)
    index = pyo.Set(dimen=2, initialize=list(sizes), doc="pool, number of the step, cheapest first")
    model.add_component(f"{step.upper()}S", index)
    model.add_component(f"{step}_size", pyo.Param(index, initialize=dict(sizes)))
    variable = pyo.Var(index, bounds=lambda model, pool, number: (0, sizes[pool, number]))
    model.add_component(step, variable)

    def steps_of_pool(model: Any, pool: str) -> Any:
        placed = pyo.quicksum(model.placed[name] for name in classes[pool])
        return placed == pyo.quicksum(variable[pool, number] for number in numbers[pool])

    model.add_component(f"{of}s", pyo.Constraint(list(classes), rule=steps_of_pool))


def decode_levelled(model: Any, problem: LevelledProblem) -> Placement:
    """The placement that a solved model of `levelled_model` stands for."""
    if is_per_pair(model):
        return decode_counts(model, problem)
    waiting = {name: iter(model.members[name]) for name in model.CLASSES}
    host: dict[str, str] = {}

    def give(name: str, nodes: Iterable[str]) -> None:
        for node in nodes:
            host[next(waiting[name])] = node

    for (name, node), variable in model.place.items():
        give(name, [node] * whole(variable))
    free: dict[str, list[str]] = {rack: [] for rack in model.RACKS}
    rack_of = _rack_of(problem)
    for node, variable in model.rack_to_node.items():
        free[rack_of[node]].extend([node] * whole(variable))
    in_rack = {rack: iter(nodes) for rack, nodes in free.items()}
    for (name, rack), variable in model.place_in_rack.items():
        give(name, islice(in_rack[rack], whole(variable)))
    anywhere = (node for node, variable in model.anywhere_to_node.items() for _ in range(whole(variable)))
    for name, variable in model.place_anywhere.items():
        give(name, islice(anywhere, whole(variable)))
    return placed_at(problem, host)


def started_levelled(model: Any, problem: LevelledProblem, placement: Placement) -> Entries:
    """A placement in a model of `levelled_model`: each task as cheap as it is where it runs."""
    if is_per_pair(model):
        yield from started_counts(model, problem, placement)
        return
    rack_of = _rack_of(problem)
    racks, anywhere, in_rack, off_rack = (Counter[Any]() for _ in range(4))
    counts = counted(model.members, host_of(problem, placement))
    for (name, node), count in counts.items():
        if (name, node) in model.PAIRS:
            continue
        if (name, rack_of.get(node)) in model.RACK_PAIRS:
            racks[name, rack_of[node]] += count
            in_rack[node] += count
        else:
            anywhere[name] += count
            off_rack[node] += count
    parts = (model.place, counts), (model.place_in_rack, racks), (model.place_anywhere, anywhere)
    nodes = (model.rack_to_node, in_rack), (model.anywhere_to_node, off_rack)
    yield from ((variable, held[key]) for variables, held in (*parts, *nodes) for key, variable in variables.items())


def _rack_of(problem: LevelledProblem) -> dict[str, str]:
    cluster = problem.instance.cluster
    racks = cluster.rack_ids.tolist()
    known = np.flatnonzero(cluster.rack >= 0)
    return {str(cluster.node_ids[node]): racks[cluster.rack[node]] for node in known.tolist()}


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
    return placed_at(problem, {task: node for (task, node, _), variable in model.place.items() if whole(variable)})


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

    Parameters
    ----------
    problem
        What to model.
    letter, noun
        Of the variables (`x.j.p`) and of the constraints of the tasks (`map.j`).
    units
        int64, shape (tasks, len(idle)): cost of each pair in units of the grid.
    idle
        Nodes with idle slots.

    Returns
    -------
    tuple
        The model, with constraints `cardinality` and `node.p` and the attribute `place`; and the variables, a row a
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
