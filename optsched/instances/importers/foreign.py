"""Helpers of the importers: text of a file, JSON objects in it, records and their faults, lines of numbers.

Importers read what an import needs and ignore the rest of a file. Each importer (`rumen`, `sls`,
`swim`, `dimacs`, `orlib`) decides what is made of it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any, TypeVar, cast

from msgspec import Meta, Struct

from optsched.core.errors import Fault, InputError, UsageError
from optsched.instances.documents.diagnosis import Diagnosis, json_object, shown
from optsched.instances.documents.format import LONGEST_ID

#: The largest time or number of bytes that a double, and so an instance, holds exactly.
LARGEST = 2**53

#: Most bytes of text that are read, which also bounds what a small compressed file may unpack to.
LARGEST_TEXT = 2**31

#: Bytes of the instance format's unit of size.
BYTES_PER_MB = 10**6


@dataclass(frozen=True, slots=True)
class Location:
    """A host and the rack it stands in, None where only the bare host name was recorded."""

    host: str
    rack: str | None = None


def read_text(path: str | os.PathLike[str]) -> tuple[str, list[str]]:
    """The text of a plain or gzipped file (recognised by content), and a note where its compressed data are cut."""
    notes = []
    chunks = io.BytesIO()
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            stream = gzip.GzipFile(fileobj=file) if packed else file
            while chunk := stream.read1(1 << 20):
                chunks.write(chunk)
                if chunks.tell() > LARGEST_TEXT:
                    limit = f"unpacks to more than {LARGEST_TEXT >> 20} MiB; split it into smaller files"
                    raise InputError([Fault("", limit)], str(path))
    except EOFError:
        notes.append("the compressed data were cut before their end; what comes before is read")
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError([Fault("", f"the compressed data are damaged ({error})")], str(path)) from None
    except OSError as error:
        raise InputError([Fault("", f"cannot be read ({error.strerror or error})")], str(path)) from None
    data = chunks.getvalue()
    try:
        return data.decode("utf-8-sig"), notes
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8-sig"), notes
        raise InputError([Fault(f"byte {error.start}", f"is no UTF-8 text ({error.reason})")], str(path)) from None


_DECODER = json.JSONDecoder(object_pairs_hook=json_object)
_SPACE = re.compile(r"[ \t\r\n]*")
#: The possible ends of a log that was cut within a literal or a number.
_CUT_WORD = re.compile(r"|t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|[eE][+-]?")


def json_objects(text: str, noun: str, faults: list[Fault], notes: list[str]) -> Iterator[Any]:
    """The JSON values of a text, one after the other, up to its end, to where it was cut, or to a syntax fault."""
    position, number = _SPACE.match(text).end(), 0  # type: ignore[union-attr]
    while position < len(text):
        number += 1
        try:
            value, position = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            if _is_cut(error, text):
                notes.append(f"the file ends within {noun} {number}; the complete ones before it are kept")
            else:
                where = f"line {error.lineno}, column {error.colno}"
                faults.append(Fault(f"{noun} {number}", f"malformed JSON at {where}: {error.msg}"))
            return
        except RecursionError:
            faults.append(Fault(f"{noun} {number}", "is nested too deeply for a Rumen file"))
            return
        except ValueError as error:
            faults.append(Fault(f"{noun} {number}", f"holds a number that cannot be read ({error})"))
            return
        yield value
        position = _SPACE.match(text, position).end()  # type: ignore[union-attr]


def _is_cut(error: json.JSONDecodeError, text: str) -> bool:
    """Whether more text could have mended a syntax fault: then the log was cut, and is not malformed."""
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith("Invalid \\u"):
        return len(text) - error.pos < 6
    rest = text[error.pos : error.pos + 16]
    return _CUT_WORD.fullmatch(rest.strip()) is not None and error.pos + len(rest) == len(text)


def parse_slots(slots: str | int, *words: str) -> str | int:
    """How many slots a node has: one of some words, or a number of at least 1, which may be given as text."""
    if isinstance(slots, str) and slots.isdecimal() and len(slots) < 16:
        slots = int(slots)
    if slots in words or (isinstance(slots, int) and not isinstance(slots, bool) and slots >= 1):
        return slots
    choices = ", ".join(f'"{word}"' for word in words)
    raise UsageError(f"slots must be {choices} or a number of at least 1, not {slots!r}")


def most_at_once(runs: Iterable[tuple[str, Location | None, int | None, int | None]]) -> dict[str, int]:
    """For each kind of runs (kind, where, start, end) the most at once on one host; a run not known whole is left out.

    >>> most_at_once([("map", Location("h"), 0, 5), ("map", Location("h"), 4, 9), ("map", Location("h"), 9, None)])
    {'map': 2}
    """
    events: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for kind, where, start, end in runs:
        if where is not None and start is not None and end is not None and start <= end:
            # At equal times an end sorts before a start: one slot may have served both.
            events[kind, where.host] += [(start, 1), (end, -1)]
    most: dict[str, int] = {}
    for (kind, _), of_host in events.items():
        most[kind] = max(most.get(kind, 0), *accumulate(change for _, change in sorted(of_host)))
    return most


def timed(
    start: int | None, end: int | None, submit: int | None, origin: int | None
) -> tuple[dict[str, float], list[str]]:
    """The `start`, since `origin`, and the `duration` of a task, s, given times in ms; and what is odd in these."""
    record, odd = {}, []
    if start is not None and origin is not None:
        if start < (origin if submit is None else submit):
            odd.append("started before their job; start left out")
        else:
            record["start"] = (start - origin) / 1000
    if start is not None and end is not None:
        if start <= end:
            record["duration"] = (end - start) / 1000
        else:
            odd.append("ended before they started; duration left out")
    return record, odd


def unescaped(name: str) -> str:
    r"""A host or rack name without the backslashes of a regular expression, and without slashes at its ends.

    >>> unescaped(r"194\.6\.129\.64")
    '194.6.129.64'
    """
    if "\\" in name:  # seldom: a plain name costs no search
        name = re.sub(r"\\(.)", r"\1", name)
    return name.strip("/")


#: A name in a file; the path of a host; and a time or a number of bytes, where -1 is unknown.
Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
Host = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_ID, pattern=r"[^/\\]", description="the name of a host or rack")
]
Amount = Annotated[int, Meta(ge=-1, le=LARGEST)]


class Foreign(Struct):
    """Base of JSON objects; other fields than its own are ignored. Null is as if not given; -1 becomes None."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) == -1:
                setattr(self, name, None)


Read = TypeVar("Read", bound=Foreign)


def read_record(value: Any, kind: type[Read], place: str, faults: list[Fault]) -> Read:
    """The object that a JSON value is, without the fields that are faulty; these are added to `faults`.

    >>> class Job(Foreign):
    ...     id: Name
    ...     submit: Amount | None = None
    >>> faults = []
    >>> read_record({"id": "j", "submit": -2, "more": 1}, Job, "job 1", faults), faults[0].message
    (Job(id='j', submit=None), 'expected an integer, 0 or more, or -1 where it is unknown, got -2')
    """
    diagnosis, found = Diagnosis(), cast("Read", None)
    try:
        found = diagnosis.record(value, kind, place)
    except RecursionError:
        faults.append(Fault(place, "is nested too deeply"))
    faults += diagnosis.faults
    return found


def located(path: Sequence[str]) -> Location:
    """A host by its racks, if any, and its name."""
    *racks, host = map(unescaped, path)
    return Location(host, "/".join(filter(None, racks)) or None)


def located_at(path: str) -> Location:
    """A host by its path (`/rack/host`), or by its bare name.

    >>> located_at("/r1/h1"), located_at("h1").rack
    (Location(host='h1', rack='r1'), None)
    """
    return located(path.strip("/").split("/"))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text format: its number from 1, and its words."""

    number: int
    words: tuple[str, ...]

    @property
    def place(self) -> str:
        """The place for faults."""
        return f"line {self.number}"

    def integer(self, at: int, noun: str, faults: list[Fault], least: int = -LARGEST) -> int:
        """The whole number that a word is; if it is none, or below `least`, a fault and 0."""
        word = self.words[at]
        digits = word.lstrip("+-0") or "0"  # of thousands of zeros before a number Python would complain
        if not _INTEGER.fullmatch(word):
            faults.append(Fault(self.place, f"{noun} must be a whole number, not {shown(word)}"))
        elif len(digits) > _DIGITS or int(digits) > LARGEST:
            faults.append(Fault(self.place, f"{noun} {shown(word)} is past 2^53"))
        elif (number := -int(digits) if word.startswith("-") else int(digits)) < least:
            faults.append(Fault(self.place, f"{noun} is {number}; it must be {least} or more"))
        else:
            return number
        return 0


_INTEGER = re.compile(r"[+-]?[0-9]+")

#: Digits of 2^53; Python refuses to read numbers of thousands of them.
_DIGITS = 16


def lines_of(path: str | os.PathLike[str]) -> list[Line]:
    """The lines of a plain or gzipped text file that hold words; InputError if it is no text, damaged or cut."""
    text, notes = read_text(path)
    if notes:
        raise InputError([Fault("", "the compressed data were cut before their end")], os.fspath(path))
    numbered = (Line(number, tuple(line.split())) for number, line in enumerate(text.split("\n"), start=1))
    return [line for line in numbered if line.words]


def stem(path: str | os.PathLike[str], suffixes: str, otherwise: str) -> str:
    """A file's name without the suffixes (joined by `|`), fit to begin another file's name.

    >>> stem("data/FB-2009.tsv.gz", "tsv|gz", "swim")
    'FB-2009'
    """
    name = re.sub(rf"(\.({suffixes}))+$", "", os.path.basename(path))
    return re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII) or otherwise
