"""Whole numbers at random, one at a time: those that numpy's generator draws, without its cost of a call for arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Draws"]

#: One more than the largest number of 32 bits.
_ALL = 2**32


class Draws:
    """Draws from a generator, each as the generator itself would have drawn it, so that other draws may come between.

    Attributes
    ----------
    rng
        The generator.
    below
        Called with a number n, 1 or more: what `rng.integers(n)` would be, and the generator is afterwards where that
        would have left it.

    References
    ----------
    Lemire, Fast random integer generation in an interval, ACM Transactions on Modeling and Computer Simulation, 2019.

    Examples
    --------
    >>> draws, rng = Draws(np.random.default_rng(5)), np.random.default_rng(5)
    >>> [draws.below(n) for n in (10, 1, 7, 10**6)] == [int(rng.integers(n)) for n in (10, 1, 7, 10**6)]
    True
    """

    __slots__ = ("below", "rng")

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.below = _below(rng)

    def __reduce__(self) -> tuple[Any, ...]:
        return Draws, (self.rng,)


def _below(rng: np.random.Generator) -> Callable[[int], int]:
    """The generator's 32 bits at a time, made whole numbers below n as numpy does it."""
    if type(rng) is not np.random.Generator:  # one of another class may draw otherwise
        return lambda n: int(rng.integers(n))
    source = rng.bit_generator.ctypes
    bits, state = source.next_uint32, source.state

    def below(n: int) -> int:
        if n == 1:
            return 0
        if n > _ALL:
            return int(rng.integers(n))
        drawn = bits(state) * n
        if drawn % _ALL < n:
            uneven = _ALL % n
            while drawn % _ALL < uneven:
                drawn = bits(state) * n
        return int(drawn >> 32)

    return below
