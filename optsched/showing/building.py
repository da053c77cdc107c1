"""A report from what was read: its sections, what they hold, and which commands give them again; and its files.

Every form is made before anything is written, and each file is whole or not there.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from optsched.core.brief import counted
from optsched.core.errors import UsageError
from optsched.core.resources import code_version
from optsched.instances.documents.storing import GrowingFile
from optsched.measuring.printing import Table, counts, percent
from optsched.measuring.records import Run, frame_of
from optsched.measuring.studies.tables import ProblemSummary, summaries
from optsched.showing import tables
from optsched.showing.documents import Lines, Part, Picture, Report, Section, latex, markdown, page, tidy
from optsched.showing.figures import require
from optsched.showing.gaps import box_plot, distribution, performance_profile
from optsched.showing.sources import Found, FrontierRecord, asked, chosen, entries_of, read, study
from optsched.showing.trade_offs import frontier_picture

#: The most notes of records that are listed one by one.
_NOTES = 200


def built(
    material: Found, problems: Sequence[str] = (), heuristics: Sequence[str] = (), title: str | None = None
) -> tuple[Report, list[str]]:
    """The report on what was read, and what its reader should know at once.

    UsageError if no record is of a chosen problem or heuristic.
    """
    entries, notes = entries_of(material.runs)
    cells = [record for record in material.cells if not problems or record.problem in problems]
    frontiers = [record for record in material.frontiers if not problems or record.problem in problems]
    names = {name for entry in entries for name in (entry.problem, entry.record.problem)}
    if entries and not (problems and (cells or frontiers) and not names & set(problems)):
        entries = chosen(entries, problems, heuristics)
    if not (entries or cells or frontiers):
        raise UsageError(f"no record is of {', '.join((*problems, *heuristics))}")
    versions = Counter(material.versions)
    if len(versions) > 1:
        each = ", ".join(f"{count} of {version or 'an unknown one'}" for version, count in sorted(versions.items()))
        notes.append(f"the records are of several versions of optsched: {each}; figures may differ for that alone")
    unfinished = sum(source.unfinished for source in material.sources)
    if unfinished:
        notes.append(f"{counted(unfinished, 'run')} of the sources {'is' if unfinished == 1 else 'are'} not finished")
    parts = summaries(entries)
    by_problem: dict[str, list[Run]] = {}
    for entry in entries:
        by_problem.setdefault(entry.problem, []).append(entry)
    again = _command(material, heuristics)
    sections: list[Section] = []
    if parts:
        sections.append(Section("all", "All problems", (tables.overview(parts), tables.proofs(parts))))
    sections += [_problem(part, by_problem[part.problem], again) for part in parts]
    if cells:
        sections.append(Section("matrices", "Gap matrices", tuple(tables.matrices(cells))))
    if frontiers:
        points = (_frontier(number, record, entries) for number, record in enumerate(frontiers, 1))
        own = Lines((again(problems, "report.html"), *map(asked, frontiers)), command=True, key="commands-frontiers")
        sections.append(Section("frontiers", "Frontiers", (*chain.from_iterable(points), own)))
    if entries:
        failed = tables.failures(entries)
        lines: tuple[Part, ...] = (failed,) if failed.rows else ("Every run has a feasible placement.",)
        sections.append(Section("failed", "Failures", lines))
        sections.append(Section("each", "Runs", (tables.all_runs(entries),)))
    sections.append(_provenance(material, entries, notes, again(problems, "report.html")))
    heading = title or "Gaps to the proved optimum"
    findings = tuple(filter(None, map(_finding, parts)))
    return Report(heading, _summary(entries, len(cells), len(frontiers)), tuple(sections), findings), notes


def _summary(entries: Sequence[Run], cells: int, frontiers: int) -> str:
    """The summary of the report."""
    parts = []
    if entries:
        heuristics = counted(len({entry.heuristic for entry in entries}), "heuristic")
        problems = counted(len({entry.problem for entry in entries}), "problem")
        distinct = {(entry.record.instance, entry.record.instance_sha256) for entry in entries}
        where = f"{problems} on {counted(len(distinct), 'instance')}"
        failed = sum(entry.status != "done" for entry in entries)
        parts.append(f"{counted(len(entries), 'run')} of {heuristics} in {where}")
        if failed:
            parts.append(f"{failed} of the runs without a feasible placement")
    if cells:
        parts.append(f"{counted(cells, 'cell')} of gap matrices")
    if frontiers:
        parts.append(counted(frontiers, "frontier"))
    return f"{'; '.join(parts)}."


def _finding(part: ProblemSummary) -> str:
    """Which heuristic has the smallest mean gap in a problem, and which the largest, of those on most instances."""
    most = max((row.counted for row in part.rows), default=0)
    means = {row.heuristic: row.mean for row in part.rows if row.counted == most and row.mean is not None}
    if not means:
        return ""
    over = f"over {counted(most, 'instance')}"
    best, worst = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    if means[best] == means[worst]:
        who = f"{best} has" if len(means) == 1 else f"all {len(means)} heuristics have"
        return f"{part.problem}: {who} a mean gap of {percent(means[best])} {over}."
    finding = f"{best} has the smallest mean gap, {percent(means[best])} {over}"
    return f"{part.problem}: {finding}; {worst} has the largest, {percent(means[worst])}."


def _command(material: Found, heuristics: Sequence[str]) -> Callable[[Sequence[str], str], str]:
    """What makes the command that gives a part of the report."""
    names = [source.name if source.kind != "study" else "RECORDS.json" for source in material.sources]

    def command(problems: Sequence[str], to: str) -> str:
        words = ["optsched", "report", *names]
        for option, given in (("--problem", problems), ("--heuristic", heuristics)):
            for name in given:
                words += [option, name]
        return shlex.join([*words, "--to", to])

    return command


# A problem --------------------------------------------------------------------------------------------------------


def _problem(part: ProblemSummary, entries: Sequence[Run], again: Callable[[Sequence[str], str], str]) -> Section:
    name, frame, command = part.problem, frame_of(entries), f"commands-{part.problem}"
    gaps, spread, profile = tables.gaps(part), tables.distribution(entries), tables.profile(entries)
    compared = tables.comparisons(entries)
    known = any(row.counted for row in part.rows)
    parts: list[Part] = [gaps]
    if known:
        medians = ", ".join(f"{row[0]} {row[5]}" for row in gaps.rows)
        text = f"Box plot of the relative gaps in {name}, a row for each heuristic. Medians over instances: {medians}."
        parts.append(Picture("box", f"Gaps in {name}", text, gaps.key, command, partial(box_plot, frame)))
        at_zero = ", ".join(f"{row[0]} {row[2]}" for row in spread.rows)
        text = f"For each gap the share of a heuristic's runs in {name} that do not exceed it. At 0: {at_zero}."
        title = f"Distribution of gaps in {name}"
        parts.append(Picture("curve", title, text, spread.key, command, partial(distribution, frame)))
    parts.append(spread)
    if known and len(part.rows) > 1:
        best = ", ".join(f"{row[0]} {row[2]}" for row in profile.rows)
        text = f"For each factor the share of a heuristic's runs in {name} within it. Runs that none beats: {best}."
        title = f"Performance profile in {name}"
        parts.append(Picture("factors", title, text, profile.key, command, partial(performance_profile, frame)))
    parts += [profile, *([compared] if compared is not None else []), tables.times(entries), tables.instances(entries)]
    parts.append("This part of the report alone, and what measures its runs again (rebuilt from the records):")
    lines = study([entry.record for entry in entries])
    own = again([entries[0].record.problem], f"{entries[0].record.problem}.html")
    parts.append(Lines((own, *lines), command=True, key=command))
    return Section(f"problem-{name}", name, tuple(parts))


def _frontier(number: int, record: FrontierRecord, entries: Sequence[Run]) -> tuple[Part, ...]:
    """The picture of a frontier with what heuristics came to, and its table."""
    table = tables.frontier(number, record, entries)
    draw = partial(frontier_picture, record, tables.reached(record, entries), record.instance)
    points = "; ".join(", ".join(row[1:3]) for row in table.rows[: len(record.points)][:20])
    text = f"{table.title}: a staircase of points ({', '.join(record.components)}): {points}. Heuristics are drawn in."
    return Picture("stairs", table.title, text, table.key, "commands-frontiers", draw), table


# Provenance -------------------------------------------------------------------------------------------------------


def _provenance(material: Found, entries: Sequence[Run], remarks: Sequence[str], command: str) -> Section:
    rows = [
        [
            source.name,
            source.kind,
            source.sha256 or "-",
            *counts(source.runs, source.cells, source.frontiers, source.unfinished),
        ]
        for source in material.sources
    ]
    columns: tuple[str, ...] = ("source", "kind", "SHA-256", "runs", "cells", "frontiers", "unfinished")
    sources = Table(columns, rows, frozenset(columns[3:]), "sources", "Sources", everywhere=False)
    versions = sorted({*material.versions} - {""})
    of = f"The records are of optsched {', '.join(versions)}. " if versions else ""
    parts: list[Part] = [f"{of}The report was written by optsched {code_version()}, with this command:"]
    parts += [Lines((command,), command=True), sources]
    for source in material.sources:
        if source.command:
            parts.append(f"The runs of {source.name} were measured with {source.computed_with}, by this command:")
            parts.append(Lines((source.command,), command=True))
    if remarks:
        parts.append(Lines(tuple(f"{line[0].upper()}{line[1:]}." for line in remarks)))
    notes = Counter(note for entry in entries for note in dict.fromkeys(entry.record.notes))
    if notes:
        rows = [[note, *counts(count)] for note, count in notes.most_common(_NOTES)]
        left = f" {len(notes) - _NOTES} more are in the records." if len(notes) > _NOTES else ""
        caption = f"What the records say was assumed, inferred or left out, and of how many runs.{left}"
        parts.append(
            Table(("note", "runs"), rows, frozenset({"runs"}), "notes", "Notes and assumptions", caption, False)
        )
    return Section("provenance", "Provenance", tuple(parts))


# Files ----------------------------------------------------------------------------------------------------------------


#: What a report is written as, by the ending of the file.
FORMS: Mapping[str, Callable[[Report], str]] = {
    ".html": page,
    ".tex": latex,
    ".csv": tidy,
    ".md": markdown,
}


def write_report(
    sources: Any,
    to: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    problems: Sequence[str] = (),
    heuristics: Sequence[str] = (),
    title: str | None = None,
) -> list[str]:
    """Write a report on recorded gaps.

    Parameters
    ----------
    sources
        One or several: paths of JSON records (`optsched gap --format json`, also of `matrix` and `frontier`), stores of
        sweeps, or `GapReports`.
    to
        One or several files; their endings say how: `.html` (one page with pictures that needs no other file), `.tex`,
        `.md` (tables), `.csv` (a row a cell).
    problems, heuristics
        Only these; by default all.
    title
        Heading of the report.

    Returns
    -------
    list of str
        What should be known at once: runs that are recorded twice, several versions, pictures that are missing.

    Raises
    ------
    UsageError
        For an ending that is no form of a report, no source, or a problem or heuristic without a record.
    InputError
        For sources that cannot be read or hold something else, and files that cannot be written. Nothing is written
        then.

    Examples
    --------
    >>> import tempfile, optsched
    >>> found = optsched.study("papers/guo-table2", "fair-lsap", ["dl", "lsap-fair-sched"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes = write_report(found, f"{folder}/gaps.md")
    ...     text = Path(folder, "gaps.md").read_text()
    >>> notes, text.splitlines()[2]
    ([], '2 runs of 2 heuristics in 1 problem on 1 instance.')
    """
    targets = [os.fspath(to)] if isinstance(to, str | os.PathLike) else [os.fspath(one) for one in to]
    check_forms(targets)
    files = [GrowingFile(path) for path in targets]
    done = 0
    try:
        report, notes = built(read(sources), problems, heuristics, title)
        contents, missing = [], []
        for path in targets:
            form = FORMS[Path(path).suffix.lower()]
            if form is page:
                try:
                    require()
                except UsageError:
                    form = partial(page, pictures=False)
                    why = 'for which matplotlib is needed: pip install "optsched[plots]"'
                    missing.append(f"the page has no pictures, {why}")
            contents.append(form(report).encode("utf-8", "backslashreplace"))
        for file, content in zip(files, contents, strict=True):
            file.write(content)
        for file in files:
            file.finish()
            done += 1
    finally:
        for file in files[done:]:
            part = file.abandon()
            if part is not None and part.name.endswith(".partial"):
                part.unlink(missing_ok=True)
    return [*notes, *missing]


def check_forms(targets: Sequence[str]) -> None:
    """UsageError for a file whose ending is no form of a report, or one that is given twice."""
    if not targets:
        raise UsageError("a report is written to a file: --to FILE.html")
    lines = []
    for path in targets:
        suffix = Path(path).suffix.lower()
        if suffix not in FORMS:
            ends = f'ends in "{suffix}"' if suffix else "has no ending"
            lines.append(f"{path}: no form of a report {ends}; the name must end in {', '.join(FORMS)}")
    lines += [f"{path}: is given twice" for path in dict.fromkeys(targets) if targets.count(path) > 1]
    if lines:
        raise UsageError(*lines)
