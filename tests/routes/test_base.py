"""`optsched.routes.base`: what modules of routes of other packages find there, and enumeration as a route."""

import pytest
from small_problems import FIGURE_2, FLOWS, NAMES, small, small_problem

from optsched.core import results
from optsched.core.errors import UsageError
from optsched.core.registry import record
from optsched.core.results import Limit, Proof
from optsched.problems import Latency, Lsap, MinCostFlow
from optsched.routes import base, routes_of, solve
from optsched.routes.base import MODELS
from optsched.routes.call import Call
from optsched.solvers.profiles import Profile


def test_former_place() -> None:
    """Tests that the noun of a frontier is found where it was."""
    assert base.Frontier is results.Frontier


def test_each_component_is_claimed() -> None:
    """Tests the certificates of both components, which hold no data, and that no limit of a solver is one of it."""
    posed = Latency(small([[0]] * 4, [1, 1]), w_rem=3)
    solution = solve(posed, Profile("none", node_limit=0), route="brute-force")
    assert solution.optimal
    assert solution.raw_status == "all placements tried"
    claims = [(proof.component, proof.kind, proof.claim) for proof in solution.certificates]
    assert claims == [("makespan", Proof.ENUMERATION, 3), ("work", Proof.ENUMERATION, 6)]


@pytest.mark.parametrize("name", NAMES)
def test_bug_enumeration_had_no_end_in_time(name: str) -> None:
    """Tests that trying all decisions ends at the limit; it went on to its own end before."""
    posed = small_problem(name, seed=1)
    if "brute-force" in routes_of(posed):
        solution = solve(posed, route="brute-force", time_limit=0)
        assert (solution.limit, solution.optimal) == (Limit.TIME, False)


class Unlisted(MinCostFlow):
    """A class without a record."""


def test_flows_are_not_enumerated() -> None:
    """Tests that it is the route of any problem that places tasks, and of none that decides a flow."""
    assert base.routes(Lsap(FIGURE_2)) == base.ROUTES == ("brute-force", "pyomo", "pulp")
    assert base.routes(Lsap(small([[0]] * 30, [1] * 29))) == ("pyomo", "pulp", "brute-force")
    assert base.routes(FLOWS) == MODELS
    with pytest.raises(UsageError, match="min-cost-flow has no routes, and it decides a flow"):
        base.routes(Unlisted(FLOWS.instance))


@pytest.mark.parametrize("route", MODELS)
@pytest.mark.parametrize("name", ["lsap", "latency", "utility", "traffic", "min-cost-flow", "makespan"])
def test_any_models_solve(name: str, route: str) -> None:
    """Tests that models without routes find an optimum on the solver's word; what has no program stays open."""
    posed = small_problem(name, 1)
    best = solve(posed)
    found = base.by_route(Call(posed, route), Profile("exact"))
    limit = record(name).limit
    programs = 1 + (limit is not None and limit.component == 0)
    assert found.objective[:programs] == best.objective[:programs]
    assert found.bound[:programs] == best.objective[:programs]
    assert {proof.kind for proof in found.certificates} == {Proof.SOLVER}
