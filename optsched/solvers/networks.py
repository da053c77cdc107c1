"""Flows of least cost in networks, on arrays, with whole potentials that prove them.

`min_cost_flow` has a network simplex, cost scaling and networkx. The loops are those of `kernels`. No function uses
HiGHS.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.core.errors import SolverDisagreement, UsageError
from optsched.core.network import negative_cycle
from optsched.core.processes.limits import refuse_beyond
from optsched.solvers.compiled import compiler, compiles, ready

Ints = npt.NDArray[np.int64]

#: A capacity that does not limit an arc.
UNBOUNDED = int(np.iinfo(np.int64).max)

#: Measured bytes per arc of the compiled network simplex, and of networkx, which has a Python dictionary each.
_BYTES_COMPILED, _BYTES_IN_PYTHON = 130, 1_000

EXACT = 2**53  # doubles represent every integer up to here

_MOST_FLOW = 2**61  # smaller flows fit into int64, and so do sums of two

#: With fewer arcs, other engines finish before numba and the kernels are loaded.
FEW_ARCS = 20_000

#: Pivots between two checks of the deadline: milliseconds, a tenth of a second on the largest networks and tables.
PIVOTS = 2000

#: The fewest arcs of a block of pricing.
_LEAST_BLOCK = 20

#: Extra arcs of a block per node that a pivot visits on average, so that pricing pays off if pivots are expensive.
_PACE = 1

#: The factor by which the tolerance falls from round to round.
_FACTOR = 16

#: Arcs examined between two checks of the deadline: milliseconds. One pass over all arcs takes a tenth of a second for
#: a million of them.
_STEPS = 200_000

#: An update of prices distinguishes distances up to this many times the number of nodes.
_DISTANCES = 4

#: The lowest price; int64 then has room for every sum.
_LOWEST = -(2**61)


def largest_of(cost: Ints) -> int:
    """Largest absolute value, 0 for none; a Python integer, since the least int64 has no absolute value in int64."""
    return max(abs(int(cost.max())), abs(int(cost.min()))) if cost.size else 0


class FlowStatus(enum.StrEnum):
    """How a minimum-cost flow ended. UNBOUNDED: a cycle of negative cost and no capacity."""

    OPTIMAL = "OPTIMAL"
    INFEASIBLE = "INFEASIBLE"
    UNBOUNDED = "UNBOUNDED"


@dataclass(frozen=True, eq=False, slots=True)
class CheapestFlow:
    """A flow of least cost and the potentials that prove it; both None unless `status` is OPTIMAL.

    Both are int64, of shapes (arcs,) and (nodes,). `cost + potential[tail] - potential[head]` is at least 0 on each arc
    with flow below its capacity, and at most 0 on each with flow above its lower limit. `solver` is empty if no engine
    ran.
    """

    status: FlowStatus
    flow: Ints | None = None
    potential: Ints | None = None
    solver: dict[str, str] = field(default_factory=dict)


def min_cost_flow(
    tail: Ints, head: Ints, lower: Ints, capacity: Ints, cost: Ints, supply: Ints, scaling: bool = False
) -> CheapestFlow:
    """Find a flow of least cost that takes each node's supply out of it; parallel arcs and loops are kept.

    All are int64: for each arc its nodes, the limits of its flow (`UNBOUNDED` is none), and cost per unit of any sign;
    for each node what it sends (negative: receives). `scaling` says whether cost scaling is tried first. It is the
    faster engine except for networks with few sources and nearly equal costs, such as those of assignments.

    Notes
    -----
    `cost_scaling` if `scaling` is set and its sums fit into int64; else `network_simplex`, compiled, if
    `simplex_compiled` says so; else the network simplex of networkx, in pure Python: seconds for 10,000 arcs. Its
    potentials are shortest distances in the residual network. Cycles of negative cost without a limit are searched
    first, since networkx may never end with one.

    UsageError if an arc names no node, or potentials might exceed 2^53.

    Examples
    --------
    Two units from node 0 to node 1, over two parallel arcs; the cheaper one carries one:

    >>> result = min_cost_flow(
    ...     tail=np.array([0, 0]), head=np.array([1, 1]), lower=np.array([0, 0]), capacity=np.array([1, UNBOUNDED]),
    ...     cost=np.array([2, 7]), supply=np.array([2, -2]))
    >>> result.flow.tolist(), (result.potential[1] - result.potential[0]).tolist()
    ([1, 1], 7)
    """
    nodes, arcs = len(supply), len(tail)
    if arcs and (min(tail.min(), head.min()) < 0 or max(tail.max(), head.max()) >= nodes):
        raise UsageError(f"an arc joins two of the nodes 0 to {nodes - 1}; one has an end outside them")
    largest = largest_of(cost)
    if (nodes + 1) * largest >= EXACT:
        raise UsageError(f"potentials of {nodes} nodes with costs up to {largest} might pass 2^53: scale the costs")
    if (lower > capacity).any():
        return CheapestFlow(FlowStatus.INFEASIBLE)
    limits = float(capacity[capacity != UNBOUNDED].sum(dtype=np.float64))
    most = limits + float(lower.sum(dtype=np.float64)) + float(np.abs(supply).sum(dtype=np.float64))
    fits = most < _MOST_FLOW and int(supply.sum()) == 0  # supplies, plus cycles through arcs with a limit
    # Only the flow above the lower limits is left to decide.
    left, room = supply.copy(), np.where(capacity == UNBOUNDED, UNBOUNDED, capacity - lower)
    np.subtract.at(left, tail, lower)
    np.add.at(left, head, lower)
    asked = tail, head, room, cost, left
    found = _by_kernels(*asked, scaling) if (scaling or simplex_compiled(arcs)) and fits else None
    found = _by_networkx(*asked) if found is None else found
    return replace(found, flow=None if found.flow is None else lower + found.flow)


def simplex_compiled(arcs: int) -> bool:
    """Whether `min_cost_flow` uses the compiled network simplex: there are many arcs, and kernels compile."""
    return arcs >= FEW_ARCS and compiles()


def bytes_an_arc(arcs: int) -> int:
    """About how many bytes `min_cost_flow` takes per arc, for this number of arcs."""
    return _BYTES_COMPILED if simplex_compiled(arcs) else _BYTES_IN_PYTHON


def _by_kernels(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints, scaling: bool) -> CheapestFlow | None:
    """Solve by loops on arrays; None if networkx must do it."""
    found, name = None, "cost scaling"
    if scaling and scales(len(supply), capacity, cost, supply):
        found = cost_scaling(tail, head, capacity, cost, supply)
    if found is None:
        if not simplex_compiled(len(tail)):
            return None
        found, name = network_simplex(tail, head, capacity, cost, supply), "network simplex"
        if found.status is FlowStatus.UNBOUNDED:  # it does not know whether a flow is feasible
            feasible = network_simplex(tail, head, capacity, np.zeros_like(cost), supply)
            found = found if feasible.flow is not None else feasible
    return replace(found, solver=compiler(name))


def _by_networkx(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints) -> CheapestFlow:
    """Solve by the network simplex of networkx, with potentials of its flow."""
    solver = {"name": "networkx network_simplex", "version": version("networkx")}
    free = np.flatnonzero(capacity == UNBOUNDED)
    unbounded = bool(negative_cycle(tail[free], head[free], cost[free], len(supply)))  # it may follow it for ever
    flow = _network_simplex(tail, head, capacity, np.zeros_like(cost) if unbounded else cost, supply)
    if flow is None:
        return CheapestFlow(FlowStatus.INFEASIBLE, solver=solver)
    if unbounded:
        return CheapestFlow(FlowStatus.UNBOUNDED, solver=solver)
    potential = residual_potentials(tail, head, np.zeros_like(flow), capacity, cost, flow, len(supply))
    if potential is None:
        raise SolverDisagreement("the flow that networkx found is not of least cost: its residual network has a cycle")
    return CheapestFlow(FlowStatus.OPTIMAL, flow, potential, solver)


def _network_simplex(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints) -> Ints | None:
    """A flow of least cost by networkx; None if no flow is feasible."""
    import networkx as nx

    if not len(supply):
        return np.zeros_like(tail)
    what = f"the network simplex of networkx would have {len(tail):,} arcs as Python objects"
    refuse_beyond(len(tail) * _BYTES_IN_PYTHON, what, 'use route "arrays"')
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from((node, {"demand": -amount}) for node, amount in enumerate(supply.tolist()))
    # An arc without a limit gets one that no flow needs, since networkx treats some large flows as unlimited.
    ample = 1 + _most(capacity, supply)
    ends = list(zip(tail.tolist(), head.tolist(), strict=True))
    for arc, ((i, j), most, price) in enumerate(zip(ends, capacity.tolist(), cost.tolist(), strict=True)):
        graph.add_edge(i, j, key=arc, weight=price, capacity=ample if most == UNBOUNDED else most)
    try:
        _, flows = nx.network_simplex(graph)
    except nx.NetworkXUnfeasible:
        return None
    return np.array([flows[i][j][arc] for arc, (i, j) in enumerate(ends)], dtype=np.int64)


def _residual(
    tail: Ints, head: Ints, lower: Ints, capacity: Ints, cost: Ints, flow: Ints
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """The residual arcs of a flow: number of the arc, ends, cost, and the most by which its flow may change."""
    onwards, back = np.flatnonzero(flow < capacity), np.flatnonzero(flow > lower)
    return (
        np.concatenate([onwards, back]),
        np.concatenate([tail[onwards], head[back]]),
        np.concatenate([head[onwards], tail[back]]),
        np.concatenate([cost[onwards], -cost[back]]),
        np.concatenate([capacity[onwards] - flow[onwards], lower[back] - flow[back]]),
    )


def residual_potentials(
    tail: Ints, head: Ints, lower: Ints, capacity: Ints, cost: Ints, flow: Ints, nodes: int
) -> Ints | None:
    """Shortest distances in a flow's residual network, from a vertex that is joined to all nodes at no cost.

    None if it has a cycle of negative cost, that is, if the flow is not of least cost. They are exact integers
    (Bellman-Ford), with at most one pass over the arcs for each node. Parameters are as for `min_cost_flow`.
    """
    _, start, end, length, _ = _residual(tail, head, lower, capacity, cost, flow)
    distance = np.zeros(nodes, dtype=np.int64)
    for _ in range(nodes + 1):
        check()
        nearer = distance.copy()
        np.minimum.at(nearer, end, distance[start] + length)
        if np.array_equal(nearer, distance):
            return distance
        distance = nearer
    return None


def cheapened(tail: Ints, head: Ints, lower: Ints, capacity: Ints, cost: Ints, flow: Ints, nodes: int) -> Ints:
    """A flow of least cost from one that is nearly so, as a solver's may be if costs are large.

    As long as the residual network has a cycle of negative cost, as much as fits is sent round it. No such cycle may be
    without a limit. Parameters are as for `min_cost_flow`. OutOfTime if a deadline passes.
    """
    flow = flow.copy()
    while True:
        check()
        arc, start, end, length, left = _residual(tail, head, lower, capacity, cost, flow)
        cycle = np.array(negative_cycle(start, end, length, nodes), dtype=np.int64)
        if not len(cycle):
            return flow
        flow[arc[cycle]] += np.sign(left[cycle]) * np.abs(left[cycle]).min()


# Network simplex -----------------------------------------------------------------------------------------------------


def network_simplex(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints) -> CheapestFlow:
    """Find a flow of least cost that takes each node's supply out of it; OutOfTime at a deadline.

    Parameters are as for `min_cost_flow`, without lower limits. (nodes + 1) times the largest cost must be below 2^60;
    finite capacities and supplies must sum to less than 2^62; supplies must sum to 0.
    """
    from optsched.solvers.kernels import ARC, ENDLESS, IN, OUT, list_pivots

    nodes, arcs = len(supply), len(tail)
    largest = int(np.abs(cost).max(initial=0))
    tree, potential = first_tree(supply >= 0, np.abs(supply), (nodes + 1) * (largest + 1))
    order = _mixed(arcs)
    ends = tail[order].astype(np.int32), head[order].astype(np.int32)
    state, place = np.ones(arcs, dtype=np.int8), np.zeros(2, dtype=np.int64)
    columns = *ends, cost[order], capacity[order], state, place, max(_LEAST_BLOCK, int(arcs**0.5)), _PACE
    ready(list_pivots, tree, potential, *columns, PIVOTS)
    end = until_done(lambda: list_pivots(tree, potential, *columns, PIVOTS))
    if end == ENDLESS:
        return CheapestFlow(FlowStatus.UNBOUNDED)
    flow = np.where(state < 0, capacity[order], 0)
    arc, number = tree[:nodes, ARC], np.arange(nodes)
    listed = arc >= 0
    outwards = (
        np.where(listed, ends[0][np.maximum(arc, 0)] if arcs else -1, np.where(supply >= 0, number, -1)) == number
    )
    in_tree = np.where(outwards, tree[:nodes, IN], tree[:nodes, OUT])
    if in_tree[~listed].any():
        return CheapestFlow(FlowStatus.INFEASIBLE)
    flow[arc[listed]] = in_tree[listed]
    by_arc = np.empty_like(flow)
    by_arc[order] = flow
    return CheapestFlow(FlowStatus.OPTIMAL, by_arc, closer(potential, largest)[:nodes])


def first_tree(sends: npt.NDArray[np.bool_], amount: Ints, dear: int, spare: bool = False) -> tuple[Ints, Ints]:
    """The tree in which an arc without limit joins each node to the root, and the potentials.

    A node sends its amount to the root, or receives it (both of shape (nodes,)). Such an arc costs `dear`, more than
    any path of others: those from the root or, with `spare`, those to it.
    """
    from optsched.solvers.kernels import ARC, BEFORE, COLUMNS, IN, LAST, OUT, PARENT, SIZE, THREAD

    nodes = len(amount)
    tree = np.zeros((nodes + 1, COLUMNS), dtype=np.int64)
    number = np.arange(nodes + 1)
    tree[:, THREAD], tree[:, BEFORE] = np.roll(number, -1), np.roll(number, 1)
    tree[:, ARC], tree[:, PARENT], tree[:, SIZE], tree[:, LAST] = -2 - number, nodes, 1, number
    tree[:nodes, OUT], tree[:nodes, IN] = np.where(sends, UNBOUNDED, amount), np.where(sends, amount, UNBOUNDED)
    tree[nodes, PARENT], tree[nodes, SIZE], tree[nodes, LAST] = -1, nodes + 1, nodes - 1
    of_node = np.where(sends, -dear, 0) if spare else np.where(sends, 0, dear)
    return tree, np.append(of_node, 0).astype(np.int64)


def until_done(pivots: Callable[[], int]) -> int:
    """Call `pivots` until it is done, and check the deadline each time; returns how it ended."""
    from optsched.solvers.kernels import MORE

    check()
    while (end := pivots()) == MORE:
        check()
    return end


def closer(potential: Ints, largest: int) -> Ints:
    """The same proof with smaller numbers: potentials that lie far apart are moved together; the last one stays.

    If no potential lies between two that differ by more than the largest cost, the arcs across the gap have reduced
    costs of one sign. So the gap may shrink to that cost plus one.

    >>> closer(np.array([5, 1000, 7, 0]), largest=3).tolist()
    [4, 10, 6, 0]
    """
    order = np.argsort(potential, kind="stable")
    gaps = np.minimum(np.diff(potential[order], prepend=potential[order[:1]]), largest + 1)
    moved = np.empty_like(potential)
    moved[order] = np.cumsum(gaps)
    moved -= moved[-1]
    return moved


def _mixed(arcs: int) -> Ints:
    """The arcs in an order that separates neighbours: every k-th one, from the first, the second, and so on.

    >>> _mixed(7).tolist()
    [0, 2, 4, 6, 1, 3, 5]
    """
    step = max(1, int(arcs**0.5))
    order = np.arange(-(-arcs // step) * step).reshape(-1, step).T.ravel()
    mixed: Ints = order[order < arcs]
    return mixed


# Cost scaling --------------------------------------------------------------------------------------------------------


def scales(nodes: int, capacity: Ints, cost: Ints, supply: Ints) -> bool:
    """Whether int64 has room for all sums of `cost_scaling`, and the arcs' numbers fit into int32.

    Costs are multiplied by nodes + 1. Prices begin at 0, only fall, and are checked after each update: then none is
    below `_LOWEST`. Until the next update there are at most two relabels per node. One lowers a price at most to the
    lowest price, less a cost and a tolerance, which is no larger than the largest cost. So prices fall by at most 4
    nodes (nodes + 1) largest < 2^61 more. An update lowers them by at most 4 nodes times a tolerance, a 16th of the
    largest cost, which is less than 2^58. A reduced cost is then within 2^62 + 2^60.
    """
    largest = int(np.abs(cost).max(initial=0))
    sent = (_most(capacity, supply) + 1) * (len(cost) + 1)
    return 4 * (nodes + 1) ** 2 * largest < -_LOWEST and sent < -_LOWEST and len(cost) < 2**30


def cost_scaling(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints) -> CheapestFlow | None:
    """Find a flow of least cost; None if prices would leave int64; OutOfTime at a deadline.

    Parameters are as for `network_simplex`, and must satisfy `scales`.

    Notes
    -----
    Costs are multiplied by nodes + 1, so that a flow within 1 of its least cost is of least cost. A first round without
    costs finds a flow, or that there is none; each later round begins with the flow of the previous one.

    An arc without limit gets one more than any flow needs if a least cost exists: the total supply plus all other
    limits. If none exists, prices show that more flow would pay.
    """
    nodes = len(supply)
    limit = np.minimum(capacity, _most(capacity, supply) + 1)
    rounds = _Rounds(tail, head, limit, supply)
    feasible = rounds.refine(np.zeros_like(cost), 1)
    if not feasible:
        return None if feasible is None else CheapestFlow(FlowStatus.INFEASIBLE)
    scaled = cost * (nodes + 1)
    tolerance = int(np.abs(scaled).max(initial=0))
    while tolerance > 1:
        tolerance = max(1, tolerance // _FACTOR)
        if not rounds.refine(scaled, tolerance):
            return None
    potential = _whole(rounds.price)
    if (cost + potential[tail] - potential[head] < 0)[capacity == UNBOUNDED].any():
        return CheapestFlow(FlowStatus.UNBOUNDED)
    flow = limit - rounds.room[rounds.own]
    return CheapestFlow(FlowStatus.OPTIMAL, flow, closer(potential, int(np.abs(cost).max(initial=0))))


class _Rounds:
    """The residual network, and what is kept from one round to the next.

    `room` is how much more may flow on each residual arc, `own` the residual arc of each arc, `price` that of each
    node.
    """

    def __init__(self, tail: Ints, head: Ints, limit: Ints, supply: Ints) -> None:
        nodes, arcs = len(supply), len(tail)
        ends = np.concatenate([tail, head])
        self._order = np.argsort(ends, kind="stable")
        number = np.empty_like(self._order)
        number[self._order] = np.arange(2 * arcs)
        self.own = number[:arcs]
        start = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=nodes))]).astype(np.int64)
        heads = np.concatenate([head, tail])[self._order].astype(np.int32)
        twin = np.concatenate([number[arcs:], self.own])[self._order].astype(np.int32)
        self._network = start, heads, twin
        self.room = np.concatenate([limit, np.zeros_like(limit)])[self._order]
        self._excess, self.price = supply.astype(np.int64), np.zeros(nodes, dtype=np.int64)
        self._current, self._queue = start[:-1].copy(), np.zeros(nodes, dtype=np.int32)
        buckets = np.zeros(_DISTANCES * nodes + 1, dtype=np.int32)
        self._work = np.zeros(nodes, dtype=np.int64), np.zeros((nodes, 2), dtype=np.int32), buckets

    def refine(self, cost: Ints, tolerance: int) -> bool | None:
        """Refine any flow to one within a tolerance; False: there is none, None: prices fell too far.

        The first round is without costs: its prices only measure distances to deficits, and are forgotten.
        """
        from optsched.solvers.kernels import CUT_OFF, DONE, UPDATE, begin, discharges, update

        by_arc = np.concatenate([cost, -cost])[self._order]
        network = (*self._network, by_arc, self.room, self._excess, self.price)
        place = np.zeros(3, dtype=np.int64)
        discharge = *network, self._current, self._queue, place, tolerance, _STEPS
        updated = *network, self._current, *self._work, tolerance
        check()
        ready(begin, *network)
        ready(update, *updated)
        ready(discharges, *discharge)
        begin(*network)
        waiting = np.flatnonzero(self._excess > 0)
        self._queue[: len(waiting)], place[1] = waiting, len(waiting)
        end = UPDATE
        while end not in (DONE, CUT_OFF):
            if end == UPDATE:
                place[2] = 0
                if update(*updated) == CUT_OFF:
                    return False
                if self.price.min(initial=0) < _LOWEST:
                    return None
            end = discharges(*discharge)
            check()
        if not cost.any():
            self.price[:] = 0
        return bool(end == DONE)


def _most(capacity: Ints, supply: Ints) -> int:
    """The most flow on an arc, in Python's integers: all supplies and limits."""
    limits = capacity[capacity != UNBOUNDED]
    return int(sum(limits.tolist()) + sum(np.abs(supply).tolist()))


def _whole(price: Ints) -> Ints:
    """Whole prices from those in units of 1/(nodes + 1), each rounded down from an offset that no price lies at.

    No arc that proved the flow is lost: a negative reduced cost is at least -1 unit, and rounding hides it unless the
    offset lies between its ends, where its head would have to be.

    >>> _whole(np.array([5, -4, 8])).tolist()
    [0, -2, 1]
    """
    parts = len(price) + 1
    free = np.ones(parts, dtype=bool)
    free[price % parts] = False
    prices: Ints = (price - int(np.flatnonzero(free)[0])) // parts
    return prices
