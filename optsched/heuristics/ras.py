"""`ras`: Sharmilarani et al.'s placement controller: reduces first, then rounds in which jobs of low utility gain maps.

`optsched.problems.utility.spread_reduces` says where the reduces go. `enforce` is their task scheduler: it moves a
cluster from one placement to the next without overload. `fair-sharing`, with which they compare, is here too.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.core.errors import UsageError
from optsched.core.instance import MAP, REDUCE, RUNNING, Floats, Ints
from optsched.core.placement import MICRO, NONE, Placement, microseconds
from optsched.core.results import Number
from optsched.heuristics.running.base import Heuristic
from optsched.problems.base import GRID, exact
from optsched.problems.parameters import Parameter, choice, number
from optsched.problems.utility import Allocation, Utility, spread_reduces
from optsched.problems.utility_definition import Rooms

#: The controller's default limit of rounds; it settles within six on all instances of the figures sharmilarani/rounds
#: and sharmilarani/lowest-utility.
ROUNDS = 100


@dataclass(frozen=True, eq=False, slots=True)
class Rounds:
    """The result of the rounds.

    Attributes
    ----------
    maps
        Maps of each job on each tracker, shape (jobs, nodes).
    lowest
        The lowest utility of a job after each round, exact.
    ended
        `settled`: a round changed nothing. `endless`: the placement after a round had occurred before, so the swaps
        would continue for ever. `rounds`: the limit on the rounds was reached.
    """

    maps: Ints
    lowest: tuple[Number, ...]
    ended: Literal["settled", "endless", "rounds"]


def ras(problem: Utility, rng: np.random.Generator, *, rounds: int = ROUNDS, improvement: str = "strict") -> Placement:
    """Spread the reduces evenly, then give maps to the jobs of lowest utility, taking them from those of the highest.

    Even with `reduces=free` the reduces stay where they are spread. Ties go to the first job. `rounds` and
    `improvement` are as for `map_rounds`.

    References
    ----------
    Sharmilarani et al., section III.J; the loop's details are after Polo et al., "Resource-aware adaptive scheduling
    for MapReduce clusters", Middleware 2011, Algorithm 1.

    Examples
    --------
    Two trackers, two jobs (Sharmilarani et al., note 7): no placement has a lowest utility above -1/2.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["t1", "t2"], capacity={"cpu": [5.0, 5.0], "memory": [3.0, 7.0]})
    >>> workload = Workload(
    ...     [f"m{map}" for map in range(8)], job=[0] * 3 + [1] * 5, job_ids=["a", "b"], goal=[3.0, 5.0],
    ...     map_time=[2.0, 4.0], demand={"cpu": [2.0] * 3 + [1.0] * 5, "memory": [2.0] * 3 + [3.0] * 5})
    >>> problem = Utility(Instance(cluster, workload))
    >>> placement = ras(problem, np.random.default_rng())
    >>> problem.allocated(placement).maps.tolist(), str(problem.evaluate(placement)[0])
    ([[0, 2], [1, 1]], '-1/2')
    """
    trackers = _Trackers(problem, spread_reduces(problem))
    trackers.settle(rounds, improvement)
    return trackers.rooms.placement


def map_rounds(problem: Utility, reduces: Ints, *, rounds: int = ROUNDS, improvement: str = "strict") -> Rounds:
    """Place maps given the reduces, round after round, so that the lowest utility of a job rises.

    A round visits the trackers in order. On each one, maps are given while any fits, always to the job of lowest
    utility whose map fits (work conserving). Then there is one swap: the waiting job of lowest utility takes the place
    of maps of the jobs of highest utility. A job gives up a map only if it stays above the lowest utility of any other
    (Sharmilarani et al.'s rule of fairness). After the last round the free room is assigned once more. A map that
    raises no utility, because no reduce of its job found room, is the last to be given, and takes nobody's place.

    Parameters
    ----------
    reduces
        Reduces of each job on each tracker, shape (jobs, nodes).
    rounds
        The most rounds; it stops sooner if a round changed nothing.
    improvement
        `strict`: a swap must raise the lowest utility. The taker gets its map, and every giver stays above the taker's
        former utility; otherwise everything is put back. Each swap then raises Sharmilarani et al.'s ordered vector of
        utilities, so the rounds end for any `rounds`. `literal`: maps are taken away as in the paper's words, even if
        the taker's map does not fit there. They are given back in the next round, and so on for ever (Sharmilarani et
        al., note 7). The rounds stop if a placement recurs.

    Returns
    -------
    Rounds
        O(maps x jobs) for the first round, and O(nodes x jobs) for each further one, times the resources.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["t1", "t2"], capacity={"cpu": [5.0, 5.0], "memory": [3.0, 7.0]})
    >>> workload = Workload(
    ...     [f"m{map}" for map in range(8)], job=[0] * 3 + [1] * 5, job_ids=["a", "b"], goal=[3.0, 5.0],
    ...     map_time=[2.0, 4.0], demand={"cpu": [2.0] * 3 + [1.0] * 5, "memory": [2.0] * 3 + [3.0] * 5})
    >>> problem = Utility(Instance(cluster, workload))
    >>> for improvement in ("strict", "literal"):
    ...     record = map_rounds(problem, spread_reduces(problem), improvement=improvement)
    ...     print(improvement, [str(lowest) for lowest in record.lowest], record.ended)
    strict ['-1', '-1/2', '-1/2'] settled
    literal ['-1', '-1'] endless
    """
    return _Trackers(problem, reduces).settle(rounds, improvement)


class _Trackers:
    """Maps on the trackers while they are moved: `rooms` has them, and what they leave free."""

    def __init__(self, problem: Utility, reduces: Ints) -> None:
        jobs, placed = range(len(problem.jobs)), reduces.sum(axis=1)
        self.rooms = Rooms(problem, Allocation(np.zeros(reduces.shape, dtype=np.int64), reduces))
        #: The utility of each job by the number of its maps, up to all of them.
        self._worth = [[int(worth) for worth in problem.map_worth(job, placed[job])] for job in jobs]
        #: The turns of the jobs with a waiting map, sorted.
        self._order = sorted(self._turn(job) for job in jobs if self._waiting(job))
        #: Trackers on which nothing fitted, since the last time that a map was removed or another job began to wait.
        self._full: set[int] = set()

    def _waiting(self, job: int) -> int:
        """How many maps of a job have no tracker."""
        return len(self._worth[job]) - 1 - self.rooms.placed[MAP][job]

    def _utility(self, job: int, more: int = 0) -> int:
        """The utility of a job with so many more maps than it has; none is below that without a map."""
        return self._worth[job][max(self.rooms.placed[MAP][job] + more, 0)]

    def _turn(self, job: int) -> tuple[bool, int, int]:
        """The turn of a job with a waiting map: jobs first whose utility one more map raises, then by utility."""
        utility = self._utility(job)
        return self._utility(job, 1) <= utility, utility, job

    @property
    def utilities(self) -> list[int]:
        """The utility of each job."""
        return [self._utility(job) for job in range(len(self._worth))]

    def settle(self, rounds: int, improvement: str) -> Rounds:
        """Run the rounds; see `map_rounds`."""
        strict = {"strict": True, "literal": False}[improvement]
        nodes = range(len(self.rooms.free))
        lowest: list[Number] = []
        seen: set[bytes] = set()
        ended: Literal["settled", "endless", "rounds"] = "rounds"
        for _ in range(rounds):
            changed = False
            for node in nodes:
                given = self.fill(node)
                swapped = self.swap(node, strict)
                changed = changed or given or swapped
            lowest.append(exact(min(self.utilities, default=0), GRID))
            state = self.rooms.digest(MAP)  # the nodes of all maps
            if not changed or state in seen:
                ended = "endless" if changed else "settled"
                break
            seen.add(state)
        for node in nodes:
            self.fill(node)
        return Rounds(self.rooms.counts.maps, tuple(lowest), ended)

    def fill(self, node: int) -> bool:
        """Give maps while any fits, to the job of lowest utility first; returns whether one was given."""
        given = False
        while node not in self._full:
            check()
            job = self.rooms.first(MAP, node, self._order)
            if job is None:
                self._full.add(node)
            else:
                self._move(job, node, 1)
                given = True
        return given

    def swap(self, node: int, strict: bool) -> bool:
        """One more map for the waiting job of lowest utility, if others can make room; whether a map was moved."""
        if not self._order or self._order[0][0]:
            return False
        _, before, taker = self._order[0]
        givers = list[int]()
        while not (fits := self.rooms.fits(MAP, taker, node)):
            check()
            floor = before if strict else min(self.utilities)  # a job at this minimum has none to give
            able = [job for job in self.rooms.on(MAP, node) if job != taker and self._utility(job, -1) > floor]
            if not able:
                break
            givers.append(max(able, key=lambda job: (self._utility(job), -job)))
            self._move(givers[-1], node, -1)
        if fits:
            self._move(taker, node, 1)
        elif strict:
            for giver in givers:
                self._move(giver, node, 1)
            return False
        return bool(givers)

    def _move(self, job: int, node: int, count: int) -> None:
        """Change the number of a job's maps on a tracker by `count` (1 or -1)."""
        if self._waiting(job):
            del self._order[bisect_left(self._order, self._turn(job))]
        self.rooms.put(MAP, job, node, count)
        if self._waiting(job):
            insort(self._order, self._turn(job))
        if count < 0:
            self._full.discard(node)
            if self._waiting(job) == 1:
                self._full.clear()


# `fair-sharing`: jobs share fixed slots equally; Sharmilarani et al. compare RAS with it ------------------------------


def fair_sharing(
    problem: Utility, rng: np.random.Generator, *, slots: int = 0, reduce_slots: int = 0, advertised: str = "in-turn"
) -> Placement:
    """Offer fixed slots of each tracker to the jobs, always to the one with the fewest running tasks of the kind.

    Sharmilarani et al. compare with "current Hadoop schedulers", whose slots an administrator sets without regard to
    resources. They name no settings. Here the slots are the instance's idle ones, or the same number on every tracker.
    A round offers one map slot of each tracker, then one reduce slot of each; rounds continue while anything is placed.
    Weights of groups, preemption and data play no part.

    Such a scheduler overloads trackers, and an overload has no value in the problem. So a slot goes to the first job,
    in the order of shares, whose task fits the remaining resources of the tracker, and stays idle if none fits: fair
    sharing on a cluster whose trackers refuse what they cannot run. Resources play no other part.

    With `reduces=fixed` the reduces are placed by the problem, and only map slots are offered. Ties go to the first
    job.

    Parameters
    ----------
    slots, reduce_slots
        Slots of each tracker; 0: its idle ones.
    advertised
        The order in which a round offers the trackers: in given order (`in-turn`), or first the tracker whose scarcest
        resource is most available (`availability`). The latter is Sharmilarani et al.'s slot advertisement without the
        rest of their scheduler.

    Notes
    -----
    O((tasks + nodes) x jobs) times the resources.

    References
    ----------
    Sharmilarani et al., sections II.E and III.1.

    Examples
    --------
    With two slots the tracker runs a map of each job, without regard to demands; 2 of its 5 units of cpu stay idle.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(
    ...     ["a1", "a2", "b1", "b2", "b3"], job=[0, 0, 1, 1, 1], job_ids=["a", "b"],
    ...     demand={"cpu": [2.0, 2.0, 1.0, 1.0, 1.0]})
    >>> problem = Utility(Instance(Cluster(["t1"], capacity={"cpu": [5.0]}), workload))
    >>> fair_sharing(problem, np.random.default_rng(), slots=2).nodes.tolist()
    [0, -1, 0, -1, -1]
    """
    state, nodes = problem.instance.state, len(problem.free)
    none: Ints = np.zeros((len(problem.jobs), nodes), dtype=np.int64)
    rooms = Rooms(problem, Allocation(none, none if problem.fixed is None else problem.fixed))
    offered = [_Offered(problem, MAP, rooms, _slots(slots, state.idle_slots))]
    if problem.fixed is None:
        offered.append(_Offered(problem, REDUCE, rooms, _slots(reduce_slots, state.idle_reduce_slots)))
    available = {"in-turn": False, "availability": True}[advertised]
    placed = True
    while placed:
        order = np.arange(nodes)
        if available:
            order = np.argsort(-availability(rooms.free, problem.capacity), kind="stable")
        gave = [slots.go_round(order) for slots in offered]
        placed = any(gave)
    return rooms.placement


class _Offered:
    """Slots of a kind, and the jobs with a waiting task of the kind, by how many they run."""

    def __init__(self, problem: Utility, kind: int, rooms: Rooms, idle: Ints) -> None:
        self._kind, self._rooms, self._idle = kind, rooms, idle
        self._pending: list[int] = (problem.pending_maps, problem.pending_reduces)[kind].tolist()
        workload, state = problem.instance.workload, problem.instance.state
        owners = workload.job[(state.status == RUNNING) & (workload.kind == kind)]
        self._running = [int(np.count_nonzero(owners == job)) for job in problem.jobs]
        self._order = sorted(self._turn(job) for job, pending in enumerate(self._pending) if pending)

    def _turn(self, job: int) -> tuple[int, int]:
        """The turn of a job: by how many of its tasks run."""
        return self._running[job] + self._rooms.placed[self._kind][job], job

    def go_round(self, trackers: Ints) -> bool:
        """Offer one slot of each of these trackers that has one; returns whether anything was placed."""
        placed = False
        for node in trackers[self._idle[trackers] > 0].tolist() if self._order else ():
            check()
            job = self._rooms.first(self._kind, node, self._order)
            if job is None:
                self._idle[node] = 0  # no task will fit there later either: free room only shrinks
                continue
            placed = True
            self._order.remove(self._turn(job))
            self._rooms.put(self._kind, job, node)
            self._idle[node] -= 1
            if self._rooms.placed[self._kind][job] < self._pending[job]:
                insort(self._order, self._turn(job))
        return placed


def _slots(count: int, idle: Ints) -> Ints:
    """A copy of the slots of each tracker, or the given number of them on each."""
    return np.full(len(idle), count) if count else idle.copy()


# The task scheduler: from one placement to the next without overload, over time ---------------------------------------

#: Seconds for which free slots are collected before a block advertises them (Sharmilarani et al., section III.1).
BUFFER = 2.0

#: The longest time of a task, and the longest buffer, in seconds: their microseconds are exact numbers.
LONGEST = 9e9


@dataclass(frozen=True, slots=True)
class Step:
    """An event: at `time` seconds after the decision, `task` (index in the instance) ended or started on `node`."""

    time: float
    what: Literal["ended", "started"]
    task: int
    node: int


@dataclass(frozen=True, eq=False, slots=True)
class Move:
    """A move from one placement to the next.

    Attributes
    ----------
    steps
        The events in order.
    seconds
        When the next placement was reached: no tracker runs more tasks of a job than the placement has there, and none
        runs fewer while a task of the job waits.
    runs
        What runs then.
    """

    steps: tuple[Step, ...]
    seconds: float
    runs: Placement


def availability(free: npt.ArrayLike, capacity: npt.ArrayLike) -> Floats:
    """How available each tracker is: the least share of a resource that is free (Sharmilarani et al., section III.1).

    `free` and `capacity` have shape (nodes, resources). If a tracker has nothing of a resource, none of it is free.
    Without resources, each tracker's availability is 1. Free slots are advertised on the most available tracker first.

    >>> availability([[3, 8], [4, 2]], [[4, 8], [4, 8]]).tolist()
    [0.75, 0.25]
    """
    free, capacity = np.asarray(free, dtype=np.float64), np.asarray(capacity, dtype=np.float64)
    share = np.divide(free, capacity, out=np.zeros_like(free), where=capacity > 0)
    least: Floats = share.min(axis=1, initial=1.0)
    return least


def enforce(
    problem: Utility, current: Placement, target: Placement, seconds: npt.ArrayLike, *, buffer: float = BUFFER
) -> Move:
    """Move a cluster that runs `current` to `target`, starting tasks only where and when they fit.

    No task is stopped or moved to another tracker. `target` says how many tasks of each job a tracker should run at
    once. Whenever tasks have ended, the trackers with free slots take tasks, the most available tracker first. A
    tracker chooses among the jobs that run less there than they should, have a waiting task, and whose task fits the
    free resources now. It takes the one of lowest utility (6), given what the job runs at that moment; a job's reduces
    go before its maps.

    Parameters
    ----------
    problem
        Both placements belong to it. Other running tasks of the instance keep their resources throughout.
    current
        What runs now, by the previous decision.
    target
        The decision to move to. It is read as counts, since it may place running tasks elsewhere.
    seconds
        For each of `problem.tasks` how long it runs: from now on if it runs already, else from its start.
    buffer
        Seconds for which free slots are collected, counted from the first task that ends, before they are advertised in
        a block; 0: at once. It and `seconds` are rounded to whole microseconds.

    Returns
    -------
    Move
        The move always ends, since `target` and earlier ends leave room for all tasks that must start.

    Raises
    ------
    UsageError
        If a placement overloads a tracker or is otherwise infeasible, or `seconds` or `buffer` are not numbers from 0
        to `LONGEST`.

    References
    ----------
    Sharmilarani et al., sections III.H and III.1. The paper does not say which utility is meant.

    Examples
    --------
    A tracker that runs two maps of job a should run two of job b, each twice as large:

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(
    ...     ["a1", "a2", "b1", "b2"], job=[0, 0, 1, 1], job_ids=["a", "b"], demand={"cpu": [1.0, 1.0, 2.0, 2.0]})
    >>> problem = Utility(Instance(Cluster(["t1"], capacity={"cpu": [4.0]}), workload))
    >>> current, target = problem.placement([0, 0, -1, -1]), problem.placement([-1, -1, 0, 0])
    >>> move = enforce(problem, current, target, [10, 20, 30, 30], buffer=0)
    >>> [(step.time, step.what, str(workload.task_ids[step.task])) for step in move.steps]
    [(0.0, 'started', 'b1'), (10.0, 'ended', 'a1'), (20.0, 'ended', 'a2'), (20.0, 'started', 'b2')]
    """
    lasts = np.asarray(seconds, dtype=np.float64)
    if lasts.shape != problem.tasks.shape or not ((lasts >= 0) & (lasts <= LONGEST)).all():
        raise UsageError(f"give seconds, 0 or more, for each of the problem's tasks, and {LONGEST:.0e} at most")
    if not 0 <= buffer <= LONGEST:
        raise UsageError(f"buffer is {buffer}; give seconds, 0 or more, and {LONGEST:.0e} at most")
    for name, placement in (("current", current), ("target", target)):
        wrong = problem.violations(placement)
        if wrong:
            raise UsageError(f"the {name} placement is infeasible: {wrong[0]}")
    moving = _Moving(problem, current, target, microseconds(lasts).tolist())
    moving.advertise(range(len(problem.free)))
    while not moving.reached:
        check()
        moving.pass_block(int(microseconds(buffer)))
    return Move(tuple(moving.steps), moving.now / MICRO, problem.placement(moving.placed))


class _Moving:
    """The trackers that follow a target. Tasks are positions in `problem.tasks`, times are microseconds.

    Attributes
    ----------
    now
        The time of the last block.
    steps
        The events so far.
    placed
        For each of `problem.tasks` where it runs now, or -1.
    """

    def __init__(self, problem: Utility, current: Placement, target: Placement, lasts: list[int]) -> None:
        self._problem, self._lasts = problem, lasts
        self._target = problem.allocated(target)
        self._rooms = Rooms(problem, problem.allocated(current))
        self.now = 0
        self.steps: list[Step] = []
        self.placed: Ints = problem.nodes_of(current).copy()
        #: The kind and the job of each task.
        self._of: dict[int, tuple[int, int]] = {}
        #: The waiting tasks of each kind and job, the first one last.
        self._waiting: dict[tuple[int, int], list[int]] = {}
        for kind, positions in enumerate((problem.map_positions, problem.reduce_positions)):
            for job, tasks in enumerate(positions):
                self._of.update(dict.fromkeys(tasks.tolist(), (kind, job)))
                self._waiting[kind, job] = tasks[self.placed[tasks] == NONE][::-1].tolist()
        #: When each running task ends; a sorted list is a heap.
        self._ends = sorted((lasts[task], task) for task in np.flatnonzero(self.placed != NONE).tolist())

    @property
    def reached(self) -> bool:
        """Whether no tracker runs more of anything than it should."""
        return not any((runs > most).any() for runs, most in zip(self._rooms.counts, self._target, strict=True))

    def pass_block(self, buffer: int) -> None:
        """Let tasks end, for `buffer` from the first one on; then advertise the slots that became free."""
        self.now = self._ends[0][0] + buffer
        freed: set[int] = set()
        while self._ends and self._ends[0][0] <= self.now:
            time, task = heappop(self._ends)
            freed.add(int(self.placed[task]))
            self._change(time, "ended", task, -1)
            self.placed[task] = NONE
        self.advertise(sorted(freed))

    def advertise(self, among: Sequence[int]) -> None:
        """Start what fits on the given trackers, the most available one first."""
        nodes = np.array(among, dtype=np.int64)
        order = np.argsort(-availability(self._rooms.free[nodes], self._problem.capacity[nodes]), kind="stable")
        for node in nodes[order].tolist():
            while (tasks := self._tasks_for(node)) is not None:
                task = tasks.pop()
                self.placed[task] = node
                self._change(self.now, "started", task, 1)
                heappush(self._ends, (self.now + self._lasts[task], task))

    def _tasks_for(self, node: int) -> list[int] | None:
        """The waiting tasks of the allowed job of lowest utility, reduces before maps, if one fits on a tracker."""
        utility = self._problem.utility_units(*(np.array(placed, dtype=np.int64) for placed in self._rooms.placed))
        able = [
            (utility[job], -kind, job)
            for (kind, job), tasks in self._waiting.items()
            if tasks
            and self._rooms.on(kind, node).get(job, 0) < self._target[kind][job, node]
            and self._rooms.fits(kind, job, node)
        ]
        if not able:
            return None
        _, before, job = min(able)
        return self._waiting[-before, job]

    def _change(self, time: int, what: Literal["ended", "started"], task: int, count: int) -> None:
        """Note an event of a task, which changes the number of its job's tasks on its node by `count` (1 or -1)."""
        (kind, job), node = self._of[task], int(self.placed[task])
        self._rooms.put(kind, job, node, count)
        self.steps.append(Step(time / MICRO, what, int(self._problem.tasks[task]), node))


HEURISTICS: tuple[Heuristic, ...] = (
    Heuristic(
        "ras",
        "001",
        "III.J, RAS placement controller",
        ("utility",),
        "reduces spread first, then rounds that give maps to the job of lowest utility, taken from the highest",
        (
            Parameter(
                "rounds", ROUNDS, number(lowest=1, integer=True), "most rounds; it stops where one changes nothing"
            ),
            Parameter(
                "improvement",
                "strict",
                choice("strict", "literal"),
                "a swap must raise the lowest utility, or as worded, which can swap for ever",
            ),
        ),
        batch=ras,
    ),
    Heuristic(
        "fair-sharing",
        "001",
        "II.E, equal sharing of fixed slots",
        ("utility",),
        "jobs share fixed slots equally; resources only keep trackers from overload",
        (
            Parameter("slots", 0, number(lowest=0, integer=True), "map slots of each tracker; 0: its idle ones"),
            Parameter("reduce_slots", 0, number(lowest=0, integer=True), "reduce slots of each tracker; 0: idle ones"),
            Parameter(
                "advertised",
                "in-turn",
                choice("in-turn", "availability"),
                "trackers as they stand, or the one first whose least available resource is most available",
            ),
        ),
        batch=fair_sharing,
    ),
)
