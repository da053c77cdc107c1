"""How long tasks take on nodes: whole microseconds, for the problems that decide schedules.

There are two kinds of times. Times by level (`level_times`): a task takes one time on the nodes with its data, another
in areas around these (racks, or below a switch), and one beyond. Or tasks compute, and fetch data over the distances of
the cluster (`transfer_times`; Shen et al. 2016, II-B): a map takes its computing and, per MB, the distance to the
nearest replica of its block. If nodes are unevenly far apart, it has its own time on each node that is nearer than the
farthest. Users of times need not know the kind. What a reduce copies depends on where the maps of its job ran:
`optsched.heuristics.simulating.services` computes that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from optsched.core.arrays import Bools, Floats, Ints, Ragged
from optsched.core.decimals import decimal, for_each
from optsched.core.errors import Fault
from optsched.core.instance import LARGEST, MAP, Instance
from optsched.core.placement import MICRO, microseconds
from optsched.core.processes.limits import refuse_beyond
from optsched.problems.distances import NestedAreas, Places, cluster_places, nested_areas

#: How near a task's data is: on the node, in its rack, beyond it.
LEVELS = ("node", "rack", "off_rack")

#: Later than any time.
NEVER = 2**60


@dataclass(frozen=True, eq=False)
class Level:
    """Areas of nodes, and the times of tasks in areas near their data.

    Attributes
    ----------
    name, area
        What an area is: "node", "rack", or a name that only distinguishes levels; the area of each node, -1 for none.
    areas, times
        The areas of each task, and microseconds in each of them (int64, shape (areas of all tasks,)).
    """

    name: str
    area: Ints
    areas: Ragged
    times: Ints

    def of_tasks(self, positions: Ints) -> tuple[Ragged, Ints]:
        """`areas` and `times` of only some tasks."""
        return self.areas.take(positions), Ragged(self.areas.starts, self.times).take(positions).values

    def of(self, position: int) -> list[tuple[int, int]]:
        """The areas of a task, each with its time."""
        row = slice(*self.areas.starts[position : position + 2].tolist())
        return list(zip(self.areas.values[row].tolist(), self.times[row].tolist(), strict=True))

    def cheapest(self, offers: Ints, most: int = NEVER) -> Ints:
        """The least product of time and offer over the areas of each task; shape (tasks,), 2^60 if there is none.

        A node's offer is its price, or 2^60 if it must not be used. No task may take longer than `most`.
        """
        least = np.full(int(self.area.max(initial=-1)) + 2, NEVER, dtype=np.int64)  # the last entry: no area
        np.minimum.at(least, self.area, offers)
        least[-1] = NEVER
        price = least[self.areas.values]
        products = np.full(len(price), NEVER, dtype=np.int64)
        there = (price < NEVER) & (self.times <= most)
        products[there] = price[there] * self.times[there]
        found, filled = np.full(len(self.areas), NEVER, dtype=np.int64), np.flatnonzero(self.areas.lengths)
        if len(filled):
            found[filled] = np.minimum.reduceat(products, self.areas.starts[:-1][filled])
        return found


class ServiceTimes:
    """The microseconds of each of some tasks on each node.

    Parameters
    ----------
    replicas
        For each task the nodes from which it reads.
    areas, names
        For each level the area of each node (int64, shape (nodes,), -1 for none), and the names of its areas. At the
        first level each node is its own area; at the last one all nodes are area 0.
    by_level
        int64, shape (tasks, levels): microseconds at each level, the nearest first; if nodes of the first level differ,
        the least there.
    """

    def __init__(self, replicas: Ragged, areas: Sequence[Ints], names: Sequence[str], by_level: Ints) -> None:
        self.replicas, self.areas, self._names = replicas, tuple(areas), tuple(names)
        by_level.setflags(write=False)
        self.by_level = by_level

    def __len__(self) -> int:
        return len(self.replicas)

    def on(self, positions: Ints, nodes: Ints) -> Ints:
        """Microseconds of the tasks at `positions` on `nodes`."""
        rows = self.replicas.take(positions)
        own, at = rows.row_of, rows.values
        level = np.full(len(positions), len(self.areas) - 1, dtype=np.int64)
        for number in range(len(self.areas) - 2, -1, -1):
            area = self.areas[number]
            level[own[(area[at] >= 0) & (area[at] == area[nodes[own]])]] = number
        found: Ints = self.by_level[positions, level]
        return found

    def row(self, position: int) -> Ints:
        """Microseconds of a task on each node; shape (nodes,)."""
        nodes = np.arange(len(self.areas[0]))
        return self.on(np.full(len(nodes), position), nodes)

    def alike(self, position: int) -> tuple[int, ...]:
        """Numbers that determine a task's times: tasks with the same ones take the same time on each node."""
        return (*self.by_level[position].tolist(), *self.replicas[position].tolist())

    def homes(self, position: int) -> list[int]:
        """The nodes nearest to a task's data, on which it takes the time of the first level."""
        nodes: list[int] = self.replicas[position].tolist()
        return nodes

    @cached_property
    def near(self) -> tuple[Level, ...]:
        """The levels, the nearest first: on a node a task takes the time of the first level with a common area.

        At the last level every task has area 0, which contains all nodes.
        """
        tasks = np.ones(len(self), dtype=np.int64)
        everywhere = Ragged.of_lengths(tasks, np.zeros_like(tasks))
        return (*self._nearer(), Level(self._names[-1], self.areas[-1], everywhere, self.by_level[:, -1]))

    def _nearer(self) -> Iterator[Level]:
        """All levels but the last."""
        tasks, nodes = self.replicas.row_of, self.replicas.values
        for number, area in enumerate(self.areas[:-1]):
            held = self.replicas
            if number:
                within = area[nodes] >= 0
                width = int(area.max(initial=0)) + 1
                row, inside = np.divmod(np.unique(tasks[within] * width + area[nodes[within]]), width)
                held = Ragged.of_lengths(np.bincount(row, minlength=len(self)), inside)
            yield Level(self._names[number], area, held, self.by_level[held.row_of, number])

    @property
    def longest(self) -> Ints:
        """The longest time of each task; shape (tasks,)."""
        found: Ints = self.by_level.max(axis=1, initial=0)
        return found

    @property
    def distinct(self) -> Ints:
        """The distinct times of all tasks at all levels, increasing."""
        return np.unique(self.by_level)

    def cheapest(self, prices: Ints, usable: Bools, most: int = NEVER) -> Ints:
        """The least product of time and price over the usable nodes, for each task; shape (tasks,), 2^60 if there is
        none.

        It is too low, and so still a bound, if a task takes longer near its data than far from it. Prices are 0 or
        more; no product may exceed 2^60. No task may take longer than `most`.
        """
        offers = np.where(usable, prices, NEVER)
        found = np.full(len(self), NEVER, dtype=np.int64)
        for level in self.near:
            found = np.minimum(found, level.cheapest(offers, most))
        return found

    def near_and_far(self, usable: Bools) -> tuple[Ints, Ints]:
        """The least time of each task on usable nodes with its data, and on others; shape (tasks,), 2^60 for none.

        The second may be too low, and so still a bound: an area counts as usable if one of its nodes is. The single
        node of a cluster also counts there, as all tasks run on it.
        """
        offers, nodes = np.where(usable, 1, NEVER), len(usable)
        own, at = self.replicas.row_of, self.replicas.values
        node = self.near[0]
        elsewhere = ~np.isin(node.areas.row_of * nodes + node.areas.values, own * nodes + at)
        others = Level(node.name, node.area, node.areas.kept(elsewhere), node.times[elsewhere])
        far = others.cheapest(offers)
        for level in self.near[1:] or self.near:
            far = np.minimum(far, level.cheapest(offers))
        return Level(node.name, node.area, self.replicas, self.on(own, at)).cheapest(offers), far


def level_times(instance: Instance, tasks: Ints, factors: Sequence[float]) -> ServiceTimes:
    """Times by locality; each task must have `times` or a `duration`.

    A task's `times` are given by level. A `duration` instead is multiplied by the factor of the level: on a node with
    the data, in its rack, and beyond it. A task without replicas takes its off-rack time of `times`, or its unchanged
    duration: it reads nothing remotely.

    >>> from optsched.core.instance import Cluster, Workload
    >>> workload = Workload(["t"], duration=[10], replicas=Ragged.from_rows([[0]]))
    >>> instance = Instance(Cluster(["a", "b"], rack=[0, 0], rack_ids=["r"]), workload)
    >>> level_times(instance, np.array([0]), (1, 1.5, 2)).row(0).tolist()
    [10000000, 15000000]
    """
    replicas, cluster = instance.replicas.take(tasks), instance.cluster
    duration, times = instance.workload.duration[tasks], instance.workload.times[tasks]
    given = ~np.isnan(times).any(axis=1)
    by_level: Ints = np.empty((len(tasks), len(LEVELS)), dtype=np.int64)
    by_level[given] = microseconds(times[given])
    nowhere = replicas.lengths == 0
    for level, factor in enumerate(factors):
        by = decimal(factor) * MICRO
        for rows, unit in ((~given & ~nowhere, by), (~given & nowhere, Fraction(MICRO))):
            by_level[rows, level] = _rounded(duration[rows], unit)
    by_level[nowhere] = by_level[nowhere, -1:]
    everywhere = np.zeros(len(cluster), dtype=np.int64)
    return ServiceTimes(replicas, (np.arange(len(cluster)), cluster.rack, everywhere), LEVELS, by_level)


def _rounded(values: Floats, unit: Fraction) -> Ints:
    """Each value in units, as a decimal."""
    return for_each(values, lambda value: round(value * unit))


def untimed(instance: Instance, tasks: Ints) -> Iterator[Fault]:
    """The tasks whose time is unknown, one fault each."""
    workload = instance.workload
    unknown = np.isnan(workload.duration[tasks]) & np.isnan(workload.times[tasks]).any(axis=1)
    for task in tasks[unknown].tolist():
        yield Fault(
            f"tasks[{task}].times",
            "say how long it takes: times (node, rack, off_rack), or a duration; or give the service duration=S",
        )


#: Tasks times nodes that are examined at once.
_BLOCK = 2**22

#: Bytes for each pair of a task and a node with uneven distances, during construction.
_PAIR = 70


def moved(size: Floats, away: Floats, scale: float) -> Ints:
    """Whole microseconds to move sizes in MB over a distance, each rounded once; values past 2^54 become 2^54.

    `scale` is the seconds per MB over a distance of 1.

    >>> moved(np.array([128.0, 1.0]), np.array([2.0, 0.5]), 0.004).tolist()
    [1024000, 2000]
    """
    found: Ints = np.rint(np.minimum(size * away * scale * MICRO, 2 * LARGEST)).astype(np.int64)
    return found


def computing(instance: Instance) -> Floats:
    """The computing time of each task, in seconds; NaN if unknown.

    It is its `duration`, or else its `times` on a node with its data, which is assumed to be only computing.
    """
    workload = instance.workload
    return np.where(np.isnan(workload.duration), workload.times[:, 0], workload.duration)


def missing_times(instance: Instance, tasks: Ints) -> Iterator[Fault]:
    """The faults of tasks that lack what `transfer_times` needs, one each; the topology is not checked."""
    workload = instance.workload
    for task in tasks[np.isnan(computing(instance)[tasks])].tolist():
        yield Fault(f"tasks[{task}].duration", "say for how many seconds it computes")
    reads = (workload.kind[tasks] == MAP) & (instance.replicas.lengths[tasks] > 0)
    for task in tasks[reads & np.isnan(workload.size[tasks])].tolist():
        yield Fault(f"tasks[{task}].size", "say how many MB it reads from its replicas")


class Apart:
    """The distances between nodes of an instance, as `nested` areas if possible, else by their `places`.

    Errors are as for `optsched.problems.distances.distances`.
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

    A map without replicas fetches nothing, and neither does a reduce. Missing data counts as 0: see `missing_times`.
    The instance has a topology; if that has nested areas, no pair of task and node is stored. `scale` is as for
    `moved`; errors are as for `Apart`.

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
    """The names of the levels' areas; those of the last level are all the same."""
    return ["node", *(f"area{number}" for number in range(1, levels - 1)), "anywhere"][-levels:]


class _Uneven(ServiceTimes):
    """Times with arbitrary distances: each task has a time on each node that is nearer than the farthest."""

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

    def alike(self, position: int) -> tuple[int, ...]:
        return tuple(self.row(position).tolist())

    def homes(self, position: int) -> list[int]:
        nodes = self.near[0].of(position)
        least = int(self.by_level[position, 0])
        return [node for node, time in nodes if time == least]

    def _blocks(self) -> Iterator[tuple[Ints, Ints]]:
        """The tasks that read, a few at a time, and their times on all nodes; shape (some, nodes)."""
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
