"""The tables of a report: of a problem and of all, of single runs, frontiers and matrices.

Nothing is left out without being counted.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.results import Value
from optsched.measuring.printing import Cell, Table, counts, figures, seconds, share
from optsched.measuring.records import OVER_ZERO, WITHOUT, Record, Run, frame_of, legend, matrix_table
from optsched.measuring.studies.commands import of_record
from optsched.measuring.studies.tables import LEAST, ProblemSummary, Row
from optsched.showing.gaps import Panels, ratios, runs_of
from optsched.showing.sources import FrontierRecord

#: Gaps and factors at which a distribution and a profile are tabulated.
_GAPS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
_FACTORS = (1.0, 1.01, 1.05, 1.1, 1.25, 1.5, 2.0, 4.0)


def overview(parts: Sequence[ProblemSummary]) -> Table:
    """Mean gaps: one row for each heuristic, one column for each problem."""
    rows_of = [({row.heuristic: row for row in part.rows}, part.instances) for part in parts]
    heuristics = list(dict.fromkeys(name for rows, _ in rows_of for name in rows))

    def cell(row: Row | None, instances: int) -> Cell:
        if row is None:
            return Cell("")
        if row.mean is None:
            return Cell(", ".join(text for name, text in WITHOUT.items() if getattr(row, name)) or "-")
        of = "" if row.counted == instances else f" ({row.counted}/{instances})"
        return Cell(share(row.mean) + of, row.mean)

    rows = [[name, *(cell(of.get(name), count) for of, count in rows_of)] for name in heuristics]
    note = (
        "Mean relative gap over the instances. (3/4): over 3 of the 4 instances, because the heuristic was not run on "
        "the others or has no relative gap there. Do not compare means over different instances; use the pairs of "
        "heuristics. A word instead of a number says why no run has a gap. Empty: not run."
    )
    columns = tuple(part.problem for part in parts)
    return Table(("heuristic", *columns), rows, frozenset(columns), "overview", "Mean gaps at a glance", note)


def proofs(parts: Sequence[ProblemSummary]) -> Table:
    """How many references are an optimum with each kind of proof: one row for each problem."""
    kinds = dict.fromkeys(kind for part in parts for kind in part.proofs)
    called = {kind: "bound only" if kind == "bound" else kind for kind in kinds}
    rows: list[dict[str, str | int]] = [
        {
            "problem": part.problem,
            "instances": part.instances,
            **{name: _of(part.proofs.get(kind, 0), part.instances) for kind, name in called.items()},
        }
        for part in parts
    ]
    note = (
        "Each instance (and wave) counts once. dual, combinatorial: a certificate that can be checked without the "
        "solver; enumeration: all placements were tried; solver: only the solver claims it. bound: no optimum is "
        "proved, and gaps are upper limits of the true ones; unknown: there is no reference."
    )
    return Table.of(rows, ["problem"], key="proofs", title="Optima by kind of proof", note=note)


def gaps(part: ProblemSummary) -> Table:
    """One row for each heuristic: share of optima, median, mean with interval and worst gap, and runs without a gap."""
    lacking = [name for name in WITHOUT if any(getattr(row, name) for row in part.rows)]
    rows = []
    for row in part.rows:
        half = share(row.half_width)
        cells: dict[str, str | int] = {
            "heuristic": row.heuristic,
            "instances": row.instances,
            "runs": row.runs,
            "at optimum": _of(row.optimal, row.runs),
            "with gap": row.counted,
            "median": share(row.median),
            "mean": share(row.mean),
            "95 % interval": Cell("-" if half.value is None else f"±{half}", half.value),
            "worst": share(row.worst),
            **{WITHOUT[name]: getattr(row, name) for name in lacking},
            "worst on": row.worst_on or "",
        }
        rows.append(cells)
    note = (
        f"Relative gaps in {part.component}. An instance counts once, with the mean of its runs; median, mean and the "
        "interval are over the instances "
        f"with gap. The interval is Student's t over instances, from {LEAST} on: it holds for instances drawn like "
        "these, and says little about instances chosen by hand."
    )
    if "over_zero" in lacking:
        note += f" {OVER_ZERO[0].upper()}{OVER_ZERO[1:]}."
    if lacking:
        words = [WITHOUT[name] for name in lacking]
        listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
        note += f" Runs under {listed} are in no median, mean or worst."
    title = f"Gaps in {part.problem}"
    return Table.of(rows, ("heuristic", "worst on"), key=f"gaps-{part.problem}", title=title, note=note)


def distribution(entries: Sequence[Run]) -> Table:
    """The share of all runs of each heuristic whose gap is at most each limit."""
    problem = entries[0].problem
    note = "Shares of all runs. Runs without a relative gap are within no limit; the last column counts them."
    limits = {"0" if not limit else f"≤ {100 * limit:g} %": limit for limit in _GAPS}
    title = f"Distribution of gaps in {problem}"
    return _reached(runs_of(frame_of(entries)), limits, "without gap", f"distribution-{problem}", title, note)


def profile(entries: Sequence[Run]) -> Table:
    """Performance profiles (Dolan and Moré 2002), at some factors."""
    problem = entries[0].problem
    note = (
        "Dolan and Moré 2002: the share of a heuristic's runs whose value is within this factor of the best value that "
        "any heuristic here found on the same instance with the same seed. If that best is 0, a value of 0 has ratio 1 "
        "and any other value is within no factor (over 0). Runs without a value are within no factor. The curves of a "
        "heuristic depend on the others that take part."
    )
    limits = {f"≤ {factor:g}": factor for factor in _FACTORS}
    title = f"Performance profile in {problem}"
    return _reached(ratios(frame_of(entries)), limits, "no ratio", f"profile-{problem}", title, note)


def _reached(panels: Panels, limits: Mapping[str, float], without: str, key: str, title: str, note: str) -> Table:
    """How many runs of each heuristic are within each limit, in one problem."""
    (panel,) = panels.values()
    rows: list[dict[str, str | int]] = [
        {
            "heuristic": name,
            "runs": runs.count,
            **{text: _of(sum(value <= most for value in runs.values), runs.count) for text, most in limits.items()},
            "more": sum(value > max(limits.values()) for value in runs.values),
            without: runs.lacking(),
        }
        for name, runs in panel.items()
    ]
    return Table.of(rows, ("heuristic", without), key=key, title=title, note=note)


def comparisons(entries: Sequence[Run]) -> Table | None:
    """Heuristics in pairs: how often each is better, and the signed-rank test; None if there are no two."""
    by_heuristic: dict[str, dict[Hashable, list[Run]]] = {}
    for entry in entries:
        by_heuristic.setdefault(entry.heuristic, {}).setdefault(entry.reference, []).append(entry)
    rows: list[dict[str, Any]] = []
    for (first, ours), (second, theirs) in combinations(by_heuristic.items(), 2):
        common = [(ours[key], theirs[key]) for key in ours if key in theirs]
        if common:
            rows.append({"first": first, "second": second, **_pair(common)})
    if not rows:
        return None
    tested = [row for row in rows if row["p"].value is not None]
    for row, adjusted in zip(tested, holm([row["p"].value for row in tested]), strict=True):
        row["p (Holm)"] = _p(adjusted)
    note = (
        "A pair is an instance where all runs of both heuristics have a value. The better one has the lower mean over "
        "the seeds (the higher one of a maximum). Instances where some run has no value are left out. Wilcoxon's "
        "signed-rank test asks whether the differences of relative gaps (first less second) lie evenly around 0. It "
        "drops differences of 0 and runs over 0; the rest are the pairs tested. Ties share their ranks. p is exact "
        "(all signs tried) for 50 differences without ties or 13 with ties, else the normal "
        f"approximation (~). Holm's correction is over the {counted(len(tested), 'test')} of this problem. Effect: "
        "rank-biserial correlation: -1 if the first is better wherever they differ, 1 if the second is. With "
        "fewer than 6 tested pairs p cannot be below 0.05. A large p does not show that two are equal, and none of "
        "this holds beyond instances drawn like these."
    )
    problem = entries[0].problem
    title = f"Heuristics compared in pairs in {problem}"
    return Table.of(rows, ("first", "second"), key=f"pairs-{problem}", title=title, note=note)


def times(entries: Sequence[Run]) -> Table:
    """Seconds of each heuristic, and of the references."""
    problem = entries[0].problem
    rows: list[dict[str, str | int]] = []
    by_heuristic: dict[str, list[float | None]] = {}
    references: dict[Hashable, float | None] = {}
    for entry in entries:
        by_heuristic.setdefault(entry.heuristic, []).append(entry.record.heuristic_seconds)
        parts = (entry.record.build_seconds, entry.record.solve_seconds)
        references[entry.reference] = None if None in parts else sum(part or 0 for part in parts)
    for name, measured in (("the reference (build and solve)", list(references.values())), *by_heuristic.items()):
        known = sorted(value for value in measured if value is not None)
        cells = [seconds(of(known) if known else None) for of in (statistics.median, statistics.fmean, max, sum)]
        columns = ("median s", "mean s", "longest s", "all s")
        rows.append({"heuristic": name, "runs": len(known), **dict(zip(columns, cells, strict=True))})
    note = "Wall-clock seconds, as recorded: comparable if the runs were on one machine with little other load."
    return Table.of(rows, ["heuristic"], key=f"times-{problem}", title=f"Times in {problem}", note=note)


# Instances and runs -----------------------------------------------------------------------------------------------


def instances(entries: Sequence[Run]) -> Table:
    """One row for each instance: its reference, and the mean gap of each heuristic over the seeds."""
    problem = entries[0].problem
    heuristics = list(dict.fromkeys(entry.heuristic for entry in entries))
    by_reference: dict[Hashable, dict[str, list[Run]]] = {}
    for entry in entries:
        by_reference.setdefault(entry.reference, {}).setdefault(entry.heuristic, []).append(entry)
    rows = []
    for held in by_reference.values():
        first = next(iter(held.values()))[0]
        cells = [_mean_gap(held.get(name, ())) for name in heuristics]
        rows.append([first.instance, figures(first.best), first.proof, *cells])
    columns = ("instance", "reference", "proof", *heuristics)
    note = (
        f"Mean relative gaps in {entries[0].component} over the seeds; +3: a mean difference, where the reference is "
        "0. A word says why there is none. (2/5): over 2 of 5 runs, because the others have none."
    )
    numbers = frozenset(columns) - {"instance", "proof"}
    return Table(columns, rows, numbers, f"instances-{problem}", f"Each instance in {problem}", note, everywhere=False)


def failures(entries: Sequence[Run]) -> Table:
    """Each run without a feasible placement, and its record."""
    rows = []
    for entry in entries:
        if entry.status == "done":
            continue
        record = entry.record
        reason = record.error or "; ".join(map(_violation, record.violations[:5]))
        cells = [entry.instance, entry.problem, entry.heuristic]
        cells += [*counts(record.seed), entry.status.replace("-", " "), reason, _again(record)]
        rows.append(cells)
    columns = ("instance", "problem", "heuristic", "seed", "what", "message", "reproduce it")
    note = "These runs count in every table, but in no mean."
    title = "Runs without a feasible placement"
    return Table(columns, rows, frozenset({"seed"}), "failures", title, note, everywhere=False)


def _again(record: Record) -> Cell:
    """The command that makes a run again."""
    command = of_record(record)
    return Cell(command, command, again=True)


def all_runs(entries: Sequence[Run]) -> Table:
    """Each run, the largest gaps first: value, reference, gap, and the command that makes it again."""
    rows = []

    def severity(entry: Run) -> tuple[bool, bool, float]:
        return entry.status != "done", entry.outcome == "over_zero", entry.relative or 0

    for entry in sorted(entries, key=severity, reverse=True):
        record = entry.record
        cells: dict[str, str | int] = {
            "instance": entry.instance,
            "problem": entry.problem,
            "heuristic": entry.heuristic,
            "seed": record.seed,
            "what": entry.status.replace("-", " "),
            "value": _several(record.of_each("objective")),
            "reference": _several(record.of_each("reference")),
            "proof": entry.proof,
            "difference": Cell(figures(entry.absolute), entry.absolute),
            "gap": share(entry.relative),
            "seconds": seconds(record.heuristic_seconds),
            "reproduce it": _again(record),
        }
        rows.append(cells)
    texts = ("instance", "problem", "heuristic", "what", "proof", "reproduce it")
    note = (
        "Runs without a feasible placement come first, then runs over 0, then the largest gaps. Difference "
        "and gap are of the first component. Commas separate the values of several components."
    )
    return Table.of(rows, texts, key="runs", title="All runs", note=note, everywhere=False)


# Frontiers and matrices -------------------------------------------------------------------------------------------


def frontier(number: int, found: FrontierRecord, entries: Sequence[Run]) -> Table:
    """The points of a frontier, and the recorded values of heuristics on the same problem and instance."""
    rows = [["frontier", *map(figures, point.objective), str(point.certificate)] for point in found.points]
    for name, value in reached(found, entries).items():
        shown = [Cell("-")] * len(found.components) if isinstance(value, str) else [*map(figures, map(float, value))]
        rows.append([name, *shown, value if isinstance(value, str) else ""])
    columns = ("point of", *found.components, "proof")
    note = "All Pareto-optimal points." if found.complete else f"Not complete: {found.limit or 'a point'} cut it short."
    title = f"Frontier of {found.problem} on {found.instance or 'instance'}"
    return Table(columns, rows, frozenset(found.components), f"frontier-{number}", title, note)


def reached(found: FrontierRecord, entries: Sequence[Run]) -> dict[str, Value | str]:
    """The values of heuristics on the problem of a frontier, equal ones once: a value, or the fate of a run."""
    results: dict[str, dict[Value | str, int]] = {}
    for entry in entries:
        record = entry.record
        if (record.instance, record.problem, record.parameters) == (found.instance, found.problem, found.parameters):
            known = tuple(Fraction(part) for part in record.of_each("objective") if part is not None)
            complete = entry.status == "done" and len(known) == len(found.components)
            results.setdefault(entry.heuristic, {}).setdefault(known if complete else entry.status, record.seed)
    return {
        name if len(held) == 1 else f"{name}, seed {seed}": value
        for name, held in results.items()
        for value, seed in held.items()
    }


def matrices(cells: Iterable[Record]) -> list[Table]:
    """A matrix for each instance (and seed): one row for each heuristic, one column for each problem."""
    grouped: dict[tuple[str, str, int], list[Run]] = {}
    for record in cells:
        grouped.setdefault((record.instance, record.instance_sha256, record.seed), []).append(Run(record))
    seeds = len({seed for _, _, seed in grouped}) > 1
    tables = []
    for number, ((instance, _, seed), found) in enumerate(grouped.items(), 1):
        note = (
            "Each heuristic judged by each problem, against its own optimum: a relative gap, a difference over 0 (+3), "
            "or why there is none (the constraint that is violated). "
        ) + ". ".join([*legend(found), ""])
        title = f"Gap matrix of {instance or 'instance'}" + (f", seed {seed}" if seeds else "")
        tables.append(replace(matrix_table(found), key=f"matrix-{number}", title=title, note=note.strip()))
    return tables


# Cells ------------------------------------------------------------------------------------------------------------


def _of(part: int, total: int) -> Cell:
    """A part of all, sorted by its share."""
    return Cell(f"{part}/{total}", part / total if total else None)


def _p(value: float | None, by: str | None = None) -> Cell:
    if value is None:
        return Cell("-")
    text = "< 0.0001" if value < 1e-4 else f"{value:.2g}"
    return Cell(f"~ {text}" if by == "normal" else text, value)


def _mean_gap(runs: Sequence[Run]) -> Cell:
    """The mean over the seeds of an instance, or why there is none."""
    if not runs:
        return Cell("")
    known = [entry for entry in runs if entry.outcome in ("optimal", "above", "over_zero")]
    if not known:
        return Cell(", ".join(dict.fromkeys(WITHOUT[entry.outcome] for entry in runs)))
    of = "" if len(known) == len(runs) else f" ({len(known)}/{len(runs)})"
    if any(entry.relative is None for entry in known):
        mean = statistics.fmean(entry.absolute or 0 for entry in known)
        return Cell(f"+{figures(mean)}{of}")
    mean = statistics.fmean(entry.relative or 0 for entry in known)
    return Cell(share(mean) + of, mean)


def _several(known: Sequence[float | None]) -> Cell:
    return Cell(", ".join(figures(part) for part in known), known[0])


def _violation(wrong: Mapping[str, object]) -> str:
    ids = wrong.get("ids")
    named = f"({', '.join(map(str, ids))})" if isinstance(ids, list) and ids else ""
    return f"{wrong.get('constraint', 'infeasible')}{named} by {wrong.get('amount')}"


# Comparisons in pairs ------------------------------------------------------------------------------------------------
#
# A pair is an instance on which each run of both heuristics has a value. The better heuristic there has the better mean
# of values over the seeds. The test is of the differences of the mean relative gaps, on the pairs where all runs of
# both have one. Wilcoxon's test (1945) drops differences of 0; ties of the others share their ranks. Holm's correction
# (1979) keeps the level of all comparisons of a problem together. The effect is the rank-biserial correlation of
# matched pairs (Kerby 2014): the ranks in favour of the second less those in favour of the first, as a share of all.

#: Differences that agree in this many digits after the point are equal: means of doubles are not exact.
_DIGITS = 12

#: The most differences with an exact distribution: without ties, and with ties.
_EXACT, _EXACT_TIED = 50, 13


def _pair(common: Sequence[tuple[list[Run], list[Run]]]) -> dict[str, Any]:
    """The cells of two heuristics, from their runs on common instances."""
    better, differences = Counter[int](), []
    for ours, theirs in common:
        values = [_mean([run.objective if run.status == "done" else None for run in runs]) for runs in (ours, theirs)]
        gaps = [_mean([run.relative for run in runs]) for runs in (ours, theirs)]
        if values[0] is None or values[1] is None:
            continue
        difference = round(values[0] - values[1], _DIGITS) * (-1 if ours[0].maximum else 1)
        better[(difference > 0) - (difference < 0)] += 1
        if gaps[0] is not None and gaps[1] is not None:
            differences.append(round(gaps[0] - gaps[1], _DIGITS))
    p, effect, by = signed_rank(differences)
    return {
        "pairs": better.total(),
        "first better": better[-1],
        "equal": better[0],
        "second better": better[1],
        "left out": len(common) - better.total(),
        "median difference": share(statistics.median(differences) if differences else None),
        "tested": sum(difference != 0 for difference in differences),
        "p": _p(p, by),
        "p (Holm)": _p(None),
        "effect": Cell("-" if effect is None else f"{effect + 0.0:.2f}", effect),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known and len(known) == len(values) else None


def signed_rank(differences: Sequence[float]) -> tuple[float | None, float | None, str | None]:
    """Wilcoxon's test whether differences lie evenly about 0: p (two-sided), effect, and the method for p.

    Differences of 0 are dropped; if no other is left, there is nothing to test. p is exact up to 50 differences without
    ties, and up to 13 with ties (all changes of sign are tried); else it is the normal approximation with its
    correction for ties.
    """
    moved = [difference for difference in differences if difference]
    if not moved:
        return None, None, None
    from scipy.stats import PermutationMethod, rankdata, wilcoxon

    sizes = np.abs(moved)
    above = float(rankdata(sizes)[np.array(moved) > 0].sum())
    total = len(moved) * (len(moved) + 1) / 2
    tied = len(np.unique(sizes)) < len(sizes)
    exact = len(moved) <= (_EXACT_TIED if tied else _EXACT)
    method: Any = "exact" if exact else "asymptotic"
    if exact and tied:
        method = PermutationMethod(n_resamples=2 ** (_EXACT_TIED + 1))  # more than there are: all of them
    p = float(wilcoxon(moved, method=method).pvalue)
    return p, 2 * above / total - 1, "exact" if exact else "normal"


def holm(values: Sequence[float]) -> list[float]:
    """P values after Holm's correction (1979), in their order."""
    order, adjusted = np.argsort(values, kind="stable"), np.empty(len(values))
    factors = np.arange(len(values), 0, -1)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(factors * np.asarray(values)[order]))
    return adjusted.tolist()
