"""`transmission-reduces`: Shen et al.'s reduce costs, one reduce of a job a node, exact sums, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from transmission_instances import DISTANCES, PLACED, example, posed

from optsched.core.errors import InputError, TooLarge
from optsched.core.instance import (
    Instance,
    Shuffle,
)
from optsched.core.results import Violation
from optsched.problems.base import GRID
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.routes import solve


def test_worked_example() -> None:
    """Tests Shen et al. 2016, section II-B.2: distances, link costs, the sum 200; and 150, the least (note 5)."""
    problem = TransmissionReduces(PLACED)
    assert np.array(DISTANCES)[[2, 1]][:, [0, 2]].tolist() == [[2, 0], [4, 10]]
    assert (np.array([[2, 0], [4, 10]]) * [[10, 5], [20, 10]]).tolist() == [[20, 0], [80, 100]]
    assert problem.units.tolist() == [[100, 100, 200, 140], [50, 50, 100, 70]]
    assert problem.evaluate(problem.placement([0, 2])) == (200,)
    assert problem.evaluate(problem.placement([0, 1])) == problem.evaluate(problem.placement([1, 0])) == (150,)
    assert solve(problem).objective == (150,)
    assert TransmissionReduces(PLACED, distinct=False).count == 2


def test_grid_and_exact_sums() -> None:
    """Tests that costs are exact where sizes and distances have a denominator, else products are rounded once each."""
    assert posed([3.0], [1, 1, 1, 1]).grid == 1
    problem = posed([1 / 3], [0, 1, 0, 0])
    assert problem.evaluate(problem.placement([1])) == (Fraction(round(4 / 3 * GRID), GRID),)
    assert str(problem.remark).startswith("each cost, MB times distance, is rounded to a multiple of 1/1048576: ")
    for sizes, grid in (((0.3, 0.7), 10), ((1 / 3, 0.7), GRID)):
        workload = replace(PLACED.workload, shuffle=Shuffle([0, 1], [2, 2], sizes))
        state = replace(PLACED.state, emitted=np.zeros(2))
        problem = TransmissionReduces(Instance(PLACED.cluster, workload, state))
        assert problem.grid == grid
        assert problem.units[0].tolist() == [
            round(sizes[0] * DISTANCES[2][node] * grid) + round(sizes[1] * DISTANCES[1][node] * grid)
            for node in range(4)
        ]


@pytest.mark.parametrize("size", [2.0**52 + 1, 2.0**53, 2.0**32 + 1 / 3])
def test_costs_that_are_not_exact(size: float) -> None:
    """Tests that totals past 2^53 units are refused, also where none of the costs is."""
    with pytest.raises(InputError, match=r"few: transmission-reduces: costs may total too much, past 2\^53"):
        posed(
            [size, size], [1, 1], matrix=[[0.0, 1.0], [1.0, 0.0]] if size == 2.0**52 + 1 else [[0.0, 2.0], [2.0, 0.0]]
        )


def test_tables_that_would_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a table of costs is refused before it is made, with its size."""
    monkeypatch.setattr("optsched.processes.limits.has_room", lambda size: size < 8 * 24)
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
