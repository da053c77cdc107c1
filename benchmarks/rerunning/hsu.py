"""The nine jobs of Hsu and Freeh over time: their Figures 5 to 7."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.core.instance import MAP, Cluster, Instance, Ragged, Workload
from optsched.core.schedule import MICRO
from optsched.instances.families.hsu import JOB_TYPES, MAP_RATES, OUT_RATE, PROCESS_RATES
from optsched.instances.generate import generate
from optsched.simulating import Simulation, simulate
from optsched.simulating.rates import Rates
from rerunning.base import Form, Table, called, ran, taken

__all__ = ["OF_HSU", "hsu", "on_one_node"]

#: The paper's schedulers; the flow is solved every 5 s, as in its section 3.4.
OF_HSU: dict[str, Form] = {
    "fifo": ("fifo", {}),
    "fair": ("fair", {}),
    "capacity": ("capacity", {}),
    "balancing": ("balancing", {}),
    "flow-sched": ("flow-sched", {"period": 5}),
}


def hsu(seed: int = 0, **_: float) -> Iterator[Table]:
    """Figures 5 to 7 of Hsu and Freeh."""
    yield _figure_5_of_hsu()
    runs: dict[str, Simulation] = {}
    instance = generate("hsu-run", seed=seed)
    for name, form in OF_HSU.items():
        runs[name] = ran(instance, form, Rates(), seed)
    yield _figure_6_of_hsu(instance, runs)
    yield _figure_7_of_hsu(instance, runs)


def on_one_node(kind: int, maps: int, cluster: int) -> float:
    """MB/s of so many maps of a job type that run at once on a node of a cluster, and read from another node."""
    node = Cluster(
        ["n", "s"],
        slots=[maps, 0],
        rate_process=[PROCESS_RATES[cluster], np.nan],
        rate_in=[OUT_RATE] * 2,
        rate_out=[OUT_RATE] * 2,
    )
    rates = np.full(maps, MAP_RATES[kind, cluster])
    blocks = Ragged.of_lengths([1] * maps, np.ones(maps, dtype=np.int64))
    workload = Workload([f"m{number}" for number in range(maps)], size=[64.0] * maps, rate_in=rates, replicas=blocks)
    run = simulate(Instance(node, workload), "fifo", Rates(), heartbeat=0)
    return 64 * maps / run.makespan


def _figure_5_of_hsu() -> Table:
    counts = (1, 2, 3, 4, 6, 8)
    rows: list[list[object]] = [
        [name, f"cluster {cluster + 1}", *(f"{on_one_node(kind, count, cluster):.1f}" for count in counts)]
        for kind, name in enumerate(JOB_TYPES)
        for cluster in range(2)
    ]
    header = ["maps of", "on a node of", *(f"{count} map{'s' * (count > 1)}, MB/s" for count in counts)]
    return Table("Figure 5: what a node processes", header, rows, 2)


def _figure_6_of_hsu(instance: Instance, runs: dict[str, Simulation]) -> Table:
    workload = instance.workload
    grep = (workload.job == workload.job_ids.tolist().index("grep1")) & (workload.kind == MAP)
    in_second = instance.cluster.type[[run.schedule.nodes[grep] for run in runs.values()]] == 1
    rows: list[list[object]] = []
    for (name, run), second in zip(runs.items(), in_second, strict=True):
        ends = run.end[grep]
        told = [
            f"{run.makespan:.0f}",
            f"{runs['fifo'].makespan / run.makespan:.3f}",
            f"{run.schedule.starts[grep].max() / MICRO:.0f}",
            f"{np.count_nonzero(second)} of {len(second)}",
            f"{ends.max() / MICRO:.0f}",
            f"{run.job_times.mean() / MICRO:.0f}",
        ]
        rows.append([called(OF_HSU[name]), *told])
    header = ["scheduler", "elapsed, s", "FIFO's over it", "last map of Grep starts at, s"]
    header += ["Grep's maps in cluster 2", "Grep's maps end at, s", "mean job time, s"]
    return Table("Figure 6: elapsed time", header, rows)


def _figure_7_of_hsu(instance: Instance, runs: dict[str, Simulation]) -> Table:
    workload = instance.workload
    kinds = [name for name in JOB_TYPES if any(job.startswith(name) for job in workload.job_ids.tolist())]
    of_job = np.array([kinds.index(job.rstrip("0123456789")) for job in workload.job_ids.tolist()])
    rows: list[list[object]] = []
    for name, run in runs.items():
        cells = []
        for number in range(len(kinds)):
            times = taken(run)[(workload.kind == MAP) & (of_job[workload.job] == number)]
            cells += [f"{times.mean():.1f}", f"{times.std():.1f}"]
        rows.append([called(OF_HSU[name]), *cells])
    header = ["scheduler", *(f"{kind}, {what}, s" for kind in kinds for what in ("mean", "deviation"))]
    return Table("Figure 7: how long maps take", header, rows)
