"""The quantities of checks and figures: of a decision on a snapshot, and of a run over time.

Records name the quantities of all papers (`OF_SNAPSHOTS`, `OF_RUNS`), and give the path of those of single claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from optsched.core.errors import HeuristicFailed, OutOfTime, UsageError
from optsched.core.instance import KINDS, MAP, REDUCE, Cluster, Floats, Instance, Ints, Ragged, Workload
from optsched.core.placement import MICRO, NONE
from optsched.core.results import Number, Proof
from optsched.heuristics import run
from optsched.heuristics.ras import enforce, map_rounds
from optsched.heuristics.simulating import EveryRound, Levels, Simulation, simulate
from optsched.heuristics.simulating.services import Transfer
from optsched.instances.families.base import numbered
from optsched.measuring.studies.choices import parted
from optsched.problems import problem
from optsched.problems.base import GRID
from optsched.problems.distances import distances
from optsched.problems.locality_counts import locality, locality_counts
from optsched.routes import bounds, frontier, solve

__all__ = ["OF_RUNS", "OF_SNAPSHOTS", "Answer"]


class Answer:
    """A problem and a decision on it: the optimum, a heuristic's, or one that is written out."""

    def __init__(self, problem: Any, source: str | None, seed: Any = 0) -> None:
        self.problem, self.source, self.seed = problem, source or "", seed

    @cached_property
    def decision(self) -> Any:
        """The decision; HeuristicFailed if there is none."""
        if self.source == "optimum":
            return solve(self.problem).decision
        if "@" in self.source:  # written out, such as `M1@D3 M2@D2`
            pairs = (one.partition("@") for one in self.source.split())
            return run(self.problem, {task: node for task, _, node in pairs}).raise_if_failed()
        name, values = parted(self.source, "measure")
        given: dict[str, Any] = {"seed": self.seed, **values}
        done = run(self.problem, name, **given)
        if done.placement is None:
            raise HeuristicFailed(f"{self.source} on {self.problem}: {done.error}")
        return done.placement

    @cached_property
    def value(self) -> tuple[Number, ...]:
        """Its objective; HeuristicFailed if it is not feasible."""
        if broken := self.problem.violations(self.decision):
            raise HeuristicFailed(f"{self.source} on {self.problem}: {broken[0]}")
        return tuple(self.problem.objective(self.decision))


def _exact(number: Any) -> Any:
    return Fraction(int(number)) if isinstance(number, int | np.integer) else number


def _loads(answer: Answer) -> Any:
    """The final load of each server, in `latency`."""
    local, remote = answer.problem.counts(answer.decision)
    return answer.problem.initial_load + answer.problem.w_loc * local + answer.problem.w_rem * remote


@lru_cache(maxsize=1)  # the measures of one draw use the same one
def _frontier(problem: Any) -> tuple[tuple[Fraction, ...], ...]:
    """The Pareto-optimal points of a problem."""
    found = frontier(problem)
    if not found.complete:
        raise OutOfTime(f"the frontier of {problem} was not proved within the time; give more seconds")
    return tuple(tuple(map(Fraction, point.objective)) for point in found.points)


def _dominated(answer: Answer) -> Fraction:
    """1 if a point of the frontier is better, in both components together; else 0."""
    value = np.array(answer.value)
    return Fraction(any((point <= value).all() and (point < value).any() for point in _frontier(answer.problem)))


def _least(answer: Answer, component: int) -> Fraction:
    """The least of one component among decisions that are no worse in the other one."""
    held = Fraction(answer.value[1 - component])
    return min(point[component] for point in _frontier(answer.problem) if point[1 - component] <= held)


def _near(answer: Answer, place: str, kinds: Iterable[str] = KINDS) -> Fraction:
    """How many placed tasks of some kinds are in a class of `locality_counts`."""
    counts = locality_counts(answer.problem, answer.decision)
    return Fraction(sum(counts[kind][place] for kind in kinds if kind in counts))


#: Numbers of a decision, and, without a decision, of the problem.
OF_SNAPSHOTS: Mapping[str, Callable[[Answer], Any]] = {
    "first": lambda answer: _exact(answer.value[0]),
    "second": lambda answer: _exact(answer.value[1]),
    "local": lambda answer: _near(answer, "node"),
    "local maps": lambda answer: _near(answer, "node", ["map"]),
    "local reduces": lambda answer: _near(answer, "node", ["reduce"]),
    "off-rack": lambda answer: _near(answer, "off_rack"),
    "placed": lambda answer: Fraction(answer.decision.placed),
    "most load": lambda answer: _exact(_loads(answer).max()),
    "least load": lambda answer: _exact(_loads(answer).min()),
    "dominated": _dominated,
    "least first": lambda answer: _least(answer, 0),
    "least second": lambda answer: _least(answer, 1),
    "fairest": lambda answer: min(point[1] for point in _frontier(answer.problem)),
    "distance before": lambda answer: answer.problem.groups.distance(None, False),
    "tasks": lambda answer: Fraction(len(answer.problem.tasks)),
    "idle slots": lambda answer: Fraction(int(answer.problem.instance.state.idle_slots.sum())),
    "servers": lambda answer: Fraction(len(answer.problem.instance.cluster)),
    "loads": lambda answer: _exact(answer.problem.initial_load.sum()),
    "highest load": lambda answer: _exact(answer.problem.initial_load.max()),
    "least replicas": lambda answer: _replicas(answer, min),
    "most replicas": lambda answer: _replicas(answer, max),
    "datacenters": lambda answer: Fraction(len(set(answer.problem.instance.cluster.datacenter.tolist()))),
    "job input GB": lambda answer: _of_jobs(answer)[0],
    "job shuffle GB": lambda answer: _of_jobs(answer)[1],
    "map MB": lambda answer: _megabytes(answer, False),
    "reduce MB": lambda answer: _megabytes(answer, True),
    "l*": lambda answer: _exact(answer.problem.average_bound()),
    "l**": lambda answer: _exact(answer.problem.counting_bound()),
    "l_flow": lambda answer: _exact(next(one.value for one in bounds(answer.problem) if one.name == "l_flow")),
}


def _megabytes(answer: Answer, sent: bool) -> Fraction:
    """MB that all maps read, or send to reduces; a job without a filter ratio sends nothing."""
    workload = answer.problem.instance.workload
    maps = workload.kind == MAP
    each = workload.size * (np.nan_to_num(workload.filter_ratio)[workload.job] if sent else 1)
    return sum(map(Fraction, each[maps].tolist()), Fraction(0))


def _of_jobs(answer: Answer) -> tuple[Any, Any]:
    """GB that the maps of each job read, and that they send to its reduces by the shuffle."""
    workload = answer.problem.instance.workload
    shuffle, maps, jobs = workload.shuffle, workload.kind == MAP, len(workload.job_ids)
    read = np.bincount(workload.job[maps], workload.size[maps], jobs)
    return read / 1000, np.bincount(workload.job[shuffle.map], shuffle.size, jobs) / 1000


def _replicas(answer: Answer, which: Callable[[Iterable[int]], int]) -> Fraction:
    """The least or the largest number of replicas of a map's block; 0 if there are no maps."""
    workload = answer.problem.instance.workload
    return Fraction(which([*workload.replicas.lengths[workload.kind == MAP].tolist()] or [0]))


def _times(done: Simulation, kind: int) -> Any:
    """Seconds that each task of a kind took."""
    took = (done.raise_if_unfinished().end - done.schedule.starts) / MICRO
    return took[done.instance.workload.kind == kind]


#: Numbers of a run, in seconds or as shares; `times` of all jobs or tasks, `local maps` of those on their node.
OF_RUNS: Mapping[str, Callable[[Simulation], Any]] = {
    "elapsed": lambda done: done.raise_if_unfinished().makespan,
    "mean job time": lambda done: float(done.raise_if_unfinished().job_times.mean()) / MICRO,
    "most job time": lambda done: float(done.raise_if_unfinished().job_times.max()) / MICRO,
    "job times": lambda done: done.raise_if_unfinished().job_times / MICRO,
    "map times": lambda done: _times(done, MAP),
    "reduce times": lambda done: _times(done, REDUCE),
    "maps": lambda done: int(done.jobs["maps"].sum()),
    "reduces": lambda done: int(done.jobs["reduces"].sum()),
    "utilisation": lambda done: float(done.nodes["map_busy"].sum() / done.nodes["map_slots"].sum() / done.makespan),
    "local maps": lambda done: Fraction(int(done.jobs["node_local"].sum()), int(done.jobs["maps"].sum())),
    "unfinished": lambda done: Fraction(bool(done.unfinished)),
}


# Quantities of single claims; records name them by path. -------------------------------------------------------------
#
# Parameters of a record are texts. Shen et al.


def moved(done: Simulation, kind: str) -> float:
    """MB times distance that all maps of a run fetch from the nearest replica, or that its reduces take in."""
    workload, nodes, away = done.instance.workload, done.schedule.nodes, distances(done.instance)
    if kind == "map":
        maps = np.flatnonzero(workload.kind == MAP).tolist()
        return float(sum(workload.size[task] * away[workload.replicas[task], nodes[task]].min() for task in maps))
    shuffle: Any = workload.shuffle
    return float(shuffle.size @ away[nodes[shuffle.map], nodes[shuffle.reduce]])


def least_moved(done: Simulation) -> float:
    """The least that the reduces of a run could take in, given its maps: each on its cheapest node, as if alone."""
    shuffle: Any = done.instance.workload.shuffle
    tasks, nodes = len(done.instance.workload), len(done.instance.cluster)
    at = np.ravel_multi_index((shuffle.reduce, done.schedule.nodes[shuffle.map]), (tasks, nodes))
    held = np.bincount(at, shuffle.size, tasks * nodes).reshape(tasks, nodes)
    return float((held @ distances(done.instance)).min(axis=1).sum())


def local_by_job(done: Simulation) -> Floats:
    """The share of each job's maps that ran on their data."""
    shares: Floats = (done.jobs["node_local"] / done.jobs["maps"]).to_numpy(dtype=float)
    return shares


def local_tasks(done: Simulation, kind: str) -> int:
    """How many tasks of a kind ran on their data; a reduce's data is where a map of its job has ended."""
    if kind == "map":
        return int(done.jobs["node_local"].sum())
    workload, nodes = done.instance.workload, done.schedule.nodes
    maps, reduces = (np.flatnonzero(workload.kind == number) for number in (MAP, REDUCE))
    first = np.full((len(workload.job_ids), len(done.instance.cluster)), np.iinfo(np.int64).max)
    np.minimum.at(first, (workload.job[maps], nodes[maps]), done.end[maps])
    return int(np.count_nonzero(first[workload.job[reduces], nodes[reduces]] <= done.schedule.starts[reduces]))


def run_time(answer: Answer, scale: str) -> float:
    """Seconds until all maps of a decision have ended, if a MB takes `scale` seconds per distance."""
    policy = EveryRound(lambda problem, rng: answer.decision, answer.problem.name)
    done = simulate(answer.problem.instance, policy, Transfer(scale=float(scale)), heartbeat=0)
    return done.raise_if_unfinished().makespan


def refused(answer: Answer) -> int:
    """Waiting maps with a replica on a node that has a slot left."""
    problem = answer.problem
    nodes = problem.nodes_of(answer.decision)
    used = np.bincount(nodes[nodes != NONE], minlength=len(problem.instance.cluster))
    left = problem.instance.state.idle_slots > used
    return sum(bool(left[problem.instance.replicas[task]].any()) for task in problem.tasks[nodes == NONE].tolist())


# Sharmilarani et al. -------------------------------------------------------------------------------------------------


def job_time(done: Simulation, of: str) -> float:
    """The seconds that the `large` job of `instances.large_first` takes, or the `small` ones on average."""
    times = done.raise_if_unfinished().job_times / MICRO
    return float(times[0] if of == "large" else times[1:].mean())


def slowdown(done: Simulation) -> float:
    """The largest factor by which a map exceeded its duration."""
    workload = done.instance.workload
    return float((_times(done, MAP) / workload.duration[workload.kind == MAP]).max())


def endless(answer: Answer) -> bool:
    """Whether the swaps of RAS as worded never end; for `utility` with `reduces=fixed`."""
    return map_rounds(answer.problem, answer.problem.fixed, improvement="literal").ended == "endless"


def scarcest_used(done: Simulation) -> float:
    """The used share of the scarcest resource, on average over the run."""
    workload, capacity = done.instance.workload, done.instance.cluster.capacity
    seconds = (done.end - done.schedule.starts) / MICRO
    makespan = done.raise_if_unfinished().makespan
    return max(
        float((seconds * demand).sum() / (capacity[name].sum() * makespan)) for name, demand in workload.demand.items()
    )


def most_asked(done: Simulation) -> float:
    """The largest share of a tracker's resource that tasks on it demanded at once."""
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


def on_most_available(answer: Answer) -> bool:
    """Whether no tracker that gets a task is less available, by its scarcest resource, than one that gets none."""
    problem = answer.problem
    scarcest = (problem.free / problem.capacity).min(axis=1)
    used = np.isin(np.arange(len(scarcest)), problem.nodes_of(answer.decision))
    return bool(scarcest[used].min(initial=1) >= scarcest[~used].max(initial=0))


def taken_from_lowest(answer: Answer) -> int:
    """Rounds of RAS in which a job lost maps and ended no higher than the previous lowest utility; `reduces=fixed`."""
    problem = answer.problem
    worth = [problem.map_worth(job, placed) for job, placed in enumerate(problem.fixed.sum(axis=1))]
    states = [map_rounds(problem, problem.fixed, rounds=rounds) for rounds in range(1, 6)]
    return sum(
        any(now < then and worth[job][now] <= before.lowest[-1] * GRID for job, (then, now) in enumerate(counts))
        for before, after in pairwise(states)
        for counts in [zip(before.maps.sum(axis=1), after.maps.sum(axis=1), strict=True)]
    )


def overloads(answer: Answer, slots: str) -> int:
    """Steps after which a tracker exceeds its capacity, on the way from fixed slots to a decision."""
    problem, nodes = answer.problem, np.full(len(answer.problem.instance.workload), NONE)
    before = run(problem, "fair-sharing", slots=int(slots), reduce_slots=int(slots)).raise_if_failed()
    nodes[problem.tasks] = problem.nodes_of(before)
    seconds = np.random.default_rng(answer.seed).integers(1, 10, len(problem.tasks))
    count = 0
    for step in enforce(problem, before, answer.decision, seconds).steps:
        nodes[step.task] = step.node if step.what == "started" else NONE
        broken = problem.violations(problem.placement(nodes[problem.tasks]))
        count += any(fault.constraint == "capacity" for fault in broken)
    return count


def sent_across(answer: Answer) -> Fraction:
    """MB that reduces get from other datacenters, in `traffic`; the rest of the traffic is blocks of maps."""
    problem = answer.problem
    at = problem.datacenter[problem.nodes_of(answer.decision)][problem.maps]
    blocks = int(problem.map_units[np.arange(len(at)), at].sum())
    return Fraction(answer.value[0]) - Fraction(blocks, problem.grid)


# Hsu and Freeh -------------------------------------------------------------------------------------------------------


def rate(answer: Answer) -> float:
    """Total MB/s of the tasks that a decision starts."""
    nodes = answer.problem.nodes_of(answer.decision)
    placed = np.flatnonzero(nodes != NONE)
    columns = np.searchsorted(answer.problem.idle_nodes, nodes[placed])
    return float(answer.problem.idle_rates[placed, columns].sum())


def extreme_rate(answer: Answer, of: str) -> float:
    """The `most` or the `least` total rate of any full placement."""
    problem = answer.problem
    slots = np.repeat(np.arange(len(problem.idle_nodes)), problem.instance.state.idle_slots[problem.idle_nodes])
    rates = problem.idle_rates[:, slots]
    return float(rates[linear_sum_assignment(rates, maximize=of == "most")].sum())


def by_switches(answer: Answer) -> Fraction:
    """The least cost of a round over one switch for each type of demand and rack, instead of an arc for each pair.

    A task pays its reading on the way to a switch, and the load of the node beyond it. Switches have no limit, so a
    path costs the sum of its two arcs.
    """
    problem = answer.problem
    table = problem.table(np.arange(len(problem.tasks)))
    nodes, slots = problem.idle_nodes, problem.instance.state.idle_slots
    _, first, kind = np.unique(problem.idle_rates, axis=0, return_index=True, return_inverse=True)
    _, door, rack = np.unique(problem.instance.cluster.rack[nodes], return_index=True, return_inverse=True)
    beyond = table[first] - table[first][:, door[rack]]
    paths = np.repeat(table[:, door[rack]] + beyond[kind.ravel()], slots[nodes], axis=1)
    return Fraction(int(paths[linear_sum_assignment(paths)].sum()), problem.grid)


def longest_map(done: Simulation) -> float:
    """A lower limit in seconds on every schedule: the longest map, where it reads fastest."""
    workload = done.instance.workload
    maps = workload.kind == MAP
    rates = workload.rate_in if workload.rate_in_by_type is None else workload.rate_in_by_type.max(axis=1)
    return float((workload.size[maps] / rates[maps]).max())


def map_times(done: Simulation, kind: str, what: str) -> float:
    """Of the maps of a job type (`grep`): seconds that one takes on average (`mean`), the `deviation`, `last_start`."""
    tasks = done.tasks[done.tasks["kind"] == "map"]
    own = tasks[tasks["job_id"].str.rstrip("0123456789") == kind]
    times = own["execution_time"].to_numpy(dtype=float)
    return float({"mean": times.mean(), "deviation": times.std(), "last_start": own["starting_time"].max()}[what])


def searched(answer: Answer) -> Fraction:
    """0 if prices of the network prove the optimum of a round, so that nothing is searched; else 1."""
    return Fraction(solve(answer.problem).certificate is not Proof.DUAL)


def excess(answer: Answer, sources: str) -> float:
    """How far a decision is above the least cost with readers, in percent; found by trying every placement."""
    problem = answer.problem
    tried = product(problem.idle_nodes.tolist(), repeat=len(problem.tasks))
    least = min(with_readers(answer, np.array(nodes), "best") for nodes in tried)
    return 100 * (with_readers(answer, problem.nodes_of(answer.decision), sources) / least - 1)


def with_readers(answer: Answer, nodes: Ints, sources: str) -> float:
    """The cost of a placement if a map's source also serves the round's other maps that read from it.

    `flow-congestion` freezes r_out. Hsu and Freeh's first condition counts these readers (section 3.2), as the
    effective load counts the round's tasks. `sources`: `best` for these costs, or `seeming`, those that are best
    without the round's readers.
    """
    problem = answer.problem
    cluster, f_c, replicas = problem.instance.cluster, problem.parameters["f_c"], list(problem.replicas)
    rates = problem.type_rates[problem.types.of_task, nodes]
    away = np.where(cluster.rack[:, None] == cluster.rack, f_c[1], f_c[2])
    alone = (problem.instance.state.out_in_use / cluster.rate_out)[:, None] + away

    def paid(chosen: Any) -> float:
        """The cost of reading from these sources, which all serve at once."""
        at = np.array(chosen)
        readers = np.bincount(at, rates, len(cluster)) / cluster.rate_out
        return float(rates @ (alone[at, nodes] + readers[at]))

    seeming = np.array([row[alone[row, node].argmin()] for row, node in zip(replicas, nodes, strict=True)])
    rest = float(problem.evaluate(problem.placement(nodes))[0]) - float(rates @ alone[seeming, nodes])
    return rest + (paid(seeming) if sources == "seeming" else min(map(paid, product(*replicas))))


# Guo et al. ----------------------------------------------------------------------------------------------------------


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
    remote: list[int] = []

    def placed(problem: Any, rng: np.random.Generator) -> Any:
        posed = posed_as(problem.instance.with_state(replace(problem.instance.state, idle_slots=next(waves))))
        one = Answer(posed, answer.source, (answer.seed, len(remote)))
        remote.append(int(posed.evaluate(one.decision)[0]))
        return one.decision

    whole = instance.with_state(replace(instance.state, idle_slots=instance.cluster.slots))
    simulate(whole, EveryRound(placed, answer.problem.name), Levels(duration=1), heartbeat=0).raise_if_unfinished()
    return 1 - Fraction(sum(remote), len(instance.workload))


def most_local(replicas: Ragged, waves: Sequence[Ints]) -> int:
    """The most tasks on nodes with their data, over all ways to run them in waves that are full, except the last.

    It does not matter to which of the full waves a slot belongs. So each node occurs twice: with its slots of the full
    waves, and with those of the last. Further tasks with data on all nodes of the last wave take the slots that it
    leaves idle. No placement gets better by putting one of them elsewhere.
    """
    full, last, nodes = np.sum(waves[:-1], axis=0, dtype=np.int64), waves[-1], len(waves[-1])
    slots = np.concatenate([np.zeros(nodes, dtype=np.int64) + full, last])
    spare = int(slots.sum()) - len(replicas)
    if not 0 <= spare < last.sum():
        raise UsageError(f"{len(replicas)} tasks do not fill all waves but the last")
    rows = [np.concatenate([row, row + nodes]).tolist() for row in replicas]
    rows += [np.arange(nodes, 2 * nodes).tolist()] * spare
    cluster = Cluster(numbered("n", 2 * nodes), slots=slots)
    posed = problem("lsap", Instance(cluster, Workload(numbered("t", len(rows)), replicas=Ragged.from_rows(rows))))
    return len(replicas) - int(Answer(posed, "optimum").value[0])


def near_by_size(done: Simulation, maps: str, within: str) -> Fraction:
    """The share of maps of all jobs of a size that ran on a `node` with their data, or in such a `rack`.

    Jobs of the first 228 s are left out: they arrive in an empty cluster.
    """
    workload = done.instance.workload
    job = workload.job
    counted = ((np.bincount(job) == int(maps)) & (workload.arrival > 228))[job]
    near = locality(done.instance, done.schedule.placement)[counted] <= ("node", "rack").index(within)
    return Fraction(int(near.sum()), int(counted.sum()))


def reading_time(done: Simulation) -> float:
    """A lower limit in seconds on every schedule: all disks with data send all the time.

    If no node that runs maps has data, everything that is read goes through the nodes' network cards, all the time.
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


# Agosta et al. -------------------------------------------------------------------------------------------------------


def apart(answer: Answer, what: str) -> Fraction:
    """`work` and `end` of both halves of the tasks, the second placed on the loads of the first; `first`: its end."""
    instance: Instance = answer.problem.instance
    loads: Any = instance.state.load
    found = []
    for half in np.array_split(np.arange(len(instance.workload)), 2):
        rows = [instance.replicas[task].tolist() for task in half.tolist()]
        workload = Workload(instance.workload.task_ids[half], replicas=Ragged.from_rows(rows))
        posed = type(answer.problem)(Instance.initial(instance.cluster, workload, load=loads))
        own = Answer(posed, answer.source, answer.seed)
        loads = _loads(own)
        found.append(own.value)
    ends, works = zip(*found, strict=True)
    return Fraction({"work": sum(works), "end": max(ends), "first": ends[0]}[what])


def least_work(answer: Answer, within: str) -> Fraction:
    """The least work of `latency` that ends by a given makespan."""
    return min(point[1] for point in _frontier(answer.problem) if point[0] <= int(within))
