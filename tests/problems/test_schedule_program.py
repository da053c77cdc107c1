"""The program over time: its optimum is that of enumeration, and schedules are solutions of it, and back."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from over_time import both

from optsched.core.errors import TooLarge
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.results import Termination
from optsched.problems import JobTimes, Makespan, schedule_program
from optsched.problems.schedule_program import job_labels
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
