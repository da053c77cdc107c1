"""Instances of claims and figures that no family of the library draws; records name them by path.

Each function makes an instance from a seed. The parameters of a record are texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Floats,
    Instance,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import NONE
from optsched.instances.families.base import distinct_nodes, in_blocks, numbered
from optsched.instances.families.hsu import JOB_TYPES, MAP_RATES, OUT_RATE, PROCESS_RATES
from optsched.instances.families.labl import initial_loads
from optsched.instances.files import load
from optsched.instances.generate import generate


def _one_job(sent: Floats, **fields: Any) -> Workload:
    """A job whose maps send each of its reduces these MB; shape (maps, reduces)."""
    maps, reduces = sent.shape
    return Workload(
        np.concatenate((numbered("m", maps), numbered("f", reduces))),
        kind=np.repeat([MAP, REDUCE], [maps, reduces]),
        job=np.zeros(maps + reduces, dtype=np.int64),
        job_ids=numbered("j", 1),
        shuffle=Shuffle(np.repeat(np.arange(maps), reduces), np.tile(maps + np.arange(reduces), maps), sent.ravel()),
        **fields,
    )


# Shen et al. ---------------------------------------------------------------------------------------------------------


def rated(seed: int, family: str, of: str, **settings: str) -> Instance:
    """An instance of a family with rates of 10 to 100 MB/s, drawn evenly by their logarithms.

    Each path between two nodes has its own rate (`of=paths`), or each node's link to the one switch (`of=links`).
    """
    drawn, rng = generate(family, seed=seed, **settings), np.random.default_rng(seed)
    nodes = drawn.cluster.node_ids.tolist()
    rates = np.round(np.exp(rng.uniform(np.log(10), np.log(100), size=(len(nodes), len(nodes)))))
    if of == "links":
        links = tuple((node, "switch", rate) for node, rate in zip(nodes, rates[0].tolist(), strict=True))
        topology = Topology("links", links=links)
    else:
        topology = Topology("rate", np.maximum(np.triu(rates), np.triu(rates).T))
    return replace(drawn, cluster=replace(drawn.cluster, topology=topology))


#: A map's emitted share of its output, by its progress: in proportion, as (3) assumes; at each quarter, as a buffer
#: spills; one reduce after another; early in some maps and late in others; the same, more uneven.
_EMISSIONS: Mapping[str, Callable[[Floats, Floats, np.random.Generator], Floats]] = {
    "linear": lambda size, progress, rng: size * progress,
    "four spills": lambda size, progress, rng: size * np.floor(4 * progress) / 4,
    "sorted input": lambda size, progress, rng: (
        size * np.clip(progress * size.shape[1] - np.arange(size.shape[1]), 0, 1)
    ),
    "uneven": lambda size, progress, rng: size * progress ** (4 ** rng.uniform(-1, 1, progress.shape)),
    "very uneven": lambda size, progress, rng: size * progress ** (16 ** rng.uniform(-1, 1, progress.shape)),
}


def emitting(seed: int, emission: str) -> Instance:
    """Twelve running maps at any progress on 12 nodes in 3 racks, and four reduces of their job, with a slot per node.

    A map's final output for a reduce is exponential with a mean of a quarter of its block of 128 MB.
    """
    count, reduces, block = 12, 4, 128.0
    rng = np.random.default_rng(seed)
    cluster = Cluster(
        numbered("n", count),
        rack=np.arange(count) % 3,
        rack_ids=numbered("r", 3),
        topology=Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4}),
    )
    size = rng.exponential(block / reduces, (count, reduces)).round(1)
    progress = rng.uniform(0, 1, count).round(2)
    node = rng.integers(0, count, count)
    emitted = _EMISSIONS[emission](size, progress[:, None], rng).round(3)
    workload = _one_job(size, size=np.repeat([block, np.nan], [count, reduces]))
    state = State.initial(
        cluster,
        workload,
        status=[RUNNING] * count + [PENDING] * reduces,
        node=[*node, *[NONE] * reduces],
        bytes_read=[*(progress * block), *[np.nan] * reduces],
        emitted=emitted.ravel(),
    )
    return Instance(cluster, workload, state)


def reducing(seed: int, together: str, asks: str) -> Instance:
    """A job of 16 maps and 4 reduces on 8 nodes that take in 85 MB/s; `together` reduce slots on as many as needed.

    Each map sends each reduce 100 MB, and a reduce demands `asks` MB/s.
    """
    nodes, maps, reduces = 8, 16, 4
    cluster = Cluster(
        numbered("n", nodes),
        slots=np.full(nodes, maps // nodes),
        reduce_slots=np.where(np.arange(nodes) < reduces // int(together), int(together), 0),
        rate_in=np.full(nodes, 85.0),
    )
    workload = _one_job(
        np.full((maps, reduces), 100.0),
        size=np.repeat([64.0, np.nan], [maps, reduces]),
        rate_in=np.repeat([10.0, float(asks)], [maps, reduces]),
        replicas=distinct_nodes(np.random.default_rng(seed), np.full(maps, 2), nodes).padded(reduces),
    )
    return Instance(cluster, workload)


# Sharmilarani et al. -------------------------------------------------------------------------------------------------


def large_first(seed: int, family: str, **settings: str) -> Instance:
    """Jobs of a family, the first half merged into one large job that comes first; two slots of each kind per node."""
    drawn = generate(family, seed=seed, **settings)
    workload, two = drawn.workload, np.full(len(drawn.cluster), 2)
    job = np.where(workload.job < len(workload.job_ids) // 2, 0, workload.job)
    state = replace(drawn.state, idle_slots=two, idle_reduce_slots=two)
    return Instance(replace(drawn.cluster, slots=two, reduce_slots=two), replace(workload, job=job), state)


def few_large_maps(seed: int, resources: str, nodes: str) -> Instance:
    """2 or 3 jobs of 1 to 5 maps, which take 1 to 4 of each resource on trackers with 3 to 8; goals at random."""
    rng = np.random.default_rng((seed, int(resources), int(nodes)))
    names = ["cpu", "disk", "memory"][: int(resources)]
    capacity = rng.integers(3, 8, (int(nodes), len(names)), endpoint=True)
    maps = rng.integers(1, 5, int(rng.integers(2, 3, endpoint=True)), endpoint=True)
    takes = rng.integers(1, 4, (len(maps), len(names)), endpoint=True)
    required = rng.integers(0, maps + 1, endpoint=True)
    job = np.repeat(np.arange(len(maps)), maps)
    room, demand = (dict(zip(names, table.T.astype(np.float64), strict=True)) for table in (capacity, takes[job]))
    workload = Workload(
        numbered("t", len(job)),
        job=job,
        job_ids=numbered("j", len(maps)),
        demand=demand,
        goal=maps.astype(np.float64),  # as many seconds as maps: the length of a map is then what is required at once
        map_time=required.astype(np.float64),
    )
    return Instance(Cluster(numbered("n", int(nodes)), capacity=room), workload)


# Hsu and Freeh -------------------------------------------------------------------------------------------------------


def first_jobs(seed: int, of: str, jobs: str) -> Instance:
    """An instance of the library or of a family in which only the first `jobs` jobs wait. The others are finished."""
    whole = load(of) if "/" in of else generate(of, seed=seed)
    assert isinstance(whole, Instance)
    state, late = whole.state, whole.workload.job >= int(jobs)
    status, node = np.where(late, FINISHED, state.status), np.where(late, 0, state.node)
    return whole.with_state(replace(state, status=status, node=node))


def one_node(seed: int, kind: str, maps: str, cluster: str) -> Instance:
    """Figure 5: `maps` maps of a job type at once on a node of cluster 1 or 2, which read from another node."""
    type_, number, count = JOB_TYPES.index(kind), int(cluster) - 1, int(maps)
    nodes = Cluster(
        np.array(["n", "s"]),
        slots=np.array([count, 0]),
        rate_process=np.array([PROCESS_RATES[number], np.nan]),
        rate_in=np.full(2, OUT_RATE),
        rate_out=np.full(2, OUT_RATE),
    )
    blocks = Ragged.of_lengths([1] * count, np.ones(count, dtype=np.int64))
    rates = np.full(count, MAP_RATES[type_, number])
    return Instance(nodes, Workload(numbered("m", count), size=np.full(count, 64.0), rate_in=rates, replicas=blocks))


def small_round(seed: int) -> Instance:
    """Three nodes of cluster 1 with up to three running maps each, 3 to 6 maps of any type, slots for all of them."""
    rng = np.random.default_rng(seed)
    rates = MAP_RATES[:, 0]
    running = [rng.choice(rates, size=int(rng.integers(0, 4))).tolist() for _ in range(3)]
    tasks = int(rng.integers(3, 7))
    cluster = Cluster(numbered("n", 3), slots=np.full(3, tasks), rate_in=np.full(3, OUT_RATE))
    workload = Workload(numbered("t", tasks), rate_in=rng.choice(rates, size=tasks))
    return Instance.initial(cluster, workload, running_rates=Ragged.from_rows(running, float))


#: The maps of a round, the segments of the storage nodes, the job types (rows of Table 3), and R_out. The first has the
#: paper's share of storage nodes (section 5.1). In the others storage is scarcer, or maps read more.
ROUNDS = {
    "three storage nodes": (4, (0, 0, 1), (0, 1, 2, 3), OUT_RATE),
    "two storage nodes": (5, (0, 1), (0, 1, 2, 3), OUT_RATE),
    "two and heavy maps": (5, (0, 1), (1, 3), OUT_RATE),
    "two of half the rate": (5, (0, 1), (1, 3), OUT_RATE / 2),
}


def reading_round(seed: int, setting: str) -> Instance:
    """Three compute nodes with up to three running maps each, storage up to half in use, two replicas a block."""
    maps, storage, types, rate_out = ROUNDS[setting]
    rng = np.random.default_rng(seed)
    rates = MAP_RATES[list(types)]
    segment = np.array((0, 0, 1, *storage))
    compute, storing = 3, len(storage)
    running = [rng.choice(rates[:, kind], size=int(rng.integers(0, 4))).tolist() for kind in segment[:compute]]
    in_use = np.concatenate((np.zeros(compute), rng.uniform(0, rate_out / 2, storing).round(1)))
    cluster = Cluster(
        np.concatenate((numbered("n", compute), numbered("s", storing))),
        rack=segment,
        rack_ids=numbered("c", 2),
        type=segment,
        type_ids=numbered("c", 2),
        slots=np.repeat([maps, 0], [compute, storing]),
        reduce_slots=np.zeros(len(segment), dtype=np.int64),
        rate_in=np.full(len(segment), OUT_RATE),
        rate_out=np.full(len(segment), rate_out),
    )
    demand = rates[rng.integers(0, len(rates), maps)]
    replicas = [(compute + rng.choice(storing, 2, replace=False)).tolist() for _ in range(maps)]
    workload = Workload(numbered("t", maps), rate_in_by_type=demand, replicas=Ragged.from_rows(replicas))
    rates_now = Ragged.from_rows([*running, *[[]] * storing], float)
    return Instance.initial(cluster, workload, out_in_use=in_use, running_rates=rates_now)


# Guo et al. ----------------------------------------------------------------------------------------------------------


def equal_replicas(seed: int, nodes: str, idle: str, tasks: str, replicas: str, slots: str = "1") -> Instance:
    """Blocks with the same number of replicas each, on any nodes, and `idle` idle slots anywhere."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(int(nodes), int(replicas), replace=False).tolist() for _ in range(int(tasks))]
    cluster = Cluster(numbered("n", int(nodes)), slots=np.full(int(nodes), int(slots)))
    workload = Workload(numbered("t", int(tasks)), replicas=Ragged.from_rows(rows))
    return Instance.initial(cluster, workload, idle_slots=rng.multivariate_hypergeometric(cluster.slots, int(idle)))


def half_as_many(seed: int, nodes: str) -> Instance:
    """Figure 4(c): `guo-fig4` with half as many tasks as nodes, so one for each idle slot."""
    drawn: Instance = generate("guo-fig4", seed=seed, nodes=int(nodes), tasks=int(nodes) // 2)
    return drawn


def trace_like(seed: int) -> Instance:
    """Figure 7(a): the cluster of the trace (Table III, last column), with hardly an idle slot.

    Jobs of 2^4 to 2^13 maps arrive at random. Assumed: racks of 20 nodes, times of 57 to 171 s (the slots over those
    that become free in a second), two jobs of the largest size and 1.4 times as many of each half as large, and a
    demand of maps for 98 % of the slots.
    """
    rng = np.random.default_rng(seed)
    nodes, rack, slots, replicas, load = 1500, 20, 2, 3, 0.98
    powers = range(4, 14)
    sizes = np.repeat([2**power for power in powers], [round(2 * 2 ** ((13 - power) / 2)) for power in powers])
    rng.shuffle(sizes)
    tasks = int(sizes.sum())
    duration = rng.uniform(0.5, 1.5, tasks).round(3) * round(3100 / 27.1)
    arrival = np.sort(rng.uniform(0, duration.sum() / (nodes * slots * load), len(sizes))).round(3)
    cluster = Cluster(
        numbered("n", nodes),
        rack=in_blocks(nodes, nodes // rack),
        rack_ids=numbered("r", nodes // rack),
        slots=np.full(nodes, slots),
    )
    workload = Workload(
        numbered("t", tasks),
        job=np.repeat(np.arange(len(sizes)), sizes),
        job_ids=numbered("j", len(sizes)),
        arrival=arrival,
        replicas=distinct_nodes(rng, np.full(tasks, replicas), nodes),
        duration=duration,
    )
    return Instance(cluster, workload)


def input_sink(seed: int, kind: str, disk: str, replicas: str = "3", link: str = "") -> Instance:
    """Figures 8 and 9: 400 maps of 64 MB that only read, on 10 nodes with a slot for each of 8 cores.

    The nodes are one cluster (`single`), five of each of two (`cross`), or read from 10 other nodes (`HPC`). The disks
    of a node give `disk` MB/s, and its network card takes in 117. With a `link` between clusters (Mb/s) a MB takes
    8/`link` s over it; elsewhere it takes its time with all slots of a node reading from its disk.
    """
    rng = np.random.default_rng(seed)
    maps, cores = 400, 8
    nodes, clusters = 20 if kind == "HPC" else 10, 1 if kind == "single" else 2
    rate, near = float(disk), cores / float(disk)
    hops = {"node": near, "rack": near, "off_rack": 8 / float(link)} if link else None
    cluster = Cluster(
        numbered("n", nodes),
        rack=in_blocks(nodes, clusters),
        rack_ids=numbered("c", clusters),
        slots=np.repeat([cores, 0], [10, nodes - 10]),
        rate_out=np.full(nodes, rate),
        rate_in=np.full(nodes, 117.0),
        topology=None if hops is None else Topology("hops", hops=hops),
    )
    workload = Workload(
        numbered("m", maps),
        job=np.zeros(maps, dtype=np.int64),
        job_ids=np.array(["input-sink"]),
        size=np.full(maps, 64.0),
        rate_in=np.full(maps, rate),
        duration=np.zeros(maps),
        replicas=distinct_nodes(rng, np.full(maps, int(replicas)), np.arange(10, 20) if kind == "HPC" else nodes),
    )
    return Instance(cluster, workload)


# Agosta et al. -------------------------------------------------------------------------------------------------------


def two_jobs(seed: int, data: str) -> Instance:
    """Two jobs of 36 tasks on 40 loaded servers: blocks of both anywhere (`mixed`), or on a half each (`split`)."""
    rng = np.random.default_rng(seed)
    servers, tasks = 40, 36
    rows = []
    for job in range(2):
        own = np.arange(servers) if data == "mixed" else np.arange(servers // 2) + job * servers // 2
        rows += [rng.choice(own, rng.integers(1, 5), replace=False).tolist() for _ in range(tasks)]
    cluster = Cluster(numbered("s", servers))
    workload = Workload(numbered("t", 2 * tasks), replicas=Ragged.from_rows(rows))
    return Instance.initial(cluster, workload, load=initial_loads(rng, servers, 5))


def higher_loads(seed: int, family: str, more: str, **parameters: str) -> Instance:
    """A family with a constant added to every load."""
    drawn: Instance = generate(family, seed=seed, **parameters)
    return drawn.with_state(replace(drawn.state, load=drawn.state.load + int(more)))
