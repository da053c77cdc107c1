"""What a failed test says: the run, the tasks that differ, and a command that shows it again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import optsched
from optsched.cli import cli
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.measuring.records import Run
from optsched.measuring.studies.checks import Check
from optsched.measuring.studies.choices import Family
from optsched.measuring.studies.limits import Breach, GapLimit, breaches
from optsched.measuring.studies.messages import again, lines, traceback_of
from optsched.measuring.studies.runs import measure, plan
from optsched.processes import Limits
from optsched.solvers.profiles import AnyProfile, Profile, load_profile


def swap(problem: Any, rng: Any) -> list[str]:
    """The first two nodes, the wrong way round."""
    return list(problem.instance.cluster.node_ids[[1, 0, *range(2, len(problem.tasks))]])


def made(tasks: int, name: str = "row") -> Instance:
    """Task i has its data on node i."""
    nodes = [f"n{node}" for node in range(tasks)]
    workload = Workload([f"t{task}" for task in range(tasks)], replicas=Ragged.from_rows([[i] for i in range(tasks)]))
    return Instance(Cluster(nodes), workload, name=name)


def measured(instances: Any, heuristic: Any = swap, name: str = "lsap", **parameters: Any) -> list[Run]:
    """One run."""
    return list(measure(plan(instances, name, heuristic, parameters), 1))


def test_lines_of_a_breach() -> None:
    """Tests that a breach tells the run, both values, each task that differs with both nodes, and what to do."""
    told = list(lines(breaches(measured(made(3)), GapLimit.of(max_absolute=1))))
    assert told[0] == f"{__name__}:swap on row, lsap, seed 0: the gap is 2, over the limit of 1"
    assert told[1] == "  value 2 against the optimum 0"
    assert told[2:4] == [
        "  2 avoidable remote maps (2 less locality-cost), on n1, n0",
        "  2 of 3 tasks run elsewhere than in the nearest optimal placement:",
    ]
    assert [line.split() for line in told[4:7]] == [
        ["task", "heuristic", "optimal"],
        ["t0", "n1", "n0"],
        ["t1", "n0", "n1"],
    ]
    assert told[7].startswith("  see it again: save the instance first (optsched.save(instance, 'row.json'))")


def test_where_the_command_is_to_be_typed() -> None:
    """Tests that a folder stands before the command."""
    told = list(lines(breaches(measured("papers/guo-fig2"), GapLimit.of(max_absolute=0)), folder="a b"))
    assert told[-1].startswith("  see it again: cd 'a b' && PYTHONPATH=.. optsched gap papers/guo-fig2 --problem lsap")


def test_traceback_begins_with_the_users_own_line() -> None:
    """Tests that what called a heuristic is left out of its traceback, and that what it called is there."""

    def broken(problem: Any, rng: Any) -> list[str]:
        raise ValueError("no") from KeyError("cause")

    (entry,) = measured(made(1), broken)
    cause = entry.report.run.cause
    assert cause is not None
    told = traceback_of(cause)
    assert "KeyError: 'cause'" in told
    assert told.endswith("ValueError: no\n")
    assert told.count("File ") == 1
    assert "in broken" in told
    assert "never raised" in traceback_of(ValueError("never raised"))


def test_long_tables_are_cut() -> None:
    """Tests that of many tasks and many breaches the rest is counted."""

    def turned(problem: Any, rng: Any) -> list[str]:
        nodes = problem.instance.cluster.node_ids.tolist()
        return [*nodes[1:], nodes[0]]

    found = measured(made(30), turned)
    told = list(lines(breaches(found, GapLimit.of(max_absolute=0))))
    assert "    and 18 more" in told
    many = [Breach("is wrong", found[0], tuple(found))] * 14
    assert list(lines(many))[-1] == "and 2 more"


def test_waiting_tasks_and_failures() -> None:
    """Tests that a task that waits has a dash for a node, and that a run without placement has no table."""

    def waits(problem: Any, rng: Any) -> list[str | None]:
        return ["n0", None]

    told = list(lines(breaches(measured(made(2), waits), None)))
    assert told[0].endswith("seed 0: infeasible: cardinality() by 1")
    assert len(told) == 2, "an infeasible placement is not compared"

    def broken(problem: Any, rng: Any) -> list[str]:
        raise KeyError("lost")

    told = list(lines(breaches(measured(made(2), broken), None)))
    assert "raised KeyError: 'lost'" in told[0]


def test_the_command_shows_the_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the commands for files, names of the library and generated instances measure the same value."""
    monkeypatch.chdir(tmp_path)
    optsched.save(made(3), "a row.json")
    cases = [
        (measured(str(tmp_path / "a row.json"), "rand,randomness=0.5"), 1),
        (measured("guo-table2", "dl", "worst-group", levels=(0, 1, 2)), 1),
        (measured(Family("lsap", [4], {"nodes": 4, "tasks": 5}), "rand"), 2),
    ]
    for found, commands in cases:
        parts = again(found[0]).split(" && ")
        assert len(parts) == commands
        for part in parts:
            arguments = shlex.split(part)[1:]
            if part is parts[-1]:
                arguments += ["--format", "json"]
            result = CliRunner().invoke(cli, arguments)
            assert result.exit_code == 0, result.output
        (record,) = json.loads(result.stdout)
        report = found[0].report
        assert record["objective"] == (report.record()["objective"])
        assert record["problem"] == report.problem.name
        assert dict(record["parameters"]) == {
            k: list(v) if isinstance(v, tuple) else v for k, v in report.problem.parameters.items()
        }


def test_the_command_has_the_limits_of_the_run() -> None:
    """Tests that the command names the profile and the limit on time, without which it might come to something else."""
    (entry,) = measured(made(2), "dl")
    own = Profile("own", node_limit=3)
    cases: list[tuple[AnyProfile, float | None, list[str]]] = [
        ("exact", None, ["--time-limit", "none"]),
        ("ci", None, ["--profile", "ci", "--time-limit", "none"]),
        (load_profile("ci"), 2.5, ["--profile", "ci", "--time-limit", "2.5"]),
        ("quick", None, ["--profile", "quick", "--time-limit", f"{load_profile('quick').time_limit:g}"]),
        (own, None, ["--profile", "own.toml", "--time-limit", "none"]),
    ]
    for profile, seconds, told in cases:
        assert shlex.split(again(entry, None, profile, seconds))[-len(told) :] == told
    limits = Limits(seconds=30, memory_mb=500)
    assert again(entry, contained=limits).endswith("--time-limit none --run-limit 30 --memory-limit 500")
    check = Check.of("rand", "papers/guo-fig2", "lsap", max_absolute=0, profile="ci", seeds=20)
    assert "--profile ci --time-limit none" in "\n".join(check.planned().run().lines())


def test_a_heuristic_without_a_name() -> None:
    """Tests that of a function that no command can import it is said how it gets a name."""
    (entry,) = measured(made(2), lambda problem, rng: ["n1", "n0"])
    assert again(entry).endswith("define it at the top of its module")
