"""What is left of `utility` at prices of tasks: patterns and counts of jobs, as a program that a tree of cases settles.

A placement is worth what prices prove at most, less what each of its parts falls short: what a node holds, of the best
pattern of its type at these prices, and what a job gets, of its cheapest counts. So a placement that is better than one
that is held has no part that falls short by more than the two differ. All patterns and counts that do not are listed,
anew by whoever checks; a program over them has every better placement (Baldacci, Christofides and Mingozzi 2008 do so
for routes of vehicles). Without a utilisation to be had, only maximal patterns count, since tasks may be left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from optsched.instance import Ints
from optsched.problems.base import exact_product
from optsched.problems.knapsack import copies_in_powers
from optsched.problems.relaxations import UNBOUNDED, IntegerProgram
from optsched.problems.utility import Utility

__all__ = ["MOST_PATTERNS", "Columns", "TaskPrices", "columns_at", "least_pairs"]

#: Patterns of all types together are at most so many, on the way to them too, so that nobody checks for ever.
MOST_PATTERNS = 20_000

#: States of one dynamic program beyond which amounts are divided and rounded down, which lets more patterns in.
_MOST_STATES = 2**16


class TaskPrices(NamedTuple):
    """Prices of the maps of each job, then of the reduces of each job, int64, in units over `scale`."""

    prices: Ints
    scale: int

    @classmethod
    def none(cls, problem: Utility) -> TaskPrices:
        """Everything for nothing: every pattern is left."""
        return cls(np.zeros(2 * len(problem.jobs), dtype=np.int64), 1)


@dataclass(frozen=True, eq=False)
class Columns:
    """The program over what is left: patterns, then tasks of each item in all, then counts that are enough for a job.

    Attributes
    ----------
    kind, counts
        Type of nodes of each pattern, and tasks of each item in it: int64, shapes (patterns,), (patterns, items).
    owner, pair
        Job of each pair of counts, and the counts, int64, shape (items, pairs).
    program
        The negated utilisation in units, or 0, at least.
    """

    kind: Ints
    counts: Ints
    owner: Ints
    pair: Ints
    program: IntegerProgram


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


def columns_at(problem: Utility, units: int, given: TaskPrices, limit: int | None) -> Columns | None:
    """What may be in a placement in which each job has a utility, and with more utilisation than is held.

    Parameters
    ----------
    units
        The utility that each job has at least.
    given
        Prices; whatever they are, no such placement is lost.
    limit
        The negated utilisation in units that is to be gone below, without fixed reduces; None: any placement counts.

    Returns
    -------
    Columns
        None where there are more than `MOST_PATTERNS` patterns.
    """
    use = limit is not None
    scale = max(given.scale, 1)
    free = problem.fixed is None
    demand = np.concatenate([problem.demand_map, problem.demand_reduce])
    most = np.concatenate([problem.pending_maps, problem.pending_reduces * free])
    share = np.concatenate([problem.map_share, problem.reduce_share]) * use
    worth = share.astype(object) * scale + given.prices.astype(object)[:, None]
    owner, pair = least_pairs(problem, units)
    cost = [
        sum(int(price) * int(count) for price, count in zip(given.prices, row, strict=True) if price > 0)
        for row in pair.T
    ]
    cheapest: dict[int, int] = {}
    for job, total in zip(owner.tolist(), cost, strict=True):
        cheapest[job] = min(cheapest.get(job, total), total)
    rebate = sum(int(price) * int(count) for price, count in zip(given.prices, most, strict=True) if price < 0)
    packers = [_Packer(room, demand, most, worth[:, kind]) for kind, room in enumerate(problem.type_room)]
    best = exact_product(problem.type_size, [packer.best for packer in packers])
    short = best - sum(cheapest.values()) - rebate - scale * (1 - limit if limit is not None else 0)
    found: list[Ints] = []
    for packer in packers:
        patterns = packer.within(short, MOST_PATTERNS - sum(map(len, found)), maximal=not use)
        if patterns is None:
            return None
        found.append(patterns)
    kept = [total - cheapest[job] <= short for job, total in zip(owner.tolist(), cost, strict=True)]
    kind = np.repeat(np.arange(len(found)), [len(patterns) for patterns in found])
    counts = np.concatenate([np.zeros((0, len(most)), dtype=np.int64), *found])
    owner, pair = owner[kept], pair[:, kept]
    worths = (counts * share[:, kind].T).sum(axis=1)
    return Columns(kind, counts, owner, pair, _program(problem, (kind, counts, worths), (owner, pair), most))


def _program(
    problem: Utility,
    patterns: tuple[Ints, Ints, Ints],
    pairs: tuple[Ints, Ints],
    most: Ints,
) -> IntegerProgram:
    """Rows: nodes of each type; tasks of each item; what jobs need of it; a pair a job; as many pairs as jobs."""
    (kind, counts, worths), (owner, pair) = patterns, pairs
    items, types, jobs = len(most), len(problem.type_size), len(problem.jobs)
    first_total = len(kind)
    first_pair = first_total + items
    at = np.cumsum([0, types, items, items, jobs, 1])
    column, item = np.nonzero(counts)
    needed, which = np.nonzero(pair)
    own, totals = np.arange(items), first_total + np.arange(items)
    chosen = first_pair + np.arange(len(owner))
    entries = [
        (kind, np.arange(len(kind)), np.ones(len(kind), dtype=np.int64)),
        (at[1] + item, column, counts[column, item]),
        (at[1] + own, totals, np.full(items, -1)),
        (at[2] + own, totals, np.ones(items, dtype=np.int64)),
        (at[2] + needed, first_pair + which, -pair[needed, which]),
        (at[3] + owner, chosen, np.ones(len(owner), dtype=np.int64)),
        (np.full(len(owner), at[4]), chosen, np.ones(len(owner), dtype=np.int64)),
    ]
    row, col, value = (np.concatenate([entry[position] for entry in entries]) for position in range(3))
    # Where any placement counts, patterns may hold more tasks than there are.
    exact = bool(worths.any())
    held = np.zeros(items, dtype=np.int64)
    np.maximum.at(held, item, counts[column, item] * problem.type_size[kind[column]])
    upper = most if exact else np.minimum(most.max(initial=0) + held * max(types, 1), UNBOUNDED - 1)
    equal = [problem.type_size, np.zeros(items, dtype=np.int64)]
    ones = np.ones(jobs, dtype=np.int64)
    return IntegerProgram(
        objective=np.concatenate([-worths, np.zeros(items + len(owner), dtype=np.int64)]),
        row=row.astype(np.int64),
        column=col.astype(np.int64),
        value=value.astype(np.int64),
        row_lower=np.concatenate([*equal, np.zeros(items, dtype=np.int64), ones, [jobs]]),
        row_upper=np.concatenate([*equal, np.full(items, UNBOUNDED), ones, [jobs]]),
        lower=np.zeros(len(kind) + items + len(owner), dtype=np.int64),
        upper=np.concatenate([problem.type_size[kind], upper, np.ones(len(owner), dtype=np.int64)]),
    )


class _Packer:
    """What one node of a type holds: the most that it is worth, and all patterns that are worth nearly as much."""

    def __init__(self, room: Ints, demand: Ints, limit: Ints, worth: Any) -> None:
        most = (demand * limit[:, None]).sum(axis=0)
        self.room, self.demand = np.minimum(room, most), demand
        self.limit = np.where((demand <= room).all(axis=1), limit, 0)
        total = sum(abs(int(gain)) * int(count) for gain, count in zip(worth, limit, strict=True))
        self._kind: Any = np.int64 if total < 2**61 else object
        self.worth = worth.astype(self._kind)
        chosen = demand[self.limit > 0]
        self._divisor: Ints = np.maximum(np.gcd.reduce(chosen, axis=0, initial=0), 1)
        while math.prod((self.room // self._divisor + 1).tolist()) > _MOST_STATES:
            self._divisor[np.argmax(self.room // self._divisor)] *= 2
        # The tables of all types together may be large: each is made anew where its patterns are listed.
        self.best = int(self._tabulated()[0][tuple(self.room // self._divisor)])

    def _tabulated(self) -> list[Any]:
        """For each item what it and those after it are worth at most in whatever room is left."""
        table = np.zeros((self.room // self._divisor + 1).tolist(), dtype=self._kind)
        tables = [table]
        for item in range(len(self.limit) - 1, -1, -1):
            if self.worth[item] > 0 and self.limit[item]:
                table = table.copy()
                step = (self.demand[item] // self._divisor).tolist()
                for part in copies_in_powers(self._copies(item)):
                    shift = [part * size for size in step]
                    ends = tuple(slice(size, None) for size in shift)
                    starts = tuple(slice(extent - size) for size, extent in zip(shift, table.shape, strict=True))
                    table[ends] = np.maximum(table[ends], table[starts] + part * self.worth[item])
            tables.append(table)
        return tables[::-1]

    def _copies(self, item: int) -> int:
        """How many tasks of an item the room holds."""
        takes = self.demand[item] > 0
        held = (self.room[takes] // self.demand[item][takes]).min(initial=int(self.limit[item]))
        return int(held)

    def within(self, short: int, most: int, maximal: bool) -> Ints | None:
        """Every pattern that is worth at most `short` less than the best, or every maximal one of these.

        int64, shape (patterns, items), in lexicographic order; None where there are more than `most`.
        """
        items = len(self.limit)
        left, value = self.room[None].copy(), np.zeros(1, dtype=self._kind)
        counts = np.zeros((1, items), dtype=np.int64)
        least, tables = self.best - short, self._tabulated()
        for item in range(items):
            if self.limit[item]:
                takes = self.demand[item] > 0
                fits = (left[:, takes] // self.demand[item][takes]).min(axis=1, initial=int(self.limit[item]))
                if int(fits.sum()) + len(fits) > 20 * max(most, 1):
                    return None
                row = np.repeat(np.arange(len(fits)), fits + 1)
                number = np.arange(len(row)) - np.repeat(np.cumsum(fits + 1) - fits - 1, fits + 1)
                left, value, counts = left[row] - number[:, None] * self.demand[item], value[row], counts[row]
                value = value + number.astype(self._kind) * self.worth[item]
                counts[:, item] = number
            bound = value + tables[item + 1][tuple((left // self._divisor).T)]
            near = np.flatnonzero(bound >= least)
            left, value, counts = left[near], value[near], counts[near]
        if maximal:
            room = (counts < self.limit) & (left[:, None, :] >= self.demand).all(axis=2)
            counts = counts[~room.any(axis=1)]
        return counts if len(counts) <= most else None
