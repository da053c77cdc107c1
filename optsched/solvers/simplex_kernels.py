"""Loops of the network simplex: pivots of a spanning tree, which arc enters it, on listed arcs or on a table of costs.

A tree on the nodes 0 to n - 1 hangs from a root n. Row u of the array `tree` tells of node u and of its arc to its
parent: PARENT, DEPTH, THREAD and BEFORE (the nodes after and before it in preorder), ARC (the arc's number), FLOW,
LIMIT (its capacity), UP (1 where the arc leads from u to the parent, 0 where it leads to u). `potential` has a number
for each node, and reduced cost is cost + potential[tail] - potential[head]: 0 on the tree's arcs.

Sources: the spanning tree and its threads are those of Ahuja, Magnanti and Orlin 1993, chapter 11; the order of pricing
(blocks of arcs that are mixed) is studied by Kiraly and Kovacs 2012. The tree stays strongly feasible (Cunningham
1976): arcs without flow lead towards the root, and so no sequence of pivots comes back to where it began.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optsched.solvers.compiled import compiled

__all__ = [
    "ARC",
    "BEFORE",
    "COLUMNS",
    "DEPTH",
    "DONE",
    "FLOW",
    "LIMIT",
    "MORE",
    "PARENT",
    "ROW_OF_CELLS",
    "THREAD",
    "UNBOUNDED",
    "UNLIMITED",
    "UP",
    "exchange",
    "list_pivots",
    "table_pivots",
]

Ints = npt.NDArray[np.int64]

PARENT, DEPTH, THREAD, BEFORE, ARC, FLOW, LIMIT, UP = range(8)

#: Columns of a tree.
COLUMNS = 8

#: How a call ends: with an optimum, after as many pivots as it was given, or with a cycle that no capacity limits.
DONE, MORE, UNBOUNDED = range(3)

#: A capacity that limits nothing.
UNLIMITED = 2**63 - 1

#: So many neighbouring entries of a row of a table are priced one after the other: a line of a processor's cache.
ROW_OF_CELLS = 8


@compiled
def exchange(
    tree: Ints, potential: Ints, first: int, second: int, arc: int, held: int, sign: int, limit: int, reduced: int
) -> tuple[int, int]:
    """Send as much as possible from `first` over an arc to `second`, and back through the tree; then mend the tree.

    Parameters
    ----------
    tree, potential
        As in the module; changed in place.
    first, second
        Ends of the entering arc, in the direction of what is sent.
    arc, held, sign, limit, reduced
        Its number; the flow that it has, 0 or its capacity; 1 where it leads to `second`, and -1 where it leads to
        `first`; its capacity; its reduced cost.

    Returns
    -------
    arc, flow
        The arc that left the tree and the flow that it has now; `arc` itself where it does not enter. (-1, 0) where
        nothing limits what is sent, and nothing was changed.
    """
    join, over, out, side = first, second, -1, 0
    from_first, from_second, node_first, node_second = UNLIMITED, UNLIMITED, -1, -1
    while join != over:
        if tree[join, DEPTH] >= tree[over, DEPTH]:
            room = tree[join, FLOW]
            if tree[join, UP] == 0:
                room = UNLIMITED if tree[join, LIMIT] == UNLIMITED else tree[join, LIMIT] - room
            if room < from_first:
                from_first, node_first = room, join
            join = tree[join, PARENT]
        else:
            room = tree[over, FLOW]
            if tree[over, UP] == 1:
                room = UNLIMITED if tree[over, LIMIT] == UNLIMITED else tree[over, LIMIT] - room
            if room <= from_second:
                from_second, node_second = room, over
            over = tree[over, PARENT]
    # Of several arcs that limit what is sent, the last one after the join in its direction leaves the tree.
    sent = limit
    if from_first < sent:
        sent, out, side = from_first, node_first, 1
    if node_second >= 0 and from_second <= sent:
        sent, out, side = from_second, node_second, 2
    if sent == UNLIMITED:
        return -1, 0
    if sent:
        node = first
        while node != join:
            tree[node, FLOW] += sent if tree[node, UP] == 0 else -sent
            node = tree[node, PARENT]
        node = second
        while node != join:
            tree[node, FLOW] += sent if tree[node, UP] == 1 else -sent
            node = tree[node, PARENT]
    held += sign * sent
    if side == 0:
        return arc, held
    left = tree[out, ARC], tree[out, FLOW]
    up = 1 if (side == 1) == (sign > 0) else 0
    node, onto = (first, second) if side == 1 else (second, first)
    _hang(tree, potential, out, node, onto, -reduced if up == 1 else reduced, arc, held, limit, up)
    return left


@compiled
def _hang(
    tree: Ints,
    potential: Ints,
    out: int,
    node: int,
    onto: int,
    shift: int,
    arc: int,
    flow: int,
    limit: int,
    up: int,
) -> None:
    """Cut off the subtree of `out`, turn it so that its node `node` is its root, and hang that onto another node."""
    lowest, end = tree[out, DEPTH], tree[out, THREAD]
    while tree[end, DEPTH] > lowest:
        end = tree[end, THREAD]
    before = tree[out, BEFORE]
    tree[before, THREAD] = end
    tree[end, BEFORE] = before
    last, after, depth = onto, tree[onto, THREAD], tree[onto, DEPTH]
    taken, rest = -1, -1  # the subtree that has its new place already, and what came after it
    while True:
        # What hangs from this node keeps its order, less the subtree that is above it now.
        level, depth, here = tree[node, DEPTH], depth + 1, node
        down = depth - level
        while True:
            following = tree[here, THREAD]
            tree[here, DEPTH] += down
            potential[here] += shift
            tree[last, THREAD] = here
            tree[here, BEFORE] = last
            last = here
            here = rest if following == taken else following
            if here == end or tree[here, DEPTH] <= level:
                break
        taken, rest = node, here
        parent, old_arc, old_flow = tree[node, PARENT], tree[node, ARC], tree[node, FLOW]
        old_limit, old_up = tree[node, LIMIT], tree[node, UP]
        tree[node, PARENT], tree[node, ARC], tree[node, FLOW] = onto, arc, flow
        tree[node, LIMIT], tree[node, UP] = limit, up
        if node == out:
            break
        onto, arc, flow, limit, up = node, old_arc, old_flow, old_limit, 1 - old_up
        node = parent
    tree[last, THREAD] = after
    tree[after, BEFORE] = last


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
    block: int,
    steps: int,
) -> int:
    """Up to `steps` pivots on listed arcs; DONE, MORE or UNBOUNDED.

    Parameters
    ----------
    tree, potential
        As in the module. Arcs of the tree that are no listed arcs have negative numbers.
    tail, head, cost, capacity
        Of each arc.
    state
        Of each arc: 0 in the tree, 1 without flow, -1 full.
    place
        Shape (1,): the arc at which pricing goes on.
    block
        The arc of a block of so many that saves most enters the tree.
    """
    arcs, at = len(tail), place[0]
    while steps > 0:
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
        sign, full = int(state[enter]), capacity[enter]
        first, second = (tail[enter], head[enter]) if sign > 0 else (head[enter], tail[enter])
        held = 0 if sign > 0 else full
        arc, flow = exchange(tree, potential, first, second, enter, held, sign, full, sign * best)
        if arc == -1:
            return UNBOUNDED
        if arc == enter:
            state[enter] = -sign
        else:
            state[enter] = 0
            if arc >= 0:
                state[arc] = 1 if flow == 0 else -1
        steps -= 1
    return MORE


@compiled
def table_pivots(tree: Ints, potential: Ints, cost: Ints, rows_stay: bool, place: Ints, block: int, steps: int) -> int:
    """Up to `steps` pivots on the arcs from each row of a table to each column; DONE or MORE.

    Nodes are the rows, then the columns, then the root. An arc without costs leads from each row to the root if
    `rows_stay`, and else from the root to each column. No arc has a limit.

    Parameters
    ----------
    tree, potential, steps
        As in `list_pivots`. ARC is row x columns + column, and negative for arcs of the root.
    cost
        Shape (rows, columns), C-contiguous.
    rows_stay
        Whether what rows send may stay there; else columns may take less than they can.
    place
        Shape (1,): the stretch at which pricing goes on. A stretch is `ROW_OF_CELLS` entries of a row; the next one
        lies in the next row, and one stretch to the right.
    block
        The arc of so many stretches that saves most enters the tree.
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
                if rows_stay and own < best:
                    best, tail, head = own, row, root
                for column in range(begin, end):
                    reduced = cost[row, column] + own - potential[rows + column]
                    if reduced < best:
                        best, tail, head = reduced, row, rows + column
            else:
                for column in range(begin, end):
                    if -potential[rows + column] < best:
                        best, tail, head = -potential[rows + column], root, rows + column
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
        exchange(tree, potential, tail, head, arc, 0, 1, UNLIMITED, best)
        steps -= 1
    return MORE
