"""The loop of the matching that grows, on lists: the steps of the one to compile, and the clock looked at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from optsched.core.arrays import Ragged
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.solvers import growing_lists, growing_matching
from optsched.solvers.growing_kernels import grow
from optsched.solvers.growing_lists import grow_lists
from optsched.solvers.growing_matching import GrowingMatching


def test_lists_are_left_as_said() -> None:
    """Tests the lists that a loop leaves: the task placed in a chunk's room, nodes that reach nothing closed."""
    node, used, look = [-1], [0, 0], [0, 1]
    cover = grow_lists(
        [0, 1, 1], [0], 1, 3, 0, np.array([3, 3]), np.array([1, 1]), np.array([True, True]), node, used, look
    )
    assert (node, used, look, cover.tolist()) == ([0], [1, 0], [1, 1], [False, False])


@pytest.mark.parametrize("wanted", range(4))
def test_the_loop_to_compile_takes_the_same_steps(monkeypatch: pytest.MonkeyPatch, wanted: int) -> None:
    """Tests each growth of both loops, and growths by turns: tasks, covers and what is known of each node are equal."""
    monkeypatch.setattr(growing_matching, "COMPILED_PAIRS", 0)
    monkeypatch.setattr(growing_matching, "_compiled", lambda: grow)
    rng = np.random.default_rng(wanted)

    def by(compiled: bool) -> Callable[[GrowingMatching], GrowingMatching]:
        def grown(matching: GrowingMatching) -> GrowingMatching:
            monkeypatch.setattr(growing_matching, "compiles", lambda: compiled)
            return matching.grown(room, wanted)

        return grown

    for _ in range(60):
        nodes, tasks = int(rng.integers(1, 12)), int(rng.integers(0, 40))
        rows = [sorted(rng.choice(nodes, int(rng.integers(0, min(4, nodes) + 1)), replace=False)) for _ in range(tasks)]
        on, unit = Ragged.from_rows(rows).transposed(nodes), int(rng.integers(1, 4))
        empty = GrowingMatching.empty(on.starts, on.values, tasks, unit, unit + int(rng.integers(0, 5)))
        listed = compiled = turns = empty
        room = np.zeros(nodes, dtype=np.int64)
        for turn in range(4):
            room = room + rng.integers(0, 6, nodes)
            listed, compiled, turns = by(False)(listed), by(True)(compiled), by(turn % 2 == 0)(turns)
            for other in (compiled, turns):
                assert other.node.tolist() == listed.node.tolist()
                assert other.used.tolist() == listed.used.tolist()
                assert other.cover.tolist() == listed.cover.tolist()


def test_deadline_holds_within_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that searches that have reached so many nodes look at the deadline, and that it ends the loop."""
    monkeypatch.setattr(growing_lists, "_NODES", 1)
    count = 10
    on = Ragged.from_rows([*([node, node + 1] for node in range(count - 1)), [count - 1]])
    starts, tasks = on.starts.tolist(), on.values.tolist()
    room, chunks, cover = np.full(count, 2), np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
    with deadline(0), pytest.raises(OutOfTime):
        grow_lists(starts, tasks, 1, 5, 0, room, chunks, cover, [-1] * count, [0] * count, starts[:-1])
