"""What the moves to a better placement have in common: maps that are farther from their data than they need be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optsched.explaining.chains import own_costs_of
from optsched.instance import Ints
from optsched.placement import NONE
from optsched.problems import Problem
from optsched.problems.base import exact
from optsched.results import Number, Sense

__all__ = ["Cause", "causes_of", "data_distance"]

#: How far a map may be from its data, nearest first.
_DISTANCES = ("node", "rack", "remote")


@dataclass(frozen=True, slots=True)
class Cause:
    """Maps that are equally far from their data, and that a better placement has nearer to it.

    Attributes
    ----------
    data
        `rack` or `remote`: how far they are.
    positions
        The maps, positions in `problem.tasks`.
    gain
        What they pay less by themselves; None where tasks pay nothing by themselves.
    nodes, racks
        How many of them each node and each rack holds, by id, most first; no racks where all nodes share one.
    """

    data: str
    positions: tuple[int, ...]
    gain: Number | None
    nodes: Mapping[str, int]
    racks: Mapping[str, int]


def data_distance(problem: Problem, position: int, node: int) -> str | None:
    """`node`, `rack` or `remote`: how far a node is from the nearest replica of a task's block; None without any."""
    holders = problem.replicas[position]
    if not len(holders):
        return None
    if node in holders:
        return "node"
    rack = problem.instance.cluster.rack
    return "rack" if rack[node] != NONE and rack[node] in rack[holders] else "remote"


def causes_of(problem: Problem, here: Ints, there: Ints) -> list[Cause]:
    """The avoidable maps of a placement, those farthest from their data first.

    Parameters
    ----------
    problem
        What is decided.
    here, there
        int64, shape (tasks,): node or -1 of each of `problem.tasks`, in the placement and in a better one.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> causes_of(problem, np.array([0, 1]), np.array([1, 0]))
    [Cause(data='remote', positions=(1,), gain=1, nodes={'b': 1}, racks={})]
    """
    both = np.flatnonzero((here != there) & (here != NONE) & (there != NONE))
    own = own_costs_of(problem)
    gain = [0] * len(both)
    if own is not None:
        sign = 1 if problem.components[own.component].sense is Sense.MIN else -1
        gain = (sign * (own.units(both, here[both]) - own.units(both, there[both]))).tolist()
    order, cluster = _DISTANCES.index, problem.instance.cluster
    several = len(cluster.rack_ids) > 1
    found: dict[str, list[tuple[int, int]]] = {}
    for position, units in zip(both.tolist(), gain, strict=True):
        before, after = (data_distance(problem, position, int(nodes[position])) for nodes in (here, there))
        if before and after and order(after) < order(before) and (own is None or units > 0):
            found.setdefault(before, []).append((position, units))
    causes = []
    for data in sorted(found, key=order, reverse=True):
        positions = tuple(position for position, _ in found[data])
        nodes = here[list(positions)]
        racks = cluster.rack[nodes]
        causes.append(
            Cause(
                data,
                positions,
                None if own is None else exact(sum(units for _, units in found[data]), own.grid),
                dict(Counter(map(str, cluster.node_ids[nodes])).most_common()),
                dict(Counter(map(str, cluster.rack_ids[racks[several & (racks != NONE)]])).most_common()),
            )
        )
    return causes
