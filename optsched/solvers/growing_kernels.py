"""The loop of `growing_matching`, in the part of Python that numba compiles; as plain Python it gives the same.

Nothing is imported here but arrays: the engine decides whether its input is worth compiling.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["CLOSED", "STATE", "grow"]

Ints = npt.NDArray[np.int64]

#: Marks a node from which no unmatched task is reached, now and later.
CLOSED = 2**62

#: Entries of the state: the next node, the last mark, matched tasks, whether this round opened a chunk, and how many
#: unmatched tasks must want a node that opens one; -1 while none is opened.
AT, STAMP, MATCHED, OPENED, WANTED, STATE = range(6)


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
    while steps <= most:
        root = state[AT]
        if root == nodes:  # a round is over
            if state[OPENED] == 0:
                if state[WANTED] == 0:
                    return True
                state[WANTED] = wanted if state[WANTED] < 0 else state[WANTED] - 1
            state[AT], state[OPENED] = 0, 0
            continue
        state[AT] = root + 1
        steps += 1
        opening = state[WANTED] >= 0
        if mark[root] == CLOSED or (opening and chunks[root] == 0):
            continue
        if state[WANTED] > 0:
            want = 0
            for at in range(look[root], starts[root + 1]):
                want += node[tasks[at]] < 0
            steps += starts[root + 1] - look[root]
            if want < state[WANTED]:
                continue
        chunks[root] -= opening
        gained = 0
        while (used[root] + 1) * unit <= room[root] - chunks[root] * chunk:
            # Search breadth first for an unmatched task: from a node on to the nodes whose tasks have data on it.
            state[STAMP] += 1
            stamp, head, tail, found = state[STAMP], 0, 1, -1
            queue[0], mark[root] = root, stamp
            place = look[root]
            while place < starts[root + 1] and node[tasks[place]] >= 0:
                place += 1
            look[root] = place
            if place < starts[root + 1]:
                found = root
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
            used[root] += 1
            gained += 1
        state[MATCHED] += gained
        if opening:
            state[OPENED] |= gained > 0
            chunks[root] += gained == 0
    return False
