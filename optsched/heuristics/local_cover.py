"""The loops of `flow_based` over tasks: augmenting a cover, and giving out what is uncovered to least loaded servers.

They run as they are on lists, or compiled by numba on int64 arrays of many tasks; either way they do the same. They
return after a number of steps, with their state in what they were given.
"""

from __future__ import annotations

from typing import Any

__all__ = ["augment", "give_out", "measure"]

#: What a task or server is that there is not: no server, or the end of a list.
NOTHING = -1


def measure(
    holding: Any, held: Any, server: Any, count: Any, capacity: Any, ends: Any, starts: Any, arcs: Any, queue: Any
) -> None:
    """Of each server the fewest moves of tasks that lead from it to one with free capacity, found backwards from these.

    Parameters
    ----------
    holding, held
        Tasks with their block on each server, as rows.
    server, count, capacity, ends, starts
        As in `augment`.
    arcs
        Filled: at 3s the moves from server s, or how many servers there are where none lead on; at 3s + 1 and 3s + 2
        the first of its tasks, and the first position of that in `values`.
    queue
        Room for servers.
    """
    far = len(count)
    first, last = 0, 0
    for one in range(far):
        arcs[3 * one] = far
        if count[one] < capacity[one]:
            arcs[3 * one] = 0
            queue[last] = one
            last += 1
        task = ends[2 * one]
        arcs[3 * one + 1] = task
        if task != NOTHING:
            arcs[3 * one + 2] = starts[task]
    while first < last:
        one = queue[first]
        first += 1
        for position in range(holding[one], holding[one + 1]):
            before = server[held[position]]
            if before != NOTHING and arcs[3 * before] == far:
                arcs[3 * before] = arcs[3 * one] + 1
                queue[last] = before
                last += 1


def augment(
    starts: Any,
    values: Any,
    waiting: Any,
    waits: Any,
    capacity: Any,
    server: Any,
    count: Any,
    ends: Any,
    links: Any,
    full: Any,
    arcs: Any,
    path: Any,
    queue: Any,
    progress: Any,
    steps: int,
) -> bool:
    """Cover the tasks of `waiting` one after another, each along a shortest augmenting path, where there is one.

    Of the shortest paths it is the one that a breadth-first search from the task finds first. That one goes, from each
    server, to the first server that is a move nearer to free capacity, and these distances only grow while tasks are
    covered. So they are kept, as lower bounds, and raised where no next server is as near as they say (Ahuja and
    Orlin's shortest augmenting paths). A task is known to stay uncovered when all its servers lead nowhere.

    Parameters
    ----------
    starts, values
        Servers with the block of each task, as rows.
    waiting, waits
        Tasks to cover; and where to put those that stay uncovered, which may be the same memory.
    capacity, count, full
        Of each server: how many tasks it may take, has, and whether a task that stays uncovered leads to it.
    server
        Of each task.
    ends, links
        The tasks of a server in the order in which they came: first and last of server s at 2s and 2s + 1 of `ends`,
        before and after task t at 2t and 2t + 1 of `links`.
    arcs
        From `measure`: distances, and where the search for the next server goes on.
    path, queue
        Room: servers of a path at even places, with the task that moves to each; servers.
    progress
        How many of `waiting` are done, and how many stay.
    steps
        Servers to look at before returning: then distances are to be measured again.

    Returns
    -------
    bool
        Whether all are done.

    References
    ----------
    Ahuja and Orlin, Distance-directed augmenting path algorithms for maximum flow, Naval Research Logistics, 1991.
    """
    far = len(count)
    done, stay = progress[0], progress[1]
    looked = 0
    while done < len(waiting) and looked < steps:
        task = waiting[done]
        size = 0
        while True:
            if size == 0:  # enter at the first of the nearest servers
                nearest = far
                for position in range(starts[task], starts[task + 1]):
                    looked += 1
                    if arcs[3 * values[position]] < nearest:
                        nearest = arcs[3 * values[position]]
                        path[0] = values[position]
                if nearest == far:
                    break
                path[1] = task
                size = 1
            one = path[2 * size - 2]
            if count[one] < capacity[one]:
                break
            nearer, moving, position = arcs[3 * one] - 1, arcs[3 * one + 1], arcs[3 * one + 2]
            found = NOTHING
            while moving != NOTHING:
                while position < starts[moving + 1]:
                    looked += 1
                    if arcs[3 * values[position]] == nearer:
                        found = values[position]
                        break
                    position += 1
                if found != NOTHING:
                    break
                moving = links[2 * moving + 1]
                if moving != NOTHING:
                    position = starts[moving]
            if found != NOTHING:
                arcs[3 * one + 1], arcs[3 * one + 2] = moving, position
                path[2 * size], path[2 * size + 1] = found, moving
                size += 1
                continue
            nearest = far - 1
            moving = ends[2 * one]
            while moving != NOTHING:
                for place in range(starts[moving], starts[moving + 1]):
                    looked += 1
                    if values[place] != one and arcs[3 * values[place]] < nearest:
                        nearest = arcs[3 * values[place]]
                moving = links[2 * moving + 1]
            moving = ends[2 * one]
            arcs[3 * one], arcs[3 * one + 1] = nearest + 1, moving
            if moving != NOTHING:
                arcs[3 * one + 2] = starts[moving]
            size -= 1
            if looked >= steps:
                progress[0], progress[1] = done, stay
                return False
        done += 1
        if size == 0:
            waits[stay] = task
            stay += 1
            first, last = 0, 0
            for position in range(starts[task], starts[task + 1]):
                one = values[position]
                if not full[one]:
                    full[one] = 1
                    queue[last] = one
                    last += 1
            while first < last:
                moving = ends[2 * queue[first]]
                first += 1
                while moving != NOTHING:
                    for position in range(starts[moving], starts[moving + 1]):
                        looked += 1
                        one = values[position]
                        if not full[one]:
                            full[one] = 1
                            queue[last] = one
                            last += 1
                    moving = links[2 * moving + 1]
        while size > 0:  # move every task of the path one server on
            size -= 1
            one, moving = path[2 * size], path[2 * size + 1]
            left = server[moving]
            if left != NOTHING:
                before, after = links[2 * moving], links[2 * moving + 1]
                if before == NOTHING:
                    ends[2 * left] = after
                else:
                    links[2 * before + 1] = after
                if after == NOTHING:
                    ends[2 * left + 1] = before
                else:
                    links[2 * after] = before
                count[left] -= 1
                arcs[3 * left + 1] = after  # its search has come to the task that leaves
                if after != NOTHING:
                    arcs[3 * left + 2] = starts[after]
            server[moving] = one
            before = ends[2 * one + 1]
            links[2 * moving], links[2 * moving + 1] = before, NOTHING
            if before == NOTHING:
                ends[2 * one] = moving
            else:
                links[2 * before + 1] = moving
            ends[2 * one + 1] = moving
            count[one] += 1
            if arcs[3 * one + 1] == NOTHING:
                arcs[3 * one + 1], arcs[3 * one + 2] = moving, starts[moving]
    progress[0], progress[1] = done, stay
    return bool(done == len(waiting))


def give_out(
    starts: Any, values: Any, nodes: Any, load: Any, heap: Any, w_loc: int, w_rem: int, begin: int, end: int
) -> None:
    """Give the tasks from `begin` to `end` that have no node to the server of least load, the first of equal ones.

    A server that happens to hold the task's block runs it in `w_loc`. `heap` has the servers as a heap by load and, of
    equal ones, by number.
    """
    size = len(heap)
    for task in range(begin, end):
        if nodes[task] != NOTHING:
            continue
        one = heap[0]
        nodes[task] = one
        work = w_rem
        for position in range(starts[task], starts[task + 1]):
            if values[position] == one:
                work = w_loc
        load[one] += work
        at = 0
        while 2 * at + 1 < size:
            child = 2 * at + 1
            if child + 1 < size:
                left, right = heap[child], heap[child + 1]
                if load[right] < load[left] or (load[right] == load[left] and right < left):
                    child += 1
            other = heap[child]
            if load[one] < load[other] or (load[one] == load[other] and one < other):
                break
            heap[at] = other
            at = child
        heap[at] = one
