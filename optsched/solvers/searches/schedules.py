"""`makespan` and `job-times`: bounds from the cheapest on, schedules from the quickest on, until the two meet.

Each job in turn is placed around the others (`job_placing`). What is searched is the order of jobs: by arrival and by
work, as the jobs would end at the prices of slots, and by exchanges from the best one on.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from optsched.certificates.schedules import (
    alone_entry,
    cases_certificate,
    counting_certificate,
    end_alone,
    end_certificate,
)
from optsched.core.deadline import check
from optsched.core.errors import TooLarge
from optsched.core.instance import KINDS, Bools, Floats, Ints
from optsched.core.placement import MICRO, Schedule, seconds
from optsched.core.results import Bound, Certificate, Number
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_bounds import JobAlone, JobEnds, JobsAlone, Window, counted, ruled_out, tails, too_short
from optsched.problems.schedules import ScheduleProblem
from optsched.solvers.answers import LinearProgram
from optsched.solvers.highs import solve_uninterrupted
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.job_ends import EndTree, ended_by, fine_enough, latest_priced
from optsched.solvers.searches.job_placing import JobPlacing, job_orders
from optsched.solvers.searches.latency import LatencySearch
from optsched.solvers.searches.latency_program import relaxation

# Windows --------------------------------------------------------------------------------------------------------------
# By these the tasks of a kind do not all end so soon; certificates recompute what is kept. With a function of lengths a
# window is exact to the microsecond, where prices of slots by time round to a step. With prices of nodes it shows that
# the data of many tasks is on few nodes. These prices are duals of the program that spreads tasks over nodes. Tasks
# that take the same time in an area (a node, a rack, anywhere) meet at a hub, from which they go on to its nodes. So
# there are as many variables as replicas, and hubs times nodes, and not tasks times nodes.

#: Prices are up to this, so that they can be multiplied by lengths.
_LARGEST = 1000

#: Larger programs are not posed: this many variables take seconds.
_ARCS = 100_000

#: Functions of lengths, and the most beginnings, that are tried.
_FUNCTIONS, _BEGINNINGS = range(4), 8


def latest_window(problem: Makespan, kind: int, low: int, high: int) -> Window | None:
    """A window that rules out an end, by halves the latest; None: no end. The problem is not plainly infeasible.

    `low` is the first end that is not ruled out, `high` one that is attained; microseconds.
    """
    best, low = None, problem.next_end(max(low, problem.now + 1))
    while low < high:
        middle = problem.next_end((low + high) // 2)
        middle = middle if middle < high else low
        usable = (window for window in _windows(problem, kind, middle) if too_short(window) is None)
        window = next((window for window in usable if ruled_out(problem, window)), None)
        if window is not None:
            best, low = window, problem.next_end(middle + 1)
        else:
            high = middle
    return best


def _windows(problem: Makespan, kind: int, end: int) -> Iterator[Window]:
    """Windows up to an end: from the snapshot and some releases on by functions of lengths, then at prices of nodes."""
    begins = np.unique(np.append(problem.earliest_starts[problem.kind == kind], problem.now))
    chosen = np.unique(np.linspace(0, len(begins) - 1, _BEGINNINGS).round().astype(np.int64))
    for begin in begins[chosen].tolist():
        for function in _FUNCTIONS if begin < end else ():
            yield Window(kind, begin, end, function=function)
    posed = Window(kind, problem.now, end)
    prices = node_prices(problem, posed)
    if prices is not None:
        yield posed._replace(prices=prices)


def node_prices(problem: ScheduleProblem, window: Window) -> Ints | None:
    """Prices of nodes by which the tasks of a window need most; None where there are none, or the program is too large.

    Lengths count as they are: function and prices of the window do not matter.
    """
    long, room = window.end - window.begin, problem.room[KINDS[window.kind]].astype(np.float64)
    nodes, until, _ = problem.running_of(window.kind)
    np.subtract.at(room, nodes, np.clip(until - window.begin, 0, long) / long)
    posed = _posed(problem, np.flatnonzero(counted(problem, window)), long, np.maximum(room, 0.0))
    if posed is None:
        return None
    found = solve_uninterrupted(posed, Profile("prices of nodes"))
    if found.row_duals is None:
        return None
    duals = np.maximum(-found.row_duals[-len(room) :], 0.0)
    if duals.max(initial=0.0) <= 0:
        return None
    prices: Ints = np.rint(duals * (_LARGEST / duals.max())).astype(np.int64)
    return prices


def _posed(problem: ScheduleProblem, tasks: Ints, long: int, room: Floats) -> LinearProgram | None:
    """The least part of all nodes' room that holds the tasks; rows are tasks, hubs and nodes."""
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
# By the search of `latency`, by covers first and then exactly. Jobs that may prove most come first. Work is limited by
# counts, not by a clock: what is beyond them counts as before.

#: Tasks, and pairs of a task and a slot with its data, that are looked at in all; and what beginning a job counts as.
_SIZE, _BEGUN = 4_000_000, 8_000

#: Jobs that are looked at exactly, and the most tasks and pairs of each.
_EXACT, _LITTLE = 20, 3_000


class AloneSearch:
    """The bounds so far of jobs alone, of a problem that is not plainly infeasible.

    Attributes
    ----------
    ends
        int64, shape (jobs,): microseconds at which each job ends at the earliest.
    entries
        By job: what a certificate holds of it (`alone_entry`); not for jobs where counting proves as much.
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem = problem
        self.ends = problem.earliest_completions.copy()
        self.entries: dict[int, Mapping[str, Any]] = {}
        self._jobs = JobsAlone(problem)
        self._searches: dict[int, tuple[JobAlone, LatencySearch]] = {}

    @property
    def bound(self) -> Bound:
        """The bound of all jobs, each alone: of the last end, or of the sum of their times."""
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
        """The entries that a certificate needs: all of them, or for `makespan` that of the job that ends last."""
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
        """Bound jobs by the optimum of `latency`, where it is proved by a cover or prices; those that may gain most."""
        promising = [job for job in self._promising() if job in self._searches]
        for job in promising[:_EXACT]:
            if self._gains()[job] > 0:
                alone, search = self._searches[job]
                self._keep(alone, search.makespan_certificate(search.first_feasible().limit))

    def _gains(self) -> Ints:
        """How much later than is proved each job may end, or of `makespan` all of them; microseconds."""
        proved = self.ends.max(initial=self.problem.now) if isinstance(self.problem, Makespan) else self.ends
        return np.asarray(self._jobs.latest - proved)

    def _promising(self) -> list[int]:
        """Jobs that alone may end later than is proved, those first that may gain most."""
        gain = self._gains()
        weights = np.array(self.problem.job_weights, dtype=np.float64)
        order: list[int] = np.argsort(-gain * weights, kind="stable").tolist()
        return [job for job in order if gain[job] > 0 and weights[job] > 0]

    def _keep(self, alone: JobAlone, proof: Certificate) -> None:
        """Hold a proof that says more of its job than is known; not a solver's word."""
        if not proof.kind.checkable:
            return
        entry = alone_entry(self.problem, alone, proof)
        end = end_alone(self.problem, alone, entry)
        if end > self.ends[alone.job]:
            self.ends[alone.job], self.entries[alone.job] = end, entry


# The search -----------------------------------------------------------------------------------------------------------

#: The most exchanges that are tried for each job, and the most in a row that gain nothing.
_EXCHANGES, _PATIENCE = 400, 60

#: Placements of tasks in all: fewer exchanges are tried of large problems.
_PLACEMENTS = 600_000

#: How far a limit of cases is from what is proved towards the best schedule; and the starts of their programs in all.
_SHARE, _STARTS = Fraction(1, 4), 8_000_000

#: The most tasks with which a program over nodes is posed; with more a tree first looks for schedules, by these starts.
_SMALL, _DIVES = 500, 1_500_000

#: Ends of jobs for which schedules are looked for; and the most variables of programs over nodes.
_ENDS, _VARIABLES = 25, 8_000

#: Orders that are tried at random from the end on.
_NOISY = 200

#: From this share of maps on reduces are taken to begin after all of them.
_LATE = 0.5


class ScheduleSearch:
    """The best schedule, or None, and a proof of the best bound so far; `run` goes on until they meet.

    The problem is not plainly infeasible; the search may begin with a schedule.
    """

    def __init__(self, problem: ScheduleProblem, start: Schedule | None = None) -> None:
        self.problem: Any = problem  # a makespan or job times: each stage is of one of them, or of both
        self.best: Any = None  # a schedule
        self.value: Any = None  # a number from the first schedule on
        self.proof: Certificate = counting_certificate(problem)
        self._chance = random.Random(0)
        self._order: tuple[list[int], Bools] = list(range(len(problem.jobs))), np.zeros(len(problem.jobs), dtype=bool)
        self._placed: Number | None = None
        self._tried: set[tuple[int, ...]] = set()
        self._priced: Any = None  # a `PricedTime` of jobs with some weight
        self._realised_ends: set[tuple[int, ...]] = set()
        self._longest = np.zeros(len(problem.jobs), dtype=np.int64)
        np.maximum.at(self._longest, problem.jobs.of_task[problem.tasks], problem.least_times)
        self._alone = AloneSearch(problem)
        if start is not None:
            self._try(start)

    @property
    def closed(self) -> bool:
        """Whether the best schedule is proved to be one."""
        return self.value is not None and self.value <= self.proof.claim

    def run(self) -> None:
        """Search until bound and schedule meet, or all has been tried; OutOfTime at a deadline."""
        for _, step in self.stages():
            if self.closed:
                return
            step()

    def stages(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """The stages in order, each by a name; a stage may be left out, but not what comes before it."""
        yield "orders", self._by_orders
        yield "jobs alone", self._by_jobs_alone
        if isinstance(self.problem, JobTimes):
            yield "prices by time", self._by_prices
            yield "cases of ends", self._by_cases
        else:
            yield "prices by time", self._by_end_prices
            yield "windows", self._by_windows
            yield "halving", self._by_halving
        yield "exchanges", self._by_exchanges

    # Schedules ----------------------------------------------------------------------------------------------------

    def _try(self, schedule: Schedule) -> Number:
        """Hold a schedule if it is the best; its value."""
        value: Number = self.problem.evaluate(schedule)[0]
        if self.value is None or value < self.value:
            self.best, self.value = schedule, value
        return value

    def _by_orders(self) -> None:
        """Jobs by arrival, by work, and by when they would end were all slots theirs from their arrival on."""
        self._placing = JobPlacing(self.problem)
        for order in job_orders(self.problem):
            for packed in (False, True):
                self._place(order, np.full(len(order), packed))
                if self.closed:
                    return

    def _place(self, order: Sequence[int], packed: Bools) -> bool:
        """Place jobs in an order, and keep the order if none was better; whether it is kept."""
        check()
        tried = (*order, *packed.tolist())
        if tried in self._tried:
            return False
        self._tried.add(tried)
        value = self._try(self._placing.schedule(order, packed))
        if self._placed is not None and value > self._placed:
            return False
        self._order, self._placed = (list(order), packed), value
        return True

    def _by_halving(self) -> None:
        """All maps by one time, which is halved between what is proved and what is held; for `makespan`.

        Jobs go from the end on: the last to arrive first, or the longest, and then at random around that.
        """
        problem, longest = self.problem, self._longest
        release = np.maximum(problem.jobs.arrival, problem.now)
        after = tails(problem) if problem.parameters["slowstart"] > _LATE else np.zeros_like(longest)
        keys = [release - after, release + longest - after, release - longest, longest - after]
        for key in keys:
            for packed in (True, False):
                self._halve(np.argsort(-key, kind="stable").tolist(), packed, after)
        spread = int(longest.max(initial=0))
        for number in range(min(_NOISY, _PLACEMENTS // (10 * len(problem.tasks)))):
            noise = np.array([self._chance.randint(-spread, spread) for _ in range(len(longest))], dtype=np.int64)
            order = np.argsort(-(keys[number % len(keys)] + noise), kind="stable").tolist()
            self._halve(order, number % 8 < 4, after, once=True)

    def _halve(self, order: list[int], packed: bool, after: Ints, once: bool = False) -> None:
        """Try an order by one time after another, or go on only while each is kept, a step before the best."""
        problem, step = self.problem, self.problem.lattice
        low = problem.now + int(self.proof.claim * MICRO) - step
        high = problem.now + int(self.value * MICRO)
        while high - low > step and not self.closed:
            middle = high - step if once else min(problem.next_end((low + high) // 2), high - step)
            schedule = self._placing.within(order, packed, (middle - after).tolist())
            value = None if schedule is None else self._try(schedule)
            if value is not None and problem.now + value * MICRO <= middle:
                high = problem.now + int(value * MICRO)
            elif once:
                return
            else:
                low = middle

    def _by_exchanges(self) -> None:
        """Move jobs within the best order, and let them take slots the other way, at random; the seed is fixed."""
        chance, jobs, idle = self._chance, len(self.problem.jobs), 0
        number = min(_EXCHANGES * jobs, _PLACEMENTS // (10 * jobs + len(self.problem.tasks) + 1))
        for _ in range(number):
            order, packed, before = list(self._order[0]), self._order[1].copy(), self._placed
            for _ in range(chance.choice([1, 1, 2])):
                place = chance.randrange(jobs)
                other = place + chance.choice([-1, 1]) * min(chance.randrange(1, 1 + jobs), chance.randrange(1, 6))
                order.insert(max(0, min(jobs - 1, other)), order.pop(place))
            if chance.random() < 0.3:
                job = chance.randrange(jobs)
                packed[job] = not packed[job]
            self._place(order, packed)
            idle = idle + 1 if self._placed == before else 0
            if self.closed or idle > _PATIENCE * jobs:
                return

    # Proofs -------------------------------------------------------------------------------------------------------

    def _prove(self, proof: Certificate) -> None:
        if proof.claim > self.proof.claim:
            self.proof = proof

    def _by_jobs_alone(self) -> None:
        """Each job alone on the empty cluster, near its data and far from it: by covers, and then exactly."""
        alone = self._alone
        for step in (alone.by_covers, alone.exactly):
            step()
            self._prove(counting_certificate(self.problem, alone.proofs))
            if self.closed:
                return

    def _by_end_prices(self) -> None:
        """Prices of slots by time, by which not all tasks end so soon."""
        problem = self.problem
        found = latest_priced(problem, problem.now + int(self.proof.claim * MICRO), self.best)
        if found is not None:
            self._prove(end_certificate(problem, *found))

    def _by_windows(self) -> None:
        """Windows in which tasks need more than there is, by functions of lengths or by prices of crowded nodes."""
        problem = self.problem
        claimed, until = (problem.now + int(time * MICRO) for time in (self.proof.claim, self.value))
        for kind in sorted(set(problem.kind.tolist())):
            found = latest_window(problem, kind, claimed, until)
            if found is not None:
                self._prove(counting_certificate(problem, window=found))

    def _by_prices(self) -> None:
        """Prices of slots by time: a tree of one case, up to what the best schedule costs."""
        if isinstance(self.problem, JobTimes) and any(self.problem.weights):
            self._priced = fine_enough(self.problem, self.best, self._alone.ends)
            self._grown(self.value, 1)

    def _by_cases(self) -> None:
        """Trees of cases by jobs' ends, for one limit after another, up to what the best schedule costs."""
        if self._priced is None:
            return
        starts, closed = _STARTS, True
        if len(self.problem.tasks) > _SMALL:
            starts -= self._grown(self.value, _DIVES)[1]
        while closed and not self.closed and starts > 0:
            limit = self.proof.claim + (self.value - self.proof.claim) * _SHARE
            closed, used = self._grown(limit, starts)
            starts -= used

    def _grown(self, limit: Number, starts: int) -> tuple[bool, int]:
        """Grow a tree up to a limit in seconds, while its programs have at most `starts` starts in all.

        It returns whether the tree is closed, and how many starts its programs had.
        """
        problem, priced, alone = self.problem, self._priced, self._alone
        wanted, most = (priced.limit_of(goal) for goal in (limit, self.value))
        wanted = min(max(wanted, priced.limit_after(self.proof.claim)), most)
        tree = EndTree(JobEnds(problem, priced.step, wanted, alone.ends), self._realised)
        try:
            tree.run(starts // tree.size)
        finally:
            if tree.proved > 0:
                self._prove(cases_certificate(problem, priced.step, tree.proved, tree.tree(), alone.proofs))
        return tree.closed, max(1, tree.programs) * tree.size

    def _realised(self, ends: list[int]) -> int:
        """Look for schedules whose jobs end by given steps; what the best of all costs after that, in units."""
        problem, priced, by = self.problem, self._priced, np.array(ends)
        if len(self._realised_ends) < _ENDS and tuple(ends) not in self._realised_ends:
            self._realised_ends.add(tuple(ends))
            longest = self._longest // priced.step
            for key in (by, by - longest, 2 * by - longest):
                order = np.argsort(key, kind="stable").tolist()
                for packed in (False, True):
                    self._place(order, np.full(len(order), packed))
            if priced.step == problem.lattice and len(problem.tasks) <= _SMALL:
                with suppress(TooLarge):
                    placed = ended_by(problem, problem.now + by * priced.step, _VARIABLES)
                    if placed is not None:
                        self._try(placed)
        return int(priced.limit_of(self.value))
