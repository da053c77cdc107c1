"""Routes of the problems over time: each finds the optimum that enumeration does."""

from fractions import Fraction

import pytest
from over_time import FORMS, batch, fetching, one_job

import optsched
from optsched import Limit, Proof, Termination, certify
from optsched.core.errors import TooLarge
from optsched.problems import JobTimes, Makespan, timetable
from optsched.routes import routes_of, schedules, solve
from optsched.solvers.searches.schedules import ScheduleSearch


@pytest.mark.parametrize(
    ("name", "form", "seeds", "tasks"),
    [
        *((("makespan", "job-times")[number % 2], form, range(1, 2), 3) for number, form in enumerate(FORMS)),
        *(
            pytest.param(name, form, range(3), 4, marks=pytest.mark.thorough)
            for name in ("makespan", "job-times")
            for form in FORMS
        ),
    ],
)
def test_every_route_finds_the_optimum_over_distances(name: str, form: str, seeds: range, tasks: int) -> None:
    """Tests the same where tasks fetch what they read, of all routes, over each kind of distances, by either rule."""
    for seed in seeds:
        instance = fetching(seed, form, nodes=3, tasks=tasks, reduces=seed % 2, jobs=2, slots=1)
        problem = optsched.problem(name, instance, service="transfer", scale=0.5, slowstart=(0.05, 1)[seed % 2])
        tried = solve(problem, route="brute-force")
        assert tried.optimal
        for route in routes_of(problem):
            found = solve(problem, route=route)
            assert (found.termination, found.objective) == (tried.termination, tried.objective), (seed, route)
            certify(problem, found).raise_if_invalid()


@pytest.mark.thorough
def test_what_bounds_leave_open_goes_to_the_program() -> None:
    """Tests that the program closes an instance of too many orders, from the schedule of the search on, by its word."""
    problem = JobTimes(batch(4, nodes=3, slots=1, tasks=12, jobs=6, reduces=1))
    search = ScheduleSearch(problem)
    search.run()
    assert not search.closed
    found = solve(problem)
    assert (found.termination, found.certificates[0].kind) == (Termination.OPTIMAL, Proof.SOLVER)
    assert search.proof.claim < found.objective[0] <= search.value


@pytest.mark.thorough
def test_what_the_program_finds_is_proved_by_a_tree() -> None:
    """Tests that the makespan which the program finds, where bounds leave a gap, is proved by a tree over it."""
    problem = Makespan(batch(2, nodes=3, slots=1, tasks=12, jobs=6, reduces=1))
    found = solve(problem)
    assert (found.objective, found.certificates[0].kind) == ((30,), Proof.DUAL)
    assert Fraction(found.certificates[0].data["within"]) < 30
    assert certify(problem, found).proved


def test_a_single_job_of_two_speeds_is_proved() -> None:
    """Tests that the default route ends with a proof that is checked where a job alone has two speeds, never a word."""
    for seed in (3, 7, 9, 16, 19):
        instance, alone = one_job(seed, nodes=3, maps=8)
        for name in ("makespan", "job-times"):
            problem = optsched.problem(name, instance)
            found = solve(problem)
            assert found.objective == (Fraction(int(solve(alone).objective[0]), 10),)
            assert found.certificates[0].kind is Proof.DUAL
            assert certify(problem, found).proved


def test_what_is_left_before_the_limit_of_time_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a gap that is left although time remains has its reason, and one that time leaves has none of it."""
    monkeypatch.setattr(schedules, "_ORDERS", 1)
    monkeypatch.setattr(schedules, "_PROGRAM", 0)
    problem = JobTimes(batch(4, nodes=3, slots=1, tasks=12, jobs=6, reduces=1))
    found = solve(problem, time_limit=60)
    assert (found.termination, found.limit) == (Termination.FEASIBLE, Limit.GAP)
    assert found.raw_status.endswith("so that more time changes nothing")
    stopped = solve(problem, time_limit=0)
    assert stopped.limit is Limit.TIME
    assert "more time" not in stopped.raw_status


def test_bug_times_too_fine_for_a_program_were_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what is held is the answer where the program over time would be too large: nobody named a route."""
    problem = JobTimes(batch(4, nodes=3, slots=1, tasks=12, jobs=6, reduces=1))
    monkeypatch.setattr(timetable, "MOST_INSTANTS", 3)
    with pytest.raises(TooLarge, match="instants at which tasks start or end"):
        solve(problem, route="arrays")
    found = solve(problem)
    assert (found.termination, found.certificates[0].kind) == (Termination.FEASIBLE, Proof.DUAL)
