"""Tests of the noun `Instance`: defaults, read-only columns, sharing, digests, and every fault it finds."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from optsched.errors import InputError
from optsched.instance import (
    FINISHED,
    MAP,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Pairs,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)


def test_defaults() -> None:
    """Tests that what is not given takes the defaults of the format."""
    instance = Instance(Cluster(["n1", "n2"]), Workload(["t1"]))
    assert instance.cluster.slots.tolist() == [1, 1]
    assert instance.state.idle_slots.tolist() == [1, 1]
    assert instance.state.load.tolist() == [0, 0]
    assert instance.workload.kind.tolist() == [MAP]
    assert instance.workload.group.tolist() == [-1]
    assert len(instance.replicas[0]) == 0
    assert np.isnan(instance.workload.size).all()
    assert len(instance.cluster.running_rates) == 2
    assert str(instance) == "instance: 1 tasks, 2 nodes"


def test_columns_are_read_only_and_private() -> None:
    """Tests that no array of an instance can be written to, and that it does not share one that can."""
    slots, ids, matrix = np.array([1, 2]), np.array(["a", "b"]), np.zeros((2, 2))
    cluster = Cluster(ids, slots=slots, capacity={"cpu": slots * 1.0}, topology=Topology("distance", matrix))
    workload = Workload(
        ["t"],
        demand={"cpu": np.ones(1)},
        pairs=Pairs(np.zeros((1, 2)), {"cpu": np.zeros((1, 2))}, np.ones((1, 2), dtype=bool)),
    )
    instance = Instance(cluster, workload)
    slots[0], ids[0], matrix[0, 0] = 9, "z", 9
    assert cluster.slots.tolist() == [1, 2]
    assert cluster.node_ids.tolist() == ["a", "b"]
    assert cluster.topology is not None
    assert cluster.topology.matrix is not None
    assert workload.pairs is not None
    arrays = [*vars(cluster).values(), *vars(workload).values(), *vars(instance.state).values()]
    arrays += [*cluster.capacity.values(), *workload.demand.values(), cluster.topology.matrix]
    arrays += [workload.pairs.cost, workload.pairs.allowed, *workload.pairs.demand.values()]
    arrays += [instance.replicas.starts, instance.replicas.values]
    for array in arrays:
        if isinstance(array, np.ndarray):
            assert not array.flags.writeable
    with pytest.raises(TypeError):
        instance.parameters["lsap"] = {}  # type: ignore[index]


def test_read_only_columns_are_shared() -> None:
    """Tests that arrays that are read-only already are not copied."""
    load = np.array([1.0])
    load.setflags(write=False)
    cluster, workload = Cluster(["a"]), Workload([])
    assert State.initial(cluster, workload, load=load).load is load


def test_states_share_the_static_part() -> None:
    """Tests that another state shares cluster, workload and parameters, and has a digest of its own."""
    instance = Instance(Cluster(["a"]), Workload(["t"]), parameters={"lsap": {"levels": (0, 1)}})
    assert instance.sha256
    other = instance.with_state(State.initial(instance.cluster, instance.workload, load=[2.0]))
    assert other.cluster is instance.cluster
    assert other.workload is instance.workload
    assert other.sha256 != instance.sha256
    again = other.with_state(instance.state)
    assert again.sha256 == instance.sha256
    assert instance.with_parameters({"lsap": {"levels": [0.0, 1]}}).sha256 == instance.sha256


def test_digest_reads_what_a_problem_may_read() -> None:
    """Tests that every column counts for the digest, and that name, labels and ways of writing a number do not."""
    cluster, workload = Cluster(["a", "b"], rack=[0, 1], rack_ids=["r", "s"]), Workload(["t"])
    base = Instance(cluster, workload)
    assert Instance(cluster, workload, name="x", labels={"a": "b"}, source="y").sha256 == base.sha256
    state = State.initial(cluster, workload, load=[-0.0, 0.0])
    assert Instance(cluster, workload, state).sha256 == base.sha256
    others = [
        Instance(cluster, workload, time=1),
        Instance(cluster, workload, parameters={"lsap": {}}),
        Instance(Cluster(["a", "c"], rack=[0, 1], rack_ids=["r", "s"]), workload),
        Instance(Cluster(["a", "b"], rack=[0, 1], rack_ids=["s", "r"]), workload),
        Instance(Cluster(["a", "b"], rack=[0, 0], rack_ids=["r"]), workload),
        Instance(cluster, Workload(["t"], size=[1.0])),
        Instance(cluster, Workload(["t"], replicas=Ragged.from_rows([[0]]))),
        Instance(cluster, Workload(["t"], demand={"cpu": [1.0]})),
        Instance(cluster, Workload(["t"], demand={"io": [1.0]})),
        Instance(cluster, Workload(["t"], demand_shuffle={"io": [1.0]})),
    ]
    assert len({other.sha256 for other in [base, *others]}) == 1 + len(others)


def test_what_says_nothing_is_left_out() -> None:
    """Tests that resources without a number, empty shuffles and empty pairs are as if they were not given."""
    cluster = Cluster(["a"], capacity={"cpu": [np.nan]})
    nothing = np.zeros(0)
    workload = Workload(
        ["t"],
        rate_in_by_type=np.full((1, 3), np.nan),
        shuffle=Shuffle(nothing.astype(int), nothing.astype(int), nothing, nothing),
        pairs=Pairs(),
    )
    assert Instance(cluster, workload).sha256 == Instance(Cluster(["a"]), Workload(["t"])).sha256


def test_pickling_keeps_everything() -> None:
    """Tests that an instance survives pickling, for sweeps over processes, and is read-only again."""
    instance = Instance(
        Cluster(["a"], capacity={"cpu": [2.0]}, topology=Topology("hops", hops={"node": 0, "rack": 1, "off_rack": 2})),
        Workload(["t"], replicas=Ragged.from_rows([[0]]), size=[3.0], pairs=Pairs(np.zeros((1, 1)))),
        parameters={"lsap": {"levels": [0, 1, 2]}},
        labels={"a": "b"},
        time=4,
    )
    again = pickle.loads(pickle.dumps(instance))
    assert again.sha256 == instance.sha256
    assert again.labels == instance.labels
    assert again.parameters == instance.parameters
    assert not again.workload.size.flags.writeable


def test_indices() -> None:
    """Tests that nodes and tasks are found by id, and tasks find their group through their job."""
    workload = Workload(["t1", "t2", "t3"], job=[1, 0, -1], job_ids=["j1", "j2"], job_group=[-1, 0], group_ids=["g"])
    instance = Instance(Cluster(["a", "b"]), workload)
    assert instance.node_index["b"] == 1
    assert instance.task_index["t3"] == 2
    assert workload.group.tolist() == [0, -1, -1]


def test_ragged_rows() -> None:
    """Tests rows, taking rows, and transposing, against lists."""
    rows = [[2, 0], [], [1], [2, 1, 0]]
    ragged = Ragged.from_rows(rows)
    assert [row.tolist() for row in ragged] == rows
    assert ragged.lengths.tolist() == [2, 0, 1, 3]
    assert ragged.row_of.tolist() == [0, 0, 2, 3, 3, 3]
    assert [row.tolist() for row in ragged.take([3, 1, 0])] == [rows[3], rows[1], rows[0]]
    assert [row.tolist() for row in ragged.transposed(4)] == [[0, 3], [2, 3], [0, 3], []]
    assert [row.tolist() for row in Ragged.empty(2)] == [[], []]


def cluster(**columns: Any) -> Cluster:
    """Three nodes of two types in one rack."""
    return Cluster(["n1", "n2", "n3"], **{"type": [0, 1, 0], "type_ids": ["c1", "c2"], **columns})


def workload(**columns: Any) -> Workload:
    """Two maps and a reduce."""
    return Workload(["t1", "t2", "t3"], **{"kind": [MAP, MAP, REDUCE], **columns})


def instance_of(nodes: Cluster | None = None, tasks: Workload | None = None, **rest: Any) -> Instance:
    """An instance of the two, with a state of the given columns."""
    nodes, tasks = nodes or cluster(), tasks or workload()
    state = State.initial(nodes, tasks, **rest.pop("state", {}))
    return Instance(nodes, tasks, state, **rest)


LONG = Ragged.from_rows([[0, 1, 2], [0, 1, 2, 0, 1, 2, 0, 1, 2, 0], []])
NAN = np.nan


@pytest.mark.parametrize(
    ("make", "faults"),
    [
        (lambda: Instance(Cluster(["a", "b", "a"]), Workload([])), ['nodes[2].id: "a" is the id of nodes[0] already']),
        (
            lambda: Instance(Cluster(["", "a\nb", "é", "é"]), Workload([])),
            [
                "nodes[0].id: '' must be a non-empty string of printable characters",
                "nodes[1].id: 'a\\nb' must be a non-empty string of printable characters",
                'nodes[3].id: "é" is the id of nodes[2] already',
            ],
        ),
        (
            lambda: Instance(Cluster(["a\0b"]), Workload([])),
            ["nodes[0].id: 'a\\x00b' must be a non-empty string of printable characters"],
        ),
        (lambda: Cluster(np.array([["a"]])), ["node_ids: has shape (1, 1): give one id a record, in one dimension"]),
        (
            lambda: instance_of(cluster(slots=[1, 2])),
            [
                "nodes.slots: has shape (2,) where the table has 3 records",
                "nodes.idle_slots: has shape (2,) where the table has 3 records",
            ],
        ),
        (
            lambda: instance_of(cluster(rack=[0, -1, -2])),
            [
                "nodes[0].rack: there is no entry 0 to refer to",
                "nodes[2].rack: there is no entry -2 to refer to",
            ],
        ),
        (lambda: instance_of(cluster(rack_ids=["r", "r"])), ['rack_ids[1].id: "r" is the id of rack_ids[0] already']),
        (
            lambda: instance_of(cluster(slots=[1, -1, 1]), state={"idle_slots": [1, 0, 0]}),
            [
                "nodes[1].slots: -1 is negative",
                "nodes[1].idle_slots: 0 is more than its -1 slots",
            ],
        ),
        (
            lambda: instance_of(cluster(rate_in=[NAN, -0.5, np.inf])),
            [
                "nodes[1].rate_in: -0.5 is negative",
                "nodes[2].rate_in: inf is past 2^53",
            ],
        ),
        (
            lambda: instance_of(cluster(out_in_use=[0, NAN, 0])),
            [
                "nodes[1].out_in_use: is no number; where nothing is known it is 0",
            ],
        ),
        (
            lambda: instance_of(cluster(capacity={"": [1.0, 1, 1]})),
            [
                "nodes.capacity: '' names no resource: give a non-empty string of printable characters",
            ],
        ),
        (
            lambda: instance_of(cluster(running_rates=Ragged.from_rows([[1.0]], float))),
            [
                "nodes.running_rates: the row starts must run from 0 to 1 over 3 rows",
            ],
        ),
        (
            lambda: instance_of(cluster(running_rates=Ragged.from_rows([[], [1.0, -2.0], [NAN]], float))),
            [
                "nodes[1].running_rates[1]: -2.0 must be a rate in MB/s, 0 or more",
                "nodes[2].running_rates[0]: nan must be a rate in MB/s, 0 or more",
            ],
        ),
        (lambda: instance_of(tasks=workload(kind=[0, 1, 2])), ["tasks[2].kind: there is no entry 2 to refer to"]),
        (
            lambda: instance_of(tasks=workload(replicas=Ragged(np.array([0, 2, 1, 2]), np.array([0, 1])))),
            [
                "tasks.replicas: the row starts must run from 0 to 2 over 3 rows",
            ],
        ),
        (
            lambda: instance_of(tasks=workload(replicas=Ragged.from_rows([[0], [2, 3], [1, 1, -1]]))),
            [
                "tasks[1].replicas[1]: there is no node 3",
                "tasks[2].replicas[2]: there is no node -1",
                'tasks[2].replicas[1]: node "n2" is named twice',
            ],
        ),
        (
            lambda: instance_of(tasks=workload(replicas=Ragged.from_rows([[0, 1, 0], [1], [7, 7]]))),
            [
                "tasks[2].replicas[0]: there is no node 7",
                "tasks[2].replicas[1]: there is no node 7",
                'tasks[0].replicas[2]: node "n1" is named twice',
                'tasks[2].replicas[1]: node "7" is named twice',
            ],
        ),
        (
            lambda: instance_of(tasks=workload(replicas=LONG)),
            [f'tasks[1].replicas[{place}]: node "n{place % 3 + 1}" is named twice' for place in range(3, 10)],
        ),
        (
            lambda: instance_of(tasks=workload(arrival=[0.0])),
            ["jobs.arrival: has shape (1,) where the table has 0 records"],
        ),
        (
            lambda: instance_of(tasks=workload(group_ids=["g"], group_running_tasks=[-2])),
            [
                "groups[0].running_tasks: -2 is negative",
            ],
        ),
        (
            lambda: instance_of(state={"status": [RUNNING, 0, FINISHED], "node": [-1, 2, -1]}),
            [
                "tasks[0].node: a running task needs the node it runs on",
                "tasks[1].node: a pending task runs on no node; leave it out, or set its state",
            ],
        ),
        (
            lambda: instance_of(
                cluster(running_rates=Ragged.from_rows([[], [1.0], []], float)),
                workload(job=[0, 0, -1], job_ids=["j"], job_group=[0], group_ids=["g"], group_running_tasks=[0]),
                state={"status": [RUNNING, RUNNING, 0], "node": [1, 1, -1]},
            ),
            [
                "nodes[1].running_rates: stands for running tasks, but tasks[0] runs too and is listed; "
                "give one form or the other",
                "groups[0].running_tasks: stands for running tasks, but tasks[0] runs too and is listed; "
                "give one form or the other",
            ],
        ),
        (
            lambda: instance_of(tasks=workload(rate_in_by_type=np.ones((3, 1)))),
            [
                "tasks.rate_in: has shape (3, 1), not tasks x types (3, 2)",
            ],
        ),
        (
            lambda: instance_of(
                cluster(type_ids=["c1", "c2", "c3"]),
                workload(rate_in=[1.0, NAN, NAN], rate_in_by_type=[[NAN, 1, NAN], [-1, NAN, NAN], [NAN, NAN, 2]]),
            ),
            [
                "tasks[1].rate_in.c1: -1.0 must be 0 up to 2^53",
                "tasks[0].rate_in: is given both as one number and by node type; give one of them",
                'tasks[2].rate_in.c3: no node is of type "c3"',
            ],
        ),
        (
            lambda: instance_of(
                tasks=workload(pairs=Pairs(np.ones((3, 2)), {"cpu": np.ones((3, 3))}, np.ones((1, 1))))
            ),
            [
                "pairs.demand.cpu: no node has this resource in its capacity",
                "pairs.allowed: has shape (1, 1), not tasks x nodes (3, 3)",
                "pairs.cost: has shape (3, 2), not (3, 3)",
            ],
        ),
        (
            lambda: instance_of(
                cluster(capacity={"cpu": [1.0, 1, 1]}),
                workload(
                    pairs=Pairs([[-1.0, 2.0**54, 0], [0, 0, NAN], [0] * 3], {"cpu": [[-1.0, 0, 0], [0] * 3, [0] * 3]})
                ),
            ),
            [
                "pairs.cost[0][1]: 1.8014398509481984e+16 must be a number up to 2^53",
                "pairs.cost[1][2]: nan must be a number up to 2^53",
                "pairs.demand.cpu[0][0]: -1.0 must be a number, 0 or more, up to 2^53",
            ],
        ),
        (
            lambda: instance_of(cluster(topology=Topology("distance", np.ones((3, 3))))),
            [f"topology.distance[{row}][{row}]: the distance of a node to itself must be 0" for row in range(3)],
        ),
        (lambda: instance_of(cluster(topology=Topology("rate"))), ["topology.rate: has shape (0,), not (3, 3)"]),
        (
            lambda: instance_of(cluster(topology=Topology("hops", hops={"node": 0, "rack": -1, "x": 2}))),
            [
                "topology.hops.rack: -1 must be a distance, 0 or more",
                "topology.hops.off_rack: None must be a distance, 0 or more",
                "topology.hops.x: is none of node, rack, off_rack",
            ],
        ),
        (
            lambda: instance_of(cluster(topology=Topology("links", links=(("n1", "", 1), ("n1", "s", 0))))),
            [
                "topology.links[0].to: '' must be a non-empty, printable name",
                "topology.links[1].rate: 0 must be a rate in MB/s above 0",
            ],
        ),
        (
            lambda: instance_of(tasks=workload(shuffle=Shuffle([0], [2, 2], [1.0], [NAN]))),
            [
                "shuffle.reduce: has shape (2,), not (1,)",
            ],
        ),
        (
            lambda: instance_of(tasks=workload(shuffle=Shuffle([0, 2, 5], [2, 1, -1], [1.0, -1, NAN], [NAN] * 3))),
            [
                "shuffle[2].map: there is no task 5",
                'shuffle[1].map: task "t3" is no map',
                "shuffle[2].reduce: there is no task -1",
                'shuffle[1].reduce: task "t2" is no reduce',
                "shuffle[1].size: -1.0 is negative",
                "shuffle[2].size: is not given",
            ],
        ),
        (lambda: instance_of(time=NAN), ["time: nan is no instant between -2^53 and 2^53"]),
        (lambda: instance_of(time=True), ["time: True is no instant between -2^53 and 2^53"]),
        (
            lambda: instance_of(name=3, labels={"a": 1}),
            ["name: expected a text, got 3", "labels.a: expected a text, got 1"],
        ),
        (
            lambda: instance_of(description="\ud800"),
            ["description: '\\ud800' holds half a character (a lone surrogate)"],
        ),
        (
            lambda: instance_of(parameters={"p": 1, "q": {"a": {1}, "b": [np.int64(3), NAN], 5: None}}),
            [
                "parameters.p: expected an object, got 1",
                "parameters.q.a: {1} cannot be written as JSON; use numbers, texts, lists and objects",
                "parameters.q.b[1]: nan must be a number between -2^53 and 2^53",
                "parameters.q.5: expected a text, got 5",
            ],
        ),
    ],
)
def test_each_fault_has_its_place(make: Callable[[], Any], faults: list[str]) -> None:
    """Tests that each kind of fault is found, whatever the instance was made from, with its place and value."""
    with pytest.raises(InputError) as caught:
        make()
    assert [str(fault) for fault in caught.value.faults] == faults


def test_parameters_become_plain() -> None:
    """Tests that numbers of NumPy and tuples in parameters become what a file would give."""
    instance = instance_of(parameters={"lsap": {"levels": (np.int64(0), np.float64(1.5)), "deep": {"a": True}}})
    assert dict(instance.parameters["lsap"]) == {"levels": [0, 1.5], "deep": {"a": True}}
    assert all(type(level) in (int, float) for level in instance.parameters["lsap"]["levels"])


def test_ids_of_any_alphabet_and_length() -> None:
    """Tests that sound ids pass, also where they take the slow check, and that equal hashes would not mislead."""
    names = ["a", "ab", "b", "ba", "é", "日本", "a b", "x" * 200]
    assert Instance(Cluster(names), Workload([])).cluster.node_ids.tolist() == names
    wide = np.array(["n1", "n2"], dtype="<U100")
    assert Cluster(wide).node_ids.dtype == np.dtype("<U2")
    assert Cluster(np.array(["n1"], dtype=">U2")).node_ids.tolist() == ["n1"]
    assert Cluster([1, 2]).node_ids.tolist() == ["1", "2"]
