"""What can be wrong with an instance, whatever it was made from: every fault with its place."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from input_files import cut

from optsched.core.errors import InputError
from optsched.core.instance import (
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


Make = Callable[[], Instance]


def nodes(state: dict[str, Any] | None = None, **columns: Any) -> Make:
    """Makes an instance with these columns of nodes."""
    return lambda: instance_of(cluster(**columns), state=state or {})


def tasks(state: dict[str, Any] | None = None, **columns: Any) -> Make:
    """Makes an instance with these columns of tasks, jobs and groups."""
    return lambda: instance_of(tasks=workload(**columns), state=state or {})


def at(**columns: Any) -> Make:
    """Makes an instance in this state."""
    return lambda: instance_of(state=columns)


LONG = Ragged.from_rows([[0, 1, 2], [0, 1, 2, 0, 1, 2, 0, 1, 2, 0], []])


NAN = np.nan
TWO = Shuffle([0, 1], [2, 2], [1, 2])


@pytest.mark.parametrize(
    ("make", "faults"),
    [
        (lambda: Instance(Cluster(["a", "b", "a"]), Workload([])), ['nodes[2].id: "a" is the id of nodes[0] already']),
        (
            lambda: Instance(Cluster(["", "a\nb", "é", "é", "a\0b"]), Workload([])),
            [
                "nodes[0].id: '' must be a non-empty string of printable characters",
                "nodes[1].id: 'a\\nb' must be a non-empty string of printable characters",
                'nodes[3].id: "é" is the id of nodes[2] already',
                "nodes[4].id: 'a\\x00b' must be a non-empty string of printable characters",
            ],
        ),
        (nodes(slots=[1, 2]), ["nodes.slots: has shape (2,), not nodes (3,)", "nodes.idle_slots: has shape (2,), not"]),
        (
            lambda: Cluster(["n1"], slots=[1.5], rate_in="fast", capacity=[4]),  # type: ignore[arg-type,return-value]
            [
                "nodes.slots: expected whole numbers, got [1.5]",
                "nodes.rate_in: expected numbers, got 'fast'",
                "nodes.capacity: expected numbers by resource, got [4]",
            ],
        ),
        (tasks(kind=[0, NAN, 1]), ["tasks.kind: expected whole numbers, got [0, nan, 1]"]),
        (nodes(slots=[Fraction(3, 2), 1, 1]), ["nodes.slots: expected whole numbers, got [Fraction(3, 2), 1, 1]"]),
        (lambda: Shuffle([0], None, None), ["shuffle.reduce: is missing: give one", "shuffle.size: is missing: give"]),  # type: ignore[arg-type,return-value]
        (tasks(replicas=[0, 1]), ["tasks.replicas: expected whole numbers in rows, got [0, 1]"]),
        (nodes(rack=[0, -1, -2]), ["nodes[0].rack: there is no rack 0", "nodes[2].rack: there is no rack -2"]),
        (
            nodes({"idle_slots": [1, 0, 0]}, slots=[1, -1, 1]),
            ["nodes[1].slots: -1 is negative", "nodes[1].idle_slots: 0 is more than its -1 slots"],
        ),
        (nodes(rate_in=[NAN, -0.5, np.inf]), ["nodes[1].rate_in: -0.5 is", "nodes[2].rate_in: inf is past"]),
        (at(out_in_use=[0, NAN, 0]), ["nodes[1].out_in_use: is no number; where nothing is known it is 0"]),
        (nodes(capacity={"": [1.0, 1, 1]}), ["nodes.capacity: '' names no resource: give a non-empty string of"]),
        (at(running_rates=Ragged.from_rows([[1.0]], float)), ["nodes.running_rates: the row starts must run from 0"]),
        (
            at(running_rates=Ragged.from_rows([[], [1.0, -2.0], [NAN]], float)),
            ["nodes[1].running_rates[1]: -2.0 is negative", "nodes[2].running_rates[0]: is no number"],
        ),
        (tasks(kind=[0, 1, 2]), ["tasks[2].kind: there is no kind 2"]),
        (tasks(replicas=Ragged(np.array([0, 2, 1, 2]), np.array([0, 1]))), ["tasks.replicas: the row starts must run"]),
        (
            tasks(replicas=Ragged.from_rows([[0], [2, 3], [1, 1, -1]])),
            [
                "tasks[1].replicas[1]: there is no node 3",
                "tasks[2].replicas[2]: there is no node -1",
                'tasks[2].replicas[1]: node "n2" is named twice',
            ],
        ),
        (tasks(replicas=LONG), [f"tasks[1].replicas[{position}]: node" for position in range(3, 10)]),
        (tasks(arrival=[0.0]), ["jobs.arrival: has shape (1,), not jobs (0,)"]),
        (tasks({"group_running_tasks": [-2]}, group_ids=["g"]), ["groups[0].running_tasks: -2 is negative"]),
        (at(status=[RUNNING, 0, FINISHED], node=[-1, 2, -1]), ["tasks[0].node: a running", "tasks[1].node: a pending"]),
        (
            tasks(times=[[0.0, NAN, 2**54], [NAN, NAN, NAN], [-1, 2, NAN]]),
            [
                "tasks[2].times.node: -1.0 is negative",
                "tasks[0].times.off_rack: 1.8014398509481984e+16 is past 2^53",
                "tasks[0].times.rack: is not given; give node, rack, off_rack or none of them",
                "tasks[2].times.off_rack: is not given; give node, rack, off_rack or none of them",
            ],
        ),
        (tasks(times=np.ones((3, 2))), ["tasks.times: has shape (3, 2), not tasks x levels of locality (3, 3)"]),
        (tasks(rate_in_by_type=np.ones((3, 1))), ["tasks.rate_in: has shape (3, 1), not tasks x types (3, 2)"]),
        (
            lambda: instance_of(
                cluster(type_ids=["c1", "c2", "c3"]),
                workload(rate_in=[1.0, NAN, NAN], rate_in_by_type=[[NAN, 1, NAN], [-1, NAN, NAN], [NAN, NAN, 2]]),
            ),
            [
                "tasks[1].rate_in.c1: -1.0 is negative",
                "tasks[0].rate_in: is given both as one number and by node type; give one of them",
                'tasks[2].rate_in.c3: no node is of type "c3"',
            ],
        ),
        (
            tasks(pairs=Pairs(np.ones((3, 2)), {"cpu": np.ones((3, 3))}, np.ones((1, 1)))),
            ["pairs.cost: has shape (3, 2)", "pairs.allowed: has shape (1", "pairs.demand.cpu: no node has"],
        ),
        (
            lambda: instance_of(
                cluster(capacity={"cpu": [1.0, 1, 1]}),
                workload(
                    pairs=Pairs([[-1.0, 2.0**54, 0], [0, 0, NAN], [0] * 3], {"cpu": [[-1.0, 0, 0], [0] * 3, [0] * 3]})
                ),
            ),
            [
                "pairs.cost[0][1]: 1.8014398509481984e+16 is past 2^53",
                "pairs.cost[1][2]: is no number",
                "pairs.demand.cpu[0][0]: -1.0 is negative",
            ],
        ),
        (
            nodes(topology=Topology("distance", np.ones((3, 3)))),
            [f"topology.distance[{row}][{row}]: the" for row in range(3)],
        ),
        (nodes(topology=Topology("rate")), ["topology.rate: has shape (0,), not nodes x nodes (3, 3)"]),
        (
            nodes(topology=Topology("hops", hops={"node": 0, "rack": -1, "x": 2})),
            ["topology.hops.rack: -1 must be a", "topology.hops.off_rack: None must be", "topology.hops.x: is none of"],
        ),
        (
            nodes(topology=Topology("links", links=(("n1", "", 1), ("n1", "s", 0)))),
            ["topology.links[0].to: '' must be a non-empty", "topology.links[1].rate: 0 must be a rate in MB/s"],
        ),
        (tasks(shuffle=Shuffle([0], [2, 2], [1.0])), ["shuffle.reduce: has shape (2,), not shuffle (1,)"]),
        (tasks({"emitted": [1, -1]}, shuffle=TWO), ["shuffle[1].emitted: -1.0 is negative"]),
        (tasks({"emitted": [1]}, shuffle=TWO), ["shuffle.emitted: has shape (1,), not shuffle (2,)"]),
        (
            tasks(shuffle=Shuffle([0, 2, 5], [2, 1, -1], [1.0, -1, NAN])),
            [
                "shuffle[2].map: there is no task 5",
                "shuffle[2].reduce: there is no task -1",
                "shuffle[1].size: -1.0 is negative",
                'shuffle[1].map: task "t3" is no map',
                'shuffle[1].reduce: task "t2" is no reduce',
                "shuffle[2].size: is not given",
            ],
        ),
        (at(time=NAN), ["time: nan is no instant between -2^53 and 2^53"]),
        (at(time=True), ["time: True is no instant between -2^53 and 2^53"]),
        (lambda: instance_of(name=3, labels={"a": 1}), ["name: expected a text, got 3", "labels.a: expected a text"]),
        (lambda: instance_of(description="\ud800"), ["description: '\\ud800' holds half a character (a lone"]),
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
def test_each_fault_has_its_place(make: Make, faults: list[str]) -> None:
    """Tests that each kind of fault is found, whatever the instance was made from, with its place and value."""
    with pytest.raises(InputError) as caught:
        make()
    assert cut(caught.value.faults, faults) == faults


def test_rows_may_be_lists() -> None:
    """Tests that replicas and rates of running tasks are rows, given as lists or as `Ragged`."""
    made = instance_of(tasks=workload(replicas=[[1, 0], [], [2]]), state={"running_rates": [[1], [], [2.5, 3]]})
    rows = Ragged.from_rows([[1, 0], [], [2]])
    same = instance_of(
        tasks=workload(replicas=rows), state={"running_rates": Ragged.from_rows([[1], [], [2.5, 3]], float)}
    )
    assert made.sha256 == same.sha256


def test_ids_of_any_alphabet_and_length() -> None:
    """Tests that sound ids pass, also where they take the slow check, and that equal hashes would not mislead."""
    names = ["a", "ab", "b", "ba", "é", "日本", "a b", "x" * 200]
    assert Instance(Cluster(names), Workload([])).cluster.node_ids.tolist() == names
    wide = np.array(["n1", "n2"], dtype="<U100")
    assert Cluster(wide).node_ids.dtype == np.dtype("<U2")
    assert Cluster(np.array(["n1"], dtype=">U2")).node_ids.tolist() == ["n1"]
    assert Cluster([1, 2]).node_ids.tolist() == ["1", "2"]


def test_running_task_of_a_job_that_does_not_exist() -> None:
    """Tests that an instance whose running task names a job past the end lists that fault and those beside it."""
    workload = {"job": [5, -1], "job_ids": ["j"], "job_group": [0], "group_ids": ["g"]}
    instance = Instance(Cluster(["a"]), Workload(["t1", "t2"]))
    state = type(instance.state)([1, 1], [0, 0], [np.nan] * 2, [2], [1], [0])
    with pytest.raises(InputError) as caught:
        Instance(Cluster(["a"]), Workload(["t1", "t2"], **workload), state)
    assert [str(fault) for fault in caught.value.faults] == [
        "tasks[0].job: there is no job 5",
        "nodes[0].idle_slots: 2 is more than its 1 slots",
    ]


@pytest.mark.parametrize("name", ["rack_ids", "datacenter_ids", "type_ids", "node_ids"])
def test_names_in_no_list(name: str) -> None:
    """Tests that names of racks, datacenters and types in other than one dimension are refused by the column's name."""
    for shape in ((), (1, 2)):
        columns: dict[str, Any] = {"node_ids": ["a"], name: np.full(shape, "x")}
        with pytest.raises(InputError, match=f"{name}.* in one dimension"):
            Cluster(**columns)
