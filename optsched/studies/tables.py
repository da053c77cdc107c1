"""What a study came to: its gaps as pandas frames, and summed up by problem and heuristic."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from optsched.brief import brief, counted
from optsched.gaps import GapReport, fields_beside
from optsched.heuristics import AnyHeuristic
from optsched.instance import KINDS
from optsched.printing import Table, interval
from optsched.problems.locality_counts import CLASSES
from optsched.results import Number
from optsched.solvers.profiles import Profile
from optsched.studies.choices import Choice, Source
from optsched.studies.limits import GapLimit
from optsched.studies.runs import Measured, measure, plan

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GapReports", "ProblemSummary", "Row", "study", "summaries"]


def study(
    instances: Source | Iterable[Source],
    problems: str | Sequence[str] = (),
    heuristics: AnyHeuristic | Sequence[AnyHeuristic | Choice] = (),
    seeds: int | str | Iterable[int] = 1,
    *,
    parameters: Mapping[str, Any] | None = None,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
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
    return GapReports(measure(work, seeds, profile=profile, time_limit=time_limit))


class GapReports(Sequence[GapReport]):
    """The gaps of a study, in the order in which they were measured.

    Attributes
    ----------
    measured
        Each with its group of instances, and what its heuristic was called.
    """

    def __init__(self, measured: Iterable[Measured]) -> None:
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
        heuristics = {entry.label for entry in self.measured}
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
            `group`, `instance`, `problem`, `parameters` (JSON), `heuristic`, `seed`, `feasible`, `starved`, `error`,
            `proof`, `termination`, `gap` (relative, of the first component that differs; infinite beside a reference
            of 0), `absolute_gap` (the same as a difference), then for each component i, from 1, `component_i` (its
            name), `objective_i`, `reference_i`, `absolute_gap_i`, `relative_gap_i`, `waiting` (tasks that the heuristic
            left), `map_node`, `map_rack`, `map_remote` (how near maps are to their data), `reduce_...`, the same of
            the reference (`reference_map_node`, ...), what a gap says beside itself, and the seconds. Numbers are
            doubles, NaN where unknown.
        """
        import pandas as pd

        columns = max((len(report.problem.components) for report in self), default=1)
        beside = list(dict.fromkeys(name for report in self for name in fields_beside(report.problem)))
        frame = pd.DataFrame([_row(entry, columns, beside) for entry in self.measured])
        texts = {"group", "instance", "problem", "parameters", "heuristic", "error", "proof", "termination"}
        for name in frame.columns:
            if name not in texts | {"seed", "feasible", "starved"} and not name.startswith("component_"):
                frame[name] = frame[name].astype(float)
        return frame

    def summary(self) -> pd.DataFrame:
        """A row for each problem and heuristic: how many instances and runs, how many at the optimum, and the gaps.

        Returns
        -------
        pandas.DataFrame
            `problem`, `heuristic`, `instances`, `runs`, `optimal` (runs that meet a proved optimum), `median`, `mean`,
            `worst` (relative gaps of the first component, each instance's mean over its seeds counted once; NaN where
            none is known), `half_width` (of the 95 % interval of the mean over instances, from three on), `worst_on`
            (the instance), `infeasible`, `starved`, `failed`, `out_of_time`, `beside_zero` (runs with a difference
            from a reference of 0, which no share can tell), `unknown`.
        """
        import pandas as pd

        rows = [
            {"problem": part.problem, **{name: getattr(row, name) for name in row.__dataclass_fields__}}
            for part in summaries(self.measured)
            for row in part.rows
        ]
        frame = pd.DataFrame(rows, columns=["problem", *Row.__dataclass_fields__])
        numeric = ["median", "mean", "half_width", "worst"]
        frame[numeric] = frame[numeric].astype(float)
        return frame

    def told(self, limit: GapLimit | None = None) -> tuple[str, dict[str, float]]:
        """A line on all runs, and its numbers by name: for the reports of tests."""
        limit = limit or GapLimit.of(max_gap=0)
        assert limit is not None
        values = [limit.gap(report) for report in self if report.feasible]
        known = [float(value) for value in values if value is not None and value != math.inf]
        count = counted(len(self), "run")
        numbers: dict[str, float] = {"runs": len(self), "feasible": len(values), "over_zero": values.count(math.inf)}
        told = []
        if known:
            numbers |= {"worst": max(known), "mean": statistics.fmean(known)}
            told.append(f"worst gap {limit.shown(max(known))}")
            if len(known) > 1:
                told.append(f"mean {limit.shown(statistics.fmean(known))}")
        counts = {
            "over an optimum of 0": numbers["over_zero"],
            "without a feasible placement": len(self) - len(values),
            "unknown": values.count(None),
        }
        told += [f"{number} {what}" for what, number in counts.items() if number]
        heuristics = ", ".join(dict.fromkeys(entry.label for entry in self.measured))
        problems = ", ".join(dict.fromkeys(report.problem.name for report in self))
        return f"{heuristics} in {problems}, {count}: {', '.join(told)}", numbers


def _row(entry: Measured, columns: int, beside: Sequence[str]) -> dict[str, Any]:
    report = entry.report
    deciding = report.deciding
    absolute, relative = deciding or (None, None)
    if deciding is not None and relative is None:
        relative = float("inf") if absolute else 0  # type: ignore[assignment]
    row: dict[str, Any] = {
        "group": entry.group,
        "instance": report.problem.instance.name,
        "problem": report.problem.name,
        "parameters": json.dumps(dict(report.problem.parameters), default=str),
        "heuristic": entry.label,
        "seed": report.seed,
        "feasible": report.feasible,
        "starved": report.run.starved,
        "error": report.error,
        "proof": None if report.reference.certificate is None else str(report.reference.certificate),
        "termination": str(report.reference.solution.termination),
        "gap": relative,
        "absolute_gap": absolute,
    }
    for position in range(columns):
        components = report.problem.components
        row[f"component_{position + 1}"] = components[position].name if position < len(components) else None
        for name, values in (
            ("objective", report.objective),
            ("reference", report.reference.value),
            ("absolute_gap", report.absolute_gap),
            ("relative_gap", report.relative_gap),
        ):
            row[f"{name}_{position + 1}"] = None if values is None or position >= len(values) else values[position]
    row["waiting"] = report.waiting
    for whose, counts in (("", report.locality), ("reference_", report.reference.locality)):
        for kind in KINDS:
            for place in CLASSES:
                row[f"{whose}{kind}_{place}"] = None if counts is None else counts.get(kind, {}).get(place)
    known = {} if report.objective is None or not beside else report.reference.beside(report.objective)
    row |= {name: known.get(name) for name in beside}
    solution = report.reference.solution
    return row | {
        "build_seconds": solution.build_seconds,
        "solve_seconds": solution.solve_seconds,
        "heuristic_seconds": report.run.seconds,
    }


#: From so many instances on an interval of their mean says something.
_LEAST = 3


# Summing up -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What a heuristic came to in a problem; see `GapReports.summary`."""

    heuristic: str
    instances: int
    runs: int
    optimal: int
    median: float | None
    mean: float | None
    half_width: float | None
    worst: float | None
    worst_on: str | None
    infeasible: int
    starved: int
    failed: int
    out_of_time: int
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
            numbers = [optimal, _share(row.median), mean, _share(row.worst)]
            rows.append([row.heuristic, *numbers, _note(row), row.worst_on or ""])
        return Table(("heuristic", "optimal", "median", "mean", "worst", "note", "worst on"), rows, _NUMBERS)


def _rounded(share: float) -> str:
    """A share in per cent, with three digits, or all before the point."""
    percents = 100 * share
    return f"{percents:.0f}" if percents >= 100 else f"{percents:.3g}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{_rounded(share)} %"


_NUMBERS = frozenset({"optimal", "median", "mean", "worst"})


def _note(row: Row) -> str:
    counts = {
        "infeasible": row.infeasible,
        "starved": row.starved,
        "failed": row.failed,
        "out of time": row.out_of_time,
        "over 0": row.beside_zero,
        "unknown": row.unknown,
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def summaries(measured: Iterable[Measured]) -> list[ProblemSummary]:
    """The runs summed up by problem, in order of appearance; of waves each counts as an instance."""
    by_problem: dict[str, dict[str, list[GapReport]]] = {}
    for entry in measured:
        by_problem.setdefault(entry.report.problem.name, {}).setdefault(entry.label, []).append(entry.report)
    return [_summary(name, of_heuristics) for name, of_heuristics in by_problem.items()]


def _summary(name: str, of_heuristics: Mapping[str, Sequence[GapReport]]) -> ProblemSummary:
    references = {id(report.reference): report.reference for reports in of_heuristics.values() for report in reports}
    proofs = Counter(
        str(reference.certificate) if reference.kind == "optimum" else reference.kind or "unknown"
        for reference in references.values()
    )
    first = next(report for reports in of_heuristics.values() for report in reports)
    rows = tuple(_summed(label, reports) for label, reports in of_heuristics.items())
    return ProblemSummary(name, first.problem.components[0].name, len(references), dict(proofs.most_common()), rows)


def _summed(label: str, reports: Sequence[GapReport]) -> Row:
    counts: Counter[str] = Counter()
    by_instance: dict[int, list[float]] = {}
    names: dict[int, str] = {}
    for report in reports:
        key = id(report.reference)
        names[key] = report.problem.instance.name or "instance"
        by_instance.setdefault(key, [])
        kind, gap = _counted(report)
        counts[kind] += 1
        if gap is not None:
            by_instance[key].append(float(gap))
    means = {key: statistics.fmean(values) for key, values in by_instance.items() if values}
    limits = interval(list(means.values())) if len(means) >= _LEAST else None
    worst = max(means, key=lambda key: max(by_instance[key])) if means else None
    return Row(
        label,
        len(by_instance),
        len(reports),
        counts["optimal"],
        statistics.median(means.values()) if means else None,
        statistics.fmean(means.values()) if means else None,
        None if limits is None else (limits[1] - limits[0]) / 2,
        None if worst is None else max(by_instance[worst]),
        None if worst is None or not max(by_instance[worst]) else names[worst],
        *(counts[kind] for kind in ("infeasible", "starved", "failed", "out_of_time", "beside_zero", "unknown")),
    )


def _counted(report: GapReport) -> tuple[str, Number | None]:
    """Which sort of run it was, and the relative gap in the first component, where there is one."""
    if report.run.out_of_time is not None:
        return "out_of_time", None
    if report.error is not None:
        return "failed", None
    if not report.feasible:
        return "starved" if report.run.starved else "infeasible", None
    if report.absolute_gap is None or report.relative_gap is None:
        return "unknown", None
    gap = report.relative_gap[0]
    if gap is None:
        return "beside_zero", None
    met = report.reference.kind == "optimum" and not any(report.absolute_gap) and None not in report.absolute_gap
    return "optimal" if met else "above", gap
