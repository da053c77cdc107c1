"""Tests of `optsched.processes.kernel`: memory in use, orphans, who was killed for want of memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from optsched.processes import kernel
from optsched.processes.kernel import connection_of, start

linux = pytest.mark.skipif(sys.platform != "linux", reason="of Linux's kernel")


@linux
def test_kernel_says_whom_it_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the count is read, and that there is none where the kernel does not tell."""
    assert isinstance(kernel.killed_for_memory(), int)
    monkeypatch.setattr(Path, "read_text", lambda self: "nr_free_pages 7\noom_kill 3\n")
    assert kernel.killed_for_memory() == 3

    def refuse(self: Any) -> str:
        raise PermissionError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert kernel.killed_for_memory() is None


@linux
def test_peak_begins_again() -> None:
    """Tests that the peak forgets what was taken and given back before it began."""
    held = bytearray(b"1" * (64 << 20))
    before = kernel.peak_mb()
    del held
    kernel.begin_peak()
    after = kernel.peak_mb()
    assert before is not None
    assert after is not None
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
    alone = kernel.used_by_all(processes[:1], 0)
    assert kernel.used_by_all(processes, 10**6) > alone + len(held) / 2**20  # the plain sum
    assert kernel.used_by_all(processes, 0) < alone + 40
    os.write(writing, b"1")
    os.waitpid(pid, 0)
    assert kernel.used_by_all(processes[1:], 0) == 0
    assert kernel.descendants(pid) == []
    os.close(reading)
    os.close(writing)


def test_reap_without_children() -> None:
    """Tests that there need not be any child to let go of, and no group to kill."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    kernel.reap()
    kernel.kill_group(ended.pid)
    kernel.kill_all([])


def main(handle: int) -> None:
    """What the other process does: tells its path, its session and its standard input."""
    connection_of(handle).send((sys.path, os.getsid(0) == os.getpid(), sys.stdin.read()))


def test_other_process_finds_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that the other Python has the same path, a session of its own, and no input; a folder hides no module."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong module')")
    (tmp_path / "told_by_another.py").write_text(Path(__file__).read_text())
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    process, connection = start("told_by_another")
    assert connection.recv() == (sys.path, True, "")
    assert process.wait(20) == 0
    with pytest.raises(EOFError):
        connection.recv()


def test_python_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that nothing stays open where there is no process."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(OSError, match="nowhere"):
        start("told_by_another")
