"""The tree of cases by jobs' ends, against enumeration; and its linear program over starts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from over_time import batch, proved

from optsched.certificates import proved_bound, schedules
from optsched.certificates.schedules import cases_certificate
from optsched.core.errors import CertificateInvalid
from optsched.problems.job_times import JobTimes
from optsched.problems.time_prices import JobEnds
from optsched.searches import job_ends
from optsched.searches.job_ends import EndTree, StartProgram
from optsched.searches.schedules import ScheduleSearch


def tree_of(problem: JobTimes, limit: int, found: list[list[int]] | None = None) -> EndTree:
    """A tree for which no schedule is ever found."""

    def realised(ends: list[int]) -> int:
        (found if found is not None else []).append(ends)
        return limit

    step = problem.lattice
    return EndTree(JobEnds(problem, step, limit), realised)


def test_trees_prove_no_more_than_the_optimum() -> None:
    """Tests on drawn instances that a tree within any limit is right, and that its certificate is proved."""
    closed = count = 0
    for problem, optimum in proved(JobTimes, range(40)):
        step = problem.lattice
        limit = JobEnds.limit_of(problem, step, optimum)
        if JobEnds(problem, step, limit).box.upper.max(initial=0) > 10**4 or not len(problem.tasks):
            continue
        for more in (0, 3):
            tree = tree_of(problem, limit + more)
            tree.run(200)
            claim = cases_certificate(problem, step, tree.proved, tree.tree())
            claim = replace(claim, data=json.loads(json.dumps(claim.data)))
            assert proved_bound(problem, claim) == claim.claim <= optimum
            closed, count = closed + (claim.claim == optimum), count + 1
    assert closed > 0.8 * count


def test_cases_are_parted() -> None:
    """Tests that a tree proves more than prices for all cases together, and more with more programs."""
    problem = JobTimes(batch(5, tasks=48))
    search = ScheduleSearch(problem)
    for name, step in search.stages():
        if name == "cases of ends":
            break
        step()
    assert search.value is not None
    assert not search.closed
    limit = JobEnds.limit_of(problem, problem.lattice, search.value)
    bounds = []
    for most in (0, 1, 5, 40):
        tree = tree_of(problem, limit)
        tree.run(most)
        bounds.append(tree.proved)
        assert tree.size > 1
        certificate = cases_certificate(problem, problem.lattice, tree.proved, tree.tree())
        assert proved_bound(problem, certificate) == certificate.claim
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]


def test_a_schedule_that_is_found_lowers_the_limit() -> None:
    """Tests that where the program has all jobs whole a schedule is looked for, and closes what costs as much."""
    problem, asked = JobTimes(batch(5)), list[list[int]]()
    tree = tree_of(problem, JobEnds.limit_of(problem, problem.lattice, 10**3), asked)
    tree.run(60)
    assert asked
    assert not tree.closed
    costs = [sum(ends) for ends in asked]
    step = problem.lattice
    again = EndTree(JobEnds(problem, step, tree.limit), lambda ends: sum(ends))
    again.run(500)
    assert again.limit <= min(costs)
    assert again.closed


def test_a_limit_that_is_proved_at_once() -> None:
    """Tests that no program is solved where what each job takes alone costs as much as the limit."""
    problem = JobTimes(batch(5))
    tree = tree_of(problem, int(JobEnds(problem, problem.lattice, 10**3).box.lower.sum()))
    tree.run(10)
    assert (tree.closed, tree.programs) == (True, 0)


def test_programs_that_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a case of which no program says anything stays open, with what is proved without prices."""
    monkeypatch.setattr(StartProgram, "solve", lambda *_: None)
    problem, asked = JobTimes(batch(5)), list[list[int]]()
    tree = tree_of(problem, JobEnds.limit_of(problem, problem.lattice, 10**3), asked)
    tree.run(10)
    assert (tree.programs, asked, tree.closed) == (1, [], False)
    certificate = cases_certificate(problem, problem.lattice, tree.proved, tree.tree())
    assert proved_bound(problem, certificate) == certificate.claim > 0


def test_trees_that_are_checked_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no more boxes are settled than a checker settles: the tree proves less, and its certificate holds."""
    problem = JobTimes(batch(5, tasks=48))
    limit = JobEnds.limit_of(problem, problem.lattice, 10**3)
    whole = tree_of(problem, limit)
    whole.run(10)
    for module in (job_ends, schedules):
        monkeypatch.setattr(module, "MOST_WORK", whole.work // 2)
    part = tree_of(problem, limit)
    part.run(10)
    assert 0 < part.work <= whole.work // 2
    certificate = cases_certificate(problem, problem.lattice, part.proved, part.tree())
    assert proved_bound(problem, certificate) == certificate.claim
    monkeypatch.setattr(schedules, "MOST_WORK", 1000)
    with pytest.raises(CertificateInvalid, match="costs would have to be compared in all, more than 1000"):
        proved_bound(problem, cases_certificate(problem, problem.lattice, whole.proved, whole.tree()))
