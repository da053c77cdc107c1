"""The importer of SLS files: what it reads, and every fault with its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from input_files import NODES, QUEUES, SLS, cut, faults, noun

from optsched.core.errors import UsageError
from optsched.instances.importers.sls import import_sls
from optsched.problems import problem
from optsched.routes import solve


def test_sls(file: Callable[..., Path]) -> None:
    """Tests jobs, nodes, racks, resources, slots and queue weights, and what is labelled as assumed."""
    imported = import_sls(file(SLS, "jobs.json"), file(NODES, "nodes.json"), file(QUEUES, "fair.xml"))
    instance = noun(imported)
    assert imported.notes == ()
    assert instance.name == "jobs"
    assert instance.cluster.node_ids.tolist() == ["h1", "h2"]
    assert instance.cluster.capacity["vcores"].tolist()[0] == 6
    assert instance.cluster.slots.tolist() == [2, 2]
    assert instance.workload.task_ids.tolist() == ["j1_c1", "j1_c2", "j2_c1", "j2_c2"]
    assert instance.workload.kind.tolist() == [0, 0, 0, 1]
    assert [row.tolist() for row in instance.replicas] == [[0], [1], [0], []]
    assert instance.workload.arrival.tolist() == [0, 2]
    assert instance.workload.duration.tolist() == [2.5, 2.5, 1.5, 2.0]
    assert instance.workload.group_ids.tolist() == ["q1", "q2"]
    assert instance.workload.group_weight.tolist() == [0.25, 1]
    assert set(instance.labels) == {"state", "replicas", "slots", "arrival", "observed", "start", "duration", "weight"}
    assert instance.workload.observed.tolist() == [0, 1, 0, 0]
    assert instance.state.start.tolist() == [0.5, 0.5, 2.5, 3.0]
    assert solve(problem("lsap", instance)).objective == (0,)
    plain = noun(import_sls(file(SLS), slots="3", name="plain"))
    assert (plain.name, plain.cluster.slots.tolist(), plain.cluster.rack_ids.tolist()) == ("plain", [3, 3], ["r1"])
    assert plain.workload.group_weight.tolist() == [1, 1]


def test_sls_oddities(file: Callable[..., Path]) -> None:
    """Tests the notes on what is odd, and that what is odd is left out."""
    nodes = NODES.replace('"r1"', '"r9"').replace('"h2"', '"h3"')
    text = SLS.replace('"container.end.ms": 4000', '"container.end.ms": 400').replace('"job.start.ms": 3000, ', "")
    imported = import_sls(file(text, "a"), file(nodes, "b"), file(QUEUES.replace("q2", "q3"), "c"))
    instance = noun(imported)
    assert [row.tolist() for row in instance.replicas] == [[0], [], [0], []]
    assert "queue q2 has no weight in the allocation file; it weighs 1" in imported.notes
    message = " ".join(imported.notes)
    for what in ("on hosts that the node file does not have", "name another rack", "ended before they started"):
        assert what in message
    bare = '{"job.id": "j", "job.tasks": [{"container.type": "map", "container.host": "h"}, {"container.type": "map"}]}'
    assert "groups" not in import_sls(file(bare)).documents[0]
    assert import_sls(file(bare + '{"job.id": "cut", "job', "cut")).notes


@pytest.mark.parametrize("slots", ["many", 0, True])
def test_sls_slots(file: Callable[..., Path], slots: Any) -> None:
    """Tests that slots are inferred or a number."""
    with pytest.raises(UsageError, match='slots must be "inferred" or a number of at least 1'):
        import_sls(file(SLS), slots=slots)


#: Wrong texts, for each kind of file, and what is wrong with them.
WRONG: dict[str, list[tuple[str, list[str]]]] = {
    "jobs": [
        ("", ["there is no complete job in it; an SLS job file is JSON objects, one after the other"]),
        ("[1]", ["job 1: expected an object, got a list"]),
        ('{"job.id": "j", "job.tasks": []}', ["the jobs name no host, and there is no node file"]),
        (
            '{"job.id": "' + "j" * 201 + '", "job.start.ms": -5, "job.tasks": [{"container.type": "am"}, {}]} '
            '{"job.queue.name": ""}',
            [
                "job 1.job.id: has 201 characters; at most 200 are read",
                "job 1.job.start.ms: expected an integer, 0 or more, or -1 where it is unknown, got -5",
                'job 1.job.tasks[0].container.type: expected one of map, reduce, got "am"',
                "job 1.job.tasks[1].container.type: is missing",
                "job 2.job.queue.name: must not be empty",
                "job 2.job.id: is missing",
            ],
        ),
        (SLS.replace('"j2"', '"j1"'), ['job 2.job.id: "j1" is the id of another job too']),
        (SLS.replace("/r1/h2", "/r2/h1"), ['j1, container 2: host "h1" is in rack "r2" here, and in "r1" before']),
    ],
    "nodes": [
        ("", ["there is no node in it; an SLS node file is {rack, nodes: [{node}]}, one a rack"]),
        (NODES[:-10], ["the file ends within rack 1; the complete ones before it are kept"]),
        (
            '{"nodes": [{"node": "' + "n" * 201 + '"}, {"node": "a"}, {"node": "a", "vcores": "6"}, {}]}',
            [
                "rack 1.nodes[0].node: has 201 characters; at most 200 are read",
                "rack 1.nodes[2].vcores: expected an integer, 0 or more, or -1 where it is unknown, "
                'got "6"; write it without quotes',
                "rack 1.nodes[3].node: is missing",
                "rack 1.rack: is missing",
                'rack 1.nodes[2].node: "a" is the name of another node too',
            ],
        ),
    ],
    "queues": [
        ("<allocations>", ["line 1, column 14: malformed XML: no element found"]),
        ('<!DOCTYPE x [<!ENTITY a "b">]><allocations/>', ["declares a document type; an allocation file needs none"]),
        ("<queues/>", ['the outermost element is "queues", not allocations']),
        (
            '<allocations><queue/><queue name="a"><weight>x</weight></queue><queue name="b"><weight>-1</weight></queue>'
            '<queue name="c"><weight>nan</weight><weight>1</weight></queue><queue name="a"/></allocations>',
            [
                "root.?: a queue needs a name of printable characters",
                'root.a.weight: must be a number, not "x"',
                'root.b.weight: must be a finite number, 0 or more, not "-1"',
                "root.c.weight: is given twice",
                'root.c.weight: must be a finite number, 0 or more, not "nan"',
                "root.a: is given twice",
            ],
        ),
    ],
}


@pytest.mark.parametrize(
    ("kind", "text", "expected"), [(kind, *case) for kind, cases in WRONG.items() for case in cases]
)
def test_sls_faults(file: Callable[..., Path], kind: str, text: str, expected: list[str]) -> None:
    """Tests that each fault of a file is reported with its place, all of them at once; entities are not even read."""
    texts = {"jobs": SLS} | ({"nodes": NODES} if kind != "jobs" else {}) | {kind: text}
    files = [file(text, name) for name, text in texts.items()]
    assert cut(faults(import_sls, *files), expected) == expected
