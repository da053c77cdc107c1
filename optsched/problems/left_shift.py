"""Shifts a schedule to the left: each task as early as their order allows, each reduce just long enough.

Neither lets anything end later. `schedule_enumeration` says why no task starts later here.
"""

from __future__ import annotations

import numpy as np

from optsched.core.arrays import Ints
from optsched.core.instance import MAP, REDUCE
from optsched.core.placement import NONE
from optsched.core.schedule import Schedule
from optsched.problems.schedules import NEVER, ScheduleProblem

__all__ = ["as_early", "slots_by_node"]


def as_early(problem: ScheduleProblem, schedule: Schedule) -> Schedule:
    """The same tasks on the same nodes in the order of their starts, each as early as it can be, maps first.

    A reduce that would end before its job's last map starts later, so that it ends with that. The schedule is feasible,
    but may leave tasks out.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> problem = Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[10, 20])))
    >>> as_early(problem, problem.schedule([0, 0], [50_000_000, 1_000_000])).starts.tolist()
    [20000000, 0]
    """
    nodes = schedule.nodes[problem.tasks]
    starts = schedule.starts[problem.tasks].copy()
    begin = last = np.full(len(problem.jobs), -NEVER, dtype=np.int64)
    job = problem.jobs.of_task[problem.tasks]
    for kind in (MAP, REDUCE):
        slots = slots_by_node(problem, kind, last)
        runs = np.flatnonzero((problem.kind == kind) & (nodes != NONE) & (begin[job] < NEVER))
        times = problem.times.on(runs, nodes[runs])
        for row in np.lexsort((runs, starts[runs])).tolist():
            position, time = int(runs[row]), int(times[row])
            until, node = int(last[job[position]]), int(nodes[position])
            start = max(int(problem.release[position]), int(begin[job[position]]))
            if not time:  # no slot is needed
                starts[position] = max(start, until)
                continue
            start = max(start, slots[node][0], until - time)
            starts[position] = start
            slots[node] = sorted([*slots[node][1:], start + time])
        ends = problem.ends(problem.schedule(nodes, starts))
        begin, last = problem.reduces_from(ends), problem.last_maps(ends)
    return problem.schedule(nodes, starts)


def slots_by_node(problem: ScheduleProblem, kind: int, last: Ints) -> list[list[int]]:
    """When the slots of each node become free, the first first; of running reduces not before their job's last map.

    `last` is when the last map of each job ends (microseconds, shape (jobs,)); of no matter for maps.
    """
    nodes, until, job = problem.slots(kind)
    if kind == REDUCE:
        runs = job >= 0
        until[runs] = np.maximum(until[runs], last[job[runs]])
    slots: list[list[int]] = [[] for _ in problem.instance.cluster.node_ids]
    for node, end in zip(nodes.tolist(), until.tolist(), strict=True):
        slots[node].append(end)
    return [sorted(held) for held in slots]
