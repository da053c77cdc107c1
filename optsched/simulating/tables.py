"""Runs over time as pandas frames; times are in seconds, and what did not happen is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from optsched.instance import KINDS, MAP, REDUCE, Bools, Floats, Ints
from optsched.placement import NONE, Placement
from optsched.problems.locality_counts import CLASSES, locality
from optsched.running.course import NEVER
from optsched.schedule import MICRO
from optsched.simulating.engine import ARRIVED, BACK, ENDED, LOST, RELEASED, STARTED, STOPPED

if TYPE_CHECKING:
    import pandas as pd

    from optsched.simulating.simulation import Simulation

__all__ = ["attempts_of", "events_of", "jobs_of", "nodes_of", "tasks_of"]

#: What happened, in words.
WORDS = {
    ARRIVED: "job-arrived",
    STARTED: "task-started",
    ENDED: "task-finished",
    RELEASED: "task-released",
    STOPPED: "task-returned",
    LOST: "node-lost",
    BACK: "node-back",
}


def _seconds(units: Ints, known: Bools) -> Floats:
    """Microseconds as seconds, NaN where they are not known."""
    return np.where(known, units / MICRO, np.nan)


def _named(names: npt.NDArray[Any], index: Ints) -> npt.NDArray[Any]:
    """The names of these, None for -1."""
    found: npt.NDArray[Any] = np.array([*names.tolist(), None], dtype=object)[index]
    return found


def _times(arrival: Ints, start: Ints, end: Ints) -> dict[str, Floats]:
    """Batsim's columns of times."""
    began, ended = start < NEVER, end < NEVER
    execution = np.where(began & ended, end - start, 0)
    turnaround = np.where(ended, end - arrival, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        stretch = np.where(began & ended, turnaround / execution, np.nan)  # of no time at all: infinite, or missing
    return {
        "submission_time": arrival / MICRO,
        "starting_time": _seconds(start, began),
        "execution_time": _seconds(execution, began & ended),
        "finish_time": _seconds(end, ended),
        "waiting_time": _seconds(start - np.where(began, arrival, 0), began),
        "turnaround_time": _seconds(turnaround, ended),
        "stretch": stretch,
    }


def _spans(run: Simulation) -> tuple[Ints, Ints, Ints]:
    """Node, start and end of each task that ran in the run or ran when it began; -1 and `NEVER` of others."""
    nodes, starts = run.schedule.nodes.copy(), np.where(run.schedule.nodes != NONE, run.schedule.starts, NEVER)
    before = run.begun_before
    nodes[before], starts[before] = run.instance.state.node[before], run.start_before
    return nodes, starts, run.end


def tasks_of(run: Simulation) -> pd.DataFrame:
    """Each task that was left, where it ran, how near its data, and when."""
    import pandas as pd

    workload, jobs = run.instance.workload, run.job_parts
    nodes, starts, ends = _spans(run)
    near = _named(np.array(CLASSES), locality(run.instance, Placement(nodes)))
    left = np.flatnonzero(run.left)
    arrival = jobs.arrival[jobs.of_task[left]]
    columns = {
        "task_id": workload.task_ids[left].astype(object),
        "job_id": _named(workload.job_ids, workload.job[left]),
        "kind": np.array(KINDS, dtype=object)[workload.kind[left]],
        "node": _named(run.instance.cluster.node_ids, nodes[left]),
        "locality": near[left],
        **_times(arrival, starts[left], ends[left]),
    }
    return pd.DataFrame(columns)


def jobs_of(run: Simulation) -> pd.DataFrame:
    """Each job that had a task left, with Batsim's columns."""
    import pandas as pd

    workload, jobs = run.instance.workload, run.job_parts
    nodes, starts, ends = _spans(run)
    count, left = len(jobs), np.flatnonzero(run.left)
    job = jobs.of_task[left]
    begin, end = np.full(count, NEVER), np.full(count, -NEVER)
    np.minimum.at(begin, job, starts[left])
    np.maximum.at(end, job, ends[left])
    kind = workload.kind[left]
    near = locality(run.instance, Placement(nodes))[left]
    groups = np.append(workload.job_group, -1)[jobs.rows]
    local = {
        f"{name}_local" if name != "remote" else name: np.bincount(
            job[(kind == MAP) & (near == number)], minlength=count
        )
        for number, name in enumerate(CLASSES)
    }
    columns = {
        "job_id": np.array(jobs.ids, dtype=object),
        "group": _named(workload.group_ids, groups),
        "requested_number_of_resources": np.bincount(job, minlength=count),
        "maps": np.bincount(job[kind == MAP], minlength=count),
        "reduces": np.bincount(job[kind == REDUCE], minlength=count),
        "success": end < NEVER,
        **_times(jobs.arrival, begin, end),
        "allocated_resources": _used(run, job, nodes[left], count),
        **local,
    }
    return pd.DataFrame(columns)


def _used(run: Simulation, job: Ints, nodes: Ints, count: int) -> npt.NDArray[Any]:
    """The ids of the nodes that each job used, apart by spaces."""
    pairs = np.unique(np.stack([job, nodes])[:, nodes != NONE], axis=1)
    found: list[list[str]] = [[] for _ in range(count)]
    for owner, node in zip(pairs[0].tolist(), run.instance.cluster.node_ids[pairs[1]].tolist(), strict=True):
        found[owner].append(node)
    return np.array([" ".join(names) for names in found], dtype=object)


def nodes_of(run: Simulation) -> pd.DataFrame:
    """What each node ran, and which share of its slots' time that took up to the last thing that happened."""
    import pandas as pd

    cluster, kind = run.instance.cluster, run.instance.workload.kind
    nodes, starts, ends = _spans(run)
    begin, last = run.begin, run.last
    span = np.clip(np.minimum(ends, last) - np.maximum(starts, begin), 0, None)
    columns: dict[str, Any] = {"node_id": cluster.node_ids.astype(object)}
    for number, (name, slots) in enumerate(zip(KINDS, (cluster.slots, cluster.reduce_slots), strict=True)):
        of_kind = (kind == number) & (nodes != NONE)
        busy = np.zeros(len(cluster), dtype=np.int64)
        np.add.at(busy, nodes[of_kind], span[of_kind])
        columns[f"{name}_slots"] = slots
        columns[f"{name}s"] = np.bincount(nodes[of_kind], minlength=len(cluster))
        columns[f"{name}_busy"] = busy / MICRO
        with np.errstate(divide="ignore", invalid="ignore"):
            columns[f"{name}_utilisation"] = busy / (slots * (last - begin))
    return pd.DataFrame(columns)


def events_of(run: Simulation) -> pd.DataFrame:
    """What happened, in order."""
    import pandas as pd

    workload = run.instance.workload
    when, what, index, node = run.record.T
    of_job = what == ARRIVED
    job = np.where(of_job, index, np.append(workload.job, -1)[np.where(of_job, -1, index)])
    columns = {
        "time": when / MICRO,
        "event": np.array([WORDS[code] for code in sorted(WORDS)], dtype=object)[what],
        "job": _named(workload.job_ids, job),
        "task": _named(workload.task_ids, np.where(of_job, -1, index)),
        "node": _named(run.instance.cluster.node_ids, node),
    }
    return pd.DataFrame(columns)


def attempts_of(run: Simulation) -> pd.DataFrame:
    """What ran in vain: each start that was followed by a loss of the node, or of what the task had written there."""
    import pandas as pd

    workload, begun = (
        run.instance.workload,
        dict(zip(run.ran_before.tolist(), run.start_at_first.tolist(), strict=True)),
    )
    ended: dict[int, int] = {}
    rows = []
    for when, what, task, node in run.record.tolist():
        if what == STARTED:
            begun[task] = when
        elif what == ENDED:
            ended[task] = when
        elif what == STOPPED:
            rows.append((task, node, begun[task], ended.pop(task, NEVER), when))
    task, node, start, end, stop = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    columns = {
        "task_id": workload.task_ids[task].astype(object),
        "job_id": _named(workload.job_ids, workload.job[task]),
        "kind": np.array(KINDS, dtype=object)[workload.kind[task]],
        "node": _named(run.instance.cluster.node_ids, node),
        "starting_time": start / MICRO,
        "finish_time": _seconds(end, end < NEVER),
        "lost_time": stop / MICRO,
    }
    return pd.DataFrame(columns)
