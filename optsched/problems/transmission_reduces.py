"""`transmission-reduces`: reduces on idle slots, least cost of fetching maps' outputs (Shen et al. 2016, II-B.2).

Maps without a node yet send nothing here. `transmission` places both at once. For both, `ReduceSlots` says where
pending reduces may run: one of a job per node (Shen et al. 2016, Algorithm 2, line 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from optsched.core.errors import Fault, InputError
from optsched.core.instance import LARGEST, REDUCE, RUNNING, Bools, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.processes.limits import refuse_beyond
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.problems.assignment import BYTES_A_PAIR
from optsched.problems.base import OwnCosts, exact, exact_product, exact_sum, overfull
from optsched.problems.counted_places import CountedPlaces, Places, TaskClasses, enter_places
from optsched.problems.parameters import Parameter, switch
from optsched.problems.programs import Builder, Program, Programmed
from optsched.problems.transmission_costs import Scale, missing_of_shuffle, summed_units, too_much

#: The parameter of both problems that place reduces.
DISTINCT = Parameter("distinct", True, switch, "one reduce of a job on a node at most, running ones counted")


class TransmissionReduces(CountedPlaces, Programmed):
    """Place as many reduces as possible at once on idle reduce slots, at least transmission cost.

    Reduce f on node i costs the sum over maps j, with node p, of h_pi times the MB that j has for f (Shen et al. 2016,
    equation (2)). Maps that run or have finished count, on their node in the snapshot. Costs are exact if sizes and
    distances have denominators whose product, `grid`, is at most 2^20; else each product is rounded once to a multiple
    of 2^-20.

    At most one reduce of a job runs on a node (Shen et al. 2016, Algorithm 2, line 1), so there may be fewer places
    than slots. Exactly `count` reduces are placed, the most that fit; the others wait for a later wave.

    Attributes
    ----------
    units
        int64, shape (reduces, nodes): cost of each pair in units of 1/`grid`.
    capacity
        int64, shape (nodes,): idle reduce slots, at most the number of reduces.
    job
        int64, shape (reduces,): job of each, or -1.
    barred
        bool, shape (jobs + 1, nodes): where a reduce of the job runs already; the last row, for job -1, is for reduces
        without a job.
    usable
        bool, shape (reduces, nodes): nodes with an idle slot on which the reduce is not barred.
    limited
        bool, shape (reduces,): which reduces may not share a node with another of their job; all with a job, if
        `distinct`.
    count
        How many reduces are placed.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, State, Shuffle, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> shuffle = Shuffle(map=[0], reduce=[1], size=[10.0])
    >>> workload = Workload(["M1", "R1"], kind=[0, 1], shuffle=shuffle)
    >>> state = State.initial(cluster, workload, status=[1, 0], node=[0, -1], idle_reduce_slots=[0, 1])
    >>> problem = TransmissionReduces(Instance(cluster, workload, state))
    >>> problem.evaluate(problem.placement([1]))
    (40,)
    """

    name = "transmission-reduces"
    title = "reduces to slots, one of a job a node, least MB times distance from their maps"
    paper = "000"
    kinds = (REDUCE,)
    components = (Component("transmission-cost", Sense.MIN, "MB x distance"),)
    parameter_table = (DISTINCT,)
    requires = ("topology", "shuffle")
    proof = Proof.DUAL

    units: Ints
    grid: int

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        yield from missing_of_shuffle(cls.name, instance)

    def prepare(self) -> None:
        workload, node = self.instance.workload, self.instance.state.node
        shuffle = workload.shuffle
        assert shuffle is not None  # otherwise `missing` has raised
        rows, nodes = max(len(self.tasks), len(workload.job_ids) + 1), len(self.instance.cluster)
        sizes = f"{len(self.tasks):,} reduces of {len(workload.job_ids):,} jobs on {nodes:,} nodes"
        what = f"{self.place}: {sizes} would have a table of {rows * nodes:,} costs"
        refuse_beyond(rows * nodes * BYTES_A_PAIR, what, "take fewer reduces, jobs or nodes")
        self.slots = ReduceSlots(self.instance, self.tasks, self.parameters["distinct"])
        self.capacity, self.job, self.barred = self.slots.capacity, self.slots.job, self.slots.barred
        self.usable, self.limited, self.count = self.slots.usable, self.slots.limited, self.slots.count
        row = np.full(len(workload), NONE)
        row[self.tasks] = np.arange(len(self.tasks))
        sent = np.flatnonzero((row[shuffle.reduce] != NONE) & (node[shuffle.map] != NONE))
        size, at, to = shuffle.size[sent], node[shuffle.map[sent]], row[shuffle.reduce[sent]]
        self.scale = scale = Scale.of(self.instance, size)
        self.grid = scale.grid
        self.units = summed_units(scale, scale.amounts(size), at, to, len(self.tasks))
        if exact_sum(self.units.max(axis=1, initial=0)) > LARGEST:
            raise InputError([too_much(self.grid)], self.place)
        self.units.setflags(write=False)

    @property
    def remark(self) -> str | None:
        return self.scale.remark

    @property
    def offered(self) -> Mapping[str, Ints]:
        return MappingProxyType({"reduce": self.capacity})

    @property
    def due(self) -> int:
        return self.count

    def classes(self) -> TaskClasses:
        """Reduces that the problem does not distinguish: same job, same cost on every node."""
        return self._classes

    @cached_property
    def _classes(self) -> TaskClasses:
        return TaskClasses.from_keys([(job, row.tobytes()) for job, row in zip(self.job, self.units, strict=True)])

    def every_place(self) -> Places:
        first = self._classes.first
        return self.places_of_table(self.usable[first], self.units[first])

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """Least cost of reduces of each class on nodes, with at most one of a job per node."""
        builder, first = Builder(), self._classes.first
        columns, _ = enter_places(self, builder, np.zeros_like(first), "cost")
        limited, keys = self._sharing
        jobs, nodes = self.shared_pairs.T
        names = self.instance.workload.job_ids[jobs], self.instance.cluster.node_ids[nodes]
        shared = builder.rows(
            "one_of_job",
            list(zip(*(ids.tolist() for ids in names), strict=True)),
            upper=1,
            over="SHARED",
            doc="no node takes more than one reduce of the job",
        )
        builder.enter(shared[np.searchsorted(np.unique(keys), keys)], columns[limited])
        return builder.program(unit=self.grid)

    @property
    def shared_pairs(self) -> Ints:
        """Job and node of each pair that several reduces could use but only one may, int64, shape (pairs, 2)."""
        return np.stack(np.divmod(np.unique(self._sharing[1]), max(1, len(self.capacity))), axis=1)

    @property
    def _sharing(self) -> tuple[Ints, Ints]:
        """Places of reduces that share no node with others of their job; and job * nodes + node of each."""
        reduce, nodes = self._classes.first[self.places.row_of], self.places.on_node.values
        limited = np.flatnonzero(self.limited[reduce])
        return limited, self.job[reduce[limited]] * len(self.capacity) + nodes[limited]

    def values_of(self, decision: Placement, program: Program) -> Ints:
        return self.place_values(decision)

    @property
    def own_costs(self) -> OwnCosts:
        """Each reduce's cost of fetching its data."""
        return OwnCosts(0, self.grid, lambda positions, nodes: self.units[positions, nodes], np.zeros_like(self.tasks))

    def cost_units(self, nodes: Ints) -> int:
        """Total cost in units if each of `tasks` runs on its node (or on none, -1)."""
        placed = np.flatnonzero(nodes != NONE)
        return int(self.units[placed, nodes[placed]].sum())

    def objective(self, placement: Placement, /) -> Value:
        return (exact(self.cost_units(self.nodes_of(placement)), self.grid),)

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        yield from self.slots.violations(self.nodes_of(placement))

    def price_bound(self, count_price: int, node_prices: Ints, pair_prices: Ints) -> int:
        """The lower bound, in units, that prices prove (weak duality). It is valid for any prices.

        Parameters
        ----------
        count_price
            Price of placing one more reduce, in units.
        node_prices
            int64, shape (nodes,): price of a reduce slot on each node; negative ones count as 0.
        pair_prices
            int64, shape (jobs + 1, nodes): price of being the one reduce of the job on the node; negative ones, and
            those of the last row, which limits nothing, count as 0.
        """
        if not self.count:
            return 0
        nodes, pairs = np.maximum(node_prices, 0), np.maximum(pair_prices, 0)
        if not self.parameters["distinct"]:
            pairs = np.zeros_like(pairs)
        pairs[-1] = 0
        paid = self.units + nodes + pairs[self.job]
        least = np.where(self.usable, paid, np.int64(2**62)).min(axis=1)
        surplus = np.maximum(count_price - least, 0)
        rents: int = exact_sum(surplus) + exact_sum(pairs)
        return count_price * self.count - rents - exact_product(nodes, self.capacity)

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """The sum of the `count` cheapest reduces, each on its own best node: as if no node were contended."""
        name = self.components[0].name
        best = exact(least_sum(self.units, self.usable, self.count), self.grid)
        return (Bound("best-node", name, best, f"{name}, with every slot free for every reduce"),)


def least_sum(units: Ints, usable: Bools, count: int) -> int:
    """Sum of the `count` least of the rows' minima over the usable pairs."""
    if not count:
        return 0
    minima = np.where(usable, units, np.int64(2**62)).min(axis=1)
    return int(np.sort(minima)[:count].sum())


class ReduceSlots:
    """Idle reduce slots for the pending reduces of a snapshot.

    If `distinct`, a node may run at most one reduce of a job, including those that run already. Reduces without a job
    do not limit each other.

    Attributes
    ----------
    capacity
        int64, shape (nodes,): idle reduce slots, at most the number of reduces.
    job
        int64, shape (reduces,): job of each, or -1.
    barred
        bool, shape (jobs + 1, nodes): where a reduce of the job runs already; the last row, for -1, is for reduces
        without a job.
    limited
        bool, shape (reduces,): which may not share a node with another of their job; all with a job, if `distinct`.
    usable
        bool, shape (reduces, nodes): nodes with an idle slot on which the reduce is not barred.
    """

    def __init__(self, instance: Instance, reduces: Ints, distinct: bool) -> None:
        self.instance, self.reduces = instance, reduces
        state, workload = instance.state, instance.workload
        self.capacity: Ints = np.minimum(state.idle_reduce_slots, len(reduces))
        self.job: Ints = workload.job[reduces]
        self.limited: Bools = (self.job >= 0) & distinct
        self.barred: Bools = np.zeros((len(workload.job_ids) + 1, len(instance.cluster)), dtype=bool)
        if distinct:
            running = (workload.kind == REDUCE) & (state.status == RUNNING)
            self.barred[workload.job[running], state.node[running]] = True
            self.barred[-1] = False
        self.usable: Bools = (self.capacity > 0) & ~self.barred[self.job]
        for array in (self.capacity, self.job, self.barred, self.usable):
            array.setflags(write=False)

    @cached_property
    def count(self) -> int:
        """The most reduces that can be placed at once: a maximum flow from jobs through nodes to slots."""
        free = np.flatnonzero(self.capacity > 0)
        loose = int(np.count_nonzero(~self.limited))
        jobs, waiting = np.unique(self.job[self.limited], return_counts=True)
        if not len(jobs) or not len(free):
            return min(loose, int(self.capacity.sum()))
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        # Source 0, jobs, reduces without that limit, nodes, sink.
        owners = 1 + np.arange(len(jobs) + 1)
        first = len(jobs) + 2
        sink = first + len(free)
        row, column = np.nonzero(~self.barred[np.ix_(jobs, free)])
        nodes = first + np.arange(len(free))
        tail = np.concatenate([np.zeros_like(owners), 1 + row, np.full(len(free), first - 1), nodes])
        head = np.concatenate([owners, first + column, nodes, np.full(len(free), sink)])
        room = np.concatenate([waiting, [loose], np.ones_like(row), np.full(len(free), loose), self.capacity[free]])
        graph = csr_array((room.astype(np.int32), (tail, head)), shape=(sink + 1, sink + 1))
        return int(maximum_flow(graph, 0, sink).flow_value)

    def violations(self, nodes: Ints, *kind: str) -> Iterator[Violation]:
        """The violations of the reduces' nodes (or -1); `kind` precedes the ids if maps are placed too."""
        cluster, jobs = self.instance.cluster, self.instance.workload.job_ids
        placed = nodes != NONE
        yield from overfull(cluster, nodes, self.capacity, "slots", *kind)
        here = np.zeros(self.barred.shape, dtype=np.int64)
        ours = placed & self.limited
        np.add.at(here, (self.job[ours], nodes[ours]), 1)
        for job, node in np.argwhere((here + self.barred > 1) & (here > 0)).tolist():
            over = int(here[job, node] + self.barred[job, node]) - 1
            yield Violation("distinct", (str(jobs[job]), str(cluster.node_ids[node])), over)
        if placed.sum() < self.count:
            yield Violation("cardinality", kind, self.count - int(placed.sum()))
