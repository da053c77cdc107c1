"""Network engines on arrays: dense assignment, and minimum-cost flow with potentials that prove it, exact in integers.

None uses HiGHS.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.core.errors import SolverDisagreement, UsageError
from optsched.core.network import negative_cycle
from optsched.processes.memory import refuse_beyond
from optsched.solvers.compiled import compiler, compiles
from optsched.solvers.cost_scaling import cost_scaling, scales
from optsched.solvers.network_simplex import FEW_ARCS, network_simplex

__all__ = [
    "UNBOUNDED",
    "FlowStatus",
    "CheapestFlow",
    "assign_dense",
    "min_cost_flow",
    "residual_potentials",
    "bytes_an_arc",
    "cheapened",
    "simplex_compiled",
]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: A capacity that does not limit an arc.
UNBOUNDED = int(np.iinfo(np.int64).max)

#: Bytes that the compiled network simplex was measured to take for an arc, and networkx, with a Python dictionary each.
_BYTES_COMPILED, _BYTES_IN_PYTHON = 130, 1_000

_BLOCK = 2**22  # entries copied at once, so that memory stays small

_EXACT = 2**53  # doubles hold every integer up to here

_MOST_FLOW = 2**61  # flows below this fit into int64, and so do sums of two


def assign_dense(cost: Ints, capacity: npt.NDArray[np.integer[Any]], count: int, row: Ints | None = None) -> Ints:
    """Place exactly `count` tasks at least total cost, by SciPy's assignment on a dense matrix.

    Parameters
    ----------
    cost
        int64, shape (tasks, nodes).
    capacity
        Shape (nodes,): tasks that a node takes, at least 0.
    count
        How many tasks are placed, at most the tasks and the total capacity.
    row
        int64, shape (tasks,): the row of `cost` of each task, where tasks share rows; by default each has its own.

    Returns
    -------
    int64 array of shape (tasks,)
        Node of each task, -1 for those that are not placed.

    Notes
    -----
    The matrix has a column for each unit of capacity. SciPy takes it rectangular, and uses up whichever are fewer,
    tasks or units. Where `count` is less than both, there is a dummy column for each task that is left out, and a dummy
    row for each unit that is. With n rows and m >= n columns it takes O(n^2 m) time at worst, and 8 n m bytes.

    Raises
    ------
    UsageError
        If `count` tasks cannot be placed, shapes do not fit, or sums of costs pass 2^53 and would not be exact.
    TooLarge
        If there is no memory for the matrix.

    Examples
    --------
    >>> assign_dense(np.array([[5, 1], [4, 3], [9, 2]]), np.array([1, 1]), 2).tolist()
    [1, 0, -1]
    """
    nodes = cost.shape[1]
    row = np.arange(len(cost)) if row is None else row
    tasks = len(row)
    if capacity.shape != (nodes,) or (nodes and capacity.min() < 0):
        raise UsageError(f"dense assignment needs {nodes} capacities, each at least 0")
    units = np.minimum(capacity, max(count, 0)).astype(np.int64)
    slots = int(units.sum())
    if not 0 <= count <= min(tasks, slots):
        raise UsageError(f"{count} tasks cannot be placed: there are {tasks} tasks and capacity for {slots}")
    dummies = (tasks - count, slots - count) if count < min(tasks, slots) else (0, 0)
    height, width = tasks + dummies[1], slots + dummies[0]
    refuse_beyond(8 * height * width, f"dense assignment would have a matrix of {height:,} x {width:,}", "use a flow")
    largest = _largest(cost)
    if 2 * min(height, width) * largest >= _EXACT:
        raise UsageError(
            f"sums of {min(height, width)} costs up to {largest} pass 2^53 and would not be exact: scale the costs"
        )
    from scipy.optimize import linear_sum_assignment

    node_of = np.repeat(np.arange(nodes), units)
    # SciPy copies a matrix that is higher than wide, so the array is laid out by columns and its transpose is passed.
    matrix = np.zeros((height, width), order="F" if height > width else "C")
    step = max(1, _BLOCK // max(1, width))
    for begin in range(0, tasks, step):
        part = row[begin : begin + step]
        matrix[begin : begin + len(part), :slots] = cost[part][:, node_of]
    matrix[tasks:, slots:] = np.inf  # a unit that is left out cannot take a task that is left out
    if height > width:
        columns, rows = linear_sum_assignment(matrix.T)
    else:
        rows, columns = linear_sum_assignment(matrix)
    node = np.full(tasks, -1, dtype=np.int64)
    placed = (rows < tasks) & (columns < slots)
    node[rows[placed]] = node_of[columns[placed]]
    return node


def _largest(cost: Ints) -> int:
    """Largest absolute value, 0 of none; in Python integers, since the least int64 has no absolute value in int64."""
    return max(abs(int(cost.max())), abs(int(cost.min()))) if cost.size else 0


class FlowStatus(enum.StrEnum):
    """How a minimum-cost flow ended. UNBOUNDED: a cycle of negative cost and no capacity."""

    OPTIMAL = "OPTIMAL"
    INFEASIBLE = "INFEASIBLE"
    UNBOUNDED = "UNBOUNDED"


@dataclass(frozen=True, eq=False, slots=True)
class CheapestFlow:
    """A flow of least cost and the potentials that prove it; both None unless `status` is OPTIMAL.

    Parameters
    ----------
    status
        How it ended.
    flow
        int64, shape (arcs,).
    potential
        int64, shape (nodes,): `cost + potential[tail] - potential[head]` is at least 0 on each arc with flow below
        its capacity and at most 0 on each with flow above its lower limit.
    solver
        Name and version of the engine; empty where none was asked.
    """

    status: FlowStatus
    flow: Ints | None = None
    potential: Ints | None = None
    solver: dict[str, str] = field(default_factory=dict)


def min_cost_flow(
    tail: Ints, head: Ints, lower: Ints, capacity: Ints, cost: Ints, supply: Ints, scaling: bool = False
) -> CheapestFlow:
    """Find a flow of least cost that takes each node's supply out of it; parallel arcs and loops stay what they are.

    Parameters
    ----------
    tail, head
        Nodes of each arc, shape (arcs,).
    lower, capacity
        Limits of the flow on each arc; `UNBOUNDED` is no limit.
    cost
        Cost per unit, any sign.
    supply
        What each node sends (negative: receives), shape (nodes,).
    scaling
        Whether cost scaling is tried first, however few arcs there are. It is the quicker engine save for networks of
        few sources and of arcs that all cost much the same, as those of assignments are.

    Notes
    -----
    `cost_scaling` where it is asked for and its sums fit into int64. Else `network_simplex`, compiled, where
    `simplex_compiled` says so and sums fit into int64. Else the network simplex of networkx, in Python integers and in
    pure Python: seconds for 10,000 arcs. The potentials are then shortest distances
    in the residual network (Bellman-Ford in int64), so they prove the flow whoever found it, and cycles of negative
    cost without a limit are looked for first, since networkx may never end with one.

    Raises
    ------
    UsageError
        If an arc names no node, or potentials might pass 2^53.

    Examples
    --------
    Two units from node 0 to node 1, over two parallel arcs of which the cheaper takes one:

    >>> result = min_cost_flow(
    ...     tail=np.array([0, 0]), head=np.array([1, 1]), lower=np.array([0, 0]), capacity=np.array([1, UNBOUNDED]),
    ...     cost=np.array([2, 7]), supply=np.array([2, -2]))
    >>> result.flow.tolist(), (result.potential[1] - result.potential[0]).tolist()
    ([1, 1], 7)
    """
    nodes, arcs = len(supply), len(tail)
    if arcs and (min(tail.min(), head.min()) < 0 or max(tail.max(), head.max()) >= nodes):
        raise UsageError(f"an arc joins two of the nodes 0 to {nodes - 1}; one has an end outside them")
    largest = _largest(cost)
    if (nodes + 1) * largest >= _EXACT:
        raise UsageError(f"potentials of {nodes} nodes with costs up to {largest} might pass 2^53: scale the costs")
    if (lower > capacity).any():
        return CheapestFlow(FlowStatus.INFEASIBLE)
    if (scaling or simplex_compiled(arcs)) and _in_int64(lower, capacity, supply):
        found = _by_kernels(tail, head, lower, capacity, cost, supply, scaling)
        if found is not None:
            return found
    return _by_networkx(tail, head, lower, capacity, cost, supply)


def simplex_compiled(arcs: int) -> bool:
    """Whether `min_cost_flow` takes the compiled network simplex: there are many arcs, and kernels compile."""
    return arcs >= FEW_ARCS and compiles()


def bytes_an_arc(arcs: int) -> int:
    """What `min_cost_flow` takes for each of so many arcs, about."""
    return _BYTES_COMPILED if simplex_compiled(arcs) else _BYTES_IN_PYTHON


def _in_int64(lower: Ints, capacity: Ints, supply: Ints) -> bool:
    """Whether no flow can pass 2^62: what is supplied, and what goes round through arcs with a limit."""
    limits = float(capacity[capacity != UNBOUNDED].sum(dtype=np.float64))
    most = limits + float(lower.sum(dtype=np.float64)) + float(np.abs(supply).sum(dtype=np.float64))
    return most < _MOST_FLOW and int(supply.sum()) == 0


def _by_kernels(
    tail: Ints, head: Ints, lower: Ints, capacity: Ints, cost: Ints, supply: Ints, scaling: bool
) -> CheapestFlow | None:
    """By loops on arrays, on the flow above the lower limits; None where it is for networkx."""
    left = supply.copy()
    np.subtract.at(left, tail, lower)
    np.add.at(left, head, lower)
    room = np.where(capacity == UNBOUNDED, UNBOUNDED, capacity - lower)
    found, name = None, "cost scaling"
    if scaling and scales(len(supply), room, cost, left):
        found = cost_scaling(tail, head, room, cost, left)
    if found is None:
        if not simplex_compiled(len(tail)):
            return None
        found, name = network_simplex(tail, head, room, cost, left), "network simplex"
        if found.unbounded and network_simplex(tail, head, room, np.zeros_like(cost), left).flow is None:
            return CheapestFlow(FlowStatus.INFEASIBLE, solver=compiler(name))
    if found.unbounded:
        return CheapestFlow(FlowStatus.UNBOUNDED, solver=compiler(name))
    if found.flow is None:
        return CheapestFlow(FlowStatus.INFEASIBLE, solver=compiler(name))
    return CheapestFlow(FlowStatus.OPTIMAL, lower + found.flow, found.potential, compiler(name))


def _by_networkx(tail: Ints, head: Ints, lower: Ints, capacity: Ints, cost: Ints, supply: Ints) -> CheapestFlow:
    """By the network simplex of networkx, and potentials of what it found."""
    solver = {"name": "networkx network_simplex", "version": version("networkx")}
    free = np.flatnonzero(capacity == UNBOUNDED)
    unbounded = bool(negative_cycle(tail[free], head[free], cost[free], len(supply)))  # it may go round it for ever
    flow = _network_simplex(tail, head, lower, capacity, np.zeros_like(cost) if unbounded else cost, supply)
    if flow is None:
        return CheapestFlow(FlowStatus.INFEASIBLE, solver=solver)
    if unbounded:
        return CheapestFlow(FlowStatus.UNBOUNDED, solver=solver)
    potential = residual_potentials(tail, head, lower, capacity, cost, flow, len(supply))
    if potential is None:
        raise SolverDisagreement("the flow that networkx found is not of least cost: its residual network has a cycle")
    return CheapestFlow(FlowStatus.OPTIMAL, flow, potential, solver)


def _network_simplex(tail: Ints, head: Ints, lower: Ints, capacity: Ints, cost: Ints, supply: Ints) -> Ints | None:
    """A flow of least cost by networkx; None where no flow is feasible."""
    import networkx as nx

    # Only the flow above the lower limits is left to decide.
    demand = -supply
    np.add.at(demand, tail, lower)
    np.subtract.at(demand, head, lower)
    if not len(demand):
        return lower.copy()
    told = f"the network simplex of networkx would have {len(tail):,} arcs as Python objects"
    refuse_beyond(len(tail) * _BYTES_IN_PYTHON, told, 'use route "arrays"')
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    graph.add_nodes_from((node, {"demand": amount}) for node, amount in enumerate(demand.tolist()))
    room = [most - least for least, most in zip(lower.tolist(), capacity.tolist(), strict=True) if most != UNBOUNDED]
    # An arc without a limit is given one that no flow needs, since networkx takes some large flows for unlimited ones.
    ample = 1 + sum(room) + sum(map(abs, demand.tolist()))
    numbers = zip(tail.tolist(), head.tolist(), lower.tolist(), capacity.tolist(), cost.tolist(), strict=True)
    for arc, (i, j, least, most, price) in enumerate(numbers):
        graph.add_edge(i, j, key=arc, weight=price, capacity=ample if most == UNBOUNDED else most - least)
    try:
        _, flows = nx.network_simplex(graph)
    except nx.NetworkXUnfeasible:
        return None
    ends = zip(tail.tolist(), head.tolist(), strict=True)
    return lower + np.array([flows[i][j][arc] for arc, (i, j) in enumerate(ends)], dtype=np.int64)


def residual_potentials(
    tail: Ints, head: Ints, lower: Ints, capacity: Ints, cost: Ints, flow: Ints, nodes: int
) -> Ints | None:
    """Shortest distances in a flow's residual network, from a vertex that is joined to all nodes at no cost.

    None where it has a cycle of negative cost, that is, where the flow is not of least cost. They are exact integers
    (Bellman-Ford), with at most one pass over the arcs for each node. Parameters are as for `min_cost_flow`.
    """
    onwards, back = flow < capacity, flow > lower
    start = np.concatenate([tail[onwards], head[back]])
    end = np.concatenate([head[onwards], tail[back]])
    length = np.concatenate([cost[onwards], -cost[back]])
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
    """A flow of least cost from one that is nearly so, as a solver's may be where costs are large.

    As long as the residual network has a cycle of negative cost, as much as fits is sent round it. No such cycle may be
    without a limit. Parameters are as for `min_cost_flow`.

    Raises
    ------
    OutOfTime
        If a deadline passes.

    Examples
    --------
    Of two units from node 0 to node 1, one goes over the cheaper of two arcs:

    >>> cheapened(np.array([0, 0]), np.array([1, 1]), np.array([0, 0]), np.array([1, UNBOUNDED]), np.array([2, 7]),
    ...           flow=np.array([0, 2]), nodes=2).tolist()
    [1, 1]
    """
    flow = flow.copy()
    while True:
        check()
        onwards, back = np.flatnonzero(flow < capacity), np.flatnonzero(flow > lower)
        arc = np.concatenate([onwards, back])
        start, end = np.concatenate([tail[onwards], head[back]]), np.concatenate([head[onwards], tail[back]])
        length = np.concatenate([cost[onwards], -cost[back]])
        cycle = np.array(negative_cycle(start, end, length, nodes), dtype=np.int64)
        if not len(cycle):
            return flow
        left = np.concatenate([capacity[onwards] - flow[onwards], flow[back] - lower[back]])
        more = np.where(cycle < len(onwards), 1, -1) * left[cycle].min()
        flow[arc[cycle]] += more
