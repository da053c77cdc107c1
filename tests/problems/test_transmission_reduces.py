"""`transmission-reduces`: 000's reduce costs, one reduce of a job a node, prices, routes and proofs."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transmission_instances import DISTANCES, example, problems

from optsched import models
from optsched.certificates import certify, proved_bound
from optsched.certificates.transmission_reduces import reduce_certificate
from optsched.errors import CertificateInvalid, InputError, MissingField, SolverDisagreement
from optsched.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.problems import Problem
from optsched.problems.base import GRID
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.results import Certificate, Limit, Proof, Termination, Violation
from optsched.routes import bounds, routes_of, solve
from optsched.searches.enumeration import best_placement
from optsched.searches.transmission_reduces import ReduceNetwork, prices_of
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import load_profile

#: 000's maps where Figure 2 has them: M1 on D3, M2 on D2.
PLACED = example((2, 1))


def posed(
    sent: list[float],
    slots: list[int],
    jobs: list[int] | None = None,
    running: list[tuple[int, int]] | None = None,
    matrix: Any = DISTANCES,
    **parameters: Any,
) -> TransmissionReduces:
    """Reduces r0, ... that get so many MB from one map on n0; `running` are pairs of a job and its reduce's node."""
    reduces, running = len(sent), running or []
    cluster = Cluster(
        [f"n{node}" for node in range(len(slots))],
        reduce_slots=[slot + 1 for slot in slots],
        topology=Topology("distance", np.array(matrix)[: len(slots), : len(slots)]),
    )
    tasks = 1 + reduces + len(running)
    workload = Workload(
        ["m", *(f"r{task}" for task in range(reduces)), *(f"busy{task}" for task in range(len(running)))],
        kind=[MAP] + [REDUCE] * (tasks - 1),
        job=[0, *(jobs or [0] * reduces), *(job for job, _ in running)],
        job_ids=["j0", "j1"],
        shuffle=Shuffle([0] * reduces, range(1, reduces + 1), sent, np.full(reduces, np.nan)),
    )
    state = State.initial(
        cluster,
        workload,
        status=[FINISHED] + [PENDING] * reduces + [RUNNING] * len(running),
        node=[0] + [-1] * reduces + [node for _, node in running],
        idle_reduce_slots=slots,
    )
    return TransmissionReduces(Instance(cluster, workload, state, name="few"), **parameters)


def test_worked_example() -> None:
    """Tests 000, section II-B.2: distances, link costs and the sum 200; the table; and 150, the least (Shen et al.
    2016, note 5).
    """
    problem = TransmissionReduces(PLACED)
    assert np.array(DISTANCES)[[2, 1]][:, [0, 2]].tolist() == [[2, 0], [4, 10]]
    assert (np.array([[2, 0], [4, 10]]) * [[10, 5], [20, 10]]).tolist() == [[20, 0], [80, 100]]
    assert problem.units.tolist() == [[100, 100, 200, 140], [50, 50, 100, 70]]
    assert problem.evaluate(problem.placement([0, 2])) == (200,)
    assert problem.evaluate(problem.placement([0, 1])) == problem.evaluate(problem.placement([1, 0])) == (150,)
    assert solve(problem).objective == (150,)
    assert TransmissionReduces(PLACED, distinct=False).count == 2


def test_only_maps_with_a_node_send() -> None:
    """Tests that running and finished maps send from their nodes, and pending ones or those without a node nothing."""
    assert not TransmissionReduces(example()).units.any()
    state = replace(PLACED.state, status=np.array([FINISHED, FINISHED, 0, 0]), node=np.array([2, -1, -1, -1]))
    assert TransmissionReduces(PLACED.with_state(state)).units.tolist() == [[20, 100, 0, 60], [10, 50, 0, 30]]


def test_direction() -> None:
    """Tests that data moves from the map's node to the reduce's."""
    assert posed([2.0], [1, 1], matrix=[[0.0, 3.0], [7.0, 0.0]]).units.tolist() == [[0, 6]]


def test_one_reduce_of_a_job_on_a_node() -> None:
    """Tests that a job's reduces share no node, with each other or with one that runs, and jobs do."""
    problem = posed([1.0, 2.0, 4.0], [3, 0, 1, 0], [0, 0, 1], [(1, 0)])
    assert problem.barred.tolist() == [[False] * 4, [True, False, False, False], [False] * 4]
    assert problem.usable.tolist() == [[True, False, True, False]] * 2 + [[False, False, True, False]]
    assert (problem.count, problem.offered["reduce"].tolist()) == (2, [3, 0, 1, 0])
    assert problem.violations(problem.placement([0, 0, 0])) == [
        Violation("distinct", ("j0", "n0"), 1),
        Violation("distinct", ("j1", "n0"), 1),
    ]
    assert [str(one) for one in problem.violations(problem.placement([2, -1, 2]))] == ["slots(n2) by 1"]
    assert [str(one) for one in problem.violations(problem.placement([0, -1, -1]))] == ["cardinality() by 1"]
    solution = solve(problem)
    assert (solution.objective, problem.nodes_of(solution.decision).tolist()) == ((2,), [2, 0, -1])  # type: ignore[arg-type]
    free = posed([1.0, 2.0, 4.0], [3, 0, 1, 0], [0, 0, 1], [(1, 0)], distinct=False)
    assert (free.count, free.violations(free.placement([0, 0, 0]))) == (3, [])
    assert not free.barred.any()
    assert solve(free).objective == (0,)


def test_reduces_without_a_job_share_it_with_none() -> None:
    """Tests that the rule says nothing of reduces that belong to no job."""
    problem = posed([1.0, 1.0], [2, 0], [-1, -1], [(-1, 0)], matrix=[[0.0, 1.0], [1.0, 0.0]])
    assert problem.limited.tolist() == [False, False]
    assert problem.violations(problem.placement([0, 0])) == []
    assert solve(problem).objective == (0,)


def test_starvation_example_has_an_optimum() -> None:
    """Tests Shen et al. 2016, note 9: R2 may only run on D2, at P = 1 - e^(-1/2) < 0.4, where it costs 20."""
    problem = posed([10.0], [1, 2], running=[(0, 0)], matrix=[[0.0, 2.0], [2.0, 0.0]])
    assert solve(problem).objective == (20,)
    costs, free = problem.units[0], problem.capacity > 0
    assert 1 - np.exp(-costs[free].mean() / costs[1]) == pytest.approx(0.3935, abs=1e-4)
    assert 1 - np.exp(-costs[problem.usable[0]].mean() / costs[1]) == pytest.approx(1 - np.exp(-1))


@given(problems("transmission-reduces"))
def test_count(problem: Problem) -> None:
    """Tests that exactly the most reduces that fit are placed, by trying every placement without the rule."""
    assert isinstance(problem, TransmissionReduces)
    nodes = range(-1, len(problem.instance.cluster))
    most = 0
    for chosen in itertools.product(nodes, repeat=len(problem.tasks)):
        wrong = {violation.constraint for violation in problem.violations(problem.placement(chosen))}
        if wrong <= {"cardinality"}:
            placed = len(chosen) - chosen.count(-1)
            most = max(most, placed)
            assert (not wrong) == (placed == problem.count), chosen
    assert problem.count == problem.due == most


def test_grid_and_exact_sums() -> None:
    """Tests that costs are exact where sizes and distances have a denominator, else products are rounded once each."""
    assert posed([3.0], [1, 1, 1, 1]).grid == 1
    problem = posed([1 / 3], [0, 1, 0, 0])
    assert problem.evaluate(problem.placement([1])) == (Fraction(round(4 / 3 * GRID), GRID),)
    for sizes, grid in (((0.3, 0.7), 10), ((1 / 3, 0.7), GRID)):
        workload = replace(PLACED.workload, shuffle=Shuffle([0, 1], [2, 2], sizes, np.full(2, np.nan)))
        problem = TransmissionReduces(Instance(PLACED.cluster, workload, PLACED.state))
        assert problem.grid == grid
        assert problem.units[0].tolist() == [
            round(sizes[0] * DISTANCES[2][node] * grid) + round(sizes[1] * DISTANCES[1][node] * grid)
            for node in range(4)
        ]


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that entries computed a few at a time give the same sums."""
    whole = posed([1 / 3, 0.7, 1.5], [1] * 4).units
    monkeypatch.setattr("optsched.problems.transmission_costs._BLOCK", 1)
    assert np.array_equal(posed([1 / 3, 0.7, 1.5], [1] * 4).units, whole)
    assert not whole.flags.writeable


def test_missing_fields() -> None:
    """Tests that an absent topology and an absent shuffle are told."""
    with pytest.raises(MissingField) as caught:
        TransmissionReduces(Instance(Cluster(["a"]), Workload(["r"], kind=[REDUCE])))
    assert [fault.place for fault in caught.value.faults] == ["topology", "shuffle"]


@pytest.mark.parametrize("size", [2.0**52 + 1, 2.0**53, 2.0**32 + 1 / 3])
def test_costs_that_are_not_exact(size: float) -> None:
    """Tests that totals past 2^53 units are refused, also where none of the costs is."""
    with pytest.raises(InputError, match=r"few: transmission-reduces: costs may total too much, past 2\^53"):
        posed(
            [size, size], [1, 1], matrix=[[0.0, 1.0], [1.0, 0.0]] if size == 2.0**52 + 1 else [[0.0, 2.0], [2.0, 0.0]]
        )


def test_prices_prove_no_more_than_is_true() -> None:
    """Tests prices by hand, that negative ones count as none, and those of jobs that the rule does not limit."""
    problem = posed([1.0, 2.0], [2, 1], matrix=[[0.0, 4.0], [4.0, 0.0]])
    nodes, pairs = np.zeros(2, dtype=np.int64), np.zeros((3, 2), dtype=np.int64)
    assert problem.price_bound(0, nodes, pairs) == 0
    assert problem.price_bound(4, nodes, pairs) == 0
    pairs[0, 0] = 4
    assert problem.price_bound(4, nodes, pairs) == 4  # the optimum: r1 where the map is, r0 at 4
    assert problem.price_bound(4, nodes - 9, pairs) == 4
    pairs[2] = 100
    assert problem.price_bound(4, nodes, pairs) == 4
    free = posed([1.0, 2.0], [2, 1], matrix=[[0.0, 4.0], [4.0, 0.0]], distinct=False)
    assert free.price_bound(4, nodes, pairs) == 0
    assert posed([1.0], [0, 0]).price_bound(9, nodes, pairs) == 0


@given(problems("transmission-reduces"), st.integers(-9, 40), st.randoms(use_true_random=False))
def test_any_prices_give_a_bound(problem: Problem, count: int, random: Any) -> None:
    """Tests that whatever the prices, no feasible placement costs less than what they prove."""
    assert isinstance(problem, TransmissionReduces)
    nodes = np.array([random.randint(-3, 20) for _ in problem.capacity])
    pairs = np.array([[random.randint(-3, 20) for _ in row] for row in problem.barred])
    bound = problem.price_bound(count * problem.grid, nodes * problem.grid, pairs * problem.grid)
    best = best_placement(problem)
    assert best is not None
    assert Fraction(bound, problem.grid) <= best[0][0]


def check(problem: Problem) -> None:
    """Every route finds the enumerated optimum, proves it, and no bound is beyond it."""
    best = best_placement(problem)
    assert best is not None
    for route in routes_of(problem):
        solution = solve(problem, route=route)
        assert solution.objective == best[0] == solution.bound, route
        assert solution.certificate is (Proof.ENUMERATION if route == "brute-force" else Proof.DUAL), route
        assert certify(problem, solution).valid, route
    assert all(bound.value <= best[0][0] for bound in bounds(problem))


def test_routes_agree() -> None:
    """Tests that all routes agree with enumeration: several jobs, running tasks, racks, every form of a topology."""
    settings(max_examples=40)(given(problems("transmission-reduces"))(check))()


@pytest.mark.thorough
def test_routes_agree_at_length() -> None:
    """Tests the same on more instances."""
    settings(max_examples=200)(given(problems("transmission-reduces"))(check))()


@settings(max_examples=50)
@given(problems("transmission-reduces"))
def test_shortest_paths_prove_what_is_optimal_alone(problem: Problem) -> None:
    """Tests that prices are found for an optimal placement, and for no other."""
    assert isinstance(problem, TransmissionReduces)
    if not problem.count:
        return
    best = best_placement(problem)
    assert best is not None
    prices = prices_of(problem, best[1])
    assert prices is not None
    assert Fraction(problem.price_bound(*prices), problem.grid) == best[0][0]
    for chosen in itertools.product(range(-1, len(problem.instance.cluster)), repeat=len(problem.tasks)):
        placement = problem.placement(chosen)
        if not problem.violations(placement) and problem.evaluate(placement) > best[0]:
            assert prices_of(problem, problem.nodes_of(placement)) is None
            break


def test_network_round_trip() -> None:
    """Tests that a placement becomes a flow that conserves, and the flow a placement of the same cost."""
    problem = posed([1.0, 1.0, 4.0], [2, 1, 1, 0], [0, 0, -1])
    network = ReduceNetwork(problem)
    nodes = np.array([1, 0, 0])
    flow = network.flow_of(nodes)
    balance = np.zeros(len(network.supply), dtype=np.int64)
    np.add.at(balance, network.tail, flow)
    np.add.at(balance, network.head, -flow)
    assert (balance == network.supply).all()
    assert (flow <= network.capacity).all()
    assert int(flow @ network.cost) == problem.cost_units(nodes) == problem.cost_units(network.decode(flow))


def test_certificate_holds_prices_by_id() -> None:
    """Tests what a certificate holds, and that the checker recomputes its claim from that alone."""
    problem = posed([1.0, 2.0], [2, 1], matrix=[[0.0, 4.0], [4.0, 0.0]])
    pairs = np.array([[4, 0], [0, 0], [0, 0]])
    certificate = reduce_certificate(problem, 4, np.array([0, 1]), pairs)
    assert certificate.data == {"task_price": 4, "node_prices": {"n1": 1}, "job_prices": {"j0": {"n0": 4}}, "unit": "1"}
    assert proved_bound(problem, certificate) == certificate.claim == problem.price_bound(4, np.array([0, 1]), pairs)
    half = posed([0.5], [0, 1], matrix=[[0.0, 4.0], [4.0, 0.0]])
    assert solve(half).certificates[0].data["unit"] == "1/2"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({}, "task_price: must be an integer"),
        ({"task_price": 1}, "node_prices: must be an object"),
        ({"task_price": 1, "node_prices": {"x": 1}}, 'node_prices: there is no node "x"'),
        ({"task_price": 1, "node_prices": {}, "job_prices": 3}, "job_prices: must be an object"),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"x": {}}}, 'job_prices: there is no job "x"'),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"j1": 2}}, "j1: must be an object"),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"j1": {"x": 2}}}, 'job_prices.j1: there is no node "x"'),
        ({"task_price": 1, "node_prices": {}, "job_prices": {"j1": {"n0": 0.5}}}, "n0: must be an integer"),
    ],
)
def test_certificates_that_are_none(data: dict[str, Any], told: str) -> None:
    """Tests that every part of a certificate's data is looked at."""
    with pytest.raises(CertificateInvalid, match=told):
        proved_bound(posed([1.0], [1]), Certificate("transmission-cost", Proof.DUAL, 0, data))


def test_seeded_faults_are_caught() -> None:
    """Tests that a bound beyond its prices, a dearer placement and one against the rule are found out."""
    problem = TransmissionReduces(PLACED)
    solution = solve(problem)
    assert certify(problem, solution).proved
    held = solution.certificates[0]
    claimed = replace(solution, bound=(151,), certificates=(replace(held, claim=151),))
    cheaper = replace(solution, certificates=(replace(held, data={**held.data, "task_price": 0}),))
    dearer = replace(solution, decision=problem.placement([0, 2]))
    together = replace(solution, decision=problem.placement([1, 1]))
    for fault in (claimed, cheaper, dearer, together):
        assert not certify(problem, fault).valid


def test_limits_leave_a_placement_and_the_cheap_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver that stops without an answer leaves reduces placed one by one, and a bound with its proof."""
    profile = load_profile("exact").with_limits(time_limit=0.0)
    problem = posed([1.0, 2.0, 3.0], [1] * 4)
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.TIME, None, None, "time limit", 0.0, None)
    monkeypatch.setattr("optsched.routes.transmission_reduces.by_arrays", lambda *_: (stopped, None, None))
    solution = solve(problem, profile)
    # In turn, each on its best node that is left: 1 MB stays, 2 MB go 2 and 3 MB go 4; the other way round it is 8.
    assert (solution.termination, solution.limit, solution.objective) == (Termination.FEASIBLE, Limit.TIME, (16,))
    assert solution.bound == (problem.cheap_bounds()[0].value,)
    assert certify(problem, solution).proved
    held = solve(problem, profile, start=problem.placement([2, 1, 0]))
    assert (held.termination, held.objective) == (Termination.FEASIBLE, (10,))


def test_wrong_words_of_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an optimum in a solver's words that is none is a disagreement, or is held without being called so."""
    problem = posed([1.0, 2.0], [1] * 4)
    lie = SolverOutcome(Termination.OPTIMAL, None, 99.0, 99.0, "optimal", 0.0, None)
    nodes = np.array([1, 3])
    monkeypatch.setattr("optsched.routes.transmission_reduces.by_arrays", lambda *_: (lie, nodes, None))
    with pytest.raises(SolverDisagreement, match=r"the solver says 99\.0"):
        solve(problem)
    worse = replace(lie, objective=20.0)
    monkeypatch.setattr("optsched.routes.transmission_reduces.by_arrays", lambda *_: (worse, nodes, None))
    solution = solve(problem)
    assert (solution.termination, solution.objective, solution.bound) == (Termination.FEASIBLE, (20,), (0,))


def test_literal_model_has_the_paper_s_variables() -> None:
    """Tests names and right sides of the literal model, where a reduce of the job runs."""
    problem = posed([1.0, 2.0], [1, 1], running=[(0, 1)], matrix=[[0.0, 4.0], [4.0, 0.0]])
    model = models.module("transmission-reduces").build_pulp(problem)
    assert sorted(variable.name for variable in model.variables()) == ["y.r0.n0", "y.r0.n1", "y.r1.n0", "y.r1.n1"]
    rows = {row.name: -row.constant for row in model.constraints()}
    assert rows == {
        "reduce.r0": 1, "reduce.r1": 1, "cardinality": 1, "node.n0": 1, "node.n1": 1, "job.j0.n0": 1, "job.j0.n1": 0
    }  # fmt: skip
