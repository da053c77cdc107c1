"""Small problems of `transmission-reduces` for its tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from transmission_instances import DISTANCES, example

from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Shuffle,
    State,
    Topology,
    Workload,
)
from optsched.problems.transmission_reduces import TransmissionReduces

#: Shen et al.'s maps where Figure 2 has them: M1 on D3, M2 on D2.
PLACED = example((2, 1))


def posed(
    sent: list[float],
    slots: list[int],
    jobs: list[int] | None = None,
    running: list[tuple[int, int]] | None = None,
    matrix: Any = DISTANCES,
    **parameters: Any,
) -> TransmissionReduces:
    """Reduces r0, ... that get so many MB from one map on n0; `running` are pairs of a job and its reduce's node."""
    reduces, running = len(sent), running or []
    cluster = Cluster(
        [f"n{node}" for node in range(len(slots))],
        reduce_slots=[slot + 1 for slot in slots],
        topology=Topology("distance", np.array(matrix)[: len(slots), : len(slots)]),
    )
    tasks = 1 + reduces + len(running)
    workload = Workload(
        ["m", *(f"r{task}" for task in range(reduces)), *(f"busy{task}" for task in range(len(running)))],
        kind=[MAP] + [REDUCE] * (tasks - 1),
        job=[0, *(jobs or [0] * reduces), *(job for job, _ in running)],
        job_ids=["j0", "j1"],
        shuffle=Shuffle([0] * reduces, range(1, reduces + 1), sent),
    )
    state = State.initial(
        cluster,
        workload,
        status=[FINISHED] + [PENDING] * reduces + [RUNNING] * len(running),
        node=[0] + [-1] * reduces + [node for _, node in running],
        idle_reduce_slots=slots,
    )
    return TransmissionReduces(Instance(cluster, workload, state, name="few"), **parameters)
