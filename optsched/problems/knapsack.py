"""What a knapsack holds at most, in integers: the value of the best pattern of tasks on a node, never too low.

It is dynamic programming over what is left of each resource. Where that takes too many states, capacities and demands
are both divided and rounded down. This can only let more in, so the answer is then an upper bound, and still valid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from optsched.instance import Ints

__all__ = ["MOST_STATES", "copies_in_powers", "knapsack_bounds", "knapsacks"]

#: States of one dynamic program beyond which capacities are divided.
MOST_STATES = 2**18

#: States of the dynamic programs of all rooms together where each has its own, and the fewest that one of them gets.
_ALL_STATES, _FEWEST_STATES = 2**23, 2**8


def knapsack_bounds(rooms: Ints, demand: Ints, limit: Ints, worth: Ints, most_states: int = MOST_STATES) -> list[int]:
    """For each room an upper bound on the worth of what fits into it; the exact maximum unless rooms are divided.

    Parameters
    ----------
    rooms
        int64, shape (rooms, resources), 0 or more.
    demand
        int64, shape (items, resources), 0 or more.
    limit
        int64, shape (items,): how many of an item there are.
    worth
        int64, shape (items,): what one is worth; one that is worth nothing, or less, is left out.
    most_states
        States of the dynamic program beyond which rooms are divided. Time is items x states x log(limit).

    Examples
    --------
    >>> rooms, demand = np.array([[5, 3], [5, 7]]), np.array([[2, 2], [1, 3]])
    >>> knapsack_bounds(rooms, demand, np.array([3, 5]), np.array([3, 2]))
    [3, 8]
    """
    rooms = np.minimum(rooms, (demand * limit[:, None]).sum(axis=0))
    largest = rooms.max(axis=0, initial=0)
    items = np.flatnonzero((worth > 0) & (limit > 0) & (demand <= largest).all(axis=1))
    used = np.flatnonzero(demand[items].any(axis=0))
    rooms, largest, demand = rooms[:, used], largest[used], demand[items][:, used]
    divisor = np.gcd.reduce(demand, axis=0, initial=0)
    while math.prod((largest // divisor + 1).tolist()) > most_states:
        divisor[np.argmax(largest // divisor)] *= 2
    fits = np.where(demand > 0, largest // np.maximum(demand, 1), limit[items][:, None])
    copies = np.minimum(limit[items], fits.min(axis=1, initial=int(limit.max(initial=0)))).tolist()
    gains = worth[items].tolist()
    total = sum(gain * most for gain, most in zip(gains, copies, strict=True))
    if not len(used):
        return [total] * len(rooms)
    table = np.zeros((largest // divisor + 1).tolist(), dtype=np.int64 if total < 2**62 else object)
    for step, gain, most in zip((demand // divisor).tolist(), gains, copies, strict=True):
        for part in copies_in_powers(most):
            shift = [part * size for size in step]
            ends = tuple(slice(size, None) for size in shift)
            starts = tuple(slice(extent - size) for size, extent in zip(shift, table.shape, strict=True))
            table[ends] = np.maximum(table[ends], table[starts] + part * gain)
    return [int(value) for value in table[tuple((rooms // divisor).T)]]


def knapsacks(rooms: Ints, demand: Ints, limit: Ints, worth: Ints) -> list[int]:
    """As `knapsack_bounds`, where an item may be worth something else in each room.

    Parameters
    ----------
    worth
        int64, shape (items, rooms), or (items, 1) where it is the same in all.

    Examples
    --------
    >>> knapsacks(np.array([[5], [5]]), np.array([[2]]), np.array([3]), np.array([[1, 4]]))
    [2, 8]
    """
    if worth.shape[1] == 1:
        return knapsack_bounds(rooms, demand, limit, worth[:, 0])
    states = min(MOST_STATES, max(_FEWEST_STATES, _ALL_STATES // max(1, worth.shape[1])))
    return [
        knapsack_bounds(rooms[room, None], demand, limit, worth[:, room], states)[0] for room in range(worth.shape[1])
    ]


def copies_in_powers(most: int) -> Iterator[int]:
    """Parts of `most` copies, such that every number up to `most` is a sum of some of them.

    >>> list(copies_in_powers(9))
    [1, 2, 4, 2]
    """
    part = 1
    while most:
        yield min(part, most)
        most -= min(part, most)
        part *= 2
