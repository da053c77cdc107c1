"""`optsched solve`, `bounds`, `frontier`, `export` and `certify`: one problem on one instance, without heuristics."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from optsched.cli import arguments
from optsched.cli.arguments import Argument, Option
from optsched.cli.output import Posed, check_noun, picturing, replacing, working
from optsched.core.brief import as_argument, counted
from optsched.core.deadline import deadline
from optsched.core.errors import ExitCode, Fault, InputError, OutOfTime, UsageError, nearest
from optsched.core.resources import code_version
from optsched.measuring.printing import Table, number, value

if TYPE_CHECKING:
    from optsched.certificates import Verdict
    from optsched.core.instance import Instance
    from optsched.core.network import FlowNetwork
    from optsched.core.results import Certificate, Frontier, Solution, Value
    from optsched.problems import AnyProblem

    #: The job of a check: the problem, the claim, and its limit in seconds.
    _Job = tuple[AnyProblem, Solution | Frontier, float | None]

#: The most characters of a limit.
_LONGEST_NUMBER = 40


@arguments.command
def solve(
    *,
    asked: Posed,
    profile: arguments.ProfileName = "exact",
    time_limit: arguments.WholeLimit = None,
    within: arguments.RunLimits = None,
    route: Annotated[
        str | None, Option("The route; by default the quickest that proves its answer.", metavar="R")
    ] = None,
    dry_run: Annotated[bool, Option("Show the routes and what each would build, and solve nothing.")] = False,
    start: Annotated[str | None, Option("Begin from the placement of this solution file.")] = None,
    out: arguments.TableOrJson,
    output: Annotated[
        str | None,
        Option("Write the solution file, too; SOLUTION.npz if there are many tasks.", kind=arguments.SOLUTION),
    ] = None,
) -> ExitCode:
    """Solve a problem and prove the answer.

    Ctrl-C ends the search and shows the incumbent and the bound so far. The file of --output then stays as it was; the
    incumbent is written next to it, as SOLUTION.json.partial.
    """
    from optsched.core.results import Limit, Termination
    from optsched.instances.claim_files import claim_content, read_decision
    from optsched.routes import end_reason, solve

    posed, notes = asked.pose()
    if dry_run:
        _show_routes(posed, route, out)
        return ExitCode.DONE
    begin = None
    if start is not None:
        begin = read_decision(start, posed.instance)
        if begin is None:
            raise UsageError(f"{start}: holds no decision on this instance to start from")
        check_noun(start, begin, posed)
    with nullcontext() if output is None else replacing(output) as file:
        with working() as step:
            step(f"{posed.instance.name} {posed.name}")
            solution = solve(posed, profile, begin, route, time_limit)
        if file is not None:
            file.write(claim_content(solution, posed.instance, output or ""))
        ended = end_reason(solution)
        if solution.limit is Limit.INTERRUPTED or (ended is not None and solution.decision is None):
            _show(posed, solution, out, notes)
            if ended is not None:
                arguments.note(f"not solved: {ended}", "warning")
            # An exception: an older file stays.
            raise click.exceptions.Exit(ExitCode.INTERRUPTED if ended is None else ExitCode.NO_SOLUTION)
        if ended is not None:
            arguments.note(f"cut short: {ended}; this is what was held by then", "warning")
    _show(posed, solution, out, notes)
    codes = {
        Termination.NO_SOLUTION: ExitCode.NO_SOLUTION,
        Termination.ERROR: ExitCode.NO_SOLUTION,
        Termination.INFEASIBLE: ExitCode.INFEASIBLE,
    }
    return codes.get(solution.termination, ExitCode.DONE)


def _show(problem: AnyProblem, solution: Solution, out: arguments.Out, notes: list[str]) -> None:
    """Write a table, or the fields of the solution file with doubles for rationals: one number for one component."""
    from optsched.instances.claim_files import claim_document

    if out.tabled:
        out.table(_solution_table(problem, solution))
        return
    document = claim_document(solution, problem.instance)
    single = len(problem.components) == 1
    for name, values in (("objective", solution.objective), ("bound", solution.bound)):
        document[name] = None if values is None else values[0] if single else list(values)
    for entry, certificate in zip(document["certificates"], solution.certificates, strict=True):
        entry["claim"] = certificate.claim
    out.json({**document, "notes": notes})


def _show_routes(problem: AnyProblem, route: str | None, out: arguments.Out) -> None:
    """Write the routes of a problem, the default first, and what each would build."""
    from optsched.core.processes.limits import available_mb
    from optsched.routes import chosen_route, routes_of
    from optsched.routes.listing import route_sizes

    names = routes_of(problem) if route is None else (chosen_route(problem, route),)
    sizes = route_sizes(problem)
    columns = ("variables", "constraints", "coefficients", "megabytes")
    rows = [(name, *sizes.get(name, (None,) * len(columns))) for name in names]
    if not out.tabled:
        out.json([dict(zip(("route", *columns), row, strict=True)) for row in rows])
        return
    cells = [(name, *("-" if count is None else f"{count:,}" for count in counts)) for name, *counts in rows]
    out.table(Table(("route", *columns), cells, frozenset(columns)))
    arguments.note(f"there are {available_mb():,} megabytes of memory; routes shown with - build no model beforehand")


def _solution_table(problem: AnyProblem, solution: Solution) -> Any:
    from optsched.core.placement import Placement, Schedule
    from optsched.core.results import FEASIBLE, Termination
    from optsched.problems import Problem
    from optsched.problems.base import TaskProblem, stated

    proofs = {certificate.component: certificate for certificate in solution.certificates}
    rows = [
        ("instance", problem.instance.name),
        ("problem", problem.name),
        *(
            (f"  {name}", ", ".join(map(str, given)) if isinstance(given, tuple | list) else str(given))
            for name, given in problem.parameters.items()
        ),
        ("termination", str(solution.termination) + (f" (limit {solution.limit})" if solution.limit else "")),
        ("objective", value(solution.objective)),
        ("bound", value(solution.bound)),
    ]
    nothing = solution.termination is Termination.INFEASIBLE
    if nothing:
        plain = stated(problem, "plainly_infeasible", None)
        why = _proof(proofs.get(FEASIBLE)) if plain is None else "a task or node alone shows it"
        rows.append((f"  {FEASIBLE}", f"0, {why}"))
    for position, component in enumerate(() if nothing else problem.components):
        held = solution.objective[position] if solution.objective is not None else None
        proof = _proof(proofs.get(component.name))
        text = f"{number(held)} {component.unit}, bound {number(solution.bound[position])}, {proof}"
        rows.append((f"  {component.name} ({component.sense})", text))
    if isinstance(problem, Problem) and isinstance(solution.decision, Placement):
        rows.append(("placed", f"{solution.decision.placed} of {len(problem.tasks)} tasks"))
    if isinstance(problem, TaskProblem) and isinstance(solution.decision, Schedule):
        rows.append(("runs", f"{solution.decision.placed} of {len(problem.tasks)} tasks"))
        rows += problem.details(solution.decision)
    rows.append(("route", f"{solution.route} in {solution.build_seconds + solution.solve_seconds:.3f} s"))
    rows.append(
        ("solver", " ".join(str(solution.solver[key]) for key in ("name", "version") if key in solution.solver))
    )
    rows.append(("solver said", solution.raw_status))
    return Table(("", "value"), [row for row in rows if row[1]])


def _proof(certificate: Certificate | None) -> str:
    """The kind of a bound's proof, with the size of a tree."""
    if certificate is None:
        return "no proof"
    size = "" if certificate.cases is None else f", a tree of {counted(certificate.cases, 'case')}"
    return f"proof: {certificate.kind}{size}"


@arguments.command
def bounds(asked: Posed, out: arguments.TableOrJson) -> None:
    """Every bound that is cheap to prove, with what it bounds."""
    from optsched.problems.base import stated
    from optsched.routes import bounds

    posed, _ = asked.pose()
    found = bounds(posed)
    if (plain := stated(posed, "plainly_infeasible", None)) is not None:
        arguments.note(f"{posed.name}: nothing is feasible: {plain}", "warning")
    if not out.tabled:
        names = ("name", "component", "value", "bounds", "source")
        out.json([{name: getattr(bound, name) for name in names} for bound in found])
        return
    rows = [(bound.name, number(bound.value), bound.component or "-", bound.bounds, bound.source) for bound in found]
    if plain is not None:
        rows.append(("-", "-", "-", f"nothing is feasible: {plain}", ""))
    out.table(Table(("name", "value", "component", "bounds", "source"), rows, frozenset({"value"})))


@arguments.command
def frontier(
    *,
    asked: Posed,
    profile: arguments.ProfileName = "exact",
    time_limit: arguments.WholeLimit = None,
    within: arguments.RunLimits = None,
    plot: arguments.Plot = None,
    heuristics: Annotated[
        tuple[str, ...],
        Option(
            "With --plot: a heuristic to draw (repeatable); by default every applicable one, `none` for none.",
            "--heuristic",
        ),
    ] = (),
    out: Annotated[arguments.Out, arguments.formats(*arguments.TABLES, "json")],
    output: Annotated[
        str | None,
        Option(
            "Write the points with their placements and certificates, too; FRONTIER.npz if there are many tasks.",
            metavar="FRONTIER.json",
        ),
    ] = None,
) -> ExitCode:
    """All Pareto-optimal points of a problem with two components, each with its proof.

    --plot draws them as a staircase, points without a proof hollow, with what heuristics come to (seed 0). What
    --output writes `certify` checks. Exit code 6 where nothing is feasible, so that there is no point.
    """
    if heuristics and plot is None:
        raise UsageError("--heuristic is drawn in the picture: name its file with --plot FILE")
    from optsched.core.results import Limit
    from optsched.instances.claim_files import claim_content
    from optsched.problems.base import stated
    from optsched.routes import frontier

    posed, notes = asked.pose()
    with (
        picturing(plot) as draw,
        nullcontext() if output is None else replacing(output) as points_file,
    ):
        with working() as step:
            step(f"{posed.instance.name} {posed.name}")
            found = frontier(posed, profile, time_limit)
            reached = _reached(posed, heuristics, time_limit, step) if plot is not None else {}
        draw("frontier_picture", found, reached, posed.instance.name)
        if points_file is not None:
            points_file.write(claim_content(found, posed.instance, output or ""))
    if not out.tabled:
        points = [{"objective": list(point.objective), "certificate": str(point.certificate)} for point in found.points]
        record = {
            "version": code_version(),
            "instance": posed.instance.name,
            "problem": posed.name,
            "parameters": posed.parameters,
            "components": list(found.components),
            "points": points,
            "complete": found.complete,
            "limit": found.limit,
            "infeasible": None if found.infeasible is None else str(found.infeasible.kind),
            "notes": notes,
        }
        out.json(record)
    else:
        rows = [(*map(number, point.objective), str(point.certificate)) for point in found.points]
        out.table(Table((*found.components, "proof"), rows, frozenset(found.components)))
    if not found.complete:
        arguments.note(f"the frontier is not complete: {found.limit or 'a point'} cut it short", "warning")
    if found.limit is Limit.INTERRUPTED:
        return ExitCode.INTERRUPTED
    if found.complete and not found.points:
        why = stated(posed, "plainly_infeasible", None) or _proof(found.infeasible)
        arguments.note(f"there is no point, since nothing is feasible: {why}", "warning")
        return ExitCode.INFEASIBLE
    return ExitCode.DONE if found.points else ExitCode.NO_SOLUTION


def _reached(
    problem: AnyProblem, heuristics: tuple[str, ...], time_limit: float | None, step: Callable[[str], None]
) -> dict[str, Value | str]:
    """The values of heuristics on a problem, by name; or why there is none."""
    from optsched.heuristics import applicable, run
    from optsched.measuring.studies.choices import Choice, chosen
    from optsched.problems import Problem

    if not isinstance(problem, Problem) or heuristics == ("none",):
        return {}
    listed = [Choice(entry, {}, entry.name) for entry in applicable(problem, by_default=True)]
    seconds = arguments.DEFAULT_LIMIT if time_limit is None else time_limit
    reached: dict[str, Value | str] = {}
    for choice in [chosen(text) for text in heuristics] or listed:
        step(f"{problem.instance.name} {problem.name} {choice.label}")
        done = run(problem, choice.entry, 0, time_limit=seconds, **choice.parameters)
        if done.placement is None:
            reached[choice.label] = "out of time" if done.out_of_time is not None else "failed"
            arguments.note(str(done.error), "warning")
        elif problem.violations(done.placement):
            reached[choice.label] = "starved" if done.starved else "infeasible"
        else:
            reached[choice.label] = problem.objective(done.placement)
    return reached


# Export -----------------------------------------------------------------------------------------------------------

_PROGRAMS, _NETWORKS = (".lp", ".mps"), (".dimacs", ".graphml")


@arguments.command
def export(
    *,
    instance: arguments.OneInstance,
    problem_name: Annotated[str | None, Option("See `list problems`; a flow network needs none.", "--problem")] = None,
    params: arguments.Params = (),
    target: Annotated[str, Option("Ends in .lp, .mps, .dimacs or .graphml.", "--to")],
    model: Annotated[
        str,
        Option(
            "For LP and MPS: the compact program (Pyomo) or the paper's own (PuLP).", choices=("compact", "literal")
        ),
    ] = "compact",
    limit: Annotated[
        str | None,
        Option(
            "The problem's second program, at this limit: a number or p/q. `list models` says what is limited.",
            metavar="L",
        ),
    ] = None,
) -> None:
    """Write a problem for other solvers: as LP or MPS, or its compact flow network as DIMACS or GraphML.

    A flow network (DIMACS, GraphML) needs no --problem if INSTANCE is one. Names are the instance's own ids. An MPS
    file is always a minimum: the objective of a maximum is negated. Comments in a program say so, and its units.
    """
    from optsched.core.network import FlowNetwork
    from optsched.instances.documents.storing import write_whole
    from optsched.problems import PROBLEMS, network_problem, problem_class

    suffix = Path(target).suffix
    if suffix not in _PROGRAMS + _NETWORKS:
        raise UsageError(f"--to {target}: the name must end in {', '.join(_PROGRAMS + _NETWORKS)}")
    loaded = arguments.load_any(instance)
    if problem_name is not None:
        problem = problem_class(problem_name)(loaded, **arguments.parameters_for(problem_name, params))
    elif isinstance(loaded, FlowNetwork):
        problem = network_problem(loaded)
    else:
        raise UsageError(f"--problem is missing; known: {', '.join(PROBLEMS)}")
    if suffix in _NETWORKS:
        network = _network(problem)
        write_whole(target, (network.to_dimacs() if suffix == ".dimacs" else network.to_graphml()).encode())
    else:
        _write_program(problem, target, model, limit)


def _network(problem: AnyProblem) -> FlowNetwork:
    """The network of the problem, or its compact network, with costs in units of its grid."""
    from optsched.core.network import FlowNetwork
    from optsched.core.problem_record import imported
    from optsched.core.registry import record_of

    if isinstance(problem.instance, FlowNetwork):
        return problem.instance
    named = record_of(type(problem)).network
    if named is None:
        raise UsageError(f"{problem.name} is no flow network; export it to .lp or .mps")
    network: FlowNetwork = imported(named)(problem)
    grid = getattr(problem, "grid", 1)
    if grid > 1:
        arguments.note(f"costs in units of 1/{grid} {problem.components[0].unit}")
    return network


def _write_program(problem: AnyProblem, target: str, kind: str, limit: str | None) -> None:
    """Write the LP or MPS file of a model; the file and stderr say how to read its optimum."""
    from optsched import models
    from optsched.core.results import Sense
    from optsched.instances.documents.storing import write_whole
    from optsched.models.export import about, write_lp, write_mps
    from optsched.routes.listing import refuse_beyond_memory

    module = models.module(problem.name)
    options: dict[str, Any] = {} if limit is None else {"limit": _limit(problem.name, limit)}
    route = "pyomo" if kind == "compact" else "pulp"
    refuse_beyond_memory(problem, route, options.get("limit"), "export smaller instances")
    built = module.build_pyomo(problem, **options) if kind == "compact" else module.build_pulp(problem, **options)
    meaning = about(problem, limit is not None)
    mps = Path(target).suffix == ".mps"
    negated = mps and meaning.component.sense is Sense.MAX
    within = "" if limit is None else f", at limit {options['limit']}"
    written_by = f"{problem.instance.name}: {problem.name}, {kind} model{within}; by optsched"
    write = write_mps if mps else write_lp
    try:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "model")
            write(built, program, [written_by, *meaning.notes(negated)])
            content = program.read_bytes()
    except OSError as error:  # no room where temporary files go
        message = f"cannot be written: {error.strerror or error} ({tempfile.gettempdir()})"
        raise InputError([Fault("", message)], target) from None
    write_whole(target, content)
    if negated or meaning.units != 1:
        for message in meaning.notes(negated):
            arguments.note(f"{target}: {message}")


def _limit(problem: str, text: str) -> int | Fraction:
    """The limit in a text, as the problem's record says: whole, a multiple of a unit (the nearest), or any.

    UsageError if the problem has no limit, or the text is none.
    """
    from optsched.core.instance import LARGEST
    from optsched.core.registry import record, records

    limited = record(problem).limit
    if limited is None:
        *most, last = (name for name, entry in records().items() if entry.limit is not None)
        raise UsageError(f"--limit is of {', '.join(most)} and {last}; {problem} has none")
    integral = limited.denominator == 1
    try:
        limit = Fraction(text) if len(text) <= _LONGEST_NUMBER and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        limit = None
    if limit is None or abs(limit) > LARGEST or (integral and (limit < 0 or limit.denominator > 1)):
        must = "a whole number, 0 or more" if integral else "a number, such as 0.5, -2 or 1/3"
        raise UsageError(f'--limit "{text[:_LONGEST_NUMBER]}": of {problem} it must be {must}, and at most 2^53')
    if limited.denominator is None:
        return limit
    return int(limit) if integral else Fraction(round(limit * limited.denominator), limited.denominator)


# Are the claims of a solution or frontier file true? ----------------------------------------------------------------


#: The words of `--allow`: unchecked bases that a claim may have.
KINDS = ("enumeration", "solver", "nothing")


@arguments.command
def certify(
    *,
    instance: arguments.OneInstance,
    solution: Annotated[str, Argument(arguments.SOLUTION)],
    params: Annotated[
        tuple[str, ...], Option("A parameter that the solution must have.", "--param", metavar="K=V")
    ] = (),
    allowed: Annotated[
        tuple[str, ...], Option("Accept claims of this kind without a proof (repeatable).", "--allow", choices=KINDS)
    ] = (),
    time_limit: Annotated[
        float | None,
        Option(
            "Seconds for the checks; claims not checked by then are not proved.",
            kind=arguments.Seconds(),
            metavar="S",
        ),
    ] = None,
    memory_limit: Annotated[
        int | None,
        Option("Check in a separate process, killed if it takes more; then nothing is proved.", least=1, metavar="MB"),
    ] = None,
    out: arguments.TableOrJson,
) -> ExitCode:
    """Check every claim of a solution file in exact arithmetic, without the solver that made it.

    The files of `frontier --output` are checked point by point: each is attained and proved, and none is missing. The
    table shows what is proved, what is only claimed, and what is contradicted. Where something is only claimed, quick
    heuristics look for what contradicts it, and all placements of a small instance are tried. The problem is posed with
    the file's parameters, which must equal those of --param. Exit code 4 if a claim is false, or has no proof and is of
    no kind that --allow accepts.
    """
    from optsched.certificates.checking import mark_of
    from optsched.instances.claim_files import read_claim

    posed_on = arguments.load_any(instance)
    claimed = read_claim(solution, posed_on)
    verdict = _verdict(posed_on, claimed, solution, params, time_limit, memory_limit)
    accepted = verdict.accepted(allowed)
    if not out.tabled:
        out.json(
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
        rows = []
        for check in verdict.checks:
            tree = (
                "" if check.cases is None else f", by a tree of {counted(check.cases, 'case')} in {check.seconds:.3f} s"
            )
            rows.append((mark_of(check), check.what, check.found + tree))
        rows += [("claim", "not proved", sentence) for sentence in verdict.unproved]
        rows.append(("", "verdict", _conclusion(verdict, accepted)))
        out.table(Table(("", "check", "found"), rows))
    return ExitCode.DONE if accepted else ExitCode.FAILED


def _conclusion(verdict: Verdict, accepted: bool) -> str:
    """The verdict in one sentence."""
    if any(check.what == "parameters" and not check.holds for check in verdict.checks):
        return "a claim is false: the parameters differ from --param (without --param the file's parameters are used)"
    if not verdict.valid:
        return "a claim is false"
    if verdict.proved:
        return "every claim is proved"
    kinds = list(dict.fromkeys(claim.kind for claim in verdict.claims))
    if accepted:
        return f"nothing is contradicted; accepted without a proof, as allowed: {', '.join(kinds)}"
    how = " ".join(f"--allow {kind}" for kind in kinds)
    proved = "not every claim" if verdict.proofs else "nothing"
    return f"nothing is contradicted, but {proved} is proved ({how} accepts it)"


def _verdict(
    instance: Instance | FlowNetwork,
    solution: Solution | Frontier,
    source: str,
    params: tuple[str, ...],
    time_limit: float | None,
    memory_limit: int | None,
) -> Verdict:
    """The verdict on a solution; the problem has its parameters, or the requested ones."""
    from optsched.certificates import Finding, Verdict
    from optsched.core.registry import package_of
    from optsched.problems import PROBLEMS, problem
    from optsched.problems.parameters import resolve
    from optsched.problems.programs import Programmed

    if solution.instance_sha256 != instance.sha256:  # the problem may not even apply to another instance
        found = f"sha256 {instance.sha256[:12]}, the {solution.noun} is of {solution.instance_sha256[:12]}"
        return Verdict((Finding("instance", False, found),), ())
    if solution.problem not in PROBLEMS:  # a name in the file is bad input, not wrong usage
        message = f'there is no problem "{solution.problem}"; {nearest(solution.problem, list(PROBLEMS))}'
        raise InputError([Fault("problem", message)], source)
    table = PROBLEMS[solution.problem].parameter_table
    known = [parameter.name for parameter in table]
    strangers = [name for name in solution.parameters if name not in known]
    if strangers:
        unknown = [f'{solution.problem} has no parameter "{name}"; {nearest(name, known)}' for name in strangers]
        raise InputError([Fault("parameters", message) for message in unknown], source)
    asked = arguments.parameters_for(solution.problem, params)
    try:
        claimed = resolve(solution.problem, table, solution.parameters)
    except UsageError as error:  # a bad value in the file is bad input, too
        raise InputError([Fault("parameters", str(error))], source) from None
    posed = problem(solution.problem, instance, **{**solution.parameters, **asked})
    usual = resolve(solution.problem, table, getattr(instance, "parameters", {}).get(solution.problem, {}))
    taken = [name for name in solution.parameters if name not in asked and claimed[name] != usual[name]]
    if taken:
        of_file, of_instance = (
            ", ".join(f"{name}={as_argument(values[name])}" for name in taken) for values in (claimed, usual)
        )
        arguments.note(f"checked with the {solution.noun}'s {of_file}; the instance itself has {of_instance}")
    package = package_of(type(posed))
    if package is not None:
        held = "its program is compared with its definition; on large instances, near the decision"
        own = held if isinstance(posed, Programmed) else "it has no program, so that only its definition judges"
        arguments.note(f"{solution.problem} is a problem of {package}: {own}")
    job = posed, solution, time_limit
    return _examined(job) if memory_limit is None else _elsewhere(job, source, memory_limit)


def _elsewhere(job: _Job, source: str, memory_mb: int) -> Verdict:
    """The same in its own process, with a limit on its memory."""
    from optsched.certificates import Verdict
    from optsched.certificates.checking import unchecked
    from optsched.core.processes import Limits
    from optsched.core.processes.containing import RunFailed, call, value_of
    from optsched.core.processes.limits import Status

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
    from optsched.routes.doubts import examine

    posed, solution, time_limit = job
    try:
        with deadline(time_limit):
            return examine(posed, solution)
    except OutOfTime:
        return Verdict((), (unchecked(f"the {solution.noun}"),))
