"""Hsu and Freeh's flow scheduler and its rivals against the proved optimum under the load that a round adds.

    python benchmarks/congestion_study.py [--seeds 300] [--sizes 14 50 100 200] [--quick]

Prints small random rounds, the paper's workload as its jobs arrive, how often the cost of a node is not convex, and
sizes with their proofs. `docs/results-hsu.md` quotes the rows that matter.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from study_tables import spread, table

from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
from optsched.core.placement import Placement
from optsched.core.results import Proof
from optsched.heuristics import run
from optsched.instances.families.hsu import MAP_RATES, OUT_RATE
from optsched.instances.generate import generate
from optsched.problems import FlowCongestion
from optsched.routes import solve

#: Titles of schedulers, their names and parameters.
SCHEDULERS: dict[str, tuple[str, dict[str, str]]] = {
    "flow-sched": ("flow-sched", {}),
    "flow-greedy": ("flow-greedy", {}),
    "flow-greedy, largest first": ("flow-greedy", {"order": "largest"}),
    "balancing": ("balancing", {}),
    "fifo": ("fifo", {}),
    "fair": ("fair", {}),
    "capacity": ("capacity", {}),
}


def small(seed: int) -> Instance:
    """Three nodes of cluster 1 with up to three running maps each, 3 to 6 maps of any type, slots for all of them."""
    rng = np.random.default_rng(seed)
    rates = MAP_RATES[:, 0]
    running = [rng.choice(rates, size=int(rng.integers(0, 4))).tolist() for _ in range(3)]
    tasks = int(rng.integers(3, 7))
    cluster = Cluster(
        ["n1", "n2", "n3"],
        slots=[tasks] * 3,
        rate_in=[OUT_RATE] * 3,
    )
    workload = Workload([f"t{task}" for task in range(tasks)], rate_in=rng.choice(rates, size=tasks))
    return Instance.initial(cluster, workload, running_rates=Ragged.from_rows(running, float))


def loads_alone(problem: FlowCongestion, placement: Placement) -> float:
    """The part sum of R (1 + e_m/scale) of a placement, in units: without storage and distance."""
    nodes = problem.nodes_of(placement)
    placed = np.flatnonzero(nodes >= 0)
    columns = np.searchsorted(problem.idle_nodes, nodes[placed])
    return problem.units(placement) - int(problem.read_units[problem.classes.of_task[placed], columns].sum())


def placed(problem: FlowCongestion, scheduler: str, seed: int) -> Placement:
    """What a scheduler of the list places."""
    name, parameters = SCHEDULERS[scheduler]
    return run(problem, name, seed=seed, **parameters).raise_if_failed()


def optimal(problem: FlowCongestion) -> Placement:
    """A proved optimum."""
    solution = solve(problem)
    assert solution.optimal
    assert isinstance(solution.decision, Placement)
    return solution.decision


def percent(value: float) -> str:
    """A relative gap as it is shown."""
    return f"{100 * value:.1f} %"


def gap_over(values: Sequence[float]) -> str:
    """The mean of relative gaps, with half of its 95 % interval."""
    return f"{spread([100 * value for value in values])} %"


def small_rounds(seeds: int) -> str:
    """Mean and worst gap of each scheduler on small rounds, for e_m over 85 MB/s and literally."""
    rows = []
    for title, scale in (("85 MB/s", OUT_RATE), ("1 (literal)", 1)):
        problems = [FlowCongestion(small(seed), scale=scale) for seed in range(seeds)]
        best = [optimal(problem) for problem in problems]
        for scheduler in SCHEDULERS:
            gaps: dict[str, list[float]] = {}
            for seed, (problem, optimum) in enumerate(zip(problems, best, strict=True)):
                found = placed(problem, scheduler, seed)
                measures: tuple[tuple[str, Callable[[FlowCongestion, Placement], float]], ...] = (
                    ("load", loads_alone),
                    ("whole", lambda problem, placement: problem.units(placement)),
                )
                for name, measure in measures:
                    gaps.setdefault(name, []).append(measure(problem, found) / measure(problem, optimum) - 1)
            shown = [part for name in ("load", "whole") for part in (gap_over(gaps[name]), percent(max(gaps[name])))]
            rows.append([title, scheduler, *shown])
    header = ["scale", "scheduler", "R (1 + e_m/scale): mean gap", "worst", "whole penalty: mean gap", "worst"]
    return table(header, rows, text_columns=2)


def arrived(instance: Instance, jobs: int) -> Instance:
    """The snapshot in which only the first `jobs` jobs wait; the others are finished, on no node that matters."""
    state, late = instance.state, instance.workload.job >= jobs
    gone = State.initial(
        instance.cluster,
        instance.workload,
        status=np.where(late, 2, state.status),
        node=np.where(late, 0, state.node),
        idle_slots=state.idle_slots,
        idle_reduce_slots=state.idle_reduce_slots,
    )
    return instance.with_state(gone)


def workload(jobs: Sequence[int], seeds: int = 10) -> str:
    """Gaps of the schedulers on the paper's workload after each number of jobs has arrived: mean, and the worst."""
    rows = []
    instances = [generate("hsu-table3", seed=seed) for seed in range(seeds)]
    for scale, count in itertools.product(("rate_in", "rate_process", 1), jobs):
        problems = [FlowCongestion(arrived(instance, count), scale=scale) for instance in instances]
        solutions = [solve(problem) for problem in problems]
        optima = [problem.units(solution.decision) for problem, solution in zip(problems, solutions, strict=True)]
        cells = []
        for scheduler in SCHEDULERS:
            held = [problem.units(placed(problem, scheduler, seed)) for seed, problem in enumerate(problems)]
            gaps = [value / optimum - 1 for value, optimum in zip(held, optima, strict=True)]
            cells.append(f"{gap_over(gaps)} ({percent(max(gaps))})")
        proof = Proof.weakest([solution.certificate for solution in solutions])
        least = spread([optimum / problems[0].grid for optimum in optima], 2)
        rows.append([str(scale), count, len(problems[0].tasks), least, str(proof), *cells])
    return table(["scale", "jobs", "tasks", "optimum", "proof", *SCHEDULERS], rows)


def convexity() -> str:
    """How many second differences of a node's cost are negative with Table 3's maps running there."""
    rows = []
    for running in range(4):
        negative = total = 0
        for rates in MAP_RATES.T.tolist():
            for busy, rate in itertools.product(itertools.combinations_with_replacement(rates, running), rates):
                maps = Workload([f"t{task}" for task in range(4)], rate_in=[rate] * 4)
                own = Ragged.from_rows([list(busy)], float)
                instance = Instance.initial(Cluster(["n1"], slots=[4]), maps, running_rates=own)
                second = np.diff(FlowCongestion(instance, scale=1).pattern_units(0), 2)
                negative, total = negative + int((second < 0).sum()), total + len(second)
        rows.append([running, negative, total])
    return table(["maps that run", "negative", "second differences"], rows, text_columns=0)


def sizes(nodes: Sequence[int], seconds: float) -> str:
    """Rounds of the family `flow` with three tasks for every two nodes: time, proof, gap."""
    rows = []
    for count in nodes:
        problem = FlowCongestion(generate("flow", seed=0, nodes=count, tasks=3 * count // 2))
        began = time.perf_counter()
        solution = solve(problem, time_limit=seconds)
        took = time.perf_counter() - began
        assert solution.objective is not None
        assert solution.bound[0] is not None
        hosts = len(problem.hosts.first)
        patterns = sum(len(problem.patterns(host)) for host in range(hosts))
        gap = percent(float(solution.objective[0] / solution.bound[0]) - 1)
        rows.append(
            [
                count,
                problem.due,
                hosts,
                len(problem.classes.first),
                patterns,
                f"{took:.1f}",
                str(solution.certificate),
                gap,
            ]
        )
    return table(["nodes", "tasks", "hosts", "classes", "patterns", "seconds", "proof of the bound", "gap"], rows, 0)


def proofs(seeds: int) -> str:
    """How often prices close the small rounds, by scale."""
    lines = []
    for title, scale in (("85 MB/s", OUT_RATE), ("1 (literal)", 1)):
        kinds = Counter(str(solve(FlowCongestion(small(seed), scale=scale)).certificate) for seed in range(seeds))
        lines.append([title, *(kinds[kind] for kind in ("dual", "solver"))])
    return table(["scale", "dual", "solver"], lines)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300, help="small rounds")
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=[14, 50, 100, 200, 500, 1000], help="nodes of large rounds"
    )
    parser.add_argument("--limit", type=float, default=120, help="seconds for each large round")
    parser.add_argument("--quick", action="store_true", help="20 small rounds, sizes to 50")
    given = parser.parse_args()
    seeds, nodes = (20, [14, 50]) if given.quick else (given.seeds, given.sizes)
    for title, text in (
        ("Small rounds", small_rounds(seeds)),
        ("Proofs of the small rounds", proofs(seeds)),
        ("The paper's workload", workload([1, 2, 3, 6, 9])),
        ("Convexity", convexity()),
        ("Sizes", sizes(nodes, given.limit)),
    ):
        print(f"## {title}\n\n{text}\n")


if __name__ == "__main__":
    main()
