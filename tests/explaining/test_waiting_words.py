"""Explanations of schedules in sentences."""

from __future__ import annotations

import optsched
from optsched.explaining import explain
from optsched.explaining.waiting_words import schedule_sentences
from optsched.problems.schedules import ScheduleProblem
from optsched.schedule import MICRO


def posed(**more: object) -> ScheduleProblem:
    """Two jobs on a node with a slot of each kind; one task of a third job runs already."""
    document = {
        "format": "optsched/1",
        "name": "three",
        "nodes": [{"id": "a", "slots": 1, "idle_slots": 0}],
        "jobs": [{"id": name} for name in "ijk"],
        "tasks": [
            {"id": "x", "job": "i", "duration": 3, "state": "running", "node": "a", "start": 0},
            {"id": "m", "job": "j", "duration": 4},
            {"id": "n", "job": "k", "duration": 1},
            {"id": "r", "job": "k", "kind": "reduce", "duration": 2},
        ],
    }
    problem = optsched.problem("job-times", document, **more)
    assert isinstance(problem, ScheduleProblem)
    return problem


def test_sentences() -> None:
    """Tests every sentence of a small schedule, with each cause and each kind of link but one."""
    problem = posed()
    schedule = problem.schedule([0, 0, 0], [3 * MICRO, 8 * MICRO, 9 * MICRO])
    assert str(explain(problem, schedule)).splitlines() == [
        "three, job-times: the schedule has a sum of 3 job times of 21 s; the proved optimum: 17 s.",
        "Mean job time: 7 s, of 3 jobs; the longest 11 s. In the proved optimum: 5.66667 s, of 3 jobs; the longest 8 "
        "s.",
        "3 tasks: 0 waited for nothing; all of them together waited 9 s for maps of the job, 10 s while no slot was "
        "free, 1 s while a slot was free somewhere.",
        "Jobs, from arrival to end, the one that loses most to its time in the proved optimum first:",
        "  1. k: 11 s, 6 s in the proved optimum, 3 s alone; its last task, r on a, waited 9 s for maps of the job, "
        "and took 2 s",
        "  2. i: 3 s, 3 s in the proved optimum, 3 s alone; its last task ran at the beginning",
        "  3. j: 7 s, 8 s in the proved optimum, 4 s alone; its last task, m on a, waited 3 s while no slot was free, "
        "and took 4 s",
        "The last end comes of a chain of tasks:",
        "  0 to 3 s: x on a: it ran at the beginning",
        "  3 to 7 s: m on a: x left the slot",
        "  8 to 9 s: n on a: m left the slot, 1 s later",
        "  9 to 11 s: r on a: n, the map that it waited for, had ended",
    ]


def test_few_are_told() -> None:
    """Tests that what is not told is counted: the jobs that lose least, and the beginning of the chain."""
    problem = posed()
    schedule = problem.schedule([0, 0, 0], [3 * MICRO, 8 * MICRO, 9 * MICRO])
    lines = list(schedule_sentences(explain(problem, schedule), 1))
    assert [line.split(",")[0] for line in lines[4:]] == [
        "  1. k: 11 s",
        "  and 2 more jobs",
        "The last end comes of a chain of tasks:",
        "  3 tasks before",
        "  9 to 11 s: r on a: n",
    ]


def test_what_the_value_is() -> None:
    """Tests that a makespan is no sum and has no mean beside it."""
    problem = optsched.problem("makespan", "examples/order-of-jobs")
    lines = str(explain(problem, "fair")).splitlines()
    assert lines[0] == (
        "order-of-jobs, makespan: fair (levels, heartbeat 3 s) has a makespan of 19.5 s; the proved optimum: 15 s."
    )
    assert lines[1].startswith("8 tasks: 1 waited for nothing")
