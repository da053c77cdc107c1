"""The loops of `flow_based` over tasks: augmenting a cover, and giving out what is uncovered to least loaded servers.

They run as they are on lists, or compiled by numba on int64 arrays of many tasks; either way they do the same. They
return after a number of steps, with their state in what they were given.
"""

from __future__ import annotations

from typing import Any

__all__ = ["augment", "give_out"]

#: What a task or server is that there is not: no server, or the end of a list.
NOTHING = -1


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
    reached: Any,
    search: Any,
    queue: Any,
    seen: Any,
    progress: Any,
    steps: int,
) -> bool:
    """Cover the tasks of `waiting` one after another, each along a shortest augmenting path, where there is one.

    Servers in `full` are known to lead to no free capacity. Those that a failed search reached join them: a later path
    within the same capacities never enters them, so the searches that fail take O(replicas) together.

    Parameters
    ----------
    starts, values
        Servers with the block of each task, as rows.
    waiting, waits
        Tasks to cover; and where to put those that stay uncovered, which may be the same memory.
    capacity, count, full
        Of each server: how many tasks it may take, has, and whether it is known to lead nowhere.
    server
        Of each task.
    ends, links
        The tasks of a server in the order in which they came: first and last of server s at 2s and 2s + 1 of `ends`,
        before and after task t at 2t and 2t + 1 of `links`.
    reached, search, queue, seen
        Room: of each server the task that would move there, and which search reached it; tasks; servers.
    progress
        How many of `waiting` are done, how many stay, and the number of the search.
    steps
        Servers to look at before returning.

    Returns
    -------
    bool
        Whether all are done.
    """
    done, stay, number = progress[0], progress[1], progress[2]
    looked = 0
    while done < len(waiting) and looked < steps:
        task = waiting[done]
        done += 1
        number += 1
        first, last, found, entered = 0, 1, NOTHING, 0
        queue[0] = task
        while first < last and found == NOTHING:
            moving = queue[first]
            first += 1
            for position in range(starts[moving], starts[moving + 1]):
                one = values[position]
                looked += 1
                if full[one] or search[one] == number:
                    continue
                search[one] = number
                reached[one] = moving
                seen[entered] = one
                entered += 1
                if count[one] < capacity[one]:
                    found = one
                    break
                other = ends[2 * one]
                while other != NOTHING:
                    queue[last] = other
                    last += 1
                    other = links[2 * other + 1]
        if found == NOTHING:
            for position in range(entered):
                full[seen[position]] = 1
            waits[stay] = task
            stay += 1
            continue
        one, moving = found, NOTHING
        while moving != task:  # move every task of the path one server on
            moving = reached[one]
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
            server[moving] = one
            before = ends[2 * one + 1]
            links[2 * moving], links[2 * moving + 1] = before, NOTHING
            if before == NOTHING:
                ends[2 * one] = moving
            else:
                links[2 * before + 1] = moving
            ends[2 * one + 1] = moving
            count[one] += 1
            one = left
    progress[0], progress[1], progress[2] = done, stay, number
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
