"""Workloads over time for tests: drawn instances with durations, arrivals and reduces, and schedules judged again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.core.instance import Instance, State
from optsched.instances.generate import generate

__all__ = ["arriving"]


def arriving(seed: int, *, nodes: int = 4, tasks: int = 12, reduces: int = 5, jobs: int = 3) -> Instance:
    """An instance of the family `mixed` on which nothing runs yet, whose jobs arrive one after another."""
    rng = np.random.default_rng([seed, 7])
    sizes = {"nodes": nodes, "racks": 2, "datacenters": 2, "tasks": tasks, "reduces": reduces, "jobs": jobs}
    drawn = generate("mixed", seed=seed, groups=2, slots=2, **sizes)
    assert isinstance(drawn, Instance)
    workload = drawn.workload
    times = np.sort(rng.integers(1, 200, (len(workload), 3)), axis=1) / 4
    arrival = rng.integers(0, 60, len(workload.job_ids)) / 2
    workload = replace(workload, times=times, duration=times[:, 0], arrival=arrival)
    return Instance(drawn.cluster, workload, State.initial(drawn.cluster, workload), name=f"arriving-{seed}")
