"""What all models share: refusals, nothing to place, classes, whole values, decoding, and starts."""

import json
import math
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo
import pytest
from readers import PULP_3
from small_problems import instance_of, small_problem

import optsched
from optsched import generate, models, solve
from optsched.core.errors import TooLarge, UsageError
from optsched.core.placement import NetworkFlow, Placement
from optsched.core.registry import records
from optsched.core.results import Termination, Value
from optsched.instances.documents.columns import to_document
from optsched.instances.files import from_document
from optsched.models import lsap, module
from optsched.models.base import int_of, is_whole, of_problem, whole_limit
from optsched.problems import Flow, GeneralizedAssignment, Lsap
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import Profile


@pytest.mark.parametrize("name", models.names())
def test_refusal_of_a_large_literal_model(name: str) -> None:
    """Tests that each literal model has the size that is reported, and is refused with one variable less allowed."""
    problem, module = small_problem(name, 0), models.module(name)
    size = module.literal_size(problem)
    text = rf"{size.variables:,} variables .* use .*, or allow it by max_variables={size.variables}$"
    with pytest.raises(TooLarge, match=text):
        module.build_pulp(problem, max_variables=size.variables - 1)
    model = module.build_pulp(problem, max_variables=size.variables)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)


@pytest.mark.parametrize("name", models.names())
@pytest.mark.parametrize("builder", ["build_pyomo", "build_pulp"])
def test_decoding_before_solving(name: str, builder: str) -> None:
    """Tests that no model that was not solved is decoded."""
    problem, module = small_problem(name, 0), models.module(name)
    with pytest.raises(UsageError, match="solve the model before decoding"):
        module.decode(getattr(module, builder)(problem), problem)


@pytest.mark.parametrize("builder", ["build_pyomo", "build_pulp"])
def test_decoding_with_a_problem_of_another_instance(builder: str) -> None:
    """Tests that a model is refused if the problem lacks its tasks or nodes. Before, its tasks stayed unplaced."""
    problem = Lsap(instance_of([[0], [1]], 2))
    model = getattr(lsap, builder)(problem)
    (solve_pyomo if builder == "build_pyomo" else solve_pulp)(model, Profile("exact"))
    for field, other in [("tasks", "task"), ("nodes", "node")]:
        text = (
            f'"{{old}}" is no {other} of this one'
            if builder == "build_pulp"
            else r"this one has no place\[t0,n0\] there"
        )
        document = to_document(problem.instance)
        old = document[field][0]["id"]
        renamed = json.loads(json.dumps(document).replace(f'"{old}"', '"renamed"'))
        with pytest.raises(UsageError, match=f"of another instance: {text.format(old=old)}"):
            lsap.decode(model, Lsap(from_document(renamed)))


def test_decoding_with_other_slots() -> None:
    """Tests that a compact model is refused if the problem has its tasks and nodes, and other slots."""
    model = lsap.build_pyomo(Lsap(instance_of([[1], [1]], 2)))
    solve_pyomo(model, Profile("exact"))
    with pytest.raises(UsageError, match="of another instance, with other limits"):
        lsap.decode(model, Lsap(instance_of([[1], [1]], 2, idle_slots=[0, 1])))


@pytest.mark.parametrize(("limit", "expected"), [(0, 0), (7, 7), (np.int64(3), 3)])
def test_limits(limit: Any, expected: int) -> None:
    """Tests whole numbers of any make, 0 among them."""
    assert whole_limit(limit, "slots") == expected


def test_whole_values() -> None:
    """Tests that both kinds of variables are rounded within 1e-5, and shown by name beyond it, and without a value."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    problem = pulp.LpProblem("literal")
    literal = problem.add_variable("x")
    for value, expected in ((3.000009, 3), (-2.0, -2), (0.99999, 1)):
        model.x.set_value(value)
        literal.varValue = value
        assert is_whole(value)
        assert int_of(model.x) == int_of(literal) == expected
    for variable in (model.x, literal):
        for value, message in ((3.00002, "x = 3.00002 is no whole number"), (None, "x has no value: solve the model")):
            model.x.set_value(value)
            literal.varValue = value if value is not None or PULP_3 else math.nan  # PuLP 4 takes no None back
            with pytest.raises(UsageError, match=message):
                int_of(variable)


def test_another_problem_is_refused() -> None:
    """Tests that what is decorated takes one class of problems, and passes on what else it is given."""

    @of_problem(Lsap)
    def build(problem: Lsap, number: int, *, doubled: bool) -> int:
        return number * (1 + doubled)

    lsap, flow = Lsap(instance_of([[0]], 1)), Flow(instance_of([[0]], 1))
    assert build(lsap, 3, doubled=True) == 6
    with pytest.raises(UsageError, match="build takes"):
        build(flow, 3, doubled=True)


class Counting(Lsap):
    """A class that no record names, with its own objective."""

    name = "counting"

    def objective(self, placement: Placement, /) -> Value:
        """How many tasks run."""
        return (int((self.nodes_of(placement) >= 0).sum()),)


def test_bug_models_of_a_base_were_built_for_a_derived_class() -> None:
    """Tests that what builds models of a base class refuses a class that no record gives models."""
    problem = Counting(small_problem("lsap", 0).instance)
    for build in (lsap.build_pyomo, lsap.build_pulp, lsap.literal_size):
        with pytest.raises(UsageError, match=rf"^counting: no record names models of Counting, and {build.__name__} k"):
            build(problem)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [record.name for record in records().values() if record.family is not None])
def test_literal_models(name: str) -> None:
    """Tests that the literal model of an instance of the family finds the optimum; `.ci/run` has PuLP 4 do it, too."""
    family, sizes = records()[name].family, records()[name].sizes
    problem = optsched.problem(name, optsched.generate(family, 1, **sizes))
    found = optsched.solve(problem, route="pulp", time_limit=60)
    assert found.optimal
    assert found.objective == optsched.solve(problem).objective


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
