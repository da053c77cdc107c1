"""Models of `flow-congestion` name what they hold."""

from __future__ import annotations

from congestion_instances import paper, problems
from hypothesis import given, settings

from optsched.models import flow_congestion
from optsched.models.flow_congestion import build_pulp, build_pyomo
from optsched.problems import FlowCongestion


def test_models_name_what_they_hold() -> None:
    """Tests that hosts, classes and types go by the id of their first, and that reduces have their own cardinality."""
    model = build_pyomo(paper("hsu-reduces"))
    assert list(model.HOSTS) == ["n1", "n2", "n3"]
    assert list(model.CLASSES) == ["t3", "wr", "tr"]
    assert sorted({kind for _, kind in model.filled}) == ["t3", "tr", "wr"]
    assert {kind: row.lower for kind, row in model.cardinality.items()} == {"map": 1, "reduce": 2}
    literal = build_pulp(paper("hsu-reduces"))
    names = [str(variable) for variable in literal.variables()]
    assert "place.wr.n3" in names
    assert "skip.t3" in names


@settings(max_examples=25)
@given(problems())
def test_sizes(problem: FlowCongestion) -> None:
    """Tests that the literal model has the size that is told, with reduces, running tasks and every parameter."""
    size, model = flow_congestion.literal_size(problem), flow_congestion.build_pulp(problem)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)
