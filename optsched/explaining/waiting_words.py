"""The explanation of a schedule in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from optsched.brief import counted
from optsched.explaining.schedules import JobTold, ScheduleExplanation, TaskTold
from optsched.explaining.waiting import Link
from optsched.placement import NONE
from optsched.printing import number
from optsched.schedule import MICRO

__all__ = ["schedule_sentences"]


def schedule_sentences(found: ScheduleExplanation, most: int = 10) -> Iterator[str]:
    """Lines that say why: the value, what tasks waited for, the jobs that lose most, and the chain of the makespan.

    Parameters
    ----------
    found
        Of `optsched.explain`, for a problem over time.
    most
        So many jobs, and so many links of the chain, the last ones, are told.
    """
    problem, reference = found.problem, found.report.reference
    where = f"{problem.instance.name or 'instance'}, {problem.name}"
    if found.infeasible:
        yield f"{where}: no schedule is feasible: {reference.infeasible}."
        return
    component = problem.components[0]
    best, held = reference.solution.objective, found.report.objective
    assert held is not None
    unit = component.unit
    told = "none is known to compare with" if best is None else f"{_kind(found)}: {number(best[0])} {unit}"
    assumed = found.report.run.assumed
    who = f"{found.who} ({assumed})" if assumed else found.who
    yield f"{where}: {who} has a {problem.value_in_words} of {number(held[0])} {unit}; {told}."
    yield from _beside(found)
    yield _waits(found)
    jobs = found.jobs
    if jobs:
        beside = "alone on all slots" if found.best is None else f"in {_kind(found)}"
        yield f"Jobs, from arrival to end, the one that loses most to its time {beside} first:"
        yield from (f"  {rank}. {_job(job, found)}" for rank, job in enumerate(jobs[:most], start=1))
        if len(jobs) > most:
            yield f"  and {counted(len(jobs) - most, 'more job')}, which lose less."
    if found.chain:
        yield "The last end comes of a chain of tasks:"
        left = len(found.chain) - most
        if left > 0:
            yield f"  {counted(left, 'task')} before, then"
        yield from (f"  {_link(link, found)}" for link in found.chain[max(0, left) :])


def _kind(found: ScheduleExplanation) -> str:
    return "the proved optimum" if found.optimal else "the best schedule known"


def _beside(found: ScheduleExplanation) -> Iterator[str]:
    """What the problem tells of a schedule beside its value, and of the best one: of a sum the mean."""
    assert found.schedule is not None
    best = {} if found.best is None else dict(found.problem.told(found.best))
    for name, told in found.problem.told(found.schedule):
        there = f". In {_kind(found)}: {best[name]}" if name in best else ""
        yield f"{name.capitalize()}: {told}{there}."


def _waits(found: ScheduleExplanation) -> str:
    """What all tasks waited for together."""
    tasks = found.tasks
    idle = sum(not task.waited for task in tasks)
    maps, slots, passed = (sum(getattr(task, cause) for task in tasks) for cause in ("maps", "slots", "passed"))
    told = _causes(maps, slots, passed, "all of them together ")
    return f"{counted(len(tasks), 'task')}: {idle} waited for nothing" + (f"; {told}." if told else ".")


def _causes(maps: float, slots: float, passed: float, who: str = "") -> str:
    """How long for what, without what is 0."""
    parts = [
        (maps, "for maps of the job"),
        (slots, "while no slot was free"),
        (passed, "while a slot was free somewhere"),
    ]
    told = ", ".join(f"{_seconds(time)} {what}" for time, what in parts if time)
    return f"{who}waited {told}" if told else ""


def _job(job: JobTold, found: ScheduleExplanation) -> str:
    beside = "" if job.best is None else f", {_seconds(job.best)} in {_kind(found)}"
    return f"{job.job}: {_seconds(job.time)}{beside}, {_seconds(job.alone)} alone; {_last(job.last)}"


def _last(task: TaskTold | None) -> str:
    if task is None:
        return "its last task ran at the beginning"
    waited = _causes(task.maps, task.slots, task.passed) or "waited for nothing"
    return f"its last task, {task.task} on {task.node}, {waited}, and took {_seconds(task.end - task.start)}"


def _link(link: Link, found: ScheduleExplanation) -> str:
    instance = found.problem.instance
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
