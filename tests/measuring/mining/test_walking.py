"""The search: it begins the same with a larger budget, keeps time for shrinking, and ends with a minimal instance."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched import Placement, UsageError
from optsched.core.processes.containing import contained
from optsched.core.processes.limits import Limits
from optsched.core.registry import records
from optsched.heuristics import HEURISTICS
from optsched.measuring.mining import walking
from optsched.measuring.mining.documents import smaller
from optsched.measuring.mining.walking import BROKEN, Judge, failure_of, starts_of
from optsched.measuring.studies.choices import chosen
from optsched.solvers.profiles import load_profile

MOST = {"tasks": 6, "nodes": 4}


def search_of(
    heuristic: Any, budget: int | None, step: Callable[[str], None] = lambda text: None, **aim: Any
) -> tuple[walking.Search, Judge]:
    """A search in `latency`, and who judges for it."""
    judge = judge_of(heuristic, "latency", **aim)
    return walking.Search(judge, starts_of(judge, None, {}, MOST), MOST, budget, 0, step), judge


def test_a_larger_budget_begins_the_same() -> None:
    """Tests that what a search tries does not hang on how much it may try, and that it ends when that is spent."""
    shown: dict[int, list[str]] = {}
    for budget in (40, 120):
        lines: list[str] = []
        search, _ = search_of("labl", budget, lines.append)
        search.run()
        assert search.searched == search.tried == len(lines) == budget
        shown[budget] = [line.replace(f" of {budget}", "") for line in lines]
    assert shown[120][:40] == shown[40]
    assert "worst so far" in shown[40][-1]


def last_node(problem: Any, rng: Any) -> list[str]:
    """Everything on the node that is called last."""
    nodes = problem.instance.cluster.node_ids
    return [max(nodes)] * len(problem.tasks)


@pytest.mark.parametrize("heuristic", ["labl", last_node], ids=["labl", "by name"])
def test_what_is_left_is_minimal(heuristic: Any) -> None:
    """Tests that no single step of shrinking leaves it as bad, judged anew, also where the heuristic goes by ids, which
    are n1, n2, ... at the end where they do not matter.
    """
    search, _ = search_of(heuristic, 60)
    search.run()
    before = search.best.score
    search.shrink()
    assert search.minimal
    assert search.best.score >= before
    fresh = search_of(heuristic, 1)[1]
    whole = fresh(search.best.document)
    assert whole.score == search.best.score
    assert all((step := fresh(document)) is None or step.score < whole.score for document in smaller(whole.document))
    for table in ("nodes", "tasks") if heuristic == "labl" else ():
        ids = [record["id"] for record in search.best.document[table]]
        assert ids == [f"{table[0]}{number + 1}" for number in range(len(ids))]


def test_a_broken_claim_ends_the_search() -> None:
    """Tests that nothing more is tried once the claim is broken."""
    search, _ = search_of("labl", 500, claim=lambda report: Fraction(-1))
    search.run()
    assert search.searched < 10


#: Two tasks whose data is on `a`, and one slot there, so that the optimum is 1.
DOCUMENT: dict[str, Any] = {
    "format": "optsched/1",
    "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
    "tasks": [{"id": "t", "replicas": ["a"]}, {"id": "u", "replicas": ["a"]}],
}


def answering(*nodes: str) -> Any:
    """A heuristic with this answer."""
    return lambda problem, rng: list(nodes)


#: Every task away from its data; two tasks on one slot; too few nodes.
elsewhere, crowded, short = answering("b", "c"), answering("a", "a"), answering()


def raising(problem: Any, rng: Any) -> list[str]:
    """Nothing."""
    raise ValueError("no")


def judge_of(heuristic: Any, problem: str = "lsap", seeds: tuple[int, ...] = (0,), **aim: Any) -> Judge:
    """A judge of runs with these seeds."""
    return Judge(problem, {}, chosen(heuristic), seeds, walking.Aim(**aim), load_profile("exact"))


def judged(heuristic: Any, document: dict[str, Any] = DOCUMENT, **judge: Any) -> walking.Judged | None:
    """What is thought of a document."""
    return judge_of(heuristic, **judge)(document)


def test_gaps() -> None:
    """Tests a relative gap, an absolute one, and the difference against an optimum of 0."""
    found = judged(elsewhere)
    assert (found.score, found.counts) == ((0, Fraction(1)), True)
    assert found.compared == "locality-cost 2 against the optimum 1"
    roomy = {**DOCUMENT, "nodes": [{"id": "a", "slots": 2}, *DOCUMENT["nodes"][1:]]}
    assert judged(elsewhere, roomy).score == (walking.OVER_ZERO, Fraction(2))
    assert judged(elsewhere, roomy, worst="absolute").score == (0, Fraction(2))


def test_failures_alike() -> None:
    """Tests that failures are distinguished by what was raised and where, by the answer, and by the constraints."""
    more = {**DOCUMENT, "tasks": [*DOCUMENT["tasks"], {"id": "v", "replicas": ["b"]}]}
    raised = ("ValueError", (__file__, raising.__code__.co_firstlineno + 2))
    too_few = ("heuristic  answered  nodes; give exactly one for each of problem.tasks, that is ",)
    for heuristic, kind in ((raising, raised), (short, too_few)):
        assert [failure_of(judged(heuristic, document).report) for document in (DOCUMENT, more)] == [kind, kind]
    assert failure_of(judged(crowded).report) == ("slots",)
    assert failure_of(judged(elsewhere).report) is None
    with contained(Limits(60, None)):  # in a process that can be killed
        assert failure_of(judged(raising).report) == raised


def drawn(problem: Any, rng: np.random.Generator) -> list[str]:
    """Both away from their data, one of them, or on one slot, as the seed has it."""
    return [["b", "c"], ["a", "b"], ["b", "a"], ["a", "a"]][int(rng.integers(4))]


def test_several_runs() -> None:
    """Tests which gap of several runs counts, that the worst run is shown, and that a failure among them is worst."""
    scores = [judged(drawn, seeds=(seed,)).score for seed in range(40)]
    apart, failing = scores.index((0, Fraction(1))), scores.index(BROKEN)
    near, other = [seed for seed, score in enumerate(scores) if score == (0, Fraction(0))][:2]
    for over, expected in (("worst", Fraction(1)), ("mean", Fraction(1, 3)), ("median", 0), ("0.5", 0), (1, 1)):
        found = judged(drawn, over=over, seeds=(near, apart, other))
        assert (found.score, found.report.seed) == ((0, expected), apart), over
    for over in ("worst", "mean"):
        assert judged(drawn, over=over, seeds=(near, failing)).score == BROKEN
    assert judged(drawn, failures=False, seeds=(near, failing)) is None


def test_one_run_breaks_a_claim() -> None:
    """Tests that a claim is broken where one of several runs breaks it; those without a placement are not asked."""
    claim: Any = {"claim": lambda report: report.absolute_gap == (0,)}
    scores = [found and found.score for found in (judged(drawn, seeds=(seed,), **claim) for seed in range(40))]
    broken, holding, failing = (scores.index(score) for score in (BROKEN, (0, Fraction(0)), None))
    found = judged(drawn, seeds=(holding, failing, broken), **claim)
    assert (found.score, found.report.seed, found.counts) == (BROKEN, broken, True)
    assert not judged(drawn, seeds=(holding, failing), **claim).counts


def test_failures() -> None:
    """Tests that a run without a feasible placement is worse than every gap, or counts for nothing."""
    for heuristic in (crowded, raising):
        found = judged(heuristic)
        assert found.score == BROKEN
        assert "the optimum is 1" in found.compared
        assert judged(heuristic, failures=False) is None
        assert judged(heuristic, claim=lambda report: False) is None


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (True, (0, Fraction(1))),  # a claim that holds: the gap guides
        (np.False_, BROKEN),
        (None, BROKEN),
        (Fraction(3, 2), (0, Fraction(-3, 2))),
        (np.float64(-0.5), BROKEN),
        (0, (0, Fraction(0))),
        (-1e-9, BROKEN),
    ],
)
def test_claims(answer: Any, score: tuple[int, Fraction]) -> None:
    """Tests that False, nothing and a number below 0 break a claim, and that a number guides the search."""
    found = judged(elsewhere, claim=lambda report: answer)
    assert found.score == score
    assert walking.is_broken(answer) is (score == BROKEN)


def test_claims_that_answer_nonsense() -> None:
    """Tests that another answer is wrong usage, and that what a claim raised is reported and chained."""
    for answer in ("yes", float("nan"), float("inf")):
        with pytest.raises(UsageError, match="True, False or a number"):
            judged(elsewhere, claim=lambda report, answer=answer: answer)
    with pytest.raises(UsageError, match="the claim raised ZeroDivisionError: division by zero") as caught:
        judged(elsewhere, claim=lambda report: 1 / 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_what_counts_for_nothing() -> None:
    """Tests a document that is no instance, one that the problem cannot be posed on, and an infeasible problem."""
    assert judged(elsewhere, {**DOCUMENT, "nodes": []}) is None
    assert judged(elsewhere, problem="utility") is None
    too_heavy = {
        "format": "optsched/1",
        "nodes": [{"id": "a", "capacity": {"w": 1}}],
        "tasks": [{"id": "t"}],
        "pairs": {"cost": [[1]], "demand": {"w": [[2]]}},
    }
    assert judged(answering("a"), too_heavy, problem="generalized-assignment") is None


def test_documents_that_are_as_bad() -> None:
    """Tests that a document is judged once, unless it is as bad as what is asked for, and that the smaller is worse."""
    judge = judge_of(elsewhere)
    assert judge(DOCUMENT) is not None
    assert judge(DOCUMENT) is None
    assert judge(DOCUMENT, (0, Fraction(2))) is None
    assert judge(DOCUMENT, (0, Fraction(1))) is not None
    more = {**DOCUMENT, "nodes": [*DOCUMENT["nodes"], {"id": "d"}]}
    assert judged(elsewhere).key > judged(elsewhere, more).key


#: What may be mined: every shipped heuristic in every problem that it serves.
PAIRS = [
    (entry.name, name)
    for entry in HEURISTICS.values()
    for name in entry.problems
    if entry.name != "observed" and records()[name].problem_class.decided is Placement
]


def test_every_heuristic_in_every_problem() -> None:
    """Tests that each starts from instances that can be posed for it, without naming a family."""
    assert len(PAIRS) > 60
    for heuristic, problem in PAIRS:
        judge = judge_of(heuristic, problem)
        starts, rng = starts_of(judge, None, {}, MOST), np.random.default_rng(1)
        drawn = (starts.draw(rng) for _ in range(12))
        assert any(judge.posed(document) is not None for document in drawn), (heuristic, problem)


def test_the_family_with_all_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests who starts where all fields are: if its own family lacks some, unless one is named; if there is none."""
    assert starts_of(judge_of("dl"), None, {}, MOST).family == "lsap"
    assert starts_of(judge_of("lsap-fair-sched"), None, {}, MOST).family == "mixed"
    with pytest.raises(UsageError, match="no instance of family lsap can be posed as lsap for lsap-fair-sched"):
        starts_of(judge_of("lsap-fair-sched"), "lsap", {}, MOST)
    bare = replace(records()["lsap"], family=None, sizes={})
    monkeypatch.setattr("optsched.measuring.mining.walking.record", lambda name: bare)
    assert starts_of(judge_of("dl"), None, {}, MOST).family == "mixed"
    assert starts_of(judge_of("dl"), None, {"nodes": 4}, MOST).draw(np.random.default_rng(0))


def test_sizes_differ_and_given_ones_stay() -> None:
    """Tests that drawn instances are of several sizes, and parameters that are given hold for all."""
    rng = np.random.default_rng(0)
    starts = starts_of(judge_of("dl"), None, {"nodes": 3}, MOST)
    drawn = [starts.draw(rng) for _ in range(20)]
    assert {len(document["nodes"]) for document in drawn} == {3}
    assert len({len(document["tasks"]) for document in drawn}) > 2
    assert all("name" not in document and "labels" not in document for document in drawn)


@pytest.mark.parametrize(("problem", "heuristic"), [("utility", "ras"), ("makespan", "fifo"), ("latency", "labl")])
def test_bug_starts_were_larger_than_the_search_may_make_instances(problem: str, heuristic: str) -> None:
    """Tests that no instance begins with more tasks and nodes than are allowed, unless its sizes were given."""
    judge, rng = judge_of(heuristic, problem), np.random.default_rng(0)
    starts = starts_of(judge, None, {}, {"tasks": 3, "nodes": 2})
    drawn = [starts.draw(rng) for _ in range(40)]
    assert {len(document["tasks"]) for document in drawn} <= {1, 2, 3}
    assert {len(document["nodes"]) for document in drawn} <= {1, 2}
    given = starts_of(judge, None, {"nodes": 5}, {"tasks": 3, "nodes": 2}).draw(rng)
    assert len(given["nodes"]) == 5
