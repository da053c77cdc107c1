"""`optsched decompose`: what a policy's gap over time is made of."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from optsched.cli import arguments
from optsched.core.errors import UsageError
from optsched.core.fingerprint import code_version

if TYPE_CHECKING:
    from optsched.measuring.decomposing import Decomposition, Decompositions
    from optsched.measuring.printing import Table

__all__ = ["content", "decompose", "parts_table", "policies_table"]


@click.command()
@arguments.posed_options
@arguments.option(
    "--heuristic",
    "--policy",
    "heuristics",
    multiple=True,
    required=True,
    help="A policy (repeatable); your own as package.module:function, or solve. Lists with colons.",
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
@arguments.gap_limit_options
@arguments.option("--to", "target", help="Draw it, too: .svg, .png or .pdf. Needs matplotlib.")
@arguments.record_options
def decompose(
    instance: str,
    problem_name: str,
    params: tuple[str, ...],
    heuristics: tuple[str, ...],
    repeats: int,
    seed: int,
    heartbeat: float,
    assign: str,
    profile: str,
    time_limit: float | None,
    target: str | None,
    form: str | None,
    output: str | None,
) -> None:
    """What a policy's gap over time is made of: waits, placement, order of jobs, knowledge, and what nothing proves.

    The policy runs over time as it is (A). Then it runs without heartbeats (B), and with the same numbers of tasks of
    each job at each instant, placed best (C). Then come the best order of jobs that was tried (D), the best schedule
    found with what has arrived known (E) and with all arrivals known (F), and the proved bound (G). The table shows
    what each step changes, on average over the seeds. It may be negative: a decision that is best when it is taken need
    not belong to a best run.

    Several policies have a row each. The best schedule is sought, and the bound proved, once for all of them. JSON is
    one object, CSV has a row for each policy. Exit code 4 if a policy failed, or left tasks waiting for ever.
    """
    from optsched.cli.notes import pose
    from optsched.cli.simulating import policy_named
    from optsched.cli.streams import picturing
    from optsched.measuring.decomposing import decompose_all
    from optsched.measuring.printing import progress
    from optsched.problems import problem_class
    from optsched.problems.schedules import ScheduleProblem

    arguments.check_plot(target, "--to")
    if not issubclass(problem_class(problem_name), ScheduleProblem):
        raise UsageError(f"decompose is for problems over time (makespan, job-times), not for {problem_name}")
    form = arguments.format_of(form, output)
    policies = [policy_named(text, "--heuristic") for text in dict.fromkeys(heuristics)]
    posed, notes = pose(instance, problem_name, params)
    loaded, seconds = arguments.limited(profile, time_limit)
    with picturing(target) as draw:
        with progress(sys.stderr, repeats * len(policies) + 1) as step, redirect_stdout(sys.stderr):
            found = decompose_all(
                posed,  # type: ignore[arg-type]
                policies,
                range(seed, seed + repeats),
                heartbeat=heartbeat,
                assign=assign,
                time_limit=seconds,
                profile=loaded,
                step=lambda told: step(f"{posed.instance.name} {posed.name}: {told}"),
            )
        if not found:
            found.raise_if_failed()
        one = len(found) == 1
        draw(*("decomposition_picture", found[0]) if one else ("decompositions_picture", found))
    if form == "json":
        arguments.emit_json({**content(found), "notes": notes}, output)
    elif form == "csv":
        arguments.emit(_rows(found), output)
    elif len(policies) == 1:
        arguments.emit_table(parts_table(found[0]), output, form)
    else:
        arguments.emit(_several(found, output, form), output)
    found.raise_if_failed()


def content(found: Decompositions) -> dict[str, Any]:
    """The fields of the JSON form; times in seconds."""
    first = found[0]
    return {
        "version": code_version(),
        "instance": found.problem.instance.name,
        "problem": found.problem.name,
        "parameters": dict(found.problem.parameters),
        "value": found.problem.value_in_words,
        "assumed": first.assumed,
        "arrived": float(first.arrived),
        "known": float(first.known),
        "bound": _float(first.bound),
        "certificate": None if first.proof is None else str(first.proof),
        "policies": [
            {
                "heuristic": one.policy,
                "heuristic_parameters": dict(one.parameters),
                "means": {name: float(value) for name, value in one.means.items()},
                "parts": {part: _float(value) for part, value in one.parts.items()},
                "gap": _float(one.gap),
                "runs": [
                    {"seed": run.seed, **{name: float(getattr(run, name)) for name in one.means}, "order": run.order}
                    for run in one.runs
                ],
            }
            for one in found
        ],
        "failed": [{"heuristic": label, "error": str(error)} for label, error in found.failed.items()],
    }


def _rows(found: Decompositions) -> str:
    """The CSV form: a row for each policy."""
    from optsched.measuring.printing import to_csv

    told = content(found)
    shared = {name: told[name] for name in ("version", "instance", "problem", "parameters", "assumed")}
    records = [
        {
            **shared,
            "heuristic": one["heuristic"],
            "heuristic_parameters": one["heuristic_parameters"],
            "seeds": len(one["runs"]),
            **one["means"],
            "arrived": told["arrived"],
            "known": told["known"],
            "bound": told["bound"],
            "certificate": told["certificate"],
            **{part.replace(" ", "_"): value for part, value in one["parts"].items()},
            "gap": one["gap"],
        }
        for one in told["policies"]
    ]
    return to_csv(records, list(records[0]))


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def parts_table(found: Decomposition) -> Table:
    """A row for each part, with its seconds and its share of the gap, between the policy and the bound."""
    from optsched.measuring.decomposing import PARTS
    from optsched.measuring.printing import Table

    rows = [("as it is (A)", _seconds(found.means["as_is"]), "", _mean_of(found))]
    for part, value in found.parts.items():
        rows.append((part, _seconds(value), _share(value, found.gap) or "-", PARTS[part]))
    rows.append(("bound (G)", _seconds(found.bound), "", _proved(found)))
    return Table(("part", "seconds", "share of gap", "what it is"), rows, frozenset({"seconds", "share of gap"}))


def policies_table(found: Decompositions) -> Table:
    """A row for each policy: what it comes to as it is, the parts of its gap, and the whole gap, in seconds."""
    from optsched.measuring.decomposing import PARTS
    from optsched.measuring.printing import Table

    numbers = ("as it is", *PARTS, "gap")
    rows = []
    for one in found:
        rows.append((one.label, *map(_seconds, (one.means["as_is"], *one.parts.values(), one.gap))))
    return Table(("policy", *numbers), rows, frozenset(numbers))


def _several(found: Decompositions, output: str | None, form: str) -> str:
    """The table of several policies below what they share."""
    from optsched.cli.streams import drawn
    from optsched.measuring.printing import page_width, render, titled

    first = found[0]
    bound = "no bound is proved" if first.bound is None else f"bound (G) {_seconds(first.bound)}, {_proved(first)}"
    heading = (
        f"{found.problem.instance.name}, {found.problem.name}: {_mean_of(first)}, in seconds; {first.assumed}; "
        f"best found with what has arrived (E) {_seconds(first.arrived)}, with all known (F) {_seconds(first.known)}, "
        f"{bound}"
    )
    table = render(policies_table(found), drawn(output), form)
    return titled(heading, table, form, page_width(file=output is not None))


def _mean_of(found: Decomposition) -> str:
    from optsched.core.brief import counted

    return f"{found.problem.value_in_words}, mean of {counted(len(found.runs), 'seed')}"


def _proved(found: Decomposition) -> str:
    return "nothing is proved" if found.bound is None else f"proof: {found.proof}"


def _share(value: Any, gap: Any) -> str:
    """A part's share of the gap; empty where there is none."""
    return "" if not gap or value is None else f"{float(100 * value / gap):.1f} %"


def _seconds(value: Any) -> str:
    if value is None:
        return "-"
    return f"{float(value):.6g}" if abs(value) < 1_000_000 else f"{float(value):.0f}"
