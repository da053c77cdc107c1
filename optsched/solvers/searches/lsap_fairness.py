"""The points of `lsap-fairness`: the fairest placement with a limit on the tasks off their data, and its prices.

With the number of placed tasks fixed, a cycle of the network changes the number of tasks of at most two groups, one up
and one down. So only the order of the groups' steps decides what is optimal. The costs of the network are the ranks of
the steps: small integers that no engine rounds, for any weights. For the same reason the prices of an optimal flow are
steps of groups, and differences of steps.
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
from optsched.core.placement import Placement
from optsched.problems.lsap_fairness import LsapFairness
from optsched.solvers.matching import BMatching, maximum_b_matching
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.assignment import AssignmentSolution, fill_idle_slots
from optsched.solvers.searches.program_network import ProgramNetwork


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
    """The network of `lsap-fairness` with at most `off_data` tasks off their data, with ranks as costs of steps.

    Tasks off their data take the remaining slots; these always suffice.

    `values`: the steps, increasing; ranks are positions in it.
    """

    def __init__(self, problem: LsapFairness, off_data: int) -> None:
        self.problem = problem
        program, self.values = problem.ranked(off_data)
        supplies = ("group_steps", "class_supply")
        self.network = ProgramNetwork(program, supplies, ("locality_limit", "node_slots"), problem.count)
        groups = next(family for family in program.rows if family.name == "group_steps")
        first, index = self.network.vertices["group_steps"], {name: at for at, name in enumerate(problem.groups.ids)}
        #: The vertex of each group that has tasks.
        self._group = {index[name]: first + at for at, (name,) in enumerate(groups.labels)}

    def fairest(self, profile: Profile, engine: str = "flows") -> AssignmentSolution:
        """The placement of least fairness distance within the limit on tasks off their data. One must exist.

        `engine` is `flows` (maximum flows, step after step), `arrays` (HiGHS) or `network-simplex` (networkx, for small
        instances and for comparison).
        """
        if engine == "flows":
            solver = {"name": "SciPy maximum_flow", "version": scipy.__version__}
            return AssignmentSolution(self._decoded(self._greedy_flow()), "no step is smaller", solver=solver)
        found = self.network.solved(profile, engine)
        return AssignmentSolution.of(found, None if found.flow is None else self._decoded(found.flow), None, 0.0)

    def _decoded(self, flow: Ints) -> Ints:
        values, program = self.network.values(flow), self.network.program
        return self.problem.nodes_of(self.problem.decision_of(values, program))

    def _greedy_flow(self) -> Ints:
        """The flow on each arc that uses the smallest step first, as much as possible (without steps that stay 0).

        The sets of tasks that can be placed together, with this limit off their data, are the independent sets of a
        transversal matroid, and steps increase within a group. So the greedy choice is optimal: what a maximum
        flow adds for one step, after all smaller ones, is never given back.
        """
        whole = self.network
        inner, groups = np.flatnonzero(whole.tail > 0), np.array(list(self._group.values()), dtype=np.int64)
        tail = np.concatenate([np.zeros(len(groups), dtype=np.int64), whole.tail[inner]])
        head = np.concatenate([groups, whole.head[inner]])
        order = np.lexsort((head, tail))
        limit = np.concatenate([np.zeros(len(groups), dtype=np.int64), whole.capacity[inner]])[order]
        # Arcs of the source come first, one per group, in the order of their vertices.
        starts = np.searchsorted(tail[order], np.arange(whole.sink + 2))
        parts = (limit.astype(np.int32), head[order].astype(np.int32), starts.astype(np.int32))
        network = sp.csr_array(parts, shape=(whole.sink + 1, whole.sink + 1))
        place = {group: at for at, group in enumerate(self._group)}
        steps = sorted(
            (step, place[group], size) for group, steps in enumerate(self.problem.steps) for step, size in steps if size
        )
        total = 0
        for _, group, size in steps:
            check()
            taken = int(network.data[group])
            network.data[group] = taken + min(size, self.problem.count - total)
            if network.data[group] > taken:
                reached = int(maximum_flow(network, 0, whole.sink).flow_value)
                network.data[group] = taken + reached - total
                total = reached
        found = maximum_flow(network, 0, whole.sink)  # each group has exactly its amount, so none takes from another
        if found.flow_value != self.problem.count:
            message = f"SciPy places {found.flow_value} of {self.problem.count} tasks"
            raise SolverDisagreement(f"{self.problem.name}: {message}")
        flow = np.zeros(len(whole.tail), dtype=np.int64)
        flow[inner] = np.asarray(found.flow[whole.tail[inner], whole.head[inner]]).ravel()
        return flow

    def prices(self, placement: Placement) -> DistancePrices:
        """Prices that prove a placement the fairest within the limit on tasks off their data, if it is.

        The level of a vertex of the residual network is the largest step that one more task there would save, by moving
        tasks along until a task of some group is left out. The level never rises along an arc with room. A price is the
        rise of the level along an arc without room. There is one pass over the arcs for each distinct step.
        """
        problem, whole = self.problem, self.network
        flow = whole.flow_of(problem.values_of(placement, whole.program))
        steps = {}  # for each group with placed tasks, what the last of them added
        for group, (number, held) in enumerate(zip(problem.placed_by_group(placement), problem.steps, strict=True)):
            for step, size in held:
                if number > 0:
                    steps[group] = step
                number -= size
        lowest = self.values[0]
        level = [lowest] * (whole.sink + 1)
        inner = whole.tail > 0
        onwards, back = inner & (flow < whole.capacity), inner & (flow > 0)
        # The arcs are reversed, so that a search from a group finds all vertices from which it can be reached.
        start = np.concatenate([whole.head[onwards], whole.tail[back]])
        target = np.concatenate([whole.tail[onwards], whole.head[back]])
        for step in sorted(set(steps.values())):
            check()
            groups = [self._group[group] for group, last in steps.items() if last == step]
            rows, columns = np.append(start, [0] * len(groups)), np.append(target, groups)
            residual = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(level), len(level)))
            for vertex in breadth_first_order(residual, 0, return_predecessors=False).tolist():
                level[vertex] = step
        task, first = level[whole.sink], whole.vertices["node_slots"]
        hosts = np.unique(problem.places.on_node.values).tolist()
        rises = {host: task - level[first + position] for position, host in enumerate(hosts)}
        return DistancePrices(
            max(Fraction(0), task - level[whole.vertices["locality_limit"]]),
            task,
            {host: rise for host, rise in rises.items() if rise > 0},
            tuple(level[self._group[group]] if group in self._group else lowest for group in range(len(problem.steps))),
        )
