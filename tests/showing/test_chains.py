"""Tests for pictures of what a gap is made of: paths of moves with their gains."""

from __future__ import annotations

from typing import Any

import pytest
from pictured import outside, texts

import optsched
from optsched.measuring.explaining import Explanation
from optsched.measuring.explaining.explanation import Move
from optsched.showing.chains import chains_picture, links
from optsched.showing.figures import picture


def move(task: str, here: str | None, there: str | None) -> Move:
    """A move of which nothing more is known."""
    return Move(task, here, there, None, None, None, None)


def test_links() -> None:
    """Tests that a move goes on from the place that it frees for the one before, and waiting begins a new path."""
    path = links([move("t1", "a", "b"), move("t2", "b", "c"), move("t3", "x", None), move("t4", None, "a")])
    assert [(start, one.task, end) for start, one, end in path] == [
        ("a", "t1", "b"),
        (None, "t2", "c"),
        ("x", "t3", "waiting"),
        ("waiting", "t4", "a"),
    ]


@pytest.fixture(scope="module")
def found() -> Explanation:
    """Cycles, and chains from waiting to waiting."""
    return optsched.explain(optsched.problem("lsap", "generated/lsap-n20-t15-seed0"), "rand", seed=2)


def test_every_chain_is_drawn(found: Explanation) -> None:
    """Tests that each chain has its gain, an arrow a move with what it pays, a box a place, and that they add up."""
    figure = chains_picture(found)
    axes = figure.axes[0]
    shown = [text.get_text() for text in axes.texts]
    headings = [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"]
    assert headings == [
        f"{rank}. {chain.gain[0]} less locality-cost" + (" (a cycle)" if found.moves(chain)[-1].there else "")
        for rank, chain in enumerate(found.chains, 1)
    ]
    moves = [one for chain in found.chains for one in found.moves(chain)]
    assert all(one.task in shown for one in moves)
    assert sum(text.startswith(("pays", "paid")) for text in shown) == len(moves) == found.moved
    assert len(axes.patches) == len(moves) + len(found.chains), "a box for each arrow's tip, and one at each beginning"
    assert shown[-1] == "Together: 8 less locality-cost, which is the gap."
    assert outside(figure) == []
    assert picture(figure) == picture(chains_picture(found))


def test_most(found: Explanation) -> None:
    """Tests that of more chains than wanted the rest is told with what it gains."""
    shown = texts(chains_picture(found, most=1))
    assert [text for text in shown if text.startswith("and ")] == [
        "and 2 more lines of 7 moves: together 5 less locality-cost"
    ]


def test_moves_one_after_another() -> None:
    """Tests lines that are made after the ones above, with several components."""
    ordered = optsched.explain(optsched.problem("latency", "papers/fsy-not-optimal"), "round-robin")
    shown = texts(chains_picture(ordered))
    assert {"1. 2 less work", "2. 1 less makespan after the lines above"} <= set(shown)


def test_long_chains_and_names() -> None:
    """Tests that a long chain is broken into lines, and that what long names share is told once."""
    size = 30
    nodes = [f"node{number:02d}.rack.example.org" for number in range(size)]
    document = {
        "format": "optsched/1",
        "nodes": [{"id": name} for name in nodes],
        "tasks": [{"id": f"task_{number:02d}", "replicas": [nodes[(number + 1) % size]]} for number in range(size)],
    }
    problem: Any = optsched.problem("lsap", document)
    figure = chains_picture(optsched.explain(problem, list(range(size)), worth=0))
    shown = texts(figure)
    assert any("6 more moves not drawn" in text for text in shown)
    assert any(text.startswith("nodes begin with node, end in .rack.example.org") for text in shown)
    assert figure.get_figwidth() < 11
    assert outside(figure) == []


def test_no_gap_and_infeasible() -> None:
    """Tests that where nothing moves the words are the picture."""
    problem = optsched.problem("lsap", "papers/guo-fig2")
    assert "There is no gap" in " ".join(texts(chains_picture(optsched.explain(problem, "lsap-sched"))))
    pairs = {"cost": [[1], [1]], "demand": {"c": [[1], [1]]}}
    crowded: dict[str, Any] = {"format": "optsched/1", "nodes": [{"id": "n1", "capacity": {"c": 1}}], "pairs": pairs}
    crowded["tasks"] = [{"id": "a"}, {"id": "b"}]
    found = optsched.explain(optsched.problem("generalized-assignment", crowded))
    told = " ".join(texts(chains_picture(found)))
    assert "no placement is feasible" in told
    assert "a, b" in told
