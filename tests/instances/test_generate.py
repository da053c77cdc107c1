"""Generated instances: determinism, ranges, distributions, errors, and planted optima against independent solvers."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from optsched.errors import UsageError
from optsched.instance import MAP, REDUCE, Instance
from optsched.instances.families.base import Parameter
from optsched.instances.families.sampling import distinct_nodes, idle_slots, in_blocks, zipf_weights
from optsched.instances.generate import FAMILIES, generate, known_optimum
from optsched.instances.importers.proportional import proportional_shuffle
from optsched.problems import problem
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces

#: sha256 of each family's instance with default parameters and seed 1: a change of any draw shows here.
PINNED = {
    "lsap": "ee7c6b45b604aedc5184ad0d6c8f336eb33c6583d060de065a711f98749c002b",
    "fair-lsap": "b9142a089857b4d9eb0c8b82d69b13060b06a828f4f202f82c813a94e53ed188",
    "lsap-fairness": "b9142a089857b4d9eb0c8b82d69b13060b06a828f4f202f82c813a94e53ed188",
    "generalized-assignment": "fdf5464cb3f50a26b1de007b5a0e9b56bc4502d86d1be056e47a040742a1f979",
    "skewed-lsap": "44684042dd8d694afcf4a64e560237610890ec00ec23fb27784e83e34c0e003c",
    "guo-fig4": "03c309cee8cb66497158968bc281b89c63f66f6becfa9ed209e03b448573df63",
    "guo-table3": "8e7186da00eff0147a106f0f4c8aeece1c781c78524873e31355c13db65e27f3",
    "guo-table3-delay": "45a663fc2b9805e5fdf31bc99eb8809a0fb1da4db606ad51f0915f1966f79111",
    "guo-fairness": "b9142a089857b4d9eb0c8b82d69b13060b06a828f4f202f82c813a94e53ed188",
    "flow": "2fb7f1a93a3b61f1995207dad6372fa39dac5ca741e8ef966259af6647b0ef21",
    "hsu-table3": "31dd40f88003b1924c9ecaf729831c9cdf0aa8e7e0bc6297f1588a2b8c5facd4",
    "latency": "8b35f5d6f8bb007aa58a4d727d2d802665e3e89dbed2e6767d68da391146a6b6",
    "labl": "a346ff7063723ca4ae7521f16e5fae65ffac686e998e2c4ac1385718dcdb0159",
    "skewed-latency": "c8004740fffb6e7c303b4fac10e9cad169aa2537a5eb68aee56ed9811f60a852",
    "hot-server": "67b05e105c9f3820f6b64dd2eacf7cb043647b4a6a7ba39ce2f2d8e5c1847277",
    "transmission": "72260a2af9e9459286e617636eb29b872a1bbdb75ea831e39c0f7585e6be1609",
    "shen-table2": "03f8c848da394cce143ee11c9e58a64ca71de9748fafe9dca07f8c7b24b57347",
    "utility": "a4c77c690559969f7aef97000b16f6dbb428d635c3d33a7d5f063de6fdd3474c",
    "traffic": "f76ac33dd812e2e15f93e13e561a744ede10c2888398964ab3e4e09be350eaa6",
    "mixed": "b96bf0c46f89c3686fdd30a988a9c8f532b8c6b8295f1e27a080967f18f8addc",
    "planted-lsap": "f8ba3f1910e4754a77d05e10dd0732062213c1af181f70cd744b7a4f3c25e793",
    "planted-fair-lsap": "f80607d892cbff8be2f70b5a9e75f83da8cdfaf9bcbf1edef60535183214643f",
    "planted-latency": "64014e3a108be4437c94487819f908b4903ed119e3e1ec9e5c27ec13b4901cce",
    "planted-flow": "13ad28d12ebf275d80f2eff0edd784857cd34636acba63f7751539a62493b99b",
}

STAGES = {kind.name: kind for kind in (Transmission, TransmissionMaps, TransmissionReduces)}

#: A small instance of each family that takes free sizes.
SMALL: dict[str, dict[str, Any]] = {
    "lsap": {"nodes": 12, "tasks": 9, "racks": 3, "slots": 2},
    "fair-lsap": {"nodes": 12, "tasks": 15, "replicas": 2},
    "lsap-fairness": {"nodes": 12, "tasks": 15, "replicas": 2},
    "generalized-assignment": {"nodes": 3, "tasks": 12, "tightness": 0.9, "correlated": 1},
    "skewed-lsap": {"nodes": 12, "tasks": 9, "exponent": 2},
    "flow": {"nodes": 7, "tasks": 12},
    "transmission": {"finished": 0.5, "spread": 9, "jobs": 3},
    "mixed": {"nodes": 7, "tasks": 5, "jobs": 3},
    "shen-table2": {"batch": 3, "divide": 40, "nodes": 9},
    "latency": {"nodes": 8, "tasks": 20},
    "skewed-latency": {"nodes": 8, "tasks": 20, "max_load": 3},
}


def slot_nodes(instance: Instance) -> np.ndarray:
    """The node of each idle slot."""
    return np.repeat(np.arange(len(instance.cluster)), instance.state.idle_slots)


def local(instance: Instance) -> np.ndarray:
    """Whether each node holds each task's block; bool, shape (tasks, nodes)."""
    held = np.zeros((len(instance.workload), len(instance.cluster)), dtype=bool)
    held[instance.replicas.row_of, instance.replicas.values] = True
    return held


def cheapest_assignment(costs: np.ndarray) -> int:
    """Least cost of min(tasks, slots) tasks on different slots; whole costs, shape (tasks, slots)."""
    assert np.array_equal(costs, np.rint(costs))
    return int(costs[linear_sum_assignment(costs)].sum())


def must_be_remote(instance: Instance) -> int:
    """min(tasks, idle slots) less a maximum matching of tasks and idle slots that are local."""
    edges = csr_array(local(instance)[:, slot_nodes(instance)].astype(np.int8))
    matched = int((maximum_bipartite_matching(edges, perm_type="column") >= 0).sum())
    return min(edges.shape) - matched


def assert_sound(instance: Instance) -> None:
    """Replicas are distinct, increasing and of existing nodes; idle slots fit."""
    replicas = instance.replicas
    inside = replicas.row_of[1:] == replicas.row_of[:-1]
    assert np.all(np.diff(replicas.values)[inside] > 0)
    assert np.all(instance.state.idle_slots <= instance.cluster.slots)


@pytest.mark.parametrize("name", FAMILIES)
def test_same_seed_same_instance(name: str) -> None:
    """Tests that a seed fixes the instance, also across runs and machines, and that another seed gives another one."""
    instance = generate(name, seed=1)
    assert_sound(instance)
    assert instance.sha256 == generate(name, seed=1).sha256 == PINNED[name]
    assert instance.sha256 != generate(name, seed=2).sha256


@pytest.mark.parametrize("name", FAMILIES)
def test_source_reproduces(name: str) -> None:
    """Tests that the command in `source`, whose values are text, makes the same instance, name included."""
    instance = generate(name, seed=3, **SMALL.get(name, {}))
    words = shlex.split(instance.source.removeprefix("generated by "))
    assert words[:3] == ["optsched", "generate", name]
    names = [word.removeprefix("--").replace("-", "_") for word in words[3::2]]
    options: dict[str, Any] = dict(zip(names, words[4::2], strict=True))
    again = generate(name, **options)
    assert (again.sha256, again.name, again.source) == (instance.sha256, instance.name, instance.source)
    assert instance.labels["generated"].startswith(f"family {name}, seed 3")
    assert instance.description


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "lsap-fairness", "flow", "latency"])
@pytest.mark.parametrize("seed", range(3))
def test_problem_families(name: str, seed: int) -> None:
    """Tests that a family of a problem's name gives that problem all it needs, with 1 to R replicas a task."""
    instance = generate(name, seed, nodes=9, tasks=40, replicas=3)
    assert (len(instance.cluster), len(instance.workload)) == (9, 40)
    assert set(instance.replicas.lengths.tolist()) == {1, 2, 3}
    assert len(problem(name, instance).tasks) == 40


@pytest.mark.parametrize("correlated", [0, 1])
def test_generalized_assignment_family(correlated: int) -> None:
    """Tests the ranges of OR-Library's types C and D, that capacities are scarce, and that the problem can be posed."""
    instance = generate("generalized-assignment", seed=5, nodes=4, tasks=60, correlated=correlated)
    posed = problem("generalized-assignment", instance)
    cost, demand, capacity = posed.units, posed.demand[0], posed.capacity[0]
    assert np.array_equal(capacity, np.floor(0.8 * demand.sum(axis=0) / 4))
    if correlated:
        assert (demand.min(), demand.max()) == (1, 100)
        assert set(np.unique(cost + demand)) <= set(range(101, 122))
    else:
        assert (demand.min(), demand.max(), cost.min(), cost.max()) == (5, 25, 10, 50)
    assert instance.labels["pairs"].startswith(f"drawn as type {'CD'[correlated]} of OR-Library")
    assert len(problem("generalized-assignment", generate("generalized-assignment", tasks=0)).tasks) == 0


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "skewed-lsap", "latency", "skewed-latency", "flow"])
def test_no_tasks(name: str) -> None:
    """Tests that a workload without tasks is an instance."""
    assert len(generate(name, tasks=0).workload) == 0


def test_names_tell_instances_apart() -> None:
    """Tests that sizes and every parameter that is not the default are in the name."""
    assert generate("latency", nodes=20, tasks=30).name == "latency-n20-t30-seed0"
    assert generate("fair-lsap", weights="1,2.5", seed=4).name == "fair-lsap-n60-t90-weights1-2.5-seed4"
    assert generate("hsu-table3", block=128).name == "hsu-table3-block128-seed0"


class TestErrors:
    """Wrong names and values are wrong usage, with the value and the mend."""

    @pytest.mark.parametrize(
        ("family", "parameters", "message"),
        [
            ("lsapp", {}, 'no family "lsapp"; did you mean "lsap"?'),
            ("lsap", {"nods": 3}, 'lsap: no parameter "nods"; did you mean "nodes"?'),
            ("guo-fairness", {"nodes": 3}, 'guo-fairness: no parameter "nodes"; none is known'),
            ("lsap", {"nodes": 0}, "lsap: nodes is 0; it must be an integer from 1 to 1000000"),
            ("lsap", {"nodes": 2.5}, "lsap: nodes is 2.5; it must be an integer from 1 to 1000000"),
            ("lsap", {"nodes": "ten"}, "lsap: nodes is 'ten'; it must be an integer from 1 to 1000000"),
            ("lsap", {"nodes": True}, "lsap: nodes is True; it must be an integer from 1 to 1000000"),
            ("lsap", {"nodes": float("inf")}, "lsap: nodes is inf; it must be an integer from 1 to 1000000"),
            ("lsap", {"idle_ratio": "nan"}, "lsap: idle_ratio is nan; it must be a number from 0 to 1"),
            ("lsap", {"idle_ratio": 1.5}, "lsap: idle_ratio is 1.5; it must be a number from 0 to 1"),
            ("lsap", {"seed": -1}, "lsap: seed is -1; it must be an integer from 0 to 9223372036854775807"),
            ("lsap", {"nodes": 2}, "lsap: replicas is 3; it must be at most 2: no node holds a block twice"),
            ("lsap", {"racks": 101}, "lsap: racks is 101; it must be at most nodes (100)"),
            (
                "fair-lsap",
                {"weights": "1,x"},
                "fair-lsap: weights is '1,x'; it must be numbers separated by commas, each from 0 to 1000000",
            ),
            ("fair-lsap", {"weights": 3}, "fair-lsap: weights is 3; it must be numbers separated by commas, each"),
            ("fair-lsap", {"weights": ()}, "fair-lsap: weights is ; it must be numbers separated by commas, each"),
            ("fair-lsap", {"weights": (0, 0)}, "fair-lsap: weights must not all be 0"),
            ("flow", {"block": 100}, "flow: block is 100; it must be one of 64, 128"),
            ("flow", {"nodes": 2}, "flow: nodes is 2; it must be more than the 2 storage nodes that 2 replicas"),
            ("labl", {"nodes": 100}, "labl: nodes is 100; it must be an integer from 1600 to 2000"),
            ("labl", {"nodes": 1600, "available": 1601}, "labl: available is 1601; it must be at most nodes (1600)"),
            ("planted-lsap", {"remote": 81}, "planted-lsap: remote is 81; it must be at most 80, the tasks that 100"),
            (
                "planted-lsap",
                {"nodes": 4, "slots": 9, "idle_ratio": 1, "tasks": 10, "remote": 5},
                "planted-lsap: remote is too large: no node is small enough for the other tasks to fill it",
            ),
            ("planted-fair-lsap", {"nodes": 5, "slots": 1}, "planted-fair-lsap: nodes x slots is 5; it must be a mul"),
            ("planted-latency", {"nodes": 4, "makespan": 5}, "planted-latency: remote is 12; it must be at most"),
            ("planted-flow", {"racks": 1}, "planted-flow: replicas is 2; it must be at most racks (1)"),
            ("planted-flow", {"racks": 21}, "planted-flow: racks is 21; it must be at most nodes (20)"),
            ("planted-flow", {"tasks": 81}, "planted-flow: tasks is 81; it must be at most nodes x slots = 80"),
        ],
    )
    def test_message(self, family: str, parameters: dict[str, Any], message: str) -> None:
        """Tests that the message says what, where, and what to do."""
        with pytest.raises(UsageError) as caught:
            generate(family, **parameters)
        assert str(caught.value).startswith(message)

    def test_defaults_are_in_range(self) -> None:
        """Tests that each default passes its own check and that each parameter has a meaning."""
        for family in FAMILIES.values():
            for name, parameter in family.parameters.items():
                assert parameter.check(family.name, name, parameter.default) == parameter.default
                assert parameter.doc
                assert parameter.range

    def test_reads_text_and_numpy(self) -> None:
        """Tests that values may be text or NumPy scalars, and whole floats stand for integers."""
        count = Parameter(3, "count")
        assert [count.check("f", "count", value) for value in ("7", np.int64(7), 7.0, " 7 ", "7e0")] == [7] * 5
        assert Parameter((1.0,), "weights").check("f", "weights", [1, 2]) == (1.0, 2.0)


class TestSampling:
    """The draws that families share."""

    def test_distinct_nodes_are_uniform(self) -> None:
        """Tests that all pairs of 5 nodes are equally frequent: each within five deviations."""
        drawn = distinct_nodes(np.random.default_rng(0), np.full(20_000, 2), 5)
        pairs, counts = np.unique(drawn.values.reshape(-1, 2), axis=0, return_counts=True)
        assert len(pairs) == 10
        assert np.all(np.abs(counts - 2000) < 5 * np.sqrt(20_000 * 0.1 * 0.9))

    def test_weights_are_followed(self) -> None:
        """Tests frequencies of a weighted draw of two of three nodes against the successive-sampling probabilities."""
        weights = np.array([6, 3, 1])
        drawn = distinct_nodes(np.random.default_rng(0), np.full(50_000, 2), 3, weights=weights)
        pairs, counts = np.unique(drawn.values.reshape(-1, 2), axis=0, return_counts=True)
        share = weights / 10
        for pair, count in zip(pairs, counts, strict=True):
            first, second = share[pair]
            expected = first * second / (1 - first) + second * first / (1 - second)
            assert abs(count / 50_000 - expected) < 5 * np.sqrt(0.25 / 50_000)

    def test_given_first_node(self) -> None:
        """Tests that a given node is in its row, weighted or not, and the others differ from it."""
        rng = np.random.default_rng(0)
        first = rng.integers(0, 4, size=200)
        among = np.array([3, 1, 7, 5])
        for weights in (None, np.array([1000, 1, 1, 1])):
            drawn = distinct_nodes(rng, rng.integers(1, 5, size=200), among, weights=weights, first=first)
            for row, node in zip(drawn, among[first], strict=True):
                assert node in row
                assert len(set(row.tolist())) == len(row)
                assert row.tolist() == sorted(row.tolist())

    def test_all_nodes(self) -> None:
        """Tests that as many replicas as nodes are all nodes, also under the steepest weights."""
        rng = np.random.default_rng(0)
        for weights in (None, zipf_weights(rng, 30, 3)):
            drawn = distinct_nodes(rng, np.full(10, 30), 30, weights=weights)
            assert np.array_equal(drawn.values.reshape(10, 30), np.tile(np.arange(30), (10, 1)))

    def test_idle_slots_are_hypergeometric(self) -> None:
        """Tests count and variance: 30 of 10 x 6 slots, each node's number hypergeometric."""
        rng = np.random.default_rng(0)
        drawn = np.array([idle_slots(rng, 10, 6, 30) for _ in range(2000)])
        assert np.all(drawn.sum(axis=1) == 30)
        assert drawn.max() <= 6
        assert abs(drawn.var() - 6 * 0.25 * (60 - 6) / (60 - 1)) < 0.05

    def test_blocks_are_even(self) -> None:
        """Tests that sizes of blocks differ by at most one."""
        sizes = np.bincount(in_blocks(23, 5))
        assert sizes.sum() == 23
        assert sizes.max() - sizes.min() == 1
        assert len(in_blocks(0, 5)) == 0


class TestPapers:
    """The papers' own experiments have the papers' figures."""

    def test_guo(self) -> None:
        """Tests sizes of 003: Figure 4, both columns of Table III, and replicas of exactly C."""
        for name, nodes, slots, idle, tasks, replicas in [
            ("guo-fig4", 100, 1, 50, 50, 5),
            ("guo-table3", 1000, 2, 200, 300, 3),
            ("guo-table3-delay", 1500, 2, 30, 256, 3),
        ]:
            instance = generate(name)
            assert len(instance.cluster) == nodes
            assert set(instance.cluster.slots.tolist()) == {slots}
            assert instance.state.idle_slots.sum() == idle
            assert instance.replicas.lengths.tolist() == [replicas] * tasks

    def test_guo_expected_matching(self) -> None:
        """Tests that Figure 4's optimal locality at T = 50 is near .893, as a simulation of our own found."""
        locality = [1 - must_be_remote(generate("guo-fig4", seed)) / 50 for seed in range(60)]
        assert abs(np.mean(locality) - 0.893) < 0.02

    def test_guo_closed_form(self) -> None:
        """Tests the mean optimum for S = C = 1 against 003's E = IS (1 - (1 - 1/N)^T)."""
        matched = [
            30 - must_be_remote(generate("lsap", seed, nodes=40, tasks=30, replicas=1, idle_ratio=0.75))
            for seed in range(300)
        ]
        assert abs(np.mean(matched) - 30 * (1 - (1 - 1 / 40) ** 30)) < 0.3

    def test_guo_fairness(self) -> None:
        """Tests 003 section IV.B: 60 nodes, 30 running and 90 pending tasks, weights 1 to 16, one replica."""
        instance = generate("guo-fairness")
        workload = instance.workload
        assert (len(instance.cluster), int(instance.state.idle_slots.sum()), len(workload)) == (60, 30, 90)
        assert workload.group_weight.tolist() == [1, 2, 4, 8, 16]
        assert workload.group_running_tasks.sum() == 30
        assert instance.replicas.lengths.tolist() == [1] * 90
        assert set(workload.group.tolist()) == set(range(5))

    def test_hsu(self) -> None:
        """Tests 002 section 5: nine jobs of 1 GB, 6 + 5 compute and 2 + 1 storage nodes, rates of Tables 2 and 3."""
        instance = generate("hsu-table3")
        cluster, workload = instance.cluster, instance.workload
        assert np.bincount(cluster.type[cluster.slots > 0]).tolist() == [6, 5]
        assert np.bincount(cluster.type[cluster.slots == 0]).tolist() == [2, 1]
        assert np.array_equal(cluster.rack, cluster.type)
        assert cluster.rate_process[:11].tolist() == [60] * 6 + [20] * 5
        assert set(cluster.rate_out.tolist()) == {85}
        assert np.bincount(workload.job).tolist() == [16] * 9
        assert len(generate("hsu-table3", block=128).workload) == 72
        assert instance.replicas.lengths.tolist() == [2] * 144
        assert instance.replicas.values.min() == 11
        assert workload.job_ids.tolist()[-2:] == ["terasort4", "grep1"]
        assert workload.rate_in_by_type is not None
        assert workload.rate_in_by_type[0].tolist() == [3.04, 3.2]
        assert workload.rate_in_by_type[-1].tolist() == [0.23, 0.27]
        assert instance.time == workload.arrival.max() == 40

    def test_flow(self) -> None:
        """Tests that busy slots have running rates of their node's type and that only storage nodes hold replicas."""
        instance = generate("flow", nodes=60, tasks=100)
        cluster = instance.cluster
        assert np.array_equal(cluster.running_rates.lengths, cluster.slots - instance.state.idle_slots)
        assert np.all(cluster.slots[instance.replicas.values] == 0)
        assert np.count_nonzero(cluster.slots == 0) == 13
        first = np.concatenate([cluster.running_rates[node] for node in np.flatnonzero(cluster.type == 0)])
        assert set(first.tolist()) == {3.04, 9.14, 0.23, 16.0}

    def test_labl(self) -> None:
        """Tests 004 section 4: sizes, integer loads uniform from 0 to 5 with a free server, 1 to 4 replicas."""
        instance = generate("labl")
        assert (len(instance.cluster), len(instance.workload)) == (2000, 3450)
        loads, counts = np.unique(instance.state.load, return_counts=True)
        assert loads.tolist() == [0, 1, 2, 3, 4, 5]
        assert np.all(np.abs(counts - 2000 / 6) < 5 * np.sqrt(2000 * 5 / 36))
        lengths = np.bincount(instance.replicas.lengths)[1:]
        assert np.all(np.abs(lengths - 3450 / 4) < 5 * np.sqrt(3450 * 3 / 16))
        assert instance.labels["load"].startswith("assumed integers")

    def test_labl_available(self) -> None:
        """Tests that fewer available servers keep placement and loads of the others: 004 section 4.2."""
        whole, part = generate("labl", seed=5), generate("labl", seed=5, available=1600)
        assert len(part.cluster) == 1600
        assert np.array_equal(part.state.load, whole.state.load[:1600])
        for row in (0, 17, 3449):
            assert part.replicas[row].tolist() == [node for node in whole.replicas[row].tolist() if node < 1600]

    def test_loads_have_a_free_server(self) -> None:
        """Tests the normalisation of 004 section 3.1 where no drawn load would be 0."""
        assert all(generate("latency", seed, nodes=4).state.load.min() == 0 for seed in range(20))

    def test_skew(self) -> None:
        """Tests that Zipf families crowd replicas on few nodes, and that exponent 0 does not."""
        shares = []
        for exponent in (0.0, 1.0, 2.0):
            held = np.bincount(generate("skewed-latency", exponent=exponent, tasks=2000, replicas=1).replicas.values)
            shares.append(held.max() / 2000)
        assert shares[0] < 0.02
        assert abs(shares[1] - 1 / sum(1 / rank for rank in range(1, 201))) < 0.04
        assert abs(shares[2] - 1 / sum(1 / rank**2 for rank in range(1, 201))) < 0.04


LSAP_CASES: list[dict[str, Any]] = [
    {},
    {"remote": 0},
    {"remote": 80},
    {"nodes": 30, "slots": 1, "tasks": 200, "remote": 4},
    {"nodes": 30, "slots": 1, "tasks": 15, "remote": 15, "replicas": 30},
    {"nodes": 5, "slots": 4, "tasks": 3, "remote": 0, "replicas": 2},
    {"nodes": 1, "slots": 4, "tasks": 30, "remote": 0, "replicas": 1},
    {"nodes": 20, "idle_ratio": 1, "tasks": 40, "remote": 9},
    {"nodes": 20, "idle_ratio": 0, "tasks": 40, "remote": 0},
]


class TestPlanted:
    """Optima known by construction, against solvers that know nothing of the construction."""

    @pytest.mark.parametrize("case", LSAP_CASES)
    @pytest.mark.parametrize("seed", range(5))
    def test_lsap(self, case: dict[str, Any], seed: int) -> None:
        """Tests the planted number of remote tasks against a maximum bipartite matching."""
        instance = generate("planted-lsap", seed, **case)
        assert_sound(instance)
        assert known_optimum(instance)["lsap"] == (must_be_remote(instance),) == (case.get("remote", 7),)

    @given(data=st.data())
    def test_lsap_of_any_shape(self, data: st.DataObject) -> None:
        """Tests the same over all shapes of small instances; values that do not go together are refused."""
        draw = data.draw
        nodes = draw(st.integers(1, 7))
        case = {
            "nodes": nodes,
            "slots": draw(st.integers(1, 3)),
            "idle_ratio": draw(st.sampled_from([0, 0.3, 0.5, 1])),
            "tasks": draw(st.integers(0, 12)),
            "replicas": draw(st.integers(1, nodes)),
            "remote": draw(st.integers(0, 6)),
        }
        instance = planted_unless_refused("planted-lsap", draw(st.integers(0, 9)), case)
        if instance is not None:
            assert (case["remote"],) == known_optimum(instance)["lsap"] == (must_be_remote(instance),)

    @pytest.mark.parametrize(
        "case",
        [
            {},
            {"nodes": 20, "tasks": 30, "remote": 0},
            {"nodes": 20, "tasks": 12, "remote": 6},
            {"nodes": 8, "slots": 1, "tasks": 40, "remote": 2},
        ],
    )
    @pytest.mark.parametrize("seed", range(5))
    def test_fair_lsap(self, case: dict[str, Any], seed: int) -> None:
        """Tests the planted cost against a dense assignment with 003's costs, written out here once more."""
        instance = generate("planted-fair-lsap", seed, **case)
        assert_sound(instance)
        workload = instance.workload
        slots = int(instance.cluster.slots.sum())
        weight = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
        running = workload.group_running_tasks.tolist()
        gfc = [100 * Fraction(busy, sum(running)) / share for busy, share in zip(running, weight, strict=True)]
        beta = Fraction(101, 100) * max(gfc) / min(weight)
        waiting = np.bincount(workload.group, minlength=3).tolist()
        cost = []
        for group in range(3):
            ration = max(0, int(weight[group] * slots - running[group]))
            assert ration in (0, slots // 4)
            assert ration == 0 or waiting[group] <= ration
            cost.append(gfc[group] if ration else beta * weight[group])
        fairness = np.array([float(cost[group]) for group in workload.group.tolist()])
        costs = fairness[:, None] + np.where(local(instance)[:, slot_nodes(instance)], 0, 50)
        assert known_optimum(instance)["fair-lsap"] == (cheapest_assignment(costs),)
        assert known_optimum(instance)["lsap"] == (must_be_remote(instance),)

    @pytest.mark.parametrize(
        "case",
        [
            {"nodes": 3, "makespan": 2, "max_load": 2, "remote": 0, "replicas": 2},
            {"nodes": 3, "makespan": 4, "max_load": 1, "remote": 1, "replicas": 2},
            {"nodes": 2, "makespan": 4, "max_load": 0, "remote": 1, "replicas": 1},
            {"nodes": 4, "makespan": 3, "max_load": 5, "remote": 1, "replicas": 1},
        ],
    )
    @pytest.mark.parametrize("seed", range(4))
    def test_latency_by_enumeration(self, case: dict[str, Any], seed: int) -> None:
        """Tests makespan and work against all placements of a tiny instance."""
        instance = generate("planted-latency", seed, **case)
        tasks, nodes = len(instance.workload), len(instance.cluster)
        placements = np.indices((nodes,) * tasks, dtype=np.int8).reshape(tasks, -1)
        cost = np.where(local(instance), 1, 3)
        work = sum(cost[task, placements[task]] for task in range(tasks))
        makespan = np.zeros(placements.shape[1])
        for node in range(nodes):
            given = sum(np.where(placements[task] == node, cost[task, node], 0) for task in range(tasks))
            np.maximum(makespan, np.where(given > 0, instance.state.load[node] + given, 0), out=makespan)
        least = int(makespan.min())
        assert known_optimum(instance)["latency"] == (least, int(np.min(np.asarray(work)[makespan == least])))

    @pytest.mark.parametrize(
        ("name", "case"),
        [
            ("planted-latency", {"nodes": 30}),
            ("planted-latency", {"nodes": 30, "remote": 0}),
            ("planted-latency", {"nodes": 20, "makespan": 4, "max_load": 9, "remote": 3}),
            ("hot-server", {"nodes": 5, "tasks": 20}),
            ("hot-server", {"nodes": 1, "tasks": 7}),
            ("hot-server", {"nodes": 30, "tasks": 3}),
            ("hot-server", {"nodes": 4, "tasks": 3}),
        ],
    )
    @pytest.mark.parametrize("seed", range(2))
    def test_latency_by_milp(self, name: str, case: dict[str, Any], seed: int) -> None:
        """Tests that the stated makespan has the stated least work, and that one unit less is infeasible."""
        instance = generate(name, seed, **case)
        makespan, work = known_optimum(instance)["latency"]
        assert isinstance(makespan, int)
        assert least_work(instance, makespan) == work
        assert least_work(instance, makespan - 1) is None

    @settings(max_examples=40)
    @given(data=st.data())
    def test_latency_of_any_shape(self, data: st.DataObject) -> None:
        """Tests the same over all shapes of small instances; values that do not go together are refused."""
        draw = data.draw
        nodes = draw(st.integers(1, 6))
        case = {
            "nodes": nodes,
            "max_load": draw(st.integers(0, 6)),
            "makespan": draw(st.integers(1, 8)),
            "replicas": draw(st.integers(1, nodes)),
            "remote": draw(st.integers(0, 4)),
        }
        instance = planted_unless_refused("planted-latency", draw(st.integers(0, 9)), case)
        if instance is not None:
            makespan, work = known_optimum(instance)["latency"]
            assert makespan == case["makespan"]
            assert least_work(instance, case["makespan"]) == work
            assert least_work(instance, case["makespan"] - 1) is None

    @pytest.mark.parametrize(
        "case", [{}, {"tasks": 80}, {"racks": 1, "replicas": 1}, {"racks": 8, "replicas": 5, "slots": 1, "tasks": 19}]
    )
    @pytest.mark.parametrize("seed", range(5))
    def test_flow(self, case: dict[str, Any], seed: int) -> None:
        """Tests the planted penalty against a dense assignment with 002's costs, written out here once more."""
        instance = generate("planted-flow", seed, **case)
        assert_sound(instance)
        cluster = instance.cluster
        rate = instance.workload.rate_in
        busy = cluster.out_in_use / cluster.rate_out
        slots = slot_nodes(instance)
        nearness = np.where(cluster.rack[:, None] == cluster.rack[slots], 0.1, 1.0) + busy[:, None]
        read = np.array([nearness[row].min(axis=0) for row in instance.replicas])
        load = np.array([rates.sum() - (rates.std() if len(rates) else 0) for rates in cluster.running_rates])
        penalty = rate[:, None] * (1 + read) + rate[:, None] * (1 + (load / cluster.rate_in)[slots])
        # The costs are multiples of 1/64 by construction: what rounding removes is the float's own error.
        units = np.rint(penalty * 64)
        assert np.abs(units - penalty * 64).max() < 1e-8
        assert known_optimum(instance)["flow"] == (Fraction(cheapest_assignment(units), 64),)

    @pytest.mark.parametrize("name", ["lsap", "fair-lsap", "latency", "flow"])
    def test_problem_grid(self, name: str) -> None:
        """Tests that the problem itself, with default parameters, can state the optimum: its bounds do not pass it."""
        instance = generate(f"planted-{name}", seed=2)
        for bound in problem(name, instance).cheap_bounds():
            position = [component.name for component in problem(name, instance).components].index(bound.component)
            assert bound.value <= known_optimum(instance)[name][position]

    def test_large(self) -> None:
        """Tests that a million tasks on 100,000 nodes are made at once, without a loop over tasks."""
        instance = generate("planted-lsap", nodes=100_000, slots=20, tasks=1_000_000, remote=12_345)
        assert len(instance.workload) == 1_000_000
        assert known_optimum(instance)["lsap"] == (12_345,)


def planted_unless_refused(family: str, seed: int, case: dict[str, Any]) -> Instance | None:
    """The instance; None where the family refuses `remote`, which it may only if some task is to be remote."""
    try:
        return generate(family, seed, **case)
    except UsageError as error:
        if case["remote"] == 0 or not str(error).startswith(f"{family}: remote is"):
            raise
        return None


def least_work(instance: Instance, makespan: int) -> int | None:
    """Least work of a placement within `makespan`, w_loc 1 and w_rem 3; None if there is none (004, compact form).

    Columns: one a replica (the task runs there), one a task (it is remote), one a server (remote tasks on it).
    """
    replicas, load = instance.replicas, instance.state.load
    tasks, nodes, arcs = len(instance.workload), len(instance.cluster), len(instance.replicas.values)
    room = np.maximum(0, makespan - load)

    def entries() -> Iterator[tuple[int, int, float]]:
        for arc, (task, node) in enumerate(zip(replicas.row_of.tolist(), replicas.values.tolist(), strict=True)):
            yield task, arc, 1
            yield tasks + node, arc, 1
        for task in range(tasks):
            yield task, arcs + task, 1
            yield tasks + nodes, arcs + task, 1
        for node in range(nodes):
            yield tasks + node, arcs + tasks + node, 3
            yield tasks + nodes, arcs + tasks + node, -1

    rows, columns, values = zip(*entries(), strict=True)
    matrix = csr_array((values, (rows, columns)), shape=(tasks + nodes + 1, arcs + tasks + nodes))
    lower = np.concatenate((np.ones(tasks), np.full(nodes, -np.inf), [0]))
    upper = np.concatenate((np.ones(tasks), room, [0]))
    result = milp(
        np.concatenate((np.ones(arcs), np.full(tasks, 3), np.zeros(nodes))),
        constraints=LinearConstraint(matrix, lower, upper),
        bounds=Bounds(0, np.concatenate((np.ones(arcs + tasks), np.full(nodes, np.inf)))),
        integrality=np.repeat([0, 0, 1], [arcs, tasks, nodes]),
    )
    assert result.status in (0, 2)
    return round(result.fun) if result.status == 0 else None


class TestShen:
    """Tests 000's families."""

    def test_table_2(self) -> None:
        """Tests numbers of tasks, sizes and shuffle of a batch against Table II and the label's ratio."""
        instance = generate("shen-table2", batch=2)
        workload = instance.workload
        maps, reduces = (np.bincount(workload.job[workload.kind == kind]) for kind in (MAP, REDUCE))
        assert (maps[0], reduces[0], maps[9], reduces[9]) == (143, 190, 824, 193)
        assert (len(instance.cluster), instance.state.idle_slots.sum(), instance.state.idle_reduce_slots.sum()) == (
            60,
            240,
            120,
        )
        assert set(instance.replicas.lengths[workload.kind == MAP].tolist()) == {2}
        read = np.bincount(workload.job[workload.kind == MAP], workload.size[workload.kind == MAP])
        assert np.allclose(read, 1e4 * np.arange(1, 11), rtol=1e-3)
        shuffle = workload.shuffle
        assert shuffle is not None
        assert len(shuffle) == int((maps * reduces).sum())
        assert np.array_equal(workload.job[shuffle.map], workload.job[shuffle.reduce])
        sent = np.bincount(workload.job[shuffle.map], shuffle.size)
        assert np.allclose(sent, read, rtol=1e-3)  # Terasort shuffles what it reads
        assert "assumed" in instance.labels["shuffle"]

    def test_divided(self) -> None:
        """Tests that `divide` keeps every job, with at least one map and reduce."""
        instance = generate("shen-table2", batch=1, divide=1000)
        assert np.bincount(instance.workload.job).tolist() == [2] * 10
        assert "divided by 1000" in instance.labels["scale"]

    @pytest.mark.parametrize("stage", ["transmission", "transmission-maps", "transmission-reduces"])
    def test_transmission(self, stage: str) -> None:
        """Tests that the family gives 000's problems all they need, with either form of distances."""
        for spread in (0, 7):
            instance = generate("transmission", seed=1, finished=0.5, spread=spread, jobs=3, reduces=5)
            posed = STAGES[stage](instance)
            assert len(posed.tasks) == {"transmission": 11, "transmission-maps": 6, "transmission-reduces": 5}[stage]
            assert posed.grid == 1

    def test_proportional_shuffle(self) -> None:
        """Tests that each reduce takes in what it does, from the maps of its job in proportion to their output."""
        shuffle = proportional_shuffle(
            np.array([0, 1, 1, 2]), np.array([3.0, 1.0, 3.0, 0.0]), np.array([1, 2, 1]), np.array([8.0, 5.0, 4.0])
        )
        found = dict(zip(zip(shuffle.map.tolist(), shuffle.reduce.tolist(), strict=True), shuffle.size, strict=True))
        assert found == {(1, 4): 2, (1, 6): 1, (2, 4): 6, (2, 6): 3, (3, 5): 5}
        assert np.isnan(shuffle.emitted).all()
        empty = np.zeros(0, dtype=np.int64)
        assert len(proportional_shuffle(empty, np.zeros(0), empty, np.zeros(0))) == 0
