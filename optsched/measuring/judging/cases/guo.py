"""Guo et al.: idle slots, waves, and runs that only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from optsched.core.errors import UsageError
from optsched.core.instance import Cluster, Instance, Ints, Ragged, Topology, Workload
from optsched.core.placement import Placement
from optsched.heuristics import run
from optsched.instances.families.base import distinct_nodes, in_blocks, numbered
from optsched.instances.generate import generate
from optsched.measuring.judging.quantities import Answer
from optsched.measuring.studies.choices import parted
from optsched.problems import problem as posed_as
from optsched.problems.locality_counts import locality
from optsched.routes import frontier
from optsched.simulating import EveryRound, Levels, Simulation, simulate


def equal_replicas(seed: int, nodes: str, idle: str, tasks: str, replicas: str, slots: str = "1") -> Instance:
    """Blocks with the same number of replicas each, on any nodes, and `idle` idle slots anywhere."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(int(nodes), int(replicas), replace=False).tolist() for _ in range(int(tasks))]
    cluster = Cluster(np.array([f"n{node}" for node in range(int(nodes))]), slots=np.full(int(nodes), int(slots)))
    workload = Workload(np.array([f"t{task}" for task in range(int(tasks))]), replicas=Ragged.from_rows(rows))
    free = rng.multivariate_hypergeometric(cluster.slots, int(idle))
    return Instance.initial(cluster, workload, idle_slots=free, name=f"equal-replicas-{seed}")


def half_as_many(seed: int, nodes: str) -> Instance:
    """Figure 4(c): `guo-fig4` with half as many tasks as nodes, so with one for each idle slot."""
    drawn = generate("guo-fig4", seed=seed, nodes=int(nodes), tasks=int(nodes) // 2)
    assert isinstance(drawn, Instance)
    return drawn


def _waves(instance: Instance, seed: int) -> Iterator[Ints]:
    """The idle slots of each wave: those of the instance, then as many drawn afresh from all slots."""
    drawn = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2,)))  # 0 and 1 are the runs' own
    idle = instance.state.idle_slots
    while True:
        yield idle
        idle = drawn.multivariate_hypergeometric(instance.cluster.slots, int(instance.state.idle_slots.sum()))


def local_in_waves(answer: Answer) -> Fraction:
    """The share of tasks that are local if all run in waves, each with idle slots drawn afresh (their Table III).

    The `optimum` knows the idle slots of all waves, and fills all but the last.
    """
    instance, posed_as = answer.problem.instance, type(answer.problem)
    waves = _waves(instance, answer.seed)
    if answer.source == "optimum":
        several = [next(waves)]
        while sum(int(wave.sum()) for wave in several) < len(instance.workload):
            several.append(next(waves))
        return Fraction(most_local(instance.replicas, several), len(instance.workload))
    name, values = parted(answer.source, "measure")
    remote: list[int] = []

    def placed(problem: Any, rng: np.random.Generator) -> Placement | None:
        posed = posed_as(problem.instance.with_state(replace(problem.instance.state, idle_slots=next(waves))))
        given: dict[str, Any] = {"seed": (answer.seed, len(remote)), **values}
        placement = run(posed, name, **given).raise_if_failed()
        remote.append(int(posed.evaluate(placement)[0]))
        return placement

    whole = instance.with_state(replace(instance.state, idle_slots=instance.cluster.slots))
    simulate(whole, EveryRound(placed, answer.problem.name), Levels(duration=1), heartbeat=0).raise_if_unfinished()
    return 1 - Fraction(sum(remote), len(instance.workload))


def most_local(replicas: Ragged, waves: Sequence[Ints]) -> int:
    """The most tasks on nodes with their data, of all ways to run them in waves that are full, all but the last.

    To which of the full waves a slot belongs changes nothing. So each node is there twice: with its slots of the full
    waves, and with those of the last. Slots that the last wave leaves idle are taken by further tasks that have their
    data on all nodes of the last wave. A placement that puts one of them elsewhere is never a better one.
    """
    full, last, nodes = np.sum(waves[:-1], axis=0, dtype=np.int64), waves[-1], len(waves[-1])
    slots = np.concatenate([np.zeros(nodes, dtype=np.int64) + full, last])
    spare = int(slots.sum()) - len(replicas)
    if not 0 <= spare < last.sum():
        raise UsageError(f"{len(replicas)} tasks do not fill all waves but the last")
    rows = [np.concatenate([row, row + nodes]).tolist() for row in replicas]
    rows += [np.arange(nodes, 2 * nodes).tolist()] * spare
    cluster = Cluster(numbered("n", 2 * nodes), slots=slots)
    problem = posed_as("lsap", Instance(cluster, Workload(numbered("t", len(rows)), replicas=Ragged.from_rows(rows))))
    return len(replicas) - int(Answer(problem, "optimum").value[0])


def gain_at_locality(answer: Answer) -> Fraction:
    """The most by which any placement lowers the distance from fair shares, of those that are as local or more so."""
    off_data = answer.value[0]
    least = min(Fraction(value[1]) for value in frontier(answer.problem).values if value[0] <= off_data)
    return Fraction(answer.problem.groups.distance(None, False)) - least


def trace_like(seed: int) -> Instance:
    """Figure 7(a): the cluster of the trace (Table III, last column), in which hardly a slot is idle.

    Jobs of 2^4 to 2^13 maps come at random. Assumed: racks of 20 nodes, times of 57 to 171 s (the slots over those that
    free in a second), two jobs of the largest size and 1.4 times as many of each half as large, and maps that ask for
    98 % of the slots.
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


def near_by_size(done: Simulation, maps: str, within: str) -> Fraction:
    """The share of maps of all jobs of a size that ran on a `node` with their data, or in such a `rack`.

    Jobs of the first 228 s are left out: they come into an empty cluster.
    """
    workload = done.instance.workload
    job = workload.job
    counted = ((np.bincount(job) == int(maps)) & (workload.arrival > 228))[job]
    near = locality(done.instance, done.schedule.placement)[counted] <= ("node", "rack").index(within)
    return Fraction(int(near.sum()), int(counted.sum()))


def input_sink(seed: int, kind: str, disk: str, replicas: str = "3", link: str = "") -> Instance:
    """Figures 8 and 9: 400 maps of 64 MB that only read, on 10 nodes with a slot for each of 8 cores.

    The nodes are one cluster (`single`), five of each of two (`cross`), or read from 10 other nodes (`HPC`). The disks
    of a node give out `disk` MB/s, and its network card takes in 117. With a `link` between clusters (Mb/s) a MB takes
    8/`link` s over it, and elsewhere what it takes if all slots of a node read from its disk.
    """
    rng = np.random.default_rng(seed)
    maps, cores = 400, 8
    nodes = 20 if kind == "HPC" else 10
    rate, near = float(disk), cores / float(disk)
    hops = {"node": near, "rack": near, "off_rack": 8 / float(link)} if link else None
    cluster = Cluster(
        numbered("n", nodes),
        rack=in_blocks(nodes, 1 if kind == "single" else 2),
        rack_ids=np.array(["c1", "c2"][: 1 if kind == "single" else 2]),
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


def reading_time(done: Simulation) -> float:
    """Seconds below which no schedule ends: all disks with data give out all the time.

    If no node that runs maps has data, all that is read goes through their network cards, all the time.
    """
    instance, nodes = done.instance, done.instance.cluster
    read, holders, running = instance.workload.size.sum(), np.unique(instance.replicas.values), nodes.slots > 0
    times = [read / nodes.rate_out[holders].sum()]
    if not running[holders].any():
        times.append(read / nodes.rate_in[running].sum())
    return float(max(times))


def with_dummies(answer: Answer, constant: str) -> Fraction:
    """Tasks off their data, if rows or columns of one constant make the matrix of costs square (their Figure 3)."""
    instance = answer.problem.instance
    slots = np.repeat(np.arange(len(instance.cluster)), instance.state.idle_slots)
    off_data = np.array([~np.isin(slots, row) for row in instance.replicas], dtype=float)
    tasks, side = len(off_data), max(off_data.shape)
    square = np.full((side, side), float(constant))
    square[:tasks, : len(slots)] = off_data
    row, column = linear_sum_assignment(square)
    real = (row < tasks) & (column < len(slots))
    return Fraction(int(off_data[row[real], column[real]].sum()))
