"""The worst instance for a heuristic, or one that breaks a claim."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from optsched.core.errors import UsageError
from optsched.heuristics import AnyHeuristic
from optsched.measuring.mining.finding import Find
from optsched.measuring.mining.judging import Aim, Judge
from optsched.measuring.mining.starts import Starts, starts_of
from optsched.measuring.mining.walking import SEARCHED, Clock, OutOfTime, Search
from optsched.measuring.studies.choices import Choice, chosen, seeds_of, users_function
from optsched.measuring.studies.runs import check_served
from optsched.problems import problem_class
from optsched.problems.base import resolve
from optsched.processes.containing import in_force
from optsched.processes.outcomes import Limits
from optsched.solvers.profiles import Profile, load_profile

__all__ = ["mine"]

#: So many instances are tried, unless told otherwise.
BUDGET = 2000

#: How large instances may become, unless told otherwise.
MOST = {"tasks": 12, "nodes": 6}

#: Of the command line: what need not be said.
DEFAULTS = {
    "worst": "relative",
    "over": "worst",
    "run-seeds": "0",
    "most-tasks": MOST["tasks"],
    "most-nodes": MOST["nodes"],
    "profile": "exact",
}


def mine(
    heuristic: AnyHeuristic | Choice,
    problem: str,
    *,
    budget: int | None = None,
    seed: int = 0,
    run_seeds: int | str | Iterable[int] = (0,),
    over: Any = "worst",
    worst: str = "relative",
    component: str | None = None,
    claim: str | Callable[..., Any] | None = None,
    failures: bool = True,
    parameters: Mapping[str, Any] | None = None,
    family: str | None = None,
    family_parameters: Mapping[str, Any] | None = None,
    most_tasks: int = MOST["tasks"],
    most_nodes: int = MOST["nodes"],
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    step: Callable[[str], None] = lambda text: None,
) -> Find | None:
    """Look for the instance on which a heuristic is worst, or on which a claim is broken, and shrink it.

    Parameters
    ----------
    heuristic
        As `optsched.gap` takes it, or a text with parameters (`"dl,reading=heartbeat"`).
    problem
        Its name.
    budget
        So many instances are tried, by default 2000, or where there is a `time_limit` as many as it allows. Shrinking,
        which comes to an end by itself, is not counted.
    seed
        Of the search: the same arguments find the same instance, unless `time_limit` cuts the search short.
    run_seeds
        Of the heuristic's runs on each instance, as `optsched.study` takes seeds.
    over
        Which gap of these runs counts: `worst`, `mean`, `median`, or a quantile between 0 and 1.
    worst
        `relative` gaps, where any gap over 0 (the optimum is 0) is worse than every share, or `absolute` ones.
    component
        Of the objective; by default the first that differs.
    claim
        In place of a gap: a function, or `package.module:function`, called with the `GapReport` of each feasible
        placement. True or False says whether the claim holds; a number how far it is from being broken, which it is
        below 0. A number guides the search; a large one is for instances that the claim says nothing of. One run that
        breaks it is enough.
    failures
        Whether a run that fails or has no feasible placement is worse than every gap.
    parameters
        Of the problem.
    family, family_parameters
        Where the search starts; by default at the problem's own family, at small sizes, or, where the heuristic needs
        what its instances lack, at `mixed`. Numbers stay within the range that the family draws, or 0 to 10.
    most_tasks, most_nodes
        How large the instances may become.
    profile
        Of the solver.
    time_limit
        Seconds for the whole, of which three tenths are kept for shrinking; what was found until then is the answer.
    step
        Told of each instance that is tried.

    Returns
    -------
    Find or None
        The worst instance; None where every instance is solved to the optimum, or keeps the claim. An interrupt
        (KeyboardInterrupt) gives the best so far, `Find.interrupted`, if there is any.

    Raises
    ------
    UsageError
        For an unknown problem, heuristic, family, parameter or component, where no instance of the family can be posed,
        and where none of those that were tried could be judged.

    Examples
    --------
    >>> found = mine("dl,reading=heartbeat", "lsap", claim=lambda report: report.absolute_gap == (0,))
    >>> print(found)
    dl,reading=heartbeat on lsap: 1 locality-cost against the optimum 0, on 1 task and 2 nodes
    """
    choice, name = chosen(heuristic), problem_class(problem).name
    check_served([choice], [name])
    resolved = resolve(name, problem_class(name).parameter_table, parameters or {})
    given = {key: resolved[key] for key in parameters or {}}
    aim = Aim(worst, component, users_function(claim, "claim") if isinstance(claim, str) else claim, failures, over)
    aim.check(name)
    if budget is None and time_limit is None:
        budget = BUDGET
    _check_counts(budget=budget, most_tasks=most_tasks, most_nodes=most_nodes)
    most = {"tasks": most_tasks, "nodes": most_nodes}
    judge = Judge(name, given, choice, seeds_of(run_seeds), aim, load_profile(profile))
    starts = starts_of(judge, family, family_parameters or {}, most)
    search = Search(judge, starts, most, budget, seed, step)
    interrupted = _spent(search, judge, time_limit)
    if search.best is None:
        _check_posed(search, judge, starts)
        return None
    spent = search.searched if budget is None or time_limit is not None else budget
    start = {"family": family, "most-tasks": most_tasks, "most-nodes": most_nodes, "profile": profile}
    command = _command(judge, claim, family_parameters or {}, {**start, "budget": spent, "seed": seed})
    named = claim if isinstance(claim, str) else None
    state = (search.tried, command, search.minimal, interrupted)
    return Find(name, given, choice, search.best, aim, named, profile, in_force() or Limits(), *state)


def _check_counts(**counts: int | None) -> None:
    """Raise UsageError unless each is a whole number, 1 or more, or not given."""
    for what, number in counts.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise UsageError(f"{what}={number!r}: give a whole number, 1 or more")


def _spent(search: Search, judge: Judge, time_limit: float | None) -> bool:
    """Search and shrink as long as budget and time allow; whether an interrupt cut it short after a find."""
    whole = Clock(time_limit)
    try:
        try:
            judge.left = Clock(None if time_limit is None else SEARCHED * time_limit).left
            search.run()
        except OutOfTime:
            pass
        judge.left = whole.left
        search.shrink()
    except OutOfTime:
        pass
    except KeyboardInterrupt:
        if search.best is None:
            raise
        return True
    return False


def _check_posed(search: Search, judge: Judge, starts: Starts) -> None:
    """Raise UsageError where nothing was found since nothing could be judged."""
    told = judge.passed or judge.refused
    if search.tried and not search.posed and told is not None:
        raise UsageError(
            f"none of {search.tried} instances from family {starts.family} could be judged: {str(told).splitlines()[0]}"
        )


def _command(judge: Judge, claim: Any, drawn_with: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The command line of a search: what differs from the defaults, with `options` last."""
    aim, limits = judge.aim, in_force() or Limits()
    named = claim if isinstance(claim, str) else getattr(claim, "__qualname__", "claim")
    options = {
        "claim": None if claim is None else named,
        "worst": aim.worst,
        "component": aim.component,
        "over": aim.over,
        "run-seeds": ",".join(map(str, judge.seeds)),
        "no-failures": not aim.failures,
        "run-limit": limits.seconds,
        "memory-limit": limits.memory_mb,
        **options,
    }
    words = ["optsched", "mine", "--problem", judge.name, "--heuristic", judge.choice.label]
    for option, values in (("--param", judge.parameters), ("--set", drawn_with)):
        for key, value in values.items():
            words += [option, f"{key}={','.join(map(str, value)) if isinstance(value, list | tuple) else value}"]
    for key, value in options.items():
        if value is not None and value is not False and value != DEFAULTS.get(key):
            words += [f"--{key}"] + ([] if value is True else [str(value)])
    return shlex.join(words)
