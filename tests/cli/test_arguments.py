"""What the commands share: how their options are read, how instances are found, and what is told of limits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete
from command_line import run

from optsched.cli import arguments, cli
from optsched.cli.output import pose
from optsched.core.errors import InputError, UsageError
from optsched.core.network import FlowNetwork
from optsched.core.registry import SHIPPED
from optsched.core.resources import FAMILIES as FAMILY_NAMES
from optsched.core.resources import HEURISTICS as HEURISTIC_NAMES
from optsched.core.resources import folder
from optsched.measuring.studies.choices import load_instance


def test_parameters_of() -> None:
    """Tests that a parameter goes to every problem that has it, or to the one that is named."""
    assert arguments.parameters_of(["lsap", "flow"], ["levels=0,1,2", "flow.scale=1"]) == {
        "lsap": {"levels": "0,1,2"},
        "flow": {"scale": "1"},
    }
    with pytest.raises(UsageError, match="lsap has no parameter"):
        arguments.parameters_of(["lsap", "flow"], ["lsap.scale=1"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=1", "write it as name=value"),
        ("lsap.=1", "write it as name=value"),
        ("flow.f_c=0,1,2", 'no problem "flow" is chosen; known: lsap'),
        ("levels=0,x,1", "levels"),
    ],
)
def test_parameters_that_are_none(text: str, message: str) -> None:
    """Tests that what is no assignment, names no chosen problem or is no value of the parameter is wrong usage."""
    with pytest.raises(UsageError, match=message):
        arguments.parameters_of(["lsap"], [text])


def test_wrong_usage_is_found_before_the_file_is_read() -> None:
    """Tests that a wrong parameter is told of a file that is not there."""
    with pytest.raises(UsageError, match='has no parameter "level"'):
        pose("no/such.json", "lsap", ["level=1"])
    with pytest.raises(InputError, match=r"no/such\.json"):
        pose("no/such.json", "lsap", ["levels=0,1,2"])


def test_networks_have_no_heuristics() -> None:
    """Tests that a flow network is loaded where any noun will do, and is bad input where an instance is wanted."""
    assert isinstance(arguments.load_any("examples/negative-cycle"), FlowNetwork)
    with pytest.raises(InputError, match="for which there are no heuristics"):
        load_instance("examples/negative-cycle")


def test_limit_is_told_by_option_profile_or_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that reference and heuristic have 10 s by default, else the profile's, else what is asked, or none."""
    from optsched.measuring import gaps
    from optsched.measuring.studies import runs

    seen: list[tuple[float | None, float | None]] = []
    real_run, real_solve = runs.run, gaps.solve
    limits: list[float | None] = []

    def solving(problem: Any, profile: Any) -> Any:
        limits.append(profile.time_limit)
        return real_solve(problem, profile)

    def running(*args: Any, time_limit: float | None, **more: Any) -> Any:
        seen.append((limits[-1], time_limit))
        return real_run(*args, time_limit=time_limit, **more)

    monkeypatch.setattr(gaps, "solve", solving)
    monkeypatch.setattr(runs, "run", running)
    own = tmp_path / "own.toml"
    own.write_text("time_limit = 33.0\n")
    args = ["gap", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl", "--seed", "0"]
    for more in ([], ["--profile", str(own)], ["--profile", str(own), "--time-limit", "44"], ["--time-limit", "none"]):
        assert run(*args, *more).exit_code == 0
    assert seen == [(10, 10), (33, 33), (44, 44), (None, None)]


# Hard limits ------------------------------------------------------------------------------------------------------

FIGURE = "papers/guo-fig2"


def test_hard_limits_of_gap() -> None:
    """Tests that a heuristic that ends its process is a record with status and reason, and exit code 4."""
    command = ["gap", FIGURE, "--problem", "lsap", "--heuristic", "dl", "--heuristic", "hostile_heuristics:leaves"]
    command += ["--seed", "0"]
    result = run(*command, "--format", "json", "--run-limit", "60")
    assert result.exit_code == 4
    good, bad = json.loads(result.stdout)
    assert (good["status"], good["reference_kind"]) == ("done", "optimum")
    assert (bad["status"], bad["feasible"], bad["objective"], bad["reference"]) == ("crashed", False, None, 0)
    assert bad["error"] == ('heuristic "hostile_heuristics:leaves" crashed: ended with exit code 0 before it answered')
    assert f"optsched: error: guo-fig2, lsap, seed 0: {bad['error']}" in result.stderr


@pytest.mark.thorough
def test_hard_limits_of_other_commands(tmp_path: Path) -> None:
    """Tests that each command with hard limits goes on, and tells of what was killed in its own way."""
    hangs = ["--heuristic", "hostile_heuristics:hangs", "--run-limit", "0.7"]
    matrix = run("matrix", FIGURE, "--problem", "lsap", "--heuristic", "dl", *hangs)
    assert matrix.exit_code == 4
    assert ["hostile_heuristics:hangs", "out-of-time"] in [line.split() for line in matrix.stdout.splitlines()]
    explain = run("explain", FIGURE, "--problem", "lsap", *hangs)
    assert explain.exit_code == 4
    assert "was out of time: killed after 0.7 s" in explain.stderr
    summed = run("gap", "--family", "lsap", "--seeds", "0-1", "--problem", "lsap", *hangs)
    assert summed.exit_code == 4
    assert "2 out of time" in summed.stdout
    mined = run("mine", "--problem", "lsap", *hangs, "--budget", "3", "--most-tasks", "2")
    assert mined.exit_code == 0
    assert "was out of time: killed after 0.7 s" in mined.stdout
    assert "--run-limit 0.7" in mined.stdout.splitlines()[-1], "the command does not hang either"
    killed = run("gap", FIGURE, "--problem", "lsap", "--heuristic", "dl", "--run-limit", "0.001", "--max-gap", "inf")
    assert killed.exit_code == 4
    assert "warning: reference cut short: timed-out: killed after 0.001 s; it is what was held by then" in killed.stderr
    frontier = run("frontier", FIGURE, "--problem", "latency", "--run-limit", "0.001", "--format", "json")
    assert frontier.exit_code == 5
    assert json.loads(frontier.stdout)["limit"] == "TIME"
    checks = tmp_path / "checks.toml"
    checks.write_text(
        f'run_limit = 0.7\n[[check]]\nname = "hangs"\ninstances = "{FIGURE}"\nproblem = "lsap"\n'
        'heuristic = ["dl", "hostile_heuristics:hangs"]\n'
    )
    checked = run("check", str(checks), "--junit", str(tmp_path / "found.xml"))
    assert checked.exit_code == 4
    assert "was out of time: killed after 0.7 s" in checked.stdout
    assert "--heuristic hostile_heuristics:hangs --seed 0 --time-limit none --run-limit 0.7" in checked.stdout
    assert "was out of time: killed after 0.7 s" in (tmp_path / "found.xml").read_text()


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
    Path("papers.json").touch()
    Path("mine.npz").touch()
    Path("mine.txt").touch()
    Path(".hidden.json").touch()
    Path("mined").mkdir()
    Path("mined/packed.json.gz").touch()
    assert values("gap", "") == [*LIBRARY, "mine.npz", "mined/", "papers.json"]
    assert values("gap", "papers") == [*(name for name in LIBRARY if name.startswith("papers")), "papers.json"]
    assert values("gap", "guo-fig2") == ["guo-fig2"], "the last part, where nothing else begins so"
    assert values("gap", "papers/guo-fig2", "min") == ["mine.npz", "mined/"]
    assert values("describe", "mined/") == ["mined/packed.json.gz"]
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


def told(instruction: str) -> str:
    """What `optsched` prints that a shell's script has called."""
    code = "from optsched.cli import main; main()"
    asked = {"COMP_WORDS": "optsched gap --heuristic lab", "COMP_CWORD": "3", "_OPTSCHED_COMPLETE": instruction}
    command = [sys.executable, "-X", "importtime", "-c", code]
    run = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in run.stderr.splitlines()}
    assert "click" in loaded
    assert not {"numpy", "scipy", "pandas", "highspy", "pyomo", "pulp", "rich"} & loaded
    return run.stdout


def test_completing_is_quick() -> None:
    """Tests that the program as a shell calls it answers without loading what computes."""
    assert told("bash_complete") == "plain,labl\n"


def test_scripts_are_reported() -> None:
    """Tests that the program tells the script that a shell is to read."""
    assert "complete -o nosort -F _optsched_completion optsched" in told("bash_source")


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and those below it, by what is typed."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, f"{path} {name}")


COMMANDS = list(commands(cli, "optsched"))
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
    result = run("gap", FIGURE, "--problem", "lsap", "--heuristic", "hostile_heuristics:TakesOne")
    assert result.exit_code == 4
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("optsched: error:")]
    assert "hostile_heuristics:TakesOne" in line
    assert "was called with arguments that it does not take (Offer, View): TakesOne.offer() takes 2 positional" in line
    assert re.search(r"\(\S*hostile_heuristics\.py, line \d+\) \(10 seeds\)$", line)
