"""The noun `Schedule`: what it holds, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import Placement
from optsched.core.schedule import Schedule, microseconds, seconds
from optsched.problems.makespan import Makespan

TWO = Instance(Cluster(["a", "b"]), Workload(["t1", "t2"], duration=[1, 1]))


def test_what_it_holds() -> None:
    """Tests that it is made of nodes and starts, is equal by them, and forgets the start of what does not run."""
    schedule = Schedule(np.array([1, -1]), np.array([5, 7]))
    assert schedule == Schedule.of([(1, 5), None]) != Schedule.of([(1, 6), None])
    assert hash(schedule) == hash(Schedule.of([(1, 5), None]))
    assert schedule != Placement.of([1, None])
    assert (len(schedule), schedule.placed, schedule.placement) == (2, 1, Placement.of([1, None]))
    assert repr(schedule) == "<Schedule: 1 of 2 tasks run>"
    assert not schedule.starts.flags.writeable
    assert schedule.with_tasks([1], [0], [3]) == Schedule.of([(1, 5), (0, 3)])


def test_by_ids() -> None:
    """Tests that it is told by ids of an instance or a problem, as a dictionary and as a frame."""
    schedule = Schedule.of([(1, 500_000), None])
    told = {"t1": {"node": "b", "start": 500_000}, "t2": None}
    assert schedule.to_dict(TWO) == schedule.to_dict(Makespan(TWO)) == told
    frame = schedule.frame(TWO)
    assert frame["start"].fillna(-1).tolist() == [0.5, -1]
    with pytest.raises(UsageError, match="is none on"):
        Schedule.empty(3).to_dict(TWO)


@pytest.mark.parametrize(
    ("nodes", "starts", "told"),
    [
        ([0.5], [0], "whole numbers"),
        ([0], [[0]], "one dimension"),
        ([0, 1], [0], "one start a task"),
        ([0], [2**53 + 1], r"at most 2\^53"),
        ([0], [-(2**53) - 1], r"at most 2\^53"),
    ],
)
def test_what_it_refuses(nodes: list[float], starts: list[int], told: str) -> None:
    """Tests that nodes and starts of another type, shape or size are refused."""
    with pytest.raises(ValueError, match=told):
        Schedule(np.array(nodes), np.array(starts))


def test_units_of_time() -> None:
    """Tests that seconds are microseconds as they are written, and back."""
    assert microseconds(0.1) == 100_000
    assert microseconds(np.array([1e-7, 5e-7, 1.5e-6])).tolist() == [0, 0, 2]
    assert seconds(1) * 10**6 == 1
