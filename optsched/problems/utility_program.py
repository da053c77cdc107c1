"""The exact programs of `utility`: tasks on hosts of alike nodes, and the patterns and counts that prices leave.

The first program maximises the lowest utility, by steps of the tables (7). The second maximises the utilisation with a
given utility for each job: it has a pair of sufficient counts; neither can be less. A pattern says how many tasks of
each item one node holds; a host of one node needs no patterns. With fewer patterns than all maximal ones the program
contains only placements, but not all of them. Items are the maps of each job, then the reduces of each job.

`columns_at` makes the program that a tree of cases settles. A placement is worth at most what prices prove, less the
shortfall of each of its parts: what a node holds, compared with its type's best pattern at these prices, and what a job
gets, compared with its cheapest counts. So in a placement that is better than the incumbent, no part falls short by
more than the gap. The checker lists all patterns and counts within the gap, and a program over them contains every
better placement (Baldacci, Christofides and Mingozzi 2008 do so for vehicle routes).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from optsched.core.arrays import places_in, rank_among
from optsched.core.instance import KINDS, Bools, Ints
from optsched.core.placement import NONE, Placement
from optsched.problems.base import GRID, exact_product
from optsched.problems.knapsack import Packer
from optsched.problems.programs import Builder, Label, Program, Zipped
from optsched.problems.relaxations import IntegerProgram
from optsched.problems.utility_definition import UtilityDefinition

#: No finite utility is less, in units: each table is at least -1 where it is finite.
LEAST_FINITE = -2 * GRID


def least_pairs(problem: UtilityDefinition, units: int) -> tuple[Ints, Ints]:
    """Pairs of counts that give a job a utility of at least `units`; neither count can be less.

    Returns int64, shape (pairs,): the job; and shape (items, pairs): maps of each job, then reduces of each job.
    """
    jobs = len(problem.jobs)
    needs = [problem.least_maps(job, units) for job in range(jobs)]
    owner = np.repeat(np.arange(jobs), [len(maps) for _, maps in needs])
    reduces, maps = (np.concatenate([*(part[position] for part in needs), owner[:0]]) for position in (0, 1))
    counts = np.zeros((2 * jobs, len(owner)), dtype=np.int64)
    counts[owner, np.arange(len(owner))] = maps
    if problem.fixed is None:
        counts[jobs + owner, np.arange(len(owner))] = reduces
    # A pair with more reduces and no fewer maps adds nothing.
    fewer = np.ones(len(owner), dtype=bool)
    fewer[1:] = (owner[1:] != owner[:-1]) | (maps[1:] < maps[:-1])
    return owner[fewer], counts[:, fewer]


def maximal_patterns(problem: UtilityDefinition, kind: int, most: int) -> Ints | None:
    """Every pattern of a type to which no task can be added. int64, shape (patterns, items); None beyond `most`."""
    demand, limit, _ = problem.items
    return Packer(problem.type_room[kind], demand, limit, np.zeros_like(limit)).within(0, most, maximal=True)


def listed_patterns(problem: UtilityDefinition, most: int) -> dict[int, Ints]:
    """The maximal patterns of each type with several nodes and at most `most` patterns: no placement is lost."""
    listed = {kind: maximal_patterns(problem, kind, most) for kind in np.flatnonzero(problem.type_size > 1).tolist()}
    return {kind: patterns for kind, patterns in listed.items() if patterns is not None}


class UtilityProgram:
    """The programs of a problem, and the meaning of their variables.

    Parameters
    ----------
    problem
        What to place.
    known
        By type of nodes, the patterns that they take: the nodes of such a type are one host, each other node is one.
    apart
        Whether each task has a variable for each node; then no patterns are given.

    Attributes
    ----------
    members, patterns
        The nodes of each host, and their patterns, shape (patterns, items), or None: one node that takes what fits.
    first, single
        The first node of each host, and whether it is a single node that takes what fits; shape (hosts,).
    item, host
        Of each variable `place`, int64, shape (places,).
    free
        Whether it is open: with `apart` fixed reduces have variables too.
    task
        With `apart` the position of its task in `tasks`.
    """

    def __init__(self, problem: UtilityDefinition, known: Mapping[int, Ints], apart: bool = False) -> None:
        self.problem, self.apart, self.items = problem, apart, problem.items
        hosts: list[tuple[Ints, Ints | None]] = []
        for kind in range(len(problem.type_size)):
            nodes = np.flatnonzero(problem.node_type == kind)
            together = kind in known
            hosts += [(nodes, known[kind])] if together else [(nodes[[row]], None) for row in range(len(nodes))]
        hosts.sort(key=lambda host: int(host[0][0]) if host[1] is None else -1)  # those with patterns first, by type
        self.members, self.patterns = [nodes for nodes, _ in hosts], [patterns for _, patterns in hosts]
        self.first: Ints = np.array([nodes[0] for nodes in self.members], dtype=np.int64)
        self.single: Bools = np.array([patterns is None for patterns in self.patterns], dtype=bool)
        self._listed = [(at, patterns) for at, patterns in enumerate(self.patterns) if patterns is not None]
        jobs = problem.instance.workload.job_ids[problem.jobs].tolist()
        self._jobs: list[Label] = [(job,) for job in jobs]
        self._labels: list[Label] = [(job, KINDS[kind]) for kind in problem.kinds for job in jobs]
        self._names: list[str] = problem.instance.cluster.node_ids[self.first].tolist()
        room = problem.room[self.first]
        fits = (self.items.demand[:, None, :] <= room).all(axis=2) & (self.items.limit > 0)[:, None]
        for at, patterns in self._listed:
            fits[:, at] &= patterns.any(axis=0)
        held = np.zeros_like(fits)
        if apart and problem.fixed is not None:
            held[len(jobs) :] = problem.fixed[:, self.first] > 0
        alone, several = np.argwhere((fits | held) & self.single), np.argwhere((fits & ~self.single).T)[:, ::-1]
        self.item, self.host = np.concatenate([alone, several]).T
        if apart:
            members = [*problem.map_positions, *problem.reduce_positions]
            tasks = [members[item] for item in self.item.tolist()]
            self.task: Ints = np.concatenate([np.zeros(0, dtype=np.int64), *tasks])
            count = [len(own) for own in tasks]
            self.item, self.host = np.repeat(self.item, count), np.repeat(self.host, count)
        self.free: Bools = fits[self.item, self.host]

    def highest(self) -> Program:
        """The program of the highest lowest utility."""
        builder = Builder()
        self._enter_steps(builder, self._enter_places(builder, use=False))
        return builder.program(0, -GRID)

    def most_used(self, units: int) -> Program:
        """The program of the most utilisation with at least a given utility for each job, in units of 2^-20."""
        builder = Builder()
        self._enter_needs(builder, self._enter_places(builder, use=True), units)
        return builder.program(1, -GRID)

    # Rows ----------------------------------------------------------------------------------------------------------

    def _enter_places(self, builder: Builder, use: bool) -> Ints:
        """Add the tasks on hosts, and what these hold; returns the columns. With `use` the utilisation counts."""
        listed, ids = zip(self._names, self.members, strict=True), self.problem.instance.cluster.node_ids
        together = {} if self.apart else {"place": 2, "take": 0}
        builder.group("members", "HOSTS", {name: tuple(ids[nodes].tolist()) for name, nodes in listed}, **together)
        take = self._enter_patterns(builder)
        share = self.items.share[self.item, self.problem.node_type[self.first[self.host]]]
        cost = -share * self.free * use
        if self.apart:
            place = self._enter_pairs(builder, cost)
        else:
            doc = "tasks of the item on nodes of the host"
            upper = self.items.limit[self.item]
            place = builder.variables("place", self._at_host(), upper=upper, cost=cost, over="FITTING", doc=doc)
        self._enter_capacities(builder, place)
        if len(take):
            self._enter_within(builder, place, take)
        return place

    def _at_host(self) -> list[Label]:
        """The item and the host of each place."""
        at = zip(self.item.tolist(), self.host.tolist(), strict=True)
        return [(*self._labels[item], self._names[host]) for item, host in at]

    def _enter_pairs(self, builder: Builder, cost: Ints) -> Ints:
        """Add each task on each node: at most one node each, and fixed reduces as many as given."""
        problem = self.problem
        names = problem.task_ids.tolist()
        labels: list[Label] = [
            (names[task], self._names[host]) for task, host in zip(self.task.tolist(), self.host.tolist(), strict=True)
        ]
        place = builder.variables("place", labels, upper=1, cost=cost, over="PAIRS", doc="the task runs on the node")
        placed, row = np.unique(self.task, return_inverse=True)
        labels = [(names[task],) for task in placed.tolist()]
        builder.enter(builder.rows("once", labels, upper=1, over="TASKS", doc="on one node at most")[row], place)
        held = np.flatnonzero(~self.free)
        listed, at = np.unique(np.column_stack([self.item, self.host])[held], axis=0, return_inverse=True)
        labels = [(*self._labels[item], self._names[host]) for item, host in listed.tolist()]
        amount = np.zeros(0, dtype=np.int64)
        if problem.fixed is not None:
            amount = problem.fixed[listed[:, 0] - len(self._jobs), self.first[listed[:, 1]]]
        doc = "fixed reduces are as many as they are to be"
        rows = builder.rows("held", labels, lower=amount, upper=amount, over="FIXED", doc=doc)
        builder.enter(rows[at.reshape(-1)], place[held])
        return place

    def _enter_capacities(self, builder: Builder, place: Ints) -> None:
        """Add the capacities of single nodes, (10)."""
        problem, single, unit = self.problem, self.single, self.problem.unit
        room = (problem.room[self.first[single]] // unit).T
        labels = [(self._names[host], resource) for resource in problem.resources for host in np.flatnonzero(single)]
        doc = "(10): what tasks on the node take of the resource"
        rows = builder.rows("capacity", labels, upper=room.ravel(), over="ROOMS", doc=doc).reshape(room.shape)
        alone = np.flatnonzero(single[self.host] & self.free)
        demand = (self.items.demand // unit)[self.item[alone]]
        entry, resource = np.nonzero(demand)
        at = (np.cumsum(single) - 1)[self.host[alone]][entry]
        builder.enter(rows[resource, at], place[alone][entry], demand[entry, resource])

    def _enter_patterns(self, builder: Builder) -> Ints:
        """Add how many nodes take each pattern; none if all hosts are single nodes."""
        labels = [(self._names[at], number) for at, own in self._listed for number in range(len(own))]
        if not labels:
            return np.zeros(0, dtype=np.int64)
        upper = np.concatenate([np.full(len(own), len(self.members[at])) for at, own in self._listed])
        doc = "nodes of the host with the pattern"
        return builder.variables("take", labels, upper=upper, over="PATTERNS", doc=doc)

    def _enter_within(self, builder: Builder, place: Ints, take: Ints) -> None:
        """Limit the tasks on a host to those of the patterns that its nodes take."""
        several = [at for at, _ in self._listed]
        host = np.repeat(several, [len(own) for _, own in self._listed])
        size = [len(self.members[at]) for at in several]
        labels, doc = [(self._names[at],) for at in several], "no more patterns than nodes"
        rows = builder.rows("nodes", labels, upper=size, over="SEVERAL", doc=doc)
        builder.enter(rows[np.searchsorted(several, host)], take)
        shared = np.flatnonzero(~self.single[self.host])
        labels, doc = self._at_host(), "no more tasks of the item than the patterns hold"
        row_of = np.full((len(self._labels), len(self._names)), -1, dtype=np.int64)
        row_of[self.item[shared], self.host[shared]] = builder.rows(
            "within", [labels[at] for at in shared.tolist()], upper=0, over="SHARED", doc=doc
        )
        builder.enter(row_of[self.item[shared], self.host[shared]], place[shared])
        held = np.concatenate([own for _, own in self._listed])
        which, item = np.nonzero(held)
        builder.enter(row_of[item, host[which]], take[which], -held[which, item])

    def _enter_totals(self, builder: Builder, name: str, place: Ints, doc: str, **limits: Any) -> Ints:
        """Add rows that sum the tasks of each open item over all places. Returns the row of each item, or -1."""
        which = np.flatnonzero(self.items.limit)
        rows = np.full(len(self._labels), -1, dtype=np.int64)
        labels = [self._labels[item] for item in which.tolist()]
        rows[which] = builder.rows(name, labels, over="ITEMS", doc=doc, **limits)
        builder.enter(rows[self.item[self.free]], place[self.free])
        return rows

    def _enter_needs(self, builder: Builder, place: Ints, units: int) -> None:
        """Add each job's needs for a utility: one of its pairs of counts."""
        owner, pair = least_pairs(self.problem, units)
        ranks = rank_among(owner).tolist()
        labels = [(*self._jobs[job], which) for job, which in zip(owner.tolist(), ranks, strict=True)]
        doc = "the job gets at least these counts"
        choose = builder.variables("choose", labels, upper=1, over="NEEDS", doc=doc)
        most, doc = self.items.limit[self.items.limit > 0], "tasks placed are no more than are pending"
        self._enter_totals(builder, "supply", place, doc, upper=most)
        rows = self._enter_totals(builder, "needed", place, "tasks placed are enough", lower=0)
        item, column = np.nonzero(pair)
        builder.enter(rows[item], choose[column], -pair[item, column])
        one = builder.rows("one_need", self._jobs, lower=1, upper=1, over="JOBS", doc="one of its pairs")
        builder.enter(one[owner], choose)
        if self.problem.fixed_use:
            doc = "utilisation of reduces that are fixed"
            builder.variables("fixed_use", [()], lower=1, upper=1, cost=-self.problem.fixed_use, doc=doc)

    def _steps(self) -> tuple[Ints, Ints]:
        """The item and the number, from 1, of each step; int64, shape (steps,) each."""
        limit = self.items.limit
        return np.repeat(np.arange(len(limit)), limit), places_in(limit) + 1

    def _enter_steps(self, builder: Builder, place: Ints) -> None:
        """Add the utilities (6), (7), step by step, and the first objective (8)."""
        problem, limit, jobs = self.problem, self.items.limit, len(self._jobs)
        tables = [*problem.map_utility, *problem.reduce_utility]
        given = np.zeros(len(limit), dtype=np.int64)
        if problem.fixed is not None:
            given[jobs:] = problem.fixed.sum(axis=1)
        lost = any(tables[item][given[item]] <= LEAST_FINITE for item in np.flatnonzero(limit == 0).tolist())
        worth = [np.where(table <= LEAST_FINITE, -GRID, table) for table in tables]
        base = np.array([table[count] for table, count in zip(worth, given.tolist(), strict=True)], dtype=np.int64)
        rises = [np.diff(own)[:most] for own, most in zip(worth, limit.tolist(), strict=True)]
        gain = np.concatenate([np.zeros(0, dtype=np.int64), *rises])
        item, number = self._steps()
        labels = [(*self._labels[row], n) for row, n in zip(item.tolist(), number.tolist(), strict=True)]
        doc = "at least n tasks of the item are placed"
        step = builder.variables("step", labels, upper=1, over="STEPS", doc=doc)
        least, doc = problem.lowest_units, "the lowest utility, in units of 2^-20"
        most = GRID * (jobs > 0)
        lowest = builder.variables("lowest", [()], lower=least, upper=most, cost=-1, doc=doc, implied=True)
        served = builder.variables("served", [()], upper=int(not lost), doc="no job is at minus infinity")
        later = np.flatnonzero(number > 1)
        ordered = builder.rows(
            "ordered", [labels[row] for row in later.tolist()], upper=0, over="LATER", doc="step by step"
        )
        builder.enter(ordered, step[later])
        builder.enter(ordered, step[later - 1], -1)
        rows = self._enter_totals(builder, "allocated", place, "tasks placed are the steps", lower=0, upper=0)
        builder.enter(rows[item], step, -1)
        doc = "(6), (7), (8): the lowest utility is no more than the job's"
        rows = builder.rows("least", self._jobs, upper=base[:jobs] + base[jobs:], over="JOBS", doc=doc)
        builder.enter(rows, lowest)
        gained = np.flatnonzero(gain)
        builder.enter(rows[item[gained] % jobs], step[gained], -gain[gained])
        starving = [row for row in np.flatnonzero(number == 1).tolist() if tables[item[row]][0] <= LEAST_FINITE]
        doc = "with no task of an item for which that is minus infinity, not all are served"
        starved = builder.rows("starved", [labels[row][:2] for row in starving], upper=0, over="STARVING", doc=doc)
        builder.enter(starved, served)
        builder.enter(starved, step[starving], -1)
        penalised = builder.rows("penalised", [()], upper=least, doc="then the lowest utility is -penalty")
        builder.enter(penalised, lowest)
        builder.enter(penalised, served, least - GRID)

    # Decisions as values -------------------------------------------------------------------------------------------

    def values_of(self, placement: Placement, program: Program) -> Ints:
        """The values of the variables for a placement; every node must hold no more than some pattern."""
        problem, counts = self.problem, self.problem.items_on(placement)
        values = np.zeros(len(program.numbers.objective), dtype=np.int64)
        if self.apart:
            on_node = problem.nodes_of(placement)[self.task] == self.first[self.host]
            values[program.family("place")] = on_node
        else:
            by_host = [counts[:, nodes].sum(axis=1) for nodes in self.members]
            values[program.family("place")] = np.array(by_host).reshape(len(by_host), -1)[self.host, self.item]
        if self._listed:
            taken = []
            for at, own in self._listed:  # each node takes the first pattern that contains its tasks
                holds = (own >= counts[:, self.members[at]].T[:, None]).all(axis=2)
                taken.append(np.bincount(np.argmax(holds, axis=1), minlength=len(own)))
            values[program.family("take")] = np.concatenate(taken)
        placed = counts.sum(axis=1)
        if not program.component:
            item, number = self._steps()
            lowest = int(problem.objective(placement)[0] * GRID)
            values[program.family("step")] = number <= placed[item]
            values[program.family("lowest")] = lowest
            values[program.family("served")] = lowest > problem.lowest_units
            return values
        chosen, pair = program.family("choose"), _pairs(program)
        enough = np.flatnonzero((pair <= placed[self.items.limit > 0, None]).all(axis=0))
        first = {program.names[chosen.start + at][1]: at for at in enough[::-1].tolist()}
        values[chosen][list(first.values())] = 1
        if problem.fixed_use:
            values[program.family("fixed_use")] = 1
        return values

    def decision_of(self, values: Ints, program: Program) -> Placement:
        """The placement that values stand for."""
        if not self.apart:
            return self.problem.placed(self.counts_of(values, program))
        nodes = np.full(len(self.problem.tasks), NONE, dtype=np.int64)
        chosen = np.flatnonzero(values[program.family("place")])
        nodes[self.task[chosen]] = self.first[self.host[chosen]]
        return self.problem.placement(nodes)

    def counts_of(self, values: Ints, program: Program) -> Ints:
        """The counts on each node, shape (items, nodes), without fixed reduces, if tasks are not apart."""
        counts = np.zeros((len(self.items.limit), len(self.problem.node_type)), dtype=np.int64)
        place = values[program.family("place")]
        placed = np.zeros((len(self.members), len(self.items.limit)), dtype=np.int64)
        placed[self.host, self.item] = place
        taken = values[program.family("take")] if self._listed else None
        for at, (nodes, patterns) in enumerate(zip(self.members, self.patterns, strict=True)):
            if patterns is None or taken is None:
                counts[:, nodes[0]] = placed[at]
                continue
            times, taken = np.split(taken, [len(patterns)])
            dealt = deal(patterns, times, placed[at])
            counts[:, nodes[: len(dealt)]] = dealt.T
        return counts


def _pairs(program: Program) -> Ints:
    """The needs of each variable `choose` of a program, shape (open items, pairs)."""
    whole, choose, needed = program.numbers, program.family("choose"), program.rows_of("needed")
    own = (choose.start <= whole.column) & (whole.column < choose.stop)
    own &= (needed.start <= whole.row) & (whole.row < needed.stop)
    pair = np.zeros((needed.stop - needed.start, choose.stop - choose.start), dtype=np.int64)
    pair[whole.row[own] - needed.start, whole.column[own] - choose.start] = -whole.value[own]
    return pair


def deal(patterns: Ints, times: Ints, placed: Ints) -> Ints:
    """Tasks on each of the nodes that take patterns: `times` (patterns,) of each, `placed` (items,) tasks in all.

    Surplus tasks of the patterns are left out on the last nodes. Shape (nodes, items).

    >>> deal(np.array([[2, 1], [0, 3]]), np.array([2, 1]), np.array([3, 4])).tolist()
    [[2, 1], [1, 1], [0, 2]]
    """
    upto = np.minimum(np.cumsum(np.repeat(patterns, times, axis=0), axis=0), placed)
    dealt: Ints = np.diff(upto, axis=0, prepend=0)
    return dealt


#: The most patterns of all types together, also during the search for them, so that a check ends.
MOST_PATTERNS = 20_000


class TaskPrices(NamedTuple):
    """Prices of the maps of each job, then of the reduces of each job, int64, in units over `scale`."""

    prices: Ints
    scale: int


class Columns(NamedTuple):
    """The program over what is left: patterns, then total tasks of each item, then sufficient counts for a job.

    `kind`, `counts`: type of nodes of each pattern, and tasks of each item in it: int64, shapes (patterns,), (patterns,
    items). `owner`, `pair`: job of each pair of counts, and the counts, int64, shape (items, pairs). `program`:
    minimises the negated utilisation in units.
    """

    kind: Ints
    counts: Ints
    owner: Ints
    pair: Ints
    program: IntegerProgram


def columns_at(problem: UtilityDefinition, units: int, prices: TaskPrices, limit: int) -> Columns | None:
    """The columns that may occur in a placement with a utility for each job and more utilisation than the incumbent.

    No such placement is lost at any prices. `units`: the utility. `limit`: the negated utilisation in units that must
    be undercut, without fixed reduces.

    None if there are more than `MOST_PATTERNS` patterns.
    """
    scale = max(prices.scale, 1)
    demand, most, share = problem.items
    worth = share.astype(object) * scale + prices.prices.astype(object)[:, None]
    owner, pair = least_pairs(problem, units)
    cost = [
        sum(int(price) * int(count) for price, count in zip(prices.prices, row, strict=True) if price > 0)
        for row in pair.T
    ]
    cheapest: dict[int, int] = {}
    for job, total in zip(owner.tolist(), cost, strict=True):
        cheapest[job] = min(cheapest.get(job, total), total)
    rebate = sum(int(price) * int(count) for price, count in zip(prices.prices, most, strict=True) if price < 0)
    packers = [Packer(room, demand, most, worth[:, kind]) for kind, room in enumerate(problem.type_room)]
    best = exact_product(problem.type_size, [packer.best for packer in packers])
    short = best - sum(cheapest.values()) - rebate - scale * (1 - limit)
    found: list[Ints] = []
    for packer in packers:
        patterns = packer.within(short, MOST_PATTERNS - sum(map(len, found)), maximal=False)
        if patterns is None:
            return None
        found.append(patterns)
    kept = [total - cheapest[job] <= short for job, total in zip(owner.tolist(), cost, strict=True)]
    kind = np.repeat(np.arange(len(found)), [len(patterns) for patterns in found])
    counts = np.concatenate([np.zeros((0, len(most)), dtype=np.int64), *found])
    owner, pair = owner[kept], pair[:, kept]
    worths = (counts * share[:, kind].T).sum(axis=1)
    return Columns(kind, counts, owner, pair, _pattern_program(problem, kind, counts, worths, owner, pair))


def _pattern_program(
    problem: UtilityDefinition, kind: Ints, counts: Ints, worths: Ints, owner: Ints, pair: Ints
) -> IntegerProgram:
    """The program of `Columns`, with columns in the order in which trees name them; `worths` are those of the patterns.

    Each node takes a pattern, and each job gets one of its pairs of counts. Total tasks are at most those of the
    patterns, and at least what the jobs need.
    """
    most, size, jobs = problem.items.limit, problem.type_size, len(problem.jobs)
    column, item = np.nonzero(counts)
    needed, which = np.nonzero(pair)
    builder = Builder()  # only its numbers are used, and no label is ever made
    take = builder.variables("take", Zipped(kind), upper=size[kind], cost=-worths)
    total = builder.variables("total", Zipped(most), upper=most)
    choose = builder.variables("choose", Zipped(owner), upper=1)
    nodes = builder.rows("nodes", Zipped(size), lower=size, upper=size)
    held = builder.rows("held", Zipped(most), lower=0, upper=0)
    enough = builder.rows("needed", Zipped(most), lower=0)
    one = builder.rows("one_need", Zipped(problem.jobs), lower=1, upper=1)
    every = builder.rows("needs", [()], lower=jobs, upper=jobs)
    builder.enter(nodes[kind], take)
    builder.enter(held[item], take[column], counts[column, item])
    builder.enter(held, total, -1)
    builder.enter(enough, total)
    builder.enter(enough[needed], choose[which], -pair[needed, which])
    builder.enter(one[owner], choose)
    builder.enter(every, choose)
    return builder.program().numbers
