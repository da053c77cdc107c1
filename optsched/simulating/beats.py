"""Heartbeats: when each node has its next one. Those at which nothing can be offered are passed over at no cost."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from optsched.instance import Bools, Ints

__all__ = ["Beats"]


#: Kinds of slots: none, maps, reduces, both.
_KINDS: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1))


class Beats:
    """The heartbeats of all nodes, one after another.

    Each node has one in every interval. They are spread evenly over it, in an order drawn once. A heartbeat is called
    by its number, 0 for the first of all: number b is that of the node at place b mod nodes, in interval b div nodes.

    Parameters
    ----------
    nodes
        How many nodes there are.
    interval
        Microseconds between two heartbeats of a node, more than 0.
    begin
        When the first one is.
    rng
        Draws the order.

    Attributes
    ----------
    nodes
        How many nodes there are.
    place
        The place of each node in the order.
    at
        The next heartbeat that has not passed.

    Examples
    --------
    >>> beats = Beats(3, 3_000_000, 0, np.random.default_rng(0))
    >>> [(beats.node(number), beats.time(number)) for number in range(4)]
    [(2, 0), (0, 1000000), (1, 2000000), (2, 3000000)]
    >>> beats.open(0, 1, True)
    >>> beats.next((0,), 1_000_001), beats.next((0,), 2_000_001)
    (2, 5)
    """

    def __init__(self, nodes: int, interval: int, begin: int, rng: np.random.Generator) -> None:
        self.nodes, self._interval, self._begin = nodes, interval, begin
        self._order: Ints = rng.permutation(nodes)
        self._node_at = self._order.tolist()
        self.place: list[int] = np.argsort(self._order).tolist()
        self.at = 0
        #: By which time those before it had passed.
        self._now = begin
        #: For maps and for reduces, 1 at the place of each node that is to be offered slots.
        self._open = [bytearray(nodes), bytearray(nodes)]
        #: The same less the nodes that need not be asked.
        self._asked = list(self._open)

    def node(self, number: int) -> int:
        """Whose heartbeat it is."""
        node: int = self._node_at[number % self.nodes]
        return node

    def time(self, number: int) -> int:
        """When it is, in microseconds."""
        interval, place = divmod(number, self.nodes)
        return self._begin + interval * self._interval + place * self._interval // self.nodes

    def first_from(self, now: int) -> int:
        """The first heartbeat at or after a time."""
        interval, within = divmod(now - self._begin, self._interval)
        return interval * self.nodes - (-within * self.nodes // self._interval)

    def last_by(self, now: int) -> Ints:
        """When each node had its last heartbeat by a time, the beginning where it had none; shape (nodes,)."""
        coming = self.first_from(now + 1)
        numbers = coming - 1 - (coming - 1 - np.array(self.place)) % self.nodes
        interval, place = np.divmod(numbers, self.nodes)
        times = self._begin + interval * self._interval + place * self._interval // self.nodes
        last: Ints = np.maximum(times, self._begin)
        return last

    def open(self, kind: int, node: int, open_: bool) -> None:
        """A node is to be offered slots of a kind at its heartbeats, or no more."""
        place = self.place[node]
        self._open[kind][place] = open_
        self._asked[kind][place] = open_

    def ask(self, kind: int, refused: Bools | None) -> None:
        """Pass over the nodes that refuse slots of a kind anyway; None: over none."""
        if refused is None:
            self._asked[kind] = self._open[kind]
            return
        asked = np.frombuffer(self._open[kind], dtype=np.bool_) & ~refused[self._order]
        self._asked[kind] = bytearray(asked.tobytes())

    def kinds(self, node: int) -> tuple[int, ...]:
        """The kinds of slots for which a node is open, and not passed over."""
        place = self.place[node]
        return _KINDS[self._asked[0][place] + 2 * self._asked[1][place]]

    def next(self, kinds: Iterable[int], now: int) -> int | None:
        """The next heartbeat, at or after a time, at which slots of one of some kinds are to be offered."""
        if now != self._now:
            self._now = now
            self.at = max(self.at, self.first_from(now))
        at, nodes = self.at, self.nodes
        place = at % nodes
        found = -1
        for kind in kinds:
            asked = self._asked[kind]
            there = asked.find(1, place)
            if there < 0:
                there = asked.find(1, 0, place)
                if there < 0:
                    continue
                there += nodes
            if found < 0 or there < found:
                found = there
        return None if found < 0 else at - place + found
