"""What is left of `utility` at prices of tasks: patterns and counts of jobs, as a program that a tree of cases settles.

A placement is worth what prices prove at most, less what each of its parts falls short: what a node holds, of the best
pattern of its type at these prices, and what a job gets, of its cheapest counts. So a placement that is better than one
that is held has no part that falls short by more than the two differ. All patterns and counts that do not are listed,
anew by whoever checks; a program over them has every better placement (Baldacci, Christofides and Mingozzi 2008 do so
for routes of vehicles). Without a utilisation to be had, only maximal patterns count, since tasks may be left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optsched.core.instance import Ints
from optsched.problems.base import exact_product
from optsched.problems.knapsack import Packer
from optsched.problems.relaxations import UNBOUNDED, IntegerProgram
from optsched.problems.utility import Utility
from optsched.problems.utility_program import least_pairs

__all__ = ["MOST_PATTERNS", "Columns", "TaskPrices", "columns_at"]

#: Patterns of all types together are at most so many, on the way to them too, so that nobody checks for ever.
MOST_PATTERNS = 20_000


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
    packers = [Packer(room, demand, most, worth[:, kind]) for kind, room in enumerate(problem.type_room)]
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
