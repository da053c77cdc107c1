"""Schedules side by side: names with values and gaps, failures, and the optimum last."""

from __future__ import annotations

import pytest

import optsched
from optsched.drawing.schedules import chart_of, chart_of_report, charts
from optsched.errors import UsageError
from optsched.gaps import gap
from optsched.problems.schedules import ScheduleProblem
from optsched.schedule import Schedule


@pytest.fixture(scope="module")
def problem() -> ScheduleProblem:
    """Two jobs, four maps and two reduces."""
    posed = optsched.problem("job-times", "examples/order-of-jobs")
    assert isinstance(posed, ScheduleProblem)
    return posed


def test_values_and_gaps_are_told(problem: ScheduleProblem) -> None:
    """Tests the names of a heuristic's schedule, a given one, and the optimum; and the picture of all of them."""
    best = optsched.solve(problem)
    assert best.objective is not None
    empty = Schedule.empty(len(problem.instance.workload))
    names = [one.name for one in charts(problem, ["fair", best, empty])]
    report = gap(problem, "fair")
    assert report.objective is not None
    assert names[0].startswith(f"fair: job time {float(report.objective[0]):g}, ")
    assert names[0].endswith("above the optimum")
    assert names[1] == f"the schedule: job time {float(best.objective[0]):g}"
    assert names[2].startswith("the schedule: infeasible: every-task-runs(")
    assert names[3].startswith("optimum (proved: ")
    titles = [axes.get_title(loc="left") for axes in optsched.draw(problem, "fair", best, empty).axes[:4]]
    assert titles == [f"{names[0]}\nlevels, heartbeat 3 s", *(f"{name}\n" for name in names[1:])]
    assert optsched.draw(report).axes[1].get_title(loc="left") == f"{names[3]}\n"
    run = optsched.simulate(problem.instance, "fair")
    titles = [axes.get_title(loc="left") for axes in optsched.draw(run, run).axes[:2]]
    assert titles == ["fair\nlevels, heartbeat 3 s"] * 2


def test_what_fails_has_no_bars(problem: ScheduleProblem) -> None:
    """Tests that a heuristic that raises is named so, and a schedule of another instance is told."""

    def breaks(*_: object) -> None:
        raise ZeroDivisionError

    failed = chart_of_report(gap(problem, breaks), "mine")
    assert (failed.name, len(failed.rows)) == ("mine: failed", 0)
    with pytest.raises(UsageError, match="of another instance"):
        chart_of(problem, Schedule.empty(1))


def test_nothing_to_draw() -> None:
    """Tests that an infeasible problem without schedules has no picture."""
    document = {"format": "optsched/1", "nodes": [{"id": "a", "slots": 0}], "tasks": [{"id": "t", "duration": 1}]}
    with pytest.raises(UsageError, match="no schedule is known to draw: INFEASIBLE"):
        optsched.draw(optsched.problem("makespan", document))
