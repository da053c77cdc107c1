"""Random changes of documents: mostly legal, within sizes and ranges, the same for the same seed."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from mined_documents import LINKED, WHOLE, legal

from optsched.measuring.mining.documents import LEAST_BOUND, Changes, numbers

MOST = {"tasks": 8, "nodes": 5}


@pytest.mark.parametrize("document", [WHOLE, LINKED], ids=["matrices", "links"])
def test_random_changes_are_mostly_legal(document: dict[str, Any]) -> None:
    """Tests that most random changes make an instance, within the sizes, and are the same for the same seed."""
    changed = Changes(MOST)
    before = copy.deepcopy(document)
    drawn = [changed(document, np.random.default_rng(seed)) for seed in range(200)]
    assert document == before
    assert sum(map(legal, drawn)) > 120
    assert drawn[7] == changed(document, np.random.default_rng(7))
    assert max(len(entry["tasks"]) for entry in drawn) > 3
    assert max(len(entry["nodes"]) for entry in drawn) > 2


def test_a_walk_keeps_within_sizes_and_ranges() -> None:
    """Tests that a long walk has no more records than allowed, and numbers no larger than what was learnt, or 10."""
    changed = Changes(MOST)
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
    assert LEAST_BOUND < max(loads) <= 40
    assert min(loads) >= -3
    assert all(0 <= number <= LEAST_BOUND for numbers_of in seen.values() for number in numbers_of)


def test_bare_documents_can_be_changed() -> None:
    """Tests that an instance without tasks, and one of a single reduce, are no trouble."""
    rng = np.random.default_rng(1)
    for tasks in ([], [{"id": "r", "kind": "reduce"}]):
        document = {"format": "optsched/1", "nodes": [{"id": "n"}], "tasks": tasks}
        for _ in range(40):
            json.dumps(Changes(MOST)(document, rng))
