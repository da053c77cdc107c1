"""The routes of `min-cost-flow` against enumeration; networks without an optimum, limits and interrupts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from engines import interrupted
from small_problems import FLOWS as SMALL
from small_problems import min_cost_flow as posed

from optsched import Limit, Proof, Termination, certify, generate, load
from optsched.core.errors import SolverDisagreement, TooLarge, UsageError
from optsched.core.network import UNBOUNDED, FlowNetwork
from optsched.core.placement import NetworkFlow, Placement
from optsched.problems import MinCostFlow
from optsched.routes import min_cost_flow, routes_of, solve
from optsched.routes.min_cost_flow import ROUTES as MIN_COST_FLOW_ROUTES
from optsched.solvers.answers import SolverOutcome

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize(
    ("least_cost", "first", "second"),
    [(-(10**6), "cost-scaling", "network-simplex"), (0, "network-simplex", "cost-scaling")],
)
def test_default_of_large_networks(monkeypatch: pytest.MonkeyPatch, least_cost: int, first: str, second: str) -> None:
    """Tests that many arcs go to the compiled engine that suits the network, with the optimum of the other one."""
    pytest.importorskip("numba")
    drawn = generate("min-cost-flow", nodes=200, arcs=30_000)
    large = MinCostFlow(replace(drawn, cost=np.maximum(drawn.cost, least_cost)))
    found = solve(large)
    assert (found.route, found.solver["name"], found.certificate) == (first, first.replace("-", " "), Proof.DUAL)
    assert certify(large, found).proved
    by_other = solve(large, route=second)
    assert (by_other.solver["name"], by_other.objective) == (second.replace("-", " "), found.objective)
    assert routes_of(SMALL)[0] == "arrays"
    monkeypatch.setattr(min_cost_flow, "compiles", lambda: False)
    assert routes_of(large)[0] == "arrays"


@pytest.mark.parametrize("route", MIN_COST_FLOW_ROUTES)
@pytest.mark.parametrize(
    ("arcs", "supply", "unanswered"),
    [
        ([(0, 1, 0, 1, 0)], [2, -2], Termination.INFEASIBLE),
        ([(0, 0, 0, 1, 0)], [2, -2], Termination.INFEASIBLE),
        ([], [2, -2], Termination.INFEASIBLE),
        ([(0, 1, 0, UNBOUNDED, 1), (1, 0, 0, UNBOUNDED, -2)], [0, 0], Termination.ERROR),
        ([(0, 0, 0, UNBOUNDED, -2), (0, 1, 0, 4, 0)], [1, -1], Termination.ERROR),
        ([(0, 0, 0, UNBOUNDED, -1), (0, 1, 0, 1, 0)], [2, -2], Termination.INFEASIBLE),
    ],
)
def test_without_an_optimum(
    route: str, arcs: list[tuple[int, int, int, int, int]], supply: list[int], unanswered: Termination
) -> None:
    """Tests that no flow is INFEASIBLE, and no least cost ERROR with a status that says so, by every route."""
    problem = posed(arcs, supply)
    solution = solve(problem, route=route)
    unbounded = unanswered is Termination.ERROR
    assert (solution.termination, solution.limit, solution.bound) == (unanswered, None, (None,))
    assert ("unbounded" in solution.raw_status, solution.decision is not None) == (unbounded, unbounded)
    verdict = certify(problem, solution)
    assert verdict.valid
    assert verdict.proved
    assert ("no arc can take what is left to send of v0" in str(verdict)) == bool(problem.cut_off)


@pytest.mark.parametrize("route", MIN_COST_FLOW_ROUTES)
def test_bug_unbounded_network_that_never_ended(route: str) -> None:
    """Tests that a network with cycles of negative cost without limit ends, where networkx's simplex never did."""
    network = load(DATA / "networks/unbounded-cycles.json")
    problem = MinCostFlow(network)
    solution = solve(problem, route=route)
    assert (solution.termination, solution.bound) == (Termination.ERROR, (None,))
    assert solution.raw_status == "unbounded: a cycle of negative cost has no limit (arcs 3, 0)"
    assert certify(problem, solution).proved


def test_cut_of_a_network_by_highs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that HiGHS finds the cut of a network that is large for networkx, and that without one there is a word."""
    monkeypatch.setattr("optsched.solvers.searches.min_cost_flow._MOST_ARCS", 0)
    problem = posed([(0, 1, 0, 3, 1), (0, 2, 0, 9, 1), (2, 1, 0, 1, 1)], [5, -5, 0])
    solution = solve(problem, route="arrays")
    assert str(solution.certificate) == "dual"
    (proof,) = certify(problem, solution).proofs
    assert proof.endswith("INFEASIBLE: at these potentials nodes must send 1 more than arcs can take")
    for found in (None, np.zeros(3, dtype=np.int64)):
        monkeypatch.setattr("optsched.routes.min_cost_flow.cut_potentials", lambda *_, found=found: found)
        word = solve(problem, route="arrays")
        assert (word.termination, word.certificates) == (Termination.INFEASIBLE, ())
        assert certify(problem, word).unproved == ("that there is no feasible flow rests on: solver",)


def test_interrupt_beside_an_unlimited_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C while a flow is looked for, whose cost has no least, is a result."""
    monkeypatch.setattr("optsched.routes.min_cost_flow.by_arrays", interrupted)
    solution = solve(posed([(0, 0, 0, UNBOUNDED, -1)], [0]))
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.INTERRUPTED)


def test_solver_that_says_unbounded_where_no_cycle_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver's "unbounded" is a disagreement where every cycle of negative cost has a limit."""
    said = SolverOutcome(Termination.ERROR, None, None, None, "Unbounded", 0.0, None)
    monkeypatch.setattr("optsched.routes.min_cost_flow.by_arrays", lambda *_: (said, None, None))
    with pytest.raises(SolverDisagreement, match="every negative cycle has a limit"):
        solve(SMALL)


def test_bug_lower_limits_that_cost_more_than_64_bits_hold() -> None:
    """Tests that a program refuses them with the way out, and that the network simplex proves the optimum."""
    large = 2**32
    network = FlowNetwork(
        ["s", "t"], tail=[0], head=[1], lower=[large], capacity=[large], cost=[large], supply=[large, -large]
    )
    with pytest.raises(TooLarge, match=r"cost 18,446,744,073,709,551,616, too much .*: take the route network-simplex"):
        solve(MinCostFlow(network), route="arrays")
    assert solve(MinCostFlow(network), route="network-simplex").bound == (2**64,)


def test_start_must_be_a_flow() -> None:
    """Tests that a start is a feasible flow, and kept where it is as good."""
    assert solve(SMALL, start=NetworkFlow([1, 2, 4, 1])).objective == (7,)
    with pytest.raises(UsageError, match="the start of min-cost-flow must be a flow"):
        solve(SMALL, start=Placement.of([0]))
    with pytest.raises(UsageError, match="the start is infeasible: conservation"):
        solve(SMALL, start=NetworkFlow([0, 0, 0, 1]))


def test_flow_a_tolerance_away_is_made_cheapest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what HiGHS calls the optimum, and is none, becomes one; of a model it stays a difference."""
    best = solve(SMALL)
    called = SolverOutcome(Termination.OPTIMAL, None, None, None, "Optimal", 0.0, None)
    monkeypatch.setattr("optsched.routes.min_cost_flow.by_arrays", lambda *_: (called, NetworkFlow([0, 3, 0, 1]), None))
    solution = solve(SMALL)
    assert (solution.termination, solution.objective) == (Termination.OPTIMAL, best.objective)
    assert certify(SMALL, solution).proved


@pytest.mark.parametrize("route", MIN_COST_FLOW_ROUTES)
def test_bug_interrupts_are_results(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C outside HiGHS, in networkx or while a model is built, gives a solution that says so."""
    for name in ("by_arrays", "in_integers"):
        monkeypatch.setattr(f"optsched.routes.min_cost_flow.{name}", interrupted)
    for name in ("build_pyomo", "build_pulp"):
        monkeypatch.setattr(f"optsched.models.min_cost_flow.{name}", interrupted)
    solution = solve(SMALL, route=route)
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.INTERRUPTED)
    assert (solution.bound, solution.raw_status) == ((-5,), "interrupted")
    start = NetworkFlow([0, 3, 0, 1])
    held = solve(SMALL, route=route, start=start)
    assert (held.termination, held.limit, held.decision) == (Termination.FEASIBLE, Limit.INTERRUPTED, start)
    assert certify(SMALL, held).valid
