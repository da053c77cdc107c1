"""`optsched matrix`: every heuristic on one instance, judged by every problem that can be posed on it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from optsched.cli import arguments, completing
from optsched.core.errors import HeuristicFailed

if TYPE_CHECKING:
    from optsched.cli.streams import Sink, Write
    from optsched.heuristics import Heuristic
    from optsched.measuring.printing import Rows
    from optsched.measuring.records import Run
    from optsched.problems.base import TaskProblem

    Listed = Mapping[str, tuple[Heuristic, Mapping[str, Any]]]

__all__ = ["matrix"]

#: Width of a column of cells, unless its name is wider. A longer cell moves the rest of its row a little.
_WIDTH = 9


@click.command()
@click.argument("instance", shell_complete=completing.instances)
@arguments.measured_options
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@arguments.gap_limit_options
@arguments.run_limit_options
@arguments.plot_option
@arguments.record_options
def matrix(
    instance: str,
    problems: tuple[str, ...],
    heuristics: tuple[str, ...],
    params: tuple[str, ...],
    seed: int,
    profile: str,
    time_limit: float | None,
    plot: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """Judge each heuristic by each problem: a row a heuristic, a column a problem.

    A heuristic that does not serve a problem is run in one that it serves, and its placement is judged: a cell so
    carried over is marked with a star. A cell is a relative gap, a difference where the optimum is 0 (+3), or one word
    that says why there is none: the constraint that the placement violates, starved, failed, out-of-time, or unproved.
    The gap is of the first component that differs; (2) marks a gap of the second one. A legend says what marks mean.
    Each row comes as soon as it is there. --plot draws the whole as a heat map with the numbers in it.
    """
    arguments.check_plot(plot)
    from optsched.cli.notes import Notes
    from optsched.cli.streams import collected, gap_records, picturing
    from optsched.measuring.matrix import GapMatrix, cell_record, each_cell, heuristics_of, posable
    from optsched.measuring.studies.choices import chosen as choice_of
    from optsched.measuring.studies.choices import load_instance
    from optsched.problems import PROBLEMS

    limits, seconds = arguments.limited(profile, time_limit)
    chosen = {choice.label: (choice.entry, choice.parameters) for choice in map(choice_of, heuristics)}
    parameters = arguments.parameters_of(problems or list(PROBLEMS), params)
    loaded, notes = load_instance(instance), Notes()
    posed = posable(loaded, problems, parameters, partial(notes.left_out, loaded))
    for problem in posed:
        notes.of(problem)
    notes.of_labels(loaded)
    notes.tell()
    listed = heuristics_of(posed, chosen)
    form = arguments.format_of(form, output)

    def sink(write: Write) -> Sink[Run]:
        if form in arguments.TABLES:
            return _Rows(write, posed, listed, output, form)
        entries = (entry for entry, _ in listed.values())

        def record(run: Run) -> dict[str, Any]:
            return cell_record(run) | {"notes": notes.told(loaded.name, run.problem)}

        return gap_records(form, write, posed, entries, record, ("ran_in", "reason", "notes"))

    cells = partial(each_cell, posed, listed, seed, limits, seconds)
    with picturing(plot) as draw:
        done = collected(cells, sink, output, f"of {len(posed) * len(listed)} cells")
        draw("matrix_picture", GapMatrix.of(done))
    arguments.note_limits([cell.report for cell in done], seconds)
    failed = (cell.report for cell in done if cell.report.run.out_of_time is None)
    errors = {report.error: None for report in failed if report.error is not None}
    if errors:
        raise HeuristicFailed(*(line for error in errors for line in error.split("\n")))


class _Rows:
    """Puts out the matrix as people read it, row by row; of one that is broken off what there is.

    Of more problems than fit the page the others follow at the end, in tables of their own.
    """

    def __init__(
        self, write: Write, posed: Sequence[TaskProblem[Any]], listed: Listed, output: str | None, form: str
    ) -> None:
        from optsched.cli.streams import drawn
        from optsched.core.errors import printable
        from optsched.measuring.printing import page_width

        self._write, self._form, self._drawn = write, form, drawn(output) and form == "table"
        self._names = [problem.name for problem in posed]
        self._first = max(len(printable(label)) for label in ("heuristic", *listed))
        self._most = page_width(file=output is not None) if form == "table" else sys.maxsize
        self._widths = [max(len(name), _WIDTH) for name in self._names]
        self._on = self._block(0)
        self._table = self._rows_of(self._on)
        self._cells: list[list[Run]] = []

    def _block(self, begin: int) -> range:
        """The problems, from one on, that a page has room for; one at least."""
        width, end = self._first, begin
        while end < len(self._names) and (end == begin or width + 2 + self._widths[end] <= self._most):
            width += 2 + self._widths[end]
            end += 1
        return range(begin, end)

    def _rows_of(self, block: range) -> Rows:
        from optsched.measuring.printing import Lines, Rows

        names = [self._names[at] for at in block]
        widths = [self._first, *(self._widths[at] for at in block)]
        lines = Lines(("heuristic", *names), widths, frozenset(names)).in_form(self._form)
        return Rows(self._write, lines, self._drawn)

    def add(self, cell: Run) -> None:
        if not self._cells or len(self._cells[-1]) == len(self._names):
            self._cells.append([])
        self._cells[-1].append(cell)
        if len(self._cells[-1]) == len(self._names):
            self._put()

    def close(self) -> None:
        from optsched.measuring.printing import remarks
        from optsched.measuring.records import legend

        if self._cells and len(self._cells[-1]) < len(self._names):
            self._put()
        self._table.close()
        # Of the problems that did not fit the cells are known by now.
        texts = [[run.cell() for run in row] for row in self._cells]
        self._widths = [
            max([width, *(len(row[at]) for row in texts if at < len(row))]) for at, width in enumerate(self._widths)
        ]
        block = self._on
        while block.stop < len(self._names):
            block = self._block(block.stop)
            self._write("\n")
            table = self._rows_of(block)
            for runs, row in zip(self._cells, texts, strict=True):
                table.add([runs[0].heuristic, *(row[at] if at < len(row) else "" for at in block)])
        self._write(remarks(legend(run for row in self._cells for run in row), self._form, self._most))

    def _put(self) -> None:
        from optsched.measuring.printing import elided

        row = self._cells[-1]
        cells: list[str] = [row[at].cell() if at < len(row) else "" for at in self._on]
        if len(self._table.lines.line([row[0].heuristic, *cells])) > self._most + 1:  # a long word; no number is cut
            widths = (self._widths[at] for at in self._on)
            cut = zip(cells, widths, strict=True)
            cells = [elided(cell, width) if cell[:1].isalpha() else cell for cell, width in cut]
        self._table.add([row[0].heuristic, *cells])
