"""Heuristics in pairs: who is better, the signed-rank test, Holm's correction."""

from __future__ import annotations

from itertools import product

import pytest
from report_records import entries, pair, record
from scipy.stats import rankdata

from optsched.showing.comparing import compared, holm, signed_rank


def by_all_signs(differences: list[float]) -> float:
    """The two-sided p of the signed-rank test, from its definition: all changes of sign are as likely."""
    ranks = rankdata([abs(difference) for difference in differences])
    middle = ranks.sum() / 2
    seen = abs(sum(rank for rank, difference in zip(ranks, differences, strict=True) if difference > 0) - middle)
    draws = [
        abs(sum(rank for rank, up in zip(ranks, signs, strict=True) if up) - middle)
        for signs in product((False, True), repeat=len(ranks))
    ]
    return sum(draw >= seen - 1e-9 for draw in draws) / len(draws)


@pytest.mark.parametrize(
    "differences", [[1.0, 2.0, -3.0, 4.0], [1.0, 1.0, 1.0, -1.0, 2.0], [2.0], [3.0, -1.0, 4.0, -1.0, 5.0, 9.0, -2.0]]
)
def test_signed_rank_is_exact(differences: list[float]) -> None:
    """Tests p of few differences, with ties and without, against all changes of sign."""
    p, _, by = signed_rank(differences)
    assert p == pytest.approx(by_all_signs(differences))
    assert by == "exact"


def test_zeros_are_dropped() -> None:
    """Tests that differences of 0 change nothing, and that of many tied ones p is an approximation."""
    assert signed_rank([0.0, 1.0, 0.0, 2.0, -3.0]) == signed_rank([1.0, 2.0, -3.0])
    assert signed_rank([1.0] * 14)[2] == "normal"
    assert signed_rank([]) == (None, None, None)


def test_effect_by_hand() -> None:
    """Tests the rank-biserial correlation: ranks 1, 2, 3 of which 3 is against."""
    assert signed_rank([1.0, 2.0, -3.0])[1] == pytest.approx((1 + 2 - 3) / 6)
    assert signed_rank([-1.0, -2.0])[1] == -1


def test_a_comparison_by_hand() -> None:
    """Tests the counts: an instance where one is infeasible is left out, and one beside an optimum of 0 is no test."""
    rows = pair([4, 2, 8, None, 2], [2, 2, 4, 2, 4])
    rows += [record(3, 0, "z", "dl"), record(1, 0, "z", "fair"), record(9, 2, "alone", "dl")]
    (found,) = compared(entries(rows))
    assert (found.first, found.second) == ("dl", "fair")
    assert (found.pairs, found.left_out) == (5, 1)
    assert (found.first_better, found.equal, found.second_better) == (1, 1, 3)
    assert (found.tested, found.without_gap) == (3, 1)
    assert found.median == 0.5, "of 1, 0, 2 and -1"
    assert found.p == found.adjusted == pytest.approx(by_all_signs([1.0, 2.0, -1.0]))


def test_means_over_seeds() -> None:
    """Tests that an instance is one pair whatever the seeds, and that one infeasible seed leaves it out."""
    rows = [record(value, seed=seed, heuristic=name) for name in ("dl", "fair") for seed, value in enumerate((2, 6))]
    (found,) = compared(entries(rows))
    assert (found.pairs, found.equal, found.p) == (1, 1, None)
    (found,) = compared(entries([*rows, record(None, seed=2)]))
    assert (found.pairs, found.left_out) == (0, 1)
    assert found.median is None


def test_maxima() -> None:
    """Tests that of a maximum the higher value is better."""
    rows = [
        record(value, 10, heuristic=name, sense="max", absolute_gap=10 - value, relative_gap=(10 - value) / 10)
        for name, value in (("dl", 9), ("fair", 5))
    ]
    (found,) = compared(entries(rows))
    assert (found.first_better, found.second_better) == (1, 0)
    assert found.median == pytest.approx(-0.4)


def test_holm_by_hand() -> None:
    """Tests the correction: the smallest times how many there are, never less than one before, at most 1."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([]) == []


def test_every_pair_is_corrected_together() -> None:
    """Tests that three heuristics are three comparisons, and that those without a test do not count."""
    values = {"dl": range(3, 9), "fair": range(4, 10), "rand": range(3, 9)}
    rows = [record(value, 2, str(number), name) for name, known in values.items() for number, value in enumerate(known)]
    found = {(entry.first, entry.second): entry for entry in compared(entries(rows))}
    assert found["dl", "rand"].p is None
    assert found["dl", "rand"].adjusted is None
    first = found["dl", "fair"]
    assert first.p is not None
    assert first.adjusted == pytest.approx(2 * first.p)
    assert first.effect == -1


def test_nothing_in_common() -> None:
    """Tests that heuristics on other instances are not compared."""
    assert compared(entries([record(instance="a"), record(instance="b", heuristic="fair")])) == []
