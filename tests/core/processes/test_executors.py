"""Tests of `optsched.core.processes.executors`: whatever a job does, there is an outcome, and nothing of it is left."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from pickle import dumps
from typing import Any

import hostile_jobs
import psutil
import pytest

from optsched.core.errors import OptschedError, UsageError
from optsched.core.processes import Limits, LocalExecutor, Status, run

thorough = pytest.mark.thorough

SHORT = Limits(seconds=0.3)
SMALL = Limits(seconds=60, memory_mb=200)


def gone(pid: int) -> bool:
    """Whether a process ends within ten seconds; it may be a zombie of somebody else."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def test_value_comes_back() -> None:
    """Tests a job that does what it should, how much memory it took, and a function that has no name."""
    outcome = run(hostile_jobs.double, 21)
    assert (outcome.status, outcome.value, outcome.message, outcome.traceback) == (Status.DONE, 42, "", "")
    assert outcome.seconds > 0
    assert 50 < run(hostile_jobs.peak_and_forget, 50, SMALL).peak_mb < 200
    assert run(lambda number: number + 1, 1).value == 2


@pytest.mark.parametrize(
    ("function", "job", "limits", "status", "message"),
    [
        (hostile_jobs.ignore_signals, None, SHORT, "timed-out", "killed after 0.3 s"),
        pytest.param(lambda _: sum(iter(int, 1)), None, SHORT, "timed-out", "killed after 0.3 s", marks=thorough),
        (hostile_jobs.take_memory, 16, SMALL, "out-of-memory", r"took \d+ MiB of the 200 that it may take"),
        pytest.param(hostile_jobs.child_takes_memory, None, SMALL, "out-of-memory", r"took \d+ MiB", marks=thorough),
        (hostile_jobs.peak_and_forget, 300, SMALL, "out-of-memory", r"took \d+ MiB of the 200"),
        (bytearray, 1 << 50, None, "out-of-memory", "memory was refused: MemoryError"),
        (
            hostile_jobs.raise_it,
            RuntimeError("std::bad_alloc"),
            None,
            "out-of-memory",
            "memory was refused: RuntimeError: std::bad_",
        ),
        (os._exit, 0, None, "crashed", "ended with exit code 0 before it answered"),
        (ctypes.string_at, 0, None, "crashed", "ended by SIGSEGV"),
        (hostile_jobs.close_everything, None, None, "crashed", "closed the pipe by which it answers"),
        (hostile_jobs.kill_parent, None, None, "crashed", "the process that watched over it was killed"),
        (hostile_jobs.refuse, None, None, "failed", "raised .*Refuses"),
        (hostile_jobs.raise_it, KeyboardInterrupt(), None, "failed", "raised KeyboardInterrupt"),
        (lambda _: threading.Lock(), None, None, "failed", "its value cannot be sent to another process: T"),
        (hostile_jobs.answer_unreadable, None, None, "failed", "its value cannot be read: ValueError"),
        (hostile_jobs.print_much, 3, None, "done", ""),
    ],
)
def test_hostile_jobs(
    function: Callable[[Any], Any],
    job: Any,
    limits: Limits | None,
    status: str,
    message: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Tests that each way to hang, to eat memory, to crash or to answer nonsense has its status and its reason."""
    outcome = run(function, job, limits)
    assert outcome.status == status
    assert outcome.value == ("printed" if status == "done" else None)
    assert re.match(message, outcome.message), outcome.message
    assert "\n" not in outcome.message
    assert capfd.readouterr().out == ""  # what jobs print is not mixed with data


def test_traceback_of_what_was_raised() -> None:
    """Tests that the job's own line is in the traceback."""
    outcome = run(hostile_jobs.raise_it, ValueError("no"))
    assert outcome.message.startswith("raised ValueError: no (")
    assert "raise error\nValueError: no" in outcome.traceback


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are found on Linux alone")
@pytest.mark.parametrize(
    ("function", "status"),
    [
        (hostile_jobs.start_children, "done"),
        pytest.param(hostile_jobs.start_children_and_leave, "crashed", marks=thorough),
        pytest.param(hostile_jobs.start_children_and_sleep, "timed-out", marks=thorough),
    ],
)
def test_nothing_outlives_a_job(function: Callable[[str], Any], status: str, tmp_path: Path) -> None:
    """Tests that processes which a job started are killed with it, those of another session and orphans too."""
    note = tmp_path / "pids"
    outcome = run(function, str(note), Limits(seconds=60 if status != "timed-out" else 6))
    assert outcome.status == status
    pids = [int(word) for word in note.read_text().split()]
    assert len(pids) == 3
    assert all(map(gone, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux's kernel")
def test_limits_of_the_kernel() -> None:
    """Tests that no job leaves a core file, and that each is limited by its own limit on memory, or none."""
    with LocalExecutor() as executor:
        found = []
        for limits in (None, SMALL, Limits(60)):
            found += [outcome.value for _, outcome in executor.map(hostile_jobs.kernel_limits, [("x", 0)], limits)]
    (core, free), (_, held), (_, freed) = found
    assert core == 0
    assert free == freed == -1
    assert 200 * 2**20 < held < 100 * 2**30


def test_each_run_has_a_process_of_its_own() -> None:
    """Tests that `run` never uses a process twice, and an executor does where nothing was left behind."""
    assert run(hostile_jobs.pid, None).value != run(hostile_jobs.pid, None).value
    with LocalExecutor() as executor:
        jobs = [(str(number), None) for number in range(3)]
        first = {outcome.value for _, outcome in executor.map(hostile_jobs.pid, jobs)}
        assert len(first) == 1
        left = [outcome.value for _, outcome in executor.map(hostile_jobs.leave_thread, jobs)]
        assert len({*left, *first}) == 3  # the first one in the same process as before


def test_surroundings_are_those_of_who_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a job finds the folder, the modules and the environment of now, not those of an earlier run."""
    assert run(hostile_jobs.surroundings, None).value == (sys.path[0], os.getcwd(), None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OPTSCHED_TEST_WORD", "set")
    assert run(hostile_jobs.surroundings, None).value == (str(tmp_path), str(tmp_path), "set")
    monkeypatch.delenv("OPTSCHED_TEST_WORD")
    assert run(hostile_jobs.surroundings, None).value[2] is None


def test_unseeded_numbers_differ() -> None:
    """Tests that processes forked from one do not draw the same numbers where nobody gave a seed."""
    drawn = [run(hostile_jobs.unseeded, None, preload=("numpy",)).value for _ in range(2)]
    assert drawn[0][0] != drawn[1][0]
    assert drawn[0][1] != drawn[1][1]


def test_executor_runs_all_jobs() -> None:
    """Tests that good jobs between bad ones are done, each under its key, on several processes."""
    jobs = [(f"{number}", number) for number in range(40)]
    with LocalExecutor(2, Limits(60)) as executor:
        outcomes = dict(executor.map(_sometimes, jobs))
        again = dict(executor.map(hostile_jobs.double, jobs))
    assert {key: outcome.value for key, outcome in again.items()} == {key: 2 * job for key, job in jobs}
    assert sorted(outcomes, key=int) == [key for key, _ in jobs]
    for key, job in jobs:
        assert outcomes[key].status == ("crashed" if job % 10 == 3 else "done")
        assert outcomes[key].value == (None if job % 10 == 3 else 2 * job)


def _sometimes(number: int) -> int:
    if number % 10 == 3:
        os._exit(number)
    return 2 * number


def test_jobs_are_drawn_when_they_can_begin() -> None:
    """Tests that an endless source of jobs is drawn no further than there are workers, and may be left."""
    drawn = []

    def jobs() -> Iterator[tuple[str, int]]:
        number = 0
        while True:
            drawn.append(number)
            yield str(number), number
            number += 1

    with LocalExecutor(2) as executor:
        found = executor.map(hostile_jobs.double, jobs())
        assert {next(found)[1].value, next(found)[1].value} <= {0, 2, 4}
        assert len(drawn) <= 4
        found.close()
        assert dict(executor.map(hostile_jobs.double, [("x", 4)]))["x"].value == 8


def test_job_that_cannot_be_sent() -> None:
    """Tests that among many jobs one that cannot be pickled fails alone, and that a single one is wrong usage."""
    with LocalExecutor() as executor:
        jobs: list[tuple[str, Any]] = [("lock", threading.Lock()), ("two", 2)]
        outcomes = dict(executor.map(hostile_jobs.double, jobs))
    assert outcomes["two"].value == 4
    assert outcomes["lock"].status is Status.FAILED
    assert outcomes["lock"].message.startswith("cannot be sent to another process: TypeError")
    with pytest.raises(UsageError, match="cannot be sent"):
        run(hostile_jobs.double, threading.Lock())
    with LocalExecutor() as executor, pytest.raises(UsageError, match="cannot be sent"):
        next(executor.map(threading.Lock().acquire, [("one", 1)]))


@pytest.mark.parametrize("workers", [0, True, 1.5, "2"])
def test_number_of_workers(workers: Any) -> None:
    """Tests that what is no number of workers is refused."""
    with pytest.raises(UsageError, match="workers="):
        LocalExecutor(workers)


def test_process_that_cannot_begin(capfd: pytest.CaptureFixture[str]) -> None:
    """Tests that a module which cannot be loaded ends the run with what it said."""
    with pytest.raises(OptschedError, match="could not be started"):
        run(hostile_jobs.double, 1, preload=("no_such_module",))
    assert "No module named 'no_such_module'" in capfd.readouterr().err


def test_process_that_does_not_begin_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that nobody waits for a process that takes longer to begin than there is, with a large job neither."""
    (tmp_path / "loads_for_ever.py").write_text("import time\nwhile True: time.sleep(60)\n")
    monkeypatch.syspath_prepend(tmp_path)
    for job in (b"", bytes(2**23)):
        outcome = run(len, job, preload=["loads_for_ever"], within=0.1)
        assert (outcome.status, outcome.message) == (Status.TIMED_OUT, "no process could be started in time")


def test_job_that_comes_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no worker is started for a job that took all its time to be sent, and that the next one has one."""
    with LocalExecutor() as executor:
        assert executor.run(len, b"12").value == 2
        monkeypatch.setattr(
            "optsched.core.processes.executors.pickle.dumps", lambda given: time.sleep(0.2) or dumps(given)
        )
        late = executor.run(len, b"12", within=0.1)
        assert (late.status, late.message) == (Status.TIMED_OUT, "no time was left for it")
        monkeypatch.undo()
        assert executor.run(len, b"12").value == 2


SCRIPT = """
import os, sys, time
from optsched.core.processes import Limits, LocalExecutor
import hostile_jobs

def jobs():
    for number in range(4):
        yield str(number), sys.argv[1] + str(number)

if __name__ == "__main__":
    with LocalExecutor(2) as executor:
        for _ in executor.map(hostile_jobs.start_children_and_sleep, jobs()):
            pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are found on Linux alone")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL, pytest.param(signal.SIGTERM, marks=thorough)])
def test_nothing_outlives_who_asked(number: int, tmp_path: Path) -> None:
    """Tests that jobs and all they started end with the process that asked: on Ctrl-C, and when it is killed."""
    (tmp_path / "script.py").write_text(SCRIPT)
    path = os.pathsep.join([*map(str, [Path(__file__).parents[1], Path(__file__).parents[2]])])
    command = [sys.executable, "script.py", str(tmp_path / "note")]
    asked = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE)
    notes = [tmp_path / "note0", tmp_path / "note1"]
    while not all(note.exists() and note.read_text() for note in notes):
        assert asked.poll() is None
        time.sleep(0.02)
    involved = [process.pid for process in psutil.Process(asked.pid).children(recursive=True)]
    involved += [int(word) for note in notes for word in note.read_text().split()]
    assert len(involved) >= 8
    asked.send_signal(number)
    said = asked.communicate(timeout=20)[1]
    assert asked.returncode == (-number if number != signal.SIGINT else -signal.SIGINT)
    assert (b"KeyboardInterrupt" in said) == (number == signal.SIGINT)
    assert all(map(gone, involved))
