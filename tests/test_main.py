"""The package run as a program: `python -m optsched`."""

import subprocess

from command_line import ENVIRONMENT, PROGRAM

import optsched


def test_module_and_version() -> None:
    """Tests that `python -m optsched --version` prints the version."""
    done = subprocess.run([*PROGRAM, "--version"], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert done.stdout == f"{optsched.__version__}\n"
