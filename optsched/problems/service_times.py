"""How long tasks take on nodes: whole microseconds, for the problems that decide schedules.

Times are those of levels: a task takes one time on the nodes with its data, another in areas around these (racks, or
what lies below a switch), and one beyond. Where nodes are unevenly far apart, it has a time of its own on each node
that is nearer than the farthest (`optsched.problems.transfer_times`). Who uses times need not know which it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from optsched.core.arrays import Bools, Floats, Ints, Ragged
from optsched.core.decimals import decimal, for_each
from optsched.core.errors import Fault
from optsched.core.instance import Instance
from optsched.core.schedule import MICRO, microseconds

__all__ = ["LEVELS", "NEVER", "Level", "ServiceTimes", "level_times", "untimed"]

#: How near a task's data is: on the node, in its rack, beyond it.
LEVELS = ("node", "rack", "off_rack")

#: No time at all: more than any.
NEVER = 2**60


@dataclass(frozen=True, eq=False)
class Level:
    """Areas of nodes, and how long tasks take in those that are near their data.

    Attributes
    ----------
    name, area
        What an area is: "node", "rack", or a name that only tells it from other levels; the area of each node, -1 for
        none.
    areas, times
        The areas of each task, and microseconds in each of them (int64, shape (areas of all tasks,)).
    """

    name: str
    area: Ints
    areas: Ragged
    times: Ints

    def of_tasks(self, positions: Ints) -> tuple[Ragged, Ints]:
        """`areas` and `times` of some tasks alone."""
        return self.areas.take(positions), Ragged(self.areas.starts, self.times).take(positions).values

    def of(self, position: int) -> list[tuple[int, int]]:
        """The areas of a task, each with its time."""
        row = slice(*self.areas.starts[position : position + 2].tolist())
        return list(zip(self.areas.values[row].tolist(), self.times[row].tolist(), strict=True))

    def cheapest(self, offers: Ints, counted: Callable[[Ints], Ints] | None = None) -> Ints:
        """The least of time times offer over the areas of each task; shape (tasks,), 2^60 where there is none.

        The price of each node is its offer, 2^60 where it is not to be used; `counted` is as of
        `ServiceTimes.cheapest`.
        """
        least = np.full(int(self.area.max(initial=-1)) + 2, NEVER, dtype=np.int64)  # the last entry: no area
        np.minimum.at(least, self.area, offers)
        least[-1] = NEVER
        price, amounts = least[self.areas.values], self.times if counted is None else counted(self.times)
        products = np.full(len(price), NEVER, dtype=np.int64)
        there = (price < NEVER) & (amounts < NEVER)
        products[there] = price[there] * amounts[there]
        found, filled = np.full(len(self.areas), NEVER, dtype=np.int64), np.flatnonzero(self.areas.lengths)
        if len(filled):
            found[filled] = np.minimum.reduceat(products, self.areas.starts[:-1][filled])
        return found


class ServiceTimes:
    """The microseconds that each of some tasks takes on each node.

    Parameters
    ----------
    replicas
        For each task the nodes from which it reads.
    areas, names
        For each level the area of each node (int64, shape (nodes,), -1 for none), and what its areas are called. At the
        first level each node is its own; all nodes are area 0 of the last one.
    by_level
        int64, shape (tasks, levels): microseconds at each level, the nearest first; where nodes of the first level
        differ, the least there.

    Attributes
    ----------
    even
        Whether a task takes the same time on all nodes of an area, and so on all that are nearest by the same level.
    """

    even = True

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
        found = np.full(len(self.areas[0]), self.by_level[position, -1], dtype=np.int64)
        for number in range(len(self.areas) - 2, -1, -1):
            level = self.near[number]
            areas = level.areas[position]
            if len(areas):
                at = np.isin(level.area, areas) if number else areas
                found[at] = self.by_level[position, number]
        return found

    def alike(self, position: int) -> tuple[int, ...]:
        """Numbers that say all of how long a task takes: those with the same ones take the same time on each node."""
        return (*self.by_level[position].tolist(), *self.replicas[position].tolist())

    def homes(self, position: int) -> list[int]:
        """The nodes that are nearest to the data of a task, on which it takes the time of the first level."""
        nodes: list[int] = self.replicas[position].tolist()
        return nodes

    @cached_property
    def near(self) -> tuple[Level, ...]:
        """Where tasks take which time, the nearest first: on a node it is that of the first level with an area of both.

        At the last level every task has area 0, which all nodes are in.
        """
        return (*self._nearer(), self._anywhere())

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

    def _anywhere(self) -> Level:
        tasks = len(self)
        held = Ragged.of_lengths(np.ones(tasks, dtype=np.int64), np.zeros(tasks, dtype=np.int64))
        return Level(self._names[-1], self.areas[-1], held, self.by_level[:, -1])

    @property
    def longest(self) -> Ints:
        """The most that each task may take; shape (tasks,)."""
        found: Ints = self.by_level.max(axis=1, initial=0)
        return found

    @property
    def distinct(self) -> Ints:
        """The times of all tasks at all levels, each once, increasing."""
        return np.unique(self.by_level)

    def cheapest(self, prices: Ints, usable: Bools, counted: Callable[[Ints], Ints] | None = None) -> Ints:
        """The least of time times price over the usable nodes, for each task; shape (tasks,), 2^60 where there is none.

        It is too low, and so still a bound, where a task takes longer near its data than far from it. Prices are 0 or
        more; no product may be past 2^60. `counted` turns times into what counts in their place; 2^60 where a task must
        not run.
        """
        offers = np.where(usable, prices, NEVER)
        found = np.full(len(self), NEVER, dtype=np.int64)
        for level in self.near:
            found = np.minimum(found, level.cheapest(offers, counted))
        return found

    def near_and_far(self, usable: Bools) -> tuple[Ints, Ints]:
        """The least time of each task on usable nodes with its data, and on others; shape (tasks,), 2^60 for none.

        The second may be too low, and so still a bound: an area counts as usable where one of its nodes is. So does
        the only node of a cluster, where all tasks run.
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
    """Times by locality; each task has `times` or a `duration`.

    A task's `times` are given by level. Of a task that has a `duration` instead it is that times the factor of the
    level: on a node with the data, in its rack, and beyond it. A task without replicas takes `times` off the rack, or
    its duration as it is: it reads nothing remotely.

    Examples
    --------
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
    remote = replicas.lengths == 0
    for level, factor in enumerate(factors):
        by = decimal(factor) * MICRO
        for rows, unit in ((~given & ~remote, by), (~given & remote, Fraction(MICRO))):
            by_level[rows, level] = _rounded(duration[rows], unit)
    by_level[remote] = by_level[remote, -1:]
    everywhere = np.zeros(len(cluster), dtype=np.int64)
    return ServiceTimes(replicas, (np.arange(len(cluster)), cluster.rack, everywhere), LEVELS, by_level)


def _rounded(values: Floats, unit: Fraction) -> Ints:
    """Each value in units, as a decimal."""
    return for_each(values, lambda value: round(value * unit))


def untimed(instance: Instance, tasks: Ints) -> Iterator[Fault]:
    """The tasks whose time nobody knows, one fault each."""
    workload = instance.workload
    unknown = np.isnan(workload.duration[tasks]) & np.isnan(workload.times[tasks]).any(axis=1)
    for task in tasks[unknown].tolist():
        yield Fault(
            f"tasks[{task}].times",
            "say how long it takes: times (node, rack, off_rack), or a duration; or give the service duration=S",
        )
