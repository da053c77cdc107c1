"""First fit for reduces, so that as many as possible get a node: a quick start, not a search."""

from __future__ import annotations

from collections import deque

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import Floats, Ints
from optsched.core.placement import NONE
from optsched.problems.transmission_reduces import ReduceSlots

__all__ = ["filled", "first_fit"]


def first_fit(slots: ReduceSlots, order: Ints, preference: Floats) -> Ints:
    """Each reduce on the node that it prefers among those that are free and not barred to it.

    Parameters
    ----------
    slots
        Where reduces may run.
    order
        Positions of the reduces, in the order in which they choose.
    preference
        Shape (reduces, nodes): the least is preferred, of equal ones the first.

    Returns
    -------
    int64, shape (reduces,)
        Node or -1. A reduce that finds no node moves others away, if that makes room (`filled`).

    Examples
    --------
    One slot on n1, two on n2; job 0 has one reduce and job 1 two, which must not share a node:

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(["R1", "R2", "R3"], kind=[1, 1, 1], job=[0, 1, 1], job_ids=["J1", "J2"])
    >>> instance = Instance(Cluster(["n1", "n2"], reduce_slots=[1, 2]), workload)
    >>> slots = ReduceSlots(instance, np.arange(3), distinct=True)
    >>> first_fit(slots, np.arange(3), np.zeros((3, 2))).tolist()
    [1, 1, 0]
    """
    free, barred = slots.capacity.copy(), slots.barred.copy()
    nodes = np.full(len(slots.reduces), NONE, dtype=np.int64)
    for reduce in order.tolist():
        check()
        open_to = (free > 0) & ~barred[slots.job[reduce]]
        if open_to.any():
            node = int(np.where(open_to, preference[reduce], np.inf).argmin())
            nodes[reduce] = node
            free[node] -= 1
            barred[slots.job[reduce], node] |= slots.limited[reduce]
    return filled(slots, nodes)


def filled(slots: ReduceSlots, nodes: Ints) -> Ints:
    """The most reduces placed that fit: those left over go in along the shortest chains of moves.

    A chain gives a waiting reduce a place that another one leaves for the next. Reduces of a job are alike here, so
    chains are searched from job to node to job.

    Parameters
    ----------
    slots, nodes
        Where reduces may run, and a feasible node or -1 for each.
    """
    nodes = nodes.copy()
    used = np.bincount(nodes[nodes != NONE], minlength=len(slots.capacity))
    waiting = [int(reduce) for reduce in np.flatnonzero(nodes == NONE)]
    while waiting and int(used.sum()) < slots.count:
        check()
        chain = _chain(slots, nodes, used, waiting)
        used[chain[-1][1]] += 1
        for reduce, node in chain:
            nodes[reduce] = node
        waiting.remove(chain[0][0])
    return nodes


def _chain(slots: ReduceSlots, nodes: Ints, used: Ints, waiting: list[int]) -> list[tuple[int, int]]:
    """The moves (reduce, its new node), the first of a waiting reduce, the last to a node with a free slot."""
    before: dict[int, int] = {}  # for each node that is reached, the reduce that would move there
    asked: set[int] = set()  # jobs
    queue = deque(waiting)
    while queue:
        reduce = queue.popleft()
        job = int(slots.job[reduce])
        if job in asked:
            continue
        asked.add(job)
        reachable = slots.usable[reduce].copy()
        if slots.limited[reduce]:
            here = nodes[slots.job == job]
            reachable[here[here != NONE]] = False
        for node in np.flatnonzero(reachable).tolist():
            if node in before:
                continue
            before[node] = reduce
            if used[node] < slots.capacity[node]:
                chain = [(reduce, node)]
                while nodes[chain[0][0]] != NONE:
                    left = int(nodes[chain[0][0]])
                    chain.insert(0, (before[left], left))
                return chain
            queue.extend(np.flatnonzero(nodes == node).tolist())
    raise AssertionError("the slots hold no more reduces than are placed")  # `slots.count` says they do
