"""Tests of pandas frames: both ways for any instance, and frames that are wrong."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from instance_documents import FULL, NETWORK, documents

from optsched.errors import InputError
from optsched.instance import Instance
from optsched.instances.files import from_document, to_document
from optsched.instances.frames import from_frames, header, to_frames


def full() -> Instance:
    """The instance that shows every field."""
    instance = from_document(FULL)
    assert isinstance(instance, Instance)
    return instance


def test_frames_show_ids_and_numbers() -> None:
    """Tests that frames refer by id, have a column a resource and type, and None or NaN where nothing is given."""
    frames = to_frames(full())
    assert list(frames) == ["nodes", "groups", "jobs", "tasks", "replicas", "running_rates", "shuffle"]
    assert frames["replicas"].values.tolist() == [["t1", "n3"], ["t1", "n1"]]
    assert frames["running_rates"].values.tolist() == [["n1", 3.04], ["n1", 9.14]]
    assert frames["shuffle"]["reduce"].tolist() == ["t9", "t9"]
    assert frames["nodes"]["rack"].tolist() == ["r1", "r2", "r1"]
    assert frames["nodes"]["idle_slots"].tolist() == [1, 1, 1]
    assert frames["tasks"]["rate_in.c2"].notna().tolist() == [True, False, False]
    assert frames["tasks"]["state"].tolist() == ["running", "pending", "finished"]
    assert frames["tasks"]["job"].isna().tolist() == [False, True, False]
    assert frames["groups"]["running_tasks"].isna().tolist() == [False, True]


@settings(max_examples=40)
@given(document=documents())
def test_any_instance_survives(document: dict[str, Any]) -> None:
    """Tests that any instance comes back from its frames and its header."""
    instance = from_document(document)
    assert isinstance(instance, Instance)
    again = from_frames(to_frames(instance), header(instance))
    assert again.sha256 == instance.sha256
    assert to_document(again) == to_document(instance)


def test_hand_made_frames() -> None:
    """Tests that few columns suffice, and that missing values of each kind take the defaults."""
    nodes = pd.DataFrame({"id": ["a", "b"], "slots": [2.0, None], "rack": ["r", None], "capacity.cpu": [4, 8]})
    tasks = pd.DataFrame({"id": ["t"], "start": [pd.NA], "kind": pd.Series(["reduce"], dtype="category")})
    instance = from_frames({"nodes": nodes, "tasks": tasks, "replicas": pd.DataFrame({"task": ["t"], "node": ["b"]})})
    assert instance.cluster.slots.tolist() == [2, 1]
    assert instance.cluster.rack.tolist() == [0, -1]
    assert instance.cluster.capacity["cpu"].tolist() == [4, 8]
    assert instance.workload.kind.tolist() == [1]
    assert instance.replicas[0].tolist() == [1]


def test_wrong_frames() -> None:
    """Tests that missing and unknown frames and columns, unknown ids, and wrong values are named."""
    nodes, tasks = pd.DataFrame({"id": ["a"]}), pd.DataFrame({"id": ["t"]})
    for frames, told in (
        (
            {"nodes": nodes, "task": tasks},
            ['task: there is no such frame; did you mean "tasks"?', "tasks: the frame is missing"],
        ),
        (
            {"nodes": nodes, "tasks": tasks, "replicas": pd.DataFrame({"task": []})},
            ['replicas: the frame has no column "node"'],
        ),
        (
            {"nodes": nodes, "tasks": tasks, "replicas": pd.DataFrame({"task": ["t", "u"], "node": ["a", "a"]})},
            ['replicas[1].task: no task "u"'],
        ),
        (
            {"nodes": nodes, "tasks": tasks, "replicas": pd.DataFrame({"task": ["t"], "node": ["z"]})},
            ['tasks[0].replicas[0]: no node "z"'],
        ),
        (
            {"nodes": nodes.assign(slots=1.5), "tasks": tasks},
            ["nodes[0].slots: expected an integer, 0 or more, got 1.5"],
        ),
        (
            {"nodes": nodes, "tasks": tasks.assign(**{"rate_in": 1.0, "rate_in.c": 2.0})},
            ['row 0.rate_in: is given both as "rate_in" and as "rate_in.c"; give one of them'],
        ),
    ):
        with pytest.raises(InputError) as caught:
            from_frames(frames)
        assert [str(fault) for fault in caught.value.faults] == told
    with pytest.raises(InputError, match=r"header\.format: frames hold an instance"):
        from_frames({"nodes": nodes, "tasks": tasks}, {"format": NETWORK["format"]})
