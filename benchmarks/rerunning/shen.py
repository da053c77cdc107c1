"""The batches of Shen et al.'s Table II over time: their Figures 4 to 7 and Table III."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from paper_ceilings import FIGURE_5, FIGURE_6, PNA
from placement_study import TABLE_3

from optsched.core.instance import MAP, REDUCE, Floats, Ints
from optsched.core.schedule import MICRO
from optsched.instances.generate import generate
from optsched.problems.locality_counts import CLASSES, locality
from optsched.simulating import Simulation
from optsched.simulating.transfer import Transfer
from rerunning.base import Form, Table, called, ran, share, taken

__all__ = ["HOP", "OF_SHEN", "Batches", "batches", "near_its_data", "shen"]

#: Seconds that a MB takes over a hop: two hops of 0.004 s are a gigabit a second. Assumed, as the family says.
HOP = 0.004

#: The paper's schedulers. Its Fair is Hadoop 1's, which waits for 1.5 heartbeats a level where nothing else is set;
#: Coupling's chance of a map in the rack is not told: the second one comes near the paper's Table III.
OF_SHEN: dict[str, Form] = {
    "probabilistic": ("probabilistic", {}),
    "coupling": ("coupling", {}),
    "coupling, few off": ("coupling", {"p_rack": 0.005}),
    "fair": ("fair", {}),
    "fair, no delay": ("fair", {"delay": 0}),
}

#: Which of the paper's each of them stands for.
STANDS_FOR = {name: name.split(",")[0] for name in OF_SHEN}


@dataclass(frozen=True)
class Batches:
    """What one scheduler did with all batches.

    Attributes
    ----------
    job_times
        Of each job of all batches, in seconds.
    map_times, reduce_times
        Of each task.
    local_maps
        Of each job the share of its maps that ran on their data.
    on_node
        How many tasks ran on their data: a map where a replica is, a reduce where a map of its job has ended.
    """

    job_times: Floats
    map_times: Floats
    reduce_times: Floats
    local_maps: Floats
    on_node: tuple[int, int]
    makespans: tuple[float, ...]


def near_its_data(run: Simulation) -> Ints:
    """Reduces of a run that started where a map of their job had ended by then."""
    workload, nodes = run.instance.workload, run.schedule.nodes
    first = np.full((len(workload.job_ids), len(run.instance.cluster)), np.iinfo(np.int64).max)
    maps, reduces = (np.flatnonzero(workload.kind == kind) for kind in (MAP, REDUCE))
    np.minimum.at(first, (workload.job[maps], nodes[maps]), run.end[maps])
    return reduces[first[workload.job[reduces], nodes[reduces]] <= run.schedule.starts[reduces]]


def batches(form: Form, divide: int, nodes: int, seed: int, hop: float = HOP) -> Batches:
    """The three batches of Table II under one scheduler."""
    jobs, times, reduces_took, local, counted, spans = [], [], [], [], np.zeros(2, dtype=np.int64), []
    for batch in (1, 2, 3):
        instance = generate("shen-run", seed=seed, batch=batch, divide=divide, nodes=nodes, hop=hop)
        run = ran(instance, form, Transfer(scale=hop), seed)
        workload, took = instance.workload, taken(run)
        maps = workload.kind == MAP
        near = locality(instance, run.schedule.placement) == CLASSES.index("node")
        jobs.append(run.job_times / MICRO)
        times.append(took[maps])
        reduces_took.append(took[~maps])
        per_job = np.bincount(workload.job[maps & near], minlength=10) / np.bincount(workload.job[maps], minlength=10)
        local.append(per_job)
        counted += [np.count_nonzero(maps & near), len(near_its_data(run))]
        spans.append(run.makespan)
    return Batches(
        *(np.concatenate(part) for part in (jobs, times, reduces_took, local)), (counted[0], counted[1]), tuple(spans)
    )


def shen(divide: int = 1, seed: int = 0, hop: float = HOP, **_: float) -> Iterator[Table]:
    """Figures 4 to 7 and Table III of Shen et al. 2016."""
    nodes = max(4, 60 // divide)
    found = {name: batches(form, divide, nodes, seed, hop) for name, form in OF_SHEN.items()}
    yield _table_3(found)
    yield _figure_4(found)
    yield _figure_5(found)
    yield _figure_6(found)
    yield _figure_7(found)


def _table_3(found: dict[str, Batches]) -> Table:
    rows: list[list[object]] = []
    for name, ours in found.items():
        maps, reduces = len(ours.map_times), len(ours.reduce_times)
        on = ours.on_node
        paper = TABLE_3[STANDS_FOR[name]][0]
        told = [share(sum(on), maps + reduces), share(on[0], maps), share(on[1], reduces)]
        rows.append([called(OF_SHEN[name]), f"{paper} %" if name in TABLE_3 else "", *told])
    header = ["scheduler", "on their data, paper", "measured", "maps", "reduces"]
    return Table("Table III: tasks on their data", header, rows)


def _figure_4(found: dict[str, Batches]) -> Table:
    shares = (10, 25, 50, 75, 90, 100)
    rows: list[list[object]] = [
        [
            called(OF_SHEN[name]),
            *(f"{time:.0f}" for time in np.percentile(ours.job_times, shares)),
            f"{ours.job_times.mean():.0f}",
            ", ".join(f"{span:.0f}" for span in ours.makespans),
        ]
        for name, ours in found.items()
    ]
    header = ["scheduler", *(f"{part} % within, s" for part in shares), "mean, s", "makespan of each batch, s"]
    return Table("Figure 4: job times", header, rows)


def _figure_5(found: dict[str, Batches]) -> Table:
    rows: list[list[object]] = []
    mine = found[PNA].job_times
    for name, ours in found.items():
        if name == PNA:
            continue
        saved = 100 * (1 - mine / ours.job_times)
        mean, jobs, more = FIGURE_5[STANDS_FOR[name]]
        beyond = 100 * np.mean(saved > more)
        faster = f"{np.count_nonzero(saved > 0)} of {len(saved)}"
        of_paper = [f"{mean} %", f"{jobs} % by more than {more} %", "all"]
        told = [f"{saved.mean():.1f} %", f"{beyond:.0f} % by more than {more} %", f"{saved.max():.0f} %", faster]
        rows.append([called(OF_SHEN[name]), *of_paper, *told])
    header = ["against", "mean, paper", "jobs, paper", "faster, paper", "mean", "jobs", "most", "faster in"]
    return Table("Figure 5: by how much job times fall under `probabilistic`", header, rows)


def _figure_6(found: dict[str, Batches]) -> Table:
    rows: list[list[object]] = []
    for kind, attribute in (("map", "map_times"), ("reduce", "reduce_times")):
        longest, shares = FIGURE_6[kind]
        ours = getattr(found[PNA], attribute).max()
        for name, other in found.items():
            times = getattr(other, attribute)
            paper = shares.get(STANDS_FOR[name], 100)
            within = f"{100 * np.mean(times <= ours):.1f} %"
            told = [f"{times.mean():.0f}", f"{np.median(times):.0f}", f"{times.max():.0f}"]
            rows.append([kind, called(OF_SHEN[name]), f"{paper} % in {longest} s", f"{within} in {ours:.0f} s", *told])
    header = ["tasks", "scheduler", "paper", "measured", "mean, s", "median, s", "longest, s"]
    return Table("Figure 6: tasks that end within what the longest takes under `probabilistic`", header, rows, 2)


def _figure_7(found: dict[str, Batches]) -> Table:
    rows: list[list[object]] = [
        [
            called(OF_SHEN[name]),
            *(f"{100 * each:.0f}" for each in ours.local_maps.reshape(-1, 10).mean(axis=0)),
        ]
        for name, ours in found.items()
    ]
    header = ["scheduler", *(f"{10 * number} GB" for number in range(1, 11))]
    return Table("Figure 7: % of the maps on their data, by input of the job (mean of the batches)", header, rows)
