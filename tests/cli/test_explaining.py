"""`optsched explain`, `gap --explain` and `show`: the formats, what they say and draw, and what ends them."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from command_line import answer, run, solved
from pictured import racked

import optsched
from optsched.core.instance import Cluster, Instance, Workload

pytestmark = pytest.mark.usefixtures("wide_page")


EXAMPLE = ("explain", "generated/lsap-n20-t15-seed0", "--problem", "lsap", "--heuristic", "rand")


def test_words() -> None:
    """Tests the sentences, the line for chains beyond `--most`, and that notes go to stderr."""
    result = run(*EXAMPLE, "--most", "1")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "lsap-n20-t15-seed0, lsap: rand has locality-cost 8 (level); the proved optimum: 2."
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
    table, output = result.stdout.split("\n\n")
    assert len(table.splitlines()) == 5
    assert output.startswith("guo-fig2, lsap: dl has locality-cost 1 (level); the proved optimum: 0.\n")
    records = json.loads(run("gap", "papers/guo-fig2", *names, "--format", "json").stdout)
    assert [record["explanation"]["gap"] for record in records] == [[1], [0]]
    plain = json.loads(run("gap", "papers/guo-fig2", *names[:-1], "--format", "json").stdout)
    assert all("explanation" not in record for record in plain)


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
    shown = json.loads(run("explain", *given, "--solution", str(held), "--format", "json").stdout)
    assert (shown["heuristic"], shown["gap"], [job["job"] for job in shown["jobs"]]) == (
        "the schedule",
        [11],
        ["short", "long"],
    )
    assert [link["why"] for link in shown["chain"]] == ["arrival", "slot", "slot"]
    report = json.loads(run("gap", *given, "--heuristic", "fair", "--explain", "--format", "json").stdout)
    assert report[0]["explanation"]["chain"] == shown["chain"]
    assert fair in run("gap", *given, "--heuristic", "fair", "--explain").stdout


def test_schedules_where_nothing_is_feasible(tmp_path: Path) -> None:
    """Tests that the reason is reported with exit code 6, without a policy, and that there are no rows."""
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


FSY = "papers/fsy-not-optimal"


def test_side_by_side(tmp_path: Path) -> None:
    """Tests that heuristics with parameters, solution files and the optimum are drawn, and twice the same."""
    solution, target = tmp_path / "s.json", tmp_path / "a.svg"
    assert run("solve", FSY, "--problem", "latency", "--output", str(solution)).exit_code == 0
    command = ["show", FSY, "--heuristic", "labl,variant=strict", "--solution", str(solution), "--to", str(target)]
    done = run(*command)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    drawn = target.read_text()
    for title in (
        ">labl,variant=strict<",
        f">{solution}<"[:9],
        ">optimum (proved: combinatorial)<",
        ">makespan 3, work 9<",
    ):
        assert title in drawn
    run(*command)
    assert target.read_text() == drawn


def test_the_instance_alone(tmp_path: Path) -> None:
    """Tests that without a problem the instance is drawn as it is, and that a problem alone draws its optimum."""
    target = tmp_path / "a.svg"
    optsched.save(racked(), tmp_path / "racked.json")
    assert run("show", str(tmp_path / "racked.json"), "--to", str(target)).exit_code == 0
    assert ">4 nodes, 2 racks, 5 tasks to place<" in target.read_text()
    assert run("show", FSY, "--problem", "latency", "--param", "w_rem=2", "--to", str(target)).exit_code == 0
    assert ">optimum (proved: combinatorial)<" in target.read_text()


def test_a_schedule_is_not_drawn_as_a_placement(tmp_path: Path) -> None:
    """Tests that `show` and `explain` refuse a solution file that holds a schedule where placements are due."""
    held, given, target = tmp_path / "s.json", tmp_path / "day.json", tmp_path / "a.svg"
    optsched.save(optsched.generate("job-times", seed=1, nodes=3, tasks=3, jobs=1, reduces=0), given)
    assert run("solve", str(given), "--problem", "makespan", "--output", str(held)).exit_code == 0
    for words, expected in (
        (("show", "--to", str(target)), "holds a schedule, and latency decides a placement; give a solution of such"),
        (("explain",), "holds no placement on this instance to explain"),
    ):
        done = run(words[0], str(given), *words[1:], "--problem", "latency", "--solution", str(held))
        assert done.exit_code == 2
        assert f"{held}: {expected}" in done.stderr
        assert not target.exists()
    done = run("solve", str(given), "--problem", "latency", "--start", str(held))
    assert done.exit_code == 2
    assert (
        f"{held}: holds a schedule, and latency decides a placement; give a solution of such a problem" in done.stderr
    )


def test_schedules_are_gantt_charts(tmp_path: Path) -> None:
    """Tests heuristics, solution and schedule files of a problem over time side by side, and what judges the latter."""
    held, rest, target = tmp_path / "s.json", tmp_path / "schedule.npz", tmp_path / "a.svg"
    given = "examples/order-of-jobs"
    assert run("solve", given, "--problem", "job-times", "--output", str(held)).exit_code == 0
    assert run("simulate", given, "--policy", "dl", "--schedule", str(rest)).exit_code == 0
    command = ("show", given, "--heuristic", "fair", "--solution", str(held), "--solution", str(rest))
    done = run(*command, "--to", str(target))
    assert done.exit_code == 0, done.stderr
    text = target.read_text()
    for name in ("fair: job time ", f"{held}: job time ", f"{rest}: job time ", "optimum (proved: "):
        assert f">{name}" in text
    done = run("show", given, "--solution", str(rest), "--to", str(target))
    assert "judged by makespan; --problem names another" in done.stderr
    assert f">{rest}: makespan " in target.read_text()
    path = tmp_path / "none.json"
    optsched.save(Instance(Cluster(["n1"], slots=[0]), Workload(["t1"], duration=[5])), path)
    done = run("show", str(path), "--problem", "makespan", "--to", str(tmp_path / "b.svg"))
    assert (done.exit_code, (tmp_path / "b.svg").exists()) == (2, False)
    assert "makespan: no schedule is known to draw: INFEASIBLE" in done.stderr


@pytest.mark.thorough
def test_problem_by_default(tmp_path: Path) -> None:
    """Tests that the first problem that all heuristics serve judges, with the given parameters, which is reported."""
    target = tmp_path / "a.svg"
    command = ("show", FSY, "--heuristic", "labl", "--heuristic", "round-robin", "--to", str(target))
    assert "judged by latency; --problem names another" in run(*command).stderr
    assert run(*command, "--param", "w_rem=2").exit_code == 0
    assert "makespan" in target.read_text()


@pytest.mark.thorough
def test_networks(tmp_path: Path) -> None:
    """Tests a flow network alone, with its optimal flow, and with a heuristic, which there is none for."""
    target = tmp_path / "a.svg"
    assert run("show", "examples/negative-cycle", "--to", str(target)).exit_code == 0
    assert run("show", "examples/negative-cycle", "--problem", "min-cost-flow", "--to", str(target)).exit_code == 0
    assert "optimum: 3" in target.read_text()


@pytest.mark.thorough
def test_a_heuristic_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic that raises is drawn as failed beside the others, with exit code 4 and its error."""
    (tmp_path / "mine_shown.py").write_text("def broken(problem, rng):\n    raise KeyError('x')\n")
    monkeypatch.chdir(tmp_path)
    done = run("show", "papers/guo-fig2", "--problem", "lsap", "--heuristic", "mine_shown:broken", "--to", "a.svg")
    assert done.exit_code == 4
    assert "KeyError" in done.stderr
    assert ">mine_shown:broken: failed<" in Path("a.svg").read_text()
