"""Full judgements that are kept as data: those that are shipped are of today's checks, and agree with the verdicts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from optsched import claims
from optsched.measuring.judging import Check, Claim, claim
from optsched.measuring.judging.kept import digest, judged_in_full, kept_in, shipped

JUDGED = [one for one in claims() if one.checks]


def test_every_claim_with_a_check_was_judged_in_full() -> None:
    """Tests that the shipped file has all claims that have checks, and no other."""
    assert set(shipped()) == {one.id for one in JUDGED}


@pytest.mark.parametrize("one", JUDGED, ids=lambda one: one.id)
def test_full_judgements_agree_with_the_records(one: Claim) -> None:
    """Tests that the full judgement is of the checks of today, and came to the recorded verdict."""
    kept = one.in_full
    assert kept is not None
    again = f"optsched claims {one.id} --judge --effort full --time-limit 60 --keep instances/claims/judged.json"
    assert kept.is_of(one.checks), f"a check has changed: {again}"
    assert kept.holds
    assert kept.verdict == one.verdict
    assert [found.true for found in kept.findings] == [check.holds for check in one.checks]
    assert all(found.draws >= 1 for found in kept.findings)


def test_digest() -> None:
    """Tests that a digest changes with what a check says and measures, not with fields at their defaults."""
    check = Check(says="a < b", measure={"a": "l*"})
    assert digest(check) == digest(Check(says="a < b", measure={"a": "l*"}, draws=1))
    others = [msgspec.structs.replace(check, **{name: value}) for name, value in (("says", "a > b"), ("full", 9))]
    assert len({digest(check), *map(digest, others)}) == 3


def test_claims_with_the_same_checks_are_judged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the second has the judgement of the first, under a verdict of its own."""
    one, other = claim("agosta/3.4-theorem-1"), claim("agosta/4.4-latency-limit")
    assert one.checks == other.checks
    calls = []
    judge = Claim.judge
    monkeypatch.setattr(Claim, "judge", lambda self, *given: calls.append(self.id) or judge(self, *given))
    done = list(judged_in_full([one, other, claim("shen-2016/5-future")], file=tmp_path / "judged.json"))
    assert calls == [one.id]
    assert [kept and kept.verdict for _, kept in done] == [one.verdict, other.verdict]
    assert {name: kept.verdict for name, kept in kept_in(tmp_path / "judged.json").items()} == {
        one.id: one.verdict,
        other.id: other.verdict,
    }
