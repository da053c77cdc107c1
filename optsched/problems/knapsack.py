"""Upper bounds of an integer knapsack: the value of the best pattern of tasks on a node, never too low.

Dynamic programming runs over the remaining resources. If that takes too many states, as with fine units, the patterns
themselves are searched, without those that cannot be the best. If there are too many patterns as well, capacities and
demands are both divided and rounded down. This can only admit more, so the answer is then still a valid upper bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from optsched.core.arrays import places_in
from optsched.core.deadline import check
from optsched.core.instance import Floats, Ints
from optsched.problems.base import exact_product

#: With more states of one dynamic program, capacities are divided.
MOST_STATES = 2**18

#: With more states of a `Packer`'s dynamic program, amounts are divided, which admits more patterns.
_PACKER_STATES = 2**16

#: States of the dynamic programs of all rooms together if each has its own; and the fewest that each of them gets.
_ALL_STATES, _FEWEST_STATES = 2**23, 2**8

#: The most patterns searched at a time, and the most rooms for that; the first try searches few.
_MOST_LISTED, _MOST_ROOMS, _FIRST_LISTED, _MOST_TRIED = 2**14, 64, 2**8, 2**17

#: Bounds in float64 are raised by this relative amount, far more than their error.
_NEARLY = 1e-9


def knapsack_bounds(rooms: Ints, demand: Ints, limit: Ints, worth: Ints, most_states: int = MOST_STATES) -> list[int]:
    """For each room an upper bound on the worth of what fits into it; the exact maximum unless rooms are divided.

    `rooms` and `demand`: int64, shapes (rooms, resources) and (items, resources), 0 or more. `limit` and `worth`:
    int64, shape (items,): how many of an item there are, and what one is worth; items worth 0 or less are left out.
    With more than `most_states` states, rooms are divided. Time is items x states x log(limit).

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
    if math.prod((largest // divisor + 1).tolist()) > most_states and len(rooms) <= _MOST_ROOMS:
        listed = [best_listed(room, demand, limit[items], worth[items]) for room in rooms]
        values = [found[0] for found in listed if found is not None]
        if len(values) == len(rooms):
            return [int(value) for value in values]
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
        _fill(table, step, gain, most)
    return [int(value) for value in table[tuple((rooms // divisor).T)]]


def knapsacks(rooms: Ints, demand: Ints, limit: Ints, worth: Ints) -> list[int]:
    """As `knapsack_bounds`, but an item's worth may differ between rooms.

    `worth`: int64, shape (items, rooms), or (items, 1) if it is the same in all.

    >>> knapsacks(np.array([[5], [5]]), np.array([[2]]), np.array([3]), np.array([[1, 4]]))
    [2, 8]
    """
    if worth.shape[1] == 1:
        return knapsack_bounds(rooms, demand, limit, worth[:, 0])
    states = min(MOST_STATES, max(_FEWEST_STATES, _ALL_STATES // max(1, worth.shape[1])))
    return [
        knapsack_bounds(rooms[room, None], demand, limit, worth[:, room], states)[0] for room in range(worth.shape[1])
    ]


def best_listed(room: Ints, demand: Ints, limit: Ints, worth: Any) -> tuple[Any, Ints] | None:
    """The most that a room holds, and a pattern that attains it, by searching patterns; None if there are too many.

    What a pattern may still gain is bounded by each resource alone, and by some of them together in parts of the room,
    as if fractions of the best item filled it.

    `room`, `demand`, `limit`: int64, shapes (resources,), (items, resources) and (items,). `worth`: above 0, shape
    (items,): whole numbers, which are exact, or float64.

    >>> value, pattern = best_listed(np.array([7]), np.array([[4], [3]]), np.array([2, 2]), np.array([5, 3]))
    >>> int(value), pattern.tolist()
    (8, [1, 1])
    """
    if worth.dtype != np.float64 and exact_product(worth, limit) >= 2**62:
        worth = worth.astype(object)
    together = [some for size in {1, 2, len(room)} for some in itertools.combinations(range(len(room)), size)]
    mixed = np.zeros((len(room), len(together)))
    for position, some in enumerate(together):
        mixed[list(some), position] = 1 / np.maximum(room[list(some)], 1)
    # Items that are large for their worth come last: few of them remain then.
    filling = (demand / np.maximum(room, 1)).sum(axis=1) / worth.astype(np.float64)
    order = np.argsort(filling, kind="stable")
    goods = _Goods(demand[order], demand[order] @ mixed, limit[order], worth[order])
    few = _going_through(room, mixed, goods, 0, _FIRST_LISTED, True)
    found = None if few is None else _going_through(room, mixed, goods, few[0], _MOST_LISTED, False)
    if found is None:
        return None
    pattern = np.zeros_like(limit)
    pattern[order] = found[1]
    return found[0], pattern


class _Goods(NamedTuple):
    """Items in the order of the search: amounts, amounts of mixed resources, how many there are, and worths."""

    demand: Ints
    mixed: Floats
    limit: Ints
    worth: Any

    def after(self, item: int) -> _Goods:
        """The items after an item."""
        return _Goods(self.demand[item + 1 :], self.mixed[item + 1 :], self.limit[item + 1 :], self.worth[item + 1 :])


def _how_many_fit(left: Ints, takes: Ints, limit: int) -> Ints:
    """How many of an item fit into each row of what is left, at most `limit`."""
    used = takes > 0
    most: Ints = (left[:, used] // takes[used]).min(axis=1, initial=limit)
    return most


def _going_through(
    room: Ints, mixed: Floats, goods: _Goods, least: Any, most: int, part: bool
) -> tuple[Any, Ints] | None:
    """The best pattern that is worth at least `least`, with its counts.

    With `part`, only the `most` most promising patterns are kept at each item; otherwise None if there are more.
    """
    kind = goods.worth.dtype
    left, counts, value = room[None], np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=kind)
    for item, (takes, gain) in enumerate(zip(goods.demand, goods.worth, strict=True)):
        check()
        fits = _how_many_fit(left, takes, int(goods.limit[item]))
        if int(fits.sum()) + len(fits) > _MOST_TRIED:
            return None
        row, number = np.repeat(np.arange(len(fits)), fits + 1), places_in(fits + 1)
        left, value = left[row] - number[:, None] * takes, value[row] + number.astype(kind) * gain
        bound = value.astype(np.float64) + _still(left @ mixed, goods.after(item))
        near = np.flatnonzero(bound * (1 + _NEARLY) >= float(least))
        if len(near) > most:
            if not part:
                return None
            near = near[np.argsort(-bound[near], kind="stable")[:most]]
        left, counts, value = left[near], np.column_stack([counts[row[near]], number[near]]), value[near]
    best = int(np.argmax(value))
    return value[best], counts[best]


def _still(left: Floats, goods: _Goods) -> Floats:
    """The most that items are worth in the rest of mixed resources, shape (rooms, mixed); shape (rooms,)."""
    worth = goods.worth.astype(np.float64)
    every = worth * goods.limit
    most = np.full(len(left), every.sum())
    for room, takes in zip(left.T, goods.mixed.T, strict=True):
        used = takes > 0
        if used.any():
            most = np.minimum(most, room * (worth[used] / takes[used]).max() + every[~used].sum())
    return most


def copies_in_powers(most: int) -> Iterator[int]:
    """Parts of `most` copies, such that every number up to `most` is a sum of some parts.

    >>> list(copies_in_powers(9))
    [1, 2, 4, 2]
    """
    part = 1
    while most:
        yield min(part, most)
        most -= min(part, most)
        part *= 2


def _fill(table: Any, step: list[int], gain: Any, most: int) -> None:
    """Let rooms hold up to `most` copies of an item; updates `table`, the worth of each room, in place."""
    for part in copies_in_powers(most):
        shift = [part * size for size in step]
        ends = tuple(slice(size, None) for size in shift)
        starts = tuple(slice(extent - size) for size, extent in zip(shift, table.shape, strict=True))
        table[ends] = np.maximum(table[ends], table[starts] + part * gain)


class Packer:
    """One node of a type: the most that its tasks are worth, and all patterns that are worth nearly as much."""

    def __init__(self, room: Ints, demand: Ints, limit: Ints, worth: Any) -> None:
        most = (demand * limit[:, None]).sum(axis=0)
        self.room, self.demand = np.minimum(room, most), demand
        self.limit = np.where((demand <= room).all(axis=1), limit, 0)
        total = sum(abs(int(gain)) * int(count) for gain, count in zip(worth, limit, strict=True))
        self._kind: Any = np.int64 if total < 2**61 else object
        self.worth = worth.astype(self._kind)
        chosen = demand[self.limit > 0]
        self._divisor: Ints = np.maximum(np.gcd.reduce(chosen, axis=0, initial=0), 1)
        while math.prod((self.room // self._divisor + 1).tolist()) > _PACKER_STATES:
            self._divisor[np.argmax(self.room // self._divisor)] *= 2
        # The tables of all types together may be large: each is computed again when its patterns are listed.
        self.best = int(self._tabulated()[0][tuple(self.room // self._divisor)])

    def _tabulated(self) -> list[Any]:
        """For each item the most that it and later ones are worth, by the room left."""
        table = np.zeros((self.room // self._divisor + 1).tolist(), dtype=self._kind)
        tables = [table]
        for item in range(len(self.limit) - 1, -1, -1):
            if self.worth[item] > 0 and self.limit[item]:
                table = table.copy()
                _fill(table, (self.demand[item] // self._divisor).tolist(), self.worth[item], self._copies(item))
            tables.append(table)
        return tables[::-1]

    def _copies(self, item: int) -> int:
        """How many tasks of an item the room holds."""
        takes = self.demand[item] > 0
        held = (self.room[takes] // self.demand[item][takes]).min(initial=int(self.limit[item]))
        return int(held)

    def within(self, short: int, most: int, maximal: bool) -> Ints | None:
        """Every pattern worth at most `short` less than the best, or every maximal one of these.

        int64, shape (patterns, items), in lexicographic order; None if there are more than `most`.
        """
        items = len(self.limit)
        left, value = self.room[None].copy(), np.zeros(1, dtype=self._kind)
        counts = np.zeros((1, items), dtype=np.int64)
        least, tables = self.best - short, self._tabulated()
        for item in range(items):
            if self.limit[item]:
                fits = _how_many_fit(left, self.demand[item], int(self.limit[item]))
                if int(fits.sum()) + len(fits) > 20 * max(most, 1):
                    return None
                row, number = np.repeat(np.arange(len(fits)), fits + 1), places_in(fits + 1)
                left, value, counts = left[row] - number[:, None] * self.demand[item], value[row], counts[row]
                value = value + number.astype(self._kind) * self.worth[item]
                counts[:, item] = number
            bound = value + tables[item + 1][tuple((left // self._divisor).T)]
            near = np.flatnonzero(bound >= least)
            left, value, counts = left[near], value[near], counts[near]
        if maximal:
            room = (counts < self.limit) & (left[:, None, :] >= self.demand).all(axis=2)
            counts = counts[~room.any(axis=1)]
        return counts if len(counts) <= most else None
