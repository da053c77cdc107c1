"""`optsched gap`, `matrix` and `report`: the work, what is printed, and every way in which a heuristic can fail."""

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import answer, run, small, stderr, stdout
from engines import interrupted
from small_problems import traffic as posed

import optsched
from optsched.core.resources import code_version
from optsched.measuring.records import record_fields

#: Of every record; what only some problems and heuristics say comes after them.
FIELDS = ["version", *record_fields([], policies=False)]

OWN = '''
import numpy as np

def first(problem, rng, shift=0):
    """Task i on node i + shift."""
    return [(i + shift) % len(problem.instance.cluster) for i in range(len(problem.tasks))]

def crowd(problem, rng):
    return [0] * len(problem.tasks)

def crash(problem, rng):
    raise ValueError("no idea\\nat all")

def talk(problem, rng):
    print("thinking")
    return [0, 1, 2]

def elsewhere(problem, rng, drawn=np.random.default_rng(1)):
    return drawn.permutation(20)[:15]
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module `own_rules` of heuristics in the working folder."""
    (tmp_path / "own_rules.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    yield
    sys.modules.pop("own_rules", None)


def gap(*args: str, code: int = 0) -> str:
    """What `optsched gap` prints, with this exit code."""
    return stdout("gap", *args, code=code)


def records(*args: str, code: int = 0) -> list[dict[str, Any]]:
    """Its JSON records."""
    return answer("gap", *args, code=code)


def test_record_fields() -> None:
    """Tests that a record has the fields of the design in their order, numbers for one component, lists for two."""
    asked = ("papers/guo-fig2", "--heuristic", "dl", "--heuristic", "labl", "--seed", "0")
    lsap, latency = records(*asked)
    assert list(lsap) == [*FIELDS, "rounds", "idle_slot_time", "notes"]
    assert list(latency) == [*FIELDS, "work_gap_at_makespan", "makespan_gap_at_work", "notes"]
    assert (lsap["version"], lsap["instance"], lsap["problem"]) == (code_version(), "guo-fig2", "lsap")
    assert (type(lsap["objective"]), lsap["sense"]) == (int, "min")
    assert (latency["sense"], latency["reference"]) == (["min", "min"], [1, 3])
    first, _ = csv.DictReader(io.StringIO(gap(*asked, "--format", "csv")))
    assert first["work_gap_at_makespan"] == "", "a column of CSV is in every row"


@pytest.mark.thorough
def test_everything_by_default() -> None:
    """Tests that without arguments the library but for scale and networks runs, with all that applies."""
    from optsched.instances.library import library

    found = records()
    left_out = {"scale", "network"}
    names = {entry.path.name.partition(".json")[0] for entry in library().values() if not left_out & set(entry.tags)}
    assert {entry["instance"] for entry in found} == names
    assert {entry["problem"] for entry in found} >= {"lsap", "fair-lsap", "lsap-fairness", "flow", "latency"}
    assert all(entry["error"] is None and entry["reference_kind"] == "optimum" for entry in found)
    assert min(gap for entry in found if isinstance(gap := entry["relative_gap"], float)) >= 0


def test_parameters() -> None:
    """Tests that --param overrides what comes with the instance, and what a policy over time assumes."""
    asked = ("--problem", "lsap", "--heuristic", "lsap-sched", "--param", "lsap.levels=0,1,1")
    (found,) = records("examples/racks", *asked)
    assert found["parameters"] == {"levels": [0, 1, 1]}
    over_time = ("--problem", "makespan", "--heuristic", "fair", "--param", "scale=0.5", "--seed", "0")
    (found,) = records("papers/pna-compute-and-fetch", *over_time)
    assert found["assumed"] == "transfer,scale=0.5,shuffle=none, heartbeat 3 s"


def test_max_gap() -> None:
    """Tests that a gap over the limit is exit code 4, and reported after the data; infinity allows all."""
    args = ["gap", "examples/racks", "--problem", "lsap", "--heuristic", "rand", "--max-gap"]
    result = run(*args, "0.05")
    assert (result.exit_code, "racks" in result.stdout) == (4, True)
    assert "rand on racks, lsap: gap" in result.stderr
    assert stderr(*args, "5 %", code=4) == result.stderr
    gap(*args[1:], "inf")
    gap("examples/racks", "--problem", "lsap", "--heuristic", "lsap-sched", "--max-gap", "0")


def test_bug_a_gap_over_the_limit_had_a_line_of_fractions_for_each_seed() -> None:
    """Tests that each heuristic on an instance has one line: percents, the worst seed, and how many more there are."""
    heuristics = ["--heuristic", "rand", "--heuristic", "rand,randomness=0.5"]
    asked = ("generated/lsap-n20-t15-seed0", "--problem", "lsap", *heuristics)
    worst = max(entry["objective"] for entry in records(*asked) if entry["heuristic_parameters"]["randomness"] == 1)
    first, _ = (line for line in stderr("gap", *asked, "--max-gap", "5%", code=4).splitlines() if "error: " in line)
    assert re.search(
        rf"error: rand on \S+, lsap: gap \d+ % is over 5 %: {worst} against the optimum 2 \(seed \d", first
    )
    assert first.endswith("and 9 more seeds)")


def test_library_passes_over_instances_that_cannot_pose_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a problem named for the whole library is posed where it can be, and nowhere is one error."""
    monkeypatch.setattr("optsched.cli.gaps._shipped", lambda: ["papers/guo-fig2", "papers/guo-table2"])
    found = records("--problem", "fair-lsap", "--problem", "lsap")
    posed = {("guo-fig2", "lsap"), ("guo-table2", "lsap"), ("guo-table2", "fair-lsap")}
    assert {(entry["instance"], entry["problem"]) for entry in found} == posed
    said = stderr("gap", "--problem", "transmission", code=3)
    assert "guo-fig2: transmission: topology" in said
    assert "guo-table2" not in said, "told once, and not for each instance"
    stderr("gap", "--problem", "lsap", "--param", "levels=2,1,0", code=2)  # no field that is missing


def test_instance_of_which_nothing_can_be_posed(tmp_path: Path) -> None:
    """Tests that an instance that no problem takes is bad input."""
    file = small(tmp_path / "odd.json", parameters={"lsap": {"levels": [3, 2, 1]}, "latency": {"w_loc": -1}})
    said = stderr("gap", file, code=3)
    assert "odd: none of lsap, fair-lsap, lsap-fairness, worst-group, flow, " in said
    assert "generalized-assignment can be posed" in said


def test_library_passes_over_instances_without_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic named for the whole library runs where it can, and nowhere is an error."""
    monkeypatch.setattr("optsched.cli.gaps._shipped", lambda: ["papers/guo-fig2", "examples/racks"])
    stderr("gap", "--heuristic", "observed", code=3)
    said = stderr("gap", "--heuristic", "balancing", code=2)
    assert "balancing serves flow, flow-congestion, which no instance can pose" in said


@pytest.mark.usefixtures("own")
def test_bug_what_is_not_repeatable_was_not_told() -> None:
    """Tests that random numbers from elsewhere than `rng` are reported on stderr."""
    asked = ("gap", "generated/lsap-n20-t15-seed0", "--problem", "lsap", "--heuristic", "own_rules:elsewhere")
    text = "is not repeatable: two runs on lsap-n20-t15-seed0 with seed 0 differ; draw from rng alone"
    assert f"optsched: warning: own_rules:elsewhere {text}\n" in stderr(*asked)


def test_instance_where_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that what proves that nothing is feasible is shown, with exit code 6 where that is so of every problem."""
    full = posed([[0]], reduces=2, nodes=[0, 1, 2], reduce_slots=[3, 3, 0], jobs=3, capacity="slots")
    file, name = str(tmp_path / "full.json"), "papers/joss-empty-datacenter"
    optsched.save(replace(full.instance, parameters={"traffic": dict(full.parameters)}), file)
    args, message = ["--problem", "traffic", "--heuristic", "joss-t"], "nothing is feasible: proof: dual"
    assert f"small, traffic: {message}" in gap(file, *args, code=6)
    assert f"warning: small, traffic: {message}" in stderr("gap", file, *args, code=6)
    gap(file, *args, "--max-gap", "900%", code=4)
    assert message in stderr("gap", file, name, *args)
    assert "nothing is feasible" not in stderr("gap", name, *args)


@pytest.mark.usefixtures("own")
def test_heuristic_that_prints_or_exits(tmp_path: Path) -> None:
    """Tests that what a heuristic prints stays out of the data, and one that ends the process is exit code 4."""
    args = ["gap", small(tmp_path / "small.json"), "--problem", "lsap", "--seed", "0", "--format", "json"]
    result = run(*args, "--heuristic", "own_rules:talk")
    assert (len(json.loads(result.stdout)), result.stderr) == (1, "thinking\n")
    result = run(*args, "--heuristic", "dl", "--heuristic", "hostile_heuristics:exits")
    assert result.exit_code == 4
    assert [entry["error"] is None for entry in json.loads(result.stdout)] == [True, False]
    assert 'heuristic "hostile_heuristics:exits" raised SystemExit: 7' in result.stderr


def test_too_large_a_problem_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a problem too large to be solved is reported once on stderr, and has a cheap bound beside it."""
    monkeypatch.setattr("optsched.problems.flow_congestion.MOST_PATTERNS", 5)
    args = ("gap", "papers/hsu-two-clusters", "--heuristic", "flow-sched")
    found = {entry["problem"]: entry["relative_gap"] for entry in answer(*args)}
    assert found["flow"] == 0 < found["flow-congestion"]
    (line,) = stderr(*args).splitlines()
    assert "warning: not solved: hsu-two-clusters: flow-congestion: 4 types of tasks make" in line


def test_interrupted_reference_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C within a solver ends `gap` and `matrix` with 130, after what is known: a bound."""
    monkeypatch.setattr("optsched.routes.assignment.solve_assignment", interrupted)
    asked = ("papers/guo-fig2", "--problem", "lsap")
    assert [entry["reference_kind"] for entry in records(*asked, "--repeats", "3", code=130)] == ["bound"]
    assert "lsap-sched" in stdout("matrix", *asked, "--heuristic", "lsap-sched", code=130)


def test_what_was_decided_elsewhere(tmp_path: Path) -> None:
    """Tests that what files decide is measured, by their problem and parameters, where none are given."""
    solution, schedule, other = (str(tmp_path / f"{name}.json") for name in ("solution", "schedule", "other"))
    solving = ("solve", "papers/labl-figure2", "--problem", "latency", "--output")
    stdout(*solving, solution, "--param", "w_rem=7")
    running = ("simulate", "examples/order-of-jobs", "--policy", "fair", "--heartbeat", "0", "--schedule", schedule)
    stdout(*running)

    asked = ("papers/labl-figure2", "--solution", solution)
    measured = records(*asked, "--heuristic", "labl")
    assert [(entry["heuristic"], entry["relative_gap"], entry["parameters"]["w_rem"]) for entry in measured] == [
        ("labl", [pytest.approx(1 / 7), None], 7),
        (solution, [0, 0], 7),
    ]
    (posed_otherwise,) = records(*asked, "--problem", "latency", "--param", "w_rem=3")
    assert (posed_otherwise["objective"], posed_otherwise["reference"]) == ([7, 22], [6, 24])
    (run_before,) = records("examples/order-of-jobs", "--solution", schedule)
    assert (run_before["problem"], run_before["feasible"], run_before["reference"]) == ("makespan", True, 15)

    stdout(*solving, other, "--param", "w_rem=4")
    for wrong, expected in (
        (("papers/guo-fig2", *asked[1:]), f"{solution}: holds no decision on guo-fig2; give a solution of it"),
        (("papers/guo-fig2", "papers/guo-table2", *asked[1:]), "--solution is of one instance, and 2 are named"),
        ((*asked, "--solution", other), "has other parameters of latency"),
    ):
        assert expected in stderr("gap", *wrong, code=2)


def test_from_records_to_a_report(tmp_path: Path) -> None:
    """Tests that what `gap --format json` writes makes a report, and that nothing is said where nothing is odd."""
    records, page, table = (str(tmp_path / name) for name in ("records.json", "report.html", "report.csv"))
    gap("papers/guo-table2", "--problem", "fair-lsap", "--heuristic", "dl", "--heuristic", "fair", "--output", records)
    done = run("report", records, "--to", page, "--to", table, "--title", "Mine", "--heuristic", "dl")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    text = Path(page).read_text(encoding="utf-8")
    assert "<h1>Mine</h1>" in text
    assert "1 run of 1 heuristic in 1 problem on 1 instance." in text
    assert re.search(r"gaps-fair-lsap,1,dl,mean,0.12\d*,12.5 %", Path(table).read_text(encoding="utf-8"))


def cells(text: str) -> dict[str, list[str]]:
    """The rows of a table, split where two blanks are."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_json_and_csv_have_every_cell(tmp_path: Path) -> None:
    """Tests that there is a record a cell, with where it ran and why there is no gap."""
    target, labl = tmp_path / "matrix.csv", "labl,lbar=inf"
    names = ["--problem", "lsap", "--problem", "latency", "--heuristic", "dl", "--heuristic", labl]
    found = answer("matrix", "papers/guo-fig2", *names)
    expected = [("dl", "lsap"), ("dl", "latency"), (labl, "lsap"), (labl, "latency")]
    assert [(record["heuristic"], record["problem"]) for record in found] == expected
    assert [record["ran_in"] for record in found] == ["lsap", "lsap", "latency", "latency"]
    assert [record["reason"] is None for record in found] == [record["absolute_gap"] is not None for record in found]
    stdout("matrix", "papers/guo-fig2", *names, "--output", str(target))
    assert len(target.read_text().splitlines()) == 1 + len(found)


@pytest.mark.usefixtures("own")
def test_failing_heuristic_is_a_word_and_an_exit_code() -> None:
    """Tests that a heuristic that raises leaves the table whole, and the exit code 4."""
    names = ["--heuristic", "own_rules:crash", "--heuristic", "lsap-sched", "--problem", "lsap"]
    result = run("matrix", "papers/guo-fig2", *names)
    assert result.exit_code == 4
    table = cells(result.stdout)
    assert (table["own_rules:crash"], table["lsap-sched"]) == (["failed"], ["0 %"])
    assert "ValueError: no idea" in result.stderr


def test_bug_lines_were_drawn_where_stderr_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that whether a table is drawn is asked of stdout, which stands for stderr while heuristics run."""
    asked = []
    drawn = property(lambda out: bool(asked.append(sys.stdout is sys.stderr)))
    monkeypatch.setattr("optsched.cli.arguments.Out.drawn", drawn)
    for command in (["gap"], ["matrix"], ["gap", "papers/guo-table2"]):
        run(*command, "papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl")
    run("simulate", "examples/order-of-jobs", "--policy", "dl", "--seed", "0")
    assert asked == [False] * 4


def test_bug_gaps_of_several_components_had_no_legend() -> None:
    """Tests that a gap in work is marked among those in makespan, and that the legend says so."""
    shown = stdout("matrix", "papers/labl-figure2", "--problem", "latency")
    table = cells(shown)
    assert (table["round-robin"], table["flow-based"]) == (["33.3 %"], ["8.33 % (2)"])
    assert shown.endswith("\n(2) in latency: gap in work, where makespan is at the optimum\n")
