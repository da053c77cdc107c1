"""What all oracles share: a document read as it is written, tasks in slots, and the search through every decision."""

import json
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar

__all__ = ["GRID", "Decision", "Number", "Oracle", "Slotted", "Value", "denominator", "off_data", "on_grid", "read"]

#: Real costs are whole multiples of 1/GRID: each is rounded once (docs/design.md, section 3).
GRID = 2**20

#: Whatever numbers a document or a formula has: no float is among them.
Number = int | Fraction
Value = tuple[Number, ...]

#: Of each pending task the position of its node, or None; of a network the units on each arc.
Decision = tuple[int | None, ...]


def read(text: str) -> Any:
    """A JSON text with its numbers as they are written: 0.1 is a tenth."""
    return json.loads(text, parse_float=Fraction)


def denominator(numbers: Iterable[Number]) -> int:
    """The least number with which all become whole."""
    return lcm(*(Fraction(number).denominator for number in numbers))


def on_grid(cost: Number) -> Fraction:
    """A cost, rounded to a multiple of 1/GRID (half to even)."""
    return Fraction(round(cost * GRID), GRID)


class Oracle:
    """A problem on one document.

    Parameters
    ----------
    text
        The instance, as JSON.
    parameters
        Those of the problem that are not at their defaults.
    rounded
        Whether costs that are exact where their denominators allow it are rounded; see `finest`.

    Attributes
    ----------
    finest
        The denominator that all costs of the document have together, or a multiple of it. Up to `GRID` nothing may be
        rounded in problems that are exact where they can be.
    """

    finest = GRID

    defaults: ClassVar[Mapping[str, Any]] = {}
    senses: ClassVar[tuple[str, ...]] = ("min",)
    kinds: ClassVar[tuple[str, ...]] = ("map",)

    def __init__(self, text: str, parameters: Mapping[str, Any], rounded: bool = False) -> None:
        self.rounded = rounded
        self.document = read(text)
        given = read(json.dumps(dict(parameters)))
        assert set(given) <= set(self.defaults), "a parameter that the oracle does not know"
        self.parameters = {**self.defaults, **given}
        self.nodes: list[dict[str, Any]] = self.document["nodes"]
        self.node_ids = [node["id"] for node in self.nodes]
        self.place = {name: position for position, name in enumerate(self.node_ids)}
        self.tasks: list[dict[str, Any]] = self.document.get("tasks", [])
        self.task_of = {task["id"]: task for task in self.tasks}
        self.jobs = {job["id"]: job for job in self.document.get("jobs", [])}
        self.pending = [
            task
            for task in self.tasks
            if task.get("state", "pending") == "pending" and task.get("kind", "map") in self.kinds
        ]
        self.prepare()

    def cost(self, exact: Number) -> Number:
        """A cost of a problem that is exact where it can be."""
        return on_grid(exact) if self.rounded else exact

    def prepare(self) -> None:
        """Work out what the value needs."""

    def value(self, decision: Decision) -> Value:
        """What a feasible decision is worth, component after component."""
        raise NotImplementedError

    def feasible(self, decision: Decision) -> bool:
        """Whether the problem allows the decision."""
        raise NotImplementedError

    def decisions(self) -> Iterator[Decision]:
        """Every feasible decision; of those that differ in nothing that the problem knows, one is enough."""
        raise NotImplementedError

    def key(self, value: Value) -> Value:
        """A value as it compares: less is better."""
        return tuple(part if sense == "min" else -part for part, sense in zip(value, self.sense(), strict=True))

    def sense(self) -> tuple[str, ...]:
        """Of each component, min or max."""
        return self.senses

    def running(self, *kinds: str) -> list[dict[str, Any]]:
        """The tasks of these kinds that run."""
        return [task for task in self.tasks if task.get("state") == "running" and task.get("kind", "map") in kinds]

    def hosts(self, task: Mapping[str, Any]) -> list[int]:
        """Positions of the nodes that hold the task's block."""
        return [self.place[name] for name in task.get("replicas", [])]


class Slotted(Oracle):
    """A problem that fills idle slots: of each kind as many tasks as there can be, on slots of their kind."""

    #: Field of a node that holds its idle slots for a kind, and the one that holds for it where that is not given.
    fields: ClassVar[Mapping[str, tuple[str, str]]] = {
        "map": ("idle_slots", "slots"),
        "reduce": ("idle_reduce_slots", "reduce_slots"),
    }

    def idle(self, kind: str) -> list[int]:
        """Idle slots of each node for tasks of a kind."""
        field, every = self.fields[kind]
        return [node.get(field, node.get(every, 1)) for node in self.nodes]

    def placed(self, decision: Decision, kind: str) -> int:
        """How many tasks of a kind are placed."""
        pairs = zip(self.pending, decision, strict=True)
        return sum(node is not None for task, node in pairs if task.get("kind", "map") == kind)

    def together(self, decision: Decision) -> bool:
        """Whether tasks of the pending ones that have a node may be where they are, beside each other."""
        for kind in self.kinds:
            room = self.idle(kind)
            for task, node in zip(self.pending, decision, strict=False):
                if node is not None and task.get("kind", "map") == kind:
                    room[node] -= 1
            if min(room, default=0) < 0:
                return False
        return True

    def due(self, kind: str) -> int:
        """How many tasks of a kind are to be placed: all, or as many as there are slots."""
        return min(sum(self.idle(kind)), sum(task.get("kind", "map") == kind for task in self.pending))

    def feasible(self, decision: Decision) -> bool:
        return self.together(decision) and all(self.placed(decision, kind) == self.due(kind) for kind in self.kinds)

    def decisions(self) -> Iterator[Decision]:
        waiting = {
            kind: sum(task.get("kind", "map") == kind for task in self.pending) - self.due(kind) for kind in self.kinds
        }
        yield from self._extended((), waiting)

    def _extended(self, begun: Decision, waiting: Mapping[str, int]) -> Iterator[Decision]:
        """Every feasible decision that begins so, where so many tasks of each kind may still go without a node."""
        if len(begun) == len(self.pending):
            yield begun
            return
        kind = self.pending[len(begun)].get("kind", "map")
        for node in range(len(self.nodes)):
            if self.together((*begun, node)):
                yield from self._extended((*begun, node), waiting)
        if waiting[kind]:
            yield from self._extended((*begun, None), {**waiting, kind: waiting[kind] - 1})


def off_data(oracle: Oracle, decision: Decision) -> int:
    """How many placed tasks are on a node that does not hold their block."""
    pairs = zip(oracle.pending, decision, strict=True)
    return sum(node is not None and node not in oracle.hosts(task) for task, node in pairs)
