"""`optsched sweep`: what it asks, computes and puts out; Ctrl-C, exit codes, and the file of the guide."""

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import Result
from command_line import ENVIRONMENT, PROGRAM, answer, interrupted, run, stderr, stdout
from engines import interrupted as press
from sweeps import InProcess, count

from optsched.core.processes import Outcome, Status
from optsched.measuring import sweeping as executing
from optsched.measuring.sweeping.store import locked

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


def sweep(*args: str, code: int = 0) -> Result:
    """The command with a store, which must end with this exit code."""
    done = run("sweep", "--store", "a.sqlite", *args)
    assert done.exit_code == code, done.stderr
    return done


def rows(query: str, store: str = "a.sqlite") -> list[Any]:
    """What a store has."""
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute(query).fetchall()


def test_summary_and_records() -> None:
    """Tests that the summary is that of `gap`, and that JSON and CSV hold what `gap` writes, run for run."""
    args = [*SMALL, "--heuristic", "lsap-sched", "--heuristic", "rand", "--repeats", "3"]
    done = sweep(*args)
    assert done.stdout.splitlines()[:4] == stdout("gap", *args).splitlines()[:4]
    assert "12 runs: 0 done, 12 to compute, with 2 optima to solve" in done.stderr
    swept, measured = answer("sweep", "--store", "a.sqlite", *args), answer("gap", *args)
    for record in (*swept, *measured):
        for name in [name for name in record if "seconds" in name]:
            del record[name]
    assert swept == measured
    sweep(*args, "--format", "csv", "--output", "a.csv")
    assert len(Path("a.csv").read_text().splitlines()) == 13
    assert count(Path("a.sqlite").resolve()) == 12, "nothing was computed twice"


def test_dry_run(folder: Path) -> None:
    """Tests that a dry run tells what there is to do, and makes nothing."""
    args = [*SMALL, "--heuristic", "rand"]
    assert sweep(*args, "--dry-run").stdout == "2 runs: 0 done, 2 to compute, with 2 optima to solve\n"
    assert not (folder / "a.sqlite").exists()
    sweep(*args)
    assert sweep(*args, "--repeats", "2", "--dry-run").stdout == "4 runs: 2 done, 2 to compute\n"


def test_each_value_of_a_parameter() -> None:
    """Tests that a parameter that is given twice is tried with both values, each with the values of the others."""
    params = [part for text in ("w_rem=3", "w_rem=5", "latency.w_loc=1") for part in ("--param", text)]
    shown = sweep("papers/guo-fig2", "--problem", "latency", "--heuristic", "labl", *params).stdout
    heads = [line.partition(":")[0] for line in shown.splitlines() if line.startswith("latency")]
    assert heads == ["latency w_rem=3 w_loc=1", "latency w_rem=5 w_loc=1"]


def test_failures_are_told() -> None:
    """Tests that heuristics that failed or crashed are exit code 4, each once, with the first of its runs."""
    Executor.ends = {
        "rand": Outcome(Status.CRASHED, message="ended with exit code 3 before it answered"),
        "dl": Outcome(Status.TIMED_OUT, message="killed after 5 s"),
    }
    args = [*SMALL, *(part for name in ("rand", "dl", "lsap-sched") for part in ("--heuristic", name))]
    done = sweep(*args, code=4)
    crashed = 'heuristic "rand" crashed: ended with exit'
    assert f"rand crashed in 2 runs, first on lsap-n4-t5-seed0, lsap, seed 0: {crashed}" in done.stderr
    assert "2 runs had too little time" in done.stderr
    assert "crashed" in done.stdout
    again = sweep(*args, code=4).stderr  # also where nothing is computed now
    assert "2 runs in the store had too little time; --retry timed-out computes them again" in again
    Executor.ends = {}
    assert "6 runs: 4 done, 2 to compute" in sweep(*args, "--retry", "timed-out", code=4).stderr
    sweep(*args, "--retry", "failed")


def test_a_solver_that_crashes_is_told() -> None:
    """Tests that runs without a reference are there, and that the solver's crash is exit code 4."""
    Executor.ends = {"optimum": Outcome(Status.CRASHED, message="ended by SIGSEGV")}
    said = sweep(*SMALL, "--heuristic", "rand", code=4).stderr
    assert "the solver failed in 2 runs, first on lsap-n4-t5-seed0, lsap, seed 0" in said
    assert count(Path("a.sqlite").resolve()) == 2


FILE = """
store = "out.sqlite"
problem = "lsap"
heuristic = "rand"
family = {name = "lsap", seeds = 2, nodes = 4, tasks = 5}
time_limit = 3
"""


def test_a_file(folder: Path) -> None:
    """Tests that a file says all, that its paths are of its folder, and that options go before it."""
    (folder / "deep").mkdir()
    (folder / "deep/a.toml").write_text(FILE)
    stdout("sweep", "deep/a.toml")
    assert count(folder / "deep/out.sqlite") == 2
    stdout("sweep", "deep/a.toml", "--store", "here.sqlite", "--time-limit", "none", "-j", "2")
    assert rows("SELECT DISTINCT time_limit FROM runs", "here.sqlite") == [(None,)]
    said = stderr("sweep", "deep/a.toml", "--problem", "lsap", "papers/guo-fig2", code=2)
    assert "the file says what is measured: leave papers/guo-fig2, --problem out, or the file" in said


def test_a_cluster(folder: Path) -> None:
    """Tests that the address of a cluster is handed on, from the file too, where no processes of this machine are."""
    (folder / "a.toml").write_text(FILE + 'dask = "tcp://a:1"\njobs = 2\n')
    for args in (["a.toml"], ["a.toml", "--dask", "tcp://b:1"], ["a.toml", "-j", "3"]):
        stdout("sweep", *args)
    assert [(made[0], made[2]) for made in Executor.made] == [(2, "tcp://a:1"), (2, "tcp://b:1"), (3, None)]


def test_check() -> None:
    """Tests that the check of a sound store passes, and that a changed row is exit code 3."""
    sweep(*SMALL, "--heuristic", "rand")
    shown = "a.sqlite: 2 runs, 2 optima, {} of them proved again, {}2 instances\n"
    assert sweep("--check").stdout == shown.format(2, "")
    (key, text), _ = rows("SELECT key, solution FROM optima")
    solution = {**json.loads(text), "certificates": [], "bound": [None], "termination": "FEASIBLE", "limit": "TIME"}
    with closing(sqlite3.connect("a.sqlite")) as connection, connection:
        connection.execute("UPDATE optima SET solution = ? WHERE key = ?", (json.dumps(solution), key))
    assert sweep("--check").stdout == shown.format(1, "1 on nothing, ")
    with closing(sqlite3.connect("a.sqlite")) as connection, connection:
        connection.execute("UPDATE runs SET seed = 9, version = '0.0.1'")
    said = sweep("--check", code=3).stderr
    others = "a.sqlite has 2 runs measured by other code (optsched 0.0.1): the same sweep computes them again"
    assert others in " ".join(said.split())
    assert re.search(r"a.sqlite: run \w{12}: its key is not that of what it says it ran", said)


def test_lines_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where there is no terminal a line tells now and then how far it is and how long it takes."""
    monkeypatch.setattr("optsched.cli.sweeping.PAUSE", 0.0)
    Executor.ends = {"rand": Outcome(Status.CRASHED, message="gone", seconds=1)}
    said = sweep(*SMALL, "--heuristic", "rand", code=4).stderr
    assert re.search(r"0 of 2 runs, about \d+ s left", said)
    assert "2 of 2 runs, 2 crashed, about 0 s left" in said


def test_who_waits_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a sweep that finds another one tells whom it waits for, and that Ctrl-C ends the wait."""
    looks = iter([True])

    def busy(error: Exception) -> bool:
        return next(looks, None) or press()

    monkeypatch.setattr("optsched.measuring.sweeping.store._PAUSE", 0.01)
    monkeypatch.setattr("optsched.measuring.sweeping.store._busy", busy)
    with locked("a.sqlite"):
        said = sweep(*SMALL, "--heuristic", "rand", code=130).stderr
    assert "a.sqlite: another process sweeps into it; waiting for its end (Ctrl-C gives up)" in said
    assert "interrupted before anything was begun" in said


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
