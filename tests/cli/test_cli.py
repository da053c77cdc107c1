"""The command line as a whole: help, what it loads, exit codes, how errors are told; commands have their own files."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ENVIRONMENT, PROGRAM, commands, in_process, interrupted, run, stderr

from optsched.cli import ended_like_interrupts
from optsched.core.errors import BoundViolated


def test_help_loads_only_click() -> None:
    """Tests that help loads click and the standard library alone; that of `generate`, with all families, no solver."""
    light = [path.split()[1:] for path, _ in commands() if "generate" not in path]
    code = f"""
import sys
before = set(sys.modules)
from optsched.cli import cli
for commands in {[light, [["generate"]]]}:
    for command in commands:
        try:
            cli.main([*command, "--help"], prog_name="optsched")
        except SystemExit as end:
            assert end.code == 0
    print(*set(sys.modules) - before, file=sys.stderr)
"""
    done = in_process(code=code)
    assert done.stdout.count("Usage: optsched") == len(light) + 1
    first, last = ({name.partition(".")[0] for name in line.split()} for line in done.stderr.splitlines())
    assert first - {*sys.stdlib_module_names} <= {"optsched", "click", "colorama"}
    assert not last & {"scipy", "highspy", "pyomo", "pulp", "networkx", "pandas", "matplotlib"}


TINY = "instances/papers/guo-fig2.json"

#: Packages that take a tenth of a second and more to import.
HEAVY = {"highspy", "matplotlib", "networkx", "pandas", "pulp", "pyomo", "rich", "scipy.optimize", "scipy.sparse"}


#: Commands that need no more than numpy.
LIGHT = [f"list {what}" for what in ("problems", "heuristics", "instances")]
LIGHT += [f"gap {TINY} --problem lsap --heuristic {name} --seed 0" for name in ("dl", "lsap-sched")]
LIGHT += [f"{command} {TINY} --problem lsap" for command in ("solve", "bounds")]


@pytest.mark.parametrize(
    ("commands", "needed"),
    [(LIGHT, set()), ([f"gap {TINY} --problem latency --heuristic labl"], {"scipy.sparse", "highspy"})],
    ids=["light", "latency"],
)
def test_command_loads_what_it_needs(commands: list[str], needed: set[str]) -> None:
    """Tests that commands on a tiny instance load no engine, solver or library that their problem does not use."""
    code = f"""
import sys
from optsched.cli import cli
for command in {commands}:
    try:
        cli.main(command.split(), prog_name="optsched")
    except SystemExit as end:
        assert not end.code, end.code
    print("loaded:", command, *sys.modules, file=sys.stderr)
"""
    done = in_process(code=code)
    assert done.returncode == 0, done.stderr
    shared = {f"optsched.routes.{name}" for name in ("base", "call", "contained", "listing")}
    for text in done.stderr.split("loaded:")[1:]:
        loaded = set(text.split())
        assert loaded & HEAVY <= needed, text
        assert len({name for name in loaded if name.startswith("optsched.routes.")} - shared) <= 1, text
        assert not {"psutil", "cloudpickle", "optsched.core.processes.executors"} & loaded, text
        assert needed or "scipy" not in loaded, text
    assert done.stderr.count("loaded:") == len(commands)


def test_bug_a_group_without_a_command_printed_its_help_as_one_line() -> None:
    """Tests that a group of commands alone, as the whole command line, shows its help on stderr: wrong usage."""
    for group, words in (("", ""), (" import", " COMMAND [ARGS]...\n"), (" generate", " FAMILY [OPTIONS]\n")):
        result = run(*group.split())
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"Usage: optsched{group} [OPTIONS]{words}")
        assert "error" not in result.stderr


#: Options that take seconds, each with its command.
SECONDS = [
    "mine --problem lsap --heuristic dl --time-limit",
    "claims guo-2012/3.3-more-idle --judge --time-limit",
    "figure guo-2012/4b --time-limit",
    "decompose FIG --policy dl --heartbeat",
    "certify FIG --time-limit",
    "solve FIG --problem lsap --time-limit",
]

#: Wrong usage of every command (exit code 2), and what the one line on stderr says of it.
WRONG = [
    ("gapp", 'there is no command "gapp"; did you mean "gap"?'),
    ("--bogus", "No such option"),
    ("gap --modle", "No such option"),
    ("gap --repeats 0", "Invalid value for '--repeats'"),
    ("gap --problem lsapp", 'there is no problem "lsapp"; did you mean "lsap"?'),
    ("gap FIG --problem lsap,latency", "give --problem once for each"),
    ("gap FIG --problem lsap --seeds 0-5", "the seeds of a heuristic are --repeats"),
    ("gap --heuristic dll", 'there is no heuristic "dll"; did you mean "dl"?'),
    ("gap --heuristic dl,reading", "write parameters as name=value"),
    ("gap --heuristic no_such_module:f", 'there is no module "no_such_module"'),
    ("gap FIG --problem lsap --heuristic hostile_heuristics:good,seed=1", "the seed is given by --seed or --repeats ("),
    ("gap --param level=1", 'has no parameter "level"; did you mean "levels"?'),
    *((f"gap --problem lsap --param {text}", "write it as name=value") for text in ("levels", "=1", "lsap.=1")),
    ("gap --problem lsap --param flow.f_c=0,1,2", 'no problem "flow" is chosen; known: lsap'),
    ("solve no/such.json --problem lsap --param level=1", 'has no parameter "level"'),
    ("gap --param levels=0,1", "give 3 values"),
    ("gap --max-gap nan", "--max-gap is a number of at least 0"),
    ("gap FIG --max-gap 5", 'write "5%" or 0.05'),
    ("gap FIG --placements", "--placements are in records: take --format json or csv"),
    ("gap FIG --problem lsap --explain --format=csv", "--explain is no table: take --format table or json"),
    *(
        (f"gap FIG --time-limit={limit}", f"seconds, at least 0, or none, got '{limit}'")
        for limit in ("-1", "nan", "inf", "soon")
    ),
    *((f"{command}=nan", "expected a finite number of seconds") for command in SECONDS),
    *((f"gap FIG --run-limit={limit}", f"seconds, above 0, got '{limit}'") for limit in ("0", "soon", "inf")),
    ("list problem", "is not one of 'problems'"),
    ("list problems latncy", 'problems have no "latncy"; did you mean "latency"?'),
    ("docs explian", 'there is no page "explian"; did you mean "explain"'),
    ("solve FIG", "Missing option '--problem' (optsched list problems names them)"),
    ("solve FIG --problem lsap --route networks", 'lsap has no route "networks"'),
    ("solve FIG --problem lsap --param levels=[0,1,2]", "write it without brackets: 0,1,2"),
    ("frontier FIG --problem lsap", "has no frontier"),
    ("frontier FIG --problem latency --heuristic labl", "name its file with --plot FILE"),
    ("export FIG --problem lsap --to model.xml", "must end in .lp, .mps, .dimacs, .graphml"),
    ("export FIG --to model.lp", "--problem is missing"),
    ("export FIG --problem latency --to model.dimacs", "latency is no flow network"),
    ("export FIG --problem lsap --to model.lp --limit 3", "lsap has none"),
    *(
        (f"export papers/ras-endless-swap --problem {problem} --to model.lp --limit '{limit}'", f"it must be a {kind}")
        for problem, kind in (("latency", "whole number, 0 or more"), ("utility", "number, such as 0.5, -2 or 1/3"))
        for limit in ("", "x", "1/0", "nan", "1e9999999", "9" * 5000, "9" * 20, "half")
    ),
    *((f"export FIG --problem latency --to model.lp --limit {limit}", "be a whole number") for limit in ("-1", "1.5")),
    ("generate lat", 'there is no family "lat"; did you mean "latency"?'),
    ("generate latency --node 3", "--nodes"),
    ("generate latency 3", "unexpected extra argument (3)"),
    ("generate latency --nodes", "'--nodes' requires an argument"),
    ("generate latency --nodes many", "it must be an integer from"),
    ("generate latency --nodes 3 --nodes 4", "generate latency: --nodes is given twice"),
    ("import rumen x --output a --split-jobs b", "exclude each other"),
    ("import swin x", 'there is no command "swin"; did you mean "swim"?'),
    ("matrix FIG --problem min-cost-flow", "decides no placement"),
    ("matrix FIG --heuristic hostile_heuristics:good,time_limit=1", "the limit is given by --time-limit"),
    (
        "matrix examples/knapsacks --problem generalized-assignment",
        "no heuristic of the list serves generalized-assignment on this instance; give your own",
    ),
    ("explain FIG --problem lsap", "give one of them"),
    ("explain FIG --problem lsap --heuristic dl --solution x.json", "give one of them"),
    ("explain none --problem min-cost-flow --heuristic dl", "min-cost-flow decides a flow: explain is of moves of"),
    ("explain FIG --problem lsap --heuristic hostile_heuristics:TakesOne,observers=1", "observers are given in Python"),
    ("explain FIG --problem lsap --heuristic hostile_heuristics:good,profile=1", "explain has a profile of its own"),
    ("show FIG", "--to"),
    ("show FIG --to a.xyz", '--to a.xyz: no kind of picture ends in ".xyz"'),
    ("show FIG --param w_rem=2 --to a.svg", "--param is of a problem"),
    ("show FIG --heuristic labl --heuristic lsap-sched --to a.svg", "is served by labl, lsap-sched"),
    ("show examples/negative-cycle --heuristic dl --to a.svg", "a flow network has no heuristics"),
    ("report x.json", "Missing option '--to'"),
    ("mine FIG", "mine draws its own instances: --family says which"),
    ("mine", "give --problem and --heuristic, or --claim with the ID"),
    ("mine --problem lsap --claim no_such_module:claim", "give --problem and --heuristic, or --claim with the ID"),
    ("mine --problem lsap --heuristic dl --set nodes", "write it as name=value"),
    ("mine --problem lsap --heuristic dl --to . --name a/b", "is no name for files"),
    ("simulate DAY", "Missing option '--policy'"),
    ("simulate DAY --policy solve", "every round is solved: name the problem that is posed"),
    ("simulate DAY --policy dl --service level", 'there is no service "level"; did you mean "levels"?'),
    ("simulate DAY --policy dl --service levels,factor=1", "levels has no parameter factor"),
    ("simulate DAY --policy dl --jobs jobs.xls", "give a file that ends in .csv or .parquet"),
    ("simulate DAY --policy dl --plot gant=a.svg", 'there is no picture "gant"; did you mean "gantt"?'),
    ("simulate DAY --policy dl --plot gantt", "give what is drawn and a file, as gantt=day.svg"),
    ("simulate DAY --policy dl --plot gantt=a.jpg", "--plot a.jpg: no kind of picture"),
    ("simulate DAY --policy dl --plot times=a.svg --plot gantt=a.svg", "a.svg is drawn to already; name another file"),
    ("simulate DAY --policy dl --plot reductions=a.svg", "compares the last policy with others: name two or more"),
    ("simulate DAY --policy dl --plot gantt=a.svg --repeats 5", "4 runs at most, and these are 5 on 1: name fewer"),
    ("simulate DAY --policy dl --schedule s.json --repeats 2", "--schedule is of one run, and these are 2"),
    ("simulate DAY --policy dl --schedule s.json --lose a:5", "--schedule is of runs that lose no node"),
    *((f"simulate DAY --policy dl --lose {text}", "give NODE:S or NODE:S:S") for text in ("a", "a:x")),
    ("simulate DAY --policy dl --lose a:b:1:2", 'losses: there is no node "a:b"'),
    ("decompose DAY --problem lsap --heuristic dl", "problems over time"),
    ("decompose DAY --problem job-times --heuristic dl --heartbeat -1", "-1"),
    *((f"claims guo-2012/3.3-more-idle {words}", "is the id of one claim") for words in ("slots", "--paper agosta")),
    *((f"claims {words} --judge", "--judge takes the id of one claim") for words in ("", "slots")),
    ("claims guo-2012/3.3-more-idl", "did you mean guo-2012/3.3-more-idle"),
    ("claims guo-2012/3.3-more-idle --effort full", "are for --judge"),
    ("claims slots --judge --keep judged.json", "--keep is for --effort full"),
    ("claims zebra --judge --effort full --keep judged.json", "no claim with a check fits"),
    ("claims shen-2016/5-future --judge", "no judge runs for this claim"),
    ("claims --paper guo", 'no paper "guo"'),
    ("claims --verdict false", 'no verdict "false"'),
    ("claims zebra", "no claim fits"),
    *((f"figure guo-2012/4b {words}", "is the id of one figure") for words in ("guo-2012/4a", "--paper guo-2012")),
    ("figure replicas --stored", "these options take the id of one figure"),
    ("figure guo-2012/4b --stored --seeds 3", "--stored shows what is kept"),
    ("figure guo-2012/4y", "did you mean"),
    ("figure nothing-fits", "no figure fits"),
    ("figure guo-2012/4b --plot a.gif", "must end in .svg, .png, .pdf, .pgf"),
    ("sweep FIG", "say where the results go: --store FILE"),
    ("sweep FIG --store ''", "say where the results go: --store FILE"),
    ("sweep --store a.sqlite", "say what is measured"),
    ("sweep --store a.sqlite FIG --retry x", "--retry"),
    ("sweep --store a.sqlite FIG -j 2 --dask tcp://a:1", "leave one out"),
]

#: Files that are not there, cannot be written or lack something (exit code 3), and what the line on stderr says of it.
ABSENT = [
    ("gap no/such.json", "No such file"),
    ("gap papers/guo-fig3", 'did you mean "papers/guo-fig2"?'),
    ("gap notes.txt", "no such instance in the library"),
    (f"gap {'a' * 5000}", "there is no such file"),
    (f"gap {'a' * 5000}.json", "cannot be read"),
    ("gap examples/negative-cycle", "is a flow network, for which there are no heuristics"),
    ("explain FIG --problem lsap --heuristic observed", "observed"),
    ("solve FIG --problem min-cost-flow", "posed on a flow network"),
    ("solve DAY --problem job-times --param service=transfer", "topology: job-times with service=transfer needs it"),
    ("frontier FIG --problem latency --output none/front.json", "cannot be written"),
    ("simulate DAY --policy dl --schedule none/s.json", "none/s.json: cannot be written: there is no folder "),
    ("check", "optsched-check.toml: there is no such file here: name one, or write it (optsched docs uses/ci)"),
    ("check no/such.toml", "no/such.toml: cannot be read (No such file or directory): check the path"),
    ("sweep --store . FIG", "is a folder"),
    ("report x.json --to a.md", "x.json: cannot be read"),
]


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [(line, code, message) for code, table in ((2, WRONG), (3, ABSENT)) for line, message in table],
    ids=lambda given: given[:60] if isinstance(given, str) else "",
)
def test_what_is_wrong_is_told_in_lines(
    line: str, code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests exit code and message of each, that nothing is on stdout, and that no file is left."""
    monkeypatch.chdir(tmp_path)
    names = {"FIG": "papers/guo-fig2", "DAY": "examples/order-of-jobs"}
    result = run(*(names.get(word, word) for word in shlex.split(line)))
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert {text[:17] for text in result.stderr.splitlines()} == {"optsched: error: "}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ZeroDivisionError("nobody foresaw this"), 1, "bug: ZeroDivisionError: nobody foresaw this"),
        (BoundViolated("beyond the proved 3"), 1, "bug: beyond the proved 3"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_what_breaks_a_command_off(monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str) -> None:
    """Tests that what nobody foresaw is a bug with its traceback, and what was foreseen one line."""

    def broken(problem: object) -> None:
        raise error

    monkeypatch.setattr("optsched.problems.base.table_row", broken)
    shown = stderr("list", "problems", code=code).strip()
    assert shown.splitlines()[-1].startswith(f"optsched: {said}")
    assert ("Traceback" in shown) == ("\n" in shown) == isinstance(error, ZeroDivisionError)


def test_closed_pipe_is_quiet() -> None:
    """Tests that a reader who leaves early ends the command without a word, as `| head` does."""
    command = [*PROGRAM, "list", "families", "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
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


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_terminal_gets_colours_and_progress() -> None:
    """Tests that on a terminal the table is drawn and progress is shown, with exit code 0."""
    import pty

    ours, theirs = pty.openpty()
    command = [*PROGRAM, "gap", "papers/guo-fig2", "--problem", "lsap"]
    environment = ENVIRONMENT | {"TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    received = b""
    with contextlib.suppress(OSError):  # Linux says so where the other end is closed
        while part := os.read(ours, 4096):
            received += part
    os.close(ours)
    assert process.wait() == 0
    assert all(text.encode() in received for text in ("\x1b[", "guo-fig2", "─"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["describe", "a\x1b[2J\r\x85.json"], 3),
        (["solve", "examples/knapsacks", "--problem", "lsap", "--param", "levels=\x1b[2J\n\u2028"], 2),
        (["solve", "examples/knapsacks", "--problem", "ls\x85ap"], 2),
        (["frobni\x1bcate"], 2),
    ],
    ids=["file", "parameter", "problem", "command"],
)
def test_a_name_with_line_ends_is_told_in_one_line(arguments: list[str], code: int) -> None:
    """Tests that names of files and parameters that hold line ends and escapes are one line of stderr each."""
    lines = stderr(*arguments, code=code).split("\n")
    assert [line[:16] for line in lines] == ["optsched: error:", ""]
    assert all(line.isprintable() for line in lines)


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
    asked = ["papers/guo-fig2", "--problem", "lsap", "--heuristic", "hostile_heuristics:waits", "--run-limit", "300"]
    asked += ["--store", "there.sqlite"] if command == "sweep" else []
    number = signal.Signals[name]
    code, _, said = interrupted(tmp_path, command, *asked, by=number)
    assert code == (130 if name == "SIGINT" else 128 + number)
    assert said.splitlines()[-1] == ("optsched: interrupted" if name == "SIGINT" else f"optsched: ended by {name}")
