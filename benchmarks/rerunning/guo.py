"""Guo et al. 2012 over time: locality by size of job in a full cluster (Figure 7(a)), what its loss costs (8, 9)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from study_tables import spread

from optsched.core.instance import Cluster, Instance, Topology, Workload
from optsched.instances.families.sampling import distinct_nodes, in_blocks, numbered
from optsched.problems.locality_counts import locality
from optsched.simulating import Levels
from optsched.simulating.rates import Rates
from optsched.simulating.services import Transfer
from rerunning.base import Form, Table, called, ran, shares

__all__ = ["at_once", "deployment", "full_cluster", "guo"]

#: Guo et al. 2012, Table III, last column, and IV-C: the cluster of the trace; of its 3100 slots 27.1 free a second.
NODES, SLOTS, REPLICAS, IDLE = 1500, 2, 3, 0.01
TASK_SECONDS = 3100 / 27.1

#: Sizes of jobs: 2^4 to 2^13 maps.
SMALLEST, LARGEST = 4, 13

#: Assumed: nodes of a rack; how many of the largest jobs; and the share of the slots that are asked for.
RACK, LARGE_JOBS, LOAD = 20, 2, 0.98

#: What the trace ran under is not said; its paper has delays as its own improvement.
OF_TRACE: tuple[Form, ...] = (("fair", {"delay": 0}), ("fair", {}), ("dl", {"reading": "heartbeat"}))

#: Guo et al. 2012, IV-D.
RANDOMNESS = (0.3, 0.5, 0.7, 1)

#: Assumed for Figures 8 and 9: maps of 64 MB on 10 nodes with a slot a core; a NIC of a gigabit takes in 117 MB/s, and
#: what a node's disks give out is less than that, or more.
MAPS, BLOCK, CORES, NIC, DISKS = 400, 64.0, 8, 117.0, (100.0, 400.0)

#: Guo et al. 2012, IV-E: rates of links between clusters, in Mb/s.
LINKS = (10, 1)


def guo(divide: int = 1, seeds: int = 10, **_: float) -> Iterator[Table]:
    """Figures 7(a), 8 and 9 of Guo et al. 2012."""
    yield _figure_7(divide, seeds)
    yield _figure_8(seeds)
    yield _figure_9a(seeds)
    yield _figure_9b(seeds)


def at_once(idle: float, slots: int, replicas: int) -> float:
    """The chance that a node with a task's data has an idle slot, where that share of the slots is idle.

    >>> round(at_once(0.01, 2, 3), 4)
    0.0585
    """
    return float(1 - (1 - idle) ** (slots * replicas))


def full_cluster(divide: int, seed: int) -> Instance:
    """Jobs of 2^4 to 2^13 maps (over `divide`) that come so fast that hardly a slot is idle."""
    rng = np.random.default_rng(seed)
    nodes = max(RACK, NODES // divide)
    powers = [power for power in range(SMALLEST, LARGEST + 1) if power == SMALLEST or 2**power <= 2**LARGEST / divide]
    sizes = np.repeat(2 ** np.array(powers), [round(LARGE_JOBS * 2 ** ((powers[-1] - power) / 2)) for power in powers])
    rng.shuffle(sizes)
    tasks = int(sizes.sum())
    duration = rng.uniform(0.5, 1.5, tasks).round(3) * round(TASK_SECONDS)
    span = duration.sum() / (nodes * SLOTS * LOAD)
    return Instance(
        Cluster(
            numbered("n", nodes),
            rack=in_blocks(nodes, nodes // RACK),
            rack_ids=numbered("r", nodes // RACK),
            slots=np.full(nodes, SLOTS),
        ),
        Workload(
            numbered("t", tasks),
            job=np.repeat(np.arange(len(sizes)), sizes),
            job_ids=numbered("j", len(sizes)),
            arrival=np.sort(rng.uniform(0, span, len(sizes))).round(3),
            replicas=distinct_nodes(rng, np.full(tasks, REPLICAS), nodes),
            duration=duration,
        ),
    )


def _figure_7(divide: int, seeds: int) -> Table:
    instances = [full_cluster(divide, seed) for seed in range(seeds)]
    near = {
        called(form): [
            locality(instance, ran(instance, form, Levels(), seed).schedule.placement)
            for seed, instance in enumerate(instances)
        ]
        for form in OF_TRACE
    }
    rows: list[list[object]] = []
    for size in np.unique(np.bincount(instances[0].workload.job)).tolist():
        # The first jobs come into an empty cluster.
        jobs = [
            (each.workload.arrival > 2 * TASK_SECONDS) & (np.bincount(each.workload.job) == size) for each in instances
        ]
        ours = [late[each.workload.job] for late, each in zip(jobs, instances, strict=True)]
        cells = [
            shares((np.count_nonzero(at[maps] <= level), maps.sum()) for at, maps in zip(levels, ours, strict=True))
            for levels in near.values()
            for level in (0, 1)
        ]
        rows.append([size, int(np.sum(jobs)), *cells])
    header = ["maps of the job", "jobs", *(f"{name}, {level}" for name in near for level in ("node", "rack too"))]
    told = f"on a node with a map's data {100 * at_once(IDLE, SLOTS, REPLICAS):.1f} % have an idle slot at an instant"
    return Table(f"Figure 7(a): maps near their data in a full cluster, {seeds} seeds; {told}", header, rows, 0)


def deployment(
    kind: str, seed: int, replicas: int = REPLICAS, disk: float = DISKS[0], hops: dict[str, float] | None = None
) -> Instance:
    """A job that only reads, on 10 nodes of one cluster, on 5 of each of two, or with its data on 10 other nodes."""
    rng = np.random.default_rng(seed)
    nodes = 20 if kind == "HPC" else 10
    holders = np.arange(10, 20) if kind == "HPC" else nodes
    cluster = Cluster(
        numbered("n", nodes),
        rack=in_blocks(nodes, 1 if kind == "single" else 2),
        rack_ids=np.array(["c1", "c2"][: 1 if kind == "single" else 2]),
        slots=np.repeat([CORES, 0], [10, nodes - 10]),
        rate_out=np.full(nodes, disk),
        rate_in=np.full(nodes, NIC),
        topology=None if hops is None else Topology("hops", hops=hops),
    )
    workload = Workload(
        numbered("m", MAPS),
        job=np.zeros(MAPS, dtype=np.int64),
        job_ids=["input-sink"],
        size=np.full(MAPS, BLOCK),
        rate_in=np.full(MAPS, disk),
        duration=np.zeros(MAPS),
        replicas=distinct_nodes(rng, np.full(MAPS, replicas), holders),
    )
    return Instance(cluster, workload)


#: Over time a slot that waits for others to take local tasks first is idle: the literal reading.
DL: Form = ("dl", {"reading": "heartbeat"})


def rand(randomness: float = 1) -> Form:
    """rand-sched."""
    return "rand", {"randomness": randomness, "reading": "heartbeat"}


def slower(kind: str, form: Form, disk: float, seeds: int) -> list[float]:
    """By how many per cent the job takes longer than under dl-sched in one cluster; disks and NICs are shared."""
    service = Rates(local="shared")
    return [
        100
        * (
            ran(deployment(kind, seed, disk=disk), form, service, seed).makespan
            / ran(deployment("single", seed, disk=disk), DL, service, seed).makespan
            - 1
        )
        for seed in range(seeds)
    ]


def _figure_8(seeds: int) -> Table:
    rows: list[list[object]] = [
        [f"{randomness:g}", *(f"{spread(slower('single', rand(randomness), disk, seeds))} %" for disk in DISKS)]
        for randomness in RANDOMNESS
    ]
    header = ["randomness", *(f"slower than `dl`, disks of {disk:g} MB/s" for disk in DISKS)]
    return Table(f"Figure 8: rand-sched in one cluster, {seeds} instances", header, rows)


def _figure_9a(seeds: int) -> Table:
    rows: list[list[object]] = [
        [kind, form[0], *(f"{spread(slower(kind, form, disk, seeds))} %" for disk in DISKS)]
        for kind in ("single", "cross", "HPC")
        for form in (DL, rand())
    ]
    header = ["deployment", "scheduler", *(f"slower than `dl` in one, disks of {disk:g} MB/s" for disk in DISKS)]
    return Table(f"Figure 9(a): deployments, {seeds} instances", header, rows, 2)


def _figure_9b(seeds: int) -> Table:
    rows: list[list[object]] = []
    near = CORES / DISKS[0]  # seconds a MB where all slots of a node read from its disk
    for replicas in (1, REPLICAS):
        for link in LINKS:
            times = {}
            for form in (DL, rand()):
                hops = {"node": near, "rack": near, "off_rack": 8 / link}
                runs = [
                    ran(deployment("cross", seed, replicas, hops=hops), form, Transfer(), seed) for seed in range(seeds)
                ]
                times[form[0]] = np.array([run.makespan for run in runs])
                times[form[0], "remote"] = np.array([run.locality["remote"] for run in runs]) / MAPS
            ratio = times["rand"] / times["dl"]
            cells = [f"{100 * times[name, 'remote'].mean():.1f} %" for name in ("dl", "rand")]
            rows.append([replicas, link, *cells, f"{ratio.mean():.1f}", f"{8 / link / near:.0f}"])
    header = ["replicas", "link, Mb/s", "read over it, `dl`", "`rand`", "`rand` over `dl`", "one task over the link"]
    return Table(f"Figure 9(b): two clusters with a slow link, times slower, {seeds} instances", header, rows, 0)
