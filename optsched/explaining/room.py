"""Room for one task more: what a node would have to hold more of each resource, and what that would save.

It is for problems whose nodes have capacities, whichever these are: a task of the optimum is put on another node, and
the problem's own judgement says which capacities are overdrawn there, and by how much.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from optsched.explaining.chains import better_by, own_costs_of
from optsched.instance import Instance, Ints
from optsched.placement import NONE, Placement
from optsched.problems import Problem
from optsched.results import Number, Sense, Value

__all__ = ["Room", "again", "rooms", "with_room"]

#: So many moves of a task to another node are judged, at most.
JUDGED = 200


@dataclass(frozen=True, slots=True)
class Room:
    """A node that would hold one task more.

    Attributes
    ----------
    node, position
        The node, and the position in `problem.tasks` of the task that moves there.
    more
        By how much each resource's capacity grows for it.
    problem, placement
        The problem with this room, and the optimum's placement with this task moved.
    gain
        By how much the optimum's own placement gets better when this task moves, the others staying where they are.
    """

    node: int
    position: int
    more: Mapping[str, Number]
    problem: Problem
    placement: Placement
    gain: Value


def again(problem: Problem, instance: Instance) -> Problem:
    """The same problem on a changed instance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has warned when it was posed first
        return type(problem)(instance, **problem.parameters)


def with_room(instance: Instance, node: int, more: Mapping[str, Number]) -> Instance:
    """The instance with more capacity on a node; `more` is by resource, in the units of the instance.

    >>> from optsched.instance import Cluster, Workload
    >>> held = Instance(Cluster(["a"], capacity={"cpu": [0.1]}), Workload(["t"]))
    >>> with_room(held, 0, {"cpu": Fraction(1, 5)}).cluster.capacity["cpu"].tolist()
    [0.3]
    """
    capacity = dict(instance.cluster.capacity)
    for resource, amount in more.items():
        grown = capacity[resource].copy()
        grown[node] = float(Fraction(str(grown[node])) + Fraction(amount))
        capacity[resource] = grown
    return replace(instance, cluster=replace(instance.cluster, capacity=capacity))


def rooms(problem: Problem, last: Ints) -> list[Room]:
    """Of each node the room for that task which gains most there, the largest gain first.

    What gains nothing is left out, and so is a node that running tasks overload.

    Parameters
    ----------
    problem
        The problem.
    last
        int64: node (or -1) of each of `problem.tasks` in an optimum.
    """
    if not problem.instance.cluster.capacity:
        return []
    best: dict[int, Room] = {}
    for position, node in _moves(problem, last):
        room = _room(problem, last, position, node)
        if room is not None and (node not in best or room.gain > best[node].gain):
            best[node] = room
    return sorted(best.values(), key=lambda room: room.gain, reverse=True)


def _moves(problem: Problem, last: Ints) -> Iterator[tuple[int, int]]:
    """Tasks and nodes to put them on: by what each saves by itself, or else waiting tasks first, spread over all."""
    width = len(problem.instance.cluster)
    positions, nodes = (side.reshape(-1) for side in np.indices((len(last), width)))
    apart = last[positions] != nodes
    positions, nodes = positions[apart], nodes[apart]
    own = own_costs_of(problem)
    if own is None or (last == NONE).any():
        order = np.argsort(last[positions] != NONE, kind="stable")
        waiting = int((last[positions] == NONE).sum())
        order = order[: waiting or None]
        order = order[:: 1 + len(order) // JUDGED]
    else:
        sign = 1 if problem.components[own.component].sense is Sense.MIN else -1
        saved = sign * (own.units(positions, last[positions]) - own.units(positions, nodes))
        order = np.argsort(-saved, kind="stable")
        order = order[saved[order] > 0][:JUDGED]
    return zip(positions[order].tolist(), nodes[order].tolist(), strict=True)


def _room(problem: Problem, last: Ints, position: int, node: int) -> Room | None:
    """The room for a task on a node, if it is room alone that it lacks, and something is gained by it."""
    moved = last.copy()
    moved[position] = node
    name = str(problem.instance.cluster.node_ids[node])
    more: dict[str, Number] = {}
    for wrong in problem.violations(problem.placement(moved)):
        if wrong.constraint != "capacity" or wrong.ids[-1] != name:
            return None
        more[wrong.ids[0]] = wrong.amount
    if not more:
        return None
    changed = again(problem, with_room(problem.instance, node, more))
    placement = changed.placement(moved)
    if changed.violations(placement):
        return None
    gain = better_by(problem, problem.objective(problem.placement(last)), changed.objective(placement))
    return Room(node, position, more, changed, placement, gain) if gain > (0,) * len(gain) else None
