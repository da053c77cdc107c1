"""`min-cost-flow`: Hsu and Freeh, section 3.3, as it states the minimum-cost flow problem, with lower limits."""

from collections.abc import Iterator, Mapping
from functools import reduce
from math import gcd
from typing import Any

from .common import Decision, Oracle, Value, read

__all__ = ["MinCostFlow"]


class MinCostFlow(Oracle):
    """Whole flows within the limits of the arcs that leave each node with its supply."""

    kinds = ()

    def __init__(self, text: str, parameters: Mapping[str, Any], rounded: bool = False) -> None:
        assert not parameters
        document = read(text)
        self.node_ids = [node["id"] for node in document["nodes"]]
        self.supply = [node.get("supply", 0) for node in document["nodes"]]
        number = {name: position for position, name in enumerate(self.node_ids)}
        arcs = document["arcs"]
        self.ends = [(number[arc["tail"]], number[arc["head"]]) for arc in arcs]
        self.lower = [arc.get("lower", 0) for arc in arcs]
        self.capacity = [arc.get("capacity") for arc in arcs]
        self.costs = [arc.get("cost", 0) for arc in arcs]

    def excess(self, flow: Decision) -> list[int]:
        """What the first arcs' flow leaves of each node's supply to send."""
        left = list(self.supply)
        for (tail, head), units in zip(self.ends, flow, strict=False):
            assert units is not None
            left[tail] -= units
            left[head] += units
        return left

    def feasible(self, decision: Decision) -> bool:
        limits = zip(decision, self.lower, self.capacity, strict=True)
        kept = all(units >= low and (most is None or units <= most) for units, low, most in limits)  # type: ignore[operator]
        return kept and not any(self.excess(decision))

    def unbounded(self) -> bool:
        """Whether a cycle of arcs without limits has a negative cost: walks of each node back to itself."""
        free = [
            (*ends, cost) for ends, cost, most in zip(self.ends, self.costs, self.capacity, strict=True) if most is None
        ]
        for begin in range(len(self.supply)):
            least = {begin: 0}
            for _ in self.supply:
                step: dict[int, int] = {}
                for tail, head, cost in free:
                    if tail in least:
                        step[head] = min(step.get(head, least[tail] + cost), least[tail] + cost)
                if step.get(begin, 0) < 0:
                    return True
                least = step
        return False

    def decisions(self) -> Iterator[Decision]:
        """Flows among which is a cheapest one, where there is a least cost.

        There is then one at a vertex of the polyhedron: each arc's flow is a sum of limits and supplies with factors of
        -1, 0 and 1, so it is a multiple of their common divisor and no more than all of them together.
        """
        finite = [*self.supply, *self.lower, *(most for most in self.capacity if most is not None)]
        self.step = max(1, reduce(gcd, finite, 0))
        self.most = sum(map(abs, finite))
        yield from self._extended(())

    def _extended(self, begun: Decision) -> Iterator[Decision]:
        left, arc = self.excess(begun), len(begun)
        if arc == len(self.ends):
            if not any(left):
                yield begun
            return
        if any(left[node] and all(node not in ends for ends in self.ends[arc:]) for node in range(len(left))):
            return
        most = self.capacity[arc]
        tail, head = self.ends[arc]
        units = range(self.lower[arc], min(self.most, self.most if most is None else most) + 1, self.step)
        others = self.ends[arc + 1 :]
        if tail != head and all(tail not in ends for ends in others):
            units = [left[tail]] if left[tail] in units else []  # type: ignore[assignment]
        elif tail != head and all(head not in ends for ends in others):
            units = [-left[head]] if -left[head] in units else []  # type: ignore[assignment]
        for sent in units:
            yield from self._extended((*begun, sent))

    def value(self, decision: Decision) -> Value:
        return (sum(cost * units for cost, units in zip(self.costs, decision, strict=True)),)  # type: ignore[operator]
