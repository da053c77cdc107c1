"""The literal models of the problems over time: their size, and what reduces hold."""

from __future__ import annotations

from typing import Any

import pytest

from optsched.instances.files import from_document
from optsched.models import makespan
from optsched.problems import Makespan
from optsched.solvers.algebraic import solve_pulp
from optsched.solvers.profiles import Profile

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
    from optsched.solvers.algebraic import solve_pyomo

    problem = Makespan(from_document(WAITING))  # type: ignore[arg-type]
    solver = solve_pulp if build is makespan.build_pulp else solve_pyomo
    assert solver(build(problem), Profile("exact")).objective == pytest.approx(14)


def test_names_of_literal_models() -> None:
    """Tests the rows of the literal model of a running reduce that waits, by name."""
    model = makespan.build_pulp(Makespan(from_document(WAITING)))  # type: ignore[arg-type]
    rows = {row.name.split(".")[0] for row in model.constraints()}
    assert rows == {"task", "ends", "ends_after_start", "ends_after_map", "held", "slots", "completed", "whole"}
