"""How bad an instance is: gaps, failures, claims that answer True, False or a number, and what counts for nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.measuring.mining.judging import BROKEN, OVER_ZERO, Aim, Judge, Judged, failure_of, is_broken
from optsched.measuring.studies.choices import chosen
from optsched.processes.containing import contained
from optsched.processes.outcomes import Limits
from optsched.solvers.profiles import load_profile

#: Two tasks whose data is on `a`, and one slot there, so that the optimum is 1.
DOCUMENT: dict[str, Any] = {
    "format": "optsched/1",
    "nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
    "tasks": [{"id": "t", "replicas": ["a"]}, {"id": "u", "replicas": ["a"]}],
}


def elsewhere(problem: Any, rng: Any) -> list[str]:
    """Every task away from its data."""
    return ["b", "c"]


def crowded(problem: Any, rng: Any) -> list[str]:
    """Two tasks on one slot."""
    return ["a", "a"]


def raising(problem: Any, rng: Any) -> list[str]:
    """Nothing."""
    raise ValueError("no")


def judged(
    heuristic: Any, aim: Aim, document: dict[str, Any] = DOCUMENT, name: str = "lsap", seeds: tuple[int, ...] = (0,)
) -> Judged | None:
    """What is thought of the document."""
    return Judge(name, {}, chosen(heuristic), seeds, aim, load_profile("exact"))(document)


def test_gaps() -> None:
    """Tests a relative gap, an absolute one, and the difference against an optimum of 0."""
    found = judged(elsewhere, Aim())
    assert found is not None
    assert (found.score, found.counts, found.told) == ((0, Fraction(1)), True, "2 against the optimum 1")
    roomy = {**DOCUMENT, "nodes": [{"id": "a", "slots": 2}, *DOCUMENT["nodes"][1:]]}
    for aim, sort in ((Aim(), OVER_ZERO), (Aim(worst="absolute"), 0)):
        found = judged(elsewhere, aim, roomy)
        assert found is not None
        assert found.score == (sort, Fraction(2))


def short(problem: Any, rng: Any) -> list[str]:
    """Too few nodes."""
    return []


def test_failures_alike() -> None:
    """Tests that failures are told apart by what was raised and where, by the answer, and by the constraints."""
    more = {**DOCUMENT, "tasks": [*DOCUMENT["tasks"], {"id": "v", "replicas": ["b"]}]}
    kinds = []
    for heuristic, name in ((raising, "lsap"), (short, "lsap"), (crowded, "lsap")):
        found = judged(heuristic, Aim(), DOCUMENT, name)
        assert found is not None
        kinds.append(failure_of(found.report))
        if heuristic is not crowded:
            again = judged(heuristic, Aim(), more, name)
            assert again is not None
            assert failure_of(again.report) == kinds[-1]
    assert kinds[0] == ("ValueError", (__file__, raising.__code__.co_firstlineno + 2))
    assert kinds[1] == ("heuristic  answered  nodes; give exactly one for each of problem.tasks, that is ",)
    assert kinds[2] == ("slots",)
    feasible = judged(elsewhere, Aim())
    assert feasible is not None
    assert failure_of(feasible.report) is None


def test_failures_alike_in_processes_of_their_own() -> None:
    """Tests that what is raised in a process that can be killed is told apart in the same way."""
    with contained(Limits(60, None)):
        found = judged(raising, Aim())
    assert found is not None
    assert failure_of(found.report) == ("ValueError", (__file__, raising.__code__.co_firstlineno + 2))


def drawn(problem: Any, rng: np.random.Generator) -> list[str]:
    """Both away from their data, one of them, or on one slot, as the seed has it."""
    return [["b", "c"], ["a", "b"], ["b", "a"], ["a", "a"]][int(rng.integers(4))]


def test_several_runs() -> None:
    """Tests which gap of several runs counts, that the worst run is told, and that a failure among them is worst."""
    kept = [seed for seed in range(40) if (found := judged(drawn, Aim(), seeds=(seed,))) and found.report.feasible]
    gaps = {seed: found.score for seed in kept if (found := judged(drawn, Aim(), seeds=(seed,)))}
    apart = next(seed for seed in kept if gaps[seed] == (0, Fraction(1)))
    near = [seed for seed in kept if gaps[seed] == (0, Fraction(0))][:2]
    seeds = (near[0], apart, near[1])
    for over, expected in (("worst", Fraction(1)), ("mean", Fraction(1, 3)), ("median", 0), ("0.5", 0), (1, 1)):
        found = judged(drawn, Aim(over=over), seeds=seeds)
        assert found is not None
        assert found.score == (0, expected), over
        assert found.report.seed == apart
    failing = next(seed for seed in range(40) if seed not in kept)
    for over in ("worst", "mean"):
        found = judged(drawn, Aim(over=over), seeds=(near[0], failing))
        assert found is not None
        assert found.score == BROKEN
    assert judged(drawn, Aim(failures=False), seeds=(near[0], failing)) is None


def test_one_run_breaks_a_claim() -> None:
    """Tests that a claim is broken where one of several runs breaks it; those without a placement are not asked."""
    claim = Aim(claim=lambda report: report.absolute_gap == (0,))
    outcomes = {seed: judged(drawn, claim, seeds=(seed,)) for seed in range(40)}
    broken = next(seed for seed, found in outcomes.items() if found is not None and found.score == BROKEN)
    holding = next(seed for seed, found in outcomes.items() if found is not None and found.score != BROKEN)
    failing = next(seed for seed, found in outcomes.items() if found is None)
    found = judged(drawn, claim, seeds=(holding, failing, broken))
    assert found is not None
    assert (found.score, found.report.seed, found.counts) == (BROKEN, broken, True)
    held = judged(drawn, claim, seeds=(holding, failing))
    assert held is not None
    assert not held.counts


@pytest.mark.parametrize(
    ("answer", "broken"), [(True, False), (0, False), (np.True_, False), (None, True), (np.False_, True), (-1e-9, True)]
)
def test_broken(answer: Any, broken: bool) -> None:
    """Tests which answers of a claim say that it is broken."""
    assert is_broken(answer) is broken


def test_failures() -> None:
    """Tests that a run without a feasible placement is worse than every gap, or counts for nothing."""
    for heuristic in (crowded, raising):
        found = judged(heuristic, Aim())
        assert found is not None
        assert found.score == BROKEN
        assert "the optimum is 1" in found.told
        assert judged(heuristic, Aim(failures=False)) is None
        assert judged(heuristic, Aim(claim=lambda report: False)) is None


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (True, (0, Fraction(1))),  # a claim that holds: the gap guides
        (np.False_, BROKEN),
        (None, BROKEN),
        (Fraction(3, 2), (0, Fraction(-3, 2))),
        (np.float64(-0.5), BROKEN),
        (0, (0, Fraction(0))),
    ],
)
def test_claims(answer: Any, score: tuple[int, Fraction]) -> None:
    """Tests that False, nothing and a number below 0 break a claim, and that a number guides the search."""
    found = judged(elsewhere, Aim(claim=lambda report: answer))
    assert found is not None
    assert found.score == score


@pytest.mark.parametrize("answer", ["yes", float("nan"), float("inf")])
def test_claims_that_answer_nonsense(answer: Any) -> None:
    """Tests that another answer is wrong usage."""
    with pytest.raises(UsageError, match="True, False or a number"):
        judged(elsewhere, Aim(claim=lambda report: answer))


def test_a_claim_that_raises() -> None:
    """Tests that what it raised is told and chained."""
    with pytest.raises(UsageError, match="the claim raised ZeroDivisionError: division by zero") as caught:
        judged(elsewhere, Aim(claim=lambda report: 1 / 0))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_what_counts_for_nothing() -> None:
    """Tests a document that is no instance, one that the problem cannot be posed on, and an infeasible problem."""
    assert judged(elsewhere, Aim(), {**DOCUMENT, "nodes": []}) is None
    assert judged(elsewhere, Aim(), name="utility") is None
    too_heavy = {
        "format": "optsched/1",
        "nodes": [{"id": "a", "capacity": {"w": 1}}],
        "tasks": [{"id": "t"}],
        "pairs": {"cost": [[1]], "demand": {"w": [[2]]}},
    }
    assert judged(lambda problem, rng: ["a"], Aim(), too_heavy, "generalized-assignment") is None


def test_each_document_is_judged_once() -> None:
    """Tests that a document that came before is passed over, unless it is as bad as what is asked for."""
    judge = Judge("lsap", {}, chosen(elsewhere), (0,), Aim(), load_profile("exact"))
    assert judge(DOCUMENT) is not None
    assert judge(DOCUMENT) is None
    assert judge(DOCUMENT, (0, Fraction(2))) is None
    assert judge(DOCUMENT, (0, Fraction(1))) is not None
    assert judge.count == 2


def test_the_smaller_of_equals_is_worse() -> None:
    """Tests that of two documents with one gap the smaller comes first."""
    more = {**DOCUMENT, "nodes": [*DOCUMENT["nodes"], {"id": "d"}]}
    small, large = judged(elsewhere, Aim()), judged(elsewhere, Aim(), more)
    assert small is not None
    assert large is not None
    assert small.key > large.key


def test_wrong_aims() -> None:
    """Tests that another sort of gap, a claim that is none, and a component that there is not are wrong usage."""
    with pytest.raises(UsageError, match="give relative or absolute"):
        Aim(worst="largest")
    with pytest.raises(UsageError, match="give a function"):
        Aim(claim=3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no component"):
        Aim(component="speed").check("latency")
    with pytest.raises(UsageError, match="makespan and work"):
        Aim(worst="absolute").check("latency")
    with pytest.raises(UsageError, match="give worst, mean, median"):
        Aim(over="best")
    Aim(claim=lambda report: True, worst="absolute").check("latency")
