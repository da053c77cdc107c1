"""`generalized-assignment` as OR-Library poses it: each task to one agent, within capacities, least or most cost."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from .common import Decision, Number, Oracle, Value, denominator

__all__ = ["GeneralizedAssignment"]


class GeneralizedAssignment(Oracle):
    """Costs are exact where they have a common denominator; demands and capacities are what is written."""

    defaults: ClassVar[Mapping[str, Any]] = {"sense": "min"}

    def sense(self) -> tuple[str, ...]:
        return (self.parameters["sense"],)

    def prepare(self) -> None:
        pairs = self.document["pairs"]
        rows = [self.tasks.index(task) for task in self.pending]
        self.finest = denominator(cost for row in pairs["cost"] for cost in row)
        self.costs = [[self.cost(cost) for cost in pairs["cost"][row]] for row in rows]
        self.demand = {name: [table[row] for row in rows] for name, table in pairs.get("demand", {}).items()}
        allowed = pairs.get("allowed")
        self.allowed = [allowed[row] if allowed else [True] * len(self.nodes) for row in rows]

    def within(self, decision: Decision) -> bool:
        """Whether the tasks so far may be where they are and hold every capacity."""
        for resource, table in self.demand.items():
            used: list[Number] = [0] * len(self.nodes)
            for row, node in zip(table, decision, strict=False):
                if node is not None:
                    used[node] += row[node]
            if any(taken > node["capacity"][resource] for taken, node in zip(used, self.nodes, strict=True)):
                return False
        return all(row[node] for row, node in zip(self.allowed, decision, strict=False) if node is not None)

    def feasible(self, decision: Decision) -> bool:
        return None not in decision and self.within(decision)

    def decisions(self) -> Iterator[Decision]:
        return self._extended(())

    def _extended(self, begun: Decision) -> Iterator[Decision]:
        if len(begun) == len(self.pending):
            yield begun
            return
        for node in range(len(self.nodes)):
            if self.within((*begun, node)):
                yield from self._extended((*begun, node))

    def value(self, decision: Decision) -> Value:
        return (sum(row[node] for row, node in zip(self.costs, decision, strict=True) if node is not None),)
