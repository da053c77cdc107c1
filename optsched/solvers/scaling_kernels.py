"""Loops of cost scaling: pushes and relabels until a flow is within a tolerance of its least cost.

Each arc of a network is two residual arcs, its own and its reverse, listed by their tails: those of node u begin at
`start[u]`. `head`, `twin` (the reverse), `cost` and `room` (how much more may flow) tell of each. Reduced cost is
cost + price[tail] - price[head]. A flow is within `tolerance` of least cost if no residual arc with room has a reduced
cost below -tolerance.

Sources: Goldberg and Tarjan 1990; that a push looks ahead, and that prices are updated all at once, is from Goldberg
1997.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optsched.solvers.compiled import compiled

__all__ = ["CUT_OFF", "DONE", "MORE", "UPDATE", "begin", "discharges", "update"]

Ints = npt.NDArray[np.int64]
Ends = npt.NDArray[np.int32]

#: How a call ends: no node has an excess; after its limit of steps; after the relabels after which prices are
#: updated next; with an excess that cannot reach what lacks it.
DONE, MORE, UPDATE, CUT_OFF = range(4)


@compiled
def begin(start: Ints, head: Ends, twin: Ends, cost: Ints, room: Ints, excess: Ints, price: Ints) -> None:
    """Fill each residual arc whose reduced cost is below 0: the flow is then within any tolerance, but has excesses."""
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
    """Lower a node's price until an arc of it is admissible; False where it has none with room."""
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
    """Send each excess on, over arcs of reduced cost below 0, and lower prices where there are none; how it ended.

    The network is as in the module; what flows changes `room`. `excess` of a node is how much more enters than leaves
    it. `current` is the arc of each node before which none is admissible (with room and a reduced cost below 0).
    `queue` has the nodes with an excess, round from the first; `place` where the first one is, how many they are, and
    how many relabels there were since prices were updated. The call ends with MORE after this many `steps`, arcs that
    are looked at; those of two nodes may be looked at beyond.

    Where an excess cannot reach what lacks it, nodes may relabel each other for ever. So a call ends with UPDATE after
    two relabels a node, also within one node's discharge.
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
                            # Look ahead: what comes to a node must be able to leave it.
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
        if left > 0:  # the steps or relabels after which the caller is asked, or prices are updated, come first
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
    """Lower prices so that each excess can go to a node that lacks something over admissible arcs; MORE or CUT_OFF.

    A price falls by the distance to the next such node, where an arc is as long as its reduced cost in tolerances and
    one more; or, if that is less, by the farthest distance of a node with an excess. Distances end with the buckets. It
    works in `distance` (nodes,), `links` (nodes, 2) and `bucket`; `current` starts over.
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
