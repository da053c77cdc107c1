"""Recorded runs: written and read again, and what is worse, better or other than recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from optsched.core.errors import InputError
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.measuring.records import Run
from optsched.measuring.studies import baselines
from optsched.measuring.studies.baselines import FORMAT, Baseline
from optsched.measuring.studies.runs import measure, plan

TWO = Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [1]])), name="two")


def own(nodes: list[Any]) -> Any:
    """A heuristic with one answer; all such have one label."""

    def place(problem: Any, rng: Any) -> list[Any]:
        return nodes

    place.__qualname__ = "place"
    return place


def runs(nodes: list[Any], instance: Instance = TWO, name: str = "lsap", **parameters: Any) -> list[Run]:
    """One run with that answer."""
    return list(measure(plan(instance, name, own(nodes), parameters), 1))


def test_there_and_back(tmp_path: Path) -> None:
    """Tests that a file holds what was recorded, exactly, and the same bytes for the same runs."""
    measured = [*runs(["a", "b"]), *runs(["a", "b"], name="latency")]
    third = replace(measured[0], made=replace(measured[0].report, seed=1, objective=(Fraction(1, 3),)))
    failed = replace(measured[0], made=replace(measured[0].report, seed=2, objective=None))
    recorded = Baseline.of([*measured, third, failed])
    path = tmp_path / "folder" / "baseline.json"
    recorded.write(path)
    assert Baseline.read(path) == recorded
    before = path.read_bytes()
    Baseline.of([failed, third, *reversed(measured)]).write(path)
    assert path.read_bytes() == before, "the order of the runs does not count"
    assert '"1/3"' in before.decode()


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        (["a", "b"], ["a", "b"], None),
        (["b", "a"], ["a", "b"], None),
        ([None, None], ["b", "a"], None),
        ([None, None], [None, None], None),
        (["a", "b"], ["b", "a"], "the value is 2; recorded is 0"),
        (["b", "a"], [None, "a"], "had the value 2 when it was recorded; now infeasible"),
    ],
)
def test_compared(then: list[Any], now: list[Any], told: str | None) -> None:
    """Tests that a worse value, or a placement that is no longer feasible, is a breach; a better one is counted."""
    found = Baseline.of(runs(then)).compare(runs(now))
    if told is None:
        assert not found.breaches
        assert (found.improved, found.equal) == ((0, 1) if then == now else (1, 0))
    else:
        (breach,) = found.breaches
        assert breach.message.startswith(told)
        assert (found.improved, found.equal) == (0, 0)


def test_compared_in_order_of_components_and_by_sense() -> None:
    """Tests that values compare as tuples, and that more is better where the objective is a maximum."""
    piled = Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]])), name="piled")
    work = Baseline.of(runs(["a", "a"], piled, "latency"))  # (2, 2)
    assert "the value is 3, 4, 50 % from the optimum; recorded is 2, 2 (0 %); if this is meant, record it again" in [
        breach.message for breach in work.compare(runs(["a", "b"], piled, "latency")).breaches
    ]
    measured = list(measure(plan("papers/ras-immobile", "utility", "fair-sharing"), 1))
    report = measured[0].report
    assert report.objective is not None
    for change, breaks in ((Fraction(-1, 1000), True), (Fraction(1, 1000), False)):
        changed = replace(report, objective=(report.objective[0] + change, *report.objective[1:]))
        found = Baseline.of(measured).compare([replace(measured[0], made=changed)])
        assert bool(found.breaches) is breaks
        assert found.improved == (not breaks)


def test_other_instances_parameters_and_runs() -> None:
    """Tests that nothing is compared with a run of another instance of that name, other parameters, or none."""
    recorded = Baseline.of(runs(["a", "b"]))
    other = Instance(TWO.cluster, Workload(["t1", "t2"]), name="two")
    (breach,) = recorded.compare(runs(["a", "b"], other)).breaches
    assert "another than the recorded one" in breach.message
    (breach,) = recorded.compare(runs(["a", "b"], levels=(0, 1, 2))).breaches
    assert "other parameters" in breach.message
    (breach,) = recorded.compare(runs(["a", "b"], name="latency")).breaches
    assert "nothing is recorded" in breach.message


def test_instances_of_one_name() -> None:
    """Tests that two instances of one name, and one problem with two sets of parameters, are recorded each."""
    other = Instance(TWO.cluster, Workload(["t1", "t2"]), name="two")
    both = [*runs(["a", "b"]), *runs(["a", "b"], other), *runs(["a", "b"], levels=(0, 1, 2))]
    assert Baseline.of(both).compare(both).equal == 3


def test_a_value_of_another_length() -> None:
    """Tests that what is recorded by a version with other components is told, and compared with nothing."""
    measured = runs(["a", "b"])
    ((key, (_, gap)),) = Baseline.of(measured).entries.items()
    (breach,) = Baseline({key: ((0, 0), gap)}).compare(measured).breaches
    assert "what is recorded, 0, 0, is no value of lsap; if this is meant, record it again" in breach.message


@pytest.mark.thorough
def test_recorded_beside_each_other(tmp_path: Path) -> None:
    """Tests that four processes that record in one file at once lose nothing, and leave nothing behind."""
    path = tmp_path / "shared.json"
    script = (
        "import sys\n"
        "from optsched.measuring.studies.baselines import Baseline\n"
        "from optsched.measuring.studies.runs import measure, plan\n"
        "for seed in range(5):\n"
        "    work = plan('papers/guo-fig2', 'lsap', 'rand')\n"
        "    Baseline.of(measure(work, [int(sys.argv[1]) * 5 + seed])).record(sys.argv[2])\n"
    )
    ran = [subprocess.Popen([sys.executable, "-c", script, str(part), str(path)]) for part in range(4)]
    assert [process.wait() for process in ran] == [0] * 4
    assert sorted(key[3] for key in Baseline.read(path).entries) == [*range(20)]
    assert [entry.name for entry in tmp_path.iterdir()] == ["shared.json"]


def test_a_file_that_is_held_or_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a file that is held for too long, or a folder that cannot be made, is told with the path."""
    recorded = Baseline.of(runs(["a", "b"]))
    monkeypatch.setattr(baselines, "PATIENCE", 0.01)
    with (
        baselines._locked(tmp_path / "b.json"),
        pytest.raises(InputError, match=r"b\.json: another process has been recording in it"),
    ):
        recorded.record(tmp_path / "b.json")
    recorded.record(tmp_path / "b.json")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="its folder cannot be made"):
        recorded.record(tmp_path / "file" / "c.json")
    with pytest.raises(InputError, match="cannot be written"):
        recorded.record(tmp_path / ("x" * 300))


def test_a_lock_of_a_killed_process_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a process held that was killed is not waited for, not even a moment."""
    path = tmp_path / "b.json"
    script = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from optsched.measuring.studies.baselines import _locked\n"
        "with _locked(Path(sys.argv[1])):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -9
    monkeypatch.setattr(baselines, "PATIENCE", 0.0)
    Baseline.of(runs(["a", "b"])).record(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.json"]


#: A run as files have it, but for its objective.
RUN = dict.fromkeys(("instance", "problem", "heuristic", "instance_sha256"), "x") | {"seed": 0, "parameters": {}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read as a baseline"),
        ("[]", "format"),
        ('{"format": "optsched-baseline/2"}', "optsched-baseline/2"),
        (json.dumps({"format": FORMAT}), "expected a list"),
        (json.dumps({"format": FORMAT, "runs": [{"instance": "x"}, 5]}), r"runs\[1\]"),
        (
            json.dumps({"format": FORMAT, "runs": [RUN | {"objective": [0.5]}]}),
            r"runs\[0\].objective\[0\]",
        ),
        (json.dumps({"format": FORMAT, "runs": [RUN | {"objective": "12"}]}), "a list of numbers, or null"),
        (json.dumps({"format": FORMAT, "runs": [RUN | {"objective": []}]}), "a list of numbers, or null"),
        (json.dumps({"format": FORMAT, "runs": [RUN | {"objective": [1], "gap": "5 %"}]}), r"runs\[0\]"),
        (json.dumps({"format": FORMAT, "runs": [RUN | {"objective": [1], "seed": 1.5}]}), "seed is a whole number"),
        (
            json.dumps({"format": FORMAT, "runs": [RUN | {"objective": [1], "seed": True}]}),
            "its seed is a whole number",
        ),
        (
            json.dumps({"format": FORMAT, "runs": [RUN | {"objective": [1]}, RUN | {"objective": [9]}]}),
            r"runs\[1\]: records a run that is recorded above; remove one of them",
        ),
    ],
)
def test_broken_files(text: str, told: str, tmp_path: Path) -> None:
    """Tests that a file that is no baseline, or of another version, is bad input with its place."""
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(InputError, match=told) as caught:
        Baseline.read(path)
    assert str(path) in str(caught.value)
