"""`optsched decompose`: the table, the JSON form, the picture, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import answer, run

import optsched


@pytest.fixture(name="morning")
def _morning(tmp_path: Path) -> str:
    """A small instance of jobs that arrive one after another."""
    path = tmp_path / "morning.json"
    optsched.save(optsched.generate("job-times", seed=3, nodes=3, tasks=4, jobs=2, reduces=1, slots=1), path)
    return str(path)


def test_forms_agree(morning: str) -> None:
    """Tests that the parts add up in JSON, and that the table has a row for each, between the policy and the bound."""
    words = ("decompose", morning, "--problem", "job-times", "--heuristic", "dl", "--repeats", "2")
    told = answer(*words)
    assert [entry["seed"] for entry in told["runs"]] == [0, 1]
    assert sum(told["parts"].values()) == pytest.approx(told["means"]["A"] - told["bound"])
    assert told["known"] <= min(entry["C"] for entry in told["runs"])
    result = run(*words)
    assert result.exit_code == 0
    rows = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert rows[2:] == ["as it is (A)", *told["parts"], "bound (E)"]
    assert f"proof: {told['certificate']}" in result.stdout


def test_picture(morning: str, tmp_path: Path) -> None:
    """Tests that the parts are drawn where that is asked for."""
    target = tmp_path / "parts.svg"
    words = ("decompose", morning, "--problem", "makespan", "--heuristic", "rand,reading=slot", "--repeats", "1")
    assert run(*words, "--to", str(target)).exit_code in (0, 2)
    words = ("decompose", morning, "--problem", "makespan", "--heuristic", "dl", "--repeats", "1")
    assert run(*words, "--to", str(target)).exit_code == 0
    assert "not proved" in target.read_text(encoding="utf-8")


def test_rounds(morning: str) -> None:
    """Tests that a batch heuristic takes what rounds take, that `solve` is one, and that one seed is no plural."""
    for policy in ("lsap-sched,period=5", "solve,problem=lsap"):
        result = run("decompose", morning, "--problem", "makespan", "--heuristic", policy, "--repeats", "1")
        assert (result.exit_code, result.stderr) == (0, "")
        assert "mean of 1 seed\n" in result.stdout


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--problem", "lsap", "--heuristic", "dl"], 2, "problems over time"),
        (["--problem", "job-times", "--heuristic", "nobody"], 2, "nobody"),
        (["--problem", "job-times", "--heuristic", "solve"], 2, "name the problem that is posed"),
        (["--problem", "job-times", "--heuristic", "dl", "--param", "slowstart=2"], 2, "1 or less"),
        (["--problem", "job-times", "--heuristic", "dl", "--heartbeat", "-1"], 2, "-1"),
        (["--problem", "job-times", "--heuristic", "dl", "--to", "parts.doc"], 2, "parts.doc"),
    ],
)
def test_what_is_refused(morning: str, words: list[str], code: int, told: str) -> None:
    """Tests one line for each wrong option."""
    result = run("decompose", morning, *words)
    assert result.exit_code == code
    assert told in result.stderr
    assert "Traceback" not in result.stderr
