"""`traffic`: value and feasibility, and the traffic between datacenters as three arrays per job (`Job`, `Bundle`).

Within a datacenter traffic is free, so its nodes differ only in their slots.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from optsched.core.arrays import places_in
from optsched.core.decimals import rounded_in_words, rounded_units
from optsched.core.errors import Fault, InputError
from optsched.core.instance import LARGEST, MAP, REDUCE, Bools, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Component, Proof, Sense, Value, Violation
from optsched.problems.base import Problem, exact, overfull
from optsched.problems.counted_places import TaskClasses
from optsched.problems.parameters import Parameter, choice
from optsched.problems.traffic_jobs import Bundle, Exchanging, Job, Sent, across, common_grid, sent_by_job


class TrafficDefinition(Problem):
    """Value, constraints and arrays of `Traffic`, which describes each; it adds the program."""

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

    @cached_property
    def beyond(self) -> int:
        """More units than any placement causes."""
        sends = sum(int(bundle.send.sum()) + int(bundle.settled.max(initial=0)) for bundle in self.bundles)
        return int(self.map_units.max(axis=1, initial=0).sum()) + sends + 1


def _room(slots: Ints, datacenter: Ints, count: int, tasks: int) -> Ints:
    """Slots of each datacenter, at most the number of tasks."""
    room: Ints = np.zeros(count, dtype=np.int64)
    np.add.at(room, datacenter, np.minimum(slots, tasks))
    return np.minimum(room, tasks)
