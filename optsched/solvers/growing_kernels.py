"""The loop of `growing_matching`, in the part of Python that numba compiles; as plain Python it gives the same.

Nothing is imported here but arrays: the engine decides whether its input is worth compiling.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["CLOSED", "STATE", "WANTED", "grow"]

Ints = npt.NDArray[np.int32] | npt.NDArray[np.int64]

#: Marks a node from which no unmatched task is reached, now and later. Marks that are given are fewer than tasks and
#: nodes together, since each is of a search that matches a task or closes a node.
CLOSED = 2**30

#: Entries of the state: the next node, the last mark, whether this round opened a chunk, and how many unmatched tasks
#: must want a node that opens one; -1 while none is opened.
AT, STAMP, OPENED, WANTED, STATE = range(5)


def grow(
    starts: Ints,
    tasks: Ints,
    unit: int,
    chunk: int,
    wanted: int,
    room: Ints,
    chunks: Ints,
    node: Ints,
    used: Ints,
    look: Ints,
    mark: Ints,
    queue: Ints,
    parent: Ints,
    via: Ints,
    state: Ints,
    most: int,
) -> bool:
    """Match tasks to nodes with room until none more can be; returns whether it is done, after some `most` steps.

    Arrays are changed in place: `chunks` kept free of each node, `node` of each task, tasks `used` on each node, where
    to `look` for its next unmatched task, its `mark`; `queue`, `parent` and `via` are for the search.
    """
    nodes, steps = len(room), 0
    following, stamp, opened, least = state[AT], state[STAMP], state[OPENED], state[WANTED]
    while steps <= most:
        if following == nodes:  # a round is over
            if opened == 0:
                if least == 0:
                    return True
                least = wanted if least < 0 else least - 1
            following, opened = 0, 0
            continue
        root = following
        following += 1
        steps += 1
        opening = least >= 0
        if mark[root] == CLOSED or (opening and chunks[root] == 0):
            continue
        if least > 0:
            want = 0
            for at in range(look[root], starts[root + 1]):
                want += node[tasks[at]] < 0
            steps += starts[root + 1] - look[root]
            if want < least:
                continue
        chunks[root] -= opening
        gained, taken = 0, used[root]
        most_taken, own, end = (room[root] - chunks[root] * chunk) // unit, look[root], starts[root + 1]
        while taken < most_taken:
            while own < end and node[tasks[own]] >= 0:
                own += 1
            if own < end:
                node[tasks[own]] = root
                taken += 1
                gained += 1
                continue
            # Search breadth first for an unmatched task: from a node on to the nodes whose tasks have data on it.
            stamp += 1
            head, tail, found = 0, 1, -1
            queue[0], mark[root] = root, stamp
            while found < 0 and head < tail:
                here = queue[head]
                head += 1
                steps += starts[here + 1] - starts[here]
                for at in range(starts[here], starts[here + 1]):
                    other = node[tasks[at]]
                    if mark[other] < stamp:
                        mark[other], parent[other], via[other] = stamp, here, tasks[at]
                        queue[tail] = other
                        tail += 1
                        place = look[other]
                        while place < starts[other + 1] and node[tasks[place]] >= 0:
                            place += 1
                        look[other] = place
                        if place < starts[other + 1]:
                            found = other
                            break
            if found < 0:
                for at in range(tail):
                    mark[queue[at]] = CLOSED
                break
            # The unmatched task goes to the last node, and a task of each node on the path to the one before it.
            moved, here = tasks[look[found]], found
            while here != root:
                node[moved], moved, here = here, via[here], parent[here]
            node[moved] = root
            taken += 1
            gained += 1
        look[root], used[root] = own, taken
        if opening:
            opened |= gained > 0
            chunks[root] += gained == 0
    state[AT], state[STAMP], state[OPENED], state[WANTED] = following, stamp, opened, least
    return False
