"""Sharmilarani et al.'s placement controller (RAS) against the proved optimum, and against fair sharing of fixed slots.

    python benchmarks/ras_study.py [--tiny 200] [--seeds 20] [--quick] [--format markdown|json]

First tiny instances with tasks that are large for their trackers: how often the rounds attain the highest lowest
utility, and how often the swaps as worded never end. Then the family `utility` at some sizes: how far RAS and fair
sharing are from the optimum, in the lowest utility and in utilisation. The reduces are fixed where RAS spreads them,
for RAS and optimum alike. `docs/results-sharmilarani.md` quotes the rows that matter; `--format json` gives
the records behind them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
from study_tables import count, mean, table

from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import Placement
from optsched.core.results import Value
from optsched.heuristics.ras import fair_sharing, map_rounds, ras
from optsched.instances.generate import generate
from optsched.problems.utility import Utility, spread_reduces
from optsched.routes import solve

#: Tiny instances: title, resources, trackers.
TINY = {
    f"{resources} resource{'s' * (resources > 1)}, {nodes} trackers": (resources, nodes)
    for nodes in (2, 3)
    for resources in (1, 2, 3)
}

#: Sizes of the family `utility`, beyond its defaults.
SIZES: dict[str, dict[str, int]] = {
    "4 jobs, 4 different trackers": {"jobs": 4, "nodes": 4, "types": 4, "maps": 20},
    "4 jobs, 10 identical trackers": {},
    "8 jobs, 20 identical trackers": {"jobs": 8, "nodes": 20},
    "8 jobs, 20 trackers of 4 types": {"jobs": 8, "nodes": 20, "types": 4},
    "30 jobs, 100 identical trackers": {"jobs": 30, "nodes": 100},
}

#: Map slots of a tracker under fair sharing; reduces stay where RAS spreads them.
SLOTS = (4, 8, 16)

#: Seconds for each optimum; a component that is not proved by then has no value.
TIME_LIMIT = 10.0


@dataclass(frozen=True)
class Case:
    """One instance: the proved optimum (None where a component is not proved) and the values of each scheduler."""

    title: str
    seed: int
    lowest: float | None
    utilisation: float | None
    attained: dict[str, bool | None]
    values: dict[str, list[float]]
    rounds: int
    endless: bool
    ras_seconds: float
    solve_seconds: float


def tiny(seed: int, resources: int, nodes: int) -> Instance:
    """2 or 3 jobs of 1 to 5 maps, which take 1 to 4 of each resource on trackers with 3 to 8; goals at random."""
    rng = np.random.default_rng((seed, resources, nodes))
    names = ["cpu", "disk", "memory"][:resources]
    capacity = rng.integers(3, 8, (nodes, resources), endpoint=True)
    maps = rng.integers(1, 5, int(rng.integers(2, 3, endpoint=True)), endpoint=True)
    takes = rng.integers(1, 4, (len(maps), resources), endpoint=True)
    required = rng.integers(0, maps + 1, endpoint=True)
    job = np.repeat(np.arange(len(maps)), maps)
    return Instance(
        Cluster(
            [f"n{node}" for node in range(nodes)], capacity=dict(zip(names, capacity.T.astype(float), strict=True))
        ),
        Workload(
            [f"t{task}" for task in range(len(job))],
            job=job,
            job_ids=[f"j{number}" for number in range(len(maps))],
            demand=dict(zip(names, takes[job].T.astype(float), strict=True)),
            goal=maps.astype(float),  # as many seconds as maps: the length of a map is what is required at once
            map_time=required.astype(float),
        ),
        name=f"tiny-{resources}-{nodes}-seed{seed}",
    )


def studied(title: str, seed: int, instance: Instance) -> Case:
    """Everything that is measured on one instance."""
    problem = Utility(instance, reduces="fixed")
    began = time.perf_counter()
    placement = ras(problem, np.random.default_rng(0))
    ras_seconds = time.perf_counter() - began
    reduces = spread_reduces(problem)
    literal = map_rounds(problem, reduces, improvement="literal")
    placements: dict[str, Placement] = {
        "RAS": placement,
        "RAS as worded": ras(problem, np.random.default_rng(0), improvement="literal"),
        **{f"fair, {slots} slots": fair_sharing(problem, np.random.default_rng(0), slots=slots) for slots in SLOTS},
    }
    values: dict[str, Value] = {name: problem.evaluate(held) for name, held in placements.items()}
    began = time.perf_counter()
    solution = solve(problem, time_limit=TIME_LIMIT)
    solve_seconds = time.perf_counter() - began
    assert solution.objective is not None
    first = solution.objective[0] if solution.objective[0] == solution.bound[0] else None
    assert first is None or all(value[0] <= first for value in values.values())
    return Case(
        title,
        seed,
        None if first is None else float(first),
        float(solution.objective[1]) if solution.optimal else None,
        {name: None if first is None else value[0] == first for name, value in values.items()},
        {name: [float(entry) for entry in value] for name, value in values.items()},
        len(map_rounds(problem, reduces).lowest),
        literal.ended == "endless",
        ras_seconds,
        solve_seconds,
    )


def attained(cases: list[Case], name: str) -> str:
    """How often a scheduler attains the proved highest lowest utility."""
    return count(bool(case.attained[name]) for case in cases if case.attained[name] is not None)


def served(value: float | None) -> bool:
    """Whether a lowest utility is known and not -1000, which stands for minus infinity."""
    return value is not None and value > -2


def shortfall(cases: list[Case], name: str) -> str:
    """Mean and largest distance from the optimum in the lowest utility, where both serve every job."""
    gaps = [
        case.lowest - case.values[name][0]
        for case in cases
        if case.lowest is not None and served(case.lowest) and served(case.values[name][0])
    ]
    return f"{mean(gaps, 3)} ({max(gaps):.2f})" if gaps else ""


def starved(cases: list[Case], name: str) -> int:
    """How often a job gets no map, or none of its reduces, though every job can."""
    return sum(served(case.lowest) and not served(case.values[name][0]) for case in cases)


def tiny_table(studies: dict[str, list[Case]]) -> str:
    """A row for each shape of the tiny instances."""
    rows = [
        [
            title,
            attained(cases, "RAS"),
            shortfall(cases, "RAS"),
            starved(cases, "RAS"),
            attained(cases, "RAS as worded"),
            sum(case.endless for case in cases),
            max(case.rounds for case in cases),
        ]
        for title, cases in studies.items()
    ]
    header = ["instances", "RAS attains", "mean shortfall (most)", "starves a job"]
    return table([*header, "as worded attains", "swaps for ever", "most rounds"], rows)


def size_table(studies: dict[str, list[Case]]) -> str:
    """A row for each size and scheduler."""
    rows = []
    for title, cases in studies.items():
        for name in cases[0].values:
            used = [case.values[name][1] / case.utilisation for case in cases if case.utilisation]
            extra: list[object] = ["", "", ""]
            if name == "RAS":
                seconds = [case.solve_seconds for case in cases]
                milliseconds = 1000 * sum(case.ras_seconds for case in cases) / len(cases)
                extra = [
                    max(case.rounds for case in cases),
                    f"{milliseconds:.0f}",
                    f"{mean(seconds)} ({max(seconds):.1f})",
                ]
            if name == "RAS as worded":
                extra[0] = f"endless: {sum(case.endless for case in cases)}"
            row: list[object] = [title, name, attained(cases, name), shortfall(cases, name), starved(cases, name)]
            rows.append([*row, f"{100 * sum(used) / len(used):.1f} %" if used else "", *extra])
    header = ["size", "scheduler", "attains", "mean shortfall (most)", "starves a job", "utilisation, of the optimum's"]
    return table([*header, "most rounds", "ms", "optimum, s (most)"], rows, text_columns=2)


def main() -> None:
    """Print the tables, or the records behind them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", type=int, default=200, help="tiny instances of each shape")
    parser.add_argument("--seeds", type=int, default=20, help="instances of each size of the family")
    parser.add_argument("--quick", action="store_true", help="20 tiny ones of each shape, 3 seeds")
    parser.add_argument("--format", choices=("markdown", "json"), default="markdown")
    chosen = parser.parse_args()
    shapes, seeds = (20, 3) if chosen.quick else (chosen.tiny, chosen.seeds)
    small: dict[str, list[Case]] = {}
    large: dict[str, list[Case]] = {}
    for title, (resources, nodes) in TINY.items():
        print(title, file=sys.stderr)
        small[title] = [studied(title, seed, tiny(seed, resources, nodes)) for seed in range(shapes)]
    for title, parameters in SIZES.items():
        print(title, file=sys.stderr)
        large[title] = [studied(title, seed, generate("utility", seed=seed, **parameters)) for seed in range(seeds)]
    if chosen.format == "json":
        print(json.dumps([asdict(case) for cases in (*small.values(), *large.values()) for case in cases], indent=1))
        return
    print("## Tiny instances\n\n" + tiny_table(small))
    print("\n## The family `utility`\n\n" + size_table(large))


if __name__ == "__main__":
    main()
