"""What is known at a driver's time: slots, tasks and sizes, whatever happens and in whatever order."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.instance import FINISHED, PENDING, RUNNING, Cluster, Instance, Shuffle, State, Workload
from optsched.problems import Lsap
from optsched.problems.transmission import Transmission
from optsched.running.base import Event
from optsched.running.known import Known
from optsched.testing.policies import drawn_snapshot


def small(**state: object) -> Known:
    """Two nodes with two slots, three maps."""
    cluster = Cluster(["a", "b"], slots=[2, 2])
    workload = Workload(["t0", "t1", "t2"])
    return Known(Lsap(Instance(cluster, workload, State.initial(cluster, workload, **state))))  # type: ignore[arg-type]


def test_a_task_that_finishes_leaves_its_slot() -> None:
    """Tests the events, the view and the slots of a start and an end."""
    known = small()
    assert known.start(1, 0) == Event(0.0, "task-started", 1)
    assert (known.view.status[1], known.view.node[1], known.room["map"]) == (RUNNING, 0, [1, 2])
    known.time = 4.0
    assert known.finish(1) == Event(4.0, "task-finished", 1)
    assert (known.view.status[1], known.view.node[1], known.free["map"].tolist()) == (FINISHED, 0, [2, 2])
    assert known.placement().nodes.tolist() == [-1, 0, -1]


def test_a_task_that_returns_waits_again() -> None:
    """Tests a running and a finished task: the first leaves its slot, both wait on no node and are placed nowhere."""
    known = small()
    for task in (0, 1):
        known.start(task, 1)
    known.finish(0)
    assert known.return_task(0) == Event(0.0, "task-returned", 0)
    known.return_task(1)
    assert known.view.status.tolist() == [PENDING] * 3
    assert known.view.node.tolist() == known.placement().nodes.tolist() == [-1] * 3
    assert (known.free["map"].tolist(), known.waiting["map"], known.waits(0, 0)) == ([2, 2], 3, True)


def test_a_node_is_lost_and_comes_back() -> None:
    """Tests that it has no slots, also for what leaves it then, and all of them later."""
    known = small()
    known.start(0, 0)
    assert known.change_node(0, (0, 0)) == Event(0.0, "node-changed", 0)
    assert (known.view.map_slots.tolist(), known.room["map"]) == ([0, 2], [0, 2])
    known.return_task(0)
    assert known.room["map"] == [0, 2]
    known.change_node(0, (2, 1))
    assert (known.room["map"], known.view.map_slots.tolist()) == ([2, 2], [2, 2])


def test_slots_become_fewer_than_tasks_run() -> None:
    """Tests that tasks go on, and that a slot is free once enough of them have ended."""
    known = small()
    for task in range(2):
        known.start(task, 0)
    known.change_node(0, (1, 1))
    assert known.room["map"] == [0, 2]
    known.finish(0)
    assert known.room["map"] == [0, 2]
    known.finish(1)
    assert known.room["map"] == [1, 2]


def test_slots_that_become_fewer_by_two() -> None:
    """Tests that each task that ends is counted once, and that slots given back are free at once."""
    cluster = Cluster(["a"], slots=[3])
    known = Known(Lsap(Instance(cluster, Workload(["t0", "t1", "t2"]))))
    for task in range(3):
        known.start(task, 0)
    known.change_node(0, (1, 1))
    known.finish(0)
    known.change_node(0, (3, 1))
    assert known.room["map"] == [1]


def test_a_task_that_held_no_slot_leaves_none() -> None:
    """Tests that no node has more free slots than slots, where an instance says that all are idle while a task runs."""
    known = small(status=[RUNNING, PENDING, PENDING], node=[0, -1, -1])
    known.finish(0)
    assert known.room["map"] == [2, 2]


def test_sizes_are_known_of_finished_maps_alone() -> None:
    """Tests that the view's shuffle shows a size at the end of its map, and no more when the map returns."""
    cluster = Cluster(["a"], slots=[2])
    workload = Workload(["m", "r"], kind=[0, 1], job=[0, 0], job_ids=["j"], shuffle=Shuffle([0], [1], [10.0], [np.nan]))
    known = Known(Lsap(Instance(cluster, workload)))
    view = known.view
    assert view.shuffle is not None
    assert np.isnan(view.shuffle.size[0])
    known.start(0, 0)
    known.finish(0)
    assert view.shuffle.size.tolist() == [10.0]
    known.return_task(0)
    assert np.isnan(view.shuffle.size[0])
    with pytest.raises(ValueError, match="read-only"):
        view.shuffle.size[0] = 1.0


def test_tasks_of_other_kinds_come_and_go() -> None:
    """Tests that a reduce that runs ends and returns where only maps are placed, and is not offered slots."""
    cluster = Cluster(["a"])
    workload = Workload(["m", "r"], kind=[0, 1])
    state = State.initial(cluster, workload, status=[0, RUNNING], node=[-1, 0], idle_reduce_slots=[0])
    known = Known(Lsap(Instance(cluster, workload, state)))
    known.finish(1)
    known.return_task(1)
    assert (known.waiting, known.waits(1, 1)) == ({"map": 1, "reduce": 0}, False)
    assert known.view.pending_of("reduce").tolist() == [1]


def test_arrivals() -> None:
    """Tests that the clock moves to the next arrival, and that the view is a new one then."""
    known = Known(Transmission(drawn_snapshot(4)))
    seen = [known.view]
    told: list[Event] = []
    while not known.complete:
        told += known.move_to(known.next_arrival)
        seen.append(known.view)
    assert len(seen) > 1
    assert [event.index for event in told] == sorted({event.index for event in told})
    assert {event.what for event in told} == {"job-arrived"}
    assert len({len(view.status) for view in seen}) == len(seen)
