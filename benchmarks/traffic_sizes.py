"""Time and proof of `traffic` at the size that is to be reached: 10 datacenters, 1000 blocks, with and without slots.

    python benchmarks/traffic_sizes.py [--time-limit S]

Prints a Markdown table. Instances are of the family `traffic` (seed 0); `spare` is the share of slots beyond the tasks,
`smallest` the least size of a block in MB. Next to the optimum or the gap is what JoSS-J causes.
"""

from __future__ import annotations

import argparse
import time

import optsched
from optsched.heuristics import run
from optsched.instances.generate import generate
from optsched.problems import Traffic

#: Datacenters, maps, and what else differs from the family's defaults.
CASES: tuple[dict[str, float], ...] = (
    {"nodes": 40, "tasks": 120, "datacenters": 4, "jobs": 10},
    {"nodes": 100, "tasks": 1000, "datacenters": 10, "jobs": 50, "spare": 0.1},
    {"nodes": 100, "tasks": 1000, "datacenters": 10, "jobs": 50, "spare": 0.1, "smallest": 1},
    {"nodes": 100, "tasks": 1000, "datacenters": 10, "jobs": 20, "spare": 0.1},
)


def row(case: dict[str, float], capacity: str, time_limit: float) -> str:
    """One line of the table."""
    problem = Traffic(generate("traffic", 0, **case), capacity=capacity)
    began = time.perf_counter()
    solution = optsched.solve(problem, time_limit=time_limit)
    seconds = time.perf_counter() - began
    held = run(problem, "joss-j").raise_if_failed()
    joss = "starves" if problem.violations(held) else ", ".join(f"{float(part):g}" for part in problem.evaluate(held))
    values = ["none" if value is None else ", ".join("open" if part is None else f"{float(part):g}" for part in value)
              for value in (solution.objective, solution.bound)]  # fmt: skip
    kinds = ", ".join(str(certificate.kind) for certificate in solution.certificates)
    sizes = f"{case['datacenters']:g} | {case['tasks']:g} | {case['jobs']:g} | {case.get('smallest', 128):g}"
    text = str(solution.termination) + (f" ({solution.limit})" if solution.limit else "")
    return f"| {sizes} | {capacity} | {values[0]} | {values[1]} | {kinds} | {text} | {seconds:.1f} | {joss} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each")
    given = parser.parse_args()
    print("| datacenters | maps | jobs | least block | capacity | traffic, load | bound | proof | ended | s | joss-j |")
    print("|--:|--:|--:|--:|---|---|---|---|---|--:|---|")
    for case in CASES:
        for capacity in ("none", "slots"):
            print(row(case, capacity, given.time_limit), flush=True)


if __name__ == "__main__":
    main()
