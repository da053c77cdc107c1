"""Changes of documents: references and matrices stay whole, and every step of shrinking is smaller."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from optsched.errors import InputError
from optsched.instance import Instance
from optsched.instances.files import from_document, to_document
from optsched.instances.generate import generate
from optsched.mining.changes import changed, size, smaller

MOST = {"tasks": 8, "nodes": 5}

WHOLE: dict[str, Any] = {
    "format": "optsched/1",
    "nodes": [{"id": "a", "load": 2}, {"id": "b", "slots": 3}],
    "groups": [{"id": "g", "weight": 1}],
    "jobs": [{"id": "j", "group": "g"}, {"id": "k"}],
    "tasks": [
        {"id": "t1", "job": "j", "replicas": ["a", "b"], "observed": "a"},
        {"id": "t2", "job": "k", "replicas": ["b"]},
        {"id": "r1", "job": "k", "kind": "reduce"},
    ],
    "shuffle": [{"map": "t2", "reduce": "r1", "size": 4}],
    "pairs": {"cost": [[1, 2], [3, 4], [5, 6]]},
    "topology": {"distance": [[0, 7], [7, 0]]},
}

LINKED = {
    **{key: value for key, value in WHOLE.items() if key != "topology"},
    "topology": {"links": [{"from": "a", "to": "s", "rate": 1}, {"from": "b", "to": "s", "rate": 2}]},
}


def legal(document: dict[str, Any]) -> bool:
    """Whether it can be read."""
    try:
        from_document(document)
    except InputError:
        return False
    return True


@pytest.mark.parametrize("document", [WHOLE, LINKED], ids=["matrices", "links"])
def test_each_step_is_smaller_and_many_are_legal(document: dict[str, Any]) -> None:
    """Tests that shrinking offers only smaller documents, leaves the given one as it is, and can drop each record."""
    before = copy.deepcopy(document)
    steps = list(smaller(document))
    assert document == before
    assert all(step != document for step in steps)
    assert all(size(step)[:2] <= size(document)[:2] for step in steps)
    legal_steps = [step for step in steps if legal(step)]
    for table in ("nodes", "tasks", "jobs", "groups"):
        for record in document[table]:
            gone = [step for step in legal_steps if record["id"] not in {each["id"] for each in step.get(table, ())}]
            assert gone, (table, record)


def test_a_node_goes_with_all_that_is_its() -> None:
    """Tests that replicas, records, rows and columns of a node that goes, go too."""
    step = next(step for step in smaller(WHOLE) if [node["id"] for node in step["nodes"]] == ["b"])
    assert step["tasks"][0] == {"id": "t1", "job": "j", "replicas": ["b"]}
    assert step["pairs"]["cost"] == [[2], [4], [6]]
    assert step["topology"]["distance"] == [[0]]
    linked = next(step for step in smaller(LINKED) if [node["id"] for node in step["nodes"]] == ["b"])
    assert linked["topology"]["links"] == [{"from": "b", "to": "s", "rate": 2}]


def test_a_group_goes_with_its_jobs_and_their_tasks() -> None:
    """Tests that what refers to a record goes with it, and an empty table too."""
    step = next(step for step in smaller(WHOLE) if "groups" not in step)
    assert [job["id"] for job in step["jobs"]] == ["k"]
    assert [task["id"] for task in step["tasks"]] == ["t2", "r1"]


@pytest.mark.parametrize("document", [WHOLE, LINKED], ids=["matrices", "links"])
def test_random_changes_are_mostly_legal(document: dict[str, Any]) -> None:
    """Tests that most random changes make an instance, within the sizes, and are the same for the same seed."""
    drawn = [changed(document, np.random.default_rng(seed), MOST) for seed in range(200)]
    assert sum(map(legal, drawn)) > 120
    assert drawn[7] == changed(document, np.random.default_rng(7), MOST)
    assert max(len(entry["tasks"]) for entry in drawn) > 3
    assert max(len(entry["nodes"]) for entry in drawn) > 2
    walked = copy.deepcopy(document)
    rng = np.random.default_rng(0)
    for _ in range(300):
        step = changed(walked, rng, MOST)
        walked = step if legal(step) else walked
        assert len(walked["tasks"]) <= MOST["tasks"]
        assert len(walked["nodes"]) <= MOST["nodes"]


def test_bare_documents_can_be_changed() -> None:
    """Tests that an instance without tasks, and one of a single reduce, are no trouble."""
    rng = np.random.default_rng(1)
    for tasks in ([], [{"id": "r", "kind": "reduce"}]):
        document = {"format": "optsched/1", "nodes": [{"id": "n"}], "tasks": tasks}
        for _ in range(40):
            json.dumps(changed(document, rng, MOST))


def test_shrinking_to_the_end_leaves_little() -> None:
    """Tests that by taking every legal step an instance loses all: it cannot go on for ever."""
    drawn = generate("utility", 1, jobs=2, nodes=2, maps=2, reduces=1)
    assert isinstance(drawn, Instance)
    document = to_document(drawn)
    document = {key: document[key] for key in document if key not in ("labels", "description", "source", "name")}
    while True:
        step = next((step for step in smaller(document) if legal(step)), None)
        if step is None:
            break
        document = step
    assert document["tasks"] == []
