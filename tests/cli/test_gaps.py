"""`optsched gap`, `matrix` and `report`: the work, what is printed, and every way in which a heuristic can fail."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import command_line
import pytest
from click.testing import Result
from command_line import small
from report_records import record, written
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

def short(problem, rng):
    return [0]

def stranger(problem, rng):
    return ["nowhere"] * len(problem.tasks)

def crowd(problem, rng):
    return [0] * len(problem.tasks)

def nothing(problem, rng):
    return None

def crash(problem, rng):
    raise ValueError("no idea\\nat all")

def leave(problem, rng):
    raise SystemExit(0)

def talk(problem, rng):
    print("thinking")
    return [0, 1, 2]

def stop(problem, rng):
    raise KeyboardInterrupt

def elsewhere(problem, rng, drawn=np.random.default_rng(1)):
    return drawn.permutation(20)[:15]
'''


def run(*args: str) -> Result:
    """What `optsched gap` does with the arguments."""
    return command_line.run("gap", *args)


def records(*args: str, code: int = 0) -> list[dict[str, Any]]:
    """Its JSON records, when it ends with `code`."""
    result = run(*args, "--format", "json")
    assert result.exit_code == code, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module `own_rules` of heuristics in the working folder."""
    (tmp_path / "own_rules.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    yield
    sys.modules.pop("own_rules", None)


def test_record_fields() -> None:
    """Tests that a record has the fields of the design in their order, numbers for one component, lists for two."""
    found = records("papers/guo-fig2", "--heuristic", "dl", "--heuristic", "labl", "--seed", "0")
    lsap, latency = found
    assert list(lsap) == [*FIELDS, "rounds", "idle_slot_time", "notes"]
    assert list(latency) == [*FIELDS, "work_gap_at_makespan", "makespan_gap_at_work", "notes"]
    assert (lsap["version"], lsap["instance"], lsap["problem"]) == (code_version(), "guo-fig2", "lsap")
    assert isinstance(lsap["objective"], int)
    assert lsap["sense"] == "min"
    assert latency["sense"] == ["min", "min"]
    assert latency["reference"] == [1, 3]


def test_placements_in_ids() -> None:
    """Tests that records tell both placements on request, in CSV as in JSON, and that a table cannot."""
    asked = ("papers/guo-fig2", "--problem", "lsap", "--heuristic", "lsap-sched", "--placements")
    (record,) = records(*asked)
    assert record["placement"].keys() == record["reference_placement"].keys() == {"T1", "T2", "T3"}
    assert set(record["reference_placement"].values()) == {"A", "B", "C"}
    (row,) = csv.DictReader(io.StringIO(run(*asked, "--format", "csv").stdout))
    assert json.loads(row["reference_placement"]) == record["reference_placement"]


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
    heading, header, _, row = run(*args).stdout.splitlines()
    assert heading.startswith("guo-oscillation, lsap: optimum")
    assert header.split("  ")[0] == "heuristic"
    assert all(name in header for name in ("seeds", "mean gap ±95 %", "worst gap"))
    worst = max(entry["absolute_gap"] for entry in found)
    assert f"+{worst}" in row


def test_csv_is_one_line_a_record() -> None:
    """Tests that CSV has the fields of the records, lists as JSON text, unknown as nothing."""
    result = run("papers/guo-fig2", "--problem", "latency", "--heuristic", "round-robin", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(result.stdout))
    assert list(row)[: len(FIELDS)] == FIELDS
    assert json.loads(row["objective"])[0] >= 1
    assert json.loads(row["parameters"]) == {"w_loc": 1, "w_rem": 3}
    assert row["error"] == ""


def test_output_file(tmp_path: Path) -> None:
    """Tests that --output gets the data, whole, and stdout nothing."""
    target = tmp_path / "gaps.json"
    result = run("papers/guo-fig2", "--heuristic", "dl", "--seed", "0", "--output", str(target))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert len(json.loads(target.read_text())) == 1
    assert list(tmp_path.iterdir()) == [target]
    assert run("papers/guo-fig2", "--heuristic", "dl", "--format", "csv", "--output", str(target)).exit_code == 0
    assert target.read_text().startswith("version,instance,")


def test_parameters() -> None:
    """Tests that --param overrides what comes with the instance, for the named problem only."""
    (found,) = records(
        "examples/racks", "--problem", "lsap", "--heuristic", "lsap-sched", "--param", "lsap.levels=0,1,1"
    )
    assert found["parameters"] == {"levels": [0, 1, 1]}
    (found,) = records("examples/half-units", "--problem", "latency", "--heuristic", "labl,variant=strict")
    assert found["heuristic_parameters"]["variant"] == "strict"


def test_same_heuristic_twice_is_two_rows() -> None:
    """Tests that a heuristic with different parameters has a row for each, labelled as it was given."""
    result = run("papers/guo-fig2", "--heuristic", "dl,reading=sweep", "--heuristic", "dl,reading=heartbeat")
    assert [line.split()[0] for line in result.stdout.splitlines()[3:]] == ["dl,reading=sweep", "dl,reading=heartbeat"]


def test_max_gap() -> None:
    """Tests that a gap over the limit is exit code 4, and reported after the data; infinity allows all."""
    args = ["examples/racks", "--problem", "lsap", "--heuristic", "rand"]
    result = run(*args, "--max-gap", "0.05")
    assert result.exit_code == 4
    assert "racks" in result.stdout
    assert "rand on racks, lsap: gap" in result.stderr
    assert run(*args, "--max-gap", "inf").exit_code == 0
    assert run(*args, "--max-gap", "5 %").stderr == result.stderr
    assert run("examples/racks", "--problem", "lsap", "--heuristic", "lsap-sched", "--max-gap", "0").exit_code == 0


def test_bug_a_gap_over_the_limit_had_a_line_of_fractions_for_each_seed() -> None:
    """Tests that each heuristic on an instance has one line: percents, the worst seed, and how many more there are."""
    heuristics = ["--heuristic", "rand", "--heuristic", "rand,randomness=0.5"]
    result = run("generated/lsap-n20-t15-seed0", "--problem", "lsap", *heuristics, "--max-gap", "5%")
    lines = [line for line in result.stderr.splitlines() if "error: " in line]
    assert len(lines) == 2
    assert re.search(r"error: rand on \S+, lsap: gap \d+ % is over 5 %: \d+ against the optimum 2 \(seed \d", lines[0])
    assert lines[0].endswith("and 9 more seeds)")


def test_problem_that_cannot_be_posed() -> None:
    """Tests that a problem asked for by name names the missing fields, exit code 3; by default it is passed over."""
    result = run("papers/guo-fig2", "papers/labl-theorem1-a", "--problem", "fair-lsap", "--problem", "lsap")
    assert (result.exit_code, result.stdout) == (3, "")
    assert [line.split(": ")[2] for line in result.stderr.splitlines()] == ["guo-fig2", "labl-theorem1-a"]
    assert "groups" in result.stderr
    assert {entry["problem"] for entry in records("papers/guo-fig2")} == {"lsap", "latency"}


def test_library_passes_over_instances_that_cannot_pose_the_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a problem named for the whole library is posed where it can be, and nowhere is one error."""
    monkeypatch.setattr("optsched.cli.gaps._shipped", lambda: ["papers/guo-fig2", "papers/guo-table2"])
    assert {entry["instance"] for entry in records("--problem", "fair-lsap")} == {"guo-table2"}
    assert {
        (entry["instance"], entry["problem"]) for entry in records("--problem", "fair-lsap", "--problem", "lsap")
    } == {
        ("guo-fig2", "lsap"),
        ("guo-table2", "lsap"),
        ("guo-table2", "fair-lsap"),
    }
    result = run("--problem", "transmission")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "guo-fig2: transmission: topology" in result.stderr
    assert "guo-table2" not in result.stderr, "told once, and not for each instance"
    result = run("--problem", "lsap", "--param", "levels=2,1,0")
    assert result.exit_code == 2, "a parameter that is wrong is no field that is missing"


def test_instance_of_which_nothing_can_be_posed(tmp_path: Path) -> None:
    """Tests that an instance that no problem takes is bad input."""
    file = small(tmp_path / "odd.json", parameters={"lsap": {"levels": [3, 2, 1]}, "latency": {"w_loc": -1}})
    result = run(file)
    assert result.exit_code == 3
    assert "odd: none of lsap, fair-lsap, lsap-fairness, worst-group, flow, " in result.stderr
    assert "generalized-assignment can be posed" in result.stderr


def test_heuristic_without_its_fields(tmp_path: Path) -> None:
    """Tests that `observed` on an instance without records is exit code 3, and by default not run, not even partly."""
    bare = small(tmp_path / "bare.json")
    result = run(bare, "--heuristic", "observed")
    assert result.exit_code == 3
    assert "tasks[].observed" in result.stderr
    tasks = [{"id": "t0", "observed": "a"}, {"id": "t1"}]
    partly = small(tmp_path / "partly.json", tasks=tasks)
    assert "observed" not in {entry["heuristic"] for entry in records(partly)}
    wholly = small(tmp_path / "wholly.json", tasks=[{"id": "t0", "observed": "a"}])
    assert "observed" in {entry["heuristic"] for entry in records(wholly)}


def test_library_passes_over_instances_without_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic named for the whole library runs where it can, and nowhere is an error."""
    monkeypatch.setattr("optsched.cli.gaps._shipped", lambda: ["papers/guo-fig2", "examples/racks"])
    result = run("--heuristic", "observed")
    assert result.exit_code == 3
    result = run("--heuristic", "balancing")
    assert result.exit_code == 2
    assert "balancing serves flow, flow-congestion, which no instance can pose" in result.stderr


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("short", "answered 1 nodes; give exactly one for each"),
        ("stranger", 'answered node "nowhere" for task "t0"'),
        ("nothing", "answered None"),
        ("crash", "raised ValueError: no idea at all"),
    ],
)
def test_failing_heuristics(tmp_path: Path, name: str, message: str) -> None:
    """Tests that a user's faulty heuristic is a record with its error, the others go on, and the exit code is 4."""
    file = small(tmp_path / "small.json")
    args = [file, "--problem", "lsap", "--heuristic", f"own_rules:{name}", "--heuristic", "dl", "--seed", "0"]
    failed, other = records(*args, code=4)
    assert message in failed["error"]
    assert f"own_rules:{name}" in failed["error"]
    assert (failed["feasible"], failed["objective"], failed["relative_gap"]) == (False, None, None)
    assert failed["reference"] == other["reference"]
    assert other["error"] is None
    result = run(*args)
    assert result.exit_code == 4
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert "error: " in result.stdout


@pytest.mark.usefixtures("own")
def test_bug_what_is_not_repeatable_was_not_told() -> None:
    """Tests that random numbers from elsewhere than `rng` are reported on stderr."""
    result = run("generated/lsap-n20-t15-seed0", "--problem", "lsap", "--heuristic", "own_rules:elsewhere")
    text = (
        "own_rules:elsewhere is not repeatable: two runs on lsap-n20-t15-seed0 with seed 0 differ; draw from rng alone"
    )
    assert f"optsched: warning: {text}\n" in result.stderr


@pytest.mark.usefixtures("own")
def test_infeasible_placement_is_a_result(tmp_path: Path) -> None:
    """Tests that overfull slots are violations with exit code 0, and 4 only under --max-gap."""
    file = small(tmp_path / "small.json")
    args = [file, "--problem", "lsap", "--heuristic", "own_rules:crowd"]
    (found,) = records(*args)
    assert {"constraint": "slots", "ids": ["a"], "amount": 2} in found["violations"]
    assert found["error"] is None
    assert "infeasible: " in run(*args).stdout
    result = run(*args, "--max-gap", "1000%")
    assert result.exit_code == 4
    assert "infeasible: slots(a) by 2" in result.stderr


def test_instance_where_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that what proves that nothing is feasible is shown, with exit code 6 where that is so of every problem."""
    full = posed([[0]], reduces=2, nodes=[0, 1, 2], reduce_slots=[3, 3, 0], jobs=3, capacity="slots")
    file, name = str(tmp_path / "full.json"), "papers/joss-empty-datacenter"
    optsched.save(replace(full.instance, parameters={"traffic": dict(full.parameters)}), file)
    args = [file, "--problem", "traffic", "--heuristic", "joss-t"]
    result = run(*args)
    assert (result.exit_code, "small, traffic: nothing is feasible: proof: dual" in result.stdout) == (6, True)
    assert "warning: small, traffic: nothing is feasible: proof: dual" in result.stderr
    assert run(*args, "--max-gap", "900%").exit_code == 4
    both = run(*args, name)
    assert (both.exit_code, "nothing is feasible: proof: dual" in both.stderr) == (0, True)
    alone = run(name, *args[1:])
    assert (alone.exit_code, "nothing is feasible" in alone.stderr) == (0, False)


@pytest.mark.usefixtures("own")
def test_own_parameters(tmp_path: Path) -> None:
    """Tests that a user's function in the working folder is found and gets its parameters as numbers."""
    file = small(tmp_path / "small.json")
    (found,) = records(file, "--problem", "lsap", "--heuristic", "own_rules:first,shift=1")
    assert (found["heuristic"], found["heuristic_parameters"]) == ("own_rules:first", {"shift": 1})
    result = run(file, "--problem", "lsap", "--heuristic", "own_rules:first,shift=1,size=2")
    assert result.exit_code == 2
    assert "size" in result.stderr


@pytest.mark.usefixtures("own")
def test_heuristic_that_prints_or_exits(tmp_path: Path) -> None:
    """Tests that what a heuristic prints stays out of the data, and one that ends the process is exit code 4."""
    file = small(tmp_path / "small.json")
    result = run(file, "--problem", "lsap", "--heuristic", "own_rules:talk", "--seed", "0", "--format", "json")
    assert len(json.loads(result.stdout)) == 1
    assert result.stderr == "thinking\n"
    args = [file, "--problem", "lsap", "--heuristic", "dl", "--heuristic", "own_rules:leave", "--seed", "0"]
    result = run(*args, "--format", "json")
    assert result.exit_code == 4
    assert [entry["error"] is None for entry in json.loads(result.stdout)] == [True, False]
    assert 'heuristic "own_rules:leave" raised SystemExit: 0' in result.stderr


@pytest.mark.usefixtures("own")
def test_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    """Tests that Ctrl-C prints the records so far and ends with 130."""
    file = small(tmp_path / "small.json")
    args = [file, "--problem", "lsap", "--heuristic", "dl", "--heuristic", "own_rules:stop", "--seed", "0"]
    found = records(*args, code=130)
    assert [entry["heuristic"] for entry in found] == ["dl"]


def test_too_large_a_problem_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a problem too large to be solved is reported once on stderr, and has a cheap bound beside it."""
    monkeypatch.setattr("optsched.problems.flow_congestion.MOST_PATTERNS", 5)
    result = run("papers/hsu-two-clusters", "--heuristic", "flow-sched", "--format", "json")
    assert result.exit_code == 0
    found = {entry["problem"]: (entry["relative_gap"], entry["reference"]) for entry in json.loads(result.stdout)}
    assert found["flow"][0] == 0
    assert found["flow-congestion"][0] > 0
    assert len(result.stderr.splitlines()) == 1
    assert "warning: not solved: hsu-two-clusters: flow-congestion: 4 types of tasks make" in result.stderr


def test_interrupted_reference_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an interrupt within a solver, which is a solution with a bound, still ends the command with 130."""

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.routes.assignment.solve_assignment", interrupted)
    found = records("papers/guo-fig2", "--problem", "lsap", "--repeats", "3", code=130)
    assert [entry["reference_kind"] for entry in found] == ["bound"]


def test_nothing_but_data_on_stdout() -> None:
    """Tests that without a terminal there is no progress: stderr is empty."""
    result = run("papers/guo-fig2", "--problem", "lsap")
    assert result.stderr == ""
    assert all(line.isprintable() for line in result.stdout.splitlines())


def test_yahoo_trace(real_data: Path, tmp_path: Path) -> None:
    """Tests Hadoop's own placements of the yahoo4 trace against the proved optimum over the same slots."""
    folder = tmp_path / "jobs"
    hadoop = real_data / "hadoop"
    topology = str(hadoop / "yahoo4.topology.json.gz")
    args = ["import", "rumen", str(hadoop / "yahoo4.trace.json.gz"), "--topology", topology]
    result = command_line.run(*args, "--slots", "observed", "--split-jobs", str(folder))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "has no maps; skipped" in result.stderr
    files = sorted(map(str, folder.iterdir()))
    found = records(*files, "--problem", "lsap", "--heuristic", "observed", "--heuristic", "dl", "--seed", "0")
    expected = {entry["instance"][-4:]: (entry["objective"], entry["reference"]) for entry in found[::2]}
    assert [entry["heuristic"] for entry in found] == ["observed", "dl"] * 3
    assert expected == {"0002": (36, 33), "0003": (6, 6), "0004": (142, 114)}
    assert {entry["certificate"] for entry in found} == {"dual"}


def test_what_was_decided_elsewhere(tmp_path: Path) -> None:
    """Tests that what files decide is measured, by their problem and parameters, where none are given."""
    solution, schedule = str(tmp_path / "solution.json"), str(tmp_path / "schedule.json")
    solving = ("solve", "papers/labl-figure2", "--problem", "latency", "--param", "w_rem=7", "--output", solution)
    assert command_line.run(*solving).exit_code == 0
    running = ("simulate", "examples/order-of-jobs", "--policy", "fair", "--heartbeat", "0", "--schedule", schedule)
    assert command_line.run(*running).exit_code == 0

    measured = command_line.answer("gap", "papers/labl-figure2", "--solution", solution, "--heuristic", "labl")
    assert [(entry["heuristic"], entry["relative_gap"], entry["parameters"]["w_rem"]) for entry in measured] == [
        ("labl", [pytest.approx(1 / 7), None], 7),
        (solution, [0, 0], 7),
    ]
    asked = ("gap", "papers/labl-figure2", "--solution", solution)
    (other,) = command_line.answer(*asked, "--problem", "latency", "--param", "w_rem=3")
    assert (other["objective"], other["reference"]) == ([7, 22], [6, 24])
    (run_before,) = command_line.answer("gap", "examples/order-of-jobs", "--solution", schedule)
    assert (run_before["problem"], run_before["feasible"], run_before["reference"]) == ("makespan", True, 15)

    for wrong, expected in (
        (("papers/guo-fig2",), f"{solution}: holds no decision on guo-fig2; give a solution of it"),
        (("papers/guo-fig2", "papers/guo-table2"), "--solution is of one instance, and 2 are named"),
    ):
        refused = command_line.run("gap", *wrong, "--solution", solution)
        assert (refused.exit_code, expected in refused.stderr) == (2, True), refused.stderr
    twice = str(tmp_path / "other.json")
    assert command_line.run(*solving[:-1], twice, "--param", "w_rem=4").exit_code == 0
    refused = command_line.run(*asked, "--solution", twice)
    assert (refused.exit_code, "has other parameters of latency" in refused.stderr) == (2, True)


def test_from_records_to_a_report(tmp_path: Path) -> None:
    """Tests that what `gap --format json` writes makes a report, and that nothing is said where nothing is odd."""
    records, page, table = (str(tmp_path / name) for name in ("records.json", "report.html", "report.csv"))
    words = ["gap", "papers/guo-table2", "--problem", "fair-lsap", "--heuristic", "dl", "--heuristic", "fair"]
    assert command_line.run(*words, "--output", records).exit_code == 0
    done = command_line.run("report", records, "--to", page, "--to", table, "--title", "Mine", "--heuristic", "dl")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    text = Path(page).read_text(encoding="utf-8")
    assert "<h1>Mine</h1>" in text
    assert "1 run of 1 heuristic in 1 problem on 1 instance." in text
    assert "gaps-fair-lsap,1,dl,mean,0.125,12.5 %" in Path(table).read_text(encoding="utf-8").replace(
        "0.12499999463558199", "0.125"
    )


@pytest.mark.parametrize(
    ("content", "words", "code", "message"),
    [
        ("[]", ["--to", "a.md"], 3, "records.json: holds no records"),
        (None, ["--to", "a.md", "--problem", "flw"], 2, 'no record is of problem "flw"'),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, words: list[str], code: int, message: str
) -> None:
    """Tests exit code and message, and that nothing is written."""
    source = written(tmp_path, [record()] if content is None else content)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    done = command_line.run("report", source, *words)
    assert done.exit_code == code
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(Path().iterdir())


def cells(text: str) -> dict[str, list[str]]:
    """The rows of a table, split where two blanks are."""
    rows = [[cell for cell in line.split("  ") if cell] for line in text.splitlines()]
    return {row[0]: [cell.strip() for cell in row[1:]] for row in rows}


def test_table_of_the_worked_example() -> None:
    """Tests gaps, differences beside 0, marks of what is carried over, and one-word reasons."""
    result = command_line.run("matrix", "papers/guo-fig2", "--problem", "lsap", "--problem", "latency")
    assert result.exit_code == 0
    table = cells(result.stdout)
    assert table["heuristic"] == ["lsap", "latency"]
    assert table["lsap-sched"] == ["0 %", "0 % *"]
    assert table["dl"] == ["+1", "200 % *"]
    assert table["labl"] == ["slots *", "100 %"]


def test_json_and_csv_have_every_cell(tmp_path: Path) -> None:
    """Tests that there is a record a cell, with where it ran and why there is no gap."""
    names = ["--problem", "lsap", "--problem", "latency", "--heuristic", "dl", "--heuristic", "labl,lbar=inf"]
    result = command_line.run("matrix", "papers/guo-fig2", *names, "--format", "json")
    found = json.loads(result.stdout)
    assert [(record["heuristic"], record["problem"], record["ran_in"]) for record in found] == [
        ("dl", "lsap", "lsap"),
        ("dl", "latency", "lsap"),
        ("labl,lbar=inf", "lsap", "latency"),
        ("labl,lbar=inf", "latency", "latency"),
    ]
    assert [record["reason"] is None for record in found] == [record["absolute_gap"] is not None for record in found]
    target = tmp_path / "matrix.csv"
    assert command_line.run("matrix", "papers/guo-fig2", *names, "--output", str(target)).exit_code == 0
    assert len(target.read_text().splitlines()) == 1 + len(found)


def test_failing_heuristic_is_a_word_and_an_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic that raises leaves the table whole, and the exit code 4."""
    (tmp_path / "broken_rule.py").write_text('def rule(problem, rng):\n    raise LookupError("lost")\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ["--heuristic", "broken_rule:rule", "--heuristic", "lsap-sched", "--problem", "lsap"]
    result = command_line.run("matrix", "papers/guo-fig2", *names)
    assert result.exit_code == 4
    assert cells(result.stdout) == {
        "heuristic": ["lsap"],
        "-" * 16: ["-" * 6],
        "broken_rule:rule": ["failed"],
        "lsap-sched": ["0 %"],
    }
    assert "LookupError: lost" in result.stderr


def test_interrupted_solver_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C inside a solver ends the command after what is known was printed."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.routes.assignment.solve_assignment", interrupted)
    result = command_line.run("matrix", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "lsap-sched")
    assert result.exit_code == 130
    assert "lsap-sched" in result.stdout


def test_bug_lines_were_drawn_where_stderr_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that whether a table is drawn is asked of stdout, which stands for stderr while heuristics run."""
    asked = []
    monkeypatch.setattr("optsched.cli.output.drawn", lambda output: bool(asked.append(sys.stdout is sys.stderr)))
    for command in (["gap"], ["matrix"], ["gap", "papers/guo-table2"]):
        command_line.run(*command, "papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl")
    command_line.run("simulate", "examples/order-of-jobs", "--policy", "dl", "--seed", "0")
    assert asked == [False] * 4


def test_bug_gaps_of_several_components_had_no_legend() -> None:
    """Tests that a gap in work is marked among those in makespan, and that the legend says so."""
    result = command_line.run("matrix", "papers/labl-figure2", "--problem", "latency")
    table = cells(result.stdout)
    assert (table["round-robin"], table["flow-based"]) == (["33.3 %"], ["8.33 % (2)"])
    assert result.stdout.endswith("\n(2) in latency: gap in work, where makespan is at the optimum\n")
