"""Proved earliest ends of jobs: by prices of slots, by windows of time, and by each job alone.

`latest_window` searches a window of time that is too short for its tasks; a linear program gives prices of nodes for it
(`node_prices`). `AloneSearch` bounds the end of each job alone, by `latency` problems.

Prices of slots over time (`StartProgram`) come from a linear program over starts. In it jobs end within a box, slots
are alike, and tasks are divisible. A job ends at the least step of its box, or later by the share of its tasks that end
later. So starts are the only variables, and their cost is their lateness. The duals are prices of slots, at which whole
jobs are priced exactly (`problems.schedule_bounds`).

For `job-times` there is a tree of cases by jobs' ends (`EndTree`). The search takes the best case first, and from each
one goes down to a case in which the program has every job whole. It then looks for a schedule of that (`ended_by`). A
limit below the best schedule closes most of the tree at once, so limits are tried from the proved bound on (destructive
bounds, Klein and Scholl 1999).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from optsched.certificates.programs import without_costs
from optsched.certificates.schedules import (
    alone_entry,
    end_alone,
)
from optsched.certificates.trees import Branch, Step, Tree
from optsched.core.deadline import check
from optsched.core.instance import KINDS, Floats, Ints
from optsched.core.placement import Schedule, seconds
from optsched.core.results import Bound, Certificate
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.relaxations import Box
from optsched.problems.schedule_bounds import (
    MOST_WORK,
    JobAlone,
    JobEnds,
    JobsAlone,
    PricedTime,
    TimePrices,
    Window,
    ruled_out,
    too_dear,
)
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER
from optsched.solvers.answers import LinearProgram, whole_numbers
from optsched.solvers.highs import WarmProgram, solve_uninterrupted
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.latency import LatencySearch
from optsched.solvers.searches.latency_program import relaxation
from optsched.solvers.searches.program_tree import as_arrays

#: Units of price in a job's waiting for a step.
_SCALE = 2**14

#: A smaller part of a task counts as none.
_PART = 1e-6

#: Time has at most this many steps, or 1. Steps are longer if the program would have more coefficients, or prices would
#: take more comparisons.
_STEPS, _COEFFICIENTS, _COMPARED = 600, 500_000, 5_000_000


class Late(NamedTuple):
    """The program's result for a box.

    `prices` are those of slots; with the scale 0 a ray. `late` has, for each job, the parts of it that end after the
    least step of its box, after the next one, and so on. `outside` is whether parts of tasks end after the box, or
    never.
    """

    prices: TimePrices
    late: list[Floats]
    outside: bool


def fine_enough(problem: ScheduleProblem, schedule: Schedule, ends: Ints) -> PricedTime:
    """A problem, not plainly infeasible, in the shortest steps of time in which its program is not too large.

    It takes a good schedule, and the earliest end of each job, as for `PricedTime`.
    """
    until = int(problem.completions(schedule).max())
    latest = problem.latest_completions(problem.evaluate(schedule)[0])
    after = (np.where(latest < NEVER, latest, until) - problem.now).tolist()
    step = problem.lattice * max(1, -(-max(after) // (problem.lattice * _STEPS)))
    while True:
        check()
        priced, steps = PricedTime(problem, step, ends), max(after) // step
        covered = sum(
            each.length * max(0, last // step - each.tail - each.length + 1 - each.release)
            for classes, last in zip(priced.classes, after, strict=True)
            for each in classes
        )
        compared = (priced.waves + len(priced.classes)) * steps
        if steps <= 1 or (covered <= _COEFFICIENTS and compared <= _COMPARED):
            return priced
        step *= 2


class StartProgram:
    """The program for boxes within one; `penalty` is the cost of a task that is left out."""

    def __init__(self, priced: PricedTime, box: Box, penalty: float = 1.0) -> None:
        self._step, self._last, self._penalty = priced.step, int(box.upper.max(initial=0)), penalty
        self._weight = np.array(priced.weights, dtype=np.float64)
        self._profile = Profile("prices of slots")
        nothing = np.zeros(0, dtype=np.int64)
        columns: list[tuple[Ints, Ints, Floats]] = [(nothing, nothing, np.zeros(0))]
        entries: list[tuple[Ints, Ints]] = [(nothing, nothing)]
        due: list[float] = []
        rows, count = len(KINDS) * self._last, 0
        for job, classes in enumerate(priced.classes):
            check()
            work = sum(each.length * each.count for each in classes)
            for each in classes if self._weight[job] else ():
                begins = np.arange(each.release, int(box.upper[job]) - each.tail - each.length + 1)
                if each.length:
                    own = count + np.arange(len(begins))
                    shares = np.full(len(begins), each.length / work)
                    columns.append((np.full(len(begins), job), begins + each.length + each.tail, shares))
                    covered = (begins[:, None] + np.arange(each.length)).ravel() + each.kind * self._last
                    entries += [(covered, np.repeat(own, each.length)), (np.full(len(own), rows + len(due)), own)]
                    due.append(float(each.count))
                    count += len(begins)
        #: For each start: the job, the earliest end of the job by it, and the task's share of the job's work.
        self._job, self._end, self._share = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        entries.append((rows + np.arange(len(due)), count + np.arange(len(due))))  # tasks that are left out
        self._due = len(due)
        row, column = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        room = [
            slots - (busy[None, :] > np.arange(self._last)[:, None]).sum(axis=1).astype(np.float64)
            for slots, busy in zip(priced.slots, priced.busy, strict=True)
        ]
        upper, count = np.concatenate([*room, due]), count + len(due)
        linear = LinearProgram(  # rows are slots of each kind in each step, and the tasks of each class
            objective=np.zeros(count),  # a box sets costs and bounds
            col_lower=np.zeros(count),
            col_upper=np.full(count, np.inf),
            integer=np.zeros(count, dtype=bool),
            row_lower=np.concatenate([np.full(rows, -np.inf), due]),
            row_upper=upper,
            matrix=sp.csr_array((np.ones(len(row)), (row, column)), shape=(len(upper), count)),
        )
        self._warm = WarmProgram(linear)

    @property
    def size(self) -> int:
        """The number of starts."""
        return len(self._job)

    def solve(self, box: Box, ray: bool = False) -> Late | None:
        """The program's result for a nonempty box; None if HiGHS was stopped.

        For a `ray` only tasks that are left out have a cost, so that prices can prove that the box is empty.
        """
        late = np.maximum(self._end - box.lower[self._job], 0)
        cost = 0.0 * late if ray else self._weight[self._job] * self._share * late
        objective = np.append(cost, np.full(self._due, 1.0 if ray else self._penalty))
        upper = np.append(np.where(self._end <= box.upper[self._job], np.inf, 0.0), np.full(self._due, np.inf))
        found = self._warm.solve(np.zeros(len(upper)), upper, self._profile, objective)
        if found.row_duals is None or found.x is None:
            return None
        slots = found.row_duals[: len(KINDS) * self._last]
        priced = np.rint(np.maximum(-slots, 0.0) * _SCALE).astype(np.int64)
        prices = TimePrices(self._step, 0 if ray else _SCALE, (priced[: self._last], priced[self._last :]))
        starts, parts = found.x[: self.size], []
        for job, (lower, upper_end) in enumerate(zip(box.lower.tolist(), box.upper.tolist(), strict=True)):
            own = (self._job == job) & (starts > 0)
            after = np.clip(self._end[own] - lower, 0, upper_end - lower)
            ended = np.bincount(after, weights=starts[own] * self._share[own], minlength=upper_end - lower + 1)
            parts.append(np.clip(ended[::-1].cumsum()[::-1][1:], 0, 1))
        return Late(prices, parts, bool(found.x[self.size :].sum() > _PART))


def latest_priced(problem: Makespan, low: int, schedule: Schedule) -> tuple[TimePrices, int] | None:
    """Prices that prove that not all tasks end within a number of steps, the most by halving; None: there are none.

    `low` is the first end that is not ruled out, in microseconds; a good schedule is given, too.
    """
    priced = fine_enough(problem, schedule, problem.earliest_completions)
    alone, best = np.array(priced.alone, dtype=np.int64), None
    first = max((low - problem.now) // priced.step, int(alone.max(initial=0)))
    last = max((int(problem.completions(schedule).max()) - problem.now) // priced.step, first)
    program = StartProgram(priced, Box(alone, np.full(len(alone), last)))
    while first < last:
        by = (first + last) // 2
        found = program.solve(Box(alone, np.full(len(alone), by)), ray=True)
        prices = None if found is None else found.prices._replace(scale=1)
        if prices is None or priced.too_large(prices) is not None:
            break
        if priced.rules_out(prices, by):
            best, first = (prices, by), by + 1
        else:
            last = by
    return best


# The tree -------------------------------------------------------------------------------------------------------------


#: The most times that a case is settled, each time with a smaller box; and by how many steps it must shrink each time.
_ROUNDS, _LOST = 3, 3

#: Smaller lateness does not count.
_WHOLE = 1e-6


@dataclass(eq=False)
class _Case:
    """A box, the positions of the multipliers that settle it, its proved bound, and its parts."""

    box: Box
    bound: int
    by: list[int] = field(default_factory=list)
    late: list[Floats] = field(default_factory=list)
    branch: Branch | None = None
    parts: tuple[_Case, ...] = ()


class EndTree:
    """The tree over `ends` so far.

    `realised` looks for a schedule whose jobs end by given steps, or near them, and returns the cost of the best known
    one. `limit` is that of `ends`, or that cost if it is less. `programs` is the number of linear programs that were
    solved, `work` the effort of checking the tree (`JobEnds.work`), at most `MOST_WORK`.
    """

    def __init__(self, ends: JobEnds, realised: Callable[[list[int]], int]) -> None:
        self._ends, self.limit, self._realised = ends, ends.limit, realised
        self._multipliers: list[TimePrices] = []
        self._open: list[tuple[int, int, _Case]] = []
        self._cases = self.programs = self.work = 0
        self._root, nothing = _Case(ends.box, 0), np.zeros(0, dtype=np.int64)
        self._settle(self._root, TimePrices(ends.step, 1, (nothing, nothing)))
        self._program = StartProgram(ends, ends.box, float(ends.limit + 1))

    @property
    def closed(self) -> bool:
        """Whether nothing costs less than the limit."""
        return self.proved >= self.limit

    @property
    def size(self) -> int:
        """How many starts its programs have, 1 or more."""
        return max(1, self._program.size)

    def _walk(self) -> Iterator[_Case]:
        """All cases in preorder."""
        waiting = [self._root]
        while waiting:
            case = waiting.pop()
            yield case
            waiting += reversed(case.parts)

    @property
    def proved(self) -> int:
        """The lower bound of every schedule's cost, in units; the limit if that is less."""
        leaves = (case.bound for case in self._walk() if not case.parts and not case.box.empty)
        return min([self.limit, *leaves])

    def tree(self) -> Tree:
        """The tree that proves it."""
        return Tree(self._multipliers, [Step(tuple(case.by), case.branch) for case in self._walk()])

    def run(self, most: int) -> None:
        """Branch on cases until none is open, or `most` programs were solved."""
        if self._closed(self._root):
            return
        self._solve(self._root)
        self._attain(self._root)
        self._push(self._root)
        while self._open and self.programs < most:
            case: _Case | None = heapq.heappop(self._open)[-1]
            while case is not None and not self._closed(case):
                case = self._parted(case)

    # Cases ----------------------------------------------------------------------------------------------------------

    def _closed(self, case: _Case) -> bool:
        return case.box.empty or case.bound >= self.limit

    def _push(self, case: _Case) -> None:
        self._cases += 1
        heapq.heappush(self._open, (case.bound, self._cases, case))

    def _settle(self, case: _Case, prices: TimePrices) -> None:
        """Bound a case and narrow its box by prices, if they are usable."""
        work = self._ends.work(prices)
        if self._ends.too_large(prices) is None and self.work + work <= MOST_WORK:
            self.work += work
            case.by.append(len(self._multipliers))
            self._multipliers.append(prices)
            case.bound = max(case.bound, self._ends.settle(case.box, prices, self.limit) or case.bound)

    def _solve(self, case: _Case) -> None:
        """Settle a case by prices of its program, repeatedly while that narrows it; by a ray if its box is empty."""
        found = None
        for _ in range(_ROUNDS):
            before = (case.box.upper - case.box.lower).sum()
            found = self._solved(case)
            if found is None or self._closed(case) or before - (case.box.upper - case.box.lower).sum() < _LOST:
                break
        if found is not None and found.outside and not self._closed(case):
            self._solved(case, ray=True)

    def _solved(self, case: _Case, ray: bool = False) -> Late | None:
        """The result of a case's program, by which the case is settled; None if there is none."""
        check()
        self.programs += 1
        found = self._program.solve(case.box, ray)
        if found is not None:
            before = case.box.lower.copy()
            self._settle(case, found.prices)
            parts = case.late if ray else found.late
            width, lost = case.box.upper - case.box.lower, case.box.lower - before
            case.late = [
                late[first : first + more]
                for late, first, more in zip(parts, lost.tolist(), np.maximum(width, 0).tolist(), strict=True)
            ]
        return found

    def _parted(self, case: _Case) -> _Case | None:
        """The cheaper part of a case, while the other one waits; None if there is no branch, or every job is whole.

        It branches on the job with the largest late part, near the end of that part.
        """
        largest, branch = _WHOLE, None
        for job, late in enumerate(case.late):
            lower, upper = int(case.box.lower[job]), int(case.box.upper[job])
            size = float(np.minimum(late, 1 - late).sum()) * self._ends.weights[job]
            if size > largest and lower < upper:
                at = min(upper - 1, max(lower, round(lower + float(late.sum()) - 0.5)))
                largest, branch = size, Branch(job, at)
        if branch is None:
            self._attain(case)
            return None
        parts = tuple(_Case(box, case.bound) for box in case.box.split(*branch))
        for part in parts:
            self._solve(part)
        case.branch, case.parts = branch, parts
        left = sorted((part for part in parts if not self._closed(part)), key=lambda part: part.bound)
        for part in left[1:]:
            self._push(part)
        return left[0] if left else None

    def _attain(self, case: _Case) -> None:
        """Look for a schedule in which each job ends as in the result of a case's program, if there is one."""
        if self._closed(case) or not case.late:
            return
        ends = [int(lower) + round(float(late.sum())) for lower, late in zip(case.box.lower, case.late, strict=True)]
        self.limit = min(self.limit, self._realised(ends))


def ended_by(problem: JobTimes, ends: Ints, most: int) -> Schedule | None:
    """A schedule in which jobs end by given times (microseconds) and each task runs where it is fastest.

    None if the problem's program of these has more than `most` starts, or HiGHS finds nothing within its nodes.
    """
    if (ends < problem.earliest_completions).any():
        return None
    posed = problem.ending(ends)
    table = posed.timetable
    if sum(len(starts) * len(pools) for starts, pools in zip(table.starts, table.pools_of, strict=True)) > most:
        return None
    program = posed.program()
    arrays = as_arrays(without_costs(program.numbers))
    arrays.integer[program.family("ended")] = False  # sums of starts
    found = solve_uninterrupted(arrays, Profile("schedules by ends", node_limit=20))
    return None if found.x is None else posed.decision_of(whole_numbers(found.x), program)


# Windows --------------------------------------------------------------------------------------------------------------
# They prove that the tasks of a kind do not all end so soon, since the data of many is on few nodes; certificates
# recompute what is kept. Prices of nodes are duals of the program that spreads tasks over nodes. Tasks that take the
# same time in an area (a node, a rack, anywhere) meet at a hub, which leads to its nodes. So the number of variables is
# that of replicas, plus hubs times nodes, and not tasks times nodes.

#: The highest price, so that prices can be multiplied by lengths.
_LARGEST = 1000

#: Larger programs are not posed: this many variables take seconds.
_ARCS = 100_000


def latest_window(problem: Makespan, kind: int, low: int, high: int) -> Window | None:
    """A window that rules out an end, the latest by halving; None: no end. The problem must not be plainly infeasible.

    `low` is the first end that is not ruled out, `high` one that is attained; microseconds.
    """
    best, low = None, problem.next_end(max(low, problem.now + 1))
    while low < high:
        middle = problem.next_end((low + high) // 2)
        middle = middle if middle < high else low
        window = Window(kind, middle, node_prices(problem, kind, middle))
        if not too_dear(problem, window) and ruled_out(problem, window):
            best, low = window, problem.next_end(middle + 1)
        else:
            high = middle
    return best


def node_prices(problem: ScheduleProblem, kind: int, end: int) -> Ints:
    """Prices of nodes for which the tasks of a kind need most until an end; 1 everywhere if there are none.

    The same if the program is too large.
    """
    long, room = end - problem.now, problem.room[KINDS[kind]].astype(np.float64)
    nodes, until, _ = problem.running_of(kind)
    np.subtract.at(room, nodes, np.minimum(until - problem.now, long) / long)
    posed = _posed(problem, np.flatnonzero(problem.kind == kind), long, np.maximum(room, 0.0))
    found = None if posed is None else solve_uninterrupted(posed, Profile("prices of nodes")).row_duals
    duals = np.zeros(1) if found is None else np.maximum(-found[-len(room) :], 0.0)
    if duals.max(initial=0.0) <= 0:
        return np.ones(len(room), dtype=np.int64)
    prices: Ints = np.rint(duals * (_LARGEST / duals.max())).astype(np.int64)
    return prices


def _posed(problem: ScheduleProblem, tasks: Ints, long: int, room: Floats) -> LinearProgram | None:
    """The least share of all nodes' room that holds the tasks; rows are tasks, hubs and nodes."""
    usable = room > 0
    arcs: list[tuple[Ints, Ints, Floats]] = []  # the row that a variable takes 1 from, and what it adds to another one
    into_nodes: list[tuple[Ints, Ints, Floats]] = []
    hubs = len(tasks)
    for level in problem.times.near:
        check()
        held, times = level.of_tasks(tasks)
        fits = times <= long
        keys, place = np.unique(np.stack([held.values, times])[:, fits], axis=1, return_inverse=True)
        arcs.append((held.row_of[fits], hubs + place.ravel(), np.full(int(fits.sum()), -1.0)))
        if sum(len(tails) for tails, _, _ in arcs) + len(keys[0]) * int(usable.sum()) ** (len(arcs) > 1) > _ARCS:
            return None
        hub, node = np.nonzero((keys[0][:, None] == level.area[None, :]) & usable)
        into_nodes.append((hubs + hub, node, keys[1][hub] / long))
        hubs += len(keys[0])
    arcs += [(tails, hubs + node, weights) for tails, node, weights in into_nodes]
    tails, heads, weights = (np.concatenate(parts) for parts in zip(*arcs, strict=True))
    count, column = len(tails), np.arange(len(tails))
    rows = np.concatenate([tails, heads, hubs + np.arange(len(room))])
    columns = np.concatenate([column, column, np.full(len(room), count)])
    values = np.concatenate([np.ones(count), weights, -room])
    due = np.append(np.ones(len(tasks)), np.zeros(hubs - len(tasks)))
    return LinearProgram(
        objective=np.append(np.zeros(count), 1.0),
        col_lower=np.zeros(count + 1),
        col_upper=np.full(count + 1, np.inf),
        integer=np.zeros(count + 1, dtype=bool),
        row_lower=np.concatenate([due, np.full(len(room), -np.inf)]),
        row_upper=np.concatenate([due, np.zeros(len(room))]),
        matrix=sp.csr_array((values, (rows, columns)), shape=(hubs + len(room), count + 1)),
    )


# Each job alone on the empty cluster ----------------------------------------------------------------------------------
# By the search of `latency`, first by covers and then exactly. Jobs that may prove most come first. Counts limit the
# work, not a clock: jobs beyond them keep their earlier bound.

#: Tasks, and pairs of a task and a slot with its data, that are examined in total; and the overhead of a job.
_SIZE, _BEGUN = 4_000_000, 8_000

#: Jobs that are examined exactly, and the most tasks and pairs of each.
_EXACT, _LITTLE = 20, 3_000


class AloneSearch:
    """The bounds so far of jobs alone, for a problem that is not plainly infeasible.

    Attributes
    ----------
    ends
        int64, shape (jobs,): the proved earliest end of each job, in microseconds.
    entries
        By job: its entry of a certificate (`alone_entry`); not for jobs for which counting proves as much.
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem = problem
        self.ends = problem.earliest_completions.copy()
        self.entries: dict[int, Mapping[str, Any]] = {}
        self._jobs = JobsAlone(problem)
        self._searches: dict[int, tuple[JobAlone, LatencySearch]] = {}

    @property
    def bound(self) -> Bound:
        """The bound of all jobs, each alone: on the last end, or on the sum of their times."""
        problem = self.problem
        if isinstance(problem, JobTimes):
            value = problem.total(self.ends)
            meaning = "sum of job times, each job alone on the empty cluster, near and far from its data"
        else:
            value = seconds(int(self.ends.max(initial=problem.now)) - problem.now)
            meaning = "makespan, of one job on the empty cluster"
        return Bound("job-alone", problem.components[0].name, value, meaning, "Agosta et al., note 3")

    @property
    def proofs(self) -> list[Mapping[str, Any]]:
        """The entries that a certificate needs: all of them; for `makespan` only that of the job that ends last."""
        if not isinstance(self.problem, Makespan):
            return [entry for _, entry in sorted(self.entries.items())]
        last = int(np.argmax(self.ends)) if len(self.ends) else -1
        return [self.entries[last]] if last in self.entries else []

    def by_covers(self) -> None:
        """Bound each job by matchings and counting, as l_flow of `latency`."""
        left = _SIZE
        for job in self._promising():
            size = self._jobs.size(job)
            left -= size + _BEGUN
            if left < 0:
                return
            if self._gains()[job] > 0:
                check()
                alone = self._jobs.posed(job)
                assert alone is not None  # a job that may gain something has maps, and slots for them
                search = LatencySearch(alone.posed, Profile("alone"), relaxation)
                self._keep(alone, search.makespan_certificate(search.flow_bound()))
                if size <= _LITTLE:
                    self._searches[job] = alone, search

    def exactly(self) -> None:
        """Bound jobs by the optimum of `latency`, if a cover or prices prove it; those that may gain most first."""
        promising = [job for job in self._promising() if job in self._searches]
        for job in promising[:_EXACT]:
            if self._gains()[job] > 0:
                alone, search = self._searches[job]
                self._keep(alone, search.makespan_certificate(search.first_feasible().limit))

    def _gains(self) -> Ints:
        """By how much each job (for `makespan`: all of them) may end later than is proved; microseconds."""
        proved = self.ends.max(initial=self.problem.now) if isinstance(self.problem, Makespan) else self.ends
        return np.asarray(self._jobs.latest - proved)

    def _promising(self) -> list[int]:
        """Jobs that alone may end later than is proved; those that may gain most come first."""
        gain = self._gains()
        weights = np.array(self.problem.job_weights, dtype=np.float64)
        order: list[int] = np.argsort(-gain * weights, kind="stable").tolist()
        return [job for job in order if gain[job] > 0 and weights[job] > 0]

    def _keep(self, alone: JobAlone, proof: Certificate) -> None:
        """Keep a proof that says more about its job than is known; not a solver's claim."""
        if not proof.kind.checkable:
            return
        entry = alone_entry(self.problem, alone, proof)
        end = end_alone(self.problem, alone, entry)
        if end > self.ends[alone.job]:
            self.ends[alone.job], self.entries[alone.job] = end, entry
