"""Models of `flow-congestion` name what they hold."""

from __future__ import annotations

from congestion_instances import paper

from optsched.models.flow_congestion import build_pulp, build_pyomo


def test_models_name_what_they_hold() -> None:
    """Tests that hosts, classes and types go by the id of their first, and that reduces have their own cardinality."""
    model = build_pyomo(paper("hsu-reduces"))
    assert list(model.HOSTS) == ["n1", "n2", "n3"]
    assert list(model.CLASSES) == ["t3", "wr", "tr"]
    assert sorted(model.TYPES) == ["t3", "tr", "wr"]
    assert {kind: model.due[kind] for kind in model.KINDS} == {"map": 1, "reduce": 2}
    names = [str(variable) for variable in build_pulp(paper("hsu-reduces")).variables()]
    assert "place.wr.n3" in names
    assert "skip.t3" in names
