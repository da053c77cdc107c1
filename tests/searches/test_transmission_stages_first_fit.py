"""Placing reduces one after another: first fit, and moves that make room."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optsched.core.instance import REDUCE, Cluster, Instance, State, Workload
from optsched.core.placement import NONE
from optsched.problems.transmission_reduces import ReduceSlots
from optsched.searches.transmission_stages import filled, first_fit


def reduces(slots: list[int], jobs: list[int], running: list[tuple[int, int]] = ()) -> Instance:  # type: ignore[assignment]
    """Pending reduces of these jobs on nodes with so many reduce slots; of `running` ones the job and node."""
    kind = [REDUCE] * (len(jobs) + len(running))
    workload = Workload(
        [f"r{task}" for task in range(len(kind))],
        kind=kind,
        job=[*jobs, *(job for job, _ in running)],
        job_ids=[f"j{job}" for job in range(5)],
    )
    cluster = Cluster([f"n{node}" for node in range(len(slots))], reduce_slots=[9] * len(slots))
    state = State.initial(
        cluster,
        workload,
        status=[0] * len(jobs) + [1] * len(running),
        node=[-1] * len(jobs) + [node for _, node in running],
        idle_reduce_slots=slots,
    )
    return Instance(cluster, workload, state)


def test_first_fit_by_order_and_preference() -> None:
    """Tests that reduces choose in the given order, the least first and of equal ones the first node, if it is free."""
    slots = ReduceSlots(reduces([1, 1, 1], [0, 1, 2]), np.arange(3), distinct=True)
    wishes = np.array([[5.0, 1.0, 3.0], [2.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
    assert first_fit(slots, np.array([0, 1, 2]), wishes).tolist() == [1, 0, 2]
    assert first_fit(slots, np.array([2, 1, 0]), wishes).tolist() == [2, 1, 0]


def test_first_fit_bars_nodes_of_the_own_job() -> None:
    """Tests that a job's reduces keep off nodes that run or just got one of them, unless they may share."""
    instance = reduces([2, 2, 2], [0, 0], running=[(0, 0)])
    wishes = np.array([[0.0, 1.0, 2.0]] * 2)
    for distinct, nodes in ((True, [1, 2]), (False, [0, 0])):
        assert first_fit(ReduceSlots(instance, np.arange(2), distinct), np.arange(2), wishes).tolist() == nodes


def test_no_reduce_and_no_slot() -> None:
    """Tests that nothing to place is no node, and that without a slot every reduce has none."""
    assert first_fit(ReduceSlots(reduces([1], []), np.arange(0), True), np.arange(0), np.zeros((0, 1))).tolist() == []
    full = ReduceSlots(reduces([0], [0, 1]), np.arange(2), True)
    assert first_fit(full, np.arange(2), np.zeros((2, 1))).tolist() == [NONE, NONE]


class TestFilled:
    """Reduces that find no node move others out of their way."""

    @given(st.data())
    def test_as_many_as_fit(self, data: st.DataObject) -> None:
        """Tests against the maximum flow that counts them, that nothing is violated, and that few need to move."""
        nodes = data.draw(st.integers(1, 4))
        jobs = data.draw(st.lists(st.integers(-1, 2), max_size=8))
        running = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, nodes - 1)), unique=True, max_size=3))
        room = data.draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes))
        instance = reduces(room, jobs, running)
        slots = ReduceSlots(instance, np.arange(len(jobs)), distinct=data.draw(st.booleans()))
        order = np.array(data.draw(st.permutations(range(len(jobs)))), dtype=np.int64)
        wishes = np.array(
            data.draw(st.lists(st.integers(0, 3), min_size=len(jobs) * nodes, max_size=len(jobs) * nodes)), dtype=float
        ).reshape(len(jobs), nodes)
        placed = first_fit(slots, order, wishes)
        assert not list(slots.violations(placed))
        assert np.count_nonzero(placed != NONE) == slots.count

    def test_a_long_chain(self) -> None:
        """Tests a chain of three moves, which is the only way to place the last reduce."""
        # j0 runs on n2 and n3, j1 on n0 and n3, j2 on n0 and n1: each may go on to one node more, n3 is for j2 alone.
        running = [(0, 2), (0, 3), (1, 0), (1, 3), (2, 0), (2, 1)]
        instance = reduces([1, 1, 1, 1], [0, 1, 2, 0], running)
        slots = ReduceSlots(instance, np.arange(4), distinct=True)
        assert slots.count == 4
        assert filled(slots, np.array([1, 2, NONE, 0])).tolist() == [1, 2, 3, 0]
        assert filled(slots, np.array([0, 1, 2, NONE])).tolist() == [0, 2, 3, 1]

    def test_what_has_a_node_keeps_it_where_it_can(self) -> None:
        """Tests that a full placement, and one that nothing can be added to, stay as they are."""
        slots = ReduceSlots(reduces([1, 1], [0, 0, 0]), np.arange(3), distinct=True)
        assert filled(slots, np.array([1, NONE, 0])).tolist() == [1, NONE, 0]
