"""What the commands share: how their options are read, how instances are found, and what is told of limits."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete
from command_line import ENVIRONMENT, PROGRAM, answer, commands, run, stderr, stdout

from optsched.cli import arguments, cli
from optsched.core.errors import UsageError
from optsched.core.registry import SHIPPED
from optsched.core.resources import FAMILIES as FAMILY_NAMES
from optsched.core.resources import HEURISTICS as HEURISTIC_NAMES
from optsched.core.resources import folder

FIGURE = "papers/guo-fig2"


def test_parameters_of() -> None:
    """Tests that a parameter goes to every problem that has it, or to the one that is named."""
    assert arguments.parameters_of(["lsap", "flow"], ["levels=0,1,2", "flow.scale=1"]) == {
        "lsap": {"levels": "0,1,2"},
        "flow": {"scale": "1"},
    }
    with pytest.raises(UsageError, match="lsap has no parameter"):
        arguments.parameters_of(["lsap", "flow"], ["lsap.scale=1"])


def test_hard_limits_of_gap() -> None:
    """Tests that a heuristic that ends its process is a record with status and reason, and exit code 4."""
    command = ["gap", FIGURE, "--problem", "lsap", "--heuristic", "dl", "--heuristic", "hostile_heuristics:leaves"]
    result = run(*command, "--seed", "0", "--format", "json", "--run-limit", "60")
    assert result.exit_code == 4
    good, bad = json.loads(result.stdout)
    assert (good["status"], good["reference_kind"]) == ("done", "optimum")
    assert (bad["status"], bad["feasible"], bad["objective"], bad["reference"]) == ("crashed", False, None, 0)
    assert bad["error"] == ('heuristic "hostile_heuristics:leaves" crashed: ended with exit code 0 before it answered')
    assert f"optsched: error: guo-fig2, lsap, seed 0: {bad['error']}" in result.stderr


@pytest.mark.thorough
def test_hard_limits_of_other_commands(tmp_path: Path) -> None:
    """Tests that each command with hard limits goes on, and tells of what was killed in its own way."""
    lsap, killed = ("--problem", "lsap"), "was out of time: killed after 0.7 s"
    hangs = [*lsap, "--heuristic", "hostile_heuristics:hangs", "--run-limit", "0.7"]
    matrix = stdout("matrix", FIGURE, "--heuristic", "dl", *hangs, code=4)
    assert ["hostile_heuristics:hangs", "out-of-time"] in [line.split() for line in matrix.splitlines()]
    assert killed in stderr("explain", FIGURE, *hangs, code=4)
    assert "2 out of time" in stdout("gap", "--family", "lsap", "--seeds", "0-1", *hangs, code=4)
    mined = stdout("mine", *hangs, "--budget", "3", "--most-tasks", "2")
    assert killed in mined
    assert "--run-limit 0.7" in mined.splitlines()[-1], "the command does not hang either"
    short = ("--run-limit", "0.001")
    said = stderr("gap", FIGURE, *lsap, "--heuristic", "dl", *short, "--max-gap", "inf", code=4)
    assert "warning: reference cut short: timed-out: killed after 0.001 s; it is what was held by then" in said
    assert answer("frontier", FIGURE, "--problem", "latency", *short, code=5)["limit"] == "TIME"
    checks, found = tmp_path / "checks.toml", tmp_path / "found.xml"
    checks.write_text(
        f'run_limit = 0.7\n[[check]]\nname = "hangs"\ninstances = "{FIGURE}"\nproblem = "lsap"\n'
        'heuristic = ["dl", "hostile_heuristics:hangs"]\n'
    )
    checked = stdout("check", str(checks), "--junit", str(found), code=4)
    assert "--heuristic hostile_heuristics:hangs --seed 0 --time-limit none --run-limit 0.7" in checked
    assert killed in checked
    assert killed in found.read_text()


LIBRARY = json.loads((folder("instances") / "optima.json").read_text(encoding="utf-8"))["instances"]
HEURISTICS = [name for names in HEURISTIC_NAMES.values() for name in names]
FAMILIES = [name for names in FAMILY_NAMES.values() for name in names]


def offered(*words: str) -> list[CompletionItem]:
    """What is offered for the last of the words that are typed after `optsched`."""
    *arguments, incomplete = words
    return ShellComplete(cli, {}, "optsched", "_OPTSCHED_COMPLETE").get_completions(arguments, incomplete)


def values(*words: str) -> list[str]:
    """The same as texts."""
    return [item.value for item in offered(*words)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("gap", "--problem", ""), [entry.name for entry in SHIPPED]),
        (("solve", "papers/guo-fig2", "--problem", "transmission-"), ["transmission-maps", "transmission-reduces"]),
        (("gap", "--heuristic", ""), HEURISTICS),
        (("matrix", "papers/guo-fig2", "--heuristic", "fl"), ["flow-sched", "flow-greedy", "flow-based"]),
        (("mine", "--heuristic", "lab"), ["labl"]),
        (("gap", "--family", "planted-l"), ["planted-lsap", "planted-latency"]),
        (("generate", ""), FAMILIES),
        (("gap", "--profile", "e"), ["exact"]),
        (("gap", "--format", "ma"), ["markdown"]),
        (("list", "f"), ["families"]),
        (("import", "s"), ["sls", "swim"]),
        (("expl",), ["explain"]),
    ],
)
def test_names(words: tuple[str, ...], expected: list[str]) -> None:
    """Tests that names of each kind are offered in their order, and only those that begin as what is typed."""
    assert values(*words) == expected


def test_instances_of_the_library_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an instance may be a name of the library, a file of an instance, or in a folder, as they begin."""
    monkeypatch.chdir(tmp_path)
    Path("mined").mkdir()
    for name in ("papers.json", "mine.npz", "mine.txt", ".hidden.json", "mined/packed.json.gz"):
        Path(name).touch()
    assert values("gap", "") == [*LIBRARY, "mine.npz", "mined/", "papers.json"]
    assert values("gap", "papers") == [*(name for name in LIBRARY if name.startswith("papers")), "papers.json"]
    assert values("gap", "guo-fig2") == ["guo-fig2"], "the last part, where nothing else begins so"
    assert values("gap", "papers/guo-fig2", "min") == ["mine.npz", "mined/"]
    assert values("describe", "./mined/p") == ["./mined/packed.json.gz"]
    assert values("describe", f"{tmp_path}/mine.") == [f"{tmp_path}/mine.npz"]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("gap", "nothing-of-this-name"), "file"),
        (("gap", "no-such-folder/x"), "file"),
        (("gap", "--profile", "./my"), "file"),
        (("gap", "--output", ""), "file"),
        (("import", "rumen", ""), "file"),
        (("certify", "papers/guo-fig2", "solution"), "file"),
        (("import", "rumen", "x", "--split-jobs", ""), "dir"),
    ],
)
def test_files_are_left_to_the_shell(words: tuple[str, ...], kind: str) -> None:
    """Tests that where a file or folder is due, and no name begins so, the shell completes it."""
    (item,) = offered(*words)
    assert (item.type, item.value) == (kind, words[-1])


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [("bash_complete", "plain,labl\n"), ("bash_source", "complete -o nosort -F _optsched_completion optsched")],
)
def test_completing_is_quick(instruction: str, expected: str) -> None:
    """Tests that the program answers a shell's script, and prints it, without loading what computes."""
    asked = {"COMP_WORDS": "optsched gap --heuristic lab", "COMP_CWORD": "3", "_OPTSCHED_COMPLETE": instruction}
    command = [sys.executable, "-X", "importtime", *PROGRAM[1:]]
    done = subprocess.run(command, env=ENVIRONMENT | asked, capture_output=True, text=True, check=True)
    assert expected in done.stdout
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "click" in loaded
    assert not {"numpy", "scipy", "pandas", "highspy", "pyomo", "pulp", "rich"} & loaded


COMMANDS = list(commands())
#: What stands for a value in the help where an option says it, and which value that is.
BY_METAVAR = {
    "P": arguments.PROBLEM,
    "H": arguments.HEURISTIC,
    "H[,K=V...]": arguments.HEURISTIC,
    "SOURCE...": arguments.FILE,
    "F": arguments.FAMILY,
    "DIR": arguments.FOLDER,
    "FOLDER": arguments.FOLDER,
    "FILE": arguments.FILE,
    "SOLUTION.json": arguments.SOLUTION,
    "NAME|FILE": arguments.PROFILE,
}


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_every_value_is_completed(path: str, command: click.Command) -> None:
    """Tests that what the help calls by the name of a value is completed as that."""
    for param in command.params:
        by = BY_METAVAR.get(param.metavar or "")
        if isinstance(param, click.Argument) and param.name in ("instance", "instances"):
            by = arguments.INSTANCE
        assert by is None or param.type is by, f"{path}: {param.name}"


def test_broken_packages_do_not_break_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where an installed package is broken, the shipped names are offered, and nothing is raised."""

    class Broken:
        def __iter__(self) -> Iterator[str]:
            raise UsageError("a package is broken")

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [group])
    monkeypatch.setattr("optsched.heuristics.HEURISTICS", Broken())
    monkeypatch.setattr("optsched.core.registry.records", Broken)
    assert values("gap", "--heuristic", "lab") == ["labl"]
    assert values("gap", "--problem", "lat") == ["latency"]


def test_packages_names_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the names that installed packages bring are offered beside the shipped ones."""
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [group])
    monkeypatch.setattr("optsched.instances.generate.FAMILIES", {"latency": None, "late-ones": None})
    assert values("gap", "--family", "lat") == ["latency", "late-ones"]


def test_bug_each_seed_had_a_line_of_its_own() -> None:
    """Tests that an error of all seeds is shown once, with their number, and the class that takes other arguments."""
    said = stderr("gap", FIGURE, "--problem", "lsap", "--heuristic", "hostile_heuristics:TakesOne", code=4)
    (line,) = (line for line in said.splitlines() if line.startswith("optsched: error:"))
    assert "hostile_heuristics:TakesOne" in line
    assert "was called with arguments that it does not take (Offer, View): TakesOne.offer() takes 2 positional" in line
    assert re.search(r"\(\S*hostile_heuristics\.py, line \d+\) \(10 seeds\)$", line)
