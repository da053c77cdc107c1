"""Windows that are found prove what is looked for, and no more than the optimum."""

from __future__ import annotations

import pytest
from over_time import proved

from optsched.certificates import proved_bound
from optsched.certificates.schedules import makespan_certificate
from optsched.core.instance import Cluster, Instance, Workload
from optsched.instances.files import from_document
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import ruled_out
from optsched.searches.schedule_windows import best_window
from optsched.searches.schedules import ScheduleSearch


def test_the_best_window_rules_out_what_it_says() -> None:
    """Tests that the checker agrees, and that some optima are closed so."""
    closed = 0
    for problem, optimum in proved(Makespan, range(60)):
        window = best_window(problem, problem.now + int(optimum * 10**6))
        if window is not None:
            assert ruled_out(problem, window)
            closed += makespan_certificate(problem, window).claim == optimum
    assert closed > 5


def test_windows_see_that_tasks_do_not_divide() -> None:
    """Tests that three tasks of 10 s on two slots end at 20 s, where their area is 15 s; in microseconds as well."""
    for length in (10, 10.000003):
        workload = Workload(["t1", "t2", "t3"], duration=[length] * 3)
        problem = Makespan(Instance(Cluster(["a", "b"]), workload))
        window = best_window(problem, round(2 * length * 10**6))
        assert window is not None
        assert makespan_certificate(problem, window).claim * 10**6 == round(2 * length * 10**6)


@pytest.mark.parametrize(
    ("maps", "reduces"),
    [
        ([3.001], [5.003, 7.007]),
        ([9.081], [5.585 + number * 1.013 for number in range(9)]),
        ([9.081], [round(5.585 + number * 1.013, 3) for number in range(14)]),
    ],
)
def test_bug_times_finer_than_a_step_were_left_open(maps: list[float], reduces: list[float]) -> None:
    """Tests that reduces one after another on a slot are proved, whatever fractions of a second they take."""
    names = [f"m{number}" for number in range(len(maps))] + [f"r{number}" for number in range(len(reduces))]
    kind = ["map"] * len(maps) + ["reduce"] * len(reduces)
    tasks = [
        {"id": name, "job": "j", "kind": what, "duration": time}
        for name, what, time in zip(names, kind, [*maps, *reduces], strict=True)
    ]
    document = {"format": "optsched/1", "name": "fine", "nodes": [{"id": "n"}], "jobs": [{"id": "j"}], "tasks": tasks}
    problem = Makespan(from_document(document), slowstart=1)
    search = ScheduleSearch(problem)
    search.run()
    assert search.closed
    assert proved_bound(problem, search.proof) == search.value
