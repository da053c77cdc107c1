"""The picture of what a gap is made of: a bar for each part, from where the one before ends."""

from __future__ import annotations

from fractions import Fraction

import pytest

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.results import Proof
from optsched.measuring.decomposing import PARTS, Decomposition, Decompositions, Replays
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.showing.decompositions import decomposition_picture, decompositions_picture


def test_bars_add_up() -> None:
    """Tests that bars go from the policy to the bound, back where a part is negative, each with its seconds."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[1]), name="one $x_y$"))
    runs = (Replays(0, 11, 10, 12, 9, "arrival"),)
    found = Decomposition(problem, "fair", runs, 8, 7, Fraction(13, 2), Proof.DUAL)
    axes = decomposition_picture(found).axes[0]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]  # type: ignore[attr-defined]
    assert bars == [(11, 10), (10, 12), (12, 9), (9, 8), (8, 7), (7, 6.5)]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(PARTS)
    assert [text.get_text() for text in axes.texts] == ["1 s", "-2 s", "3 s", "1 s", "1 s", "0.5 s"]
    assert "one $x_y$" in axes.get_title(loc="left")


def test_nothing_proved() -> None:
    """Tests that what is not known has no bar."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[1])))
    found = Decomposition(problem, "fair", (Replays(0, 3, 3, 2, 2, "policy"),), 2, 2, None, None)
    assert len(decomposition_picture(found).axes[0].patches) == len(PARTS) - 1
    assert found.parts["not proved"] is None
    assert found.frame()["share"].isna().all()
    with pytest.raises(TypeError):
        found.means["as_is"] - found.bound  # type: ignore[operator]


def test_stacks_of_several() -> None:
    """Tests a stack for each policy, from the bound up to the policy, a part below 0 going back within it, hatched."""
    problem = JobTimes(Instance(Cluster(["a"]), Workload(["t", "u"], duration=[1, 2]), name="two $x_y$"))
    found = [
        Decomposition(problem, "rand", (Replays(0, 11, 10, 12, 9, "fair"),), 8, 7, Fraction(13, 2), Proof.DUAL),
        Decomposition(
            problem, "fair", (Replays(0, 9, 9, 9, 9, "policy"),), 8, 7, Fraction(13, 2), Proof.DUAL, {"delay": 0}
        ),
    ]
    figure = decompositions_picture(found)
    axes = figure.axes[0]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height() > 0.5) for bar in axes.patches]  # type: ignore[attr-defined]
    steps = [(0, 0.5, True), (0.5, 1.5, True), (1.5, 2.5, True)]
    assert bars[:6] == [*steps, (2.5, 5.5, True), (5.5, 3.5, False), (3.5, 4.5, True)]
    assert bars[6:9] == steps
    assert [text.get_text() for text in axes.texts] == ["4.5 s", "2.5 s"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["rand", "fair,delay=0"]
    assert axes.get_xlabel() == "sum of 2 job times above the bound of 6.5 s (s)"
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert keys == ["waits for offers", "placement", "placement, less than nothing", *list(PARTS)[2:]]
    assert "two $x_y$" in figure.get_suptitle()
    drawn = optsched.draw(Decompositions(problem, tuple(found)))
    assert [text.get_text() for text in drawn.axes[0].texts] == ["4.5 s", "2.5 s"]
    assert len(optsched.draw(found[0]).axes[0].patches) == len(PARTS)


def test_stacks_without_a_bound() -> None:
    """Tests that stacks begin at the best schedule found where nothing is proved, and large times have no powers."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[1])))
    found = [Decomposition(problem, "fair", (Replays(0, 40_000, 2, 2, 2, "policy"),), 2, 2, None, None)]
    axes = decompositions_picture(found).axes[0]
    assert axes.get_xlabel() == "makespan above the best schedule found, of 2 s (s)"
    assert [text.get_text() for text in axes.texts] == ["39,998 s"]


def test_what_was_assumed() -> None:
    """Tests that labels of what was assumed stand below both pictures."""
    labels = {"times": "assumed", "slots": "recorded"}
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[1]), labels=labels))
    found = Decomposition(problem, "fair", (Replays(0, 3, 3, 2, 2, "policy"),), 2, 2, 1, Proof.DUAL)
    for figure in (decomposition_picture(found), decompositions_picture([found])):
        assert figure.axes[0].get_xlabel().splitlines()[-1] == "assumed or inferred: times"


def test_stacks_that_cannot_be() -> None:
    """Tests one line where there is nothing to draw, and where gaps end at different bounds."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[1])))
    ends = [
        Decomposition(problem, "fair", (Replays(0, 3, 3, 2, 2, "policy"),), 2, 2, end, Proof.DUAL) for end in (1, 2)
    ]
    with pytest.raises(UsageError, match="no gap to draw"):
        decompositions_picture([])
    with pytest.raises(UsageError, match="measure them together"):
        decompositions_picture(ends)
