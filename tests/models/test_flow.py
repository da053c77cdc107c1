"""The models of `flow`: tables that are too large or take too long, and a constraint of one's own."""

from __future__ import annotations

import pytest
from replica_instances import instance_of

from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime, TooLarge
from optsched.models import flow
from optsched.problems import Flow
from optsched.solvers.algebraic import solve_pulp
from optsched.solvers.profiles import Profile


def test_compact_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a compact model with a variable a pair is told of beforehand, with the route to take."""
    problem = Flow(instance_of([[0], [1], []], 4))
    pairs = problem.class_units.size
    monkeypatch.setattr("optsched.models.assignment.MAX_VARIABLES", pairs - 1)
    with pytest.raises(TooLarge, match=f'the compact model would have {pairs} variables, .* use route="network"'):
        flow.build_pyomo(problem)
    monkeypatch.setattr("optsched.models.assignment.MAX_VARIABLES", pairs)
    flow.build_pyomo(problem)


def test_building_a_compact_table_looks_at_the_clock() -> None:
    """Tests that a time limit ends the building of a model too."""
    problem = Flow(instance_of([[0], [1], []], 4))
    with deadline(0), pytest.raises(OutOfTime):
        flow.build_pyomo(problem)


def test_own_constraint_in_the_literal_model() -> None:
    """Tests that the dict of a literal model's variables serves to add a constraint."""
    problem = Flow(instance_of([[0], [1]], 2))
    model = flow.build_pulp(problem)
    best = solve_pulp(model, Profile("exact")).objective
    model.addConstraint(model.place["t0", "n0"] == 0, "keep_off")
    worse = solve_pulp(model, Profile("exact")).objective
    assert best is not None
    assert worse is not None
    assert worse > best
    assert flow.decode(model, problem).nodes.tolist() == [1, 0]
