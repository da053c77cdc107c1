"""`transmission`: maps and reduces at once: Shen et al.'s example, terms of the cost, attributes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transmission_instances import DISTANCES, SENT, example, instances, least_costs, problems, rich

from optsched.core.errors import InputError, MissingField
from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Floats,
    Instance,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import NONE
from optsched.core.results import Number, Violation
from optsched.instances.files import load
from optsched.problems import Problem
from optsched.problems.distances import distances
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.searches.enumeration import best_placement


def test_worked_example() -> None:
    """Tests Shen et al.'s example: 256 + 0 for the maps, 200 for the reduces, 456 in all (section II-B, Figure 2)."""
    problem = Transmission(example())
    assert problem.instance.sha256 == load("papers/pna-example").sha256
    assert problem.evaluate(problem.placement([2, 1, 0, 2])) == (456,)
    assert problem.map_units.tolist() == [[0, 512, 256, 1024], [512, 0, 1280, 512]]
    assert [column.tolist() for column in problem.entries] == [[0, 0, 1, 1], [0, 1, 0, 1], np.ravel(SENT).tolist()]
    assert problem.entry_units(2).tolist() == (20 * np.array(DISTANCES)).tolist()


def test_joint_optima_of_the_worked_example() -> None:
    """Tests Shen et al. 2016, note 5: 80 with maps local, R1 on D2 and R2 on D1, and 60 where both reduces share D2."""
    value, nodes = best_placement(Transmission(example()))  # type: ignore[misc]
    assert (value, nodes.tolist()) == ((80,), [0, 1, 1, 0])
    value, nodes = best_placement(Transmission(example(), distinct=False))  # type: ignore[misc]
    assert (value, nodes.tolist()) == ((60,), [0, 1, 1, 1])


def test_one_stage_after_the_other_is_dearer() -> None:
    """Tests that maps alone cost nothing at best, and that the joint optimum is not that of the paper's maps."""
    maps = TransmissionMaps(example())
    assert best_placement(maps)[0] == (0,)  # type: ignore[index]
    after = TransmissionReduces(example((2, 1)))
    assert 256 + best_placement(after)[0][0] == 406  # type: ignore[index]


def test_terms_of_what_has_a_node_already() -> None:
    """Tests linear terms: a pending map sends to running and finished reduces, a reduce fetches from running maps."""
    base = example()
    states = {"R1": RUNNING, "R2": FINISHED}
    for reduce, (name, status) in enumerate(states.items()):
        now, node = np.zeros(4, dtype=np.int64), np.full(4, NONE)
        now[2 + reduce], node[2 + reduce] = status, 3
        problem = Transmission(base.with_state(replace(base.state, status=now, node=node)))
        sent = [SENT[0][reduce] * DISTANCES[at][3] for at in range(4)]
        assert (problem.map_units[0] - [0, 512, 256, 1024]).tolist() == sent, name
        assert len(problem.reduces) == 1
    status, node = np.array([RUNNING, PENDING, PENDING, RUNNING]), np.array([2, -1, -1, 0])
    problem = Transmission(base.with_state(replace(base.state, status=status, node=node)))
    assert problem.reduce_units.tolist() == [[10 * DISTANCES[2][at] for at in range(4)]]
    assert [column.tolist() for column in problem.entries] == [[0], [0], [20.0]]
    # M1 to R2 run both: what they exchange is nobody's decision any more.
    assert problem.evaluate(problem.placement([1, 1])) == (10 * 10 + 10 * 4,)


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


def test_missing_fields() -> None:
    """Tests that topology, shuffle, sizes and replicas that are missing are told, all of them."""
    with pytest.raises(MissingField) as caught:
        Transmission(Instance(Cluster(["a"]), Workload(["m", "r"], kind=[0, REDUCE])))
    assert [fault.place for fault in caught.value.faults] == [
        "topology",
        "shuffle",
        "tasks[0].size",
        "tasks[0].replicas",
    ]


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


@given(problems("transmission"), st.randoms(use_true_random=False))
def test_value_term_by_term(problem: Problem, random: st.DataObject) -> None:
    """Tests the value of any placement, feasible or not, against its units: of maps, of reduces, and of each entry."""
    assert isinstance(problem, Transmission)
    for _ in range(5):
        nodes = np.array([random.randint(-1, len(problem.instance.cluster) - 1) for _ in problem.tasks], dtype=np.int64)  # type: ignore[attr-defined]
        value = problem.objective(problem.placement(nodes))[0]
        units = sum(int(problem.map_units[row, nodes[at]]) for row, at in enumerate(problem.maps) if nodes[at] != NONE)
        units += sum(
            int(problem.reduce_units[row, nodes[at]]) for row, at in enumerate(problem.reduces) if nodes[at] != NONE
        )
        for entry, (row, column) in enumerate(zip(problem.entries.map, problem.entries.reduce, strict=True)):
            ends = nodes[problem.maps[row]], nodes[problem.reduces[column]]
            units += int(problem.entry_units(entry)[ends]) if NONE not in ends else 0
        assert value == Fraction(units, problem.grid)


@given(instances())
def test_stages_alone_are_the_joint_problem_without_the_other(instance: Instance) -> None:
    """Tests that without pending reduces it is the problem of maps plus what running reduces fetch, and the reverse."""
    if instance.workload.shuffle is None:
        return
    problem = Transmission(instance)
    if not len(problem.maps):
        alone = TransmissionReduces(instance)
        assert best_placement(problem)[0] == best_placement(alone)[0]  # type: ignore[index]
        assert problem.reduce_count == alone.count
    fixed = instance.state.status != PENDING
    if not len(problem.reduces) and not (instance.workload.kind[fixed] == REDUCE).any():
        assert best_placement(problem)[0] == best_placement(TransmissionMaps(instance))[0]  # type: ignore[index]


def test_cheap_bound_leaves_out_nodes_without_an_idle_slot() -> None:
    """Tests the bound by hand on Shen et al.'s example: M1's node has no idle slot, the nearest other is D3 at distance
    2.

    M2 stays at home, and pending maps send nothing to pending reduces here: 128 MB times 2.
    """
    instance = example()
    full = Instance(
        instance.cluster,
        instance.workload,
        State.initial(instance.cluster, instance.workload, idle_slots=[0, 2, 2, 2]),
    )
    (bound,) = Transmission(full).cheap_bounds()
    assert bound.value == 256
    assert Transmission(instance).cheap_bounds()[0].value == 0


def with_distances(instance: Instance, matrix: Floats) -> Instance:
    """The same instance with another matrix of distances, 0 from a node to itself."""
    topology = Topology("distance", matrix * (1 - np.eye(len(matrix))))
    return Instance(replace(instance.cluster, topology=topology), instance.workload, instance.state)


def least(instance: Instance) -> Number:
    """The joint optimum."""
    best = best_placement(Transmission(instance))
    assert best is not None
    return best[0][0]


@given(instances())
def test_more_slots_and_nearer_nodes_are_never_worse(instance: Instance) -> None:
    """Tests that one slot more where all tasks are placed, or shorter distances, never raise the optimum."""
    if instance.workload.shuffle is None:
        return
    problem = Transmission(instance)
    matrix = distances(instance)
    assert least(with_distances(instance, matrix / 2)) <= least(with_distances(instance, matrix))
    if problem.due == len(problem.tasks) and instance.cluster.slots[0] > instance.state.idle_slots[0]:
        more = instance.state.idle_slots + np.eye(len(matrix), dtype=np.int64)[0]
        assert least(instance.with_state(replace(instance.state, idle_slots=more))) <= least(instance)


def test_costs_go_from_the_map_to_the_reduce() -> None:
    """Tests where distances differ by direction: what a map sends to a reduce that runs, and one fetches from a map."""
    cluster = Cluster(["a", "b"], topology=Topology("distance", [[0.0, 3.0], [7.0, 0.0]]))
    workload = Workload(
        ["M1", "M2", "R1", "R2"],
        kind=[MAP, MAP, REDUCE, REDUCE],
        job=[0] * 4,
        job_ids=["J"],
        size=[1.0, 1.0, np.nan, np.nan],
        replicas=Ragged.from_rows([[0, 1], [0, 1], [], []]),
        shuffle=Shuffle([0, 1], [2, 3], [2.0, 2.0]),
    )
    state = State.initial(cluster, workload, status=[PENDING, FINISHED, RUNNING, PENDING], node=[-1, 0, 0, -1])
    problem = Transmission(Instance(cluster, workload, state), distinct=False)
    # M1 sends 2 MB to R1 on a, and R2 fetches 2 MB from M2 on a.
    assert problem.evaluate(problem.placement([1, 0])) == (2 * 7,)
    assert problem.evaluate(problem.placement([0, 1])) == (2 * 3,)


def test_sharing_nodes_never_costs_more() -> None:
    """Tests that reduces of a job that may share a node cost no more, where as many of them are placed."""
    for seed in range(40):
        apart, shared = (Transmission(rich(seed).instance, distinct=distinct) for distinct in (True, False))
        if apart.reduce_count == shared.reduce_count:
            assert min(least_costs(shared).values()) <= min(least_costs(apart).values())
