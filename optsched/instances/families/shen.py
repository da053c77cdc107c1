"""Families after Shen et al. 2016: jobs with maps, reduces and a shuffle on a cluster with distances.

Table II is the paper's. It gives no replicas, partitions and shuffle ratios: these are drawn or labelled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from optsched.core.instance import (
    FINISHED,
    HOPS,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Floats,
    Ints,
    Ragged,
    Shuffle,
    State,
    Strings,
    Topology,
    Workload,
)
from optsched.instances.families.base import (
    ASSUMED,
    Drawn,
    Family,
    Setting,
    distinct_nodes,
    in_blocks,
    numbered,
    on,
    proportional_shuffle,
    racked,
    replica_counts,
    require,
    require_distinct,
    settings,
    share,
    some,
)

#: The three batches of Shen et al. 2016, section III, in the order of their Table II.
BATCHES = ("wordcount", "terasort", "grep")

#: Shen et al. 2016, Table II: maps, and reduces, of the jobs of 10, 20, ..., 100 GB of each batch.
MAPS = (
    (88, 160, 278, 502, 490, 645, 598, 818, 837, 930),
    (143, 199, 364, 320, 490, 480, 560, 648, 753, 824),
    (87, 163, 188, 203, 285, 389, 578, 634, 815, 893),
)
REDUCES = (
    (157, 169, 159, 169, 127, 187, 165, 291, 157, 197),
    (190, 186, 131, 149, 189, 193, 178, 184, 171, 193),
    (148, 174, 184, 158, 164, 137, 179, 178, 164, 184),
)

#: Shuffle over input of each batch. Terasort sorts, so it shuffles what it reads. The other two are assumed: with them
#: 20 % of the jobs shuffle less than 10 GB and 17 % more than 100 GB (paper, Figure 3: about 20 % each), and 43 % more
#: than 50 GB. The paper says about 60 % there; no one ratio for each batch gives all three.
SHUFFLE_RATIOS = (2.0, 1.0, 0.15)

#: The most nodes for which the distance of each pair is drawn.
MOST_DRAWN = 2**13

#: Hops in Shen et al.'s example of a rack: none on a node, two to a neighbour through the switch, four beyond it.
_HOPS = {"node": 0, "rack": 2, "off_rack": 4}


def _transmission(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(8, "nodes; at most 8192 where distances are drawn", 1, 10**6)],
    tasks: Annotated[int, Setting(12, "maps", 1)],
    reduces: Annotated[int, Setting(4, "reduces", 1, 10**5)],
    jobs: Annotated[int, Setting(2, "jobs, which share maps and reduces evenly", 1, 10**5)],
    racks: Annotated[int, Setting(2, "racks", 1, 10**4)],
    replicas: Annotated[int, Setting(2, "most replicas of a block: 1 to this", 1, 1000)],
    slots: Annotated[int, Setting(2, "map slots of each node", 1, 1000)],
    reduce_slots: Annotated[int, Setting(1, "reduce slots of each node", 1, 1000)],
    finished: Annotated[float, Setting(0.0, "share of the maps that ran already; their number is rounded", 0, 1)],
    spread: Annotated[int, Setting(0, "distances are drawn from 1 to this; 0: hops 0, 2, 4 by rack", 0, 10**6)],
    running: Annotated[float, share("reduces that run")],
) -> Drawn:
    """Whole sizes, so that costs are whole; finished and running tasks are on uniformly drawn nodes."""
    require_distinct(replicas, nodes)
    require(not spread or nodes <= MOST_DRAWN, f"nodes is {nodes}; with a spread it must be at most {MOST_DRAWN}")
    if spread:
        matrix = np.triu(rng.integers(1, spread, size=(nodes, nodes), endpoint=True), 1).astype(np.float64)
        topology = Topology("distance", matrix + matrix.T)
    else:
        topology = Topology("hops", hops=_HOPS)
    map_job, reduce_job = in_blocks(tasks, jobs), in_blocks(reduces, jobs)
    size = (64 * rng.integers(1, 2, size=tasks, endpoint=True)).astype(np.float64)
    pairs = proportional_shuffle(map_job, np.ones(tasks), reduce_job, np.ones(reduces))
    shuffle = replace(pairs, size=rng.integers(0, 40, size=len(pairs), endpoint=True).astype(np.float64))
    rows = distinct_nodes(rng, replica_counts(rng, tasks, replicas), nodes)
    ran = rng.choice(tasks, round(tasks * finished), replace=False)
    done = np.zeros(tasks + reduces, dtype=bool)
    done[ran] = True
    cluster = racked(nodes, racks, slots, reduce_slots=reduce_slots, topology=topology)
    workload = _workload(map_job, reduce_job, size, rows, shuffle, numbered("j", jobs))
    node = np.where(done, rng.integers(0, nodes, size=len(done)), -1)
    status = np.where(done, FINISHED, PENDING)
    status[tasks:] = np.where(some(rng, reduces, running), RUNNING, PENDING)
    node[tasks:] = on(rng, status[tasks:], nodes)
    state = State.initial(cluster, workload, status=status, node=node)
    return Drawn(cluster, workload, state, {"shuffle": "generated: each entry uniform from 0 to 40 MB"})


def _workload(
    map_job: Ints, reduce_job: Ints, size: Floats, replicas: Ragged, shuffle: Shuffle, job_ids: Strings
) -> Workload:
    maps, reduces = len(map_job), len(reduce_job)
    return Workload(
        np.concatenate((numbered("m", maps), numbered("r", reduces))),
        kind=np.repeat([MAP, REDUCE], [maps, reduces]),
        job=np.concatenate((map_job, reduce_job)),
        job_ids=job_ids,
        arrival=np.zeros(len(job_ids)),
        size=np.concatenate((size, np.full(reduces, np.nan))),
        replicas=replicas.padded(reduces),
        shuffle=shuffle,
    )


def _table_2(
    rng: np.random.Generator, *, batch: int, divide: int, nodes: int, racks: int, slots: int, reduce_slots: int
) -> Drawn:
    """One batch of ten jobs, nothing started; each block on two uniformly drawn nodes."""
    require_distinct(2, nodes)
    maps, reduces = (-(-np.array(counts[batch - 1]) // divide) for counts in (MAPS, REDUCES))
    read = 1000 * np.arange(10, 101, 10) / divide
    map_job, reduce_job = np.repeat(np.arange(10), maps), np.repeat(np.arange(10), reduces)
    size: Floats = np.round(read / maps, 1)[map_job]
    received = (SHUFFLE_RATIOS[batch - 1] * np.bincount(map_job, size) / reduces)[reduce_job]
    shuffle = proportional_shuffle(map_job, size, reduce_job, received)
    rows = distinct_nodes(rng, np.full(len(map_job), 2), nodes)
    cluster = racked(nodes, racks, slots, reduce_slots=reduce_slots, topology=Topology("hops", hops=_HOPS))
    names = np.array([f"{BATCHES[batch - 1]}-{10 * number}gb" for number in range(1, 11)])
    workload = _workload(map_job, reduce_job, size, rows, shuffle, names)
    labels = {
        "shuffle": f"{ASSUMED}; partitions equal; shuffle over input {SHUFFLE_RATIOS[batch - 1]:g}",
        "topology": "assumed: hops 0 on a node, 2 in a rack, 4 beyond; the paper's 60 nodes were in one rack",
        "blocks": "inferred: input over number of maps; replicas on two nodes drawn with equal chance",
    }
    if divide > 1:
        labels["scale"] = f"numbers of maps and reduces and the input are those of Table II divided by {divide}"
    return Drawn(cluster, workload, State.initial(cluster, workload), labels)


def _run(rng: np.random.Generator, *, map_rate: float, reduce_rate: float, hop: float, **table_2: int) -> Drawn:
    """The same with durations: of computing by size, and by locality with the time to read over the hops."""
    drawn = _table_2(rng, **table_2)
    workload = drawn.workload
    assert workload.shuffle is not None
    received = np.bincount(workload.shuffle.reduce, workload.shuffle.size, minlength=len(workload))
    is_map = workload.kind == MAP
    computes: Floats = np.where(is_map, workload.size / map_rate, received / reduce_rate).round(3)
    away = np.array([_HOPS[level] for level in HOPS]) * hop
    times = np.round(computes[:, None] + workload.size[:, None] * away, 3)
    workload = replace(workload, duration=computes, times=np.where(is_map[:, None], times, np.nan))
    labels = {
        "duration": f"assumed: maps compute {map_rate:g} MB/s of input, reduces {reduce_rate:g} MB/s of what they take "
        "in; the paper gives no times of single tasks",
        "times": f"assumed: of maps, their duration and {hop:g} s for each MB and hop",
    }
    return replace(drawn, workload=workload, labels={**drawn.labels, **labels})


_TABLE_2 = {
    "batch": Setting(1, "1 Wordcount, 2 Terasort, 3 Grep", choices=(1, 2, 3)),
    "divide": Setting(1, "numbers of tasks and sizes of inputs are divided by this, rounded up", 1, 1000),
    "nodes": Setting(60, "nodes", 2, 8192),
    "racks": Setting(1, "racks", 1, 1000),
    "slots": Setting(4, "map slots of each node", 1, 1000),
    "reduce_slots": Setting(2, "reduce slots of each node", 1, 1000),
}

FAMILIES = (
    Family(
        "transmission",
        "Shen et al. 2016, section II.",
        "Jobs with maps, reduces and a random shuffle; distances by rack or drawn.",
        settings(_transmission),
        _transmission,
    ),
    Family(
        "shen-table2",
        "Shen et al. 2016, section III, Table II.",
        "A batch of ten jobs of 10 to 100 GB on 60 nodes of one rack, blocks on two nodes.",
        _TABLE_2,
        _table_2,
    ),
    Family(
        "shen-run",
        "Shen et al. 2016, section III, Table II.",
        "The batches of shen-table2 to be run over time: tasks have times, which are assumed.",
        {
            **_TABLE_2,
            "map_rate": Setting(4.0, "MB of its input that a map computes in a second", 0.001, 10**6),
            "reduce_rate": Setting(10.0, "MB of what it takes in that a reduce computes in a second", 0.001, 10**6),
            "hop": Setting(0.004, "seconds that a MB takes over a hop; 0.004: 1 Gb/s over two", 0, 1000),
        },
        _run,
    ),
)
