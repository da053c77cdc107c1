"""Which counts jobs may have, as far as prices of tasks tell: a program for trees.

Tasks may be left out, so a placement in which some job has at least one utility, another at least a second, and so on,
gives each job one of the least pairs of counts that are enough. Whatever tasks are worth, the pairs are worth no more
together than the best patterns of all nodes: one row for each list of prices (as the cuts of Benders 1962).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optsched.instance import Ints
from optsched.problems.base import exact_product
from optsched.problems.knapsack import knapsacks
from optsched.problems.relaxations import UNBOUNDED, IntegerProgram
from optsched.problems.utility import Utility
from optsched.problems.utility_columns import asked_pairs

__all__ = ["Choices", "choices_at"]

#: What pairs cost has at most so many binary digits; more are rounded down, with what the nodes are worth.
_BITS = 20


class Choices(NamedTuple):
    """The pairs of counts of all utilities together, shape (items, pairs), and the program over them."""

    counts: Ints
    program: IntegerProgram


def choices_at(problem: Utility, asked: Sequence[int], cuts: Sequence[Ints]) -> Choices:
    """The pairs with which jobs have these utilities, and what prices rule out of them.

    Parameters
    ----------
    asked
        Utilities in units, one a job: some job has at least the first, another at least the second, and so on.
    cuts
        Any prices of the maps of each job, then of the reduces of each job, int64, shape (items,) each; negative ones
        count as 0.
    """
    owner, rank, counts = asked_pairs(problem, asked)
    order = np.lexsort((counts[owner, np.arange(len(owner))], owner, rank))  # by maps, as certificates number the pairs
    owner, rank, counts = owner[order], rank[order], counts[:, order]
    size = np.array([list(asked).count(units) for units in sorted(set(asked))], dtype=np.int64)
    pairs, jobs = len(owner), len(problem.jobs)
    demand = np.concatenate([problem.demand_map, problem.demand_reduce])
    rows: list[list[int]] = []
    most: list[int] = []
    for cut in cuts:
        prices = np.maximum(cut, 0)
        cost = [exact_product(prices, pair) for pair in counts.T]
        worth = knapsacks(problem.type_room, demand, counts.max(axis=1, initial=0), prices[:, None])
        coarse = max(0, max(cost, default=0).bit_length() - _BITS)
        rows.append([one >> coarse for one in cost])
        most.append(min(exact_product(problem.type_size, worth) >> coarse, UNBOUNDED))
    priced = np.array(rows, dtype=np.int64).reshape(len(rows), pairs)
    # Rows of sums of pairs count as much as those of prices, for the sake of the multipliers that are found.
    unit = int(priced.max(initial=1))
    row, column = np.nonzero(priced)
    chosen = np.arange(pairs)
    equal = np.concatenate([np.ones(jobs, dtype=np.int64), size]) * unit
    program = IntegerProgram(
        objective=np.zeros(pairs, dtype=np.int64),
        row=np.concatenate([row, len(rows) + owner, len(rows) + jobs + rank]).astype(np.int64),
        column=np.concatenate([column, chosen, chosen]).astype(np.int64),
        value=np.concatenate([priced[row, column], np.full(2 * pairs, unit)]),
        row_lower=np.concatenate([np.full(len(rows), -UNBOUNDED), equal]),
        row_upper=np.concatenate([np.array(most, dtype=np.int64).reshape(len(rows)), equal]),
        lower=np.zeros(pairs, dtype=np.int64),
        upper=np.ones(pairs, dtype=np.int64),
    )
    return Choices(counts, program)
