"""What the literal models of `makespan` and `job-times` share: a binary for each task, node and instant.

This is the time-indexed program of Sousa and Wolsey (1992), with nodes of several slots, and with reduces, which hold
their slots until the last map of their job has ended. Instants are multiples of the greatest common divisor of all
times, up to the last end of schedules that are no worse than the best of some lists.

=========================== ===============================================================================
variable or row             what it is
=========================== ===============================================================================
`start.t.n.i`               1 if the task starts on the node at the instant
`end.t.i`                   1 if the reduce ends then; of reduces that run, where maps of their job wait
`holds.t.n.i`               at least 1 if the reduce has started on the node and not ended by the instant
`completion.j`              when the job ends, in ticks after the snapshot
`makespan`                  when all jobs end; of `makespan` alone
`task.t`                    each task starts once
`ends.t`                    each reduce ends once
`ends_after_start.t`        the reduce ends no sooner than its time after its start
`ends_after_map.t.m`        the reduce ends no sooner than each map of its job
`held.t.n.i`                what `holds` is at least
`slots.k.n.i`               tasks of a kind on a node at an instant have room
`slowstart.t.i`             the reduce starts then only if enough maps of its job have ended
`completed.t`               the job ends no sooner than its task
`whole.j`                   all jobs have ended by the makespan
=========================== ===============================================================================
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np
import pulp

from optsched.instance import KINDS, MAP, REDUCE
from optsched.models.base import MAX_VARIABLES, ModelSize, refuse_too_large, whole
from optsched.models.schedules import job_labels
from optsched.models.starts import Entries
from optsched.placement import NONE
from optsched.problems.schedules import ScheduleProblem
from optsched.schedule import MICRO, Schedule
from optsched.searches.left_shift import as_early
from optsched.searches.timetable import latest_ends, tick_of
from optsched.solvers.algebraic import injective_names

__all__ = ["Intervals", "decode_intervals", "interval_size", "started_intervals"]


class Grid:
    """The instants of a problem, what may start when, and what is known of running tasks; in steps from the snapshot.

    Attributes
    ----------
    step
        Microseconds of a step.
    last
        The step by which all has ended.
    spans
        For each task and open node: the first start, how many there are, and how long it takes.
    ends
        For each reduce that has variables for its end, by its row in the instance: the first end.
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem = problem
        kinds = problem.kind.tolist()
        self.open = {kind: np.flatnonzero(problem.room[KINDS[kind]]) for kind in (MAP, REDUCE)}
        times = [
            problem.times.on(np.full(len(self.open[kind]), position), self.open[kind]).tolist()
            for position, kind in enumerate(kinds)
        ]
        since = np.concatenate([problem.release, problem.busy_until]) - problem.now
        self.step = gcd(*since.tolist(), *(time for row in times for time in row)) or MICRO
        self.last = self.steps(int(latest_ends(problem).max(initial=problem.now)))
        release = [self.steps(begin) for begin in problem.release.tolist()]
        self.spans: list[dict[int, tuple[int, int, int]]] = []
        for begin, kind, row in zip(release, kinds, times, strict=True):
            long = {node: time // self.step for node, time in zip(self.open[kind].tolist(), row, strict=True)}
            self.spans.append(
                {
                    node: (begin, self.last - time - begin + 1, time)
                    for node, time in long.items()
                    if self.last - time >= begin
                }
            )
        job = problem.jobs.of_task.tolist()
        rows = problem.tasks.tolist()
        self.maps: dict[int, list[int]] = {}  # positions, by job
        for position in np.flatnonzero(problem.kind == MAP).tolist():
            self.maps.setdefault(job[rows[position]], []).append(position)
        self.run_until = dict(zip(problem.running.tolist(), map(self.steps, problem.busy_until.tolist()), strict=True))
        kind_of = problem.instance.workload.kind.tolist()
        self.running_maps: dict[int, list[int]] = {}  # ends, by job
        for row, until in self.run_until.items():
            if kind_of[row] == MAP:
                self.running_maps.setdefault(job[row], []).append(until)
        self.ends: dict[int, int] = {}
        for row, until in self.run_until.items():
            if kind_of[row] == REDUCE:
                self.run_until[row] = max(until, *self.running_maps.get(job[row], [0]))
                if job[row] in self.maps:
                    self.ends[row] = self.run_until[row]
        for position in np.flatnonzero(problem.kind == REDUCE).tolist():
            row = rows[position]
            first = min((begin + time for begin, _, time in self.spans[position].values()), default=0)
            self.ends[row] = max(first, *self.running_maps.get(job[row], [0]))

    def steps(self, instant: int) -> int:
        """An instant in steps."""
        return (instant - self.problem.now) // self.step

    def slot_rows(self, kind: int, node: int) -> range:
        """The instants at which some task of a kind may hold a slot of a node."""
        own = np.flatnonzero(self.problem.kind == kind).tolist()
        spans = [self.spans[position][node] for position in own if node in self.spans[position]]
        return range(min((begin for begin, _, time in spans if time or kind == REDUCE), default=self.last), self.last)

    def needed(self, position: int) -> Iterator[tuple[int, int]]:
        """The instants at which a reduce may start only if more maps have ended than run, and how many."""
        job = self.problem.jobs.of_task[self.problem.tasks[position]]
        due = int(self.problem.maps_before_reduces[job])
        spans = self.spans[position].values()
        for instant in range(
            min((span[0] for span in spans), default=0), max((sum(span[:2]) for span in spans), default=0)
        ):
            left = due - sum(end <= instant for end in self.running_maps.get(int(job), []))
            if left > 0:
                yield instant, left


def interval_size(problem: ScheduleProblem, jobs: bool) -> ModelSize:
    """What the literal model would take; `jobs`: without the makespan."""
    if problem.plainly_infeasible is not None:
        return ModelSize(0, 0, 0)
    grid, count = Grid(problem), len(problem.jobs)
    reduces = np.flatnonzero(problem.kind == REDUCE).tolist()
    starts = sum(number for spans in grid.spans for _, number, _ in spans.values())
    ends = sum(grid.last - first + 1 for first in grid.ends.values())
    rows = [grid.slot_rows(kind, int(node)) for kind in (MAP, REDUCE) for node in grid.open[kind]]
    held, terms = 0, 0
    for position, spans in enumerate(grid.spans):
        for begin, number, time in spans.values():
            if position in reduces:
                first = grid.ends[int(problem.tasks[position])]
                length = grid.last - begin
                held += length
                late = grid.last - max(first, begin)
                terms += 2 * length + number * length - number * (number - 1) // 2 + late * (late + 1) // 2
            else:
                terms += number * time
    job = problem.jobs.of_task
    pairs = [len(grid.maps.get(int(job[row]), [])) for row in grid.ends]
    slow = 0
    for position in reduces:
        own = grid.maps.get(int(job[problem.tasks[position]]), [])
        for instant, _ in grid.needed(position):
            slow += 1
            terms += len(grid.spans[position])
            terms += sum(
                max(0, min(number, instant - begin - time + 1))
                for each in own
                for begin, number, time in grid.spans[each].values()
            )
    terms += (
        starts * 3 + ends * 3 + sum(pairs) * (grid.last + 1) + len(grid.ends) * len(rows) * grid.last // 4 + 3 * count
    )
    terms += sum(
        sum(number for _, number, _ in grid.spans[each].values()) + grid.last - first + 1
        for row, first in grid.ends.items()
        for each in grid.maps.get(int(job[row]), [])
    )
    whole_rows = sum(map(len, rows)) + held + sum(pairs) + slow
    tasks = len(problem.tasks)
    completed = len(set(problem.tasks.tolist()) | set(grid.ends))
    return ModelSize(
        starts + ends + held + count + (not jobs),
        whole_rows + tasks + len(grid.ends) + len(reduces) + completed + (0 if jobs else count),
        terms + tasks + 1,
    )


class Intervals:
    """The literal model, but for its objective."""

    def __init__(self, problem: ScheduleProblem, max_variables: int = MAX_VARIABLES, jobs: bool = True) -> None:
        refuse_too_large(problem, interval_size(problem, jobs), max_variables, "build_pyomo")
        self.problem, self.grid = problem, Grid(problem)
        self.model = pulp.LpProblem(problem.name, pulp.LpMinimize)
        self._task = injective_names(problem.instance.workload.task_ids.tolist())
        self._node = injective_names(problem.instance.cluster.node_ids.tolist())
        self._job = injective_names(job_labels(problem))
        self._add_starts()
        self._add_ends()
        self._add_slots()
        self._add_slowstart()
        self._add_completions()

    def _add_starts(self) -> None:
        """Each task starts once."""
        ids = self.problem.instance.workload.task_ids.tolist()
        nodes = self.problem.instance.cluster.node_ids.tolist()
        self.starts: list[dict[tuple[int, int], Any]] = []
        self.model.start = {}
        for row, spans in zip(self.problem.tasks.tolist(), self.grid.spans, strict=True):
            own = {}
            for node, (begin, number, _) in spans.items():
                for instant in range(begin, begin + number):
                    name = f"start.{self._task[row]}.{self._node[node]}.{instant}"
                    own[node, instant] = self.model.add_variable(name, cat=pulp.LpBinary)
                    self.model.start[ids[row], (nodes[node], instant)] = own[node, instant]
            self.starts.append(own)
            self.model.addConstraint(pulp.lpSum(own.values()) == 1, f"task.{self._task[row]}")

    def _end(self, position: int) -> list[tuple[Any, int]]:
        """Terms of the end of a task as its start and its time say, in steps."""
        spans = self.grid.spans[position]
        return [(start, instant + spans[node][2]) for (node, instant), start in self.starts[position].items()]

    def _add_ends(self) -> None:
        """Each reduce ends once, no sooner than its time after its start, and than each map of its job."""
        model, grid, job = self.model, self.grid, self.problem.jobs.of_task
        position_of = {row: position for position, row in enumerate(self.problem.tasks.tolist())}
        self.ends: dict[int, list[tuple[Any, int]]] = {}
        for row, first in grid.ends.items():
            name = self._task[row]
            own = [
                (model.add_variable(f"end.{name}.{instant}", cat=pulp.LpBinary), instant)
                for instant in range(first, grid.last + 1)
            ]
            self.ends[row] = own
            model.addConstraint(pulp.lpSum(end for end, _ in own) == 1, f"ends.{name}")
            late = pulp.LpAffineExpression(own)
            if row in position_of:
                early = pulp.LpAffineExpression(self._end(position_of[row]))
                model.addConstraint(late - early >= 0, f"ends_after_start.{name}")
            for other in grid.maps.get(int(job[row]), []):
                early = pulp.LpAffineExpression(self._end(other))
                mark = self._task[int(self.problem.tasks[other])]
                model.addConstraint(late - early >= 0, f"ends_after_map.{name}.{mark}")

    def _add_slots(self) -> None:
        """No more tasks of a kind hold slots of a node than there are."""
        for kind in (MAP, REDUCE):
            own = np.flatnonzero(self.problem.kind == kind).tolist()
            for node in self.grid.open[kind].tolist():
                rows = self.grid.slot_rows(kind, node)
                terms: dict[int, list[Any]] = {instant: [] for instant in rows}
                for position in own:
                    span = self.grid.spans[position].get(node)
                    if span is not None:
                        self._hold(kind, position, node, span, terms)
                for instant in rows:
                    free, kept = self._free(kind, node, instant)
                    name = f"slots.{KINDS[kind]}.{self._node[node]}.{instant}"
                    self.model.addConstraint(pulp.lpSum(terms[instant]) - pulp.lpSum(kept) <= free, name)

    def _hold(
        self, kind: int, position: int, node: int, span: tuple[int, int, int], terms: dict[int, list[Any]]
    ) -> None:
        """Say at which instants a task on a node holds a slot: of a reduce by variables."""
        begin, number, time = span
        starts = [self.starts[position][node, begin + offset] for offset in range(number)]
        if kind == MAP:
            for offset, start in enumerate(starts):
                for instant in range(begin + offset, begin + offset + time):
                    terms[instant].append(start)
            return
        row = int(self.problem.tasks[position])
        for instant in range(begin, self.grid.last):
            mark = f"{self._task[row]}.{self._node[node]}.{instant}"
            holds = self.model.add_variable(f"holds.{mark}", 0)
            started = pulp.lpSum(starts[: instant - begin + 1])
            ended = pulp.lpSum(end for end, step in self.ends[row] if step <= instant)
            self.model.addConstraint(holds - started + ended >= 0, f"held.{mark}")
            terms[instant].append(holds)

    def _free(self, kind: int, node: int, instant: int) -> tuple[int, list[Any]]:
        """Slots of a node that no running task holds at an instant, and the ends of some that may hold one."""
        problem = self.problem
        free, kept = int(problem.offered[KINDS[kind]][node]), []
        for row in problem.running.tolist():
            if problem.instance.workload.kind[row] == kind and problem.instance.state.node[row] == node:
                if row in self.ends:
                    kept += [end for end, step in self.ends[row] if step <= instant]
                else:
                    free += self.grid.run_until[row] <= instant
        return free, kept

    def _add_slowstart(self) -> None:
        """A reduce starts when enough maps of its job have ended."""
        job = self.problem.jobs.of_task
        for position in np.flatnonzero(self.problem.kind == REDUCE).tolist():
            row = int(self.problem.tasks[position])
            ends = [pair for other in self.grid.maps.get(int(job[row]), []) for pair in self._end(other)]
            for instant, left in self.grid.needed(position):
                now = pulp.lpSum(start for (_, begin), start in self.starts[position].items() if begin == instant)
                over = pulp.lpSum(start for start, end in ends if end <= instant)
                self.model.addConstraint(left * now - over <= 0, f"slowstart.{self._task[row]}.{instant}")

    def _add_completions(self) -> None:
        """When jobs end, in ticks."""
        job, grid = self.problem.jobs.of_task, self.grid
        least = [0] * len(self.problem.jobs)
        for row, until in grid.run_until.items():
            least[int(job[row])] = max(least[int(job[row])], until)
        scale = grid.step / tick_of(self.problem)
        self.completion = [
            self.model.add_variable(f"completion.{name}", scale * begin)
            for name, begin in zip(self._job, least, strict=True)
        ]
        ends = {row: self._end(position) for position, row in enumerate(self.problem.tasks.tolist())} | self.ends
        for row, terms in ends.items():
            end = pulp.LpAffineExpression([(variable, scale * step) for variable, step in terms])
            self.model.addConstraint(self.completion[int(job[row])] - end >= 0, f"completed.{self._task[row]}")


def decode_intervals(model: Any, problem: ScheduleProblem) -> Schedule:
    """The schedule of a solved literal model."""
    grid, index = Grid(problem), problem.instance.node_index
    held = {task: place for (task, place), start in model.start.items() if whole(start)}
    ids = problem.instance.workload.task_ids[problem.tasks].tolist()
    places = [held.get(task) for task in ids]
    nodes = [NONE if place is None else index[place[0]] for place in places]
    starts = [0 if place is None else problem.now + place[1] * grid.step for place in places]
    return problem.schedule(nodes, starts)


def started_intervals(model: Any, problem: ScheduleProblem, schedule: Schedule) -> Entries:
    """A schedule, as early as it can be, in the starts of the literal model, which HiGHS completes."""
    grid, early = Grid(problem), as_early(problem, schedule)
    ids = problem.instance.workload.task_ids[problem.tasks].tolist()
    names = problem.instance.cluster.node_ids.tolist()
    nodes, starts = early.nodes[problem.tasks].tolist(), early.starts[problem.tasks].tolist()
    place = {
        task: (names[node], grid.steps(start))
        for task, node, start in zip(ids, nodes, starts, strict=True)
        if node != NONE
    }
    yield from ((variable, int(place.get(task) == at)) for (task, at), variable in model.start.items())
