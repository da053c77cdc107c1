"""The program over time: its optimum is that of enumeration, and schedules are solutions of it, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from over_time import both

from optsched.core.errors import TooLarge
from optsched.core.schedule import MICRO
from optsched.instances.files import from_document
from optsched.problems import JobTimes
from optsched.searches import schedule_program
from optsched.searches.job_placing import placed_schedules
from optsched.searches.schedule_enumeration import semi_active
from optsched.searches.schedule_program import ScheduleProgram, job_labels
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import Profile


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 120), marks=pytest.mark.thorough)])
def test_program_has_the_optimum_of_enumeration(seeds: range) -> None:
    """Tests value and schedule of the program on drawn instances of both problems, with node limits and no seconds."""
    for problem, best in both(seeds):
        program = ScheduleProgram(problem)
        found = solve_arrays(program.arrays(), Profile("exact", node_limit=10_000))
        assert found.x is not None
        assert found.outcome.objective == pytest.approx(float(best) * MICRO / program.table.step, abs=1e-5)
        assert problem.evaluate(program.decode(found.x)) == (best,)


def test_schedules_are_solutions() -> None:
    """Tests that a best schedule keeps all rows, costs what it is worth, and comes back, as a list schedule does."""
    for problem, best in both(range(12)):
        program = ScheduleProgram(problem)
        made = program.arrays()
        nodes, starts = next(decided for value, decided in semi_active(problem) if value[0] == best)
        for schedule in (problem.schedule(nodes, starts), next(placed_schedules(problem))):
            values = program.start(schedule)
            if not values[program.program.family("start")].any() and len(problem.tasks):
                assert problem.evaluate(schedule)[0] > best  # later than any that is as good as the best list
                continue
            worth = problem.evaluate(program.decode(values))
            assert worth <= problem.evaluate(schedule)
            assert program.program.broken(values) is None
            cost = float(np.dot(made.objective, values)) + made.offset
            assert cost >= float(worth[0]) * MICRO / program.table.step - 1e-6


def test_every_optimum_is_a_solution() -> None:
    """Tests that each best schedule of the enumeration is within the instants, and is dealt back as good a one."""
    for problem, best in both(range(16)):
        program = ScheduleProgram(problem)
        for nodes, starts in [decided for value, decided in semi_active(problem) if value[0] == best][:3]:
            values = program.start(problem.schedule(nodes, starts))
            assert values[program.program.family("counted")].sum() == len(problem.tasks)
            assert problem.evaluate(program.decode(values)) == (best,)


def test_what_is_not_counted_does_not_run() -> None:
    """Tests that no counts are an empty schedule, and that tasks that do not run are not counted."""
    for problem, _ in both(range(6)):
        program = ScheduleProgram(problem)
        nothing = program.decode(np.zeros(len(program.program.whole.upper)))
        assert nothing.placed == 0
        values = program.start(nothing)
        assert not values[program.program.family("counted")].any()
        assert not values[program.program.family("start")].any()


def test_too_many_coefficients_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a program whose rows of slots would be too long is refused before it is made."""
    tasks = [{"id": name, "duration": 2} for name in "stuv"]
    instance: Any = from_document({"format": "optsched/1", "nodes": [{"id": "a"}], "tasks": tasks})
    problem = JobTimes(instance)
    monkeypatch.setattr(schedule_program, "MOST_COEFFICIENTS", 3)
    with pytest.raises(TooLarge, match="more than 3 coefficients"):
        ScheduleProgram(problem)


def test_task_without_a_job_and_a_job_of_its_name() -> None:
    """Tests that labels differ where a task that is its own job is called as a job is."""
    tasks = [{"id": "x", "duration": 1}, {"id": "t", "job": "x", "duration": 1}]
    instance: Any = from_document(
        {"format": "optsched/1", "nodes": [{"id": "a"}], "jobs": [{"id": "x"}], "tasks": tasks}
    )
    assert job_labels(JobTimes(instance)) == ["x", "x_"]
