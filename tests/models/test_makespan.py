"""The models of `makespan`: the relaxation is no weaker than the area of each pool."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest
from over_time import proved

from optsched.models import makespan
from optsched.problems import Makespan
from optsched.solvers.algebraic import solve_pyomo
from optsched.solvers.profiles import Profile


def test_area_rows_are_kept_by_optima() -> None:
    """Tests that the optimum is the same without the rows of areas, which only strengthen the relaxation."""
    for problem, best in proved(Makespan, range(8)):
        model = makespan.build_pyomo(problem)
        model.area.deactivate()
        found = solve_pyomo(model, Profile("exact")).objective
        assert found == pytest.approx(float(best) * makespan.objective_units(problem)[0], abs=1e-5)
        assert pyo.value(model.makespan) == pytest.approx(found)
