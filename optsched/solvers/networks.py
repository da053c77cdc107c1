"""Network engines on arrays: maximum b-matching, dense assignment, and minimum-cost flow, each exact in integers.

None uses HiGHS. Each gives what proves its answer (a vertex cover, or potentials), save `assign_dense`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.core.errors import SolverDisagreement, UsageError
from optsched.core.negative_cycles import negative_cycle
from optsched.processes.memory import refuse_beyond
from optsched.solvers.compiled import compiler, compiles
from optsched.solvers.cost_scaling import cost_scaling, scales
from optsched.solvers.network_simplex import FEW_ARCS, network_simplex

__all__ = [
    "UNBOUNDED",
    "BMatching",
    "FlowStatus",
    "CheapestFlow",
    "assign_dense",
    "few_b_matching",
    "maximum_b_matching",
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

#: Slots are matched one by one if there are at most so many a pair on average; this is then no slower than a flow.
_SLOTS_A_PAIR = 2

_EXACT = 2**53  # doubles hold every integer up to here

_MOST_FLOW = 2**61  # flows below this fit into int64, and so do sums of two


class BMatching(NamedTuple):
    """A maximum b-matching of tasks to nodes, and the vertex cover that proves it (Kőnig).

    Parameters
    ----------
    node
        int64, shape (tasks,): node of each task, -1 where it has none.
    task_cover, node_cover
        bool, shapes (tasks,) and (nodes,): every pair (task, its node) has its task or its node in the cover, whose
        weight (1 a task, its capacity a node) is the size of the matching, so no matching is larger.
    """

    node: Ints
    task_cover: Bools
    node_cover: Bools

    @property
    def size(self) -> int:
        """Number of matched tasks."""
        return int(np.count_nonzero(self.node >= 0))


def maximum_b_matching(
    indptr: npt.NDArray[np.integer[Any]],
    indices: npt.NDArray[np.integer[Any]],
    capacity: npt.NDArray[np.integer[Any]],
    n_nodes: int,
) -> BMatching:
    """Match as many tasks as possible to nodes that they accept, no node with more than its capacity.

    Parameters
    ----------
    indptr, indices
        Nodes that each task accepts in CSR form, shapes (tasks + 1,) and (pairs,); each pair once.
    capacity
        Shape (nodes,): tasks that a node takes, at least 0.
    n_nodes
        Number of nodes.

    Notes
    -----
    Hopcroft and Karp's matching of tasks to slots (SciPy): O(pairs sqrt(tasks + slots)). Where the pairs of task and
    slot would be many times those of task and node, maximum flow by Dinic's algorithm (SciPy). Deterministic. The
    cover is Kőnig's, from the matching alone, so it proves either; where every slot that a task accepts is taken, it is
    all the nodes.

    Raises
    ------
    UsageError
        If a capacity is negative or shapes do not fit.

    Examples
    --------
    Tasks 0 and 1 accept node 0 only, which takes one; task 2 accepts both nodes:

    >>> matching = maximum_b_matching(np.array([0, 1, 2, 4]), np.array([0, 0, 0, 1]), np.array([1, 1]), 2)
    >>> matching.size, matching.node.tolist()
    (2, [0, -1, 1])
    >>> matching.task_cover.tolist(), matching.node_cover.tolist()
    ([False, False, False], [True, True])
    """
    if len(capacity) != n_nodes or (n_nodes and capacity.min() < 0):
        raise UsageError(f"a b-matching needs {n_nodes} capacities, each at least 0")
    wanted = np.minimum(capacity, np.bincount(indices, minlength=n_nodes)).astype(np.int64)
    by_slots = int(wanted[indices].sum()) <= _SLOTS_A_PAIR * max(1, len(indices))
    node = (_matched_to_slots if by_slots else _matched_by_flow)(indptr, indices, wanted)
    reached = _used_up(node, indices, wanted, capacity)
    if reached is None:
        some_left = (node < 0).any()
        reached = _reached(indptr, indices, node, n_nodes) if some_left else np.zeros(n_nodes, dtype=bool)
    return _proved(node, reached, capacity)


def few_b_matching(
    indptr: npt.NDArray[np.integer[Any]], indices: npt.NDArray[np.integer[Any]], capacity: npt.NDArray[np.integer[Any]]
) -> BMatching:
    """A maximum b-matching of few pairs, in less time than it takes to import SciPy's; parameters as there.

    Notes
    -----
    A shortest augmenting path for one task after the other. Where there is none, what the search has reached stays as
    it is whatever follows, so that it is left out of later searches, and is the cover.

    Examples
    --------
    >>> matching = few_b_matching(np.array([0, 1, 2, 4]), np.array([0, 0, 0, 1]), np.array([1, 1]))
    >>> matching.node.tolist(), matching.node_cover.tolist()
    ([0, -1, 1], [True, True])
    """
    rows = [row.tolist() for row in np.split(indices, indptr[1:-1])] if len(indptr) > 1 else []
    node_of = [-1] * len(rows)
    on_node: list[list[int]] = [[] for _ in range(len(capacity))]
    closed: set[int] = set()
    for task in range(len(rows)):
        mover_to: dict[int, int] = {}  # by node: which task would move there
        free = _free_node(task, rows, on_node, capacity, mover_to, closed)
        if free is None:
            closed.update(mover_to)
        while free is not None:  # back along the path, each task to the node that the next one leaves
            mover = mover_to[free]
            left = node_of[mover]
            node_of[mover] = free
            on_node[free].append(mover)
            if left >= 0:
                on_node[left].remove(mover)
            free = left if left >= 0 else None
    node = np.array(node_of, dtype=np.int64)
    wanted = np.bincount(indices, minlength=len(capacity))
    reached = _used_up(node, indices, np.minimum(capacity, wanted), capacity)
    if reached is None:
        reached = np.zeros(len(capacity), dtype=bool)
        reached[list(closed)] = True
    return _proved(node, reached, capacity)


def _free_node(
    task: int,
    rows: list[list[int]],
    on_node: list[list[int]],
    capacity: npt.NDArray[np.integer[Any]],
    mover_to: dict[int, int],
    closed: set[int],
) -> int | None:
    """The nearest node with room for one more if tasks move along a path from `task`; fills `mover_to` on the way."""
    queue = [task]
    for mover in queue:
        for node in rows[mover]:
            if node not in mover_to and node not in closed:
                mover_to[node] = mover
                if len(on_node[node]) < capacity[node]:
                    return node
                queue += on_node[node]
    return None


def _used_up(node: Ints, indices: npt.NDArray[Any], wanted: Ints, capacity: npt.NDArray[Any]) -> Bools | None:
    """All nodes that a task accepts, which are a cover where their whole capacity is used; None where it is not."""
    if int(np.count_nonzero(node >= 0)) < int(wanted.sum()) or (wanted < capacity).any():
        return None
    accepted = np.zeros(len(capacity), dtype=bool)
    accepted[indices] = True
    return accepted


def _proved(node: Ints, reached: Bools, capacity: npt.NDArray[np.integer[Any]]) -> BMatching:
    """The matching with its cover: nodes that are reached, and tasks of which none is."""
    # A matched task is reached if its node is; a task without a match, always.
    matching = BMatching(node, (node >= 0) & ~np.append(reached, True)[node], reached)
    slots = int(np.minimum(capacity[reached], len(node) + 1).sum())  # more than there are tasks is too much already
    if int(matching.task_cover.sum()) + slots != matching.size:
        raise SolverDisagreement("the matching that was found is not maximum: its cover weighs more")
    return matching


def _matched_to_slots(indptr: npt.NDArray[Any], indices: npt.NDArray[Any], capacity: Ints) -> Ints:
    """Node of each task, or -1, in a maximum matching of tasks to slots: Hopcroft and Karp's (SciPy)."""
    import scipy.sparse as sp  # these take longer to import than a small instance to solve
    from scipy.sparse.csgraph import maximum_bipartite_matching

    tasks, first_slot = len(indptr) - 1, np.concatenate([[0], np.cumsum(capacity)])
    count = capacity[indices]
    start = np.concatenate([[0], np.cumsum(count)])
    slot = np.repeat(first_slot[indices] - start[:-1], count) + np.arange(start[-1])
    if not len(slot):
        return np.full(tasks, -1, dtype=np.int64)
    ends = (np.ones(len(slot), dtype=np.int8), slot.astype(np.int32), start[indptr].astype(np.int32))
    graph = sp.csr_array(ends, shape=(tasks, first_slot[-1]))
    if first_slot[-1] < tasks:  # paths begin at the rows: up to ten times as fast where these are fewer
        matched = maximum_bipartite_matching(graph.T.tocsr(), perm_type="row")
    else:
        matched = maximum_bipartite_matching(graph, perm_type="column")
    node_of = np.append(np.repeat(np.arange(len(capacity)), capacity), -1)
    return np.asarray(node_of[matched], dtype=np.int64)


def _matched_by_flow(indptr: npt.NDArray[Any], indices: npt.NDArray[Any], capacity: Ints) -> Ints:
    """Node of each task, or -1, in a maximum flow: Dinic's (SciPy), where a capacity is just a number."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import maximum_flow

    tasks, nodes, pairs = len(indptr) - 1, len(capacity), len(indices)
    # Vertices: tasks, nodes, source, sink. A row of the CSR matrix for each, in this order.
    source, sink = tasks + nodes, tasks + nodes + 1
    count = np.concatenate([np.diff(indptr), np.ones(nodes, dtype=np.int64), [tasks, 0]])
    head = np.concatenate([indices + tasks, np.full(nodes, sink), np.arange(tasks)]).astype(np.int32)
    limit = np.concatenate([np.ones(pairs), capacity, np.ones(tasks)]).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    network = sp.csr_array((limit, head, start), shape=(sink + 1, sink + 1))
    network.sort_indices()
    by_task = maximum_flow(network, source, sink).flow[:tasks].tocoo()
    node = np.full(tasks, -1, dtype=np.int64)
    used = by_task.data > 0
    node[by_task.row[used]] = by_task.col[used] - tasks
    return node


def _reached(indptr: npt.NDArray[Any], indices: npt.NDArray[Any], node: Ints, nodes: int) -> Bools:
    """Nodes on alternating paths from unmatched tasks: on to a node that accepts one, back to the tasks on it."""
    import scipy.sparse as sp
    from scipy.sparse.csgraph import breadth_first_order

    # Vertices: tasks, nodes, and where the search begins. A row of the CSR matrix for each, in this order.
    tasks, matched, free = len(node), np.flatnonzero(node >= 0), np.flatnonzero(node < 0)
    on_node = matched[np.argsort(node[matched], kind="stable")]
    count = np.concatenate([np.diff(indptr), np.bincount(node[matched], minlength=nodes), [len(free)]])
    head = np.concatenate([indices + tasks, on_node, free]).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    graph = sp.csr_array((np.ones(len(head)), head, start), shape=(tasks + nodes + 1, tasks + nodes + 1))
    reached = np.zeros(tasks + nodes + 1, dtype=bool)
    reached[breadth_first_order(graph, tasks + nodes, return_predecessors=False)] = True
    return reached[tasks:-1]


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

    None where it has a cycle of negative cost, that is, where the flow is not of least cost. Parameters are as for
    `min_cost_flow`.
    """
    onwards, back = flow < capacity, flow > lower
    start = np.concatenate([tail[onwards], head[back]])
    end = np.concatenate([head[onwards], tail[back]])
    length = np.concatenate([cost[onwards], -cost[back]])
    distance = np.zeros(nodes, dtype=np.int64)
    for _ in range(nodes + 1):
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
