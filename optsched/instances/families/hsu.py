"""Families after Hsu and Freeh: two clusters of compute nodes that read from storage nodes, rates of Tables 2 and 3.

The paper separates compute from storage: storage nodes have no slots and hold all replicas. A rack is a network
segment, and so is a node type: c1 and c2. The numbers of the tables are the paper's; what it leaves out is labelled.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    Cluster,
    Floats,
    Ints,
    Ragged,
    Shuffle,
    State,
    Strings,
    Workload,
)
from optsched.instances.families.base import (
    ASSUMED,
    LOST,
    Drawn,
    Family,
    Setting,
    distinct_nodes,
    idle_slots,
    numbered,
    on,
    proportional_shuffle,
    replica_counts,
    require,
    settings,
)

#: Hsu and Freeh, Table 2: R_p of clusters 1 and 2, and R_out of either, in MB/s. Section 4.2 gives R_in the value of
#: R_out.
PROCESS_RATES = (60.0, 20.0)
OUT_RATE = 85.0

#: Hsu and Freeh, Table 3: input rate of a map of each job type in clusters 1 and 2, in MB/s.
JOB_TYPES = ("wordcount", "terasort", "grep", "nocomputation")
MAP_RATES = np.array([[3.04, 3.20], [9.14, 12.8], [0.23, 0.27], [16.0, 21.3]])

#: Hsu and Freeh, Table 3: input rate of a reduce of each, and the output of maps over their input. For Grep the table
#: says "very small": 1 MB/s and 1 % are assumed. NoComputation has no reduces.
REDUCE_RATES = np.array([[7.63, 7.63], [13.31, 22.18], [1.0, 1.0]])
SHUFFLE_RATIOS = np.array([0.2, 1.0, 0.01])

#: Shares of Hsu and Freeh, section 5.1: 6 of 11 compute nodes and 2 of 3 storage nodes are in cluster 1; 3 of 14 nodes
#: are storage.
_COMPUTE_IN_C1, _STORAGE_IN_C1, _STORING = 6 / 11, 2 / 3, 3 / 14

_SLOTS = "assumed: the paper gives no slots a node; four maps saturate a four-core node in its Figure 5"
_HARDWARE = "Tables 2 and 3 taken as they are; section 5.1 describes the hardware of c1 and c2 the other way round"


def _cluster(compute: int, storage: int, slots: int) -> Cluster:
    """Compute nodes n1.., then storage nodes s1.., each in segments c1 and c2 in the paper's proportion."""
    segment = _segments(compute, storage)
    nodes = compute + storage
    process = np.full(nodes, np.nan)
    process[:compute] = np.array(PROCESS_RATES)[segment[:compute]]
    return Cluster(
        np.concatenate((numbered("n", compute), numbered("s", storage))),
        rack=segment,
        rack_ids=np.array(["c1", "c2"]),
        type=segment,
        type_ids=np.array(["c1", "c2"]),
        slots=np.repeat([slots, 0], [compute, storage]),
        reduce_slots=np.repeat([1, 0], [compute, storage]),
        rate_process=process,
        rate_in=np.full(nodes, OUT_RATE),
        rate_out=np.full(nodes, OUT_RATE),
    )


def _segments(compute: int, storage: int) -> Ints:
    """0 for c1 and 1 for c2: compute nodes first, then storage nodes; at least one of each kind in c1."""
    first, second = max(1, round(compute * _COMPUTE_IN_C1)), max(1, round(storage * _STORAGE_IN_C1))
    return np.repeat([0, 1, 0, 1], [first, compute - first, second, storage - second])


def _rates(cluster: Cluster, job_type: Ints) -> Floats:
    """Input rate of a map of each of these job types on nodes of each type; NaN if no node has the type."""
    there = np.isin(np.arange(len(cluster.type_ids)), cluster.type)
    return np.where(there, MAP_RATES[job_type], np.nan)


def _workload(
    cluster: Cluster, job: Ints, job_ids: Strings, job_type: Ints, replicas: Ragged, block: int, arrival: Floats
) -> Workload:
    """Maps of `block` MB whose rates depend on the type of their node."""
    return Workload(
        numbered("t", len(job)),
        job=job,
        job_ids=job_ids,
        arrival=arrival,
        replicas=replicas,
        size=np.full(len(job), float(block)),
        rate_in_by_type=_rates(cluster, job_type[job]),
    )


def _flow(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(14, "compute and storage nodes together", 2, 10**6)],
    tasks: Annotated[int, Setting(40, "pending maps")],
    slots: Annotated[int, Setting(4, "slots of each compute node", 1, 1000)],
    idle_ratio: Annotated[float, Setting(0.5, "share of all slots that is idle; their number is rounded", 0, 1)],
    replicas: Annotated[int, Setting(2, "most replicas of a block, on different storage nodes: 1 to this", 1, 1000)],
    block: Annotated[int, _BLOCK],
    lost: Annotated[float, LOST],
    reduces: Annotated[int, Setting(0, "pending reduces; each reads from two ended maps", 0, 10**5, later=True)],
) -> Drawn:
    """Random job types, replicas, running maps and storage loads on a cluster in the paper's proportions.

    Each reduce reads from two finished maps.
    """
    storage = max(replicas, round(nodes * _STORING))
    compute = nodes - storage
    require(
        compute > 0,
        f"nodes is {nodes}; it must be more than the {storage} storage nodes that {replicas} replicas of a block need",
    )
    require(tasks > 0 or not reduces, f"reduces is {reduces}; with tasks=0 it must be 0")
    idle = idle_slots(rng, compute, slots, round(compute * slots * idle_ratio))
    busy = slots - idle
    held = np.repeat(np.arange(compute), busy)
    running = MAP_RATES[rng.integers(0, len(JOB_TYPES), size=len(held)), _segments(compute, storage)[held]]
    in_use = rng.uniform(0, OUT_RATE, size=storage).round(2)
    cluster = _cluster(compute, storage, slots)
    rows = distinct_nodes(rng, replica_counts(rng, tasks, replicas, lost), np.arange(compute, nodes))
    types = np.arange(len(JOB_TYPES))
    job = rng.integers(0, len(JOB_TYPES), size=tasks)
    workload = _workload(cluster, job, np.array(JOB_TYPES), types, rows, block, np.zeros(len(JOB_TYPES)))
    status = np.repeat([PENDING, FINISHED, PENDING], [tasks, 2 * reduces, reduces])
    if reduces:
        workload = _with_reduces(rng, cluster, workload, reduces)
    labels = {
        "slots": _SLOTS,
        "rates": _HARDWARE,
        "state": "assumed: each busy slot runs a map of a random job type; r_out of storage uniform from 0 to R_out",
    }
    state = State.initial(
        cluster,
        workload,
        status=status,
        node=on(rng, status, compute),
        idle_slots=np.append(idle, np.zeros(storage, dtype=np.int64)),
        out_in_use=np.append(np.zeros(compute), in_use),
        running_rates=Ragged.of_lengths(busy, running).padded(storage),
        emitted=None if workload.shuffle is None else workload.shuffle.size,  # their maps have ended
    )
    return Drawn(cluster, workload, state, labels)


def _with_reduces(rng: np.random.Generator, cluster: Cluster, workload: Workload, reduces: int) -> Workload:
    """The workload with reduces and twice as many finished maps; each reduce receives from two of these."""
    tasks, ended, more = len(workload), 2 * reduces, 3 * reduces
    job = rng.integers(0, len(JOB_TYPES), size=reduces)
    job = np.concatenate((np.repeat(job, 2), job))
    sent = rng.integers(1, 40, size=ended, endpoint=True).astype(np.float64)
    rates = workload.rate_in_by_type
    assert rates is not None
    return Workload(
        np.concatenate((workload.task_ids, numbered("e", ended), numbered("r", reduces))),
        job=np.concatenate((workload.job, job)),
        job_ids=workload.job_ids,
        arrival=workload.arrival,
        kind=np.repeat([MAP, REDUCE], [tasks + ended, reduces]),
        replicas=workload.replicas.padded(more),
        size=np.concatenate((workload.size, np.full(more, np.nan))),
        rate_in_by_type=np.concatenate((rates, _rates(cluster, job))),
        shuffle=Shuffle(tasks + np.arange(ended), tasks + ended + np.arange(ended) // 2, size=sent),
    )


def _table3(rng: np.random.Generator, *, block: int, slots: int) -> Drawn:
    """Hsu and Freeh, section 5.2: 4 WordCount, 4 Terasort, 1 Grep, one every 5 s, on 11 compute and 3 storage nodes.

    The snapshot is at the arrival of the last job, with nothing started.
    """
    job_type = np.array([0, 1, 0, 1, 0, 1, 0, 1, 2])
    names = [f"{JOB_TYPES[kind]}{1 + int((job_type[:number] == kind).sum())}" for number, kind in enumerate(job_type)]
    job = np.repeat(np.arange(len(job_type)), 1024 // block)
    cluster = _cluster(11, 3, slots)
    rows = distinct_nodes(rng, np.full(len(job), 2), np.arange(11, 14))
    arrival = np.arange(len(job_type), dtype=np.float64) * 5
    workload = _workload(cluster, job, np.array(names), job_type, rows, block, arrival)
    labels = {
        "slots": _SLOTS,
        "rates": _HARDWARE,
        "jobs": "assumed: WordCount and Terasort alternate and Grep comes last; maps only, no task started yet",
    }
    return Drawn(cluster, workload, State.initial(cluster, workload, time=float(arrival[-1])), labels)


def _run(rng: np.random.Generator, *, block: int, slots: int, reduces: int, gap: float) -> Drawn:
    """The same from before the first job on, with the reduces of Table 3."""
    drawn = _table3(rng, block=block, slots=slots)
    cluster, maps = drawn.cluster, drawn.workload
    rates, jobs = maps.rate_in_by_type, len(maps.job_ids)
    assert rates is not None
    job_type = np.array([JOB_TYPES.index(name.rstrip("0123456789")) for name in maps.job_ids.tolist()])
    job = np.repeat(np.arange(jobs), reduces)
    output = maps.size * SHUFFLE_RATIOS[job_type[maps.job]]
    received = np.bincount(maps.job, output, minlength=jobs)[job] / max(1, reduces)
    by_type = np.concatenate((rates, REDUCE_RATES[job_type[job]]))
    workload = Workload(
        np.concatenate((maps.task_ids, numbered("r", len(job)))),
        job=np.concatenate((maps.job, job)),
        job_ids=maps.job_ids,
        arrival=np.arange(jobs, dtype=np.float64) * gap,
        kind=np.repeat([MAP, REDUCE], [len(maps), len(job)]),
        replicas=maps.replicas.padded(len(job)),
        size=np.concatenate((maps.size, np.full(len(job), np.nan))),
        rate_in_by_type=by_type,
        duration=np.round(np.concatenate((maps.size, received)) / by_type[:, 0], 3),
        shuffle=proportional_shuffle(maps.job, output, job, received),
    )
    labels = {
        "slots": _SLOTS,
        "rates": f"{_HARDWARE}; assumed: reduces of Grep 1 MB/s, where the table says very small",
        "jobs": "assumed: WordCount and Terasort alternate and Grep comes last",
        "reduces": f"assumed: {reduces} a job; the paper does not say",
        "shuffle": f"{ASSUMED}; shares of the input as in Table 3, and 1 % of Grep, where it says very small",
        "duration": "inferred: of a task alone on a node of c1, its MB at the rate of Table 3",
    }
    return Drawn(cluster, workload, State.initial(cluster, workload), labels)


_BLOCK = Setting(64, "block size, MB", choices=(64, 128))

FAMILIES = (
    Family(
        "flow",
        "Hsu and Freeh, sections 4.2 and 5.1.",
        "Maps of random job types that read from storage nodes; 3 in 14 nodes store, the others have busy slots.",
        settings(_flow),
        _flow,
    ),
    Family(
        "hsu-table3",
        "Hsu and Freeh, section 5.2, Tables 2 and 3.",
        "Nine jobs of 1 GB on 6 + 5 compute nodes, blocks twice on 3 storage nodes.",
        {"block": _BLOCK, "slots": Setting(4, "slots of each compute node", 1, 1000)},
        _table3,
    ),
    Family(
        "hsu-run",
        "Hsu and Freeh, section 5.2, Tables 2 and 3.",
        "The nine jobs of hsu-table3 to be run over time, one after another, with the reduces of Table 3.",
        {
            "block": _BLOCK,
            "slots": Setting(4, "slots of each compute node", 1, 1000),
            "reduces": Setting(1, "reduces of each job", 0, 1000),
            "gap": Setting(5.0, "seconds between the arrivals of two jobs", 0, 10**6),
        },
        _run,
    ),
)
