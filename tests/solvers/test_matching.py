"""Maximum b-matchings against brute force and their own covers; however they grew; by lists and by arrays."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from engines import ints
from hypothesis import given
from hypothesis import strategies as st

from optsched.core.arrays import Ragged
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime, SolverDisagreement, UsageError
from optsched.instances.generate import generate
from optsched.problems import Latency
from optsched.solvers import matching
from optsched.solvers.matching import GrowingMatching, grow, maximum_b_matching


@st.composite
def bipartite(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Nodes that each of up to six tasks accepts, and capacities of up to four nodes."""
    nodes = draw(st.integers(0, 4))
    accepted = st.lists(st.integers(0, nodes - 1), unique=True) if nodes else st.just([])
    return draw(st.lists(accepted, max_size=6)), draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes))


@given(case=bipartite())
def test_b_matching(case: tuple[list[list[int]], list[int]]) -> None:
    """Tests that the matching is one, is as large as the best of all, and is proved by a cover."""
    accepted, capacity = case
    indptr = np.cumsum([0, *map(len, accepted)])
    indices = ints([node for nodes in accepted for node in nodes])
    matching = maximum_b_matching(indptr, indices, ints(capacity))
    assert matching.node.dtype == np.int64
    assert all(node == -1 or node in nodes for node, nodes in zip(matching.node.tolist(), accepted, strict=True))
    used = Counter(matching.node[matching.node >= 0].tolist())
    assert all(used[node] <= limit for node, limit in enumerate(capacity))
    best = max(
        sum(node is not None for node in choice)
        for choice in itertools.product(*[[None, *nodes] for nodes in accepted])
        if all(choice.count(node) <= limit for node, limit in enumerate(capacity))
    )
    assert matching.size == best
    for task, nodes in enumerate(accepted):
        assert matching.task_cover[task] or all(matching.node_cover[node] for node in nodes)
    assert matching.task_cover.sum() + ints(capacity)[matching.node_cover].sum() == best


def test_b_matching_of_huge_capacities() -> None:
    """Tests that capacities beyond 32 bits are clipped to the number of tasks, not wrapped."""
    matching = maximum_b_matching(ints([0, 1, 2]), ints([0, 0]), ints([2**40]))
    assert (matching.size, matching.task_cover.tolist(), matching.node_cover.tolist()) == (2, [True, True], [False])


@pytest.mark.parametrize("capacity", [[], [-1]])
def test_b_matching_of_wrong_capacities(capacity: list[int]) -> None:
    """Tests that too few or negative capacities are wrong usage."""
    with pytest.raises(UsageError, match="a capacity for each"):
        maximum_b_matching(ints([0, 1]), ints([0]), ints(capacity))


def test_b_matching_checks_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a matching that is not maximum would be noticed by its own cover."""
    by(monkeypatch, compiled=False)
    monkeypatch.setattr(matching, "grow", lambda *_: True)
    with pytest.raises(SolverDisagreement, match="not maximum"):
        maximum_b_matching(ints([0, 1]), ints([0]), ints([1]))


# Growing --------------------------------------------------------------------------------------------------------------


def drawn(rng: np.random.Generator, nodes: int, tasks: int, most: int) -> Ragged:
    """Up to `most` nodes that each task accepts."""
    rows = [rng.choice(nodes, int(rng.integers(0, min(most, nodes) + 1)), replace=False) for _ in range(tasks)]
    return Ragged.from_rows([sorted(row.tolist()) for row in rows])


def checked(grown: GrowingMatching, accepted: Ragged, room: np.ndarray) -> None:
    """The matching keeps its room, is on accepted nodes, weighs what its cover does, and is as large as any."""
    placed = np.flatnonzero(grown.node >= 0)
    assert all(grown.node[task] in accepted[task] for task in placed.tolist())
    used = np.bincount(grown.node[placed], minlength=len(room))
    assert used.tolist() == grown.used.tolist()
    assert (used * grown.unit <= room).all()
    capacity = room // grown.unit
    free = {task for task in range(len(accepted)) if not grown.cover[accepted[task]].all()}
    assert grown.size == len(placed) == len(free) + int(capacity[grown.cover].sum())
    other = maximum_b_matching(accepted.starts, accepted.values, capacity)
    assert other.size == grown.size


def test_it_is_maximum_after_every_growth() -> None:
    """Tests growth of room by steps, all at once and with nothing to match, for weights that do and do not divide."""
    rng = np.random.default_rng(0)
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
            grown = growing.grown(room)
            checked(grown, accepted, room)
            assert (growing.node == before).all()
            assert (grown.node[before >= 0] >= 0).all()
            assert grown.grown(room).node.tolist() == grown.node.tolist()
            growing = grown
        checked(empty.grown(room), accepted, room)
        assert empty.size == 0


def test_paths_are_followed_far() -> None:
    """Tests a path over every node: each task moves one node on, so that the one that is left finds room."""
    count = 2_000
    accepted = Ragged.from_rows([*([node, node + 1] for node in reversed(range(count - 1))), [0]])
    on = accepted.transposed(count)
    room = np.ones(count, dtype=np.int64)
    part = room.copy()
    part[-1] = 0
    first = GrowingMatching.empty(on.starts, on.values, count, 1, 5).grown(part)
    assert np.flatnonzero(first.node < 0).tolist() == [count - 1]
    checked(first.grown(room), accepted, room)


def test_deadline_holds_within() -> None:
    """Tests that a deadline that is past ends the search, and leaves the matching that it grew from as it was."""
    accepted = drawn(np.random.default_rng(0), 20, 60, 3)
    on = accepted.transposed(20)
    empty = GrowingMatching.empty(on.starts, on.values, 60, 1, 3)
    with deadline(0), pytest.raises(OutOfTime):
        empty.grown(np.full(20, 4))
    assert empty.size == 0


def by(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    """Have the loop run on arrays, as what numba compiles does, or on lists."""
    monkeypatch.setattr(matching, "COMPILED_PAIRS", 0)
    monkeypatch.setattr(matching, "compiles", lambda: compiled)
    monkeypatch.setattr(matching, "_compiled", lambda: grow)


@pytest.mark.parametrize("seed", range(4))
def test_arrays_and_lists_take_the_same_steps(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Tests each growth of both, and growths by turns: tasks, covers and what is known of each node are equal."""
    rng = np.random.default_rng(seed)

    def grown(growing: GrowingMatching, compiled: bool) -> GrowingMatching:
        by(monkeypatch, compiled)
        return growing.grown(room)

    for _ in range(30):
        nodes, tasks = int(rng.integers(1, 12)), int(rng.integers(0, 40))
        on, unit = drawn(rng, nodes, tasks, 4).transposed(nodes), int(rng.integers(1, 4))
        empty = GrowingMatching.empty(on.starts, on.values, tasks, unit, unit + int(rng.integers(0, 5)))
        listed = arrays = turns = empty
        room = np.zeros(nodes, dtype=np.int64)
        for turn in range(4):
            room = room + rng.integers(0, 6, nodes)
            listed, arrays, turns = grown(listed, False), grown(arrays, True), grown(turns, turn % 2 == 0)
            for other in (arrays, turns):
                assert other.node.tolist() == listed.node.tolist()
                assert other.used.tolist() == listed.used.tolist()
                assert other.cover.tolist() == listed.cover.tolist()


@pytest.mark.thorough
def test_compiled_and_plain_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that numba's loop gives every task the node that the same loop in Python gives it, limit after limit."""
    pytest.importorskip("numba")
    monkeypatch.setattr(matching, "COMPILED_PAIRS", 0)
    for seed in range(20):
        problem = Latency(generate("latency", seed=seed, nodes=60, tasks=130, replicas=3))
        on = problem.replicas.transposed(60, problem.replicas.lengths)
        empty = GrowingMatching.empty(on.starts, on.values, len(problem.tasks), 1, 3)
        held: list[list[list[int]]] = []
        for compiles in (True, False):
            monkeypatch.setattr(matching, "compiles", lambda compiles=compiles: compiles)
            growing, nodes = empty, []
            for limit in range(3, 9):
                growing = growing.grown(problem.room(limit))
                nodes.append(growing.node.tolist())
            held.append(nodes)
        assert held[0] == held[1]


def test_loads_too_large_for_short_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the arrays of the loop are long where rooms are, with the same matching."""
    by(monkeypatch, compiled=True)
    kinds: list[str] = []

    def plain(*asked: Any) -> bool:
        kinds.append(str(asked[4].dtype))
        return grow(*asked)

    monkeypatch.setattr(matching, "_compiled", lambda: plain)
    on = Ragged.from_rows([[0, 1, 2], [0, 1]])
    for scale in (1, 2**40):
        empty = GrowingMatching.empty(on.starts, on.values, 3, scale, 3 * scale)
        once = empty.grown(scale * np.array([1, 1]))
        assert (once.size, once.grown(scale * np.array([2, 2])).node.tolist()) == (2, [0, 1, 0])
    assert (kinds[0], kinds[-1]) == ("int32", "int64")


@pytest.mark.parametrize("compiled", [True, False])
def test_steps_are_bounded(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    """Tests that the loop comes back after a few steps for a look at the clock, and gives the same however often."""
    accepted = drawn(np.random.default_rng(1), 20, 60, 3)
    on = accepted.transposed(20)
    empty, room = GrowingMatching.empty(on.starts, on.values, 60, 1, 3), np.full(20, 4)
    whole = empty.grown(room)
    looks: list[None] = []
    by(monkeypatch, compiled)
    monkeypatch.setattr(matching, "check", lambda: looks.append(None))
    monkeypatch.setattr(matching, "_STEPS", 1)
    monkeypatch.setattr(matching, "_STEPS_ON_LISTS", 1)
    assert empty.grown(room).node.tolist() == whole.node.tolist()
    assert len(looks) > 20
