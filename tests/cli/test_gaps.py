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
from stopping import interrupted
from traffic_instances import posed

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


def test_placements_in_ids() -> None:
    """Tests that records tell both placements on request, in CSV as in JSON: lists as JSON text, unknown as nothing."""
    asked = ("papers/guo-fig2", "--problem", "latency", "--heuristic", "labl", "--placements")
    (record,) = records(*asked)
    assert record["placement"].keys() == record["reference_placement"].keys() == {"T1", "T2", "T3"}
    assert set(record["reference_placement"].values()) == {"A", "B", "C"}
    (row,) = csv.DictReader(io.StringIO(gap(*asked, "--format", "csv")))
    assert list(row)[:2] == FIELDS[:2]
    for name in ("objective", "parameters", "reference_placement"):
        assert json.loads(row[name]) == record[name]
    assert row["error"] == ""


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


def test_reference_is_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that heuristics and seeds of one problem on one instance share a reference."""
    from optsched.measuring import gaps

    solved = []
    solve = gaps.solve
    monkeypatch.setattr(gaps, "solve", lambda problem, profile: solved.append(problem.name) or solve(problem, profile))
    found = records("papers/guo-fig2", "--problem", "lsap", "--problem", "latency", "--repeats", "3")
    runs = {(entry["problem"], entry["heuristic"], entry["seed"]) for entry in found}
    assert len(runs) == len(found) > 3 * 7
    assert solved == ["lsap", "latency"]


def test_repeats_are_seeds() -> None:
    """Tests that repeats are one record a seed, from --seed on, and mean, interval and worst in the table only."""
    args = ["papers/guo-oscillation", "--problem", "lsap", "--heuristic", "rand", "--seed", "5", "--repeats", "4"]
    found = records(*args)
    assert [entry["seed"] for entry in found] == [5, 6, 7, 8]
    heading, header, _, row = gap(*args).splitlines()
    assert heading.startswith("guo-oscillation, lsap: optimum")
    assert all(name in header for name in ("heuristic  ", "seeds", "mean gap ±95 %", "worst gap"))
    assert f"+{max(entry['absolute_gap'] for entry in found)}" in row


def test_output_file(tmp_path: Path) -> None:
    """Tests that --output gets the data, whole, and stdout nothing."""
    target = tmp_path / "gaps.json"
    args = ("gap", "papers/guo-fig2", "--heuristic", "dl", "--seed", "0", "--output", str(target))
    result = run(*args)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert len(json.loads(target.read_text())) == 1
    assert list(tmp_path.iterdir()) == [target]
    stdout(*args, "--format", "csv")
    assert target.read_text().startswith("version,instance,")


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


def test_problem_that_cannot_be_posed() -> None:
    """Tests that a problem asked for by name names the missing fields, exit code 3; by default it is passed over."""
    asked = ("papers/guo-fig2", "papers/labl-theorem1-a", "--problem", "fair-lsap", "--problem", "lsap")
    said = stderr("gap", *asked, code=3)
    assert [line.split(": ")[2] for line in said.splitlines()] == ["guo-fig2", "labl-theorem1-a"]
    assert "groups" in said
    assert {entry["problem"] for entry in records("papers/guo-fig2")} == {"lsap", "latency"}


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


def test_heuristic_without_its_fields(tmp_path: Path) -> None:
    """Tests that `observed` on an instance without records is exit code 3, and by default not run, not even partly."""
    assert "tasks[].observed" in stderr("gap", small(tmp_path / "bare.json"), "--heuristic", "observed", code=3)
    tasks = [{"id": "t0", "observed": "a"}, {"id": "t1"}]
    for held, runs in ((tasks, False), (tasks[:1], True)):
        file = small(tmp_path / "held.json", tasks=held)
        assert ("observed" in {entry["heuristic"] for entry in records(file)}) is runs


def test_library_passes_over_instances_without_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic named for the whole library runs where it can, and nowhere is an error."""
    monkeypatch.setattr("optsched.cli.gaps._shipped", lambda: ["papers/guo-fig2", "examples/racks"])
    stderr("gap", "--heuristic", "observed", code=3)
    said = stderr("gap", "--heuristic", "balancing", code=2)
    assert "balancing serves flow, flow-congestion, which no instance can pose" in said


@pytest.mark.usefixtures("own")
def test_failing_heuristics(tmp_path: Path) -> None:
    """Tests that a user's faulty heuristic is a record with its error, the others go on, and the exit code is 4."""
    args = [small(tmp_path / "small.json"), "--problem", "lsap", "--heuristic", "own_rules:crash", "--heuristic", "dl"]
    message = 'heuristic "own_rules:crash" raised ValueError: no idea at all'
    failed, other = records(*args, "--seed", "0", code=4)
    assert message in failed["error"]
    assert (failed["feasible"], failed["objective"], failed["relative_gap"]) == (False, None, None)
    assert (failed["reference"], other["error"]) == (other["reference"], None)
    result = run("gap", *args, "--seed", "0")
    assert "error: " in result.stdout
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.usefixtures("own")
def test_bug_what_is_not_repeatable_was_not_told() -> None:
    """Tests that random numbers from elsewhere than `rng` are reported on stderr."""
    asked = ("gap", "generated/lsap-n20-t15-seed0", "--problem", "lsap", "--heuristic", "own_rules:elsewhere")
    text = "is not repeatable: two runs on lsap-n20-t15-seed0 with seed 0 differ; draw from rng alone"
    assert f"optsched: warning: own_rules:elsewhere {text}\n" in stderr(*asked)


@pytest.mark.usefixtures("own")
def test_infeasible_placement_is_a_result(tmp_path: Path) -> None:
    """Tests that overfull slots are violations with exit code 0, and 4 only under --max-gap."""
    args = [small(tmp_path / "small.json"), "--problem", "lsap", "--heuristic", "own_rules:crowd"]
    (found,) = records(*args)
    assert {"constraint": "slots", "ids": ["a"], "amount": 2} in found["violations"]
    assert found["error"] is None
    assert "infeasible: " in gap(*args)
    assert "infeasible: slots(a) by 2" in stderr("gap", *args, "--max-gap", "1000%", code=4)


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
def test_own_parameters(tmp_path: Path) -> None:
    """Tests that a user's function in the working folder is found and gets its parameters as numbers."""
    args = [small(tmp_path / "small.json"), "--problem", "lsap", "--heuristic"]
    (found,) = records(*args, "own_rules:first,shift=1")
    assert (found["heuristic"], found["heuristic_parameters"]) == ("own_rules:first", {"shift": 1})
    assert "size" in stderr("gap", *args, "own_rules:first,shift=1,size=2", code=2)


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


def test_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    """Tests that Ctrl-C prints the records so far and ends with 130."""
    heuristics = ["--heuristic", "dl", "--heuristic", "hostile_heuristics:interrupts"]
    found = records(small(tmp_path / "small.json"), "--problem", "lsap", *heuristics, "--seed", "0", code=130)
    assert [entry["heuristic"] for entry in found] == ["dl"]


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


def test_same_heuristic_twice_is_two_rows() -> None:
    """Tests that a heuristic with different parameters has a row for each, labelled as it was given."""
    shown = gap("papers/guo-fig2", "--heuristic", "dl,reading=sweep", "--heuristic", "dl,reading=heartbeat")
    assert [line.split()[0] for line in shown.splitlines()[3:]] == ["dl,reading=sweep", "dl,reading=heartbeat"]
