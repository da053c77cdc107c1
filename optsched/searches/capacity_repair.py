"""Placements of `generalized-assignment` near to what knapsacks hold: each task once, then moved and swapped."""

from __future__ import annotations

import numpy as np

from optsched.core.instance import Floats, Ints
from optsched.problems.generalized_assignment import GeneralizedAssignment

__all__ = ["improved", "repaired"]

#: Moves and swaps are made at most so many times.
_ROUNDS = 200

#: Swaps are looked at for so many tasks at most, since there are as many as pairs of these.
_MOST_SWAPPED = 1_000

#: More than any gain; and less than any change that counts.
_NEVER, _LITTLE = 2**62, 1e-9


def repaired(problem: GeneralizedAssignment, cost: Ints, gain: Ints) -> Ints | None:
    """Each task where its gain is best among where it fits, those that would lose most first; then `improved`.

    A task that finds no room is where it gains most, and the moves afterwards take away what is too much.

    Parameters
    ----------
    problem
        The problem.
    cost
        int64, shape (tasks, nodes): cost to be least.
    gain
        int64, of the same shape: the less, the more a node wants a task.

    Returns
    -------
    Node of each task, or None where no moves make it feasible.
    """
    tasks, width = gain.shape
    gain = np.where(problem.usable, gain, _NEVER)
    spread = np.partition(gain, 1, axis=1)[:, 1] - gain.min(axis=1) if width > 1 else gain[:, 0]
    left, nodes = problem.capacity.copy(), np.full(tasks, -1, dtype=np.int64)
    for task in np.argsort(-spread, kind="stable").tolist():
        fits = problem.usable[task] & (problem.demand[:, task] <= left).all(axis=0)
        node = int(np.argmin(np.where(fits, gain[task], _NEVER) if fits.any() else gain[task]))
        nodes[task] = node
        left[:, node] -= problem.demand[:, task, node]
    return improved(problem, cost, nodes)


def improved(problem: GeneralizedAssignment, cost: Ints, nodes: Ints) -> Ints | None:
    """The placement after the best moves of a task, and swaps of two, as long as one makes it better.

    What exceeds a capacity counts first, in parts of the capacity, and the cost then. None where some of it is left.
    """
    nodes, every = nodes.copy(), np.arange(len(nodes))
    usable = np.where(problem.usable, cost, np.inf)
    demand = problem.demand / np.maximum(problem.capacity, 1)[:, None, :]
    exceeding = 1e3 * float(np.abs(cost).max(initial=0) + 1)
    for _ in range(_ROUNDS):
        used = np.zeros(problem.capacity.shape)
        for resource, taken in enumerate(demand[:, every, nodes]):
            np.add.at(used[resource], nodes, taken)
        over = _over(used)
        # A task where it must not run is as bad as one that fills its node twice.
        own = np.where(problem.usable[every, nodes], cost[every, nodes], exceeding)
        without = _over(used[:, nodes] - demand[:, every, nodes])
        moved = (
            usable
            - own[:, None]
            + exceeding * (_over(used[:, None, :] + demand) - over + (without - over[nodes])[:, None])
        )
        moved[every, nodes] = 0.0
        swapped = np.zeros((1, 1))
        if len(nodes) <= _MOST_SWAPPED:
            swapped = _swaps(usable, own, demand, used, nodes, exceeding)
        best = float(moved.min(initial=0.0)), float(swapped.min(initial=0.0))
        if min(best) > -_LITTLE:
            break
        if best[0] <= best[1]:
            task, node = np.unravel_index(int(moved.argmin()), moved.shape)
            nodes[task] = node
        else:
            one, other = np.unravel_index(int(swapped.argmin()), swapped.shape)
            nodes[[one, other]] = nodes[[other, one]]
    return None if problem.violations(problem.placement(nodes)) else nodes


def _swaps(usable: Floats, own: Floats, demand: Floats, used: Floats, nodes: Ints, exceeding: float) -> Floats:
    """What is gained, or lost, where two tasks change places."""
    every = np.arange(len(nodes))
    over = _over(used)
    # What each node has with one of its tasks left out, and each other one in its place.
    there = usable[:, nodes].T - own[:, None]
    fuller = _over(used[:, nodes, None] - demand[:, every, nodes][:, :, None] + demand[:, :, nodes].transpose(0, 2, 1))
    swapped = there + exceeding * (fuller - over[nodes][:, None])
    return np.where(nodes[:, None] == nodes[None, :], 0.0, swapped + swapped.T)


def _over(used: Floats) -> Floats:
    """By how many parts of their capacities the resources are exceeded, together."""
    over: Floats = np.maximum(used - 1.0 - _LITTLE, 0.0).sum(axis=0)
    return over
