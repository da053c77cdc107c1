"""`lsap-fairness`: values by hand, steps and prices, the frontier against enumeration, proofs and their faults."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command_line import run
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from optsched.certificates import certify, proved_bound, reading
from optsched.errors import CertificateInvalid, MissingField, SolverDisagreement, UsageError
from optsched.gaps import Reference, gap
from optsched.heuristics import applicable
from optsched.instance import RUNNING, Cluster, Instance, Ragged, State, Workload
from optsched.instances.generate import generate
from optsched.instances.solution_files import read_solution, write_solution
from optsched.models import lsap_fairness as lsap_fairness_models
from optsched.placement import NONE, Placement
from optsched.problems import FairLsap, LsapFairness
from optsched.results import FrontierPoint, Limit, Proof, Termination
from optsched.routes import bounds, frontier, routes_of, solve
from optsched.searches.enumeration import pareto_front
from optsched.searches.lsap_fairness import CappedNetwork, Fairest
from optsched.solvers.outcome import SolverOutcome


def posed(weights: list[float] | None = None, idle: list[int] | None = None, **parameters: Any) -> LsapFairness:
    """Groups with 1, 2 and 7 running maps; slots idle on A and B, where data of the third group lie."""
    cluster = Cluster(["A", "B", "C"], slots=[1, 1, 10])
    workload = Workload(
        ["a1", "b1", "b2", "c1", "c2"],
        replicas=Ragged.from_rows([[2], [2], [2], [0], [1]]),
        job=[0, 1, 1, 2, 2],
        job_ids=["j1", "j2", "j3"],
        job_group=[0, 1, 2],
        group_ids=["g1", "g2", "g3"],
        group_weight=weights or [5, 3, 2],
        group_running_tasks=[1, 2, 7],
    )
    state = State.initial(cluster, workload, idle_slots=idle or [1, 1, 0])
    return LsapFairness(Instance(cluster, workload, state, name="small"), **parameters)


SMALL = posed()


def check_points(problem: LsapFairness, points: tuple[FrontierPoint, ...]) -> None:
    """Every point is worth what it says, its distance is proved, and no fewer tasks off their data give as little."""
    for before, point in zip((None, *points), points, strict=False):
        assert problem.evaluate(point.placement) == point.objective
        earlier, distance = point.certificates
        assert point.certificate is Proof.DUAL
        assert proved_bound(problem, distance, point.objective) == point.objective[1] == distance.claim
        if before is None:
            assert proved_bound(problem, earlier) == point.objective[0] == earlier.claim
        else:
            fewer = point.objective[0] - 1, point.objective[1]
            assert proved_bound(problem, earlier, fewer) > point.objective[1]


def test_values() -> None:
    """Tests both components by hand, and with distances over weights, against those before the placement."""
    assert SMALL.total == 12
    assert SMALL.groups.distance() == (Fraction(4, 10) + Fraction(1, 10) + Fraction(5, 10)) / 3
    shares = Fraction(2, 12), Fraction(3, 12), Fraction(7, 12)
    expected = ((shares[0] - Fraction(1, 2)) * -1 + (Fraction(3, 10) - shares[1]) + (shares[2] - Fraction(1, 5))) / 3
    placement = SMALL.placement([0, 1, NONE, NONE, NONE])
    assert SMALL.evaluate(placement) == (2, expected)
    assert SMALL.evaluate(SMALL.placement([NONE, NONE, NONE, 0, 1])) == (0, Fraction(11, 30))
    assert SMALL.evaluate(SMALL.placement([NONE, NONE, NONE, 1, 0])) == (2, Fraction(11, 30))
    over = posed(distance="relative")
    assert (
        over.evaluate(placement)[1]
        == ((Fraction(1, 2) - shares[0]) * 2 + (Fraction(3, 10) - shares[1]) * Fraction(10, 3) + (shares[2] * 5 - 1))
        / 3
    )
    assert FairLsap(SMALL.instance).fairness_distance(placement) == expected


def test_violations() -> None:
    """Tests that slots and cardinality are those of the other assignment problems."""
    told = [str(entry) for entry in SMALL.violations(SMALL.placement([0, 0, NONE, NONE, NONE]))]
    assert told == ["slots(A) by 1"]
    assert [entry.constraint for entry in SMALL.violations(SMALL.placement([NONE] * 5))] == ["cardinality"]


def test_listed_running_maps_count() -> None:
    """Tests that running maps of the instance are their groups' where these say no number."""
    workload = Workload(
        ["busy", "t"], job=[0, 1], job_ids=["i", "j"], job_group=[0, 1], group_ids=["g", "h"], group_weight=[1, 3]
    )
    cluster = Cluster(["n"], slots=[2])
    state = State.initial(cluster, workload, status=[RUNNING, 0], node=[0, -1], idle_slots=[1])
    found = LsapFairness(Instance(cluster, workload, state))
    assert found.groups.running == [1, 0]
    assert found.evaluate(Placement.of([None, 0])) == (1, Fraction(1, 4))


def test_steps() -> None:
    """Tests the steps towards, past and beyond a share: increasing, of all waiting tasks."""
    assert SMALL.steps == (
        ((Fraction(-1), 1),),
        ((Fraction(-1), 1), (Fraction(-1, 5), 1)),
        ((Fraction(1), 2),),
    )


@given(problems("lsap-fairness"), st.data())
def test_steps_add_up(problem: LsapFairness, data: st.DataObject) -> None:
    """Tests that the distance of any placement is that of its groups' steps, cheapest first, each increasing."""
    tasks = data.draw(st.permutations(range(len(problem.tasks))))[: problem.count]
    slots = [node for node, free in enumerate(problem.instance.state.idle_slots.tolist()) for _ in range(free)]
    nodes = [NONE] * len(problem.tasks)
    for task, node in zip(tasks, data.draw(st.permutations(slots)), strict=False):
        nodes[task] = node
    placement = problem.placement(nodes)
    added = Fraction(0)
    for steps, placed in zip(problem.steps, problem.placed_by_group(placement), strict=True):
        each = [step for step, size in steps for _ in range(size)]
        assert each == sorted(each)
        assert len(steps) <= 3
        added += sum(each[:placed], Fraction(0))
    assert problem.distance_after(added) == problem.evaluate(placement)[1] >= problem.least_distance


def test_frontier() -> None:
    """Tests the frontier of the small example, with 5/90 gained for each task off its data."""
    found = frontier(SMALL)
    assert found.values == [(0, Fraction(33, 90)), (1, Fraction(28, 90)), (2, Fraction(23, 90))]
    assert (found.complete, found.limit, found.components) == (True, None, ("locality-cost", "fairness-distance"))
    check_points(SMALL, found.points)
    assert SMALL.least_distance == Fraction(23, 90)


@settings(max_examples=120)
@given(problems("lsap-fairness"))
def test_frontier_is_the_enumerated_one(problem: LsapFairness) -> None:
    """Tests every point and its proofs; one task more off its data each time; what it gains never grows."""
    found = frontier(problem)
    assert found.complete
    assert found.values == pareto_front(problem)
    check_points(problem, found.points)
    assert [int(value[0]) for value in found.values] == list(
        range(int(found[0].objective[0]), int(found[-1].objective[0]) + 1)
    )
    gains = [before[1] - after[1] for before, after in itertools.pairwise(found.values)]
    assert gains == sorted(gains, reverse=True)
    assert found[-1].objective[1] == problem.least_distance


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weights", [(1, 2, 4, 8, 16), (0.1, 0.2, 0.3, 0.7)])
def test_frontier_at_the_papers_size(seed: int, weights: tuple[float, ...]) -> None:
    """Tests each point of 003's own sizes by both engines, also with weights whose shares have large denominators."""
    instance = generate("fair-lsap", seed, nodes=60, tasks=90, weights=weights)
    for distance in ("absolute", "relative"):
        problem = LsapFairness(instance, distance=distance)
        found = frontier(problem)
        assert found.complete
        assert len(found) > 3
        check_points(problem, found.points)
    assert frontier(problem, route="network-simplex").values == found.values


def test_shares_of_real_weights_are_exact() -> None:
    """Tests that weights of many digits, whose shares have denominators past 2^53, are proved all the same."""
    problem = posed([0.001234567890123457, 3.141592653589793, 0.7])
    assert max(Fraction(value[1]).denominator for value in frontier(problem).values) > 2**53
    for route in routes_of(problem):
        solution = solve(problem, route=route)
        assert solution.optimal, route
        assert certify(problem, solution).valid, route
    check_points(problem, frontier(problem).points)


prices = st.fractions(-2, 2, max_denominator=7) | st.sampled_from(
    [Fraction(1, 3**40), Fraction(-(10**20)), Fraction(9)]
)


@settings(max_examples=100)
@given(problems("lsap-fairness"), st.data())
def test_any_prices_prove_something_true(problem: LsapFairness, data: st.DataObject) -> None:
    """Tests that no prices prove more than is so: no placement within the locality cost is nearer to the shares."""
    nodes = data.draw(st.dictionaries(st.integers(0, len(problem.capacity) - 1), prices))
    groups = data.draw(st.lists(prices, min_size=len(problem.pools), max_size=len(problem.pools)))
    locality, task = data.draw(prices), data.draw(prices)
    front = pareto_front(problem)
    for off_data in range(int(front[0][0]), problem.count + 1):
        least = min(distance for cost, distance in front if cost <= off_data)
        assert problem.distance_bound(off_data, locality, task, nodes, groups) <= least


def test_bug_linear_program_where_maximum_flows_are_enough() -> None:
    """Tests that the default route needs no linear program, agrees with the one, and is proved, at scarce slots too."""
    for seed in range(12):
        replicas, tasks = 1 + seed % 3, (60, 90, 20)[seed % 3]
        problem = LsapFairness(generate("lsap-fairness", seed=seed, tasks=tasks, replicas=replicas))
        solution = solve(problem)
        assert solution.solver["name"] == "SciPy maximum_flow"
        assert (solution.optimal, solution.certificate) == (True, Proof.DUAL)
        assert solution.objective == solve(problem, route="arrays").objective
        assert frontier(problem).values == frontier(problem, route="arrays").values


def test_flows_check_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a flow that is not maximum is noticed."""

    class NoFlow:
        flow_value = 0

    monkeypatch.setattr("optsched.searches.lsap_fairness.maximum_flow", lambda *_: NoFlow())
    with pytest.raises(SolverDisagreement, match="SciPy places 0 of 30 tasks"):
        solve(LsapFairness(generate("fair-lsap", seed=0)))


def test_prices_of_a_placement_that_is_not_the_fairest() -> None:
    """Tests that residual levels of any placement prove a bound, and less than its value where it is not optimal."""
    network = CappedNetwork(SMALL)
    bad = SMALL.placement([NONE, NONE, NONE, 1, 0])
    found = network.prices(bad, 2)
    bound = SMALL.distance_bound(2, found.locality, found.task, found.nodes, found.groups)
    assert bound < SMALL.evaluate(bad)[1]


def test_bounds() -> None:
    """Tests the cheap bounds: each task on its best node, and the least distance wherever tasks run."""
    found = {entry.name: (entry.component, entry.value) for entry in bounds(SMALL)}
    assert found == {"best-node": ("locality-cost", 0), "fair-share": ("fairness-distance", Fraction(23, 90))}


def test_equal_weights_make_the_distances_alike() -> None:
    """Tests that with equal weights the relative distance is the absolute one times the number of groups."""
    plain, relative = frontier(posed([1, 1, 1])), frontier(posed([1, 1, 1], distance="relative"))
    assert [(first, 3 * second) for first, second in plain.values] == relative.values


@pytest.mark.parametrize("idle", [[0, 0, 0], [1, 1, 0]])
def test_nothing_to_place(idle: list[int]) -> None:
    """Tests that without tasks or slots the only placement is proved, and is the frontier."""
    problem = posed(idle=idle)
    if any(idle):
        empty = Workload([], group_ids=["g"], group_weight=[1], job_ids=[], job_group=[])
        problem = LsapFairness(Instance(Cluster(["n"]), empty))
        assert problem.evaluate(problem.placement([])) == (0, 1)
    for route in routes_of(problem):
        solution = solve(problem, route=route)
        assert solution.optimal
        assert certify(problem, solution).valid
    assert frontier(problem).values == [solution.objective]


def test_missing_fields() -> None:
    """Tests that groups, weights and the groups of tasks are asked for, each with its place."""
    bare = Instance(Cluster(["n"]), Workload(["t"]))
    with pytest.raises(MissingField, match="groups: lsap-fairness needs groups with weights"):
        LsapFairness(bare)
    with pytest.raises(MissingField) as caught:
        posed([5, 0, float("nan")], distance="relative")
    told = [str(fault) for fault in caught.value.faults]
    assert told == [
        "groups[2].weight: lsap-fairness needs the group's share",
        "groups[1].weight: distance=relative divides by it: give a positive share",
    ]
    assert posed([5, 0, 1]).evaluate(SMALL.placement([0, 1, NONE, NONE, NONE]))[0] == 2
    with pytest.raises(UsageError, match="distance='squared'"):
        posed(distance="squared")


def test_heuristics_serve_it() -> None:
    """Tests that 003's schedulers and FIFO can be measured, and that a locality scheduler may be unfair at gap 0."""
    served = {entry.name for entry in applicable(SMALL)}
    assert {"dl", "rand", "lsap-sched", "lsap-fair-sched"} <= served
    assert gap(SMALL, "lsap-sched").absolute_gap == (0, 0)
    fair = gap(SMALL, "lsap-fair-sched", gfc="difference", alpha=1)
    assert fair.objective == (2, Fraction(23, 90))
    assert fair.absolute_gap == (2, None)


def test_gaps_beside_the_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests what a placement is above the frontier in each component, and None where the frontier is not known."""
    reference = Reference(SMALL)
    swapped = gap(SMALL, lambda problem, rng: [None, None, None, "B", "A"], reference=reference).record()
    assert swapped["objective"] == [2, 11 / 30]
    assert (swapped["fairness_gap_at_locality"], swapped["locality_gap_at_fairness"]) == (1 / 9, 2)
    best = gap(SMALL, lambda problem, rng: ["A", "B", None, None, None], reference=reference).record()
    assert (best["fairness_gap_at_locality"], best["locality_gap_at_fairness"]) == (0, 0)
    monkeypatch.setattr(CappedNetwork, "fairest", interrupted)
    unknown = Reference(SMALL, solution=reference.solution)
    assert unknown.beside((2, Fraction(11, 30)))["fairness_gap_at_locality"] is None
    assert unknown.beside((2, Fraction(11, 30)))["locality_gap_at_fairness"] is None


def interrupted(*_: Any) -> Fairest:
    """An engine during which Ctrl-C comes."""
    raise KeyboardInterrupt


# Certificates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["absolute", "relative"])
def test_solution_files_keep_the_proof(tmp_path: Path, distance: str) -> None:
    """Tests that values and prices with many digits survive a solution file, and certify there."""
    instance = generate("fair-lsap", weights=(0.1, 0.3, 0.7, 1.1, 1.3, 1.7))
    problem = LsapFairness(instance, distance=distance)
    solution = solve(problem)
    assert certify(problem, solution).proved
    path = tmp_path / "solution.json"
    write_solution(solution, problem.instance, path)
    assert certify(problem, read_solution(path, problem.instance)).proved


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"locality_cost": 1}, "a proof for up to 1 tasks off their data says nothing of this placement"),
        ({"locality_cost": 2.0}, "locality_cost: must be an integer"),
        ({"locality_price": 0.5}, "locality_price: must be an integer"),
        ({"task_price": "1.5"}, "task_price: must be an integer or a fraction \"p/q\", not '1.5'"),
        ({"task_price": "1/0"}, "must be an integer or a fraction"),
        ({"task_price": "9" * 50 + "x"}, f"task_price: must be an integer or a fraction \"p/q\", not '{'9' * 40}'"),
        ({"task_price": "9" * 999 + "/7"}, "must be an integer or a fraction"),
        ({"task_price": "٣/7"}, "must be an integer or a fraction"),
        ({"task_price": None}, "task_price: must be an integer"),
        ({"node_prices": {"Z": 1}}, 'node_prices: there is no node "Z"'),
        ({"node_prices": [1]}, "node_prices: must be an object"),
        ({"group_prices": {"g9": 1}}, 'group_prices: there is no group "g9"'),
        ({"group_prices": {"g1": "x"}}, "g1: must be an integer or a fraction"),
    ],
)
def test_faulty_certificates(changes: dict[str, Any], message: str) -> None:
    """Tests that data that is not what the proof needs is told."""
    point = frontier(SMALL)[2]
    certificate = replace(point.certificates[1], data={**point.certificates[1].data, **changes})
    with pytest.raises(CertificateInvalid) as caught:
        proved_bound(SMALL, certificate, point.objective)
    assert message in str(caught.value)


def test_a_proof_needs_its_placement() -> None:
    """Tests that a distance is proved within a locality cost only."""
    with pytest.raises(CertificateInvalid, match="says nothing of this placement"):
        proved_bound(SMALL, frontier(SMALL)[0].certificates[1])


@pytest.mark.parametrize("key", ["locality_price", "task_price", "node_prices", "group_prices"])
def test_changed_prices_prove_less(key: str) -> None:
    """Tests that each of the prices is needed: without it a true claim is caught."""
    point = frontier(SMALL)[1]
    certificate = point.certificates[1]
    prices = {"node_prices": {"A": 1, "B": 1}} if key == "node_prices" else {key: {} if key == "group_prices" else 0}
    changed = replace(certificate, data={**certificate.data, **prices})
    assert proved_bound(SMALL, changed, point.objective) < certificate.claim
    solution = replace(
        solve(SMALL), certificates=(solve(SMALL).certificates[0], replace(changed, claim=Fraction(11, 30)))
    )
    assert not certify(SMALL, solution).valid


def test_false_claims_are_caught() -> None:
    """Tests that a lower distance, or a placement with more tasks off their data, is not certified."""
    solution = solve(SMALL)
    for objective in ((0, Fraction(1, 30)), (1, Fraction(11, 30))):
        assert not certify(SMALL, replace(solution, objective=objective)).valid
    unfair = replace(solution, decision=SMALL.placement([NONE, NONE, NONE, 1, 0]))
    assert not certify(SMALL, unfair).valid


# Limits and disagreement -------------------------------------------------------------------------------------------


def test_interrupts_are_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C leaves the most local placement with its proof and a bound, and a frontier that says so."""
    monkeypatch.setattr(CappedNetwork, "fairest", interrupted)
    solution = solve(SMALL)
    assert solution.objective is not None
    assert (solution.bound[0], solution.objective[0]) == (0, 0)
    assert solution.limit in (None, Limit.INTERRUPTED)
    assert certify(SMALL, solution).valid
    found = frontier(SMALL)
    assert (found.complete, found.limit, len(found)) == (False, Limit.INTERRUPTED, 0)


def test_limits_are_told() -> None:
    """Tests that without time something is held, with a bound, and the frontier is incomplete."""
    problem = LsapFairness(generate("fair-lsap", seed=0))
    solution = solve(problem, time_limit=0)
    assert (solution.termination, solution.limit) == (Termination.FEASIBLE, Limit.TIME)
    assert solution.objective is not None
    assert solution.objective[0] == solution.bound[0]
    assert certify(problem, solution).valid
    found = frontier(problem, time_limit=0)
    assert (found.complete, found.limit) == (False, Limit.TIME)
    with pytest.raises(UsageError, match="has no route"):
        solve(problem, route="network")


def test_a_model_that_errs_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver's claim of another locality cost or distance raises."""

    def claims(value: float) -> Any:
        outcome = SolverOutcome(Termination.OPTIMAL, None, value, value, "optimal", 0.0, None)
        return lambda route: lambda model, *_: (lsap_solved(model), outcome)[1]

    def lsap_solved(model: Any) -> None:
        for variable in model.variables():
            variable.varValue = 0

    monkeypatch.setattr("optsched.routes.call.solver_of", claims(3.0))
    monkeypatch.setattr(lsap_fairness_models, "decode", lambda model, problem: problem.placement([NONE] * 3 + [0, 1]))
    with pytest.raises(SolverDisagreement, match="the solver says 3"):
        solve(SMALL, route="pulp")
    monkeypatch.setattr("optsched.routes.call.solver_of", claims(0.0))
    with pytest.raises(SolverDisagreement, match="the solver says 0"):
        solve(SMALL, route="pulp")


def test_start_is_kept() -> None:
    """Tests that a start is never made worse."""
    start = ["A", "B", None, None, None]
    assert solve(SMALL, start=start).objective == (0, Fraction(11, 30))


# Command line ------------------------------------------------------------------------------------------------------


def test_frontier_on_the_command_line(tmp_path: Path) -> None:
    """Tests `optsched frontier` as table, JSON and picture."""
    picture = tmp_path / "frontier.svg"
    result = run(
        "frontier",
        "generated/guo-fairness-seed0",
        "--problem",
        "lsap-fairness",
        "--format",
        "json",
        "--plot",
        str(picture),
    )
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["components"] == ["locality-cost", "fairness-distance"]
    assert [point["objective"][0] for point in told["points"]] == list(range(6, 17))
    assert {point["certificate"] for point in told["points"]} == {"dual"}
    assert told["complete"]
    assert picture.stat().st_size > 1000


def test_export(tmp_path: Path) -> None:
    """Tests that the program at a limit is written, and that one network cannot stand for two components."""
    target = tmp_path / "program.lp"
    arguments = "export", "generated/guo-fairness-seed0", "--problem", "lsap-fairness"
    assert run(*arguments, "--to", str(target), "--limit", "7").exit_code == 0
    assert "locality_limit" in target.read_text(encoding="utf-8")
    result = run(*arguments, "--to", str(tmp_path / "network.dimacs"))
    assert result.exit_code == 2
    assert "lsap-fairness is no flow network" in result.stderr


@pytest.mark.parametrize(
    "text",
    [
        *("7", "", " ", "-", "/", "1/", "/2", "1/x", "x/2", "1/0", "--1/2", "1/-2", "1/2/3", " 1/2", "1_0/2"),
        "\N{ARABIC-INDIC DIGIT ONE}/2",
    ],
)
def test_fractions_that_are_none(text: str) -> None:
    """Tests that a price spelled otherwise than p/q is a fault of the certificate by its name, and no other error."""
    with pytest.raises(CertificateInvalid, match='price: must be an integer or a fraction "p/q"'):
        reading.number({"price": text}, "price")
    assert [reading.number({"price": good}, "price") for good in ("-1/2", "6/4", 7)] == [
        Fraction(-1, 2),
        Fraction(3, 2),
        7,
    ]
