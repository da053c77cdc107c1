"""What a reduce takes while it shuffles, in proportion to its job's placed maps (Sharmilarani et al., section III.J).

A reduce takes `least` without a map of its job, `most` beside all of its s pending maps, and the share n / s of the
difference more beside n of them. Amounts are whole units of 1/`demand_grid`, so the unit is divided until all these
shares are whole; where that would be too fine, shares are rounded up, and nothing placed overloads a tracker.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd, lcm

import numpy as np

from optsched.arrays import LARGEST, Ints
from optsched.decimals import FINEST

__all__ = ["grown", "parts_of_unit"]


def parts_of_unit(grid: int, growths: Iterable[tuple[int, int]], total: int) -> int:
    """Into how many parts the unit 1/`grid` of a resource is divided, so that what reduces take is whole.

    Parameters
    ----------
    grid
        The common denominator of the demands.
    growths
        For each job that has both kinds pending: what a reduce takes more beside all maps, in units, and how many these
        are.
    total
        The most that may come together on one node, in units.

    Returns
    -------
    int
        The least number with which all shares are whole. Where the denominator would be above 2^20, or the total above
        2^53, the highest power of two that keeps to both: then shares are rounded.

    Examples
    --------
    Growing by 4 units beside 6 maps goes in steps of 2/3 of a unit:

    >>> parts_of_unit(10, [(4, 6), (5, 5)], 100)
    3
    >>> parts_of_unit(10, [(1, prime) for prime in (97, 89, 83, 79)], 100) == 2**16
    True
    """
    finest = min(FINEST // grid, LARGEST // max(total, 1))
    parts = 1
    for growth, maps in growths:
        parts = lcm(parts, maps // gcd(maps, growth))
        if parts > finest:
            return 1 << max(finest, 1).bit_length() - 1
    return parts


def grown(growth: Ints, maps: int) -> Ints:
    """What a reduce takes more beside 0, 1, ... of `maps` maps, rounded up; int64, shape (maps + 1, resources).

    Parameters
    ----------
    growth
        int64, shape (resources,): what it takes more beside all of them; 0 where there are none.

    Examples
    --------
    >>> grown(np.array([4, 5]), 3).tolist()
    [[0, 0], [2, 2], [3, 4], [4, 5]]
    """
    placed, every = np.arange(maps + 1)[:, None], max(maps, 1)
    # growth x placed may be past int64: the whole part and the rest of each step are added up apart.
    table: Ints = growth // every * placed - (-(growth % every * placed) // every)
    return table
