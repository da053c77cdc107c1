"""Finds the optimum of an assignment problem that moves the fewest tasks of a given placement.

An optimum proves which flows of the compact network are optimal: by its potentials an arc carries nothing, or all that
it can, or is free. What is free is a network again, with a reward for each task that stays where it is. Its costs are
0, 1 and -1, however large those of the problem are.
"""

from __future__ import annotations

import numpy as np

from optsched.core.errors import TooLarge
from optsched.core.instance import Ints, Ragged
from optsched.core.placement import NONE
from optsched.problems.assignment import BLOCK, AssignmentProblem, TabledProblem
from optsched.problems.counted_places import Level, Places
from optsched.searches.assignment import network_of
from optsched.searches.program_network import cheapest_flow
from optsched.searches.tabled_assignment import table_prices

__all__ = ["nearest_optimum"]


def nearest_optimum(problem: AssignmentProblem, here: Ints, there: Ints) -> Ints | None:
    """An optimum that places as many tasks as can be as `here` does, up to swaps of tasks of a class.

    Where the problem has further components, it places as many tasks of each pool as `there` does, which keeps them.

    Parameters
    ----------
    problem
        Of a recorded class, placing some tasks.
    here, there
        int64, shape (tasks,): node or -1 of each of `problem.tasks`; two feasible placements.

    Returns
    -------
    int64 array of shape (tasks,), or None
        None where `there` is not optimal, and where the network does not fit into memory.

    Examples
    --------
    Two tasks without data may stay where they are, though an optimum has them elsewhere:

    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0], [], []]))
    >>> problem = Lsap(Instance(Cluster(["a", "b", "c"]), workload))
    >>> nearest_optimum(problem, np.array([0, 1, 2]), np.array([0, 2, 1])).tolist()
    [0, 1, 2]
    """
    of_class, placed = problem.classes().of_task, here != NONE
    width, first = len(problem.capacity), problem.classes().first
    stay, amount = np.unique(of_class[placed] * width + here[placed], return_counts=True)
    try:
        places = _with_pairs(problem, stay, there)
    except TooLarge:
        return None
    if places is None:
        return None
    posed = problem.with_places(places)
    network = network_of(posed, places)
    values = posed.values_of(problem.placement(there), network.program)
    potential = network.proved(values)
    if potential is None:
        return None
    reduced = network.cost - potential[network.tail] + potential[network.head]
    flow = network.flow_of(values)
    least = np.where(reduced < 0, network.capacity, 0)
    most = np.where(reduced > 0, 0, network.capacity)
    if len(problem.components) > 1:
        pools = network.tail == 0
        least[pools] = most[pools] = flow[pools]
    keys = places.on_node.row_of * width + places.on_node.values  # increasing, and those of the first columns
    at = np.minimum(np.searchsorted(keys, stay), max(len(keys) - 1, 0))
    kept = np.flatnonzero(keys[at] == stay) if len(keys) else np.zeros(0, dtype=np.int64)
    stays = at[kept]
    waits = np.arange(len(least))[network.arcs_of("class_supply")]
    waiting = np.bincount(of_class[~placed], minlength=len(first))
    # A task that waits and shall run moves; one that is placed and stays does not, for which a unit is given back.
    arc = np.concatenate([np.arange(len(least)), waits, stays])
    cost = np.repeat([0, 1, -1], [len(least), len(waits), len(stays)])
    room = np.concatenate([most - least, waiting, amount[kept]])
    room[waits] -= waiting
    room[(most <= least)[arc]] = 0
    supply = network.supply.copy()
    np.subtract.at(supply, network.tail, least)
    np.add.at(supply, network.head, least)
    open_ = np.flatnonzero(room > 0)
    arc = arc[open_]
    if len(arc):
        free = cheapest_flow(network.tail[arc], network.head[arc], room[open_], cost[open_], supply, problem.name)
        np.add.at(least, arc, free)
    return problem.nodes_of(posed.decision_of(network.values(least), network.program))


def _with_pairs(problem: AssignmentProblem, pairs: Ints, there: Ints) -> Places | None:
    """The places of the network, and some pairs of a class and a node, given as class * nodes + node.

    Of a table without levels it is only the pairs that some optimum has; None where `there` is no optimum.
    """
    width = len(problem.capacity)
    if isinstance(problem, TabledProblem) and problem.near is None:
        cheapest = _cheapest_pairs(problem, there)
        if cheapest is None:
            return None
        wider: tuple[Level, ...] = ()
        anywhere, units = False, np.zeros(0, dtype=np.int64)
        keys = np.unique(cheapest[0] * width + cheapest[1])
    else:
        places = problem.network_places
        wider, anywhere, units = places.levels[1:], places.anywhere, places.units[len(places.on_node.values) :]
        keys = np.unique(np.append(places.on_node.row_of * width + places.on_node.values, pairs))
    row, node = np.divmod(keys, max(width, 1))
    nodes = Ragged.of_lengths(np.bincount(row, minlength=len(problem.classes().first)), node)
    own = problem.places_at(nodes)
    return Places((*own.levels, *wider), anywhere, np.append(own.units, units))


def _cheapest_pairs(problem: TabledProblem, there: Ints) -> tuple[Ints, Ints] | None:
    """Class and node of the pairs that some optimum has, by the prices of one; None where `there` is none."""
    prices = table_prices(problem, there)
    if prices is None:
        return None
    idle, found = problem.idle_nodes, []
    step = max(1, BLOCK // max(1, len(idle)))
    for begin in range(0, len(problem.class_units), step):
        part = problem.class_units[begin : begin + step] + prices.nodes[idle]
        row, column = np.nonzero(part == part.min(axis=1, keepdims=True))
        found.append((begin + row, idle[column]))
    rows, nodes = (np.concatenate(side) for side in zip(*found, strict=True))
    return rows, nodes
