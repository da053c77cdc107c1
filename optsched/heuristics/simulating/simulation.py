"""Result of a run over time: the schedule, the events, and the snapshots in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from optsched.core.brief import brief, counted
from optsched.core.errors import HeuristicFailed, UsageError
from optsched.core.instance import FINISHED, KINDS, MAP, REDUCE, RUNNING, Bools, Floats, Instance, Ints
from optsched.core.placement import MICRO, NONE, Placement, Schedule, microseconds
from optsched.heuristics.running.course import NEVER, Course, Service
from optsched.heuristics.running.known import Known
from optsched.heuristics.simulating.engine import (
    ARRIVED,
    BACK,
    ENDED,
    LOST,
    RELEASED,
    STARTED,
    STOPPED,
    Beats,
    Engine,
    Rules,
    Stage,
)
from optsched.problems.locality_counts import CLASSES, locality
from optsched.problems.schedules import Jobs

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Simulation",
]

#: Measures the decisions of a run, by the exact routes.
_TIMELINES = "optsched.measuring.timelines"


#: The fields of `Simulation.record_of`, in order: the header of a table of runs.
RECORD_FIELDS = (
    *("instance", "instance_sha256", "policy", "parameters", "seed", "service"),
    *("heartbeat", "assign", "slowstart", "until", "losses"),
    *("tasks", "ended", "jobs", "jobs_ended", "makespan", "mean_job_time", "median_job_time", "longest_job_time"),
    *(f"maps_{name}" for name in CLASSES),
    *("offers", "unfinished"),
)


@dataclass(frozen=True, eq=False)
class Simulation:
    """A run of a policy over time.

    Attributes
    ----------
    instance
        The instance at the beginning.
    policy, parameters, seed
        What ran.
    service
        The service that gave the durations.
    rules
        Heartbeat, slots per heartbeat, slowstart, and until when.
    schedule
        The policy's decisions: node and start of each task that it started.
    end
        int64, shape (tasks,): the microsecond at which each task that ran ended; 2^60 for others.
    unfinished
        Why tasks are left that did not run to their end; empty if there are none.
    starved
        Whether the reason is that the policy started nothing, or that there are no slots.
    record
        int64, shape (events, 4): microsecond, what, job or task, node or -1; `events` has it in words.
    offers
        How many offers the policy got.
    reported_by
        The service, and the heartbeats at which policies learnt the progress of running tasks (None: at once); None if
        the service reports nothing.
    drawn
        Whether random numbers were drawn: another seed may give another run.
    """

    instance: Instance
    policy: str
    parameters: Mapping[str, Any]
    seed: Any
    service: str
    rules: Rules
    schedule: Schedule
    end: Ints
    unfinished: str
    starved: bool
    record: Ints = field(repr=False)
    offers: int
    reported_by: tuple[Service, Beats | None] | None = field(default=None, repr=False)
    drawn: bool = False

    @classmethod
    def of(cls, engine: Engine, name: str, parameters: Mapping[str, Any], seed: Any, unfinished: str) -> Simulation:
        """The result of a run that has ended."""
        instance: Instance = engine.known.problem.instance
        schedule = Schedule.empty(len(instance.workload))
        nodes, starts = (np.array(column, dtype=np.int64) for column in (engine.node, engine.start))
        tasks = np.array([task for _, what, task, _ in engine.record if what == STARTED], dtype=np.int64)
        started = np.unique(tasks[starts[tasks] < NEVER])
        return cls(
            instance=instance,
            policy=name,
            parameters=parameters,
            seed=seed,
            service=getattr(engine.service, "label", type(engine.service).__name__),
            rules=engine.rules,
            schedule=schedule.with_tasks(started, nodes[started], starts[started]),
            end=np.array(engine.end, dtype=np.int64),
            unfinished=unfinished,
            starved=engine.starved,
            record=np.array(engine.record, dtype=np.int64).reshape(-1, 4),
            offers=engine.offers,
            reported_by=(engine.service, engine.beats) if engine.reports else None,
        )

    def __repr__(self) -> str:
        ran = f"{self.schedule.placed} of {counted(len(self.schedule), 'task')} ran"
        return brief(f"Simulation of {self.policy} on {self.instance}: {ran}{', unfinished' * bool(self.unfinished)}")

    def raise_if_unfinished(self) -> Simulation:
        """The same; HeuristicFailed if tasks are left though nothing stopped the run."""
        if self.starved:
            raise HeuristicFailed(f'under policy "{self.policy}": {self.unfinished}')
        return self

    # As frames ------------------------------------------------------------------------------------------------------

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """A row for each job that had a task left, with Batsim's columns: when it arrived, began and ended, in seconds.

        `job_id`, `submission_time`, `requested_number_of_resources` (its tasks), `success` (whether all of them ended),
        `starting_time`, `execution_time`, `finish_time`, `waiting_time`, `turnaround_time`, `stretch` (turnaround over
        execution) and `allocated_resources` (the nodes on which its tasks ran) have Batsim's meanings. `group`, `maps`
        and `reduces` are as in the instance. `node_local`, `rack_local` and `off_rack` count the maps by locality; a
        map without data is off-rack. What did not happen is missing.
        """
        import pandas as pd

        workload, jobs = self.instance.workload, self.job_parts
        nodes, starts, ends = self.spans
        count, left = len(jobs), np.flatnonzero(self.left)
        job = jobs.of_task[left]
        begin, end = np.full(count, NEVER), np.full(count, -NEVER)
        np.minimum.at(begin, job, starts[left])
        np.maximum.at(end, job, ends[left])
        kind = workload.kind[left]
        near = locality(self.instance, Placement(nodes))[left]
        groups = np.append(workload.job_group, -1)[jobs.rows]
        used = [set[int]() for _ in range(count)]
        for owner, node in zip(job.tolist(), nodes[left].tolist(), strict=True):
            used[owner].add(node)
        ids = self.instance.cluster.node_ids
        columns = {
            "job_id": np.array(jobs.ids, dtype=object),
            "group": _named(workload.group_ids, groups),
            "requested_number_of_resources": np.bincount(job, minlength=count),
            "maps": np.bincount(job[kind == MAP], minlength=count),
            "reduces": np.bincount(job[kind == REDUCE], minlength=count),
            "success": end < NEVER,
            **_times(jobs.arrival, begin, end),
            "allocated_resources": [" ".join(ids[sorted(those - {NONE})].tolist()) for those in used],
        }
        for number, name in enumerate(("node_local", "rack_local", "off_rack")):
            columns[name] = np.bincount(job[(kind == MAP) & (near == number)], minlength=count)
        return pd.DataFrame(columns)

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """A row for each task: `task_id`, `job_id`, `kind`, `node`, `locality`, and its times as in `jobs`."""
        import pandas as pd

        workload, jobs = self.instance.workload, self.job_parts
        nodes, starts, ends = self.spans
        near = _named(np.array(CLASSES), locality(self.instance, Placement(nodes)))
        left = np.flatnonzero(self.left)
        arrival = jobs.arrival[jobs.of_task[left]]
        columns = {
            "task_id": workload.task_ids[left].astype(object),
            "job_id": _named(workload.job_ids, workload.job[left]),
            "kind": np.array(KINDS, dtype=object)[workload.kind[left]],
            "node": _named(self.instance.cluster.node_ids, nodes[left]),
            "locality": near[left],
            **_times(arrival, starts[left], ends[left]),
        }
        return pd.DataFrame(columns)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """A row for each node: how many tasks it ran of each kind, how long, and the used share of its slots' time."""
        import pandas as pd

        cluster, kind = self.instance.cluster, self.instance.workload.kind
        nodes, starts, ends = self.spans
        begin, last = self.begin, self.last
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

    @cached_property
    def events(self) -> pd.DataFrame:
        """A row for each event, in order: `time` (seconds), `event`, `job`, `task`, `node`."""
        import pandas as pd

        workload = self.instance.workload
        when, what, index, node = self.record.T
        of_job = what == ARRIVED
        job = np.where(of_job, index, np.append(workload.job, -1)[np.where(of_job, -1, index)])
        columns = {
            "time": when / MICRO,
            "event": np.array([WORDS[code] for code in sorted(WORDS)], dtype=object)[what],
            "job": _named(workload.job_ids, job),
            "task": _named(workload.task_ids, np.where(of_job, -1, index)),
            "node": _named(self.instance.cluster.node_ids, node),
        }
        return pd.DataFrame(columns)

    @cached_property
    def job_parts(self) -> Jobs:
        """The jobs that had a task left at the beginning."""
        return Jobs.of(self.instance, np.flatnonzero(self.left))

    @cached_property
    def left(self) -> Bools:
        """bool, shape (tasks,): the tasks that had not ended at the beginning."""
        left: Bools = self.instance.state.status != FINISHED
        return left

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """A row for each start in vain: the node, or the task's output there, was lost.

        `task_id`, `job_id`, `kind`, `node`, `starting_time`, `finish_time` (missing if the task ran when the node was
        lost) and `lost_time`. The schedule and the other frames have the last start of each task.
        """
        import pandas as pd

        workload, state = self.instance.workload, self.instance.state
        begun = dict(enumerate(microseconds(np.nan_to_num(state.start)).tolist()))
        ended: dict[int, int] = {}
        rows = []
        for when, what, task, node in self.record.tolist():
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
            "node": _named(self.instance.cluster.node_ids, node),
            "starting_time": start / MICRO,
            "finish_time": _seconds(end, end < NEVER),
            "lost_time": stop / MICRO,
        }
        return pd.DataFrame(columns)

    @cached_property
    def begun_before(self) -> Ints:
        """The tasks that ran at the beginning, and were not stopped since."""
        ran = np.flatnonzero(self.instance.state.status == RUNNING)
        return np.setdiff1d(ran, self.record[self.record[:, 1] == STOPPED, 2])

    @cached_property
    def spans(self) -> tuple[Ints, Ints, Ints]:
        """Node, start and end of each task that ran in the run or at its beginning; -1 and `NEVER` for others."""
        nodes, starts = self.schedule.nodes.copy(), np.where(self.schedule.nodes != NONE, self.schedule.starts, NEVER)
        before, state = self.begun_before, self.instance.state
        nodes[before], starts[before] = state.node[before], microseconds(state.start[before])
        return nodes, starts, self.end

    @property
    def begin(self) -> int:
        """The microsecond at which it began."""
        return int(microseconds(self.instance.time))

    @property
    def last(self) -> int:
        """The microsecond of the last event."""
        return max(self.begin, int(self.record[-1, 0])) if len(self.record) else self.begin

    @cached_property
    def job_times(self) -> Ints:
        """int64: the microseconds from arrival to end of each of `job_parts` that ended, in their order."""
        jobs, left = self.job_parts, np.flatnonzero(self.left)
        ended = np.full(len(jobs), self.begin)
        np.maximum.at(ended, jobs.of_task[left], self.end[left])
        times: Ints = (ended - jobs.arrival)[ended < NEVER]
        return times

    @property
    def timing(self) -> dict[str, Any]:
        """How slots were offered: `heartbeat` in seconds, and `assign`, as arguments of `optsched.simulate`."""
        beat = self.rules.heartbeat / MICRO
        return {"heartbeat": int(beat) if beat.is_integer() else beat, "assign": "one" if self.rules.one else "all"}

    @property
    def assumed(self) -> str:
        """How long tasks took, and when slots were offered, in words."""
        beat = self.timing["heartbeat"]
        offered = f"heartbeat {beat:g} s" if beat else "no heartbeats"
        return f"{self.service}, {offered}{', one task each' * self.rules.one}"

    @property
    def makespan(self) -> float:
        """Seconds from the beginning to the last end of a task."""
        ended = self.end[self.left & (self.end < NEVER)]
        return float(max(int(ended.max(initial=self.begin)) - self.begin, 0) / MICRO)

    @cached_property
    def locality(self) -> Mapping[str, int]:
        """How many maps the policy started on a node with their data, in the rack of one, and off-rack."""
        maps = (self.instance.workload.kind == MAP) & (self.schedule.nodes != NONE)
        near = locality(self.instance, self.schedule.placement)[maps]
        return dict(zip(CLASSES, np.bincount(near, minlength=len(CLASSES)).tolist(), strict=True))

    def record_of(self) -> dict[str, Any]:
        """The run in one record: what ran, by which rules, and its figures, times in seconds."""
        times, ids = self.job_times / MICRO, self.instance.cluster.node_ids
        losses = (
            [str(ids[node]), *(f"{at / MICRO:g}" for at in lost if at < NEVER)] for node, *lost in self.rules.losses
        )
        return {
            "instance": self.instance.name,
            "instance_sha256": self.instance.sha256,
            "policy": self.policy,
            "parameters": dict(self.parameters),
            "seed": self.seed,
            "service": self.service,
            **self.rules.record(),
            "losses": " ".join(map(":".join, losses)),
            "tasks": int(np.count_nonzero(self.left)),
            "ended": int(np.count_nonzero(self.left & (self.end < NEVER))),
            "jobs": len(self.job_parts),
            "jobs_ended": len(times),
            "makespan": self.makespan,
            "mean_job_time": float(times.mean()) if len(times) else None,
            "median_job_time": float(np.median(times)) if len(times) else None,
            "longest_job_time": float(times.max()) if len(times) else None,
            **{f"maps_{name}": count for name, count in self.locality.items()},
            "offers": self.offers,
            "unfinished": self.unfinished,
        }

    # In between -----------------------------------------------------------------------------------------------------

    def snapshots(self, at: float | Iterable[float]) -> list[Instance]:
        """The instance as it was at some times, after all events at each; every problem can be posed on them.

        Jobs that had not arrived are not in it. Everything unchanged is shared. The progress of running tasks is what
        policies knew: what had been read and sent by the last heartbeat of the node, if the service reports it
        (`Service.progress`).

        Parameters
        ----------
        at
            Seconds on the clock of the instance, one or several, none before the beginning.

        Raises
        ------
        UsageError
            For a time before the beginning.
        """
        times = [at] if isinstance(at, int | float) else list(at)
        units = [int(microseconds(time)) for time in times]
        for time, unit in zip(times, units, strict=True):
            if unit < self.begin:
                raise UsageError(f"a snapshot at {time:g} s: the run begins at {self.instance.time:g} s")
        happened = self.record[:, 0]
        return [self.snapshot(int(np.searchsorted(happened, unit, side="right")), unit) for unit in units]

    def snapshot(self, position: int, time: int) -> Instance:
        """The instance at a microsecond, after the record's events before `position`."""
        replay: Replay | None = self.__dict__.get("_replay")
        if replay is None or position < replay.position or time < replay.time:
            replay = self.__dict__["_replay"] = Replay(self)
        return replay.snapshot(position, time)

    def decisions(self) -> Iterator[tuple[int, int, int, Ints]]:
        """The tasks that were started together: position in the record, microsecond, node, and the tasks.

        Tasks that a node starts at one instant, one after another, are one decision.
        """
        when, what, task, at = self.record.T
        started = np.flatnonzero(what == STARTED)
        if not len(started):
            return
        breaks = (np.diff(started) > 1) | (np.diff(when[started]) > 0) | (np.diff(at[started]) != 0)
        for part in np.split(started, np.flatnonzero(breaks) + 1):
            yield int(part[0]), int(when[part[0]]), int(at[part[0]]), task[part]

    def regret(self, problem: str, **options: Any) -> pd.DataFrame:
        """The gap of each decision in the snapshot in which it was taken; see `optsched.measuring.timelines.regret`."""
        frame: pd.DataFrame = import_module(_TIMELINES).regret(self, problem, **options)
        return frame


# The run again, event by event, for the snapshots in between ----------------------------------------------------------


class Replay(Course):
    """Repeats the recorded events of a run, and asks its service how far running tasks are.

    Tasks start, end and return by the record. The service is notified too, if policies learnt the progress of tasks
    from it. It has reached `position` of the record, and `time`.
    """

    def __init__(self, run: Simulation) -> None:
        instance, state = run.instance, run.instance.state
        self._record, self.position, self.time = run.record, 0, run.begin
        stage: Any = Stage(instance)  # it has what is needed of a problem
        self._known = Known(stage)
        self._number = self._known.numbers(np.arange(len(instance.workload)))
        self._cluster, self._read_before = instance.cluster, state.bytes_read.tolist()
        shuffle = instance.workload.shuffle
        #: The map of each entry of the shuffle.
        self._sender: Ints = np.zeros(0, dtype=np.int64) if shuffle is None else shuffle.map
        self._reports = run.reported_by is not None
        if run.reported_by is not None:
            service, self._beats = run.reported_by
            super().__init__(len(instance.workload), service, run.begin)
            service.prepare(instance)
            self.resume(state)

    def snapshot(self, position: int, time: int) -> Instance:
        """The instance at a time, after the events before `position`; call it in the order of time."""
        known, slots = self._known, (self._cluster.slots, self._cluster.reduce_slots)
        for when, what, task, node in self._record[self.position : position].tolist():
            known.time = when / MICRO
            if what == ARRIVED:
                known.move_to(known.time)
            elif what == STARTED:
                known.start(self._number[task], node)
                if self._reports:
                    self._pass_to(when)
                    self.starts(task, node)
            elif what == ENDED:
                known.finish(self._number[task])
                if self._reports:  # what it had read is useless now
                    known.progress([task], [self._read_before[task]])
            elif what == STOPPED:
                known.return_task(self._number[task])
            elif what != RELEASED:
                known.change_node(node, [int(column[node]) if what == BACK else 0 for column in slots])
        self.position, self.time = position, time
        known.time = time / MICRO
        if not known.complete:
            known.move_to(known.time)
        if not self._reports:
            return known.snapshot()
        self._pass_to(time)
        # What nodes had reported about running tasks by then.
        beats = np.full(len(self._cluster), time) if self._beats is None else self._beats.last_by(time)
        if (found := self.service.progress(beats, time)) is not None:
            # A heartbeat reports about its node, and only then starts tasks on it.
            began = [self.start[task] < int(beats[self.node[task]]) for task in found.tasks.tolist()]
            tasks = found.tasks[began]
            of_them = np.isin(self._sender[found.entries], tasks)
            known.progress(tasks, found.bytes_read[began], found.entries[of_them], found.emitted[of_them])
        return known.snapshot()

    def _pass_to(self, time: int) -> None:
        """Process all events up to a time."""
        while self.coming <= time:
            self.step()
        self.moves_to(time)


# As frames: times in seconds, missing for what did not happen ---------------------------------------------------------

#: The events in words.
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
    """The names at these indices, None for -1."""
    found: npt.NDArray[Any] = np.array([*names.tolist(), None], dtype=object)[index]
    return found


def _times(arrival: Ints, start: Ints, end: Ints) -> dict[str, Floats]:
    """Batsim's columns of times."""
    began, ended = start < NEVER, end < NEVER
    execution = np.where(began & ended, end - start, 0)
    turnaround = np.where(ended, end - arrival, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        stretch = np.where(began & ended, turnaround / execution, np.nan)  # zero execution: infinite, or missing
    return {
        "submission_time": arrival / MICRO,
        "starting_time": _seconds(start, began),
        "execution_time": _seconds(execution, began & ended),
        "finish_time": _seconds(end, ended),
        "waiting_time": _seconds(start - np.where(began, arrival, 0), began),
        "turnaround_time": _seconds(turnaround, ended),
        "stretch": stretch,
    }
