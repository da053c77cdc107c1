"""What decides over time with more freedom than a policy: the variants that `decompose` compares it with.

- `InOrder` is a policy that serves jobs in an order that needs no knowledge of the future;
- `Together` is a policy that starts as many tasks of each job as another policy, placed at the least total time;
- `planned_anew` makes a new best plan at each arrival, for what has arrived by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import FINISHED, KINDS, MAP, REDUCE, RUNNING, Instance, Ints
from optsched.core.placement import MICRO, NONE, Schedule
from optsched.core.results import Number
from optsched.heuristics.running.base import Event, Offer, Policy, View
from optsched.heuristics.running.driver import Asked
from optsched.heuristics.running.known import Known, posed_on
from optsched.heuristics.simulating import on_the_clock
from optsched.heuristics.simulating.engine import Stage
from optsched.measuring.gaps import Reference
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER
from optsched.solvers.networks import min_cost_flow
from optsched.solvers.profiles import AnyProfile, load_profile

# The best schedule found with all arrivals so far known, and no later ones --------------------------------------------


def arrivals(problem: ScheduleProblem) -> Ints:
    """The microseconds at which something to run arrives, in order; at most one: nothing is unknown."""
    return np.unique(problem.release)


def planned_anew(
    problem: ScheduleProblem, profile: AnyProfile = "exact", time_limit: float | None = None
) -> Number | None:
    """The value of a plan that is made again at each arrival, for what has arrived and is not yet started.

    `profile` and `time_limit` are as in `optsched.solve`, for all plans together: each has an equal share of the time.
    None if some plan was not found in its time.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> from optsched.problems.job_times import JobTimes
    >>> workload = Workload(["long", "short"], job=[0, 1], job_ids=["a", "b"], arrival=[0, 1], duration=[9, 1])
    >>> planned_anew(JobTimes(Instance(Cluster(["n"]), workload)))  # a plan that knew of b would let a wait
    18
    """
    instants = arrivals(problem)
    limits = load_profile(profile, time_limit)
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
        tasks = np.array([index[task] for task in posed.task_ids.tolist()], np.int64)
        plan = plan.with_tasks(tasks, found.nodes[posed.tasks], found.starts[posed.tasks])
    return problem.evaluate(plan)[0]


def known_at(problem: ScheduleProblem, plan: Schedule, instant: int) -> Instance:
    """The instance at a microsecond under a plan: what the plan has started by then, and no job that arrives later.

    Tasks that the plan starts at this very microsecond may be decided again, unless they take no time.
    """
    ends = problem.ends(plan)
    begun = np.flatnonzero((plan.nodes != NONE) & ((plan.starts < instant) | (ends <= instant)))
    ran = np.union1d(problem.running, begun)
    over = ran[ends[ran] <= instant]
    kind, job = problem.instance.workload.kind, problem.jobs.of_task
    maps = np.flatnonzero((kind == MAP) & (problem.instance.state.status != FINISHED))
    unfinished = np.isin(job[over], job[np.setdiff1d(maps, over)])  # a reduce ends no sooner than its job's maps
    over = over[(kind[over] == MAP) | ~unfinished]
    stage: Any = Stage(on_the_clock(problem.instance))
    known = Known(stage)
    known.move_to(instant / MICRO)
    for task, number in zip(begun.tolist(), known.numbers(begun), strict=True):
        known.time = int(plan.starts[task]) / MICRO
        known.start(number, int(plan.nodes[task]))
    for number in known.numbers(over):
        known.finish(number)
    known.time = instant / MICRO
    return known.snapshot()


# Start as many tasks of each job as another policy at each instant, placed at the least total time --------------------


class JobTasks:
    """The tasks of a view by job, and each one's excess over its least time on each node.

    `job` has the job of each task of the view, jobs numbered by arrival. A task without a job is its own job, after all
    others.
    """

    def __init__(self, problem: ScheduleProblem, view: View) -> None:
        self._times, self._row = problem.times, problem.instance.task_index
        self._least = problem.times.by_level.min(axis=1, initial=NEVER)
        self._of_row = np.full(len(self._row), NONE)
        self._of_row[problem.tasks] = np.arange(len(problem.tasks))
        self._position: Ints = np.zeros(0, dtype=np.int64)
        self.learn(view)

    def learn(self, view: View) -> None:
        """Add what has arrived since."""
        rows = [self._row[name] for name in view.workload.task_ids[len(self._position) :].tolist()]
        self._position = np.append(self._position, self._of_row[rows].astype(np.int64))
        job = view.workload.job
        alone = len(job) + np.arange(len(job))
        self.job: Ints = np.unique(np.where(job >= 0, job, alone), return_inverse=True)[1]

    def startable(self, tasks: Ints) -> Ints:
        """Those of some tasks that any policy may start."""
        startable: Ints = tasks[self._position[tasks] != NONE]
        return startable

    def excess(self, tasks: Ints, node: int) -> Ints:
        """By how many microseconds each of some tasks exceeds its least time on a node."""
        position = self._position[tasks]
        excess: Ints = self._times.on(position, np.full(len(position), node)) - self._least[position]
        return excess


#: Orders of jobs that need no knowledge of the future: a function of each job's running and remaining tasks; the least
#: value is served first, ties by arrival.
ORDERS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "arrival": lambda running, left: np.zeros_like(left),
    "fewest-running": lambda running, left: running,
    "fewest-left": lambda running, left: left,
}


class InOrder(Policy):
    """Always the first job of an order, and of it the task to which the node is nearest.

    The order is one of `ORDERS`: by arrival, by fewest running tasks, or by fewest remaining tasks.
    """

    def __init__(self, problem: ScheduleProblem, order: str) -> None:
        self._problem, self._order = problem, ORDERS[order]

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._tasks = JobTasks(self._problem, view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self._tasks.learn(view)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        waiting = self._tasks.startable(view.pending_of(offer.kind))
        if not len(waiting):
            return ()
        job = self._tasks.job
        running, left = (
            np.bincount(job[which], minlength=len(job)) for which in (view.status == RUNNING, view.status != FINISHED)
        )
        rank = self._order(running, left)[job[waiting]]
        own = waiting[job[waiting] == job[waiting[rank == rank.min()]].min()]
        return (int(own[self._tasks.excess(own, offer.node).argmin()]),)


#: Sums of costs in the network stay below this.
_EXACT = 2**52


class Together(Policy):
    """Another policy's number of tasks of each job at each instant, placed at the least total time.

    The other policy does not learn of that, nor where its maps really run: jobs may have changed places. Reduces stay
    where it starts them, since they take the same time anywhere.

    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> from optsched.heuristics.simulating import simulate
    >>> workload = Workload(["t1", "t2"], job=[0, 0], job_ids=["j"], replicas=Ragged.from_rows([[0, 1], [0]]),
    ...                     times=[[1, 5, 5]] * 2)
    >>> problem = Makespan(Instance(Cluster(["a", "b"]), workload))
    >>> run = simulate(problem.instance, Together(problem, InOrder(problem, "arrival")), heartbeat=0)
    >>> run.schedule.nodes.tolist()
    [1, 0]
    """

    def __init__(self, problem: ScheduleProblem, other: Policy) -> None:
        self._problem, self._other = problem, other
        self.waits_seconds = float(getattr(other, "waits_seconds", 0))
        # A node is offered once a round, and the policy is notified of its tasks at once.
        self.fills_nodes = True

    @property
    def waits_rounds(self) -> int:  # type: ignore[override]  # the other policy may come to know it as it goes
        return int(getattr(self._other, "waits_rounds", 0))

    def start(self, view: View, rng: np.random.Generator) -> None:
        (order,) = rng.spawn(1)
        self._tasks = JobTasks(self._problem, view)
        stage: Any = Stage(on_the_clock(self._problem.instance))
        reduces = stage.tasks[stage.instance.workload.kind[stage.tasks] == REDUCE]
        #: The other policy's world, in which its tasks run where it started them.
        self._known = Known(stage, reduces)
        #: The task for which the other policy takes each task, and the reverse.
        self._taken_for, self._stands_for = (list(range(len(self._known.order))) for _ in range(2))
        self._asked = _Asked(self._other, self._known, order, ())
        self._learn(view, 0)
        self._asked.begin(rng)
        self._plan: dict[tuple[str, int], list[int]] = {}
        #: The kinds and nodes that got nothing more in this round; whether nothing is asked until it is over.
        self._declined: set[tuple[str, int]] = set()
        self._settled = False
        #: When the plan was made; None: it must be made again.
        self._planned_at: float | None = None

    def notify(self, event: Event, view: View) -> None:
        if event.what == "task-started":
            return  # it knows
        known = self._known
        if event.what == "job-arrived":
            self._tasks.learn(view)
            before = len(known.view.status)
            if len(view.status) > before:
                known.move_to(event.time)
                self._learn(view, before)
        elif event.what.startswith("task-"):
            task = self._taken_for[event.index]
            known.progress(known.order[[task]], view.bytes_read[[event.index]])
            happens = {"finished": known.finish, "returned": known.return_task, "released": known.release}
            happens[event.what.removeprefix("task-")](task)
            event = replace(event, index=task)
        self._sync(view)
        self._asked.tell(event)
        self._declined.clear()
        self._settled = False
        self._planned_at = None

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        key = (offer.kind, offer.node)
        if key in self._declined:  # a round of offers is over
            self._declined.clear()
            if not self._settled:
                self._planned_at = None
            self._settled = False
        if self._planned_at != offer.time:
            self._planned_at = offer.time
            self._settled = self._decide(offer.time, view)
        tasks = self._plan.pop(key, [])
        if not tasks:
            self._declined.add(key)
        return tasks

    def _sync(self, view: View) -> None:
        """Set the free slots to the real ones."""
        for kind, free in self._known.free.items():
            free[:] = view.free_slots(kind)

    def _exchange(self, one: int, other: int) -> None:
        """Exchange two waiting tasks of a job: from now on the other policy takes each for the other."""
        taken = self._taken_for
        taken[one], taken[other] = taken[other], taken[one]
        self._stands_for[taken[one]], self._stands_for[taken[other]] = one, other

    def _learn(self, view: View, before: int) -> None:
        """Add the tasks that have arrived, from number `before` on."""
        known = self._known
        known.view = replace(known.view, emitted=view.emitted, progress=view.progress)
        reduces = view.pending_of(KINDS[REDUCE])
        for task in reduces[reduces >= before].tolist():
            known.release(task)

    def _decide(self, time: float, view: View) -> bool:
        """Let the other policy answer all offers of an instant, and place its maps; whether it started anything."""
        self._sync(view)
        known, started = self._known, self._asked.started
        known.time = time
        started.clear()
        while sum(self._asked.go_round(kind)[0] for kind in KINDS if known.waiting[kind]):
            pass
        self._plan = {}
        kind, job = view.workload.kind, self._tasks.job
        maps = [(task, node) for task, node in started if kind[task] == MAP]
        for task, node in started:
            if kind[task] != MAP:
                self._put(KINDS[kind[task]], node, self._stands_for[task])
        where = placed_together(
            self._tasks,
            view.pending,
            Counter(node for _, node in maps),
            Counter(int(job[task]) for task, _ in maps),
        )
        self._take_over(maps, where)
        return bool(started)

    def _take_over(self, maps: Sequence[tuple[int, int]], where: Mapping[int, int]) -> None:
        """Assign each map that the other policy started to one of its job, on the same node if there is one there."""
        job = self._tasks.job
        places: dict[int, list[tuple[int, int]]] = {}
        for own, node in where.items():
            places.setdefault(job[own], []).append((node, own))
            self._put(KINDS[MAP], node, own)
        moved = []
        for task, node in maps:
            same = next((place for place in places[job[task]] if place[0] == node), None)
            if same is None:
                moved.append(task)
                continue
            places[job[task]].remove(same)
            self._exchange(self._stands_for[task], same[1])
        for task in moved:
            self._exchange(self._stands_for[task], places[job[task]].pop()[1])

    def _put(self, kind: str, node: int, task: int) -> None:
        self._plan.setdefault((kind, node), []).append(task)


class _Asked(Asked):
    """The other policy, asked in its own world; its starts are recorded."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.started: list[tuple[int, int]] = []

    def begun(self, task: int, node: int) -> None:
        self.started.append((task, node))


def placed_together(
    of_jobs: JobTasks, maps: Ints, slots: Mapping[int, int], counts: Mapping[int, int]
) -> dict[int, int]:
    """A node for as many waiting maps of each job as `counts` says, on all `slots`, at the least total time.

    The cost is each map's excess over its least time. It is a minimum-cost flow from nodes to maps, and from these to
    their jobs. On each node only as many maps of a job matter as start: those with the least excess there. `maps` are
    the waiting ones; `slots` and `counts` say how many start on each node, and of each job.
    """
    if not slots:
        return {}
    maps = of_jobs.startable(maps)
    job = of_jobs.job[maps]
    ends, costs = [], []  # of an arc for each node and map that matters
    for at, node in enumerate(slots):
        excess = of_jobs.excess(maps, node)
        for number, count in counts.items():
            own = np.flatnonzero(job == number)
            own = own[np.argsort(excess[own], kind="stable")[:count]]
            ends.append(np.stack([np.full(len(own), at), own], axis=1))
            costs.append(excess[own])
    found, cost = np.concatenate(ends), np.concatenate(costs)
    chosen, head = np.unique(found[:, 1], return_inverse=True)
    names = {number: at for at, number in enumerate(counts, len(slots) + len(chosen))}
    rows = len(slots) + np.arange(len(chosen))
    tail = np.concatenate([found[:, 0], rows])
    head = np.concatenate([rows[head], [names[number] for number in job[chosen].tolist()]])
    supply = np.array([*slots.values(), *[0] * len(chosen), *(-count for count in counts.values())])
    cost = np.concatenate([cost // (1 + int(cost.max()) * (len(supply) + 1) // _EXACT), np.zeros_like(chosen)])
    solved = min_cost_flow(tail, head, np.zeros_like(tail), np.ones_like(tail), cost, supply)
    assert solved.flow is not None, solved.status
    nodes, used = list(slots), np.flatnonzero(solved.flow[: len(found)]).tolist()
    return {int(maps[found[arc, 1]]): nodes[found[arc, 0]] for arc in used}
