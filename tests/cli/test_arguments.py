"""What the commands share: how their options are read, how instances are found, and what is told of limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from optsched.cli import arguments
from optsched.core.errors import InputError, UsageError
from optsched.core.network import FlowNetwork
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
    ("text", "told"),
    [
        ("=1", "write it as name=value"),
        ("lsap.=1", "write it as name=value"),
        ("flow.f_c=0,1,2", 'no problem "flow" is chosen; known: lsap'),
        ("levels=0,x,1", "levels"),
    ],
)
def test_parameters_that_are_none(text: str, told: str) -> None:
    """Tests that what is no assignment, names no chosen problem or is no value of the parameter is wrong usage."""
    with pytest.raises(UsageError, match=told):
        arguments.parameters_of(["lsap"], [text])


@pytest.mark.parametrize(
    ("form", "output", "found"),
    [
        (None, None, "table"),
        (None, "a.json", "json"),
        (None, "a.b/c.csv", "csv"),
        (None, "a.txt", "table"),
        ("csv", "a.json", "csv"),
        ("table", "a.csv", "table"),
    ],
)
def test_format_of(form: str | None, output: str | None, found: str) -> None:
    """Tests that what is asked for goes before what the file's name says, and that a table is the rest."""
    assert arguments.format_of(form, output) == found


def test_wrong_usage_is_found_before_the_file_is_read() -> None:
    """Tests that a wrong parameter is told of a file that is not there."""
    with pytest.raises(UsageError, match='has no parameter "level"'):
        arguments.pose("no/such.json", "lsap", ["level=1"])
    with pytest.raises(InputError, match=r"no/such\.json"):
        arguments.pose("no/such.json", "lsap", ["levels=0,1,2"])


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


@pytest.mark.parametrize("limit", ["-1", "nan", "inf", "soon"])
def test_wrong_limit(limit: str) -> None:
    """Tests that a limit that is no number of seconds is wrong usage, told before anything is done."""
    result = run("gap", "papers/guo-fig2", f"--time-limit={limit}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no number of seconds" in result.stderr


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


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--run-limit", "0"], "'0' is no number of seconds above 0"),
        (["--run-limit", "soon"], "'soon' is no number of seconds above 0"),
        (["--run-limit", "inf"], "'inf' is no number of seconds above 0"),
        (["--memory-limit", "0"], "Invalid value for '--memory-limit'"),
    ],
)
def test_hard_limits_that_are_none(given: list[str], told: str) -> None:
    """Tests that what limits nothing is wrong usage."""
    result = run("gap", FIGURE, *given)
    assert result.exit_code == 2
    assert told in result.stderr
