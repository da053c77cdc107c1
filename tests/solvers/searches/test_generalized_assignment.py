"""The engines of `generalized-assignment`: plain assignment, prices, solvers that err, and repaired placements."""

import numpy as np
import pytest
from small_problems import ONE_PLACE as SMALL
from small_problems import generalized_assignment as posed

from optsched import Proof, Termination, certify, solve
from optsched.core.deadline import deadline
from optsched.core.errors import SolverDisagreement
from optsched.solvers.answers import OUT_OF_MEMORY
from optsched.solvers.highs import ArraySolution
from optsched.solvers.profiles import load_profile
from optsched.solvers.searches import generalized_assignment
from optsched.solvers.searches.generalized_assignment import improved


def test_bug_plain_assignment_was_a_program() -> None:
    """Tests that what each node only counts is solved as assignment, whatever the unit of its demand, both senses."""
    rng = np.random.default_rng(1)
    for seed in range(20):
        cost = rng.integers(0, 30, (9, 4)).tolist()
        demand = {"weight": np.tile(rng.choice([0.25, 0.5, 2.0, 3.0], 4), (9, 1)).tolist(), "place": [[1.0] * 4] * 9}
        places = rng.integers(2, 5, 4)
        capacity = {"weight": (np.array(demand["weight"][0]) * places).tolist(), "place": [4.0] * 4}
        problem = posed(cost, demand, capacity, sense=("min", "max")[seed % 2])
        solution = solve(problem)
        assert solution.solver["name"] == "SciPy linear_sum_assignment"
        other = solve(problem, route="arrays")
        assert (solution.objective, solution.termination) == (other.objective, other.termination)
        if places.sum() < 9:
            assert solution.termination is Termination.INFEASIBLE
            continue
        assert solution.certificate is Proof.DUAL
        assert certify(problem, solution).proved
    differ = posed([[0, 3], [0, 3]], {"weight": [[2, 1], [1, 1]]}, {"weight": [3, 9]})
    assert solve(differ).solver["name"] == "Lagrangian branch and bound"
    assert generalized_assignment.plain_assignment(differ) is None
    with deadline(0):
        assert generalized_assignment.plain_assignment(SMALL) is None


def test_assignment_that_scipy_calls_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that SciPy's word is taken where no matching contradicts it, and is caught where one does."""
    demand, capacity = {"place": [[1, 1, 1]] * 3}, {"place": [1, 1, 1]}
    barred = posed([[1, 2, 3]] * 3, demand, capacity, [[True, False, False]] * 2 + [[True, True, True]])
    assert solve(barred).termination is Termination.INFEASIBLE
    assert solve(barred).termination is solve(barred, route="arrays").termination

    def refuses(_: object) -> None:
        raise ValueError("cost matrix is infeasible")

    monkeypatch.setattr(generalized_assignment, "linear_sum_assignment", refuses)
    with pytest.raises(SolverDisagreement, match="nothing is feasible, but it is"):
        solve(SMALL)


def test_prices_of_slots_that_no_whole_prices_of_capacities_are() -> None:
    """Tests that prices that would be past 2^53 are left out, and the proof is then the solver's word."""
    large = [2.0**50 + 1, 2.0**50 - 1, 0]
    problem = posed([[0, 0, 1]] * 3, {"weight": [large] * 3}, {"weight": large})
    found = generalized_assignment.plain_assignment(problem)
    assert found.prices is None
    assert (solve(problem).objective, solve(problem).certificate) == ((1,), Proof.SOLVER)


def test_prices_without_duals_or_beyond_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that without duals, and with such as are too large to be exact, the prices are none."""
    exact = load_profile("exact")
    for duals in (None, np.full(4, -1e300)):
        answer = ArraySolution(OUT_OF_MEMORY, None, duals, None)
        monkeypatch.setattr(generalized_assignment, "solve_uninterrupted", lambda *_, answer=answer: answer)
        assert generalized_assignment.capacity_prices(SMALL, exact).prices.tolist() == [[0, 0]]


def test_moves_and_swaps() -> None:
    """Tests a move, a swap where no move fits, that too much on a node is taken away, and that it cannot always be."""
    problem = posed([[1, 4], [2, 9], [5, 5]], {"weight": [[2, 2], [2, 2], [1, 1]]}, {"weight": [3, 3]})
    cost = problem.units
    for begin in ([1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1]):
        found = improved(problem, cost, np.array(begin))
        assert cost[np.arange(3), found].sum() == 11
    crowded = posed([[1, 1]] * 3, {"weight": [[2, 2]] * 3}, {"weight": [3, 3]})
    assert improved(crowded, crowded.units, np.array([0, 1, 1])) is None


def test_bug_swaps_of_tasks_where_they_must_not_run() -> None:
    """Tests that tasks leave nodes that they must not run on; what that gains was infinite, less infinitely much."""
    allowed = [[True, False], [False, True], [True, True]]
    problem = posed([[3, 1], [1, 3], [2, 2]], {"weight": [[2, 2]] * 3}, {"weight": [4, 4]}, allowed)
    for begin in ([1, 0, 0], [1, 0, 1], [1, 1, 0]):
        found = improved(problem, problem.units, np.array(begin))
        assert found[:2].tolist() == [0, 1]
