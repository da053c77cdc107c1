"""Sizes that `utility` reaches: identical and different trackers, by the default route, as a Markdown table.

    python benchmarks/utility_sizes.py [--time-limit SECONDS] > docs/results-sharmilarani-sizes.md

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

HEAD = """# Sharmilarani et al.: sizes that `utility` reaches

Instances of the family `utility` (made up: the paper gives no numbers), one solver thread on two cores that other work
shared, by the default route with {limit:g} s each. Printed by

```bash
python benchmarks/utility_sizes.py --time-limit {limit:g} > docs/results-sharmilarani-sizes.md
```

`dual` is a proof by prices, `combinatorial` one by a tree over the patterns that prices leave; `optsched certify`
checks both in integers. `solver` is a branch and bound's word. The gap is the bound less the objective; the utilisation
has no bound where the lowest utility is not closed.
"""


def rows(limit: float) -> list[list[object]]:
    """One row a component of each instance."""
    found: list[list[object]] = []
    for words, values in SIZES:
        for seed in SEEDS:
            for reduces in ("free", "fixed"):
                problem = Utility(generate("utility", seed=seed, **values), reduces=reduces)
                solution = solve(problem, time_limit=limit)
                certify(problem, solution).raise_if_invalid()
                assert solution.objective is not None
                seconds = f"{solution.build_seconds + solution.solve_seconds:.1f}"
                kinds = {certificate.component: str(certificate.kind) for certificate in solution.certificates}
                for component, value, bound in zip(problem.components, solution.objective, solution.bound, strict=True):
                    first = component is problem.components[0]
                    head = [words, seed, reduces, f"{len(problem.tasks):,}"] if first else ["", "", "", ""]
                    shown = "unknown" if bound is None else f"{float(bound):.6f}"
                    gap = "unknown" if bound is None else f"{float(bound - value):.2g}" if bound != value else "0"
                    proof = kinds.get(component.name, "none")
                    figures = [component.name, f"{float(value):.6f}", shown, gap, proof, seconds if first else ""]
                    found.append([*head, *figures])
    return found


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", type=float, default=60.0)
    limit = parser.parse_args().time_limit
    header = ["size", "seed", "reduces", "tasks", "component", "objective", "bound", "gap", "proof", "seconds"]
    body = table(header, rows(limit), text_columns=1)
    print(HEAD.format(limit=limit) + "\n" + body)


if __name__ == "__main__":
    main()
