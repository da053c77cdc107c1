"""Schedules as early as their order allows: nothing ends later, and what is best stays so."""

from __future__ import annotations

import pytest
from over_time import both

from optsched.core.schedule import MICRO, Schedule
from optsched.problems.left_shift import as_early
from optsched.searches.job_placing import placed_schedules


def test_nothing_ends_later() -> None:
    """Tests that a schedule that is late by some seconds is feasible as early as can be, and no worse than before."""
    for problem, best in both(range(12)):
        for schedule in placed_schedules(problem):
            late = Schedule(schedule.nodes, schedule.starts + 3 * MICRO * (schedule.nodes >= 0))
            early = as_early(problem, late)
            assert best <= problem.evaluate(early)[0] <= problem.evaluate(schedule)[0]
            assert (problem.ends(early) <= problem.ends(schedule)).all()


def test_order_stays() -> None:
    """Tests that a second time changes nothing."""
    for problem, _ in both(range(6)):
        for schedule in placed_schedules(problem):
            early = as_early(problem, schedule)
            assert as_early(problem, early) == early


@pytest.mark.parametrize("left", [0, 1])
def test_tasks_that_do_not_run_are_passed_over(left: int) -> None:
    """Tests that a schedule without some of its tasks is still one without them, with reduces that cannot start."""
    for problem, _ in both(range(6)):
        for schedule in placed_schedules(problem):
            kept = Schedule(schedule.nodes.copy(), schedule.starts)
            nodes = schedule.nodes.copy()
            nodes[left::2] = -1
            kept = Schedule(nodes, schedule.starts)
            assert (as_early(problem, kept).nodes == nodes).all()
