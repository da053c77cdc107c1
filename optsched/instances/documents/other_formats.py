"""Files of other formats, known by how they begin: what each is, and the command that imports it, or what is missing.

Who has a trace gives it where an instance is due. JSON without `format` says nothing to help; its kind does.
"""

from __future__ import annotations

import re

__all__ = ["READ", "told_of"]

#: So many bytes from the beginning are looked at.
READ = 65536

#: What a file of this package's own says: what is wrong with it is told in detail.
_OWN = rb'"format"\s*:\s*"optsched(-network)?/'

#: What bytes of each format are like, what it is, and what imports it ({} is the file).
_FORMATS = (
    (rb'"jobID"\s*:|"mapTasks"\s*:', "a Rumen trace", "import rumen {}"),
    (rb'^\s*\{\s*"name"\s*:\s*"[^"]*"\s*,\s*"children"\s*:', "Rumen's topology", "import rumen TRACE --topology {}"),
    (rb'"job\.(start\.ms|end\.ms|tasks|id)"\s*:', "a workload of YARN's SLS", "import sls {}"),
    (
        rb'^\s*\{\s*"rack"\s*:\s*"[^"]*"\s*,\s*"nodes"\s*:',
        "SLS's file of nodes",
        "import sls WORKLOAD --nodes {}",
    ),
    (rb"<allocations>", "a file of queues for YARN's fair scheduler", "import sls WORKLOAD --queues {}"),
    (rb"(?m)^p +min +\d+ +\d+\s*$", "a flow network in DIMACS form", "import dimacs {}"),
    (rb"^job\d+\t\d+\t\d+\t\d+\t\d+\t\d+\s", "a SWIM workload", "import swim {}"),
    (rb'"format"\s*:\s*"optsched-solution/', "a solution", "certify INSTANCE {}"),
    (rb'"format"\s*:\s*"optsched-frontier/', "a frontier", "certify INSTANCE {}"),
    (rb'"format"\s*:\s*"optsched-schedule/', "a schedule", "solve INSTANCE --problem job-times --start {}"),
)

#: How what no importer reads becomes an instance.
_BY_HAND = "no importer reads it: write tasks.csv (id, replicas) and nodes.csv (id, slots) from it"

#: What bytes of formats that no importer reads are like, what they are, and what to do.
_UNREAD = (
    (
        rb"org\.apache\.hadoop\.mapreduce\.jobhistory",
        "a job history of Hadoop",
        "make a Rumen trace of it (Hadoop's TraceBuilder), then optsched import rumen TRACE",
    ),
    (rb'"Event"\s*:\s*"SparkListener', "an event log of Spark", _BY_HAND),
    (
        rb'"input_length"\s*:\s*\d+\s*,\s*"output_length"\s*:\s*\d+\s*,\s*"hash_ids"',
        "a Mooncake trace of requests",
        f"it does not say which nodes hold the blocks (hash_ids), and {_BY_HAND}",
    ),
    (
        rb'"format"\s*:\s*"optsched-leximin/',
        "an ordered vector of utilities, which optsched no longer reads",
        "optsched solve INSTANCE --problem utility",
    ),
    (rb"^\x28\xb5\x2f\xfd", "packed by Zstandard", "unpack it (zstd -d {}) and give what it holds"),
)


#: A number as OR-Library writes it.
_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")

_GAP = "this is a generalized-assignment file of OR-Library, no instance; optsched import orlib-gap {}"
_ASSIGN = "this is an assignment file of OR-Library, no instance; optsched import orlib-assign {}"
_EITHER = "this is numbers alone, as OR-Library's files are, no instance; optsched import orlib-gap {}, or orlib-assign"


def _numbers(begin: bytes) -> str | None:
    """What a file of numbers alone is, by how many follow; None where there is anything else, or hardly a number.

    A set of generalized assignment is agents m, jobs n, 2 m n numbers and m more; assignment is n and n x n numbers.
    """
    words = begin.split()
    whole = len(begin) < READ
    words = words if whole else words[:-1]
    if len(words) < 4 or not all(_NUMBER.fullmatch(word) for word in words):
        return None
    if not whole or not words[0].isdigit():
        return _EITHER
    first, at, sets = int(words[0]), 1, 0
    if len(words) == 1 + first**2:
        return _ASSIGN
    if words[1].isdigit() and len(words) == 2 + 2 * first * int(words[1]) + first:
        return _GAP
    while at + 1 < len(words) and words[at].isdigit() and words[at + 1].isdigit():
        agents, jobs = int(words[at]), int(words[at + 1])
        at, sets = at + 2 + 2 * agents * jobs + agents, sets + 1
    return _GAP if (at, sets) == (len(words), first) else _EITHER


def told_of(data: bytes, source: str) -> str | None:
    """What a file that is no instance is, and what takes it; None where its first bytes are of no known format.

    Examples
    --------
    >>> told_of(b'{"jobID": "job_1", "mapTasks": []}', "job.json")
    'this is a Rumen trace, no instance; optsched import rumen job.json'
    """
    begin = data[:READ]
    if (numbers := _numbers(begin)) is not None:
        return numbers.replace("{}", source)
    if re.search(_OWN, begin):
        return None
    mends = [(pattern, what, f"optsched {command}") for pattern, what, command in _FORMATS]
    for pattern, what, mend in (*mends, *_UNREAD):
        if re.search(pattern, begin):
            return f"this is {what}, no instance; {mend.replace('{}', source)}"
    return None
