"""A solver that lies: whatever HiGHS holds, says or claims, the answer is right, or says that it is not known."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
import pytest
from lying_solver import LIES, lying
from small_problems import NAMES, small_problem

from optsched.core.errors import SolverDisagreement
from optsched.core.results import Solution, Termination
from optsched.problems import AnyProblem
from optsched.routes import routes_of, solve

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")


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
