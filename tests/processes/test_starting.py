"""Tests of `optsched.processes.starting`: another Python with a connection."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from optsched.processes.starting import connection_of, start


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
