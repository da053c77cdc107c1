"""Files of other formats given where an instance is due: each is known, and the command that takes it is told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from foreign_files import QUEUES

from optsched.core.errors import InputError
from optsched.instances.files import load
from optsched.instances.importers.foreign import told_of

GAP = "a generalized-assignment file of OR-Library"
NUMBERS = "numbers alone, as OR-Library's files are"
RUMEN = {"priority": "NORMAL", "jobID": "job_1", "mapTasks": [], "reduceTasks": []}


@pytest.mark.parametrize(
    ("name", "text", "what", "command"),
    [
        ("two.json", f"{json.dumps(RUMEN)}\n{json.dumps(RUMEN)}", "a Rumen trace", "import rumen {}"),
        ("one.json", json.dumps(RUMEN, indent=2), "a Rumen trace", "import rumen {}"),
        (
            "topology.json",
            '{\n "name" : "<root>",\n "children" : []}',
            "Rumen's topology",
            "import rumen TRACE --topology {}",
        ),
        ("sls.json", '{"am.type": "mapreduce", "job.start.ms": 0}', "a workload of YARN's SLS", "import sls {}"),
        ("nodes.json", '{"rack": "r", "nodes": []}', "SLS's file of nodes", "import sls WORKLOAD --nodes {}"),
        ("net.min", "c a network\np min 2 1\n", "a flow network in DIMACS form", "import dimacs {}"),
        ("queues.xml", QUEUES, "a file of queues for YARN's fair scheduler", "import sls WORKLOAD --queues {}"),
        ("fb.tsv", "job0\t49\t49\t740773\t2339561\t627471\n", "a SWIM workload", "import swim {}"),
        ("sol.json", '{"format": "optsched-solution/1"}', "a solution", "certify INSTANCE {}"),
        (
            "run.json",
            '{"format": "optsched-schedule/1"}',
            "a schedule",
            "solve INSTANCE --problem job-times --start {}",
        ),
        ("gap1", "2 1  5 6  3 4  8 9", GAP, "import orlib-gap {}"),
        ("gaps.txt", "2\n 1 1 5 3 8\n 2 1 5 6 3 4 8 9\n", GAP, "import orlib-gap {}"),
        ("assign2.txt", " 2\n 5 6\n 3. -4e1", "an assignment file of OR-Library", "import orlib-assign {}"),
        ("wrong.txt", "3 1 5 6 3 4 8 9", NUMBERS, "import orlib-gap {}, or orlib-assign"),
        ("float.txt", "0.5 1 5 6", NUMBERS, "import orlib-gap {}, or orlib-assign"),
        ("large.txt", "100 " * 20000, NUMBERS, "import orlib-gap {}, or orlib-assign"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_known_formats(tmp_path: Path, name: str, text: str, what: str, command: str, packed: bool) -> None:
    """Tests that the error says what the file is and what takes it, packed or not, with whatever ending."""
    file = tmp_path / (f"{name}.gz" if packed else name)
    file.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(InputError) as caught:
        load(file)
    assert str(caught.value) == f"{file}: this is {what}, no instance; optsched {command.format(file)}"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "job.jhist",
            'Avro-Json\n{"type":"record","namespace":"org.apache.hadoop.mapreduce.jobhistory"}',
            "a job history of Hadoop, no instance; make a Rumen trace of it (Hadoop's TraceBuilder)",
        ),
        (
            "app.json",
            '{"Event":"SparkListenerLogStart"}\n{"Event":"SparkListenerTaskEnd"}',
            "an event log of Spark, no instance; no importer reads it: write tasks.csv",
        ),
        (
            "requests.jsonl",
            '{"timestamp": 0, "input_length": 6, "output_length": 5, "hash_ids": [0, 1]}\n',
            "a Mooncake trace of requests, no instance; it does not say which nodes hold the blocks (hash_ids)",
        ),
    ],
)
def test_bug_formats_without_an_importer_were_unknown(tmp_path: Path, name: str, text: str, told: str) -> None:
    """Tests that what no importer reads is known by its content, packed or not, and what is missing is said."""
    for file, data in ((name, text.encode()), (f"{name}.gz", gzip.compress(text.encode()))):
        path = tmp_path / file
        path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            load(path)
        assert str(caught.value).startswith(f"{path}: this is {told}")


def test_real_files_without_an_importer(real_data: Path) -> None:
    """Tests that published files of other tools are known."""
    for name, what in (
        ("mooncake/conversation_trace.jsonl.gz", "a Mooncake trace"),
        ("mapreduce/eagle-0e88249.jhist.gz", "a job history of Hadoop"),
        ("spark/local-cluster-4x1-blockupdates.json.gz", "an event log of Spark"),
        ("spark/join_agg_on_yarn_eventlog.zstd", "packed by Zstandard"),
        ("sls/fair-scheduler.xml", "a file of queues for YARN's fair scheduler"),
    ):
        with pytest.raises(InputError, match=what):
            load(real_data / name)


def test_what_is_not_known(tmp_path: Path) -> None:
    """Tests that faults of an instance, of unknown JSON and of what cannot be read are told as ever."""
    file = tmp_path / "wrong.json"
    file.write_text('{"format": "optsched/1", "nodes": [], "tasks": [{"id": "t", "jobID": 3}], "name": "p min 1 2"}')
    with pytest.raises(InputError, match=r"tasks\[0\].jobID: there is no such field"):
        load(file)
    file.write_text("{}")
    with pytest.raises(InputError, match="format: is missing"):
        load(file)
    broken = tmp_path / "broken.json.gz"
    broken.write_bytes(gzip.compress(json.dumps(RUMEN).encode())[:20])
    with pytest.raises(InputError, match="is no sound gzip file"):
        load(broken)
    assert told_of(b"", "none.json") is None
    assert told_of(b"1 2 3", "few.txt") is None
    assert told_of(b"1 2 3 four", "words.txt") is None


def test_files_of_or_library(real_data: Path) -> None:
    """Tests that the library's own files are known."""
    for name in ("gap1-0", "a05100", "c05100"):
        with pytest.raises(InputError, match="OR-Library"):
            load(real_data / "gap" / name)
