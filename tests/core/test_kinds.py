"""What kind of file a file is, and that every command says so of a file of another kind."""

import gzip
import json
import shutil
import time
from pathlib import Path

import pytest
from command_line import run, small
from input_files import QUEUES

from optsched.core.errors import InputError
from optsched.core.kinds import kind_of, kind_of_file
from optsched.instances.files import load, save
from optsched.instances.generate import generate

ROOT = Path(__file__).resolve().parents[2]

NUMBERS = "numbers alone, as OR-Library's files are"
RUMEN = {"priority": "NORMAL", "jobID": "job_1", "mapTasks": [], "reduceTasks": []}


SLS, ORLIB = "import sls WORKLOAD", "import orlib-gap {0}, or import orlib-assign {0},"
HISTORY = 'Avro-Json\n{"type":"record","namespace":"org.apache.hadoop.mapreduce.jobhistory"}'


@pytest.mark.parametrize(
    ("text", "what", "takes"),
    [
        (f"{json.dumps(RUMEN)}\n{json.dumps(RUMEN)}", "a Rumen trace", "import rumen {}"),
        (json.dumps(RUMEN, indent=2), "a Rumen trace", "import rumen {}"),
        ('{\n "name" : "<root>",\n "children" : []}', "Rumen's topology", "import rumen TRACE --topology {}"),
        ('{"am.type": "mapreduce", "job.start.ms": 0}', "a workload of YARN's SLS", "import sls {}"),
        ('{"rack": "r", "nodes": []}', "SLS's file of nodes", f"{SLS} --nodes {{}}"),
        ("c a network\np min 2 1\n", "a flow network in DIMACS form", "import dimacs {}"),
        (QUEUES, "a file of queues for YARN's fair scheduler", f"{SLS} --queues {{}}"),
        ("job0\t49\t49\t740773\t2339561\t627471\n", "a SWIM workload", "import swim {}"),
        ('{"format": "optsched-solution/1"}', "a solution", "certify INSTANCE {}"),
        ('{"format": "optsched-schedule/1"}', "a schedule", "solve INSTANCE --problem job-times --start {}"),
        (" 2\n 5 6\n 3. -4e1", NUMBERS, ORLIB),
        ("0.5 1 5 6", NUMBERS, ORLIB),
        ("100 " * 20000, NUMBERS, ORLIB),
        (HISTORY, "a job history of Hadoop", "make a Rumen trace of it (Hadoop's TraceBuilder), "),
        ('{"Event":"SparkListenerLogStart"}\n', "an event log of Spark", "no importer reads it: write tasks.csv"),
        (
            '{"timestamp": 0, "input_length": 6, "output_length": 5, "hash_ids": [0, 1]}\n',
            "a Mooncake trace of requests",
            "it does not say which nodes hold the blocks (hash_ids)",
        ),
    ],
)
def test_known_formats(tmp_path: Path, text: str, what: str, takes: str) -> None:
    """Tests that the error says what the file is and what takes it, packed or not, with whatever ending."""
    use = f"optsched {takes}" if takes.startswith(("import ", "certify ", "solve ")) else takes
    for name, data in (("some.json", text.encode()), ("some.tsv.gz", gzip.compress(text.encode()))):
        file = tmp_path / name
        file.write_bytes(data)
        with pytest.raises(InputError) as caught:
            load(file)
        assert str(caught.value).startswith(f"{file}: this is {what}, not an instance; {use.format(file)}")


def test_what_is_not_known(tmp_path: Path) -> None:
    """Tests that faults of an instance, of unknown JSON and of what cannot be read are reported as ever."""
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
    assert kind_of(b"") is kind_of(b"1 2 3") is kind_of(b"1 2 3 four") is None


INSTANCES = {"instance.json", "instance.npz", "network.json", "tasks.csv"}

#: Commands by the kinds that they take; `{}` is the file.
COMMANDS = {
    "describe {}": INSTANCES,
    "solve {} --problem lsap": INSTANCES,
    "gap {} --problem lsap --heuristic dl": INSTANCES,
    "simulate {} --policy fair": INSTANCES,
    "certify instance.json {}": {"solution.json", "frontier.json"},
    "explain instance.json --problem lsap --solution {}": {"solution.json", "schedule.json"},
    "show instance.json --problem lsap --to a.svg --solution {}": {"solution.json", "schedule.json"},
    "solve instance.json --problem lsap --start {}": {"solution.json", "schedule.json"},
    "solve instance.json --problem lsap --profile {}": {"profile.toml"},
    "report {} --to a.html": {"records.json", "points.json", "store.sqlite"},
    "check {}": {"checks.toml"},
    "sweep {} --store new.sqlite --dry-run": INSTANCES | {"sweep.toml"},
    "sweep instance.json --problem lsap --heuristic dl --store {}": {"store.sqlite"},
    "import rumen {}": {"rumen.json"},
    "import rumen rumen.json --topology {}": {"topology.json"},
    "import sls {}": {"sls.json"},
    "import sls sls.json --nodes {}": {"slsnodes.json"},
    "import swim {}": {"swim.tsv"},
    "import dimacs {}": {"graph.min"},
    "import orlib-gap {}": {"orlib.txt"},
    "import orlib-assign {}": {"orlib.txt"},
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every kind."""
    folder = tmp_path_factory.mktemp("kinds")

    def made(*args: str) -> str:
        result = run(*args)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    tasks = [{"id": name, "replicas": ["a"], "job": "j", "duration": 1} for name in ("t1", "t2")]
    rest = {"parameters": {}, "groups": [{"id": "g"}], "jobs": [{"id": "j", "group": "g"}]}
    instance = small(folder / "instance.json", tasks=tasks, **rest)
    save(load(instance), folder / "instance.npz")
    save(generate("min-cost-flow", 0), folder / "network.json")
    posed = (instance, "--problem", "lsap")
    made("solve", *posed, "--output", str(folder / "solution.json"))
    made("frontier", instance, "--problem", "latency", "--output", str(folder / "frontier.json"))
    runs = ("simulate", instance, "--policy", "fair")
    made(*runs, "--schedule", str(folder / "schedule.json"), "--jobs", str(folder / "jobs.of.csv"))
    for file in ("records.json", "records.csv"):
        made("gap", *posed, "--heuristic", "dl", "--output", str(folder / file))
    made("sweep", *posed, "--heuristic", "dl", "--store", str(folder / "store.sqlite"))
    made("export", *posed, "--to", str(folder / "model.lp"))
    made("report", str(folder / "records.json"), "--to", str(folder / "report.html"), "--to", str(folder / "cells.csv"))
    for name, args in {
        "explanation.json": ("explain", *posed, "--heuristic", "dl"),
        "points.json": ("frontier", instance, "--problem", "latency"),
        "runs.json": runs,
        "description.json": ("describe", instance),
        "parts.json": ("decompose", instance, "--problem", "job-times", "--policy", "fair"),
    }.items():
        (folder / name).write_text(made(*args, "--format", "json"))
    for name, text in {
        "rumen.json": json.dumps(RUMEN),
        "topology.json": '{"name": "<root>", "children": []}',
        "sls.json": '{"am.type": "mapreduce", "job.start.ms": 0}',
        "slsnodes.json": '{"rack": "r", "nodes": []}',
        "swim.tsv": "job0\t49\t49\t740773\t2339561\t627471\n",
        "graph.min": "p min 2 1\n",
        "orlib.txt": "2 1  5 6  3 4  8 9",
        "checks.toml": "[[check]]\nheuristic = 'dl'\n",
        "sweep.toml": "[[part]]\nheuristic = 'dl'\n",
        "profile.toml": (ROOT / "solvers" / "ci.toml").read_text(),
        "tasks.csv": "id,replicas\nt,a\n",
        "own.py": "import optsched\n",
        "picture.svg": (ROOT / "docs" / "images" / "times.svg").read_text()[:2000],
    }.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_knows_files_of_other_kinds(
    kinds: Path, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a file of any other kind is called by what it is, in one line that says what takes it."""
    shutil.copytree(kinds, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for file in sorted(kinds.iterdir()):
        known = kind_of_file(file)
        if file.name in COMMANDS[command] or file.name.endswith("-lock"):
            continue
        assert known is not None, file.name
        result = run(*command.replace("{}", file.name).split())
        assert result.exit_code == 3, (file.name, result.stderr)
        errors = [line for line in result.stderr.splitlines() if "error:" in line]
        assert len(errors) == 1, (file.name, errors)
        assert f"{file.name}: this is {known.name}, not " in errors[0]
        assert known.use.replace("{}", file.name) in errors[0]


def test_no_pattern_takes_long() -> None:
    """Tests that a file of one repeated sign is looked at in no time: blanks once took half a minute."""
    for sign in (b" ", b"\n", b"\t \n", b"[", b"{", b'"', b"p ", b"rows\n", b"[[", b"id,", b"1 ", b"<"):
        began = time.process_time()
        kind_of(sign * 2**16)
        assert time.process_time() - began < 3, sign
