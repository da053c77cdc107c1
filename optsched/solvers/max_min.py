"""Max-min fair shares by progressive filling: what flows get of resources that each of them uses as a whole.

All rates grow alike until a flow has what it asks for or a resource that it uses is full; then it stays, and the others
grow on (Bertsekas and Gallager 1992, section 6.5.2). All in whole numbers: what a full resource leaves over, less than
one unit a flow, nobody gets.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

#: What flows are called by: anything that can be a key.
Flow = TypeVar("Flow", bound=Hashable)


class Shares(Generic[Flow]):
    """Max-min fair rates of flows that come and go on resources of given capacities; `rate` has them as settled last.

    Only what an event touches is filled anew: the flows that are joined to it by resources that are asked for more
    than there is. All others keep their rates.

    Examples
    --------
    >>> shares = Shares([10, 4])
    >>> shares.add("a", [0], 9), shares.add("b", [0, 1], 9), shares.settle()
    (None, None, {'a': 6, 'b': 4})
    >>> shares.remove("a"), shares.add("c", [1], 1), shares.settle()
    (None, None, {'b': 3, 'c': 1})
    """

    def __init__(self, capacity: Sequence[int]) -> None:
        self._capacity = capacity
        #: The flows on each resource, in the order in which they came, and what they ask for together.
        self._users: list[dict[Flow, None]] = [{} for _ in capacity]
        self._asked = [0] * len(capacity)
        self._uses: dict[Flow, tuple[int, ...]] = {}
        self._most: dict[Flow, int] = {}
        self.rate: dict[Flow, int] = {}
        #: Flows whose rates may have changed since they were settled.
        self._touched: dict[Flow, None] = {}

    def __len__(self) -> int:
        return len(self._uses)

    def __contains__(self, flow: object) -> bool:
        return flow in self._uses

    def add(self, flow: Flow, uses: Iterable[int], most: int) -> None:
        """A flow comes, which asks for `most`. It has no rate until it is settled."""
        used = tuple(uses)
        asked = min((self._capacity[resource] for resource in used), default=most)
        asked = min(asked, most)
        self._uses[flow], self._most[flow] = used, asked
        for resource in used:
            self._users[resource][flow] = None
            self._asked[resource] += asked
        self._touched[flow] = None

    def remove(self, flow: Flow) -> None:
        """A flow goes."""
        for resource in self._uses.pop(flow):
            del self._users[resource][flow]
            if self._asked[resource] > self._capacity[resource]:
                self._touched.update(self._users[resource])
            self._asked[resource] -= self._most[flow]
        del self._most[flow]
        self.rate.pop(flow, None)
        self._touched.pop(flow, None)

    def settle(self) -> dict[Flow, int]:
        """Give each flow its rate; those that have another than before, with it."""
        if not self._touched:
            return {}
        flows, tight = self._joined()
        self._touched = {}
        changed = {}
        filled = self._filled(flows, tight)
        for flow in flows:
            if self.rate.get(flow) != filled[flow]:
                self.rate[flow] = changed[flow] = filled[flow]
        return changed

    def _joined(self) -> tuple[list[Flow], list[int]]:
        """The flows that the touched ones share scarce resources with, those that share with these, and so on."""
        found = dict.fromkeys(self._touched)
        wait = list(found)
        tight: dict[int, None] = {}
        for flow in wait:
            for resource in self._uses[flow]:
                if resource in tight or self._asked[resource] <= self._capacity[resource]:
                    continue
                tight[resource] = None
                for other in self._users[resource]:
                    if other not in found:
                        found[other] = None
                        wait.append(other)
        return wait, list(tight)

    def _filled(self, flows: list[Flow], tight: list[int]) -> dict[Flow, int]:
        """The rates of flows that no others share scarce resources with."""
        if not tight:  # the common case: there is enough for all
            return {flow: self._most[flow] for flow in flows}
        left = {resource: self._capacity[resource] for resource in tight}
        count = {resource: len(self._users[resource]) for resource in tight}
        levels = [(left[resource] // count[resource], resource) for resource in tight]
        heapify(levels)
        modest = sorted(flows, key=self._most.__getitem__)  # stable: those that ask for as much stay in order
        rate: dict[Flow, int] = {}

        def give(flow: Flow, level: int) -> None:
            rate[flow] = level
            for resource in self._uses[flow]:
                if resource in left:
                    left[resource] -= level
                    count[resource] -= 1

        for flow in modest:
            if flow in rate:
                continue
            asked = self._most[flow]
            while levels and levels[0][0] < asked:
                level, resource = heappop(levels)
                if not count[resource]:
                    continue
                now = left[resource] // count[resource]
                if now > level:  # others on it took less than their share
                    heappush(levels, (now, resource))
                    continue
                for user in self._users[resource]:
                    if user not in rate:
                        give(user, level)
            if flow not in rate:
                give(flow, asked)
        return rate
