"""`flow-congestion`: the formula by hand, the paper's rates, reduces, patterns, bounds, what is refused."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import given, settings

from optsched.core.errors import InputError, MissingField, TooLarge
from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Workload,
)
from optsched.core.placement import NONE
from optsched.core.results import Violation
from optsched.problems import Flow, FlowCongestion, flow_congestion
from optsched.solvers.searches.enumeration import best_placement


def two_nodes(slots: int | list[int] = 4, **columns: Any) -> Cluster:
    """Nodes n1 and n2 of 85 MB/s."""
    given: dict[str, Any] = {
        "slots": [slots, slots] if isinstance(slots, int) else slots,
        "rate_in": [85.0, 85.0],
        "rate_out": [85.0, 85.0],
    }
    return Cluster(["n1", "n2"], **{**given, **columns})


def posed(running: list[list[float]], rates: list[float], slots: int = 4, **parameters: Any) -> FlowCongestion:
    """Maps without replicas, and the rates of what runs on two nodes."""
    workload = Workload([f"t{task}" for task in range(len(rates))], rate_in=rates)
    rows = Ragged.from_rows(running, float)
    return FlowCongestion(Instance.initial(two_nodes(slots), workload, running_rates=rows), **parameters)


def test_violations_say_by_how_much() -> None:
    """Tests the amounts: maps missing to as many as there are slots for, and maps beyond a node's own slots."""
    problem = posed([[], []], [1.0] * 5, slots=2)
    few = Violation("cardinality", ("map",), 1)
    for nodes, expected in (
        ([NONE] * 5, [Violation("cardinality", ("map",), 4)]),
        ([0, 0, 1, NONE, NONE], [few]),
        ([0, 0, 0, 0, 1], [Violation("slots", ("n1",), 2)]),
        ([1, 1, 1, NONE, NONE], [Violation("slots", ("n2",), 1), few]),
    ):
        assert problem.violations(problem.placement(nodes)) == expected
    program, over = problem.program(), problem.placement([0, 0, 0, 0, 1])
    assert program.broken(problem.values_of(over, program)) is not None


def test_slots_of_their_own() -> None:
    """Tests that maps and reduces have slots of their own, with their violations, and what is offered of either."""
    workload = Workload(["m", "r"], kind=[MAP, REDUCE], rate_in=[1.0, 10.0])
    state = {"idle_slots": [0, 1], "idle_reduce_slots": [1, 0]}
    problem = FlowCongestion(Instance.initial(two_nodes(), workload, **state))
    assert problem.due == 2
    assert {kind: slots.tolist() for kind, slots in problem.offered.items()} == {"map": [0, 1], "reduce": [1, 0]}
    for nodes, expected in (
        ([0, 1], ["slots(n1) by 1", "reduce-slots(n2) by 1"]),
        ([1, NONE], ["cardinality(reduce): 1 task too few placed"]),
        ([NONE, 0], ["cardinality(map): 1 task too few placed"]),
        ([1, 0], []),
    ):
        assert [str(entry) for entry in problem.violations(problem.placement(nodes))] == expected


@given(strategies.problems("flow-congestion"))
def test_the_cheap_bound(problem: FlowCongestion) -> None:
    """Tests that no placement costs less than every task alone on its best node."""
    (cheap,) = problem.cheap_bounds()
    assert (cheap.name, cheap.component) == ("best-node", "penalty")
    assert 0 <= cheap.value <= best_placement(problem)[0][0]


@given(strategies.instances("flow-congestion"))
def test_frozen_units_are_those_of_flow(instance: Instance) -> None:
    """Tests that with loads frozen a map costs what it does in `flow`, up to a rounding, where no reduce runs."""
    if not ((instance.workload.kind == REDUCE) & (instance.state.status != FINISHED)).any():
        flow, problem = (kind(replace(instance, parameters={})) for kind in (Flow, FlowCongestion))
        frozen = problem.frozen_units[problem.classes.of_task]
        assert np.array_equal(problem.idle_nodes, flow.idle_nodes)
        assert np.abs(frozen - flow.class_units[flow.classes().of_task]).max(initial=0) <= 1


@settings(max_examples=40)
@given(strategies.problems("flow-congestion"))
def test_every_set_once(problem: FlowCongestion) -> None:
    """Tests that patterns are all sets within slots and supply, once each, the empty one first and free."""
    for host, column in enumerate(problem.hosts.first.tolist()):
        slots = problem.slots[:, problem.idle_nodes[column]]
        ranges = [range(size + 1) for size in problem.types.size.tolist()]
        expected = {
            amounts
            for amounts in itertools.product(*ranges)
            if all(np.array(amounts)[problem.type_kind == kind].sum() <= slots[kind] for kind in (MAP, REDUCE))
        }
        found = [tuple(row) for row in problem.patterns(host).tolist()]
        assert (set(found), len(found)) == (expected, len(expected))
        assert not any(found[0])
        assert problem.pattern_units(host)[0] == 0


@pytest.mark.parametrize(("name", "limit"), [("MOST_PATTERNS", 5), ("MOST_ENTRIES", 7)])
def test_too_many_patterns(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that too many patterns, or too long lists of them, are refused with their number and what to do."""
    monkeypatch.setattr(flow_congestion, name, limit)
    problem = posed([[1.0], []], [1.0, 2.0], slots=2)
    text = "2 types of tasks make 8 patterns on 2 different nodes, too many to list; round the rates"
    with pytest.raises(TooLarge, match=text):
        problem.patterns(0)
    assert problem.evaluate(problem.placement([0, 1]))[0] > 0


@pytest.mark.parametrize("held", [0, 1])
def test_least_cost_is_that_of_an_idle_node_with_a_slot(held: int) -> None:
    """Tests that a map costs at least what it does on an idle node, and only nodes with a slot for maps count.

    Node n1 has a slot for a reduce alone: a map goes to n2, whether its block lies there or not.
    """
    cluster = two_nodes(slots=[0, 1], reduce_slots=[1, 0])
    rates = {"rate_in": [5.0, 5.0], "kind": [MAP, REDUCE], "job": [0, -1], "job_ids": ["j"]}
    workload = Workload(["m", "r"], replicas=Ragged.from_rows([[held], []]), **rates)
    problem = FlowCongestion(Instance(cluster, workload))
    map_class = int(problem.classes.of_task[0])
    on_n2 = problem.frozen_units[map_class, problem.idle_nodes.tolist().index(1)]
    assert problem.least_units()[map_class] == on_n2
    assert on_n2 > 0


def test_hosts_and_classes() -> None:
    """Tests that equal nodes are one host and equal tasks one class; loads, slots and where blocks lie tell apart."""
    cluster = Cluster(["a", "b", "c", "d"], slots=[2, 2, 2, 3], rate_in=[85.0] * 4, rate_out=[85.0] * 4)
    running = Ragged.from_rows([[1.0, 3.0], [3.0, 1.0], [], [1.0, 3.0]], float)
    workload = Workload(list("tuvw"), rate_in=[1.0] * 4, replicas=Ragged.from_rows([[2], [2], [3, 2], [2, 3]]))
    problem = FlowCongestion(Instance.initial(cluster, workload, running_rates=running))
    assert problem.hosts.of_task.tolist() == [0, 0, 1, 2]
    assert problem.classes.of_task.tolist() == [0, 0, 1, 1]
    members = next(group.members for group in problem.program().groups if group.name == "members")
    assert (len(members), [list(names) for names in members.values()]) == (2, [["t", "u"], ["v", "w"]])
    assert problem.types.size.tolist() == [4]


def test_hosts_that_only_reading_tells_apart_share_their_loads() -> None:
    """Tests two nodes that differ in whose data they hold: patterns and what they load are listed once."""
    cluster = two_nodes(slots=2)
    workload = Workload(["t"], rate_in=[1.0], replicas=Ragged.from_rows([[0]]))
    problem = FlowCongestion(Instance(cluster, workload))
    assert problem.hosts.of_task.tolist() == [0, 1]
    assert problem.pattern_units(0) is problem.pattern_units(1)


@pytest.mark.parametrize(
    ("columns", "rates", "faults"),
    [
        ({}, [np.nan, 1.0], ["tasks[0].rate_in: flow-congestion needs the task's input rate in MB/s"]),
        ({}, [1.0, np.nan], ["tasks[1].rate_in: flow-congestion needs the task's input rate in MB/s"]),
        (
            {"rate_in": [np.nan, 85.0], "rate_out": [85.0, np.nan]},
            [1.0, 1.0],
            [
                "nodes[0].rate_in: flow-congestion needs a positive rate, or scale=1 (literal)",
                "nodes[1].rate_out: flow-congestion needs a positive rate: tasks read their blocks from this node",
            ],
        ),
    ],
)
def test_missing_fields(columns: dict[str, Any], rates: list[float], faults: list[str]) -> None:
    """Tests that rates of pending maps and reduces, of nodes with slots, and of sources of reduces are asked for."""
    cluster = two_nodes(**columns)
    workload = Workload(
        ["m", "r", "a"], kind=[MAP, REDUCE, MAP], rate_in=[*rates, np.nan], shuffle=Shuffle([2], [1], [5.0])
    )
    with pytest.raises(MissingField) as caught:
        FlowCongestion(Instance.initial(cluster, workload, status=[PENDING, PENDING, FINISHED], node=[-1, -1, 1]))
    assert [str(fault) for fault in caught.value.faults] == faults


@pytest.mark.parametrize("kind", [MAP, REDUCE])
def test_one_idle_slot_needs_its_rate(kind: int) -> None:
    """Tests that a node with a single idle slot of the task's kind is asked for its rate."""
    slots = {"slots": [int(kind == MAP), 1], "reduce_slots": [int(kind == REDUCE), 1]}
    instance = Instance(two_nodes(rate_in=[np.nan, 85.0], **slots), Workload(["t"], kind=[kind], rate_in=[1.0]))
    with pytest.raises(MissingField, match=r"nodes\[0\]\.rate_in"):
        FlowCongestion(instance)


def test_what_is_not_missed() -> None:
    """Tests that reduce slots ask for nothing where no reduce waits, nor types of nodes without a slot."""
    cluster = two_nodes(rate_in=[85.0, np.nan], type=[0, 1], type_ids=["c1", "c2"])
    workload = Workload(["m"], rate_in_by_type=[[1.0, np.nan]])
    instance = Instance.initial(cluster, workload, idle_slots=[1, 0])
    assert FlowCongestion(instance).idle_nodes.tolist() == [0]


def test_rates_of_a_kind_without_slots() -> None:
    """Tests that a reduce's rate is not asked for on a node that has slots for maps only."""
    cluster = two_nodes(type=[0, 1], type_ids=["c1", "c2"])
    workload = Workload(["m", "r"], kind=[MAP, REDUCE], rate_in_by_type=[[1.0, 2.0], [np.nan, 3.0]])
    state = State.initial(cluster, workload, idle_slots=[1, 1], idle_reduce_slots=[0, 1])
    problem = FlowCongestion(Instance(cluster, workload, state))
    assert problem.type_rates.tolist() == [[1.0, 2.0], [0.0, 3.0]]


@pytest.mark.parametrize(("rate_out", "parameters"), [(85.0, {"scale": 1}), (85.0, {"scale": 1e-300}), (5e-324, {})])
def test_costs_past_exact_arithmetic(rate_out: float, parameters: dict[str, Any]) -> None:
    """Tests that rates whose costs might pass exact arithmetic, or are infinite, are refused."""
    workload = Workload(["t"], rate_in=[2.0**33], replicas=Ragged.from_rows([[0]]))
    instance = Instance.initial(two_nodes(rate_out=[rate_out] * 2), workload, out_in_use=[1.0, 1.0])
    with pytest.raises(InputError, match=r"past 2\^53/1048576; scale the rates down"):
        FlowCongestion(instance, **parameters)
