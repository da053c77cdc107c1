"""What rows say beside what they hold: the figures of the record, in columns."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace

import pytest

import optsched
from optsched.instance import Instance
from optsched.instances.files import parse
from optsched.processes import Outcome, Status
from optsched.sweeping.plans import Planned, planned
from optsched.sweeping.rows import instance_row, optimum_row, planned_row, run_row


def of(instance: str, problem: str, heuristic: str) -> tuple[Planned, dict[str, object]]:
    """A run and its record, as it is stored."""
    (run,) = planned(instance, problem, heuristic).runs
    record = optsched.gap(run.posed.problem, heuristic).record()
    return run, {"version": "1", **json.loads(json.dumps(record))}


def test_gaps() -> None:
    """Tests that a row has the gap of the component that decides, infinite beside 0, and first components."""
    for instance, problem, heuristic, gap, absolute, objective in (
        ("papers/guo-table2", "fair-lsap", "dl", 0.125, None, 50),
        ("papers/guo-fig2", "lsap", "dl", math.inf, 1, 1),
        ("papers/guo-fig2", "latency", "round-robin", 2, 2, 3),
    ):
        row = run_row(*of(instance, problem, heuristic))
        assert (row["gap"], row["objective"]) == (pytest.approx(gap), objective)
        assert absolute in (None, row["absolute_gap"])
        assert (row["status"], row["reference_kind"], row["message"]) == ("done", "optimum", None)


def test_a_run_without_a_value() -> None:
    """Tests that what is unknown is null."""
    run, record = of("papers/guo-fig2", "lsap", "dl")
    record |= {"status": "failed", "error": "raised", "objective": None, "absolute_gap": None, "relative_gap": None}
    row = run_row(run, record)
    assert (row["status"], row["message"], row["objective"], row["gap"]) == ("failed", "raised", None, None)


def test_instances_come_back() -> None:
    """Tests that the content is a file of the instance, the same for the same instance."""
    instance = optsched.load("papers/guo-table2")
    assert isinstance(instance, Instance)
    row = instance_row(instance)
    found = parse(gzip.decompress(row["content"]))
    assert (found.sha256, found.name) == (row["sha256"], row["name"]) == (instance.sha256, "guo-table2")
    assert instance_row(instance) == row


def test_optima() -> None:
    """Tests the figures of an optimum, and that one that was cut short is told so."""
    run, _ = of("papers/guo-fig2", "latency", "labl")
    solution = optsched.solve(run.posed.problem)
    row = optimum_row(run.posed, solution, Outcome(Status.DONE))
    assert (row["status"], row["objective"], row["bound"], row["certificate"]) == ("done", 1, 1, "combinatorial")
    cut = replace(solution, limit=optsched.Limit.TIME, objective=None, bound=(None, None), certificates=())
    row = optimum_row(run.posed, cut, Outcome(Status.DONE))
    assert (row["status"], row["objective"], row["bound"], row["certificate"]) == ("out-of-time", None, None, None)
    crashed = optimum_row(run.posed, cut, Outcome(Status.CRASHED, message="gone"))
    assert (crashed["status"], crashed["message"]) == ("crashed", "gone")


def test_planned() -> None:
    """Tests that a run that is asked for has its place, key and names."""
    run, _ = of("papers/guo-fig2", "lsap", "dl")
    row = planned_row("p", 3, run)
    assert row == {
        "plan": "p",
        "position": 3,
        "run": run.key,
        "group": "papers/guo-fig2",
        "instance": "guo-fig2",
        "label": "dl",
        "variant": "",
    }
