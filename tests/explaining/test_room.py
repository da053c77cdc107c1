"""Room for one task more on a node: which tasks and nodes are told, how much more it takes, and what it gains."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from optsched.explaining import explain
from optsched.explaining.room import rooms, with_room
from optsched.instance import PENDING, RUNNING, Cluster, Instance, Pairs, State, Workload
from optsched.instances.generate import generate
from optsched.problems import Problem, problem


def posed(cost: list[list[int]], capacity: list[float], allowed: list[list[bool]] | None = None) -> Problem:
    """`generalized-assignment` of tasks that weigh 0.2 each, with these capacities."""
    width = len(capacity)
    nodes, tasks = [f"n{node}" for node in range(width)], [f"t{task}" for task in range(len(cost))]
    pairs = Pairs(
        cost=[[float(entry) for entry in row] for row in cost],
        demand={"weight": [[0.2] * width for _ in tasks]},
        allowed=allowed,
    )
    cluster = Cluster(nodes, capacity={"weight": capacity})
    return problem("generalized-assignment", Instance(cluster, Workload(tasks, pairs=pairs)))


def test_the_task_that_gains_most() -> None:
    """Tests that of each node the task that gains most there is told, the dearest node first, with what it lacks."""
    asked = posed([[0, 9, 9], [1, 7, 3], [0, 2, 6]], [0.2, 0.0, 0.4])
    found = rooms(asked, np.array([0, 2, 2]))
    told = [(room.node, room.position, room.more, room.gain) for room in found]
    assert told == [(0, 2, {"weight": Fraction(1, 5)}, (6,)), (1, 2, {"weight": Fraction(1, 5)}, (4,))]
    assert found[0].problem.instance.cluster.capacity["weight"].tolist() == [0.4, 0.0, 0.4]
    assert found[0].placement.nodes.tolist() == [0, 2, 0]


def test_what_room_does_not_help() -> None:
    """Tests that a task which may not go to a node, and one which saves nothing there, make no room."""
    barred = posed([[1, 2], [1, 2]], [0.2, 0.2], [[True, True], [False, True]])
    assert rooms(barred, np.array([0, 1])) == []
    assert rooms(posed([[1, 1], [1, 1]], [0.2, 0.2]), np.array([0, 1])) == []


def test_no_capacities_no_room() -> None:
    """Tests that a problem without capacities is not asked at all."""
    asked = problem("lsap", generate("lsap", 1, nodes=2, tasks=2, replicas=1))
    assert rooms(asked, np.array([0, 1])) == []


@pytest.mark.parametrize(("held", "told"), [(4.0, {"cpu": 1}), (1.0, None)])
def test_waiting_tasks(held: float, told: dict[str, int] | None) -> None:
    """Tests that in `utility` room is made for a task that waits, but not on a node that running tasks overload."""
    cluster = Cluster(["a"], capacity={"cpu": [held]})
    workload = Workload(
        ["r", "m1", "m2"],
        job=[0, 1, 1],
        job_ids=["i", "j"],
        goal=[9.0, 9.0],
        map_time=[1.0, 1.0],
        demand={"cpu": [3.0, 1.0, 1.0]},
    )
    state = State.initial(cluster, workload, status=[RUNNING, PENDING, PENDING], node=[0, -1, -1])
    asked = problem("utility", Instance(cluster, workload, state))
    last = np.array([0, -1]) if told else np.array([-1, -1])
    assert [(room.node, room.position, room.more) for room in rooms(asked, last)] == ([(0, 1, told)] if told else [])


def test_words_and_numbers_of_room() -> None:
    """Tests the sentence and the record of one more unit of a capacity."""
    found = explain(posed([[1, 9], [1, 5]], [0.2, 0.2]), [0, 1], worth=1)
    assert str(found).endswith("  -  0.2 more weight on n0, room for t1: 4 less cost (2)")
    (worth,) = found.to_dict()["worths"]
    assert (worth["change"], worth["node"], worth["of"], worth["more"]) == ("capacity", "n0", "t1", {"weight": "1/5"})
    assert worth["promised"] == worth["gain"] == [4]


def test_room_is_exact() -> None:
    """Tests that capacities grow as decimals do: 0.1 and 0.2 make 0.3."""
    held = posed([[1]], [0.1]).instance
    grown = with_room(held, 0, {"weight": Fraction(1, 5)})
    assert grown.cluster.capacity["weight"].tolist() == [0.3]
