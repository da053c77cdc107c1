"""The best schedule that is found with what has arrived known, and how long it takes, but no later arrival."""

from __future__ import annotations

import numpy as np

from optsched.deadline import check
from optsched.gaps import Reference
from optsched.instance import Instance, Ints
from optsched.placement import NONE
from optsched.problems.schedules import ScheduleProblem
from optsched.results import Number
from optsched.running.known import posed_on
from optsched.schedule import Schedule
from optsched.simulating import on_the_clock
from optsched.simulating.engine import ENDED, STARTED, Rules
from optsched.simulating.simulation import Simulation
from optsched.solvers.profiles import AnyProfile, load_profile

__all__ = ["arrivals", "known_at", "planned_anew"]


def arrivals(problem: ScheduleProblem) -> Ints:
    """The microseconds at which something arrives that is to run, in order; one at most: nothing is unknown."""
    return np.unique(problem.release)


def planned_anew(
    problem: ScheduleProblem, profile: AnyProfile = "exact", time_limit: float | None = None
) -> Number | None:
    """The value of a plan that is made anew at each arrival, for what has arrived and is not yet started.

    Parameters
    ----------
    problem
        What is to run.
    profile, time_limit
        As in `optsched.solve`, for all plans together: each has an equal share of the time.

    Returns
    -------
    Number or None
        None where some plan was not found in its time.

    Examples
    --------
    >>> from optsched.instance import Cluster, Workload
    >>> from optsched.problems.job_times import JobTimes
    >>> workload = Workload(["long", "short"], job=[0, 1], job_ids=["a", "b"], arrival=[0, 1], duration=[9, 1])
    >>> planned_anew(JobTimes(Instance(Cluster(["n"]), workload)))  # a plan that knew of b would let a wait
    18
    """
    instants = arrivals(problem)
    limits = load_profile(profile).with_limits(time_limit=time_limit)
    if limits.time_limit is not None and len(instants):
        limits = limits.with_limits(time_limit=limits.time_limit / len(instants))
    index = problem.instance.task_index
    plan = Schedule.empty(len(index))
    for instant in instants.tolist():
        check()
        posed = posed_on(problem, known_at(problem, plan, instant))
        found = Reference.solved(posed, limits).solution.decision
        if not isinstance(found, Schedule):
            return None
        tasks = np.array([index[task] for task in posed.instance.workload.task_ids[posed.tasks].tolist()], np.int64)
        plan = plan.with_tasks(tasks, found.nodes[posed.tasks], found.starts[posed.tasks])
    return problem.evaluate(plan)[0]


def known_at(problem: ScheduleProblem, plan: Schedule, instant: int) -> Instance:
    """The instance at a microsecond under a plan: what it has started by then, and no job that comes later.

    What the plan starts at this very microsecond is free to be decided anew, unless it takes no time.
    """
    ends = problem.ends(plan)
    begun = np.flatnonzero((plan.nodes != NONE) & ((plan.starts < instant) | (ends <= instant)))
    ended = np.union1d(problem.running, begun)
    ended = ended[ends[ended] <= instant]
    columns = [
        np.column_stack([when, np.full(len(tasks), what), tasks, plan.nodes[tasks]])
        for when, what, tasks in ((plan.starts[begun], STARTED, begun), (ends[ended], ENDED, ended))
    ]
    record = np.concatenate(columns).astype(np.int64)  # of each task its end comes after its start
    instance = on_the_clock(problem.instance)
    run = Simulation(instance, "plan", {}, 0, "", Rules(heartbeat=0), plan, ends, "", False, record, 0)
    return run.snapshot(len(record), instant)
