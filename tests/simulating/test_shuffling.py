"""What maps send to reduces as time passes."""

from __future__ import annotations

import numpy as np

from optsched.instance import FINISHED, PENDING, Cluster, Instance, Shuffle, State, Workload
from optsched.simulating.shuffling import Shuffling, unplaced


def sending(node: int = 1) -> Instance:
    """Two jobs: maps 0, 1 and reduce 2; map 3 and reduce 4, to which map 1 sends as well; map 0 ran on a node."""
    cluster = Cluster(["a", "b"])
    workload = Workload(
        ["m0", "m1", "r2", "m3", "r4", "r5"],
        kind=[0, 0, 1, 0, 1, 1],
        job=[0, 0, 0, 1, 1, -1],
        job_ids=["one", "other"],
        shuffle=Shuffle([3, 0, 1, 1, 3], [4, 2, 2, 4, 5], size=np.arange(1.0, 6.0)),
    )
    status, ran = np.full(6, PENDING), np.full(6, -1)
    status[0], ran[0] = FINISHED, node
    return Instance(cluster, workload, State.initial(cluster, workload, status=status, node=ran))


def test_entries_and_maps_that_are_left() -> None:
    """Tests entries by map and by reduce, and how many maps each reduce waits for while they end."""
    shuffling = Shuffling(sending())
    assert [row.tolist() for row in shuffling.of_map] == [[1], [2, 3], [], [0, 4], [], []]
    assert [row.tolist() for row in shuffling.of_reduce] == [[], [], [1, 2], [], [0, 3], [4]]
    assert [shuffling.left(task) for task in (2, 4, 5)] == [1, 2, 1]  # of their job, and of others that send
    assert [shuffling.waiting(task).tolist() for task in (1, 3)] == [[2, 4], [4, 5]]
    assert shuffling.ready(2).tolist() == [1]
    shuffling.ended(1, 0)
    assert [shuffling.left(task) for task in (2, 4, 5)] == [0, 1, 1]
    assert (shuffling.ready(4).tolist(), shuffling.node[:2].tolist()) == ([3], [1, 0])
    shuffling.ended(3, 0)
    assert [shuffling.left(task) for task in (2, 4, 5)] == [0, 0, 0]


def test_without_a_shuffle() -> None:
    """Tests that reduces wait for their maps all the same, and a map without a job holds up nobody."""
    workload = Workload(["m0", "m1", "r2"], kind=[0, 0, 1], job=[0, -1, 0], job_ids=["j"])
    shuffling = Shuffling(Instance(Cluster(["a"]), workload))
    assert shuffling.left(2) == 1
    assert [shuffling.waiting(task).tolist() for task in (0, 1)] == [[2], []]
    shuffling.ended(1, 0)
    assert shuffling.left(2) == 1


def test_maps_that_ended_nobody_knows_where() -> None:
    """Tests that only such maps are told as still matter."""
    assert [fault.place for fault in unplaced(sending(node=-1))] == ["tasks[0].node"]
    assert not list(unplaced(sending()))
