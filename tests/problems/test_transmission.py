"""`transmission`: maps and reduces at once: Shen et al.'s example, terms of the cost, attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from transmission_instances import example

from optsched.core.errors import InputError
from optsched.core.instance import PENDING, RUNNING, Instance, Shuffle, State
from optsched.core.results import Violation
from optsched.problems.transmission import Transmission


def test_violations() -> None:
    """Tests that slots and cardinality name the kind, and reduces of a job that share a node their job."""
    base = example(reduce_slots=2)
    state = replace(base.state, idle_slots=np.array([1, 0, 0, 0]))
    problem = Transmission(base.with_state(state))
    assert (problem.map_count, problem.reduce_count, problem.due) == (1, 2, 3)
    assert {kind: slots.tolist() for kind, slots in problem.offered.items()} == {"map": [1, 0, 0, 0], "reduce": [2] * 4}
    assert problem.violations(problem.placement([0, 0, 3, 3])) == [
        Violation("slots", ("map", "D1"), 1),
        Violation("distinct", ("J", "D4"), 1),
    ]
    assert problem.violations(problem.placement([-1, -1, -1, 3])) == [
        Violation("cardinality", ("map",), 1),
        Violation("cardinality", ("reduce",), 1),
    ]
    shared = Transmission(base.with_state(state), distinct=False)
    assert shared.violations(shared.placement([0, -1, 3, 3])) == []
    single = example(reduce_slots=1)
    one = Transmission(single, distinct=False)
    assert one.violations(one.placement([0, 1, 3, 3])) == [Violation("slots", ("reduce", "D4"), 1)]


@pytest.mark.parametrize("sent", [2.0**50, 2.0**53])
def test_costs_that_are_not_exact(sent: float) -> None:
    """Tests that totals past 2^53 are refused, where linear terms or products of two decisions may make them."""
    instance = example()
    workload = replace(instance.workload, shuffle=Shuffle([0], [2], [sent]))
    state = replace(instance.state, emitted=np.zeros(1))
    with pytest.raises(InputError, match=r"transmission: costs may total too much, past 2\^53/1; scale sizes or"):
        Transmission(Instance(instance.cluster, workload))
    status, node = np.array([RUNNING, PENDING, PENDING, PENDING]), np.array([0, -1, -1, -1])
    with pytest.raises(InputError, match=r"past 2\^53/1"):
        Transmission(Instance(instance.cluster, workload, replace(state, status=status, node=node)))


def test_cheap_bound_leaves_out_nodes_without_an_idle_slot() -> None:
    """Tests the bound by hand on Shen et al.'s example: M1's node has no idle slot, the nearest other is D3 at distance
    2.

    M2 stays at home, and pending maps send nothing to pending reduces here: 128 MB times 2.
    """
    instance = example()
    full = Instance(
        instance.cluster, instance.workload, State.initial(instance.cluster, instance.workload, idle_slots=[0, 2, 2, 2])
    )
    (bound,) = Transmission(full).cheap_bounds()
    assert bound.value == 256
    assert Transmission(instance).cheap_bounds()[0].value == 0
