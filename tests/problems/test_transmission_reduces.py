"""`transmission-reduces`: Shen et al.'s reduce costs, one reduce of a job a node, exact sums, and what is refused."""

import pytest
from transmission_instances import example, posed

from optsched.core.errors import InputError, TooLarge
from optsched.core.results import Violation
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.routes import solve


@pytest.mark.parametrize("size", [2.0**52 + 1, 2.0**53, 2.0**32 + 1 / 3])
def test_costs_that_are_not_exact(size: float) -> None:
    """Tests that totals past 2^53 units are refused, also where none of the costs is."""
    with pytest.raises(InputError, match=r"few: transmission-reduces: costs may total too much, past 2\^53"):
        posed(
            [size, size], [1, 1], matrix=[[0.0, 1.0], [1.0, 0.0]] if size == 2.0**52 + 1 else [[0.0, 2.0], [2.0, 0.0]]
        )


def test_tables_that_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a table of costs is refused before it is made, with its size."""
    monkeypatch.setattr("optsched.core.processes.limits.has_room", lambda size: size < 8 * 24)
    text = "2 reduces of 1 jobs on 4 nodes would have a table of 8 costs, and take about 0 MB where there are"
    with pytest.raises(TooLarge, match=text):
        TransmissionReduces(example((2, 1)))


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
