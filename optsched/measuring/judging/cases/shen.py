"""Shen et al.: sizes, rates, what maps have emitted, and what a run moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from optsched.core.instance import (
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Floats,
    Instance,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import NONE
from optsched.instances.families.base import distinct_nodes, numbered
from optsched.instances.generate import generate
from optsched.measuring.judging.findings import Check, Finding
from optsched.measuring.judging.quantities import Answer
from optsched.problems.distances import distances
from optsched.simulating import EveryRound, Simulation, simulate
from optsched.simulating.services import Transfer


def shuffle_shares(check: Check, draws: int) -> Finding:
    """Whether three shuffle ratios give Figure 3's numbers of jobs: 18 above 50 GB, 6 above 100, 6 below 10, of 30.

    A ratio matters only by which of the inputs of 10, 20, ..., 100 GB it lifts above each limit, so one ratio between
    any two neighbouring borders, and on each border, tries all.
    """
    sizes = range(10, 101, 10)
    borders = sorted({Fraction(limit, size) for limit in (10, 50, 100) for size in sizes})
    between = [(low + high) / 2 for low, high in pairwise([Fraction(0), *borders, borders[-1] + 1])]
    counts = {tuple(sum(test(ratio * size) for size in sizes) for test in _FIGURE_3) for ratio in (*borders, *between)}
    off = min(
        max(abs(sum(column) - told) for column, told in zip(zip(*three, strict=True), (18, 6, 6), strict=True))
        for three in combinations_with_replacement(sorted(counts), 3)
    )
    return Finding(check, off == 0, {"jobs that differ at least": [off]}, 1)


_FIGURE_3: tuple[Callable[[Fraction], bool], ...] = (lambda mb: mb > 50, lambda mb: mb > 100, lambda mb: mb < 10)


def rated(seed: int, family: str, of: str, **settings: str) -> Instance:
    """An instance of a family with rates of 10 to 100 MB/s, drawn evenly by their logarithms.

    Each path between two nodes has one of its own (`of=paths`), or each node's link to the one switch (`of=links`).
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


#: How much of its output a map has emitted, by its progress: in proportion, as (3) supposes; at each quarter, as a
#: buffer spills; one reduce after another; early in some maps and late in others; the same, more uneven.
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
    """Twelve running maps at any progress on 12 nodes in 3 racks, and four reduces of their job, with a slot a node.

    What a map emits for a reduce in the end is exponential with a mean of a quarter of its block of 128 MB.
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
    pairs = np.repeat(np.arange(count), reduces), np.tile(count + np.arange(reduces), count)
    workload = Workload(
        np.concatenate((numbered("m", count), numbered("f", reduces))),
        kind=np.repeat([MAP, REDUCE], [count, reduces]),
        job=np.zeros(count + reduces, dtype=np.int64),
        job_ids=numbered("j", 1),
        size=np.repeat([block, np.nan], [count, reduces]),
        shuffle=Shuffle(*pairs, size.ravel()),
    )
    state = State.initial(
        cluster,
        workload,
        status=[RUNNING] * count + [PENDING] * reduces,
        node=[*node, *[NONE] * reduces],
        bytes_read=[*(progress * block), *[np.nan] * reduces],
        emitted=emitted.ravel(),
    )
    return Instance(cluster, workload, state)


def moved(done: Simulation, kind: str) -> float:
    """The MB times the distance that all maps of a run fetch from the nearest replica, or that its reduces take in."""
    workload, nodes, away = done.instance.workload, done.schedule.nodes, distances(done.instance)
    if kind == "map":
        maps = np.flatnonzero(workload.kind == MAP).tolist()
        return float(sum(workload.size[task] * away[workload.replicas[task], nodes[task]].min() for task in maps))
    shuffle = workload.shuffle
    assert shuffle is not None
    return float(shuffle.size @ away[nodes[shuffle.map], nodes[shuffle.reduce]])


def least_moved(done: Simulation) -> float:
    """The least that the reduces of a run could take in where its maps ran: each on its cheapest node, as if alone."""
    shuffle, tasks, nodes = done.instance.workload.shuffle, len(done.instance.workload), len(done.instance.cluster)
    assert shuffle is not None
    at = np.ravel_multi_index((shuffle.reduce, done.schedule.nodes[shuffle.map]), (tasks, nodes))
    held = np.bincount(at, shuffle.size, tasks * nodes).reshape(tasks, nodes)
    return float((held @ distances(done.instance)).min(axis=1).sum())


def local_by_job(done: Simulation) -> Floats:
    """The share of each job's maps that ran on their data."""
    jobs = done.jobs
    shares: Floats = (jobs["node_local"] / jobs["maps"]).to_numpy(dtype=float)
    return shares


def local_tasks(done: Simulation, kind: str) -> int:
    """How many tasks of a kind ran on their data; a reduce has its data where a map of its job has ended."""
    if kind == "map":
        return int(done.jobs["node_local"].sum())
    workload, nodes = done.instance.workload, done.schedule.nodes
    maps, reduces = (np.flatnonzero(workload.kind == number) for number in (MAP, REDUCE))
    first = np.full((len(workload.job_ids), len(done.instance.cluster)), np.iinfo(np.int64).max)
    np.minimum.at(first, (workload.job[maps], nodes[maps]), done.end[maps])
    return int(np.count_nonzero(first[workload.job[reduces], nodes[reduces]] <= done.schedule.starts[reduces]))


def run_time(answer: Answer, scale: str) -> float:
    """Seconds until all maps have ended where a decision has them, if a MB takes `scale` seconds over each distance."""

    def placed(problem: Any, rng: np.random.Generator) -> Any:
        return answer.decision

    policy = EveryRound(placed, answer.problem.name)
    done = simulate(answer.problem.instance, policy, Transfer(scale=float(scale)), heartbeat=0)
    return done.raise_if_unfinished().makespan


def refused(answer: Answer) -> int:
    """Waiting maps with a replica on a node that has a slot left."""
    problem = answer.problem
    nodes = problem.nodes_of(answer.decision)
    left = problem.instance.state.idle_slots - np.bincount(
        nodes[nodes != NONE], minlength=len(problem.instance.cluster)
    )
    waiting = problem.tasks[nodes == NONE]
    return sum(bool((left[problem.instance.replicas[task]] > 0).any()) for task in waiting.tolist())


def reducing(seed: int, together: str, asks: str) -> Instance:
    """A job of 16 maps and 4 reduces on 8 nodes that take in 85 MB/s; `together` reduce slots on as many as needed.

    Each map sends each reduce 100 MB, and a reduce asks for `asks` MB/s.
    """
    nodes, maps, reduces = 8, 16, 4
    cluster = Cluster(
        numbered("n", nodes),
        slots=np.full(nodes, maps // nodes),
        reduce_slots=np.where(np.arange(nodes) < reduces // int(together), int(together), 0),
        rate_in=np.full(nodes, 85.0),
    )
    rng = np.random.default_rng(seed)
    pairs = np.repeat(np.arange(maps), reduces), np.tile(maps + np.arange(reduces), maps)
    workload = Workload(
        np.concatenate((numbered("m", maps), numbered("f", reduces))),
        kind=np.repeat([MAP, REDUCE], [maps, reduces]),
        job=np.zeros(maps + reduces, dtype=np.int64),
        job_ids=numbered("j", 1),
        size=np.repeat([64.0, np.nan], [maps, reduces]),
        rate_in=np.repeat([10.0, float(asks)], [maps, reduces]),
        replicas=distinct_nodes(rng, np.full(maps, 2), nodes).padded(reduces),
        shuffle=Shuffle(*pairs, np.full(maps * reduces, 100.0)),
    )
    return Instance(cluster, workload)
