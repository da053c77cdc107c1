"""Results come as they are ready, and none is lost; notes are one line each, each once, and no more."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import ENVIRONMENT, PROGRAM, answer, interrupted, run, small, stderr, stdout
from engines import interrupted as press
from rich.console import Console
from rich.progress import Progress as RichProgress

from optsched.cli import output
from optsched.cli.output import Progress, collected, progress, records
from optsched.core.errors import HeuristicFailed
from optsched.instances.files import save
from optsched.instances.generate import generate

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, with a small instance."""
    small(tmp_path / "small.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


#: A scheduler that never ends, and says when it has begun.
WAITS = "hostile_heuristics:waits"
LSAP = ["small.json", "--problem", "lsap", "--heuristic"]
DL_THEN_WAITS = [*LSAP, "dl", "--heuristic", WAITS, "--seed", "0"]


@pytest.mark.parametrize("form", ["json", pytest.param("table", marks=pytest.mark.thorough)])
def test_ctrl_c_keeps_what_was_finished(folder: Path, form: str) -> None:
    """Tests that Ctrl-C within the second heuristic leaves the first one's row, valid, and exit code 130."""
    code, out, shown = interrupted(folder, "gap", *DL_THEN_WAITS, "--format", form)
    assert code == 130
    if form == "json":
        assert [record["heuristic"] for record in json.loads(out)] == ["dl"]
    else:
        assert out.startswith("small, lsap: ")
        assert [line.split()[0] for line in out.splitlines()[3:]] == ["dl"]
    assert "warning: interrupted after 1 of 2 runs" in shown


@pytest.mark.thorough
def test_ctrl_c_between_seeds_is_a_row_that_says_so(folder: Path) -> None:
    """Tests that of a heuristic some of whose seeds ran there is a row of these, and it says how many."""
    code, out, _ = interrupted(folder, "gap", *LSAP, "hostile_heuristics:third", "--repeats", "5")
    assert code == 130
    _, _, _, row, *further = out.splitlines()
    assert " ".join([row, *further]).endswith("only 2 of 5 seeds")


def test_ctrl_c_does_not_replace_an_older_file(folder: Path) -> None:
    """Tests that a complete file of an earlier run stays, and what was finished is beside it, marked, and told."""
    target = folder / "gaps.csv"
    target.write_text("complete")
    code, out, shown = interrupted(folder, "gap", *DL_THEN_WAITS, "--output", "gaps.csv")
    assert (code, out, target.read_text()) == (130, "", "complete")
    partial = (folder / "gaps.csv.partial").read_text().splitlines()
    assert [record["heuristic"] for record in csv.DictReader(partial)] == ["dl"]
    assert "gaps.csv is not written; what was finished is in gaps.csv.partial" in shown


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="no signals there")
def test_ctrl_c_ends_a_process_that_ignores_it(folder: Path) -> None:
    """Tests that a run in a process of its own, which would not hear Ctrl-C, ends with the command, at once."""
    limits = ("--run-limit", "600", "--seed", "0", "--format", "json")
    code, out, shown = interrupted(folder, "gap", *LSAP, "dl", "--heuristic", "hostile_heuristics:deaf", *limits)
    assert (code, [record["heuristic"] for record in json.loads(out)]) == (130, ["dl"])
    assert "warning: interrupted after 1 of 2 runs" in shown
    assert not psutil.pid_exists(int((folder / "pid").read_text()))


@pytest.mark.thorough
def test_ctrl_c_keeps_the_cells_of_a_matrix(folder: Path) -> None:
    """Tests that the rows of a matrix that are there by then are shown."""
    code, out, shown = interrupted(folder, "matrix", *LSAP, "dl", "--heuristic", WAITS)
    assert code == 130
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["dl"]
    assert "interrupted after 1 of 2 cells" in shown


@pytest.mark.thorough
def test_rows_come_as_they_are_ready(folder: Path) -> None:
    """Tests that the row of a heuristic is on stdout while the next one runs, though stdout is no terminal."""
    args = [*PROGRAM, "gap", *DL_THEN_WAITS, "--time-limit", "none"]
    process = subprocess.Popen(args, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    try:
        lines = [process.stdout.readline() for _ in range(4)]
        assert lines[3].split()[0] == "dl"
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


class Blocked(io.StringIO):
    """A pipe that nobody reads: Ctrl-C comes while the second text is written, which stays in the buffer."""

    written = 0

    def flush(self) -> None:
        self.written += 1
        if self.written == 2:
            raise KeyboardInterrupt


def refused(number: int) -> dict[str, int]:
    """A record, but for the third entry."""
    if number == 3:
        raise HeuristicFailed("three")
    return {"number": number}


@pytest.mark.parametrize(
    ("stdout", "record", "error"), [(Blocked(), dict, KeyboardInterrupt), (io.StringIO(), refused, HeuristicFailed)]
)
def test_bug_what_was_put_out_had_no_end(
    stdout: io.StringIO, record: Any, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a list of JSON is closed after Ctrl-C while it is written, and after a record that cannot be made."""
    monkeypatch.setattr(sys, "stdout", stdout)
    entries = [1, 2, 3, 4] if record is refused else [{"number": number} for number in (1, 2, 3)]
    with pytest.raises(error):
        collected(lambda step: entries, records("json", ["number"], record), None, "entries")
    assert json.loads(stdout.getvalue()) == [{"number": 1}, {"number": 2}]


# Pictures and tables for documents --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "shown", "message"),
    [
        (
            "gap papers/fsy-not-optimal --problem latency --heuristic labl --plot",
            ["gap in makespan (% of the optimum)", "1 run, 0 at 0"],
            "labl",
        ),
        ("matrix papers/guo-fig2 --problem lsap --problem latency --plot", ["latency", "slots *", "+1"], "labl"),
        ("frontier examples/half-units --problem latency --plot", ["half-units: latency"], "combinatorial"),
        (
            "explain papers/fsy-not-optimal --problem latency --heuristic round-robin --to",
            ["1. 2 less work"],
            "which is the gap",
        ),
        (
            "decompose examples/order-of-jobs --problem makespan --heuristic dl --repeats 1 --to",
            ["not proved"],
            "bound (G)",
        ),
    ],
)
def test_pictures_beside_the_data(tmp_path: Path, command: str, shown: list[str], message: str) -> None:
    """Tests that a picture has its words, beside what is on stdout."""
    target = tmp_path / "a.svg"
    assert message in stdout(*command.split(), str(target))
    text = target.read_text()
    assert [word for word in shown if f">{word}" not in text] == []


def test_pictures_are_drawn_as_their_files_are_called(tmp_path: Path) -> None:
    """Tests that the ending says the kind of picture."""
    stdout("frontier", "examples/half-units", "--problem", "latency", "--plot", str(tmp_path / "a.png"))
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("command", "latex", "markdown"),
    [
        (
            "gap papers/guo-fig2 --problem lsap --heuristic dl,reading=sweep --seed 0",
            "\\begin{tabular}{lllrrllrl}\n\\toprule\ninstance & problem & ",
            "|---|---|---|--:|--:|---|---|--:|---|\n| guo-fig2 | lsap | dl,reading=sweep | 1 | 0 | optimum | dual | ",
        ),
        (
            "gap papers/guo-fig2 papers/guo-table2 --problem lsap --heuristic dl,reading=sweep --seed 0",
            "\\end{tabular}\n\n% optimal: runs at a proved optimum; ",
            "\n\n| heuristic | optimal | ",
        ),
        (
            "matrix papers/guo-fig2 --problem lsap --problem latency --heuristic dl",
            "\\bottomrule\n\\end{tabular}\n% +: over 0: ",
            "\n\n\\*: placed in another problem, which the heuristic serves\n",
        ),
        (
            "frontier papers/fsy-not-optimal --problem latency",
            "\\begin{tabular}{rrl}\n",
            "\n| 3 | 9 | combinatorial |\n| 4 | 7 | combinatorial |\n",
        ),
    ],
)
def test_tables_for_documents(command: str, latex: str, markdown: str) -> None:
    """Tests rows, summaries, matrices and points of frontiers as LaTeX and Markdown."""
    for form, part in (("latex", latex), ("markdown", markdown)):
        assert part in stdout(*command.split(), "--format", form)


# Out of time ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("folder")
def test_out_of_time_is_a_row() -> None:
    """Tests that a run that did not end is a row that says so, told on stderr, and no failure unless a gap is asked."""
    args = ["gap", *DL_THEN_WAITS, "--time-limit", "0.2"]
    result = run(*args)
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()[3:]
    assert first.split()[-1] == "%"
    assert second.endswith("-  out of time after 0.2 s")
    assert "1 run of a heuristic was out of time after 0.2 s; --time-limit S gives more" in result.stderr
    result = run(*args, "--max-gap", "900%", "--format", "json")
    assert result.exit_code == 4
    assert "out of time after 0.2 s" in json.loads(result.stdout)[1]["error"]
    assert "out of time after 0.2 s" in result.stderr


@pytest.mark.usefixtures("folder")
def test_out_of_time_is_a_cell() -> None:
    """Tests that in a matrix a run that did not end is one word, also where it is carried over."""
    args = ["matrix", "small.json", "--problem", "lsap", "--problem", "latency", "--heuristic", WAITS]
    result = run(*args, "--time-limit", "0.2")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2].split() == [WAITS, "out-of-time", "out-of-time"]
    assert "2 runs of heuristics were out of time after 0.2 s" in result.stderr


# Faults while writing ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_full_device() -> None:
    """Tests that a device that takes nothing is bad input, exit code 3, also as stdout."""
    args = ["gap", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl", "--format", "csv"]
    reason = "cannot be written: No space left on device"
    assert f"/dev/full: {reason}" in stderr(*args, "--output", "/dev/full", code=3)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert done.returncode == 3
    assert f"stdout: {reason}" in done.stderr


def test_output_that_cannot_be_written_is_told_before_the_work(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Tests that nothing is solved where the result could not be written."""
    monkeypatch.setattr("optsched.routes.solve", None)
    monkeypatch.setattr("optsched.measuring.gaps.solve", None)
    missing = str(folder / "no" / "such" / "out.json")
    for command in (["gap"], ["matrix"], ["solve", "--problem", "lsap"]):
        said = stderr(*command, str(folder / "small.json"), "--output", missing, code=3)
        assert "cannot be written: there is no folder " in said


def test_interrupted_solve_leaves_the_older_solution(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C within a solver leaves an older solution file, with what is held beside it, marked."""
    monkeypatch.setattr("optsched.routes.assignment.solve_assignment", press)
    target = folder / "solution.json"
    target.write_text("older")
    result = run("solve", str(folder / "small.json"), "--problem", "lsap", "--output", str(target))
    assert (result.exit_code, target.read_text()) == (130, "older")
    held = json.loads((folder / "solution.json.partial").read_text())
    assert (held["termination"], held["limit"]) == ("FEASIBLE", "INTERRUPTED")
    assert held["objective"] >= held["bound"] >= [0]
    assert "solution.json.partial" in result.stderr
    assert "INTERRUPTED" in result.stdout


def noted(*args: str) -> list[str]:
    """The notes of a command, without what stands before each."""
    lines = stderr(*args).splitlines()
    assert all(line.startswith("optsched: note: ") for line in lines)
    return [line.removeprefix("optsched: note: ") for line in lines]


ON_A = {"id": "t1", "replicas": ["a"]}


def write(path: Path, **changes: Any) -> str:
    """An instance of which nothing is to be noted, with changes."""
    tasks = [ON_A, {"id": "t2", "replicas": ["a", "b"]}]
    return small(path, **{"nodes": [{"id": "a"}, {"id": "b"}], "tasks": tasks, **changes})


@pytest.mark.parametrize(
    ("command", "problem"),
    [("solve", "lsap"), ("frontier", "latency"), ("explain", "lsap"), ("gap", "lsap"), ("matrix", "lsap")],
)
def test_records_have_the_notes(command: str, problem: str, tmp_path: Path) -> None:
    """Tests that what was assumed of an instance, and waits in its problem, is in every record and on stderr."""
    nodes = [{"id": "a", "idle_slots": 1}, {"id": "b", "slots": 1, "idle_slots": 0}]
    file = write(tmp_path / "small.json", nodes=nodes, labels={"slots": "inferred from a trace"})
    heuristic = ["--heuristic", "dl"] if command in ("explain", "gap", "matrix") else []
    asked = (command, file, "--problem", problem, *heuristic, "--format", "json")
    answered = json.loads(stdout(*asked))
    assumed = "assumed or inferred: slots; the labels say how (optsched describe)"
    waits = [] if problem == "latency" else ["1 of 2 maps wait: no slot is idle"]
    for record in answered if isinstance(answered, list) else [answered]:
        assert record["notes"] == [*waits, assumed]
        assert list(record)[-1] == "notes"
    assert noted(*asked) == [f"small: {problem}: {line}" for line in waits] + [f"small: {assumed}"]


RACKS = [{"id": "a", "rack": "r1"}, {"id": "b", "rack": "r2"}]
RACKS_TOLD = "small: racks are given but do not affect the cost (levels 0,1,1); --param lsap.levels=0,1,2 does"
HALF_LOAD = [{"id": "a", "load": 2.5}, {"id": "b"}]
OF_ONE_JOB = [{"id": name, "job": "j", "replicas": [node]} for name, node in (("t1", "a"), ("t2", "b"))]
OBSERVED = [{**ON_A, "observed": "a"}, {"id": "t2", "replicas": ["b"]}]
EACH = "gap; matrix; solve --problem lsap"
BYTES = "small: sizes look like bytes"


@pytest.mark.parametrize(
    ("changes", "commands", "expected"),
    [
        ({}, EACH, ""),
        ({"nodes": RACKS}, EACH, RACKS_TOLD),
        ({"nodes": RACKS}, "gap --problem latency", ""),
        ({"nodes": RACKS}, "gap --param lsap.levels=0,1,1", ""),
        ({"nodes": RACKS}, "gap --param lsap.levels=0,1,2", ""),
        ({"nodes": RACKS, "parameters": {"lsap": {"levels": [0, 1, 1]}}}, EACH, ""),
        ({"nodes": [{"id": "a", "rack": "r"}, {"id": "b", "rack": "r"}]}, EACH, ""),
        # A problem that was meant and cannot be posed, unless others only are named.
        (
            {"nodes": HALF_LOAD},
            "gap; matrix",
            "small: latency left out: nodes[0].load: needs whole units of work, not 2.5; multiply",
        ),
        ({"nodes": HALF_LOAD}, "gap --problem lsap", ""),
        (
            {"groups": [{"id": "g"}], "jobs": [{"id": "j", "group": "g"}], "tasks": OF_ONE_JOB},
            "gap",
            "small: fair-lsap, lsap-fairness left out: groups[0].weight: needs the group's share; and 1 more",
        ),
        ({"parameters": {"latency": {"w_loc": -1}}}, "gap", "small: latency left out: parameters.latency: "),
        (
            {"tasks": [{**ON_A, "id": f"t{i}"} for i in range(5)]},
            EACH,
            "small: lsap: 3 of 5 maps wait: no slot is idle",
        ),
        (
            {"tasks": [ON_A, {"id": "t2"}]},
            "gap",
            "small: lsap, latency: 1 of 2 maps have no replica: no node is near their data",
        ),
        (
            {"tasks": [{"id": "t1", "state": "running", "node": "a"}]},
            "solve --problem lsap",
            "small: lsap: no map is pending: there is nothing to place",
        ),
        (
            {"jobs": [{"id": "j", "arrival": 50}], "tasks": [OF_ONE_JOB[0], {**ON_A, "id": "t2"}]},
            "gap",
            "small: lsap, latency: 1 of 2 maps arrive after the snapshot; the optimum and batch heuristics know them",
        ),
        (
            {"tasks": OBSERVED},
            "gap",
            "small: observed is not run in lsap, latency: 1 of 2 tasks have no record of where they ran",
        ),
        ({"tasks": OBSERVED}, "gap --heuristic dl", ""),
        (
            {"labels": {"slots": "inferred from the most at once", "rack": "as recorded"}},
            EACH,
            "small: assumed or inferred: slots; the labels say how (optsched describe)",
        ),
        # A size of a terabyte and more is told once, with its place, whatever the problem.
        ({"tasks": [ON_A, {**ON_A, "id": "t2", "size": 1e6}]}, EACH, f"{BYTES} (tasks[1].size is 1000000); they are"),
        ({"tasks": [{**ON_A, "bytes_read": 64e6}]}, EACH, f"{BYTES} (tasks[0].bytes_read is 64000000)"),
        (
            {"tasks": [ON_A, {"id": "r1", "kind": "reduce"}], "shuffle": [{"map": "t1", "reduce": "r1", "size": 1e6}]},
            "solve --problem lsap",
            f"{BYTES} (shuffle[0].size is 1000000)",
        ),
        ({"tasks": [{**ON_A, "size": 999999}]}, EACH, ""),
    ],
)
def test_what_is_noted(tmp_path: Path, changes: dict[str, Any], commands: str, expected: str) -> None:
    """Tests the note on each oddity of an instance, by the commands that have it."""
    file = write(tmp_path / "small.json", **changes)
    for command, *words in map(str.split, commands.split("; ")):
        found = noted(command, file, *words)
        assert len(found) == bool(expected)
        assert all(line.startswith(expected) for line in found), found


def test_tasks_that_wait_in_several_problems(tmp_path: Path) -> None:
    """Tests that tasks beyond the idle slots are counted, for all problems of the same tasks in one line."""
    mixed = str(tmp_path / "mixed.json")
    save(generate("mixed", seed=0, nodes=4, tasks=20, reduces=12, jobs=2), mixed)
    problems = [word for name in ("lsap", "flow", "transmission") for word in ("--problem", name)]
    lines = noted("gap", mixed, *problems, "--heuristic", "fifo")
    maps, both = (line.split(": ", 1)[1] for line in lines if "wait" in line)
    assert maps == "lsap, flow: 12 of 20 maps wait: no slot is idle"
    assert re.match(r"transmission: \d+ of 32 tasks wait", both)


def test_problem_that_no_heuristic_serves() -> None:
    """Tests that a problem which is posed but has no row says why."""
    assert "knapsacks: generalized-assignment: no heuristic of the list serves it" in noted("gap", "examples/knapsacks")


def test_assumed_fields(tmp_path: Path) -> None:
    """Tests that what is labelled as assumed is noted where it is made and where figures rest on it."""
    mixed = str(tmp_path / "mixed.json")
    assert noted("generate", "mixed", "--output", mixed) == [
        "assumed or inferred: shuffle, fields; the labels say how (optsched describe)"
    ]
    assert not any("assumed" in line for line in noted("gap", mixed, "--problem", "flow", "--heuristic", "fifo"))
    assert noted("generate", "lsap", "--output", mixed) == []


def test_many_instances_are_one_line(tmp_path: Path) -> None:
    """Tests that what is so in more than three instances is one line, whatever the numbers in it."""
    many = [[{**ON_A, "id": f"t{i}"} for i in range(count)] for count in (3, 4, 5, 6)]
    files = [write(tmp_path / f"i{len(tasks)}.json", tasks=tasks) for tasks in many]
    args = ["--problem", "lsap", "--heuristic", "dl"]
    assert noted("gap", *files[:3], *args)[2] == "i5: lsap: 3 of 5 maps wait: no slot is idle"
    (line,) = noted("gap", *files, *args)
    assert line == "i3: lsap: 1 of 3 maps wait: no slot is idle; likewise in 3 other instances"


def test_library_by_default_has_no_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the shipped instances, where none is named, are taken as they are meant."""
    monkeypatch.setattr("optsched.cli.gaps._shipped", lambda: ["generated/lsap-n20-t15-seed0"])
    assert noted("gap") == []


def test_notes_are_told_before_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the notes are there though what follows is broken off."""
    monkeypatch.setattr("optsched.measuring.gaps.Reference.solved", press)
    said = stderr("gap", write(tmp_path / "small.json", nodes=RACKS), code=130)
    assert said.splitlines()[0] == f"optsched: note: {RACKS_TOLD}"


def test_imported_sizes_are_megabytes(tmp_path: Path) -> None:
    """Tests that a reduce of eight terabytes, as a SWIM workload of 2009 has one, is not taken for bytes."""
    (tmp_path / "large.tsv").write_text("job0\t0\t0\t134217728\t8822022000000\t1048576\n")
    file = str(tmp_path / "large.json")
    stdout("import", "swim", str(tmp_path / "large.tsv"), "--nodes", "3", "--output", file)
    assert not any("look like bytes" in line for line in noted("solve", file, "--problem", "lsap"))


def test_notes_are_in_records(tmp_path: Path) -> None:
    """Tests that records tell what stderr does: of their own problem, of the instance, and of what was left out."""
    tasks = [{**ON_A, "id": f"t{row}"} for row in range(3)]
    nodes = [RACKS[0], {**RACKS[1], "load": 0.5}]
    file = write(tmp_path / "small.json", nodes=nodes, tasks=tasks)
    for command in ("gap", "matrix"):
        left, waits, racks = answer(command, file)[0]["notes"]
        assert left.startswith("latency left out: nodes[1].load: ")
        assert waits == "1 of 3 maps wait: no slot is idle"
        assert racks == RACKS_TOLD.removeprefix("small: ")
    assert "wait: no slot is idle" in stdout("gap", file, "--problem", "lsap", "--format", "csv")


# Progress -------------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_time_that_is_left() -> None:
    """Tests that nothing is estimated before the first step is done, and then that the others take as long."""
    clock = [0.0]
    bar = RichProgress(get_time=lambda: clock[0], console=Console(file=io.StringIO()))
    step = output._Bar(bar, 5)
    (task,) = bar.tasks
    seen = []
    for now in (10, 20, 2000):
        clock[0] = now
        step("next")
        seen.append(task.fields["left"])
    step.within(0.5)
    assert [*seen, task.fields["left"]] == ["", "about 80 s left", "about 50 min left", "about 33 min left"]


def test_progress_within_a_step() -> None:
    """Tests that what is done of a step counts beside the steps that are done, and the next step begins a new one."""
    bar = RichProgress(disable=True)
    step = output._Bar(bar, 3)
    (task,) = bar.tasks
    done = []
    for part in (0.25, 0.5, 7.0):
        if part != 0.5:
            step("next")
        step.within(part)
        done.append(task.completed)
    step("last")
    assert [*done, task.completed] == [0.25, 0.5, 2, 2]
    Progress().within(0.5)


def test_progress_on_a_terminal_only() -> None:
    """Tests that progress is shown on a terminal and nowhere else."""
    silent, shown = io.StringIO(), Terminal()
    for stream in (silent, shown):
        with progress(stream, 2) as step:
            step("first [bold]")
            with step.aside():
                stream.write("")
            step("second")
        with progress(stream) as step:
            step("of unknown length")
    assert silent.getvalue() == ""
    assert shown.getvalue() != ""
