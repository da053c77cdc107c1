"""The exact program of `traffic`, and the best multipliers of its rows given prices of slots."""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import Any

import numpy as np

from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.problems.counted_places import TaskClasses
from optsched.problems.programs import Builder, Label, Members, Program
from optsched.problems.relaxations import Box
from optsched.problems.traffic_definition import TrafficDefinition


class TrafficProgram:
    """The exact program: maps of classes in datacenters, bundles of reduces, and how many maps are with each.

    The traffic is bilinear: what a map sends crosses if its reduce is elsewhere. Given where the bundles are, the
    classes are independent, so the program is as strong as the product of every pair of variables. Given prices of the
    slots, all other multipliers of its rows have a closed form (`multipliers`).

    If tasks are `apart`, each map is its own class, and each task has a variable for each node that takes its kind. The
    pairs are those classes (`pair_class`) and bundles (`pair_bundle`, positions in `Traffic.bundles`) where one sends
    to the other: `send` units per map.
    """

    def __init__(self, problem: TrafficDefinition, apart: bool = False) -> None:
        self.problem, self.apart = problem, apart
        self.centers = len(problem.datacenters)
        self.classes = TaskClasses.from_keys(range(len(problem.maps))) if apart else problem.map_classes()
        first = np.zeros(len(problem.maps), dtype=bool)
        first[self.classes.first] = True
        owner, units = [], []
        for job in problem.jobs:
            own = job.maps[first[job.maps]]
            for bundle in job.bundles:
                owner.append(self.classes.of_task[own])
                units.append(bundle.send[first[job.maps]])
        none: Ints = np.zeros(0, dtype=np.int64)
        number = np.repeat(np.arange(len(owner)), np.array([len(own) for own in owner], dtype=np.int64))
        send = np.concatenate([none, *units])
        self.pair_class, self.pair_bundle = np.concatenate([none, *owner])[send > 0], number[send > 0]
        self.send: Ints = send[send > 0]

    @property
    def _settled(self) -> Ints:
        """The traffic of settled maps with each bundle in each datacenter, shape (bundles, datacenters)."""
        settled = [bundle.settled for bundle in self.problem.bundles]
        return np.array(settled, dtype=np.int64).reshape(len(settled), self.centers)

    @cached_property
    def weight(self) -> Ints:
        """How many reduces each bundle has, int64, shape (bundles,)."""
        return np.array([len(bundle.reduces) for bundle in self.problem.bundles], dtype=np.int64)

    @property
    def _nodes(self) -> tuple[Ints, Ints]:
        """The nodes that take maps, and those that take reduces, if tasks are apart."""
        return np.flatnonzero(self.problem.map_slots), np.flatnonzero(self.problem.reduce_slots)

    # Rows ----------------------------------------------------------------------------------------------------------

    @cached_property
    def least_traffic(self) -> Program:
        """The program of the first component."""
        builder = Builder()
        self._enter(builder, True)
        return builder.program(0, self.problem.grid)

    def least_load(self, most: int) -> Program:
        """The program of the second component, with at most `most` units of traffic."""
        builder = Builder()
        place, center, columns, cost = self._enter(builder, False)
        doc = "maps in the fullest datacenter"
        most_maps = len(self.problem.maps)
        load = builder.variables("load", [()], lower=self.problem.least_load, upper=most_maps, cost=1, doc=doc)
        doc = "no datacenter has more maps than the load"
        fullest = builder.rows("fullest", self._labels(), upper=0, over="CENTERS", doc=doc)
        builder.enter(fullest[center], place)
        builder.enter(fullest, load, -1)
        builder.enter(builder.rows("traffic", [()], upper=most, doc="no more traffic than is given"), columns, cost)
        return builder.program(1)

    def _labels(self) -> list[Label]:
        return [(center,) for center in self.problem.datacenters]

    def _enter(self, builder: Builder, costly: bool) -> tuple[Ints, Ints, Ints, Ints]:
        """Add everything except the load; returns columns of maps in places, shape (classes, places), and each place's
        datacenter.

        Also returns all columns that take part in the traffic, and the units that one of each adds to it; with `costly`
        these are their costs in the program too.
        """
        problem, count, size = self.problem, self.centers, self.classes.size
        tasks, nodes = problem.task_ids, problem.instance.cluster.node_ids
        first = problem.maps[self.classes.first]
        names, centers = tasks[first].tolist(), list(problem.datacenters)
        reduces = [tasks[problem.reduces[bundle.reduces]].tolist() for bundle in problem.bundles]
        bundles = [own[0] for own in reduces]
        total = np.bincount(self.pair_class, self.send, len(names)).astype(np.int64)
        alone = problem.map_units[self.classes.first] + total[:, None]
        on_map, on_reduce = self._nodes
        center = problem.datacenter[on_map] if self.apart else np.arange(count)
        spots = nodes[on_map].tolist() if self.apart else centers
        labels: list[Label] = list(itertools.product(names, spots))
        cost = [self._settled.ravel(), alone[:, center].ravel(), -np.repeat(self.send, count)]
        if self.apart:
            labels += itertools.product(tasks[problem.reduces].tolist(), nodes[on_reduce].tolist())
        pairs = list(zip(self.pair_class.tolist(), self.pair_bundle.tolist(), strict=True))
        both: list[Label] = [(names[row], bundles[at], there) for row, at in pairs for there in centers]
        sizes, moved = np.repeat(size, len(spots)), len(labels) - cost[1].size
        doc = "the bundle is in the datacenter"
        host = builder.variables(
            "host",
            list(itertools.product(bundles, centers)),
            upper=1,
            cost=cost[0] * costly,
            over="HOSTS",
            doc=doc,
            cost_name="settled" * costly,
        )
        doc = "the task runs on the node" if self.apart else "maps of the class in the datacenter"
        upper, own_cost = (np.append(part, np.full(moved, fill)) for part, fill in ((sizes, 1), (cost[1], 0)))
        place = builder.variables(
            "place",
            labels,
            upper=upper,
            cost=own_cost * costly,
            over="PLACES",
            doc=doc,
            cost_name="alone" * (costly and not self.apart),
        )
        doc = "maps of the class that are in the datacenter with the bundle"
        together = builder.variables(
            "together",
            both,
            upper=np.repeat(size[self.pair_class], count),
            cost=cost[2] * costly,
            over="TOGETHER",
            doc=doc,
        )
        members = Members(tasks[first], self.classes.members, tasks[problem.maps])
        builder.group("members", "CLASSES", members, place=0, together=0)
        builder.group("reduces", "BUNDLES", {own[0]: tuple(own) for own in reduces})
        place, moved_to = np.split(place, [len(names) * len(spots)])
        place, at = place.reshape(len(names), len(spots)), host.reshape(len(bundles), count)
        with_host = together.reshape(len(pairs), count)
        self._enter_rows(
            builder, ([(name,) for name in names], [(name,) for name in bundles], both), center, place, at, with_host
        )
        if self.apart:
            self._enter_nodes(builder, place, moved_to.reshape(len(problem.reduces), len(on_reduce)), at)
        return place, center, np.concatenate([host, place.ravel(), together]), np.concatenate(cost)

    def _enter_rows(
        self,
        builder: Builder,
        labels: tuple[list[Label], list[Label], list[Label]],
        center: Ints,
        place: Ints,
        at: Ints,
        together: Ints,
    ) -> None:
        """Add the constraints of maps in places, of bundles in datacenters (`at`), and of maps together with bundles.

        `labels`: of classes of maps, of bundles, and of class, bundle and datacenter. `center`: that of each place.
        """
        (maps, bundles, both), problem, size = labels, self.problem, self.classes.size
        rows = builder.rows("placed", maps, lower=size, upper=size, over="CLASSES", doc="every map")
        builder.enter(rows[:, None], place)
        rows = builder.rows("hosted", bundles, lower=1, upper=1, over="BUNDLES", doc="every bundle")
        builder.enter(rows[:, None], at)
        doc = "no datacenter takes more than it has room for"
        rows = builder.rows("map_slots", self._labels(), upper=problem.map_room, over="CENTERS", doc=doc)
        builder.enter(rows[center], place)
        rows = builder.rows("reduce_slots", self._labels(), upper=problem.reduce_room, over="CENTERS", doc=doc)
        builder.enter(rows, at, self.weight[:, None])
        doc = "no more are together than there are maps"
        rows = builder.rows("with_maps", both, upper=0, over="TOGETHER", doc=doc).reshape(together.shape)
        builder.enter(rows, together)
        builder.enter(rows[:, center], place[self.pair_class], -1)
        doc = "none are together where the bundle is not"
        rows = builder.rows("with_bundle", both, upper=0, over="TOGETHER", doc=doc).reshape(together.shape)
        builder.enter(rows, together)
        builder.enter(rows, at[self.pair_bundle], -size[self.pair_class][:, None])

    def _enter_nodes(self, builder: Builder, maps: Ints, reduces: Ints, host: Ints) -> None:
        """Require reduces to be where their bundle is, and add the slots of the nodes."""
        problem = self.problem
        tasks, nodes = problem.task_ids, problem.instance.cluster.node_ids
        on_map, on_reduce = self._nodes
        labels = list(itertools.product(tasks[problem.reduces].tolist(), problem.datacenters))
        doc = "a reduce is in the datacenter of its bundle"
        rows = builder.rows("with_host", labels, lower=0, upper=0, doc=doc).reshape(len(problem.reduces), self.centers)
        builder.enter(rows[:, problem.datacenter[on_reduce]], reduces)
        for bundle, columns in zip(problem.bundles, host, strict=True):
            builder.enter(rows[bundle.reduces], columns, -1)
        names = [(kind, name) for kind, own in (("map", on_map), ("reduce", on_reduce)) for name in nodes[own].tolist()]
        most = np.concatenate([problem.map_slots[on_map], problem.reduce_slots[on_reduce]])
        rows = builder.rows("node_slots", names, upper=most, doc="no node takes more than its slots")
        builder.enter(rows[: len(on_map)], maps)
        builder.enter(rows[len(on_map) :], reduces)

    # Decisions -----------------------------------------------------------------------------------------------------

    def values_of(self, placement: Placement, program: Program) -> Ints:
        """The values of the variables for a placement; 0 for tasks that are not placed."""
        problem, nodes = self.problem, self.problem.nodes_of(placement)
        at = np.append(problem.datacenter, NONE)[nodes]
        every = np.arange(self.centers)
        first = problem.reduces[[bundle.reduces[0] for bundle in problem.bundles]]
        host = (at[first][:, None] == every).astype(np.int64)
        maps = np.zeros((len(self.classes.first), self.centers), dtype=np.int64)
        np.add.at(maps, self.classes.of_task, at[problem.maps][:, None] == every)
        places = [maps]
        if self.apart:
            of_kind = zip((problem.maps, problem.reduces), self._nodes, strict=True)
            places = [(nodes[tasks][:, None] == own).astype(np.int64) for tasks, own in of_kind]
        together = np.minimum(maps[self.pair_class], host[self.pair_bundle] * self.classes.size[self.pair_class, None])
        load = [maps.sum(axis=0).max(initial=problem.least_load)] if program.component else []
        parts = (host, *places, together)
        return np.concatenate([*(part.ravel() for part in parts), np.array(load, dtype=np.int64)])

    def decision_of(self, values: Ints, program: Program) -> Placement:
        """The placement that values stand for."""
        problem, places = self.problem, values[program.family("place")]
        if self.apart:
            nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
            on_map, on_reduce = self._nodes
            of_maps, of_reduces = np.split(places, [len(problem.maps) * len(on_map)])
            for tasks, own, chosen in ((problem.maps, on_map, of_maps), (problem.reduces, on_reduce, of_reduces)):
                task, spot = np.nonzero(chosen.reshape(len(tasks), len(own)))
                nodes[tasks[task]] = own[spot]
            return problem.placement(nodes)
        at_map, at_reduce = (np.zeros(len(tasks), dtype=np.int64) for tasks in (problem.maps, problem.reduces))
        for members, row in zip(
            self.classes.members, places.reshape(len(self.classes.first), self.centers), strict=True
        ):
            at_map[members] = np.repeat(np.arange(self.centers), row)
        hosts = values[program.family("host")].reshape(len(self.weight), self.centers).argmax(axis=1)
        for bundle, center in zip(problem.bundles, hosts.tolist(), strict=True):
            at_reduce[bundle.reduces] = center
        return problem.placed_in(at_map, at_reduce)

    # Prices --------------------------------------------------------------------------------------------------------

    def with_host(self, box: Box, bundle: int, center: int) -> Box:
        """The part of a box with a bundle in a datacenter."""
        lower, upper = box.lower.copy(), box.upper.copy()
        own, at = slice(bundle * self.centers, (bundle + 1) * self.centers), bundle * self.centers + center
        lower[at], upper[own] = 1, np.where(np.arange(self.centers) == center, upper[own], 0)
        return Box(lower, upper)

    def open_hosts(self, box: Box) -> Any:
        """Where bundles may be, bool, shape (bundles, datacenters)."""
        return box.upper[: len(self.weight) * self.centers].reshape(len(self.weight), self.centers) > 0

    def multipliers(self, map_prices: Ints, reduce_prices: Ints, scale: int, box: Box) -> Ints:
        """The best multipliers of all rows of the least traffic in a box, given those of the slots.

        Jobs that pay for slots are independent of each other. Within a job each bundle chooses a datacenter, and given
        that each map does: a closed form. A map that sends to several bundles is divided among them in equal parts.
        Each part may then prefer another place, so this is still a bound. If all of them are in given datacenters, the
        map is in one place.

        Parameters
        ----------
        map_prices, reduce_prices
            Prices of the slots of each datacenter, shape (datacenters,), in units times `scale`; negative ones count
            as 0.
        scale
            Denominator of the prices, above 0.
        """
        problem, owner, size = self.problem, self.pair_class, self.classes.size
        open_hosts = self.open_hosts(box)
        parts = np.maximum(np.bincount(owner, minlength=len(size)), 1)
        fine = math.lcm(*np.unique(parts).tolist())
        largest = (scale * problem.beyond + int(np.maximum(map_prices, 0).max(initial=0)) + 1) * fine
        largest += int(np.maximum(reduce_prices, 0).max(initial=0)) * fine * (len(problem.reduces) + 1)
        kind: Any = np.int64 if largest < 2**60 else object
        map_prices, reduce_prices = (np.maximum(one, 0).astype(kind) * fine for one in (map_prices, reduce_prices))
        scale *= fine
        base = problem.map_units[self.classes.first].astype(kind) * scale + map_prices
        places = slice(open_hosts.size, open_hosts.size + base.size)
        base = np.where(box.upper[places].reshape(base.shape) > 0, base, largest)
        send = self.send.astype(kind) * scale
        host = np.where(open_hosts.sum(axis=1) == 1, open_hosts.argmax(axis=1), NONE)[self.pair_bundle]
        joint = np.bincount(owner, host == NONE, len(size)) == 0
        near = host[:, None] == np.arange(self.centers)
        total = np.zeros(len(size), dtype=kind)
        np.add.at(total, owner, send)
        together = base + total[:, None]
        np.subtract.at(together, owner, near * send[:, None])
        least = base.min(axis=1, initial=largest)
        beyond = (base - least[:, None]) // parts[:, None]
        with_maps = np.where(joint[owner][:, None], near * send[:, None], np.minimum(beyond[owner], send[:, None]))
        placed = np.where(joint, together.min(axis=1, initial=2 * largest), least + total)
        with_bundle = send[:, None] - with_maps
        paid = self._settled.astype(kind) * scale + reduce_prices * self.weight.astype(kind)[:, None]
        np.subtract.at(paid, self.pair_bundle, with_bundle * size.astype(kind)[owner][:, None])
        hosted = np.where(open_hosts, paid, largest * 2).min(axis=1, initial=2 * largest)
        each = [[scale], placed, hosted, -map_prices, -reduce_prices, -with_maps.ravel(), -with_bundle.ravel()]
        return np.concatenate([np.asarray(part, dtype=kind) for part in each])
