"""Runs summed up by problem and heuristic, wherever they come from: a study, or records of one that are read again.

An instance counts once, whatever the seeds, with the mean of its runs. A run without a relative gap is in no mean, and
is counted with the reason; one above an optimum of 0 keeps its instance out, since the other seeds alone, which meet
the 0, would make it a gap of 0 %.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from optsched.brief import counted
from optsched.printing import Table, interval
from optsched.results import Number

__all__ = ["LEAST", "ProblemSummary", "Row", "Run", "summaries"]

#: From so many instances on an interval of their mean says something.
LEAST = 3


@dataclass(frozen=True)
class Run:
    """What summing up needs to know of a run.

    Attributes
    ----------
    problem, component
        Names: of the problem, and of its component whose gap is told.
    heuristic
        What it is called.
    instance
        Name of the instance.
    reference
        The same for runs that are measured against the same.
    proof
        The kind of proof of the reference where that is an optimum; else `bound` or `unknown`.
    outcome
        `optimal` (a proved optimum is met), `above`, `beside_zero`, `unknown`, `infeasible`, `starved`, `failed`,
        `out_of_time`, `out_of_memory` or `crashed`.
    gap
        The relative gap of the component, where there is one.
    seed
        Of the run.
    """

    problem: str
    component: str
    heuristic: str
    instance: str
    reference: Hashable
    proof: str
    outcome: str
    gap: Number | float | None
    seed: int = 0


@dataclass(frozen=True)
class Row:
    """What a heuristic came to in a problem; see `GapReports.summary`."""

    heuristic: str
    instances: int
    runs: int
    seeds: int
    optimal: int
    counted: int
    median: float | None
    mean: float | None
    half_width: float | None
    worst: float | None
    worst_on: str | None
    infeasible: int
    starved: int
    failed: int
    out_of_time: int
    out_of_memory: int
    crashed: int
    beside_zero: int
    unknown: int


@dataclass(frozen=True)
class ProblemSummary:
    """What heuristics came to in a problem.

    Attributes
    ----------
    problem, component
        Its name, and that of the component whose gaps are told.
    instances
        On how many.
    proofs
        How many of their references are an optimum with each kind of proof, and how many are a bound or unknown.
    rows
        One a heuristic.
    """

    problem: str
    component: str
    instances: int
    proofs: Mapping[str, int]
    rows: tuple[Row, ...]

    def heading(self) -> str:
        """The problem, and what is the same for all its heuristics, in a line."""
        proofs = ", ".join(f"{count} {kind}" for kind, count in self.proofs.items())
        count = counted(self.instances, "instance")
        return f"{self.problem}: {count}; optima by proof: {proofs}; gaps in {self.component}"

    def table(self) -> Table:
        """A row for each heuristic."""
        rows = []
        for row in self.rows:
            mean = _share(row.mean)
            if row.mean is not None and row.half_width:
                mean = f"{_rounded(row.mean)} ±{_rounded(row.half_width)} %"
            optimal = f"{row.optimal}/{row.runs}"
            numbers = [optimal, str(row.seeds), _share(row.median), mean, _share(row.worst)]
            rows.append([row.heuristic, *numbers, row.worst_on or "", _note(row)])
        return Table(("heuristic", "optimal", "seeds", "median", "mean", "worst", "on", "note"), rows, _NUMBERS)


def _rounded(share: float) -> str:
    """A share in per cent, with three digits, or all before the point."""
    percents = 100 * share
    return f"{percents:.0f}" if percents >= 100 else f"{percents:.3g}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{_rounded(share)} %"


_NUMBERS = frozenset({"optimal", "seeds", "median", "mean", "worst"})


def _note(row: Row) -> str:
    counts = {
        "infeasible": row.infeasible,
        "starved": row.starved,
        "failed": row.failed,
        "out of time": row.out_of_time,
        "out of memory": row.out_of_memory,
        "crashed": row.crashed,
        "over 0": row.beside_zero,
        "unknown": row.unknown,
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def summaries(runs: Iterable[Run]) -> list[ProblemSummary]:
    """The runs summed up by problem, in order of appearance.

    Examples
    --------
    >>> gaps = {"small": 0.0, "large": 0.5}
    >>> runs = [Run("lsap", "cost", "dl", name, name, "dual", "above", gap) for name, gap in gaps.items()]
    >>> (part,) = summaries(runs)
    >>> part.heading()
    'lsap: 2 instances; optima by proof: 2 dual; gaps in cost'
    >>> part.rows[0].mean, part.rows[0].worst_on
    (0.25, 'large')
    """
    by_problem: dict[str, list[Run]] = {}
    for run in runs:
        by_problem.setdefault(run.problem, []).append(run)
    return [_summary(name, found) for name, found in by_problem.items()]


def _summary(name: str, runs: Sequence[Run]) -> ProblemSummary:
    proofs = Counter({run.reference: run.proof for run in runs}.values())
    by_heuristic: dict[str, list[Run]] = {}
    for run in runs:
        by_heuristic.setdefault(run.heuristic, []).append(run)
    rows = tuple(_summed(label, found) for label, found in by_heuristic.items())
    return ProblemSummary(name, runs[0].component, proofs.total(), dict(proofs.most_common()), rows)


def _summed(label: str, runs: Sequence[Run]) -> Row:
    counts = Counter(run.outcome for run in runs)
    names = {run.reference: run.instance for run in runs}
    by_instance: dict[Hashable, list[float]] = {key: [] for key in names}
    # Where some seeds are above an optimum of 0, those that meet it are no share of the whole either.
    beside_zero = {run.reference for run in runs if run.outcome == "beside_zero"}
    for run in runs:
        if run.gap is not None and run.reference not in beside_zero:
            by_instance[run.reference].append(float(run.gap))
    means = {key: statistics.fmean(values) for key, values in by_instance.items() if values}
    limits = interval(list(means.values())) if len(means) >= LEAST else None
    worst = max(means, key=lambda key: max(by_instance[key])) if means else None
    return Row(
        label,
        len(names),
        len(runs),
        len({run.seed for run in runs}),
        counts["optimal"],
        len(means),
        statistics.median(means.values()) if means else None,
        statistics.fmean(means.values()) if means else None,
        None if limits is None else (limits[1] - limits[0]) / 2,
        None if worst is None else max(by_instance[worst]),
        None if worst is None or not max(by_instance[worst]) else names[worst],
        *(counts[kind] for kind in _WITHOUT),
    )


#: Outcomes of runs without a relative gap.
_WITHOUT = (
    "infeasible",
    "starved",
    "failed",
    "out_of_time",
    "out_of_memory",
    "crashed",
    "beside_zero",
    "unknown",
)
