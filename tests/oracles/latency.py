"""`latency` from Agosta et al., sections 3.1 to 3.3."""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any, ClassVar

from .common import Decision, Number, Oracle, Value

__all__ = ["Latency"]


class Latency(Oracle):
    """Every task on a server, with work w_loc where its block is and else w_rem, after the server's load phi.

    The makespan is the last completion of a task of the job: over the servers that get work.
    """

    defaults: ClassVar[Mapping[str, Any]] = {"w_loc": 1, "w_rem": 3}
    senses = ("min", "min")

    def prepare(self) -> None:
        self.load = [node.get("load", 0) for node in self.nodes]
        self.work = [
            [self.parameters["w_loc" if node in self.hosts(task) else "w_rem"] for node in range(len(self.nodes))]
            for task in self.pending
        ]

    @property
    def factor(self) -> int:
        """The least by which loads and works are to be multiplied, for the loads to be whole."""
        return lcm(*(Fraction(load).denominator for load in self.load))

    def scaled(self) -> tuple[str, dict[str, Any]]:
        """The same instance in units that are so many times smaller, and its parameters."""
        nodes = [{**node, "load": int(load * self.factor)} for node, load in zip(self.nodes, self.load, strict=True)]
        tasks = [{name: part for name, part in task.items() if name != "size"} for task in self.tasks]
        parameters = {name: work * self.factor for name, work in self.parameters.items()}
        return json.dumps({"format": "optsched/1", "nodes": nodes, "tasks": tasks}), parameters

    def feasible(self, decision: Decision) -> bool:
        return None not in decision

    def decisions(self) -> Iterator[Decision]:
        return product(range(len(self.nodes)), repeat=len(self.pending))

    def value(self, decision: Decision) -> Value:
        ends: dict[int, Number] = {}
        work: Number = 0
        for row, node in zip(self.work, decision, strict=True):
            if node is not None:
                ends[node] = ends.get(node, self.load[node]) + row[node]
                work += row[node]
        return max(ends.values(), default=0), work
