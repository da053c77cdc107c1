"""Services: how long tasks take."""

from __future__ import annotations

import numpy as np
import pytest
from over_time import arriving

from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import FINISHED, PENDING, Cluster, Instance, Ragged, Shuffle, State, Workload
from optsched.problems.service_times import level_times
from optsched.simulating.services import SERVICES, Levels, Recorded, Shuffling, service_named, unplaced


@pytest.mark.parametrize("seed", range(3))
def test_levels_are_the_times_of_the_problems(seed: int) -> None:
    """Tests each task on each node against the times by which schedules are judged."""
    instance = arriving(seed)
    service, tasks = Levels((1, 1.5, 2)), np.arange(len(instance.workload))
    service.prepare(instance)
    times = level_times(instance, tasks, (1, 1.5, 2))
    for node in range(len(instance.cluster)):
        takes = times.on(tasks, np.full(len(tasks), node)).tolist()
        assert [service.started(task, node, 7) for task in tasks.tolist()] == [
            ((task, 7 + takes[task]),) for task in tasks.tolist()
        ]


def test_what_an_instance_does_not_tell() -> None:
    """Tests tasks whose time nobody knows, each told with its field, and factors that are none."""
    instance = Instance(Cluster(["a"]), Workload(["t", "u"], duration=[np.nan, 1]), name="bare")
    with pytest.raises(MissingField, match=r"bare: levels: tasks\[0\]\.times: say how long it takes"):
        Levels().prepare(instance)
    with pytest.raises(MissingField, match=r"bare: recorded: tasks\[0\]\.duration: the trace does not say"):
        Recorded().prepare(instance)
    with pytest.raises(MissingField, match=r"^recorded: "):
        Recorded().prepare(Instance(instance.cluster, instance.workload))
    with pytest.raises(UsageError, match=r"levels: factors=\(1, 2\): give 3 values"):
        Levels((1, 2))
    with pytest.raises(UsageError, match="levels: duration=-1: give a number that is 0 or more"):
        Levels(duration=-1)


def test_one_duration_for_all_that_give_none() -> None:
    """Tests that tasks without times take the given ones, times the factor, and all others their own."""
    workload = Workload(
        ["t", "u", "v"],
        replicas=Ragged.from_rows([[0], [0], [0]]),
        duration=[np.nan, 5, np.nan],
        times=[[np.nan] * 3, [np.nan] * 3, [1, 2, 3]],
    )
    service = Levels((1, 1, 2), duration="2.5")
    service.prepare(Instance(Cluster(["a", "b"]), workload))
    ends = [service.started(task, node, 0)[0][1] for task in range(3) for node in range(2)]
    assert ends == [2_500_000, 5_000_000, 5_000_000, 10_000_000, 1_000_000, 3_000_000]
    assert (service.label, Levels(duration=1).label) == ("levels,factors=1:1:2,duration=2.5", "levels,duration=1")


def test_who_waits_for_maps() -> None:
    """Tests that of the services that have a name only times by locality let reduces wait for the engine's word."""
    made = {name: service_named(name)() for name in SERVICES}
    assert [name for name, service in made.items() if service.waits_for_maps] == ["levels", "overload"]


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
    """Tests that only such maps are reported as still matter."""
    assert [fault.place for fault in unplaced(sending(node=-1))] == ["tasks[0].node"]
    assert not list(unplaced(sending()))
