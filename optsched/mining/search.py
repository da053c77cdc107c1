"""The worst instance for a heuristic: random starts, local search, shrinking; deterministic for a seed."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from optsched.errors import UsageError, nearest
from optsched.heuristics import AnyHeuristic
from optsched.instance import Instance
from optsched.instances.files import to_document
from optsched.instances.generate import FAMILIES, generate
from optsched.mining.changes import Document, changed, smaller
from optsched.mining.finding import Find
from optsched.mining.judging import Aim, Judge, Judged
from optsched.problems import problem_class
from optsched.problems.base import resolve
from optsched.registry import record
from optsched.solvers.profiles import Profile, load_profile
from optsched.studies.choices import Choice, chosen, users_function
from optsched.studies.runs import check_served

__all__ = ["mine"]

#: Searches that start anew share the budget; of each a fifth goes to random starts.
ROUNDS, STARTS = 4, 5

#: How large instances may become, unless told otherwise.
MOST = {"tasks": 12, "nodes": 6}

#: So many documents are gone on from.
POOL = 12


class _Over(Exception):
    """The time is up."""


class _Clock:
    """How much of a time limit is left."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Seconds; None: without end. Raises `_Over` at the end."""
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise _Over
        return left


class _Starts:
    """Random instances of a family, small ones."""

    def __init__(self, family: str, fixed: Mapping[str, Any], sizes: Mapping[str, Any], most: dict[str, int]) -> None:
        self.family, self._fixed, self._most = family, dict(fixed), most
        self._sizes = {**sizes, **fixed}

    def draw(self, rng: np.random.Generator) -> Document:
        """The document of one, half of whose sizes differ from the family's smallest ones."""
        values = dict(self._sizes)
        for name, given in self._sizes.items():
            if name not in self._fixed and type(given) is int and rng.random() < 0.5:
                values[name] = int(rng.integers(1, min(2 * given + 1, self._most.get(name, 2 * given)) + 1))
        seed = int(rng.integers(2**31))
        try:
            drawn = generate(self.family, seed, **values)
        except UsageError:  # sizes that do not go together
            drawn = generate(self.family, seed, **self._sizes)
        assert isinstance(drawn, Instance)
        document = to_document(drawn)
        return {key: value for key, value in document.items() if key not in ("name", "description", "source", "labels")}


def mine(
    heuristic: AnyHeuristic | Choice,
    problem: str,
    *,
    budget: int = 1000,
    seed: int = 0,
    run_seed: int = 0,
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
        So many instances are tried. Shrinking, which comes to an end by itself, is not counted.
    seed
        Of the search: the same arguments find the same instance, unless `time_limit` cuts the search short.
    run_seed
        Of every run of the heuristic.
    worst
        `relative` gaps (against an optimum of 0 the difference counts), or `absolute` ones.
    component
        Of the objective; by default the first that differs.
    claim
        In place of a gap: a function, or `package.module:function`, called with the `GapReport` of each feasible
        placement. True or False says whether the claim holds; a number how far it is from being broken, which it is
        below 0. A number guides the search; a large one is for instances that the claim says nothing of.
    failures
        Whether a run that fails or has no feasible placement is worse than every gap.
    parameters
        Of the problem.
    family, family_parameters
        Where the search starts; by default at the problem's own family, at small sizes.
    most_tasks, most_nodes
        How large the instances may become.
    profile
        Of the solver.
    time_limit
        Seconds for the whole; what was found until then is the answer.
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
        For an unknown problem, heuristic, family, parameter or component, and where no instance of the family can be
        posed.

    Examples
    --------
    >>> found = mine("dl,reading=heartbeat", "lsap", claim=lambda report: report.absolute_gap == (0,))
    >>> print(found)
    dl,reading=heartbeat on lsap: 1 locality-cost against the optimum 0, on 1 task and 2 nodes
    """
    choice = chosen(heuristic)
    name = problem_class(problem).name
    check_served([choice], [name])
    resolved = resolve(name, problem_class(name).parameter_table, parameters or {})
    given = {key: resolved[key] for key in parameters or {}}
    named = claim if isinstance(claim, str) else None
    asked = users_function(claim, "claim") if isinstance(claim, str) else claim
    aim = Aim(worst, component, asked, failures)
    aim.check(name)
    for what, number in (("budget", budget), ("most_tasks", most_tasks), ("most_nodes", most_nodes)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise UsageError(f"{what}={number!r}: give a whole number, 1 or more")
    most = {"tasks": most_tasks, "nodes": most_nodes}
    judge = Judge(name, given, choice, run_seed, aim, load_profile(profile))
    starts = _starts(name, family, family_parameters or {}, most)
    clock = _Clock(time_limit)
    judge.left = clock.left
    search = _Search(judge, starts, most, budget, seed, step)
    interrupted = False
    try:
        search.run()
        search.shrink()
    except _Over:
        pass
    except KeyboardInterrupt:
        interrupted = True
        if search.best is None:
            raise
    if search.best is None:
        if not search.posed and judge.refused is not None:
            raise UsageError(
                f"no instance of family {starts.family} can be posed as {name} for {choice.entry.name}; choose another "
                f"family: {judge.refused.faults[0]}"
            )
        return None
    return Find(
        name,
        given,
        choice,
        search.best.report,
        search.best.document,
        aim,
        named,
        tried=search.tried,
        command=_command(
            name,
            choice,
            [f"{key}={_text(value)}" for key, value in given.items()],
            [f"{key}={_text(value)}" for key, value in (family_parameters or {}).items()],
            claim=None if asked is None else named or getattr(asked, "__qualname__", "claim"),
            worst=worst if worst != "relative" else None,
            component=component,
            no_failures=not failures,
            family=family,
            most_tasks=most_tasks if most_tasks != MOST["tasks"] else None,
            most_nodes=most_nodes if most_nodes != MOST["nodes"] else None,
            profile=profile if profile != "exact" else None,
            run_seed=run_seed or None,
            budget=budget,
            seed=seed,
        ),
        minimal=search.minimal,
        interrupted=interrupted,
    )


def _command(name: str, choice: Choice, params: list[str], drawn_with: list[str], **options: Any) -> str:
    """The command line of a search: the options that are not None or False."""
    words = ["optsched", "mine", "--problem", name, "--heuristic", choice.label]
    for option, texts in (("--param", params), ("--set", drawn_with)):
        words += [word for text in texts for word in (option, text)]
    for key, value in options.items():
        if value is not None and value is not False:
            words += [f"--{key.replace('_', '-')}"] + ([] if value is True else [str(value)])
    return shlex.join(words)


def _text(value: Any) -> str:
    """A parameter as the command line takes it."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _starts(name: str, family: str | None, given: Mapping[str, Any], most: dict[str, int]) -> _Starts:
    entry = record(name)
    if family is None:
        if entry.family is None:
            raise UsageError(f"{name} has no family of generated instances; name one: family=...")
        sizes = {key: value for key, value in entry.sizes.items() if key not in given}
        return _Starts(entry.family, given, sizes, most)
    if family not in FAMILIES:
        raise UsageError(f'no family "{family}"; {nearest(family, list(FAMILIES))}')
    known = FAMILIES[family].parameters
    small = (("nodes", 3), ("tasks", 4), ("replicas", 2))
    sizes = {key: value for key, value in small if key in known and key not in given}
    if not isinstance(generate(family, 0, **sizes, **given), Instance):
        raise UsageError(f"family {family} draws flow networks, for which there are no heuristics")
    return _Starts(family, given, sizes, most)


class _Search:
    """What was found so far, and how to go on."""

    def __init__(
        self,
        judge: Judge,
        starts: _Starts,
        most: dict[str, int],
        budget: int,
        seed: int,
        step: Callable[[str], None],
    ) -> None:
        self._judge, self._starts, self._most, self._budget, self._step = judge, starts, most, budget, step
        self._rng = np.random.default_rng(seed)
        #: The worst that counts; whether any instance could be judged; how many were tried.
        self.best: Judged | None = None
        self.posed = False
        self.tried = 0
        #: Whether no single step of shrinking keeps it as bad.
        self.minimal = False

    def _try(self, document: Document) -> Judged | None:
        self.tried += 1
        self._judge.left()
        found = self._judge(document)
        if found is not None:
            self.posed = True
            if found.counts and (self.best is None or found.key > self.best.key):
                self.best = found
        worst = "" if self.best is None else f", worst so far: {self.best.told}"
        self._step(f"{self.tried} of {self._budget}{worst}")
        return found

    def run(self) -> None:
        """Spend the budget, or less where there is nothing worse to be found."""
        for number in range(ROUNDS):
            share = self._budget * (number + 1) // ROUNDS - self._budget * number // ROUNDS
            pool: list[tuple[Any, int, Judged]] = []
            for place in range(share):
                if self.best is not None and self.best.score[0]:
                    return
                if place < max(share // STARTS, 1) or not pool:
                    document = self._starts.draw(self._rng)
                else:
                    at = min(self._rng.integers(len(pool)), self._rng.integers(len(pool)))
                    document = changed(pool[at][2].document, self._rng, self._most)
                found = self._try(document)
                if found is not None:
                    # Of equals the newest comes first, so that the search drifts on.
                    pool.append((found.score, self.tried, found))
                    pool.sort(key=lambda entry: entry[:2], reverse=True)
                    del pool[POOL:]

    def shrink(self) -> None:
        """Take away what can go while it stays as bad, until nothing can."""
        if self.best is None:
            return
        least, at, kept = self.best.score, 0, 0
        while True:
            steps = list(smaller(self.best.document))
            if kept >= len(steps):
                self.minimal = True
                return
            at %= len(steps)
            self.tried += 1
            self._judge.left()
            self._step(f"shrinking: {self.best.told}")
            found = self._judge(steps[at], least)
            if found is not None and found.score >= least:
                self.best, least, kept = found, found.score, 0
            else:
                at, kept = at + 1, kept + 1
