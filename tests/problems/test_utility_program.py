"""The exact program of `utility`: hosts, patterns, values of decisions, and rows that read as they should."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from utility_instances import SWAPS, posed, problems

from optsched.core.placement import Placement
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.problems.utility import Allocation
from optsched.problems.utility_program import (
    Hosts,
    Items,
    counts_of,
    deal,
    maximal_patterns,
    packing_program,
    values_of,
)
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
    first = packing_program(SWAPS, Hosts.exact(SWAPS, 9), None)
    assert (first.component, first.unit, [family.name for family in first.variables]) == (
        0,
        -GRID,
        ["place", "step", "lowest", "served"],
    )
    assert first.broken(np.ones(len(first.names), dtype=np.int64)) == ("capacity[n0,disk] is 5, and must be at most 3")
    second = packing_program(SWAPS, Hosts.exact(SWAPS, 9), 0)
    assert [family.name for family in second.rows] == ["capacity", "supply", "needed", "one_need"]
    none = second.broken(np.zeros(len(second.names), dtype=np.int64))
    assert none == "one_need[j0] is 0, and must be 1 to 1"


@given(problems(tasks=5, nodes=3))
@settings(max_examples=25)
def test_every_placement_is_in_the_second_program(problem: Utility) -> None:
    """Tests that values of each placement keep all rows at its lowest utility, cost its use, and come back."""
    hosts = Hosts.exact(problem, 100)
    for (lowest, use), nodes in list(judged(problem))[::7]:
        placement = Placement(np.array(nodes))
        counts = np.concatenate(problem.allocated(placement))
        if problem.fixed is not None:
            counts[len(problem.jobs) :] = 0
        units = -int(lowest * GRID)
        program = packing_program(problem, hosts, units)
        values = values_of(problem, hosts, program, counts, units)
        assert values is not None
        assert program.broken(values) is None
        assert int(program.whole.objective @ values) == use * GRID
        again = counts_of(problem, hosts, program, values)
        maps, reduces = np.split(again, 2)
        found = problem.placement_of(Allocation(maps, reduces if problem.fixed is None else problem.fixed))
        assert problem.minimised(problem.evaluate(found)) == (lowest, use)


def test_what_is_in_no_pattern() -> None:
    """Tests that counts beyond the patterns that are known are no values, and what patterns hold is dealt out."""
    problem = posed({"cpu": [4, 4]}, [{"maps": 4, "map": {"cpu": 1}}])
    hosts = Hosts.of(problem, {0: np.array([[1, 0]])})
    program = packing_program(problem, hosts, problem.lowest_units)
    assert values_of(problem, hosts, program, np.array([[2, 0], [0, 0]]), problem.lowest_units) is None
    assert deal(np.array([[2], [1]]), np.array([1, 2]), np.array([3])).tolist() == [[2], [1], [0]]
    every = maximal_patterns(problem.type_room[0], Items.of(problem), 9)
    assert every is not None
    assert every.tolist() == [[4, 0]]


def test_fixed_reduces() -> None:
    """Tests that fixed reduces count for the utilisation without a variable, and are held in place if each has one."""
    job = {"maps": 1, "reduces": 1, "map": {"cpu": 1}, "reduce": {"cpu": 2}}
    problem = posed({"cpu": [4, 4]}, [job], reduces="fixed")
    hosts = Hosts.of(problem, {})
    program = packing_program(problem, hosts, GRID)
    values = values_of(problem, hosts, program, np.array([[0, 1], [0, 0]]), GRID)
    assert values is not None
    assert program.broken(values) is None
    assert int(program.whole.objective @ values) == -3 * GRID // 4
    for units in (None, GRID):
        pairs = packing_program(problem, hosts, units, per_pair=True)
        assert pairs.names[:3] == [["place", "t0", "n0"], ["place", "t0", "n1"], ["place", "t1", "n0"]]
        assert {family.name: list(family.labels) for family in pairs.rows if family.name in ("once", "held")} == {
            "once": [("t0",), ("t1",)],
            "held": [("j0", "reduce", "n0")],
        }
