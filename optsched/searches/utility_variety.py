"""More patterns for `utility` than column generation needs: many that are worth about as much, of different tasks.

The linear program takes few patterns, and whole numbers of these seldom add up to what jobs need. Where many patterns
are worth the same at its prices, a program over some hundreds of them mostly does. So patterns are drawn: each is the
best of a part of the items, whose worths are changed a little.
"""

from __future__ import annotations

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import Floats
from optsched.problems.knapsack import MOST_STATES
from optsched.searches.utility_patterns import Packing, Patterns, best_patterns

__all__ = ["vary"]

#: Patterns are drawn so many times at most, and only as long as the dynamic programs have so many entries together.
_DRAWS, _MOST_ENTRIES = 400, 2 * 10**8

#: The share of the items that a drawn pattern is made of, by how much their worths are changed at most, and what an
#: item counts that is worth nothing, of the largest worth.
_SHARE, _CHANGE, _FILLING = 0.6, 0.05, 0.005


def vary(packing: Packing, patterns: Patterns, worth: Floats, short: float) -> None:
    """Add patterns that are worth nearly as much as the best one of their type.

    Parameters
    ----------
    packing
        What is packed.
    patterns
        Grows.
    worth
        float64, shape (items, types): of one task. What is worth nothing, or less, fills what is left.
    short
        By how much a pattern may fall short of the best.
    """
    problem, items = packing.problem, packing.items
    types = len(problem.type_size)
    count, most = len(items.limit), np.minimum(problem.room.max(axis=0, initial=0), items.demand.T @ items.limit)
    states = min(float(np.prod(most + 1.0)), MOST_STATES)
    draws = int(min(_DRAWS, _MOST_ENTRIES / (states * max(count, 1))))
    rng = np.random.default_rng(0)
    best: dict[int, float] = {}
    for draw in range(draws):
        check()
        kind = draw % types
        room, own = problem.type_room[[kind]], worth[:, kind]
        if kind not in best:
            best[kind] = float(best_patterns(room, items, items.limit, own)[0][0])
        chance, change = rng.random(count), rng.random(count)
        filling = _FILLING * max(float(own.max(initial=0)), 1.0) * change
        changed = np.where(own > 0, own * (1 + _CHANGE * change), filling)
        pattern = best_patterns(room, items, items.limit, np.where(chance < _SHARE, changed, 0))[1][0]
        if best[kind] - float(own @ pattern) <= short:
            patterns.add(kind, pattern)
