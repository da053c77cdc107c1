"""Loops for numba to compile: pivots of a network simplex, pushes of cost scaling, the filling of a knapsack.

**Network simplex.** A tree on the nodes 0 to n - 1 hangs from a root n. Row u of the array `tree` describes node u and
the arc to its parent: PARENT; THREAD and BEFORE (the next and the previous node in preorder, circular with the root);
SIZE and LAST (the size of its subtree, including itself, and the last node of it in preorder); ARC (the arc's number);
OUT and IN (how much more may flow to the parent, and from it). `potential` has a number for each node, and reduced cost
is cost + potential[tail] - potential[head]: 0 on the tree's arcs. The stored tree data, and pricing of blocks of mixed
arcs, follow the study of Kiraly and Kovacs 2012. The tree stays strongly feasible (Cunningham 1976): something may flow
from each node to the root, so no sequence of pivots returns to its beginning.

**Cost scaling.** Pushes and relabels until a flow is within a tolerance of its least cost. Each arc of a network is two
residual arcs, its own and its reverse, listed by their tails: those of node u begin at `start[u]`. `head`, `twin` (the
reverse), `cost` and `room` (how much more may flow) describe each. Reduced cost is cost + price[tail] - price[head]. A
flow is within `tolerance` of least cost if no residual arc with room has a reduced cost below -tolerance. Sources:
Goldberg and Tarjan 1990; pushes with look-ahead and global price updates are from Goldberg 1997.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optsched.solvers.compiled import compiled

Ints = npt.NDArray[np.int64]
Ends = npt.NDArray[np.int32]

# Network simplex -----------------------------------------------------------------------------------------------------


PARENT, THREAD, BEFORE, SIZE, LAST, ARC, OUT, IN = range(8)

#: Columns of a tree: a line of a processor's cache.
COLUMNS = 8

#: How a call ends: it is done, or its steps are used up. A simplex may find a cycle that no capacity limits. Cost
#: scaling may need an update of prices, or have an excess that cannot reach a deficit.
DONE, MORE, ENDLESS, UPDATE, CUT_OFF = range(5)

#: A capacity that limits nothing.
UNLIMITED = 2**63 - 1

#: The cost of a pivot is the mean of about this many.
_SHARES = 64

#: Neighbouring entries of a row of a table that are priced together: a line of a processor's cache.
ROW_OF_CELLS = 8


@compiled
def exchange(
    tree: Ints, potential: Ints, first: int, second: int, arc: int, limit: int, reduced: int
) -> tuple[int, int, int, int]:
    """Send as much as possible over an arc from `first` to `second`, and back through the tree; then repair the tree.

    Tree and potential are changed in place. `limit` is how much the entering arc can carry in this direction, and
    `reduced` its reduced cost in it: less than 0.

    Returns node, arc, side, visits. `node` is the node whose arc to its parent left the tree, and `arc` that arc.
    `side` is 1 if the flow from parent to node reached the limit, 2 if that from node to parent did. `visits` is the
    number of visited nodes. `node` is -1 if the entering arc itself is full and does not enter; -2 if nothing limits
    the flow, and nothing changed.
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
    # If several arcs limit the flow, the last one after the join in its direction leaves the tree.
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
    """Along the path from a node to the join, move room from one direction to the other by the amount sent."""
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
    """Cut off the subtree of `out`, re-root it at its node `node`, and attach that to another node.

    The new arc has `room` to the parent and `back` from it, and the subtree's potentials rise by `shift`. Returns the
    number of visited nodes.
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
    # Re-root it: subtrees of a node on the way up keep their order, without the subtree that is now above the node.
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
    # Attach it.
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
    # Only differences of potentials count, so the smaller part moves.
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
    tail: Ends,
    head: Ends,
    cost: Ints,
    capacity: Ints,
    state: npt.NDArray[np.int8],
    place: Ints,
    least: int,
    pace: int,
    steps: int,
) -> int:
    """Make up to `steps` pivots on listed arcs; returns DONE, MORE or ENDLESS.

    Arcs of the tree that are not listed have negative numbers. The `state` of an arc is 0 in the tree, 1 without flow,
    -1 full. `place`, initially 0, is the arc at which pricing continues, and how many nodes the last pivots visited.
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
    `rows_stay`, otherwise from the root to each column. No arc has a limit. ARC is row x columns + column, and negative
    for arcs of the root. `cost` is C-contiguous.

    The arc of `block` stretches that saves most enters the tree. A stretch is `ROW_OF_CELLS` entries of a row; the next
    one is in the next row, one stretch to the right. `place` is the one at which pricing continues.
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


# Cost scaling --------------------------------------------------------------------------------------------------------


@compiled
def begin(start: Ints, head: Ends, twin: Ends, cost: Ints, room: Ints, excess: Ints, price: Ints) -> None:
    """Fill each residual arc with negative reduced cost: the flow is then within any tolerance, but has excesses."""
    for node in range(len(excess)):
        own = price[node]
        for arc in range(start[node], start[node + 1]):
            sent = room[arc]
            if sent > 0 and cost[arc] + own - price[head[arc]] < 0:
                room[arc] = 0
                room[twin[arc]] += sent
                excess[node] -= sent
                excess[head[arc]] += sent


@compiled
def _relabel(
    start: Ints, head: Ends, cost: Ints, room: Ints, price: Ints, current: Ints, node: int, tolerance: int
) -> bool:
    """Lower a node's price until one of its arcs is admissible; False if it has none with room."""
    best, found = 0, -1
    for arc in range(start[node], start[node + 1]):
        if room[arc] > 0:
            reach = price[head[arc]] - cost[arc]
            if found < 0 or reach > best:
                best, found = reach, arc
    if found < 0:
        return False
    price[node] = best - tolerance
    current[node] = start[node]
    return True


@compiled
def discharges(
    start: Ints,
    head: Ends,
    twin: Ends,
    cost: Ints,
    room: Ints,
    excess: Ints,
    price: Ints,
    current: Ints,
    queue: Ends,
    place: Ints,
    tolerance: int,
    steps: int,
) -> int:
    """Send each excess on, over arcs of negative reduced cost, lowering prices if there are none; returns how it ended.

    The network is as in the module; flow changes `room`. A node's `excess` is inflow minus outflow. `current` is, for
    each node, the arc before which none is admissible (room and negative reduced cost). `queue` is a ring of the nodes
    with an excess; `place` has the position of the first one, their number, and the number of relabels since the last
    update of prices. The call ends with MORE after it has examined this many `steps` arcs; it may exceed that by those
    of two nodes.

    If an excess cannot reach a deficit, nodes could relabel each other for ever. So a call ends with UPDATE after two
    relabels per node, also within one node's discharge.
    """
    nodes = len(excess)
    first, count, relabels = place[0], place[1], place[2]
    end = DONE
    while count > 0:
        if steps <= 0:
            end = MORE
            break
        if relabels >= nodes:
            end = UPDATE
            break
        node = queue[first]
        first = first + 1 if first + 1 < nodes else 0
        count -= 1
        left = excess[node]
        while left > 0 and relabels < 2 * nodes and steps > 0:
            arc, last, own = current[node], start[node + 1], price[node]
            while arc < last and relabels < 2 * nodes and steps > 0:
                if room[arc] > 0:
                    to = head[arc]
                    reduced = cost[arc] + own
                    if reduced < price[to]:
                        had = excess[to]
                        if had >= 0:
                            # Look ahead: flow that comes to a node must be able to leave it.
                            ahead, past, its = current[to], start[to + 1], price[to]
                            while ahead < past and (room[ahead] == 0 or cost[ahead] + its >= price[head[ahead]]):
                                ahead += 1
                            steps -= ahead - current[to]
                            current[to] = ahead
                            if ahead == past:
                                steps -= past - start[to]
                                relabels += 1
                                _relabel(start, head, cost, room, price, current, to, tolerance)
                                if reduced >= price[to]:
                                    arc += 1
                                    continue
                        sent = min(left, room[arc])
                        room[arc] -= sent
                        room[twin[arc]] += sent
                        left -= sent
                        excess[to] = had + sent
                        if had <= 0 and had + sent > 0:
                            at = first + count
                            queue[at if at < nodes else at - nodes] = to
                            count += 1
                        if left == 0:
                            break
                arc += 1
                steps -= 1
            current[node] = arc
            if left > 0 and arc == last:
                relabels += 1
                steps -= last - start[node]
                if not _relabel(start, head, cost, room, price, current, node, tolerance):
                    return CUT_OFF
        excess[node] = left
        if left > 0:  # first the steps or relabels after which the caller is asked, or prices are updated
            at = first + count
            queue[at if at < nodes else at - nodes] = node
            count += 1
    place[0], place[1], place[2] = first, count, relabels
    return end


@compiled
def update(
    start: Ints,
    head: Ends,
    twin: Ends,
    cost: Ints,
    room: Ints,
    excess: Ints,
    price: Ints,
    current: Ints,
    distance: Ints,
    links: Ends,
    bucket: Ends,
    tolerance: int,
) -> int:
    """Lower prices so that each excess can reach a node with a deficit over admissible arcs; MORE or CUT_OFF.

    A price falls by the distance to the next such node, where an arc's length is its reduced cost in tolerances plus
    one; or, if that is less, by the farthest distance of a node with an excess. Distances are limited by the buckets.
    `distance` (nodes,), `links` (nodes, 2) and `bucket` are work arrays; `current` starts over.
    """
    nodes, most = len(excess), len(bucket) - 1
    bucket[:] = -1
    waiting = 0
    for node in range(nodes):
        distance[node] = most
        current[node] = start[node]
        if excess[node] < 0:
            distance[node] = 0
            links[node, 0], links[node, 1] = -1, bucket[0]
            if bucket[0] >= 0:
                links[bucket[0], 0] = node
            bucket[0] = node
        elif excess[node] > 0:
            waiting += 1
    at, far, cut = 0, 0, False
    while waiting > 0 and at <= far:
        node = bucket[at]
        if node < 0:
            at += 1
            continue
        bucket[at] = links[node, 1]
        if bucket[at] >= 0:
            links[bucket[at], 0] = -1
        if excess[node] > 0:
            waiting -= 1
        links[node, 0] = -2
        own = price[node]
        for arc in range(start[node], start[node + 1]):
            near = head[arc]
            old = distance[near]
            if old > at and room[twin[arc]] > 0:
                reduced = price[near] - own - cost[arc]
                away = at if reduced < 0 else at + reduced // tolerance + 1
                if away >= most:
                    cut = True
                elif away < old:
                    if old < most:
                        before, after = links[near, 0], links[near, 1]
                        if before >= 0:
                            links[before, 1] = after
                        else:
                            bucket[old] = after
                        if after >= 0:
                            links[after, 0] = before
                    distance[near] = away
                    links[near, 0], links[near, 1] = -1, bucket[away]
                    if bucket[away] >= 0:
                        links[bucket[away], 0] = near
                    bucket[away] = near
                    far = max(far, away)
    if waiting > 0:
        if not cut:
            return CUT_OFF
        at = most
    for node in range(nodes):
        price[node] -= tolerance * min(distance[node], at)
    return MORE


# Knapsacks -----------------------------------------------------------------------------------------------------------


@compiled
def fill_one(cost: Ints, weight: Ints, space: int, before: Ints, after: Ints, without: Ints, including: Ints) -> int:
    """The least cost of items in a knapsack of size `space`, and the least with each item, and without it.

    All arrays are int64. `cost` has either sign, `weight` is from 0 to `space`; `without` and `including` get the least
    cost without each item, and with it. `before` and `after` are work arrays, of at least shape (items + 1, space + 1)
    and (space + 1,).
    """
    items = len(cost)
    for room in range(space + 1):
        before[0, room] = 0
        after[room] = 0
    for item in range(items):
        heavy, price = weight[item], cost[item]
        for room in range(heavy):
            before[item + 1, room] = before[item, room]
        for room in range(heavy, space + 1):
            before[item + 1, room] = min(before[item, room], before[item, room - heavy] + price)
    for item in range(items - 1, -1, -1):
        heavy, price = weight[item], cost[item]
        least = before[item, space] + after[0]
        for room in range(space):
            least = min(least, before[item, room] + after[space - room])
        without[item] = least
        least = before[item, space - heavy] + after[0]
        for room in range(space - heavy):
            least = min(least, before[item, room] + after[space - heavy - room])
        including[item] = least + price
        for room in range(space, heavy - 1, -1):
            after[room] = min(after[room], after[room - heavy] + price)
    return int(before[items, space])
