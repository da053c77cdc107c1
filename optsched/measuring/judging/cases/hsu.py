"""Hsu and Freeh: the rates of a round, and times by type of job."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.optimize import linear_sum_assignment

from optsched.core.instance import FINISHED, MAP, Cluster, Instance, Ragged, Workload
from optsched.core.placement import MICRO, NONE
from optsched.core.results import Proof
from optsched.instances.families.base import numbered
from optsched.instances.families.hsu import JOB_TYPES, MAP_RATES, OUT_RATE, PROCESS_RATES
from optsched.instances.files import load
from optsched.instances.generate import generate
from optsched.measuring.judging.quantities import Answer
from optsched.routes import solve
from optsched.simulating import Simulation


def first_jobs(seed: int, of: str, jobs: str) -> Instance:
    """An instance of the library or of a family where only the first `jobs` jobs wait. The others are finished."""
    whole = load(of) if "/" in of else generate(of, seed=seed)
    assert isinstance(whole, Instance)
    state, late = whole.state, whole.workload.job >= int(jobs)
    status, node = np.where(late, FINISHED, state.status), np.where(late, 0, state.node)
    return whole.with_state(replace(state, status=status, node=node))


def rate(answer: Answer) -> float:
    """Total MB/s of what a decision starts."""
    nodes = answer.decision.nodes[answer.problem.tasks]
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


def map_times(done: Simulation, kind: str, what: str) -> float:
    """Of the maps of a job type (`grep`): seconds that one takes on average (`mean`), the `deviation`, `last_start`."""
    tasks = done.tasks[done.tasks["kind"] == "map"]
    own = tasks[tasks["job_id"].str.rstrip("0123456789") == kind]
    times = own["execution_time"].to_numpy(dtype=float)
    return float({"mean": times.mean(), "deviation": times.std(), "last_start": own["starting_time"].max()}[what])


def searched(answer: Answer) -> Fraction:
    """0 where prices of the network prove the optimum of a round, so that nothing is searched; else 1."""
    return Fraction(solve(answer.problem).certificate is not Proof.DUAL)
