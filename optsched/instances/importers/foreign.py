"""Shared by the importers: files with their faults, read as JSON objects or as lines of numbers, and their values.

Importers read what an import needs and ignore the rest of a file. Each importer (`rumen`, `sls`, `swim`, `dimacs`,
`orlib`) decides what to make of it.
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

#: The largest time or number of bytes that a double, and so an instance, represents exactly.
LARGEST = 2**53

#: The most bytes of text that are read, also when a small compressed file is unpacked.
LARGEST_TEXT = 2**31

#: Bytes of the instance format's unit of size.
BYTES_PER_MB = 10**6


@dataclass(frozen=True, slots=True)
class Location:
    """A host and its rack, None if only the bare host name was recorded."""

    host: str
    rack: str | None = None


#: A name in a file; the path of a host; and a time or a number of bytes, where -1 means unknown.
Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
Host = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_ID, pattern=r"[^/\\]", description="the name of a host or rack")
]
Amount = Annotated[int, Meta(ge=-1, le=LARGEST)]


class Foreign(Struct):
    """Base of JSON objects; other fields than its own are ignored. Null means not given; -1 becomes None."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) == -1:
                setattr(self, name, None)


Read = TypeVar("Read", bound=Foreign)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text format: its place (`line 3`), its words, and the faults of the file."""

    place: str
    words: tuple[str, ...]
    faults: list[Fault]

    def fault(self, message: str) -> None:
        """Add a fault of the line."""
        self.faults.append(Fault(self.place, message))

    def integer(self, at: int, noun: str, least: int = -LARGEST) -> int:
        """The whole number at a word; if it is none, or below `least`, a fault and 0."""
        word = self.words[at]
        digits = word.lstrip("+-0") or "0"  # Python would refuse thousands of zeros before a number
        if not _INTEGER.fullmatch(word):
            self.fault(f"{noun} must be a whole number, not {shown(word)}")
        elif len(digits) > _DIGITS or int(digits) > LARGEST:
            self.fault(f"{noun} {shown(word)} is past 2^53")
        elif (number := -int(digits) if word.startswith("-") else int(digits)) < least:
            self.fault(f"{noun} is {number}; it must be {least} or more")
        else:
            return number
        return 0


_INTEGER = re.compile(r"[+-]?[0-9]+")

#: Digits of 2^53; Python refuses to read numbers of thousands of them.
_DIGITS = 16


_DECODER = json.JSONDecoder(object_pairs_hook=json_object)
_SPACE = re.compile(r"[ \t\r\n]*")
#: The possible ends of a log that was cut within a literal or a number.
_CUT_WORD = re.compile(r"|t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|[eE][+-]?")


class ForeignFile:
    """A file of another tool: its text, `notes` on where it was cut, and the `faults` found so far.

    InputError if it cannot be read, is no text, or is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.source = os.fspath(path)
        self.notes: list[str] = []
        self._diagnosis = Diagnosis()
        self.faults = self._diagnosis.faults
        data = self._bytes()
        try:
            self.text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":
                raise self.refused(f"is no UTF-8 text ({error.reason})", f"byte {error.start}") from None
            self.text = data[: error.start].decode("utf-8-sig")

    def _bytes(self) -> bytes:
        """The content of a plain or gzipped file (recognised by content), with a note if compressed data are cut."""
        chunks = io.BytesIO()
        try:
            with open(self.source, "rb") as file:
                packed = file.read(2) == b"\x1f\x8b"
                file.seek(0)
                stream = gzip.GzipFile(fileobj=file) if packed else file
                while chunk := stream.read1(1 << 20):
                    chunks.write(chunk)
                    if chunks.tell() > LARGEST_TEXT:
                        limit = f"{LARGEST_TEXT >> 20} MiB"
                        raise self.refused(f"unpacks to more than {limit}; split it into smaller files")
        except EOFError:
            self.notes.append("the compressed data were cut before their end; what comes before is read")
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self.refused(f"the compressed data are damaged ({error})") from None
        except OSError as error:
            raise self.refused(f"cannot be read ({error.strerror or error})") from None
        return chunks.getvalue()

    def fault(self, place: str, message: str) -> None:
        """Add a fault at a place."""
        self.faults.append(Fault(place, message))

    def refused(self, message: str, place: str = "") -> InputError:
        """The error for a fault after which nothing more can be read."""
        self.fault(place, message)
        return InputError(self.faults, self.source)

    def whole(self) -> None:
        """A file that was cut is wrong."""
        self.faults += [Fault("", note) for note in self.notes]

    def end(self, found: object = True, missing: str = "") -> None:
        """Raise InputError if there are faults; if nothing was `found`, that is the fault."""
        if not found and not self.faults:
            self.fault("", missing)
        if self.faults:
            raise InputError(self.faults, self.source)

    def objects(self, noun: str) -> Iterator[Any]:
        """The JSON values of the text, one after the other, to its end, to where it was cut, or to a syntax fault."""
        text, number = self.text, 0
        position = _SPACE.match(text).end()  # type: ignore[union-attr]
        while position < len(text):
            number += 1
            try:
                value, position = _DECODER.raw_decode(text, position)
            except json.JSONDecodeError as error:
                if _is_cut(error, text):
                    self.notes.append(f"the file ends within {noun} {number}; the complete ones before it are kept")
                else:
                    where = f"line {error.lineno}, column {error.colno}"
                    self.fault(f"{noun} {number}", f"malformed JSON at {where}: {error.msg}")
                return
            except RecursionError:
                self.fault(f"{noun} {number}", "is nested too deeply for a Rumen file")
                return
            except ValueError as error:
                self.fault(f"{noun} {number}", f"holds a number that cannot be read ({error})")
                return
            yield value
            position = _SPACE.match(text, position).end()  # type: ignore[union-attr]

    def record(self, value: Any, kind: type[Read], place: str) -> Read:
        """The object of a JSON value, without faulty fields."""
        try:
            return cast("Read", self._diagnosis.record(value, kind, place))
        except RecursionError:
            self.fault(place, "is nested too deeply")
            return cast("Read", None)

    def records(self, noun: str, kind: type[Read]) -> Iterator[tuple[str, Read]]:
        """The objects of the text, each with its place (`job 3`)."""
        for number, value in enumerate(self.objects(noun), start=1):
            place = f"{noun} {number}"
            yield place, self.record(value, kind, place)

    def lines(self) -> list[Line]:
        """The lines with words; InputError if the file was cut."""
        if self.notes:
            raise self.refused("the compressed data were cut before their end")
        numbered = enumerate(self.text.split("\n"), start=1)
        found = (Line(f"line {number}", tuple(line.split()), self.faults) for number, line in numbered)
        return [line for line in found if line.words]


def _is_cut(error: json.JSONDecodeError, text: str) -> bool:
    """Whether more text could have mended a syntax fault: then the log was cut, and is not malformed."""
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith("Invalid \\u"):
        return len(text) - error.pos < 6
    rest = text[error.pos : error.pos + 16]
    return _CUT_WORD.fullmatch(rest.strip()) is not None and error.pos + len(rest) == len(text)


def parse_slots(slots: str | int, *words: str) -> str | int:
    """How many slots a node has: one of some words, or a number of at least 1, which may be text."""
    if isinstance(slots, str) and slots.isdecimal() and len(slots) < 16:
        slots = int(slots)
    if slots in words or (isinstance(slots, int) and not isinstance(slots, bool) and slots >= 1):
        return slots
    choices = ", ".join(f'"{word}"' for word in words)
    raise UsageError(f"slots must be {choices} or a number of at least 1, not {slots!r}")


def most_at_once(runs: Iterable[tuple[str, Location | None, int | None, int | None]]) -> dict[str, int]:
    """The most simultaneous runs (kind, where, start, end) of each kind on one host, without incompletely known runs.

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
    """The `start`, since `origin`, and the `duration` of a task, s, from times in ms; and oddities of these."""
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
    if "\\" in name:  # rare: a plain name needs no search
        name = re.sub(r"\\(.)", r"\1", name)
    return name.strip("/")


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


def stem(path: str | os.PathLike[str], suffixes: str, otherwise: str) -> str:
    """A file's name without the suffixes (joined by `|`), valid as the beginning of another file's name.

    >>> stem("data/FB-2009.tsv.gz", "tsv|gz", "swim")
    'FB-2009'
    """
    name = re.sub(rf"(\.({suffixes}))+$", "", os.path.basename(path))
    return re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII) or otherwise
