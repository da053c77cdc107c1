"""`optsched sweep`: what it asks, computes and puts out; Ctrl-C, exit codes, and the file of the guide."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import Result
from command_line import ENVIRONMENT, PROGRAM, interrupted, run
from sweeps import InProcess, count

from optsched.measuring import sweeping as executing
from optsched.measuring.sweeping.store import locked
from optsched.processes import Outcome, Status

SMALL = ["--family", "lsap", "--seeds", "0-1", "--set", "nodes=4", "--set", "tasks=5", "--problem", "lsap"]


class Executor(InProcess):
    """What the command runs jobs with; outcomes by heuristic."""

    ends: ClassVar[dict[str, Outcome]] = {}
    made: ClassVar[list[tuple[Any, ...]]] = []

    def map(self, function: Any, jobs: Any) -> Iterator[tuple[str, Outcome]]:
        for key, job in jobs:
            shown = self.ends.get(job.heuristic or "optimum")
            self.keys.append(key)
            yield key, shown or Outcome(Status.DONE, function(job))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder of its own, in which jobs run in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Executor, "ends", {})
    monkeypatch.setattr(Executor, "made", [])

    def made(*given: Any) -> Executor:
        Executor.made.append(given)
        return Executor()

    monkeypatch.setattr(executing, "executor_of", made)
    return tmp_path


def sweep(*args: str) -> Result:
    """The command with a store."""
    return run("sweep", "--store", "a.sqlite", *args)


def test_summary_and_records() -> None:
    """Tests that the summary is that of `gap`, and that JSON and CSV hold what `gap` writes, run for run."""
    args = [*SMALL, "--heuristic", "lsap-sched", "--heuristic", "rand", "--repeats", "3"]
    done = sweep(*args)
    assert done.exit_code == 0
    expected = run("gap", *args)
    shown = done.stdout.splitlines()
    assert shown[:4] == expected.stdout.splitlines()[:4]
    assert "8 runs" not in done.stderr
    assert "12 runs: 0 done, 12 to compute, with 2 optima to solve" in done.stderr
    records, gaps = (
        json.loads(command(*args, "--format", "json").stdout) for command in (sweep, lambda *a: run("gap", *a))
    )
    for record, other in zip(records, sorted(gaps, key=lambda entry: 0), strict=True):
        assert {key: value for key, value in record.items() if "seconds" not in key} == {
            key: value for key, value in other.items() if "seconds" not in key
        }
    table = sweep(*args, "--format", "csv", "--output", "a.csv")
    assert table.exit_code == 0
    assert len(Path("a.csv").read_text().splitlines()) == 13
    assert count(Path("a.sqlite").resolve()) == 12, "nothing was computed twice"


def test_limits_are_handed_on() -> None:
    """Tests that what kills processes reaches the executor, and what stops runs reaches each job and the store."""
    args = [*SMALL, "--heuristic", "rand", "--run-limit", "5", "--memory-limit", "900", "-j", "3", "--time-limit", "7"]
    assert sweep(*args).exit_code == 0
    ((workers, limits, dask),) = Executor.made
    assert (workers, limits.seconds, limits.memory_mb, dask) == (3, 5, 900, None)
    connection = sqlite3.connect("a.sqlite")
    rows = set(connection.execute("SELECT time_limit, run_limit, memory_limit FROM runs"))
    assert rows == {(7, 5, 900)}
    (options,) = connection.execute("SELECT options FROM sweeps").fetchone()
    connection.close()
    assert json.loads(options)["time_limit"] == 7


def test_dry_run(folder: Path) -> None:
    """Tests that a dry run tells what there is to do, and makes nothing."""
    args = [*SMALL, "--heuristic", "rand"]
    assert sweep(*args, "--dry-run").stdout == "2 runs: 0 done, 2 to compute, with 2 optima to solve\n"
    assert not (folder / "a.sqlite").exists()
    sweep(*args)
    done = sweep(*args, "--repeats", "2", "--dry-run").stdout
    assert done == "4 runs: 2 done, 2 to compute\n"


def test_each_value_of_a_parameter() -> None:
    """Tests that a parameter that is given twice is tried with both values, each with the values of the others."""
    args = [
        "papers/guo-fig2",
        "--problem",
        "latency",
        "--heuristic",
        "labl",
        "--param",
        "w_rem=3",
        "--param",
        "w_rem=5",
    ]
    done = sweep(*args, "--param", "latency.w_loc=1")
    assert done.exit_code == 0
    assert [line.partition(":")[0] for line in done.stdout.splitlines() if line.startswith("latency")] == [
        "latency w_rem=3 w_loc=1",
        "latency w_rem=5 w_loc=1",
    ]


def test_failures_are_told() -> None:
    """Tests that heuristics that failed or crashed are exit code 4, each once, with the first of its runs."""
    Executor.ends = {
        "rand": Outcome(Status.CRASHED, message="ended with exit code 3 before it answered"),
        "dl": Outcome(Status.TIMED_OUT, message="killed after 5 s"),
    }
    names = ("rand", "dl", "lsap-sched")
    args = [*SMALL, *(part for name in names for part in ("--heuristic", name))]
    done = sweep(*args)
    assert done.exit_code == 4
    assert (
        'rand crashed in 2 runs, first on lsap-n4-t5-seed0, lsap, seed 0: heuristic "rand" crashed: ended with exit'
        in done.stderr
    )
    assert "2 runs had too little time" in done.stderr
    assert "crashed" in done.stdout
    again = sweep(*args)
    assert again.exit_code == 4, "also where nothing is computed now"
    assert "2 runs in the store had too little time; --retry timed-out computes them again" in again.stderr
    Executor.ends = {}
    done = sweep(*args, "--retry", "timed-out")
    assert "6 runs: 4 done, 2 to compute" in done.stderr
    assert sweep(*args, "--retry", "failed").exit_code == 0


def test_a_solver_that_crashes_is_told() -> None:
    """Tests that runs without a reference are there, and that the solver's crash is exit code 4."""
    Executor.ends = {"optimum": Outcome(Status.CRASHED, message="ended by SIGSEGV")}
    done = sweep(*SMALL, "--heuristic", "rand")
    assert done.exit_code == 4
    assert "the solver failed in 2 runs, first on lsap-n4-t5-seed0, lsap, seed 0" in done.stderr
    assert count(Path("a.sqlite").resolve()) == 2


FILE = """
store = "out.sqlite"
problem = "lsap"
heuristic = "rand"
family = {name = "lsap", seeds = 2, nodes = 4, tasks = 5}
time_limit = 3
"""


def test_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a file says all, that its paths are of its folder, and that options go before it."""
    (folder / "deep").mkdir()
    (folder / "deep/a.toml").write_text(FILE)
    assert run("sweep", "deep/a.toml").exit_code == 0
    assert count(folder / "deep/out.sqlite") == 2
    assert run("sweep", "deep/a.toml", "--store", "here.sqlite", "--time-limit", "none", "-j", "2").exit_code == 0
    connection = sqlite3.connect("here.sqlite")
    assert connection.execute("SELECT DISTINCT time_limit FROM runs").fetchall() == [(None,)]
    connection.close()
    done = run("sweep", "deep/a.toml", "--problem", "lsap", "papers/guo-fig2")
    assert done.exit_code == 2
    assert "the file says what is measured: leave papers/guo-fig2, --problem out, or the file" in done.stderr


def test_a_cluster(folder: Path) -> None:
    """Tests that the address of a cluster is handed on, from the file too, where no processes of this machine are."""
    (folder / "a.toml").write_text(FILE + 'dask = "tcp://a:1"\njobs = 2\n')
    for args in (["a.toml"], ["a.toml", "--dask", "tcp://b:1"], ["a.toml", "-j", "3"]):
        assert run("sweep", *args).exit_code == 0
    assert [(made[0], made[2]) for made in Executor.made] == [(2, "tcp://a:1"), (2, "tcp://b:1"), (3, None)]


def test_check(folder: Path) -> None:
    """Tests that the check of a sound store passes, and that a changed row is exit code 3."""
    sweep(*SMALL, "--heuristic", "rand")
    done = sweep("--check")
    assert (done.exit_code, done.stdout) == (0, "a.sqlite: 2 runs, 2 optima, 2 of them proved again, 2 instances\n")
    connection = sqlite3.connect("a.sqlite")
    ((key, text), *_) = connection.execute("SELECT key, solution FROM optima").fetchall()
    solution = {**json.loads(text), "certificates": [], "bound": [None], "termination": "FEASIBLE", "limit": "TIME"}
    connection.execute("UPDATE optima SET solution = ? WHERE key = ?", (json.dumps(solution), key))
    connection.commit()
    assert sweep("--check").stdout == "a.sqlite: 2 runs, 2 optima, 1 of them proved again, 1 on nothing, 2 instances\n"
    connection.execute("UPDATE runs SET seed = 9")
    connection.commit()
    connection.close()
    done = sweep("--check")
    assert done.exit_code == 3
    assert re.search(r"a.sqlite: run \w{12}: its key is not that of what it says it ran", done.stderr)


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where there is no terminal a line tells now and then how far it is and how long it takes."""
    monkeypatch.setattr("optsched.cli.sweeping.PAUSE", 0.0)
    Executor.ends = {"rand": Outcome(Status.CRASHED, message="gone", seconds=1)}
    done = sweep(*SMALL, "--heuristic", "rand").stderr
    assert re.search(r"0 of 2 runs, about \d+ s left", done)
    assert "2 of 2 runs, 2 crashed, about 0 s left" in done


def test_who_waits_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a sweep that finds another one tells whom it waits for, and that Ctrl-C ends the wait."""
    looks = iter([True])

    def busy(error: Exception) -> bool:
        if next(looks, None) is None:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr("optsched.measuring.sweeping.store._PAUSE", 0.01)
    monkeypatch.setattr("optsched.measuring.sweeping.store._busy", busy)
    with locked("a.sqlite"):
        done = sweep(*SMALL, "--heuristic", "rand")
    assert done.exit_code == 130
    assert "a.sqlite: another process sweeps into it; waiting for its end (Ctrl-C gives up)" in done.stderr
    assert "interrupted before anything was begun" in done.stderr


#: A scheduler that waits in its third run.
OWN = """
import pathlib, time

def third(problem, rng):
    pathlib.Path(f"ran{problem.instance.name}").touch()
    if len(list(pathlib.Path().glob("ran*"))) == 3:
        pathlib.Path("begun").touch()
        time.sleep(600)
    return [index % 4 for index in range(len(problem.tasks))]
"""


@pytest.mark.thorough
def test_ctrl_c(folder: Path) -> None:
    """Tests that Ctrl-C kills what runs, tells what is there and how to go on, and replaces no older output."""
    (folder / "own.py").write_text(OWN)
    (folder / "a.csv").write_text("older\n")
    args = ["sweep", "--store", "a.sqlite", *SMALL, "--seeds", "0-3", "--heuristic", "own:third", "--output", "a.csv"]
    code, _, output = interrupted(folder, *args)
    assert code == 130, output
    assert "interrupted: 2 of 4 runs are in a.sqlite; the same command goes on with the others" in output
    assert (folder / "a.csv").read_text() == "older\n"
    assert count(folder / "a.sqlite") == 2
    done = subprocess.run([*PROGRAM, *args], env=ENVIRONMENT, capture_output=True, text=True, check=True, timeout=60)
    assert "4 runs: 2 done, 2 to compute" in done.stderr
    assert len((folder / "a.csv").read_text().splitlines()) == 5
