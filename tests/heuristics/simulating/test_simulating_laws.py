"""What is known of runs beforehand: bounds of list scheduling, queues with closed forms, and proved bounds."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import factorial, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.locality_theory import expected_local_tasks
from over_time import arriving

from optsched.core.errors import MissingField
from optsched.core.instance import MAP, Cluster, Instance, Ragged, Topology, Workload
from optsched.core.placement import MICRO
from optsched.heuristics import HEURISTICS
from optsched.heuristics.running.base import Event, Offer, View
from optsched.heuristics.simulating import EveryRound, simulate
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan

POLICIES = [name for name, entry in HEURISTICS.items() if entry.online]


class InOrder:
    """The first task that waits, by a queue of its own."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.known, self.waiting = 0, deque[int]()
        self.notify(Event(0, "job-arrived", 0), view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self.waiting.extend(range(self.known, len(view.status)))
            self.known = len(view.status)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        return (self.waiting.popleft(),) if self.waiting else ()


@settings(max_examples=40)
@given(
    takes=st.lists(st.integers(0, 50), min_size=1, max_size=14),
    slots=st.lists(st.integers(1, 3), min_size=1, max_size=4),
)
def test_bounds_of_mcnaughton_and_graham(takes: list[int], slots: list[int]) -> None:
    """Tests that no run is shorter than the work on all slots or the longest task, and list scheduling not much longer.

    Graham 1966: at most 2 - 1/m times the larger of the two, on m equal slots; McNaughton 1959: that is the optimum of
    tasks that may be broken off.
    """
    workload = Workload([f"t{task}" for task in range(len(takes))], duration=takes)
    cluster = Cluster([f"n{node}" for node in range(len(slots))], slots=slots)
    run = simulate(Instance(cluster, workload), InOrder, heartbeat=0)
    many = sum(slots)
    ends, lower = int(run.end.max()), max(max(takes) * 10**6 * many, sum(takes) * 10**6)
    assert lower <= ends * many
    assert ends * many * many <= (2 * many - 1) * lower


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), policy=st.sampled_from(POLICIES), heartbeat=st.sampled_from([0, 0.5, 3]))
def test_no_run_beats_a_bound(seed: int, policy: str, heartbeat: float) -> None:
    """Tests that each run is a feasible schedule of both problems, and no better than what bounds it."""
    instance = arriving(seed, nodes=3, tasks=8, reduces=3)
    run = simulate(instance, policy, heartbeat=heartbeat, seed=seed)
    assert run.unfinished == ""
    for problem in (Makespan(run.instance), JobTimes(run.instance)):
        assert problem.violations(run.schedule) == []
        (value,) = problem.evaluate(run.schedule)
        assert all(bound.value <= value for bound in problem.cheap_bounds())
        assert problem.ends(run.schedule).tolist() == run.end.tolist()


@pytest.mark.thorough
@settings(max_examples=400)
@given(seed=st.integers(0, 10**6), policy=st.sampled_from(POLICIES), heartbeat=st.sampled_from([0, 0.5, 3]))
def test_no_run_beats_a_bound_among_many(seed: int, policy: str, heartbeat: float) -> None:
    """Tests the same over many runs."""
    test_no_run_beats_a_bound.hypothesis.inner_test(seed, policy, heartbeat)


def waiting_times(servers: int, load: float, jobs: int, seed: int, exponential: bool) -> np.ndarray:
    """How long each of many jobs of one task waits, in mean service times, at Poisson arrivals."""
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(1 / (load * servers), jobs))
    takes = rng.exponential(1, jobs) if exponential else np.ones(jobs)
    names = [str(job) for job in range(jobs)]
    workload = Workload(names, job=np.arange(jobs), job_ids=names, arrival=arrival, duration=takes)
    run = simulate(Instance(Cluster(["n"], slots=[servers]), workload), InOrder, heartbeat=0)
    return np.asarray((run.schedule.starts / 10**6 - arrival)[jobs // 10 :])


def rounds_of_guo(sizes: Sequence[int], takes: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rounds of the optimal placement on 20 nodes of one slot, as so many tasks of one replica each arrive a second.

    Each takes so many seconds anywhere. Of each second: the tasks that started on their data, the idle slots, and the
    tasks that waited.
    """
    nodes, seconds = 20, len(sizes)
    job = np.repeat(np.arange(seconds), sizes)
    data = np.random.default_rng(seed).integers(nodes, size=len(job))
    workload = Workload(
        [f"t{task}" for task in range(len(job))],
        job=job,
        job_ids=[f"j{second}" for second in range(seconds)],
        arrival=np.arange(seconds),
        duration=np.full(len(job), float(takes)),
        replicas=Ragged.from_rows(data[:, None].tolist()),
    )
    instance = Instance(Cluster([f"n{node}" for node in range(nodes)]), workload)
    schedule = simulate(instance, EveryRound("lsap-sched"), heartbeat=0, seed=seed).schedule
    starts = schedule.starts // MICRO
    local = np.bincount(starts[schedule.nodes == data], minlength=seconds)[:seconds]
    times = range(seconds)
    idle = np.array([nodes - np.count_nonzero((starts < time) & (starts + takes > time)) for time in times])
    waiting = np.array([np.count_nonzero((job <= time) & (starts >= time)) for time in times])
    return local, idle, waiting


@pytest.mark.thorough
def test_the_theory_of_guo_in_the_steady_state() -> None:
    """Tests the mean number of local tasks against Guo et al. 2012, equation 3, where as many arrive every second.

    Then nobody is left waiting, and as many slots are idle every second once it is steady: the tasks are new, so that
    their data is independent of which slots these are. That is all that the equation needs.
    """
    local, idle, waiting = (values[3:] for values in rounds_of_guo([4] * 600, 3, 1))
    assert (set(idle.tolist()), set(waiting.tolist())) == ({12}, {4})
    mean, half = interval(local)
    assert abs(mean - float(expected_local_tasks(20, 12, 4))) <= half
    assert half < 0.2


@pytest.mark.thorough
def test_the_theory_of_guo_beside_a_queue() -> None:
    """Tests that equation 3 holds where all tasks are new, and is too low where some were left waiting.

    Numbers of tasks that arrive are those of a Poisson process, at a load of 0.96. A task that was left waiting had its
    data on a busy node, as a rule; these are idle now. So it is no random task beside random slots any more.
    """
    sizes = np.random.default_rng(0).poisson(9.6, 800)
    local, idle, waiting = rounds_of_guo(sizes.tolist(), 2, 1)
    known = {
        pair: float(expected_local_tasks(20, *pair)) for pair in set(zip(idle.tolist(), waiting.tolist(), strict=True))
    }
    beyond = local - np.array([known[pair] for pair in zip(idle.tolist(), waiting.tolist(), strict=True)])
    left = np.append(False, (waiting > idle)[:-1])
    mean, half = interval(beyond[~left])
    assert abs(mean) <= half
    mean, half = interval(beyond[left])
    assert mean > half


def interval(times: np.ndarray, batches: int = 30) -> tuple[float, float]:
    """Mean and half the 99.9 % confidence interval, by means of batches."""
    means = times[: len(times) // batches * batches].reshape(batches, -1).mean(axis=1)
    return float(means.mean()), 3.66 * float(means.std(ddof=1)) / sqrt(batches)


@pytest.mark.thorough
@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (2, 0.7), (4, 0.8)])
def test_queues_with_exponential_times(servers: int, load: float) -> None:
    """Tests the mean waiting time of M/M/c against Erlang's formula (Erlang 1917), within its confidence interval."""
    mean, half = interval(waiting_times(servers, load, 12_000, 3, exponential=True))
    offered = servers * load
    full = offered**servers / factorial(servers) / (1 - load)
    waits = full / (sum(offered**busy / factorial(busy) for busy in range(servers)) + full)
    assert abs(mean - waits / (servers * (1 - load))) <= half
    assert half < 0.5


@pytest.mark.thorough
@pytest.mark.parametrize("load", [0.5, 0.7])
def test_queues_with_constant_times(load: float) -> None:
    """Tests the mean waiting time of M/D/1 against Pollaczek and Khinchine's formula (1930, 1932)."""
    mean, half = interval(waiting_times(1, load, 12_000, 5, exponential=False))
    assert abs(mean - load / (2 * (1 - load))) <= half
    assert half < 0.3


# Workloads that lack what policies look at: replicas, sizes, racks, jobs, a shuffle -----------------------------------

#: Those that need distances and sizes of the shuffle.
BY_DISTANCE = {"probabilistic", "least-cost", "coupling"}

LINKS = [("n0", "s0", 10.0), ("n1", "s0", 10.0), ("n2", "s1", 5.0), ("n3", "s1", 20.0), ("s0", "s1", 1.0)]

#: Distances that are no nested areas, nested areas, and none.
TOPOLOGIES: dict[str, Topology | None] = {
    "matrix": Topology("distance", 1 - np.eye(4)),
    "rates": Topology("rate", np.full((4, 4), 2.0)),
    "links": Topology("links", links=LINKS),
    "hops": Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4}),
    "none": None,
}


def no_replicas(workload: Workload) -> Workload:
    """No map has a replica."""
    return replace(workload, replicas=Ragged.from_rows([[]] * len(workload)))


def some_replicas(workload: Workload) -> Workload:
    """Every second task has none."""
    rows = [row.tolist() if task % 2 else [] for task, row in enumerate(workload.replicas)]
    return replace(workload, replicas=Ragged.from_rows(rows))


def some_sizes(workload: Workload) -> Workload:
    """Every second map has no size."""
    return replace(workload, size=np.where(np.arange(len(workload)) % 2 == MAP, np.nan, workload.size))


def empty_jobs(workload: Workload) -> Workload:
    """Tasks of the first job are of no job, and that job is empty."""
    return replace(workload, job=np.where(workload.job == 0, -1, workload.job))


def no_shuffle(workload: Workload) -> Workload:
    """Reduces fetch nothing."""
    return replace(workload, shuffle=None)


def only_maps(workload: Workload) -> Workload:
    """No reduces, and no sizes or replicas of maps."""
    maps = arriving(0, reduces=0).workload
    return no_replicas(replace(maps, size=np.full(len(maps), np.nan)))


def no_tasks(workload: Workload) -> Workload:
    """Not one task."""
    return Workload([])


LACKS = [no_replicas, some_replicas, some_sizes, empty_jobs, no_shuffle, only_maps, no_tasks]


def bare(lacks: Callable[[Workload], Workload], form: str) -> Instance:
    """A workload over time that lacks something, on four nodes with distances of a form; one has no rack."""
    drawn = arriving(0)
    nodes = [f"n{node}" for node in range(4)]
    rack = np.array([0, 0, 1, -1])
    cluster = replace(drawn.cluster, node_ids=np.array(nodes), rack=rack, topology=TOPOLOGIES[form])
    return Instance(cluster, lacks(drawn.workload), name=f"{lacks.__name__}-{form}")


@pytest.mark.parametrize("form", TOPOLOGIES)
@pytest.mark.parametrize("lacks", LACKS)
def test_every_policy_runs_on_what_lacks_something(lacks: Callable[[Workload], Workload], form: str) -> None:
    """Tests that each policy of the list starts and ends every task, or says first what the instance lacks."""
    instance, refused = bare(lacks, form), set()
    for name in POLICIES:
        try:
            assert simulate(instance, name).unfinished == ""
        except MissingField:
            refused.add(name)
    assert not refused & set(POLICIES) - BY_DISTANCE
    if lacks in (no_replicas, some_replicas, empty_jobs) and form != "none":
        assert not refused, "nothing that these policies need is missing"
