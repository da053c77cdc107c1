"""`optsched figure`: the papers' figures and tables, measured again with the optimum in them."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from optsched.cli import arguments
from optsched.core.brief import counted
from optsched.core.errors import OutOfTime, UsageError, printable

if TYPE_CHECKING:
    from optsched.measuring.reproducing import PaperFigure
    from optsched.measuring.reproducing.results import Reproduction

#: Seconds between tables of what is measured so far.
_BETWEEN_TABLES = 10


@click.command()
@click.argument("words", nargs=-1, metavar="[ID | WORD...]")
@click.option("--paper", metavar="PAPER", help="List only figures of this paper, such as guo-2012.")
@click.option("--effort", type=click.Choice(["quick", "full"]), default="quick", help="Seconds, or what the paper has.")
@click.option("--stored", is_flag=True, help="Show what is kept of the project's own measurement.")
@click.option("--seeds", type=click.IntRange(1), metavar="N", help="Draws of each point, at any effort.")
@click.option("--jobs", type=click.IntRange(1), default=1, metavar="N", help="Processes that work at once.")
@arguments.option("--store", help="Keep each draw in this file (SQLite), and go on from it.")
@click.option("--time-limit", type=arguments.Seconds(min_open=True), metavar="S", help="Seconds to measure in.")
@arguments.option("--plot", help="Draw it, too: .svg, .png or .pdf (needs matplotlib), or .pgf for LaTeX's pgfplots.")
@arguments.format_option("table", "markdown", "latex", "csv", "json")
@arguments.output_option
def figure(
    words: Sequence[str],
    paper: str | None,
    effort: str,
    stored: bool,
    seeds: int | None,
    jobs: int,
    store: str | None,
    time_limit: float | None,
    plot: str | None,
    form: str,
    output: str | None,
) -> None:
    """Measure a figure or a table of a paper again, with the optimum in it, or list the figures.

    An ID has a slash (guo-2012/4a). Words select the figures in which all of them occur. Each number is the mean over
    draws, with its 95 % interval; csv and json also have the median and both ends. While it is measured, the numbers so
    far come to stderr. With a time limit, a table may lack points; the exit code is then 5.
    """
    from optsched.cli.output import picturing, replacing
    from optsched.measuring.reproducing import figure as find
    from optsched.measuring.reproducing import figures

    named = [word for word in words if "/" in word]
    if named and (len(words) > 1 or paper):
        raise UsageError(f'"{named[0]}" is the id of one figure: give it alone, or select by other words')
    if not named:
        if plot or stored or seeds or store or time_limit:
            raise UsageError("these options take the id of one figure; optsched figure lists them")
        _list(figures(paper, words), form, output)
        return
    if stored and (seeds or store or time_limit or jobs > 1):
        raise UsageError("--stored shows what is kept: --seeds, --jobs, --store and --time-limit do not apply to it")
    source = plot if plot and plot.lower().endswith(".pgf") else None
    drawn = None if source else plot
    arguments.check_plot(drawn, also=[".pgf"])
    with picturing(drawn) as draw, nullcontext() if source is None else replacing(source) as text:
        found = find(named[0])
        shown = found.stored(effort) if stored else _measured(found, effort, seeds, jobs, store, time_limit)
        draw("reproduced_picture", shown)
        if text is not None:
            from optsched.showing import reproduced_pgf

            text.write(reproduced_pgf(shown).encode())
        _show(shown, form, output)
    if not stored and (missing := shown.missing()):
        raise OutOfTime(
            f"{counted(len(missing), 'point')} without a draw: give more seconds, or go on with --store FILE"
        )


def _measured(
    figure: PaperFigure, effort: str, seeds: int | None, jobs: int, store: str | None, time_limit: float | None
) -> Reproduction:
    from optsched.measuring.printing import progress

    with progress(sys.stderr, (seeds or figure.draws_of(effort)) * len(figure.points(effort))) as step:
        last = time.monotonic()

        def so_far(shown: Reproduction) -> None:
            nonlocal last
            if time.monotonic() - last >= _BETWEEN_TABLES:
                last = time.monotonic()
                with step.aside():
                    print(f"{_page(shown)}\n", file=sys.stderr)

        return figure.reproduce(
            effort, seeds=seeds, jobs=jobs, store=store, time_limit=time_limit, notify=step, partial=so_far
        )


def _page(shown: Reproduction) -> str:
    from optsched.measuring.printing import folded, on_page, page_width

    width = page_width()
    return on_page(shown.table(), width) + "\n" + folded(printable(shown.caption()), width)


def _show(shown: Reproduction, form: str, output: str | None) -> None:
    from optsched.measuring.printing import remarks, render, to_csv

    if form == "json":
        arguments.emit_json(shown.record(), output)
    elif form == "csv":
        arguments.emit(to_csv(shown.rows()), output)
    elif form == "table":
        arguments.emit(_page(shown), output)
    else:
        arguments.emit(render(shown.table(), form=form) + remarks([shown.caption()], form), output)


def _list(figures: Sequence[PaperFigure], form: str, output: str | None) -> None:
    from optsched.measuring.printing import Table, folded, page_width, render

    if not figures:
        raise UsageError("no figure fits; optsched figure lists all, with the words that occur in them")
    if form == "json":
        arguments.emit_json([one.record() for one in figures], output)
    elif form == "table":
        lines = (f"{one.id}: {one.title}" + (f" ({_instead(one)})" if _instead(one) else "") for one in figures)
        arguments.emit("".join(folded(printable(line), page_width(), "  ") for line in lines), output)
    else:
        rows = [[one.id, one.place, one.title, _instead(one)] for one in figures]
        arguments.emit(render(Table(("figure", "place", "shows", "instead"), rows), form=form), output)


def _instead(one: PaperFigure) -> str:
    """What shows a figure that is not measured, or why nothing does."""
    return one.shown_by or one.left_out
