"""Instances and numbers of single claims, which records name as `optsched.measuring.judging.cases:NAME`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from optsched.core.errors import UsageError
from optsched.core.instance import (
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Floats,
    Instance,
    Ints,
    Ragged,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.core.placement import NONE, Placement
from optsched.core.schedule import MICRO
from optsched.heuristics import run
from optsched.heuristics.ras import map_rounds
from optsched.instances.families.hsu import JOB_TYPES, MAP_RATES, OUT_RATE, PROCESS_RATES
from optsched.instances.families.labl import initial_loads
from optsched.instances.families.sampling import distinct_nodes, in_blocks, numbered
from optsched.instances.files import load
from optsched.instances.generate import generate
from optsched.measuring.judging.findings import Check, Finding
from optsched.measuring.judging.quantities import Answer
from optsched.measuring.studies.choices import parted
from optsched.problems import problem as posed_as
from optsched.problems.locality_counts import locality
from optsched.routes import frontier
from optsched.searches.assignment import cheapest_flow
from optsched.simulating import EveryRound, Levels, Simulation, simulate

__all__ = [
    "aggregate_rate",
    "apart",
    "arrived",
    "by_switches",
    "emitting",
    "endless",
    "equal_replicas",
    "extreme_rate",
    "few_large_maps",
    "first_jobs",
    "gain_at_locality",
    "half_as_many",
    "higher_loads",
    "input_sink",
    "job_time",
    "large_first",
    "last_start",
    "least_work",
    "local_by_job",
    "local_in_waves",
    "local_tasks",
    "longest_map",
    "map_deviation",
    "map_time",
    "most_asked",
    "most_local",
    "near_by_size",
    "one_node",
    "rate",
    "rated",
    "reading_time",
    "scarcest_used",
    "shuffle_shares",
    "slowdown",
    "small_round",
    "trace_like",
    "two_jobs",
]


# Shen et al.: Figure 3 -----------------------------------------------------------------------------------------------


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

# Shen et al.: rates against hops --------------------------------------------------------------------------------------


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


# Shen et al.: equation (3) --------------------------------------------------------------------------------------------

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


# Sharmilarani et al.: runs over time ---------------------------------------------------------------------------------


def large_first(seed: int, family: str, **settings: str) -> Instance:
    """Jobs of a family, the first half of them one large job that comes first; two slots of each kind a node."""
    drawn = generate(family, seed=seed, **settings)
    workload, two = drawn.workload, np.full(len(drawn.cluster), 2)
    job = np.where(workload.job < len(workload.job_ids) // 2, 0, workload.job)
    state = replace(drawn.state, idle_slots=two, idle_reduce_slots=two)
    return Instance(replace(drawn.cluster, slots=two, reduce_slots=two), replace(workload, job=job), state)


def job_time(done: Simulation, of: str) -> float:
    """The seconds that the `large` job of `large_first` takes, or the `small` ones on average."""
    times = done.raise_if_unfinished().job_times / MICRO
    return float(times[0] if of == "large" else times[1:].mean())


def slowdown(done: Simulation) -> float:
    """How many times as long as its duration some map took; the most."""
    maps = done.instance.workload.kind == MAP
    took = done.raise_if_unfinished().tasks["execution_time"].to_numpy()
    return float((took[maps] / done.instance.workload.duration[maps]).max())


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
        goal=maps.astype(np.float64),  # as many seconds as maps: the length of a map is what is required at once
        map_time=required.astype(np.float64),
    )
    cluster = Cluster(numbered("n", int(nodes)), capacity=room)
    return Instance(cluster, workload, name=f"few-large-maps-{resources}-{nodes}-{seed}")


def endless(answer: Answer) -> bool:
    """Whether the swaps of RAS as worded never end; of `utility` with `reduces=fixed`."""
    return map_rounds(answer.problem, answer.problem.fixed, improvement="literal").ended == "endless"


def scarcest_used(done: Simulation) -> float:
    """The share of the scarcest resource that tasks used, on average over the run."""
    workload, capacity = done.instance.workload, done.instance.cluster.capacity
    seconds = (done.end - done.schedule.starts) / MICRO
    makespan = done.raise_if_unfinished().makespan
    return max(
        float((seconds * demand).sum() / (capacity[name].sum() * makespan)) for name, demand in workload.demand.items()
    )


def most_asked(done: Simulation) -> float:
    """The largest share of what a tracker has of a resource that tasks on it asked for at once."""
    workload, capacity, nodes = done.instance.workload, done.instance.cluster.capacity, done.schedule.nodes
    times = np.concatenate((done.end, done.schedule.starts))
    order = np.argsort(times, kind="stable")  # at an instant tasks end first
    task, sign = order % len(workload), np.where(order < len(workload), -1.0, 1.0)
    most = 0.0
    for name, demand in workload.demand.items():
        for node, room in enumerate(capacity[name].tolist()):
            asked = np.cumsum((sign * demand[task])[nodes[task] == node])
            most = max(most, float(asked.max(initial=0.0)) / room)
    return most


# Hsu and Freeh: the rate of a round ----------------------------------------------------------------------------------


def first_jobs(seed: int, jobs: str) -> Instance:
    """`papers/hsu-workload` with the maps of its first `jobs` jobs alone."""
    whole = load("papers/hsu-workload")
    assert isinstance(whole, Instance)
    workload = whole.workload
    kept = np.flatnonzero(workload.job < int(jobs))
    fewer = Workload(
        workload.task_ids[kept],
        size=workload.size[kept],
        rate_in=workload.rate_in[kept],
        rate_in_by_type=None if workload.rate_in_by_type is None else workload.rate_in_by_type[kept],
        replicas=Ragged.from_rows([workload.replicas[task].tolist() for task in kept.tolist()]),
    )
    idle = whole.state.idle_slots
    return Instance.initial(whole.cluster, fewer, idle_slots=idle, parameters=whole.parameters, name=f"first-{jobs}")


def rate(answer: Answer) -> float:
    """Total MB/s of what a decision starts."""
    nodes = answer.decision.nodes[answer.problem.tasks]
    placed = np.flatnonzero(nodes != NONE)
    columns = np.searchsorted(answer.problem.idle_nodes, nodes[placed])
    return float(answer.problem.idle_rates[placed, columns].sum())


def extreme_rate(answer: Answer, of: str) -> float:
    """The `most` or the `least` total rate of any full placement."""
    from scipy.optimize import linear_sum_assignment

    problem = answer.problem
    slots = np.repeat(np.arange(len(problem.idle_nodes)), problem.instance.state.idle_slots[problem.idle_nodes])
    rates = problem.idle_rates[:, slots]
    return float(rates[linear_sum_assignment(rates, maximize=of == "most")].sum())


def by_switches(answer: Answer) -> Fraction:
    """The least cost of a round over one switch for each type of demand and rack, instead of an arc for each pair.

    A task pays its reading on the way to a switch, and the load of the node beyond it.
    """
    problem = answer.problem
    table = problem.table(np.arange(len(problem.tasks)))
    _, kind = np.unique(problem.idle_rates, axis=0, return_inverse=True)
    _, rack = np.unique(problem.instance.cluster.rack[problem.idle_nodes], return_inverse=True)
    tasks, nodes, racks = len(table), len(rack), int(rack.max()) + 1
    first, door = (np.unique(groups, return_index=True)[1] for groups in (kind.ravel(), rack))
    source, switch = tasks, tasks + 1 + nodes + np.arange(len(first) * racks).reshape(len(first), racks)
    host, sink = tasks + 1 + np.arange(nodes), tasks + 1 + nodes + switch.size
    beyond = table[first] - table[np.ix_(first, door)][:, rack]
    slots = problem.instance.state.idle_slots[problem.idle_nodes]
    count = min(tasks, int(slots.sum()))
    arcs = [
        (np.full(tasks, source), np.arange(tasks), np.zeros(tasks), np.ones(tasks)),
        (
            np.repeat(np.arange(tasks), racks),
            switch[kind.ravel()].ravel(),
            table[:, door].ravel(),
            np.ones(tasks * racks),
        ),
        (switch[:, rack].ravel(), np.tile(host, len(first)), beyond.ravel(), np.tile(slots, len(first))),
        (host, np.full(nodes, sink), np.zeros(nodes), slots),
    ]
    tail, head, cost, capacity = (np.concatenate(column).astype(np.int64) for column in zip(*arcs, strict=True))
    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[source], supply[sink] = count, -count
    sent = cheapest_flow(tail, head, capacity, cost, supply, "by_switches")
    return Fraction(int((sent * cost).sum()), problem.grid)


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


def aggregate_rate(done: Simulation) -> float:
    """MB/s of all tasks together, from the first start to the last end."""
    seconds = (done.end.max() - done.schedule.starts.min()) / MICRO
    return float(done.instance.workload.size.sum() / seconds)


def longest_map(done: Simulation) -> float:
    """Seconds below which no schedule ends: the longest map, where it reads fastest."""
    workload = done.instance.workload
    maps = workload.kind == MAP
    rates = workload.rate_in if workload.rate_in_by_type is None else workload.rate_in_by_type.max(axis=1)
    return float((workload.size[maps] / rates[maps]).max())


def small_round(seed: int) -> Instance:
    """Three nodes of cluster 1 with up to three running maps each, 3 to 6 maps of any type, slots for all of them."""
    rng = np.random.default_rng(seed)
    rates = MAP_RATES[:, 0]
    running = [rng.choice(rates, size=int(rng.integers(0, 4))).tolist() for _ in range(3)]
    tasks = int(rng.integers(3, 7))
    cluster = Cluster(numbered("n", 3), slots=np.full(3, tasks), rate_in=np.full(3, OUT_RATE))
    workload = Workload(numbered("t", tasks), rate_in=rng.choice(rates, size=tasks))
    return Instance.initial(cluster, workload, running_rates=Ragged.from_rows(running, float))


def arrived(seed: int, jobs: str) -> Instance:
    """`hsu-table3` where only the first `jobs` jobs wait. The others are finished."""
    drawn = generate("hsu-table3", seed=seed)
    assert isinstance(drawn, Instance)
    state, late = drawn.state, drawn.workload.job >= int(jobs)
    return drawn.with_state(replace(state, status=np.where(late, 2, state.status), node=np.where(late, 0, state.node)))


def _map_times(done: Simulation, kind: str) -> Floats:
    """Seconds of each map of the jobs of a type (`grep`)."""
    tasks = done.tasks[done.tasks["kind"] == "map"]
    times: Floats = tasks[tasks["job_id"].str.rstrip("0123456789") == kind]["execution_time"].to_numpy(dtype=float)
    return times


def map_time(done: Simulation, kind: str) -> float:
    """How long a map of a job type takes on average."""
    return float(_map_times(done, kind).mean())


def map_deviation(done: Simulation, kind: str) -> float:
    """The standard deviation of that."""
    return float(_map_times(done, kind).std())


def last_start(done: Simulation, kind: str) -> float:
    """When the last map of a job type starts, in seconds."""
    tasks = done.tasks[done.tasks["kind"] == "map"]
    return float(tasks[tasks["job_id"].str.rstrip("0123456789") == kind]["starting_time"].max())


# Guo et al.: idle slots and waves ------------------------------------------------------------------------------------


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


# Agosta et al.: jobs together and apart ------------------------------------------------------------------------------


def two_jobs(seed: int, data: str) -> Instance:
    """Two jobs of 36 tasks on 40 loaded servers: blocks of both anywhere (`mixed`), or on a half each (`split`)."""
    rng = np.random.default_rng(seed)
    servers, tasks = 40, 36
    rows = []
    for job in range(2):
        own = np.arange(servers) if data == "mixed" else np.arange(servers // 2) + job * servers // 2
        rows += [rng.choice(own, rng.integers(1, 5), replace=False).tolist() for _ in range(tasks)]
    cluster = Cluster(np.array([f"s{server}" for server in range(servers)]))
    workload = Workload(np.array([f"t{task}" for task in range(2 * tasks)]), replicas=Ragged.from_rows(rows))
    loads = initial_loads(rng, servers, 5)
    return Instance(cluster, workload, State.initial(cluster, workload, load=loads), name=f"two-jobs-{data}-{seed}")


def apart(answer: Answer, what: str) -> Fraction:
    """`work` and `end` of both halves of the tasks, the second placed on the loads of the first; `first`: its end."""
    instance: Instance = answer.problem.instance
    loads: Any = instance.state.load
    name, values = parted(answer.source, "measure")
    found = []
    for half in np.array_split(np.arange(len(instance.workload)), 2):
        rows = [instance.replicas[task].tolist() for task in half.tolist()]
        workload = Workload(instance.workload.task_ids[half], replicas=Ragged.from_rows(rows))
        state = State.initial(instance.cluster, workload, load=loads)
        posed = type(answer.problem)(Instance(instance.cluster, workload, state))
        given: dict[str, Any] = {"seed": answer.seed, **values}
        placement = run(posed, name, **given).raise_if_failed()
        local, remote = posed.counts(placement)
        loads = posed.initial_load + posed.w_loc * local + posed.w_rem * remote
        found.append(posed.objective(placement))
    ends, works = zip(*found, strict=True)
    return Fraction({"work": sum(works), "end": max(ends), "first": ends[0]}[what])


def least_work(answer: Answer, within: str) -> Fraction:
    """The least work of `latency` that ends by a given makespan."""
    points = frontier(answer.problem).points
    return min(Fraction(point.objective[1]) for point in points if point.objective[0] <= int(within))


def higher_loads(seed: int, family: str, more: str, **parameters: str) -> Instance:
    """A family with a constant added to every load."""
    drawn = generate(family, seed=seed, **parameters)
    assert isinstance(drawn, Instance)
    return drawn.with_state(replace(drawn.state, load=drawn.state.load + int(more)))
