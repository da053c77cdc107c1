"""Many gaps at once: what is planned, what is refused before anything runs, what is measured."""

from __future__ import annotations

from typing import Any

import pytest

from optsched.errors import InputError, MissingField, UsageError
from optsched.gaps import gap
from optsched.instance import Cluster, Instance, Workload
from optsched.instances.files import load
from optsched.problems import problem
from optsched.studies.choices import Family
from optsched.studies.runs import measure, plan


def test_plan_names_all_that_fits() -> None:
    """Tests that without names every problem that can be posed is planned, with every heuristic that serves it."""
    work = plan("papers/guo-fig2")
    assert [part.problem.name for part in work] == ["lsap", "latency"]
    assert {choice.label for choice in work[0].choices} >= {"dl", "lsap-sched"}
    assert all(part.group == "papers/guo-fig2" for part in work)


def test_measured_as_gap_does() -> None:
    """Tests that each run is what `gap` gives, in order of heuristics and seeds; a problem is solved once."""
    steps: list[str] = []
    found = list(measure(plan("papers/guo-fig2", "lsap", ["rand", "dl"]), [3, 1], step=steps.append))
    posed = problem("lsap", load("papers/guo-fig2"))
    expected = [("rand", 3), ("rand", 1), ("dl", 3), ("dl", 1)]
    assert [(entry.label, entry.report.seed) for entry in found] == expected
    assert steps == [f"guo-fig2 lsap {label} seed {seed}" for label, seed in expected]
    for entry in found:
        assert entry.report.objective == gap(posed, entry.label, entry.report.seed).objective
    assert len({id(entry.report.reference) for entry in found}) == 1


def test_waves() -> None:
    """Tests that with waves there is a report for each, and one for the whole."""
    work = plan(Instance(Cluster(["a"]), Workload(["t1", "t2"]), name="two"), "lsap", "lsap-sched")
    assert [entry.report.wave for entry in measure(work, waves=True)] == [0, 1, None]


def test_parameters_of_one_and_of_all() -> None:
    """Tests that parameters go to the problem that is named, else to every one that has them, which come second."""
    work = plan(
        "papers/guo-table2", ["lsap", "worst-group"], (), {"levels": (0, 1, 2), "worst-group": {"levels": (0, 2, 3)}}
    )
    assert [part.problem.parameters["levels"] for part in work] == [(0, 1, 2), (0, 2, 3)]


@pytest.mark.parametrize(
    ("problems", "heuristics", "parameters", "told"),
    [
        ("lsapp", (), {}, "did you mean"),
        ("min-cost-flow", (), {}, "no heuristics"),
        ("lsap", "labl", {}, "labl serves latency; not lsap"),
        ("lsap", "dll", {}, "did you mean"),
        ("lsap", (), {"level": 1}, 'no parameter|parameter "level"'),
        ("lsap", (), {"lsap": {"level": 1}}, "level"),
    ],
)
def test_wrong_plans(problems: Any, heuristics: Any, parameters: Any, told: str) -> None:
    """Tests that what does not exist or go together is told before anything runs."""
    with pytest.raises(UsageError, match=told):
        plan("papers/guo-fig2", problems, heuristics, parameters)


def test_missing_fields() -> None:
    """Tests that a problem that was asked for and lacks a field is an error with the instance's name, for each."""
    with pytest.raises(InputError) as caught:
        plan(["papers/guo-fig2", "papers/guo-table2"], "flow")
    assert {"guo-fig2", "guo-table2"} <= {line.split(":")[0] for line in str(caught.value).splitlines()}


def test_heuristics_that_lack_a_field() -> None:
    """Tests that a chosen heuristic whose fields an instance lacks is an error, and one that is not chosen passes."""
    with pytest.raises(MissingField, match="lsap-fair-sched"):
        plan("papers/guo-fig2", "lsap", "lsap-fair-sched")
    assert "lsap-fair-sched" not in {
        choice.label for part in plan("papers/guo-fig2", "lsap") for choice in part.choices
    }


def test_groups_of_a_family() -> None:
    """Tests that the instances of a family are one group."""
    work = plan(Family("lsap", range(2), {"nodes": 3, "tasks": 2}), "lsap", "dl")
    assert len({part.group for part in work}) == 1
    assert [part.problem.instance.name for part in work] == ["lsap-n3-t2-seed0", "lsap-n3-t2-seed1"]
