"""What the tests of families ask of an instance: is it sound, and who is local to what, by SciPy alone."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from optsched.core.instance import Instance


def slot_nodes(instance: Instance) -> np.ndarray:
    """The node of each idle slot."""
    return np.repeat(np.arange(len(instance.cluster)), instance.state.idle_slots)


def local(instance: Instance) -> np.ndarray:
    """Whether each node holds each task's block; bool, shape (tasks, nodes)."""
    held = np.zeros((len(instance.workload), len(instance.cluster)), dtype=bool)
    held[instance.replicas.row_of, instance.replicas.values] = True
    return held


def cheapest_assignment(costs: np.ndarray) -> int:
    """Least cost of min(tasks, slots) tasks on different slots; whole costs, shape (tasks, slots)."""
    assert np.array_equal(costs, np.rint(costs))
    return int(costs[linear_sum_assignment(costs)].sum())


def must_be_remote(instance: Instance) -> int:
    """min(tasks, idle slots) less a maximum matching of tasks and idle slots that are local."""
    edges = csr_array(local(instance)[:, slot_nodes(instance)].astype(np.int8))
    matched = int((maximum_bipartite_matching(edges, perm_type="column") >= 0).sum())
    return min(edges.shape) - matched


def assert_sound(instance: Instance) -> None:
    """Replicas are distinct, increasing and of existing nodes; idle slots fit."""
    replicas = instance.replicas
    inside = replicas.row_of[1:] == replicas.row_of[:-1]
    assert np.all(np.diff(replicas.values)[inside] > 0)
    assert np.all(instance.state.idle_slots <= instance.cluster.slots)
