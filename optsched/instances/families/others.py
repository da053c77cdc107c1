"""Our own families: problems beyond the five papers, and instances whose optimum is known by construction.

Generalized assignment follows OR-Library's files (Chu, Beasley): drawn demands and costs, scarce capacities; `optsched
import orlib-gap` reads the published files. Flow networks have arcs with bounds and costs around a flow that is drawn
first. They have what others' files have and a placement's network lacks: parallel arcs, negative costs, arcs without a
limit, lower bounds.

The docstring of each draw with a known optimum has the proof. The optimum is in the instance's labels,
`optimum.<problem>`, for the problem's default parameters; `optsched.instances.generate.known_optimum` reads it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np

from optsched.core.instance import Bools, Cluster, Ints, Pairs, Ragged, State, Workload
from optsched.core.network import UNBOUNDED, FlowNetwork
from optsched.instances.families.base import (
    Drawn,
    Family,
    Setting,
    distinct_nodes,
    in_blocks,
    numbered,
    optimum_label,
    replica_counts,
    require,
    require_distinct,
    settings,
    share,
    some,
)
from optsched.instances.families.guo import locality_cluster, locality_sizes, one_job_a_group
from optsched.instances.families.labl import LOADS, W_REM, initial_loads

#: Type C: uniform costs and demands, both ends included.
_COSTS, _DEMANDS = (10, 50), (5, 25)

#: Type E: a demand is 1 - 10 log(u), a cost is 1000 over the demand, less a drawn number up to this one.
_LONG, _PRODUCT, _LESS = 10, 1000, 10

#: Type D: demands, and the largest difference between the sum of a pair's cost and demand and their constant.
_WIDE_DEMANDS, _SUM, _AWAY = (1, 100), 111, (-10, 10)


def _draw(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(5, "nodes (agents)", 1, 10**4)],
    tasks: Annotated[int, Setting(30, "pending tasks (jobs); the files have 15 to 200", 0, 10**5)],
    tightness: Annotated[
        float, Setting(0.8, "capacity of each node, of what an equal part of all tasks would take", 0, 10)
    ],
    correlated: Annotated[
        int,
        Setting(0, "dear pairs take little in 1 (type D) and 2 (type E), which are hard; 0: type C", choices=(0, 1, 2)),
    ],
    resources: Annotated[int, Setting(1, "resources that a task takes", 1, 100, later=True)],
    barred: Annotated[float, share("pairs that are not allowed")],
) -> Drawn:
    """Whole numbers; a node's capacity is `tightness` times the demand of all tasks there, over the number of nodes."""
    shape = tasks, nodes
    if correlated == 2:
        demand = np.rint(1 - _LONG * np.log(1 - rng.random(size=shape)))
        cost = np.rint(_PRODUCT / demand - _LESS * rng.random(size=shape))
    elif correlated:
        demand = rng.integers(*_WIDE_DEMANDS, size=shape, endpoint=True)
        cost = _SUM - demand + rng.integers(*_AWAY, size=shape, endpoint=True)
    else:
        demand = rng.integers(*_DEMANDS, size=shape, endpoint=True)
        cost = rng.integers(*_COSTS, size=shape, endpoint=True)
    demands = {"weight": demand.astype(np.float64)}
    for number in range(2, resources + 1):
        demands[f"weight-{number}"] = rng.integers(*_DEMANDS, size=shape, endpoint=True).astype(np.float64)
    capacity = {name: np.floor(tightness * column.sum(axis=0) / nodes) for name, column in demands.items()}
    cluster = Cluster(numbered("n", nodes), capacity=capacity)
    allowed = None if not barred else ~some(rng, tasks * nodes, barred).reshape(shape)
    workload = Workload(
        numbered("t", tasks), pairs=Pairs(cost=cost.astype(np.float64), demand=demands, allowed=allowed)
    )
    labels = {
        "pairs": f"drawn as type {'CDE'[correlated]} of OR-Library's files; no cluster has these numbers",
        "feasible": "not known: scarce capacities may leave no placement",
    }
    return Drawn(cluster, workload, State.initial(cluster, workload), labels)


def _network(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(20, "nodes", 2, 10**6)],
    arcs: Annotated[int, Setting(80, "arcs, between different nodes")],
    units: Annotated[int, Setting(9, "the drawn flow, and the room above it, is 0 to this on each arc", 0, 10**6)],
    cost: Annotated[int, Setting(20, "costs of arcs with a limit are uniform from minus this to this", 0, 10**6)],
    parallel: Annotated[float, Setting(0.2, "share of the arcs that have the ends of another one", 0, 1)],
    unbounded: Annotated[float, Setting(0.2, "chance of an arc to have no limit", 0, 1)],
    bounded_below: Annotated[
        float, Setting(0.2, "chance of an arc to have a lower limit, of 0 to the drawn flow", 0, 1)
    ],
) -> FlowNetwork:
    """Supplies and bounds fit a drawn flow of 0 to `units` on each arc.

    An arc without a limit costs a number that is not negative, plus the potential of its tail less that of its head. So
    such arcs may have negative costs, but no cycle of them has. The costs of the others are uniform.
    """
    twins = max(0, min(int(parallel * arcs), arcs - 1))
    tail = rng.integers(0, nodes, size=arcs - twins)
    head = (tail + rng.integers(1, nodes, size=arcs - twins)) % nodes
    copied = rng.integers(0, max(arcs - twins, 1), size=twins)
    tail, head = np.append(tail, tail[copied]), np.append(head, head[copied])

    flow = rng.integers(0, units, size=arcs, endpoint=True)
    lower: Ints = np.where(rng.random(arcs) < bounded_below, rng.integers(0, flow, endpoint=True), 0)
    free = rng.random(arcs) < unbounded
    capacity = np.where(free, UNBOUNDED, flow + rng.integers(0, units, size=arcs, endpoint=True))

    potential = rng.integers(0, cost, size=nodes, endpoint=True)
    slack = rng.integers(0, cost, size=arcs, endpoint=True)
    limited = rng.integers(-cost, cost, size=arcs, endpoint=True)
    costs = np.where(free, slack + potential[tail] - potential[head], limited)

    supply = np.zeros(nodes, dtype=np.int64)
    np.add.at(supply, tail, flow)
    np.subtract.at(supply, head, flow)
    labels = {
        "feasible": "by construction: supplies and bounds are drawn round a flow",
        "bounded": "by construction: no cycle of arcs without a limit has a negative cost",
    }
    return FlowNetwork(numbered("n", nodes), tail, head, lower, capacity, costs, supply, labels=labels)


# Optima known by construction ----------------------------------------------------------------------------------------


def _covered_replicas(
    rng: np.random.Generator, hot: Bools, room: Ints, cold: int, tasks: int, replicas: int
) -> tuple[Ragged, Ints]:
    """Replicas with which at most `cold` + the room of the hot nodes tasks can be local at once; and the node on which
    each task is local in a planted placement of that size (-1: none).

    Each node has `room` places for local tasks. `cold` tasks are planted on different places outside the hot nodes, and
    have any further replicas. All others have replicas only on hot nodes, and fill the hot nodes' room. If there are at
    least that many others, the hot nodes' places and the cold tasks are a vertex cover of the graph of places and
    tasks, and the planted placement is a matching of the same size: both are optimal (König).
    """
    filled = np.repeat(np.flatnonzero(hot), room[hot])
    outside = rng.permutation(np.repeat(np.flatnonzero(~hot), room[~hot]))[:cold]
    planted = np.concatenate((outside, filled, np.full(tasks - cold - len(filled), -1)))
    counts = replica_counts(rng, tasks, replicas)
    nodes_hot = np.flatnonzero(hot)
    counts[cold:] = np.minimum(counts[cold:], len(nodes_hot))
    first = planted.copy()
    lost = planted < 0
    if lost.any():
        first[lost] = rng.choice(nodes_hot, size=int(lost.sum()))
    anywhere = distinct_nodes(rng, counts[:cold], len(hot), first=first[:cold])
    within = distinct_nodes(rng, counts[cold:], nodes_hot, first=np.searchsorted(nodes_hot, first[cold:]))
    rows = Ragged.of_lengths(counts, np.concatenate((anywhere.values, within.values)))
    order = rng.permutation(tasks)
    return rows.take(order), planted[order]


def _hot_nodes(rng: np.random.Generator, room: Ints, budget: int) -> Bools:
    """Random nodes, at least one and at most about half of them, with a total room of at most `budget`."""
    order = rng.permutation(len(room))[: max(1, len(room) // 2)]
    order = order[np.cumsum(room[order]) <= budget // 2]
    if not len(order):
        order = np.argmin(room, keepdims=True)
        require(room[order[0]] <= budget, "remote is too large: no node is small enough for the other tasks to fill it")
    hot = np.zeros(len(room), dtype=bool)
    hot[order] = True
    return hot


def _locality(rng: np.random.Generator, idle: Ints, tasks: int, replicas: int, remote: int) -> tuple[Ragged, Ints, int]:
    """`_covered_replicas` with which exactly `remote` placed tasks must be remote; and how many are placed."""
    require_distinct(replicas, len(idle))
    placed = min(tasks, int(idle.sum()))
    require(
        remote <= placed,
        f"remote is {remote}; it must be at most {placed}, the tasks that {idle.sum()} idle slots can hold",
    )
    hot = np.zeros(len(idle), dtype=bool)
    if remote or tasks > placed:
        hot = _hot_nodes(rng, idle, placed - remote)
    cold = placed - remote - int(idle[hot].sum())
    return *_covered_replicas(rng, hot, idle, cold, tasks, replicas), placed


def _planted_lsap(
    rng: np.random.Generator, *, nodes: int, slots: int, idle_ratio: float, tasks: int, replicas: int, remote: int
) -> Drawn:
    """Optimum of `lsap` = `remote`.

    min(tasks, idle slots) tasks run. At most as many are local as the vertex cover of `_covered_replicas` has elements:
    the hot nodes' idle slots and the cold tasks, together the placed tasks less `remote`. Its planted placement attains
    that, and puts the remaining tasks on the remaining slots.
    """
    cluster, idle = locality_cluster(rng, nodes, slots, idle_ratio)
    rows, _, _ = _locality(rng, idle, tasks, replicas, remote)
    workload = Workload(numbered("t", tasks), replicas=rows)
    labels = {"optimum.lsap": optimum_label(remote)}
    return Drawn(cluster, workload, State.initial(cluster, workload, idle_slots=idle), labels)


#: Guo et al.'s default alpha, and the fairness costs of `_planted_fair` with the default GFC and beta.
_ALPHA, _HALF_USED, _OVERFLOW = 50, 100, 202


def _planted_fair(rng: np.random.Generator, *, nodes: int, slots: int, tasks: int, replicas: int, remote: int) -> Drawn:
    """Optimum of `fair-lsap` = 100 u + 202 v + 50 `remote`, where u tasks of group g2 and v of group g3 run.

    Weights are 1/4, 1/2, 1/4. Half of the A slots are busy: a quarter with g2, a quarter with g3. So g1 uses nothing
    (GFC 100 s/w = 0), g2 half of the busy slots (GFC 100), and so does g3 (GFC 200). The rations A w - rt are A/4, A/4,
    0. There are at most A/4 pending tasks of g1 and of g2, so all of them are within the rations. Every one of g3 is
    beyond it, at beta w = (1.01 x 200 / (1/4)) / 4 = 202. Two bounds hold for any placement of the required number of
    tasks. Its fairness cost is at least that of the cheapest tasks of that number. At least `remote` tasks are not
    local (as in `planted-lsap`), each at alpha = 50. The planted placement attains both at once: it runs all of g1 and
    g2, and leaves out only tasks of g3.
    """
    total = nodes * slots
    require(total % 4 == 0, f"nodes x slots is {total}; it must be a multiple of 4, for the groups' shares to be whole")
    cluster, idle = locality_cluster(rng, nodes, slots, 0.5)
    rows, planted, placed = _locality(rng, idle, tasks, replicas, remote)
    quarter = total // 4
    runs = planted >= 0
    runs[rng.permutation(np.flatnonzero(~runs))[: placed - int(runs.sum())]] = True
    most = min(quarter, placed // 2)
    first, second = rng.integers(most // 2, most, size=2, endpoint=True).tolist()
    group = np.full(tasks, 2)
    chosen = rng.permutation(np.flatnonzero(runs))
    group[chosen[:first]] = 0
    group[chosen[first : first + second]] = 1
    workload = one_job_a_group(rows, group, 3, group_weight=np.array([1.0, 2.0, 1.0]))
    running = np.array([0, quarter, quarter])
    cost = _HALF_USED * second + _OVERFLOW * (placed - first - second) + _ALPHA * remote
    labels = {"optimum.lsap": optimum_label(remote), "optimum.fair-lsap": optimum_label(cost)}
    state = State.initial(cluster, workload, idle_slots=idle, group_running_tasks=running)
    return Drawn(cluster, workload, state, labels)


def _planted_latency(
    rng: np.random.Generator, *, nodes: int, max_load: int, makespan: int, replicas: int, remote: int
) -> Drawn:
    """Optimum of `latency` = (`makespan`, tasks + 2 `remote`), with w_loc 1 and w_rem 3.

    With L the makespan, a server of load phi has room for max(0, L - phi) units of work. Local tasks and `remote`
    remote ones, each of 3 units on a cold server, fill all room exactly; the replicas are those of `_covered_replicas`.
    Within L at most (hot room + cold tasks) = tasks - `remote` are local, so the work is at least tasks + 2 `remote`,
    which the planted placement has. With a smaller makespan no more tasks can be local, so the work is as large, but
    the room is smaller than the work: infeasible.
    """
    require_distinct(replicas, nodes)
    loads = initial_loads(rng, nodes, max_load)
    room = np.maximum(0, makespan - loads).astype(np.int64)
    places = room // W_REM
    held = int(places.sum())
    require(remote <= held, f"remote is {remote}; it must be at most {held}: that is all the servers' room at makespan")
    hot = _hot_nodes(rng, places, held - remote) if remote else np.zeros(nodes, dtype=bool)
    places[hot] = 0
    given = rng.permutation(np.repeat(np.arange(nodes), places))[:remote]
    room -= W_REM * np.bincount(given, minlength=nodes)
    tasks = int(room.sum()) + remote
    rows, _ = _covered_replicas(rng, hot, room, int(room[~hot].sum()), tasks, replicas)
    cluster = Cluster(numbered("n", nodes))
    workload = Workload(numbered("t", tasks), replicas=rows)
    labels = {"load": LOADS, "optimum.latency": optimum_label(makespan, tasks + (W_REM - 1) * remote)}
    return Drawn(cluster, workload, State.initial(cluster, workload, load=loads), labels)


#: Capability of every node of `_planted_flow`, MB/s: a power of 2, so that all costs are exact in the problem's grid.
_RATE = 64

#: f_c of two nodes in one rack, the default of the problem `flow`.
_IN_RACK = Fraction(1, 10)


def _planted_flow(rng: np.random.Generator, *, nodes: int, racks: int, tasks: int, slots: int, replicas: int) -> Drawn:
    """Optimum of `flow` = sum over tasks of R_t (2 + f_c(rack) + q_t) + sum over k of R_(k) e_(k).

    q_t is the least r_out/R_out among the task's storage nodes. R_(1) >= R_(2) >= ... are the tasks' rates, and e_(1)
    <= e_(2) <= ... the slots' effective loads e_m/R_in. Storage nodes have no slots, so no task is nearer to its block
    than in its rack: its read term is at least q_t + f_c(rack). The load terms are a sum of R_t e over different slots.
    It is at least that of the largest rate with the smallest load, and so on (rearrangement inequality). The planted
    placement takes the tasks in this order. Each task's least loaded source is put into the rack of the node that it
    takes, so both bounds are attained at once.

    Rates are multiples of 10, loads and capabilities are whole, capabilities powers of 2, and all that runs on one node
    has one rate (its deviation is 0). So every cost is a multiple of 1/64, and the optimum exact.
    """
    require(
        replicas <= racks,
        f"replicas is {replicas}; it must be at most racks ({racks}): one storage node stands in each",
    )
    require(racks <= nodes, f"racks is {racks}; it must be at most nodes ({nodes}): each needs a compute node")
    require(tasks <= nodes * slots, f"tasks is {tasks}; it must be at most nodes x slots = {nodes * slots}")
    node_rack = in_blocks(nodes, racks)
    busy, rate = rng.integers(0, 4, size=nodes), rng.integers(1, 16, size=nodes)
    out_in_use = rng.integers(0, _RATE, size=racks, endpoint=True)
    cluster = Cluster(
        np.concatenate((numbered("n", nodes), numbered("s", racks))),
        rack=np.concatenate((node_rack, np.arange(racks))),
        rack_ids=numbered("r", racks),
        slots=np.concatenate((slots + busy, np.zeros(racks, dtype=np.int64))),
        reduce_slots=np.repeat([1, 0], [nodes, racks]),
        rate_in=np.full(nodes + racks, float(_RATE)),
        rate_out=np.full(nodes + racks, float(_RATE)),
    )
    load = np.repeat(busy * rate, slots)  # e_m of each slot, in units of R_in/64
    taken = np.argsort(load, kind="stable")[:tasks]
    demand = -np.sort(-10 * rng.integers(1, 9, size=tasks))
    source = node_rack[taken // slots]
    rows = distinct_nodes(rng, replica_counts(rng, tasks, replicas), racks, first=source)
    rows = rows.kept(out_in_use[rows.values] >= out_in_use[source[rows.row_of]])  # those at least as busy
    units = demand * (2 * _RATE + out_in_use[source] + load[taken])
    total = Fraction(int(units.sum()), _RATE) + _IN_RACK * int(demand.sum())
    order = rng.permutation(tasks)
    workload = Workload(
        numbered("t", tasks),
        replicas=Ragged(rows.starts, rows.values + nodes).take(order),
        rate_in=demand[order].astype(np.float64),
    )
    state = State.initial(
        cluster,
        workload,
        idle_slots=np.repeat([slots, 0], [nodes, racks]),
        out_in_use=np.concatenate((np.zeros(nodes), out_in_use)),
        running_rates=Ragged.of_lengths(busy, np.repeat(rate, busy).astype(np.float64)).padded(racks),
    )
    return Drawn(cluster, workload, state, {"optimum.flow": optimum_label(total)})


_REMOTE = "tasks that no placement can make local"


FAMILIES = (
    Family(
        "generalized-assignment",
        "OR-Library.",
        "Costs and demands of each pair drawn as in OR-Library's types C to E, capacities a share of the demand.",
        settings(_draw),
        _draw,
    ),
    Family(
        "min-cost-flow",
        "",
        "A flow network with a feasible flow: parallel arcs, negative costs, arcs without a limit, lower bounds.",
        settings(_network),
        _network,
    ),
    Family(
        "planted-lsap",
        "",
        "The given number of tasks is off its data in a planted placement; no placement has fewer.",
        {**locality_sizes(100, 2, 0.5, 80, 3), "remote": Setting(7, _REMOTE)},
        _planted_lsap,
    ),
    Family(
        "planted-fair-lsap",
        "",
        "Three groups, one starved and one beyond its share; fairness and locality attain their bounds together.",
        {
            "nodes": Setting(60, "nodes", 1, 10**6),
            "slots": Setting(2, "slots of each node, half of them idle on average", 1, 1000),
            "tasks": Setting(90, "pending tasks", 1),
            "replicas": Setting(3, "most replicas of a block: 1 to this", 1, 1000),
            "remote": Setting(5, _REMOTE),
        },
        _planted_fair,
    ),
    Family(
        "planted-latency",
        "",
        "Tasks fill all servers exactly up to the given makespan, the given number of them remote.",
        {
            "nodes": Setting(100, "servers", 1, 10**6),
            "max_load": Setting(5, "initial loads are integers from 0 to this, in units of work"),
            "makespan": Setting(8, "least makespan, in units of work", 1, 10**6),
            "replicas": Setting(4, "most replicas of a block: 1 to this", 1, 1000),
            "remote": Setting(12, _REMOTE),
        },
        _planted_latency,
    ),
    Family(
        "planted-flow",
        "",
        "Costs of reading and of load that attain their bounds in one planted placement.",
        {
            "nodes": Setting(20, "compute nodes", 1, 10**6),
            "racks": Setting(4, "racks, each with one storage node", 1, 10**5),
            "tasks": Setting(50, "pending maps, at most one a slot", 1),
            "slots": Setting(4, "idle slots of each compute node", 1, 1000),
            "replicas": Setting(2, "most replicas of a block, on storage nodes: 1 to this", 1, 1000),
        },
        _planted_flow,
    ),
)
