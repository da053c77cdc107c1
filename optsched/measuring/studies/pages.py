"""Gaps as rows that people read, one for each heuristic on a problem, under headings of what is the same in all."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from optsched.core.brief import counted
from optsched.core.errors import printable
from optsched.core.results import Limit, Number
from optsched.measuring.printing import Fitted, Lines, Rows, folded, interval, number, percent, spread, value
from optsched.measuring.studies.choices import SEEDS

if TYPE_CHECKING:
    from optsched.measuring.gaps import GapReport
    from optsched.measuring.records import Run
    from optsched.problems.base import TaskProblem

__all__ = ["GapPage", "gap_lines", "gap_row"]

#: Columns of gaps that are left out where there is no room, the first one first.
_SHED = ("proof", "reference", "objective", "worst gap")

#: Names of instances, whose ends tell them apart, are cut to so many characters before a column is left out.
_TELLING = 28


def gap_row(label: str, reports: Sequence[GapReport], repeated: bool = False) -> dict[str, str]:
    """The row of a heuristic on a problem and instance, by column.

    Parameters
    ----------
    label, reports
        What the heuristic is called, and its runs.
    repeated
        Whether there may be several seeds: then how many, the mean gap with its 95 % confidence interval, and the
        worst. Later components count only those seeds whose earlier ones are at the reference.
    """
    problem, first = reports[0].problem, reports[0].reference
    references = list(dict.fromkeys(report.reference.value for report in reports))
    reference = value(first.value) if len(references) == 1 else _mean_value(references)
    kinds = list(dict.fromkeys(report.reference.kind or "unknown" for report in reports))
    cells = [problem.instance.name, problem.name, label]
    cells += [_mean_value([report.objective for report in reports]), reference, "/".join(kinds)]
    cells += [str(first.certificate or "-"), *_gaps(reports, repeated), _note(reports)]
    return dict(zip(gap_columns(repeated), cells, strict=True))


_COLUMNS = ("instance", "problem", "heuristic", "objective", "reference", "kind", "proof")
_MEAN = "mean gap ±95 %"
_NUMBERS = frozenset({"objective", "reference", "gap", "seeds", _MEAN, "worst gap"})

#: Width of what is not known before it is there, with one component and with two. A longer one moves the rest a little.
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


def gap_lines(work: Iterable[tuple[TaskProblem[Any], Iterable[str]]], repeated: bool = False) -> Lines:
    """The lines of these rows before there is a row: what is to be done tells how wide names are.

    `work`: each problem, with the labels of the heuristics that are to run on it.
    """
    columns = gap_columns(repeated)
    widths = {name: [len(name)] for name in columns}
    several = False
    for problem, labels in ((problem, list(labels)) for problem, labels in work):
        if not labels:
            continue
        several |= len(problem.components) > 1
        widths["instance"].append(len(printable(problem.instance.name)))
        widths["problem"].append(len(problem.name))
        widths["heuristic"] += (len(printable(label)) for label in labels)
        widths["proof"].append(len(problem.proof))
    widths["kind"].append(len("optimum"))
    for name in _WIDTHS.keys() & widths.keys():
        widths[name].append(_WIDTHS[name][several])
    return Lines(columns, [max(widths[name]) for name in columns], _NUMBERS)


def _mean_value(values: Sequence[Sequence[Number | None] | None]) -> str:
    """The one value, or the mean of several, entry by entry; what is unknown is left out."""
    known = [entry for entry in values if entry is not None]
    if not known:
        return "-"
    if all(entry == known[0] for entry in known):
        return value(known[0])
    return ", ".join(
        number(statistics.fmean(map(float, column))) if all(part is not None for part in column) else "-"
        for column in zip(*known, strict=True)
    )


def _gaps(group: Sequence[GapReport], repeated: bool) -> list[str]:
    """The cells that tell the gap: one, or how many seeds, mean with interval, and worst."""
    known = [report for report in group if report.absolute_gap is not None and report.relative_gap is not None]
    seeds = [str(len({report.seed for report in group}))] if repeated else []
    if not known:
        return [*seeds, "-", "-"] if repeated else ["-"]
    cells: list[list[str]] = [[], []]
    for position in range(len(group[0].problem.components)):
        pairs = [(report.absolute_gap[position], report.relative_gap[position]) for report in known]  # type: ignore[index]
        told = [(absolute, relative) for absolute, relative in pairs if absolute is not None]
        # Over 0 no gap is a percentage: then the row has the differences themselves.
        relative_to = all(report.reference.value[position] != 0 for report in known)  # type: ignore[index]
        show: Callable[[Any], str] = percent if relative_to else _difference
        values = [float(relative if relative_to else absolute) for absolute, relative in told]  # type: ignore[arg-type]
        limits = interval(values)
        half = (limits[1] - limits[0]) / 2 if limits else 0
        cells[0].append(spread(show(statistics.fmean(values)), half) if values else "-")
        cells[1].append(show(max(values)) if values else "-")
    joined = [", ".join(cell) for cell in cells]
    return [*seeds, *joined] if repeated else joined[:1]


def _difference(gap: float) -> str:
    return f"{gap:+.4g}" if gap else "0"


def _unstarted(report: GapReport) -> str:
    """How many tasks a run over time left waiting for ever; empty of a run in one snapshot."""
    if report.run.schedule is None:
        return ""
    return f": {report.waiting} of {counted(len(report.problem.tasks), 'task')} never started"


def _note(group: Sequence[GapReport]) -> str:
    """What is odd about a row: errors, starvation, violations, what was out of time, and in how many of its runs.

    Of a policy over time, also how long tasks were assumed to take, and when slots to be offered.
    """
    notes: dict[str, int] = {}
    for report in group:
        if report.run.out_of_time is not None:
            note = f"out of time after {report.run.out_of_time:g} s"
        elif report.error is not None:
            note = "error: " + _shortened(report.error.splitlines()[0])
        elif report.run.starved:
            note = "starved" + _unstarted(report)
        elif not report.feasible:
            all_are = "" if report.reference.infeasible is None else ", as all placements are"
            note = f"infeasible{all_are}: " + _shortened("; ".join(map(str, report.violations[:2])))
        elif report.reference.cheap is not None:
            note = f"beside the cheap bound {report.reference.cheap.name}"
        elif report.reference.kind is None and report.reference.solution.limit is not Limit.TIME:
            note = "reference unknown"
        elif len(group) == 1 and (nearer := _nearer(report)):
            note = nearer
        else:
            continue
        notes[note] = notes.get(note, 0) + 1
    told = list(notes) if len(group) == 1 else [f"{times} of {len(group)} {note}" for note, times in notes.items()]
    late = [report.reference for report in group if report.reference.solution.limit is Limit.TIME]
    if late:
        from optsched.routes.contained import told_end

        limit = late[0].profile.time_limit if told_end(late[0].solution) is None else None
        told.append("reference out of time" + (f" after {limit:g} s" if limit is not None else ""))
    assumed = dict.fromkeys(report.run.assumed for report in group if report.run.assumed)
    return "; ".join([*told, *assumed])


def _nearer(report: GapReport) -> str:
    """How many tasks are on a node with their data, in a rack with it and remote, where a gap is."""
    held, best = report.locality, report.reference.locality
    racks = len(report.problem.instance.cluster.rack_ids)
    if held is None or best is None or held == best or not racks or not any(report.deciding or ()):
        return ""
    several = sum(any(counts.values()) for counts in best.values()) > 1
    told = []
    for kind, counts in held.items():
        if counts != best[kind]:
            mine, others = ("/".join(str(number) for number in each.values()) for each in (counts, best[kind]))
            told.append(f"{f'{kind}s ' if several else ''}{mine} {'/'.join(counts)}, optimum {others}")
    return "; ".join(told)


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


class GapPage:
    """Puts out the rows of gaps as they come: each once all seeds of a heuristic on a problem are there.

    For people they stand under a heading for each instance and problem, or in one table by instance. In another form
    there is one table with every column.

    Parameters
    ----------
    write
        Puts out a text.
    work
        Each problem, with the labels of the heuristics that are to run on it, in the order in which they come.
    seeds
        How many there are to be; None: as many as a heuristic needs, so that a row is whole once the next begins.
    form
        `table`, `markdown` or `latex`.
    most
        Characters of a line.
    terminal
        Whether heads are drawn.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        work: Iterable[tuple[TaskProblem[Any], Sequence[str]]],
        seeds: int | None = 1,
        form: str = "table",
        most: int = 80,
        terminal: bool = False,
    ) -> None:
        self._work = [(problem, labels) for problem, labels in work if labels]
        self._write, self._seeds, self._repeated = write, seeds, seeds != 1
        self._most, self._terminal = most, terminal
        #: Whether there are several instances and one heuristic each, of which a section each would be all heads.
        self._by_instance = len(self._work) > 1 and all(len(labels) == 1 for _, labels in self._work)
        #: The heuristic that is on, its reports so far, and the section that its row belongs to.
        self._on: tuple[str, str, str] | None = None
        self._reports: list[GapReport] = []
        self._section: tuple[str, str] | None = None
        #: The table that is on; None: of the next section, with its own columns.
        self._rows: Rows | None = None
        self._columns = gap_columns(self._repeated)
        self._sections = form == "table"
        if not self._sections:
            self._rows = Rows(write, gap_lines(self._work, self._repeated).in_form(form))

    def add(self, run: Run) -> None:
        """One more run."""
        report = run.report
        on = (report.problem.instance.name, report.problem.name, run.heuristic)
        if on != self._on:
            self._put()
            self._on = on
        self._reports.append(report)
        if len(self._reports) == self._seeds:
            self._put()

    def close(self) -> None:
        """There are no more."""
        self._put()
        if self._rows is not None:
            self._rows.close()

    def _put(self) -> None:
        if self._on is None or not self._reports:
            return
        reports, self._reports = self._reports, []
        seeds = len({report.seed for report in reports})
        several = seeds > 1 or any(report.run.drawn for report in reports)
        wanted = self._seeds or (len(SEEDS) if several else 1)
        cells = gap_row(self._on[2], reports, self._repeated)
        broken_off = f"only {seeds} of {wanted} seeds" if seeds < wanted else ""
        cells["note"] = "; ".join(filter(None, [broken_off, cells["note"]]))
        if self._sections:
            section = ("", "") if self._by_instance else self._on[:2]
            if section != self._section:
                self._write("\n" * (self._section is not None) + self._begun(reports[0]))
                self._section = section
            if cells["kind"] == "bound":
                cells["reference"] = f"bound {cells['reference']}"
        assert self._rows is not None
        self._rows.add([cells[name] for name in self._columns])

    def _begun(self, first: GapReport) -> str:
        """The heading of a section, whose table is on from now on."""
        if self._by_instance:
            names = {
                "heuristic": {label for _, labels in self._work for label in labels},
                "problem": {problem.name for problem, _ in self._work},
                "instance": {problem.instance.name for problem, _ in self._work},
            }
            away = {name for name, held in names.items() if len(held) == 1}
            words = {"heuristic": "", "problem": "in ", "instance": "on "}
            told = " ".join(words[name] + min(names[name]) for name in names if name in away)
            work, heading = self._work, told.removeprefix("in ").removeprefix("on ")
        else:
            problem, reference = first.problem, first.reference
            here = (problem.instance.name, problem.name)
            work = [entry for entry in self._work if (entry[0].instance.name, entry[0].name) == here]
            away = {"instance", "problem", "reference", "proof"}
            parts = ", ".join(part.name for part in problem.components)
            told = f"{reference.kind} {value(reference.value)} ({parts}), proof: {reference.certificate or '-'}"
            if reference.kind is None:
                why = reference.infeasible
                told = "no reference is known" if why is None else f"nothing is feasible: {why}"
            heading = f"{', '.join(here)}: {told}"
        lines = gap_lines(work, self._repeated)
        self._columns = tuple(name for name in lines.columns if name not in away | {"kind"})
        widths = [width for name, width in zip(lines.columns, lines.widths, strict=True) if name in self._columns]
        short = {"short": _TELLING} if self._by_instance else {}
        fitted = Fitted(Lines(self._columns, widths, lines.numbers), self._most, _SHED, **short)
        self._rows = Rows(self._write, fitted, self._terminal)
        return folded(printable(heading), self._most, "  ") if heading else ""
