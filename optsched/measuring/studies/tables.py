"""Results of a study: its gaps as pandas frames, and summaries by problem and heuristic.

In a summary an instance counts once, with the mean of its runs over seeds. A run without a relative gap is in no mean,
and is counted with the reason. If any seed is over 0, the instance is excluded: its other seeds meet the optimum 0 and
would count as a gap of 0 %.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from optsched.core.brief import brief, counted, several
from optsched.core.deprecated import Renamed
from optsched.core.errors import printable
from optsched.core.processes.containing import contained
from optsched.core.processes.limits import Limits
from optsched.core.results import Limit, Number
from optsched.heuristics import AnyHeuristic
from optsched.measuring.gaps import GapReport
from optsched.measuring.printing import Fitted, Table, folded, half_width, number, percent, share, spread, value
from optsched.measuring.records import WITHOUT, Run, frame_of
from optsched.measuring.studies.choices import SEEDS, Choice, Source
from optsched.measuring.studies.runs import measure, plan
from optsched.problems.locality_counts import NAMES
from optsched.routes import end_reason
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    import pandas as pd

    from optsched.measuring.studies.limits import GapLimit
    from optsched.problems.base import TaskProblem

__all__ = [
    "GapReports",
    "LEAST",
    "ProblemSummary",
    "Row",
    "gap_lines",
    "gap_row",
    "gap_table",
    "study",
    "summaries",
    "summary_frame",
]


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
        Seeds of the heuristics: how many, from 0, or which.
    parameters
        Parameters of the problems: `{"levels": (0, 1, 2)}` for all that have it, `{"latency": {"w_rem": 5}}` for one.
    profile, time_limit
        As for `optsched.gap`: for each reference, and for each run.
    run_limit, memory_limit
        Seconds and MiB after which a run or a solve is killed. With one of them each has its own process, so that a
        hang, a crash or a lack of memory is a report with its `status` and `error`. Heuristics must be picklable.
        Functions defined in a notebook are.

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
        Each with its group of instances, and the label of its heuristic.

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
        problems = {entry.problem for entry in self.measured}
        instances = {entry.instance for entry in self.measured}
        runs = f"{counted(len(self), 'run')} of {counted(len(heuristics), 'heuristic')}"
        where = f"{counted(len(problems), 'problem')} on {counted(len(instances), 'instance')}"
        return brief(f"GapReports: {runs} in {where}")

    def _repr_html_(self) -> str:
        return self.summary().to_html(index=False, na_rep="-")

    def records(self) -> list[dict[str, Any]]:
        """A record for each run, as `optsched gap --format json` writes it."""
        return [report.record() for report in self]

    def frame(self) -> pd.DataFrame:
        """A row for each run, one number per column.

        Returns
        -------
        pandas.DataFrame
            `group`, `instance`, `problem`, `parameters` (JSON), `heuristic`, `seed`, `feasible`, `starved`, `status`
            (`done`, `out-of-time`, ..., as in records), `error`, `proof`, `termination`, `gap` (relative, of the first
            component that differs; infinite over 0), `absolute_gap` (the same as a difference), then for each component
            i, from 1, `component_i` (its name), `objective_i`, `reference_i`, `absolute_gap_i`, `relative_gap_i`,
            `waiting` (tasks that the heuristic left), `map_node`, `map_rack`, `map_off_rack` (how near maps are to
            their data), `reduce_...`, the same of the reference (`reference_map_node`, ...), further figures of a gap,
            and the seconds. Numbers are doubles, NaN if unknown.
        """
        return frame_of(self.measured)

    def summary(self) -> pd.DataFrame:
        """A row for each problem and heuristic: how many instances and runs, how many at the optimum, and the gaps.

        Returns
        -------
        pandas.DataFrame
            `problem`, `heuristic`, `instances`, `runs`, `seeds` (how many), `optimal` (runs that meet a proved
            optimum), `counted` (instances with a relative gap, which the next ones summarise), `median`, `mean`,
            `worst` (relative gaps of the first component, each instance's mean over its seeds counted once; NaN if none
            is known), `half_width` (of the 95 % interval of the mean over instances, from three on), `worst_on` (the
            instance), `infeasible`, `starved`, `failed`, `out_of_time`, `out_of_memory`, `crashed`, `over_zero` (runs
            whose reference is 0, so that there is no percentage), `unknown`.
        """
        return summary_frame(summaries(self.measured))

    told = Renamed("in_words")

    def in_words(self, limit: GapLimit | None = None) -> tuple[str, dict[str, float]]:
        """A line on all runs, and its numbers by name: for the reports of tests."""
        from optsched.measuring.studies.limits import GapLimit

        limit = limit or GapLimit(0)
        feasible = [report for report in self if report.feasible]
        values = [limit.gap(report) for report in feasible]
        known: dict[int, list[Number | float]] = {}  # by problem: each counts once, with any number of seeds
        for report, found in zip(feasible, values, strict=True):
            if found is not None and found != math.inf:
                known.setdefault(id(report.problem), []).append(found)
        seeds = len({report.seed for report in self})
        count = counted(len(self), "run") + f" of {seeds} seeds" * (seeds > 1)
        numbers: dict[str, float] = {"runs": len(self), "feasible": len(values), "over_zero": values.count(math.inf)}
        numbers["seeds"] = seeds
        parts = []
        if known:
            every = [value for part in known.values() for value in part]
            means = [float(limit.mean(part)) for part in known.values()]
            mean = limit.mean([limit.mean(part) for part in known.values()])  # exact, for the comparison with a limit
            numbers |= {"worst": float(max(every)), "mean": float(mean)}
            parts.append(f"worst gap {limit.shown(max(every))}")
            drawn = means if len(means) > 1 else list(map(float, every))
            if len(drawn) >= LEAST and (half := half_width(drawn)) is not None:
                numbers["half_width"] = half
            if len(every) > 1:
                parts.append(f"mean {spread(limit.shown(numbers['mean']), numbers.get('half_width', 0))}")
            compared = limit.compared(self.measured)
            if limit.statistic not in numbers and compared is not None:
                numbers[limit.statistic] = float(compared)
                parts.append(f"{limit.statistic} {limit.shown(compared)}")
        counts = {
            "over 0": numbers["over_zero"],
            "without a feasible placement": len(self) - len(values),
            "unknown": values.count(None),
        }
        parts += [f"{number} {what}" for what, number in counts.items() if number]
        heuristics = ", ".join(dict.fromkeys(entry.heuristic for entry in self.measured))
        problems = ", ".join(dict.fromkeys(report.problem.name for report in self))
        return f"{heuristics} in {problems}, {count}: {', '.join(parts)}", numbers


def summary_frame(found: Iterable[ProblemSummary]) -> pd.DataFrame:
    """The rows of all problems as a frame; `GapReports.summary` lists its columns."""
    import pandas as pd

    rows = [{"problem": part.problem, **vars(row)} for part in found for row in part.rows]
    frame = pd.DataFrame(rows, columns=["problem", *Row.__dataclass_fields__])
    numeric = ["median", "mean", "half_width", "worst"]
    frame[numeric] = frame[numeric].astype(float)
    return frame


# Sums -------------------------------------------------------------------------------------------------------------


#: The fewest instances for which a confidence interval of their mean is shown.
LEAST = 3


@dataclass(frozen=True)
class Row:
    """The results of a heuristic in a problem; see `GapReports.summary`."""

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
    """The results of heuristics in a problem.

    Attributes
    ----------
    problem, component
        Its name, and that of the component whose gaps are reported.
    instances
        The number of instances.
    proofs
        How many of their references are an optimum with each kind of proof, and how many are a bound or unknown.
    rows
        One per heuristic.
    """

    problem: str
    component: str
    instances: int
    proofs: Mapping[str, int]
    rows: tuple[Row, ...]

    def heading(self) -> str:
        """The problem, and what all its heuristics have in common, in a line."""
        proofs = ", ".join(f"{count} {kind}" for kind, count in self.proofs.items())
        count = counted(self.instances, "instance")
        return f"{self.problem}: {count}; optima by proof: {proofs}; gaps in {self.component}"

    def table(self) -> Table:
        """A row for each heuristic."""
        rows = []
        for row in self.rows:
            optimal, mean = f"{row.optimal}/{row.runs}", spread(share(row.mean), row.half_width or 0)
            numbers = [optimal, str(row.seeds), share(row.median), mean, share(row.worst)]
            note = ", ".join(f"{count} {what}" for name, what in WITHOUT.items() if (count := getattr(row, name)))
            rows.append([row.heuristic, *numbers, row.worst_on or "", note])
        columns = ("heuristic", "optimal", "seeds", "median", "mean", "worst", "on", "note")
        return Table(columns, rows, frozenset(columns[1:6]))


def summaries(runs: Iterable[Run]) -> list[ProblemSummary]:
    """The runs summarised by problem, in order of appearance.

    Examples
    --------
    >>> instances = ["papers/guo-table2", "generated/fair-lsap-n20-t30-replicas2-seed0"]
    >>> (part,) = summaries(study(instances, "fair-lsap", "dl", seeds=1).measured)
    >>> part.heading()
    'fair-lsap: 2 instances; optima by proof: 2 dual; gaps in fairness-and-locality-cost'
    >>> round(part.rows[0].worst, 2), part.rows[0].worst_on
    (16.72, 'fair-lsap-n20-t30-replicas2-seed0')
    """
    by_problem: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        by_problem.setdefault(run.problem, {}).setdefault(run.heuristic, []).append(run)
    found = []
    for name, by_heuristic in by_problem.items():
        (first, *_), *_ = by_heuristic.values()
        proofs = Counter({run.reference: run.proof for own in by_heuristic.values() for run in own}.values())
        rows = tuple(_summed(label, own) for label, own in by_heuristic.items())
        found.append(ProblemSummary(name, first.component, proofs.total(), dict(proofs.most_common()), rows))
    return found


def _summed(label: str, runs: Sequence[Run]) -> Row:
    counts = Counter(run.outcome for run in runs)
    names = {run.reference: run.instance or "instance" for run in runs}
    by_instance: dict[Hashable, list[float]] = {key: [] for key in names}
    # If some seeds are over 0, those that meet it are no share of the whole either.
    over_zero = {run.reference for run in runs if run.outcome == "over_zero"}
    for run in runs:
        if run.outcome in ("optimal", "above") and run.reference not in over_zero:
            by_instance[run.reference].append(run.relative or 0.0)
    means = {key: statistics.fmean(values) for key, values in by_instance.items() if values}
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
        half_width(list(means.values())) if len(means) >= LEAST else None,
        None if worst is None else max(by_instance[worst]),
        None if worst is None or not max(by_instance[worst]) else names[worst],
        *(counts[kind] for kind in WITHOUT),
    )


# Rows of single runs under headings with what all have in common ----------------------------------------------------


#: Columns of gaps that are left out if there is no room, the first one first.
_SHED = ("proof", "reference", "objective", "worst gap")

#: Characters to which names of instances, which differ at their ends, are cut before a column is left out.
_TELLING = 28


def gap_row(label: str, reports: Sequence[GapReport], repeated: bool = False) -> dict[str, str]:
    """The row of a heuristic with a `label`, on a problem and instance, by column.

    `repeated`: whether there may be several seeds: then how many, the mean gap with its 95 % confidence interval, and
    the worst. Later components count only seeds whose earlier ones are at the reference.
    """
    problem, first = reports[0].problem, reports[0].reference
    reference = _mean_value(list(dict.fromkeys(report.reference.value for report in reports)))
    kinds = list(dict.fromkeys(report.reference.kind or "unknown" for report in reports))
    cells = [problem.instance.name, problem.name, label]
    cells += [_mean_value([report.objective for report in reports]), reference, "/".join(kinds)]
    cells += [str(first.certificate or "-"), *_gaps(reports, repeated), _gap_note(reports)]
    return dict(zip(gap_columns(repeated), cells, strict=True))


#: A problem with the labels of its heuristics.
_Work: TypeAlias = "tuple[TaskProblem[Any], Sequence[str]]"

_COLUMNS = ("instance", "problem", "heuristic", "objective", "reference", "kind", "proof")
_MEAN = "mean gap ±95 %"
_GAP_NUMBERS = frozenset({"objective", "reference", "gap", "seeds", _MEAN, "worst gap"})

#: Width of values that are not known yet, with one component and with two. A longer one moves the rest a little.
_WIDTHS = {
    "objective": (9, 17),
    "reference": (9, 17),
    "gap": (8, 13),
    _MEAN: (14, 20),
    "worst gap": (9, 14),
}


def gap_columns(repeated: bool) -> tuple[str, ...]:
    """The columns of `gap_row`."""
    gaps = ("seeds", _MEAN, "worst gap") if repeated else ("gap",)
    return (*_COLUMNS, *gaps, "note")


def gap_table(runs: Iterable[Run], repeated: bool = False) -> Table:
    """A row for each heuristic on each problem and instance, with every column: for documents."""
    groups = groupby(runs, _row_of)
    rows = [list(gap_row(label, [run.report for run in own], repeated).values()) for (*_, label), own in groups]
    return Table(gap_columns(repeated), rows, _GAP_NUMBERS)


def _row_of(run: Run) -> tuple[str, str, str]:
    """The key of a row: its runs have the same instance, problem and heuristic."""
    return run.instance, run.problem, run.heuristic


def _to_come(work: Iterable[_Work], columns: Sequence[str]) -> Table:
    """The columns with placeholder rows as wide as those to come: the work determines the widths of names."""
    rows = []
    for problem, labels in work:
        known = {name: "-" * widths[len(problem.components) > 1] for name, widths in _WIDTHS.items()}
        known |= {"instance": problem.instance.name, "problem": problem.name, "proof": problem.proof}
        rows += [[({**known, "heuristic": label}).get(name, "") for name in columns] for label in labels]
    return Table(tuple(columns), rows, _GAP_NUMBERS)


def _mean_value(values: Sequence[Sequence[Number | None] | None]) -> str:
    """The one value, or the mean of several, entry by entry; unknown ones are left out."""
    known = [tuple(entry) for entry in values if entry is not None]
    if len(set(known)) < 2:
        return value(next(iter(known), None))
    return ", ".join(
        number(statistics.fmean(map(float, column))) if all(part is not None for part in column) else "-"
        for column in zip(*known, strict=True)
    )


def _gaps(group: Sequence[GapReport], repeated: bool) -> list[str]:
    """The cells with the gap: a single one, or how many seeds, mean with interval, and worst."""
    known = [report for report in group if report.absolute_gap is not None and report.relative_gap is not None]
    seeds = [str(len({report.seed for report in group}))] if repeated else []
    if not known:
        return [*seeds, "-", "-"] if repeated else ["-"]
    cells: list[list[str]] = [[], []]
    for position in range(len(group[0].problem.components)):
        pairs = [(report.absolute_gap[position], report.relative_gap[position]) for report in known]  # type: ignore[index]
        shares = [(absolute, relative) for absolute, relative in pairs if absolute is not None]
        # Over 0 no gap is a percentage: then the row has the differences themselves.
        relative_to = all(report.reference.value[position] != 0 for report in known)  # type: ignore[index]
        show: Callable[[Any], str] = percent if relative_to else lambda gap: f"{gap:+.4g}" if gap else "0"
        values = [float(relative if relative_to else absolute) for absolute, relative in shares]  # type: ignore[arg-type]
        half = half_width(values) or 0
        cells[0].append(spread(show(statistics.fmean(values)), half) if values else "-")
        cells[1].append(show(max(values)) if values else "-")
    joined = [", ".join(cell) for cell in cells]
    return [*seeds, *joined] if repeated else joined[:1]


def _gap_note(group: Sequence[GapReport]) -> str:
    """The notes on a row: errors, starvation, violations, what ran out of time, and in how many of its runs.

    For a policy over time, also the assumed durations of tasks and times of offers.
    """
    notes: dict[str, int] = {}
    for report in group:
        if report.run.out_of_time is not None:
            note = f"out of time after {report.run.out_of_time:g} s"
        elif report.error is not None:
            note = "error: " + _shortened(report.error.splitlines()[0])
        elif report.run.starved:
            unstarted = f": {report.waiting} of {counted(len(report.problem.tasks), 'task')} never started"
            note = "starved" + unstarted * (report.run.schedule is not None)
        elif not report.feasible:
            all_are = "" if report.reference.infeasible is None else ", like every placement"
            note = f"infeasible{all_are}: " + several([_shortened(str(wrong), 40) for wrong in report.violations], 2)
        elif report.reference.cheap is not None:
            note = f"against the cheap bound {report.reference.cheap.name}"
        elif report.reference.kind is None and report.reference.solution.limit is not Limit.TIME:
            note = "reference unknown"
        elif len(group) == 1 and (nearer := _nearer(report)):
            note = nearer
        else:
            continue
        notes[note] = notes.get(note, 0) + 1
    parts = list(notes) if len(group) == 1 else [f"{times} of {len(group)} {note}" for note, times in notes.items()]
    late = [report.reference for report in group if report.reference.solution.limit is Limit.TIME]
    if late:
        limit = late[0].profile.time_limit if end_reason(late[0].solution) is None else None
        parts.append("reference out of time" + (f" after {limit:g} s" if limit is not None else ""))
    assumed = dict.fromkeys(report.run.assumed for report in group if report.run.assumed)
    return "; ".join([*parts, *assumed])


def _nearer(report: GapReport) -> str:
    """How many tasks are on a node with their data, in a rack with it and off-rack, if there is a gap."""
    held, best = report.locality, report.reference.locality
    racks = len(report.problem.instance.cluster.rack_ids)
    if held is None or best is None or held == best or not racks or not any(report.deciding or ()):
        return ""
    several = sum(any(counts.values()) for counts in best.values()) > 1
    parts = []
    for kind, counts in held.items():
        if counts != best[kind]:
            mine, others = ("/".join(str(number) for number in each.values()) for each in (counts, best[kind]))
            parts.append(f"{f'{kind}s ' if several else ''}{mine} {'/'.join(NAMES)}, optimum {others}")
    return "; ".join(parts)


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def gap_lines(
    runs: Iterable[Run],
    work: Iterable[_Work],
    seeds: int | None = 1,
    most: int = 80,
    terminal: bool = False,
) -> Iterator[str]:
    """The rows of gaps for people as they come: each once all seeds of a heuristic on a problem are known.

    They appear under a heading for each instance and problem. Several instances with one heuristic each form one table
    by instance, because sections of one row each would be mostly headings. `work` is each problem with the labels of
    its heuristics, in order. `seeds` is their number; None: as many as a heuristic needs, so that a row is complete
    once the next begins.
    """
    work, repeated = [(problem, labels) for problem, labels in work if labels], seeds != 1
    by_instance = len(work) > 1 and all(len(labels) == 1 for _, labels in work)
    lines, section = None, None
    for _, own in groupby(runs, _row_of):
        while row := list(islice(own, seeds)):
            here = () if by_instance else _row_of(row[0])[:2]
            text = ""
            if lines is None or section != here:
                text = "" if lines is None else "\n"
                heading, held, away = _by_instance(work) if by_instance else _section(work, row[0].report)
                columns = tuple(name for name in gap_columns(repeated) if name not in away | {"kind"})
                short = {"short": _TELLING} if by_instance else {}
                lines, section = Fitted(_to_come(held, columns), most, _SHED, **short), here
                text += (folded(printable(heading), most, "  ") if heading else "") + lines.head(terminal)
            cells = _cells(row, seeds, repeated)
            yield text + lines.line([cells[name] for name in columns])


def _cells(row: Sequence[Run], seeds: int | None, repeated: bool) -> dict[str, str]:
    """The row of some runs for people: it says if seeds are missing, and if the reference is a bound."""
    reports = [run.report for run in row]
    cells = gap_row(row[0].heuristic, reports, repeated)
    done = len({report.seed for report in reports})
    wanted = seeds or (len(SEEDS) if done > 1 or any(report.run.drawn for report in reports) else 1)
    broken_off = f"only {done} of {wanted} seeds" if done < wanted else ""
    cells["note"] = "; ".join(filter(None, [broken_off, cells["note"]]))
    if cells["kind"] == "bound":
        cells["reference"] = f"bound {cells['reference']}"
    return cells


def _by_instance(work: Sequence[_Work]) -> tuple[str, Sequence[_Work], set[str]]:
    """The heading of a table by instance, its work, and the columns that it leaves out, since they never vary."""
    names = {
        "heuristic": {label for _, labels in work for label in labels},
        "problem": {problem.name for problem, _ in work},
        "instance": {problem.instance.name for problem, _ in work},
    }
    away = {name for name, held in names.items() if len(held) == 1}
    words = zip(("", "in ", "on "), names, strict=True)
    place = " ".join(word + min(names[name]) for word, name in words if name in away)
    return place.removeprefix("in ").removeprefix("on "), work, away


def _section(work: Sequence[_Work], first: GapReport) -> tuple[str, Sequence[_Work], set[str]]:
    """The same for a section of one instance and problem."""
    problem, reference = first.problem, first.reference
    here = (problem.instance.name, problem.name)
    parts = ", ".join(part.name for part in problem.components)
    text = f"{reference.kind} {value(reference.value)} ({parts}), proof: {reference.certificate or '-'}"
    if reference.kind is None:
        why = reference.infeasible
        text = "no reference is known" if why is None else f"nothing is feasible: {why}"
    held = [entry for entry in work if (entry[0].instance.name, entry[0].name) == here]
    return f"{', '.join(here)}: {text}", held, {"instance", "problem", "reference", "proof"}
