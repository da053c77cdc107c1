"""Places of reduces: slots, one reduce of a job a node, and how many can be placed at once."""

from __future__ import annotations

import itertools

from hypothesis import given
from transmission_instances import posed, problems

from optsched.core.results import Violation
from optsched.problems import Problem
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.routes import solve


def test_one_reduce_of_a_job_on_a_node() -> None:
    """Tests that a job's reduces share no node, with each other or with one that runs, and jobs do."""
    problem = posed([1.0, 2.0, 4.0], [3, 0, 1, 0], [0, 0, 1], [(1, 0)])
    assert problem.barred.tolist() == [[False] * 4, [True, False, False, False], [False] * 4]
    assert problem.usable.tolist() == [[True, False, True, False]] * 2 + [[False, False, True, False]]
    assert (problem.count, problem.offered["reduce"].tolist()) == (2, [3, 0, 1, 0])
    assert problem.violations(problem.placement([0, 0, 0])) == [
        Violation("distinct", ("j0", "n0"), 1),
        Violation("distinct", ("j1", "n0"), 1),
    ]
    assert [str(one) for one in problem.violations(problem.placement([2, -1, 2]))] == ["slots(n2) by 1"]
    assert [str(one) for one in problem.violations(problem.placement([0, -1, -1]))] == [
        "cardinality: 1 task too few placed"
    ]
    solution = solve(problem)
    assert (solution.objective, problem.nodes_of(solution.decision).tolist()) == ((2,), [2, 0, -1])  # type: ignore[arg-type]
    free = posed([1.0, 2.0, 4.0], [3, 0, 1, 0], [0, 0, 1], [(1, 0)], distinct=False)
    assert (free.count, free.violations(free.placement([0, 0, 0]))) == (3, [])
    assert not free.barred.any()
    assert solve(free).objective == (0,)


def test_reduces_without_a_job_share_it_with_none() -> None:
    """Tests that the rule says nothing of reduces that belong to no job."""
    problem = posed([1.0, 1.0], [2, 0], [-1, -1], [(-1, 0)], matrix=[[0.0, 1.0], [1.0, 0.0]])
    assert problem.limited.tolist() == [False, False]
    assert problem.violations(problem.placement([0, 0])) == []
    assert solve(problem).objective == (0,)


@given(problems("transmission-reduces"))
def test_count(problem: Problem) -> None:
    """Tests that exactly the most reduces that fit are placed, by trying every placement without the rule."""
    assert isinstance(problem, TransmissionReduces)
    nodes = range(-1, len(problem.instance.cluster))
    most = 0
    for chosen in itertools.product(nodes, repeat=len(problem.tasks)):
        wrong = {violation.constraint for violation in problem.violations(problem.placement(chosen))}
        if wrong <= {"cardinality"}:
            placed = len(chosen) - chosen.count(-1)
            most = max(most, placed)
            assert (not wrong) == (placed == problem.count), chosen
    assert problem.count == problem.due == most
