"""Shrinking: every step is smaller, and steps come to an end."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from mined_documents import LINKED, WHOLE, legal

from optsched.core.instance import Instance
from optsched.instances.files import to_document
from optsched.instances.generate import generate
from optsched.measuring.mining.documents import numbers, size, smaller


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
