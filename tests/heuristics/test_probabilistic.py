"""Shen et al.'s scheduler: probabilities, readings of Algorithms 1 and 2, starvation, coupling, and P_min's rule."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from policy_cases import barred_case, equal_costs, first_answers, first_view
from transmission_instances import example

from optsched.core.errors import UsageError
from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, State, Topology, Workload
from optsched.heuristics import run
from optsched.heuristics.probabilistic import (
    FORMS,
    GRID,
    LIVENESS_LIMIT,
    CouplingPolicy,
    LeastCostPolicy,
    ProbabilisticPolicy,
    Trial,
    liveness_limit,
    probability,
    tune_p_min,
)
from optsched.heuristics.running.base import Offer, View
from optsched.heuristics.running.driver import Answer, drive
from optsched.heuristics.simulating import Levels, simulate
from optsched.instances.files import load
from optsched.instances.generate import generate
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces

#: Hops where there are racks and no links.
HOPS_OF_RACKS = {"node": 0, "rack": 2, "off_rack": 4}


class TestProbability:
    """Equations (4) and (5)."""

    def test_worked_example(self) -> None:
        """Tests the table with all four nodes free: M1's average is 448, M2's 576."""
        problem = TransmissionMaps(example())
        costs = problem.class_units[problem.classes().of_task].astype(float)
        averages = costs.mean(axis=1)
        assert averages.tolist() == [448, 576]
        found = probability(costs, averages[:, None] * np.ones(4))
        assert found.round(4).tolist() == [[1, 0.5831, 0.8262, 0.3544], [0.6753, 1, 0.3624, 0.6753]]

    def test_nothing_to_move_is_certain(self) -> None:
        """Tests 0/0, which is 1 as any cost of 0 is (Shen et al. 2016, note 8), and that no average is impossible."""
        assert probability(np.array([0.0, 0.0, 4.0]), np.array([0.0, 5.0, 0.0])).tolist() == [1, 1, 0]

    def test_other_forms(self) -> None:
        """Tests each form by hand at a quarter of the average, the average, 3/2 of it and twice it, and at no cost."""
        costs, average = np.array([0.0, 2.0, 8.0, 12.0, 16.0]), np.full(5, 8.0)
        forms = {name: probability(costs, average, name).tolist() for name in ("harmonic", "linear", "step")}
        assert forms["harmonic"] == pytest.approx([1, 4 / 5, 1 / 2, 2 / 5, 1 / 3])
        assert forms["linear"] == pytest.approx([1, 7 / 8, 1 / 2, 1 / 4, 0])
        assert forms["step"] == [1, 1, 1, 0, 0]
        for name in FORMS:
            assert probability(np.array([0.0, 0.0, 4.0]), np.array([0.0, 5.0, 0.0]), name).tolist() == [1, 1, 0]


class TestMaps:
    """Algorithm 1."""

    def test_takes_the_highest_probability_with_that_probability(self) -> None:
        """Tests D3, where M1 has P = .8262 and M2 .3624: M1 or nobody, at the rate of P (4 sigma)."""
        counted = first_answers(TransmissionMaps(example()), ProbabilisticPolicy(0.4), 2, "map", 2000)
        assert set(counted) == {(0,), ()}
        assert counted[(0,)] / 2000 == pytest.approx(0.8262, abs=4 * 0.0085)

    def test_takes_with_the_probability_of_a_form(self) -> None:
        """Tests D3 again, where M1 costs 256 of average 448: 7/11 harmonic, 5/7 linear, always by a step (4 sigma)."""
        for form, chance in (("harmonic", 7 / 11), ("linear", 5 / 7)):
            counted = first_answers(TransmissionMaps(example()), ProbabilisticPolicy(0.4, form=form), 2, "map", 1000)
            assert counted[(0,)] / 1000 == pytest.approx(chance, abs=4 * 0.0153)
        assert first_answers(TransmissionMaps(example()), ProbabilisticPolicy(form="step"), 2, "map") == {(0,): 400}

    def test_threshold(self) -> None:
        """Tests D4, where M2's .6753 is the best: taken up to that threshold, and never beyond."""
        problem = TransmissionMaps(example())
        assert first_answers(problem, ProbabilisticPolicy(0.675), 3, "map")[(1,)] > 200
        assert first_answers(problem, ProbabilisticPolicy(0.676), 3, "map") == {(): 400}

    def test_local_maps_start_at_once(self) -> None:
        """Tests that a map on its block has P = 1, whatever the threshold."""
        assert first_answers(TransmissionMaps(example()), ProbabilisticPolicy(1.0), 0, "map", 50) == {(0,): 50}

    def test_least_cost_is_not_highest_probability(self) -> None:
        """Tests Shen et al. 2016, note 7: A at 10 of average 10 has P = .632, B at 20 of average 60 has .950."""
        distance = [[0.0] * 4, [0.0] * 4, [10.0, 10.0, 0.0, 0.0], [100.0, 20.0, 0.0, 0.0]]
        cluster = Cluster(["n0", "n1", "a", "b"], topology=Topology("distance", distance))
        workload = Workload(["A", "B"], size=[1.0, 1.0], replicas=Ragged.from_rows([[2], [3]]))
        state = State.initial(cluster, workload, idle_slots=[1, 1, 0, 0])
        problem = TransmissionMaps(Instance(cluster, workload, state))
        assert problem.class_units.tolist() == [[10, 10], [100, 20]]
        assert set(first_answers(problem, ProbabilisticPolicy(0.9), 1, "map")) == {(1,), ()}
        assert set(first_answers(problem, ProbabilisticPolicy(0.6, select="min_cost"), 1, "map")) == {(0,), ()}
        assert first_answers(problem, ProbabilisticPolicy(0.7, select="min_cost"), 1, "map") == {(): 400}
        assert first_answers(problem, LeastCostPolicy(), 1, "map") == {(0,): 400}


class TestJobs:
    """Which job is asked."""

    def test_fewest_running_tasks_first(self) -> None:
        """Tests that the job that runs least is asked alone, or with `each` the others after it."""
        distance = [[0.0, 9.0, 9.0], [9.0, 0.0, 1.0], [9.0, 1.0, 0.0]]
        cluster = Cluster(["a", "b", "c"], topology=Topology("distance", distance))
        jobs = {"job": [0, 1, 1], "job_ids": ["idle", "served"], "size": [1.0] * 3}
        workload = Workload(["t0", "t1", "t2"], **jobs, replicas=Ragged.from_rows([[1], [0], [0]]))
        state = State.initial(cluster, workload, status=[0, 0, 1], node=[-1, -1, 2], idle_slots=[1, 0, 1])
        problem = TransmissionMaps(Instance(cluster, workload, state))
        # On node a the first job's map costs 9, on c 1: P = 1 - exp(-5/9) = .426.
        assert first_answers(problem, ProbabilisticPolicy(0.5), 0, "map") == {(): 400}
        assert first_answers(problem, ProbabilisticPolicy(0.5, jobs="each"), 0, "map") == {(1,): 400}

    def test_a_barred_job_blocks_nobody(self) -> None:
        """Tests that a reduce slot goes to the next job where the first runs a reduce on the node (line 1)."""
        hops = {"node": 0.0, "rack": 1.0, "off_rack": 2.0}
        cluster = Cluster(["a", "b"], reduce_slots=[2, 1], topology=Topology("hops", hops=hops))
        jobs = {"kind": [MAP] + [REDUCE] * 5, "job": [0, 0, 0, 1, 1, 1], "job_ids": ["j0", "j1"], "size": [1.0] * 6}
        workload = Workload(["m", "r0", "r1", "r2", "r3", "r4"], **jobs, shuffle=Shuffle([0], [1], [1.0]))
        state = State.initial(cluster, workload, status=[2, 1, 0, 1, 1, 0], node=[1, 0, -1, 1, 1, -1])
        problem = TransmissionReduces(Instance(cluster, workload, state))
        assert first_answers(problem, ProbabilisticPolicy(), 0, "reduce") == {(5,): 400}
        assert first_answers(problem, LeastCostPolicy(), 1, "reduce") == {(2,): 400}
        shared = TransmissionReduces(problem.instance, distinct=False)
        assert first_answers(shared, LeastCostPolicy(), 0, "reduce") == {(2,): 400}


class TestReduces:
    """Algorithm 2."""

    def test_worked_example(self) -> None:
        """Tests D3 after M1 on D3 and M2 on D2, all free: R1 costs [100, 100, 200, 140], R2 half: a tie in P."""
        problem = TransmissionReduces(example((2, 1)))
        counted = first_answers(problem, ProbabilisticPolicy(0.4, sizes="actual"), 2, "reduce", 2000)
        assert set(counted) == {(2,), (3,), ()}
        chance = 1 - np.exp(-135 / 200)
        assert 1 - counted[()] / 2000 == pytest.approx(chance, abs=4 * 0.0112)

    def test_barred_node_starves(self) -> None:
        """Tests Shen et al. 2016, note 9, at its own P_min: P = 1 - exp(-1/2) = .393, so R2 waits for ever on D2."""
        problem = barred_case()
        run = drive(problem, ProbabilisticPolicy(), max_idle_rounds=25)
        assert (run.starved, run.rounds, run.placement.placed) == (True, 25, 0)
        assert not drive(problem, ProbabilisticPolicy(0.39)).starved

    def test_average_over_eligible_nodes_does_not(self) -> None:
        """Tests that without the barred node P is 1 - 1/e, and the reduce starts."""
        problem = barred_case()
        for seed in range(20):
            run = drive(problem, ProbabilisticPolicy(average="eligible"), seed)
            assert not run.starved
            assert problem.evaluate(run.placement) == (5,)
        assert drive(problem, ProbabilisticPolicy(0.633, average="eligible")).starved

    def test_estimates_decide(self) -> None:
        """Tests Shen et al.'s example of estimates: by emitted sizes the reduce is dear beside M2, else beside M1."""
        problem = TransmissionReduces(load("papers/pna-estimate"))
        chances = {"emitted": (1.0, 5.0), "extrapolated": (10.0, 50 / 9), "actual": (10.0, 5.5)}  # cost on a, on b
        for sizes, costs in chances.items():
            for node, cost in enumerate(costs):
                chance = -np.expm1(-sum(costs) / 2 / cost)
                below, above = (ProbabilisticPolicy(chance + step, sizes=sizes) for step in (-1e-9, 1e-9))
                assert first_answers(problem, below, node, "reduce", 60)[(2,)] > 0
                assert first_answers(problem, above, node, "reduce", 60) == {(): 60}


class TestStarvation:
    """A policy that would wait for ever is given up after so many rounds."""

    def test_equal_costs_beyond_the_limit(self) -> None:
        """Tests that equal costs everywhere starve for any P_min above 1 - 1/e, and for none up to it."""
        problem = equal_costs()
        beyond = drive(problem, ProbabilisticPolicy(0.6322), max_idle_rounds=40)
        assert (beyond.starved, beyond.rounds, beyond.idle_slot_time) == (True, 40, 120)
        for seed in range(20):
            assert not drive(problem, ProbabilisticPolicy(1 - np.exp(-1)), seed).starved


#: Rates, distances and links that hops alone tell as these.
KNOWN_AS = [
    (Topology("rate", np.array([[9.0, 1, 50], [2, 9, 7], [4, 8, 9]])), Topology("hops", hops=HOPS_OF_RACKS)),
    (Topology("distance", np.array([[0.0, 9, 1], [9, 0, 3], [1, 3, 0]])), Topology("hops", hops=HOPS_OF_RACKS)),
    (
        Topology("links", links=(("n1", "s", 10), ("n2", "s", 1), ("s", "t", 5), ("n3", "t", 100))),
        Topology("distance", np.array([[0.0, 2, 3], [2, 0, 3], [3, 3, 0]])),
    ),
    (Topology("hops", hops={"node": 0, "rack": 1, "off_rack": 9}),) * 2,
]


@pytest.mark.parametrize("name", ["probabilistic", "least-cost"])
@pytest.mark.parametrize(("topology", "known"), KNOWN_AS)
def test_a_policy_that_knows_hops_alone(name: str, topology: Topology, known: Topology) -> None:
    """Tests, on a snapshot and over time, that it decides as one does on an instance with these hops."""
    drawn = generate("transmission", nodes=3, racks=2, tasks=9, jobs=2, seed=3)
    there, as_known = (replace(drawn, cluster=replace(drawn.cluster, topology=one)) for one in (topology, known))
    for seed in range(4):
        placed = run(Transmission(there), name, seed=seed, distances="hops").placement
        assert placed == run(Transmission(as_known), name, seed=seed).placement
        ran = simulate(there, name, Levels(duration=5), seed=seed, distances="hops")
        assert ran.record.tolist() == simulate(as_known, name, Levels(duration=5), seed=seed).record.tolist()


HOPS = Topology("hops", hops={"node": 0.0, "rack": 2.0, "off_rack": 4.0})


def test_chances_of_maps() -> None:
    """Tests that a map starts always on its block, with `p_rack` in its rack, with `p_off` beyond (4 sigma)."""
    cluster = Cluster(["a", "b", "c", "d"], rack=[0, 0, 1, -1], rack_ids=["r1", "r2"], topology=HOPS)
    problem = TransmissionMaps(Instance(cluster, Workload(["t"], size=[1.0], replicas=Ragged.from_rows([[0]]))))
    for node, chance in ((0, 1.0), (1, 0.8), (2, 0.5), (3, 0.5)):
        share = first_answers(problem, CouplingPolicy(), node, "map", 2000)[(0,)] / 2000
        assert share == pytest.approx(chance, abs=4 * 0.0112 if chance < 1 else 0)


def test_any_map_of_the_job_is_drawn() -> None:
    """Tests that the map is drawn before anybody looks at its locality."""
    counted = first_answers(TransmissionMaps(example()), CouplingPolicy(), 0, "map", 1000)
    assert counted[(0,)] / 1000 == pytest.approx(0.5, abs=4 * 0.0158)
    assert counted[(1,)] / 1000 == pytest.approx(0.25, abs=4 * 0.0137)  # no racks: off-rack, half of the time


def staged(running: int, finished: int, maps: int = 4, reduces: int = 3) -> TransmissionReduces:
    """A job of which so many maps run, have finished, and wait."""
    cluster = Cluster([f"n{node}" for node in range(4)], reduce_slots=[1] * 4, topology=HOPS)
    workload = Workload(
        [f"t{task}" for task in range(maps + reduces)],
        kind=[MAP] * maps + [REDUCE] * reduces,
        job=[0] * (maps + reduces),
        job_ids=["J"],
        shuffle=Shuffle([0], [maps], [1.0]),
    )
    status = [1] * running + [2] * finished + [0] * (maps - running - finished + reduces)
    state = State.initial(cluster, workload, status=status, node=[0 if code else -1 for code in status])
    return TransmissionReduces(Instance(cluster, workload, state))


@pytest.mark.parametrize(
    ("running", "finished", "launched_allows", "finished_allows"),
    [(0, 0, 0, 0), (1, 0, 1, 0), (1, 1, 2, 1), (0, 3, 3, 3), (2, 2, 3, 2)],
)
def test_reduces_follow_the_maps(running: int, finished: int, launched_allows: int, finished_allows: int) -> None:
    """Tests ceil(progress n) for n = 3 reduces and 4 maps, in both readings of progress; what is left starves."""
    problem = staged(running, finished)
    for progress, allows in (("launched", launched_allows), ("finished", finished_allows)):
        run = drive(problem, CouplingPolicy(progress=progress), max_idle_rounds=10)
        assert (run.placement.placed, run.starved) == (allows, allows < 3)


def told(policy: CouplingPolicy, view: View, nodes: Sequence[int]) -> list[tuple[int, ...]]:
    """What a policy answers to reduce slots of these nodes, offered one after another."""
    policy.start(view, np.random.default_rng(0))
    return [tuple(policy.offer(Offer(0.0, node, "reduce", 2), view)) for node in nodes]


READINGS = list(product((0, 1, 2), ("rounds", "offers"), ("all", "free")))


@pytest.mark.parametrize(("waits", "waits_in", "centre"), READINGS)
def test_every_order_of_offers(waits: int, waits_in: str, centre: str) -> None:
    """Tests all orders of four offers of three nodes for one reduce: until when it waits, by counting from the start.

    A fourth node, with no free slot, costs least; a map runs there.
    """
    cluster = Cluster(list("abcd"), rack=[0, 1, 1, 0], rack_ids=["r", "s"], reduce_slots=[1] * 4, topology=HOPS)
    workload = Workload(
        ["m", "r"], kind=[MAP, REDUCE], job=[0, 0], job_ids=["J"], size=[8.0, np.nan], shuffle=Shuffle([0], [1], [4.0])
    )
    running = {"status": [1, 0], "node": [3, -1], "idle_reduce_slots": [1, 1, 1, 0]}
    view = first_view(TransmissionReduces(Instance.initial(cluster, workload, **running)))
    for nodes in product(range(3), repeat=4):
        expected, heard, waited = [], set[int](), 0
        for node in nodes:
            started = waited >= waits or (centre == "free" and node == 0)  # a is in the rack of d
            expected.append((1,) if started else ())
            heard.add(node)
            if waits_in == "offers" or heard == {0, 1, 2}:
                waited, heard = waited + 1, set()
            if started:
                break
        policy = CouplingPolicy(waits=waits, waits_in=waits_in, centre=centre)
        assert told(policy, view, nodes[: len(expected)]) == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("waits", "waits_in", "centre"), [READINGS[4], *READINGS[-4:]])
def test_reduces_of_a_joint_snapshot(waits: int, waits_in: str, centre: str, seed: int) -> None:
    """Tests each decision about a reduce against what Shen et al. say of it, from the record of all offers before."""
    problem = Transmission(generate("transmission", seed=seed, tasks=8, reduces=8, nodes=5, reduce_slots=2))
    decisions: list[Answer] = []
    policy = CouplingPolicy(waits=waits, waits_in=waits_in, centre=centre)
    drive(problem, policy, seed, observers=[lambda *seen: decisions.append(seen[2])])
    workload, cluster, shuffle = problem.instance.workload, problem.instance.cluster, problem.instance.workload.shuffle
    hops = [[0 if i == p else 2 if cluster.rack[i] == cluster.rack[p] else 4 for i in range(5)] for p in range(5)]
    partners = Counter(shuffle.map.tolist())
    node = dict[int, int]()
    free, heard, waited = [2] * 5, set[int](), Counter[int]()

    def cost(reduce: int, place: int) -> Fraction:
        entries = zip(shuffle.map.tolist(), shuffle.reduce.tolist(), strict=True)
        sent = [(Fraction(workload.size[sender]) / partners[sender], sender) for sender, to in entries if to == reduce]
        return sum((mb * hops[node[sender]][place] for mb, sender in sent if sender in node), Fraction(0))

    for decision in decisions:
        here = decision.offer.node
        if decision.offer.kind == "reduce":
            asked = []
            for job in range(len(workload.job_ids)):
                own = [task for task in range(len(workload)) if workload.job[task] == job]
                maps, reduces = ([task for task in own if workload.kind[task] == kind] for kind in (MAP, REDUCE))
                begun = [task for task in reduces if task in node]
                share = Fraction(sum(task in node for task in maps), len(maps))
                if len(begun) < math.ceil(share * len(reduces)) and here not in [node[task] for task in begun]:
                    asked.append((len(begun), job, min(set(reduces) - set(begun)), [node[task] for task in begun]))
            expected: tuple[int, ...] = ()
            for *_, reduce, barred in sorted(asked):
                centres = [place for place in range(5) if place not in barred and (centre == "all" or free[place])]
                least = min(cost(reduce, place) for place in centres)
                if cost(reduce, here) == least or waited[reduce] >= waits:
                    expected = (reduce,)
                    del waited[reduce]
                    break
                waited[reduce] += waits_in == "offers"
            assert decision.tasks == expected
            heard.add(here)
            if waits_in == "rounds" and heard >= {place for place in range(5) if free[place]}:
                heard = set()
                waited.update(list(waited))
            free[here] -= len(expected)
        node.update(dict.fromkeys(decision.tasks, here))
    assert len(node) == problem.due


# P_min ----------------------------------------------------------------------------------------------------------------


def test_the_best_node_is_never_below_the_limit() -> None:
    """Tests on random costs that the cheapest of the free nodes has P >= 1 - 1/e, and that equal costs reach it."""
    rng = np.random.default_rng(0)
    lowest = 1.0
    for _ in range(3000):
        costs = rng.choice([0.0, 1.0, 3.0, rng.random()], size=rng.integers(1, 6))
        lowest = min(lowest, float(probability(costs, np.full(len(costs), costs.mean())).max()))
    assert lowest >= LIVENESS_LIMIT - 1e-15
    assert math.isclose(LIVENESS_LIMIT, 1 - 1 / math.e)
    assert float(probability(np.array([7.0]), np.array([7.0]))[0]) == LIVENESS_LIMIT


def test_barred_nodes_lower_the_limit() -> None:
    """Tests on random costs the limit with barred nodes in the average, and that free data on these reaches it."""
    rng = np.random.default_rng(1)
    for _ in range(2000):
        eligible, barred = int(rng.integers(1, 5)), int(rng.integers(0, 5))
        costs = rng.choice([0.0, 1.0, 5.0], size=eligible + barred)
        best = probability(costs[:eligible], np.full(eligible, costs.mean())).max()
        assert best >= liveness_limit(eligible, barred) - 1e-15
    reached = np.array([2.0, 2.0, 0.0, 0.0, 0.0])
    assert float(probability(reached[:1], np.full(1, reached.mean()))[0]) == pytest.approx(liveness_limit(2, 3))
    assert round(liveness_limit(1, 1), 3) == 0.393  # below Shen et al.'s own 0.4
    for counts in ((0, 1), (1, -1)):
        with pytest.raises(UsageError, match="give at least 1 eligible node"):
            liveness_limit(*counts)


def test_rule_on_equal_costs() -> None:
    """Tests that the rule finds the limit where costs say nothing, to the step of its grid."""
    tuning = tune_p_min(equal_costs(), repeats=5, max_idle_rounds=20)
    assert tuning.value == 0.6
    assert [trial.p_min for trial in tuning.trials] == list(GRID)
    assert {trial.starved for trial in tuning.trials if trial.p_min <= 0.6} == {0}
    assert {trial.starved for trial in tuning.trials if trial.p_min > 0.65 - 1e-9} == {5}
    assert tuning.trials[-1] == Trial(1.0, 5, 5, 5, 5 * 20 * 3, None)
    assert tuning.trials[0].cost == 64


def test_rule_on_the_barred_case() -> None:
    """Tests that the paper's own 0.4 is beyond what the rule finds there, unless the average is over eligible nodes."""
    case = barred_case()
    assert tune_p_min(case, grid=[0.38, 0.39, 0.4, 0.45]).value == 0.39
    assert tune_p_min(case, grid=[0.38, 0.39, 0.4, 0.45], average="eligible").value == 0.45
    assert tune_p_min(case, grid=[0.5, 0.6]).value is None


def test_record_of_several_problems() -> None:
    """Tests that the record adds up all runs, and that what starves in one problem is not what the rule finds."""
    tuning = tune_p_min([equal_costs(), barred_case()], grid=[0.6, 0.3, 0.3], repeats=3, max_idle_rounds=20)
    assert [trial.runs for trial in tuning.trials] == [6, 6]
    low, high = tuning.trials
    assert (low.p_min, low.starved, low.waiting) == (0.3, 0, 0)
    assert (high.p_min, high.starved, high.waiting) == (0.6, 3, 3)
    assert tuning.value == 0.3
    assert high.idle_slot_time >= 3 * 20 * 2  # each round a slot on D1, which is barred, and one on D2


@pytest.mark.parametrize("wrong", [{"grid": []}, {"grid": [1.5]}, {"repeats": 0}])
def test_wrong_use(wrong: dict[str, object]) -> None:
    """Tests that an empty grid, values that are no probability and no repeat are wrong usage."""
    with pytest.raises(UsageError, match="give a grid of values from 0 to 1"):
        tune_p_min(equal_costs(), **wrong)
