"""The search of `traffic`: bounds at a limit, interrupts, fractions made whole, and solvers that err."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engines import clock_of_looks
from small_problems import EMPTY_TRAFFIC as EMPTY
from small_problems import traffic as posed

from optsched import Limit, Proof, Termination, frontier, generate, solve
from optsched.certificates import certify, proved_bound
from optsched.certificates.traffic import SlotPrices
from optsched.core.deadline import deadline
from optsched.core.errors import SolverDisagreement
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.problems import Traffic
from optsched.routes.traffic import traffic_search
from optsched.solvers import highs
from optsched.solvers.answers import SolverOutcome
from optsched.solvers.highs import ArraySolution
from optsched.solvers.profiles import Profile, load_profile
from optsched.solvers.searches import traffic


def test_search_that_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a load, and a frontier, of which nothing more is known are shown as open, with what cut them short."""
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.NODES, None, None, "stopped", 0.0, 0)
    monkeypatch.setattr(traffic, "by_arrays", lambda *_: (stopped, None))
    problem = posed([[1]] * 3 + [[2]] * 3, 1.0, nodes=[0, 1, 2])
    solution = solve(problem)
    assert solution.objective is not None
    assert solution.termination in (Termination.OPTIMAL, Termination.FEASIBLE)
    if solution.termination is Termination.FEASIBLE:
        assert solution.limit is Limit.NODES
    assert certify(problem, solution).valid
    found = frontier(EMPTY)
    assert (found.complete, found.limit) == (False, Limit.NODES)
    assert len(found) < 5


@pytest.mark.parametrize("when", ["relaxation", "program"])
def test_interrupt(monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Tests that an interrupt keeps what is held and proved."""
    problem = posed([[1]] * 3 + [[2]] * 3, 1.2, nodes=[0, 1, 2], slots=[4, 4, 4], capacity="slots")
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.INTERRUPTED, None, None, "interrupted", 0.0, 0)
    if when == "program":
        monkeypatch.setattr(traffic, "by_arrays", lambda *_: (stopped, None))
    else:
        answer = ArraySolution(stopped, None, None, None)
        monkeypatch.setattr(highs, "solve_arrays", lambda *_: answer)
    solution = solve(problem, route="arrays")
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.INTERRUPTED)
    assert certify(problem, solution).valid


def test_wrong_solver_is_caught() -> None:
    """Tests that what a solver holds or says is checked: infeasible placements, false figures, false infeasibility."""
    done = SolverOutcome(Termination.OPTIMAL, None, 31.0, 31.0, "done", 0.0, 0)
    gone = SolverOutcome(Termination.INFEASIBLE, None, None, None, "infeasible", 0.0, 0)
    for outcome, placement, message in (
        (done, EMPTY.placement([1] * 7), "the solver says 31.0, the placement is worth 30.0"),
        (done, EMPTY.placement([-1] * 7), "a solver holds a placement that violates every-task-placed"),
        (gone, None, "a solver says that nothing is feasible; it is"),
    ):
        search = traffic_search(EMPTY, load_profile("exact"), start=EMPTY.placement([1] * 7), route="arrays")
        search.decide = lambda *_, outcome=outcome, placement=placement: (outcome, placement)
        with pytest.raises(SolverDisagreement, match=message):
            search.at(None)


def test_fractions_of_maps_are_made_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that maps which a solver leaves in parts are placed anew, with the reduces where it has them."""
    problem = posed([[1]] * 2 + [[2]] * 2, 1.0, nodes=[0, 1, 2], slots=[2, 2, 2], capacity="slots")
    program = traffic.Arrays(problem)
    x = problem.values_of(problem.placement([1, 1, 2, 2, 1]), program.program).astype(np.float64)
    assert program.placement_if_whole(x) is not None
    parted = x.copy()
    parted[3:9] = 2 / 3
    calls: list[Any] = []

    def once(given: Any, *others: Any) -> Any:
        calls.append(given)
        found = real(given, *others)
        return replace(found, x=parted) if len(calls) == 1 else found

    real = traffic.solve_arrays
    monkeypatch.setattr(traffic, "solve_arrays", once)
    search = traffic.TrafficSearch(problem, load_profile("exact"))
    outcome, placement = traffic.by_arrays(search, None, load_profile("exact"), None)
    assert len(calls) == 2
    assert problem.evaluate(placement)[0] == outcome.objective == 20
    monkeypatch.setattr(traffic, "solve_arrays", lambda *_: replace(real(program.relaxed, Profile("exact")), x=parted))
    with pytest.raises(SolverDisagreement, match="no vertex"):
        traffic.by_arrays(search, None, load_profile("exact"), None)


@pytest.mark.parametrize(("seed", "spare"), [(1, 0.0), (2, 0.0), (3, 0.1), (5, 0.1)])
def test_capacities_are_proved_case_by_case(seed: int, spare: float) -> None:
    """Tests that prices prove what capacities cost where reduces only just fit: also cases in which nothing fits."""
    sizes = {"nodes": 9, "tasks": 30, "jobs": 6, "datacenters": 3, "smallest": 1}
    problem = Traffic(generate("traffic", seed, spare=spare, **sizes), capacity="slots")
    solution = solve(problem)
    if solution.termination is Termination.INFEASIBLE:
        return
    assert [certificate.kind for certificate in solution.certificates] == [Proof.DUAL, Proof.DUAL]
    assert certify(problem, solution).proved


@pytest.mark.parametrize(
    ("seed", "nodes", "datacenters", "tasks", "jobs", "reduces", "spare"),
    [
        (48, 2, 2, 4, 2, 4, 0.0),
        (50, 4, 3, 5, 3, 5, 0.0),
        pytest.param(61, 3, 2, 5, 3, 3, 0.5, marks=pytest.mark.thorough),
        (68, 3, 2, 4, 3, 3, 0.5),
        pytest.param(98, 3, 3, 5, 3, 4, 0, marks=pytest.mark.thorough),
    ],
)
def test_reduces_that_are_parted_are_proved_case_by_case(
    seed: int, nodes: int, datacenters: int, tasks: int, jobs: int, reduces: int, spare: float
) -> None:
    """Tests that where prices part the maps of a job among its reduces, cases of these reduces prove the optimum."""
    sizes = {"nodes": nodes, "datacenters": datacenters, "tasks": tasks, "jobs": jobs, "reduces": reduces}
    made = generate("traffic", seed=seed, replicas=1 if seed == 98 else 2, spare=spare, smallest=1, **sizes)
    problem = Traffic(made, capacity="slots", reduces="free")
    solution = solve(problem)
    assert [certificate.kind for certificate in solution.certificates] == [Proof.DUAL, Proof.DUAL]
    assert any("in" in certificate.data for certificate in solution.certificates)
    assert certify(problem, solution).proved
    assert solution.objective == solve(problem, route="arrays").objective


def test_cases_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a proof which takes too many cases, or too long, is left to the solver's word."""
    sizes = {"nodes": 9, "tasks": 30, "jobs": 6, "datacenters": 3, "smallest": 1}
    problem = Traffic(generate("traffic", 3, spare=0.0, **sizes), capacity="slots")
    monkeypatch.setattr(traffic, "_MOST_CASES", 1)
    assert {certificate.kind for certificate in solve(problem).certificates} >= {Proof.SOLVER}


def test_prices_beyond_doubles() -> None:
    """Tests that duals too large to be exact make no prices."""
    program = traffic.Arrays(EMPTY)
    assert list(program.prices(np.full(99, -1e300))) == []
    prices = SlotPrices(*np.full((2, 3), 2**52), 1)
    best = traffic.BestPlaces(EMPTY, prices, EMPTY.price_bound(*prices))
    assert list(best.prices(np.full(len(best.relaxed.row_lower), -1.0))) == []


def test_bug_least_load_did_not_look_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a deadline at the first, second, ... look: what is held and proved, and no placement sought twice."""
    problem = Traffic(generate("traffic", nodes=12, tasks=40, jobs=4, datacenters=4))
    best = solve(problem)
    limits, sought, apart = [], [], traffic.best_apart
    monkeypatch.setattr(traffic, "best_apart", lambda posed: sought.append(1) or apart(posed))
    for looks in (0, 1, 2, 3, 5, 8, 60):
        with clock_of_looks(), deadline(looks):
            solution = solve(problem)
        assert solution.objective >= best.objective
        assert all(bound is None or bound <= most for bound, most in zip(solution.bound, best.objective, strict=True))
        assert certify(problem, solution).valid
        limits.append(solution.limit)
    assert len(sought) == len(limits)
    assert limits[0] is Limit.TIME
    assert limits[-1] is None


# The least load among the best places ------------------------------------------------------------------------------


def test_load_above_an_even_spread() -> None:
    """Tests that prices in small parts prove a load that no counting does, and jobs with several best datacenters."""
    cluster = Cluster(["a", "b", "c"], datacenter=[0, 1, 2], datacenter_ids=["east", "west", "north"])
    # Six blocks lie in the east alone, four in east and west; the second job may be in either.
    rows = [[0]] * 6 + [[0, 1]] * 4 + [[], []]
    workload = Workload(
        [f"t{task}" for task in range(12)],
        kind=[0] * 10 + [1, 1],
        job=[0] * 6 + [1] * 4 + [0, 1],
        job_ids=["i", "j"],
        size=[10] * 10 + [0, 0],
        filter_ratio=[1.5, 1.5],
        replicas=Ragged.from_rows(rows),
    )
    problem = Traffic(Instance(cluster, workload))
    solution = solve(problem)
    assert solution.objective == (0, 6)
    assert [certificate.kind for certificate in solution.certificates] == [Proof.DUAL, Proof.DUAL]
    assert proved_bound(problem, solution.certificates[1], solution.objective) == 6
