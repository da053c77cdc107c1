"""`transmission-reduces` as a network, solved by HiGHS on arrays; its potentials become the prices that prove it.

Flow goes from a source to classes of equal reduces, on to pairs of job and node (at most one reduce each), on to nodes,
and by their idle slots to the sink. Reduces that may share a node go to nodes directly. The linear program over a
network is integral, so flows are placements.

Where k reduces are placed, a class needs no more than the k nodes that are cheapest for it: k - 1 others leave it one
of these, which costs no more than any other node. So there are at most k arcs a class, however many nodes there are. A
node that is left free has no price, so that the prices prove the optimum on all nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.core.instance import Bools, Ints
from optsched.core.placement import NONE
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.searches.assignment import dealt, solve_network
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = ["ReduceNetwork", "ReducePrices", "by_arrays", "cheapest_nodes"]


class ReducePrices(NamedTuple):
    """Dual prices in units: of one more reduce, of a slot on each node, of the one place of a job on each node."""

    task: int
    nodes: Ints
    pairs: Ints


class ReduceNetwork:
    """The network of a problem with at least one placed reduce.

    Parameters
    ----------
    problem
        What it is of.

    Attributes
    ----------
    tail, head, capacity, cost
        int64, shape (arcs,): the arcs; costs in units.
    supply
        int64, shape (vertices,).
    """

    def __init__(self, problem: TransmissionReduces) -> None:
        self.problem, self.classes = problem, problem.classes()
        first, width = self.classes.first, len(problem.capacity)
        #: Row (class) and node of each arc that offers a node to a class.
        self.row, self.node = np.nonzero(cheapest_nodes(problem))
        job, limited = problem.job[first[self.row]], problem.limited[first[self.row]]
        #: Pairs of job and node that several reduces could use, as job * nodes + node.
        self.pairs = np.unique((job * width + self.node)[limited])
        self.hosts = np.unique(self.node)
        supplies = 1 + np.arange(len(first))
        pair_vertices = 1 + len(first) + np.arange(len(self.pairs))
        host_vertices = 1 + len(first) + len(self.pairs) + np.arange(len(self.hosts))
        self.sink = 1 + len(first) + len(self.pairs) + len(self.hosts)
        vertex = np.full(width, NONE)
        vertex[self.hosts] = host_vertices
        pair = np.searchsorted(self.pairs, job * width + self.node)
        place = np.where(limited, 1 + len(first) + pair, vertex[self.node])
        self.tail = np.concatenate([np.zeros_like(supplies), 1 + self.row, pair_vertices, host_vertices])
        self.head = np.concatenate(
            [supplies, place, vertex[self.pairs % width], np.full_like(host_vertices, self.sink)]
        )
        # An offer without a limit has one unit more than can ever flow, so that no dual price settles on it.
        free = np.full_like(self.row, problem.count + 1)
        self.capacity = np.concatenate(
            [self.classes.size, free, np.ones_like(self.pairs), problem.capacity[self.hosts]]
        )
        self.cost = np.zeros_like(self.tail)
        self._offers = slice(len(first), len(first) + len(self.row))
        self.cost[self._offers] = problem.units[first[self.row], self.node]
        self.supply = np.zeros(self.sink + 1, dtype=np.int64)
        self.supply[0], self.supply[self.sink] = problem.count, -problem.count

    def decode(self, flow: Ints) -> Ints:
        """Node of each of `problem.tasks` (or -1) from an integral flow; members of a class are interchangeable."""
        sent = flow[self._offers]
        owner, node = np.repeat(self.row, sent), np.repeat(self.node, sent)  # by increasing class
        return dealt(self.classes, owner, node)

    def prices(self, potential: Ints) -> ReducePrices:
        """Prices from potentials with cost - potential[tail] + potential[head] >= 0 on arcs with room."""
        problem, width = self.problem, len(self.problem.capacity)
        fall = np.maximum(potential[self.tail] - potential[self.head], 0)
        first_pair, first_host = self._offers.stop, self._offers.stop + len(self.pairs)
        nodes = np.zeros(width, dtype=np.int64)
        nodes[self.hosts] = fall[first_host:]
        pairs = np.zeros(problem.barred.shape, dtype=np.int64)
        pairs[self.pairs // width, self.pairs % width] = fall[first_pair:first_host]
        return ReducePrices(int(potential[0] - potential[self.sink]), nodes, pairs)


def cheapest_nodes(problem: TransmissionReduces) -> Bools:
    """The nodes that each class needs, shape (classes, nodes): as many as are placed at all, the cheapest of those."""
    first, count = problem.classes().first, problem.count
    offered: Bools = problem.usable[first]
    if count < offered.shape[1]:
        for row, reduce in enumerate(first.tolist()):
            usable = np.flatnonzero(offered[row])
            if len(usable) > count:
                dear = np.argpartition(problem.units[reduce, usable], count - 1)[count:]
                offered[row, usable[dear]] = False
    return offered


def by_arrays(problem: TransmissionReduces, profile: Profile) -> tuple[SolverOutcome, Ints | None, ReducePrices | None]:
    """Solve the linear program: what HiGHS says, the node of each reduce (or -1), and its duals as whole prices."""
    network = ReduceNetwork(problem)
    found = solve_network(network.tail, network.head, network.capacity, network.cost, network.supply, profile)
    nodes = None if found.flow is None else network.decode(found.flow)
    return found.outcome, nodes, None if found.potential is None else network.prices(found.potential)
