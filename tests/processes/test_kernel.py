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
