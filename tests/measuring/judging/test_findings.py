"""Findings and judgements: what they say and hold; what is kept is of today's checks, and agrees with the verdicts."""

from pathlib import Path

import msgspec
import pytest

from optsched import claims
from optsched.measuring import judging
from optsched.measuring.judging import Claim, claim, judged_in_full
from optsched.measuring.judging.findings import Check, Finding, Judgement, digest, kept_in, shipped

CHECK = Check(says="a > b")


def test_in_words() -> None:
    """Tests the line of a finding: the statement, its truth, the means, the draws, and where it is false."""
    assert str(Finding(CHECK, True, {}, 1)) == "a > b: true"
    found = Finding(CHECK, False, {"a": [1, 2.5], "b": [3]}, 20, "lsap seed 3")
    assert str(found) == "a > b: false; a 1, 2.5; b 3; 20 draws; not on lsap seed 3"
    assert not found.kept
    compared = Finding(CHECK, True, {}, 9, differences=[[2, 1.5, 2.5], [0, -1, 1]])
    assert str(compared) == "a > b: true; difference 2 [1.5, 2.5], 0 [-1, 1]; 9 draws"


def test_judgement() -> None:
    """Tests that it holds where every check came out as before, and its JSON."""
    right, wrong = Finding(CHECK, True, {}, 1), Finding(CHECK, False, {"a": [1]}, 2, "x seed 0")
    assert Judgement((right,), "holds").holds
    record = Judgement((right, wrong), "depends").record()
    assert (record["holds"], record["verdict"]) == (False, "depends")
    shown = {"says": "a > b", "true": False, "kept": False, "numbers": {"a": [1]}, "draws": 2, "witness": "x seed 0"}
    assert record["findings"][1] == {**shown, "differences": ()}


JUDGED = [one for one in claims() if one.checks]


def test_every_check_was_judged_in_full() -> None:
    """Tests that the shipped file has all checks, and no other."""
    assert set(shipped()) == {digest(check) for one in JUDGED for check in one.checks}


@pytest.mark.parametrize("one", JUDGED, ids=lambda one: one.id)
def test_full_judgements_agree_with_the_records(one: Claim) -> None:
    """Tests that each check was judged as it is today, and came to what the record says."""
    again = f"optsched claims {one.id} --judge --effort full --time-limit 60 --keep instances/claims/judged.json"
    assert one.in_full, f"a check has changed: {again}"
    assert [kept.true for kept in one.in_full] == [check.holds for check in one.checks]
    for kept, check in zip(one.in_full, one.checks, strict=True):
        assert kept.draws >= 1
        if check.judge == "runs" and check.says.startswith("mean("):
            assert kept.differences, "means of the same seeds are compared by their differences"


def test_digest() -> None:
    """Tests that a digest changes with what a check says and measures, not with fields at their defaults."""
    check = Check(says="a < b", measure={"a": "l*"})
    assert digest(check) == digest(Check(says="a < b", measure={"a": "l*"}, draws=1))
    others = [msgspec.structs.replace(check, **{name: value}) for name, value in (("says", "a > b"), ("full", 9))]
    assert len({digest(check), *map(digest, others)}) == 3


def test_a_check_of_two_claims_is_judged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the second has the findings of the first, under a verdict of its own."""
    one, other = claim("agosta/3.4-theorem-1"), claim("agosta/4.4-latency-limit")
    assert one.checks == other.checks
    kept = []
    fields = judging.fields_of
    monkeypatch.setattr(judging, "fields_of", lambda *given: kept.append(given) or fields(*given))
    done = list(judged_in_full([one, other, claim("shen-2016/5-future")], file=tmp_path / "judged.json"))
    assert len(kept) == len(one.checks)
    assert [judgement and judgement.verdict for _, judgement in done] == [one.verdict, other.verdict]
    assert set(kept_in(tmp_path / "judged.json")) == set(map(digest, one.checks))
