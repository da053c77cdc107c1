"""Explains the value of a schedule: what its jobs and tasks waited for, compared with the best known schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.instance import KINDS, MAP, REDUCE, Floats, Ints
from optsched.core.placement import MICRO, NONE, Schedule
from optsched.core.results import Value
from optsched.measuring.explaining.chains import better_by
from optsched.measuring.explaining.explanation import MOST, ExplainedGap
from optsched.measuring.printing import number
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER

__all__ = [
    "ExplainedJob",
    "Link",
    "ScheduleExplanation",
    "ExplainedTask",
    "Waits",
]

# What tasks waited for -----------------------------------------------------------------------------------------------
#
# From the instant at which its job has arrived (or the snapshot, if that is later) a task waits
#
# - for maps: until enough maps of its job have ended for a reduce to start;
# - for slots: from then on, as long as no slot of its kind is free anywhere;
# - despite free slots: as long as some node has a free one that the schedule leaves unused.
#
# The chain of the makespan goes back from the last end. Before each task comes what it started after: the task that
# left its slot, the map that its job's reduces waited for, or the arrival of its job; whichever was last. Time in
# between is time in which it could have started.


@dataclass(frozen=True, slots=True)
class Link:
    """A task of the chain of the makespan, and what it started after.

    Attributes
    ----------
    task, node
        Rows of the instance.
    start, end
        Its first and last microsecond in the chain.
    why
        `arrival`: of its job, or the beginning. `slot`: `after` left the slot. `maps`: `after` was the map that its
        job's reduces waited for. `ends-with`: it is a reduce, and ended only with `after`, a map of its job, at which
        the chain continues. `runs`: it ran at the beginning.
    after
        The row of the previous task, or -1.
    idle
        Microseconds for which it could have started already.
    """

    task: int
    node: int
    start: int
    end: int
    why: str
    after: int
    idle: int


class Waits:
    """How long the tasks of a feasible schedule waited for maps, for slots, and despite free slots.

    Parameters
    ----------
    problem
        The problem of the schedule.
    schedule
        Feasible.

    Attributes
    ----------
    tasks
        int64: the rows of the tasks that the schedule starts.
    starts, ends
        int64, for each of these: microseconds.
    maps, slots, passed
        int64, for each of these: microseconds for which it waited for maps, for slots, and despite free slots.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> problem = Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[10, 20])))
    >>> waits = Waits(problem, problem.schedule([0, 0], [0, 12_000_000]))
    >>> waits.slots.tolist(), waits.passed.tolist()
    ([0, 10000000], [0, 2000000])
    >>> [(link.task, link.why, link.idle) for link in waits.chain]
    [(0, 'arrival', 0), (1, 'slot', 2000000)]
    """

    def __init__(self, problem: ScheduleProblem, schedule: Schedule) -> None:
        self.problem = problem
        self._nodes = schedule.nodes.copy()
        self._nodes[problem.running] = problem.instance.state.node[problem.running]
        self._ends = problem.ends(schedule)
        self._starts = np.full(len(self._nodes), -NEVER)
        self._starts[problem.tasks] = schedule.starts[problem.tasks]
        self.tasks: Ints = problem.tasks
        self.starts: Ints = schedule.starts[problem.tasks]
        self.ends: Ints = self._ends[problem.tasks]
        self._from_when = problem.reduces_from(self._ends)
        job = problem.jobs.of_task[self.tasks]
        ready = problem.release.copy()
        reduces = (problem.kind == REDUCE) & (self._from_when[job] < NEVER)
        ready[reduces] = np.maximum(ready[reduces], self._from_when[job[reduces]])
        self.maps: Ints = ready - problem.release
        self.passed: Ints = np.zeros(len(self.tasks), dtype=np.int64)
        for kind in (MAP, REDUCE):
            own = problem.kind == kind
            self.passed[own] = self._free_until(kind, self.starts[own]) - self._free_until(kind, ready[own])
        self.slots: Ints = self.starts - ready - self.passed

    def _free_until(self, kind: int, instants: Ints) -> Ints:
        """For how many microseconds before each instant some slot of a kind was free."""
        room = int(self.problem.room[KINDS[kind]].sum())
        runs = np.flatnonzero((self.problem.instance.workload.kind == kind) & (self._nodes != NONE))
        runs = runs[(self._ends[runs] < NEVER) & (self._ends[runs] > self.problem.now)]
        begin, end = np.sort(np.maximum(self._starts[runs], self.problem.now)), np.sort(self._ends[runs])
        time = np.unique(np.concatenate([[self.problem.now], begin, end, instants]))
        busy = np.searchsorted(begin, time, side="right") - np.searchsorted(end, time, side="right")
        free = np.append(0, np.cumsum(np.diff(time) * (busy[:-1] < room)))
        return np.asarray(free[np.searchsorted(time, instants)])

    @cached_property
    def causes(self) -> dict[str, Floats]:
        """The seconds of each cause, by its name; shape (tasks,)."""
        return {"maps": self.maps / MICRO, "slots": self.slots / MICRO, "passed": self.passed / MICRO}

    def last_of(self, job: int) -> int:
        """The task of a job that ends last, a row of the instance; of ties the first, or the one that starts last."""
        own = np.flatnonzero((self.problem.jobs.of_task == job) & (self._ends < NEVER) & (self._nodes != NONE))
        return int(own[np.lexsort((own, -self._starts[own], -self._ends[own]))[0]])

    @cached_property
    def chain(self) -> tuple[Link, ...]:
        """The tasks that determine the makespan, in order; empty if nothing runs."""
        runs = np.flatnonzero((self._nodes != NONE) & (self._ends < NEVER) & (self._ends > self.problem.now))
        if not len(runs):
            return ()
        last = int(runs[np.lexsort((runs, -self._starts[runs], -self._ends[runs]))[0]])
        links: list[Link] = []
        seen: set[int] = set()
        while last != NONE and last not in seen:
            seen.add(last)  # tasks that take no time may follow each other in a circle
            links.append(self._link(last))
            last = links[-1].after
        return tuple(links[::-1])

    def _link(self, task: int) -> Link:
        """A task, and what it started after."""
        problem, end = self.problem, int(self._ends[task])
        node, job = int(self._nodes[task]), int(problem.jobs.of_task[task])
        position = int(np.searchsorted(problem.tasks, task))
        pending = position < len(problem.tasks) and problem.tasks[position] == task
        start = int(self._starts[task]) if pending else problem.now
        late = self._last_map(task, start, position if pending else None)
        if late != NONE:
            return Link(task, node, end, end, "ends-with", late, 0)
        if not pending:
            return Link(task, node, start, end, "runs", NONE, 0)
        found = [(int(problem.release[position]), 0, "arrival", NONE)]
        if self.maps[position]:
            when = int(self._from_when[job])
            of_job = (problem.jobs.of_task == job) & (problem.instance.workload.kind == MAP) & (self._ends == when)
            found.append((when, 1, "maps", int(np.flatnonzero(of_job)[0])))
        found += self._left(task, start)
        when, _, why, after = max(found)
        return Link(task, node, start, end, why, after, start - when)

    def _last_map(self, task: int, start: int, position: int | None) -> int:
        """The map of its job with which a reduce ended though its own time was over before; -1: none."""
        problem = self.problem
        if problem.instance.workload.kind[task] != REDUCE:
            return NONE
        if position is None:
            own = int(problem.busy_until[np.searchsorted(problem.running, task)])
        else:
            own = start + int(problem.times.on(np.array([position]), self._nodes[[task]])[0])
        if own >= self._ends[task]:
            return NONE
        of_job = (problem.jobs.of_task == problem.jobs.of_task[task]) & (problem.instance.workload.kind == MAP)
        return int(np.flatnonzero(of_job & (self._ends == self._ends[task]))[0])

    def _left(self, task: int, start: int) -> list[tuple[int, int, str, int]]:
        """The task that left the slot: the last that ended on the node by then while all its slots were taken."""
        problem = self.problem
        kind = int(problem.instance.workload.kind[task])
        same = (self._nodes == self._nodes[task]) & (problem.instance.workload.kind == kind) & (self._ends < NEVER)
        same &= (self._ends > self._starts) & (self._starts < start)
        same[task] = False
        others = np.flatnonzero(same)
        begin, end = self._starts[others], self._ends[others]
        room = int(problem.room[KINDS[kind]][self._nodes[task]])
        for when in np.unique(end[end <= start])[::-1].tolist():
            if np.count_nonzero((begin < when) & (end >= when)) >= room:
                return [(when, 2, "slot", int(others[end == when][0]))]
        return []


# The explanation of a schedule in sentences ---------------------------------------------------------------------------


def _causes(maps: float, slots: float, passed: float, who: str = "") -> str:
    """How long for what, without zeros."""
    parts = [
        (maps, "for maps of the job"),
        (slots, "while no slot was free"),
        (passed, "while a slot was free somewhere"),
    ]
    causes = ", ".join(f"{_seconds(time)} {what}" for time, what in parts if time)
    return f"{who}waited {causes}" if causes else ""


def _job(job: ExplainedJob, explanation: ScheduleExplanation) -> str:
    optimal = "" if job.best is None else f", {_seconds(job.best)} in {explanation.best_called}"
    last = "its last task ran at the beginning"
    if (task := job.last) is not None:
        waited = _causes(task.maps, task.slots, task.passed) or "did not wait"
        last = f"its last task, {task.task} on {task.node}, {waited}, and took {_seconds(task.end - task.start)}"
    return f"{job.job}: {_seconds(job.time)}{optimal}, {_seconds(job.alone)} alone; {last}"


def _link(link: Link, explanation: ScheduleExplanation) -> str:
    instance = explanation.problem.instance
    task, node = instance.workload.task_ids[link.task], instance.cluster.node_ids[link.node]
    after = "" if link.after == NONE else str(instance.workload.task_ids[link.after])
    why = {
        "arrival": "its job had arrived",
        "slot": f"{after} left the slot",
        "maps": f"{after}, the map that it waited for, had ended",
        "ends-with": f"it ended only with {after}, its job's last map",
        "runs": "it ran at the beginning",
    }[link.why]
    if link.why == "ends-with":
        return f"{_seconds(link.end / MICRO)}: {task} on {node}: {why}"
    idle = f", {_seconds(link.idle / MICRO)} later" if link.idle else ""
    return f"{number(link.start / MICRO)} to {_seconds(link.end / MICRO)}: {task} on {node}: {why}{idle}"


def _seconds(time: float) -> str:
    return f"{time:.6g} s"


@dataclass(frozen=True, slots=True)
class ExplainedTask:
    """A task, and what it waited for, in seconds.

    Attributes
    ----------
    task, kind, node
        Its id, `map` or `reduce`, and where it ran.
    start, end
        On the clock of the instance.
    maps, slots, passed
        How long it waited for maps of its job, while no slot was free, and while one was.
    """

    task: str
    kind: str
    node: str
    start: float
    end: float
    maps: float
    slots: float
    passed: float

    @property
    def waited(self) -> float:
        """The sum of these."""
        return self.maps + self.slots + self.passed


@dataclass(frozen=True, slots=True)
class ExplainedJob:
    """A job, with seconds from its arrival to its end.

    Attributes
    ----------
    job
        Its id.
    time
        In this schedule.
    best
        In the best known schedule; None without one.
    alone
        As if all slots were its own: no schedule has less.
    last
        The task that ended last; None: it ran at the beginning.
    """

    job: str
    time: float
    best: float | None
    alone: float
    last: ExplainedTask | None

    @property
    def lost(self) -> float:
        """Seconds more than in the best schedule, or without one than alone."""
        return self.time - (self.alone if self.best is None else self.best)


@dataclass(frozen=True, eq=False, repr=False)
class ScheduleExplanation(ExplainedGap):
    """Why a schedule has its value."""

    problem: ScheduleProblem

    @property
    def schedule(self) -> Schedule | None:
        """The explained schedule; None if nothing is feasible."""
        return None if self.infeasible else self.report.run.schedule

    @property
    def best(self) -> Schedule | None:
        """The best known schedule; None without one."""
        found = self.report.reference.solution.decision
        return found if isinstance(found, Schedule) else None

    @property
    def best_called(self) -> str:
        """What kind of schedule the best known one is, in words."""
        return "the proved optimum" if self.optimal else "the best schedule known"

    @cached_property
    def gap(self) -> Value | None:
        """How much better the best schedule is; None without one."""
        best = self.report.reference.solution.objective
        if best is None or self.report.objective is None:
            return None
        return better_by(self.problem, self.report.objective, best)

    @cached_property
    def waits(self) -> Waits:
        """What each task waited for; only if something is feasible."""
        assert self.schedule is not None
        return Waits(self.problem, self.schedule)

    @cached_property
    def tasks(self) -> tuple[ExplainedTask, ...]:
        """Each task that the schedule starts, in the order of the file."""
        return tuple(self._task(position) for position in range(len(self.problem.tasks)))

    def _task(self, position: int) -> ExplainedTask:
        waits, instance = self.waits, self.problem.instance
        task = int(waits.tasks[position])
        assert self.schedule is not None
        return ExplainedTask(
            str(instance.workload.task_ids[task]),
            KINDS[int(instance.workload.kind[task])],
            str(instance.cluster.node_ids[self.schedule.nodes[task]]),
            int(waits.starts[position]) / MICRO,
            int(waits.ends[position]) / MICRO,
            *(float(seconds[position]) for seconds in waits.causes.values()),
        )

    @cached_property
    def jobs(self) -> tuple[ExplainedJob, ...]:
        """The jobs, the one that loses most first."""
        problem = self.problem
        assert self.schedule is not None
        arrival = problem.jobs.arrival
        ends = [problem.completions(self.schedule), problem.earliest_completions]
        times, alone = ((end - arrival) / MICRO for end in ends)
        best = None if self.best is None else (problem.completions(self.best) - arrival) / MICRO
        found = []
        for job, name in enumerate(problem.jobs.ids):
            task = self.waits.last_of(job)
            position = int(np.searchsorted(problem.tasks, task))
            started = position < len(problem.tasks) and problem.tasks[position] == task
            there = None if best is None else float(best[job])
            last = self._task(position) if started else None
            found.append(ExplainedJob(name, float(times[job]), there, float(alone[job]), last))
        return tuple(sorted(found, key=lambda job: -job.lost))

    @property
    def chain(self) -> tuple[Link, ...]:
        """The tasks that determine the makespan, in order."""
        return self.waits.chain

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """The explanation in JSON's types, in the instance's ids, times in seconds; values are exact.

        `most` only limits sentences: all jobs, tasks and links are here.
        """
        record: dict[str, Any] = {
            **self.gap_document(self.gap),
            "assumed": self.report.run.assumed,
            "infeasible": self.report.reference.infeasible,
        }
        if self.schedule is None:
            return {**record, "jobs": [], "tasks": [], "chain": []}
        tasks, nodes = self.problem.instance.workload.task_ids, self.problem.instance.cluster.node_ids
        chain = [
            {
                **asdict(link),
                "task": str(tasks[link.task]),
                "node": str(nodes[link.node]),
                "after": None if link.after == NONE else str(tasks[link.after]),
                **{name: getattr(link, name) / MICRO for name in ("start", "end", "idle")},
            }
            for link in self.chain
        ]
        jobs, each = ([asdict(entry) for entry in entries] for entries in (self.jobs, self.tasks))
        return {**record, "jobs": jobs, "tasks": each, "chain": chain}

    def __repr__(self) -> str:
        return self.brief(self.gap, "" if self.infeasible else f", {counted(len(self.problem.jobs), 'job')}")

    def sentences(self, most: int = MOST) -> Iterator[str]:
        """Lines of explanation: the value, what tasks waited for, the jobs that lose most, and the chain of the
        makespan.

        At most `most` jobs, and as many links of the chain (the last ones), are written.
        """
        problem, reference = self.problem, self.report.reference
        where = f"{problem.instance.name or 'instance'}, {problem.name}"
        if self.infeasible:
            yield f"{where}: no schedule is feasible: {reference.infeasible}."
            return
        component = problem.components[0]
        best, held = reference.solution.objective, self.report.objective
        assert held is not None
        unit = component.unit
        compared = "none is known to compare with" if best is None else f"{self.best_called}: {number(best[0])} {unit}"
        assumed = self.report.run.assumed
        who = f"{self.who} ({assumed})" if assumed else self.who
        yield f"{where}: {who} has a {problem.value_in_words} of {number(held[0])} {unit}; {compared}."
        assert self.schedule is not None
        details = {} if self.best is None else dict(problem.details(self.best))
        for name, text in problem.details(self.schedule):
            there = f". In {self.best_called}: {details[name]}" if name in details else ""
            yield f"{name.capitalize()}: {text}{there}."
        idle = sum(not task.waited for task in self.tasks)
        maps, slots, passed = (
            sum(getattr(task, cause) for task in self.tasks) for cause in ("maps", "slots", "passed")
        )
        causes = _causes(maps, slots, passed, "together they ")
        yield f"{counted(len(self.tasks), 'task')}: {idle} did not wait" + (f"; {causes}." if causes else ".")
        jobs = self.jobs
        if jobs:
            place = "alone on all slots" if self.best is None else f"in {self.best_called}"
            yield f"Jobs, from arrival to end; first the one that loses most against its time {place}:"
            yield from (f"  {rank}. {_job(job, self)}" for rank, job in enumerate(jobs[:most], start=1))
            if len(jobs) > most:
                yield f"  and {counted(len(jobs) - most, 'more job')}, with smaller losses."
        if self.chain:
            yield "This chain of tasks leads to the last end:"
            left = len(self.chain) - most
            if left > 0:
                yield f"  {counted(left, 'task')} before, then"
            yield from (f"  {_link(link, self)}" for link in self.chain[max(0, left) :])
