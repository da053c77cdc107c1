"""The loop of the matching that grows: compiled and as plain Python it takes the same steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optsched.core.arrays import Ragged
from optsched.instances.generate import generate
from optsched.problems import Latency
from optsched.solvers import growing_matching
from optsched.solvers.growing_kernels import CLOSED, STATE, WANTED, grow
from optsched.solvers.growing_matching import GrowingMatching


def test_one_task_on_one_node() -> None:
    """Tests the arrays that one round of the loop leaves: the task placed, and a node that reaches nothing closed."""
    starts, tasks = np.array([0, 1, 1]), np.array([0])
    node, used, look = np.array([-1]), np.zeros(2, dtype=np.int64), np.array([0, 1])
    mark, queue, parent, via = np.zeros((4, 2), dtype=np.int64)
    state = np.zeros(STATE, dtype=np.int64)
    state[WANTED] = -1
    room, chunks = np.array([1, 1]), np.zeros(2, dtype=np.int64)
    arrays = room, chunks, node, used, look, mark, queue, parent, via, state
    assert not grow(starts, tasks, 1, 3, 0, *arrays, 0)
    assert grow(starts, tasks, 1, 3, 0, *arrays, 100)
    assert (node.tolist(), used.tolist(), (mark == CLOSED).tolist()) == ([0], [1, 0], [False, True])


@pytest.mark.thorough
def test_compiled_and_plain_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that numba's loop gives every task the node that the same loop in Python gives it, limit after limit."""
    pytest.importorskip("numba")
    for seed in range(20):
        problem = Latency(generate("latency", seed=seed, nodes=60, tasks=130, replicas=3))
        on = problem.tasks_by_choice
        empty = GrowingMatching.empty(on.starts, on.values, len(problem.tasks), 1, 3)
        held: list[list[list[int]]] = []
        for compiles in (True, False):
            monkeypatch.setattr(growing_matching, "COMPILED_PAIRS", 0)
            monkeypatch.setattr(growing_matching, "compiles", lambda compiles=compiles: compiles)
            growing, nodes = empty, []
            for limit in range(3, 9):
                growing = growing.grown(problem.room(limit), wanted=seed % 4)
                nodes.append(growing.node.tolist())
            held.append(nodes)
        assert held[0] == held[1]


def test_loads_too_large_for_short_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the arrays of a loop that is compiled are long where rooms are, with the same matching."""
    monkeypatch.setattr(growing_matching, "COMPILED_PAIRS", 0)
    monkeypatch.setattr(growing_matching, "compiles", lambda: True)
    kinds: list[str] = []

    def plain(*asked: Any) -> bool:
        kinds.append(str(asked[5].dtype))
        return grow(*asked)

    monkeypatch.setattr(growing_matching, "_compiled", lambda: plain)
    on = Ragged.from_rows([[0, 1, 2], [0, 1]])
    for scale in (1, 2**40):
        empty = GrowingMatching.empty(on.starts, on.values, 3, scale, 3 * scale)
        once = empty.grown(scale * np.array([1, 1]))
        assert (once.size, once.grown(scale * np.array([2, 2])).node.tolist()) == (2, [0, 1, 0])
    assert (kinds[0], kinds[-1]) == ("int32", "int64")
