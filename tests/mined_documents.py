"""Two documents with references and matrices of every sort, for the tests of mining."""

from __future__ import annotations

from typing import Any

from optsched.core.errors import InputError
from optsched.instances.files import from_document

__all__ = ["LINKED", "WHOLE", "legal"]

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
