"""Explanations of schedules: jobs, tasks and the chain beside the optimum, and what cannot be explained."""

from __future__ import annotations

import json

import pytest

import optsched
from optsched.errors import HeuristicFailed, UsageError
from optsched.explaining import ScheduleExplanation, explain, explained
from optsched.gaps import gap
from optsched.placement import Placement
from optsched.problems.schedules import ScheduleProblem
from optsched.schedule import MICRO, Schedule


@pytest.fixture(scope="module")
def problem() -> ScheduleProblem:
    """Two jobs, six maps and two reduces on two nodes."""
    posed = optsched.problem("job-times", "examples/order-of-jobs")
    assert isinstance(posed, ScheduleProblem)
    return posed


def test_jobs_lose_what_the_gap_is(problem: ScheduleProblem) -> None:
    """Tests that what the jobs lose to the optimum adds up to the gap, and the times of each task and job."""
    found = explain(problem, "fair")
    assert isinstance(found, ScheduleExplanation)
    assert found.gap is not None
    assert sum(job.lost for job in found.jobs) == float(found.gap[0]) > 0
    assert [job.lost for job in found.jobs] == sorted((job.lost for job in found.jobs), reverse=True)
    schedule = found.schedule
    assert schedule is not None
    ends = dict(zip(problem.instance.workload.task_ids.tolist(), problem.ends(schedule) / MICRO, strict=True))
    for task in found.tasks:
        assert task.end == ends[task.task]
        assert task.start >= task.waited  # the first job arrives at 0
    for job in found.jobs:
        assert job.best is not None
        assert job.last is not None
        assert job.alone <= min(job.best, job.time)
        assert job.last.end == max(end for name, end in ends.items() if name.startswith(job.job))
    told = found.to_dict()
    assert json.loads(json.dumps(told))["gap"] == [int(found.gap[0])] == told["gap"]
    assert {entry["task"] for entry in told["tasks"]} == set(ends)
    assert told["chain"][-1]["end"] == max(ends.values())
    assert repr(found).startswith("<fair on order-of-jobs, job-times: gap ")


def test_what_may_be_given(problem: ScheduleProblem) -> None:
    """Tests a report, a schedule and a solution; what is none of these, infeasible or fails is told."""
    assert isinstance(explained(gap(problem, "fair")), ScheduleExplanation)
    best = optsched.solve(problem)
    assert isinstance(best.decision, Schedule)
    for given in (best, best.decision):
        found = explain(problem, given)
        assert (found.gap, found.who, [job.lost for job in found.jobs]) == ((0,), "the schedule", [0, 0])
    other = optsched.solve(optsched.problem("job-times", optsched.generate("job-times", seed=1, tasks=3, jobs=1)))
    tasks = len(problem.instance.workload)

    def breaks(*_: object) -> None:
        raise ZeroDivisionError

    for given, kind, told in (
        (None, UsageError, "give a policy or a schedule: there are feasible ones"),
        (other, UsageError, "of another instance"),
        (Placement.empty(tasks), UsageError, "give a policy or a schedule to explain"),
        (Schedule.empty(tasks), UsageError, "the schedule is infeasible, so that there is no gap to explain: every-"),
        (breaks, HeuristicFailed, "ZeroDivisionError"),
    ):
        with pytest.raises(kind, match=told):
            explain(problem, given)
    with pytest.raises(UsageError, match="takes no parameters: leave seeds out"):
        explain(problem, best, seeds=3)


def test_nothing_is_feasible() -> None:
    """Tests that an infeasible problem is explained without a schedule, in words and for JSON."""
    document = {"format": "optsched/1", "nodes": [{"id": "a", "slots": 0}], "tasks": [{"id": "t", "duration": 1}]}
    found = explain(optsched.problem("makespan", document))
    assert isinstance(found, ScheduleExplanation)
    assert (found.infeasible, found.schedule, found.gap) == (True, None, None)
    assert str(found) == (
        'instance, makespan: no schedule is feasible: no slot for a map ever becomes free, and task "t" is one.'
    )
    assert found.to_dict()["jobs"] == []
    assert repr(found) == "<makespan on instance: infeasible>"
    with pytest.raises(UsageError, match="nothing is feasible"):
        optsched.draw(found)


def test_the_chain_is_framed(problem: ScheduleProblem) -> None:
    """Tests that the picture has the schedule with its chain beside the optimum."""
    found = explain(problem, "fair")
    figure = optsched.draw(found)
    framed = [patch for axes in figure.axes for patch in axes.patches if patch.get_label() == "framed"]
    ends = sorted(float(x) for patch in framed for x in patch.get_path().vertices[1::5, 0])
    assert ends == [link.end / MICRO for link in found.chain]
    assert "optimum (proved: " in figure.axes[1].get_title(loc="left")
