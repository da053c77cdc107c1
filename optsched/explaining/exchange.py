"""The difference of two placements as chains and cycles of moves, each of which can be made without the others.

A task that is placed differently is an arc from the place where it is to the place where it shall be. Places are slots
for one kind of task on a node, or waiting. A chain leaves a place that shall hold fewer tasks, pushes on at each place
that has no room, and ends at one that shall hold more; a cycle changes what no place holds in number. No chain needs
room that another makes. So whichever of them are applied, no place holds more than it may. Nothing here knows a
problem: it is arithmetic on arcs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from optsched.instance import Ints

__all__ = ["alike_kept", "chains_of"]


def alike_kept(classes: Ints, here: Ints, there: Ints) -> Ints:
    """`there`, with tasks of a class swapped among each other so that as many as can be stay where they are `here`.

    Parameters
    ----------
    classes
        int64, shape (tasks,): tasks of a class are the same to the problem.
    here, there
        int64, shape (tasks,): a place of each task, -1 or more.

    Examples
    --------
    >>> alike_kept(np.array([0, 0, 1]), np.array([4, 5, 6]), np.array([5, 7, 4])).tolist()
    [7, 5, 4]
    """
    width = int(max(here.max(initial=0), there.max(initial=0))) + 2
    before, after = classes * width + here + 1, classes * width + there + 1
    first, second = _numbered(before), _numbered(after)
    stays, taken = np.isin(first, second), np.isin(second, first)
    moving, left = np.flatnonzero(~stays), np.flatnonzero(~taken)
    result = here.copy()
    # As many tasks of each class move as places of it are left; both in the order of the classes.
    result[moving[np.argsort(classes[moving], kind="stable")]] = there[left[np.argsort(classes[left], kind="stable")]]
    return result


def _numbered(keys: Ints) -> Ints:
    """Each key with a number that tells it from the equal ones before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    rank = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    numbered = np.empty_like(keys)
    numbered[order] = ordered * (len(keys) + 1) + rank
    return numbered


def chains_of(tail: Ints, head: Ints, gain: Sequence[int], spare: Mapping[int, int]) -> list[list[int]]:
    """The arcs (by their position) of each chain and cycle, in the order of the moves. Together they are all arcs.

    Parameters
    ----------
    tail, head
        int64, shape (arcs,): where each task is, and where it shall be.
    gain
        What each move gains by itself. It decides which move pushes which: at a place without room the move that gains
        most pushes the one that gains least.
    spare
        How many more tasks a place may hold than it does, here or there, whichever is more. So many chains end there
        without pushing on. Places that are not named have room for all.

    Examples
    --------
    One task goes from 0 to 1 and pushes another from 1 to 2. Where 1 has room these are two chains:

    >>> chains_of(np.array([0, 1]), np.array([1, 2]), [2, -1], {1: 0})
    [[0, 1]]
    >>> chains_of(np.array([0, 1]), np.array([1, 2]), [2, 1], {1: 1})
    [[0], [1]]
    """
    entering: dict[int, list[int]] = {}
    leaving: dict[int, list[int]] = {}
    tails, heads = tail.tolist(), head.tolist()
    for arc, (start, end) in enumerate(zip(tails, heads, strict=True)):
        leaving.setdefault(start, []).append(arc)
        entering.setdefault(end, []).append(arc)
    pushes = [-1] * len(tails)
    pushed = [False] * len(tails)
    for place, arrivals in entering.items():
        departures = leaving.get(place, ())
        both = min(len(arrivals), len(departures))
        pairs = both - min(spare.get(place, both), both)
        eager = sorted(arrivals, key=lambda arc: -gain[arc])[:pairs]
        for arc, other in zip(eager, sorted(departures, key=gain.__getitem__), strict=False):
            pushes[arc], pushed[other] = other, True
    chains: list[list[int]] = []
    seen = [False] * len(tails)
    begins = [arc for arc in range(len(tails)) if not pushed[arc]]
    for arc in (*begins, *range(len(tails))):
        if not seen[arc]:
            chains += _simple(arc, tails, heads, pushes, seen)
    return chains


def _simple(arc: int, tails: list[int], heads: list[int], pushes: list[int], seen: list[bool]) -> list[list[int]]:
    """The trail from an arc on, in parts none of which visits a place twice, but for where a cycle closes."""
    parts: list[list[int]] = []
    trail: list[int] = []
    at = {tails[arc]: 0}  # how many arcs of the trail lead to a place
    while arc >= 0 and not seen[arc]:
        seen[arc] = True
        trail.append(arc)
        place = heads[arc]
        if place in at:
            cycle = trail[at[place] :]
            del trail[at[place] :]
            for part in cycle[:-1]:
                del at[heads[part]]
            parts.append(cycle)
        else:
            at[place] = len(trail)
        arc = pushes[arc]
    if trail:
        parts.append(trail)
    return parts
