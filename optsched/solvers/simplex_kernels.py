"""Loops of the network simplex: pivots of a spanning tree, which arc enters it, on listed arcs or on a table of costs.

A tree on the nodes 0 to n - 1 hangs from a root n. Row u of the array `tree` tells of node u and of its arc to its
parent: PARENT; THREAD and BEFORE (the nodes after and before it in preorder, round from the last one to the root); SIZE
and LAST (how many nodes hang from it, itself among them, and which of them is the last one in preorder); ARC (the arc's
number); OUT and IN (how much more may flow to the parent, and from it). `potential` has a number for each node, and
reduced cost is cost + potential[tail] - potential[head]: 0 on the tree's arcs.

Sources: what is kept of the tree, and that blocks of mixed arcs are priced, is from the study of Kiraly and Kovacs
2012. The tree stays strongly feasible (Cunningham 1976): something may flow from each node to the root, and so no
sequence of pivots comes back to where it began.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optsched.solvers.compiled import compiled

__all__ = [
    "ARC",
    "BEFORE",
    "COLUMNS",
    "DONE",
    "IN",
    "LAST",
    "MORE",
    "OUT",
    "PARENT",
    "ROW_OF_CELLS",
    "SIZE",
    "THREAD",
    "ENDLESS",
    "UNLIMITED",
    "exchange",
    "list_pivots",
    "table_pivots",
]

Ints = npt.NDArray[np.int64]

PARENT, THREAD, BEFORE, SIZE, LAST, ARC, OUT, IN = range(8)

#: Columns of a tree: a line of a processor's cache.
COLUMNS = 8

#: How a call ends: with an optimum, after as many pivots as it was given, or with a cycle that no capacity limits.
DONE, MORE, ENDLESS = range(3)

#: A capacity that limits nothing.
UNLIMITED = 2**63 - 1

#: What a pivot costs is the mean of about this many.
_SHARES = 64

#: Neighbouring entries of a row of a table that are priced one after the other: a line of a processor's cache.
ROW_OF_CELLS = 8


@compiled
def exchange(
    tree: Ints, potential: Ints, first: int, second: int, arc: int, limit: int, reduced: int
) -> tuple[int, int, int, int]:
    """Send as much as possible over an arc from `first` to `second`, and back through the tree; then mend the tree.

    Parameters
    ----------
    tree, potential
        As in the module; changed in place.
    first, second
        Ends of the entering arc, in the direction of what is sent.
    arc, limit, reduced
        Its number; how much it takes in this direction, and what that costs, reduced: less than 0.

    Returns
    -------
    node, arc, side, visits
        The node whose arc to its parent left the tree, and that arc; 1 where what was sent filled it from the parent to
        the node, 2 where from the node to the parent; and how many nodes were visited. The node is -1 where `arc` was
        filled and does not enter; -2 where nothing limits what is sent, and nothing was changed.
    """
    up, down = first, second
    from_first, from_second, node_first, node_second, visits = UNLIMITED, UNLIMITED, -1, -1, 0
    while up != down:
        visits += 1
        if tree[up, SIZE] <= tree[down, SIZE]:
            if tree[up, IN] < from_first:
                from_first, node_first = tree[up, IN], up
            up = tree[up, PARENT]
        else:
            if tree[down, OUT] <= from_second:
                from_second, node_second = tree[down, OUT], down
            down = tree[down, PARENT]
    # Of several arcs that limit what is sent, the last one after the join in its direction leaves the tree.
    sent, out, side = limit, -1, 0
    if from_first < sent:
        sent, out, side = from_first, node_first, 1
    if node_second >= 0 and from_second <= sent:
        sent, out, side = from_second, node_second, 2
    if sent == UNLIMITED:
        return -2, arc, 0, visits
    if sent > 0:
        _send(tree, first, up, IN, OUT, sent)
        _send(tree, second, up, OUT, IN, sent)
    if side == 0:
        return -1, arc, 0, visits
    left = tree[out, ARC]
    onward = UNLIMITED if limit == UNLIMITED else limit - sent
    if side == 1:
        visits += _hang(tree, potential, out, first, second, up, -reduced, arc, onward, sent)
    else:
        visits += _hang(tree, potential, out, second, first, up, reduced, arc, sent, onward)
    return out, left, side, visits


@compiled
def _send(tree: Ints, node: int, join: int, used: int, freed: int, sent: int) -> None:
    """Take what is sent from the room in one direction, from a node to the join, and give it to the other direction."""
    while node != join:
        if tree[node, used] != UNLIMITED:
            tree[node, used] -= sent
        if tree[node, freed] != UNLIMITED:
            tree[node, freed] += sent
        node = tree[node, PARENT]


@compiled
def _hang(
    tree: Ints, potential: Ints, out: int, node: int, onto: int, join: int, shift: int, arc: int, room: int, back: int
) -> int:
    """Cut off the subtree of `out`, turn it so that its node `node` is its root, and hang that onto another node.

    The arc by which it then hangs has `room` to the parent and `back` from it, and its potentials rise by `shift`. How
    many nodes were visited.
    """
    size: int = tree[out, SIZE]
    end, before = tree[out, LAST], tree[out, BEFORE]
    # Cut it off.
    above = tree[out, PARENT]
    while above >= 0 and tree[above, LAST] == end:
        tree[above, LAST] = before
        above = tree[above, PARENT]
    above = tree[out, PARENT]
    while above != join:
        tree[above, SIZE] -= size
        above = tree[above, PARENT]
    tree[before, THREAD] = tree[end, THREAD]
    tree[tree[end, THREAD], BEFORE] = before
    # Turn it: what hangs from a node on the way up keeps its order, less the subtree that is above the node now.
    new, parent, taken, follows, last = node, onto, 0, onto, tree[node, LAST]
    after, rest, visits = tree[onto, THREAD], tree[last, THREAD], 1
    stretch = last
    while True:
        ahead, next_node = tree[new, BEFORE], tree[new, PARENT]
        tree[follows, THREAD] = new
        tree[new, BEFORE] = follows
        follows = stretch
        old_size, old_arc, old_out, old_in = tree[new, SIZE], tree[new, ARC], tree[new, OUT], tree[new, IN]
        tree[new, PARENT], tree[new, SIZE] = parent, size - taken
        tree[new, ARC], tree[new, OUT], tree[new, IN] = arc, room, back
        if new == out:
            break
        visits += 1
        parent, taken, arc, room, back = new, old_size, old_arc, old_in, old_out
        new = next_node
        stretch = ahead
        if tree[new, LAST] != last:
            tree[ahead, THREAD] = rest
            tree[rest, BEFORE] = ahead
            last = tree[new, LAST]
            stretch, rest = last, tree[last, THREAD]
    new = out
    while new != onto:
        tree[new, LAST] = follows
        new = tree[new, PARENT]
    # Hang it.
    tree[follows, THREAD] = after
    tree[after, BEFORE] = follows
    above = onto
    while above >= 0 and tree[above, LAST] == onto:
        tree[above, LAST] = follows
        above = tree[above, PARENT]
    above = onto
    while above != join:
        tree[above, SIZE] += size
        above = tree[above, PARENT]
    # Only differences of potentials count, so that the smaller part moves.
    if 2 * size > len(tree):
        node, size, shift = after, len(tree) - size, -shift
    for _ in range(size):
        potential[node] += shift
        node = tree[node, THREAD]
    visits += size
    return visits


@compiled
def list_pivots(
    tree: Ints,
    potential: Ints,
    tail: npt.NDArray[np.int32],
    head: npt.NDArray[np.int32],
    cost: Ints,
    capacity: Ints,
    state: npt.NDArray[np.int8],
    place: Ints,
    least: int,
    pace: int,
    steps: int,
) -> int:
    """Make up to `steps` pivots on listed arcs; returns DONE, MORE or ENDLESS.

    Arcs of the tree that are no listed arcs have negative numbers. The `state` of an arc is 0 in the tree, 1 without
    flow, -1 full. `place`, 0 at first, is the arc at which pricing goes on, and how many nodes the last pivots visited.
    The arc of a block that saves most enters the tree. A block has at least `least` arcs, and `pace` for each node that
    a pivot visits on average.
    """
    arcs, at = len(tail), place[0]
    while steps > 0:
        block = max(least, pace * place[1] // _SHARES)
        best, enter, seen, left = 0, -1, 0, block
        while seen < arcs:
            reduced = state[at] * (cost[at] + potential[tail[at]] - potential[head[at]])
            if reduced < best:
                best, enter = reduced, at
            at = at + 1 if at + 1 < arcs else 0
            seen += 1
            left -= 1
            if left == 0:
                if enter >= 0:
                    break
                left = block
        place[0] = at
        if enter < 0:
            return DONE
        first, second = tail[enter] + 0, head[enter] + 0  # int64, as nodes of tables are
        if state[enter] < 0:
            first, second = second, first
        node, arc, side, visits = exchange(tree, potential, first, second, enter, capacity[enter], best)
        place[1] += visits - place[1] // _SHARES
        if node == -2:
            return ENDLESS
        if node == -1:
            state[enter] = -state[enter]
        else:
            state[enter] = 0
            if arc >= 0:
                state[arc] = -1 if (tail[arc] == node) == (side == 2) else 1
        steps -= 1
    return MORE


@compiled
def table_pivots(tree: Ints, potential: Ints, cost: Ints, rows_stay: bool, place: Ints, block: int, steps: int) -> int:
    """Make up to `steps` pivots on the arcs from each row of a table to each column; returns DONE or MORE.

    Nodes are the rows, then the columns, then the root. An arc without costs leads from each row to the root if
    `rows_stay`, and else from the root to each column. No arc has a limit. ARC is row x columns + column, and negative
    for arcs of the root. `cost` is C-contiguous.

    The arc of `block` stretches that saves most enters the tree. A stretch is `ROW_OF_CELLS` entries of a row; the next
    one lies in the next row, and one stretch to the right. `place` is the one at which pricing goes on.
    """
    rows, columns = cost.shape
    root, lines = rows + columns, rows if rows_stay else rows + 1
    across = (columns + ROW_OF_CELLS - 1) // ROW_OF_CELLS
    stretches, at = across * lines, place[0]
    row, turn = at % lines, at // lines
    while steps > 0:
        best, tail, head, seen, left = 0, -1, -1, 0, block
        while seen < stretches:
            begin = (turn + row) % across * ROW_OF_CELLS
            end = min(begin + ROW_OF_CELLS, columns)
            if row < rows:
                own = potential[row]
                if rows_stay and own - potential[root] < best:
                    best, tail, head = own - potential[root], row, root
                for column in range(begin, end):
                    reduced = cost[row, column] + own - potential[rows + column]
                    if reduced < best:
                        best, tail, head = reduced, row, rows + column
            else:
                for column in range(begin, end):
                    reduced = potential[root] - potential[rows + column]
                    if reduced < best:
                        best, tail, head = reduced, root, rows + column
            row += 1
            if row == lines:
                row, turn = 0, turn + 1 if turn + 1 < across else 0
            seen += 1
            left -= 1
            if left == 0:
                if tail >= 0:
                    break
                left = block
        place[0] = turn * lines + row
        if tail < 0:
            return DONE
        arc = -2 - tail - head if tail == root or head == root else tail * columns + head - rows
        exchange(tree, potential, tail, head, arc, UNLIMITED, best)
        steps -= 1
    return MORE
