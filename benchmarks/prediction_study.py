"""What a simulation predicts of a trace whose durations it knows in distribution alone.

    python benchmarks/prediction_study.py TRACE... [--topology FILE] [--repeats 20] [--seed 0] [--heartbeat 3]

Of each Rumen trace every task gets new times: for each level of locality (on its data, in the rack, beyond) one that
some successful attempt at that level had, drawn with the seed. `of all` draws from all attempts of the trace at that
level, `of the job` from those of the task's own job, as far as it has any at that level; a level without any attempt
takes the next nearer one that has some, and where there is none the next farther one. Then the jobs run again, as they
arrived, under `fifo` (in rounds) and under `fair`, on slots as many as ever ran at once on a node. `as recorded` keeps
each task's own duration: what is off there is due to policy, slots and heartbeats, and not to the durations.

What a reduce took has in it that it waited for maps. So it counts from the end of its job's last map, if it began
before that, and reduces are started when all maps have ended; `--reduces recorded` takes their whole durations and a
slowstart of 0.05 instead. `--arrival started` lets each job arrive when its first task started in the trace: what a
cluster does before that, a job's setup above all, is no attempt that could be drawn.

Printed are quantiles of the relative error of job times, predicted less recorded over recorded, over jobs and seeds,
how many are within a quarter, and the error of the makespan, median and range over the seeds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from optsched.core.instance import MAP, REDUCE, Instance
from optsched.core.placement import MICRO, microseconds
from optsched.heuristics.simulating import Levels, observed_schedule, simulate
from optsched.instances.files import from_document
from optsched.instances.importers.rumen import import_rumen
from optsched.problems.locality_counts import locality
from optsched.problems.schedules import Jobs

#: How tasks get their times.
KNOWN = ("as recorded", "of the job", "of all")

POLICIES = ("fifo", "fair")

LEVELS = 3


@dataclass(frozen=True)
class Recorded:
    """A trace: the instance with the times that are drawn from, and what was recorded of it.

    `level` and `took` (microseconds) are of each task, `job_times` of each job and the makespan last, in microseconds.
    `unstarted` is the share of each job's time that passed before its first task started, a setup among it.
    """

    instance: Instance
    level: np.ndarray
    took: np.ndarray
    job_times: np.ndarray
    unstarted: np.ndarray


def recorded(trace: Path, topology: Path | None, whole: bool, started: bool) -> Recorded:
    """A trace; `whole`: reduces took all of their durations, not only what came after the last map of their job.

    `started`: jobs arrive when their first tasks start.
    """
    instance = from_document(import_rumen(trace, topology, slots="inferred").documents[0])
    workload = instance.workload
    known = ~np.isnan(workload.duration) & ~np.isnan(instance.state.start) & (workload.observed >= 0)
    kept = np.flatnonzero(known)
    jobs = np.unique(workload.job[kept])
    instance = instance.taken(kept, jobs)
    workload = instance.workload
    schedule = observed_schedule(instance)
    took = microseconds(workload.duration)
    ends = schedule.starts + took
    parts = Jobs.of(instance, np.arange(len(workload)))
    last_map, ended = np.zeros((2, len(parts)), dtype=np.int64)
    is_map = workload.kind == MAP
    np.maximum.at(last_map, parts.of_task[is_map], ends[is_map])
    np.maximum.at(ended, parts.of_task, ends)
    if not whole:
        begin = np.where(is_map, schedule.starts, np.maximum(schedule.starts, last_map[parts.of_task]))
        took = np.maximum(ends - begin, 0)
    times = np.append(ended - parts.arrival, ended.max() - microseconds(instance.time))
    first = np.full(len(parts), ended.max())
    np.minimum.at(first, parts.of_task, schedule.starts)
    unstarted = (first - parts.arrival) / times[:-1]
    if started:
        times[:-1] = ended - first
        arrival = workload.arrival.copy()
        arrival[parts.rows] = first / MICRO
        instance = replace(instance, workload=replace(workload, arrival=arrival))
    return Recorded(instance, locality(instance, schedule.placement), took, times, unstarted)


def drawn(trace: Recorded, known: str, rng: np.random.Generator) -> Instance:
    """The instance with times for each level; `known` is one of `KNOWN`."""
    workload = trace.instance.workload
    if known == "as recorded":
        times = np.repeat(trace.took[:, None], LEVELS, axis=1)
    else:
        times = np.column_stack([_drawn(trace, level, known == "of the job", rng) for level in range(LEVELS)])
    return replace(trace.instance, workload=replace(workload, times=times / MICRO))


def _drawn(trace: Recorded, level: int, own: bool, rng: np.random.Generator) -> np.ndarray:
    """What each task takes at a level, in microseconds."""
    workload = trace.instance.workload
    found = np.zeros(len(workload), dtype=np.int64)
    for kind in (MAP, REDUCE):
        of_kind = workload.kind == kind
        pool = _pool(trace, of_kind, level)
        for job in np.unique(workload.job[of_kind]).tolist() if len(pool) else ():
            tasks = np.flatnonzero(of_kind & (workload.job == job))
            of_job = trace.took[tasks[trace.level[tasks] == level]] if own else pool
            found[tasks] = rng.choice(of_job if len(of_job) else pool, len(tasks))
    return found


def _pool(trace: Recorded, which: np.ndarray, level: int) -> np.ndarray:
    """The times of all attempts at a level, or at the nearest one that has some."""
    for at in (*range(level, -1, -1), *range(level + 1, LEVELS)):
        found = trace.took[which & (trace.level == at)]
        if len(found):
            return found
    return np.zeros(0, dtype=np.int64)


def errors(trace: Recorded, known: str, policy: str, seed: int, heartbeat: float, whole: bool) -> np.ndarray:
    """The relative errors of one run, of each job and of the makespan last."""
    instance = drawn(trace, known, np.random.default_rng([seed, KNOWN.index(known)]))
    slowstart = 0.05 if whole else 1
    run = simulate(instance, policy, Levels(), heartbeat=heartbeat, slowstart=slowstart, seed=seed)
    assert not run.unfinished, run.unfinished
    predicted = np.append(run.job_times, run.last - run.begin)
    return np.asarray((predicted - trace.job_times) / trace.job_times)


def rows(trace: Recorded, name: str, given: Any) -> Iterator[list[str]]:
    """A row for each policy and each way to know durations."""
    whole = given.reduces == "recorded"
    for policy in POLICIES:
        for known in KNOWN:
            seeds = range(given.seed, given.seed + given.repeats)
            found = np.array([errors(trace, known, policy, seed, given.heartbeat, whole) for seed in seeds])
            jobs, makespan = found[:, :-1].ravel(), found[:, -1]
            quantiles = [_percent(value) for value in np.quantile(jobs, [0.05, 0.25, 0.5, 0.75, 0.95])]
            near = f"{100 * np.mean(np.abs(jobs) <= 0.25):.0f} %"
            span = f"{_percent(np.median(makespan))} ({_percent(makespan.min())} to {_percent(makespan.max())})"
            yield [name, policy, known, *quantiles, near, span]


def _percent(share: float) -> str:
    return f"{100 * share:+.0f} %"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, nargs="+", metavar="TRACE")
    parser.add_argument("--topology", type=Path, metavar="FILE", help="of all traces that are given")
    parser.add_argument("--reduces", choices=["after-maps", "recorded"], default="after-maps")
    parser.add_argument("--arrival", choices=["submitted", "started"], default="submitted")
    parser.add_argument("--repeats", type=int, default=20, help="seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first of them")
    parser.add_argument("--heartbeat", type=float, default=3, help="seconds")
    given = parser.parse_args(arguments)
    columns = ["trace", "policy", "durations", "5 %", "25 %", "median", "75 %", "95 %", "within 25 %", "makespan"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * 3}{'---:|' * 7}")
    for path in given.traces:
        trace = recorded(path, given.topology, given.reduces == "recorded", given.arrival == "started")
        counts = ", ".join(f"{count}" for count in np.bincount(trace.level, minlength=LEVELS))
        name = path.name.split(".")[0]
        before = f"{100 * np.median(trace.unstarted):.0f} % of a job's time before its first task starts (median)"
        print(f"{name}: {len(trace.unstarted)} jobs, attempts by level {counts}, {before}", file=sys.stderr)
        for row in rows(trace, name, given):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
