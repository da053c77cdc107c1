"""`optsched import blocks`: a table of blocks and the nodes that hold them, as a snapshot with a task for each."""

import os
from pathlib import Path

from optsched.core.errors import Fault, InputError
from optsched.instances.importers import Imported, Importer, Option


def read_blocks(file: str | os.PathLike[str], *, name: str | None, slots: int) -> Imported:
    """One task a line: its id, then the ids of the nodes that hold its block."""
    try:
        rows = [line.split() for line in Path(file).read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Fault("", f"cannot be read ({error})")], os.fspath(file)) from None
    faults = [Fault(f"line {line}", "names no node") for line, row in enumerate(rows, start=1) if len(row) < 2]
    if faults:
        raise InputError(faults, os.fspath(file))
    nodes = dict.fromkeys(node for row in rows for node in row[1:])
    document = {
        "format": "optsched/1",
        "name": name or Path(file).stem,
        "labels": {"nodes[].slots": "assumed: the same on every node, by --slots"},
        "nodes": [{"id": node, "slots": slots} for node in nodes],
        "tasks": [{"id": task, "replicas": replicas} for task, *replicas in rows],
    }
    return Imported((document,), (f"{len(rows)} blocks on {len(nodes)} nodes",))


BLOCKS = Importer(
    name="blocks",
    title="Import a table of blocks: on each line a block, then the nodes that hold it.",
    reader=read_blocks,
    options=(Option("slots", "Slots of each node.", 2, lowest=0),),
)
