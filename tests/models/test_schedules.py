"""The models of the problems over time: what the compact ones share, sizes of the literal ones, what reduces hold."""

from typing import Any

import pytest
from over_time import both

from optsched import models
from optsched.instances.files import from_document
from optsched.models import makespan
from optsched.problems import JobTimes, Makespan
from optsched.solvers.algebraic import solve_pulp, solve_pyomo
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.enumeration import semi_active


@pytest.mark.thorough
def test_both_models_have_the_optimum_of_enumeration() -> None:
    """Tests values, decoded schedules, sizes and starts of the compact and the literal model on drawn instances."""
    exact = Profile("exact", node_limit=10_000)
    for problem, best in both(range(80)):
        module = models.module(problem.name)
        nodes, starts = next(decided for value, decided in semi_active(problem) if value[0] == best)
        for build, solver in ((module.build_pyomo, solve_pyomo), (module.build_pulp, solve_pulp)):
            model = build(problem)
            outcome = solver(model, exact, module.start_values(model, problem, problem.schedule(nodes, starts)))
            assert outcome.objective == pytest.approx(float(best) * module.objective_units(problem)[0], abs=1e-5)
            assert problem.evaluate(module.decode(model, problem)) == (best,)


def test_models_without_slots_have_no_size() -> None:
    """Tests that sizes can be asked of a problem for which there is no schedule."""
    instance: Any = from_document(
        {"format": "optsched/1", "nodes": [{"id": "a", "slots": 0}], "tasks": [{"id": "t", "duration": 1}]}
    )
    module, problem = models.module("job-times"), JobTimes(instance)
    assert module.compact_size(problem).variables == module.literal_size(problem).variables == 0


WAITING: dict[str, Any] = {
    "format": "optsched/1",
    "nodes": [{"id": "a", "slots": 2, "reduce_slots": 1, "idle_slots": 2, "idle_reduce_slots": 0}],
    "jobs": [{"id": "j"}, {"id": "k"}],
    "tasks": [
        {"id": "m", "job": "j", "duration": 10},
        {"id": "r", "job": "j", "kind": "reduce", "duration": 3, "state": "running", "node": "a", "start": 0},
        {"id": "s", "job": "k", "kind": "reduce", "duration": 4},
    ],
}


@pytest.mark.parametrize("build", [makespan.build_pulp, makespan.build_pyomo])
def test_running_reduce_holds_its_slot_until_its_maps_have_ended(build: Any) -> None:
    """Tests that the only slot is free for another job's reduce after the map of 10 s, not after 3 s."""
    problem = Makespan(from_document(WAITING))
    solver = solve_pulp if build is makespan.build_pulp else solve_pyomo
    assert solver(build(problem), Profile("exact")).objective == pytest.approx(14)


def test_names_of_literal_models() -> None:
    """Tests the rows of the literal model of a running reduce that waits, by name."""
    model = makespan.build_pulp(Makespan(from_document(WAITING)))
    rows = {row.name.split(".")[0] for row in model.constraints()}
    assert rows == {"task", "ends", "ends_after_start", "ends_after_map", "held", "slots", "completed", "whole"}
