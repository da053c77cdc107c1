"""Many gaps at once: instances x problems x heuristics x seeds, planned before anything runs, measured one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from warnings import warn

from optsched.core.errors import Fault, InputError, MissingField, ProblemFailed, UsageError, expect, nearest
from optsched.core.instance import Instance
from optsched.core.placement import Placement, Schedule
from optsched.heuristics import HEURISTICS, AnyHeuristic, applicable, run
from optsched.measuring.gaps import GapReport, Reference, gap_of
from optsched.measuring.records import Run
from optsched.measuring.studies.choices import (
    SEEDS,
    Choice,
    Group,
    Source,
    chosen,
    distinct,
    groups_of,
    raise_all,
    seeds_of,
)
from optsched.problems import PROBLEMS, problem_class
from optsched.problems.base import TaskProblem
from optsched.solvers.profiles import Profile, load_profile


class UnrepeatableWarning(UserWarning):
    """A heuristic gives different results with the same seed."""


@dataclass(frozen=True)
class Work:
    """A problem posed on an instance of a group, and the heuristics to run on it."""

    group: str
    problem: TaskProblem[Any]
    choices: tuple[Choice, ...]


#: Called with an instance, the name of a problem that cannot be posed on it, and why.
Refused: TypeAlias = Callable[[Instance, str, InputError], None]


def not_noted(instance: Instance, name: str, error: InputError) -> None:
    """Takes no note of a problem that cannot be posed."""


def problems_with_heuristics() -> list[str]:
    """Names of the problems that decide a placement."""
    return [name for name, kind in PROBLEMS.items() if kind.decided is Placement]


def check_served(choices: Sequence[Choice], names: Sequence[str], listed: bool = False, each: bool = False) -> None:
    """Raise UsageError for heuristics that run in none of the problems, and problems that none serves.

    `listed`: the problems are all there are, and were not chosen by name. `each`: a heuristic must run in each problem.
    """
    for name in names:
        if problem_class(name).decided not in (Placement, Schedule):
            raise UsageError(f"{name} has no heuristics: its decision is a flow; optsched solve takes it")
        if not listed and not choices and not any(entry.runs_in(name) for entry in HEURISTICS.values()):
            raise UsageError(
                f"no heuristic of the list serves {name}; give your own as --heuristic package.module:function"
            )
    lines = [
        f"heuristic {choice.entry.name} serves {', '.join(choice.entry.problems)}; not {', '.join(wanted)}"
        for choice in choices
        for wanted in ([[name] for name in names] if each else [names])
        if not any(map(choice.entry.runs_in, wanted))
    ]
    if lines:
        raise UsageError(*lines)


def posed(
    groups: Iterable[Group],
    names: Sequence[str],
    parameters: Mapping[str, Mapping[str, Any]],
    needed: bool,
    refused: Refused = not_noted,
    strict: bool = True,
) -> list[tuple[str, TaskProblem[Any]]]:
    """The problems on each instance, with its group.

    If they were not asked for by name (`needed`), only those that can be posed; `refused` is called with the others. If
    the instances were not chosen (not `strict`), those without a problem's fields are skipped.

    InputError for what was asked for and cannot be posed, for an instance that no problem fits, and for a problem that
    none of the skipped instances can pose.
    """
    found: list[tuple[str, Any]] = []
    errors: list[InputError] = []
    passed: dict[str, InputError] = {}
    for label, instance in ((group.label, instance) for group in groups for instance in group.instances):
        missing: list[InputError] = []
        for name in names:
            try:
                found.append((label, problem_class(name)(instance, **parameters.get(name, {}))))
            except InputError as error:
                fault = error if error.source else error.with_source(instance.name)
                if needed and not strict and isinstance(error, MissingField):
                    passed.setdefault(name, fault)
                    continue
                missing.append(fault)
                if not needed:
                    refused(instance, name, error)
        if needed:
            errors += missing
        elif len(missing) == len(names):
            words = f"none of {', '.join(names)} can be posed; `optsched describe` says which fields are missing"
            errors.append(MissingField([Fault("", words)], instance.name))
    on = {problem.name for _, problem in found}
    raise_all([*errors, *(error for name, error in passed.items() if name not in on)])
    return found


def work_on(
    problems: Iterable[tuple[str, TaskProblem[Any]]], choices: Sequence[Choice], strict: bool = True
) -> list[Work]:
    """The heuristics to run on each problem: the chosen ones that serve it, or every applicable one.

    Missing fields of a chosen heuristic are an error if the instances were chosen too (`strict`), or if it would run
    nowhere; otherwise it skips the instance.
    """
    if not choices:
        return [
            Work(group, problem, tuple(map(chosen, applicable(problem, by_default=True))))
            for group, problem in problems
        ]
    work: list[Work] = []
    errors: list[InputError] = []
    runs: set[str] = set()
    for group, problem in problems:
        serving = []
        for choice in choices:
            if not choice.entry.runs_in(problem.name):
                continue
            if faults := choice.entry.faults(problem, choice.parameters):
                errors.append(MissingField(faults, f"{problem.instance.name}: {choice.entry.name}"))
                continue
            serving.append(choice)
            runs.add(choice.label)
        if serving:
            work.append(Work(group, problem, tuple(serving)))
    idle = [choice.entry for choice in choices if choice.label not in runs]
    if strict or idle:
        raise_all(errors)
    if idle:
        named = ", ".join(idle[0].problems)
        raise UsageError(f"heuristic {idle[0].name} serves {named}, which no instance can pose")
    return work


def plan(
    instances: Source | Iterable[Source],
    problems: str | Sequence[str] = (),
    heuristics: AnyHeuristic | Sequence[AnyHeuristic | Choice] = (),
    parameters: Mapping[str, Any] | None = None,
    refused: Refused = not_noted,
    strict: bool = True,
) -> list[Work]:
    """Plan the work of `measure`; every fault in the arguments is found here.

    The arguments are those of `study`. `refused` is called with problems that were not asked for by name and cannot be
    posed. If the instances were not chosen (not `strict`), those that lack fields are skipped. UsageError for what does
    not exist or does not go together, InputError for wrong instances.
    """
    expect(problems, Iterable, "problems are named by texts", "one, or a list; an empty one: all that can be posed")
    expect(parameters, (Mapping, type(None)), "parameters of problems are a mapping of names to values")
    names = [problems] if isinstance(problems, str) else list(problems)
    several = isinstance(heuristics, Iterable) and not isinstance(heuristics, str | Choice | Mapping)
    given: list[Any] = list(heuristics) if several else [heuristics]  # type: ignore[arg-type]
    wanted = list(dict.fromkeys(problem_class(name).name for name in names)) or problems_with_heuristics()
    choices = distinct(map(chosen, given))
    check_served(choices, wanted, listed=not names)
    values = by_problem(wanted, parameters or {})
    return work_on(posed(groups_of(instances), wanted, values, bool(names), refused, strict), choices, strict)


def by_problem(names: Sequence[str], parameters: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Parameters of each problem, from those of all and those of one."""
    tables = {name: [entry.name for entry in problem_class(name).parameter_table] for name in names}
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    for key, value in parameters.items():
        if key in tables and isinstance(value, Mapping):
            found[key] |= value
            continue
        takers = [name for name, known in tables.items() if key in known]
        if not takers:
            known = list(dict.fromkeys(name for table in tables.values() for name in table))
            raise UsageError(f'no problem of {", ".join(names)} has a parameter "{key}"; {nearest(key, known)}')
        for name in takers:
            found[name].setdefault(key, value)
    return found


def measure(
    work: Iterable[Work],
    seeds: int | str | Iterable[int] | None = 1,
    *,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    step: Callable[[str], None] = lambda text: None,
) -> Iterator[Run]:
    """Every report as soon as it is known; a problem is solved once, for all heuristics and seeds.

    `work`: from `plan`. `seeds`: as for `seeds_of`. None: ten for a heuristic that draws random numbers, one for
    others. A user's own code then runs twice with the first seed, and a warning says where its two answers differ.
    `profile`, `time_limit`: as for `optsched.gap`, for each reference and each run of a heuristic. `step`: called with
    each run before it begins; without `seeds` once for all seeds. KeyboardInterrupt also if the interrupt stopped a
    solver, whose solution says so. ProblemFailed at the end, with a line for each instance on which the problem of
    another package raised.
    """
    limits = load_profile(profile, time_limit)
    given = None if seeds is None else seeds_of(seeds)
    failed: list[ProblemFailed] = []
    for part in work:
        try:
            yield from _measured(part, given, limits, time_limit, step)
        except ProblemFailed as error:
            failed.append(error)
    if failed:
        raise ProblemFailed(*dict.fromkeys(map(str, failed))) from failed[0]


def _measured(
    part: Work,
    seeds: Sequence[int] | None,
    limits: Profile,
    time_limit: float | None,
    step: Callable[[str], None],
) -> Iterator[Run]:
    """The reports of one problem on one instance."""
    problem = part.problem
    reference = None
    for choice in part.choices:
        called = f"{problem.instance.name} {problem.name} {choice.label}"
        for number, seed in enumerate(SEEDS if seeds is None else seeds):
            if seeds is not None:
                step(f"{called} seed {seed}")
            elif number == 0:
                step(called)
            reference = reference or Reference.solved(problem, limits)
            ran = run(problem, choice.entry, seed, time_limit=time_limit, **choice.parameters)
            report = gap_of(problem, ran, seed, reference)
            yield Run.of(report, part.group, choice.label)
            reference.solution.raise_if_interrupted()
            if seeds is None and number == 0 and _repeatable(report, choice, time_limit) and not ran.drawn:
                break  # another seed would give the same


def _repeatable(first: GapReport, choice: Choice, time_limit: float | None) -> bool:
    """Whether a heuristic repeats its result with the same seed: a user's own code runs again; a warning if not."""
    if choice.entry.shipped or first.error is not None:
        return True
    again = run(first.problem, choice.entry, first.seed, time_limit=time_limit, **choice.parameters)
    return again.decision == first.decision or tell_unrepeatable(choice.label, first.problem.instance.name)


def tell_unrepeatable(label: str, on: str) -> bool:
    """Warn of two runs that differ though they have the same seed; returns False."""
    where = f" on {on}" if on else ""
    message = f"{label} is not repeatable: two runs{where} with seed {SEEDS[0]} differ; draw from rng alone"
    warn(message, UnrepeatableWarning, stacklevel=2)
    return False
