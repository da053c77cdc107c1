"""Baselines: what is recorded, what is compared with it, and files that are none."""

import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from small_problems import small

from optsched import InputError, Instance
from optsched.measuring.records import Run
from optsched.measuring.studies import baselines
from optsched.measuring.studies.baselines import FORMAT, Baseline
from optsched.measuring.studies.runs import measure, plan

TWO = small([[0], [1]], name="two")


def answers(nodes: list[Any], instance: Instance = TWO, name: str = "lsap", **parameters: Any) -> list[Run]:
    """One run with that answer."""

    def place(problem: Any, rng: Any) -> list[Any]:
        return nodes

    place.__qualname__ = "place"
    return list(measure(plan(instance, name, place, parameters), 1))


def changed(run: Run, **changes: Any) -> Run:
    """The run with other fields in its report."""
    return Run.of(replace(run.report, **changes), run.group, run.heuristic)


def test_there_and_back(tmp_path: Path) -> None:
    """Tests that a file holds what was recorded, exactly, and the same bytes for the same runs."""
    measured = [*answers([0, 1]), *answers([0, 1], name="latency")]
    third = changed(measured[0], seed=1, objective=(Fraction(1, 3),))
    failed = changed(measured[0], seed=2, objective=None)
    recorded = Baseline.of([*measured, third, failed])
    path = tmp_path / "folder" / "baseline.json"
    recorded.write(path)
    assert Baseline.read(path) == recorded
    before = path.read_bytes()
    Baseline.of([failed, third, *reversed(measured)]).write(path)
    assert path.read_bytes() == before, "the order of the runs does not count"
    assert '"1/3"' in before.decode()


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [
        ([0, 1], [0, 1], None),
        ([1, 0], [0, 1], None),
        ([None, None], [1, 0], None),
        ([None, None], [None, None], None),
        ([0, 1], [1, 0], "the value is 2; recorded is 0"),
        ([1, 0], [None, 0], "had the value 2 when it was recorded; now infeasible"),
    ],
)
def test_compared(then: list[Any], now: list[Any], message: str | None) -> None:
    """Tests that a worse value, or a placement that is no longer feasible, is a breach; a better one is counted."""
    found, improved = Baseline.of(answers(then)).compare(answers(now))
    assert improved == (message is None and then != now)
    assert len(found) == (message is not None)
    assert message is None or found[0].message.startswith(message)


def test_compared_in_order_of_components_and_by_sense() -> None:
    """Tests that values compare as tuples, and that more is better where the objective is a maximum."""
    piled = small([[0], [0]], name="piled")
    work = Baseline.of(answers([0, 0], piled, "latency"))  # (2, 2)
    assert "the value is 3, 4, 50 % from the optimum; recorded is 2, 2 (0 %); if this is meant, record it again" in [
        breach.message for breach in work.compare(answers([0, 1], piled, "latency"))[0]
    ]
    measured = list(measure(plan("papers/ras-immobile", "utility", "fair-sharing"), 1))
    report = measured[0].report
    for change, breaks in ((Fraction(-1, 1000), True), (Fraction(1, 1000), False)):
        another = changed(measured[0], objective=(report.objective[0] + change, *report.objective[1:]))
        found, improved = Baseline.of(measured).compare([another])
        assert (bool(found), bool(improved)) == (breaks, not breaks)


def test_other_instances_parameters_and_runs() -> None:
    """Tests what is compared with nothing: another instance of that name, parameters, components, or no record."""
    recorded = Baseline.of(answers([0, 1]))
    other = small([[], []], name="two")
    ((breach,), _) = recorded.compare(answers([0, 1], other))
    assert "another than the recorded one" in breach.message
    ((breach,), _) = recorded.compare(answers([0, 1], levels=(0, 1, 2)))
    assert "other parameters" in breach.message
    ((breach,), _) = recorded.compare(answers([0, 1], name="latency"))
    assert "nothing is recorded" in breach.message
    all_of_them = [*answers([0, 1]), *answers([0, 1], other), *answers([0, 1], levels=(0, 1, 2))]
    assert Baseline.of(all_of_them).compare(all_of_them) == ([], 0)
    assert len(Baseline.of(all_of_them).entries) == 3, "instances of one name are recorded each"
    measured = answers([0, 1])
    second = [changed(measured[0], seed=1)]
    assert recorded.compare(second, every=False) == ([], 0), "another seed is recorded"
    ((breach,), _) = recorded.compare(second)
    assert "nothing is recorded of this run" in breach.message
    ((key, entry),) = Baseline.of(measured).entries.items()
    ((breach,), _) = Baseline({key: msgspec.structs.replace(entry, objective=(0, 0))}).compare(measured)
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
    """Tests that a file that is held for too long, or a folder that cannot be made, is reported with the path."""
    recorded = Baseline.of(answers([0, 1]))
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
    Baseline.of(answers([0, 1])).record(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["b.json"]


#: A run as files have it, but for its objective.
RUN = dict.fromkeys(("instance", "problem", "heuristic", "instance_sha256"), "x") | {"seed": 0, "parameters": {}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as a baseline"),
        ("[]", "format"),
        ('{"format": "optsched-baseline/2"}', "optsched-baseline/2"),
        (json.dumps({"format": FORMAT}), "expected a list"),
        ([{"instance": "x"}, 5], r"runs\[1\]: is no recorded run: expected `object`, got `int`; mend it"),
        ([RUN | {"objective": [0.5]}], r"runs\[0\].objective\[0\]"),
        ([RUN | {"objective": "12"}], r"runs\[0\]\.objective: is no recorded run: expected `array \| null`, got `str`"),
        ([RUN | {"objective": []}], r"runs\[0\]\.objective: is no recorded run: expected `array` of length >= 1"),
        ([RUN | {"objective": [1], "gap": "5 %"}], r"runs\[0\]\.gap"),
        ([RUN | {"objective": [1], "seed": 1.5}], r"runs\[0\]\.seed: is no recorded run: expected `int`"),
        ([RUN | {"objective": [1], "seed": True}], r"runs\[0\]\.seed: is no recorded run: expected `int`"),
        (
            [RUN | {"objective": [1]}, RUN | {"objective": [9]}],
            r"runs\[1\]: records a run that is recorded above; remove",
        ),
    ],
)
def test_broken_files(content: str | list[Any], message: str, tmp_path: Path) -> None:
    """Tests that a file that is no baseline, or of another version, is bad input with its place."""
    path = tmp_path / "baseline.json"
    path.write_text(content if isinstance(content, str) else json.dumps({"format": FORMAT, "runs": content}))
    with pytest.raises(InputError, match=message) as caught:
        Baseline.read(path)
    assert str(path) in str(caught.value)
