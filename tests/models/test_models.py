"""Which problems have models, and the module of each."""

import re
from typing import Any

import pulp
import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn

import optsched
from optsched import UsageError, generate, models, solve
from optsched.core.registry import records
from optsched.models.base import ModelSize
from optsched.problems.base import stated


def test_module_of_unknown_problem() -> None:
    """Tests that a wrong name is answered with the nearest one."""
    with pytest.raises(UsageError, match='did you mean "latency"'):
        models.module("latancy")


def test_names_are_those_of_records_with_models() -> None:
    """Tests that each name has a module that builds both kinds, and that none has one beside them."""
    assert set(models.names()) == {name for name, entry in records().items() if entry.models is not None}
    for name in models.names():
        assert {"build_pyomo", "build_pulp", "compact_size", "literal_size", "decode"} <= set(dir(models.module(name)))
    with pytest.raises(UsageError, match="module takes the name of a problem, not"):
        models.module(None)


def counted(model: Any) -> ModelSize:
    """Variables, constraints and coefficients of a model that was built."""
    if isinstance(model, pulp.LpProblem):
        rows = list(model.constraints())
        return ModelSize(len(model.variables()), len(rows), sum(map(len, rows)) + len(model.objective))
    found = [entry.body for entry in model.component_data_objects(pyo.Constraint, active=True)]
    terms = [entry.expr for entry in model.component_data_objects(pyo.Objective)] + found
    linear = sum(len(generate_standard_repn(entry).linear_vars) for entry in terms)
    return ModelSize(sum(1 for _ in model.component_data_objects(pyo.Var)), len(found), linear)


def limits_of(problem: Any) -> list[dict[str, Any]]:
    """No limit, and one at which the second program of a problem has a solution, where there is such a program."""
    limited = records()[problem.name].limit
    if limited is None:
        return [{}]
    objective = solve(problem).objective
    return [{}, {"limit": objective[limited.component]}]


@pytest.mark.parametrize(
    ("name", "grown"),
    [
        *((name, 1) for name in models.names()),
        *(pytest.param(name, 3, marks=pytest.mark.thorough) for name in models.names()),
    ],
)
def test_models_say_their_sizes_beforehand(name: str, grown: int) -> None:
    """Tests that each model of each problem has at most what was said of it before, and not many times less."""
    entry, module = records()[name], models.module(name)
    sizes = {key: value * grown if key in ("tasks", "nodes") else value for key, value in entry.sizes.items()}
    for parameters in ({}, *entry.variants):
        problem = optsched.problem(name, generate(entry.family, seed=grown, **sizes), **parameters)
        if stated(problem, "plainly_infeasible", None) is not None:
            continue
        for limit in limits_of(problem):
            for build, size in ((module.build_pyomo, module.compact_size), (module.build_pulp, module.literal_size)):
                said, built = size(problem, **limit), counted(build(problem, **limit))
                assert built.variables <= said.variables
                assert built.constraints <= said.constraints
                assert built.terms <= said.terms <= 4 * built.terms + 40


@pytest.mark.parametrize("name", models.names())
def test_bug_values_outside_the_bounds_were_decoded(name: str) -> None:
    """Tests that a variable with a value below or above its bounds is refused by name, in every kind of model.

    `place.fix(-1)` in a model per pair gave a placement that was infeasible, or an error of numpy's.
    """
    record, module = records()[name], models.module(name)
    problem = optsched.problem(name, generate(record.family, seed=0, **record.sizes))
    for model in (module.build_pyomo(problem), module.build_pyomo(problem, per_pair=True), module.build_pulp(problem)):
        literal = isinstance(model, pulp.LpProblem)
        entries = model.variables() if literal else list(model.component_data_objects(pyo.Var))
        lower = {entry.name: entry.lowBound if literal else entry.lb for entry in entries}
        bounded = [entry for entry in entries if lower[entry.name] is not None]
        for wrong in (bounded[0], bounded[-1]):
            for entry in entries:
                value = (lower[entry.name] or 0) - (entry is wrong)
                if literal:
                    entry.bounds(value, value)
                    entry.varValue = value
                else:
                    entry.fix(value, skip_validation=True)
            with pytest.raises(UsageError, match=rf"{re.escape(wrong.name)} is -?[0-9.]+, and must be"):
                module.decode(model, problem)
