"""`transmission` and its two stages from Shen et al. 2016, equations (1) and (2).

A block of B MB costs B h from the nearest replica, and what a map sends to a reduce its MB times h between their nodes.
They are exact where the denominators of sizes and distances allow it; else each product is rounded once to the grid.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from .common import Decision, Number, Slotted, Value, denominator

__all__ = ["Transmission", "TransmissionMaps", "TransmissionReduces"]


def distances(nodes: list[dict[str, Any]], topology: dict[str, Any]) -> list[list[Number]]:
    """h, from one node to another, by the form in which the topology is given."""
    count = range(len(nodes))
    if "distance" in topology:
        matrix: list[list[Number]] = topology["distance"]
        return matrix
    if "rate" in topology:  # section II-B.3: the inverse of the rate
        return [[0 if a == b else 1 / Fraction(topology["rate"][a][b]) for b in count] for a in count]
    if "hops" in topology:
        hops, rack = topology["hops"], [node.get("rack") for node in nodes]
        return [
            [
                hops["node"] if a == b else hops["rack"] if rack[a] is not None and rack[a] == rack[b]
                else hops["off_rack"]
                for b in count
            ]
            for a in count
        ]  # fmt: skip
    names = [node["id"] for node in nodes]
    names += sorted({link[end] for link in topology["links"] for end in ("from", "to")} - set(names))
    quickest: dict[tuple[str, str], Fraction] = {(name, name): Fraction(0) for name in names}
    for link in topology["links"]:
        for pair in ((link["from"], link["to"]), (link["to"], link["from"])):
            seconds = 1 / Fraction(link["rate"])
            quickest[pair] = min(seconds, quickest.get(pair, seconds))
    for via in names:
        for a in names:
            for b in names:
                if (a, via) in quickest and (via, b) in quickest:
                    through = quickest[a, via] + quickest[via, b]
                    quickest[a, b] = min(through, quickest.get((a, b), through))
    return [[quickest[a, b] for b in names[: len(nodes)]] for a in names[: len(nodes)]]


class Moving(Slotted):
    """Where data moves."""

    defaults: ClassVar[Mapping[str, Any]] = {"distinct": True}

    def prepare(self) -> None:
        topology, shuffle = self.document["topology"], self.document.get("shuffle", [])
        h = distances(self.nodes, topology)
        links = [1 / Fraction(link["rate"]) for link in topology.get("links", [])]
        sizes = [record["size"] for record in (*self.tasks, *shuffle) if "size" in record]
        self.finest = denominator(sizes) * denominator([*links, *(entry for row in h for entry in row)])
        count = range(len(self.nodes))
        self.block = {
            task["id"]: [self.cost(task["size"] * min(h[host][node] for host in self.hosts(task))) for node in count]
            for task in self.pending
            if task.get("kind", "map") == "map"
        }
        self.moves = [
            (entry["map"], entry["reduce"], [[self.cost(entry["size"] * h[a][b]) for b in count] for a in count])
            for entry in shuffle
        ]
        self.row = {task["id"]: row for row, task in enumerate(self.pending)}
        self.at = {task["id"]: self.place[task["node"]] for task in self.tasks if task.get("node") is not None}
        self.count = {kind: self.most(kind) for kind in self.kinds}

    def due(self, kind: str) -> int:
        return self.count[kind]

    def most(self, kind: str) -> int:
        """The most tasks of a kind that can be placed at once, by trying."""
        own = [row for row, task in enumerate(self.pending) if task.get("kind", "map") == kind]
        for number in range(min(len(own), sum(self.idle(kind))), 0, -1):
            if self._fits(kind, own, [], number):
                return number
        return 0

    def _fits(self, kind: str, own: list[int], begun: list[int | None], number: int) -> bool:
        if number == 0:
            return True
        if len(own) - len(begun) < number:
            return False
        for node in [*range(len(self.nodes)), None]:
            chosen = dict(zip(own, [*begun, node], strict=False))
            decision = tuple(chosen.get(row) for row in range(len(self.pending)))
            if self.together(decision) and self._fits(kind, own, [*begun, node], number - (node is not None)):
                return True
        return False

    def together(self, decision: Decision) -> bool:
        """Slots; and one reduce of a job on a node at most, running ones counted (Algorithm 2, line 1)."""
        if not super().together(decision):
            return False
        if not self.parameters["distinct"]:
            return True
        taken = {(task["job"], self.place[task["node"]]) for task in self.running("reduce") if task.get("job")}
        for task, node in zip(self.pending, decision, strict=False):
            if node is not None and task.get("kind", "map") == "reduce" and task.get("job"):
                if (task["job"], node) in taken:
                    return False
                taken.add((task["job"], node))
        return True

    def value(self, decision: Decision) -> Value:
        chosen = {name: decision[row] for name, row in self.row.items()}
        total: Number = sum(cost[chosen[name]] for name, cost in self.block.items() if chosen[name] is not None)  # type: ignore[index]
        for sender, receiver, cost in self.moves:
            if sender in chosen or receiver in chosen:  # else it moved, or moves, whatever is decided
                source = chosen[sender] if sender in chosen else self.at.get(sender)
                target = chosen[receiver] if receiver in chosen else self.at.get(receiver)
                if source is not None and target is not None:
                    total += cost[source][target]
        return (total,)


class TransmissionMaps(Moving):
    """Maps alone: (1)."""

    defaults: ClassVar[Mapping[str, Any]] = {}

    def prepare(self) -> None:
        self.parameters["distinct"] = False
        super().prepare()
        self.moves = []


class TransmissionReduces(Moving):
    """Reduces alone: (2), from maps that run or have run."""

    kinds = ("reduce",)


class Transmission(Moving):
    """Both at once, with what already has a node."""

    kinds = ("map", "reduce")
