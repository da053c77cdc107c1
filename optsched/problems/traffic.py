"""`traffic`: tasks to datacenters, least traffic between these, then least load (Sharmilarani et al., JoSS).

Within a datacenter traffic is free, so its nodes differ only in their slots. This module reduces how much traffic the
datacenters cause to three arrays a job (`Job`, `Bundle`), from which the program follows
(`optsched.problems.traffic_program`).
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from types import MappingProxyType
from typing import Any

import numpy as np

from optsched.core.arrays import grouped
from optsched.core.decimals import FINEST, common_denominator, decimal, for_each, rounded_in_words, rounded_units
from optsched.core.errors import Fault, InputError
from optsched.core.instance import FINISHED, LARGEST, MAP, PENDING, REDUCE, RUNNING, Bools, Floats, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.problems.base import Parameter, Problem, choice, exact, overfull
from optsched.problems.counted_places import TaskClasses
from optsched.problems.programs import Program, Programmed
from optsched.problems.relaxations import Box
from optsched.problems.traffic_program import TrafficProgram

__all__ = ["Bundle", "Job", "Traffic"]

#: A target that no bound reaches.
_FAR = 2**60


@dataclass(frozen=True, eq=False, slots=True)
class Bundle:
    """Reduces of a job that go to one datacenter together: all of them, or each alone with `reduces=free`.

    Attributes
    ----------
    reduces
        Their places in `Traffic.reduces`; int64.
    send
        Units that each of the job's maps sends to them all together; int64, shape (maps of the job,).
    settled
        Units that the maps which run or have ended send across, with the bundle in each datacenter; int64, shape
        (datacenters,).
    """

    reduces: Ints
    send: Ints
    settled: Ints


@dataclass(frozen=True, eq=False, slots=True)
class Job:
    """The tasks of a job that are to be placed. All tasks without a job make one, called "", without traffic.

    Attributes
    ----------
    name
        Its id.
    maps
        Their places in `Traffic.maps`; int64.
    bundles
        Its reduces.
    """

    name: str
    maps: Ints
    bundles: tuple[Bundle, ...]


class Traffic(Problem, Programmed):
    """Every pending map and reduce on a node; least MB between datacenters, then fewest maps in the fullest one.

    A map's block (|B_i|) crosses where no replica is in the map's datacenter. A block that no node holds costs its size
    everywhere. What the map sends to a reduce crosses where the two are in different datacenters. It is the size in
    `shuffle` for a job that is listed there, else |B_i| FP_J (`filter_ratio`) in equal shares to all reduces of the
    job. All of these sizes are exact where they have a common denominator of at most 2^20, as thirds of decimals may;
    else each is rounded once to 2^-20 MB.

    Tasks that run or have ended stay where they are, and what they exchange with pending ones counts. The load counts
    maps, since it is their rounds that policy C spreads over datacenters.

    With `capacity=none` slots mean nothing. With `slots` a node takes as many maps and as many reduces as it has idle
    slots of each. Where these do not hold all tasks nothing is feasible: a partial placement would look cheap, since
    reduces that wait receive nothing.

    Attributes
    ----------
    datacenters, datacenter
        Ids of those that have nodes, and the place in them of each node (int64, shape (nodes,)).
    maps, reduces
        int64: positions in `tasks` of the two kinds.
    map_units
        int64, shape (maps, datacenters): units of 1/`grid` MB that cross with the map there: its block, and what it
        sends to reduces that run.
    jobs
        What the jobs' maps send to their reduces.
    grid
        The common denominator of all sizes and shares, 1 where they are whole; 2^20 where it is above that.
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
    #: A limit on the load that the program has.
    _limit: int | None = None

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        workload, state = instance.workload, instance.state
        for node in np.flatnonzero(instance.cluster.datacenter < 0).tolist():
            yield Fault(f"nodes[{node}].datacenter", f"{cls.name} needs to know where the node is")
        who = _Who(instance)
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
        sent = _sent(instance)
        self.grid = _common_grid(size, sent.values())
        if (float(size.sum()) + sum(part.megabytes for part in sent.values())) * self.grid > LARGEST:
            message = f"traffic may total too much, past 2^53/{self.grid} MB; scale the sizes down"
            raise InputError([Fault("tasks.size", message)], self.place)
        self._exchanged = np.concatenate([size, *(part.exchanged() for part in sent.values())])
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

    def _made_jobs(self, sent: Mapping[int, _Sent]) -> Iterator[Job]:
        """Collect what each job's maps send to its bundles. Data for reduces that run is added to `map_units`."""
        workload, state = self.instance.workload, self.instance.state
        count = len(self.datacenters)
        position = np.full(len(workload), -1, dtype=np.int64)  # of each task in `maps` or `reduces`
        position[self.tasks[self.maps]] = np.arange(len(self.maps))
        position[self.tasks[self.reduces]] = np.arange(len(self.reduces))
        where = np.append(self.datacenter, -1)[state.node]
        for job, members in grouped(workload.job):
            pending = state.status[members] == PENDING
            if not pending.any():
                continue
            is_map = workload.kind[members] == MAP
            maps, reduces = members[is_map & pending], members[~is_map & pending]
            settled, running = members[is_map & ~pending], members[~is_map & (state.status[members] == RUNNING)]
            if job < 0 or job not in sent:  # nothing is sent
                none = np.zeros((len(maps) + len(settled), len(reduces) + len(running)), dtype=np.int64)
                units = none
            else:
                units = sent[job].units(self.grid)
            # Rows of `units`: pending maps, settled ones; columns: pending reduces, running ones.
            to_running = units[: len(maps), len(reduces) :]
            self.map_units[position[maps]] += _across(to_running, where[running], count)
            together = self.parameters["reduces"] == "together" and job >= 0
            groups = [np.arange(len(reduces))] if together and len(reduces) else [[own] for own in range(len(reduces))]
            bundles = []
            for group in groups:
                send = units[: len(maps), group].sum(axis=1)
                from_settled = units[len(maps) :, group].sum(axis=1)[None, :]
                crossing = _across(from_settled, where[settled], count)[0]
                bundles.append(Bundle(position[reduces[group]], send, crossing))
            name = str(workload.job_ids[job]) if job >= 0 else ""
            yield Job(name, position[maps], tuple(bundles))

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
        ids = self.instance.workload.task_ids[self.tasks]
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
        """Slots of each node; where slots mean nothing, as many as there are tasks."""
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
        low, high = 0, len(self.maps)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.holds(middle) else (middle + 1, high)
        return low

    def placed_in(self, datacenter_of_map: Ints, datacenter_of_reduce: Ints) -> Placement:
        """A placement with each map and reduce in a given datacenter, spread over its slots in turn.

        Parameters
        ----------
        datacenter_of_map, datacenter_of_reduce
            int64, shapes (maps,) and (reduces,); no more in a datacenter than there is room.
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
                # As many turns as it takes, since slots may be without limit.
                turns = bisect_left(range(len(inside)), len(inside), key=lambda up: int(np.minimum(most, up).sum()))
                slots_of = np.minimum(most, turns)
                node = np.repeat(local, slots_of)
                turn = np.arange(len(node)) - np.repeat(np.cumsum(slots_of) - slots_of, slots_of)
                nodes[inside] = node[np.argsort(turn, kind="stable")[: len(inside)]]
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
        """The step of the traffic: the greatest common divisor of what can cross, in units."""
        parts = [self.map_units.ravel()]
        parts += [part for bundle in self.bundles for part in (bundle.send, bundle.settled)]
        return max(1, int(np.gcd.reduce(np.concatenate(parts))) if sum(map(len, parts)) else 1)

    def map_classes(self) -> TaskClasses:
        """Maps that are exactly alike to the problem: same job, same crossings, same amounts sent."""
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
        """The same problem, whose program has at most `limit` maps in each datacenter; None: no limit."""
        return self._seen(limit, self.posing)

    def apart(self) -> Traffic:
        """Each task has a variable for each node that takes its kind."""
        return self._seen(self._limit, TrafficProgram(self, apart=True))

    def _seen(self, limit: int | None, posing: TrafficProgram) -> Traffic:
        view = copy.copy(self)
        vars(view).pop("_least_traffic", None)
        view._limit = limit
        vars(view)["posing"] = posing
        return view

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """See `optsched.problems.traffic_program`."""
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

    def price_bound(
        self,
        map_prices: Ints,
        reduce_prices: Ints,
        scale: int,
        limit: int | None = None,
        hosts: Mapping[int, int] = MappingProxyType({}),
    ) -> int:
        """Units of traffic that prices of slots prove every placement to cause, for any prices.

        It is weak duality, with the best multipliers of all other rows (`TrafficProgram.multipliers`), rounded up to a
        multiple of `step`. Without prices this is the optimum without capacities, wherever a job's bundles are alike.

        Parameters
        ----------
        map_prices, reduce_prices
            int64, shape (datacenters,): price of a map slot and of a reduce slot of each datacenter, in units times
            `scale`; negative ones count as 0.
        scale
            Denominator of the prices, above 0.
        limit
            A limit on the load; the bound is then for placements within it only.
        hosts
            Datacenters of some bundles (by their places in `bundles`); the bound is then for placements that have them
            there only.
        """
        posed = self.within(limit)
        box = posed.program().numbers.box
        for bundle, center in hosts.items():
            box = self.posing.with_host(box, bundle, center)
        return posed.settle(box, (map_prices, reduce_prices, scale), None)

    def settle(self, box: Box, prices: tuple[Ints, Ints, int], target: int | None) -> int:
        """Units of traffic that prices prove of a box of the program, which they narrow: at most `target`.

        What they leave out of the box causes `target` units or more; None: they leave nothing out.
        """
        if not self.datacenters:  # nothing is placed, and nothing crosses
            return 0
        target = _FAR if target is None else target
        least = -(-target // self.step) * self.step - self.step + 1  # of what causes as much as the target
        found = self.program().numbers.settle(box, self.posing.multipliers(*prices, box), least)
        return min(-(-(found or 0) // self.step) * self.step, target)

    @cached_property
    def _most_units(self) -> int:
        """More units than any placement lets cross."""
        sends = sum(int(bundle.send.sum()) + int(bundle.settled.max(initial=0)) for bundle in self.bundles)
        return int(self.map_units.max(axis=1, initial=0).sum()) + sends

    @property
    def beyond(self) -> int:
        """More units than any placement causes."""
        return self._most_units + 1

    @property
    def first_step(self) -> Number:
        return Fraction(1, self.grid)

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """Each job in the datacenters that are best for it alone; and the maps spread evenly."""
        free = np.zeros(len(self.datacenters), dtype=np.int64)
        best = exact(self.price_bound(free, free, 1), self.grid)
        return (
            Bound(
                "best-datacenter",
                "traffic",
                best,
                "traffic, with every slot open to every task",
                "Sharmilarani et al., note 9",
            ),
            Bound("even-spread", "load", self.least_load, "load, at any traffic"),
        )


class _Who:
    """Which tasks and jobs exchange data with a pending task: masks that `missing` and `_sent` share.

    Attributes
    ----------
    pending
        bool, shape (tasks,).
    sending
        bool, shape (tasks,): maps that a reduce which matters receives from.
    sized
        bool, shape (tasks,): maps whose size matters.
    by_ratio
        bool, shape (jobs,): jobs whose maps send by `filter_ratio`.
    """

    def __init__(self, instance: Instance) -> None:
        workload, status, job = instance.workload, instance.state.status, instance.workload.job
        is_map, jobs = workload.kind == MAP, len(workload.job_ids)
        self.pending = status == PENDING

        def having(tasks: Bools) -> Bools:
            return np.bincount(job[tasks & (job >= 0)], minlength=jobs) > 0

        def of(jobs_: Bools) -> Bools:
            picked: Bools = np.append(jobs_, False)[job]  # a task without a job picks the last entry
            return picked

        waiting, live = having(~is_map & self.pending), having(~is_map & (status != FINISHED))
        self.sending = is_map & np.where(self.pending, of(live), of(waiting))
        listed = np.zeros(jobs, dtype=bool)
        if workload.shuffle is not None:
            ends = job[workload.shuffle.map]
            listed[ends[ends >= 0]] = True
        self.exchanging = having(self.sending)
        self.by_ratio = self.exchanging & ~listed
        self.sized = (is_map & self.pending) | (self.sending & of(self.by_ratio))


@dataclass(frozen=True, eq=False, slots=True)
class _Sent:
    """What the maps of a job send to its reduces: an entry is `size` MB times `part`, from map `row` to `column`.

    Without `column` each entry goes to every reduce. Rows are the job's pending maps and then those that run or have
    ended; columns are its pending reduces and then those that run. Both keep the order of the instance.
    """

    shape: tuple[int, int]
    row: Ints
    column: Ints | None
    size: Floats
    part: Fraction

    @property
    def megabytes(self) -> float:
        return float(self.size.sum()) * float(self.part) * (self.shape[1] if self.column is None else 1)

    def exchanged(self) -> Floats:
        """The data that is sent, MB, each entry once."""
        return self.size * float(self.part)

    def denominator(self) -> int | None:
        """The common denominator of all that is sent; None where it is above `FINEST`."""
        if self.part == 1:
            return common_denominator(self.size)
        common = 1
        for size in np.unique(self.size).tolist():
            common = lcm(common, (decimal(size) * self.part).denominator)
            if common > FINEST:
                return None
        return common

    def units(self, grid: int) -> Ints:
        """The units that each map sends to each reduce, int64, in 1/`grid` MB."""
        units = np.zeros(self.shape, dtype=np.int64)
        sent = for_each(self.size, lambda size: round(size * self.part * grid))
        if self.column is None:
            units[self.row] = sent[:, None]
        else:
            np.add.at(units, (self.row, self.column), sent)
        return units


def _common_grid(sizes: Floats, sent: Iterable[_Sent]) -> int:
    """The common denominator of sizes and of what is sent, `FINEST` where it is above that."""
    common = 1
    for found in (common_denominator(sizes), *(part.denominator() for part in sent)):
        common = lcm(common, found or FINEST + 1)
        if common > FINEST:
            return FINEST
    return common


def _sent(instance: Instance) -> dict[int, _Sent]:
    """The data that the maps of each job send to its reduces, where a pending task sends or receives."""
    workload, status = instance.workload, instance.state.status
    who = _Who(instance)
    position = np.zeros(len(workload), dtype=np.int64)
    sent: dict[int, _Sent] = {}
    for job, members in grouped(workload.job):
        if job < 0 or not who.exchanging[job]:
            continue
        is_map = workload.kind[members] == MAP
        maps = members[is_map]
        maps = np.concatenate([maps[status[maps] == PENDING], maps[status[maps] != PENDING]])
        every = members[~is_map]
        reduces = np.concatenate([every[status[every] == PENDING], every[status[every] == RUNNING]])
        if who.by_ratio[job]:
            sending = np.flatnonzero(who.sending[maps])
            part = decimal(workload.filter_ratio[job]) / len(every)
            sent[job] = _Sent((len(maps), len(reduces)), sending, None, workload.size[maps[sending]], part)
            continue
        shuffle = workload.shuffle
        assert shuffle is not None  # else the job is not listed in it
        own = (workload.job[shuffle.map] == job) & (status[shuffle.reduce] != FINISHED)
        position[maps], position[reduces] = np.arange(len(maps)), np.arange(len(reduces))
        row, column = position[shuffle.map[own]], position[shuffle.reduce[own]]
        sent[job] = _Sent((len(maps), len(reduces)), row, column, shuffle.size[own], Fraction(1))
    return sent


def _across(units: Ints, where: Ints, count: int) -> Ints:
    """The traffic of each row of `units` and each of `count` datacenters, if column i is settled at `where[i]`."""
    inside = np.zeros((len(units), count), dtype=np.int64)
    for column, center in enumerate(where.tolist()):
        inside[:, center] += units[:, column]
    across: Ints = units.sum(axis=1)[:, None] - inside
    return across


def _room(slots: Ints, datacenter: Ints, count: int, tasks: int) -> Ints:
    """Slots of each datacenter, no more than there are tasks."""
    room: Ints = np.zeros(count, dtype=np.int64)
    np.add.at(room, datacenter, np.minimum(slots, tasks))
    return np.minimum(room, tasks)
