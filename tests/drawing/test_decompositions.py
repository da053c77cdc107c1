"""The picture of what a gap is made of: a bar for each part, from where the one before ends."""

from __future__ import annotations

from fractions import Fraction

import pytest

from optsched.decomposing import PARTS, Decomposition, Replays
from optsched.drawing.decompositions import decomposition_picture
from optsched.instance import Cluster, Instance, Workload
from optsched.problems.makespan import Makespan
from optsched.results import Proof


def test_bars_add_up() -> None:
    """Tests that bars go from the policy to the bound, back where a part is negative, each with its seconds."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[1]), name="one $x_y$"))
    runs = (Replays(0, 10, 12, 9, "arrival"),)
    found = Decomposition(problem, "fair", runs, 7, Fraction(13, 2), Proof.DUAL)
    axes = decomposition_picture(found).axes[0]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]  # type: ignore[attr-defined]
    assert bars == [(10, 12), (12, 9), (9, 7), (7, 6.5)]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(PARTS)
    assert [text.get_text() for text in axes.texts] == ["-2 s", "3 s", "2 s", "0.5 s"]
    assert "one $x_y$" in axes.get_title(loc="left")


def test_nothing_proved() -> None:
    """Tests that what is not known has no bar."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[1])))
    found = Decomposition(problem, "fair", (Replays(0, 3, 2, 2, "policy"),), 2, None, None)
    assert len(decomposition_picture(found).axes[0].patches) == len(PARTS) - 1
    assert found.parts["not proved"] is None
    assert found.frame()["share"].isna().all()
    with pytest.raises(TypeError):
        found.means[0] - found.bound  # type: ignore[operator]
