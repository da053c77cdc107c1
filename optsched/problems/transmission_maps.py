"""`transmission-maps`: maps on idle slots, least cost of fetching their blocks (Shen et al. 2016, section II-B.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optsched.errors import Fault
from optsched.instance import Instance, Ints
from optsched.problems.assignment import TabledProblem
from optsched.problems.distances import missing_topology
from optsched.problems.transmission_costs import Scale, map_costs, missing_of_maps
from optsched.results import Component, Proof, Sense

__all__ = ["TransmissionMaps"]


class TransmissionMaps(TabledProblem):
    """Exactly min(maps, idle map slots) maps on idle slots, at least transmission cost.

    A map with a block of B MB costs B times the distance from the nearest replica (Shen et al. 2016, equation (1)).
    Costs are exact where sizes and distances have denominators whose product, `grid`, is at most 2^20; else each pair's
    is rounded once to a multiple of 2^-20.

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
    by_replicas = True

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        if instance.cluster.topology is None:
            yield missing_topology(cls.name)
        yield from missing_of_maps(cls.name, instance)

    def prepare_costs(self) -> None:
        super().prepare_costs()
        sizes = self.instance.workload.size[self.tasks]
        self._scale = Scale.of(self.instance, sizes)
        self.grid = self._scale.grid
        self._amounts = self._scale.amounts(sizes)
        self._lengths = self._scale.lengths[:, self.idle_nodes]

    def class_keys(self) -> Sequence[object]:
        sources = (tuple(sorted(replicas.tolist())) for replicas in self.replicas)
        return list(zip(self._amounts.tolist(), sources, strict=True))

    def table(self, positions: Ints) -> Ints:
        return self._scale.units(map_costs(self._amounts[positions], self.replicas.take(positions), self._lengths))
