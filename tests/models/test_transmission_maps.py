"""Models of `transmission-maps`: costs of the compact one, names of the literal one, and own constraints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
from transmission_instances import example

from optsched.models import transmission_maps
from optsched.problems import TransmissionMaps
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import Profile

EXACT = Profile("exact")


def test_compact_model_has_the_papers_costs() -> None:
    """Tests the whole table of Shen et al.'s example, each map a class of its own, and continuous variables."""
    model = transmission_maps.build_pyomo(TransmissionMaps(example()))
    table = {(name, node): 0 for name in ("M1", "M2") for node in ("D1", "D2", "D3", "D4")}
    table |= {("M1", "D2"): 512, ("M1", "D3"): 256, ("M1", "D4"): 1024}
    table |= {("M2", "D1"): 512, ("M2", "D3"): 1280, ("M2", "D4"): 512}
    assert {pair: pyo.value(model.cost[pair]) for pair in table} == table
    assert all(variable.is_continuous() for variable in model.component_data_objects(pyo.Var))


def test_literal_model_has_the_papers_variables() -> None:
    """Tests names of variables and rows, and that a map has none on a node without an idle slot."""
    instance = example()
    problem = TransmissionMaps(instance.with_state(replace(instance.state, idle_slots=np.array([1, 0, 1, 0]))))
    model = transmission_maps.build_pulp(problem)
    assert {variable.name for variable in model.variables()} == {
        f"x.{m}.{d}" for m in ("M1", "M2") for d in ("D1", "D3")
    }
    assert {row.name for row in model.constraints()} == {"map.M1", "map.M2", "cardinality", "node.D1", "node.D3"}


@pytest.mark.parametrize("kind", ["compact", "literal"])
def test_own_constraint(kind: str) -> None:
    """Tests that without its own node M2 goes to one of the two where it costs 512, beside M1 at its data."""
    problem = TransmissionMaps(example())
    if kind == "literal":
        model = transmission_maps.build_pulp(problem)
        model.addConstraint(model.place["M2", "D2"] == 0, "away")
        outcome = solve_pulp(model, EXACT)
    else:
        model = transmission_maps.build_pyomo(problem)
        model.away = pyo.Constraint(expr=model.place["M2", "D2"] == 0)
        outcome = solve_pyomo(model, EXACT)
    assert outcome.objective == 512
    assert problem.evaluate(transmission_maps.decode(model, problem)) == (512,)
