"""`optsched explain`, `gap --explain` and `show`: the formats, what they say and draw, and what ends them."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from command_line import answer, run, small, solved, stderr, stdout
from pictured import racked

import optsched

pytestmark = pytest.mark.usefixtures("wide_page")


#: An instance and a problem over time.
DAY = ("examples/order-of-jobs", "--problem", "job-times")
EXAMPLE = ("explain", "generated/lsap-n20-t15-seed0", "--problem", "lsap", "--heuristic", "rand")


def test_words() -> None:
    """Tests the sentences, the line for chains beyond `--most`, and that notes go to stderr."""
    lines = stdout(*EXAMPLE, "--most", "1").splitlines()
    assert lines[0] == "lsap-n20-t15-seed0, lsap: rand has locality-cost 8 (level); the proved optimum: 2."
    assert lines[1:3] == [
        "9 tasks of 15 are placed differently; every optimum moves at least as many.",
        "  -  4 avoidable rack-local maps (4 less locality-cost), on n7, n18, n10 and 1 more",
    ]
    # Which of the optima it is may change with the solver.
    first = r"  1\. 4 less locality-cost: t\d+ from waiting to n\d+, where .* \(pays 0\), which pushes"
    assert re.match(first, lines[4])
    assert lines[5:7] == [
        "     and 1 more of 3 moves: together 2 less locality-cost",
        "Together: 6 less locality-cost, which is the gap.",
    ]
    assert "5 of 15 maps wait" in stderr(*EXAMPLE)


def test_lines_fit_the_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that no line is wider than the terminal, of a schedule and in a file too, and that nothing is lost."""
    target = tmp_path / "why.txt"
    for arguments in (EXAMPLE, ("explain", *DAY, "--heuristic", "fair")):
        monkeypatch.setenv("COLUMNS", "60")
        folded = stdout(*arguments)
        assert max(map(len, folded.splitlines())) <= 60
        stdout(*arguments, "--output", str(target))
        assert target.read_text() == folded
        monkeypatch.setenv("COLUMNS", "600")
        assert folded.split() == stdout(*arguments).split()


def test_table() -> None:
    """Tests a row a move, the gain in the first row of each chain, two rows that sum up, and one for each change."""
    rows = [line.split() for line in stdout(*EXAMPLE, "--format", "table", "--most", "1").splitlines()]
    assert rows[0][:6] == ["chain", "kind", "gain", "task", "from", "to"]
    assert (rows[2][:3], rows[2][4], rows[2][6:]) == (["1", "cycle", "4"], "-", ["-", "0", "-", "node"])
    assert rows[3][1] == rows[2][5], "a task is pushed from the place that the one before enters"
    assert rows[-6] == ["1", "more", "2", "3", "tasks"]
    assert rows[-5] == ["all", "6", "9", "tasks"]
    assert [row[:2] for row in rows[-4:]] == [["if", "replica"]] * 2 + [["if", "slot"]] * 2
    changes = answer(*EXAMPLE)["worths"]
    assert [(row[1], int(row[2]), row[3], row[4]) for row in rows[-4:]] == [
        (entry["change"], entry["gain"][0], entry["of"], entry["node"]) for entry in changes
    ]


def test_json_adds_up(tmp_path: Path) -> None:
    """Tests that the gains in JSON, written exactly, add up to the gap, with what is not written out in `rest`."""
    target = tmp_path / "why.json"
    arguments = ["papers/hsu-two-clusters", "--problem", "flow", "--heuristic", "dl", "--format", "json"]
    assert stdout("explain", *arguments, "--output", str(target)) == ""
    record = json.loads(target.read_text())
    assert record["version"]
    assert Fraction(record["gap"][0]) == sum(Fraction(chain["gain"][0]) for chain in record["chains"]) > 0
    record = answer(*EXAMPLE, "--most", "1", "--seed", "3")
    total = sum(chain["gain"][0] for chain in [*record["chains"], record["rest"]])
    assert (record["seed"], total) == (3, record["gap"][0])
    assert total == record["objective"][0] - record["reference"][0]


def test_a_solution_of_another_problem(tmp_path: Path) -> None:
    """Tests that the placement of a solution file is explained in whichever problem is asked for."""
    asked = ("explain", "examples/running-tasks", "--solution", str(solved(tmp_path, "lsap")), "--problem")
    assert "fair-lsap: the placement has" in stdout(*asked, "fair-lsap")
    assert "There is no gap: the placement is as good as the optimum.\n" in stdout(*asked, "lsap")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Heuristics of the working folder: one overfills a slot, one raises."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("bad_rules.py").write_text(
        "def crowds(problem, rng):\n    return [0] * len(problem.tasks)\n\n"
        "def broken(problem, rng):\n    raise KeyError('x')\n"
    )


@pytest.mark.usefixtures("own")
def test_infeasible_placement_has_no_gap() -> None:
    """Tests that a heuristic that overfills a slot is exit code 4, and in `gap --explain` the others are explained."""
    asked = ("papers/guo-fig2", "--problem", "lsap", "--heuristic", "bad_rules:crowds")
    assert "no gap to explain: slots(A) by 2" in stderr("explain", *asked, code=4)
    both = ("gap", *asked, "--heuristic", "dl", "--explain")
    assert [record["explanation"] is None for record in answer(*both)] == [True, False]
    assert "guo-fig2, lsap: dl has" in stdout(*both)


def test_out_of_time_has_nothing_to_compare_with() -> None:
    """Tests that without a reference the exit code is 5, and it is said."""
    result = run(*EXAMPLE[:-1], "lsap-sched", "--time-limit", "0")
    assert result.exit_code in (4, 5)
    assert "out of time" in result.stderr


def test_gap_explains() -> None:
    """Tests that `gap --explain` tells of each gap below the table, and of what has none nothing."""
    asked = ("gap", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "dl", "--heuristic", "lsap-sched")
    table, output = stdout(*asked, "--explain").split("\n\n")
    assert len(table.splitlines()) == 5
    assert output.startswith("guo-fig2, lsap: dl has locality-cost 1 (level); the proved optimum: 0.\n")
    assert [record["explanation"]["gap"] for record in answer(*asked, "--explain")] == [[1], [0]]
    assert all("explanation" not in record for record in answer(*asked))


def test_infeasible_problem_is_a_conflict(tmp_path: Path) -> None:
    """Tests that where nothing is feasible the tasks are named, without a heuristic, with exit code 6."""
    allowed = [[True, False], [False, True], [True, False]]
    file = small(
        tmp_path / "crowded.json",
        nodes=[{"id": "n1", "capacity": {"slots": 1}}, {"id": "n2", "capacity": {"slots": 9}}],
        tasks=[{"id": "t1"}, {"id": "t2"}, {"id": "t3"}],
        pairs={"cost": [[1, 1]] * 3, "demand": {"slots": [[1, 1]] * 3}, "allowed": allowed},
    )
    asked = ("explain", file, "--problem", "generalized-assignment")
    assert stdout(*asked, code=6).splitlines() == [
        "crowded, generalized-assignment: no placement is feasible.",
        "These 2 tasks can only go to n1, which holds 1 of them: t1, t3. Without any one of them the others can be "
        "placed.",
    ]
    record = answer(*asked, code=6)
    assert (record["reference_kind"], record["gap"], record["chains"]) == ("infeasible", None, [])
    assert record["conflict"] == {"tasks": ["t1", "t3"], "nodes": ["n1"], "slots": 1, "irreducible": True}
    rows = stdout(*asked, "--format", "table", code=6).splitlines()[2:]
    assert [row.split() for row in rows] == [["conflict", "t1", "n1"], ["conflict", "t3", "n1"]]


def test_schedules(tmp_path: Path) -> None:
    """Tests that a policy's schedule, and that of a file, are explained in words, as a table, as JSON and drawn."""
    held, picture = tmp_path / "held.json", tmp_path / "why.svg"
    stdout("simulate", DAY[0], "--policy", "fair", "--schedule", str(held))
    asked, of_file = ("explain", *DAY, "--heuristic", "fair"), ("explain", *DAY, "--solution", str(held))
    lines = stdout(*asked, "--to", str(picture), "--most", "1").splitlines()
    fair = "fair (levels, heartbeat 3 s) has a sum of 2 job times of 30 s"
    assert lines[0] == f"order-of-jobs, job-times: {fair}; the proved optimum: 19 s."
    assert lines[4].startswith("  1. short: 10.5 s, 3 s in the proved optimum, 3 s alone; its last task, short-r on ")
    assert lines[-2:] == ["  2 tasks before, then", "  13.5 to 19.5 s: long-3 on a: long-1 left the slot"]
    assert ">fair: job time 30, " in picture.read_text()
    assert stdout(*of_file).splitlines()[1:] == stdout(*asked).splitlines()[1:]
    assert [row.split()[:5] for row in stdout(*of_file, "--format", "table").splitlines()[2:]] == [
        ["short", "10.5", "3", "3", "short-r"],
        ["long", "19.5", "16", "10", "long-3"],
    ]
    shown = answer(*of_file)
    assert (shown["heuristic"], shown["gap"]) == ("the schedule", [11])
    assert [job["job"] for job in shown["jobs"]] == ["short", "long"]
    assert [link["why"] for link in shown["chain"]] == ["arrival", "slot", "slot"]
    measured = ("gap", *asked[1:], "--explain")
    assert answer(*measured)[0]["explanation"]["chain"] == shown["chain"]
    assert fair in stdout(*measured)


def test_schedules_where_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that the reason is reported with exit code 6, without a policy, and that there are no rows."""
    none = small(tmp_path / "none.json", nodes=[{"id": "a", "slots": 0}], tasks=[{"id": "t", "duration": 1}])
    asked = ("explain", none, "--problem", "makespan")
    assert stdout(*asked, code=6).count("no slot for a map ever becomes free") == 1
    assert len(stdout(*asked, "--format", "table", code=6).splitlines()) == 2
    tasks = [{"id": "t", "duration": 9, "state": "running", "node": "a", "start": 0}]
    ran = small(tmp_path / "ran.json", nodes=[{"id": "a", "idle_slots": 0}], tasks=tasks)
    row = stdout("explain", ran, *asked[2:], "--heuristic", "dl", "--format", "table").splitlines()[2]
    assert row.split() == ["t", "9", "9", "9", *"-------"]


FSY = "papers/fsy-not-optimal"


def test_side_by_side(tmp_path: Path) -> None:
    """Tests that heuristics with parameters, solution files and the optimum are drawn, and twice the same."""
    solution, target = str(tmp_path / "s.json"), tmp_path / "a.svg"
    stdout("solve", FSY, "--problem", "latency", "--output", solution)
    command = ["show", FSY, "--heuristic", "labl,variant=strict", "--solution", solution, "--to", str(target)]
    done = run(*command)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    drawn = target.read_text()
    for title in ("labl,variant=strict<", solution[:8], "optimum (proved: combinatorial)<", "makespan 3, work 9<"):
        assert f">{title}" in drawn
    run(*command)
    assert target.read_text() == drawn


def test_the_instance_alone(tmp_path: Path) -> None:
    """Tests that without a problem the instance is drawn as it is, and that a problem alone draws its optimum."""
    target, held = tmp_path / "a.svg", tmp_path / "racked.json"
    optsched.save(racked(), held)
    stdout("show", str(held), "--to", str(target))
    assert ">4 nodes, 2 racks, 5 tasks to place<" in target.read_text()
    stdout("show", FSY, "--problem", "latency", "--param", "w_rem=2", "--to", str(target))
    assert ">optimum (proved: combinatorial)<" in target.read_text()


def test_a_schedule_is_not_drawn_as_a_placement(tmp_path: Path) -> None:
    """Tests that a solution file that holds a schedule is refused where placements are due."""
    held, given, target = str(tmp_path / "s.json"), str(tmp_path / "day.json"), tmp_path / "a.svg"
    optsched.save(optsched.generate("job-times", seed=1, nodes=3, tasks=3, jobs=1, reduces=0), given)
    stdout("solve", given, "--problem", "makespan", "--output", held)
    mismatch = "holds a schedule, and latency decides a placement; give a solution of such a problem"
    for command, words, expected in (
        ("show", ("--to", str(target), "--solution"), mismatch.removesuffix(" a problem")),
        ("explain", ("--solution",), "holds no placement on this instance to explain"),
        ("solve", ("--start",), mismatch),
    ):
        assert f"{held}: {expected}" in stderr(command, given, "--problem", "latency", *words, held, code=2)
    assert not target.exists()


def test_schedules_are_gantt_charts(tmp_path: Path) -> None:
    """Tests heuristics, solution and schedule files of a problem over time side by side, and what judges the latter."""
    held, rest, target = str(tmp_path / "s.json"), str(tmp_path / "schedule.npz"), tmp_path / "a.svg"
    stdout("solve", *DAY, "--output", held)
    stdout("simulate", DAY[0], "--policy", "dl", "--schedule", rest)
    stdout("show", DAY[0], "--heuristic", "fair", "--solution", held, "--solution", rest, "--to", str(target))
    text = target.read_text()
    for name in ("fair: job time ", f"{held}: job time ", f"{rest}: job time ", "optimum (proved: "):
        assert f">{name}" in text
    said = stderr("show", DAY[0], "--solution", rest, "--to", str(target))
    assert "judged by makespan; --problem names another" in said
    assert f">{rest}: makespan " in target.read_text()
    none = small(tmp_path / "none.json", nodes=[{"id": "n", "slots": 0}], tasks=[{"id": "t", "duration": 5}])
    said = stderr("show", none, "--problem", "makespan", "--to", str(tmp_path / "b.svg"), code=2)
    assert "makespan: no schedule is known to draw: INFEASIBLE" in said
    assert not (tmp_path / "b.svg").exists()


@pytest.mark.thorough
def test_problem_by_default(tmp_path: Path) -> None:
    """Tests that the first problem that all heuristics serve judges, with the given parameters, which is reported."""
    target = tmp_path / "a.svg"
    command = ("show", FSY, "--heuristic", "labl", "--heuristic", "round-robin", "--to", str(target))
    assert "judged by latency; --problem names another" in stderr(*command)
    stdout(*command, "--param", "w_rem=2")
    assert "makespan" in target.read_text()


@pytest.mark.thorough
def test_networks(tmp_path: Path) -> None:
    """Tests a flow network alone, and with its optimal flow."""
    target = tmp_path / "a.svg"
    stdout("show", "examples/negative-cycle", "--to", str(target))
    stdout("show", "examples/negative-cycle", "--problem", "min-cost-flow", "--to", str(target))
    assert "optimum: 3" in target.read_text()


@pytest.mark.thorough
@pytest.mark.usefixtures("own")
def test_a_heuristic_that_fails() -> None:
    """Tests that a heuristic that raises is drawn as failed beside the others, with exit code 4 and its error."""
    asked = ("show", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "bad_rules:broken", "--to", "a.svg")
    assert "KeyError" in stderr(*asked, code=4)
    assert ">bad_rules:broken: failed<" in Path("a.svg").read_text()
