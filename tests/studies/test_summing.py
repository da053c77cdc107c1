"""Runs are summed up by problem and heuristic, wherever they come from."""

from __future__ import annotations

import math

import pytest

from optsched.studies.summing import Row, Run, summaries


def run(heuristic: str, instance: str, outcome: str, gap: float | None = None, problem: str = "lsap") -> Run:
    """A run against the optimum of an instance."""
    return Run(problem, "cost", heuristic, instance, instance, "dual", outcome, gap)


def test_denominators() -> None:
    """Tests that a mean says over how many instances it is, and that every other run is counted with its reason."""
    reasons = ("infeasible", "starved", "failed", "out_of_time", "out_of_memory", "crashed", "beside_zero", "unknown")
    runs = [run("dl", name, name) for name in reasons]
    runs += [run("dl", "a", "optimal", 0.0), run("dl", "a", "above", 0.5), run("dl", "b", "above", 0.75)]
    (part,) = summaries(runs)
    (row,) = part.rows
    assert (row.instances, row.runs, row.optimal, row.counted) == (10, 11, 1, 2)
    assert (row.median, row.mean, row.half_width) == (0.5, 0.5, None), "of two instances, of which no interval is told"
    assert (row.worst, row.worst_on) == (0.75, "b")
    assert [getattr(row, name) for name in reasons] == [1] * len(reasons)
    (cells,) = part.table().rows
    assert "1 out of memory, 1 crashed, 1 over 0" in cells[-1]


def test_seeds_above_an_optimum_of_0_keep_the_instance_out() -> None:
    """Tests that of an instance with optimum 0 the seeds that meet it are no mean of 0 % where others do not."""
    runs = [run("dl", "zero", "optimal", 0.0), run("dl", "zero", "beside_zero"), run("dl", "a", "above", 0.5)]
    (part,) = summaries(runs)
    (row,) = part.rows
    assert (row.instances, row.counted, row.mean, row.optimal, row.beside_zero) == (2, 1, 0.5, 1, 1)


def test_interval_over_instances() -> None:
    """Tests the interval of three instances by hand: Student's t with two degrees of freedom."""
    runs = [run("dl", str(gap), "above", gap) for gap in (1.0, 2.0, 3.0)]
    (part,) = summaries(runs)
    assert part.rows[0].half_width == pytest.approx(4.302653 / math.sqrt(3))
    assert part.heading() == "lsap: 3 instances; optima by proof: 3 dual; gaps in cost"


def test_problems_in_order_of_appearance() -> None:
    """Tests that problems and heuristics come as they appear, and that an instance counts once among the proofs."""
    runs = [run("b", "x", "optimal", 0.0, "flow"), run("a", "x", "optimal", 0.0), run("b", "x", "optimal", 0.0)]
    found = summaries(runs)
    assert [(part.problem, [row.heuristic for row in part.rows]) for part in found] == [
        ("flow", ["b"]),
        ("lsap", ["a", "b"]),
    ]
    assert found[1].proofs == {"dual": 1}
    assert isinstance(found[0].rows[0], Row)
