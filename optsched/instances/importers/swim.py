"""Importer of SWIM workloads (tab-separated traces of jobs, without tasks): an instance in which the rest is generated.

Arrivals and sizes are those of the trace. It records no tasks, nodes or replicas: those are drawn here, from a seed,
and labelled so in the document. A megabyte is 10^6 bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from optsched.core.errors import UsageError
from optsched.instances.documents.diagnosis import shown
from optsched.instances.families.base import distinct_nodes
from optsched.instances.importers import IMPORTERS, Imported
from optsched.instances.importers.foreign import BYTES_PER_MB, ForeignFile, stem

__all__ = ["import_swim"]

#: Columns of a line; only these are read, and there are no others.
COLUMNS = ("job id", "submit time", "gap to the job before", "map input bytes", "shuffle bytes", "reduce output bytes")

#: Seconds of a task before it reads, if it has times.
SETUP = 1

#: More maps are refused: a petabyte in small blocks makes too large a file.
MOST_TASKS = 2_000_000


@dataclass(frozen=True, slots=True)
class _Job:
    """A line of a trace: submit in s, sizes in bytes."""

    id: str
    submit: int
    input: int
    shuffle: int
    output: int


def import_swim(
    path: str | os.PathLike[str],
    nodes: int = 20,
    slots: int = 2,
    replicas: int = 3,
    block: int = 128,
    first: int | None = None,
    seed: int = 0,
    rate: int | None = None,
    remote: int = 20,
    name: str | None = None,
) -> Imported:
    r"""Make an instance document of a SWIM trace, in which all maps and reduces of its jobs wait.

    A job that shuffles or writes anything gets one reduce. InputError lists every fault of the file with its line.
    UsageError if there are fewer nodes than replicas, or if small blocks give more than `MOST_TASKS` maps.

    Parameters
    ----------
    path
        The file, plain or gzipped: six columns without a header.
    nodes, slots
        Nodes of the generated cluster, and slots of each node for maps, and as many for reduces.
    replicas
        Different nodes that hold each map's block, drawn uniformly at random.
    block
        MB of a map's block: a job has as many maps as its input has blocks, at least one; the last holds the rest.
    first
        Only this many jobs, the first of the trace; None for all.
    seed
        Seed of the draws.
    rate
        MB that a task processes in a second. Then tasks have times, so that the trace can be run over time: a second to
        begin with, plus a map's input, or a reduce's input and output, at this rate. None: no times.
    remote
        By how many percent a map is slower off its data.
    name
        Name of the instance, by default that of the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.tsv")
    ...     _ = file.write_text("job0\t5\t5\t200000000\t1000000\t0\n")
    ...     document = import_swim(file, nodes=4).documents[0]
    >>> document["jobs"], [(task["id"], task["size"]) for task in document["tasks"]]
    ([{'id': 'job0', 'arrival': 5, 'filter_ratio': 0.005}], [('job0_m1', 128), ('job0_m2', 72.0), ('job0_r1', 1.0)])
    """
    IMPORTERS["swim"].check(locals())
    if replicas > nodes:
        raise UsageError(f"{replicas} replicas need as many nodes, and there are {nodes}")
    jobs = _read(path)[:first]
    maps = [max(1, -(-job.input // (block * BYTES_PER_MB))) for job in jobs]
    if sum(maps) > MOST_TASKS:
        raise UsageError(
            f"blocks of {block} MB make {sum(maps)} maps, over {MOST_TASKS}; take larger blocks, or fewer jobs by first"
        )
    holders = distinct_nodes(np.random.default_rng(seed), np.full(sum(maps), replicas, dtype=np.int64), nodes)
    names = [f"n{node}" for node in range(1, nodes + 1)]
    rows = ([names[node] for node in row.tolist()] for row in holders)
    tasks = [task for job, many in zip(jobs, maps, strict=True) for task in _tasks(job, many, block, rows)]
    labels = _labels(nodes, slots, replicas, block, seed)
    if rate is not None:
        text = f"generated: {SETUP} s and {rate} MB/s of what a map reads, or a reduce takes in and writes"
        labels["times"] = f"{text}; maps off their data {remote} % longer"
        written = {f"{job.id}_r1": job.output for job in jobs}
        for task in tasks:
            task.update(_times(task["size"], rate, remote, written.get(task["id"])))
    document = {
        "format": "optsched/1",
        "name": stem(path, "tsv|txt|gz", "swim") if name is None else name,
        "description": f"{len(tasks)} tasks of {len(jobs)} jobs on {nodes} nodes, as if all were waiting at once.",
        "source": f"SWIM trace {Path(path).name}" + ("" if first is None else f", the first {len(jobs)} jobs"),
        "labels": labels,
        "nodes": [{"id": node, "slots": slots, "reduce_slots": slots} for node in names],
        "jobs": [
            {"id": job.id, "arrival": job.submit} | ({"filter_ratio": job.shuffle / job.input} if job.input else {})
            for job in jobs
        ],
        "tasks": tasks,
    }
    return Imported((document,))


def _tasks(job: _Job, maps: int, block: int, holders: Iterator[list[str]]) -> Iterator[dict[str, Any]]:
    """Records of a job's maps, whose blocks are on the next of `holders`, and of its reduce."""
    for part in range(1, maps + 1):
        rest = job.input - (maps - 1) * block * BYTES_PER_MB
        task = {"id": f"{job.id}_m{part}", "job": job.id, "size": block if part < maps else rest / BYTES_PER_MB}
        held = next(holders)
        yield {**task, "replicas": held} if held else task
    if job.shuffle or job.output:
        yield {"id": f"{job.id}_r1", "job": job.id, "kind": "reduce", "size": job.shuffle / BYTES_PER_MB}


def _times(size: float, rate: int, remote: int, written: int | None) -> dict[str, Any]:
    """The time of a map by locality, or of a reduce that has `written` bytes, to the millisecond."""
    if written is not None:
        return {"duration": round(SETUP + (size + written / BYTES_PER_MB) / rate, 3)}
    near = SETUP + size / rate
    away = round(near * (100 + remote) / 100, 3)
    return {"times": {"node": round(near, 3), "rack": away, "off_rack": away}}


def _labels(nodes: int, slots: int, replicas: int, block: int, seed: int) -> dict[str, str]:
    """What was recorded, generated and assumed."""
    return {
        "arrival": "recorded",
        "size": f"recorded for each job; generated: maps of {block} MB and the rest (10^6 bytes), one reduce a job "
        "with what it shuffles",
        "filter_ratio": "recorded: shuffle over map input bytes of the job",
        "tasks": f"generated: a map for each {block} MB of a job's input, at least one; a reduce where it shuffles "
        "or writes anything",
        "nodes": f"generated: {nodes} nodes alike, {slots} slots each for maps and for reduces",
        "replicas": f"generated: {replicas} different nodes uniformly at random, seed {seed}, numpy PCG64",
        "state": "assumed: all tasks wait at once, though jobs arrived one after the other",
    }


def _read(path: str | os.PathLike[str]) -> list[_Job]:
    file = ForeignFile(path)
    jobs: dict[str, tuple[str, _Job]] = {}
    for line in file.lines():
        if len(line.words) != len(COLUMNS):
            line.fault(f"has {len(line.words)} columns, not {len(COLUMNS)}: {', '.join(COLUMNS)}")
            continue
        name = line.words[0]
        if len(name) > 100 or not name.isprintable():
            line.fault(f"the job id {shown(name)} must be up to 100 printable characters")
        submit, _, read, shuffle, output = (line.integer(at, COLUMNS[at], 0) for at in range(1, len(COLUMNS)))
        first, _ = jobs.setdefault(name, (line.place, _Job(name, submit, read, shuffle, output)))
        if first != line.place:
            line.fault(f"job {shown(name)} is on {first} already")
    file.end(jobs, f"holds no job; a line has {', '.join(COLUMNS)}")
    return [job for _, job in jobs.values()]
