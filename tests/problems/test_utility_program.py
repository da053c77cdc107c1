"""The exact programs of `utility`: hosts, patterns, values of decisions, and rows that read as they should."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from utility_instances import SWAPS, posed, problems

from optsched.core.placement import Placement
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.problems.utility_program import Hosts, Items, deal, maximal_patterns
from optsched.searches.enumeration import judged


def test_types_that_take_patterns() -> None:
    """Tests that only several equal trackers are packed by patterns, if these are not too many."""
    jobs = [{"maps": 9, "map": {"cpu": 1}}, {"maps": 9, "map": {"cpu": 2}}]
    problem = posed({"cpu": [3, 5, 3, 3]}, jobs)
    hosts = Hosts.exact(problem, 2)
    assert [nodes.tolist() for nodes in hosts.members] == [[0, 2, 3], [1]]
    patterns, none = hosts.patterns
    assert none is None
    assert patterns is not None
    assert sorted(patterns[:, :2].tolist()) == [[1, 1], [3, 0]]
    assert [nodes.tolist() for nodes in Hosts.exact(problem, 1).members] == [[0], [1], [2], [3]]


def test_rows_by_hand() -> None:
    """Tests both programs of the instance of Sharmilarani et al., note 7: names, sizes and rows that are broken."""
    first = SWAPS.program()
    assert (first.component, first.unit, [family.name for family in first.variables]) == (
        0,
        -GRID,
        ["place", "step", "lowest", "served"],
    )
    assert first.broken(np.ones(len(first.names), dtype=np.int64)) == ("capacity[n0,disk] is 5, and must be at most 3")
    second = SWAPS.program((0,))
    assert [family.name for family in second.rows] == ["capacity", "supply", "needed", "one_need"]
    none = second.broken(np.zeros(len(second.names), dtype=np.int64))
    assert none == "one_need[j0] is 0, and must be 1 to 1"


@given(problems(tasks=4, nodes=3))
@settings(max_examples=8)
def test_every_placement_is_in_the_programs(problem: Utility) -> None:
    """Tests that values of each placement keep all rows, at its lowest utility too, cost its value, and come back."""
    for posed_problem in (problem, problem.apart()):
        first = posed_problem.program()
        for value, nodes in list(judged(problem))[::7]:
            placement = Placement(np.array(nodes))
            for program in (first, posed_problem.program(value[:1])):
                values = posed_problem.values_of(placement, program)
                assert program.broken(values) is None
                assert int(program.numbers.objective @ values) == value[program.component] * GRID
                found = posed_problem.decision_of(values, program)
                assert problem.minimised(problem.evaluate(found)) == value


def test_patterns() -> None:
    """Tests that what patterns hold is dealt out, and which of them are maximal."""
    problem = posed({"cpu": [4, 4]}, [{"maps": 4, "map": {"cpu": 1}}])
    assert deal(np.array([[2], [1]]), np.array([1, 2]), np.array([3])).tolist() == [[2], [1], [0]]
    every = maximal_patterns(problem.type_room[0], Items.of(problem), 9)
    assert every is not None
    assert every.tolist() == [[4, 0]]


def test_fixed_reduces() -> None:
    """Tests that fixed reduces count for the utilisation without a variable, and are held in place if each has one."""
    job = {"maps": 1, "reduces": 1, "map": {"cpu": 1}, "reduce": {"cpu": 2}}
    problem = posed({"cpu": [4, 4]}, [job], reduces="fixed")
    program = problem.program((-1,))
    placement = problem.placement([1, 0])
    values = problem.values_of(placement, program)
    assert program.broken(values) is None
    assert int(program.numbers.objective @ values) == -3 * GRID // 4
    for before in ((), (-1,)):
        pairs = problem.apart().program(before)
        assert pairs.names[:3] == [["place", "t0", "n0"], ["place", "t0", "n1"], ["place", "t1", "n0"]]
        assert {family.name: list(family.labels) for family in pairs.rows if family.name in ("once", "held")} == {
            "once": [("t0",), ("t1",)],
            "held": [("j0", "reduce", "n0")],
        }


@given(problems(tasks=4, nodes=2))
@settings(max_examples=10)
def test_the_next_value_is_above_and_skips_none(problem: Utility) -> None:
    """Tests that the next value that may be is above a placement's, and is no more than the next placement's."""
    values = sorted({value[0] for value, _ in judged(problem)})
    for value, after in pairwise(values):
        assert value < problem.value_above(value) <= after
