"""How long tasks take on nodes, by how near their data is: whole microseconds, for the problems that decide schedules.

A task has three times: on a node with its data, in the rack of such a node, and beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.decimals import decimal, for_each
from optsched.errors import Fault
from optsched.instance import Instance
from optsched.problems.assignment import minimum_by_row
from optsched.schedule import MICRO, microseconds

__all__ = ["LEVELS", "NEVER", "ServiceTimes", "untimed"]

#: How near a task's data is: on the node, in its rack, beyond it.
LEVELS = ("node", "rack", "off_rack")

#: No time at all: more than any.
NEVER = 2**60


class ServiceTimes:
    """The microseconds that each of some tasks takes on each node.

    A task's `times` are given by level. Of a task that has a `duration` instead it is that times the factor of the
    level. A task without replicas takes `times` off the rack, or its duration as it is: nothing is read from afar.

    Parameters
    ----------
    instance
        Has tasks and nodes.
    tasks
        int64: the tasks, each with `times` or a `duration`.
    factors
        What a duration is multiplied by on a node with the data, in its rack, and beyond it.

    Attributes
    ----------
    by_level
        int64, shape (tasks, 3): microseconds at each of `LEVELS`.
    """

    def __init__(self, instance: Instance, tasks: Ints, factors: tuple[float, ...]) -> None:
        self._cluster, self._replicas = instance.cluster, instance.replicas.take(tasks)
        duration, times = instance.workload.duration[tasks], instance.workload.times[tasks]
        given = ~np.isnan(times).any(axis=1)
        self.by_level: Ints = np.empty((len(tasks), len(LEVELS)), dtype=np.int64)
        self.by_level[given] = microseconds(times[given])
        remote = self._replicas.lengths == 0
        for level, factor in enumerate(factors):
            by = decimal(factor) * MICRO
            for rows, unit in ((~given & ~remote, by), (~given & remote, Fraction(MICRO))):
                self.by_level[rows, level] = _rounded(duration[rows], unit)
        self.by_level[remote] = self.by_level[remote, -1:]
        self.by_level.setflags(write=False)

    def levels(self, positions: Ints, nodes: Ints) -> Ints:
        """How near the data of the tasks at `positions` is on `nodes`: an index into `LEVELS` each."""
        rows = self._replicas.take(positions)
        own, at = rows.row_of, rows.values
        found = np.full(len(positions), len(LEVELS) - 1, dtype=np.int64)
        rack = self._cluster.rack
        found[own[(rack[at] >= 0) & (rack[at] == rack[nodes[own]])]] = 1
        found[own[at == nodes[own]]] = 0
        return found

    def on(self, positions: Ints, nodes: Ints) -> Ints:
        """Microseconds of the tasks at `positions` on `nodes`."""
        found: Ints = self.by_level[positions, self.levels(positions, nodes)]
        return found

    def cheapest(self, prices: Ints, usable: Bools, amounts: Ints | None = None) -> Ints:
        """The least of time times price over the usable nodes, for each task; shape (tasks,), 2^60 where there is none.

        It is too low, and so still a bound, where a task takes longer near its data than far from it.

        Parameters
        ----------
        prices
            int64, shape (nodes,), 0 or more; no product may be past 2^60.
        usable
            bool, shape (nodes,).
        amounts
            int64, shape (tasks, 3): what counts in place of the times; 2^60 at a level where a task must not run.
        """
        counted = self.by_level if amounts is None else amounts
        offers = np.where(usable, prices, NEVER)
        rack = self._cluster.rack
        by_rack = np.full(len(self._cluster.rack_ids) + 1, NEVER, dtype=np.int64)  # the last entry: without a rack
        np.minimum.at(by_rack, rack, offers)
        by_rack[-1] = NEVER
        least = (
            minimum_by_row(self._replicas, offers, NEVER),
            minimum_by_row(self._replicas, by_rack[rack], NEVER),
            np.full(len(self._replicas), offers.min(initial=NEVER), dtype=np.int64),
        )
        found = np.full(len(self._replicas), NEVER, dtype=np.int64)
        for level, price in enumerate(least):
            there = (price < NEVER) & (counted[:, level] < NEVER)
            found[there] = np.minimum(found[there], price[there] * counted[there, level])
        return found


def _rounded(values: Floats, unit: Fraction) -> Ints:
    """So many units for each, as decimals."""
    return for_each(values, lambda value: round(value * unit))


def untimed(instance: Instance, tasks: Ints) -> Iterator[Fault]:
    """The tasks whose time nobody knows, one fault each."""
    workload = instance.workload
    unknown = np.isnan(workload.duration[tasks]) & np.isnan(workload.times[tasks]).any(axis=1)
    for task in tasks[unknown].tolist():
        yield Fault(f"tasks[{task}].times", "say how long it takes: times (node, rack, off_rack), or a duration")
