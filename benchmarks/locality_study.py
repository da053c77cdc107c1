"""Guo et al.'s figures with the optimum: Figures 2, 4 and 5, Table III with Figures 6 and 7; dl-sched in both readings.

    python benchmarks/locality_study.py [--part NAME]... [--repeats 1000] [--quick] [--format markdown|json]

Every scheduler is the project's own, run through the same driver as `optsched gap`. The waves of Table III are a run
over time (`optsched.simulate`) in which all tasks take the same. The optimum of Figure 4 is that of `lsap-sched`, which
the certified `optsched.solve` confirms on the first instances of each point. `docs/results-guo.md`
quotes the rows that matter. `--format json` gives the records behind them.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from study_tables import mean, spread, table

from optsched.core.instance import Cluster, Instance, Ints, Ragged, Workload
from optsched.core.placement import Placement
from optsched.core.resources import folder
from optsched.heuristics import run
from optsched.instances.files import load
from optsched.instances.generate import generate
from optsched.problems import FairLsap, Lsap
from optsched.problems.fair_lsap import RationRuleWarning
from optsched.problems.locality_theory import goodness_of_locality
from optsched.routes import solve
from optsched.simulating import EveryRound, Levels, simulate

Record = dict[str, Any]

#: dl-sched in both readings, and the optimal scheduler.
SCHEDULERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sweep": ("dl", {"reading": "sweep"}),
    "heartbeat": ("dl", {"reading": "heartbeat"}),
    "optimum": ("lsap-sched", {}),
}

#: Instances of each point on which `optsched.solve` proves the optimum again.
PROVED = 10

#: alpha of Figure 5; the first breaks ties only.
ALPHAS = (0.001, 1, 5, 10, 20, 50, 100, 200, 400, 1000, 3000, 10000, 30000)


def share(problem: Lsap, placement: Placement | None) -> float:
    """Share of the placed tasks that run on their data."""
    assert placement is not None
    return 1 - float(problem.evaluate(placement)[0]) / problem.count


def point(repeats: int, **parameters: Any) -> Record:
    """Locality of each scheduler at one point of Figure 4, a value an instance."""
    shares: dict[str, list[float]] = {name: [] for name in SCHEDULERS}
    for seed in range(repeats):
        problem = Lsap(generate("guo-fig4", seed=seed, **parameters))
        for title, (name, values) in SCHEDULERS.items():
            shares[title].append(share(problem, run(problem, name, seed, **values).placement))
        assert seed >= PROVED or shares["optimum"][-1] == share(problem, solve(problem).decision)
    return {"parameters": parameters, "repeats": repeats, **shares}


def improvement(record: Record, reading: str) -> tuple[str, str]:
    """What the optimum has more than dl-sched: percentage points with their 95 % interval, and per cent of dl-sched."""
    paired = [100 * (best - held) for best, held in zip(record["optimum"], record[reading], strict=True)]
    ratio = sum(record["optimum"]) / max(sum(record[reading]), 1e-9) - 1
    return spread(paired, 2), f"{100 * ratio:.1f}"


def figure4(points: Iterable[tuple[object, Record]], first: str) -> str:
    """A row a point of Figure 4."""
    rows = [
        [label, *(f"{sum(record[title]) / record['repeats']:.4f}" for title in SCHEDULERS)]
        + [cell for reading in ("sweep", "heartbeat") for cell in improvement(record, reading)]
        for label, record in points
    ]
    header = [first, *SCHEDULERS, "over sweep, pp", "%", "over heartbeat, pp", "%"]
    return table(header, rows)


def figure4a(repeats: int) -> tuple[Any, str]:
    """Tasks from 1 to 50 on 100 nodes with 50 idle slots, 5 replicas."""
    points = [(tasks, point(repeats, tasks=tasks)) for tasks in (1, 5, *range(10, 51, 5))]
    return points, figure4(points, "tasks")


def figure4b(repeats: int) -> tuple[Any, str]:
    """Replicas from 1 to 19, and on all nodes; 50 tasks."""
    points = [(replicas, point(repeats, replicas=replicas)) for replicas in (*range(1, 11), 12, 15, 19, 100)]
    theory = float(goodness_of_locality(nodes=100, idle=50, tasks=50))
    return points, figure4(points, "replicas") + f"\n\nClosed form for one replica: {theory:.5f}."


def figure4c(repeats: int) -> tuple[Any, str]:
    """Nodes from 10 to 200, half as many tasks."""
    points = [(nodes, point(repeats, nodes=nodes, tasks=nodes // 2)) for nodes in range(10, 201, 10)]
    return points, figure4(points, "nodes")


def one_replica(repeats: int) -> tuple[Any, str]:
    """One replica: the closed form is met by the optimum and by `sweep`, not by `heartbeat`."""
    rows, records = [], []
    for nodes, tasks in ((100, 10), (100, 30), (100, 50), (100, 100), (20, 10)):
        record = point(repeats, nodes=nodes, tasks=tasks, replicas=1)
        idle = nodes // 2
        theory = float(goodness_of_locality(nodes, idle, tasks)) * tasks / min(tasks, idle)
        rows.append([f"{nodes}, {idle}, {tasks}", f"{theory:.5f}", *(spread(record[name], 5) for name in SCHEDULERS)])
        records.append(record)
    return records, table(["nodes, idle, tasks", "closed form", *SCHEDULERS], rows)


def figure2(repeats: int) -> tuple[Any, str]:
    """The worked example: the paper's dl-sched, the optimum, and what both readings draw."""
    instance = load(folder("instances") / "papers" / "guo-fig2.json")
    assert isinstance(instance, Instance)
    problem = Lsap(instance)
    paper = problem.placement([0, 1, 2])
    rows: list[list[object]] = [["T1 on A, T2 on B, T3 on C (the paper's dl-sched)", local(problem, paper)]]
    best = solve(problem)
    rows.append([f"optimum, certificate {best.certificate}", local(problem, best.decision)])
    drawn: dict[str, Counter[int]] = {}
    for reading in ("sweep", "heartbeat"):
        runs = (run(problem, "dl", seed, reading=reading).placement for seed in range(repeats))
        drawn[reading] = Counter(local(problem, placement) for placement in runs)
        seen = ", ".join(f"{number} in {times}" for number, times in sorted(drawn[reading].items()))
        rows.append([f"dl, reading={reading}, {repeats} seeds", seen])
    return drawn, table(["placement", "local tasks of 3"], rows)


def local(problem: Lsap, placement: Placement | None) -> int:
    """Placed tasks that run on their data."""
    return round(problem.count * share(problem, placement))


def fair(repeats: int) -> tuple[Any, str]:
    """Figure 5: locality and gain in fairness distance by alpha, for both forms of GFC, and with one beta by hand."""
    seeds = range(min(repeats, 40))
    forms: dict[str, Record] = {
        "ratio": {"gfc": "ratio"},
        "difference": {"gfc": "difference"},
        "difference, beta 300": {"gfc": "difference", "beta": 300},
    }
    instances = [generate("guo-fairness", seed=seed) for seed in seeds]
    most = [share(problem, solve(problem).decision) for problem in map(Lsap, instances)]
    records: dict[str, dict[float, list[tuple[float, float]]]] = {}
    warnings.simplefilter("ignore", RationRuleWarning)  # of the beta by hand, which is here to be seen
    for title, parameters in forms.items():
        records[title] = {alpha: [outcome(one, alpha, **parameters) for one in instances] for alpha in ALPHAS}
    rows = []
    for alpha in ALPHAS:
        cells = [records[title][alpha] for title in forms]
        rows.append([alpha, *(text for held in cells for text in (mean(column(held, 0), 3), mean(column(held, 1), 4)))])
    header = ["alpha", *(name for title in forms for name in (f"{title}: local", "d(0) - d(t)"))]
    steps = staircase(instances[0])
    naive = {
        title: [outcome(one, 50, overflow="naive", **parameters) for one in instances]
        for title, parameters in forms.items()
        if "beta" not in parameters
    }
    ablation = [[title, mean(column(held, 0), 3), mean(column(held, 1), 4)] for title, held in naive.items()]
    content = [
        table(header, rows),
        f"Most locality that any placement has: {mean(most, 3)} ({len(most)} seeds).",
        "The naive rule FC = GFC at alpha 50:",
        table(["gfc", "local", "d(0) - d(t)"], ablation),
        "Seed 0, gfc=difference; alpha from 1 to 600 in steps of 1: where the number of local tasks changes.",
        table(["from alpha", "local tasks of 30", "d(0) - d(t)"], steps),
    ]
    return {"alpha": records, "naive": naive, "staircase": steps}, "\n\n".join(content)


def outcome(instance: Instance, alpha: float, **parameters: Any) -> tuple[float, float]:
    """Locality and d(0) - d(t) of lsap-fair-sched, whose cost the problem has."""
    problem = FairLsap(instance, alpha=alpha, **parameters)
    placement = solve(problem).decision
    assert placement is not None
    gain = problem.fairness_distance() - problem.fairness_distance(placement)
    return share(Lsap(instance), placement), float(gain)


def staircase(instance: Instance) -> list[list[object]]:
    """The alphas at which locality changes, with what holds from there on."""
    steps: list[list[object]] = []
    for alpha in range(1, 601):
        locality, gain = outcome(instance, alpha, gfc="difference")
        tasks = round(30 * locality)
        if not steps or steps[-1][1] != tasks:
            steps.append([alpha, tasks, f"{gain:.4f}"])
    return steps


def column(pairs: list[tuple[float, float]], position: int) -> list[float]:
    """One entry of each pair."""
    return [entry[position] for entry in pairs]


def played(instance: Instance, name: str, seed: int, **values: Any) -> tuple[int, list[Ints]]:
    """Tasks off their data when all run in waves, and the idle slots of each wave.

    A run over time in which all tasks take the same: nothing starts before all that runs has ended. As in Guo et al.'s
    simulations the idle slots of each wave are drawn afresh from all slots (Guo et al. 2012, note 3).
    """
    drawn = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))  # 0 and 1 are a run's own streams
    slots, many = instance.cluster.slots, int(instance.state.idle_slots.sum())
    waves: list[Ints] = []
    remote = 0

    def placed(problem: Lsap, rng: np.random.Generator) -> Placement | None:
        nonlocal remote
        snapshot, index = problem.instance, len(waves)
        waves.append(drawn.multivariate_hypergeometric(slots, many) if index else instance.state.idle_slots)
        posed = Lsap(snapshot.with_state(replace(snapshot.state, idle_slots=waves[-1])))
        placement = run(posed, name, (seed, index) if index else seed, **values).raise_if_failed()
        remote += int(posed.evaluate(placement)[0])
        return placement

    whole = instance.with_state(replace(instance.state, idle_slots=slots))
    simulate(whole, EveryRound(placed, "lsap"), Levels(duration=1), heartbeat=0).raise_if_unfinished()
    return remote, waves


def in_waves(family: str, seeds: int, **parameters: Any) -> Record:
    """Local tasks over all tasks when waves run until all tasks ran, idle slots drawn afresh for each."""
    shares: Record = {title: [] for title in SCHEDULERS}
    for seed in range(seeds):
        instance = generate(family, seed=seed, **parameters)
        for title, (name, values) in SCHEDULERS.items():
            remote, _ = played(instance, name, seed, **values)
            shares[title].append(1 - remote / len(instance.workload))
    return shares


def clairvoyant(instance: Instance, waves: Sequence[Ints]) -> int:
    """The fewest tasks off their data of one who knows the idle slots of all waves and fills all waves but the last.

    To which of the full waves a slot belongs changes nothing. So each node is there twice: with its slots of the full
    waves, and with those of the last. Slots that the last wave leaves idle are taken by further tasks that have their
    data on all nodes of the last wave. A placement that puts one of them elsewhere is never a better one.
    """
    full, last, nodes = np.sum(waves[:-1], axis=0, dtype=np.int64), waves[-1], len(instance.cluster)
    spare = int(full.sum() + last.sum()) - len(instance.workload)
    assert 0 <= spare < last.sum()
    slots = np.concatenate([np.zeros(nodes, dtype=np.int64) + full, last])
    rows = [np.concatenate([row, row + nodes]).tolist() for row in instance.replicas]
    rows += [np.arange(nodes, 2 * nodes).tolist()] * spare
    cluster = Cluster([f"n{node}" for node in range(2 * nodes)], slots=slots)
    best = solve(Lsap(Instance(cluster, Workload(range(len(rows)), replicas=Ragged.from_rows(rows)))))
    assert best.optimal
    assert best.objective is not None
    return int(best.objective[0])


#: The points of Figures 6 and 7(b): family, what varies, its values.
FACTORS: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "Figure 6(a), (b): tasks": ("guo-table3", "tasks", tuple(2**power for power in range(14))),
    "Figure 6(c): slots of each node": ("guo-table3", "slots", (1, 2, 3, 4, 5, 8, 10, 16, 32)),
    "Figure 6(d): replicas": ("guo-table3", "replicas", (1, 2, 3, 5, 10, 15, 20)),
    "Figure 6(e): nodes": ("guo-table3", "nodes", (300, 500, 1000, 1300, 1500, 1700, 2000, 3000, 4000, 5000)),
    "Figure 6(f): share of idle slots": ("guo-table3", "idle_ratio", (0.01, 0.05, 0.1, 0.15, 0.2, 0.4, 0.7, 1)),
    "Figure 7(b): tasks": ("guo-table3-delay", "tasks", tuple(2**power for power in range(4, 14))),
}


def factors(repeats: int) -> tuple[Any, str]:
    """Figures 6 and 7(b) by waves, and Table III's defaults against the clairvoyant optimum over the same waves."""
    most = max(2, repeats // 20)
    records: Record = {}
    content = []
    for title, (family, name, values) in FACTORS.items():
        print(title, file=sys.stderr)
        records[title] = {
            value: in_waves(family, most if name != "tasks" or value < 1024 else max(2, most // 5), **{name: value})
            for value in values
        }
        rows = [[value, *(spread(shares, 3) for shares in held.values())] for value, held in records[title].items()]
        content += [f"### {title}", table([name, "sweep", "heartbeat", "lsap-sched in each wave"], rows)]
    whole: dict[str, list[float]] = {"dl sweep": [], "lsap-sched, wave after wave": [], "clairvoyant": []}
    for seed in range(most):
        instance = generate("guo-table3", seed=seed)
        tasks = len(instance.workload)
        for title, heuristic in (("dl sweep", "dl"), ("lsap-sched, wave after wave", "lsap-sched")):
            remote, waves = played(instance, heuristic, seed)
            whole[title].append(1 - remote / tasks)
        whole["clairvoyant"].append(1 - clairvoyant(instance, waves) / tasks)
    rows = [[title, spread(values, 3)] for title, values in whole.items()]
    content += ["### Table III, defaults, all waves", table(["", "local"], rows)]
    records["whole"] = whole
    return records, "\n\n".join(content)


PARTS: dict[str, Callable[[int], tuple[Any, str]]] = {
    "figure2": figure2,
    "one-replica": one_replica,
    "figure4a": figure4a,
    "figure4b": figure4b,
    "figure4c": figure4c,
    "figure5": fair,
    "factors": factors,
}


def main() -> None:
    """Print the tables, or the records behind them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; all by default")
    parser.add_argument("--repeats", type=int, default=1000, help="instances a point; Guo et al. have 10,000")
    parser.add_argument("--quick", action="store_true", help="40 instances a point")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    chosen = parser.parse_args()
    repeats = 40 if chosen.quick else chosen.repeats
    records = {}
    for name in chosen.part or PARTS:
        print(name, file=sys.stderr)
        records[name], text = PARTS[name](repeats)
        if chosen.format == "markdown":
            print(f"## {name}\n\n{text}\n", flush=True)
    if chosen.format == "json":
        print(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
