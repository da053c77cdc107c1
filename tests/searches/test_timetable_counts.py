"""Schedules as counts and back: every optimum is among the counts, and comes back as good."""

from __future__ import annotations

from over_time import both

from optsched.searches.schedule_enumeration import semi_active
from optsched.searches.timetable import Timetable
from optsched.searches.timetable_counts import Counts, counts_of, dealt


def test_every_optimum_can_be_counted() -> None:
    """Tests that each best schedule of the enumeration is within the instants, and is dealt back as good a one."""
    for problem, best in both(range(60)):
        table = Timetable(problem)
        optima = [decided for value, decided in semi_active(problem) if value[0] == best]
        for nodes, starts in optima[:3]:
            counts = counts_of(table, problem.schedule(nodes, starts))
            assert sum(counts.counted.values()) == sum(counts.starts.values()) == len(problem.tasks)
            assert problem.evaluate(dealt(table, counts)) == (best,)


def test_what_is_not_counted_does_not_run() -> None:
    """Tests that no counts are an empty schedule, and that tasks that do not run are not counted."""
    for problem, _ in both(range(6)):
        table = Timetable(problem)
        nothing = dealt(table, Counts({}, {}))
        assert nothing.placed == 0
        assert counts_of(table, nothing) == Counts({}, {})
