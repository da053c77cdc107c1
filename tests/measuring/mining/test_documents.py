"""Instance documents: references and matrices stay whole where records go, come twice, or are called otherwise."""

import copy
import json
from typing import Any

import numpy as np
import pytest

from optsched import InputError, generate
from optsched.instances.files import from_document, to_document
from optsched.measuring.mining import documents
from optsched.measuring.mining.documents import numbers, size, smaller, with_copy, without

#: Two documents with references and matrices of every sort.
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


def test_a_record_goes_with_all_that_is_its() -> None:
    """Tests replicas, rows, columns and links of a node that goes; jobs and tasks of a group, and an empty table."""
    step = without(WHOLE, "nodes", 0)
    assert step["tasks"][0] == {"id": "t1", "job": "j", "replicas": ["b"]}
    assert step["pairs"]["cost"] == [[2], [4], [6]]
    assert step["topology"]["distance"] == [[0]]
    assert without(LINKED, "nodes", 0)["topology"]["links"] == [{"from": "b", "to": "s", "rate": 2}]
    step = without(WHOLE, "groups", 0)
    assert "groups" not in step
    assert [job["id"] for job in step["jobs"]] == ["k"]
    assert [task["id"] for task in step["tasks"]] == ["t2", "r1"]


@pytest.mark.parametrize("document", [WHOLE, LINKED], ids=["matrices", "links"])
def test_copies_are_legal(document: dict[str, Any]) -> None:
    """Tests that a record may come twice, with rows, columns, links and shuffle of its own, and the given one stays."""
    before = copy.deepcopy(document)
    for table in documents.TABLES:
        for at in range(len(document[table])):
            twice = with_copy(document, table, at)
            assert legal(twice), (table, at)
            assert len(twice[table]) == len(document[table]) + 1
            assert size(twice) > size(document)
    assert document == before
    assert {"map": "t1", "reduce": "r1", "size": 4} not in with_copy(document, "tasks", 0)["shuffle"]
    assert {"map": "t2", "reduce": "r2", "size": 4} in with_copy(document, "tasks", 2)["shuffle"]


def test_what_is_left_is_numbered_anew() -> None:
    """Tests that ids with gaps are numbered from 1 wherever they are named, and ids of another form stay."""
    gaps = {
        "format": "optsched/1",
        "nodes": [{"id": "n3"}, {"id": "n7"}],
        "jobs": [{"id": "j2"}],
        "tasks": [
            {"id": "t5", "job": "j2", "replicas": ["n7"], "node": "n7", "start": 0, "state": "running"},
            {"id": "t9", "job": "j2", "kind": "reduce"},
        ],
        "shuffle": [{"map": "t5", "reduce": "t9", "size": 1}],
        "topology": {"links": [{"from": "n3", "to": "s", "rate": 1}, {"from": "s", "to": "n7", "rate": 1}]},
    }
    numbered = documents.numbered_anew(gaps)
    assert numbered["tasks"] == [
        {"id": "t1", "job": "j1", "replicas": ["n2"], "node": "n2", "start": 0, "state": "running"},
        {"id": "t2", "job": "j1", "kind": "reduce"},
    ]
    assert numbered["shuffle"] == [{"map": "t1", "reduce": "t2", "size": 1}]
    assert [(link["from"], link["to"]) for link in numbered["topology"]["links"]] == [("n1", "s"), ("s", "n2")]
    mixed = {"format": "optsched/1", "nodes": [{"id": "n3"}, {"id": "m4"}], "tasks": [{"id": "task"}]}
    assert documents.numbered_anew(mixed) == mixed
    from_document(numbered)


def test_rates_of_types_that_are_gone() -> None:
    """Tests that rates by type of node go with the last node of a type, without which no instance has them."""
    document = to_document(generate("flow", seed=1, nodes=5, tasks=2))
    assert set(document["tasks"][0]["rate_in"]) == {"c1", "c2"}
    for at in reversed(range(5)):
        if document["nodes"][at]["type"] == "c2":
            document = without(document, "nodes", at)
    assert set(document["tasks"][0]["rate_in"]) == {"c1"}
    from_document(document)


MOST = {"tasks": 8, "nodes": 5}


def test_a_walk_keeps_within_sizes_and_ranges() -> None:
    """Tests that a long walk has no more records than allowed, and numbers no larger than what was learnt, or 10."""
    changed = documents.Changes(MOST)
    changed.learn({"nodes": [{"load": -3}, {"load": 40}]})
    walked = copy.deepcopy(WHOLE)
    rng = np.random.default_rng(0)
    seen: dict[tuple[str, ...], set[float]] = {}
    for _ in range(600):
        step = changed(walked, rng)
        for place in numbers(step):
            seen.setdefault(place.path, set()).add(place.number)
        walked = step if legal(step) else walked
        assert len(walked["tasks"]) <= MOST["tasks"]
        assert len(walked["nodes"]) <= MOST["nodes"]
    loads = seen.pop(("nodes", "load"))
    assert documents.LEAST_BOUND < max(loads) <= 40
    assert min(loads) >= -3
    assert all(0 <= number <= documents.LEAST_BOUND for numbers_of in seen.values() for number in numbers_of)


def test_bare_documents_can_be_changed() -> None:
    """Tests that an instance without tasks, and one of a single reduce, are no trouble."""
    rng = np.random.default_rng(1)
    for tasks in ([], [{"id": "r", "kind": "reduce"}]):
        document = {"format": "optsched/1", "nodes": [{"id": "n"}], "tasks": tasks}
        for _ in range(40):
            json.dumps(documents.Changes(MOST)(document, rng))


@pytest.mark.parametrize("document", [WHOLE, LINKED], ids=["matrices", "links"])
def test_each_step_is_smaller_and_many_are_legal(document: dict[str, Any]) -> None:
    """Tests that shrinking offers only smaller documents, leaves the given one as it is, and can drop each record."""
    before = copy.deepcopy(document)
    steps = list(smaller(document))
    assert document == before
    assert all(step != document for step in steps)
    assert all(size(step)[:2] <= size(document)[:2] for step in steps)
    for table in ("nodes", "tasks", "jobs", "groups"):
        left = [{record["id"] for record in step.get(table, ())} for step in steps if legal(step)]
        assert all(any(record["id"] not in ids for ids in left) for record in document[table]), table


def test_every_sort_of_step() -> None:
    """Tests that an entry, a part, a replica, a field can go, and that a number is lowered in every way promised."""
    steps = list(smaller(LINKED))
    assert any(step["shuffle"] == [] for step in steps if "shuffle" in step)
    assert any(len(step["topology"]["links"]) == 1 and len(step["nodes"]) == 2 for step in steps if "topology" in step)
    for part in ("shuffle", "pairs", "topology"):
        assert {key: value for key, value in LINKED.items() if key != part} in steps
    assert any(step["tasks"][0].get("replicas") == ["a"] and len(step["nodes"]) == 2 for step in steps)
    assert any("load" not in step["nodes"][0] for step in steps)
    lowered = {"format": "optsched/1", "nodes": [{"id": "a", "load": 7.5}], "tasks": []}
    loads = {place.number for step in smaller(lowered) for place in numbers(step)}
    assert loads == {0, 1, 3, 7, 6.5}
