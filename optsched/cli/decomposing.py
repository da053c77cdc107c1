"""`optsched decompose`: what a policy's gap over time is made of."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from optsched import __version__
from optsched.cli import arguments, completing
from optsched.errors import UsageError

if TYPE_CHECKING:
    from optsched.decomposing import Decomposition
    from optsched.printing import Table

__all__ = ["decompose", "parts_table"]


@click.command()
@arguments.posed_options
@click.option(
    "--heuristic",
    "heuristic",
    required=True,
    metavar="H[,K=V...]",
    help="A policy; your own as package.module:function.",
    shell_complete=completing.heuristics,
)
@click.option("--repeats", type=click.IntRange(1), default=5, show_default=True, help="Seeds.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The first of them.")
@click.option(
    "--heartbeat",
    type=click.FloatRange(0),
    default=3,
    show_default=True,
    metavar="S",
    help="0: slots are offered at once.",
)
@click.option(
    "--assign", type=click.Choice(["all", "one"]), default="all", show_default=True, help="What a heartbeat may start."
)
@arguments.limit_options
@click.option(
    "--to",
    "target",
    metavar="FILE",
    help="Draw it, too: .svg, .png or .pdf. Needs matplotlib.",
    shell_complete=completing.files,
)
@arguments.format_option("table", "markdown", "latex", "json")
@arguments.output_option
def decompose(
    instance: str,
    problem_name: str,
    params: tuple[str, ...],
    heuristic: str,
    repeats: int,
    seed: int,
    heartbeat: float,
    assign: str,
    profile: str,
    time_limit: float | None,
    target: str | None,
    form: str,
    output: str | None,
) -> None:
    """What a policy's gap over time is made of: placement, order of jobs, knowledge, and what nothing proves.

    The policy runs over time as it is (A); with the same numbers of tasks of each job at each instant, placed best (B);
    then the best order of jobs
    that needs no knowledge (C), the best schedule found with all arrivals and times known (D), and the proved bound
    (E). Shown is what each of them changes, on average over the seeds; it may be negative, since a decision that is
    best when it is taken need not belong to a best run.
    """
    from optsched.cli.notes import pose
    from optsched.cli.simulating import policy_named
    from optsched.cli.streams import replacing
    from optsched.decomposing import decompose as decomposition_of
    from optsched.printing import progress
    from optsched.problems import problem_class
    from optsched.problems.schedules import ScheduleProblem

    arguments.check_plot(target, "--to")
    if not issubclass(problem_class(problem_name), ScheduleProblem):
        raise UsageError(f"decompose is for problems over time (makespan, job-times), not for {problem_name}")
    policy, values = policy_named(heuristic, "--heuristic")
    posed, notes = pose(instance, problem_name, params)
    limit = arguments.DEFAULT_LIMIT if time_limit is None else time_limit
    with nullcontext() if target is None else replacing(target) as file:
        with progress(sys.stderr, repeats + 1) as step, redirect_stdout(sys.stderr):
            found = decomposition_of(
                posed,  # type: ignore[arg-type]
                policy,
                range(seed, seed + repeats),
                heartbeat=heartbeat,
                assign=assign,
                time_limit=limit,
                profile=profile,
                step=lambda told: step(f"{posed.instance.name} {posed.name}: {told}"),
                **values,
            )
        if file is not None and target is not None:
            file.write(_picture(found, target))
    if form == "json":
        arguments.emit_json({**content(found), "notes": notes}, output)
    else:
        arguments.emit_table(parts_table(found), output, form)


def _picture(found: Decomposition, path: str) -> bytes:
    from optsched.drawing.decompositions import decomposition_picture
    from optsched.drawing.figures import check_kind, picture

    return picture(decomposition_picture(found), check_kind(path))


def content(found: Decomposition) -> dict[str, Any]:
    """The fields of the JSON form; times in seconds."""
    return {
        "version": __version__,
        "instance": found.problem.instance.name,
        "problem": found.problem.name,
        "heuristic": found.policy,
        "means": dict(zip("ABC", map(float, found.means), strict=True)),
        "known": float(found.known),
        "bound": None if found.bound is None else float(found.bound),
        "certificate": None if found.proof is None else str(found.proof),
        "parts": {part: None if value is None else float(value) for part, value in found.parts.items()},
        "runs": [
            {
                "seed": run.seed,
                "A": float(run.as_is),
                "B": float(run.nearest),
                "C": float(run.any_order),
                "order": run.order,
            }
            for run in found.runs
        ],
    }


def parts_table(found: Decomposition) -> Table:
    """A row for each part, with its seconds and its share of the gap, between the policy and the bound."""
    from optsched.brief import counted
    from optsched.decomposing import PARTS
    from optsched.printing import Table

    gap = None if found.bound is None else found.means[0] - found.bound
    proved = "nothing is proved" if found.bound is None else f"proof: {found.proof}"
    rows = [("as it is (A)", _seconds(found.means[0]), "", f"mean of {counted(len(found.runs), 'seed')}")]
    for part, value in found.parts.items():
        share = "-" if not gap or value is None else f"{float(100 * value / gap):.1f} %"
        rows.append((part, "-" if value is None else _seconds(value), share, PARTS[part]))
    rows.append(("bound (E)", "-" if found.bound is None else _seconds(found.bound), "", proved))
    return Table(("part", "seconds", "share of gap", "what it is"), rows, frozenset({"seconds", "share of gap"}))


def _seconds(value: Any) -> str:
    return f"{float(value):.6g}"
