"""`optsched simulate` and `decompose`: run policies over time, and split the gap of a policy into its causes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from optsched.cli import arguments
from optsched.cli.arguments import Argument, Option
from optsched.cli.output import Notes, Posed, Progress, Texts, at_end, collected, picturing, records, replacing, working
from optsched.core.brief import counted
from optsched.core.errors import HeuristicFailed, UsageError, expect_known, nearest
from optsched.core.resources import code_version
from optsched.measuring.printing import Page, Table, half_width, to_csv

if TYPE_CHECKING:
    from optsched.core.instance import Instance
    from optsched.heuristics.simulating import Simulation
    from optsched.measuring.decomposing import Decomposition, Decompositions

    #: A run, and its policy as the user wrote it.
    Named = tuple[str, Simulation]

#: The formats of tables of jobs.
JOBS = (".csv", ".parquet")

#: The most Gantt charts in a picture.
MOST_CHARTS = 4

#: The pictures of runs: `optsched.showing` has a function of each, such as `gantt_picture`.
PLOTS = ("gantt", "times", "reductions", "running", "locality")


@arguments.command
def simulate(
    *,
    instances: Annotated[tuple[str, ...], Argument(arguments.INSTANCE, "INSTANCE...")],
    policies: Annotated[
        tuple[str, ...],
        Option("A heuristic, your own as package.module:class, or solve. Lists with colons.", "--policy"),
    ],
    service: Annotated[
        str | None,
        Option(
            "How long tasks take: levels (by locality; the default), transfer, rates, recorded, overload, or your own "
            "as package.module:class.",
            metavar="S[,K=V...]",
        ),
    ] = None,
    heartbeat: Annotated[float, Option("Seconds between heartbeats of a node; 0: none.")] = 3,
    assign: Annotated[
        str,
        Option("Tasks that a heartbeat starts: for all free slots, or one of each kind.", choices=("all", "one")),
    ] = "all",
    slowstart: Annotated[float, Option("Share of a job's maps that ends before its reduces start.")] = 0.05,
    until: Annotated[float | None, Option("Stop at this time of the instance's clock.", metavar="S")] = None,
    losses: Annotated[
        tuple[str, ...],
        Option(
            "A node is lost at a time, and back with its data at another, or never (repeatable).",
            "--lose",
            metavar="NODE:S[:S]",
        ),
    ] = (),
    repeats: arguments.Repeats = None,
    seed: arguments.FirstSeed = None,
    jobs: Annotated[str | None, Option("Write a row for each job, too: .csv or .parquet.", kind=arguments.FILE)] = None,
    schedule: Annotated[
        str | None,
        Option(
            "Write what the one run did as a schedule file, too: node and start of each task; FILE.npz is smaller.",
            metavar="FILE.json",
        ),
    ] = None,
    plots: Annotated[
        tuple[str, ...],
        Option(
            f"Draw it, too (repeatable): {', '.join(PLOTS)}; .svg, .png or .pdf. Needs matplotlib.",
            "--plot",
            kind=arguments.FILE,
            metavar="WHAT=FILE",
        ),
    ] = (),
    within: arguments.RunLimits = None,
    out: arguments.Recorded,
) -> None:
    """Run policies over time: jobs arrive, tasks end, slots are offered at heartbeats.

    INSTANCE is a file, a folder, a name from `list instances`, or a pattern of files or of such names. The table has a
    row for each policy: when the last task ended, how long jobs took from arrival to end, and how near maps were to
    their data. For several seeds these are means, ± half their 95 % interval, and the worst mean job time. JSON and CSV
    hold one record for each run. A batch heuristic, and `solve`, decides about all waiting tasks whenever something
    happens, or every `period` seconds, or once `on_free` slots are free. `observed` runs a trace again.

    --schedule and --plot gantt take one seed unless --repeats says more. A run that fails, or ends at --run-limit or
    --memory-limit, has no row. Exit code 4 if a policy failed, or left tasks waiting for ever.
    """
    from optsched.measuring.studies.choices import groups_of

    _check_jobs(jobs)
    drawn = _pictures_of(plots)
    made = _service(service)
    chosen = {text: policy_named(text) for text in dict.fromkeys(policies)}
    if schedule is not None or any(what == "gantt" for what, _ in drawn):
        repeats = repeats or 1
    seeds = arguments.seeds_of(repeats, seed)
    given = [instance for group in groups_of(instances) for instance in group.instances]
    steps = len(given) * len(chosen) * len(seeds or (0,))
    if schedule is not None:
        _check_schedule(steps, losses)
    _check_pictures(drawn, len(given), len(chosen), len(seeds or (0,)))
    notes = Notes()
    for instance in given:
        notes.of_labels(instance)
    notes.tell()
    rules: dict[str, Any] = {
        "service": made,
        "heartbeat": heartbeat,
        "assign": assign,
        "slowstart": slowstart,
        "until": until,
        "losses": [_loss(text) for text in losses],
    }
    failed: dict[str, None] = {}
    runs = partial(_runs, given, chosen, seeds, rules, failed)

    with ExitStack() as files:
        file = None if jobs is None else files.enter_context(replacing(jobs))
        kept = None if schedule is None else files.enter_context(replacing(schedule))
        pictures = [(what, files.enter_context(picturing(path))) for what, path in drawn]
        texts = _texts(out, given, notes)
        named = collected(runs, texts, out.file, "runs" if seeds is None else f"of {steps} runs", steps)
        waiting = _note_unfinished(named)
        if failed:
            raise HeuristicFailed(*failed, *waiting)
        if file is not None and jobs is not None:
            file.write(_jobs(named, jobs))
        if kept is not None and schedule is not None:
            from optsched.instances.claim_files import claim_content

            kept.write(claim_content(named[0][1].schedule, named[0][1].instance, schedule))
        for what, draw in pictures:
            _draw(what, draw, named)
    if waiting:
        raise HeuristicFailed(*waiting)


def _runs(
    instances: Sequence[Instance],
    policies: Mapping[str, tuple[Any, dict[str, Any]]],
    seeds: Sequence[int] | None,
    rules: Mapping[str, Any],
    failed: dict[str, None],
    step: Progress,
) -> Iterator[Named]:
    """The runs of each policy on each instance; a message for each run that fails is added to `failed`."""
    for instance in instances:
        for text, (policy, values) in policies.items():
            yield from _runs_of_policy(instance, text, policy, values, seeds, rules, failed, step)


def _runs_of_policy(
    instance: Instance,
    text: str,
    policy: Any,
    values: dict[str, Any],
    seeds: Sequence[int] | None,
    rules: Mapping[str, Any],
    failed: dict[str, None],
    step: Progress,
) -> Iterator[Named]:
    """The runs of one policy on one instance: a run for each seed.

    Without `seeds`, one run is enough if the policy draws nothing: another run would be the same. A user's own policy
    may still differ from run to run. So it runs twice with the first seed, to check.
    """
    from optsched.heuristics.simulating import simulate as run_over_time
    from optsched.measuring.studies.choices import SEEDS
    from optsched.measuring.studies.runs import tell_unrepeatable

    run_with = partial(run_over_time, instance, (policy, values), progress=step.within, **rules)
    for number, seed in enumerate(SEEDS if seeds is None else seeds):
        if seeds is not None or number == 0:
            step(f"{instance.name} {text}")
        try:
            run = run_with(seed=seed)
            first = seeds is None and number == 0
            repeated = run_with(seed=seed) if first and not getattr(policy, "shipped", True) else run
        except HeuristicFailed as error:
            failed.update((f"{instance.name}: {line}", None) for line in error.lines)
            if seeds is None:
                break
            continue
        yield text, run
        same = repeated.schedule == run.schedule or tell_unrepeatable(text, instance.name)
        if first and same and not run.drawn:
            break  # another seed would give the same


def _note_unfinished(named: Sequence[Named]) -> list[str]:
    """Note which runs stopped early; returns messages on those that left tasks waiting for ever."""
    stopped = [(text, run) for text, run in named if run.unfinished and not run.starved]
    for message in dict.fromkeys(f"{run.instance.name}, {text}: {run.unfinished}" for text, run in stopped):
        arguments.note(message)
    starved = [(text, run) for text, run in named if run.starved]
    return list(dict.fromkeys(f'{run.instance.name}: under policy "{text}": {run.unfinished}' for text, run in starved))


def _draw(what: str, draw: Callable[..., None], named: Sequence[Named]) -> None:
    """Draw a picture of all runs; the title of a chart has the seed if a policy has several."""
    from optsched.measuring.timelines import timeline

    several = what == "gantt" and len({run.seed for _, run in named}) > 1
    draw(
        f"{what}_picture",
        [timeline(run, name=f"{name}, seed {run.seed}" if several else name) for name, run in named],
    )


def _loss(text: str) -> tuple[str, float, float | None]:
    """A node, the time of its loss, and of its return; nodes may have colons in their names."""
    parts = text.split(":")
    times: list[float] = []
    while len(parts) > 1 and len(times) < 2:
        try:
            times.insert(0, float(parts[-1]))
        except ValueError:
            break
        parts.pop()
    if not times:
        raise UsageError(f'--lose "{text}": give NODE:S or NODE:S:S, the seconds of its loss and of its return')
    return ":".join(parts), times[0], times[1] if len(times) > 1 else None


def policy_named(text: str, option: str = "--policy") -> tuple[Any, dict[str, Any]]:
    """A policy over time and its parameters; also a batch heuristic or `solve`, with the parameters of rounds."""
    from optsched.heuristics.simulating import SOLVE
    from optsched.measuring.studies.choices import chosen, literal, parted

    name, texts = parted(text, option)
    values = {key: literal(value) for key, value in texts.items()}
    if name == SOLVE:
        return name, values
    entry = chosen(name).entry
    if entry.online and entry.parameters is not None:
        choice = chosen(text)
        return choice.entry, dict(choice.parameters)
    return entry, values


def _service(text: str | None) -> Any:
    """A service with its parameters; None: the policy's usual one."""
    from inspect import isabstract

    from optsched.heuristics.running.run import users_own
    from optsched.heuristics.simulating import service_of
    from optsched.heuristics.simulating.services import SERVICES, service_named
    from optsched.measuring.studies.choices import find_here, literal, parted

    if text is None:
        return None
    name, texts = parted(text, "--service")
    if ":" not in name and name not in SERVICES:
        known = f"{nearest(name, list(SERVICES))}, or your own as package.module:class"
        raise UsageError(f'there is no service "{name}"; {known}')
    find_here()
    made = users_own(name, "service") if ":" in name else service_named(name)
    if isabstract(made) or not isinstance(made, type):
        return service_of(made)
    try:
        return service_of(made(**{key: literal(value) for key, value in texts.items()}))
    except TypeError as error:
        if not texts:
            raise UsageError(f'--service "{text}": {error}; give its parameters as {name},NAME=VALUE') from None
        raise UsageError(f'--service "{text}": {name} has no parameter {", ".join(texts)}') from None


def _check_jobs(path: str | None) -> None:
    """Raise UsageError before any run if the table of jobs could not be written."""
    if path is None:
        return
    if not path.endswith(JOBS):
        raise UsageError(f"--jobs {path}: give a file that ends in {' or '.join(JOBS)}")
    if path.endswith(".parquet"):
        from importlib.util import find_spec

        if not (find_spec("pyarrow") or find_spec("fastparquet")):
            raise UsageError(f"--jobs {path}: parquet needs pyarrow; install it, or write .csv")


def _pictures_of(texts: Sequence[str]) -> list[tuple[str, str]]:
    """The pictures and their files; UsageError before any run if one is impossible."""
    found: list[tuple[str, str]] = []
    for text in texts:
        what, equals, path = text.partition("=")
        if not equals or not path:
            raise UsageError(f'--plot "{text}": give what is drawn and a file, as gantt=day.svg')
        expect_known(what, PLOTS, f'--plot "{text}": there is no picture "{what}"')
        arguments.PICTURE.convert(path, None, None)
        if path in (other for _, other in found):
            raise UsageError(f'--plot "{text}": {path} is drawn to already; name another file')
        found.append((what, path))
    return found


def _check_schedule(runs: int, losses: Sequence[str]) -> None:
    """Raise UsageError if a schedule file could not hold these runs."""
    if runs != 1:
        raise UsageError(f"--schedule is of one run, and these are {runs}: name one instance and one policy")
    if losses:
        raise UsageError("--schedule is of runs that lose no node; with --lose a task may run more than once")


def _check_pictures(plots: Sequence[tuple[str, str]], instances: int, policies: int, repeats: int) -> None:
    """Raise UsageError if a picture does not suit these runs."""
    for what, path in plots:
        if what == "gantt" and (instances > 1 or policies * repeats > MOST_CHARTS):
            raise UsageError(
                f"--plot gantt={path}: is of one instance and {MOST_CHARTS} runs at most, and these are "
                f"{policies * repeats} on {instances}: name fewer"
            )
        if what == "reductions" and policies == 1:
            raise UsageError(f"--plot reductions={path}: compares the last policy with others: name two or more")


def _jobs(done: Sequence[Named], path: str) -> bytes:
    """The jobs of all runs, each with its run; the policy has the name that the user wrote."""
    from io import BytesIO

    import pandas as pd

    parts = [run.jobs.assign(instance=run.instance.name, policy=text, seed=run.seed) for text, run in done]
    table = pd.concat(parts, ignore_index=True)
    first = ["instance", "policy", "seed"]
    table = table[[*first, *(name for name in table.columns if name not in first)]]
    if path.endswith(".csv"):
        return table.to_csv(index=False, lineterminator="\n").encode()
    file = BytesIO()
    table.to_parquet(file, index=False)
    return file.getvalue()


def _texts(out: arguments.Out, instances: Sequence[Instance], notes: Notes) -> Texts:
    """The output on the runs: a table, or records with the notes on their instances."""
    if out.tabled:
        heads = ("instance", "policy") if len(instances) > 1 else ("policy",)
        return at_end(partial(_table, out.page, heads))

    from optsched.heuristics.simulating.simulation import RECORD_FIELDS

    def record(named: Named) -> dict[str, Any]:
        run = named[1]
        return {"version": code_version(), **run.record_of(), "notes": notes.recorded(run.instance.name, "")}

    return records(out.form, ("version", *RECORD_FIELDS, "notes"), record)


#: Fields of a record in seconds, by their headings in a table.
_TIMES = {
    "makespan": "makespan",
    "mean job": "mean_job_time",
    "worst seed": "mean_job_time",
    "median job": "median_job_time",
    "longest job": "longest_job_time",
}


def _table(page: Page, heads: Sequence[str], named: Sequence[Named]) -> str:
    """A row for each policy on each instance, with the means of several seeds; none if every run failed."""
    found: dict[tuple[str, ...], list[Simulation]] = {}
    for label, run in named:
        found.setdefault((run.instance.name, label)[-len(heads) :], []).append(run)
    if not found:
        return ""
    several = any(len(runs) > 1 for runs in found.values())
    times = [name for name in _TIMES if several or name != "worst seed"]
    numbers = ("seeds", "tasks", *times, "node", "rack", "off-rack")
    rows = []
    for key, runs in found.items():
        records = [run.record_of() for run in runs]
        ended = f"{min(record['ended'] for record in records)}/{records[0]['tasks']}"  # the fewest
        cells = [_seconds(name, [record[_TIMES[name]] for record in records]) for name in times]
        counts = [sum(column) for column in zip(*(run.locality.values() for run in runs), strict=True)]
        cells += [f"{100 * count / max(1, sum(counts)):.1f} %" for count in counts]
        rows.append((*key, str(len(runs)), ended, *cells))
    return page.put(Table((*heads, *numbers), rows, frozenset(numbers)))


def _seconds(name: str, times: Sequence[float | None]) -> str:
    """Seconds as the table shows them: the mean over the seeds; of makespan and mean job time with its interval."""
    known = [time for time in times if time is not None]
    if not known:
        return "-"
    if name == "worst seed":
        return f"{max(known):,.1f} s"
    half = half_width(known) if name in ("makespan", "mean job") else None
    return f"{sum(known) / len(known):,.1f}{f' ±{half:,.1f}' if half else ''} s"


# The parts of a gap over time ---------------------------------------------------------------------------------------


@arguments.command
def decompose(
    *,
    asked: Posed,
    heuristics: Annotated[
        tuple[str, ...],
        Option(
            "A policy (repeatable); your own as package.module:function, or solve. Lists with colons.",
            "--heuristic --policy",
        ),
    ],
    repeats: Annotated[int, Option("Seeds.", least=1)] = 5,
    seed: Annotated[int, Option("The first seed.", least=0)] = 0,
    heartbeat: Annotated[float, Option("0: slots are offered at once.", kind=arguments.Seconds(), metavar="S")] = 3,
    assign: Annotated[str, Option("What a heartbeat may start.", choices=("all", "one"))] = "all",
    profile: arguments.Limited,
    target: arguments.Target = None,
    out: arguments.Recorded,
) -> None:
    """Split a policy's gap over time into causes: waits, placement, order of jobs, knowledge, and what is not proved.

    The policy runs over time as it is (A). Then it runs without heartbeats (B), and with the same numbers of tasks of
    each job at each instant, in the best placement (C). Then come the best order of jobs that was tried (D), the best
    schedule found with what has arrived known (E) and with all arrivals known (F), and the proved bound (G). The table
    shows what each step changes, on average over the seeds. It may be negative: the best decision at an instant is not
    always part of the best run.

    Several policies have a row each. The best schedule and the bound are computed once for all of them. JSON is
    one object, CSV has a row for each policy. Exit code 4 if a policy failed, or left tasks waiting for ever.
    """
    from optsched.measuring.decomposing import decompose_all
    from optsched.problems import problem_class
    from optsched.problems.schedules import ScheduleProblem

    if not issubclass(problem_class(asked.problem_name), ScheduleProblem):
        raise UsageError(f"decompose is for problems over time (makespan, job-times), not for {asked.problem_name}")
    policies = [policy_named(text, "--heuristic") for text in dict.fromkeys(heuristics)]
    posed, notes = asked.pose()
    with picturing(target) as draw:
        with working(repeats * len(policies) + 1) as step:
            found = decompose_all(
                posed,  # type: ignore[arg-type]
                policies,
                range(seed, seed + repeats),
                heartbeat=heartbeat,
                assign=assign,
                time_limit=profile.time_limit,
                profile=profile,
                step=lambda part: step(f"{posed.instance.name} {posed.name}: {part}"),
            )
        if not found:
            found.raise_if_failed()
        one = len(found) == 1
        draw(*("decomposition_picture", found[0]) if one else ("decompositions_picture", found))
    if out.form == "json":
        out.json({**content(found), "notes": notes})
    elif out.form == "csv":
        out.text(_rows(found))
    elif len(policies) == 1:
        out.table(parts_table(found[0]))
    else:
        out.table(policies_table(found), _shared(found))
    found.raise_if_failed()


def content(decompositions: Decompositions) -> dict[str, Any]:
    """The fields of the JSON form; times in seconds."""
    first = decompositions[0]
    return {
        "version": code_version(),
        "instance": decompositions.problem.instance.name,
        "problem": decompositions.problem.name,
        "parameters": dict(decompositions.problem.parameters),
        "value": decompositions.problem.value_in_words,
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
            for one in decompositions
        ],
        "failed": [{"heuristic": label, "error": str(error)} for label, error in decompositions.failed.items()],
    }


def _rows(decompositions: Decompositions) -> str:
    """The CSV form: a row for each policy."""
    record = content(decompositions)
    shared = {name: record[name] for name in ("version", "instance", "problem", "parameters", "assumed")}
    records = [
        {
            **shared,
            "heuristic": one["heuristic"],
            "heuristic_parameters": one["heuristic_parameters"],
            "seeds": len(one["runs"]),
            **one["means"],
            "arrived": record["arrived"],
            "known": record["known"],
            "bound": record["bound"],
            "certificate": record["certificate"],
            **{part.replace(" ", "_"): value for part, value in one["parts"].items()},
            "gap": one["gap"],
        }
        for one in record["policies"]
    ]
    return to_csv(records, list(records[0]))


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def parts_table(decomposition: Decomposition) -> Table:
    """A row for each part, with its seconds and its share of the gap, between the policy and the bound."""
    from optsched.measuring.decomposing import PARTS

    rows = [("as it is (A)", _in_seconds(decomposition.means["as_is"]), "", _mean_of(decomposition))]
    for part, value in decomposition.parts.items():
        gap = decomposition.gap
        share = f"{float(100 * value / gap):.1f} %" if gap and value is not None else "-"
        rows.append((part, _in_seconds(value), share, PARTS[part]))
    rows.append(("bound (G)", _in_seconds(decomposition.bound), "", _proved(decomposition)))
    return Table(("part", "seconds", "share of gap", "what it is"), rows, frozenset({"seconds", "share of gap"}))


def policies_table(decompositions: Decompositions) -> Table:
    """A row for each policy: its value, the whole gap, and the parts of the gap, in seconds."""
    from optsched.measuring.decomposing import PARTS

    numbers = ("as it is", "gap", *PARTS)
    rows = []
    for one in decompositions:
        rows.append((one.label, *map(_in_seconds, (one.means["as_is"], one.gap, *one.parts.values()))))
    return Table(("policy", *numbers), rows, frozenset(numbers))


def _shared(results: Decompositions) -> str:
    """The common values of several policies, above their table."""
    first = results[0]
    bound = "no bound is proved" if first.bound is None else f"bound (G) {_in_seconds(first.bound)}, {_proved(first)}"
    return (
        f"{results.problem.instance.name}, {results.problem.name}: {_mean_of(first)}, in seconds; {first.assumed}; "
        f"best found with what has arrived (E) {_in_seconds(first.arrived)}, with all known (F) "
        f"{_in_seconds(first.known)}, {bound}"
    )


def _mean_of(decomposition: Decomposition) -> str:
    return f"{decomposition.problem.value_in_words}, mean of {counted(len(decomposition.runs), 'seed')}"


def _proved(decomposition: Decomposition) -> str:
    return "nothing is proved" if decomposition.bound is None else f"proof: {decomposition.proof}"


def _in_seconds(value: Any) -> str:
    if value is None:
        return "-"
    return f"{float(value):.6g}" if abs(value) < 1_000_000 else f"{float(value):.0f}"
