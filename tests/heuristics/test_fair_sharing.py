"""Tests of fair sharing of fixed slots, which RAS is compared with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ras_cases import snapshot, utilities
from utility_instances import posed

from optsched.heuristics.fair_sharing import fair_sharing
from optsched.instance import MAP, REDUCE
from optsched.problems.utility import Utility, spread_reduces

RNG = np.random.default_rng(0)  # fair sharing draws nothing
ORDERS = st.sampled_from(["in-turn", "availability"])


@given(utilities(), st.integers(0, 3), st.integers(0, 3), ORDERS)
def test_placements_are_feasible_and_keep_the_slots(
    problem: Utility, slots: int, reduce_slots: int, advertised: str
) -> None:
    """Tests that no tracker is overloaded or runs more than its slots, and that none that could be used is left."""
    placement = fair_sharing(problem, RNG, slots=slots, reduce_slots=reduce_slots, advertised=advertised)
    assert not problem.violations(placement)
    maps, reduces = problem.allocated(placement)
    state = problem.instance.state
    offered = [slots or state.idle_slots, reduce_slots or state.idle_reduce_slots]
    free = problem.free - maps.T @ problem.demand_map - reduces.T @ problem.demand_reduce
    kinds = [
        (maps, problem.pending_maps, problem.demand_map),
        (reduces, problem.pending_reduces, problem.demand_reduce),
    ]
    if problem.fixed is not None:
        assert np.array_equal(reduces, spread_reduces(problem))
        kinds.pop()
    for (count, pending, demand), limit in zip(kinds, offered, strict=False):
        assert (count.sum(axis=0) <= limit).all()
        idle = count.sum(axis=0) < limit
        for job in np.flatnonzero(count.sum(axis=1) < pending):
            assert not (idle & (demand[job] <= free).all(axis=1)).any()


@given(st.lists(st.integers(1, 8), min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 4))
def test_equal_shares(waiting: list[int], nodes: int, slots: int) -> None:
    """Tests that where everything fits a job has fewer slots than another, by more than one, only if it has no more.

    And that all slots are used, or all tasks placed.
    """
    problem = Utility(snapshot([[100]] * nodes, [(None, maps, [1]) for maps in waiting]))
    shares = problem.allocated(fair_sharing(problem, RNG, slots=slots)).maps.sum(axis=1)
    assert shares.sum() == min(sum(waiting), nodes * slots)
    wanting = shares[shares < np.array(waiting)]
    assert wanting.min(initial=100) >= shares.max() - 1


def test_running_tasks_count() -> None:
    """Tests that a job which runs two maps already gets its next slot only when the other one runs as many."""
    jobs = [{"maps": 3, "map": {"cpu": 1}}, {"maps": 3, "map": {"cpu": 1}}]
    problem = posed({"cpu": [9]}, jobs, running=[(0, MAP, 0), (0, MAP, 0), (1, REDUCE, 0)])
    shares = [problem.allocated(fair_sharing(problem, RNG, slots=slots)).maps.sum(axis=1) for slots in (1, 2, 3, 4)]
    assert [share.tolist() for share in shares] == [[0, 1], [0, 2], [1, 2], [1, 3]]


def test_looks_at_no_resource_but_to_refuse() -> None:
    """Tests that a slot goes to the job that has fewest, though another's map would leave room for two more."""
    problem = Utility(snapshot([[8]], [(None, 3, [5]), (None, 4, [2])]))
    assert problem.allocated(fair_sharing(problem, RNG, slots=4)).maps.tolist() == [[1], [1]]


@pytest.mark.parametrize(("advertised", "node"), [("in-turn", 0), ("availability", 1)])
def test_order_in_which_slots_are_advertised(advertised: str, node: int) -> None:
    """Tests that the only map goes to the first tracker, or to the one with the most of its scarcest resource free."""
    problem = Utility(snapshot([[4, 8], [4, 4]], [(None, 1, [1, 0]), (None, 0, [1, 1], 1, [3, 5])]), reduces="fixed")
    assert problem.fixed is not None
    assert problem.fixed.tolist()[1] == [1, 0]
    maps = problem.allocated(fair_sharing(problem, RNG, advertised=advertised)).maps
    assert maps[0].nonzero()[0].tolist() == [node]


def test_unknown_order() -> None:
    """Tests that an order that there is not is no silent default."""
    problem = Utility(snapshot([[1]], [(None, 1, [1])]))
    with pytest.raises(KeyError):
        fair_sharing(problem, RNG, advertised="random")
