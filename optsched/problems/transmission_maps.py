"""`transmission-maps`: maps on idle slots, least cost of fetching their blocks (Shen et al. 2016, section II-B.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from optsched.core.errors import Fault
from optsched.core.instance import Instance, Ints
from optsched.core.results import Component, Proof, Sense
from optsched.problems.assignment import TabledProblem
from optsched.problems.counted_places import Level, Places, TaskClasses
from optsched.problems.distances import NearestAreas, missing_topology
from optsched.problems.programs import Programmed
from optsched.problems.transmission_costs import Scale, map_costs, missing_of_maps


class TransmissionMaps(TabledProblem, Programmed):
    """Exactly min(maps, idle map slots) maps on idle slots, at least transmission cost.

    A map with a block of B MB costs B times the distance from the nearest replica (Shen et al. 2016, equation (1)).
    Costs are exact if sizes and distances have denominators whose product, `grid`, is at most 2^20; else each pair's
    cost is rounded once to a multiple of 2^-20.

    If distances are nested areas (`near`), no table is needed: a map has one cost for each level.

    Attributes
    ----------
    scale
        The units in which sizes and distances are multiplied.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Ragged, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], slots=[0, 1], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> problem = TransmissionMaps(Instance(cluster, Workload(["M1"], size=[128.0], replicas=Ragged.from_rows([[0]]))))
    >>> problem.evaluate(problem.placement([1]))
    (512,)
    """

    name = "transmission-maps"
    title = "maps to slots, least MB times distance to the nearest replica"
    paper = "000"
    components = (Component("transmission-cost", Sense.MIN, "MB x distance"),)
    requires = ("topology", "tasks[].size and replicas of pending maps")
    cost_name = "cost"
    proof = Proof.DUAL
    by_replicas = True

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        if instance.cluster.topology is None:
            yield missing_topology(cls.name)
        yield from missing_of_maps(cls.name, instance)

    def prepare_costs(self) -> None:
        super().prepare_costs()
        sizes = self.instance.workload.size[self.tasks]
        self.scale = Scale.of(self.instance, sizes)
        self.grid = self.scale.grid
        self._amounts = self.scale.amounts(sizes)

    @property
    def remark(self) -> str | None:
        return self.scale.remark

    @cached_property
    def near(self) -> NearestAreas | None:
        """How near idle nodes are to the replicas of each class of maps; None if distances are no nested areas."""
        nested = self.scale.nested
        if nested is None:
            return None
        return NearestAreas(nested, self.replicas.take(self.classes().first), self.capacity > 0)

    @cached_property
    def level_units(self) -> Ints:
        """Units of each class on a node of each level of `near`."""
        assert self.scale.nested is not None
        with np.errstate(over="ignore"):  # such a cost is refused
            return self.scale.units(self._amounts[self.classes().first][:, None] * self.scale.nested.lengths)

    @property
    def network_places(self) -> Places:
        """The areas with a replica at each level, if distances are nested areas; else every node."""
        if self.near is None:
            return self.places
        ids, levels, units = self.instance.cluster.node_ids, [], []
        for number, (areas, of_node) in enumerate(zip(self.near.idle_areas, self.near.levels, strict=True)):
            first = np.unique(of_node, return_index=True)[1]
            names = np.array([f"{number} round {name}" if number else str(name) for name in ids[first]])
            levels.append(Level(areas, of_node, names))
            units.append(self.level_units[areas.row_of, number])
        return Places(tuple(levels), False, np.concatenate(units))

    def largest_pair_units(self) -> int:
        if self.near is None or not len(self.idle_nodes):
            return super().largest_pair_units()
        farthest = self.near.farthest
        return int(self.level_units[np.arange(len(farthest)), farthest].max(initial=0))

    def pair_units(self, positions: Ints, nodes: Ints) -> Ints:
        if self.near is None:
            return super().pair_units(positions, nodes)
        row = self.classes().of_task[positions]
        units: Ints = self.level_units[row, self.near.level(row, nodes)]
        return units

    def cheapest_units(self, prices: Ints) -> Ints:
        if self.near is None:
            return super().cheapest_units(prices)
        return self.near.cheapest(self.level_units, prices)[self.classes().of_task]

    def made_classes(self) -> TaskClasses:
        alike = np.unique(self._amounts, return_inverse=True)[1].ravel()
        return TaskClasses.from_rows(alike, self.replicas.ordered())

    def table(self, positions: Ints) -> Ints:
        replicas, places = self.replicas.take(positions), self.scale.places
        return self.scale.units(map_costs(self._amounts[positions], replicas, places, self.idle_nodes))
