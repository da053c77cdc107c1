"""Minimum-cost flow by a network simplex on arrays: the loops of `simplex_kernels`, from a first tree to an optimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.solvers.compiled import ready

__all__ = ["FEW_ARCS", "UNLIMITED", "FoundFlow", "closer", "first_tree", "network_simplex", "until_done"]

Ints = npt.NDArray[np.int64]

#: With fewer arcs, other engines are done before numba and the kernels are loaded.
FEW_ARCS = 20_000

#: A capacity that does not limit an arc.
UNLIMITED = int(np.iinfo(np.int64).max)

#: Pivots between two looks at the deadline: milliseconds, a tenth of a second on the largest networks.
_PIVOTS = 2000

#: A block of pricing has at least so many arcs.
_LEAST_BLOCK = 20

#: For each node that a pivot visited, on average, a block has an arc more, so that pricing pays where pivots are dear.
_PACE = 1


class FoundFlow(NamedTuple):
    """How an engine ended, a network simplex or cost scaling.

    Attributes
    ----------
    flow
        int64, shape (arcs,): a flow of least cost; None where there is none.
    potential
        int64, shape (nodes,): `cost + potential[tail] - potential[head]` is at least 0 on each arc with flow below its
        capacity and at most 0 on each with flow, which proves the flow to be one; None without a flow.
    unbounded
        Whether there is a cycle of negative cost that has no limit; a network simplex that met one does not know
        whether a flow is feasible.
    """

    flow: Ints | None
    potential: Ints | None
    unbounded: bool


def network_simplex(tail: Ints, head: Ints, capacity: Ints, cost: Ints, supply: Ints) -> FoundFlow:
    """Find a flow of least cost that takes each node's supply out of it.

    Parameters
    ----------
    tail, head
        Nodes of each arc, shape (arcs,); parallel arcs and loops stay what they are.
    capacity, cost
        Of each arc; `UNLIMITED` is no limit. Costs have any sign, and (nodes + 1) times the largest is below 2^60;
        capacities that limit, and supplies, add up to less than 2^62.
    supply
        What each node sends (negative: receives), shape (nodes,); they add up to 0.

    Raises
    ------
    OutOfTime
        If a deadline is past.

    Examples
    --------
    Two units from node 0 to node 1, over two parallel arcs of which the cheaper takes one:

    >>> ends = np.array([0, 0]), np.array([1, 1])
    >>> found = network_simplex(*ends, np.array([1, UNLIMITED]), np.array([2, 7]), np.array([2, -2]))
    >>> found.flow.tolist(), (found.potential[1] - found.potential[0]).tolist()
    ([1, 1], 7)
    """
    from optsched.solvers.simplex_kernels import ARC, IN, OUT, UNBOUNDED, list_pivots

    nodes, arcs = len(supply), len(tail)
    largest = int(np.abs(cost).max(initial=0))
    tree, potential = first_tree(supply >= 0, np.abs(supply), (nodes + 1) * (largest + 1))
    order = _mixed(arcs)
    ends = tail[order].astype(np.int32), head[order].astype(np.int32)
    state, place = np.ones(arcs, dtype=np.int8), np.zeros(2, dtype=np.int64)
    columns = *ends, cost[order], capacity[order], state, place, max(_LEAST_BLOCK, int(arcs**0.5)), _PACE
    ready(list_pivots, tree, potential, *columns, _PIVOTS)
    end = until_done(lambda: list_pivots(tree, potential, *columns, _PIVOTS))
    if end == UNBOUNDED:
        return FoundFlow(None, None, True)
    flow = np.where(state < 0, capacity[order], 0)
    arc, number = tree[:nodes, ARC], np.arange(nodes)
    listed = arc >= 0
    outwards = (
        np.where(listed, ends[0][np.maximum(arc, 0)] if arcs else -1, np.where(supply >= 0, number, -1)) == number
    )
    in_tree = np.where(outwards, tree[:nodes, IN], tree[:nodes, OUT])
    if in_tree[~listed].any():
        return FoundFlow(None, None, False)
    flow[arc[listed]] = in_tree[listed]
    by_arc = np.empty_like(flow)
    by_arc[order] = flow
    return FoundFlow(by_arc, closer(potential, largest)[:nodes], False)


def first_tree(sends: npt.NDArray[np.bool_], amount: Ints, dear: int, spare: bool = False) -> tuple[Ints, Ints]:
    """The tree in which an arc without limit joins each node to the root, and the potentials.

    Parameters
    ----------
    sends, amount
        Shape (nodes,): whether a node sends to the root or receives from it, and how much.
    dear
        What such an arc costs, more than any path of others.
    spare
        Whether it is the arcs to the root that cost so much, and those from it nothing; by default the other way round.
    """
    from optsched.solvers.simplex_kernels import ARC, BEFORE, COLUMNS, IN, LAST, OUT, PARENT, SIZE, THREAD

    nodes = len(amount)
    tree = np.zeros((nodes + 1, COLUMNS), dtype=np.int64)
    number = np.arange(nodes + 1)
    tree[:, THREAD], tree[:, BEFORE] = np.roll(number, -1), np.roll(number, 1)
    tree[:, ARC], tree[:, PARENT], tree[:, SIZE], tree[:, LAST] = -2 - number, nodes, 1, number
    tree[:nodes, OUT], tree[:nodes, IN] = np.where(sends, UNLIMITED, amount), np.where(sends, amount, UNLIMITED)
    tree[nodes, PARENT], tree[nodes, SIZE], tree[nodes, LAST] = -1, nodes + 1, nodes - 1
    of_node = np.where(sends, -dear, 0) if spare else np.where(sends, 0, dear)
    return tree, np.append(of_node, 0).astype(np.int64)


def until_done(pivots: Callable[[], int]) -> int:
    """Call `pivots` until it is done, and look at the deadline each time; how it ended."""
    from optsched.solvers.simplex_kernels import MORE

    check()
    while (end := pivots()) == MORE:
        check()
    return end


def closer(potential: Ints, largest: int) -> Ints:
    """The same proof with smaller numbers: potentials that lie far apart are moved together; the last one stays.

    Where no potential lies between two that differ by more than the largest cost, the arcs across the gap have reduced
    costs of one sign, whatever they cost. So the gap may shrink to one more than that cost.

    >>> closer(np.array([5, 1000, 7, 0]), largest=3).tolist()
    [4, 10, 6, 0]
    """
    order = np.argsort(potential, kind="stable")
    gaps = np.minimum(np.diff(potential[order], prepend=potential[order[:1]]), largest + 1)
    moved = np.empty_like(potential)
    moved[order] = np.cumsum(gaps)
    moved -= moved[-1]
    return moved


def _mixed(arcs: int) -> Ints:
    """The arcs in an order in which neighbours were far apart: every k-th one, from the first, the second, and so on.

    >>> _mixed(7).tolist()
    [0, 2, 4, 6, 1, 3, 5]
    """
    step = max(1, int(arcs**0.5))
    order = np.arange(-(-arcs // step) * step).reshape(-1, step).T.ravel()
    mixed: Ints = order[order < arcs]
    return mixed
