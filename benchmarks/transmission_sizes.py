"""Sizes that the joint `transmission` reaches: branch and bound, three linear models and heuristics, as a page.

    python benchmarks/transmission_sizes.py [--time-limit SECONDS] [--processes N] > docs/results-shen-sizes.md
    python benchmarks/transmission_sizes.py --size MAPS,REDUCES,NODES             # only this size

Each instance is generated from its seed. The models run on the first seed only; all ways have the same time limit, and
ratios are of one run. Each proof by a tree is checked anew. The last section of the page, how to read it, is written by
hand.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from study_tables import spread, table

from optsched.certificates import certify
from optsched.heuristics import applicable, run
from optsched.instances.generate import generate
from optsched.models import transmission as models
from optsched.problems import Transmission
from optsched.routes import solve
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import load_profile

#: Maps, reduces and nodes, the largest first: so no process waits long for another at the end.
SIZES = ((50, 5, 40), (24, 4, 24), (16, 4, 16))

#: What differs from the family's defaults (two jobs, hops 0, 2, 4 by rack, two map slots a node).
VARIATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("hops by rack", {}),
    ("distances drawn", {"spread": 10}),
    ("one map slot a node", {"slots": 1}),
)
SEEDS = range(2)

#: Seeds of each heuristic.
RUNS = 10

#: The linear models: name, and how it is built and solved.
MODELS: tuple[tuple[str, Callable[[Transmission], Any], Callable[..., SolverOutcome]], ...] = (
    ("Pyomo `flow`", lambda problem: models.build_pyomo(problem, form="flow"), solve_pyomo),
    ("Pyomo `pairs`", lambda problem: models.build_pyomo(problem, form="pairs"), solve_pyomo),
    ("PuLP literal", models.build_pulp, solve_pulp),
)

HEAD = """# Shen et al. 2016: sizes that the joint `transmission` reaches

Instances of the family `transmission` (made up: Shen et al. give no such numbers), {processes} at a time, one solver
thread each, on two cores that other work shared; {limit:g} s for each way. Printed by

```bash
python benchmarks/transmission_sizes.py --time-limit {limit:g} --processes {processes} > docs/results-shen-sizes.md
```

A gap is (value - bound) / value; "proved" is a gap of 0. Sizes are maps, reduces, nodes.
"""

SEARCH = """
## Branch and bound

The default route, `search`. `combinatorial` is a tree that `certify` bounds anew, in integers, with the same bound as
result; this takes the time of the last column.
"""

WAYS = """
## Beside the linear models

The same time limit, building included in the seconds. A model's bound is HiGHS's word. The ratio is the model's time
over that of `search` on the same instance; where either stops at the limit it says nothing of how long it would take.
"""

HEURISTICS = """
## Beside the heuristics

How far above the optimum, or where none is proved above the bound of `search`: then the true gap is smaller. `best` is
the heuristic of the list, other than `sequential`, with the least mean over ten seeds; a heuristic that draws no random
numbers comes to the same with each. With ± half the 95 % interval, and the worst.
"""


class Case(NamedTuple):
    """One instance, by how it is generated."""

    size: tuple[int, int, int]
    variation: str
    options: dict[str, Any]
    seed: int

    def problem(self) -> Transmission:
        """The instance, posed."""
        maps, reduces, nodes = self.size
        return Transmission(
            generate("transmission", seed=self.seed, tasks=maps, reduces=reduces, nodes=nodes, **self.options)
        )

    @property
    def head(self) -> list[object]:
        """The first cells of its rows."""
        return [f"({', '.join(map(str, self.size))})", self.variation, self.seed]


class Rows(NamedTuple):
    """What one instance adds to each table."""

    search: list[list[object]]
    ways: list[list[object]]
    heuristics: list[list[object]]


def gap(value: float | None, bound: float | None) -> str:
    """A gap as text; what a solver says in floating point is whole here."""
    if value is None:
        return "no placement"
    if bound is None:
        return "no bound"
    apart = round(value) - round(bound, 3)
    return "proved" if apart <= 0.001 else f"{apart / value:.1%}"


def _told(number: float | None) -> str:
    return "none" if number is None else f"{number:.0f}"


def measured(given: tuple[Case, float]) -> Rows:
    """One instance by all ways."""
    case, limit = given
    problem = case.problem()
    began = time.perf_counter()
    solution = solve(problem, time_limit=limit)
    seconds = time.perf_counter() - began
    assert solution.objective is not None
    assert solution.bound[0] is not None
    value, bound = float(solution.objective[0]), float(solution.bound[0])
    began = time.perf_counter()
    certify(problem, solution).raise_if_invalid()
    checked = time.perf_counter() - began
    states = int(solution.raw_status.split()[0])
    kind = str(solution.certificates[0].kind)
    told = [_told(value), _told(bound), gap(value, bound)]
    search = [[*case.head, *told, kind, f"{states:,}", f"{seconds:.1f}", f"{checked:.1f}"]]
    ways: list[list[object]] = []
    if case.seed == SEEDS[0]:
        ways.append([*case.head, "`search`", *told, f"{seconds:.1f}", 1])
        ways += [["", "", "", name, *row(problem, build, by, limit, seconds)] for name, build, by in MODELS]
    return Rows(search, ways, [[*case.head, *above(problem, value, bound)]])


def row(
    problem: Transmission,
    build: Callable[[Transmission], Any],
    by: Callable[..., SolverOutcome],
    limit: float,
    of_search: float,
) -> list[object]:
    """What one linear model gives."""
    began = time.perf_counter()
    outcome = by(build(problem), load_profile("exact").with_limits(time_limit=limit))
    seconds = time.perf_counter() - began
    told = [_told(outcome.objective), _told(outcome.bound), gap(outcome.objective, outcome.bound)]
    return [*told, f"{seconds:.1f}", f"{seconds / of_search:.3g}"]


def above(problem: Transmission, value: float, bound: float) -> list[object]:
    """Gaps of `sequential` and of the best other heuristic, its worst run, and its name."""
    found: dict[str, list[float]] = {}
    for entry in applicable(problem, by_default=True):
        placements = [run(problem, entry, seed=seed).placement for seed in range(RUNS)]
        held = [one for one in placements if one is not None and not problem.violations(one)]
        if len(held) == RUNS:
            found[entry.name] = [float(problem.evaluate(one)[0]) for one in held]
    one = found.pop("sequential")
    best = min(found, key=lambda name: sum(found[name]))
    if not bound:
        return ["bound", *["no bound"] * 3, best]
    ours, other = ([100 * (value / bound - 1) for value in values] for values in (one, found[best]))
    against = "optimum" if value == bound else "bound"
    return [against, f"{spread(ours)} %", f"{spread(other)} %", f"{max(other):.1f} %", best]


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--size", choices=[",".join(map(str, size)) for size in SIZES], help="only this one")
    given = parser.parse_args()
    sizes = [size for size in SIZES if given.size in (None, ",".join(map(str, size)))]
    cases = [Case(size, *variation, seed) for size in sizes for seed in SEEDS for variation in VARIATIONS]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.processes, mp_context=spawn) as pool:
        found = list(pool.map(measured, [(case, given.time_limit) for case in cases]))
    order = sorted(range(len(cases)), key=lambda position: cases[position].size)
    rows = Rows(*([line for position in order for line in found[position][part]] for part in range(3)))
    head = ["size", "instances", "seed"]
    told = ["value", "bound", "gap"]
    print(HEAD.format(limit=given.time_limit, processes=given.processes).rstrip())
    print(SEARCH + "\n" + table([*head, *told, "proof", "states", "seconds", "checked in s"], rows.search, 2))
    print(WAYS + "\n" + table([*head, "way", *told, "seconds", "times `search`"], rows.ways, 2))
    print(
        HEURISTICS + "\n" + table([*head, "against", "`sequential`", "best", "its worst", "which"], rows.heuristics, 2)
    )


if __name__ == "__main__":
    main()
