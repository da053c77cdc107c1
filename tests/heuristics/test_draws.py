"""Draws of whole numbers that are those of numpy's generator."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from optsched.heuristics.draws import Draws

BITS = (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)


@pytest.mark.parametrize("bits", BITS)
def test_draws_are_those_of_the_generator(bits: type[np.random.BitGenerator]) -> None:
    """Tests that each draw is the generator's own, between others of it, also where some numbers are drawn again."""
    draws, rng, sizes = Draws(np.random.Generator(bits(3))), np.random.Generator(bits(3)), np.random.default_rng(0)
    often = [3 * 2**30, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 1, 2]  # a quarter of the first is drawn again
    for n in often * 40 + (2 ** sizes.uniform(0, 33, 2000)).astype(np.int64).tolist():
        assert draws.below(n) == rng.integers(n), n
        if n % 5 == 0:
            assert draws.rng.random() == rng.random()
    assert draws.rng.integers(2**63) == rng.integers(2**63)


def test_copies_draw_for_themselves() -> None:
    """Tests that a copy goes on where the draws are, and that neither changes what the other draws."""
    draws = Draws(np.random.default_rng(1))
    draws.below(10)
    ahead = [draws.rng.integers(10**6) for draws in [copy.deepcopy(draws)] for _ in range(5)]
    for other in (copy.deepcopy(draws), pickle.loads(pickle.dumps(draws))):
        assert [other.below(10**6) for _ in range(5)] == ahead
    assert [draws.below(10**6) for _ in range(5)] == ahead


def test_a_generator_of_another_class_draws_itself() -> None:
    """Tests that what a class of one's own makes of `integers` is what is drawn."""

    class Last(np.random.Generator):
        def integers(self, low: int, *_: object) -> int:  # type: ignore[override]
            return low - 1

    assert [Draws(Last(np.random.PCG64(0))).below(n) for n in (1, 5, 9)] == [0, 4, 8]
