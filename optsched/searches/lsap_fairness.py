"""The points of `lsap-fairness`: the fairest placement with a limit on the tasks off their data, and its prices.

With the number of placed tasks fixed, a cycle of the network changes the number of tasks of at most two groups, one up
and one down. So only the order of the groups' steps decides what is optimal. The costs of the network are the ranks of
the steps: small integers that no engine rounds, for any weights. For the same reason the prices of an optimal flow
are steps of groups, and differences of steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from optsched.core.deadline import check
from optsched.core.errors import SolverDisagreement
from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.problems.lsap_fairness import LsapFairness
from optsched.searches.assignment import AssignmentSolution, dealt, fill_idle_slots, solve_network, unit_flow
from optsched.solvers.matching import BMatching, maximum_b_matching
from optsched.solvers.profiles import Profile

__all__ = ["CappedNetwork", "DistancePrices", "most_local"]


@dataclass(frozen=True)
class DistancePrices:
    """Prices for `LsapFairness.distance_bound`: of a task off its data, one more task, slots (by node), and groups."""

    locality: Fraction
    task: Fraction
    nodes: Mapping[int, Fraction]
    groups: tuple[Fraction, ...]


def most_local(problem: LsapFairness) -> tuple[Ints, BMatching]:
    """A placement with the fewest tasks off their data, and the matching that proves it."""
    local = problem.idle_replicas
    matching = maximum_b_matching(local.starts, local.values, problem.capacity)
    nodes = matching.node.copy()
    fill_idle_slots(nodes, problem.capacity, problem.count)
    return nodes, matching


class CappedNetwork:
    """The network of `lsap-fairness`: source, groups, classes, nodes that hold their data and "off data", sink.

    An arc from the source to a group stands for a step of the group's distance. Tasks off their data take the slots
    that are left; these always suffice. The capacity of one arc limits how many such tasks there are.

    Attributes
    ----------
    tail, head, cost
        int64, shape (arcs,): the arcs; costs are ranks of steps.
    supply
        int64, shape (vertices,).
    values
        The steps, increasing: what each rank stands for.
    """

    def __init__(self, problem: LsapFairness) -> None:
        self.problem = problem
        check()
        self.classes = problem.classes()
        check()
        self.local = problem.idle_replicas.take(self.classes.first)
        self.hosts = np.unique(self.local.values)
        groups, classes = len(problem.groups.ids), len(self.classes.size)
        self.first_class = 1 + groups
        self.first_host = self.first_class + classes
        self.off_data = self.first_host + len(self.hosts)
        self.sink = self.off_data + 1
        self.values = sorted({step for steps in problem.steps for step, _ in steps})
        rank = {step: position for position, step in enumerate(self.values)}
        tiers = [(1 + group, size, rank[step]) for group, steps in enumerate(problem.steps) for step, size in steps]
        tier_head, tier_size, tier_rank = np.array(tiers, dtype=np.int64).reshape(-1, 3).T
        vertices = np.arange(self.sink + 1)
        every_class = vertices[self.first_class : self.first_host]
        ends = vertices[self.first_host : self.sink]
        parts = (
            (np.zeros_like(tier_head), tier_head, tier_size),
            (1 + problem.pool[self.classes.first], every_class, self.classes.size),
            (
                self.first_class + self.local.row_of,
                self.first_host + np.searchsorted(self.hosts, self.local.values),
                np.full(len(self.local.values), problem.count),
            ),
            (every_class, np.full(classes, self.off_data), np.full(classes, problem.count)),
            (ends, np.full(len(ends), self.sink), np.append(problem.capacity[self.hosts], 0)),
        )
        self.tail, self.head, self._capacity = (np.concatenate(column) for column in zip(*parts, strict=True))
        self.cost = np.zeros_like(self.tail)
        self.cost[: len(tier_rank)] = tier_rank
        self.supply = np.zeros(self.sink + 1, dtype=np.int64)
        self.supply[0], self.supply[self.sink] = problem.count, -problem.count

    def capacity(self, off_data: int) -> Ints:
        """Capacities of the arcs with at most `off_data` tasks off their data; int64, shape (arcs,)."""
        capacity = self._capacity.copy()
        capacity[-1] = off_data
        return capacity

    def fairest(self, off_data: int, profile: Profile, engine: str = "flows") -> AssignmentSolution:
        """The placement of least fairness distance with at most `off_data` tasks off their data. One must exist.

        `engine` is `flows` (maximum flows, step after step), `arrays` (HiGHS) or `network-simplex` (networkx, for small
        instances and for agreement).
        """
        if engine == "flows":
            solver = {"name": "SciPy maximum_flow", "version": scipy.__version__}
            return AssignmentSolution(self.decode(self._greedy_flow(off_data)), "no step is smaller", solver=solver)
        found = solve_network(self.tail, self.head, self.capacity(off_data), self.cost, self.supply, profile, engine)
        return found.answer(None if found.flow is None else self.decode(found.flow))

    def _greedy_flow(self, off_data: int) -> Ints:
        """The flow on each arc that takes as much as it can of the smallest step first (without steps that stay 0).

        The sets of tasks that can be placed at once, with this limit off their data, are the independent sets of a
        transversal matroid, and steps increase within a group. So the greedy choice is optimal: what a maximum flow
        takes of one step in addition to all smaller ones never has to be given back.

        """
        groups = self.first_class - 1
        inner = np.flatnonzero(self.tail > 0)
        tail = np.concatenate([np.zeros(groups, dtype=np.int64), self.tail[inner]])
        head = np.concatenate([np.arange(1, 1 + groups), self.head[inner]])
        order = np.lexsort((head, tail))
        limit = np.concatenate([np.zeros(groups, dtype=np.int64), self.capacity(off_data)[inner]])[order]
        # Arcs of the source come first, one a group, in the order of groups.
        starts = np.searchsorted(tail[order], np.arange(self.sink + 2))
        parts = (limit.astype(np.int32), head[order].astype(np.int32), starts.astype(np.int32))
        network = sp.csr_array(parts, shape=(self.sink + 1, self.sink + 1))
        steps = sorted(
            (step, group, size) for group, steps in enumerate(self.problem.steps) for step, size in steps if size
        )
        total = 0
        for _, group, size in steps:
            check()
            taken = int(network.data[group])
            network.data[group] = taken + min(size, self.problem.count - total)
            if network.data[group] > taken:
                reached = int(maximum_flow(network, 0, self.sink).flow_value)
                network.data[group] = taken + reached - total
                total = reached
        found = maximum_flow(network, 0, self.sink)  # each group has just what it takes, so none takes from another
        if found.flow_value != self.problem.count:
            message = f"SciPy places {found.flow_value} of {self.problem.count} tasks"
            raise SolverDisagreement(f"{self.problem.name}: {message}")
        flow = np.zeros(len(self.tail), dtype=np.int64)
        flow[inner] = np.asarray(found.flow[self.tail[inner], self.head[inner]]).ravel()
        return flow

    def decode(self, flow: Ints) -> Ints:
        """Node of each of `problem.tasks` (or -1) from an integral flow; members of a class are interchangeable."""
        capacity = self.problem.capacity
        offers = (self.tail >= self.first_class) & (self.tail < self.first_host)
        owner = np.repeat(self.tail[offers] - self.first_class, flow[offers])
        end = np.repeat(self.head[offers], flow[offers])
        target = np.append(self.hosts, NONE)[end - self.first_host]
        left = capacity - np.bincount(target[target != NONE], minlength=len(capacity))
        elsewhere = np.flatnonzero(target == NONE)
        target[elsewhere] = np.repeat(np.arange(len(capacity)), left)[: len(elsewhere)]
        return dealt(self.classes, owner, target)

    def prices(self, placement: Placement, off_data: int) -> DistancePrices:
        """Prices that prove a placement the fairest with at most `off_data` tasks off their data, if it is.

        The level of a vertex of the residual network is the largest step that one more task there would save, by moving
        tasks along until a task of some group is left out. The level never rises along an arc with room. A price is the
        rise of the level along an arc without room. There is one pass over the arcs for each distinct step.
        """
        problem = self.problem
        nodes = problem.nodes_of(placement)
        placed = np.flatnonzero(nodes != NONE)
        owner = self.first_class + self.classes.of_task[placed]
        at_data = problem.locality(placed, nodes[placed]) == 0
        end = np.where(at_data, self.first_host + np.searchsorted(self.hosts, nodes[placed]), self.off_data)
        flow = unit_flow(
            self.tail,
            self.head,
            np.concatenate([1 + problem.pool[placed], owner, end]),
            np.concatenate([owner, end, np.full_like(end, self.sink)]),
        )
        steps = self._last_steps(problem.placed_by_group(placement))
        lowest = self.values[0]
        level = [lowest] * (self.sink + 1)
        inner = self.tail > 0
        onwards, back = inner & (flow < self.capacity(off_data)), inner & (flow > 0)
        # The arcs are reversed, so that a search from a group finds all vertices from which it can be reached.
        start = np.concatenate([self.head[onwards], self.tail[back]])
        target = np.concatenate([self.tail[onwards], self.head[back]])
        for step in sorted(set(steps.values())):
            check()
            groups = [1 + group for group, last in steps.items() if last == step]
            rows, columns = np.append(start, [0] * len(groups)), np.append(target, groups)
            residual = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(level), len(level)))
            for vertex in breadth_first_order(residual, 0, return_predecessors=False).tolist():
                level[vertex] = step
        task = level[self.sink]
        rises = {host: task - level[self.first_host + position] for position, host in enumerate(self.hosts.tolist())}
        return DistancePrices(
            max(Fraction(0), task - level[self.off_data]),
            task,
            {host: rise for host, rise in rises.items() if rise > 0},
            tuple(level[1 : self.first_class]),
        )

    def _last_steps(self, placed: list[int]) -> dict[int, Fraction]:
        """For each group with placed tasks, what the last of them added."""
        last = {}
        for group, (number, steps) in enumerate(zip(placed, self.problem.steps, strict=True)):
            for step, size in steps:
                if number > 0:
                    last[group] = step
                number -= size
        return last
