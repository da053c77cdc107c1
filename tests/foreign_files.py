"""One sound file of each format that others publish, and what an importer makes of a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optsched.core.errors import InputError
from optsched.instances.files import from_document
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
