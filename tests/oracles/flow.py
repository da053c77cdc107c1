"""`flow` and `flow-congestion` from Hsu and Freeh, section 3.2.

A task of input rate R costs R (1 + r_out/R_out + f_c) for what it reads and R (1 + e/scale) for where it runs, with the
effective load e: the sum of the rates on the node less their population standard deviation.
"""

from collections.abc import Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

from .common import GRID, Decision, Number, Slotted, Value, on_grid

__all__ = ["Flow", "FlowCongestion"]


class Rated(Slotted):
    """Rates, and what reading costs."""

    def rate(self, task: dict[str, Any], node: int) -> Number:
        """R_in of the task on a node: one number, or one for the node's type."""
        given = task["rate_in"]
        found: Number = given[self.nodes[node]["type"]] if isinstance(given, dict) else given
        return found

    def on_node(self, node: int, *kinds: str) -> list[Number]:
        """Rates of what runs on a node."""
        here = [task for task in self.running(*kinds) if self.place[task["node"]] == node]
        return [*self.nodes[node].get("running_rates", []), *(self.rate(task, node) for task in here)]

    def divisor(self, node: int) -> Number:
        """What divides the effective load of a node."""
        scale = self.parameters["scale"]
        found: Number = self.nodes[node][scale] if isinstance(scale, str) else scale
        return found

    def supply(self, source: int, node: int) -> Fraction:
        """r_out/R_out + f_c, of reading from one node on another."""
        same_node, same_rack, across = self.parameters["f_c"]
        one, other = self.nodes[source], self.nodes[node]
        racked = one.get("rack") is not None and one.get("rack") == other.get("rack")
        distance = same_node if source == node else same_rack if racked else across
        return Fraction(one.get("out_in_use", 0)) / one["rate_out"] + distance

    def block(self, task: dict[str, Any], node: int) -> Number:
        """The least `supply` of a map's block; one that is nowhere comes from beyond every rack, unhindered."""
        across: Number = self.parameters["f_c"][2]
        return min((self.supply(source, node) for source in self.hosts(task)), default=across)


def rounded(factor: Number, plain: Number, rates: list[Number], scale: Number) -> Fraction:
    """What factor (plain + (sum of the rates less their deviation) / scale) is, to a multiple of 1/GRID."""
    total = Fraction(sum(rates))
    mean = total / len(rates) if rates else Fraction(0)
    variance = sum(((rate - mean) ** 2 for rate in rates), Fraction(0)) / max(1, len(rates))
    exact = factor * (plain + total / scale) * GRID
    with localcontext() as context:
        context.prec = 80

        def written(number: Number) -> Decimal:
            return Decimal(Fraction(number).numerator) / Fraction(number).denominator

        units = written(exact) - written(Fraction(factor) * GRID / scale) * written(variance).sqrt()
        return Fraction(int(units.to_integral_value(rounding="ROUND_HALF_EVEN")), GRID)


class Flow(Rated):
    """The loads are those before the round; `include_task` counts the task that is being placed too."""

    defaults: ClassVar[Mapping[str, Any]] = {"f_c": [0, Fraction(1, 10), 1], "scale": "rate_in", "include_task": False}

    def prepare(self) -> None:
        idle = self.idle("map")
        self.costs = [
            [self.penalty(task, node) if idle[node] else Fraction(0) for node in range(len(self.nodes))]
            for task in self.pending
        ]

    def penalty(self, task: dict[str, Any], node: int) -> Fraction:
        """Cost of one task on one node, rounded once."""
        rate, busy = self.rate(task, node), self.on_node(node, "map")
        if self.parameters["include_task"]:
            busy.append(rate)
        return rounded(rate, 2 + self.block(task, node), busy, self.divisor(node))

    def value(self, decision: Decision) -> Value:
        return (sum(row[node] for row, node in zip(self.costs, decision, strict=True) if node is not None),)


class FlowCongestion(Rated):
    """The load of a node is of what runs there and of all that is placed there, maps and reduces.

    A reduce reads from each node that holds output of its maps. r_out is as it is, whoever reads.
    """

    kinds = ("map", "reduce")
    defaults: ClassVar[Mapping[str, Any]] = {
        "f_c": [0, Fraction(1, 10), 1],
        "scale": "rate_in",
        "deviation": True,
        "weights": "literal",
    }

    def prepare(self) -> None:
        self.sources: dict[str, dict[int, Number]] = {}
        for entry in self.document.get("shuffle", []):
            at = self.task_of[entry["map"]].get("node")
            if at is not None and entry["size"] > 0:
                held = self.sources.setdefault(entry["reduce"], {})
                held[self.place[at]] = held.get(self.place[at], 0) + entry["size"]
        self.busy = [self.on_node(node, "map", "reduce") for node in range(len(self.nodes))]
        self.idle_of = {kind: self.idle(kind) for kind in self.kinds}
        self.reading = [
            [
                self.read(task, node) if self.idle_of[task.get("kind", "map")][node] else Fraction(0)
                for node in range(len(self.nodes))
            ]
            for task in self.pending
        ]
        self.known: dict[tuple[int, tuple[Number, ...]], Fraction] = {}

    def read(self, task: dict[str, Any], node: int) -> Fraction:
        """What a task pays for reading, rounded once."""
        rate = self.rate(task, node)
        if task.get("kind", "map") == "map":
            return on_grid(rate * (1 + self.block(task, node)))
        held = self.sources.get(task["id"], {})
        whole = sum(held.values())
        part = {source: Fraction(size) / whole for source, size in held.items()}
        literal = self.parameters["weights"] == "literal"
        found = sum((1 if literal else part[source]) * (1 + self.supply(source, node)) for source in held)
        return on_grid(rate * found)

    def load(self, node: int, rates: tuple[Number, ...]) -> Fraction:
        """What the tasks on a node pay for its load, all together, rounded once."""
        if (node, rates) not in self.known:
            every, scale = [*self.busy[node], *rates], self.divisor(node)
            if self.parameters["deviation"]:
                found = rounded(sum(rates), 1, every, scale)
            else:
                found = on_grid(sum(rates) * (1 + Fraction(sum(every)) / scale))
            self.known[node, rates] = found
        return self.known[node, rates]

    def with_readers(self, decision: Decision) -> Fraction:
        """The penalty where r_out counts the maps of the round that read from a node too, from the best sources.

        That is Hsu and Freeh's first condition of overload (section 3.2), which `value` freezes. Nothing is rounded
        more.
        """
        maps = [(task, node) for task, node in zip(self.pending, decision, strict=True) if node is not None]
        frozen = sum(self.rate(task, node) * (1 + self.block(task, node)) for task, node in maps)
        found = []
        for sources in product(*(self.hosts(task) for task, _ in maps)):
            reading: dict[int, Number] = {}
            for (task, node), source in zip(maps, sources, strict=True):
                reading[source] = reading.get(source, 0) + self.rate(task, node)
            found.append(
                sum(
                    self.rate(task, node)
                    * (1 + self.supply(source, node) + Fraction(reading[source]) / self.nodes[source]["rate_out"])
                    for (task, node), source in zip(maps, sources, strict=True)
                )
            )
        return Fraction(self.value(decision)[0] - frozen + min(found))

    def value(self, decision: Decision) -> Value:
        placed: dict[int, list[Number]] = {}
        total: Number = 0
        for row, (task, node) in enumerate(zip(self.pending, decision, strict=True)):
            if node is not None:
                total += self.reading[row][node]
                placed.setdefault(node, []).append(self.rate(task, node))
        return (total + sum(self.load(node, tuple(sorted(rates))) for node, rates in placed.items()),)
