"""Limits on numbers of tasks: just as strong as the limit on what they take, with small numbers."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from optsched.problems.counted_room import count_limits


@given(st.integers(0, 7), st.integers(0, 6), st.integers(0, 6), st.integers(-2, 45))
def test_limits_on_counts(size: int, near: int, more: int, most: int) -> None:
    """Tests that pairs of counts keep the limits on them just where they keep the one on what they cost."""
    limits = count_limits(size, near, near + more, most)
    for racked, elsewhere in itertools.product(range(size + 1), repeat=2):
        if racked + elsewhere <= size:
            kept = all(a * racked + b * elsewhere <= number for a, b, number in limits)
            assert kept == (near * racked + (near + more) * elsewhere <= most)


@given(st.integers(0, 12), st.integers(1, 2**52), st.integers(0, 2**52), st.integers(0, 2**53))
def test_limits_on_counts_are_small(size: int, near: int, more: int, most: int) -> None:
    """Tests that limits on counts have no numbers beyond the square of those of tasks, however large the costs are."""
    for a, b, number in count_limits(size, near, near + more, most):
        assert min(a, b, number) >= 0
        assert max(a, b) <= max(1, size)
        assert number <= max(1, size) ** 2
