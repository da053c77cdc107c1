"""`optsched list`, `versions`, `describe`, `generate`, `import`: what there is; and files that are wrong in any way."""

import gzip
import json
import os
import pty
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from command_line import ENVIRONMENT, PROGRAM, answer, commands, run, stderr, stdout, within
from engines import interrupted

import optsched
from optsched.cli.listing import LISTS, checks, pages
from optsched.core import registry
from optsched.core.errors import UsageError
from optsched.core.registry import KnownOptimum, Record, record
from optsched.instances import files
from optsched.instances.generate import FAMILIES, generate
from optsched.problems import PROBLEMS

pytestmark = pytest.mark.usefixtures("wide_page")


@pytest.mark.parametrize("what", LISTS)
def test_list(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each list has a line for each name, within the terminal, and in JSON objects of different names."""
    monkeypatch.setenv("COLUMNS", "80")
    names = [entry["name"] for entry in answer("list", what)]
    assert len(set(names)) == len(names) > 0
    lines = stdout("list", what).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == names


@pytest.mark.parametrize("what", LISTS)
def test_one_of_a_list(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that its name shows all of an entry, with each parameter, within the terminal; JSON has that one."""
    monkeypatch.setenv("COLUMNS", "80")
    for entry in answer("list", what):
        shown = run("list", what, entry["name"]).stdout
        # A path or a long name stays in one piece, so that it can be copied.
        assert all(len(line) <= 80 or len(line.split()[-1]) > 50 for line in shown.splitlines())
        fields = [line.split()[0] for line in shown.splitlines()[2:] if not line.startswith("    ")]
        inner = [name for content in entry.values() if isinstance(content, dict) for name in content]
        assert set(fields) == {*(key for key in entry if key != "cited"), *inner}
    assert answer("list", what, entry["name"]) == [entry]


def in_one_line(text: str) -> str:
    """A text without the ends of its lines, which may be after a hyphen."""
    return " ".join(text.split()).replace("- ", "-")


def test_help_cuts_nothing() -> None:
    """Tests that help fits a screen, and has each first sentence of a group and the whole text of a command."""
    for typed, command in commands():
        text = stdout(*typed.split()[1:], "--help")
        assert max(map(len, text.splitlines())) <= 80, typed
        shown = in_one_line(text)
        for paragraph in (command.help or "").replace("\b", "").split("\n\n"):
            assert in_one_line(paragraph) in shown, typed
        for name, inner in within(command).items():
            sentence = in_one_line((inner.help or "").split("\n\n")[0]).split(". ")[0]
            assert f"{name} {sentence}" in shown, (typed, name)
        options = (option.help for option in command.params if isinstance(option, click.Option))
        assert all(in_one_line(entry) in shown for entry in options if entry), typed


def test_each_list_names_what_commands_take() -> None:
    """Tests that what is listed is what the commands know, by the same names."""
    from optsched.heuristics import HEURISTICS
    from optsched.instances.generate import FAMILIES
    from optsched.solvers.profiles import profile_names

    for what, known in (
        ("problems", PROBLEMS),
        ("models", PROBLEMS),
        ("heuristics", HEURISTICS),
        ("families", FAMILIES),
        ("profiles", profile_names()),
    ):
        assert [entry["name"] for entry in answer("list", what)] == list(known)


def test_models_own_their_files() -> None:
    """Tests that a model's files are those that bear its name, and `lsap` does not claim those of `fair-lsap`."""
    for entry in answer("list", "models"):
        assert f"{entry['name']}.md" in entry["files"]
        assert all(file.startswith(entry["name"]) for file in entry["files"])


def test_versions() -> None:
    """Tests that versions of the package, Python and the solvers are reported."""
    done = answer("versions")
    assert {"optsched", "python", "platform", "numpy", "highspy", "pyomo", "pulp"} <= set(done)
    assert run("versions").stdout.count("\n") == len(done) + 2


ROOT = Path(__file__).resolve().parents[2]


def test_every_page_is_listed_with_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the list has each page that is not for the site's builder alone, within the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("docs").stdout
    assert max(map(len, shown.splitlines())) <= 80
    named = [line.split()[0] for line in shown.splitlines() if not line.startswith(" ")]
    assert named == list(pages())
    assert {"tutorial", "how-to/explain", "uses/ci", "certificates"} <= set(named)
    assert "Say why a gap is there" in shown


def test_a_page_is_shown() -> None:
    """Tests that a page is found by its name, its last part and its file's name, and that --path is its file."""
    text = (ROOT / "docs" / "how-to" / "explain.md").read_text(encoding="utf-8")
    for name in ("how-to/explain", "explain", "how-to/explain.md"):
        assert run("docs", name).stdout == text
    assert run("docs", "explain", "--path").stdout == f"{ROOT / 'docs' / 'how-to' / 'explain.md'}\n"


def test_a_page_is_drawn_on_a_terminal() -> None:
    """Tests that a page on a terminal has no marks of Markdown left."""
    terminal, end = pty.openpty()
    subprocess.run([*PROGRAM, "docs", "complete"], stdout=end, env=ENVIRONMENT, check=True)
    os.close(end)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert "Complete names with Tab" in shown
    assert not any(mark in shown for mark in ("# Complete", "```"))


@pytest.mark.parametrize("problems", [["lsap", "latency"], pytest.param(list(PROBLEMS), marks=pytest.mark.thorough)])
def test_self_test(problems: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the self-test passes here, with two routes for each problem; the contract asks each at once, too."""
    for name in PROBLEMS.keys() - set(problems):
        monkeypatch.setitem(registry._BY_NAME, name, replace(record(name), known=None))
    found = answer("self-test")
    assert all(entry["holds"] for entry in found)
    named = [entry["what"].split(" by ")[0] for entry in found]
    assert {name: named.count(name) for name in named} == {"HiGHS": 1, **dict.fromkeys(problems, 2)}


def test_self_test_fails_on_a_broken_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver that gets a program wrong is reported, with exit code 4."""
    monkeypatch.setattr("optsched.solvers.highs.wrong_answers", lambda: ["HiGHS#2957: optimum 28.2, HiGHS says 28"])
    monkeypatch.setattr("optsched.core.registry.records", dict)
    assert "FALSE  HiGHS" in stdout("self-test", code=4)


@pytest.mark.parametrize("instance", ["examples/none", "examples/knapsacks"])
def test_known_optimum_that_the_library_has_not(monkeypatch: pytest.MonkeyPatch, instance: str) -> None:
    """Tests that the self-test names the record whose instance has no known optimum of the problem."""
    known = KnownOptimum(instance, ("arrays", "brute-force"))
    entry = Record(name="worst-mean", problem="wrong_problems:WorstMean", known=known)
    monkeypatch.setattr("optsched.core.registry.records", lambda: {"worst-mean": entry})
    monkeypatch.setattr("optsched.solvers.highs.wrong_answers", list)
    message = f'problem "worst-mean" .* names .{instance}. in its known, an instance without'
    with pytest.raises(UsageError, match=message):
        list(checks())


# Instances as files --------------------------------------------------------------------------------------------------


def test_describe() -> None:
    """Tests that sizes and problems are reported, with every missing field in JSON, the first few in the table."""
    known = answer("describe", "papers/guo-fig2")
    assert (known["name"], known["sizes"]["nodes"], known["sizes"]["idle slots"]) == ("guo-fig2", 3, 3)
    assert [entry["name"] for entry in known["problems"] if entry["applies"]] == ["lsap", "latency"]
    flow = next(entry for entry in known["problems"] if entry["name"] == "flow")
    assert "tasks[0].rate_in: flow needs the task's input rate in MB/s" in flow["missing"]
    assert len(flow["missing"]) == flow["missing_count"] == 9
    shown = stdout("describe", "papers/guo-fig2").splitlines()
    (line,) = (line for line in shown if line.startswith("problem flow "))
    assert line.count("tasks[") == 3
    assert line.endswith("and 6 more")


def test_bug_describe_ignored_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that sentences are folded to the page, that the hash is whole, and that no word is lost."""
    wide = stdout("describe", "papers/fsy-not-optimal").split()
    monkeypatch.setenv("COLUMNS", "80")
    shown = stdout("describe", "papers/fsy-not-optimal")
    assert [line.split()[0] for line in shown.splitlines() if len(line) > 80] == ["sha256"]
    assert [word for word in shown.split() if word.strip("-")] == [word for word in wide if word.strip("-")]


@pytest.mark.parametrize("family", FAMILIES)
def test_generate(tmp_path: Path, family: str) -> None:
    """Tests that each family is drawn from its options, to a file, the same as from Python."""
    table = FAMILIES[family].parameters
    sizes = {name: size for name, size in (("nodes", 30), ("tasks", 20)) if name in table and not table[name].choices}
    if any(size < table[name].minimum for name, size in sizes.items()):
        sizes = {}
    options = [f"--{name}={size}" for name, size in sizes.items()]
    file = tmp_path / "drawn.npz"
    result = run("generate", family, *options, "--seed", "3", "--output", str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    assert all(line.startswith("optsched: note: assumed or inferred: ") for line in result.stderr.splitlines())
    assert optsched.load(file).sha256 == generate(family, 3, **sizes).sha256


def test_generate_makes_itself_again() -> None:
    """Tests that the command in an instance's source makes it again, with options anywhere, named with underscores."""
    first = stdout("generate", "--weights", "1,2.5", "fair-lsap", "--tasks", "12", "--idle_ratio=0.4")
    words = json.loads(first)["source"].split()
    assert words[:4] == ["generated", "by", "optsched", "generate"]
    assert stdout("generate", *words[4:]) == first


def test_generate_help_lists_families_and_parameters() -> None:
    """Tests that help lists every family, and that of a family its parameters."""
    text = stdout("generate", "--help")
    assert all(f"\n  {name} " in text for name in FAMILIES)
    assert "--makespan" in stdout("generate", "planted-latency", "--help")


def job(number: int) -> dict[str, Any]:
    """A job of a trace, with two maps."""
    won = {"result": "SUCCESS", "startTime": 1500, "finishTime": 4000}
    data = {"taskType": "MAP", "preferredLocations": [{"layers": ["r1", "h1"]}], "inputBytes": 64000000}
    maps = [
        {"taskID": f"task_{number}_{task}", "attempts": [{**won, "hostName": f"/r1/h{task + 1}"}], **data}
        for task in range(2)
    ]
    return {"jobID": f"job_{number}", "submitTime": 1000, "finishTime": 9000, "mapTasks": maps}


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A trace of two jobs with maps and one without."""
    path = tmp_path / "small.trace.json.gz"
    jobs = [job(1), job(2), {"jobID": "job_3", "submitTime": 2000, "mapTasks": []}]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, jobs)).encode()))
    return str(path)


def test_import_split(tmp_path: Path, trace: str) -> None:
    """Tests that each job becomes a file of the folder, which is made, and what was skipped is reported on stderr."""
    folder = tmp_path / "new" / "jobs"
    result = run("import", "rumen", trace, "--split-jobs", str(folder))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "optsched: note: job_3: has no maps; skipped" in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["small-job_1.json", "small-job_2.json"]
    gaps = stdout("gap", str(folder), "--each", "--problem", "lsap", "--heuristic", "observed")
    assert [line.split()[1:3] for line in gaps.splitlines()[3:]] == [["1", "1"], ["1", "1"]]


def test_import_split_that_is_broken_off(tmp_path: Path, trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C between two jobs leaves whole files, and says how many of them."""
    answers = iter([files.save, interrupted])
    monkeypatch.setattr(files, "save", lambda *given: next(answers)(*given))
    folder = tmp_path / "jobs"
    said = stderr("import", "rumen", trace, "--split-jobs", str(folder), code=130)
    assert f"optsched: warning: 1 of 2 jobs are written to {folder}" in said
    assert [path.name for path in folder.iterdir()] == ["small-job_1.json"]


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--job", "job_4"], 2, 'no job "job_4"'),
        (["--job", "job_3"], 3, "nothing to place: job_3"),
        (["--topology", "nowhere.json"], 3, "nowhere.json"),
        (["--output", "instance.txt"], 3, "the name must end in"),
        (["--split-jobs", "TAKEN"], 3, "is no folder to write to"),
    ],
)
def test_import_wrongly(tmp_path: Path, trace: str, args: list[str], code: int, message: str) -> None:
    """Tests that wrong options are exit code 2 and wrong files 3."""
    (tmp_path / "taken").write_text("")
    given = [str(tmp_path / "taken") if word == "TAKEN" else word for word in args]
    result = run("import", "rumen", trace, *given)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


HOSTILE = {
    "binary": bytes(range(256)),
    "deep": b"[" * 100_000,
    "doubled": b'{"format": "optsched/1", "nodes": [{"id": "n1"}, {"id": "n1"}], "tasks": []}',
    "escape": b'{"format": "optsched/1", "nodes": [], "tasks": [{"id": "\\u001b[31m\\ud800"}]}',
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
    files = [str(tmp_path / f"{name}.json") for name in HOSTILE]
    for file, content in zip(files, HOSTILE.values(), strict=True):
        Path(file).write_bytes(content)
    said = stderr("gap", files[0], "papers/guo-fig2", *files[1:], code=3)
    assert all(f"{file}: " in said for file in files)
