"""Ratios of running times: the default routes against other tools and against the other routes, on the same problems.

    python benchmarks/engines.py [--quick] [--repeats N]

Prints a Markdown table for each sort of problem, which names the best peer of each instance. A time is that from the
posed problem in memory to the optimum, the best of N; for our own routes it includes the placement, its evaluation and
the certificate, for another tool only building its input and solving. All ways must find the same optimum. OR-Tools
cannot be loaded beside highspy in one process, so it runs in one of its own, and only where it is installed (`pip
install ortools`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import maximum_bipartite_matching, maximum_flow, min_weight_full_bipartite_matching

import optsched
from optsched.instances.generate import generate
from optsched.problems import Flow, Latency, Lsap, Problem
from optsched.problems.assignment import AssignmentProblem
from optsched.searches.assignment import TransportNetwork

#: What a way answers: the optimum in units of the problem's grid (`latency`: makespan and work).
Answer = int | tuple[int, ...]

# Other tools -----------------------------------------------------------------------------------------------------


def dense_assignment(problem: AssignmentProblem) -> int:
    """SciPy's assignment over the matrix of tasks and slots, as Guo et al. pose it; SciPy takes it rectangular."""
    slots = np.repeat(np.arange(len(problem.capacity)), problem.capacity)
    nodes, column = np.unique(slots, return_inverse=True)
    tasks = len(problem.tasks)
    by_node = problem.pair_units(np.repeat(np.arange(tasks), len(nodes)), np.tile(nodes, tasks))
    cost = by_node.reshape(tasks, len(nodes))[:, column].astype(np.float64)
    rows, columns = linear_sum_assignment(cost)
    return round(cost[rows, columns].sum())


def sparse_matching(problem: Lsap) -> int:
    """SciPy's sparse matching: a task costs 1 on a slot with its data, and 2 on a column of its own."""
    local, tasks = problem.idle_replicas, len(problem.tasks)
    first_slot = np.concatenate([[0], np.cumsum(problem.capacity)])
    slots = int(first_slot[-1])
    sizes = problem.capacity[local.values]
    rows = np.repeat(local.row_of, sizes)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns = np.repeat(first_slot[local.values], sizes) + np.arange(len(rows)) - starts
    values = np.concatenate([np.ones(len(rows)), np.full(tasks, 2.0)])
    ends = np.concatenate([rows, np.arange(tasks)]), np.concatenate([columns, slots + np.arange(tasks)])
    chosen = min_weight_full_bipartite_matching(sp.csr_array((values, ends), shape=(tasks, slots + tasks)))[1]
    return problem.count - int(np.count_nonzero(chosen < slots))


def scipy_hopcroft_karp(problem: Lsap) -> int:
    """A matching of tasks to slots with their data by SciPy, without a proof."""
    local = problem.idle_replicas
    first_slot = np.concatenate([[0], np.cumsum(problem.capacity)])
    sizes = problem.capacity[local.values]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = np.repeat(first_slot[local.values] - starts[:-1], sizes) + np.arange(starts[-1])
    parts = (np.ones(len(columns), dtype=np.int8), columns.astype(np.int32), starts[local.starts].astype(np.int32))
    graph = sp.csr_array(parts, shape=(len(problem.tasks), first_slot[-1]))
    return problem.count - int(np.count_nonzero(maximum_bipartite_matching(graph, perm_type="column") >= 0))


def scipy_flow_bound(problem: Latency, makespan: int) -> tuple[int, int]:
    """The least work within a makespan that is given: the bound of a maximum flow by SciPy, without a packing."""
    tasks, nodes, replicas = len(problem.tasks), len(problem.initial_load), problem.replicas
    source, sink = tasks + nodes, tasks + nodes + 1
    count = np.concatenate([replicas.lengths, np.ones(nodes, dtype=np.int64), [tasks, 0]])
    head = np.concatenate([replicas.values + tasks, np.full(nodes, sink), np.arange(tasks)])
    room = np.minimum(problem.local_capacity(makespan), tasks)
    limit = np.concatenate([np.ones(len(replicas.values)), room, np.ones(tasks)])
    starts = np.concatenate([[0], np.cumsum(count)])
    parts = (limit.astype(np.int32), head.astype(np.int32), starts.astype(np.int32))
    network = sp.csr_array(parts, shape=(sink + 1, sink + 1))
    network.sort_indices()
    local = int(maximum_flow(network, source, sink).flow_value)
    return makespan, problem.w_loc * local + problem.w_rem * (tasks - local)


def hopcroft_karp(problem: Lsap) -> int:
    """A matching of tasks to slots with their data by networkx."""
    graph = nx.Graph()
    tasks = [("task", row) for row in range(len(problem.tasks))]
    graph.add_nodes_from(tasks)
    for row, nodes in enumerate(problem.idle_replicas):
        for node in nodes.tolist():
            graph.add_edges_from((("task", row), ("slot", node, slot)) for slot in range(problem.capacity[node]))
    matched = nx.bipartite.hopcroft_karp_matching(graph, tasks)
    return problem.count - sum(1 for task in tasks if task in matched)


def network_simplex(problem: AssignmentProblem) -> int:
    """The network simplex of networkx on our compact network, which is given."""
    network = TransportNetwork(problem)
    graph = nx.MultiDiGraph()
    graph.add_nodes_from((vertex, {"demand": -supply}) for vertex, supply in enumerate(network.supply.tolist()))
    columns = (network.tail, network.head, network.capacity, network.cost)
    for tail, head, capacity, cost in zip(*(column.tolist() for column in columns), strict=True):
        graph.add_edge(tail, head, capacity=capacity, weight=cost)
    return int(nx.network_simplex(graph)[0])


#: Runs in a process without highspy: reads a network, builds and solves it several times, prints cost and seconds.
_ORTOOLS = """
import json, sys, time
import numpy as np
from ortools.graph.python import min_cost_flow
network = np.load(sys.argv[1])
seconds = []
for _ in range(int(sys.argv[2])):
    began = time.perf_counter()
    flow = min_cost_flow.SimpleMinCostFlow()
    flow.add_arcs_with_capacity_and_unit_cost(*(network[name] for name in ("tail", "head", "capacity", "cost")))
    flow.set_nodes_supplies(np.arange(len(network["supply"])), network["supply"])
    assert flow.solve() == flow.OPTIMAL
    seconds.append(time.perf_counter() - began)
print(json.dumps({"cost": flow.optimal_cost(), "seconds": min(seconds)}))
"""


def or_tools(problem: AssignmentProblem, repeats: int) -> tuple[int, float]:
    """Optimum and seconds of OR-Tools' minimum-cost flow on our compact network, which is given."""
    network = TransportNetwork(problem)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "network.npz")
        np.savez(file, **{name: getattr(network, name) for name in ("tail", "head", "capacity", "cost", "supply")})
        command = [sys.executable, "-c", _ORTOOLS, str(file), str(repeats)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told["cost"], told["seconds"]


# Our own routes --------------------------------------------------------------------------------------------------


def route(name: str | None, profile: str = "exact") -> Callable[[Problem], Answer]:
    """`optsched.solve` by a route, None for the default; the answer must be a proved optimum."""

    def way(problem: Problem) -> Answer:
        solution = optsched.solve(problem, profile, route=name)
        assert solution.objective is not None, solution
        assert solution.optimal, solution
        if isinstance(problem, AssignmentProblem):
            return round(solution.objective[0] * problem.grid)
        return tuple(map(int, solution.objective))

    return way


# Runs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A problem and the ways to solve it, by the names that the table shows; the first is the default route."""

    label: str
    problem: Problem
    ways: dict[str, Callable[..., Answer]]
    or_tools: bool = False


OURS, DENSE, SPARSE = "default route", "SciPy linear_sum_assignment", "SciPy min_weight_full_bipartite_matching"


def lsap(nodes: int, tasks: int, *, dense: bool, models: bool) -> Case:
    """`lsap` at Guo et al.'s proportions: two slots a node, a tenth of them idle, up to three replicas."""
    problem = optsched.problem("lsap", generate("lsap", nodes=nodes, slots=2, idle_ratio=0.1, tasks=tasks))
    assert isinstance(problem, Lsap)
    ways: dict[str, Callable[..., Answer]] = {OURS: route(None)}
    ways |= {"SciPy maximum_bipartite_matching": scipy_hopcroft_karp, "networkx hopcroft_karp": hopcroft_karp}
    if models or dense:
        ways[SPARSE] = sparse_matching
    ways["route arrays (HiGHS, interior point)"] = route("arrays", "large")
    if dense:
        ways["route arrays (HiGHS, simplex)"] = route("arrays")
        ways |= {DENSE: dense_assignment, "networkx network_simplex": network_simplex}
    if models:
        ways |= {"route pyomo (compact)": route("pyomo"), "route pulp (literal)": route("pulp")}
    label = f"{nodes:,} nodes, {int(problem.capacity.sum()):,} idle slots, {tasks:,} tasks"
    return Case(label, problem, ways, or_tools=True)


def flow(nodes: int, tasks: int, *, dense: bool, models: bool) -> Case:
    """`flow` with the rates of Hsu and Freeh: four slots a compute node, half of them idle."""
    problem = optsched.problem("flow", generate("flow", nodes=nodes, tasks=tasks))
    assert isinstance(problem, Flow)
    ways: dict[str, Callable[..., Answer]] = {OURS: route(None), DENSE: dense_assignment}
    if dense:
        ways |= {"route arrays (HiGHS)": route("arrays"), "networkx network_simplex": network_simplex}
    if models:
        ways |= {"route pyomo (compact)": route("pyomo"), "route pulp (literal)": route("pulp")}
    classes = len(problem.classes().size)
    label = f"{nodes:,} nodes, {int(problem.capacity.sum()):,} idle slots, {tasks:,} tasks in {classes:,} classes"
    return Case(label, problem, ways, or_tools=True)


def latency(nodes: int, tasks: int, *, compact: bool, literal: bool) -> Case:
    """`latency` at Agosta et al.'s proportions: up to four replicas, initial loads 0 to 5."""
    problem = optsched.problem("latency", generate("latency", nodes=nodes, tasks=tasks, replicas=4))
    assert isinstance(problem, Latency)
    ways: dict[str, Callable[..., Answer]] = {OURS: route(None)}
    solution = optsched.solve(problem)
    assert solution.objective is not None
    makespan = int(solution.objective[0])
    ways["SciPy maximum_flow: bound only, makespan given"] = lambda posed: scipy_flow_bound(posed, makespan)
    if compact:
        ways |= {"route arrays (HiGHS)": route("arrays"), "route pyomo (compact)": route("pyomo")}
    if literal:
        ways["route pulp (literal)"] = route("pulp")
    return Case(f"{nodes:,} servers, {tasks:,} tasks", problem, ways)


def cases(quick: bool) -> Iterator[tuple[str, list[Callable[[], Case]]]]:
    """Title of each table, and what makes its cases."""
    yield (
        "lsap",
        [
            lambda: lsap(1_000, 300, dense=True, models=True),
            *(() if quick else (lambda: lsap(5_000, 2_000, dense=True, models=False),)),
            *(() if quick else (lambda: lsap(100_000, 200_000, dense=False, models=False),)),
        ],
    )
    yield (
        "flow",
        [
            lambda: flow(14, 40, dense=True, models=True),
            *(() if quick else (lambda: flow(140, 1_000, dense=True, models=True),)),
            *(() if quick else (lambda: flow(560, 4_000, dense=False, models=False),)),
        ],
    )
    yield (
        "latency",
        [
            lambda: latency(40, 70, compact=True, literal=True),
            *(() if quick else (lambda: latency(2_000, 3_450, compact=True, literal=False),)),
            *(() if quick else (lambda: latency(100_000, 200_000, compact=False, literal=False),)),
        ],
    )


def measured(case: Case, repeats: int) -> Iterator[tuple[str, float]]:
    """Name and best seconds of each way; all of them agree on the optimum."""
    answers = {}
    for name, way in case.ways.items():
        seconds = []
        for _ in range(repeats):
            began = time.perf_counter()
            answers[name] = way(case.problem)
            seconds.append(time.perf_counter() - began)
            if seconds[-1] > 5:  # then noise is small beside it
                break
        yield name, min(seconds)
    if case.or_tools and find_spec("ortools") is not None:
        assert isinstance(case.problem, AssignmentProblem)
        answers["OR-Tools SimpleMinCostFlow"], fastest = or_tools(case.problem, repeats)
        yield "OR-Tools SimpleMinCostFlow", fastest
    assert len(set(answers.values())) == 1, answers


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the smallest case of each table only")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each way; the best counts")
    arguments = parser.parse_args()
    route(None)(latency(10, 10, compact=False, literal=False).problem)  # imports and first calls are not measured
    for title, makers in cases(arguments.quick):
        print(f"\n### {title}\n\n| instance | way | seconds | times the default route |\n|---|---|---:|---:|")
        for make in makers:
            case = make()
            ours = 0.0
            peers: dict[str, float] = {}
            for name, seconds in measured(case, arguments.repeats):
                ours = ours or seconds
                print(f"| {case.label} | {name} | {seconds:.4f} | {seconds / ours:.3g} |", flush=True)
                if name != OURS and not name.startswith("route "):
                    peers[name] = seconds
            best = min(peers, key=peers.__getitem__)
            print(
                f"| {case.label} | **best peer: {best}** | {peers[best]:.4f} | {peers[best] / ours:.3g} |", flush=True
            )


if __name__ == "__main__":
    main()
