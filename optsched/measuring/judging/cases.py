"""Instances and numbers of single claims, which records name as `optsched.measuring.judging.cases:NAME`."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.instance import Cluster, Floats, Instance, Ragged, State, Workload
from optsched.core.placement import NONE, Placement
from optsched.heuristics import run
from optsched.instances.families.labl import initial_loads
from optsched.instances.files import load
from optsched.instances.generate import generate
from optsched.measuring.judging.quantities import Answer
from optsched.measuring.studies.choices import parted
from optsched.simulating import EveryRound, Levels, simulate

__all__ = [
    "apart_end",
    "apart_work",
    "equal_replicas",
    "first_end",
    "first_jobs",
    "higher_loads",
    "least_rate",
    "local_in_waves",
    "most_rate",
    "rate",
    "two_jobs",
]


# Hsu and Freeh: the rate of a round ----------------------------------------------------------------------------------


def first_jobs(seed: int, jobs: str) -> Instance:
    """`papers/hsu-workload` with the maps of its first jobs alone: one, and so many."""
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


def _rates(answer: Answer) -> Floats:
    """MB/s of each task on each node."""
    workload, cluster = answer.problem.instance.workload, answer.problem.instance.cluster
    rates = np.repeat(workload.rate_in[:, None], len(cluster), axis=1)
    if workload.rate_in_by_type is not None:
        by_type = workload.rate_in_by_type[:, cluster.type]
        rates = np.where(np.isnan(by_type), rates, by_type)
    return rates


def rate(answer: Answer) -> float:
    """Total MB/s of what a decision starts."""
    nodes = answer.decision.nodes
    placed = np.flatnonzero(nodes != NONE)
    return float(_rates(answer)[placed, nodes[placed]].sum())


def _extreme(answer: Answer, most: bool) -> float:
    from scipy.optimize import linear_sum_assignment

    slots = np.repeat(np.arange(len(answer.problem.instance.cluster)), answer.problem.instance.state.idle_slots)
    rates = _rates(answer)[:, slots]
    return float(rates[linear_sum_assignment(rates, maximize=most)].sum())


def most_rate(answer: Answer) -> float:
    """The largest total rate of any full placement."""
    return _extreme(answer, True)


def least_rate(answer: Answer) -> float:
    """The least total rate of any full placement."""
    return _extreme(answer, False)


# Guo et al.: idle slots and waves ------------------------------------------------------------------------------------


def equal_replicas(seed: int, nodes: str, idle: str, tasks: str, replicas: str, slots: str = "1") -> Instance:
    """Blocks with the same number of replicas each, on any nodes, and so many idle slots anywhere."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(int(nodes), int(replicas), replace=False).tolist() for _ in range(int(tasks))]
    cluster = Cluster(np.array([f"n{node}" for node in range(int(nodes))]), slots=np.full(int(nodes), int(slots)))
    workload = Workload(np.array([f"t{task}" for task in range(int(tasks))]), replicas=Ragged.from_rows(rows))
    free = rng.multivariate_hypergeometric(cluster.slots, int(idle))
    return Instance.initial(cluster, workload, idle_slots=free, name=f"equal-replicas-{seed}")


def local_in_waves(answer: Answer) -> Fraction:
    """The share of tasks that are local if all run in waves, each with idle slots drawn afresh (their Table III)."""
    instance, posed_as = answer.problem.instance, type(answer.problem)
    drawn = np.random.default_rng(np.random.SeedSequence(answer.seed, spawn_key=(2,)))  # 0 and 1 are the runs' own
    slots, many = instance.cluster.slots, int(instance.state.idle_slots.sum())
    name, values = parted(answer.source, "measure")
    remote: list[int] = []

    def placed(problem: Any, rng: np.random.Generator) -> Placement | None:
        idle = drawn.multivariate_hypergeometric(slots, many) if remote else instance.state.idle_slots
        posed = posed_as(problem.instance.with_state(replace(problem.instance.state, idle_slots=idle)))
        given: dict[str, Any] = {"seed": (answer.seed, len(remote)), **values}
        placement = run(posed, name, **given).raise_if_failed()
        remote.append(int(posed.evaluate(placement)[0]))
        return placement

    whole = instance.with_state(replace(instance.state, idle_slots=slots))
    simulate(whole, EveryRound(placed, answer.problem.name), Levels(duration=1), heartbeat=0).raise_if_unfinished()
    return 1 - Fraction(sum(remote), len(instance.workload))


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


def _apart(answer: Answer) -> list[tuple[int, int, int]]:
    """Makespan, work and latest end so far of each half of the tasks, placed one after the other."""
    instance: Instance = answer.problem.instance
    loads: Any = instance.state.load
    name, values = parted(answer.source, "measure")
    ends, found = 0, []
    halves = np.array_split(np.arange(len(instance.workload)), 2)
    for half in halves:
        workload = Workload(
            instance.workload.task_ids[half],
            replicas=Ragged.from_rows([instance.replicas[task].tolist() for task in half.tolist()]),
        )
        posed = type(answer.problem)(
            Instance(instance.cluster, workload, State.initial(instance.cluster, workload, load=loads))
        )
        given: dict[str, Any] = {"seed": answer.seed, **values}
        placement = run(posed, name, **given).raise_if_failed()
        local, remote = posed.counts(placement)
        loads = posed.initial_load + posed.w_loc * local + posed.w_rem * remote
        makespan, work = map(int, posed.objective(placement))
        ends = max(ends, makespan)
        found.append((makespan, work, ends))
    return found


def apart_work(answer: Answer) -> Fraction:
    """Work of both jobs, one after the other."""
    return Fraction(sum(work for _, work, _ in _apart(answer)))


def apart_end(answer: Answer) -> Fraction:
    """When both jobs have ended, one after the other."""
    return Fraction(_apart(answer)[-1][2])


def first_end(answer: Answer) -> Fraction:
    """When the first job has ended, if it is placed first."""
    return Fraction(_apart(answer)[0][0])


def higher_loads(seed: int, family: str, more: str, **parameters: str) -> Instance:
    """A family with a constant added to every load."""
    drawn = generate(family, seed=seed, **parameters)
    assert isinstance(drawn, Instance)
    return drawn.with_state(replace(drawn.state, load=drawn.state.load + int(more)))
