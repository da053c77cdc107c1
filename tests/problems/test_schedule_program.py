"""The program over time: its optimum is that of enumeration, and schedules are solutions of it, and back."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from over_time import both, weighed

from optsched.core.errors import TooLarge
from optsched.core.instance import REDUCE, Cluster, Instance, Ragged, Workload
from optsched.core.results import Termination
from optsched.instances.files import from_document
from optsched.problems import JobTimes, Makespan, schedule_program
from optsched.problems.schedule_program import Timetable, job_labels
from optsched.routes import solve
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.enumeration import semi_active
from optsched.solvers.searches.program_tree import as_arrays
from optsched.solvers.searches.schedules import best_placed


def placed(problem: Any) -> Any:
    """The problem whose program has what is no worse than the best schedule of some that are placed job by job."""
    return problem.within(problem.evaluate(best_placed(problem))[0])


def test_every_optimum_is_a_solution() -> None:
    """Tests that each best schedule is in the program of what is no worse, at its cost, and comes back."""
    for problem, best in both(range(8)):
        for posed in (placed(problem), problem.within(best)):
            program = posed.program()
            for nodes, starts in [decided for value, decided in semi_active(problem) if value[0] == best][:3]:
                values = posed.values_of(problem.schedule(nodes, starts), program)
                assert values[program.family("counted")].sum() == len(problem.tasks)
                assert program.broken(values) is None
                assert problem.evaluate(posed.decision_of(values, program)) == (best,)
                assert program.numbers.objective @ values == best * program.unit


def test_what_is_not_counted_does_not_run() -> None:
    """Tests that no counts are an empty schedule, and that tasks that do not run are not counted."""
    for problem, _ in both(range(6)):
        program = problem.program()
        nothing = problem.decision_of(np.zeros_like(program.numbers.upper), program)
        assert nothing.placed == 0
        values = problem.values_of(nothing, program)
        assert not values[program.family("counted")].any()
        assert not values[program.family("start")].any()


def test_values_between_are_none() -> None:
    """Tests the greatest value below another one, of weights of three quarters and of none."""
    problem = JobTimes(Instance(Cluster(["a"]), Workload(["t"], duration=[2])))
    for weight, below in ((Fraction(3, 4), Fraction(49_999_995, 10**7)), (0, Fraction(4_999_999, 10**6))):
        problem.weights = (weight,)
        assert problem.value_below(5) == problem.value_below(below + Fraction(1, 10**7)) == below


def test_too_many_coefficients_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a program whose rows of slots would be too long is refused before it is made."""
    problem = JobTimes(Instance(Cluster(["a"]), Workload(list("stuv"), duration=[2] * 4)))
    monkeypatch.setattr(schedule_program, "MOST_COEFFICIENTS", 3)
    with pytest.raises(TooLarge, match="more than 3 coefficients"):
        problem.program()


def test_task_without_a_job_and_a_job_of_its_name() -> None:
    """Tests that labels differ where a task that is its own job is called as a job is."""
    workload = Workload(["x", "t"], duration=[1, 1], job=[-1, 0], job_ids=["x"])
    assert job_labels(JobTimes(Instance(Cluster(["a"]), workload))) == ["x", "x_"]


def test_bug_a_job_without_a_start_before_the_horizon() -> None:
    """Tests that a program of schedules that end before a job can has no solution; it raised an IndexError."""
    columns = {"job": [-1, 0], "job_ids": ["j0"], "replicas": Ragged.from_rows([[0], [0]])}
    workload = Workload(["long", "short"], times=[[9.22, 0.94, 1.55], [8.44, 0.94, 1.55]], **columns)  # type: ignore[arg-type]
    problem = Makespan(Instance(Cluster(["n0"], slots=[2]), workload), slowstart=0)
    optimum = Fraction(922, 100)
    below = problem.within(problem.value_below(optimum)).program().numbers
    assert solve_arrays(as_arrays(below), Profile("exact")).outcome.status is Termination.INFEASIBLE
    solution = solve(problem, route="arrays")
    assert (solution.objective, solution.termination) == ((optimum,), Termination.OPTIMAL)


# Groups, pools and instants -------------------------------------------------------------------------------------------


def posed(tasks: list[dict[str, Any]], nodes: list[dict[str, Any]], **more: Any) -> Any:
    """An instance file with the jobs that its tasks name."""
    jobs = [{"id": job} for job in dict.fromkeys(task["job"] for task in tasks if "job" in task)]
    return from_document({"format": "optsched/1", "nodes": nodes, "jobs": jobs, "tasks": tasks, **more})


RACKS = [{"id": name, "rack": rack} for name, rack in zip("abcd", "rrss", strict=True)]


def one_task(times: tuple[int, ...], *replicas: str) -> Timetable:
    """A task with data on some nodes, and its times on its data, in the rack and beyond."""
    named = dict(zip(("node", "rack", "off_rack"), times, strict=True))
    return placed(Makespan(posed([{"id": "t", "replicas": list(replicas), "times": named}], RACKS))).timetable


@pytest.mark.parametrize(
    ("times", "levels"),
    [
        ((10, 12, 12), ["off_rack", "node"]),
        ((10, 10, 12), ["off_rack", "rack"]),
        ((7, 7, 7), ["off_rack"]),
        ((12, 10, 15), ["node"] * 4),
        ((0, 10, 15), ["node"]),
    ],
)
def test_places_with_the_same_time_are_one(times: tuple[int, int, int], levels: list[str]) -> None:
    """Tests levels with the same time, times that grow near the data, and a place where no time is taken."""
    assert [group.level for group in one_task(times, "a").groups] == levels


def test_reduces_may_start_their_time_before_maps_end() -> None:
    """Tests that a reduce of 2 s may start so that it ends with the map of 5 s."""
    tasks: list[dict[str, Any]] = [
        {"id": "m", "job": "j", "duration": 5},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 2},
    ]
    table = placed(Makespan(posed(tasks, [{"id": "a", "reduce_slots": 1}]), slowstart=0)).timetable
    pairs = zip(table.groups, table.starts, strict=True)
    assert [starts.tolist() for group, starts in pairs if group.kind == REDUCE] == [[0, 2, 3]]
    assert (table.earliest, table.latest) == ([5], [5])


def test_a_job_without_weight_may_end_when_all_have_run() -> None:
    """Tests that the latest end is that of all tasks in turn where a weight of 0 sets no limit."""
    problem = weighed([4, 4], [1, 0.5])
    assert placed(problem).timetable.latest == [6, 8]
    problem.weights = (1, 0)
    assert placed(problem).timetable.latest == [4, 8]


def test_too_many_instants_and_starts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that times that are too fine are refused with their tick, and too many starts, too."""
    tasks: list[dict[str, Any]] = [{"id": f"t{number}", "duration": 1 + 2.0**-number} for number in range(12)]
    problem = Makespan(posed(tasks, [{"id": "a"}]))
    monkeypatch.setattr(schedule_program, "MOST_INSTANTS", 500)
    with pytest.raises(TooLarge, match=r"more than 500 instants .* multiples of 1e-06 s and jobs may end until 13.9"):
        _ = placed(problem).timetable
    monkeypatch.setattr(schedule_program, "MOST_INSTANTS", 10**6)
    monkeypatch.setattr(schedule_program, "MOST_STARTS", 100)
    with pytest.raises(TooLarge, match="more than 100 ways to start tasks"):
        _ = placed(problem).timetable
