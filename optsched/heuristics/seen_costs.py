"""Shen et al.'s costs (1) and (2) as a scheduler sees them: distances known, sizes of the shuffle estimated or not.

Problems judge by the true sizes, in exact units. These costs are doubles, which policies decide by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optsched.errors import Fault, MissingField
from optsched.heuristics.area_costs import AreaCosts
from optsched.instance import (
    FINISHED,
    KINDS,
    MAP,
    REDUCE,
    Bools,
    Floats,
    Instance,
    Ints,
    Shuffle,
    Workload,
)
from optsched.placement import NONE
from optsched.problems.base import Parameter, TaskProblem, choice
from optsched.problems.distances import cluster_areas, cluster_distances, missing_topology
from optsched.problems.shuffle_sizes import SIZES, estimated_sizes, seen_sizes
from optsched.problems.transmission_costs import map_costs
from optsched.running.base import View

__all__ = ["SeenCosts", "held", "instance_held", "missing_distances", "missing_sizes", "sizes_parameter"]


def sizes_parameter(default: str) -> Parameter:
    """The parameter `sizes` of heuristics that look at the shuffle."""
    told = "MB of the shuffle: extrapolated by progress (Shen et al. 2016, (3)), emitted so far, or actual (a guess)"
    return Parameter("sizes", default, choice(default, *(way for way in SIZES if way != default)), told)


def missing_distances(problem: TaskProblem[Any]) -> Sequence[Fault]:
    """What distances of nodes lack."""
    return () if problem.instance.cluster.topology is not None else (missing_topology("the distance of nodes"),)


def missing_sizes(problem: TaskProblem[Any]) -> Sequence[Fault]:
    """What distances and extrapolation lack, the latter where the problem places reduces."""
    if faults := missing_distances(problem):
        return faults
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
    """Costs of waiting tasks on nodes. They live as long as a view, and follow maps as they start, finish and return.

    Of maps no table is kept where distances are nested areas, and they and sizes are whole (`AreaCosts`). Else there is
    an entry for each map and node, for doubles sum in one order only.

    Parameters
    ----------
    sizes
        As for `optsched.problems.shuffle_sizes.estimated_sizes`.
    """

    def __init__(self, sizes: str = "extrapolated") -> None:
        self._sizes = sizes
        self._workload: Workload | None = None
        self._row: Ints = np.zeros(0, dtype=np.int64)

    def of(self, tasks: Ints, kind: str, view: View) -> Floats:
        """C_ij of each task (row) on each node (column). The tasks are of one kind and wait."""
        self._read(view, tasks)
        costs = self._of_maps(view) if kind == KINDS[MAP] else self._of_reduces(view)
        rows: Floats = costs[self._row[tasks]]
        return rows

    def here(self, tasks: Ints, kind: str, node: int, view: View) -> Floats:
        """C_ij of each task on one node. The tasks are of one kind and wait."""
        if kind != KINDS[MAP]:
            return self.of(tasks, kind, view)[:, node]
        self._read(view, tasks)
        areas = self._by_areas(view)
        return self.of(tasks, kind, view)[:, node] if areas is None else areas.on(self._row[tasks], node)

    def averages(self, tasks: Ints, kind: str, nodes: Bools, view: View) -> Floats:
        """Cave of each task: the mean of C_ij over some nodes, of a map over those with a free slot."""
        self._read(view, tasks)
        if kind == KINDS[MAP] and (areas := self._by_areas(view)) is not None:
            return areas.means(self._row[tasks], nodes)
        among = self.of(tasks, kind, view)[:, nodes]
        # A mean of doubles may come out a little below the least of them, and `p_min` would then miss its limit.
        averages: Floats = np.maximum(among.mean(axis=1), among.min(axis=1))
        return averages

    def held(self, tasks: Ints, view: View) -> Floats:
        """MB that each node (column) holds for each reduce (row)."""
        self._read(view, tasks)
        self._follow_maps(view)
        rows: Floats = self._held[self._row[tasks]]
        return rows

    def _read(self, view: View, tasks: Ints) -> None:
        """Start afresh where the view is new, or a task waits again that did not when it was."""
        if view.workload is self._workload and self._row[tasks].min(initial=0) != NONE:
            return
        self._workload = view.workload
        self._map_costs: Floats | None = None
        self._reduce_costs: Floats | None = None
        self._row = np.full(len(view.workload), NONE)
        self._maps, self._reduces = view.pending_of("map"), view.pending_of("reduce")
        for tasks in (self._maps, self._reduces):
            self._row[tasks] = np.arange(len(tasks))
        self._areas: AreaCosts | None = None
        self._asked = False
        self._shuffle = view.true_shuffle if self._sizes == "actual" else view.shuffle
        self._senders = np.unique(self._shuffle.map) if self._shuffle is not None else np.zeros(0, dtype=np.int64)
        self._ran: Ints | None = None
        self._finished: Bools | None = None
        self._progress = -1

    def _of_maps(self, view: View) -> Floats:
        if self._map_costs is None:
            size, replicas = view.workload.size[self._maps], view.workload.replicas.take(self._maps)
            self._map_costs = map_costs(size, replicas, cluster_distances(view.cluster))
        return self._map_costs

    def _by_areas(self, view: View) -> AreaCosts | None:
        """The costs of maps where distances are nested areas and no sum is rounded."""
        if not self._asked:
            self._asked, nested = True, cluster_areas(view.cluster)
            sizes = view.workload.size[self._maps]
            if nested is not None and AreaCosts.exact(nested, sizes):
                self._areas = AreaCosts(nested, sizes, view.workload.replicas.take(self._maps))
        return self._areas

    def _of_reduces(self, view: View) -> Floats:
        self._follow_maps(view)
        if self._reduce_costs is None:
            self._reduce_costs = self._held @ cluster_distances(view.cluster)
        return self._reduce_costs

    def _follow_maps(self, view: View) -> None:
        """Compute what nodes hold again where maps that send something are elsewhere, read on or finished since."""
        ran, finished = view.node[self._senders], view.status[self._senders] == FINISHED
        progress = int(view.progress)
        known = self._finished is not None and np.array_equal(finished, self._finished)
        known = known and progress == self._progress
        if known and self._ran is not None and np.array_equal(ran, self._ran):
            return
        self._ran, self._finished, self._progress, self._reduce_costs = ran, finished, progress, None
        if self._shuffle is None:
            self._held = np.zeros((len(self._reduces), len(view.cluster)))
            return
        if not known:
            told = view.emitted, view.status, view.bytes_read
            self._entries = seen_sizes(view.workload, self._shuffle, *told, self._sizes)
        self._held = held(self._shuffle, self._entries, view.node, self._reduces, len(view.cluster))


def instance_held(instance: Instance, node: Ints, reduces: Ints, sizes: str) -> Floats:
    """As `held`, for a whole instance with a shuffle, with sizes estimated in one of the ways."""
    shuffle = instance.workload.shuffle
    assert shuffle is not None
    return held(shuffle, estimated_sizes(instance, sizes), node, reduces, len(instance.cluster))
