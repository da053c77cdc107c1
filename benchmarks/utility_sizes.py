"""Sizes that `utility` reaches: identical and different trackers, by the default route, as a Markdown table.

    python benchmarks/utility_sizes.py [--time-limit SECONDS]

Each instance is generated from its seed. A gap is that of the bound, which a certificate proves or a solver claims.
"""

from __future__ import annotations

import argparse
from typing import Any

from study_tables import table

from optsched.certificates import certify
from optsched.instances.generate import generate
from optsched.problems import Utility
from optsched.routes import solve

#: Sizes that the table tells, each with the parameters of the family `utility`.
SIZES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("30 jobs, 10,000 identical trackers", {"jobs": 30, "nodes": 10_000, "maps": 4_000, "reduces": 400}),
    ("20 jobs, 200 identical trackers", {"jobs": 20, "nodes": 200, "maps": 600}),
    ("8 jobs, 50 different trackers", {"jobs": 8, "nodes": 50, "types": 50, "maps": 150, "reduces": 12}),
)
SEEDS = range(2)


def rows(limit: float) -> list[list[object]]:
    """One row an instance: for each component its value, the gap to its bound, and what proves that bound."""
    found: list[list[object]] = []
    for words, values in SIZES:
        for seed in SEEDS:
            for reduces in ("free", "fixed"):
                problem = Utility(generate("utility", seed=seed, **values), reduces=reduces)
                solution = solve(problem, time_limit=limit)
                certify(problem, solution).raise_if_invalid()
                assert solution.objective is not None
                kinds = {certificate.component: str(certificate.kind) for certificate in solution.certificates}
                row: list[object] = [words, seed, reduces, f"{len(problem.tasks):,}"]
                for component, value, bound in zip(problem.components, solution.objective, solution.bound, strict=True):
                    gap = "unknown" if bound is None else f"{float(bound - value):.2g}" if bound != value else "0"
                    row += [f"{float(value):.6f}", f"{gap}, {kinds.get(component.name, 'none')}"]
                found.append([*row, f"{solution.build_seconds + solution.solve_seconds:.1f}"])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", type=float, default=60.0)
    limit = parser.parse_args().time_limit
    header = [
        "size",
        "seed",
        "reduces",
        "tasks",
        "lowest utility",
        "gap, proof",
        "utilisation",
        "gap, proof",
        "seconds",
    ]
    print(table(header, rows(limit), text_columns=1))


if __name__ == "__main__":
    main()
