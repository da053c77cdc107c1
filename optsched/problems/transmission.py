"""`transmission`: maps and reduces at once, least cost of moving blocks and the shuffle (Shen et al. 2016).

Each stage alone is `transmission-maps` and `transmission-reduces`. Together they are bilinear, and strongly NP-hard
(Shen et al. 2016, note 2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from optsched.core.errors import Fault, InputError
from optsched.core.instance import LARGEST, MAP, REDUCE, Floats, Instance, Ints, Shuffle
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Proof, Sense, Value, Violation
from optsched.problems.base import Problem, exact, exact_sum, overfull
from optsched.problems.distances import distances
from optsched.problems.reduce_slots import ReduceSlots
from optsched.problems.transmission_costs import (
    Scale,
    map_costs,
    missing_of_maps,
    missing_of_shuffle,
    summed_units,
    too_much,
)
from optsched.problems.transmission_reduces import DISTINCT, least_sum

__all__ = ["Entries", "Transmission"]


class Entries(NamedTuple):
    """Shuffle entries whose both ends are pending: positions among `maps` and among `reduces`, and MB above 0."""

    map: Ints
    reduce: Ints
    size: Floats


class Transmission(Problem):
    """Pending maps and reduces on idle slots, at least cost of all data that moves.

    Exactly min(maps, idle map slots) maps and the most reduces that fit are placed, as in the problems of one stage.
    The cost is (1) of the placed maps, and of each shuffle entry whose both ends have a node after the placement, one
    of them by it, its MB times the distance from map to reduce (Shen et al. 2016, equation (2), with x not given but
    decided). An entry to a reduce that finished before its map is placed counts too: this happens in waves only, where
    the cost would else be lost.

    Costs are exact where sizes and distances have denominators whose product, `grid`, is at most 2^20; else each
    product of the two is rounded once to a multiple of 2^-20.

    Attributes
    ----------
    maps, reduces
        int64: positions in `tasks` of the maps, and of the reduces.
    map_units
        int64, shape (maps, nodes): cost (1) of each map on each node, and of sending to reduces that have a node.
    reduce_units
        int64, shape (reduces, nodes): cost of fetching from maps that have a node.
    entries
        Shuffle entries whose both ends are pending: `map`, `reduce` (positions among `maps`, `reduces`) and `size`.
    amounts
        float64, shape (entries,): the sizes of `entries` as `scale` multiplies them.
    distance
        float64, shape (nodes, nodes): `[from][to]`.
    scale
        In what units sizes and distances are multiplied.
    map_capacity, reduce_capacity
        int64, shape (nodes,): idle slots, no more than there are tasks of the kind.
    map_count, reduce_count
        How many maps, and how many reduces are placed.
    job, barred, usable, limited
        Of the reduces, as in `TransmissionReduces`.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Ragged, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> shuffle = Shuffle(map=[0], reduce=[1], size=[10.0])
    >>> workload = Workload(
    ...     ["M1", "R1"], kind=[MAP, REDUCE], size=[128.0, 0.0], replicas=Ragged.from_rows([[0], []]), shuffle=shuffle)
    >>> problem = Transmission(Instance(cluster, workload))
    >>> problem.evaluate(problem.placement([0, 1])), problem.evaluate(problem.placement([1, 1]))
    ((40,), (512,))
    """

    name = "transmission"
    title = "maps and reduces to slots at once, least MB times distance of all data that moves"
    paper = "000"
    kinds = (MAP, REDUCE)
    components = (Component("transmission-cost", Sense.MIN, "MB x distance"),)
    parameter_table = (DISTINCT,)
    requires = ("topology", "shuffle", "tasks[].size and replicas of pending maps")
    proof = Proof.COMBINATORIAL
    by_replicas = True

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        yield from missing_of_shuffle(cls.name, instance)
        yield from missing_of_maps(cls.name, instance)

    def prepare(self) -> None:
        workload, state = self.instance.workload, self.instance.state
        shuffle = workload.shuffle
        assert shuffle is not None  # else `missing` says so
        kind = workload.kind[self.tasks]
        self.maps: Ints = np.flatnonzero(kind == MAP).astype(np.int64)
        self.reduces: Ints = np.flatnonzero(kind == REDUCE).astype(np.int64)
        self.map_capacity: Ints = np.minimum(state.idle_slots, len(self.maps))
        self.map_count = min(len(self.maps), int(self.map_capacity.sum()))
        self.slots = ReduceSlots(self.instance, self.tasks[self.reduces], self.parameters["distinct"])
        self.reduce_capacity, self.reduce_count = self.slots.capacity, self.slots.count
        self.job, self.barred = self.slots.job, self.slots.barred
        self.usable, self.limited = self.slots.usable, self.slots.limited
        self.distance = distances(self.instance)
        self._prepare_costs(shuffle)
        for array in (self.map_capacity, self.map_units, self.reduce_units, self.amounts, *self.entries):
            array.setflags(write=False)

    def _prepare_costs(self, shuffle: Shuffle) -> None:
        node = self.instance.state.node
        row = np.full(len(self.instance.workload), NONE)
        for positions in (self.maps, self.reduces):
            row[self.tasks[positions]] = np.arange(len(positions))
        sender, receiver = row[shuffle.map], row[shuffle.reduce]
        source, target = node[shuffle.map], node[shuffle.reduce]
        sizes = self.instance.workload.size[self.tasks[self.maps]]
        moved = ((sender != NONE) | (source != NONE)) & ((receiver != NONE) | (target != NONE)) & (shuffle.size > 0)
        self.scale = scale = Scale.of(self.instance, sizes, shuffle.size[moved])
        self.grid = scale.grid
        amount = np.zeros(len(shuffle))
        amount[moved] = scale.amounts(shuffle.size[moved])

        both = moved & (sender != NONE) & (receiver != NONE)
        self.entries = Entries(sender[both], receiver[both], shuffle.size[both])
        self.amounts: Floats = amount[both]
        sending = np.flatnonzero(moved & (sender != NONE) & (target != NONE))
        fetching = np.flatnonzero(moved & (source != NONE) & (receiver != NONE))
        fetched = scale.units(map_costs(scale.amounts(sizes), self.replicas.take(self.maps), scale.places))
        sent = summed_units(scale, amount[sending], target[sending], sender[sending], len(self.maps), receiving=True)
        self.map_units: Ints = fetched + sent
        self.reduce_units: Ints = summed_units(
            scale, amount[fetching], source[fetching], receiver[fetching], len(self.reduces)
        )
        dearest = exact_sum(self.map_units.max(axis=1, initial=0)) + exact_sum(self.reduce_units.max(axis=1, initial=0))
        if dearest + self.most_between > LARGEST:
            raise InputError([too_much(self.grid)], self.place)

    @property
    def most_between(self) -> float:
        """Units that no placement lets pending maps send pending reduces more than, roughly."""
        farthest = float(self.distance.max(initial=0.0))
        return float(self.entries.size.sum()) * farthest * self.grid

    def products(self, amounts: Floats, lengths: Floats) -> Ints:
        """Costs of amounts of data over lengths, both as `scale` has them, in units; int64 of their common shape."""
        return self.scale.units(amounts * lengths)

    def entry_units(self, entry: int) -> Ints:
        """Cost of one of `entries` for each node of its map (row) and of its reduce (column), int64, in units."""
        return self.products(self.amounts[entry], self.scale.lengths)

    @property
    def remark(self) -> str | None:
        return self.scale.remark

    @property
    def offered(self) -> Mapping[str, Ints]:
        return MappingProxyType({"map": self.map_capacity, "reduce": self.reduce_capacity})

    @property
    def due(self) -> int:
        return self.map_count + self.reduce_count

    def objective(self, placement: Placement, /) -> Value:
        nodes = self.nodes_of(placement)
        total = 0
        for positions, units in ((self.maps, self.map_units), (self.reduces, self.reduce_units)):
            placed = np.flatnonzero(nodes[positions] != NONE)
            total += int(units[placed, nodes[positions[placed]]].sum())
        sender, receiver = nodes[self.maps[self.entries.map]], nodes[self.reduces[self.entries.reduce]]
        moved = (sender != NONE) & (receiver != NONE)
        between = self.products(self.amounts[moved], self.scale.lengths[sender[moved], receiver[moved]])
        return (exact(total + int(between.sum()), self.grid),)

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        """Slots and cardinality say of which kind of task they are: `slots(map, n1)`."""
        nodes = self.nodes_of(placement)
        on_maps = nodes[self.maps]
        yield from overfull(self.instance.cluster, on_maps, self.map_capacity, "slots", "map")
        placed = int(np.count_nonzero(on_maps != NONE))
        if placed < self.map_count:
            yield Violation("cardinality", ("map",), self.map_count - placed)
        yield from self.slots.violations(nodes[self.reduces], "reduce")

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """The cheapest maps and reduces, each on its own best node, as if what both decide moved over no distance."""
        name = self.components[0].name
        anywhere = np.broadcast_to(self.map_capacity > 0, self.map_units.shape)
        best = least_sum(self.map_units, anywhere, self.map_count)
        best += least_sum(self.reduce_units, self.usable, self.reduce_count)
        told = f"{name}, with every slot free and nothing to pay between pending maps and pending reduces"
        return (Bound("best-node", name, exact(best, self.grid), told),)
