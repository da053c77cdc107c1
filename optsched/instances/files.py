"""Instance and network files: `load`, `save`, and the same from and to documents and text.

Three kinds of file have the same content: `.json` (for people), `.json.gz` and `.npz` (columns, for size and speed).
Text is first decoded directly into typed records. After a fault or a doubt `diagnosis` reads it again, slowly, and
lists every fault. `documents.format` defines the contents of a document.
"""

from __future__ import annotations

import gc
import gzip
import io
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from optsched.core import kinds
from optsched.core.arrays import LARGEST
from optsched.core.errors import Fault, InputError, expect, nearest
from optsched.core.instance import Instance
from optsched.core.network import FlowNetwork
from optsched.instances.documents import storing
from optsched.instances.documents.columns import Reading, header_of, to_arrays, to_document, to_noun
from optsched.instances.documents.diagnosis import Diagnosis, decode, key_places
from optsched.instances.documents.format import HEADER, INSTANCE, NETWORK, InstanceDocument, NetworkDocument
from optsched.instances.documents.storing import (
    LARGEST_FILE,
    LARGEST_RATIO,
    LARGEST_UNPACKED,
    SUFFIXES,
    TABLE_SUFFIXES,
    content,
    most_unpacked,
    write_whole,
)

__all__ = [
    "LARGEST_FILE",
    "LARGEST_RATIO",
    "LARGEST_UNPACKED",
    "content",
    "from_document",
    "load",
    "most_unpacked",
    "parse",
    "save",
    "to_document",
    "to_json",
]

#: The most names that a message suggests.
_NAMES_SHOWN = 8

_DECODER = msgspec.json.Decoder(InstanceDocument | NetworkDocument)
_ENCODER = msgspec.json.Encoder()


def load(
    path: str | os.PathLike[str] | Mapping[str, Any],
) -> Instance | Any:  # the caller who names a network knows that it is one
    """Read an instance or a flow network; its own `format` says which.

    Parameters
    ----------
    path
        A `.json`, `.json.gz` or `.npz` file; a name of the library (`papers/guo-fig2`, or only `guo-fig2`) if no file
        has it; or the content of a JSON file as a dictionary (`json.load`), which is neither kept nor changed. Or
        tables: a folder with `tasks.csv` and `nodes.csv` (or `.parquet`), or the file with the tasks
        (`optsched.instances.frames`).

    Raises
    ------
    InputError
        If the file is missing, unreadable, of an unknown kind, too large (`LARGEST_FILE`, `LARGEST_UNPACKED`), or
        faulty; lists every fault with its place.

    Examples
    --------
    >>> print(load("papers/guo-fig2"))
    guo-fig2: 3 tasks, 3 nodes
    >>> print(load({"format": "optsched/1", "nodes": [{"id": "a"}], "tasks": [{"id": "t", "replicas": ["a"]}]}))
    instance: 1 tasks, 1 nodes
    """
    expect(path, (str, os.PathLike, Mapping), "load takes a path, a name of the library, or a dictionary")
    if isinstance(path, Mapping):
        return from_document(path)
    source = os.fspath(path)
    with kinds.expected(source, kinds.INSTANCE, (kinds.INSTANCE, kinds.NETWORK, kinds.TASKS, kinds.NODES)):
        if source.endswith(TABLE_SUFFIXES) or os.path.isdir(source):
            frames = import_module("optsched.instances.frames")
            tasks = frames.tasks_table(source)
            if tasks is not None:
                found: Instance = frames.load_tables(tasks)
                return found
        if not source.endswith(SUFFIXES):
            path = _of_library(source)
            source = os.fspath(path)
        data = _bytes(Path(path), source)
        if _suffix(source) != ".npz":
            return parse(data, source)
        try:
            return _from_archive(data)
        except InputError as error:
            raise error.with_source(source) from None


def _of_library(name: str) -> str | Path:
    """The file of a library entry, by its whole name or its last part; the name itself if such a file exists.

    The caller then refuses that file, since its suffix is of no known kind.
    """
    # Functions of `os.path` return False for a text that cannot be a path (too long, a NUL): then it is a name.
    if os.path.isdir(name):
        raise InputError([Fault("", f"is a folder; name its files: {name.rstrip('/')}/*.json")], name)
    if os.path.exists(name):
        return name
    from optsched.instances.library import fitting, library

    found = fitting(name)
    if len(found) > 1:
        shown = ", ".join(entry.name for entry in found[:_NAMES_SHOWN]) + ", ..." * (len(found) > _NAMES_SHOWN)
        message = f"fits {len(found)} instances of the library, and one is needed: {shown}"
        raise InputError([Fault("", message)], name)
    if not found:
        hint = nearest(name, list(library()))
        hint_text = hint if hint.startswith("did") else "optsched list instances"
        raise InputError([Fault("", f"there is no such file, and no such instance in the library; {hint_text}")], name)
    return found[0].path


def save(noun: Instance | FlowNetwork, path: str | os.PathLike[str]) -> None:
    """Write an instance or a flow network: the whole file or none, and the same bytes for the same content.

    The name of the file ends in `.json`, `.json.gz` or `.npz`; an existing file is replaced. InputError if the name
    ends otherwise, or the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(load("papers/guo-fig2"), f"{folder}/copy.json.gz")
    ...     print(load(f"{folder}/copy.json.gz"))
    guo-fig2: 3 tasks, 3 nodes
    """
    expect(noun, (Instance, FlowNetwork), "save takes an instance or a flow network")
    expect(path, (str, os.PathLike), "save takes a path")
    source = os.fspath(path)
    suffix = _suffix(source)
    if suffix == ".npz":
        data = storing.pack(msgspec.json.encode(header_of(noun)), to_arrays(noun))
    else:
        data = to_json(noun)
        if suffix == ".json.gz":
            packed = gzip.compress(data, compresslevel=6, mtime=0)
            if len(data) > most_unpacked(packed):
                raise InputError([Fault("", "is so uniform that it packs like a bomb; save it as .npz")], source)
            data = packed
    write_whole(source, data)


def _suffix(source: str) -> str:
    for suffix in SUFFIXES:
        if source.endswith(suffix):
            return suffix
    raise InputError(
        [Fault("", f"unknown kind of file; the name must end in {', '.join((*SUFFIXES, *TABLE_SUFFIXES))}")], source
    )


def _bytes(path: Path, source: str) -> bytes:
    """The content of a file, unpacked if it is a `.json.gz`."""
    suffix = _suffix(source)
    data = content(path)
    if suffix != ".json.gz":
        return data
    most = most_unpacked(data)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            unpacked = packed.read(most + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError([Fault("", f"is no sound gzip file: {error}")], source) from None
    if len(unpacked) > most:
        raise InputError([Fault("", f"unpacks to more than {most} bytes; so much is not read")], source)
    return unpacked


def _from_archive(data: bytes) -> Instance | FlowNetwork:
    arrays = storing.read_arrays(data, most_unpacked(data))
    document = decode(storing.header_text(arrays, INSTANCE))
    if isinstance(document, dict):
        for table in ("nodes", "arcs" if document.get("format") == NETWORK else "tasks"):
            document.setdefault(table, [])
    try:
        header = from_document(document)
    except InputError as error:
        raise InputError(
            [Fault(f"header.{fault.place}".rstrip("."), fault.message) for fault in error.faults]
        ) from None
    if any(value and isinstance(value, list) for value in document.values()):
        raise InputError([Fault("header", "holds records; in an archive they belong in columns")])
    fields = {name: getattr(header, name) for name in HEADER}
    if isinstance(header, Instance):
        fields |= {"time": header.time, "parameters": header.parameters, "topology": header.cluster.topology}
    return to_noun(arrays, fields, isinstance(header, Instance))


# Documents and text ---------------------------------------------------------------------------------------------------


def parse(text: bytes | str, source: str = "") -> Instance | Any:
    """An instance or a flow network from JSON text; `source` names it in messages.

    InputError lists every fault with its place.

    >>> print(parse('{"format": "optsched/1", "nodes": [{"id": "n1"}], "tasks": []}'))
    instance: 0 tasks, 1 nodes
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    with _collector_paused():
        try:
            document = _DECODER.decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return _diagnosed(decode(data, source), source)
        if _doubtful(document, data):
            return _diagnosed(decode(data, source), source)
        return Reading(source=source).noun(document)


def from_document(document: Mapping[str, Any], source: str = "") -> Instance | Any:
    """An instance or a flow network from a document of plain Python objects, as `json.loads` would give it.

    Nothing in it is kept or changed. InputError lists every fault with its place, after the name `source`.
    """
    with _collector_paused():
        try:
            typed = msgspec.convert(document, InstanceDocument | NetworkDocument)
        except (msgspec.MsgspecError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            return _diagnosed(document, source)
        return _diagnosed(document, source) if _doubtful(typed) else Reading(source=source).noun(typed)


def to_json(noun: Instance | FlowNetwork) -> bytes:
    """The JSON text of an instance or a network: one record a line, the same bytes for the same content."""
    parts = [b'"%s": %s' % (key.encode(), _laid_out(value)) for key, value in to_document(noun).items()]
    return b"{" + b",\n".join(parts) + b"}\n"


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause Python's cyclic garbage collector: millions of new records have no cycles, and it would double the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _doubtful(document: InstanceDocument | NetworkDocument, text: bytes | None = None) -> bool:
    """Whether msgspec may have decoded something else than the text says, so that a closer look is needed.

    A number may have been rounded to 2^53, and NumPy drops a NUL from the end of a string. Text with a duplicate key
    has more keys than the document. Strings may look like keys, but do so in both, unless characters are escaped
    unnecessarily.
    """
    try:
        again = _ENCODER.encode(document)
    except (TypeError, ValueError, RecursionError):  # `parameters` have something that JSON lacks
        return True
    if b"%d" % LARGEST in again or b"\\u00" in again:
        return True
    return text is not None and (b"\\u00" in text or key_places(text) != key_places(again))


def _diagnosed(value: Any, source: str) -> Instance | FlowNetwork:
    """The content of a document after a closer look; raises `InputError` with all faults if there are any."""
    diagnosis = Diagnosis()
    document = diagnosis.document(value, source)
    return Reading(diagnosis.faults, diagnosis.malformed, source).noun(document)


def _laid_out(value: Any) -> bytes:
    """JSON text with one record or matrix row on each line."""
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return b"[\n  " + _ENCODER.encode_lines(value).rstrip(b"\n").replace(b"\n", b",\n  ") + b"]"
    if isinstance(value, dict) and any(isinstance(entry, dict | list) for entry in value.values()):
        return b"{" + b", ".join(_ENCODER.encode(key) + b": " + _laid_out(entry) for key, entry in value.items()) + b"}"
    return _ENCODER.encode(value)
