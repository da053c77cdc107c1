"""Full judgements that are kept as data: those that are shipped are of today's checks, and agree with the verdicts."""

from pathlib import Path

import msgspec
import pytest

from optsched import claims
from optsched.measuring import judging
from optsched.measuring.judging import Check, Claim, claim, judged_in_full
from optsched.measuring.judging.kept import digest, kept_in, shipped

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
