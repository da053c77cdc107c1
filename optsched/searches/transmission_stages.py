"""Solves one stage of `transmission` with the other fixed: maps given the reduces, or reduces given the maps.

Each is an assignment problem. Its prices are what the bounds of the search are made of; `searches.transmission` says
how.
"""

from __future__ import annotations

import copy

import numpy as np
from scipy.optimize import linear_sum_assignment

from optsched.core.instance import LARGEST, Ints
from optsched.core.placement import NONE
from optsched.problems.transmission_bounds import IMPOSSIBLE, ReduceBounds
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.searches.transmission_reduces import ReducePrices, by_arrays
from optsched.solvers.profiles import Profile

__all__ = ["cheapest_reduces", "cheapest_rows", "slot_prices", "stepped_prices"]


def cheapest_rows(costs: Ints, room: Ints) -> Ints:
    """The row of each map (column) in an assignment of least cost, no row with more than its room.

    >>> cheapest_rows(np.array([[1, 2, 3], [5, 9, 4]]), np.array([1, 2])).tolist()
    [1, 0, 1]
    """
    best: Ints = costs.argmin(axis=0)
    if (np.bincount(best, minlength=len(room)) <= room).all():
        return best
    slots = np.repeat(np.arange(len(room)), room)
    rows, columns = linear_sum_assignment(costs.T[:, slots])
    best[rows] = slots[columns]
    return best


def slot_prices(costs: Ints, room: Ints, rows: Ints) -> Ints:
    """Prices of the rows' slots that prove an assignment of least cost: every map is where it pays least.

    The price of a row is the cost of freeing one of its slots: the cheapest chain of moves, one map after another, that
    ends at a free slot. Bellman and Ford's rounds find these shortest paths.
    """
    used = np.bincount(rows, minlength=len(room))
    # move[p, q]: what moving one of the maps of p to q adds at least; a map that is nowhere moves for nothing.
    move = np.full((len(room), len(room)), IMPOSSIBLE, dtype=np.int64)
    order = np.argsort(rows, kind="stable")
    if len(order):
        added = costs[:, order] - costs[rows[order], order]
        busy = np.flatnonzero(used)
        move[busy] = np.minimum.reduceat(added, np.searchsorted(rows[order], busy), axis=1).T
    full = used >= room
    if full.all():
        full[int(np.flatnonzero(used)[0]) if used.any() else 0] = False  # prices are relative to one
    price: Ints = np.where(full & (used > 0), IMPOSSIBLE, 0)
    for _ in range(len(room)):
        nearer = np.minimum(price, (move + price).min(axis=1, initial=IMPOSSIBLE))
        if np.array_equal(nearer, price):
            break
        price = nearer
    return price - min(0, int(price.min(initial=0)))


def stepped_prices(costs: Ints, room: Ints, prices: Ints, missing: float) -> Ints:
    """Prices after one subgradient step (Polyak's step length).

    Prices rise on rows where the maps would use more slots than there are, and fall where they use fewer. Were the
    bound linear in the prices, the step would raise it by `missing`.
    """
    used = np.bincount((costs + prices[:, None]).argmin(axis=0), minlength=len(room))
    rising = np.where((prices <= 0) & (used < room), 0, used - room)
    length = int((rising * rising).sum())
    moved: Ints = np.clip(prices + missing / max(length, 1) * rising, 0, LARGEST).astype(np.int64)
    return moved


def cheapest_reduces(bounds: ReduceBounds, table: Ints, profile: Profile) -> tuple[Ints | None, ReducePrices | None]:
    """The reduces' choices of least cost by a table of their costs, and prices of the places where they may run.

    It is the problem `transmission-reduces` with other costs. Both parts are None where a limit came first; there are
    no prices where no reduce is placed.

    Parameters
    ----------
    table
        int64, shape (reduces, nodes + 1), at least 0; the last column, of being left out, is not read.
    profile
        The time limit and the random seed of the network's solver.
    """
    problem = bounds.problem
    if not problem.reduce_count:
        return np.full(len(problem.reduces), bounds.nowhere), None
    posed = copy.copy(TransmissionReduces(problem.instance, distinct=problem.parameters["distinct"]))
    posed.units = np.ascontiguousarray(table[:, : bounds.nowhere])
    limits = Profile("start", time_limit=profile.time_limit, random_seed=profile.random_seed)
    _, nodes, prices = by_arrays(posed, limits)
    return None if nodes is None else np.where(nodes == NONE, bounds.nowhere, nodes), prices
