"""`consolidation`: as many tasks as there are idle slots, on few nodes and near their data."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from optsched.core.errors import Fault
from optsched.core.instance import Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.registry import Record, Scaling
from optsched.core.results import Component, Number, Proof, Sense, Value, Violation
from optsched.problems.base import Parameter, Problem, number, overfull
from optsched.problems.programs import Builder, Program, Programmed


class Consolidation(Problem, Programmed):
    """Exactly min(tasks, idle slots) tasks on idle slots, at least cost: of nodes that get one, and of remote tasks."""

    name = "consolidation"
    title = "tasks to idle slots on few nodes, near their data"
    components = (Component("cost", Sense.MIN, "task off its data"),)
    parameter_table = (Parameter("wake", 3, number(lowest=0, integer=True), "cost of a node that gets a task"),)
    proof = Proof.DUAL

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        return iter(())

    def prepare(self) -> None:
        self.capacity = self.instance.state.idle_slots
        self.count = min(len(self.tasks), int(self.capacity.sum()))
        self.remote = np.ones((len(self.tasks), len(self.capacity)), dtype=np.int64)
        for task, nodes in enumerate(self.replicas):
            self.remote[task, nodes] = 0

    @property
    def offered(self) -> Mapping[str, Ints]:
        return {"map": self.capacity}

    @property
    def due(self) -> int:
        return self.count

    def objective(self, placement: Placement) -> Value:
        nodes = self.nodes_of(placement)
        placed = np.flatnonzero(nodes != NONE)
        used = len(np.unique(nodes[placed]))
        return (self.parameters["wake"] * used + int(self.remote[placed, nodes[placed]].sum()),)

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        nodes = self.nodes_of(placement)
        yield from overfull(self.instance.cluster, nodes, self.capacity, "capacity")
        if placement.placed != self.count:
            yield Violation("count", (), placement.placed - self.count)

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        tasks, nodes = self.task_ids.tolist(), self.instance.cluster.node_ids.tolist()
        pairs = [(task, node) for task in tasks for node in nodes]
        builder = Builder()
        wake = builder.variables("wake", [(node,) for node in nodes], upper=1, cost=self.parameters["wake"])
        place = builder.variables("place", pairs, upper=1, cost=self.remote.ravel()).reshape(self.remote.shape)
        builder.enter(builder.rows("once", [(task,) for task in tasks], upper=1)[:, None], place)
        slots = builder.rows("slots", [(node,) for node in nodes], upper=0)
        builder.enter(slots, place)
        builder.enter(slots, wake, -self.capacity)
        builder.enter(builder.rows("count", [()], lower=self.count, upper=self.count), place)
        return builder.program()

    def values_of(self, decision: Placement, program: Program) -> Ints:
        nodes = self.nodes_of(decision)
        placed = np.flatnonzero(nodes != NONE)
        values = np.zeros(len(program.names), dtype=np.int64)
        values[program.family("wake")][nodes[placed]] = 1
        values[program.family("place")].reshape(self.remote.shape)[placed, nodes[placed]] = 1
        return values

    def decision_of(self, values: Ints, program: Program) -> Placement:
        place = values[program.family("place")].reshape(self.remote.shape)
        return self.placement(np.where(place.any(axis=1), place.argmax(axis=1), NONE))


RECORD = Record(
    name="consolidation",
    problem="consolidation.problem:Consolidation",
    family="consolidation",
    sizes={"nodes": 3, "tasks": 4},
    scaling=Scaling((0,)),
)
