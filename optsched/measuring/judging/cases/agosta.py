"""Agosta et al.: jobs together and apart."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
from optsched.heuristics import run
from optsched.instances.families.labl import initial_loads
from optsched.instances.generate import generate
from optsched.measuring.judging.quantities import Answer
from optsched.measuring.studies.choices import parted
from optsched.routes import frontier


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
