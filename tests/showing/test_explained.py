"""Tests for pictures of what gaps are made of: paths of moves with their gains, and parts of a gap over time."""

from fractions import Fraction
from typing import Any

import pytest
from pictured import outside, texts

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.results import Proof
from optsched.measuring.decomposing import PARTS, Decomposition, Decompositions, Replays
from optsched.measuring.explaining import Explanation
from optsched.measuring.explaining.explanation import Move
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.showing.explained import chains_picture, decomposition_picture, decompositions_picture, links
from optsched.showing.figures import picture


def move(task: str, here: str | None, there: str | None) -> Move:
    """A move of which nothing more is known."""
    return Move(task, here, there, None, None, None, None)


def one_task(**more: Any) -> Makespan:
    """A task of a second on a node."""
    return Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[1]), **more))


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
    drawn = figure.axes[0].texts
    shown = [text.get_text() for text in drawn]
    headings = [text.get_text() for text in drawn if text.get_fontweight() == "bold"]
    assert headings == [
        f"{rank}. {chain.gain[0]} less locality-cost" + (" (a cycle)" if found.moves(chain)[-1].there else "")
        for rank, chain in enumerate(found.chains, 1)
    ]
    moves = [one for chain in found.chains for one in found.moves(chain)]
    assert all(one.task in shown for one in moves)
    assert sum(text.startswith(("pays", "paid")) for text in shown) == len(moves) == found.moved
    assert sum(getattr(text, "arrow_patch", None) is not None for text in drawn) == len(moves)
    boxes = sum(text.get_bbox_patch() is not None for text in drawn)
    assert boxes >= len(moves) + len(found.chains), "a box for each arrow's tip, and one at each beginning"
    assert shown[-1] == "Together: 8 less locality-cost, which is the gap."
    assert outside(figure) == []
    assert picture(figure) == picture(chains_picture(found))


def test_most(found: Explanation) -> None:
    """Tests that of more chains than wanted the rest is reported with what it gains."""
    shown = texts(chains_picture(found, most=1))
    left = found.chains[1:]
    moves, gain = sum(len(chain.positions) for chain in left), sum(chain.gain[0] for chain in left)
    message = f"and {len(left)} more lines of {moves} moves: together {gain} less locality-cost"
    assert [text for text in shown if text.startswith("and ")] == [message]


def test_moves_one_after_another() -> None:
    """Tests lines that are made after the ones above, with several components."""
    ordered = optsched.explain(optsched.problem("latency", "papers/fsy-not-optimal"), "round-robin")
    assert {"1. 2 less work", "2. 1 less makespan after the lines above"} <= set(texts(chains_picture(ordered)))


def test_long_chains_and_names() -> None:
    """Tests that a long chain is broken into lines, and that what long names share is reported once."""
    nodes = [f"node{number:02d}.rack.example.org" for number in range(30)]
    tasks = [{"id": f"task_{at:02d}", "replicas": [nodes[(at + 1) % 30]]} for at in range(30)]
    document = {"format": "optsched/1", "nodes": [{"id": name} for name in nodes], "tasks": tasks}
    figure = chains_picture(optsched.explain(optsched.problem("lsap", document), list(range(30)), worth=0))
    shown = texts(figure)
    assert any("6 more moves not drawn" in text for text in shown)
    assert any(text.startswith("nodes begin with node, end in .rack.example.org") for text in shown)
    assert figure.get_figwidth() < 11
    assert outside(figure) == []


def test_no_gap_and_infeasible() -> None:
    """Tests that where nothing moves the words are the picture."""
    problem = optsched.problem("lsap", "papers/guo-fig2")
    assert "There is no gap" in " ".join(texts(chains_picture(optsched.explain(problem, "lsap-sched"))))
    crowded: dict[str, Any] = {"format": "optsched/1", "nodes": [{"id": "n1", "capacity": {"c": 1}}]}
    crowded |= {"tasks": [{"id": "a"}, {"id": "b"}], "pairs": {"cost": [[1], [1]], "demand": {"c": [[1], [1]]}}}
    found = optsched.explain(optsched.problem("generalized-assignment", crowded))
    text = " ".join(texts(chains_picture(found)))
    assert "no placement is feasible" in text
    assert "a, b" in text


def test_bars_add_up() -> None:
    """Tests that bars go from the policy to the bound, back where a part is negative, each with its seconds."""
    runs = (Replays(0, 11, 10, 12, 9, "arrival"),)
    found = Decomposition(one_task(name="one $x_y$"), "fair", runs, 8, 7, Fraction(13, 2), Proof.DUAL)
    axes = decomposition_picture(found).axes[0]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    assert bars == [(11, 10), (10, 12), (12, 9), (9, 8), (8, 7), (7, 6.5)]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(PARTS)
    assert [text.get_text() for text in axes.texts] == ["1 s", "-2 s", "3 s", "1 s", "1 s", "0.5 s"]
    assert "one $x_y$" in axes.figure.get_suptitle()


def test_nothing_proved() -> None:
    """Tests that what is not known has no bar, and that stacks then begin at the best schedule found."""
    found = Decomposition(one_task(), "fair", (Replays(0, 40_000, 2, 2, 2, "policy"),), 2, 2, None, None)
    assert len(decomposition_picture(found).axes[0].patches) == len(PARTS) - 1
    assert found.frame()["share"].isna().all()
    axes = decompositions_picture([found]).axes[0]
    assert axes.get_xlabel() == "makespan above the best schedule found, of 2 s (s)"
    assert [text.get_text() for text in axes.texts] == ["39,998 s"], "large times have no powers"


def test_stacks_of_several() -> None:
    """Tests a stack for each policy, from the bound up to the policy, a part below 0 going back within it, hatched."""
    problem = JobTimes(Instance(Cluster(["a"]), Workload(["t", "u"], duration=[1, 2]), name="two $x_y$"))
    ends = (8, 7, Fraction(13, 2), Proof.DUAL)
    rand = Decomposition(problem, "rand", (Replays(0, 11, 10, 12, 9, "fair"),), *ends)
    fair = Decomposition(problem, "fair", (Replays(0, 9, 9, 9, 9, "policy"),), *ends, {"delay": 0})
    figure = decompositions_picture([rand, fair])
    axes = figure.axes[0]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height() > 0.5) for bar in axes.patches]
    steps = [(0, 0.5, True), (0.5, 1.5, True), (1.5, 2.5, True)]
    assert bars[:6] == [*steps, (2.5, 5.5, True), (5.5, 3.5, False), (3.5, 4.5, True)]
    assert bars[6:9] == steps
    assert [text.get_text() for text in axes.texts] == ["4.5 s", "2.5 s"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["rand", "fair,delay=0"]
    assert axes.get_xlabel() == "sum of 2 job times above the bound of 6.5 s (s)"
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert keys == ["waits for offers", "placement", "placement, less than nothing", *list(PARTS)[2:]]
    assert "two $x_y$" in figure.get_suptitle()
    drawn = optsched.draw(Decompositions(problem, (rand, fair)))
    assert [text.get_text() for text in drawn.axes[0].texts] == ["4.5 s", "2.5 s"]
    assert len(optsched.draw(rand).axes[0].patches) == len(PARTS)


def test_what_was_assumed() -> None:
    """Tests that labels of what was assumed stand below both pictures."""
    problem = one_task(labels={"times": "assumed", "slots": "recorded"})
    found = Decomposition(problem, "fair", (Replays(0, 3, 3, 2, 2, "policy"),), 2, 2, 1, Proof.DUAL)
    for figure in (decomposition_picture(found), decompositions_picture([found])):
        assert figure.axes[0].get_xlabel().splitlines()[-1] == "assumed or inferred: times"


def test_stacks_that_cannot_be() -> None:
    """Tests one line where there is nothing to draw, and where gaps end at different bounds."""
    runs = (Replays(0, 3, 3, 2, 2, "policy"),)
    ends = [Decomposition(one_task(), "fair", runs, 2, 2, end, Proof.DUAL) for end in (1, 2)]
    for given, message in (([], "no gap to draw"), (ends, "measure them together")):
        with pytest.raises(UsageError, match=message):
            decompositions_picture(given)
