"""Files to read: a sound one of each format that others publish, hostile ones, and what a reader makes of them."""

import random
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from optsched.core.errors import InputError, UsageError, printable
from optsched.instances.files import from_document, load
from optsched.instances.importers import Imported

DIMACS = "c a comment\np min 3 3\nn 1 4\nn 3 -4\n\na 1 2 0 4 2\na 1 2 1 3 -5\na 2 3 0 5 08\n"


GAP = "2 3\n 4 5 6\n 7 8 9\n 1 1 2\n 2 1 1\n 3 2\n"


ASSIGN = "2\n 4 1\n 2 3\n"


SLS = (
    '{"job.id": "j1", "job.start.ms": 1000, "job.queue.name": "q1", "job.tasks": ['
    '{"container.host": "/r1/h1", "container.start.ms": 1500, "container.end.ms": 4000, "container.type": "map"},'
    '{"container.host": "/r1/h2", "container.start.ms": 1500, "container.end.ms": 4000, "container.type": "map"}]}\n'
    '{"job.id": "j2", "job.start.ms": 3000, "job.queue.name": "q2", "job.tasks": ['
    '{"container.host": "/r1/h1", "container.start.ms": 3500, "container.end.ms": 5000, "container.type": "map"},'
    '{"container.host": "/r1/h1", "container.start.ms": 4000, "container.end.ms": 6000, "container.type": "reduce"}]}\n'
)


NODES = '{"rack": "r1", "nodes": [{"node": "h1", "memory-mb": 2048, "vcores": 6}, {"node": "h2"}]}\n'


QUEUES = (
    '<?xml version="1.0"?><allocations><queue name="q1"><weight>0.25</weight>'
    '<queue name="inner"><weight>3</weight></queue></queue><pool name="q2"/></allocations>'
)


SWIM = "job0\t5\t5\t200000000\t1000000\t0\njob1\t9\t4\t0\t0\t7\njob2\t9\t0\t0\t0\t0\n"


def noun(imported: Imported) -> Any:
    """The instance or network that the one document is."""
    (document,) = imported.documents
    return from_document(document)


def faults(importer: Callable[..., Imported], *paths: Path) -> list[str]:
    """Every fault that an importer tells of."""
    with pytest.raises(InputError) as caught:
        importer(*paths)
    assert caught.value.source == str(paths[-1])
    return [str(fault) for fault in caught.value.faults]


def told_of(read: Callable[[], object]) -> str:
    """What a reader tells of its input, empty where it takes it; fails on any other error, and on unprintable lines."""
    began = time.process_time()
    raised: Exception | None = None
    try:
        read()
    except (InputError, UsageError) as error:
        raised = error
    assert time.process_time() - began < 10  # a second would do: this finds what never ends
    text = "" if raised is None else str(raised)
    assert text or raised is None
    assert not isinstance(raised, InputError) or raised.faults
    assert all(line.isprintable() for line in text.split("\n")), text
    return text


def cut(found: Iterable[object], begins: Sequence[str]) -> list[str]:
    """The texts of what was found, each cut to the length of how it should begin; as many are to be found."""
    return [str(one)[: len(begin)] for one, begin in zip(found, begins, strict=True)]


#: What replaces a word of a text, or is put between two: numbers that are none, too large, too long; names; structure.
HOSTILE_WORDS = (
    *("-1", "0", "1e400", "1e999999999999999999", "-1e99999999999999999999", "1e-999999999999999999999", "9" * 5000),
    *("9007199254740993", "4611686018427387904", "-9223372036854775809", "0x10", "1_000", "1.", ".5", "+5", "NaN"),
    *("-Infinity", "nan", "inf", "true", "null", '""', '"\x1b[2J"', '"\\u001b[2J"', '"\\u0000"', '"\\ud800"', "\u0661"),
    *('"\u202e"', "[]", "{}", "[[[[1]]]]", "[" * 5000, '{"a":' * 5000, "a" * 5000),
    *("\x00", "\x85", "\u2028", "\x0c", "#"),
    *("<!DOCTYPE a [<!ENTITY b 'b'>]>&b;", "2026-11-22T00:00:00Z", "24:00:00", "'''", "=", ",", "1/0", "1/3"),
)


def hostile(text: str, rng: random.Random) -> bytes:
    """A text in which a few words were replaced, removed, doubled, exchanged or cut off, or bytes were changed."""
    words = _words(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, how = rng.randrange(len(words)), rng.randrange(7)
        if how <= 2:
            words[at] = rng.choice(HOSTILE_WORDS)
        elif how == 3:
            words[at] = ""
        elif how == 4:
            words[at] += " " + words[rng.randrange(len(words))]
        elif how == 5:
            words = words[: at + 1]
        else:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
    data = bytearray("".join(words).encode("utf-8", "surrogatepass"))
    if rng.random() < 0.2 and data:
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _words(text: str) -> list[str]:
    """Strings, numbers and single characters, which put together are the text."""
    words, at = [], 0
    while at < len(text):
        end = at + 1
        if text[at] == '"':
            end = text.find('"', end) + 1 or len(text)
        while text[at] != '"' and text[at].isalnum() and end < len(text) and (text[end].isalnum() or text[end] in ".-"):
            end += 1
        words.append(text[at:end])
        at = end
    return words


def changed_bytes(rng: random.Random, data: bytes) -> bytes:
    """Bytes that were cut short, flipped, repeated, removed, or put before or after others."""
    how, cut = rng.randrange(6), rng.randrange(len(data))
    if how == 0:
        return data[:cut]
    if how == 1:
        flipped = bytearray(data)
        for _ in range(rng.choice([1, 1, 3, 30])):
            flipped[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(flipped)
    if how == 2:
        return data[:cut] + data[max(0, cut - 20) :]
    if how == 3:
        return data[:cut] + data[cut + rng.randrange(1, 20) :]
    if how == 4:
        return rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"x", b"[", b" " * 10]) + data
    return data + rng.choice([b"\0", b"}", b"x", data, rng.randbytes(50)])


def outcome(path: Path) -> str:
    """`loaded`, or what is told of an instance's file: lines that begin with its name, none of them long."""
    message = told_of(lambda: load(path))
    name = printable(str(path))
    assert not message or all(
        line.startswith(name) and 2 < len(line) - len(name) < 1000 for line in message.split("\n")
    )
    return message or "loaded"
