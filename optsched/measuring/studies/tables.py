"""What a study came to: its gaps as pandas frames, and summed up by problem and heuristic, wherever the runs come from.

In a sum an instance counts once, whatever the seeds, with the mean of its runs. A run without a relative gap is in no
mean, and is counted with the reason; one over 0 keeps its instance out, since the other seeds alone,
which meet the 0, would make it a gap of 0 %.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from optsched.core.brief import brief, counted
from optsched.heuristics import AnyHeuristic
from optsched.measuring.gaps import GapReport, fields_beside
from optsched.measuring.printing import Table, interval, share, spread
from optsched.measuring.records import WITHOUT, Run, frame_of
from optsched.measuring.studies.choices import Choice, Source
from optsched.measuring.studies.limits import GapLimit
from optsched.measuring.studies.runs import measure, plan
from optsched.processes.containing import contained
from optsched.processes.outcomes import Limits
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LEAST", "GapReports", "ProblemSummary", "Row", "study", "summaries", "summary_frame"]


def study(
    instances: Source | Iterable[Source],
    problems: str | Sequence[str] = (),
    heuristics: AnyHeuristic | Sequence[AnyHeuristic | Choice] = (),
    seeds: int | str | Iterable[int] = 1,
    *,
    parameters: Mapping[str, Any] | None = None,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    run_limit: float | None = None,
    memory_limit: int | None = None,
) -> GapReports:
    """Measure heuristics against the proved optimum: instances x problems x heuristics x seeds.

    Parameters
    ----------
    instances
        Names of the library, files, folders, patterns (`traces/*.json`), instances, or families
        (`optsched.Family("lsap", seeds=range(30))`); one, or several.
    problems
        Names; by default every problem that an instance can pose.
    heuristics
        Names (with parameters: `dl,reading=heartbeat`), callables, policies; by default all that serve the problem.
    seeds
        Of the heuristics: how many, from 0, or which.
    parameters
        Of the problems: `{"levels": (0, 1, 2)}` of all that have it, `{"latency": {"w_rem": 5}}` of one.
    profile, time_limit
        As for `optsched.gap`: of each reference, and of each run.
    run_limit, memory_limit
        Seconds and MiB after which a run or a solve is killed. With one of them each has a process of its own, so that
        whatever it does, hang, crash or take all memory, is a report with its `status` and `error`. A heuristic must
        be fit to be pickled; those of a notebook are.

    Returns
    -------
    GapReports
        A sequence of `GapReport`, which makes frames.

    Raises
    ------
    UsageError
        For what does not exist or does not go together; before anything runs.
    InputError
        For instances that are wrong or lack a field.

    Examples
    --------
    >>> found = study("papers/guo-table2", "fair-lsap", ["dl", "lsap-fair-sched"])
    >>> found
    <GapReports: 2 runs of 2 heuristics in 1 problem on 1 instance>
    >>> print(found.frame()[["heuristic", "objective_1", "reference_1", "gap"]].to_string(index=False))
          heuristic  objective_1  reference_1   gap
                 dl    50.000000    44.444445 0.125
    lsap-fair-sched    44.444445    44.444445 0.000
    """
    work = plan(instances, problems, heuristics, parameters)
    with contained(Limits.of_runs(run_limit, memory_limit)):
        return GapReports(measure(work, seeds, profile=profile, time_limit=time_limit))


class GapReports(Sequence[GapReport]):
    """The gaps of a study, in the order in which they were measured.

    Attributes
    ----------
    measured
        Each with its group of instances, and what its heuristic was called.

    Examples
    --------
    >>> import optsched
    >>> found = optsched.study("papers/guo-table2", "fair-lsap", ["dl", "lsap-fair-sched"])
    >>> found, len(found[:1]), found[1].within(0)
    (<GapReports: 2 runs of 2 heuristics in 1 problem on 1 instance>, 1, True)
    >>> print(found.summary()[["heuristic", "optimal", "mean"]].to_string(index=False))
          heuristic  optimal  mean
                 dl        0 0.125
    lsap-fair-sched        1 0.000
    """

    def __init__(self, measured: Iterable[Run]) -> None:
        self.measured = tuple(measured)

    @overload
    def __getitem__(self, index: int) -> GapReport: ...
    @overload
    def __getitem__(self, index: slice) -> GapReports: ...
    def __getitem__(self, index: int | slice) -> GapReport | GapReports:
        if isinstance(index, slice):
            return GapReports(self.measured[index])
        return self.measured[index].report

    def __len__(self) -> int:
        return len(self.measured)

    def __repr__(self) -> str:
        heuristics = {entry.heuristic for entry in self.measured}
        problems = {entry.report.problem.name for entry in self.measured}
        instances = {entry.report.problem.instance.name for entry in self.measured}
        runs = f"{counted(len(self), 'run')} of {counted(len(heuristics), 'heuristic')}"
        where = f"{counted(len(problems), 'problem')} on {counted(len(instances), 'instance')}"
        return brief(f"GapReports: {runs} in {where}")

    def _repr_html_(self) -> str:
        return self.summary().to_html(index=False, na_rep="-")

    def records(self) -> list[dict[str, Any]]:
        """A record for each run, as `optsched gap --format json` writes it."""
        return [report.record() for report in self]

    def frame(self) -> pd.DataFrame:
        """A row for each run, one number a column.

        Returns
        -------
        pandas.DataFrame
            `group`, `instance`, `problem`, `parameters` (JSON), `heuristic`, `seed`, `feasible`, `starved`, `status`
            (`done`, `out-of-time`, ..., as in records), `error`, `proof`, `termination`, `gap` (relative, of the first
            component that differs; infinite over 0), `absolute_gap` (the same as a difference), then
            for each component i, from 1, `component_i` (its name), `objective_i`, `reference_i`, `absolute_gap_i`,
            `relative_gap_i`, `waiting` (tasks that the heuristic left), `map_node`, `map_rack`, `map_remote` (how near
            maps are to their data), `reduce_...`, the same of the reference (`reference_map_node`, ...), what a gap
            says beside itself, and the seconds. Numbers are doubles, NaN where unknown.
        """
        beside = list(dict.fromkeys(name for report in self for name in fields_beside(report.problem)))
        return frame_of(self.measured, beside)

    def summary(self) -> pd.DataFrame:
        """A row for each problem and heuristic: how many instances and runs, how many at the optimum, and the gaps.

        Returns
        -------
        pandas.DataFrame
            `problem`, `heuristic`, `instances`, `runs`, `seeds` (how many), `optimal` (runs that meet a proved
            optimum), `counted` (instances with a relative gap, over which the next ones are), `median`, `mean`,
            `worst` (relative gaps of the first component, each instance's mean over its seeds counted once; NaN where
            none is known), `half_width` (of the 95 % interval of the mean over instances, from three on), `worst_on`
            (the instance), `infeasible`, `starved`, `failed`, `out_of_time`, `out_of_memory`, `crashed`, `over_zero`
            (runs whose reference is 0, so that there is no percentage), `unknown`.
        """
        return summary_frame(summaries(self.measured))

    def told(self, limit: GapLimit | None = None) -> tuple[str, dict[str, float]]:
        """A line on all runs, and its numbers by name: for the reports of tests."""
        limit = limit or GapLimit.of(max_gap=0)
        assert limit is not None
        feasible = [report for report in self if report.feasible]
        values = [limit.gap(report) for report in feasible]
        known: dict[int, list[float]] = {}  # by problem: each counts once, whatever its seeds
        for report, value in zip(feasible, values, strict=True):
            if value is not None and value != math.inf:
                known.setdefault(id(report.problem), []).append(float(value))
        seeds = len({report.seed for report in self})
        count = counted(len(self), "run") + f" of {seeds} seeds" * (seeds > 1)
        numbers: dict[str, float] = {"runs": len(self), "feasible": len(values), "over_zero": values.count(math.inf)}
        numbers["seeds"] = seeds
        told = []
        if known:
            every = [value for part in known.values() for value in part]
            means = list(map(statistics.fmean, known.values()))
            numbers |= {"worst": max(every), "mean": statistics.fmean(means)}
            told.append(f"worst gap {limit.shown(max(every))}")
            drawn = means if len(means) > 1 else every
            if len(drawn) >= LEAST and (limits := interval(drawn)):
                numbers["half_width"] = (limits[1] - limits[0]) / 2
            if len(every) > 1:
                told.append(f"mean {spread(limit.shown(numbers['mean']), numbers.get('half_width', 0))}")
            compared = limit.compared(self.measured)
            if limit.statistic not in numbers and compared is not None:
                numbers[limit.statistic] = float(compared)
                told.append(f"{limit.statistic} {limit.shown(compared)}")
        counts = {
            "over 0": numbers["over_zero"],
            "without a feasible placement": len(self) - len(values),
            "unknown": values.count(None),
        }
        told += [f"{number} {what}" for what, number in counts.items() if number]
        heuristics = ", ".join(dict.fromkeys(entry.heuristic for entry in self.measured))
        problems = ", ".join(dict.fromkeys(report.problem.name for report in self))
        return f"{heuristics} in {problems}, {count}: {', '.join(told)}", numbers


def summary_frame(found: Iterable[ProblemSummary]) -> pd.DataFrame:
    """The rows of all problems as a frame; `GapReports.summary` says which columns it has."""
    import pandas as pd

    rows = [
        {"problem": part.problem, **{name: getattr(row, name) for name in row.__dataclass_fields__}}
        for part in found
        for row in part.rows
    ]
    frame = pd.DataFrame(rows, columns=["problem", *Row.__dataclass_fields__])
    numeric = ["median", "mean", "half_width", "worst"]
    frame[numeric] = frame[numeric].astype(float)
    return frame


# Sums -------------------------------------------------------------------------------------------------------------


#: From so many instances on an interval of their mean says something.
LEAST = 3


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
    over_zero: int
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
            optimal, mean = f"{row.optimal}/{row.runs}", spread(share(row.mean), row.half_width or 0)
            numbers = [optimal, str(row.seeds), share(row.median), mean, share(row.worst)]
            rows.append([row.heuristic, *numbers, row.worst_on or "", _note(row)])
        return Table(("heuristic", "optimal", "seeds", "median", "mean", "worst", "on", "note"), rows, _NUMBERS)


_NUMBERS = frozenset({"optimal", "seeds", "median", "mean", "worst"})


def _note(row: Row) -> str:
    counts = {what: getattr(row, name) for name, what in WITHOUT.items()}
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def summaries(runs: Iterable[Run]) -> list[ProblemSummary]:
    """The runs summed up by problem, in order of appearance.

    Examples
    --------
    >>> instances = ["papers/guo-table2", "generated/fair-lsap-n20-t30-replicas2-seed0"]
    >>> (part,) = summaries(study(instances, "fair-lsap", "dl", seeds=1).measured)
    >>> part.heading()
    'fair-lsap: 2 instances; optima by proof: 2 dual; gaps in fairness-and-locality-cost'
    >>> round(part.rows[0].worst, 2), part.rows[0].worst_on
    (16.72, 'fair-lsap-n20-t30-replicas2-seed0')
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
    names = {run.reference: run.instance or "instance" for run in runs}
    by_instance: dict[Hashable, list[float]] = {key: [] for key in names}
    # Where some seeds are over 0, those that meet it are no share of the whole either.
    over_zero = {run.reference for run in runs if run.outcome == "over_zero"}
    for run in runs:
        if run.outcome in ("optimal", "above") and run.reference not in over_zero:
            by_instance[run.reference].append(run.relative or 0.0)
    means = {key: statistics.fmean(values) for key, values in by_instance.items() if values}
    limits = interval(list(means.values())) if len(means) >= LEAST else None
    worst = max(means, key=lambda key: max(by_instance[key])) if means else None
    return Row(
        label,
        len(names),
        len(runs),
        len({run.record.seed for run in runs}),
        counts["optimal"],
        len(means),
        statistics.median(means.values()) if means else None,
        statistics.fmean(means.values()) if means else None,
        None if limits is None else (limits[1] - limits[0]) / 2,
        None if worst is None else max(by_instance[worst]),
        None if worst is None or not max(by_instance[worst]) else names[worst],
        *(counts[kind] for kind in WITHOUT),
    )
