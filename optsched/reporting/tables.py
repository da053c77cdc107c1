"""The tables of a problem, and of all: from runs to cells of text. Nothing is dropped without being counted."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Sequence

from optsched.brief import counted
from optsched.drawing.gaps import ratios, runs_of
from optsched.reporting.comparing import compared
from optsched.reporting.content import Cell, Table, counts, seconds, share, texts
from optsched.reporting.entries import Entry, frame
from optsched.studies.summing import LEAST, ProblemSummary, Row

__all__ = ["WITHOUT", "comparisons", "distribution", "gaps", "overview", "profile", "proofs", "times"]

#: What a run without a relative gap is called, by its field of a summary.
WITHOUT = {
    "infeasible": "infeasible",
    "starved": "starved",
    "failed": "failed",
    "out_of_time": "out of time",
    "out_of_memory": "out of memory",
    "crashed": "crashed",
    "beside_zero": "over 0",
    "unknown": "unknown",
}

#: Gaps and factors at which a distribution and a profile are read.
_GAPS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
_FACTORS = (1.0, 1.01, 1.05, 1.1, 1.25, 1.5, 2.0, 4.0)


def overview(parts: Sequence[ProblemSummary]) -> Table:
    """Mean gaps: a row a heuristic, a column a problem."""
    rows_of = [({row.heuristic: row for row in part.rows}, part.instances) for part in parts]
    heuristics = list(dict.fromkeys(name for rows, _ in rows_of for name in rows))

    def cell(row: Row | None, instances: int) -> Cell:
        if row is None:
            return Cell("", None)
        if row.mean is None:
            return Cell(_without(row) or "-", None)
        of = "" if row.counted == instances else f" ({row.counted}/{instances})"
        return Cell(share(row.mean).shown + of, row.mean)

    rows = [[*texts(name), *(cell(of.get(name), count) for of, count in rows_of)] for name in heuristics]
    note = (
        "Mean relative gap over the instances; (3/4): over 3 of the 4 instances, as the heuristic was not run "
        "on the others, or has no relative gap there. Means over different instances do not compare; the heuristics in "
        "pairs do. A word: no run has a gap. Empty: not run there."
    )
    columns = tuple(part.problem for part in parts)
    return Table("overview", "Mean gaps at a glance", ("heuristic", *columns), frozenset(columns), rows, note)


def proofs(parts: Sequence[ProblemSummary]) -> Table:
    """How many references are an optimum with each kind of proof: a row a problem."""
    kinds = list(dict.fromkeys(kind for part in parts for kind in part.proofs))
    rows = []
    for part in parts:
        cells = [_of(part.proofs.get(kind, 0), part.instances) for kind in kinds]
        rows.append([*texts(part.problem), *counts(part.instances), *cells])
    note = (
        "Each instance (and wave) counts once. dual, combinatorial: a certificate that anybody can check; enumeration: "
        "all placements were tried; solver: a solver's word. bound: no optimum is proved, and gaps are upper limits of "
        "the true ones; unknown: there is no reference."
    )
    named = {"bound": "bound only"}
    columns = ("problem", "instances", *(named.get(kind, kind) for kind in kinds))
    return Table("proofs", "Optima by kind of proof", columns, frozenset(columns[1:]), rows, note)


def gaps(part: ProblemSummary) -> Table:
    """A row a heuristic: how often the optimum is met, median, mean with its interval and worst, and what has none."""
    lacking = [name for name in WITHOUT if any(getattr(row, name) for row in part.rows)]
    rows = []
    for row in part.rows:
        half = Cell("-", None) if row.half_width is None else share(row.half_width)
        cells = [_of(row.optimal, row.runs), *counts(row.counted), *map(share, (row.median, row.mean))]
        cells += [Cell(f"±{half.shown}" if half.value is not None else "-", half.value), share(row.worst)]
        cells += [*counts(*(getattr(row, name) for name in lacking)), *texts(row.worst_on or "")]
        rows.append([*texts(row.heuristic), *counts(row.instances, row.runs), *cells])
    columns: tuple[str, ...] = (
        "heuristic",
        "instances",
        "runs",
        "at optimum",
        "with gap",
        "median",
        "mean",
        "95 % interval",
        "worst",
    )
    columns += (*(WITHOUT[name] for name in lacking), "worst on")
    note = (
        f"Relative gaps in {part.component}. An instance counts once, with the mean of its runs; median, mean and the "
        "interval are over the instances "
        f"with gap. The interval is Student's t over instances, from {LEAST} on: it speaks of instances drawn like "
        "these, and says little where they were chosen by hand."
    )
    if "beside_zero" in lacking:
        note += " Over 0 are runs above an optimum of 0, of which no per cent can be told."
    if lacking:
        words = [WITHOUT[name] for name in lacking]
        listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
        note += f" Runs under {listed} are in no median, mean or worst."
    numbers = frozenset(columns) - {"heuristic", "worst on"}
    return Table(f"gaps-{part.problem}", f"Gaps in {part.problem}", columns, numbers, rows, note)


def distribution(entries: Sequence[Entry]) -> Table:
    """The share of all runs of each heuristic whose gap is at most so much."""
    problem = entries[0].problem
    rows = []
    (panel,) = runs_of(frame(entries)).values()
    for name, runs in panel.items():
        cells = [_of(sum(value <= limit for value in runs.values), runs.count) for limit in _GAPS]
        beyond = sum(value > _GAPS[-1] for value in runs.values)
        rows.append([*texts(name), *counts(runs.count), *cells, *counts(beyond), *texts(runs.lacking())])
    limits = tuple("0" if not limit else f"≤ {100 * limit:g} %" for limit in _GAPS)
    columns = ("heuristic", "runs", *limits, "more", "without gap")
    note = "Of all runs, those without a relative gap too: they are within no limit, and the last column counts them."
    numbers = frozenset(columns) - {"heuristic", "without gap"}
    return Table(f"distribution-{problem}", f"Distribution of gaps in {problem}", columns, numbers, rows, note)


def profile(entries: Sequence[Entry]) -> Table:
    """Performance profiles (Dolan and Moré 2002), read at some factors."""
    problem = entries[0].problem
    rows = []
    (panel,) = ratios(frame(entries)).values()
    for name, runs in panel.items():
        cells = [_of(sum(value <= factor for value in runs.values), runs.count) for factor in _FACTORS]
        beyond = sum(value > _FACTORS[-1] for value in runs.values)
        rows.append([*texts(name), *counts(runs.count), *cells, *counts(beyond), *texts(runs.lacking())])
    columns = ("heuristic", "runs", *(f"≤ {factor:g}" for factor in _FACTORS), "more", "no ratio")
    note = (
        "Dolan and Moré 2002: the share of a heuristic's runs whose value is at most so many times the best value that "
        "any heuristic here found on the same instance with the same seed. Where that best is 0, "
        "a value of 0 has ratio 1 and any other is reached by no factor (over 0). Runs without a value are within no "
        "factor. Which heuristics take part changes the curves of the others."
    )
    numbers = frozenset(columns) - {"heuristic", "no ratio"}
    return Table(f"profile-{problem}", f"Performance profile in {problem}", columns, numbers, rows, note)


def comparisons(entries: Sequence[Entry]) -> Table | None:
    """Heuristics in pairs: who is better how often, and the signed-rank test; None where there are no two."""
    problem = entries[0].problem
    rows = []
    tests = 0
    for found in compared(entries):
        cells = counts(found.pairs, found.first_better, found.equal, found.second_better, found.left_out)
        cells += [share(found.median), *counts(found.tested)]
        cells += [_p(found.p, found.by), _p(found.adjusted), _effect(found.effect)]
        rows.append([*texts(found.first, found.second), *cells])
        tests += found.p is not None
    if not rows:
        return None
    columns: tuple[str, ...] = (
        "first",
        "second",
        "pairs",
        "first better",
        "equal",
        "second better",
        "left out",
        "median difference",
    )
    columns += ("tested", "p", "p (Holm)", "effect")
    note = (
        "A pair is an instance where all runs of both heuristics have a value; better is the lower (of a maximum the "
        "higher) mean over the seeds; left out are instances of both where some run has no value. Wilcoxon's "
        "signed-rank test asks whether the differences of relative gaps (first less second) lie evenly about 0; it "
        "drops differences of 0, and those beside an optimum of 0, so that it is over the pairs tested. Ties share "
        "their ranks. p is exact (all signs tried) for 50 differences without ties or 13 with ties, else the normal "
        f"approximation (~). Holm's correction is over the {counted(tests, 'test')} of this problem. Effect: "
        "rank-biserial correlation, -1 where the first is better wherever they differ, 1 where the second is. With "
        "fewer than 6 tested pairs p cannot be below 0.05. A large p does not show that two are equal, and none of "
        "this holds beyond instances drawn like these."
    )
    numbers = frozenset(columns) - {"first", "second"}
    title = f"Heuristics compared in pairs in {problem}"
    return Table(f"pairs-{problem}", title, columns, numbers, rows, note)


def times(entries: Sequence[Entry]) -> Table:
    """Seconds of each heuristic, and of the references."""
    problem = entries[0].problem
    rows = []
    by_heuristic: dict[str, list[float | None]] = {}
    references: dict[Hashable, float | None] = {}
    for entry in entries:
        by_heuristic.setdefault(entry.heuristic, []).append(entry.record.heuristic_seconds)
        parts = (entry.record.build_seconds, entry.record.solve_seconds)
        references[entry.reference] = None if None in parts else sum(part or 0 for part in parts)
    for name, measured in (("the reference (build and solve)", list(references.values())), *by_heuristic.items()):
        known = sorted(value for value in measured if value is not None)
        told = (statistics.median, statistics.fmean, max, sum)
        cells = [seconds(function(known) if known else None) for function in told]
        rows.append([*texts(name), *counts(len(known)), *cells])
    columns = ("heuristic", "runs", "median s", "mean s", "longest s", "all s")
    note = "Wall-clock seconds, as recorded: comparable where the runs were on one machine that did little else."
    return Table(f"times-{problem}", f"Times in {problem}", columns, frozenset(columns[1:]), rows, note)


# Cells ------------------------------------------------------------------------------------------------------------


def _of(part: int, whole: int) -> Cell:
    """So many of all, sorted by their share."""
    return Cell(f"{part}/{whole}", part / whole if whole else None)


def _without(row: Row) -> str:
    return ", ".join(told for name, told in WITHOUT.items() if getattr(row, name))


def _p(value: float | None, by: str | None = None) -> Cell:
    if value is None:
        return Cell("-", None)
    told = "< 0.0001" if value < 1e-4 else f"{value:.2g}"
    return Cell(f"~ {told}" if by == "normal" else told, value)


def _effect(value: float | None) -> Cell:
    return Cell("-", None) if value is None else Cell(f"{value + 0.0:.2f}", value)
