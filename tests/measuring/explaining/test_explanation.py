"""An explanation as a record: every field in the instance's ids, numbers exactly."""

import numpy as np
from small_problems import SWAPPED, small, wrong_way

from optsched import explain, generate
from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
from optsched.measuring.explaining.explanation import causes_of, data_distance, gained
from optsched.problems import Lsap, Problem, WorstGroup, problem


def test_the_record_in_ids() -> None:
    """Tests the numbers and moves of `to_dict`, and that what is not written out is counted in `rest`."""
    found = explain(SWAPPED, wrong_way, 5)
    assert repr(found) == "<small_problems:wrong_way on two, lsap: gap 1, 1 chain of 2 moves>"
    document = found.to_dict()
    (chain,) = document["chains"]
    first, second = chain.pop("moves")
    assert chain == {"kind": "cycle", "gain": [1], "ordered": False}
    assert [first[name] for name in ("task", "from", "to", "cost_from", "cost_to")] == ["t2", "b", "a", 1, 0]
    assert (first["data_from"], first["data_to"]) == ("off_rack", "node")
    assert (second["task"], second["cost_from"], second["cost_to"]) == ("t1", 0, 0)
    assert document["components"] == [{"name": "locality-cost", "sense": "min", "unit": "level"}]
    expected = {"instance": "two", "problem": "lsap", "heuristic": "small_problems:wrong_way", "seed": 5}
    expected |= {"objective": [1], "reference": [0], "reference_kind": "optimum", "certificate": "dual", "gap": [1]}
    expected |= {"moved": 2, "cost_of": "locality-cost", "fewest": True, "nearest": True, "worths": []}
    assert {name: document[name] for name in expected} == expected
    assert [document["rest"], explain(SWAPPED, wrong_way).to_dict(most=0)["rest"]] == [
        {"chains": 0, "moves": 0, "gain": [0]},
        {"chains": 1, "moves": 2, "gain": [1]},
    ]


def chain_of(length: int) -> Lsap:
    """Tasks each of which has its data one node further on; the last node is free."""
    return Lsap(small([[task + 1] for task in range(length)], [1] * (length + 1), name="row"))


def lines(posed: Problem, nodes: list[int], most: int = 10) -> list[str]:
    """The sentences on a placement."""
    return list(explain(posed, posed.placement(nodes)).sentences(most))


def test_a_chain_of_two() -> None:
    """Tests the whole text of a chain that pushes on."""
    assert lines(chain_of(2), [0, 1]) == [
        "row, lsap: the placement has locality-cost 2 (level); the proved optimum: 0.",
        "2 tasks of 2 are placed differently; every optimum moves at least as many.",
        "  -  2 avoidable off-rack maps (2 less locality-cost), on n0, n1",
        "Each line is an independent change: it saves the same with or without the others.",
        "  1. 2 less locality-cost: t0 from n0 to n1, where its data is (pays 0, not 1), which pushes t1 "
        "to n2, where its data is (pays 0, not 1)",
        "Together: 2 less locality-cost, which is the gap.",
    ]


def test_long_lists_are_cut() -> None:
    """Tests that the rest of a long chain is counted, and that of many chains with what they gain."""
    printed = lines(chain_of(12), list(range(12)))[4]
    assert printed.count("which pushes") == 7
    assert printed.endswith(", and so on, 4 more moves")
    printed = lines(Lsap(small([[3], [4], [5]], [1] * 6, name="")), [0, 1, 2], most=1)
    assert printed[0].startswith("instance, lsap: ")
    assert printed[-2:] == [
        "     and 2 more of 2 moves: together 2 less locality-cost",
        "Together: 3 less locality-cost, which is the gap.",
    ]


def test_words_of_a_chain() -> None:
    """Tests that tasks which start or wait instead, the rack of the data, and where a cycle closes are reported."""
    workload = Workload(["t0", "t1"], replicas=Ragged.from_rows([[1], [0]]))
    cluster = Cluster(["a", "b"])
    posed = Lsap(Instance(cluster, workload, State.initial(cluster, workload, idle_slots=[1, 0])))
    assert lines(posed, [0, -1])[3] == (
        "  1. 1 less locality-cost: t1 from waiting to a, where its data is (pays 0), which pushes t0 off a, to wait"
    )
    cluster = Cluster(["a", "b", "c"], rack=[0, 1, 0], rack_ids=["r", "s"], slots=[0, 1, 1])
    workload = Workload(["t0", "t1"], replicas=Ragged.from_rows([[0], [1]]))
    posed = Lsap(Instance(cluster, workload), levels=(0, 1, 2))
    assert lines(posed, [1, 2])[4] == (
        "  1. 3 less locality-cost: t1 from c to b, where its data is (pays 0, not 2), which pushes t0 to c, "
        "in the rack of its data (pays 1, not 2), to the slot that t1 leaves"
    )


def test_steps_in_an_order() -> None:
    """Tests that ordered gains are said to depend on the order, and that components are reported by their names."""
    posed = problem("latency", generate("latency", 5, nodes=4, tasks=9, replicas=1))
    printed = lines(posed, [0] * 9)
    assert printed[3].startswith("The lines depend on their order: applied from the top")
    assert "makespan" in printed[-1]
    assert gained(posed, (-2, 3)) == "2 more makespan, 3 less work"
    assert gained(posed, (0, 0)) == "no change by itself"


def test_both_sorts_of_chains() -> None:
    """Tests that where only some lines depend on an order, it is said of how many."""
    posed = problem("lsap-fairness", generate("lsap-fairness", 4, nodes=8, tasks=14, slots=1, weights="1,2"))
    for seed in range(20):
        found = explain(posed, "rand", seed)
        if {chain.ordered for chain in found.chains} == {True, False}:
            assert "Each of the first " in str(found)
            assert f"The last {sum(chain.ordered for chain in found.chains)} line" in str(found)
            return
    raise AssertionError("no seed gives both sorts")


CLUSTER = Cluster(["a1", "a2", "b1", "b2"], rack=[0, 0, 1, -1], rack_ids=["a", "b"], slots=[2, 2, 2, 2])
WORKLOAD = Workload(["t", "u", "v", "w"], replicas=Ragged.from_rows([[0], [0], [1], []]), job=[0] * 4, job_ids=["j"])


def test_distances() -> None:
    """Tests a node with the data, one in its rack, one elsewhere or without a rack, and a task without data."""
    problem = Lsap(Instance(CLUSTER, WORKLOAD), levels=(0, 1, 2))
    assert [data_distance(problem, 0, node) for node in range(4)] == ["node", "rack", "off_rack", "off_rack"]
    assert data_distance(problem, 3, 0) is None


def test_avoidable_maps() -> None:
    """Tests those farthest first, with what they cost by themselves, if anything; what waits or is as far is none."""
    problem = Lsap(Instance(CLUSTER, WORKLOAD), levels=(0, 1, 2))
    here, there = np.array([2, 1, 2, 3]), np.array([0, 0, 1, 3])
    off_rack, rack = causes_of(problem, here, there)
    assert (off_rack.data, off_rack.positions, off_rack.gain) == ("off_rack", (0, 2), 4)
    assert (dict(off_rack.nodes), dict(off_rack.racks)) == ({"b1": 2}, {"b": 2})
    assert (rack.data, rack.positions, rack.gain) == ("rack", (1,), 1)
    assert causes_of(problem, there, there) == []
    assert causes_of(problem, there, here) == []
    assert causes_of(problem, np.array([-1, 2, 1, 3]), np.array([0, -1, 1, 3])) == []
    workload = Workload(
        ["t", "u"], replicas=Ragged.from_rows([[0], [0]]), job=[0, 0], job_ids=["j"], job_group=[0], group_ids=["g"]
    )
    (cause,) = causes_of(WorstGroup(Instance(CLUSTER, workload)), np.array([2, 0]), np.array([0, 0]))
    assert (cause.data, cause.positions) == ("off_rack", (0,))
