"""The engines of the assignment problems: which one is taken, what limits and interrupts leave, what they refuse."""

import pytest
from engines import interrupted
from small_problems import FIGURE_2

from optsched import Termination, UsageError, certify, generate, solve
from optsched.core.registry import record
from optsched.problems import FairLsap, Lsap, problem
from optsched.solvers.searches.assignment import AssignmentSolution
from optsched.testing.contract import every_decision


def test_matching_is_taken_only_where_counting_local_tasks_is_enough() -> None:
    """Tests that the default engine is a matching for two levels, and else a program."""
    assert solve(Lsap(FIGURE_2)).solver["name"] == "augmenting paths"
    assert solve(Lsap(FIGURE_2, levels=(0, 1, 2))).solver["name"] == "HiGHS"


def test_dense_route_refuses_costs_of_groups() -> None:
    """Tests that the dense assignment says that it cannot hold costs that depend on counts."""
    posed = FairLsap(generate("fair-lsap", seed=1, nodes=40, tasks=200), selection="free")
    with pytest.raises(UsageError, match='use route "network"'):
        solve(posed, route="dense")


def test_interrupt_of_a_proof_keeps_the_placement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C while the proof is made leaves the engine's placement, and a plain bound."""
    monkeypatch.setattr("optsched.routes.assignment._proof", interrupted)
    posed = Lsap(FIGURE_2, levels=(0, 1, 2))
    solution = solve(posed)
    assert solution.objective == (0,)
    assert certify(posed, solution).valid


@pytest.mark.parametrize("family", ["lsap", "fair-lsap", "flow", "transmission"])
def test_placement_a_tolerance_away_is_made_cheapest(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an engine's placement that is not the cheapest becomes one, with prices, by its network."""
    name = "transmission-maps" if family == "transmission" else family
    parameters = {"levels": (0, 1, 2)} if name == "lsap" else {}
    worse = 0
    for seed in range(8):
        posed = problem(name, generate(family, seed=seed, **record(name).sizes), **parameters)
        best = solve(posed)
        dearest = max(
            (placement for placement in every_decision(posed) if not posed.violations(placement)), key=posed.evaluate
        )
        worse += posed.evaluate(dearest) != best.objective
        with monkeypatch.context() as patched:
            held = AssignmentSolution(posed.nodes_of(dearest), "optimal")
            patched.setattr("optsched.routes.assignment.solve_assignment", lambda *_, held=held: held)
            solution = solve(posed)
        assert (solution.termination, solution.objective) == (Termination.OPTIMAL, best.objective)
        assert certify(posed, solution).proved
    assert worse > 3
