"""The search of `mine`: scores instances, starts, walks to worse ones, and shrinks to a minimal one.

An instance is judged by its gap against the proved optimum, or by whether it breaks a claim. The search is
deterministic for a seed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any, cast

import numpy as np

from optsched.core.brief import several
from optsched.core.deadline import check
from optsched.core.errors import InputError, UsageError, described, nearest
from optsched.core.instance import Instance
from optsched.core.processes.containing import TracedElsewhere
from optsched.core.registry import record
from optsched.core.results import Number
from optsched.heuristics import run
from optsched.instances.files import from_document, to_document
from optsched.instances.generate import FAMILIES, generate
from optsched.measuring.gaps import GapReport, Reference, gap_of
from optsched.measuring.mining.documents import Changes, Document, numbered_anew, size, smaller, without
from optsched.measuring.studies.choices import Choice
from optsched.measuring.studies.limits import GapLimit, frames_of, reason
from optsched.problems import problem_class
from optsched.problems.base import TaskProblem
from optsched.solvers.profiles import Profile

#: Larger is worse for the heuristic: the kind of failure, and how bad it is within that kind.
Score = tuple[int, Fraction]

#: The kinds: a gap or the distance from a broken claim; a gap over 0 (the optimum is 0), which is larger than every
#: share; a broken claim, and a run without a feasible placement although there is one.
_FINITE, OVER_ZERO = 0, 1
BROKEN: Score = (2, Fraction(0))


def is_broken(answer: Any) -> bool:
    """Whether a claim's answer says that it does not hold: False, nothing, or a negative number.

    UsageError if it is neither a truth value nor a number.

    Examples
    --------
    >>> is_broken(True), is_broken(None), is_broken(-0.5)
    (False, True, True)
    """
    return _slack(answer) < 0


def _slack(answer: Any) -> Fraction:
    """How far a claim is from being broken: the number that it returned; for a truth value 0 or -1."""
    if isinstance(answer, bool | np.bool_ | type(None)):
        return Fraction(0 if answer else -1)
    try:
        return Fraction(answer.item() if isinstance(answer, np.generic) else answer)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"the claim answered {answer!r}; give True, False or a number") from None


def failure_of(report: GapReport) -> tuple[Any, ...] | None:
    """The failure of a run, so that two similar failures compare equal; None for a feasible placement.

    The exception and its place; else the fault of the answer, without numbers and names; else the violated constraints.
    """
    if report.feasible:
        return None
    cause = report.run.cause
    if cause is not None:
        kind = cause.kind if isinstance(cause, TracedElsewhere) else type(cause).__name__
        return kind, *frames_of(cause)[-1:]
    if report.error is not None:
        return (re.sub(r'"[^"]*"|\d+', "", report.error),)
    return tuple(sorted({violation.constraint for violation in report.violations}))


@dataclass(frozen=True)
class Aim:
    """The aim of a search: `worst`, `component`, `claim`, `failures` and `over` as for `mine`.

    If failures are no aim, a failing run counts for nothing. It never breaks a claim.
    """

    worst: str = "relative"
    component: str | None = None
    claim: Callable[[GapReport], Any] | None = None
    failures: bool = True
    over: Any = "worst"
    limit: GapLimit = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.worst not in ("relative", "absolute"):
            raise UsageError(f"worst={self.worst!r}: give relative or absolute")
        if self.claim is not None and not callable(self.claim):
            raise UsageError(f"a claim is called with a GapReport; give a function, not {described(self.claim)}")
        absolute = self.worst == "absolute"
        limit = GapLimit.of(None if absolute else 0, 0 if absolute else None, self.over, self.component)
        object.__setattr__(self, "limit", limit)

    def check(self, name: str) -> None:
        """Raise UsageError if the problem has no such component, or needs one to be named."""
        if self.claim is None:
            self.limit.check(cast(TaskProblem[Any], problem_class(name)))  # a class has components and a name, too

    def score(self, report: GapReport) -> Score | None:
        """How bad a run is; None if it counts for nothing."""
        if report.run.out_of_time is not None or not report.reference.solution.optimal:
            return None
        gap = self.gap(report)
        if self.claim is None:
            if not report.feasible:
                return BROKEN if self.failures else None
            over_zero = self.worst == "relative" and gap and (self.limit.pair(report) or (0, None))[1] is None
            return None if gap is None else (OVER_ZERO if over_zero else _FINITE, Fraction(gap))
        if not report.feasible:
            return None
        try:
            holds = self.claim(report)
        except Exception as error:
            raise UsageError(
                f"the claim raised {type(error).__name__}: {error}; it was called with: {report}"
            ) from error
        if isinstance(holds, bool | np.bool_) and holds:
            return _FINITE, Fraction(gap or 0)
        slack = _slack(holds)
        return BROKEN if slack < 0 else (_FINITE, -slack)

    def over_all(self, scores: Sequence[Score]) -> Score:
        """The combined score of several runs."""
        if self.claim is not None:
            return max(scores)
        if self.limit.over == "mean":
            sort = max(sort for sort, _ in scores)
            return sort, sum((gap for at, gap in scores if at == sort), Fraction(0)) / len(scores)
        places = self.limit.over_all(range(len(scores)))
        return sorted(scores)[int(places)]

    def gap(self, report: GapReport) -> Number | None:
        """The gap that counts; over 0 the difference. None if it is unknown."""
        absolute, relative = (self.limit.pair(report) if report.feasible else None) or (None, None)
        return absolute if relative is None or self.worst == "absolute" else relative


@dataclass(frozen=True)
class Judged:
    """A document, the heuristic's result on it, how bad that is, and whether it meets the aim.

    `runs` are those that count, `report` is the worst of them of the score's kind; `counts`: there is a gap, or the
    claim is broken.
    """

    document: Document
    report: GapReport
    runs: tuple[GapReport, ...]
    score: Score
    counts: bool

    @property
    def key(self) -> tuple[Score, tuple[int, ...]]:
        """The key for comparisons: worse first, and of equals the smaller one."""
        return self.score, tuple(-part for part in size(self.document))

    @property
    def compared(self) -> str:
        """The heuristic's result in words: `makespan 4, work 11 against the optimum 3, 9`."""
        report = self.report
        best = ", ".join(map(str, report.reference.value or ()))
        if report.objective is None:
            broken = report.error or several(report.violations, 3)
            starved = "some tasks starve: " if report.run.starved else ""
            return f"no feasible placement ({starved}{broken}) where the optimum is {best}"
        names = [component.name for component in report.problem.components]
        value = ", ".join(f"{name} {part}" for part, name in zip(report.objective, names, strict=True))
        return f"{value} against the optimum {best}"


@dataclass
class Judge:
    """Runs a heuristic, once for each seed, on documents, against the optimum of each.

    `refused` says why the last document that is no instance of the problem was refused, `passed` why the last run did
    not count.
    """

    name: str
    parameters: Mapping[str, Any]
    choice: Choice
    seeds: Sequence[int]
    aim: Aim
    profile: Profile
    refused: InputError | None = field(default=None, init=False)
    passed: str | None = field(default=None, init=False)
    _seen: dict[str, Score | None] = field(default_factory=dict, init=False, repr=False)

    def posed(self, document: Document) -> TaskProblem[Any] | None:
        """The problem on a document; None if it cannot be posed, or lacks what the heuristic needs."""
        try:
            instance = from_document(document)
            assert isinstance(instance, Instance)
            problem = cast(TaskProblem[Any], problem_class(self.name)(instance, **self.parameters))
            if faults := self.choice.entry.faults(problem):
                raise InputError(faults)
        except InputError as error:
            self.refused = error
            return None
        return problem

    def __call__(self, document: Document, least: Score | None = None) -> Judged | None:
        """Judge a document; None if it counts for nothing, or was judged before and is below `least`."""
        text = json.dumps(document)
        if text in self._seen and (least is None or (self._seen[text] or (-1, Fraction(0))) < least):
            return None
        problem = self.posed(document)
        judged = None if problem is None else self.report(document, problem)
        self._seen[text] = None if judged is None else judged.score
        return judged

    def report(self, document: Document, problem: TaskProblem[Any]) -> Judged | None:
        """The heuristic's report on the problem; None if it counts for nothing.

        KeyboardInterrupt also if the interrupt stopped a solver.
        """
        reference = Reference.solved(problem, self.profile)
        reference.solution.raise_if_interrupted()
        if not reference.solution.optimal:
            if reference.solution.limit is not None:
                self.passed = f"no optimum was proved (limit: {reference.solution.limit})"
            return None
        scored: list[tuple[Score, GapReport]] = []
        for seed in self.seeds:
            ran = run(problem, self.choice.entry, seed, **self.choice.parameters)
            report = gap_of(problem, ran, seed, reference)
            score = self.aim.score(report)
            if score is not None:
                scored.append((score, report))
                continue
            self.passed = None if report.feasible else reason(report)
            if self.aim.claim is None:
                return None
        if not scored:
            return None
        score = self.aim.over_all([score for score, _ in scored])
        worst = max((entry for entry in scored if entry[0][0] <= score[0]), key=lambda entry: entry[0])[1]
        counts = score >= BROKEN or (self.aim.claim is None and score > (_FINITE, Fraction(0)))
        return Judged(document, worst, tuple(report for _, report in scored), score, counts)


# Where a search starts: small random instances of a family ---------------------------------------------------------


#: Sizes of families for problems whose record names none.
_SMALL = {
    "nodes": 3,
    "tasks": 4,
    "reduces": 2,
    "jobs": 2,
    "groups": 2,
    "racks": 2,
    "datacenters": 2,
    "replicas": 2,
    "slots": 2,
}

#: The family whose instances have the fields of all problems.
_ALL_FIELDS = "mixed"

#: How many instances are drawn to test whether a family's can be posed.
_LOOKED_AT = 8

#: Fields that say nothing about an instance's data; a mined instance gets its own.
_OWN = ("name", "description", "source", "labels")


def hard_shapes(family: str, usual: Mapping[str, Any], nodes: int) -> list[tuple[str, dict[str, Any]]]:
    """Families with all settings of their instances, on which a greedy rule often fails.

    The family itself, with these `usual` sizes, is made tight: as many tasks as nodes, one idle slot each, up to three
    replicas and none lost. The family of the same problem with a planted optimum is made tight, too.

    >>> [name for name, _ in hard_shapes("lsap", {}, 4)]
    ['lsap', 'planted-lsap']
    """
    tight = {"nodes": nodes, "tasks": nodes, "slots": 1, "idle_ratio": 1.0, "replicas": min(3, nodes)}
    tight |= {"lost": 0.0, "remote": 0, "racks": 1}
    shapes = []
    for name, sizes in ((family, usual), (f"planted-{family}", {})):
        known = FAMILIES[name].parameters if name in FAMILIES else {}
        values = {key: value for key, value in {**sizes, **tight}.items() if key in known}
        try:
            if {"nodes", "tasks", "replicas"} <= set(known):
                generate(name, 0, **values)
                shapes.append((name, values))
        except UsageError:  # no such instance is so small
            continue
    return shapes


@dataclass(frozen=True)
class Starts:
    """Small random instances of a family, and hard ones, if there are any: by their number of nodes (`hard_shapes`).

    Given parameters are `fixed`. Of the other `sizes` half vary in each instance, up to the number of records that a
    table may have (`most`).
    """

    family: str
    fixed: Mapping[str, Any]
    sizes: Mapping[str, Any]
    most: Mapping[str, int]
    hard: list[list[tuple[str, dict[str, Any]]]] = field(default_factory=list)

    def kinds(self, seed: int) -> list[tuple[str, int | list[int]]]:
        """The available kinds of instances, each with the seed of its own draws: `usual`, and `hard` ones."""
        kinds: list[tuple[str, int | list[int]]] = [("usual", seed)]
        return [*kinds, ("hard", [seed, 1])] if self.hard else kinds

    def draw(self, rng: np.random.Generator, kind: str = "usual") -> Document:
        """The document of a new instance; unless parameters were given, no table has too many records."""
        if kind == "hard":
            shapes = self.hard[rng.integers(len(self.hard))]
            name, tight = shapes[rng.integers(len(shapes))]
            return _document(name, generate(name, int(rng.integers(2**31)), **tight))
        document = self._usual(rng)
        for table, most in () if self.fixed else self.most.items():
            while len(document[table]) > most:
                document = without(document, table, int(rng.integers(len(document[table]))))
        return document

    def _usual(self, rng: np.random.Generator) -> Document:
        values = {**self.sizes, **self.fixed}
        drawn = dict(values)
        for name, given in values.items():
            if name not in self.fixed and type(given) is int and rng.random() < 0.5:
                drawn[name] = int(rng.integers(1, min(2 * given + 1, self.most.get(name, 2 * given)) + 1))
        seed = int(rng.integers(2**31))
        try:
            return _document(self.family, generate(self.family, seed, **drawn))
        except UsageError:  # sizes that do not go together
            return _document(self.family, generate(self.family, seed, **values))


def _document(family: str, drawn: Any) -> Document:
    """The document of an instance, without fields that say nothing about its data."""
    if not isinstance(drawn, Instance):
        raise UsageError(f"family {family} draws flow networks, for which there are no heuristics")
    return {key: value for key, value in to_document(drawn).items() if key not in _OWN}


def starts_of(judge: Judge, family: str | None, settings: Mapping[str, Any], most: Mapping[str, int]) -> Starts:
    """The instances of a family; by default of the problem's own or else of the one with all fields.

    UsageError if there is no such family or parameter, or its instances cannot be posed for the heuristic.
    """
    own = record(judge.name)
    if family is not None and family not in FAMILIES:
        raise UsageError(f'no family "{family}"; {nearest(family, list(FAMILIES))}')
    names = [_ALL_FIELDS] if family is None else [family]
    if family is None and own.family is not None:
        # The given parameters are those of the problem's own family.
        names = [own.family] if settings else [own.family, _ALL_FIELDS]
    refused: list[InputError] = []
    for name in names:
        known = FAMILIES[name].parameters
        sizes = own.sizes if family is None and name == own.family else _SMALL
        missing = {
            key: value for key, value in sizes.items() if key in known and key not in settings and not known[key].later
        }
        hard: list[list[tuple[str, dict[str, Any]]]] = []
        if family is None and name == own.family and not settings:
            reduces = missing.get("reduces", known["reduces"].default if "reduces" in known else 0)
            widest = min(most["nodes"], most["tasks"] - reduces)
            hard = [found for nodes in range(3, widest + 1) if (found := hard_shapes(name, missing, nodes))]
        starts = Starts(name, settings, missing, most, hard)
        rng = np.random.default_rng(0)
        if any(judge.posed(starts.draw(rng)) is not None for _ in range(_LOOKED_AT)):
            return starts
        assert judge.refused is not None
        refused.append(judge.refused)
    raise UsageError(
        f"no instance of family {names[0]} can be posed as {judge.name} for {judge.choice.entry.name}; choose another "
        f"family: {refused[0].faults[0]}"
    )


# From random starts on to worse instances, then down to a minimal one ----------------------------------------------


#: Instances that are tried before the search starts over, times the terms of Luby, Sinclair and Zuckerman (1993).
ROUND = 500

#: How many random instances each round starts from.
STARTS = 10

#: How many documents the search continues from.
POOL = 12

#: The share of a time limit for the search; the rest is for shrinking.
SEARCHED = 0.7


def luby() -> Iterator[int]:
    """1, 1, 2, 1, 1, 2, 4, 1, ...: lengths of searches that start over, since the best length is unknown.

    >>> from itertools import islice
    >>> list(islice(luby(), 15))
    [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    """
    for number in count(1):
        while number & (number + 1):
            number -= (1 << (number.bit_length() - 1)) - 1
        yield (number + 1) // 2


@dataclass
class Search:
    """A search, and its results so far.

    No table gets more than `most` records. `budget` is how many documents are tried; None: until the time is over.
    `step` is called with each. `best` is the worst that counts, `posed` whether any could be judged. Of those `tried`,
    `searched` were not part of shrinking. `minimal`: no single step of shrinking keeps it as bad.
    """

    judge: Judge
    starts: Starts
    most: Mapping[str, int]
    budget: int | None
    seed: int
    step: Callable[[str], None]
    best: Judged | None = field(default=None, init=False)
    posed: bool = field(default=False, init=False)
    searched: int = field(default=0, init=False)
    tried: int = field(default=0, init=False)
    minimal: bool = field(default=False, init=False)

    def run(self) -> None:
        """Spend the budget, or less if nothing worse can be found: a round from each kind of starts in turn.

        A round mixes no kinds, since the worst at the start would displace what is worse in the end.
        """
        # Each kind has its own draws and ranges, independent of the other's.
        kinds = [
            (kind, np.random.default_rng(drawn), Changes(self.most)) for kind, drawn in self.starts.kinds(self.seed)
        ]
        for length in luby():
            for kind, rng, changes in kinds:
                pool: list[Judged] = []  # the worst first; of equal ones the newest, so that the search drifts on
                for turn in range(ROUND * length):
                    if self.searched == self.budget or (self.best is not None and self.best.score >= BROKEN):
                        return
                    if turn < STARTS or not pool:
                        document = self.starts.draw(rng, kind)
                        changes.learn(document)
                    else:
                        at = min(rng.integers(len(pool)), rng.integers(len(pool)))  # prefer a bad one
                        document = changes(pool[at].document, rng)
                    found = self._try(document)
                    if found is not None:
                        pool = sorted([found, *pool], key=lambda entry: entry.score, reverse=True)[:POOL]

    def _try(self, document: Document) -> Judged | None:
        check()
        self.searched = self.tried = self.tried + 1
        found = self.judge(document)
        if found is not None:
            self.posed = True
            if found.counts and (self.best is None or found.key > self.best.key):
                self.best = found
        worst = "" if self.best is None else f", worst so far: {self.best.compared}"
        self.step(f"{self.tried}{'' if self.budget is None else f' of {self.budget}'}{worst}")
        return found

    def shrink(self) -> None:
        """Remove what can go while it stays as bad, until nothing can; renumber the rest."""
        if self.best is None:
            return
        at = kept = 0
        while True:
            steps = list(smaller(self.best.document))
            if kept >= len(steps):
                break
            at %= len(steps)
            found = self._as_bad(steps[at])
            if found is not None:
                self.best, kept = found, 0
            else:
                at, kept = at + 1, kept + 1
        self.minimal = True
        # With other ids it is another instance: earlier trials do not show it to be minimal.
        numbered = self._as_bad(numbered_anew(self.best.document))
        if numbered is not None and not any(self._as_bad(step) for step in smaller(numbered.document)):
            self.best = numbered

    def _as_bad(self, document: Document) -> Judged | None:
        assert self.best is not None
        check()
        self.tried += 1
        self.step(f"shrinking: {self.best.compared}")
        found = self.judge(document, self.best.score)
        if found is None or found.score < self.best.score:
            return None
        # A smaller instance on which the run fails for another reason shows another fault.
        alike = self.best.report.feasible or failure_of(found.report) == failure_of(self.best.report)
        return found if alike else None
