"""The nine jobs of Hsu and Freeh over time: their Figures 5 to 7."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from study_tables import count, spread

from optsched.core.instance import MAP, Bools, Cluster, Instance, Ragged, Workload
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


def hsu(seeds: int = 10, **_: float) -> Iterator[Table]:
    """Figures 5 to 7 of Hsu and Freeh."""
    yield _figure_5_of_hsu()
    instances = [generate("hsu-run", seed=seed) for seed in range(seeds)]
    runs = {
        name: [ran(instance, form, Rates(), seed) for seed, instance in enumerate(instances)]
        for name, form in OF_HSU.items()
    }
    yield _figure_6_of_hsu(runs)
    yield _figure_7_of_hsu(runs)


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


def _maps_of(run: Simulation, kind: str) -> Bools:
    """Which tasks are maps of jobs of a type."""
    workload = run.instance.workload
    jobs = np.array([job.rstrip("0123456789") == kind for job in workload.job_ids.tolist()])
    return (workload.kind == MAP) & jobs[workload.job]


def _figure_6_of_hsu(runs: dict[str, list[Simulation]]) -> Table:
    elapsed = {name: np.array([run.makespan for run in ours]) for name, ours in runs.items()}
    least = np.min(list(elapsed.values()), axis=0)
    rows: list[list[object]] = []
    for name, ours in runs.items():
        grep = [_maps_of(run, "grep") for run in ours]
        figures = np.array(
            [
                (
                    run.schedule.starts[maps].max() / MICRO,
                    np.count_nonzero(run.instance.cluster.type[run.schedule.nodes[maps]] == 1),
                    run.end[maps].max() / MICRO,
                    run.job_times.mean() / MICRO,
                )
                for run, maps in zip(ours, grep, strict=True)
            ]
        )
        told = [
            spread(elapsed[name].tolist(), 0),
            f"{elapsed[name].max():.0f}",
            count((elapsed[name] == least).tolist()),
            spread((elapsed["fifo"] / elapsed[name]).tolist(), 3),
            *(spread(column.tolist(), 0) for column in figures.T),
        ]
        rows.append([called(OF_HSU[name]), *told])
    header = ["scheduler", "elapsed, s", "worst seed, s", "first with", "FIFO's time over its"]
    header += ["last map of Grep starts at, s", "Grep's maps in cluster 2, of 16", "Grep's maps end at, s"]
    return Table(f"Figure 6: elapsed time, {len(least)} seeds", [*header, "mean job time, s"], rows)


def _figure_7_of_hsu(runs: dict[str, list[Simulation]]) -> Table:
    rows: list[list[object]] = []
    kinds = [name for name in JOB_TYPES if _maps_of(runs["fifo"][0], name).any()]
    for name, ours in runs.items():
        times = [[taken(run)[_maps_of(run, kind)] for run in ours] for kind in kinds]
        cells = [spread([float(how(each)) for each in of_kind]) for of_kind in times for how in (np.mean, np.std)]
        rows.append([called(OF_HSU[name]), *cells])
    header = ["scheduler", *(f"{kind}, {what}, s" for kind in kinds for what in ("mean", "deviation"))]
    return Table("Figure 7: how long maps take", header, rows)
