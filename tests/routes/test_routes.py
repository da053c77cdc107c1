"""Routes: every one against enumeration, where a search may begin, and what is refused."""

from collections.abc import Callable
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

from optsched import Limit, Placement, Proof, UsageError
from optsched.certificates import Enumerated, certify
from optsched.problems import Lsap
from optsched.routes import frontier, routes_of, solve
from optsched.solvers.profiles import Profile


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
    """Tests that a start is also taken as node ids."""
    assert solve(Lsap(FIGURE_2), start=["n2", "n1", "n0"]).objective == (0,)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: solve(Lsap(FIGURE_2), route="netwrok"), 'did you mean "network"'),
        (lambda: solve(Lsap(FIGURE_2), start=Placement.of([0, 0, 1])), r"the start is infeasible: slots\(n0\) by 1"),
        (lambda: solve(Lsap(FIGURE_2), start=["n9", "n1", "n0"]), r'the start answered node "n9"'),
        (lambda: frontier(Lsap(FIGURE_2)), "one component; .* with a frontier: lsap-fairness, latency, traffic$"),
        (lambda: frontier(small_problem("utility", 0)), "utility has no frontier: no route finds it; problems with"),
    ],
)
def test_what_is_refused(asked: Callable[[], object], message: str) -> None:
    """Tests the messages of unknown routes, starts that are none, and frontiers of problems that have none."""
    with pytest.raises(UsageError, match=message):
        asked()


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
