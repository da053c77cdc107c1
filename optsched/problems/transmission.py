"""`transmission`: maps and reduces at once, least cost of moving blocks and the shuffle (Shen et al. 2016).

`transmission-maps` and `transmission-reduces` are the two stages. Together they are bilinear, and strongly NP-hard
(Shen et al. 2016, note 2).
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np

from optsched.core.errors import Fault, InputError
from optsched.core.instance import LARGEST, MAP, REDUCE, Floats, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.problems.base import Problem, exact, exact_sum, overfull
from optsched.problems.counted_places import TaskClasses
from optsched.problems.distances import distances
from optsched.problems.programs import Builder, Label, Program, Programmed, labelled, summed
from optsched.problems.relaxations import UNBOUNDED
from optsched.problems.transmission_costs import (
    Scale,
    map_costs,
    missing_of_maps,
    missing_of_shuffle,
    summed_units,
    too_much,
)
from optsched.problems.transmission_reduces import DISTINCT, ReduceSlots, least_sum


class Entries(NamedTuple):
    """Shuffle entries with both ends pending: positions among `maps` and among `reduces`, and MB above 0."""

    map: Ints
    reduce: Ints
    size: Floats


class Transmission(Problem, Programmed):
    """Pending maps and reduces on idle slots, at least cost of all data that moves.

    Exactly min(maps, idle map slots) maps and the most reduces that fit are placed, as in the problems of one stage.
    The cost is (1) for the placed maps. Each shuffle entry whose ends both have a node, at least one through this
    placement, adds its MB times the distance from map to reduce (Shen et al. 2016, equation (2), with x decided instead
    of given). An entry to a reduce that finished before its map is placed counts too: that happens only in waves, where
    the cost would be lost otherwise.

    Costs are exact if sizes and distances have denominators whose product, `grid`, is at most 2^20; else each product
    of the two is rounded once to a multiple of 2^-20.

    Attributes
    ----------
    maps, reduces
        int64: positions in `tasks` of the maps, and of the reduces.
    map_units
        int64, shape (maps, nodes): cost (1) of each map on each node, and of sending to reduces that have a node.
    reduce_units
        int64, shape (reduces, nodes): cost of fetching from maps that have a node.
    entries
        Shuffle entries with both ends pending: `map`, `reduce` (positions among `maps`, `reduces`) and `size`.
    amounts
        float64, shape (entries,): the sizes of `entries`, converted by `scale` for multiplication.
    form
        How the program linearises the product of a map's and a reduce's place: `flow` if nothing is rounded, else
        `pairs`.
    distance
        float64, shape (nodes, nodes): `[from][to]`.
    scale
        The units in which sizes and distances are multiplied.
    map_capacity, reduce_capacity
        int64, shape (nodes,): idle slots, at most the number of tasks of the kind.
    map_count, reduce_count
        How many maps, and how many reduces are placed.
    job, barred, usable, limited
        For the reduces, as in `TransmissionReduces`.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Ragged, Shuffle, Topology, Workload
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
        assert shuffle is not None  # otherwise `missing` has raised
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

        row = np.full(len(workload), NONE)
        for positions in (self.maps, self.reduces):
            row[self.tasks[positions]] = np.arange(len(positions))
        sender, receiver = row[shuffle.map], row[shuffle.reduce]
        source, target = state.node[shuffle.map], state.node[shuffle.reduce]
        sizes = workload.size[self.tasks[self.maps]]
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
        self.form, self._alone = "flow" if self.grid == 1 else "pairs", False
        for array in (self.map_capacity, self.map_units, self.reduce_units, self.amounts, *self.entries):
            array.setflags(write=False)

    @property
    def most_between(self) -> float:
        """A rough upper limit on the units that pending maps send to pending reduces in any placement."""
        farthest = float(self.distance.max(initial=0.0))
        return float(self.entries.size.sum()) * farthest * self.grid

    def products(self, amounts: Floats, lengths: Floats) -> Ints:
        """Costs of amounts of data over lengths, both converted by `scale`, in units; int64 of their common shape."""
        return self.scale.units(amounts * lengths)

    def units_between(self) -> dict[tuple[int, int], Ints]:
        """Cost of each pair of map and reduce that exchange data, in units, for each node of either."""
        units: dict[tuple[int, int], Ints] = {}
        for entry, pair in enumerate(zip(self.entries.map.tolist(), self.entries.reduce.tolist(), strict=True)):
            units[pair] = units.get(pair, 0) + self.products(self.amounts[entry], self.scale.lengths)
        return units

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
        """Violations of slots and cardinality name the kind of task: `slots(map, n1)`."""
        nodes = self.nodes_of(placement)
        on_maps = nodes[self.maps]
        yield from overfull(self.instance.cluster, on_maps, self.map_capacity, "slots", "map")
        placed = int(np.count_nonzero(on_maps != NONE))
        if placed < self.map_count:
            yield Violation("cardinality", ("map",), self.map_count - placed)
        yield from self.slots.violations(nodes[self.reduces], "reduce")

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """The cheapest maps and reduces, each on its own best node, as if data between pending tasks moved for free."""
        name = self.components[0].name
        anywhere = np.broadcast_to(self.map_capacity > 0, self.map_units.shape)
        best = least_sum(self.map_units, anywhere, self.map_count)
        best += least_sum(self.reduce_units, self.usable, self.reduce_count)
        meaning = f"{name}, with every slot free and nothing to pay between pending maps and pending reduces"
        return (Bound("best-node", name, exact(best, self.grid), meaning),)

    # The program ---------------------------------------------------------------------------------------------------

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """Places of maps and reduces, and a linear form of what moves between them (Shen et al. 2016, note 3).

        `flow` sends the output of each class of equal maps from its nodes to those of the reduces, all at once, and
        cannot round the cost of an entry. `pairs` is RLT-1, with a product for each pair of class and reduce.
        """
        builder, members, (reduces, nodes) = Builder(), self.map_members, self._names
        hosts, usable = np.flatnonzero(self.map_capacity > 0), np.argwhere(self.usable).tolist()
        place = builder.columns(
            "place",
            [(name, nodes[host]) for name in members for host in hosts.tolist()],
            upper=np.repeat(self.map_classes.size, len(hosts)),
            cost=self.map_units[self.map_classes.first][:, hosts].ravel(),
            doc="maps of the class on the node",
        )
        run = builder.columns(
            "run",
            [(reduces[row], nodes[column]) for row, column in usable],
            upper=1,
            cost=self.reduce_units[self.usable],
            doc="1 if the reduce is on the node",
        )
        builder.group("members", "CLASSES", members, place=0, moved=0, both=0)
        self._enter_slots(builder, place, run)
        (self._enter_flow if self.form == "flow" else self._enter_pairs)(builder, place, run)
        return builder.program(unit=self.grid)

    def in_form(self, form: str) -> Self:
        """The same problem with a program of this form."""
        return self._view(form, self._alone)

    def apart(self) -> Self:
        """The same problem with each map as its own class in the program."""
        return self._view(self.form, True)

    def _view(self, form: str, alone: bool) -> Self:
        view = copy.copy(self)
        for name in ("map_classes", "map_members", "_outputs"):
            vars(view).pop(name, None)
        view.form, view._alone = form, alone
        return view

    @cached_property
    def sent(self) -> Floats:
        """MB that each map sends to each reduce, shape (reduces, maps)."""
        sent: Floats = np.zeros((len(self.reduces), len(self.maps)))
        np.add.at(sent, (self.entries.reduce, self.entries.map), self.entries.size)
        return sent

    @cached_property
    def map_classes(self) -> TaskClasses:
        """Maps that cost the same on every node and send the same to every reduce.

        In `flow`, maps that send to several reduces stay alone: a flow could serve each reduce from a near one of them,
        although each reduce needs the output of all.
        """
        sizes: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for one, other, size in zip(*(part.tolist() for part in self.entries), strict=True):
            sizes[one].append((other, size))
        alone = self._alone | ((self.form == "flow") & ((self.sent > 0).sum(axis=0) > 1))
        return TaskClasses.from_keys(
            [
                (position if alone[position] else NONE, units.tobytes(), tuple(sorted(sizes[position])))
                for position, units in enumerate(self.map_units)
            ]
        )

    @cached_property
    def map_members(self) -> dict[str, tuple[str, ...]]:
        """Ids of the maps of each class, by the first one."""
        maps = self.task_ids[self.maps]
        rows = [tuple(maps[row].tolist()) for row in self.map_classes.members]
        return {row[0]: row for row in rows}

    @cached_property
    def _outputs(self) -> dict[str, dict[str, float]]:
        """MB that a map of each class sends to each reduce, if any, by their ids."""
        reduces, sent = self._names[0], self.sent[:, self.map_classes.first].T
        return {
            name: {reduces[row]: float(some[row]) for row in np.flatnonzero(some).tolist()}
            for name, some in zip(self.map_members, sent, strict=True)
            if some.any()
        }

    @property
    def _names(self) -> tuple[list[str], list[str]]:
        """Ids of the reduces and of the nodes."""
        reduces = self.task_ids[self.reduces]
        return reduces.tolist(), self.instance.cluster.node_ids.tolist()

    @property
    def _all_placed(self) -> bool:
        return self.map_count == len(self.maps) and self.reduce_count == len(self.reduces)

    def _enter_slots(self, builder: Builder, place: dict[Label, int], run: dict[Label, int]) -> None:
        """Add how many tasks are placed, and the slots of nodes."""
        jobs = self.instance.workload.job_ids.tolist()
        reduce = np.nonzero(self.usable)[0]
        if place:
            every, size, room = dict.fromkeys(place.values(), 1), self.map_classes.size, self.map_capacity
            builder.constrain(
                "class_supply", summed(place, 0), upper=size, over="CLASSES", doc="no more than there are"
            )
            count = self.map_count
            builder.constrain("map_cardinality", {(): every}, lower=count, upper=count, doc="all that fit are placed")
            builder.constrain("map_slots", summed(place, 1), upper=room[room > 0], over="HOSTS", doc="map slots hold")
        if run:
            every, count = dict.fromkeys(run.values(), 1), self.reduce_count
            builder.constrain("reduce_once", summed(run, 0), upper=1, over="REDUCES", doc="it is on one node at most")
            builder.constrain("reduce_cardinality", {(): every}, lower=count, upper=count, doc="all that fit do run")
            index, on_node = self.instance.node_index, summed(run, 1)
            slots = self.reduce_capacity[[index[node] for (node,) in on_node]]
            builder.constrain("reduce_slots", on_node, upper=slots, doc="reduce slots hold")
        of_job = {
            (jobs[self.job[row]], label[1], label[0]): column
            for (label, column), row in zip(run.items(), reduce.tolist(), strict=True)
            if self.limited[row]
        }
        rivals = {pair: some for pair, some in summed(of_job, 0, 1).items() if len(some) > 1}
        builder.constrain("distinct", rivals, upper=1, doc="one reduce of a job on a node at most")

    def _enter_flow(self, builder: Builder, place: dict[Label, int], run: dict[Label, int]) -> None:
        """Add the output of each class as a flow from the nodes of its maps to those of the reduces."""
        hosts, targets = list(dict.fromkeys(label[1] for label in place)), [name for (name,) in summed(run, 1)]
        sources = hosts if self.map_count == len(self.maps) else [*hosts, None]  # None: from maps that are not placed
        index, lengths, outputs = self.instance.node_index, self.scale.lengths.astype(np.int64), self._outputs
        labels = [(c, p, i) for c in outputs for p in sources for i in targets]
        output = {name: int(sum(sent.values())) for name, sent in outputs.items()}
        size = {name: len(row) for name, row in self.map_members.items()}
        moved = builder.columns(
            "moved",
            labels,
            upper=[output[c] * size[c] for c, _, _ in labels],
            cost=[0 if p is None else lengths[index[p], index[i]] for _, p, i in labels],
            over="FLOWS",
            doc="MB of the class from node to node",
            implied=True,
        )
        if not moved:
            return
        leaves = summed(moved, 0, 1)
        for (c, p), terms in leaves.items():
            terms |= {place[c, q]: output[c] for q in hosts} if p is None else {place[c, p]: -output[c]}
        idle = [output[c] * size[c] * (p is None) for c, p in leaves]
        builder.constrain("sent", leaves, upper=idle, doc="no more than its maps on the node have for all reduces")
        arrives = summed(moved, 0, 2)
        for c, i in arrives:
            arrives[c, i] |= {run[f, i]: -size[c] * int(sent) for f, sent in outputs[c].items() if (f, i) in run}
        builder.constrain("received", arrives, lower=0, upper=0, doc="what the reduces on the node need of the class")

    def _enter_pairs(self, builder: Builder, place: dict[Label, int], run: dict[Label, int]) -> None:
        """Add a product for each pair of class and reduce and each pair of nodes, tied to where these are (RLT-1)."""
        on_class, of_reduce = summed(place, 0), summed(run, 0)
        index, size = self.instance.node_index, {name: len(row) for name, row in self.map_members.items()}
        nodes_of, hosts = defaultdict(list), list(dict.fromkeys(label[1] for label in place))
        for f, i in run:
            nodes_of[f].append(i)
        labels = [(c, f, p, i) for c, sent in self._outputs.items() for f in sent for p in hosts for i in nodes_of[f]]
        first = dict(zip(self.map_members, self.map_classes.first.tolist(), strict=True))
        row_of, units = {name: row for row, name in enumerate(self._names[0])}, self.units_between()
        both = builder.columns(
            "both",
            labels,
            upper=[size[c] for c, *_ in labels],
            cost=[units[first[c], row_of[f]][index[p], index[i]] for c, f, p, i in labels],
            over="PRODUCTS",
            doc="maps of the class on one node while the reduce is on the other",
            implied=True,
        )
        of_map, of_node = summed(both, 0, 1, 2), summed(both, 0, 1, 3)
        for c, f, p in of_map:
            of_map[c, f, p][place[c, p]] = -1
        for c, f, i in of_node:
            of_node[c, f, i][run[f, i]] = -size[c]
        due = 0 if self._all_placed else -UNBOUNDED
        builder.constrain("both_of_map", of_map, lower=due, upper=0, doc="as many as are on the node")
        builder.constrain("both_of_reduce", of_node, lower=due, upper=0, doc="the class, if the reduce is there")
        if self._all_placed:
            return
        # At least this much, except for tasks that are not placed.
        terms = [of_map[c, f, p] | dict.fromkeys(of_reduce[f,], -size[c]) for c, f, p in of_map]
        terms += [of_node[c, f, i] | dict.fromkeys(on_class[c,], -1) for c, f, i in of_node]
        least = [-size[c] for c, *_ in [*of_map, *of_node]]
        rows: dict[Label, dict[int, int]] = {(number,): some for number, some in enumerate(terms, 1)}
        builder.constrain("both_placed", rows, lower=least, doc="no less, but for tasks that are not placed")

    def values_of(self, decision: Placement, program: Program) -> Ints:
        (reduces, nodes), where = self._names, self.nodes_of(decision)
        of_class = [list(self.map_members)[row] for row in self.map_classes.of_task.tolist()]
        at, on = (
            [None if node == NONE else nodes[node] for node in where[positions].tolist()]
            for positions in (self.maps, self.reduces)
        )
        host = dict(zip(reduces, on, strict=True))
        held, moved = Counter(zip(of_class, at, strict=True)), Counter[Label]()
        for one, other, size in zip(*(part.tolist() for part in self.entries), strict=True):
            moved[of_class[one], at[one], host[reduces[other]]] += int(size)
        value_of: dict[str, Callable[..., int]] = {
            "place": lambda c, p: held[c, p],
            "run": lambda f, i: host[f] == i,
            "moved": lambda c, p, i: moved[c, p, i],
            "both": lambda c, f, p, i: held[c, p] * (host[f] == i),
        }
        return labelled(program, value_of)

    def decision_of(self, values: Ints, program: Program) -> Placement:
        position = {name: row for row, name in enumerate(self.task_ids.tolist())}
        waiting = {name: iter(row) for name, row in self.map_members.items()}
        nodes: Ints = np.full(len(self.tasks), NONE, dtype=np.int64)
        place, run, *_ = program.variables
        for (name, node), number in zip([*place.labels, *run.labels], values.tolist(), strict=False):
            for _ in range(number):
                nodes[position[next(waiting[name]) if name in waiting else name]] = self.instance.node_index[node]
        return self.placement(nodes)
