"""Which counts jobs may have at utilities that are asked for, as far as prices of tasks tell: a program for trees.

Tasks may be left out, so a placement in which some job has at least one utility, another at least a second, and so on,
gives each job one of the least pairs of counts that are enough. Whatever tasks are worth, the pairs are worth no more
together than the best patterns of all nodes: one row for each list of prices (as the cuts of Benders 1962). With
`phase=by-maps` a pair says how many maps are placed, and so what its reduces take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optsched.problems.relaxations import UNBOUNDED, IntegerProgram
from optsched.problems.utility import Utility
from optsched.problems.utility_levels import LevelPrices, Levels, range_costs, worth_of_nodes

__all__ = ["Choices", "choices_at"]

#: What pairs cost has at most so many binary digits; more are rounded down, with what the nodes are worth.
_BITS = 20


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
