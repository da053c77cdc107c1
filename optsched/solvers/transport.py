"""Assignment problems as compact flow networks, and what solves them: HiGHS with arrays, or a maximum matching.

Tasks that nothing tells apart are one vertex (a class), a node's slots are one capacity, and where the cost depends on
the level alone, "anywhere in this rack" and "anywhere" are vertices of their own: arcs grow with the replicas, not
with tasks times nodes. The linear program over a network is integral, so flows are placements. Potentials of the
network become the prices with which `AssignmentProblem.price_bound` proves the optimum in integers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import networkx
import numpy as np
import scipy
import scipy.sparse as sp

from optsched.errors import UsageError
from optsched.instance import Ints
from optsched.placement import NONE, Placement
from optsched.problems.assignment import AssignmentProblem, LevelledProblem
from optsched.results import Limit, Termination
from optsched.solvers.highs import LinearProgram, solve_arrays
from optsched.solvers.networks import assign_dense, maximum_b_matching, min_cost_flow
from optsched.solvers.profiles import Profile

__all__ = ["AssignmentSolution", "Prices", "TransportNetwork", "is_cardinality", "prices_of", "solve_assignment"]

_EXACT = Profile("exact")


class Prices(NamedTuple):
    """Dual prices in units of the problem's grid: of one task more, of a slot on each node, of a task of each pool."""

    task: int
    nodes: Ints
    pools: Ints


@dataclass(frozen=True)
class AssignmentSolution:
    """What an engine found.

    Attributes
    ----------
    nodes
        int64, shape (len(problem.tasks),): node of each task or -1; None where a limit struck first.
    prices
        Prices that prove the optimum; None where the engine gives none.
    limit, raw_status
        What cut it short, and the engine's words.
    build_seconds, solve_seconds, solver
        For the record.
    """

    nodes: Ints | None
    prices: Prices | None
    limit: Limit | None
    raw_status: str
    build_seconds: float
    solve_seconds: float
    solver: Mapping[str, Any]

    def placement(self, problem: AssignmentProblem) -> Placement | None:
        """The placement, if there is one."""
        return None if self.nodes is None else problem.placement(self.nodes)


class _Arcs(NamedTuple):
    """Arcs of one sort: numpy arrays of equal length."""

    tail: Ints
    head: Ints
    capacity: Ints
    cost: Ints


class TransportNetwork:
    """The compact network of an assignment problem.

    Vertices, in this order: source, pools, classes, nodes with idle slots, then (levelled problems) the racks with
    idle slots and "anywhere", and the sink. `count` units flow from source to sink.

    Attributes
    ----------
    tail, head, capacity, cost
        int64, shape (arcs,): the arcs; costs in units.
    supply
        int64, shape (vertices,).
    labels
        What each vertex is, in the instance's ids (`node n1`, `class t1`: the class of task t1).
    """

    def __init__(self, problem: AssignmentProblem) -> None:
        self.problem = problem
        self.classes = problem.classes()
        self.idle: Ints = np.flatnonzero(problem.capacity > 0).astype(np.int64)
        self._column = np.full(len(problem.capacity), -1, dtype=np.int64)
        self._column[self.idle] = np.arange(len(self.idle))
        pools, classes = len(problem.pools), len(self.classes.size)
        self.first_pool, self.first_class = 1, 1 + pools
        self.first_node = self.first_class + classes
        self.first_hub = self.first_node + len(self.idle)
        hubs = list(self._hubs())
        self.sink = self.first_hub + len(hubs)
        parts = [*self._supply_arcs(), *(arcs for hub in hubs for arcs in hub), *self._pair_arcs(), self._slot_arcs()]
        self.tail, self.head, self.capacity, self.cost = (
            np.concatenate([np.asarray(part[column], dtype=np.int64) for part in parts]) for column in range(4)
        )
        self.supply = np.zeros(self.sink + 1, dtype=np.int64)
        self.supply[0], self.supply[self.sink] = problem.count, -problem.count

    @property
    def labels(self) -> list[str]:
        """What each vertex is, in the instance's ids."""
        problem, instance = self.problem, self.problem.instance
        tasks = instance.workload.task_ids[problem.tasks[self.classes.first]].tolist()
        hubs = [
            "anywhere" if rack < 0 else f"rack {instance.cluster.rack_ids[rack]}" for rack in self._hub_racks.tolist()
        ]
        return [
            "source",
            *(f"pool {pool.name}" for pool in problem.pools),
            *(f"class {task}" for task in tasks),
            *(f"node {node}" for node in instance.cluster.node_ids[self.idle].tolist()),
            *hubs,
            "sink",
        ]

    @cached_property
    def _hub_racks(self) -> Ints:
        """Rack of each hub, "anywhere" (-1) last; none where costs depend on the pair."""
        problem = self.problem
        if not isinstance(problem, LevelledProblem):
            return np.zeros(0, dtype=np.int64)
        if problem.levels[1] == problem.levels[2]:
            return np.array([-1])
        racks = np.unique(problem.rack[self.idle])
        return np.append(racks[racks >= 0], -1)

    def _hubs(self) -> Iterator[list[_Arcs]]:
        """For each hub its arcs to the nodes behind it."""
        for hub, rack in enumerate(self._hub_racks.tolist()):
            assert isinstance(self.problem, LevelledProblem)
            behind = np.arange(len(self.idle)) if rack < 0 else np.flatnonzero(self.problem.rack[self.idle] == rack)
            yield [self._arcs(np.full(len(behind), self.first_hub + hub), self.first_node + behind, 0)]

    def _arcs(self, tail: Ints, head: Ints, cost: Ints | int) -> _Arcs:
        """Arcs without a limit: one more than ever flows, so that no dual price can settle on them."""
        return _Arcs(
            tail, head, np.full(len(tail), self.problem.count + 1), np.broadcast_to(np.asarray(cost), np.shape(tail))
        )

    def _supply_arcs(self) -> Iterator[_Arcs]:
        """Source to pools, one arc a tier; pools to classes."""
        problem = self.problem
        tiers = [(pool, *tier) for pool, entry in enumerate(problem.pools) for tier in entry.tiers]
        pool, units, size = np.array(tiers, dtype=np.int64).reshape(-1, 3).T
        yield _Arcs(np.zeros_like(pool), self.first_pool + pool, size, units)
        classes = np.arange(len(self.classes.size))
        owners = problem.pool[self.classes.first]
        yield _Arcs(
            self.first_pool + owners, self.first_class + classes, self.classes.size, np.zeros_like(self.classes.size)
        )

    def _pair_arcs(self) -> Iterator[_Arcs]:
        """Classes to nodes and hubs."""
        problem, first = self.problem, self.classes.first
        classes = np.arange(len(first))
        if isinstance(problem, LevelledProblem):
            on_node, in_rack, off_rack = problem.levels
            local = problem.idle_replicas.take(first)
            yield self._arcs(self.first_class + local.row_of, self.first_node + self._column[local.values], on_node)
            if len(self._hub_racks) > 1:
                racks = problem.idle_racks.take(first)
                hubs = np.searchsorted(self._hub_racks[:-1], racks.values)
                yield self._arcs(self.first_class + racks.row_of, self.first_hub + hubs, in_rack)
            anywhere = self.first_hub + len(self._hub_racks) - 1
            yield self._arcs(self.first_class + classes, np.full(len(first), anywhere), off_rack)
        else:
            tail = np.repeat(classes, len(self.idle))
            head = np.tile(np.arange(len(self.idle)), len(first))
            units = problem.pair_units(first[tail], self.idle[head])
            yield self._arcs(self.first_class + tail, self.first_node + head, units)

    def _slot_arcs(self) -> _Arcs:
        """Nodes to the sink: their idle slots, each at the node's surcharge."""
        nodes = self.first_node + np.arange(len(self.idle))
        surcharge = self.problem.surcharge[self.idle]
        return _Arcs(nodes, np.full(len(nodes), self.sink), self.problem.capacity[self.idle], surcharge)

    # From flows and potentials back to placements and prices -------------------------------------------------------

    def decode(self, flow: Ints) -> Ints:
        """Node of each of `problem.tasks` (or -1) from an integral flow; which member of a class runs is arbitrary."""
        is_class = (self.tail >= self.first_class) & (self.tail < self.first_node)
        to_node = is_class & (self.head < self.first_hub)
        classes = [np.repeat(self.tail[to_node], flow[to_node])]
        nodes = [np.repeat(self.head[to_node], flow[to_node])]
        for hub in range(self.first_hub, self.sink):
            classes.append(np.repeat(self.tail[self.head == hub], flow[self.head == hub]))
            nodes.append(np.repeat(self.head[self.tail == hub], flow[self.tail == hub]))
        owner = np.concatenate(classes) - self.first_class
        target = self.idle[np.concatenate(nodes) - self.first_node]
        order = np.argsort(owner, kind="stable")
        counts = np.bincount(owner, minlength=len(self.classes.size))
        rank = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        members = self.classes.members
        result = np.full(len(self.problem.tasks), NONE, dtype=np.int64)
        result[members.values[members.starts[owner[order]] + rank]] = target[order]
        return result

    def prices(self, potential: Ints) -> Prices:
        """Prices from potentials with cost - potential[tail] + potential[head] >= 0 on arcs with room."""
        nodes = np.zeros(len(self.problem.capacity), dtype=np.int64)
        rent = potential[self.first_node : self.first_hub] - potential[self.sink] - self.problem.surcharge[self.idle]
        nodes[self.idle] = np.maximum(rent, 0)
        pools = potential[0] - potential[self.first_pool : self.first_class]
        return Prices(int(potential[0] - potential[self.sink]), nodes, pools)

    def flow_of(self, nodes: Ints) -> Ints:
        """The flow of a placement (node or -1 of each of `problem.tasks`), each task on its cheapest path."""
        problem = self.problem
        placed = np.flatnonzero(nodes != NONE)
        owner, target = self.classes.of_task[placed], nodes[placed]
        flow = np.zeros(len(self.tail), dtype=np.int64)
        vertices = self.sink + 1
        heads = self.first_node + self._column[target]
        if isinstance(problem, LevelledProblem):
            level = problem.locality(placed, target)
            hubs = self.first_hub + len(self._hub_racks) - 1
            hub_of = np.full(len(placed), hubs)
            if len(self._hub_racks) > 1:
                in_rack = level == 1
                hub_of[in_rack] = self.first_hub + np.searchsorted(self._hub_racks[:-1], problem.rack[target[in_rack]])
            through = np.flatnonzero(level > 0)
            self._add(flow, hub_of[through] * vertices + heads[through])
            heads = np.where(level > 0, hub_of, heads)
        self._add(flow, (self.first_class + owner) * vertices + heads)
        self._add(flow, (self.first_node + self._column[target]) * vertices + self.sink)
        pool = problem.pool[placed]
        self._add(flow, (self.first_pool + pool) * vertices + self.first_class + owner)
        left = np.bincount(pool, minlength=len(problem.pools))
        for arc in np.flatnonzero(self.tail == 0).tolist():  # cheapest tier first, as the arcs are ordered
            entry = self.head[arc] - self.first_pool
            flow[arc] = min(left[entry], self.capacity[arc])
            left[entry] -= flow[arc]
        return flow

    @cached_property
    def _by_key(self) -> tuple[Ints, Ints]:
        keys = self.tail * (self.sink + 1) + self.head
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    def _add(self, flow: Ints, keys: Ints) -> None:
        """One unit on the arc of each key (tail * vertices + head)."""
        ordered, order = self._by_key
        np.add.at(flow, order[np.searchsorted(ordered, keys)], 1)


def is_cardinality(problem: AssignmentProblem) -> bool:
    """Whether only the number of tasks on their replicas' nodes matters: a maximum b-matching solves it."""
    return (
        isinstance(problem, LevelledProblem)
        and problem.levels[1] == problem.levels[2]
        and len(problem.pools) == 1
        and len(problem.pools[0].tiers) == 1
        and not problem.surcharge.any()
    )


def solve_assignment(
    problem: AssignmentProblem, profile: Profile = _EXACT, engine: str = "network"
) -> AssignmentSolution:
    """Solve an assignment problem exactly.

    Parameters
    ----------
    problem
        `lsap`, `fair-lsap` or `flow`.
    profile
        Limits and options of HiGHS.
    engine
        `network`: a maximum b-matching where it is enough, else `arrays`; `arrays`: the compact network's linear
        program with HiGHS; `network-simplex`: the same network with networkx; `dense`: SciPy's assignment over tasks
        and slots (not for pools with several tiers). The last two are for small instances and for agreement.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> solve_assignment(Lsap(Instance(Cluster(["a", "b"]), workload))).nodes.tolist()
    [1, 0]
    """
    if not problem.count:
        nothing = Prices(0, np.zeros_like(problem.capacity), np.zeros(len(problem.pools), dtype=np.int64))
        return AssignmentSolution(
            np.full(len(problem.tasks), NONE, dtype=np.int64), nothing, None, "nothing to place", 0.0, 0.0, {}
        )
    if engine == "network" and is_cardinality(problem):
        assert isinstance(problem, LevelledProblem)
        return _by_matching(problem)
    if engine == "dense":
        return _by_dense(problem)
    return _by_network(problem, profile, engine)


def _by_matching(problem: LevelledProblem) -> AssignmentSolution:
    began = time.perf_counter()
    local = problem.idle_replicas
    matching = maximum_b_matching(local.starts, local.values, problem.capacity, len(problem.capacity))
    nodes = matching.node.copy()
    fill_idle_slots(nodes, problem.capacity, problem.count)
    on_node, _, off_rack = problem.levels
    saving = off_rack - on_node
    prices = Prices(
        off_rack + problem.pools[0].tiers[0][0],
        saving * matching.node_cover.astype(np.int64),
        np.array([problem.pools[0].tiers[0][0]], dtype=np.int64),
    )
    seconds = time.perf_counter() - began
    solver = {"name": "SciPy maximum_flow", "version": scipy.__version__}
    return AssignmentSolution(nodes, prices, None, "maximum matching", 0.0, seconds, solver)


def fill_idle_slots(nodes: Ints, capacity: Ints, count: int) -> None:
    """Put unplaced tasks, in order, on the slots that are left, node by node, until `count` are placed; in place."""
    left = capacity - np.bincount(nodes[nodes != NONE], minlength=len(capacity))
    waiting = np.flatnonzero(nodes == NONE)
    free = np.repeat(np.arange(len(capacity)), left)
    more = count - int(np.count_nonzero(nodes != NONE))
    nodes[waiting[:more]] = free[:more]


def _by_dense(problem: AssignmentProblem) -> AssignmentSolution:
    began = time.perf_counter()
    if any(sum(1 for _, size in pool.tiers if size) > 1 for pool in problem.pools):
        raise UsageError(
            f'{problem.name}: route "dense" takes one cost a task, but here it depends on how many of its group are '
            'placed; use route "network"'
        )
    tasks, idle = len(problem.tasks), np.flatnonzero(problem.capacity > 0)
    constant = np.array([next((units for units, size in pool.tiers if size), 0) for pool in problem.pools])
    rows = np.repeat(np.arange(tasks), len(idle))
    table = problem.pair_units(rows, np.tile(idle, tasks)).reshape(tasks, len(idle))
    table = table + constant[problem.pool][:, None]
    built = time.perf_counter()
    columns = assign_dense(table, problem.capacity[idle], problem.count)
    nodes = np.where(columns >= 0, idle[columns], NONE)
    solver = {"name": "SciPy linear_sum_assignment", "version": scipy.__version__}
    return AssignmentSolution(nodes, None, None, "optimal", built - began, time.perf_counter() - built, solver)


def _by_network(problem: AssignmentProblem, profile: Profile, engine: str) -> AssignmentSolution:
    began = time.perf_counter()
    network = TransportNetwork(problem)
    if engine == "network-simplex":
        built = time.perf_counter()
        result = min_cost_flow(
            network.tail, network.head, np.zeros_like(network.tail), network.capacity, network.cost, network.supply
        )
        assert result.flow is not None  # a placement of `count` tasks always exists
        assert result.potential is not None
        seconds = time.perf_counter() - built
        solver = {"name": "networkx network_simplex", "version": networkx.__version__}
        prices = network.prices(-result.potential)
        return AssignmentSolution(network.decode(result.flow), prices, None, "optimal", built - began, seconds, solver)
    program = _program(network)
    built = time.perf_counter()
    solution = solve_arrays(program, profile)
    seconds, outcome = time.perf_counter() - built, solution.outcome
    if outcome.status is not Termination.OPTIMAL or solution.x is None or solution.row_duals is None:
        return AssignmentSolution(None, None, outcome.limit, outcome.raw_status, built - began, seconds, outcome.solver)
    nodes = network.decode(np.rint(solution.x).astype(np.int64))
    prices = network.prices(np.rint(solution.row_duals).astype(np.int64))
    return AssignmentSolution(nodes, prices, outcome.limit, outcome.raw_status, built - began, seconds, outcome.solver)


def _program(network: TransportNetwork) -> LinearProgram:
    """The linear program of the network: a column an arc, a row a vertex."""
    arcs, vertices = len(network.tail), len(network.supply)
    columns = np.tile(np.arange(arcs), 2)
    rows = np.concatenate([network.tail, network.head])
    values = np.concatenate([np.ones(arcs), -np.ones(arcs)])
    supply = network.supply.astype(np.float64)
    return LinearProgram(
        objective=network.cost.astype(np.float64),
        col_lower=np.zeros(arcs),
        col_upper=network.capacity.astype(np.float64),
        integer=np.zeros(arcs, dtype=bool),
        row_lower=supply,
        row_upper=supply,
        matrix=sp.csc_array((values, (rows, columns)), shape=(vertices, arcs)),
    )


def prices_of(problem: AssignmentProblem, placement: Placement) -> Prices | None:
    """Prices that prove a placement optimal, from shortest paths in its residual network; None where it is not.

    Exact integers (Bellman-Ford), whoever found the placement: at most one pass over the arcs a vertex.
    """
    if not problem.count:
        return Prices(0, np.zeros_like(problem.capacity), np.zeros(len(problem.pools), dtype=np.int64))
    network = TransportNetwork(problem)
    flow = network.flow_of(problem.nodes_of(placement))
    forward, back = flow < network.capacity, flow > 0
    start = np.concatenate([network.tail[forward], network.head[back]])
    end = np.concatenate([network.head[forward], network.tail[back]])
    length = np.concatenate([network.cost[forward], -network.cost[back]])
    distance = np.zeros(len(network.supply), dtype=np.int64)
    for _ in range(len(distance) + 1):
        nearer = distance.copy()
        np.minimum.at(nearer, end, distance[start] + length)
        if np.array_equal(nearer, distance):
            return network.prices(-distance)
        distance = nearer
    return None
