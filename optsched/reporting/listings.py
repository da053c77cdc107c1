"""Tables of single instances and runs: what is too long for a paper, and what failed."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Mapping, Sequence

from optsched.reporting.commands import again
from optsched.reporting.content import Cell, Table, counts, figures, seconds, share, texts
from optsched.reporting.entries import Entry, values
from optsched.reporting.tables import WITHOUT

__all__ = ["all_runs", "failures", "instances"]


def instances(entries: Sequence[Entry]) -> Table:
    """A row an instance: its reference, and the mean gap of each heuristic over the seeds."""
    problem = entries[0].problem
    heuristics = list(dict.fromkeys(entry.heuristic for entry in entries))
    by_reference: dict[Hashable, dict[str, list[Entry]]] = {}
    for entry in entries:
        by_reference.setdefault(entry.reference, {}).setdefault(entry.heuristic, []).append(entry)
    rows = []
    for held in by_reference.values():
        first = next(iter(held.values()))[0]
        cells = [_mean_gap(held.get(name, ())) for name in heuristics]
        rows.append([*texts(first.instance), figures(first.best), *texts(first.proof), *cells])
    columns = ("instance", "reference", "proof", *heuristics)
    note = (
        f"Mean relative gaps in {entries[0].component} over the seeds; +3: a mean difference, where the reference is "
        "0. A word says why there is none; (2/5): over 2 of 5 runs, as the others have none."
    )
    numbers = frozenset(columns) - {"instance", "proof"}
    return Table(f"instances-{problem}", f"Each instance in {problem}", columns, numbers, rows, note, everywhere=False)


def failures(entries: Sequence[Entry]) -> Table:
    """Each run without a feasible placement, and what is recorded of it."""
    rows = []
    for entry in entries:
        if entry.status == "done":
            continue
        record = entry.record
        told = record.error or "; ".join(_violation(wrong) for wrong in record.violations[:5])
        cells = texts(entry.instance, entry.problem, entry.heuristic)
        cells += [*counts(record.seed), *texts(entry.status.replace("-", " "), told), again(record)]
        rows.append(cells)
    columns = ("instance", "problem", "heuristic", "seed", "what", "told", "see it again")
    note = "They are in no mean, and among the runs of every table."
    title = "Runs without a feasible placement"
    return Table("failures", title, columns, frozenset({"seed"}), rows, note, everywhere=False)


def all_runs(entries: Sequence[Entry]) -> Table:
    """Each run, the largest gaps first: value, reference, gap, and the command that makes it again."""
    rows = []
    for entry in sorted(entries, key=_severity, reverse=True):
        record = entry.record
        cells = [*texts(entry.instance, entry.problem, entry.heuristic), *counts(record.seed)]
        cells += texts(entry.status.replace("-", " "))
        cells += [_several(record.objective), _several(record.reference), *texts(entry.proof)]
        cells += [Cell("-" if entry.absolute is None else figures(entry.absolute).shown, entry.absolute)]
        cells += [share(entry.relative), seconds(record.heuristic_seconds), again(record)]
        rows.append(cells)
    columns: tuple[str, ...] = (
        "instance",
        "problem",
        "heuristic",
        "seed",
        "what",
        "value",
        "reference",
        "proof",
        "difference",
        "gap",
    )
    columns += ("seconds", "see it again")
    numbers = frozenset({"seed", "value", "reference", "difference", "gap", "seconds"})
    note = (
        "Those without a feasible placement first, then those above an optimum of 0, then the largest gaps. Difference "
        "and gap are of the first component; the values of several stand with commas."
    )
    return Table("runs", "All runs", columns, numbers, rows, note, everywhere=False)


def _severity(entry: Entry) -> tuple[bool, bool, float]:
    """How bad a run is."""
    return entry.status != "done", entry.outcome == "beside_zero", entry.relative or 0


# Cells ------------------------------------------------------------------------------------------------------------


def _mean_gap(runs: Sequence[Entry]) -> Cell:
    """The mean over the seeds of an instance, or why there is none."""
    if not runs:
        return Cell("", None)
    known = [entry for entry in runs if entry.outcome in ("optimal", "above", "beside_zero")]
    if not known:
        return Cell(", ".join(dict.fromkeys(WITHOUT[entry.outcome] for entry in runs)), None)
    of = "" if len(known) == len(runs) else f" ({len(known)}/{len(runs)})"
    if any(entry.relative is None for entry in known):
        mean = statistics.fmean(entry.absolute or 0 for entry in known)
        return Cell(f"+{figures(mean).shown}{of}", None)
    mean = statistics.fmean(entry.relative or 0 for entry in known)
    return Cell(share(mean).shown + of, mean)


def _several(given: float | list[float | None] | None) -> Cell:
    known = values(given)
    return Cell(", ".join(figures(part).shown for part in known), known[0])


def _violation(wrong: Mapping[str, object]) -> str:
    ids = wrong.get("ids")
    named = f"({', '.join(map(str, ids))})" if isinstance(ids, list) and ids else ""
    return f"{wrong.get('constraint', 'infeasible')}{named} by {wrong.get('amount')}"
