"""Leximin of `utility`: the lowest utility highest, then the second lowest, and so on; utilisation last.

Sharmilarani et al. ask for the ordered vector of utilities but maximise only its first entry (8). The search does not
fix which jobs have the lowest ones: at each step it only limits how many jobs lie below each level that is settled.
"""

from __future__ import annotations

import time
from pathlib import Path

from optsched.errors import TooLarge
from optsched.fronts import Leximin, entry_name
from optsched.instance import Ints
from optsched.problems.base import GRID, exact, expect_problem, expect_recorded
from optsched.problems.utility import LEAST_FINITE, Utility
from optsched.processes.handing import hand_over
from optsched.results import Certificate, Limit, Proof, Termination
from optsched.searches.utility import UtilitySearch
from optsched.searches.utility_choices import entry_by_choices
from optsched.searches.utility_columns import highest_entry
from optsched.searches.utility_program import Quota, allocation_of, solve_integer_program
from optsched.solvers.outcome import STOPPED, SolverOutcome, stopped
from optsched.solvers.profiles import Profile, load_profile

__all__ = ["Leximin", "leximin"]


def leximin(problem: Utility, profile: str | Path | Profile = "exact") -> Leximin:
    """The leximin-optimal utilities.

    Parameters
    ----------
    profile
        As of `optsched.solve`; a time limit holds for all of it.

    Raises
    ------
    TooLarge
        If there are too many nodes and patterns for an exact program.

    Examples
    --------
    The first job can run nothing, and decides the lowest utility alone; the others share what there is:

    >>> from optsched.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["t"], capacity={"cpu": [4.0]})
    >>> workload = Workload(
    ...     ["m1", "m2", "m3", "m4", "m5"], job=[0, 1, 1, 2, 2], job_ids=["a", "b", "c"],
    ...     goal=[1.0, 2.0, 2.0], map_time=[1.0] * 3, demand={"cpu": [9.0, 2.0, 2.0, 1.0, 1.0]})
    >>> [int(utility) for utility in leximin(Utility(Instance(cluster, workload))).utilities]
    [-1000, 0, 1]
    """
    expect_problem(problem, "leximin", Utility)
    expect_recorded(problem, "leximin", "leximin knows")
    entries = _Entries(UtilitySearch(problem, load_profile(profile)), load_profile(profile))
    if entries.patterns is None:
        raise TooLarge(f"{problem.name}: leximin would need a program of too many nodes or patterns; take fewer nodes")
    try:
        entries.settle()
    except STOPPED as error:
        entries.limit = stopped(error)[0]
    return entries.vector()


class _Entries:
    """The entries that are settled so far, the lowest first, and the counts that have them."""

    def __init__(self, search: UtilitySearch, profile: Profile) -> None:
        self.search, self.problem, self.patterns = search, search.problem, search.exact_patterns
        self.levels: list[int] = []
        self.certificates: list[Certificate] = []
        self.limit: Limit | None = None
        self._profile, self._began = profile, time.perf_counter()

    def settle(self) -> None:
        """Settle one entry after another, then the utilisation; say what is held after each."""
        hand_over(self.vector)
        self.search.run()
        self.limit = self.search.limit
        jobs = len(self.problem.jobs)
        if not jobs or self.search.lowest(self.search.counts) != self.search.certificates[0].claim * GRID:
            return
        self._add(self.search.lowest(self.search.counts), self.search.certificates[0])
        while len(self.levels) < jobs and self.limit is None:
            self._settle_next()
        if self.limit is None:
            outcome, found = self._solved(None)
            self.search.counts = self.search.counts if found is None else found
            self.limit = outcome.limit

    def vector(self) -> Leximin:
        """What is held."""
        problem, search = self.problem, self.search
        utilities = tuple(exact(units, GRID) for units in self._ordered())
        open_entries = [None] * (len(utilities) - len(self.certificates))
        told = problem.name, dict(problem.parameters), problem.instance.sha256, search.placement, utilities
        return Leximin(*told, (*self.certificates, *open_entries), self.limit)

    def _add(self, level: int, proof: Certificate) -> None:
        self.levels.append(level)
        self.certificates.append(proof)
        hand_over(self.vector)

    def _settle_next(self) -> None:
        """The highest that the lowest open entry can be, by halving; its proof is a tree, or the solver's word."""
        problem, rank = self.problem, len(self.levels)
        low, high = self._ordered()[rank], max(problem.highest_units.tolist())
        while low < high:
            middle = max((low + high + 1) // 2, LEAST_FINITE)
            outcome, found = self._solved(middle)
            if found is not None:
                self.search.counts = found
                low = self._ordered()[rank]
            elif outcome.status is Termination.INFEASIBLE:
                high = max(problem.utility_below(middle), low)
            else:
                self.limit = outcome.limit
                return
        tree = None
        try:
            tree = highest_entry(problem, self.levels, low, self._within())
            tree = tree or entry_by_choices(problem, self.levels, low, self._within())
        except STOPPED as error:  # the entry stays, by a word
            self.limit = stopped(error)[0]
        name = entry_name(problem.components[0].name, rank + 1)
        self._add(low, tree or Certificate(name, Proof.SOLVER, exact(low, GRID)))

    def _solved(self, level: int | None) -> tuple[SolverOutcome, Ints | None]:
        """Counts where below the k-th settled level are at most k - 1 jobs, and below `level` no more than are settled.

        Without a level those of the most utilisation.
        """
        assert self.patterns is not None
        bounds = [*self.levels, *([] if level is None else [level])]
        packing, height = self.search.at_steps(sorted({self.problem.lowest_units, *bounds}))
        quotas: list[Quota] = [(height < bound, position) for position, bound in enumerate(bounds)]
        asked = self.problem, packing, self.patterns, self._within(), level is None
        return solve_integer_program(*asked, quotas=quotas)

    def _ordered(self) -> list[int]:
        """The utilities that the counts give, in units, ascending."""
        allocation = allocation_of(self.problem, self.search.counts)
        return sorted(self.problem.utility_units(*(part.sum(axis=1) for part in allocation)).tolist())

    def _within(self) -> Profile:
        return self._profile.since(self._began)
