"""`flow`: tasks to slots at least flow-rate penalty, with loads frozen (Hsu and Freeh, section 3.2).

In `flow-congestion` the batch itself adds to the effective load. It uses the quantities that are defined here: rates by
type of node, what runs where, the cost of reading from a node, and the fields that these need.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from optsched.core.decimals import decimal
from optsched.core.errors import Fault
from optsched.core.instance import KINDS, MAP, RUNNING, Floats, Instance, Ints, Ragged
from optsched.core.results import Component, Proof, Sense
from optsched.problems.assignment import TabledProblem
from optsched.problems.base import GRID, on_grid, pending_of
from optsched.problems.counted_places import TaskClasses
from optsched.problems.demands import task_rates
from optsched.problems.parameters import Parameter, either, number, sequence, switch
from optsched.problems.programs import Programmed


def effective_load(rates: np.ndarray) -> float:
    """e_m of Hsu and Freeh: sum of the input rates on a node less their population standard deviation, MB/s.

    The deviation of at most one task is 0 (Hsu and Freeh, note 4). Rates are added as decimals, so that their order
    does not matter and equal rates have a deviation of exactly 0.

    >>> effective_load(np.array([3.0, 5.0]))
    7.0
    """
    values, counts = np.unique(rates, return_counts=True)  # jobs with many tasks each have few distinct rates
    held = [_ratio(rate) for rate in values.tolist()]
    unit = math.lcm(*(below for _, below in held))
    units = [(above * (unit // below), count) for (above, below), count in zip(held, counts.tolist(), strict=True)]
    total: int = sum(rate * count for rate, count in units)
    if len(rates) < 2:
        return total / unit
    squares: int = sum(rate * rate * count for rate, count in units)
    # Python divides integers of any size with a single rounding.
    return total / unit - math.sqrt((squares * len(rates) - total * total) / (len(rates) * unit) ** 2)


@lru_cache(2**12)
def _ratio(rate: float) -> tuple[int, int]:
    """Numerator and denominator of a rate as a decimal; few distinct rates run on many nodes."""
    return decimal(rate).as_integer_ratio()


#: Distance classes of a read; divisors of the effective load.
F_C = Parameter(
    "f_c", (0, 0.1, 1), sequence(3, number(lowest=0)), "distance term: same node, same rack, across (values assumed)"
)
SCALE = Parameter(
    "scale",
    "rate_in",
    either(("rate_in", "rate_process"), number(above=0)),
    "divides e_m: the node's rate_in or rate_process, or MB/s (1: literal)",
)


class Flow(TabledProblem, Programmed):
    """Exactly min(tasks, idle slots) tasks on idle slots, at least flow-rate penalty.

    A map with input rate R on node m, reading from its best replica s, costs
    R (1 + r_out(s)/R_out(s) + f_c(s, m)) + R (1 + e_m/scale): Hsu and Freeh, section 3.2, where the cost includes the
    choice of the source. e_m is the effective load of what runs on m now. The paper adds e_m (MB/s) to 1; `scale` makes
    it a fraction of the node's `rate_in` (Hsu and Freeh, note 3), and scale=1 is the literal sum. A task without
    replicas reads from outside all racks, from a source without load. The values of f_c are assumed (Hsu and Freeh,
    note 1).

    Each pair's cost is rounded once to a multiple of 2^-20.

    Attributes
    ----------
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
        F_C,
        SCALE,
        Parameter("include_task", False, switch, "whether e_m counts the task that is being placed"),
    )
    requires = (
        "tasks[].rate_in",
        "nodes[].rate_out of nodes with replicas",
        "nodes[].rate_in of nodes with idle slots, unless scale is a number",
    )
    cost_name = "penalty"
    proof = Proof.DUAL
    grid = GRID

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        pending = pending_of(instance, MAP)
        idle = instance.state.idle_slots > 0
        yield from rate_faults(cls.name, instance, {MAP: (pending, idle)}, parameters["scale"])
        yield from source_faults(cls.name, instance, np.unique(instance.replicas.take(pending).values))

    def prepare_costs(self) -> None:
        super().prepare_costs()
        cluster, scale = self.instance.cluster, self.parameters["scale"]
        self.rates: Floats = task_rates(self.instance, self.tasks)
        self.running_rates: list[Floats] = running_rates(self.instance, self.idle_nodes, (MAP,))
        divisor = getattr(cluster, scale)[self.idle_nodes] if isinstance(scale, str) else np.float64(scale)
        self._divisor = np.broadcast_to(np.asarray(divisor, dtype=np.float64), self.idle_nodes.shape)

    @cached_property
    def _frozen_loads(self) -> Floats:
        """e_m/scale of each of `idle_nodes`."""
        return self.effective_loads() / self._divisor

    @property
    def idle_rates(self) -> Floats:
        """Input rate of each task on each of `idle_nodes`, MB/s, shape (tasks, idle nodes)."""
        return self.rates[:, self.instance.cluster.type[self.idle_nodes]]

    def effective_loads(self, added: float | None = None) -> Floats:
        """e_m of each of `idle_nodes`, in MB/s; with one more task of rate `added` if given."""
        more = np.array([] if added is None else [added], dtype=np.float64)
        known: dict[bytes, float] = {}  # many nodes run the same rates, or nothing
        loads = []
        for rates in self.running_rates:
            held = rates.tobytes()
            if held not in known:
                known[held] = effective_load(np.append(rates, more))
            loads.append(known[held])
        return np.array(loads, dtype=np.float64)

    def made_classes(self) -> TaskClasses:
        return TaskClasses.from_rows(np.ascontiguousarray(self.rates).view(np.int64), self.replicas.ordered())

    def table(self, positions: Ints) -> Ints:
        rate = self.rates[positions].take(self.instance.cluster.type[self.idle_nodes], axis=1)
        paid, waited = self._read_terms(positions), 1 + self._load_terms(rate)
        paid += 1
        paid *= rate
        rate *= waited
        paid += rate  # in place: tables may be large
        return on_grid(paid)

    def _load_terms(self, rate: Floats) -> Floats:
        """e_m/scale for each task (row) and idle node (column); one row if it is the same for all tasks."""
        if not self.parameters["include_task"]:
            return self._frozen_loads
        distinct, inverse = np.unique(rate, return_inverse=True)
        loads = np.array([self.effective_loads(added) for added in distinct.tolist()]).reshape(
            len(distinct), rate.shape[1]
        )
        columns = np.arange(rate.shape[1])
        return loads[inverse.reshape(rate.shape), columns] / self._divisor

    def _read_terms(self, positions: Ints) -> Floats:
        """Least r_out/R_out + f_c over the sources, for each task (row) and idle node (column)."""
        f_c, sources = self.parameters["f_c"], self.replicas.take(positions)
        terms = np.full((len(positions), len(self.idle_nodes)), float(f_c[2]))
        for choice in range(int(sources.lengths.max(initial=0))):
            rows = np.flatnonzero(sources.lengths > choice)
            nodes, place = np.unique(sources.values[sources.starts[rows] + choice], return_inverse=True)
            found = source_terms(self.instance, nodes, self.idle_nodes, f_c)[place.ravel()]
            if len(rows) == len(terms):
                terms = np.minimum(terms, found, out=found) if choice else found
            else:
                terms[rows] = np.minimum(terms[rows], found) if choice else found
        return terms


def running_rates(instance: Instance, nodes: Ints, kinds: tuple[int, ...]) -> list[Floats]:
    """The input rates of what runs on each of `nodes`, MB/s: those of its record, then those of tasks of `kinds`."""
    cluster, workload, state = instance.cluster, instance.workload, instance.state
    running = np.flatnonzero((state.status == RUNNING) & np.isin(workload.kind, kinds))
    on = Ragged(np.arange(len(running) + 1), state.node[running]).transposed(len(cluster)).take(nodes)
    demand = task_rates(instance, running)
    return [
        np.concatenate((state.running_rates[node], demand[places, cluster.type[node]]))
        for node, places in zip(nodes.tolist(), on, strict=True)
    ]


def source_terms(instance: Instance, sources: Ints, nodes: Ints, f_c: tuple[float, float, float]) -> Floats:
    """r_out/R_out + f_c of reading from each of `sources` (row) on each of `nodes` (column): Hsu and Freeh, 3.2."""
    cluster = instance.cluster
    same_node, same_rack, across = f_c
    rack = cluster.rack[sources][:, None]
    in_rack = (cluster.rack[nodes] == rack) & (rack >= 0)
    distance = np.where(nodes == sources[:, None], same_node, np.where(in_rack, same_rack, across))
    terms: Floats = (instance.state.out_in_use[sources] / cluster.rate_out[sources])[:, None] + distance
    return terms


def rate_faults(
    name: str, instance: Instance, offers: Mapping[int, tuple[Ints, np.ndarray]], scale: Any
) -> Iterator[Fault]:
    """Missing rates that problem `name` needs: of tasks, of running load, and of nodes with idle slots.

    `offers` has, for each kind, the tasks to place and a mask of the nodes with a slot for them.
    """
    cluster, workload, state = instance.cluster, instance.workload, instance.state
    for tasks, idle in offers.values():
        rates = task_rates(instance, tasks)
        for node_type in np.unique(cluster.type[idle]).tolist():
            unknown = np.isnan(rates[:, node_type])
            named = " on nodes without a type" if len(cluster.type_ids) else ""
            if node_type >= 0:
                named = f' on nodes of type "{cluster.type_ids[node_type]}"'
            for task in tasks[unknown].tolist():
                yield Fault(f"tasks[{task}].rate_in", f"{name} needs the task's input rate in MB/s{named}")
    running = np.flatnonzero((state.status == RUNNING) & np.isin(workload.kind, list(offers)))
    own = np.isnan(task_rates(instance, running)[np.arange(len(running)), cluster.type[state.node[running]]])
    for task in running[own].tolist():
        yield Fault(
            f"tasks[{task}].rate_in", f"{name} needs the input rate of a running {KINDS[workload.kind[task]]}, in MB/s"
        )
    if isinstance(scale, str):
        rate = getattr(cluster, scale)
        idle = np.any([mask for _, mask in offers.values()], axis=0)
        for node in np.flatnonzero(idle & ~(rate > 0)).tolist():
            yield Fault(f"nodes[{node}].{scale}", f"{name} needs a positive rate, or scale=1 (literal)")


def source_faults(name: str, instance: Instance, sources: Ints) -> Iterator[Fault]:
    """The output rates of sources that problem `name` needs and the instance lacks."""
    for node in sources[~(instance.cluster.rate_out[sources] > 0)].tolist():
        yield Fault(f"nodes[{node}].rate_out", f"{name} needs a positive rate: tasks read their blocks from this node")
