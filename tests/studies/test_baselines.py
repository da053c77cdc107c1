"""Recorded runs: written and read again, and what is worse, better or other than recorded."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from optsched.errors import InputError
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.studies.baselines import FORMAT, Baseline
from optsched.studies.runs import Measured, measure, plan

TWO = Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [1]])), name="two")


def own(nodes: list[Any]) -> Any:
    """A heuristic with one answer; all such have one label."""

    def place(problem: Any, rng: Any) -> list[Any]:
        return nodes

    place.__qualname__ = "place"
    return place


def runs(nodes: list[Any], instance: Instance = TWO, name: str = "lsap", **parameters: Any) -> list[Measured]:
    """One run with that answer."""
    return list(measure(plan(instance, name, own(nodes), parameters), 1))


def test_there_and_back(tmp_path: Path) -> None:
    """Tests that a file holds what was recorded, exactly, and the same bytes for the same runs."""
    measured = [*runs(["a", "b"]), *runs(["a", "b"], name="latency")]
    third = replace(measured[0], report=replace(measured[0].report, seed=1, objective=(Fraction(1, 3),)))
    failed = replace(measured[0], report=replace(measured[0].report, seed=2, objective=None))
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
        assert breach.told.startswith(told)
        assert (found.improved, found.equal) == (0, 0)


def test_compared_in_order_of_components_and_by_sense() -> None:
    """Tests that values compare as tuples, and that more is better where the objective is a maximum."""
    piled = Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]])), name="piled")
    work = Baseline.of(runs(["a", "a"], piled, "latency"))  # (2, 2)
    assert "the value is 3, 4, 50 % from the optimum; recorded is 2, 2 (0 %)" in [
        breach.told for breach in work.compare(runs(["a", "b"], piled, "latency")).breaches
    ]
    measured = list(measure(plan("papers/ras-immobile", "utility", "fair-sharing"), 1))
    report = measured[0].report
    assert report.objective is not None
    for change, breaks in ((Fraction(-1, 1000), True), (Fraction(1, 1000), False)):
        changed = replace(report, objective=(report.objective[0] + change, *report.objective[1:]))
        found = Baseline.of(measured).compare([replace(measured[0], report=changed)])
        assert bool(found.breaches) is breaks
        assert found.improved == (not breaks)


def test_other_instances_parameters_and_runs() -> None:
    """Tests that nothing is compared with a run of another instance of that name, other parameters, or none."""
    recorded = Baseline.of(runs(["a", "b"]))
    other = Instance(TWO.cluster, Workload(["t1", "t2"]), name="two")
    (breach,) = recorded.compare(runs(["a", "b"], other)).breaches
    assert "another than the recorded one" in breach.told
    (breach,) = recorded.compare(runs(["a", "b"], levels=(0, 1, 2))).breaches
    assert "other parameters" in breach.told
    (breach,) = recorded.compare(runs(["a", "b"], name="latency")).breaches
    assert "nothing is recorded" in breach.told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read as a baseline"),
        ("[]", "format"),
        ('{"format": "optsched-baseline/2"}', "optsched-baseline/2"),
        (json.dumps({"format": FORMAT}), "expected a list"),
        (json.dumps({"format": FORMAT, "runs": [{"instance": "x"}, 5]}), r"runs\[1\]"),
        (
            json.dumps(
                {
                    "format": FORMAT,
                    "runs": [
                        dict.fromkeys(("instance", "problem", "heuristic", "instance_sha256"), "x")
                        | {"seed": 0, "parameters": {}, "objective": [0.5]}
                    ],
                }
            ),
            r"runs\[0\].objective\[0\]",
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
