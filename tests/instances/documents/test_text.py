"""`optsched.instances.documents.text`: JSON text of instances and networks."""

import json

import pytest
from instance_documents import FULL

from optsched.core.errors import InputError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.instances.files import from_document, parse, to_json


def test_text_is_for_people() -> None:
    """Tests that defaults are left out, integers are integers, and each record has a line of its own."""
    instance = Instance(Cluster(["n1", "n2"], slots=[1, 2]), Workload(["t1"], size=[64.0]))
    assert to_json(instance).decode() == (
        '{"format": "optsched/1",\n"nodes": [\n  {"id":"n1"},\n  {"id":"n2","slots":2}],\n'
        '"tasks": [\n  {"id":"t1","size":64}]}\n'
    )
    assert json.loads(to_json(from_document(FULL))) == FULL


@pytest.mark.parametrize(
    "text",
    [
        '{"tasks": [], "nodes": [], "format": "optsched/1"}',
        '{ "format"\t:\n"optsched/1" , "nodes" : [ ] , "tasks" :[]}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "name": "a \\"quoted\\": name"}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "name": "space :"}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "time": 9007199254740992}',
        '{"format": "optsched/1", "nodes": [], "tasks": [], "name": "\\u0000"}',
        b'{"format": "optsched/1", "nodes": [], "tasks": []}\n\n',
    ],
)
def test_doubts_are_resolved(text: str | bytes) -> None:
    """Tests that text that only looks suspicious to the fast path (quoted keys, odd spacing, 2^53) is read."""
    assert isinstance(parse(text), Instance)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"format": "optsched/1", "nodes": [{"id": "a", "slots": 1, "slots": 1}], "tasks": []}', "nodes[0].slots"),
        ('{"format": "optsched/1", "nodes": [{"id" : "a", "slots": 1, "slots": 1}], "tasks": []}', "nodes[0].slots"),
        ('{"format": "optsched/1", "nodes": [], "tasks": [], "tasks": []}', "tasks"),
        ('{"format": "optsched/1", "nodes": [], "tasks": [], "labels": {"a": "", "a": ""}}', "labels.a"),
        (
            '{"format": "optsched/1", "nodes": [], "tasks": [], "parameters": {"p": {"q": [{"a": 1, "a": 1}]}}}',
            "parameters.p.q[0].a",
        ),
        ('{"format": "optsched/1", "format": "optsched/1", "nodes": [], "tasks": []}', "format"),
    ],
)
def test_doubled_keys_are_found_on_the_fast_path(text: str, place: str) -> None:
    """Tests that a key given twice is found wherever it stands, though the typed decoder does not mind."""
    with pytest.raises(InputError) as caught:
        parse(text)
    assert [fault.place for fault in caught.value.faults] == [place]
