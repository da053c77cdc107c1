"""Models of `transmission-maps`: maps to idle slots at least MB times distance to the nearest replica (000, (1)).

The compact model of `build_pyomo` is a transportation problem between classes of equal maps (same size, same
replicas) and nodes with idle slots. All its variables are continuous and whole at every vertex.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
CLASSES, NODES      classes of equal maps, each by the id of its first; nodes with idle slots
members, size       ids of the maps of each class; how many they are
slots, count        idle slots of each node; maps to place
cost[c,n]           cost of a map of the class on the node, MB x distance
place[c,n]          maps of the class on the node
placed[c]           expression: all placed maps of the class
class_supply[c]     placed[c] is at most size[c]
cardinality         count maps are placed
node_slots[n]       no node takes more than its slots
objective           least cost
=================== ========================================================================================

The literal model of `build_pulp` has 000's own x_jp, binary for each map and node, that is 1 where the map is assigned
to the node. 000 gives costs and no program: its constraints are those of Shen et al. 2016, note 2, with names
`map.j` (each map at most once), `cardinality` and `node.p`.
"""

from __future__ import annotations

from typing import Any

import pulp

from optsched.models.assignment import add_cost_table, class_model, decode_pairs
from optsched.models.base import MAX_VARIABLES, LiteralSize, decode_binaries, of_problem, refuse_too_large
from optsched.placement import Placement
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "decode", "literal_size"]


@of_problem(TransmissionMaps)
def build_pyomo(problem: TransmissionMaps, *, aggregate: bool = True) -> Any:
    """Build the compact model; its components are in the module's table.

    Parameters
    ----------
    problem
        What to model.
    aggregate
        False: every map is a class of its own, so that a constraint can name any map.

    Returns
    -------
    pyomo.environ.ConcreteModel
        Linear, with continuous variables.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Ragged, Topology, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> workload = Workload(["M1", "M2"], size=[128.0, 64.0], replicas=Ragged.from_rows([[0], [0]]))
    >>> problem = TransmissionMaps(Instance(cluster, workload))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).nodes.tolist()
    (256.0, [0, 1])
    """
    base = class_model(problem, aggregate)
    add_cost_table(problem, base, problem.class_units[problem.classes().of_task[base.classes.first]], "cost")
    return base.model


@of_problem(TransmissionMaps)
def literal_size(problem: TransmissionMaps) -> LiteralSize:
    """What `build_pulp` would take: a binary for each map and idle node."""
    maps, nodes = len(problem.tasks), len(problem.idle_nodes)
    return LiteralSize.of(maps * nodes, maps + nodes + 1, 4 * maps * nodes)


@of_problem(TransmissionMaps)
def build_pulp(problem: TransmissionMaps, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the program in 000's variables: a binary for each map and node with idle slots.

    Returns
    -------
    pulp.LpProblem
        Its attribute `place` is a dict from (task id, node id) to the variable.

    Raises
    ------
    TooLarge
        If it has more than `max_variables` variables.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Ragged, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], slots=[0, 1], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> workload = Workload(["M1"], size=[128.0], replicas=Ragged.from_rows([[0]]))
    >>> build_pulp(TransmissionMaps(Instance(cluster, workload))).objective
    512.0*x.M1.D2 + 0.0
    """
    refuse_too_large(problem, literal_size(problem), max_variables, 'route="network" or build_pyomo')
    tasks = problem.instance.workload.task_ids[problem.tasks].tolist()
    nodes = problem.instance.cluster.node_ids[problem.idle_nodes].tolist()
    task_names, node_names = injective_names(tasks), injective_names(nodes)
    costs = (problem.class_units[problem.classes().of_task] / problem.grid).tolist()
    model = pulp.LpProblem("transmission_maps", pulp.LpMinimize)
    rows = [[model.add_variable(f"x.{task}.{node}", cat=pulp.LpBinary) for node in node_names] for task in task_names]
    terms = [pair for row, cost in zip(rows, costs, strict=True) for pair in zip(row, cost, strict=True)]
    model.setObjective(pulp.LpAffineExpression(terms))
    for name, row in zip(task_names, rows, strict=True):
        model.addConstraint(pulp.lpSum(row) <= 1, f"map.{name}")
    model.addConstraint(pulp.lpSum(variable for variable, _ in terms) == problem.count, "cardinality")
    for column, (name, node) in enumerate(zip(node_names, problem.idle_nodes.tolist(), strict=True)):
        model.addConstraint(pulp.lpSum(row[column] for row in rows) <= int(problem.capacity[node]), f"node.{name}")
    model.place = {
        (task, node): variable
        for task, row in zip(tasks, rows, strict=True)
        for node, variable in zip(nodes, row, strict=True)
    }
    return model


@of_problem(TransmissionMaps)
def decode(model: Any, problem: TransmissionMaps) -> Placement:
    """The placement that a solved model stands for, of either kind; it costs what the model says.

    Raises
    ------
    UsageError
        If the model holds no solution, or one that is not whole.
    """
    return decode_binaries(model, problem) if isinstance(model, pulp.LpProblem) else decode_pairs(model, problem)
