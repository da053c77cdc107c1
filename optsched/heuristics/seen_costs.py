"""Shen et al.'s costs (1) and (2) as a scheduler sees them: distances known, sizes of the shuffle estimated or not.

Problems judge by the true sizes, in exact units. These costs are doubles, which policies decide by.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.errors import Fault, MissingField
from optsched.instance import (
    KINDS,
    LARGEST,
    MAP,
    PENDING,
    REDUCE,
    Bools,
    Floats,
    Instance,
    Ints,
    Ragged,
    Shuffle,
    Workload,
)
from optsched.placement import NONE
from optsched.problems import Problem
from optsched.problems.base import Parameter, choice
from optsched.problems.distances import cluster_distances
from optsched.problems.shuffle_sizes import SIZES, estimated_sizes, seen_sizes
from optsched.problems.transmission_costs import map_costs
from optsched.running.base import View

__all__ = ["SeenCosts", "held", "instance_held", "missing_sizes", "sizes_parameter"]


def sizes_parameter(default: str) -> Parameter:
    """The parameter `sizes` of heuristics that look at the shuffle."""
    told = "MB of the shuffle: extrapolated by progress (Shen et al. 2016, (3)), emitted so far, or actual (a guess)"
    return Parameter("sizes", default, choice(default, *(way for way in SIZES if way != default)), told)


def missing_sizes(problem: Problem) -> Sequence[Fault]:
    """What extrapolation lacks, where the problem places reduces."""
    if REDUCE not in problem.kinds:
        return ()
    try:
        estimated_sizes(problem.instance)
    except MissingField as error:
        return error.faults
    return ()


def held(shuffle: Shuffle, sizes: Floats, node: Ints, reduces: Ints, nodes: int) -> Floats:
    """W_pf of (2): MB that each node holds for each of `reduces`, shape (reduces, nodes).

    Parameters
    ----------
    shuffle, sizes
        The entries and their MB.
    node
        Of each task the node it runs or ran on, or -1; maps without one hold nothing.
    reduces
        Tasks.
    """
    row = np.full(len(node), NONE)
    row[reduces] = np.arange(len(reduces))
    counted = (row[shuffle.reduce] != NONE) & (node[shuffle.map] != NONE)
    amounts: Floats = np.zeros((len(reduces), nodes))
    np.add.at(amounts, (row[shuffle.reduce[counted]], node[shuffle.map[counted]]), sizes[counted])
    return amounts


class SeenCosts:
    """Costs of waiting tasks on nodes. They live as long as a view, and are updated as maps are placed.

    Of maps no table is kept where sizes and distances are whole: what a map costs on a node is computed when it is
    asked for, in time O(replicas), and its sum over the nodes with a free slot is kept up to date as these fill up.

    Parameters
    ----------
    sizes
        As for `optsched.problems.shuffle_sizes.estimated_sizes`.
    """

    def __init__(self, sizes: str = "extrapolated") -> None:
        self._sizes = sizes
        self._workload: Workload | None = None

    def of(self, tasks: Ints, kind: str, view: View) -> Floats:
        """C_ij of each task (row) on each node (column). The tasks are of one kind and wait."""
        self._read(view)
        costs = self._of_maps(view) if kind == KINDS[MAP] else self._of_reduces(view)
        rows: Floats = costs[self._row[tasks]]
        return rows

    def here(self, tasks: Ints, kind: str, node: int, view: View) -> Floats:
        """C_ij of each task on one node. The tasks are of one kind and wait."""
        if kind != KINDS[MAP]:
            return self.of(tasks, kind, view)[:, node]
        self._read(view)
        rows = self._row[tasks]
        return self._on(node, self._sizes_of_maps[rows], self._replicas.take(rows), view)

    def averages(self, tasks: Ints, kind: str, nodes: Bools, view: View) -> Floats:
        """Cave of each task: the mean of C_ij over some nodes, of a map over those with a free slot."""
        self._read(view)
        if kind == KINDS[MAP] and self._whole(view):
            self._follow_nodes(nodes, view)
            means: Floats = self._sums[self._row[tasks]] / np.count_nonzero(nodes)
            return means
        among = self.of(tasks, kind, view)[:, nodes]
        # A mean of doubles may come out a little below the least of them, and `p_min` would then miss its limit.
        averages: Floats = np.maximum(among.mean(axis=1), among.min(axis=1))
        return averages

    def held(self, tasks: Ints, view: View) -> Floats:
        """MB that each node (column) holds for each reduce (row)."""
        self._read(view)
        self._follow_maps(view)
        rows: Floats = self._held[self._row[tasks]]
        return rows

    def _read(self, view: View) -> None:
        """Start afresh where the view is new."""
        if view.workload is self._workload:
            return
        self._workload, self._placed = view.workload, -1
        self._map_costs: Floats | None = None
        self._reduce_costs: Floats | None = None
        self._row = np.full(len(view.workload), NONE)
        self._maps, self._reduces = view.pending_of("map"), view.pending_of("reduce")
        for tasks in (self._maps, self._reduces):
            self._row[tasks] = np.arange(len(tasks))
        self._sizes_of_maps, self._replicas = view.workload.size[self._maps], view.workload.replicas.take(self._maps)
        self._exact: bool | None = None
        self._summed = np.zeros(len(view.cluster), dtype=np.bool_)
        self._sums: Floats = np.zeros(len(self._maps))
        self._shuffle = view.true_shuffle if self._sizes == "actual" else view.shuffle
        if self._shuffle is not None:
            self._entries = seen_sizes(view.workload, self._shuffle, view.status, self._sizes)

    def _of_maps(self, view: View) -> Floats:
        if self._map_costs is None:
            self._map_costs = map_costs(self._sizes_of_maps, self._replicas, cluster_distances(view.cluster))
        return self._map_costs

    def _whole(self, view: View) -> bool:
        """Whether sizes and distances are whole, and so small that doubles hold every sum of their products."""
        if self._exact is None:
            distance, sizes = cluster_distances(view.cluster), self._sizes_of_maps
            largest = float(sizes.max(initial=0.0)) * float(distance.max(initial=0.0)) * len(distance)
            self._exact = bool(
                largest < LARGEST and (sizes == np.floor(sizes)).all() and (distance == np.floor(distance)).all()
            )
        return self._exact

    def _on(self, node: int, sizes: Floats, replicas: Ragged, view: View) -> Floats:
        """C_ij on a node of maps with these sizes and replicas."""
        if not len(sizes):
            return np.zeros(0)
        distance = cluster_distances(view.cluster)[:, node][replicas.values]
        with np.errstate(over="ignore"):
            costs: Floats = sizes * np.minimum.reduceat(distance, replicas.starts[:-1])
        return costs

    def _follow_nodes(self, nodes: Bools, view: View) -> None:
        """Sum the costs of all maps over these nodes: those that came and went since are added and taken off."""
        for sign, changed in ((1, nodes & ~self._summed), (-1, self._summed & ~nodes)):
            for node in np.flatnonzero(changed).tolist():
                self._sums += sign * self._on(node, self._sizes_of_maps, self._replicas, view)
        self._summed = nodes.copy()

    def _of_reduces(self, view: View) -> Floats:
        self._follow_maps(view)
        if self._reduce_costs is None:
            self._reduce_costs = self._held @ cluster_distances(view.cluster)
        return self._reduce_costs

    def _follow_maps(self, view: View) -> None:
        """Compute what nodes hold again where maps were placed since."""
        placed = int(np.count_nonzero(view.status[self._maps] != PENDING))
        if placed == self._placed:
            return
        self._placed, self._reduce_costs = placed, None
        if self._shuffle is None:
            self._held = np.zeros((len(self._reduces), len(view.cluster)))
        else:
            self._held = held(self._shuffle, self._entries, view.node, self._reduces, len(view.cluster))


def instance_held(instance: Instance, node: Ints, reduces: Ints, sizes: str) -> Floats:
    """As `held`, for a whole instance with a shuffle, with sizes estimated in one of the ways."""
    shuffle = instance.workload.shuffle
    assert shuffle is not None
    return held(shuffle, estimated_sizes(instance, sizes), node, reduces, len(instance.cluster))
