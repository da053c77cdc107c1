"""Which counts jobs may have, as far as prices of tasks tell: programs for trees.

The first is about utilities that are asked for, `choices_at`, the second about a utilisation beside a lowest utility,
`usage_at`.

Tasks may be left out, so a placement in which some job has at least one utility, another at least a second, and so on,
gives each job one of the least pairs of counts that are enough. Whatever tasks are worth, the pairs are worth no more
together than the best patterns of all nodes: one row for each list of prices (as the cuts of Benders 1962). With
`phase=by-maps` a pair says how many maps are placed, and so what its reduces take.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optsched.deadline import check
from optsched.errors import TooLarge
from optsched.instance import Ints
from optsched.problems.relaxations import UNBOUNDED, IntegerProgram
from optsched.problems.utility import Utility
from optsched.problems.utility_levels import LevelPrices, Levels, most_worth, range_costs, rooms_at, worth_of_nodes

__all__ = ["Choices", "Cut", "Usage", "choices_at", "usage_at"]

#: What pairs cost has at most so many binary digits; more are rounded down, with what the nodes are worth.
_BITS = 20

#: Pairs of counts that use much are at most so many, and their costs have at most so many binary digits. Choices are
#: gone through while their number, times jobs and cuts, is at most so large.
_MOST_PAIRS, _EXACT_BITS, _MOST_ENTRIES = 20_000, 40, 2**25


class Choices(NamedTuple):
    """The pairs, as ranges of levels of all utilities together, and the program over them."""

    levels: Levels
    program: IntegerProgram


def choices_at(problem: Utility, asked: Sequence[int], cuts: Sequence[LevelPrices]) -> Choices:
    """The pairs with which jobs have these utilities, and what prices rule out of them.

    Parameters
    ----------
    asked
        Utilities in units, one a job: some job has at least the first, another at least the second, and so on.
    cuts
        Any prices; negative ones count as 0.
    """
    steps = sorted(set(asked))
    parts = [Levels.of(problem, units) for units in steps]
    levels = Levels.joined(problem, parts)
    rank = np.repeat(np.arange(len(steps)), [len(part.job) for part in parts])
    size = np.array([list(asked).count(units) for units in steps], dtype=np.int64)
    pairs, jobs = len(levels.job), len(problem.jobs)
    rows: list[list[int]] = []
    most: list[int] = []
    for cut in cuts:
        prices = np.maximum(cut.maps, 0), np.maximum(cut.of_items(levels), 0)
        cost = range_costs(problem, levels, *prices)
        coarse = max(0, max(cost, default=0).bit_length() - _BITS)
        rows.append([one >> coarse for one in cost])
        most.append(min(worth_of_nodes(problem, levels, *prices) >> coarse, UNBOUNDED))
    priced = np.array(rows, dtype=np.int64).reshape(len(rows), pairs)
    # Rows of sums of pairs count as much as those of prices, for the sake of the multipliers that are found.
    unit = int(priced.max(initial=1))
    row, column = np.nonzero(priced)
    chosen = np.arange(pairs)
    equal = np.concatenate([np.ones(jobs, dtype=np.int64), size]) * unit
    return Choices(
        levels,
        IntegerProgram(
            objective=np.zeros(pairs, dtype=np.int64),
            row=np.concatenate([row, len(rows) + levels.job, len(rows) + jobs + rank]).astype(np.int64),
            column=np.concatenate([column, chosen, chosen]).astype(np.int64),
            value=np.concatenate([priced[row, column], np.full(2 * pairs, unit)]),
            row_lower=np.concatenate([np.full(len(rows), -UNBOUNDED), equal]),
            row_upper=np.concatenate([np.array(most, dtype=np.int64).reshape(len(rows)), equal]),
            lower=np.zeros(pairs, dtype=np.int64),
            upper=np.ones(pairs, dtype=np.int64),
        ),
    )


class Cut(NamedTuple):
    """Prices of either sign, and how many times its share a task is worth beside its price.

    With fixed reduces, what these leave where each job has `fewest` placed maps or more is what the nodes have; a pair
    with fewer maps is taken to have what they leave beside the fewest that are enough.
    """

    prices: LevelPrices
    scale: int
    fewest: Ints


class Usage(NamedTuple):
    """Pairs of counts of the jobs, what each uses at most and costs at each cut, and what all may cost together.

    `job`, `maps`, `reduces` and `use` are int64, shape (pairs,); `cost` int64, shape (pairs, cuts); `limit` int64,
    shape (cuts,); more than `used` is to be used.
    """

    job: Ints
    maps: Ints
    reduces: Ints
    use: Ints
    cost: Ints
    limit: Ints
    used: int

    def choices(self) -> Ints | None:
        """Every choice of a pair for each job that the cuts leave, the one that uses most first; None: too many.

        Job by job, without what is beyond a cut whatever the others choose, or uses too little. Shape (choices, jobs).
        """
        jobs = int(self.job.max(initial=-1)) + 1
        chosen = np.zeros((1, 0), dtype=np.int64)
        use, cost = np.zeros(1, dtype=np.int64), np.zeros((1, len(self.limit)), dtype=np.int64)
        parts = [np.flatnonzero(self.job == job) for job in range(jobs)]
        least = np.array([self.cost[part].min(axis=0) for part in parts], dtype=np.int64).reshape(jobs, len(self.limit))
        most = np.array([self.use[part].max() for part in parts], dtype=np.int64)
        for job, part in enumerate(parts):
            check()
            if len(chosen) * len(part) * (jobs + len(self.limit)) > _MOST_ENTRIES:
                return None
            before, pair = (both.ravel() for both in np.meshgrid(np.arange(len(chosen)), part, indexing="ij"))
            use, cost = use[before] + self.use[pair], cost[before] + self.cost[pair]
            held = (cost + least[job + 1 :].sum(axis=0) <= self.limit).all(axis=1)
            held &= use + most[job + 1 :].sum() > self.used
            use, cost = use[held], cost[held]
            chosen = np.column_stack([chosen[before[held]], pair[held]])
        order: Ints = chosen[np.argsort(-use, kind="stable")]
        return order


def usage_at(problem: Utility, units: int, used: int, cuts: Sequence[Cut]) -> Usage:
    """The pairs of counts with which jobs have a utility, where more is to be used than so much.

    A pair says how many maps and reduces of a job are placed, no fewer and no more.

    Parameters
    ----------
    units
        The utility.
    used
        The utilisation that is to be exceeded, in units, without fixed reduces.
    cuts
        Any prices.

    Raises
    ------
    TooLarge
        If there are too many pairs.
    """
    pairs = [
        (job, maps, reduces)
        for job in range(len(problem.jobs))
        for maps, fewest in zip(*(part.tolist() for part in problem.least_reduces(job, units)), strict=True)
        for reduces in range(fewest, fewest + 1 if problem.fixed is not None else int(problem.pending_reduces[job]) + 1)
    ]
    if len(pairs) > _MOST_PAIRS:
        raise TooLarge(f"{len(pairs)} pairs of counts are more than {_MOST_PAIRS}")
    job, maps, reduces = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    share = [part.max(axis=1, initial=0) for part in (problem.map_share, problem.reduce_share)]
    use = share[0][job] * maps + (share[1][job] * reduces if problem.fixed is None else 0)
    rows = [_cut_row(problem, units, used, cut, pairs) for cut in cuts]
    coarse = [max(0, max(map(abs, cost), default=0).bit_length() - _EXACT_BITS) for cost, _ in rows]
    cost = [[one >> bits for one in own] for (own, _), bits in zip(rows, coarse, strict=True)]
    limit = [max(-UNBOUNDED, min(most >> bits, UNBOUNDED)) for (_, most), bits in zip(rows, coarse, strict=True)]
    return Usage(
        job,
        maps,
        reduces,
        use,
        np.array(cost, dtype=np.int64).reshape(len(cuts), len(pairs)).T,
        np.array(limit, dtype=np.int64),
        used,
    )


def _start(item: tuple[int, int]) -> int:
    """With how many maps an item begins."""
    return item[0]


def _cut_row(
    problem: Utility, units: int, used: int, cut: Cut, pairs: Sequence[tuple[int, int, int]]
) -> tuple[list[int], int]:
    """What each pair costs at the prices of a cut, and the most that all may where more than `used` is used."""
    prices, free = cut.prices, problem.fixed is None
    levels = Levels.of(problem, units, prices.starts)
    least = np.maximum(levels.least, 0)
    most = most_worth(problem, levels, np.maximum(rooms_at(problem, least), 0), prices, cut.scale)
    of_maps, of_items = prices.maps.tolist(), prices.of_items(levels).tolist()
    items: dict[int, list[tuple[int, int]]] = {}
    for job, start, price in zip(levels.item_job.tolist(), levels.item_maps.tolist(), of_items, strict=True):
        items.setdefault(job, []).append((start, price))
    cost = [
        of_maps[job] * maps + (reduces * items[job][bisect(items[job], maps, key=_start) - 1][1] if free else 0)
        for job, maps, reduces in pairs
    ]
    fewest = np.clip(cut.fewest, least, problem.pending_maps)
    if not free and (fewest > least).any():
        rooms = rooms_at(problem, fewest)
        if (rooms < 0).any():
            cheapest: dict[int, int] = {}
            for own, (job, *_) in zip(cost, pairs, strict=True):
                cheapest[job] = min(own, cheapest.get(job, own))
            within = sum(cheapest.values()) - 1
        else:
            within = most_worth(problem, levels, rooms, prices, cut.scale)
        less = max(0, most - within)
        below = fewest.tolist()
        cost = [own - less * (maps < below[job]) for own, (job, maps, _) in zip(cost, pairs, strict=True)]
        most -= less
    return cost, most - cut.scale * (used + 1)
