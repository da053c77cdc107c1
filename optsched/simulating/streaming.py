"""Runs over a workload that comes in portions, in memory that grows with what waits and runs, not with what ran.

A portion is an instance of the same nodes with the jobs that arrive next. It is asked for when its first job is due.
When it comes and no task waits, jobs that have ended are dropped: they have been told of by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.arrays import Ragged
from optsched.brief import brief, counted
from optsched.errors import HeuristicFailed, UsageError, expect
from optsched.heuristics import AnyHeuristic
from optsched.instance import FINISHED, PENDING, Instance, Ints, Shuffle, State, Workload
from optsched.parts import columns_of
from optsched.placement import NONE
from optsched.problems.locality_counts import CLASSES
from optsched.running.answers import attempt
from optsched.running.base import Policy
from optsched.running.course import END, NEVER
from optsched.running.driver import Observer
from optsched.running.run import check_observers, check_seed
from optsched.running.service import Service
from optsched.schedule import MICRO, Schedule, microseconds
from optsched.simulating import on_the_clock, policy_of, rules_of, service_of
from optsched.simulating.engine import ARRIVAL, Engine, Rules
from optsched.simulating.services import Levels
from optsched.simulating.simulation import Simulation
from optsched.simulating.stage import Stage

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Streamed", "joined", "portions", "simulate_stream"]

#: Called with a frame of rows that are complete.
Told = Callable[["pd.DataFrame"], Any]


@dataclass
class Streamed:
    """What came of a run over portions: figures alone; rows of jobs and of events were told on the way.

    Attributes
    ----------
    policy, parameters, seed, service, rules
        What ran, as in `Simulation`.
    tasks, ended, jobs, jobs_ended, offers
        How many there were, and how many of them ended.
    makespan
        Seconds from the beginning to the last end of a task.
    job_seconds, longest_job_time
        Seconds from arrival to end, of all jobs that ended together, and of the one that took longest.
    locality
        How many maps ran on a node with their data, in the rack of one, and remote.
    most_held
        The most tasks that were held at once.
    unfinished, starved
        Why tasks are left; whether that was for the policy's starting nothing.
    """

    policy: str
    parameters: Mapping[str, Any]
    seed: Any
    service: str
    rules: Rules
    tasks: int = 0
    ended: int = 0
    jobs: int = 0
    jobs_ended: int = 0
    offers: int = 0
    makespan: float = 0.0
    job_seconds: float = 0.0
    longest_job_time: float = 0.0
    locality: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CLASSES, 0))
    most_held: int = 0
    unfinished: str = ""
    starved: bool = False

    @property
    def mean_job_time(self) -> float | None:
        """Mean seconds from arrival to end of the jobs that ended; None where none did."""
        return self.job_seconds / self.jobs_ended if self.jobs_ended else None

    def record_of(self) -> dict[str, Any]:
        """The run in one record, as that of `Simulation`, without what needs all jobs at once, and `most_held`."""
        return {
            "policy": self.policy,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "service": self.service,
            **self.rules.told(),
            "tasks": self.tasks,
            "ended": self.ended,
            "jobs": self.jobs,
            "jobs_ended": self.jobs_ended,
            "makespan": self.makespan,
            "mean_job_time": self.mean_job_time,
            "longest_job_time": self.longest_job_time if self.jobs_ended else None,
            **{f"maps_{name}": count for name, count in self.locality.items()},
            "offers": self.offers,
            "most_held": self.most_held,
            "unfinished": self.unfinished,
        }

    def __repr__(self) -> str:
        told = f"{self.ended} of {counted(self.tasks, 'task')} ran"
        return brief(f"Streamed run of {self.policy}: {told}{', unfinished' * bool(self.unfinished)}")

    def add(self, part: Simulation, begin: int) -> None:
        """Count jobs that are told of."""
        times = part.job_times / MICRO
        ends = part.end[part.end < NEVER]
        self.tasks += len(part.end)
        self.ended += len(ends)
        self.jobs += len(part.job_parts)
        self.jobs_ended += len(times)
        self.job_seconds += float(times.sum())
        self.longest_job_time = max(self.longest_job_time, float(times.max(initial=0)))
        self.makespan = max(self.makespan, (int(ends.max(initial=begin)) - begin) / MICRO)
        for name, count in part.locality.items():
            self.locality[name] += count


def simulate_stream(
    parts: Iterable[Instance],
    policy: AnyHeuristic,
    service: Service | str | None = None,
    heartbeat: float | None = 3,
    assign: str = "all",
    slowstart: float = 0.05,
    seed: int | Sequence[int] = 0,
    until: float | None = None,
    observers: Sequence[Observer] = (),
    *,
    exact: bool = True,
    jobs: Told | None = None,
    events: Told | None = None,
    **parameters: Any,
) -> Streamed:
    """Run a policy over time, as `simulate` does, on a workload that comes in portions and is never held whole.

    What happens is what happens in `simulate` on all portions at once, task by task, to the microsecond. (`dl` alone
    draws otherwise: it keeps maps that have started in the list that it draws from.)

    Parameters
    ----------
    parts
        Instances of the same nodes and groups. All their tasks wait, each in a job with an arrival; jobs, and tasks by
        their jobs, are in the order of arrival, over all portions. Maps send only to reduces of their own job; a policy
        that weighs what they send needs a `shuffle` in the first portion. Without pairs.
    policy, heartbeat, assign, slowstart, seed, until, observers, **parameters
        As in `simulate`. A policy that keeps more than its view tells, and nothing of tasks that wait, says by `renew`
        what it keeps when jobs that have ended are dropped.
    service
        One that keeps nothing of tasks that run (`Service.stateless`): `levels`, the default, or `recorded`.
    exact
        False: ended jobs are dropped with every portion, also while tasks wait. The policy then begins anew with what
        waits: it has forgotten for how long it let offers pass, and draws otherwise.
    jobs
        Called with rows of jobs, with the columns of `Simulation.jobs`, once they are complete.
    events
        Called with rows of what happened, with the columns of `Simulation.events`, in order.

    Returns
    -------
    Streamed

    Raises
    ------
    UsageError, MissingField, HeuristicFailed
        As `simulate`, and for a portion that does not go on from the one before.

    Notes
    -----
    Tasks that wait or run are held, with the others of their jobs. What has ended is dropped when the next portion
    comes and nothing waits. Where something always waits, all is held that came since nothing did, unless it need not
    be `exact`.

    Examples
    --------
    >>> from optsched.instance import Cluster
    >>> cluster = Cluster(["a"])
    >>> day = (
    ...     Instance(cluster, Workload([f"t{job}"], job=[0], job_ids=[f"j{job}"], arrival=[20 * job], duration=[4]))
    ...     for job in range(100)
    ... )
    >>> run = simulate_stream(day, "dl")
    >>> run.ended, run.most_held, run.makespan
    (100, 1, 1987.0)
    """
    check_seed(seed)
    check_observers(observers)
    expect(parts, Iterable, "simulate_stream takes portions of a workload", "give a list of instances, or one by one")
    coming = _apart(_in_order(parts))
    first = next(coming, None)
    if first is None:
        raise UsageError("give at least one portion of the workload")
    name, driven, values = policy_of(policy, first, parameters)
    rules = rules_of(heartbeat, assign, slowstart, until, first.time)
    chosen = service_of(Levels() if service is None else service)
    if not getattr(chosen, "stateless", False):
        raise UsageError(
            f"service: {type(chosen).__name__} keeps tasks that run, and portions number these anew; take levels or "
            "recorded"
        )
    if hasattr(driven, "appointments"):
        raise UsageError(f"{name} knows the whole workload beforehand; simulate it at once")
    told = Streamed(name, values, seed, getattr(chosen, "told", type(chosen).__name__), rules)
    engine = _Engine(first, coming, driven, chosen, rules, seed, observers, told, (jobs, events), exact)
    try:
        told.unfinished = engine.run()
    except HeuristicFailed as failed:
        raise HeuristicFailed(*(f'policy "{name}" {line}' for line in str(failed).splitlines())) from failed.__cause__
    engine.tell_rest()
    return told


class _Engine(Engine):
    """An engine whose instance changes: a portion is added when its first job arrives, ended jobs are dropped."""

    def __init__(
        self,
        first: Instance,
        coming: Iterator[Instance],
        policy: Policy,
        service: Service,
        rules: Rules,
        seed: Any,
        observers: Sequence[Observer],
        told: Streamed,
        observed_by: tuple[Told | None, Told | None],
        exact: bool,
    ) -> None:
        self._portions, self._next, self._exact = coming, next(coming, None), exact
        self._told, (self._tell_jobs, self._tell_events) = told, observed_by
        super().__init__(Stage(first), policy, service, rules, seed, observers)
        self._begun_at = self.now
        told.most_held = len(first.workload)

    def await_arrival(self) -> None:
        if not self.known.complete:
            super().await_arrival()
        elif self._next is not None:
            self.plan(int(microseconds(self._next.workload.arrival[0])), ARRIVAL, 0)

    def arrive(self) -> None:
        if self.known.complete and self._next is not None:
            self._take_in(self._next)
            self._next = next(self._portions, None)
        super().arrive()

    def tell_rest(self) -> None:
        """Tell of what is held at the end."""
        instance: Instance = self.known.problem.instance
        self._told.offers, self._told.starved = self.offers, self.starved
        self._tell(np.arange(len(instance.workload)), np.arange(len(instance.workload.job_ids)))

    def _take_in(self, part: Instance) -> None:
        """Go on with the next portion, without the jobs that have ended where nothing waits."""
        present = self.known.snapshot()
        workload, drops = present.workload, not self._exact or not any(self.known.waiting.values())
        left = np.ones(len(workload.job_ids), dtype=bool)
        if drops:
            left = np.bincount(workload.job, present.state.status != FINISHED, minlength=len(left)) > 0
        keeps = left[workload.job]
        tasks = np.flatnonzero(keeps)
        self._tell(np.flatnonzero(~keeps), np.flatnonzero(~left))
        # A moment before its first job arrives.
        before = min(present.time, float(np.nextafter(part.workload.arrival[0], -np.inf)))
        held = present.taken(tasks, np.flatnonzero(left))
        self._number_anew(_joined(held, part, before, workload.shuffle is not None), tasks)
        self._told.most_held = max(self._told.most_held, len(self.node))
        if drops:
            renew = getattr(self._policy, "renew", None) or getattr(self._policy, "start", None)
            if renew is not None:
                attempt(renew, self.known.view, self._own)

    def _number_anew(self, instance: Instance, kept: Ints) -> None:
        """Take another instance, which begins with these tasks of the present one."""
        more = len(instance.workload) - len(kept)
        for column, blank in ((self.node, NONE), (self.start, NEVER), (self.end, NEVER), (self._due, NEVER)):
            column[:] = [*(column[task] for task in kept.tolist()), *[blank] * more]
        number = {task: row for row, task in enumerate(kept.tolist())}
        self._heap[:] = [
            (time, what, number[index] if what == END else index)
            for time, what, index in self._heap
            if what != END or (index in number and self._due[number[index]] == time)
        ]
        heapify(self._heap)
        late = [number[task] for tasks in self._late.values() for task in tasks]
        self.take_stage(Stage(instance))
        for task in late:
            self._late.setdefault(self._job[task], []).append(task)
        self.service.prepare(instance)

    def _tell(self, tasks: Ints, jobs: Ints) -> None:
        """Tell of jobs that are dropped, and of what has happened since the last time."""
        whole: Instance = self.known.problem.instance
        if self._tell_events is not None and self.record:
            self._tell_events(self._part(whole, self.record).events)
        self.record.clear()
        if not len(jobs):
            return
        blank = State.initial(whole.cluster, whole.workload, time=self._begun_at / MICRO)
        part = self._part(whole.with_state(blank).taken(tasks, jobs), [], tasks)
        self._told.add(part, self._begun_at)
        if self._tell_jobs is not None:
            self._tell_jobs(part.jobs)

    def _part(
        self, instance: Instance, record: Sequence[tuple[int, int, int, int]], tasks: Ints | None = None
    ) -> Simulation:
        """What has come of some tasks."""
        told, count = self._told, len(instance.workload)
        columns = (np.array(column, dtype=np.int64) for column in (self.node, self.start, self.end))
        node, start, end = (column if tasks is None else column[tasks] for column in columns)
        ran = np.flatnonzero(start < NEVER)
        return Simulation(
            instance=instance,
            policy=told.policy,
            parameters=told.parameters,
            seed=told.seed,
            service=told.service,
            rules=told.rules,
            schedule=Schedule.empty(count).with_tasks(ran, node[ran], start[ran]),
            end=end,
            unfinished="",
            starved=False,
            record=np.array(record, dtype=np.int64).reshape(-1, 4),
            offers=0,
        )


def portions(instance: Instance, jobs: int) -> Iterator[Instance]:
    """An instance in portions of so many jobs, by their arrival; as `simulate_stream` takes them.

    Examples
    --------
    >>> from optsched.instance import Cluster
    >>> workload = Workload(["t", "u", "v"], job=[1, 0, 1], job_ids=["late", "early"], arrival=[5, 3])
    >>> [part.workload.task_ids.tolist() for part in portions(Instance(Cluster(["a"]), workload), 1)]
    [['t', 'v'], ['u']]
    """
    workload = instance.workload
    order = np.argsort(workload.arrival, kind="stable")
    for begin in range(0, len(order), jobs):
        chosen = order[begin : begin + jobs]
        place = np.full(len(order) + 1, len(order))
        place[chosen] = np.arange(len(chosen))
        tasks = np.flatnonzero(place[workload.job] < len(order))
        yield instance.taken(tasks[np.argsort(place[workload.job[tasks]], kind="stable")], chosen)


def joined(parts: Iterable[Instance]) -> Instance:
    """The portions as one instance: the workload that `simulate_stream` runs, held whole.

    Examples
    --------
    >>> from optsched.instance import Cluster
    >>> workload = Workload(["t", "u"], job=[0, 1], job_ids=["a", "b"], arrival=[3, 5], duration=[1, 2])
    >>> joined(portions(Instance(Cluster(["a"]), workload), 1)).workload.duration.tolist()
    [1.0, 2.0]
    """
    first, *others = _in_order(parts)
    for part in others:
        first = _joined(first, part, first.time)
    return first


def _in_order(parts: Iterable[Instance]) -> Iterator[Instance]:
    """The portions that have jobs; UsageError for one that does not go on from the one before."""
    latest, before = -np.inf, None
    for number, part in enumerate(parts, start=1):
        expect(part, Instance, f"portion {number} of the workload is an instance")
        part = on_the_clock(part)
        workload, arrival = part.workload, part.workload.arrival
        for wrong, told in (
            ((part.state.status != PENDING).any(), "tasks that do not wait"),
            ((workload.job < 0).any(), "tasks without a job"),
            (np.isnan(arrival).any(), "jobs without an arrival"),
            (
                (np.diff(arrival) < 0).any() or (np.diff(workload.job) < 0).any(),
                "jobs that are not in order of arrival; portions() of an instance makes such as are",
            ),
            ((arrival < latest).any(), "jobs that arrive before those of the portion before"),
            (_sends_across(workload), "maps that send to reduces of other jobs"),
            (workload.pairs is not None, "pairs"),
            (before is not None and not _alike(before, part), "other nodes or groups than the portion before"),
        ):
            if wrong:
                named = f', "{part.name}",' * bool(part.name)
                raise UsageError(f"portion {number} of the workload{named} has {told}")
        if len(workload):
            latest, before = float(arrival.max()), part
            yield part


def _apart(parts: Iterator[Instance]) -> Iterator[Instance]:
    """The portions, those joined into one that have jobs of the same instant: these arrive together."""
    held = next(parts, None)
    for part in parts:
        assert held is not None
        if part.workload.arrival[0] > held.workload.arrival[-1]:
            yield held
            held = part
        else:
            held = _joined(held, part, held.time)
    if held is not None:
        yield held


def _alike(one: Instance, other: Instance) -> bool:
    """Whether two instances have the same nodes and groups."""
    if one.cluster is not other.cluster:
        same = one.cluster.node_ids.tolist() == other.cluster.node_ids.tolist()
        if not same or one.cluster.slots.tolist() != other.cluster.slots.tolist():
            return False
    return np.array_equal(one.workload.group_ids, other.workload.group_ids)


def _sends_across(workload: Workload) -> bool:
    """Whether a map sends to a reduce of another job, which may be there when its own job is dropped."""
    sent = workload.shuffle
    return sent is not None and bool((workload.job[sent.map] != workload.job[sent.reduce]).any())


def _joined(present: Instance, part: Instance, time: float, sends: bool = False) -> Instance:
    """An instance, and after it a portion, at a time; `sends`: what maps send is known, though nothing may be left."""
    one, other = present.workload, part.workload
    columns = {column.attribute: column for column in columns_of(Workload)}
    both = {
        name: _followed(getattr(one, name), getattr(other, name))
        for name, column in columns.items()
        if column.table != "groups"
    }
    offset = np.where(other.job >= 0, other.job + len(one.job_ids), NONE)
    workload = replace(
        one,
        **both
        | {
            "task_ids": np.concatenate([one.task_ids, other.task_ids]),
            "job_ids": np.concatenate([one.job_ids, other.job_ids]),
            "job": np.concatenate([one.job, offset]),
            "rate_in_by_type": _followed(one.rate_in_by_type, other.rate_in_by_type),
            "shuffle": _sent_by_both(one, other),
        },
    )
    if sends and workload.shuffle is None:
        workload = workload.sending_nothing()
    state = present.state
    waits = State.initial(part.cluster, other)
    tasks = {
        column.attribute: _followed(getattr(state, column.attribute), getattr(waits, column.attribute))
        for column in columns_of(State)
        if column.table == "tasks"
    }
    tasks["emitted"] = np.concatenate([state.emitted, waits.emitted])
    return replace(present, workload=workload, state=replace(state, **tasks, time=time))


def _sent_by_both(one: Workload, other: Workload) -> Shuffle | None:
    """What maps of a workload send, and after it those of another that follows it."""
    if other.shuffle is None:
        return one.shuffle
    if one.shuffle is None:
        return replace(other.shuffle, map=other.shuffle.map + len(one), reduce=other.shuffle.reduce + len(one))
    return Shuffle(
        np.concatenate([one.shuffle.map, other.shuffle.map + len(one)]),
        np.concatenate([one.shuffle.reduce, other.shuffle.reduce + len(one)]),
        np.concatenate([one.shuffle.size, other.shuffle.size]),
    )


def _followed(one: Any, other: Any) -> Any:
    """A column, and after it that of other records."""
    if isinstance(one, Ragged):
        return Ragged.of_lengths(
            np.concatenate([one.lengths, other.lengths]), np.concatenate([one.values, other.values])
        )
    if isinstance(one, Mapping):
        return {key: _followed(one[key], other[key]) for key in one}
    return None if one is None or other is None else np.concatenate([one, other])
