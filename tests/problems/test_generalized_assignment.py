"""`generalized-assignment`: value, feasibility, bounds, certificates and routes, against enumeration."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import models
from optsched.certificates import capacity_certificate, certify, proved_bound
from optsched.deadline import deadline
from optsched.errors import CertificateInvalid, InputError, MissingField, SolverDisagreement, TooLarge, UsageError
from optsched.gaps import gap
from optsched.instance import REDUCE, Cluster, Instance, Pairs, Workload
from optsched.network import FlowNetwork
from optsched.placement import Flow, Placement
from optsched.problems import GeneralizedAssignment, problem
from optsched.results import Certificate, Limit, Proof, Termination, Value, Violation
from optsched.routes import bounds, frontier, solve
from optsched.routes.generalized_assignment import ROUTES as GENERALIZED_ASSIGNMENT_ROUTES
from optsched.searches import generalized_assignment as engine
from optsched.searches.enumeration import best_placement
from optsched.solvers.highs import ArraySolution
from optsched.solvers.outcome import OUT_OF_MEMORY, SolverOutcome
from optsched.solvers.profiles import Profile, load_profile


def posed(
    cost: list[list[float]],
    demand: dict[str, list[list[float]]] | None = None,
    capacity: dict[str, list[float]] | None = None,
    allowed: list[list[bool]] | None = None,
    **parameters: Any,
) -> GeneralizedAssignment:
    """The problem on tasks t0, ... and nodes n0, ..."""
    nodes = len(cost[0]) if cost else 1
    cluster = Cluster([f"n{node}" for node in range(nodes)], capacity=capacity or {})
    pairs = Pairs(np.array(cost, dtype=float).reshape(-1, nodes), demand or {}, allowed)
    workload = Workload([f"t{task}" for task in range(len(cost))], pairs=pairs)
    return GeneralizedAssignment(Instance(cluster, workload, name="small"), **parameters)


#: Two tasks want node n0, which has place for one.
SMALL = posed([[1, 4], [2, 9]], {"weight": [[2, 2], [2, 2]]}, {"weight": [2, 3]})

#: The optimum is 6; no prices prove more than 4.5, which is 5 in whole costs.
ODD = posed([[0, 3], [0, 3], [0, 3]], {"weight": [[2, 0], [2, 0], [2, 0]]}, {"weight": [3, 9]})


def enumerated(problem: GeneralizedAssignment) -> Value | None:
    """The optimum by trying every placement, None without a feasible one."""
    nodes, tasks = len(problem.instance.cluster), len(problem.tasks)
    placements = (
        problem.placement(np.array(nodes_, dtype=np.int64)) for nodes_ in itertools.product(range(nodes), repeat=tasks)
    )
    values = [problem.evaluate(placement) for placement in placements if not problem.violations(placement)]
    return min(values, key=problem.minimised, default=None)


def test_value_and_violations() -> None:
    """Tests the value of a placement, and each constraint's violation with its ids and amount."""
    barred = posed(
        [[1.5, 4], [2, 9]],
        {"weight": [[2, 2], [2.25, 2]], "disk": [[1, 1], [1, 1.5]]},
        {"weight": [4, 3], "disk": [9, 1]},
        [[True, True], [True, False]],
    )
    assert SMALL.evaluate(SMALL.placement([1, 0])) == (6,)
    assert barred.grid == 2
    assert barred.objective(barred.placement([0, 0])) == (Fraction(7, 2),)
    assert barred.violations(barred.placement([-1, 1])) == [
        Violation("assigned", ("t0",), 1),
        Violation("allowed", ("t1", "n1"), 1),
        Violation("capacity", ("disk", "n1"), Fraction(1, 2)),
    ]
    assert barred.violations(barred.placement([0, 0])) == [Violation("capacity", ("weight", "n0"), Fraction(1, 4))]
    assert barred.usable.tolist() == [[True, True], [True, False]]
    with pytest.raises(ValueError, match="an infeasible placement has no value: assigned"):
        SMALL.evaluate(Placement.of([None, None]))


@pytest.mark.parametrize("route", ["arrays", "pyomo", "pulp"])
def test_bug_both_solves_share_the_time(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the search for prices takes its time from the limit, so that the integer program has what is left."""
    module = "optsched.routes.generalized_assignment"
    given: list[float | None] = []
    solve(SMALL, route=route)  # what is imported meanwhile keeps its own clock
    now = iter(range(0, 1000, 4))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(now)))

    def noted(outcome: Any) -> Any:
        return lambda problem, profile, *_: (given.append(profile.time_limit), outcome)[1]

    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.TIME, None, None, "stopped", 0.0, None)
    monkeypatch.setattr(f"{module}.capacity_prices", noted((np.zeros((1, 2), dtype=np.int64), 1)))
    monkeypatch.setattr(f"{module}.solve_integer_program", noted((stopped, None)))
    monkeypatch.setattr(f"{module}.solver_of", lambda route: noted(stopped))
    assert solve(SMALL, route=route, time_limit=100).limit is Limit.TIME
    prices, program = given
    assert prices is not None
    assert program is not None
    assert 0 < program < prices == 100


def test_only_pending_maps_are_placed() -> None:
    """Tests that the matrices are those of the instance's own tasks, of which reduces are not placed."""
    workload = Workload(["r", "m"], kind=[REDUCE, 0], pairs=Pairs([[7.0], [3.0]]))
    problem = GeneralizedAssignment(Instance(Cluster(["n"]), workload))
    assert problem.evaluate(Placement.of([None, 0])) == (3,)


def test_sense() -> None:
    """Tests that the sense is a parameter, which decides the component's sense, the optimum and the bounds."""
    greatest = posed([[1, 4], [2, 9]], sense="max")
    assert (str(greatest.components[0].sense), str(SMALL.components[0].sense)) == ("max", "min")
    assert GeneralizedAssignment.components[0].sense == "min"
    solution = solve(greatest)
    assert (solution.objective, solution.bound, str(solution.certificate)) == ((13,), (13,), "dual")
    assert bounds(greatest)[0].value == 13
    with pytest.raises(UsageError, match="sense='least'"):
        posed([[1]], sense="least")


def test_missing_fields() -> None:
    """Tests that absent costs and capacities are told with their places, and the noun that is due."""
    with pytest.raises(MissingField, match=r"pairs\.cost: generalized-assignment needs a cost"):
        GeneralizedAssignment(Instance(Cluster(["n"]), Workload(["t"])))
    with pytest.raises(MissingField, match=r"pairs\.cost"):
        GeneralizedAssignment(Instance(Cluster(["n"]), Workload(["t"], pairs=Pairs(allowed=[[True]]))))
    with pytest.raises(MissingField, match=r"nodes\[1\]\.capacity\.weight"):
        posed([[1, 1]], {"weight": [[1, 1]]}, {"weight": [1, float("nan")]})
    network = FlowNetwork(["s"], tail=[], head=[], name="net")
    with pytest.raises(InputError, match="net: format: generalized-assignment is posed on an instance, not on a flow"):
        problem("generalized-assignment", network)
    assert [str(fault) for fault in GeneralizedAssignment.applies(network)]


@pytest.mark.parametrize(
    ("cost", "demand", "told"),
    [
        (2.0**53, 1.0, "costs may total too much, past 2^53/1"),
        (2.0**40 + 1 / 3, 1.0, "costs may total too much, past 2^53/10000"),
        (
            1.0,
            1 / 3,
            "pairs.demand.weight: demands of generalized-assignment must have a common denominator of at most 2",
        ),
        (1.0, 2.0**53, "demands may total too much, past 2^53/1"),
    ],
)
def test_numbers_that_are_not_exact(cost: float, demand: float, told: str) -> None:
    """Tests that totals past 2^53 and demands off the grid are refused, with what to do."""
    with pytest.raises(InputError, match=told.replace("^", r"\^").replace(r"\\^", r"\^")):
        posed([[cost], [cost]], {"weight": [[demand], [demand]]}, {"weight": [2.0**53]})


def test_faults_of_an_instance_without_a_name() -> None:
    """Tests that a refusal begins with the problem where the instance has no name."""
    pairs = Pairs(cost=[[1.0]], demand={"weight": [[1 / 3]]})
    instance = Instance(Cluster(["n"], capacity={"weight": [1.0]}), Workload(["t"], pairs=pairs))
    with pytest.raises(InputError, match=r"^generalized-assignment: pairs\.demand\.weight"):
        GeneralizedAssignment(instance)


def test_capacities_beyond_all_demands() -> None:
    """Tests that a capacity is exact where it must be, and no limit where it is huge."""
    problem = posed([[1.0]], {"weight": [[0.5]]}, {"weight": [2.0**53]})
    assert problem.violations(problem.placement([0])) == []


def test_prices_prove_no_more_than_is_true() -> None:
    """Tests prices by hand, rounding to a whole cost, and that negative prices count as none."""
    assert SMALL.price_bound(np.array([[0, 0]]), 1) == 3
    assert SMALL.price_bound(np.array([[3, 0]]), 1) == 6
    assert ODD.price_bound(np.array([[3, 0]]), 2) == 5
    assert ODD.price_bound(np.array([[-3, 0]]), 2) == 0
    huge = posed([[2.0**50, 2.0**51]], {"weight": [[1, 1]]}, {"weight": [1, 1]})
    assert huge.price_bound(np.array([[2**52, 0]]), 2**20) == 2**50


def test_no_task_and_no_node() -> None:
    """Tests the empty cases: nothing to place costs nothing, and without a node nothing can be placed."""
    nothing = GeneralizedAssignment(Instance(Cluster(["n"]), Workload([], pairs=Pairs(np.zeros((0, 1))))))
    for route in GENERALIZED_ASSIGNMENT_ROUTES:
        assert solve(nothing, route=route).objective == (0,)
    assert certify(nothing, solve(nothing)).proved
    nowhere = GeneralizedAssignment(Instance(Cluster([]), Workload(["t"], pairs=Pairs(np.zeros((1, 0))))))
    assert nowhere.price_bound(np.zeros((0, 0), dtype=np.int64), 1) == 0
    assert solve(nowhere).termination is Termination.INFEASIBLE


@pytest.mark.parametrize("route", GENERALIZED_ASSIGNMENT_ROUTES)
def test_infeasible(route: str) -> None:
    """Tests that a task that fits nowhere is proved, and that what only a solver knows is told as its word."""
    stranded = posed([[1], [1]], {"weight": [[2], [4]]}, {"weight": [3]})
    solution = solve(stranded, route=route)
    assert (solution.termination, solution.decision, solution.limit) == (Termination.INFEASIBLE, None, None)
    verdict = certify(stranded, solution)
    assert verdict.proved
    assert "t1 fits on no node" in str(verdict)
    crowded = posed([[1], [1]], {"weight": [[2], [2]]}, {"weight": [3]})
    solution = solve(crowded, route=route)
    assert solution.termination is Termination.INFEASIBLE
    verdict = certify(crowded, solution)
    assert verdict.valid
    assert verdict.unproved == ("that there is no feasible placement rests on: solver",)
    claimed = replace(solution, decision=crowded.placement([0, 0]), objective=(2,))
    assert not certify(crowded, claimed).valid


def test_models_refuse_what_is_stranded_or_too_large() -> None:
    """Tests the messages where there is nothing to model, or too much."""
    stranded = posed([[1]], {"weight": [[4]]}, {"weight": [3]})
    module = models.module("generalized-assignment")
    for build in (module.build_pyomo, module.build_pulp):
        with pytest.raises(UsageError, match="t0 fits on no node that it may use"):
            build(stranded)
    with pytest.raises(TooLarge, match="4 variables"):
        module.build_pulp(SMALL, max_variables=3)
    size = module.literal_size(SMALL)
    model = module.build_pulp(SMALL)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)


def test_classes() -> None:
    """Tests that equal tasks are one class of the compact model, and that `aggregate=False` keeps them apart."""
    module = models.module("generalized-assignment")
    model = module.build_pyomo(ODD)
    assert list(model.CLASSES) == ["t0"]
    assert model.members["t0"] == ("t0", "t1", "t2")
    assert len(module.build_pyomo(ODD, aggregate=False).CLASSES) == 3


def test_prices_close_or_the_solver_is_named() -> None:
    """Tests that a bound which rounding closes is a dual proof, and that else the solver's word is told as such."""
    closed = solve(SMALL)
    assert (closed.objective, str(closed.certificate), certify(SMALL, closed).proved) == ((6,), "dual", True)
    open_ = posed([[0, 10], [0, 10], [0, 10]], {"weight": [[2, 0]] * 3}, {"weight": [3, 9]})
    solution = solve(open_)
    assert (solution.objective, solution.bound, str(solution.certificate)) == ((20,), (20,), "solver")
    verdict = certify(open_, solution)
    assert verdict.valid
    assert not verdict.proved


def test_plain_assignment_is_closed_by_prices() -> None:
    """Tests that one task a node, the plain assignment problem, is always proved by prices, fractions included."""
    rng = np.random.default_rng(0)
    for scale in (1.0, 1 / 8, 0.1):
        cost = rng.integers(0, 100, (12, 12)) * scale
        one = [[1.0] * 12] * 12
        problem = posed(cost.tolist(), {"place": one}, {"place": [1.0] * 12})
        solution = solve(problem)
        assert solution.optimal
        assert solution.certificate is Proof.DUAL
        assert certify(problem, solution).proved


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
    assert solve(differ).solver["name"] == "HiGHS"
    assert engine.plain_assignment(differ) is None
    with deadline(0):
        assert engine.plain_assignment(SMALL) is None


def test_assignment_that_scipy_calls_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that SciPy's word is taken where no matching contradicts it, and is caught where one does."""
    demand, capacity = {"place": [[1, 1, 1]] * 3}, {"place": [1, 1, 1]}
    barred = posed([[1, 2, 3]] * 3, demand, capacity, [[True, False, False]] * 2 + [[True, True, True]])
    assert solve(barred).termination is Termination.INFEASIBLE
    assert solve(barred).termination is solve(barred, route="arrays").termination

    def refuses(_: object) -> None:
        raise ValueError("cost matrix is infeasible")

    monkeypatch.setattr(engine, "linear_sum_assignment", refuses)
    with pytest.raises(SolverDisagreement, match="nothing is feasible, but it is"):
        solve(SMALL)


def test_prices_of_slots_that_no_whole_prices_of_capacities_are() -> None:
    """Tests that prices that would be past 2^53 are left out, and the proof is then the solver's word."""
    large = [2.0**50 + 1, 2.0**50 - 1, 0]
    problem = posed([[0, 0, 1]] * 3, {"weight": [large] * 3}, {"weight": large})
    found = engine.plain_assignment(problem)
    assert found is not None
    assert found.prices is None
    assert (solve(problem).objective, solve(problem).certificate) == ((1,), Proof.SOLVER)


def test_start_and_node_limit() -> None:
    """Tests that a start is kept where nothing better is found, and the better of the two bounds is claimed."""
    rng = np.random.default_rng(3)
    cost, weight = rng.integers(10, 50, (40, 5)), rng.integers(5, 25, (40, 5))
    problem = posed(cost.tolist(), {"weight": weight.tolist()}, {"weight": [float(weight.sum() // 22)] * 5})
    quick = replace(load_profile("exact"), node_limit=1)
    best = solve(problem)
    assert best.decision is not None
    solution = solve(problem, quick, start=best.decision)
    assert solution.objective == best.objective
    assert solution.bound[0] is not None
    assert solution.bound[0] <= best.objective[0]
    assert certify(problem, solution).valid
    with pytest.raises(UsageError, match="the start of generalized-assignment must be a placement"):
        solve(problem, start=Flow(np.zeros(3, dtype=np.int64)))


@pytest.mark.parametrize(("bound", "kind", "claim"), [(None, "dual", 0), (12.2, "solver", 13), (-4.0, "dual", 0)])
def test_bound_at_a_limit(monkeypatch: pytest.MonkeyPatch, bound: float | None, kind: str, claim: int) -> None:
    """Tests that at a limit the better of the prices' bound and the solver's, rounded to a whole cost, is claimed."""
    problem = posed([[0, 10], [0, 10], [0, 10]], {"weight": [[2, 0]] * 3}, {"weight": [3, 9]})
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.NODES, None, bound, "stopped", 0.0, 0)
    monkeypatch.setattr("optsched.routes.generalized_assignment.solve_integer_program", lambda *_: (stopped, None))
    monkeypatch.setattr(
        "optsched.routes.generalized_assignment.capacity_prices", lambda *_: (np.zeros((1, 2), dtype=np.int64), 1)
    )
    solution = solve(problem, route="arrays")
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.NODES)
    assert (solution.bound, str(solution.certificate)) == ((claim,), kind)


def test_prices_without_duals_or_beyond_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that without duals, and with such as are too large to be exact, the prices are none."""
    exact = load_profile("exact")
    for duals in (None, np.full(4, -1e300)):
        answer = ArraySolution(OUT_OF_MEMORY, None, duals, None)
        monkeypatch.setattr(engine, "solve_arrays", lambda *_, answer=answer: answer)
        assert engine.capacity_prices(SMALL, exact).prices.tolist() == [[0, 0]]


def test_wrong_solver_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a solver holds is checked: an infeasible placement is a disagreement, not a result."""
    answer = type("Answer", (), {"x": np.array([1.0, 0.0, 1.0, 0.0]), "outcome": None})
    monkeypatch.setattr(engine, "solve_arrays", lambda *_: answer)
    with pytest.raises(SolverDisagreement, match="violates capacity"):
        engine.solve_integer_program(SMALL, Profile("exact"))


# Certificates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"prices": {}, "scale": 0}, "scale: must be above 0, not 0"),
        ({"prices": {}}, "scale: must be an integer"),
        ({"scale": 1}, "prices: must be an object"),
        ({"prices": {"disk": {}}, "scale": 1}, 'there is no resource "disk"'),
        ({"prices": {"weight": []}, "scale": 1}, "weight: must be an object"),
        ({"prices": {"weight": {"n7": 1}}, "scale": 1}, 'prices.weight: there is no node "n7"'),
        ({"prices": {"weight": {"n0": 0.5}}, "scale": 1}, "n0: must be an integer"),
    ],
)
def test_malformed_certificates(data: dict[str, Any], told: str) -> None:
    """Tests that certificates of a wrong form are told, each with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(SMALL, Certificate("cost", Proof.DUAL, 6, data))


@pytest.mark.parametrize("sense", ["min", "max"])
def test_false_claims(sense: str) -> None:
    """Tests that a claim beyond what the prices prove is false, in either sense, and one within it is not."""
    problem = posed([[1, 4], [2, 9]], {"weight": [[2, 2], [2, 2]]}, {"weight": [3, 3]}, sense=sense)
    solution = solve(problem)
    assert solution.objective is not None
    beyond = 1 if sense == "min" else -1
    certificate = capacity_certificate(problem, np.zeros((1, 2), dtype=np.int64), 1)
    assert proved_bound(problem, certificate) == certificate.claim
    for claim, valid in ((certificate.claim, True), (certificate.claim + beyond, False)):
        weak = replace(
            solution,
            bound=(claim,),
            certificates=(replace(certificate, claim=claim),),
            termination=Termination.FEASIBLE,
            limit=Limit.GAP,
        )
        assert certify(problem, weak).valid == valid


# Agreement ---------------------------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> GeneralizedAssignment:
    """Up to 4 tasks, 3 nodes and 2 resources, with fractions, forbidden pairs and both senses."""
    tasks, nodes = draw(st.integers(0, 4)), draw(st.integers(1, 3))
    unit = draw(st.sampled_from([1.0, 0.25, 0.1, 1 / 3]))

    def matrix(values: st.SearchStrategy[Any]) -> Any:
        rows = st.lists(values, min_size=nodes, max_size=nodes)
        return np.array(draw(st.lists(rows, min_size=tasks, max_size=tasks))).reshape(tasks, nodes)

    grain = draw(st.sampled_from([1.0, 0.5, 0.1]))
    resources = draw(st.sampled_from([[], ["weight"], ["weight", "d_1"]]))
    demand = {name: np.round(matrix(st.integers(0, 4)) * grain, 1) for name in resources}
    entry = st.integers(0, 8).map(lambda most: most / (10 if grain == 0.1 else 1))
    capacity = {name: draw(st.lists(entry, min_size=nodes, max_size=nodes)) for name in resources}
    allowed = matrix(st.sampled_from([True, True, True, False])).astype(bool) if draw(st.booleans()) else None
    cluster = Cluster(["n 1", "n_1", "4"][:nodes], capacity=capacity)
    pairs = Pairs(matrix(st.integers(-5, 9)) * unit, demand, allowed)
    workload = Workload(["t-1", "t_1", "T 1", "e5"][:tasks], pairs=pairs)
    return GeneralizedAssignment(Instance(cluster, workload), sense=draw(st.sampled_from(["min", "max"])))


def check_agreement(problem: GeneralizedAssignment) -> None:
    """Every route finds the enumerated optimum or infeasibility, certifies, and no bound is beyond it."""
    best = enumerated(problem)
    for route in GENERALIZED_ASSIGNMENT_ROUTES:
        solution = solve(problem, route=route)
        assert certify(problem, solution).valid, route
        assert solution.objective == best, route
        if best is None:
            assert solution.termination is Termination.INFEASIBLE
            continue
        assert solution.optimal, route
        assert problem.minimised((bounds(problem)[0].value,)) <= problem.minimised(best)
    if best is not None:
        answer = solve(problem).decision
        assert isinstance(answer, Placement)
        nodes = problem.nodes_of(answer)
        report = gap(problem, lambda problem, rng: problem.placement(nodes))
        assert report.absolute_gap == (0,)


def test_agreement() -> None:
    """Tests that all routes agree with enumeration on 120 instances."""
    settings(max_examples=120)(given(problems())(check_agreement))()


@pytest.mark.thorough
def test_agreement_at_length() -> None:
    """Tests the same on 500 instances."""
    settings(max_examples=500)(given(problems())(check_agreement))()


@given(problems(), st.data())
@settings(max_examples=100)
def test_any_prices_bound(problem: GeneralizedAssignment, data: st.DataObject) -> None:
    """Tests weak duality: whatever the prices and their scale, the bound is not beyond the enumerated optimum."""
    best = enumerated(problem)
    entry = st.integers(-3, 9)
    shape = problem.capacity.shape
    prices = np.array(data.draw(st.lists(entry, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])))
    certificate = capacity_certificate(
        problem, prices.astype(np.int64).reshape(shape), data.draw(st.sampled_from([1, 3, 2**20]))
    )
    if best is not None:
        assert problem.minimised((certificate.claim,)) <= problem.minimised(best)


def test_no_frontier() -> None:
    """Tests that one component has no frontier."""
    with pytest.raises(UsageError, match="generalized-assignment has no frontier: it has one component"):
        frontier(SMALL)


def test_enumeration_refuses_what_it_cannot_finish() -> None:
    """Tests that enumeration tells its size."""
    with pytest.raises(TooLarge, match=r"2\^40 placements"):
        solve(posed([[1, 2]] * 40), route="brute-force")


def nearly_equal(seed: int, size: int) -> GeneralizedAssignment:
    """Five tasks that demand about `size` of each of three nodes, whose capacities are about multiples of it."""
    rng = np.random.default_rng(seed)
    demand = size + rng.integers(-3, 4, (5, 3))
    capacity = rng.integers(1, 4, 3) * size + rng.integers(-3, 4, 3)
    pairs = Pairs(cost=rng.integers(1, 30, (5, 3)).astype(float), demand={"weight": demand.astype(float)})
    cluster = Cluster(["a", "b", "c"], capacity={"weight": capacity.astype(float)})
    return GeneralizedAssignment(Instance(cluster, Workload([f"t{task}" for task in range(5)], pairs=pairs)))


@pytest.mark.parametrize("size", [10**8, 10**12])
def test_bug_capacities_kept_to_a_millionth(size: int) -> None:
    """Tests that a placement that exceeds a capacity by few units of 10^8 is cut off, and refused of a model."""
    refused = 0
    for seed in range(25):
        problem = nearly_equal(seed, size)
        best, found = best_placement(problem), solve(problem, route="arrays")
        assert found.objective == (None if best is None else best[0])
        assert found.termination is (Termination.INFEASIBLE if best is None else Termination.OPTIMAL)
        try:
            by_model = solve(problem, route="pulp")
        except SolverDisagreement as error:
            refused += "an infeasible placement has no value: capacity" in str(error)
        else:
            assert by_model.objective == found.objective
    assert refused
