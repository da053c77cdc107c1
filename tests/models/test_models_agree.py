"""Compact model, literal model and enumeration agree, and decoded placements are worth what the models say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from model_problems import (
    fair_lsap_problems,
    flow_problems,
    latency_problems,
    lsap_fairness_problems,
    lsap_problems,
    values,
)
from transmission_instances import problems as transmission_problems

from optsched import models
from optsched.placement import Placement
from optsched.problems import Latency, LsapFairness, Problem
from optsched.results import Termination, Value
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import load_profile

EXACT = load_profile("exact")


def solved(problem: Problem, kind: str, **options: Any) -> tuple[float, Placement] | None:
    """Objective and decoded placement of a model; None where it is infeasible."""
    module = models.module(problem.name)
    if kind == "pulp":
        model = module.build_pulp(problem, **options)
        outcome = solve_pulp(model, EXACT)
    else:
        model = module.build_pyomo(problem, **options)
        outcome = solve_pyomo(model, EXACT)
    if outcome.status is Termination.INFEASIBLE:
        return None
    assert outcome.status is Termination.OPTIMAL, outcome
    assert outcome.objective is not None
    return outcome.objective, module.decode(model, problem)


def check_assignment(problem: Problem) -> None:
    """Both models against enumeration; the compact one with classes and with single tasks."""
    best = min(values(problem))
    for kind, options in (("pulp", {}), ("pyomo", {}), ("pyomo", {"aggregate": False})):
        found = solved(problem, kind, **options)
        assert found is not None
        objective, placement = found
        assert problem.evaluate(placement) == best, kind
        assert objective == pytest.approx(float(best[0]), abs=1e-6), kind
    check_size(problem)


def check_size(problem: Problem, **options: Any) -> None:
    """The size that is told beforehand is that of the model."""
    size = models.module(problem.name).literal_size(problem, **options)
    model = models.module(problem.name).build_pulp(problem, **options)
    assert (len(model.variables()), len(list(model.constraints()))) == (size.variables, size.constraints)


def least_work(found: set[Value], limit: int) -> int | None:
    """Least work among values within a limit on the makespan."""
    return min((int(work) for makespan, work in found if makespan <= limit), default=None)


def check_latency(problem: Latency) -> None:
    """Both models against enumeration: the least makespan, and the least work at limits about it."""
    found = values(problem)
    best = int(min(found)[0])
    check_size(problem)
    check_size(problem, limit=best)
    for kind in ("pulp", "pyomo"):
        free = solved(problem, kind)
        assert free is not None
        assert free[0] == pytest.approx(best, abs=1e-6), kind
        assert problem.evaluate(free[1])[0] == best, kind
        for limit in range(max(0, best - 1), best + 2):
            expected = least_work(found, limit)
            fixed = solved(problem, kind, limit=limit)
            if expected is None:
                assert fixed is None, (kind, limit)
                continue
            assert fixed is not None, (kind, limit)
            makespan, work = problem.evaluate(fixed[1])
            assert makespan <= limit
            assert work == expected == pytest.approx(fixed[0], abs=1e-6), (kind, limit)


def check_lsap_fairness(problem: LsapFairness) -> None:
    """Both models against enumeration: fewest tasks off their data, and the least distance at each limit on them."""
    found = values(problem)
    fewest = int(min(found)[0])
    check_size(problem)
    for kind in ("pulp", "pyomo"):
        free = solved(problem, kind)
        assert free is not None
        assert problem.evaluate(free[1])[0] == fewest == pytest.approx(free[0], abs=1e-6), kind
        for limit in range(max(0, fewest - 1), problem.count + 1):
            fixed = solved(problem, kind, limit=limit)
            assert (fixed is None) == (limit < fewest), (kind, limit)
            if fixed is not None:
                off_data, distance = problem.evaluate(fixed[1])
                assert off_data <= limit
                assert distance == min(entry[1] for entry in found if entry[0] <= limit), (kind, limit)
                assert fixed[0] == pytest.approx(float(distance), abs=1e-6), (kind, limit)
    check_size(problem, limit=fewest)


CASES = {
    "lsap": (lsap_problems(), check_assignment),
    "fair-lsap": (fair_lsap_problems(), check_assignment),
    "lsap-fairness": (lsap_fairness_problems(), check_lsap_fairness),
    "flow": (flow_problems(), check_assignment),
    "latency": (latency_problems(), check_latency),
    "transmission-maps": (transmission_problems("transmission-maps"), check_assignment),
    "transmission-reduces": (transmission_problems("transmission-reduces"), check_assignment),
}


@pytest.mark.parametrize("name", CASES)
def test_models_find_the_enumerated_optimum(name: str) -> None:
    """Tests that both models of a problem find the enumerated optimum on tiny instances of every variant."""
    problems, check = CASES[name]
    settings(max_examples=60)(given(problems)(check))()


@pytest.mark.thorough
@pytest.mark.parametrize("name", CASES)
def test_models_find_the_enumerated_optimum_thoroughly(name: str) -> None:
    """Tests the same on many more instances."""
    problems, check = CASES[name]
    settings(max_examples=200)(given(problems)(check))()
