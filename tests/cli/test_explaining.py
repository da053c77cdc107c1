"""`optsched explain` and `gap --explain`: the three formats, what they say, and what ends them."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from command_line import answer, run, solved

pytestmark = pytest.mark.usefixtures("wide_page")


EXAMPLE = ("explain", "generated/lsap-n20-t15-seed0", "--problem", "lsap", "--heuristic", "rand")


def test_words() -> None:
    """Tests the sentences, the line for chains beyond `--most`, and that notes go to stderr."""
    result = run(*EXAMPLE, "--most", "1")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "lsap-n20-t15-seed0, lsap: rand has 8 locality-cost (level); the proved optimum: 2."
    assert lines[1:3] == [
        "9 tasks of 15 are placed differently; every optimum moves at least as many.",
        "  -  4 avoidable rack-local maps (4 less locality-cost), on n7, n18, n10 and 1 more",
    ]
    # Which of the optima it is may change with the solver.
    assert re.match(
        r"  1\. 4 less locality-cost: t\d+ from waiting to n\d+, where .* \(pays 0\), which pushes", lines[4]
    )
    assert lines[5:7] == [
        "     and 1 more of 3 moves: together 2 less locality-cost",
        "Together: 6 less locality-cost, which is the gap.",
    ]
    assert "5 of 15 maps wait" in result.stderr


def test_lines_fit_the_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that no line is wider than the terminal, of a schedule and in a file too, and that nothing is lost."""
    schedule = ("explain", "examples/order-of-jobs", "--problem", "job-times", "--heuristic", "fair")
    for arguments in (EXAMPLE, schedule):
        monkeypatch.setenv("COLUMNS", "60")
        folded = run(*arguments).stdout
        assert max(map(len, folded.splitlines())) <= 60
        target = tmp_path / "why.txt"
        run(*arguments, "--output", str(target))
        assert target.read_text() == folded
        monkeypatch.setenv("COLUMNS", "600")
        assert folded.split() == run(*arguments).stdout.split()


def test_table() -> None:
    """Tests a row a move, the gain in the first row of each chain, two rows that sum up, and one for each change."""
    rows = [line.split() for line in run(*EXAMPLE, "--format", "table", "--most", "1").stdout.splitlines()]
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
    assert run("explain", *arguments, "--output", str(target)).stdout == ""
    record = json.loads(target.read_text())
    assert record["version"]
    assert Fraction(record["gap"][0]) == sum(Fraction(chain["gain"][0]) for chain in record["chains"]) > 0
    record = answer(*EXAMPLE, "--most", "1", "--seed", "3")
    total = sum(chain["gain"][0] for chain in record["chains"]) + record["rest"]["gain"][0]
    assert (record["seed"], total) == (3, record["gap"][0])
    assert total == record["objective"][0] - record["reference"][0]


def test_a_solution_of_another_problem(tmp_path: Path) -> None:
    """Tests that the placement of a solution file is explained in whichever problem is asked for."""
    file = str(solved(tmp_path, "lsap"))
    result = run("explain", "examples/running-tasks", "--problem", "fair-lsap", "--solution", file)
    assert result.exit_code == 0, result.stderr
    assert "fair-lsap: the placement has" in result.stdout
    same = run("explain", "examples/running-tasks", "--problem", "lsap", "--solution", file)
    assert "There is no gap: the placement is as good as the optimum.\n" in same.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([], 2, "give one of them"),
        (["--heuristic", "dl", "--solution", "x.json"], 2, "give one of them"),
        (["--heuristic", "dll"], 2, 'there is no heuristic "dll"; did you mean "dl"'),
        (["--heuristic", "labl"], 2, "labl does not serve lsap"),
        (["--heuristic", "observed"], 3, "observed"),
        (["--solution", "no-such-file.json"], 3, "no-such-file.json"),
        (["--heuristic", "dl", "--param", "levels=1"], 2, "give 3 values"),
    ],
)
def test_wrong_usage_is_one_message(arguments: list[str], code: int, told: str) -> None:
    """Tests exit codes and messages of what cannot be explained."""
    result = run("explain", "papers/guo-fig2", "--problem", "lsap", *arguments)
    assert result.exit_code == code
    assert told in result.stderr
    assert not result.stdout


def test_a_flow_is_refused() -> None:
    """Tests that a problem without placements is refused before anything is read."""
    result = run("explain", "no-such-file", "--problem", "min-cost-flow", "--heuristic", "dl")
    assert result.exit_code == 2
    assert "min-cost-flow decides a flow: explain is of moves of tasks" in result.stderr


def test_solution_without_a_placement(tmp_path: Path) -> None:
    """Tests that a solution file that holds nothing says so."""
    file = solved(tmp_path, "lsap")
    held = json.loads(file.read_text())
    file.write_text(json.dumps({**held, "placement": None, "objective": None, "termination": "NO_SOLUTION"}))
    result = run("explain", "examples/running-tasks", "--problem", "lsap", "--solution", str(file))
    assert result.exit_code == 2
    assert "holds no placement on this instance to explain" in result.stderr


def test_infeasible_placement_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic that overfills a slot has no gap: exit code 4, and the violation."""
    (tmp_path / "crowding_rule.py").write_text("def rule(problem, rng):\n    return [0] * len(problem.tasks)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    result = run("explain", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "crowding_rule:rule")
    assert result.exit_code == 4
    assert "no gap to explain: slots(A) by 2" in result.stderr


def test_out_of_time_has_nothing_to_compare_with() -> None:
    """Tests that without a reference the exit code is 5, and it is said."""
    result = run(*EXAMPLE[:-1], "lsap-sched", "--time-limit", "0")
    assert result.exit_code in (4, 5)
    assert "out of time" in result.stderr


def test_gap_explains() -> None:
    """Tests that `gap --explain` tells of each gap below the table, and of what has none nothing."""
    names = ["--problem", "lsap", "--heuristic", "dl", "--heuristic", "lsap-sched", "--explain"]
    result = run("gap", "papers/guo-fig2", *names)
    table, told = result.stdout.split("\n\n")
    assert len(table.splitlines()) == 5
    assert told.startswith("guo-fig2, lsap: dl has 1 locality-cost (level); the proved optimum: 0.\n")
    records = json.loads(run("gap", "papers/guo-fig2", *names, "--format", "json").stdout)
    assert [record["explanation"]["gap"] for record in records] == [[1], [0]]
    plain = json.loads(run("gap", "papers/guo-fig2", *names[:-1], "--format", "json").stdout)
    assert all("explanation" not in record for record in plain)


def test_gap_explains_no_csv() -> None:
    """Tests that explanations in a form that cannot hold them are wrong usage."""
    result = run("gap", "papers/guo-fig2", "--problem", "lsap", "--explain", "--format=csv")
    assert result.exit_code == 2
    assert "table or json" in result.stderr


def test_gap_explains_no_infeasible_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a run without a gap has no explanation, and the others have."""
    (tmp_path / "crowding_rule.py").write_text("def rule(problem, rng):\n    return [0] * len(problem.tasks)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ["--problem", "lsap", "--heuristic", "crowding_rule:rule", "--heuristic", "dl", "--explain"]
    records = json.loads(run("gap", "papers/guo-fig2", *names, "--format", "json").stdout)
    assert [record["explanation"] is None for record in records] == [True, False]
    assert "guo-fig2, lsap: dl has" in run("gap", "papers/guo-fig2", *names).stdout


def test_infeasible_problem_is_a_conflict(tmp_path: Path) -> None:
    """Tests that where nothing is feasible the tasks are named, without a heuristic, with exit code 6."""
    document = {
        "format": "optsched/1",
        "name": "crowded",
        "nodes": [{"id": "n1", "capacity": {"slots": 1}}, {"id": "n2", "capacity": {"slots": 9}}],
        "tasks": [{"id": "t1"}, {"id": "t2"}, {"id": "t3"}],
        "pairs": {
            "cost": [[1, 1]] * 3,
            "demand": {"slots": [[1, 1]] * 3},
            "allowed": [[True, False], [False, True], [True, False]],
        },
    }
    file = tmp_path / "crowded.json"
    file.write_text(json.dumps(document))
    arguments = ["explain", str(file), "--problem", "generalized-assignment"]
    result = run(*arguments)
    assert result.exit_code == 6
    assert result.stdout.splitlines() == [
        "crowded, generalized-assignment: no placement is feasible.",
        "These 2 tasks can only go to n1, which holds 1 of them: t1, t3. Without any one of them the others can be "
        "placed.",
    ]
    found = run(*arguments, "--format", "json")
    assert found.exit_code == 6
    record = json.loads(found.stdout)
    assert (record["reference_kind"], record["gap"], record["chains"]) == ("infeasible", None, [])
    assert record["conflict"] == {"tasks": ["t1", "t3"], "nodes": ["n1"], "slots": 1, "irreducible": True}
    table = run(*arguments, "--format", "table")
    assert [line.split() for line in table.stdout.splitlines()[2:]] == [
        ["conflict", "t1", "n1"],
        ["conflict", "t3", "n1"],
    ]


def test_picture(tmp_path: Path) -> None:
    """Tests that the chains are drawn beside the words, and that what cannot be drawn is told before."""
    target = tmp_path / "e.svg"
    asked = ("explain", "papers/fsy-not-optimal", "--problem", "latency", "--heuristic", "round-robin", "--to")
    done = run(*asked, str(target))
    assert (done.exit_code, done.stderr) == (0, "")
    assert ">1. 2 less work<" in target.read_text()
    assert "which is the gap" in done.stdout
    refused = run(*asked, str(tmp_path / "e.xyz"))
    assert (refused.exit_code, refused.stdout) == (2, "")


def test_schedules(tmp_path: Path) -> None:
    """Tests that a policy's schedule, and that of a file, are explained in words, as a table, as JSON and drawn."""
    held, picture = tmp_path / "held.json", tmp_path / "why.svg"
    given = ("examples/order-of-jobs", "--problem", "job-times")
    assert run("simulate", given[0], "--policy", "fair", "--schedule", str(held)).exit_code == 0
    done = run("explain", *given, "--heuristic", "fair", "--to", str(picture), "--most", "1")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    fair = "fair (levels, heartbeat 3 s) has a sum of 2 job times of 30 s"
    assert lines[0] == f"order-of-jobs, job-times: {fair}; the proved optimum: 19 s."
    assert lines[4].startswith("  1. short: 10.5 s, 3 s in the proved optimum, 3 s alone; its last task, short-r on ")
    assert lines[-2:] == ["  2 tasks before, then", "  13.5 to 19.5 s: long-3 on a: long-1 left the slot"]
    assert ">fair: job time 30, " in picture.read_text()
    again = run("explain", *given, "--solution", str(held))
    assert again.stdout.splitlines()[1:] == run("explain", *given, "--heuristic", "fair").stdout.splitlines()[1:]
    table = run("explain", *given, "--solution", str(held), "--format", "table").stdout.splitlines()
    assert [row.split()[:5] for row in table[2:]] == [
        ["short", "10.5", "3", "3", "short-r"],
        ["long", "19.5", "16", "10", "long-3"],
    ]
    told = json.loads(run("explain", *given, "--solution", str(held), "--format", "json").stdout)
    assert (told["heuristic"], told["gap"], [job["job"] for job in told["jobs"]]) == (
        "the schedule",
        [11],
        ["short", "long"],
    )
    assert [link["why"] for link in told["chain"]] == ["arrival", "slot", "slot"]
    report = json.loads(run("gap", *given, "--heuristic", "fair", "--explain", "--format", "json").stdout)
    assert report[0]["explanation"]["chain"] == told["chain"]
    assert fair in run("gap", *given, "--heuristic", "fair", "--explain").stdout


def test_schedules_where_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that the reason is told with exit code 6, without a policy, and that there are no rows."""
    path = tmp_path / "none.json"
    tasks = [{"id": "t", "duration": 1}]
    path.write_text(json.dumps({"format": "optsched/1", "nodes": [{"id": "a", "slots": 0}], "tasks": tasks}))
    done = run("explain", str(path), "--problem", "makespan")
    assert (done.exit_code, done.stdout.count("no slot for a map ever becomes free")) == (6, 1)
    table = run("explain", str(path), "--problem", "makespan", "--format", "table")
    assert (table.exit_code, len(table.stdout.splitlines())) == (6, 2)
    ran = tmp_path / "ran.json"
    tasks = [{"id": "t", "duration": 9, "state": "running", "node": "a", "start": 0}]
    ran.write_text(json.dumps({"format": "optsched/1", "nodes": [{"id": "a", "idle_slots": 0}], "tasks": tasks}))
    done = run("explain", str(ran), "--problem", "makespan", "--heuristic", "dl", "--format", "table")
    assert done.stdout.splitlines()[2].split() == ["t", "9", "9", "9", "-", "-", "-", "-", "-", "-", "-"]
