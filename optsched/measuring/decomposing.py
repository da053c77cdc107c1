"""Splits a policy's gap over time into causes: waits, placement, order of jobs, knowledge, and an unproved rest.

A policy runs over an instance, and so do variants of it with more and more freedom. Each difference has a sign: a
decision that is best at its moment need not belong to a best run, so more freedom may do worse.

`decompose` measures the parts. Three of the variants are here, too:

- `InOrder` is a policy that serves jobs in an order that needs no knowledge of the future;
- `Together` is a policy that starts as many tasks of each job as another policy, placed at the least total time;
- `planned_anew` makes a new best plan at each arrival, for what has arrived by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.brief import brief, counted, labelled
from optsched.core.deadline import check
from optsched.core.errors import HeuristicFailed, UsageError, described
from optsched.core.instance import FINISHED, KINDS, MAP, REDUCE, RUNNING, Instance, Ints
from optsched.core.placement import MICRO, NONE, Schedule
from optsched.core.results import Number, Proof, Solution
from optsched.heuristics import AnyHeuristic
from optsched.heuristics.running.base import Event, Offer, Policy, View
from optsched.heuristics.running.driver import Asked
from optsched.heuristics.running.known import Known, posed_on
from optsched.heuristics.simulating import on_the_clock, policy_of, problem_service, simulate
from optsched.heuristics.simulating.engine import Stage
from optsched.measuring.gaps import Reference, reference_of
from optsched.problems.base import expect_problem
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER
from optsched.solvers.networks import min_cost_flow
from optsched.solvers.profiles import AnyProfile, Profile, load_profile

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Decomposition",
    "Decompositions",
    "PARTS",
    "Replays",
    "arrivals",
    "decompose",
    "decompose_all",
    "known_at",
    "planned_anew",
]

#: The parts of a gap, in order, each with the two values whose difference it is.
PARTS = {
    "waits for offers": "A - B, slots offered at once",
    "placement": "B - C, the nearest tasks of each job",
    "order of jobs": "C - D, the best order tried",
    "not found": "D - E, what no tried order reached",
    "knowledge": "E - F, arrivals known beforehand",
    "not proved": "F - G, the proved bound",
}

#: The means in `Replays`, which are measured with each seed: A to D.
_REPLAYED = ("as_is", "at_once", "nearest", "any_order")


@dataclass(frozen=True, slots=True)
class Replays:
    """The values A to D of `decompose` with one seed (of heartbeats and draws).

    With several policies D is also the best C of the others. `order` names the source of D: `policy`, a name of
    `optsched.measuring.decomposing.ORDERS`, or the label of another policy.
    """

    seed: int
    as_is: Number
    at_once: Number
    nearest: Number
    any_order: Number
    order: str


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The parts of a policy's gap over time.

    Attributes
    ----------
    problem, policy, parameters
        What was measured: the name of what ran, and its parameters as given.
    runs
        The values A to D of each seed.
    arrived, known
        E and F of `decompose`; they are equal if everything arrives at once.
    bound, proof
        G: no schedule is better, and its proof; None if nothing is proved.
    assumed
        How long tasks took, and when slots were offered, in words.
    """

    problem: ScheduleProblem
    policy: str
    runs: tuple[Replays, ...]
    arrived: Number
    known: Number
    bound: Number | None
    proof: Proof | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    assumed: str = ""

    @property
    def label(self) -> str:
        """The policy with its parameters, as the command line writes them: `fair,delay=0`."""
        return labelled(self.policy, self.parameters)

    @property
    def means(self) -> dict[str, Fraction]:
        """The means of A to D over the seeds, by their names in `Replays`."""
        values = {name: [Fraction(getattr(run, name)) for run in self.runs] for name in _REPLAYED}
        return {name: sum(column, Fraction(0)) / len(self.runs) for name, column in values.items()}

    @property
    def parts(self) -> dict[str, Fraction | None]:
        """The parts of the gap by name, as means over the seeds; they sum to A less G. None: not known."""
        ends: list[Any] = [*self.means.values(), Fraction(self.arrived), Fraction(self.known), self.bound]
        steps = (None if after is None else before - after for before, after in pairwise(ends))
        return dict(zip(PARTS, steps, strict=True))

    @property
    def gap(self) -> Fraction | None:
        """The whole gap, A less G, as a mean over the seeds; None if nothing is proved."""
        return None if self.bound is None else self.means["as_is"] - self.bound

    def frame(self) -> pd.DataFrame:
        """A row for each part: `part`, its mean in seconds, and its share of the whole gap (missing: no gap)."""
        import pandas as pd

        gap = self.gap
        rows = [
            {
                "part": part,
                "seconds": None if seconds is None else float(seconds),
                "share": float(seconds / gap) if gap and seconds is not None else None,
                "is": meaning,
            }
            for (part, seconds), meaning in zip(self.parts.items(), PARTS.values(), strict=True)
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        parts = ", ".join(f"{part} {float(value):g}" for part, value in self.parts.items() if value is not None)
        return brief(f"Decomposition of {self.label} on {self.problem.instance}: {parts}")


@dataclass(frozen=True, eq=False, repr=False)
class Decompositions(Sequence[Decomposition]):
    """The decompositions of several policies' gaps, below one best schedule and one bound: a sequence of them.

    `failed` has the label of each policy that failed, and the reason.
    """

    problem: ScheduleProblem
    found: tuple[Decomposition, ...]
    failed: Mapping[str, HeuristicFailed] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, position: Any) -> Any:
        return self.found[position]

    def raise_if_failed(self) -> Decompositions:
        """The same; HeuristicFailed with a line for each policy that failed."""
        if self.failed:
            raise HeuristicFailed(*(line for error in self.failed.values() for line in error.lines))
        return self

    def frame(self) -> pd.DataFrame:
        """A row for each policy, indexed by its label: A as `as it is`, the parts, `bound` and `gap`, in seconds.

        Unknown values are missing.
        """
        import pandas as pd

        rows = [{"as it is": one.means["as_is"], **one.parts, "bound": one.bound, "gap": one.gap} for one in self.found]
        columns = ["as it is", *PARTS, "bound", "gap"]
        index = pd.Index([one.label for one in self.found], name="policy", dtype=object)
        return pd.DataFrame(rows, index, columns).astype(float)

    def __repr__(self) -> str:
        labels = ", ".join(one.label for one in self.found) or "none"
        return brief(f"Decompositions of {counted(len(self), 'gap')} on {self.problem.instance}: {labels}")


def decompose(
    problem: ScheduleProblem,
    policy: AnyHeuristic,
    /,
    seeds: Iterable[int] = range(5),
    *,
    heartbeat: float | None = 3,
    assign: str = "all",
    time_limit: float | None = None,
    profile: str | Profile = "exact",
    reference: Reference | Solution | None = None,
    step: Callable[[str], None] = lambda text: None,
    **parameters: Any,
) -> Decomposition:
    """Split a policy's gap into parts, by replays of the same instance; for several policies, see `decompose_all`.

    Each replay grants more than the previous one. A: nothing; B: slots as soon as they are free; C: the best placement
    of each instant, for the same number of tasks of each job on the same slots; D: any order of jobs that needs no
    future; E: the times of everything that has arrived; F: all arrivals; G is the proved bound. D, E and F are the best
    schedules found, not bounds. D: the best of C and three simple job orders with the nearest tasks. E: also a plan
    that is made again at each arrival. The part `not found` is the gap that no tried order closes.

    Parameters
    ----------
    problem
        A problem over time, such as `makespan` or `job-times`.
    policy
        As for `optsched.simulate`.
    seeds
        One or more.
    heartbeat, assign
        As in `optsched.simulate`; only for A.
    time_limit, profile
        As in `optsched.solve`, for F and G, and again for E.
    reference
        As for `optsched.gap`, instead of solving.
    step
        Called with the next step: each seed, and the search for E to G.
    **parameters
        The policy's own.

    Raises
    ------
    UsageError
        If the problem decides no schedules, there is no seed, or the reference is of another problem.
    HeuristicFailed
        If the policy raises, starts what it cannot start, or leaves tasks unfinished for ever.

    Examples
    --------
    >>> import optsched
    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> workload = Workload(["t1", "t2"], job=[0, 0], job_ids=["j"], replicas=Ragged.from_rows([[1], [0]]),
    ...                     times=[[1, 5, 5]] * 2)
    >>> problem = optsched.problem("makespan", optsched.Instance(Cluster(["a", "b"]), workload))
    >>> found = decompose(problem, "rand", seeds=[2], heartbeat=0)
    >>> {part: str(value) for part, value in found.parts.items() if value}
    {'placement': '4'}
    """
    rules: Any = {"heartbeat": heartbeat, "assign": assign, "time_limit": time_limit, "profile": profile}
    measured = decompose_all(problem, [(policy, parameters)], seeds, **rules, reference=reference, step=step)
    for error in measured.failed.values():
        raise error
    return measured.found[0]


def decompose_all(
    problem: ScheduleProblem,
    policies: Iterable[AnyHeuristic | tuple[AnyHeuristic, Mapping[str, Any]]],
    /,
    seeds: Iterable[int] = range(5),
    *,
    heartbeat: float | None = 3,
    assign: str = "all",
    time_limit: float | None = None,
    profile: str | Profile = "exact",
    reference: Reference | Solution | None = None,
    step: Callable[[str], None] = lambda text: None,
) -> Decompositions:
    """Split the gaps of several policies into parts, side by side.

    The best schedule is searched, and the bound proved, once for all of them; simple orders of jobs are tried once for
    each seed. D is the best order that was tried for any of the policies with the seed (except those that know the
    future, such as `observed`), and F the best schedule tried at all. Neither is worse than in `decompose` of a single
    policy.

    Parameters
    ----------
    problem, seeds, heartbeat, assign, time_limit, profile, reference
        As in `decompose`.
    policies
        One or more, each as for `optsched.simulate`, or a pair of that and its parameters.
    step
        Called with the next step: each policy with each seed, and the search for E to G.

    Returns
    -------
    Decompositions
        A policy that fails, or never finishes, does not end the table: it is in `failed`.

    Raises
    ------
    UsageError
        As for `decompose`, and if there is no policy, or one occurs twice.

    Examples
    --------
    >>> import optsched
    >>> found = decompose_all(optsched.problem("job-times", "examples/order-of-jobs"), ["fifo", ("fair", {"delay": 0})])
    >>> found.frame()["order of jobs"].to_dict()
    {'fifo': 1.5, 'fair,delay=0': 0.0}
    """
    expect_problem(problem, "decompose", ScheduleProblem)
    chosen = tuple(seeds)
    if not chosen:
        raise UsageError("decompose: give one seed or more")
    best = reference_of(problem, reference, profile, time_limit)
    replaying = _Replaying(problem, heartbeat, assign)
    failed: dict[str, HeuristicFailed] = {}
    ran: list[_Made] = []
    for made in _made(problem, policies):
        try:
            for seed in chosen:
                step(f"{made.label}, seed {seed}")
                replaying.run(made, seed)
                check()
            ran.append(made)
        except HeuristicFailed as error:
            failed[made.label] = error
    if not ran:  # then the best schedule is not sought
        return Decompositions(problem, (), failed)
    step("the best schedule")
    replays = {made.label: tuple(replaying.replays(made, seed, ran) for seed in chosen) for made in ran}
    tried: dict[bool, list[Number]] = {False: [], True: []}  # by whether the policy knows the future
    for made in ran:
        tried[made.knows] += [one for each in replays[made.label] for one in (each.as_is, each.at_once, each.any_order)]
    solution = best.solution
    if solution.objective is not None:
        tried[True].append(solution.objective[0])
    if len(arrivals(problem)) > 1:
        anew = planned_anew(problem, profile, time_limit)
        tried[False] += [] if anew is None else [anew]
    else:
        tried[False] += tried[True]  # nothing is unknown
    known = min(tried[False] + tried[True])
    ends = min(tried[False], default=known), known, *_bound(problem, solution)
    return Decompositions(
        problem,
        tuple(
            Decomposition(problem, made.name, replays[made.label], *ends, made.parameters, replaying.assumed)
            for made in ran
        ),
        failed,
    )


@dataclass(frozen=True, slots=True)
class _Made:
    """A policy with its parameters, its name, and whether it knows the future."""

    policy: AnyHeuristic
    parameters: Mapping[str, Any]
    name: str
    knows: bool

    @property
    def label(self) -> str:
        return labelled(self.name, self.parameters)


def _made(problem: ScheduleProblem, policies: Any) -> list[_Made]:
    """The policies, each with its parameters; UsageError if they are invalid, or one occurs twice."""
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        expected = "a list of policies; for one alone there is optsched.decompose"
        raise UsageError(f"decompose_all takes {expected}, not {described(policies)}")
    made: dict[str, _Made] = {}
    for given in policies:
        policy, parameters = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
        name, driven, _ = policy_of(policy, problem.instance, dict(parameters))
        one = _Made(policy, dict(parameters), name, hasattr(driven, "appointments"))
        if made.setdefault(one.label, one) is not one:
            raise UsageError(
                f"decompose_all: {one.label} is there twice; give policies of different names or parameters"
            )
    if not made:
        raise UsageError("decompose_all: give one policy or more")
    return list(made.values())


@dataclass
class _Replaying:
    """The runs of policies over time: A to C of each with each seed, and the plain orders of jobs with each seed."""

    problem: ScheduleProblem
    heartbeat: float | None
    assign: str
    assumed: str = ""
    own: dict[tuple[str, int], tuple[Number, Number, Number]] = field(default_factory=dict)
    orders: dict[int, dict[str, Number]] = field(default_factory=dict)

    def run(self, made: _Made, seed: int) -> None:
        """Run a policy as it is (A), without heartbeats (B), and with the nearest tasks (C)."""
        problem, policy = self.problem, (made.policy, made.parameters)
        driven = policy_of(made.policy, problem.instance, dict(made.parameters))[1]
        as_is, self.assumed = self._value(policy, seed, self.heartbeat)
        at_once = self._value(policy, seed)[0] if self.heartbeat else as_is
        self.own[made.label, seed] = as_is, at_once, self._value(Together(problem, driven), seed)[0]
        if seed not in self.orders:
            self.orders[seed] = {order: self._value(InOrder(problem, order), seed)[0] for order in ORDERS}

    def _value(self, policy: Any, seed: int, heartbeat: float | None = 0) -> tuple[Number, str]:
        """The value of a run, and its rules in words."""
        slowstart, service = self.problem.parameters["slowstart"], problem_service(self.problem)
        rules: dict[str, Any] = {"heartbeat": heartbeat, "assign": self.assign, "slowstart": slowstart}
        run = simulate(self.problem.instance, policy, service, seed=seed, **rules)
        return self.problem.evaluate(run.raise_if_unfinished().schedule)[0], run.assumed

    def replays(self, made: _Made, seed: int, ran: Sequence[_Made]) -> Replays:
        """A to C of a policy, and D: the best of C, the plain orders, and C of the others that know no future."""
        found = self.own[made.label, seed]
        others = [(one.label, self.own[one.label, seed][-1]) for one in ran if one is not made and not one.knows]
        tried = [("policy", found[-1]), *self.orders[seed].items(), *others]
        order, least = min(tried, key=lambda entry: entry[1])
        return Replays(seed, *found, least, order)


def _bound(problem: ScheduleProblem, solution: Solution) -> tuple[Number | None, Proof | None]:
    """G and its proof."""
    first = problem.components[0].name
    bounds: list[tuple[Number, Proof | None]] = [
        (bound.value, Proof.COMBINATORIAL) for bound in problem.cheap_bounds() if bound.component == first
    ]
    if solution.bound is not None and solution.bound[0] is not None:
        proof = Proof.weakest([certificate.kind for certificate in solution.certificates])
        bounds.insert(0, (solution.bound[0], proof))
    return max(bounds, key=lambda entry: entry[0], default=(None, None))


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
            self._known.room[kind] = free.tolist()

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
