"""Instances and networks from and to documents and JSON text.

Text is first decoded straight into typed records; where that meets a fault or a doubt, `diagnosis` reads it again,
slowly, and lists every fault. What a document may say is in `format`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from optsched.core.arrays import LARGEST
from optsched.core.instance import Instance
from optsched.core.network import FlowNetwork
from optsched.instances.documents.columns import Reading, to_document
from optsched.instances.documents.diagnosis import Diagnosis, decode, key_places
from optsched.instances.documents.format import InstanceDocument, NetworkDocument

_DECODER = msgspec.json.Decoder(InstanceDocument | NetworkDocument)
_ENCODER = msgspec.json.Encoder()


def parse(text: bytes | str, source: str = "") -> Instance | Any:
    """An instance or a flow network from JSON text; `source` names it in messages.

    InputError lists everything that is wrong with its place.

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

    Nothing in it is kept or changed. InputError lists everything that is wrong with its place, after the name `source`.
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
    """Pause Python's search for cycles: millions of fresh records have none, and the search would double the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _doubtful(document: InstanceDocument | NetworkDocument, text: bytes | None = None) -> bool:
    """Whether what msgspec decoded may be something else than what stands in its text, so that a closer look is due.

    A number may have been rounded to 2^53, and NumPy drops a NUL from the end of a string. Text in which a key is
    doubled has more keys than the document. Strings may look like keys, but do so in both, unless characters are
    escaped otherwise than they must be.
    """
    try:
        again = _ENCODER.encode(document)
    except (TypeError, ValueError, RecursionError):  # something in `parameters` that JSON has not
        return True
    if b"%d" % LARGEST in again or b"\\u00" in again:
        return True
    return text is not None and (b"\\u00" in text or key_places(text) != key_places(again))


def _diagnosed(value: Any, source: str) -> Instance | FlowNetwork:
    """What a document says after a closer look; raises `InputError` with all faults if there are any."""
    diagnosis = Diagnosis()
    document = diagnosis.document(value, source)
    return Reading(diagnosis.faults, diagnosis.malformed, source).noun(document)


def _laid_out(value: Any) -> bytes:
    """JSON text with one record or matrix row a line."""
    if isinstance(value, list) and value and isinstance(value[0], dict | list):
        return b"[\n  " + _ENCODER.encode_lines(value).rstrip(b"\n").replace(b"\n", b",\n  ") + b"]"
    if isinstance(value, dict) and any(isinstance(entry, dict | list) for entry in value.values()):
        return b"{" + b", ".join(_ENCODER.encode(key) + b": " + _laid_out(entry) for key, entry in value.items()) + b"}"
    return _ENCODER.encode(value)
