"""When each task ran where, for runs over time and schedules, as pandas frames: the numbers behind the pictures.

Times are in seconds on the clock of the instance. Functions take the arguments of `timeline`, one or several.
Distributions combine runs of one name, so that policies are compared over many seeds and instances. `regret` is the
cost of each decision in the snapshot in which it was taken. Regrets are no parts of a run's gap, since decisions that
are optimal one by one need not sum to a good run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.brief import brief, counted, labelled
from optsched.core.deadline import check
from optsched.core.errors import UsageError, described, expect
from optsched.core.instance import FINISHED, KINDS, MAP, RUNNING, Bools, Instance, Ints
from optsched.core.placement import MICRO, NONE, Placement, Schedule
from optsched.core.results import Solution
from optsched.heuristics.simulating import Simulation
from optsched.measuring.gaps import GapReport
from optsched.problems import Problem, problem_class
from optsched.problems.locality_counts import CLASSES, locality
from optsched.problems.schedules import Jobs, ScheduleProblem
from optsched.problems.service_times import NEVER
from optsched.routes import solve

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Timeline",
    "job_reductions",
    "locality_by_size",
    "regret",
    "running_tasks",
    "spans",
    "time_distribution",
    "timeline",
    "timelines_of",
]

#: Up to this many sizes of jobs have a group each; more are grouped between powers of two.
_SIZES = 8


@dataclass(frozen=True, eq=False)
class Timeline:
    """The node and time at which each task of an instance ran.

    Attributes
    ----------
    instance
        The instance that was run.
    name
        What ran it: runs of one name are combined.
    rows
        int64: the tasks that ran, also at the beginning, as rows of the instance, in the order of their starts.
    nodes, starts, ends
        int64, for each of these: node, and microseconds. Tasks that had not ended when a run was stopped end there.
    ended
        bool, for each of these: whether it did end.
    begin, last
        Microseconds of the beginning, and of the last event, or of when the run was stopped.
    assumed
        How long tasks took, and when slots were offered, in words; empty if none were.
    vain
        How many starts were in vain, since nodes were lost: they have no row.
    """

    instance: Instance
    name: str
    rows: Ints
    nodes: Ints
    starts: Ints
    ends: Ints
    ended: Bools
    begin: int
    last: int
    assumed: str = ""
    vain: int = 0

    def __repr__(self) -> str:
        return brief(f"Timeline of {self.name} on {self.instance}: {counted(len(self.rows), 'task')} ran")

    @cached_property
    def kinds(self) -> Ints:
        """`MAP` or `REDUCE` of each of `rows`."""
        kinds: Ints = self.instance.workload.kind[self.rows]
        return kinds

    @cached_property
    def left(self) -> Ints:
        """The tasks that had not ended at the beginning, whether they ran or not."""
        return np.flatnonzero(self.instance.state.status != FINISHED)

    @cached_property
    def jobs(self) -> Jobs:
        """The jobs of these tasks."""
        return Jobs.of(self.instance, self.left)

    @cached_property
    def job(self) -> Ints:
        """The job of each of `rows`, an index into `jobs`."""
        job: Ints = self.jobs.of_task[self.rows]
        return job

    @cached_property
    def slots(self) -> Mapping[str, Ints]:
        """Slots of each kind on each node that tasks may use: idle at the beginning, or held by a running task then."""
        state, kind = self.instance.state, self.instance.workload.kind
        runs = np.flatnonzero(state.status == RUNNING)
        idle = (state.idle_slots, state.idle_reduce_slots)
        return {
            name: idle[number] + np.bincount(state.node[runs[kind[runs] == number]], minlength=len(idle[number]))
            for number, name in enumerate(KINDS)
        }

    @cached_property
    def lanes(self) -> Ints:
        """The slot of its kind on its node for each of `rows`, from 0: of the free ones the one used last."""
        found = np.zeros(len(self.rows), dtype=np.int64)
        groups: dict[tuple[int, int], list[tuple[int, int]]] = {}  # by node and kind: slots by their last end
        spans = zip(self.nodes.tolist(), self.kinds.tolist(), self.starts.tolist(), self.ends.tolist(), strict=True)
        for row, (node, kind, start, end) in enumerate(spans):
            slots = groups.setdefault((node, kind), [])
            free = max((slot for slot in slots if slot[0] <= start), key=lambda slot: (slot[0], -slot[1]), default=None)
            if free is not None:
                slots.remove(free)
            found[row] = len(slots) if free is None else free[1]
            slots.append((end, int(found[row])))
        return found

    @cached_property
    def placement(self) -> Placement:
        """The nodes of the tasks that ran."""
        nodes = np.full(len(self.instance.workload), NONE)
        nodes[self.rows] = self.nodes
        return Placement(nodes)

    @cached_property
    def job_ends(self) -> Ints:
        """The microsecond at which each of `jobs` ended; 2^60 if it did not."""
        ends = np.full(len(self.instance.workload), NEVER)
        ends[self.rows[self.ended]] = self.ends[self.ended]
        found = np.full(len(self.jobs), -NEVER)
        np.maximum.at(found, self.jobs.of_task[self.left], ends[self.left])
        return found


def timeline(of: Any, decision: Any = None, name: str = "") -> Timeline:
    """When each task ran where.

    Parameters
    ----------
    of
        A `Simulation`; a problem over time with a `decision`; a `GapReport` of such a problem; a `Timeline`.
    decision
        A `Schedule`, or a `Solution` that has one.
    name
        What ran it; by default the policy, or "schedule".

    Raises
    ------
    UsageError
        For anything else, and for a schedule of another instance.

    Examples
    --------
    >>> import optsched
    >>> problem = optsched.problem("makespan", "examples/order-of-jobs")
    >>> timeline(problem, optsched.solve(problem))
    <Timeline of schedule on order-of-jobs: 8 tasks, 2 nodes: 8 tasks ran>
    """
    if isinstance(of, Timeline):
        found = of
    elif isinstance(of, Simulation):
        stopped = of.last if of.rules.until is None or of.starved or not of.unfinished else of.rules.until
        found = _made(of.instance, of.policy, of.spans, of.begin, max(of.last, stopped))
        found = replace(found, assumed=of.assumed, vain=len(of.attempts) if of.rules.losses else 0)
    elif isinstance(of, GapReport) and isinstance(of.problem, ScheduleProblem) and of.run.schedule is not None:
        found = replace(_of_schedule(of.problem, of.run.schedule, of.run.name), assumed=of.run.assumed)
    elif isinstance(of, ScheduleProblem):
        found = _of_schedule(of, decision, "schedule")
    else:
        expected = "a Simulation, a report on a problem over time, or such a problem with a schedule"
        raise UsageError(f"timeline takes {expected}, not {described(of)}")
    return replace(found, name=name) if name else found


def timelines_of(runs: Any) -> list[Timeline]:
    """The timelines of one or several; UsageError if there is none.

    Policies of one name also get those parameters in their names in which their runs differ.
    """
    given = list(runs) if isinstance(runs, Iterable) and not isinstance(runs, str) else [runs]
    found = [timeline(run) for run in given]
    if not found:
        raise UsageError("there is no run to show")
    ran = [run.run if isinstance(run, GapReport) else run for run in given]
    values: list[Mapping[str, Any]] = [getattr(run, "parameters", {}) for run in ran]
    names = [one.name for one in found]
    for at, (one, held) in enumerate(zip(found, values, strict=True)):
        others = [other for name, other in zip(names, values, strict=True) if name == one.name]
        differing = {key: value for key, value in held.items() if any(other.get(key) != value for other in others)}
        found[at] = replace(one, name=labelled(one.name, differing))
    return found


def _of_schedule(problem: ScheduleProblem, decision: Any, name: str) -> Timeline:
    held = decision.decision if isinstance(decision, Solution) else decision
    if not isinstance(held, Schedule):
        raise UsageError(f"{problem.place}: a timeline is of a schedule, not of {described(held)}")
    if len(held) != len(problem.instance.workload) or (held.nodes >= len(problem.instance.cluster)).any():
        raise UsageError(f"{problem.place}: the schedule is of another instance")
    nodes, starts = held.nodes.copy(), held.starts.copy()
    state, begun = problem.instance.state, problem.running
    nodes[begun], starts[begun] = state.node[begun], np.round(state.start[begun] * MICRO).astype(np.int64)
    ends = problem.ends(held)
    last = int(ends[nodes != NONE].max(initial=problem.now))
    return _made(problem.instance, name, (nodes, starts, ends), problem.now, last)


def _made(instance: Instance, name: str, columns: tuple[Ints, Ints, Ints], begin: int, last: int) -> Timeline:
    """A timeline from columns over all tasks."""
    nodes, starts, ends = columns
    rows = np.flatnonzero((nodes != NONE) & (instance.state.status != FINISHED))
    rows = rows[np.lexsort((rows, ends[rows], starts[rows]))]
    ended = ends[rows] < NEVER
    return Timeline(
        instance, name, rows, nodes[rows], starts[rows], np.where(ended, ends[rows], last), ended, begin, last
    )


# Frames -----------------------------------------------------------------------------------------------------------


def spans(runs: Any) -> pd.DataFrame:
    """A row for each task that ran, as in a Gantt chart.

    Columns `run`, `task_id`, `job_id` (missing: of no job), `kind`, `node`, `slot` (of its kind on the node, from 0),
    `locality`, `start`, `end` (seconds; missing: it had not ended).

    Examples
    --------
    >>> import optsched
    >>> run = optsched.simulate(optsched.load("examples/order-of-jobs"), "fifo", heartbeat=0)
    >>> spans(run)[["task_id", "slot", "start", "end"]].values.tolist()[:2]
    [['long-1', 0, 0.0, 6.0], ['long-2', 0, 0.0, 7.0]]
    """
    import pandas as pd

    parts = []
    for one in timelines_of(runs):
        workload, cluster = one.instance.workload, one.instance.cluster
        near = locality(one.instance, one.placement)[one.rows]
        columns = {
            "run": one.name,
            "task_id": workload.task_ids[one.rows].astype(object),
            "job_id": np.array([*workload.job_ids.tolist(), None], dtype=object)[workload.job[one.rows]],
            "kind": np.array(KINDS, dtype=object)[one.kinds],
            "node": cluster.node_ids[one.nodes].astype(object),
            "slot": one.lanes,
            "locality": np.array([*CLASSES, None], dtype=object)[near],
            "start": one.starts / MICRO,
            "end": np.where(one.ended, one.ends / MICRO, np.nan),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def running_tasks(runs: Any) -> pd.DataFrame:
    """How many tasks run and wait from each instant of change on, up to the last.

    Columns `run`, `kind`, `time` (seconds), `running`, `waiting` (of jobs that have arrived), `slots` and `utilisation`
    (running over slots; missing without slots). Runs of one name stay apart by `number`, from 0.
    """
    import pandas as pd

    parts = []
    for number, one in enumerate(timelines_of(runs)):
        for kind, name in enumerate(KINDS):
            time, running, waiting = _steps(one, kind)
            slots = int(one.slots[name].sum())
            columns = {
                "run": one.name,
                "number": number,
                "kind": name,
                "time": time / MICRO,
                "running": running,
                "waiting": waiting,
                "slots": slots,
                "utilisation": running / slots if slots else np.nan,
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _steps(one: Timeline, kind: int) -> tuple[Ints, Ints, Ints]:
    """Instants from the beginning on, and how many tasks of a kind run and wait from each on."""
    own = one.kinds == kind
    starts, ends = np.maximum(one.starts[own], one.begin), np.maximum(one.ends[own], one.begin)
    left = one.left[one.instance.workload.kind[one.left] == kind]
    arrived = np.maximum(one.jobs.arrival[one.jobs.of_task[left]], one.begin)
    arrived = arrived[arrived <= one.last]
    time = np.unique(np.concatenate([[one.begin, one.last], starts, ends, arrived]))
    count = [np.searchsorted(np.sort(times), time, side="right") for times in (starts, ends, arrived)]
    return time, count[0] - count[1], count[2] - count[0]


def time_distribution(runs: Any, of: str = "job") -> pd.DataFrame:
    """How long jobs, maps or reduces took, sorted, and which share of a run's took at most that long.

    Shen et al. (2016) draw these as Figures 4 and 6. Columns `run`, `seconds` (of a job from its arrival to its end, of
    a task from its start to its end) and `share`, of all that there are: what has not ended has no row.

    Parameters
    ----------
    runs
        One or several; those of one name are combined.
    of
        `job`, `map` or `reduce`.

    Examples
    --------
    >>> import optsched
    >>> run = optsched.simulate(optsched.load("examples/order-of-jobs"), "fifo", heartbeat=0)
    >>> time_distribution(run)[["seconds", "share"]].values.tolist()
    [[13.0, 0.5], [14.5, 1.0]]
    """
    import pandas as pd

    if of not in ("job", *KINDS):
        raise UsageError(f"of={of!r}: give job, {' or '.join(KINDS)}")
    parts = []
    for name, held in _by_name(timelines_of(runs)).items():
        times = np.concatenate([_times(one, of) for one in held])
        seconds = np.sort(times[times < NEVER]) / MICRO
        share = np.arange(1, len(seconds) + 1) / max(1, len(times))
        parts.append(pd.DataFrame({"run": name, "seconds": seconds, "share": share}))
    return pd.concat(parts, ignore_index=True)


def _times(one: Timeline, of: str) -> Ints:
    """Microseconds that each job took from its arrival, or each task of a kind; `NEVER` if it has not ended."""
    if of == "job":
        return np.where(one.job_ends < NEVER, one.job_ends - one.jobs.arrival, NEVER)
    kind = KINDS.index(of)
    found = np.full(np.count_nonzero(one.instance.workload.kind[one.left] == kind), NEVER)
    took = (one.ends - one.starts)[(one.kinds == kind) & one.ended]
    found[: len(took)] = took
    return found


def job_reductions(runs: Any, name: str | None = None) -> pd.DataFrame:
    """By which share each job was faster with one of the policies than with the others.

    Shen et al. (2016) draw it as Figure 5. Columns `run` (the other one), `job_id`, `seconds`, `other_seconds` and
    `reduction`: (other - this) / other, negative if this one was slower. Jobs that did not end in both, or took no time
    in the other, have no row.

    Parameters
    ----------
    runs
        Runs of two names or more, as many of each, on the same instances in the same order.
    name
        The one that is compared with the others; by default that of the last run.

    Raises
    ------
    UsageError
        If there is nothing to compare, or the runs are on different instances.
    """
    import pandas as pd

    by_name = _by_name(timelines_of(runs))
    chosen = list(by_name)[-1] if name is None else name
    if chosen not in by_name or len(by_name) < 2:
        raise UsageError(f"there are runs of {', '.join(by_name)}: reductions need {chosen} and another one")
    parts = []
    for other, theirs in by_name.items():
        if other == chosen:
            continue
        ours = by_name[chosen]
        if [one.instance.sha256 for one in ours] != [one.instance.sha256 for one in theirs]:
            raise UsageError(f"{chosen} and {other} ran on different instances: no job of theirs is the same")
        for mine, his in zip(ours, theirs, strict=True):
            seconds, before = _times(mine, "job"), _times(his, "job")
            both = (seconds < NEVER) & (before < NEVER) & (before > 0)
            columns = {
                "run": other,
                "job_id": np.array(mine.jobs.ids, dtype=object)[both],
                "seconds": seconds[both] / MICRO,
                "other_seconds": before[both] / MICRO,
                "reduction": (before - seconds)[both] / before[both],
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _by_name(runs: Sequence[Timeline]) -> dict[str, list[Timeline]]:
    """Runs of one name together, in order of appearance."""
    found: dict[str, list[Timeline]] = {}
    for one in runs:
        found.setdefault(one.name, []).append(one)
    return found


def locality_by_size(runs: Any) -> pd.DataFrame:
    """How near to their data the maps of jobs ran, by the size of the job.

    Shen et al. (2016) draw it as Figure 7. The size of a job is the MB that its maps read or, if some map has no size
    (in any of the runs), the number of its maps. Up to eight sizes appear one by one. With more, sizes from a power of
    two up to the next are combined. Maps of no job are left out.

    Columns `run`, `least` and `most` (the sizes that occur), `unit` (`MB` or `maps`), `jobs`, `maps`, and `node`,
    `rack` and `off_rack`: the shares of the maps by locality.
    """
    import pandas as pd

    by_name = _by_name(timelines_of(runs))
    known = True
    for workload in (one.instance.workload for held in by_name.values() for one in held):
        known &= not np.isnan(workload.size[(workload.kind == MAP) & (workload.job >= 0)]).any()
    unit = "MB" if known else "maps"
    rows = [(name, size, *near) for name, held in by_name.items() for one in held for size, near in _near(one, unit)]
    jobs = pd.DataFrame(rows, columns=["run", "size", *CLASSES])
    several = jobs["size"].nunique() > _SIZES
    jobs["bin"] = [np.floor(np.log2(size)) if size > 0 and several else size for size in jobs["size"]]
    counted = {near: (near, "sum") for near in CLASSES}
    sizes = {"least": ("size", "min"), "most": ("size", "max"), "jobs": ("size", "size")}
    bins = [
        own.groupby("bin").agg(**sizes, **counted).assign(run=name) for name, own in jobs.groupby("run", sort=False)
    ]
    found = pd.concat(bins, ignore_index=True) if bins else jobs.assign(least=0.0, most=0.0, jobs=0)
    found["unit"], found["maps"] = unit, found[[*CLASSES]].sum(axis=1)
    found[[*CLASSES]] = found[[*CLASSES]].div(found["maps"], axis=0)
    return found[["run", "least", "most", "unit", "jobs", "maps", *CLASSES]]


def _near(one: Timeline, unit: str) -> list[tuple[float, Ints]]:
    """The size of each job with maps that ran, and how many of these ran how near."""
    workload = one.instance.workload
    maps = (workload.kind == MAP) & (workload.job >= 0)
    ran = maps & (one.placement.nodes != NONE)
    near, count = locality(one.instance, one.placement), len(workload.job_ids)
    counts = np.stack(
        [np.bincount(workload.job[ran & (near == number)], minlength=count) for number in range(len(CLASSES))], axis=1
    )
    weights = workload.size[maps] if unit == "MB" else None
    size = np.bincount(workload.job[maps], weights=weights, minlength=count)
    return [(float(size[job]), counts[job]) for job in np.flatnonzero(counts.sum(axis=1)).tolist()]


# The cost of each decision of a run, in the snapshot in which it was taken --------------------------------------------


def regret(
    run: Simulation,
    problem: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    profile: str = "exact",
    time_limit: float | None = None,
) -> pd.DataFrame:
    """The gap of each decision of a run in the snapshot in which it was taken.

    A decision is what a node started at one instant. It is compared with the optimum of the snapshot: its tasks stay
    where they were started, and all others are placed as well as possible then. So a decision without regret is part of
    an optimum; later decisions do not matter.

    Parameters
    ----------
    run
        The result of `optsched.simulate`.
    problem
        Name of the problem that is posed on each snapshot. Decisions without a task that it places are left out.
    parameters, profile, time_limit
        Parameters of the problem; profile and seconds of each solve.

    Returns
    -------
    pandas.DataFrame
        A row for each decision: `time` (seconds), `node`, `tasks` (their ids), `optimum` and `taken` (the first
        component of the snapshot's optimum, and of the best that the decision allows), `regret` (how much worse that
        is), `proved` (whether both are proved). `taken` and `regret` are missing if no feasible placement of the
        problem contains the decision.

    Raises
    ------
    UsageError
        If the problem does not place tasks.
    MissingField
        If an instance lacks what the problem needs.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.heuristics.simulating import Following, simulate
    >>> from optsched.core.placement import Schedule
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]), times=[[10, 15, 15]] * 2)
    >>> instance = Instance(Cluster(["a", "b"]), workload)
    >>> run = simulate(instance, Following(instance, Schedule.of([(0, 0), (1, 0)])), service="levels")
    >>> regret(run, "lsap")[["tasks", "optimum", "taken", "regret"]].to_numpy().tolist()
    [['t1', 0, 1, 1], ['t2', 1, 1, 0]]
    """
    expect(run, Simulation, "regret is of a run over time", "optsched.simulate makes one")
    if run.rules.losses:
        raise UsageError("regret: nodes were lost in this run, and a snapshot does not say which replicas were away")
    import pandas as pd

    kind: Any = problem_class(problem)
    if not issubclass(kind, Problem):
        raise UsageError(f"{problem} does not place tasks on a snapshot; name a problem that does")
    kinds = np.array(kind.kinds)
    rows: list[dict[str, Any]] = []
    held: tuple[tuple[int, int], Solution] | None = None  # the last optimum, and its snapshot
    for position, time, node, tasks in run.decisions():
        check()
        if not np.isin(run.instance.workload.kind[tasks], kinds).all():
            continue
        before, after = (position, time), (position + len(tasks), time)
        posed, then = (kind(run.snapshot(*where), **(parameters or {})) for where in (before, after))
        solved = held[1] if held is not None and held[0] == before else solve(posed, profile, time_limit=time_limit)
        held = after, solve(then, profile, time_limit=time_limit)
        names = run.instance.workload.task_ids[tasks].tolist()
        own = np.array([posed.instance.task_index[name] for name in names], dtype=np.int64)
        best = held[1].decision  # of the other tasks, once these run
        others = best if isinstance(best, Placement) else Placement.empty(len(posed.instance.workload))
        placement = others.with_tasks(own, np.full(len(own), node))
        taken = None if posed.violations(placement) else posed.evaluate(placement)[0]
        optimum = None if solved.objective is None else solved.objective[0]
        worse = None
        if taken is not None and optimum is not None:
            with_it, without = (posed.minimised((value,) * len(posed.components))[0] for value in (taken, optimum))
            worse = with_it - without
        rows.append(
            {
                "time": posed.instance.time,
                "node": str(run.instance.cluster.node_ids[node]),
                "tasks": " ".join(names),
                "optimum": optimum,
                "taken": taken,
                "regret": worse,
                "proved": solved.optimal and held[1].optimal,
            }
        )
    return pd.DataFrame(rows, columns=["time", "node", "tasks", "optimum", "taken", "regret", "proved"], dtype=object)
