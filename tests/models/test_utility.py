"""Models of `utility`: what they refuse, and reduces that take more beside placed maps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from utility_instances import SWAPS, posed, problems

from optsched import models
from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Workload
from optsched.core.results import Termination
from optsched.models import utility
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.problems.utility import LEAST_FINITE, Allocation
from optsched.routes import solve
from optsched.searches.enumeration import best_placement
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import load_profile


def test_models_refuse() -> None:
    """Tests the messages where a limit is out of reach, or the literal model too large, and its stated size."""
    module = models.module("utility")
    for build in (module.build_pyomo, module.build_pulp):
        with pytest.raises(UsageError, match=r"limit=1\.5: the lowest utility is at most 1"):
            build(SWAPS, limit=1.5)
    with pytest.raises(TooLarge, match="variables"):
        module.build_pulp(SWAPS, max_variables=3)
    size, model = module.literal_size(SWAPS), module.build_pulp(SWAPS)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)


@given(problems(tasks=6, nodes=2))
@settings(max_examples=15)
def test_both_models(problem: Utility) -> None:
    """Tests both programs of both models against enumeration, and the literal one's stated size."""
    module, exact = models.module("utility"), load_profile("exact")
    best = best_placement(problem)
    assert best is not None
    size, literal = module.literal_size(problem), module.build_pulp(problem)
    assert len(literal.variables()) <= size.variables
    assert len(literal.constraints()) <= size.constraints
    for limit in (None, best[0][0]):
        compact, literal = module.build_pyomo(problem, limit=limit), module.build_pulp(problem, limit=limit)
        for model, outcome in ((compact, solve_pyomo(compact, exact)), (literal, solve_pulp(literal, exact))):
            placement = module.decode(model, problem)
            assert not problem.violations(placement)
            value = problem.evaluate(placement)
            assert value == best[0] if limit is not None else value[0] == best[0][0]
            wanted = float(best[0][0]) if limit is None else float(best[0][1]) * 2**20
            assert outcome.objective == pytest.approx(wanted, rel=1e-6, abs=1e-5 if limit is None else 1)


def test_equal_trackers_are_one_host() -> None:
    """Tests that the compact model lists patterns of equal trackers, and that its solution is dealt out to them."""
    module = models.module("utility")
    job = {"maps": 9, "map": {"cpu": 2}}
    problem = posed({"cpu": [5] * 6}, [job, {"maps": 4, "map": {"cpu": 1}}])
    model = module.build_pyomo(problem, limit=Fraction(1, 2))
    assert list(model.members) == ["n0"]
    assert len(model.PATTERNS) == 3
    assert solve_pyomo(model, load_profile("exact")).status is Termination.OPTIMAL
    placement = module.decode(model, problem)
    assert problem.evaluate(placement) == solve(problem).objective
    allocation = Allocation(*problem.allocated(placement))
    assert allocation.maps.sum(axis=1).tolist() == [9, 4]
    assert LEAST_FINITE == -2 * GRID


def test_bug_second_compact_program_of_utility_left_out_fixed_reduces() -> None:
    """Tests that with fixed reduces the compact program counts what these use, as the literal one does."""
    cluster = Cluster(["a", "b"], capacity={"cpu": [4.0, 4.0]})
    workload = Workload(["m", "r"], kind=[MAP, REDUCE], job=[0, 0], job_ids=["j"], demand={"cpu": np.array([1.0, 2.0])})
    problem = Utility(Instance(cluster, workload), reduces="fixed")
    for build, run in ((utility.build_pyomo, solve_pyomo), (utility.build_pulp, solve_pulp)):
        assert run(build(problem, limit=1), load_profile("exact")).objective == 0.75 * GRID
