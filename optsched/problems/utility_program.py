"""The exact program of `utility`: tasks on hosts of alike nodes, by the patterns that these take.

The first program has the highest lowest utility, by steps of the tables (7). The second has the most utilisation where
each job has at least a utility: a pair of counts that are enough, neither of which can be less. A pattern says how many
tasks of each item one node holds; a host of one node needs none. With fewer patterns than all maximal ones the program
still has only placements, but not all of them. Items are the maps of each job, then the reduces of each job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optsched.core.instance import KINDS, Bools, Ints
from optsched.problems.base import GRID
from optsched.problems.knapsack import Packer
from optsched.problems.programs import Builder, Program

if TYPE_CHECKING:
    from optsched.problems.utility import Utility

__all__ = [
    "LEAST_FINITE",
    "Hosts",
    "Items",
    "counts_of",
    "deal",
    "least_pairs",
    "maximal_patterns",
    "packing_program",
    "values_of",
]

#: No utility is less, in units, but minus infinity: each table is at least -1 where it is finite.
LEAST_FINITE = -2 * GRID


@dataclass(frozen=True)
class Items:
    """What is placed: the maps of each job, then the reduces of each job.

    Attributes
    ----------
    demand
        int64, shape (items, resources).
    limit
        int64, shape (items,): how many may be placed; none of fixed reduces.
    share
        int64, shape (items, types): what one adds to the utilisation.
    """

    demand: Ints
    limit: Ints
    share: Ints

    @classmethod
    def of(cls, problem: Utility) -> Items:
        """The items of a problem."""
        open_reduces = problem.pending_reduces if problem.fixed is None else np.zeros_like(problem.pending_reduces)
        return cls(
            np.concatenate([problem.demand_map, problem.demand_reduce]),
            np.concatenate([problem.pending_maps, open_reduces]),
            np.concatenate([problem.map_share, problem.reduce_share]),
        )


def least_pairs(problem: Utility, units: int) -> tuple[Ints, Ints]:
    """Pairs of counts that give a job a utility of at least `units`, and of which neither count can be less.

    Returns
    -------
    tuple
        int64, shape (pairs,): the job; and shape (items, pairs): maps of each job, then reduces of each job.
    """
    jobs = len(problem.jobs)
    needs = [problem.least_maps(job, units) for job in range(jobs)]
    owner = np.repeat(np.arange(jobs), [len(maps) for _, maps in needs])
    reduces, maps = (np.concatenate([*(part[position] for part in needs), owner[:0]]) for position in (0, 1))
    counts = np.zeros((2 * jobs, len(owner)), dtype=np.int64)
    counts[owner, np.arange(len(owner))] = maps
    if problem.fixed is None:
        counts[jobs + owner, np.arange(len(owner))] = reduces
    # With more reduces and no fewer maps a pair asks for nothing new.
    fewer = np.ones(len(owner), dtype=bool)
    fewer[1:] = (owner[1:] != owner[:-1]) | (maps[1:] < maps[:-1])
    return owner[fewer], counts[:, fewer]


def maximal_patterns(room: Ints, items: Items, most: int) -> Ints | None:
    """Every pattern of a room to which no task can be added. int64, shape (patterns, items); None beyond `most`."""
    return Packer(room, items.demand, items.limit, np.zeros_like(items.limit)).within(0, most, maximal=True)


@dataclass(frozen=True)
class Hosts:
    """Nodes that a program does not tell apart.

    Attributes
    ----------
    members
        Of each host its nodes, int64.
    patterns
        Of each host what its nodes take, shape (patterns, items); None of a host of one node that takes what fits.
    """

    members: Sequence[Ints]
    patterns: Sequence[Ints | None]

    @classmethod
    def of(cls, problem: Utility, known: Mapping[int, Ints]) -> Hosts:
        """The nodes of each type with known patterns are a host, and each other node."""
        held: list[tuple[Ints, Ints | None]] = []
        for kind in range(len(problem.type_size)):
            nodes = np.flatnonzero(problem.node_type == kind)
            together = kind in known
            held += [(nodes, known[kind])] if together else [(nodes[[row]], None) for row in range(len(nodes))]
        held.sort(key=lambda host: int(host[0][0]) if host[1] is None else -1)  # those with patterns by their types
        return cls([nodes for nodes, _ in held], [patterns for _, patterns in held])

    @classmethod
    def exact(cls, problem: Utility, most: int) -> Hosts:
        """Alike nodes are a host if they have at most so many maximal patterns, so that no placement is lost."""
        items = Items.of(problem)
        several = np.flatnonzero(problem.type_size > 1).tolist()
        listed = {kind: maximal_patterns(problem.type_room[kind], items, most) for kind in several}
        return cls.of(problem, {kind: patterns for kind, patterns in listed.items() if patterns is not None})

    @cached_property
    def first(self) -> Ints:
        """The first node of each host, int64."""
        return np.array([nodes[0] for nodes in self.members], dtype=np.int64)

    @cached_property
    def single(self) -> Bools:
        """Which hosts are one node that takes what fits."""
        return np.array([patterns is None for patterns in self.patterns], dtype=bool)


class _Places(NamedTuple):
    """The variables of tasks on hosts: item, host and column of each, int64, shape (variables,) each."""

    item: Ints
    host: Ints
    column: Ints


def packing_program(problem: Utility, hosts: Hosts, units: int | None, per_pair: bool = False) -> Program:
    """The program of the lowest utility; with `units` that of the utilisation where each job has at least that utility.

    Parameters
    ----------
    problem
        What to place.
    hosts
        Which nodes are told apart, and what they take.
    units
        In units of 2^-20; None: the first program.
    per_pair
        Whether each task has a variable for each node; then hosts must be single nodes.
    """
    making = _Making(problem, hosts, units is not None)
    listed = zip(making.names, hosts.members, strict=True)
    ids = problem.instance.cluster.node_ids
    together = {} if per_pair else {"place": 2, "take": 0}
    making.builder.group("members", "HOSTS", {name: tuple(ids[nodes].tolist()) for name, nodes in listed}, **together)
    take = making.patterns()
    places = making.pairs() if per_pair else making.tasks()
    making.capacities(places)
    making.within(places, take)
    if units is None:
        making.lowest(places)
        return making.builder.program(0, -GRID)
    making.needs(places, units)
    return making.builder.program(1, -GRID)


def _fitting(problem: Utility, hosts: Hosts, items: Items) -> tuple[Ints, Ints]:
    """Items and hosts of which a task fits on a node: by items of single nodes, then by hosts."""
    room = problem.room[hosts.first]
    fits = (items.demand[:, None, :] <= room).all(axis=2) & (items.limit > 0)[:, None]
    for at, patterns in enumerate(hosts.patterns):
        if patterns is not None:
            fits[:, at] &= patterns.any(axis=0)
    item, host = np.nonzero(fits & hosts.single)
    shared_host, shared_item = np.nonzero((fits & ~hosts.single).T)
    return np.concatenate([item, shared_item]), np.concatenate([host, shared_host])


class _Making:
    """A program of which families of variables and rows are added one by one."""

    def __init__(self, problem: Utility, hosts: Hosts, use: bool) -> None:
        self.problem, self.hosts, self.use = problem, hosts, use
        self.items, self.builder = Items.of(problem), Builder()
        self.listed = [(at, patterns) for at, patterns in enumerate(hosts.patterns) if patterns is not None]
        jobs = problem.instance.workload.job_ids[problem.jobs].tolist()
        self.jobs: list[tuple[str, ...]] = [(job,) for job in jobs]
        self.labels = [(job, KINDS[kind]) for kind in problem.kinds for job in jobs]
        self.names: list[str] = problem.instance.cluster.node_ids[hosts.first].tolist()

    def on_hosts(self, names: Sequence[tuple[Any, ...]], row: Ints, host: Ints) -> list[tuple[Any, ...]]:
        """Labels of what is on hosts: those of its row, and the host's name."""
        return [(*names[at], self.names[there]) for at, there in zip(row.tolist(), host.tolist(), strict=True)]

    def cost(self, item: Ints, host: Ints) -> Ints:
        """What a task on a host adds to the utilisation, negated; 0 in the first program."""
        cost: Ints = -self.items.share[item, self.problem.node_type[self.hosts.first[host]]] * self.use
        return cost

    def totals(self, name: str, which: Ints, places: _Places, doc: str, **limits: Any) -> Ints:
        """Add rows that sum the tasks of some items wherever they are. Returns the row of each item, or -1."""
        rows = np.full(len(self.labels), -1, dtype=np.int64)
        labels = [self.labels[item] for item in which.tolist()]
        rows[which] = self.builder.rows(name, labels, over="ITEMS", doc=doc, **limits)
        self.builder.enter(rows[places.item], places.column)
        return rows

    def tasks(self) -> _Places:
        """Add how many tasks of each item are on each host."""
        item, host = _fitting(self.problem, self.hosts, self.items)
        labels, upper = self.on_hosts(self.labels, item, host), self.items.limit[item]
        doc = "tasks of the item on nodes of the host"
        column = self.builder.variables(
            "place", labels, upper=upper, cost=self.cost(item, host), over="FITTING", doc=doc
        )
        return _Places(item, host, column)

    def pairs(self) -> _Places:
        """Add each task on each node where it fits, and reduces where they are fixed; a task is on one node at most."""
        problem, jobs = self.problem, len(self.jobs)
        names = [(task,) for task in problem.instance.workload.task_ids[problem.tasks].tolist()]
        members = [*problem.map_positions, *problem.reduce_positions]
        fitting = _fitting(problem, self.hosts, self.items)
        fixed = np.zeros((jobs, len(self.names))) if problem.fixed is None else problem.fixed[:, self.hosts.first]
        job, there = np.nonzero(fixed)
        every = np.concatenate([fitting[0], jobs + job]), np.concatenate([fitting[1], there])
        counts = np.array([len(members[item]) for item in every[0].tolist()], dtype=np.int64)
        item, host, of = (np.repeat(part, counts) for part in (*every, np.arange(len(counts))))
        task = np.concatenate([np.zeros(0, dtype=np.int64), *(members[row] for row in every[0].tolist())])
        free = of < len(fitting[0])
        labels, doc = self.on_hosts(names, task, host), "the task runs on the node"
        column = self.builder.variables(
            "place", labels, upper=1, cost=self.cost(item, host) * free, over="PAIRS", doc=doc
        )
        placed, row = np.unique(task, return_inverse=True)
        labels = [names[position] for position in placed.tolist()]
        self.builder.enter(
            self.builder.rows("once", labels, upper=1, over="TASKS", doc="on one node at most")[row], column
        )
        labels, doc = self.on_hosts(self.labels, jobs + job, there), "fixed reduces are as many as they are to be"
        amount = fixed[job, there]
        held = self.builder.rows("held", labels, lower=amount, upper=amount, over="FIXED", doc=doc)
        self.builder.enter(held[of[~free] - len(fitting[0])], column[~free])
        return _Places(item[free], host[free], column[free])

    def capacities(self, places: _Places) -> None:
        """Add what single nodes hold, (10)."""
        problem, single, unit = self.problem, self.hosts.single, self.problem.unit
        room = problem.room[self.hosts.first[single]] // unit
        labels = [(self.names[host], resource) for resource in problem.resources for host in np.flatnonzero(single)]
        doc = "(10): what tasks on the node take of the resource"
        rows = self.builder.rows("capacity", labels, upper=room.T.ravel(), over="ROOMS", doc=doc).reshape(room.T.shape)
        alone = np.flatnonzero(single[places.host])
        demand = (self.items.demand // unit)[places.item[alone]]
        entry, resource = np.nonzero(demand)
        at = (np.cumsum(single) - 1)[places.host[alone]][entry]
        self.builder.enter(rows[resource, at], places.column[alone][entry], demand[entry, resource])

    def patterns(self) -> Ints:
        """Add how many nodes take each pattern; none where all hosts are single nodes."""
        labels = [(self.names[at], n) for at, own in self.listed for n in range(len(own))]
        if not labels:
            return np.zeros(0, dtype=np.int64)
        upper = np.concatenate([np.full(len(own), len(self.hosts.members[at])) for at, own in self.listed])
        doc = "nodes of the host with the pattern"
        return self.builder.variables("take", labels, upper=upper, over="PATTERNS", doc=doc)

    def within(self, places: _Places, take: Ints) -> None:
        """Add what the patterns hold that nodes take."""
        if not self.listed:
            return
        several = np.array([at for at, _ in self.listed], dtype=np.int64)
        host = np.repeat(several, [len(own) for _, own in self.listed])
        rows = np.full(len(self.names), -1, dtype=np.int64)
        size = [len(self.hosts.members[at]) for at in several.tolist()]
        labels, doc = [(self.names[at],) for at in several.tolist()], "no more patterns than nodes"
        rows[several] = self.builder.rows("nodes", labels, upper=size, over="SEVERAL", doc=doc)
        self.builder.enter(rows[host], take)
        shared = np.flatnonzero(~self.hosts.single[places.host])
        item, there = places.item[shared], places.host[shared]
        placed, doc = self.on_hosts(self.labels, item, there), "no more tasks of the item than the patterns hold"
        held_by = np.full((len(self.labels), len(self.names)), -1, dtype=np.int64)
        held_by[item, there] = self.builder.rows("within", placed, upper=0, over="SHARED", doc=doc)
        self.builder.enter(held_by[item, there], places.column[shared])
        held = np.concatenate([own for _, own in self.listed])
        which, item = np.nonzero(held)
        self.builder.enter(held_by[item, host[which]], take[which], -held[which, item])

    def needs(self, places: _Places, units: int) -> None:
        """Add what each job needs for a utility: one of its pairs of counts."""
        owner, pair = least_pairs(self.problem, units)
        number = np.arange(len(owner)) - np.searchsorted(owner, owner)
        labels = [(*self.jobs[job], which) for job, which in zip(owner.tolist(), number.tolist(), strict=True)]
        doc = "the job gets at least these counts"
        choose = self.builder.variables("choose", labels, upper=1, over="NEEDS", doc=doc)
        which = np.flatnonzero(self.items.limit)
        doc = "tasks placed are no more than are pending"
        self.totals("supply", which, places, doc, upper=self.items.limit[which])
        rows = self.totals("needed", which, places, "tasks placed are enough", lower=0)
        item, column = np.nonzero(pair)
        self.builder.enter(rows[item], choose[column], -pair[item, column])
        one = self.builder.rows("one_need", self.jobs, lower=1, upper=1, over="JOBS", doc="one of its pairs")
        self.builder.enter(one[owner], choose)
        if self.problem.fixed_use:
            doc = "utilisation of reduces that are fixed"
            self.builder.variables("fixed_use", [()], lower=1, upper=1, cost=-self.problem.fixed_use, doc=doc)

    def lowest(self, places: _Places) -> None:
        """Add the utilities (6), (7), step by step, and the first objective (8)."""
        problem, limit, jobs, builder = self.problem, self.items.limit, len(self.jobs), self.builder
        tables = [*problem.map_utility, *problem.reduce_utility]
        given = np.zeros(len(limit), dtype=np.int64)
        if problem.fixed is not None:
            given[jobs:] = problem.fixed.sum(axis=1)
        which, closed = np.flatnonzero(limit), np.flatnonzero(limit == 0).tolist()
        lost = any(tables[item][given[item]] <= LEAST_FINITE for item in closed)
        worth = [np.where(table <= LEAST_FINITE, -GRID, table) for table in tables]
        base = np.array([table[count] for table, count in zip(worth, given.tolist(), strict=True)], dtype=np.int64)
        gain = np.concatenate([np.zeros(0, dtype=np.int64), *(np.diff(worth[item]) for item in which.tolist())])
        item = np.repeat(which, limit[which])
        number = np.arange(len(item)) - (np.cumsum(limit) - limit)[item] + 1
        labels = [(*self.labels[row], n) for row, n in zip(item.tolist(), number.tolist(), strict=True)]
        doc = "at least n tasks of the item are placed"
        step = builder.variables("step", labels, upper=1, over="STEPS", doc=doc)
        doc = "the lowest utility, in units of 2^-20"
        lowest = builder.variables("lowest", [()], lower=problem.lowest_units, upper=GRID, cost=-1, doc=doc)
        served = builder.variables("served", [()], upper=int(not lost), doc="no job is at minus infinity")
        later = np.flatnonzero(number > 1)
        ordered = builder.rows(
            "ordered", [labels[row] for row in later.tolist()], upper=0, over="LATER", doc="step by step"
        )
        builder.enter(ordered, step[later])
        builder.enter(ordered, step[later - 1], -1)
        rows = self.totals("allocated", which, places, "tasks placed are the steps", lower=0, upper=0)
        builder.enter(rows[item], step, -1)
        doc = "(6), (7), (8): the lowest utility is no more than the job's"
        least = builder.rows("least", self.jobs, upper=base[:jobs] + base[jobs:], over="JOBS", doc=doc)
        builder.enter(least, lowest)
        gained = np.flatnonzero(gain)
        builder.enter(least[item[gained] % jobs], step[gained], -gain[gained])
        starving = [row for row in np.flatnonzero(number == 1).tolist() if tables[item[row]][0] <= LEAST_FINITE]
        doc = "with no task of an item for which that is minus infinity, not all are served"
        starved = builder.rows("starved", [labels[row][:2] for row in starving], upper=0, over="STARVING", doc=doc)
        builder.enter(starved, served)
        builder.enter(starved, step[starving], -1)
        doc = "then the lowest utility is -penalty"
        penalised = builder.rows("penalised", [()], upper=problem.lowest_units, doc=doc)
        builder.enter(penalised, lowest)
        builder.enter(penalised, served, problem.lowest_units - GRID)


# Decisions as values -----------------------------------------------------------------------------------------------


def deal(patterns: Ints, times: Ints, placed: Ints) -> Ints:
    """Tasks on each of the nodes that take patterns: `times` (patterns,) of each, `placed` (items,) tasks in all.

    What patterns hold beyond the tasks that are placed is left out, on the last nodes. Shape (nodes, items).

    >>> deal(np.array([[2, 1], [0, 3]]), np.array([2, 1]), np.array([3, 4])).tolist()
    [[2, 1], [1, 1], [0, 2]]
    """
    upto = np.minimum(np.cumsum(np.repeat(patterns, times, axis=0), axis=0), placed)
    dealt: Ints = np.diff(upto, axis=0, prepend=0)
    return dealt


def counts_of(problem: Utility, hosts: Hosts, program: Program, values: Ints) -> Ints:
    """What each node takes, shape (items, nodes), by the values of a program that is not per pair."""
    items = Items.of(problem)
    item, host = _fitting(problem, hosts, items)
    placed = np.zeros((len(hosts.members), len(items.limit)), dtype=np.int64)
    placed[host, item] = values[program.family("place")]
    taken = np.zeros(0, dtype=np.int64) if hosts.single.all() else values[program.family("take")]
    counts = np.zeros((len(items.limit), len(problem.node_type)), dtype=np.int64)
    for at, (nodes, patterns) in enumerate(zip(hosts.members, hosts.patterns, strict=True)):
        if patterns is None:
            counts[:, nodes[0]] = placed[at]
            continue
        times, taken = np.split(taken, [len(patterns)])
        dealt = deal(patterns, times, placed[at])
        counts[:, nodes[: len(dealt)]] = dealt.T
    return counts


def values_of(problem: Utility, hosts: Hosts, program: Program, counts: Ints, units: int) -> Ints | None:
    """The values of the second program that counts of items by node give, shape (items, nodes).

    None where a node holds what is in no pattern of its host.
    """
    item, host = _fitting(problem, hosts, Items.of(problem))
    values = np.zeros(len(program.whole.objective), dtype=np.int64)
    by_host = np.array([counts[:, nodes].sum(axis=1) for nodes in hosts.members], dtype=np.int64)
    values[program.family("place")] = by_host[host, item]
    taken = []
    for nodes, patterns in zip(hosts.members, hosts.patterns, strict=True):
        if patterns is not None:
            holding = np.all(patterns >= counts[:, nodes].T[:, None], axis=2)
            if not np.any(holding, axis=1).all():
                return None
            taken.append(np.bincount(np.argmax(holding, axis=1), minlength=len(patterns)))
    if taken:
        values[program.family("take")] = np.concatenate(taken)
    owner, pair = least_pairs(problem, units)
    enough = np.flatnonzero((pair <= counts.sum(axis=1)[:, None]).all(axis=0))
    values[program.family("choose")][enough[np.unique(owner[enough], return_index=True)[1]]] = 1
    if problem.fixed_use:
        values[program.family("fixed_use")] = 1
    return values
