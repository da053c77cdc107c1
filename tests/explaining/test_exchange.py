"""The arithmetic of chains: every move in one of them, no place beyond its room, as many tasks kept as can be."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from optsched.explaining.exchange import alike_kept, chains_of


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, dict[int, int]]:
    """Random moves between a few places, and their spare room."""
    rng = np.random.default_rng(seed)
    moves, places = rng.integers(1, 9), rng.integers(2, 6)
    tail, head = rng.integers(0, places, (2, moves))
    differing = tail != head
    spare = {place: int(rng.integers(0, 3)) for place in range(places)}
    return tail[differing], head[differing], spare


@pytest.mark.parametrize("seed", range(60))
def test_any_chains_keep_within_the_room(seed: int) -> None:
    """Tests that all moves are in chains that lead on, and that no choice of them fills a place beyond its room."""
    tail, head, spare = drawn(seed)
    chains = chains_of(tail, head, [0] * len(tail), spare)
    assert sorted(arc for chain in chains for arc in chain) == list(range(len(tail)))
    for chain in chains:
        assert all(head[one] == tail[other] for one, other in pairwise(chain))
        visited = [tail[chain[0]], *head[chain]]
        assert len(set(visited[:-1])) == len(visited) - 1, "a chain visits a place twice"
    for number in range(len(chains) + 1):
        for chosen in combinations(chains, number):
            arcs = [arc for chain in chosen for arc in chain]
            for place, room in spare.items():
                grown = np.count_nonzero(head[arcs] == place) - np.count_nonzero(tail[arcs] == place)
                both = np.count_nonzero(head == place) - np.count_nonzero(tail == place)
                assert grown <= max(both, 0) + room


def test_without_limits_every_move_is_by_itself() -> None:
    """Tests that places which nobody names have room for all, so that nothing pushes anything."""
    assert chains_of(np.array([0, 1]), np.array([1, 0]), [0, 0], {}) == [[0], [1]]


def test_the_best_move_pushes_the_cheapest() -> None:
    """Tests that at a full place the move that gains most pushes the one that loses most."""
    tail, head = np.array([0, 0, 1, 1]), np.array([1, 1, 2, 2])
    assert chains_of(tail, head, [1, 5, -3, 0], {1: 0, 0: 0, 2: 0}) == [[0, 3], [1, 2]]


@pytest.mark.parametrize("seed", range(60))
def test_alike_tasks_stay(seed: int) -> None:
    """Tests that each class keeps its places, and that as many of its tasks stay as both placements allow."""
    rng = np.random.default_rng(seed)
    tasks = int(rng.integers(0, 12))
    classes, here, there = rng.integers(0, 3, tasks), rng.integers(-1, 4, tasks), rng.integers(-1, 4, tasks)
    kept = alike_kept(classes, here, there)
    assert sorted(zip(classes.tolist(), kept.tolist(), strict=True)) == sorted(
        zip(classes.tolist(), there.tolist(), strict=True)
    )
    most = sum(
        min(np.count_nonzero((classes == label) & (nodes == place)) for nodes in (here, there))
        for label in range(3)
        for place in range(-1, 4)
    )
    assert np.count_nonzero(kept == here) == most
