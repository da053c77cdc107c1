"""`utility`: maps and reduces on trackers within their resources, so that the lowest utility of a job is highest.

Sharmilarani et al.'s resource-aware scheduling (RAS): utility (6), (7), objectives (8) and then (9), constraint (10).
The worth of 0, 1, ... tasks to a job is tabulated up to all of its pending tasks (`map_table`, `reduce_table`).
`spread_reduces` is where RAS puts the reduces before it places any map. `Rooms` tracks what is free while tasks are
placed and removed one by one. Nothing here solves.

(7) divides by zero in several places, and its logarithm of 0 tasks is minus infinity. We read these cases so:

- no map pending: the maps are worth 1, as if all of them were served;
- required 0 (no goal, or nothing to do): only the first branch holds;
- required 1: the second branch holds only for 0 maps, which is minus infinity;
- required = pending = allocated: 1, not 0/0: the job is saturated;
- required > pending (the goal is out of reach): always the second branch, below 0;
- no reduce pending: the reduces are worth 0; one pending: 0 with it, minus infinity without.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from optsched.core.decimals import decimal, whole_units
from optsched.core.errors import Fault, InputError
from optsched.core.instance import LARGEST, MAP, PENDING, REDUCE, RUNNING, Bools, Floats, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Component, Number, Proof, Sense, Value, Violation
from optsched.problems.base import GRID, Problem, exact, on_grid
from optsched.problems.demands import capacity_units, demand_fault, demands_of
from optsched.problems.parameters import Parameter, choice, number


def required_maps(pending: int, map_time: float, goal: float, now: float) -> int:
    """How many maps a job must run at once to meet its goal (s_req; Sharmilarani et al., section III.G).

    The pending maps run in waves of that many, each as long as a mean map. They end in time if the remaining time is a
    whole number of maps, else perhaps a wave later (`sharmilarani/3-required-maps`). Numbers count as the decimals that
    they are written as, so that 10 maps of 0.1 s within 1 s need one at a time.

    Parameters
    ----------
    pending
        Pending maps (s_pend).
    map_time
        Mean length of a map in seconds (mu_j).
    goal
        Instant of the completion goal in seconds (T_goal); NaN if there is none: nothing is required.
    now
        Instant of the decision. A goal that has passed requires every pending map at once.

    Returns
    -------
    int
        At most 2^53, however short the remaining time is.

    Examples
    --------
    >>> required_maps(10, 30, 130, 50), required_maps(10, 30, 40, 50), required_maps(10, 30, math.nan, 50)
    (4, 10, 0)
    """
    if not pending or math.isnan(goal):
        return 0
    if goal <= now:
        return pending
    at_once = math.ceil(pending * decimal(map_time) / (decimal(goal) - decimal(now)))
    return min(at_once, LARGEST)


def map_table(required: int, pending: int, smoothed: bool = False) -> list[float]:
    """Worth of 0, 1, ..., `pending` maps (u^M; Sharmilarani et al., (7) with the edge rules above); not decreasing.

    Parameters
    ----------
    required, pending
        s_req and s_pend.
    smoothed
        Logarithms are of one more than the counts, so that 0 maps are worth -1 and not minus infinity.

    Examples
    --------
    >>> [round(worth, 4) for worth in map_table(4, 10)]
    [-inf, -1.0, -0.5, -0.2075, 0.0, 0.1667, 0.3333, 0.5, 0.6667, 0.8333, 1.0]
    """

    def worth(count: int) -> float:
        if count >= required:
            return 1.0 if count == pending else (count - required) / (pending - required)
        return _logarithmic(count, required, smoothed)

    return [worth(count) for count in range(pending + 1)]


def reduce_table(pending: int, smoothed: bool = False) -> list[float]:
    """Worth of 0, 1, ..., `pending` reduces (u^R; Sharmilarani et al., (7) with the edge rules above); not decreasing.

    >>> [round(worth, 4) for worth in reduce_table(5)]
    [-inf, -1.0, -0.5693, -0.3174, -0.1386, 0.0]
    """
    return [_logarithmic(count, pending, smoothed) for count in range(pending + 1)]


def _logarithmic(count: int, full: int, smoothed: bool) -> float:
    """log(count)/log(full) - 1, which is 0 if `count` is `full`."""
    if count == full:
        return 0.0
    if smoothed:
        return math.log(1 + count) / math.log(1 + full) - 1
    return math.log(count) / math.log(full) - 1 if count else -math.inf


class Allocation(NamedTuple):
    """Tasks of each job on each node: P^M and P^R of Sharmilarani et al., int64, shape (jobs, nodes) each."""

    maps: Ints
    reduces: Ints


class Items(NamedTuple):
    """The items to place: the maps of each job, then the reduces of each job.

    All int64: what one takes, shape (items, resources); how many may be placed, 0 for fixed reduces, shape (items,);
    and what one adds to the utilisation, shape (items, types).
    """

    demand: Ints
    limit: Ints
    share: Ints


class UtilityDefinition(Problem):
    """Value, constraints and arrays of `Utility`, which describes each; subclasses add the programs."""

    name = "utility"
    title = "maps and reduces on trackers within their resources: maximise the lowest utility, then utilisation"
    paper = "001"
    kinds = (MAP, REDUCE)
    components = (
        Component("lowest-utility", Sense.MAX, "utility"),
        Component("utilisation", Sense.MAX, "share of a capacity"),
    )
    parameter_table = (
        Parameter("reduces", "free", choice("free", "fixed"), "placed freely, or fixed where RAS spreads them first"),
        Parameter("tables", "literal", choice("literal", "smoothed"), "logarithms as in (7), or of one task more"),
        Parameter(
            "phase",
            "shuffle",
            choice("shuffle", "reduce"),
            "which demand of reduces holds, where both are given: in the shuffle or after it",
        ),
        Parameter(
            "penalty", 1000, number(above=2, highest=GRID), "-penalty stands for a utility of minus infinity; above 2"
        ),
    )
    requires = (
        "tasks[].job",
        "tasks[].demand",
        "nodes[].capacity of each resource in demand",
        "jobs[].map_time where it has a goal",
    )
    proof = Proof.DUAL

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        workload = instance.workload
        pending = _in_state(instance, PENDING)
        for task in pending[workload.job[pending] == NONE].tolist():
            yield Fault(f"tasks[{task}].job", f"{cls.name} needs it: utilities belong to jobs")
        given = [
            ~np.isnan(column[pending])
            for part in (workload.demand, workload.demand_shuffle)
            for column in part.values()
        ]
        silent = ~np.any(given, axis=0) if given else np.ones(len(pending), dtype=bool)
        for task in pending[silent].tolist():
            yield Fault(f"tasks[{task}].demand", f"{cls.name} needs the demand of the task for at least one resource")
        demand = demands_of(instance, pending, parameters["phase"])
        for resource, column in demand.items():
            capacity = _capacity(instance, resource)
            for node in np.flatnonzero(np.isnan(capacity)).tolist() if column.any() else ():
                yield Fault(f"nodes[{node}].capacity.{resource}", f"{cls.name} needs it: tasks demand this resource")
        maps = pending[workload.kind[pending] == MAP]
        for job in np.unique(workload.job[maps][workload.job[maps] != NONE]).tolist():
            if workload.goal[job] > instance.time and np.isnan(workload.map_time[job]):
                yield Fault(f"jobs[{job}].map_time", f"{cls.name} needs it to know how many maps the goal requires")

    def prepare(self) -> None:
        instance, workload = self.instance, self.instance.workload
        job_of = workload.job[self.tasks]
        self.jobs: Ints = np.unique(job_of)
        jobs, row = len(self.jobs), np.searchsorted(self.jobs, job_of)
        #: The item of each task, int64, shape (tasks,).
        self._item: Ints = np.where(workload.kind[self.tasks] == REDUCE, jobs + row, row)
        positions = [np.flatnonzero(self._item == item) for item in range(2 * jobs)]
        self.map_positions, self.reduce_positions = positions[:jobs], positions[jobs:]
        pending = np.bincount(self._item, minlength=2 * jobs)
        self.pending_maps, self.pending_reduces = np.split(pending, 2)
        demand = self._weigh()
        self.demand_map, self.demand_reduce = np.split(demand, 2)
        self._tabulate()
        running = _in_state(instance, RUNNING)
        reduces = running[workload.kind[running] == REDUCE]
        owner, node = workload.job[reduces], instance.state.node[reduces]
        own = np.isin(owner, self.jobs)
        self.running_reduces: Ints = np.zeros((jobs, len(instance.cluster)), dtype=np.int64)
        np.add.at(self.running_reduces, (np.searchsorted(self.jobs, owner[own]), node[own]), 1)
        self.other_reduces: Ints = np.bincount(node[~own], minlength=len(instance.cluster)).astype(np.int64)
        self.fixed: Ints | None = spread_reduces(self) if self.parameters["reduces"] == "fixed" else None
        self.room: Ints = self.free.copy()
        if self.fixed is not None:
            self.room -= self.fixed.T @ self.demand_reduce
        capacity = [_capacity(instance, resource) for resource in self.resources]
        alike = np.column_stack([*capacity, self.room]) if capacity else np.zeros((len(instance.cluster), 0))
        _, first, node_type = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        self.node_type: Ints = node_type.reshape(-1).astype(np.int64)
        self.type_size: Ints = np.bincount(self.node_type, minlength=len(first)).astype(np.int64)
        self.type_room: Ints = self.room[first]
        limit = np.concatenate([self.pending_maps, self.pending_reduces * (self.fixed is None)])
        #: The items to place, and what one of each takes.
        self.items = Items(demand, limit, self._share(demand, first))
        self.map_share, self.reduce_share = np.split(self.items.share, 2)

    def _weigh(self) -> Ints:
        """Demands and capacities in whole units; reports all faults together. Returns the demand of each item."""
        instance, task_ids = self.instance, self.instance.workload.task_ids
        running = _in_state(instance, RUNNING)
        phase = self.parameters["phase"]
        held, demands = demands_of(instance, running, phase), demands_of(instance, self.tasks, phase)
        self.resources = tuple(resource for resource, column in demands.items() if column.any())
        demand: Ints = np.zeros((2 * len(self.jobs), len(self.resources)), dtype=np.int64)
        self.capacity: Ints = np.zeros((len(instance.cluster), len(self.resources)), dtype=np.int64)
        self.demand_grid: Ints = np.ones(len(self.resources), dtype=np.int64)
        self.free: Ints = np.zeros_like(self.capacity)
        items, first, which = np.unique(self._item, return_index=True, return_inverse=True)
        faults: list[Fault] = []
        for index, resource in enumerate(self.resources):
            column, holding = demands[resource], held[resource]
            grid, wrong = demand_fault(self.name, np.concatenate([column, holding]), len(column) + len(holding))
            if wrong is not None:
                faults.append(Fault(f"tasks[].demand.{resource}", wrong))
                continue
            units = whole_units(column, grid)
            demand[items, index] = units[first]
            differing = np.flatnonzero(units != units[first][which])
            for position in differing[np.argsort(which[differing], kind="stable")].tolist():
                one = first[which[position]]
                same, other = task_ids[self.tasks[[one, position]]].tolist()
                message = f'{column[position]:g}, but "{same}" of the same job and kind takes'
                message += f" {column[one]:g}; give {other} a job of its own: a job has one profile"
                faults.append(Fault(f"tasks[{self.tasks[position]}].demand.{resource}", message))
            self.demand_grid[index] = grid
            self.capacity[:, index] = capacity_units(_capacity(instance, resource), grid)
            used = np.zeros(len(instance.cluster), dtype=np.int64)
            np.add.at(used, instance.state.node[running], whole_units(holding, grid))
            self.free[:, index] = np.maximum(self.capacity[:, index] - used, 0)
        if faults:
            raise InputError(faults, self.place)
        return demand

    def _tabulate(self) -> None:
        """Tabulate the worth of counts of maps and reduces to each job, in units."""
        workload, now, smoothed = self.instance.workload, self.instance.time, self.parameters["tables"] == "smoothed"
        self.lowest_units = int(on_grid(-self.parameters["penalty"]))
        self.required: Ints = np.array(
            [
                required_maps(pending, float(workload.map_time[job]), float(workload.goal[job]), now)
                for job, pending in zip(self.jobs.tolist(), self.pending_maps.tolist(), strict=True)
            ],
            dtype=np.int64,
        )

        def units(table: list[float]) -> Ints:
            worth = np.array(table)
            return np.where(np.isinf(worth), self.lowest_units, on_grid(np.where(np.isinf(worth), 0.0, worth)))

        self.map_utility: list[Ints] = [
            units(map_table(required, pending, smoothed))
            for required, pending in zip(self.required.tolist(), self.pending_maps.tolist(), strict=True)
        ]
        self.reduce_utility: list[Ints] = [
            units(reduce_table(pending, smoothed)) for pending in self.pending_reduces.tolist()
        ]

    def _share(self, demand: Ints, nodes: Ints) -> Ints:
        """Share of the capacities that one task of each item takes on nodes of each type; 0 if it does not fit."""
        share = np.zeros((len(demand), len(nodes)))
        fits = np.ones(share.shape, dtype=bool)
        for position, resource in enumerate(self.resources):
            capacity = _capacity(self.instance, resource)[nodes] * float(self.demand_grid[position])
            takes = demand[:, position, None]
            fits &= takes <= self.capacity[nodes, position]
            share += np.divide(takes, capacity, out=np.zeros(share.shape), where=fits & (capacity > 0))
        return np.where(fits, on_grid(share), 0)

    def utility_units(self, maps: Ints, reduces: Ints) -> Ints:
        """Utility (6) of each job with these maps and reduces, in units of 2^-20; all of shape (jobs,)."""
        worth = [(self.map_utility[job][maps[job]], self.reduce_utility[job][reduces[job]]) for job in range(len(maps))]
        both = np.array(worth, dtype=np.int64).reshape(-1, 2)
        return np.where((both == self.lowest_units).any(axis=1), self.lowest_units, both.sum(axis=1))

    def map_worth(self, job: int, reduces: int) -> Ints:
        """Utility (6) of one job with 0, 1, ... maps and this number of reduces, in units of 2^-20."""
        maps, fixed = self.map_utility[job], int(self.reduce_utility[job][reduces])
        return np.where((maps == self.lowest_units) | (fixed == self.lowest_units), self.lowest_units, maps + fixed)

    def allocated(self, placement: Placement) -> Allocation:
        """Counts of the placed maps and reduces by job and node."""
        counts = np.zeros((2 * len(self.jobs), len(self.instance.cluster)), dtype=np.int64)
        np.add.at(counts, self._placed(placement), 1)
        return Allocation(*np.split(counts, 2))

    def _placed(self, placement: Placement) -> tuple[Ints, Ints]:
        """The item and the node of each placed task."""
        nodes = self.nodes_of(placement)
        placed = nodes != NONE
        return self._item[placed], nodes[placed]

    def placement_of(self, allocation: Allocation) -> Placement:
        """A placement with these counts: of each job the first pending tasks, on the nodes in order.

        Examples
        --------
        >>> from optsched.core.instance import Cluster, Workload
        >>> from optsched.problems import Utility
        >>> cluster = Cluster(["t1", "t2"], capacity={"cpu": [2.0, 2.0]})
        >>> workload = Workload(["m1", "m2", "m3"], job=[0] * 3, job_ids=["a"], demand={"cpu": [1.0] * 3})
        >>> problem = Utility(Instance(cluster, workload))
        >>> problem.placement_of(Allocation(np.array([[0, 2]]), np.array([[0, 0]]))).nodes.tolist()
        [1, 1, -1]
        """
        nodes = np.full(len(self.tasks), NONE, dtype=np.int64)
        for count, positions in zip(allocation, (self.map_positions, self.reduce_positions), strict=True):
            for tasks, row in zip(positions, count, strict=True):
                hosts = np.repeat(np.arange(len(row)), row)
                nodes[tasks[: len(hosts)]] = hosts
        return self.placement(nodes)

    def items_on(self, placement: Placement) -> Ints:
        """Counts of the placed maps of each job, then of its reduces, by node, without fixed reduces."""
        counts: Ints = np.concatenate(self.allocated(placement))
        if self.fixed is not None:
            counts[len(self.jobs) :] = 0
        return counts

    def placed(self, counts: Ints) -> Placement:
        """A placement with these counts, in the form of `items_on`, and the fixed reduces."""
        maps, reduces = np.split(counts, 2)
        return self.placement_of(Allocation(maps, reduces if self.fixed is None else self.fixed))

    def utilities(self, placement: Placement) -> tuple[Number, ...]:
        """Utility (6) of each job."""
        placed = (count.sum(axis=1) for count in self.allocated(placement))
        return tuple(exact(units, GRID) for units in self.utility_units(*placed).tolist())

    def objective(self, placement: Placement, /) -> Value:
        item, node = self._placed(placement)
        counts = np.split(np.bincount(item, minlength=2 * len(self.jobs)), 2)
        lowest = int(self.utility_units(*counts).min(initial=LARGEST))
        used = int(self.items.share[item, self.node_type[node]].sum())
        return exact(lowest if len(self.jobs) else 0, GRID), exact(used, GRID)

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        node_ids = self.instance.cluster.node_ids.tolist()
        item, node = self._placed(placement)
        over = -self.free
        np.add.at(over, node, self.items.demand[item])
        # A node that running tasks overload may get no more of that resource, but tasks that do not need it.
        for at, position in np.argwhere(over > 0).tolist():
            excess = exact(int(over[at, position]), int(self.demand_grid[position]))
            yield Violation("capacity", (self.resources[position], node_ids[at]), excess)
        if self.fixed is not None:
            job_ids = self.instance.workload.job_ids[self.jobs].tolist()
            reduces = self.allocated(placement).reduces
            for job, at in np.argwhere(reduces != self.fixed).tolist():
                off = abs(int(reduces[job, at] - self.fixed[job, at]))
                yield Violation("reduces-fixed", (job_ids[job], node_ids[at]), off)

    @property
    def unit(self) -> Ints:
        """The largest amount of each resource that divides all demands: the unit of programs.

        Such an amount is larger than a solver's tolerance, and none is too large for which a smaller unit would do.
        """
        unit: Ints = np.maximum(np.gcd.reduce(self.items.demand, axis=0, initial=0), 1)
        return unit

    def used(self, counts: Allocation) -> Ints:
        """The resources that the counts take on each node, in units; shape (nodes, resources)."""
        used: Ints = counts.maps.T @ self.demand_map + counts.reduces.T @ self.demand_reduce
        return used

    @property
    def saturated_units(self) -> int:
        """The lowest utility with every possible task allocated: no placement has a higher one."""
        return int(self.highest_units.min(initial=LARGEST))

    @property
    def highest_units(self) -> Ints:
        """The utility of each job with every possible task allocated, in units."""
        return self.utility_units(self.pending_maps, self._reduce_limits[1])

    @property
    def fixed_use(self) -> int:
        """The utilisation of the fixed reduces, in units; 0 if reduces are placed freely."""
        return 0 if self.fixed is None else int((self.fixed * self.reduce_share[:, self.node_type]).sum())

    @property
    def _reduce_limits(self) -> tuple[Ints, Ints]:
        """Fewest and most reduces of each job that may be allocated."""
        if self.fixed is None:
            return np.zeros_like(self.pending_reduces), self.pending_reduces
        return self.fixed.sum(axis=1), self.fixed.sum(axis=1)

    def least_maps(self, job: int, units: int) -> tuple[Ints, Ints]:
        """The fewest maps, for each number of reduces, that give a job a utility of at least `units`.

        Numbers of reduces with which no number of maps suffices are left out. With `reduces=fixed` there is one.
        """
        fewest, most = (int(limit[job]) for limit in self._reduce_limits)
        reduces = np.arange(fewest, most + 1)
        if units <= self.lowest_units:
            return reduces, np.zeros_like(reduces)
        reduces = reduces[self.reduce_utility[job][reduces] > self.lowest_units]
        maps = np.searchsorted(self.map_utility[job], units - self.reduce_utility[job][reduces])
        # No map is worth minus infinity, which is below any threshold; so at least one map is found.
        reached = maps <= self.pending_maps[job]
        return reduces[reached], maps[reached]

    def utility_below(self, units: int) -> int:
        """The greatest utility below `units` that some job may have, in units; `-penalty` if there is none.

        Any threshold on the lowest utility between it and `units` has the same effect as `units`.
        """
        best = self.lowest_units
        for job, (fewest, most) in enumerate(zip(*self._reduce_limits, strict=True)):
            earned = self.reduce_utility[job][int(fewest) : int(most) + 1]
            earned = earned[earned > self.lowest_units]
            maps = np.searchsorted(self.map_utility[job], units - earned) - 1
            worth = self.map_utility[job][maps]
            best = max(
                best, int((worth + earned)[(maps >= 0) & (worth > self.lowest_units)].max(initial=self.lowest_units))
            )
        return best


def spread_reduces(problem: UtilityDefinition) -> Ints:
    """The pending reduces as RAS puts them before it places any map: how many of each job on each node.

    Job after job and reduce after reduce, each goes to a tracker with room: the one with the fewest reduces; of these
    the one with the fewest of the same job; of these the first. So they are spread evenly, apart from one another if
    possible, else at least apart from their own job's. Running reduces count. A reduce that fits nowhere stays
    unplaced.

    Returns
    -------
    Ints
        int64, shape (jobs, nodes). O(reduces x nodes).

    Notes
    -----
    Sharmilarani et al., section III.J; the order of ties is a reading (Sharmilarani et al., note 6).

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> from optsched.problems import Utility
    >>> cluster = Cluster(["t1", "t2", "t3"], capacity={"memory": [2.0, 1.0, 0.5]})
    >>> workload = Workload(
    ...     ["r1", "r2", "r3"], kind=[REDUCE] * 3, job=[0, 0, 1], job_ids=["a", "b"], demand={"memory": [1.0] * 3})
    >>> spread_reduces(Utility(Instance(cluster, workload))).tolist()
    [[1, 1, 0], [1, 0, 0]]
    """
    spread: Ints = np.zeros(problem.running_reduces.shape, dtype=np.int64)
    left = problem.free.copy()
    everyone = problem.running_reduces.sum(axis=0) + problem.other_reduces
    largest = int(everyone.max(initial=0)) + len(problem.tasks) + 1
    for job in np.flatnonzero(problem.pending_reduces).tolist():
        demand = problem.demand_reduce[job]
        turn = np.where((left >= demand).all(axis=1), everyone * largest + problem.running_reduces[job], LARGEST)
        for _ in range(int(problem.pending_reduces[job])):
            node = int(np.argmin(turn)) if len(turn) else NONE
            if node == NONE or turn[node] == LARGEST:
                break
            left[node] -= demand
            everyone[node] += 1
            spread[job, node] += 1
            turn[node] = turn[node] + largest + 1 if (left[node] >= demand).all() else LARGEST
    return spread


#: Jobs that are tried one by one on a tracker before all are compared with its free room.
_TRIED = 8

_NOTHING: Mapping[int, int] = MappingProxyType({})


class Rooms:
    """Counts of tasks on the trackers, and the room that they leave free.

    The tasks of `counts` are placed at the start. `placed`: how many maps, and how many reduces, each job has placed.
    `free`: int64, shape (nodes, resources).

    Examples
    --------
    A tracker with 3 of cpu has room for one map that takes 2.

    >>> from optsched.core.instance import Cluster, Workload
    >>> from optsched.problems import Utility
    >>> workload = Workload(["m1", "m2"], job=[0] * 2, job_ids=["a"], demand={"cpu": [2.0, 2.0]})
    >>> rooms = Rooms(Utility(Instance(Cluster(["t"], capacity={"cpu": [3.0]}), workload)))
    >>> rooms.put(MAP, 0, 0)
    >>> rooms.free.tolist(), rooms.fits(MAP, 0, 0)
    ([[1]], False)
    """

    def __init__(self, problem: UtilityDefinition, counts: Allocation | None = None) -> None:
        self._problem = problem
        self.placed: tuple[list[int], list[int]] = [0] * len(problem.jobs), [0] * len(problem.jobs)
        #: For maps and for reduces: the nonzero counts of each job on each tracker.
        self._on: tuple[dict[int, dict[int, int]], dict[int, dict[int, int]]] = {}, {}
        self._demands = problem.demand_map, problem.demand_reduce
        self._rows = [list(map(tuple, demands.tolist())) for demands in self._demands]
        self.free: Ints = problem.free.copy()
        for kind, part in enumerate(counts or ()):
            jobs, nodes = np.nonzero(part)
            for job, node, count in zip(jobs.tolist(), nodes.tolist(), part[jobs, nodes].tolist(), strict=True):
                self.put(kind, job, node, count)

    @property
    def counts(self) -> Allocation:
        """Maps and reduces of each job on each tracker, in new arrays."""
        shape = len(self._problem.jobs), len(self.free)
        counts = Allocation(*(np.zeros(shape, dtype=np.int64) for _ in range(2)))
        for kind, part in enumerate(counts):
            jobs, nodes, amounts = self._entries(kind)
            part[jobs, nodes] = amounts
        return counts

    @property
    def placement(self) -> Placement:
        """The placement with these counts that the problem chooses (`Utility.placement_of`)."""
        problem = self._problem
        found = np.full(len(problem.tasks), NONE, dtype=np.int64)
        for kind, positions in enumerate((problem.map_positions, problem.reduce_positions)):
            _, nodes, amounts = self._entries(kind)
            hosts = np.split(np.repeat(nodes, amounts), np.cumsum(self.placed[kind]))
            for tasks, own in zip(positions, hosts, strict=False):  # the last entry, of no job, is empty
                found[tasks[: len(own)]] = own
        return problem.placement(found)

    def _entries(self, kind: int) -> tuple[Ints, Ints, Ints]:
        """What is placed, by job and then by tracker: jobs, trackers and counts."""
        entries = [(job, node, count) for node, own in self._on[kind].items() for job, count in own.items()]
        jobs, nodes, amounts = np.array(sorted(entries), dtype=np.int64).reshape(-1, 3).T
        return jobs, nodes, amounts

    def digest(self, kind: int) -> bytes:
        """A short digest of everything placed of a kind; other counts have another one."""
        return hashlib.sha256(np.ascontiguousarray(self._entries(kind)).tobytes()).digest()

    def on(self, kind: int, node: int) -> Mapping[int, int]:
        """How many tasks of each job a tracker has, for jobs with any."""
        return self._on[kind].get(node, _NOTHING)

    def fitting(self, kind: int, node: int) -> Bools:
        """Whether a task of each job fits on a tracker, shape (jobs,)."""
        fits: Bools = (self._demands[kind] <= self.free[node]).all(axis=1)
        return fits

    def fits(self, kind: int, job: int, node: int) -> bool:
        """Whether one of the job's waiting tasks fits on a tracker."""
        return all(need <= left for need, left in zip(self._rows[kind][job], self.free[node].tolist(), strict=True))

    def first(self, kind: int, node: int, order: Sequence[tuple[int, ...]]) -> int | None:
        """The first job with a task that fits on a tracker; `order` has the jobs at the ends of its entries."""
        for entry in islice(order, _TRIED):
            if self.fits(kind, entry[-1], node):
                return entry[-1]
        if len(order) <= _TRIED:
            return None
        able = self.fitting(kind, node).tolist()
        return next((entry[-1] for entry in islice(order, _TRIED, None) if able[entry[-1]]), None)

    def put(self, kind: int, job: int, node: int, count: int = 1) -> None:
        """Place `count` tasks of a job on a tracker; -1 removes one."""
        self.free[node] -= count * self._demands[kind][job]
        self.placed[kind][job] += count
        counts = self._on[kind].setdefault(node, {})
        counts[job] = counts.get(job, 0) + count
        if not counts[job]:
            del counts[job]


def _capacity(instance: Instance, resource: str) -> Floats:
    """Capacity of each node, shape (nodes,); NaN if not given."""
    return instance.cluster.capacity.get(resource, np.full(len(instance.cluster), np.nan))


def _in_state(instance: Instance, status: int) -> Ints:
    """Indices of the tasks of either kind that are pending, or running."""
    return np.flatnonzero(instance.state.status == status).astype(np.int64)
