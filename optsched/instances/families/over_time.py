"""Our own families of jobs that arrive over time, with times by locality; and a day of a cluster.

They are nobody's experiment: sizes of jobs fall as 1/rank, as few jobs have most of the tasks in traces, and the rest
is uniform. Times are whole seconds, alike within a job; arrivals are those of a Poisson process.

`day` has jobs that come more often at noon than at midnight, and read files, some of them popular. Chen, Alspaugh and
Katz describe clusters like it (Interactive analytical processing in big data systems, VLDB 2012).
The figures are assumed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated

import numpy as np

from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Bools,
    Cluster,
    Floats,
    Ints,
    Ragged,
    State,
    Topology,
    Workload,
)
from optsched.instances.families.base import (
    LOST,
    Drawn,
    Family,
    Setting,
    dealt,
    distinct_nodes,
    in_blocks,
    numbered,
    racked,
    replica_counts,
    require,
    require_distinct,
    settings,
    share,
    some,
    zipf_weights,
)

#: The distances that there are, by the numbers of their setting; one more is any of them.
_FORMS = {1: "hops", 2: "links of switches on two levels", 3: "links of switches, uneven", 4: "a matrix, uneven"}
_ANY = len(_FORMS) + 1


def _over_time(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(10, "nodes", 1, 10**6)],
    tasks: Annotated[int, Setting(60, "maps")],
    reduces: Annotated[int, Setting(6, "reduces", 0, 10**6)],
    jobs: Annotated[int, Setting(4, "jobs; the share of each falls as 1 over its rank", 1, 10**6)],
    groups: Annotated[int, Setting(1, "groups, which share the jobs evenly", 1, 10**6)],
    racks: Annotated[int, Setting(2, "racks", 1, 10**6)],
    replicas: Annotated[int, Setting(3, "most replicas of a block: 1 to this", 1, 1000)],
    slots: Annotated[int, Setting(2, "map slots of each node", 0, 1000)],
    reduce_slots: Annotated[int, Setting(1, "reduce slots of each node", 0, 1000)],
    longest: Annotated[int, Setting(60, "most seconds of a map on its data, and of a reduce", 1, 10**6)],
    gap: Annotated[float, Setting(0.0, "mean seconds between arrivals; 0: all jobs are there at once", 0, 10**6)],
    lost: Annotated[float, LOST],
    finished: Annotated[float, share("maps that have ended")],
    running: Annotated[float, share("other maps, which run")],
    busy: Annotated[float, share("map slots that are not idle, though nothing listed runs there")],
    distances: Annotated[
        int,
        Setting(
            0,
            "how far nodes are apart, for service=transfer: 0 not given, 1 hops, 2 switches on two levels, 3 uneven "
            "links, 4 an uneven matrix, 5 any of these",
            choices=tuple(range(_ANY + 1)),
            later=True,
        ),
    ],
    size: Annotated[int, Setting(4, "most MB of a block, if distances are given", 0, 10**6, later=True)],
) -> Drawn:
    """What runs and what is busy holds slots at random; the times of all that runs go on from before the snapshot."""
    require_distinct(replicas, nodes)
    require(groups <= jobs, f"groups is {groups}; it must be at most {jobs}: each group has a job")
    cluster = racked(nodes, racks, slots, reduce_slots=reduce_slots)
    job = np.concatenate((dealt(rng, tasks, jobs), dealt(rng, reduces, jobs)))
    kind = np.repeat([MAP, REDUCE], [tasks, reduces])
    rows = distinct_nodes(rng, replica_counts(rng, tasks, replicas, lost), nodes)
    times, duration = _times(rng, jobs, longest)
    ended = some(rng, tasks, finished)
    runs = np.zeros(tasks, dtype=bool)
    runs[np.flatnonzero(~ended)] = some(rng, int((~ended).sum()), running)
    workload = Workload(
        np.concatenate((numbered("m", tasks), numbered("s", reduces))),
        kind=kind,
        job=job,
        replicas=rows.padded(reduces),
        times=np.where((kind == REDUCE)[:, None], np.nan, times[job]),
        duration=np.where(kind == REDUCE, duration[job], np.nan),
        job_ids=numbered("j", jobs),
        job_group=in_blocks(jobs, groups),
        arrival=_arrivals(rng, jobs, gap, job[:tasks][ended | runs]),
        group_ids=numbered("g", groups),
        group_weight=rng.integers(1, 4, size=groups, endpoint=True).astype(np.float64),
    )
    labels = {"times": "assumed: whole seconds, uniform, alike in a job; no experiment of a paper"}
    state = _state(rng, cluster, workload, ended, runs, busy)
    if distances:
        form = distances if distances < _ANY else int(rng.integers(1, _ANY))
        cluster = replace(cluster, topology=_topology(rng, form, cluster))
        blocks = np.where(kind == MAP, rng.integers(0, size, size=len(kind), endpoint=True), np.nan)
        workload = replace(workload, size=blocks)
        labels |= {"topology": f"assumed: {_FORMS[form]}", "size": "assumed: whole MB, uniform"}
    return Drawn(cluster, workload, state, labels)


def _topology(rng: np.random.Generator, form: int, cluster: Cluster) -> Topology:
    """Distances in whole seconds a MB at a scale of 1."""
    nodes, names = len(cluster), cluster.node_ids.tolist()
    if form == 1:
        return Topology("hops", hops={"node": 0, "rack": 1, "off_rack": 3})
    if form == 4:
        matrix = rng.integers(1, 4, size=(nodes, nodes), endpoint=True).astype(np.float64)
        np.fill_diagonal(matrix, 0)
        return Topology("distance", matrix)
    switches = -(-nodes // 2)  # each above two nodes, and one above all
    if form == 2:
        rates = [2.0] * nodes + [1.0] * switches
    else:
        rates = (1 / rng.integers(1, 3, size=nodes + switches, endpoint=True)).tolist()
    ends = [(name, f"switch{place // 2}") for place, name in enumerate(names)]
    ends += [(f"switch{place}", "above") for place in range(switches)]
    return Topology("links", links=tuple((*pair, rate) for pair, rate in zip(ends, rates, strict=True)))


def _times(rng: np.random.Generator, jobs: int, longest: int) -> tuple[Floats, Floats]:
    """For each job the seconds of its maps by locality, each step up to half as much again, and of its reduces."""
    near = rng.integers(1, longest, size=jobs, endpoint=True)
    more = np.cumsum(rng.integers(1, max(1, longest // 2), size=(jobs, 2), endpoint=True), axis=1)
    times = (near[:, None] + np.column_stack((np.zeros(jobs, dtype=np.int64), more))).astype(np.float64)
    return times, rng.integers(1, longest, size=jobs, endpoint=True).astype(np.float64)


def _arrivals(rng: np.random.Generator, jobs: int, gap: float, begun: Ints) -> Floats:
    """When jobs arrive, to the millisecond: at the snapshot the first one, those that have begun, all without a gap."""
    gaps = rng.exponential(gap, size=jobs) if gap else np.zeros(jobs)
    gaps[:1] = 0
    arrival: Floats = np.cumsum(gaps).round(3)
    arrival[begun] = 0
    return arrival


def _state(
    rng: np.random.Generator, cluster: Cluster, workload: Workload, ended: Bools, runs: Bools, busy: float
) -> State:
    """The state: maps ended or run on slots at random; busy slots are not idle, though nothing listed runs there."""
    maps, nodes, slots = len(ended), len(cluster), int(cluster.slots.sum())
    held, taken = int(runs.sum()), round(busy * slots)
    require(held + taken <= slots, f"{held} maps run and {taken} slots are busy: there are {slots} map slots")
    of_slot = np.repeat(np.arange(nodes), cluster.slots)
    where = of_slot[rng.choice(slots, held + taken, replace=False) if slots else []]
    status, node = np.full(len(workload), PENDING), np.full(len(workload), -1)
    start = np.full(len(workload), np.nan)
    status[:maps] = np.select([ended, runs], [FINISHED, RUNNING], PENDING)
    node[:maps][runs] = where[:held]
    node[:maps][ended] = rng.integers(0, nodes, size=int(ended.sum()))
    start[:maps][runs] = -np.floor(workload.times[:maps][runs, 0] * rng.random(held))
    idle = cluster.slots - np.bincount(where, minlength=nodes)
    return State.initial(cluster, workload, status=status, node=node, start=start, idle_slots=idle)


#: Jobs that share a file, on average.
_JOBS_A_FILE = 3

#: Standard deviation of the logarithm of the seconds that a task of a job takes.
_SPREAD = 0.7

#: The hours after which arrivals start over.
_DAY = 24.0


def _day(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(10, "nodes", 1, 10**6)],
    tasks: Annotated[int, Setting(1200, "maps")],
    reduces: Annotated[int, Setting(120, "reduces", 0, 10**6)],
    jobs: Annotated[int, Setting(120, "jobs; the share of each falls as 1 over its rank", 1, 10**6)],
    racks: Annotated[int, Setting(2, "racks", 1, 10**6)],
    replicas: Annotated[int, Setting(3, "replicas of a block", 1, 1000)],
    slots: Annotated[int, Setting(2, "map slots of each node", 1, 1000)],
    reduce_slots: Annotated[int, Setting(1, "reduce slots of each node", 0, 1000)],
    hours: Annotated[float, Setting(24.0, "hours in which jobs arrive", 0.01, 10**4)],
    load: Annotated[
        float, Setting(0.7, "share of the map slots that maps on their data hold over these hours", 0.01, 100)
    ],
    swing: Annotated[float, Setting(0.8, "how much arrivals change over the day: 0 evenly, 1 none at midnight", 0, 1)],
    factors: Annotated[
        tuple[float, ...],
        Setting((1.0, 1.2, 1.6), "how many times as long a map takes on its data, in its rack, beyond", 0.01, 1000),
    ],
) -> Drawn:
    """Block k of a job is block k of its file; times by locality are those on the data times the factors."""
    require_distinct(replicas, nodes)
    require(len(factors) == 3, f"factors has {len(factors)} numbers; it takes three: node, rack, off-rack")
    cluster = racked(nodes, racks, slots, reduce_slots=reduce_slots)
    job = np.concatenate((dealt(rng, tasks, jobs), dealt(rng, reduces, jobs)))
    reduce = np.arange(len(job)) >= tasks
    counts = np.bincount(job[:tasks], minlength=jobs)
    drawn = rng.lognormal(0.0, _SPREAD, size=jobs)  # seconds of a task of each job, before all maps make up the load
    work, total = load * nodes * slots * hours * 3600, float(drawn @ counts)
    seconds: Floats = np.maximum(1, (drawn * (work / total if total else 1)).round())
    workload = Workload(
        np.concatenate((numbered("m", tasks), numbered("s", reduces))),
        kind=np.where(reduce, REDUCE, MAP),
        job=job,
        replicas=_replicas(rng, counts, job[:tasks], replicas, nodes).padded(reduces),
        times=np.where(reduce[:, None], np.nan, seconds[job][:, None] * np.asarray(factors)),
        duration=np.where(reduce, seconds[job], np.nan),
        job_ids=numbered("j", jobs),
        arrival=_arrivals_of_a_day(rng, jobs, hours, swing),
    )
    labels = {
        "times": "assumed: log-normal, alike in a job, scaled to the load; no experiment of a paper",
        "arrivals": "assumed: a Poisson process, least at midnight and greatest at noon",
        "blocks": "assumed: files by popularity, replicas on different nodes at random",
    }
    return Drawn(cluster, workload, State.initial(cluster, workload), labels)


def _replicas(rng: np.random.Generator, counts: Ints, job: Ints, replicas: int, nodes: int) -> Ragged:
    """The nodes of the block of each map; jobs that read the same file share its blocks from the first on."""
    files = math.ceil(len(counts) / _JOBS_A_FILE)
    popular = np.cumsum(zipf_weights(rng, files, 1.0))
    file = np.searchsorted(popular, rng.integers(0, popular[-1], size=len(counts)), side="right")
    length = np.zeros(files, dtype=np.int64)
    np.maximum.at(length, file, counts)
    held = distinct_nodes(rng, np.full(int(length.sum()), replicas), nodes).values.reshape(-1, replicas)
    within = np.arange(len(job)) - (np.cumsum(counts) - counts)[job]
    block = (np.cumsum(length) - length)[file[job]] + within
    return Ragged.of_lengths(np.full(len(job), replicas), held[block].ravel())


def _arrivals_of_a_day(rng: np.random.Generator, jobs: int, hours: float, swing: float) -> Floats:
    """When jobs arrive, in seconds to the millisecond: points of a Poisson process, whose rate goes as
    1 - swing cos(2 pi t / 24 h).
    """
    at = np.linspace(0, hours, 1 + math.ceil(60 * hours))
    passed = at - swing * _DAY / (2 * math.pi) * np.sin(2 * math.pi * at / _DAY)
    drawn = np.sort(np.interp(rng.random(jobs) * passed[-1], passed, at))
    arrival: Floats = (drawn * 3600).round(3)
    return arrival


FAMILIES = (
    Family(
        "makespan",
        "",
        "Maps with times by locality and reduces, of jobs that are all there, on slots over time.",
        settings(_over_time),
        _over_time,
    ),
    Family(
        "job-times",
        "",
        "Jobs that arrive one after another, with times of their maps by locality, on slots over time.",
        {
            **settings(_over_time),
            "jobs": Setting(8, "jobs; the share of each falls as 1 over its rank", 1, 10**6),
            "gap": Setting(20.0, "mean seconds between arrivals; 0: all jobs are there at once", 0, 10**6),
        },
        _over_time,
    ),
    Family(
        "day",
        "",
        "Jobs that arrive over a day, more of them at noon, and read popular files; times by locality.",
        settings(_day),
        _day,
    ),
)
