"""Where searches start: small instances that the problem and the heuristic can be posed on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.core.placement import Placement
from optsched.core.registry import records
from optsched.heuristics import HEURISTICS
from optsched.measuring.mining.judging import Aim, Judge
from optsched.measuring.mining.starts import starts_of
from optsched.measuring.studies.choices import chosen
from optsched.solvers.profiles import load_profile

MOST = {"tasks": 6, "nodes": 4}

#: What may be mined: every shipped heuristic in every problem that it serves.
PAIRS = [
    (entry.name, name)
    for entry in HEURISTICS.values()
    for name in entry.problems
    if entry.name != "observed" and records()[name].problem_class.decided is Placement
]


def judge_of(heuristic: str, problem: str) -> Judge:
    """A judge of one run."""
    return Judge(problem, {}, chosen(heuristic), (0,), Aim(), load_profile("exact"))


def test_every_heuristic_in_every_problem() -> None:
    """Tests that each starts from instances that can be posed for it, without naming a family."""
    assert len(PAIRS) > 60
    for heuristic, problem in PAIRS:
        judge = judge_of(heuristic, problem)
        starts = starts_of(judge, None, {}, MOST)
        rng = np.random.default_rng(1)
        drawn = [starts.draw(rng) for _ in range(12)]
        assert any(judge.posed(document) is not None for document in drawn), (heuristic, problem)
        assert min(len(document["tasks"]) for document in drawn) <= MOST["tasks"]


def test_the_family_with_all_fields() -> None:
    """Tests that a heuristic that needs what the problem's own family lacks starts elsewhere, unless one is named."""
    assert starts_of(judge_of("dl", "lsap"), None, {}, MOST).family == "lsap"
    assert starts_of(judge_of("lsap-fair-sched", "lsap"), None, {}, MOST).family == "mixed"
    with pytest.raises(UsageError, match="no instance of family lsap can be posed as lsap for lsap-fair-sched"):
        starts_of(judge_of("lsap-fair-sched", "lsap"), "lsap", {}, MOST)


def test_a_problem_without_a_family(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a problem of a package outside, which has no family, starts from the one with all fields."""
    bare = replace(records()["lsap"], family=None, sizes={})
    monkeypatch.setattr("optsched.measuring.mining.starts.record", lambda name: bare)
    assert starts_of(judge_of("dl", "lsap"), None, {}, MOST).family == "mixed"
    assert starts_of(judge_of("dl", "lsap"), None, {"nodes": 4}, MOST).draw(np.random.default_rng(0))


def test_sizes_differ_and_given_ones_stay() -> None:
    """Tests that drawn instances are of several sizes, and parameters that are given hold for all."""
    rng = np.random.default_rng(0)
    starts = starts_of(judge_of("dl", "lsap"), None, {"nodes": 3}, MOST)
    drawn = [starts.draw(rng) for _ in range(20)]
    assert {len(document["nodes"]) for document in drawn} == {3}
    assert len({len(document["tasks"]) for document in drawn}) > 2
    assert all("name" not in document and "labels" not in document for document in drawn)
