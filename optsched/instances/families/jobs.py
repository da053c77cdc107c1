"""Families of whole jobs, with maps and reduces. No paper gives their numbers: they are assumed, and labelled so.

`utility` is for RAS and `traffic` for JoSS (both Sharmilarani et al.). `mixed` has the fields of all problems of the
papers, so that all can be posed on one instance. Gap matrices then show what a scheduler for one objective costs in
another.

`makespan` and `job-times` are our own: jobs arrive over time, with times by locality. Sizes of jobs fall as 1/rank, as
few jobs have most of the tasks in traces, and the rest is uniform. Times are whole seconds, equal within a job;
arrivals are those of a Poisson process.

In `day` more jobs arrive at noon than at midnight. They read files, some of which are popular. Chen, Alspaugh and Katz
describe clusters like it (Interactive analytical processing in big data systems, VLDB 2012).
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
    ASSUMED,
    LOST,
    Drawn,
    Family,
    Setting,
    dealt,
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
    zipf_weights,
)
from optsched.instances.families.hsu import MAP_RATES, OUT_RATE, PROCESS_RATES


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
    """Whole sizes, demands, loads and times; the rates are from Hsu and Freeh."""
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
    job, is_reduce = workload.job, workload.kind == REDUCE
    more = np.cumsum(rng.integers(1, 15, size=(jobs, 2), endpoint=True), axis=1)
    times = np.column_stack((np.zeros(jobs), more)) + workload.map_time[:, None]  # of maps; equal within a job
    takes = rng.integers(10, 60, size=jobs, endpoint=True).astype(np.float64)
    workload = replace(
        workload,
        times=np.where(is_reduce[:, None], np.nan, times[job]),
        duration=np.where(is_reduce, takes[job], np.nan),
    )
    return Drawn(cluster, workload, state, labels)


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
    """Slots for `tasks` tasks plus a share `spare`, spread evenly; shape (nodes,)."""
    return np.bincount(in_blocks(int(np.ceil(tasks * (1 + spare))), nodes), minlength=nodes).astype(np.int64)


#: Least and greatest capacity of a tracker: cores, disk in 10 MB/s, memory in GB. Identical trackers have the middle.
_CAPACITY = {"cpu": (8, 24), "disk": (10, 30), "memory": (24, 72)}

#: Least and greatest demand of a map, and of a reduce, in the same units.
_MAP = {"cpu": (1, 4), "disk": (1, 5), "memory": (1, 8)}
_REDUCE = {"cpu": (1, 3), "disk": (1, 6), "memory": (2, 10)}


def _utility(
    rng: np.random.Generator,
    *,
    jobs: Annotated[int, Setting(4, "jobs", 0, 10**4)],
    nodes: Annotated[int, Setting(10, "trackers", 1, 10**6)],
    types: Annotated[int, Setting(1, "kinds of trackers, dealt in turn; 1: identical ones", 1, 10**6)],
    maps: Annotated[int, Setting(40, "most pending maps of a job; at least half of it", 0, 10**6)],
    reduces: Annotated[int, Setting(4, "most pending reduces of a job; from none", 0, 10**6)],
    goals: Annotated[float, Setting(0.8, "share of the jobs that have a completion goal", 0, 1)],
    room: Annotated[
        float, Setting(1.0, "capacities of a tracker, of those that it is assumed to have; rounded down", 0, 1)
    ],
    running: Annotated[float, share("tasks that run already")],
) -> Drawn:
    """Job profiles, counts and goals uniform; the types of trackers take turns."""
    require(types <= nodes, f"types is {types}; it must be at most {nodes}: every tracker is of one type")
    kind = np.arange(nodes) % types
    capacity = {
        resource: (np.full(1, (low + high) // 2) if types == 1 else rng.integers(low, high, size=types, endpoint=True))
        for resource, (low, high) in _CAPACITY.items()
    }
    map_count = rng.integers(-(-maps // 2), maps, size=jobs, endpoint=True)
    reduce_count = rng.integers(0, reduces, size=jobs, endpoint=True)
    counts = np.column_stack([map_count, reduce_count]).ravel()
    row = np.repeat(np.arange(2 * jobs), counts)
    job, task_kind = row // 2, row % 2
    profile = {
        name: np.column_stack([rng.integers(*bounds[name], size=jobs, endpoint=True) for bounds in (_MAP, _REDUCE)])
        for name in _CAPACITY
    }
    demand = {name: column[job, task_kind].astype(np.float64) for name, column in profile.items()}
    shuffle = {"memory": np.where(task_kind == REDUCE, demand["memory"], np.nan)}
    map_time = rng.integers(20, 60, size=jobs, endpoint=True).astype(np.float64)
    at_once = 1 + rng.integers(0, np.maximum(map_count, 1))
    goal = np.where(rng.random(jobs) < goals, np.ceil(map_time * map_count / at_once), np.nan)
    cluster = Cluster(
        numbered("n", nodes),
        capacity={name: np.floor(room * values[kind]).astype(np.float64) for name, values in capacity.items()},
    )
    workload = Workload(
        numbered("t", len(job)),
        job=job,
        job_ids=numbered("j", jobs),
        kind=np.where(task_kind == REDUCE, REDUCE, MAP),
        demand=demand,
        demand_shuffle=shuffle,
        goal=goal,
        map_time=map_time,
    )
    labels = {
        "capacity": "assumed: cores, disk in 10 MB/s and memory in GB of a tracker",
        "demand": "assumed: uniform whole numbers for each job; a reduce in the shuffle phase takes its memory only",
        "goal": "assumed: from one map at once to all of them at once, uniform"
        + ("" if running else "; no maps run yet"),
    }
    status = np.where(some(rng, len(job), running), RUNNING, PENDING)
    return Drawn(
        cluster, workload, State.initial(cluster, workload, status=status, node=on(rng, status, nodes)), labels
    )


def _run(rng: np.random.Generator, *, gap: float, slots: int, reduce_slots: int, **utility: float) -> Drawn:
    """The same with jobs that arrive one after another, and with durations of tasks."""
    drawn = _utility(rng, running=0, **utility)  # type: ignore[arg-type]
    workload, nodes = drawn.workload, len(drawn.cluster)
    arrival = np.round(np.cumsum(rng.exponential(1, len(workload.job_ids))) * gap, 3)
    takes = workload.map_time[workload.job]
    workload = replace(
        workload,
        arrival=arrival,
        goal=arrival + workload.goal,
        duration=np.where(workload.kind == MAP, takes, 2 * takes),
    )
    cluster = replace(drawn.cluster, slots=np.full(nodes, slots), reduce_slots=np.full(nodes, reduce_slots))
    labels = {
        "duration": "assumed: a map takes its job's map time, a reduce twice as long; the paper gives none",
        "arrival": f"assumed: a Poisson process, {gap:g} s apart in the mean; goals are counted from there",
        "slots": "assumed: the paper's scheduler has none; for policies that go by slots",
    }
    return Drawn(cluster, workload, State.initial(cluster, workload), {**drawn.labels, **labels})


# Over time -----------------------------------------------------------------------------------------------------------

#: The forms of distances, by the numbers of their setting; one number more stands for any of them.
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
    """Running tasks and busy slots are at random; the times of running tasks continue from before the snapshot."""
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
    """Arrivals to the millisecond: at the snapshot for the first job, begun jobs, and all jobs without a gap."""
    gaps = rng.exponential(gap, size=jobs) if gap else np.zeros(jobs)
    gaps[:1] = 0
    arrival: Floats = np.cumsum(gaps).round(3)
    arrival[begun] = 0
    return arrival


def _state(
    rng: np.random.Generator, cluster: Cluster, workload: Workload, ended: Bools, runs: Bools, busy: float
) -> State:
    """The state: maps ended or run on slots at random; busy slots are not idle, but run no listed task."""
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


#: The mean number of jobs that share a file.
_JOBS_A_FILE = 3

#: Standard deviation of the logarithm of the seconds of a job's tasks.
_SPREAD = 0.7

#: The hours after which arrivals repeat.
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
    drawn = rng.lognormal(0.0, _SPREAD, size=jobs)  # seconds of a task of each job, before scaling to the load
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
    """The nodes of the block of each map; jobs that read the same file share its first blocks."""
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
    """Arrivals in seconds to the millisecond: points of a Poisson process whose rate is proportional to 1 - swing cos(2
    pi t / 24 h).
    """
    at = np.linspace(0, hours, 1 + math.ceil(60 * hours))
    passed = at - swing * _DAY / (2 * math.pi) * np.sin(2 * math.pi * at / _DAY)
    drawn = np.sort(np.interp(rng.random(jobs) * passed[-1], passed, at))
    arrival: Floats = (drawn * 3600).round(3)
    return arrival


FAMILIES = (
    Family(
        "utility",
        "Sharmilarani et al., section III.",
        "Jobs with profiles of three resources and completion goals on trackers that cannot hold all of their tasks.",
        settings(_utility),
        _utility,
    ),
    Family(
        "ras-run",
        "Sharmilarani et al., section III.",
        "The jobs of utility to be run over time: they arrive one after another, and their tasks have times.",
        {
            **{name: setting for name, setting in settings(_utility).items() if name != "running"},
            "gap": Setting(60.0, "mean seconds between the arrivals of two jobs", 0, 10**6),
            "slots": Setting(4, "map slots of each tracker", 0, 1000),
            "reduce_slots": Setting(2, "reduce slots of each tracker", 0, 1000),
        },
        _run,
    ),
    Family(
        "traffic",
        "Sharmilarani et al., section II.D.",
        "Jobs of maps and reduces on nodes in datacenters, with uniformly random replicas, 1 to R a block.",
        settings(_traffic),
        _traffic,
    ),
    Family(
        "mixed",
        "",
        "Maps and reduces with every field that a problem of the papers may need, for gap matrices.",
        settings(_mixed),
        _mixed,
    ),
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
