"""`traffic`: tasks to datacenters, least traffic between these, then least load (Sharmilarani et al., JoSS).

Within a datacenter traffic is free, so its nodes differ only in their slots. This module reduces the traffic between
datacenters to three arrays per job (`Job`, `Bundle`), from which the program follows (`TrafficProgram`).
"""

from __future__ import annotations

import copy
import itertools
import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from optsched.core.arrays import places_in
from optsched.core.decimals import rounded_in_words, rounded_units
from optsched.core.errors import Fault, InputError
from optsched.core.instance import LARGEST, MAP, REDUCE, Bools, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.problems.base import Problem, exact, overfull
from optsched.problems.counted_places import TaskClasses
from optsched.problems.parameters import Parameter, choice
from optsched.problems.programs import Builder, Label, Members, Program, Programmed
from optsched.problems.relaxations import Box
from optsched.problems.traffic_jobs import Bundle, Exchanging, Job, Sent, across, common_grid, sent_by_job

__all__ = ["Bundle", "Job", "Traffic"]

#: A target that no bound reaches.
_FAR = 2**60


class Traffic(Problem, Programmed):
    """Every pending map and reduce on a node; least MB between datacenters, then fewest maps in the fullest one.

    A map's block (|B_i|) crosses if no replica is in the map's datacenter. A block that no node holds costs its size
    everywhere. What the map sends to a reduce crosses if the two are in different datacenters. It is the size in
    `shuffle` for a job that is listed there, else |B_i| FP_J (`filter_ratio`) in equal shares to all reduces of the
    job. All of these sizes are exact if they have a common denominator of at most 2^20, as thirds of decimals may; else
    each is rounded once to 2^-20 MB.

    Tasks that run or have ended stay where they are, and their exchange with pending ones counts. The load counts maps,
    since policy C spreads their rounds over datacenters.

    With `capacity=none` slots mean nothing. With `slots` a node takes as many maps and as many reduces as it has idle
    slots of each. If these do not hold all tasks, nothing is feasible: a partial placement would look cheap, since
    waiting reduces receive nothing.

    Attributes
    ----------
    datacenters, datacenter
        Ids of those that have nodes, and the index of each node's datacenter (int64, shape (nodes,)).
    maps, reduces
        int64: positions in `tasks` of the two kinds.
    map_units
        int64, shape (maps, datacenters): units of 1/`grid` MB that cross with the map there: its block, and what it
        sends to running reduces.
    jobs
        What the jobs' maps send to their reduces.
    grid
        The common denominator of all sizes and shares, 1 if they are whole; 2^20 if it would be larger.
    map_slots, reduce_slots
        int64, shape (nodes,): how many maps and reduces a node takes.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> cluster = Cluster(["a", "b"], datacenter=[0, 1], datacenter_ids=["east", "west"])
    >>> workload = Workload(["m1", "m2", "r"], kind=[0, 0, 1], replicas=Ragged.from_rows([[0], [1], []]),
    ...     size=[10, 10, 0], job=[0, 0, 0], job_ids=["j"], filter_ratio=[1.5])
    >>> problem = Traffic(Instance(cluster, workload))
    >>> problem.evaluate(problem.placement([0, 1, 0])), problem.evaluate(problem.placement([0, 0, 0]))
    ((15, 1), (10, 2))
    """

    name = "traffic"
    title = "maps and reduces to datacenters, least traffic between them, then least load of the fullest"
    paper = "001"
    kinds = (MAP, REDUCE)
    by_replicas = True
    components = (Component("traffic", Sense.MIN, "MB"), Component("load", Sense.MIN, "maps"))
    parameter_table = (
        Parameter(
            "capacity",
            "none",
            choice("none", "slots"),
            "whether idle slots limit what a node takes (the paper has no limit)",
        ),
        Parameter(
            "reduces",
            "together",
            choice("together", "free"),
            "all reduces of a job in one datacenter, as policies A, B and C place them, or each anywhere",
        ),
    )
    requires = (
        "nodes[].datacenter",
        "tasks[].size of maps",
        "jobs[].filter_ratio, or shuffle, of jobs with maps and reduces",
    )
    proof = Proof.DUAL
    always_feasible = False
    #: The program's limit on the load.
    _limit: int | None = None

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        workload, state = instance.workload, instance.state
        for node in np.flatnonzero(instance.cluster.datacenter < 0).tolist():
            yield Fault(f"nodes[{node}].datacenter", f"{cls.name} needs to know where the node is")
        who = Exchanging(instance)
        for task in np.flatnonzero(who.sized & np.isnan(workload.size)).tolist():
            yield Fault(f"tasks[{task}].size", f"{cls.name} needs the size of the map's block in MB")
        for task in np.flatnonzero(who.sending & ~who.pending & (state.node < 0)).tolist():
            message = f"{cls.name} needs to know where the map ran: reduces of its job wait for what it made"
            yield Fault(f"tasks[{task}].node", message)
        for job in np.flatnonzero(who.by_ratio & np.isnan(workload.filter_ratio)).tolist():
            yield Fault(f"jobs[{job}].filter_ratio", f"{cls.name} needs it (FP_J), or what the maps send in shuffle")
        if workload.shuffle is not None:
            ends = workload.job[np.stack([workload.shuffle.map, workload.shuffle.reduce])]
            for row in np.flatnonzero((ends[0] != ends[1]) | (ends[0] < 0)).tolist():
                yield Fault(f"shuffle[{row}]", f"{cls.name} needs a map and a reduce of one job")

    def prepare(self) -> None:
        instance = self.instance
        cluster, workload = instance.cluster, instance.workload
        used = np.unique(cluster.datacenter)
        self.datacenters: tuple[str, ...] = tuple(cluster.datacenter_ids[used].tolist())
        self.datacenter: Ints = np.searchsorted(used, cluster.datacenter).astype(np.int64)
        is_map = workload.kind[self.tasks] == MAP
        self.maps: Ints = np.flatnonzero(is_map).astype(np.int64)
        self.reduces: Ints = np.flatnonzero(~is_map).astype(np.int64)
        if self.parameters["capacity"] == "slots":
            self.map_slots, self.reduce_slots = instance.state.idle_slots, instance.state.idle_reduce_slots
        else:
            self.map_slots = np.full(len(cluster), len(self.maps), dtype=np.int64)
            self.reduce_slots = np.full(len(cluster), len(self.reduces), dtype=np.int64)
        size = workload.size[self.tasks[self.maps]]
        sent = tuple(sent_by_job(instance))
        self.grid = common_grid(size, sent)
        if (float(size.sum()) + sum(part.megabytes for part in sent)) * self.grid > LARGEST:
            message = f"traffic may total too much, past 2^53/{self.grid} MB; scale the sizes down"
            raise InputError([Fault("tasks.size", message)], self.place)
        self._exchanged = np.concatenate([size, *(part.exchanged() for part in sent)])
        crosses: Bools = np.ones((len(self.maps), len(used)), dtype=bool)
        rows = self.replicas.take(self.maps)
        crosses[rows.row_of, self.datacenter[rows.values]] = False
        self.map_units: Ints = crosses * rounded_units(size, self.grid)[:, None]
        self.jobs: tuple[Job, ...] = tuple(self._made_jobs(sent))
        for array in (self.datacenter, self.maps, self.reduces, self.map_units, self.map_slots, self.reduce_slots):
            array.setflags(write=False)

    @property
    def remark(self) -> str | None:
        """The remark that sizes without a common denominator are rounded."""
        return rounded_in_words(self._exchanged, self.grid, "sizes in MB (of blocks, and from maps to reduces)")

    def _made_jobs(self, sent: Sequence[Sent]) -> Iterator[Job]:
        """Collect what each job's maps send to its bundles. Data for running reduces is added to `map_units`."""
        workload, count = self.instance.workload, len(self.datacenters)
        position = np.full(len(workload), -1, dtype=np.int64)  # of each task in `maps` or `reduces`
        position[self.tasks[self.maps]] = np.arange(len(self.maps))
        position[self.tasks[self.reduces]] = np.arange(len(self.reduces))
        where = np.append(self.datacenter, -1)[self.instance.state.node]
        for one in sent:
            units, maps, reduces = one.units(self.grid), position[one.maps], position[one.reduces]
            self.map_units[maps] += across(units[: len(maps), len(reduces) :], where[one.running], count)
            together = self.parameters["reduces"] == "together" and one.job >= 0
            bundles = []
            for group in np.split(np.arange(len(reduces)), [] if together else range(1, len(reduces))):
                if len(group):
                    from_settled = units[len(maps) :, group].sum(axis=1)[None, :]
                    crossing = across(from_settled, where[one.settled], count)[0]
                    bundles.append(Bundle(reduces[group], units[: len(maps), group].sum(axis=1), crossing))
            yield Job(str(workload.job_ids[one.job]) if one.job >= 0 else "", maps, tuple(bundles))

    # Value and feasibility -----------------------------------------------------------------------------------------

    def objective(self, placement: Placement, /) -> Value:
        at = self.datacenter[self.nodes_of(placement)]
        at_map, at_reduce = at[self.maps], at[self.reduces]
        units = int(self.map_units[np.arange(len(self.maps)), at_map].sum())
        for job in self.jobs:
            for bundle in job.bundles:
                host = at_reduce[bundle.reduces[0]]
                units += int(bundle.send[at_map[job.maps] != host].sum()) + int(bundle.settled[host])
        return exact(units, self.grid), int(np.bincount(at_map).max(initial=0))

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        ids = self.task_ids
        nodes = self.nodes_of(placement)
        for task in np.flatnonzero(nodes == NONE).tolist():
            yield Violation("every-task-placed", (str(ids[task]),), 1)
        for constraint, tasks, slots in (
            ("slots", self.maps, self.map_slots),
            ("reduce-slots", self.reduces, self.reduce_slots),
        ):
            yield from overfull(self.instance.cluster, nodes[tasks], slots, constraint)
        at = np.append(self.datacenter, NONE)[nodes[self.reduces]]
        for job in self.jobs:
            for bundle in job.bundles:
                hosts = at[bundle.reduces]
                hosts = hosts[hosts != NONE]
                apart = len(hosts) - int(np.bincount(hosts).max(initial=0))
                if apart:
                    yield Violation("reduces-together", (job.name,), apart)

    @property
    def plainly_infeasible(self) -> str | None:
        if len(self.tasks) and not self.datacenters:
            return "there is no node"
        for tasks, room, kind in ((self.maps, self.map_room, "map"), (self.reduces, self.reduce_room, "reduce")):
            if len(tasks) > int(room.sum()):
                return f"{len(tasks)} {kind}s are pending, and only {int(room.sum())} {kind} slots are idle"
        for job in self.jobs:
            for bundle in job.bundles:
                if len(bundle.reduces) > int(self.reduce_room.max()):
                    return (
                        f"no datacenter has {len(bundle.reduces)} idle reduce slots, which job {job.name} needs in one"
                    )
        return None

    @property
    def offered(self) -> Mapping[str, Ints]:
        """Slots of each node; if slots mean nothing, as many as there are tasks."""
        return MappingProxyType({"map": self.map_slots, "reduce": self.reduce_slots})

    @property
    def due(self) -> int:
        return len(self.tasks)

    @cached_property
    def bundles(self) -> tuple[Bundle, ...]:
        """The bundles of all jobs, in their order."""
        return tuple(bundle for job in self.jobs for bundle in job.bundles)

    @cached_property
    def map_room(self) -> Ints:
        """How many maps each datacenter takes; int64, shape (datacenters,)."""
        return _room(self.map_slots, self.datacenter, len(self.datacenters), len(self.maps))

    @cached_property
    def reduce_room(self) -> Ints:
        """How many reduces each datacenter takes; int64, shape (datacenters,)."""
        return _room(self.reduce_slots, self.datacenter, len(self.datacenters), len(self.reduces))

    def room_within(self, limit: int | None) -> Ints:
        """How many maps each datacenter takes under a limit on the load; None: no limit."""
        return self.map_room if limit is None else np.minimum(self.map_room, limit)

    def holds(self, limit: int | None) -> bool:
        """Whether counting alone allows that all maps are placed under a limit on the load."""
        return len(self.maps) <= int(self.room_within(limit).sum())

    @property
    def least_load(self) -> int:
        """The least load that counting does not rule out: maps are spread as evenly as the room allows."""
        return bisect_left(range(len(self.maps)), True, key=self.holds)

    def placed_in(self, datacenter_of_map: Ints, datacenter_of_reduce: Ints) -> Placement:
        """A placement with each map and reduce in a given datacenter, if there is room, over its slots in turn.

        `datacenter_of_map` and `datacenter_of_reduce`: int64, shapes (maps,) and (reduces,).
        """
        nodes = np.full(len(self.tasks), NONE, dtype=np.int64)
        for tasks, at, slots in (
            (self.maps, datacenter_of_map, self.map_slots),
            (self.reduces, datacenter_of_reduce, self.reduce_slots),
        ):
            for center in np.unique(at).tolist():
                inside = tasks[at == center]
                local = np.flatnonzero(self.datacenter == center)
                most = slots[local]
                # As many turns as necessary, since slots may be unlimited.
                turns = bisect_left(range(len(inside)), len(inside), key=lambda up: int(np.minimum(most, up).sum()))
                slots_of = np.minimum(most, turns)
                node = np.repeat(local, slots_of)
                nodes[inside] = node[np.argsort(places_in(slots_of), kind="stable")[: len(inside)]]
        return self.placement(nodes)

    def locality_counts(self, placement: Placement) -> Mapping[str, int]:
        """How many maps have a replica on their own node (VPS-local), in their datacenter only, and in neither."""
        nodes = self.nodes_of(placement)
        rows = self.replicas.take(self.maps)
        hosts = nodes[self.maps]
        on_node, near = np.zeros(len(hosts), dtype=bool), np.zeros(len(hosts), dtype=bool)
        on_node[rows.row_of[rows.values == hosts[rows.row_of]]] = True
        near[rows.row_of[self.datacenter[rows.values] == self.datacenter[hosts[rows.row_of]]]] = True
        counts = int(on_node.sum()), int((near & ~on_node).sum()), int((~near).sum())
        return dict(zip(("node", "datacenter", "off_datacenter"), counts, strict=True))

    # What is proved ------------------------------------------------------------------------------------------------

    @cached_property
    def step(self) -> int:
        """The step of the traffic: the greatest common divisor of the amounts that can cross, in units."""
        parts = [self.map_units.ravel()]
        parts += [part for bundle in self.bundles for part in (bundle.send, bundle.settled)]
        return max(1, int(np.gcd.reduce(np.concatenate(parts))) if sum(map(len, parts)) else 1)

    def map_classes(self) -> TaskClasses:
        """Maps that the problem does not distinguish: same job, same crossings, same amounts sent."""
        key: list[object] = [None] * len(self.maps)
        for number, job in enumerate(self.jobs):
            sends = np.stack([bundle.send for bundle in job.bundles], axis=1) if job.bundles else self.maps[:0]
            for position, row in enumerate(job.maps.tolist()):
                sent = sends[position].tobytes() if job.bundles else b""
                key[row] = (number, self.map_units[row].tobytes(), sent)
        return TaskClasses.from_keys(key)

    # The program ---------------------------------------------------------------------------------------------------

    @cached_property
    def posing(self) -> TrafficProgram:
        """The meaning of the program's variables."""
        return TrafficProgram(self)

    def within(self, limit: int | None) -> Traffic:
        """The same problem with at most `limit` maps per datacenter in its program; None: no limit."""
        return self._seen(limit, self.posing)

    def apart(self) -> Traffic:
        """The same problem with a variable for each task and each node that takes its kind."""
        return self._seen(self._limit, TrafficProgram(self, apart=True))

    def _seen(self, limit: int | None, posing: TrafficProgram) -> Traffic:
        view = copy.copy(self)
        vars(view).pop("_least_traffic", None)
        view._limit = limit
        vars(view)["posing"] = posing
        return view

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """See `TrafficProgram`."""
        return self.posing.least_load(math.floor(before[0])) if before else self._least_traffic

    @cached_property
    def _least_traffic(self) -> Program:
        program = self.posing.least_traffic
        if self._limit is None:
            return program
        upper = program.numbers.row_upper.copy()
        upper[program.rows_of("map_slots")] = self.room_within(self._limit)
        return replace(program, numbers=replace(program.numbers, row_upper=upper))

    def values_of(self, decision: Placement, program: Program) -> Ints:
        return self.posing.values_of(decision, program)

    def decision_of(self, values: Ints, program: Program) -> Placement:
        return self.posing.decision_of(values, program)

    def price_bound(self, map_prices: Ints, reduce_prices: Ints, scale: int, limit: int | None = None) -> int:
        """Units of traffic that every placement causes at least, as prices of slots prove; valid for any prices.

        It is weak duality, with the best multipliers of all other rows (`TrafficProgram.multipliers`), rounded up to a
        multiple of `step`. Without prices it is the optimum without capacities if each job's bundles are alike.

        Parameters
        ----------
        map_prices, reduce_prices
            int64, shape (datacenters,): price of a map slot and of a reduce slot of each datacenter, in units times
            `scale`; negative ones count as 0.
        scale
            Denominator of the prices, above 0.
        limit
            A limit on the load; the bound then holds only for placements within it.
        """
        posed = self.within(limit)
        return posed.settle(posed.program().numbers.box, (map_prices, reduce_prices, scale), None)

    def settle(self, box: Box, prices: tuple[Ints, Ints, int], target: int | None) -> int:
        """Units of traffic that prices prove for a box of the program, which they narrow: at most `target`.

        Narrowing removes only placements that cause `target` units or more; None: it removes none.
        """
        if not self.datacenters:  # nothing is placed, and nothing crosses
            return 0
        target = _FAR if target is None else target
        least = -(-target // self.step) * self.step - self.step + 1  # less than this is below the target
        found = self.program().numbers.settle(box, self.posing.multipliers(*prices, box), least)
        return min(-(-(found or 0) // self.step) * self.step, target)

    @cached_property
    def beyond(self) -> int:
        """More units than any placement causes."""
        sends = sum(int(bundle.send.sum()) + int(bundle.settled.max(initial=0)) for bundle in self.bundles)
        return int(self.map_units.max(axis=1, initial=0).sum()) + sends + 1

    @property
    def first_step(self) -> Number:
        return Fraction(1, self.grid)

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """Each job in the datacenters that are best for it alone; and the maps spread evenly."""
        free = np.zeros(len(self.datacenters), dtype=np.int64)
        best = exact(self.price_bound(free, free, 1), self.grid)
        meaning, source = "traffic, with every slot open to every task", "Sharmilarani et al., note 9"
        return (
            Bound("best-datacenter", "traffic", best, meaning, source),
            Bound("even-spread", "load", self.least_load, "load, at any traffic"),
        )


class TrafficProgram:
    """The exact program: maps of classes in datacenters, bundles of reduces, and how many maps are with each.

    The traffic is bilinear: what a map sends crosses if its reduce is elsewhere. Given where the bundles are, the
    classes are independent, so the program is as strong as the product of every pair of variables. Given prices of the
    slots, all other multipliers of its rows have a closed form (`multipliers`).

    If tasks are `apart`, each map is its own class, and each task has a variable for each node that takes its kind. The
    pairs are those classes (`pair_class`) and bundles (`pair_bundle`, positions in `Traffic.bundles`) where one sends
    to the other: `send` units per map.
    """

    def __init__(self, problem: Traffic, apart: bool = False) -> None:
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


def _room(slots: Ints, datacenter: Ints, count: int, tasks: int) -> Ints:
    """Slots of each datacenter, at most the number of tasks."""
    room: Ints = np.zeros(count, dtype=np.int64)
    np.add.at(room, datacenter, np.minimum(slots, tasks))
    return np.minimum(room, tasks)
