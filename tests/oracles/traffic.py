"""`traffic` from Sharmilarani et al., section II.D (JoSS): what crosses between datacenters, (1) to (5)."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from .common import Decision, Number, Slotted, Value, denominator

__all__ = ["Traffic"]


class Traffic(Slotted):
    """Every task on a node: least MB between datacenters, then fewest maps in the fullest one."""

    kinds = ("map", "reduce")
    senses = ("min", "min")
    defaults: ClassVar[Mapping[str, Any]] = {"capacity": "none", "reduces": "together"}

    def prepare(self) -> None:
        self.center = [node["datacenter"] for node in self.nodes]
        listed = {self.task_of[entry["map"]]["job"] for entry in self.document.get("shuffle", [])}
        amount: dict[tuple[str, str], Number] = {}
        for entry in self.document.get("shuffle", []):
            pair = entry["map"], entry["reduce"]
            amount[pair] = amount.get(pair, 0) + entry["size"]
        for name, job in self.jobs.items():
            own = [task for task in self.tasks if task.get("job") == name]
            maps = [task for task in own if task.get("kind", "map") == "map"]
            reduces = [task for task in own if task.get("kind", "map") == "reduce"]
            for task in maps if name not in listed else ():
                for reduce in reduces:  # |B_i| FP_J in equal shares
                    if "size" in task and "filter_ratio" in job:
                        amount[task["id"], reduce["id"]] = Fraction(task["size"]) * job["filter_ratio"] / len(reduces)
        sizes = [record["size"] for record in (*self.tasks, *self.document.get("shuffle", [])) if "size" in record]
        self.finest = denominator([*sizes, *amount.values()])
        waiting = {task["id"] for task in self.pending}
        self.sent = [
            (sender, receiver, self.cost(size))
            for (sender, receiver), size in amount.items()
            if (sender in waiting or receiver in waiting) and self.task_of[receiver].get("state") != "finished"
        ]

    def idle(self, kind: str) -> list[int]:
        return super().idle(kind) if self.parameters["capacity"] == "slots" else [len(self.pending)] * len(self.nodes)

    def due(self, kind: str) -> int:
        return sum(task.get("kind", "map") == kind for task in self.pending)

    def together(self, decision: Decision) -> bool:
        if not super().together(decision):
            return False
        if self.parameters["reduces"] == "free":
            return True
        hosts: dict[str, set[str]] = {}
        for task, node in zip(self.pending, decision, strict=False):
            if node is not None and task.get("kind", "map") == "reduce" and task.get("job"):
                hosts.setdefault(task["job"], set()).add(self.center[node])
        return all(len(centers) == 1 for centers in hosts.values())

    def decisions(self) -> Iterator[Decision]:
        if self.parameters["capacity"] == "slots":
            yield from super().decisions()
            return
        # Without slots the nodes of a datacenter are the same: the first stands for all.
        first = {center: self.center.index(center) for center in self.center}
        yield from self._in(tuple(first.values()), ())

    def _in(self, nodes: tuple[int, ...], begun: Decision) -> Iterator[Decision]:
        if len(begun) == len(self.pending):
            yield begun
            return
        for node in nodes:
            if self.together((*begun, node)):
                yield from self._in(nodes, (*begun, node))

    def where(self, task: dict[str, Any], chosen: dict[str, int | None]) -> str | None:
        """The datacenter of a task, placed or settled."""
        node = chosen[task["id"]] if task["id"] in chosen else self.place.get(task.get("node", ""))
        return None if node is None else self.center[node]

    def value(self, decision: Decision) -> Value:
        chosen = {task["id"]: node for task, node in zip(self.pending, decision, strict=True)}
        total: Number = 0
        load = dict.fromkeys(self.center, 0)
        for task in self.pending:
            if task.get("kind", "map") == "map":
                center = self.where(task, chosen)
                assert center is not None
                load[center] += 1
                if center not in [self.center[host] for host in self.hosts(task)]:
                    total += self.cost(task["size"])
        for sender, receiver, size in self.sent:
            if self.where(self.task_of[sender], chosen) != self.where(self.task_of[receiver], chosen):
                total += size
        return total, max(load.values(), default=0)
