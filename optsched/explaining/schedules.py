"""Why a schedule has the value that it has: what its jobs and tasks waited for, beside the best schedule known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.brief import brief, counted
from optsched.decimals import spelled
from optsched.explaining.chains import better_by
from optsched.explaining.waiting import Link, Waits
from optsched.instance import KINDS
from optsched.placement import NONE
from optsched.problems.schedules import ScheduleProblem
from optsched.results import Termination, Value
from optsched.schedule import MICRO, Schedule

if TYPE_CHECKING:
    from optsched.gaps import GapReport

__all__ = ["JobTold", "ScheduleExplanation", "TaskTold"]


@dataclass(frozen=True, slots=True)
class TaskTold:
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
        """All of it."""
        return self.maps + self.slots + self.passed


@dataclass(frozen=True, slots=True)
class JobTold:
    """A job, with seconds from its arrival to its end.

    Attributes
    ----------
    job
        Its id.
    time
        In this schedule.
    best
        In the best schedule that is known; None without one.
    alone
        Were all slots its own: no schedule has less.
    last
        The task that ended last; None: it ran at the beginning.
    """

    job: str
    time: float
    best: float | None
    alone: float
    last: TaskTold | None

    @property
    def lost(self) -> float:
        """Seconds more than in the best schedule, or without one than alone."""
        return self.time - (self.alone if self.best is None else self.best)


@dataclass(frozen=True, eq=False, repr=False)
class ScheduleExplanation:
    """Why a schedule has its value.

    Attributes
    ----------
    problem
        What is decided, over time.
    report
        The gap: the schedule, the reference, and what was found of them.
    who
        What made the schedule.
    """

    problem: ScheduleProblem
    report: GapReport
    who: str

    @property
    def infeasible(self) -> bool:
        """Whether no schedule is feasible."""
        return self.report.reference.solution.termination is Termination.INFEASIBLE

    @property
    def optimal(self) -> bool:
        """Whether the best schedule is a proved optimum."""
        return self.report.reference.solution.optimal

    @property
    def schedule(self) -> Schedule | None:
        """What is explained; None where nothing is feasible."""
        return None if self.infeasible else self.report.run.schedule

    @property
    def best(self) -> Schedule | None:
        """The best schedule that is known; None without one."""
        found = self.report.reference.solution.decision
        return found if isinstance(found, Schedule) else None

    @cached_property
    def gap(self) -> Value | None:
        """By how much the best schedule is better; None without one."""
        best = self.report.reference.solution.objective
        if best is None or self.report.objective is None:
            return None
        return better_by(self.problem, self.report.objective, best)

    @cached_property
    def waits(self) -> Waits:
        """What each task waited for; not where nothing is feasible."""
        assert self.schedule is not None
        return Waits(self.problem, self.schedule)

    @cached_property
    def tasks(self) -> tuple[TaskTold, ...]:
        """Each task that the schedule starts, in the order of the file."""
        return tuple(self._task(position) for position in range(len(self.problem.tasks)))

    def _task(self, position: int) -> TaskTold:
        waits, instance = self.waits, self.problem.instance
        task = int(waits.tasks[position])
        assert self.schedule is not None
        return TaskTold(
            str(instance.workload.task_ids[task]),
            KINDS[int(instance.workload.kind[task])],
            str(instance.cluster.node_ids[self.schedule.nodes[task]]),
            int(waits.starts[position]) / MICRO,
            int(waits.ends[position]) / MICRO,
            *(float(seconds[position]) for seconds in waits.causes.values()),
        )

    @cached_property
    def jobs(self) -> tuple[JobTold, ...]:
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
            found.append(JobTold(name, float(times[job]), there, float(alone[job]), last))
        return tuple(sorted(found, key=lambda job: -job.lost))

    @property
    def chain(self) -> tuple[Link, ...]:
        """The tasks that the makespan is made of, the first first."""
        return self.waits.chain

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """The explanation as JSON takes it, in the instance's ids, times in seconds; values are exact.

        `most` counts for sentences alone: all jobs, tasks and links are here.
        """
        report, solution = self.report, self.report.reference.solution
        told: dict[str, Any] = {
            "instance": self.problem.instance.name,
            "problem": self.problem.name,
            "parameters": dict(self.problem.parameters),
            "heuristic": self.who,
            "heuristic_parameters": dict(report.run.parameters),
            "assumed": report.run.assumed,
            "seed": report.seed,
            "components": [
                {"name": part.name, "sense": str(part.sense), "unit": part.unit} for part in self.problem.components
            ],
            "objective": _spelled(report.objective),
            "reference": _spelled(solution.objective),
            "certificate": None if report.reference.certificate is None else str(report.reference.certificate),
            "gap": _spelled(self.gap),
            "infeasible": report.reference.infeasible,
        }
        if self.schedule is None:
            return {**told, "jobs": [], "tasks": [], "chain": []}
        tasks, nodes = self.problem.instance.workload.task_ids, self.problem.instance.cluster.node_ids
        chain = [
            {
                "task": str(tasks[link.task]),
                "node": str(nodes[link.node]),
                "start": link.start / MICRO,
                "end": link.end / MICRO,
                "why": link.why,
                "after": None if link.after == NONE else str(tasks[link.after]),
                "idle": link.idle / MICRO,
            }
            for link in self.chain
        ]
        jobs, each = ([asdict(entry) for entry in entries] for entries in (self.jobs, self.tasks))
        return {**told, "jobs": jobs, "tasks": each, "chain": chain}

    def __repr__(self) -> str:
        told = "no better schedule known" if self.gap is None else f"gap {', '.join(map(str, self.gap))}"
        where = self.problem.instance.name or "instance"
        if self.infeasible:
            return brief(f"{self.problem.name} on {where}: infeasible")
        return brief(f"{self.who} on {where}, {self.problem.name}: {told}, {counted(len(self.problem.jobs), 'job')}")

    def __str__(self) -> str:
        from optsched.explaining.waiting_words import schedule_sentences

        return "\n".join(schedule_sentences(self))


def _spelled(value: Sequence[Any] | None) -> list[Any] | None:
    return None if value is None else [spelled(entry) for entry in value]
