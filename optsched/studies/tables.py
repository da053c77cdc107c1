"""What a study came to: its gaps as pandas frames, and summed up by problem and heuristic."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from optsched.brief import brief, counted
from optsched.gaps import GapReport, fields_beside
from optsched.heuristics import AnyHeuristic
from optsched.printing import interval, spread
from optsched.processes.containing import contained
from optsched.processes.outcomes import Limits
from optsched.results import Number
from optsched.solvers.profiles import Profile
from optsched.studies.choices import Choice, Source
from optsched.studies.limits import GapLimit
from optsched.studies.records import Kept, frame_of
from optsched.studies.runs import Measured, measure, plan
from optsched.studies.summing import LEAST, ProblemSummary, Row, Run, summaries

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GapReports", "study", "summary_frame", "summed"]


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
            `group`, `instance`, `problem`, `parameters` (JSON), `heuristic`, `seed`, `feasible`, `starved`, `status`
            (`done`, `out-of-time`, ..., as in records), `error`, `proof`, `termination`, `gap` (relative, of the first
            component that differs; infinite beside a reference of 0), `absolute_gap` (the same as a difference), then
            for each component i, from 1, `component_i` (its name), `objective_i`, `reference_i`, `absolute_gap_i`,
            `relative_gap_i`, `waiting` (tasks that the heuristic left), `map_node`, `map_rack`, `map_remote` (how near
            maps are to their data), `reduce_...`, the same of the reference (`reference_map_node`, ...), what a gap
            says beside itself, and the seconds. Numbers are doubles, NaN where unknown.
        """
        beside = list(dict.fromkeys(name for report in self for name in fields_beside(report.problem)))
        return frame_of(map(Kept.of, self.measured), beside)

    def summary(self) -> pd.DataFrame:
        """A row for each problem and heuristic: how many instances and runs, how many at the optimum, and the gaps.

        Returns
        -------
        pandas.DataFrame
            `problem`, `heuristic`, `instances`, `runs`, `seeds` (how many), `optimal` (runs that meet a proved
            optimum), `counted` (instances with a relative gap, over which the next ones are), `median`, `mean`,
            `worst` (relative gaps of the first component, each instance's mean over its seeds counted once; NaN where
            none is known), `half_width` (of the 95 % interval of the mean over instances, from three on), `worst_on`
            (the instance), `infeasible`, `starved`, `failed`, `out_of_time`, `out_of_memory`, `crashed`, `beside_zero`
            (runs with a difference from a reference of 0, which no share can tell), `unknown`.
        """
        return summary_frame(summed(self.measured))

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
            "over an optimum of 0": numbers["over_zero"],
            "without a feasible placement": len(self) - len(values),
            "unknown": values.count(None),
        }
        told += [f"{number} {what}" for what, number in counts.items() if number]
        heuristics = ", ".join(dict.fromkeys(entry.label for entry in self.measured))
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


def summed(measured: Iterable[Measured]) -> list[ProblemSummary]:
    """What was measured, summed up by problem."""
    return summaries(map(_run, measured))


def _run(entry: Measured) -> Run:
    report = entry.report
    problem, reference = report.problem, report.reference
    outcome, gap = _counted(report)
    proof = str(reference.certificate) if reference.kind == "optimum" else reference.kind or "unknown"
    name = problem.instance.name or "instance"
    return Run(problem.name, problem.components[0].name, entry.label, name, reference, proof, outcome, gap, report.seed)


def _counted(report: GapReport) -> tuple[str, Number | None]:
    """Which sort of run it was, and the relative gap in the first component, where there is one."""
    if report.status != "done":
        return report.status.replace("-", "_"), None
    if report.absolute_gap is None or report.relative_gap is None:
        return "unknown", None
    gap = report.relative_gap[0]
    if gap is None:
        return "beside_zero", None
    met = report.reference.kind == "optimum" and not any(report.absolute_gap) and None not in report.absolute_gap
    return "optimal" if met else "above", gap
