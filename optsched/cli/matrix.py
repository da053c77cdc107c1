"""`optsched matrix`: every heuristic on one instance, judged by every problem that can be posed on it."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import click

from optsched.cli import arguments
from optsched.errors import HeuristicFailed

if TYPE_CHECKING:
    from optsched.matrix import Cell, GapMatrix
    from optsched.report import Table

__all__ = ["matrix"]


@click.command()
@click.argument("instance")
@click.option("--problem", "problems", multiple=True, metavar="P", help="By default every one that can be posed.")
@click.option(
    "--heuristic",
    "heuristics",
    multiple=True,
    metavar="H[,K=V...]",
    help="By default every applicable one; your own as package.module:function. Lists with colons.",
)
@arguments.param_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@arguments.profile_option
@arguments.time_limit_option
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json"]), help="By default as --output ends, else a table."
)
@arguments.output_option
def matrix(
    instance: str,
    problems: tuple[str, ...],
    heuristics: tuple[str, ...],
    params: tuple[str, ...],
    seed: int,
    profile: str,
    time_limit: float | None,
    form: str | None,
    output: str | None,
) -> None:
    """Judge each heuristic by each problem: a row a heuristic, a column a problem.

    A heuristic that does not serve a problem is run in one that it serves, and its placement is judged: a cell so
    carried over is marked with *. A cell is a relative gap, a difference where the optimum is 0 (+3), or one word that
    says why there is none: the constraint that the placement violates, starved, failed, or unproved.
    """
    from optsched.matrix import gap_matrix, posable
    from optsched.problems import PROBLEMS
    from optsched.report import progress, to_csv
    from optsched.results import Limit

    chosen = {choice.label: (choice.entry, choice.parameters) for choice in map(arguments.heuristic_choice, heuristics)}
    parameters = arguments.parameters_of(problems or list(PROBLEMS), params)
    posed = posable(arguments.load_instance(instance), problems, parameters)
    # What a user's heuristic prints must not come between the data.
    with progress(sys.stderr) as step, redirect_stdout(sys.stderr):
        found = gap_matrix(posed, chosen or None, seed, profile, time_limit, step)
    form = arguments.format_of(form, output)
    if form == "table":
        arguments.emit_table(_table(found), output)
    else:
        from optsched import __version__

        records = [{"version": __version__, **record} for record in found.records()]
        if form == "csv":
            arguments.emit(to_csv(records), output)
        else:
            arguments.emit_json(records, output)
    if any(cell.report.reference.solution.limit is Limit.INTERRUPTED for cell in found.cells.values()):
        raise KeyboardInterrupt
    errors = {error: None for cell in found.cells.values() if (error := cell.report.error) is not None}
    if errors:
        raise HeuristicFailed(*(line for error in errors for line in error.split("\n")))


def _table(found: GapMatrix) -> Table:
    """The matrix as people read it."""
    from optsched.report import Table

    rows = [[row, *(_shown(found[row, column]) for column in found.problems)] for row in found.heuristics]
    return Table(("heuristic", *found.problems), rows, frozenset(found.problems))


def _shown(cell: Cell) -> str:
    """A cell as text; `*` where the heuristic was run in another problem."""
    from optsched.report import number, percent

    gap = cell.gap
    if gap is None:
        text = str(cell.reason)
    else:
        absolute, relative = gap
        text = f"+{number(absolute)}" if relative is None else percent(relative)
    return text if cell.ran_in == cell.report.problem.name else f"{text} *"
