"""The literal model of `transmission-reduces` has the paper's variables."""

from __future__ import annotations

from reduces_instances import posed

from optsched import models


def test_literal_model_has_the_paper_s_variables() -> None:
    """Tests names and right sides of the literal model, where a reduce of the job runs."""
    problem = posed([1.0, 2.0], [1, 1], running=[(0, 1)], matrix=[[0.0, 4.0], [4.0, 0.0]])
    model = models.module("transmission-reduces").build_pulp(problem)
    assert sorted(variable.name for variable in model.variables()) == ["y.r0.n0", "y.r0.n1", "y.r1.n0", "y.r1.n1"]
    rows = {row.name: -row.constant for row in model.constraints()}
    assert rows == {
        "reduce.r0": 1, "reduce.r1": 1, "cardinality": 1, "node.n0": 1, "node.n1": 1, "job.j0.n0": 1, "job.j0.n1": 0
    }  # fmt: skip
