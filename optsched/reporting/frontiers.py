"""Frontiers of a report, with what heuristics came to."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from optsched.reporting.content import Cell, Table, figures, texts
from optsched.reporting.entries import Entry, values
from optsched.reporting.records import FrontierRecord
from optsched.results import Value

__all__ = ["beside", "frontier"]


def frontier(number: int, found: FrontierRecord, entries: Sequence[Entry]) -> Table:
    """The points of a frontier, and those of heuristics on the same problem and instance that are recorded."""
    rows = [
        [*texts("frontier"), *map(figures, point.objective), *texts(str(point.certificate))] for point in found.points
    ]
    for name, value in beside(found, entries).items():
        shown = (
            [Cell("-", None)] * len(found.components) if isinstance(value, str) else [*map(figures, map(float, value))]
        )
        rows.append([*texts(name), *shown, *texts(value if isinstance(value, str) else "")])
    columns = ("point of", *found.components, "proof")
    note = "All Pareto-optimal points." if found.complete else f"Not complete: {found.limit or 'a point'} cut it short."
    title = f"Frontier of {found.problem} on {found.instance or 'instance'}"
    return Table(f"frontier-{number}", title, columns, frozenset(found.components), rows, note)


def beside(found: FrontierRecord, entries: Sequence[Entry]) -> dict[str, Value | str]:
    """What heuristics came to on the problem of a frontier, once what is the same: a value, or what became of a run."""
    results: dict[str, dict[Value | str, int]] = {}
    for entry in entries:
        record = entry.record
        if (record.instance, record.problem, record.parameters) == (found.instance, found.problem, found.parameters):
            known = tuple(Fraction(part) for part in values(record.objective) if part is not None)
            whole = entry.status == "done" and len(known) == len(found.components)
            results.setdefault(entry.heuristic, {}).setdefault(known if whole else entry.status, record.seed)
    return {
        name if len(held) == 1 else f"{name}, seed {seed}": value
        for name, held in results.items()
        for value, seed in held.items()
    }
