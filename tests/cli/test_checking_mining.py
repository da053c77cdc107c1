"""`optsched mine`: what it prints, writes and answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import answer, run

MINE = ("mine", "--problem", "lsap", "--heuristic", "dl,reading=heartbeat", "--budget", "60")


def test_words_and_files(tmp_path: Path) -> None:
    """Tests the report, the notes on what was written, and that the same name is refused before the search."""
    result = run(*MINE, "--to", str(tmp_path / "mined"), "--name", "worst")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("dl,reading=heartbeat on lsap: ")
    assert lines[1].startswith("gap: ")
    assert lines[-1].endswith(" ".join(("optsched", *MINE, "--seed", "0")))
    assert sorted(path.name for path in (tmp_path / "mined").iterdir()) == ["test_worst.py", "worst.json"]
    assert result.stderr.count("written: ") == 2
    again = run(*MINE, "--to", str(tmp_path / "mined"), "--name", "worst")
    assert again.exit_code == 2
    assert "is there already" in again.stderr


def test_help_tells_the_defaults() -> None:
    """Tests that the help, which does not load the search, has the budget and the sizes that hold."""
    from optsched.measuring.mining import BUDGET, MOST

    told = " ".join(run("mine", "--help").stdout.split())
    assert f"by default {BUDGET}, or all that --time-limit allows" in told
    for option, number in (("tasks", MOST["tasks"]), ("nodes", MOST["nodes"])):
        assert f"--most-{option} INTEGER RANGE [default: {number}; x>=1]" in told


def test_several_runs_and_seconds() -> None:
    """Tests that runs, their mean, and seconds in place of a budget reach the search."""
    found = answer(*MINE[:3], "--heuristic", "rand", "--run-seeds", "0-2", "--over", "mean", "--budget", "20")
    assert (found["seeds"], found["over"]) == ([0, 1, 2], "mean")
    timed = run(*MINE[:-2], "--time-limit", "0.000001")
    assert timed.exit_code == 5


def test_json() -> None:
    """Tests that JSON holds the gap's record and the instance."""
    found = answer(*MINE)
    assert found["found"] is True
    assert found["report"]["problem"] == "lsap"
    assert found["instance"]["labels"]["optimum.lsap"] == str(found["report"]["reference"])


def test_nothing_found() -> None:
    """Tests exit code 5 where the heuristic is optimal on all that was tried."""
    for form in ("words", "json"):
        result = run(*MINE[:3], "--heuristic", "lsap-sched", "--budget", "15", "--format", form)
        assert result.exit_code == 5
        assert "no instance on which a gap was found" in result.stderr
        assert (result.stdout == "") if form == "words" else json.loads(result.stdout)["found"] is False


def test_a_claim_of_a_paper() -> None:
    """Tests that an id needs neither problem nor heuristic, and that the find names all three and what is false."""
    shown = run("mine", "--claim", "guo-2012/4.1-one-replica", "--budget", "60").stdout
    assert shown.startswith("the claim is broken: dl,reading=heartbeat on lsap: ")
    assert "false here: (most > 1) | (least < 1) | (dl == optimum); the claim is about: one replica" in shown
    assert "--heuristic dl,reading=heartbeat --claim guo-2012/4.1-one-replica" in shown
    for options in (("--heuristic", "dl"), ("--problem", "lsap", "--claim", "no_such_module:claim"), ()):
        result = run("mine", *options)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "give --problem and --heuristic, or --claim with the ID" in result.stderr


def test_an_interrupt_keeps_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C writes what was found so far, says that it is not shrunk, and ends with 130."""
    from optsched.measuring.mining.walking import Search

    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "shrink", interrupted)
    result = run(*MINE, "--to", str(tmp_path), "--name", "cut")
    assert result.exit_code == 130
    assert "not minimal" in result.stdout
    assert (tmp_path / "cut.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--claim", "no_such_module:claim"), "there is no module"),
        (("--component", "speed"), "no component"),
        (("--set", "nodes"), "write it as name=value"),
        (("--to", ".", "--name", "a/b"), "is no name for files"),
        (("--param", "w_loc=3"), "no parameter"),
    ],
)
def test_wrong_usage(options: tuple[str, ...], message: str) -> None:
    """Tests exit code 2 and a sentence."""
    result = run(*MINE, *options)
    assert result.exit_code == 2
    assert message in result.stderr
