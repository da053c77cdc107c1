"""How bad an instance is for a heuristic: its gap against the proved optimum, or whether a claim is broken on it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np

from optsched.core.errors import InputError, UsageError, described
from optsched.core.instance import Instance
from optsched.core.results import Limit, Number
from optsched.heuristics import run
from optsched.instances.files import from_document
from optsched.measuring.gaps import GapReport, Reference, gap_of
from optsched.measuring.mining.documents import Document, size
from optsched.measuring.studies.choices import Choice
from optsched.measuring.studies.limits import GapLimit, reason
from optsched.measuring.studies.messages import frames_of
from optsched.problems import problem_class
from optsched.problems.base import TaskProblem
from optsched.processes.containing import TracedElsewhere
from optsched.solvers.profiles import Profile

__all__ = ["OVER_ZERO", "BROKEN", "Aim", "Judge", "Judged", "Score", "failure_of", "is_broken"]

#: Larger is worse for the heuristic: of which sort, and how much within it.
Score = tuple[int, Fraction]

#: The sorts: a gap or the distance from a broken claim; a gap over 0 (the optimum is 0), which is larger than
#: every share; a broken claim, and a run without a feasible placement where there is one.
_FINITE, OVER_ZERO = 0, 1
BROKEN: Score = (2, Fraction(0))


def is_broken(answer: Any) -> bool:
    """Whether an answer of a claim says that it does not hold: False, nothing, or a number below 0.

    Raises
    ------
    UsageError
        If it is neither a truth value nor a number.

    Examples
    --------
    >>> is_broken(True), is_broken(None), is_broken(-0.5)
    (False, True, True)
    """
    return _slack(answer) < 0


def _slack(answer: Any) -> Fraction:
    """How far a claim is from being broken: a number that it answered; for a truth value 0 or -1."""
    if isinstance(answer, bool | np.bool_ | type(None)):
        return Fraction(0 if answer else -1)
    try:
        return Fraction(answer.item() if isinstance(answer, np.generic) else answer)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"the claim answered {answer!r}; give True, False or a number") from None


def failure_of(report: GapReport) -> tuple[Any, ...] | None:
    """What went wrong with a run, so that two that fail alike compare equal; None for a feasible placement.

    What was raised, and where; else what was wrong with the answer, without numbers and names; else which constraints
    are violated.
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
    """What is looked for.

    Attributes
    ----------
    worst
        `relative` gaps, where one over 0 (the optimum is 0) is worse than every share; or `absolute` ones.
    component
        Of the objective; by default the first that differs.
    claim
        In place of a gap: called with the `GapReport` of each feasible placement. True or False says whether the claim
        holds; a number how far it is from being broken, which it is below 0.
    failures
        Whether a run that fails, or has no feasible placement where there is one, is worse than every gap. If not, it
        counts for nothing; it never breaks a claim.
    over
        Which gap of several runs counts: `worst`, `mean`, `median`, or a quantile. A claim is broken where one run
        breaks it.
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
        """Raise UsageError where the problem has no such component, or needs one to be named."""
        if self.claim is None:
            self.limit.check(cast(TaskProblem[Any], problem_class(name)))  # components and name are of the class, too

    def score(self, report: GapReport) -> Score | None:
        """How bad a run is; None where it counts for nothing."""
        if report.run.out_of_time is not None or not report.reference.solution.optimal:
            return None
        gap = self.gap(report)
        if self.claim is None:
            if report.feasible:
                return None if gap is None else (OVER_ZERO if self.over_zero(report) else _FINITE, Fraction(gap))
            return BROKEN if self.failures else None
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
        """The one score of several runs."""
        if self.claim is not None:
            return max(scores)
        if self.limit.over == "mean":
            sort = max(sort for sort, _ in scores)
            return sort, sum((gap for at, gap in scores if at == sort), Fraction(0)) / len(scores)
        places = self.limit.over_all(range(len(scores)))
        return sorted(scores)[int(places)]

    def over_zero(self, report: GapReport) -> bool:
        """Whether the gap that counts is over 0, where shares are asked for."""
        pair = self.limit.pair(report) if report.feasible and self.worst == "relative" else None
        return pair is not None and pair[0] != 0 and pair[1] is None

    def gap(self, report: GapReport) -> Number | None:
        """The gap that counts; over 0 the difference. None where it is unknown."""
        pair = self.limit.pair(report) if report.feasible else None
        if pair is None:
            return None
        absolute, relative = pair
        return absolute if relative is None or self.worst == "absolute" else relative


@dataclass(frozen=True)
class Judged:
    """A document, what the heuristic does on it, how bad that is, and whether it is what was looked for.

    `runs` are those that count, `report` is the worst of them of the score's sort; `counts`: there is a gap, or the
    claim is broken.
    """

    document: Document
    report: GapReport
    runs: tuple[GapReport, ...]
    score: Score
    counts: bool

    @property
    def key(self) -> tuple[Score, tuple[int, ...]]:
        """What is compared: worse first, and of equals the smaller."""
        return self.score, tuple(-part for part in size(self.document))

    @property
    def told(self) -> str:
        """What the heuristic comes to, in words: `4, 11 against the optimum 3, 9`."""
        report = self.report
        best = ", ".join(map(str, report.reference.value or ()))
        if report.objective is None:
            return f"{reason(report)}; the optimum is {best}"
        return f"{', '.join(map(str, report.objective))} against the optimum {best}"


class Judge:
    """Runs a heuristic on documents, against the optimum of each.

    Parameters
    ----------
    name, parameters
        The problem.
    choice, seeds
        The heuristic, and the seeds of its runs on each instance.
    aim
        What counts.
    profile
        Of the solver.
    """

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, Any],
        choice: Choice,
        seeds: Sequence[int],
        aim: Aim,
        profile: Profile,
    ) -> None:
        self.name, self.parameters, self.choice, self.seeds = name, dict(parameters), choice, tuple(seeds)
        self.aim, self.profile = aim, profile
        #: Seconds that are left for a run, or None.
        self.left: Callable[[], float | None] = lambda: None
        #: How many documents were judged; why the last one was refused that is no instance of the problem, and why the
        #: last run did not count.
        self.count = 0
        self.refused: InputError | None = None
        self.passed: str | None = None
        self._seen: dict[str, Score | None] = {}

    def posed(self, document: Document) -> TaskProblem[Any] | None:
        """The problem on a document; None where it cannot be posed, or lacks what the heuristic needs."""
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
        """Judge a document; None where it counts for nothing, or was judged before and is below `least`."""
        text = json.dumps(document)
        if text in self._seen and (least is None or (self._seen[text] or (-1, Fraction(0))) < least):
            return None
        self.count += 1
        problem = self.posed(document)
        judged = None if problem is None else self.report(document, problem)
        self._seen[text] = None if judged is None else judged.score
        return judged

    def report(self, document: Document, problem: TaskProblem[Any]) -> Judged | None:
        """What the heuristic comes to on the problem; None where that counts for nothing.

        Raises
        ------
        KeyboardInterrupt
            Also where the interrupt stopped a solver.
        """
        left = self.left()
        reference = Reference.solved(problem, self.profile.with_limits(time_limit=left))
        if reference.solution.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        if not reference.solution.optimal:
            if reference.solution.limit is not None:
                self.passed = f"no optimum was proved (limit: {reference.solution.limit})"
            return None
        scored: list[tuple[Score, GapReport]] = []
        for seed in self.seeds:
            ran = run(problem, self.choice.entry, seed, time_limit=self.left(), **self.choice.parameters)
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
