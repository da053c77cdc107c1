"""Minimum-cost flow by cost scaling on arrays: the loops of `scaling_kernels`, and whole prices at the end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.solvers.compiled import ready
from optsched.solvers.network_simplex import UNLIMITED, FoundFlow, closer

__all__ = ["cost_scaling", "scales"]

Ints = npt.NDArray[np.int64]

#: Each tolerance is so many times smaller than the one before.
_FACTOR = 16

#: Arcs looked at between two looks at the deadline: milliseconds. What looks at all arcs once takes a tenth of a second
#: on a million of them.
_STEPS = 200_000

#: Distances up to so many times the nodes are told apart when prices are updated.
_DISTANCES = 4

#: No price falls below this: then int64 is left with room for every sum.
_LOWEST = -(2**61)


def scales(nodes: int, capacity: Ints, cost: Ints, supply: Ints) -> bool:
    """Whether int64 has room for all that `cost_scaling` adds up, and the arcs' numbers fit into int32.

    Costs are multiplied by nodes + 1. Prices begin at 0, only fall, and are looked at after each update: then none is
    below `_LOWEST`. Until the next update there are at most two relabels a node. One lowers a price at most to the
    lowest price, less a cost and a tolerance, which is no larger than the largest cost. So prices fall by at most
    4 nodes (nodes + 1) largest < 2^61 more; an update lowers them by at most 4 nodes times a tolerance, a 16th of the
    largest cost, which is less than 2^58. A reduced cost is then within 2^62 + 2^60.
    """
    largest = int(np.abs(cost).max(initial=0))
    sent = (_most(capacity, supply) + 1) * (len(cost) + 1)
    return 4 * (nodes + 1) ** 2 * largest < -_LOWEST and sent < -_LOWEST and len(cost) < 2**30


def cost_scaling(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints) -> FoundFlow | None:
    """Find a flow of least cost that takes each node's supply out of it; None where prices would leave int64.

    Parameters
    ----------
    tail, head, capacity, cost, supply
        As for `network_simplex`, and such that `scales`.

    Notes
    -----
    Costs are multiplied by the nodes and one more, so that a flow within 1 of its least cost costs the least. A first
    round without costs finds a flow, or that there is none; the others each begin with the flow of the one before.

    An arc without limit gets one more than any flow needs where a least cost exists: all that is supplied, and all
    other limits. Only where none exists do prices show that more would pay.

    Raises
    ------
    OutOfTime
        If a deadline is past.

    Examples
    --------
    Two units from node 0 to node 1, over two parallel arcs of which the cheaper takes one:

    >>> ends = np.array([0, 0]), np.array([1, 1])
    >>> found = cost_scaling(*ends, np.array([1, UNLIMITED]), np.array([2, 7]), np.array([2, -2]))
    >>> found.flow.tolist(), (found.potential[1] - found.potential[0]).tolist()
    ([1, 1], 7)
    """
    nodes = len(supply)
    limit = np.minimum(capacity, _most(capacity, supply) + 1)
    rounds = _Rounds(tail, head, limit, supply)
    feasible = rounds.refine(np.zeros_like(cost), 1)
    if not feasible:
        return None if feasible is None else FoundFlow(None, None, False)
    scaled = cost * (nodes + 1)
    tolerance = int(np.abs(scaled).max(initial=0))
    while tolerance > 1:
        tolerance = max(1, tolerance // _FACTOR)
        if not rounds.refine(scaled, tolerance):
            return None
    potential = _whole(rounds.price)
    if (cost + potential[tail] - potential[head] < 0)[capacity == UNLIMITED].any():
        return FoundFlow(None, None, True)
    return FoundFlow(limit - rounds.room[rounds.own], closer(potential, int(np.abs(cost).max(initial=0))), False)


class _Rounds:
    """The residual network, and what is kept from one round to the next.

    Attributes
    ----------
    room
        How much more may flow on each residual arc.
    own
        Which residual arc each arc is.
    price
        Of each node.
    """

    def __init__(self, tail: Ints, head: Ints, limit: Ints, supply: Ints) -> None:
        nodes, arcs = len(supply), len(tail)
        ends = np.concatenate([tail, head])
        self._order = np.argsort(ends, kind="stable")
        number = np.empty_like(self._order)
        number[self._order] = np.arange(2 * arcs)
        self.own = number[:arcs]
        start = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=nodes))]).astype(np.int64)
        heads = np.concatenate([head, tail])[self._order].astype(np.int32)
        twin = np.concatenate([number[arcs:], self.own])[self._order].astype(np.int32)
        self._network = start, heads, twin
        self.room = np.concatenate([limit, np.zeros_like(limit)])[self._order]
        self._excess, self.price = supply.astype(np.int64), np.zeros(nodes, dtype=np.int64)
        self._current, self._queue = start[:-1].copy(), np.zeros(nodes, dtype=np.int32)
        buckets = np.zeros(_DISTANCES * nodes + 1, dtype=np.int32)
        self._work = np.zeros(nodes, dtype=np.int64), np.zeros((nodes, 2), dtype=np.int32), buckets

    def refine(self, cost: Ints, tolerance: int) -> bool | None:
        """From whatever flows to a flow within a tolerance; False: there is none, None: prices fell too far.

        The first round is without costs: its prices only tell how far away what lacks something is, and are forgotten.
        """
        from optsched.solvers.scaling_kernels import CUT_OFF, DONE, UPDATE, begin, discharges, update

        by_arc = np.concatenate([cost, -cost])[self._order]
        network = (*self._network, by_arc, self.room, self._excess, self.price)
        place = np.zeros(3, dtype=np.int64)
        discharge = *network, self._current, self._queue, place, tolerance, _STEPS
        updated = *network, self._current, *self._work, tolerance
        check()
        ready(begin, *network)
        ready(update, *updated)
        ready(discharges, *discharge)
        begin(*network)
        waiting = np.flatnonzero(self._excess > 0)
        self._queue[: len(waiting)], place[1] = waiting, len(waiting)
        end = UPDATE
        while end not in (DONE, CUT_OFF):
            if end == UPDATE:
                place[2] = 0
                if update(*updated) == CUT_OFF:
                    return False
                if self.price.min(initial=0) < _LOWEST:
                    return None
            end = discharges(*discharge)
            check()
        if not cost.any():
            self.price[:] = 0
        return bool(end == DONE)


def _most(capacity: Ints, supply: Ints) -> int:
    """What flows at most on an arc, in Python's integers: all supplies and limits."""
    limits = capacity[capacity != UNLIMITED]
    return int(sum(limits.tolist()) + sum(np.abs(supply).tolist()))


def _whole(price: Ints) -> Ints:
    """Whole prices from those in parts of (nodes + 1), each rounded down from a place at which none lies.

    No arc that proved the flow is lost: a reduced cost below 0 is of one part, and rounding hides it unless the place
    lies between its ends, where its head would have to be.

    >>> _whole(np.array([5, -4, 8])).tolist()
    [0, -2, 1]
    """
    parts = len(price) + 1
    free = np.ones(parts, dtype=bool)
    free[price % parts] = False
    whole: Ints = (price - int(np.flatnonzero(free)[0])) // parts
    return whole
