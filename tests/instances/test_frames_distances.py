"""Distances as an array, a frame or a graph: the same matrix from each, and one clear fault for whatever is wrong."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from optsched.core.errors import InputError
from optsched.core.instance import Instance
from optsched.instances.frames import distance_matrix
from optsched.problems import problem
from optsched.routes import solve

NODES = ["a", "b", "c"]
TRUE = [[0, 1, 4], [2, 0, 3], [4, 3, 0]]


def graph(*edges: tuple[Any, Any, Any], directed: bool = True) -> Any:
    """A graph of weighted edges."""
    made: Any = nx.DiGraph() if directed else nx.Graph()
    made.add_weighted_edges_from(edges)
    return made


ALIKE = {
    "lists": TRUE,
    "tuples": tuple(map(tuple, TRUE)),
    "array": np.array(TRUE),
    "frame": pd.DataFrame(np.array(TRUE)[[2, 0, 1]][:, [1, 2, 0]], index=["c", "a", "b"], columns=["b", "c", "a"]),
    "graph": graph(
        ("a", "b", 1),
        ("b", "a", 2),
        ("b", "sw", 1.5),
        ("sw", "c", 1.5),
        ("c", "sw", 1.5),
        ("sw", "b", 1.5),
        ("c", "a", 4),
    ),
}


@pytest.mark.parametrize("form", ALIKE)
def test_bug_distances_were_lists_alone(form: str) -> None:
    """Tests that an instance from frames takes each form, with node ids that are numbers too, and costs the same."""
    tasks = pd.DataFrame({"id": ["t", "u"], "replicas": [["a"], ["a"]], "size": [2.0, 1.0]})
    instance = Instance.from_frames(pd.DataFrame({"id": NODES}), tasks, topology={"distance": ALIKE[form]})
    topology = instance.cluster.topology
    assert topology is not None
    assert topology.matrix is not None
    assert topology.matrix.tolist() == TRUE
    assert solve(problem("transmission-maps", instance)).objective == (1,)


def test_ids_that_are_numbers() -> None:
    """Tests that whole numbers do as ids, an edge without a weight counts 1, and the shortest way counts."""
    nodes = pd.DataFrame({"id": [7, 8]})
    tasks = pd.DataFrame({"id": [1], "replicas": [[7]]})
    far: Any = nx.Graph([(7, 0), (0, 8)])
    for given in (far, pd.DataFrame([[0, 2], [2, 0]], index=[7, 8], columns=[7, 8])):
        topology = Instance.from_frames(nodes, tasks, topology={"distance": given}).cluster.topology
        assert topology is not None
        assert topology.matrix is not None
        assert topology.matrix.tolist() == [[0, 2], [2, 0]]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (np.zeros((2, 3)), r"topology.distance: has shape \(2, 3\), not nodes x nodes \(3, 3\)"),
        (np.array([["x"] * 3] * 3), "expected an array, a frame or a graph of distances"),
        ([[0, 1], [1]], "expected an array, a frame or a graph of distances"),
        ({"a": 1}, "expected an array, a frame or a graph of distances"),
        (pd.DataFrame(TRUE, index=NODES, columns=["a", "b", "d"]), 'columns: no node "d"'),
        (pd.DataFrame(TRUE, index=["a", "b", "b"], columns=NODES), 'index: "b" is there twice'),
        (pd.DataFrame(TRUE, index=["a", "b", "b"], columns=NODES), 'index: lacks "c"; it must have every node'),
        (graph(("a", "b", 1), ("b", "a", 1)), 'lacks "c"'),
        (graph(("a", "b", 1), ("b", "c", 1)), 'the graph has no path from "b" to "a"; add an edge'),
        (graph(("a", "b", -1), ("b", "c", 1)), 'the edge from "a" to "b" weighs -1; give a number, 0 or more'),
        (graph(("a", "b", "x"), ("b", "c", 1), directed=False), "weighs 'x'"),
        (graph(("a", "b", None), ("b", "c", 1), directed=False), "weighs None"),
    ],
)
def test_what_is_wrong_is_told(given: Any, told: str) -> None:
    """Tests the message of each fault, with its place."""
    with pytest.raises(InputError, match=told):
        distance_matrix(given, NODES)


def test_entries_are_checked_by_the_instance() -> None:
    """Tests that a negative entry, and a node far from itself, are told with row and column."""
    nodes, tasks = pd.DataFrame({"id": ["a", "b"]}), pd.DataFrame({"id": ["t"]})
    for matrix, place in (([[0, -1], [1, 0]], r"distance\[0\]\[1\]"), ([[0, 1], [1, 2]], r"distance\[1\]\[1\]")):
        with pytest.raises(InputError, match=place):
            Instance.from_frames(nodes, tasks, topology={"distance": np.array(matrix)})
