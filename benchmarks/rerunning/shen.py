"""The batches of Shen et al.'s Table II over time: their Figures 4 to 7 and Table III."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from paper_ceilings import FIGURE_5, FIGURE_6, PNA
from placement_study import TABLE_3
from study_tables import count, spread

from optsched.core.instance import MAP, REDUCE, Floats, Ints
from optsched.core.schedule import MICRO
from optsched.instances.generate import generate
from optsched.problems.locality_counts import CLASSES, locality
from optsched.simulating import Simulation
from optsched.simulating.services import Transfer
from rerunning.base import Form, Table, called, ran, shares, taken

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


def shen(divide: int = 1, seeds: int = 10, hop: float = HOP, **_: float) -> Iterator[Table]:
    """Figures 4 to 7 and Table III of Shen et al. 2016."""
    nodes = max(4, 60 // divide)
    found = {name: [batches(form, divide, nodes, seed, hop) for seed in range(seeds)] for name, form in OF_SHEN.items()}
    yield _table_3(found)
    yield _figure_4(found)
    yield _figure_5(found)
    yield _figure_6(found)
    yield _figure_7(found)


def _table_3(found: dict[str, list[Batches]]) -> Table:
    rows: list[list[object]] = []
    for name, ours in found.items():
        paper = TABLE_3[STANDS_FOR[name]][0]
        told = [
            shares((sum(each.on_node), len(each.map_times) + len(each.reduce_times)) for each in ours),
            shares((each.on_node[0], len(each.map_times)) for each in ours),
            shares((each.on_node[1], len(each.reduce_times)) for each in ours),
        ]
        rows.append([called(OF_SHEN[name]), f"{paper} %" if name in TABLE_3 else "", *told])
    header = ["scheduler", "on their data, paper", "measured", "maps", "reduces"]
    return Table("Table III: tasks on their data", header, rows)


def _figure_4(found: dict[str, list[Batches]]) -> Table:
    parts = (10, 25, 50, 75, 90, 100)
    rows: list[list[object]] = []
    for name, ours in found.items():
        times = np.array([np.percentile(each.job_times, parts) for each in ours])
        means = [float(each.job_times.mean()) for each in ours]
        spans = np.array([each.makespans for each in ours])
        cells = [spread(column.tolist(), 0) for column in times.T]
        told = ", ".join(spread(column.tolist(), 0) for column in spans.T)
        rows.append([called(OF_SHEN[name]), *cells, spread(means, 0), f"{max(means):.0f}", told])
    header = ["scheduler", *(f"{part} % within, s" for part in parts), "mean, s", "mean of the worst seed, s"]
    return Table("Figure 4: job times", [*header, "makespan of each batch, s"], rows)


def _figure_5(found: dict[str, list[Batches]]) -> Table:
    rows: list[list[object]] = []
    for name, ours in found.items():
        if name == PNA:
            continue
        saved = np.array(
            [100 * (1 - mine.job_times / other.job_times) for mine, other in zip(found[PNA], ours, strict=True)]
        )
        means, most = saved.mean(axis=1).tolist(), saved.max()
        mean, jobs, more = FIGURE_5[STANDS_FOR[name]]
        beyond = f"{100 * np.mean(saved > more):.0f} % by more than {more} %"
        of_paper = [f"{mean} %", f"{jobs} % by more than {more} %", "all"]
        told = [
            f"{spread(means)} %",
            f"{min(means):.1f} %",
            beyond,
            f"{most:.0f} %",
            count((saved > 0).ravel().tolist()),
        ]
        rows.append([called(OF_SHEN[name]), *of_paper, *told])
    header = [
        "against",
        "mean, paper",
        "jobs, paper",
        "faster, paper",
        "mean",
        "worst seed",
        "jobs",
        "most",
        "faster in",
    ]
    return Table("Figure 5: by how much job times fall under `probabilistic`", header, rows)


def _figure_6(found: dict[str, list[Batches]]) -> Table:
    rows: list[list[object]] = []
    for kind, attribute in (("map", "map_times"), ("reduce", "reduce_times")):
        longest, of_paper = FIGURE_6[kind]
        ours = [float(getattr(each, attribute).max()) for each in found[PNA]]
        for name, others in found.items():
            times = [getattr(each, attribute) for each in others]
            paper = of_paper.get(STANDS_FOR[name], 100)
            within = shares((np.count_nonzero(each <= most), len(each)) for each, most in zip(times, ours, strict=True))
            figures = ([float(how(each)) for each in times] for how in (np.mean, np.median, np.max))
            told = [f"{within} in {spread(ours, 0)} s", *(spread(figure, 0) for figure in figures)]
            rows.append([kind, called(OF_SHEN[name]), f"{paper} % in {longest} s", *told])
    header = ["tasks", "scheduler", "paper", "measured", "mean, s", "median, s", "longest, s"]
    return Table("Figure 6: tasks that end within what the longest takes under `probabilistic`", header, rows, 2)


def _figure_7(found: dict[str, list[Batches]]) -> Table:
    rows: list[list[object]] = []
    for name, ours in found.items():
        local = np.array([100 * each.local_maps.reshape(-1, 10).mean(axis=0) for each in ours])
        rows.append([called(OF_SHEN[name]), *(spread(column.tolist(), 0) for column in local.T)])
    header = ["scheduler", *(f"{10 * number} GB" for number in range(1, 11))]
    return Table("Figure 7: % of the maps on their data, by input of the job (mean of the batches)", header, rows)
