"""Schedules as counts of a timetable, and counts as schedules: how many tasks of each group start where and when."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from optsched.instance import MAP, REDUCE
from optsched.placement import NONE
from optsched.problems.schedules import NEVER
from optsched.schedule import Schedule
from optsched.searches.left_shift import as_early, slots_by_node
from optsched.searches.timetable import Timetable

__all__ = ["Counts", "counts_of", "dealt"]


class Counts(NamedTuple):
    """What a program over time decides.

    Attributes
    ----------
    counted
        By (class, group): how many tasks of the class are counted in the group.
    starts
        By (group, pool, tick): how many of its tasks start there and then.
    """

    counted: Mapping[tuple[int, int], int]
    starts: Mapping[tuple[int, int, int], int]


def dealt(table: Timetable, counts: Counts) -> Schedule:
    """A schedule with these counts: the tasks of a group take turns, and so do the slots of a pool.

    What lands nearer to its data than it is counted ends sooner. Tasks that are not counted do not run.
    """
    problem = table.problem
    nodes = np.full(len(problem.tasks), NONE, dtype=np.int64)
    starts = np.zeros(len(problem.tasks), dtype=np.int64)
    waiting: dict[int, list[int]] = {}
    left = [list(each.members) for each in table.classes]
    for (number, group), count in sorted(counts.counted.items()):
        waiting.setdefault(group, []).extend(left[number][:count])
        del left[number][:count]
    last = np.full(len(problem.jobs), -NEVER, dtype=np.int64)
    for kind in (MAP, REDUCE):
        free = slots_by_node(problem, kind, last)
        slots = [sorted((end, node) for node in pool.nodes for end in free[node]) for pool in table.pools]
        order = sorted((tick, group, pool) for group, pool, tick in counts.starts if table.groups[group].kind == kind)
        for tick, group, pool in order:
            for _ in range(min(counts.starts[group, pool, tick], len(waiting.get(group, [])))):
                position = waiting[group].pop(0)
                starts[position] = problem.now + tick * table.step
                nodes[position] = table.pools[pool].nodes[0]
                if table.groups[group].time:
                    nodes[position] = heapq.heappop(slots[pool])[1]
                    time = int(problem.times.on(np.array([position]), nodes[[position]])[0])
                    end = max(int(starts[position]) + time, int(last[table.job[position]]))
                    heapq.heappush(slots[pool], (end, int(nodes[position])))
        last = problem.last_maps(problem.ends(problem.schedule(nodes, starts)))
    return problem.schedule(nodes, starts)


def counts_of(table: Timetable, schedule: Schedule) -> Counts:
    """The counts of a schedule, as early as it can be; none where it ends later than the timetable goes."""
    problem = table.problem
    early = as_early(problem, schedule)
    nodes = early.nodes[problem.tasks].tolist()
    ends = problem.ends(early)
    begin = np.maximum(problem.last_maps(ends), problem.now)
    ticks, last = table.ticks(early.starts[problem.tasks]), table.ticks(begin)
    pool_of = {(pool.kind, node): number for number, pool in enumerate(table.pools) for node in pool.nodes}
    allowed = [set(row.tolist()) for row in table.starts]
    counted: Counter[tuple[int, int]] = Counter()
    starts: Counter[tuple[int, int, int]] = Counter()
    for number, each in enumerate(table.classes):
        for position in (member for member in each.members if nodes[member] != NONE):
            node, tick = nodes[position], ticks[position]
            near = (group for group in reversed(each.groups) if node in table.groups[group].nodes)
            group = next(near, each.groups[0])
            if not table.groups[group].time:
                node = table.groups[group].nodes[0]
                tick = max(table.ticks(problem.release[[position]])[0], last[each.job] if each.kind == REDUCE else 0)
            if tick not in allowed[group]:
                return Counts({}, {})
            counted[number, group] += 1
            starts[group, pool_of[each.kind, node], tick] += 1
    return Counts(counted, starts)
