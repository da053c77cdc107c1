"""`optsched report`: recorded gaps as a page, as tables for a text, or as CSV."""

from __future__ import annotations

import click

from optsched.cli import arguments, completing

__all__ = ["report"]


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", shell_complete=completing.files)
@click.option(
    "--to",
    multiple=True,
    required=True,
    metavar="FILE",
    help="Where to: a .html page, .tex or .md tables, or .csv (repeatable).",
    shell_complete=completing.files,
)
@click.option(
    "--problem",
    "problems",
    multiple=True,
    metavar="P",
    help="Only this problem (repeatable).",
    shell_complete=completing.problems,
)
@click.option(
    "--heuristic",
    "heuristics",
    multiple=True,
    metavar="H",
    help="Only this heuristic (repeatable).",
    shell_complete=completing.heuristics,
)
@click.option("--title", metavar="TEXT", help="Heading of the report.")
def report(
    sources: tuple[str, ...],
    to: tuple[str, ...],
    problems: tuple[str, ...],
    heuristics: tuple[str, ...],
    title: str | None,
) -> None:
    """Report on recorded gaps: tables, pictures, tests, and the commands that give them again.

    SOURCE is a file that `gap`, `matrix` or `frontier` wrote with `--format json`, the store of a sweep, or - for JSON
    from stdin; several are read as one. The page needs no network and no other file.
    """
    from optsched.showing import write_report

    for told in write_report(sources, to, problems=problems, heuristics=heuristics, title=title):
        arguments.note(told)
