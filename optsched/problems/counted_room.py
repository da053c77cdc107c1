"""Replaces resource limits by limits on numbers of tasks, with small coefficients, so that solvers stay exact.

A solver keeps whole numbers to a millionth, and refuses coefficients of 10^15. With costs or weights of a million it
takes what is beyond a limit for something within it. Small whole coefficients leave no doubt.
"""

from __future__ import annotations

import itertools

__all__ = ["count_limits"]


def count_limits(size: int, near: int, far: int, most: int) -> list[tuple[int, int, int]]:
    """Limits on how many of `size` tasks pay `near`, and how many `far`, so that they pay no more than `most` together.

    Each is (a, b, c) for a x near + b x far <= c, in numbers of tasks. Pairs of whole numbers keep them all just where
    they keep the limit on what is paid: they are the sides of the convex hull of these pairs. However large `near` and
    `far` are, a and b are no more than `size`.

    >>> count_limits(4, 2, 3, 7)
    [(1, 0, 3), (1, 1, 3), (1, 2, 4), (0, 1, 2)]
    """
    if most < 0:
        return [(0, 0, -1)]
    highest = min(size, most // far) if far else size
    pairs = [
        (min(size - count, (most - far * count) // near) if near else size - count, count)
        for count in range(highest + 1)
    ]
    hull: list[tuple[int, int]] = []
    for x, y in pairs:
        while len(hull) > 1 and (hull[-1][0] - hull[-2][0]) * (y - hull[-1][1]) <= (x - hull[-1][0]) * (
            hull[-1][1] - hull[-2][1]
        ):
            hull.pop()
        hull.append((x, y))
    sides = [(y - before_y, before_x - x) for (before_x, before_y), (x, y) in itertools.pairwise(hull)]
    limits = [(a, b, a * x + b * y) for (a, b), (x, y) in zip(sides, hull[1:], strict=True)]
    return [(1, 0, hull[0][0]), *limits, (0, 1, hull[-1][1])]
