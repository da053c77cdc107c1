"""The command line in this process and in one of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import psutil
from click.testing import CliRunner, Result

from optsched.cli import cli

ROOT = Path(__file__).resolve().parent.parent

#: Of a process that finds the package of this checkout, and what tests share.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}

#: What starts the package as a program.
PROGRAM = (sys.executable, "-m", "optsched")


def run(*args: str) -> Result:
    """What the command line does with the arguments."""
    return CliRunner().invoke(cli, args)


def stdout(*args: str, code: int = 0) -> str:
    """What a command prints, which must end with this exit code."""
    result = run(*args)
    assert result.exit_code == code, result.stderr
    return result.stdout


def stderr(*args: str, code: int = 0) -> str:
    """What a command that must end with this exit code says on stderr."""
    result = run(*args)
    assert result.exit_code == code, result.stderr
    return result.stderr


def answer(*args: str, code: int = 0) -> Any:
    """The JSON that a command prints, which must end with this exit code."""
    return json.loads(stdout(*args, "--format", "json", code=code))


def commands(command: click.Command = cli, path: str = "optsched") -> Iterator[tuple[str, click.Command]]:
    """A command and those below it, by what is typed."""
    yield path, command
    for name, below in within(command).items():
        yield from commands(below, f"{path} {name}")


def within(command: click.Command) -> dict[str, click.Command]:
    """The commands of a group, by their names; none of a command that is no group."""
    if not isinstance(command, click.Group):
        return {}
    context = click.Context(command)
    return {name: command.get_command(context, name) for name in command.list_commands(context)}


def small(path: Path, **changes: Any) -> str:
    """The file of a small instance: three nodes with one slot, three tasks, with changes."""
    document = {
        "format": "optsched/1",
        "name": path.stem,
        "nodes": [{"id": name} for name in "abc"],
        "tasks": [{"id": f"t{i}", "replicas": ["a", "b"][: i + 1]} for i in range(3)],
    }
    path.write_text(json.dumps({**document, **changes}))
    return str(path)


def solved(folder: Path, problem: str = "latency") -> Path:
    """A solution file of a small instance that every problem takes."""
    target = folder / f"{problem}.json"
    assert run("solve", "examples/running-tasks", "--problem", problem, "--output", str(target)).exit_code == 0
    return target


def in_process(*args: str, code: str = "from optsched.cli import main; main()") -> subprocess.CompletedProcess[str]:
    """What a process of its own does with the arguments."""
    command = [sys.executable, "-c", code, *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=ENVIRONMENT)


def interrupted(folder: Path, *args: str, by: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that gets a signal once `begun` is in its folder: a heuristic runs.

    All processes that it has started must have ended then.
    """
    usual = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST_"))}
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests", folder)))
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*PROGRAM, *args], cwd=folder, env=usual | {"PYTHONPATH": path}, **streams)
    while not (folder / "begun").exists() and process.poll() is None:
        time.sleep(0.01)
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(by)
    out, said = process.communicate(timeout=60)
    psutil.wait_procs(started, timeout=10)
    assert not [child for child in started if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
    assert "Traceback" not in said
    return process.returncode, out, said
