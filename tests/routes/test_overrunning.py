"""Tests of `optsched.routes.overrunning`: which solves get a process that can be killed."""

from __future__ import annotations

import pytest

import optsched
from optsched.core.registry import records
from optsched.instances.generate import generate
from optsched.problems import AnyProblem
from optsched.processes import containing
from optsched.routes import _module, routes_of, solve
from optsched.routes import contained as contained_routes
from optsched.routes.overrunning import may_overrun


def drawn(name: str, **sizes: int) -> AnyProblem:
    """A problem on an instance of its family."""
    entry = records()[name]
    assert entry.family is not None
    return optsched.problem(name, generate(entry.family, seed=0, **(sizes or entry.sizes)))


@pytest.mark.parametrize("name", records())
def test_small_instances_start_no_process(name: str) -> None:
    """Tests that no route of a small instance pays for a process, and that its own routes are those it names."""
    problem = drawn(name)
    own = getattr(_module(problem), "OVERRUNS", {})
    assert set(own) <= set(routes_of(problem))
    assert not any(may_overrun(problem, route, own) for route in routes_of(problem))


def test_what_builds_much_may_overrun() -> None:
    """Tests that models of a larger instance may overrun, and of the other routes those of which it is known."""
    lsap, network = drawn("lsap", nodes=100, tasks=300), drawn("min-cost-flow", nodes=500, arcs=2000)
    assert [route for route in routes_of(lsap) if may_overrun(lsap, route, {})] == ["pyomo", "pulp"]
    assert may_overrun(network, "network-simplex", {})
    assert not may_overrun(network, "arrays", {"arrays": 2501})
    assert may_overrun(network, "arrays", {"arrays": 2500})


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "flow", "transmission-maps"])
def test_large_assignment_may_overrun(name: str) -> None:
    """Tests that engines of large assignment problems get a process: posing and compiling do not look at a deadline."""
    problem = drawn(name, nodes=400, tasks=500)
    own = _module(problem).OVERRUNS
    assert all(may_overrun(problem, route, own) for route in ("network", "arrays"))
    assert not any(may_overrun(drawn(name, nodes=100, tasks=100), route, own) for route in ("network", "arrays"))


def test_process_is_for_a_deadline_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a route that may overrun gets a process where there is a deadline, but not within one of its own."""
    asked: list[str] = []
    monkeypatch.setattr(contained_routes, "solved", lambda call, profile: asked.append(call.route))
    monkeypatch.setattr("optsched.routes.overrunning.may_overrun", lambda *given: True)
    problem = optsched.problem("lsap", "papers/guo-fig2")
    assert solve(problem).optimal
    assert not asked
    solve(problem, time_limit=60)
    with optsched.core.deadline.deadline(60):
        solve(problem)
    assert asked == ["network", "network"]
    token = containing._called.set(True)
    assert solve(problem, time_limit=60).optimal
    containing._called.reset(token)
    assert len(asked) == 2
