"""A solver that lies: whatever HiGHS holds, says or claims, the answer is right, or says that it is not known."""

import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import highspy
import numpy as np
import pytest
from small_problems import NAMES, small_problem

from optsched.core.errors import SolverDisagreement
from optsched.core.results import Solution, Termination
from optsched.problems import AnyProblem
from optsched.routes import routes_of, solve

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")


#: What the status is called instead.
STATUSES = [
    getattr(highspy.HighsModelStatus, f"k{name}")
    for name in ("Optimal", "Infeasible", "Unbounded", "TimeLimit", "Unknown", "UnboundedOrInfeasible")
]


def _values(rng: np.random.Generator, values: list[float]) -> list[float]:
    """The values with one entry altered, all of them, or their number."""
    values, way = values or [1.0], rng.integers(10)
    if way < 6:
        position = int(rng.integers(len(values)))
        one = values[position]
        values[position] = [one + 1, one - 1, np.nan, np.inf, 1e300, one + 0.5][way]
        return values
    return {6: values[::-1], 7: [0.0] * len(values), 8: values[:-1], 9: [*values, 1.0]}[int(way)]


#: What may be altered.
LIES = ("col_value", "row_dual", "objective", "bound", "both", "status", "held")


@contextmanager
def lying(lie: str, seed: int, often: float) -> Iterator[list[str]]:
    """Within this HiGHS lies of one thing, in a share `often` of its runs; gives the list of lies that were told."""
    rng, seen = np.random.default_rng(seed), []
    kept = {name: getattr(highspy.Highs, name) for name in ("getSolution", "getInfo", "getModelStatus", "run")}

    def run(self: Any) -> Any:
        result = kept["run"](self)
        self.lies = bool(rng.random() < often)
        self.seed = int(rng.integers(2**31))
        if self.lies:
            seen.append(lie)
        return result

    def lies(self: Any, *kinds: str) -> np.random.Generator | None:
        """The generator of this run's lie, the same at each look; None where it tells the truth about this."""
        return np.random.default_rng(self.seed) if getattr(self, "lies", False) and lie in kinds else None

    def solution(self: Any) -> Any:
        held = kept["getSolution"](self)
        draw = lies(self, "col_value", "row_dual")
        if draw is None:
            return held
        names = ("col_value", "col_dual", "row_value", "row_dual", "dual_valid", "value_valid")
        copy = SimpleNamespace(**{name: getattr(held, name) for name in names})
        setattr(copy, lie, _values(draw, list(getattr(held, lie))))
        return copy

    def info(self: Any) -> Any:
        held = kept["getInfo"](self)
        draw = lies(self, "objective", "bound", "both", "held")
        if draw is None:
            return held
        names = ("mip_node_count", "primal_solution_status", "objective_function_value", "mip_dual_bound", "mip_gap")
        copy = SimpleNamespace(**{name: getattr(held, name) for name in names})
        by = [1.0, -1.0, 1e6, np.nan, np.inf, -1e300, 0.5][int(draw.integers(7))]
        if lie in ("objective", "both"):
            copy.objective_function_value += by
        if lie in ("bound", "both"):
            copy.mip_dual_bound += by
        if lie == "held":
            copy.primal_solution_status = 0 if copy.primal_solution_status else 2
        return copy

    def status(self: Any) -> Any:
        held, draw = kept["getModelStatus"](self), lies(self, "status")
        return held if draw is None else STATUSES[int(draw.integers(len(STATUSES)))]

    altered = {"getSolution": solution, "getInfo": info, "getModelStatus": status, "run": run}
    try:
        for name, function in altered.items():
            setattr(highspy.Highs, name, function)
        yield seen
    finally:
        for name, function in kept.items():
            setattr(highspy.Highs, name, function)


def honest(posed: AnyProblem, truth: Solution, found: Solution) -> bool:
    """Whether what is claimed is true: an optimum is one, nothing is infeasible that is not, no bound is past it."""
    if found.termination is Termination.OPTIMAL:
        return found.objective == truth.objective
    if found.termination is Termination.INFEASIBLE:
        return truth.termination is Termination.INFEASIBLE
    return truth.objective is None or posed.beaten(truth.objective, found.bound) is None


def lie_to(name: str, seeds: Iterable[int], often: float, quick: bool = False) -> dict[str, int]:
    """How each lie came out on each route of a problem: no error but SolverDisagreement, no false claim."""
    count = dict.fromkeys(("right", "disagreement", "open"), 0)
    for seed in seeds:
        posed = small_problem(name, seed)
        truth = solve(posed)
        chosen = [route for route in routes_of(posed) if route not in ("brute-force", "dense", "tabled")]
        if quick:
            chosen = ["arrays"] if "arrays" in chosen else chosen[1:2]
        for route in chosen:
            for lie in LIES:
                with lying(lie, zlib.crc32(f"{name} {route} {lie} {seed}".encode()), often) as shown:
                    try:
                        found = solve(posed, route=route)
                    except SolverDisagreement:
                        count["disagreement"] += 1
                        continue
                assert honest(posed, truth, found), (seed, route, lie, shown, found)
                settled = found.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
                count["right" if settled else "open"] += 1
    return count


@pytest.mark.parametrize("name", NAMES)
def test_bug_lies_that_were_decoded(name: str) -> None:
    """Tests that each kind of lie ends in the right answer, a disagreement or none, by a route of HiGHS."""
    count = lie_to(name, [1], 1.0, quick=True)
    assert sum(count.values()) >= len(LIES)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_lies_on_every_route(name: str) -> None:
    """Tests the same on every route and several instances, with lies in some runs of many."""
    count = lie_to(name, range(2, 4), 0.5)
    assert count["disagreement"]
    assert count["right"]


@pytest.mark.parametrize("name", ["lsap", "flow", "transmission-reduces", "utility"])
def test_duals_that_are_huge_prove_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an optimum whose duals are past every number is still the optimum, proved in another way or not."""
    posed = small_problem(name, 1)
    truth = solve(posed)
    monkeypatch.setattr("optsched.solvers.highs.check_duals", lambda given, length, what: np.full(length, 1e300))
    found = solve(posed, route="arrays" if "arrays" in routes_of(posed) else None)
    assert found.objective == truth.objective
    assert honest(posed, truth, found)
