"""`utility`: value, feasibility, the spread of reduces, bounds by prices, certificates, routes, against enumeration."""

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
from utility_instances import posed, problems

from optsched import models
from optsched.certificates import certify, proved_bound, utilisation_certificate, utility_certificate
from optsched.errors import CertificateInvalid, InputError, MissingField, TooLarge, UsageError
from optsched.gaps import gap
from optsched.instance import MAP, REDUCE, Cluster, Instance, Workload
from optsched.placement import Placement
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.problems.utility import LEAST_FINITE, Allocation, spread_reduces
from optsched.results import Certificate, Proof, Termination, Violation
from optsched.routes import bounds, solve
from optsched.routes.utility import ROUTES
from optsched.searches.enumeration import best_placement
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.profiles import load_profile

#: Sharmilarani et al., note 7: two trackers, two jobs, required 2 of 3 and 4 of 5.
SWAPS = posed(
    {"cpu": [5, 5], "disk": [3, 7]},
    [
        {"maps": 3, "map": {"cpu": 2, "disk": 2}, "goal": 3, "time": 2},
        {"maps": 5, "map": {"cpu": 1, "disk": 3}, "goal": 5, "time": 4},
    ],
)

#: One map and up to two reduces on one tracker of memory 3, where each takes 1; a second tracker has none.
REDUCES = posed(
    {"memory": [3, 0]},
    [{"maps": 1, "reduces": 2, "map": {"memory": 1}, "reduce": {"memory": 1}, "goal": 1, "time": 1}],
)


def test_value_and_violations() -> None:
    """Tests attributes, value and violations on the instance of Sharmilarani et al., note 7."""
    assert SWAPS.required.tolist() == [2, 4]
    assert (SWAPS.demand_map.tolist(), SWAPS.capacity.tolist()) == ([[2, 2], [1, 3]], [[5, 3], [5, 7]])
    assert SWAPS.map_utility[0].tolist() == [-1000 * GRID, -GRID, 0, GRID]
    placement = SWAPS.placement([1, 1, -1, 0, 1, -1, -1, -1])
    value = SWAPS.evaluate(placement)
    assert value[0] == Fraction(-1, 2)
    assert float(value[1]) == pytest.approx(5 / 5 + 7 / 7 + 1 / 5 + 3 / 3, abs=1e-5)
    assert SWAPS.map_worth(0, 0).tolist() == [-1000 * GRID, -GRID, 0, GRID]
    counts = SWAPS.allocated(placement)
    assert counts.maps.tolist() == [[0, 2], [1, 1]]
    assert counts.reduces.tolist() == [[0, 0], [0, 0]]
    assert SWAPS.placement_of(counts) == placement
    assert SWAPS.evaluate(SWAPS.placement([-1] * 8)) == (-1000, 0)
    assert SWAPS.evaluate(SWAPS.placement([1, 1, 1, -1, -1, -1, -1, -1][:2] + [-1] * 6))[0] == -1000
    assert SWAPS.violations(SWAPS.placement([1, 1, 1, 0, 0, -1, -1, -1])) == [
        Violation("capacity", ("disk", "n0"), 3),
        Violation("capacity", ("cpu", "n1"), 1),
    ]
    with pytest.raises(ValueError, match="an infeasible placement has no value: capacity"):
        SWAPS.evaluate(SWAPS.placement([0] * 8))


def test_minus_infinity_counts_once() -> None:
    """Tests that a job without maps or without reduces gets -penalty, whatever the other is worth."""
    for nodes, lowest in (
        ([0, -1, -1], -1000),
        ([-1, 0, 0], -1000),
        ([-1, -1, -1], -1000),
        ([0, 0, -1], 0),
        ([0] * 3, 1),
    ):
        assert REDUCES.evaluate(REDUCES.placement(nodes))[0] == lowest
    smoothed = Utility(REDUCES.instance, tables="smoothed")
    assert smoothed.evaluate(smoothed.placement([-1, -1, -1]))[0] == -2
    ten = Utility(REDUCES.instance, penalty=10)
    assert ten.evaluate(ten.placement([0, -1, -1])) == (-10, Fraction(int(GRID / 3 + 0.5), GRID))


def test_tasks_that_count() -> None:
    """Tests that running tasks hold their demand and are in no count, and that a job with reduces alone counts."""
    problem = posed(
        {"cpu": [4, 1]},
        [
            {"maps": 2, "map": {"cpu": 1}},
            {"reduces": 1, "reduce": {"cpu": 1}, "map": {"cpu": 2}},
            {"map": {"cpu": 1}, "goal": 5},
        ],
        running=[(1, MAP, 0), (0, MAP, 0), (2, MAP, 1), (2, MAP, 1)],
    )
    assert problem.jobs.tolist() == [0, 1]
    assert problem.free.tolist() == [[1], [0]]
    assert problem.pending_maps.tolist() == [2, 0]
    assert problem.utility_units(np.array([0, 0]), np.array([0, 1])).tolist() == [0, GRID]
    assert problem.violations(problem.placement([0, -1, 1])) == [Violation("capacity", ("cpu", "n1"), 1)]
    assert problem.violations(Placement.of([0, None, None, 0, None, None, None]))[0].constraint == "pending-task"


@pytest.mark.parametrize("capacity", [{"cpu": [1, 10], "disk": [9, 9]}, {"disk": [9, 9], "cpu": [1, 10]}])
def test_task_has_no_share_of_a_tracker_that_it_does_not_fit(capacity: dict[str, list[float]]) -> None:
    """Tests that a task that one resource keeps from a tracker takes no share of it, whatever fits before or after.

    A map of 5 cores and 3 disks takes 5/10 + 3/9 of the tracker of ten cores, and nothing of that of one core.
    """
    problem = posed(capacity, [{"maps": 1, "map": {"cpu": 5, "disk": 3}}])
    share = problem.map_share[0, problem.node_type].tolist()
    assert share[0] == 0
    assert abs(Fraction(share[1], GRID) - Fraction(5, 6)) < Fraction(1, GRID)
    (most,) = (bound for bound in problem.cheap_bounds() if bound.component == "utilisation")
    assert most.value == Fraction(share[1], GRID)
    assert problem.violations(problem.placement([0])) == [Violation("capacity", ("cpu", "n0"), 4)]


def test_overloaded_node_takes_what_needs_nothing_of_it() -> None:
    """Tests that a tracker overloaded by running tasks still takes a task that does without that resource."""
    problem = posed(
        {"cpu": [1], "disk": [5]},
        [{"maps": 1, "map": {"cpu": 0, "disk": 1}}, {"maps": 1, "map": {"cpu": 2}}],
        running=[(1, MAP, 0)],
    )
    assert problem.free.tolist() == [[0, 5]]
    assert problem.violations(problem.placement([0, -1])) == []
    assert solve(problem).objective == (0, Fraction(int(GRID / 5 + 0.5), GRID))


def test_phases() -> None:
    """Tests that shuffling reduces take their profile of that phase, all of it, and maps never do."""
    job = {"maps": 1, "reduces": 1, "map": {"cpu": 1}, "reduce": {"cpu": 2, "disk": 3}, "shuffle": {"disk": 1}}
    capacity = {"cpu": [9], "disk": [9]}
    assert posed(capacity, [job]).demand_reduce.tolist() == [[0, 1]]
    assert posed(capacity, [job], phase="reduce").demand_reduce.tolist() == [[2, 3]]
    assert posed(capacity, [job]).demand_map.tolist() == [[1, 0]]
    assert posed(capacity, [{**job, "shuffle": {}}]).demand_reduce.tolist() == [[2, 3]]


def test_missing_fields() -> None:
    """Tests that every record that lacks a field is told: job, demand, capacity, length of a map with a goal."""
    workload = Workload(
        ["a", "b", "c"],
        job=[0, -1, 0],
        demand={"cpu": [1, 1, float("nan")]},
        job_ids=["j"],
        goal=[9.0],
    )
    with pytest.raises(MissingField) as caught:
        Utility(Instance(Cluster(["n"]), workload))
    told = [fault.place for fault in caught.value.faults]
    assert told == ["tasks[1].job", "tasks[2].demand", "nodes[0].capacity.cpu", "jobs[0].map_time"]
    silent = Utility.applies(Instance(Cluster(["n"]), Workload(["a"], job=[0], job_ids=["j"])))
    assert [fault.place for fault in silent] == ["tasks[0].demand"]
    passed = Workload(["a"], job=[0], demand={"cpu": [0]}, job_ids=["j"], goal=[9.0])
    assert Utility(Instance(Cluster(["n"]), passed, time=9)).required.tolist() == [1]


@pytest.mark.parametrize(
    ("demands", "told"),
    [
        ([1.0, 2.0], 'tasks[1].demand.cpu: 2, but "a" of the same job and kind takes 1; give b a job of its own'),
        ([1 / 3, 1 / 3], "tasks[].demand.cpu: demands of utility must have a common denominator of at most 2^20"),
        ([2.0**53, 2.0**53], "tasks[].demand.cpu: demands may total too much, past 2^53/1"),
    ],
)
def test_demands_that_do_not_do(demands: list[float], told: str) -> None:
    """Tests that a job has one profile, and that demands must be exact and total within 2^53."""
    workload = Workload(["a", "b"], job=[0, 0], job_ids=["j"], demand={"cpu": demands})
    with pytest.raises(InputError, match=re.escape(told)):
        Utility(Instance(Cluster(["n"], capacity={"cpu": [9.0]}), workload))


def test_parameters() -> None:
    """Tests that a penalty which a utility could reach, or which is no number of the grid, is refused."""
    for penalty in (2, 2**21):
        with pytest.raises(UsageError, match="penalty"):
            Utility(SWAPS.instance, penalty=penalty)
    assert Utility(SWAPS.instance, penalty=2.5).evaluate(SWAPS.placement([-1] * 8))[0] == Fraction(-5, 2)


def test_nothing_to_place() -> None:
    """Tests the empty cases: no task, no job, no node."""
    nothing = Utility(Instance(Cluster(["n"]), Workload([])))
    for route in ROUTES:
        solution = solve(nothing, route=route)
        assert (solution.objective, solution.bound) == ((0, 0), (0, 0)), route
        assert certify(nothing, solution).valid
    assert [bound.value for bound in bounds(nothing)] == [0, 0]
    workload = Workload(["m"], job=[0], job_ids=["j"], demand={"cpu": [1.0]}, goal=[1.0], map_time=[1.0])
    lonely = Utility(Instance(Cluster([]), workload))
    for route in ROUTES:
        assert solve(lonely, route=route).objective == (-1000, 0), route


# Reduces first -----------------------------------------------------------------------------------------------------


def test_reduces_are_spread() -> None:
    """Tests 001, III.J: evenly; then not two of a job together; then the first; only where there is room."""
    job = {"reduces": 2, "reduce": {"memory": 1}}
    assert spread_reduces(posed({"memory": [9, 9, 9]}, [job, job])).tolist() == [[1, 1, 0], [1, 0, 1]]
    crowded = posed({"memory": [9, 9]}, [{**job, "reduces": 3}, {**job, "reduces": 1}])
    assert spread_reduces(crowded).tolist() == [[2, 1], [0, 1]]
    apart = posed({"memory": [9, 9]}, [{**job, "reduces": 1}, {**job, "reduces": 1}, job], running=[(2, REDUCE, 0)])
    assert spread_reduces(apart).tolist() == [[0, 1], [1, 0], [1, 1]]
    others = posed({"memory": [9, 9]}, [job, {"reduce": {"memory": 1}}], running=[(1, REDUCE, 0)])
    assert spread_reduces(others).tolist() == [[1, 1]]
    assert others.other_reduces.tolist() == [1, 0]
    full = posed({"memory": [1, 0.5]}, [job])
    assert spread_reduces(full).tolist() == [[1, 0]]
    # Fewest reduces of all comes first, five against six, however many of these are of the same job.
    busy = [(0, REDUCE, 0)] * 5 + [(1, REDUCE, 1)] * 6
    crowds = posed({"memory": [9, 9, 0]}, [{**job, "reduces": 1}, {"reduce": {"memory": 1}}], running=busy)
    assert spread_reduces(crowds)[0].tolist() == [1, 0, 0]


def test_fixed_reduces() -> None:
    """Tests that fixed reduces take their room first, that any of a job do, and that another place is a violation."""
    problem = posed(
        {"memory": [2, 1]},
        [{"maps": 2, "reduces": 2, "map": {"memory": 1}, "reduce": {"memory": 1}}],
        reduces="fixed",
    )
    assert problem.fixed is not None
    assert problem.fixed.tolist() == [[1, 1]]
    assert problem.room.tolist() == [[1], [0]]
    assert problem.violations(problem.placement([0, -1, 1, 0])) == []
    assert problem.violations(problem.placement([-1, -1, 0, 0])) == [
        Violation("reduces-fixed", ("j0", "n0"), 1),
        Violation("reduces-fixed", ("j0", "n1"), 1),
    ]
    assert solve(problem).objective == (Fraction(1, 2), Fraction(2))
    starved = posed(
        {"memory": [0]},
        [{"maps": 1, "reduces": 1, "map": {}, "reduce": {"memory": 1}, "shuffle": {}} | {"map": {"memory": 0}}],
        reduces="fixed",
    )
    for route in ROUTES:
        assert solve(starved, route=route).objective == (-1000, 0), route


# Bounds and certificates -------------------------------------------------------------------------------------------


def test_prices_by_hand() -> None:
    """Tests the proof of the instance of Sharmilarani et al., note 7: four maps fit, and more than -1/2 takes five;
    and thresholds beside.
    """
    ones, none = np.array([1, 1]), np.array([0, 0])
    assert SWAPS.utility_bound(ones, none) == -GRID // 2
    assert SWAPS.utility_bound(none, none) == GRID == SWAPS.saturated_units
    assert SWAPS.utility_bound(-ones, none) == GRID
    assert SWAPS.utility_below(-GRID) == SWAPS.lowest_units
    assert SWAPS.utility_below(0) == round(GRID * (np.log(3) / np.log(4) - 1))
    reduces, maps = SWAPS.least_maps(1, 1)
    assert (reduces.tolist(), maps.tolist()) == ([0], [5])
    assert [part.tolist() for part in SWAPS.least_maps(1, GRID + 1)] == [[], []]
    assert (
        SWAPS.utilisation_bound(-GRID // 2, none, none, 1)
        >= SWAPS.objective(SWAPS.placement([1, 1, -1, 0, 1] + [-1] * 3))[1] * GRID
    )
    assert SWAPS.utilisation_bound(2 * GRID, none, none, 2**21) == SWAPS.utilisation_bound(GRID, none, none, 1)


@given(problems(), st.data())
@settings(max_examples=60)
def test_any_prices_bound(problem: Utility, data: st.DataObject) -> None:
    """Tests weak duality: whatever the prices and their scale, the bounds are not below the enumerated optimum."""
    best = best_placement(problem)
    assert best is not None
    lowest, used = best[0]
    jobs = len(problem.jobs)

    def prices(least: int, most: int) -> tuple[Any, Any]:
        rows = [data.draw(st.lists(st.integers(least, most), min_size=jobs, max_size=jobs)) for _ in range(2)]
        return np.array(rows[0], dtype=np.int64), np.array(rows[1], dtype=np.int64)

    assert utility_certificate(problem, *prices(-2, 5)).claim >= lowest
    scale = data.draw(st.sampled_from([1, 3, 2**20, 2**31]))
    signed = prices(-2 * GRID * scale, 2 * GRID * scale)
    units = int(lowest * GRID)
    certificate = utilisation_certificate(problem, units, *signed, scale)
    assert certificate.claim >= used
    assert proved_bound(problem, certificate, (lowest, used)) == certificate.claim
    for bound in bounds(problem):
        assert bound.value >= (lowest if bound.component == "lowest-utility" else used), bound


@pytest.mark.parametrize(
    ("component", "data", "told"),
    [
        ("lowest-utility", {"reduce_prices": {}}, "map_prices: must be an object"),
        ("lowest-utility", {"map_prices": {}, "reduce_prices": []}, "reduce_prices: must be an object"),
        ("lowest-utility", {"map_prices": {"j9": 1}, "reduce_prices": {}}, 'map_prices: there is no job "j9"'),
        ("lowest-utility", {"map_prices": {"j0": 0.5}, "reduce_prices": {}}, "j0: must be an integer"),
        ("utilisation", {"map_prices": {}, "reduce_prices": {}}, "scale: must be an integer"),
        ("utilisation", {"map_prices": {}, "reduce_prices": {}, "scale": 0}, "scale: must be above 0, not 0"),
        ("utilisation", {"map_prices": {}, "reduce_prices": {}, "scale": 1}, "needs a lowest utility that is given"),
    ],
)
def test_malformed_certificates(component: str, data: dict[str, Any], told: str) -> None:
    """Tests that certificates of a wrong form are told, each with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(SWAPS, Certificate(component, Proof.DUAL, 0, data))


def test_false_claims() -> None:
    """Tests that claims below what the prices prove are false, in either component, and a missing price is found."""
    solution = solve(SWAPS)
    assert solution.objective is not None
    verdict = certify(SWAPS, solution)
    assert verdict.proved
    first, second = solution.certificates
    lower = replace(
        solution,
        objective=(-1000, 0),
        decision=SWAPS.placement([-1] * 8),
        bound=(-1000, None),
        certificates=(replace(first, claim=-1000),),
        termination=Termination.FEASIBLE,
    )
    assert not certify(SWAPS, lower).valid
    less = solution.objective[1] - Fraction(1, GRID)
    wrong = replace(solution, bound=(first.claim, less), certificates=(first, replace(second, claim=less)))
    assert "FALSE  dual proof of utilisation" in str(certify(SWAPS, wrong))
    cheaper = replace(first, data={**first.data, "map_prices": {"j0": 1}})
    assert not certify(SWAPS, replace(solution, certificates=(cheaper, second))).valid
    boast = replace(solution, objective=(10**30, solution.objective[1]))
    assert "FALSE  objective" in str(certify(SWAPS, boast))
    stranger = replace(solution, decision=SWAPS.placement([0] * 8))
    assert not certify(SWAPS, stranger).valid


# Agreement ---------------------------------------------------------------------------------------------------------


def check_agreement(problem: Utility) -> None:
    """Every route finds the enumerated optimum and certifies, and the gap of the optimum is 0."""
    best = best_placement(problem)
    assert best is not None
    for route in ROUTES:
        solution = solve(problem, route=route)
        assert solution.objective == best[0] == solution.bound, (route, solution)
        assert solution.optimal, route
        verdict = certify(problem, solution)
        assert verdict.valid, (route, str(verdict))
        assert verdict.proved >= (solution.certificate is Proof.DUAL), route
    report = gap(problem, lambda problem, rng: problem.placement(best[1]))
    assert report.absolute_gap == (0, 0)


def test_agreement() -> None:
    """Tests that all routes agree with enumeration on 40 instances."""
    settings(max_examples=40)(given(problems())(check_agreement))()


@pytest.mark.thorough
def test_agreement_at_length() -> None:
    """Tests the same on 200 instances, some of them larger."""
    settings(max_examples=200)(given(problems(tasks=8))(check_agreement))()


@pytest.mark.parametrize("route", ["thresholds", "pyomo", "pulp"])
def test_utilities_a_step_apart(route: str) -> None:
    """Tests two jobs whose worths of 12 of 17 and 41 of 69 maps differ by one step of 2^-20, less than a tolerance.

    The tracker holds 12 of the one and 42 of the other, or 13 and 41: the first is better by that step.
    """
    jobs = [
        {"maps": 17, "map": {"cpu": 5}, "goal": 1, "time": 1},
        {"maps": 69, "map": {"cpu": 7}, "goal": 1, "time": 1},
    ]
    problem = posed({"cpu": [12 * 5 + 42 * 7]}, jobs)
    assert problem.map_utility[0][12] - problem.map_utility[1][41] == 1
    solution = solve(problem, route=route)
    assert solution.objective is not None
    assert solution.objective[0] == solution.bound[0] == Fraction(int(problem.map_utility[0][12]), GRID)


@given(problems(tasks=5, nodes=2))
@settings(max_examples=25)
def test_counts_are_enough(problem: Utility) -> None:
    """Tests the enumeration by counts against every placement task by task, judged by the problem itself."""
    nodes = range(-1, len(problem.instance.cluster))
    placements = (problem.placement(list(hosts)) for hosts in itertools.product(nodes, repeat=len(problem.tasks)))
    values = [problem.evaluate(placement) for placement in placements if not problem.violations(placement)]
    best = best_placement(problem)
    assert best is not None
    assert max(values) == best[0]


@given(problems(reduces="free"), st.data())
@settings(max_examples=25)
def test_laws(problem: Utility, data: st.DataObject) -> None:
    """Tests that more capacity never lowers the highest lowest utility, and fixed reduces never raise the optimum."""
    instance = problem.instance
    best = solve(problem).objective
    assert best is not None
    node = data.draw(st.integers(0, len(instance.cluster) - 1))
    more = {name: column + 2.0 * (np.arange(len(column)) == node) for name, column in instance.cluster.capacity.items()}
    roomier = Utility(replace(instance, cluster=replace(instance.cluster, capacity=more)), **problem.parameters)
    larger = solve(roomier).objective
    assert larger is not None
    assert larger[0] >= best[0]
    fixed = solve(Utility(instance, **{**problem.parameters, "reduces": "fixed"})).objective
    assert fixed is not None
    assert fixed <= best


def test_models_refuse() -> None:
    """Tests the messages where a limit is out of reach, or the literal model too large, and its stated size."""
    module = models.module("utility")
    for build in (module.build_pyomo, module.build_pulp):
        with pytest.raises(UsageError, match=r"limit=1\.5: the lowest utility is at most 1"):
            build(SWAPS, limit=1.5)
    with pytest.raises(TooLarge, match="variables"):
        module.build_pulp(SWAPS, max_variables=3)
    size, model = module.literal_size(SWAPS), module.build_pulp(SWAPS)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)


def test_equal_trackers_are_one_host() -> None:
    """Tests that the compact model lists patterns of equal trackers, and that its solution is dealt out to them."""
    module = models.module("utility")
    job = {"maps": 9, "map": {"cpu": 2}}
    problem = posed({"cpu": [5] * 6}, [job, {"maps": 4, "map": {"cpu": 1}}])
    model = module.build_pyomo(problem, limit=Fraction(1, 2))
    assert list(model.HOSTS) == ["n0"]
    assert len(model.PATTERNS) == 3
    assert solve_pyomo(model, load_profile("exact")).status is Termination.OPTIMAL
    placement = module.decode(model, problem)
    assert problem.evaluate(placement) == solve(problem).objective
    allocation = Allocation(*problem.allocated(placement))
    assert allocation.maps.sum(axis=1).tolist() == [9, 4]
    assert LEAST_FINITE == -2 * GRID
