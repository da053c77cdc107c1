"""Jobs after Sharmilarani et al. over time: their Figure 4."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from study_tables import spread

from optsched.core.schedule import MICRO
from optsched.instances.generate import generate
from optsched.simulating import Levels, Simulation
from rerunning.base import Form, Table, called, ran, taken

__all__ = ["OF_RAS", "peak", "ras", "used"]

#: Slots of each tracker: Hadoop's fixed ones, and so many that only the resources bind, for RAS has none.
FIXED = {"slots": 4, "reduce_slots": 2}
OPEN = {"slots": 24, "reduce_slots": 24}

OF_RAS: tuple[tuple[Form, dict[str, int]], ...] = (
    (("fifo", {}), FIXED),
    (("fair", {}), FIXED),
    (("capacity", {}), FIXED),
    (("ras", {"period": 0}), FIXED),
    (("ras", {"period": 0}), OPEN),
)

#: Where in it Hadoop's Fair Scheduler is.
FAIR = 1

#: Mean seconds between the arrivals of two jobs.
GAP = 10


def ras(seeds: int = 10, **_: float) -> Iterator[Table]:
    """Figure 4 of Sharmilarani et al.: job times, and how much of the resources is used while the run lasts."""
    figures = np.zeros((len(OF_RAS), seeds, 4))
    for seed in range(seeds):
        for row, (form, slots) in enumerate(OF_RAS):
            run = ran(generate("ras-run", seed=seed, gap=GAP, **slots), form, Levels(), seed)
            figures[row, seed] = run.job_times.mean() / MICRO, run.makespan, 100 * used(run), 100 * peak(run)
    rows: list[list[object]] = []
    for (form, slots), ours in zip(OF_RAS, figures, strict=True):
        faster = (figures[FAIR, :, :2] / ours[:, :2]).T
        told = [f"{times.mean():.2f} ({times.min():.2f} to {times.max():.2f})" for times in faster]
        more = 100 * (ours[:, 2] / figures[FAIR, :, 2] - 1).mean()
        cells = [spread(column.tolist()) for column in ours.T[:3]]
        rows.append(
            [
                called(form),
                "4 + 2" if slots == FIXED else "open",
                *cells,
                *told,
                f"{more:+.1f} %",
                f"{ours[:, 3].max():.0f} %",
            ]
        )
    header = ["scheduler", "slots", "mean job time, s", "makespan, s", "used of the scarcest, %"]
    header += ["speed-up of job times over `fair`", "of the makespan", "more used", "peak of a tracker"]
    yield Table(f"Figure 4: job times, {seeds} instances", header, rows, 2)


def used(run: Simulation) -> float:
    """The share of the scarcest resource that tasks used, on average over the run."""
    workload, cluster = run.instance.workload, run.instance.cluster
    return max(
        float((taken(run) * demand).sum() / (cluster.capacity[name].sum() * run.makespan))
        for name, demand in workload.demand.items()
    )


def peak(run: Simulation) -> float:
    """The largest share of what a tracker has of a resource that tasks on it asked for at once."""
    workload, cluster, nodes = run.instance.workload, run.instance.cluster, run.schedule.nodes
    tasks = len(workload)
    times = np.concatenate((run.end, run.schedule.starts))
    order = np.argsort(times, kind="stable")  # at an instant tasks end first
    task, sign = order % tasks, np.where(order < tasks, -1.0, 1.0)
    most = 0.0
    for name, demand in workload.demand.items():
        for node, capacity in enumerate(cluster.capacity[name].tolist()):
            here = nodes[task] == node
            most = max(most, float(np.cumsum(sign[here] * demand[task[here]]).max(initial=0.0)) / capacity)
    return most
