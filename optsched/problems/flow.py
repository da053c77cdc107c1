"""`flow`: tasks to slots at least flow-rate penalty, with loads frozen as they are (002, section 3.2).

The effective load that the batch itself causes is another problem (`flow-congestion`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from optsched.errors import Fault
from optsched.instance import MAP, PENDING, RUNNING, Floats, Instance, Ints, Ragged
from optsched.problems.assignment import AssignmentProblem, TaskClasses
from optsched.problems.base import GRID, Parameter, number, on_grid, sequence, switch
from optsched.results import Component, Proof, Sense

__all__ = ["Flow", "effective_load"]

#: Pairs of class and node computed at once, so that memory stays small.
BLOCK = 2**22


def effective_load(rates: np.ndarray) -> float:
    """e_m of 002: sum of the input rates on a node less their population standard deviation, MB/s.

    Of at most one task the deviation is 0 (digest 002, erratum 4).

    >>> effective_load(np.array([3.0, 5.0]))
    7.0
    """
    return float(rates.sum() - rates.std()) if len(rates) > 1 else float(rates.sum())


def _scale(given: Any) -> Any:
    return given if given in ("rate_in", "rate_process") else number(above=0)(given)


class Flow(AssignmentProblem):
    """Exactly min(tasks, idle slots) tasks on idle slots, at least flow-rate penalty.

    A map with input rate R on node m, reading from its best replica s, costs
    R (1 + r_out(s)/R_out(s) + f_c(s, m)) + R (1 + e_m/scale): 002, section 3.2, with the storage source chosen inside
    the cost. e_m is the effective load of what runs on m now. The paper adds e_m (MB/s) to 1; `scale` makes it a
    fraction of the node's `rate_in` (digest 002, erratum 3), and scale=1 is the literal sum. A task without replicas
    reads from beyond every rack, from a source that is not loaded.

    Each pair's cost is rounded once to a multiple of 2^-20.

    Attributes
    ----------
    idle_nodes
        int64, shape (idle nodes,): indices of the nodes with idle slots.
    rates
        Input rate of each task on each type of node, MB/s; the last column is for nodes without a type.
    running_rates
        For each of `idle_nodes` the input rates of the maps that run there, MB/s.
    """

    name = "flow"
    title = "tasks to slots, least flow-rate penalty, loads frozen"
    paper = "002"
    components = (Component("penalty", Sense.MIN, "MB/s"),)
    parameter_table = (
        Parameter("f_c", (0, 0.1, 1), sequence(3, number(lowest=0)), "distance term: same node, same rack, across"),
        Parameter("scale", "rate_in", _scale, "divides e_m: the node's rate_in or rate_process, or MB/s (1: literal)"),
        Parameter("include_task", False, switch, "whether e_m counts the task that is being placed"),
    )
    requires = (
        "tasks[].rate_in",
        "nodes[].rate_out of nodes with replicas",
        "nodes[].rate_in of nodes with idle slots, unless scale is a number",
    )
    proof = Proof.DUAL
    grid = GRID

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        cluster, workload, state = instance.cluster, instance.workload, instance.state
        maps = workload.kind == MAP
        pending = np.flatnonzero((state.status == PENDING) & maps)
        idle = state.idle_slots > 0
        rates = _rates(instance, pending)
        for node_type in np.unique(cluster.type[idle]).tolist():
            unknown = np.isnan(rates[:, node_type])
            named = f' on nodes of type "{cluster.type_ids[node_type]}"' if node_type >= 0 else ""
            for task in pending[unknown].tolist():
                yield Fault(f"tasks[{task}].rate_in", f"flow needs the task's input rate in MB/s{named}")
        running = np.flatnonzero((state.status == RUNNING) & maps)
        own = np.isnan(_rates(instance, running)[np.arange(len(running)), cluster.type[state.node[running]]])
        for task in running[own].tolist():
            yield Fault(f"tasks[{task}].rate_in", "flow needs the input rate of a running map, in MB/s")
        sources = np.unique(instance.replicas.take(pending).values)
        for node in sources[~(cluster.rate_out[sources] > 0)].tolist():
            yield Fault(f"nodes[{node}].rate_out", "flow needs a positive rate: tasks read their blocks from this node")
        if parameters["scale"] in ("rate_in", "rate_process"):
            rate = getattr(cluster, parameters["scale"])
            for node in np.flatnonzero(idle & ~(rate > 0)).tolist():
                yield Fault(f"nodes[{node}].{parameters['scale']}", "flow needs a positive rate, or scale=1 (literal)")

    def prepare_costs(self) -> None:
        cluster, state, scale = self.instance.cluster, self.instance.state, self.parameters["scale"]
        self.idle_nodes: Ints = np.flatnonzero(self.capacity > 0).astype(np.int64)
        self.rates: Floats = _rates(self.instance, self.tasks)
        running = np.flatnonzero((state.status == RUNNING) & (self.instance.workload.kind == MAP))
        runs_on = (
            Ragged(np.arange(len(running) + 1), state.node[running]).transposed(len(cluster)).take(self.idle_nodes)
        )
        listed = (running[places] for places in runs_on)
        demand = _rates(self.instance, np.arange(len(self.instance.workload)))
        self.running_rates: list[Floats] = [
            np.concatenate((cluster.running_rates[node], demand[tasks, cluster.type[node]]))
            for node, tasks in zip(self.idle_nodes.tolist(), listed, strict=True)
        ]
        divisor = getattr(cluster, scale)[self.idle_nodes] if isinstance(scale, str) else np.float64(scale)
        self._divisor = np.broadcast_to(np.asarray(divisor, dtype=np.float64), self.idle_nodes.shape)
        self._column = np.full(len(cluster), -1, dtype=np.int64)
        self._column[self.idle_nodes] = np.arange(len(self.idle_nodes))

    def effective_loads(self, added: float | None = None) -> Floats:
        """e_m of each of `idle_nodes`, in MB/s, with one more task of rate `added` where given."""
        more = [] if added is None else [added]
        return np.array([effective_load(np.append(rates, more)) for rates in self.running_rates], dtype=np.float64)

    def classes(self) -> TaskClasses:
        return self._classes

    @cached_property
    def _classes(self) -> TaskClasses:
        keys = [
            (self.rates[row].tobytes(), tuple(sorted(replicas.tolist()))) for row, replicas in enumerate(self.replicas)
        ]
        return TaskClasses.from_keys(keys)

    @cached_property
    def class_units(self) -> Ints:
        """Units of cost of each class on each of `idle_nodes`, int64, shape (classes, idle nodes)."""
        first = self._classes.first
        units = np.empty((len(first), len(self.idle_nodes)), dtype=np.int64)
        step = max(1, BLOCK // max(1, len(self.idle_nodes)))
        with np.errstate(over="ignore", invalid="ignore"):  # `on_grid` makes it a cost that is refused
            for begin in range(0, len(first), step):
                units[begin : begin + step] = on_grid(self._penalties(first[begin : begin + step]))
        units.setflags(write=False)
        return units

    def _penalties(self, positions: Ints) -> Floats:
        """002's cost of each task at `positions` on each of `idle_nodes`, in MB/s."""
        cluster = self.instance.cluster
        rate = self.rates[positions][:, cluster.type[self.idle_nodes]]
        return rate * (1 + self._read_terms(positions)) + rate * (1 + self._load_terms(rate))

    def _load_terms(self, rate: Floats) -> Floats:
        """e_m/scale for each task (row) and idle node (column)."""
        if not self.parameters["include_task"]:
            return np.broadcast_to(self.effective_loads() / self._divisor, rate.shape)
        distinct, inverse = np.unique(rate, return_inverse=True)
        loads = np.array([self.effective_loads(added) for added in distinct.tolist()]).reshape(
            len(distinct), rate.shape[1]
        )
        columns = np.arange(rate.shape[1])
        return loads[inverse.reshape(rate.shape), columns] / self._divisor

    def _read_terms(self, positions: Ints) -> Floats:
        """Least r_out/R_out + f_c over the sources, for each task (row) and idle node (column)."""
        cluster = self.instance.cluster
        same_node, same_rack, across = self.parameters["f_c"]
        racks = cluster.rack[self.idle_nodes]
        terms = np.full((len(positions), len(self.idle_nodes)), float(across))
        for row, position in enumerate(positions.tolist()):
            sources = self.replicas[position]
            if not len(sources):
                continue
            terms[row] = np.inf
            for source in sources.tolist():
                load = cluster.out_in_use[source] / cluster.rate_out[source]
                rack = cluster.rack[source]
                distance = np.where((racks == rack) & (rack >= 0), same_rack, across).astype(np.float64)
                if self._column[source] >= 0:
                    distance[self._column[source]] = same_node
                np.minimum(terms[row], load + distance, out=terms[row])
        return terms

    def largest_pair_units(self) -> int:
        return int(self.class_units.max(initial=0))

    def pair_units(self, positions: Ints, nodes: Ints) -> Ints:
        return self.class_units[self._classes.of_task[positions], self._column[nodes]]

    def cheapest_units(self, prices: Ints) -> Ints:
        cheapest: Ints = (self.class_units + prices[self.idle_nodes]).min(axis=1)
        return cheapest[self._classes.of_task]


def _rates(instance: Instance, tasks: np.ndarray) -> Floats:
    """Input rate of each task on each node type, shape (tasks, types + 1); the last column is "no type".

    A node without a type has type -1, which picks the last column.
    """
    workload = instance.workload
    types = len(instance.cluster.type_ids)
    rates = np.repeat(workload.rate_in[tasks, None], types + 1, axis=1)
    if workload.rate_in_by_type is not None:
        by_type = workload.rate_in_by_type[tasks]
        rates[:, :types] = np.where(np.isnan(by_type), rates[:, :types], by_type)
    return rates
