"""Models of `transmission-maps`: maps to idle slots, least MB times distance from replicas (Shen et al. 2016, (1)).

The compact model of `build_pyomo` is a transportation problem between classes of equal maps (same size, same replicas)
and nodes with idle slots. All its variables are continuous and integral at every vertex. It is that of `flow` (see the
table in `optsched.models.flow`), but with other costs: `cost[c,n]`, MB times distance, instead of `penalty`.

The literal model of `build_pulp` has Shen et al.'s own x_jp, binary for each map and node, that is 1 if the map is
assigned to the node. Shen et al. give costs but no program: its constraints are those of Shen et al. 2016, note 2, with
names `map.j` (each map at most once), `cardinality` and `node.p`.
"""

from __future__ import annotations

from typing import Any

import pulp

from optsched.core.instance import Ints
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
from optsched.models.flow import tabled_size
from optsched.models.programs import PLACES, counted_model, shared
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(TransmissionMaps, shared=shared)
def build_pyomo(problem: TransmissionMaps, *, per_pair: bool = False) -> Any:
    """Build the compact model, with continuous variables (parameters as in `ModelModule.build_pyomo`).

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Topology, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> workload = Workload(["M1", "M2"], size=[128.0, 64.0], replicas=Ragged.from_rows([[0], [0]]))
    >>> problem = TransmissionMaps(Instance(cluster, workload))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).nodes.tolist()
    (256.0, [0, 1])
    """
    return counted_model(problem, per_pair)


@of_problem(TransmissionMaps)
def compact_size(problem: TransmissionMaps) -> ModelSize:
    """The size of `build_pyomo`'s model: a variable for each class of tasks and idle node."""
    return tabled_size(problem)


@of_problem(TransmissionMaps)
def literal_size(problem: TransmissionMaps) -> ModelSize:
    """The size of `build_pulp`'s model: a binary for each map and idle node."""
    maps, nodes = len(problem.tasks), len(problem.idle_nodes)
    return ModelSize(maps * nodes, maps + nodes + 1, 4 * maps * nodes)


@model_of(TransmissionMaps)
def build_pulp(problem: TransmissionMaps, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the program in Shen et al.'s variables: a binary for each map and node with idle slots.

    Its attribute `place` is a dict from (task id, node id) to the variable.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], slots=[0, 1], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> workload = Workload(["M1"], size=[128.0], replicas=Ragged.from_rows([[0]]))
    >>> build_pulp(TransmissionMaps(Instance(cluster, workload))).objective
    512.0*x.M1.D2 + 0.0
    """
    refuse_too_large(problem, literal_size(problem), max_variables, 'route="network" or build_pyomo')
    units = problem.class_units[problem.classes().of_task]
    return binary_model(problem, "x", "map", units, problem.idle_nodes)[0]


def binary_model(
    problem: TransmissionMaps | TransmissionReduces, letter: str, noun: str, units: Ints, idle: Ints
) -> tuple[Any, list[list[Any]]]:
    """Shen et al.'s binaries, each task at most once, and as many as there are to place (Shen et al. 2016, note 2).

    `letter`, `noun`: names of the variables (`x.j.p`) and of the constraints of the tasks (`map.j`). `units`: int64,
    shape (tasks, len(idle)): cost of each pair in units of the grid. `idle`: nodes with idle slots.

    Returns the model, with constraints `cardinality` and `node.p` and the attribute `place`; and the variables, a row
    per task.
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


decode, start_values = said_by(TransmissionMaps, PLACES, BINARIES)
