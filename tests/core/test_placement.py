"""The decisions that problems ask for: whole numbers that nobody can change, equal by their entries."""

from typing import Any

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow, Placement, Schedule, microseconds, seconds
from optsched.problems import Lsap, MinCostFlow
from optsched.problems.makespan import Makespan


@pytest.mark.parametrize("nodes", [[0.9, 1.0], [True, False], [2**70, 0], ["a", "b"]])
def test_a_placement_is_of_whole_numbers(nodes: list[Any]) -> None:
    """Tests that what is no node index is not rounded to one."""
    with pytest.raises(ValueError, match="whole numbers"):
        Placement.of(nodes)


@pytest.mark.parametrize("noun", [Placement, NetworkFlow])
def test_nouns(noun: type[Placement | NetworkFlow]) -> None:
    """Tests that each is a copy that is read-only, of one dimension, equal and hashed by its entries."""
    given = np.array([1, 2])
    held: Any = noun(given)
    (numbers,) = (getattr(held, name) for name in noun.__slots__)
    given[0] = 7
    assert numbers.tolist() == [1, 2]
    assert (len(held), held == noun([1, 2]), held == noun([1, 3]), held == [1, 2]) == (2, True, False, False)
    assert Placement([1, 2]) != NetworkFlow([1, 2])
    assert hash(held) == hash(noun([1, 2]))
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 3
    with pytest.raises(ValueError, match="whole numbers, not float64"):
        noun(np.array([0.5]))
    with pytest.raises(ValueError, match="one dimension"):
        noun(np.zeros((2, 2), dtype=np.int64))


def test_ids_of_a_placement() -> None:
    """Tests that an instance gives every task and a problem those that it places, and that a frame has the same."""
    instance = Instance(Cluster(["a", "b"]), Workload(["t1", "r1", "t2"], kind=[0, 1, 0]))
    placement = Placement.of([1, None, None])
    assert placement.to_dict(instance) == {"t1": "b", "r1": None, "t2": None}
    assert placement.to_dict(Lsap(instance)) == {"t1": "b", "t2": None}
    frame = placement.frame(instance)
    assert frame["task"].tolist() == ["t1", "r1", "t2"]
    assert frame["node"].tolist() == ["b", None, None]
    assert list(Placement.of([]).frame(Instance(Cluster(["a"]), Workload([]))).columns) == ["task", "node"]


def test_ids_of_a_flow() -> None:
    """Tests that arcs are reported by id, of a network and of a problem on it, and of no other."""
    network = FlowNetwork(["s", "t"], [0, 0], [1, 1], arc_ids=["x", "y"])
    for of in (network, MinCostFlow(network)):
        assert NetworkFlow([3, 0]).to_dict(of) == {"x": 3, "y": 0}
    with pytest.raises(UsageError, match="the flow on 1 arc is none on <FlowNetwork: 2 nodes, 2 arcs>"):
        NetworkFlow([3]).to_dict(network)


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
    assert schedule.frame(TWO)["start"].fillna(-1).tolist() == [0.000005, -1]
    with pytest.raises(UsageError, match="is none on"):
        Schedule.empty(3).to_dict(Makespan(TWO))


@pytest.mark.parametrize(
    ("nodes", "starts", "message"),
    [
        ([0.5], [0], "whole numbers"),
        ([0], [[0]], "one dimension"),
        ([0, 1], [0], "one start a task"),
        ([0], [2**53 + 1], r"at most 2\^53"),
        ([0], [-(2**53) - 1], r"at most 2\^53"),
    ],
)
def test_what_it_refuses(nodes: list[float], starts: list[int], message: str) -> None:
    """Tests that nodes and starts of another type, shape or size are refused."""
    with pytest.raises(ValueError, match=message):
        Schedule(np.array(nodes), np.array(starts))


def test_units_of_time() -> None:
    """Tests that seconds are microseconds as they are written, and back."""
    assert microseconds(0.1) == 100_000
    assert microseconds(np.array([1e-7, 5e-7, 1.5e-6])).tolist() == [0, 0, 2]
    assert seconds(1) * 10**6 == 1
