"""The compact program by arrays: its optimum is that of enumeration, and a schedule is a solution of it."""

from __future__ import annotations

import numpy as np
import pytest
from over_time import both

from optsched.schedule import MICRO
from optsched.searches.list_schedules import list_schedules
from optsched.searches.schedule_enumeration import semi_active
from optsched.searches.schedule_program import ScheduleProgram
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import Profile


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 120), marks=pytest.mark.thorough)])
def test_program_has_the_optimum_of_enumeration(seeds: range) -> None:
    """Tests value and schedule of the program on drawn instances of both problems, with node limits and no seconds."""
    for problem, best in both(seeds):
        program = ScheduleProgram(problem)
        found = solve_arrays(program.program, Profile("exact", node_limit=10_000))
        assert found.x is not None
        assert found.outcome.objective == pytest.approx(float(best) * MICRO / program.table.step, abs=1e-5)
        assert problem.evaluate(program.decode(found.x)) == (best,)


def test_schedules_are_solutions() -> None:
    """Tests that a best schedule keeps all rows, costs what it is worth, and comes back, as a list schedule does."""
    for problem, best in both(range(40)):
        program = ScheduleProgram(problem)
        made = program.program
        nodes, starts = next(decided for value, decided in semi_active(problem) if value[0] == best)
        for schedule in (problem.schedule(nodes, starts), next(list_schedules(problem))):
            values = program.start(schedule)
            if not values.any() and len(problem.tasks):
                assert problem.evaluate(schedule)[0] > best  # later than any that is as good as the best list
                continue
            worth = problem.evaluate(program.decode(values))
            assert worth <= problem.evaluate(schedule)
            activity = made.matrix @ values
            assert (activity >= made.row_lower - 1e-9).all()
            assert (activity <= made.row_upper + 1e-9).all()
            assert (values <= made.col_upper).all()
            cost = float(np.dot(made.objective, values)) + made.offset
            assert cost >= float(worth[0]) * MICRO / program.table.step - 1e-6
