"""Results come as they are ready, Ctrl-C and faults while writing lose none of them, and no file is half-written."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import ENVIRONMENT, PROGRAM, run, small

ROOT = Path(__file__).resolve().parents[2]

#: A scheduler that never ends, and says when it has begun.
OWN = '''
import pathlib

def waits(problem, rng):
    pathlib.Path("begun").touch()
    while True:
        pass

def third(problem, rng, calls=[]):
    """Ends twice, then waits."""
    calls.append(1)
    return waits(problem, rng) if len(calls) > 2 else list(range(len(problem.tasks)))
'''


#: One that hears no signal, in a call into C that holds Python's lock.
DEAF = """
def deaf(problem, rng):
    import ctypes, os, signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pathlib.Path("pid").write_text(str(os.getpid()))
    pathlib.Path("begun").touch()
    ctypes.PyDLL(None).sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a small instance, and a scheduler that never ends."""
    small(tmp_path / "small.json")
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def interrupted(folder: Path, *args: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that gets a real SIGINT once the scheduler `waits` has begun."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST_"))}
    process = subprocess.Popen(
        [*PROGRAM, *args],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (folder / "begun").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, told = process.communicate(timeout=60)
    return process.returncode, out, told


LSAP = ["small.json", "--problem", "lsap", "--heuristic"]


@pytest.mark.parametrize(
    "form", ["json", *(pytest.param(form, marks=pytest.mark.thorough) for form in ("table", "csv"))]
)
def test_ctrl_c_keeps_what_was_finished(folder: Path, form: str) -> None:
    """Tests that Ctrl-C within the second heuristic leaves the first one's row, valid, and exit code 130."""
    code, out, told = interrupted(
        folder, "gap", *LSAP, "dl", "--heuristic", "own:waits", "--seed", "0", "--format", form
    )
    assert code == 130
    if form == "json":
        assert [record["heuristic"] for record in json.loads(out)] == ["dl"]
    elif form == "csv":
        assert [record["heuristic"] for record in csv.DictReader(out.splitlines())] == ["dl"]
    else:
        assert out.startswith("small, lsap: ")
        assert [line.split()[0] for line in out.splitlines()[3:]] == ["dl"]
    assert "warning: interrupted after 1 of 2 runs" in told
    assert "Traceback" not in told


@pytest.mark.thorough
def test_ctrl_c_between_seeds_is_a_row_that_says_so(folder: Path) -> None:
    """Tests that of a heuristic some of whose seeds ran there is a row of these, and it says how many."""
    code, out, _ = interrupted(folder, "gap", *LSAP, "own:third", "--repeats", "5")
    assert code == 130
    _, _, _, row, *further = out.splitlines()
    assert " ".join([row, *further]).endswith("only 2 of 5 seeds")


@pytest.mark.parametrize("name", ["gaps.csv", pytest.param("gaps.json", marks=pytest.mark.thorough)])
def test_ctrl_c_does_not_replace_an_older_file(folder: Path, name: str) -> None:
    """Tests that a complete file of an earlier run stays, and what was finished is beside it, marked, and told."""
    target = folder / name
    target.write_text("complete")
    args = [*LSAP, "dl", "--heuristic", "own:waits", "--seed", "0", "--output", name]
    code, out, told = interrupted(folder, "gap", *args)
    assert (code, out) == (130, "")
    assert target.read_text() == "complete"
    partial = (folder / f"{name}.partial").read_text()
    records = json.loads(partial) if name.endswith("json") else list(csv.DictReader(partial.splitlines()))
    assert [record["heuristic"] for record in records] == ["dl"]
    assert f"{name} is not written; what was finished is in {name}.partial" in told


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="no signals there")
def test_ctrl_c_ends_a_process_that_ignores_it(folder: Path) -> None:
    """Tests that a run in a process of its own, which would not hear Ctrl-C, ends with the command, at once."""
    with (folder / "own.py").open("a") as file:
        file.write(DEAF)
    target = folder / "gaps.json"
    target.write_text("complete")
    args = [*LSAP, "dl", "--heuristic", "own:deaf", "--run-limit", "600", "--seed", "0", "--output", "gaps.json"]
    code, out, told = interrupted(folder, "gap", *args)
    assert (code, out) == (130, "")
    assert "warning: interrupted after 1 of 2 runs" in told
    assert target.read_text() == "complete"
    assert [record["heuristic"] for record in json.loads((folder / "gaps.json.partial").read_text())] == ["dl"]
    assert not psutil.pid_exists(int((folder / "pid").read_text()))


@pytest.mark.thorough
def test_ctrl_c_keeps_the_cells_of_a_matrix(folder: Path) -> None:
    """Tests that the rows of a matrix that are there by then are shown."""
    code, out, told = interrupted(folder, "matrix", *LSAP, "dl", "--heuristic", "own:waits")
    assert code == 130
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["dl"]
    assert "interrupted after 1 of 2 cells" in told


@pytest.mark.thorough
def test_rows_come_as_they_are_ready(folder: Path) -> None:
    """Tests that the row of a heuristic is on stdout while the next one runs, though stdout is no terminal."""
    args = [*PROGRAM, "gap", *LSAP, "dl", "--heuristic", "own:waits", "--seed", "0", "--time-limit", "none"]
    process = subprocess.Popen(args, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        assert lines[3].split()[0] == "dl"
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


# Out of time ------------------------------------------------------------------------------------------------------


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The folder, as the working one, with its module to be imported from."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    yield folder
    sys.modules.pop("own", None)


@pytest.mark.usefixtures("here")
def test_out_of_time_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a run that did not end is a row that says so, told on stderr, and no failure unless a gap is asked."""
    args = ["gap", *LSAP, "dl", "--heuristic", "own:waits", "--seed", "0", "--time-limit", "0.2"]
    result = run(*args)
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()[3:]
    assert first.split()[-1] == "%"
    assert second.endswith("-  out of time after 0.2 s")
    assert "1 run of a heuristic was out of time after 0.2 s; --time-limit S gives more" in result.stderr
    result = run(*args, "--max-gap", "900%", "--format", "json")
    assert result.exit_code == 4
    assert "out of time after 0.2 s" in json.loads(result.stdout)[1]["error"]
    assert "out of time after 0.2 s" in result.stderr


@pytest.mark.usefixtures("here")
def test_out_of_time_is_a_cell() -> None:
    """Tests that in a matrix a run that did not end is one word, also where it is carried over."""
    args = ["matrix", "small.json", "--problem", "lsap", "--problem", "latency", "--heuristic", "own:waits"]
    result = run(*args, "--time-limit", "0.2")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2].split() == ["own:waits", "out-of-time", "out-of-time"]
    assert "2 runs of heuristics were out of time after 0.2 s" in result.stderr


# Faults while writing ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "form", [pytest.param("table", marks=pytest.mark.thorough), pytest.param("json", marks=pytest.mark.thorough), "csv"]
)
def test_full_device(form: str) -> None:
    """Tests that a device that takes nothing is bad input, exit code 3, also as stdout."""
    args = ["papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl", "--format", form]
    result = run("gap", *args, "--output", "/dev/full")
    assert result.exit_code == 3
    assert "/dev/full: cannot be written: No space left on device" in result.stderr
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, "gap", *args], stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert done.returncode == 3
    assert "stdout: cannot be written: No space left on device" in done.stderr


def test_output_that_cannot_be_written_is_told_before_the_work(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Tests that nothing is solved where the result could not be written."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("solved")

    monkeypatch.setattr("optsched.routes.solve", never)
    monkeypatch.setattr("optsched.measuring.gaps.solve", never)
    missing = str(folder / "no" / "such" / "out.json")
    for command in (["gap"], ["matrix"], ["solve", "--problem", "lsap"]):
        result = run(*command, str(folder / "small.json"), "--output", missing)
        assert result.exit_code == 3
        assert "cannot be written: there is no folder " in result.stderr


def test_interrupted_solve_leaves_the_older_solution(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C within a solver leaves an older solution file, with what is held beside it, marked."""

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.routes.assignment.solve_assignment", press)
    target = folder / "solution.json"
    target.write_text("older")
    result = run("solve", str(folder / "small.json"), "--problem", "lsap", "--output", str(target))
    assert result.exit_code == 130
    assert target.read_text() == "older"
    held = json.loads((folder / "solution.json.partial").read_text())
    assert (held["termination"], held["limit"]) == ("FEASIBLE", "INTERRUPTED")
    assert "solution.json.partial" in result.stderr
    assert "INTERRUPTED" in result.stdout
