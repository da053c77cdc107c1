"""Agosta et al.'s experiment with the true frontier: round robin, flow-based and LABL at 1600 to 2000 servers.

    python benchmarks/labl_study.py [--seeds 30] [--size TITLE]... [--quick] [--format markdown|json]

For each size and seed it proves the whole frontier, runs every heuristic, and prints what the two say of the paper's
claims; for some seeds it also times the compact Pyomo model at each limit and compares the routes. The tables are
those of `docs/results-agosta.md`. `--format json` gives the records behind them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from study_tables import mean, spread, table

from optsched.heuristics import run
from optsched.instances.families.labl import W_REM
from optsched.instances.generate import generate
from optsched.models import latency
from optsched.problems import Latency
from optsched.routes import bounds, frontier, latency_search
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.profiles import load_profile

Point = tuple[int, int]

#: Title of each configuration, and the parameters of the family `labl` beyond its defaults.
SIZES: dict[str, dict[str, int]] = {
    "2000 servers, 3200 tasks": {"tasks": 3200},
    "2000 servers, 3450 tasks": {},
    "2000 servers, 3500 tasks": {"tasks": 3500},
    "1600 servers, 3450 tasks": {"nodes": 1600},
    "1600 of 2000 servers, 3450 tasks": {"available": 1600},
}

FLOW, FRESH = "flow-based, least work", "flow-based with fresh covers, least work"
FLOW_FIRST, FRESH_FIRST = "flow-based, first", "flow-based with fresh covers, first"
LABL = {threshold: f"LABL literal, {threshold}" for threshold in ("l**", "l**+1", "inf")}

#: Title of each heuristic, its name and its parameters.
HEURISTICS: dict[str, tuple[str, dict[str, Any]]] = {
    "round robin": ("round-robin", {}),
    FLOW: ("flow-based", {"ties": "work"}),
    FLOW_FIRST: ("flow-based", {"ties": "first"}),
    FRESH: ("flow-based", {"covers": "fresh", "ties": "work"}),
    FRESH_FIRST: ("flow-based", {"covers": "fresh", "ties": "first"}),
    **{
        f"LABL {variant}, {threshold}": ("labl", {"variant": variant, "lbar": threshold})
        for variant in ("literal", "strict", "rescan", "local-first", "restructured")
        for threshold in ("l**", "l**+1", "inf")
    },
}


@dataclass(frozen=True)
class Outcome:
    """What a heuristic reached on one instance."""

    point: Point
    throughput: float
    work_gap: int
    makespan_gap: int
    seconds: float


@dataclass(frozen=True)
class Case:
    """One instance: its frontier, bounds, and the outcome of each heuristic."""

    seed: int
    points: list[Point]
    proofs: list[str]
    seconds: float
    bounds: dict[str, int]
    largest_load: int
    outcomes: dict[str, Outcome]


def studied(seed: int, parameters: dict[str, int]) -> Case:
    """Prove the frontier of one instance and run every heuristic on it."""
    problem = Latency(generate("labl", seed=seed, **parameters))
    began = time.perf_counter()
    search = latency_search(problem)
    points, stopped = search.frontier()
    seconds = time.perf_counter() - began
    assert stopped is None
    outcomes = {}
    for title, (name, values) in HEURISTICS.items():
        result = run(problem, name, **values)
        assert result.placement is not None
        makespan, work = point = pair(problem.evaluate(result.placement))
        least_work, least_makespan = search.least_work_within(makespan), search.least_makespan_with(work)
        assert least_work is not None
        assert least_makespan is not None
        throughput = problem.throughput(result.placement)
        assert throughput is not None
        outcomes[title] = Outcome(point, throughput, work - least_work, makespan - least_makespan, result.seconds)
    return Case(
        seed,
        [pair(point.objective) for point in points],
        [str(point.certificate) for point in points],
        seconds,
        {bound.name: int(bound.value) for bound in bounds(problem)},
        int(problem.initial_load.max()),
        outcomes,
    )


def pair(point: Any) -> Point:
    """An objective of `latency` as two integers, which it always is."""
    return int(point[0]), int(point[1])


def dominates(one: Point, other: Point) -> bool:
    """Whether `one` is nowhere worse and somewhere better."""
    return one != other and one[0] <= other[0] and one[1] <= other[1]


def frontiers(cases: list[Case], listed: int) -> str:
    """The whole frontier of the first seeds, then a summary of all."""
    limits = sorted({makespan for case in cases for makespan, _ in case.points})
    names = [name for name in cases[0].bounds if name != "least-work"]
    rows = []
    for case in cases[:listed]:
        work = dict(case.points)
        kinds = "/".join(dict.fromkeys(case.proofs))
        found = [str(work.get(limit, "")) for limit in limits]
        rows.append([case.seed, *(case.bounds[name] for name in names), *found, kinds, f"{case.seconds:.2f}"])
    summary = [f"mean of {len(cases)}"]
    summary += [mean([case.bounds[name] for case in cases]) for name in names]
    for limit in limits:
        held = [work for case in cases for makespan, work in case.points if makespan == limit]
        summary.append(mean(held, 0) + ("" if len(held) == len(cases) else f" (in {len(held)})"))
    kinds_of_all = Counter(kind for case in cases for kind in case.proofs)
    summary.append(", ".join(f"{number} {kind}" for kind, number in kinds_of_all.items()))
    times = [case.seconds for case in cases]
    summary.append(f"{mean(times)} (most {max(times):.1f})")
    header = ["seed", *names, *(f"work at {limit}" for limit in limits), "proof", "s"]
    return table(header, [*rows, summary])


def heuristics(cases: list[Case]) -> str:
    """A row a heuristic; those that reach the same point on every instance share one."""
    shared: dict[tuple[Point, ...], list[str]] = {}
    for title in HEURISTICS:
        shared.setdefault(tuple(case.outcomes[title].point for case in cases), []).append(title)
    rows = []
    for titles in shared.values():
        held = [case.outcomes[titles[0]] for case in cases]
        latencies, works = [entry.point[0] for entry in held], [entry.point[1] for entry in held]
        work_gaps, makespan_gaps = [entry.work_gap for entry in held], [entry.makespan_gap for entry in held]
        rows.append(
            [
                named(titles),
                f"{mean(latencies)} ({max(latencies)})",
                f"{spread(works, 0)} ({max(works)})",
                f"{sum(entry.throughput for entry in held) / len(held):.3f}",
                f"{mean(work_gaps, 0)} ({max(work_gaps)})",
                f"{mean(makespan_gaps)} ({max(makespan_gaps)})",
                f"{sum(entry.point in case.points for entry, case in zip(held, cases, strict=True))}",
                f"{1000 * sum(entry.seconds for entry in held) / len(held):.0f}",
            ]
        )
    header = [
        "algorithm",
        "latency",
        "work",
        "throughput",
        "work gap at makespan",
        "makespan gap at work",
        f"on frontier, of {len(cases)}",
        "ms",
    ]
    return table(header, rows)


def named(titles: list[str]) -> str:
    """One name for heuristics that share a row: `LABL strict, l** = l**+1 = inf`."""
    heads: dict[str, list[str]] = {}
    for title in titles:
        head, _, rest = title.partition(", ")
        heads.setdefault(head, []).append(rest)
    shown = (f"{head}, {' = '.join(rests)}" if any(rests) else head for head, rests in heads.items())
    return "; ".join(shown)


def claims(studies: dict[str, list[Case]]) -> str:
    """What the paper says of its experiment, counted over the instances of each size."""

    def at(case: Case, title: str) -> Point:
        return case.outcomes[title].point

    def best(case: Case) -> int:
        return case.points[0][0]

    both = [LABL["l**"], LABL["l**+1"]]
    statements: dict[str, Callable[[Case], bool]] = {
        "flow-based reaches the least latency": lambda case: at(case, FLOW)[0] == best(case),
        "flow-based with fresh covers reaches it": lambda case: at(case, FRESH)[0] == best(case),
        "flow-based, least work, is Pareto-optimal": lambda case: at(case, FLOW) in case.points,
        "flow-based, first, is Pareto-optimal": lambda case: at(case, FLOW_FIRST) in case.points,
        "fresh covers, first, is Pareto-optimal": lambda case: at(case, FRESH_FIRST) in case.points,
        "LABL l** or l**+1 is Pareto-optimal": lambda case: any(at(case, one) in case.points for one in both),
        "LABL l** works less than flow-based, least work": lambda case: at(case, both[0])[1] < at(case, FLOW)[1],
        "LABL l**+1 works less than flow-based, least work": lambda case: at(case, both[1])[1] < at(case, FLOW)[1],
        "LABL l**+1 works less than flow-based, first": lambda case: at(case, both[1])[1] < at(case, FLOW_FIRST)[1],
        "LABL l**+1 works less than fresh covers, first": lambda case: at(case, both[1])[1] < at(case, FRESH_FIRST)[1],
        "flow-based, least work, dominates both LABL": lambda case: all(
            dominates(at(case, FLOW), at(case, one)) for one in both
        ),
        "flow-based, first, dominates both LABL": lambda case: all(
            dominates(at(case, FLOW_FIRST), at(case, one)) for one in both
        ),
        "round robin is dominated by flow-based, least work, and both LABL": lambda case: all(
            dominates(at(case, one), at(case, "round robin")) for one in (FLOW, *both)
        ),
        "round robin is dominated by flow-based, first": lambda case: dominates(
            at(case, FLOW_FIRST), at(case, "round robin")
        ),
        "LABL l** is within w_rem of the least latency": lambda case: at(case, both[0])[0] - W_REM <= best(case),
        "LABL l**+1 is within w_rem of the least latency": lambda case: at(case, both[1])[0] - W_REM <= best(case),
        "l* = least latency": lambda case: case.bounds["l*"] == best(case),
        "l** = least latency": lambda case: case.bounds["l**"] == best(case),
        "l_flow = least latency": lambda case: case.bounds["l_flow"] == best(case),
        "no initial load exceeds the least latency": lambda case: case.largest_load <= best(case),
    }
    rows = [[said, *(sum(map(holds, cases)) for cases in studies.values())] for said, holds in statements.items()]
    seeds = len(next(iter(studies.values())))
    return table([f"in how many of {seeds} instances", *studies], rows)


def models(parameters: dict[str, int], seeds: list[int], limits: list[int]) -> list[dict[str, Any]]:
    """The compact Pyomo model at each limit from l** to the end of the frontier, which is compared by three routes.

    Where `limits` are given only these are solved, and nothing is compared.
    """
    records = []
    for seed in seeds:
        problem = Latency(generate("labl", seed=seed, **parameters))
        fronts: list[list[Point]] = []
        if not limits:
            routes = ("search", "arrays", "pyomo")
            fronts = [list(map(pair, frontier(problem, route=route).values)) for route in routes]
        for limit in limits or range(problem.counting_bound(), fronts[0][-1][0] + 1):
            began = time.perf_counter()
            model = latency.build_pyomo(problem, limit=limit)
            built = time.perf_counter()
            outcome = solve_pyomo(model, load_profile("exact"))
            solved = time.perf_counter()
            found = None
            if outcome.objective is not None:
                found = int(problem.evaluate(latency.decode(model, problem))[1])
                assert all(dict(points).get(limit, found) == found for points in fronts)
            records.append(
                {
                    "seed": seed,
                    "limit": limit,
                    "columns": model.nvariables(),
                    "rows": model.nconstraints(),
                    "integers": len(model.remote_count),
                    "status": str(outcome.status),
                    "work": found,
                    "build_seconds": built - began,
                    "solve_seconds": solved - built,
                    "routes_agree": all(points == fronts[0] for points in fronts) if fronts else None,
                }
            )
    return records


def model_table(studies: dict[str, list[dict[str, Any]]]) -> str:
    """A row for each model solved."""
    rows = [
        [
            size,
            record["seed"],
            record["limit"],
            record["columns"],
            record["rows"],
            record["integers"],
            record["status"].lower(),
            "" if record["work"] is None else record["work"],
            f"{record['build_seconds']:.2f}",
            f"{record['solve_seconds']:.2f}",
            {True: "yes", False: "NO", None: ""}[record["routes_agree"]],
        ]
        for size, records in studies.items()
        for record in records
    ]
    header = ["size", "seed", "limit", "columns", "rows", "integers", "status", "least work", "build s", "solve s"]
    return table([*header, "three routes agree"], rows)


def main() -> None:
    """Print the tables, or the records behind them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seeds", type=int, default=30, help="instances of each size; Agosta et al. have 30; 0: models only"
    )
    parser.add_argument("--size", action="append", choices=SIZES, help="only this size; all by default")
    parser.add_argument("--model-seeds", type=int, nargs="*", default=[0, 1], help="instances whose models are timed")
    parser.add_argument("--model-limits", type=int, nargs="*", default=[], help="only these limits, without comparing")
    parser.add_argument("--quick", action="store_true", help="3 seeds, and models of one")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    chosen = parser.parse_args()
    seeds, model_seeds = (3, [0]) if chosen.quick else (chosen.seeds, chosen.model_seeds)
    studies: dict[str, list[Case]] = {}
    timed: dict[str, list[dict[str, Any]]] = {}
    for size in chosen.size or SIZES:
        parameters = SIZES[size]
        print(size, file=sys.stderr)
        if seeds:
            studies[size] = [studied(seed, parameters) for seed in range(seeds)]
        if model_seeds:
            timed[size] = models(parameters, model_seeds, chosen.model_limits)
    if chosen.format == "json":
        held = {size: [asdict(case) for case in cases] for size, cases in studies.items()}
        print(json.dumps({"cases": held, "models": timed}, indent=1))
        return
    if studies:
        print("## Claims\n\n" + claims(studies))
    for size, cases in studies.items():
        print(f"\n## {size}\n\n{frontiers(cases, 5)}\n\n{heuristics(cases)}")
    if timed:
        print("\n## The compact model\n\n" + model_table(timed))


if __name__ == "__main__":
    main()
