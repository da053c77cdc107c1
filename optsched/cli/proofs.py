"""`optsched certify`: is what a file of a solution or a frontier claims true?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from optsched.cli import arguments, completing
from optsched.core.errors import ExitCode, Fault, InputError, OutOfTime, UsageError, nearest

if TYPE_CHECKING:
    from optsched.certificates import Finding, Verdict
    from optsched.core.fronts import Frontier
    from optsched.core.instance import Instance
    from optsched.core.network import FlowNetwork
    from optsched.core.results import Solution
    from optsched.problems import AnyProblem

    #: What is checked: the problem, what is claimed of it, and in how many seconds.
    _Job = tuple[AnyProblem, Solution | Frontier, float | None]

__all__ = ["certify"]

#: What a claim may rest on that is not checked: words of `--allow`.
KINDS = ("enumeration", "solver", "nothing")


@click.command()
@click.argument("instance", shell_complete=completing.instances)
@click.argument("solution", metavar="SOLUTION.json", shell_complete=completing.files)
@click.option("--param", "params", multiple=True, metavar="K=V", help="A parameter that the solution must have.")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(KINDS),
    help="Take claims that rest on this kind of word without a proof (repeatable).",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0),
    metavar="S",
    help="Seconds for the checks; what is not checked by then is not proved.",
)
@click.option(
    "--memory-limit",
    type=click.IntRange(1),
    metavar="MB",
    help="Check in a process of its own, killed where it takes more; then nothing is proved.",
)
@arguments.format_option("table", "json")
@click.pass_context
def certify(
    ctx: click.Context,
    instance: str,
    solution: str,
    params: tuple[str, ...],
    allowed: tuple[str, ...],
    time_limit: float | None,
    memory_limit: int | None,
    form: str,
) -> None:
    """Check every claim of a solution file in exact arithmetic, without the solver that made it.

    The files of `frontier --output` are checked point by point: each is attained and proved, and none is missing. Told
    apart are what is proved, what is only claimed, and what is contradicted.
    Where something is only claimed, quick heuristics look for what contradicts it, and all placements of a small
    instance are tried. The problem is posed with the file's parameters, which must equal those of --param. Exit code 4
    where a claim is false, or rests on a word that --allow does not name.
    """
    from optsched.certificates.checking import mark_of
    from optsched.instances.claim_files import read_claim
    from optsched.measuring.printing import Table

    posed_on = arguments.load_any(instance)
    claimed = read_claim(solution, posed_on)
    verdict = _verdict(posed_on, claimed, solution, params, time_limit, memory_limit)
    accepted = verdict.accepted(allowed)
    if form == "json":
        arguments.emit_json(
            {
                "instance": posed_on.name,
                "solution": solution,
                "valid": verdict.valid,
                "proved": verdict.proved,
                "accepted": accepted,
                "checks": [
                    {
                        "what": check.what,
                        "holds": check.holds,
                        "proof": check.proof,
                        "found": check.found,
                        **({} if check.cases is None else {"cases": check.cases, "seconds": check.seconds}),
                    }
                    for check in verdict.checks
                ],
                "proofs": list(verdict.proofs),
                "claims": [{"kind": claim.kind, "claim": claim.sentence} for claim in verdict.claims],
                "contradicted": list(verdict.contradicted),
            }
        )
    else:
        rows = [(mark_of(check), check.what, check.found + _size(check)) for check in verdict.checks]
        rows += [("claim", "not proved", sentence) for sentence in verdict.unproved]
        rows.append(("", "verdict", _conclusion(verdict, accepted)))
        arguments.emit_table(Table(("", "check", "found"), rows))
    ctx.exit(0 if accepted else ExitCode.FAILED)


def _size(check: Finding) -> str:
    """How large a tree was checked, and in which time."""
    return (
        ""
        if check.cases is None
        else f", by a tree of {check.cases} case{'s' * (check.cases != 1)} in {check.seconds:.3f} s"
    )


def _conclusion(verdict: Verdict, accepted: bool) -> str:
    """The verdict in one sentence."""
    if any(check.what == "parameters" and not check.holds for check in verdict.checks):
        return "a claim is false: it is of other parameters than those of --param (without it the file's are taken)"
    if not verdict.valid:
        return "a claim is false"
    if verdict.proved:
        return "every claim is proved"
    kinds = list(dict.fromkeys(claim.kind for claim in verdict.claims))
    if accepted:
        return f"nothing is contradicted; taken without a proof, as allowed: {', '.join(kinds)}"
    how = " ".join(f"--allow {kind}" for kind in kinds)
    return (
        f"nothing is contradicted, but {'not every claim' if verdict.proofs else 'nothing'} is proved ({how} takes it)"
    )


def _verdict(
    instance: Instance | FlowNetwork,
    solution: Solution | Frontier,
    source: str,
    params: tuple[str, ...],
    time_limit: float | None,
    memory_limit: int | None,
) -> Verdict:
    """The verdict on a solution, with the problem posed by its parameters, or by those that are asked for."""
    from optsched.certificates import Finding, Verdict
    from optsched.certificates.checking import shown
    from optsched.core.registry import package_of
    from optsched.problems import PROBLEMS, problem
    from optsched.problems.base import resolve

    if solution.instance_sha256 != instance.sha256:  # the problem need not even apply to another instance
        found = f"sha256 {instance.sha256[:12]}, the {solution.noun} is of {solution.instance_sha256[:12]}"
        return Verdict((Finding("instance", False, found),), ())
    if solution.problem not in PROBLEMS:  # a name that came with the file is bad input, not wrong usage
        told = f'there is no problem "{solution.problem}"; {nearest(solution.problem, list(PROBLEMS))}'
        raise InputError([Fault("problem", told)], source)
    table = PROBLEMS[solution.problem].parameter_table
    known = [parameter.name for parameter in table]
    strangers = [name for name in solution.parameters if name not in known]
    if strangers:
        unknown = [f'{solution.problem} has no parameter "{name}"; {nearest(name, known)}' for name in strangers]
        raise InputError([Fault("parameters", told) for told in unknown], source)
    asked = arguments.parameters_of([solution.problem], params)[solution.problem]
    try:
        claimed = resolve(solution.problem, table, solution.parameters)
    except UsageError as error:  # a bad value that came with the file is bad input, too
        raise InputError([Fault("parameters", str(error))], source) from None
    posed = problem(solution.problem, instance, **{**solution.parameters, **asked})
    usual = resolve(solution.problem, table, getattr(instance, "parameters", {}).get(solution.problem, {}))
    taken = [name for name in solution.parameters if name not in asked and claimed[name] != usual[name]]
    if taken:
        of_file, of_instance = (", ".join(f"{name}={shown(of[name])}" for name in taken) for of in (claimed, usual))
        arguments.note(f"checked with the {solution.noun}'s {of_file}; the instance by itself has {of_instance}")
    package = package_of(type(posed))
    if package is not None:
        arguments.note(
            f"{solution.problem} is a problem of {package}: its program, if it has one, is held against its "
            "definition, on large instances by samples"
        )
    job = posed, solution, time_limit
    return _examined(job) if memory_limit is None else _elsewhere(job, source, memory_limit)


def _elsewhere(job: _Job, source: str, memory_mb: int) -> Verdict:
    """The same in a process of its own, with a limit on its memory."""
    from optsched.certificates import Verdict
    from optsched.certificates.checking import unchecked
    from optsched.processes import Limits
    from optsched.processes.containing import RunFailed, call, value_of
    from optsched.processes.outcomes import Status

    outcome = call(_examined, job, Limits(memory_mb=memory_mb))
    found: Verdict | None = value_of(outcome)
    if found is not None:
        return found
    if outcome.status is Status.CRASHED:
        raise RunFailed(f"{source}: checking it crashed: {outcome.message}")
    return Verdict((), (unchecked(f"the {job[1].noun}", "memory"),))


def _examined(job: _Job) -> Verdict:
    """The verdict within a limit on time."""
    from optsched.certificates import Verdict
    from optsched.certificates.checking import unchecked
    from optsched.core.deadline import deadline
    from optsched.routes.doubts import examine

    posed, solution, time_limit = job
    try:
        with deadline(time_limit):
            return examine(posed, solution)
    except OutOfTime:
        return Verdict((), (unchecked(f"the {solution.noun}"),))
