"""The search: it begins the same with a larger budget, keeps time for shrinking, and ends with a minimal instance."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from optsched.measuring.mining.documents import smaller
from optsched.measuring.mining.judging import Aim, Judge
from optsched.measuring.mining.starts import starts_of
from optsched.measuring.mining.walking import Clock, OutOfTime, Search
from optsched.measuring.studies.choices import chosen
from optsched.solvers.profiles import load_profile

MOST = {"tasks": 6, "nodes": 4}


def search_of(
    heuristic: Any, budget: int | None, step: Callable[[str], None] = lambda text: None, **aim: Any
) -> tuple[Search, Judge]:
    """A search in `latency`, and who judges for it."""
    judge = Judge("latency", {}, chosen(heuristic), (0,), Aim(**aim), load_profile("exact"))
    return Search(judge, starts_of(judge, None, {}, MOST), MOST, budget, 0, step), judge


def test_a_larger_budget_begins_the_same() -> None:
    """Tests that what a search tries does not hang on how much it may try, and that it ends when that is spent."""
    told: dict[int, list[str]] = {}
    for budget in (40, 120):
        lines: list[str] = []
        search, _ = search_of("labl", budget, lines.append)
        search.run()
        assert search.searched == search.tried == len(lines) == budget
        told[budget] = [line.replace(f" of {budget}", "") for line in lines]
    assert told[120][:40] == told[40]
    assert "worst so far" in told[40][-1]


def last_node(problem: Any, rng: Any) -> list[str]:
    """Everything on the node that is called last."""
    nodes = problem.instance.cluster.node_ids
    return [max(nodes)] * len(problem.tasks)


@pytest.mark.parametrize("heuristic", ["labl", last_node], ids=["labl", "by name"])
def test_what_is_left_is_minimal(heuristic: Any) -> None:
    """Tests that no single step of shrinking leaves it as bad, judged anew, also where the heuristic goes by ids."""
    search, _ = search_of(heuristic, 60)
    search.run()
    assert search.best is not None
    before = search.best.score
    search.shrink()
    assert search.minimal
    assert search.best.score >= before
    fresh = search_of(heuristic, 1)[1]
    whole = fresh(search.best.document)
    assert whole is not None
    assert whole.score == search.best.score
    assert all((step := fresh(document)) is None or step.score < whole.score for document in smaller(whole.document))


def two_faults(problem: Any, rng: Any) -> list[int]:
    """Fails where there are many tasks, and otherwise where there is none."""
    if len(problem.tasks) >= 4:
        raise LookupError("too many")
    return [0, *[0 for _ in problem.tasks[1:]]]


def test_a_failure_shrinks_to_the_same_failure() -> None:
    """Tests that shrinking keeps what went wrong, and does not end at another fault of fewer tasks."""
    search, _ = search_of(two_faults, 60)
    search.run()
    search.shrink()
    assert search.best is not None
    assert isinstance(search.best.report.run.cause, LookupError)
    assert len(search.best.document["tasks"]) == 4
    assert search.minimal


def test_ids_are_numbered_anew() -> None:
    """Tests that what is left is called n1, n2, ..., since names with gaps say nothing."""
    search, _ = search_of("labl", 60)
    search.run()
    search.shrink()
    assert search.best is not None
    for table, letter in (("nodes", "n"), ("tasks", "t")):
        ids = [record["id"] for record in search.best.document[table]]
        assert ids == [f"{letter}{number + 1}" for number in range(len(ids))]


def test_a_broken_claim_ends_the_search() -> None:
    """Tests that nothing more is tried once the claim is broken."""
    search, _ = search_of("labl", 500, claim=lambda report: Fraction(-1))
    search.run()
    assert search.best is not None
    assert search.searched < 10


def test_out_of_time() -> None:
    """Tests that a clock without time raises, and one without an end does not."""
    assert Clock(None).left() is None
    left = Clock(1000).left()
    assert left is not None
    assert 0 < left <= 1000
    with pytest.raises(OutOfTime):
        Clock(0).left()
    search, judge = search_of("labl", None)
    judge.left = Clock(0).left
    with pytest.raises(OutOfTime):
        search.run()
    assert search.best is None
