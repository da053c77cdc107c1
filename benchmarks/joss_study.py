"""JoSS against the optimum of `traffic`: what its threshold, its policies and its classes cost without capacities.

    python benchmarks/joss_study.py [--seeds N]

Instances of the family `traffic` with its defaults. Prints a Markdown table: how much more traffic than the optimum's,
the mean with half of its 95 % interval and the most, and the mean load beside that of the optimum. The variants T and J
differ only within datacenters.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from study_tables import spread

import optsched
from optsched.heuristics import run
from optsched.instances.generate import generate
from optsched.problems import Traffic

#: What is compared: words, parameters of `joss-t`.
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("JoSS, td = k/(k-1)", {}),
    ("JoSS, td = 1", {"td": 1}),
    ("policy A for all", {"policy": "A"}),
    ("policy B for all", {"policy": "B"}),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="instances")
    given = parser.parse_args()
    problems = [Traffic(generate("traffic", seed)) for seed in range(given.seeds)]
    best = [optsched.solve(problem).objective for problem in problems]
    print("| scheduler | traffic beyond the optimum, mean | most | load, mean | load of the optimum, mean |")
    print("|---|--:|--:|--:|--:|")
    for words, parameters in CASES:
        runs = [run(problem, "joss-t", seed=seed, **parameters) for seed, problem in enumerate(problems)]
        values = [problem.evaluate(one.raise_if_failed()) for problem, one in zip(problems, runs, strict=True)]
        beyond = [
            float(100 * (held[0] / least[0] - 1)) for held, least in zip(values, best, strict=True) if least is not None
        ]
        loads = np.mean([float(held[1]) for held in values])
        least_load = np.mean([float(least[1]) for least in best if least is not None])
        print(f"| {words} | {spread(beyond)} % | {max(beyond):.1f} % | {loads:.1f} | {least_load:.1f} |")


if __name__ == "__main__":
    main()
