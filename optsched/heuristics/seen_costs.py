"""Shen et al.'s costs (1) and (2) as a scheduler sees them: distances known, sizes of the shuffle estimated or not.

Problems judge by the true sizes, in exact units. These costs are doubles, for the decisions of policies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optsched.core.errors import Fault, MissingField
from optsched.core.instance import (
    FINISHED,
    KINDS,
    LARGEST,
    MAP,
    REDUCE,
    Bools,
    Cluster,
    Floats,
    Instance,
    Ints,
    Ragged,
    Shuffle,
    Workload,
)
from optsched.core.placement import NONE
from optsched.heuristics.running.base import View
from optsched.problems.base import TaskProblem
from optsched.problems.distances import NestedAreas, cluster_areas, cluster_places, missing_topology
from optsched.problems.parameters import Parameter, choice
from optsched.problems.transmission_costs import SIZES, estimated_sizes, map_costs, seen_sizes

# Costs of maps where distances are nested areas of nodes, without an entry for each map and node ----------------------


class AreaCosts:
    """Costs of maps on a node, and their means over the free nodes, which are counted by area as they fill up.

    `sizes` is the MB of each map's block. A block without replicas has the greatest distance from all nodes.

    >>> nested = NestedAreas(np.array([[0, 0, 1], [0, 0, 0]]), np.array([0.0, 2.0, 4.0]))
    >>> costs = AreaCosts(nested, np.array([10.0, 1.0]), Ragged.from_rows([[0], [2]]))
    >>> costs.on(np.array([0, 1]), 1).tolist()
    [20.0, 4.0]
    >>> costs.means(np.array([0, 1]), np.array([True, True, False])).tolist()
    [10.0, 4.0]
    """

    def __init__(self, nested: NestedAreas, sizes: Floats, replicas: Ragged) -> None:
        self._sizes, self._lengths = sizes, nested.lengths
        nodes = nested.areas.shape[1]
        #: The area of each node at each level: first the node itself, without the last level, which has a single area.
        self._levels: Ints = np.vstack([np.arange(nodes, dtype=np.int64), nested.areas])[:-1]
        #: The maps with a replica in each area, at each level.
        self._maps: list[Ragged] = []
        for area in self._levels:
            inside, row = np.divmod(np.unique(area[replicas.values] * len(sizes) + replicas.row_of), max(1, len(sizes)))
            starts = np.searchsorted(inside, np.arange(area.max(initial=0) + 2))
            self._maps.append(Ragged(starts.astype(np.int64), row))
        self._free: Bools = np.zeros(nodes, dtype=np.bool_)
        #: At each level, the number of free nodes in the areas of a map's replicas; room for the level of each map.
        self._near: Ints = np.zeros((len(self._levels), len(sizes)), dtype=np.int64)
        self._level: Ints = np.full(len(sizes), len(self._levels), dtype=np.int64)

    @staticmethod
    def exact(nested: NestedAreas, sizes: Floats) -> bool:
        """Whether sizes and distances are whole, and so small that doubles represent every sum of their products."""
        largest = float(sizes.max(initial=0.0)) * float(nested.lengths.max()) * nested.areas.shape[1]
        return largest < LARGEST and all(bool((part == np.floor(part)).all()) for part in (sizes, nested.lengths))

    def on(self, rows: Ints, node: int) -> Floats:
        """The cost of each of these maps on a node: O(maps near it + maps asked for)."""
        near = [maps[int(area)] for maps, area in zip(self._maps, self._levels[:, node], strict=True)]
        for level in reversed(range(len(near))):
            self._level[near[level]] = level
        costs: Floats = self._sizes[rows] * self._lengths[self._level[rows]]
        for maps in near:
            self._level[maps] = len(near)
        return costs

    def means(self, rows: Ints, free: Bools) -> Floats:
        """The mean cost of each of these maps over the free nodes; there must be one."""
        for node in np.flatnonzero(free != self._free).tolist():
            for level, area in enumerate(self._levels[:, node].tolist()):
                self._near[level, self._maps[level][area]] += 1 if free[node] else -1
        self._free = free.copy()
        count = int(np.count_nonzero(free))
        nearer = np.diff(self._lengths) @ self._near[:, rows]  # a node in a smaller area is nearer by this much
        means: Floats = self._sizes[rows] * (self._lengths[-1] * count - nearer) / count
        return means


#: Distances that are computed at once, so that memory use stays small.
_BLOCK = 2**22


def sizes_parameter(default: str) -> Parameter:
    """The parameter `sizes` of heuristics that use the shuffle."""
    text = "MB of the shuffle: extrapolated by progress (Shen et al. 2016, (3)), emitted so far, or actual (a guess)"
    return Parameter("sizes", default, choice(default, *(way for way in SIZES if way != default)), text)


def missing_distances(problem: TaskProblem[Any]) -> Sequence[Fault]:
    """The faults of an instance without distances of nodes."""
    return () if problem.instance.cluster.topology is not None else (missing_topology("the distance of nodes"),)


def missing_sizes(problem: TaskProblem[Any]) -> Sequence[Fault]:
    """The faults of missing distances and, if the problem places reduces, of missing data for extrapolation."""
    if faults := missing_distances(problem):
        return faults
    if REDUCE not in problem.kinds:
        return ()
    try:
        estimated_sizes(problem.instance)
    except MissingField as error:
        return error.faults
    return ()


def stored(row: Ints, node: Ints, sizes: Floats, rows: int, nodes: int) -> Floats:
    """W_pf of (2): MB that each node holds for each reduce, shape (rows, nodes).

    Each entry of the shuffle has the `row` of its reduce (-1: not wanted), the `node` on which its map runs or ran (-1:
    there is no output yet), and MB.
    """
    counted = np.flatnonzero((row != NONE) & (node != NONE))
    cell = row[counted] * nodes + node[counted]
    amounts: Floats = np.bincount(cell, sizes[counted], rows * nodes).astype(np.float64, copy=False)
    return amounts.reshape(rows, nodes)


class SeenCosts:
    """Costs of waiting tasks on nodes. They live as long as a view, and follow maps as they start, finish and return.

    For maps no table is kept if distances are nested areas, and whole like the sizes (`AreaCosts`). Else there is an
    entry for each map and node, since doubles are summed in only one order. A reduce's cost is computed on demand, from
    what maps send to it, and again only once a map has started, ended, returned or read on.

    `cluster` has the distances that are known. `sizes` are as for
    `optsched.problems.transmission_costs.estimated_sizes`.
    """

    def __init__(self, cluster: Cluster, sizes: str = "extrapolated") -> None:
        self._cluster, self._sizes = cluster, sizes
        self._workload: Workload | None = None
        self._row: Ints = np.zeros(0, dtype=np.int64)

    def _read(self, view: View, tasks: Ints) -> None:
        """Start afresh if the view is new, or a task waits again that did not when it was."""
        if view.workload is self._workload and self._row[tasks].min(initial=0) != NONE:
            return
        self._workload = view.workload
        self._map_costs: Floats | None = None
        self._row = np.full(len(view.workload), NONE)
        self._maps, self._reduces = view.pending_of("map"), view.pending_of("reduce")
        for tasks in (self._maps, self._reduces):
            self._row[tasks] = np.arange(len(tasks))
        self._areas: AreaCosts | None = None
        self._asked = False
        self._shuffle = view.true_shuffle if self._sizes == "actual" else view.shuffle
        #: For each reduce, what nodes hold for it, and its cost there.
        self._stored, self._reduce_costs = (_Rows(len(self._reduces), len(view.cluster)) for _ in range(2))
        self._entries: _Entries | None = None
        sends = np.zeros(0, dtype=np.int64) if self._shuffle is None else self._shuffle.map
        self._senders = np.flatnonzero(np.bincount(sends))
        #: The node, state and reading progress of maps that send something, when rows were computed.
        self._seen: tuple[Ints, ...] = ()
        self._progress = -1

    def of(self, tasks: Ints, kind: str, view: View) -> Floats:
        """C_ij of each task (row) on each node (column). The tasks must be of one kind and wait."""
        self._read(view, tasks)
        if kind == KINDS[MAP]:
            if self._map_costs is None:
                size, replicas = view.workload.size[self._maps], view.workload.replicas.take(self._maps)
                self._map_costs = map_costs(size, replicas, cluster_places(self._cluster))
            costs: Floats = self._map_costs[self._row[tasks]]
            return costs
        self._follow_maps(view)
        return self._reduce_costs.at(self._row[tasks], lambda rows: self._find_costs(rows, view))

    def here(self, tasks: Ints, kind: str, node: int, view: View) -> Floats:
        """C_ij of each task on one node. The tasks must be of one kind and wait."""
        if kind != KINDS[MAP]:
            return self.of(tasks, kind, view)[:, node]
        self._read(view, tasks)
        areas = self._by_areas(view)
        return self.of(tasks, kind, view)[:, node] if areas is None else areas.on(self._row[tasks], node)

    def averages(self, tasks: Ints, kind: str, nodes: Bools, view: View) -> Floats:
        """Cave of each task: the mean of C_ij over some nodes; for a map over those with a free slot."""
        self._read(view, tasks)
        if kind == KINDS[MAP] and (areas := self._by_areas(view)) is not None:
            return areas.means(self._row[tasks], nodes)
        among = self.of(tasks, kind, view)[:, nodes]
        # A mean of doubles may be a little below the least of them, and `p_min` would then miss its limit.
        averages: Floats = np.maximum(among.mean(axis=1), among.min(axis=1))
        return averages

    def stored(self, tasks: Ints, view: View) -> Floats:
        """MB that each node (column) holds for each reduce (row)."""
        self._read(view, tasks)
        self._follow_maps(view)
        return self._stored.at(self._row[tasks], lambda rows: self._find_stored(rows, view))

    def _by_areas(self, view: View) -> AreaCosts | None:
        """The costs of maps if distances are nested areas and no sum is rounded."""
        if not self._asked:
            self._asked, nested = True, cluster_areas(self._cluster)
            sizes = view.workload.size[self._maps]
            if nested is not None and AreaCosts.exact(nested, sizes):
                self._areas = AreaCosts(nested, sizes, view.workload.replicas.take(self._maps))
        return self._areas

    def _find_costs(self, rows: Ints, view: View) -> Floats:
        """The costs of the reduces of some rows on each node."""
        amounts = self.stored(self._reduces[rows], view)
        holds = np.flatnonzero(amounts.any(axis=0))
        amounts, places = np.ascontiguousarray(amounts[:, holds]), cluster_places(self._cluster)
        costs: Floats = np.empty((len(rows), len(view.cluster)))
        parts = 1 + len(holds) * len(view.cluster) // _BLOCK
        for columns in np.array_split(np.arange(len(view.cluster)), parts):
            # Unlike a product by BLAS it sums each row in the same order, so that identical reduces cost the same.
            costs[:, columns] = np.einsum("fp,pi->fi", amounts, places.rows(holds, columns))
        return costs

    def _follow_maps(self, view: View) -> None:
        """Forget contents of nodes and costs of reduces if maps have moved, read on or finished since."""
        now = view.node[self._senders], view.status[self._senders]
        progress = int(view.progress)
        if progress == self._progress and all(map(np.array_equal, now, self._seen)):
            return
        self._seen, self._progress = now, progress
        self._stored.forget()
        self._reduce_costs.forget()

    def _find_stored(self, rows: Ints, view: View) -> Floats:
        """MB that each node holds for the reduces of some rows."""
        nodes = len(view.cluster)
        if self._shuffle is None:
            return np.zeros((len(rows), nodes))
        if self._entries is None:
            self._entries = _Entries(self._shuffle, self._reduces, len(view.workload))
        return self._entries.stored(rows, self._sizes, view)


class _Rows:
    """Rows of numbers that are computed on demand, and kept until they are forgotten.

    >>> rows = _Rows(3, 2)
    >>> rows.at(np.array([2, 0]), lambda rows: np.stack((rows, 10 * rows), axis=1)).tolist()
    [[2.0, 20.0], [0.0, 0.0]]
    """

    def __init__(self, rows: int, columns: int) -> None:
        self._values, self._known = np.zeros((rows, columns)), np.zeros(rows, dtype=np.bool_)

    def at(self, rows: Ints, find: Callable[[Ints], Floats]) -> Floats:
        """Some rows; `find` computes unknown ones."""
        unknown = rows[~self._known[rows]]
        if len(unknown):
            self._values[unknown] = find(unknown)
            self._known[unknown] = True
        found: Floats = self._values[rows]
        return found

    def forget(self) -> None:
        """Forget all rows."""
        self._known[:] = False


class _Entries:
    """The entries of a shuffle as the policy sees it, by waiting `reduces`, and the data for their sizes."""

    def __init__(self, shuffle: Shuffle, reduces: Ints, tasks: int) -> None:
        self._shuffle, self._reduces = shuffle, reduces
        self._of_reduce = Ragged.of_lengths(
            np.bincount(shuffle.reduce, minlength=tasks), np.argsort(shuffle.reduce, kind="stable")
        ).take(reduces)
        self._fan_out: Ints = np.bincount(shuffle.map, minlength=tasks)
        self._of_map: Ragged | None = None

    def stored(self, rows: Ints, sizes: str, view: View) -> Floats:
        """MB that each node holds for the reduces of some rows."""
        received = self._of_reduce.take(rows)
        entries, sender = received.values, self._shuffle.map[received.values]
        # A map that is nowhere and has read nothing has no output, and nothing is learnt from it.
        there = np.flatnonzero(((view.node != NONE) | (view.bytes_read > 0))[sender])
        entries, sender, row = entries[there], sender[there], received.row_of[there]
        ends = sender, self._reduces[rows][row], self._shuffle.size[entries]
        emitted = view.emitted[entries]
        reporting = self._reporting(sender, emitted, ends[2], view) if sizes == "extrapolated" else None
        seen = view.workload, *ends, emitted, view.status, view.bytes_read, sizes
        return stored(row, view.node[sender], seen_sizes(*seen, self._fan_out, reporting), len(rows), len(view.cluster))

    def _reporting(self, sender: Ints, emitted: Floats, size: Floats, view: View) -> Bools:
        """Whether it is known for each task how much it sends to any reduce, if that matters."""
        reporting: Bools = np.zeros(len(view.status), dtype=np.bool_)
        reporting[sender[~np.isnan(np.where((view.status == FINISHED)[sender], size, emitted))]] = True
        reads = (view.bytes_read > 0) | (view.status == FINISHED)
        open_ones = np.flatnonzero(reads & ~reporting & (self._fan_out > 0) & (view.workload.job >= 0))
        jobs = np.zeros(len(view.workload.job_ids), dtype=np.bool_)
        jobs[view.workload.job[sender[view.workload.job[sender] >= 0]]] = True
        open_ones = open_ones[jobs[view.workload.job[open_ones]]]
        if len(open_ones):
            if self._of_map is None:
                lengths, order = self._fan_out, np.argsort(self._shuffle.map, kind="stable")
                self._of_map = Ragged.of_lengths(lengths, order)
            sent = self._of_map.take(open_ones)
            finished = (view.status[open_ones] == FINISHED)[sent.row_of]
            known = ~np.isnan(np.where(finished, self._shuffle.size[sent.values], view.emitted[sent.values]))
            reporting[open_ones] = sent.any_in_row(known)
        return reporting


def all_stored(instance: Instance, node: Ints, reduces: Ints, sizes: str) -> Floats:
    """MB that each node holds for each of `reduces` if tasks are on these nodes; sizes estimated in one of the ways.

    The instance must have a shuffle.
    """
    shuffle = instance.workload.shuffle
    assert shuffle is not None
    row = np.full(len(node), NONE)
    row[reduces] = np.arange(len(reduces))
    amounts = estimated_sizes(instance, sizes)
    return stored(row[shuffle.reduce], node[shuffle.map], amounts, len(reduces), len(instance.cluster))
