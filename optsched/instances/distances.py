"""Distances between nodes as an array, a frame or a graph, made the matrix that a topology holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from optsched.errors import Fault, InputError, described, nearest
from optsched.instance import Floats

__all__ = ["distance_matrix"]

#: So many names are told of those that are wrong or missing.
_SHOWN = 3


def distance_matrix(given: Any, nodes: Sequence[str], place: str = "topology.distance") -> Floats:
    """The distances between nodes, in the nodes' order, for `Topology("distance", matrix)`.

    Parameters
    ----------
    given
        An array, or nested lists, of shape (nodes, nodes), `[from][to]` in the nodes' order. Or a pandas frame with the
        nodes' ids as index and columns, in any order. Or a networkx graph that has every node; other vertices are
        switches. The distance is then the least sum of `weight` of edges (1 where an edge has none), in their direction
        where the graph has directions.
    nodes
        Ids of the nodes.
    place
        How faults call it.

    Returns
    -------
    numpy.ndarray
        float64, shape (nodes, nodes).

    Raises
    ------
    InputError
        If it is none of these, has another shape, lacks or repeats a node, names an unknown one, or leads nowhere. That
        each entry is a number of 0 or more, the instance checks.

    Examples
    --------
    >>> import networkx, pandas
    >>> distance_matrix(networkx.Graph([("a", "switch"), ("switch", "b")]), ["a", "b"]).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    >>> frame = pandas.DataFrame([[0, 5], [7, 0]], index=["b", "a"], columns=["b", "a"])
    >>> distance_matrix(frame, ["a", "b"]).tolist()
    [[0.0, 7.0], [5.0, 0.0]]
    """
    names = [str(node) for node in nodes]
    if hasattr(given, "adjacency"):
        found = _by_paths(given, names, place)
    elif hasattr(given, "columns") and hasattr(given, "index"):
        found = _by_ids(given, names, place)
    else:
        found = given
    try:
        matrix: Floats = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        told = f"expected an array, a frame or a graph of distances, got {described(given)}"
        raise InputError([Fault(place, f"{told}; each entry must be a number")]) from None
    if matrix.shape != (len(names), len(names)):
        told = f"has shape {matrix.shape}, not nodes x nodes {(len(names), len(names))}"
        raise InputError([Fault(place, f"{told}; give a row and a column for each node, in the nodes' order")])
    return matrix


def _by_ids(frame: Any, names: Sequence[str], place: str) -> Any:
    """The entries of a frame in the order of the nodes."""
    sides = {what: [str(label) for label in getattr(frame, what)] for what in ("index", "columns")}
    faults = [fault for what, labels in sides.items() for fault in _label_faults(labels, names, f"{place}.{what}")]
    if faults:
        raise InputError(faults)
    places = ({label: place for place, label in enumerate(labels)} for labels in sides.values())
    rows, columns = ([place[name] for name in names] for place in places)
    return frame.to_numpy()[np.ix_(rows, columns)]


def _label_faults(labels: Sequence[str], names: Sequence[str], place: str) -> Iterator[Fault]:
    """What is wrong with the ids of one side of a frame."""
    known = set(names)
    for label, count in Counter(labels).items():
        if label not in known:
            yield Fault(place, f'no node "{label}"; {nearest(label, list(names))}')
        elif count > 1:
            yield Fault(place, f'"{label}" is there twice; keep one')
    yield from _missing(set(labels), names, place)


def _missing(there: set[str], names: Sequence[str], place: str) -> Iterator[Fault]:
    """The nodes that are not there, in one line."""
    missing = [name for name in names if name not in there]
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        told = ", ".join(f'"{name}"' for name in missing[:_SHOWN])
        yield Fault(place, f"lacks {told}{more}; it must have every node")


def _by_paths(graph: Any, names: Sequence[str], place: str) -> Floats:
    """The lengths of shortest paths of a graph between the nodes."""
    import networkx as nx

    vertices = {str(vertex): vertex for vertex in graph}
    if missing := list(_missing(set(vertices), names, place)):
        raise InputError(missing)
    for one, other, weight in graph.edges(data="weight", default=1):
        if isinstance(weight, bool) or not isinstance(weight, int | float | np.number) or not weight >= 0:
            told = f'the edge from "{one}" to "{other}" weighs {weight!r}; give a number, 0 or more'
            raise InputError([Fault(place, told)])
    matrix = np.zeros((len(names), len(names)))
    for row, name in enumerate(names):
        lengths = nx.single_source_dijkstra_path_length(graph, vertices[name])
        for column, other in enumerate(names):
            if vertices[other] not in lengths:
                told = f'the graph has no path from "{name}" to "{other}"; add an edge'
                raise InputError([Fault(place, told)])
            matrix[row, column] = lengths[vertices[other]]
    return matrix
