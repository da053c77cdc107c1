"""The stages of `transmission` by themselves: maps given the reduces, reduces given the maps, or reduces by first fit.

Each is an assignment problem. Its prices are the basis of the search's bounds, as `solvers.searches.transmission`
explains. Reduces are those of `transmission-reduces`, by the network of its program. Flow goes from a source to classes
of equal reduces, on to pairs of job and node (at most one reduce each), on to nodes, and by their idle slots to the
sink. The linear program over a network is integral, so flows are placements, and potentials are the prices that prove
them.

If k reduces are placed, a class needs no more than its k cheapest nodes: k - 1 others leave it one of these, which
costs no more than any other node. So there are at most k arcs per class, however many nodes there are. A node that is
left free has no price, so the prices prove the optimum on all nodes.
"""

from __future__ import annotations

import copy
from collections import deque
from typing import NamedTuple

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import LARGEST, Bools, Floats, Ints
from optsched.core.placement import NONE
from optsched.problems.transmission_bounds import ReduceBounds
from optsched.problems.transmission_reduces import ReduceSlots, TransmissionReduces
from optsched.solvers.answers import SolverOutcome
from optsched.solvers.profiles import Profile
from optsched.solvers.searches import tabled_assignment
from optsched.solvers.searches.program_network import ProgramNetwork


def cheapest_rows(costs: Ints, room: Ints) -> Ints:
    """The row of each map (column) in an assignment of least cost, with at most each row's room.

    >>> cheapest_rows(np.array([[1, 2, 3], [5, 9, 4]]), np.array([1, 2])).tolist()
    [1, 0, 1]
    """
    best: Ints = costs.argmin(axis=0)
    if (np.bincount(best, minlength=len(room)) <= room).all():
        return best
    from scipy.optimize import linear_sum_assignment  # its import takes long

    slots = np.repeat(np.arange(len(room)), room)
    rows, columns = linear_sum_assignment(costs.T[:, slots])
    best[rows] = slots[columns]
    return best


def slot_prices(costs: Ints, room: Ints, rows: Ints) -> Ints:
    """Prices of the rows' slots that prove an assignment of least cost: every map is where it pays least."""
    if not len(rows):
        return np.zeros_like(room)
    spare = np.bincount(rows, minlength=len(room)) < room
    found = tabled_assignment.slot_prices(costs.T, np.arange(len(rows)), rows, spare, np.zeros(0, dtype=np.int64))
    assert found is not None  # the assignment costs least
    return found[1]


def stepped_prices(costs: Ints, room: Ints, prices: Ints, missing: float) -> Ints:
    """Prices after one subgradient step (Polyak's step length).

    Prices rise on rows where the maps would use more slots than there are, and fall where they use fewer. If the bound
    were linear in the prices, the step would raise it by `missing`.
    """
    used = np.bincount((costs + prices[:, None]).argmin(axis=0), minlength=len(room))
    rising = np.where((prices <= 0) & (used < room), 0, used - room)
    length = int((rising * rising).sum())
    moved: Ints = np.clip(prices + missing / max(length, 1) * rising, 0, LARGEST).astype(np.int64)
    return moved


def cheapest_reduces(bounds: ReduceBounds, table: Ints, profile: Profile) -> Ints | None:
    """The reduces' choices of least cost by a table of their costs; None if a limit came first.

    It is the problem `transmission-reduces` with other costs: `table`, shape (reduces, nodes + 1), at least 0. Its last
    column, of being left out, is not read.
    """
    problem = bounds.problem
    if not problem.reduce_count:
        return np.full(len(problem.reduces), bounds.nowhere)
    posed = copy.copy(TransmissionReduces(problem.instance, distinct=problem.parameters["distinct"]))
    posed.units = np.ascontiguousarray(table[:, : bounds.nowhere])
    limits = Profile("start", time_limit=profile.time_limit, random_seed=profile.random_seed)
    nodes = by_arrays(posed, limits)[1]
    return None if nodes is None else np.where(nodes == NONE, bounds.nowhere, nodes)


# Reduces by a network -------------------------------------------------------------------------------------------------


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
    """The nodes that each class needs, shape (classes, nodes): its cheapest, as many as reduces are placed."""
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
    """Solve the network: its engine's outcome, the node of each reduce (or -1), and its potentials as prices."""
    posed, network = posed_network(problem)
    found = network.solved(profile)
    nodes, prices = None, None
    if found.flow is not None:
        nodes = problem.nodes_of(posed.decision_of(network.values(found.flow), network.program))
    if found.potential is not None:
        node_prices, pairs = np.zeros_like(problem.capacity), np.zeros(problem.barred.shape, dtype=np.int64)
        hosts = np.unique(posed.places.on_node.values)
        node_prices[hosts] = np.maximum(network.falls(found.potential, "node_slots"), 0)
        pairs[tuple(posed.shared_pairs.T)] = np.maximum(network.falls(found.potential, "one_of_job"), 0)
        task = int(found.potential[0] - found.potential[network.sink])
        prices = ReducePrices(task, node_prices, pairs)
    return found.outcome, nodes, prices


# Reduces by first fit -------------------------------------------------------------------------------------------------


def first_fit(slots: ReduceSlots, order: Ints, preference: Floats) -> Ints:
    """Each reduce on its preferred node among those that are free and not barred to it.

    `slots`: where reduces may run. `order`: positions of the reduces, in the order in which they choose. `preference`:
    shape (reduces, nodes): the least is preferred, of equal ones the first.

    Returns int64, shape (reduces,): node or -1. A reduce that finds no node moves others away, if that makes room
    (`filled`).

    Examples
    --------
    One slot on n1, two on n2; job 0 has one reduce and job 1 two, which must not share a node:

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(["R1", "R2", "R3"], kind=[1, 1, 1], job=[0, 1, 1], job_ids=["J1", "J2"])
    >>> instance = Instance(Cluster(["n1", "n2"], reduce_slots=[1, 2]), workload)
    >>> slots = ReduceSlots(instance, np.arange(3), distinct=True)
    >>> first_fit(slots, np.arange(3), np.zeros((3, 2))).tolist()
    [1, 1, 0]
    """
    free, barred = slots.capacity.copy(), slots.barred.copy()
    nodes = np.full(len(slots.reduces), NONE, dtype=np.int64)
    for reduce in order.tolist():
        check()
        open_to = (free > 0) & ~barred[slots.job[reduce]]
        if open_to.any():
            node = int(np.where(open_to, preference[reduce], np.inf).argmin())
            nodes[reduce] = node
            free[node] -= 1
            barred[slots.job[reduce], node] |= slots.limited[reduce]
    return filled(slots, nodes)


def filled(slots: ReduceSlots, nodes: Ints) -> Ints:
    """The most reduces placed that fit: the remaining ones go in along the shortest chains of moves.

    A chain gives a waiting reduce a place that another one leaves for the next. Reduces of a job are alike here, so
    chains are searched from job to node to job.

    `slots`, `nodes`: where reduces may run, and a feasible node or -1 for each.
    """
    nodes = nodes.copy()
    used = np.bincount(nodes[nodes != NONE], minlength=len(slots.capacity))
    waiting = [int(reduce) for reduce in np.flatnonzero(nodes == NONE)]
    while waiting and int(used.sum()) < slots.count:
        check()
        chain = _chain(slots, nodes, used, waiting)
        used[chain[-1][1]] += 1
        for reduce, node in chain:
            nodes[reduce] = node
        waiting.remove(chain[0][0])
    return nodes


def _chain(slots: ReduceSlots, nodes: Ints, used: Ints, waiting: list[int]) -> list[tuple[int, int]]:
    """The moves (reduce, its new node): first of a waiting reduce, last to a node with a free slot."""
    before: dict[int, int] = {}  # for each reached node, the reduce that would move there
    asked: set[int] = set()  # jobs
    queue = deque(waiting)
    while queue:
        reduce = queue.popleft()
        job = int(slots.job[reduce])
        if job in asked:
            continue
        asked.add(job)
        reachable = slots.usable[reduce].copy()
        if slots.limited[reduce]:
            here = nodes[slots.job == job]
            reachable[here[here != NONE]] = False
        for node in np.flatnonzero(reachable).tolist():
            if node in before:
                continue
            before[node] = reduce
            if used[node] < slots.capacity[node]:
                chain = [(reduce, node)]
                while nodes[chain[0][0]] != NONE:
                    left = int(nodes[chain[0][0]])
                    chain.insert(0, (before[left], left))
                return chain
            queue.extend(np.flatnonzero(nodes == node).tolist())
    raise AssertionError("the slots hold no more reduces than are placed")  # `slots.count` says they do
