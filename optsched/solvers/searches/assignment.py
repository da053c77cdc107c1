"""Assignment problems by the network of their program, by a maximum matching, or by a table of costs.

The program counts tasks that nothing distinguishes, in racks and anywhere if only that matters. So the number of arcs
of its network grows with the replicas, not with tasks times nodes. Flows are placements, and potentials become the
prices with which `AssignmentProblem.price_bound` proves the optimum in integers.

`nearest_optimum` finds the optimum that moves the fewest tasks of a given placement. One optimum determines which flows
of the network are optimal: by its potentials an arc carries nothing, or its full capacity, or is free. The free part is
a network again, with a reward for each task that stays where it is. Its costs are 0, 1 and -1, however large those of
the problem are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optsched.core.arrays import rank_among
from optsched.core.deadline import check
from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import Ints, Ragged
from optsched.core.network import FlowNetwork
from optsched.core.placement import NONE, Placement
from optsched.core.processes.limits import refuse_beyond
from optsched.core.results import Limit
from optsched.problems.assignment import (
    BLOCK,
    BYTES_A_PAIR,
    AssignmentProblem,
    LevelledProblem,
    TabledProblem,
)
from optsched.problems.base import expect_recorded
from optsched.problems.counted_places import Level, Places
from optsched.solvers.compiled import compiler
from optsched.solvers.matching import maximum_b_matching
from optsched.solvers.networks import bytes_an_arc, simplex_compiled
from optsched.solvers.profiles import AnyProfile, Profile, load_profile
from optsched.solvers.searches.program_network import NetworkSolution, ProgramNetwork, cheapest_flow, unless_stopped
from optsched.solvers.searches.tabled_assignment import (
    Prices,
    assign_table,
    is_tabled,
    is_transported,
    table_prices,
    transport_table,
)
from optsched.solvers.tables import assign_dense

_EXACT = Profile("exact")

#: Measured bytes per arc with HiGHS, and per accepted node of a task in a matching.
_BYTES_WITH_HIGHS, _BYTES_MATCHED = 520, 60


@dataclass(frozen=True)
class AssignmentSolution:
    """The answer of an engine: the node of each of `problem.tasks` or -1, None if a limit came first.

    `prices` prove the optimum; None if the engine gives none. `limit` stopped it. `build_seconds` is the time until the
    engine began.
    """

    nodes: Ints | None
    raw_status: str
    prices: Prices | None = None
    limit: Limit | None = None
    solver: Mapping[str, Any] = field(default_factory=dict)
    build_seconds: float = 0.0

    @classmethod
    def of(cls, found: NetworkSolution, nodes: Ints | None, prices: Prices | None, built: float) -> AssignmentSolution:
        """The answer of an engine on a network that took `built` seconds."""
        limit, status, solver = found.outcome.limit, found.outcome.raw_status, found.outcome.solver
        return cls(nodes, status, prices, limit, solver, built + found.build_seconds)


#: The rows of an assignment program from the source and from the sink inwards; areas are wider than racks.
_SUPPLIES = ("pool_tiers", "group_steps", "class_supply")
_WORDS = {"pool_tiers": "pool", "class_supply": "class", "node_slots": "node", "rack_slots": "rack"}


def network_of(
    problem: AssignmentProblem, places: Places | None = None, engine: str = "network-simplex"
) -> ProgramNetwork:
    """The network of an assignment problem's program.

    `places`: those of the network, if not the problem's own (`network_places`). `engine`: the engine for which the
    network is made; a network that does not fit into memory with it is refused.
    """
    expect_recorded(problem, "routes", "the networks know")
    check()
    if places is None:
        if not _has_areas(problem):
            _refuse_pairs(problem, engine)
        places = problem.network_places
    program = problem.with_places(places).program()
    slots = [family.name for family in program.rows if family.name.endswith("_slots")]
    return ProgramNetwork(program, _SUPPLIES, slots[::-1], problem.count)


def _has_areas(problem: AssignmentProblem) -> bool:
    """Whether the network grows with the replicas: it does not have all pairs of a class and a node."""
    return isinstance(problem, LevelledProblem) or (isinstance(problem, TabledProblem) and problem.near is not None)


def _refuse_pairs(problem: AssignmentProblem, engine: str) -> None:
    """Refuse a network of all pairs of a class and a node that would not fit into memory."""
    classes, nodes = len(problem.classes().first), int(np.count_nonzero(problem.capacity))
    arcs = classes * nodes
    by_highs = engine == "arrays" or (engine == "network" and not simplex_compiled(arcs))
    sizes = f"{classes:,} kinds of tasks x {nodes:,} nodes"
    what = f"{problem.place}: a network of {sizes} would have {arcs:,} arcs"
    other = "" if engine == "network" else 'use route "network", which needs none where slots are few, or '
    size = arcs * (_BYTES_WITH_HIGHS if by_highs else bytes_an_arc(arcs))
    refuse_beyond(size, what, f"{other}take fewer tasks or nodes")


def decoded(problem: AssignmentProblem, network: ProgramNetwork, values: Ints) -> Ints:
    """The node of each of `problem.tasks` (or -1) for values of the network's program."""
    posed = problem.with_places(problem.network_places)
    return problem.nodes_of(posed.decision_of(values, network.program))


def _started(problem: AssignmentProblem, network: ProgramNetwork, placement: Placement) -> Ints:
    return problem.with_places(problem.network_places).values_of(placement, network.program)


def _prices(problem: AssignmentProblem, network: ProgramNetwork, potential: Ints) -> Prices:
    """Prices from potentials with cost - potential[tail] + potential[head] >= 0 on arcs with room.

    The price of a slot is the sum of the prices of all areas that contain it.
    """
    nodes = np.zeros(len(problem.capacity), dtype=np.int64)
    slots = [family.name for family in network.families if family.name not in _SUPPLIES]
    for level, name in zip(problem.network_places.levels, reversed(slots), strict=False):
        own = np.zeros(len(level.ids) + 1, dtype=np.int64)  # the last entry is for nodes without an area
        own[np.unique(level.areas.values)] = np.maximum(network.falls(potential, name), 0)
        nodes += own[level.of_node]
    pools = np.array([next((units for units, size in pool.tiers if size), 0) for pool in problem.pools], dtype=np.int64)
    index = {pool.name: position for position, pool in enumerate(problem.pools)}
    tiered = next((family for family in network.families if family.name == "pool_tiers"), None)
    if tiered is not None:
        pools[[index[name] for (name,) in tiered.labels]] = network.falls(potential, "pool_tiers")
    return Prices(int(potential[0] - potential[network.sink]), nodes, pools)


def compact_network(problem: AssignmentProblem) -> FlowNetwork:
    """The compact network of an assignment problem as a noun, with costs in units of the problem's grid."""
    network = network_of(problem)
    unit = f"costs in units of 1/{problem.grid}" if problem.grid > 1 else "costs as they are"
    labels = [
        " ".join([_WORDS.get(family.name, "level"), *label]) for family in network.families for label in family.labels
    ]
    return FlowNetwork(
        np.array(["source", *labels, "sink"]),
        network.tail,
        network.head,
        capacity=network.capacity,
        cost=network.cost,
        supply=network.supply,
        name=f"{problem.instance.name} {problem.name}, {unit}",
    )


def optimal_placement(problem: AssignmentProblem) -> Placement:
    """An optimal placement without a proof, for schedulers that solve such a problem in each round.

    KeyboardInterrupt if Ctrl-C came while the engine ran. OptschedError if the engine gave up (memory). OutOfTime if a
    deadline had passed.
    """
    solution = solve_assignment(problem)
    return problem.placement(unless_stopped(solution.nodes, solution.limit, solution.raw_status, problem.name))


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

    `engine` is `network`: a maximum b-matching if that suffices; if costs are a table, the transportation problem if it
    is large (`is_transported`), or SciPy's assignment of tasks to slots (`is_tabled`); else the compact network, by a
    network simplex if it is large and kernels compile, or as `arrays`. `arrays`: the compact network's linear program
    with HiGHS. `network-simplex`: the same network by a network simplex, by that of networkx if it is small or kernels
    do not compile. `dense`: SciPy's assignment of tasks to slots, for small instances, not for pools with several
    tiers.

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
        owner, node, units, prices = transport_table(problem)
        nodes = problem.classes().dealt(np.repeat(owner, units), np.repeat(node, units))
        return AssignmentSolution(nodes, "optimal", prices, solver=compiler("network simplex on the table"))
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
    """For each engine the size of its program: variables, constraints, and bytes per variable.

    >>> import optsched
    >>> for row in sizes(optsched.problem("lsap", "papers/guo-fig2")):
    ...     print(*row)
    network 6 6 60
    arrays 15 8 520
    network-simplex 15 8 1000
    dense 9 6 8
    """
    if _has_areas(problem):
        network = network_of(problem)
        arcs, vertices = len(network.tail), len(network.supply)
    else:
        classes, nodes = len(problem.classes().first), int(np.count_nonzero(problem.capacity))
        arcs, vertices = classes + classes * nodes + nodes, 2 + classes + nodes
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


def _by_matching(problem: LevelledProblem) -> AssignmentSolution:
    near, local = problem.idle_homes  # other tasks have no data on a node with an idle slot
    matching = maximum_b_matching(local.starts, local.values, problem.capacity)
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    nodes[near] = matching.node
    fill_idle_slots(nodes, problem.capacity, problem.count)
    # The matching saves what slots of its cover cost; nothing, if all are local.
    on_node, _, off_rack = problem.levels
    pools = np.array([problem.pools[0].tiers[0][0]], dtype=np.int64)
    prices = Prices(off_rack + int(pools[0]), (off_rack - on_node) * matching.node_cover.astype(np.int64), pools)
    if matching.size == problem.count:
        prices = Prices(on_node + int(pools[0]), np.zeros_like(problem.capacity), pools)
    return AssignmentSolution(nodes, "maximum matching", prices, solver={"name": "augmenting paths"})


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
        taken = order[rank_among(sorted_nodes) < free[sorted_nodes]]
        nodes[tasks[asking[taken]]] = wanted[taken]
        free -= np.bincount(wanted[taken], minlength=len(free))
    return nodes


def fill_idle_slots(nodes: Ints, capacity: Ints, count: int) -> None:
    """Put unplaced tasks, in order, on the remaining slots, node by node, until `count` are placed; in place."""
    last = np.cumsum(capacity - np.bincount(nodes[nodes != NONE], minlength=len(capacity)))
    more = count - int(np.count_nonzero(nodes != NONE))
    nodes[np.flatnonzero(nodes == NONE)[:more]] = np.searchsorted(last, np.arange(more), side="right")


def is_tiered(problem: AssignmentProblem) -> bool:
    """Whether a task's cost depends on how many tasks of its pool are placed."""
    return any(sum(1 for _, size in pool.tiers if size) > 1 for pool in problem.pools)


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
    """Units of each task on each node with idle slots, with the costs of its pool and the node; and these nodes."""
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
    network = network_of(problem, engine=engine)
    check()
    built = time.perf_counter() - began
    found = network.solved(profile, engine)
    nodes = None if found.flow is None else decoded(problem, network, network.values(found.flow))
    prices = None if found.potential is None else _prices(problem, network, found.potential)
    return AssignmentSolution.of(found, nodes, prices, built)


def cheapest_from(problem: AssignmentProblem, nodes: Ints) -> Ints:
    """The node of each of `problem.tasks`, or -1, in an optimal placement, found from one that is nearly optimal.

    Solvers in floating point are a tolerance off if costs are near 2^53.
    """
    network = network_of(problem)
    return decoded(problem, network, network.cheapened(_started(problem, network, problem.placement(nodes))))


def prices_of(problem: AssignmentProblem, placement: Placement) -> Prices | None:
    """Prices that prove a placement optimal, from shortest paths in its residual network; None if it is not optimal.

    They are exact integers (Bellman-Ford) for a placement from any source. There is at most one pass over the arcs for
    each vertex.
    """
    if not problem.count:
        return Prices(0, np.zeros_like(problem.capacity), np.zeros(len(problem.pools), dtype=np.int64))
    if isinstance(problem, TabledProblem) and (problem.near is None or is_tabled(problem)):
        return table_prices(problem, problem.nodes_of(placement))
    network = network_of(problem)
    potential = network.proved(_started(problem, network, placement))
    return None if potential is None else _prices(problem, network, potential)


# The nearest optimum --------------------------------------------------------------------------------------------------


def nearest_optimum(problem: AssignmentProblem, here: Ints, there: Ints) -> Ints | None:
    """An optimum that keeps as many tasks as possible where `here` has them, up to swaps of tasks of a class.

    If the problem has further components, it places as many tasks of each pool as `there` does, which keeps their
    values. `here`, `there` and the result: node or -1 of each of `problem.tasks`, int64; some are placed. None if
    `there` is not optimal, or the network does not fit into memory.

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
    # A waiting task that must run moves; a placed one that stays does not, and a unit is given back for it.
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

    For a table without levels: only the pairs of some optimum; None if `there` is no optimum.
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
    """Class and node of the pairs that occur in some optimum, by the prices of one; None if `there` is none."""
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
