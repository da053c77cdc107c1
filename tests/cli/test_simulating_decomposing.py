"""`optsched decompose`: the table, the JSON form, the picture, and what is refused."""

from __future__ import annotations

import csv
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
    (one,) = told["policies"]
    assert [entry["seed"] for entry in one["runs"]] == [0, 1]
    assert sum(one["parts"].values()) == pytest.approx(one["means"]["as_is"] - told["bound"])
    assert told["known"] <= told["arrived"] <= min(entry["any_order"] for entry in one["runs"])
    result = run(*words)
    assert result.exit_code == 0
    rows = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert rows[2:] == ["as it is (A)", *one["parts"], "bound (G)"]
    assert "sum of 2 job times, mean of 2 seeds" in rows_of(result.stdout)
    assert f"proof: {told['certificate']}" in result.stdout


def rows_of(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())


def test_several_policies(morning: str, tmp_path: Path) -> None:
    """Tests that several policies, by either name of the option, are one table below one bound, in every form."""
    words = ("decompose", morning, "--problem", "job-times", "--repeats", "2", "--heuristic", "rand", "--policy")
    words += ("fair,delay=0", "--policy", "rand")
    told = answer(*words)
    assert [entry["heuristic"] for entry in told["policies"]] == ["rand", "fair"]
    assert [entry["heuristic_parameters"] for entry in told["policies"]] == [{}, {"delay": "0"}]
    for entry in told["policies"]:
        assert sum(entry["parts"].values()) == pytest.approx(entry["gap"])
        assert entry["gap"] == pytest.approx(entry["means"]["as_is"] - told["bound"])
    rows = list(csv.DictReader(run(*words, "--format", "csv").stdout.splitlines()))
    assert [float(row["order_of_jobs"]) for row in rows] == [
        entry["parts"]["order of jobs"] for entry in told["policies"]
    ]
    assert [float(row["gap"]) for row in rows] == [entry["gap"] for entry in told["policies"]]
    target, output = tmp_path / "parts.svg", tmp_path / "parts.csv"
    result = run(*words, "--to", str(target), "--output", str(output))
    assert (result.exit_code, result.stdout) == (0, "")
    assert list(csv.DictReader(output.read_text(encoding="utf-8").splitlines())) == rows
    assert "fair,delay=0" in target.read_text(encoding="utf-8")
    for form in ("table", "markdown", "latex"):
        text = run(*words, "--format", form).stdout
        heading = rows_of(text.partition("policy")[0])
        assert f"sum of 2 job times, mean of 2 seeds, in seconds; {told['assumed']}; best found with" in heading
        assert f"proof: {told['certificate']}" in heading
        shown = [line for line in text.splitlines() if "fair,delay=0" in line]
        assert len(shown) == 1
        assert f"{told['policies'][1]['gap']:.6g}" in shown[0]


def test_a_policy_that_fails(morning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a policy that fails is told on stderr, with exit code 4, and that the others have their rows."""
    (tmp_path / "lazy_policies.py").write_text(
        "class Lazy:\n    def offer(self, offer, view):\n        return []\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    lazy = ("--heuristic", "lazy_policies:Lazy", "--repeats", "1")
    result = run("decompose", morning, "--problem", "makespan", "--heuristic", "fair", "--policy", "dl", *lazy)
    assert result.exit_code == 4
    assert [line.split()[0] for line in result.stdout.splitlines()[-2:]] == ["fair", "dl"]
    assert "lazy_policies:Lazy" in result.stderr
    target = tmp_path / "nothing.svg"
    result = run("decompose", morning, "--problem", "makespan", *lazy, "--to", str(target))
    assert (result.exit_code, result.stdout, target.exists()) == (4, "", False)


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
        assert "makespan, mean of 1 seed\n" in result.stdout


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


def test_bug_the_limit_could_not_be_lifted(morning: str) -> None:
    """Tests that `--time-limit none` leaves the end to counts, and says what a long limit says."""
    words = ["decompose", morning, "--problem", "job-times", "--heuristic", "fifo", "--repeats", "1", "--time-limit"]
    assert run(*words, "none").stdout == run(*words, "100").stdout != ""
