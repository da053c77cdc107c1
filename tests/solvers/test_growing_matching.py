"""The matching that grows: as large as any, with its cover, however it grew; chunks left; and the deadline."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.core.arrays import Ragged
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.solvers import growing_matching
from optsched.solvers.growing_kernels import grow
from optsched.solvers.growing_matching import GrowingMatching
from optsched.solvers.networks import maximum_b_matching


def drawn(rng: np.random.Generator, nodes: int, tasks: int, most: int) -> Ragged:
    """Up to `most` nodes that each task accepts."""
    rows = [rng.choice(nodes, int(rng.integers(0, min(most, nodes) + 1)), replace=False) for _ in range(tasks)]
    return Ragged.from_rows([sorted(row.tolist()) for row in rows])


def checked(matching: GrowingMatching, accepted: Ragged, room: np.ndarray) -> None:
    """The matching keeps its room, is on accepted nodes, weighs what its cover does, and is as large as SciPy's."""
    placed = np.flatnonzero(matching.node >= 0)
    assert all(matching.node[task] in accepted[task] for task in placed.tolist())
    used = np.bincount(matching.node[placed], minlength=len(room))
    assert used.tolist() == matching.used.tolist()
    assert (used * matching.unit <= room).all()
    capacity = room // matching.unit
    free = {task for task in range(len(accepted)) if not matching.cover[accepted[task]].all()}
    assert matching.size == len(placed) == len(free) + int(capacity[matching.cover].sum())
    other = maximum_b_matching(accepted.starts, accepted.values, capacity, len(room))
    assert other.size == matching.size


@pytest.mark.parametrize("wanted", [0, 3])
def test_it_is_maximum_after_every_growth(wanted: int) -> None:
    """Tests growth of room by steps, all at once and with nothing to match, for weights that do and do not divide."""
    rng = np.random.default_rng(wanted)
    for _ in range(150):
        nodes, tasks = int(rng.integers(1, 9)), int(rng.integers(0, 25))
        accepted = drawn(rng, nodes, tasks, 3)
        on = accepted.transposed(nodes)
        unit = int(rng.integers(1, 4))
        empty = GrowingMatching.empty(on.starts, on.values, tasks, unit, unit + int(rng.integers(0, 5)))
        growing, room = empty, np.zeros(nodes, dtype=np.int64)
        for _ in range(4):
            room = room + rng.integers(0, 6, nodes)
            before = growing.node.copy()
            grown = growing.grown(room, wanted)
            checked(grown, accepted, room)
            assert (growing.node == before).all()
            assert (grown.node[before >= 0] >= 0).all()
            assert grown.grown(room, wanted).node.tolist() == grown.node.tolist()
            growing = grown
        checked(empty.grown(room, wanted), accepted, room)
        assert empty.size == 0


def test_chunks_are_opened_where_most_want_them() -> None:
    """Tests that one node with three tasks that want it opens its chunk, rather than three nodes for one task each."""
    accepted = Ragged.from_rows([[0, 3], [1, 3], [2, 3]])
    on, room = accepted.transposed(4), np.full(4, 3)
    empty = GrowingMatching.empty(on.starts, on.values, 3, unit=1, chunk=3)
    assert sorted(empty.grown(room, wanted=3).node.tolist()) == [3, 3, 3]
    assert sorted(empty.grown(room).node.tolist()) == [0, 1, 2]


def test_paths_are_followed_far() -> None:
    """Tests a path over every node: each task moves one node on, so that the last one finds room."""
    count = 300
    accepted = Ragged.from_rows([[0], *([node, node + 1] for node in range(count - 1))])
    on = accepted.transposed(count)
    room = np.ones(count, dtype=np.int64)
    part = room.copy()
    part[-1] = 0
    first = GrowingMatching.empty(on.starts, on.values, count, 1, 5).grown(part)
    assert first.size == count - 1
    checked(first.grown(room), accepted, room)


def test_deadline_holds_within() -> None:
    """Tests that a deadline that is past ends the search, and leaves the matching that it grew from as it was."""
    accepted = drawn(np.random.default_rng(0), 20, 60, 3)
    on = accepted.transposed(20)
    empty = GrowingMatching.empty(on.starts, on.values, 60, 1, 3)
    with deadline(0), pytest.raises(OutOfTime):
        empty.grown(np.full(20, 4))
    assert empty.size == 0


def test_steps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the loop to compile comes back after a few steps, and gives the same however often it does."""
    accepted = drawn(np.random.default_rng(1), 20, 60, 3)
    on = accepted.transposed(20)
    empty, room = GrowingMatching.empty(on.starts, on.values, 60, 1, 3), np.full(20, 4)
    whole = empty.grown(room, 3)
    looks: list[None] = []
    monkeypatch.setattr(growing_matching, "check", lambda: looks.append(None))
    monkeypatch.setattr(growing_matching, "_STEPS", 1)
    monkeypatch.setattr(growing_matching, "COMPILED_PAIRS", 0)
    monkeypatch.setattr(growing_matching, "compiles", lambda: True)
    monkeypatch.setattr(growing_matching, "_compiled", lambda: grow)
    assert empty.grown(room, 3).node.tolist() == whole.node.tolist()
    assert len(looks) > 20
