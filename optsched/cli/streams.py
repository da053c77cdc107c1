"""Writes results as they come (tables, CSV, JSON), to stdout or a file, so that no finished result is lost.

A complete file takes its place. What was cut short stays next to it, under a name that says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from optsched.cli import arguments
from optsched.core.fingerprint import code_version
from optsched.measuring.printing import Progress, progress, to_csv, to_json

if TYPE_CHECKING:
    from optsched.heuristics import Heuristic
    from optsched.instances.documents.writing import GrowingFile
    from optsched.problems.base import TaskProblem

__all__ = [
    "AtEnd",
    "Records",
    "Sink",
    "Write",
    "collected",
    "destination",
    "drawn",
    "gap_records",
    "picturing",
    "pour",
    "replacing",
]

Entry = TypeVar("Entry", contravariant=True)
Measured = TypeVar("Measured")

#: Puts out a text, at once.
Write = Callable[[str], None]


@contextmanager
def destination(output: str | None) -> Iterator[Write]:
    """Where data go: stdout, or a file (`replacing`)."""
    if output is not None:
        with replacing(output) as file:
            yield lambda text: file.write(text.encode("utf-8", "backslashreplace"))
        return
    stdout = sys.stdout

    def write(text: str) -> None:
        stdout.write(text)
        stdout.flush()

    yield write


def drawn(output: str | None) -> bool:
    """Whether a table goes to a terminal that can draw lines."""
    return output is None and sys.stdout.isatty() and (sys.stdout.encoding or "").lower().startswith("utf")


@contextmanager
def replacing(output: str) -> Iterator[GrowingFile]:
    """The successor of the file `output`, which takes its place at the end; a message says if there is none.

    InputError if the file cannot be written: before anything is done, or when it is.
    """
    from optsched.instances.documents.writing import GrowingFile

    file = GrowingFile(output)
    try:
        yield file
    except BaseException:
        kept = file.abandon()
        if kept is not None:
            arguments.note(f"{output} is not written; what was finished is in {kept}", "warning")
        raise
    file.finish()


@contextmanager
def picturing(path: str | None) -> Iterator[Callable[..., None]]:
    """Draws into a file (`replacing`) by the name of a function of `optsched.showing`; without one nothing is drawn."""
    with nullcontext() if path is None else replacing(path) as file:

        def draw(name: str, *of: Any) -> None:
            if path is not None and file is not None:
                from optsched import showing
                from optsched.showing.figures import check_kind

                file.write(showing.picture(getattr(showing, name)(*of), check_kind(path)))

        yield draw


class Sink(Protocol[Entry]):
    """Puts out entries one by one; `close` makes what there is by then whole."""

    def add(self, entry: Entry, /) -> None: ...

    def close(self) -> None: ...


def pour(entries: Iterable[Entry], sink: Sink[Entry], step: Progress, total: str) -> list[Entry]:
    """Put out entries as they come, and return them; where they break off, what there is by then is whole.

    `step` is the progress to put out of the way; `total` how many there are to be, in words: for the message after
    Ctrl-C.
    """
    done: list[Entry] = []
    try:
        for entry in entries:
            done.append(entry)
            with step.aside():
                sink.add(entry)
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        if done or interrupted:  # an error before the first row is printed alone
            with step.aside():
                sink.close()
        if interrupted:
            arguments.note(f"interrupted after {len(done)} {total}", "warning")
        raise
    with step.aside():
        sink.close()
    return done


def collected(
    measure: Callable[[Progress], Iterable[Measured]],
    sink: Callable[[Write], Sink[Measured]],
    output: str | None,
    total: str,
    steps: int | None = None,
) -> list[Measured]:
    """What is measured, put out as it comes into the file `output`, or on stdout.

    `measure` makes the entries with a function that reports each step, `sink` what puts them out. `total` and `steps`
    are how many there are to be: in words, and as a number where it is known.
    """
    with destination(output) as write:
        held = sink(write)
        # What a user's heuristic prints must not come between the data.
        with progress(sys.stderr, steps) as step, redirect_stdout(sys.stderr):
            return pour(measure(step), held, step, total)


class AtEnd:
    """Keeps entries, and puts out the text that they make once there are no more."""

    def __init__(self, write: Write, text: Callable[[list[Any]], str]) -> None:
        self._write, self._text = write, text
        self._entries: list[Any] = []

    def add(self, entry: Any) -> None:
        """One more."""
        self._entries.append(entry)

    def close(self) -> None:
        """There are no more."""
        if text := self._text(self._entries):
            self._write(text)


class Records:
    """Puts out records one by one, as CSV or as a list in JSON; `close` makes what there is by then valid.

    `fields` are the columns of CSV; None: those of the first record. `record` makes the record of an entry.
    """

    def __init__(
        self, form: str, write: Write, fields: Sequence[str] | None, record: Callable[[Any], Mapping[str, Any]] = dict
    ) -> None:
        self._form, self._write, self._fields, self._record = form, write, fields, record
        self._count = 0

    def add(self, entry: Any) -> None:
        """The record of one more entry."""
        record = self._record(entry)
        if self._form == "csv":
            self._write(to_csv([record], self._fields, header=not self._count))
        else:
            # As `to_json` writes the list: what stands between its brackets.
            text = to_json([record]).removeprefix("[\n").removesuffix("\n]\n")
            self._write((",\n" if self._count else "[\n") + text)
        self._count += 1

    def close(self) -> None:
        """There are no more."""
        if self._form == "json":
            self._write("\n]\n" if self._count else "[]\n")
        elif not self._count and self._fields is not None:
            self._write(to_csv([], self._fields))


def gap_records(
    form: str,
    write: Write,
    problems: Iterable[TaskProblem[Any]],
    heuristics: Iterable[Heuristic],
    record: Callable[[Any], Mapping[str, Any]],
    further: Sequence[str] = (),
    placements: bool = False,
) -> Records:
    """Records of gaps in some problems, with the version before each and `further` fields after them."""
    from optsched.measuring.records import record_fields

    policies = any(entry.online for entry in heuristics)
    fields = record_fields(problems, policies=policies, placements=placements)
    names = ["version", *fields, *further]
    return Records(form, write, names, lambda entry: {"version": code_version(), **record(entry)})
