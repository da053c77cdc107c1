"""`utility` with `phase=by-maps` exactly: the thresholds of `optsched.searches.utility`, with reduces by level.

What a reduce takes there grows with its job's placed maps, wherever they are. At a given number of maps it is an item
like any other, and a node is packed by itself. So a job chooses one of several levels, and each level has reduces of
its own (`optsched.problems.utility_levels`). For a lowest utility only some numbers of maps matter: those with which
fewer reduces are needed than with one map less. For the utilisation all do. Where there are many, the linear program
takes some of them as levels, and counts a reduce at what it takes at the first number of its level. Its prices still
prove a bound. Placements are packed with one number of maps chosen for each job, and the exact program has all numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from optsched.certificates.utility import (
    level_utilisation_certificate,
    level_utility_certificate,
    utility_certificate,
)
from optsched.instance import MAP, REDUCE, Ints
from optsched.placement import Placement
from optsched.problems.utility import Allocation, Utility
from optsched.problems.utility_columns import TaskPrices
from optsched.problems.utility_levels import LevelPrices, Levels
from optsched.results import Certificate, Limit
from optsched.searches.utility import Decider, UtilitySearch
from optsched.searches.utility_choices import most_by_choices
from optsched.searches.utility_patterns import (
    USE_SCALE,
    Packing,
    Patterns,
    Relaxation,
    least_shortage,
    most_use,
)
from optsched.searches.utility_program import (
    MOST_COLUMNS,
    allocation_of,
    counts_of,
    exact_patterns,
    solve_integer_program,
)
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = ["ByMapsSearch", "every_level", "utility_search"]

#: A job has at most so many levels in a linear program.
MOST_LEVELS = 12


def utility_search(
    problem: Utility,
    profile: Profile,
    start: Placement | None = None,
    decide: Decider | None = None,
    shortcuts: bool = True,
) -> UtilitySearch:
    """The search that the problem takes, with the parameters of `UtilitySearch`."""
    search = ByMapsSearch if problem.coupled else UtilitySearch
    return search(problem, profile, start, decide, shortcuts)


def every_level(problem: Utility, units: int) -> Levels:
    """Each number of maps a level of its own."""
    return Levels.of(problem, units, [range(int(maps) + 1) for maps in problem.pending_maps])


class ByMapsSearch(UtilitySearch):
    """As `UtilitySearch`, for problems that are `coupled`.

    Free reduces are first left where RAS spreads them. What is packed beside these, without an exact program and within
    a quarter of the time, is the placement to begin with.
    """

    def _run(self) -> None:
        problem = self.problem
        zeros = np.zeros(len(problem.jobs), dtype=np.int64)
        self.certificates = (utility_certificate(problem, zeros, zeros),)
        if self.shortcuts and problem.fixed is None:
            spread = Utility(problem.instance, **{**problem.parameters, "reduces": "fixed"})
            profile = self._within()
            if profile.time_limit is not None:
                profile = profile.with_limits(time_limit=profile.time_limit / 4)
            search = ByMapsSearch(spread, profile, decide=lambda *_: None)
            search._run()
            self._keep(counts_of(problem, search.placement))
            if search.limit is Limit.INTERRUPTED:
                self.limit = search.limit
                return
        super()._run()

    def _short(self, units: int) -> Relaxation:
        packing = Packing.by_levels(self.problem, self._levels(units, use=False), use=False)
        if (packing.room < 0).any():  # fixed reduces take more than there is
            nothing = np.zeros(len(packing.items.limit), dtype=np.int64)
            return Relaxation(packing, Patterns(), False, nothing, np.zeros(0), nothing, nothing[:0])
        return least_shortage(packing, Patterns(), self._within())

    def _rules_out(self, units: int, packing: Packing, prices: Ints) -> Certificate:
        return level_utility_certificate(self.problem, units, self._prices(packing, prices))

    def _used_most(self, units: int) -> tuple[Relaxation, Certificate]:
        packing = Packing.by_levels(self.problem, self._levels(units, use=True), use=True)
        patterns = Patterns()
        for kind, counts in zip(packing.node_type.tolist(), self._unfolded(packing).T, strict=True):
            patterns.add(kind, counts)
        found = most_use(packing, patterns, self._within())
        self._used_prices = prices = self._prices(packing, found.prices)
        return found, level_utilisation_certificate(self.problem, units, prices, USE_SCALE)

    def _by_columns(self, units: int, given: TaskPrices) -> bool:
        """Whether a tree over choices of counts proves the utilisation that is held, or one that they lead to."""
        proof = most_by_choices(
            self.problem, units, self._used_prices, self.used(self.counts), self._packed_choice, self._within()
        )
        if proof is not None:
            self.certificates = (self.certificates[0], proof)
        return proof is not None

    def _packed_choice(self, relaxation: Relaxation) -> int:
        """Pack counts that are chosen, if that goes; the utilisation that is held then."""
        self._keep(self._rounded(relaxation))
        before = self.used(self.counts)
        _, found = self._known_patterns(relaxation, use=False)
        if found is not None:
            self._keep(found)
        return max(before, self.used(self.counts))

    def _settled(self, units: int, relaxation: Relaxation, use: bool) -> Relaxation | None:
        levels = relaxation.packing.levels
        assert levels is not None
        if relaxation.limit is not None or not len(relaxation.chosen):
            return None
        chosen, fixed = relaxation.chosen, self.problem.fixed is not None
        # One range for each job, with its reduces at what they take beside the most maps that it may get there.
        maps = (levels.most if use else levels.fewest)[chosen]
        every = np.arange(len(chosen))
        one = Levels(
            item_job=every[:0] if fixed else every,
            item_maps=maps[:0] if fixed else maps,
            job=every,
            item=np.full_like(every, -1) if fixed else every,
            fewest=levels.fewest[chosen],
            most=levels.most[chosen],
            reduces=levels.reduces[chosen],
            least=maps,
        )
        packing = Packing.by_levels(self.problem, one, use)
        if (packing.room < 0).any():
            return None
        found = least_shortage(packing, Patterns(), self._within())
        if found.feasible and use:
            found = most_use(packing, found.patterns, self._within())
        return found if found.feasible else None

    def _levels(self, units: int, use: bool) -> Levels:
        """Levels for a linear program: `MOST_LEVELS` of those that matter, if there are more."""
        starts: list[list[int]] = []
        for job in range(len(self.problem.jobs)):
            maps, reduces = self.problem.least_reduces(job, units)
            matter = maps if use else maps[np.flatnonzero(np.diff(reduces, prepend=reduces[0] + 1))]
            few = np.linspace(0, len(matter) - 1, min(len(matter), MOST_LEVELS)).astype(np.int64)
            starts.append(matter[few].tolist())
        return Levels.of(self.problem, units, starts)

    def _prices(self, packing: Packing, prices: Ints) -> LevelPrices:
        """The prices of the packing's items, as a certificate has them."""
        levels, jobs = packing.levels, len(self.problem.jobs)
        assert levels is not None
        reduces: list[dict[int, int]] = [{} for _ in range(jobs)]
        for job, maps, price in zip(levels.item_job, levels.item_maps, prices[jobs:], strict=True):
            reduces[job][int(maps)] = int(price)
        return LevelPrices(prices[:jobs], reduces)

    def _unfolded(self, packing: Packing) -> Ints:
        """What is held as counts of the packing's items by node."""
        levels, jobs = packing.levels, len(self.problem.jobs)
        assert levels is not None
        counts = np.zeros((len(packing.items.limit), len(packing.room)), dtype=np.int64)
        counts[:jobs] = self.counts[:jobs]
        if self.problem.fixed is None:
            placed = self.counts[:jobs].sum(axis=1)[levels.job]
            within = np.flatnonzero((levels.fewest <= placed) & (placed <= levels.most))
            counts[jobs + levels.item[within]] = self.counts[jobs + levels.job[within]]
        return counts

    def _fill(self) -> None:
        """Add tasks where there is room left, of the job and kind first that use most: as many as fit."""
        problem = self.problem
        counts = Allocation(*(part.copy() for part in allocation_of(problem, self.counts)))
        kinds = [(MAP, problem.map_share, problem.pending_maps)]
        if problem.fixed is None:
            kinds.append((REDUCE, problem.reduce_share, problem.pending_reduces))
        rows = [(int(share[job].max()), kind, job) for kind, share, _ in kinds for job in range(len(problem.jobs))]
        for _, kind, job in sorted(rows, reverse=True):
            waiting = int(kinds[kind][2][job] - counts[kind][job].sum())
            found = bisect_left(
                range(1, waiting + 1), True, key=lambda more: self._more(counts, kind, job, more) is None
            )
            added = self._more(counts, kind, job, found) if found else None
            if added is not None:
                counts[kind][job] += added
        held = np.concatenate(counts)
        if problem.fixed is not None:
            held[len(problem.jobs) :] = 0
        self._keep(held)

    def _more(self, counts: Allocation, kind: int, job: int, more: int) -> Ints | None:
        """Where so many tasks more of a job fit beside the counts, by node; None where they do not."""
        problem = self.problem
        placed = counts.maps.sum(axis=1)
        placed[job] += more if kind == MAP else 0
        free = problem.free - problem.used(counts, placed)
        demand = (
            problem.demand_map[job] if kind == MAP else problem.demand_reduce[job] + problem.grown[job][placed[job]]
        )
        taking = demand > 0
        if (free < 0).any():
            return None
        fits = (free[:, taking] // demand[taking]).min(axis=1, initial=more)
        upto = np.minimum(np.cumsum(fits), more)
        return np.diff(upto, prepend=0) if len(upto) and upto[-1] == more else None

    # Exact programs ---------------------------------------------------------------------------------------------------

    def _exact_program(
        self, problem: Utility, units: int, use: bool, profile: Profile, start: Ints | None
    ) -> tuple[SolverOutcome, Ints | None] | None:
        levels = every_level(problem, units) if use else Levels.of(problem, units)
        packing = Packing.by_levels(problem, levels, use, taken=use)
        patterns = exact_patterns(packing)
        return None if patterns is None else solve_integer_program(problem, packing, patterns, profile, use, start)

    @cached_property
    def exact_patterns(self) -> dict[int, Ints] | None:
        packing, _ = self.at_steps([self.problem.lowest_units], use=True)
        return {} if len(packing.items.limit) * len(packing.room) <= MOST_COLUMNS else None

    def at_steps(self, steps: Sequence[int], use: bool) -> tuple[Packing, Ints]:
        parts = [every_level(self.problem, units) for units in steps]
        levels = parts[0]
        if self.problem.fixed is None:
            # Those of the lowest step have all numbers of maps; a job whose reduces do not grow has one item.
            pairs = zip(levels.item_job.tolist(), levels.item_maps.tolist(), strict=True)
            item_of = {pair: item for item, pair in enumerate(pairs)}
            for number, part in enumerate(parts):
                own = zip(part.item_job.tolist(), part.item_maps.tolist(), strict=True)
                items = np.array([item_of.get((job, maps), item_of[job, 0]) for job, maps in own], dtype=np.int64)
                parts[number] = replace(part, item=items[part.item])
        ranges = ("job", "item", "fewest", "most", "reduces")
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ranges}
        height = np.repeat(steps, [len(part.job) for part in parts])
        return Packing.by_levels(self.problem, replace(levels, **joined), use, taken=True), height
