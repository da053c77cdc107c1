"""A finder of `worst-group` with two levels of cost: maximum flows (SciPy), and minimum cuts as multipliers.

Where tasks cost either nothing or one same level, the tasks of a group that cost something pass one vertex of a
network, whose capacity is the limit on what the group pays. A maximum flow says whether all tasks can be placed.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from optsched.certificates.trees import Step, Tree
from optsched.core.deadline import check
from optsched.core.errors import SolverDisagreement
from optsched.core.instance import Ints
from optsched.core.results import Number, Termination
from optsched.problems.programs import Program
from optsched.problems.worst_group import WorstGroup
from optsched.searches.assignment import TransportNetwork
from optsched.searches.program_tree import Root
from optsched.solvers.outcome import SolverOutcome

__all__ = ["FlowFinder", "is_flow"]


def is_flow(problem: WorstGroup) -> bool:
    """Whether each task costs nothing or one same level: limits on the groups' costs are capacities then."""
    on_node, in_rack, off_rack = problem.levels
    return on_node == 0 and (in_rack in (0, off_rack) or not len(problem.instance.cluster.rack_ids))


class FlowFinder:
    """What is found within a limit on the means; only for problems of which `is_flow` is true."""

    def __init__(self, problem: WorstGroup) -> None:
        check()
        self.problem, self._level = problem, max(1, problem.levels[2])
        self._network = network = TransportNetwork(problem)
        groups, vertices = len(problem.group_ids), len(network.labels)
        paying = np.flatnonzero(network.cost > 0)
        group = problem.pool[network.classes.first][network.tail[paying] - 1 - groups]
        self._toll = vertices + np.arange(groups)
        self._tolls = vertices + groups  # where all tasks that cost something come together
        head = network.head.copy()
        head[paying] = self._toll[group]
        anywhere = network.head[paying][:1]
        onwards = np.full(len(anywhere), self._tolls)
        self._tail = np.concatenate([network.tail, self._toll, onwards])
        self._head = np.concatenate([head, np.full(groups, self._tolls), anywhere])
        self._room = np.minimum(network.capacity, problem.count)
        self._order = np.lexsort((self._head, self._tail))
        self._starts = np.searchsorted(self._tail[self._order], np.arange(self._tolls + 2)).astype(np.int32)

    def empty(self, limit: Number) -> bool:
        """Whether no placement is within a limit."""
        return limit < 0 or self._flow(limit, self.problem.count)[2] < self.problem.count

    def __call__(self, limit: Number, program: Program) -> Root:
        """The cheapest placement within a limit, or that there is none, and multipliers that prove it."""
        problem, (fewest, cheapest) = self.problem, self._fewest
        solver = {"name": "SciPy maximum_flow", "version": scipy.__version__}
        if self.empty(limit):
            ray = self._multipliers(program, 0, self._cut(*self._flow(limit, problem.count)[:2]))
            if limit < 0:
                ray = np.append(np.zeros_like(ray[1:]), -1)  # the last row says that no mean is below 0
            told = SolverOutcome(Termination.INFEASIBLE, None, None, None, "maximum flow", 0.0, None, solver)
            return Root(told, None, Tree([ray], [Step((0,))]))
        # Some largest set of tasks at their data contains those of any placement (Guo et al. 2012, note 12).
        _, flow, total = self._flow(limit, fewest)
        if total != problem.count:
            raise SolverDisagreement(f"{problem.name}: SciPy places {total} of {problem.count} tasks")
        arcs = slice(len(self._network.tail))
        sent = np.asarray(flow[self._tail[arcs], self._head[arcs]]).ravel().astype(np.int64)
        cost = float(fewest * problem.levels[2])
        told = SolverOutcome(Termination.OPTIMAL, None, cost, cost, "maximum flow", 0.0, None, solver)
        values = problem.values_of(problem.placement(self._network.decode(sent)), program)
        return Root(told, values, Tree([self._multipliers(program, 1, cheapest)], [Step((0,))]))

    @cached_property
    def _fewest(self) -> tuple[int, Ints]:
        """The fewest tasks that cost something in any placement, and the cut that proves it."""
        network, flow, total = self._flow(0, 0)
        return self.problem.count - total, self._cut(network, flow)

    def _flow(self, limit: Number, dear: int) -> tuple[Any, Any, int]:
        """The network within a limit, at most `dear` tasks of which cost something, its maximum flow, and the value."""
        check()
        limits = [max(0, min(self.problem.count, cost // self._level)) for cost in self.problem.most_within(limit)]
        onwards = np.full(len(self._tail) - len(self._room) - len(limits), dear)
        capacity = np.concatenate([self._room, limits, onwards])[self._order]
        parts = (capacity.astype(np.int32), self._head[self._order].astype(np.int32), self._starts)
        network = sp.csr_array(parts, shape=(self._tolls + 1, self._tolls + 1))
        found = maximum_flow(network, 0, self._network.sink)
        return network, found.flow, int(found.flow_value)

    def _cut(self, network: Any, flow: Any) -> Ints:
        """One level for whatever the residual network reaches, and 0 elsewhere."""
        residual = sp.csr_array(network - flow)
        residual.eliminate_zeros()
        height = np.zeros(self._tolls + 1, dtype=np.int64)
        height[breadth_first_order(residual, 0, return_predecessors=False)] = self.problem.levels[2]
        return height

    def _multipliers(self, program: Program, scale: int, height: Ints) -> Ints:
        """A cut as multipliers: prices of slots and of dear tasks of each group; of the classes what is left."""
        problem, whole = self.problem, program.whole
        prices, rows = self._network.prices(height[: self._network.sink + 1]), {row.name: row for row in program.rows}
        far = np.iinfo(np.int64).max
        nodes = np.where(problem.capacity > 0, np.maximum(prices.nodes, 0), far)
        nearest = int(nodes.min()) if problem.count else 0
        cluster, index = problem.instance.cluster, problem.instance.node_index
        found = np.zeros(len(whole.row_lower), dtype=np.int64)
        below = np.full(len(cluster.rack_ids) + 1, nearest)  # what a slot costs in the rack at least; the last: no rack
        if "rack_slots" in rows:
            racked = [cluster.rack_ids.tolist().index(name) for (name,) in rows["rack_slots"].labels]
            for row, rack in enumerate(racked, rows["rack_slots"].first):
                below[rack] = nodes[problem.rack == rack].min()
                found[row] = nearest - below[rack]
        at = np.array([index[str(name)] for (name,) in rows["node_slots"].labels], dtype=np.int64)
        first = rows["node_slots"].first
        found[first : first + len(at)] = below[problem.rack[at]] - nodes[at]
        if scale == 0:
            limits = rows["group_limit"]
            last = {name: limits.first + number for number, (name, _) in enumerate(limits.labels)}
            for name, price in zip(problem.group_ids, height[self._toll].tolist(), strict=True):
                if name in last:
                    found[last[name]] = -price
        reduced = whole.objective * scale
        np.subtract.at(reduced, whole.column, whole.value * found[whole.row])
        supply, classes = rows["class_supply"], len(rows["class_supply"].labels)
        own = np.flatnonzero(whole.row < classes)  # the classes come first, each column in one of them
        cheapest = np.full(classes, far)
        np.minimum.at(cheapest, whole.row[own], reduced[whole.column[own]])
        if "cardinality" in rows:
            found[rows["cardinality"].first] = prices.task - nearest
            cheapest = np.minimum(cheapest - (prices.task - nearest), 0)
        found[supply.first : supply.first + classes] = cheapest
        return np.append(scale, found)
