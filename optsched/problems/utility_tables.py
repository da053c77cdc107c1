"""Utilities of a job's maps and reduces: (7) of Sharmilarani et al., and the estimate behind them.

These are plain functions of counts, tabulated from none to all of the pending tasks; `-inf` is minus infinity here.
`optsched.problems.utility` rounds to the grid, and has the finite number that stands for minus infinity.

(7) divides by zero in several places, and its logarithm of no task at all is minus infinity. There it is read so:

- no map pending: the maps are worth 1, as where all of them are served;
- required 0 (no goal, or nothing to do): the first branch alone holds;
- required 1: the second branch holds for no map at all only, which is minus infinity;
- required = pending = allocated: 1, not 0/0: the job is saturated;
- required > pending (the goal is out of reach): the second branch throughout, below 0;
- no reduce pending: the reduces are worth 0; one pending: 0 with it, minus infinity without.
"""

from __future__ import annotations

import math

from optsched.core.arrays import LARGEST
from optsched.core.decimals import decimal

__all__ = ["map_table", "reduce_table", "required_maps"]


def required_maps(pending: int, map_time: float, goal: float, now: float) -> int:
    """How many maps a job must run at once to meet its goal (s_req; Sharmilarani et al., section III.G).

    The pending maps run in waves of that many, each as long as a mean map. They end in time if the time left is a whole
    number of maps, else perhaps a wave later (`sharmilarani/3-required-maps`). Numbers count as the
    decimals that they are written as, so that 10 maps of 0.1 s within 1 s need one at a time.

    Parameters
    ----------
    pending
        Pending maps (s_pend).
    map_time
        Mean length of a map in seconds (mu_j).
    goal
        Instant of the completion goal in seconds (T_goal), NaN where there is none: nothing is required.
    now
        Instant of the decision. A goal that has passed requires every pending map at once.

    Returns
    -------
    int
        At most 2^53, however short the time that is left.

    Examples
    --------
    >>> required_maps(10, 30, 130, 50), required_maps(10, 30, 40, 50), required_maps(10, 30, math.nan, 50)
    (4, 10, 0)
    """
    if not pending or math.isnan(goal):
        return 0
    if goal <= now:
        return pending
    at_once = math.ceil(pending * decimal(map_time) / (decimal(goal) - decimal(now)))
    return min(at_once, LARGEST)


def map_table(required: int, pending: int, smoothed: bool = False) -> list[float]:
    """Worth of 0, 1, ..., `pending` maps (u^M; Sharmilarani et al., (7) with the edge rules above); not decreasing.

    Parameters
    ----------
    required, pending
        s_req and s_pend.
    smoothed
        Logarithms are of one more than the counts, so that no map at all is worth -1 and not minus infinity.

    Examples
    --------
    >>> [round(worth, 4) for worth in map_table(4, 10)]
    [-inf, -1.0, -0.5, -0.2075, 0.0, 0.1667, 0.3333, 0.5, 0.6667, 0.8333, 1.0]
    """

    def worth(count: int) -> float:
        if count >= required:
            return 1.0 if count == pending else (count - required) / (pending - required)
        return _logarithmic(count, required, smoothed)

    return [worth(count) for count in range(pending + 1)]


def reduce_table(pending: int, smoothed: bool = False) -> list[float]:
    """Worth of 0, 1, ..., `pending` reduces (u^R; Sharmilarani et al., (7) with the edge rules above); not decreasing.

    Examples
    --------
    >>> [round(worth, 4) for worth in reduce_table(5)]
    [-inf, -1.0, -0.5693, -0.3174, -0.1386, 0.0]
    """
    return [_logarithmic(count, pending, smoothed) for count in range(pending + 1)]


def _logarithmic(count: int, full: int, smoothed: bool) -> float:
    """log(count)/log(full) - 1, which is 0 where `count` is `full`."""
    if count == full:
        return 0.0
    if smoothed:
        return math.log(1 + count) / math.log(1 + full) - 1
    return math.log(count) / math.log(full) - 1 if count else -math.inf
