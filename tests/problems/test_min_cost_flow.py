"""`min-cost-flow`: value, feasibility, potentials and routes, against enumeration."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import models
from optsched.certificates import certify, potential_certificate, proved_bound
from optsched.certificates.min_cost_flow import limitless_cycle
from optsched.errors import CertificateInvalid, InputError, SolverDisagreement, TooLarge, UsageError
from optsched.gaps import gap
from optsched.instance import Cluster, Instance, Workload
from optsched.instances.files import load
from optsched.instances.solution_files import read_solution, write_solution
from optsched.network import UNBOUNDED, FlowNetwork
from optsched.placement import Flow, Placement
from optsched.problems import MinCostFlow, problem
from optsched.results import Certificate, Limit, Proof, Solution, Termination, Violation
from optsched.routes import bounds, frontier, solve
from optsched.routes.min_cost_flow import ROUTES as MIN_COST_FLOW_ROUTES
from optsched.searches import min_cost_flow as engine
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import load_profile

DATA = Path(__file__).parents[1] / "data"


def posed(arcs: list[tuple[int, int, int, int, int]], supply: list[int]) -> MinCostFlow:
    """The problem on arcs (tail, head, lower, capacity, cost) and nodes v0, ..."""
    columns = [list(column) for column in zip(*arcs, strict=True)] or [[]] * 5
    tail, head, lower, capacity, cost = columns
    names = [f"v{node}" for node in range(len(supply))]
    return MinCostFlow(FlowNetwork(names, tail, head, lower, capacity, cost, supply, name="small"))


#: Two parallel arcs, a loop that pays, and an arc with a lower limit.
SMALL = posed([(0, 1, 0, 1, 2), (0, 1, 0, 9, 5), (1, 1, 0, 4, -3), (1, 2, 1, 2, 7)], [3, -2, -1])


def solved(problem: MinCostFlow = SMALL) -> Solution:
    """By the default route."""
    return solve(problem)


def test_value_and_violations() -> None:
    """Tests the value of a flow, and each constraint's violation with its ids and amount."""
    assert SMALL.evaluate(Flow([1, 2, 4, 1])) == (7,)
    assert SMALL.violations(Flow([2, 2, 4, 0])) == [
        Violation("lower", ("3",), 1),
        Violation("capacity", ("0",), 1),
        Violation("conservation", ("v0",), 1),
        Violation("conservation", ("v1",), -2),
        Violation("conservation", ("v2",), 1),
    ]
    assert SMALL.violations(Flow([1])) == [Violation("length", (), -3)]
    with pytest.raises(ValueError, match="an infeasible flow has no value: lower"):
        SMALL.evaluate(Flow([1, 2, 4, 0]))


def test_what_is_left_to_send_above_the_lower_limits() -> None:
    """Tests that a lower limit of 2 on an arc leaves its tail two less to send, and its head two more."""
    network = FlowNetwork(["s", "m", "t"], [0, 1], [1, 2], lower=[2, 0], capacity=[3, 3], supply=[3, 0, -3])
    assert MinCostFlow(network).left_to_send == (1, 2, -3)
    assert MinCostFlow(network).plainly_infeasible is None
    stuck = FlowNetwork(["s", "t"], [0], [1], lower=[2], capacity=[2], supply=[3, -3])
    assert MinCostFlow(stuck).left_to_send == (1, -1)
    assert MinCostFlow(stuck).plainly_infeasible == "no arc can take what is left to send of s"


def test_flow() -> None:
    """Tests the noun: read-only, of one dimension, equal and hashed by its units."""
    flow = Flow([1, 2])
    assert (len(flow), flow == Flow([1, 2]), flow == Flow([1, 3]), flow == [1, 2]) == (2, True, False, False)
    assert hash(flow) == hash(Flow([1, 2]))
    with pytest.raises(ValueError, match="read-only"):
        flow.units[0] = 3
    with pytest.raises(ValueError, match="whole numbers, not float64"):
        Flow(np.array([0.5]))
    with pytest.raises(ValueError, match="one dimension"):
        Flow(np.zeros((2, 2), dtype=np.int64))


def test_totals_past_int64_are_exact() -> None:
    """Tests that a value and a bound beyond 2^63 are exact."""
    big = 2**40
    problem = posed([(0, 1, 0, big, big), (0, 1, 0, big, big - 1)], [big + 1, -big - 1])
    flow = Flow([1, big])
    assert problem.evaluate(flow) == (big + big * (big - 1),)
    assert problem.potential_bound([big, 0]) is not None
    solution = solve(problem, route="network-simplex")
    assert (solution.objective, certify(problem, solution).proved) == (problem.evaluate(flow), True)


def test_only_networks() -> None:
    """Tests that an instance is refused, and a parameter too."""
    instance = Instance(Cluster(["n"]), Workload(["t"]), name="inst")
    with pytest.raises(InputError, match="inst: format: min-cost-flow is posed on a flow network, not on an instance"):
        problem("min-cost-flow", instance)
    assert MinCostFlow.applies(instance)
    assert MinCostFlow.applies(SMALL.instance) == []
    with pytest.raises(UsageError, match="has no parameter"):
        problem("min-cost-flow", SMALL.instance, sense="max")


@pytest.mark.parametrize("route", MIN_COST_FLOW_ROUTES)
def test_routes(route: str) -> None:
    """Tests that each route finds the optimum, loop and parallel arcs included, and proves it by potentials."""
    solution = solve(SMALL, route=route)
    assert (solution.objective, solution.bound, solution.termination) == ((7,), (7,), Termination.OPTIMAL)
    assert solution.decision == Flow([1, 2, 4, 1])
    assert certify(SMALL, solution).proved


@pytest.mark.parametrize("route", MIN_COST_FLOW_ROUTES)
@pytest.mark.parametrize(
    ("arcs", "supply", "unanswered"),
    [
        ([(0, 1, 0, 1, 0)], [2, -2], Termination.INFEASIBLE),
        ([(0, 0, 0, 1, 0)], [2, -2], Termination.INFEASIBLE),
        ([], [2, -2], Termination.INFEASIBLE),
        ([(0, 1, 0, UNBOUNDED, 1), (1, 0, 0, UNBOUNDED, -2)], [0, 0], Termination.ERROR),
        ([(0, 0, 0, UNBOUNDED, -2), (0, 1, 0, 4, 0)], [1, -1], Termination.ERROR),
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
    if unbounded:
        assert verdict.proved
    else:
        assert verdict.unproved == (() if problem.cut_off else ("that there is no feasible flow rests on: solver",))
    assert ("no arc can take what is left to send of v0" in str(verdict)) == bool(problem.cut_off)


@pytest.mark.parametrize("route", MIN_COST_FLOW_ROUTES)
def test_bug_unbounded_network_that_never_ended(route: str) -> None:
    """Tests that a network with cycles of negative cost without limit ends, where networkx's simplex never did."""
    network = load(DATA / "networks/unbounded-cycles.json")
    assert isinstance(network, FlowNetwork)
    problem = MinCostFlow(network)
    solution = solve(problem, route=route)
    assert (solution.termination, solution.bound) == (Termination.ERROR, (None,))
    assert solution.raw_status == "unbounded: a cycle of negative cost has no limit (arcs 3, 0)"
    assert certify(problem, solution).proved


@pytest.mark.parametrize("route", MIN_COST_FLOW_ROUTES)
def test_unlimited_cycles_beside_a_flow_that_is_none(route: str) -> None:
    """Tests that a negative cycle without limit is no answer where there is no flow at all, and limits are told."""
    problem = posed([(0, 0, 0, UNBOUNDED, -1), (0, 1, 0, 1, 0)], [2, -2])
    solution = solve(problem, route=route)
    assert (solution.termination, solution.decision) == (Termination.INFEASIBLE, None)


def test_interrupt_beside_an_unlimited_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C while a flow is looked for, whose cost has no least, is a result."""

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.routes.min_cost_flow.by_arrays", interrupted)
    solution = solve(posed([(0, 0, 0, UNBOUNDED, -1)], [0]))
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.INTERRUPTED)


def test_only_real_cycles_prove_that_there_is_no_least_cost() -> None:
    """Tests that the checker looks at the cycle arc by arc, and proves nothing without one or without a flow."""
    problem = posed(
        [(0, 1, 0, UNBOUNDED, -1), (1, 0, 0, UNBOUNDED, 0), (1, 0, 0, 4, -1), (1, 0, 0, UNBOUNDED, 2)], [0, 0]
    )
    assert limitless_cycle(problem) == "2 arcs without limit form a cycle of cost -1"
    assert limitless_cycle(SMALL) is None
    for cycle in ((0, 2), (0, 3), (0,)):
        problem.__dict__["unlimited_cycle"] = cycle
        with pytest.raises(CertificateInvalid, match="are none"):
            limitless_cycle(problem)
    claimed = replace(solve(SMALL), termination=Termination.ERROR, bound=(None,), certificates=())
    assert certify(SMALL, claimed).unproved == ("that there is no optimum to be found rests on: solver",)
    assert not certify(problem, replace(claimed, decision=None, objective=None)).proved
    unbounded = posed([(0, 0, 0, UNBOUNDED, -1)], [0])
    shown = solve(unbounded)
    assert certify(unbounded, shown).proved
    without_flow = certify(unbounded, replace(shown, decision=None, objective=None))
    assert without_flow.unproved == ("that there is no optimum to be found rests on: solver",)


def test_solver_that_says_unbounded_where_no_cycle_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver's "unbounded" is a disagreement where every cycle of negative cost has a limit."""
    said = SolverOutcome(Termination.ERROR, None, None, None, "Unbounded", 0.0, None)
    monkeypatch.setattr("optsched.routes.min_cost_flow.by_arrays", lambda *_: (said, None, None))
    with pytest.raises(SolverDisagreement, match="every negative cycle has a limit"):
        solve(SMALL)


@pytest.mark.parametrize("route", MIN_COST_FLOW_ROUTES)
def test_empty_networks(route: str) -> None:
    """Tests that without arcs, and without nodes, nothing flows, and that is proved."""
    for empty in (posed([], [0]), posed([], [])):
        solution = solve(empty, route=route)
        assert (solution.objective, certify(empty, solution).proved) == ((0,), True)


def test_bounds() -> None:
    """Tests the cheap bound, and that there is none where an arc that pays has no limit."""
    assert [bound.value for bound in bounds(SMALL)] == [7 - 12]
    assert bounds(posed([(0, 0, 0, UNBOUNDED, -1)], [0])) == ()
    assert bounds(posed([(0, 0, 0, UNBOUNDED, 1)], [0]))[0].value == 0


def test_start_must_be_a_flow() -> None:
    """Tests that a start is a feasible flow, and kept where it is as good."""
    assert solve(SMALL, start=Flow([1, 2, 4, 1])).objective == (7,)
    with pytest.raises(UsageError, match="the start of min-cost-flow must be a flow"):
        solve(SMALL, start=Placement.of([0]))
    with pytest.raises(UsageError, match="the start is infeasible: conservation"):
        solve(SMALL, start=Flow([0, 0, 0, 1]))


@pytest.mark.parametrize("held", [None, Flow([0, 3, 0, 1])])
def test_limit(monkeypatch: pytest.MonkeyPatch, held: Flow | None) -> None:
    """Tests that at a limit what is held comes with the bound of zero potentials, and none where they prove nothing."""
    status = Termination.NO_SOLUTION if held is None else Termination.FEASIBLE
    stopped = SolverOutcome(status, Limit.TIME, None, None, "stopped", 0.0, None)
    monkeypatch.setattr("optsched.routes.min_cost_flow.by_arrays", lambda *_: (stopped, held, None))
    solution = solve(SMALL)
    assert (solution.termination, solution.limit, solution.bound, solution.decision) == (
        status,
        Limit.TIME,
        (-5,),
        held,
    )
    assert certify(SMALL, solution).valid
    open_ = posed([(0, 1, 0, UNBOUNDED, -1), (1, 0, 0, 5, 0)], [0, 0])
    monkeypatch.setattr("optsched.routes.min_cost_flow.by_arrays", lambda *_: (stopped, None, None))
    assert solve(open_).bound == (None,)


@pytest.mark.parametrize("route", MIN_COST_FLOW_ROUTES)
def test_bug_interrupts_are_results(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C outside HiGHS, in networkx or while a model is built, gives a solution that says so."""

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    for name in ("by_arrays", "by_network_simplex"):
        monkeypatch.setattr(f"optsched.routes.min_cost_flow.{name}", interrupted)
    for name in ("build_pyomo", "build_pulp"):
        monkeypatch.setattr(f"optsched.models.min_cost_flow.{name}", interrupted)
    solution = solve(SMALL, route=route)
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.INTERRUPTED)
    assert (solution.bound, solution.raw_status) == ((-5,), "interrupted")
    held = solve(SMALL, route=route, start=Flow([0, 3, 0, 1]))
    assert (held.termination, held.limit, held.decision) == (
        Termination.FEASIBLE,
        Limit.INTERRUPTED,
        Flow([0, 3, 0, 1]),
    )
    assert certify(SMALL, held).valid


def test_bug_totals_past_int64_in_solution_files(tmp_path: Path) -> None:
    """Tests that a solution file is read back whose totals are past 2^63, as `solve` writes them."""
    problem = posed([(0, 1, 0, 2**52, 2**52), (0, 1, 0, 2**52, 2**51)], [2**52 + 5, -(2**52) - 5])
    solution = solve(problem)
    assert solution.objective == (2**103 + 5 * 2**52,)
    write_solution(solution, problem.instance, tmp_path / "solution.json")
    again = read_solution(tmp_path / "solution.json", problem.instance)
    assert (again.objective, again.bound, again.decision) == (solution.objective, solution.bound, solution.decision)
    assert certify(problem, again).proved


def test_flow_that_is_not_optimal_has_no_potentials() -> None:
    """Tests that a flow above the least cost gets no potentials."""
    assert engine.potentials_of(SMALL, Flow([0, 3, 4, 1])) is None
    assert engine.potentials_of(SMALL, Flow([1, 2, 4, 1])) is not None


def test_wrong_solvers_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a flow that is none is a disagreement, and that duals past 2^53 are not taken for potentials."""
    with pytest.raises(SolverDisagreement, match="conservation"):
        engine.whole_flow(SMALL, np.array([0, 0, 0, 1]))
    outcome = SolverOutcome(Termination.OPTIMAL, None, 7.0, 7.0, "Optimal", 0.0, None)
    answer = type("Answer", (), {"x": np.array([1.0, 2, 4, 1]), "row_duals": np.full(3, 1e300), "outcome": outcome})
    monkeypatch.setattr(engine, "solve_arrays", lambda *_: answer)
    assert engine.by_arrays(SMALL, load_profile("exact"))[2] is None
    assert certify(SMALL, solve(SMALL)).proved


def test_models() -> None:
    """Tests sizes, that only what is left to decide is in the compact model, and what is too large."""
    module = models.module("min-cost-flow")
    size = module.literal_size(SMALL)
    model = module.build_pulp(SMALL)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)
    for build in (module.build_pyomo, module.build_pulp):
        with pytest.raises(UsageError, match="no arc can take what is left to send of node v1"):
            build(posed([(0, 0, 0, 1, 0), (0, 1, 1, 1, 0)], [1, -2, 1]))
    fixed = posed([(0, 1, 2, 2, 3), (0, 1, 0, 9, 1)], [3, -3])
    assert list(module.build_pyomo(fixed).ARCS) == ["1"]
    with pytest.raises(TooLarge, match="4 variables and 3 constraints"):
        module.build_pulp(SMALL, max_variables=3)


# Certificates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({}, "potentials: must be an object"),
        ({"potentials": {"v7": 1}}, 'potentials: there is no node "v7"'),
        ({"potentials": {"v0": 0.5}}, "v0: must be an integer"),
        ({"potentials": {"v0": 2**53 + 1}}, "v0: must be an integer up to 2^53"),
    ],
)
def test_malformed_certificates(data: dict[str, Any], told: str) -> None:
    """Tests that certificates of a wrong form are told, each with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(SMALL, Certificate("cost", Proof.DUAL, 7, data))


def test_false_claims() -> None:
    """Tests that a claim beyond what potentials prove is false, and that some potentials prove nothing."""
    solution = solved()
    weak = replace(solution.certificates[0], data={"potentials": {}})
    assert not certify(SMALL, replace(solution, certificates=(weak,))).valid
    open_ = posed([(0, 1, 0, UNBOUNDED, 2)], [3, -3])
    assert potential_certificate(open_, np.array([-5, 0])) is None
    with pytest.raises(CertificateInvalid, match="an arc without limit has a negative reduced cost"):
        proved_bound(open_, Certificate("cost", Proof.DUAL, 6, {"potentials": {"v0": -5}}))


def test_false_decisions() -> None:
    """Tests that a decision of the other noun, an infeasible flow and a false value are told."""
    solution = solved()
    for change, told in (
        ({"decision": Placement.of([0])}, "flow: the decision is a placement"),
        ({"decision": Flow([0, 0, 0, 1])}, "flow: conservation"),
        ({"decision": None}, "flow: there is none, but an objective is claimed"),
        ({"objective": (6,)}, "the flow's value is 7"),
    ):
        verdict = certify(SMALL, replace(solution, **change))
        assert not verdict.valid
        assert told in str(verdict)


def test_no_heuristics_and_no_frontier() -> None:
    """Tests that a heuristic, which places tasks, is refused, and a frontier too."""
    with pytest.raises(UsageError, match="takes a problem that places tasks, not min-cost-flow"):
        gap(SMALL, lambda problem, rng: [])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="min-cost-flow has no frontier: it has one component"):
        frontier(SMALL)


# Agreement ---------------------------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> MinCostFlow:
    """Up to 4 nodes and 5 arcs of capacity up to 2, with loops, parallel arcs, lower limits and negative costs."""
    nodes = draw(st.integers(1, 4))
    ends = st.integers(0, nodes - 1)
    arcs = []
    for _ in range(draw(st.integers(0, 5))):
        capacity = draw(st.integers(0, 2))
        arcs.append((draw(ends), draw(ends), draw(st.integers(0, capacity)), capacity, draw(st.integers(-4, 6))))
    supply = [0] * nodes
    if draw(st.booleans()):  # of a flow that exists
        for tail, head, lower, capacity, _ in arcs:
            sent = draw(st.integers(lower, capacity))
            supply[tail] += sent
            supply[head] -= sent
    else:
        supply[draw(ends)] += 1
        supply[draw(ends)] -= 1
    return posed(arcs, supply)


def check_agreement(problem: MinCostFlow) -> None:
    """Every route finds the enumerated optimum, or that there is none, and certifies."""
    network = problem.instance
    choices = [
        range(low, high + 1) for low, high in zip(network.lower.tolist(), network.capacity.tolist(), strict=True)
    ]
    flows = (Flow(np.array(units, dtype=np.int64)) for units in itertools.product(*choices))
    best = min((problem.evaluate(flow) for flow in flows if not problem.violations(flow)), default=None)
    for route in MIN_COST_FLOW_ROUTES:
        solution = solve(problem, route=route)
        assert solution.objective == best, route
        assert (solution.termination is Termination.INFEASIBLE) == (best is None), route
        verdict = certify(problem, solution)
        assert verdict.valid, route
        assert verdict.proved == (best is not None or bool(problem.cut_off)), route
    assert best is None or bounds(problem)[0].value <= best[0]


def test_agreement() -> None:
    """Tests that all routes agree with enumeration on 150 networks."""
    settings(max_examples=150)(given(problems())(check_agreement))()


@pytest.mark.thorough
def test_agreement_at_length() -> None:
    """Tests the same on 800 networks."""
    settings(max_examples=800)(given(problems())(check_agreement))()


def test_potentials_past_2_53_are_no_certificate():
    """Tests that a flow whose potentials no certificate may hold is left without proof, not given one that is false."""
    ends = [f"n{node}" for node in range(5)]
    network = FlowNetwork(ends, tail=[0, 1, 2, 3], head=[1, 2, 3, 4], cost=[2**53] * 4, supply=[1, 0, 0, 0, -1])
    problem = MinCostFlow(network)
    solution = solve(problem, route="arrays")
    assert solution.termination is Termination.FEASIBLE
    assert certify(problem, solution).valid
