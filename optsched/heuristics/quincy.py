"""`quincy`: maps placed at once by a minimum-cost flow through nodes, racks and the whole cluster.

Quincy is by Isard et al., SOSP 2009. Three parts of it are not here: its fairness constraints, running tasks that are
killed, and tasks that it leaves unscheduled at a price. Each snapshot is filled.
Nothing is drawn at random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.core.instance import KINDS, MAP, Ints
from optsched.core.placement import NONE, Placement
from optsched.heuristics.fair import positions_of, with_reduces
from optsched.heuristics.running.base import Heuristic
from optsched.problems.base import Parameter, number, on_grid
from optsched.problems.counted_places import TaskClasses
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.searches.program_network import cheapest_flow

__all__ = ["HEURISTICS", "quincy"]


def quincy(
    problem: TransmissionMaps | Transmission, rng: np.random.Generator, *, rack: float = 1, off_rack: float = 2
) -> Placement:
    """Least MB to be moved through rack and core switches, by a minimum-cost flow over the maps.

    A map with a block of B MB has arcs to the nodes of its replicas at no cost, to their racks at `rack` B, and to the
    cluster at `off_rack` B. From the cluster flow goes on to racks, and from racks to nodes, whose idle slots limit it.
    So Quincy knows locality in three levels, and no distance. Maps of the same size and replicas are one vertex.

    Reduces go where `fifo` puts them: as Shen et al. describe Quincy, it does not weigh their input ("the cost of map
    task assignment").

    Parameters
    ----------
    problem
        `transmission-maps` or `transmission`.
    rack, off_rack
        Cost of an MB that crosses a rack's switch, and of one that crosses racks. They are assumed; Shen et al. give
        none.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came while HiGHS ran.
    OptschedError
        If HiGHS gave up (memory).
    """
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    maps = positions_of(problem, MAP)
    nodes[maps] = _Flow(problem, maps, (0.0, rack, off_rack)).placed()
    return with_reduces(problem, nodes)


class _Arcs(NamedTuple):
    """Arcs of one sort."""

    tail: Ints
    head: Ints
    capacity: Ints
    cost: Ints


class _Flow:
    """Quincy's network over the maps at `positions`. An MB costs `levels` on its node, in its rack, and beyond."""

    def __init__(
        self, problem: TransmissionMaps | Transmission, positions: Ints, levels: tuple[float, float, float]
    ) -> None:
        capacity = problem.offered[KINDS[MAP]]
        rack = problem.instance.cluster.rack
        sizes = problem.instance.workload.size[problem.tasks[positions]]
        self.count = min(len(positions), int(capacity.sum()))
        replicas = [tuple(sorted(problem.replicas[position].tolist())) for position in positions.tolist()]
        self.classes = TaskClasses.from_keys(list(zip(sizes.tolist(), replicas, strict=True)))
        self.hosts = np.flatnonzero(capacity > 0)
        racks = np.unique(rack[self.hosts][rack[self.hosts] >= 0])
        # Vertices: source, classes, the cluster, racks, nodes with idle slots, sink.
        self._class, self._cluster = 1, 1 + len(self.classes.first)
        self._rack = self._cluster + 1
        self._host = self._rack + len(racks)
        self._sink = self._host + len(self.hosts)
        host_of = np.full(len(capacity), NONE)
        host_of[self.hosts] = self._host + np.arange(len(self.hosts))
        rack_of = np.full(len(problem.instance.cluster.rack_ids) + 1, NONE)  # -1, no rack, picks the last entry
        rack_of[racks] = self._rack + np.arange(len(racks))
        above = np.where(rack[self.hosts] >= 0, rack_of[rack[self.hosts]], self._cluster)

        on_node, in_rack = [], []
        for number_of, first in enumerate(self.classes.first.tolist()):
            holders = np.array(replicas[first], dtype=np.int64)
            near = {int(vertex) for vertex in rack_of[rack[holders]] if vertex != NONE}
            on_node += [(self._class + number_of, int(host_of[node])) for node in holders if host_of[node] != NONE]
            in_rack += [(self._class + number_of, vertex) for vertex in sorted(near)]
        everywhere = [(self._class + number_of, self._cluster) for number_of in range(len(self.classes.first))]
        self.arcs = [_Arcs(*self._towards(self._class + np.arange(len(self.classes.size)), self.classes.size))]
        for ends, level in zip((on_node, in_rack, everywhere), levels, strict=True):
            tail, head = np.array(ends, dtype=np.int64).reshape(-1, 2).T
            cost = on_grid(level * sizes[self.classes.first[tail - self._class]])
            self.arcs.append(_Arcs(tail, head, np.full_like(tail, self.count), cost))
        room = np.array(
            [int(capacity[self.hosts][above == vertex].sum()) for vertex in self._rack + np.arange(len(racks))]
        )
        self.arcs.append(self._free(np.full(len(racks), self._cluster), self._rack + np.arange(len(racks)), room))
        self.arcs.append(self._free(above, host_of[self.hosts], capacity[self.hosts]))
        self.arcs.append(self._free(host_of[self.hosts], np.full_like(self.hosts, self._sink), capacity[self.hosts]))

    def _towards(self, vertices: Ints, capacity: Ints) -> _Arcs:
        return self._free(np.zeros_like(vertices), vertices, capacity)

    @staticmethod
    def _free(tail: Ints, head: Ints, capacity: Ints) -> _Arcs:
        most = np.asarray(capacity, dtype=np.int64)
        return _Arcs(np.asarray(tail, dtype=np.int64), np.asarray(head, dtype=np.int64), most, np.zeros_like(most))

    def placed(self) -> Ints:
        """Node or -1 of each map."""
        nodes = np.full(len(self.classes.of_task), NONE, dtype=np.int64)
        if not self.count:
            return nodes
        tail, head, capacity, cost = (np.concatenate(columns) for columns in zip(*self.arcs, strict=True))
        supply = np.zeros(self._sink + 1, dtype=np.int64)
        supply[0], supply[self._sink] = self.count, -self.count
        flow = cheapest_flow(tail, head, capacity, cost, supply, "quincy")
        return self._decoded(tail, head, flow, nodes)

    def _decoded(self, tail: Ints, head: Ints, flow: Ints, nodes: Ints) -> Ints:
        """Flow split into paths: what enters a vertex leaves it by the vertex's outgoing flows, in any order."""
        onwards: dict[int, list[int]] = {}
        for start, end, units in zip(tail.tolist(), head.tolist(), flow.tolist(), strict=True):
            if start and units:
                onwards.setdefault(start, []).extend([end] * units)
        for number_of, members in enumerate(self.classes.members):
            for task, vertex in zip(members.tolist(), onwards.get(self._class + number_of, []), strict=False):
                while vertex < self._host:
                    vertex = onwards[vertex].pop()
                nodes[task] = self.hosts[vertex - self._host]
        return nodes


HEURISTICS = (
    Heuristic(
        "quincy",
        "000",
        "Quincy (Isard et al. 2009)",
        ("transmission-maps", "transmission"),
        "maps by a minimum-cost flow of MB through nodes, racks and the cluster; reduces as in fifo",
        (
            Parameter("rack", 1, number(lowest=0), "cost of an MB within a rack (assumed)"),
            Parameter("off_rack", 2, number(lowest=0), "cost of an MB between racks (assumed)"),
        ),
        batch=quincy,
    ),
)
