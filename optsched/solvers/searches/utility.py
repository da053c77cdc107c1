"""`utility` exactly: thresholds on the lowest utility from both sides, then the most utilisation at the highest.

From above, the linear program over patterns rules thresholds out, and its prices prove it in integers. From below, the
fractions are rounded, what is left is packed greedily, and an integer program over the known patterns, and then over
drawn ones, is given a few nodes; then the exact program. The utilisation is treated in the same way, and its proof may
be a tree over the patterns that the prices leave. What is open then is for `optsched.routes.programs`.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, replace

import numpy as np

from optsched.certificates.utility import utilisation_certificate, utility_certificate
from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.core.results import Certificate, Limit
from optsched.problems.base import GRID
from optsched.problems.utility import LEAST_FINITE, Utility
from optsched.problems.utility_program import TaskPrices, UtilityProgram
from optsched.solvers.answers import STOPPED, SolverOutcome, stopped
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.utility_patterns import (
    USE_SCALE,
    Patterns,
    Relaxation,
    best_patterns,
    fractions,
    is_too_large,
    most_utilisation,
    solve_packing,
    vary,
)

#: Branch-and-bound nodes for the programs over known patterns, which may well have no solution.
_NODES_OF_A_TRY = 500

#: What ends the search; the few nodes of a try do not.
_STOPPING = (Limit.INTERRUPTED, Limit.TIME, Limit.MEMORY)

#: Of patterns that are worth the same at the prices, those of large tasks go first, since small ones fill what is left.
_TIE = 1e-3


@dataclass
class UtilitySearch:
    """The search for one problem; after `run` it holds placement, certificates, and why it stopped.

    `profile`: limits; a time limit holds for the search as a whole. `start`: a feasible placement to begin from.
    """

    problem: Utility
    profile: Profile
    start: Placement | None = None

    def __post_init__(self) -> None:
        problem = self.problem
        self.items = problem.items
        self.patterns = Patterns()
        self.limit: Limit | None = None
        self.certificates: tuple[Certificate, ...] = ()
        self._began = time.perf_counter()
        #: Prices of tasks at the lowest threshold that was ruled out.
        self._scarce: Ints = np.zeros(len(self.items.limit), dtype=np.int64)
        self.counts: Ints = np.zeros((len(self.items.limit), len(problem.node_type)), dtype=np.int64)
        if self.start is not None:
            self.counts = problem.items_on(self.start)

    # What is held -----------------------------------------------------------------------------------------------------

    @property
    def placement(self) -> Placement:
        """The best placement so far."""
        return self.problem.placed(self.counts)

    def lowest(self, counts: Ints) -> int:
        """The lowest utility that counts give, in units."""
        maps, reduces = np.split(counts.sum(axis=1), 2)
        fixed = self.problem.fixed
        units = self.problem.utility_units(maps, reduces if fixed is None else fixed.sum(axis=1))
        return int(units.min(initial=self.problem.saturated_units))

    def used(self, counts: Ints) -> int:
        """The utilisation of the counts, in units, without fixed reduces."""
        return int((counts * self.items.share[:, self.problem.node_type]).sum())

    # The search -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Search. Ctrl-C leaves what is held and proved by then."""
        try:
            self._run()
        except STOPPED as error:
            self.limit = stopped(error)[0]

    def _run(self) -> None:
        jobs = len(self.problem.jobs)
        zeros = np.zeros(jobs, dtype=np.int64)
        best = utility_certificate(self.problem, zeros, zeros)
        self.certificates = (best,)
        if not jobs:
            self.certificates = (best, utilisation_certificate(self.problem, 0, zeros, zeros, 1))
            return
        best, relaxation = self._ruled_out(best)
        self.certificates = (best,)
        ceiling = int(best.claim * GRID)
        self._pack_downwards(ceiling, relaxation)
        if self.lowest(self.counts) == ceiling:
            self._use(ceiling)
        else:
            self._fill()

    def _ruled_out(self, best: Certificate) -> tuple[Certificate, Relaxation | None]:
        """The strongest bound that prices prove, and the relaxation at the highest threshold that is not ruled out."""
        problem = self.problem
        low, high = LEAST_FINITE - 1, problem.saturated_units
        held: Relaxation | None = None
        while high >= LEAST_FINITE and (held is None or problem.utility_below(high) >= low):
            middle = max((low + high + 1) // 2, LEAST_FINITE)
            found = self._short(middle)
            if found.feasible is None:
                self.limit = found.limit
                return best, held
            if found.feasible:
                low, held = middle, found
                continue
            self._scarce = found.prices
            prices = found.prices // max(1, int(np.gcd.reduce(found.prices)))
            certificate = utility_certificate(problem, *np.split(prices, 2))
            proved = int(certificate.claim * GRID)
            if certificate.claim < best.claim:
                best = certificate
            high = min(problem.utility_below(middle), proved)
        return best, held

    def _pack_downwards(self, ceiling: int, relaxation: Relaxation | None) -> None:
        """Try to pack thresholds from the ceiling down, in growing steps, until one is held."""
        threshold, step = ceiling, 1
        while relaxation is not None and threshold > self.lowest(self.counts) and self.limit is None:
            if self._pack(threshold, relaxation, threshold == ceiling):
                return
            for _ in range(step):
                threshold = self.problem.utility_below(threshold)
            step *= 2
            relaxation = self._short(threshold)

    def _short(self, units: int) -> Relaxation:
        """How short fractions of patterns are of what a lowest utility needs."""
        return fractions(self.problem, units, self.patterns, self._within(), use=False)

    def _used_most(self, units: int) -> tuple[Relaxation, Certificate]:
        """The most utilisation of fractions of patterns at a lowest utility that is held, and what it proves."""
        jobs = len(self.problem.jobs)
        for kind, counts in zip(self.problem.node_type.tolist(), self.counts.T, strict=True):
            self.patterns.add(kind, counts)
        found = fractions(self.problem, units, self.patterns, self._within(), use=True)
        prices = found.prices[:jobs], found.prices[jobs:]
        return found, utilisation_certificate(self.problem, units, *prices, USE_SCALE)

    # Thresholds -------------------------------------------------------------------------------------------------------

    def _pack(self, threshold: int, relaxation: Relaxation, thoroughly: bool) -> bool:
        """Try to hold a threshold: round the fractions, else ask the program over known patterns, drawn ones, all."""
        counts = self._rounded(relaxation)
        if self.lowest(counts) < threshold:
            self._keep(counts)
            outcome, known = self._known_patterns(relaxation, use=False)
            if known is None and thoroughly and outcome.limit not in _STOPPING:
                outcome, known = self._known_patterns(self._varied(relaxation), use=False)
            if known is None and thoroughly and outcome.limit not in _STOPPING and not is_too_large(self.problem):
                outcome, known = solve_packing(self.problem.posing, threshold, self._within(), False)
            if known is None:
                self._interrupted(outcome)
                return False
            counts = known
        self._keep(counts)
        return True

    def _varied(self, relaxation: Relaxation) -> Relaxation:
        """The same with drawn patterns of the tasks that are scarce, which are known for this try alone."""
        patterns = copy.deepcopy(relaxation.patterns)
        worth = np.repeat(self._scarce[:, None].astype(np.float64), len(self.problem.type_size), axis=1)
        vary(self.problem, patterns, worth, float(worth.max(initial=0)))
        return relaxation._replace(patterns=patterns)

    def _use(self, units: int) -> None:
        """The most utilisation at the highest lowest utility."""
        self._fill()
        relaxed, proof = self._used_most(units)
        self.certificates = (*self.certificates, proof)
        if relaxed.feasible is None:
            self.limit = relaxed.limit
            return
        target = int(proof.claim * GRID) - self.problem.fixed_use
        if self.used(self.counts) < target:
            self._keep(self._rounded(relaxed))
            self._fill()
        given = TaskPrices(relaxed.prices, USE_SCALE)
        self._packed(units, relaxed, given, target)

    def _packed(self, units: int, relaxation: Relaxation, prices: TaskPrices, target: int) -> None:
        """Pack what uses `target` units, or nearly so, until that is proved to be the most by a tree."""
        tried = -1
        worth = self.items.share * USE_SCALE + relaxation.prices[:, None]
        for varied in (False, True):
            if self.used(self.counts) >= target or self.limit is not None:
                return
            if self.used(self.counts) > tried and self._by_columns(units, prices):
                return
            tried = self.used(self.counts)
            if varied:
                vary(self.problem, relaxation.patterns, worth.astype(np.float64), float(target - tried) * USE_SCALE)
            outcome, found = self._known_patterns(relaxation, use=True)
            self._interrupted(outcome)
            if found is not None:
                self._keep(found)
                self._fill()
        if tried < self.used(self.counts) < target:
            self._by_columns(units, prices)

    def _by_columns(self, units: int, prices: TaskPrices) -> bool:
        """Whether a tree over the columns that prices leave proves the utilisation that is held, or that they have."""
        best = most_utilisation(self.problem, units, prices, self.used(self.counts), self._within())
        if best is None:
            return False
        if best.counts is not None:
            self._keep(best.counts)
        if best.proof is not None:
            self.certificates = (self.certificates[0], best.proof)
        return best.proof is not None

    # Ways to a placement ----------------------------------------------------------------------------------------------

    def _keep(self, counts: Ints) -> None:
        """Hold counts that are better than what is held."""
        value = self.lowest(counts), self.used(counts)
        if value > (self.lowest(self.counts), self.used(self.counts)):
            self.counts = counts.copy()

    def _rounded(self, relaxation: Relaxation) -> Ints:
        """Whole patterns of the fractions; then each node left gets the pattern worth most of what is missing."""
        problem, items = self.problem, self.items
        counts = np.zeros((len(items.limit), len(problem.room)), dtype=np.int64)
        left = items.limit.copy()
        idle = [np.flatnonzero(problem.node_type == kind).tolist() for kind in range(len(problem.type_size))]
        whole = np.floor(relaxation.weight + 1e-6).astype(np.int64)
        for position in np.flatnonzero(whole).tolist():
            nodes, pattern = idle[relaxation.patterns.kind[position]], relaxation.patterns.counts[position]
            for _ in range(int(whole[position])):
                if not nodes:
                    break
                taken = np.minimum(pattern, left)
                counts[:, nodes.pop()] = taken
                left -= taken
        largest = np.maximum(problem.room.max(axis=0, initial=0), 1)
        prices = np.maximum(relaxation.prices, 0) / max(1, int(relaxation.prices.max(initial=0)))
        worth = prices + _TIE * (items.demand / largest).sum(axis=1)
        for node in [node for nodes in idle for node in nodes]:
            missing = np.minimum(left, np.maximum(relaxation.needed - counts.sum(axis=1), 0))
            if not missing.any():
                break
            pattern = best_patterns(problem.room[[node]], items.demand, missing, worth)[1][0]
            relaxation.patterns.add(int(problem.node_type[node]), pattern)
            counts[:, node] = pattern
            left -= pattern
        return counts

    def _fill(self) -> None:
        """Add tasks where there is room left, on alike nodes the same, and always those that use most."""
        problem, items = self.problem, self.items
        counts = self.counts.copy()
        room = problem.room - counts.T @ items.demand
        left = items.limit - counts.sum(axis=1)
        alike, group = np.unique(np.column_stack([problem.node_type, room]), axis=0, return_inverse=True)
        for position, row in enumerate(alike):
            nodes = np.flatnonzero(group.reshape(-1) == position)
            while len(nodes) and left.any():
                share = items.share[:, row[0]].astype(np.float64)
                pattern = best_patterns(row[None, 1:], items.demand, left, share)[1][0]
                if not pattern.any():
                    break
                times = min(len(nodes), int((left[pattern > 0] // pattern[pattern > 0]).min()))
                counts[:, nodes[:times]] += pattern[:, None]
                left -= times * pattern
                nodes = nodes[times:]
        self._keep(counts)

    def _known_patterns(self, relaxation: Relaxation, use: bool) -> tuple[SolverOutcome, Ints | None]:
        """The integer program over the patterns that are known, for a few nodes."""
        problem, count = self.problem, len(self.items.limit)
        known = {kind: relaxation.patterns.of_kind(kind, count) for kind in range(len(problem.type_size))}
        nodes = min(_NODES_OF_A_TRY, self.profile.node_limit or _NODES_OF_A_TRY)
        profile = replace(self._within(), node_limit=nodes)
        return solve_packing(UtilityProgram(problem, known), relaxation.units, profile, use)

    # Limits -----------------------------------------------------------------------------------------------------------

    def _within(self) -> Profile:
        """The profile with what is left of the time."""
        return self.profile.since(self._began)

    def _interrupted(self, outcome: SolverOutcome) -> None:
        """An interrupt ends the search, and so does the time limit; the few nodes of a try do not."""
        if outcome.limit in _STOPPING:
            self.limit = outcome.limit
