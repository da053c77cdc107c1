"""Assignment problems as compact flow networks, and what solves them: HiGHS with arrays, or a maximum matching.

Tasks that nothing tells apart are one vertex (a class), and a node's slots are one capacity. Where the cost depends on
the level alone, "somewhere in this rack" and "anywhere" are vertices of their own. So the number of arcs grows with the
replicas, not with tasks times nodes. The linear program over a network is integral, so flows are placements. Potentials
of the network become the prices with which `AssignmentProblem.price_bound` proves the optimum in integers.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optsched.core.deadline import check
from optsched.core.errors import OptschedError, OutOfTime, UsageError
from optsched.core.instance import Ints, Ragged
from optsched.core.network import FlowNetwork
from optsched.core.placement import NONE, Placement
from optsched.core.results import Limit, Termination
from optsched.problems.assignment import (
    BLOCK,
    BYTES_A_PAIR,
    AssignmentProblem,
    LevelledProblem,
    TabledProblem,
    TaskClasses,
)
from optsched.problems.base import expect_recorded
from optsched.problems.nearest_areas import NearestAreas
from optsched.processes.memory import refuse_beyond
from optsched.searches.tabled_assignment import (
    Prices,
    assign_table,
    is_tabled,
    is_transported,
    table_prices,
    transport_table,
)
from optsched.solvers.answers import whole_numbers, whole_prices
from optsched.solvers.compiled import compiler
from optsched.solvers.matching import BMatching, maximum_b_matching
from optsched.solvers.networks import (
    bytes_an_arc,
    cheapened,
    min_cost_flow,
    residual_potentials,
    simplex_compiled,
)
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import AnyProfile, Profile, load_profile
from optsched.solvers.transport import assign_dense

if TYPE_CHECKING:
    from optsched.solvers.highs import ArraySolution, LinearProgram

__all__ = [
    "AssignmentSolution",
    "Prices",
    "TransportNetwork",
    "cheapest_flow",
    "compact_network",
    "dealt",
    "fill_idle_slots",
    "is_cardinality",
    "is_tiered",
    "near_data",
    "network_program",
    "optimal_placement",
    "prices_of",
    "solve_assignment",
    "solve_network",
    "solve_network_program",
    "unit_flow",
]

_EXACT = Profile("exact")

#: Bytes that an arc was measured to take with HiGHS, and an accepted node of a task in a matching.
_BYTES_WITH_HIGHS, _BYTES_MATCHED = 520, 60

#: Costs of no more bits than this have never made HiGHS give up here.
_QUIET_BITS = 24


@dataclass(frozen=True)
class AssignmentSolution:
    """The answer of an engine.

    Attributes
    ----------
    nodes
        int64, shape (len(problem.tasks),): node of each task or -1; None where a limit struck first.
    prices
        What proves the optimum; None where the engine gives none.
    limit, raw_status, solver
        What cut it short; the engine's words, name and version.
    build_seconds
        Seconds until the engine began.
    """

    nodes: Ints | None
    raw_status: str
    prices: Prices | None = None
    limit: Limit | None = None
    solver: Mapping[str, Any] = field(default_factory=dict)
    build_seconds: float = 0.0


class _Arcs(NamedTuple):
    """Arcs of one sort: numpy arrays of equal length."""

    tail: Ints
    head: Ints
    capacity: Ints
    cost: Ints


class TransportNetwork:
    """The compact network of an assignment problem.

    `count` units flow from the source through pools and classes to slots. Where costs depend on the pair, a class is
    joined to every node with idle slots. Where they depend on the level alone, slots are a tree. A class is then joined
    to the nodes, racks, and "anywhere" vertices on whose slots its tasks cost one level; each of these vertices flows
    on into the next wider one, and its capacity is the slots in it. A task that needs no more than a rack gets its slot
    in that rack afterwards. Nodes on which no task is local need no vertex.

    Parameters
    ----------
    problem
        What is decided.
    engine
        Which engine the network is for: what does not fit into memory with it is refused.
    pairs
        Classes and nodes that are joined, int64, both of shape (pairs,): in place of all pairs; where the cost depends
        on the level alone, besides the arcs to the levels.

    Attributes
    ----------
    tail, head, capacity, cost
        int64, shape (arcs,): the arcs; costs in units.
    supply
        int64, shape (vertices,).
    labels
        What each vertex is, in the instance's ids (`node n1`, `class t1`: the class of task t1).
    """

    def __init__(
        self, problem: AssignmentProblem, engine: str = "network-simplex", pairs: tuple[Ints, Ints] | None = None
    ) -> None:
        expect_recorded(problem, "routes", "the networks know")
        self.problem, self._engine = problem, engine
        self.classes = problem.classes()
        check()
        instance, idle = problem.instance, problem.capacity > 0
        task_ids = instance.workload.task_ids[problem.tasks[self.classes.first]].tolist()
        self.labels = ["source", *(f"pool {pool.name}" for pool in problem.pools), *(f"class {t}" for t in task_ids)]
        self._first_class = 1 + len(problem.pools)
        self._arcs: list[_Arcs] = [*self._supply_arcs()]
        self._slots = np.zeros(len(self.labels), dtype=np.int64)
        near = problem.near if isinstance(problem, TabledProblem) else None
        areas = 0 if near is None else len(near.levels)
        #: For each node its vertex, and those of the wider and wider sets that it belongs to: its rack and "anywhere",
        #: or its areas. -1 where there is none.
        self._levels = np.full((max(3, areas), len(problem.capacity)), -1, dtype=np.int64)
        self._node, self._rack, self._anywhere = self._levels[:3]
        row, node = (np.zeros(0, dtype=np.int64),) * 2 if pairs is None else pairs
        if isinstance(problem, LevelledProblem):
            local = problem.idle_replicas.take(self.classes.first)
            self._add_nodes(np.unique(np.concatenate([local.values, node])))
            self._add_tree(problem, local)
            self._join(row, node, problem.locality(self.classes.first[row], node))
        elif isinstance(problem, TabledProblem) and near is not None:
            self._add_areas(problem, near, node)
            self._join(row, node, near.level(row, node))
        else:
            self._add_nodes(np.flatnonzero(idle))
            if pairs is None:
                self._add_all_pairs()
            else:
                self._join(row, node, np.ones_like(row))
        self.sink = len(self.labels)
        self.labels.append("sink")
        self._above = np.full(len(self.labels), self.sink, dtype=np.int64)
        outer = self._levels[-1].copy()
        for inner in self._levels[-2::-1]:
            joined = (inner >= 0) & (outer >= 0)
            self._above[inner[joined]] = outer[joined]
            outer = np.where(inner >= 0, inner, outer)
        vertices = np.unique(self._levels)
        vertices = vertices[vertices >= 0]
        slots = self._slots[vertices]
        self._arcs.append(_Arcs(vertices, self._above[vertices], slots, np.zeros_like(vertices)))
        self.tail, self.head, self.capacity, self.cost = (
            np.concatenate([np.asarray(arcs[column], dtype=np.int64) for arcs in self._arcs]) for column in range(4)
        )
        self.supply = np.zeros(self.sink + 1, dtype=np.int64)
        self.supply[0], self.supply[self.sink] = problem.count, -problem.count

    # Building ------------------------------------------------------------------------------------------------------

    def _supply_arcs(self) -> Iterator[_Arcs]:
        """Source to pools, one arc a tier; pools to classes."""
        problem = self.problem
        tiers = [(pool, *tier) for pool, entry in enumerate(problem.pools) for tier in entry.tiers]
        pool, units, size = np.array(tiers, dtype=np.int64).reshape(-1, 3).T
        yield _Arcs(np.zeros_like(pool), 1 + pool, size, units)
        sizes = self.classes.size
        owners = problem.pool[self.classes.first]
        yield _Arcs(1 + owners, self._first_class + np.arange(len(sizes)), sizes, np.zeros_like(sizes))

    def _add_vertices(self, labels: list[str], slots: Ints) -> Ints:
        """A vertex for each label, with its number of idle slots."""
        first = len(self.labels)
        self.labels.extend(labels)
        self._slots = np.concatenate([self._slots, slots])
        return first + np.arange(len(labels))

    def _add_nodes(self, nodes: Ints) -> None:
        names = self.problem.instance.cluster.node_ids[nodes].tolist()
        self._node[nodes] = self._add_vertices([f"node {name}" for name in names], self.problem.capacity[nodes])

    def _offer(self, classes: Ints, head: Ints, cost: Ints | int) -> None:
        """Arcs from classes with one unit more capacity than can ever flow, so that no dual price settles on them."""
        limit = np.full(len(classes), self.problem.count + 1)
        self._arcs.append(_Arcs(self._first_class + classes, head, limit, np.broadcast_to(cost, classes.shape)))

    def _join(self, classes: Ints, nodes: Ints, level: Ints) -> None:
        """Arcs from classes to nodes that no other arc joins: those of a level above 0."""
        row, node = classes[level > 0], nodes[level > 0]
        self._offer(row, self._node[node], self.problem.pair_units(self.classes.first[row], node))

    def _add_all_pairs(self) -> None:
        nodes = np.flatnonzero(self._node >= 0)
        classes = len(self.classes.first)
        arcs = classes * len(nodes)
        by_highs = self._engine == "arrays" or (self._engine == "network" and not simplex_compiled(arcs))
        sizes = f"{classes:,} kinds of tasks x {len(nodes):,} nodes"
        what = f"{self.problem.place}: a network of {sizes} would have {arcs:,} arcs"
        other = "" if self._engine == "network" else 'use route "network", which needs none where slots are few, or '
        size = arcs * (_BYTES_WITH_HIGHS if by_highs else bytes_an_arc(arcs))
        refuse_beyond(size, what, f"{other}take fewer tasks or nodes")
        tail, head = np.repeat(np.arange(len(self.classes.first)), len(nodes)), np.tile(nodes, len(self.classes.first))
        self._offer(tail, self._node[head], self.problem.pair_units(self.classes.first[tail], head))

    def _add_areas(self, problem: TabledProblem, near: NearestAreas, more: Ints) -> None:
        """Add the areas at each level that hold a replica, and the arcs of the classes to those that hold theirs.

        `more` are nodes that get a vertex though they hold none.
        """
        ids, idle = problem.instance.cluster.node_ids, np.flatnonzero(problem.capacity)
        for level, (areas, of_node) in enumerate(zip(near.idle_areas, near.levels, strict=True)):
            used, first = np.unique(of_node[idle], return_index=True)
            slots = np.bincount(of_node, weights=problem.capacity).astype(np.int64)
            wanted = np.isin(used, areas.values if level else np.concatenate([areas.values, more]))
            names = [f"level {level} round {name}" if level else f"node {name}" for name in ids[idle[first[wanted]]]]
            vertex = np.full(len(slots), -1, dtype=np.int64)
            vertex[used[wanted]] = self._add_vertices(names, slots[used[wanted]])
            self._levels[level, idle] = vertex[of_node[idle]]
            self._offer(areas.row_of, vertex[areas.values], problem.level_units[areas.row_of, level])

    def _add_tree(self, problem: LevelledProblem, local: Ragged) -> None:
        """Add racks and "anywhere", and the arcs of the classes to all levels."""
        on_node, in_rack, off_rack = problem.levels
        self._offer(local.row_of, self._node[local.values], on_node)
        classes = np.arange(len(self.classes.first))
        racks = problem.idle_racks.take(self.classes.first)
        idle = np.flatnonzero(problem.capacity > 0)
        if not len(idle):
            return
        anywhere = self._add_vertices(["anywhere"], problem.capacity[idle].sum(keepdims=True))
        self._anywhere[idle] = anywhere
        self._offer(classes, np.repeat(anywhere, len(classes)), off_rack)
        if in_rack < off_rack:
            vertex = self._add_racks(problem, idle)[racks.values]
            there = vertex >= 0
            self._offer(racks.row_of[there], vertex[there], in_rack)

    def _add_racks(self, problem: LevelledProblem, idle: Ints) -> Ints:
        """Add a vertex for each rack that has nodes with idle slots. By rack; -1 for racks without one."""
        rack_ids = problem.instance.cluster.rack_ids.tolist()
        members = idle[problem.rack[idle] >= 0]
        slots = np.zeros(len(rack_ids), dtype=np.int64)
        np.add.at(slots, problem.rack[members], problem.capacity[members])
        present = np.unique(problem.rack[members])
        vertex = np.full(max(len(rack_ids), 1), -1, dtype=np.int64)
        vertex[present] = self._add_vertices([f"rack {rack_ids[rack]}" for rack in present], slots[present])
        self._rack[members] = vertex[problem.rack[members]]
        return vertex

    # From flows and potentials back to placements and prices -------------------------------------------------------

    def decode(self, flow: Ints) -> Ints:
        """Node of each of `problem.tasks` (or -1) from an integral flow; members of a class are interchangeable."""
        capacity = self.problem.capacity
        from_class = (self.tail >= self._first_class) & (self.tail < self._first_class + len(self.classes.size))
        owner = np.repeat(self.tail[from_class] - self._first_class, flow[from_class])
        entry = np.repeat(self.head[from_class], flow[from_class])
        node_of = np.full(len(self.labels), NONE, dtype=np.int64)
        placed = np.flatnonzero(self._node >= 0)
        node_of[self._node[placed]] = placed
        target = node_of[entry]
        # Tasks that flow to a rack take slots of its nodes that are left; then the others take what is left anywhere.
        for vertex_of in self._levels[1:]:
            left = capacity - np.bincount(target[target != NONE], minlength=len(capacity))
            inside = np.flatnonzero(vertex_of >= 0)
            inside = inside[np.argsort(vertex_of[inside], kind="stable")]
            last = np.cumsum(left[inside])
            waiting = np.flatnonzero((target == NONE) & np.isin(entry, vertex_of))
            waiting = waiting[np.argsort(entry[waiting], kind="stable")]
            wanted = entry[waiting]
            rank = np.arange(len(wanted)) - np.searchsorted(wanted, wanted)
            before = (last - left[inside])[np.searchsorted(vertex_of[inside], wanted)]
            target[waiting] = inside[np.searchsorted(last, before + rank, side="right")]
        return dealt(self.classes, owner, target)

    def prices(self, potential: Ints) -> Prices:
        """Prices from potentials with cost - potential[tail] + potential[head] >= 0 on arcs with room.

        The price of a slot is the sum of the prices of all the capacities that it is a part of.
        """
        own = np.maximum(potential - potential[self._above], 0)
        nodes = np.zeros(len(self.problem.capacity), dtype=np.int64)
        for vertex_of in self._levels:
            nodes += np.where(vertex_of >= 0, own[vertex_of], 0)
        pools = potential[0] - potential[1 : self._first_class]
        return Prices(int(potential[0] - potential[self.sink]), nodes, pools)

    def arcs_of(self, classes: Ints, nodes: Ints) -> tuple[Ints, Ints]:
        """The arcs from classes to nodes, and the pairs that they join."""
        width = len(self.labels)
        keys = self.tail * width + self.head
        order = np.argsort(keys, kind="stable")
        wanted = (self._first_class + classes) * width + self._node[nodes]
        at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
        found = np.flatnonzero(keys[order[at]] == wanted)
        return order[at[found]], found

    @property
    def to_classes(self) -> Ints:
        """The arc to each class."""
        return np.flatnonzero(
            (self.head >= self._first_class) & (self.head < self._first_class + len(self.classes.size))
        )

    def flow_of(self, nodes: Ints) -> Ints:
        """The flow of a placement (node or -1 of each of `problem.tasks`), each task on its cheapest path."""
        problem = self.problem
        placed = np.flatnonzero(nodes != NONE)
        owner, target = self.classes.of_task[placed], nodes[placed]
        level = np.zeros_like(placed)
        if isinstance(problem, LevelledProblem):
            level = problem.locality(placed, target)
        elif isinstance(problem, TabledProblem) and problem.near is not None:
            level = problem.near.level(owner, target)
        entry = self._levels[level, target]
        for wider in range(1, len(self._levels)):  # where a level has no vertex the next one is meant
            entry = np.where((entry < 0) & (level < wider), self._levels[wider, target], entry)
        path = [1 + problem.pool[placed], self._first_class + owner, entry]
        ends = list(itertools.pairwise(path))
        while len(entry):
            ends.append((entry, self._above[entry]))
            entry = self._above[entry]
            entry = entry[entry != self.sink]
        flow = unit_flow(self.tail, self.head, *(np.concatenate(side) for side in zip(*ends, strict=True)))
        left = np.bincount(problem.pool[placed], minlength=len(problem.pools))
        for arc in np.flatnonzero(self.tail == 0).tolist():  # cheapest tier first, as the arcs are ordered
            pool = self.head[arc] - 1
            flow[arc] = min(left[pool], self.capacity[arc])
            left[pool] -= flow[arc]
        return flow


def dealt(classes: TaskClasses, owner: Ints, node: Ints) -> Ints:
    """Node of each task, or -1: members of a class, which are interchangeable, take its nodes in turn.

    Parameters
    ----------
    classes
        Of the tasks.
    owner, node
        int64, shape (placed tasks,): the class of each, in any order, and its node.
    """
    members, order = classes.members, np.argsort(owner, kind="stable")
    rank = np.arange(len(owner)) - np.searchsorted(owner[order], owner[order])
    nodes = np.full(len(classes.of_task), NONE, dtype=np.int64)
    nodes[members.values[members.starts[owner[order]] + rank]] = node[order]
    return nodes


def unit_flow(tail: Ints, head: Ints, start: Ints, end: Ints) -> Ints:
    """The flow on each arc (from `tail` to `head`) of one unit between each pair of ends; no two arcs have the same.

    >>> unit_flow(np.array([0, 0]), np.array([1, 2]), np.array([0, 0]), np.array([2, 2])).tolist()
    [0, 2]
    """
    width = int(max(tail.max(initial=0), head.max(initial=0))) + 1
    keys = tail * width + head
    order = np.argsort(keys, kind="stable")
    flow = np.zeros(len(keys), dtype=np.int64)
    np.add.at(flow, order[np.searchsorted(keys, start * width + end, sorter=order)], 1)
    return flow


def compact_network(problem: AssignmentProblem) -> FlowNetwork:
    """The compact network of an assignment problem as a noun, with costs in units of the problem's grid."""
    network = TransportNetwork(problem)
    unit = f"costs in units of 1/{problem.grid}" if problem.grid > 1 else "costs as they are"
    return FlowNetwork(
        np.array(network.labels),
        network.tail,
        network.head,
        capacity=network.capacity,
        cost=network.cost,
        supply=network.supply,
        name=f"{problem.instance.name} {problem.name}, {unit}",
    )


def optimal_placement(problem: AssignmentProblem) -> Placement:
    """An optimal placement and nothing else, for schedulers that solve such a problem each round.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came while the engine ran.
    OptschedError
        If the engine gave up (memory).
    OutOfTime
        If a deadline was past.
    """
    solution = solve_assignment(problem)
    return problem.placement(_unless_stopped(solution.nodes, solution, problem.name))


def _unless_stopped(answer: Ints | None, outcome: AssignmentSolution | SolverOutcome, who: str) -> Ints:
    """The answer of an engine; the error that stands for what stopped it, if it has none."""
    if outcome.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    if outcome.limit is Limit.TIME:
        raise OutOfTime("out of time")
    if answer is None:
        raise OptschedError(f"{who}: found no placement: {outcome.raw_status}")
    return answer


def is_cardinality(problem: AssignmentProblem) -> bool:
    """Whether only the number of tasks on their replicas' nodes matters: a maximum b-matching solves it."""
    return (
        isinstance(problem, LevelledProblem)
        and problem.levels[1] == problem.levels[2]
        and len(problem.pools) == 1
        and len(problem.pools[0].tiers) == 1
    )


def solve_assignment(
    problem: AssignmentProblem, profile: AnyProfile = _EXACT, engine: str = "network"
) -> AssignmentSolution:
    """Solve an assignment problem exactly.

    Parameters
    ----------
    problem
        `lsap`, `fair-lsap` or `flow`.
    profile
        Limits and options of HiGHS.
    engine
        `network`: a maximum b-matching where that is enough; where costs are a table, the transportation problem if it
        is large (`is_transported`), or SciPy's assignment of tasks to slots (`is_tabled`); else the compact network, by
        a network simplex if it is large and kernels compile, or as `arrays`. `arrays`: the compact network's linear
        program with HiGHS. `network-simplex`: the same network by a network simplex, by that of networkx if it is small
        or kernels do not compile. `dense`: SciPy's assignment of tasks to slots, not for pools with several tiers, for
        small instances.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> solve_assignment(Lsap(Instance(Cluster(["a", "b"]), workload))).nodes.tolist()
    [1, 0]
    """
    expect_recorded(problem, "routes", "the networks know")
    if not problem.count:
        nothing = Prices(0, np.zeros_like(problem.capacity), np.zeros(len(problem.pools), dtype=np.int64))
        return AssignmentSolution(np.full(len(problem.tasks), NONE, dtype=np.int64), "nothing to place", nothing)
    way = _way(problem, engine)
    if way == "matching":
        assert isinstance(problem, LevelledProblem)
        return _by_matching(problem)
    if way == "table":
        assert isinstance(problem, TabledProblem)
        return _by_transport(problem)
    return _by_dense(problem) if way == "dense" else _by_network(problem, load_profile(profile), engine)


def _way(problem: AssignmentProblem, engine: str) -> str:
    """What an engine does: `matching`, `table`, `dense`, or itself on the compact network."""
    if engine != "network":
        return engine
    if is_cardinality(problem):
        return "matching"
    if is_transported(problem):
        return "table"
    return "dense" if is_tabled(problem) else engine


def sizes(problem: AssignmentProblem) -> Iterator[tuple[str, int, int, int]]:
    """For each engine the size of its program: variables, constraints, and bytes a variable.

    Examples
    --------
    >>> import optsched
    >>> for row in sizes(optsched.problem("lsap", "papers/guo-fig2")):
    ...     print(*row)
    network 6 6 60
    arrays 17 10 520
    network-simplex 17 10 1000
    dense 9 6 8
    """
    arcs, vertices = _network_size(problem)
    tasks, slots = len(problem.tasks), int(np.minimum(problem.capacity, problem.count).sum())
    with_highs = "arrays", arcs, vertices, _BYTES_WITH_HIGHS
    by_simplex = "network-simplex", arcs, vertices, bytes_an_arc(arcs)
    dense = "dense", tasks * slots, tasks + slots, 8
    way = _way(problem, "network")
    if way == "matching":
        assert isinstance(problem, LevelledProblem)
        matched = len(problem.idle_replicas.values)
        yield "network", matched, tasks + len(problem.capacity), _BYTES_MATCHED
    elif way == "table":
        assert isinstance(problem, TabledProblem)
        yield "network", problem.pairs, len(problem.classes().first) + len(problem.idle_nodes), BYTES_A_PAIR
    else:
        taken = dense if way == "dense" else by_simplex if simplex_compiled(arcs) else with_highs
        yield "network", *taken[1:]
    yield with_highs
    yield by_simplex
    if not is_tiered(problem):
        yield dense


def _network_size(problem: AssignmentProblem) -> tuple[int, int]:
    """Arcs and vertices of the compact network, which is built only where it does not have all pairs."""
    if isinstance(problem, LevelledProblem) or (isinstance(problem, TabledProblem) and problem.near is not None):
        network = TransportNetwork(problem)
        return len(network.tail), len(network.supply)
    classes, nodes = len(problem.classes().first), int(np.count_nonzero(problem.capacity))
    tiers = sum(len(pool.tiers) for pool in problem.pools)
    return tiers + classes + classes * nodes + nodes, 2 + len(problem.pools) + classes + nodes


def _by_matching(problem: LevelledProblem) -> AssignmentSolution:
    near, local = problem.idle_homes  # other tasks have no data on a node with an idle slot
    matching = maximum_b_matching(local.starts, local.values, problem.capacity)
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    nodes[near] = matching.node
    fill_idle_slots(nodes, problem.capacity, problem.count)
    prices = _of_matching(problem, matching)
    return AssignmentSolution(nodes, "maximum matching", prices, solver={"name": "augmenting paths"})


def _of_matching(problem: LevelledProblem, matching: BMatching) -> Prices:
    """Prices that prove a matching: what it saves is what slots of the cover cost; nothing is, if all are local."""
    on_node, _, off_rack = problem.levels
    pools = np.array([problem.pools[0].tiers[0][0]], dtype=np.int64)
    if matching.size == problem.count:
        return Prices(on_node + int(pools[0]), np.zeros_like(problem.capacity), pools)
    return Prices(off_rack + int(pools[0]), (off_rack - on_node) * matching.node_cover.astype(np.int64), pools)


def near_data(problem: AssignmentProblem) -> Ints:
    """Tasks on their replicas' nodes while slots are free, first come, first served; the node of each, or -1."""
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    if not isinstance(problem, LevelledProblem):
        return nodes
    (tasks, homes), free = problem.idle_homes, problem.capacity.copy()
    for number in range(int(homes.lengths.max(initial=0))):
        asking = np.flatnonzero((nodes[tasks] == NONE) & (homes.lengths > number))
        wanted = homes.values[homes.starts[asking] + number]
        order = np.argsort(wanted, kind="stable")
        sorted_nodes = wanted[order]
        rank = np.arange(len(order)) - np.searchsorted(sorted_nodes, sorted_nodes)
        taken = order[rank < free[sorted_nodes]]
        nodes[tasks[asking[taken]]] = wanted[taken]
        free -= np.bincount(wanted[taken], minlength=len(free))
    return nodes


def fill_idle_slots(nodes: Ints, capacity: Ints, count: int) -> None:
    """Put unplaced tasks, in order, on the slots that are left, node by node, until `count` are placed; in place."""
    last = np.cumsum(capacity - np.bincount(nodes[nodes != NONE], minlength=len(capacity)))
    more = count - int(np.count_nonzero(nodes != NONE))
    nodes[np.flatnonzero(nodes == NONE)[:more]] = np.searchsorted(last, np.arange(more), side="right")


def is_tiered(problem: AssignmentProblem) -> bool:
    """Whether what a task costs depends on how many of its pool are placed."""
    return any(sum(1 for _, size in pool.tiers if size) > 1 for pool in problem.pools)


def _by_transport(problem: TabledProblem) -> AssignmentSolution:
    owner, node, units, prices = transport_table(problem)
    nodes = dealt(problem.classes(), np.repeat(owner, units), np.repeat(node, units))
    return AssignmentSolution(nodes, "optimal", prices, solver=compiler("network simplex on the table"))


def _by_dense(problem: AssignmentProblem) -> AssignmentSolution:
    import scipy

    began = time.perf_counter()
    if is_tiered(problem):
        raise UsageError(
            f'{problem.name}: route "dense" takes one cost a task, but here it depends on how many of its group are '
            'placed; use route "network"'
        )
    tasks, slots = len(problem.tasks), int(np.minimum(problem.capacity, problem.count).sum())
    what = f'{problem.place}: route "dense" would have a matrix of {tasks:,} tasks x {slots:,} slots'
    refuse_beyond(8 * tasks * slots, what, 'use route "network"')
    built = 0.0
    if isinstance(problem, TabledProblem):
        nodes = assign_table(problem)
    else:
        table, idle = _full_table(problem)
        built = time.perf_counter() - began
        columns = assign_dense(table, problem.capacity[idle], problem.count)
        nodes = np.where(columns >= 0, idle[columns], NONE)
    solver = {"name": "SciPy linear_sum_assignment", "version": scipy.__version__}
    return AssignmentSolution(nodes, "optimal", solver=solver, build_seconds=built)


def _full_table(problem: AssignmentProblem) -> tuple[Ints, Ints]:
    """Units of each task on each node with idle slots, with what its pool and the node add; and these nodes."""
    tasks, idle = len(problem.tasks), np.flatnonzero(problem.capacity > 0)
    constant = np.array([next((units for units, size in pool.tiers if size), 0) for pool in problem.pools])
    table = np.empty((tasks, len(idle)), dtype=np.int64)
    step = max(1, BLOCK // len(idle))
    for begin in range(0, tasks, step):
        rows = np.arange(begin, min(begin + step, tasks))
        units = problem.pair_units(np.repeat(rows, len(idle)), np.tile(idle, len(rows))).reshape(len(rows), len(idle))
        table[rows] = units + constant[problem.pool[rows], None]
    return table, idle


def _by_network(problem: AssignmentProblem, profile: Profile, engine: str) -> AssignmentSolution:
    began = time.perf_counter()
    network = TransportNetwork(problem, engine)
    check()
    built = time.perf_counter() - began
    found = solve_network(network.tail, network.head, network.capacity, network.cost, network.supply, profile, engine)
    nodes = None if found.flow is None else network.decode(found.flow)
    prices = None if found.potential is None else network.prices(found.potential)
    return found.answer(nodes, prices, built)


class NetworkSolution(NamedTuple):
    """The answer of an engine on a network.

    Attributes
    ----------
    flow
        int64, shape (arcs,): a flow of least cost; None where a limit struck first.
    potential
        int64, shape (vertices,): proves it, with cost - potential[tail] + potential[head] >= 0 on arcs with room.
    outcome
        How the engine ended.
    build_seconds
        Seconds until it began.
    """

    flow: Ints | None
    potential: Ints | None
    outcome: SolverOutcome
    build_seconds: float = 0.0

    def answer(self, nodes: Ints | None, prices: Prices | None = None, built: float = 0.0) -> AssignmentSolution:
        """The same of a problem whose network took `built` seconds, with flow and potential as nodes and prices."""
        limit, status, solver = self.outcome.limit, self.outcome.raw_status, self.outcome.solver
        return AssignmentSolution(nodes, status, prices, limit, solver, built + self.build_seconds)


def solve_network(
    tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints, profile: Profile, engine: str = "network"
) -> NetworkSolution:
    """Solve a network that has a flow.

    `engine` is `arrays` (HiGHS), `network-simplex` (`min_cost_flow`: compiled, or networkx for small instances), or
    `network`: the network simplex where it is compiled, else HiGHS.
    """
    if engine == "network-simplex" or (engine == "network" and simplex_compiled(len(tail))):
        result = min_cost_flow(tail, head, np.zeros_like(tail), capacity, cost, supply)
        assert result.potential is not None
        outcome = SolverOutcome(Termination.OPTIMAL, None, None, None, "optimal", 0.0, None, result.solver)
        return NetworkSolution(result.flow, -result.potential, outcome)
    began = time.perf_counter()
    program = network_program(tail, head, capacity, cost, supply)
    built = time.perf_counter() - began
    found = solve_network_program(program, profile)
    if found.outcome.status is not Termination.OPTIMAL or found.x is None or found.row_duals is None:
        return NetworkSolution(None, None, found.outcome, built)
    return NetworkSolution(whole_numbers(found.x), whole_prices(found.row_duals), found.outcome, built)


def network_program(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints) -> LinearProgram:
    """The linear program of a network: a column an arc, a row a vertex."""
    import scipy.sparse as sp  # which, as HiGHS, take longer to import than a matching takes

    from optsched.solvers.highs import LinearProgram

    arcs, vertices = len(tail), len(supply)
    columns = np.tile(np.arange(arcs), 2)
    rows = np.concatenate([tail, head])
    values = np.concatenate([np.ones(arcs), -np.ones(arcs)])
    right = supply.astype(np.float64)
    return LinearProgram(
        objective=cost.astype(np.float64),
        col_lower=np.zeros(arcs),
        col_upper=capacity.astype(np.float64),
        integer=np.zeros(arcs, dtype=bool),
        row_lower=right,
        row_upper=right,
        matrix=sp.csc_array((values, (rows, columns)), shape=(vertices, arcs)),
    )


def solve_network_program(program: LinearProgram, profile: Profile) -> ArraySolution:
    """A vertex of the program of a network.

    Presolve is off unless the profile asks for it: on these networks it takes up to forty times as long as the simplex
    method. Where HiGHS gives up ("Unknown", seen with costs of 10^13), it runs once more with costs divided by a power
    of two.
    """
    from optsched.solvers.highs import ArraySolution, solve_arrays

    check()
    profile = replace(profile, highs={"presolve": "off", **profile.highs})
    found = solve_arrays(program, profile)
    if found.outcome.status is not Termination.ERROR:
        return found
    scale = 2.0 ** max(0, math.frexp(float(np.abs(program.objective).max(initial=0.0)))[1] - _QUIET_BITS)
    found = solve_arrays(replace(program, objective=program.objective / scale), profile)
    outcome = found.outcome
    objective, bound = (None if claim is None else claim * scale for claim in (outcome.objective, outcome.bound))
    duals = (None if values is None else values * scale for values in (found.row_duals, found.col_duals))
    return ArraySolution(replace(outcome, objective=objective, bound=bound), found.x, *duals)


def cheapest_flow(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints, who: str) -> Ints:
    """The flow of least cost on each arc of a network, for schedulers that solve such a problem each round.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came while HiGHS ran.
    OptschedError
        If it gave up (memory). The message names `who` asked.
    OutOfTime
        If a deadline was past.
    """
    found = solve_network(tail, head, capacity, cost, supply, _EXACT)
    return _unless_stopped(found.flow, found.outcome, who)


def cheapest_from(problem: AssignmentProblem, nodes: Ints) -> Ints:
    """The node of each of `problem.tasks`, or -1, in an optimal placement, from one that is nearly so.

    Solvers in floating point are a tolerance away where costs are near 2^53.
    """
    network = TransportNetwork(problem)
    none = np.zeros_like(network.tail)
    columns = network.tail, network.head, none, network.capacity, network.cost
    return network.decode(cheapened(*columns, network.flow_of(nodes), len(network.supply)))


def prices_of(problem: AssignmentProblem, placement: Placement) -> Prices | None:
    """Prices that prove a placement optimal, from shortest paths in its residual network; None if it is not optimal.

    They are exact integers (Bellman-Ford) for a placement of any origin. There is at most one pass over the arcs for
    each vertex.
    """
    if not problem.count:
        return Prices(0, np.zeros_like(problem.capacity), np.zeros(len(problem.pools), dtype=np.int64))
    if isinstance(problem, TabledProblem) and (problem.near is None or is_tabled(problem)):
        return table_prices(problem, problem.nodes_of(placement))
    network = TransportNetwork(problem)
    none, flow = np.zeros_like(network.tail), network.flow_of(problem.nodes_of(placement))
    columns = network.tail, network.head, none, network.capacity, network.cost
    distance = residual_potentials(*columns, flow, len(network.supply))
    return None if distance is None else network.prices(-distance)
