"""Models of `transmission-reduces`: reduces to idle slots, least MB times distance from maps (Shen et al. 2016, (2)).

The compact model of `build_pyomo` is a flow from classes of equal reduces (same job, same costs) through pairs of job
and node, each for at most one reduce, to nodes with idle slots. All its variables are continuous and integral at every
vertex.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
CLASSES, NODES      classes of equal reduces, each by the id of its first; nodes with idle reduce slots
PAIRS               (class, node) if no reduce of the job runs there
SHARED              (job, node) of the jobs that have at most one reduce on a node, if `distinct`
members             ids of the reduces of each class
cost[c,n]           cost of a reduce of the class on the node, MB x distance
place[c,n]          reduces of the class on the node
class_supply[c]     no more reduces than the class has; exactly as many if all are placed
cardinality         count reduces are placed, the most that fit (only if some are not)
node_slots[n]       no node takes more than its slots
one_of_job[j,n]     no node takes more than one reduce of the job
objective           least cost
=================== ========================================================================================

The literal model of `build_pulp` has a binary `y.f.i` for each reduce and node with an idle slot, 1 if the reduce is
assigned to the node. Shen et al. give costs but no program: its constraints are those of Shen et al. 2016, note 2, with
names `reduce.f` (each at most once), `cardinality`, `node.i` and `job.j.i`, whose right side is 1 less the running
ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp

from optsched.models.base import (
    BINARIES,
    MAX_VARIABLES,
    ModelSize,
    model_of,
    of_problem,
    refuse_too_large,
    said_by,
)
from optsched.models.programs import PLACES, counted_model, shared
from optsched.models.transmission_maps import binary_model
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(TransmissionReduces, shared=shared)
def build_pyomo(problem: TransmissionReduces, *, per_pair: bool = False) -> Any:
    """Build the compact model, with continuous variables (parameters as in `ModelModule.build_pyomo`).

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Shuffle, State, Topology, Workload
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> shuffle = Shuffle(map=[0, 0], reduce=[1, 2], size=[10.0, 5.0])
    >>> workload = Workload(["M1", "R1", "R2"], kind=[0, 1, 1], job=[0, 0, 0], job_ids=["J"], shuffle=shuffle)
    >>> state = State.initial(cluster, workload, status=[1, 0, 0], node=[0, -1, -1])
    >>> problem = TransmissionReduces(Instance(cluster, workload, state))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).nodes.tolist()
    (20.0, [-1, 0, 1])
    """
    return counted_model(problem, per_pair)


@of_problem(TransmissionReduces)
def compact_size(problem: TransmissionReduces) -> ModelSize:
    """An upper limit on the size of `build_pyomo`'s model: a variable for each class of reduces and node it may use."""
    first, nodes = problem.classes().first, int(np.count_nonzero(problem.capacity))
    pairs = int(np.count_nonzero(problem.usable[first]))
    shared = min(pairs, len(np.unique(problem.job)) * problem.usable.shape[1])
    return ModelSize(pairs, len(first) + 1 + nodes + shared, 5 * pairs)


@of_problem(TransmissionReduces)
def literal_size(problem: TransmissionReduces) -> ModelSize:
    """The size of `build_pulp`'s model: a binary for each reduce and node with an idle reduce slot."""
    reduces, nodes = len(problem.tasks), int(np.count_nonzero(problem.capacity))
    jobs = len(np.unique(problem.job[problem.limited]))
    return ModelSize(reduces * nodes, reduces + (1 + jobs) * nodes + 1, 5 * reduces * nodes)


@model_of(TransmissionReduces)
def build_pulp(problem: TransmissionReduces, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the program in Shen et al.'s variables: a binary for each reduce and node with an idle reduce slot.

    Its attribute `place` is a dict from (task id, node id) to the variable.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Shuffle, State, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], reduce_slots=[0, 1], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> shuffle = Shuffle(map=[0], reduce=[1], size=[10.0])
    >>> workload = Workload(["M1", "R1"], kind=[0, 1], shuffle=shuffle)
    >>> state = State.initial(cluster, workload, status=[1, 0], node=[0, -1])
    >>> build_pulp(TransmissionReduces(Instance(cluster, workload, state))).objective
    40.0*y.R1.D2 + 0.0
    """
    refuse_too_large(problem, literal_size(problem), max_variables, 'route="arrays" or build_pyomo')
    idle = np.flatnonzero(problem.capacity > 0)
    model, rows = binary_model(problem, "y", "reduce", problem.units[:, idle], idle)
    node_names = injective_names(problem.instance.cluster.node_ids[idle].tolist())
    jobs = np.unique(problem.job[problem.limited]).tolist()
    job_names = injective_names(problem.instance.workload.job_ids.tolist())
    for job in jobs:
        members = np.flatnonzero(problem.job == job).tolist()
        for column, (name, node) in enumerate(zip(node_names, idle.tolist(), strict=True)):
            runs = int(problem.barred[job, node])
            model.addConstraint(
                pulp.lpSum(rows[member][column] for member in members) <= 1 - runs, f"job.{job_names[job]}.{name}"
            )
    return model


decode, start_values = said_by(TransmissionReduces, PLACES, BINARIES)
