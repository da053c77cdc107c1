"""What is kept of a find: an instance file with its optimum, and a test that passes today."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from optsched import Find, Instance, load, mine
from optsched.certificates import certify
from optsched.core.errors import InputError, UsageError
from optsched.instances.generate import known_optimum
from optsched.problems import problem_class
from optsched.processes.containing import contained
from optsched.processes.outcomes import Limits
from optsched.routes import solve

PLACER = """
def place(problem, rng):
    "Each task on the next node, from the last one on."
    nodes = problem.instance.cluster.node_ids
    return [nodes[-1 - at % len(nodes)] for at in range(len(problem.tasks))]


def raising(problem, rng):
    "Nothing."
    raise ValueError("no")


def claim(report):
    "Everything is optimal."
    return report.absolute_gap[0] == 0


def slack(report):
    "The same as a number."
    return -report.absolute_gap[0]


def of_numpy(report):
    "The same as NumPy answers."
    import numpy as np
    return np.bool_(report.absolute_gap[0] == 0)


def silent(report):
    "Nothing, which says that it is broken."


def hanging(problem, rng):
    "Nothing, for ever."
    import time
    time.sleep(1000)


def sometimes(problem, rng):
    "Nothing in some runs; else each task on the last node."
    if rng.integers(4) == 1:
        raise ValueError("not now")
    return place(problem, rng)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, with a heuristic that puts the first task last."""
    (tmp_path / "placer_of_mine.py").write_text(PLACER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "placer_of_mine", raising=False)
    return tmp_path


def found_by(heuristic: str, problem: str = "lsap", **options: Any) -> Find:
    """A find within a small budget."""
    found = mine(heuristic, problem, budget=80, **options)
    assert found is not None
    return found


def pytest_run(folder: Path) -> subprocess.CompletedProcess[str]:
    """What `pytest`, not `python -m pytest`, says in the folder above, which the modules are not in."""
    from importlib.metadata import entry_points

    plugged = any(entry.name == "optsched" for entry in entry_points(group="pytest11"))
    options = [] if plugged else ["-p", "optsched.pytest_plugin"]
    start = [sys.executable, "-c", "import sys, pytest; del sys.path[0]; sys.exit(pytest.main())"]
    command = [*start, "-q", "-p", "no:cacheprovider", *options, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_files(folder: Path) -> None:
    """Tests the instance's name, source, labels, optimum, and that nothing is replaced."""
    found = found_by("dl,reading=heartbeat")
    instance_file, test_file = found.save(folder / "mined", "worst")
    assert (instance_file.name, test_file.name) == ("worst.json", "test_worst.py")
    loaded = load(instance_file)
    assert isinstance(loaded, Instance)
    assert loaded.name == "worst"
    assert loaded.source == f"mined by {found.command}"
    proved = "the optimum is proved, as optsched certify shows"
    assert loaded.labels["mined"] == f"by {found.command}; minimal; {proved}"
    assert known_optimum(loaded)["lsap"] == found.report.reference.value
    before = instance_file.read_bytes()
    with pytest.raises(UsageError, match="is there already; choose another --name"):
        found.save(folder / "mined", "worst")
    assert instance_file.read_bytes() == before


def test_a_whole_gap_is_a_limit_in_per_cent(folder: Path) -> None:
    """Tests that a gap of a whole number is written as a limit that is taken: `max_gap="2"` would be refused."""
    found = found_by("round-robin", "latency", seed=0)
    assert found.score[1] >= 1
    assert found.score[1].denominator == 1
    assert f'max_gap="{100 * found.score[1]}%"' in found.save(folder)[1].read_text()


@pytest.mark.thorough
def test_a_test_of_a_gap_goes_red(folder: Path) -> None:
    """Tests that a mined gap passes as it is, and fails once the heuristic is worse on it."""
    found = found_by("placer_of_mine:place", failures=False)
    assert found.report.feasible
    found.save(folder)
    green = pytest_run(folder)
    assert green.returncode == 0, green.stdout
    module = folder / "placer_of_mine.py"
    module.write_text(module.read_text().replace('"Each task', 'return None\n    "Each task'))
    red = pytest_run(folder)
    assert red.returncode == 1, red.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("heuristic", "options"),
    [
        ("placer_of_mine:place", {"claim": "placer_of_mine:claim"}),
        ("placer_of_mine:place", {"claim": "placer_of_mine:slack"}),
        ("placer_of_mine:place", {"claim": "placer_of_mine:of_numpy"}),
        ("placer_of_mine:place", {"claim": "placer_of_mine:silent"}),
        ("placer_of_mine:raising", {}),
        ("dl,reading=heartbeat", {"worst": "absolute"}),
        ("rand", {"run_seeds": 3, "over": "mean"}),
        ("rand", {"run_seeds": "2-4", "over": "median", "worst": "absolute"}),
        ("placer_of_mine:sometimes", {"problem": "latency", "run_seeds": 8, "over": "0.5"}),
        ("placer_of_mine:sometimes", {"problem": "latency", "run_seeds": 8}),
    ],
    ids=[
        "claim",
        "slack",
        "numpy",
        "silent",
        "failure",
        "absolute",
        "mean",
        "median",
        "quantile",
        "a failure among runs",
    ],
)
def test_each_sort_of_test_passes_today(folder: Path, heuristic: str, options: dict[str, Any]) -> None:
    """Tests that the tests of a broken claim, of a failure and of a difference are green when they are written."""
    test = found_by(heuristic, **options).save(folder)[1].read_text()
    assert ("feasible=False" in test) is (options.get("over") == "0.5")
    done = pytest_run(folder)
    assert done.returncode == 0, done.stdout
    fails = "raising" in heuristic or ("sometimes" in heuristic and "over" not in options)
    assert ("1 xfailed" if fails else "1 passed") in done.stdout


def test_what_has_no_name_is_not_saved(folder: Path) -> None:
    """Tests that a test needs names of heuristic and claim, that its own is one of files, and a folder one."""
    with pytest.raises(UsageError, match=r"give them as package\.module:function"):
        found_by("dl,reading=heartbeat", claim=lambda report: report.absolute_gap == (0,)).save(folder)
    found = found_by("dl,reading=heartbeat")
    with pytest.raises(UsageError, match="is no name for files"):
        found.save(folder, "../worst")
    (folder / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        found.save(folder / "file")


@pytest.mark.thorough
def test_limits_of_runs_are_kept(folder: Path) -> None:
    """Tests that a heuristic that hangs is found under a limit, and that command and test hold to it."""
    with contained(Limits(1.5, None)):
        found = found_by("placer_of_mine:hanging", "latency")
    assert "--run-limit 1.5" in found.command
    found.save(folder)
    done = pytest_run(folder)
    assert (done.returncode, "1 xfailed" in done.stdout) == (0, True), done.stdout


@pytest.mark.parametrize(
    ("heuristic", "problem"),
    [
        ("labl", "latency"),
        pytest.param("dl", "worst-group", marks=pytest.mark.thorough),
        pytest.param("balancing", "flow", marks=pytest.mark.thorough),
        pytest.param("joss-t", "traffic", marks=pytest.mark.thorough),
    ],
)
def test_the_optimum_is_certified(heuristic: str, problem: str, tmp_path: Path) -> None:
    """Tests that the file that is kept, solved again, has the labelled optimum, and what it rests on is told truly."""
    found = found_by(heuristic, problem)
    loaded = load(found.save(tmp_path)[0])
    assert isinstance(loaded, Instance)
    posed = problem_class(problem)(loaded)
    solution = solve(posed)
    assert solution.objective == known_optimum(loaded)[problem]
    report = certify(posed, solution)
    report.raise_if_invalid()
    assert found.rests_on == tuple(sorted({str(claim.kind) for claim in report.claims}))
    assert f"certify={list(found.rests_on) or True}" in found.test("x")
    assert f"the optimum {'rests on' if found.rests_on else 'is proved'}" in found.words()


def test_json() -> None:
    """Tests that a find is JSON, with the gap exact."""
    find = found_by("dl,reading=heartbeat")
    found = json.loads(json.dumps(find.to_dict()))
    assert found["found"] is True
    assert Fraction(found["gap"]) == find.aim.gap(find.report)
    assert found["instance"]["format"] == "optsched/1"
    assert found["rests_on"] == []
    assert repr(find).startswith("<Find: dl,reading=heartbeat on lsap")
