"""Models of `lsap`: tasks to idle slots at least locality cost (Guo et al. 2012, section III.C).

The compact model of `build_pyomo` counts tasks of a class on nodes with their data, in racks with it, and anywhere.
Tasks in racks and anywhere get slots that are left. All its variables are continuous and whole at every vertex.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
CLASSES             classes of tasks with the same replicas on idle nodes, each by the id of its first task
NODES, RACKS        nodes with idle slots and replicas; racks, where a task in the rack of a replica costs less
PAIRS, RACK_PAIRS   (class, node with a replica), (class, rack with a replica)
members             ids of the tasks of each class
place[c,n]          tasks of the class on a node with their replica
place_in_rack[c,k]  tasks of the class in a rack with a replica, on whichever node (only where there are `RACKS`)
place_anywhere[c]   tasks of the class on whichever node
class_supply[c]     no more tasks than the class has; just as many where all are placed
cardinality         count tasks are placed (only where some are not)
node_slots[n]       no node takes more of its own tasks than its slots
rack_slots[k]       no rack takes more tasks of `place` and `place_in_rack` than its slots
locality_cost       expression: levels times tasks
objective           least locality_cost
=================== ========================================================================================

With `per_pair` each task is a class of its own, and `place[t,n]` is 1 if the task runs on the node, whichever that is;
nothing is anonymous.

The literal model of `build_pulp` is Guo et al.'s square LSAP over tasks and idle slots: binary `place.t.n.s`,
constraints `task.t` and `slot.n.s`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.models.assignment import (
    counted_model,
    decode_places,
    decode_square,
    square_model,
    square_size,
    started_places,
    started_square,
)
from optsched.models.base import MAX_VARIABLES, ModelSize, decoder, model_of, of_problem, refuse_too_large, starter
from optsched.models.programs import shared, size_of
from optsched.problems.lsap import Lsap

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


decode = decoder(Lsap, compact=decode_places, literal=decode_square, started=started_places)
start_values = starter(Lsap, compact=started_places, literal=started_square)
