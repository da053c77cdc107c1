"""The comparison with other tools: every problem has rows, all ways find one optimum, and one that does not is said."""

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from optsched.core.registry import SHIPPED
from optsched.problems import PROBLEMS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", name="compare")
def _compare() -> Iterator[ModuleType]:
    """The program, whose ways run in this process: a fault of theirs is not hidden by a limit, and nothing starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        program = importlib.import_module("compare")
        ours, peers = (importlib.import_module(f"comparing.{name}") for name in ("ours", "peers"))

        class Here(program.Tools):  # type: ignore[misc, name-defined]
            def ours(self, task: str, row: Any, folder: Path, way: str = "") -> dict[str, Any]:
                again = program.Row.from_json(json.loads(json.dumps(row.as_json())))
                if task == "prepare":
                    return dict(ours.prepared(again, folder))
                if task == "certify":
                    return dict(ours.certified(again, folder, rounds=1))
                return dict(ours.measured(again, way, folder, rounds=1))

            def peer(self, way: str, folder: Path, given: str) -> dict[str, Any]:
                return dict(peers.measured(way, str(folder / f"{peers.PEERS[way].form}.npz"), int(given), rounds=1))

        patch.setattr(program, "Tools", Here)
        patch.setattr(program, "installed", lambda: {"scipy": "1", "networkx": "1"})
        yield program


#: For rows that end within seconds.
TINY = ["--sizes", "tiny", "--repeats", "1"]


def test_every_problem_has_rows(compare: ModuleType) -> None:
    """Tests that each problem of the registry is compared at two sizes or more, in growing order."""
    found = compare.rows(("small", "anchors"))
    for record in SHIPPED:
        sizes = [row.size for row in found if row.problem == record.name and row.kind == "solve"]
        assert len(set(sizes)) >= 2, f"{record.name} needs rows in benchmarks/comparing/rows.py"
    keys = [row.key for row in compare.rows(compare.SETTINGS)]
    assert len(keys) == len(set(keys)), "two rows are called the same"


def test_all_ways_agree(compare: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that default, SciPy and networkx agree on each problem, that it is certified, and what the file holds."""
    file = tmp_path / "result.json"
    given = [*TINY, "--way", "[Sn]*", "--row", "*tiny / *", "--json", str(file)]
    assert compare.main(given) == 0
    document = json.loads(file.read_text())
    assert document["format"] == compare.FORMAT
    assert {"optsched", "scipy"} <= set(document["versions"])
    assert document["machine"]["cores"] >= 1
    solved = {row["problem"]: row["ways"] for row in document["rows"] if row["kind"] == "solve"}
    assert set(solved) == {record.name for record in SHIPPED}
    for ways in solved.values():
        assert set(ways["default"]["phases"]) == {"load", "pose", "solve", "write"}
        assert set(ways["default"]["certificate"]["phases"]) == {"load", "read", "pose", "certify"}
    points, studied = (
        {row["problem"]: row["ways"]["default"]["answer"] for row in document["rows"] if row["kind"] == kind}
        for kind in ("frontier", "study")
    )
    assert set(studied) == {record.name for record in SHIPPED if record.frontier}
    assert studied == points, "a study proves other points than the frontier alone"
    peers = {way for ways in solved.values() for way in ways if way != "default"}
    assert peers == {
        "SciPy maximum_bipartite_matching",
        "SciPy min_weight_full_bipartite_matching",
        "SciPy linear_sum_assignment",
        "SciPy maximum_flow, bound at a given makespan",
        "networkx hopcroft_karp",
        "networkx network_simplex",
        "networkx network_simplex (table)",
    }
    printed = capsys.readouterr().out
    assert all(f"\n### {record.name}\n" in printed for record in SHIPPED)
    assert compare.main([*given, "--problem", "lsap"]) == 0
    assert capsys.readouterr().err == "", "what the file holds was measured again"


@pytest.mark.parametrize(("way", "row"), [("networkx hopcroft_karp", "lsap"), ("SciPy maximum_flow*", "latency")])
def test_a_wrong_optimum_is_reported(
    compare: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], way: str, row: str
) -> None:
    """Tests that a peer with another optimum, or a bound above it, makes the program fail, by both names."""
    peers = sys.modules["comparing.peers"].PEERS
    (name,) = (name for name in peers if name.startswith(way.rstrip("*")))
    right = peers[name]

    def wrong(posed: Any) -> tuple[int, ...]:
        *first, last = right.solve(posed)
        return (*first, last + 100)

    monkeypatch.setitem(peers, name, type(right)(right.form, right.package, right.pose, wrong, bound=right.bound))
    assert compare.main(["--problem", row, *TINY, "--way", way]) == 1
    output = capsys.readouterr().err
    assert all(text in output for text in (f"DIFFERENT: {row} / solve / tiny", name, "default"))


def test_patterns_may_be_repeated(compare: ModuleType, tmp_path: Path) -> None:
    """Tests that rows and ways that any pattern fits are measured: none takes another's place."""
    file = tmp_path / "result.json"
    given = [*TINY, "--json", str(file), "--row", "lsap / solve*", "--row", "flow / solve*"]
    assert compare.main([*given, "--way", "SciPy linear*", "--way", "route arrays"]) == 0
    rows = json.loads(file.read_text())["rows"]
    assert {row["problem"] for row in rows} == {"lsap", "flow"}
    assert {way for row in rows for way in row["ways"]} == {"default", "SciPy linear_sum_assignment", "route arrays"}


def test_limits_and_what_is_hopeless(compare: ModuleType, tmp_path: Path) -> None:
    """Tests that a way over the limit is killed and left out at larger sizes, and that a command's failure is shown."""
    running = sys.modules["comparing.running"]
    done = running._contained([sys.executable, "-c", "import time; time.sleep(60)"], compare.Limits(0.3))
    assert done["ended"].startswith("timed-out")
    assert running.started([sys.executable, "-c", "raise SystemExit('no such thing')"]) == {"ended": "no such thing"}
    fast, slow = ({"phases": {"pose": {"cpu": 0.0}, "solve": {"cpu": cpu}}} for cpu in (0.1, 9.0))
    left_out: dict[str, str] = {}
    running._leave_out({"default": fast, "slow": slow, "killed": done}, left_out)
    assert left_out["slow"] == "left out: 90 times the default at a smaller size"
    assert left_out["killed"].startswith("left out: at a smaller size timed-out")
    assert set(left_out) == {"slow", "killed"}


def taking(compare: ModuleType, problem: str, size: int, ways: dict[str, float], **more: Any) -> Any:
    """A comparison of ways that solve in these seconds, on the problem's first row at another size."""
    row = compare.rows(("small",), (problem,))[0]
    measured = {
        way: {"answer": ["1"], "phases": {"pose": {"cpu": 0.0, "first": 0.0}, "solve": {"cpu": cpu, "first": cpu}}}
        for way, cpu in ways.items()
    }
    measured["default"] |= more
    return compare.Comparison(compare.Row(**{**row.as_json(), "size": size}), measured)


def test_growth(compare: ModuleType) -> None:
    """Tests the exponents of a known power law, and the size at which it reaches a minute."""
    found = [
        taking(compare, "lsap", size, {"default": 1e-4 * size**1.5}, memory_mb=50 + size, start_mb=50)
        for size in (10, 100, 1000)
    ]
    line = sys.modules["comparing.tables"].growth_table(found).splitlines()[2]
    assert line == "| lsap | two levels | default | 10, 100, 1,000 | 1.50 | 1.00 | 7e+03 | 4e+03 |"


def test_plot(compare: ModuleType, tmp_path: Path) -> None:
    """Tests that the picture names every way that it has, in a panel for each series."""
    found = [taking(compare, "flow", size, {"default": 1.0, "POT emd": 1.0}) for size in (10, 100)]
    compare.write_plot(found, tmp_path / "plot.svg")
    drawn = (tmp_path / "plot.svg").read_text()
    assert "<!-- POT emd -->" in drawn
    assert "<!-- flow: half idle -->" in drawn


def test_worst_choice_of_the_default(compare: ModuleType) -> None:
    """Tests that the worst row is shown, and that other tools and rows of a few milliseconds do not count."""
    measured = [
        taking(compare, "flow", 1, {"default": 0.009, "route dense": 0.001}),
        taking(compare, "flow", 2, {"default": 1.0, "route dense": 2.0, "POT emd": 0.1}),
        taking(compare, "flow", 3, {"default": 1.7, "route dense": 1.0, "route pyomo": 9.0}),
    ]
    measured[2].ways["route dense"]["phases"]["solve"]["first"] += 1.0
    (line,) = compare.shipped_table(measured).splitlines()[2:]
    assert [cell.strip() for cell in line.split("|")[1:5]] == ["flow", "2", "1", "0"]
    assert line.endswith("| 1.7 | route dense | 1 | 1.7 |")


def test_without_a_stage(compare: ModuleType, tmp_path: Path) -> None:
    """Tests that each stage of each problem can be left out, and that no optimum changes."""
    stages, file = sys.modules["comparing.stages"].STAGES, tmp_path / "result.json"
    problems = [word for name in stages for word in ("--problem", name)]
    assert compare.main([*problems, *TINY, "--row", "*solve / tiny /*", "--way", "without*", "--json", str(file)]) == 0
    for row in json.loads(file.read_text())["rows"]:
        assert set(row["ways"]) == {"default", *(f"without {stage}" for stage in stages[row["problem"]])}
        for result in row["ways"].values():
            assert result["value"] == result["bound"] == row["ways"]["default"]["answer"]


def test_what_is_lost_without_a_stage(compare: ModuleType) -> None:
    """Tests the counts of values, bounds and proofs against the default, also of a problem that is maximised."""
    for problem, worse in (("makespan", "12"), ("generalized-assignment", "12"), ("utility", "8")):
        found = taking(compare, problem, 1, {"default": 1.0, "without it": 2.0, "without none": 3.0})
        default, less, none = found.ways.values()
        parts = len(PROBLEMS[problem].components)
        for result in (default, none):
            result |= {"value": ["10"] * parts, "bound": ["10"] * parts, "proof": "dual"}
        none["proof"] = "solver"
        less |= {"value": [worse] * parts, "bound": [None] * parts, "proof": "dual", "answer": None}
        tables = sys.modules["comparing.tables"]
        lines = tables.stages_table([found, found]).splitlines()[2:]
        assert lines == [
            f"| {problem} | it | 2 | 2 | 0 | 2 | 0 | 2 | 0 | 0 | 0 |",
            f"| {problem} | none | 2 | 0 | 2 | 0 | 0 | 0 | 0 | 6 | 2 |",
        ]
        assert tables._value(less) == f"{', '.join(['open'] * parts)} / {', '.join([worse] * parts)}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--sizes", "huge"], "--sizes huge: give some of tiny, small, anchors, large, stages"),
        (["--repeats", "0"], "--repeats 0: give a whole number, 1 or more"),
        (["--limit", "0"], "give a number of seconds above 0"),
        (["--problem", "lsapp"], "invalid choice: 'lsapp'"),
    ],
)
def test_wrong_options(compare: ModuleType, capsys: pytest.CaptureFixture[str], given: list[str], message: str) -> None:
    """Tests that a wrong option is one line with what to give."""
    with pytest.raises(SystemExit):
        compare.main(given)
    assert message in capsys.readouterr().err


def test_files_of_something_else_are_refused(compare: ModuleType, tmp_path: Path) -> None:
    """Tests that a result of other versions, and a file that is no result, are neither continued nor overwritten."""
    file = tmp_path / "result.json"
    others = json.dumps({"format": compare.FORMAT, "versions": {}, "machine": {}, "rows": []})
    for content, message in (("{}", "not a result of this program"), (others, "other versions or on another machine")):
        file.write_text(content)
        with pytest.raises(SystemExit, match=message):
            compare.main(["--problem", "lsap", *TINY, "--json", str(file)])
        assert file.read_text() == content


def in_processes(folder: Path, *given: str) -> tuple[dict[str, Any], str]:
    """The ways of one row that the program measures as a command, and what it prints."""
    file = folder / "result.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "compare.py"), *TINY, *given, "--json", str(file)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (row,) = json.loads(file.read_text())["rows"]
    return row["ways"], shown


@pytest.mark.thorough
def test_in_processes_of_their_own(tmp_path: Path) -> None:
    """Tests the program as a command: each way in a process of its own, and the certificate without solvers."""
    ways, shown = in_processes(tmp_path, "--problem", "flow", "--row", "*/ tiny /*")
    assert len({tuple(entry["answer"]) for entry in ways.values()}) == 1
    assert {"default", "route arrays", "route pyomo", "route pulp", "SciPy linear_sum_assignment"} <= set(ways)
    assert ways["default"]["certificate"]["proved"] is True
    assert all(entry["memory_mb"] > 0 for entry in ways.values())
    assert "### The default against every other way that is shipped" in shown


@pytest.mark.thorough
def test_kernels_that_are_loaded_before(tmp_path: Path) -> None:
    """Tests the way that loads kernels before it is measured: the same points, by the route of the default."""
    ways, _ = in_processes(tmp_path, "--problem", "latency", "--row", "*frontier: tiny*", "--way", "*kernels loaded")
    assert list(ways) == ["default", "route search, kernels loaded"]
    default, loaded = ways.values()
    assert loaded["answer"] == default["answer"]
    assert loaded["start_mb"] > default["start_mb"] + 20, "nothing was loaded"
