"""The models of `worst-group` against enumeration: the least mean, and the least cost at each limit on it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from worst_group_instances import ONE_SLOT, problems

from optsched.core.errors import UsageError
from optsched.core.results import Termination
from optsched.models import worst_group
from optsched.problems import WorstGroup
from optsched.searches.enumeration import judged
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import load_profile

EXACT = load_profile("exact")
KINDS = ((worst_group.build_pyomo, solve_pyomo), (worst_group.build_pulp, solve_pulp))


@settings(max_examples=25)
@given(problems(tasks=4))
def test_both_models_find_the_enumerated_optima(problem: WorstGroup) -> None:
    """Tests both programs of both models, whose placements are worth what they say; and the size that is told."""
    values = {value for value, _ in judged(problem)}
    means = sorted({value[0] for value in values})
    for build, solve in KINDS:
        model = build(problem)
        assert solve(model, EXACT).objective == pytest.approx(float(means[0]), abs=1e-6)
        assert problem.evaluate(worst_group.decode(model, problem))[0] == means[0]
        for mean in means[:3]:
            least = min(cost for worst, cost in values if worst <= mean)
            model = build(problem, limit=mean)
            assert solve(model, EXACT).objective == pytest.approx(float(least), abs=1e-6)
            worst, cost = problem.evaluate(worst_group.decode(model, problem))
            assert worst <= mean
            assert cost == least
    for limit in (None, means[0]):
        size, literal = worst_group.literal_size(problem, limit), worst_group.build_pulp(problem, limit)
        rows = literal.constraints()
        used = {variable.name for row in (literal.objective, *rows) for variable, _ in row.items()}
        assert (len(used), len(rows)) == (size.variables, size.constraints)


@pytest.mark.parametrize(("build", "solve"), KINDS)
def test_limits(build: type, solve: type) -> None:
    """Tests that a limit must be a whole number or a fraction, 0 or more, and that an impossible one is infeasible."""
    for wrong in (-1, 0.5, True, "1/2"):
        with pytest.raises(UsageError, match="give a mean cost of a group as a whole number or a fraction, 0 or more"):
            build(ONE_SLOT, limit=wrong)
    assert solve(build(ONE_SLOT, limit=Fraction(1, 4)), EXACT).status is Termination.INFEASIBLE
    assert solve(build(ONE_SLOT, limit=np.int64(1)), EXACT).objective == 1
