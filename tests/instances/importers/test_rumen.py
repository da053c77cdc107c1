"""Tests of the Rumen importer: each oddity of the format on a small file, and real traces."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from input_files import faults
from scipy.optimize import linear_sum_assignment

from optsched.core.errors import InputError, UsageError
from optsched.instances.documents.format import InstanceDocument
from optsched.instances.importers.rumen import import_rumen, read_topology, read_trace

DATA = Path(__file__).resolve().parents[2] / "data" / "rumen"
Document = dict[str, Any]


def one(trace: str, topology: str | None = None, **options: Any) -> tuple[Document, tuple[str, ...]]:
    """The only document of a small trace, every field of which the format knows, and the notes."""
    imported = import_rumen(DATA / trace, None if topology is None else DATA / topology, **options)
    (document,) = imported.documents
    msgspec.convert(document, InstanceDocument)
    return document, imported.notes


def by_id(records: list[Document]) -> dict[str, Document]:
    """Records by their ids."""
    return {record["id"]: record for record in records}


def slots(document: Document, field: str = "slots") -> dict[str, int]:
    """Slots of the nodes that have any."""
    return {node["id"]: node[field] for node in document["nodes"] if node[field]}


def test_plain_trace() -> None:
    """Tests that a clean trace becomes exactly this document."""
    document, notes = one("plain.trace.json", "plain.topology.json")
    assert notes == ()
    labels, nodes, tasks = (document.pop(part) for part in ("labels", "nodes", "tasks"))
    assert document == {
        "format": "optsched/1",
        "name": "plain",
        "description": "3 maps and 1 reduce of 2 jobs that Hadoop ran on a cluster of 7 nodes, "
        "as if all of them were waiting at once.",
        "source": "Rumen trace plain.trace.json with topology plain.topology.json; jobs job_1, job_2",
        "parameters": {"lsap": {"levels": [0, 1, 2]}},
        "groups": [{"id": "ann"}, {"id": "bob"}],
        "jobs": [
            {"id": "job_1", "group": "ann", "arrival": 0, "filter_ratio": 0.1},
            {"id": "job_2", "group": "bob", "arrival": 30},
        ],
    }
    first = {"id": "n1", "rack": "r1", "slots": 2, "idle_slots": 2, "reduce_slots": 0, "idle_reduce_slots": 0}
    assert nodes[0] == first
    assert [node["id"] for node in nodes] == ["n1", "n2", "n10", "n11", "n20", "n21", "n22"]
    assert [node["rack"] for node in nodes] == ["r1", "r1", "r2", "r2", "r3", "r3", "r3"]
    assert [tuple(task.values()) for task in tasks] == [
        ("task_1_m_0", "job_1", "map", ["n1", "n2", "n10"], 64, "n1", 2, 10),
        ("task_1_m_1", "job_1", "map", ["n1", "n2", "n10", "n11", "n20"], 32, "n1", 2.5, 7.5),
        ("task_1_r_0", "job_1", "reduce", 9.5, "n10", 11, 69),
        ("task_2_m_0", "job_2", "map", ["n11"], 16, "n20", 31, 2.5),
    ]
    assert list(tasks[0]) == ["id", "job", "kind", "replicas", "size", "observed", "start", "duration"]
    assert "a quota over the life of the jobs, not slots that were free at once" in labels["slots"]
    assert {"state", "rack", "slots", "reduce_slots", "size", "observed", "start", "duration"} <= set(labels)


def test_some_jobs_and_no_topology() -> None:
    """Tests named jobs in the order of the trace, with times since the first; hosts are those of all jobs."""
    document, _ = one("plain.trace.json", jobs=["job_2"])
    assert [node["id"] for node in document["nodes"]] == ["n1", "n2", "n10", "n11", "n20", "n21"]
    assert document["labels"]["rack"] == "from the trace's own locations, there being no topology file"
    assert (document["name"], document["jobs"][0]["arrival"], document["tasks"][0]["start"]) == ("plain-job_2", 0, 1)
    document, _ = one("plain.trace.json.gz", jobs=["job_2", "job_1", "job_2"], name="mine")
    assert (document["name"], [job["id"] for job in document["jobs"]]) == ("mine", ["job_1", "job_2"])
    documents = import_rumen(DATA / "plain.trace.json", split=True).documents
    assert [document["name"] for document in documents] == ["plain-job_1", "plain-job_2"]
    assert [slots(document) for document in documents] == [{"n1": 2}, {"n20": 1}]


def test_slots() -> None:
    """Tests the three ways to give slots: observed, inferred (ends free a slot for starts), and a number."""
    observed, _ = one("attempts.trace.json")
    assert slots(observed) == {"n1": 2, "n3": 3}
    assert slots(observed, "reduce_slots") == {"n4": 1}
    inferred, notes = one("attempts.trace.json", slots="inferred")
    assert set(slots(inferred).values()) == {3}
    assert set(slots(inferred, "idle_reduce_slots").values()) == {1}
    assert inferred["labels"]["slots"].startswith("inferred: ")
    nowhere = [task["id"] for task in inferred["tasks"] if "observed" not in task]
    assert nowhere == ["no_attempt", "nowhere", "failed", "reduce_open"]
    assert "job_1: 3 of 8 maps never succeeded; kept without an observed node" in notes
    without, _ = one("killed.trace.json", slots="inferred")  # no reduce
    assert set(slots(without, "reduce_slots").values()) == {1}
    for number in (4, "4"):
        given, _ = one("attempts.trace.json", slots=number)
        assert [node["idle_slots"] for node in given["nodes"]] == [4] * 4
        assert given["labels"]["slots"] == "given: 4 on every node, none of it recorded"


@pytest.mark.parametrize("wrong", ["many", "0", 0, -1, True, 2.5, "", "9" * 30])
def test_slots_that_are_none(wrong: Any) -> None:
    """Tests that other slots are wrong usage."""
    with pytest.raises(UsageError, match='"observed", "inferred" or a number of at least 1'):
        import_rumen(DATA / "plain.trace.json", slots=wrong)


def test_unknown_job() -> None:
    """Tests that each job id that the trace does not hold is named, with the nearest that it holds."""
    with pytest.raises(UsageError) as caught:
        import_rumen(DATA / "plain.trace.json", jobs=["job_3", "other"])
    assert str(caught.value).splitlines() == [
        'no job "job_3" in plain.trace.json; did you mean "job_2"?',
        'no job "other" in plain.trace.json; known: job_1, job_2',
    ]


def test_minus_one_is_unknown() -> None:
    """Tests that sizes fall back on what was read, and that what stays unknown is absent and noted."""
    document, notes = one("unknown.trace.json")
    assert document["jobs"] == [{"id": "job_1"}]
    assert "groups" not in document
    sizes = [(task.get("size"), task["observed"], len(task)) for task in document["tasks"]]
    assert sizes == [(12.345678, "n1", 6), (None, "n2", 5)]
    assert "(1 of 2 maps)" in document["labels"]["size"]
    assert notes == (
        "job_1: has no submit time; arrival left out",
        "job_1: has no finish time: its log was cut before its end, and later tasks may be missing",
        "job_1: 1 of 2 maps have no known size",
    )
    assert document["labels"]["notes"] == "; ".join(notes)


def test_odd_tasks_and_attempts() -> None:
    """Tests maps without or with repeated replicas, without success, with several, ended too early, begun too early."""
    document, notes = one("attempts.trace.json")
    tasks = by_id(document["tasks"])
    assert list(tasks) == ["no_replica", "same_replica", "several", "backwards", "early", "reduce_done"]
    assert "replicas" not in tasks["no_replica"]
    assert tasks["same_replica"]["replicas"] == ["n1", "n2"]
    assert (tasks["several"]["observed"], tasks["several"]["size"], tasks["several"]["duration"]) == ("n3", 3, 2)
    assert (tasks["backwards"].get("duration"), tasks["backwards"]["start"]) == (None, 15)
    assert (tasks["early"].get("start"), tasks["early"]["duration"]) == (None, 3)
    assert tuple(tasks["reduce_done"].values()) == ("reduce_done", "job_1", "reduce", 5, "n4", 30, 2)
    assert set(notes) == {
        "job_1: 1 of 8 maps name no replica; off-rack everywhere",
        "job_1: 1 of 8 maps name a replica twice; kept once",
        "job_1: 3 of 8 maps never succeeded: left out, since no observed slot was theirs",
        "job_1: 1 of 8 maps ended before they started; duration left out",
        "job_1: 1 of 8 maps started before their job; start left out",
        "job_1: 1 of 2 reduces never succeeded: left out, since no observed slot was theirs",
    }


@pytest.mark.parametrize("slots", ["observed", "inferred", 2])
def test_bug_unsuccessful_tasks_could_not_be_left_out(slots: str | int) -> None:
    """Tests that tasks that never succeeded are left out where that is asked for, with how many, and jobs of these."""
    document, notes = one("attempts.trace.json", slots=slots, unsuccessful="leave-out")
    assert {"nowhere", "failed", "no_attempt", "reduce_open"}.isdisjoint(task["id"] for task in document["tasks"])
    why = "since no observed slot was theirs" if slots == "observed" else "as asked"
    assert f"job_1: 3 of 8 maps never succeeded: left out, {why}" in notes
    assert f"job_1: 1 of 2 reduces never succeeded: left out, {why}" in document["labels"]["notes"]
    jobs = one("killed.trace.json", slots=slots, unsuccessful="leave-out")[0]["jobs"]
    assert [job["id"] for job in jobs] == ["killed_late"]


def test_repeated_job(file: Callable[..., Path]) -> None:
    """Tests that a job recorded twice alike is kept once, on its one host, and that two under one id are a fault."""
    document, notes = one("repeated.trace.json")
    assert notes == ("job_1: recorded again as job 2, the same in all that is read; kept once",)
    assert slots(document) == {"localhost": 1}
    text = (DATA / "repeated.trace.json").read_text()
    other = file(text.replace("9000", "9001", 1))
    assert faults(read_trace, other)[0] == "job 2 (job_1): has the id of job 1 but not its content"


def test_host_in_two_racks() -> None:
    """Tests that the topology decides between two racks of a host, and that without one they are a fault."""
    with pytest.raises(InputError, match='host "n1": is in rack "r1" and in rack "default-rack"; a topology file can'):
        import_rumen(DATA / "two_racks.trace.json")
    document, notes = one("two_racks.trace.json", "plain.topology.json")
    assert by_id(document["nodes"])["n1"]["rack"] == "r1"
    assert notes == ('1 host in another rack than in the topology file, which is believed ("n1": "default-rack")',)


#: Maps, levels of locality under Hadoop, and the optimum of each real job.
TABLE = """
    hadoop/gridmix_2m_stream_trace.json.gz job_201102110711_0184  30  28  2  0   0
    hadoop/gridmix_2m_stream_trace.json.gz job_201102110711_0185  30  29  1  0   0
    hadoop/gridmix_2m_stream_trace.json.gz job_201102110711_0186   3   2  1  0   1
    hadoop/gridmix_2m_stream_trace.json.gz job_201102110711_0187   3   0  3  0   2
    hadoop/gridmix_2m_stream_trace.json.gz job_201102110711_0188 100  99  1  0   0
    hadoop/gridmix_trace_1m.json.gz        job_201102040848_0119   3   2  1  0   1
    hadoop/gridmix_trace_1m.json.gz        job_201102040848_0120   3   2  1  0   0
    hadoop/gridmix_trace_1m.json.gz        job_201102040848_0121   3   0  3  0   2
    hadoop/gridmix_trace_1m.json.gz        job_201102040848_0122   3   1  2  0   2
    hadoop/gridmix_trace_1m.json.gz        job_201102040848_0123  30  28  2  0   0
    hadoop/gridmix_wordcount2.json         job_201009241532_0001   3   3  0  0   0
    hadoop/yahoo4.trace.json.gz            job_200904211745_0002  20   0  4 16  33
    hadoop/yahoo4.trace.json.gz            job_200904211745_0003   3   0  0  3   6
    hadoop/yahoo4.trace.json.gz            job_200904211745_0004 131  14 92 25 114
    sls/2jobs2min-rumen-jh.json.gz         job_1369942127770_1205 96   0  0 96 192
    sls/2jobs2min-rumen-jh.json.gz         job_1369942127770_1206 96   0  0 96 192
"""


def locality(document: Document) -> tuple[np.ndarray, list[str]]:
    """Cost 0, 1, 2 of each map (rows) on each observed slot (columns), and the tasks' own slots."""
    rack = {node["id"]: node.get("rack") for node in document["nodes"]}
    maps = [task for task in document["tasks"] if task["kind"] == "map"]
    hosts = [task["observed"] for task in maps]
    costs = np.full((len(maps), len(hosts)), 2)
    for row, task in enumerate(maps):
        replicas = task.get("replicas", [])
        near = {rack[replica] for replica in replicas} - {None}
        costs[row] = [0 if host in replicas else 1 if rack[host] in near else 2 for host in hosts]
    return costs, hosts


@pytest.mark.parametrize("trace", sorted({line.split()[0] for line in TABLE.strip().splitlines()}))
def test_real_traces(trace: str, real_data: Path) -> None:
    """Tests maps, locality under Hadoop and optimum of each real job against a script that shares nothing with this."""
    topology = real_data / trace.replace(".trace.", ".topology.")
    imported = import_rumen(real_data / trace, topology if "yahoo" in trace else None, split=True)
    found = []
    for document in imported.documents:
        costs, hosts = locality(document)
        assert slots(document, "idle_slots") == dict(Counter(hosts))
        levels = np.bincount(np.diagonal(costs), minlength=3)
        optimum = costs[linear_sum_assignment(costs)].sum()
        found.append([trace, document["jobs"][0]["id"], *map(str, (len(hosts), *levels, optimum))])
    assert found == [line.split() for line in TABLE.strip().splitlines() if line.split()[0] == trace]


def test_yahoo_trace_is_met_with_notes(real_data: Path) -> None:
    """Tests what the 2009 trace is known for: a killed job, unknown sizes, racks that no record tells, a cut log."""
    folder = real_data / "hadoop"
    imported = import_rumen(folder / "yahoo4.trace.json.gz", folder / "yahoo4.topology.json.gz")
    (document,) = imported.documents
    kinds = Counter(task["kind"] for task in document["tasks"])
    assert kinds == {"map": 154, "reduce": 30}
    assert {len(task["replicas"]) for task in document["tasks"] if task["kind"] == "map"} == {3}
    assert len({node["rack"] for node in document["nodes"] if "rack" in node}) == 41
    assert "\\" not in json.dumps(document)
    assert "(154 of 154 maps)" in document["labels"]["size"]
    assert imported.notes == (
        "51 hosts of 585 in no known rack, so off-rack from all others",
        "job_200904211745_0001: has no maps; skipped",
        "job_200904211745_0004: has no finish time: its log was cut before its end, and later tasks may be missing",
        "job_200904211745_0004: 1 of 131 maps started before their job; start left out",
        "job_200904211745_0004: 19 of 47 reduces never succeeded: left out, since no observed slot was theirs",
    )


def test_proportional_shuffle() -> None:
    """Tests that what a reduce fetched is split by what the maps gave out, and that the assumption is labelled."""
    document = import_rumen(DATA / "plain.trace.json", jobs=["job_1"], shuffle="proportional").documents[0]
    assert document["shuffle"] == [
        {"map": "task_1_m_0", "reduce": "task_1_r_0", "size": 6.333333},
        {"map": "task_1_m_1", "reduce": "task_1_r_0", "size": 3.166667},
    ]
    assert document["topology"] == {"hops": {"node": 0, "rack": 2, "off_rack": 4}}
    assert document["labels"]["shuffle"].startswith("assumed")
    assert document["labels"]["topology"].startswith("assumed")


def test_maps_that_have_run() -> None:
    """Tests that with `maps=finished` maps stand where they ran and the reduces wait, and that a label says so."""
    document = import_rumen(DATA / "plain.trace.json", jobs=["job_1"], maps="finished").documents[0]
    where = [(task.get("state"), task.get("node")) for task in document["tasks"]]
    assert where == [("finished", "n1"), ("finished", "n1"), (None, None)]
    assert document["labels"]["state"].startswith("inferred: all maps have run where the trace says")
    assert document["description"].endswith("as if only reduces waited.")


def test_topology_oddities() -> None:
    """Tests racks of racks, hosts without one, empty racks, and a host that is named twice."""
    assert read_topology(DATA / "deep.topology.json") == {"n1": "d1/r1", "n2": "d1/r2", "gateway": None}
    assert list(read_topology(DATA / "plain.topology.json")) == ["n1", "n2", "n10", "n11", "n20", "n21", "n22"]
    assert faults(read_topology, DATA / "two_racks.topology.json") == [
        'children[1].children[1].name: host "n1" stands at children[0].children[0] already, and a host has one rack'
    ]


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.thorough)])
def test_cut_anywhere(file: Callable[..., Path], step: int) -> None:
    """Tests that a log cut at any byte gives its complete jobs or says that there is none, and is never malformed."""
    data = (DATA / "plain.trace.json").read_bytes().rstrip()
    second = data.index(b'{\n  "jobID" : "job_2"')
    for end in range(0, len(data), step):
        path = file(data[:end])
        if end < second - 1:
            assert faults(read_trace, path)[0].startswith("there is no complete job")
        else:
            trace = read_trace(path)
            assert [job.id for job in trace.jobs] == ["job_1"]
            assert bool(trace.notes) == (end > second)


@pytest.mark.parametrize("tail", ['"\\u00', '"\\', "tru", "-", "1.", "1e", "1e+", '"\u00e9'.encode()[:-1], "[1,", "{"])
def test_cut_within_a_token(file: Callable[..., Path], tail: str | bytes) -> None:
    """Tests that a cut within an escape, a literal, a number or a character is seen as a cut."""
    head = b'{"jobID": "j"} {"jobID": "k", "x": '
    trace = read_trace(file(head + (tail.encode() if isinstance(tail, str) else tail)))
    assert [job.id for job in trace.jobs] == ["j"]
    assert trace.notes == ("the file ends within job 2; the complete ones before it are kept",)


def test_more_text_than_is_read(file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a small file that unpacks to too much is refused before it fills the memory."""
    monkeypatch.setattr("optsched.instances.importers.foreign.LARGEST_TEXT", 2**20)
    path = file(gzip.compress(b" " * 5_000_000, mtime=0))
    assert faults(read_trace, path) == ["unpacks to more than 1 MiB; split it into smaller files"]


#: Wrong texts, and the one thing that is wrong with each.
TRACES: list[tuple[str | bytes, str]] = [
    ("", "there is no complete job in it; a Rumen trace is JSON objects, one after the other"),
    (gzip.compress(b"{}", mtime=0)[:10] + b"\xff" * 20, "the compressed data are damaged (Error -3 while"),
    ('[{"jobID": "j"}]', "job 1: is a list; a Rumen trace is JSON objects, one after the other"),
    ("{}", "job 1.jobID: is missing"),
    ('{"jobID": "../up"}', "job 1 (../up).jobID: expected letters, digits, _, - and . only, got"),
    ('{"jobID": "j", "submitTime": NaN}', "job 1 (j).submitTime: expected an integer, 0 or more, or -1 where"),
    ('{"jobID": "j", "mapTasks": [{}]}', "job 1 (j).mapTasks[0].taskID: is missing"),
    (
        '{"jobID": "j", "mapTasks": [{"taskID": "t", "preferredLocations": [{"layers": []}]}]}',
        "job 1 (j).mapTasks[0].preferredLocations[0].layers: must not be empty",
    ),
    (
        '{"jobID": "j", "mapTasks": [{"taskID": "t"}], "reduceTasks": [{"taskID": "t"}]}',
        'job 1 (j): task "t" is recorded in j already',
    ),
]
TOPOLOGIES = [
    ("", "a topology is one JSON object, not 0"),
    ("{} {}", "a topology is one JSON object, not 2"),
    ("{}", "a topology without hosts"),
    ('{"name": "<root>", "children": [', "the file was cut before its end"),
    ('{"children": [{"children": null}]}', "children[0].name: is missing"),
    ('{"children": [{"children": [{"name": "a"}]}]}', "children[0].name: is missing"),
    ('{"children": ' + '[{"name": "a", "children": ' * 300 + "[]" + "}]" * 300 + "}", "is nested too deeply"),
    ('{"children": [{"name": "a"}, {"name": "/"}]}', "children[1].name: expected the name of a host or rack"),
]


@pytest.mark.parametrize(
    ("read", "text", "fault"),
    [*((read_trace, *case) for case in TRACES), *((read_topology, *case) for case in TOPOLOGIES)],
)
def test_wrong_files(file: Callable[..., Path], read: Callable[..., Any], text: str | bytes, fault: str) -> None:
    """Tests that a wrong trace, or topology, has one fault, with its place."""
    (found,) = faults(read, file(text))
    assert found.startswith(fault)
