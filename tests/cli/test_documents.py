"""`optsched describe`, `generate` and `import rumen`, and what happens to files that are wrong in any way."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import answer, run

import optsched
from optsched.instances.generate import FAMILIES, generate

pytestmark = pytest.mark.usefixtures("wide_page")


def test_describe_json() -> None:
    """Tests that sizes, labels, parameters and problems are reported, with every missing field."""
    known = answer("describe", "papers/guo-fig2")
    assert (known["name"], known["sizes"]["nodes"], known["sizes"]["idle slots"]) == ("guo-fig2", 3, 3)
    assert [entry["name"] for entry in known["problems"] if entry["applies"]] == ["lsap", "latency"]
    flow = next(entry for entry in known["problems"] if entry["name"] == "flow")
    assert "tasks[0].rate_in: flow needs the task's input rate in MB/s" in flow["missing"]
    assert len(flow["missing"]) == flow["missing_count"] == 9


def test_bug_describe_ignored_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that sentences are folded to the page, that the hash is whole, and that no word is lost."""
    wide = run("describe", "papers/fsy-not-optimal").stdout.split()
    monkeypatch.setenv("COLUMNS", "80")
    result = run("describe", "papers/fsy-not-optimal")
    assert [line.split()[0] for line in result.stdout.splitlines() if len(line) > 80] == ["sha256"]
    assert [word for word in result.stdout.split() if word.strip("-")] == [word for word in wide if word.strip("-")]


def test_describe_table_counts_the_rest() -> None:
    """Tests that of many missing fields the table shows the first few and counts the others."""
    result = run("describe", "papers/guo-fig2")
    assert result.exit_code == 0
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("problem flow "))
    assert line.count("tasks[") == 3
    assert line.endswith("and 6 more")


@pytest.mark.parametrize("family", FAMILIES)
def test_generate(tmp_path: Path, family: str) -> None:
    """Tests that each family is drawn from its options, to a file, the same as from Python."""
    table = FAMILIES[family].parameters
    sizes = {
        name: size for name, size in {"nodes": 30, "tasks": 20}.items() if name in table and not table[name].choices
    }
    sizes = {} if any(size < table[name].minimum for name, size in sizes.items()) else sizes
    options = [f"--{name}={size}" for name, size in sizes.items()]
    file = tmp_path / "drawn.npz"
    result = run("generate", family, *options, "--seed", "3", "--output", str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    assert all(line.startswith("optsched: note: assumed or inferred: ") for line in result.stderr.splitlines())
    drawn = optsched.load(file)
    assert drawn.sha256 == generate(family, 3, **sizes).sha256


def test_generate_makes_itself_again(tmp_path: Path) -> None:
    """Tests that the command in a generated instance's source makes the same instance, and JSON goes to stdout."""
    first = run("generate", "fair-lsap", "--weights", "1,2.5", "--tasks", "12", "--idle-ratio=0.4")
    document = json.loads(first.stdout)
    words = document["source"].split()
    assert words[:4] == ["generated", "by", "optsched", "generate"]
    assert run("generate", *words[4:]).stdout == first.stdout


def test_generate_takes_options_anywhere() -> None:
    """Tests options before the family, and names with an underscore."""
    usual = run("generate", "lsap", "--seed", "3", "--idle-ratio", "0.5").stdout
    assert run("generate", "--seed", "3", "lsap", "--idle_ratio", "0.5").stdout == usual


def test_generate_help_lists_families_and_parameters() -> None:
    """Tests that help lists every family, and that of a family its parameters."""
    text = run("generate", "--help").stdout
    assert all(f"\n  {name} " in text for name in FAMILIES)
    one = run("generate", "planted-latency", "--help").stdout
    assert "--makespan" in one
    assert "--max-load" in run("generate", "latency", "--help").stdout


RUMEN: list[dict[str, Any]] = [
    {
        "jobID": f"job_{number}",
        "submitTime": 1000,
        "finishTime": 9000,
        "mapTasks": [
            {
                "taskID": f"task_{number}_{task}",
                "taskType": "MAP",
                "preferredLocations": [{"layers": ["r1", "h1"]}],
                "inputBytes": 64000000,
                "attempts": [
                    {"result": "SUCCESS", "hostName": f"/r1/h{task + 1}", "startTime": 1500, "finishTime": 4000}
                ],
            }
            for task in range(2)
        ],
    }
    for number in (1, 2)
] + [{"jobID": "job_3", "submitTime": 2000, "mapTasks": []}]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A trace of two jobs with maps and one without."""
    path = tmp_path / "small.trace.json.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, RUMEN)).encode()))
    return str(path)


def test_import_split(tmp_path: Path, trace: str) -> None:
    """Tests that each job becomes a file of the folder, which is made, and what was skipped is reported on stderr."""
    folder = tmp_path / "new" / "jobs"
    result = run("import", "rumen", trace, "--split-jobs", str(folder))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "optsched: note: job_3: has no maps; skipped" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["small-job_1.json", "small-job_2.json"]
    gaps = run("gap", str(folder), "--each", "--problem", "lsap", "--heuristic", "observed")
    assert [line.split()[1:3] for line in gaps.stdout.splitlines()[3:]] == [["1", "1"], ["1", "1"]]


def test_import_split_that_is_broken_off(tmp_path: Path, trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C between two jobs leaves whole files, and says how many of them."""
    from optsched.instances import files

    real, calls = files.save, []

    def save(*args: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*args)

    monkeypatch.setattr(files, "save", save)
    folder = tmp_path / "jobs"
    result = run("import", "rumen", trace, "--split-jobs", str(folder))
    assert result.exit_code == 130
    assert f"optsched: warning: 1 of 2 jobs are written to {folder}" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["small-job_1.json"]


def test_import_to_one_file_and_to_stdout(tmp_path: Path, trace: str) -> None:
    """Tests that jobs are pooled into one instance, in a file or on stdout."""
    file = tmp_path / "all.json.gz"
    assert run("import", "rumen", trace, "--slots", "2", "--name", "both", "--output", str(file)).exit_code == 0
    loaded = optsched.load(file)
    assert isinstance(loaded, optsched.Instance)
    assert (loaded.name, len(loaded.workload)) == ("both", 4)
    one = json.loads(run("import", "rumen", trace, "--job", "job_2").stdout)
    assert (one["name"], len(one["tasks"])) == ("small-job_2", 2)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--job", "job_4"], 2, 'no job "job_4"'),
        (["--job", "job_3"], 3, "nothing to place: job_3"),
        (["--slots", "some"], 2, 'slots must be "observed", "inferred" or a number'),
        (["--topology", "nowhere.json"], 3, "nowhere.json"),
        (["--output", "instance.txt"], 3, "the name must end in"),
    ],
)
def test_import_wrongly(trace: str, args: list[str], code: int, message: str) -> None:
    """Tests that wrong options are exit code 2 and wrong files 3."""
    result = run("import", "rumen", trace, *args)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_folder_that_cannot_be_made(tmp_path: Path, trace: str) -> None:
    """Tests that a file in the place of the folder is reported."""
    (tmp_path / "taken").write_text("")
    result = run("import", "rumen", trace, "--split-jobs", str(tmp_path / "taken"))
    assert result.exit_code == 3
    assert "is no folder to write to" in result.stderr


# Hostile input ----------------------------------------------------------------------------------------------------

SOUND = json.dumps(
    {
        "format": "optsched/1",
        "name": "sound",
        "nodes": [{"id": "n1", "rack": "r1", "slots": 2}, {"id": "n2", "load": 3}],
        "tasks": [{"id": "t1", "replicas": ["n1", "n2"], "size": 64}, {"id": "t2"}],
    }
)

HOSTILE: dict[str, bytes] = {
    "empty": b"",
    "null": b"null",
    "binary": bytes(range(256)),
    "deep": b"[" * 100_000,
    "nan": SOUND.replace("64", "NaN").encode(),
    "doubled-id": SOUND.replace('"id": "n2"', '"id": "n1"').encode(),
    "dangling": SOUND.replace('"replicas": ["n1"', '"replicas": ["n9"').encode(),
    "escape": SOUND.replace("t2", "\\u001b[31m\\ud800").encode(),
    "truncated": SOUND[:70].encode(),
}


@pytest.mark.parametrize("command", [["describe"], ["certify", "papers/guo-fig2"]], ids=["instance", "solution"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(tmp_path: Path, name: str, command: list[str]) -> None:
    """Tests that a file that is wrong in any way is exit code 3, with its name, no traceback, no controls."""
    file = tmp_path / f"{name}.json"
    file.write_bytes(HOSTILE[name])
    result = run(*command, str(file))
    assert (result.exit_code, result.stdout) == (3, "")
    lines = result.stderr.splitlines()
    assert lines
    assert all(line.startswith(f"optsched: error: {file}: ") and line.isprintable() for line in lines)


def test_all_files_are_reported(tmp_path: Path) -> None:
    """Tests that of several files with faults each is reported, and nothing is computed."""
    files = []
    for name in ("empty", "doubled-id", "dangling"):
        file = tmp_path / f"{name}.json"
        file.write_bytes(HOSTILE[name])
        files.append(str(file))
    result = run("gap", files[0], "papers/guo-fig2", *files[1:])
    assert (result.exit_code, result.stdout) == (3, "")
    assert all(f"{file}: " in result.stderr for file in files)
