"""Recognises kinds of files by their first bytes, and names the command for each, for error messages; reads TOML.

Other tools' formats are here, too, as far as they can be recognised. `importers` read them.
"""

from __future__ import annotations

import gzip
import os
import re
import tomllib
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optsched.core.errors import Fault, InputError

#: How many bytes from the start of a file are read to recognise it.
_READ = 65536


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: its name with its article (`a solution`), what to do with it, and a pattern for its first bytes.

    In `use`, `{}` stands for the file. `pattern` matches no earlier kind.
    """

    name: str
    use: str
    pattern: bytes


def _taken(name: str, command: str, pattern: bytes) -> Kind:
    return Kind(name, f"optsched {command} takes it", pattern)


def _format(name: str, command: str, form: str) -> Kind:
    """A kind of this package that states its format."""
    return _taken(name, command, rb'"format"\s*:\s*"optsched%s/' % form.encode())


def _header(*columns: bytes) -> bytes:
    """Matches a line of CSV with these columns, and any others between them."""
    return b"^" + b"".join(rb"(?=[^\n{]*(?<![\w ])%s(?![\w ]))" % column for column in columns) + rb"[^\n{]*,"


def _keys(*names: bytes) -> bytes:
    """Matches JSON, a list or an object, that contains these keys."""
    return rb"(?s)^\s*(?:\[\s*)?\{" + b"".join(rb'(?=.*?"%s"\s*:)' % name for name in names)


#: Names of kinds that other modules ask for.
INSTANCE, NETWORK, SOLUTION, FRONTIER, SCHEDULE, BASELINE, STORE = (
    "an instance",
    "a flow network",
    "a solution",
    "a frontier",
    "a schedule",
    "a baseline of optsched check",
    "a store of optsched sweep",
)
TASKS, NODES = "a table of tasks", "a table of nodes"
RECORDS, POINTS = "a file of gap records", "a list of Pareto-optimal points"
CHECKS, SWEEP, PROFILE = "a file of checks", "a file of a sweep", "a solver profile"

#: Results in JSON or CSV that no command reads.
_FOR_SCRIPTS = "no command reads it"

#: How files that no importer reads become an instance.
_BY_HAND = "no importer reads it: write tasks.csv (id, replicas) and nodes.csv (id, slots) from it"

#: A file with any of these keys is an instance or network: its faults are reported in detail.
_KINDS = (
    _taken(
        "numbers alone, as OR-Library's files are",
        "import orlib-gap {}, or import orlib-assign {},",
        rb"\A\s*(?:[+-]?[\d.]+(?:[eE][+-]?\d+)?\s+){3,}[+-]?[\d.]*(?:[eE][+-]?\d*)?\s*\Z",
    ),
    _taken(STORE, "report {}", rb"(?s)^SQLite format 3\x00.{52}opsw"),
    Kind("an SQLite database of another program", "name another file", rb"^SQLite format 3\x00"),
    _format(INSTANCE, "describe {}", ""),
    _format(NETWORK, "describe {}", "-network"),
    _format(SOLUTION, "certify INSTANCE {}", "-solution"),
    _format(FRONTIER, "certify INSTANCE {}", "-frontier"),
    _format(SCHEDULE, "solve INSTANCE --problem job-times --start {}", "-schedule"),
    _format(BASELINE, "check", "-baseline"),
    Kind(
        "the list of optima of the library",
        "optsched list instances shows it",
        rb'"format"\s*:\s*"optsched-optima/',
    ),
    Kind(
        "an ordered vector of utilities, which optsched no longer reads",
        "optsched solve INSTANCE --problem utility",
        rb'"format"\s*:\s*"optsched-leximin/',
    ),
    _taken("a Rumen trace", "import rumen {}", rb'"jobID"\s*:|"mapTasks"\s*:'),
    _taken(
        "Rumen's topology", "import rumen TRACE --topology {}", rb'^\s*\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"children"\s*:'
    ),
    _taken("a workload of YARN's SLS", "import sls {}", rb'"job\.(start\.ms|end\.ms|tasks|id)"\s*:'),
    _taken(
        "SLS's file of nodes",
        "import sls WORKLOAD --nodes {}",
        rb'^\s*\{\s*"rack"\s*:\s*"[^"]*"\s*,\s*"nodes"\s*:',
    ),
    _taken("a file of queues for YARN's fair scheduler", "import sls WORKLOAD --queues {}", rb"<allocations>"),
    _taken("a flow network in DIMACS form", "import dimacs {}", rb"(?m)^p +min +\d+ +\d+\s*$"),
    _taken("a SWIM workload", "import swim {}", rb"^job\d+\t\d+\t\d+\t\d+\t\d+\t\d+\s"),
    Kind(
        "a job history of Hadoop",
        "make a Rumen trace of it (Hadoop's TraceBuilder), then optsched import rumen TRACE",
        rb"org\.apache\.hadoop\.mapreduce\.jobhistory",
    ),
    Kind("an event log of Spark", _BY_HAND, rb'"Event"\s*:\s*"SparkListener'),
    Kind(
        "a Mooncake trace of requests",
        f"it does not say which nodes hold the blocks (hash_ids), and {_BY_HAND}",
        rb'"input_length"\s*:\s*\d+\s*,\s*"output_length"\s*:\s*\d+\s*,\s*"hash_ids"',
    ),
    Kind("packed by Zstandard", "unpack it (zstd -d {}) and give what it holds", rb"^\x28\xb5\x2f\xfd"),
    # What this program prints.
    Kind("an explanation of a gap", _FOR_SCRIPTS, _keys(b"chains", b"moves")),
    _taken(RECORDS, "report {}", _keys(b"heuristic", b"relative_gap")),
    _taken(POINTS, "report {}", _keys(b"components", b"points", b"complete")),
    Kind("a list of runs", _FOR_SCRIPTS, _keys(b"policy", b"heartbeat")),
    Kind("a gap in parts, by optsched decompose", _FOR_SCRIPTS, _keys(b"assumed", b"arrived", b"known")),
    Kind("a description of an instance", "give the instance itself", _keys(b"sizes", b"problems")),
    Kind(
        "a table of gap records in CSV",
        "optsched report takes JSON (--format json)",
        _header(b"heuristic", b"relative_gap"),
    ),
    Kind("a table of jobs that optsched simulate wrote", _FOR_SCRIPTS, _header(b"job_id", b"turnaround_time")),
    Kind("a table of cells that optsched report wrote", _FOR_SCRIPTS, _header(b"table", b"row", b"shown")),
    _taken(TASKS, "describe {}", _header(b"id", b"replicas")),
    _taken(NODES, "describe FOLDER, with tasks.csv next to it,", _header(b"id", b"(?:slots|rack|load|capacity)")),
    Kind("an HTML page", "open it in a browser", rb"(?i)^\s*<!doctype html"),
    Kind("a picture", "open it in a viewer", rb"(?s)^\x89PNG|^%PDF|^.{0,500}<svg\b|^<\?xml.{0,500}DOCTYPE svg"),
    Kind(
        "a program for solvers",
        "a solver such as HiGHS reads it",
        rb"(?im)^(min(imi[sz]e)?|max(imi[sz]e)?|rows)\s*$",
    ),
    _taken(CHECKS, "check {}", rb"(?m)^[ \t]*\[\[\s*check\s*\]\]"),
    _taken(SWEEP, "sweep {}", rb"(?m)^[ \t]*\[\[\s*part\s*\]\]"),
    Kind("a file of claims", "optsched claims lists those of the library", rb"(?m)^[ \t]*\[claims\."),
    _taken(
        PROFILE,
        "solve INSTANCE --profile {}",
        rb"(?m)^((node_limit|relative_gap|absolute_gap|random_seed|threads)\s*=|\[highs\])",
    ),
    Kind(
        "a Python module",
        "name its functions with --heuristic MODULE:FUNCTION",
        rb"(?m)^(import \w|from [\w.]+ import |def \w+\(|class \w+)",
    ),
)


def imported_by(importer: str, option: str = "") -> list[Kind]:
    """The kinds that an importer reads, as its file or by an option.

    >>> imported_by("rumen")[0].name, imported_by("rumen", "--topology")[0].name, imported_by("theirs")
    ('a Rumen trace', "Rumen's topology", [])
    """
    word = f"{option} {{}}" if option else f"import {importer} {{}}"
    return [kind for kind in _KINDS if f"import {importer} " in kind.use and word in kind.use]


def kind_of(data: bytes) -> Kind | None:
    """The kind of file that begins with these bytes; None if it is unknown.

    >>> kind_of(b'{"jobID": "job_1", "mapTasks": []}').name
    'a Rumen trace'
    """
    begin = data[:_READ]
    return next((kind for kind in _KINDS if re.search(kind.pattern, begin)), None)


def kind_of_file(path: str | os.PathLike[str]) -> Kind | None:
    """The kind of a file; None if it is unknown or the file cannot be read."""
    try:
        with open(path, "rb") as file:
            begin = file.read(_READ)
        if begin.startswith(b"\x1f\x8b"):
            with gzip.open(path) as packed:
                begin = packed.read(_READ)
    except (OSError, EOFError, ValueError, zlib.error):
        return None
    return kind_of(begin)


def other_kind(kind: Kind | None, wanted: str, own: Sequence[str], source: str, made: str = "") -> Fault | None:
    """The fault of a file of the wrong kind; None if its kind is unknown or accepted."""
    if kind is None or kind.name in own:
        return None
    sentence = f"this is {kind.name}, not {wanted}; {kind.use.replace('{}', source)}"
    return Fault("", f"{sentence}; {made}" if made not in ("", kind.use) else sentence)


@contextmanager
def expected(path: str | os.PathLike[str], wanted: str, own: Sequence[str], made: str = "") -> Iterator[None]:
    """A context in which an InputError about a file of the wrong kind says what that file is.

    `wanted` is what the file should be; `made` is a sentence, without its end, on how to make such a file. For the
    kinds in `own`, faults are reported as they are.

    >>> from optsched.core.resources import folder
    >>> try:
    ...     with expected(folder("instances") / "optima.json", INSTANCE, [INSTANCE]):
    ...         raise InputError([Fault("", "is wrong")])
    ... except InputError as error:
    ...     print(error.faults[0].message)
    this is the list of optima of the library, not an instance; optsched list instances shows it
    """
    try:
        yield
    except InputError as error:
        fault = other_kind(kind_of_file(path), wanted, own, os.fspath(path), made)
        if fault is None:
            raise
        raise InputError([fault], os.fspath(path)) from error


def read_toml(path: str | os.PathLike[str], kind: str = "") -> tuple[str, dict[str, Any]]:
    """The text of a TOML file and its document.

    InputError if it cannot be read, is not TOML, or is not of the given `kind`.
    """
    source = os.fspath(path)
    if kind and (other := other_kind(kind_of_file(path), kind, (kind,), source)):
        raise InputError([other], source)
    try:
        text = Path(path).read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        message = f"cannot be read ({error.strerror}): check the path"
    except ValueError as error:
        message = f"is not TOML: {error}"
    except RecursionError:
        message = "is nested too deep; such a file is two levels deep"
    raise InputError([Fault("", message)], source)
