"""What the commands share: how their options are read, how instances are found, and what is told of limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from optsched.cli import arguments
from optsched.errors import InputError, UsageError
from optsched.network import FlowNetwork


def test_parameters_of() -> None:
    """Tests that a parameter goes to every problem that has it, or to the one that is named."""
    assert arguments.parameters_of(["lsap", "flow"], ["levels=0,1,2", "flow.scale=1"]) == {
        "lsap": {"levels": "0,1,2"},
        "flow": {"scale": "1"},
    }
    with pytest.raises(UsageError, match="lsap has no parameter"):
        arguments.parameters_of(["lsap", "flow"], ["lsap.scale=1"])


def test_heuristic_choice() -> None:
    """Tests that a listed heuristic's values stay texts for its parser, and a user's own become numbers and lists."""
    assert arguments.heuristic_choice("labl,lbar=4,variant=strict").parameters == {"lbar": "4", "variant": "strict"}
    own = arguments.heuristic_choice("operator:add,a=3,b=0:0.5:x,c=true")
    assert own.parameters == {"a": 3, "b": [0, 0.5, "x"], "c": True}


def test_several_inputs_tell_all_files(tmp_path: Path) -> None:
    """Tests that the faults of every file are told, each with its file's name, before anything is computed."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text('{"format": "optsched/1", "nodes": [{}], "tasks": [{}]}')
    with pytest.raises(InputError) as caught:
        arguments.load_instances([str(tmp_path / "a.json"), "papers/guo-fig2", str(tmp_path / "b.json")])
    lines = str(caught.value).splitlines()
    assert [Path(line.partition(": ")[0]).name for line in lines] == ["a.json", "a.json", "b.json", "b.json"]
    assert len(caught.value.faults) == 4


def test_names_of_instances_are_made_unlike(tmp_path: Path) -> None:
    """Tests that an instance without a name, and two with the same one, are called by their files."""
    paths = []
    for name, title in (("a", "same"), ("b", "same"), ("c", "")):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"format": "optsched/1", "name": title, "nodes": [{"id": "n"}], "tasks": []}))
        paths.append(str(path))
    assert [instance.name for instance in arguments.load_instances(paths)] == paths


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


def test_a_parameter_of_a_heuristic_needs_a_name() -> None:
    """Tests that a value alone is wrong usage."""
    with pytest.raises(UsageError, match="write parameters as name=value"):
        arguments.heuristic_choice("dl,=sweep")


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
        arguments.load_instance("examples/negative-cycle")


def test_limit_is_told_by_option_profile_or_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that reference and heuristic have 10 s by default, else the profile's, else what is asked, or none."""
    from optsched import gaps, heuristics

    seen: list[tuple[float | None, float | None]] = []
    real_run, real_solve = heuristics.run, gaps.solve
    limits: list[float | None] = []

    def solving(problem: Any, profile: Any) -> Any:
        limits.append(profile.time_limit)
        return real_solve(problem, profile)

    def running(*args: Any, time_limit: float | None, **more: Any) -> Any:
        seen.append((limits[-1], time_limit))
        return real_run(*args, time_limit=time_limit, **more)

    monkeypatch.setattr(gaps, "solve", solving)
    monkeypatch.setattr(heuristics, "run", running)
    own = tmp_path / "own.toml"
    own.write_text("time_limit = 33.0\n")
    args = ["gap", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl"]
    for more in ([], ["--profile", str(own)], ["--profile", str(own), "--time-limit", "44"], ["--time-limit", "none"]):
        assert run(*args, *more).exit_code == 0
    assert seen == [(10, 10), (33, 33), (44, 44), (None, None)]


@pytest.mark.parametrize("limit", ["-1", "nan", "inf", "soon"])
def test_wrong_limit(limit: str) -> None:
    """Tests that a limit that is no number of seconds is wrong usage, told before anything is done."""
    result = run("gap", "papers/guo-fig2", f"--time-limit={limit}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no number of seconds" in result.stderr
