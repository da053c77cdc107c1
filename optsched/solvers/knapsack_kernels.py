"""The loop that fills one knapsack and says what it costs with each item and without it, for numba to compile."""

from __future__ import annotations

from optsched.core.instance import Ints
from optsched.solvers.compiled import compiled

__all__ = ["fill_one"]


@compiled
def fill_one(cost: Ints, weight: Ints, space: int, before: Ints, after: Ints, without: Ints, including: Ints) -> int:
    """The least cost of items in a knapsack that holds `space`; and with each item, and without it.

    All arrays are int64. `cost` has either sign, `weight` is from 0 to `space`; `without` and `including` get the least
    cost without each item, and with it. Work is done in `before` and `after`, at least of shape (items + 1, space + 1)
    and (space + 1,).
    """
    items = len(cost)
    for room in range(space + 1):
        before[0, room] = 0
        after[room] = 0
    for item in range(items):
        heavy, price = weight[item], cost[item]
        for room in range(heavy):
            before[item + 1, room] = before[item, room]
        for room in range(heavy, space + 1):
            before[item + 1, room] = min(before[item, room], before[item, room - heavy] + price)
    for item in range(items - 1, -1, -1):
        heavy, price = weight[item], cost[item]
        least = before[item, space] + after[0]
        for room in range(space):
            least = min(least, before[item, room] + after[space - room])
        without[item] = least
        least = before[item, space - heavy] + after[0]
        for room in range(space - heavy):
            least = min(least, before[item, room] + after[space - heavy - room])
        including[item] = least + price
        for room in range(space, heavy - 1, -1):
            after[room] = min(after[room], after[room - heavy] + price)
    return int(before[items, space])
