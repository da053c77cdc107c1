"""A solver that lies: whatever HiGHS holds, says or claims, the answer is right, or says that it is not known."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
import pytest
import scipy.sparse as sp
from lying_solver import LIES, lying
from small_problems import NAMES, small_problem

from optsched.errors import SolverDisagreement
from optsched.problems import AnyProblem
from optsched.results import Solution, Termination
from optsched.routes import routes_of, solve
from optsched.solvers.answers import (
    check_duals,
    check_objective,
    check_values,
    decoding,
    whole_numbers,
    whole_prices,
)
from optsched.solvers.highs import LinearProgram

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")


def honest(posed: AnyProblem, truth: Solution, found: Solution) -> bool:
    """Whether what is claimed is true: an optimum is one, nothing is infeasible that is not, no bound is past it."""
    if found.termination is Termination.OPTIMAL:
        return found.objective == truth.objective
    if found.termination is Termination.INFEASIBLE:
        return truth.termination is Termination.INFEASIBLE
    return truth.objective is None or posed.beaten(truth.objective, found.bound) is None


def lie_to(name: str, seeds: Iterable[int], often: float, routes: int | None = None) -> dict[str, int]:
    """How each lie came out on each route of a problem: no error but SolverDisagreement, no false claim."""
    count = dict.fromkeys(("right", "disagreement", "open"), 0)
    for seed in seeds:
        posed = small_problem(name, seed)
        truth = solve(posed)
        chosen = [route for route in routes_of(posed) if route not in ("brute-force", "dense", "tabled")]
        for route in chosen[:routes]:
            for lie in LIES:
                with lying(lie, zlib.crc32(f"{name} {route} {lie} {seed}".encode()), often) as told:
                    try:
                        found = solve(posed, route=route)
                    except SolverDisagreement:
                        count["disagreement"] += 1
                        continue
                assert honest(posed, truth, found), (seed, route, lie, told, found)
                settled = found.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
                count["right" if settled else "open"] += 1
    return count


@pytest.mark.parametrize("name", NAMES)
def test_bug_lies_that_were_decoded(name: str) -> None:
    """Tests that each kind of lie ends in the right answer, a disagreement or none, by two routes."""
    count = lie_to(name, [1], 1.0, routes=2)
    assert sum(count.values()) >= len(LIES)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_lies_on_every_route(name: str) -> None:
    """Tests the same on every route and several instances, with lies in some runs of many."""
    count = lie_to(name, range(2, 4), 0.5)
    assert count["disagreement"]
    assert count["right"]


PROGRAM = LinearProgram(
    objective=np.array([1.0, 2.0]),
    col_lower=np.zeros(2),
    col_upper=np.array([2.0, 5.0]),
    integer=np.array([True, False]),
    row_lower=np.array([3.0]),
    row_upper=np.array([4.0]),
    matrix=sp.csr_array([[1.0, 1.0]]),
)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1.0], "1 values for 2 columns"),
        ([1.0, 2.0, 0.0], "3 values for 2 columns"),
        ([np.nan, 2.0], "nan for column 0, which is no number"),
        ([1.0, np.inf], "inf for column 1, which is no number"),
        ([1.5, 2.0], "1.5 for column 0, which must be whole"),
        ([3.0, 0.0], "3.0 for column 0, which is beyond its bounds"),
        ([0.0, -1.0], "-1.0 for column 1, which is beyond its bounds"),
        ([1.0, 1.0], "make 2.0 of row 0, which must be 3.0 to 4.0"),
        ([1.0, 4.0], "make 5.0 of row 0, which must be 3.0 to 4.0"),
    ],
)
def test_what_is_no_solution(values: list[float], told: str) -> None:
    """Tests that each way of being no solution is a disagreement that names the place."""
    with pytest.raises(SolverDisagreement, match=told):
        check_values(values, PROGRAM)


def test_what_is_read() -> None:
    """Tests that a solution within tolerances is taken, its worth compared, and duals are as many as due."""
    held = check_values([1.0 + 1e-7, 2.0 - 1e-7], PROGRAM)
    check_objective(5.0, held, PROGRAM)
    with pytest.raises(SolverDisagreement, match=r"worth 6\.0, which is worth 4\.99"):
        check_objective(6.0, held, PROGRAM)
    with pytest.raises(SolverDisagreement, match="worth nan"):
        check_objective(np.nan, held, PROGRAM)
    assert check_duals([1.0], 1, "duals").tolist() == [1.0]
    for wrong in ([1.0, 2.0], [np.nan]):
        with pytest.raises(SolverDisagreement, match="holds no 1 finite numbers as duals"):
            check_duals(wrong, 1, "duals")
    with pytest.raises(SolverDisagreement, match=r"0.5 for column 1, but a vertex of this program is whole"):
        whole_numbers(np.array([1.0, 0.5]))
    with pytest.raises(SolverDisagreement, match="past every number"):
        whole_numbers(np.array([1e300]))


@pytest.mark.parametrize(
    "error", [KeyError("x"), IndexError(), StopIteration(), OverflowError("far"), ValueError("no")]
)
def test_decoding(error: Exception) -> None:
    """Tests that what fails while a solution is decoded is the solver's fault, with the failure as its cause."""
    with (
        pytest.raises(SolverDisagreement, match=r"lsap: what .* stands for nothing") as caught,
        decoding("lsap"),
    ):
        raise error
    assert caught.value.__cause__ is error


def test_bug_duals_past_every_number_were_cast() -> None:
    """Tests that duals which no whole number of a program can be are no prices, and that others are rounded."""
    for value in (1e300, -1e300, 2.0**53 + 2):
        assert whole_prices(np.array([1.0, value])) is None
    prices = whole_prices(np.array([2.0**53, -1.4]))
    assert prices is not None
    assert prices.tolist() == [2**53, -1]


@pytest.mark.parametrize("name", ["lsap", "flow", "transmission-reduces", "utility"])
def test_duals_that_are_huge_prove_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an optimum whose duals are past every number is still the optimum, proved in another way or not."""
    posed = small_problem(name, 1)
    truth = solve(posed)
    monkeypatch.setattr("optsched.solvers.highs.check_duals", lambda given, length, what: np.full(length, 1e300))
    found = solve(posed, route="arrays" if "arrays" in routes_of(posed) else None)
    assert found.objective == truth.objective
    assert honest(posed, truth, found)
