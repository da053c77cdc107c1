"""`optsched certify`: is what a solution file claims true?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from optsched.cli import arguments
from optsched.errors import Fault, InputError, UsageError

if TYPE_CHECKING:
    from optsched.certificates import Verdict
    from optsched.instance import Instance
    from optsched.network import FlowNetwork
    from optsched.results import Solution

__all__ = ["certify"]

#: Exit code where a claim is false.
FALSE = 4


@click.command()
@click.argument("instance")
@click.argument("solution", metavar="SOLUTION.json")
@arguments.format_option("table", "json")
@click.pass_context
def certify(ctx: click.Context, instance: str, solution: str, form: str) -> None:
    """Check every claim of a solution file in exact arithmetic, without the solver that made it.

    Exit code 4 where a claim is false or the instance another one. What rests on somebody's word (proofs of kind
    enumeration, agreement and solver) is told as such, and is no proof.
    """
    from optsched.instances.solution_files import read_solution
    from optsched.report import Table

    posed_on = arguments.load_any(instance)
    verdict = _verdict(posed_on, read_solution(solution, posed_on), solution)
    if form == "json":
        arguments.emit_json(
            {
                "instance": posed_on.name,
                "solution": solution,
                "valid": verdict.valid,
                "proved": verdict.proved,
                "checks": [
                    {"what": check.what, "holds": check.holds, "found": check.found} for check in verdict.checks
                ],
                "unproved": list(verdict.unproved),
            }
        )
    else:
        rows = [("ok" if check.holds else "FALSE", check.what, check.found) for check in verdict.checks]
        rows += [("word", "not proved here", sentence) for sentence in verdict.unproved]
        conclusion = "every claim is proved" if verdict.proved else "no claim is false, but not all are proved"
        rows.append(("", "verdict", conclusion if verdict.valid else "a claim is false"))
        arguments.emit_table(Table(("", "check", "found"), rows))
    ctx.exit(0 if verdict.valid else FALSE)


def _verdict(instance: Instance | FlowNetwork, solution: Solution, source: str) -> Verdict:
    """The verdict on a solution, with the problem posed by the solution's own parameters."""
    from optsched.certificates import Check, Verdict, certify
    from optsched.problems import problem

    if solution.instance_sha256 != instance.sha256:  # the problem need not even apply to another instance
        found = f"sha256 {instance.sha256[:12]}, the solution is of {solution.instance_sha256[:12]}"
        return Verdict((Check("instance", False, found),), ())
    try:
        posed = problem(solution.problem, instance, **solution.parameters)
    except UsageError as error:  # names that came with the file are bad input, not wrong usage
        raise InputError([Fault("parameters", str(error))], source) from None
    return certify(posed, solution)
