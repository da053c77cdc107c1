"""Files of other formats, known by how they begin: what each is, and the command that imports it.

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
    (rb"(?m)^p +min +\d+ +\d+\s*$", "a flow network in DIMACS form", "import dimacs {}"),
    (rb"^job\d+\t\d+\t\d+\t\d+\t\d+\t\d+\s", "a SWIM workload", "import swim {}"),
    (rb'"format"\s*:\s*"optsched-solution/', "a solution", "certify INSTANCE {}"),
)


def told_of(data: bytes, source: str) -> str | None:
    """What a file that is no instance is, and what takes it; None where its first bytes are of no known format.

    Examples
    --------
    >>> told_of(b'{"jobID": "job_1", "mapTasks": []}', "job.json")
    'this is a Rumen trace, no instance; optsched import rumen job.json'
    """
    begin = data[:READ]
    for pattern, what, command in () if re.search(_OWN, begin) else _FORMATS:
        if re.search(pattern, begin):
            return f"this is {what}, no instance; optsched {command.replace('{}', source)}"
    return None
