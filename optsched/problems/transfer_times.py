"""Times of tasks that compute, and fetch data over the distances of a cluster (Shen et al. 2016, II-B).

A map takes its computing, and for each MB the distance to the nearest replica of its block. What a reduce copies
depends on where the maps of its job ran; `optsched.simulating.services` computes that, which takes maps
from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from optsched.core.arrays import Floats, Ints, Ragged
from optsched.core.errors import Fault
from optsched.core.instance import LARGEST, MAP, Instance
from optsched.core.schedule import MICRO, microseconds
from optsched.problems.distances import NestedAreas, Places, cluster_places, nested_areas
from optsched.problems.service_times import Level, ServiceTimes
from optsched.processes.memory import refuse_beyond

__all__ = ["Apart", "computing", "moved", "transfer_times", "missing_times"]

#: Tasks times nodes that are looked at at once.
_BLOCK = 2**22

#: Bytes for each pair of a task and a node of uneven distances, while they are put together.
_PAIR = 70


def moved(size: Floats, away: Floats, scale: float) -> Ints:
    """Whole microseconds that sizes in MB take over a distance, each rounded once; past 2^54 it is 2^54.

    Parameters
    ----------
    size, away
        float64, of one shape: MB, and the distance.
    scale
        Seconds that a MB takes over a distance of 1.

    Examples
    --------
    >>> moved(np.array([128.0, 1.0]), np.array([2.0, 0.5]), 0.004).tolist()
    [1024000, 2000]
    """
    found: Ints = np.rint(np.minimum(size * away * scale * MICRO, 2 * LARGEST)).astype(np.int64)
    return found


def computing(instance: Instance) -> Floats:
    """How long each task computes, in seconds; NaN where nobody knows.

    It is its `duration`, or else its `times` on a node with its data, which is assumed to be computing alone.
    """
    workload = instance.workload
    return np.where(np.isnan(workload.duration), workload.times[:, 0], workload.duration)


def missing_times(instance: Instance, tasks: Ints) -> Iterator[Fault]:
    """The faults of tasks that lack what `transfer_times` needs, one each; the topology is not looked at."""
    workload = instance.workload
    for task in tasks[np.isnan(computing(instance)[tasks])].tolist():
        yield Fault(f"tasks[{task}].duration", "say for how many seconds it computes")
    reads = (workload.kind[tasks] == MAP) & (instance.replicas.lengths[tasks] > 0)
    for task in tasks[reads & np.isnan(workload.size[tasks])].tolist():
        yield Fault(f"tasks[{task}].size", "say how many MB it reads from its replicas")


class Apart:
    """How far nodes of an instance are apart, as nested areas where they are such.

    Attributes
    ----------
    nested, places
        One of them is None.

    Raises
    ------
    MissingField, InputError
        As `optsched.problems.distances.distances`.
    """

    def __init__(self, instance: Instance) -> None:
        self.nested: NestedAreas | None = nested_areas(instance)
        self.places: Places | None = None
        if self.nested is None:
            self.places = cluster_places(instance.cluster, instance.name)

    def pairs(self, one: Ints, other: Ints) -> Floats:
        """The times from each node of `one` to that of `other`; float64, shape (pairs,)."""
        if self.nested is None:
            assert self.places is not None
            return self.places.pairs(one, other)
        found: Floats = self.nested.lengths[self.nested.level(one, other)]
        return found


def transfer_times(instance: Instance, tasks: Ints, scale: float) -> ServiceTimes:
    """Times of tasks that compute, and of maps that fetch their block from its nearest replica.

    A map without replicas fetches nothing, and neither does a reduce. What the instance does not tell counts as 0:
    see `missing_times`.

    Parameters
    ----------
    instance
        With a topology; where that gives areas within areas, no pair of task and node is written down.
    tasks
        int64.
    scale
        Seconds that a MB takes over a distance of 1.

    Raises
    ------
    MissingField, InputError
        As `optsched.problems.distances.distances`.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Topology, Workload
    >>> cluster = Cluster(["a", "b", "c"], topology=Topology("distance", [[0, 2, 5], [2, 0, 1], [5, 1, 0]]))
    >>> workload = Workload(["m"], size=[100], duration=[10], replicas=Ragged.from_rows([[0]]))
    >>> (transfer_times(Instance(cluster, workload), np.array([0]), 0.01).row(0) / MICRO).tolist()
    [10.0, 12.0, 15.0]
    """
    apart, workload = Apart(instance), instance.workload
    reads = (workload.kind[tasks] == MAP) & (instance.replicas.lengths[tasks] > 0)
    replicas = instance.replicas.take(tasks)
    replicas = replicas.kept(reads[replicas.row_of])
    size = np.where(reads, np.nan_to_num(workload.size[tasks]), 0.0)
    computes = microseconds(np.nan_to_num(computing(instance)[tasks]))
    if apart.nested is None:
        return _Uneven(instance.name, replicas, apart, size, computes, scale)
    nested = apart.nested
    lengths = np.broadcast_to(nested.lengths, (len(tasks), len(nested.lengths)))
    by_level = computes[:, None] + moved(size[:, None], lengths, scale)
    areas = (np.arange(len(instance.cluster), dtype=np.int64), *nested.areas)
    return ServiceTimes(replicas, areas, _names(len(areas)), by_level)


def _names(levels: int) -> list[str]:
    """The names of the levels' areas; those of the last one are all one."""
    return ["node", *(f"area{number}" for number in range(1, levels - 1)), "anywhere"][-levels:]


class _Uneven(ServiceTimes):
    """Times where nodes are at any distance: each task has a time on each node that is less far than the farthest."""

    even = False

    def __init__(self, name: str, replicas: Ragged, apart: Apart, size: Floats, computes: Ints, scale: float) -> None:
        assert apart.places is not None
        self._name, self.replicas, self._names = name, replicas, tuple(_names(2))
        self._places, self._size, self._computes, self._scale = apart.places, size, computes, scale
        nodes = len(apart.places.place)
        self.areas = (np.arange(nodes, dtype=np.int64), np.zeros(nodes, dtype=np.int64))

    def on(self, positions: Ints, nodes: Ints) -> Ints:
        rows = self.replicas.take(positions)
        reads = np.flatnonzero(rows.lengths)
        found: Ints = self._computes[positions]
        if len(reads):
            away = self._places.pairs(rows.values, nodes[rows.row_of])
            nearest = np.minimum.reduceat(away, rows.starts[:-1][reads])
            found[reads] += moved(self._size[positions[reads]], nearest, self._scale)
        return found

    def row(self, position: int) -> Ints:
        nodes = self.areas[0]
        return self.on(np.full(len(nodes), position), nodes)

    def alike(self, position: int) -> tuple[int, ...]:
        return tuple(self.row(position).tolist())

    def homes(self, position: int) -> list[int]:
        nodes = self.near[0].of(position)
        least = int(self.by_level[position, 0])
        return [node for node, time in nodes if time == least]

    def _blocks(self) -> Iterator[tuple[Ints, Ints]]:
        """The tasks that read, some at once, and their times on all nodes; shape (some, nodes)."""
        nodes, reads = self.areas[0], np.flatnonzero(self.replicas.lengths)
        step = max(1, _BLOCK // max(1, len(nodes)))
        for begin in range(0, len(reads), step):
            some = reads[begin : begin + step]
            away = self._places.nearest(self.replicas.take(some), nodes)
            yield some, self._computes[some, None] + moved(self._size[some, None], away, self._scale)

    @cached_property
    def by_level(self) -> Ints:  # type: ignore[override]  # computed when it is asked for
        found = np.repeat(self._computes[:, None], 2, axis=1)
        for some, times in self._blocks():
            found[some] = np.stack([times.min(axis=1), times.max(axis=1)], axis=1)
        found.setflags(write=False)
        return found

    def _nearer(self) -> Iterator[Level]:
        pairs = int(np.count_nonzero(self.replicas.lengths)) * len(self.areas[0])
        refuse_beyond(
            pairs * _PAIR,
            f"{self._name}: over uneven distances there would be times for {pairs:,} pairs of tasks and nodes",
            "take fewer tasks or nodes, or distances by racks, which need no pairs",
        )
        lengths, nodes, nearer = np.zeros(len(self), dtype=np.int64), [], []
        for some, times in self._blocks():
            row, node = np.nonzero(times < self.by_level[some, -1:])
            lengths[some] = np.bincount(row, minlength=len(some))
            nodes.append(node)
            nearer.append(times[row, node])
        empty = np.zeros(0, dtype=np.int64)
        held = Ragged.of_lengths(lengths, np.concatenate([empty, *nodes]))
        yield Level(self._names[0], self.areas[0], held, np.concatenate([empty, *nearer]))

    @property
    def distinct(self) -> Ints:
        return np.unique(np.append(self.by_level.ravel(), self.near[0].times))
