"""The loop of `growing_matching` on lists, for inputs that are not worth compiling.

It takes the steps of `growing_kernels` in half the time that these take as plain Python: what is gone through is sliced
rather than counted, and only nodes that may take a task are looked at.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check

__all__ = ["grow_lists"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Marks a node from which no unmatched task is reached, now and later; other marks are numbers of searches.
_CLOSED = 2**62

#: Nodes that searches reach between two looks at the deadline.
_NODES = 1000


def grow_lists(
    starts: Sequence[int],
    tasks: Sequence[int],
    unit: int,
    chunk: int,
    wanted: int,
    room: Ints,
    chunks: Ints,
    cover: Bools,
    node: list[int],
    used: list[int],
    look: list[int],
) -> Bools:
    """Match tasks to nodes with room until none more can be.

    Lists are changed in place: `node` of each task, tasks `used` on each node, and where to `look` for its next
    unmatched task. Nodes beyond the cover are closed; `chunks` are those that each keeps free.

    Returns
    -------
    The cover, without the nodes that are closed by now.

    Raises
    ------
    OutOfTime
        If a deadline passes.
    """
    ends, mark = starts[1:], np.where(cover, 0, _CLOSED).tolist()
    filled = _filler(ends, tasks, node, used, look, _searcher(starts, ends, tasks, node, look, mark))
    most = ((room - chunks * chunk) // unit).tolist()
    roots = np.flatnonzero(cover).tolist()
    for root in roots:
        if used[root] < most[root] and mark[root] != _CLOSED:
            filled(root, most[root])
    rooms, kept, least = room.tolist(), chunks.tolist(), wanted
    while least >= 0:
        opened = False
        roots = [root for root in roots if kept[root] and mark[root] != _CLOSED]
        for root in roots:
            if mark[root] == _CLOSED:
                continue
            if least and sum(node[task] < 0 for task in tasks[look[root] : ends[root]]) < least:
                continue
            if filled(root, (rooms[root] - (kept[root] - 1) * chunk) // unit):
                kept[root] -= 1
                opened = True
        least -= not opened
    return np.asarray(np.array(array("q", mark)) != _CLOSED)


def _filler(
    ends: Sequence[int],
    tasks: Sequence[int],
    node: list[int],
    used: list[int],
    look: list[int],
    reached: Callable[[int], bool],
) -> Callable[[int, int], bool]:
    """What matches tasks to a node until it has so many, or none is reached from it; it says whether it matched any."""

    def filled(root: int, most: int) -> bool:
        taken = before = used[root]
        at = look[root]
        for task in tasks[at : ends[root]]:
            if node[task] < 0:
                node[task] = root
                taken += 1
                if taken == most:
                    break
            at += 1
        else:
            while taken < most and reached(root):
                taken += 1
        look[root] = at
        used[root] = taken
        return taken > before

    return filled


def _searcher(
    starts: Sequence[int], ends: Sequence[int], tasks: Sequence[int], node: list[int], look: list[int], mark: list[int]
) -> Callable[[int], bool]:
    """What matches one task more along a shortest path from a node, or closes all nodes that it reaches from there.

    The search is breadth first: from a node, whose tasks are all matched, on to the nodes that they are matched to.
    """
    parent, via = [0] * len(ends), [0] * len(ends)
    stamp = seen = 0

    def reached(root: int) -> bool:
        nonlocal stamp, seen
        if seen > _NODES:
            check()
            seen = 0
        stamp = now = stamp + 1
        mark[root] = now
        queue = [root]
        add = queue.append
        for here in queue:
            for task in tasks[starts[here] : ends[here]]:
                other = node[task]
                if mark[other] < now:
                    mark[other], parent[other], via[other] = now, here, task
                    add(other)
                    at = look[other]
                    for free in tasks[at : ends[other]]:
                        if node[free] < 0:
                            look[other] = at
                            seen += len(queue)
                            # It goes to the last node, and a task of each node on the path to the one before it.
                            while other != root:
                                node[free], free, other = other, via[other], parent[other]
                            node[free] = root
                            return True
                        at += 1
                    look[other] = at
        seen += len(queue)
        for here in queue:
            mark[here] = _CLOSED
        return False

    return reached
