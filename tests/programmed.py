"""A problem of nobody's package that gives a definition and a program, and nothing more."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from optsched.core.errors import Fault
from optsched.core.instance import Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.instances.generate import generate
from optsched.problems.base import Problem
from optsched.problems.programs import Builder, Program, Programmed


def posed(seed: int, **sizes: float) -> "Gathering":
    """The problem below, drawn with few tasks and nodes."""
    return Gathering(generate("lsap", seed, **{"nodes": 3, "tasks": 4, "slots": 2, "idle_ratio": 1.0, **sizes}))


class Gathering(Problem, Programmed):
    """Every task on an idle slot: on the fewest nodes, then the most of them on their data."""

    name = "gathering"
    title = "every task on an idle slot: on the fewest nodes, then the most on their data"
    components = (Component("nodes", Sense.MIN, "nodes"), Component("local", Sense.MAX, "tasks"))
    proof = Proof.DUAL
    always_feasible = False

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        return iter(())

    def prepare(self) -> None:
        self.idle = self.instance.state.idle_slots
        self.local = np.zeros((len(self.tasks), len(self.idle)), dtype=np.int64)
        for task, nodes in enumerate(self.replicas):
            self.local[task, nodes] = 1

    @property
    def offered(self) -> Mapping[str, Ints]:
        return {"map": self.idle}

    @property
    def due(self) -> int:
        return len(self.tasks)

    def objective(self, placement: Placement) -> Value:
        nodes = self.nodes_of(placement)
        return len(np.unique(nodes)), int(self.local[np.arange(len(nodes)), nodes].sum())

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        nodes = self.nodes_of(placement)
        if (nodes == NONE).any():
            yield Violation("every-task-placed", (), int((nodes == NONE).sum()))
        over = np.bincount(nodes[nodes != NONE], minlength=len(self.idle)) - self.idle
        for node in np.flatnonzero(over > 0).tolist():
            yield Violation("slots", (str(self.instance.cluster.node_ids[node]),), int(over[node]))

    def cheap_bounds(self) -> tuple[Bound, ...]:
        return (Bound("one-node", "nodes", min(1, len(self.tasks)), "nodes, with room for all on one"),)

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        tasks = self.instance.workload.task_ids[self.tasks].tolist()
        nodes = self.instance.cluster.node_ids.tolist()
        first = not before
        builder = Builder()
        use = builder.variables("use", [(node,) for node in nodes], upper=1, cost=int(first), over="NODES")
        place = builder.variables(
            "place",
            [(task, node) for task in tasks for node in nodes],
            upper=1,
            cost=0 if first else -self.local.ravel(),
            doc="the task runs on the node",
        ).reshape(self.local.shape)
        builder.enter(builder.rows("once", [(task,) for task in tasks], lower=1, upper=1)[:, None], place)
        slots = builder.rows("slots", [(node,) for node in nodes], upper=0, over="NODES")
        builder.enter(slots, place)
        builder.enter(slots, use, -self.idle)
        if not first:
            builder.enter(builder.rows("as_few", [("nodes",)], upper=before[0]), use)
        return builder.program(component=len(before), unit=1 if first else -1)

    def values_of(self, decision: Placement, program: Program) -> Ints:
        nodes = self.nodes_of(decision)
        values = np.zeros(len(program.names), dtype=np.int64)
        values[program.family("use")][np.unique(nodes)] = 1
        place = np.zeros(self.local.shape, dtype=np.int64)
        place[np.arange(len(nodes)), nodes] = 1
        values[program.family("place")] = place.ravel()
        return values

    def decision_of(self, values: Ints, program: Program) -> Placement:
        return self.placement(values[program.family("place")].reshape(self.local.shape).argmax(axis=1))
