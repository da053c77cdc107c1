"""`transmission`: maps and reduces at once: Shen et al.'s example, terms of the cost, attributes."""

from dataclasses import replace

import numpy as np
import pytest
from transmission_instances import example

from optsched.core.errors import InputError
from optsched.core.instance import PENDING, RUNNING, Instance, Shuffle
from optsched.core.results import Violation
from optsched.problems.transmission import Transmission


def test_violations() -> None:
    """Tests that slots and cardinality name the kind, and reduces of a job that share a node their job."""
    base = example(reduce_slots=2)
    state = replace(base.state, idle_slots=np.array([1, 0, 0, 0]))
    problem, shared = Transmission(base.with_state(state)), Transmission(base.with_state(state), distinct=False)
    assert (problem.map_count, problem.reduce_count, problem.due) == (1, 2, 3)
    assert {kind: slots.tolist() for kind, slots in problem.offered.items()} == {"map": [1, 0, 0, 0], "reduce": [2] * 4}
    narrow = Transmission(example(reduce_slots=1), distinct=False)
    for given, nodes, expected in (
        (problem, [0, 0, 3, 3], [("slots", ("map", "D1")), ("distinct", ("J", "D4"))]),
        (problem, [-1, -1, -1, 3], [("cardinality", ("map",)), ("cardinality", ("reduce",))]),
        (shared, [0, -1, 3, 3], []),
        (narrow, [0, 1, 3, 3], [("slots", ("reduce", "D4"))]),
    ):
        assert given.violations(given.placement(nodes)) == [Violation(name, ids, 1) for name, ids in expected]


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
    """Tests by hand that 128 MB go to the nearest node with a slot, at distance 2, where M1's own node has none."""
    instance = example()
    full = instance.with_state(replace(instance.state, idle_slots=np.array([0, 2, 2, 2])))
    assert [Transmission(posed).cheap_bounds()[0].value for posed in (full, instance)] == [256, 0]
