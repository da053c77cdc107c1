"""Routes: every one against enumeration, where a search may begin, and what is refused."""

from __future__ import annotations

from typing import Any

import generalized_assignment_instances
import pytest
import strategies
import traffic_instances
import transmission_instances
import utility_instances
from agreement import check_routes
from hypothesis import given, settings
from hypothesis import strategies as st
from replica_instances import FIGURE_2
from small_problems import NAMES, small_problem

from optsched.certificates import Enumerated, certify
from optsched.core.errors import UsageError
from optsched.core.placement import Placement
from optsched.core.results import Limit, Proof
from optsched.instances.generate import generate
from optsched.problems import Lsap, Utility
from optsched.routes import frontier, routes_of, solve
from optsched.solvers.profiles import Profile


def test_unknown_route_is_refused_with_the_nearest() -> None:
    """Tests the message for a misspelt route."""
    with pytest.raises(UsageError, match='did you mean "network"'):
        solve(Lsap(FIGURE_2), route="netwrok")


def test_infeasible_start_is_refused() -> None:
    """Tests that a start must be feasible, and that the message says what is wrong with it."""
    with pytest.raises(UsageError, match=r"the start is infeasible: slots\(n0\) by 1"):
        solve(Lsap(FIGURE_2), start=Placement.of([0, 0, 1]))


@pytest.mark.parametrize("name", NAMES)
def test_start_is_never_made_worse(name: str) -> None:
    """Tests that each route answers with the start or something better where it may do nothing."""
    posed = small_problem(name, 3)
    best = solve(posed)
    for route in routes_of(posed):
        for profile in (Profile("none", node_limit=0), Profile("none", time_limit=0)):
            held = solve(posed, profile, start=best.decision, route=route)
            assert held.objective == best.objective
            assert certify(posed, held).valid


@pytest.mark.parametrize("name", NAMES)
def test_limit_of_nodes_leaves_what_is_true(name: str) -> None:
    """Tests that each route cut short holds no bound beyond the optimum, and calls optimal only what is proved."""
    posed = small_problem(name, 4)
    best = solve(posed).objective
    for route in routes_of(posed):
        held = solve(posed, Profile("none", node_limit=0), route=route)
        assert certify(posed, held, enumerated=Enumerated(best)).valid, route
        assert held.optimal == (held.objective == held.bound), route
        assert held.optimal or held.limit in (Limit.NODES, Limit.GAP), route


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


#: Routes whose answers prices prove.
PRICED = ("network", "arrays", "network-simplex", "dense", "pyomo", "pulp")

#: Drawn problems, how many of them, and which routes must prove their first component how.
DRAWN: dict[str, tuple[st.SearchStrategy[Any], int, dict[str, Proof]]] = {
    "transmission-maps": (transmission_instances.problems("transmission-maps"), 40, dict.fromkeys(PRICED, Proof.DUAL)),
    "transmission-reduces": (
        transmission_instances.problems("transmission-reduces"),
        40,
        dict.fromkeys(PRICED, Proof.DUAL),
    ),
    "transmission": (transmission_instances.problems("transmission"), 40, {"search": Proof.COMBINATORIAL}),
    "flow-congestion": (strategies.problems("flow-congestion"), 60, {}),
    "generalized-assignment": (generalized_assignment_instances.problems(), 120, {}),
    "utility": (utility_instances.problems(), 40, {}),
    "traffic": (traffic_instances.problems(), 40, {}),
}


@pytest.mark.parametrize("name", DRAWN)
def test_routes_agree(name: str) -> None:
    """Tests every route against enumeration on drawn instances with running tasks, fractions and all parameters."""
    problems, number, kinds = DRAWN[name]
    settings(max_examples=number // 5)(given(problems, st.just(kinds))(check_routes))()
