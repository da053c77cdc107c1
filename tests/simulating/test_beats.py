"""Heartbeats: when they are, and which are passed over."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optsched.simulating.beats import Beats


@given(nodes=st.integers(1, 9), interval=st.integers(1, 40), begin=st.integers(-50, 50), now=st.integers(0, 200))
def test_times_of_heartbeats(nodes: int, interval: int, begin: int, now: int) -> None:
    """Tests that each node beats once an interval, and that the first from and the last by a time are those."""
    beats = Beats(nodes, interval, begin, np.random.default_rng(0))
    now += begin
    times = [beats.time(number) for number in range(nodes * (200 // interval + 3))]
    assert times == sorted(times)
    assert sorted(beats.node(number) for number in range(nodes)) == list(range(nodes))
    assert all(later - time == interval for time, later in zip(times, times[nodes:], strict=False))
    assert beats.first_from(now) == sum(time < now for time in times)
    last = beats.last_by(now).tolist()
    for node in range(nodes):
        own = [time for number, time in enumerate(times) if beats.node(number) == node and time <= now]
        assert last[node] == max(own, default=begin)


@given(
    marks=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.booleans()), max_size=12),
    refused=st.lists(st.booleans(), min_size=5, max_size=5),
    at=st.integers(0, 12),
)
def test_the_next_heartbeat_is_the_first_that_is_asked(
    marks: list[tuple[int, int, bool]], refused: list[bool], at: int
) -> None:
    """Tests the next heartbeat against a walk over all, with nodes opened and closed, and some that refuse."""
    beats = Beats(5, 50, 0, np.random.default_rng(1))
    opened: list[set[int]] = [set(), set()]
    for kind, node, open_ in marks:
        beats.open(kind, node, open_)
        (opened[kind].add if open_ else opened[kind].discard)(node)
    beats.ask(0, np.array(refused))
    asked = [{node for node in opened[0] if not refused[node]}, opened[1]]
    assert all((kind in beats.kinds(node)) == (node in asked[kind]) for kind in (0, 1) for node in range(5))
    for kinds in ((0,), (1,), (0, 1)):
        among = set().union(*(asked[kind] for kind in kinds))
        beats.at = at
        walk = [number for number in range(at, at + 5) if beats.node(number) in among]
        assert beats.next(kinds, 0) == (walk[0] if walk else None)
    beats.ask(0, None)
    assert all((0 in beats.kinds(node)) == (node in opened[0]) for node in range(5))
