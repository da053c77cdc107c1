"""Gap matrices of a report."""

from __future__ import annotations

from collections.abc import Iterable

from optsched.reporting.content import Cell, Table, figures, share, texts
from optsched.reporting.entries import values
from optsched.reporting.records import Record

__all__ = ["matrices"]


def matrices(cells: Iterable[Record]) -> list[Table]:
    """A matrix for each instance (and seed): a row a heuristic, a column a problem."""
    grouped: dict[tuple[str, str, int], list[Record]] = {}
    for record in cells:
        grouped.setdefault((record.instance, record.instance_sha256, record.seed), []).append(record)
    seeds = len({seed for _, _, seed in grouped}) > 1
    tables = []
    for number, ((instance, _, seed), found) in enumerate(grouped.items(), 1):
        problems = tuple(dict.fromkeys(record.problem for record in found))
        by_row: dict[str, dict[str, Cell]] = {}
        for record in found:
            by_row.setdefault(record.heuristic, {})[record.problem] = _matrix_cell(record)
        rows = [
            [*texts(name), *(row.get(problem, Cell("", None)) for problem in problems)] for name, row in by_row.items()
        ]
        note = (
            "Each heuristic judged by each problem, against its own optimum: a relative gap, a difference beside an "
            "optimum of 0 (+3), or why there is none (the constraint that is violated). *: the placement was made in "
            "another problem."
        )
        title = f"Gap matrix of {instance or 'instance'}" + (f", seed {seed}" if seeds else "")
        tables.append(Table(f"matrix-{number}", title, ("heuristic", *problems), frozenset(problems), rows, note))
    return tables


def _matrix_cell(record: Record) -> Cell:
    carried = "" if record.ran_in == record.problem else " *"
    pairs = list(zip(values(record.absolute_gap), values(record.relative_gap), strict=True))
    if record.reason is not None or pairs[0][0] is None:
        return Cell(f"{record.reason or 'unproved'}{carried}", None)
    absolute, relative = next(((one, two) for one, two in pairs if one), pairs[0])
    if relative is None:
        return Cell(f"+{figures(absolute).shown}{carried}", None)
    return Cell(f"{share(relative).shown}{carried}", relative)
