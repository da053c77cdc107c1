"""What every command that writes leaves of an older file where it cannot go on: the file, whole.

The disk is full (a limit on the size of files), the folder cannot be written to, or Ctrl-C comes while the file is
written; that Ctrl-C during the work leaves it too is tested with the commands.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from command_line import run

ROOT = Path(__file__).resolve().parent
TRACE = str(next((ROOT / "data" / "rumen").glob("*.json*")))
FIGURE = "papers/guo-fig2"
RUN = [FIGURE, "--problem", "lsap", "--heuristic", "dl"]
POSED = [FIGURE, "--problem", "lsap"]

#: For each way to write: the file, and what writes it there, OUT.
COMMANDS: dict[str, tuple[str, list[str]]] = {
    "gap, JSON": ("out.json", ["gap", *RUN, "--output", "OUT"]),
    "gap, CSV": ("out.csv", ["gap", *RUN, "--output", "OUT"]),
    "gap, table": ("out.txt", ["gap", *RUN, "--output", "OUT"]),
    "gap, picture": ("out.svg", ["gap", *RUN, "--plot", "OUT"]),
    "matrix": ("out.json", ["matrix", *RUN, "--output", "OUT"]),
    "matrix, picture": ("out.svg", ["matrix", *RUN, "--plot", "OUT"]),
    "explain": ("out.json", ["explain", *RUN, "--format", "json", "--output", "OUT"]),
    "explain, picture": ("out.svg", ["explain", *RUN, "--to", "OUT"]),
    "show": ("out.svg", ["show", *POSED, "--to", "OUT"]),
    "solve": ("out.json", ["solve", *POSED, "--output", "OUT"]),
    "frontier": ("out.svg", ["frontier", FIGURE, "--problem", "latency", "--plot", "OUT"]),
    "export, LP": ("out.lp", ["export", *POSED, "--to", "OUT"]),
    "export, network": ("out.dimacs", ["export", *POSED, "--to", "OUT"]),
    "generate": ("out.json", ["generate", "lsap", "--output", "OUT"]),
    "generate, packed": ("out.npz", ["generate", "lsap", "--output", "OUT"]),
    "import": ("out.json", ["import", "rumen", TRACE, "--slots", "2", "--output", "OUT"]),
    "report": ("out.html", ["report", "records.json", "--to", "OUT"]),
    "check, JUnit": ("out.xml", ["check", "checks.toml", "--junit", "OUT"]),
    "check, Markdown": ("out.md", ["check", "checks.toml", "--markdown", "OUT"]),
    "check, baseline": ("gaps.json", ["check", "checks.toml", "--update"]),
}

CHECKS = f"""
[[check]]
name = "small"
instances = "{FIGURE}"
problem = "lsap"
heuristic = "lsap-sched"
baseline = "gaps.json"
"""

#: These are tried at once, the others with the thorough tests.
QUICK = {"gap, JSON", "generate"}
EACH = pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in COMMANDS]
)


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow beyond a few bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with what the commands read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "checks.toml").write_text(CHECKS)
    assert run("check", "checks.toml", "--update").exit_code == 0
    assert run("gap", *RUN, "--output", "records.json").exit_code == 0
    return tmp_path


def written(name: str, folder: Path) -> tuple[list[str], Path, bytes]:
    """The command with its file, and what the file holds after it has been run once."""
    file, words = COMMANDS[name]
    target = folder / file
    command = [str(target) if word == "OUT" else word for word in words]
    done = run(*command)
    assert done.exit_code == 0, done.stderr
    return command, target, target.read_bytes()


def drafts(folder: Path) -> set[str]:
    """What lies in the folder that no command was asked to leave there, but for what says that it is a part."""
    known = {"checks.toml", "gaps.json", "records.json", *(file for file, _ in COMMANDS.values())}
    return {path.name for path in folder.iterdir()} - known - {f"{name}.partial" for name in known}


@EACH
def test_full_disk(name: str, folder: Path) -> None:
    """Tests that the older file stays where the new one finds no room, and that one line says so."""
    command, target, older = written(name, folder)
    with full_disk():
        failed = run(*command)
    assert failed.exit_code == 3, failed.output
    why = "disk I/O error" if "--update" in command else "cannot be written: File too large"  # SQLite's, of its lock
    lines = [line for line in failed.stderr.splitlines() if "cannot be written" in line and why in line]
    assert len(lines) == 1, failed.stderr
    assert target.name in lines[0]
    assert target.read_bytes() == older
    assert drafts(folder) == set()


@EACH
def test_ctrl_c_while_it_is_written(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the older file stays where Ctrl-C comes after the first half of the new one."""
    command, target, older = written(name, folder)
    write = os.write

    def half(file: int, data: Any) -> NoReturn:
        write(file, bytes(data)[: len(data) // 2])
        raise KeyboardInterrupt

    def half_of(path: Path, data: bytes) -> NoReturn:
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "write", half)
    monkeypatch.setattr(Path, "write_bytes", half_of)
    broken_off = run(*command)
    monkeypatch.undo()
    assert broken_off.exit_code == 130, broken_off.output
    assert target.read_bytes() == older
    assert drafts(folder) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="where nobody may write differs")
@EACH
def test_folder_that_cannot_be_written_to(name: str, folder: Path) -> None:
    """Tests that a folder where nobody may make a file is reported in one line."""
    file, words = COMMANDS[name]
    if "OUT" not in words:
        return
    target = f"/sys/{file}"  # not even root may
    failed = run(*(target if word == "OUT" else word for word in words))
    assert failed.exit_code == 3, failed.output
    assert [line for line in failed.stderr.splitlines() if "error" in line] == [
        f"optsched: error: {target}: cannot be written: Permission denied"
    ]


MINE = ["mine", "--problem", "lsap", "--heuristic", "rand", "--budget", "200", "--to", "many"]
SPLIT = ["import", "rumen", TRACE, "--slots", "2", "--split-jobs", "many"]


@pytest.mark.thorough
@pytest.mark.parametrize("command", [MINE, SPLIT], ids=["mine", "import"])
def test_many_files_are_whole_or_not_there(folder: Path, command: list[str]) -> None:
    """Tests that a full disk leaves no half of a file in a folder of many."""
    with full_disk():
        failed = run(*command)
    assert failed.exit_code == 3, failed.output
    assert "cannot be written: File too large" in failed.stderr
    assert not list(folder.glob("many/*"))


def test_solve_that_was_killed(folder: Path) -> None:
    """Tests that a solve that was killed and holds nothing leaves the older solution, and says so in one line."""
    _, target, older = written("solve", folder)
    network = ["examples/negative-cycle", "--problem", "min-cost-flow"]  # no flow is had without a search
    failed = run("solve", *network, "--output", str(target), "--run-limit", "0.001")
    assert failed.exit_code == 5
    assert "optsched: warning: not solved: timed-out: killed after 0.001 s" in failed.stderr
    assert target.read_bytes() == older
