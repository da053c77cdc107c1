"""Causes of a gap: maps that are farther from their data than in a better placement."""

from __future__ import annotations

import numpy as np

from optsched.explaining.causes import causes_of, data_distance
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.problems import Lsap, WorstGroup

CLUSTER = Cluster(["a1", "a2", "b1", "b2"], rack=[0, 0, 1, -1], rack_ids=["a", "b"], slots=[2, 2, 2, 2])
WORKLOAD = Workload(["t", "u", "v", "w"], replicas=Ragged.from_rows([[0], [0], [1], []]), job=[0] * 4, job_ids=["j"])


def test_distances() -> None:
    """Tests a node with the data, one in its rack, one elsewhere or without a rack, and a task without data."""
    problem = Lsap(Instance(CLUSTER, WORKLOAD), levels=(0, 1, 2))
    assert [data_distance(problem, 0, node) for node in range(4)] == ["node", "rack", "remote", "remote"]
    assert data_distance(problem, 3, 0) is None


def test_avoidable_maps() -> None:
    """Tests that those farthest come first, with what they cost, and that what a better one has as far is no cause."""
    problem = Lsap(Instance(CLUSTER, WORKLOAD), levels=(0, 1, 2))
    here, there = np.array([2, 1, 2, 3]), np.array([0, 0, 1, 3])
    remote, rack = causes_of(problem, here, there)
    assert (remote.data, remote.positions, remote.gain) == ("remote", (0, 2), 4)
    assert (dict(remote.nodes), dict(remote.racks)) == ({"b1": 2}, {"b": 2})
    assert (rack.data, rack.positions, rack.gain) == ("rack", (1,), 1)
    assert causes_of(problem, there, there) == []
    assert causes_of(problem, there, here) == []


def test_tasks_that_wait() -> None:
    """Tests that a map that waits in either placement is no cause."""
    problem = Lsap(Instance(CLUSTER, WORKLOAD))
    assert causes_of(problem, np.array([-1, 2, 1, 3]), np.array([0, -1, 1, 3])) == []


def test_no_cost_of_its_own() -> None:
    """Tests that causes are also named where what tasks pay is not the first component."""
    workload = Workload(
        ["t", "u"], replicas=Ragged.from_rows([[0], [0]]), job=[0, 0], job_ids=["j"], job_group=[0], group_ids=["g"]
    )
    (cause,) = causes_of(WorstGroup(Instance(CLUSTER, workload)), np.array([2, 0]), np.array([0, 0]))
    assert (cause.data, cause.positions) == ("remote", (0,))
