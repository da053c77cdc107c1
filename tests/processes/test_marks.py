"""Tests of `optsched.processes.marks`: processes with a mark, and their end."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path

import psutil
import pytest

from optsched.processes import marks
from optsched.processes.marks import MARK, connection_of, kill, start


def main(handle: int) -> None:
    """What the other process does: tells its path, its session, its mark and its standard input."""
    connection_of(handle).send((sys.path, os.getsid(0) == os.getpid(), os.environ[MARK], sys.stdin.read()))


def test_other_process_finds_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that the other Python has the same path, a session and a mark, and no input; a folder hides no module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(MARK, "outer")
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong module')")
    (tmp_path / "told_by_another.py").write_text(Path(__file__).read_text())
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    ours, theirs = Pipe()
    process = start("told_by_another", [theirs.fileno()], "inner", theirs.fileno(), stdin=subprocess.DEVNULL)
    theirs.close()
    assert ours.recv() == (sys.path, True, "outer inner", "")
    assert process.wait(20) == 0
    with pytest.raises(EOFError):
        ours.recv()


def test_what_is_marked_is_killed() -> None:
    """Tests that a process with the mark is killed, an unmarked child of the root too, and no other one."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    parent = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:], env={}); time.sleep(600)"
    other = subprocess.Popen(sleep)
    root = subprocess.Popen([sys.executable, "-c", parent, *sleep], env=os.environ | {MARK: "a b-1"})
    while not (children := psutil.Process(root.pid).children()):
        continue
    kill("b-1", root.pid)
    assert root.wait(20) == -9
    assert psutil.wait_procs(children, 20)[1] == []
    assert other.poll() is None
    other.kill()
    other.wait()
    kill("b-1", root.pid)  # which is there no more
    assert marks.descendants(root.pid) == []


def test_fork_has_a_mark_of_its_own() -> None:
    """Tests that a fork does not take over the warden of its parent."""
    mine = marks.own_mark()
    assert marks.own_mark() == mine
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.write(writing, marks.own_mark().encode())
        finally:
            os._exit(0)
    os.wait()
    theirs = os.read(reading, 100).decode()
    assert len(theirs) == len(mine)
    assert theirs != mine
    os.close(reading)
    os.close(writing)
