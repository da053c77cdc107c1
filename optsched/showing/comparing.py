"""Heuristics compared in pairs, instance by instance: who is better how often, and Wilcoxon's signed-rank test.

A pair is an instance on which each run of both heuristics has a value. Who is better there is told by the means of the
values over the seeds. Tested are the differences of the mean relative gaps, on the pairs where all runs of both have
one. Wilcoxon's test (1945) drops differences of 0; ties of the others share their ranks. The level of all comparisons
of a problem together is kept by Holm's correction (1979). The effect is the rank-biserial correlation of matched pairs
(Kerby 2014): the ranks in favour of the second less those in favour of the first, as a share of all.
"""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from optsched.measuring.records import Run

__all__ = ["Comparison", "compared", "holm", "signed_rank"]

#: Differences that agree in so many digits after the point are equal: means of doubles are not exact.
_DIGITS = 12

#: Up to so many differences without ties the distribution is exact; with ties, up to so many.
_EXACT, _EXACT_TIED = 50, 13


@dataclass(frozen=True)
class Comparison:
    """Two heuristics in one problem.

    Attributes
    ----------
    first, second
        What they are called.
    pairs
        Instances on which all runs of both have a value.
    left_out
        Instances of both that are no pair: some run failed or was infeasible.
    first_better, equal, second_better
        Of the pairs, by the mean value over the seeds.
    tested
        Pairs with relative gaps that differ.
    without_gap
        Pairs that are not tested since a gap has no share: over 0, or unknown.
    median
        Of the differences of the relative gaps (first less second) on the pairs that have them, those of 0 too.
    p, adjusted
        Of the test, and after Holm's correction; None where nothing differs.
    effect
        From -1 (the first is better wherever they differ) to 1 (the second is).
    by
        How p was found: `exact` or `normal`.
    """

    first: str
    second: str
    pairs: int
    left_out: int
    first_better: int
    equal: int
    second_better: int
    tested: int
    without_gap: int
    median: float | None
    p: float | None
    adjusted: float | None
    effect: float | None
    by: str | None


def compared(entries: Iterable[Run]) -> list[Comparison]:
    """Every two heuristics of a problem, in order of appearance; `entries` are of one problem.

    Heuristics that share no instance are not compared.
    """
    by_heuristic: dict[str, dict[Hashable, list[Run]]] = {}
    for entry in entries:
        by_heuristic.setdefault(entry.heuristic, {}).setdefault(entry.reference, []).append(entry)
    found = []
    for (first, ours), (second, theirs) in combinations(by_heuristic.items(), 2):
        common = [(ours[key], theirs[key]) for key in ours if key in theirs]
        if common:
            found.append(_comparison(first, second, common))
    adjusted = iter(holm([entry.p for entry in found if entry.p is not None]))
    return [entry if entry.p is None else replace(entry, adjusted=next(adjusted)) for entry in found]


def _comparison(first: str, second: str, common: Sequence[tuple[list[Run], list[Run]]]) -> Comparison:
    better = {-1: 0, 0: 0, 1: 0}
    pairs = 0
    differences: list[float] = []
    for ours, theirs in common:
        means = [
            _mean([entry.objective if entry.status == "done" else None for entry in runs]) for runs in (ours, theirs)
        ]
        if means[0] is None or means[1] is None:
            continue
        pairs += 1
        difference = round(means[0] - means[1], _DIGITS) * (-1 if ours[0].maximum else 1)
        better[(difference > 0) - (difference < 0)] += 1
        gaps = [_mean([entry.relative for entry in runs]) for runs in (ours, theirs)]
        if gaps[0] is not None and gaps[1] is not None:
            differences.append(round(gaps[0] - gaps[1], _DIGITS))
    p, effect, by = signed_rank(differences)
    return Comparison(
        first,
        second,
        pairs,
        len(common) - pairs,
        better[-1],
        better[0],
        better[1],
        sum(difference != 0 for difference in differences),
        pairs - len(differences),
        statistics.median(differences) if differences else None,
        p,
        None,
        effect,
        by,
    )


def _value(entry: Run) -> float | None:
    return entry.objective if entry.status == "done" else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None


def signed_rank(differences: Sequence[float]) -> tuple[float | None, float | None, str | None]:
    """Wilcoxon's test whether differences lie evenly about 0: p (two-sided), effect, and how p was found.

    Differences of 0 are dropped; where no other is, there is nothing to test. p is exact up to 50 differences without
    ties, and up to 13 with ties (all changes of sign are tried); else the normal approximation with its correction for
    ties.

    Examples
    --------
    >>> signed_rank([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    (0.03125, 1.0, 'exact')
    >>> signed_rank([0.0, 0.0])
    (None, None, None)
    """
    moved = [difference for difference in differences if difference]
    if not moved:
        return None, None, None
    from scipy.stats import PermutationMethod, rankdata, wilcoxon

    sizes = [abs(difference) for difference in moved]
    ranks = rankdata(sizes)
    above = float(sum(rank for rank, difference in zip(ranks, moved, strict=True) if difference > 0))
    total = len(moved) * (len(moved) + 1) / 2
    tied = len(set(sizes)) < len(sizes)
    exact = len(moved) <= (_EXACT_TIED if tied else _EXACT)
    method: Any = "exact" if exact else "asymptotic"
    if exact and tied:
        method = PermutationMethod(n_resamples=2 ** (_EXACT_TIED + 1))  # more than there are: all of them
    p = float(wilcoxon(moved, method=method).pvalue)
    return p, 2 * above / total - 1, "exact" if exact else "normal"


def holm(values: Sequence[float]) -> list[float]:
    """P values after Holm's correction (1979), in their order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(values)
    largest = 0.0
    for rank, position in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, min(1.0, (len(values) - rank) * values[position]))
        adjusted[position] = largest
    return adjusted
