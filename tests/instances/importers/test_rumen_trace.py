"""Rumen's two file formats: traces that are whole, cut or wrong, and topologies."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from foreign_files import faults

from optsched.instances.importers.rumen import read_topology, read_trace

DATA = Path(__file__).resolve().parents[2] / "data" / "rumen"


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


def test_cut_gzip(file: Callable[..., Path]) -> None:
    """Tests that compressed data cut before their end give the jobs that are whole."""
    rng = random.Random(1)
    jobs = [json.dumps({"jobID": f"j{n}", "user": f"{rng.random()}"}) for n in range(2000)]
    packed = gzip.compress("\n".join(jobs).encode())
    trace = read_trace(file(packed[: len(packed) // 2]))
    assert 500 < len(trace.jobs) < 1500
    assert trace.notes[0] == "the compressed data were cut before their end; what comes before is read"
    nothing = file(packed[:12])
    assert faults(read_trace, nothing) == ["there is no complete job in it; the file was cut before its end"]


def test_more_text_than_is_read(file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a small file that unpacks to too much is refused before it fills the memory."""
    monkeypatch.setattr("optsched.instances.importers.foreign.LARGEST_TEXT", 2**20)
    path = file(gzip.compress(b" " * 5_000_000, mtime=0))
    assert faults(read_trace, path) == ["unpacks to more than 1 MiB; split it into smaller files"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "there is no complete job in it; a Rumen trace is JSON objects, one after the other"),
        (" \n", "there is no complete job in it; a Rumen trace is JSON objects, one after the other"),
        (b"\x00\xff\xfe\x01", "byte 1: is no UTF-8 text (invalid start byte)"),
        (gzip.compress(b"{}", mtime=0)[:10] + b"\xff" * 20, "the compressed data are damaged (Error -3 while"),
        (b"\x1f\x8b rubbish rubbish", "the compressed data are damaged (Unknown compression method)"),
        ('[{"jobID": "j"}]', "job 1: is a list; a Rumen trace is JSON objects, one after the other"),
        ("7", "job 1: must be an object, not 7"),
        ("{}", "job 1.jobID: is missing"),
        ('{"jobID": 7}', "job 1.jobID: must be a string, not 7"),
        ('{"jobID": "../up"}', 'job 1.jobID: "../up" must be up to 100 letters, digits, _, - and .: it becomes a'),
        ('{"jobID": "j"} x', "job 2: malformed JSON at line 1, column 16: Expecting value"),
        ('{"jobID": "j",, "user": 1}', "job 1: malformed JSON at line 1, column 15: Expecting property name"),
        ('{"jobID": "j", "x": ' + "[" * 100_000, "job 1: is nested too deeply for a Rumen file"),
        ('{"jobID": "j", "submitTime": ' + "9" * 5000 + "}", "job 1: holds a number that cannot be read"),
        ('{"jobID": "j", "submitTime": NaN}', "job 1 (j).submitTime: must be a whole number, not NaN"),
        ('{"jobID": "j", "submitTime": 9223372036854775807}', "job 1 (j).submitTime: 9223372036854775807 is past 2^53"),
        ('{"jobID": "j", "user": "a", "user": "b"}', "job 1 (j).user: is named twice in one object"),
        ('{"jobID": "j", "user": "\\ud800"}', "job 1 (j).user: must be a non-empty string of printable characters"),
        ('{"jobID": "j", "mapTasks": {}}', "job 1 (j).mapTasks: must be a list, not an object"),
        ('{"jobID": "j", "mapTasks": [3]}', "job 1 (j).mapTasks[0]: must be an object, not 3"),
        ('{"jobID": "j", "mapTasks": [{}]}', "job 1 (j).mapTasks[0].taskID: is missing"),
        (
            '{"jobID": "j", "mapTasks": [{"taskID": "t", "preferredLocations": [{"layers": []}]}]}',
            "job 1 (j).mapTasks[0].preferredLocations[0].layers: names no host",
        ),
        (
            '{"jobID": "j", "mapTasks": [{"taskID": "t", "preferredLocations": [{"layers": ["r", 7]}]}]}',
            "job 1 (j).mapTasks[0].preferredLocations[0].layers[1]: must be a string, not 7",
        ),
        (
            '{"jobID": "j", "mapTasks": [{"taskID": "t", "attempts": [{"hostName": "//"}]}]}',
            "job 1 (j).mapTasks[0].attempts[0].hostName: names no host",
        ),
        (
            '{"jobID": "j", "mapTasks": [{"taskID": "t", "attempts": [{"location": 1}]}]}',
            "job 1 (j).mapTasks[0].attempts[0].location: must be an object, not 1",
        ),
        (
            '{"jobID": "j", "mapTasks": [{"taskID": "t"}], "reduceTasks": [{"taskID": "t"}]}',
            'job 1 (j): task "t" is recorded in j already',
        ),
    ],
)
def test_wrong_trace(file: Callable[..., Path], text: str | bytes, fault: str) -> None:
    """Tests that a wrong trace has one fault, with its place."""
    (found,) = faults(read_trace, file(text))
    assert found.startswith(fault)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "a topology is one JSON object, not 0"),
        ("{} {}", "a topology is one JSON object, not 2"),
        ("{}", "a topology without hosts"),
        ('{"name": "<root>", "children": [', "the file was cut before its end"),
        ('{"name": "<root>"; }', "object 1: malformed JSON at line 1, column 18"),
        ("[]", "must be an object, not a list"),
        ('{"children": 7}', "children: must be a list, not 7"),
        ('{"children": [{"children": null}]}', "children[0].name: is missing"),
        ('{"children": [{"name": "\\\\"}, {"name": "/"}]}', "children[1].name: names no host"),
        ('{"children": ' + '[{"name": "a", "children": ' * 20_000, "object 1: is nested too deeply for a Rumen file"),
    ],
)
def test_wrong_topology(file: Callable[..., Path], text: str, fault: str) -> None:
    """Tests that a wrong topology has one fault, with its place."""
    (found,) = faults(read_topology, file(text))
    assert found.startswith(fault)


def test_every_fault_is_listed(file: Callable[..., Path]) -> None:
    """Tests that all faults of all jobs are reported, the syntax fault that ends the reading among them."""
    text = """{"jobID": "a", "submitTime": "x", "user": 3, "mapTasks": [{"taskID": 1}, 2]}
    {"jobID": "b", "reduceTasks": 1} {"jobID": "c" "d"}"""
    assert [fault.split(":")[0] for fault in faults(read_trace, file(text))] == [
        "job 1 (a).mapTasks[1]",
        "job 1 (a).mapTasks[0].taskID",
        "job 1 (a).user",
        "job 1 (a).submitTime",
        "job 2 (b).reduceTasks",
        "job 3",
    ]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Tests that a missing file and a folder are input errors that name the file."""
    assert faults(read_trace, tmp_path / "none.json") == ["cannot be read (No such file or directory)"]
    assert faults(read_topology, tmp_path) == ["cannot be read (Is a directory)"]
