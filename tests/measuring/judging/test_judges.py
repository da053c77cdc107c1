"""Judges: what checks measure, what they find, and what is wrong with a check."""

from pathlib import Path

import numpy as np
import pytest

from optsched import generate, problem
from optsched.core.errors import HeuristicFailed, OutOfTime, UsageError
from optsched.measuring.judging.findings import Check
from optsched.measuring.judging.judges import judge_checks, shuffle_shares
from optsched.measuring.judging.quantities import Answer
from optsched.measuring.printing import interval

#: dl-sched against the optimum on small draws, where it is not optimal.
OPTIMAL = Check(
    says="dl == optimum",
    holds=False,
    on=("lsap,nodes=10,tasks=5",),
    problem="lsap",
    measure={"dl": "dl", "optimum": "optimum"},
    draws=40,
    full=50,
)


def test_a_statement_about_each_draw() -> None:
    """Tests the truth, the means, how many draws, and the first draw on which it is false."""
    judgement = judge_checks([OPTIMAL], "fails")
    (finding,) = judgement.findings
    assert (judgement.holds, judgement.verdict, finding.true, finding.draws) == (True, "fails", False, 40)
    assert finding.witness.startswith("lsap,nodes=10,tasks=5 seed ")
    again = Check(**{**OPTIMAL_FIELDS, "draws": int(finding.witness.rpartition(" ")[2])})
    assert judge_checks([again], "fails").verdict == "holds", "the draws before are none"
    assert finding.numbers["dl"][0] > finding.numbers["optimum"][0]


OPTIMAL_FIELDS = {name: getattr(OPTIMAL, name) for name in OPTIMAL.__struct_fields__}


def test_differences_are_of_the_same_seeds() -> None:
    """Tests that the interval of two means is that of the differences of single draws, and what has none."""
    fields = {**OPTIMAL_FIELDS, "says": "mean(dl) > mean(optimum)", "quotes": {"sometimes": "share(dl > optimum)"}}
    (finding,) = judge_checks([Check(**fields)], "fails").findings
    pairs = []
    for seed in range(40):
        posed = problem("lsap", generate("lsap", seed=seed, nodes=10, tasks=5))
        pairs.append(float(Answer(posed, "dl", seed).value[0] - Answer(posed, "optimum", seed).value[0]))
    assert finding.differences[0] == pytest.approx([sum(pairs) / 40, *(interval(pairs) or ())])
    assert finding.numbers["sometimes"] == [sum(pair > 0 for pair in pairs) / 40]
    ratio = Check(**{**fields, "says": "any(mean(optimum) / mean(dl) < 1)"})
    ((mean, low, high),) = judge_checks([ratio], "fails").findings[0].differences
    assert low < mean < high < 0
    for says in ("dl == optimum", "0 < mean(dl) < 5", "grows(mean(dl))", "dl > optimum"):
        assert not judge_checks([Check(**{**fields, "says": says})], "fails").findings[0].differences
    assert not judge_checks([Check(**fields)], "fails", seeds=1).findings[0].differences


def test_effort_and_seeds() -> None:
    """Tests that full judgements take the record's draws, that seeds go before both, and which there are."""
    assert judge_checks([OPTIMAL], "fails", "full").findings[0].draws == 50
    assert judge_checks([OPTIMAL], "fails", "full", 45).findings[0].draws == 45
    with pytest.raises(UsageError, match="no effort 'most'; known: quick, full"):
        judge_checks([OPTIMAL], "fails", "most")
    with pytest.raises(UsageError, match="1 or more"):
        judge_checks([OPTIMAL], "fails", seeds=0)


def test_some_draw_that_shows_it() -> None:
    """Tests that `any` names the draw that shows it, and names none where there is none."""
    shown = Check(**{**OPTIMAL_FIELDS, "says": "any(dl > optimum)", "holds": True})
    (finding,) = judge_checks([shown], "holds").findings
    assert finding.true
    assert "; see lsap,nodes=10,tasks=5 seed " in str(finding)
    none = Check(**{**OPTIMAL_FIELDS, "says": "any(dl < optimum)"})
    assert judge_checks([none], "fails").findings[0].witness == ""


def test_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a row for each instance, of the library, of a family, and of a callable."""
    text = "return optsched.generate('lsap', seed=seed, nodes=nodes, tasks=2)"
    (tmp_path / "small_lsap.py").write_text(f"import optsched\ndef drawn(seed, nodes):\n    {text}\n")
    monkeypatch.syspath_prepend(tmp_path)
    check = Check(
        says="mean(tasks)[0] == 3 > mean(tasks)[1]",
        on=("papers/guo-fig2", "small_lsap:drawn,nodes=4"),
        problem="lsap",
        measure={"tasks": "tasks", "placed": "placed of lsap-sched", "dl": "local of dl"},
        draws=2,
    )
    numbers = judge_checks([check], "holds").findings[0].numbers
    assert numbers["tasks"] == numbers["placed"] == [3, 2]


def test_time_limit() -> None:
    """Tests that the draws that fit into the limit are judged, and that none at all is no judgement."""
    many = Check(**{**OPTIMAL_FIELDS, "draws": 10**6})
    assert 1 <= judge_checks([many], "fails", time_limit=0.2).findings[0].draws < 10**6
    with pytest.raises(OutOfTime, match="no draw was measured within the time limit; give more seconds"):
        judge_checks([many], "fails", time_limit=1e-9)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"judge": "snapshot"}, 'no judge "snapshot"; did you mean "snapshots"'),
        ({"problem": "lsapp"}, "lsapp"),
        ({"problem": "lsap,level=1"}, "level"),
        ({"measure": {"dl": "locality of dl"}}, 'nothing is called "locality"'),
        ({"measure": {"dl": "dll"}}, "dll"),
        ({"on": ("lsapp",)}, "lsapp"),
        ({"on": ("lsap,nodes",)}, "parameters as name=value"),
        ({"on": ("examples/negative-cycle",)}, "it is a network"),
    ],
)
def test_wrong_checks(fields: dict[str, object], expected: str) -> None:
    """Tests that what is wrong with a check is named."""
    with pytest.raises(UsageError, match=expected):
        judge_checks([Check(**{**OPTIMAL_FIELDS, **fields})], "fails")


def test_a_heuristic_without_a_decision() -> None:
    """Tests that a heuristic that starves is no number."""
    starving = {"problem": "transmission-reduces", "measure": {"p": "probabilistic,p_min=0.9"}}
    check = Check(says="p > 0", on=("papers/pna-starvation",), **starving)
    with pytest.raises(HeuristicFailed, match="probabilistic"):
        judge_checks([check], "holds")


def test_shuffle_shares() -> None:
    """Tests that random ratios come no nearer to Figure 3 than the search over all of them says."""
    finding = shuffle_shares(Check(says="shares", holds=False), 1)
    assert not finding.true
    (least,) = finding.numbers["jobs that differ at least"]
    rng = np.random.default_rng(0)
    sizes = np.arange(10, 101, 10)
    for ratios in rng.exponential(2, size=(2000, 3)):
        sent = np.outer(ratios, sizes)
        counts = (sent > 50).sum(), (sent > 100).sum(), (sent < 10).sum()
        assert max(abs(count - expected) for count, expected in zip(counts, (18, 6, 6), strict=True)) >= least
