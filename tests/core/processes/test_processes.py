"""Tests of `optsched.core.processes` as a whole: its names, and what asking for limits loads."""

import subprocess
import sys

import pytest

import optsched.core.processes


def test_names() -> None:
    """Tests that each public name is there, and no other."""
    assert all(hasattr(optsched.core.processes, name) for name in optsched.core.processes.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Pool'"):
        _ = optsched.core.processes.Pool  # type: ignore[attr-defined]


def test_asking_for_limits_starts_nothing() -> None:
    """Tests that who only looks whether limits are in force loads nothing that starts processes."""
    code = "import sys, optsched.core.processes.containing; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"psutil", "cloudpickle", "optsched.core.processes.executors"} & set(done.stdout.split())
