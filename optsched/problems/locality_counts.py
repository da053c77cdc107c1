"""Counts how near placed tasks are to their data: on the node, in the rack or off-rack, for maps and for reduces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.core.instance import KINDS, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.problems.base import TaskProblem

#: A task is on a node with its data, else in a rack with such a node, else anywhere (Shen et al. 2016, section III-C).
CLASSES = ("node", "rack", "off_rack")

#: Their names in tables and pictures.
NAMES = ("node", "rack", "off-rack")


def locality_counts(problem: TaskProblem[Any], placement: Placement) -> Mapping[str, Mapping[str, int]]:
    """How many placed tasks of each kind are local to their data, in a rack with it, and off-rack.

    A map's data is on the nodes of its replicas. Shen et al. (2016, section III-C, Table III) count reduces too, but
    only say that the node is one "with data for that task". Here a reduce has data on each node where a map that sends
    it more than 0 MB has run, runs or is placed. A task without data anywhere is off-rack. The placement need not be
    feasible.

    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]))))
    >>> locality_counts(problem, problem.placement([0, 1]))
    {'map': {'node': 1, 'rack': 0, 'off_rack': 1}}
    """
    instance, classes = problem.instance, locality(problem.instance, placement)[problem.tasks]
    counts = {}
    for kind in problem.kinds:
        wanted = (instance.workload.kind[problem.tasks] == kind) & (classes != NONE)
        counts[KINDS[kind]] = dict(zip(CLASSES, np.bincount(classes[wanted], minlength=3).tolist(), strict=True))
    return counts


def locality(instance: Instance, placement: Placement) -> Ints:
    """The class of each task of an instance in a placement, as `locality_counts` counts them.

    They are positions in `CLASSES`, or `NONE` for a task that runs nowhere.

    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> instance = Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]])))
    >>> locality(instance, Placement.of([0, None])).tolist()
    [0, -1]
    """
    nodes, rack, shuffle = placement.nodes, instance.cluster.rack, instance.workload.shuffle
    task, holder = instance.replicas.row_of, instance.replicas.values  # pairs of a task and a node with its data
    if shuffle is not None:
        where = np.where(nodes != NONE, nodes, instance.state.node)[shuffle.map]
        held = (shuffle.size > 0) & (where != NONE)
        task, holder = np.append(task, shuffle.reduce[held]), np.append(holder, where[held])
    in_rack = np.append(rack, NONE)[nodes]  # a task that runs nowhere picks the last entry
    classes = np.where(nodes != NONE, 2, NONE).astype(np.int64)
    classes[task[(rack[holder] >= 0) & (rack[holder] == in_rack[task])]] = 1
    classes[task[holder == nodes[task]]] = 0
    return classes
