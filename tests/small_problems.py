"""Problems small enough to try every decision: of each class by hand, one of each record; and their Pareto fronts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import optsched
from optsched.core.instance import MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, Pairs, Ragged, State, Workload
from optsched.core.network import FlowNetwork
from optsched.core.problem_record import imported
from optsched.core.registry import record, record_of, records
from optsched.core.results import Value
from optsched.instances.generate import generate
from optsched.problems import (
    AnyProblem,
    GeneralizedAssignment,
    Lsap,
    LsapFairness,
    MinCostFlow,
    Problem,
    Traffic,
    WorstGroup,
    problem,
)
from optsched.problems.utility import Utility
from optsched.problems.utility_program import TaskPrices
from optsched.solvers.searches.enumeration import best_placement


def small(
    rows: list[list[int]],
    slots: list[int] | None = None,
    loads: list[int] | None = None,
    name: str = "small",
    **columns: Any,
) -> Instance:
    """Tasks t0, t1, ... with the given replicas on nodes n0, n1, ... with the given slots, by default one a task."""
    slots = [1] * len(rows) if slots is None else slots
    cluster = Cluster([f"n{node}" for node in range(len(slots))], slots=slots)
    workload = Workload([f"t{task}" for task in range(len(rows))], replicas=Ragged.from_rows(rows), **columns)
    return Instance(cluster, workload, State.initial(cluster, workload, load=loads), name=name)


def latency_at_scale(servers: int, tasks: int, seed: int) -> Instance:
    """Agosta et al., section 4: loads 0 to 5, 1 to 4 replicas."""
    rng = np.random.default_rng(seed)
    loads = rng.integers(0, 5, size=servers, endpoint=True).tolist()
    counts = rng.integers(1, 4, size=tasks, endpoint=True).tolist()
    rows = [rng.choice(servers, size=count, replace=False).tolist() for count in counts]
    return small(rows, [1] * servers, loads)


FIGURE_2 = small([[0, 1, 2], [0, 1], [0]], [1, 1, 1])


def racked(idle: list[int], rows: list[list[int]], **parameters: Any) -> Lsap:
    """Tasks with the given replicas on nodes a, b in rack r1, c in r2, and d in none."""
    cluster = Cluster(["a", "b", "c", "d"], rack=[0, 0, 1, -1], rack_ids=["r1", "r2"], slots=[3] * 4)
    return Lsap(Instance.initial(cluster, small(rows, [3] * 4).workload, idle_slots=idle), **parameters)


def instance_of(replicas: list[list[int]], nodes: int, **state: Any) -> Instance:
    """Tasks with these replicas on `nodes` nodes with one slot each, fit for every problem."""
    cluster = Cluster([f"n{node}" for node in range(nodes)], rate_in=[85.0] * nodes, rate_out=[85.0] * nodes)
    workload = Workload(
        [f"t{task}" for task in range(len(replicas))],
        replicas=Ragged.from_rows(replicas),
        rate_in=[3.0] * len(replicas),
        job=[0] * len(replicas),
        job_ids=["j"],
        job_group=[0],
        group_ids=["g"],
        group_weight=[1.0],
    )
    return Instance(cluster, workload, State.initial(cluster, workload, **state))


#: Every problem of the registry.
NAMES = tuple(records())


def small_problem(name: str, seed: int, parameters: dict[str, Any] | None = None) -> AnyProblem:
    """The problem on an instance that is small enough to try every decision."""
    entry = record(name)
    return problem(name, generate(entry.family, seed=seed, **entry.sizes), **(parameters or {}))


_WORKLOAD = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))


SWAPPED = Lsap(Instance(Cluster(["a", "b"]), _WORKLOAD, name="two"))


def wrong_way(problem: Problem, rng: np.random.Generator) -> list[str]:
    """Each task on the other's node."""
    return ["a", "b"]


def scarcest_first(problem: Any, rng: np.random.Generator) -> Any:
    """Tasks with the fewest replicas first, each to its first free node with data; the rest where there is room."""
    free = problem.capacity.copy()
    nodes = np.full(len(problem.tasks), -1)
    for task in np.argsort([len(held) for held in problem.replicas], kind="stable"):
        local = [node for node in problem.replicas[task] if free[node] > 0]
        if local:
            nodes[task] = local[0]
            free[local[0]] -= 1
    left = np.repeat(np.arange(len(free)), free)
    waiting = np.flatnonzero(nodes < 0)[: len(left)]
    nodes[waiting] = left[: len(waiting)]
    return nodes


def pareto_front(problem: Problem) -> list[Value]:
    """Every Pareto-optimal value, of the placements that the record's enumeration has."""
    enumeration = imported(record_of(type(problem)).enumeration or "optsched.solvers.searches.enumeration:judged")
    return undominated({value for value, _ in enumeration(problem)})


def undominated(values: set[Value]) -> list[Value]:
    """The values of two components, less being better, of which none is as good in both and better in one."""
    front: list[Value] = []
    for value in sorted(values):
        if not front or value[1] < front[-1][1]:
            front.append(value)
    return front


NAN = float("nan")


def traffic(
    blocks: Sequence[Sequence[int]],
    ratio: float = 1.0,
    reduces: int = 1,
    nodes: Sequence[int] = (0, 1),
    size: float | Sequence[float] = 10.0,
    slots: Sequence[int] | None = None,
    reduce_slots: Sequence[int] | None = None,
    jobs: int = 1,
    **parameters: Any,
) -> Traffic:
    """Jobs that each have these maps (the nodes of each block) and reduces; `nodes` says where the nodes are."""
    centers = [f"d{center}" for center in range(max(nodes, default=-1) + 1)]
    cluster = Cluster(
        [f"n{node}" for node in range(len(nodes))],
        datacenter=nodes,
        datacenter_ids=centers,
        slots=[9] * len(nodes) if slots is None else slots,
        reduce_slots=[9] * len(nodes) if reduce_slots is None else reduce_slots,
    )
    maps, each = len(blocks), len(blocks) + reduces
    sizes = [size] * maps if isinstance(size, float) else list(size)
    workload = Workload(
        [f"j{job}{kind}{at}" for job in range(jobs) for kind, n in (("m", maps), ("r", reduces)) for at in range(n)],
        job=np.repeat(np.arange(jobs), each),
        kind=([MAP] * maps + [REDUCE] * reduces) * jobs,
        replicas=Ragged.from_rows(([list(row) for row in blocks] + [[]] * reduces) * jobs),
        size=(sizes + [NAN] * reduces) * jobs,
        job_ids=[f"j{job}" for job in range(jobs)],
        filter_ratio=[ratio] * jobs,
    )
    return Traffic(Instance(cluster, workload, name="small"), **parameters)


def traffic_bound(problem: Traffic, hosts: Mapping[int, int], *prices: Any) -> int:
    """What prices prove of the placements with some bundles in given datacenters."""
    box = problem.program().numbers.box
    for bundle, center in hosts.items():
        box = problem.posing.with_host(box, bundle, center)
    return problem.settle(box, prices, None)


#: Sharmilarani et al., note 10: three blocks in each of two of three datacenters, FP = 1.2.
EMPTY_TRAFFIC = traffic([[1]] * 3 + [[2]] * 3, 1.2, nodes=[0, 1, 2])


def no_prices(problem: Utility) -> TaskPrices:
    """Everything for nothing: every pattern is left."""
    return TaskPrices(np.zeros(2 * len(problem.jobs), dtype=np.int64), 1)


def utility(
    capacity: Mapping[str, list[float]],
    jobs: list[Mapping[str, Any]],
    running: list[tuple[int, int, int]] | None = None,
    time: float = 0,
    **parameters: Any,
) -> Utility:
    """The problem on nodes n0, ... and jobs j0, ...

    Each job has `maps`, `reduces` (counts), `map`, `reduce`, `shuffle` (demand by resource), `goal`, `time` (of a map);
    `running` has (job, kind, node) of tasks that run already.
    """
    rows = [
        (job, kind, PENDING, -1)
        for job, entry in enumerate(jobs)
        for kind, word in ((MAP, "maps"), (REDUCE, "reduces"))
        for _ in range(entry.get(word, 0))
    ] + [(job, kind, RUNNING, node) for job, kind, node in running or []]
    words = {MAP: "map", REDUCE: "reduce"}
    demand = {
        resource: [jobs[job].get(words[kind], {}).get(resource, NAN) for job, kind, _, _ in rows]
        for resource in capacity
    }
    shuffle = {
        resource: [
            jobs[job].get("shuffle", {}).get(resource, NAN) if kind == REDUCE else NAN for job, kind, _, _ in rows
        ]
        for resource in capacity
    }
    cluster = Cluster([f"n{node}" for node in range(len(next(iter(capacity.values()), [])))], capacity=capacity)
    workload = Workload(
        [f"t{task}" for task in range(len(rows))],
        job=[job for job, *_ in rows],
        kind=[kind for _, kind, *_ in rows],
        demand=demand,
        demand_shuffle=shuffle,
        job_ids=[f"j{job}" for job in range(len(jobs))],
        goal=[entry.get("goal", NAN) for entry in jobs],
        map_time=[entry.get("time", NAN) for entry in jobs],
    )
    status, node = [status for *_, status, _ in rows], [node for *_, node in rows]
    state = State.initial(cluster, workload, time=time, status=status, node=node)
    return Utility(Instance(cluster, workload, state, name="small"), **parameters)


#: Sharmilarani et al., note 7: two trackers, two jobs, required 2 of 3 and 4 of 5.
SWAPS = utility(
    {"cpu": [5, 5], "disk": [3, 7]},
    [
        {"maps": 3, "map": {"cpu": 2, "disk": 2}, "goal": 3, "time": 2},
        {"maps": 5, "map": {"cpu": 1, "disk": 3}, "goal": 5, "time": 4},
    ],
)


def utility_snapshot(capacity: Sequence[Sequence[float]], jobs: Sequence[tuple[Any, ...]]) -> Instance:
    """Trackers that hold so much of each resource, and jobs: (required maps or None, maps, demand[, reduces, demand]).

    s_req = s_pend mu/T: with as many seconds left as there are maps, mu is what is required.
    """
    entries = []
    for required, maps, takes, *reduces in jobs:
        entry: dict[str, Any] = {"maps": maps, "map": named(takes)}
        if required is not None:
            entry |= {"goal": maps, "time": required}
        if reduces:
            entry |= {"reduces": reduces[0], "reduce": named(reduces[1])}
        entries.append(entry)
    return utility(named(np.transpose(capacity).tolist()), entries).instance


def named(amounts: Sequence[Any]) -> dict[str, Any]:
    """Amounts by resources r0, r1, ..."""
    return {f"r{number}": amount for number, amount in enumerate(amounts)}


#: Two groups that want one slot, and three levels where fairness costs locality.
ONE_SLOT = optsched.problem("worst-group", "examples/worst-group")


RACKS = optsched.problem("worst-group", "examples/worst-group-racks")


def worst_group(
    replicas: list[list[int]], groups: list[int], slots: list[int], racks: list[int] | None = None, **parameters: Any
) -> WorstGroup:
    """Tasks with these replicas, in these groups, on nodes with so many idle slots."""
    number = range(max(groups, default=0) + 1)
    jobs, names = [f"j{group}" for group in number], [f"g{group}" for group in number]
    instance = small(replicas, slots, job=groups, job_ids=jobs, job_group=list(number), group_ids=names)
    if racks is not None:
        instance = Instance(replace(instance.cluster, rack=racks, rack_ids=["r", "s"]), instance.workload)
    return WorstGroup(instance, **parameters)


def generalized_assignment(
    cost: list[list[float]],
    demand: dict[str, list[list[float]]] | None = None,
    capacity: dict[str, list[float]] | None = None,
    allowed: list[list[bool]] | None = None,
    **parameters: Any,
) -> GeneralizedAssignment:
    """The problem on tasks t0, ... and nodes n0, ..."""
    nodes = len(cost[0]) if cost else 1
    cluster = Cluster([f"n{node}" for node in range(nodes)], capacity=capacity or {})
    pairs = Pairs(np.array(cost, dtype=float).reshape(-1, nodes), demand or {}, allowed)
    workload = Workload([f"t{task}" for task in range(len(cost))], pairs=pairs)
    return GeneralizedAssignment(Instance(cluster, workload, name="small"), **parameters)


#: Two tasks want node n0, which has place for one.
ONE_PLACE = generalized_assignment([[1, 4], [2, 9]], {"weight": [[2, 2], [2, 2]]}, {"weight": [2, 3]})


#: The optimum is 6; no prices prove more than 4.5, which is 5 in whole costs.
ODD = generalized_assignment([[0, 3], [0, 3], [0, 3]], {"weight": [[2, 0], [2, 0], [2, 0]]}, {"weight": [3, 9]})


def enumerated(problem: GeneralizedAssignment) -> Value | None:
    """The optimum by trying every placement, None without a feasible one."""
    best = best_placement(problem)
    return best and best[0]


def lsap_fairness(weights: list[float] | None = None, idle: list[int] | None = None, **parameters: Any) -> LsapFairness:
    """Groups with 1, 2 and 7 running maps; slots idle on A and B, where data of the third group lie."""
    cluster = Cluster(["A", "B", "C"], slots=[1, 1, 10])
    workload = Workload(
        ["a1", "b1", "b2", "c1", "c2"],
        replicas=Ragged.from_rows([[2], [2], [2], [0], [1]]),
        job=[0, 1, 1, 2, 2],
        job_ids=["j1", "j2", "j3"],
        job_group=[0, 1, 2],
        group_ids=["g1", "g2", "g3"],
        group_weight=weights or [5, 3, 2],
    )
    state = {"idle_slots": idle or [1, 1, 0], "group_running_tasks": [1, 2, 7]}
    return LsapFairness(Instance.initial(cluster, workload, name="small", **state), **parameters)


FAIRNESS = lsap_fairness()


def min_cost_flow(arcs: list[tuple[int, int, int, int, int]], supply: list[int]) -> MinCostFlow:
    """The problem on arcs (tail, head, lower, capacity, cost) and nodes v0, ..."""
    columns = [list(column) for column in zip(*arcs, strict=True)] or [[]] * 5
    tail, head, lower, capacity, cost = columns
    names = [f"v{node}" for node in range(len(supply))]
    return MinCostFlow(FlowNetwork(names, tail, head, lower, capacity, cost, supply, name="small"))


#: Two parallel arcs, a loop that pays, and an arc with a lower limit.
FLOWS = min_cost_flow([(0, 1, 0, 1, 2), (0, 1, 0, 9, 5), (1, 1, 0, 4, -3), (1, 2, 1, 2, 7)], [3, -2, -1])
