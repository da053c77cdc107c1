"""Starts of models: they are taken, they are refused where they are of another problem, and they never harm.

That what a start leads to is worth what the decision is, for every problem, is the check `starts` of the contract.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

from optsched.core.errors import UsageError
from optsched.core.placement import NetworkFlow, Placement
from optsched.core.registry import records
from optsched.core.results import Sense, Termination
from optsched.instances.generate import generate
from optsched.models import module, names
from optsched.models.export import about
from optsched.problems import GeneralizedAssignment, Lsap
from optsched.routes import solve
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import Profile
from optsched.testing.cases import cases

STOPPED = Profile("stopped", node_limit=0)

RUNS: dict[str, Any] = {"build_pyomo": solve_pyomo, "build_pulp": solve_pulp}


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("name", names())
def test_start_is_held_where_nothing_may_be_searched(name: str, kind: str) -> None:
    """Tests that a program that may not branch holds what is no worse than the decision that it starts from."""
    (case, *_) = cases(records()[name], (2,))
    (decision, *_) = list(case.decisions.values())[1:]
    problem, models = case.problem, module(name)
    model = getattr(models, kind)(problem)
    outcome = RUNS[kind](model, STOPPED, models.start_values(model, problem, decision))
    assert outcome.objective is not None
    told, own = about(problem).of(outcome.objective), about(problem).component
    worth = problem.evaluate(decision)[problem.components.index(own)]
    assert told <= worth + 1e-6 if own.sense is Sense.MIN else told >= worth - 1e-6


def test_start_of_a_program_with_a_fixed_variable() -> None:
    """Tests that a start leaves out what is fixed in a Pyomo model, which is no column of HiGHS any more."""
    problem = Lsap(generate("lsap", seed=1, nodes=4, tasks=4, replicas=2, racks=2))
    models = module("lsap")
    model = models.build_pyomo(problem)
    decision = solve(problem).decision
    pair = next(pair for pair, variable in model.place.items())
    model.place[pair].fix(0)
    start = models.start_values(model, problem, decision)
    assert model.place[pair] not in start
    assert solve_pyomo(model, "exact", start).status is Termination.OPTIMAL


def test_what_an_unfinished_start_says() -> None:
    """Tests that a feasible placement says all variables, and an unfinished one only those that are not 0."""
    problem = GeneralizedAssignment(generate("generalized-assignment", seed=3, nodes=3, tasks=4))
    decision = solve(problem).decision
    assert isinstance(decision, Placement)
    models = module("generalized-assignment")
    model = models.build_pulp(problem)
    assert sum(models.start_values(model, problem, decision).values()) == 4
    assert len(models.start_values(model, problem, decision)) == 12
    unfinished = decision.with_tasks([0], [-1])
    assert list(models.start_values(model, problem, unfinished).values()) == [1.0] * 3


def test_start_of_another_problem_or_instance() -> None:
    """Tests that what is no placement, is one of another instance, or a model of another problem, is told."""
    problem, other = (Lsap(generate("lsap", seed=1, nodes=3, tasks=tasks)) for tasks in (3, 4))
    models = module("lsap")
    model = models.build_pyomo(problem)
    with pytest.raises(UsageError, match="start_values takes a placement of lsap"):
        models.start_values(model, problem, NetworkFlow([1]))
    for wrong in (solve(other).decision, problem.placement([0, 0, 0]).with_tasks([0], [7])):
        with pytest.raises(UsageError, match="the placement is of another instance than the problem"):
            models.start_values(model, problem, wrong)
    with pytest.raises(UsageError, match="start_values takes a model of lsap, as build_pyomo or build_pulp made it"):
        models.start_values(None, problem, solve(problem).decision)
    with pytest.raises(UsageError, match=r"start_values takes a model of lsap.*this one lacks"):
        models.start_values(pyo.ConcreteModel(), problem, solve(problem).decision)
