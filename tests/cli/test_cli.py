"""The command line as a whole: help, what it loads, exit codes, how errors are told; commands have their own files."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import psutil
import pytest
from command_line import ENVIRONMENT, PROGRAM, in_process, run

from optsched.cli import cli, ended_like_interrupts

COMMANDS = cli.list_commands(click.Context(cli))


IMPORTERS = ["rumen", "dimacs", "orlib-gap", "orlib-assign", "sls", "swim"]


def test_help_loads_only_click() -> None:
    """Tests that help loads click and the standard library alone; that of `generate`, with all families, no solver."""
    commands = [[], *([name] for name in COMMANDS if name != "generate"), *(["import", name] for name in IMPORTERS)]
    code = f"""
import sys
before = set(sys.modules)
from optsched.cli import cli
for command in {[*commands, ["generate"]]}:
    try:
        cli.main([*command, "--help"], prog_name="optsched")
    except SystemExit as end:
        assert end.code == 0
    print(*command, *set(sys.modules) - before, sep=",", file=sys.stderr)
"""
    done = in_process(code=code)
    assert done.stdout.count("Usage: optsched") == len(commands) + 1
    for command, line in zip([*commands, ["generate"]], done.stderr.splitlines(), strict=True):
        names = line.split(",")[len(command) :]
        loaded = {name.partition(".")[0] for name in names} - {"", *sys.stdlib_module_names}
        if command == ["generate"]:
            assert not loaded & {"scipy", "highspy", "pyomo", "pulp", "networkx", "pandas", "matplotlib"}
        else:
            assert loaded <= {"optsched", "click", "colorama"}, command


TINY = "instances/papers/guo-fig2.json"

#: Packages that take a tenth of a second and more to import.
HEAVY = {"highspy", "matplotlib", "networkx", "pandas", "pulp", "pyomo", "rich", "scipy.optimize", "scipy.sparse"}


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        (["--help"], set()),
        (["list", "problems"], set()),
        (["list", "heuristics"], set()),
        (["list", "instances"], set()),
        (["gap", TINY, "--problem", "lsap", "--heuristic", "dl", "--seed", "0"], set()),
        (["gap", TINY, "--problem", "lsap", "--heuristic", "lsap-sched"], set()),
        (["solve", TINY, "--problem", "lsap"], set()),
        (["gap", TINY, "--problem", "latency", "--heuristic", "labl"], {"scipy.sparse", "highspy"}),
        (["bounds", TINY, "--problem", "lsap"], set()),
    ],
)
def test_command_loads_what_it_needs(command: list[str], needed: set[str]) -> None:
    """Tests that a command on a tiny instance loads no engine, solver or library that its problem does not use."""
    code = """
import sys
from optsched.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("loaded:", *sys.modules, file=sys.stderr)
"""
    done = in_process(*command, code=code)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stderr.rpartition("loaded:")[2].split())
    assert loaded & HEAVY <= needed
    routes = {name for name in loaded if name.startswith("optsched.routes.")}
    shared = {f"optsched.routes.{name}" for name in ("base", "call", "contained", "enumerated")}
    assert len(routes - shared) <= 1
    assert not {"psutil", "cloudpickle", "optsched.processes.local"} & loaded
    if not needed:
        assert "scipy" not in loaded


def test_bug_a_group_without_a_command_printed_its_help_as_one_line() -> None:
    """Tests that a group of commands alone shows its help, as the whole command line does."""
    result = run("import")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: optsched import [OPTIONS] COMMAND [ARGS]...\n")
    assert "error" not in result.stderr


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["gapp"], 'there is no command "gapp"; did you mean "gap"?'),
        (["--bogus"], "No such option"),
        (["gap", "--modle"], "No such option"),
        (["gap", "--repeats", "0"], "Invalid value for '--repeats'"),
        (["gap", "--problem", "lsapp"], 'there is no problem "lsapp"; did you mean "lsap"?'),
        (["gap", "--heuristic", "dll"], 'there is no heuristic "dll"; did you mean "dl"?'),
        (["gap", "--heuristic", "dl,readin=sweep"], 'dl has no parameter "readin"; did you mean "reading"?'),
        (["gap", "--heuristic", "dl,reading"], "write parameters as name=value"),
        (["gap", "--heuristic", "no_such_module:f"], 'there is no module "no_such_module"'),
        (["gap", "--problem", "lsap", "--heuristic", "labl"], "heuristic labl serves latency; not lsap"),
        (["gap", "--param", "level=1"], 'has no parameter "level"; did you mean "levels"?'),
        (["gap", "--param", "levels"], "write it as name=value"),
        (["gap", "--param", "lsapp.levels=0,1,1"], 'no problem "lsapp" is chosen; did you mean "lsap"?'),
        (["gap", "--param", "levels=0,1"], "give 3 values"),
        (["gap", "--profile", "exactt"], 'no solver profile "exactt"'),
        (["gap", "--max-gap", "nan"], "--max-gap is a number of at least 0"),
        (["list", "problem"], "is not one of 'problems'"),
        (["solve", "papers/guo-fig2"], "Missing option '--problem'"),
        (["solve", "papers/guo-fig2", "--problem", "lsap", "--route", "networks"], 'lsap has no route "networks"'),
        (["frontier", "papers/guo-fig2", "--problem", "lsap"], "has no frontier"),
        (["generate", "lat"], 'there is no family "lat"; did you mean "latency"?'),
        (["import", "rumen", "x", "--output", "a", "--split-jobs", "b"], "exclude each other"),
        (["import", "swin", "x"], 'there is no command "swin"; did you mean "swim"?'),
    ],
)
def test_wrong_usage(args: list[str], told: str) -> None:
    """Tests that wrong usage is exit code 2, with one line that says what, and nothing on stdout."""
    result = run(*args)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""
    assert all(line.startswith("optsched: error: ") for line in result.stderr.splitlines())


def test_no_command_shows_help_on_stderr() -> None:
    """Tests that the bare command is wrong usage: help on stderr, exit code 2."""
    result = run()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Usage: optsched" in result.stderr


def test_unexpected_exception_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an exception that nobody foresaw is exit code 1, told as a bug with its traceback."""

    def broken() -> None:
        raise ZeroDivisionError("nobody foresaw this")

    monkeypatch.setattr("optsched.problems.base.table_row", lambda problem: broken())
    result = run("list", "problems")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "optsched: bug: ZeroDivisionError: nobody foresaw this" in result.stderr


def test_deliberate_bug_errors_have_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a violated bound, which is a bug that the package finds itself, is exit code 1 in one line."""
    from optsched.core.errors import BoundViolated

    def broken(problem: object) -> None:
        raise BoundViolated("beyond the proved 3")

    monkeypatch.setattr("optsched.problems.base.table_row", broken)
    result = run("list", "problems")
    assert (result.exit_code, result.stderr) == (1, "optsched: bug: beyond the proved 3\n")


def test_interrupt() -> None:
    """Tests that Ctrl-C anywhere is exit code 130 and one line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("optsched.problems.base.table_row", lambda problem: (_ for _ in ()).throw(KeyboardInterrupt))
        result = run("list", "problems")
    assert (result.exit_code, result.stderr.strip()) == (130, "optsched: interrupted")


def test_closed_pipe_is_quiet() -> None:
    """Tests that a reader who leaves early ends the command without a word, as `| head` does."""
    command = [*PROGRAM, "list", "families", "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.skipif(sys.platform == "win32", reason="closes streams by a shell")
@pytest.mark.parametrize(
    "closed", ["<&- >&- 2>&-", *(pytest.param(one, marks=pytest.mark.thorough) for one in ("<&-", ">&-", "2>&-"))]
)
def test_closed_streams_keep_nothing_from_being_done(closed: str, tmp_path: Path) -> None:
    """Tests that a command works, in processes of its own, too, where whoever started it has closed its streams."""
    target = tmp_path / "found.json"
    gap = f"gap {TINY} --problem lsap --heuristic dl --run-limit 60 --format json --output {target}"
    command = f"exec {shlex.join(PROGRAM)} {gap} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(target.read_text())[0]["status"] == "done"


def test_warning_is_one_line_on_stderr(tmp_path: Path) -> None:
    """Tests that the package's own warnings are told once and leave stdout alone."""
    file = tmp_path / "unfair.json"
    file.write_text(
        json.dumps(
            {
                "format": "optsched/1",
                "nodes": [{"id": "n1", "slots": 4}],
                "groups": [{"id": "g1", "weight": 1}, {"id": "g2", "weight": 8}],
                "jobs": [{"id": "j1", "group": "g1"}, {"id": "j2", "group": "g2"}],
                "tasks": [{"id": f"t{i}", "job": "j1" if i < 6 else "j2", "replicas": ["n1"]} for i in range(9)],
            }
        )
    )
    result = run("solve", str(file), "--problem", "fair-lsap", "--param", "beta=0", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["problem"] == "fair-lsap"
    assert result.stderr.startswith("optsched: warning: beta=0: ")
    assert result.stderr.count("optsched: warning: ") == 1
    result = run("gap", str(file), "--problem", "fair-lsap", "--param", "beta=0", "--repeats", "2")
    assert result.stderr.count("optsched: warning: ") == 1
    assert result.stderr.count("\n") == 2  # and a note of what waits


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_terminal_gets_colours_and_progress() -> None:
    """Tests that on a terminal the table is drawn and progress is shown, with exit code 0."""
    import pty

    ours, theirs = pty.openpty()
    command = [*PROGRAM, "gap", "papers/guo-fig2", "--problem", "lsap"]
    environment = ENVIRONMENT | {"TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    told = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux says so where the other end is closed
            break
        if not part:
            break
        told += part
    os.close(ours)
    assert process.wait() == 0
    assert b"\x1b[" in told
    assert b"guo-fig2" in told
    assert "─".encode() in told


def test_command_line_tells_a_name_with_line_ends_in_one_line(tmp_path: Path) -> None:
    """Tests that names of files and parameters that hold line ends and escapes are one line of stderr each."""
    for arguments, code in (
        (["describe", f"{tmp_path}/a\x1b[2J\r\x85.json"], 3),
        (["solve", "examples/knapsacks", "--problem", "lsap", "--param", "levels=\x1b[2J\n\u2028"], 2),
        (["solve", "examples/knapsacks", "--problem", "ls\x85ap"], 2),
        (["frobni\x1bcate"], 2),
    ):
        result = run(*arguments)
        assert result.exit_code == code
        assert result.stdout == ""
        assert [line[:16] for line in result.stderr.split("\n")] == ["optsched: error:", ""]
        assert all(line.isprintable() for line in result.stderr.split("\n"))


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


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=lambda words: " ".join(words) or "-")
def test_help_fits_a_screen(command: list[str]) -> None:
    """Tests that no line of a help text is wider than 80 columns."""
    text = run(*command, "--help").stdout
    assert [line for line in text.splitlines() if len(line) > 80] == []
