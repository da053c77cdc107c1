"""The models of `fair-lsap`: tiers where a group may go beyond its ration."""

from __future__ import annotations

from replica_instances import instance_of

from optsched.models import fair_lsap
from optsched.problems import FairLsap


def test_tiers_only_where_a_pool_has_two_costs() -> None:
    """Tests that free selection makes tiers of a group that may go beyond its ration, and fixed selection none."""
    instance = instance_of([[0], [0], [1]], 2)
    assert fair_lsap.build_pyomo(FairLsap(instance)).component("tier") is None
    model = fair_lsap.build_pyomo(FairLsap(instance, selection="free"))
    assert {key: tier.ub for key, tier in model.tier.items()} == {("g", 1): 2, ("g", 2): 1}
    literal = fair_lsap.build_pulp(FairLsap(instance, selection="free"))
    assert {"group.g", "ration.g", "overflow.g"} <= {constraint.name for constraint in literal.constraints()}
