"""Routes: what is solved which way, what a limit leaves, and what is refused."""

from __future__ import annotations

import pytest
from replica_instances import FIGURE_2

from optsched.errors import UsageError
from optsched.instances.generate import generate
from optsched.placement import Placement
from optsched.problems import Lsap, Utility
from optsched.routes import frontier, solve


def test_unknown_route_is_refused_with_the_nearest() -> None:
    """Tests the message for a misspelt route."""
    with pytest.raises(UsageError, match='did you mean "network"'):
        solve(Lsap(FIGURE_2), route="netwrok")


def test_infeasible_start_is_refused() -> None:
    """Tests that a start must be feasible, and that the message says what is wrong with it."""
    with pytest.raises(UsageError, match=r"the start is infeasible: slots\(n0\) by 1"):
        solve(Lsap(FIGURE_2), start=Placement.of([0, 0, 1]))


def test_start_may_name_nodes() -> None:
    """Tests that a start is also taken as node ids, and that one that means no placement is refused."""
    posed = Lsap(FIGURE_2)
    assert solve(posed, start=["n2", "n1", "n0"]).objective == (0,)
    with pytest.raises(UsageError, match=r'the start answered node "n9"'):
        solve(posed, start=["n9", "n1", "n0"])


def test_frontier_of_one_component_is_refused() -> None:
    """Tests that a problem without two components has no frontier."""
    with pytest.raises(UsageError, match=r"one component; problems with a frontier: lsap-fairness, latency, traffic$"):
        frontier(Lsap(FIGURE_2))


def test_frontier_of_utility_is_refused_for_what_it_is() -> None:
    """Tests that the refusal does not say that two components are one."""
    with pytest.raises(UsageError, match="utility has no frontier: no route finds it; problems with a frontier: "):
        frontier(Utility(generate("utility", seed=0)))
