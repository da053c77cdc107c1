"""`transmission-reduces` by the network of its program; its potentials become the prices that prove it.

Flow goes from a source to classes of equal reduces, on to pairs of job and node (at most one reduce each), on to nodes,
and by their idle slots to the sink. The linear program over a network is integral, so flows are placements.

Where k reduces are placed, a class needs no more than the k nodes that are cheapest for it: k - 1 others leave it one
of these, which costs no more than any other node. So there are at most k arcs a class, however many nodes there are. A
node that is left free has no price, so that the prices prove the optimum on all nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.core.instance import Bools, Ints
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.searches.program_network import ProgramNetwork
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = ["ReducePrices", "by_arrays", "cheapest_nodes", "posed_network"]


class ReducePrices(NamedTuple):
    """Dual prices in units: of one more reduce, of a slot on each node, of the one place of a job on each node."""

    task: int
    nodes: Ints
    pairs: Ints


def posed_network(problem: TransmissionReduces) -> tuple[TransmissionReduces, ProgramNetwork]:
    """The problem with only the nodes that its reduces need, and the network of its program."""
    places = problem.places_of_table(cheapest_nodes(problem), problem.units[problem.classes().first])
    posed = problem.with_places(places)
    return posed, ProgramNetwork(posed.program(), ("class_supply",), ("node_slots", "one_of_job"), problem.count)


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
    """Solve the network: what its engine says, the node of each reduce (or -1), and its potentials as prices."""
    posed, network = posed_network(problem)
    found = network.solved(profile)
    nodes, prices, program = None, None, network.program
    if found.flow is not None:
        nodes = problem.nodes_of(posed.decision_of(network.values(found.flow), program))
    if found.potential is not None:
        node_prices, pairs = np.zeros_like(problem.capacity), np.zeros(problem.barred.shape, dtype=np.int64)
        hosts = np.unique(posed.places.on_node.values)
        node_prices[hosts] = np.maximum(network.falls(found.potential, "node_slots"), 0)
        jobs, nodes_of_pairs = posed.shared_pairs.T
        pairs[jobs, nodes_of_pairs] = np.maximum(network.falls(found.potential, "one_of_job"), 0)
        task = int(found.potential[0] - found.potential[network.sink])
        prices = ReducePrices(task, node_prices, pairs)
    return found.outcome, nodes, prices
