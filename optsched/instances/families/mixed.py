"""A family of our own with the fields of all problems of the papers, so that all can be posed on one instance.

It is nobody's experiment. Gap matrices show on it what a scheduler that cares for one thing costs in another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from optsched.core.instance import MAP, REDUCE, Cluster, State, Topology, Workload
from optsched.instances.families.base import Drawn, Family, Setting, require, require_distinct, settings
from optsched.instances.families.hsu import MAP_RATES, OUT_RATE, PROCESS_RATES
from optsched.instances.families.sampling import (
    ASSUMED,
    distinct_nodes,
    in_blocks,
    numbered,
    proportional_shuffle,
    replica_counts,
)

__all__ = ["FAMILIES"]


def _mixed(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(9, "nodes, of two types", 2, 10**6)],
    tasks: Annotated[int, Setting(12, "maps")],
    reduces: Annotated[int, Setting(4, "reduces", 0, 10**5)],
    jobs: Annotated[int, Setting(2, "jobs, which share maps and reduces evenly", 1, 10**5)],
    groups: Annotated[int, Setting(2, "groups, which share the jobs evenly", 1, 10**5)],
    racks: Annotated[int, Setting(3, "racks", 1, 10**6)],
    datacenters: Annotated[int, Setting(3, "datacenters, which share the racks evenly", 1, 10**6)],
    replicas: Annotated[int, Setting(2, "most replicas of a block: 1 to this", 1, 1000)],
    slots: Annotated[int, Setting(2, "map slots of each node", 1, 1000)],
) -> Drawn:
    """Whole sizes, demands, loads and times; the rates are Hsu and Freeh's."""
    require_distinct(replicas, nodes)
    require(datacenters <= racks <= nodes, f"racks is {racks}; it must be from datacenters to nodes")
    require(groups <= jobs, f"groups is {groups}; it must be at most {jobs}: each group has a job")
    cluster = _cluster(rng, nodes, racks, datacenters, slots)
    in_use = rng.uniform(0, OUT_RATE, size=nodes).round(1)
    workload = _workload(rng, nodes, tasks, reduces, jobs, groups, replicas)
    running = rng.integers(0, 3, size=groups, endpoint=True)
    labels = {
        "shuffle": ASSUMED,
        "fields": "assumed: drawn uniformly, so that every problem can be posed; no experiment of a paper",
    }
    load = rng.integers(0, 3, size=nodes)
    state = State.initial(cluster, workload, load=load, out_in_use=in_use, group_running_tasks=running)
    return Drawn(cluster, _timed(rng, workload), state, labels)


def _cluster(rng: np.random.Generator, nodes: int, racks: int, datacenters: int, slots: int) -> Cluster:
    rack = in_blocks(nodes, racks)
    return Cluster(
        numbered("n", nodes),
        rack=rack,
        rack_ids=numbered("r", racks),
        datacenter=in_blocks(racks, datacenters)[rack],
        datacenter_ids=numbered("d", datacenters),
        type=np.arange(nodes) % 2,
        type_ids=np.array(["c1", "c2"]),
        slots=np.full(nodes, slots),
        reduce_slots=np.ones(nodes, dtype=np.int64),
        capacity={
            "cpu": np.full(nodes, 4.0),
            "memory": rng.integers(6, 10, size=nodes, endpoint=True).astype(np.float64),
        },
        rate_process=np.array(PROCESS_RATES)[np.arange(nodes) % 2],
        rate_in=np.full(nodes, OUT_RATE),
        rate_out=np.full(nodes, OUT_RATE),
        topology=Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4}),
    )


def _workload(
    rng: np.random.Generator, nodes: int, tasks: int, reduces: int, jobs: int, groups: int, replicas: int
) -> Workload:
    map_job, reduce_job = in_blocks(tasks, jobs), in_blocks(reduces, jobs)
    size = rng.choice([64.0, 128.0], size=tasks)
    ratio = rng.choice([0.5, 1.0, 2.0], size=jobs)
    sent = np.bincount(map_job, size, minlength=jobs) * ratio / np.maximum(np.bincount(reduce_job, minlength=jobs), 1)
    map_time = rng.integers(20, 60, size=jobs, endpoint=True).astype(np.float64)
    rows = distinct_nodes(rng, replica_counts(rng, tasks, replicas), nodes)
    job, kind = np.concatenate((map_job, reduce_job)), np.repeat([MAP, REDUCE], [tasks, reduces])
    demand = {name: rng.integers(1, most, size=(jobs, 2), endpoint=True) for name, most in (("cpu", 2), ("memory", 4))}
    return Workload(
        np.concatenate((numbered("m", tasks), numbered("s", reduces))),
        kind=kind,
        job=job,
        size=np.concatenate((size, np.full(reduces, np.nan))),
        replicas=rows.padded(reduces),
        rate_in_by_type=MAP_RATES[rng.integers(0, 3, size=jobs)][job],
        demand={name: values[job, kind] for name, values in demand.items()},
        shuffle=proportional_shuffle(map_job, size, reduce_job, sent[reduce_job]),
        job_ids=numbered("j", jobs),
        job_group=in_blocks(jobs, groups),
        arrival=np.zeros(jobs),
        goal=2 * map_time,
        filter_ratio=ratio,
        map_time=map_time,
        group_ids=numbered("g", groups),
        group_weight=rng.integers(1, 4, size=groups, endpoint=True).astype(np.float64),
    )


def _timed(rng: np.random.Generator, workload: Workload) -> Workload:
    """The same with times of maps, `map_time` on a node with their block, and durations of reduces; alike in a job."""
    jobs, job, reduces = len(workload.job_ids), workload.job, workload.kind == REDUCE
    more = np.cumsum(rng.integers(1, 15, size=(jobs, 2), endpoint=True), axis=1)
    times = np.column_stack((np.zeros(jobs), more)) + workload.map_time[:, None]
    duration = rng.integers(10, 60, size=jobs, endpoint=True).astype(np.float64)
    return replace(
        workload,
        times=np.where(reduces[:, None], np.nan, times[job]),
        duration=np.where(reduces, duration[job], np.nan),
    )


FAMILIES = (
    Family(
        "mixed",
        "",
        "Maps and reduces with every field that a problem of the papers may need, for gap matrices.",
        settings(_mixed),
        _mixed,
    ),
)
