"""Services: how long tasks take."""

from __future__ import annotations

import numpy as np
import pytest
from timed_workloads import arriving

from optsched.errors import MissingField, UsageError
from optsched.instance import Cluster, Instance, Workload
from optsched.problems.service_times import level_times
from optsched.simulating.services import SERVICES, Levels, Recorded, service_named


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


def test_who_waits_for_maps() -> None:
    """Tests that of the services that have a name only times by locality let reduces wait for the engine's word."""
    made = {name: service_named(name)() for name in SERVICES}
    assert [name for name, service in made.items() if service.waits_for_maps] == ["levels"]
