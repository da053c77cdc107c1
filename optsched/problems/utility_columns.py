"""The program of `utility` over the patterns and counts that prices of tasks leave, for a tree of cases to settle.

A placement is worth what prices prove at most, less what each of its parts falls short: what a node holds, of the best
pattern of its type at these prices, and what a job gets, of its cheapest counts. So a placement that is better than one
that is held has no part that falls short by more than the two differ. All patterns and counts that do not are listed,
anew by the checker; a program over them has every better placement (Baldacci, Christofides and Mingozzi 2008 do so
for routes of vehicles). Without a utilisation to be had, only maximal patterns count, since tasks may be left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optsched.core.instance import Ints
from optsched.problems.base import exact_product
from optsched.problems.knapsack import Packer
from optsched.problems.programs import Builder, Label
from optsched.problems.relaxations import UNBOUNDED, IntegerProgram
from optsched.problems.utility import Utility
from optsched.problems.utility_program import least_pairs

__all__ = ["MOST_PATTERNS", "Columns", "TaskPrices", "columns_at"]

#: The most patterns of all types together, on the way to them too, so that a check ends.
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


def columns_at(problem: Utility, units: int, prices: TaskPrices, limit: int | None) -> Columns | None:
    """The columns that may be in a placement with a utility for each job, and with more utilisation than is held.

    Parameters
    ----------
    units
        The utility that each job has at least.
    given
        Prices; no such placement is lost at any prices.
    limit
        The negated utilisation in units that is to be gone below, without fixed reduces; None: any placement counts.

    Returns
    -------
    Columns
        None where there are more than `MOST_PATTERNS` patterns.
    """
    use = limit is not None
    scale = max(prices.scale, 1)
    free = problem.fixed is None
    demand = np.concatenate([problem.demand_map, problem.demand_reduce])
    most = np.concatenate([problem.pending_maps, problem.pending_reduces * free])
    share = np.concatenate([problem.map_share, problem.reduce_share]) * use
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
    return Columns(kind, counts, owner, pair, _pattern_program(problem, (kind, counts, worths), (owner, pair), most))


def _pattern_program(
    problem: Utility, patterns: tuple[Ints, Ints, Ints], pairs: tuple[Ints, Ints], most: Ints
) -> IntegerProgram:
    """The program over patterns and pairs of counts; its columns go by the order in which trees name them.

    Parameters
    ----------
    patterns
        Type of nodes, tasks of each item, and worth of each pattern: shapes (patterns,), (patterns, items),
        (patterns,). If none is worth anything, patterns may hold more tasks than there are.
    pairs
        Job of each pair, and the counts, shape (items, pairs).
    most
        int64, shape (items,): how many tasks there are.
    """
    (kind, counts, worths), (owner, pair) = patterns, pairs
    column, item = np.nonzero(counts)
    needed, which = np.nonzero(pair)
    held_most = np.zeros(len(most), dtype=np.int64)
    np.maximum.at(held_most, item, counts[column, item] * problem.type_size[kind[column]])
    several = most.max(initial=0) + held_most * max(len(problem.type_size), 1)
    builder = Builder()
    take = builder.variables("take", _numbered(kind), upper=problem.type_size[kind], cost=-worths)
    upper = most if worths.any() else np.minimum(several, UNBOUNDED - 1)
    total = builder.variables("total", _numbered(most), upper=upper)
    choose = builder.variables("choose", _numbered(owner), upper=1)
    nodes = builder.rows(
        "nodes",
        _numbered(problem.type_size),
        lower=problem.type_size,
        upper=problem.type_size,
        doc="all have a pattern",
    )
    held = builder.rows("held", _numbered(most), lower=0, upper=0, doc="tasks in all are those of the patterns")
    enough = builder.rows("needed", _numbered(most), lower=0, doc="and no fewer than the jobs need")
    one = builder.rows("one_need", _numbered(problem.jobs), lower=1, upper=1, doc="one pair a job")
    jobs = len(problem.jobs)
    every = builder.rows("needs", [()], lower=jobs, upper=jobs, doc="as many pairs as jobs")
    builder.enter(nodes[kind], take)
    builder.enter(held[item], take[column], counts[column, item])
    builder.enter(held, total, -1)
    builder.enter(enough, total)
    builder.enter(enough[needed], choose[which], -pair[needed, which])
    builder.enter(one[owner], choose)
    builder.enter(every, choose)
    return builder.program().numbers


def _numbered(entries: Ints) -> list[Label]:
    return [(number,) for number in range(len(entries))]
