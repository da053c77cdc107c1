"""A family for JoSS (Sharmilarani et al., II.D): jobs on nodes in several datacenters, blocks in some of them.

The paper gives no experiment of JoSS; sizes, ratios and slots are assumed, and labelled so.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from optsched.core.instance import FINISHED, MAP, PENDING, REDUCE, RUNNING, Cluster, Ints, State, Workload
from optsched.instances.families.base import LOST, Drawn, Family, Setting, require, require_distinct, settings
from optsched.instances.families.sampling import distinct_nodes, in_blocks, numbered, on, replica_counts

__all__ = ["BLOCK", "FAMILIES"]

#: Size of a block in MB.
BLOCK = 128


def _traffic(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(40, "nodes, in datacenters of nearly equal size", 1, 10**6)],
    tasks: Annotated[int, Setting(120, "maps", 1)],
    datacenters: Annotated[int, Setting(4, "datacenters (k)", 1, 1000)],
    jobs: Annotated[int, Setting(10, "jobs, each with at least one map", 1)],
    reduces: Annotated[int, Setting(4, "most reduces of a job: a power of 2, up to this", 1, 1000)],
    replicas: Annotated[int, Setting(2, "most replicas of a block, on different nodes: 1 to this", 1, 1000)],
    ratio: Annotated[float, Setting(2.0, "filter ratios (FP_J) are quarters from 0 to this", 0, 100)],
    smallest: Annotated[
        int, Setting(BLOCK, "least size of a block in MB; they are uniform from this to 128", 1, BLOCK)
    ],
    spare: Annotated[float, Setting(0.5, "slots beyond one a task, as a share of the tasks of their kind", 0, 100)],
    lost: Annotated[float, LOST],
    finished: Annotated[int, Setting(0, "maps that have ended, in addition to the pending ones", 0, 10**5, later=True)],
    running: Annotated[int, Setting(0, "reduces that run, in addition to the pending ones", 0, 10**5, later=True)],
) -> Drawn:
    require(datacenters <= nodes, f"datacenters is {datacenters}; it must be at most {nodes}, the number of nodes")
    require(jobs <= max(tasks, 1), f"jobs is {jobs}; it must be at most {tasks}, the number of maps")
    require_distinct(replicas, nodes)
    job_of_map = np.sort(np.concatenate([np.arange(jobs), rng.integers(0, jobs, size=tasks - jobs)])[:tasks])
    powers = 2 ** np.arange(reduces.bit_length())
    job_of_reduce = np.repeat(np.arange(jobs), rng.choice(powers, size=jobs))
    rows = distinct_nodes(rng, replica_counts(rng, tasks, replicas, lost), nodes)
    count = len(job_of_reduce)
    sizes = rng.integers(smallest, BLOCK, size=tasks, endpoint=True)
    ratios = rng.integers(0, round(4 * ratio), size=jobs, endpoint=True) / 4
    counts = [tasks, count, finished, running]
    status = np.repeat([PENDING, PENDING, FINISHED, RUNNING], counts)
    kind = np.repeat([MAP, REDUCE, MAP, REDUCE], counts)
    more = rng.integers(0, jobs, size=finished + running)
    ended = rng.integers(smallest, BLOCK, size=finished, endpoint=True)
    workload = Workload(
        np.concatenate(list(map(numbered, "mrex", counts))),
        job=np.concatenate([job_of_map, job_of_reduce, more]),
        kind=kind,
        replicas=rows.padded(len(kind) - tasks),
        size=np.concatenate([sizes, np.full(count, np.nan), ended, np.full(running, np.nan)]),
        job_ids=numbered("j", jobs),
        filter_ratio=ratios,
    )
    cluster = Cluster(
        numbered("n", nodes),
        datacenter=in_blocks(nodes, datacenters),
        datacenter_ids=numbered("d", datacenters),
        slots=_slots(tasks, spare, nodes),
        reduce_slots=_slots(count, spare, nodes),
    )
    labels = {
        "size": f"assumed: {smallest} to {BLOCK} MB",
        "reduces": "assumed: a power of 2 for each job, so that most shares are whole",
        "filter_ratio": "assumed: quarters, uniform; the paper's examples lie below, at and above 1",
        "slots": f"assumed: {1 + spare:g} slots for each task of their kind, the same on every node but for one",
    }
    state = State.initial(cluster, workload, status=status, node=on(rng, status, nodes))
    return Drawn(cluster, workload, state, labels)


def _slots(tasks: int, spare: float, nodes: int) -> Ints:
    """Slots for `tasks` tasks and a share `spare` more, spread evenly; shape (nodes,)."""
    return np.bincount(in_blocks(int(np.ceil(tasks * (1 + spare))), nodes), minlength=nodes).astype(np.int64)


FAMILIES = (
    Family(
        "traffic",
        "Sharmilarani et al., section II.D.",
        "Jobs of maps and reduces on nodes in datacenters, with uniformly random replicas, 1 to R a block.",
        settings(_traffic),
        _traffic,
    ),
)
