"""`optsched mine`: the worst instance for a heuristic, or one that breaks a claim, as a file and a test."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from optsched.cli import arguments, completing
from optsched.core.errors import ExitCode
from optsched.core.fingerprint import code_version

if TYPE_CHECKING:
    from optsched.measuring.mining import Find

__all__ = ["mine"]


@click.command()
@arguments.option("--problem", "problem_name", required=True, help="See `list problems`.")
@arguments.option("--heuristic", required=True, help="One; your own as package.module:function. Lists with colons.")
@arguments.param_option
@click.option(
    "--budget",
    type=click.IntRange(1),
    help="Instances that are tried; by default 2000, or all that --time-limit allows.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the search.")
@click.option(
    "--run-seeds", default="0", show_default=True, metavar="A-B", help="Of the heuristic's runs on each instance: 0-4."
)
@click.option("--over", default="worst", metavar="O", help="Gap of these that counts: worst, mean, median, or 0.9.")
@click.option(
    "--worst",
    type=click.Choice(["relative", "absolute"]),
    default="relative",
    show_default=True,
    help="Gap that is to be large; one over 0 (the optimum is 0) is larger than every share.",
)
@click.option("--component", metavar="C", help="Of the objective; by default the first that differs.")
@click.option(
    "--claim",
    metavar="package.module:function",
    help="Break this in place of a gap: called with the GapReport, true where the claim holds.",
)
@click.option("--no-failures", is_flag=True, help="Pass over runs that fail or have no feasible placement.")
@arguments.option("--family", help="Where the search starts, in place of the problem's own.")
@click.option("--set", "drawn_with", multiple=True, metavar="K=V", help="Parameter of the family.")
@click.option("--most-tasks", type=click.IntRange(1), default=12, show_default=True)
@click.option("--most-nodes", type=click.IntRange(1), default=6, show_default=True)
@arguments.option("--profile", default="exact", help="Solver profile.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), metavar="S", help="Seconds for the whole.")
@arguments.run_limit_options
@click.option(
    "--to",
    "folder",
    metavar="FOLDER",
    help="Write NAME.json and test_NAME.py there.",
    shell_complete=completing.folders,
)
@click.option("--name", metavar="NAME", help="By default of the problem and the heuristic.")
@arguments.format_option("words", "json")
@click.pass_context
def mine(ctx: click.Context, /, problem_name: str, heuristic: str, params: tuple[str, ...], **options: Any) -> None:
    """Look for the instance on which a heuristic is worst, and shrink it to a minimal one.

    The search starts from small random instances and changes them: tasks, nodes, replicas, numbers. Each is judged
    against its proved optimum. It finds the same for the same --seed, unless --time-limit cuts it short. With --to the
    instance is kept with its optimum, and with a test that holds the heuristic to the gap that it has today.

    Exit code 5: nothing was found. Ctrl-C keeps the best so far.
    """
    from optsched.measuring.mining.finding import check_free, default_name
    from optsched.measuring.mining.search import mine as mined
    from optsched.measuring.printing import progress
    from optsched.measuring.studies.choices import assignments, chosen

    folder, name, form = (options.pop(key) for key in ("folder", "name", "form"))
    choice = chosen(heuristic)
    values = arguments.parameters_of([problem_name], params)[problem_name]
    if folder is not None:
        check_free(folder, name or default_name(choice, problem_name))
    options["failures"] = not options.pop("no_failures")
    options["family_parameters"] = assignments("--set", options.pop("drawn_with"))
    # What a user's heuristic prints must not come between the data.
    with progress(sys.stderr) as step, redirect_stdout(sys.stderr):
        found = mined(choice, problem_name, parameters=values, step=step, **options)
    if found is None:
        what = "a gap was found" if options["claim"] is None else "the claim is broken"
        if form == "json":
            arguments.emit_json({"version": code_version(), "found": False})
        arguments.note(f"no instance on which {what} in the budget; give a larger one, or another --seed")
        ctx.exit(ExitCode.NO_SOLUTION)
    _tell(found, form, folder, name)
    if found.interrupted:
        raise KeyboardInterrupt


def _tell(found: Find, form: str, folder: str | None, name: str | None) -> None:
    """Put out what was found, and keep it where that is asked for."""
    if form == "json":
        arguments.emit_json({"version": code_version(), **found.to_dict()})
    else:
        arguments.emit(found.words())
    if folder is not None:
        for path in found.save(folder, name):
            arguments.note(f"written: {path}")
