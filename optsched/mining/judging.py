"""How bad an instance is for a heuristic: its gap against the proved optimum, or whether a claim is broken on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np

from optsched.errors import InputError, UsageError, described
from optsched.gaps import GapReport, Reference, gap_of
from optsched.heuristics import run
from optsched.instance import Instance
from optsched.instances.files import from_document
from optsched.mining.changes import Document, size
from optsched.problems import Problem, problem_class
from optsched.results import Limit, Number
from optsched.solvers.profiles import Profile
from optsched.studies.choices import Choice
from optsched.studies.limits import GapLimit, reason

__all__ = ["BROKEN", "Aim", "Judge", "Judged", "Score"]

#: Larger is worse for the heuristic: whether the run failed or the claim is broken, and then by how much it is near.
Score = tuple[int, Fraction]

#: Of a broken claim, and of a run without a feasible placement where there is one.
BROKEN: Score = (1, Fraction(0))


@dataclass(frozen=True)
class Aim:
    """What is looked for.

    Attributes
    ----------
    worst
        `relative` gaps (against an optimum of 0 the difference counts), or `absolute` ones.
    component
        Of the objective; by default the first that differs.
    claim
        In place of a gap: called with the `GapReport` of each feasible placement. True or False says whether the claim
        holds; a number how far it is from being broken, which it is below 0.
    failures
        Whether a run that fails, or has no feasible placement where there is one, is worse than every gap. If not, it
        counts for nothing; it never breaks a claim.
    """

    worst: str = "relative"
    component: str | None = None
    claim: Callable[[GapReport], Any] | None = None
    failures: bool = True
    limit: GapLimit = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.worst not in ("relative", "absolute"):
            raise UsageError(f"worst={self.worst!r}: give relative or absolute")
        if self.claim is not None and not callable(self.claim):
            raise UsageError(f"a claim is called with a GapReport; give a function, not {described(self.claim)}")
        object.__setattr__(self, "limit", GapLimit(0, self.worst == "absolute", component=self.component))

    def check(self, name: str) -> None:
        """Raise UsageError where the problem has no such component, or needs one to be named."""
        if self.claim is None:
            self.limit.check(cast(Problem, problem_class(name)))  # components and name are of the class, too

    def score(self, report: GapReport) -> Score | None:
        """How bad a run is; None where it counts for nothing."""
        if report.run.out_of_time is not None or not report.reference.solution.optimal:
            return None
        gap = self.gap(report)
        if self.claim is None:
            if report.feasible:
                return None if gap is None else (0, Fraction(gap))
            return BROKEN if self.failures else None
        if not report.feasible:
            return None
        try:
            holds = self.claim(report)
        except Exception as error:
            raise UsageError(
                f"the claim raised {type(error).__name__}: {error}; it was called with: {report}"
            ) from error
        if isinstance(holds, bool | np.bool_ | type(None)):
            return BROKEN if not holds else (0, Fraction(gap or 0))
        try:
            slack = Fraction(holds.item() if isinstance(holds, np.generic) else holds)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"the claim answered {holds!r}; give True, False or a number") from None
        return BROKEN if slack < 0 else (0, -slack)

    def gap(self, report: GapReport) -> Number | None:
        """The gap that counts; against an optimum of 0 the difference. None where it is unknown."""
        pair = self.limit.pair(report) if report.feasible else None
        if pair is None:
            return None
        absolute, relative = pair
        return absolute if relative is None or self.worst == "absolute" else relative


@dataclass(frozen=True)
class Judged:
    """A document, what the heuristic does on it, how bad that is, and whether it is what was looked for.

    `counts`: there is a gap, or the claim is broken.
    """

    document: Document
    report: GapReport
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
    choice, seed
        The heuristic.
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
        seed: int,
        aim: Aim,
        profile: Profile,
    ) -> None:
        self.name, self.parameters, self.choice, self.seed = name, dict(parameters), choice, seed
        self.aim, self.profile = aim, profile
        #: Seconds that are left for a run, or None.
        self.left: Callable[[], float | None] = lambda: None
        #: How many documents were judged, and why the last one was refused that is no instance of the problem.
        self.count = 0
        self.refused: InputError | None = None
        self._seen: dict[str, Score | None] = {}

    def posed(self, document: Document) -> Problem | None:
        """The problem on a document; None where it cannot be posed, or lacks what the heuristic needs."""
        try:
            instance = from_document(document)
            assert isinstance(instance, Instance)
            problem = cast(Problem, problem_class(self.name)(instance, **self.parameters))
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

    def report(self, document: Document, problem: Problem) -> Judged | None:
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
            return None
        ran = run(problem, self.choice.entry, self.seed, time_limit=left, **self.choice.parameters)
        found = gap_of(problem, ran, self.seed, reference)
        score = self.aim.score(found)
        if score is None:
            return None
        return Judged(document, found, score, score >= BROKEN or (self.aim.claim is None and score > (0, Fraction(0))))
