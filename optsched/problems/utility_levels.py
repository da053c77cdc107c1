"""Bounds of `utility` with `phase=by-maps`, where what a reduce takes grows with its job's placed maps.

The numbers of maps that a job may have placed are cut into levels. A reduce of a job at a level takes no less than it
does beside the fewest maps of that level, so at each level it is an item with a demand of its own, and a node is packed
by itself again. Prices of maps, and of reduces by level, then prove bounds as prices do without growth: what the nodes
hold is worth no more than their best patterns, and a job costs no less than at its cheapest level. Where reduces are
fixed, they take on their nodes what they do beside the fewest maps with which their jobs have the utility.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optsched.instance import LARGEST, Ints
from optsched.problems.base import exact_product
from optsched.problems.knapsack import knapsacks
from optsched.problems.utility import Utility

__all__ = [
    "LevelPrices",
    "Levels",
    "most_worth",
    "range_costs",
    "rooms_at",
    "rules_out",
    "utilisation_bound_at",
    "worth_of_nodes",
]


@dataclass(frozen=True)
class Levels:
    """What gives each job at least a utility, by the number of maps that it has placed.

    Attributes
    ----------
    item_job, item_maps
        int64, shape (items,): reduces of a job that has at least so many maps placed; none where reduces are fixed.
    job, item, fewest, most, reduces
        int64, shape (ranges,): a job with `fewest` to `most` maps needs at least so many reduces, which are the item's;
        -1 where reduces are fixed. Each number of maps that can be enough is in one range of the job.
    least
        int64, shape (jobs,): the fewest maps of each job; -1 where no number is enough.
    """

    item_job: Ints
    item_maps: Ints
    job: Ints
    item: Ints
    fewest: Ints
    most: Ints
    reduces: Ints
    least: Ints

    @classmethod
    def of(cls, problem: Utility, units: int, starts: Sequence[Sequence[int]] | None = None) -> Levels:
        """The levels of each job, and the ranges in which it needs the same number of reduces.

        Parameters
        ----------
        units
            The utility.
        starts
            For each job numbers of maps with which a level begins, ascending. The first level begins with the fewest
            maps whatever is given. None: with each number of maps that needs fewer reduces than the one before.
        """
        items: list[tuple[int, int]] = []
        ranges: list[tuple[int, ...]] = []
        least = np.full(len(problem.jobs), -1, dtype=np.int64)
        for job in range(len(problem.jobs)):
            maps, reduces = problem.least_reduces(job, units)
            if not len(maps):
                continue
            least[job] = maps[0]
            fewer = maps[np.flatnonzero(np.diff(reduces, prepend=reduces[0] + 1))].tolist()
            given = fewer if starts is None else starts[job]
            grows = problem.fixed is None and problem.growth[job].any()
            levels = sorted({max(start, int(maps[0])) for start in given if start <= maps[-1]} | {int(maps[0])})
            if not grows:
                levels = levels[:1]
            first = len(items)
            if problem.fixed is None:
                items += [(job, level) for level in levels]
            cuts = sorted({*fewer, *levels, *(() if starts is None else given)} & set(maps.tolist()))
            for low, high in zip(cuts, [*(cut - 1 for cut in cuts[1:]), int(maps[-1])], strict=True):
                item = -1 if problem.fixed is not None else first + int(np.searchsorted(levels, low, side="right")) - 1
                ranges.append((job, item, low, high, int(reduces[low - maps[0]])))
        item_job, item_maps = np.array(items, dtype=np.int64).reshape(-1, 2).T
        owner, item_of, fewest, most, needed = np.array(ranges, dtype=np.int64).reshape(-1, 5).T
        return cls(item_job, item_maps, owner, item_of, fewest, most, needed, least)

    @classmethod
    def joined(cls, problem: Utility, parts: Sequence[Levels]) -> Levels:
        """The ranges of several utilities after one another, and what their reduces take once; the fewest maps of all.

        Where reduces take the same beside any number of maps, they are one item, from 0 maps on.
        """
        grows: list[bool] = np.any(problem.growth, axis=1).tolist()
        pairs = [
            [
                (job, maps if grows[job] else 0)
                for job, maps in zip(part.item_job.tolist(), part.item_maps.tolist(), strict=True)
            ]
            for part in parts
        ]
        every = sorted({pair for some in pairs for pair in some})
        position = {pair: item for item, pair in enumerate(every)}
        numbered = [np.array([*(position[pair] for pair in some), -1], dtype=np.int64) for some in pairs]
        item_job, item_maps = np.array(every, dtype=np.int64).reshape(-1, 2).T
        least = np.min([np.where(part.least < 0, LARGEST, part.least) for part in parts], axis=0)
        return cls(
            item_job=item_job,
            item_maps=item_maps,
            job=np.concatenate([part.job for part in parts]),
            item=np.concatenate([own[part.item] for own, part in zip(numbered, parts, strict=True)]),
            fewest=np.concatenate([part.fewest for part in parts]),
            most=np.concatenate([part.most for part in parts]),
            reduces=np.concatenate([part.reduces for part in parts]),
            least=np.where(least < LARGEST, least, -1),
        )

    def demand(self, problem: Utility) -> Ints:
        """What a reduce of each item takes at least, shape (items, resources)."""
        more = [problem.grown[job][maps] for job, maps in zip(self.item_job, self.item_maps, strict=True)]
        grown = np.array(more, dtype=np.int64).reshape(len(self.item_job), len(problem.resources))
        demand: Ints = problem.demand_reduce[self.item_job] + grown
        return demand


@dataclass(frozen=True)
class LevelPrices:
    """Prices of each job's maps, and of its reduces from so many placed maps on.

    Attributes
    ----------
    maps
        int64, shape (jobs,).
    reduces
        For each job the price by the number of maps with which a level begins; below the first one it is 0.
    """

    maps: Ints
    reduces: Sequence[dict[int, int]]

    @property
    def starts(self) -> list[list[int]]:
        """The numbers of maps with which levels begin."""
        return [sorted(prices) for prices in self.reduces]

    def of_items(self, levels: Levels) -> Ints:
        """The price of each item, shape (items,)."""
        prices = np.zeros(len(levels.item_job), dtype=np.int64)
        for position, (job, maps) in enumerate(zip(levels.item_job.tolist(), levels.item_maps.tolist(), strict=True)):
            begun = [start for start in self.reduces[job] if start <= maps]
            prices[position] = self.reduces[job][max(begun)] if begun else 0
        return prices


def rooms_at(problem: Utility, least: Ints) -> Ints:
    """What is free on each node beside fixed reduces once so many maps of each job are placed; may be below 0."""
    if problem.fixed is None:
        return problem.room
    more = [table[maps] for table, maps in zip(problem.grown, least.tolist(), strict=True)]
    rooms: Ints = problem.room - problem.fixed.T @ np.array(more, dtype=np.int64).reshape(problem.growth.shape)
    return rooms


def rules_out(problem: Utility, units: int, prices: LevelPrices) -> bool:
    """Whether prices prove that not all jobs can have a utility of at least `units`; valid whatever the prices.

    Negative prices count as 0. The jobs' cheapest ranges cost more than the best patterns of all nodes together, or
    fixed reduces leave less than nothing.
    """
    levels = Levels.of(problem, units, prices.starts)
    if (levels.least < 0).any():
        return True
    rooms = rooms_at(problem, levels.least)
    if (rooms < 0).any():
        return True
    map_prices, item_prices = np.maximum(prices.maps, 0), np.maximum(prices.of_items(levels), 0)
    return _cheapest(problem, levels, map_prices, item_prices) > worth_of_nodes(
        problem, levels, map_prices, item_prices
    )


def worth_of_nodes(problem: Utility, levels: Levels, map_prices: Ints, item_prices: Ints) -> int:
    """What the best patterns of all nodes are worth together, or more, of the fewest tasks that the ranges ask for.

    Fixed reduces take what they do beside the fewest maps of each job.
    """
    rooms = np.maximum(rooms_at(problem, np.maximum(levels.least, 0)), 0)
    most_maps, most_reduces = _most(problem, levels, levels.fewest, levels.reduces)
    worth = np.concatenate([map_prices, item_prices])
    demand = np.concatenate([problem.demand_map, levels.demand(problem)])
    alike, size = np.unique(rooms, axis=0, return_counts=True)
    values = knapsacks(alike, demand, np.concatenate([most_maps, most_reduces]), worth[:, None])
    return exact_product(size, values)


def range_costs(problem: Utility, levels: Levels, map_prices: Ints, item_prices: Ints) -> list[int]:
    """What the fewest tasks of each range cost, at prices of 0 or more."""
    maps, reduces = map_prices.tolist(), item_prices.tolist()
    free = problem.fixed is None
    rows = zip(levels.job.tolist(), levels.item.tolist(), levels.fewest.tolist(), levels.reduces.tolist(), strict=True)
    return [maps[job] * fewest + (reduces[item] * needed if free else 0) for job, item, fewest, needed in rows]


def utilisation_bound_at(problem: Utility, units: int, prices: LevelPrices, scale: int) -> int:
    """The bound on the utilisation, in units, where every job has a utility of at least `units`; any prices are valid.

    As `Utility.utilisation_bound`, with prices of reduces by level. Where nothing gives all jobs that utility, or
    `units` is past the highest, it is the share of all tasks.
    """
    constant = 0 if problem.fixed is None else int((problem.fixed * problem.reduce_share[:, problem.node_type]).sum())
    levels = Levels.of(problem, units, prices.starts)
    rooms = rooms_at(problem, np.maximum(levels.least, 0))
    if (levels.least < 0).any() or (rooms < 0).any():
        levels = Levels.of(problem, problem.lowest_units, prices.starts)
        rooms = problem.room
    worth = most_worth(problem, levels, rooms, prices, scale)
    return constant + (worth - _cheapest(problem, levels, prices.maps, prices.of_items(levels))) // scale


def most_worth(problem: Utility, levels: Levels, rooms: Ints, prices: LevelPrices, scale: int) -> int:
    """The most that tasks on all nodes are worth together, each `scale` times its share and its price, of either sign.

    Parameters
    ----------
    levels
        At the starts of the prices.
    rooms
        What is free on each node beside fixed reduces, none below 0.
    """
    alike, first, size = np.unique(
        np.column_stack([problem.node_type, rooms]), axis=0, return_index=True, return_counts=True
    )
    kind = problem.node_type[first]
    item_prices = prices.of_items(levels)
    most_maps, most_reduces = _most(problem, levels, levels.most, problem.pending_reduces[levels.job])
    demand = np.concatenate([problem.demand_map, levels.demand(problem)])
    share = np.concatenate([problem.map_share[:, kind], problem.reduce_share[levels.item_job][:, kind]])
    # Prices are any whole numbers: products with counts are added up without a limit.
    worth = share.astype(object) * scale + np.concatenate([prices.maps, item_prices]).astype(object)[:, None]
    if abs(worth).max(initial=0) < LARGEST:
        worth = worth.astype(np.int64)
    values = knapsacks(alike[:, 1:], demand, np.concatenate([most_maps, most_reduces]), worth)
    return exact_product(size, values)


def _most(problem: Utility, levels: Levels, maps: Ints, reduces: Ints) -> tuple[Ints, Ints]:
    """The most maps of each job, and reduces of each item, that a range asks for."""
    most_maps = np.zeros(len(problem.jobs), dtype=np.int64)
    np.maximum.at(most_maps, levels.job, maps)
    most_reduces = np.zeros(len(levels.item_job), dtype=np.int64)
    if problem.fixed is None:
        np.maximum.at(most_reduces, levels.item, reduces)
    return most_maps, most_reduces


def _cheapest(problem: Utility, levels: Levels, map_prices: Ints, item_prices: Ints) -> int:
    """What the jobs cost at least, each at the cheapest of its ranges."""
    maps, reduces = map_prices.tolist(), item_prices.tolist()
    cost: dict[int, int] = {}
    rows = zip(levels.job, levels.item, levels.fewest, levels.most, levels.reduces, strict=True)
    for job, item, fewest, most, needed in (map(int, row) for row in rows):
        total = maps[job] * (fewest if maps[job] >= 0 else most)
        if problem.fixed is None:
            total += reduces[item] * (needed if reduces[item] >= 0 else int(problem.pending_reduces[job]))
        cost[job] = min(cost.get(job, total), total)
    return sum(cost.values())
