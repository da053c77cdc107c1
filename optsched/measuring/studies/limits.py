"""Judges runs for tests: limits on gaps, and the messages for runs that break one."""

from __future__ import annotations

import math
import shlex
import statistics
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.brief import several
from optsched.core.errors import UsageError, expect_known
from optsched.core.outside import own_traceback
from optsched.core.placement import NONE, Placement
from optsched.core.processes import Limits
from optsched.core.processes.containing import TracedElsewhere
from optsched.core.results import Number, value_text
from optsched.measuring.gaps import GapReport, frontier_gap_fields, gap_limit, ratio
from optsched.measuring.printing import Table, render
from optsched.measuring.records import Run
from optsched.measuring.studies.choices import Choice
from optsched.measuring.studies.commands import again
from optsched.problems import Problem
from optsched.problems.base import TaskProblem
from optsched.solvers.profiles import AnyProfile

#: Statistics of many runs, except quantiles.
_OVER = ("worst", "mean", "median")


def difference(value: Any, name: str = "a difference") -> Fraction | float:
    """A difference as a number of at least 0, in the unit of the component; UsageError if it is none or a percentage.

    >>> difference(2), difference("1/2")
    (Fraction(2, 1), Fraction(1, 2))
    """
    try:
        return ratio("" if "%" in str(value) else value)
    except UsageError:
        mend = "; a percentage is for max_gap" if "%" in str(value) else ""
        raise UsageError(f"{name} is a number of at least 0, such as 2, not {value!r}{mend}") from None


@dataclass(frozen=True)
class GapLimit:
    """How large a gap may be.

    `most` is a share of the reference, or with `absolute` a difference in the unit of the component, for references
    of 0. `over` is `worst`, `mean`, `median`, or a quantile between 0 and 1 over the runs of a group; a quantile q
    ignores the worst 1 - q of them. `component` is by default the first one that differs from the reference. With
    `frontier` the gap is measured against the best at the run's own value of the other component, instead of the
    optimum.
    """

    most: Number | float
    absolute: bool = False
    over: str | Fraction = "worst"
    component: str | None = None
    frontier: bool = False

    @classmethod
    def of(
        cls,
        max_gap: Any = None,
        max_absolute: Any = None,
        over: Any = "worst",
        component: str | None = None,
        frontier: bool = False,
    ) -> GapLimit | None:
        """The limit from these arguments, checked; None if neither kind of limit is given.

        UsageError if both are given, if other arguments are given without a limit, or if a value is invalid.
        """
        if max_gap is None and max_absolute is None:
            if (over, component, frontier) != ("worst", None, False):
                raise UsageError("over, component and frontier say which gap is limited: give max_gap or max_absolute")
            return None
        if max_gap is not None and max_absolute is not None:
            raise UsageError("give max_gap, a share of the optimum, or max_absolute, a difference; not both")
        if over not in _OVER:
            share = None if isinstance(over, str) and over.isalpha() else ratio(over, "a quantile")
            if share is None or not 0 < share <= 1:
                raise UsageError(f"over={over!r}: give {', '.join(_OVER)}, or a quantile over 0 and up to 1")
            over = Fraction(share)
        if frontier and component is None:
            raise UsageError("frontier compares one component; name it: component=...")
        absolute = max_gap is None
        most = difference(max_absolute, "max_absolute") if absolute else gap_limit(max_gap, "max_gap")
        return cls(most, absolute, over, component, frontier)

    def check(self, problem: TaskProblem[Any]) -> None:
        """Raise UsageError if the problem has no such component, or the limit is ambiguous for it."""
        names = [component.name for component in problem.components]
        if self.component is None:
            if self.absolute and len(names) > 1:
                raise UsageError(f"{problem.name} has {' and '.join(names)}: max_absolute wants component=...")
            return
        expect_known(self.component, names, f'{problem.name} has no component "{self.component}"')
        if self.frontier and not frontier_gap_fields(problem):
            raise UsageError(f"{problem.name} has no frontier to measure against; leave frontier out")

    def gap(self, report: GapReport) -> Number | float | None:
        """The limited gap: infinite without a feasible placement, None if it is unknown."""
        if not report.feasible:
            return math.inf
        pair = self.pair(report)
        if pair is None:
            return None
        absolute, relative = pair
        if self.absolute or absolute == 0:
            return absolute
        return math.inf if relative is None else relative

    def pair(self, report: GapReport) -> tuple[Number, Number | None] | None:
        """Absolute and relative gap of the component that counts; None if it is unknown."""
        if self.component is None:
            return report.deciding
        names = [component.name for component in report.problem.components]
        position = names.index(self.component)
        if self.frontier:
            assert report.objective is not None
            # The field of the second component comes first, as in the record of the problem.
            beyond = list(report.reference.frontier_gaps(report.objective).values())[::-1][position]
            if beyond is None:
                return None
            best = report.objective[position] - beyond
            return beyond, None if best == 0 else Fraction(beyond) / abs(Fraction(best))
        if report.absolute_gap is None or report.relative_gap is None or report.absolute_gap[position] is None:
            return None
        return report.absolute_gap[position], report.relative_gap[position]  # type: ignore[return-value]

    def over_all(self, gaps: Sequence[Number | float]) -> Number | float:
        """The combined gap of several runs, for comparison."""
        if self.over == "worst":
            return max(gaps)
        if any(math.isinf(gap) for gap in gaps) and self.over == "mean":
            return math.inf
        if self.over == "mean":
            return self.mean(gaps)
        if self.over == "median":
            return statistics.median_high(gaps)
        assert isinstance(self.over, Fraction)
        return sorted(gaps)[math.ceil(self.over * len(gaps)) - 1]

    @staticmethod
    def mean(gaps: Sequence[Number | float]) -> Fraction:
        """The mean of finite gaps, exactly."""
        return sum((Fraction(gap) for gap in gaps), Fraction(0)) / len(gaps)

    def compared(self, measured: Iterable[Run]) -> Number | float | None:
        """The gap that is compared with the limit, of the group where it is largest; None if none is known."""
        each = (_weighed(runs, [self.gap(entry.report) for entry in runs]) for runs in grouped(measured).values())
        return max((self.over_all(gaps) for gaps in each if gaps), default=None)

    @property
    def statistic(self) -> str:
        """`worst`, `mean`, `median`, or `0.9 quantile`."""
        return self.over if isinstance(self.over, str) else f"{float(self.over):g} quantile"

    def __str__(self) -> str:
        over = self.over if isinstance(self.over, str) else f"{self.statistic} of the"
        what = f"{over} gap" + (f" in {self.component}" if self.component else "")
        return f"{what}{' on the frontier' if self.frontier else ''} at most {self.shown(self.most)}"

    def shown(self, gap: Number | float | None) -> str:
        """A gap in the units of this limit: `12.5 %`, or `3`."""
        if gap is None:
            return "unknown"
        if math.isinf(gap):
            return "infinite"
        return f"{float(gap):.6g}" if self.absolute else f"{100 * float(gap):.4g} %"


@dataclass(frozen=True)
class Breach:
    """Runs of one heuristic on one group that break a limit.

    `message` says what is wrong. `worst` is the clearest run among `runs`, all those of the group; `own` is its gap, if
    another statistic was compared.
    """

    message: str
    worst: Run
    runs: tuple[Run, ...]
    own: str = ""


def breaches(measured: Iterable[Run], limit: GapLimit | None, feasible: bool = True) -> list[Breach]:
    """The groups whose runs break the limit: one breach for each group, problem and heuristic.

    `limit` is None if only feasibility counts. `feasible`: whether a run without a feasible placement breaks any limit.
    Otherwise its gap is infinite, so that a quantile may ignore it.
    """
    found = []
    for runs in grouped(measured).values():
        broken = _broken(runs, limit, feasible)
        if broken is not None:
            of_all = limit is not None and limit.over != "worst" and len(runs) > 1 and broken[1].report.feasible
            own = limit.shown(limit.gap(broken[1].report)) if limit is not None and of_all else ""
            found.append(Breach(*broken, tuple(runs), own))
    return found


def group_of(entry: Run) -> tuple[str, str, str]:
    """The key of the runs that are judged together: their group of instances, problem and heuristic."""
    return entry.group, entry.problem, entry.heuristic


def grouped(measured: Iterable[Run]) -> dict[tuple[str, str, str], list[Run]]:
    """The runs of each group, problem and heuristic."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for entry in measured:
        groups.setdefault(group_of(entry), []).append(entry)
    return groups


def _weighed(runs: Sequence[Run], gaps: Sequence[Number | float | None]) -> list[Number | float]:
    """The known gaps; a single run without random numbers counts as often as others have seeds."""
    counts = Counter(id(entry.report.problem) for entry in runs)
    most = max(counts.values())
    return [
        gap
        for entry, gap in zip(runs, gaps, strict=True)
        if gap is not None
        for _ in range(most // counts[id(entry.report.problem)])
    ]


def _broken(runs: Sequence[Run], limit: GapLimit | None, feasible: bool) -> tuple[str, Run] | None:
    """The breach of a group and the run that shows it; None if there is none."""
    failed = [entry for entry in runs if not entry.report.feasible]
    if failed and feasible:
        counted = "" if len(runs) == 1 else f"{len(failed)} of {len(runs)} runs without a feasible placement: "
        return f"{counted}{reason(failed[0].report)}", failed[0]
    if limit is None:
        return None
    limit.check(runs[0].report.problem)
    gaps = [limit.gap(entry.report) for entry in runs]
    known = [gap for gap in gaps if gap is not None]
    if len(known) < len(runs):
        entry = runs[gaps.index(None)]
        why = "an earlier component differs from the optimum, so that this one has no gap; measure it on the frontier"
        if entry.report.reference.value is None:
            why = "no reference is proved; give more time, or another profile"
        return f"the gap is unknown: {why}", entry
    compared = limit.over_all(_weighed(runs, known))
    if compared <= limit.most:
        return None
    worst = runs[known.index(max(known))]
    pair = limit.pair(worst.report) if math.isinf(compared) and worst.report.feasible else None
    if pair is not None:
        message = f"the gap is {pair[0]} over 0: the reference is 0, so there is no percentage"
        return f"{message}: give max_absolute instead of max_gap", worst
    kind = worst.report.reference.kind
    against = "" if kind != "bound" else "; the reference is a bound, so that the true gap may be smaller"
    found = f"the gap is {limit.shown(compared)}"
    if len(runs) > 1 and limit.over == "worst":
        found += f" (worst of {len(runs)} runs)"
    elif len(runs) > 1:
        found = f"the {limit.statistic} gap of {len(runs)} runs is {limit.shown(compared)}"
    return f"{found}, over the limit of {limit.shown(limit.most)}{against}", worst


def reason(report: GapReport) -> str:
    """Why a run has no feasible placement, in words."""
    if report.error is not None:
        return report.error
    broken = several(report.violations, 5)
    return f"infeasible{', tasks starved' if report.run.starved else ''}: {broken}"


# The texts of a failed test: the run, how it differs from the optimum, and the command that shows it ------------------


#: The most tasks that are placed differently, and the most breaches, that are printed one by one.
_SHOWN = 12


def lines(
    breaches: Sequence[Breach],
    choices: Iterable[Choice] = (),
    folder: str = "",
    profile: AnyProfile = "exact",
    time_limit: float | None = None,
    contained: Limits | None = None,
) -> Iterator[str]:
    """A text on breaches: for each the worst run, its differences from the optimum, and how to see it again.

    `folder` is where the command should be typed, if that is not the current one; `profile`, `time_limit` and
    `contained` are those of the runs.
    """
    go = f"cd {shlex.quote(folder)} && " if folder else ""
    by_label = {choice.label: choice for choice in choices}
    for breach in breaches[:_SHOWN]:
        entry = breach.worst
        report = entry.report
        where = report.problem.instance.name or entry.group
        values = ""
        if report.objective is not None and report.reference.value is not None:
            best = f"the {report.reference.kind} {value_text(report.reference.value)}"
            values = f"value {value_text(report.objective)} against {best}"
        if breach.own:
            yield f"{entry.heuristic} on {entry.group or where}, {report.problem.name}: {breach.message}"
            yield f"  the worst run, on {where}, seed {report.seed}, has a gap of {breach.own}: {values}"
        else:
            yield f"{entry.heuristic} on {where}, {report.problem.name}, seed {report.seed}: {breach.message}"
            yield from [f"  {values}"] if values else []
        yield from (f"  {line}" for line in differing(report))
        choice = by_label.get(entry.heuristic)
        yield f"  reproduce it: {go}{again(entry, choice, profile, time_limit, contained, folder)}"
    if len(breaches) > _SHOWN:
        yield f"and {len(breaches) - _SHOWN} more"


def differing(report: GapReport) -> Iterator[str]:
    """What is avoidable, and a table of the tasks that the nearest known optimum places elsewhere."""
    from optsched.measuring.explaining.chains import nearer, own_costs_of
    from optsched.measuring.explaining.explanation import cause_lines, causes_of, gained

    best, problem = report.reference.solution.decision, report.problem
    if report.placement is None or not isinstance(best, Placement) or not report.absolute_gap:
        return
    assert isinstance(problem, Problem)
    before, (after, nearest) = problem.nodes_of(report.placement), nearer(problem, report.placement, best)
    moved = np.flatnonzero(before != after)
    if not len(moved):
        return
    kind = "an optimal" if report.reference.solution.optimal else "the best known"
    causes = causes_of(problem, before, after)
    yield from cause_lines(problem, causes)
    own = own_costs_of(problem)
    whole = report.absolute_gap[own.component] if own is not None and report.reference.solution.optimal else None
    if own is not None and whole is not None and causes and (rest := whole - sum(cause.gain or 0 for cause in causes)):
        apart = ((before == NONE) ^ (after == NONE)).any()
        waits = "tasks that wait in only one of the placements and " if apart else ""
        gain = gained(problem, [rest * (own.component == n) for n in range(len(problem.components))])
        yield f"{waits}all other moves: {gain}"
    optimum = "the nearest optimal" if nearest else kind
    yield f"{len(moved)} of {len(problem.tasks)} tasks run elsewhere than in {optimum} placement:"
    columns = ("task", "heuristic", kind.removeprefix("an ").removeprefix("the "))
    ids, nodes = problem.task_ids, problem.instance.cluster.node_ids
    rows = [
        (ids[task], *("-" if node == NONE else nodes[node] for node in (before[task], after[task])))
        for task in moved[:_SHOWN].tolist()
    ]
    head, _, *lines = render(Table(columns, rows)).splitlines()
    yield from (f"  {line}" for line in (head, *lines))
    if len(moved) > _SHOWN:
        yield f"  and {len(moved) - _SHOWN} more"


def traceback_of(error: BaseException) -> str:
    """The traceback of a heuristic's exception, from its own first line on, wherever it ran."""
    return error.trace if isinstance(error, TracedElsewhere) else own_traceback(error)


def frames_of(error: BaseException) -> list[tuple[str, int | None]]:
    """File and line of each frame of a heuristic's exception, the innermost last."""
    if isinstance(error, TracedElsewhere):
        return list(error.frames)
    return [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
