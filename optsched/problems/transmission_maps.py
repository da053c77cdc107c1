"""`transmission-maps`: maps on idle map slots, least cost of fetching their blocks (000, section II-B.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from optsched.errors import Fault
from optsched.instance import MAP, PENDING, Instance, Ints
from optsched.problems.assignment import TabledProblem
from optsched.problems.distances import distances, missing_topology
from optsched.problems.transmission_costs import grid_of, map_costs, missing_of_maps, units_of
from optsched.results import Component, Proof, Sense

__all__ = ["TransmissionMaps"]


class TransmissionMaps(TabledProblem):
    """Exactly min(maps, idle map slots) maps on idle slots, at least transmission cost.

    A map with a block of B MB costs B times the distance from the nearest replica (000, equation (1)). Each pair's
    cost is rounded once to a multiple of 1/`grid`: 1 where all sizes and distances are whole, else 2^20.

    Examples
    --------
    >>> from optsched.instance import Cluster, Ragged, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], slots=[0, 1], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> problem = TransmissionMaps(Instance(cluster, Workload(["M1"], size=[128.0], replicas=Ragged.from_rows([[0]]))))
    >>> problem.evaluate(problem.placement([1]))
    (512,)
    """

    name = "transmission-maps"
    title = "maps to slots, least MB times distance to the nearest replica"
    paper = "000"
    components = (Component("transmission-cost", Sense.MIN, "MB x distance"),)
    parameter_table = ()
    requires = ("topology", "tasks[].size and replicas of pending maps")
    proof = Proof.DUAL

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        if instance.cluster.topology is None:
            yield missing_topology(cls.name)
        pending = (instance.state.status == PENDING) & (instance.workload.kind == MAP)
        yield from missing_of_maps(cls.name, instance, np.flatnonzero(pending).astype(np.int64))

    def prepare_costs(self) -> None:
        super().prepare_costs()
        distance = distances(self.instance)
        self.sizes = self.instance.workload.size[self.tasks]
        self.grid = grid_of(self.sizes, distance)
        self._distance = distance[:, self.idle_nodes]

    def class_keys(self) -> Sequence[object]:
        sources = (tuple(sorted(replicas.tolist())) for replicas in self.replicas)
        return list(zip(self.sizes.tolist(), sources, strict=True))

    def table(self, positions: Ints) -> Ints:
        costs = map_costs(self.sizes[positions], self.replicas.take(positions), self._distance)
        return units_of(costs, self.grid)
