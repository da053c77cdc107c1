"""Tests of `optsched.processes.supervisor`: what is told of a worker that ended, and workers that are not forked."""

from __future__ import annotations

import os
import signal
import time

import hostile_jobs
import psutil
import pytest

from optsched.processes import Limits, LocalExecutor, Status, kernel, local, run, supervisor


def test_kernel_took_the_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a worker which the kernel killed for want of memory is out of memory, and any other one crashed."""
    monkeypatch.setattr(kernel, "killed_for_memory", lambda: 5)
    assert supervisor._crashed(-9, 4).status is Status.OUT_OF_MEMORY
    for code, before in [(-9, 5), (-9, None), (-15, 4), (9, 4), (None, 4)]:
        assert supervisor._crashed(code, before).status is Status.CRASHED
    assert supervisor._crashed(-64, 0).message == "ended by SIGRTMAX"
    assert supervisor._crashed(-60, 0).message == "ended by signal 60"


@pytest.mark.thorough
def test_workers_that_are_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that all is contained as well where workers are started afresh, as on macOS and Windows."""
    monkeypatch.setattr(local, "FORKS", False)
    with LocalExecutor(1, Limits(5, 250)) as executor:
        jobs = [(str(number), number) for number in range(3)]
        assert [outcome.value for _, outcome in executor.map(hostile_jobs.double, jobs)] == [0, 2, 4]
        for function, status in [
            (hostile_jobs.sleep, "timed-out"),
            (hostile_jobs.leave, "crashed"),
            (hostile_jobs.kill_self, "crashed"),
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
        process = executor._idle[0]._process
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
    """Tests that a limit below what Python takes is told as such: what was taken of what."""
    outcome = run(hostile_jobs.double, 1, Limits(memory_mb=3))
    assert outcome.status is Status.OUT_OF_MEMORY
    assert outcome.message.endswith("MiB of the 3 that it may take")
