"""`traffic`: value, feasibility, bounds, certificates, routes, models and frontier, against enumeration."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optsched import models
from optsched.certificates import certify, load_certificate, proved_bound, traffic_certificate
from optsched.certificates.traffic import Cases, SlotPrices
from optsched.deadline import deadline
from optsched.errors import CertificateInvalid, InputError, MissingField, SolverDisagreement, TooLarge, UsageError
from optsched.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Workload,
)
from optsched.instances.files import load
from optsched.instances.generate import generate
from optsched.placement import Placement
from optsched.problems import Traffic
from optsched.problems.traffic import Bundle, Job
from optsched.resources import folder
from optsched.results import Certificate, Limit, Proof, Termination, Value, Violation
from optsched.routes import bounds, frontier, routes_of, solve
from optsched.routes.traffic import ROUTES, traffic_search
from optsched.searches import traffic as engine
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile, load_profile

NAN = float("nan")


def posed(
    blocks: Sequence[Sequence[int]],
    ratio: float = 1.0,
    reduces: int = 1,
    nodes: Sequence[int] = (0, 1),
    size: float | Sequence[float] = 10.0,
    slots: Sequence[int] | None = None,
    reduce_slots: Sequence[int] | None = None,
    jobs: int = 1,
    **parameters: Any,
) -> Traffic:
    """Jobs that each have these maps (the nodes of each block) and reduces; `nodes` says where the nodes are."""
    centers = [f"d{center}" for center in range(max(nodes, default=-1) + 1)]
    cluster = Cluster(
        [f"n{node}" for node in range(len(nodes))],
        datacenter=nodes,
        datacenter_ids=centers,
        slots=[9] * len(nodes) if slots is None else slots,
        reduce_slots=[9] * len(nodes) if reduce_slots is None else reduce_slots,
    )
    maps, each = len(blocks), len(blocks) + reduces
    sizes = [size] * maps if isinstance(size, float) else list(size)
    workload = Workload(
        [f"j{job}{kind}{at}" for job in range(jobs) for kind, n in (("m", maps), ("r", reduces)) for at in range(n)],
        job=np.repeat(np.arange(jobs), each),
        kind=([MAP] * maps + [REDUCE] * reduces) * jobs,
        replicas=Ragged.from_rows(([list(row) for row in blocks] + [[]] * reduces) * jobs),
        size=(sizes + [NAN] * reduces) * jobs,
        job_ids=[f"j{job}" for job in range(jobs)],
        filter_ratio=[ratio] * jobs,
    )
    return Traffic(Instance(cluster, workload, name="small"), **parameters)


def crossing(problem: Traffic, nodes: Sequence[int]) -> float:
    """MB that cross, pair by pair, from the instance alone."""
    instance, workload, state = problem.instance, problem.instance.workload, problem.instance.state
    center, pending = instance.cluster.datacenter, set(problem.tasks.tolist())
    where = dict(zip(problem.tasks.tolist(), center[list(nodes)].tolist() if len(nodes) else [], strict=True))
    where |= {task: int(center[state.node[task]]) for task in range(len(workload)) if state.node[task] >= 0}
    total = 0.0
    for task in pending:
        if workload.kind[task] == MAP and where[task] not in set(center[instance.replicas[task]].tolist()):
            total += float(workload.size[task])
    sent: dict[tuple[int, int], float] = {}
    listed = set()
    if workload.shuffle is not None:
        for one, other, size in zip(workload.shuffle.map, workload.shuffle.reduce, workload.shuffle.size, strict=True):
            sent[one, other] = sent.get((one, other), 0.0) + float(size)
            listed.add(int(workload.job[one]))
    for one, other in itertools.product(range(len(workload)), repeat=2):
        job = int(workload.job[one])
        if (workload.kind[one], workload.kind[other]) != (MAP, REDUCE) or job < 0 or job != workload.job[other]:
            continue
        if not {one, other} & pending or state.status[other] == FINISHED or where[one] == where[other]:
            continue
        if job in listed:
            total += sent.get((one, other), 0.0)
        else:
            each = np.count_nonzero((workload.job == job) & (workload.kind == REDUCE))
            total += float(workload.size[one] * workload.filter_ratio[job] / each)
    return total


def front(problem: Traffic) -> list[Value]:
    """Every Pareto-optimal value by trying every placement."""
    nodes, tasks = len(problem.instance.cluster), len(problem.tasks)
    values = set()
    for hosts in itertools.product(range(nodes), repeat=tasks):
        placement = problem.placement(np.array(hosts, dtype=np.int64))
        if not problem.violations(placement):
            values.add(problem.evaluate(placement))
            assert float(problem.evaluate(placement)[0]) == pytest.approx(crossing(problem, hosts), abs=1e-4)
    found: list[Value] = []
    for value in sorted(values):
        if not found or value[1] < found[-1][1]:
            found.append(value)
    return found


# Value and feasibility ---------------------------------------------------------------------------------------------

#: Sharmilarani et al., note 10: three blocks in each of two of three datacenters, FP = 1.2.
EMPTY = posed([[1]] * 3 + [[2]] * 3, 1.2, nodes=[0, 1, 2])


def test_digest_values() -> None:
    """Tests the case of Sharmilarani et al., note 10: policy B 36, policy A in the empty datacenter 60, the best
    datacenter 30.
    """
    assert EMPTY.evaluate(EMPTY.placement([1, 1, 1, 2, 2, 2, 1])) == (36, 3)
    assert EMPTY.evaluate(EMPTY.placement([0] * 7)) == (60, 6)
    assert EMPTY.evaluate(EMPTY.placement([1] * 7)) == (30, 6)
    solution = solve(EMPTY)
    assert (solution.objective, str(solution.certificate), certify(EMPTY, solution).proved) == ((30, 6), "dual", True)


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 1.25, 1.5, 2.0, 3.0])
def test_break_even_at_one(ratio: float) -> None:
    """Tests that without capacities a job costs |B| min(1, FP) for a block elsewhere: it turns at 1, not at td."""
    problem = posed([[0], [0], [1]], ratio, nodes=[0, 1], size=20.0)
    objective = solve(problem).objective
    assert objective is not None
    assert objective[0] == Fraction(20 * min(1.0, ratio))
    assert bounds(problem)[0].value == Fraction(20 * min(1.0, ratio))


def test_violations() -> None:
    """Tests each constraint's violation with its ids and amount."""
    problem = posed([[0], [0]], reduces=3, slots=[1, 9], reduce_slots=[9, 1], capacity="slots")
    assert problem.violations(problem.placement([0, 0, 1, 1, 0])) == [
        Violation("slots", ("n0",), 1),
        Violation("reduce-slots", ("n1",), 1),
        Violation("reduces-together", ("j0",), 1),
    ]
    assert problem.violations(problem.placement([-1, 0, -1, 0, 0])) == [
        Violation("every-task-placed", ("j0m0",), 1),
        Violation("every-task-placed", ("j0r0",), 1),
    ]
    with pytest.raises(ValueError, match="an infeasible placement has no value: every-task-placed"):
        problem.evaluate(Placement.empty(5))
    parted = Traffic(problem.instance, reduces="free")
    assert parted.violations(parted.placement([0, 0, 1, 1, 0])) == []


def test_prices_bound_counts_what_ended_maps_send_to_each_reduce() -> None:
    """Tests the bound by hand: a map that has ended beside one of two reduce slots sends 5 MB to each of two reduces.

    One of them must go to the other datacenter. A slot beside the map priced at 5 MB makes each reduce pay 5, and the
    slot gives 5 back.
    """
    small = posed([[0]], reduces=2, slots=[1, 1], reduce_slots=[1, 1]).instance
    ended = State.initial(small.cluster, small.workload, status=[FINISHED, PENDING, PENDING], node=[0, -1, -1])
    problem = Traffic(Instance(small.cluster, small.workload, ended), capacity="slots", reduces="free")
    units = int(max(bundle.settled.max() for job in problem.jobs for bundle in job.bundles))
    none = np.zeros(2, dtype=np.int64)
    assert problem.price_bound(none, np.array([units, 0]), 1) == units
    assert problem.price_bound(none, none, 1) == 0
    assert solve(problem).objective == (5, 0)


def test_bundles_are_alike_in_everything() -> None:
    """Tests that bundles are alike only if they are as many, get as much of each map, and of maps that have ended."""

    def bundle(reduces: int = 1, send: Sequence[int] = (3, 4), settled: Sequence[int] = (5, 0)) -> Bundle:
        return Bundle(np.arange(reduces), np.array(send), np.array(settled))

    def alike(*bundles: Bundle) -> bool:
        return Job("j", np.arange(2), bundles).alike

    assert alike()
    assert alike(bundle())
    assert alike(bundle(), bundle(), bundle())
    for other in (bundle(reduces=2), bundle(send=(4, 3)), bundle(settled=(0, 5))):
        assert not alike(bundle(), other)
        assert not alike(bundle(), bundle(), other)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_prices_bound_counts_every_job_without_reduces(jobs: int) -> None:
    """Tests the bound by hand where jobs have maps alone: with one slot beside all blocks, all maps but one cross.

    Two maps of 10 MB a job; a slot beside the blocks priced as a map's crossing makes every map pay 10, and the one
    slot gives 10 back.
    """
    problem = posed([[0], [0]], reduces=0, slots=[1, 9], jobs=jobs, capacity="slots")
    units = int(problem.map_units.max())
    prices = np.array([units, 0], dtype=np.int64)
    bound = problem.price_bound(prices, np.zeros(2, dtype=np.int64), 1)
    assert bound == (2 * jobs - 1) * units
    assert solve(problem).objective == (10 * (2 * jobs - 1), 2 * jobs - 1)


def test_shares_and_shuffle() -> None:
    """Tests equal shares of all reduces, the sizes of `shuffle` where a job is listed, doubled entries added."""
    problem = posed([[0], [1]], 1.5, reduces=3)
    assert problem.evaluate(problem.placement([0, 1, 0, 0, 0])) == (15, 1)
    workload = replace(problem.instance.workload, shuffle=Shuffle([0, 0, 1], [2, 2, 4], [1, 2, 4], [NAN] * 3))
    listed = Traffic(replace(problem.instance, workload=workload), reduces="free")
    assert listed.evaluate(listed.placement([0, 0, 1, 1, 0])) == (10 + 3, 2)
    assert listed.evaluate(listed.placement([0, 1, 0, 1, 0])) == (4, 1)


def test_tasks_that_run_or_have_ended() -> None:
    """Tests that settled maps send to pending reduces, pending maps to running ones, and ended ones get nothing."""
    cluster = Cluster(["a", "b"], datacenter=[0, 1], datacenter_ids=["east", "west"])
    workload = Workload(
        ["m1", "m2", "r1", "r2", "r3", "lone", "sink"],
        kind=[MAP, MAP, REDUCE, REDUCE, REDUCE, MAP, REDUCE],
        job=[0] * 5 + [-1] * 2,
        job_ids=["j"],
        size=[30, 60, NAN, NAN, NAN, 5, NAN],
        replicas=Ragged.from_rows([[0], [1], [], [], [], [1], []]),
        filter_ratio=[1],
    )
    status = [FINISHED, PENDING, RUNNING, PENDING, FINISHED, PENDING, PENDING]
    state = State.initial(cluster, workload, status=status, node=[0, -1, 0, -1, 1, -1, -1])
    problem = Traffic(Instance(cluster, workload, state))
    assert [job.name for job in problem.jobs] == ["", "j"]
    # m2 sends 20 to r1, which runs in east, and 20 to r2; m1 made 10 for r2 in east.
    assert problem.evaluate(problem.placement([1, 1, 1, 1])) == (20 + 10, 2)
    assert problem.evaluate(problem.placement([0, 0, 1, 0])) == (60, 1)
    assert solve(problem).objective == (30, 2)


def test_missing_fields() -> None:
    """Tests that every absent field is told with its place, and a shuffle across jobs."""
    cluster = Cluster(["a", "b"], datacenter=[0, -1], datacenter_ids=["east"])
    workload = Workload(["m", "n", "r"], kind=[0, 0, 1], job=[0, 0, 0], job_ids=["j"], size=[NAN, 1, NAN])
    state = State.initial(cluster, workload, status=[PENDING, FINISHED, PENDING])
    with pytest.raises(MissingField) as caught:
        Traffic(Instance(cluster, workload, state))
    places = [fault.place for fault in caught.value.faults]
    assert places == ["nodes[1].datacenter", "tasks[0].size", "tasks[1].node", "jobs[0].filter_ratio"]
    apart = Workload(
        ["m", "r"], kind=[0, 1], job=[0, 1], job_ids=["j", "k"], size=[1, NAN], filter_ratio=[1, 1],
        shuffle=Shuffle([0], [1], [1], [NAN]),
    )  # fmt: skip
    with pytest.raises(MissingField, match=r"shuffle\[0\]: traffic needs a map and a reduce of one job"):
        Traffic(Instance(Cluster(["a"], datacenter=[0], datacenter_ids=["east"]), apart))
    assert not Traffic.applies(EMPTY.instance)


def test_numbers_that_are_not_exact() -> None:
    """Tests that decimals and thirds are exact, others rounded once to 2^-20 MB, and totals past 2^53 units refused."""
    problem = posed([[0], [1]], 1.2, size=0.5)
    assert problem.grid == 10
    assert problem.evaluate(problem.placement([0, 1, 0])) == (Fraction(3, 5), 1)
    parted = posed([[0], [1]], 1.0, reduces=3)
    assert parted.grid == 3
    assert parted.evaluate(parted.placement([0, 1, 0, 0, 0])) == (10, 1)
    rounded = posed([[0], [1]], 1 / 7, size=0.5)
    assert rounded.grid == 2**20
    assert rounded.evaluate(rounded.placement([0, 1, 0])) == (Fraction(round(2**19 / 7), 2**20), 1)
    listed = posed([[0], [1]], 0.5, size=[0.1, 1 / 7])
    assert listed.grid == 2**20
    with pytest.raises(InputError, match=r"traffic may total too much, past 2\^53/1048576 MB"):
        posed([[0], [1]], 1 / 7, size=2.0**33 + 0.5)


def test_plainly_infeasible() -> None:
    """Tests what counting alone rules out: too few slots of either kind, none for all reduces of a job, no node."""
    few = posed([[0]] * 3, slots=[1, 1], capacity="slots")
    assert few.plainly_infeasible == "3 maps are pending, and only 2 map slots are idle"
    none = posed([[0]], reduces=2, reduce_slots=[0, 1], capacity="slots")
    assert none.plainly_infeasible == "2 reduces are pending, and only 1 reduce slots are idle"
    parted = posed([[0]], reduces=2, reduce_slots=[1, 1], capacity="slots")
    assert parted.plainly_infeasible == "no datacenter has 2 idle reduce slots, which job j0 needs in one"
    nowhere = posed([[]], nodes=[])
    assert nowhere.plainly_infeasible == "there is no node"
    assert nowhere.cheap_bounds()[0].value == 0
    for problem in (few, none, parted, nowhere):
        for route in ROUTES:
            solution = solve(problem, route=route)
            assert solution.termination is Termination.INFEASIBLE
            assert certify(problem, solution).proved
        assert len(frontier(problem)) == 0
    assert solve(Traffic(parted.instance, capacity="slots", reduces="free")).optimal


def test_false_claims_without_nodes() -> None:
    """Tests that where there is no datacenter prices and cases prove nothing, and do not make the checker stumble."""
    nowhere = posed([[]], nodes=[])
    prices = SlotPrices.none(nowhere)
    for cases in (Cases(prices), Cases(prices, 0)):
        proof = traffic_certificate(nowhere, cases)
        assert proof.claim == 0
        lie = replace(
            solve(nowhere),
            termination=Termination.NO_SOLUTION,
            bound=(1, None),
            certificates=(replace(proof, claim=1),),
        )
        assert not certify(nowhere, lie).valid


def test_infeasible_by_packing() -> None:
    """Tests three pairs of reduces and two slots in each of two datacenters and one in a third: the solver's word."""
    problem = posed([[0]], reduces=2, nodes=[0, 1, 2], reduce_slots=[3, 3, 0], jobs=3, capacity="slots")
    assert problem.plainly_infeasible is None
    for route in ROUTES:
        if route == "brute-force":
            continue
        solution = solve(problem, route=route)
        assert (solution.termination, solution.decision) == (Termination.INFEASIBLE, None)
        assert certify(problem, solution).unproved == ("that there is no feasible placement rests on: solver",)
    assert (len(frontier(problem)), frontier(problem).complete) == (0, True)
    assert solve(Traffic(problem.instance, capacity="slots", reduces="free")).optimal


def test_nothing_to_place() -> None:
    """Tests that without tasks nothing crosses, by every route, proved; also without a node."""
    for problem in (posed([], reduces=0), posed([], reduces=0, nodes=[])):
        for route in ROUTES:
            solution = solve(problem, route=route)
            assert solution.objective == (0, 0)
            assert certify(problem, solution).proved
        assert frontier(problem).complete
        assert frontier(problem).values == [(0, 0)]
        assert (problem.step, problem.least_load) == (1, 0)


def test_offers() -> None:
    """Tests what a policy is offered: idle slots, or as many as there are tasks where slots mean nothing."""
    problem = posed([[0]] * 2, slots=[1, 3], reduce_slots=[2, 0], capacity="slots")
    assert {kind: slots.tolist() for kind, slots in problem.offered.items()} == {"map": [1, 3], "reduce": [2, 0]}
    free = posed([[0]] * 2, slots=[1, 3])
    assert {kind: slots.tolist() for kind, slots in free.offered.items()} == {"map": [2, 2], "reduce": [1, 1]}
    assert (problem.due, free.due) == (3, 3)


def test_placed_in_spreads_over_slots() -> None:
    """Tests that tasks of a datacenter go to its nodes in turn, and only where there are slots."""
    problem = posed([[0]] * 4, nodes=[0, 0, 0, 1], slots=[1, 0, 3, 1], capacity="slots")
    placement = problem.placed_in(np.array([0, 0, 0, 1]), np.array([1]))
    assert problem.nodes_of(placement).tolist() == [0, 2, 2, 3, 3]


def test_locality_counts() -> None:
    """Tests maps on a replica's node, in its datacenter, and elsewhere."""
    problem = posed([[0], [1], [2], []], nodes=[0, 0, 1])
    counts = problem.locality_counts(problem.placement([0, 0, 0, 0, 0]))
    assert counts == {"node": 1, "datacenter": 1, "remote": 2}
    near = posed([[0], [0], [1], [2]], nodes=[0, 0, 1])
    assert near.locality_counts(near.placement([0, 0, 0, 0, 0])) == {"node": 2, "datacenter": 1, "remote": 1}


# Bounds and certificates -------------------------------------------------------------------------------------------


def test_prices_of_any_size() -> None:
    """Tests prices by hand: two maps want one slot; 10 leaves a gap that cases close; negative prices count as none."""
    problem = posed([[0], [0]], 0.5, slots=[1, 9], capacity="slots")
    free = np.zeros(2, dtype=np.int64)
    assert problem.price_bound(free, free, 1) == 0
    assert problem.price_bound(np.array([10, 0]), free, 1) == 10
    assert problem.price_bound(np.array([15, 0]), free, 1, hosts={0: 0}) == 15
    assert problem.price_bound(np.array([5, 0]), free, 1, hosts={0: 1}) == 15
    assert problem.price_bound(np.array([-15, 0]), free - 1, 1) == 0
    assert problem.price_bound(np.array([10 * 2**58, 0]), free, 2**58) == 10  # past int64
    assert problem.price_bound(free, free, 1, limit=0) == 0
    solution = solve(problem)
    assert (solution.objective, str(solution.certificate)) == ((15, 1), "dual")


@pytest.mark.parametrize("route", ROUTES)
def test_single_bytes(route: str) -> None:
    """Tests that traffic which differs by less than a solver's tolerance in MB, 2^-20, is told apart by every route."""
    sizes = [4 * 2.0**-20, 5 * 2.0**-20, 2 * 2.0**-20, 0.0]
    blocks, nodes = [[1, 2], [0], [], [1, 3]], [0, 0, 1, 1]
    problem = posed(blocks, 3.0, 1, nodes, sizes, [1, 1, 2, 3], [3, 2, 1, 2], capacity="slots")
    assert solve(problem, route=route).objective == (Fraction(7, 2**20), 3)


def test_step() -> None:
    """Tests that bounds are rounded up to what placements can cause at all."""
    problem = posed([[0], [0], [0]], 0.5, slots=[1, 9], capacity="slots", size=20.0)
    assert problem.step == 10
    assert problem.price_bound(np.array([9, 0]), np.zeros(2, dtype=np.int64), 1) == 20


def test_proof_by_cases() -> None:
    """Tests that where prices leave a gap, a job's datacenters are gone through one by one, and the checker agrees."""
    search = traffic_search(EMPTY, load_profile("exact"))
    assert search.priced(5).proved == 30
    proof = search.proof(5, 31)
    assert proof is not None
    assert proof.bundle == 0
    assert proof.bound(EMPTY, 5) >= 31
    certificate = load_certificate(EMPTY, 5, proof)
    assert certificate.data["reduce"] == "j0r0"
    assert proved_bound(EMPTY, certificate, (30, 6)) == 6
    assert proved_bound(EMPTY, certificate, (99, 6)) == EMPTY.least_load == 2
    assert search.proof(5, 33) is None  # it is false
    without = {**certificate.data, "in": {}}
    assert proved_bound(EMPTY, replace(certificate, data=without), (30, 6)) <= 6


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"map_prices": {}, "reduce_prices": {}, "scale": 0}, "scale: must be above 0, not 0"),
        ({"map_prices": {}, "reduce_prices": {}}, "scale: must be an integer"),
        ({"reduce_prices": {}, "scale": 1}, "map_prices: must be an object"),
        ({"map_prices": {"d7": 1}, "reduce_prices": {}, "scale": 1}, 'map_prices: there is no datacenter "d7"'),
        ({"map_prices": {"d1": 0.5}, "reduce_prices": {}, "scale": 1}, "d1: must be an integer"),
        ({"map_prices": {"x": 1}, "reduce_prices": {}, "scale": 1}, 'map_prices: there is no datacenter "x"'),
        ({"map_prices": {}, "reduce_prices": {}, "scale": 1, "reduce": 3}, "reduce: 3 is not the first"),
        ({"map_prices": {}, "reduce_prices": {}, "scale": 1, "reduce": "j0m0"}, "reduce: 'j0m0' is not the first"),
        ({"map_prices": {}, "reduce_prices": {}, "scale": 1, "reduce": "j0r0"}, "in: must be an object"),
        (
            {"map_prices": {}, "reduce_prices": {}, "scale": 1, "reduce": "j0r0", "in": {"d1": {}}},
            "scale: must be an integer",
        ),
    ],
)
def test_malformed_certificates(data: dict[str, Any], told: str) -> None:
    """Tests that certificates of a wrong form are told, each with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(told)):
        proved_bound(EMPTY, Certificate("traffic", Proof.DUAL, 30, data))


def test_certificates_that_are_too_deep() -> None:
    """Tests that nesting without end is told, not followed."""
    leaf: dict[str, Any] = {"map_prices": {}, "reduce_prices": {}, "scale": 1}
    data = leaf
    for _ in range(102):
        data = {**leaf, "reduce": "j0r0", "in": {"d0": data}}
    with pytest.raises(CertificateInvalid, match="in: there are cases within more than 100 others"):
        proved_bound(EMPTY, Certificate("traffic", Proof.DUAL, 30, data))


def test_proofs_of_the_load() -> None:
    """Tests that counting proves the even spread, and that more needs the traffic of a placement."""
    free = Cases(SlotPrices.none(EMPTY))
    assert proved_bound(EMPTY, load_certificate(EMPTY, 1, free)) == 2
    with pytest.raises(
        CertificateInvalid, match="limit: a proof of the load takes the traffic of a placement as given"
    ):
        proved_bound(EMPTY, load_certificate(EMPTY, 5, free))
    with pytest.raises(CertificateInvalid, match="limit: must be an integer"):
        proved_bound(EMPTY, replace(traffic_certificate(EMPTY, free), component="load"))


def test_false_claims() -> None:
    """Tests that each false claim is caught: more traffic or load than is proved, another value, a wrong ending."""
    solution = solve(EMPTY)
    verdict = certify(EMPTY, solution)
    assert verdict.proved
    traffic, load = solution.certificates
    lies = [
        replace(solution, bound=(30, 7), certificates=(traffic, replace(load, claim=7))),
        replace(solution, objective=(29, 6)),
        replace(solution, decision=EMPTY.placement([0] * 7)),
        replace(solution, bound=(31, 6), certificates=(replace(traffic, claim=31), load)),
        replace(solution, termination=Termination.FEASIBLE),
        replace(solution, certificates=(traffic, replace(load, data={**load.data, "in": {}}))),
        replace(solution, certificates=(traffic, replace(load, data={**load.data, "limit": 4}))),
    ]
    assert [certify(EMPTY, lie).valid for lie in lies] == [False] * len(lies)


# Agreement ---------------------------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn, **fixed: str) -> Traffic:
    """Up to 5 tasks on 3 nodes in 3 datacenters: fractions, shuffles, tasks that run, tight slots, all parameters."""
    centers = draw(st.integers(1, 3))
    nodes = draw(st.integers(centers, 3))
    tasks = draw(st.integers(0, 5 if nodes < 3 else 4))

    def column(entry: st.SearchStrategy[Any], length: int = tasks) -> list[Any]:
        return draw(st.lists(entry, min_size=length, max_size=length))

    kind = column(st.sampled_from([MAP, MAP, REDUCE]))
    job = column(st.sampled_from([0, 0, 1, -1]))
    status = column(st.sampled_from([PENDING] * 4 + [RUNNING, FINISHED]))
    unit = draw(st.sampled_from([1.0, 0.5, 0.1]))
    rows = column(st.lists(st.integers(0, nodes - 1), unique=True, max_size=2))
    pairs = [
        (one, other)
        for one, other in itertools.product(range(tasks), repeat=2)
        if (kind[one], kind[other]) == (MAP, REDUCE) and job[one] == job[other] >= 0
    ]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=4)) if pairs else []
    shuffle = None
    if chosen:
        sizes = np.array(column(st.integers(0, 9), len(chosen))) * unit
        ends = np.array(chosen)
        shuffle = Shuffle(ends[:, 0], ends[:, 1], sizes, np.full(len(chosen), NAN))
    cluster = Cluster(
        ["n 1", "n_1", "4"][:nodes],
        datacenter=[*range(centers), *column(st.integers(0, centers - 1), nodes - centers)],
        datacenter_ids=["d-1", "d_1", "D 1"][:centers],
        slots=[2] * nodes,
        reduce_slots=[2] * nodes,
    )
    workload = Workload(
        ["t-1", "t_1", "T 1", "e5", "5"][:tasks],
        kind=kind,
        job=job,
        job_ids=["j", "k"],
        replicas=Ragged.from_rows(rows),
        size=np.array(column(st.integers(0, 6))) * unit,
        filter_ratio=column(st.sampled_from([0.0, 0.5, 1.0, 1.2, 2.0]), 2),
        shuffle=shuffle,
    )
    state = State.initial(
        cluster,
        workload,
        status=status,
        node=[draw(st.integers(0, nodes - 1)) if entry != PENDING else -1 for entry in status],
        idle_slots=column(st.integers(0, 2), nodes),
        idle_reduce_slots=column(st.integers(0, 2), nodes),
    )
    chosen_parameters = {
        "capacity": draw(st.sampled_from(["none", "slots"])),
        "reduces": draw(st.sampled_from(["together", "free"])),
    }
    return Traffic(Instance(cluster, workload, state), **{**chosen_parameters, **fixed})


def check_agreement(problem: Traffic) -> None:
    """Every route finds the enumerated optimum or infeasibility, certifies, and no bound is beyond it."""
    points = front(problem)
    for route in routes_of(problem):
        solution = solve(problem, route=route)
        assert certify(problem, solution).valid, route
        assert solution.objective == (points[0] if points else None), route
        assert solution.termination is (Termination.OPTIMAL if points else Termination.INFEASIBLE), route
    if points:
        for bound, best in zip(bounds(problem), (points[0][0], min(value[1] for value in points)), strict=True):
            assert bound.value <= best
    found = frontier(problem)
    assert found.complete
    if len(problem.tasks):
        assert found.values == points
        for point in found:
            assert problem.evaluate(point.placement) == point.objective


def test_agreement() -> None:
    """Tests that all routes, models and the frontier agree with enumeration on 60 instances."""
    settings(max_examples=60)(given(problems())(check_agreement))()


@pytest.mark.thorough
def test_agreement_at_length() -> None:
    """Tests the same on 250 instances."""
    settings(max_examples=250)(given(problems())(check_agreement))()


@given(problems(capacity="none"))
@settings(max_examples=60)
def test_together_is_no_restriction_without_capacities(problem: Traffic) -> None:
    """Tests Sharmilarani et al., note 9: without capacities, and with equal shares, reduces of a job stay together."""
    workload = replace(problem.instance.workload, shuffle=None)
    instance = replace(problem.instance, workload=workload)
    together, free = (Traffic(instance, capacity="none", reduces=reduces) for reduces in ("together", "free"))
    best = solve(together).objective
    assert best is not None
    assert front(free)[0][0] == best[0] == together.cheap_bounds()[0].value == free.cheap_bounds()[0].value


@given(problems(), st.data())
@settings(max_examples=80)
def test_any_prices_bound(problem: Traffic, data: st.DataObject) -> None:
    """Tests weak duality: whatever prices, scale, limit and hosts, the bound is not beyond the enumerated optimum."""
    if not problem.datacenters or problem.plainly_infeasible:
        return
    centers = len(problem.datacenters)
    column = st.lists(st.integers(-2, 9), min_size=centers, max_size=centers)
    limit = data.draw(st.sampled_from([None, 1, 2]))
    maps, reduces = (np.array(data.draw(column), dtype=np.int64) for _ in range(2))
    scale = data.draw(st.sampled_from([1, 3, 2**20]))
    bound = problem.price_bound(maps, reduces, scale, limit)
    within = [value for value in front(problem) if limit is None or value[1] <= limit]
    if within:
        assert bound <= within[0][0] * problem.grid
    if problem.bundles:
        cases = [problem.price_bound(maps, reduces, scale, limit, {0: center}) for center in range(centers)]
        assert not within or min(cases) <= within[0][0] * problem.grid


# Metamorphic laws --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_laws(seed: int) -> None:
    """Tests the laws: order means nothing, sizes scale, a slot or replica more never hurts, free is never worse."""
    instance = generate("traffic", seed, nodes=9, tasks=24, datacenters=3, jobs=4, spare=0.25)
    best = solve(Traffic(instance, capacity="slots")).objective
    assert best is not None
    workload, cluster = instance.workload, instance.cluster
    order = np.random.default_rng(seed).permutation(len(workload))
    shuffled = replace(
        workload,
        task_ids=workload.task_ids[order],
        job=workload.job[order],
        kind=workload.kind[order],
        replicas=workload.replicas.take(order),
        size=workload.size[order],
        **dict.fromkeys(("rate_in", "bytes_read", "duration"), np.full(len(order), NAN)),
        observed=np.full(len(order), -1),
    )
    assert solve(Traffic(Instance(cluster, shuffled), capacity="slots")).objective == best
    double = Instance(cluster, replace(workload, size=workload.size * 2))
    assert solve(Traffic(double, capacity="slots")).objective == (2 * best[0], best[1])
    roomy = Instance(replace(cluster, slots=cluster.slots + 1, reduce_slots=cluster.reduce_slots + 1), workload)
    more = solve(Traffic(roomy, capacity="slots")).objective
    free = solve(Traffic(instance, capacity="slots", reduces="free")).objective
    unlimited = solve(Traffic(instance)).objective
    assert more is not None
    assert free is not None
    assert unlimited is not None
    assert unlimited[0] <= more[0] <= best[0]
    assert free[0] <= best[0]
    rows = [sorted({*row.tolist(), 0}) for row in workload.replicas]
    near = Instance(cluster, replace(workload, replicas=Ragged.from_rows(rows)))
    nearer = solve(Traffic(near, capacity="slots")).objective
    assert nearer is not None
    assert nearer[0] <= best[0]


def test_unlimited_optimum_piles_up() -> None:
    """Tests that least traffic puts all maps into one datacenter, and the frontier shows what spreading them costs."""
    traffic = Traffic(load(folder("instances") / "papers" / "joss-pile-up.json"))
    found = frontier(traffic)
    assert found.values == [(90 + 10 * moved, 12 - moved) for moved in range(10)]
    assert {str(point.certificate) for point in found} == {"dual"}
    for before, point in itertools.pairwise(found):
        first, second = point.certificates
        just_less = (point.objective[0] - Fraction(1, traffic.grid), before.objective[1])
        assert proved_bound(traffic, first, just_less) == before.objective[1]
        assert proved_bound(traffic, second, point.objective) == point.objective[1]


# Search, limits and disagreement -----------------------------------------------------------------------------------


def test_start_is_kept() -> None:
    """Tests that a start is at least as good as what is answered, at any limit."""
    best = solve(EMPTY)
    assert best.decision is not None
    for route in ROUTES:
        stopped = solve(EMPTY, replace(load_profile("exact"), node_limit=0), start=best.decision, route=route)
        assert stopped.objective == best.objective
        assert certify(EMPTY, stopped).valid


@pytest.mark.parametrize(
    ("word", "claim", "kind"), [(None, 30, "dual"), (33.0, 34, "solver"), (12.0, 30, "dual"), (36.0, 36, "solver")]
)
def test_bound_at_a_limit(word: float | None, claim: int, kind: str) -> None:
    """Tests that at a limit the better of the prices' bound and the solver's, rounded up to a step, is claimed."""
    problem = posed([[1]] * 3 + [[2]] * 3, 1.2, nodes=[0, 1, 2], slots=[4, 4, 4], capacity="slots")
    search = traffic_search(problem, load_profile("exact"))
    search.decide = lambda *_: (
        SolverOutcome(Termination.NO_SOLUTION, Limit.NODES, None, word, "stopped", 0.0, 0),
        None,
    )
    search.shortcuts = False
    known = search.at(None)
    assert not known.closed
    assert search.stopped is Limit.NODES
    certificate = search.traffic_certificate(known)
    priced = search.priced(None).proved
    assert certificate.claim == (max(claim, priced) if kind == "solver" else priced)


def test_search_that_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a load, and a frontier, of which nothing more is known are told as open, with what cut them short."""
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.NODES, None, None, "stopped", 0.0, 0)
    monkeypatch.setattr(engine, "by_arrays", lambda *_: (stopped, None))
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


@pytest.mark.parametrize(("seed", "held"), [(1, True), (3, True), (10, False)])
def test_held_before_branch_and_bound(seed: int, held: bool) -> None:
    """Tests that where the relaxation parts bundles a placement near it is held, at best the optimum (seeds 1 and 3).

    Seed 10 has none at all.
    """
    drawn = generate("traffic", seed, nodes=9, tasks=30, datacenters=3, jobs=5, spare=0.1)
    search = traffic_search(Traffic(drawn, capacity="slots"), load_profile("exact"))
    known = search.priced(None)
    assert engine.best_apart(search.problem) is None
    assert not known.closed
    assert (known.placement is not None) == held == search.at(None).feasible
    assert known.units == search.at(None).units


@pytest.mark.parametrize("when", ["relaxation", "program"])
def test_interrupt(monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Tests that an interrupt keeps what is held and proved."""
    problem = posed([[1]] * 3 + [[2]] * 3, 1.2, nodes=[0, 1, 2], slots=[4, 4, 4], capacity="slots")
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.INTERRUPTED, None, None, "interrupted", 0.0, 0)
    if when == "program":
        monkeypatch.setattr(engine, "by_arrays", lambda *_: (stopped, None))
    else:
        answer = engine.ArraySolution(stopped, None, None, None)
        monkeypatch.setattr(engine, "solve_arrays", lambda *_: answer)
    solution = solve(problem, route="arrays")
    assert (solution.termination, solution.limit) == (Termination.NO_SOLUTION, Limit.INTERRUPTED)
    assert certify(problem, solution).valid


def test_wrong_solver_is_caught() -> None:
    """Tests that what a solver holds or says is checked: infeasible placements, false figures, false infeasibility."""
    done = SolverOutcome(Termination.OPTIMAL, None, 31.0, 31.0, "done", 0.0, 0)
    gone = SolverOutcome(Termination.INFEASIBLE, None, None, None, "infeasible", 0.0, 0)
    for outcome, placement, told in (
        (done, EMPTY.placement([1] * 7), "the solver says 31.0, the placement is worth 30.0"),
        (done, EMPTY.placement([-1] * 7), "a solver holds a placement that violates every-task-placed"),
        (gone, None, "a solver says that nothing is feasible; it is"),
    ):
        search = traffic_search(EMPTY, load_profile("exact"), start=EMPTY.placement([1] * 7), route="arrays")
        search.decide = lambda *_, outcome=outcome, placement=placement: (outcome, placement)
        with pytest.raises(SolverDisagreement, match=told):
            search.at(None)


def test_fractions_of_maps_are_made_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that maps which a solver leaves in parts are placed anew, with the reduces where it has them."""
    problem = posed([[1]] * 2 + [[2]] * 2, 1.0, nodes=[0, 1, 2], slots=[2, 2, 2], capacity="slots")
    program = engine.TrafficProgram(problem, None)
    x = program.values(problem.placement([1, 1, 2, 2, 1]))
    assert program.whole(x)
    parted = x.copy()
    parted[3:9] = 2 / 3
    calls: list[Any] = []

    def once(given: Any, profile: Profile, start: Any = None) -> Any:
        calls.append(given)
        found = real(given, profile, start)
        return replace(found, x=parted) if len(calls) == 1 else found

    real = engine.solve_arrays
    monkeypatch.setattr(engine, "solve_arrays", once)
    search = engine.TrafficSearch(problem, load_profile("exact"))
    outcome, placement = engine.by_arrays(search, None, load_profile("exact"), None)
    assert placement is not None
    assert len(calls) == 2
    assert problem.evaluate(placement)[0] == outcome.objective == 20
    monkeypatch.setattr(engine, "solve_arrays", lambda *_: replace(real(program.relaxed, Profile("exact")), x=parted))
    with pytest.raises(SolverDisagreement, match="no vertex"):
        engine.by_arrays(search, None, load_profile("exact"), None)


def test_prices_beyond_doubles() -> None:
    """Tests that duals too large to be exact make no prices."""
    program = engine.TrafficProgram(EMPTY, None)
    assert list(program.prices(np.full(99, -1e300))) == []


# Models ------------------------------------------------------------------------------------------------------------


def test_models_refuse() -> None:
    """Tests the messages where there is nothing to model, too much, or a limit that is none."""
    module = models.module("traffic")
    for build in (module.build_pyomo, module.build_pulp):
        with pytest.raises(UsageError, match="3 maps are pending, and only 2 map slots are idle"):
            build(posed([[0]] * 3, slots=[1, 1], capacity="slots"))
        with pytest.raises(UsageError, match="limit=-1: give a whole number of maps"):
            build(EMPTY, limit=-1)
    with pytest.raises(TooLarge, match="39 variables"):
        module.build_pulp(EMPTY, max_variables=38)
    size, model = module.literal_size(EMPTY), module.build_pulp(EMPTY)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)


def test_classes() -> None:
    """Tests that equal maps are one class of the compact model, and that `aggregate=False` keeps them apart."""
    module = models.module("traffic")
    model = module.build_pyomo(EMPTY)
    assert model.members["j0m0"] == ("j0m0", "j0m1", "j0m2")
    assert (len(model.CLASSES), len(module.build_pyomo(EMPTY, aggregate=False).CLASSES)) == (2, 6)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_models_agree_beyond_enumeration(seed: int) -> None:
    """Tests that models and arrays agree on the least traffic where nothing can be enumerated."""
    instance = generate("traffic", seed, nodes=12, tasks=40, datacenters=4, jobs=5, smallest=1, spare=0.1)
    for reduces in ("together", "free"):
        posed_again = Traffic(instance, capacity="slots", reduces=reduces)
        values = {solve(posed_again, route=route).objective for route in ("search", "arrays", "pyomo")}
        assert len(values) == 1


def test_bug_least_load_did_not_look_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a deadline at the first, second, ... look: what is held and proved, and no placement sought twice."""
    problem = Traffic(generate("traffic", nodes=12, tasks=40, jobs=4, datacenters=4))
    best = solve(problem)
    assert best.objective is not None
    limits, sought, apart = [], [], engine.best_apart
    monkeypatch.setattr(engine, "best_apart", lambda posed: sought.append(1) or apart(posed))
    for looks in (0, 1, 2, 3, 5, 8, 60):
        clock = itertools.count()
        with monkeypatch.context() as patched:
            patched.setattr("optsched.deadline.time", SimpleNamespace(monotonic=lambda clock=clock: next(clock)))
            with deadline(looks):
                solution = solve(problem)
        assert solution.objective is not None
        assert solution.objective >= best.objective
        assert all(bound is None or bound <= most for bound, most in zip(solution.bound, best.objective, strict=True))
        assert certify(problem, solution).valid
        limits.append(solution.limit)
    assert len(sought) == len(limits)
    assert limits[0] is Limit.TIME
    assert limits[-1] is None
