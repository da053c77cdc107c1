"""What is known at a driver's time: slots, tasks and sizes, whatever happens and in whatever order."""

import numpy as np
import pytest

from optsched.core.instance import (
    FINISHED,
    PENDING,
    RUNNING,
    Cluster,
    Instance,
    Pairs,
    Shuffle,
    State,
    Workload,
)
from optsched.heuristics.probabilistic import LeastCostPolicy
from optsched.heuristics.running.base import Event
from optsched.heuristics.running.known import Known
from optsched.instances.files import from_document, to_document
from optsched.problems import Lsap
from optsched.problems.transmission import Transmission
from optsched.testing.policies import History, drawn_snapshot


def small(**state: object) -> Known:
    """Two nodes with two slots, three maps."""
    cluster = Cluster(["a", "b"], slots=[2, 2])
    workload = Workload(["t0", "t1", "t2"])
    return Known(Lsap(Instance(cluster, workload, State.initial(cluster, workload, **state))))


def test_a_node_is_lost_and_comes_back() -> None:
    """Tests that it has no slots, also for what leaves it then, and all of them later."""
    known = small()
    known.start(0, 0)
    assert known.change_node(0, (0, 0)) == Event(0.0, "node-changed", 0)
    assert (known.view.map_slots.tolist(), known.room["map"].tolist()) == ([0, 2], [0, 2])
    known.return_task(0)
    assert known.room["map"].tolist() == [0, 2]
    known.change_node(0, (2, 1))
    assert (known.room["map"].tolist(), known.view.map_slots.tolist()) == ([2, 2], [2, 2])


def test_slots_become_fewer_than_tasks_run() -> None:
    """Tests that tasks go on, that each that ends is counted once, and that slots given back are free at once."""
    known = Known(Lsap(Instance(Cluster(["a"], slots=[3]), Workload(["t0", "t1", "t2"]))))
    for task in range(3):
        assert known.start(task, 0) == Event(0.0, "task-started", task)
    known.change_node(0, (1, 1))
    known.time = 4.0
    assert known.finish(0) == Event(4.0, "task-finished", 0)
    assert (known.view.status.tolist(), known.view.node[0]) == ([FINISHED, RUNNING, RUNNING], 0)
    assert known.room["map"].tolist() == [0]
    known.change_node(0, (3, 1))
    assert known.room["map"].tolist() == [1]
    known.change_node(0, (1, 1))
    known.finish(1)
    assert known.room["map"].tolist() == [0]
    known.finish(2)
    assert known.room["map"].tolist() == [1]


def test_a_task_that_held_no_slot_leaves_none() -> None:
    """Tests that no node has more free slots than slots, where an instance says that all are idle while a task runs."""
    known = small(status=[RUNNING, PENDING, PENDING], node=[0, -1, -1])
    known.finish(0)
    assert known.room["map"].tolist() == [2, 2]


def test_tasks_of_other_kinds_come_and_go() -> None:
    """Tests that a reduce that runs ends and returns where only maps are placed, and is not offered slots."""
    cluster = Cluster(["a"])
    workload = Workload(["m", "r"], kind=[0, 1])
    state = State.initial(cluster, workload, status=[0, RUNNING], node=[-1, 0], idle_reduce_slots=[0])
    known = Known(Lsap(Instance(cluster, workload, state)))
    known.finish(1)
    known.return_task(1)
    assert (known.waiting, known.waits(1, 1)) == ({"map": 1, "reduce": 1}, True)
    assert (list(known.free), known.waits_for_slots) == (["map"], True)
    assert known.snapshot().state.idle_reduce_slots.tolist() == [1]
    assert known.view.pending_of("reduce").tolist() == [1]


def test_arrivals() -> None:
    """Tests that the clock moves to the next arrival, and that the view is a new one then."""
    known = Known(Transmission(drawn_snapshot(4)))
    seen = [known.view]
    shown: list[Event] = []
    while not known.complete:
        shown += known.move_to(known.next_arrival)
        seen.append(known.view)
    assert len(seen) > 1
    assert [event.index for event in shown] == sorted({event.index for event in shown})
    assert {event.what for event in shown} == {"job-arrived"}
    assert len({len(view.status) for view in seen}) == len(seen)


class TestSnapshot:
    """The instance as it is now."""

    def test_shares_what_does_not_change(self) -> None:
        """Tests that time, tasks and idle slots are those of now, and cluster and workload the same objects."""
        known = small()
        known.start(1, 0)
        known.time = 7.0
        known.start(2, 1)
        snapshot, given = known.snapshot(), known.problem.instance
        assert (snapshot.workload is given.workload, snapshot.cluster is given.cluster) == (True, True)
        assert (snapshot.time, snapshot.state.status.tolist()) == (7.0, [PENDING, RUNNING, RUNNING])
        assert snapshot.state.node.tolist() == [-1, 0, 1]
        assert snapshot.state.start[1:].tolist() == [0.0, 7.0]
        assert snapshot.state.idle_slots.tolist() == [1, 1]
        assert (given.time, given.state.idle_slots.tolist()) == (0, [2, 2])

    def test_of_maps_that_go_on(self) -> None:
        """Tests what maps have read and emitted: in the view at once, in snapshots, of jobs that are there alone."""
        workload = Workload(
            ["late", "m", "n", "r", "s"],
            kind=[0, 0, 0, 1, 1],
            job=[1, 0, 0, 0, 0],
            job_ids=["now", "later"],
            arrival=[0.0, 9.0],
            shuffle=Shuffle([0, 1, 2, 1], [3, 3, 3, 4], [3.0, 4.0, 5.0, 6.0]),
        )
        given = Instance.initial(Cluster(["a"], slots=[3]), workload, emitted=[np.nan, 1, 2, 3])
        known = Known(Lsap(given))
        view = known.view
        assert known.snapshot().state.emitted.tolist() == view.emitted.tolist() == [1, 2, 3]
        (m, _), shown = known.numbers([1, 2]), int(view.progress)
        known.start(m, 0)
        known.progress([1], [7.5])
        assert (view.bytes_read[m], view.emitted.tolist()) == (7.5, [1, 2, 3])
        known.progress([1, 2], [8.0, 1.0], [3, 1, 2, 0], [3.5, 2.5, 4, 9])
        assert view.emitted.tolist() == known.snapshot().state.emitted.tolist() == [2.5, 4, 3.5]
        assert known.snapshot().state.bytes_read.tolist()[:2] == [8.0, 1.0]
        assert view.progress == shown + 2
        with pytest.raises(ValueError, match="read-only"):
            view.emitted[0] = 0
        known.move_to(9.0)
        assert (
            str(known.view.emitted.tolist()) == str(known.snapshot().state.emitted.tolist()) == "[9.0, 2.5, 4.0, 3.5]"
        )
        known.return_task(known.numbers([1])[0])
        assert (
            str(known.view.emitted.tolist()) == str(known.snapshot().state.emitted.tolist()) == "[9.0, nan, 4.0, nan]"
        )
        assert given.state.emitted.tolist()[1:] == [1, 2, 3]
        assert known.snapshot().workload is workload
        assert from_document(to_document(known.snapshot())).sha256 == known.snapshot().sha256

    def test_holds_no_job_that_is_to_arrive(self) -> None:
        """Tests that tasks, jobs, shuffle and pairs of later jobs are not in it, and that groups stay."""
        cluster = Cluster(["a"], slots=[2])
        workload = Workload(
            ["t0", "t1", "t2"],
            kind=[0, 0, 1],
            job=[1, 0, 0],
            job_ids=["now", "later"],
            arrival=[0.0, 9.0],
            shuffle=Shuffle([0, 1], [2, 2], [3.0, 4.0]),
            pairs=Pairs(np.array([[1.0], [2.0], [3.0]])),
            observed=[0, 0, -1],
        )
        known = Known(Lsap(Instance(cluster, workload)))
        snapshot = known.snapshot()
        assert snapshot.workload.task_ids.tolist() == ["t1", "t2"]
        assert snapshot.workload.job_ids.tolist() == ["now"]
        assert (snapshot.workload.job.tolist(), snapshot.workload.observed.tolist()) == ([0, 0], [0, -1])
        assert snapshot.workload.shuffle.size.tolist() == [4.0]
        assert snapshot.workload.pairs.cost.tolist() == [[2.0], [3.0]]
        assert known.numbers([1, 2, 0]) == [0, 1, 2]
        known.move_to(9.0)
        assert known.snapshot().workload is workload

    def test_of_any_history_is_an_instance(self) -> None:
        """Tests that whatever happens the present is written and read as a file, and a problem is posed on it."""
        for seed in range(4):
            history = History(Transmission(drawn_snapshot(seed)), LeastCostPolicy(), seed, lambda event: None)
            for _ in range(20):
                history.step()
            snapshot = history.known.snapshot()
            assert from_document(to_document(snapshot)).sha256 == snapshot.sha256
            assert Transmission(snapshot).due <= len(snapshot.workload)
