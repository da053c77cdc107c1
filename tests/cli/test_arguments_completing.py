"""What a shell offers on Tab, asked for as click's scripts for bash, zsh and fish ask."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from optsched.cli import arguments, cli
from optsched.core import shipped
from optsched.core.errors import UsageError
from optsched.core.registry import SHIPPED
from optsched.core.resources import folder

LIBRARY = json.loads((folder("instances") / "optima.json").read_text(encoding="utf-8"))["instances"]
HEURISTICS = [name for names in shipped.HEURISTICS.values() for name in names]
FAMILIES = [name for names in shipped.FAMILIES.values() for name in names]


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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the three shells get the words that they ask for."""
    kind = get_completion_class(shell)
    assert kind is not None
    monkeypatch.setenv("COMP_WORDS", "optsched gap --heuristic lab")
    monkeypatch.setenv("COMP_CWORD", "lab" if shell == "fish" else "3")
    printed = kind(cli, {}, "optsched", "_OPTSCHED_COMPLETE").complete()
    assert re.split(r"[,\s]", printed)[:2] == ["plain", "labl"]


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


def test_scripts_are_told() -> None:
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
    assert values("generate", "lat") == ["latency", "late-ones"]
