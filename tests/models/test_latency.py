"""The models of `latency`: limits, what needs an integer, starts, and repair of what is not whole."""

from __future__ import annotations

from typing import Any

import pytest
from replica_instances import instance_of

from optsched.core.errors import UsageError
from optsched.core.results import Termination
from optsched.instances.generate import generate
from optsched.models import latency
from optsched.problems import Latency
from optsched.routes import solve
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import Profile


def test_decoding_latency_before_solving_where_nothing_can_be_remote() -> None:
    """Tests the same where a model has no counts of remote tasks that would tell."""
    problem = Latency(instance_of([[0], [1]], 2))
    with pytest.raises(UsageError, match=r"local\[t0,n0\] has no value"):
        latency.decode(latency.build_pyomo(problem, limit=1), problem)


@pytest.mark.parametrize("limit", [-1, 2.5, True, "3"])
def test_limits_that_are_none(limit: Any) -> None:
    """Tests that a limit must be a whole number, 0 or more, in either model."""
    problem = Latency(instance_of([[0]], 1))
    for builder in (latency.build_pyomo, latency.build_pulp):
        with pytest.raises(UsageError, match="whole number"):
            builder(problem, limit=limit)


def test_weights_decide_which_integers_are_needed() -> None:
    """Tests that local counts are there only where w_loc does not divide w_rem, or is above 1 without a limit."""
    instance = instance_of([[0], [0, 1]], 2)
    needed = {
        (1, 3, 4): False,
        (2, 4, 8): False,
        (2, 3, 8): True,
        (1, 3, None): False,
        (2, 4, None): True,
    }
    for (w_loc, w_rem, limit), counted in needed.items():
        model = latency.build_pyomo(Latency(instance, w_loc=w_loc, w_rem=w_rem), limit=limit)
        assert (model.component("local_count") is not None) is counted


def test_only_servers_loaded_above_the_bound_need_a_binary() -> None:
    """Tests that servers that any limit allows, and those beyond every sensible one, have no binary."""
    problem = Latency(instance_of([[0, 2, 3]] * 4, 4, load=[0, 0, 4, 50]))
    assert problem.counting_bound() == 2
    model = latency.build_pyomo(problem)
    assert list(model.used) == ["n2"]
    assert list(model.SERVERS) == ["n0", "n1", "n2"]


def test_an_impossible_limit() -> None:
    """Tests that limits without a placement are infeasible in both models, also where no server has room."""
    problem = Latency(instance_of([[0]], 2, load=[4, 4]))
    for limit in (0, 4):
        assert solve_pyomo(latency.build_pyomo(problem, limit=limit), Profile("exact")).status is Termination.INFEASIBLE
        assert solve_pulp(latency.build_pulp(problem, limit=limit), Profile("exact")).status is Termination.INFEASIBLE


@pytest.mark.parametrize("weights", [(1, 3), (2, 5)])
def test_start_of_a_latency_model_is_taken(weights: tuple[int, int]) -> None:
    """Tests that an optimal placement as a start is what models hold when they may not branch at all."""
    problem = Latency(generate("latency", seed=3, nodes=8, tasks=16, replicas=2), w_loc=weights[0], w_rem=weights[1])
    best = solve(problem)
    assert best.decision is not None
    assert best.objective is not None
    stopped = Profile("stopped", node_limit=0)
    for limit, value in ((int(best.objective[0]), best.objective[1]), (None, best.objective[0])):
        for build, run in ((latency.build_pyomo, solve_pyomo), (latency.build_pulp, solve_pulp)):
            model = build(problem, limit=limit)
            outcome = run(model, stopped, latency.start_values(model, problem, best.decision))
            assert outcome.objective == pytest.approx(float(value))
            assert problem.evaluate(latency.decode(model, problem))[0] == best.objective[0]
