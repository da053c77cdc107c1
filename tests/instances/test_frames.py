"""Tests of pandas frames: both ways for any instance, and frames that are wrong."""

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from input_files import cut
from strategies import FULL, NETWORK, documents

import optsched
from optsched.core.errors import InputError, UsageError
from optsched.core.instance import Instance
from optsched.instances.files import from_document
from optsched.instances.frames import distance_matrix, from_frames, header, to_frames
from optsched.problems import problem
from optsched.routes import solve


def test_frames_show_ids_and_numbers() -> None:
    """Tests that frames refer by id, have a column a resource and type, and None or NaN where nothing is given."""
    frames = to_frames(from_document(FULL))
    assert list(frames) == ["nodes", "groups", "jobs", "tasks", "replicas", "running_rates", "shuffle"]
    assert frames["replicas"].values.tolist() == [["t1", "n3"], ["t1", "n1"]]
    assert frames["running_rates"].values.tolist() == [["n1", 3.04], ["n1", 9.14]]
    assert frames["shuffle"]["reduce"].tolist() == ["t9", "t9"]
    assert frames["nodes"]["rack"].tolist() == ["r1", "r2", "r1"]
    assert frames["nodes"]["idle_slots"].tolist() == [1, 1, 1]
    assert frames["tasks"]["rate_in.c2"].notna().tolist() == [True, False, False]
    assert frames["tasks"]["state"].tolist() == ["running", "pending", "finished"]
    assert frames["tasks"]["times.off_rack"].notna().tolist() == [True, False, False]
    assert frames["tasks"]["job"].isna().tolist() == [False, True, False]
    assert frames["groups"]["running_tasks"].isna().tolist() == [False, True]


@settings(max_examples=12)
@given(document=documents())
def test_any_instance_survives(document: dict[str, Any]) -> None:
    """Tests that any instance comes back from its frames and its header."""
    instance = from_document(document)
    assert from_frames(**to_frames(instance), **header(instance)) == instance


@pytest.mark.parametrize("name", ["papers/guo-table2", "papers/pna-example", "examples/weights-decimal"])
def test_bug_the_way_back_lost_what_is_no_table(name: str) -> None:
    """Tests that name, labels, parameters and topology come back with the frames, and give way to what is named."""
    instance = optsched.load(name)
    again = Instance.from_frames(**instance.to_frames())
    assert again == instance
    assert Instance.from_frames(**instance.to_frames(), name="other").name == "other"


def test_hand_made_frames() -> None:
    """Tests that few columns suffice, and that missing values of each kind take the defaults."""
    nodes = pd.DataFrame({"id": ["a", "b"], "slots": [2.0, None], "rack": ["r", None], "capacity.cpu": [4, 8]})
    tasks = pd.DataFrame({"id": ["t"], "start": [pd.NA], "kind": pd.Series(["reduce"], dtype="category")})
    instance = Instance.from_frames(nodes, tasks, replicas=pd.DataFrame({"task": ["t"], "node": ["b"]}))
    assert instance.cluster.slots.tolist() == [2, 1]
    assert instance.cluster.rack.tolist() == [0, -1]
    assert instance.cluster.capacity["cpu"].tolist() == [4, 8]
    assert instance.workload.kind.tolist() == [1]
    assert instance.replicas[0].tolist() == [1]


def test_ids_are_forgiving() -> None:
    """Tests that ids may be numbers or the index, and replicas lists of any kind, or of another frame."""
    nodes = pd.DataFrame({"slots": [1, 2]}, index=pd.Index([7, 8], name="id"))
    tasks = pd.DataFrame({"id": [1, 2, 3], "job": [5, None, 5]}, index=[9, 9, 9])
    jobs = pd.DataFrame({"id": [5]})
    for replicas in ([[7], (8, 7), {8}], [np.array([7]), ["8", "7"], frozenset({8})]):
        instance = Instance.from_frames(nodes, tasks.assign(replicas=pd.Series(replicas, index=[9] * 3)), jobs=jobs)
        assert instance.cluster.node_ids.tolist() == ["7", "8"]
        assert instance.workload.job.tolist() == [0, -1, 0]
        assert [row.tolist() for row in instance.replicas] == [[0], [1, 0], [1]]
    assert Instance.from_frames(**instance.to_frames()).sha256 == instance.sha256
    long = pd.DataFrame({"task": [1, 2, 2, 3], "node": [7, 8, 7, 8]})
    assert Instance.from_frames(nodes, tasks, jobs=jobs, replicas=long).sha256 == instance.sha256


NODES, TASKS = pd.DataFrame({"id": ["a"]}), pd.DataFrame({"id": ["t"]})


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ({"replicas": pd.DataFrame({"task": []})}, ['replicas: the frame has no column "node"']),
        ({"replicas": pd.DataFrame({"task": ["t", "u"], "node": ["a", "a"]})}, ['replicas[1].task: no task "u"']),
        ({"running_rates": pd.DataFrame({"node": ["a"], "rate": [-1]})}, ["running_rates[0].rate: expected a number"]),
        (
            {"replicas": pd.DataFrame({"task": ["t"], "node": ["a"]}), "tasks": TASKS.assign(replicas=[["a"]])},
            ['replicas: is a frame, and a column of the frame "tasks" too; give one of them'],
        ),
        ({"nodes": NODES.assign(slots=1.5)}, ["nodes[0].slots: expected an integer, 0 or more, got 1.5"]),
        ({"tasks": TASKS.assign(**{"rate_in": 1.0, "rate_in.c": 2.0})}, ["tasks[0].rate_in: is given both as"]),
        ({"nodes": pd.DataFrame([["a", 1, 2]], columns=["id", "slots", "slots"])}, ["nodes.slots: the frame has"]),
        ({"nodes": NODES.assign(slot=1)}, ['nodes.slot: there is no such field; did you mean "slots"?']),
        ({"nodes": pd.DataFrame({"slots": [1]})}, ['nodes: the frame has no column "id"']),
        ({"tasks": TASKS.assign(**{"times.node": 1.0})}, ["tasks[0].times.off_rack: is missing"]),
        ({"tasks": TASKS.assign(duration=pd.Timedelta("3s"))}, ["tasks[0].duration: expected a number, 0 or more"]),
        ({"shuffle": pd.DataFrame({"map": ["t"], "reduce": ["t"]})}, ['shuffle: the frame has no column "size"']),
        ({"format": NETWORK["format"]}, ['header.format: frames hold an instance, "optsched/1", and nothing else']),
    ],
)
def test_wrong_frames(frames: dict[str, Any], expected: list[str]) -> None:
    """Tests that every fault is reported with the row and the column of the frame that it is in."""
    with pytest.raises(InputError) as caught:
        Instance.from_frames(**{"nodes": NODES, "tasks": TASKS, **frames})
    assert cut(caught.value.faults, expected) == expected


def test_no_frames() -> None:
    """Tests that what is no frame is wrong usage."""
    with pytest.raises(UsageError, match="from_frames takes tasks as a pandas frame, not a list"):
        Instance.from_frames(NODES, [])  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"from_frames takes jobs .*; pandas.DataFrame\(...\) makes one"):
        Instance.from_frames(NODES, TASKS, jobs={})


PLACES = ["a", "b", "c"]
TRUE = [[0, 1, 4], [2, 0, 3], [4, 3, 0]]


def graph(*edges: tuple[Any, Any, Any], directed: bool = True) -> Any:
    """A graph of weighted edges."""
    made: Any = nx.DiGraph() if directed else nx.Graph()
    made.add_weighted_edges_from(edges)
    return made


ALIKE = {
    "lists": TRUE,
    "tuples": tuple(map(tuple, TRUE)),
    "array": np.array(TRUE),
    "frame": pd.DataFrame(np.array(TRUE)[[2, 0, 1]][:, [1, 2, 0]], index=["c", "a", "b"], columns=["b", "c", "a"]),
    "graph": graph(
        *(("a", "b", 1), ("b", "a", 2), ("c", "a", 4)),
        *(("b", "sw", 1.5), ("sw", "c", 1.5), ("c", "sw", 1.5), ("sw", "b", 1.5)),
    ),
}


@pytest.mark.parametrize("form", ALIKE)
def test_bug_distances_were_lists_alone(form: str) -> None:
    """Tests that an instance from frames takes each form, with node ids that are numbers too, and costs the same."""
    tasks = pd.DataFrame({"id": ["t", "u"], "replicas": [["a"], ["a"]], "size": [2.0, 1.0]})
    instance = Instance.from_frames(pd.DataFrame({"id": PLACES}), tasks, topology={"distance": ALIKE[form]})
    assert instance.cluster.topology.matrix.tolist() == TRUE
    assert solve(problem("transmission-maps", instance)).objective == (1,)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((2, 3)), r"topology.distance: has shape \(2, 3\), not nodes x nodes \(3, 3\)"),
        (np.array([["x"] * 3] * 3), "expected an array, a frame or a graph of distances"),
        ([[0, 1], [1]], "expected an array, a frame or a graph of distances"),
        (pd.DataFrame(TRUE, index=PLACES, columns=["a", "b", "d"]), 'columns: no node "d"'),
        (pd.DataFrame(TRUE, index=["a", "b", "b"], columns=PLACES), 'index: lacks "c"; it must have every node'),
        (graph(("a", "b", 1), ("b", "c", 1)), 'the graph has no path from "b" to "a"; add an edge'),
        (graph(("a", "b", -1), ("b", "c", 1)), 'the edge from "a" to "b" weighs -1; give a number, 0 or more'),
        (graph(("a", "b", "x"), ("b", "c", 1), directed=False), "weighs 'x'"),
    ],
)
def test_what_is_wrong_is_reported(wrong: Any, message: str) -> None:
    """Tests the message of each fault, with its place."""
    with pytest.raises(InputError, match=message):
        distance_matrix(wrong, PLACES)
