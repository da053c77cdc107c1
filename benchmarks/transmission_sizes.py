"""Sizes that the joint `transmission` reaches: branch and bound, heuristics and three linear models, as two tables.

    python benchmarks/transmission_sizes.py [--time-limit SECONDS] [--processes N]
    python benchmarks/transmission_sizes.py --size MAPS,REDUCES,NODES             # only this size

Each instance is generated from its seed. The models run on the first seed only. All ways have the same time limit. Each
proof by a tree is checked again. The tables are those of `docs/results-shen-sizes.md`.
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
    ("by rack", {}),
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
        return ["/".join(map(str, self.size)), self.variation, self.seed]


class Rows(NamedTuple):
    """What one instance adds to each table."""

    search: list[list[object]]
    models: list[list[object]]


def gap(value: float | None, bound: float | None) -> str:
    """A gap as text; what a solver says in floating point is whole here."""
    if value is None:
        return "no placement"
    if bound is None:
        return "no bound"
    apart = round(value) - round(bound, 3)
    return "proved" if apart <= 0.001 else f"{apart / value:.1%}"


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
    certify(problem, solution).raise_if_invalid()
    states = int(solution.raw_status.split()[0])
    cells = [f"{value:.0f}", gap(value, bound), f"{states:,}", f"{seconds:.1f}"]
    search: list[list[object]] = [[*case.head, *cells, *above(problem, bound)]]
    models: list[list[object]] = []
    if case.seed == SEEDS[0]:
        by_model = [reached(problem, build, by, limit) for _, build, by in MODELS]
        models.append([*case.head[:2], f"{gap(value, bound)}, {seconds:.1f} s", *by_model])
    return Rows(search, models)


def reached(
    problem: Transmission, build: Callable[[Transmission], Any], by: Callable[..., SolverOutcome], limit: float
) -> str:
    """The gap of one linear model and its seconds, building included."""
    began = time.perf_counter()
    outcome = by(build(problem), load_profile("exact").with_limits(time_limit=limit))
    return f"{gap(outcome.objective, outcome.bound)}, {time.perf_counter() - began:.1f} s"


def above(problem: Transmission, bound: float) -> list[object]:
    """Percent above the bound: of `sequential`, and of the best other heuristic with its name."""
    found: dict[str, list[float]] = {}
    for entry in applicable(problem, by_default=True):
        placements = [run(problem, entry, seed=seed).placement for seed in range(RUNS)]
        held = [one for one in placements if one is not None and not problem.violations(one)]
        if len(held) == RUNS:
            found[entry.name] = [float(problem.evaluate(one)[0]) for one in held]
    one = found.pop("sequential")
    best = min(found, key=lambda name: sum(found[name]))
    if not bound:
        return ["no bound", f"no bound ({best})"]
    ours, other = (
        spread([100 * (value / bound - 1) for value in values]).removesuffix(" ± 0.0") for values in (one, found[best])
    )
    return [ours, f"{other} ({best})"]


def main() -> None:
    """Print the tables."""
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
    rows = Rows(*([line for position in order for line in found[position][part]] for part in range(2)))
    head = ["maps/reduces/nodes", "instances"]
    measures = ["value", "gap", "states", "seconds", "`sequential`, % above", "best other, % above"]
    print(table([*head, "seed", *measures], rows.search, 2))
    print("\n" + table([*head, "`search`", *(name for name, _, _ in MODELS)], rows.models, 2))


if __name__ == "__main__":
    main()
