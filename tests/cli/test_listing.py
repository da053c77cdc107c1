"""`optsched list` and `versions`: what there is."""

import os
import pty
import subprocess
from dataclasses import replace
from pathlib import Path

import click
import pytest
from command_line import ENVIRONMENT, PROGRAM, answer, commands, run, stdout, within

from optsched.cli.listing import LISTS, checks, pages
from optsched.core import registry
from optsched.core.errors import UsageError
from optsched.core.registry import KnownOptimum, Record, record
from optsched.problems import PROBLEMS


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
