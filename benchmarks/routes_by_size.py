"""Every problem at growing sizes by every route: is the default ever slower than another one by more than twice?

    python benchmarks/routes_by_size.py [--time-limit SECONDS] [--repeats N] [PROBLEM ...]

Prints a Markdown table with a row for each instance: the default route and the engine that it took, the quickest other
route, and the ratio. A time is the least of N, from the posed problem in memory to the solution with its certificate. A
route that does not prove its optimum within the limit, or would not fit, does not count, and neither does at larger
sizes one that was hopeless at smaller ones; all that count must agree. Where
the default is slower than twice the best and by more than 0.1 s, the row says so and the program fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import optsched
from optsched.errors import TooLarge, UsageError
from optsched.instances.files import from_document
from optsched.instances.generate import generate
from optsched.network import FlowNetwork
from optsched.problems import PROBLEMS, AnyProblem
from optsched.results import Value
from optsched.routes import routes_of

#: Sizes of each problem: the family, what differs from its defaults, and parameters of the problem.
SIZES: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {
    "lsap": [
        ("lsap", {}, {}),
        ("lsap", {"nodes": 1000, "slots": 2, "idle_ratio": 0.1, "tasks": 300}, {}),
        ("lsap", {"nodes": 5000, "slots": 2, "idle_ratio": 0.1, "tasks": 2000}, {}),
        ("lsap", {"nodes": 20_000, "slots": 2, "idle_ratio": 0.1, "tasks": 10_000}, {}),
        ("lsap", {"nodes": 100_000, "slots": 2, "idle_ratio": 0.1, "tasks": 200_000}, {}),
        ("lsap", {"nodes": 1000, "slots": 2, "tasks": 900, "racks": 20}, {"levels": (0, 1, 2)}),
        ("lsap", {"nodes": 5000, "slots": 2, "tasks": 5000, "racks": 50}, {"levels": (0, 1, 2)}),
    ],
    "fair-lsap": [
        ("fair-lsap", {}, {}),
        ("fair-lsap", {"nodes": 1000, "tasks": 1500, "replicas": 3}, {}),
        ("fair-lsap", {"nodes": 1000, "tasks": 1500, "replicas": 3}, {"selection": "free"}),
        ("fair-lsap", {"nodes": 5000, "tasks": 7500, "replicas": 3}, {}),
    ],
    "lsap-fairness": [
        ("lsap-fairness", {}, {}),
        ("lsap-fairness", {"nodes": 1000, "tasks": 1500, "replicas": 3}, {}),
        ("lsap-fairness", {"nodes": 20_000, "tasks": 40_000, "replicas": 3}, {}),
    ],
    "worst-group": [
        ("worst-group", {}, {}),
        ("worst-group", {"nodes": 1000, "tasks": 450, "groups": 20}, {}),
        ("worst-group", {"nodes": 20_000, "tasks": 9000, "groups": 50}, {}),
        ("worst-group", {"nodes": 300, "tasks": 140, "groups": 10, "racks": 15}, {"levels": (0, 1, 2)}),
    ],
    "flow": [
        ("flow", {}, {}),
        ("flow", {"nodes": 140, "tasks": 1000}, {}),
        ("flow", {"nodes": 280, "tasks": 2000}, {}),
        ("flow", {"nodes": 560, "tasks": 4000}, {}),
        ("flow", {"nodes": 14, "tasks": 4000, "slots": 400}, {}),
        ("flow", {"nodes": 50, "tasks": 1000, "slots": 40}, {}),
    ],
    "flow-congestion": [
        ("flow", {}, {}),
        ("flow", {"nodes": 56, "tasks": 200}, {}),
        ("flow", {"nodes": 140, "tasks": 600}, {}),
    ],
    "latency": [
        ("latency", {}, {}),
        ("latency", {"nodes": 2000, "tasks": 3450}, {}),
        ("latency", {"nodes": 20_000, "tasks": 40_000}, {}),
        ("skewed-latency", {"nodes": 500, "tasks": 900}, {}),
    ],
    "transmission-maps": [
        ("transmission", {}, {}),
        ("transmission", {"nodes": 150, "tasks": 300}, {}),
        ("transmission", {"nodes": 500, "tasks": 1000}, {}),
        ("transmission", {"nodes": 300, "tasks": 600, "spread": 5}, {}),
        ("transmission", {"nodes": 60, "tasks": 3000, "slots": 100}, {}),
    ],
    "transmission-reduces": [
        ("transmission", {}, {}),
        ("transmission", {"nodes": 50, "tasks": 200, "reduces": 40, "jobs": 8}, {}),
        ("transmission", {"nodes": 200, "tasks": 500, "reduces": 150, "jobs": 20}, {}),
    ],
    "transmission": [
        ("transmission", {"reduces": 2}, {}),
        ("transmission", {}, {}),
        ("transmission", {"nodes": 16, "tasks": 16}, {}),
    ],
    "utility": [
        ("utility", {}, {}),
        ("utility", {"jobs": 8, "nodes": 50, "maps": 150}, {}),
        ("utility", {"jobs": 4, "nodes": 12, "types": 3}, {}),
    ],
    "traffic": [
        ("traffic", {}, {}),
        ("traffic", {"nodes": 400, "tasks": 2000, "jobs": 50, "datacenters": 8}, {}),
        ("traffic", {}, {"capacity": "slots"}),
        ("traffic", {"nodes": 200, "tasks": 600, "jobs": 30}, {"capacity": "slots"}),
    ],
    "generalized-assignment": [
        ("generalized-assignment", {}, {}),
        ("generalized-assignment", {"nodes": 8, "tasks": 60}, {}),
        ("plain assignment", {"nodes": 200}, {}),
        ("plain assignment", {"nodes": 700}, {}),
    ],
    "min-cost-flow": [
        ("random network", {"nodes": 30, "arcs": 150}, {}),
        ("random network", {"nodes": 300, "arcs": 3000}, {}),
        ("random network", {"nodes": 2000, "arcs": 20_000}, {}),
    ],
}

#: What may be slower than twice the best: differences that noise makes.
NOISE = 0.1

#: A route that takes so many times the default's time, or has no proof in time, is not run at the sizes that follow.
HOPELESS = 20


def posed(name: str, family: str, drawn: dict[str, Any], parameters: dict[str, Any]) -> AnyProblem:
    """The problem on an instance of the family, or of one that only this program has."""
    rng = np.random.default_rng(0)
    if family == "plain assignment":
        nodes = drawn["nodes"]
        pairs = {"cost": rng.integers(1, 101, (nodes, nodes)).tolist(), "demand": {"place": [[1] * nodes] * nodes}}
        document = {
            "format": "optsched/1",
            "nodes": [{"id": f"n{node}", "capacity": {"place": 1}} for node in range(nodes)],
            "tasks": [{"id": f"t{task}"} for task in range(nodes)],
            "pairs": pairs,
        }
        return optsched.problem(name, from_document(document), **parameters)
    if family == "random network":
        nodes, arcs = drawn["nodes"], drawn["arcs"]
        supply = np.zeros(nodes, dtype=np.int64)
        supply[: nodes // 10], supply[-(nodes // 10) :] = 20, -20
        ring = np.arange(nodes)
        network = FlowNetwork(
            np.array([f"v{node}" for node in range(nodes)]),
            np.concatenate([ring, rng.integers(0, nodes, arcs)]),
            np.concatenate([(ring + 1) % nodes, rng.integers(0, nodes, arcs)]),
            capacity=np.concatenate([np.full(nodes, 20 * nodes), rng.integers(1, 30, arcs)]),
            cost=np.concatenate([np.full(nodes, 200), rng.integers(1, 100, arcs)]),
            supply=supply,
        )
        return optsched.problem(name, network, **parameters)
    return optsched.problem(name, generate(family, **drawn), **parameters)


@dataclass(frozen=True)
class Timed:
    """A route's least seconds and optimum; None where it proved none in time."""

    route: str
    engine: str
    seconds: float
    objective: Value | None


def timed(problem: AnyProblem, route: str, limit: float, repeats: int) -> Timed:
    """Run a route, again while it is quick."""
    best, objective, engine = float("inf"), None, ""
    for _ in range(repeats):
        began = time.perf_counter()
        try:
            solution = optsched.solve(problem, route=route, time_limit=limit)
        except (TooLarge, UsageError):  # would not fit, or does not take this problem
            return Timed(route, "", float("inf"), None)
        seconds = time.perf_counter() - began
        if not solution.optimal:
            return Timed(route, "", float("inf"), None)
        best, objective, engine = min(best, seconds), solution.objective, str(solution.solver.get("name", ""))
        if seconds > 2:
            break
    return Timed(route, engine, best, objective)


def rows(name: str, limit: float, repeats: int) -> Iterator[tuple[str, bool]]:
    """A row of the table for each size, and whether the default is good enough."""
    hopeless, former = {"brute-force"}, None
    for family, drawn, parameters in SIZES[name]:
        if former != (family, parameters):  # what is hopeless there may not be so here
            hopeless, former = {"brute-force"}, (family, parameters)
        problem = posed(name, family, drawn, parameters)
        _ = problem.instance.sha256
        routes = [route for route in routes_of(problem) if route not in hopeless]
        found = [timed(problem, route, limit, repeats) for route in routes]
        hopeless |= {entry.route for entry in found[1:] if entry.seconds > max(HOPELESS * found[0].seconds, 3 * NOISE)}
        values = {entry.objective for entry in found if entry.objective is not None}
        if len(values) > 1:
            raise SystemExit(f"{name} {family} {drawn}: routes disagree: {found}")
        none = Timed("none", "", float("inf"), None)
        default, best = found[0], min([*found[1:], none], key=lambda entry: entry.seconds)
        good = default.seconds <= max(2 * best.seconds, best.seconds + NOISE)
        told = [" ".join(f"{key}={value}" for key, value in {**drawn, **parameters}.items()) or "default sizes"]
        told += [f"{default.route}" + (f" ({default.engine})" if default.engine else ""), seconds_of(default)]
        told += [best.route if best.objective is not None else "none", seconds_of(best)]
        told += ["" if best.objective is None else f"{default.seconds / best.seconds:.2g}", "" if good else "too slow"]
        yield f"| {name} | {family} {' | '.join(told)} |", good


def seconds_of(entry: Timed) -> str:
    """Seconds, or a dash."""
    return "-" if entry.objective is None else f"{entry.seconds:.3f}"


def main() -> None:
    """Print the table; exit 1 where a default is too slow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", metavar="PROBLEM", help="only these")
    parser.add_argument("--time-limit", type=float, default=20.0, metavar="SECONDS", help="of each run")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each route; the best counts")
    arguments = parser.parse_args()
    missing = set(PROBLEMS) - set(SIZES)
    assert not missing, f"no sizes of {missing}"
    optsched.solve(optsched.problem("latency", generate("latency", nodes=5, tasks=5)), route="pyomo")  # imports
    optsched.solve(optsched.problem("latency", generate("latency", nodes=5, tasks=5)), route="pulp")
    print("| problem | instance | default route | s | best other | s | ratio | |\n|---|---|---|---:|---|---:|---:|---|")
    slow = 0
    for name in arguments.problems or SIZES:
        for row, good in rows(name, arguments.time_limit, arguments.repeats):
            print(row, flush=True)
            slow += not good
    if slow:
        sys.exit(f"{slow} defaults are slower than twice the best route")


if __name__ == "__main__":
    main()
