"""`consolidation`: as many tasks as there are idle slots, on few nodes and near their data."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from optsched.core.errors import Fault
from optsched.core.instance import Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.registry import Record, Scaling
from optsched.core.results import Bound, Component, Proof, Sense, Value, Violation
from optsched.problems.base import Parameter, Problem, number


class Consolidation(Problem):
    """Exactly min(tasks, idle slots) tasks on idle slots, at least cost: of nodes that get one, and of remote tasks.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [1]]))
    >>> problem = Consolidation(Instance(Cluster(["a", "b"], slots=[2, 2]), workload))
    >>> problem.evaluate(problem.placement([0, 1])), problem.evaluate(problem.placement([0, 0]))
    ((6,), (4,))
    """

    name = "consolidation"
    title = "tasks to idle slots on few nodes, near their data"
    paper = ""
    components = (Component("cost", Sense.MIN, "task off its data"),)
    parameter_table = (Parameter("wake", 3, number(lowest=0, integer=True), "cost of a node that gets a task"),)
    requires = ()
    proof = Proof.ENUMERATION

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        return iter(())

    def prepare(self) -> None:
        self.capacity = self.instance.state.idle_slots
        self.count = min(len(self.tasks), int(self.capacity.sum()))

    @property
    def offered(self) -> Mapping[str, Ints]:
        return {"map": self.capacity}

    @property
    def due(self) -> int:
        return self.count

    def objective(self, placement: Placement) -> Value:
        nodes = self.nodes_of(placement)
        placed = np.flatnonzero(nodes != NONE)
        remote = sum(int(nodes[task]) not in self.replicas[task].tolist() for task in placed.tolist())
        return (self.parameters["wake"] * len(np.unique(nodes[placed])) + remote,)

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        nodes = self.nodes_of(placement)
        placed = nodes[nodes != NONE]
        for node in np.flatnonzero(np.bincount(placed, minlength=len(self.capacity)) > self.capacity).tolist():
            excess = int(np.count_nonzero(placed == node) - self.capacity[node])
            yield Violation("capacity", (str(self.instance.cluster.node_ids[node]),), excess)
        if len(placed) != self.count:
            yield Violation("count", (), len(placed) - self.count)

    def cheap_bounds(self) -> tuple[Bound, ...]:
        largest = np.sort(self.capacity)[::-1].cumsum()
        nodes = int(np.searchsorted(largest, self.count)) + 1 if self.count else 0
        text = "nodes that hold the tasks, the largest first"
        return (Bound("largest-nodes", "cost", self.parameters["wake"] * nodes, text, ""),)


RECORD = Record(
    name="consolidation",
    problem="consolidation.problem:Consolidation",
    models="consolidation.models",
    family="consolidation",
    sizes={"nodes": 3, "tasks": 4},
    scaling=Scaling((0,)),
)
