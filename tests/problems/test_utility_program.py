"""The exact programs of `utility`: hosts, patterns, values of decisions, readable rows, and what prices leave."""

import itertools
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import SWAPS, no_prices
from small_problems import utility as posed
from strategies import problems

from optsched.core.instance import Ints
from optsched.problems import Utility, knapsack, utility_program
from optsched.problems.base import GRID
from optsched.problems.utility_program import (
    Columns,
    TaskPrices,
    UtilityProgram,
    columns_at,
    listed_patterns,
)
from optsched.solvers.searches.enumeration import judged


def test_types_that_take_patterns() -> None:
    """Tests that only several equal trackers are packed by patterns, if these are not too many."""
    jobs = [{"maps": 9, "map": {"cpu": 1}}, {"maps": 9, "map": {"cpu": 2}}]
    problem = posed({"cpu": [3, 5, 3, 3]}, jobs)
    hosts = UtilityProgram(problem, listed_patterns(problem, 2))
    assert [nodes.tolist() for nodes in hosts.members] == [[0, 2, 3], [1]]
    patterns, none = hosts.patterns
    assert none is None
    assert sorted(patterns[:, :2].tolist()) == [[1, 1], [3, 0]]
    apart = UtilityProgram(problem, listed_patterns(problem, 1))
    assert [nodes.tolist() for nodes in apart.members] == [[0], [1], [2], [3]]


def test_rows_by_hand() -> None:
    """Tests both programs of the instance of Sharmilarani et al., note 7: names, sizes and rows that are broken."""
    first = SWAPS.program()
    assert (first.component, first.unit) == (0, -GRID)
    assert [family.name for family in first.variables] == ["place", "step", "lowest", "served"]
    assert first.broken(np.ones(len(first.names), dtype=np.int64)) == ("capacity[n0,disk] is 5, and must be at most 3")
    second = SWAPS.program((0,))
    assert [family.name for family in second.rows] == ["capacity", "supply", "needed", "one_need"]
    none = second.broken(np.zeros(len(second.names), dtype=np.int64))
    assert none == "one_need[j0] is 0, and must be 1 to 1"


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


@given(problems("utility", tasks=4, nodes=2))
@settings(max_examples=10)
def test_the_next_value_is_above_and_skips_none(problem: Utility) -> None:
    """Tests that the next value that may be is above a placement's, and is no more than the next placement's."""
    values = sorted({value[0] for value, _ in judged(problem)})
    for value, after in pairwise(values):
        assert value < problem.value_above(value) <= after


def is_among(problem: Utility, columns: Columns, counts: Ints) -> bool:
    """Whether each node's tasks are a pattern of its type, and each job has a pair of its counts."""
    for node, kind in enumerate(problem.node_type.tolist()):
        listed = columns.counts[columns.kind == kind]
        if not (listed == counts[:, node]).all(axis=1).any():
            return False
    enough = (columns.pair <= counts.sum(axis=1)[:, None]).all(axis=0)
    return set(columns.owner[enough].tolist()) == set(range(len(problem.jobs)))


def every_placement(problem: Utility) -> list[tuple[list[int], int, Ints]]:
    """Utilities in units, ascending, utilisation without fixed reduces, and counts, of each feasible placement."""
    items, found = problem.items, []
    for hosts in itertools.product(range(-1, len(problem.node_type)), repeat=len(problem.tasks)):
        placement = problem.placement(list(hosts))
        if problem.violations(placement):
            continue
        maps, reduces = problem.allocated(placement)
        utilities = sorted(problem.utility_units(maps.sum(axis=1), reduces.sum(axis=1)).tolist())
        counts = np.concatenate([maps, reduces if problem.fixed is None else np.zeros_like(reduces)])
        found.append((utilities, int((counts * items.share[:, problem.node_type]).sum()), counts))
    return found


@given(
    problems("utility", tasks=4).filter(lambda problem: len(problem.jobs) > 0),
    st.integers(1, 5),
    st.lists(st.integers(-(2**21), 2**21), min_size=6, max_size=6),
)
@settings(max_examples=12)
def test_no_better_placement_is_lost(problem: Utility, scale: int, prices: list[int]) -> None:
    """Tests that whatever has the utilities, and uses more than is held, is among the columns; against enumeration."""
    given_prices = TaskPrices(np.array(prices[: 2 * len(problem.jobs)], dtype=np.int64), scale)
    every = every_placement(problem)
    for utilities, held, _ in every[:: max(1, len(every) // 5)]:
        columns = columns_at(problem, utilities[0], given_prices, -held)
        for others, used, counts in every:
            if others[0] >= utilities[0] and used > held:
                assert is_among(problem, columns, counts)


def as_set(rows: Ints) -> set[tuple[int, ...]]:
    """Rows that are all different."""
    found = set(map(tuple, rows.tolist()))
    assert len(found) == len(rows)
    return found


def test_close_prices_leave_little() -> None:
    """Tests that prices that prove nearly what is held leave fewer patterns than none, and no placement but better."""
    none = columns_at(SWAPS, -(2**19), no_prices(SWAPS), 0)
    held = int(SWAPS.objective(SWAPS.placement([0, -1, -1, 1, 1, -1, -1, -1]))[1] * 2**20)
    few = columns_at(SWAPS, -(2**19), no_prices(SWAPS), -held)
    assert len(few.kind) < len(none.kind)
    beyond = columns_at(SWAPS, -(2**19), no_prices(SWAPS), -100 * 2**20)
    assert not len(beyond.kind)


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that more patterns than may be checked are refused, of one type, on the way, and of all types together."""
    for most in (0, 1, 3):
        monkeypatch.setattr(utility_program, "MOST_PATTERNS", most)
        assert columns_at(SWAPS, -(2**20), no_prices(SWAPS), 0) is None
    many = posed({"cpu": [40.0]}, [{"maps": 30, "map": {"cpu": 1.0}}])
    monkeypatch.setattr(utility_program, "MOST_PATTERNS", 1)
    assert columns_at(many, 0, no_prices(many), 0) is None


def test_divided_amounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where the room has too many states no pattern is lost, and that numbers past 2^62 are exact."""
    exact = columns_at(SWAPS, -(2**20), no_prices(SWAPS), 0)
    assert columns_at(SWAPS, -(2**20), TaskPrices(np.full(4, 2**52), 2**50), 0) is not None
    monkeypatch.setattr(knapsack, "_PACKER_STATES", 4)
    coarse = columns_at(SWAPS, -(2**20), no_prices(SWAPS), 0)
    assert as_set(np.c_[exact.kind, exact.counts]) <= as_set(np.c_[coarse.kind, coarse.counts])


@pytest.mark.parametrize(("takes", "held", "expected"), [(0.0, 1, [[0, 0], [1, 0], [2, 0]]), (9.0, 0, [])])
def test_tasks_that_take_nothing_or_too_much(takes: float, held: int, expected: list[list[int]]) -> None:
    """Tests patterns where tasks take nothing of any resource, and where no task fits."""
    problem = posed({"cpu": [2.0]}, [{"maps": 2, "map": {"cpu": takes}}])
    columns = columns_at(problem, problem.lowest_units, no_prices(problem), held)
    assert columns.counts.tolist() == expected
