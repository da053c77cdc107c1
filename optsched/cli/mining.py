"""`optsched mine`: the worst instance for a heuristic, or one that breaks a claim, as a file and a test."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import click

from optsched import __version__
from optsched.cli import arguments

__all__ = ["mine"]

#: Exit code where every instance was solved to the optimum, or kept the claim.
NOTHING = 5


@click.command()
@click.option("--problem", "problem_name", required=True, metavar="P", help="See `list problems`.")
@click.option(
    "--heuristic",
    required=True,
    metavar="H[,K=V...]",
    help="One; your own as package.module:function. Lists with colons.",
)
@arguments.param_option
@click.option("--budget", type=click.IntRange(1), default=1000, show_default=True, help="Instances that are tried.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the search.")
@click.option("--run-seed", type=click.IntRange(0), default=0, show_default=True, help="Of each run of the heuristic.")
@click.option(
    "--worst",
    type=click.Choice(["relative", "absolute"]),
    default="relative",
    show_default=True,
    help="Which gap is to be large; against an optimum of 0 the difference counts.",
)
@click.option("--component", metavar="C", help="Of the objective; by default the first that differs.")
@click.option(
    "--claim",
    metavar="package.module:function",
    help="Break this in place of a gap: called with the GapReport, true where the claim holds.",
)
@click.option("--no-failures", is_flag=True, help="Pass over runs that fail or have no feasible placement.")
@click.option("--family", metavar="F", help="Where the search starts, in place of the problem's own.")
@click.option("--set", "drawn_with", multiple=True, metavar="K=V", help="Parameter of the family.")
@click.option("--most-tasks", type=click.IntRange(1), default=12, show_default=True)
@click.option("--most-nodes", type=click.IntRange(1), default=6, show_default=True)
@click.option("--profile", default="exact", metavar="NAME|FILE", help="Solver profile.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), metavar="S", help="Seconds for the whole.")
@arguments.run_limit_options
@click.option("--to", "folder", metavar="FOLDER", help="Write NAME.json and test_NAME.py there.")
@click.option("--name", metavar="NAME", help="By default of the problem and the heuristic.")
@arguments.format_option("words", "json")
@click.pass_context
def mine(
    ctx: click.Context,
    problem_name: str,
    heuristic: str,
    params: tuple[str, ...],
    budget: int,
    seed: int,
    run_seed: int,
    worst: str,
    component: str | None,
    claim: str | None,
    no_failures: bool,
    family: str | None,
    drawn_with: tuple[str, ...],
    most_tasks: int,
    most_nodes: int,
    profile: str,
    time_limit: float | None,
    folder: str | None,
    name: str | None,
    form: str,
) -> None:
    """Look for the instance on which a heuristic is worst, and shrink it to a minimal one.

    The search starts from small random instances and changes them: tasks, nodes, replicas, numbers. Each is judged
    against its proved optimum. It finds the same for the same --seed, unless --time-limit cuts it short. With --to the
    instance is kept with its optimum, and with a test that holds the heuristic to the gap that it has today.

    Exit code 5: nothing was found. Ctrl-C keeps the best so far.
    """
    from optsched.mining.finding import check_free, default_name
    from optsched.mining.search import mine as mined
    from optsched.printing import progress
    from optsched.studies.choices import assignments, chosen

    choice = chosen(heuristic)
    values = arguments.parameters_of([problem_name], params)[problem_name]
    if folder is not None:
        check_free(folder, name or default_name(choice, problem_name))
    # What a user's heuristic prints must not come between the data.
    with progress(sys.stderr) as step, redirect_stdout(sys.stderr):
        found = mined(
            choice,
            problem_name,
            budget=budget,
            seed=seed,
            run_seed=run_seed,
            worst=worst,
            component=component,
            claim=claim,
            failures=not no_failures,
            parameters=values,
            family=family,
            family_parameters=assignments("--set", drawn_with),
            most_tasks=most_tasks,
            most_nodes=most_nodes,
            profile=profile,
            time_limit=time_limit,
            step=step,
        )
    if found is None:
        what = "a gap was found" if claim is None else "the claim is broken"
        if form == "json":
            arguments.emit_json({"version": __version__, "found": False})
        arguments.note(f"no instance on which {what} in the budget; give a larger one, or another --seed")
        ctx.exit(NOTHING)
    if form == "json":
        arguments.emit_json({"version": __version__, **found.to_dict()})
    else:
        arguments.emit(found.words())
    if folder is not None:
        for path in found.save(folder, name):
            arguments.note(f"written: {path}")
    if found.interrupted:
        raise KeyboardInterrupt
