"""Tests for `optsched show`."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import run
from pictured import racked

import optsched
from optsched.core.instance import Cluster, Instance, Workload

FSY = "papers/fsy-not-optimal"


def test_side_by_side(tmp_path: Path) -> None:
    """Tests that heuristics with parameters, solution files and the optimum are drawn, and twice the same."""
    solution, target = tmp_path / "s.json", tmp_path / "a.svg"
    assert run("solve", FSY, "--problem", "latency", "--output", str(solution)).exit_code == 0
    command = ["show", FSY, "--heuristic", "labl,variant=strict", "--solution", str(solution), "--to", str(target)]
    done = run(*command)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    drawn = target.read_text()
    for title in (
        ">labl,variant=strict<",
        f">{solution}<"[:9],
        ">optimum (proved: combinatorial)<",
        ">makespan 3, work 9<",
    ):
        assert title in drawn
    run(*command)
    assert target.read_text() == drawn


def test_the_instance_alone(tmp_path: Path) -> None:
    """Tests that without a problem the instance is drawn as it is, and that a problem alone draws its optimum."""
    target = tmp_path / "a.svg"
    optsched.save(racked(), tmp_path / "racked.json")
    assert run("show", str(tmp_path / "racked.json"), "--to", str(target)).exit_code == 0
    assert ">4 nodes, 2 racks, 5 tasks to place<" in target.read_text()
    assert run("show", FSY, "--problem", "latency", "--param", "w_rem=2", "--to", str(target)).exit_code == 0
    assert ">optimum (proved: combinatorial)<" in target.read_text()


def test_a_schedule_is_not_drawn_as_a_placement(tmp_path: Path) -> None:
    """Tests that `show` and `explain` refuse a solution file that holds a schedule where placements are due."""
    held, given, target = tmp_path / "s.json", tmp_path / "day.json", tmp_path / "a.svg"
    optsched.save(optsched.generate("job-times", seed=1, nodes=3, tasks=3, jobs=1, reduces=0), given)
    assert run("solve", str(given), "--problem", "makespan", "--output", str(held)).exit_code == 0
    for words, told in (
        (("show", "--to", str(target)), "holds a schedule, and latency decides a placement; give a solution of such"),
        (("explain",), "holds no placement on this instance to explain"),
    ):
        done = run(words[0], str(given), *words[1:], "--problem", "latency", "--solution", str(held))
        assert done.exit_code == 2
        assert f"{held}: {told}" in done.stderr
        assert not target.exists()
    done = run("solve", str(given), "--problem", "latency", "--start", str(held))
    assert done.exit_code == 2
    assert (
        f"{held}: holds a schedule, and latency decides a placement; give a solution of such a problem" in done.stderr
    )


def test_schedules_are_gantt_charts(tmp_path: Path) -> None:
    """Tests heuristics, solution and schedule files of a problem over time side by side, and what judges the latter."""
    held, rest, target = tmp_path / "s.json", tmp_path / "schedule.npz", tmp_path / "a.svg"
    given = "examples/order-of-jobs"
    assert run("solve", given, "--problem", "job-times", "--output", str(held)).exit_code == 0
    assert run("simulate", given, "--policy", "dl", "--schedule", str(rest)).exit_code == 0
    command = ("show", given, "--heuristic", "fair", "--solution", str(held), "--solution", str(rest))
    done = run(*command, "--to", str(target))
    assert done.exit_code == 0, done.stderr
    text = target.read_text()
    for name in ("fair: job time ", f"{held}: job time ", f"{rest}: job time ", "optimum (proved: "):
        assert f">{name}" in text
    done = run("show", given, "--solution", str(rest), "--to", str(target))
    assert "judged by makespan; --problem names another" in done.stderr
    assert f">{rest}: makespan " in target.read_text()
    path = tmp_path / "none.json"
    optsched.save(Instance(Cluster(["n1"], slots=[0]), Workload(["t1"], duration=[5])), path)
    done = run("show", str(path), "--problem", "makespan", "--to", str(tmp_path / "b.svg"))
    assert (done.exit_code, (tmp_path / "b.svg").exists()) == (2, False)
    assert "makespan: no schedule is known to draw: INFEASIBLE" in done.stderr


@pytest.mark.thorough
def test_problem_by_default(tmp_path: Path) -> None:
    """Tests that the first problem that all heuristics serve judges, with the given parameters, which is told."""
    target = tmp_path / "a.svg"
    command = ("show", FSY, "--heuristic", "labl", "--heuristic", "round-robin", "--to", str(target))
    assert "judged by latency; --problem names another" in run(*command).stderr
    assert run(*command, "--param", "w_rem=2").exit_code == 0
    assert "makespan" in target.read_text()
    none = run("show", FSY, "--heuristic", "labl", "--heuristic", "dl", "--to", str(target))
    assert none.exit_code == 2
    assert "served by labl, dl" in none.stderr


@pytest.mark.thorough
def test_networks(tmp_path: Path) -> None:
    """Tests a flow network alone, with its optimal flow, and with a heuristic, which there is none for."""
    target = tmp_path / "a.svg"
    assert run("show", "examples/negative-cycle", "--to", str(target)).exit_code == 0
    assert run("show", "examples/negative-cycle", "--problem", "min-cost-flow", "--to", str(target)).exit_code == 0
    assert "optimum: 3" in target.read_text()
    assert run("show", "examples/negative-cycle", "--heuristic", "dl", "--to", str(target)).exit_code == 2


@pytest.mark.thorough
def test_a_heuristic_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic that raises is drawn as failed beside the others, with exit code 4 and its error."""
    (tmp_path / "mine_shown.py").write_text("def broken(problem, rng):\n    raise KeyError('x')\n")
    monkeypatch.chdir(tmp_path)
    done = run("show", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "mine_shown:broken", "--to", "a.svg")
    assert done.exit_code == 4
    assert "KeyError" in done.stderr
    assert ">mine_shown:broken: failed<" in Path("a.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([FSY], 2, "--to"),
        ([FSY, "--to", "a.xyz"], 2, '--to a.xyz: no kind of picture ends in ".xyz"'),
        ([FSY, "--to", "no/a.svg"], 3, "no/a.svg: cannot be written"),
        (["nowhere", "--to", "a.svg"], 3, "no such file"),
        ([FSY, "--problem", "nothing", "--to", "a.svg"], 2, "nothing"),
        ([FSY, "--param", "w_rem=2", "--to", "a.svg"], 2, "--param is of a problem"),
        ([FSY, "--solution", "empty.json", "--to", "a.svg"], 3, "empty.json"),
        ([FSY, "--heuristic", "nothing", "--to", "a.svg"], 2, "nothing"),
    ],
)
def test_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, told: str
) -> None:
    """Tests that what is wrong is one line, and no file is left or begun."""
    monkeypatch.chdir(tmp_path)
    Path("empty.json").write_text("{}")
    done = run("show", *arguments)
    assert done.exit_code == code
    assert told in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["empty.json"]
