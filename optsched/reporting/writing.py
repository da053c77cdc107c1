"""Reports are written: every form is made before anything is written, and each file is whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from optsched.errors import UsageError
from optsched.instances.documents.writing import GrowingFile
from optsched.reporting.building import built
from optsched.reporting.documents import Report, latex, markdown, tidy
from optsched.reporting.page import page
from optsched.reporting.reading import read

__all__ = ["FORMS", "check_forms", "write_report"]

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
        For an ending that is no form of a report, no source, or a problem or heuristic of which there is no record.
    InputError
        For sources that cannot be read or hold something else, and files that cannot be written. Nothing is written
        then.

    Examples
    --------
    >>> import tempfile, optsched
    >>> found = optsched.study("papers/guo-table2", "fair-lsap", ["dl", "lsap-fair-sched"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = write_report(found, f"{folder}/gaps.md")
    ...     text = Path(folder, "gaps.md").read_text()
    >>> told, text.splitlines()[2]
    ([], '2 runs of 2 heuristics in 1 problem on 1 instance.')
    """
    targets = [os.fspath(to)] if isinstance(to, str | os.PathLike) else [os.fspath(one) for one in to]
    check_forms(targets)
    files = [GrowingFile(path) for path in targets]
    done = 0
    try:
        report, told = built(read(sources), problems, heuristics, title)
        contents, missing = _contents(report, targets)
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
    return [*told, *missing]


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


def _contents(report: Report, targets: Sequence[str]) -> tuple[list[bytes], list[str]]:
    """What goes into each file, and what is missing in it."""
    contents, missing = [], []
    for path in targets:
        form = FORMS[Path(path).suffix.lower()]
        if form is page and not _drawable():
            text = page(report, pictures=False)
            missing.append('the page has no pictures, for which matplotlib is needed: pip install "optsched[plots]"')
        else:
            text = form(report)
        contents.append(text.encode("utf-8", "backslashreplace"))
    return contents, missing


def _drawable() -> bool:
    from optsched.drawing.figures import require

    try:
        require()
    except UsageError:
        return False
    return True
