"""`quincy` and `sequential`: all maps are placed at once, and then the reduces.

Quincy is by Isard et al., SOSP 2009. Three parts are missing: its fairness constraints, running tasks that are killed,
and tasks that it leaves unscheduled at a price. Each snapshot is filled, and nothing is drawn at random.

Shen et al.'s scheduler approximates `sequential`: the best maps, then the best reduces for them. Both stages are exact.
It differs from the optimum of `transmission` only because they are not decided together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import starmap
from typing import Any

import numpy as np

from optsched.core.deadline import check
from optsched.core.errors import OptschedError, OutOfTime
from optsched.core.instance import KINDS, LARGEST, MAP, REDUCE, RUNNING, Floats, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Limit, Number
from optsched.heuristics.fair import positions_of, with_reduces
from optsched.heuristics.running.base import Heuristic
from optsched.heuristics.seen_costs import missing_sizes, sizes_parameter
from optsched.problems.base import Problem, on_grid
from optsched.problems.counted_places import TaskClasses
from optsched.problems.distances import distances
from optsched.problems.parameters import Parameter, choice, number
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_costs import estimated_sizes
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.assignment import optimal_placement
from optsched.solvers.searches.program_network import cheapest_flow
from optsched.solvers.searches.transmission_stages import by_arrays

# Quincy: a minimum-cost flow through nodes, racks and the whole cluster -----------------------------------------------


def quincy(
    problem: TransmissionMaps | Transmission, rng: np.random.Generator, *, rack: float = 1, off_rack: float = 2
) -> Placement:
    """Least MB to be moved through rack and core switches, by a minimum-cost flow over the maps.

    A map with a block of B MB has arcs to the nodes of its replicas at no cost, to their racks at `rack` B, and to the
    cluster at `off_rack` B. From the cluster flow goes on to racks, and from racks to nodes, whose idle slots limit it.
    So Quincy knows three levels of locality, and no distance. Maps of the same size and replicas are one vertex.

    Reduces go where `fifo` puts them: in Shen et al.'s description, Quincy does not weigh their input ("the cost of map
    task assignment"). The costs of a MB that crosses a rack's switch (`rack`), and of one that crosses racks
    (`off_rack`), are assumed; Shen et al. give none.

    KeyboardInterrupt if Ctrl-C came while HiGHS ran, OptschedError if HiGHS gave up (memory).
    """
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    maps = positions_of(problem, MAP)
    for task, node in _flow(problem, maps, (0.0, rack, off_rack)):
        nodes[maps[task]] = node
    return with_reduces(problem, nodes)


def _flow(
    problem: TransmissionMaps | Transmission, positions: Ints, levels: tuple[float, float, float]
) -> Iterator[tuple[int, int]]:
    """The maps at `positions` that Quincy's network places, and their nodes.

    `levels` is the cost of a MB on a node with it, in its rack, and beyond.
    """
    capacity, rack = problem.offered[KINDS[MAP]], problem.instance.cluster.rack
    count = min(len(positions), int(capacity.sum()))
    if not count:
        return
    sizes = problem.instance.workload.size[problem.tasks[positions]]
    replicas = [tuple(sorted(problem.replicas[position].tolist())) for position in positions.tolist()]
    classes = TaskClasses.from_keys(list(zip(sizes.tolist(), replicas, strict=True)))
    hosts = np.flatnonzero(capacity > 0)
    racks = np.unique(rack[hosts][rack[hosts] >= 0])
    # Vertices: the source is 0, class c is 1 + c; then the cluster, racks, nodes with idle slots, and the sink.
    class_at = 1 + np.arange(len(classes.first))
    cluster = 1 + len(class_at)
    rack_at = cluster + 1 + np.arange(len(racks))
    host_at = cluster + 1 + len(racks) + np.arange(len(hosts))
    sink = cluster + 1 + len(racks) + len(hosts)
    host_of = np.full(len(capacity), NONE)
    host_of[hosts] = host_at
    rack_of = np.full(len(problem.instance.cluster.rack_ids) + 1, NONE)  # -1, no rack, picks the last entry
    rack_of[racks] = rack_at
    above = np.where(rack[hosts] >= 0, rack_of[rack[hosts]], cluster)
    slots = capacity[hosts]
    room = np.array([int(slots[above == vertex].sum()) for vertex in rack_at], dtype=np.int64)

    on_node, in_rack = [], []
    for vertex, first in zip(class_at.tolist(), classes.first.tolist(), strict=True):
        holders = np.array(replicas[first], dtype=np.int64)
        on_node += [(vertex, int(host)) for host in host_of[holders] if host != NONE]
        in_rack += [(vertex, int(near)) for near in np.unique(rack_of[rack[holders]]) if near != NONE]
    everywhere = [(vertex, cluster) for vertex in class_at.tolist()]
    arcs: list[tuple[Any, ...]] = [(np.zeros_like(class_at), class_at, classes.size, 0)]
    for ends, level in zip((on_node, in_rack, everywhere), levels, strict=True):
        tail, head = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        arcs.append((tail, head, count, on_grid(level * sizes[classes.first[tail - 1]])))
    arcs.append((np.full(len(racks), cluster), rack_at, room, 0))
    arcs.append((above, host_at, slots, 0))
    arcs.append((host_at, np.full(len(hosts), sink), slots, 0))
    columns = zip(*starmap(np.broadcast_arrays, arcs), strict=True)
    tail, head, most, cost = (np.concatenate(column) for column in columns)
    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[0], supply[sink] = count, -count
    flow = cheapest_flow(tail, head, most, cost, supply, "quincy")
    # Split the flow into paths: what enters a vertex leaves it by the vertex's outgoing flows, in any order.
    onwards: dict[int, list[int]] = {}
    for start, end, units in zip(tail.tolist(), head.tolist(), flow.tolist(), strict=True):
        if start and units:
            onwards.setdefault(start, []).extend([end] * units)
    for start, members in zip(class_at.tolist(), classes.members, strict=True):
        for task, vertex in zip(members.tolist(), onwards.get(start, []), strict=False):
            while vertex < host_at[0]:
                vertex = onwards[vertex].pop()
            yield task, int(hosts[vertex - host_at[0]])


# The best maps first, then the best reduces for them ------------------------------------------------------------------

#: Ties are weighed if a single map costs at most this many units, since HiGHS works in doubles.
_FINEST = 2**40


def sequential(
    problem: TransmissionMaps | TransmissionReduces | Transmission,
    rng: np.random.Generator,
    *,
    ties: str = "second-stage",
    sizes: str = "actual",
    starts: int = 8,
) -> Placement:
    """Maps at least cost (1), as if there were no reduces; then reduces at least cost (2) given the maps.

    In `transmission-maps` and, with actual sizes, in `transmission-reduces` its gap is 0 by construction.

    Parameters
    ----------
    ties
        Maps may have many optimal placements; one may suit the reduces far better than another (Shen et al. 2016, note
        4). `first`: the engine's. `second-stage`: one that suits them. Reduces are placed best for the maps, then maps
        best for these reduces among all their optimal placements, in turn until nothing is gained. Finding the best one
        is as hard as `transmission`, so this is a local search over optimal placements, from several starts. It is
        never worse than `first`.
    sizes
        The sizes by which the reduces are placed; see `estimated_sizes`. The difference of the gaps with `extrapolated`
        and with `emitted` is the gain of one estimate over the other.
    starts
        Number of starts of `second-stage`: the first optimal placement of the maps, and random others.

    Raises
    ------
    KeyboardInterrupt, OptschedError, OutOfTime
        If Ctrl-C came while HiGHS ran, if HiGHS gave up (memory), and if a deadline had passed.

    References
    ----------
    Shen et al. 2016, note 4.
    """
    stages = _Stages(problem, sizes)
    best = stages.continued(stages.maps(None))
    if ties == "second-stage" and len(stages.map_tasks) and len(stages.reduce_tasks):
        best = stages.improved(best)
        for _ in range(starts - 1):
            if not best[1]:
                break
            found = stages.improved(stages.continued(stages.maps(stages.drawn(rng))))
            best = min(best, found, key=lambda placed: placed[1])
    return Placement(best[0])


class _Stages:
    """The two stages of a problem, each on its own instance. Placements here are nodes of all tasks."""

    def __init__(self, problem: Problem, sizes: str) -> None:
        instance = problem.instance
        self.map_tasks = problem.tasks[positions_of(problem, MAP)]
        self.reduce_tasks = problem.tasks[positions_of(problem, REDUCE)]
        self.distinct = problem.parameters.get("distinct", True)
        self.instance = instance
        #: The best reduces, and their cost, for each placement of the maps so far.
        self._continued: dict[bytes, tuple[Ints, Number]] = {}
        if len(self.reduce_tasks):
            shuffle = instance.workload.shuffle
            assert shuffle is not None  # the problem needs it
            seen = replace(shuffle, size=estimated_sizes(instance, sizes))
            self.instance = replace(instance, workload=replace(instance.workload, shuffle=seen), parameters={})
        if len(self.map_tasks):
            self.first = TransmissionMaps(self.instance)

    def maps(self, second: Floats | None) -> Ints:
        """An optimal placement of the maps; among those, one of least `second`: costs of shape (maps, nodes)."""
        nodes = np.full(len(self.instance.workload), NONE, dtype=np.int64)
        if len(self.map_tasks):
            posed = self.first if second is None else _Ranked(self.first, second)
            nodes[self.map_tasks] = optimal_placement(posed).nodes[self.map_tasks]
        return nodes

    def drawn(self, rng: np.random.Generator) -> Floats:
        """Random second costs, the same for maps of the same size and replicas."""
        classes = self.first.classes()
        second: Floats = rng.random((len(classes.size), len(self.instance.cluster)))[classes.of_task]
        return second

    def continued(self, nodes: Ints) -> tuple[Ints, Number]:
        """The same with the best reduces, and their cost."""
        if nodes.tobytes() not in self._continued:
            self._continued[nodes.tobytes()] = self._with_reduces(nodes)
        return self._continued[nodes.tobytes()]

    def _with_reduces(self, nodes: Ints) -> tuple[Ints, Number]:
        if not len(self.reduce_tasks):
            return nodes, 0
        problem = TransmissionReduces(_running(self.instance, nodes), distinct=self.distinct)
        if not problem.count:
            return nodes, 0
        outcome, found, _ = by_arrays(problem, Profile("exact"))
        if outcome.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        if outcome.limit is Limit.TIME:
            raise OutOfTime("out of time")
        if found is None:
            raise OptschedError(f"sequential: found no placement of the reduces: {outcome.raw_status}")
        reduces = problem.placement(found)
        nodes = np.where(reduces.nodes != NONE, reduces.nodes, nodes)
        return nodes, problem.objective(reduces)[0]

    def improved(self, start: tuple[Ints, Number]) -> tuple[Ints, Number]:
        """Maps and reduces placed in turn, as long as that is cheaper and the maps stay optimal."""
        best = start
        least = self.first.units(Placement(start[0]))
        while True:
            check()
            maps = self.maps(self._sent(best[0]))
            if self.first.units(Placement(maps)) > least:
                return best
            found = self.continued(maps)
            if found[1] >= best[1]:
                return best
            best = found

    def _sent(self, nodes: Ints) -> Floats:
        """Each map's cost, on each node, of sending to the reduces where they are; shape (maps, nodes)."""
        shuffle = self.instance.workload.shuffle
        assert shuffle is not None
        row = np.full(len(nodes), NONE)
        row[self.map_tasks] = np.arange(len(self.map_tasks))
        counted = (row[shuffle.map] != NONE) & (nodes[shuffle.reduce] != NONE)
        amounts = np.zeros((len(self.map_tasks), len(self.instance.cluster)))
        np.add.at(amounts, (row[shuffle.map[counted]], nodes[shuffle.reduce[counted]]), shuffle.size[counted])
        sent: Floats = amounts @ distances(self.instance).T
        return sent


class _Ranked(TransmissionMaps):
    """The same maps, with costs that also weigh a second cost, always below the least difference of the first.

    If the two together exceed the numbers that HiGHS takes, the second is rounded as far as necessary.
    """

    def __init__(self, first: TransmissionMaps, second: Floats) -> None:
        self._first, self._second = first, second
        super().__init__(first.instance)

    def prepare_costs(self) -> None:
        super().prepare_costs()
        first = self._first.class_units[self._first.classes().of_task]
        room = min(_FINEST, LARGEST // max(1, self.count)) // (int(first.max(initial=0)) + 1)
        finest = room // max(1, self.count) - 1
        second = self._second[:, self.idle_nodes]
        scale = max(0, finest) / max(float(second.max(initial=0.0)), 1e-300)
        self._units = first * max(1, room) + np.floor(second * min(scale, 2.0**40)).astype(np.int64)

    @property
    def near(self) -> None:
        """None: a farther node may cost less."""

    def made_classes(self) -> TaskClasses:
        return TaskClasses.from_keys([row.tobytes() for row in self._units])

    def table(self, positions: Ints) -> Ints:
        units: Ints = self._units[positions]
        return units


def _running(instance: Instance, nodes: Ints) -> Instance:
    """The snapshot in which everything that has a node runs there."""
    ran, state = nodes != NONE, instance.state
    now = replace(state, status=np.where(ran, RUNNING, state.status), node=np.where(ran, nodes, state.node))
    return instance.with_state(now)


HEURISTICS: tuple[Heuristic, ...] = (
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
    Heuristic(
        "sequential",
        "000",
        "maps, then reduces (Shen et al. 2016, note 4)",
        ("transmission-maps", "transmission-reduces", "transmission"),
        "the best maps, then the best reduces for them, both exact; ties among maps broken by the reduces",
        (
            Parameter("ties", "second-stage", choice("second-stage", "first"), "which of the optimal maps"),
            sizes_parameter("actual"),
            Parameter(
                "starts", 8, number(lowest=1, integer=True), "placements of the maps that second-stage begins with"
            ),
        ),
        batch=sequential,
        missing=missing_sizes,
    ),
)
