"""Tests of `core.processes.supervisor`: what is told of a worker that ended, and workers that are not forked."""

import os
import signal
import sys
import threading
import time
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import hostile_jobs
import psutil
import pytest

from optsched.core.processes import Limits, LocalExecutor, Status, executors, run, supervisor
from optsched.core.processes.handing import hand_over, handing, pack
from optsched.core.processes.supervisor import connection_of, start


def test_kernel_took_the_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a worker which the kernel killed for want of memory is out of memory, and any other one crashed."""
    monkeypatch.setattr(supervisor, "killed_for_memory", lambda: 5)
    assert supervisor._crashed(-9, 4).status is Status.OUT_OF_MEMORY
    for code, before in [(-9, 5), (-15, 4), (9, 4), (None, 4)]:
        assert supervisor._crashed(code, before).status is Status.CRASHED
    assert supervisor._crashed(-64, 0).message == "ended by SIGRTMAX"
    assert supervisor._crashed(-60, 0).message == "ended by signal 60"


@pytest.mark.thorough
def test_workers_that_are_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that all is contained as well where workers are started afresh, as on macOS and Windows."""
    monkeypatch.setattr(executors, "FORKS", False)
    with LocalExecutor(1, Limits(5, 250)) as executor:
        jobs = [(str(number), number) for number in range(3)]
        assert [outcome.value for _, outcome in executor.map(hostile_jobs.double, jobs)] == [0, 2, 4]
        for function, status in [
            (time.sleep, "timed-out"),
            (os._exit, "crashed"),
            (signal.raise_signal, "crashed"),
            (hostile_jobs.take_memory, "out-of-memory"),
            (hostile_jobs.refuse, "failed"),
        ]:
            [(_, outcome)] = executor.map(function, [("one", 9)])
            assert outcome.status == status
            assert dict(executor.map(hostile_jobs.double, [("one", 9)]))["one"].value == 18


def test_supervisor_that_was_killed_between_jobs() -> None:
    """Tests that a job is not lost where the process that should watch over it was killed before it was asked."""
    with LocalExecutor() as executor:
        assert dict(executor.map(hostile_jobs.double, [("one", 1)]))["one"].value == 2
        process = executor._idle[0].process
        process.send_signal(signal.SIGKILL)
        while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert dict(executor.map(hostile_jobs.double, [("one", 1)]))["one"].value == 2


def test_worker_that_ended_between_jobs() -> None:
    """Tests that a job is not lost where the worker was killed while it waited."""
    with LocalExecutor() as executor:
        pid = dict(executor.map(hostile_jobs.pid, [("one", 1)]))["one"].value
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)
        assert dict(executor.map(hostile_jobs.double, [("one", 1)]))["one"].value == 2


def test_memory_that_a_process_has_before_it_begins() -> None:
    """Tests that a limit below what Python takes is reported as such: what was taken of what."""
    outcome = run(hostile_jobs.double, 1, Limits(memory_mb=3))
    assert outcome.status is Status.OUT_OF_MEMORY
    assert outcome.message.endswith("MiB of the 3 that it may take")


linux = pytest.mark.skipif(sys.platform != "linux", reason="of Linux's kernel")


@linux
def test_kernel_says_whom_it_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the count is read, and that it is 0 where the kernel does not tell."""
    assert supervisor.killed_for_memory() >= 0
    monkeypatch.setattr(Path, "read_text", lambda self: "nr_free_pages 7\noom_kill 3\n")
    assert supervisor.killed_for_memory() == 3

    def refuse(self: Any) -> str:
        raise PermissionError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert supervisor.killed_for_memory() == 0


@linux
def test_peak_begins_again() -> None:
    """Tests that the peak forgets what was taken and given back before it began."""
    held = bytearray(b"1" * (64 << 20))
    before = supervisor.peak_mb()
    del held
    supervisor.begin_peak()
    after = supervisor.peak_mb()
    assert after < before - 50


@linux
def test_shared_memory_counts_once() -> None:
    """Tests that what forks share is counted once where the sum would be over a limit, and an ended one as 0."""
    held = bytearray(b"1" * (64 << 20))
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(reading, 1)
        os._exit(0)
    processes = [psutil.Process(), psutil.Process(pid)]
    alone = supervisor.used_by_all(processes[:1], 0)
    assert supervisor.used_by_all(processes, 10**6) > alone + len(held) / 2**20  # the plain sum
    assert supervisor.used_by_all(processes, 0) < alone + 40
    os.write(writing, b"1")
    os.waitpid(pid, 0)
    assert supervisor.used_by_all(processes[1:], 0) == 0
    assert supervisor.descendants(pid) == []
    os.close(reading)
    os.close(writing)


def main(handle: int) -> None:
    """What the other process does: tells its path, its session and its standard input."""
    connection_of(handle).send((sys.path, os.getsid(0) == os.getpid(), sys.stdin.read()))


def test_other_process_finds_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that the other Python has the same path, a session of its own, and no input; a folder hides no module."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong module')")
    (tmp_path / "told_by_another.py").write_text(Path(__file__).read_text())
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    process, connection = start("told_by_another", "main")
    assert connection.recv() == (sys.path, True, "")
    assert process.wait(20) == 0
    with pytest.raises(EOFError):
        connection.recv()


def test_python_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that nothing stays open where there is no process."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(OSError, match="nowhere"):
        start("told_by_another", "main")


def answer(function: object, job: object) -> supervisor.Answer:
    """What is answered to a job."""
    return supervisor._perform(supervisor.Surroundings.here(), pack((function, job)))


def test_answers() -> None:
    """Tests what is said of exceptions whatever they are, and of refused memory."""
    assert answer(hostile_jobs.raise_it, SystemExit(2)).message.startswith("raised SystemExit: 2 (")
    assert not answer(hostile_jobs.raise_it, KeyboardInterrupt()).reusable
    assert answer(hostile_jobs.wrap_memory_error, 0).status is Status.OUT_OF_MEMORY
    assert answer(int, "x").message == "raised ValueError: invalid literal for int() with base 10: 'x'"


def test_surroundings_are_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that folder, path and environment become those of who asked."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    here = supervisor.Surroundings.here()
    monkeypatch.setenv("OPTSCHED_TEST_WORD", "set")
    sys.path.append("/nowhere")
    here.enter()
    assert "OPTSCHED_TEST_WORD" not in os.environ
    assert "/nowhere" not in sys.path


def test_worker_ends_with_its_connection() -> None:
    """Tests that a worker says that it is there, ends when nobody can ask any more, and sends nothing from then on."""
    ours, theirs = Pipe()
    serving = threading.Thread(target=lambda: supervisor.serve(theirs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supervisor.signal, "signal", lambda *given: None)
        patch.setattr(supervisor, "adopt_orphans", lambda: None)
        serving.start()
        assert ours.recv_bytes() == bytes(8)
        ours.close()
        serving.join(10)
    assert not serving.is_alive()
    with handing():
        hand_over(lambda: "to nobody")  # to a connection that is closed, before
