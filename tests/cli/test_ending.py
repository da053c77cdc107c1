"""Tests of `optsched.cli.ending`: SIGTERM and SIGHUP end a command with one line, and leave no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from optsched.cli.ending import ended_like_interrupts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")


def test_ctrl_c_decides_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that whoever takes Ctrl-C just now takes these as well, and that they break off where it is ignored."""
    taken: list[int] = []
    former = signal.signal(signal.SIGINT, lambda number, frame: taken.append(number))
    try:
        with ended_like_interrupts() as ended:
            signal.raise_signal(signal.SIGTERM)
            assert (taken, ended.by) == ([signal.SIGINT], signal.SIGTERM)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGHUP)
            assert ended.by is signal.SIGHUP
    finally:
        signal.signal(signal.SIGINT, former)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_what_is_ignored_stays_so() -> None:
    """Tests that SIGHUP is left alone under `nohup`."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_like_interrupts() as ended:
            signal.raise_signal(signal.SIGHUP)
        assert ended.by is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("command", ["sweep", "gap"])
def test_bug_a_sweep_ended_without_a_word(command: str, name: str, tmp_path: Path) -> None:
    """Tests that each of the signals ends a sweep, and a table, with a line that names it, and leaves no process."""
    (tmp_path / "stuck.py").write_text(
        "import pathlib, time\ndef sleeps(problem, rng):\n    pathlib.Path('began').touch()\n    time.sleep(600)\n"
    )
    asked = ["papers/guo-fig2", "--problem", "lsap", "--heuristic", "stuck:sleeps", "--run-limit", "300"]
    asked += ["--store", "there.sqlite"] if command == "sweep" else []
    path = os.pathsep.join([str(Path(__file__).parents[2]), str(tmp_path)])
    process = subprocess.Popen(
        [sys.executable, "-m", "optsched", command, *asked],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "began").exists():
        assert process.poll() is None
        time.sleep(0.02)
    number = signal.Signals[name]
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == (130 if name == "SIGINT" else 128 + number)
    assert said.splitlines()[-1] == ("optsched: interrupted" if name == "SIGINT" else f"optsched: ended by {name}")
    assert "Traceback" not in said
    psutil.wait_procs(started, timeout=10)
    assert not [child for child in started if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
