"""`lsap` from Guo et al. 2012, section III.C: equations (5) to (7), with a level for the rack."""

from collections.abc import Mapping
from typing import Any, ClassVar

from .common import Decision, Slotted, Value

__all__ = ["Lsap"]


class Lsap(Slotted):
    """C_ij is 0 where node j holds the block of task i, else 1; `levels` has one more for a node in the same rack."""

    defaults: ClassVar[Mapping[str, Any]] = {"levels": [0, 1, 1]}

    def level(self, task: dict[str, Any], node: int) -> int:
        """0 on a node with the block, 1 in a rack with such a node, 2 elsewhere."""
        hosts = self.hosts(task)
        if node in hosts:
            return 0
        rack = self.nodes[node].get("rack")
        return 1 if rack is not None and rack in [self.nodes[host].get("rack") for host in hosts] else 2

    def prepare(self) -> None:
        self.costs = [
            [self.parameters["levels"][self.level(task, node)] for node in range(len(self.nodes))]
            for task in self.pending
        ]

    def value(self, decision: Decision) -> Value:
        return (sum(row[node] for row, node in zip(self.costs, decision, strict=True) if node is not None),)
